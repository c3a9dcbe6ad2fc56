/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Shortest allowed walks: backward breadth-first search on channels with bit masks over the ports
 * of a switch, so that a destination costs time linear in the channels, and even spreading of
 * traffic over them (paths.h).
 */
#include "subnet/routing/paths.h"
#include "subnet/base/progress.h"
#include "subnet/base/workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PART_PROHIBITED (-INFINITY) /* for a number of walks */

dnet_status_t dnet_paths_new(const dnet_turns_t *turns, dnet_paths_t **out)
{
    const dnet_topo_t *t = turns->topo;
    size_t channels = (size_t) dnet_topo_channels(t);
    dnet_paths_t *p = dnet_subnet_alloc(1, sizeof(*p));
    if (!p)
        return DNET_ERR_NO_MEMORY;
    p->turns = turns;
    p->mask_at = dnet_subnet_alloc((size_t) t->n_switches + 1, sizeof(size_t));
    if (p->mask_at)
        for (int s = 0; s < t->n_switches; s++)
            p->mask_at[s + 1] = p->mask_at[s] + (size_t) turns->words[s];
    size_t words = p->mask_at ? p->mask_at[t->n_switches] : 0;
    p->dist = dnet_subnet_alloc(channels, sizeof(*p->dist));
    p->count = dnet_subnet_alloc(channels, sizeof(*p->count));
    p->order = dnet_subnet_alloc(channels, sizeof(*p->order));
    p->flow = dnet_subnet_alloc(channels, sizeof(*p->flow));
    p->walks = dnet_subnet_alloc((size_t) t->n_switches, sizeof(*p->walks));
    p->mask = dnet_subnet_alloc(words, sizeof(*p->mask));
    p->level = dnet_subnet_alloc(words, sizeof(*p->level));
    if (!p->mask_at || !p->dist || !p->count || !p->order || !p->flow || !p->walks || !p->mask ||
        !p->level) {
        dnet_paths_free(p);
        return DNET_ERR_NO_MEMORY;
    }
    *out = p;
    return DNET_OK;
}

void dnet_paths_free(dnet_paths_t *p)
{
    if (!p)
        return;
    free(p->dist);
    free(p->count);
    free(p->order);
    free(p->flow);
    free(p->walks);
    free(p->mask_at);
    free(p->mask);
    free(p->level);
    free(p);
}

static void begin_search(dnet_paths_t *p, int dest)
{
    const dnet_topo_t *t = p->turns->topo;
    memset(p->dist, 0xff, (size_t) dnet_topo_channels(t) * sizeof(*p->dist));
    memset(p->mask, 0xff, p->mask_at[t->n_switches] * sizeof(*p->mask));
    p->dest = dest;
    p->found = 0;
    for (int i = 0; i < dnet_topo_degree(t, dest); i++) {
        int c = dnet_topo_channel(t, dest, i) ^ 1;
        p->dist[c] = 1;
        p->count[c] = 1;
        p->order[p->found++] = c;
    }
    /* A shortest walk never passes through its destination. */
    memset(p->mask + p->mask_at[dest], 0, (size_t) p->turns->words[dest] * sizeof(*p->mask));
}

/* A level's channels are final: nothing may reach them again.  Sums up their walks by switch where
 * no turn out of one is prohibited. */
static void finish_level(dnet_paths_t *p, int from, int to)
{
    const dnet_topo_t *t = p->turns->topo;
    for (int i = from; i < to; i++)
        p->walks[dnet_topo_tail(t, p->order[i])] = 0;
    for (int i = from; i < to; i++) {
        int c = p->order[i], u = dnet_topo_head(t, c), in = t->slot[c ^ 1],
            v = dnet_topo_tail(t, c);
        const uint64_t *row = dnet_turns_row(p->turns, v, t->slot[c]);
        int turns = 1; /* back to where it comes from is none */
        for (int w = 0; w < p->turns->words[v]; w++)
            turns += __builtin_popcountll(row[w]);
        p->mask[p->mask_at[u] + (size_t) (in >> 6)] &= ~((uint64_t) 1 << (in & 63));
        if (turns < dnet_topo_degree(t, v))
            p->walks[v] = PART_PROHIBITED;
        p->walks[v] += p->count[c];
    }
}

