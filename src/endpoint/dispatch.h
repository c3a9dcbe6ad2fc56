/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets that have arrived, and what each means.
 */
#ifndef DNET_ENDPOINT_DISPATCH_H
#define DNET_ENDPOINT_DISPATCH_H

#include "endpoint/ep.h"

/** Handle what has arrived.  @param most  entries  @return whether there were any */
bool dnet_receive_round(dnet_ep_t *ep, unsigned most);

#endif
