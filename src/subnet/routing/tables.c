/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From allowed turns to forwarding tables.  A switch forwards by destination only, not by input
 * port, so each destination needs one output channel per switch such that all turns along the
 * resulting tree are allowed (tables_label.c).  Afterwards the trees over the links that carry most
 * are led elsewhere (tables_balance.c), and switches that nothing but management asks for get their
 * entries (fill.c, tables_holes.c).  With tables in force only what is broken is made anew
 * (tables_change.c).
 */
#include "subnet/routing/tables_build.h"
#include "subnet/base/progress.h"

/* All columns from nothing, one after the other. */
static void route_all(dnet_build_t *b, const dnet_route_options_t *opt, dnet_tables_t *tables)
{
    const dnet_topo_t *t = b->t;
    dnet_progress_begin("forwarding tables", dnet_tables_columns(tables));
    for (int i = 0; i < dnet_tables_columns(tables); i++) {
        int column = dnet_build_column_at(tables, i), d = column % tables->dests;
        dnet_progress(i);
        if (!dnet_build_lives(tables, column))
            continue;
        b->lids = dnet_topo_lids(t, d);
        tables->unrouted +=
            !dnet_build_label(b, dnet_topo_dest_switch(t, d), tables) && d < t->n_hosts;
        dnet_build_store(b, tables, column);
        if (b->balance == DNET_BALANCE_PORT)
            dnet_build_add_count(b);
        else if (d < t->n_hosts)
            dnet_build_put_load(b, opt->traffic, 1, NULL);
    }
    dnet_progress_end();
}

dnet_status_t dnet_tables_from_turns(const dnet_topo_t *t, const dnet_route_options_t *opt,
                                     dnet_balance_t balance, dnet_routing_t *r)
{
    dnet_build_t b = {.t = t, .balance = balance, .most = {{1, 1}}};
    dnet_tables_t *tables = NULL;
    dnet_status_t st = dnet_build_init(&b, r);
    if (!st)
        st = dnet_tables_new(t, &tables);
    if (st) {
        dnet_build_free(&b);
        return st;
    }
    if (r->kept) {
        st = dnet_build_changes(&b, opt, tables);
    } else {
        route_all(&b, opt, tables);
        if (balance == DNET_BALANCE_TREE)
            st = dnet_build_refine(&b, opt->traffic, tables);
    }
    if (!st && b.ord) {
        st = dnet_tables_fill(tables, r->turns);
        if (!st && tables->unmanaged)
            st = dnet_build_holes(&b, opt->traffic, tables);
    }
    dnet_build_free(&b);
    if (st)
        dnet_tables_free(tables);
    else
        r->tables = tables;
    return st;
}
