/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One tree for all multicast groups, such that its turns close no cycle with those that tables
 * take. Those come first; others are taken only where the tree would not reach all servers without.
 */
#include "subnet/routing/acyclic.h"
#include "subnet/routing/multicast.h"

#include <stdlib.h>
#include <string.h>

#define ROOTS 64 /* tried at most */

/* Links to add next, the first kind first: of the old tree, with turns that tables take, any. */
enum { OLD, USED, ANY, LINKS };

typedef struct growth {
    const dnet_topo_t *t;
    dnet_turns_t *turns; /* that tables take, and the tree */
    uint64_t *used;      /* their bits without the tree */
    dnet_order_t *order; /* made when first needed; NULL: no other turns yet */
    bool opening;        /* other turns may be taken */
    const int *old;
    int *tree;
    int *queue, queued;
    int at[LINKS]; /* place in the queue up to which there is no such link */
    bool *inside;  /* [switch] */
    size_t *start; /* [switch]: first word of its slots */
    uint64_t *slots;
} growth_t;

static void take(growth_t *g, int c)
{
    const dnet_topo_t *t = g->t;
    int s = dnet_topo_tail(t, c), u = dnet_topo_head(t, c), i = t->slot[c], j = t->slot[c ^ 1];
    g->slots[g->start[s] + (size_t) (i >> 6)] |= (uint64_t) 1 << (i & 63);
    g->slots[g->start[u] + (size_t) (j >> 6)] |= (uint64_t) 1 << (j & 63);
    g->tree[u] = c >> 1;
    g->inside[u] = true;
    g->queue[g->queued++] = u;
}

/* Are the turns between a slot of s and all of the tree's there in use, or may be? */
static bool suits(growth_t *g, int s, int slot, bool open)
{
    const uint64_t *row = dnet_turns_row(g->turns, s, slot), *slots = g->slots + g->start[s];
    for (int w = 0; w < g->turns->words[s]; w++)
        for (uint64_t m = slots[w] & ~row[w]; m; m &= m - 1)
            if (!open || (!g->order && dnet_order_resume(g->turns, &g->order)) ||
                !dnet_order_allow(g->order, s, 64 * w + __builtin_ctzll(m), slot))
                return false;
    return true;
}

/* Add one link of a kind.  @return false: there is none left */
static bool add_link(growth_t *g, int kind)
{
    const dnet_topo_t *t = g->t;
    for (; g->at[kind] < g->queued; g->at[kind]++) {
        int s = g->queue[g->at[kind]];
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            int c = dnet_topo_channel(t, s, i), u = dnet_topo_head(t, c);
            bool known = g->old && (g->old[s] == c >> 1 || g->old[u] == c >> 1);
            if (g->inside[u] || (kind == OLD && !known) ||
                !suits(g, s, i, g->opening && kind != USED))
                continue;
            take(g, c);
            return true;
        }
    }
    return false;
}

/* The tree from a root by the first so many kinds of links.  @return switches with servers in it */
static int grow(growth_t *g, int root, int kinds)
{
    const dnet_topo_t *t = g->t;
    int served = 0;
    memcpy(g->turns->bits, g->used, g->turns->start[t->n_switches] * sizeof(*g->used));
    dnet_order_free(g->order);
    g->order = NULL;
    memset(g->at, 0, sizeof(g->at));
    memset(g->inside, 0, (size_t) t->n_switches * sizeof(*g->inside));
    memset(g->slots, 0, g->start[t->n_switches] * sizeof(*g->slots));
    for (int s = 0; s < t->n_switches; s++)
        g->tree[s] = DNET_TOPO_NONE;
    g->inside[root] = true;
    g->queue[0] = root;
    g->queued = 1;
    for (int kind = 0; kind < kinds;)
        kind = add_link(g, kind) ? OLD : kind + 1;
    for (int i = 0; i < g->queued; i++)
        served += t->sw[g->queue[i]].hosts > 0;
    return served;
}

/* Turns that packets take. */
static void take_turns(const dnet_tables_t *tables, dnet_turns_t *turns)
{
    const dnet_topo_t *t = tables->topo;
    for (int x = 0; x < dnet_tables_columns(tables); x++)
        for (int s = 0; s < t->n_switches; s++) {
            int in, on, u;
            if (dnet_topo_port(t, s, dnet_tables_row(tables, s)[x], &in) != DNET_PORT_CHANNEL)
                continue;
            u = dnet_topo_head(t, in);
            if (dnet_topo_port(t, u, dnet_tables_row(tables, u)[x], &on) == DNET_PORT_CHANNEL &&
                on != (in ^ 1))
                dnet_turns_set(turns, u, t->slot[in ^ 1], t->slot[on], true);
        }
}

/* From ever other roots, higher levels first, until all servers are reached.  @return switches with
 * servers that the best tree reaches, whose root is set */
static int try_roots(growth_t *g, int wanted, int *root)
{
    const dnet_topo_t *t = g->t;
    int most = -1, top = 0, tried = 0;
    for (int s = 0; s < t->n_switches; s++)
        top = t->sw[s].level > top ? t->sw[s].level : top;
    for (int level = top; level >= 0; level--)
        for (int s = 0; s < t->n_switches && most < wanted && tried < ROOTS; s++) {
            if (t->sw[s].level != level || t->sw[s].down)
                continue;
            int served = grow(g, s, g->opening ? LINKS : USED + 1);
            tried++;
            if (served > most) {
                most = served;
                *root = s;
            }
        }
    return most;
}

