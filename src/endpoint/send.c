/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages on their way out (docs/protocol.md 3).
 *
 * By length: one BOTF packet; one IPUSH packet with LHSv2; several packets; rendezvous.  Messages
 * for one peer go out in one order: while one waits in the peer's queue, later ones queue behind
 * it.  What is not a message (answers, acknowledgements, active messages) has an order of its own,
 * and does not wait for messages that the receiver holds back.
 */
#include "endpoint/internal.h"

#include <stdlib.h>

#define OP_INDEX_BITS 20u
/* T_stop of the flow control specification (8.7): doubled each time, up to a second. */
#define RETRY_NS UINT64_C(10000000)
#define RETRY_MOST_NS UINT64_C(1000000000)
#define RETRIES_COUNTED 7u
/* DIMMNET_FLOW=rnr, limit: the timer of InfiniBand's RNR NAK that is coded 12, the usual choice. */
#define RNR_NS UINT64_C(640000)

static dnet_status_t grow_ops(dnet_ep_t *ep)
{
    uint32_t cap = ep->ops.cap ? ep->ops.cap * 2 : 256;
    if (cap > 1u << OP_INDEX_BITS) {
        dnet_error("more than %u sends under way at once", 1u << OP_INDEX_BITS);
        return DNET_ERR_LIMIT;
    }
    dnet_op_t **ops = realloc(ep->ops.by_id, cap * sizeof(*ops));
    if (!ops)
        return DNET_ERR_NO_MEMORY;
    ep->ops.by_id = ops;
    dnet_op_t *block = calloc(cap - ep->ops.cap, sizeof(*block));
    if (!block)
        return DNET_ERR_NO_MEMORY;
    for (uint32_t i = ep->ops.cap; i < cap; i++) {
        dnet_op_t *op = &block[i - ep->ops.cap];
        op->id = i;
        op->next = ep->ops.free;
        ep->ops.free = op;
        ep->ops.by_id[i] = op;
    }
    ep->ops.cap = cap;
    return DNET_OK;
}

dnet_status_t dnet_op_new(dnet_ep_t *ep, uint32_t peer, dnet_op_t **op_p)
{
    if (!ep->ops.free) {
        dnet_status_t status = grow_ops(ep);
        if (status != DNET_OK)
            return status;
    }
    dnet_op_t *op = ep->ops.free;
    ep->ops.free = op->next;
    ep->ops.active++;
    *op = (dnet_op_t){.id = op->id, .peer = peer, .state = DNET_OP_PACKETS};
    *op_p = op;
    return DNET_OK;
}

dnet_op_t *dnet_op_find(dnet_ep_t *ep, uint32_t id)
{
    uint32_t index = id & ((1u << OP_INDEX_BITS) - 1);
    if (index >= ep->ops.cap || ep->ops.by_id[index]->id != id ||
        ep->ops.by_id[index]->state == DNET_OP_FREE)
        return NULL;
    return ep->ops.by_id[index];
}

void dnet_op_finish(dnet_ep_t *ep, dnet_op_t *op, dnet_status_t status)
{
    dnet_ep_request_t *req = op->req;
    dnet_rendezvous_withdraw(ep, op);
    free(op->owned);
    op->owned = NULL;
    op->state = DNET_OP_FREE;
    op->id += 1u << OP_INDEX_BITS; /* an answer to the old id finds nothing */
    op->next = ep->ops.free;
    ep->ops.free = op;
    ep->ops.active--;
    if (req)
        req->complete(req, status);
}

/* The receiver has matched a synchronous message, or fetched one, or its half. */
void dnet_op_acknowledged(dnet_ep_t *ep, dnet_op_t *op)
{
    op->fetch_due = false;
    bool fetched = op->state == DNET_OP_CTS_WAIT && op->head.type == DNET_HEAD_RTS &&
                   (op->offer_slot || (op->head.flags & DNET_RTS_LAYOUT));
    if (op->state == DNET_OP_ACK_WAIT || op->state == DNET_OP_FETCH_WAIT || fetched)
        dnet_op_finish(ep, op, DNET_OK);
}

