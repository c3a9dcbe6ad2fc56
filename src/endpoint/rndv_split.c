/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous, split: both sides move pieces of the message, each as many as it gets to, and either
 * alone can finish (docs/protocol.md 4.1).
 *
 * A cursor in the sender's LLCM, the one of the aperture that shows the message, counts the pieces
 * that are taken.  The sender counts it up in its own memory, the receiver by FADD; who has got a
 * number below that of the pieces takes its own next one: the receiver from the front of the
 * message on, the sender from its end.  So the cursor says how many, and nothing that others may
 * write says where.
 *
 * The cursor is the sender's because the sender's operation outlives the receive: a receiver that
 * has finished touches it no more, while a CTS may reach a sender long after its receive has ended.
 * What others write there can start no more copies than there are pieces, and none of anything
 * else.
 */
#include "endpoint/aperture.h"
#include "endpoint/channel.h"
#include "endpoint/rndv.h"

_Static_assert(DNET_PIECE_UNIT % DNET_APERTURE_UNIT == 0, "pieces have addresses");

static size_t piece_len(size_t len, uint32_t piece)
{
    return dnet_rndv_piece_len(len, dnet_piece_bytes(len), piece);
}

/* ---- receiver ---- */

static void fetch_next(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    size_t at = (size_t) r->fetched * dnet_piece_bytes(r->len);
    dnet_rndv_fetch(ep, r, at, r->buf + at, piece_len(r->len, r->fetched));
    r->fetched++;
}

/* Take what the sender has not got to. */
static dnet_rndv_begun_t take_rest(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    while (r->fetched < dnet_pieces(r->len) && r->status == DNET_OK &&
           dnet_rndv_take(ep, r, dnet_pieces(r->len)))
        fetch_next(ep, r);
    dnet_rndv_kernel_ack(ep, r);
    if (r->fetched < dnet_pieces(r->len))
        return DNET_RNDV_UNDER_WAY; /* the others are the sender's */
    (void) dnet_rndv_stored_end(ep, r->slot);
    return DNET_RNDV_DONE;
}

/* Among several messages the receiver goes on with the first piece of the next one.  So the sender
 * keeps storing, message by message, what lies in the cache of its own processor. */
static void put_off(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    r->is_put_off = true;
    r->next = NULL;
    if (!ep->rndv.put_off)
        ep->rndv.put_off_tail = &ep->rndv.put_off;
    *ep->rndv.put_off_tail = r;
    ep->rndv.put_off_tail = &r->next;
    ep->rndv.recvs_polled++;
}

static void take_up(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    dnet_rndv_recv_t **link = &ep->rndv.put_off;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    if (!r->next)
        ep->rndv.put_off_tail = link;
    r->is_put_off = false;
    ep->rndv.recvs_polled--;
}

static dnet_rndv_begun_t begin(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    r->slot = dnet_rndv_stored_begin(ep, r, DNET_CTS_SPLIT);
    if (!r->slot)
        return dnet_rndv_fetched.begin(ep, r);
    fetch_next(ep, r);
    if (r->status != DNET_OK || !dnet_drv_lh_more(&ep->drv))
        return take_rest(ep, r);
    put_off(ep, r);
    return DNET_RNDV_UNDER_WAY;
}

void dnet_rndv_split_landed(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    if (!r->is_put_off)
        return;
    take_up(ep, r);
    dnet_rndv_kernel_ack(ep, r);
}

bool dnet_rndv_split_round(dnet_ep_t *ep, dnet_rndv_recv_t **done_p)
{
    dnet_rndv_recv_t *r = ep->rndv.put_off;
    if (!r || dnet_drv_lh_next(&ep->drv))
        return false;
    take_up(ep, r);
    *done_p = take_rest(ep, r) == DNET_RNDV_DONE ? r : NULL;
    return true;
}

/* ---- sender ---- */

/* Store the claimed piece; when there is none behind it, it brings the status along. */
static dnet_status_t store(dnet_ep_t *ep, dnet_op_t *op)
{
    uint32_t piece = dnet_pieces(op->len) - op->claimed;
    size_t at = (size_t) piece * dnet_piece_bytes(op->len);
    size_t n = piece_len(op->len, piece);
    uint64_t begin = dnet_rndv_kernel_begins(ep, n);
    dnet_status_t status =
        dnet_drv_rvs(&ep->drv, ep->peers[op->peer].target, op->buf + at,
                     dnet_drv_aperture_place(op->remote_addr, at), (uint32_t) n, op->last);
    if (status == DNET_OK) {
        dnet_rndv_kernel_ends(ep, n, begin);
        op->stored++;
    }
    return status;
}

static dnet_status_t turn(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    dnet_status_t status = DNET_OK;
    const uint32_t all = dnet_pieces(op->len);
    while (status == DNET_OK && dnet_rndv_claim(ep, op, all - 1, all)) {
        status = store(ep, op);
        *did_p |= status == DNET_OK;
    }
    if (status == DNET_OK && op->stored && !op->last)
        status = dnet_drv_rvs_end(&ep->drv, ep->peers[op->peer].target,
                                  (dnet_drv_remote_t){op->remote_addr});
    /* STOPPED: the peer's status ring is full.  It cannot be STALLED: where a NIC may stall no
     * message is shown. */
    return status == DNET_STOPPED ? DNET_IN_PROGRESS : status;
}

static bool ready(const dnet_ep_t *ep, const dnet_op_t *op)
{
    (void) ep;
    (void) op;
    return true;
}

const dnet_rndv_way_t dnet_rndv_split = {.begin = begin, .turn = turn, .ready = ready};
