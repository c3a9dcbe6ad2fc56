/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Simulation of networks with two rails (TSUBAME2.0): how flows share links under given forwarding
 * tables, what the slowest of many simultaneous pairs gets, and how rails with different engines
 * compare with alike ones [MR §2, §3.6, §4].
 */
#ifndef DNET_SUBNET_RAILS_H
#define DNET_SUBNET_RAILS_H

#include "subnet/base/rng.h"
#include "subnet/routing/routing.h"

#define DNET_RAILS_GBYTES 3.9 /* C, GB/s per rail and direction: what the measured levels fit */

/* How a message of a pair is spread over both rails. */
typedef enum {
    DNET_STRIPE_AVERAGED, /* 4 C / (j1 + j2): fits the measured levels */
    DNET_STRIPE_SPLIT,    /* equal halves, wait for both: 2 min(b1, b2) */
    DNET_STRIPE_ADAPTIVE, /* b1 + b2 */
} dnet_stripe_t;

/* One rail: a network, its tables, the share of nominal speed of each link. */
typedef struct dnet_rail {
    const dnet_topo_t *topo; /* server i is node i */
    const dnet_tables_t *tables;
    int *load;        /* [channel], of the pattern in hand */
    double *slowness; /* [channel]: nominal rate / actual rate */
} dnet_rail_t;

/** A rail at full speed; topology and tables must outlive it.  @return DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_rail_init(dnet_rail_t *rail, const dnet_topo_t *t, const dnet_tables_t *tables);

/** Free what the rail holds. */
void dnet_rail_free(dnet_rail_t *rail);

/** A link of switch s runs at `rate` of its nominal speed (0.25: 1x QDR or 4x SDR for 4x QDR). */
void dnet_rail_degrade(dnet_rail_t *rail, int link, double rate);

/**
 * One simultaneous random pairing of nodes 0..nodes-1, both directions (MPI_Sendrecv).
 *
 * @param rng    drawn from
 * @param order  space for `nodes` numbers
 * @param mean   mean over the pairs, may be NULL
 * @return bandwidth of the slowest pair, GB/s per node
 */
double dnet_rails_random_pairs(dnet_rail_t rail[2], int nodes, dnet_stripe_t stripe,
                               dnet_rng_t *rng, int *order, double *mean);

/**
 * Alltoall as `phases` evenly spaced shifts (node i sends to i + k).
 *
 * @param unsynchronised  bandwidth when phases do not wait for their slowest flow
 * @return bandwidth when they do, GB/s per node
 */
double dnet_rails_alltoall(dnet_rail_t rail[2], int nodes, int phases, dnet_stripe_t stripe,
                           double *unsynchronised);

/* Effective bisection bandwidth of one rail, relative to a link [MR §3.6]. */
typedef struct dnet_bisection {
    double mean;         /* over flows and patterns */
    double worst;        /* mean over patterns of the slowest flow */
    double p5, p50, p95; /* of the patterns' means */
} dnet_bisection_t;

/** Measure `patterns` random bisections of one rail: nodes of one half send to their partners in
 * the other.  @return DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_rails_bisection(dnet_rail_t *rail, int nodes, int patterns, uint64_t seed,
                                   dnet_bisection_t *out);

#endif
