/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pair routing with one walk per bundle of server pairs: among the shortest allowed walks the one
 * whose most loaded link is least loaded (paths.h).  The turn-addition paper asks for "one path per
 * communicating pair, chosen so that link loads are even" and leaves the choice open.
 */
#include "subnet/routing/paths.h"
#include "subnet/base/progress.h"
#include "subnet/base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * Channels are found by their place: adj_start[tail] + slot.  All outputs of a switch then lie in
 * one or two cache lines, which decides the speed: a pair of servers looks at hundreds of them, a
 * few times each.
 */
typedef struct choice {
    double worst; /* largest load from here to the destination */
    int best;     /* place of the next channel of that walk */
    int stamp;    /* of the pair of switches it holds for */
} choice_t;

/* State of a best-first choice along the shortest walks of one source and destination. */
typedef struct greedy {
    const dnet_topo_t *t;
    const dnet_turns_t *turns;
    int places;
    const uint16_t *dist; /* [place], of the destination in hand */
    double *load;         /* [place] */
    choice_t *choice;     /* [place] */
    int now;
} greedy_t;

/*
 * The largest load on the best walk from a place on, as long as it is below `limit`; else
 * anything not below it.  Only what could still be the best is searched: most places are left
 * after one look.  Depth is bounded by the longest shortest walk.
 */
static double explore(greedy_t *g, int place, double limit)
{
    choice_t *here = &g->choice[place];
    int left = g->dist[place] - 1;
    double own = g->load[place];
    if (own >= limit)
        return own;
    if (here->stamp == g->now &&
        (left == 0 || here->best != DNET_TOPO_NONE || here->worst >= limit))
        return here->worst;
    here->stamp = g->now;
    here->best = DNET_TOPO_NONE;
    here->worst = left == 0 ? own : limit;
    int c = g->t->adj[place], u = dnet_topo_head(g->t, c), words = g->turns->words[u];
    const uint64_t *row = dnet_turns_row(g->turns, u, g->t->slot[c ^ 1]);
    double rest = limit;
    for (int w = 0; w < words && left != 0; w++)
        for (uint64_t m = row[w]; m; m &= m - 1) {
            int next = g->t->adj_start[u] + 64 * w + __builtin_ctzll(m);
            double worst = g->dist[next] == left ? explore(g, next, rest) : limit;
            if (worst < rest) {
                rest = worst;
                here->best = next;
            }
        }
    if (here->best != DNET_TOPO_NONE)
        here->worst = rest > own ? rest : own;
    return here->worst;
}

static bool assign(greedy_t *g, int src, double rate)
{
    int first = DNET_TOPO_NONE, nearest = DNET_PATHS_FAR;
    int from = g->t->adj_start[src], to = from + dnet_topo_degree(g->t, src);
    double least = HUGE_VAL;
    for (int place = from; place < to; place++)
        if (g->dist[place] < nearest)
            nearest = g->dist[place];
    if (nearest == DNET_PATHS_FAR)
        return false;
    g->now++;
    for (int place = from; place < to; place++) {
        double worst = g->dist[place] == nearest ? explore(g, place, least) : HUGE_VAL;
        if (worst < least) {
            least = worst;
            first = place;
        }
    }
    for (int place = first; place != DNET_TOPO_NONE; place = g->choice[place].best)
        g->load[place] += rate;
    return true;
}

/* All destinations' distances at once: [number of the destination][place]. */
static dnet_status_t all_distances(const dnet_turns_t *turns, int places, const int *ends, int n,
                                   uint16_t **out)
{
    dnet_paths_t *p;
    dnet_status_t st = dnet_paths_new(turns, &p);
    if (st)
        return st;
    *out = dnet_subnet_alloc((size_t) places * (size_t) n, sizeof(**out));
    dnet_progress_begin("finding distances", n);
    for (int i = 0; *out && i < n; i++) {
        dnet_progress(i);
        dnet_paths_measure(p, ends[i]);
        for (int place = 0; place < places; place++)
            (*out)[(size_t) places * (size_t) i + (size_t) place] =
                p->dist[turns->topo->adj[place]];
    }
    dnet_progress_end();
    dnet_paths_free(p);
    return *out ? DNET_OK : DNET_ERR_NO_MEMORY;
}

static void assign_all(greedy_t *g, const dnet_traffic_t *tr, const int *ends, int n, int bundles,
                       int *order, uint64_t seed, const uint16_t *dists, long *unreached)
{
    dnet_rng_t rng = {seed};
    dnet_progress_begin("assigning paths", (long) bundles * n * n);
    for (int round = 0; round < bundles; round++) {
        dnet_rng_shuffle(&rng, order, n * n);
        for (int k = 0; k < n * n; k++) {
            dnet_progress((long) round * n * n + k);
            int src = ends[order[k] / n], to = order[k] % n;
            double rate = dnet_traffic_rate(tr, src, ends[to]) / bundles;
            g->dist = dists + (size_t) g->places * (size_t) to;
            if (rate > 0 && !assign(g, src, rate) && round == 0)
                ++*unreached;
        }
    }
    dnet_progress_end();
}

dnet_status_t dnet_paths_greedy(const dnet_turns_t *turns, const dnet_traffic_t *tr, int bundles,
                                uint64_t seed, double *load, long *unreached)
{
    const dnet_topo_t *t = turns->topo;
    size_t channels = (size_t) dnet_topo_channels(t);
    uint16_t *dists = NULL;
    int n = 0, *ends = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    for (int s = 0; ends && s < t->n_switches; s++)
        if (t->sw[s].hosts && !t->sw[s].down)
            ends[n++] = s;
    int *order = dnet_subnet_alloc((size_t) n * (size_t) n, sizeof(int));
    greedy_t g = {.t = t, .turns = turns, .places = t->adj_start[t->n_switches]};
    g.load = dnet_subnet_alloc((size_t) g.places, sizeof(double));
    g.choice = dnet_subnet_alloc((size_t) g.places, sizeof(choice_t));
    dnet_status_t st = DNET_ERR_NO_MEMORY;
    if (ends && order && g.load && g.choice)
        st = all_distances(turns, g.places, ends, n, &dists);
    memset(load, 0, channels * sizeof(*load));
    *unreached = 0;
    if (!st) {
        for (int k = 0; k < n * n; k++)
            order[k] = k;
        assign_all(&g, tr, ends, n, bundles, order, seed, dists, unreached);
        for (int place = 0; place < g.places; place++)
            load[t->adj[place]] = g.load[place];
    }
    free(dists);
    free(ends);
    free(order);
    free(g.load);
    free(g.choice);
    return st;
}
