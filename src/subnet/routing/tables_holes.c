/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LIDs that some switch has no way to (tables_build.h), filled on all processors where what
 * servers' packets pass stays, since such columns do not depend on each other.
 */
#include "subnet/routing/tables_build.h"
#include "subnet/base/workers.h"

#include <stdlib.h>

/* What the threads that fill columns share. */
typedef struct {
    dnet_build_t *crew;
    dnet_tables_t *tables;
    int *columns; /* with holes */
    bool *done;   /* [item] */
    bool *used;   /* [worker * switches + switch] */
} holes_t;

/* A column for all switches in which what servers' packets pass stays: no load changes. */
static void fill_unused(void *arg, int worker, int item)
{
    holes_t *h = arg;
    dnet_build_t *b = &h->crew[worker];
    bool *used = h->used + (size_t) worker * (size_t) b->t->n_switches;
    int column = h->columns[item];
    dnet_build_adopt(b, h->tables, column);
    h->done[item] = dnet_build_label_around(b, b->dest, used);
    for (int s = 0; s < b->t->n_switches && h->done[item]; s++)
        if (!used[s] && b->next[s] != DNET_TOPO_NONE)
            dnet_tables_row(h->tables, s)[column] = b->port[b->next[s]];
}

/* All columns with holes; *left still have some. */
static dnet_status_t fill_holes(dnet_build_t *b, const dnet_traffic_t *tr, holes_t *h, int threads,
                                long *left)
{
    int n = 0, others = 0;
    dnet_tables_mark_holes(h->tables, h->done);
    for (int x = 0; x < dnet_tables_columns(h->tables); x++)
        if (h->done[x] && dnet_build_lives(h->tables, x))
            h->columns[n++] = x;
    dnet_workers_run(n, threads, fill_unused, h);
    for (int i = 0; i < n; i++)
        if (!h->done[i])
            h->columns[others++] = h->columns[i];
    return dnet_build_anew(b, tr, h->tables, h->columns, others, left);
}

/* Turns are opened for what is left. */
static dnet_status_t open_holes(dnet_build_t *b, const dnet_traffic_t *tr, holes_t *h, int threads,
                                dnet_turns_t *turns)
{
    dnet_status_t st = dnet_tables_fill(h->tables, turns);
    if (!st && h->tables->unmanaged)
        st = dnet_build_order(b);
    return st || !h->tables->unmanaged ? st : fill_holes(b, tr, h, threads, &h->tables->unmanaged);
}

dnet_status_t dnet_build_holes(dnet_build_t *b, const dnet_traffic_t *tr, dnet_turns_t *turns,
                               dnet_tables_t *tables)
{
    size_t columns = (size_t) dnet_tables_columns(tables);
    int threads = dnet_workers();
    long left = 0;
    dnet_build_want(b, true);
    holes_t h = {.tables = tables,
                 .columns = dnet_subnet_alloc(columns, sizeof(int)),
                 .done = dnet_subnet_alloc(columns, sizeof(bool)),
                 .used =
                     dnet_subnet_alloc((size_t) threads * (size_t) b->t->n_switches, sizeof(bool)),
                 .crew = dnet_build_crew_new(b, threads)};
    dnet_status_t st = !h.columns || !h.done || !h.used || !h.crew ? DNET_ERR_NO_MEMORY : DNET_OK;
    if (!st)
        st = fill_holes(b, tr, &h, threads, &left);
    if (!st && left)
        st = open_holes(b, tr, &h, threads, turns);
    free(h.columns);
    free(h.done);
    free(h.used);
    dnet_build_crew_free(h.crew, threads);
    return st;
}
