/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets on their way in (docs/protocol.md 3): every LH entry is handled in the order of arrival
 * and given back at once, so that no message keeps others out.
 *
 * A message that finds its receive is copied from the entry (and the IPUSH ring) straight into the
 * receive buffer; one that does not is copied into the store for unexpected messages.
 */
#include "endpoint/dispatch.h"

#include <string.h>

#include "common/short_copy.h"
#include "endpoint/cancel.h"
#include "endpoint/channel.h"
#include "endpoint/compare/rings.h"
#include "endpoint/defer_recv.h"
#include "endpoint/defer_send.h"
#include "endpoint/guests.h"
#include "endpoint/inbox.h"
#include "endpoint/rndv_recv.h"
#include "endpoint/rndv_send.h"
#include "endpoint/strided.h"

/* Copy message bytes [from, from + len) of an entry; `from` counts behind the envelope. */
static inline void copy_out(dnet_ep_t *ep, const dnet_lh_entry_t *entry, uint32_t from, void *dst,
                            size_t len)
{
    uint8_t *to = dst;
    if (DNET_LIKELY(from == 0 && len <= DNET_LH_DATA_BYTES)) {
        dnet_short_copy(to, entry->data, len);
        return;
    }
    if (from == 0) {
        memcpy(to, entry->data, DNET_LH_DATA_BYTES);
        to += DNET_LH_DATA_BYTES;
        from += DNET_LH_DATA_BYTES;
        len -= DNET_LH_DATA_BYTES;
    } else if (len && from < DNET_LH_DATA_BYTES) {
        size_t n = DNET_LH_DATA_BYTES - from;
        if (n > len)
            n = len;
        memcpy(to, entry->data + from, n);
        to += n;
        from += (uint32_t) n;
        len -= n;
    }
    if (len && dnet_lh_is_behind(entry->where))
        dnet_drv_lines_read(&ep->drv, from - DNET_LH_DATA_BYTES, to, (uint32_t) len);
    else if (len)
        dnet_drv_ring_read(&ep->drv, entry, from - DNET_LH_DATA_BYTES, to, (uint32_t) len);
}

/* A message without a receive, when others have been received since the last one: it stays where it
 * is until the caller has looked, for it may post just this receive (docs/protocol.md 3.5). */
static DNET_COLD bool leave(dnet_ep_t *ep)
{
    uint64_t received = ep->page.counters.received_messages;
    bool leaves = received != ep->inbox.received_before;
    ep->inbox.received_before = received;
    if (leaves)
        ep->inbox.left = ep->drv.lh_read;
    return leaves;
}

/* One that was left has been told of. */
static DNET_COLD void trace_arrive(const dnet_ep_t *ep, const dnet_lh_entry_t *entry)
{
    if (ep->inbox.left != ep->drv.lh_read)
        DNET_TRACE(arrive, 0, entry->envelope, DNET_GET(entry->where, LH_SIZE));
}

static DNET_COLD void malformed(const dnet_lh_entry_t *entry, const char *what)
{
    dnet_error("packet ignored: %s; envelope 0x%016llx, size and pointer 0x%016llx", what,
               (unsigned long long) entry->envelope, (unsigned long long) entry->where);
}

/* ---- whole messages ---- */

static DNET_COLD void keep_whole(dnet_ep_t *ep, const dnet_lh_entry_t *entry, uint32_t from,
                                 size_t len, const dnet_ep_head_t *head)
{
    uint64_t envelope = entry->envelope & DNET_MATCH_BITS & ~DNET_EP_HEADED;
    dnet_ep_message_t *m = dnet_message_new(ep, envelope, len, len);
    dnet_defer_if_full(ep, envelope);
    m->kind = DNET_MESSAGE_WHOLE;
    if (head) {
        m->sync = true;
        m->rank = head->rank;
        m->op = head->op;
    }
    copy_out(ep, entry, from, m->data, len);
    dnet_match_keep(&ep->inbox.match, &m->match);
}

