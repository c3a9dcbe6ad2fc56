/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From allowed turns to forwarding tables.  A switch forwards by destination only, not by input
 * port, so each destination needs one output channel per switch such that all turns along the
 * resulting tree are allowed (tables_label.c).  Afterwards the trees over the links that carry most
 * are led elsewhere (tables_batch.c), and switches that nothing but management asks for get their
 * entries (fill.c, tables_holes.c).  With tables in force only what is broken is made anew
 * (tables_change.c).
 */
#include "subnet/routing/tables_build.h"

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
        st = dnet_build_all(&b, opt->traffic, tables);
        if (!st && balance == DNET_BALANCE_TREE)
            st = dnet_build_refine(&b, opt->traffic, tables);
    }
    if (!st && b.ord)
        st = dnet_build_holes(&b, opt->traffic, r->turns, tables);
    dnet_build_free(&b);
    if (st)
        dnet_tables_free(tables);
    else
        r->tables = tables;
    return st;
}
