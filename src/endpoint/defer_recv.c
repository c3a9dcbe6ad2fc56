/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A budget for messages that come before their receive (docs/protocol.md 6.1), at the receiver:
 * tells the state machine of src/deferral what has happened, and carries out what it says.
 *
 * When the store is over its budget, the sender whose message came last is held back: its bit in
 * the hold table makes the NIC refuse its further messages.  They stay in the sender's memory, and
 * are matched by the envelopes that it offers.
 *
 * While the store has room, the held senders are granted equal shares of half of it, first held
 * first.  Each sends its oldest messages and says whether it has more; one that has none is
 * released.
 */
#include "endpoint/defer_recv.h"

#include <stdlib.h>
#include <string.h>

#include "endpoint/channel.h"
#include "endpoint/guests.h"
#include "endpoint/rndv_recv.h"

#define PROBES_MAX 256u

/* Can that process have a message for this receive? */
static bool may_have(void *arg, uint32_t rank, const dnet_match_item_t *receive)
{
    const dnet_ep_t *ep = arg;
    if (!ep->source_fn || (receive->mask & DNET_MASK(LH_RANK)) != DNET_MASK(LH_RANK))
        return true;
    uint32_t source = ep->source_fn(ep->source_arg, receive->envelope);
    return source == DNET_EP_NO_RANK || source == rank;
}

void dnet_defer_init(dnet_ep_t *ep)
{
    ep->defer.senders_tail = &ep->defer.senders;
    dnet_defer_wanted_init(&ep->defer.wanted, may_have, ep);
}

/* ---- who is held ---- */

static dnet_deferred_t *record_find(const dnet_ep_t *ep, uint32_t rank)
{
    return rank < ep->defer.sender_room ? ep->defer.sender_of[rank] : NULL;
}

static void list_remove(dnet_ep_t *ep, dnet_deferred_t *h)
{
    dnet_deferred_t **link = &ep->defer.senders;
    while (*link != h)
        link = &(*link)->next;
    *link = h->next;
    if (ep->defer.senders_tail == &h->next)
        ep->defer.senders_tail = link;
}

static void list_append(dnet_ep_t *ep, dnet_deferred_t *h)
{
    h->next = NULL;
    *ep->defer.senders_tail = h;
    ep->defer.senders_tail = &h->next;
}

/* Room for a record of each peer. */
static bool have_senders(dnet_ep_t *ep)
{
    uint32_t room = dnet_peers_end(ep);
    if (ep->defer.sender_room >= room)
        return true;
    dnet_deferred_t **all = realloc(ep->defer.sender_of, room * sizeof(*all));
    if (!all)
        return false;
    memset(all + ep->defer.sender_room, 0, (room - ep->defer.sender_room) * sizeof(*all));
    ep->defer.sender_of = all;
    ep->defer.sender_room = room;
    return true;
}

static dnet_deferred_t *record_get(dnet_ep_t *ep, uint32_t rank)
{
    dnet_deferred_t *h = record_find(ep, rank);
    if (h)
        return h;
    h = have_senders(ep) ? calloc(1, sizeof(*h)) : NULL;
    if (!h) {
        dnet_error(
            "no memory to hold back rank %u, while %llu bytes of unexpected messages are kept",
            rank, (unsigned long long) ep->page.unexpected_bytes);
        abort(); /* it would wait for ever */
    }
    h->rx.rank = rank;
    ep->defer.sender_of[rank] = h;
    list_append(ep, h);
    ep->defer.senders_count++;
    ep->page.counters.held_others++;
    return h;
}

static void record_free(dnet_ep_t *ep, dnet_deferred_t *h)
{
    list_remove(ep, h);
    ep->defer.senders_count--;
    ep->defer.sender_of[h->rx.rank] = NULL;
    free(h);
}

static bool in_table(const dnet_ep_t *ep, uint32_t rank)
{
    return dnet_drv_holds(&ep->drv, ep->peers[rank].target);
}

/* ---- probes ---- */

static void probe_free(dnet_ep_t *ep, dnet_probe_t **link)
{
    dnet_probe_t *p = *link;
    *link = p->next;
    ep->defer.probes_count--;
    dnet_defer_unwant(ep, &p->req);
    free(p);
}

/* Forget answers about a message that its sender no longer keeps; op NULL: about all of that rank.
 */
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

void dnet_defer_gone(dnet_ep_t *ep, uint32_t rank, uint32_t op)
{
    probes_forget(ep, rank, &op);
}

/* Can one message fit both? */
static bool overlap(const dnet_match_item_t *a, const dnet_match_item_t *b)
{
    return dnet_match_fits(a->envelope, b->envelope, a->mask & b->mask);
}

