/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large messages (docs/protocol.md 4): the sender sends the envelope only; the receiver matches it
 * and answers where the data shall land; RVS moves them; the receive status of the last packet
 * completes the receive.
 *
 * Two ways to land:
 *   direct  a single copy between the buffers, for which apertures are opened: the receiver fetches
 * the message by RVL, or lets the sender store it by RVS, or, from DIMMNET_SPLIT_LIMIT on, each
 *           does so with one half, so that both processors copy
 *   staged  RVS in chunks into an area of the receiver's SO-DIMM, which the receiver empties at the
 * same time.  Each side counts its chunks in an LLCM word of the other side.
 */
#include "endpoint/internal.h"

#include <stdlib.h>

/* The count of sent chunks tells the receiver where to count the taken ones. */
#define COUNT_WORD_SHIFT 48
/* One RVS moves at most what its 32-bit Size can say. */
#define DIRECT_MAX 0xffff0000u

enum { RENDEZVOUS_AUTO, RENDEZVOUS_DIRECT, RENDEZVOUS_STAGED }; /* DIMMNET_RENDEZVOUS */

static uint64_t area_bytes(const dnet_ep_t *ep)
{
    return (uint64_t) ep->rndv.chunk_bytes * ep->rndv.chunks;
}

static uint32_t area_offset(const dnet_ep_t *ep, uint32_t area)
{
    return (uint32_t) (ep->rndv.staging_base + area * area_bytes(ep));
}

/* ---- receiver: start ---- */

static uint32_t aperture_slots(const dnet_ep_t *ep)
{
    uint32_t slots = ep->dev->geometry.aperture_slots;
    return slots < DNET_APERTURES_MAX ? slots : DNET_APERTURES_MAX;
}

/* Open an aperture in a slot below `end`; slot 0 is the driver's.  @return the slot; 0: none is
 * free */
static uint32_t aperture_open(dnet_ep_t *ep, const uint8_t *at, size_t len, uint32_t end)
{
    for (uint32_t slot = 1; slot < end; slot++) {
        if (!ep->aperture.recv[slot] && !ep->aperture.send[slot]) {
            dnet_drv_aperture_set(&ep->drv, slot, at, len);
            return slot;
        }
    }
    return 0;
}

static bool find_aperture(dnet_ep_t *ep, dnet_rndv_recv_t *l)
{
    size_t at = l->offer ? dnet_split_at(l->len) : 0;
    l->place = aperture_open(ep, l->buf + at, l->len - at, aperture_slots(ep));
    if (!l->place)
        return false;
    ep->aperture.recv[l->place] = l;
    ep->rndv.recvs_direct++;
    return true;
}

static bool find_area(dnet_ep_t *ep, dnet_rndv_recv_t *l)
{
    for (uint32_t area = 0; area < DNET_STAGING_AREAS; area++) {
        if (!ep->rndv.area[area]) {
            ep->rndv.area[area] = l;
            ep->rndv.recvs_staged++;
            l->place = area;
            dnet_drv_word_clear(&ep->drv, area);
            return true;
        }
    }
    return false;
}

static bool reserve_areas(dnet_ep_t *ep)
{
    if (!ep->rndv.staging_reserved)
        ep->rndv.staging_reserved =
            ep->dev->ops->reserve(ep->dev, ep->rndv.staging_base,
                                  area_bytes(ep) * DNET_STAGING_AREAS) == DNET_OK;
    return ep->rndv.staging_reserved;
}

/* Whether the kernel lets this process copy straight from and to others is tried out at the first
 * large message, on the peer it is for: by then that peer has its NIC open. */
static bool wants_direct(dnet_ep_t *ep, uint32_t peer, size_t len)
{
    if (len > DIRECT_MAX || ep->options.rendezvous == RENDEZVOUS_STAGED)
        return false;
    if (peer == ep->rank)
        return ep->dev->geometry.aperture_slots > 1;
    if (ep->rndv.direct == DNET_DIRECT_UNTRIED) {
        dnet_drv_target_t target = ep->peers[peer].target;
        bool works = ep->dev->geometry.aperture_slots > 1 &&
                     ep->dev->ops->can_copy(ep->dev, dnet_drv_target_lid(target),
                                            dnet_drv_target_wid(target));
        ep->rndv.direct = works ? DNET_DIRECT_WORKS : DNET_DIRECT_FAILS;
    }
    return ep->rndv.direct == DNET_DIRECT_WORKS;
}

