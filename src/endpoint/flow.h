/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stop and resend between this process and its peers (docs/protocol.md 6).
 */
#ifndef DNET_ENDPOINT_FLOW_H
#define DNET_ENDPOINT_FLOW_H

#include "endpoint/ep.h"

/** The NIC is up.  @return DNET_OK; DNET_ERR_NO_MEMORY */
dnet_status_t dnet_flow_start(dnet_ep_t *ep);

/** Read the flow ring, grant the room there is, send what was granted.  @return whether anything
 * happened */
bool dnet_flow_round(dnet_ep_t *ep);

/** Look at the network to other hosts.  @return whether it has brought anything */
bool dnet_flow_network(dnet_ep_t *ep);

/** The flow ring has an entry, and what has arrived was not handled yet: do what can be done
 * before.  @return as dnet_flow_round() */
DNET_COLD bool dnet_flow_first(dnet_ep_t *ep);

#endif
