/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that their receiver holds back (docs/protocol.md 6.1), at the sender.
 *
 * They stay here, in order, in the peer's queue.  Each is offered once, several at a time; those
 * that no receive takes are declined and kept.  For a receive that comes later the receiver asks
 * (WANT), and the oldest declined message that fits is offered again.  One OFFER is out at a time.
 * When there is room again the receiver grants some bytes, and the oldest messages are sent;
 * nothing is offered meanwhile.
 *
 *        head ................. fresh ............. tail
 *          declined, or out       never offered
 */
#include "endpoint/internal.h"

static void send_offer(dnet_ep_t *ep, dnet_queue_t *q, uint16_t id)
{
    dnet_ep_offer_t offers[DNET_OFFERS_MAX];
    for (uint32_t i = 0; i < q->out_count; i++) {
        const dnet_op_t *op = q->out[i];
        uint32_t offer = op->offer_slot ? dnet_drv_aperture_address(op->offer_slot) : 0;
        offers[i] = (dnet_ep_offer_t){op->envelope & ~DNET_EP_HEADED, op->len, op->id, offer};
    }
    q->out_id = id;
    ep->counters.offered += q->out_count;
    dnet_ep_head_t head = {
        .type = DNET_HEAD_OFFER, .id = id, .rank = ep->rank, .arg = q->out_count};
    dnet_send_control(ep, q->peer, &head, offers, q->out_count * (uint32_t) sizeof(offers[0]));
}

static void send_none(dnet_ep_t *ep, uint32_t peer, uint16_t id)
{
    dnet_ep_head_t head = {.type = DNET_HEAD_NONE, .id = id, .rank = ep->rank};
    dnet_send_control(ep, peer, &head, NULL, 0);
}

/* The oldest declined message that fits.  Fresh ones will be offered by themselves. */
static dnet_op_t *find_wanted(const dnet_queue_t *q)
{
    dnet_op_t *op = q->messages.head;
    while (op != q->fresh &&
           !dnet_match_fits(op->envelope & ~DNET_EP_HEADED, q->want_envelope, q->want_mask))
        op = op->next;
    return op != q->fresh ? op : NULL;
}

static void answer_want(dnet_ep_t *ep, dnet_queue_t *q)
{
    q->asked = false;
    dnet_op_t *op = find_wanted(q);
    if (!op) {
        send_none(ep, q->peer, q->want_id);
        return;
    }
    q->out[q->out_count++] = op;
    send_offer(ep, q, q->want_id);
}

/* Say what is next, unless an answer is awaited. */
static void offer_next(dnet_ep_t *ep, dnet_queue_t *q)
{
    if (q->granting)
        return;
    if (q->asked && !q->out_count)
        answer_want(ep, q);
    if (q->out_count || !q->fresh)
        return;
    while (q->fresh && q->out_count < DNET_OFFERS_MAX) {
        q->out[q->out_count++] = q->fresh;
        q->fresh = q->fresh->next;
    }
    send_offer(ep, q, 0);
}

void dnet_offer_start(dnet_ep_t *ep, dnet_queue_t *q)
{
    q->held = true;
    q->fresh = q->messages.head;
    ep->counters.held++;
    offer_next(ep, q);
}

void dnet_offer_added(dnet_ep_t *ep, dnet_queue_t *q, dnet_op_t *op)
{
    if (!q->fresh)
        q->fresh = op;
    if (!q->opened)
        offer_next(ep, q);
}

static void let_go(dnet_ep_t *ep, dnet_queue_t *q)
{
    q->held = q->opened = q->granting = false;
    q->granted = 0;
    q->fresh = NULL;
    if (dnet_fc_sender_may_send(&q->sender))
        dnet_queue_flush(ep, q);
}

void dnet_offer_opened(dnet_ep_t *ep, uint32_t peer)
{
    dnet_queue_t *q = ep->peers[peer].queue;
    dnet_ep_head_t head = {.type = DNET_HEAD_OPENED, .rank = ep->rank};
    if (q && q->asked) {
        q->asked = false;
        send_none(ep, peer, q->want_id);
    }
    /* Before anything that follows: the receiver then knows to which hold an OFFER belongs. */
    dnet_send_control(ep, peer, &head, NULL, 0);
    if (!q || !q->held)
        return;
    if (q->out_count)
        q->opened = true; /* the verdict may still take some of them */
    else
        let_go(ep, q);
}

