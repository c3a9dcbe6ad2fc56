/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sending side of a rendezvous (docs/protocol.md 4).
 */
#ifndef DNET_ENDPOINT_RNDV_SEND_H
#define DNET_ENDPOINT_RNDV_SEND_H

#include "endpoint/rndv.h"

/** Show a message to its receiver, that it may fetch it.  @return arg of its RTS
 */
uint32_t dnet_rndv_show(dnet_ep_t *ep, dnet_op_t *op);

/** Lend a message to its receiver on another host, that it may read it; RTS says where, or that it
 * is not lent. */
void dnet_rndv_lend(dnet_ep_t *ep, dnet_op_t *op);

/** CTS has come.  @param staging  what stands behind the head; zeros, where that is not staged */
void dnet_rndv_cleared(dnet_ep_t *ep, const dnet_ep_head_t *cts, const dnet_ep_staging_t *staging);

/** A turn for every send that has been cleared and is not all out.  @return whether anything was
 * sent */
bool dnet_rndv_send_round(dnet_ep_t *ep);

/** Are there such sends to that peer? */
bool dnet_rndv_is_sending(const dnet_ep_t *ep, uint32_t peer);

/** Would a turn get anywhere? */
bool dnet_rndv_send_waiting(const dnet_ep_t *ep);

#endif
