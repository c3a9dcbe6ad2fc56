/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DNET_ENDPOINT_MODES_H
#define DNET_ENDPOINT_MODES_H

/* DIMMNET_FLOW: what becomes of a packet that finds no room (docs/protocol.md 6.2). */
typedef enum {
    DNET_EP_FLOW_STOP,
    DNET_EP_FLOW_STALL,
    DNET_EP_FLOW_RNR,
    DNET_EP_FLOW_LIMIT,
} dnet_ep_flow_t;

#endif
