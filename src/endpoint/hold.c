/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A budget for messages that come before their receive (docs/protocol.md 6.1), at the receiver.
 *
 * When the store is over its budget, the sender whose message came last is held back: its NIC bit
 * in the hold table makes the NIC refuse its further messages.  They stay in the sender's memory.
 * MPI's promise that a matching send and receive complete is kept by exchanging envelopes:
 *
 *   - the sender offers each held message once, in order; a posted receive that fits takes it
 *   - for a receive posted later, every sender that keeps declined messages is asked (PULL), one
 * receive at a time in the order of posting
 *
 * While a sender has not answered for a receive, its fresh messages may not go to that receive: an
 * older one that was declined may fit as well.  So of all messages that fit, the oldest is taken.
 *
 * While the store has room, the held senders are granted equal shares of half of it, first held
 * first.  Each sends its oldest messages and says whether it has more; one that has none is held no
 * longer.
 */
#include "endpoint/defer_recv.h"

#include <stdlib.h>

#include "endpoint/channel.h"
#include "endpoint/rndv_recv.h"

#define PROBES_MAX 256u

static dnet_ep_request_t *request_of(dnet_match_link_t *link)
{
    return (dnet_ep_request_t *) (void *) ((char *) link - offsetof(dnet_match_item_t, arrival));
}

void dnet_hold_init(dnet_ep_t *ep)
{
    ep->defer.holds_tail = &ep->defer.holds;
    ep->defer.pulls.next = ep->defer.pulls.prev = &ep->defer.pulls;
}

/* ---- who is held ---- */

static dnet_hold_t *hold_find(const dnet_ep_t *ep, uint32_t rank)
{
    return ep->defer.hold_of ? ep->defer.hold_of[rank] : NULL;
}

static void list_remove(dnet_ep_t *ep, dnet_hold_t *h)
{
    dnet_hold_t **link = &ep->defer.holds;
    while (*link != h)
        link = &(*link)->next;
    *link = h->next;
    if (ep->defer.holds_tail == &h->next)
        ep->defer.holds_tail = link;
}

static void list_append(dnet_ep_t *ep, dnet_hold_t *h)
{
    h->next = NULL;
    *ep->defer.holds_tail = h;
    ep->defer.holds_tail = &h->next;
}

static dnet_hold_t *hold_get(dnet_ep_t *ep, uint32_t rank)
{
    dnet_hold_t *h = hold_find(ep, rank);
    if (h)
        return h;
    if (!ep->defer.hold_of)
        ep->defer.hold_of = calloc(ep->size, sizeof(*ep->defer.hold_of));
    h = ep->defer.hold_of ? calloc(1, sizeof(*h)) : NULL;
    if (!h) {
        dnet_error(
            "no memory to hold back rank %u, while %llu bytes of unexpected messages are kept",
            rank, (unsigned long long) ep->inbox.unexpected_bytes);
        abort(); /* it would wait for ever */
    }
    h->rank = rank;
    ep->defer.hold_of[rank] = h;
    list_append(ep, h);
    ep->defer.holds_count++;
    ep->counters.held_others++;
    return h;
}

static void hold_free(dnet_ep_t *ep, dnet_hold_t *h)
{
    list_remove(ep, h);
    ep->defer.holds_count--;
    ep->defer.granted_bytes -= h->granted;
    ep->defer.hold_of[h->rank] = NULL;
    free(h);
}

static bool in_table(const dnet_ep_t *ep, uint32_t rank)
{
    return dnet_drv_holds(&ep->drv, ep->peers[rank].target);
}

void dnet_hold_over_budget(dnet_ep_t *ep, uint64_t envelope)
{
    if (ep->defer.hold_all)
        return;
    uint32_t rank = ep->source_fn ? ep->source_fn(ep->source_arg, envelope) : DNET_EP_NO_RANK;
    ep->holding = true;
    /* Many senders with one message each, or senders whom nobody can name. */
    if (rank >= ep->size ||
        ep->inbox.unexpected_bytes - ep->inbox.budget > ep->options.ring_bytes) {
        ep->defer.hold_all = true;
        dnet_drv_hold_all(&ep->drv, true);
    } else if (!in_table(ep, rank)) {
        hold_get(ep, rank);
        dnet_drv_hold(&ep->drv, ep->peers[rank].target, true);
    }
}

/* ---- probes ---- */