/* @return false: it has been left */
static inline bool receive_whole(dnet_ep_t *ep, const dnet_lh_entry_t *entry, uint32_t from,
                                 const dnet_ep_head_t *head)
{
    uint64_t envelope = entry->envelope & DNET_MATCH_BITS & ~DNET_EP_HEADED;
    size_t len = DNET_GET(entry->where, LH_SIZE) - from;
    dnet_match_item_t *item = dnet_match_arrive(&ep->inbox.match, envelope);
    if (DNET_UNLIKELY(!item)) {
        if (leave(ep))
            return false;
        keep_whole(ep, entry, from, len, head);
        return true;
    }
    dnet_ep_request_t *req = (dnet_ep_request_t *) item;
    dnet_request_result(ep, req, envelope, len);
    if (len == 8 && req->cap_bytes >= 8 && from == 0)
        memcpy(req->buf, entry->data, 8);
    else
        copy_out(ep, entry, from, req->buf, req->len_bytes);
    dnet_count_received(ep, len);
    if (head)
        dnet_send_ack(ep, head->rank, head->op);
    req->complete(req, dnet_request_status(req));
    return true;
}

/* ---- messages in several packets ---- */

static dnet_assembly_t **assembly_of(dnet_ep_t *ep, uint32_t rank)
{
    dnet_assembly_t **a = &ep->inbox.assemblies;
    while (*a && (*a)->rank != rank)
        a = &(*a)->next;
    return a;
}

static void assembly_done(dnet_ep_t *ep, dnet_assembly_t *a)
{
    dnet_ep_request_t *req = a->req;
    if (a->message) {
        a->message->kind = DNET_MESSAGE_WHOLE;
        req = a->message->req;
        if (req) {
            dnet_request_result(ep, req, a->message->match.envelope, a->message->len);
            if (req->len_bytes) /* else there may be no buffer */
                memcpy(req->buf, a->message->data, req->len_bytes);
            dnet_message_free(ep, a->message);
        }
    }
    dnet_assembly_free(ep, a);
    if (req) {
        dnet_count_received(ep, req->sent_bytes);
        req->complete(req, dnet_request_status(req));
    }
}

/* Copy a piece to where it belongs; of a message that was sent at once, to a buffer that is in use,
 * how long some take tells what it will take the receivers of such messages. */
static void copy_piece(dnet_ep_t *ep, const dnet_lh_entry_t *entry, const dnet_assembly_t *a,
                       size_t len)
{
    bool timed = a->len > ep->eager_near.in_a_row && a->req &&
                 dnet_piece_is_timed((uint32_t) (a->got / len), (uint32_t) len);
    uint64_t begin = timed ? dnet_clock_ns() : 0;
    copy_out(ep, entry, DNET_PIECE_AT, a->buf + a->got, len);
    if (timed)
        dnet_piece_taken(&ep->rndv.at_once_times, (uint32_t) len, dnet_clock_ns() - begin);
}

/* Pieces of one sender's messages never interleave: its channel sends one message after the other.
 */
static void receive_piece(dnet_ep_t *ep, const dnet_lh_entry_t *entry, dnet_assembly_t **link)
{
    dnet_assembly_t *a = *link;
    size_t len = DNET_GET(entry->where, LH_SIZE) - DNET_PIECE_AT;
    if (len > a->len - a->got)
        len = a->len - a->got;
    if (a->got < a->cap)
        copy_piece(ep, entry, a, len < a->cap - a->got ? len : a->cap - a->got);
    a->got += len;
    if (a->got == a->len) {
        *link = a->next;
        assembly_done(ep, a);
    }
}

/* @return false: it has been left */
static bool receive_first(dnet_ep_t *ep, const dnet_lh_entry_t *entry, const dnet_ep_head_t *head)
{
    uint64_t envelope = entry->envelope & DNET_MATCH_BITS & ~DNET_EP_HEADED;
    dnet_match_item_t *item = dnet_match_arrive(&ep->inbox.match, envelope);
    if (!item && leave(ep))
        return false;
    dnet_assembly_t *a = dnet_assembly_new(ep);
    *a = (dnet_assembly_t){.rank = head->rank, .len = head->length};
    if (item) {
        a->req = (dnet_ep_request_t *) item;
        dnet_request_result(ep, a->req, envelope, a->len);
        a->buf = a->req->buf;
        a->cap = a->req->cap_bytes;
    } else {
        dnet_ep_message_t *m = dnet_message_new(ep, envelope, a->len, a->len);
        dnet_defer_if_full(ep, envelope);
        m->kind = DNET_MESSAGE_PARTIAL;
        m->rank = head->rank;
        dnet_match_keep(&ep->inbox.match, &m->match);
        a->message = m;
        a->buf = m->data;
        a->cap = a->len;
    }
    a->next = ep->inbox.assemblies;
    ep->inbox.assemblies = a;
    receive_piece(ep, entry, &ep->inbox.assemblies);
    return true;
}

/* ---- packets with a head ---- */

