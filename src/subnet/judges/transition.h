/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The change from tables in force to others.  While it is made, each switch's blocks are old or new
 * in any mixture, and packets in flight have come by either; the network can deadlock although
 * neither set of tables can.  A change is safe if no mixture's dependencies close a cycle; else it
 * is made in two stages, between which packets drain: what would close a cycle is dropped first and
 * written anew when nothing is left on its old ways.
 */
#ifndef DNET_SUBNET_TRANSITION_H
#define DNET_SUBNET_TRANSITION_H

#include "subnet/judges/multicast.h"

/**
 * Judge one stage: all mixtures of two sets of tables, on one lane.  Ways over links out of service
 * count as gone.
 *
 * @param groups    multicast tables that are in force at some time of the stage; NULL: none
 * @param cyclic_p  0: blocks may be written in any order
 * @param cycle     an example
 * @return DNET_OK; ERR_ARGUMENT (tables of other LIDs, logged), ERR_NO_MEMORY
 */
dnet_status_t dnet_transition_judge(const dnet_topo_t *t, const dnet_tables_t *old,
                                    const dnet_tables_t *new, const dnet_mcast_t *groups,
                                    int *cyclic_p, dnet_cycle_t *cycle);

/* How to make a change. */
typedef struct dnet_transition {
    int stages;             /* 0: nothing changes, 1: in any order, 2: by way of `between` */
    dnet_tables_t *between; /* two stages: tables with LIDs dropped that would close a cycle */
    long drained;           /* LIDs that are dropped for a while */
    /* Groups close a cycle with the tables before, whatever is dropped: the stages are without
     * them. Those in force are removed before, and those that follow are written after, packets
     * having drained each time */
    bool apart;
} dnet_transition_t;

/**
 * Plan a change.  `new` has to be free of deadlock by itself, and together with the groups.
 *
 * @param groups  multicast tables that follow; plan->apart says if they cannot be in force
 * beside `old`
 * @return as dnet_transition_judge; dnet_transition_free afterwards
 */
dnet_status_t dnet_transition_plan(const dnet_topo_t *t, const dnet_tables_t *old,
                                   const dnet_tables_t *new, const dnet_mcast_t *groups,
                                   dnet_transition_t *plan);

/** Free a plan's tables. */
void dnet_transition_free(dnet_transition_t *plan);

#endif
