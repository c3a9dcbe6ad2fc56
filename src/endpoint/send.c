/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Entry points of sending (docs/protocol.md 3).
 *
 * By length: one BOTF packet; one IPUSH packet with LHSv2; several packets; rendezvous.
 */
#include "endpoint/channel.h"
#include "endpoint/defer_send.h"
#include "endpoint/job.h"
#include "endpoint/rndv_send.h"
#include "endpoint/strided.h"

/* The op has been submitted.  The caller gets the result by return when there is one already. */
static dnet_status_t submitted(dnet_ep_t *ep, dnet_op_t *op, dnet_status_t status,
                               dnet_ep_request_t *req)
{
    if (status == DNET_HELD) {
        dnet_defer_kept(ep, op);
        status = DNET_IN_PROGRESS;
    }
    if (status == DNET_IN_PROGRESS)
        op->req = req;
    return status;
}

static dnet_status_t submit(dnet_ep_t *ep, dnet_op_t *op, dnet_ep_request_t *req)
{
    return submitted(ep, op, dnet_channel_submit(ep, op), req);
}

/* Has no message come since the last send that asked, and no collective waited for others? */
static bool in_a_row(dnet_ep_t *ep)
{
    const dnet_ep_counters_t *c = &ep->page.counters;
    const _Atomic uint64_t *collectives = (const void *) &c->board_collectives;
    uint64_t before = ep->received_before;
    ep->received_before =
        c->received_messages + atomic_load_explicit(collectives, memory_order_relaxed);
    return before == ep->received_before;
}

/* Is the message sent before its receive is known? */
static bool is_eager(dnet_ep_t *ep, uint32_t peer, size_t len, bool row)
{
    if (!dnet_job_is_near(ep, peer))
        return len <= ep->eager_limit_hosts;
    return len <= ep->eager_near.alone ||
           (len <= ep->eager_near.in_a_row && !ep->oversubscribed && row);
}

/* The packet of a message has not been delivered. */
static DNET_COLD dnet_status_t send_refused(dnet_ep_t *ep, uint32_t peer, uint64_t envelope,
                                            const void *buf, size_t len, dnet_status_t why,
                                            dnet_ep_request_t *req)
{
    dnet_op_t *op;
    dnet_status_t status = dnet_is_refusal(why) ? dnet_op_new(ep, peer, &op) : why;
    if (status != DNET_OK)
        return status;
    op->envelope = envelope;
    op->buf = buf;
    op->len = len;
    op->issued = why == DNET_STALLED;
    return submitted(ep, op, dnet_channel_refused(ep, op, why), req);
}

static __attribute__((noinline)) dnet_status_t send_slow(dnet_ep_t *ep, uint32_t peer,
                                                         uint64_t envelope, const void *buf,
                                                         size_t len, bool sync,
                                                         dnet_ep_request_t *req)
{
    bool row = in_a_row(ep), eager = is_eager(ep, peer, len, row);
    bool awaited = envelope & ep->awaited;
    bool at_once =
        !eager && !sync && (awaited || !row) && dnet_rndv_at_once(ep, peer, len, awaited);
    dnet_op_t *op;
    dnet_status_t status = dnet_op_new(ep, peer, &op);
    if (status != DNET_OK)
        return status;
    op->envelope = envelope;
    op->buf = buf;
    op->len = len;
    bool one_packet = len + sizeof(op->head) <= ep->packet_data;
    if (!sync && len <= ep->one_packet)
        return submit(ep, op, req);

    op->headed = true;
    op->in_a_row = row;
    op->at_once = at_once;
    op->envelope |= DNET_EP_HEADED;
    op->head = (dnet_ep_head_t){.rank = ep->rank, .op = op->id, .length = len};
    if (sync && one_packet && eager) {
        op->head.type = DNET_HEAD_SYNC;
    } else if (!sync && (eager || at_once)) {
        op->head.type = DNET_HEAD_FIRST;
    } else {
        op->head.type = DNET_HEAD_RTS;
        op->head.arg = dnet_rndv_show(ep, op);
        if (dnet_rndv_pushes(ep, op))
            op->head.flags |= DNET_RTS_PUSHES;
        dnet_rndv_lend(ep, op);
        if (!op->loan)
            dnet_strided_announce(ep, op);
        ep->page.counters.rendezvous++;
        DNET_TRACE(rts, peer, op->id, len);
    }
    return submit(ep, op, req);
}

