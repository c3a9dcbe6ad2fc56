/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that their receiver holds back (docs/protocol.md 6.1), at the sender.
 *
 * They stay here, in order, in the peer's queue.  Each is offered once, several at a time; those
 * that no receive takes are declined and kept.  For a receive that comes later the receiver asks
 * (PULL), and the oldest declined message that fits is offered again.  One OFFER is out at a time.
 * When there is room again the receiver grants some bytes, and the oldest messages are sent;
 * nothing is offered meanwhile.
 *
 *        head ................. fresh ............. tail
 *          declined, or out       never offered
 */
#include "endpoint/defer_send.h"

static void send_offer(dnet_ep_t *ep, dnet_channel_t *ch, uint16_t id)
{
    dnet_ep_offer_t offers[DNET_OFFERS_MAX];
    for (uint32_t i = 0; i < ch->out_count; i++) {
        const dnet_op_t *op = ch->out[i];
        uint32_t fetch_addr = op->fetch_slot ? dnet_drv_aperture_address(op->fetch_slot) : 0;
        offers[i] = (dnet_ep_offer_t){op->envelope & ~DNET_EP_HEADED, op->len, op->id, fetch_addr};
    }
    ch->out_id = id;
    ep->counters.offered += ch->out_count;
    dnet_ep_head_t head = {
        .type = DNET_HEAD_OFFER, .id = id, .rank = ep->rank, .arg = ch->out_count};
    dnet_send_control(ep, ch->peer, &head, offers, ch->out_count * (uint32_t) sizeof(offers[0]));
}

static void send_none(dnet_ep_t *ep, uint32_t peer, uint16_t id)
{
    dnet_ep_head_t head = {.type = DNET_HEAD_PULL_NONE, .id = id, .rank = ep->rank};
    dnet_send_control(ep, peer, &head, NULL, 0);
}

/* The oldest declined message that fits.  Fresh ones will be offered by themselves. */
static dnet_op_t *find_wanted(const dnet_channel_t *ch)
{
    dnet_op_t *op = ch->messages.head;
    while (op != ch->fresh &&
           !dnet_match_fits(op->envelope & ~DNET_EP_HEADED, ch->want_envelope, ch->want_mask))
        op = op->next;
    return op != ch->fresh ? op : NULL;
}

static void answer_want(dnet_ep_t *ep, dnet_channel_t *ch)
{
    ch->asked = false;
    dnet_op_t *op = find_wanted(ch);
    if (!op) {
        send_none(ep, ch->peer, ch->want_id);
        return;
    }
    ch->out[ch->out_count++] = op;
    send_offer(ep, ch, ch->want_id);
}

/* Say what is next, unless a verdict is awaited. */
static void offer_next(dnet_ep_t *ep, dnet_channel_t *ch)
{
    if (ch->granting)
        return;
    if (ch->asked && !ch->out_count)
        answer_want(ep, ch);
    if (ch->out_count || !ch->fresh)
        return;
    while (ch->fresh && ch->out_count < DNET_OFFERS_MAX) {
        ch->out[ch->out_count++] = ch->fresh;
        ch->fresh = ch->fresh->next;
    }
    send_offer(ep, ch, 0);
}

/* The receiver has refused the first message of the channel: offer all from there. */
static void offer_start(dnet_ep_t *ep, dnet_channel_t *ch)
{
    ch->held = true;
    ch->fresh = ch->messages.head;
    ep->counters.held++;
    offer_next(ep, ch);
}

/* A message has joined a channel that is held. */
static void offer_added(dnet_ep_t *ep, dnet_channel_t *ch, dnet_op_t *op)
{
    if (!ch->fresh)
        ch->fresh = op;
    if (!ch->opened)
        offer_next(ep, ch);
}

void dnet_defer_kept(dnet_ep_t *ep, dnet_op_t *op)
{
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    if (ch->held)
        offer_added(ep, ch, op);
    else
        offer_start(ep, ch);
}

static void let_go(dnet_ep_t *ep, dnet_channel_t *ch)
{
    ch->held = ch->opened = ch->granting = false;
    ch->granted = 0;
    ch->fresh = NULL;
    if (dnet_fc_sender_may_send(&ch->sender))
        dnet_defer_flush(ep, ch);
}

void dnet_offer_opened(dnet_ep_t *ep, uint32_t peer)
{
    dnet_channel_t *ch = ep->peers[peer].channel;
    dnet_ep_head_t head = {.type = DNET_HEAD_RELEASE_ACK, .rank = ep->rank};
    if (ch && ch->asked) {
        ch->asked = false;
        send_none(ep, peer, ch->want_id);
    }
    /* Before anything that follows: the receiver then knows to which hold an OFFER belongs. */
    dnet_send_control(ep, peer, &head, NULL, 0);
    if (!ch || !ch->held)
        return;
    if (ch->out_count)
        ch->opened = true; /* the verdict may still take some of them */
    else
        let_go(ep, ch);
}

