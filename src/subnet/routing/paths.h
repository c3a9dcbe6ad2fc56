/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shortest allowed walks under a turn set, on channels: because the next allowed output depends on
 * the input, the state of a search is a channel, not a switch [TA §4.1.4].
 *
 * One search serves one destination switch and all sources.  Splitting traffic evenly over all
 * shortest walks is exact and the same for equivalent turns, so that ties stay ties.
 */
#ifndef DNET_SUBNET_PATHS_H
#define DNET_SUBNET_PATHS_H

#include "subnet/routing/turns.h"

#define DNET_PATHS_FAR UINT16_MAX

typedef struct dnet_paths {
    const dnet_turns_t *turns;
    int dest;
    /* [channel]: links from its tail to dest when starting with it; FAR = none */
    uint16_t *dist;
    double *count;   /* [channel]: number of shortest walks that start with it */
    int *order;      /* channels in ascending distance */
    int found;       /* entries of order */
    double *walks;   /* [switch]: walks of the level in hand; working space of the search */
    size_t *mask_at; /* [n_switches + 1]: first word of a switch's masks */
    uint64_t *mask;  /* incoming slots not yet passed; working space of the search */
    uint64_t *level; /* outgoing slots at the distance in hand; working space of spreading */
    double *flow;    /* [channel]: traffic of the last spreading */
} dnet_paths_t;

/** Working space for searches under `turns`, which must outlive it. */
dnet_status_t dnet_paths_new(const dnet_turns_t *turns, dnet_paths_t **out);

/** Free the working space; NULL is allowed. */
void dnet_paths_free(dnet_paths_t *p);

/** Distances and walk counts of all channels to switch `dest`. */
void dnet_paths_search(dnet_paths_t *p, int dest);

/** Distances alone: many times faster where turns are many.  No spreading after it. */
void dnet_paths_measure(dnet_paths_t *p, int dest);

/** Links from switch s to the destination of the last search; FAR if it cannot be reached. */
int dnet_paths_distance(const dnet_paths_t *p, int s);

/**
 * Spread the traffic of all sources to the last search's destination over all shortest walks.
 *
 * @param load       [channel], added to
 * @param w          weights of the turns used, added to; may be NULL
 * @param hops       traffic times links, added to; may be NULL
 * @param unreached  number of sources with traffic and no walk, added to
 */
void dnet_paths_spread(dnet_paths_t *p, const dnet_traffic_t *tr, double *load, dnet_weights_t *w,
                       double *hops, long *unreached);

/** Spread all traffic; load is zeroed first.  Progress appears on stderr when `verbose`. */
dnet_status_t dnet_paths_spread_all(const dnet_turns_t *turns, const dnet_traffic_t *tr,
                                    double *load, dnet_weights_t *w, double *hops, long *unreached);

/** One shortest allowed walk between two switches as channels; the number of them, or NONE. */
int dnet_paths_walk(const dnet_paths_t *p, int src, int *channels, int max);

/**
 * Pair routing with one walk per bundle of server pairs: each bundle takes the shortest allowed
 * walk with the smallest maximum link load, in a seeded random order of switch pairs, so that no
 * source is served first [TA §4.1.2; the source leaves the choice open].
 *
 * @param bundles  shares into which each switch pair's traffic is cut, at least 1
 */
dnet_status_t dnet_paths_greedy(const dnet_turns_t *turns, const dnet_traffic_t *tr, int bundles,
                                uint64_t seed, double *load, long *unreached);

#endif