/* Channels that precede c, whose switch prohibits no turn, get the walks of all its channels of c's
 * level at once. */
static void extend_whole(dnet_paths_t *p, int c)
{
    const dnet_topo_t *t = p->turns->topo;
    int v = dnet_topo_tail(t, c);
    const uint64_t *row = dnet_turns_row(p->turns, v, t->slot[c]);
    uint64_t *open = p->mask + p->mask_at[v];
    const int *out = t->adj + t->adj_start[v];
    for (int w = 0; w < p->turns->words[v]; w++) {
        uint64_t m = row[w] & open[w];
        open[w] &= ~m;
        for (; m; m &= m - 1) {
            int back = out[64 * w + __builtin_ctzll(m)], before = back ^ 1;
            bool same = p->dist[back] == p->dist[c];
            p->dist[before] = (uint16_t) (p->dist[c] + 1);
            p->count[before] = p->walks[v] - (same ? p->count[back] : 0);
            p->order[p->found++] = before;
        }
    }
}

/* Channels that may precede c on a shortest walk get c's distance + 1 and its walks. */
static void extend_back(dnet_paths_t *p, int c)
{
    const dnet_topo_t *t = p->turns->topo;
    int v = dnet_topo_tail(t, c), words = p->turns->words[v];
    const uint64_t *row = dnet_turns_row(p->turns, v, t->slot[c]);
    const uint64_t *open = p->mask + p->mask_at[v];
    const int *out = t->adj + t->adj_start[v];
    uint16_t dist = (uint16_t) (p->dist[c] + 1);
    for (int w = 0; w < words; w++)
        for (uint64_t m = row[w] & open[w]; m; m &= m - 1) {
            int before = out[64 * w + __builtin_ctzll(m)] ^ 1;
            if (p->dist[before] == DNET_PATHS_FAR) {
                p->dist[before] = dist;
                p->count[before] = 0;
                p->order[p->found++] = before;
            }
            p->count[before] += p->count[c];
        }
}

void dnet_paths_search(dnet_paths_t *p, int dest)
{
    const dnet_topo_t *t = p->turns->topo;
    begin_search(p, dest);
    for (int from = 0; from < p->found;) {
        int to = p->found;
        finish_level(p, from, to);
        for (int i = from; i < to; i++)
            if (p->walks[dnet_topo_tail(t, p->order[i])] > 0)
                extend_whole(p, p->order[i]);
            else
                extend_back(p, p->order[i]);
        from = to;
    }
}

void dnet_paths_measure(dnet_paths_t *p, int dest)
{
    const dnet_topo_t *t = p->turns->topo;
    begin_search(p, dest);
    for (int i = 0; i < p->found; i++) {
        int c = p->order[i], u = dnet_topo_head(t, c), in = t->slot[c ^ 1];
        p->mask[p->mask_at[u] + (size_t) (in >> 6)] &= ~((uint64_t) 1 << (in & 63));
    }
    for (int at = 0; at < p->found; at++) {
        int c = p->order[at], v = dnet_topo_tail(t, c);
        const uint64_t *row = dnet_turns_row(p->turns, v, t->slot[c]);
        uint64_t *open = p->mask + p->mask_at[v];
        const int *out = t->adj + t->adj_start[v];
        uint16_t dist = (uint16_t) (p->dist[c] + 1);
        for (int w = 0; w < p->turns->words[v]; w++) {
            uint64_t m = row[w] & open[w];
            open[w] &= ~m; /* the first to come to a channel is the nearest */
            for (; m; m &= m - 1) {
                int before = out[64 * w + __builtin_ctzll(m)] ^ 1;
                p->dist[before] = dist;
                p->order[p->found++] = before;
            }
        }
    }
}

