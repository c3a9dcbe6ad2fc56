/* SPDX-License-Identifier: BSD-3-Clause
 *
 * turnadd: turn addition [TA §4], corrected.  All turns start prohibited; turn pairs are taken from
 * the heaviest to the lightest and allowed unless they close a dependency cycle.  Heavy turns get
 * in, light turns pay.
 *
 * Corrections to the published procedure: both directions of a pair are in the graph when it is
 * tested (the published test can leave a cycle); reachability is checked, and if some switch cannot
 * be reached, or some destination has no forwarding tree, the decisions are made again with the
 * turns of a maximum-weight spanning tree allowed first, which can neither close a cycle nor leave
 * any destination out.
 */
#include "subnet/engines/engines.h"
#include "subnet/engines/turnadd.h"
#include "subnet/routing/paths.h"
#include "subnet/base/progress.h"
#include "subnet/base/rng.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

static int by_weight(const void *a, const void *b)
{
    const dnet_turn_pair_t *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    if (x->sw != y->sw)
        return x->sw < y->sw ? -1 : 1;
    return x->i != y->i ? x->i - y->i : x->j - y->j;
}

static int by_key(const void *a, const void *b)
{
    const dnet_turn_pair_t *x = a, *y = b;
    const int kx[] = {x->klass, x->round, x->tree, x->line, x->sw, x->i, x->j};
    const int ky[] = {y->klass, y->round, y->tree, y->line, y->sw, y->i, y->j};
    for (size_t k = 0; k < sizeof(kx) / sizeof(kx[0]); k++)
        if (kx[k] != ky[k])
            return kx[k] < ky[k] ? -1 : 1;
    return 0;
}

/* Where channels to a higher level stand among those of their switch. */
typedef struct uppers {
    int *place; /* [channel]; NONE: it leads elsewhere */
    int *count; /* [switch] */
} uppers_t;

static dnet_status_t uppers_init(uppers_t *u, const dnet_topo_t *t)
{
    u->place = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(int));
    u->count = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    if (!u->place || !u->count)
        return DNET_ERR_NO_MEMORY;
    for (int s = 0; s < t->n_switches; s++)
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            int c = dnet_topo_channel(t, s, i);
            bool up = t->sw[dnet_topo_head(t, c)].level > t->sw[s].level;
            u->place[c] = up ? u->count[s]++ : DNET_TOPO_NONE;
        }
    return DNET_OK;
}

static void uppers_free(uppers_t *u)
{
    free(u->place);
    free(u->count);
}

/*
 * Round over the switches, one turn per switch per round, the upper switch rotating, so that
 * neither a switch nor an upper link collects the prohibitions.  Inside a round: tree by tree, at
 * the ends of links inside a level in the order of those links, else in the order of the switches.
 */
static void set_rounds(const dnet_topo_t *t, const uppers_t *u, dnet_turn_pair_t *p, bool rotate)
{
    const dnet_topo_switch_t *sw = &t->sw[p->sw];
    int uppers = u->count[p->sw], slots[2] = {p->i, p->j};
    p->tree = sw->tree;
    p->line = p->sw;
    p->round = 0;
    for (int k = 0; k < 2; k++) {
        int c = dnet_topo_channel(t, p->sw, slots[k]);
        int place = u->place[c];
        if (t->sw[dnet_topo_head(t, c)].level == sw->level)
            p->line = c >> 1;
        if (place == DNET_TOPO_NONE)
            continue;
        int offset = rotate ? sw->group + sw->index : 0;
        p->round = ((place - offset) % uppers + uppers) % uppers;
    }
}

