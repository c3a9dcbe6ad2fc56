/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From allowed turns to forwarding tables.  A switch forwards by destination only, not by input
 * port, so each destination needs one output channel per switch such that all turns along the
 * resulting tree are allowed.  Three attempts per destination:
 *
 *   1. by hops, among equals the smallest load so far; switches left over get their shortest allowed
 *      walk pinned and the labelling starts again;
 *   2. in descending dependency order (for Up-Down: everything that can go down does), which leaves
 *      the most freedom to switches further out;
 *   3. along a spanning tree whose turns are all allowed.
 *
 * The arrays near[] and load[] run parallel to the topology's adjacency, so that the inner loop
 * reads memory in order: this loop takes most of the time in large networks.
 */
#include "subnet/acyclic.h"
#include "subnet/paths.h"
#include "subnet/progress.h"
#include "subnet/routing.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

dnet_status_t dnet_tables_new(const dnet_topo_t *t, dnet_tables_t **out)
{
    dnet_tables_t *tables = dnet_subnet_alloc(1, sizeof(*tables));
    if (!tables)
        return DNET_ERR_NO_MEMORY;
    tables->topo = t;
    tables->dests = dnet_topo_dests(t);
    size_t entries = (size_t) t->n_switches * (size_t) tables->dests;
    tables->port = dnet_subnet_alloc(entries, sizeof(*tables->port));
    if (!tables->port) {
        free(tables);
        return DNET_ERR_NO_MEMORY;
    }
    memset(tables->port, 0xff, entries * sizeof(*tables->port));
    *out = tables;
    return DNET_OK;
}

void dnet_tables_free(dnet_tables_t *tables)
{
    if (tables)
        free(tables->port);
    free(tables);
}

/* Working space for one destination at a time. */
typedef struct build {
    const dnet_topo_t *t;
    const dnet_turns_t *turns;
    const int *tree;      /* spanning tree, or NULL */
    int dest;             /* destination switch */
    int *next;            /* [switch]: output channel, NONE while unlabelled */
    int *order, labelled; /* switches in the order of labelling */
    int *hops;            /* [switch] */
    double *cost;          /* [switch]: load along its path */
    dnet_balance_t balance;
    int *near;            /* [adjacency]: the neighbour */
    float *load;          /* [adjacency]: of the incoming channel, traffic or destinations so far */
    float *factor;        /* [adjacency]: cost hint of the link */
    int *pin;             /* [switch]: output channel it must have, or NONE */
    int *walk;            /* space for one walk */
    dnet_paths_t *paths;  /* made when first needed */
    double *flow;         /* [switch] */
    int *ord;             /* [channel]: dependency order, made when first needed */
    int *heap, heap_n;
    int wanted;           /* switches with servers in service */
} build_t;

static void start(build_t *b, int dest)
{
    b->dest = dest;
    for (int s = 0; s < b->t->n_switches; s++)
        b->next[s] = DNET_TOPO_NONE;
    b->hops[dest] = 0;
    b->cost[dest] = 0;
    b->order[0] = dest;
    b->labelled = 1;
}

/* Every switch with servers has an entry? */
static bool complete(const build_t *b)
{
    int found = 0;
    for (int i = 0; i < b->labelled; i++)
        found += b->t->sw[b->order[i]].hosts > 0;
    return found == b->wanted;
}

/* Offer the incoming channel at adjacency place `at` of u to its tail, `hops` from the end. */
static inline void offer(build_t *b, int at, int u, int hops)
{
    int w = b->near[at];
    if (b->next[w] != DNET_TOPO_NONE && b->hops[w] < hops)
        return;
    int c = b->t->adj[at] ^ 1;
    if (w == b->dest || (b->pin[w] != DNET_TOPO_NONE && b->pin[w] != c))
        return;
    double cost = (double) b->load[at] * b->factor[at];
    if (b->balance != DNET_BALANCE_PORT)
        cost += b->cost[u];
    if (b->next[w] == DNET_TOPO_NONE) {
        b->order[b->labelled++] = w;
        b->hops[w] = hops;
    } else if (b->cost[w] <= cost) {
        return;
    }
    b->next[w] = c;
    b->cost[w] = cost;
}