/* ---- grants ---- */

/* The channel has been flushed as far as it may. */
static void offer_flushed(dnet_ep_t *ep, dnet_channel_t *ch)
{
    if (!ch->granting || ch->out_count || (ch->granted && ch->messages.head))
        return;
    dnet_ep_head_t head = {
        .type = DNET_HEAD_DONE, .rank = ep->rank, .arg = ch->messages.head != NULL};
    ch->granting = false;
    ch->granted = 0;
    dnet_send_control(ep, ch->peer, &head, NULL, 0);
    offer_next(ep, ch);
}

void dnet_defer_flush(dnet_ep_t *ep, dnet_channel_t *ch)
{
    switch (dnet_channel_flush(ep, ch)) {
        case DNET_FLUSH_HELD:
            offer_start(ep, ch);
            return;
        case DNET_FLUSH_EMPTY:
            if (ch->held)
                offer_flushed(ep, ch);
            dnet_channel_close_if_idle(ep, ch);
            return;
        case DNET_FLUSH_STOPPED:
            return;
    }
}

/* Use the grant, unless an OFFER is out: its verdict may take what would be sent. */
static void use_grant(dnet_ep_t *ep, dnet_channel_t *ch)
{
    if (ch->granting && !ch->out_count && dnet_fc_sender_may_send(&ch->sender))
        dnet_defer_flush(ep, ch);
}

static void granted(dnet_ep_t *ep, const dnet_ep_head_t *grant)
{
    dnet_channel_t *ch = ep->peers[grant->rank].channel;
    dnet_ep_head_t head = {.type = DNET_HEAD_DONE, .rank = ep->rank};
    if (!ch || !ch->held || ch->opened) {
        dnet_send_control(ep, grant->rank, &head, NULL, 0);
        return;
    }
    ch->granting = true;
    ch->granted = ch->out_count ? 0 : grant->length;
    ch->grant = grant->length;
    use_grant(ep, ch);
}

/* ---- answers ---- */

/* The receiver has matched it: its data go by rendezvous. */
static void taken(dnet_ep_t *ep, dnet_channel_t *ch, dnet_op_t *op)
{
    dnet_channel_remove(ch, op);
    op->state = DNET_OP_CTS_WAIT;
    ep->counters.offers_taken++;
}

static void verdict(dnet_ep_t *ep, dnet_channel_t *ch, const dnet_ep_head_t *head)
{
    uint32_t count = ch->out_count;
    ch->out_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (head->op >> i & 1)
            taken(ep, ch, ch->out[i]);
    if (ch->opened) {
        let_go(ep, ch);
    } else if (ch->granting) {
        ch->granted = ch->grant;
        use_grant(ep, ch);
    } else {
        offer_next(ep, ch);
    }
}

static void claimed(dnet_ep_t *ep, dnet_channel_t *ch, uint32_t id)
{
    dnet_op_t *op = dnet_op_find(ep, id);
    if (op && op->peer == ch->peer && op->state == DNET_OP_PACKETS && !op->control) {
        if (op == ch->fresh)
            ch->fresh = op->next;
        taken(ep, ch, op);
    }
}

void dnet_offer_answered(dnet_ep_t *ep, const dnet_ep_head_t *head)
{
    dnet_channel_t *ch = ep->peers[head->rank].channel;
    if (head->type == DNET_HEAD_GRANT) {
        granted(ep, head);
        return;
    }
    if (head->type == DNET_HEAD_PULL) {
        if (!ch || !ch->held || ch->opened) {
            send_none(ep, head->rank, head->id);
            return;
        }
        ch->asked = true;
        ch->want_id = head->id;
        ch->want_envelope = head->length;
        ch->want_mask = (uint64_t) head->arg << 32 | head->op;
        offer_next(ep, ch);
    } else if (ch && head->type == DNET_HEAD_VERDICT && ch->out_count && head->id == ch->out_id) {
        verdict(ep, ch, head);
    } else if (ch && head->type == DNET_HEAD_TAKE) {
        claimed(ep, ch, head->op);
    } else {
        dnet_error("rank %u answers an offer that was not made", head->rank);
        return;
    }
    /* Everything may have been taken. */
    ch = ep->peers[head->rank].channel;
    if (ch && ch->held && !ch->messages.head && dnet_fc_sender_may_send(&ch->sender))
        dnet_defer_flush(ep, ch);
}