int dnet_paths_distance(const dnet_paths_t *p, int s)
{
    const dnet_topo_t *t = p->turns->topo;
    int best = s == p->dest ? 0 : DNET_PATHS_FAR;
    for (int i = 0; i < dnet_topo_degree(t, s); i++) {
        int c = dnet_topo_channel(t, s, i);
        if (p->dist[c] < best)
            best = p->dist[c];
    }
    return best;
}

/* Traffic of one source onto its first channels, in proportion to their walks. */
static bool inject(dnet_paths_t *p, int s, double rate, double *hops)
{
    const dnet_topo_t *t = p->turns->topo;
    int best = dnet_paths_distance(p, s);
    double walks = 0;
    if (best == DNET_PATHS_FAR)
        return false;
    for (int i = 0; i < dnet_topo_degree(t, s); i++) {
        int c = dnet_topo_channel(t, s, i);
        if (p->dist[c] == best)
            walks += p->count[c];
    }
    for (int i = 0; i < dnet_topo_degree(t, s); i++) {
        int c = dnet_topo_channel(t, s, i);
        if (p->dist[c] == best)
            p->flow[c] += rate * p->count[c] / walks;
    }
    if (hops)
        *hops += rate * best;
    return true;
}

/* Flow of channel c onto the channels one link nearer, marked in p->level. */
static void pass_on(dnet_paths_t *p, int c, dnet_weights_t *weights)
{
    const dnet_topo_t *t = p->turns->topo;
    int u = dnet_topo_head(t, c), in = t->slot[c ^ 1], words = p->turns->words[u];
    const uint64_t *row = dnet_turns_row(p->turns, u, in);
    const uint64_t *next = p->level + p->mask_at[u];
    const int *out = t->adj + t->adj_start[u];
    double *wrow = weights ? dnet_weights_row(weights, u, in) : NULL;
    double per_walk = p->flow[c] / p->count[c];
    for (int w = 0; w < words; w++)
        for (uint64_t m = row[w] & next[w]; m; m &= m - 1) {
            int j = 64 * w + __builtin_ctzll(m), b = out[j];
            double share = per_walk * p->count[b];
            p->flow[b] += share;
            if (wrow)
                wrow[j] += share;
        }
}

static void mark_level(dnet_paths_t *p, int from, int to, bool on)
{
    const dnet_topo_t *t = p->turns->topo;
    for (int i = from; i < to; i++) {
        int c = p->order[i], slot = t->slot[c];
        uint64_t *word = &p->level[p->mask_at[dnet_topo_tail(t, c)] + (size_t) (slot >> 6)];
        uint64_t bit = (uint64_t) 1 << (slot & 63);
        *word = on ? *word | bit : *word & ~bit;
    }
}

void dnet_paths_spread(dnet_paths_t *p, const dnet_traffic_t *tr, double *load, dnet_weights_t *w,
                       double *hops, long *unreached)
{
    const dnet_topo_t *t = p->turns->topo;
    memset(p->flow, 0, (size_t) dnet_topo_channels(t) * sizeof(*p->flow));
    for (int s = 0; s < t->n_switches; s++) {
        double rate = dnet_traffic_rate(tr, s, p->dest);
        if (rate > 0 && !inject(p, s, rate, hops))
            ++*unreached;
    }
    /* From the farthest distance inwards; `to` ends the channels one link nearer. */
    for (int end = p->found; end > 0;) {
        int start = end, dist = p->dist[p->order[end - 1]];
        while (start > 0 && p->dist[p->order[start - 1]] == dist)
            start--;
        int nearer = start;
        while (nearer > 0 && p->dist[p->order[nearer - 1]] == dist - 1)
            nearer--;
        mark_level(p, nearer, start, true);
        for (int i = start; i < end; i++) {
            int c = p->order[i];
            if (p->flow[c] == 0)
                continue;
            load[c] += p->flow[c];
            if (dist > 1)
                pass_on(p, c, w);
        }
        mark_level(p, nearer, start, false);
        end = start;
    }
}

