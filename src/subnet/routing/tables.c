/* SPDX-License-Identifier: BSD-3-Clause
 *
 * From allowed turns to forwarding tables.  A switch forwards by destination only, not by input
 * port, so each destination needs one output channel per switch such that all turns along the
 * resulting tree are allowed.  Three attempts per destination:
 *
 *   1. by hops, among equals the smallest load so far; switches left over get shortest allowed
 *      walks pinned, as many as agree with each other, and the labelling starts again;
 *   2. in descending dependency order (for Up-Down: everything that can go down does), which leaves
 *      the most freedom to switches further out;
 *   3. along a spanning tree whose turns are all allowed.
 *
 * Afterwards destinations with ways over the links that carry most are taken out and labelled
 * again, with links costing the steeper the more they carry; the new tree stays if the sum of
 * powers of loads has become smaller.  Loads inside trees and across are kept apart, as they are
 * judged.  Two joined trees of 1024 servers: 0.91 inside and 0.89 between before, 0.95 and 0.98
 * after.
 *
 * The arrays near[] and load[] run parallel to the topology's adjacency, so that the inner loop
 * reads memory in order: this loop takes most of the time in large networks.
 */
#include "subnet/routing/acyclic.h"
#include "subnet/routing/paths.h"
#include "subnet/base/progress.h"
#include "subnet/base/workers.h"
#include "subnet/routing/routing.h"

#include "common/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define REFINE_TRIES 3    /* for each destination, on average, at most */
#define REFINE_SHARE 0.97 /* of the largest load: links to lead ways away from */
#define PIN_TRIES 64      /* labellings of a column with ever more walks pinned */
#define REFINE_GAIN 1e-6  /* a smaller one is rounding */

/* Loads are kept apart for traffic that stays in a tree, [0], and traffic between joined trees,
 * [1]. */
typedef struct {
    float of[2];
} load_t;

typedef struct {
    double of[2];
} pair_t;

/* What a link's load and price were. */
typedef struct {
    int place;
    load_t load, price;
} kept_t;

/* Working space for one destination at a time. */
typedef struct build {
    const dnet_topo_t *t;
    const dnet_turns_t *turns;
    const int *tree;      /* spanning tree, or NULL */
    int dest;             /* destination switch */
    int lids;             /* among which the traffic to a server is spread */
    int *next;            /* [switch]: output channel, NONE while unlabelled */
    int *order, labelled; /* switches in the order of labelling */
    int *hops;            /* [switch], FAR while unlabelled */
    pair_t *cost;         /* [switch]: load along its path */
    dnet_balance_t balance;
    const int *adj; /* [adjacency]: the topology's, out channels */
    int *near;      /* [adjacency]: the neighbour */
    /* [adjacency]: of the incoming channel, traffic or destinations so far */
    load_t *load;
    load_t *price;        /* [adjacency]: what a way pays for that load */
    float *factor;        /* [adjacency]: cost hint of the link */
    int *place, *head;    /* [channel]: where its load is kept, and its head */
    int *pin;             /* [switch]: output channel it must have, or NONE */
    int *walk;            /* [switch + 1]: space for one walk */
    dnet_turns_t *narrow; /* turns that agree with the pins, and walks along them; made when */
    dnet_paths_t *narrow_paths; /* first needed */
    pair_t *flow;               /* [switch] */
    uint8_t *across; /* [switch]: 1 if another tree than across_from, the destination's */
    int across_from;
    int *ord; /* [channel]: dependency order, made when first needed */
    int *heap, heap_n;
    bool refining;
    pair_t most;   /* the largest loads, while refining */
    kept_t *kept;  /* [2 * switch]: loads to take back */
    uint8_t *must; /* [switch]: 1 if it must have an entry */
    int wanted;    /* how many must */
    bool mixing;   /* entries have to agree with those of before, too: */
    int *was;      /* [switch]: channel of the tables before, in service, or NONE */
} build_t;

#define FAR INT_MAX

/* What a link at `x` of the largest load costs while the tables are refined. */
static inline double steep(double x)
{
    return x * x * x * x;
}

static inline void set_price(build_t *b, int place)
{
    for (int k = 0; k < 2; k++) {
        double load = b->load[place].of[k];
        b->price[place].of[k] =
            (float) (b->factor[place] * (b->refining ? steep(load / b->most.of[k]) : load));
    }
}

