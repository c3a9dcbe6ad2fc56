/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiving side of a rendezvous (docs/protocol.md 4).
 */
#ifndef DNET_ENDPOINT_RNDV_RECV_H
#define DNET_ENDPOINT_RNDV_RECV_H

#include "endpoint/rndv.h"

/**
 * A message that was announced has found its receive: have its data come.  Waits in order where
 * there is no room, and completes the receive, perhaps before it returns.
 *
 * @param origin  where the data lie at the sender
 * @param req     its results are filled in (dnet_request_result())
 */
void dnet_rndv_recv_message(dnet_ep_t *ep, const dnet_ep_head_t *rts,
                            const dnet_ep_origin_t *origin, dnet_ep_request_t *req);

/** An active message with its data to come.  @param header  rts->arg bytes */
void dnet_rndv_recv_am(dnet_ep_t *ep, const dnet_ep_head_t *rts, const uint8_t *header);

/** The piece of this head is where it belongs (dnet_rndv_piece_at()).  @param since_ns  when it was
 * begun to be copied there */
void dnet_rndv_recv_piece(dnet_ep_t *ep, const dnet_ep_head_t *head, uint64_t since_ns);

/** Take data that have come, and end receives.  @return whether there were any */
bool dnet_rndv_recv_round(dnet_ep_t *ep);

/** Is there something for dnet_rndv_recv_round()? */
bool dnet_rndv_recv_waiting(const dnet_ep_t *ep);

/** Are there receives of messages from that peer whose data have not all come? */
bool dnet_rndv_is_receiving(const dnet_ep_t *ep, uint32_t peer);

/** Free the receives that are not over; the last call. */
void dnet_rndv_recvs_free(dnet_ep_t *ep);

#endif
