/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets and control messages (docs/protocol.md 3) on their way to one peer, and what waits.
 *
 * Messages for one peer go out in one order: while one waits in the channel, later ones wait behind
 * it.  What is not a message (CTS, ACK, active messages) has an order of its own, and does not wait
 * for messages that the receiver holds back.
 */
#include "endpoint/channel.h"

#include <stdlib.h>

#include "endpoint/guests.h"
#include "endpoint/inbox.h"

/* A stop whose grant does not come is tried again after T_stop (flow control specification, 8.7),
 * three times, then after twice as long each time, up to a second.  Where half of all tries are
 * lost a time that doubles from the first one on has no mean. */
#define RETRY_NS UINT64_C(10000000)
#define RETRY_MOST_NS UINT64_C(1000000000)
#define RETRIES_COUNTED 10u
#define RETRIES_EVEN 3u

/* What waits for another host leaves in messages of the network of up to so many bytes. */
#define GATHER_MOST 65536u
#define HEADS_BYTES 128u /* of a packet */

/* ---- packets ---- */

/* Others wait for the peer's room too, and the grant has been used: join the end of its line.  One
 * more packet would take room that was granted to another sender, for a grant reserves nothing in
 * the NIC. */
static DNET_COLD dnet_status_t ask_for_more(dnet_ep_t *ep, const dnet_channel_t *ch, uint32_t len)
{
    uint32_t in_ring = len > DNET_LH_DATA_BYTES ? len - DNET_LH_DATA_BYTES : 0;
    dnet_status_t status = dnet_drv_ask(&ep->drv, ep->peers[ch->peer].target, in_ring);
    return status == DNET_OK ? DNET_STOPPED : status;
}

