/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tables in force changed where a failure has broken them, and nowhere else (tables_build.h).
 */
#include "subnet/routing/tables_build.h"

#include <stdlib.h>

/* b has the tree of the old tables to a column.  @return every entry there is at a connected switch
 * still leads there */
static bool adopt_whole(dnet_build_t *b, const dnet_tables_t *from, int column)
{
    int entries = 0;
    dnet_build_adopt(b, from, column);
    for (int s = 0; s < b->t->n_switches; s++)
        entries += !b->t->sw[s].down && b->piece[s] == b->piece[b->dest] &&
                   dnet_tables_row(from, s)[column] != DNET_TABLE_NONE;
    return b->labelled == entries && dnet_build_complete(b);
}

/* The entries that lead nowhere any more, and as few others as possible. */
static void mend(dnet_build_t *b, const dnet_route_options_t *opt, dnet_tables_t *tables,
                 int column, bool *used)
{
    const dnet_tables_t *from = opt->from;
    int d = column % tables->dests, end = dnet_topo_dest_switch(b->t, d);
    bool done = false;
    int c;
    for (int s = 0; s < b->t->n_switches; s++)
        b->was[s] = s != end && dnet_topo_port(b->t, s, dnet_tables_row(from, s)[column], &c) ==
                                    DNET_PORT_CHANNEL
                        ? c
                        : DNET_TOPO_NONE;
    for (int attempt = 0; attempt < 4 && !done; attempt++) {
        b->mixing = attempt < 2;
        dnet_build_adopt(b, from, column);
        done = dnet_build_label_keeping(b, end, attempt & 1 ? used : NULL);
    }
    b->mixing = false;
    tables->unrouted += !done && !dnet_build_label(b, end, tables) && d < b->t->n_hosts;
    dnet_build_store(b, tables, column);
    tables->mended++;
}

/* Links in service that the old tables do not use in either direction: they are back, or new. */
static bool has_idle_links(const dnet_build_t *b)
{
    const dnet_topo_t *t = b->t;
    for (int l = 0; l < t->n_links; l++) {
        if (t->slot[2 * l] == DNET_TOPO_NONE)
            continue;
        const dnet_load_t *x = &b->load[b->place[2 * l]], *y = &b->load[b->place[2 * l + 1]];
        if (x->of[0] + x->of[1] + y->of[0] + y->of[1] <= 0)
            return true;
    }
    return false;
}

dnet_status_t dnet_build_changes(dnet_build_t *b, const dnet_route_options_t *opt,
                                 dnet_tables_t *tables)
{
    int columns = dnet_tables_columns(tables);
    bool *broken = dnet_subnet_alloc((size_t) columns, sizeof(*broken));
    bool *used = dnet_subnet_alloc((size_t) b->t->n_switches, sizeof(*used));
    dnet_status_t st = broken && used ? DNET_OK : DNET_ERR_NO_MEMORY;
    for (int x = 0; x < columns && !st; x++) {
        if (!dnet_build_lives(tables, x))
            continue;
        b->lids = dnet_topo_lids(b->t, x % tables->dests);
        broken[x] = !adopt_whole(b, opt->from, x);
        dnet_build_store(b, tables, x);
        if (!broken[x] && x % tables->dests < b->t->n_hosts)
            dnet_build_put_load(b, opt->traffic, 1);
    }
    if (!st) {
        b->refining = true;
        dnet_build_price_links(b);
    }
    for (int i = 0; i < columns && !st; i++) {
        int x = dnet_build_column_at(tables, i);
        if (!broken[x])
            continue;
        b->lids = dnet_topo_lids(b->t, x % tables->dests);
        mend(b, opt, tables, x, used);
        if (x % tables->dests < b->t->n_hosts)
            dnet_build_put_load(b, opt->traffic, 1);
    }
    if (!st && has_idle_links(b))
        st = dnet_build_refine(b, opt->traffic, tables);
    free(broken);
    free(used);
    return st;
}
