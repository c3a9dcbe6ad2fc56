/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pair routing with one walk per bundle of server pairs: among the shortest allowed walks the one
 * whose most loaded link is least loaded (paths.h).  The turn-addition paper asks for "one path per
 * communicating pair, chosen so that link loads are even" and leaves the choice open.
 */
#include "subnet/paths.h"
#include "subnet/progress.h"
#include "subnet/rng.h"

#include <stdlib.h>
#include <string.h>

/* State of a best-first choice along the shortest walks of one source and destination. */
typedef struct greedy {
    const dnet_topo_t *t;
    const dnet_turns_t *turns;
    const uint16_t *dist;  /* of the destination in hand */
    double *load;
    double *worst;         /* [channel]: largest load from here to the destination */
    int *best;             /* [channel]: next channel of that walk */
    int *stamp, now;
} greedy_t;

/* Fill worst and best of channel c; depth is bounded by the longest shortest walk. */
static double explore(greedy_t *g, int c)
{
    if (g->stamp[c] == g->now)
        return g->worst[c];
    g->stamp[c] = g->now;
    g->best[c] = DNET_TOPO_NONE;
    double rest = 0;
    int u = dnet_topo_head(g->t, c), words = g->turns->words[u];
    const uint64_t *row = dnet_turns_row(g->turns, u, g->t->slot[c ^ 1]);
    for (int w = 0; w < words && g->dist[c] > 1; w++)
        for (uint64_t m = row[w]; m; m &= m - 1) {
            int b = dnet_topo_channel(g->t, u, 64 * w + __builtin_ctzll(m));
            if (g->dist[b] != g->dist[c] - 1)
                continue;
            double worst = explore(g, b);
            if (g->best[c] == DNET_TOPO_NONE || worst < rest) {
                rest = worst;
                g->best[c] = b;
            }
        }
    return g->worst[c] = rest > g->load[c] ? rest : g->load[c];
}

static bool assign(greedy_t *g, int src, double rate)
{
    int first = DNET_TOPO_NONE, nearest = DNET_PATHS_FAR;
    for (int i = 0; i < dnet_topo_degree(g->t, src); i++) {
        int c = dnet_topo_channel(g->t, src, i);
        if (g->dist[c] < nearest)
            nearest = g->dist[c];
    }
    if (nearest == DNET_PATHS_FAR)
        return false;
    g->now++;
    for (int i = 0; i < dnet_topo_degree(g->t, src); i++) {
        int c = dnet_topo_channel(g->t, src, i);
        if (g->dist[c] == nearest &&
            (first == DNET_TOPO_NONE || explore(g, c) < explore(g, first)))
            first = c;
    }
    explore(g, first);
    for (int c = first; c != DNET_TOPO_NONE; c = g->best[c])
        g->load[c] += rate;
    return true;
}

/* All destinations' distances at once: [destination place][channel]. */
static dnet_status_t all_distances(const dnet_turns_t *turns, const int *ends, int n,
                                   uint16_t **out)
{
    size_t channels = (size_t) dnet_topo_channels(turns->topo);
    dnet_paths_t *p;
    dnet_status_t st = dnet_paths_new(turns, &p);
    if (st)
        return st;
    *out = dnet_subnet_alloc(channels * (size_t) n, sizeof(**out));
    for (int i = 0; *out && i < n; i++) {
        dnet_paths_search(p, ends[i]);
        memcpy(*out + channels * (size_t) i, p->dist, channels * sizeof(**out));
    }
    dnet_paths_free(p);
    return *out ? DNET_OK : DNET_ERR_NO_MEMORY;
}

static void assign_all(greedy_t *g, const dnet_traffic_t *tr, const int *ends, int n, int bundles,
                       int *order, uint64_t seed, const uint16_t *dists, long *unreached)
{
    dnet_rng_t rng = {seed};
    size_t channels = (size_t) dnet_topo_channels(g->t);
    dnet_progress_begin("assigning paths", (long) bundles * n * n);
    for (int round = 0; round < bundles; round++) {
        dnet_rng_shuffle(&rng, order, n * n);
        for (int k = 0; k < n * n; k++) {
            dnet_progress((long) round * n * n + k);
            int src = ends[order[k] / n], to = order[k] % n;
            double rate = dnet_traffic_rate(tr, src, ends[to]) / bundles;
            g->dist = dists + channels * (size_t) to;
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
    greedy_t g = {.t = t, .turns = turns, .load = load};
    g.worst = dnet_subnet_alloc(channels, sizeof(double));
    g.best = dnet_subnet_alloc(channels, sizeof(int));
    g.stamp = dnet_subnet_alloc(channels, sizeof(int));
    dnet_status_t st = DNET_ERR_NO_MEMORY;
    if (ends && order && g.worst && g.best && g.stamp)
        st = all_distances(turns, ends, n, &dists);
    memset(load, 0, channels * sizeof(*load));
    *unreached = 0;
    if (!st) {
        for (int k = 0; k < n * n; k++)
            order[k] = k;
        assign_all(&g, tr, ends, n, bundles, order, seed, dists, unreached);
    }
    free(dists);
    free(ends);
    free(order);
    free(g.worst);
    free(g.best);
    free(g.stamp);
    return st;
}