/* What stands behind an RTS. */
static dnet_ep_origin_t origin_of(const dnet_ep_head_t *head, const dnet_lh_entry_t *entry)
{
    dnet_ep_origin_t origin = {.layout = dnet_strided_read(head, entry)};
    origin.pushes = head->flags & DNET_RTS_PUSHES;
    origin.is_lent = (head->flags & DNET_RTS_LENT) && !(head->flags & DNET_RTS_LAYOUT) &&
                     DNET_GET(entry->where, LH_SIZE) >= sizeof(*head) + sizeof(origin.memory);
    if (origin.is_lent)
        memcpy(&origin.memory, entry->data + sizeof(*head), sizeof(origin.memory));
    return origin;
}

static void receive_rts(dnet_ep_t *ep, const dnet_lh_entry_t *entry, const dnet_ep_head_t *head)
{
    uint64_t envelope = entry->envelope & DNET_MATCH_BITS & ~DNET_EP_HEADED;
    dnet_ep_origin_t origin = origin_of(head, entry);
    dnet_match_item_t *item = dnet_match_arrive(&ep->inbox.match, envelope);
    if (item) {
        dnet_ep_request_t *req = (dnet_ep_request_t *) item;
        dnet_request_result(ep, req, envelope, head->length);
        origin.is_awaited = true;
        dnet_rndv_recv_message(ep, head, &origin, req);
        return;
    }
    dnet_ep_message_t *m = dnet_message_new_rts(ep, head, envelope);
    dnet_defer_if_full(ep, envelope);
    m->origin = origin;
    dnet_match_keep(&ep->inbox.match, &m->match);
}

static void receive_pushed(dnet_ep_t *ep, const dnet_lh_entry_t *entry, const dnet_ep_head_t *head)
{
    size_t len = DNET_GET(entry->where, LH_SIZE) - DNET_PIECE_AT;
    uint8_t *to = dnet_rndv_piece_at(ep, head, len);
    if (!to) {
        if (ep->rndv.strays++ == 0) /* others of the same message may follow */
            malformed(entry, "a piece of nothing that is expected");
        return;
    }
    uint64_t begin = dnet_piece_is_timed(head->arg, DNET_PIECE_BYTES) ? dnet_clock_ns() : 0;
    copy_out(ep, entry, DNET_PIECE_AT, to, len);
    dnet_rndv_recv_piece(ep, head, begin);
}

static void receive_am(dnet_ep_t *ep, const dnet_lh_entry_t *entry, const dnet_ep_head_t *head)
{
    const uint32_t from = sizeof(*head);
    size_t len = DNET_GET(entry->where, LH_SIZE) - from;
    copy_out(ep, entry, from, ep->inbox.scratch, len);
    if (head->type == DNET_HEAD_AM)
        ep->am_fn(ep->am_arg, head->rank, head->id, ep->inbox.scratch, head->arg,
                  ep->inbox.scratch + head->arg, len - head->arg);
    else
        dnet_rndv_recv_am(ep, head, ep->inbox.scratch);
}

static DNET_COLD void receive_offer(dnet_ep_t *ep, const dnet_lh_entry_t *entry,
                                    const dnet_ep_head_t *head)
{
    dnet_ep_offer_t offers[DNET_OFFERS_MAX];
    copy_out(ep, entry, sizeof(*head), offers, head->arg * sizeof(offers[0]));
    dnet_defer_offered(ep, head, offers);
}

static bool head_is_sound(const dnet_ep_t *ep, const dnet_lh_entry_t *entry,
                          const dnet_ep_head_t *head)
{
    size_t size = DNET_GET(entry->where, LH_SIZE);
    if (size < sizeof(*head) || head->rank == DNET_EP_NO_RANK)
        return false;
    if (dnet_head_is_of_piece(head->type))
        return size > DNET_PIECE_AT;
    size_t behind = size - sizeof(*head);
    if (head->type == DNET_HEAD_AM || head->type == DNET_HEAD_AM_RTS)
        return (head->type == DNET_HEAD_AM ? ep->am_fn != NULL : ep->am_long.begin != NULL) &&
               head->arg <= behind && head->arg <= DNET_EP_AM_HEADER_MAX;
    if (head->type == DNET_HEAD_CTS && (head->flags & DNET_CTS_STAGED))
        return behind == sizeof(dnet_ep_staging_t);
    if (head->type == DNET_HEAD_OFFER)
        return head->arg <= DNET_OFFERS_MAX && head->arg * sizeof(dnet_ep_offer_t) == behind;
    return true;
}

