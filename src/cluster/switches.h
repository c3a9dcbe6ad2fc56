/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Subnet Manager's side of a cluster's switches (dimmnet/switches.h): making the segment, taking links
 * out of service, putting tables in force, reading the counts.
 */
#ifndef DNET_CLUSTER_SWITCHES_H
#define DNET_CLUSTER_SWITCHES_H

#include "cluster/fabric.h"
#include "dimmnet/switches.h"

/**
 * Make the segment of a network, with its tables in force and no packet counted.
 *
 * @param fabric  as dnet_fabric_load() gives it: numbers of switches and links are those of its text
 * @return its descriptor, which is the caller's; -1: no memory (logged)
 */
int dnet_switches_make(const dnet_fabric_t *fabric);

/**
 * Map the segment of a cluster's network.
 *
 * @param parts_p  set on success; dnet_switches_close() unmaps it
 * @return DNET_OK; DNET_NOT_FOUND (the cluster has no network); DNET_ERR_SYSTEM or DNET_ERR_FORMAT
 *         (it does not fit the topology), logged
 */
dnet_status_t dnet_switches_open(const dnet_cluster_t *cluster, const dnet_topo_t *topo,
                                 dnet_switches_t *parts_p);
void dnet_switches_close(const dnet_switches_t *parts);

/** Take out of service and back what the topology says; packets on their way there begin to wait. */
void dnet_switches_set_links(const dnet_switches_t *parts, const dnet_topo_t *topo);

/** Put the fabric's tables in force; waiting packets that have a way by them go on. */
void dnet_switches_set_tables(const dnet_switches_t *parts, const dnet_fabric_t *fabric);

#endif
