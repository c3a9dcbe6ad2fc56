/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Posted and unexpected queues over LHS envelopes (data sheet 10; MPI 4.0 section 3.5).
 *
 * A lookup for one source and tag walks one bin.  A message also looks at the receives of any
 * source or tag, but only as far as they were posted before the receive its bin offers.  A receive
 * of any source or tag walks the arrivals of its context and stops at the first that fits: the list
 * is in order of arrival, so that one is the earliest of all.
 */
#include "lhs_match/lhs_match.h"

#include <stddef.h>

static inline dnet_match_item_t *item_of_bin(dnet_match_link_t *link)
{
    return (dnet_match_item_t *) (void *) ((char *) link - offsetof(dnet_match_item_t, bin));
}

static inline dnet_match_item_t *item_of_arrival(dnet_match_link_t *link)
{
    return (dnet_match_item_t *) (void *) ((char *) link - offsetof(dnet_match_item_t, arrival));
}

/* 2^64 / golden ratio: the upper bits of the product differ for neighbouring ranks and contexts. */
static inline unsigned hash(uint64_t key, unsigned bits)
{
    return (unsigned) ((key * 0x9e3779b97f4a7c15ull) >> (64 - bits));
}

/* What bins are told apart by: all of an envelope but the tag's upper bits, which callers may leave
 * out of every mask. */
#define BIN_TAG_BITS 0xfffffull
#define BIN_KEY (DNET_MASK(LH_CONTEXT) | DNET_MASK(LH_RANK) | DNET_PUT(BIN_TAG_BITS, LH_TAG))

static inline unsigned bin_of(uint64_t envelope)
{
    return hash(envelope & BIN_KEY, DNET_MATCH_BIN_BITS);
}

static inline unsigned context_bin_of(uint64_t envelope)
{
    return hash(DNET_GET(envelope, LH_CONTEXT), DNET_MATCH_CONTEXT_BIN_BITS);
}

static inline bool has_bin(uint64_t mask)
{
    return (mask & BIN_KEY) == BIN_KEY;
}

static inline void ring_init(dnet_match_link_t *head)
{
    head->next = head;
    head->prev = head;
}

static inline void ring_append(dnet_match_link_t *head, dnet_match_link_t *link)
{
    link->next = head;
    link->prev = head->prev;
    head->prev->next = link;
    head->prev = link;
}

static inline void ring_remove(dnet_match_link_t *link)
{
    link->prev->next = link->next;
    link->next->prev = link->prev;
}

void dnet_match_init(dnet_match_t *m)
{
    for (unsigned i = 0; i < DNET_MATCH_BINS; i++) {
        ring_init(&m->posted[i]);
        ring_init(&m->unexpected[i]);
    }
    for (unsigned i = 0; i < DNET_MATCH_CONTEXT_BINS; i++)
        ring_init(&m->arrivals[i]);
    ring_init(&m->posted_any);
    m->order = 0;
    m->posted_count = 0;
    m->unexpected_count = 0;
}

/* The first receive of a ring that the message fits and that was posted before number `before`. */
static inline dnet_match_item_t *first_posted(dnet_match_link_t *head, uint64_t envelope,
                                              uint64_t before)
{
    for (dnet_match_link_t *link = head->next; link != head; link = link->next) {
        dnet_match_item_t *item = item_of_bin(link);
        if (item->order >= before)
            return NULL;
        if (dnet_match_fits(envelope, item->envelope, item->mask))
            return item;
    }
    return NULL;
}

static inline void withdraw(dnet_match_t *m, dnet_match_item_t *item)
{
    ring_remove(&item->bin);
    m->posted_count--;
}

static inline dnet_match_item_t *arrive(dnet_match_t *m, uint64_t envelope, uint64_t before)
{
    dnet_match_item_t *item = first_posted(&m->posted[bin_of(envelope)], envelope, before);
    dnet_match_item_t *any =
        first_posted(&m->posted_any, envelope, item != NULL ? item->order : before);
    if (any != NULL)
        item = any;
    if (item != NULL)
        withdraw(m, item);
    return item;
}

dnet_match_item_t *dnet_match_arrive(dnet_match_t *m, uint64_t envelope)
{
    return arrive(m, envelope, UINT64_MAX);
}

dnet_match_item_t *dnet_match_arrive_before(dnet_match_t *m, uint64_t envelope, uint64_t before)
{
    return arrive(m, envelope, before);
}

void dnet_match_keep(dnet_match_t *m, dnet_match_item_t *item)
{
    ring_append(&m->unexpected[bin_of(item->envelope)], &item->bin);
    ring_append(&m->arrivals[context_bin_of(item->envelope)], &item->arrival);
    m->unexpected_count++;
}

dnet_match_item_t *dnet_match_peek(dnet_match_t *m, uint64_t envelope, uint64_t mask)
{
    if (m->unexpected_count == 0)
        return NULL;
    if (has_bin(mask)) {
        dnet_match_link_t *head = &m->unexpected[bin_of(envelope)];
        for (dnet_match_link_t *link = head->next; link != head; link = link->next)
            if (dnet_match_fits(item_of_bin(link)->envelope, envelope, mask))
                return item_of_bin(link);
    } else {
        dnet_match_link_t *head = &m->arrivals[context_bin_of(envelope)];
        for (dnet_match_link_t *link = head->next; link != head; link = link->next)
            if (dnet_match_fits(item_of_arrival(link)->envelope, envelope, mask))
                return item_of_arrival(link);
    }
    return NULL;
}

static inline void drop(dnet_match_t *m, dnet_match_item_t *item)
{
    ring_remove(&item->bin);
    ring_remove(&item->arrival);
    m->unexpected_count--;
}

void dnet_match_drop(dnet_match_t *m, dnet_match_item_t *item)
{
    drop(m, item);
}

dnet_match_item_t *dnet_match_take(dnet_match_t *m, uint64_t envelope, uint64_t mask)
{
    dnet_match_item_t *item = dnet_match_peek(m, envelope, mask);
    if (item != NULL)
        drop(m, item);
    return item;
}

void dnet_match_post(dnet_match_t *m, dnet_match_item_t *item)
{
    item->order = m->order++;
    ring_append(has_bin(item->mask) ? &m->posted[bin_of(item->envelope)] : &m->posted_any,
                &item->bin);
    m->posted_count++;
}

void dnet_match_withdraw(dnet_match_t *m, dnet_match_item_t *item)
{
    withdraw(m, item);
}

static void walk_ring(const dnet_match_link_t *head,
                      void (*fn)(void *arg, const dnet_match_item_t *item, bool posted),
                      bool posted, void *arg)
{
    for (dnet_match_link_t *link = head->next; link != head; link = link->next)
        fn(arg, item_of_bin(link), posted);
}

void dnet_match_walk(const dnet_match_t *m,
                     void (*fn)(void *arg, const dnet_match_item_t *item, bool posted), void *arg)
{
    for (unsigned i = 0; i < DNET_MATCH_BINS; i++)
        walk_ring(&m->posted[i], fn, true, arg);
    walk_ring(&m->posted_any, fn, true, arg);
    for (unsigned i = 0; i < DNET_MATCH_BINS; i++)
        walk_ring(&m->unexpected[i], fn, false, arg);
}
