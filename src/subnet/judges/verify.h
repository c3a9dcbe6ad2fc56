/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The independent verifier.  It shares the topology and the traffic with the routers, and no code:
 * it walks every path as the switches would and builds its own dependency graph, one per virtual
 * lane.  Our tables and tables dumped from a subnet manager are judged alike.
 */
#ifndef DNET_SUBNET_VERIFY_H
#define DNET_SUBNET_VERIFY_H

#include "subnet/routing/routing.h"

#define DNET_VERIFY_HOPS 64
#define DNET_VERIFY_CYCLE 64

typedef struct dnet_verdict {
    long pairs;      /* ordered pairs of a switch with servers and a server or switch */
    long missing;    /* of these: a switch on the way has no entry, or one to nowhere */
    long management; /* missing ways to switches: no server's traffic, but an SM may mind */
    long astray;     /* delivered to somebody else */
    long loops;
    long first_bad_switch, first_bad_dest; /* an example of the three, or NONE */
    long hops_at[DNET_VERIFY_HOPS];        /* paths by links between switches */
    int max_hops;
    double mean_hops;
    int lanes;
    int cyclic_lanes;             /* lanes whose dependency graph has a cycle */
    long dependencies;            /* turns in use, over all lanes */
    int cycle[DNET_VERIFY_CYCLE]; /* channels of an example */
    int cycle_length;             /* 0 = no cycle; may exceed what `cycle` holds */
    double max_load, mean_load;   /* over links between switches; first traffic */
    double throughput;            /* 1 / max_load, at most 1 [TA §5.1] */
    double throughput2;           /* the same for the second traffic */
} dnet_verdict_t;

/**
 * Judge forwarding tables.
 *
 * @param lane   [source switch * dests + destination], values below `lanes`; NULL = one lane
 * @param tr     traffic for the loads; NULL = none
 * @param tr2    a second one, NULL = none
 * @return DNET_OK whatever the verdict; ERR_ARGUMENT (a lane out of range), ERR_NO_MEMORY
 */
dnet_status_t dnet_verify_tables(const dnet_tables_t *tables, const uint8_t *lane, int lanes,
                                 const dnet_traffic_t *tr, const dnet_traffic_t *tr2,
                                 dnet_verdict_t *v);

/** Judge a turn set: free of cycles, and every switch with servers reaches every other. */
dnet_status_t dnet_verify_turns(const dnet_turns_t *turns, dnet_verdict_t *v);

/** Nothing missing, astray, looping or cyclic. */
bool dnet_verdict_good(const dnet_verdict_t *v);

#endif
