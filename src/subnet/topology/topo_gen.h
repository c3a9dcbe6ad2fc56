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
    int count;
    int number[DNET_TOPO_ARGS];
    char word[DNET_TOPO_ARGS][DNET_TOPO_WORD_BYTES];
    uint64_t seed;
} dnet_topo_args_t;

/* Each returns ERR_FORMAT after logging which argument is wrong and what is possible. */
dnet_status_t dnet_topo_gen_two_fat_trees(dnet_topo_t *t, const dnet_topo_args_t *args);
dnet_status_t dnet_topo_gen_fat_tree(dnet_topo_t *t, const dnet_topo_args_t *args);
dnet_status_t dnet_topo_gen_leaf_spine(dnet_topo_t *t, const dnet_topo_args_t *args);
dnet_status_t dnet_topo_gen_tsubame(dnet_topo_t *t, const dnet_topo_args_t *args);
dnet_status_t dnet_topo_gen_random(dnet_topo_t *t, const dnet_topo_args_t *args);
dnet_status_t dnet_topo_gen_ring(dnet_topo_t *t, const dnet_topo_args_t *args);
dnet_status_t dnet_topo_gen_mesh(dnet_topo_t *t, const dnet_topo_args_t *args);
dnet_status_t dnet_topo_gen_torus(dnet_topo_t *t, const dnet_topo_args_t *args);
dnet_status_t dnet_topo_gen_dragonfly(dnet_topo_t *t, const dnet_topo_args_t *args);

#endif
