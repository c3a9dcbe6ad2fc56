/* SPDX-License-Identifier: BSD-3-Clause
 *
 * ftree: fat-tree routing [MR §3.1].  Up in rotation by destination, down on the only way there is:
 * server q of an edge switch is reached through upper link q mod U of every edge switch, and above
 * that by the edge switch's number, so that no two servers of an edge switch share a way down.
 * A link that is missing keeps its place in the rotation, so that all other ways stay as they are;
 * what it carried takes the least used port of those that lead there, of equal ones the last: with
 * fewer servers than upper links that one has nothing else to carry.
 *
 * Up, then down, never up again: free of deadlock on one lane.  Needs a tree: every link joins
 * neighbouring levels.
 */
#include "subnet/engines/engines.h"
#include "subnet/base/progress.h"

#include "common/log.h"

#include <stdlib.h>

typedef struct ftree {
    const dnet_topo_t *t;
    int *hops; /* [switch]: to the destination, down only, then up and down; NONE */
    int *next; /* [switch]: output channel */
    int *queue;
    int *uppers;      /* [switch]: links to the level above, in service or not */
    int *rank;        /* [channel]: place of a way up among its switch's, by port */
    int *edge_number; /* [switch]: place among the switches of its level */
    long *used;       /* [channel]: destinations assigned */
} ftree_t;

static dnet_status_t check_levels(const ftree_t *f)
{
    const dnet_topo_t *t = f->t;
    for (int l = 0; l < t->n_links; l++) {
        const dnet_topo_switch_t *a = &t->sw[t->link[l].sw[0]], *b = &t->sw[t->link[l].sw[1]];
        if (abs(a->level - b->level) == 1)
            continue;
        dnet_error("subnet: ftree: %s is no fat tree: a link joins %s (level %d) and %s "
                   "(level %d); use another engine",
                   t->name, a->name, a->level, b->name, b->level);
        return DNET_ERR_LIMIT;
    }
    return DNET_OK;
}

static int by_level(const ftree_t *f, int c)
{
    const dnet_topo_t *t = f->t;
    return t->sw[dnet_topo_head(t, c)].level - t->sw[dnet_topo_tail(t, c)].level;
}

/* Switches above the destination: they go down; least used port first. */
static int climb(ftree_t *f, int dest)
{
    const dnet_topo_t *t = f->t;
    int n = 0;
    for (int s = 0; s < t->n_switches; s++)
        f->hops[s] = f->next[s] = DNET_TOPO_NONE;
    f->hops[dest] = 0;
    f->queue[n++] = dest;
    for (int at = 0; at < n; at++) {
        int u = f->queue[at];
        for (int i = 0; i < dnet_topo_degree(t, u); i++) {
            int c = dnet_topo_channel(t, u, i) ^ 1, w = dnet_topo_tail(t, c);
            if (by_level(f, c) > 0)
                continue;
            if (f->hops[w] == DNET_TOPO_NONE) {
                f->hops[w] = f->hops[u] + 1;
                f->next[w] = c;
                f->queue[n++] = w;
            } else if (f->hops[w] == f->hops[u] + 1 && f->used[c] < f->used[f->next[w]]) {
                f->next[w] = c;
            }
        }
    }
    return n;
}

/* The upper link for one destination: by rotation if that one leads there, else the least used. */
static void choose_upper(ftree_t *f, int w, int hops, int digit)
{
    const dnet_topo_t *t = f->t;
    int least = DNET_TOPO_NONE;
    for (int i = 0; i < dnet_topo_degree(t, w); i++) {
        int c = dnet_topo_channel(t, w, i), u = dnet_topo_head(t, c);
        if (by_level(f, c) < 0 || f->hops[u] != hops - 1)
            continue;
        if (f->rank[c] == digit % f->uppers[w]) {
            f->next[w] = c;
            return;
        }
        if (least == DNET_TOPO_NONE || f->used[c] <= f->used[least])
            least = c;
    }
    f->next[w] = least;
}

/* All other switches go up, nearest first.  Below the destination's ancestors every level's digit
 * is the same at all switches, so that their ways merge as late as possible. */
static void descend(ftree_t *f, int n, int digit0, int digit1)
{
    const dnet_topo_t *t = f->t;
    for (int longest = 0; longest < 2 * t->n_switches; longest++) {
        int before = n;
        for (int at = 0; at < before; at++) {
            int u = f->queue[at];
            if (f->hops[u] != longest)
                continue;
            for (int i = 0; i < dnet_topo_degree(t, u); i++) {
                int c = dnet_topo_channel(t, u, i) ^ 1, w = dnet_topo_tail(t, c);
                if (by_level(f, c) < 0 || f->hops[w] != DNET_TOPO_NONE)
                    continue;
                f->hops[w] = longest + 1;
                f->queue[n++] = w;
                choose_upper(f, w, longest + 1, t->sw[w].level == 0 ? digit0 : digit1);
            }
        }
        if (n == before && longest > f->hops[f->queue[n - 1]])
            break;
    }
}

static void number_switches(ftree_t *f)
{
    const dnet_topo_t *t = f->t;
    int count[64] = {0};
    for (int s = 0; s < t->n_switches; s++)
        f->edge_number[s] = count[t->sw[s].level & 63]++;
}