static void set_keys(const dnet_topo_t *t, const dnet_route_options_t *opt, const uppers_t *u,
                     dnet_turn_pair_t *pairs, size_t n)
{
    dnet_rng_t rng = {opt->seed ^ 0x7475726e73u};
    dnet_ties_t ties = opt->ties;
    if (ties == DNET_TIES_AUTO)
        ties = t->symmetric ? DNET_TIES_ROUNDS : DNET_TIES_RANDOM;
    qsort(pairs, n, sizeof(*pairs), by_weight);
    for (size_t i = 0; i < n; i++) {
        dnet_turn_pair_t *p = &pairs[i];
        p->klass = i == 0 ? 0 : pairs[i - 1].klass + !dnet_weights_equal(p[-1].weight, p->weight);
        if (ties == DNET_TIES_RANDOM)
            p->line = (int) (dnet_rng_next(&rng) >> 33);
        else
            set_rounds(t, u, p, ties == DNET_TIES_ROUNDS);
    }
    qsort(pairs, n, sizeof(*pairs), by_key);
}

dnet_status_t dnet_turnadd_order(const dnet_topo_t *t, const dnet_route_options_t *opt,
                                 const dnet_weights_t *w, dnet_turn_pair_t **out, size_t *n)
{
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1 && !(*out = dnet_subnet_alloc(count, sizeof(**out))))
            return DNET_ERR_NO_MEMORY;
        count = 0;
        for (int s = 0; s < t->n_switches; s++)
            for (int j = 1; j < dnet_topo_degree(t, s); j++) {
                const double *row = dnet_weights_row(w, s, j);
                for (int i = 0; i < j; i++) {
                    if (row[i] == 0 && !opt->decide_weightless)
                        continue;
                    if (pass == 1)
                        (*out)[count] = (dnet_turn_pair_t){
                            .sw = s, .i = (uint16_t) i, .j = (uint16_t) j, .weight = row[i]};
                    count++;
                }
            }
    }
    *n = count;
    uppers_t u = {NULL, NULL};
    dnet_status_t st = uppers_init(&u, t);
    if (!st)
        set_keys(t, opt, &u, *out, count);
    uppers_free(&u);
    return st;
}

long dnet_turnadd_decide(dnet_order_t *o, const dnet_turn_pair_t *pairs, size_t n)
{
    long prohibited = 0;
    dnet_progress_begin("deciding turns", (long) n);
    for (size_t k = 0; k < n; k++) {
        const dnet_turn_pair_t *p = &pairs[k];
        dnet_progress((long) k);
        if (!dnet_turns_allowed(o->turns, p->sw, p->i, p->j))
            prohibited += !dnet_order_allow(o, p->sw, p->i, p->j);
    }
    dnet_progress_end();
    return prohibited;
}

static double link_weight(const dnet_topo_t *t, const dnet_weights_t *w, int link)
{
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        int s = t->link[link].sw[side], slot = t->slot[2 * link + side];
        const double *row = dnet_weights_row(w, s, slot);
        for (int i = 0; i < dnet_topo_degree(t, s); i++)
            sum += row[i];
    }
    return sum;
}

/* Prim's algorithm without a heap: O(switches^2), which is small beside the rest. */
dnet_status_t dnet_turnadd_tree(const dnet_topo_t *t, const dnet_weights_t *w, int *tree)
{
    double *best = dnet_subnet_alloc((size_t) t->n_switches, sizeof(double));
    char *in = dnet_subnet_alloc((size_t) t->n_switches, 1);
    if (!best || !in) {
        free(best);
        free(in);
        return DNET_ERR_NO_MEMORY;
    }
    for (int s = 0; s < t->n_switches; s++) {
        tree[s] = DNET_TOPO_NONE;
        best[s] = -1;
    }
    for (int round = 0; round < t->n_switches; round++) {
        int s = DNET_TOPO_NONE;
        for (int v = 0; v < t->n_switches; v++)
            if (!in[v] && (s == DNET_TOPO_NONE || best[v] > best[s]))
                s = v;
        in[s] = 1;
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            int c = dnet_topo_channel(t, s, i), v = dnet_topo_head(t, c);
            double weight = in[v] ? 0 : link_weight(t, w, c >> 1);
            if (!in[v] && weight > best[v]) {
                best[v] = weight;
                tree[v] = c >> 1;
            }
        }
    }
    free(best);
    free(in);
    return DNET_OK;
}

