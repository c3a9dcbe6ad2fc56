/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a generator knows and a file or a Subnet Manager does not say: stages, joined trees, groups.
 */
#include "subnet/topology/topo.h"

#include <stdlib.h>
#include <string.h>

/* Space, an element for each switch. */
typedef struct {
    dnet_topo_t *t;
    int *queue, *dist, *part, *count;
} guess_t;

/* Breadth-first from all switches with servers.  @return levels were missing, and there are stages
 */
static bool guess_levels(guess_t *g)
{
    dnet_topo_t *t = g->t;
    int tail = 0;
    bool stages = false;
    for (int s = 0; s < t->n_switches; s++) {
        g->dist[s] = t->sw[s].hosts ? 0 : DNET_TOPO_NONE;
        if (t->sw[s].hosts)
            g->queue[tail++] = s;
    }
    for (int head = 0; head < tail; head++) {
        int s = g->queue[head];
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            int u = dnet_topo_head(t, dnet_topo_channel(t, s, i));
            if (g->dist[u] == DNET_TOPO_NONE) {
                g->dist[u] = g->dist[s] + 1;
                g->queue[tail++] = u;
            }
        }
    }
    for (int s = 0; s < t->n_switches; s++) {
        if (t->sw[s].level != DNET_TOPO_NONE)
            continue;
        t->sw[s].level = g->dist[s] == DNET_TOPO_NONE ? 0 : g->dist[s];
        stages |= t->sw[s].level > 0; /* switches without servers: built as a tree */
    }
    return stages;
}

/* Number what hangs together by links between different levels, `lowest` to `highest`, into part[].
 */
static int find_parts(guess_t *g, int lowest, int highest)
{
    dnet_topo_t *t = g->t;
    int parts = 0;
    for (int s = 0; s < t->n_switches; s++)
        g->part[s] = DNET_TOPO_NONE;
    for (int first = 0; first < t->n_switches; first++) {
        int tail = 0;
        if (g->part[first] != DNET_TOPO_NONE || t->sw[first].level < lowest ||
            t->sw[first].level > highest)
            continue;
        g->part[first] = parts++;
        g->queue[tail++] = first;
        for (int head = 0; head < tail; head++) {
            int s = g->queue[head];
            for (int i = 0; i < dnet_topo_degree(t, s); i++) {
                int u = dnet_topo_head(t, dnet_topo_channel(t, s, i)), level = t->sw[u].level;
                if (level == t->sw[s].level || level < lowest || level > highest ||
                    g->part[u] != DNET_TOPO_NONE)
                    continue;
                g->part[u] = g->part[first];
                g->queue[tail++] = u;
            }
        }
    }
    return parts;
}

/* A part with one edge switch or none is no tree of its own but a damaged piece: it counts to the
 * first. */
static void guess_trees(guess_t *g)
{
    dnet_topo_t *t = g->t;
    int parts = find_parts(g, 0, t->n_switches), trees = 0;
    memset(g->count, 0, (size_t) t->n_switches * sizeof(*g->count));
    for (int s = 0; s < t->n_switches; s++)
        g->count[g->part[s]] += t->sw[s].hosts > 0;
    for (int p = 0; p < parts; p++)
        g->count[p] = g->count[p] >= 2 ? trees++ : 0;
    for (int s = 0; s < t->n_switches; s++)
        t->sw[s].tree = g->count[g->part[s]];
}

/* Groups of the levels `first` to `last` are parts of the levels up to `highest`, numbered in each
 * tree. */
static void guess_groups(guess_t *g, int first, int last, int highest)
{
    dnet_topo_t *t = g->t;
    int parts = find_parts(g, first, highest);
    for (int p = 0; p < parts; p++)
        g->count[p] = DNET_TOPO_NONE;
    for (int tree = 0, found = 1; found; tree++) {
        int groups = found = 0;
        for (int s = 0; s < t->n_switches; s++) {
            int p = g->part[s];
            if (t->sw[s].tree != tree || p == DNET_TOPO_NONE)
                continue;
            found = 1;
            g->count[p] = g->count[p] == DNET_TOPO_NONE ? groups++ : g->count[p];
            if (t->sw[s].level <= last)
                t->sw[s].group = g->count[p];
        }
    }
    for (int level = first; level <= last; level++) {
        memset(g->count, 0, (size_t) t->n_switches * sizeof(*g->count));
        for (int s = 0; s < t->n_switches; s++)
            if (t->sw[s].level == level)
                t->sw[s].index = g->count[g->part[s]]++;
    }
}

/*
 * Fill in levels that are not known (DNET_TOPO_NONE): the distance from the nearest switch with
 * servers.  If that gives stages, also tree, group and index of all switches, as if a generator had
 * set them:
 *
 *   trees   what hangs together by links between different levels and has two edge switches or
 *           more; links inside a level join them
 *   groups  of edge switches: pods, what hangs together in the two lowest levels; of the others:
 *           directors, what hangs together without the edge switches
 *   index   place among the switches of the level and group, in their order
 */
static dnet_status_t guess_stages(dnet_topo_t *t)
{
    size_t n = (size_t) t->n_switches;
    guess_t g = {.t = t};
    g.queue = dnet_subnet_alloc(4 * n, sizeof(int));
    if (!g.queue)
        return DNET_ERR_NO_MEMORY;
    g.dist = g.queue + n;
    g.part = g.dist + n;
    g.count = g.part + n;
    if (guess_levels(&g)) {
        int top = 0;
        for (int s = 0; s < t->n_switches; s++)
            top = t->sw[s].level > top ? t->sw[s].level : top;
        t->symmetric = true;
        guess_trees(&g);
        guess_groups(&g, 0, 0, 1);
        guess_groups(&g, 1, top, top);
    }
    free(g.queue);
    return DNET_OK;
}

dnet_status_t dnet_topo_finish(dnet_topo_t *t)
{
    dnet_status_t st = dnet_topo_index(t);
    return st ? st : guess_stages(t);
}