/* A pair's weight is the sum of both directions [TA §4.1.2]. */
static void fold_directions(dnet_weights_t *w)
{
    const dnet_topo_t *t = w->topo;
    for (int s = 0; s < t->n_switches; s++)
        for (int i = 0; i < dnet_topo_degree(t, s); i++)
            for (int j = 0; j < i; j++) {
                double *a = &dnet_weights_row(w, s, i)[j], *b = &dnet_weights_row(w, s, j)[i];
                *a = *b = *a + *b;
            }
}

/* Every PARTS-th destination; sums of their own, so that they do not depend on the processors. */
typedef struct spread {
    const dnet_traffic_t *tr;
    dnet_paths_t *p;
    double *load;
    dnet_weights_t *w;
    double hops;
    long unreached;
} spread_t;

enum { PARTS = 2 };

static void spread_part(void *arg, int worker, int part)
{
    spread_t *all = arg, *x = &all[part];
    const dnet_topo_t *t = x->p->turns->topo;
    for (int d = part; d < t->n_switches; d += PARTS) {
        if (worker == 0)
            dnet_progress(d);
        if (t->sw[d].hosts == 0 || t->sw[d].down)
            continue;
        dnet_paths_search(x->p, d);
        dnet_paths_spread(x->p, x->tr, x->load, x->w, &x->hops, &x->unreached);
    }
}

static void add_part(const dnet_topo_t *t, const spread_t *from, spread_t *to)
{
    for (int c = 0; c < dnet_topo_channels(t); c++)
        to->load[c] += from->load[c];
    for (size_t i = 0; to->w && i < to->w->start[t->n_switches]; i++)
        to->w->w[i] += from->w->w[i];
    to->hops += from->hops;
    to->unreached += from->unreached;
}

dnet_status_t dnet_paths_spread_all(const dnet_turns_t *turns, const dnet_traffic_t *tr,
                                    double *load, dnet_weights_t *w, double *hops, long *unreached)
{
    const dnet_topo_t *t = turns->topo;
    size_t channels = (size_t) dnet_topo_channels(t);
    spread_t x[PARTS] = {{.tr = tr, .load = load, .w = w}, {.tr = tr}};
    dnet_status_t st = dnet_paths_new(turns, &x[0].p);
    if (!st)
        st = dnet_paths_new(turns, &x[1].p);
    if (!st && !(x[1].load = dnet_subnet_alloc(channels, sizeof(double))))
        st = DNET_ERR_NO_MEMORY;
    if (!st && w)
        st = dnet_weights_new(t, &x[1].w);
    if (!st) {
        memset(load, 0, channels * sizeof(*load));
        dnet_progress_begin("spreading traffic", t->n_switches);
        dnet_workers_run(PARTS, dnet_workers(), spread_part, x);
        dnet_progress_end();
        add_part(t, &x[1], &x[0]);
        *unreached = x[0].unreached;
        if (hops)
            *hops = x[0].hops;
        if (w)
            fold_directions(w);
    }
    dnet_paths_free(x[0].p);
    dnet_paths_free(x[1].p);
    free(x[1].load);
    dnet_weights_free(x[1].w);
    return st;
}

int dnet_paths_walk(const dnet_paths_t *p, int src, int *channels, int max)
{
    const dnet_topo_t *t = p->turns->topo;
    int left = dnet_paths_distance(p, src), s = src, came = DNET_TOPO_NONE, n = 0;
    if (left == DNET_PATHS_FAR)
        return DNET_TOPO_NONE;
    for (; left > 0 && n < max; left--)
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            int c = dnet_topo_channel(t, s, i);
            if (p->dist[c] != left ||
                (came != DNET_TOPO_NONE && !dnet_turns_allowed(p->turns, s, t->slot[came ^ 1], i)))
                continue;
            channels[n++] = came = c;
            s = dnet_topo_head(t, c);
            break;
        }
    return n;
}