dnet_status_t dnet_ep_send(dnet_ep_t *ep, uint32_t peer, uint64_t envelope, const void *buf,
                           size_t len, bool sync, dnet_ep_request_t *req)
{
    dnet_peer_t *p = &ep->peers[peer];
    dnet_status_t status;
    ep->page.counters.sent_messages++;
    DNET_TRACE(send, peer, envelope, len);
    ep->page.counters.sent_bytes += len;
    if (DNET_UNLIKELY(p->channel || sync || len > ep->one_packet))
        return send_slow(ep, peer, envelope, buf, len, sync, req);
    bool alone = dnet_drv_is_alone(&ep->drv);
    bool is_short = len <= ep->drv.botf_data || (alone && len <= ep->drv.botf_data_alone);
    if (DNET_LIKELY(is_short))
        status = dnet_drv_send_short(&ep->drv, p->target, envelope, buf, (uint32_t) len, alone);
    else
        status = dnet_drv_send_long(&ep->drv, p->target, envelope, NULL, 0, buf, (uint32_t) len);
    if (DNET_UNLIKELY(status != DNET_OK))
        return send_refused(ep, peer, envelope, buf, len, status, req);
    if (!is_short && alone)
        dnet_channel_expect(ep, peer, len);
    return DNET_OK;
}

/* A message to be announced by RTS, whose bytes are not where one pointer says. */
static dnet_status_t announce_new(dnet_ep_t *ep, uint32_t peer, uint64_t envelope, size_t len,
                                  dnet_op_t **op_p)
{
    dnet_status_t status = dnet_op_new(ep, peer, op_p);
    if (status != DNET_OK)
        return status;
    dnet_op_t *op = *op_p;
    op->envelope = envelope | DNET_EP_HEADED;
    op->headed = true;
    op->len = len;
    op->head =
        (dnet_ep_head_t){.type = DNET_HEAD_RTS, .rank = ep->rank, .op = op->id, .length = len};
    op->head.arg = dnet_rndv_shown_at(ep, op);
    ep->page.counters.sent_messages++;
    ep->page.counters.sent_bytes += len;
    ep->page.counters.rendezvous++;
    return DNET_OK;
}

dnet_status_t dnet_ep_send_layout(dnet_ep_t *ep, uint32_t peer, uint64_t envelope,
                                  const dnet_ep_layout_t *layout, dnet_ep_request_t *req)
{
    dnet_op_t *op;
    size_t len = (size_t) layout->block_bytes * layout->count;
    dnet_status_t status = announce_new(ep, peer, envelope, len, &op);
    if (status != DNET_OK)
        return status;
    status = dnet_strided_attach(op, layout);
    if (status != DNET_OK) {
        dnet_op_finish(ep, op, status);
        return status;
    }
    return submit(ep, op, req);
}

/* A copy of less is cheap to have. */
#define MOVED_LEAST (4u << 20)

bool dnet_ep_wants_moved(const dnet_ep_t *ep, size_t bytes)
{
    return bytes >= MOVED_LEAST && bytes > ep->eager_limit && ep->dev->sodimm && !ep->rndv.no_fetch;
}

dnet_status_t dnet_ep_send_moved(dnet_ep_t *ep, uint32_t peer, uint64_t envelope, size_t len,
                                 dnet_ep_request_t *req)
{
    dnet_op_t *op;
    dnet_status_t status = announce_new(ep, peer, envelope, len, &op);
    if (status != DNET_OK)
        return status;
    op->moved = true;
    return submit(ep, op, req);
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
    if (!whole && dnet_rndv_shown_at(ep, op) == DNET_RTS_STAGED)
        op->head.flags = DNET_AM_RTS_STAGED;
    status = dnet_op_attach(op, header, header_len);
    if (status != DNET_OK) {
        dnet_op_finish(ep, op, status);
        return status;
    }
    return submit(ep, op, req);
}