static void start(build_t *b, int dest)
{
    b->dest = dest;
    for (int s = 0; s < b->t->n_switches; s++) {
        b->next[s] = DNET_TOPO_NONE;
        b->hops[s] = FAR;
    }
    b->hops[dest] = 0;
    b->cost[dest] = (pair_t){{0, 0}};
    b->order[0] = dest;
    b->labelled = 1;
    if (b->balance != DNET_BALANCE_TREE || b->across_from == b->t->sw[dest].tree)
        return;
    b->across_from = b->t->sw[dest].tree;
    for (int s = 0; s < b->t->n_switches; s++)
        b->across[s] = b->t->sw[s].tree != b->across_from;
}

/* Choose the switches that must have an entry: with servers, or all of them. */
static void want(build_t *b, bool everywhere)
{
    const dnet_topo_t *t = b->t;
    b->wanted = 0;
    for (int s = 0; s < t->n_switches; s++) {
        b->must[s] =
            !t->sw[s].down && (t->sw[s].hosts > 0 || (everywhere && dnet_topo_degree(t, s) > 0));
        b->wanted += b->must[s];
    }
}

/* Every switch that must have an entry has one? */
static bool complete(const build_t *b)
{
    int found = 0;
    for (int i = 0; i < b->labelled; i++)
        found += b->must[b->order[i]];
    return found == b->wanted;
}

/*
 * May w change to channel c, into u, while others have not changed yet?  Packets on the old ways
 * into w take c then, and packets in c take u's old way on.
 */
static bool mixes(const build_t *b, int w, int c, int u)
{
    const dnet_topo_t *t = b->t;
    int on = b->was[u], in = t->slot[c ^ 1];
    if (b->was[w] == c)
        return true;
    if (on != DNET_TOPO_NONE && on != b->next[u] &&
        (in == t->slot[on] || !dnet_turns_allowed(b->turns, u, in, t->slot[on])))
        return false;
    for (int i = 0; i < dnet_topo_degree(t, w); i++) {
        int before = dnet_topo_channel(t, w, i) ^ 1;
        if (b->was[dnet_topo_tail(t, before)] == before &&
            (i == t->slot[c] || !dnet_turns_allowed(b->turns, w, i, t->slot[c])))
            return false;
    }
    return true;
}

/*
 * Offer the incoming channel at adjacency place `at` of u to its tail, `hops` from the end.  `b` is
 * the caller's own copy, so that the compiler keeps it in registers.
 */
static inline void offer(build_t *b, const build_t *shared, int at, int u, int hops, pair_t on)
{
    int w = b->near[at];
    if (b->hops[w] < hops)
        return;
    int c = b->adj[at] ^ 1, own = b->across[w];
    if ((b->pin[w] != DNET_TOPO_NONE && b->pin[w] != c) || (b->mixing && !mixes(shared, w, c, u)))
        return;
    /* What starts here is compared by its own load; the other kind passes only, and breaks ties. */
    pair_t cost = {{b->price[at].of[0] + on.of[0], b->price[at].of[1] + on.of[1]}};
    double mine = own ? cost.of[1] : cost.of[0], other = own ? cost.of[0] : cost.of[1];
    pair_t *best = &b->cost[w];
    if (b->hops[w] == FAR) {
        b->order[b->labelled++] = w;
        b->hops[w] = hops;
    } else if (best->of[own] < mine || (best->of[own] == mine && best->of[!own] <= other)) {
        return;
    }
    b->next[w] = c;
    *best = cost;
}

static void label_by_hops(build_t *shared, int dest)
{
    start(shared, dest);
    build_t b = *shared;
    const dnet_topo_t *t = b.t;
    for (int at = 0; at < b.labelled; at++) {
        int u = b.order[at], hops = b.hops[u] + 1, first = t->adj_start[u];
        pair_t on = b.balance == DNET_BALANCE_PORT ? (pair_t){{0, 0}} : b.cost[u];
        if (u == dest) {
            for (int i = 0; i < dnet_topo_degree(t, u); i++)
                offer(&b, shared, first + i, u, hops, on);
            continue;
        }
        const uint64_t *row = dnet_turns_row(b.turns, u, t->slot[b.next[u]]);
        for (int w = 0, words = b.turns->words[u]; w < words; w++)
            for (uint64_t m = row[w]; m; m &= m - 1)
                offer(&b, shared, first + 64 * w + __builtin_ctzll(m), u, hops, on);
    }
    shared->labelled = b.labelled;
}

