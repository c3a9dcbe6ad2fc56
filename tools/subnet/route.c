/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet route: routes of a topology, judged, evaluated, written as forwarding tables.
 */
#include "subnet/engines/engines.h"
#include "tools/subnet/subnet.h"

#include "common/log.h"
#include "subnet/routing/paths.h"
#include "subnet/base/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

typedef struct {
    subnet_net_t net;
    subnet_engine_t engine;
    const char *guid2lid, *write_lfts, *write_sl, *from, *json;
    int bundles, scheme;
    bool verify, pairs_only;
} options_t;

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    SUBNET_ENGINE_OPTIONS(options_t),
    TOOL_OPTION(options_t, verify, "verify", TOOL_FLAG, NULL, "judge and evaluate the routes",
                .letter = 'v'),
    TOOL_OPTION(options_t, pairs_only, "pairs-only", TOOL_FLAG, NULL, "no forwarding tables"),
    TOOL_OPTION(options_t, bundles, "bundles", TOOL_INT, "N",
                "also one walk per bundle, N bundles per pair of switches", .most = 1000),
    TOOL_OPTION(options_t, scheme, "scheme", TOOL_WORD, "S",
                "addresses: conventional, port-major, grouped or aligned (conventional)",
                .words = dnet_lid_schemes),
    TOOL_OPTION(options_t, guid2lid, "guid2lid", TOOL_TEXT, "FILE",
                "write the addresses for OpenSM"),
    TOOL_OPTION(options_t, write_lfts, "write-lfts", TOOL_TEXT, "FILE",
                "write the tables for OpenSM's file engine"),
    TOOL_OPTION(options_t, from, "from", TOOL_TEXT, "FILE",
                "dump of tables in force: turnadd changes what must, safely"),
    TOOL_OPTION(options_t, write_sl, "write-sl", TOOL_TEXT, "FILE",
                "write the service levels as path records"),
    SUBNET_JSON_OPTION(options_t),
    {NULL},
};

/* Network throughput 1/M of pair routing, M = largest link load [TA §5.1]. */
static double throughput_of(const dnet_topo_t *t, const double *load)
{
    double max = 1;
    for (int c = 0; c < dnet_topo_channels(t); c++)
        max = fmax(max, load[c] / t->link[c >> 1].capacity);
    return 1 / max;
}

static dnet_status_t evaluate_pairs(const dnet_turns_t *turns, const dnet_traffic_t *tr,
                                    const char *name, const options_t *o, dnet_json_t *j)
{
    const dnet_topo_t *t = turns->topo;
    double hops, *load = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(double));
    long unreached;
    char key[48];
    if (!load)
        return DNET_ERR_NO_MEMORY;
    dnet_status_t st = dnet_paths_spread_all(turns, tr, load, NULL, &hops, &unreached);
    if (!st) {
        snprintf(key, sizeof(key), "pairs_%s_split", name);
        dnet_json_number(j, key, throughput_of(t, load));
        printf("  pair routing, %-8s  evenly over shortest walks: %.4f", name,
               throughput_of(t, load));
    }
    if (!st && o->bundles > 0) {
        st = dnet_paths_greedy(turns, tr, o->bundles, o->net.seed, load, &unreached);
        snprintf(key, sizeof(key), "pairs_%s_greedy", name);
        dnet_json_number(j, key, throughput_of(t, load));
        printf("   one walk per bundle: %.4f", throughput_of(t, load));
    }
    putchar('\n');
    free(load);
    return st;
}

static dnet_status_t write_one(const dnet_topo_t *t, const dnet_routing_t *r, int part,
                               const char *path)
{
    FILE *out = path ? subnet_output(path) : NULL;
    if (!path)
        return DNET_OK;
    if (!out)
        return DNET_ERR_SYSTEM;
    dnet_status_t st = part == 0   ? dnet_lft_write(t, r->tables, out)
                       : part == 1 ? dnet_lid_write_guid2lid(t, out)
                                   : dnet_sl_write(r->tables, r->sl, out);
    return subnet_output_close(out, path, st);
}