/* ---- packets ---- */

/* Others wait for the peer's room too, and what was granted has been used: go to the end of its
 * queue.  A packet more would take what was granted to somebody else, for a grant reserves nothing
 * in the NIC. */
static DNET_COLD dnet_status_t ask_for_more(dnet_ep_t *ep, const dnet_channel_t *ch, uint32_t len)
{
    uint32_t in_ring = len > DNET_LH_DATA_BYTES ? len - DNET_LH_DATA_BYTES : 0;
    dnet_status_t status = dnet_drv_ask(&ep->drv, ep->peers[ch->peer].target, in_ring);
    return status == DNET_OK ? DNET_STOPPED : status;
}

static dnet_status_t emit(dnet_ep_t *ep, dnet_op_t *op, uint64_t envelope,
                          const dnet_ep_head_t *head, const uint8_t *data, uint32_t len)
{
    dnet_drv_piece_t pieces[3];
    unsigned count = 0;
    uint32_t head_len = 0;
    if (head) {
        pieces[count++] = (dnet_drv_piece_t){head, sizeof(*head)};
        head_len += sizeof(*head);
        if (op->header_len) {
            pieces[count++] = (dnet_drv_piece_t){op->owned, op->header_len};
            head_len += op->header_len;
        }
    }
    dnet_drv_target_t target = ep->peers[op->peer].target;
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    if (ch && ch->limited && ch->credits-- == 0)
        return ask_for_more(ep, ch, head_len + len);
    dnet_status_t status;
    if (head_len + len <= DNET_DRV_BOTF_DATA_MAX) {
        pieces[count++] = (dnet_drv_piece_t){data, len};
        status = dnet_drv_send_pieces(&ep->drv, target, envelope, pieces, count);
    } else {
        status = dnet_drv_send_long(&ep->drv, target, envelope, pieces, count, data, len);
    }
    if (DNET_UNLIKELY(status == DNET_STALLED))
        op->issued = true;
    return status;
}

/* Was the op's packet issued before, so that it is out now? */
static bool was_issued(dnet_op_t *op)
{
    bool issued = op->issued;
    op->issued = false;
    return issued;
}

/* Pieces of a message that needs several packets.  The first one carries the envelope; the others
 * have their place at the receiver already. */
static dnet_status_t emit_pieces(dnet_ep_t *ep, dnet_op_t *op, uint64_t envelope)
{
    const uint32_t piece = (ep->packet_data - (uint32_t) sizeof(dnet_ep_head_t)) & ~7u;
    while (op->off < op->len) {
        size_t left = op->len - op->off;
        uint32_t n = left < piece ? (uint32_t) left : piece;
        bool first = op->off == 0;
        op->head.type = first ? DNET_HEAD_FIRST : DNET_HEAD_MORE;
        dnet_status_t status = was_issued(op) ? DNET_OK
                                              : emit(ep, op, first ? envelope : DNET_EP_CONTROL,
                                                     &op->head, op->buf + op->off, n);
        if (status != DNET_OK)
            return status;
        op->off += n;
    }
    return DNET_OK;
}

/* All packets the op still has to send.  DNET_OK: all are out.  `pass`: let in although it is held
 * back. */