/* The first switch from `first` on that must have an entry and has none, or NONE. */
static int left_over(const build_t *b, int first)
{
    for (int s = first; s < b->t->n_switches; s++)
        if (b->must[s] && dnet_topo_degree(b->t, s) && s != b->dest && b->next[s] == DNET_TOPO_NONE)
            return s;
    return DNET_TOPO_NONE;
}

/* The n channels of b->walk: does it meet no switch pinned to something else? */
static bool pins_agree(const build_t *b, int n)
{
    for (int i = 0; i < n; i++) {
        int pin = b->pin[dnet_topo_tail(b->t, b->walk[i])];
        if (pin != DNET_TOPO_NONE && pin != b->walk[i])
            return false;
    }
    return true;
}

/* The turns that agree with the pins: out of a pinned switch there is one way only. */
static void narrow_turns(build_t *b)
{
    const dnet_topo_t *t = b->t;
    memcpy(b->narrow->bits, b->turns->bits, b->turns->start[t->n_switches] * sizeof(uint64_t));
    for (int s = 0; s < t->n_switches; s++)
        for (int i = 0; i < dnet_topo_degree(t, s) && b->pin[s] != DNET_TOPO_NONE; i++)
            if (i != t->slot[b->pin[s]])
                memset(dnet_turns_row(b->narrow, s, i), 0,
                       (size_t) b->narrow->words[s] * sizeof(uint64_t));
}

/* Pin walks that agree with the pins there are, of all switches without entry that one search
 * serves: a walk that crosses one of them waits for the next.  Where a walk meets an old pin it
 * ends: rows are turns out of a slot here, so that none leads in to a pinned switch. */
static bool pin_agreeing(build_t *b)
{
    bool pinned = false;
    narrow_turns(b);
    dnet_paths_measure(b->narrow_paths, b->dest);
    for (int s = left_over(b, 0); s != DNET_TOPO_NONE; s = left_over(b, s + 1)) {
        if (b->pin[s] != DNET_TOPO_NONE)
            continue;
        int n = dnet_paths_walk(b->narrow_paths, s, b->walk, b->t->n_switches);
        if (n <= 0)
            return false; /* nor has it one when there are more pins */
        if (!pins_agree(b, n))
            continue;
        for (int i = 0; i < n; i++)
            b->pin[dnet_topo_tail(b->t, b->walk[i])] = b->walk[i];
        pinned = true;
    }
    return pinned;
}

/* Label by hops with the pins there are and, as long as switches are left over, walks of theirs
 * pinned.  The pins are gone then.  @return complete */
