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

/** Take a message out of its channel, for good.  @return false: it is offered, or in part on its
 * way
 */
DNET_COLD bool dnet_defer_withdraw(dnet_ep_t *ep, dnet_op_t *op);

/** VERDICT, PULL, TAKE, GRANT or RELEASE has come.  One that makes no sense is reported. */
DNET_COLD void dnet_defer_told(dnet_ep_t *ep, const dnet_ep_head_t *head);

#endif
