/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The independent verifier (verify.h): reachability, loops, deadlock freedom by the channel
 * dependency graph of each virtual lane, hops and balance.
 */
#include "subnet/judges/verify.h"
#include "subnet/base/progress.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

/* Dependencies of one lane: for each channel the output slots of its head that follow it. */
typedef struct depends {
    const dnet_topo_t *t;
    size_t *start;  /* [channel + 1], words */
    uint64_t *bits; /* all lanes one after the other */
    int lanes;
} depends_t;

static dnet_status_t depends_new(depends_t *d, const dnet_topo_t *t, int lanes)
{
    int channels = dnet_topo_channels(t);
    *d = (depends_t){.t = t, .lanes = lanes};
    d->start = dnet_subnet_alloc((size_t) channels + 1, sizeof(size_t));
    if (!d->start)
        return DNET_ERR_NO_MEMORY;
    for (int c = 0; c < channels; c++) {
        int degree = dnet_topo_degree(t, dnet_topo_head(t, c));
        d->start[c + 1] = d->start[c] + (size_t) (degree + 63) / 64;
    }
    d->bits = dnet_subnet_alloc(d->start[channels] * (size_t) lanes, sizeof(uint64_t));
    return d->bits ? DNET_OK : DNET_ERR_NO_MEMORY;
}

static void depends_free(depends_t *d)
{
    free(d->start);
    free(d->bits);
}

static const uint64_t *followers(const depends_t *d, int lane, int c)
{
    return d->bits + d->start[dnet_topo_channels(d->t)] * (size_t) lane + d->start[c];
}

static void depend(depends_t *d, int lane, int a, int b)
{
    int slot = d->t->slot[b];
    uint64_t *row = (uint64_t *) followers(d, lane, a);
    row[slot >> 6] |= (uint64_t) 1 << (slot & 63);
}

/* Next channel after `slot` among the followers of c, or NONE. */
static int follower_from(const depends_t *d, int lane, int c, int *slot)
{
    int u = dnet_topo_head(d->t, c), degree = dnet_topo_degree(d->t, u);
    const uint64_t *row = followers(d, lane, c);
    while (*slot < degree) {
        uint64_t m = row[*slot >> 6] >> (*slot & 63);
        if (!m) {
            *slot = (*slot | 63) + 1;
            continue;
        }
        *slot += __builtin_ctzll(m);
        return dnet_topo_channel(d->t, u, (*slot)++);
    }
    return DNET_TOPO_NONE;
}

static void record_cycle(const int *path, int depth, int back, dnet_verdict_t *v)
{
    int from = depth - 1;
    while (path[from] != back)
        from--;
    v->cycle_length = depth - from;
    for (int i = from; i < depth && i - from < DNET_VERIFY_CYCLE; i++)
        v->cycle[i - from] = path[i];
}

/* Depth-first search for one cycle of a lane: 1 found, 0 none. */
static int find_cycle(const depends_t *d, int lane, char *state, int *path, int *at,
                      dnet_verdict_t *v)
{
    int channels = dnet_topo_channels(d->t);
    memset(state, 0, (size_t) channels);
    for (int root = 0; root < channels; root++) {
        int depth = 0;
        if (state[root])
            continue;
        for (path[depth++] = root, at[root] = 0, state[root] = 1; depth > 0;) {
            int c = path[depth - 1], next = follower_from(d, lane, c, &at[c]);
            if (next == DNET_TOPO_NONE) {
                state[c] = 2;
                depth--;
            } else if (state[next] == 1) {
                record_cycle(path, depth, next, v);
                return 1;
            } else if (state[next] == 0) {
                state[next] = 1;
                at[next] = 0;
                path[depth++] = next;
            }
        }
    }
    return 0;
}

static dnet_status_t judge_dependencies(const depends_t *d, dnet_verdict_t *v)
{
    size_t channels = (size_t) dnet_topo_channels(d->t);
    char *state = dnet_subnet_alloc(channels, 1);
    int *path = dnet_subnet_alloc(channels, sizeof(int));
    int *at = dnet_subnet_alloc(channels, sizeof(int));
    dnet_status_t st = state && path && at ? DNET_OK : DNET_ERR_NO_MEMORY;
    for (int lane = 0; lane < d->lanes && !st; lane++)
        v->cyclic_lanes += find_cycle(d, lane, state, path, at, v);
    size_t words = d->start[channels] * (size_t) d->lanes;
    for (size_t i = 0; i < words && !st; i++)
        v->dependencies += __builtin_popcountll(d->bits[i]);
    free(state);
    free(path);
    free(at);
    return st;
}

/* Walking all paths to one destination. */
typedef struct walker {
    const dnet_tables_t *tables;
    const dnet_topo_t *t;
    const uint8_t *lane;
    depends_t depends;
    int *out;             /* [switch]: channel towards the destination; see the marks below */
    double *load, *load2; /* [channel] */
    const dnet_traffic_t *tr, *tr2;
} walker_t;