static bool label_pinned(build_t *b, int dest)
{
    bool done = false, more = true;
    if (!b->narrow &&
        (dnet_turns_new(b->t, false, &b->narrow) || dnet_paths_new(b->narrow, &b->narrow_paths)))
        return false; /* logged; the other attempts need no memory */
    for (int tries = 0; more && tries < PIN_TRIES; tries++) {
        label_by_hops(b, dest);
        done = complete(b);
        more = !done && pin_agreeing(b);
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

static bool label(build_t *b, int dest, dnet_tables_t *tables)
{
    label_by_hops(b, dest);
    if (complete(b))
        return true;
    if (label_pinned(b, dest)) {
        tables->pinned++;
        return true;
    }
    if (b->ord) {
        label_by_dependency(b, dest);
        if (complete(b)) {
            tables->second_order++;
            return true;
        }
    }
    if (b->tree) {
        label_by_tree(b, dest);
        if (complete(b)) {
            tables->fallbacks++;
            return true;
        }
    }
    return false;
}

/*
 * Add the traffic to one destination along its tree, farthest switches first, or with sign -1 take
 * it away.  `kept`: loads before, one for each switch labelled, or NULL.  Returns the change of the
 * sum over all links of (load / largest load) to the power 5.
 */
static double put_load(build_t *b, const dnet_traffic_t *tr, double sign, kept_t *kept)
{
    double change = 0, share = 1.0 / b->t->sw[b->dest].hosts / b->lids;
    for (int i = b->labelled - 1; i > 0; i--) {
        int s = b->order[i], c = b->next[s], place = b->place[c];
        if (kept)
            kept[i] = (kept_t){place, b->load[place], b->price[place]};
        if (b->t->sw[s].hosts)
            b->flow[s].of[b->across[s]] += share * dnet_traffic_rate(tr, s, b->dest);
        for (int k = 0; k < 2; k++) {
            double was = b->load[place].of[k] / b->most.of[k];
            b->load[place].of[k] += (float) (sign * b->flow[s].of[k]);
            double is = b->load[place].of[k] / b->most.of[k];
            change += is * steep(is) - was * steep(was);
            b->flow[b->head[c]].of[k] += b->flow[s].of[k];
            b->flow[s].of[k] = 0;
        }
        set_price(b, place);
    }
    b->flow[b->dest] = (pair_t){{0, 0}};
    return change;
}

/* Put back what put_load has kept of a tree of n switches. */
static void restore_load(build_t *b, const kept_t *kept, int n)
{
    for (int i = 1; i < n; i++) {
        b->load[kept[i].place] = kept[i].load;
        b->price[kept[i].place] = kept[i].price;
    }
}

/* Another destination behind each port chosen for it. */
static void add_count(build_t *b)
{
    for (int i = 1; i < b->labelled; i++) {
        int place = b->place[b->next[b->order[i]]];
        b->load[place].of[0] += 1;
        set_price(b, place);
    }
}

/* What the load of the link at a place of s counts; in a regular tree see DNET_BALANCE_TREE. */
static void set_factor(build_t *b, int s, int place)
{
    const dnet_topo_t *t = b->t;
    b->factor[place] = (float) t->link[t->adj[place] >> 1].cost;
    if (b->balance == DNET_BALANCE_TREE && t->symmetric && !b->refining && b->factor[place] == 1 &&
        t->sw[b->near[place]].level < t->sw[s].level)
        b->factor[place] = 0;
}

static void index_neighbours(build_t *b)
{
    const dnet_topo_t *t = b->t;
    for (int s = 0; s < t->n_switches; s++) {
        for (int i = t->adj_start[s]; i < t->adj_start[s + 1]; i++) {
            b->near[i] = dnet_topo_head(t, t->adj[i]);
            set_factor(b, s, i);
        }
    }
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        b->head[c] = dnet_topo_head(t, c);
        b->place[c] = t->adj_start[b->head[c]] + t->slot[c ^ 1];
    }
    want(b, false);
}

/* Space for a tree. */
static bool tree_init(build_t *b)
{
    size_t ns = (size_t) b->t->n_switches;
    b->next = dnet_subnet_alloc(ns, sizeof(int));
    b->order = dnet_subnet_alloc(ns, sizeof(int));
    b->hops = dnet_subnet_alloc(ns, sizeof(int));
    b->cost = dnet_subnet_alloc(ns, sizeof(*b->cost));
    b->across = dnet_subnet_alloc(ns, sizeof(*b->across));
    b->pin = dnet_subnet_alloc(ns, sizeof(int));
    b->walk = dnet_subnet_alloc(ns + 1, sizeof(int));
    b->across_from = DNET_TOPO_NONE;
    b->narrow = NULL;
    b->narrow_paths = NULL;
    if (!b->next || !b->order || !b->hops || !b->cost || !b->across || !b->pin || !b->walk)
        return false;
    for (size_t s = 0; s < ns; s++)
        b->pin[s] = DNET_TOPO_NONE;
    return true;
}

static void tree_free(build_t *b)
{
    free(b->next);
    free(b->order);
    free(b->hops);
    free(b->cost);
    free(b->across);
    free(b->pin);
    free(b->walk);
    dnet_paths_free(b->narrow_paths);
    dnet_turns_free(b->narrow);
}

static dnet_status_t build_init(build_t *b, const dnet_routing_t *r)
{
    const dnet_topo_t *t = b->t;
    size_t ns = (size_t) t->n_switches, channels = (size_t) dnet_topo_channels(t);
    b->adj = t->adj;
    b->turns = r->turns;
    b->tree = r->tree;
    b->flow = dnet_subnet_alloc(ns, sizeof(*b->flow));
    b->kept = dnet_subnet_alloc(2 * ns, sizeof(*b->kept));
    b->load = dnet_subnet_alloc(channels, sizeof(*b->load));
    b->price = dnet_subnet_alloc(channels, sizeof(*b->price));
    b->must = dnet_subnet_alloc(ns, sizeof(*b->must));
    b->place = dnet_subnet_alloc(channels, sizeof(int));
    b->head = dnet_subnet_alloc(channels, sizeof(int));
    b->factor = dnet_subnet_alloc(channels, sizeof(float));
    b->near = dnet_subnet_alloc(channels, sizeof(int));
    b->was = dnet_subnet_alloc(ns, sizeof(int));
    b->heap = dnet_subnet_alloc(channels, sizeof(int));
    b->ord = dnet_subnet_alloc(channels, sizeof(int));
    if (!tree_init(b) || !b->flow || !b->kept || !b->load || !b->price || !b->must || !b->place ||
        !b->head || !b->heap || !b->ord || !b->factor || !b->near || !b->was)
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
    tree_free(b);
    free(b->flow);
    free(b->kept);
    free(b->load);
    free(b->price);
    free(b->must);
    free(b->place);
    free(b->head);
    free(b->factor);
    free(b->near);
    free(b->was);
    free(b->heap);
    free(b->ord);
}

/* Free the builds that crew_new has made. */
static void crew_free(build_t *crew)
{
    for (int i = 0; crew && i < dnet_workers(); i++)
        tree_free(&crew[i]);
    free(crew);
}

/* A build for each thread, with a tree of its own; all else is b's.  NULL without memory (logged).
 */
static build_t *crew_new(const build_t *b)
{
    build_t *crew = dnet_subnet_alloc((size_t) dnet_workers(), sizeof(*crew));
    for (int i = 0; crew && i < dnet_workers(); i++) {
        crew[i] = *b;
        if (!tree_init(&crew[i])) {
            crew_free(crew);
            return NULL;
        }
    }
    return crew;
}

static void store(const build_t *b, dnet_tables_t *tables, int column)
{
    int d = column % tables->dests;
    for (int s = 0; s < b->t->n_switches; s++)
        dnet_tables_row(tables, s)[column] = DNET_TABLE_NONE;
    for (int i = 1; i < b->labelled; i++) {
        int s = b->order[i];
        dnet_tables_row(tables, s)[column] = (uint16_t) dnet_topo_out_port(b->t, b->next[s]);
    }
    dnet_tables_row(tables, b->dest)[column] =
        (uint16_t) (d < b->t->n_hosts ? b->t->host[d].port : 0);
}

/* The i-th LID in the order of routing: a server's LIDs together, servers leaf by leaf in port
 * order, then the switches'. */
static int column_at(const dnet_tables_t *tables, int i)
{
    const dnet_topo_t *t = tables->topo;
    int at = i / tables->planes, plane = i % tables->planes;
    return plane * tables->dests + (at < t->n_hosts ? t->host_of[at] : at);
}

/* There is such a LID, and its switch is in service. */
static bool lives(const dnet_tables_t *tables, int column)
{
    int d = dnet_tables_dest(tables, column);
    return d != DNET_TOPO_NONE && !tables->topo->sw[dnet_topo_dest_switch(tables->topo, d)].down;
}

/* ---- refining ---- */

/* Near switches first, by a counting sort; switches that do not get to the end are left out. */
static void order_by_hops(build_t *b)
{
    int ns = b->t->n_switches, *first = b->walk;
    memset(first, 0, ((size_t) ns + 1) * sizeof(int));
    for (int s = 0; s < ns; s++)
        if (b->hops[s] != FAR)
            first[b->hops[s] + 1]++;
    for (int hops = 0; hops < ns; hops++)
        first[hops + 1] += first[hops];
    b->labelled = first[ns];
    for (int s = 0; s < ns; s++)
        if (b->hops[s] != FAR)
            b->order[first[b->hops[s]]++] = s;
}

/* The tree to a LID as the tables have it, near switches first. */
static void adopt(build_t *b, const dnet_tables_t *tables, int column)
{
    const dnet_topo_t *t = b->t;
    int c;
    start(b, dnet_topo_dest_switch(t, column % tables->dests));
    for (int s = 0; s < t->n_switches; s++) {
        uint16_t port = dnet_tables_row(tables, s)[column];
        if (s != b->dest && port != DNET_TABLE_NONE &&
            dnet_topo_port(t, s, port, &c) == DNET_PORT_CHANNEL)
            b->next[s] = c;
    }
    for (int first = 0; first < t->n_switches; first++) {
        int n = 0, s = first;
        for (; b->hops[s] == FAR && b->next[s] != DNET_TOPO_NONE && n < t->n_switches;
             s = b->head[b->next[s]])
            b->walk[n++] = s;
        for (int hops = b->hops[s]; n > 0;)
            if (hops == FAR)
                b->next[b->walk[--n]] = DNET_TOPO_NONE;
            else
                b->hops[b->walk[--n]] = ++hops;
    }
    order_by_hops(b);
}

/* Mark the LIDs with a way over one of the links that carry most. */
static void mark_loaded(const build_t *b, const dnet_tables_t *tables, bool *marked)
{
    const dnet_topo_t *t = b->t;
    int columns = dnet_tables_columns(tables);
    memset(marked, 0, (size_t) columns * sizeof(*marked));
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        if (t->slot[c] == DNET_TOPO_NONE)
            continue;
        const load_t *load = &b->load[b->place[c]];
        const uint16_t *row = dnet_tables_row(tables, dnet_topo_tail(t, c));
        if (load->of[0] < REFINE_SHARE * b->most.of[0] &&
            load->of[1] < REFINE_SHARE * b->most.of[1])
            continue;
        for (int x = 0; x < columns; x++)
            marked[x] |= row[x] == dnet_topo_out_port(t, c);
    }
}

