/* SPDX-License-Identifier: BSD-3-Clause
 *
 * turnprohib: the turn prohibition algorithm, TP [TA §2.3.2, §5.1].  Again and again the switch
 * with the smallest weight of turns loses all turns between links that still exist, and is
 * removed with its links.  The source is silent on two points; here the sums are recomputed on
 * the remaining graph, and only a switch whose removal keeps the rest connected is taken: without
 * that a bridge could lose all its turns.
 *
 * Spanning tree of allowed turns: each removed switch hangs off a neighbour that remained.
 */
#include "subnet/engines/engines.h"
#include "subnet/base/progress.h"

#include <stdlib.h>

typedef struct tp {
    const dnet_topo_t *t;
    const dnet_weights_t *w;
    double *sum; /* weight of the turns left at a switch */
    char *removed;
    int *seen, *low;      /* depth-first numbers */
    int *stack, *at, *up; /* path of the search, next slot, channel from the parent */
    char *cut;            /* removal would split the rest */
    int clock;
} tp_t;

static bool link_left(const tp_t *p, int c)
{
    return !p->removed[dnet_topo_head(p->t, c)] && !p->removed[dnet_topo_tail(p->t, c)];
}

static double turns_left(const tp_t *p, int s)
{
    double sum = 0;
    int degree = dnet_topo_degree(p->t, s);
    for (int i = 1; i < degree; i++) {
        if (!link_left(p, dnet_topo_channel(p->t, s, i)))
            continue;
        const double *row = dnet_weights_row(p->w, s, i);
        for (int j = 0; j < i; j++)
            if (link_left(p, dnet_topo_channel(p->t, s, j)))
                sum += row[j];
    }
    return sum;
}

static void enter(tp_t *p, int s, int *depth, int from)
{
    p->seen[s] = p->low[s] = ++p->clock;
    p->stack[*depth] = s;
    p->at[s] = 0;
    p->up[s] = from;
    ++*depth;
}

/* Articulation points of the component of `root` among the switches left. */
static void find_cuts(tp_t *p, int root)
{
    const dnet_topo_t *t = p->t;
    int depth = 0, children = 0;
    enter(p, root, &depth, DNET_TOPO_NONE);
    while (depth > 0) {
        int s = p->stack[depth - 1];
        if (p->at[s] < dnet_topo_degree(t, s)) {
            int c = dnet_topo_channel(t, s, p->at[s]++), v = dnet_topo_head(t, c);
            if (p->removed[v] || c == (p->up[s] ^ 1))
                continue;
            if (!p->seen[v])
                enter(p, v, &depth, c);
            else if (p->seen[v] < p->low[s])
                p->low[s] = p->seen[v];
            continue;
        }
        depth--;
        if (depth == 0)
            break;
        int parent = p->stack[depth - 1];
        if (p->low[s] < p->low[parent])
            p->low[parent] = p->low[s];
        if (parent == root)
            children++;
        else if (p->low[s] >= p->seen[parent])
            p->cut[parent] = 1;
    }
    p->cut[root] = children > 1;
}

static int lightest(tp_t *p)
{
    int best = DNET_TOPO_NONE;
    p->clock = 0;
    for (int s = 0; s < p->t->n_switches; s++)
        p->seen[s] = p->cut[s] = 0;
    for (int s = 0; s < p->t->n_switches; s++)
        if (!p->removed[s] && !p->seen[s])
            find_cuts(p, s);
    for (int s = 0; s < p->t->n_switches; s++) {
        if (p->removed[s] || p->cut[s])
            continue;
        if (best == DNET_TOPO_NONE ||
            (p->sum[s] < p->sum[best] && !dnet_weights_equal(p->sum[s], p->sum[best])))
            best = s;
    }
    return best;
}

static void remove_switch(tp_t *p, int s, const dnet_route_options_t *opt, dnet_routing_t *r)
{
    const dnet_topo_t *t = p->t;
    int degree = dnet_topo_degree(t, s);
    r->tree[s] = DNET_TOPO_NONE;
    for (int i = 0; i < degree; i++) {
        int c = dnet_topo_channel(t, s, i);
        if (!link_left(p, c))
            continue;
        r->tree[s] = c >> 1;
        for (int j = 0; j < i; j++)
            if (link_left(p, dnet_topo_channel(t, s, j)))
                dnet_turns_set(r->turns, s, i, j, false);
    }
    p->removed[s] = 1;
    for (int i = 0; i < degree && !opt->static_weights; i++) {
        int v = dnet_topo_head(t, dnet_topo_channel(t, s, i));
        if (!p->removed[v])
            p->sum[v] = turns_left(p, v);
    }
}

static dnet_status_t turns(const dnet_topo_t *t, const dnet_route_options_t *opt,
                           const dnet_weights_t *w, dnet_routing_t *r)
{
    size_t ns = (size_t) t->n_switches;
    tp_t p = {.t = t, .w = w};
    p.sum = dnet_subnet_alloc(ns, sizeof(double));
    p.removed = dnet_subnet_alloc(ns, 1);
    p.cut = dnet_subnet_alloc(ns, 1);
    int *space = dnet_subnet_alloc(5 * ns, sizeof(int));
    r->tree = dnet_subnet_alloc(ns, sizeof(int));
    dnet_status_t st = DNET_ERR_NO_MEMORY;
    if (p.sum && p.removed && p.cut && space && r->tree)
        st = dnet_turns_new(t, true, &r->turns);
    if (!st) {
        p.seen = space;
        p.low = space + ns;
        p.stack = space + 2 * ns;
        p.at = space + 3 * ns;
        p.up = space + 4 * ns;
        for (int s = 0; s < t->n_switches; s++)
            p.sum[s] = turns_left(&p, s);
        dnet_progress_begin("prohibiting turns", t->n_switches);
        for (int i = 0; i < t->n_switches; i++) {
            dnet_progress(i);
            remove_switch(&p, lightest(&p), opt, r);
        }
        dnet_progress_end();
    }
    free(p.sum);
    free(p.removed);
    free(p.cut);
    free(space);
    return st;
}

static dnet_status_t tables(const dnet_topo_t *t, const dnet_route_options_t *opt,
                            dnet_routing_t *r)
{
    return dnet_tables_from_turns(t, opt, DNET_BALANCE_TREE, r);
}

const dnet_engine_t dnet_engine_turnprohib = {
    .name = "turnprohib",
    .summary = "TP: prohibit all turns of the lightest switch, remove it, repeat",
    .turns = turns,
    .tables = tables,
    .needs_weights = true,
};