static void label_by_hops(build_t *b, int dest)
{
    const dnet_topo_t *t = b->t;
    start(b, dest);
    for (int at = 0; at < b->labelled; at++) {
        int u = b->order[at], hops = b->hops[u] + 1, first = t->adj_start[u];
        if (u == dest) {
            for (int i = 0; i < dnet_topo_degree(t, u); i++)
                offer(b, first + i, u, hops);
            continue;
        }
        const uint64_t *row = dnet_turns_row(b->turns, u, t->slot[b->next[u]]);
        for (int w = 0; w < b->turns->words[u]; w++)
            for (uint64_t m = row[w]; m; m &= m - 1)
                offer(b, first + 64 * w + __builtin_ctzll(m), u, hops);
    }
}

/* A switch with servers that has no entry, or NONE. */
static int left_over(const build_t *b)
{
    for (int s = 0; s < b->t->n_switches; s++)
        if (b->t->sw[s].hosts && !b->t->sw[s].down && s != b->dest && b->next[s] == DNET_TOPO_NONE)
            return s;
    return DNET_TOPO_NONE;
}

/* Pin the shortest allowed walk of s; false if it meets a switch pinned to something else. */
static bool pin_walk(build_t *b, int s)
{
    int n = dnet_paths_walk(b->paths, s, b->walk, b->t->n_switches);
    for (int i = 0; i < n; i++) {
        int *pin = &b->pin[dnet_topo_tail(b->t, b->walk[i])];
        if (*pin != DNET_TOPO_NONE && *pin != b->walk[i])
            return false;
        *pin = b->walk[i];
    }
    return n > 0;
}

/* Label by hops again and again with the walks of those left over pinned. */
static bool label_with_pins(build_t *b, int dest)
{
    bool done = false;
    if (!b->paths && dnet_paths_new(b->turns, &b->paths))
        return false; /* logged; the next attempt needs no memory */
    dnet_paths_search(b->paths, dest);
    for (int s; !done && (s = left_over(b)) != DNET_TOPO_NONE && pin_walk(b, s);) {
        label_by_hops(b, dest);
        done = complete(b);
    }
    for (int s = 0; s < b->t->n_switches; s++)
        b->pin[s] = DNET_TOPO_NONE;
    return done;
}

/* A binary heap of channels, highest dependency order first. */
static void heap_push(build_t *b, int c)
{
    int i = b->heap_n++;
    for (; i > 0 && b->ord[b->heap[(i - 1) / 2]] < b->ord[c]; i = (i - 1) / 2)
        b->heap[i] = b->heap[(i - 1) / 2];
    b->heap[i] = c;
}

static int heap_pop(build_t *b)
{
    int top = b->heap[0], last = b->heap[--b->heap_n], i = 0;
    for (int child; (child = 2 * i + 1) < b->heap_n; i = child) {
        if (child + 1 < b->heap_n && b->ord[b->heap[child + 1]] > b->ord[b->heap[child]])
            child++;
        if (b->ord[b->heap[child]] <= b->ord[last])
            break;
        b->heap[i] = b->heap[child];
    }
    b->heap[i] = last;
    return top;
}

static void push_before(build_t *b, int u)
{
    const dnet_topo_t *t = b->t;
    for (int i = 0; i < dnet_topo_degree(t, u); i++) {
        int c = dnet_topo_channel(t, u, i) ^ 1, w = dnet_topo_tail(t, c);
        bool legal = u == b->dest || dnet_turns_allowed(b->turns, u, i, t->slot[b->next[u]]);
        if (legal && w != b->dest && b->next[w] == DNET_TOPO_NONE)
            heap_push(b, c);
    }
}

static void label_by_dependency(build_t *b, int dest)
{
    start(b, dest);
    b->heap_n = 0;
    push_before(b, dest);
    while (b->heap_n > 0) {
        int c = heap_pop(b), w = dnet_topo_tail(b->t, c);
        if (b->next[w] != DNET_TOPO_NONE)
            continue;
        b->next[w] = c;
        b->order[b->labelled++] = w;
        push_before(b, w);
    }
}