enum { HERE = -1, NOWHERE = -2, ASTRAY = -3 }; /* instead of a channel */

static void look_up(walker_t *w, int d)
{
    for (int s = 0; s < w->t->n_switches; s++) {
        int which, port = dnet_tables_row(w->tables, s)[d];
        w->out[s] = NOWHERE;
        switch (dnet_topo_port(w->t, s, port, &which)) {
            case DNET_PORT_CHANNEL:
                w->out[s] = which;
                break;
            case DNET_PORT_HOST:
                w->out[s] = which == d ? HERE : ASTRAY;
                break;
            case DNET_PORT_FREE:
                if (port == 0)
                    w->out[s] = d == w->t->n_hosts + s ? HERE : ASTRAY;
                break;
        }
    }
}

static void bad(dnet_verdict_t *v, long *counter, int s, int d)
{
    ++*counter;
    if (v->first_bad_switch == DNET_TOPO_NONE) {
        v->first_bad_switch = s;
        v->first_bad_dest = d;
    }
}

static void walk(walker_t *w, int src, int d, dnet_verdict_t *v)
{
    const dnet_topo_t *t = w->t;
    int hops = 0, s = src, came = DNET_TOPO_NONE;
    int lane = w->lane ? w->lane[(size_t) src * (size_t) w->tables->dests + (size_t) d] : 0;
    while (w->out[s] >= 0 && hops <= t->n_switches) {
        int c = w->out[s];
        if (came != DNET_TOPO_NONE)
            depend(&w->depends, lane, came, c);
        came = c;
        s = dnet_topo_head(t, c);
        hops++;
    }
    if (hops > t->n_switches)
        bad(v, &v->loops, src, d);
    else if (w->out[s] == NOWHERE)
        bad(v, d < t->n_hosts ? &v->missing : &v->management, src, d);
    else if (w->out[s] == ASTRAY)
        bad(v, &v->astray, src, d);
    else if (d < t->n_hosts) {
        v->hops_at[hops < DNET_VERIFY_HOPS ? hops : DNET_VERIFY_HOPS - 1]++;
        v->mean_hops += hops;
        if (hops > v->max_hops)
            v->max_hops = hops;
    }
}

/* Traffic of a good path; walks of a bad one would not end. */
static void add_load(const walker_t *w, int src, int dest, double share, const dnet_traffic_t *tr,
                     double *load)
{
    double rate = tr ? share * dnet_traffic_rate(tr, src, dest) : 0;
    for (int s = src; rate > 0 && w->out[s] >= 0; s = dnet_topo_head(w->t, w->out[s]))
        load[w->out[s]] += rate;
}

static void judge_destination(walker_t *w, int d, dnet_verdict_t *v)
{
    const dnet_topo_t *t = w->t;
    int dest = dnet_topo_dest_switch(t, d);
    double share = d < t->n_hosts ? 1.0 / t->sw[dest].hosts : 0;
    look_up(w, d);
    for (int s = 0; s < t->n_switches; s++) {
        if (!t->sw[s].hosts || t->sw[s].down)
            continue;
        long before = v->missing + v->astray + v->loops;
        v->pairs++;
        walk(w, s, d, v);
        if (d >= t->n_hosts || v->missing + v->astray + v->loops != before)
            continue;
        add_load(w, s, dest, share, w->tr, w->load);
        add_load(w, s, dest, share, w->tr2, w->load2);
    }
}

static double largest(const dnet_topo_t *t, const double *load, double *mean)
{
    double max = 0, sum = 0;
    int n = 0;
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        if (t->slot[c] == DNET_TOPO_NONE)
            continue;
        n++;
        sum += load[c];
        if (load[c] > max)
            max = load[c];
    }
    *mean = n ? sum / n : 0;
    return max;
}

static dnet_status_t check_lanes(const dnet_tables_t *tables, const uint8_t *lane, int lanes)
{
    size_t n = lane ? (size_t) tables->topo->n_switches * (size_t) tables->dests : 0;
    for (size_t i = 0; i < n; i++)
        if (lane[i] >= lanes) {
            dnet_error("subnet: verify: path %zu has lane %d of %d", i, lane[i], lanes);
            return DNET_ERR_ARGUMENT;
        }
    return DNET_OK;
}

