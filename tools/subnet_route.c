/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet gen, route, path: topologies, their routes, and one route explained.
 */
#include "subnet_tool.h"

#include "common/log.h"
#include "subnet/routing/paths.h"
#include "subnet/base/progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

int subnet_gen(int argc, char **argv)
{
    subnet_options_t o = {.format = "ibsim", .quiet = true};
    static const struct {
        const char *name;
        dnet_status_t (*write)(const dnet_topo_t *t, FILE *out);
    } formats[] = {{"ibsim", dnet_topo_write_ibsim},
                   {"dot", dnet_topo_write_dot},
                   {"svg", dnet_topo_write_svg}};
    dnet_topo_t *t;
    int rc = subnet_parse(argc, argv, &o);
    if (rc)
        return rc;
    if (o.list) {
        for (int i = 0; dnet_topo_kinds(i); i++)
            printf("%s\n", dnet_topo_kinds(i));
        return SUBNET_EXIT_GOOD;
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(formats[i].name, o.format) != 0)
            continue;
        dnet_status_t st = subnet_load(&o, &t);
        if (st)
            return subnet_exit(st);
        FILE *out = subnet_output(o.output);
        st = out ? formats[i].write(t, out) : DNET_ERR_SYSTEM;
        if (out && subnet_output_close(out, o.output))
            st = DNET_ERR_SYSTEM;
        dnet_topo_free(t);
        return subnet_exit(st);
    }
    dnet_error("--format %s: expected ibsim, dot or svg", o.format);
    return SUBNET_EXIT_USAGE;
}

/* Network throughput 1/M of pair routing, M = largest link load [TA §5.1]. */
static double throughput_of(const dnet_topo_t *t, const double *load)
{
    double max = 1;
    for (int c = 0; c < dnet_topo_channels(t); c++)
        if (load[c] > max)
            max = load[c];
    return 1 / max;
}

static dnet_status_t evaluate_pairs(const dnet_turns_t *turns, const dnet_traffic_t *tr,
                                    const char *name, const subnet_options_t *o, dnet_json_t *j)
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
        st = dnet_paths_greedy(turns, tr, o->bundles, o->seed, load, &unreached);
        snprintf(key, sizeof(key), "pairs_%s_greedy", name);
        dnet_json_number(j, key, throughput_of(t, load));
        printf("   one walk per bundle: %.4f", throughput_of(t, load));
    }
    putchar('\n');
    free(load);
    return st;
}

void subnet_report_verdict(const char *key, const dnet_verdict_t *v, const dnet_topo_t *t,
                           dnet_json_t *j)
{
    printf("  %s: %s; %ld pairs, %ld missing, %ld astray, %ld loops, %d of %d lanes cyclic; %ld "
           "ways to switches missing\n",
           key, dnet_verdict_good(v) ? "good" : "BAD", v->pairs, v->missing, v->astray, v->loops,
           v->cyclic_lanes, v->lanes, v->management);
    if (v->first_bad_switch != DNET_TOPO_NONE) {
        int d = (int) v->first_bad_dest;
        printf("    for example from %s to %s\n", t->sw[v->first_bad_switch].name,
               d < t->n_hosts ? t->host[d].name : t->sw[d - t->n_hosts].name);
    }
    for (int i = 0; i < v->cycle_length && i < DNET_VERIFY_CYCLE; i++)
        printf("%s%s%s", i ? " " : "    cycle: ", t->sw[dnet_topo_tail(t, v->cycle[i])].name,
               i + 1 == v->cycle_length || i + 1 == DNET_VERIFY_CYCLE ? "\n" : "");
    dnet_json_object(j, key);
    dnet_json_bool(j, "good", dnet_verdict_good(v));
    dnet_json_int(j, "pairs", v->pairs);
    dnet_json_int(j, "missing", v->missing);
    dnet_json_int(j, "missing_to_switches", v->management);
    dnet_json_int(j, "astray", v->astray);
    dnet_json_int(j, "loops", v->loops);
    dnet_json_int(j, "lanes", v->lanes);
    dnet_json_int(j, "cyclic_lanes", v->cyclic_lanes);
    dnet_json_int(j, "dependencies", v->dependencies);
    dnet_json_end_object(j);
}

void subnet_report_tables(const dnet_tables_t *tables, const dnet_verdict_t *v, bool between,
                          dnet_json_t *j)
{
    printf("  tables: throughput %.4f%s", v->throughput, between ? " inside" : "");
    if (between)
        printf(", %.4f between", v->throughput2);
    printf("; hops mean %.3f, max %d\n", v->mean_hops, v->max_hops);
    dnet_json_number(j, between ? "tables_inside" : "tables_uniform", v->throughput);
    if (between)
        dnet_json_number(j, "tables_between", v->throughput2);
    dnet_json_number(j, "mean_hops", v->mean_hops);
    dnet_json_int(j, "max_hops", v->max_hops);
    if (!tables)
        return;
    printf("  destinations with pinned walks %ld, in dependency order %ld, on the tree %ld, "
           "unrouted %ld\n",
           tables->pinned, tables->second_order, tables->fallbacks, tables->unrouted);
    dnet_json_int(j, "destinations_pinned", tables->pinned);
    dnet_json_int(j, "destinations_in_dependency_order", tables->second_order);
    dnet_json_int(j, "destinations_on_tree", tables->fallbacks);
    dnet_json_int(j, "destinations_unrouted", tables->unrouted);
}

