/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that their receiver holds back (docs/protocol.md 6.1), at the sender: tells the state
 * machine of src/deferral what has happened, and carries out what it says.
 *
 * The messages stay in the peer's channel, in order:
 *
 *        head ................. fresh ............. tail
 *          declined, or out       never offered
 */
#include "endpoint/defer_send.h"

#include "endpoint/rndv.h"

/* ---- words ---- */

static void say(dnet_ep_t *ep, uint32_t peer, dnet_head_type_t type, uint16_t id, uint32_t arg)
{
    dnet_ep_head_t head = {.type = (uint8_t) type, .id = id, .rank = ep->rank, .arg = arg};
    dnet_send_control(ep, peer, &head, NULL, 0);
}

static void say_offer(dnet_ep_t *ep, dnet_channel_t *ch, uint16_t id)
{
    dnet_ep_offer_t offers[DNET_OFFERS_MAX];
    for (uint32_t i = 0; i < ch->out_count; i++) {
        const dnet_op_t *op = ch->out[i];
        offers[i] = (dnet_ep_offer_t){op->envelope & ~DNET_EP_HEADED, op->len, op->id,
                                      dnet_rndv_shown_at(ep, op)};
    }
    ch->out_id = id;
    ep->page.counters.offered += ch->out_count;
    dnet_ep_head_t head = {
        .type = DNET_HEAD_OFFER, .id = id, .rank = ep->rank, .arg = ch->out_count};
    dnet_send_control(ep, ch->peer, &head, offers, ch->out_count * (uint32_t) sizeof(offers[0]));
}

/* ---- actions ---- */

/* The oldest declined message that fits.  Fresh ones will be offered by themselves. */
static dnet_op_t *find_pulled(const dnet_channel_t *ch)
{
    dnet_op_t *op = ch->messages.head;
    while (op != ch->fresh &&
           !dnet_match_fits(op->envelope & ~DNET_EP_HEADED, ch->pull_envelope, ch->pull_mask))
        op = op->next;
    return op != ch->fresh ? op : NULL;
}

static void offer_pulled(dnet_ep_t *ep, dnet_channel_t *ch)
{
    ch->out[0] = find_pulled(ch);
    ch->out_count = 1;
    say_offer(ep, ch, ch->pull_id);
}

static void offer_fresh(dnet_ep_t *ep, dnet_channel_t *ch)
{
    while (ch->fresh && ch->out_count < DNET_OFFERS_MAX) {
        ch->out[ch->out_count++] = ch->fresh;
        ch->fresh = ch->fresh->next;
    }
    say_offer(ep, ch, 0);
}

/* Words that need no message.  @param id  number of the PULL  @param more  messages are kept */
static void say_words(dnet_ep_t *ep, uint32_t peer, unsigned actions, uint16_t id, bool more)
{
    if (actions & DNET_DEFER_TX_DO_PULL_NONE)
        say(ep, peer, DNET_HEAD_PULL_NONE, id, 0);
    if (actions & DNET_DEFER_TX_DO_RELEASE_ACK)
        say(ep, peer, DNET_HEAD_RELEASE_ACK, 0, 0);
    if (actions & DNET_DEFER_TX_DO_DONE)
        say(ep, peer, DNET_HEAD_DONE, 0, more);
}

/* Something has happened to the channel, which may be closed afterwards.
 * @param bytes  GRANT  @return false: the word makes no sense now */
static bool happened(dnet_ep_t *ep, dnet_channel_t *ch, dnet_defer_tx_event_t event, uint64_t bytes)
{
    dnet_defer_tx_facts_t facts = {
        .kept = ch->messages.head != NULL,
        .fresh = ch->fresh != NULL,
        .fits = dnet_defer_tx_pulled(&ch->defer, event) && find_pulled(ch),
        .bytes = bytes,
    };
    unsigned actions = dnet_defer_tx_event(&ch->defer, event, &facts);
    say_words(ep, ch->peer, actions, ch->pull_id, facts.kept);
    if (actions & DNET_DEFER_TX_DO_OFFER_PULLED)
        offer_pulled(ep, ch);
    if (actions & DNET_DEFER_TX_DO_OFFER_FRESH)
        offer_fresh(ep, ch);
    if (!dnet_defer_tx_is_held(&ch->defer))
        ch->fresh = NULL;
    if ((actions & DNET_DEFER_TX_DO_SEND) && dnet_fc_sender_may_send(&ch->sender))
        dnet_defer_flush(ep, ch);
    return !(actions & DNET_DEFER_TX_DO_REPORT);
}

/* ---- what happens here ---- */

/* The receiver has refused the first message of the channel: all that wait are fresh. */
static void refused(dnet_ep_t *ep, dnet_channel_t *ch)
{
    ch->fresh = ch->messages.head;
    ep->page.counters.held++;
    happened(ep, ch, DNET_DEFER_TX_ON_REFUSED, 0);
}

