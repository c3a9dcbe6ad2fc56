/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The independent verifier (verify.h): reachability, loops, deadlock freedom by the channel
 * dependency graph, hops and balance.
 */
#include "subnet/judges/verify.h"
#include "subnet/base/progress.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

enum { DATA, MANAGEMENT, SWITCHES, KINDS };

/* Walking all paths to one LID. */
typedef struct walker {
    const dnet_tables_t *tables;
    const dnet_topo_t *t;
    const dnet_lanes_t *lanes;
    const dnet_partitions_t *partitions;
    dnet_depends_t depends[KINDS];
    int column, dest; /* the LID, and whose it is */
    int *out;         /* [switch]: channel towards it; see the marks below */
    int *links;       /* [switch]: links to its end, or a mark */
    int *stack;
    uint16_t *passed[KINDS]; /* [switch]: service levels on which a path went on from here */
    int *order, *place;      /* switches by links to the end, for the loads */
    double *flow, *flow2, *load, *load2;
    const dnet_traffic_t *tr, *tr2;
    dnet_verdict_t *v;
} walker_t;

/* Instead of a channel or of a number of links. */
enum { HERE = -1, NO_ENTRY = -2, NO_LINK = -3, ASTRAY = -4, LOOP = -5, UNKNOWN = -6 };

static int look_up_at(const walker_t *w, int s)
{
    int which, port = dnet_tables_row(w->tables, s)[w->column];
    switch (dnet_topo_port(w->t, s, port, &which)) {
        case DNET_PORT_CHANNEL:
            return which;
        case DNET_PORT_HOST:
            return which == w->dest ? HERE : ASTRAY;
        case DNET_PORT_FREE:
            break;
    }
    if (port == 0)
        return w->dest == w->t->n_hosts + s ? HERE : ASTRAY;
    return port == DNET_TABLE_NONE ? NO_ENTRY : NO_LINK;
}

/* How far each switch is from the end, or how its way fails. */
static void measure(walker_t *w)
{
    const dnet_topo_t *t = w->t;
    for (int s = 0; s < t->n_switches; s++) {
        w->out[s] = look_up_at(w, s);
        w->links[s] = w->out[s] >= 0 ? UNKNOWN : w->out[s] == HERE ? 0 : w->out[s];
    }
    for (int first = 0; first < t->n_switches; first++) {
        int n = 0, s = first;
        while (w->links[s] == UNKNOWN) {
            w->stack[n++] = s;
            w->links[s] = LOOP; /* unless it turns out to end */
            s = dnet_topo_head(t, w->out[s]);
        }
        for (int links = w->links[s]; n > 0;) {
            links = links >= 0 ? links + 1 : links;
            w->links[w->stack[--n]] = links;
        }
    }
}

/* Where and why a way ends that does not arrive. */
static void note_fault(walker_t *w, dnet_ways_t *ways, int source, int host, bool lane_lost, int at)
{
    const dnet_topo_t *t = w->t;
    dnet_fault_t *f = &ways->fault;
    if (f->source != DNET_TOPO_NONE)
        return;
    if (at == DNET_TOPO_NONE) {
        at = source;
        for (int hops = 0; w->out[at] >= 0 && hops < t->n_switches; hops++)
            at = dnet_topo_head(t, w->out[at]);
    }
    *f = (dnet_fault_t){.source = source,
                        .host = host,
                        .column = w->column,
                        .at = at,
                        .port = dnet_tables_row(w->tables, at)[w->column]};
    f->kind = lane_lost                    ? DNET_FAULT_LANE
              : w->links[source] == LOOP   ? DNET_FAULT_LOOP
              : w->links[source] == ASTRAY ? DNET_FAULT_ASTRAY
              : w->out[at] == NO_LINK      ? DNET_FAULT_NO_LINK
                                           : DNET_FAULT_MISSING;
}