/* ---- grants ---- */

void dnet_offer_sent(dnet_queue_t *q, const dnet_op_t *op)
{
    size_t kept = op->headed && op->head.type == DNET_HEAD_REQUEST ? 0 : op->len;
    size_t bytes = dnet_message_bytes(kept);
    q->granted -= bytes < q->granted ? bytes : q->granted;
    if (q->fresh == op)
        q->fresh = op->next;
}

void dnet_offer_flushed(dnet_ep_t *ep, dnet_queue_t *q)
{
    if (!q->granting || q->out_count || (q->granted && q->messages.head))
        return;
    dnet_ep_head_t head = {
        .type = DNET_HEAD_DONE, .rank = ep->rank, .arg = q->messages.head != NULL};
    q->granting = false;
    q->granted = 0;
    dnet_send_control(ep, q->peer, &head, NULL, 0);
    offer_next(ep, q);
}

/* Use the grant, unless an OFFER is out: its verdict may take what would be sent. */
static void use_grant(dnet_ep_t *ep, dnet_queue_t *q)
{
    if (q->granting && !q->out_count && dnet_fc_sender_may_send(&q->sender))
        dnet_queue_flush(ep, q);
}

static void granted(dnet_ep_t *ep, const dnet_ep_head_t *grant)
{
    dnet_queue_t *q = ep->peers[grant->rank].queue;
    dnet_ep_head_t head = {.type = DNET_HEAD_DONE, .rank = ep->rank};
    if (!q || !q->held || q->opened) {
        dnet_send_control(ep, grant->rank, &head, NULL, 0);
        return;
    }
    q->granting = true;
    q->granted = q->out_count ? 0 : grant->length;
    q->grant = grant->length;
    use_grant(ep, q);
}

/* ---- answers ---- */

/* The receiver has matched it: its data go by rendezvous. */
static void taken(dnet_ep_t *ep, dnet_queue_t *q, dnet_op_t *op)
{
    dnet_queue_remove(q, op);
    op->state = DNET_OP_ANSWER_WAIT;
    ep->counters.offers_taken++;
}

static void verdict(dnet_ep_t *ep, dnet_queue_t *q, const dnet_ep_head_t *head)
{
    uint32_t count = q->out_count;
    q->out_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (head->op >> i & 1)
            taken(ep, q, q->out[i]);
    if (q->opened) {
        let_go(ep, q);
    } else if (q->granting) {
        q->granted = q->grant;
        use_grant(ep, q);
    } else {
        offer_next(ep, q);
    }
}

static void claimed(dnet_ep_t *ep, dnet_queue_t *q, uint32_t id)
{
    dnet_op_t *op = dnet_op_find(ep, id);
    if (op && op->peer == q->peer && op->state == DNET_OP_PACKETS && !op->control) {
        if (op == q->fresh)
            q->fresh = op->next;
        taken(ep, q, op);
    }
}

void dnet_offer_answered(dnet_ep_t *ep, const dnet_ep_head_t *head)
{
    dnet_queue_t *q = ep->peers[head->rank].queue;
    if (head->type == DNET_HEAD_GRANT) {
        granted(ep, head);
        return;
    }
    if (head->type == DNET_HEAD_WANT) {
        if (!q || !q->held || q->opened) {
            send_none(ep, head->rank, head->id);
            return;
        }
        q->asked = true;
        q->want_id = head->id;
        q->want_envelope = head->length;
        q->want_mask = (uint64_t) head->arg << 32 | head->op;
        offer_next(ep, q);
    } else if (q && head->type == DNET_HEAD_VERDICT && q->out_count && head->id == q->out_id) {
        verdict(ep, q, head);
    } else if (q && head->type == DNET_HEAD_TAKE) {
        claimed(ep, q, head->op);
    } else {
        dnet_error("rank %u answers an offer that was not made", head->rank);
        return;
    }
    /* Everything may have been taken. */
    q = ep->peers[head->rank].queue;
    if (q && q->held && !q->messages.head && dnet_fc_sender_may_send(&q->sender))
        dnet_queue_flush(ep, q);
}
