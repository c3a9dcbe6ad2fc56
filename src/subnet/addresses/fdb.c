/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forwarding databases in blocks of 64 LIDs: what a failure changes, block by block, and standard
 * leaf-spine tables for networks larger than an InfiniBand switch's 254 ports allow [LID §3, §6].
 */
#include "subnet/addresses/lid.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

#define LIDS (UINT16_MAX + 1)

enum { NODE = 1, SWITCH = 2 };

int dnet_fdb_blocks(const dnet_topo_t *t)
{
    int highest = 0;
    for (int d = 0; d < dnet_topo_dests(t); d++)
        if (dnet_lid_of(t, d) && dnet_lid_of(t, d) + dnet_topo_lids(t, d) - 1 > highest)
            highest = dnet_lid_of(t, d) + dnet_topo_lids(t, d) - 1;
    return highest / DNET_LID_BLOCK + 1;
}

/* What two sets of tables have at a switch, and whose entries they are. */
typedef struct rows {
    uint16_t port[2][LIDS]; /* by LID */
    char kind[LIDS];
    char changed[LIDS / DNET_LID_BLOCK]; /* by block */
} rows_t;

static bool same_lids(const dnet_tables_t *a, const dnet_tables_t *b)
{
    bool same = a->planes == b->planes && a->dests == b->dests;
    for (int x = 0; x < dnet_tables_columns(a) && same; x++)
        same = dnet_lid_of_column(a, x) == dnet_lid_of_column(b, x);
    return same;
}

static char kind_of(const dnet_tables_t *tables, int column)
{
    return column % tables->dests < tables->topo->n_hosts ? NODE : SWITCH;
}

/* Entries of switch s that differ, where each LID is of the same end port in both. */
static long compare_columns(const dnet_tables_t *a, const dnet_tables_t *b, int s, rows_t *r)
{
    const uint16_t *x = dnet_tables_row(a, s), *y = dnet_tables_row(b, s);
    long entries = 0;
    for (int i = 0; i < dnet_tables_columns(a); i++)
        if (x[i] != y[i]) {
            r->changed[dnet_lid_of_column(a, i) / DNET_LID_BLOCK] |= kind_of(a, i);
            entries++;
        }
    return entries;
}

/* The same where end ports have got other LIDs. */
static long compare_lids(const dnet_tables_t *const side[2], int s, rows_t *r)
{
    long entries = 0;
    memset(r->port, 0xff, sizeof(r->port));
    memset(r->kind, 0, sizeof(r->kind));
    for (int i = 0; i < 2; i++)
        for (int x = 0; x < dnet_tables_columns(side[i]); x++) {
            uint16_t lid = dnet_lid_of_column(side[i], x);
            if (lid) {
                r->port[i][lid] = dnet_tables_row(side[i], s)[x];
                r->kind[lid] |= kind_of(side[i], x);
            }
        }
    for (int lid = 1; lid < LIDS; lid++)
        if (r->port[0][lid] != r->port[1][lid]) {
            r->changed[lid / DNET_LID_BLOCK] |= r->kind[lid];
            entries++;
        }
    return entries;
}

dnet_status_t dnet_fdb_compare(const dnet_topo_t *t, const dnet_tables_t *a, const dnet_tables_t *b,
                               dnet_fdb_diff_t *diff)
{
    const dnet_tables_t *const side[2] = {a, b};
    bool same = same_lids(a, b);
    rows_t *r = dnet_subnet_alloc(1, sizeof(*r));
    *diff = (dnet_fdb_diff_t){0};
    if (!r)
        return DNET_ERR_NO_MEMORY;
    for (int s = 0; s < t->n_switches; s++) {
        int here = 0;
        if (t->sw[s].down)
            continue;
        memset(r->changed, 0, sizeof(r->changed));
        diff->entries += same ? compare_columns(a, b, s, r) : compare_lids(side, s, r);
        for (size_t i = 0; i < sizeof(r->changed); i++) {
            here += r->changed[i] != 0;
            diff->node_blocks += (r->changed[i] & NODE) != 0;
            diff->switch_blocks += (r->changed[i] & SWITCH) != 0;
            diff->leaf_node_blocks += (r->changed[i] & NODE) != 0 && t->sw[s].hosts > 0;
        }
        diff->blocks += here;
        diff->max_per_switch = here > diff->max_per_switch ? here : diff->max_per_switch;
    }
    free(r);
    return DNET_OK;
}