/*
 * Dependencies of one path.  Without SL2VL tables the rest of a path is known from where another of
 * the same service level has passed; with them the lane depends on the way in, too.
 * @return switch at which its lane is one that drops it, or NONE
 */
static int follow(walker_t *w, int kind, int source, int in, int sl)
{
    const dnet_topo_t *t = w->t;
    bool mapped = w->lanes && w->lanes->vl;
    int came = DNET_TOPO_NONE, came_lane = 0, s = source;
    for (int hops = 0; w->out[s] >= 0 && hops <= t->n_switches; hops++) {
        int c = w->out[s], lane = dnet_lanes_vl(w->lanes, t, s, in, dnet_topo_out_port(t, c), sl);
        if (lane == DNET_VL_DROP && mapped)
            return s;
        if (came != DNET_TOPO_NONE)
            dnet_depends_add(&w->depends[kind], came, came_lane, c, lane);
        if (!mapped && (w->passed[kind][s] >> sl & 1))
            break;
        w->passed[kind][s] |= (uint16_t) (1u << sl);
        came = c;
        came_lane = lane;
        in = dnet_topo_out_port(t, c ^ 1);
        s = dnet_topo_head(t, c);
    }
    bool arrives = mapped && w->out[s] == HERE && w->dest < t->n_hosts;
    if (arrives && dnet_lanes_vl(w->lanes, t, s, in, t->host[w->dest].port, sl) == DNET_VL_DROP)
        return s;
    return DNET_TOPO_NONE;
}

static void judge_way(walker_t *w, int kind, dnet_ways_t *ways, int source, int host, int in,
                      int sl)
{
    int links = w->links[source], lost = follow(w, kind, source, in, sl);
    ways->pairs++;
    if (lost != DNET_TOPO_NONE || links == NO_ENTRY || links == NO_LINK)
        ways->missing++;
    else if (links == ASTRAY)
        ways->astray++;
    else if (links == LOOP)
        ways->loops++;
    else if (kind == DATA) {
        dnet_verdict_t *v = w->v;
        v->hops_at[links < DNET_VERIFY_HOPS ? links : DNET_VERIFY_HOPS - 1]++;
        v->mean_hops += links;
        v->max_hops = links > v->max_hops ? links : v->max_hops;
    }
    if (lost != DNET_TOPO_NONE || links < 0)
        note_fault(w, ways, source, host, lost != DNET_TOPO_NONE, lost);
}

static int service_level(const walker_t *w, int sw, int host, int column)
{
    const dnet_lanes_t *l = w->lanes;
    return l && l->sl ? l->sl[(size_t) (l->of_hosts ? host : sw) * l->columns + (size_t) column]
                      : 0;
}

/* All servers of s to the LID. */
static void from_servers(walker_t *w, int kind, dnet_ways_t *ways, int s)
{
    const dnet_topo_t *t = w->t;
    bool each = w->partitions || (w->lanes && (w->lanes->of_hosts || w->lanes->vl));
    for (int i = t->host_start[s]; i < t->host_start[s + 1]; i++) {
        int h = t->host_of[i], sl = service_level(w, s, h, w->column);
        if (each && h == w->dest)
            continue;
        if (kind == DATA && w->partitions && !dnet_partitions_talk(w->partitions, h, w->dest))
            continue;
        if (sl == DNET_SL_NONE) {
            w->v->assumed_sl += kind == DATA && each;
            sl = 0;
        }
        judge_way(w, kind, ways, s, each ? h : DNET_TOPO_NONE, t->host[h].port, sl);
        if (!each)
            break;
    }
}

/* Replies and traps of switch s; a reply has the service level of its request. */
static void from_switch(walker_t *w, int kind, dnet_ways_t *ways, int s)
{
    const dnet_topo_t *t = w->t;
    int sl = 0;
    if (w->dest < t->n_hosts)
        sl = service_level(w, t->host[w->dest].sw, w->dest, t->n_hosts + s);
    judge_way(w, kind, ways, s, DNET_TOPO_NONE, 0, sl == DNET_SL_NONE ? 0 : sl);
}