static void answer(dnet_ep_t *ep, const dnet_rndv_recv_t *l)
{
    dnet_ep_head_t head = {
        .type = DNET_HEAD_CTS,
        .flags = l->staged  ? DNET_CTS_STAGED
                 : l->offer ? DNET_CTS_SPLIT
                            : 0,
        .rank = ep->rank,
        .op = l->op,
        .arg = l->staged ? l->place : dnet_drv_aperture_address(l->place),
        .length = l->offer ? l->len - dnet_split_at(l->len) : l->len,
    };
    dnet_ep_staging_t staging = {ep->rndv.chunk_bytes, ep->rndv.chunks};
    DNET_TRACE(cts, l->rank, l->op, head.length);
    if (l->staged)
        head.id = (uint16_t) l->place;
    if (l->staged)
        head.arg = area_offset(ep, l->place);
    dnet_send_control(ep, l->rank, &head, &staging, l->staged ? sizeof(staging) : 0);
}

static void recv_finish(dnet_ep_t *ep, dnet_rndv_recv_t *l)
{
    if (l->req) {
        dnet_ep_request_t *req = l->req;
        dnet_status_t status = l->status == DNET_OK ? dnet_request_status(req) : l->status;
        free(l);
        dnet_count_received(ep, req->sent_bytes);
        req->complete(req, status);
        return;
    }
    ep->am_fn(ep->am_arg, l->rank, l->am_id, l->am_block, l->am_header_len,
              l->am_block + l->am_header_len, l->len);
    free(l->am_block);
    free(l);
}

/* The first `len` bytes of what the sender offers. */
static void fetch(dnet_ep_t *ep, dnet_rndv_recv_t *l, size_t len)
{
    l->status = dnet_drv_rvl(&ep->drv, ep->peers[l->rank].target, (dnet_drv_place_t){l->offer},
                             l->buf, (uint32_t) len);
    if (l->status != DNET_OK)
        dnet_error("cannot fetch %zu bytes from rank %u: %s", len, l->rank,
                   dnet_status_text(l->status));
    dnet_send_ack(ep, l->rank, l->op);
}

/* Shall the message be fetched whole?  Always where its sender would have to wait for a processor
 * before it could store anything.  Else, where several are on their way, fetched ones and ones that
 * their senders store take turns, so that the processors of both sides copy. */
static bool wants_fetch(const dnet_ep_t *ep, const dnet_rndv_recv_t *l)
{
    /* a shorter receive does not end where the message does */
    if (!l->offer || l->len < l->sent_bytes)
        return l->offer != 0;
    if (ep->oversubscribed)
        return true;
    return l->len < ep->options.split_limit &&
           (ep->rndv.recvs_direct || !dnet_drv_lh_more(&ep->drv));
}

/* Find room to land and answer; false: no room now. */
static bool recv_try(dnet_ep_t *ep, dnet_rndv_recv_t *l)
{
    if (l->len == 0) {
        answer(ep, l);
        recv_finish(ep, l);
        return true;
    }
    if (l->layout.kind && dnet_strided_fetch(ep, l)) {
        dnet_send_ack(ep, l->rank, l->op);
        recv_finish(ep, l);
        return true;
    }
    l->staged = !wants_direct(ep, l->rank, l->len);
    if (l->staged)
        l->offer = 0;
    if (wants_fetch(ep, l)) {
        fetch(ep, l, l->len);
        recv_finish(ep, l);
        return true;
    }
    if (l->len < ep->options.split_limit)
        l->offer = 0;
    if (l->staged ? !reserve_areas(ep) || !find_area(ep, l) : !find_aperture(ep, l))
        return false;
    answer(ep, l);
    if (l->offer)
        fetch(ep, l, dnet_split_at(l->len));
    return true;
}

static void recv_start(dnet_ep_t *ep, dnet_rndv_recv_t *l)
{
    if (!ep->rndv.wait && recv_try(ep, l))
        return;
    l->next = NULL;
    *ep->rndv.wait_tail = l;
    ep->rndv.wait_tail = &l->next;
}

static void recvs_go_on(dnet_ep_t *ep)
{
    while (ep->rndv.wait) {
        dnet_rndv_recv_t *l = ep->rndv.wait, *next = l->next;
        if (!recv_try(ep, l))
            return;
        ep->rndv.wait = next;
        if (!next)
            ep->rndv.wait_tail = &ep->rndv.wait;
    }
}

