/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partitions (partitions.h).
 */
#include "subnet/routing/partitions.h"

#include <stdlib.h>

dnet_status_t dnet_partitions_new(const dnet_topo_t *t, dnet_partitions_t **out)
{
    dnet_partitions_t *p = dnet_subnet_alloc(1, sizeof(*p));
    if (!p)
        return DNET_ERR_NO_MEMORY;
    p->member = dnet_subnet_alloc((size_t) t->n_hosts, sizeof(*p->member));
    p->full = dnet_subnet_alloc((size_t) t->n_hosts, sizeof(*p->full));
    if (!p->member || !p->full) {
        dnet_partitions_free(p);
        return DNET_ERR_NO_MEMORY;
    }
    *out = p;
    return DNET_OK;
}

void dnet_partitions_free(dnet_partitions_t *p)
{
    if (!p)
        return;
    free(p->member);
    free(p->full);
    free(p);
}

int dnet_partitions_get(dnet_partitions_t *p, int pkey)
{
    for (int i = 0; i < p->count && pkey != DNET_TOPO_NONE; i++)
        if (p->pkey[i] == pkey)
            return i;
    if (p->count == DNET_PARTITIONS_MAX)
        return DNET_TOPO_NONE;
    p->pkey[p->count] = pkey;
    return p->count++;
}

dnet_status_t dnet_partitions_traffic(const dnet_partitions_t *p, const dnet_topo_t *t,
                                      dnet_traffic_t *tr)
{
    size_t ns = (size_t) t->n_switches;
    dnet_status_t st = dnet_traffic_init(tr, t, DNET_TRAFFIC_MATRIX, 0);
    if (st)
        return st;
    tr->matrix = dnet_subnet_alloc(ns * ns, sizeof(*tr->matrix));
    if (!tr->matrix) {
        dnet_traffic_free(tr);
        return DNET_ERR_NO_MEMORY;
    }
    for (int a = 0; a < t->n_hosts; a++) {
        double *row = tr->matrix + (size_t) t->host[a].sw * ns;
        int peers = 0;
        for (int b = 0; b < t->n_hosts; b++)
            peers += b != a && dnet_partitions_talk(p, a, b);
        for (int b = 0; b < t->n_hosts; b++)
            if (b != a && dnet_partitions_talk(p, a, b))
                row[t->host[b].sw] += 1.0 / peers;
    }
    return DNET_OK;
}
