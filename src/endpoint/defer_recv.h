/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A budget for messages that come before their receive (docs/protocol.md 6.1), at the receiver.
 */
#ifndef DNET_ENDPOINT_DEFER_RECV_H
#define DNET_ENDPOINT_DEFER_RECV_H

#include "endpoint/ep.h"
#include "endpoint/inbox.h"

/* A sender whose messages are held back here. */
struct dnet_deferred {
    dnet_deferred_t *next; /* first held first */
    dnet_defer_rx_t rx;
};

/* What held senders answer to a probe that found nothing here. */
struct dnet_probe {
    dnet_ep_request_t req; /* first member */
    dnet_probe_t *next;    /* newest first */
    bool found;
    uint32_t rank; /* the sender that has it, and the message */
    dnet_ep_offer_t message;
};

void dnet_defer_init(dnet_ep_t *ep);
void dnet_defer_fini(dnet_ep_t *ep);

/** A message with this envelope has come, and the store is over its budget: hold its sender back.
 */
DNET_COLD void dnet_defer_full(dnet_ep_t *ep, uint64_t envelope);

/** The NIC has held a message of this rank back. */
void dnet_defer_noted(dnet_ep_t *ep, uint32_t rank);

/** Ask the senders held back for a message for this receive, which has been posted. */
DNET_COLD void dnet_defer_want(dnet_ep_t *ep, dnet_ep_request_t *req);

/** That receive is no longer open. */
DNET_COLD void dnet_defer_unwant(dnet_ep_t *ep, dnet_ep_request_t *req);

/** As dnet_ep_probe(), among the messages of held senders.  @return NULL: none is known yet */
const dnet_probe_t *dnet_defer_probe(dnet_ep_t *ep, uint64_t envelope, uint64_t mask);

/** Claim what dnet_defer_probe() has found; it will not be offered again.  @return false: not now,
 * probe again */
bool dnet_defer_take(dnet_ep_t *ep, const dnet_probe_t *probe);

/** OFFER has come, with head->arg messages. */
DNET_COLD void dnet_defer_offered(dnet_ep_t *ep, const dnet_ep_head_t *head,
                                  const dnet_ep_offer_t *offers);

/** That message will not be had from its sender: no probe finds it any more. */
DNET_COLD void dnet_defer_gone(dnet_ep_t *ep, uint32_t rank, uint32_t op);

/** That sender has gone, and answers nothing: it is held back no longer. */
DNET_COLD void dnet_defer_sender_gone(dnet_ep_t *ep, uint32_t rank);

/** PULL_NONE, RELEASE_ACK or DONE has come. */
DNET_COLD void dnet_defer_answered(dnet_ep_t *ep, const dnet_ep_head_t *head);

/** Let held senders send if there is room.  @return whether any has been granted */
DNET_COLD bool dnet_defer_round(dnet_ep_t *ep);

/** A message is in the store: hold its sender back if that is over its budget. */
static inline void dnet_defer_if_full(dnet_ep_t *ep, uint64_t envelope)
{
    if (dnet_inbox_over_budget(ep))
        dnet_defer_full(ep, envelope);
}

/** Fill in the results of a receive that has been matched by a message of `sent` bytes. */
static inline void dnet_request_result(dnet_ep_t *ep, dnet_ep_request_t *req, uint64_t envelope,
                                       size_t sent)
{
    if (DNET_UNLIKELY(req->waits_in == DNET_WAITS_IN_PULLS))
        dnet_defer_unwant(ep, req);
    req->waits_in = DNET_WAITS_IN_NONE;
    req->in_layout = false;
    req->envelope = envelope & ~DNET_EP_HEADED;
    req->sent_bytes = sent;
    req->len_bytes = sent < req->cap_bytes ? sent : req->cap_bytes;
}

#endif