static dnet_rndv_recv_t *recv_new(const dnet_ep_head_t *head, uint64_t envelope)
{
    dnet_rndv_recv_t *l = calloc(1, sizeof(*l));
    if (!l)
        abort();
    l->rank = head->rank;
    l->op = head->op;
    l->sent_bytes = head->length;
    l->envelope = envelope;
    return l;
}

void dnet_rendezvous_request(dnet_ep_t *ep, const dnet_ep_head_t *head,
                             const dnet_ep_layout_t *layout, uint64_t envelope,
                             dnet_ep_request_t *req)
{
    dnet_rndv_recv_t *l = recv_new(head, envelope);
    dnet_request_result(ep, req, envelope, head->length);
    l->offer = head->arg;
    l->layout = *layout;
    l->req = req;
    l->buf = req->buf;
    l->len = req->len_bytes;
    recv_start(ep, l);
}

void dnet_rendezvous_am(dnet_ep_t *ep, const dnet_ep_head_t *head, const uint8_t *header)
{
    dnet_rndv_recv_t *l = recv_new(head, 0);
    l->am_id = head->id;
    l->am_header_len = head->arg;
    l->am_block = malloc(head->arg + head->length + 1);
    if (!l->am_block) {
        dnet_error("no memory for an active message of %llu bytes from rank %u",
                   (unsigned long long) head->length, head->rank);
        abort();
    }
    memcpy(l->am_block, header, head->arg);
    l->buf = l->am_block + head->arg;
    l->len = head->length;
    recv_start(ep, l);
}

/* ---- receiver: data ---- */

/* Tell the sender how many chunks were taken, as long as it needs to know: its last chunk may go
 * out when all but one area's worth are taken, and after that its word may serve another message.
 */
static void give_credit(dnet_ep_t *ep, dnet_rndv_recv_t *l)
{
    uint64_t total = (l->len + ep->rndv.chunk_bytes - 1) / ep->rndv.chunk_bytes;
    if (total <= ep->rndv.chunks || l->taken > total - ep->rndv.chunks)
        return;
    (void) dnet_drv_put_word(&ep->drv, ep->peers[l->rank].target,
                             dnet_drv_word_offset(l->credit_word), l->taken);
}

static void take_chunks(dnet_ep_t *ep, dnet_rndv_recv_t *l, uint64_t sent)
{
    while (l->taken < sent && l->got < l->len) {
        size_t n = l->len - l->got;
        if (n > ep->rndv.chunk_bytes)
            n = ep->rndv.chunk_bytes;
        uint32_t place = area_offset(ep, l->place) +
                         (uint32_t) (l->taken % ep->rndv.chunks) * ep->rndv.chunk_bytes;
        dnet_drv_sodimm_read(&ep->drv, place, l->buf + l->got, (uint32_t) n);
        l->got += n;
        l->taken++;
        give_credit(ep, l);
    }
}

/* Chunks counted by senders so far. */
static bool take_counted(dnet_ep_t *ep)
{
    bool did = false;
    for (uint32_t area = 0; area < DNET_STAGING_AREAS; area++) {
        dnet_rndv_recv_t *l = ep->rndv.area[area];
        if (!l)
            continue;
        uint64_t word = dnet_drv_word(&ep->drv, area);
        uint64_t sent = word & ((1ull << COUNT_WORD_SHIFT) - 1);
        if (sent > l->taken) {
            l->credit_word = (uint32_t) (word >> COUNT_WORD_SHIFT) % DNET_DRV_WORDS;
            take_chunks(ep, l, sent);
            did = true;
        }
    }
    return did;
}