/* Tables for OpenSM's `file` engine and the addresses they assume. */
static dnet_status_t write_files(const subnet_options_t *o, dnet_topo_t *t,
                                 const dnet_tables_t *tables)
{
    if (!o->write_lfts && !o->guid2lid)
        return DNET_OK;
    dnet_status_t st = dnet_lid_assign(t, (dnet_lid_scheme_t) o->scheme);
    for (int part = 0; part < 2 && !st; part++) {
        const char *path = part ? o->guid2lid : o->write_lfts;
        FILE *out = path ? subnet_output(path) : NULL;
        if (!path)
            continue;
        st = !out   ? DNET_ERR_SYSTEM
             : part ? dnet_lid_write_guid2lid(t, out)
                    : dnet_lft_write(t, tables, out);
        if (out && subnet_output_close(out, path))
            st = DNET_ERR_SYSTEM;
    }
    return st;
}

/* Verify and evaluate; *good is the verdict. */
static dnet_status_t judge(const subnet_options_t *o, const dnet_topo_t *t, const dnet_routing_t *r,
                           const dnet_traffic_t *tr, dnet_json_t *j, bool *good)
{
    dnet_traffic_t in, across;
    dnet_verdict_t v;
    bool joined = tr->kind == DNET_TRAFFIC_WEIGHTED && tr->n_trees > 1;
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
            *good &= dnet_verdict_good(&v);
            st = evaluate_pairs(r->turns, first, joined ? "inside" : "uniform", o, j);
        }
        if (!st && joined)
            st = evaluate_pairs(r->turns, &across, "between", o, j);
    }
    if (!st && r->tables) {
        st = dnet_verify_tables(r->tables, r->lane, r->lanes, first, joined ? &across : NULL, &v);
        if (!st) {
            subnet_report_verdict("tables_verdict", &v, t, j);
            subnet_report_tables(r->tables, &v, joined, j);
            *good &= dnet_verdict_good(&v);
        }
    }
    dnet_traffic_free(&in);
    dnet_traffic_free(&across);
    return st;
}

static void report_work(const dnet_topo_t *t, const dnet_routing_t *r, double seconds,
                        dnet_json_t *j)
{
    printf("%s: %d switches, %d servers, %d links; engine %s, %d lane%s, %.2f s\n", t->name,
           t->n_switches, t->n_hosts, t->n_links, r->engine, r->lanes, r->lanes > 1 ? "s" : "",
           seconds);
    dnet_json_string(j, "topology", t->name);
    dnet_json_int(j, "switches", t->n_switches);
    dnet_json_int(j, "servers", t->n_hosts);
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

int subnet_route(int argc, char **argv)
{
    subnet_options_t o = {.engine = "turnadd"};
    double began = dnet_progress_seconds();
    dnet_topo_t *t = NULL;
    dnet_traffic_t tr = {0};
    dnet_routing_t r = {0};
    dnet_json_t j;
    bool good = true;
    int rc = subnet_parse(argc, argv, &o);
    const dnet_engine_t *engine = rc ? NULL : dnet_engine_find(o.engine);
    if (rc || !engine)
        return SUBNET_EXIT_USAGE;
    dnet_status_t st = subnet_load(&o, &t);
    if (!st)
        st = subnet_traffic(&o, t, &tr);
    if (!st) {
        dnet_route_options_t opt = subnet_route_options(&o, &tr);
        st = dnet_route(t, engine, &opt, NULL, &r);
    }
    if (!st)
        st = dnet_json_open(&j, o.json);
    if (!st) {
        report_work(t, &r, dnet_progress_seconds() - began, &j);
        if (o.verify)
            st = judge(&o, t, &r, &tr, &j, &good);
        if (!st && r.tables)
            st = write_files(&o, t, r.tables);
        struct rusage used;
        getrusage(RUSAGE_SELF, &used);
        dnet_json_number(&j, "total_seconds", dnet_progress_seconds() - began);
        dnet_json_number(&j, "peak_mib", (double) used.ru_maxrss / 1024);
        if (dnet_json_close(&j) && !st)
            st = DNET_ERR_SYSTEM;
    }
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_topo_free(t);
    return st ? subnet_exit(st) : good ? SUBNET_EXIT_GOOD : SUBNET_EXIT_BAD;
}

int subnet_path(int argc, char **argv)
{
    subnet_options_t o = {.engine = "turnadd", .quiet = true};
    dnet_topo_t *t = NULL;
    dnet_traffic_t tr = {0};
    dnet_routing_t r = {0};
    int rc = subnet_parse(argc, argv, &o);
    const dnet_engine_t *engine = rc ? NULL : dnet_engine_find(o.engine);
    if (rc || !engine)
        return SUBNET_EXIT_USAGE;
    if (argc - optind != 2) {
        dnet_error("path: expected two server names behind the options");
        return SUBNET_EXIT_USAGE;
    }
    dnet_status_t st = subnet_load(&o, &t);
    int src = st ? 0 : dnet_topo_find_host(t, argv[optind]);
    int dst = st ? 0 : dnet_topo_find_host(t, argv[optind + 1]);
    if (!st && (src == DNET_TOPO_NONE || dst == DNET_TOPO_NONE)) {
        dnet_error("path: no server %s in %s", argv[optind + (src != DNET_TOPO_NONE)], t->name);
        st = DNET_ERR_ARGUMENT;
    }
    if (!st)
        st = subnet_traffic(&o, t, &tr);
    if (!st) {
        dnet_route_options_t opt = subnet_route_options(&o, &tr);
        opt.no_tables = false;
        st = dnet_route(t, engine, &opt, NULL, &r);
    }
    rc = st                                                ? subnet_exit(st)
         : dnet_tables_explain(r.tables, src, dst, stdout) ? SUBNET_EXIT_GOOD
                                                           : SUBNET_EXIT_BAD;
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_topo_free(t);
    return rc;
}