/* This receive, just posted, gets the oldest message that fits both: a probe that was asked for
 * earlier may name that one, and is asked for again behind the receive. */
static void probes_outdated(dnet_ep_t *ep, const dnet_ep_request_t *receive)
{
    dnet_probe_t **link = &ep->defer.probes;
    while (*link) {
        if (overlap(&(*link)->req.match, &receive->match))
            probe_free(ep, link);
        else
            link = &(*link)->next;
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
    for (const dnet_deferred_t *h = ep->defer.senders; h; h = h->next)
        if (h->rx.asked == &req->match)
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
    const dnet_deferred_t *h = record_find(ep, rank);
    return h && h->rx.state == DNET_DEFER_RX_GRANTED;
}

const dnet_probe_t *dnet_defer_probe(dnet_ep_t *ep, uint64_t envelope, uint64_t mask)
{
    dnet_probe_t *p;
    for (p = ep->defer.probes; p; p = p->next)
        if (p->req.match.envelope == envelope && p->req.match.mask == mask)
            return p->found && !is_granted(ep, p->rank) ? p : NULL;
    if (!probes_make_room(ep) || !(p = calloc(1, sizeof(*p))))
        return NULL; /* the caller probes again */
    p->req.match.envelope = envelope;
    p->req.match.mask = mask;
    p->req.match.order = ep->inbox.match.order++; /* no receive has the same place */
    p->req.waits_in = DNET_WAITS_IN_PROBE;
    p->next = ep->defer.probes;
    ep->defer.probes = p;
    ep->defer.probes_count++;
    dnet_defer_want(ep, &p->req);
    return NULL;
}

bool dnet_defer_take(dnet_ep_t *ep, const dnet_probe_t *probe)
{
    uint32_t rank = probe->rank, op = probe->message.op;
    const dnet_deferred_t *h = record_find(ep, rank);
    if (!h || h->rx.state != DNET_DEFER_RX_HELD)
        return false; /* the answer to a PULL, or what is granted, may be the same message */
    dnet_ep_head_t head = {.type = DNET_HEAD_TAKE, .rank = ep->rank, .op = op};
    dnet_send_control(ep, rank, &head, NULL, 0);
    probes_forget(ep, rank, &op);
    return true;
}

/* ---- actions ---- */

static void say(dnet_ep_t *ep, uint32_t rank, dnet_ep_head_t head)
{
    head.rank = ep->rank;
    dnet_send_control(ep, rank, &head, NULL, 0);
}

static void release(dnet_ep_t *ep, dnet_deferred_t *h)
{
    dnet_drv_hold(&ep->drv, ep->peers[h->rx.rank].target, false);
    probes_forget(ep, h->rx.rank, NULL);
    say(ep, h->rx.rank, (dnet_ep_head_t){.type = DNET_HEAD_RELEASE});
}

static void pull(dnet_ep_t *ep, const dnet_deferred_t *h)
{
    const dnet_match_item_t *receive = h->rx.asked;
    ep->page.counters.pulls++;
    say(ep, h->rx.rank,
        (dnet_ep_head_t){
            .type = DNET_HEAD_PULL,
            .id = h->rx.pull_id,
            .op = (uint32_t) receive->mask,
            .arg = (uint32_t) (receive->mask >> 32),
            .length = receive->envelope,
        });
}

static void grant(dnet_ep_t *ep, const dnet_deferred_t *h)
{
    ep->defer.granted_bytes += h->rx.granted_bytes;
    say(ep, h->rx.rank, (dnet_ep_head_t){.type = DNET_HEAD_GRANT, .length = h->rx.granted_bytes});
}

/* Something has happened; the record may be gone afterwards.
 * @return the actions MATCH and VERDICT, for the caller */
static unsigned happened(dnet_ep_t *ep, dnet_deferred_t *h, dnet_defer_rx_event_t event,
                         dnet_defer_rx_facts_t facts)
{
    facts.in_table = in_table(ep, h->rx.rank);
    unsigned actions = dnet_defer_rx_event(&h->rx, &ep->defer.wanted, event, &facts);
    if (actions & DNET_DEFER_RX_DO_RELEASE)
        release(ep, h);
    if (actions & DNET_DEFER_RX_DO_PULL)
        pull(ep, h);
    if (actions & DNET_DEFER_RX_DO_GRANT)
        grant(ep, h);
    if (actions & DNET_DEFER_RX_DO_FORGET)
        record_free(ep, h);
    return actions & (DNET_DEFER_RX_DO_MATCH | DNET_DEFER_RX_DO_VERDICT);
}

/* ---- what happens here ---- */

void dnet_defer_full(dnet_ep_t *ep, uint64_t envelope)
{
    if (ep->defer.hold_all)
        return;
    uint32_t rank = ep->source_fn ? ep->source_fn(ep->source_arg, envelope) : DNET_EP_NO_RANK;
    ep->holding = true;
    /* Many senders with one message each, or senders that have no name here. */
    if (rank == DNET_EP_NO_RANK ||
        ep->page.unexpected_bytes - ep->inbox.budget > ep->options.ring_bytes) {
        ep->defer.hold_all = true;
        dnet_drv_hold_all(&ep->drv, true);
    } else if (!in_table(ep, rank)) {
        dnet_drv_hold(&ep->drv, ep->peers[rank].target, true);
        happened(ep, record_get(ep, rank), DNET_DEFER_RX_ON_FULL, (dnet_defer_rx_facts_t){0});
    }
}

void dnet_defer_noted(dnet_ep_t *ep, uint32_t rank)
{
    happened(ep, record_get(ep, rank), DNET_DEFER_RX_ON_NOTED, (dnet_defer_rx_facts_t){0});
}

void dnet_defer_want(dnet_ep_t *ep, dnet_ep_request_t *req)
{
    dnet_defer_wanted_add(&ep->defer.wanted, &req->match);
    if (req->waits_in == DNET_WAITS_IN_POSTED) {
        req->waits_in = DNET_WAITS_IN_PULLS;
        probes_outdated(ep, req);
    }
    for (dnet_deferred_t *h = ep->defer.senders; h; h = h->next)
        happened(ep, h, DNET_DEFER_RX_ON_POSTED, (dnet_defer_rx_facts_t){.receive = &req->match});
}

void dnet_defer_unwant(dnet_ep_t *ep, dnet_ep_request_t *req)
{
    for (dnet_deferred_t *h = ep->defer.senders; h; h = h->next)
        dnet_defer_rx_unwant(&h->rx, &ep->defer.wanted, &req->match);
    dnet_defer_wanted_remove(&req->match);
}

/* ---- what the sender says ---- */

/* A message offered for the first time.  @return the receive that takes it */
static dnet_ep_request_t *match_fresh(dnet_ep_t *ep, dnet_deferred_t *h,
                                      const dnet_ep_offer_t *offer)
{
    uint64_t before = dnet_defer_rx_before(&h->rx);
    dnet_match_item_t *item = dnet_match_arrive_before(&ep->inbox.match, offer->envelope, before);
    if (item)
        return (dnet_ep_request_t *) item;
    dnet_defer_rx_decline(&h->rx);
    for (dnet_probe_t *p = ep->defer.probes; p; p = p->next)
        if (!p->found && p->req.match.order < before &&
            dnet_match_fits(offer->envelope, p->req.match.envelope, p->req.match.mask))
            probe_answer(p, h->rx.rank, offer);
    return NULL;
}

/* The message that was pulled.  @return the receive it was pulled for, if that is still open */
static dnet_ep_request_t *match_pulled(dnet_ep_t *ep, dnet_deferred_t *h,
                                       const dnet_ep_offer_t *offer)
{
    dnet_ep_request_t *req = (dnet_ep_request_t *) h->rx.asked;
    if (!req)
        return NULL;
    if (req->waits_in == DNET_WAITS_IN_PROBE) {
        probe_answer((dnet_probe_t *) req, h->rx.rank, offer);
        return NULL;
    }
    dnet_match_withdraw(&ep->inbox.match, &req->match);
    return req;
}

/* Match what is offered.  @param taken_p  by entry: the receive that takes it  @return bits of
 * those */
static uint32_t match_offers(dnet_ep_t *ep, dnet_deferred_t *h, const dnet_ep_head_t *head,
                             const dnet_ep_offer_t *offers, dnet_ep_request_t **taken_p)
{
    uint32_t count = head->id ? 1 : head->arg; /* a PULL asks for one */
    uint32_t bits = 0;
    for (uint32_t i = 0; i < count && i < head->arg; i++) {
        taken_p[i] = head->id ? match_pulled(ep, h, &offers[i]) : match_fresh(ep, h, &offers[i]);
        if (!taken_p[i])
            continue;
        bits |= 1u << i;
        probes_forget(ep, head->rank, &offers[i].op);
    }
    return bits;
}

void dnet_defer_offered(dnet_ep_t *ep, const dnet_ep_head_t *head, const dnet_ep_offer_t *offers)
{
    dnet_deferred_t *h = record_get(ep, head->rank); /* the NIC's note may be lost */
    dnet_ep_request_t *taken[DNET_OFFERS_MAX] = {NULL};
    dnet_ep_head_t verdict = {.type = DNET_HEAD_VERDICT, .id = head->id};
    unsigned actions =
        happened(ep, h, head->id ? DNET_DEFER_RX_ON_OFFER_PULL : DNET_DEFER_RX_ON_OFFER,
                 (dnet_defer_rx_facts_t){.id = head->id});
    if (actions & DNET_DEFER_RX_DO_MATCH)
        verdict.op = match_offers(ep, h, head, offers, taken);
    if (actions & DNET_DEFER_RX_DO_VERDICT)
        say(ep, head->rank, verdict);
    if (head->id && (actions & DNET_DEFER_RX_DO_MATCH))
        happened(ep, h, DNET_DEFER_RX_ON_ANSWERED, (dnet_defer_rx_facts_t){0});
    const dnet_ep_origin_t nowhere = {.is_lent = false};
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

/* The grant has been used: the sender's next one comes after those of the others. */
static void grant_done(dnet_ep_t *ep, dnet_deferred_t *h, bool more)
{
    ep->defer.granted_bytes -= h->rx.granted_bytes;
    probes_forget(ep, h->rx.rank, NULL);
    list_remove(ep, h);
    list_append(ep, h);
    happened(ep, h, DNET_DEFER_RX_ON_DONE, (dnet_defer_rx_facts_t){.more = more});
}

void dnet_defer_answered(dnet_ep_t *ep, const dnet_ep_head_t *head)
{
    dnet_deferred_t *h = record_find(ep, head->rank);
    if (!h)
        return;
    if (head->type == DNET_HEAD_PULL_NONE)
        happened(ep, h, DNET_DEFER_RX_ON_PULL_NONE, (dnet_defer_rx_facts_t){.id = head->id});
    else if (head->type == DNET_HEAD_RELEASE_ACK)
        happened(ep, h, DNET_DEFER_RX_ON_RELEASE_ACK, (dnet_defer_rx_facts_t){0});
    else if (head->type == DNET_HEAD_DONE && h->rx.state == DNET_DEFER_RX_GRANTED)
        grant_done(ep, h, head->arg);
}

void dnet_defer_sender_gone(dnet_ep_t *ep, uint32_t rank)
{
    dnet_deferred_t *h = record_find(ep, rank);
    if (!h)
        return;
    dnet_drv_hold(&ep->drv, ep->peers[rank].target, false);
    ep->defer.granted_bytes -= h->rx.granted_bytes; /* 0, where nothing is granted */
    probes_forget(ep, rank, NULL);
    record_free(ep, h);
}

/* ---- room ---- */

/* From holding all senders to holding those that have something. */
static void hold_those_noted(dnet_ep_t *ep)
{
    ep->defer.hold_all = false;
    dnet_drv_hold_all(&ep->drv, false);
    for (dnet_deferred_t *h = ep->defer.senders; h; h = h->next)
        dnet_drv_hold(&ep->drv, ep->peers[h->rx.rank].target, true);
}

bool dnet_defer_round(dnet_ep_t *ep)
{
    if (ep->page.unexpected_bytes > ep->inbox.budget)
        return false;
    if (ep->defer.hold_all && ep->page.unexpected_bytes <= ep->inbox.budget / 2)
        hold_those_noted(ep);
    uint64_t share = ep->defer.senders_count ? ep->inbox.budget / 2 / ep->defer.senders_count : 0;
    bool did = false;
    for (dnet_deferred_t *h = ep->defer.senders; h; h = h->next) {
        /* What a process has left may not be there to be mapped for a word to it. */
        if (h->rx.state != DNET_DEFER_RX_HELD || dnet_guest_has_left(ep, h->rx.rank))
            continue;
        if (ep->page.unexpected_bytes + ep->defer.granted_bytes + share > ep->inbox.budget)
            break;
        happened(ep, h, DNET_DEFER_RX_ON_ROOM, (dnet_defer_rx_facts_t){.bytes = share ? share : 1});
        did = true;
    }
    if (!ep->defer.senders && !ep->defer.hold_all) {
        dnet_drv_hold_all(&ep->drv, false);
        ep->holding = false;
    }
    return did;
}

void dnet_defer_fini(dnet_ep_t *ep)
{
    while (ep->defer.probes)
        probe_free(ep, &ep->defer.probes);
    while (ep->defer.senders)
        record_free(ep, ep->defer.senders);
    free(ep->defer.sender_of);
}