/* The last packet of a rendezvous has arrived. */
static void landed(dnet_ep_t *ep, const dnet_drv_receipt_t *receipt)
{
    dnet_rndv_recv_t *l = NULL;
    DNET_TRACE(landed, receipt->lid, receipt->address, receipt->bytes);
    if (DNET_GET(receipt->address, AP_FLAG)) {
        uint32_t slot = (uint32_t) DNET_GET(receipt->address, AP_SLOT);
        l = slot < DNET_APERTURES_MAX ? ep->aperture.recv[slot] : NULL;
        if (l) {
            dnet_drv_aperture_set(&ep->drv, slot, NULL, 0);
            ep->aperture.recv[slot] = NULL;
            ep->rndv.recvs_direct--;
        }
    } else if (receipt->address >= ep->rndv.staging_base &&
               receipt->address < ep->rndv.staging_base + area_bytes(ep) * DNET_STAGING_AREAS) {
        uint32_t area = (uint32_t) ((receipt->address - ep->rndv.staging_base) / area_bytes(ep));
        l = ep->rndv.area[area];
        if (l) {
            take_chunks(ep, l, UINT64_MAX);
            ep->rndv.area[area] = NULL;
            ep->rndv.recvs_staged--;
        }
    }
    if (l)
        recv_finish(ep, l);
    else
        dnet_error("receive status for 0x%x, where nothing is expected, from LID %u",
                   receipt->address, receipt->lid);
    recvs_go_on(ep);
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
    uint32_t place =
        op->remote_addr + (uint32_t) (op->put % op->staging.chunks) * op->staging.chunk_bytes;
    if (ep->dev->sodimm)
        return dnet_drv_rvs(&ep->drv, target, op->buf + op->off, (dnet_drv_place_t){place}, n,
                            last);
    /* Prototype: through the own SO-DIMM, behind everything of the receiving side. */
    uint32_t own = (uint32_t) (ep->rndv.staging_base + area_bytes(ep) * DNET_STAGING_AREAS);
    dnet_drv_sodimm_write(&ep->drv, own, op->buf + op->off, n);
    return dnet_drv_rvs_sodimm(&ep->drv, target, own, place, n, last);
}

static dnet_status_t put_count(dnet_ep_t *ep, dnet_op_t *op)
{
    return dnet_drv_put_word(&ep->drv, ep->peers[op->peer].target,
                             dnet_drv_word_offset(op->head.id),
                             op->put | (uint64_t) op->word << COUNT_WORD_SHIFT);
}

/* Does a request wait in the NIC?  It will be delivered, before any other. */
static bool is_stalled(dnet_ep_t *ep, dnet_status_t status)
{
    if (DNET_LIKELY(status != DNET_STALLED))
        return false;
    dnet_flow_stalled(ep);
    return true;
}

/* A chunk is out: count it, unless it was the last. */
static dnet_status_t chunk_out(dnet_ep_t *ep, dnet_op_t *op)
{
    op->issued = false;
    dnet_status_t status = op->off < op->len ? put_count(ep, op) : DNET_OK;
    return is_stalled(ep, status) ? DNET_IN_PROGRESS : status;
}

/* Send as many chunks as there is room for.  @return DNET_OK: all are out */
static dnet_status_t put_chunks(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    dnet_status_t status = op->issued ? chunk_out(ep, op) : DNET_OK;
    while (status == DNET_OK && op->off < op->len) {
        if (op->put - dnet_drv_word(&ep->drv, op->word) >= op->staging.chunks)
            return DNET_IN_PROGRESS;
        size_t left = op->len - op->off;
        uint32_t n = left < op->staging.chunk_bytes ? (uint32_t) left : op->staging.chunk_bytes;
        status = put_chunk(ep, op, n, n == left);
        op->issued = is_stalled(ep, status);
        if (status != DNET_OK && !op->issued)
            break; /* STOPPED: the status ring is full; the next round tries again */
        *did_p = true;
        op->off += n;
        op->put++;
        if (op->issued)
            return DNET_IN_PROGRESS;
        status = chunk_out(ep, op);
    }
    return status == DNET_STOPPED ? DNET_IN_PROGRESS : status;
}

static dnet_status_t put_direct(dnet_ep_t *ep, dnet_op_t *op)
{
    if (op->issued) /* and the NIC is done */
        return DNET_OK;
    dnet_status_t status =
        dnet_drv_rvs(&ep->drv, ep->peers[op->peer].target, op->buf,
                     (dnet_drv_place_t){op->remote_addr}, (uint32_t) op->len, true);
    op->issued = is_stalled(ep, status);
    return status;
}

uint32_t dnet_rendezvous_offer(dnet_ep_t *ep, dnet_op_t *op)
{
    /* A NIC that stalls takes no request, so nothing may have to be fetched. */
    if (op->len == 0 || ep->options.flow == DNET_EP_FLOW_STALL ||
        !wants_direct(ep, op->peer, op->len))
        return 0;
    /* Half of the slots stay for receives: offers wait for the other side's receives, and if they
     * had all slots on both sides nothing could land anywhere. */
    op->offer_slot = aperture_open(ep, op->buf, op->len, aperture_slots(ep) / 2);
    if (!op->offer_slot)
        return 0;
    ep->aperture.send[op->offer_slot] = op;
    return dnet_drv_aperture_address(op->offer_slot);
}

