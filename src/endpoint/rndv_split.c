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

_Static_assert(DNET_APERTURES_MAX / 2 <= DNET_DRV_CURSORS, "a cursor for each message shown");
_Static_assert(DNET_PIECE_UNIT % DNET_APERTURE_UNIT == 0, "pieces have addresses");

static size_t piece_len(size_t len, uint32_t piece)
{
    size_t bytes = dnet_piece_bytes(len), at = piece * bytes;
    return len - at < bytes ? len - at : bytes;
}

/* ---- receiver ---- */

/* Is there a further piece for the receiver?  @param last_p  number it got before */
static bool take(dnet_ep_t *ep, dnet_rndv_recv_t *r, uint64_t *last_p)
{
    uint64_t next = 0;
    r->status = dnet_drv_cursor_take(&ep->drv, ep->peers[r->rank].target,
                                     DNET_GET(r->fetch_addr, AP_SLOT), &next);
    if (r->status == DNET_OK && next <= *last_p) {
        dnet_error("the pieces of a message from rank %u are counted down, from %llu to %llu",
                   r->rank, (unsigned long long) *last_p, (unsigned long long) next);
        r->status = DNET_ERR_FORMAT;
    }
    *last_p = next;
    return r->status == DNET_OK && next < dnet_pieces(r->len);
}

static dnet_rndv_begun_t begin(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    uint32_t slot = dnet_rndv_stored_begin(ep, r, DNET_CTS_SPLIT);
    if (!slot)
        return dnet_rndv_fetched.begin(ep, r);
    uint32_t pieces = dnet_pieces(r->len), fetched = 0;
    uint64_t last = 0;
    do {
        size_t at = (size_t) fetched * dnet_piece_bytes(r->len);
        dnet_rndv_fetch(ep, r, at, r->buf + at, piece_len(r->len, fetched));
        fetched++;
    } while (fetched < pieces && r->status == DNET_OK && take(ep, r, &last));
    dnet_send_ack(ep, r->rank, r->op);
    if (fetched < pieces)
        return DNET_RNDV_UNDER_WAY; /* the others are the sender's */
    (void) dnet_rndv_stored_end(ep, slot);
    return DNET_RNDV_DONE;
}

/* ---- sender ---- */

/* Claim a piece, unless one is claimed.  @return false: all are taken */
static bool claim(dnet_ep_t *ep, dnet_op_t *op)
{
    uint32_t pieces = dnet_pieces(op->len);
    if (op->claimed > op->stored)
        return true;
    uint64_t number = dnet_drv_cursor_next(&ep->drv, op->fetch_slot);
    if (number >= pieces || op->claimed + 1 >= pieces)
        return false;
    op->claimed++;
    op->last = number + 1 == pieces;
    return true;
}

/* Store the claimed piece; when there is none behind it, it brings the status along. */
static dnet_status_t store(dnet_ep_t *ep, dnet_op_t *op)
{
    uint32_t piece = dnet_pieces(op->len) - op->claimed;
    size_t at = (size_t) piece * dnet_piece_bytes(op->len);
    dnet_status_t status = dnet_drv_rvs(&ep->drv, ep->peers[op->peer].target, op->buf + at,
                                        dnet_drv_aperture_place(op->remote_addr, at),
                                        (uint32_t) piece_len(op->len, piece), op->last);
    if (status == DNET_OK)
        op->stored++;
    return status;
}

static dnet_status_t turn(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    dnet_status_t status = DNET_OK;
    while (status == DNET_OK && claim(ep, op)) {
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
