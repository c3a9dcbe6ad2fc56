/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of dnet_ep_alloc() in the own SO-DIMM area (docs/protocol.md 2.1).
 */
#ifndef DNET_ENDPOINT_MEMORY_H
#define DNET_ENDPOINT_MEMORY_H

#include "endpoint/ep.h"

/** The first call. */
void dnet_memory_start(dnet_ep_t *ep);

/** Is there memory that was not given back?  Then the NIC's segment must stay mapped. */
bool dnet_memory_in_use(const dnet_ep_t *ep);

/** The last call. */
void dnet_memory_end(dnet_ep_t *ep);

#endif
