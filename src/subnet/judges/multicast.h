/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The judge of multicast: are the ports of each group a tree that joins all its members, and can
 * its packets, together with those to single ports on the same lanes, wait for each other in a
 * circle?
 *
 * A switch holds a packet until all copies have left, each of which needs room for a whole packet:
 * a channel waits for each port that its packets are copied to, as it would for a single one.
 */
#ifndef DNET_SUBNET_JUDGE_MULTICAST_H
#define DNET_SUBNET_JUDGE_MULTICAST_H

#include "subnet/judges/depends.h"
#include "subnet/routing/multicast.h"

/* What is wrong with a group's ports, by what it does to packets. */
enum {
    DNET_MCAST_LOOP,    /* copies come back to a switch, and go round for ever */
    DNET_MCAST_APART,   /* some member gets no copy from some other */
    DNET_MCAST_ONE_WAY, /* the switch behind a port does not send to it */
    DNET_MCAST_NO_LINK, /* copies to a port without a link */
    DNET_MCAST_FAULTS
};

typedef struct dnet_mcast_fault {
    int group; /* NONE: no fault */
    int at;    /* switch */
    int port;  /* its port; APART: NONE, a member that another does not reach is there */
} dnet_mcast_fault_t;

typedef struct dnet_mcast_verdict {
    int groups;
    long members;                  /* ports of servers and switches themselves, over all groups */
    int faulty[DNET_MCAST_FAULTS]; /* groups with each fault */
    dnet_mcast_fault_t example[DNET_MCAST_FAULTS];
    int cyclic_lanes;   /* with the dependencies of single ports; 0 where those are cyclic alone */
    dnet_cycle_t cycle; /* an example */
    int closed_by;      /* group without which, and those behind it, there is none */
} dnet_mcast_verdict_t;

/**
 * Judge multicast tables.
 *
 * @param lanes    as in dnet_verify_tables(); a group whose service levels are not known has 0
 * @param unicast  dependencies of packets to single ports, left as they are
 * @return DNET_OK whatever the verdict; ERR_NO_MEMORY
 */
dnet_status_t dnet_mcast_judge(const dnet_mcast_t *m, const dnet_lanes_t *lanes,
                               const dnet_depends_t *unicast, dnet_mcast_verdict_t *v);

/** Add the dependencies of all groups' packets; lanes as in dnet_mcast_judge(). */
void dnet_mcast_depend(const dnet_mcast_t *m, const dnet_lanes_t *lanes, dnet_depends_t *d);

/** No fault and no cycle. */
bool dnet_mcast_good(const dnet_mcast_verdict_t *v);

#endif