long dnet_fdb_moved(const dnet_tables_t *old, const dnet_tables_t *new, dnet_lid_moved_t *example)
{
    long moved = 0;
    int *owner = dnet_subnet_alloc(LIDS, sizeof(*owner));
    if (!owner)
        return -1;
    for (int x = 0; x < dnet_tables_columns(old); x++)
        if (dnet_lid_of_column(old, x))
            owner[dnet_lid_of_column(old, x)] = x % old->dests + 1;
    for (int x = 0; x < dnet_tables_columns(new); x++) {
        uint16_t lid = dnet_lid_of_column(new, x);
        if (!lid || !owner[lid] || owner[lid] == x % new->dests + 1)
            continue;
        if (moved++ == 0)
            *example = (dnet_lid_moved_t){lid, owner[lid] - 1, x % new->dests};
    }
    free(owner);
    return moved;
}

/* Leaves, spines and the ports that join them. */
typedef struct clos {
    const dnet_topo_t *t;
    int leaves, spines, failed;
    int *leaf, *spine; /* switch numbers */
    int *number;       /* [switch]: place among its kind */
    int *up;           /* [leaf * spines + spine]: leaf's port */
    int *down;         /* the spine's port */
} clos_t;

static dnet_status_t clos_read(clos_t *c)
{
    const dnet_topo_t *t = c->t;
    size_t ns = (size_t) t->n_switches;
    c->leaf = dnet_subnet_alloc(ns, sizeof(int));
    c->spine = dnet_subnet_alloc(ns, sizeof(int));
    c->number = dnet_subnet_alloc(ns, sizeof(int));
    if (!c->leaf || !c->spine || !c->number)
        return DNET_ERR_NO_MEMORY;
    for (int s = 0; s < t->n_switches; s++) {
        int *list = t->sw[s].hosts ? c->leaf : c->spine;
        int *n = t->sw[s].hosts ? &c->leaves : &c->spines;
        c->number[s] = *n;
        list[(*n)++] = s;
    }
    size_t links = (size_t) c->leaves * (size_t) c->spines, found = 0;
    c->up = dnet_subnet_alloc(links, sizeof(int));
    c->down = dnet_subnet_alloc(links, sizeof(int));
    if (!c->up || !c->down)
        return DNET_ERR_NO_MEMORY;
    for (int l = 0; l < t->n_links; l++) {
        int side = t->sw[t->link[l].sw[0]].hosts ? 0 : 1;
        int leaf = t->link[l].sw[side], spine = t->link[l].sw[!side];
        if (!t->sw[leaf].hosts || t->sw[spine].hosts || t->slot[2 * l] == DNET_TOPO_NONE)
            break;
        int at = c->number[leaf] * c->spines + c->number[spine];
        found += c->up[at] == 0;
        c->up[at] = t->link[l].port[side];
        c->down[at] = t->link[l].port[!side];
    }
    if (found == links && links == (size_t) t->n_links && links > 0)
        return DNET_OK;
    dnet_error(
        "subnet: %s is not leaves with one link to every spine, all in service; make one with "
        "leaf-spine:LEAVES:NODES:SPINES",
        t->name);
    return DNET_ERR_LIMIT;
}

/* Port of leaf x towards spine s, or the next spine if s has failed. */
static uint16_t up_port(const clos_t *c, int x, int s)
{
    if (s == c->failed)
        s = (s + 1) % c->spines;
    return (uint16_t) c->up[x * c->spines + s];
}