static dnet_status_t emit_op(dnet_ep_t *ep, dnet_op_t *op, bool pass)
{
    uint64_t envelope = pass ? op->envelope | DNET_ENVELOPE_PASS : op->envelope;
    bool pieces =
        op->headed && (op->head.type == DNET_HEAD_FIRST || op->head.type == DNET_HEAD_MORE);
    if (!pieces && was_issued(op))
        return DNET_OK;
    if (!op->headed)
        return emit(ep, op, envelope, NULL, op->buf, (uint32_t) op->len);
    switch ((dnet_head_type_t) op->head.type) {
        case DNET_HEAD_FIRST:
        case DNET_HEAD_MORE:
            return emit_pieces(ep, op, envelope);
        case DNET_HEAD_SYNC:
        case DNET_HEAD_AM:
            return emit(ep, op, envelope, &op->head, op->buf, (uint32_t) op->len);
        case DNET_HEAD_AM_RTS:
        case DNET_HEAD_RTS:
        case DNET_HEAD_CTS:
        case DNET_HEAD_ACK:
        case DNET_HEAD_OFFER:
        case DNET_HEAD_VERDICT:
        case DNET_HEAD_PULL:
        case DNET_HEAD_PULL_NONE:
        case DNET_HEAD_TAKE:
        case DNET_HEAD_RELEASE_ACK:
        case DNET_HEAD_GRANT:
        case DNET_HEAD_DONE:
        case DNET_HEAD_RELEASE:
            return emit(ep, op, envelope, &op->head, NULL, 0);
    }
    return DNET_ERR_STATE;
}

/* The op's packets are out: finished, or waiting for the receiver. */
static void packets_out(dnet_ep_t *ep, dnet_op_t *op)
{
    uint8_t type = op->headed ? op->head.type : 0;
    if (type == DNET_HEAD_SYNC)
        op->state = DNET_OP_ACK_WAIT;
    else if (type == DNET_HEAD_RTS || type == DNET_HEAD_AM_RTS)
        op->state = DNET_OP_CTS_WAIT;
    else
        dnet_op_finish(ep, op, DNET_OK);
}

/* ---- queues ---- */

static DNET_COLD dnet_channel_t *queue_open(dnet_ep_t *ep, uint32_t peer)
{
    dnet_channel_t *ch = ep->tx.free;
    if (ch)
        ep->tx.free = ch->next;
    else if (!(ch = malloc(sizeof(*ch))))
        return NULL;
    *ch = (dnet_channel_t){.peer = peer};
    ep->peers[peer].channel = ch;
    ep->tx.open_channels++;
    return ch;
}

static void queue_close(dnet_ep_t *ep, dnet_channel_t *ch)
{
    ep->peers[ch->peer].channel = NULL;
    ep->tx.open_channels--;
    ch->next = ep->tx.free;
    ep->tx.free = ch;
}

static dnet_op_list_t *list_of(dnet_channel_t *ch, const dnet_op_t *op)
{
    return op->control ? &ch->control : &ch->messages;
}

static void queue_append(dnet_channel_t *ch, dnet_op_t *op)
{
    dnet_op_list_t *list = list_of(ch, op);
    op->next = NULL;
    op->prev = list->tail;
    if (list->tail)
        list->tail->next = op;
    else
        list->head = op;
    list->tail = op;
}

void dnet_channel_remove(dnet_channel_t *ch, dnet_op_t *op)
{
    dnet_op_list_t *list = list_of(ch, op);
    if (op->prev)
        op->prev->next = op->next;
    else
        list->head = op->next;
    if (op->next)
        op->next->prev = op->prev;
    else
        list->tail = op->prev;
}

/* Where many are stopped each waits long for his turn: a stop that lasts a few times as long as the
 * last one did is no sign of a loss. */
static uint64_t retry_after_ns(const dnet_ep_t *ep)
{
    return 4 * ep->tx.waited_ns > RETRY_NS ? 4 * ep->tx.waited_ns : RETRY_NS;
}

static void queue_stopped(dnet_ep_t *ep, dnet_channel_t *ch)
{
    DNET_TRACE(stopped, ch->peer, 0, 0);
    dnet_fc_sender_stop(&ch->sender);
    ep->counters.stop++;
    uint64_t wait_ns = dnet_flow_retries(ep) ? RNR_NS : retry_after_ns(ep) << ch->retries;
    ch->stopped_ns = dnet_clock_ns();
    ch->retry_ns = ch->stopped_ns + (wait_ns < RETRY_MOST_NS ? wait_ns : RETRY_MOST_NS);
    if (ch->retry_ns < ep->tx.retry_ns)
        ep->tx.retry_ns = ch->retry_ns;
    ep->flow_turns |= dnet_flow_retries(ep);
}