/* A tree around the links that carry most.  @return it is better, and in the tables */
static bool reroute(build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables, int column)
{
    kept_t *old = b->kept, *new = b->kept + b->t->n_switches;
    b->lids = dnet_topo_lids(b->t, column % tables->dests);
    adopt(b, tables, column);
    int labelled = b->labelled;
    double change = put_load(b, tr, -1, old);
    label_by_hops(b, b->dest);
    if (complete(b)) {
        change += put_load(b, tr, 1, new);
        if (change < -REFINE_GAIN) {
            store(b, tables, column);
            return true;
        }
        restore_load(b, new, b->labelled);
    }
    restore_load(b, old, labelled);
    return false;
}

/* The largest loads now, and what each link costs by them. */
static void price_links(build_t *b)
{
    const dnet_topo_t *t = b->t;
    b->most = (pair_t){{1e-9, 1e-9}};
    for (int i = 0; i < dnet_topo_channels(t); i++)
        for (int k = 0; k < 2; k++)
            if (b->load[i].of[k] > b->most.of[k])
                b->most.of[k] = b->load[i].of[k];
    for (int s = 0; s < t->n_switches; s++)
        for (int i = t->adj_start[s]; i < t->adj_start[s + 1]; i++) {
            set_factor(b, s, i);
            set_price(b, i);
        }
}

