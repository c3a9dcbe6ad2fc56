/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forwarding tables in the making: one LID after the other is a tree of output channels towards its
 * switch, and links carry what the trees made so far put on them.  Shared by the files that make
 * tables from turns (tables.c says how).
 *
 * The arrays near[], load[] and price[] run parallel to the topology's adjacency, so that the inner
 * loop of labelling, which takes most of the time in large networks, reads memory in order.
 */
#ifndef DNET_SUBNET_TABLES_BUILD_H
#define DNET_SUBNET_TABLES_BUILD_H

#include "subnet/routing/paths.h"
#include "subnet/routing/routing.h"

#include <limits.h>

/* Loads are kept apart for traffic that stays in a tree, [0], and traffic between joined trees,
 * [1]. */
typedef struct dnet_load {
    float of[2];
} dnet_load_t;

/* The same, summed along a way. */
typedef struct dnet_loads {
    double of[2];
} dnet_loads_t;

/* Channels that a search out of one switch came to. */
typedef struct dnet_reach {
    bool *seen; /* [adjacency] */
    int *place; /* in the adjacency */
    int *after; /* index here of the one before; NONE: the first */
    int n;
} dnet_reach_t;

/* Working space for one destination at a time. */
typedef struct dnet_build {
    const dnet_topo_t *t;
    const dnet_turns_t *turns;
    const int *tree;      /* spanning tree, or NULL */
    int dest;             /* destination switch */
    int lids;             /* among which the traffic to a server is spread */
    int *next;            /* [switch]: output channel, NONE while unlabelled */
    int *order, labelled; /* switches in the order of labelling */
    int *hops;            /* [switch], FAR while unlabelled */
    dnet_loads_t *cost;   /* [switch]: load along its path */
    dnet_balance_t balance;
    const int *adj; /* [adjacency]: the topology's, out channels */
    int *near;      /* [adjacency]: the neighbour */
    /* [adjacency]: of the incoming channel, traffic or destinations so far */
    dnet_load_t *load;
    dnet_load_t *price;         /* [adjacency]: what a way pays for that load */
    float *factor;              /* [adjacency]: cost hint of the link */
    float *part;                /* [adjacency]: part of the link that a flow of 1 takes */
    bool mixed_rates;           /* links differ in it */
    int *place, *head;          /* [channel]: where its load is kept, and its head */
    uint16_t *port;             /* [channel]: through which it leaves its tail */
    int *pin;                   /* [switch]: output channel it must have, or NONE */
    int *walk;                  /* [switch + 1]: space for one walk */
    dnet_turns_t *narrow;       /* turns that agree with the pins */
    dnet_paths_t *narrow_paths; /* walks along them */
    dnet_reach_t reach;
    dnet_loads_t *flow; /* [switch]: traffic that it sends on */
    uint8_t *across;    /* [switch]: 1 if another tree than across_from, the destination's */
    int across_from;
    int *ord;        /* [channel]: place in the dependency order; NULL: the turns have a cycle */
    int *at;         /* [place]: the channel */
    uint64_t *waits; /* a bit for each place; all 0 between labellings */
    bool refining;
    dnet_loads_t most; /* the largest loads, while refining */
    uint8_t *must;     /* [switch]: 1 if it must have an entry */
    int *piece;        /* [switch]: connected ones have the same number (dnet_topo_pieces) */
    int *wanted;       /* [piece]: how many must */
    bool mixing;       /* entries have to agree with those of before, too: */
    int *was;          /* [switch]: channel of the tables before, in service, or NONE */
} dnet_build_t;

#define DNET_BUILD_FAR INT_MAX
#define DNET_BUILD_SOON 16 /* entries of a column, each in memory of its own, to fetch ahead */

/* ---- tables_build.c: the space, and trees in and out of it ---- */

/** Space for r's turns; b->t and b->balance are set.  @return DNET_OK, ERR_NO_MEMORY;
 * dnet_build_free() in both cases */
dnet_status_t dnet_build_init(dnet_build_t *b, const dnet_routing_t *r);

/** Dependency order of b's turns, which have changed.  @return DNET_OK, ERR_STATE (they have a
 * cycle now), ERR_NO_MEMORY */
dnet_status_t dnet_build_order(dnet_build_t *b);

/** Free the space. */
void dnet_build_free(dnet_build_t *b);

/** A build for each thread with a tree, flows and prices of its own; all else is b's, and only to
 * be read.  NULL without memory (logged). */
dnet_build_t *dnet_build_crew_new(const dnet_build_t *b, int threads);