static void probe_free(dnet_ep_t *ep, dnet_probe_t **link)
{
    dnet_probe_t *p = *link;
    *link = p->next;
    ep->defer.probes_count--;
    dnet_hold_unwant(ep, &p->req);
    free(p);
}

/* Forget answers about a message that its sender no longer keeps; op 0: about all of that rank. */
static void probes_forget(dnet_ep_t *ep, uint32_t rank, const uint32_t *op)
{
    dnet_probe_t **link = &ep->defer.probes;
    while (*link) {
        dnet_probe_t *p = *link;
        if (p->found && p->rank == rank && (!op || p->message.op == *op))
            probe_free(ep, link);
        else
            link = &p->next;
    }
}

static void probe_answer(dnet_probe_t *p, uint32_t rank, const dnet_ep_offer_t *offer)
{
    p->found = true;
    p->rank = rank;
    p->message = *offer;
}

static bool is_asked(const dnet_ep_t *ep, const dnet_ep_request_t *req)
{
    for (const dnet_hold_t *h = ep->defer.holds; h; h = h->next)
        if (h->asked == req)
            return true;
    return false;
}

/* An application that probes for ever new tags: the oldest answers go, but none that is under way.
 */
static bool probes_make_room(dnet_ep_t *ep)
{
    dnet_probe_t **oldest = NULL;
    if (ep->defer.probes_count < PROBES_MAX)
        return true;
    for (dnet_probe_t **link = &ep->defer.probes; *link; link = &(*link)->next)
        if (!is_asked(ep, &(*link)->req))
            oldest = link;
    if (oldest)
        probe_free(ep, oldest);
    return oldest != NULL;
}

/* Then what it was found to have may have been sent by now. */
static bool is_granted(const dnet_ep_t *ep, uint32_t rank)
{
    const dnet_hold_t *h = hold_find(ep, rank);
    return h && h->granted;
}

const dnet_probe_t *dnet_hold_probe(dnet_ep_t *ep, uint64_t envelope, uint64_t mask)
{
    dnet_probe_t *p;
    for (p = ep->defer.probes; p; p = p->next)
        if (p->req.match.envelope == envelope && p->req.match.mask == mask)
            return p->found && !is_granted(ep, p->rank) ? p : NULL;
    if (!probes_make_room(ep) || !(p = calloc(1, sizeof(*p))))
        return NULL; /* the caller probes again */
    p->req.match.envelope = envelope;
    p->req.match.mask = mask;
    p->req.match.order = ep->inbox.match.order;
    p->req.waits_in = DNET_WAITS_IN_PROBE;
    p->next = ep->defer.probes;
    ep->defer.probes = p;
    ep->defer.probes_count++;
    dnet_hold_want(ep, &p->req);
    return NULL;
}

bool dnet_hold_take(dnet_ep_t *ep, const dnet_probe_t *probe)
{
    uint32_t rank = probe->rank, op = probe->message.op;
    const dnet_hold_t *h = hold_find(ep, rank);
    if (!h || h->waiting || h->granted)
        return false; /* the answer, or what is granted, may be the same message */
    dnet_ep_head_t head = {.type = DNET_HEAD_TAKE, .rank = ep->rank, .op = op};
    dnet_send_control(ep, rank, &head, NULL, 0);
    probes_forget(ep, rank, &op);
    return true;
}

/* ---- asking ---- */

static bool could_match(const dnet_ep_t *ep, const dnet_hold_t *h, const dnet_ep_request_t *req)
{
    if (!ep->source_fn || (req->match.mask & DNET_MASK(LH_RANK)) != DNET_MASK(LH_RANK))
        return true;
    uint32_t rank = ep->source_fn(ep->source_arg, req->match.envelope);
    return rank == DNET_EP_NO_RANK || rank == h->rank;
}

static dnet_ep_request_t *wanted_after(const dnet_ep_t *ep, const dnet_ep_request_t *req)
{
    dnet_match_link_t *link = req->match.arrival.next;
    return link != &ep->defer.pulls ? request_of(link) : NULL;
}

static void ask_next(dnet_ep_t *ep, dnet_hold_t *h)
{
    while (h->at && !h->waiting && !h->granted) {
        dnet_ep_request_t *req = h->at;
        h->at = wanted_after(ep, req);
        if (!could_match(ep, h, req))
            continue;
        if (++ep->defer.pull_id == 0)
            ep->defer.pull_id = 1;
        h->waiting = true;
        h->asked = req;
        h->want_id = ep->defer.pull_id;
        dnet_ep_head_t head = {
            .type = DNET_HEAD_PULL,
            .id = h->want_id,
            .rank = ep->rank,
            .op = (uint32_t) req->match.mask,
            .arg = (uint32_t) (req->match.mask >> 32),
            .length = req->match.envelope,
        };
        ep->counters.pulls++;
        dnet_send_control(ep, h->rank, &head, NULL, 0);
    }
}

