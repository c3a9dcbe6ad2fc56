/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Parts of the turn addition engine that stand on their own: the order of turn pairs and the
 * decisions, so that an order from elsewhere can be decided and looked at.
 */
#ifndef DNET_SUBNET_ENGINE_TURNADD_H
#define DNET_SUBNET_ENGINE_TURNADD_H

#include "subnet/routing/acyclic.h"
#include "subnet/routing/routing.h"

/* A turn pair and its place in the order of decision. */
typedef struct dnet_turn_pair {
    int sw;
    uint16_t i, j; /* slots, i < j */
    double weight;
    int klass;      /* pairs of equal weight have the same class, heaviest first */
    int round;      /* symmetric networks: one turn per switch per round */
    int tree, line; /* ties inside a round */
} dnet_turn_pair_t;

/**
 * All turn pairs in order of decision [TA §4.1.3].
 *
 * @param out  array of *n pairs; the caller frees it.  Without opt->decide_weightless pairs of
 *             weight 0 are left out: they stay prohibited
 */
dnet_status_t dnet_turnadd_order(const dnet_topo_t *t, const dnet_route_options_t *opt,
                                 const dnet_weights_t *w, dnet_turn_pair_t **out, size_t *n);

/** Decide pairs in order: allow each unless it closes a cycle.  @return pairs prohibited. */
long dnet_turnadd_decide(dnet_order_t *o, const dnet_turn_pair_t *pairs, size_t n);

/** Maximum-weight spanning tree: link to the parent for each switch; [n_switches], set. */
dnet_status_t dnet_turnadd_tree(const dnet_topo_t *t, const dnet_weights_t *w, int *tree);

#endif
