/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Working space of tables in the making (tables_build.h), and trees read from tables and written to
 * them.
 */
#include "subnet/routing/tables_build.h"
#include "subnet/routing/acyclic.h"

#include <stdlib.h>
#include <string.h>

void dnet_build_start(dnet_build_t *b, int dest)
{
    b->dest = dest;
    for (int s = 0; s < b->t->n_switches; s++) {
        b->next[s] = DNET_TOPO_NONE;
        b->hops[s] = DNET_BUILD_FAR;
    }
    b->hops[dest] = 0;
    b->cost[dest] = (dnet_loads_t){{0, 0}};
    b->order[0] = dest;
    b->labelled = 1;
    if (b->balance != DNET_BALANCE_TREE || b->across_from == b->t->sw[dest].tree)
        return;
    b->across_from = b->t->sw[dest].tree;
    for (int s = 0; s < b->t->n_switches; s++)
        b->across[s] = b->t->sw[s].tree != b->across_from;
}

void dnet_build_want(dnet_build_t *b, bool everywhere)
{
    const dnet_topo_t *t = b->t;
    memset(b->wanted, 0, (size_t) t->n_switches * sizeof(*b->wanted));
    for (int s = 0; s < t->n_switches; s++) {
        b->must[s] =
            !t->sw[s].down && (t->sw[s].hosts > 0 || (everywhere && dnet_topo_degree(t, s) > 0));
        b->wanted[b->piece[s]] += b->must[s];
    }
}

bool dnet_build_complete(const dnet_build_t *b)
{
    int found = 0;
    for (int i = 0; i < b->labelled; i++)
        found += b->must[b->order[i]];
    return found == b->wanted[b->piece[b->dest]];
}

/* Near switches first, by a counting sort; switches that do not get to the end are left out. */
static void order_by_hops(dnet_build_t *b)
{
    int ns = b->t->n_switches, *first = b->walk;
    memset(first, 0, ((size_t) ns + 1) * sizeof(int));
    for (int s = 0; s < ns; s++)
        if (b->hops[s] != DNET_BUILD_FAR)
            first[b->hops[s] + 1]++;
    for (int hops = 0; hops < ns; hops++)
        first[hops + 1] += first[hops];
    b->labelled = first[ns];
    for (int s = 0; s < ns; s++)
        if (b->hops[s] != DNET_BUILD_FAR)
            b->order[first[b->hops[s]]++] = s;
}

void dnet_build_adopt(dnet_build_t *b, const dnet_tables_t *tables, int column)
{
    const dnet_topo_t *t = b->t;
    int c;
    dnet_build_start(b, dnet_topo_dest_switch(t, column % tables->dests));
    for (int s = 0; s < t->n_switches; s++) {
        if (s + DNET_BUILD_SOON < t->n_switches)
            __builtin_prefetch(&dnet_tables_row(tables, s + DNET_BUILD_SOON)[column]);
        uint16_t port = dnet_tables_row(tables, s)[column];
        if (s != b->dest && port != DNET_TABLE_NONE &&
            dnet_topo_port(t, s, port, &c) == DNET_PORT_CHANNEL)
            b->next[s] = c;
    }
    for (int first = 0; first < t->n_switches; first++) {
        int n = 0, s = first;
        for (; b->hops[s] == DNET_BUILD_FAR && b->next[s] != DNET_TOPO_NONE && n < t->n_switches;
             s = b->head[b->next[s]])
            b->walk[n++] = s;
        for (int hops = b->hops[s]; n > 0;)
            if (hops == DNET_BUILD_FAR)
                b->next[b->walk[--n]] = DNET_TOPO_NONE;
            else
                b->hops[b->walk[--n]] = ++hops;
    }
    order_by_hops(b);
}

void dnet_build_store(const dnet_build_t *b, dnet_tables_t *tables, int column)
{
    int d = column % tables->dests;
    for (int s = 0; s < b->t->n_switches; s++)
        dnet_tables_row(tables, s)[column] = DNET_TABLE_NONE;
    for (int i = 1; i < b->labelled; i++) {
        int s = b->order[i];
        dnet_tables_row(tables, s)[column] = b->port[b->next[s]];
    }
    dnet_tables_row(tables, b->dest)[column] =
        (uint16_t) (d < b->t->n_hosts ? b->t->host[d].port : 0);
}

static void index_neighbours(dnet_build_t *b)
{
    const dnet_topo_t *t = b->t;
    for (int l = 1; l < t->n_links; l++)
        b->mixed_rates |= t->link[l].capacity != t->link[0].capacity;
    for (int s = 0; s < t->n_switches; s++) {
        for (int i = t->adj_start[s]; i < t->adj_start[s + 1]; i++) {
            b->near[i] = dnet_topo_head(t, t->adj[i]);
            b->part[i] = b->balance == DNET_BALANCE_PORT
                             ? 1
                             : (float) (1 / t->link[t->adj[i] >> 1].capacity);
            dnet_build_set_factor(b, s, i);
        }
    }
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        b->head[c] = dnet_topo_head(t, c);
        b->port[c] = (uint16_t) dnet_topo_out_port(t, c);
        b->place[c] = t->adj_start[b->head[c]] + t->slot[c ^ 1];
    }
    dnet_topo_pieces(t, b->piece, b->walk);
    dnet_build_want(b, false);
}

