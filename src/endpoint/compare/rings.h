/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings of their own for frequent partners (DIMMNET_RINGS).
 */
#ifndef DNET_ENDPOINT_RINGS_H
#define DNET_ENDPOINT_RINGS_H

#include "endpoint/ep.h"

/** The NIC is up. */
void dnet_rings_start(dnet_ep_t *ep);

/** A fixed number of ring bytes has been used up, the last of them by this entry. */
DNET_COLD void dnet_rings_sample(dnet_ep_t *ep, const dnet_lh_entry_t *entry);

/** Bytes free in the ring that only this rank uses; DNET_FC_SHARED: it has none. */
uint64_t dnet_rings_own_free(const dnet_ep_t *ep, uint32_t rank);

#endif
