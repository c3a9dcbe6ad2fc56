/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Subnet Manager's side of a cluster's switches (dimmnet/switches.h): making the segment,
 * taking links out of service, putting tables in force, reading the counts.
 */
#ifndef DNET_CLUSTER_SWITCHES_H
#define DNET_CLUSTER_SWITCHES_H

#include "cluster/fabric.h"
#include "dimmnet/switches.h"

/**
 * Make the segment of a network, with its tables in force and no packet counted.
 *
 * @param fabric  as dnet_fabric_load() gives it: numbers of switches and links are those of its
 * text
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

/** Unmap the segment. */
void dnet_switches_close(const dnet_switches_t *parts);

/** Take links between switches and to servers out of service and back, as the topology says;
 * packets on their way there begin to wait.
 */
void dnet_switches_set_links(const dnet_switches_t *parts, const dnet_topo_t *topo);

/** Put the fabric's tables in force; waiting packets that have a way by them go on. */
void dnet_switches_set_tables(const dnet_switches_t *parts, const dnet_fabric_t *fabric);

/** Are links and tables as the fabric has them?  Not while a change is under way, nor where a
 * process has been killed in one. */
bool dnet_switches_follow(const dnet_switches_t *parts, const dnet_fabric_t *fabric);

/* A link as made: 4x QDR [MR §1]. */
#define DNET_SWITCHES_LANES 4u
#define DNET_SWITCHES_LANE_MBPS 10000u

/** What is to be wrong with a link from now on. */
typedef struct {
    uint32_t lanes, lane_mbps; /* 0: as before */
    double symbol_rate;        /* errors a second at the named end; below 0: as before */
    double receive_rate;
    /* of packets of either direction; 0: none, below 0: as before */
    double delay_us, limit_mb_s, loss;
} dnet_switches_fault_t;

/** Degrade a link, or make it well again.  @param channel  starts at the end whose port counts the
 * errors */
void dnet_switches_degrade(const dnet_switches_t *parts, int channel,
                           const dnet_switches_fault_t *fault);

/** A port as PortInfo, PortCounters and PortCountersExtended show it. */
typedef struct {
    uint32_t symbol, receive; /* 16 bits wide: they stop at 65535 */
    uint32_t downed;          /* 8 bits: stops at 255 */
    uint32_t lanes, lane_mbps;
    uint64_t packets, bytes; /* sent */
    uint64_t lost;           /* of these, and sent again */
    uint32_t delay_us, limit_mb_s;
    double loss;
} dnet_switches_reading_t;

/** Read the port at the start of a channel. */
dnet_switches_reading_t dnet_switches_read(const dnet_switches_t *parts, int channel);

/** Name of a lane's signalling rate, "QDR". */
const char *dnet_switches_speed_name(uint32_t lane_mbps);

/** Signalling rate of a lane by its name, Mbit/s; 0: no such name. */
uint32_t dnet_switches_speed(const char *name);

#endif