void dnet_rendezvous_withdraw(dnet_ep_t *ep, dnet_op_t *op)
{
    if (!op->offer_slot)
        return;
    dnet_drv_aperture_set(&ep->drv, op->offer_slot, NULL, 0);
    ep->aperture.send[op->offer_slot] = NULL;
    op->offer_slot = 0;
}

/* One turn for an answered send.  @return true: it is finished */
static bool op_turn(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    dnet_status_t status;
    if (ep->stalled)
        return false;
    if (op->state == DNET_OP_DIRECT) {
        status = put_direct(ep, op);
        if (status == DNET_STOPPED || status == DNET_STALLED)
            return false;
    } else {
        if (op->word == UINT32_MAX) {
            if (!word_take(ep, &op->word))
                return false;
            dnet_drv_word_clear(&ep->drv, op->word);
        }
        status = put_chunks(ep, op, did_p);
        if (status == DNET_IN_PROGRESS)
            return false;
        word_give_back(ep, op->word);
    }
    *did_p = true;
    if (status == DNET_OK && op->fetch_due)
        op->state = DNET_OP_FETCH_WAIT;
    else
        dnet_op_finish(ep, op, status);
    return true;
}

void dnet_rendezvous_answered(dnet_ep_t *ep, const dnet_ep_head_t *head,
                              const dnet_ep_staging_t *staging)
{
    dnet_op_t *op = dnet_op_find(ep, head->op);
    DNET_TRACE(cleared, head->rank, head->op, head->length);
    bool staged = head->flags & DNET_CTS_STAGED;
    bool split = head->flags & DNET_CTS_SPLIT;
    if (!op || op->state != DNET_OP_CTS_WAIT || op->peer != head->rank || head->length > op->len ||
        (split && !op->offer_slot) ||
        (staged &&
         (staging->chunks == 0 || staging->chunk_bytes == 0 || head->id >= DNET_DRV_WORDS))) {
        dnet_error("answer of rank %u to a rendezvous that does not exist (operation 0x%x)",
                   head->rank, head->op);
        return;
    }
    if (split)
        op->buf += op->len - head->length;
    /* a shorter receive takes less, of a split message only the rear half is left */
    op->len = head->length;
    op->fetch_due = split;
    if (op->len == 0) {
        dnet_op_finish(ep, op, DNET_OK);
        return;
    }
    dnet_status_t packed = op->buf ? DNET_OK : dnet_strided_pack(ep, op);
    if (packed != DNET_OK) {
        dnet_op_finish(ep, op, packed);
        return;
    }
    op->remote_addr = head->arg;
    op->head.id = head->id;
    op->staging = *staging;
    op->word = UINT32_MAX;
    op->state = staged ? DNET_OP_STAGED : DNET_OP_DIRECT;
    bool did = false;
    if (op_turn(ep, op, &did))
        return;
    dnet_op_t **link = &ep->rndv.sending;
    while (*link)
        link = &(*link)->next;
    op->next = NULL;
    *link = op;
}

bool dnet_rendezvous_round(dnet_ep_t *ep)
{
    bool did = false;
    dnet_op_t **link = &ep->rndv.sending;
    while (*link) {
        dnet_op_t *op = *link, *next = op->next;
        if (op_turn(ep, op, &did))
            *link = next;
        else
            link = &op->next;
    }
    if (ep->rndv.recvs_staged)
        did |= take_counted(ep);
    dnet_drv_receipt_t receipt;
    while (dnet_drv_status_next(&ep->drv, &receipt)) {
        landed(ep, &receipt);
        did = true;
    }
    return did;
}

bool dnet_rendezvous_waiting(const dnet_ep_t *ep)
{
    if (dnet_drv_status_waiting(&ep->drv))
        return true;
    for (uint32_t area = 0; ep->rndv.recvs_staged && area < DNET_STAGING_AREAS; area++) {
        const dnet_rndv_recv_t *l = ep->rndv.area[area];
        if (l && (dnet_drv_word(&ep->drv, area) & ((1ull << COUNT_WORD_SHIFT) - 1)) > l->taken)
            return true;
    }
    for (const dnet_op_t *op = ep->rndv.sending; op; op = op->next)
        if (op->state == DNET_OP_DIRECT || op->word == UINT32_MAX ||
            op->put - dnet_drv_word(&ep->drv, op->word) < op->staging.chunks)
            return true;
    return false;
}
