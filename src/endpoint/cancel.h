/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cancelling sends (docs/protocol.md 3.4): the sender's part and the receiver's.  Receives are
 * cancelled without any word to others (recv.c).
 */
#ifndef DNET_ENDPOINT_CANCEL_H
#define DNET_ENDPOINT_CANCEL_H

#include "endpoint/ep.h"

/** WITHDRAW has come: forget the message, if no receive has matched it, and say whether it was
 * here.
 */
DNET_COLD void dnet_cancel_asked(dnet_ep_t *ep, const dnet_ep_head_t *head);

/** WITHDRAWN has come. */
DNET_COLD void dnet_cancel_answered(dnet_ep_t *ep, const dnet_ep_head_t *head);

#endif