void dnet_hold_want(dnet_ep_t *ep, dnet_ep_request_t *req)
{
    dnet_match_link_t *link = &req->match.arrival;
    link->next = &ep->defer.pulls;
    link->prev = ep->defer.pulls.prev;
    link->prev->next = link;
    ep->defer.pulls.prev = link;
    if (req->waits_in == DNET_WAITS_IN_POSTED)
        req->waits_in = DNET_WAITS_IN_PULLS;
    for (dnet_hold_t *h = ep->defer.holds; h; h = h->next)
        if (h->declined && !h->at) {
            h->at = req;
            ask_next(ep, h);
        }
}

void dnet_hold_unwant(dnet_ep_t *ep, dnet_ep_request_t *req)
{
    for (dnet_hold_t *h = ep->defer.holds; h; h = h->next) {
        if (h->at == req)
            h->at = wanted_after(ep, req);
        if (h->asked == req)
            h->asked = NULL;
    }
    req->match.arrival.prev->next = req->match.arrival.next;
    req->match.arrival.next->prev = req->match.arrival.prev;
}

/* ---- letting go ---- */

/* Tell a sender; what was asked of it does not matter any more, for all it has will come. */
static void hold_open(dnet_ep_t *ep, dnet_hold_t *h)
{
    dnet_drv_hold(&ep->drv, ep->peers[h->rank].target, false);
    probes_forget(ep, h->rank, NULL);
    h->openings++;
    h->declined = h->waiting = false;
    h->asked = h->at = NULL;
    dnet_ep_head_t head = {.type = DNET_HEAD_RELEASE, .rank = ep->rank};
    dnet_send_control(ep, h->rank, &head, NULL, 0);
}

void dnet_hold_noted(dnet_ep_t *ep, uint32_t rank)
{
    if (in_table(ep, rank))
        hold_get(ep, rank);
    else if (!hold_find(ep, rank))
        /* let go before its note was read, or its OFFER came */
        hold_open(ep, hold_get(ep, rank));
}

/* ---- answers ---- */

/* Receives from this number on have not been answered for. */
static uint64_t answered_before(const dnet_hold_t *h)
{
    if (h->waiting && h->asked)
        return h->asked->match.order;
    return h->at ? h->at->match.order : UINT64_MAX;
}

/* A message offered for the first time.  @return the receive that takes it */
static dnet_ep_request_t *match_fresh(dnet_ep_t *ep, dnet_hold_t *h, const dnet_ep_offer_t *offer)
{
    uint64_t before = answered_before(h);
    dnet_match_item_t *item = dnet_match_arrive_before(&ep->inbox.match, offer->envelope, before);
    if (item)
        return (dnet_ep_request_t *) item;
    h->declined = true;
    for (dnet_probe_t *p = ep->defer.probes; p; p = p->next)
        if (!p->found && p->req.match.order < before &&
            dnet_match_fits(offer->envelope, p->req.match.envelope, p->req.match.mask))
            probe_answer(p, h->rank, offer);
    return NULL;
}

/* The message that was asked for.  @return the receive it was asked for, if that is still open */
static dnet_ep_request_t *match_asked(dnet_ep_t *ep, dnet_hold_t *h, const dnet_ep_offer_t *offer)
{
    dnet_ep_request_t *req = h->asked;
    if (!req)
        return NULL;
    if (req->waits_in == DNET_WAITS_IN_PROBE) {
        probe_answer((dnet_probe_t *) req, h->rank, offer);
        return NULL;
    }
    dnet_match_withdraw(&ep->inbox.match, &req->match);
    return req;
}

static void answered(dnet_ep_t *ep, dnet_hold_t *h)
{
    h->waiting = false;
    h->asked = NULL;
    ask_next(ep, h);
}