void dnet_channels_stop(dnet_ep_t *ep)
{
    for (uint32_t peer = 0; peer < ep->size; peer++) {
        dnet_channel_t *ch = ep->peers[peer].channel;
        if (!ch)
            ch = queue_open(ep, peer);
        if (!ch) {
            dnet_error("no memory to wait for a stalled NIC");
            abort(); /* what is sent next would get lost */
        }
        dnet_fc_sender_stop(&ch->sender);
    }
}

/* Must the op wait for others, or for the peer? */
static bool must_queue(const dnet_channel_t *ch, const dnet_op_t *op)
{
    return !op->control || !dnet_fc_sender_may_send(&ch->sender) || ch->control.head;
}

static void not_taken(dnet_ep_t *ep, dnet_channel_t *ch, dnet_status_t status)
{
    if (status == DNET_STOPPED)
        queue_stopped(ep, ch);
    else if (status == DNET_HELD)
        dnet_offer_start(ep, ch);
    else
        dnet_flow_stalled(ep);
}

/* The op waits for the peer, or in the NIC. */
static bool is_refusal(dnet_status_t status)
{
    return status == DNET_STOPPED || status == DNET_HELD || status == DNET_STALLED;
}

/* The peer has not taken the op, which is the first of its list. */
static dnet_status_t refused(dnet_ep_t *ep, dnet_op_t *op, dnet_status_t status)
{
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    if (!ch)
        ch = queue_open(ep, op->peer);
    if (!ch) {
        dnet_op_finish(ep, op, DNET_ERR_NO_MEMORY);
        return DNET_ERR_NO_MEMORY;
    }
    queue_append(ch, op);
    not_taken(ep, ch, status);
    return DNET_IN_PROGRESS;
}

dnet_status_t dnet_op_submit(dnet_ep_t *ep, dnet_op_t *op)
{
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    if (ch && must_queue(ch, op)) {
        queue_append(ch, op);
        if (ch->held && !op->control)
            dnet_offer_added(ep, ch, op);
        return DNET_IN_PROGRESS;
    }
    uint32_t id = op->id;
    dnet_status_t status = emit_op(ep, op, false);
    if (status == DNET_OK) {
        packets_out(ep, op);
        return op->id == id ? DNET_IN_PROGRESS : DNET_OK;
    }
    if (is_refusal(status))
        return refused(ep, op, status);
    dnet_op_finish(ep, op, status);
    return status;
}

static dnet_op_t *queue_first(const dnet_channel_t *ch)
{
    if (ch->control.head || (ch->held && !ch->granted))
        return ch->control.head;
    return ch->messages.head;
}

void dnet_channel_flush(dnet_ep_t *ep, dnet_channel_t *ch)
{
    dnet_op_t *op;
    while ((op = queue_first(ch)) != NULL) {
        bool granted = ch->held && !op->control;
        dnet_status_t status = emit_op(ep, op, granted);
        if (is_refusal(status)) {
            not_taken(ep, ch, status);
            return;
        }
        if (granted)
            dnet_offer_sent(ch, op);
        ch->retries = 0;
        dnet_channel_remove(ch, op);
        if (status == DNET_OK)
            packets_out(ep, op);
        else
            dnet_op_finish(ep, op, status);
    }
    if (ch->held)
        dnet_offer_flushed(ep, ch);
    if (dnet_fc_sender_may_send(&ch->sender) && !ch->control.head && !ch->messages.head &&
        !ch->out_count)
        queue_close(ep, ch);
}

