/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that their receiver holds back (docs/protocol.md 6.1), at the sender.
 */
#ifndef DNET_ENDPOINT_DEFER_SEND_H
#define DNET_ENDPOINT_DEFER_SEND_H

#include "endpoint/channel.h"

/** Send what may go in the channel, and go on from what has happened; closes it when it is idle. */
void dnet_defer_flush(dnet_ep_t *ep, dnet_channel_t *ch);

/** dnet_channel_submit() has said DNET_HELD: offer the message, now or later. */
DNET_COLD void dnet_defer_kept(dnet_ep_t *ep, dnet_op_t *op);

/** The receiver has said RELEASE. */
DNET_COLD void dnet_offer_opened(dnet_ep_t *ep, uint32_t peer);

/** VERDICT, PULL, TAKE or GRANT has come. */
DNET_COLD void dnet_offer_answered(dnet_ep_t *ep, const dnet_ep_head_t *head);

#endif