void dnet_hold_offered(dnet_ep_t *ep, const dnet_ep_head_t *head, const dnet_ep_offer_t *offers)
{
    dnet_hold_noted(ep, head->rank); /* the NIC's note may be lost */
    /* A sender that has not yet heard that it is held no longer gets nothing taken: it will send.
     */
    dnet_hold_t *h = in_table(ep, head->rank) ? hold_find(ep, head->rank) : NULL;
    bool asked = head->id != 0;
    bool valid = h && h->openings == 0 && (!asked || (h->waiting && h->want_id == head->id));
    dnet_ep_request_t *taken[DNET_OFFERS_MAX] = {NULL};
    dnet_ep_head_t verdict = {.type = DNET_HEAD_VERDICT, .id = head->id, .rank = ep->rank};
    for (uint32_t i = 0; valid && i < head->arg; i++) {
        taken[i] = asked ? match_asked(ep, h, &offers[i]) : match_fresh(ep, h, &offers[i]);
        if (taken[i]) {
            verdict.op |= 1u << i;
            probes_forget(ep, head->rank, &offers[i].op);
        }
    }
    dnet_send_control(ep, head->rank, &verdict, NULL, 0);
    if (valid && asked)
        answered(ep, h);
    const dnet_ep_layout_t nowhere = {.kind = DNET_LAYOUT_NONE};
    for (uint32_t i = 0; i < head->arg && i < DNET_OFFERS_MAX; i++) {
        dnet_ep_head_t rts = {.rank = head->rank,
                              .op = offers[i].op,
                              .arg = offers[i].arg,
                              .length = offers[i].length};
        if (!taken[i])
            continue;
        dnet_request_result(ep, taken[i], offers[i].envelope, offers[i].length);
        dnet_rndv_recv_message(ep, &rts, &nowhere, taken[i]);
    }
}

/* ---- grants ---- */

static void grant(dnet_ep_t *ep, dnet_hold_t *h, uint64_t bytes)
{
    h->granted = bytes;
    ep->defer.granted_bytes += bytes;
    dnet_ep_head_t head = {.type = DNET_HEAD_GRANT, .rank = ep->rank, .length = bytes};
    dnet_send_control(ep, h->rank, &head, NULL, 0);
}

static void grant_done(dnet_ep_t *ep, dnet_hold_t *h, bool more)
{
    ep->defer.granted_bytes -= h->granted;
    h->granted = 0;
    probes_forget(ep, h->rank, NULL);
    list_remove(ep, h);
    list_append(ep, h);
    if (more)
        ask_next(ep, h);
    else if (in_table(ep, h->rank))
        hold_open(ep, h);
}

void dnet_hold_answered(dnet_ep_t *ep, const dnet_ep_head_t *head)
{
    dnet_hold_t *h = hold_find(ep, head->rank);
    if (!h)
        return;
    if (head->type == DNET_HEAD_PULL_NONE && h->waiting && h->want_id == head->id)
        answered(ep, h);
    if (head->type == DNET_HEAD_DONE && h->granted)
        grant_done(ep, h, head->arg);
    if (head->type == DNET_HEAD_RELEASE_ACK && h->openings && --h->openings == 0 &&
        !in_table(ep, h->rank))
        hold_free(ep, h);
}

/* From holding everybody to holding those that have something. */
static void hold_those_noted(dnet_ep_t *ep)
{
    ep->defer.hold_all = false;
    dnet_drv_hold_all(&ep->drv, false);
    for (dnet_hold_t *h = ep->defer.holds; h; h = h->next)
        dnet_drv_hold(&ep->drv, ep->peers[h->rank].target, true);
}

bool dnet_hold_round(dnet_ep_t *ep)
{
    if (ep->inbox.unexpected_bytes > ep->inbox.budget)
        return false;
    if (ep->defer.hold_all && ep->inbox.unexpected_bytes <= ep->inbox.budget / 2)
        hold_those_noted(ep);
    uint64_t share = ep->defer.holds_count ? ep->inbox.budget / 2 / ep->defer.holds_count : 0;
    bool did = false;
    for (dnet_hold_t *h = ep->defer.holds; h; h = h->next) {
        if (!in_table(ep, h->rank) || h->openings || h->waiting || h->granted)
            continue;
        if (ep->inbox.unexpected_bytes + ep->defer.granted_bytes + share > ep->inbox.budget)
            break;
        grant(ep, h, share ? share : 1);
        did = true;
    }
    if (!ep->defer.holds && !ep->defer.hold_all) {
        dnet_drv_hold_all(&ep->drv, false);
        ep->holding = false;
    }
    return did;
}

void dnet_hold_fini(dnet_ep_t *ep)
{
    while (ep->defer.probes)
        probe_free(ep, &ep->defer.probes);
    while (ep->defer.holds)
        hold_free(ep, ep->defer.holds);
    free(ep->defer.hold_of);
}