/* Traffic of the ways that arrive, from the farthest switches inwards. */
static void add_load(walker_t *w, int end, double share, const dnet_traffic_t *tr, double *flow,
                     double *load)
{
    const dnet_topo_t *t = w->t;
    memset(flow, 0, (size_t) t->n_switches * sizeof(*flow));
    for (int s = 0; s < t->n_switches; s++)
        if (t->sw[s].hosts && w->links[s] > 0)
            flow[s] = share * dnet_traffic_rate(tr, s, end);
    for (int i = t->n_switches - 1; i >= 0; i--) {
        int s = w->order[i];
        if (w->links[s] <= 0 || flow[s] == 0)
            continue;
        load[w->out[s]] += flow[s];
        flow[dnet_topo_head(t, w->out[s])] += flow[s];
    }
}

/* Switches by links to the end; those that do not get there first. */
static void sort_by_links(walker_t *w)
{
    const dnet_topo_t *t = w->t;
    memset(w->place, 0, ((size_t) t->n_switches + 2) * sizeof(*w->place));
    for (int s = 0; s < t->n_switches; s++)
        w->place[(w->links[s] < 0 ? 0 : w->links[s]) + 1]++;
    for (int i = 0; i < t->n_switches; i++)
        w->place[i + 1] += w->place[i];
    for (int s = 0; s < t->n_switches; s++)
        w->order[w->place[w->links[s] < 0 ? 0 : w->links[s]]++] = s;
}

static void judge_column(walker_t *w)
{
    const dnet_topo_t *t = w->t;
    dnet_verdict_t *v = w->v;
    int end = dnet_topo_dest_switch(t, w->dest);
    bool host = w->dest < t->n_hosts;
    measure(w);
    for (int k = 0; k < KINDS; k++)
        memset(w->passed[k], 0, (size_t) t->n_switches * sizeof(*w->passed[k]));
    for (int s = 0; s < t->n_switches; s++) {
        if (t->sw[s].down)
            continue;
        if (t->sw[s].hosts)
            from_servers(w, host ? DATA : MANAGEMENT, host ? &v->data : &v->management, s);
        if (host)
            from_switch(w, MANAGEMENT, &v->management, s);
        else if (s != end)
            from_switch(w, SWITCHES, &v->switches, s);
    }
    if (!host || !w->tr)
        return;
    double share = 1.0 / t->sw[end].hosts / dnet_topo_lids(t, w->dest);
    sort_by_links(w);
    add_load(w, end, share, w->tr, w->flow, w->load);
    if (w->tr2)
        add_load(w, end, share, w->tr2, w->flow2, w->load2);
}

static double largest(const dnet_topo_t *t, const double *load, double *mean)
{
    double max = 0, sum = 0;
    int n = 0;
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        if (t->slot[c] == DNET_TOPO_NONE)
            continue;
        double part = load[c] / t->link[c >> 1].capacity;
        n++;
        sum += part;
        if (part > max)
            max = part;
    }
    *mean = n ? sum / n : 0;
    return max;
}

