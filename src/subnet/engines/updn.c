/* SPDX-License-Identifier: BSD-3-Clause
 *
 * updn: Up-Down routing [TA §2.3.1].  Levels are hop counts from a root; a turn from a down
 * channel into an up channel is prohibited.  The root is the switch whose choice prohibits the
 * least weight [TA §5.1]; in a fat tree that is an edge switch, because a core as root puts the
 * other cores below the aggregation switches and forbids their trunk turns.
 */
#include "subnet/engines/engines.h"
#include "subnet/base/progress.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

typedef struct updn {
    const dnet_topo_t *t;
    int *level, *queue, *parent; /* per switch; parent is a link */
} updn_t;

static void levels_from(updn_t *u, int root)
{
    const dnet_topo_t *t = u->t;
    int n = 0;
    for (int s = 0; s < t->n_switches; s++)
        u->level[s] = u->parent[s] = DNET_TOPO_NONE;
    u->level[root] = 0;
    u->queue[n++] = root;
    for (int at = 0; at < n; at++) {
        int s = u->queue[at];
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            int c = dnet_topo_channel(t, s, i), v = dnet_topo_head(t, c);
            if (u->level[v] != DNET_TOPO_NONE)
                continue;
            u->level[v] = u->level[s] + 1;
            u->parent[v] = c >> 1;
            u->queue[n++] = v;
        }
    }
}

static bool is_up(const updn_t *u, int c)
{
    int tail = dnet_topo_tail(u->t, c), head = dnet_topo_head(u->t, c);
    return u->level[head] < u->level[tail] || (u->level[head] == u->level[tail] && head < tail);
}

/* Slots of s whose channel goes up.  A pair of them is a turn from down to up, both ways. */
static int up_slots(const updn_t *u, int s, int *slots)
{
    int n = 0;
    for (int i = 0; i < dnet_topo_degree(u->t, s); i++)
        if (is_up(u, dnet_topo_channel(u->t, s, i)))
            slots[n++] = i;
    return n;
}

static double prohibited_weight(const updn_t *u, const dnet_weights_t *w, int *slots, double limit)
{
    double sum = 0;
    for (int s = 0; s < u->t->n_switches && sum < limit; s++) {
        int n = up_slots(u, s, slots);
        for (int i = 1; i < n; i++) {
            const double *row = dnet_weights_row(w, s, slots[i]);
            for (int j = 0; j < i; j++)
                sum += row[slots[j]];
        }
    }
    return sum;
}

static int best_root(updn_t *u, const dnet_weights_t *w, int *slots)
{
    double least = 0;
    int best = DNET_TOPO_NONE;
    dnet_progress_begin("choosing a root", u->t->n_switches);
    for (int root = 0; root < u->t->n_switches; root++) {
        dnet_progress(root);
        if (u->t->sw[root].down)
            continue;
        levels_from(u, root);
        double limit = best == DNET_TOPO_NONE ? 1e300 : least;
        double sum = prohibited_weight(u, w, slots, limit);
        if (best == DNET_TOPO_NONE || (sum < least && !dnet_weights_equal(sum, least))) {
            best = root;
            least = sum;
        }
    }
    dnet_progress_end();
    return best;
}

static dnet_status_t choose_root(updn_t *u, const dnet_route_options_t *opt,
                                 const dnet_weights_t *w, int *slots, dnet_routing_t *r)
{
    r->root = opt->root ? dnet_topo_find_switch(u->t, opt->root) : best_root(u, w, slots);
    if (r->root != DNET_TOPO_NONE)
        return DNET_OK;
    dnet_error("subnet: updn: no root switch %s in %s", opt->root ? opt->root : "in service",
               u->t->name);
    return DNET_ERR_ARGUMENT;
}

static void prohibit(const updn_t *u, int *slots, dnet_turns_t *turns)
{
    for (int s = 0; s < u->t->n_switches; s++) {
        int n = up_slots(u, s, slots);
        for (int i = 1; i < n; i++)
            for (int j = 0; j < i; j++)
                dnet_turns_set(turns, s, slots[i], slots[j], false);
    }
}

static dnet_status_t turns(const dnet_topo_t *t, const dnet_route_options_t *opt,
                           const dnet_weights_t *w, dnet_routing_t *r)
{
    size_t ns = (size_t) t->n_switches;
    updn_t u = {.t = t,
                .level = dnet_subnet_alloc(ns, sizeof(int)),
                .queue = dnet_subnet_alloc(ns, sizeof(int)),
                .parent = dnet_subnet_alloc(ns, sizeof(int))};
    int *slots = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(int));
    dnet_status_t st = u.level && u.queue && u.parent && slots ? DNET_OK : DNET_ERR_NO_MEMORY;
    if (!st)
        st = choose_root(&u, opt, w, slots, r);
    if (!st)
        st = dnet_turns_new(t, true, &r->turns);
    if (!st) {
        levels_from(&u, r->root);
        prohibit(&u, slots, r->turns);
        r->tree = u.parent;
        u.parent = NULL;
    }
    free(u.level);
    free(u.queue);
    free(u.parent);
    free(slots);
    return st;
}

static dnet_status_t tables(const dnet_topo_t *t, const dnet_route_options_t *opt,
                            dnet_routing_t *r)
{
    return dnet_tables_from_turns(t, opt, DNET_BALANCE_PORT, r);
}

const dnet_engine_t dnet_engine_updn = {
    .name = "updn",
    .summary = "Up-Down from the root that prohibits the least weight",
    .turns = turns,
    .tables = tables,
    .needs_weights = true,
};