static void label_by_tree(build_t *b, int dest)
{
    const dnet_topo_t *t = b->t;
    start(b, dest);
    for (int at = 0; at < b->labelled; at++) {
        int u = b->order[at];
        for (int i = 0; i < dnet_topo_degree(t, u); i++) {
            int c = dnet_topo_channel(t, u, i) ^ 1, w = dnet_topo_tail(t, c);
            if ((b->tree[u] != c >> 1 && b->tree[w] != c >> 1) || w == dest ||
                b->next[w] != DNET_TOPO_NONE)
                continue;
            b->next[w] = c;
            b->order[b->labelled++] = w;
        }
    }
}

static void label(build_t *b, int dest, dnet_tables_t *tables)
{
    label_by_hops(b, dest);
    if (complete(b))
        return;
    if (label_with_pins(b, dest)) {
        tables->pinned++;
        return;
    }
    if (b->ord) {
        label_by_dependency(b, dest);
        if (complete(b)) {
            tables->second_order++;
            return;
        }
    }
    if (b->tree) {
        label_by_tree(b, dest);
        if (complete(b)) {
            tables->fallbacks++;
            return;
        }
    }
    tables->unrouted += b->t->sw[dest].hosts > 0;
}

/* Adjacency place of the switch at the far end of s's output, where the channel's load is kept. */
static int load_place(const build_t *b, int c)
{
    return b->t->adj_start[dnet_topo_head(b->t, c)] + b->t->slot[c ^ 1];
}

/* Traffic to one destination along its tree, farthest switches first. */
static void add_load(build_t *b, const dnet_traffic_t *tr, double share)
{
    for (int i = b->labelled - 1; i > 0; i--) {
        int s = b->order[i], c = b->next[s];
        if (b->t->sw[s].hosts)
            b->flow[s] += share * dnet_traffic_rate(tr, s, b->dest);
        b->load[load_place(b, c)] += (float) b->flow[s];
        b->flow[dnet_topo_head(b->t, c)] += b->flow[s];
        b->flow[s] = 0;
    }
    b->flow[b->dest] = 0;
}

/* Another destination behind each port chosen for it. */
static void add_count(build_t *b)
{
    for (int i = 1; i < b->labelled; i++)
        b->load[load_place(b, b->next[b->order[i]])] += 1;
}

static void index_neighbours(build_t *b)
{
    const dnet_topo_t *t = b->t;
    for (int s = 0; s < t->n_switches; s++) {
        for (int i = t->adj_start[s]; i < t->adj_start[s + 1]; i++) {
            b->near[i] = dnet_topo_head(t, t->adj[i]);
            b->factor[i] = (float) t->link[t->adj[i] >> 1].cost;
            if (b->balance == DNET_BALANCE_TREE && t->symmetric &&
                t->sw[b->near[i]].level < t->sw[s].level && b->factor[i] == 1)
                b->factor[i] = 0;
        }
        b->pin[s] = DNET_TOPO_NONE;
        b->wanted += b->t->sw[s].hosts > 0 && !b->t->sw[s].down;
    }
}

static dnet_status_t build_init(build_t *b, const dnet_routing_t *r)
{
    const dnet_topo_t *t = b->t;
    size_t ns = (size_t) t->n_switches, channels = (size_t) dnet_topo_channels(t);
    b->turns = r->turns;
    b->tree = r->tree;
    b->next = dnet_subnet_alloc(ns, sizeof(int));
    b->order = dnet_subnet_alloc(ns, sizeof(int));
    b->hops = dnet_subnet_alloc(ns, sizeof(int));
    b->cost = dnet_subnet_alloc(ns, sizeof(double));
    b->flow = dnet_subnet_alloc(ns, sizeof(double));
    b->load = dnet_subnet_alloc(channels, sizeof(float));
    b->factor = dnet_subnet_alloc(channels, sizeof(float));
    b->near = dnet_subnet_alloc(channels, sizeof(int));
    b->pin = dnet_subnet_alloc(ns, sizeof(int));
    b->walk = dnet_subnet_alloc(ns, sizeof(int));
    b->heap = dnet_subnet_alloc(channels, sizeof(int));
    b->ord = dnet_subnet_alloc(channels, sizeof(int));
    if (!b->next || !b->order || !b->hops || !b->cost || !b->flow || !b->load || !b->heap ||
        !b->ord || !b->factor || !b->near || !b->pin || !b->walk)
        return DNET_ERR_NO_MEMORY;
    int cyclic = dnet_turns_order(r->turns, b->ord);
    if (cyclic < 0)
        return DNET_ERR_NO_MEMORY;
    if (cyclic) { /* no dependency order to follow: minhop on a ring, for example */
        free(b->ord);
        b->ord = NULL;
    }
    index_neighbours(b);
    return DNET_OK;
}

