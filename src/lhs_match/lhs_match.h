/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI matching over LHS envelopes: receives that wait for a message (posted) and messages that wait
 * for a receive (unexpected).  Pure logic: no NIC, no allocation, no locks; items are embedded in
 * the caller's objects.
 *
 * An envelope is the 64-bit word at the start of an LH entry (data sheet 10.1): Context [63:48],
 * Rank [45:32], Tag [31:0]; bits 47 and 46 (Valid, Complete) are not part of the match.  A wanted
 * envelope has a mask: only bits set in the mask are compared.  Any-source clears the Rank bits,
 * any-tag clears Tag bits; Context is always compared, so a mask has all Context bits set.
 *
 * Rules (MPI 4.0 section 3.5): of the posted receives a message matches, the one posted first takes
 * it; of the unexpected messages a receive matches, the one that arrived first is taken.
 *
 *   posted[bin(context, rank, tag)]  receives of one source and tag, in posting order
 *   posted_any                       the others, in posting order; `order` merges the two
 *   unexpected[bin(...)]             messages, oldest first: for receives of one source and tag
 *   arrivals[bin(context)]           the same messages: for the others
 *
 * Threads: one caller at a time.
 */
#ifndef DNET_LHS_MATCH_H
#define DNET_LHS_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "dimmnet/format.h"

#define DNET_MATCH_BITS (~(DNET_MASK(LH_VALID) | DNET_MASK(LH_COMPLETE)))
#define DNET_MATCH_ANY_SOURCE (DNET_MATCH_BITS & ~DNET_MASK(LH_RANK))
#define DNET_MATCH_ANY_TAG (DNET_MATCH_BITS & ~DNET_MASK(LH_TAG))

/** A place in a ring of items; an empty ring is a head that points at itself. */
typedef struct dnet_match_link {
    struct dnet_match_link *next, *prev;
} dnet_match_link_t;

/** A posted receive or an unexpected message; embedded in the caller's object. */
typedef struct {
    dnet_match_link_t bin;     /* private: posted[], posted_any or unexpected[] */
    dnet_match_link_t arrival; /* private: arrivals[]; unused while posted */
    uint64_t envelope;         /* the message's, or the wanted one */
    uint64_t mask;             /* posted receives: bits to compare */
    uint64_t order;            /* number of the posting */
} dnet_match_item_t;

#define DNET_MATCH_BIN_BITS 6u
#define DNET_MATCH_BINS (1u << DNET_MATCH_BIN_BITS)
#define DNET_MATCH_CONTEXT_BIN_BITS 4u
#define DNET_MATCH_CONTEXT_BINS (1u << DNET_MATCH_CONTEXT_BIN_BITS)

/** Both queues of one process.  Must not be moved: its rings point into it. */
typedef struct {
    dnet_match_link_t posted[DNET_MATCH_BINS];           /* receives of one source and tag */
    dnet_match_link_t posted_any;                        /* all other receives */
    dnet_match_link_t unexpected[DNET_MATCH_BINS];       /* messages, by hash */
    dnet_match_link_t arrivals[DNET_MATCH_CONTEXT_BINS]; /* all messages, oldest first */
    uint64_t order;                                      /* number of postings so far */
    uint32_t posted_count;
    uint32_t unexpected_count;
} dnet_match_t;

/** Does a message fit what is wanted? */
static inline bool dnet_match_fits(uint64_t envelope, uint64_t wanted, uint64_t mask)
{
    return ((envelope ^ wanted) & mask & DNET_MATCH_BITS) == 0;
}

/** Make both queues empty; the first call, before any other. */
void dnet_match_init(dnet_match_t *m);

/**
 * A message has arrived: take the first posted receive it matches.
 *
 * @param envelope  the message's envelope word; bits 47 and 46 are ignored
 * @return the receive, removed from the posted queue; NULL: none matches
 */
dnet_match_item_t *dnet_match_arrive(dnet_match_t *m, uint64_t envelope);

/**
 * The same for a message that may not go to the receives posted last.
 *
 * @param before  number of a posting (`order` of an item): receives from this one on are passed
 * over
 */
dnet_match_item_t *dnet_match_arrive_before(dnet_match_t *m, uint64_t envelope, uint64_t before);

/** Keep an unexpected message; item->envelope is set by the caller, the memory stays the caller's.
 */
void dnet_match_keep(dnet_match_t *m, dnet_match_item_t *item);

/**
 * A receive is about to be posted: take the first unexpected message it matches.
 *
 * @param envelope  the wanted envelope
 * @param mask      bits to compare: DNET_MATCH_BITS, or with Rank or Tag bits cleared
 * @return the message, removed from the unexpected queue; NULL: none matches
 */
dnet_match_item_t *dnet_match_take(dnet_match_t *m, uint64_t envelope, uint64_t mask);

/** As dnet_match_take(), but the message stays where it is (probe). */
dnet_match_item_t *dnet_match_peek(dnet_match_t *m, uint64_t envelope, uint64_t mask);

/** Post a receive; item->envelope and item->mask are set by the caller, the memory stays the
 * caller's. */
void dnet_match_post(dnet_match_t *m, dnet_match_item_t *item);

/** Withdraw a posted receive (cancel).  The item must be in the posted queue. */
void dnet_match_withdraw(dnet_match_t *m, dnet_match_item_t *item);

/** Take out a message that is kept (its send is cancelled). */
void dnet_match_drop(dnet_match_t *m, dnet_match_item_t *item);

/** Call fn on every posted receive, then on every unexpected message, in bin order; for dumps. */
void dnet_match_walk(const dnet_match_t *m,
                     void (*fn)(void *arg, const dnet_match_item_t *item, bool posted), void *arg);

#endif