static dnet_status_t emit(dnet_ep_t *ep, dnet_op_t *op, uint64_t envelope, dnet_ep_head_t *head,
                          const uint8_t *data, uint32_t len)
{
    dnet_drv_piece_t pieces[3];
    unsigned count = 0;
    uint32_t head_len = 0;
    if (head) {
        if (DNET_UNLIKELY(op->peer >= ep->size))
            head->rank = dnet_guest_self(ep, op->peer);
        pieces[count++] = (dnet_drv_piece_t){head, sizeof(*head)};
        head_len += sizeof(*head);
        if (dnet_head_is_of_piece(head->type)) {
            static const uint8_t unused[DNET_PIECE_AT - sizeof(*head)];
            pieces[count++] = (dnet_drv_piece_t){unused, sizeof(unused)};
            head_len += sizeof(unused);
        } else if (op->header_len) {
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
    if (ch && status == DNET_OK)
        ch->retries = 0; /* the receiver answers */
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

/* Messages alone of this length and more go as longer pieces than those of packet_data. */
#define LONG_PIECES_FROM 32768u
#define LONG_PIECE (16384u + DNET_PIECE_AT)
#define LONGER_PIECES_FROM 262144u
#define LONGER_PIECE (32768u + DNET_PIECE_AT)

/* Longest message whose place is asked for ahead: some of the first-level cache. */
#define EXPECTED_MOST 16384u

/* Data and head of a piece, at most.  Of a message alone the receiver copies one piece out while
 * the next one is copied in, so that there shall be some; among several it is busy with the one
 * before, and the fewer pieces the better. */
static uint32_t piece_limit(const dnet_ep_t *ep, const dnet_op_t *op)
{
    if (!dnet_job_is_near(ep, op->peer) || (!op->in_a_row && op->len < LONG_PIECES_FROM))
        return ep->packet_data;
    if (op->in_a_row || ep->piece_data < LONGER_PIECE)
        return ep->piece_data;
    return op->at_once || op->len >= LONGER_PIECES_FROM ? LONGER_PIECE : LONG_PIECE;
}

/* Bytes of each piece but the last of a message that needs several packets: as few as can be, and
 * of one size, of whole lines where packets are long. */
static uint32_t piece_bytes(const dnet_ep_t *ep, const dnet_op_t *op)
{
    size_t unit = ep->packet_data > DNET_DRV_BOTF_DATA_MAX ? DNET_IPUSH_GRAIN_MAX : 8;
    size_t most = (piece_limit(ep, op) - DNET_PIECE_AT) & -unit;
    size_t pieces = (op->len + most - 1) / most;
    return (uint32_t) (((op->len + pieces - 1) / pieces + unit - 1) & -unit);
}

/* A piece; of some of a message that goes at once, how long that takes. */
static dnet_status_t emit_piece(dnet_ep_t *ep, dnet_op_t *op, uint64_t envelope, uint32_t n)
{
    const uint8_t *data = op->buf + op->off;
    if (!op->at_once)
        return emit(ep, op, envelope, &op->head, data, n);
    uint64_t begin = dnet_piece_is_timed((uint32_t) (op->off / n), n) ? dnet_clock_ns() : 0;
    dnet_status_t status = emit(ep, op, envelope, &op->head, data, n);
    if (status == DNET_OK)
        dnet_piece_sent(&ep->rndv.at_once_times, n, begin ? dnet_clock_ns() - begin : 0);
    return status;
}

void dnet_channel_expect(const dnet_ep_t *ep, uint32_t peer, size_t len)
{
    if (len <= EXPECTED_MOST && !ep->oversubscribed)
        dnet_drv_expect(&ep->drv, ep->peers[peer].target, (uint32_t) len);
}

/* Pieces of a message that needs several packets.  The first one carries the envelope; the others
 * belong to what the receiver has begun. */
static dnet_status_t emit_pieces(dnet_ep_t *ep, dnet_op_t *op, uint64_t envelope)
{
    const uint32_t piece = piece_bytes(ep, op);
    while (op->off < op->len) {
        size_t left = op->len - op->off;
        uint32_t n = left < piece ? (uint32_t) left : piece;
        bool first = op->off == 0;
        op->head.type = first ? DNET_HEAD_FIRST : DNET_HEAD_MORE;
        dnet_status_t status =
            was_issued(op) ? DNET_OK : emit_piece(ep, op, first ? envelope : DNET_EP_CONTROL, n);
        if (status != DNET_OK)
            return status;
        op->off += n;
    }
    if (!op->in_a_row)
        dnet_channel_expect(ep, op->peer, op->len);
    return DNET_OK;
}

bool dnet_channel_gather(dnet_ep_t *ep, size_t bytes)
{
    if (!ep->job.has_port || ep->tx.gathers)
        return false;
    ep->tx.gathers = true;
    ep->dev->ops->gather(ep->dev, bytes < GATHER_MOST ? (uint32_t) bytes : GATHER_MOST);
    return true;
}

void dnet_channel_gather_end(dnet_ep_t *ep, bool gathers)
{
    if (DNET_LIKELY(!gathers))
        return;
    ep->tx.gathers = false;
    ep->dev->ops->gather(ep->dev, 0);
}

static dnet_status_t emit_pieces_at_once(dnet_ep_t *ep, dnet_op_t *op, uint64_t envelope)
{
    bool gathers = dnet_channel_gather(ep, op->len - op->off);
    dnet_status_t status = emit_pieces(ep, op, envelope);
    dnet_channel_gather_end(ep, gathers);
    return status;
}

/* RTS, with which the network may bring what it lends. */
static dnet_status_t emit_announcement(dnet_ep_t *ep, dnet_op_t *op, uint64_t envelope)
{
    dnet_drv_target_t target = ep->peers[op->peer].target;
    uint16_t lid = dnet_drv_target_lid(target);
    unsigned wid = dnet_drv_target_wid(target);
    if (op->loan)
        ep->dev->ops->send_ahead(ep->dev, lid, wid, op->loan);
    dnet_status_t status = emit(ep, op, envelope, &op->head, NULL, 0);
    if (op->loan)
        ep->dev->ops->send_ahead(ep->dev, lid, wid, NULL);
    return status;
}

static bool is_in_pieces(const dnet_op_t *op)
{
    return op->headed && (op->head.type == DNET_HEAD_FIRST || op->head.type == DNET_HEAD_MORE);
}

/* Send all packets that the op still has to send.  DNET_OK: all are out.
 * @param pass  the receiver shall let them in although it holds messages back */
static dnet_status_t emit_op(dnet_ep_t *ep, dnet_op_t *op, bool pass)
{
    uint64_t envelope = pass ? op->envelope | DNET_ENVELOPE_PASS : op->envelope;
    if (!op->headed)
        return emit(ep, op, envelope, NULL, op->buf, (uint32_t) op->len);
    switch ((dnet_head_type_t) op->head.type) {
        case DNET_HEAD_FIRST:
        case DNET_HEAD_MORE:
            return emit_pieces_at_once(ep, op, envelope);
        case DNET_HEAD_SYNC:
        case DNET_HEAD_AM:
            return emit(ep, op, envelope, &op->head, op->buf, (uint32_t) op->len);
        case DNET_HEAD_RTS:
            return emit_announcement(ep, op, envelope);
        case DNET_HEAD_AM_RTS:
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
        case DNET_HEAD_WITHDRAW:
        case DNET_HEAD_WITHDRAWN:
        case DNET_HEAD_PIECE:
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
    else {
        dnet_op_finish(ep, op, DNET_OK);
        return;
    }
    if (DNET_UNLIKELY(op->cancelling))
        dnet_send_withdraw(ep, op);
}

/* ---- what waits ---- */

static DNET_COLD dnet_channel_t *channel_open(dnet_ep_t *ep, uint32_t peer)
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

static void channel_close(dnet_ep_t *ep, dnet_channel_t *ch)
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

static void append(dnet_channel_t *ch, dnet_op_t *op)
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

/* A long wait may have been a loss that the timer has ended: one that counted in full would make
 * the next loss last four times as long, until each costs a second. */
static void note_wait(dnet_ep_t *ep, uint64_t ns)
{
    if (ns < ep->tx.waited_ns)
        ep->tx.waited_ns = ns;
    else
        ep->tx.waited_ns += (ns - ep->tx.waited_ns) / 8;
}

/* Where many are stopped each waits long for its turn: a stop that lasts a few times as long as
 * those before it is no sign of a loss. */
static uint64_t retry_after_ns(const dnet_ep_t *ep)
{
    return 4 * ep->tx.waited_ns > RETRY_NS ? 4 * ep->tx.waited_ns : RETRY_NS;
}

static void stopped(dnet_ep_t *ep, dnet_channel_t *ch)
{
    DNET_TRACE(stopped, ch->peer, 0, 0);
    dnet_fc_sender_stop(&ch->sender);
    ep->page.counters.stop++;
    uint64_t timer_ns = ep->tx.timer_ns;
    uint32_t doubled = ch->retries > RETRIES_EVEN ? ch->retries - RETRIES_EVEN : 0;
    uint64_t wait_ns = timer_ns ? timer_ns : retry_after_ns(ep) << doubled;
    ch->stopped_ns = dnet_clock_ns();
    ch->retry_ns = ch->stopped_ns + (wait_ns < RETRY_MOST_NS ? wait_ns : RETRY_MOST_NS);
    if (ch->retry_ns < ep->tx.retry_ns)
        ep->tx.retry_ns = ch->retry_ns;
    ep->flow_turns |= timer_ns != 0;
}

void dnet_channel_stall(dnet_ep_t *ep)
{
    ep->page.counters.stalled++;
    ep->stalled = ep->flow_turns = true;
    for (uint32_t peer = 0; peer < dnet_peers_end(ep); peer++) {
        dnet_channel_t *ch = ep->peers[peer].channel;
        if (!ch)
            ch = channel_open(ep, peer);
        if (!ch) {
            dnet_error("no memory to wait for a stalled NIC");
            abort(); /* what is sent next would get lost */
        }
        dnet_fc_sender_stop(&ch->sender);
    }
}

/* Must the op wait for others, or for the peer?  A channel in which nothing waits may be open, too:
 * as long as an op that has waited there pushes pieces. */
static bool must_wait(const dnet_channel_t *ch, const dnet_op_t *op)
{
    if (!dnet_fc_sender_may_send(&ch->sender) || ch->control.head)
        return true;
    return !op->control && (ch->messages.head || dnet_defer_tx_is_held(&ch->defer));
}

static dnet_flush_t not_taken(dnet_ep_t *ep, dnet_channel_t *ch, dnet_status_t status)
{
    if (status == DNET_HELD)
        return DNET_FLUSH_HELD;
    if (status == DNET_STOPPED)
        stopped(ep, ch);
    else
        dnet_channel_stall(ep);
    return DNET_FLUSH_STOPPED;
}

dnet_status_t dnet_channel_refused(dnet_ep_t *ep, dnet_op_t *op, dnet_status_t why)
{
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    if (!ch)
        ch = channel_open(ep, op->peer);
    if (!ch) {
        dnet_op_finish(ep, op, DNET_ERR_NO_MEMORY);
        return DNET_ERR_NO_MEMORY;
    }
    append(ch, op);
    return not_taken(ep, ch, why) == DNET_FLUSH_HELD ? DNET_HELD : DNET_IN_PROGRESS;
}

dnet_status_t dnet_channel_submit(dnet_ep_t *ep, dnet_op_t *op)
{
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    if (ch && must_wait(ch, op)) {
        append(ch, op);
        return dnet_defer_tx_is_held(&ch->defer) && !op->control ? DNET_HELD : DNET_IN_PROGRESS;
    }
    uint32_t id = op->id;
    dnet_status_t status = emit_op(ep, op, false);
    if (status == DNET_OK) {
        packets_out(ep, op);
        return op->id == id ? DNET_IN_PROGRESS : DNET_OK;
    }
    if (dnet_is_refusal(status))
        return dnet_channel_refused(ep, op, status);
    dnet_op_finish(ep, op, status);
    return status;
}

static dnet_op_t *first(const dnet_channel_t *ch)
{
    if (ch->control.head || !dnet_defer_tx_may_send(&ch->defer))
        return ch->control.head;
    return ch->messages.head;
}

/* A granted message has been sent. */
static void use_grant(dnet_channel_t *ch, const dnet_op_t *op)
{
    size_t kept = op->headed && op->head.type == DNET_HEAD_RTS ? 0 : op->len;
    dnet_defer_tx_sent(&ch->defer, dnet_message_bytes(kept));
    if (ch->fresh == op)
        ch->fresh = op->next;
}

/* Of dnet_send_control(): nobody here waits for its end. */
static bool is_word(const dnet_op_t *op)
{
    return op->control && !op->req;
}

static DNET_COLD void word_failed(uint8_t type, uint32_t peer, dnet_status_t status)
{
    dnet_error("a packet of type %u cannot be sent to rank %u: %s", type, peer,
               dnet_status_text(status));
    if (status != DNET_ERR_PEER_DEAD && status != DNET_ERR_NO_ROUTE)
        abort(); /* the peer would wait for it for ever; those two are found by progress */
}

static dnet_flush_t flush(dnet_ep_t *ep, dnet_channel_t *ch)
{
    dnet_op_t *op;
    while ((op = first(ch)) != NULL) {
        /* What the end of a send has started may have met no room, and the NIC keep its packet. */
        if (!dnet_fc_sender_may_send(&ch->sender))
            return DNET_FLUSH_STOPPED;
        bool granted = dnet_defer_tx_is_held(&ch->defer) && !op->control;
        dnet_status_t status = emit_op(ep, op, granted);
        if (dnet_is_refusal(status))
            return not_taken(ep, ch, status);
        if (granted)
            use_grant(ch, op);
        if (DNET_UNLIKELY(status != DNET_OK) && is_word(op))
            word_failed(op->head.type, op->peer, status);
        dnet_channel_remove(ch, op);
        if (status == DNET_OK)
            packets_out(ep, op);
        else
            dnet_op_finish(ep, op, status);
    }
    return DNET_FLUSH_EMPTY;
}

/* Is that the packet that the NIC has kept?  Of a message in pieces it counts when the others go.
 */
static void settle(dnet_ep_t *ep, dnet_channel_t *ch, dnet_op_t *op)
{
    if (!op || is_in_pieces(op) || !was_issued(op))
        return;
    dnet_channel_remove(ch, op);
    packets_out(ep, op);
}

void dnet_channel_settle(dnet_ep_t *ep)
{
    for (uint32_t peer = 0; peer < dnet_peers_end(ep); peer++) {
        dnet_channel_t *ch = ep->peers[peer].channel;
        if (!ch)
            continue;
        settle(ep, ch, ch->control.head);
        settle(ep, ch, ch->messages.head);
    }
}

/* Bytes of the packets that wait in a list, or enough of them. */
static size_t bytes_of(const dnet_op_list_t *list)
{
    size_t bytes = 0;
    for (const dnet_op_t *op = list->head; op && bytes < GATHER_MOST; op = op->next) {
        bool head_only = op->headed && (op->head.type == DNET_HEAD_RTS || op->control);
        bytes += HEADS_BYTES + (head_only ? 0 : op->len);
    }
    return bytes;
}

dnet_flush_t dnet_channel_flush(dnet_ep_t *ep, dnet_channel_t *ch)
{
    bool gathers = ep->job.has_port &&
                   dnet_channel_gather(ep, bytes_of(&ch->control) + bytes_of(&ch->messages));
    dnet_flush_t result = flush(ep, ch);
    dnet_channel_gather_end(ep, gathers);
    return result;
}

void dnet_channel_close_if_idle(dnet_ep_t *ep, dnet_channel_t *ch)
{
    if (dnet_fc_sender_may_send(&ch->sender) && !ch->control.head && !ch->messages.head &&
        !ch->pushing && !dnet_defer_tx_is_held(&ch->defer))
        channel_close(ep, ch);
}

/* The end of one may start others. */
static void end_all(dnet_ep_t *ep, dnet_channel_t *ch, const dnet_op_list_t *list, bool words_only)
{
    dnet_op_t *op = list->head;
    while (op) {
        if (words_only && !is_word(op)) {
            op = op->next;
            continue;
        }
        dnet_channel_remove(ch, op);
        dnet_op_finish(ep, op, DNET_ERR_PEER_DEAD);
        op = list->head;
    }
}

/* Whether the peer has stopped this process, or holds its messages back, does not matter now. */
void dnet_channel_peer_gone(dnet_ep_t *ep, uint32_t peer, bool words_only)
{
    dnet_channel_t *ch = ep->peers[peer].channel;
    if (!ch)
        return;
    end_all(ep, ch, &ch->control, words_only);
    if (!words_only)
        end_all(ep, ch, &ch->messages, false);
    if (!ch->control.head && !ch->messages.head && !ch->pushing)
        channel_close(ep, ch);
}

dnet_channel_t *dnet_channel_resume(dnet_ep_t *ep, uint32_t peer, uint32_t credits)
{
    dnet_channel_t *ch = ep->peers[peer].channel;
    if (!ch || !dnet_fc_sender_resend(&ch->sender))
        return NULL;
    DNET_TRACE(resumed, peer, 0, 0);
    ep->page.counters.resend++;
    note_wait(ep, dnet_clock_ns() - ch->stopped_ns);
    ch->limited = credits != 0;
    ch->credits = credits;
    return ch;
}

dnet_channel_t *dnet_channel_go_on(dnet_ep_t *ep, uint32_t peer)
{
    dnet_channel_t *ch = ep->peers[peer].channel;
    return ch && dnet_fc_sender_resend(&ch->sender) ? ch : NULL;
}

/* A grant is asked for; the packet itself would take the room that was granted to others.  Where
 * there is only a timer no receiver can be asked, and all is sent that is taken. */
void dnet_channel_retry(dnet_ep_t *ep, dnet_channel_t *ch)
{
    if (ch->retries < RETRIES_COUNTED)
        ch->retries++;
    ch->limited = ep->tx.timer_ns == 0;
    ch->credits = 0;
    ep->page.counters.retries++;
    dnet_fc_sender_resend(&ch->sender);
}

/* ---- control ---- */

bool dnet_channel_is_free(const dnet_ep_t *ep, uint32_t peer)
{
    const dnet_channel_t *ch = ep->peers[peer].channel;
    return !ch || (dnet_fc_sender_may_send(&ch->sender) && !ch->control.head);
}

dnet_status_t dnet_channel_piece(dnet_ep_t *ep, dnet_op_t *op, dnet_ep_head_t *head,
                                 const uint8_t *data, uint32_t len)
{
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    if (!dnet_channel_is_free(ep, op->peer))
        return DNET_IN_PROGRESS;
    dnet_status_t status = emit(ep, op, DNET_EP_CONTROL, head, data, len);
    if (!dnet_is_refusal(status))
        return status;
    if (!ch && !(ch = channel_open(ep, op->peer)))
        return DNET_ERR_NO_MEMORY;
    ch->pushing += !op->has_waited;
    op->has_waited = true;
    (void) not_taken(ep, ch, status);
    return DNET_IN_PROGRESS;
}

void dnet_channel_pieces_end(dnet_ep_t *ep, dnet_op_t *op)
{
    if (DNET_LIKELY(!op->has_waited))
        return;
    op->has_waited = false;
    dnet_channel_t *ch = ep->peers[op->peer].channel;
    ch->pushing--;
    dnet_channel_close_if_idle(ep, ch);
}

void dnet_send_control(dnet_ep_t *ep, uint32_t peer, const dnet_ep_head_t *head, const void *behind,
                       uint32_t len)
{
    dnet_op_t *op;
    dnet_status_t why = DNET_OK;
    if (len == 0 && !ep->peers[peer].channel && peer < ep->size) { /* an op is for what waits */
        why = dnet_drv_send_short(&ep->drv, ep->peers[peer].target, DNET_EP_CONTROL, head,
                                  sizeof(*head), false);
        if (DNET_LIKELY(why == DNET_OK))
            return;
    }
    dnet_status_t status = dnet_op_new(ep, peer, &op);
    if (status == DNET_OK) {
        op->headed = true;
        op->control = true;
        op->envelope = DNET_EP_CONTROL;
        op->head = *head;
        op->issued = why == DNET_STALLED;
        status = dnet_op_attach(op, behind, len);
        if (status != DNET_OK)
            dnet_op_finish(ep, op, status);
        else if (dnet_is_refusal(why))
            status = dnet_channel_refused(ep, op, why);
        else
            status = dnet_channel_submit(ep, op);
    }
    if (status == DNET_OK || status == DNET_IN_PROGRESS)
        return;
    word_failed(head->type, peer, status);
}

void dnet_send_ack(dnet_ep_t *ep, uint32_t rank, uint32_t op)
{
    dnet_ep_head_t ack = {.type = DNET_HEAD_ACK, .rank = ep->rank, .op = op};
    dnet_send_control(ep, rank, &ack, NULL, 0);
}

void dnet_send_withdraw(dnet_ep_t *ep, const dnet_op_t *op)
{
    dnet_ep_head_t withdraw = {.type = DNET_HEAD_WITHDRAW, .rank = ep->rank, .op = op->id};
    dnet_send_control(ep, op->peer, &withdraw, NULL, 0);
}

void dnet_channels_free(dnet_ep_t *ep)
{
    for (uint32_t peer = 0; ep->tx.open_channels && peer < dnet_peers_end(ep); peer++)
        free(ep->peers[peer].channel);
    while (ep->tx.free) {
        dnet_channel_t *ch = ep->tx.free;
        ep->tx.free = ch->next;
        free(ch);
    }
}
