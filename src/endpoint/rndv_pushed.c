/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous, pushed: the sender sends pieces of the message through the receiver's ring, and the
 * receiver copies each out to where it belongs; a sender that computes does not, and the receiver
 * fetches pieces itself then (docs/protocol.md 4.6).
 *
 * How many pieces each side has is decided as for split messages (rndv_split.c), except that the
 * receiver has none before it has counted the cursor up.  The sender's are the first ones.
 */
#include "common/clock.h"
#include "endpoint/channel.h"
#include "endpoint/job.h"
#include "endpoint/rndv.h"

#define PIECE DNET_PIECE_BYTES
_Static_assert(PIECE + DNET_PIECE_AT <= DNET_DRV_PIECE_DATA_MAX, "a piece is one message");
_Static_assert(PIECE % DNET_APERTURE_UNIT == 0, "pieces have addresses");

/* A sender that waits in a call has the next piece there within some 2 us. */
#define SENDER_NS 10000u
/* Pieces that one round sends, so that what comes has its turn. */
#define ROUND_PIECES 16u
/* Pieces that the receiver fetches by one copy, and copies in a round. */
#define FETCHED_AT_ONCE 2u
#define ROUND_FETCHES 4u
/* The longest message that goes at once is this part of a ring. */
#define AT_ONCE_OF_RING 4u
/* Messages that are taken for awaited ones, after one that was, before the next is announced. */
#define GUESSES 15u

static uint32_t pieces(size_t len)
{
    return (uint32_t) ((len + PIECE - 1) / PIECE);
}

static size_t piece_len(size_t len, uint32_t piece)
{
    return dnet_rndv_piece_len(len, PIECE, piece);
}

static bool has_room_to_push(const dnet_ep_t *ep)
{
    return (!ep->oversubscribed || ep->options.rendezvous == DNET_RENDEZVOUS_PUSHED) &&
           ep->piece_data >= DNET_DRV_PIECE_DATA_MAX;
}

static bool can_push(const dnet_ep_t *ep, uint32_t peer)
{
    return has_room_to_push(ep) && peer < ep->size && peer != ep->rank;
}

bool dnet_rndv_pushes(dnet_ep_t *ep, const dnet_op_t *op)
{
    if (!op->fetch_slot || !can_push(ep, op->peer))
        return false;
    if (ep->options.rendezvous == DNET_RENDEZVOUS_PUSHED)
        return true;
    return ep->options.rendezvous == DNET_RENDEZVOUS_AUTO &&
           ep->eager_near.copies == DNET_KERNEL_SLOW &&
           dnet_pieces_are_fast(&ep->rndv.pushed_times, op->len, dnet_move_pace(),
                                &ep->rndv.kernel_times);
}

void dnet_rndv_was_awaited(dnet_ep_t *ep, bool awaited)
{
    ep->rndv.guesses = awaited ? GUESSES : 0;
}

/* By the kernel they would need a rendezvous besides: where its copies alone are as fast, 256 KB in
 * a broadcast take 1.7 times as long. */
bool dnet_rndv_at_once(dnet_ep_t *ep, uint32_t peer, size_t len, bool awaited)
{
    bool guesses = !awaited && ep->rndv.guesses &&
                   dnet_pieces_were_fast(&ep->rndv.pushed_times, &ep->rndv.kernel_times);
    if (!(awaited || guesses) || !ep->eager_near.in_a_row ||
        ep->options.rendezvous != DNET_RENDEZVOUS_AUTO ||
        ep->eager_near.copies != DNET_KERNEL_SLOW || !dnet_job_is_near(ep, peer) ||
        !can_push(ep, peer) || len > ep->options.ring_bytes / ep->options.rings / AT_ONCE_OF_RING ||
        !dnet_pieces_are_fast(&ep->rndv.at_once_times, len, dnet_move_pace(), NULL))
        return false;
    ep->rndv.guesses -= guesses;
    return true;
}

/* ---- receiver ---- */

/* Where one side pushes while the other's messages go by the kernel both are slower, and what
 * either measures is neither. */
bool dnet_rndv_is_pushed_to(dnet_ep_t *ep, const dnet_rndv_recv_t *r)
{
    return r->pushes && has_room_to_push(ep) && !dnet_pieces_rest(&ep->rndv.pushed_times, r->len);
}

static void unlink_recv(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    dnet_rndv_recv_t **link = &ep->rndv.pushed;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    ep->rndv.recvs_polled--;
}

static dnet_rndv_begun_t begin(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    dnet_rndv_recv_t **link = &ep->rndv.pushed;
    while (*link)
        link = &(*link)->next;
    r->next = NULL;
    *link = r;
    ep->rndv.recvs_polled++;
    ep->rndv.pushed_ns = dnet_clock_ns();
    uint8_t flags = DNET_CTS_PUSHED | (r->is_awaited ? DNET_CTS_AWAITED : 0);
    dnet_rndv_cts(ep, r, (dnet_ep_head_t){.flags = flags, .length = r->len}, NULL);
    return DNET_RNDV_UNDER_WAY;
}

/* One more piece is there, or none can be had any more.  @return whether it was the last */
static bool is_over(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    if (r->status == DNET_OK && r->got + r->fetched < pieces(r->len))
        return false;
    unlink_recv(ep, r);
    dnet_ep_head_t ack = {.type = DNET_HEAD_ACK, .rank = ep->rank, .op = r->op};
    if (r->copied)
        ack.arg = (uint32_t) (r->copied_ns / r->copied);
    dnet_send_control(ep, r->rank, &ack, NULL, 0);
    return true;
}

