/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous, stored: the receiver opens an aperture, and the sender writes the message into it by
 * one RVS.
 */
#include "endpoint/aperture.h"
#include "endpoint/rndv.h"

uint32_t dnet_rndv_stored_begin(dnet_ep_t *ep, dnet_rndv_recv_t *r, uint8_t flags)
{
    uint32_t slot = dnet_aperture_open(ep, r, r->buf, r->len);
    if (!slot)
        return 0;
    ep->rndv.recvs_stored++;
    dnet_ep_head_t cts = {.flags = flags, .arg = dnet_drv_aperture_address(slot), .length = r->len};
    dnet_rndv_cts(ep, r, cts, NULL);
    return slot;
}

static dnet_rndv_begun_t begin(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    return dnet_rndv_stored_begin(ep, r, 0) ? DNET_RNDV_UNDER_WAY : DNET_RNDV_NO_ROOM;
}

dnet_rndv_recv_t *dnet_rndv_stored_end(dnet_ep_t *ep, uint32_t slot)
{
    dnet_rndv_recv_t *r = dnet_aperture_close(ep, slot);
    if (r)
        ep->rndv.recvs_stored--;
    return r;
}

/* The whole message, or a piece of one that is moved. */
static dnet_status_t store(dnet_ep_t *ep, dnet_op_t *op)
{
    size_t n = op->len - op->off;
    if (op->moved && n > DNET_MOVED_PIECE)
        n = DNET_MOVED_PIECE;
    dnet_status_t status = dnet_drv_rvs(
        &ep->drv, ep->peers[op->peer].target, dnet_rndv_bytes(op, (uint32_t) n),
        dnet_drv_aperture_place(op->remote_addr, op->off), (uint32_t) n, op->off + n == op->len);
    op->issued = dnet_rndv_is_stalled(ep, status);
    if (status == DNET_OK || op->issued) {
        op->off += n;
        op->at_hand = 0;
    }
    return status;
}

static dnet_status_t turn(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    while (op->off < op->len) {
        dnet_status_t status = store(ep, op);
        if (op->issued || status == DNET_STOPPED)
            return DNET_IN_PROGRESS; /* STOPPED: the peer's status ring is full */
        if (status != DNET_OK)
            return status;
    }
    *did_p = true;
    return DNET_OK;
}

static bool ready(const dnet_ep_t *ep, const dnet_op_t *op)
{
    (void) ep;
    (void) op;
    return true;
}

const dnet_rndv_way_t dnet_rndv_stored = {.begin = begin, .turn = turn, .ready = ready};