/* The destinations over the links that carry most again, now that all loads are known. */
static dnet_status_t refine(build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables)
{
    const dnet_topo_t *t = b->t;
    long tries = 0, better = 1, most = (long) REFINE_TRIES * t->n_hosts * tables->planes;
    bool *marked = dnet_subnet_alloc((size_t) dnet_tables_columns(tables), sizeof(*marked));
    if (!marked)
        return DNET_ERR_NO_MEMORY;
    b->refining = true;
    dnet_progress_begin("balancing", most);
    while (better > 0 && tries < most) {
        price_links(b);
        mark_loaded(b, tables, marked);
        better = 0;
        for (int i = 0; i < t->n_hosts * tables->planes && tries < most; i++) {
            int column = column_at(tables, i);
            dnet_progress(tries);
            if (!marked[column] || !lives(tables, column))
                continue;
            better += reroute(b, tr, tables, column);
            tries++;
        }
    }
    dnet_progress_end();
    free(marked);
    return DNET_OK;
}

/* Pin the entries of b's tree that servers' packets pass; all others may change for free. */
static void pin_used(build_t *b, bool *used)
{
    const dnet_topo_t *t = b->t;
    for (int s = 0; s < t->n_switches; s++) {
        used[s] = t->sw[s].hosts > 0;
        b->pin[s] = DNET_TOPO_NONE;
    }
    for (int i = b->labelled - 1; i > 0; i--) {
        int s = b->order[i];
        if (!used[s])
            continue;
        b->pin[s] = b->next[s];
        used[dnet_topo_head(t, b->next[s])] = true;
    }
}

/* Pin all entries of b's tree. */
static void pin_all(build_t *b)
{
    for (int s = 0; s < b->t->n_switches; s++)
        b->pin[s] = DNET_TOPO_NONE;
    for (int i = 1; i < b->labelled; i++)
        b->pin[b->order[i]] = b->next[b->order[i]];
}

/*
 * Label again with the entries of b's tree as they are, all, or with `used` those that servers'
 * packets pass.  @return false: more has to change
 */
static bool label_keeping(build_t *b, int dest, bool *used)
{
    if (used)
        pin_used(b, used);
    else
        pin_all(b);
    return label_pinned(b, dest);
}

