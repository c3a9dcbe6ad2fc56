/* SPDX-License-Identifier: BSD-3-Clause */
#include "subnet/routing/forwarding.h"

#include <stdlib.h>
#include <string.h>

dnet_status_t dnet_tables_new(const dnet_topo_t *t, dnet_tables_t **out)
{
    dnet_tables_t *tables = dnet_subnet_alloc(1, sizeof(*tables));
    if (!tables)
        return DNET_ERR_NO_MEMORY;
    tables->topo = t;
    tables->dests = dnet_topo_dests(t);
    tables->planes = 1;
    for (int d = 0; d < tables->dests; d++)
        if (dnet_topo_lids(t, d) > tables->planes)
            tables->planes = dnet_topo_lids(t, d);
    size_t entries = (size_t) t->n_switches * (size_t) dnet_tables_columns(tables);
    tables->port = dnet_subnet_alloc(entries, sizeof(*tables->port));
    if (!tables->port) {
        free(tables);
        return DNET_ERR_NO_MEMORY;
    }
    memset(tables->port, 0xff, entries * sizeof(*tables->port));
    *out = tables;
    return DNET_OK;
}

void dnet_tables_free(dnet_tables_t *tables)
{
    if (tables) {
        free(tables->port);
        free(tables->lid);
    }
    free(tables);
}

dnet_status_t dnet_lanes_new(const dnet_tables_t *tables, bool of_hosts, dnet_lanes_t **out)
{
    const dnet_topo_t *t = tables->topo;
    size_t sources = (size_t) (of_hosts ? t->n_hosts : t->n_switches);
    dnet_lanes_t *lanes = dnet_subnet_alloc(1, sizeof(*lanes));
    if (!lanes)
        return DNET_ERR_NO_MEMORY;
    lanes->lanes = 1;
    lanes->of_hosts = of_hosts;
    lanes->columns = (size_t) dnet_tables_columns(tables);
    lanes->sl = dnet_subnet_alloc(sources * lanes->columns, 1);
    if (!lanes->sl) {
        free(lanes);
        return DNET_ERR_NO_MEMORY;
    }
    memset(lanes->sl, DNET_SL_NONE, sources * lanes->columns);
    *out = lanes;
    return DNET_OK;
}

void dnet_lanes_free(dnet_lanes_t *lanes)
{
    if (!lanes)
        return;
    free(lanes->sl);
    free(lanes->vl);
    free(lanes->vl_start);
    free(lanes);
}

void dnet_tables_mark_holes(const dnet_tables_t *tables, bool *marked)
{
    const dnet_topo_t *t = tables->topo;
    int columns = dnet_tables_columns(tables);
    memset(marked, 0, (size_t) columns * sizeof(*marked));
    for (int s = 0; s < t->n_switches; s++) {
        const uint16_t *row = dnet_tables_row(tables, s);
        for (int x = 0; x < columns && !t->sw[s].down && dnet_topo_degree(t, s); x++)
            marked[x] |= row[x] == DNET_TABLE_NONE;
    }
}

bool dnet_tables_explain(const dnet_tables_t *tables, int src, int dst, FILE *out)
{
    const dnet_topo_t *t = tables->topo;
    int s = t->host[src].sw, hops = 0;
    fprintf(out, "%s -> %s port %d\n", t->host[src].name, t->sw[s].name, t->host[src].port);
    for (int c, port; hops <= t->n_switches; hops++) {
        port = dnet_tables_row(tables, s)[dst];
        dnet_port_kind_t kind = dnet_topo_port(t, s, port, &c);
        if (kind == DNET_PORT_HOST && c == dst) {
            fprintf(out, "%s port %d -> %s: %d link%s between switches\n", t->sw[s].name, port,
                    t->host[dst].name, hops, hops == 1 ? "" : "s");
            return true;
        }
        if (kind != DNET_PORT_CHANNEL)
            break;
        int next = dnet_topo_head(t, c), up = t->sw[next].level - t->sw[s].level;
        fprintf(out, "%s port %d -> %s port %d  (%s)\n", t->sw[s].name, port, t->sw[next].name,
                dnet_topo_out_port(t, c ^ 1),
                up > 0   ? "up"
                : up < 0 ? "down"
                         : "across");
        s = next;
    }
    fprintf(out, "no route at %s\n", t->sw[s].name);
    return false;
}
