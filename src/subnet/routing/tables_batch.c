/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trees to many LIDs (tables_build.h), on all processors: those of a batch are made side by side
 * with the prices of links at its beginning, and take effect one after the other.  The size of a
 * batch belongs to the network, not to the machine, so that tables do not depend on the number of
 * processors; small networks have one LID in each.
 *
 * Refining: destinations with ways over the links that carry most are taken out and labelled again,
 * with links costing the steeper the more they carry; the new tree stays if the sum of powers of
 * loads becomes smaller.  Two joined trees of 1024 servers: 0.91 inside and 0.89 between before,
 * 0.95 and 0.97 after.
 */
#include "subnet/routing/tables_build.h"
#include "subnet/base/progress.h"
#include "subnet/base/workers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 32
#define BATCH_SHARE 256   /* LIDs of servers for each LID of a batch, when refining */
#define BATCH_ANEW 1024   /* the same, from nothing */
#define REFINE_TRIES 2    /* for each destination, on average, at most */
#define REFINE_SHARE 0.98 /* of the largest load: links to lead ways away from */
#define REFINE_STAYS 1e-4 /* part of a largest load */
#define REFINE_GAIN 1e-6  /* a smaller one is rounding */

/* What a tree adds to a link's load, or takes away. */
typedef struct change {
    int place;
    dnet_load_t by;
} change_t;

typedef struct move {
    int s;
    uint16_t port; /* its new entry */
} move_t;

/* A tree to one LID, as what differs from the tables. */
typedef struct tree {
    int column;
    bool complete;
    int changes, moves;
    change_t *change; /* [2 * switch] */
    move_t *move;     /* [switch] */
} tree_t;

/* What a thread has. */
typedef struct hand {
    dnet_build_t *b;
    int *old;               /* [switch]: output channel before, or NONE */
    dnet_loads_t *old_flow; /* [switch] */
    long batch;             /* whose prices it has */
    dnet_tables_t count;    /* what its trees took, no entries */
} hand_t;

/* What trees are made for. */
typedef enum {
    FROM_NOTHING, /* the tables have none yet */
    REFINED,      /* to be better than the one there is */
    WHOLE,        /* to be complete */
} purpose_t;

typedef struct batches {
    dnet_build_t *b, *crew;
    const dnet_traffic_t *tr;
    dnet_tables_t *tables;
    purpose_t purpose;
    int threads, size;
    hand_t hand[DNET_WORKERS_MAX];
    tree_t tree[BATCH_MAX];
    int n; /* of the batch in hand */
    long batch;
} batches_t;

static void batches_free(batches_t *a)
{
    for (int i = 0; i < a->threads; i++) {
        free(a->hand[i].old);
        free(a->hand[i].old_flow);
    }
    for (int i = 0; i < a->size; i++) {
        free(a->tree[i].change);
        free(a->tree[i].move);
    }
    dnet_build_crew_free(a->crew, a->threads);
}

static dnet_status_t batches_init(batches_t *a)
{
    size_t ns = (size_t) a->b->t->n_switches;
    int size = a->b->t->n_hosts * a->tables->planes /
               (a->purpose == FROM_NOTHING ? BATCH_ANEW : BATCH_SHARE);
    a->size = size < 1 || a->b->balance == DNET_BALANCE_PORT ? 1
              : size < BATCH_MAX                             ? size
                                                             : BATCH_MAX;
    a->threads = dnet_workers() < a->size ? dnet_workers() : a->size;
    a->crew = dnet_build_crew_new(a->b, a->threads);
    bool good = a->crew != NULL;
    for (int i = 0; i < a->threads; i++) {
        a->hand[i] = (hand_t){.b = &a->crew[i],
                              .old = dnet_subnet_alloc(ns, sizeof(int)),
                              .old_flow = dnet_subnet_alloc(ns, sizeof(dnet_loads_t))};
        good = good && a->hand[i].old && a->hand[i].old_flow;
    }
    for (int i = 0; i < a->size; i++) {
        a->tree[i].change = dnet_subnet_alloc(2 * ns, sizeof(change_t));
        a->tree[i].move = dnet_subnet_alloc(ns, sizeof(move_t));
        good = good && a->tree[i].change && a->tree[i].move;
    }
    return good ? DNET_OK : DNET_ERR_NO_MEMORY;
}

