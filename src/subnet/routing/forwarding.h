/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forwarding tables: what the switches of a topology do with a packet, by its destination.
 */
#ifndef DNET_SUBNET_FORWARDING_H
#define DNET_SUBNET_FORWARDING_H

#include "subnet/topology/topo.h"

#define DNET_TABLE_NONE UINT16_MAX

/*
 * Forwarding tables: an output port for each switch and LID.  Destinations (dnet_topo_dests) with
 * LMC > 0 have several LIDs; plane k holds the k-th of each, so that column k * dests + destination
 * is LID base + k.
 */
typedef struct dnet_tables {
    const dnet_topo_t *topo;
    int dests;
    int planes; /* LIDs of the destination that has most */
    /* [switch * dests * planes + column]; 0 = this switch itself, TABLE_NONE = drop */
    uint16_t *port;
    uint16_t *lid;     /* [column], of tables read from a dump; NULL: as the topology says */
    long pinned;       /* destinations that needed pinned walks */
    long second_order; /* destinations routed in dependency order, not by hops */
    long fallbacks;    /* destinations routed on the spanning tree */
    long unrouted;     /* servers that a connected switch with servers has no entry for */
    long opened;       /* turns allowed only so that switches without servers have ways */
    long mended;       /* LIDs with a way that was broken; all others are as they were */
    long unmanaged;    /* LIDs that some switch has no entry for, though they are connected */
} dnet_tables_t;

/** Columns of a row: LIDs, those of destinations with fewer than others included. */
static inline int dnet_tables_columns(const dnet_tables_t *tables)
{
    return tables->dests * tables->planes;
}

/** Entries of switch s, dnet_tables_columns() of them. */
static inline uint16_t *dnet_tables_row(const dnet_tables_t *tables, int s)
{
    return tables->port + (size_t) s * (size_t) dnet_tables_columns(tables);
}

/** These tables have an entry for each LID of a topology, and none else. */
static inline bool dnet_tables_fit(const dnet_tables_t *tables, const dnet_topo_t *t)
{
    int planes = 1;
    for (int d = 0; d < dnet_topo_dests(t); d++)
        planes = dnet_topo_lids(t, d) > planes ? dnet_topo_lids(t, d) : planes;
    return tables->dests == dnet_topo_dests(t) && tables->planes == planes &&
           tables->topo->n_switches == t->n_switches;
}

/** Destination of a column; NONE if it has no such LID. */
static inline int dnet_tables_dest(const dnet_tables_t *tables, int column)
{
    int d = column % tables->dests;
    return column / tables->dests < dnet_topo_lids(tables->topo, d) ? d : DNET_TOPO_NONE;
}

#define DNET_SL_NONE 0xff /* no path record */
#define DNET_VL_DROP 15   /* a service level mapped to the management lane: packets are dropped */
#define DNET_SERVICE_LEVELS 16

/*
 * Service levels of paths, and the virtual lane that each gets at each switch.  Without the second
 * the lane is the service level.
 */
typedef struct dnet_lanes {
    int lanes;     /* data lanes: 1 + the highest in use */
    bool of_hosts; /* a row for each server; else one for each switch, all its servers alike */
    size_t columns;
    uint8_t *sl; /* [source * columns + column], SL_NONE; NULL: all 0 */
    /* [vl_start[switch] + (in port * (ports + 1) + out port) * 16 + sl]; NULL: lane = sl */
    uint8_t *vl;
    size_t *vl_start;
    long assumed_vl;    /* pairs of ports with links that no SL2VL row was read for: lane = sl */
    uint16_t multicast; /* a bit for each service level that multicast packets have */
} dnet_lanes_t;

/** Lane of a packet from one port of a switch to another; DROP: none */
static inline int dnet_lanes_vl(const dnet_lanes_t *lanes, const dnet_topo_t *t, int s, int in,
                                int out, int sl)
{
    if (!lanes || !lanes->vl)
        return sl;
    size_t ports = (size_t) t->sw[s].ports + 1;
    return lanes->vl[lanes->vl_start[s] +
                     ((size_t) in * ports + (size_t) out) * DNET_SERVICE_LEVELS + (size_t) sl];
}

/** Service levels of a table's paths, all SL_NONE.  @return DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_lanes_new(const dnet_tables_t *tables, bool of_hosts, dnet_lanes_t **out);

/** Free lanes; NULL is allowed. */
void dnet_lanes_free(dnet_lanes_t *lanes);

/** Tables of a topology, all entries DNET_TABLE_NONE.  @return DNET_OK; ERR_NO_MEMORY, logged */
dnet_status_t dnet_tables_new(const dnet_topo_t *t, dnet_tables_t **out);

/** Free tables; NULL is allowed. */
void dnet_tables_free(dnet_tables_t *tables);

/** Mark the columns for which some switch in service has no entry. */
void dnet_tables_mark_holes(const dnet_tables_t *tables, bool *marked);

/** Print the way between two servers, switch by switch.  @return false: the tables do not lead
 * there */
bool dnet_tables_explain(const dnet_tables_t *tables, int src, int dst, FILE *out);

#endif