/* Every lane that a path can get is one of those that are judged. */
static dnet_status_t check_lanes(const walker_t *w, const dnet_lanes_t *l, const dnet_mcast_t *m)
{
    const dnet_topo_t *t = w->t;
    size_t sources = (size_t) (l->of_hosts ? t->n_hosts : t->n_switches);
    if (l->lanes < 1 || l->lanes > DNET_SERVICE_LEVELS) {
        dnet_error("subnet: verify: %d lanes; 1 to %d are possible", l->lanes, DNET_SERVICE_LEVELS);
        return DNET_ERR_ARGUMENT;
    }
    for (size_t i = 0; l->sl && i < sources * l->columns; i++)
        if (l->sl[i] != DNET_SL_NONE && l->sl[i] >= (l->vl ? DNET_SERVICE_LEVELS : l->lanes)) {
            dnet_error("subnet: verify: path %zu has service level %d of %d", i, l->sl[i],
                       l->vl ? DNET_SERVICE_LEVELS : l->lanes);
            return DNET_ERR_ARGUMENT;
        }
    for (size_t i = 0; l->vl && i < l->vl_start[t->n_switches]; i++)
        if (l->vl[i] >= l->lanes && l->vl[i] != DNET_VL_DROP) {
            dnet_error("subnet: verify: an SL2VL table has lane %d of %d", l->vl[i], l->lanes);
            return DNET_ERR_ARGUMENT;
        }
    for (int g = 0; m && !l->vl && g < m->groups; g++)
        if (m->levels[g] >> l->lanes) {
            dnet_error("subnet: verify: group 0x%x has a service level above %d", m->mlid[g],
                       l->lanes - 1);
            return DNET_ERR_ARGUMENT;
        }
    return DNET_OK;
}

static dnet_status_t walker_init(walker_t *w)
{
    const dnet_topo_t *t = w->t;
    size_t ns = (size_t) t->n_switches, channels = (size_t) dnet_topo_channels(t);
    int lanes = w->lanes ? w->lanes->lanes : 1;
    for (int k = 0; k < KINDS; k++) {
        w->passed[k] = dnet_subnet_alloc(ns, sizeof(*w->passed[k]));
        if (!w->passed[k] || dnet_depends_init(&w->depends[k], t, lanes))
            return DNET_ERR_NO_MEMORY;
    }
    w->out = dnet_subnet_alloc(ns, sizeof(int));
    w->links = dnet_subnet_alloc(ns, sizeof(int));
    w->stack = dnet_subnet_alloc(ns, sizeof(int));
    w->order = dnet_subnet_alloc(ns, sizeof(int));
    w->place = dnet_subnet_alloc(ns + 2, sizeof(int));
    w->flow = dnet_subnet_alloc(ns, sizeof(double));
    w->flow2 = dnet_subnet_alloc(ns, sizeof(double));
    w->load = dnet_subnet_alloc(channels, sizeof(double));
    w->load2 = dnet_subnet_alloc(channels, sizeof(double));
    return w->out && w->links && w->stack && w->order && w->place && w->flow && w->flow2 &&
                   w->load && w->load2
               ? DNET_OK
               : DNET_ERR_NO_MEMORY;
}

static void walker_free(walker_t *w)
{
    for (int k = 0; k < KINDS; k++) {
        dnet_depends_free(&w->depends[k]);
        free(w->passed[k]);
    }
    free(w->out);
    free(w->links);
    free(w->stack);
    free(w->order);
    free(w->place);
    free(w->flow);
    free(w->flow2);
    free(w->load);
    free(w->load2);
}

/* Management shares the lanes with data, and ways between switches with both. */
static dnet_status_t judge_dependencies(walker_t *w)
{
    dnet_ways_t *ways[KINDS] = {&w->v->data, &w->v->management, &w->v->switches};
    dnet_status_t st = DNET_OK;
    w->v->dependencies = dnet_depends_count(&w->depends[DATA]);
    for (int k = 0; k < KINDS && !st; k++) {
        if (k > 0)
            dnet_depends_merge(&w->depends[k], &w->depends[k - 1]);
        st = dnet_depends_judge(&w->depends[k], &ways[k]->cyclic_lanes, &ways[k]->cycle);
    }
    return st;
}

static void finish(walker_t *w)
{
    dnet_verdict_t *v = w->v;
    double unused, max2 = largest(w->t, w->load2, &unused);
    long paths = 0;
    for (int i = 0; i < DNET_VERIFY_HOPS; i++)
        paths += v->hops_at[i];
    v->mean_hops = paths ? v->mean_hops / (double) paths : 0;
    v->max_load = largest(w->t, w->load, &v->mean_load);
    v->throughput = v->max_load > 1 ? 1 / v->max_load : 1;
    v->throughput2 = max2 > 1 ? 1 / max2 : 1;
}