static void fill_hosts(const clos_t *c, dnet_tables_t *tables)
{
    const dnet_topo_t *t = c->t;
    int first = DNET_TOPO_PORT_MAX;
    for (int h = 0; h < t->n_hosts; h++)
        first = t->host[h].port < first ? t->host[h].port : first;
    for (int h = 0; h < t->n_hosts; h++) {
        int home = c->number[t->host[h].sw], spine = (t->host[h].port - first) % c->spines;
        for (int x = 0; x < c->leaves; x++)
            dnet_tables_row(tables, c->leaf[x])[h] =
                x == home ? (uint16_t) t->host[h].port : up_port(c, x, spine);
        for (int s = 0; s < c->spines; s++)
            dnet_tables_row(tables, c->spine[s])[h] = (uint16_t) c->down[home * c->spines + s];
    }
}

static void fill_leaves(const clos_t *c, dnet_switch_routes_t rule, dnet_tables_t *tables)
{
    int run = (c->leaves + c->spines - 1) / c->spines;
    for (int e = 0; e < c->leaves; e++) {
        int d = c->t->n_hosts + c->leaf[e];
        int spine = rule == DNET_SWITCH_ROUTES_ROTATE ? e % c->spines : e / run;
        for (int x = 0; x < c->leaves; x++)
            dnet_tables_row(tables, c->leaf[x])[d] = x == e ? 0 : up_port(c, x, spine);
        for (int s = 0; s < c->spines; s++)
            dnet_tables_row(tables, c->spine[s])[d] = (uint16_t) c->down[e * c->spines + s];
    }
}

/* All LIDs of a server are reached as its first. */
static void copy_planes(const dnet_topo_t *t, dnet_tables_t *tables)
{
    for (int s = 0; s < t->n_switches; s++)
        for (int x = tables->dests; x < dnet_tables_columns(tables); x++)
            if (dnet_tables_dest(tables, x) != DNET_TOPO_NONE)
                dnet_tables_row(tables, s)[x] = dnet_tables_row(tables, s)[x % tables->dests];
}

/* A failed spine's own LID leads nowhere any more. */
static void fill_spines(const clos_t *c, dnet_tables_t *tables)
{
    for (int s = 0; s < c->spines; s++) {
        int d = c->t->n_hosts + c->spine[s], via = s % c->leaves;
        if (s == c->failed)
            continue;
        for (int x = 0; x < c->leaves; x++)
            dnet_tables_row(tables, c->leaf[x])[d] = (uint16_t) c->up[x * c->spines + s];
        for (int other = 0; other < c->spines; other++)
            dnet_tables_row(tables, c->spine[other])[d] =
                other == s ? 0 : (uint16_t) c->down[via * c->spines + other];
    }
}

dnet_status_t dnet_fdb_leaf_spine(const dnet_topo_t *t, int failed, dnet_switch_routes_t rule,
                                  dnet_tables_t **out)
{
    clos_t c = {.t = t, .failed = failed};
    dnet_status_t st = clos_read(&c);
    if (!st && (failed >= c.spines || (failed >= 0 && c.spines < 2))) {
        dnet_error("subnet: spine %d of %d cannot fail and leave another", failed + 1, c.spines);
        st = DNET_ERR_ARGUMENT;
    }
    if (!st)
        st = dnet_tables_new(t, out);
    if (!st) {
        fill_hosts(&c, *out);
        fill_leaves(&c, rule, *out);
        fill_spines(&c, *out);
        copy_planes(t, *out);
        if (failed >= 0) /* the table of a dead switch is not written */
            memset(dnet_tables_row(*out, c.spine[failed]), 0xff,
                   (size_t) dnet_tables_columns(*out) * sizeof(uint16_t));
    }
    free(c.leaf);
    free(c.spine);
    free(c.number);
    free(c.up);
    free(c.down);
    return st;
}

double dnet_fdb_seconds(long mads, double mad_us, int window)
{
    return (double) mads * mad_us * 1e-6 / window;
}
