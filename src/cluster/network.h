/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network of a cluster in a Subnet Manager's hand: its plan (fabric.h) and its switches
 * (switches.h), locked.  The process that holds it is the Subnet Manager meanwhile.
 */
#ifndef DNET_CLUSTER_NETWORK_H
#define DNET_CLUSTER_NETWORK_H

#include "cluster/switches.h"
#include "subnet/judges/health.h"

typedef struct {
    dnet_fabric_t *fabric;
    dnet_switches_t switches;
    int fd; /* of the fabric's file, locked */
} dnet_network_t;

/**
 * Take the network of a cluster; waits while another has it.
 *
 * @param change  to change it: where a process was killed in a change, links and tables are first
 * put in force as its file has them; false: others may look at it too
 * @return DNET_OK: dnet_network_leave() ends it; DNET_NOT_FOUND (the cluster has none, not logged);
 *         else as dnet_fabric_load() and dnet_switches_open()
 */
dnet_status_t dnet_network_take(const dnet_cluster_t *cluster, bool change,
                                dnet_network_t *network_p);

/** Give the network back: unlock its file, unmap its switches, free the plan. */
void dnet_network_leave(dnet_network_t *network);

/**
 * Something has failed, or is back: the links are as the plan says from now on, packets that meet a
 * cut wait, and tables without it are put in force.
 *
 * @param diff  set on success: table entries and blocks that have changed
 * @return DNET_OK; as dnet_fabric_reroute() and dnet_fabric_store(): the old tables stay
 */
dnet_status_t dnet_network_sweep(dnet_network_t *network, dnet_fdb_diff_t *diff);

/**
 * Take a link that works, more or less, out of service: first the tables without it, then the link,
 * so that no packet waits.
 *
 * @return DNET_OK; DNET_ERR_LIMIT (it would separate servers, or no good tables), logged, nothing
 * changed
 */
dnet_status_t dnet_network_isolate(dnet_network_t *network, int link, dnet_fdb_diff_t *diff);

/**
 * Read the counters of all ports, and each link's rate into the topology.
 *
 * @param counters  [channel], set
 * @return packets that all links have carried
 */
uint64_t dnet_network_counters(const dnet_network_t *network, dnet_counters_t *counters);

#endif
