/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Topological orders of the channel dependency graph: vertices are channels, edges the allowed
 * turns.  A network can deadlock iff this graph has a cycle [TA §2.1].
 */
#ifndef DNET_SUBNET_ACYCLIC_H
#define DNET_SUBNET_ACYCLIC_H

#include "subnet/routing/turns.h"

/* The channels that one side of a search has come to.  Of each switch it knows the slots it has not
 * come to, so that it looks at a channel once and not at each turn into it. */
typedef struct dnet_front {
    int *list; /* channels */
    int n, at; /* how many; the first of those not gone on from */
    uint64_t *open;
    int *open_in; /* [switch]: the search that its slots in `open` are of */
} dnet_front_t;

/* An order that grows with its turn set (Pearce and Kelly's incremental topological sort). */
typedef struct dnet_order {
    dnet_turns_t *turns;        /* changed by dnet_order_allow; a pair is allowed or not at all */
    int *ord;                   /* [channel]: place in a valid topological order */
    int *at;                    /* [place]: the channel */
    dnet_front_t ahead, behind; /* of the search */
    size_t *open_at;            /* [n_switches + 1]: first word of a switch's slots in a front */
    int search;
    int *pool;              /* places to reuse */
    int words;              /* of `marks` */
    uint64_t *marks;        /* a bit for each place; all 0 between insertions */
    long searches, visited; /* work done, for reports */
} dnet_order_t;

/**
 * Start an order for an empty turn set.
 *
 * @param turns  all prohibited; must outlive the order, which changes it
 * @return DNET_OK, ERR_NO_MEMORY.  The first order is: channels towards higher levels by level,
 *         channels inside a level, channels towards lower levels by level, so that the trunk turns
 *         of a fat tree never need a search.
 */
dnet_status_t dnet_order_new(dnet_turns_t *turns, dnet_order_t **out);

/** Free the order; the turn set stays. */
void dnet_order_free(dnet_order_t *o);

/**
 * Go on with a turn set that has turns already.
 *
 * @return as dnet_order_new; ERR_STATE if the set has a cycle
 */
dnet_status_t dnet_order_resume(dnet_turns_t *turns, dnet_order_t **out);

/**
 * Allow the turn pair (i, j) of switch s in both directions unless that closes a cycle.
 *
 * Both directions are in the graph when the test is made: the published test inserts the reverse
 * turn afterwards, untested, and misses cycles that use both.
 *
 * @return true if the pair is now allowed
 */
bool dnet_order_allow(dnet_order_t *o, int s, int i, int j);

/**
 * Topological order of a whole turn set (Kahn's algorithm).
 *
 * @param ord  [channel], set; places of channels on or behind a cycle are meaningless
 * @return number of channels left over, 0 if the set is free of cycles; -1 without memory
 */
int dnet_turns_order(const dnet_turns_t *turns, int *ord);

#endif