/* Columns for which some switch has no entry.  @return how many */
static int find_holes(const dnet_tables_t *tables, int *columns)
{
    const dnet_topo_t *t = tables->topo;
    int n = 0, all = dnet_tables_columns(tables);
    memset(columns, 0, (size_t) all * sizeof(*columns));
    for (int s = 0; s < t->n_switches; s++) {
        const uint16_t *row = dnet_tables_row(tables, s);
        for (int x = 0; x < all && !t->sw[s].down && dnet_topo_degree(t, s); x++)
            columns[x] |= row[x] == DNET_TABLE_NONE;
    }
    for (int x = 0; x < all; x++)
        if (columns[x] && lives(tables, x))
            columns[n++] = x;
    return n;
}

/* What the threads that fill columns share. */
typedef struct {
    build_t *crew;
    dnet_tables_t *tables;
    const int *columns;
    bool *done; /* [item] */
    bool *used; /* [worker * switches + switch] */
} holes_t;

/* A column for all switches in which what servers' packets pass stays: no load changes. */
static void fill_unused(void *arg, int worker, int item)
{
    holes_t *h = arg;
    build_t *b = &h->crew[worker];
    adopt(b, h->tables, h->columns[item]);
    h->done[item] =
        label_keeping(b, b->dest, h->used + (size_t) worker * (size_t) b->t->n_switches);
    if (h->done[item])
        store(b, h->tables, h->columns[item]);
}

/* A column for all switches, with the loads of its traffic. */
static bool route_everywhere(build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables,
                             int column)
{
    bool traffic = column % tables->dests < b->t->n_hosts && b->balance != DNET_BALANCE_PORT;
    b->lids = dnet_topo_lids(b->t, column % tables->dests);
    adopt(b, tables, column);
    if (traffic)
        put_load(b, tr, -1, NULL);
    bool good = label(b, b->dest, tables);
    if (good)
        store(b, tables, column);
    else
        adopt(b, tables, column);
    if (traffic)
        put_load(b, tr, 1, NULL);
    return good;
}

/* LIDs that some switch still has no way to although turns were opened. */
static dnet_status_t route_holes(build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables)
{
    size_t columns = (size_t) dnet_tables_columns(tables);
    int cyclic = dnet_turns_order(b->turns, b->ord); /* turns have been opened */
    dnet_status_t st = cyclic < 0 ? DNET_ERR_NO_MEMORY : cyclic ? DNET_ERR_STATE : DNET_OK;
    int *holes = dnet_subnet_alloc(columns, sizeof(*holes));
    want(b, true);
    holes_t h = {.tables = tables,
                 .columns = holes,
                 .done = dnet_subnet_alloc(columns, sizeof(bool)),
                 .used = dnet_subnet_alloc((size_t) dnet_workers() * (size_t) b->t->n_switches,
                                           sizeof(bool)),
                 .crew = crew_new(b)};
    if (!st && (!holes || !h.done || !h.used || !h.crew))
        st = DNET_ERR_NO_MEMORY;
    int n = st ? 0 : find_holes(tables, holes);
    dnet_workers_run(n, fill_unused, &h);
    for (int i = 0; i < n; i++)
        tables->unmanaged -= h.done[i] || route_everywhere(b, tr, tables, holes[i]);
    free(holes);
    free(h.done);
    free(h.used);
    crew_free(h.crew);
    return st;
}

/* All columns from nothing, one after the other. */
static void route_all(build_t *b, const dnet_route_options_t *opt, dnet_tables_t *tables)
{
    const dnet_topo_t *t = b->t;
    dnet_progress_begin("forwarding tables", dnet_tables_columns(tables));
    for (int i = 0; i < dnet_tables_columns(tables); i++) {
        int column = column_at(tables, i), d = column % tables->dests;
        dnet_progress(i);
        if (!lives(tables, column))
            continue;
        b->lids = dnet_topo_lids(t, d);
        tables->unrouted += !label(b, dnet_topo_dest_switch(t, d), tables) && d < t->n_hosts;
        store(b, tables, column);
        if (b->balance == DNET_BALANCE_PORT)
            add_count(b);
        else if (d < t->n_hosts)
            put_load(b, opt->traffic, 1, NULL);
    }
    dnet_progress_end();
}

/* ---- changing what must change ---- */