void dnet_channel_resume(dnet_ep_t *ep, uint32_t peer, uint32_t credits)
{
    dnet_channel_t *ch = ep->peers[peer].channel;
    if (!ch || !dnet_fc_sender_resend(&ch->sender))
        return;
    DNET_TRACE(resumed, peer, 0, 0);
    ep->counters.resend++;
    ep->tx.waited_ns = dnet_clock_ns() - ch->stopped_ns;
    ch->limited = credits != 0;
    ch->credits = credits;
    dnet_channel_flush(ep, ch);
}

void dnet_channel_go_on(dnet_ep_t *ep, uint32_t peer)
{
    dnet_channel_t *ch = ep->peers[peer].channel;
    if (ch && dnet_fc_sender_resend(&ch->sender))
        dnet_channel_flush(ep, ch);
}

/* The stop or its resend may have been lost (docs/flow-control.md 3): ask for a grant.  The packet
 * itself would take the room that was granted to others.  A timer alone (rnr, limit) has nobody to
 * ask and sends all that is taken. */
static void queue_retry(dnet_ep_t *ep, dnet_channel_t *ch)
{
    if (ch->retries < RETRIES_COUNTED)
        ch->retries++;
    ch->limited = !dnet_flow_retries(ep);
    ch->credits = 0;
    ep->counters.retries++;
    dnet_fc_sender_resend(&ch->sender);
    dnet_channel_flush(ep, ch);
}

void dnet_channel_retry(dnet_ep_t *ep, uint64_t now_ns)
{
    if (ep->stalled)
        return;
    ep->tx.retry_ns = UINT64_MAX;
    for (uint32_t peer = 0; peer < ep->size; peer++) {
        dnet_channel_t *ch = ep->peers[peer].channel;
        if (!ch || dnet_fc_sender_may_send(&ch->sender))
            continue;
        if (ch->retry_ns <= now_ns)
            queue_retry(ep, ch);
        else if (ch->retry_ns < ep->tx.retry_ns)
            ep->tx.retry_ns = ch->retry_ns;
    }
}

/* ---- entry points ---- */

/* As dnet_op_submit(), for a caller who gets the result by return when there is one already. */
static dnet_status_t submit_for(dnet_ep_t *ep, dnet_op_t *op, dnet_ep_request_t *req)
{
    dnet_status_t status = dnet_op_submit(ep, op);
    if (status == DNET_IN_PROGRESS)
        op->req = req;
    return status;
}

static DNET_COLD dnet_status_t send_slow(dnet_ep_t *ep, uint32_t peer, uint64_t envelope,
                                         const void *buf, size_t len, bool sync,
                                         dnet_ep_request_t *req)
{
    dnet_op_t *op;
    dnet_status_t status = dnet_op_new(ep, peer, &op);
    if (status != DNET_OK)
        return status;
    op->envelope = envelope;
    op->buf = buf;
    op->len = len;
    bool one_packet = len + sizeof(op->head) <= ep->packet_data;
    if (!sync && len <= ep->one_packet)
        return submit_for(ep, op, req);

    op->headed = true;
    op->envelope |= DNET_EP_HEADED;
    op->head = (dnet_ep_head_t){.rank = ep->rank, .op = op->id, .length = len};
    if (sync && one_packet && len <= ep->eager_limit) {
        op->head.type = DNET_HEAD_SYNC;
    } else if (!sync && len <= ep->eager_limit) {
        op->head.type = DNET_HEAD_FIRST;
    } else {
        op->head.type = DNET_HEAD_RTS;
        op->head.arg = dnet_rendezvous_offer(ep, op);
        dnet_strided_offer(ep, op);
        ep->counters.rendezvous++;
        DNET_TRACE(rts, peer, op->id, len);
    }
    return submit_for(ep, op, req);
}