static dnet_status_t growth_init(growth_t *g, const dnet_tables_t *tables, int *wanted)
{
    const dnet_topo_t *t = g->t;
    size_t ns = (size_t) t->n_switches;
    *wanted = 0;
    g->queue = dnet_subnet_alloc(ns, sizeof(int));
    g->inside = dnet_subnet_alloc(ns, sizeof(*g->inside));
    g->start = dnet_subnet_alloc(ns + 1, sizeof(*g->start));
    if (!g->queue || !g->inside || !g->start || dnet_turns_new(t, false, &g->turns))
        return DNET_ERR_NO_MEMORY;
    for (int s = 0; s < t->n_switches; s++) {
        g->start[s + 1] = g->start[s] + (size_t) g->turns->words[s];
        *wanted += t->sw[s].hosts > 0 && !t->sw[s].down;
    }
    g->slots = dnet_subnet_alloc(g->start[ns], sizeof(*g->slots));
    g->used = dnet_subnet_alloc(g->turns->start[ns], sizeof(*g->used));
    if (!g->slots || !g->used)
        return DNET_ERR_NO_MEMORY;
    take_turns(tables, g->turns);
    memcpy(g->used, g->turns->bits, g->turns->start[ns] * sizeof(*g->used));
    return DNET_OK;
}

static dnet_status_t find_tree(const dnet_tables_t *tables, const int *old, int *tree, int *left)
{
    growth_t g = {.t = tables->topo, .old = old, .tree = tree};
    int wanted, root = 0;
    dnet_status_t st = growth_init(&g, tables, &wanted);
    if (!st)
        *left = wanted - try_roots(&g, wanted, &root);
    g.opening = true;
    if (!st && *left)
        *left = wanted - grow(&g, root, LINKS);
    if (!st && *left)
        *left = wanted - try_roots(&g, wanted, &root);
    if (!st && *left)
        grow(&g, root, LINKS); /* the best there was */
    dnet_order_free(g.order);
    dnet_turns_free(g.turns);
    free(g.queue);
    free(g.inside);
    free(g.start);
    free(g.slots);
    free(g.used);
    return st;
}

dnet_status_t dnet_mcast_tree(const dnet_tables_t *tables, const int *old, int *tree, int *left)
{
    dnet_status_t st = find_tree(tables, old, tree, left);
    return st || !*left || !old ? st : find_tree(tables, NULL, tree, left);
}

dnet_status_t dnet_mcast_route(const dnet_topo_t *t, const dnet_engine_t *engine,
                               const dnet_route_options_t *opt, dnet_routing_t *r, int *tree,
                               int *left)
{
    dnet_status_t st = dnet_route(t, engine, opt, NULL, r);
    if (st)
        return st;
    st = dnet_mcast_tree(r->tables, opt->from_tree, tree, left);
    if (!st && (!*left || !r->kept))
        return DNET_OK;
    dnet_routing_free(r);
    if (st)
        return st;
    dnet_route_options_t anew = *opt;
    anew.from = NULL;
    anew.from_tree = NULL;
    return dnet_mcast_route(t, engine, &anew, r, tree, left);
}

static int far_end(const dnet_topo_t *t, int link, int s)
{
    return t->link[link].sw[t->link[link].sw[0] == s];
}

dnet_status_t dnet_mcast_span(dnet_mcast_t *m, int group, const int *tree)
{
    const dnet_topo_t *t = m->topo;
    static const uint64_t none[DNET_MCAST_WORDS];
    int *space = dnet_subnet_alloc(3 * (size_t) t->n_switches, sizeof(int)), total = 0, n = 0;
    if (!space)
        return DNET_ERR_NO_MEMORY;
    /* Leaves of the tree first: a switch follows when all behind it have been looked at. */
    int *left = space, *ready = left + t->n_switches, *members = ready + t->n_switches;
    for (int s = 0; s < t->n_switches; s++) {
        members[s] = memcmp(dnet_mcast_ports(m, group, s), none, sizeof(none)) != 0;
        total += members[s];
        if (tree[s] != DNET_TOPO_NONE)
            left[far_end(t, tree[s], s)]++;
    }
    for (int s = 0; s < t->n_switches; s++)
        if (left[s] == 0)
            ready[n++] = s;
    for (int i = 0; i < n; i++) {
        int s = ready[i];
        if (tree[s] == DNET_TOPO_NONE)
            continue;
        int up = far_end(t, tree[s], s), side = t->link[tree[s]].sw[1] == s;
        if (members[s] > 0 && members[s] < total) {
            dnet_mcast_add(m, group, s, t->link[tree[s]].port[side]);
            dnet_mcast_add(m, group, up, t->link[tree[s]].port[!side]);
        }
        members[up] += members[s];
        if (--left[up] == 0)
            ready[n++] = up;
    }
    free(space);
    return DNET_OK;
}
