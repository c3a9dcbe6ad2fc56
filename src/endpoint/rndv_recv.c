/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiving side of a rendezvous (docs/protocol.md 4): a message that was announced by RTS has
 * found its receive; which way shall its data come?
 */
#include "endpoint/rndv_recv.h"

#include <stdlib.h>
#include <string.h>

#include "endpoint/channel.h"
#include "endpoint/inbox.h"
#include "endpoint/job.h"
#include "endpoint/strided.h"

static void finish(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    if (r->req) {
        dnet_ep_request_t *req = r->req;
        dnet_status_t status = r->status == DNET_OK ? dnet_request_status(req) : r->status;
        free(r);
        dnet_count_received(ep, req->sent_bytes);
        req->complete(req, status);
        return;
    }
    void *am = r->am;
    free(r);
    ep->am_long.end(ep->am_arg, am);
}

/* From which size on do both sides copy?  How far a process of another job is, is not known. */
static uint64_t split_limit(dnet_ep_t *ep, uint32_t peer)
{
    const dnet_options_t *o = &ep->options;
    return DNET_LIKELY(!o->split_limit_far) || peer >= ep->size ||
                   dnet_job_distance(ep, peer) <= DNET_DISTANCE_L3
               ? o->split_limit
               : o->split_limit_far;
}

/* Where both sides have messages to send, shorter ones are fetched whole: each side has its
 * processor busy with the other's. */
#define SPLIT_BOTH_WAYS (1u << 20)

/* Shall both sides copy?  Not what is no two pieces, and not where the sender would have to wait
 * for a processor before it could store anything. */
static bool wants_split(dnet_ep_t *ep, const dnet_rndv_recv_t *r)
{
    return !ep->oversubscribed && r->len >= DNET_SPLIT_LEAST &&
           r->len >= split_limit(ep, r->rank) && (r->len >= SPLIT_BOTH_WAYS || !ep->ops.active);
}

static const dnet_rndv_way_t *choose_way(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    if (r->is_lent && !dnet_rndv_is_moved(r) && dnet_rndv_reads(ep, r->rank))
        return &dnet_rndv_read;
    if (r->fetch_addr == DNET_RTS_STAGED || !dnet_rndv_direct(ep, r->rank, r->len))
        return &dnet_rndv_staged;
    if (dnet_rndv_is_moved(r))
        return r->fetch_addr ? &dnet_rndv_fetched : &dnet_rndv_staged;
    if (!r->fetch_addr)
        return &dnet_rndv_stored;
    if (dnet_rndv_is_pushed_to(ep, r))
        return &dnet_rndv_pushed;
    return wants_split(ep, r) ? &dnet_rndv_split : &dnet_rndv_fetched;
}

/* Have the data come.  @return false: no room now */
static bool begin(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    dnet_rndv_begun_t begun = DNET_RNDV_DONE;
    if (r->len == 0) {
        dnet_rndv_cts(ep, r, (dnet_ep_head_t){.length = 0}, NULL);
    } else if (r->layout.kind && dnet_strided_fetch(ep, r)) {
        dnet_send_ack(ep, r->rank, r->op);
    } else {
        begun = choose_way(ep, r)->begin(ep, r);
    }
    if (begun == DNET_RNDV_DONE)
        finish(ep, r);
    return begun != DNET_RNDV_NO_ROOM;
}

static void begin_in_turn(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    if (!ep->rndv.wait && begin(ep, r))
        return;
    r->next = NULL;
    *ep->rndv.wait_tail = r;
    ep->rndv.wait_tail = &r->next;
}

static void begin_waiting(dnet_ep_t *ep)
{
    while (ep->rndv.wait) {
        /* Out of the list first: begin() may complete it, free it, and so let the caller post a
         * receive that has to wait too. */
        dnet_rndv_recv_t *r = ep->rndv.wait;
        ep->rndv.wait = r->next;
        if (!r->next)
            ep->rndv.wait_tail = &ep->rndv.wait;
        if (begin(ep, r))
            continue;
        if (!ep->rndv.wait)
            ep->rndv.wait_tail = &r->next;
        r->next = ep->rndv.wait;
        ep->rndv.wait = r;
        return;
    }
}

static dnet_rndv_recv_t *recv_new(const dnet_ep_head_t *rts)
{
    dnet_rndv_recv_t *r = malloc(sizeof(*r)); /* calloc() would not take what free() keeps */
    if (!r) {
        dnet_error("no memory to receive a message of %llu bytes from rank %u",
                   (unsigned long long) rts->length, rts->rank);
        abort();
    }
    *r = (dnet_rndv_recv_t){.rank = rts->rank, .op = rts->op, .sent_bytes = rts->length};
    return r;
}

void dnet_rndv_recv_message(dnet_ep_t *ep, const dnet_ep_head_t *rts,
                            const dnet_ep_origin_t *origin, dnet_ep_request_t *req)
{
    dnet_rndv_recv_t *r = recv_new(rts);
    r->fetch_addr = rts->arg;
    r->layout = origin->layout;
    r->is_lent = origin->is_lent;
    r->memory = origin->memory;
    r->pushes = origin->pushes;
    r->is_awaited = origin->is_awaited;
    r->req = req;
    r->buf = req->buf;
    r->len = req->len_bytes;
    begin_in_turn(ep, r);
}

