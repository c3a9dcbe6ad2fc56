/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cancelling sends (docs/protocol.md 3.4).
 *
 * A message that waits for room at its receiver has not left, and is taken out of its channel.  For
 * one that the receiver knows of, by RTS, SYNC or OFFER, the receiver decides, for it alone knows
 * whether a receive has matched it.  Where the send then is, it may not have been when it was
 * asked for: it is asked for again whenever it has moved on (channel.c, defer_send.c).
 */
#include "endpoint/cancel.h"

#include "endpoint/channel.h"
#include "endpoint/defer_recv.h"
#include "endpoint/defer_send.h"

/* ---- sender ---- */

static dnet_op_t *send_of(const dnet_ep_t *ep, const dnet_ep_request_t *req)
{
    for (uint32_t i = 0; i < ep->ops.cap; i++) {
        dnet_op_t *op = ep->ops.by_id[i];
        if (op->state != DNET_OP_FREE && op->req == req)
            return op;
    }
    return NULL;
}

static bool is_held(const dnet_ep_t *ep, const dnet_op_t *op)
{
    return dnet_defer_tx_is_held(&ep->peers[op->peer].channel->defer);
}

void dnet_ep_cancel_send(dnet_ep_t *ep, const dnet_ep_request_t *req)
{
    dnet_op_t *op = send_of(ep, req);
    if (!op || op->cancelling)
        return;
    switch (op->state) {
        case DNET_OP_PACKETS:
            op->cancelling = true;
            if (is_held(ep, op))
                dnet_send_withdraw(ep, op);
            else if (dnet_defer_withdraw(ep, op))
                dnet_op_finish(ep, op, DNET_CANCELLED);
            return;
        case DNET_OP_CTS_WAIT:
        case DNET_OP_ACK_WAIT:
            op->cancelling = true;
            dnet_send_withdraw(ep, op);
            return;
        case DNET_OP_FREE:
        case DNET_OP_STORED:
        case DNET_OP_SPLIT:
        case DNET_OP_PUSHED:
        case DNET_OP_STAGED:
        case DNET_OP_FETCH_WAIT:
            return; /* a receive has matched it */
    }
}

void dnet_cancel_answered(dnet_ep_t *ep, const dnet_ep_head_t *head)
{
    dnet_op_t *op = dnet_op_find(ep, head->op);
    if (!op || op->peer != head->rank || !op->cancelling)
        return; /* it has been received meanwhile */
    bool gone = head->arg ? op->state == DNET_OP_CTS_WAIT || op->state == DNET_OP_ACK_WAIT
                          : op->state == DNET_OP_PACKETS && dnet_defer_withdraw(ep, op);
    if (gone)
        dnet_op_finish(ep, op, DNET_CANCELLED);
}

/* ---- receiver ---- */

typedef struct {
    const dnet_ep_head_t *head;
    dnet_ep_message_t *found;
} search_t;

static void compare(void *arg, const dnet_match_item_t *item, bool posted)
{
    search_t *search = arg;
    dnet_ep_message_t *m = (dnet_ep_message_t *) (void *) item;
    if (!posted && (m->sync || m->kind == DNET_MESSAGE_RTS) && m->rank == search->head->rank &&
        m->op == search->head->op)
        search->found = m;
}

void dnet_cancel_asked(dnet_ep_t *ep, const dnet_ep_head_t *head)
{
    search_t search = {.head = head};
    dnet_match_walk(&ep->inbox.match, compare, &search);
    if (search.found) {
        dnet_match_drop(&ep->inbox.match, &search.found->match);
        dnet_message_free(ep, search.found);
    }
    dnet_defer_gone(ep, head->rank, head->op);
    dnet_ep_head_t answer = {
        .type = DNET_HEAD_WITHDRAWN, .rank = ep->rank, .op = head->op, .arg = search.found != NULL};
    dnet_send_control(ep, head->rank, &answer, NULL, 0);
}