/* b has the tree of the old tables to a column.  @return every entry there is still leads there */
static bool adopt_whole(build_t *b, const dnet_tables_t *from, int column)
{
    int entries = 0;
    adopt(b, from, column);
    for (int s = 0; s < b->t->n_switches; s++)
        entries += !b->t->sw[s].down && dnet_tables_row(from, s)[column] != DNET_TABLE_NONE;
    return b->labelled == entries && complete(b);
}

/* The entries that lead nowhere any more, and as few others as possible. */
static void mend(build_t *b, const dnet_route_options_t *opt, dnet_tables_t *tables, int column,
                 bool *used)
{
    const dnet_tables_t *from = opt->from;
    int d = column % tables->dests, end = dnet_topo_dest_switch(b->t, d);
    bool done = false;
    int c;
    for (int s = 0; s < b->t->n_switches; s++)
        b->was[s] = s != end && dnet_topo_port(b->t, s, dnet_tables_row(from, s)[column], &c) ==
                                    DNET_PORT_CHANNEL
                        ? c
                        : DNET_TOPO_NONE;
    for (int attempt = 0; attempt < 4 && !done; attempt++) {
        b->mixing = attempt < 2;
        adopt(b, from, column);
        done = label_keeping(b, end, attempt & 1 ? used : NULL);
    }
    b->mixing = false;
    tables->unrouted += !done && !label(b, end, tables) && d < b->t->n_hosts;
    store(b, tables, column);
    tables->mended++;
}

/* Links in service that the old tables do not use in either direction: they are back, or new. */
static bool has_idle_links(const build_t *b)
{
    const dnet_topo_t *t = b->t;
    for (int l = 0; l < t->n_links; l++) {
        if (t->slot[2 * l] == DNET_TOPO_NONE)
            continue;
        const load_t *x = &b->load[b->place[2 * l]], *y = &b->load[b->place[2 * l + 1]];
        if (x->of[0] + x->of[1] + y->of[0] + y->of[1] <= 0)
            return true;
    }
    return false;
}

/* Keep the tables opt->from, except what a failure has broken. */
static dnet_status_t route_changes(build_t *b, const dnet_route_options_t *opt,
                                   dnet_tables_t *tables)
{
    int columns = dnet_tables_columns(tables);
    bool *broken = dnet_subnet_alloc((size_t) columns, sizeof(*broken));
    bool *used = dnet_subnet_alloc((size_t) b->t->n_switches, sizeof(*used));
    dnet_status_t st = broken && used ? DNET_OK : DNET_ERR_NO_MEMORY;
    for (int x = 0; x < columns && !st; x++) {
        if (!lives(tables, x))
            continue;
        b->lids = dnet_topo_lids(b->t, x % tables->dests);
        broken[x] = !adopt_whole(b, opt->from, x);
        store(b, tables, x);
        if (!broken[x] && x % tables->dests < b->t->n_hosts)
            put_load(b, opt->traffic, 1, NULL);
    }
    if (!st) {
        b->refining = true;
        price_links(b);
    }
    for (int i = 0; i < columns && !st; i++) {
        int x = column_at(tables, i);
        if (!broken[x])
            continue;
        b->lids = dnet_topo_lids(b->t, x % tables->dests);
        mend(b, opt, tables, x, used);
        if (x % tables->dests < b->t->n_hosts)
            put_load(b, opt->traffic, 1, NULL);
    }
    if (!st && has_idle_links(b))
        st = refine(b, opt->traffic, tables);
    free(broken);
    free(used);
    return st;
}

dnet_status_t dnet_tables_from_turns(const dnet_topo_t *t, const dnet_route_options_t *opt,
                                     dnet_balance_t balance, dnet_routing_t *r)
{
    build_t b = {.t = t, .balance = balance, .most = {{1, 1}}};
    dnet_tables_t *tables = NULL;
    dnet_status_t st = build_init(&b, r);
    if (!st)
        st = dnet_tables_new(t, &tables);
    if (st) {
        build_free(&b);
        return st;
    }
    if (r->kept) {
        st = route_changes(&b, opt, tables);
    } else {
        route_all(&b, opt, tables);
        if (balance == DNET_BALANCE_TREE)
            st = refine(&b, opt->traffic, tables);
    }
    if (!st && b.ord) {
        st = dnet_tables_fill(tables, r->turns);
        if (!st && tables->unmanaged)
            st = route_holes(&b, opt->traffic, tables);
    }
    build_free(&b);
    if (st)
        dnet_tables_free(tables);
    else
        r->tables = tables;
    return st;
}
