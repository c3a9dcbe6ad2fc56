/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LIDs that some switch has no way to (tables_build.h), filled on all processors where what
 * servers' packets pass stays, since such columns do not depend on each other.
 */
#include "subnet/routing/tables_build.h"
#include "subnet/routing/acyclic.h"
#include "subnet/base/workers.h"

#include <stdlib.h>
#include <string.h>

/* Columns for which some switch has no entry.  @return how many */
static int find_holes(const dnet_tables_t *tables, int *columns)
{
    const dnet_topo_t *t = tables->topo;
    int n = 0, all = dnet_tables_columns(tables);
    memset(columns, 0, (size_t) all * sizeof(*columns));
    for (int s = 0; s < t->n_switches; s++) {
        const uint16_t *row = dnet_tables_row(tables, s);
        for (int x = 0; x < all && !t->sw[s].down && dnet_topo_degree(t, s); x++)
            columns[x] |= row[x] == DNET_TABLE_NONE;
    }
    for (int x = 0; x < all; x++)
        if (columns[x] && dnet_build_lives(tables, x))
            columns[n++] = x;
    return n;
}

/* What the threads that fill columns share. */
typedef struct {
    dnet_build_t *crew;
    dnet_tables_t *tables;
    const int *columns;
    bool *done; /* [item] */
    bool *used; /* [worker * switches + switch] */
} holes_t;

/* A column for all switches in which what servers' packets pass stays: no load changes. */
static void fill_unused(void *arg, int worker, int item)
{
    holes_t *h = arg;
    dnet_build_t *b = &h->crew[worker];
    dnet_build_adopt(b, h->tables, h->columns[item]);
    h->done[item] =
        dnet_build_label_keeping(b, b->dest, h->used + (size_t) worker * (size_t) b->t->n_switches);
    if (h->done[item])
        dnet_build_store(b, h->tables, h->columns[item]);
}

/* A column for all switches, with the loads of its traffic. */
static bool route_everywhere(dnet_build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables,
                             int column)
{
    bool traffic = column % tables->dests < b->t->n_hosts && b->balance != DNET_BALANCE_PORT;
    b->lids = dnet_topo_lids(b->t, column % tables->dests);
    dnet_build_adopt(b, tables, column);
    if (traffic)
        dnet_build_put_load(b, tr, -1, NULL);
    bool good = dnet_build_label(b, b->dest, tables);
    if (good)
        dnet_build_store(b, tables, column);
    else
        dnet_build_adopt(b, tables, column);
    if (traffic)
        dnet_build_put_load(b, tr, 1, NULL);
    return good;
}

dnet_status_t dnet_build_holes(dnet_build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables)
{
    size_t columns = (size_t) dnet_tables_columns(tables);
    int threads = dnet_workers(),
        cyclic = dnet_turns_order(b->turns, b->ord); /* turns have been opened */
    dnet_status_t st = cyclic < 0 ? DNET_ERR_NO_MEMORY : cyclic ? DNET_ERR_STATE : DNET_OK;
    int *holes = dnet_subnet_alloc(columns, sizeof(*holes));
    dnet_build_want(b, true);
    holes_t h = {.tables = tables,
                 .columns = holes,
                 .done = dnet_subnet_alloc(columns, sizeof(bool)),
                 .used =
                     dnet_subnet_alloc((size_t) threads * (size_t) b->t->n_switches, sizeof(bool)),
                 .crew = dnet_build_crew_new(b, threads)};
    if (!st && (!holes || !h.done || !h.used || !h.crew))
        st = DNET_ERR_NO_MEMORY;
    int n = st ? 0 : find_holes(tables, holes);
    dnet_workers_run(n, threads, fill_unused, &h);
    for (int i = 0; i < n; i++)
        tables->unmanaged -= h.done[i] || route_everywhere(b, tr, tables, holes[i]);
    free(holes);
    free(h.done);
    free(h.used);
    dnet_build_crew_free(h.crew, threads);
    return st;
}