void dnet_rndv_recv_am(dnet_ep_t *ep, const dnet_ep_head_t *rts, const uint8_t *header)
{
    dnet_rndv_recv_t *r = recv_new(rts);
    void *to;
    r->fetch_addr = rts->flags & DNET_AM_RTS_STAGED ? DNET_RTS_STAGED : 0;
    r->am = ep->am_long.begin(ep->am_arg, rts->rank, rts->id, header, rts->arg, rts->length, &to);
    r->buf = to;
    r->len = rts->length;
    begin_in_turn(ep, r);
}

/* The last packet has arrived. */
static void landed(dnet_ep_t *ep, const dnet_drv_receipt_t *receipt)
{
    DNET_TRACE(landed, receipt->lid, receipt->address, receipt->bytes);
    dnet_rndv_recv_t *r =
        DNET_GET(receipt->address, AP_FLAG)
            ? dnet_rndv_stored_end(ep, (uint32_t) DNET_GET(receipt->address, AP_SLOT))
            : dnet_rndv_staged_end(ep, receipt->address);
    if (r) {
        dnet_rndv_split_landed(ep, r);
        finish(ep, r);
    } else {
        dnet_error("receive status for 0x%x, where nothing is expected, from LID %u",
                   receipt->address, receipt->lid);
    }
    begin_waiting(ep);
}

/* What has been read is there; what could not be comes by chunks. */
static bool read_round(dnet_ep_t *ep)
{
    dnet_rndv_recv_t *r;
    bool did = false;
    for (; ep->rndv.reading && (r = dnet_rndv_read_end(ep)); did = true) {
        if (r->status == DNET_OK) {
            dnet_send_ack(ep, r->rank, r->op);
            finish(ep, r);
        } else {
            r->status = DNET_OK;
            begin_in_turn(ep, r);
        }
    }
    return did;
}

/* Senders have had their time. */
static bool put_off_round(dnet_ep_t *ep)
{
    dnet_rndv_recv_t *done;
    if (!dnet_rndv_split_round(ep, &done))
        return false;
    if (done) {
        finish(ep, done);
        begin_waiting(ep);
    }
    return true;
}

void dnet_rndv_recv_piece(dnet_ep_t *ep, const dnet_ep_head_t *head, uint64_t since_ns)
{
    dnet_rndv_recv_t *done = dnet_rndv_piece_came(ep, head, since_ns);
    if (done)
        finish(ep, done);
}

/* Senders do not get to it. */
static bool pushed_round(dnet_ep_t *ep)
{
    dnet_rndv_recv_t *done;
    bool did = ep->rndv.pushed && dnet_rndv_pushed_round(ep, &done);
    if (did && done)
        finish(ep, done);
    return did;
}

bool dnet_rndv_recv_round(dnet_ep_t *ep)
{
    bool did = ep->rndv.recvs_polled && read_round(ep) | dnet_rndv_staged_round(ep);
    dnet_drv_receipt_t receipt;
    while (dnet_drv_status_next(&ep->drv, &receipt)) {
        landed(ep, &receipt);
        did = true;
    }
    return did || pushed_round(ep) || put_off_round(ep);
}

bool dnet_rndv_recv_waiting(const dnet_ep_t *ep)
{
    return dnet_drv_status_waiting(&ep->drv) || ep->rndv.put_off || dnet_rndv_pushed_waiting(ep) ||
           dnet_rndv_staged_waiting(ep);
}

static bool has_of(const dnet_rndv_recv_t *r, uint32_t peer)
{
    while (r && r->rank != peer)
        r = r->next;
    return r;
}

bool dnet_rndv_is_receiving(const dnet_ep_t *ep, uint32_t peer)
{
    for (uint32_t area = 0; area < DNET_STAGING_AREAS; area++)
        if (ep->rndv.area[area] && ep->rndv.area[area]->rank == peer)
            return true;
    for (uint32_t slot = 0; slot < DNET_APERTURES_MAX; slot++)
        if (ep->aperture.recv[slot] && ep->aperture.recv[slot]->rank == peer)
            return true;
    return has_of(ep->rndv.wait, peer) || has_of(ep->rndv.reading, peer) ||
           has_of(ep->rndv.pushed, peer);
}

static void free_list(dnet_rndv_recv_t *r)
{
    while (r) {
        dnet_rndv_recv_t *next = r->next;
        free(r);
        r = next;
    }
}

void dnet_rndv_recvs_free(dnet_ep_t *ep)
{
    free_list(ep->rndv.wait);
    free_list(ep->rndv.reading);
    free_list(ep->rndv.pushed);
    for (uint32_t area = 0; area < DNET_STAGING_AREAS; area++)
        free(ep->rndv.area[area]);
    for (uint32_t slot = 0; slot < DNET_APERTURES_MAX; slot++)
        free(ep->aperture.recv[slot]); /* those that were put off, too */
}
