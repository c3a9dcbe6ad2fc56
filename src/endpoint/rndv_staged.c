/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous, staged: the sender writes chunks into an area of the receiver's SO-DIMM, and the
 * receiver copies them out meanwhile.  Each side counts its chunks in an LLCM word of the other
 * side.
 */
#include <stdlib.h>

#include "endpoint/channel.h"
#include "endpoint/job.h"
#include "endpoint/rndv.h"

static uint64_t area_bytes(const dnet_ep_t *ep)
{
    return (uint64_t) ep->rndv.chunk_bytes * ep->rndv.chunks;
}

static uint32_t area_offset(const dnet_ep_t *ep, uint32_t area)
{
    return (uint32_t) (ep->rndv.staging_base + area * area_bytes(ep));
}

/* ---- receiver ---- */

static bool find_area(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    for (uint32_t area = 0; area < DNET_STAGING_AREAS; area++) {
        if (!ep->rndv.area[area]) {
            ep->rndv.area[area] = r;
            ep->rndv.recvs_polled++;
            r->area = area;
            dnet_drv_word_clear(&ep->drv, area);
            return true;
        }
    }
    return false;
}

static void reserve_areas(dnet_ep_t *ep, const dnet_rndv_recv_t *r)
{
    const uint64_t bytes = area_bytes(ep) * DNET_STAGING_AREAS;
    if (DNET_LIKELY(ep->rndv.staging_reserved))
        return;
    if (ep->dev->ops->reserve(ep->dev, ep->rndv.staging_base, bytes) != DNET_OK) {
        dnet_error("no memory to receive a message of %zu bytes from rank %u: the areas for its "
                   "chunks take %llu bytes; lower DIMMNET_CHUNK_BYTES or DIMMNET_CHUNKS",
                   r->len, r->rank, (unsigned long long) bytes);
        abort(); /* nothing is under way that would leave room */
    }
    ep->rndv.staging_reserved = true;
}

static dnet_rndv_begun_t begin(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    reserve_areas(ep, r);
    if (!find_area(ep, r))
        return DNET_RNDV_NO_ROOM;
    dnet_ep_head_t cts = {
        .flags = DNET_CTS_STAGED,
        .id = (uint16_t) r->area,
        .arg = area_offset(ep, r->area),
        .length = r->len,
    };
    dnet_ep_staging_t staging = {ep->rndv.chunk_bytes, ep->rndv.chunks};
    dnet_rndv_cts(ep, r, cts, &staging);
    return DNET_RNDV_UNDER_WAY;
}

/* Shall the sender be told how many chunks were taken?  As long as it needs to know: its last chunk
 * may go out when all but one area's worth are taken, and after that its word may serve another
 * message.  To another host each time costs a message, so not each time, but that last one always.
 */
static bool credit_due(const dnet_ep_t *ep, const dnet_rndv_recv_t *r, uint64_t sent)
{
    uint64_t total = (r->len + ep->rndv.chunk_bytes - 1) / ep->rndv.chunk_bytes;
    uint64_t last = total > ep->rndv.chunks ? total - ep->rndv.chunks : 0;
    if (r->taken > last)
        return false;
    return r->taken == last || r->taken == sent || r->taken % ((ep->rndv.chunks + 3) / 4) == 0 ||
           dnet_job_is_near(ep, r->rank);
}

/* A NIC that stalls has a request, and its window, until that is done.  What could not be told is
 * told in a later round, for the sender may wait for just this. */
static void give_credit(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    r->owes_credit = ep->stalled;
    if (r->owes_credit)
        return;
    dnet_status_t status = dnet_drv_put_word(&ep->drv, ep->peers[r->rank].target,
                                             dnet_drv_word_offset(r->credit_word), r->taken);
    r->owes_credit = status != DNET_OK && !dnet_rndv_is_stalled(ep, status);
}

static void take_chunks(dnet_ep_t *ep, dnet_rndv_recv_t *r, uint64_t sent)
{
    while (r->taken < sent && r->got < r->len) {
        size_t n = r->len - r->got;
        if (n > ep->rndv.chunk_bytes)
            n = ep->rndv.chunk_bytes;
        uint32_t at = area_offset(ep, r->area) +
                      (uint32_t) (r->taken % ep->rndv.chunks) * ep->rndv.chunk_bytes;
        if (dnet_rndv_is_moved(r))
            r->req->move(r->req, ep->dev->sodimm + at, n);
        else
            dnet_drv_sodimm_read(&ep->drv, at, r->buf + r->got, (uint32_t) n);
        r->got += n;
        r->taken++;
        if (credit_due(ep, r, sent))
            give_credit(ep, r);
    }
}

bool dnet_rndv_staged_round(dnet_ep_t *ep)
{
    bool did = false;
    for (uint32_t area = 0; area < DNET_STAGING_AREAS; area++) {
        dnet_rndv_recv_t *r = ep->rndv.area[area];
        if (!r)
            continue;
        uint64_t word = dnet_drv_word(&ep->drv, area);
        uint64_t sent = word & DNET_COUNT_MASK;
        if (sent > r->taken) {
            r->credit_word = (uint32_t) (word >> DNET_COUNT_WORD_SHIFT) % DNET_DRV_WORDS;
            take_chunks(ep, r, sent);
            did = true;
        }
        if (r->owes_credit)
            give_credit(ep, r);
    }
    return did;
}