static bool in_tree(const dnet_topo_t *t, const int *tree, int c)
{
    return tree[dnet_topo_tail(t, c)] == c >> 1 || tree[dnet_topo_head(t, c)] == c >> 1;
}

/* Turns inside a tree close no cycle: without going back on a link a tree has no closed walk. */
static void allow_tree(dnet_order_t *o, const int *tree)
{
    const dnet_topo_t *t = o->turns->topo;
    for (int s = 0; s < t->n_switches; s++)
        for (int j = 1; j < dnet_topo_degree(t, s); j++)
            for (int i = 0; i < j; i++)
                if (in_tree(t, tree, dnet_topo_channel(t, s, i)) &&
                    in_tree(t, tree, dnet_topo_channel(t, s, j)))
                    dnet_order_allow(o, s, i, j);
}

/* Allow the turns that tables take.  *good_p: they close no cycle */
static dnet_status_t allow_tables(dnet_order_t *o, const dnet_tables_t *from, bool *good_p)
{
    const dnet_topo_t *t = o->turns->topo;
    int *out = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int)), c;
    bool good = true;
    if (!out)
        return DNET_ERR_NO_MEMORY;
    for (int x = 0; x < dnet_tables_columns(from) && good; x++) {
        for (int s = 0; s < t->n_switches; s++)
            out[s] = dnet_topo_port(t, s, dnet_tables_row(from, s)[x], &c) == DNET_PORT_CHANNEL
                         ? c
                         : DNET_TOPO_NONE;
        for (int s = 0; s < t->n_switches && good; s++) {
            int u = out[s] == DNET_TOPO_NONE ? s : dnet_topo_head(t, out[s]);
            if (out[s] == DNET_TOPO_NONE || out[u] == DNET_TOPO_NONE)
                continue;
            int in = t->slot[out[s] ^ 1], on = t->slot[out[u]];
            good = in != on &&
                   (dnet_turns_allowed(o->turns, u, in, on) || dnet_order_allow(o, u, in, on));
        }
    }
    free(out);
    *good_p = good;
    return DNET_OK;
}

/* One complete set of decisions into r->turns; `change`: those of its tables are among them, or
 * r->kept is not set. */
static dnet_status_t decide(const dnet_topo_t *t, const dnet_turn_pair_t *pairs, size_t n,
                            const int *tree, const dnet_route_options_t *change, dnet_routing_t *r)
{
    dnet_order_t *o = NULL;
    dnet_turns_free(r->turns);
    r->turns = NULL;
    dnet_status_t st = dnet_turns_new(t, false, &r->turns);
    if (!st)
        st = dnet_order_new(r->turns, &o);
    if (st)
        return st;
    if (tree)
        allow_tree(o, tree);
    r->kept = false;
    if (change)
        st = allow_tables(o, change->from, &r->kept);
    if (st || (change && !r->kept)) {
        dnet_order_free(o);
        return st;
    }
    if (change && change->from_tree)
        allow_tree(o, change->from_tree);
    dnet_turnadd_decide(o, pairs, n);
    r->seeded = tree != NULL;
    r->searches = o->searches;
    r->visited = o->visited;
    int *ord = o->ord; /* no longer needed by o */
    int cyclic = dnet_turns_order(r->turns, ord);
    dnet_order_free(o);
    if (cyclic == 0)
        return DNET_OK;
    if (cyclic < 0)
        return DNET_ERR_NO_MEMORY;
    dnet_error("subnet: turnadd: %d channels of %s are left on a cycle; this is a defect of the "
               "engine, please report it with the topology",
               cyclic, t->name);
    return DNET_ERR_STATE;
}