dnet_status_t dnet_verify_tables(const dnet_tables_t *tables, const uint8_t *lane, int lanes,
                                 const dnet_traffic_t *tr, const dnet_traffic_t *tr2,
                                 dnet_verdict_t *v)
{
    const dnet_topo_t *t = tables->topo;
    walker_t w = {.tables = tables, .t = t, .lane = lane, .tr = tr, .tr2 = tr2};
    *v = (dnet_verdict_t){.lanes = lanes, .first_bad_switch = DNET_TOPO_NONE};
    dnet_status_t st = check_lanes(tables, lane, lanes);
    if (!st)
        st = depends_new(&w.depends, t, lanes);
    w.out = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    w.load = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(double));
    w.load2 = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(double));
    if (!st && (!w.out || !w.load || !w.load2))
        st = DNET_ERR_NO_MEMORY;
    dnet_progress_begin("verifying tables", tables->dests);
    for (int d = 0; d < tables->dests && !st; d++) {
        dnet_progress(d);
        if (!t->sw[dnet_topo_dest_switch(t, d)].down)
            judge_destination(&w, d, v);
    }
    if (!st)
        st = judge_dependencies(&w.depends, v);
    dnet_progress_end();
    if (!st) {
        double unused, max2 = largest(t, w.load2, &unused);
        long paths = 0;
        for (int i = 0; i < DNET_VERIFY_HOPS; i++)
            paths += v->hops_at[i];
        v->mean_hops = paths ? v->mean_hops / paths : 0;
        v->max_load = largest(t, w.load, &v->mean_load);
        v->throughput = v->max_load > 1 ? 1 / v->max_load : 1;
        v->throughput2 = max2 > 1 ? 1 / max2 : 1;
    }
    depends_free(&w.depends);
    free(w.out);
    free(w.load);
    free(w.load2);
    return st;
}

/* Forward search on channels from one source, marking the switches reached. */
static void reach_from(const depends_t *d, int src, int *stack, uint64_t *fresh, char *reached)
{
    const dnet_topo_t *t = d->t;
    int n = 0;
    /* One row per switch: output slots not taken, where its first channel's row is in `bits`. */
    memset(fresh, 0xff, d->start[dnet_topo_channels(t)] * sizeof(*fresh));
    memset(reached, 0, (size_t) t->n_switches);
    reached[src] = 1;
    for (int i = 0; i < dnet_topo_degree(t, src); i++) {
        stack[n++] = dnet_topo_channel(t, src, i);
        fresh[d->start[stack[0] ^ 1] + (size_t) (i >> 6)] &= ~((uint64_t) 1 << (i & 63));
    }
    while (n > 0) {
        int c = stack[--n], u = dnet_topo_head(t, c);
        const uint64_t *row = followers(d, 0, c);
        uint64_t *open = fresh + d->start[dnet_topo_channel(t, u, 0) ^ 1];
        reached[u] = 1;
        for (int w = 0; w < (dnet_topo_degree(t, u) + 63) / 64; w++) {
            uint64_t m = row[w] & open[w];
            open[w] &= ~m;
            for (; m; m &= m - 1)
                stack[n++] = dnet_topo_channel(t, u, 64 * w + __builtin_ctzll(m));
        }
    }
}

static void copy_turns(const dnet_turns_t *turns, depends_t *d)
{
    const dnet_topo_t *t = turns->topo;
    for (int s = 0; s < t->n_switches; s++)
        for (int i = 0; i < dnet_topo_degree(t, s); i++)
            for (int j = 0; j < dnet_topo_degree(t, s); j++)
                if (i != j && dnet_turns_allowed(turns, s, i, j))
                    depend(d, 0, dnet_topo_channel(t, s, i) ^ 1, dnet_topo_channel(t, s, j));
}

dnet_status_t dnet_verify_turns(const dnet_turns_t *turns, dnet_verdict_t *v)
{
    const dnet_topo_t *t = turns->topo;
    depends_t d = {0};
    *v = (dnet_verdict_t){.lanes = 1, .first_bad_switch = DNET_TOPO_NONE, .throughput = 1};
    int *stack = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(int));
    char *reached = dnet_subnet_alloc((size_t) t->n_switches, 1);
    dnet_status_t st = stack && reached ? depends_new(&d, t, 1) : DNET_ERR_NO_MEMORY;
    uint64_t *fresh = st ? NULL : dnet_subnet_alloc(d.start[dnet_topo_channels(t)], sizeof(*fresh));
    if (!fresh)
        st = DNET_ERR_NO_MEMORY;
    if (!st) {
        copy_turns(turns, &d);
        st = judge_dependencies(&d, v);
    }
    dnet_progress_begin("verifying turns", t->n_switches);
    for (int s = 0; s < t->n_switches && !st; s++) {
        dnet_progress(s);
        if (!t->sw[s].hosts || t->sw[s].down)
            continue;
        reach_from(&d, s, stack, fresh, reached);
        for (int u = 0; u < t->n_switches; u++)
            if (u != s && t->sw[u].hosts && !t->sw[u].down) {
                v->pairs++;
                if (!reached[u])
                    bad(v, &v->missing, s, t->n_hosts + u);
            }
    }
    dnet_progress_end();
    depends_free(&d);
    free(stack);
    free(fresh);
    free(reached);
    return st;
}

bool dnet_verdict_good(const dnet_verdict_t *v)
{
    return v->missing == 0 && v->astray == 0 && v->loops == 0 && v->cyclic_lanes == 0;
}