void dnet_defer_kept(dnet_ep_t *ep, dnet_op_t *op)
{
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    if (!dnet_defer_tx_is_held(&ch->defer)) {
        refused(ep, ch);
        return;
    }
    if (!ch->fresh)
        ch->fresh = op;
    happened(ep, ch, DNET_DEFER_TX_ON_ADDED, 0);
}

void dnet_defer_flush(dnet_ep_t *ep, dnet_channel_t *ch)
{
    switch (dnet_channel_flush(ep, ch)) {
        case DNET_FLUSH_HELD:
            refused(ep, ch);
            return;
        case DNET_FLUSH_EMPTY:
            if (dnet_defer_tx_is_spent(&ch->defer, ch->messages.head != NULL))
                happened(ep, ch, DNET_DEFER_TX_ON_SPENT, 0);
            else
                dnet_channel_close_if_idle(ep, ch);
            return;
        case DNET_FLUSH_STOPPED:
            return;
    }
}

/* A message leaves the channel by another way than by being sent. */
static void leave(dnet_channel_t *ch, dnet_op_t *op)
{
    if (op == ch->fresh)
        ch->fresh = op->next;
    dnet_channel_remove(ch, op);
}

static bool is_out(const dnet_channel_t *ch, const dnet_op_t *op)
{
    for (uint32_t i = 0; i < ch->out_count; i++)
        if (ch->out[i] == op)
            return true;
    return false;
}

bool dnet_defer_withdraw(dnet_ep_t *ep, dnet_op_t *op)
{
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    if (op->issued || op->off || is_out(ch, op))
        return false;
    leave(ch, op);
    return happened(ep, ch, DNET_DEFER_TX_ON_TAKE, 0);
}

/* ---- what the receiver says ---- */

/* The receiver has matched it: its data go by rendezvous. */
static void taken(dnet_ep_t *ep, dnet_channel_t *ch, dnet_op_t *op)
{
    leave(ch, op);
    op->state = DNET_OP_CTS_WAIT;
    ep->page.counters.offers_taken++;
}

static bool verdict(dnet_ep_t *ep, dnet_channel_t *ch, const dnet_ep_head_t *head)
{
    uint32_t count = ch->out_count;
    if (!dnet_defer_tx_is_out(&ch->defer) || head->id != ch->out_id)
        return false;
    ch->out_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (head->op >> i & 1)
            taken(ep, ch, ch->out[i]);
        else if (DNET_UNLIKELY(ch->out[i]->cancelling))
            dnet_send_withdraw(ep, ch->out[i]);
    return happened(ep, ch, DNET_DEFER_TX_ON_VERDICT, 0);
}

static bool pull(dnet_ep_t *ep, dnet_channel_t *ch, const dnet_ep_head_t *head)
{
    if (ch->defer.state != DNET_DEFER_TX_OFFERED_PULLED) { /* else one is to be answered */
        ch->pull_id = head->id;
        ch->pull_envelope = head->length;
        ch->pull_mask = (uint64_t) head->arg << 32 | head->op;
    }
    return happened(ep, ch, DNET_DEFER_TX_ON_PULL, 0);
}

static bool take(dnet_ep_t *ep, dnet_channel_t *ch, uint32_t id)
{
    dnet_op_t *op = dnet_op_find(ep, id);
    if (op && op->peer == ch->peer && op->state == DNET_OP_PACKETS && !op->control)
        taken(ep, ch, op);
    return happened(ep, ch, DNET_DEFER_TX_ON_TAKE, 0);
}

/* Nothing waits for the receiver, so that its word is late. */
static bool late(dnet_ep_t *ep, const dnet_ep_head_t *head, dnet_defer_tx_event_t event)
{
    dnet_defer_tx_t tx = {.state = DNET_DEFER_TX_RUN};
    unsigned actions = dnet_defer_tx_event(&tx, event, &(dnet_defer_tx_facts_t){.kept = false});
    say_words(ep, head->rank, actions, head->id, false);
    return !(actions & DNET_DEFER_TX_DO_REPORT);
}

void dnet_defer_told(dnet_ep_t *ep, const dnet_ep_head_t *head)
{
    dnet_channel_t *ch = ep->peers[head->rank].channel;
    bool sound = false;
    if (head->type == DNET_HEAD_VERDICT)
        sound = ch && verdict(ep, ch, head);
    else if (head->type == DNET_HEAD_TAKE)
        sound = ch && take(ep, ch, head->op);
    else if (head->type == DNET_HEAD_PULL)
        sound = ch ? pull(ep, ch, head) : late(ep, head, DNET_DEFER_TX_ON_PULL);
    else if (head->type == DNET_HEAD_GRANT)
        sound = ch ? happened(ep, ch, DNET_DEFER_TX_ON_GRANT, head->length)
                   : late(ep, head, DNET_DEFER_TX_ON_GRANT);
    else if (head->type == DNET_HEAD_RELEASE)
        sound = ch ? happened(ep, ch, DNET_DEFER_TX_ON_RELEASE, 0)
                   : late(ep, head, DNET_DEFER_TX_ON_RELEASE);
    if (!sound)
        dnet_error("rank %u says type %u about an offer or a grant that there is not: ignored",
                   head->rank, head->type);
}