/* Only servers are sent to as much as to count; OpenSM counts all LIDs. */
static bool loads(const batches_t *a, int column)
{
    return a->b->balance == DNET_BALANCE_PORT || column % a->tables->dests < a->b->t->n_hosts;
}

static void find_flows(const batches_t *a, dnet_build_t *b, int column)
{
    if (loads(a, column))
        dnet_build_flows(b, a->tr);
    else
        memset(b->flow, 0, (size_t) b->t->n_switches * sizeof(*b->flow));
}

/* The tree in the tables, whose links cost as if it were not there. */
static void leave_out_old(const batches_t *a, hand_t *h, int column)
{
    dnet_build_t *b = h->b;
    dnet_build_adopt(b, a->tables, column);
    find_flows(a, b, column);
    memcpy(h->old, b->next, (size_t) b->t->n_switches * sizeof(int));
    dnet_loads_t *flow = b->flow;
    b->flow = h->old_flow;
    h->old_flow = flow;
    for (int i = 1; i < b->labelled; i++) {
        int s = b->order[i], place = b->place[h->old[s]];
        dnet_load_t load = b->load[place];
        for (int k = 0; k < 2; k++)
            load.of[k] -= (float) flow[s].of[k] * b->part[place];
        b->price[place] = dnet_build_price(b, place, load);
    }
}

static void restore_prices(const batches_t *a, const hand_t *h)
{
    for (int s = 0; s < h->b->t->n_switches; s++)
        if (h->old[s] != DNET_TOPO_NONE) {
            int place = h->b->place[h->old[s]];
            h->b->price[place] = a->b->price[place];
        }
}

/* Traffic on the link of channel c changes from one flow to another. */
static void note_change(const dnet_build_t *b, tree_t *tree, int c, const dnet_loads_t *from,
                        const dnet_loads_t *to)
{
    int place = b->place[c];
    change_t *x = &tree->change[tree->changes];
    bool changed = false;
    x->place = place;
    for (int k = 0; k < 2; k++) {
        double by = to->of[k] - from->of[k];
        bool rounding = fabs(by) <= 1e-9 * (to->of[k] + from->of[k]);
        x->by.of[k] = rounding ? 0 : (float) by * b->part[place];
        changed |= !rounding;
    }
    tree->changes += changed;
}

static void note_differences(const hand_t *h, tree_t *tree)
{
    static const dnet_loads_t none;
    const dnet_build_t *b = h->b;
    tree->changes = tree->moves = 0;
    for (int s = 0; s < b->t->n_switches; s++) {
        int old = h->old[s], new = b->next[s];
        if (old == new) {
            if (old != DNET_TOPO_NONE)
                note_change(b, tree, old, &h->old_flow[s], &b->flow[s]);
            continue;
        }
        uint16_t port = DNET_TABLE_NONE;
        if (old != DNET_TOPO_NONE)
            note_change(b, tree, old, &h->old_flow[s], &none);
        if (new != DNET_TOPO_NONE) {
            note_change(b, tree, new, &none, &b->flow[s]);
            port = b->port[new];
        }
        tree->move[tree->moves++] = (move_t){s, port};
    }
}

static void make_tree(void *arg, int worker, int item)
{
    batches_t *a = arg;
    hand_t *h = &a->hand[worker];
    dnet_build_t *b = h->b;
    tree_t *tree = &a->tree[item];
    int d = tree->column % a->tables->dests, end = dnet_topo_dest_switch(b->t, d);
    if (h->batch != a->batch)
        memcpy(b->price, a->b->price, (size_t) dnet_topo_channels(b->t) * sizeof(*b->price));
    h->batch = a->batch;
    b->lids = dnet_topo_lids(b->t, d);
    if (a->purpose == FROM_NOTHING)
        memset(h->old, 0xff, (size_t) b->t->n_switches * sizeof(int)); /* DNET_TOPO_NONE */
    else
        leave_out_old(a, h, tree->column);
    if (a->purpose == WHOLE)
        dnet_build_label(b, end, &h->count);
    else
        dnet_build_label_by_hops(b, end);
    tree->complete = dnet_build_complete(b);
    if (a->purpose != FROM_NOTHING)
        restore_prices(a, h);
    if (!tree->complete)
        return;
    find_flows(a, b, tree->column);
    note_differences(h, tree);
}

