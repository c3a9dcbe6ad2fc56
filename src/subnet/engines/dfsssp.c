/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dfsssp: deadlock-free single-source shortest path routing, for comparison [MR §3.1, §3.3 of the
 * rules].  Tables: shortest paths, among equals those over the links with the fewest paths so far
 * (the link weight grows by the paths put on it; the start weight is so large that only shortest
 * paths win).  Then virtual lanes: while the dependency graph of a lane has a cycle, the paths over
 * the dependency of that cycle with the fewest paths move to the next lane.
 */
#include "subnet/engines/engines.h"
#include "subnet/base/progress.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

enum { WHITE, ON_STACK, DONE };

/* Dependency graph of one lane: paths per turn, as a matrix per switch. */
typedef struct lane_graph {
    const dnet_topo_t *t;
    const dnet_tables_t *tables;
    dnet_lanes_t *sl; /* of each path, by source switch */
    size_t *start;
    uint32_t *paths; /* of each turn; 0 = no dependency */
    uint8_t *cut;    /* turns whose paths leave the lane */
    uint8_t *state;  /* [channel] */
    int *stack, *at; /* path of the search; [channel] next slot to look at */
} lane_graph_t;

static size_t turn_index(const lane_graph_t *g, int a, int b)
{
    int s = dnet_topo_head(g->t, a);
    return g->start[s] + (size_t) g->t->slot[a ^ 1] * (size_t) dnet_topo_degree(g->t, s) +
           (size_t) g->t->slot[b];
}

/* Output channel of switch s for destination d, or NONE at its end. */
static int next_channel(const lane_graph_t *g, int s, int d)
{
    int c, port = dnet_tables_row(g->tables, s)[d];
    return dnet_topo_port(g->t, s, port, &c) == DNET_PORT_CHANNEL ? c : DNET_TOPO_NONE;
}

typedef void visit_turn_t(lane_graph_t *g, size_t turn, uint8_t *path_lane, int to);

static void count_turn(lane_graph_t *g, size_t turn, uint8_t *path_lane, int to)
{
    (void) path_lane;
    (void) to;
    g->paths[turn]++;
}

static void move_if_cut(lane_graph_t *g, size_t turn, uint8_t *path_lane, int to)
{
    if (g->cut[turn])
        *path_lane = (uint8_t) to;
}

static void for_turns_of_path(lane_graph_t *g, int s, int d, visit_turn_t *visit, uint8_t *mine,
                              int to)
{
    for (int a = next_channel(g, s, d), b; a != DNET_TOPO_NONE; a = b) {
        b = next_channel(g, dnet_topo_head(g->t, a), d);
        if (b != DNET_TOPO_NONE)
            visit(g, turn_index(g, a, b), mine, to);
    }
}

/* All turns of all paths of servers in a lane.  A switch replies on the lane of the query, which
 * the choice of lanes does not know: a query and its reply can go round a ring together. */
static void for_turns(lane_graph_t *g, int lane, visit_turn_t *visit, int to)
{
    const dnet_topo_t *t = g->t;
    for (int s = 0; s < t->n_switches; s++) {
        if (!t->sw[s].hosts || t->sw[s].down)
            continue;
        uint8_t *row = g->sl->sl + (size_t) s * g->sl->columns;
        for (int x = 0; x < dnet_tables_columns(g->tables); x++) {
            if (row[x] == lane)
                for_turns_of_path(g, s, x, visit, &row[x], to);
        }
    }
}

/* All paths that there are begin on lane 0. */
static void start_lanes(lane_graph_t *g)
{
    const dnet_topo_t *t = g->t;
    for (int s = 0; s < t->n_switches; s++)
        for (int x = 0; x < dnet_tables_columns(g->tables); x++)
            if (t->sw[s].hosts && dnet_tables_dest(g->tables, x) != DNET_TOPO_NONE)
                g->sl->sl[(size_t) s * g->sl->columns + (size_t) x] = 0;
}

/* Cut the lightest turn of the cycle that ends at stack[depth - 1] -> back; new depth. */
static int cut_cycle(lane_graph_t *g, int depth, int back)
{
    size_t lightest = turn_index(g, g->stack[depth - 1], back);
    int keep = depth;
    for (int i = depth - 1; g->stack[i] != back; i--) {
        size_t turn = turn_index(g, g->stack[i - 1], g->stack[i]);
        if (g->paths[turn] < g->paths[lightest]) {
            lightest = turn;
            keep = i;
        }
    }
    g->cut[lightest] = 1;
    g->paths[lightest] = 0;
    /* Channels above the cut are looked at afresh when another channel leads to them. */
    for (int i = keep; i < depth; i++)
        g->state[g->stack[i]] = WHITE;
    return keep;
}