/* Without a LID a server or switch would be left out of the files, and get no packet. */
static dnet_status_t check_addresses(const dnet_topo_t *t)
{
    int without = 0, example = DNET_TOPO_NONE;
    for (int d = 0; d < dnet_topo_dests(t); d++) {
        bool host = d < t->n_hosts;
        if (dnet_lid_of(t, d) || t->sw[dnet_topo_dest_switch(t, d)].down ||
            (host && t->host[d].down))
            continue;
        without++;
        example = example == DNET_TOPO_NONE ? d : example;
    }
    if (!without)
        return DNET_OK;
    dnet_error(
        "route: --from: the tables in force have no LID for %d servers and switches, for "
        "example %s; let the subnet manager sweep and dump again, or leave them out by --cut",
        without, dnet_topo_dest_name(t, example));
    return DNET_ERR_ARGUMENT;
}

/* Tables for OpenSM's `file` engine, the addresses and the service levels they assume. */
static dnet_status_t write_files(const options_t *o, dnet_topo_t *t, const dnet_routing_t *r)
{
    if (!o->write_lfts && !o->guid2lid && !o->write_sl)
        return DNET_OK;
    if (r->lanes > 1 && o->write_lfts && !o->write_sl) {
        dnet_error(
            "route: %s needs %d lanes on %s, and its tables alone can deadlock; OpenSM's "
            "engine `file` gives every path service level 0.  Use turnadd, or add --write-sl "
            "FILE and give paths those levels",
            r->engine, r->lanes, t->name);
        return DNET_ERR_ARGUMENT;
    }
    if (o->write_sl && !r->sl) {
        dnet_error("route: --write-sl: all paths of %s have service level 0", r->engine);
        return DNET_ERR_ARGUMENT;
    }
    const char *const path[] = {o->write_lfts, o->guid2lid, o->write_sl};
    dnet_status_t st = o->write_lfts ? dnet_lft_check(r->tables) : DNET_OK;
    if (!st) /* with --from they are those of the tables in force */
        st = o->from ? check_addresses(t) : dnet_lid_assign(t, (dnet_lid_scheme_t) o->scheme);
    for (int part = 0; part < 3 && !st; part++)
        st = write_one(t, r, part, path[part]);
    return st;
}

/* Verify and evaluate; *rc is the exit status of the verdict. */
static dnet_status_t judge(const options_t *o, const dnet_topo_t *t, const dnet_routing_t *r,
                           const dnet_traffic_t *tr, dnet_json_t *j, int *rc)
{
    dnet_traffic_t in, across = {0};
    dnet_verdict_t v;
    bool cyclic = false, joined = tr->kind == DNET_TRAFFIC_WEIGHTED && tr->n_trees > 1;
    dnet_traffic_kind_t alone = DNET_TRAFFIC_UNIFORM;
    dnet_status_t st = dnet_traffic_init(&in, t, joined ? DNET_TRAFFIC_INSIDE : alone, 0);
    if (!st)
        st = dnet_traffic_init(&across, t, DNET_TRAFFIC_BETWEEN, 0);
    const dnet_traffic_t *first = tr->kind == DNET_TRAFFIC_MATRIX ? tr : &in;
    if (!st && r->turns) {
        long prohibited, pairs = dnet_turns_count(r->turns, &prohibited);
        printf("  turn pairs: %ld, allowed %ld\n", pairs, pairs - prohibited);
        dnet_json_int(j, "turn_pairs", pairs);
        dnet_json_int(j, "turn_pairs_allowed", pairs - prohibited);
        st = dnet_verify_turns(r->turns, &v);
        if (!st) {
            subnet_report_verdict("turns", &v, t, j);
            cyclic = v.data.cyclic_lanes > 0;
            *rc = dnet_verdict_good(&v) && !dnet_topo_cut_off(t) ? TOOL_GOOD : TOOL_BAD;
            st = evaluate_pairs(r->turns, first, joined ? "inside" : "uniform", o, j);
        }
        if (!st && joined)
            st = evaluate_pairs(r->turns, &across, "between", o, j);
    }
    if (!st && r->tables) {
        st = dnet_verify_tables(r->tables, r->sl, first, joined ? &across : NULL, &v);
        if (!st) {
            subnet_report_verdict("tables_verdict", &v, t, j);
            subnet_report_tables(r->tables, &v, joined, j);
            /* minhop allows all turns; its tables need not use those that close a cycle */
            if (cyclic && v.data.cyclic_lanes == 0)
                printf("  tables: free of a cycle; they use not all turns that %s allows\n",
                       r->engine);
            *rc = subnet_verdict_exit(&v, t);
        }
    }
    dnet_traffic_free(&in);
    dnet_traffic_free(&across);
    return st;
}