static void build_free(build_t *b)
{
    free(b->next);
    free(b->order);
    free(b->hops);
    free(b->cost);
    free(b->flow);
    free(b->load);
    free(b->heap);
    free(b->ord);
    free(b->factor);
    free(b->near);
    free(b->pin);
    free(b->walk);
    dnet_paths_free(b->paths);
}

static void store(const build_t *b, dnet_tables_t *tables, int d)
{
    for (int i = 1; i < b->labelled; i++) {
        int s = b->order[i];
        dnet_tables_row(tables, s)[d] = (uint16_t) dnet_topo_out_port(b->t, b->next[s]);
    }
    dnet_tables_row(tables, b->dest)[d] =
        (uint16_t) (d < b->t->n_hosts ? b->t->host[d].port : 0);
}

dnet_status_t dnet_tables_from_turns(const dnet_topo_t *t, const dnet_route_options_t *opt,
                                     dnet_balance_t balance, dnet_routing_t *r)
{
    build_t b = {.t = t, .balance = balance};
    dnet_tables_t *tables = NULL;
    dnet_status_t st = build_init(&b, r);
    if (!st)
        st = dnet_tables_new(t, &tables);
    if (st) {
        build_free(&b);
        return st;
    }
    dnet_progress_begin("forwarding tables", tables->dests);
    /* Servers leaf by leaf in port order, then the switches. */
    for (int i = 0; i < tables->dests; i++) {
        int d = i < t->n_hosts ? t->host_of[i] : i;
        dnet_progress(i);
        int s = dnet_topo_dest_switch(t, d);
        if (t->sw[s].down)
            continue;
        label(&b, s, tables);
        store(&b, tables, d);
        if (balance == DNET_BALANCE_PORT)
            add_count(&b);
        else if (d < t->n_hosts)
            add_load(&b, opt->traffic, 1.0 / t->sw[s].hosts);
    }
    dnet_progress_end();
    build_free(&b);
    r->tables = tables;
    return DNET_OK;
}

bool dnet_tables_explain(const dnet_tables_t *tables, int src, int dst, FILE *out)
{
    const dnet_topo_t *t = tables->topo;
    int s = t->host[src].sw, hops = 0;
    fprintf(out, "%s -> %s port %d\n", t->host[src].name, t->sw[s].name, t->host[src].port);
    for (int c, port; hops <= t->n_switches; hops++) {
        port = dnet_tables_row(tables, s)[dst];
        dnet_port_kind_t kind = dnet_topo_port(t, s, port, &c);
        if (kind == DNET_PORT_HOST && c == dst) {
            fprintf(out, "%s port %d -> %s: %d link%s between switches\n", t->sw[s].name, port,
                   t->host[dst].name, hops, hops == 1 ? "" : "s");
            return true;
        }
        if (kind != DNET_PORT_CHANNEL)
            break;
        int next = dnet_topo_head(t, c), up = t->sw[next].level - t->sw[s].level;
        fprintf(out, "%s port %d -> %s port %d  (%s)\n", t->sw[s].name, port, t->sw[next].name,
               dnet_topo_out_port(t, c ^ 1), up > 0 ? "up" : up < 0 ? "down" : "across");
        s = next;
    }
    fprintf(out, "no route at %s\n", t->sw[s].name);
    return false;
}