static dnet_rndv_recv_t *find(const dnet_ep_t *ep, const dnet_ep_head_t *head)
{
    dnet_rndv_recv_t *r = ep->rndv.pushed;
    while (r && (r->rank != head->rank || r->op != head->op))
        r = r->next;
    return r;
}

uint8_t *dnet_rndv_piece_at(const dnet_ep_t *ep, const dnet_ep_head_t *head, size_t len)
{
    dnet_rndv_recv_t *r = find(ep, head);
    if (!r || head->arg >= pieces(r->len) || len != piece_len(r->len, head->arg))
        return NULL;
    return r->buf + (size_t) head->arg * PIECE;
}

dnet_rndv_recv_t *dnet_rndv_piece_came(dnet_ep_t *ep, const dnet_ep_head_t *head, uint64_t since_ns)
{
    dnet_rndv_recv_t *r = find(ep, head);
    r->got++;
    ep->rndv.piece_came = true;
    if (since_ns && piece_len(r->len, head->arg) == PIECE) {
        r->copied++;
        r->copied_ns += dnet_clock_ns() - since_ns;
    }
    return is_over(ep, r) ? r : NULL;
}

/* Is there a piece that the sender has not got to? */
static dnet_rndv_recv_t *not_all_taken(const dnet_ep_t *ep)
{
    dnet_rndv_recv_t *r = ep->rndv.pushed;
    while (r && r->all_taken)
        r = r->next;
    return r;
}

bool dnet_rndv_pushed_waiting(const dnet_ep_t *ep)
{
    return !ep->rndv.piece_came && not_all_taken(ep) &&
           dnet_clock_ns() - ep->rndv.pushed_ns > SENDER_NS;
}

/* Take some pieces that the sender has not got to, the last ones of the message first, and fetch
 * them. */
static void fetch_some(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    uint32_t all = pieces(r->len), end = all - r->fetched, taken = 0;
    while (taken < FETCHED_AT_ONCE && !r->all_taken) {
        r->all_taken = !dnet_rndv_take(ep, r, all + 1);
        taken += !r->all_taken;
    }
    if (r->status != DNET_OK || taken == 0 || taken > end)
        return;
    size_t at = (size_t) (end - taken) * PIECE;
    size_t len = (end == all ? r->len : (size_t) end * PIECE) - at;
    dnet_rndv_fetch(ep, r, at, r->buf + at, len);
    r->fetched += taken;
}

bool dnet_rndv_pushed_round(dnet_ep_t *ep, dnet_rndv_recv_t **done_p)
{
    dnet_rndv_recv_t *r = not_all_taken(ep);
    *done_p = NULL;
    if (r && ep->rndv.piece_came) {
        ep->rndv.piece_came = false;
        ep->rndv.pushed_ns = dnet_clock_ns();
        return false;
    }
    if (!r || !dnet_rndv_pushed_waiting(ep))
        return false;
    for (unsigned n = 0; n < ROUND_FETCHES && !r->all_taken && r->status == DNET_OK; n++) {
        if (dnet_drv_lh_next(&ep->drv))
            break;
        fetch_some(ep, r);
    }
    *done_p = is_over(ep, r) ? r : NULL;
    return true;
}

/* ---- sender ---- */

/* Send a piece, and note of some how long that took. */
static dnet_status_t send_piece(dnet_ep_t *ep, dnet_op_t *op, uint32_t piece)
{
    size_t n = piece_len(op->len, piece);
    dnet_ep_head_t head = {
        .type = DNET_HEAD_PIECE, .rank = ep->rank, .op = op->id, .arg = piece, .length = n};
    uint64_t begin = dnet_piece_is_timed(piece, PIECE) ? dnet_clock_ns() : 0;
    dnet_status_t status =
        dnet_channel_piece(ep, op, &head, op->buf + (size_t) piece * PIECE, (uint32_t) n);
    if (status == DNET_OK && n == PIECE)
        dnet_piece_sent(&ep->rndv.pushed_times, PIECE, begin ? dnet_clock_ns() - begin : 0);
    return status;
}

/* @return DNET_IN_PROGRESS: with no piece in hand but one for which there was no room */
static dnet_status_t push(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    const uint32_t all = pieces(op->len);
    while (ep->rndv.pieces_left && dnet_channel_is_free(ep, op->peer)) {
        if (!dnet_rndv_claim(ep, op, all, all + 1))
            return DNET_OK;
        dnet_status_t status = send_piece(ep, op, op->claimed - 1);
        if (status != DNET_OK)
            return status;
        ep->rndv.pieces_left--;
        op->stored++;
        *did_p = true;
    }
    return DNET_IN_PROGRESS;
}

static dnet_status_t turn(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    dnet_status_t status = push(ep, op, did_p);
    if (status != DNET_IN_PROGRESS)
        dnet_channel_pieces_end(ep, op);
    return status;
}

static bool ready(const dnet_ep_t *ep, const dnet_op_t *op)
{
    return dnet_channel_is_free(ep, op->peer);
}

void dnet_rndv_pushed_begin_round(dnet_ep_t *ep)
{
    ep->rndv.pieces_left = ROUND_PIECES;
}

const dnet_rndv_way_t dnet_rndv_pushed = {.begin = begin, .turn = turn, .ready = ready};