/* Number each switch's ways up by port, those out of service too. */
static dnet_status_t rank_uppers(ftree_t *f)
{
    const dnet_topo_t *t = f->t;
    size_t ports = 0;
    for (int s = 0; s < t->n_switches; s++)
        ports += (size_t) t->sw[s].ports + 1;
    int *first = dnet_subnet_alloc((size_t) t->n_switches + 1, sizeof(int));
    int *up = dnet_subnet_alloc(ports, sizeof(int)); /* [first[switch] + port]: channel + 1 */
    for (int s = 0; first && up && s < t->n_switches; s++)
        first[s + 1] = first[s] + t->sw[s].ports + 1;
    for (int c = 0; first && up && c < dnet_topo_channels(t); c++)
        if (by_level(f, c) > 0)
            up[first[dnet_topo_tail(t, c)] + dnet_topo_out_port(t, c)] = c + 1;
    for (size_t p = 0; first && up && p < ports; p++)
        if (up[p])
            f->rank[up[p] - 1] = f->uppers[dnet_topo_tail(t, up[p] - 1)]++;
    bool good = first && up;
    free(first);
    free(up);
    return good ? DNET_OK : DNET_ERR_NO_MEMORY;
}

/* A server's further LIDs go up one link further on each. */
static void route_to(ftree_t *f, int d, int column, dnet_tables_t *tables)
{
    const dnet_topo_t *t = f->t;
    int dest = dnet_topo_dest_switch(t, d), number = f->edge_number[dest], q = number;
    if (d < t->n_hosts)
        for (q = 0; t->host_of[t->host_start[dest] + q] != d;)
            q++;
    int n = climb(f, dest), plane = column / tables->dests;
    descend(f, n, q + plane, number + plane);
    for (int s = 0; s < t->n_switches; s++) {
        if (s != dest && f->next[s] == DNET_TOPO_NONE)
            continue;
        int port =
            s == dest ? (d < t->n_hosts ? t->host[d].port : 0) : dnet_topo_out_port(t, f->next[s]);
        dnet_tables_row(tables, s)[column] = (uint16_t) port;
        if (s != dest && d < t->n_hosts)
            f->used[f->next[s]]++;
    }
}

static void count_unrouted(const dnet_topo_t *t, dnet_tables_t *tables)
{
    for (int d = 0; d < t->n_hosts; d++) {
        bool missing = false;
        if (t->sw[dnet_topo_dest_switch(t, d)].down)
            continue;
        for (int s = 0; s < t->n_switches && !missing; s++)
            missing = t->sw[s].hosts && !t->sw[s].down &&
                      dnet_tables_row(tables, s)[d] == DNET_TABLE_NONE;
        tables->unrouted += missing;
    }
}

/* Between roots, and where a link is missing, management has to go up again; nothing else does. */
static dnet_status_t fill(const ftree_t *f, dnet_tables_t *tables)
{
    const dnet_topo_t *t = f->t;
    dnet_turns_t *turns;
    dnet_status_t st = dnet_turns_new(t, true, &turns);
    for (int s = 0; !st && s < t->n_switches; s++)
        for (int i = 1; i < dnet_topo_degree(t, s); i++)
            for (int j = 0; j < i; j++)
                if (by_level(f, dnet_topo_channel(t, s, i)) > 0 &&
                    by_level(f, dnet_topo_channel(t, s, j)) > 0)
                    dnet_turns_set(turns, s, i, j, false);
    if (!st)
        st = dnet_tables_fill(tables, turns);
    dnet_turns_free(turns);
    return st;
}

static dnet_status_t tables(const dnet_topo_t *t, const dnet_route_options_t *opt,
                            dnet_routing_t *r)
{
    size_t ns = (size_t) t->n_switches;
    ftree_t f = {.t = t};
    int *space = dnet_subnet_alloc(5 * ns, sizeof(int));
    f.used = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(long));
    f.rank = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(int));
    dnet_status_t st = space && f.used && f.rank ? check_levels(&f) : DNET_ERR_NO_MEMORY;
    (void) opt;
    if (!st)
        st = dnet_tables_new(t, &r->tables);
    if (!st) {
        f.hops = space;
        f.next = space + ns;
        f.queue = space + 2 * ns;
        f.uppers = space + 3 * ns;
        f.edge_number = space + 4 * ns;
        number_switches(&f);
        st = rank_uppers(&f);
    }
    if (!st) {
        dnet_progress_begin("forwarding tables", r->tables->dests);
        for (int x = 0; x < dnet_tables_columns(r->tables); x++) {
            int d = dnet_tables_dest(r->tables, x);
            dnet_progress(x);
            if (d != DNET_TOPO_NONE && !t->sw[dnet_topo_dest_switch(t, d)].down)
                route_to(&f, d, x, r->tables);
        }
        dnet_progress_end();
        count_unrouted(t, r->tables);
        st = fill(&f, r->tables);
    }
    free(space);
    free(f.used);
    free(f.rank);
    return st;
}

const dnet_engine_t dnet_engine_ftree = {
    .name = "ftree",
    .summary = "fat tree: up in rotation by destination, then down",
    .tables = tables,
};