bool dnet_rndv_staged_waiting(const dnet_ep_t *ep)
{
    for (uint32_t area = 0; ep->rndv.recvs_polled && area < DNET_STAGING_AREAS; area++) {
        const dnet_rndv_recv_t *r = ep->rndv.area[area];
        if (r && (r->owes_credit || (dnet_drv_word(&ep->drv, area) & DNET_COUNT_MASK) > r->taken))
            return true;
    }
    return false;
}

dnet_rndv_recv_t *dnet_rndv_staged_end(dnet_ep_t *ep, uint32_t address)
{
    if (address < ep->rndv.staging_base || address >= ep->rndv.staging_end)
        return NULL;
    uint32_t area = (uint32_t) ((address - ep->rndv.staging_base) / area_bytes(ep));
    dnet_rndv_recv_t *r = ep->rndv.area[area];
    if (r) {
        take_chunks(ep, r, UINT64_MAX);
        if (dnet_rndv_is_moved(r))
            r->req->in_layout = true;
        ep->rndv.area[area] = NULL;
        ep->rndv.recvs_polled--;
    }
    return r;
}

/* ---- sender ---- */

static bool word_take(dnet_ep_t *ep, uint32_t *index_p)
{
    for (uint32_t i = 0; i < DNET_DRV_WORDS / 64; i++) {
        uint64_t free_words = ~ep->rndv.words_used[i];
        if (i == 0)
            /* these count for the receiver side */
            free_words &= ~((1ull << DNET_STAGING_AREAS) - 1);
        if (free_words) {
            unsigned bit = (unsigned) __builtin_ctzll(free_words);
            ep->rndv.words_used[i] |= 1ull << bit;
            *index_p = i * 64 + bit;
            return true;
        }
    }
    return false;
}

static void word_give_back(dnet_ep_t *ep, uint32_t index)
{
    ep->rndv.words_used[index / 64] &= ~(1ull << (index % 64));
}

static dnet_status_t put_chunk(dnet_ep_t *ep, dnet_op_t *op, uint32_t n, bool last)
{
    dnet_drv_target_t target = ep->peers[op->peer].target;
    uint32_t to =
        op->remote_addr + (uint32_t) (op->put % op->staging.chunks) * op->staging.chunk_bytes;
    if (ep->dev->sodimm)
        return dnet_drv_rvs(&ep->drv, target, dnet_rndv_bytes(op, n), (dnet_drv_remote_t){to}, n,
                            last);
    /* Prototype: through the own SO-DIMM, behind everything of the receiving side. */
    uint32_t own = (uint32_t) ep->rndv.staging_end;
    dnet_drv_sodimm_write(&ep->drv, own, op->buf + op->off, n);
    return dnet_drv_rvs_sodimm(&ep->drv, target, own, to, n, last);
}

static dnet_status_t put_count(dnet_ep_t *ep, dnet_op_t *op)
{
    return dnet_drv_put_word(&ep->drv, ep->peers[op->peer].target,
                             dnet_drv_word_offset(op->head.id),
                             op->put | (uint64_t) op->word << DNET_COUNT_WORD_SHIFT);
}

/* A chunk is out: count it, unless it was the last. */
static dnet_status_t chunk_out(dnet_ep_t *ep, dnet_op_t *op)
{
    op->issued = false;
    dnet_status_t status = op->off < op->len ? put_count(ep, op) : DNET_OK;
    return dnet_rndv_is_stalled(ep, status) ? DNET_IN_PROGRESS : status;
}

/* The next chunk, and how many there have been: to another host both go together. */
static dnet_status_t put_next(dnet_ep_t *ep, dnet_op_t *op)
{
    size_t left = op->len - op->off;
    uint32_t n = left < op->staging.chunk_bytes ? (uint32_t) left : op->staging.chunk_bytes;
    bool gathers = dnet_channel_gather(ep, n);
    dnet_status_t status = put_chunk(ep, op, n, n == left);
    op->issued = dnet_rndv_is_stalled(ep, status);
    if (status == DNET_OK || op->issued) {
        op->off += n;
        op->at_hand = 0;
        op->put++;
    }
    if (status == DNET_OK)
        status = chunk_out(ep, op);
    dnet_channel_gather_end(ep, gathers);
    return status;
}

/* Send as many chunks as there is room for.  @return DNET_OK: all are out */
static dnet_status_t put_chunks(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    dnet_status_t status = op->issued ? chunk_out(ep, op) : DNET_OK;
    while (status == DNET_OK && op->off < op->len) {
        if (op->put - dnet_drv_word(&ep->drv, op->word) >= op->staging.chunks)
            return DNET_IN_PROGRESS;
        uint64_t before = op->put;
        status =
            put_next(ep, op); /* STOPPED: the status ring is full; the next round tries again */
        *did_p |= op->put != before;
        if (op->issued)
            return DNET_IN_PROGRESS;
    }
    return status == DNET_STOPPED ? DNET_IN_PROGRESS : status;
}

static dnet_status_t turn(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    if (op->word == UINT32_MAX) {
        if (!word_take(ep, &op->word))
            return DNET_IN_PROGRESS;
        dnet_drv_word_clear(&ep->drv, op->word);
    }
    dnet_status_t status = put_chunks(ep, op, did_p);
    if (status != DNET_IN_PROGRESS)
        word_give_back(ep, op->word);
    return status;
}

static bool ready(const dnet_ep_t *ep, const dnet_op_t *op)
{
    return op->word == UINT32_MAX ||
           op->put - dnet_drv_word(&ep->drv, op->word) < op->staging.chunks;
}

const dnet_rndv_way_t dnet_rndv_staged = {.begin = begin, .turn = turn, .ready = ready};