/* The i-th of n LIDs to take: those of one batch are far from each other, so that they share few
 * links.  NONE: there are fewer */
static int far_apart(const batches_t *a, int i, int n)
{
    int apart = (n + a->size - 1) / a->size, at = i % a->size * apart + i / a->size;
    return at < n ? at : DNET_TOPO_NONE;
}

static int column_at(const batches_t *a, int i, int n)
{
    int at = far_apart(a, i, n);
    return at == DNET_TOPO_NONE ? at : dnet_build_column_at(a->tables, at);
}

/* LIDs to go through for n, with those that are none. */
static int rounded(const batches_t *a, int n)
{
    return (n + a->size - 1) / a->size * a->size;
}

/* Add the LID to the batch.  @return the batch is full */
static bool collect(batches_t *a, int column)
{
    a->tree[a->n++].column = column;
    return a->n == a->size;
}

static void make_batch(batches_t *a)
{
    a->batch++;
    dnet_workers_run(a->n, a->threads, make_tree, a);
}

static void take_effect(batches_t *a, const tree_t *tree)
{
    dnet_build_t *b = a->b;
    for (int i = 0; i < tree->changes; i++) {
        const change_t *x = &tree->change[i];
        for (int k = 0; k < 2; k++)
            b->load[x->place].of[k] += x->by.of[k];
        b->price[x->place] = dnet_build_price(b, x->place, b->load[x->place]);
    }
    for (int i = 0; i < tree->moves; i++) {
        if (i + DNET_BUILD_SOON < tree->moves)
            __builtin_prefetch(
                &dnet_tables_row(a->tables, tree->move[i + DNET_BUILD_SOON].s)[tree->column], 1);
        dnet_tables_row(a->tables, tree->move[i].s)[tree->column] = tree->move[i].port;
    }
}

/* ---- from nothing ---- */

/* A tree that was made in a batch, or one by all means there are. */
static void add_tree(batches_t *a, const tree_t *tree)
{
    dnet_build_t *b = a->b;
    const dnet_topo_t *t = b->t;
    int d = tree->column % a->tables->dests, end = dnet_topo_dest_switch(t, d);
    b->lids = dnet_topo_lids(t, d);
    if (tree->complete) {
        take_effect(a, tree);
        dnet_tables_row(a->tables, end)[tree->column] =
            (uint16_t) (d < t->n_hosts ? t->host[d].port : 0);
        return;
    }
    a->tables->unrouted += !dnet_build_label(b, end, a->tables) && d < t->n_hosts;
    dnet_build_store(b, a->tables, tree->column);
    if (loads(a, tree->column))
        dnet_build_put_load(b, a->tr, 1);
}

static void add_batch(batches_t *a)
{
    make_batch(a);
    for (int i = 0; i < a->n; i++)
        add_tree(a, &a->tree[i]);
    a->n = 0;
}

dnet_status_t dnet_build_all(dnet_build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables)
{
    batches_t a = {.b = b, .tr = tr, .tables = tables, .purpose = FROM_NOTHING};
    dnet_status_t st = batches_init(&a);
    int columns = dnet_tables_columns(tables);
    dnet_progress_begin("forwarding tables", dnet_tables_columns(tables));
    for (int i = 0; i < rounded(&a, columns) && !st; i++) {
        int column = column_at(&a, i, columns);
        dnet_progress(i);
        if (column != DNET_TOPO_NONE && dnet_build_lives(tables, column) && collect(&a, column))
            add_batch(&a);
    }
    if (!st)
        add_batch(&a);
    dnet_progress_end();
    batches_free(&a);
    return st;
}

/* ---- again ---- */

/* @return LIDs without a tree for all switches */
static int replace_batch(batches_t *a)
{
    int left = 0;
    make_batch(a);
    for (int i = 0; i < a->n; i++)
        if (a->tree[i].complete)
            take_effect(a, &a->tree[i]);
        else
            left++;
    a->n = 0;
    return left;
}