/* The packet of a message has not been delivered. */
static DNET_COLD dnet_status_t send_refused(dnet_ep_t *ep, uint32_t peer, uint64_t envelope,
                                            const void *buf, size_t len, dnet_status_t why,
                                            dnet_ep_request_t *req)
{
    dnet_op_t *op;
    dnet_status_t status = is_refusal(why) ? dnet_op_new(ep, peer, &op) : why;
    if (status != DNET_OK)
        return status;
    op->envelope = envelope;
    op->buf = buf;
    op->len = len;
    op->issued = why == DNET_STALLED;
    status = refused(ep, op, why);
    if (status == DNET_IN_PROGRESS)
        op->req = req;
    return status;
}

dnet_status_t dnet_ep_send(dnet_ep_t *ep, uint32_t peer, uint64_t envelope, const void *buf,
                           size_t len, bool sync, dnet_ep_request_t *req)
{
    dnet_peer_t *p = &ep->peers[peer];
    dnet_status_t status;
    DNET_TRACE(send, peer, envelope, len);
    ep->counters.sent_messages++;
    ep->counters.sent_bytes += len;
    if (DNET_UNLIKELY(p->channel || sync || len > ep->one_packet))
        return send_slow(ep, peer, envelope, buf, len, sync, req);
    if (len <= DNET_DRV_BOTF_DATA_MAX)
        status = dnet_drv_send_short(&ep->drv, p->target, envelope, buf, (uint32_t) len);
    else
        status = dnet_drv_send_long(&ep->drv, p->target, envelope, NULL, 0, buf, (uint32_t) len);
    if (DNET_LIKELY(status == DNET_OK))
        return DNET_OK;
    return send_refused(ep, peer, envelope, buf, len, status, req);
}

/* What stands between the head and the data of a packet; copied, because the packet may have to
 * wait. */
static dnet_status_t put_behind_head(dnet_op_t *op, const void *behind, size_t len)
{
    op->header_len = (uint32_t) len;
    if (len == 0)
        return DNET_OK;
    op->owned = malloc(len);
    if (!op->owned)
        return DNET_ERR_NO_MEMORY;
    memcpy(op->owned, behind, len);
    return DNET_OK;
}

void dnet_send_control(dnet_ep_t *ep, uint32_t peer, const dnet_ep_head_t *head, const void *behind,
                       uint32_t len)
{
    dnet_op_t *op;
    dnet_status_t status = dnet_op_new(ep, peer, &op);
    if (status == DNET_OK) {
        op->headed = true;
        op->control = true;
        op->envelope = DNET_EP_CONTROL;
        op->head = *head;
        status = put_behind_head(op, behind, len);
        if (status == DNET_OK)
            status = dnet_op_submit(ep, op);
        else
            dnet_op_finish(ep, op, status);
    }
    if (status != DNET_OK && status != DNET_IN_PROGRESS)
        dnet_error("a packet of type %u cannot be sent to rank %u: %s", head->type, peer,
                   dnet_status_text(status));
}

dnet_status_t dnet_ep_am_send(dnet_ep_t *ep, uint32_t peer, uint16_t id, const void *header,
                              size_t header_len, const void *data, size_t len,
                              dnet_ep_request_t *req)
{
    if (header_len > DNET_EP_AM_HEADER_MAX)
        return DNET_ERR_ARGUMENT;
    dnet_op_t *op;
    dnet_status_t status = dnet_op_new(ep, peer, &op);
    if (status != DNET_OK)
        return status;
    bool whole = sizeof(op->head) + header_len + len <= ep->packet_data;
    op->headed = true;
    op->control = true;
    op->envelope = DNET_EP_CONTROL;
    op->buf = data;
    op->len = len;
    op->head = (dnet_ep_head_t){
        .type = whole ? DNET_HEAD_AM : DNET_HEAD_AM_RTS,
        .id = id,
        .rank = ep->rank,
        .op = op->id,
        .arg = (uint32_t) header_len,
        .length = len,
    };
    status = put_behind_head(op, header, header_len);
    if (status != DNET_OK) {
        dnet_op_finish(ep, op, status);
        return status;
    }
    return submit_for(ep, op, req);
}