/* @return false: it has been left */
static __attribute__((noinline)) bool receive_headed(dnet_ep_t *ep, const dnet_lh_entry_t *entry)
{
    dnet_ep_head_t head;
    memcpy(&head, entry->data, sizeof(head)); /* 24 of the entry's 48 bytes */
    head.rank = dnet_peer_of_head(ep, head.rank);
    if (!head_is_sound(ep, entry, &head)) {
        malformed(entry, "head out of range");
        return true;
    }
    switch ((dnet_head_type_t) head.type) {
        case DNET_HEAD_SYNC:
            return receive_whole(ep, entry, sizeof(head), &head);
        case DNET_HEAD_FIRST:
            return receive_first(ep, entry, &head);
        case DNET_HEAD_MORE: {
            dnet_assembly_t **link = assembly_of(ep, head.rank);
            if (*link)
                receive_piece(ep, entry, link);
            else
                malformed(entry, "piece without a first piece");
            return true;
        }
        case DNET_HEAD_RTS:
            receive_rts(ep, entry, &head);
            return true;
        case DNET_HEAD_PIECE:
            receive_pushed(ep, entry, &head);
            return true;
        case DNET_HEAD_CTS: {
            dnet_ep_staging_t staging = {0};
            if (head.flags & DNET_CTS_STAGED)
                memcpy(&staging, entry->data + sizeof(head), sizeof(staging));
            dnet_rndv_cleared(ep, &head, &staging);
            return true;
        }
        case DNET_HEAD_ACK: {
            dnet_op_t *op = dnet_op_find(ep, head.op);
            if (op && op->peer == head.rank) {
                if (!(head.flags & DNET_ACK_KERNEL))
                    dnet_piece_taken(&ep->rndv.pushed_times, DNET_PIECE_BYTES, head.arg);
                else
                    dnet_kernel_told(&ep->rndv.kernel_times, op->len, head.arg);
                dnet_op_acknowledged(ep, op);
            } else {
                malformed(entry, "acknowledges nothing");
            }
            return true;
        }
        case DNET_HEAD_AM:
        case DNET_HEAD_AM_RTS:
            receive_am(ep, entry, &head);
            return true;
        case DNET_HEAD_OFFER:
            receive_offer(ep, entry, &head);
            return true;
        case DNET_HEAD_VERDICT:
        case DNET_HEAD_PULL:
        case DNET_HEAD_TAKE:
        case DNET_HEAD_GRANT:
        case DNET_HEAD_RELEASE:
            dnet_defer_told(ep, &head);
            return true;
        case DNET_HEAD_PULL_NONE:
        case DNET_HEAD_RELEASE_ACK:
        case DNET_HEAD_DONE:
            dnet_defer_answered(ep, &head);
            return true;
        case DNET_HEAD_WITHDRAW:
            dnet_cancel_asked(ep, &head);
            return true;
        case DNET_HEAD_WITHDRAWN:
            dnet_cancel_answered(ep, &head);
            return true;
    }
    malformed(entry, "unknown type");
    return true;
}

/* Give the NIC back what was read since the last time.  The entry may still be read, and its sender
 * is a sample of those that use the rings. */
static void give_back(dnet_ep_t *ep, const dnet_lh_entry_t *entry)
{
    if (ep->drv.ring_used >= ep->drv.ring_bytes / 8) {
        ep->drv.ring_used = 0;
        if (ep->drv.rings > 1)
            dnet_rings_sample(ep, entry);
    }
    dnet_drv_publish(&ep->drv);
}

bool dnet_receive_round(dnet_ep_t *ep, unsigned most)
{
    unsigned budget = most;
    const dnet_lh_entry_t *entry;
    while (budget && (entry = dnet_drv_lh_next(&ep->drv))) {
        if (DNET_UNLIKELY(dnet_trace_on(DNET_TRACE_arrive)))
            trace_arrive(ep, entry);
        bool taken = DNET_LIKELY(!(entry->envelope & DNET_EP_HEADED))
                         ? receive_whole(ep, entry, 0, NULL)
                         : receive_headed(ep, entry);
        if (DNET_UNLIKELY(!taken)) {
            if (budget != most || ep->inbox.goes_on)
                break;
            continue; /* nothing has been done that the caller could look at */
        }
        if (DNET_UNLIKELY(dnet_drv_lh_release(&ep->drv, entry)))
            give_back(ep, entry);
        budget--;
    }
    if (budget == most)
        dnet_drv_lh_ask(&ep->drv);
    return budget != most;
}