static void report_work(const dnet_topo_t *t, const dnet_routing_t *r, double seconds,
                        dnet_json_t *j)
{
    int servers = t->n_hosts - dnet_topo_cut_off(t);
    printf("%s: %d switches, %d servers, %d links; engine %s, %d lane%s, %.2f s\n", t->name,
           t->n_switches, servers, t->n_links, r->engine, r->lanes, r->lanes > 1 ? "s" : "",
           seconds);
    dnet_json_string(j, "topology", t->name);
    dnet_json_int(j, "switches", t->n_switches);
    dnet_json_int(j, "servers", servers);
    dnet_json_int(j, "links", t->n_links);
    dnet_json_string(j, "engine", r->engine);
    dnet_json_int(j, "lanes", r->lanes);
    if (r->root != DNET_TOPO_NONE)
        dnet_json_string(j, "root", t->sw[r->root].name);
    dnet_json_bool(j, "spanning_tree_first", r->seeded);
    dnet_json_int(j, "cycle_searches", r->searches);
    dnet_json_int(j, "channels_visited", r->visited);
    dnet_json_number(j, "routing_seconds", seconds);
}

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS, SUBNET_ENGINE_DEFAULTS};
    const dnet_engine_t *engine = NULL;
    double began = dnet_progress_seconds(), routed = 0;
    dnet_topo_t *t = NULL;
    dnet_tables_t *old = NULL;
    dnet_traffic_t tr = {0};
    dnet_routing_t r = {0};
    dnet_json_t j;
    bool bad;
    int verdict = TOOL_GOOD;
    if (!tool_parse(&subnet_route, &argc, &argv, &o) || !(engine = dnet_engine_find(o.engine.name)))
        return TOOL_USAGE;
    if (o.pairs_only && (o.write_lfts || o.guid2lid || o.write_sl)) {
        dnet_error(
            "route: --pairs-only makes no tables, and leaves nothing to write; leave it out, "
            "or --write-lfts, --guid2lid and --write-sl");
        return TOOL_USAGE;
    }
    dnet_status_t st = subnet_load(&o.net, &t);
    if (!st && o.from)
        st = dnet_lft_read(t, o.from, &old, NULL);
    if (!st)
        st = subnet_traffic(&o.engine, t, &tr);
    if (!st) {
        dnet_route_options_t opt = subnet_route_options(&o.engine, o.net.seed, &tr);
        opt.no_tables = o.pairs_only;
        opt.from = old;
        routed = dnet_progress_seconds();
        st = dnet_route(t, engine, &opt, NULL, &r);
        routed = dnet_progress_seconds() - routed;
    }
    if (!st)
        st = dnet_json_open(&j, o.json);
    if (!st) {
        report_work(t, &r, routed, &j);
        if (o.verify)
            st = judge(&o, t, &r, &tr, &j, &verdict);
        if (!st && old && r.tables)
            st = subnet_report_change(t, old, r.tables, r.lanes, NULL, &j, &bad);
        if (!st && r.tables)
            st = write_files(&o, t, &r);
        struct rusage used;
        getrusage(RUSAGE_SELF, &used);
        dnet_json_number(&j, "total_seconds", dnet_progress_seconds() - began);
        dnet_json_number(&j, "peak_mib", (double) used.ru_maxrss / 1024);
        if (dnet_json_close(&j) && !st)
            st = DNET_ERR_SYSTEM;
    }
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_tables_free(old);
    dnet_topo_free(t);
    return st ? subnet_exit(st) : verdict;
}

const tool_command_t subnet_route = {
    .name = "route",
    .summary = "route a topology; verify, evaluate, write forwarding tables",
    .options = options,
    .run = run,
};