/* Depth-first from one channel, cutting every cycle met.  @return turns cut. */
static long cut_from(lane_graph_t *g, int root)
{
    const dnet_topo_t *t = g->t;
    int depth = 0;
    long cuts = 0;
    g->stack[depth++] = root;
    g->state[root] = ON_STACK;
    g->at[root] = 0;
    while (depth > 0) {
        int a = g->stack[depth - 1], s = dnet_topo_head(t, a);
        if (g->at[a] == dnet_topo_degree(t, s)) {
            g->state[a] = DONE;
            depth--;
            continue;
        }
        int b = dnet_topo_channel(t, s, g->at[a]++);
        if (g->paths[turn_index(g, a, b)] == 0 || g->state[b] == DONE)
            continue;
        if (g->state[b] == ON_STACK) {
            depth = cut_cycle(g, depth, b);
            cuts++;
            continue;
        }
        g->state[b] = ON_STACK;
        g->at[b] = 0;
        g->stack[depth++] = b;
    }
    return cuts;
}

/* Make one lane free of cycles; paths in the way go to the next.  @return turns cut. */
static long clean_lane(lane_graph_t *g, int lane)
{
    const dnet_topo_t *t = g->t;
    size_t turns = g->start[t->n_switches];
    long cuts = 0;
    memset(g->paths, 0, turns * sizeof(*g->paths));
    memset(g->cut, 0, turns);
    memset(g->state, WHITE, (size_t) dnet_topo_channels(t));
    for_turns(g, lane, count_turn, lane);
    for (int c = 0; c < dnet_topo_channels(t); c++)
        if (t->slot[c] != DNET_TOPO_NONE && g->state[c] == WHITE)
            cuts += cut_from(g, c);
    if (cuts)
        for_turns(g, lane, move_if_cut, lane + 1);
    return cuts;
}

static dnet_status_t assign_lanes(lane_graph_t *g, int limit, int *lanes)
{
    dnet_progress_begin("assigning virtual lanes", limit);
    for (int lane = 0; lane < limit; lane++) {
        dnet_progress(lane);
        if (clean_lane(g, lane) == 0) {
            *lanes = lane + 1;
            dnet_progress_end();
            return DNET_OK;
        }
    }
    dnet_progress_end();
    dnet_error("subnet: dfsssp: %d virtual lanes do not make %s free of deadlock; allow more lanes "
               "or use turnadd",
               limit, g->t->name);
    return DNET_ERR_LIMIT;
}

static dnet_status_t graph_new(lane_graph_t *g, const dnet_topo_t *t, const dnet_tables_t *tables)
{
    size_t channels = (size_t) dnet_topo_channels(t);
    *g = (lane_graph_t){.t = t, .tables = tables};
    g->start = dnet_subnet_alloc((size_t) t->n_switches + 1, sizeof(size_t));
    if (!g->start)
        return DNET_ERR_NO_MEMORY;
    for (int s = 0; s < t->n_switches; s++) {
        size_t degree = (size_t) dnet_topo_degree(t, s);
        g->start[s + 1] = g->start[s] + degree * degree;
    }
    if (dnet_lanes_new(tables, false, &g->sl))
        return DNET_ERR_NO_MEMORY;
    start_lanes(g);
    g->paths = dnet_subnet_alloc(g->start[t->n_switches], sizeof(*g->paths));
    g->cut = dnet_subnet_alloc(g->start[t->n_switches], 1);
    g->state = dnet_subnet_alloc(channels, 1);
    g->stack = dnet_subnet_alloc(channels, sizeof(int));
    g->at = dnet_subnet_alloc(channels, sizeof(int));
    return g->paths && g->cut && g->state && g->stack && g->at ? DNET_OK : DNET_ERR_NO_MEMORY;
}

static dnet_status_t tables(const dnet_topo_t *t, const dnet_route_options_t *opt,
                            dnet_routing_t *r)
{
    lane_graph_t g = {0};
    dnet_traffic_t all_pairs;
    dnet_status_t st = dnet_traffic_init(&all_pairs, t, DNET_TRAFFIC_WEIGHTED, 1);
    if (st)
        return st;
    dnet_route_options_t counting = *opt;
    counting.traffic = &all_pairs;
    st = dnet_turns_new(t, true, &r->turns);
    if (!st)
        st = dnet_tables_from_turns(t, &counting, DNET_BALANCE_PATH, r);
    dnet_turns_free(r->turns); /* not an acyclic set: no table may be made from it */
    r->turns = NULL;
    dnet_traffic_free(&all_pairs);
    if (!st)
        st = graph_new(&g, t, r->tables);
    if (!st)
        st = assign_lanes(&g, opt->lanes, &r->lanes);
    if (!st) {
        g.sl->lanes = r->lanes;
        r->sl = g.sl;
        g.sl = NULL;
    }
    free(g.start);
    dnet_lanes_free(g.sl);
    free(g.paths);
    free(g.cut);
    free(g.state);
    free(g.stack);
    free(g.at);
    return st;
}

const dnet_engine_t dnet_engine_dfsssp = {
    .name = "dfsssp",
    .summary = "balanced shortest paths, cycles split over virtual lanes",
    .tables = tables,
};
