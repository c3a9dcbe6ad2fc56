/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turns, turn sets and turn weights.  A turn (a, b) joins an incoming channel a and an outgoing
 * channel b of one switch; it and its reverse (b^1, a^1) are always decided together [TA §4.1.3].
 * The pair is an unordered pair of slots (i, j) of the switch: i the slot of a^1, j the slot of b.
 */
#ifndef DNET_SUBNET_TURNS_H
#define DNET_SUBNET_TURNS_H

#include "subnet/topology/topo.h"

/* Allowed turn pairs: a symmetric bit matrix per switch, row i = slots reachable from slot i. */
typedef struct dnet_turns {
    const dnet_topo_t *topo;
    size_t *start; /* [n_switches + 1] first word of a switch's rows */
    int *words;    /* words per row of a switch */
    uint64_t *bits;
} dnet_turns_t;

/** All pairs allowed or all prohibited.  Sized for the links in service now. */
dnet_status_t dnet_turns_new(const dnet_topo_t *t, bool allowed, dnet_turns_t **out);

/** Free a turn set; NULL is allowed. */
void dnet_turns_free(dnet_turns_t *turns);

/** Bits of the slots that may follow a slot of switch s. */
static inline uint64_t *dnet_turns_row(const dnet_turns_t *turns, int s, int slot)
{
    return turns->bits + turns->start[s] + (size_t) slot * (size_t) turns->words[s];
}

/** May a packet turn from slot i of switch s to slot j? */
static inline bool dnet_turns_allowed(const dnet_turns_t *turns, int s, int i, int j)
{
    return dnet_turns_row(turns, s, i)[j >> 6] >> (j & 63) & 1;
}

/** Allow or prohibit the turn pair (i, j) of switch s, both directions. */
void dnet_turns_set(dnet_turns_t *turns, int s, int i, int j, bool allowed);

/** Turn pairs in the network and how many of them are prohibited. */
long dnet_turns_count(const dnet_turns_t *turns, long *prohibited);

/* Traffic between servers, by the switches they hang off. */
typedef enum {
    DNET_TRAFFIC_UNIFORM,  /* each server 1.00, spread evenly over all others */
    DNET_TRAFFIC_INSIDE,   /* each server 1.00, evenly over the others of its tree */
    DNET_TRAFFIC_BETWEEN,  /* each server p/n, evenly over the servers of the other trees */
    DNET_TRAFFIC_WEIGHTED, /* per server pair: 1 inside a tree, `between` across [TA §5.1] */
    DNET_TRAFFIC_MATRIX,   /* from a file */
} dnet_traffic_kind_t;

#define DNET_TRAFFIC_ACROSS 0.01 /* WEIGHTED in the source's evaluation */

typedef struct dnet_traffic {
    dnet_traffic_kind_t kind;
    double between;    /* WEIGHTED: rate of a pair in different trees */
    double connecting; /* BETWEEN: p, links that join trees; set by dnet_traffic_init */
    double *matrix;    /* MATRIX: [n_switches * n_switches] */
    const dnet_topo_t *topo;
    int *tree_hosts; /* servers per tree */
    int n_trees;
} dnet_traffic_t;

/** Prepare; free with dnet_traffic_free.  `between` is read for WEIGHTED only. */
dnet_status_t dnet_traffic_init(dnet_traffic_t *tr, const dnet_topo_t *t, dnet_traffic_kind_t kind,
                                double between);

/**
 * Read "source destination rate" lines (server names; '#' starts a comment).
 *
 * @return DNET_OK; ERR_FORMAT with file, line and reason; ERR_SYSTEM; ERR_NO_MEMORY
 */
dnet_status_t dnet_traffic_read(dnet_traffic_t *tr, const dnet_topo_t *t, const char *path);

/** Free what dnet_traffic_init() or dnet_traffic_read() has made. */
void dnet_traffic_free(dnet_traffic_t *tr);

/** Total rate from the servers of switch a to those of switch b, in link capacities. */
double dnet_traffic_rate(const dnet_traffic_t *tr, int a, int b);

/* Weights of turn pairs: a symmetric matrix of doubles per switch. */
typedef struct dnet_weights {
    const dnet_topo_t *topo;
    size_t *start; /* [n_switches + 1]: first weight of a switch */
    double *w;     /* by switch, slot and slot */
} dnet_weights_t;

/** Weights of all turn pairs, 0.  @return DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_weights_new(const dnet_topo_t *t, dnet_weights_t **out);

/** Free weights; NULL is allowed. */
void dnet_weights_free(dnet_weights_t *w);

/** Weights of the pairs of a slot of switch s, by the other slot. */
static inline double *dnet_weights_row(const dnet_weights_t *w, int s, int slot)
{
    return w->w + w->start[s] + (size_t) slot * (size_t) dnet_topo_degree(w->topo, s);
}

/** Weight of the pair (i, j) at s, i != j: both directions together. */
static inline double dnet_weights_pair(const dnet_weights_t *w, int s, int i, int j)
{
    return dnet_weights_row(w, s, i)[j];
}

/* Is the relative difference below 1e-9?  Weights of symmetric turns differ by rounding only. */
bool dnet_weights_equal(double a, double b);

#endif