/** Free what dnet_build_crew_new() has made; NULL is allowed. */
void dnet_build_crew_free(dnet_build_t *crew, int threads);

/** Choose the switches that must have an entry for what they are connected with: those with
 * servers, or all of them. */
void dnet_build_want(dnet_build_t *b, bool everywhere);

/** Every switch that must have an entry, and is connected with the destination, has one? */
bool dnet_build_complete(const dnet_build_t *b);

/** A tree with nothing but its root, switch `dest`. */
void dnet_build_start(dnet_build_t *b, int dest);

/** The tree to a LID as the tables have it, near switches first. */
void dnet_build_adopt(dnet_build_t *b, const dnet_tables_t *tables, int column);

/** The tables' column from b's tree. */
void dnet_build_store(const dnet_build_t *b, dnet_tables_t *tables, int column);

/** The i-th LID in the order of routing: a server's LIDs together, servers leaf by leaf in port
 * order, then the switches'. */
static inline int dnet_build_column_at(const dnet_tables_t *tables, int i)
{
    const dnet_topo_t *t = tables->topo;
    int at = i / tables->planes, plane = i % tables->planes;
    return plane * tables->dests + (at < t->n_hosts ? t->host_of[at] : at);
}

/** There is such a LID, and its switch is in service. */
static inline bool dnet_build_lives(const dnet_tables_t *tables, int column)
{
    int d = dnet_tables_dest(tables, column);
    return d != DNET_TOPO_NONE && !tables->topo->sw[dnet_topo_dest_switch(tables->topo, d)].down;
}

/* ---- tables_label.c: the tree to a destination ---- */

/** By hops, among equals the cheapest.  Switches that allowed turns do not bring there on such ways
 * stay without. */
void dnet_build_label_by_hops(dnet_build_t *b, int dest);

/** By all means there are.  @return complete; counts in `tables` what it took */
bool dnet_build_label(dnet_build_t *b, int dest, dnet_tables_t *tables);

/**
 * Label again with the entries of b's tree as they are.
 *
 * @param used  [switch], working space: only entries that servers' packets pass stay; NULL: all
 * @return false: more has to change
 */
bool dnet_build_label_keeping(dnet_build_t *b, int dest, bool *used);

/** The same where what servers' packets pass stays and nothing else matters: the others take the
 * nearest way there. */
bool dnet_build_label_around(dnet_build_t *b, int dest, bool *used);

/* ---- tables_balance.c: loads and prices ---- */

/** What the load of the link at an adjacency place of s counts; in a regular tree see
 * DNET_BALANCE_TREE. */
void dnet_build_set_factor(dnet_build_t *b, int s, int place);

/** What a link pays for its load. */
dnet_load_t dnet_build_price(const dnet_build_t *b, int place, dnet_load_t load);

/** What a link at `x` of the largest load costs while the tables are refined. */
static inline double dnet_build_steep(double x)
{
    return x * x * x * x;
}

/** What each switch of b's tree sends on to its destination, b->flow; with DNET_BALANCE_PORT 1. */
void dnet_build_flows(dnet_build_t *b, const dnet_traffic_t *tr);

/** Add those flows to the links of b's tree, or with sign -1 take them away. */
void dnet_build_put_load(dnet_build_t *b, const dnet_traffic_t *tr, double sign);

/** Refining begins: the largest loads now, and what each link costs by them. */
void dnet_build_price_links(dnet_build_t *b);

/* ---- tables_batch.c: many LIDs at once ---- */

/** All LIDs from nothing.  @return DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_build_all(dnet_build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables);

/** The destinations over the links that carry most again, now that all loads are known.  @return
 * DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_build_refine(dnet_build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables);

/** The n LIDs in `columns` again, with an entry at every switch that must have one, by all means
 * there are; *left stay as they were.  @return DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_build_anew(dnet_build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables,
                              const int *columns, int n, long *left);

/* ---- tables_holes.c, tables_change.c ---- */

/**
 * Give every switch a way to all LIDs: along allowed turns, what servers' packets pass staying as
 * it is where that can be; else turns are opened.
 *
 * @param turns  b's
 * @return DNET_OK, ERR_NO_MEMORY; sets tables->opened and tables->unmanaged
 */
dnet_status_t dnet_build_holes(dnet_build_t *b, const dnet_traffic_t *tr, dnet_turns_t *turns,
                               dnet_tables_t *tables);

/** Keep the tables opt->from, except what a failure has broken.  @return DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_build_changes(dnet_build_t *b, const dnet_route_options_t *opt,
                                 dnet_tables_t *tables);

#endif
