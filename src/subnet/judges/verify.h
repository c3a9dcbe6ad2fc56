/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The independent verifier.  It shares the topology and the traffic with the routers, and no code:
 * it walks every path as the switches would, on the virtual lane that each switch would choose, and
 * builds its own dependency graph.  Our tables and tables dumped from a subnet manager are judged
 * alike.
 */
#ifndef DNET_SUBNET_VERIFY_H
#define DNET_SUBNET_VERIFY_H

#include "subnet/judges/multicast.h"
#include "subnet/routing/partitions.h"
#include "subnet/routing/routing.h"

#define DNET_VERIFY_HOPS 64

/* A way that does not arrive. */
typedef struct dnet_fault {
    int source; /* switch; NONE = no fault */
    int host;   /* the server there, where servers differ; else NONE */
    int column; /* of the tables: the LID it goes to */
    int at;     /* switch at which it ends; one of the loop */
    int port;   /* what that switch's entry says; DNET_TABLE_NONE: no entry */
    enum {
        DNET_FAULT_MISSING,
        DNET_FAULT_NO_LINK,
        DNET_FAULT_LANE,
        DNET_FAULT_ASTRAY,
        DNET_FAULT_LOOP
    } kind;
} dnet_fault_t;

/* Ways of one kind of packet. */
typedef struct dnet_ways {
    long pairs;   /* source and destination, all */
    long missing; /* a switch on the way has no entry, one to a port without link, or no lane */
    long astray;  /* delivered to another host */
    long loops;   /* a packet comes back to a switch */
    dnet_fault_t fault; /* an example of the three */
    int cyclic_lanes;   /* lanes whose dependency graph has a cycle */
    dnet_cycle_t cycle; /* an example */
} dnet_ways_t;

typedef struct dnet_verdict {
    dnet_ways_t data; /* from servers to servers; pairs of a switch with servers and a LID, or of
                       * a server and a LID where servers have service levels of their own */
    /* From servers to switches and from switches to servers: queries of counters, their replies,
     * traps.  Its dependencies are those of data too, because it shares the lanes. */
    dnet_ways_t management;
    /* Between switches, with all the others' dependencies.  No packet goes there by itself, and
     * several engines of OpenSM leave ways between roots out. */
    dnet_ways_t switches;
    dnet_mcast_verdict_t multicast; /* with the dependencies of data and management; no groups
                                     * where there were no tables of them */
    long hops_at[DNET_VERIFY_HOPS]; /* data paths by links between switches */
    int max_hops;
    double mean_hops;
    int lanes;
    long assumed_sl;            /* data pairs without a path record: judged on service level 0 */
    long dependencies;          /* of data, over all lanes */
    double max_load, mean_load; /* over links between switches, in capacities; first traffic */
    double throughput;          /* 1 / max_load, at most 1 [TA §5.1] */
    double throughput2;         /* the same for the second traffic */
} dnet_verdict_t;

/* What is judged; all but the tables may be NULL. */
typedef struct dnet_judged {
    const dnet_tables_t *tables;
    const dnet_lanes_t *lanes;
    const dnet_mcast_t *multicast;
    const dnet_partitions_t *partitions;      /* data goes only where it may */
    const dnet_traffic_t *traffic, *traffic2; /* for the loads */
    double *load; /* [channel], set: what links carry of the first, 1 is all that a server sends */
} dnet_judged_t;

/** Judge forwarding tables with all that is given.  @return as dnet_verify_tables() */
dnet_status_t dnet_verify(const dnet_judged_t *what, dnet_verdict_t *v);

/**
 * Judge forwarding tables.
 *
 * @param lanes  service levels and lanes; NULL = one lane.  A reply travels on the service level of
 *               its request
 * @param tr     traffic for the loads; NULL = none.  Spread evenly over the LIDs of a destination
 * @param tr2    a second one, NULL = none
 * @return DNET_OK whatever the verdict; ERR_ARGUMENT (a lane out of range, logged), ERR_NO_MEMORY
 */
dnet_status_t dnet_verify_tables(const dnet_tables_t *tables, const dnet_lanes_t *lanes,
                                 const dnet_traffic_t *tr, const dnet_traffic_t *tr2,
                                 dnet_verdict_t *v);

/** Judge a turn set: free of cycles, and every switch with servers reaches every other (data), as
 * does every other switch (switches). */
dnet_status_t dnet_verify_turns(const dnet_turns_t *turns, dnet_verdict_t *v);

/** Nothing missing, astray, looping or cyclic. */
bool dnet_ways_good(const dnet_ways_t *w);

/** Data is good. */
bool dnet_verdict_good(const dnet_verdict_t *v);

/** Data and management are good. */
bool dnet_verdict_managed(const dnet_verdict_t *v);

/** Every LID reaches every LID, and nothing is cyclic. */
bool dnet_verdict_complete(const dnet_verdict_t *v);

#endif
