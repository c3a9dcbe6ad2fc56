/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forwarding tables: what the switches of a topology do with a packet, by its destination.
 */
#ifndef DNET_SUBNET_FORWARDING_H
#define DNET_SUBNET_FORWARDING_H

#include "subnet/topology/topo.h"

#define DNET_TABLE_NONE UINT16_MAX

/* Forwarding tables: an output port for each switch and destination (dnet_topo_dests). */
typedef struct dnet_tables {
    const dnet_topo_t *topo;
    int dests;
    /* [switch * dests + destination]; 0 = this switch itself, TABLE_NONE = drop */
    uint16_t *port;
    long pinned;       /* destinations that needed pinned walks */
    long second_order; /* destinations routed in dependency order, not by hops */
    long fallbacks;    /* destinations routed on the spanning tree */
    long unrouted;     /* servers that some switch with servers has no entry for */
} dnet_tables_t;

static inline uint16_t *dnet_tables_row(const dnet_tables_t *tables, int s)
{
    return tables->port + (size_t) s * (size_t) tables->dests;
}

/** Tables of a topology, all entries DNET_TABLE_NONE.  @return DNET_OK; ERR_NO_MEMORY, logged */
dnet_status_t dnet_tables_new(const dnet_topo_t *t, dnet_tables_t **out);
void dnet_tables_free(dnet_tables_t *tables);

/** Print the way between two servers, switch by switch.  @return false: the tables do not lead
 * there */
bool dnet_tables_explain(const dnet_tables_t *tables, int src, int dst, FILE *out);

#endif
