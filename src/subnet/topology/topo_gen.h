/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Generators behind dnet_topo_make: each gets the parsed numbers of its specification and fills an
 * empty topology.
 */
#ifndef DNET_SUBNET_TOPO_GEN_H
#define DNET_SUBNET_TOPO_GEN_H

#include "subnet/topology/topo.h"

#define DNET_TOPO_ARGS 4
#define DNET_TOPO_WORD_BYTES 48

/* Arguments after the kind.  One that is no number has number 0. */
typedef struct dnet_topo_args {
    int count;                                       /* arguments given */
    int number[DNET_TOPO_ARGS];                      /* each as a number */
    char word[DNET_TOPO_ARGS][DNET_TOPO_WORD_BYTES]; /* each as text */
    uint64_t seed;                                   /* of random choices */
} dnet_topo_args_t;

/** Two equal three-stage fat trees, joined.  Like all of these it returns ERR_FORMAT after logging
 * which argument is wrong and what is possible. */
dnet_status_t dnet_topo_gen_two_fat_trees(dnet_topo_t *t, const dnet_topo_args_t *args);

/** A fat tree of 2 or 3 stages, by switch radix. */
dnet_status_t dnet_topo_gen_fat_tree(dnet_topo_t *t, const dnet_topo_args_t *args);

/** Leaves with nodes, each with one link to each spine. */
dnet_status_t dnet_topo_gen_leaf_spine(dnet_topo_t *t, const dnet_topo_args_t *args);

/** One rail of TSUBAME2.0 [MR §1]. */
dnet_status_t dnet_topo_gen_tsubame(dnet_topo_t *t, const dnet_topo_args_t *args);

/** A connected random network without parallel links. */
dnet_status_t dnet_topo_gen_random(dnet_topo_t *t, const dnet_topo_args_t *args);

/** A ring of switches. */
dnet_status_t dnet_topo_gen_ring(dnet_topo_t *t, const dnet_topo_args_t *args);

/** A mesh of up to four dimensions. */
dnet_status_t dnet_topo_gen_mesh(dnet_topo_t *t, const dnet_topo_args_t *args);

/** The same with its ends joined. */
dnet_status_t dnet_topo_gen_torus(dnet_topo_t *t, const dnet_topo_args_t *args);

/** Groups of routers, each router with links to other groups. */
dnet_status_t dnet_topo_gen_dragonfly(dnet_topo_t *t, const dnet_topo_args_t *args);

#endif