static void no_faults(dnet_verdict_t *v)
{
    v->data.fault.source = v->management.fault.source = v->switches.fault.source = DNET_TOPO_NONE;
}

dnet_status_t dnet_verify(const dnet_judged_t *what, dnet_verdict_t *v)
{
    const dnet_tables_t *tables = what->tables;
    const dnet_lanes_t *lanes = what->lanes;
    const dnet_topo_t *t = tables->topo;
    walker_t w = {.tables = tables,
                  .t = t,
                  .lanes = lanes,
                  .partitions = what->partitions,
                  .tr = what->traffic,
                  .tr2 = what->traffic2,
                  .v = v};
    *v = (dnet_verdict_t){.lanes = lanes ? lanes->lanes : 1};
    no_faults(v);
    dnet_status_t st = lanes ? check_lanes(&w, lanes, what->multicast) : DNET_OK;
    if (!st)
        st = walker_init(&w);
    dnet_progress_begin("verifying tables", dnet_tables_columns(tables));
    for (w.column = 0; w.column < dnet_tables_columns(tables) && !st; w.column++) {
        dnet_progress(w.column);
        w.dest = dnet_tables_dest(tables, w.column);
        if (w.dest != DNET_TOPO_NONE && !t->sw[dnet_topo_dest_switch(t, w.dest)].down)
            judge_column(&w);
    }
    if (!st)
        st = judge_dependencies(&w);
    if (!st && what->multicast)
        st = dnet_mcast_judge(what->multicast, lanes, &w.depends[MANAGEMENT], &v->multicast);
    dnet_progress_end();
    if (!st)
        finish(&w);
    if (!st && what->load)
        memcpy(what->load, w.load, (size_t) dnet_topo_channels(t) * sizeof(*w.load));
    walker_free(&w);
    return st;
}

dnet_status_t dnet_verify_tables(const dnet_tables_t *tables, const dnet_lanes_t *lanes,
                                 const dnet_traffic_t *tr, const dnet_traffic_t *tr2,
                                 dnet_verdict_t *v)
{
    dnet_judged_t what = {.tables = tables, .lanes = lanes, .traffic = tr, .traffic2 = tr2};
    return dnet_verify(&what, v);
}

/* ---- turns ---- */

/* Working space: output slots of each switch that the search has not taken. */
typedef struct reach {
    const dnet_turns_t *turns;
    size_t *open_at;
    uint64_t *open;
    int *stack;
    char *reached; /* [switch] */
} reach_t;

static dnet_status_t reach_init(reach_t *r)
{
    const dnet_topo_t *t = r->turns->topo;
    r->open_at = dnet_subnet_alloc((size_t) t->n_switches + 1, sizeof(*r->open_at));
    for (int s = 0; r->open_at && s < t->n_switches; s++)
        r->open_at[s + 1] = r->open_at[s] + (size_t) r->turns->words[s];
    r->open = r->open_at ? dnet_subnet_alloc(r->open_at[t->n_switches], sizeof(uint64_t)) : NULL;
    r->stack = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(int));
    r->reached = dnet_subnet_alloc((size_t) t->n_switches, 1);
    return r->open && r->stack && r->reached ? DNET_OK : DNET_ERR_NO_MEMORY;
}

static void reach_free(reach_t *r)
{
    free(r->open_at);
    free(r->open);
    free(r->stack);
    free(r->reached);
}