dnet_status_t dnet_build_anew(dnet_build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables,
                              const int *columns, int n, long *left)
{
    batches_t a = {.b = b, .tr = tr, .tables = tables, .purpose = WHOLE};
    dnet_status_t st = batches_init(&a);
    *left = 0;
    for (int i = 0; i < rounded(&a, n) && !st; i++) {
        int at = far_apart(&a, i, n);
        if (at != DNET_TOPO_NONE && collect(&a, columns[at]))
            *left += replace_batch(&a);
    }
    if (!st)
        *left += replace_batch(&a);
    for (int i = 0; i < a.threads; i++) {
        tables->pinned += a.hand[i].count.pinned;
        tables->second_order += a.hand[i].count.second_order;
        tables->fallbacks += a.hand[i].count.fallbacks;
    }
    batches_free(&a);
    return st;
}

/* ---- refining ---- */

/* Mark the LIDs with a way over one of the links that carry most of a kind of traffic. */
static void mark_loaded(const dnet_build_t *b, const dnet_tables_t *tables, const bool kind[2],
                        bool *marked)
{
    const dnet_topo_t *t = b->t;
    int columns = dnet_tables_columns(tables);
    memset(marked, 0, (size_t) columns * sizeof(*marked));
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        bool loaded = false;
        for (int k = 0; k < 2 && t->slot[c] != DNET_TOPO_NONE; k++)
            loaded |= kind[k] && b->load[b->place[c]].of[k] >= REFINE_SHARE * b->most.of[k];
        if (!loaded)
            continue;
        const uint16_t *row = dnet_tables_row(tables, dnet_topo_tail(t, c));
        for (int x = 0; x < columns; x++)
            marked[x] |= row[x] == dnet_topo_out_port(t, c);
    }
}

/* Change of the sum over all links of (load / largest load) to the power 5. */
static double weigh(const dnet_build_t *b, const tree_t *tree)
{
    double change = 0;
    for (int i = 0; i < tree->changes; i++)
        for (int k = 0; k < 2; k++) {
            float load = b->load[tree->change[i].place].of[k];
            double was = load / b->most.of[k];
            double is = (load + tree->change[i].by.of[k]) / b->most.of[k];
            change += is * dnet_build_steep(is) - was * dnet_build_steep(was);
        }
    return change;
}

/* @return trees that are better than the one there was, and have taken its place */
static long refine_batch(batches_t *a)
{
    long better = 0;
    make_batch(a);
    for (int i = 0; i < a->n; i++)
        if (a->tree[i].complete && weigh(a->b, &a->tree[i]) < -REFINE_GAIN) {
            take_effect(a, &a->tree[i]);
            better++;
        }
    a->n = 0;
    return better;
}

/* All marked LIDs, up to `most` in all.  @return those with a better tree */
static long refine_marked(batches_t *a, const bool *marked, long most, long *tries)
{
    long better = 0;
    int servers = a->b->t->n_hosts * a->tables->planes;
    for (int i = 0; i < rounded(a, servers) && *tries < most; i++) {
        int column = column_at(a, i, servers);
        dnet_progress(*tries);
        if (column == DNET_TOPO_NONE || !marked[column] || !dnet_build_lives(a->tables, column))
            continue;
        ++*tries;
        if (collect(a, column))
            better += refine_batch(a);
    }
    return better + refine_batch(a);
}

dnet_status_t dnet_build_refine(dnet_build_t *b, const dnet_traffic_t *tr, dnet_tables_t *tables)
{
    batches_t a = {.b = b, .tr = tr, .tables = tables, .purpose = REFINED};
    long tries = 0, better = 1, most = (long) REFINE_TRIES * b->t->n_hosts * tables->planes;
    bool *marked = dnet_subnet_alloc((size_t) dnet_tables_columns(tables), sizeof(*marked));
    bool kind[2] = {true, true};
    dnet_loads_t before = {{0, 0}};
    b->refining = true;
    dnet_status_t st = batches_init(&a);
    if (!marked)
        st = DNET_ERR_NO_MEMORY;
    dnet_progress_begin("balancing", most);
    while (better > 0 && tries < most && !st) {
        dnet_build_price_links(b);
        for (int k = 0; k < 2; k++) /* a largest load that has stayed is not to be had lower */
            kind[k] &= fabs(b->most.of[k] - before.of[k]) > REFINE_STAYS * before.of[k];
        before = b->most;
        for (int i = 0; i < a.threads; i++)
            a.crew[i].most = b->most;
        mark_loaded(b, tables, kind, marked);
        better = refine_marked(&a, marked, most, &tries);
    }
    dnet_progress_end();
    batches_free(&a);
    free(marked);
    return st;
}