/* Space for a tree, its flows and the prices it is made by. */
static bool tree_init(dnet_build_t *b)
{
    size_t ns = (size_t) b->t->n_switches;
    b->flow = dnet_subnet_alloc(ns, sizeof(*b->flow));
    b->price = dnet_subnet_alloc((size_t) dnet_topo_channels(b->t), sizeof(*b->price));
    b->next = dnet_subnet_alloc(ns, sizeof(int));
    b->order = dnet_subnet_alloc(ns, sizeof(int));
    b->hops = dnet_subnet_alloc(ns, sizeof(int));
    b->cost = dnet_subnet_alloc(ns, sizeof(*b->cost));
    b->across = dnet_subnet_alloc(ns, sizeof(*b->across));
    b->pin = dnet_subnet_alloc(ns, sizeof(int));
    b->walk = dnet_subnet_alloc(ns + 1, sizeof(int));
    b->waits = dnet_subnet_alloc((size_t) (dnet_topo_channels(b->t) >> 6) + 1, sizeof(*b->waits));
    b->reach.seen = dnet_subnet_alloc((size_t) dnet_topo_channels(b->t), sizeof(bool));
    b->reach.place = dnet_subnet_alloc((size_t) dnet_topo_channels(b->t), sizeof(int));
    b->reach.after = dnet_subnet_alloc((size_t) dnet_topo_channels(b->t), sizeof(int));
    b->across_from = DNET_TOPO_NONE;
    b->narrow = NULL;
    b->narrow_paths = NULL;
    if (dnet_turns_new(b->t, false, &b->narrow) || dnet_paths_new(b->narrow, &b->narrow_paths) ||
        !b->next || !b->order || !b->hops || !b->cost || !b->across || !b->pin || !b->walk ||
        !b->flow || !b->price || !b->waits || !b->reach.seen || !b->reach.place || !b->reach.after)
        return false;
    for (size_t s = 0; s < ns; s++)
        b->pin[s] = DNET_TOPO_NONE;
    return true;
}

static void tree_free(dnet_build_t *b)
{
    free(b->next);
    free(b->order);
    free(b->hops);
    free(b->cost);
    free(b->across);
    free(b->pin);
    free(b->walk);
    free(b->flow);
    free(b->price);
    free(b->waits);
    free(b->reach.seen);
    free(b->reach.place);
    free(b->reach.after);
    dnet_paths_free(b->narrow_paths);
    dnet_turns_free(b->narrow);
}

dnet_status_t dnet_build_order(dnet_build_t *b)
{
    int cyclic = dnet_turns_order(b->turns, b->ord);
    if (cyclic)
        return cyclic < 0 ? DNET_ERR_NO_MEMORY : DNET_ERR_STATE;
    for (int c = 0; c < dnet_topo_channels(b->t); c++)
        if (b->t->slot[c] != DNET_TOPO_NONE)
            b->at[b->ord[c]] = c;
    return DNET_OK;
}

dnet_status_t dnet_build_init(dnet_build_t *b, const dnet_routing_t *r)
{
    const dnet_topo_t *t = b->t;
    size_t ns = (size_t) t->n_switches, channels = (size_t) dnet_topo_channels(t);
    b->adj = t->adj;
    b->turns = r->turns;
    b->tree = r->tree;
    b->load = dnet_subnet_alloc(channels, sizeof(*b->load));
    b->must = dnet_subnet_alloc(ns, sizeof(*b->must));
    b->place = dnet_subnet_alloc(channels, sizeof(int));
    b->head = dnet_subnet_alloc(channels, sizeof(int));
    b->port = dnet_subnet_alloc(channels, sizeof(*b->port));
    b->factor = dnet_subnet_alloc(channels, sizeof(float));
    b->part = dnet_subnet_alloc(channels, sizeof(float));
    b->near = dnet_subnet_alloc(channels, sizeof(int));
    b->was = dnet_subnet_alloc(ns, sizeof(int));
    b->piece = dnet_subnet_alloc(ns, sizeof(int));
    b->wanted = dnet_subnet_alloc(ns, sizeof(int));
    b->at = dnet_subnet_alloc(channels, sizeof(int));
    b->ord = dnet_subnet_alloc(channels, sizeof(int));
    if (!tree_init(b) || !b->load || !b->must || !b->place || !b->head || !b->port || !b->at ||
        !b->ord || !b->factor || !b->part || !b->near || !b->was || !b->piece || !b->wanted)
        return DNET_ERR_NO_MEMORY;
    dnet_status_t st = dnet_build_order(b);
    if (st == DNET_ERR_NO_MEMORY)
        return st;
    if (st) { /* no dependency order to follow: minhop on a ring, for example */
        free(b->ord);
        b->ord = NULL;
    }
    index_neighbours(b);
    return DNET_OK;
}

void dnet_build_free(dnet_build_t *b)
{
    tree_free(b);
    free(b->load);
    free(b->must);
    free(b->place);
    free(b->head);
    free(b->port);
    free(b->factor);
    free(b->part);
    free(b->near);
    free(b->was);
    free(b->piece);
    free(b->wanted);
    free(b->at);
    free(b->ord);
}

void dnet_build_crew_free(dnet_build_t *crew, int threads)
{
    for (int i = 0; crew && i < threads; i++)
        tree_free(&crew[i]);
    free(crew);
}

dnet_build_t *dnet_build_crew_new(const dnet_build_t *b, int threads)
{
    dnet_build_t *crew = dnet_subnet_alloc((size_t) threads, sizeof(*crew));
    for (int i = 0; crew && i < threads; i++) {
        crew[i] = *b;
        if (!tree_init(&crew[i])) {
            dnet_build_crew_free(crew, threads);
            return NULL;
        }
        memcpy(crew[i].price, b->price, (size_t) dnet_topo_channels(b->t) * sizeof(*b->price));
    }
    return crew;
}