/* Forward search on channels from one source, marking the switches reached. */
static void reach_from(reach_t *r, int src)
{
    const dnet_topo_t *t = r->turns->topo;
    int n = 0;
    memset(r->open, 0xff, r->open_at[t->n_switches] * sizeof(*r->open));
    memset(r->reached, 0, (size_t) t->n_switches);
    r->reached[src] = 1;
    for (int i = 0; i < dnet_topo_degree(t, src); i++) {
        r->open[r->open_at[src] + (size_t) (i >> 6)] &= ~((uint64_t) 1 << (i & 63));
        r->stack[n++] = dnet_topo_channel(t, src, i);
    }
    while (n > 0) {
        int c = r->stack[--n], u = dnet_topo_head(t, c);
        const uint64_t *row = dnet_turns_row(r->turns, u, t->slot[c ^ 1]);
        uint64_t *open = r->open + r->open_at[u];
        r->reached[u] = 1;
        for (int w = 0; w < r->turns->words[u]; w++) {
            uint64_t m = row[w] & open[w];
            open[w] &= ~m;
            for (; m; m &= m - 1)
                r->stack[n++] = dnet_topo_channel(t, u, 64 * w + __builtin_ctzll(m));
        }
    }
}

static void copy_turns(const dnet_turns_t *turns, dnet_depends_t *d)
{
    const dnet_topo_t *t = turns->topo;
    for (int s = 0; s < t->n_switches; s++)
        for (int i = 0; i < dnet_topo_degree(t, s); i++)
            for (int j = 0; j < dnet_topo_degree(t, s); j++)
                if (i != j && dnet_turns_allowed(turns, s, i, j))
                    dnet_depends_add(d, dnet_topo_channel(t, s, i) ^ 1, 0,
                                     dnet_topo_channel(t, s, j), 0);
}

static void judge_reached(const dnet_topo_t *t, int s, const char *reached, dnet_verdict_t *v)
{
    for (int u = 0; u < t->n_switches; u++) {
        dnet_ways_t *ways = t->sw[s].hosts && t->sw[u].hosts ? &v->data : &v->switches;
        if (u == s || t->sw[u].down)
            continue;
        ways->pairs++;
        ways->missing += !reached[u];
        if (!reached[u] && ways->fault.source == DNET_TOPO_NONE)
            ways->fault = (dnet_fault_t){.source = s,
                                         .host = DNET_TOPO_NONE,
                                         .column = t->n_hosts + u,
                                         .at = s,
                                         .port = DNET_TABLE_NONE};
    }
}

dnet_status_t dnet_verify_turns(const dnet_turns_t *turns, dnet_verdict_t *v)
{
    const dnet_topo_t *t = turns->topo;
    dnet_depends_t d = {0};
    *v = (dnet_verdict_t){.lanes = 1, .throughput = 1, .throughput2 = 1};
    no_faults(v);
    reach_t r = {.turns = turns};
    dnet_status_t st = reach_init(&r);
    if (!st)
        st = dnet_depends_init(&d, t, 1);
    if (!st) {
        copy_turns(turns, &d);
        v->dependencies = dnet_depends_count(&d);
        st = dnet_depends_judge(&d, &v->data.cyclic_lanes, &v->data.cycle);
        v->switches.cyclic_lanes = v->data.cyclic_lanes;
        v->switches.cycle = v->data.cycle;
    }
    dnet_progress_begin("verifying turns", t->n_switches);
    for (int s = 0; s < t->n_switches && !st; s++) {
        dnet_progress(s);
        if (t->sw[s].down)
            continue;
        reach_from(&r, s);
        judge_reached(t, s, r.reached, v);
    }
    dnet_progress_end();
    dnet_depends_free(&d);
    reach_free(&r);
    return st;
}

bool dnet_ways_good(const dnet_ways_t *w)
{
    return w->missing == 0 && w->astray == 0 && w->loops == 0 && w->cyclic_lanes == 0;
}

bool dnet_verdict_good(const dnet_verdict_t *v)
{
    return dnet_ways_good(&v->data);
}

bool dnet_verdict_managed(const dnet_verdict_t *v)
{
    return dnet_verdict_good(v) && dnet_ways_good(&v->management);
}

bool dnet_verdict_complete(const dnet_verdict_t *v)
{
    return dnet_verdict_managed(v) && dnet_ways_good(&v->switches);
}