/* Pairs of connected switches with servers that no allowed walk joins. */
static dnet_status_t count_unreachable(const dnet_turns_t *turns, long *unreachable)
{
    const dnet_topo_t *t = turns->topo;
    size_t ns = (size_t) t->n_switches;
    dnet_paths_t *p;
    int *piece = dnet_subnet_alloc(2 * ns, sizeof(int));
    dnet_status_t st = piece ? dnet_paths_new(turns, &p) : DNET_ERR_NO_MEMORY;
    *unreachable = 0;
    if (st) {
        free(piece);
        return st;
    }
    dnet_topo_pieces(t, piece, piece + ns);
    dnet_progress_begin("checking reachability", t->n_switches);
    for (int d = 0; d < t->n_switches; d++) {
        dnet_progress(d);
        if (!t->sw[d].hosts || t->sw[d].down)
            continue;
        dnet_paths_measure(p, d);
        for (int s = 0; s < t->n_switches; s++)
            if (t->sw[s].hosts && !t->sw[s].down && piece[s] == piece[d])
                *unreachable += dnet_paths_distance(p, s) == DNET_PATHS_FAR;
    }
    dnet_progress_end();
    dnet_paths_free(p);
    free(piece);
    return DNET_OK;
}

/* Is every destination reachable: by forwarding trees, or, where those are left out, by walks? */
static dnet_status_t suffices(const dnet_topo_t *t, const dnet_route_options_t *opt,
                              dnet_routing_t *r, bool *enough)
{
    long unreachable = 0;
    dnet_status_t st = opt->no_tables ? count_unreachable(r->turns, &unreachable)
                                      : dnet_tables_from_turns(t, opt, DNET_BALANCE_TREE, r);
    *enough = !st && unreachable == 0 &&
              (!r->tables || (r->tables->unrouted == 0 && r->tables->unmanaged == 0));
    return st;
}

static dnet_status_t turns(const dnet_topo_t *t, const dnet_route_options_t *opt,
                           const dnet_weights_t *w, dnet_routing_t *r)
{
    dnet_turn_pair_t *pairs = NULL;
    size_t n = 0;
    bool enough = opt->seed_tree == DNET_SEED_OFF;
    dnet_status_t st = dnet_turnadd_order(t, opt, w, &pairs, &n);
    if (!st && opt->from && !opt->no_tables && dnet_tables_fit(opt->from, t)) {
        st = decide(t, pairs, n, NULL, opt, r);
        if (!st && r->kept)
            st = suffices(t, opt, r, &enough);
        if (st || (r->kept && enough)) {
            free(pairs);
            return st;
        }
        dnet_tables_free(r->tables);
        r->tables = NULL;
        r->kept = false;
        enough = opt->seed_tree == DNET_SEED_OFF;
    }
    if (!st && opt->seed_tree != DNET_SEED_ON) {
        st = decide(t, pairs, n, NULL, NULL, r);
        if (!st && opt->seed_tree == DNET_SEED_AUTO)
            st = suffices(t, opt, r, &enough);
    }
    if (!st && !enough) {
        dnet_tables_free(r->tables);
        r->tables = NULL;
        r->tree = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
        st = r->tree ? dnet_turnadd_tree(t, w, r->tree) : DNET_ERR_NO_MEMORY;
        if (!st)
            st = decide(t, pairs, n, r->tree, NULL, r);
    }
    free(pairs);
    return st;
}

/* The check for the spanning tree may have made the tables already. */
static dnet_status_t tables(const dnet_topo_t *t, const dnet_route_options_t *opt,
                            dnet_routing_t *r)
{
    return r->tables ? DNET_OK : dnet_tables_from_turns(t, opt, DNET_BALANCE_TREE, r);
}

const dnet_engine_t dnet_engine_turnadd = {
    .name = "turnadd",
    .summary = "turn addition: allow turns from the heaviest unless they close a cycle",
    .turns = turns,
    .tables = tables,
    .needs_weights = true,
};
