/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routing engines behind one interface, and what they make: a set of allowed turns (pair routing:
 * one path per server pair, as in the turn-addition paper) and forwarding tables (table routing:
 * what an InfiniBand switch can do, which forwards by destination only).
 */
#ifndef DNET_SUBNET_ROUTING_H
#define DNET_SUBNET_ROUTING_H

#include "subnet/routing/forwarding.h"
#include "subnet/routing/turns.h"

typedef enum { DNET_SEED_AUTO, DNET_SEED_OFF, DNET_SEED_ON } dnet_seed_tree_t;
typedef enum { DNET_TIES_AUTO, DNET_TIES_ROUNDS, DNET_TIES_PLAIN, DNET_TIES_RANDOM } dnet_ties_t;

/* What a switch compares when several next hops are equally far. */
typedef enum {
    DNET_BALANCE_PATH, /* traffic assigned so far along the whole path */
    DNET_BALANCE_TREE, /* the same, but in a regular tree upward links count nothing unless a hint
                        * says so or rates differ: all sources then agree on the way down, which
                        * keeps down links even, and up links are even because destinations rotate;
                        * then refined with all links counted, traffic inside trees and across apart
                        */
    DNET_BALANCE_PORT, /* destinations assigned so far to the port, as OpenSM's minhop, updn */
} dnet_balance_t;

typedef struct dnet_route_options {
    uint64_t seed;                 /* of random choices */
    const dnet_traffic_t *traffic; /* what weights and balance assume */
    const char *root;              /* updn: the root switch; NULL = least prohibited weight */
    dnet_seed_tree_t seed_tree;    /* turnadd: allow a spanning tree's turns first */
    dnet_ties_t ties;              /* turnadd: order of equal weights */
    bool decide_weightless;        /* turnadd: decide turns without traffic too */
    bool static_weights;           /* turnprohib: do not recompute sums as switches go */
    bool no_tables;                /* turn engines: leave the tables out */
    int lanes;                     /* dfsssp: virtual lanes to use at most */
    /* turnadd: tables in force, of this topology with other parts out of service.  The result keeps
     * what is not broken and adds no dependency that closes a cycle with theirs, so that the change
     * may be made in any order; NULL: from nothing */
    const dnet_tables_t *from;
    /* turnadd, with `from`: [switch]: link to its parent in the groups' tree (multicast.h), whose
     * turns stay, too; NULL: none */
    const int *from_tree;
} dnet_route_options_t;

typedef struct dnet_routing {
    const char *engine;
    dnet_turns_t *turns;   /* NULL for engines that make tables directly */
    dnet_tables_t *tables; /* NULL with no_tables */
    /* [switch]: link to its parent in a spanning tree of allowed turns */
    int *tree;
    dnet_lanes_t *sl;       /* NULL = one lane */
    int lanes;              /* virtual lanes used */
    int root;               /* updn: the switch; else NONE */
    bool kept;              /* turnadd: what was not broken of the tables before is kept */
    bool seeded;            /* turnadd: the spanning tree was installed first */
    long searches, visited; /* turnadd: work of the cycle tests */
} dnet_routing_t;

typedef struct dnet_engine {
    const char *name, *summary;
    /* Decides turns; NULL for engines that only make tables.  w is NULL unless needs_weights. */
    dnet_status_t (*turns)(const dnet_topo_t *t, const dnet_route_options_t *opt,
                           const dnet_weights_t *w, dnet_routing_t *r);
    /* Makes the tables. */
    dnet_status_t (*tables)(const dnet_topo_t *t, const dnet_route_options_t *opt,
                            dnet_routing_t *r);
    bool needs_weights; /* turns() wants w */
} dnet_engine_t;

/**
 * Route a topology.
 *
 * @param w  weights to use; NULL = computed from opt->traffic if the engine needs them
 * @param r  set on success; free with dnet_routing_free
 * @return DNET_OK; ERR_ARGUMENT (unknown root), ERR_LIMIT (lanes do not suffice, or the engine does
 *         not fit the topology), ERR_NO_MEMORY; logged
 */
dnet_status_t dnet_route(const dnet_topo_t *t, const dnet_engine_t *engine,
                         const dnet_route_options_t *opt, const dnet_weights_t *w,
                         dnet_routing_t *r);

/** Free what dnet_route() has set. */
void dnet_routing_free(dnet_routing_t *r);

/** Weights of all turns with nothing prohibited [TA §4.1.2]. */
dnet_status_t dnet_route_weights(const dnet_topo_t *t, const dnet_traffic_t *tr,
                                 dnet_weights_t **out);

/**
 * Give switches that have no entry for a LID one: along turns that are allowed, else along turns
 * that close no cycle with those, which are then allowed, too.  Entries that are there stay.
 *
 * @param turns  acyclic, all turns in use among them
 * @return DNET_OK, ERR_STATE (a turn was to be opened, and `turns` has a cycle), ERR_NO_MEMORY;
 * sets tables->opened and tables->unmanaged
 */
dnet_status_t dnet_tables_fill(dnet_tables_t *tables, dnet_turns_t *turns);

/**
 * Tables from r->turns (and r->tree for destinations that need it).  Where r->turns are acyclic
 * every switch gets an entry for every LID, and r->turns may grow by what that takes.
 *
 * Balances by path with opt->traffic, or by port.  Link costs (dnet_topo_link_t) scale what a
 * link's load counts.
 */
dnet_status_t dnet_tables_from_turns(const dnet_topo_t *t, const dnet_route_options_t *opt,
                                     dnet_balance_t balance, dnet_routing_t *r);

#endif
