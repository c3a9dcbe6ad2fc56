/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/rndv.h"

#include "common/clock.h"
#include "endpoint/channel.h"
#include "endpoint/guests.h"

/* One RVS moves at most what its 32-bit Size can say. */
#define DIRECT_MAX 0xffff0000u

bool dnet_rndv_direct(dnet_ep_t *ep, uint32_t peer, size_t len)
{
    if (len > DIRECT_MAX || ep->options.rendezvous == DNET_RENDEZVOUS_STAGED)
        return false;
    if (!dnet_job_is_near(ep, peer))
        return false;
    if (peer == ep->rank)
        return ep->dev->geometry.aperture_slots > 1;
    if (DNET_UNLIKELY(peer >= ep->size))
        return dnet_guest_direct(ep, peer);
    dnet_place_t *place = &ep->job.place[peer];
    if (DNET_UNLIKELY(place->direct < DNET_DIRECT_FAILS)) {
        dnet_drv_target_t target = ep->peers[peer].target;
        bool works = ep->dev->geometry.aperture_slots > 1 &&
                     ep->dev->ops->can_copy(ep->dev, dnet_drv_target_lid(target),
                                            dnet_drv_target_wid(target));
        place->direct = works ? DNET_DIRECT_WORKS : place->direct + 1u;
    }
    return place->direct == DNET_DIRECT_WORKS;
}

uint32_t dnet_rndv_shown_at(dnet_ep_t *ep, const dnet_op_t *op)
{
    if (op->fetch_slot)
        return dnet_drv_aperture_address(op->fetch_slot);
    return dnet_rndv_direct(ep, op->peer, op->len) ? 0 : DNET_RTS_STAGED;
}

bool dnet_rndv_reads(const dnet_ep_t *ep, uint32_t peer)
{
    return !dnet_job_is_near(ep, peer) && ep->options.rendezvous != DNET_RENDEZVOUS_STAGED;
}

void dnet_rndv_cts(dnet_ep_t *ep, const dnet_rndv_recv_t *r, dnet_ep_head_t cts,
                   const dnet_ep_staging_t *staging)
{
    cts.type = DNET_HEAD_CTS;
    cts.rank = ep->rank;
    cts.op = r->op;
    DNET_TRACE(cts, r->rank, r->op, cts.length);
    dnet_send_control(ep, r->rank, &cts, staging, staging ? sizeof(*staging) : 0);
}

/* Shorter copies are mostly the call. */
#define TIMED_LEAST 32768u

uint64_t dnet_rndv_kernel_begins(const dnet_ep_t *ep, size_t len)
{
    return ep->eager_near.copies == DNET_KERNEL_SLOW && len >= TIMED_LEAST ? dnet_clock_ns() : 0;
}

void dnet_rndv_kernel_ends(dnet_ep_t *ep, size_t len, uint64_t begin_ns)
{
    if (begin_ns)
        dnet_kernel_copied(&ep->rndv.kernel_times, len, dnet_clock_ns() - begin_ns);
}

void dnet_rndv_kernel_ack(dnet_ep_t *ep, const dnet_rndv_recv_t *r)
{
    dnet_ep_head_t ack = {.type = DNET_HEAD_ACK,
                          .flags = DNET_ACK_KERNEL,
                          .rank = ep->rank,
                          .op = r->op,
                          .arg = (uint32_t) ep->rndv.kernel_times.own.ns};
    dnet_send_control(ep, r->rank, &ack, NULL, 0);
}

void dnet_rndv_fetch(dnet_ep_t *ep, dnet_rndv_recv_t *r, size_t at, void *to, size_t len)
{
    /* Beside pieces that come through the ring a copy takes longer. */
    uint64_t begin = r->pushes ? 0 : dnet_rndv_kernel_begins(ep, len);
    r->status = dnet_drv_rvl(&ep->drv, ep->peers[r->rank].target,
                             dnet_drv_aperture_place(r->fetch_addr, at), to, (uint32_t) len);
    dnet_rndv_kernel_ends(ep, len, begin);
    if (r->status != DNET_OK)
        dnet_error("cannot fetch %zu bytes from rank %u: %s", len, r->rank,
                   dnet_status_text(r->status));
}

bool dnet_rndv_take(dnet_ep_t *ep, dnet_rndv_recv_t *r, uint32_t end)
{
    uint64_t next = 0;
    r->status = dnet_drv_cursor_take(&ep->drv, ep->peers[r->rank].target,
                                     DNET_GET(r->fetch_addr, AP_SLOT), &next);
    if (r->status == DNET_OK && next <= r->last) {
        dnet_error("the pieces of a message from rank %u are counted down, from %llu to %llu",
                   r->rank, (unsigned long long) r->last, (unsigned long long) next);
        r->status = DNET_ERR_FORMAT;
    }
    r->last = next;
    return r->status == DNET_OK && next < end;
}

bool dnet_rndv_claim(dnet_ep_t *ep, dnet_op_t *op, uint32_t most, uint32_t end)
{
    if (op->claimed > op->stored)
        return true;
    if (op->claimed == most)
        return false;
    uint64_t number = dnet_drv_cursor_next(&ep->drv, op->fetch_slot);
    if (number >= end)
        return false;
    op->claimed++;
    op->last = number + 1 == end;
    return true;
}

bool dnet_rndv_is_stalled(dnet_ep_t *ep, dnet_status_t status)
{
    if (DNET_LIKELY(status != DNET_STALLED))
        return false;
    dnet_channel_stall(ep);
    return true;
}
