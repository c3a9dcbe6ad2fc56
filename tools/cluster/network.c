/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster: the network between the nodes.  Whoever changes it is its Subnet Manager for that
 * time and holds the lock of its file.
 */
#include "config.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cluster/network.h"
#include "tools/cluster/cluster.h"

static void show_network(dnet_json_t *json, const dnet_fabric_t *f)
{
    const char *verdict = dnet_verdict_good(&f->verdict) ? "good" : "BAD";
    if (!json) {
        printf("  network %s: %d switches, %d links, engine %s, tables of sweep %u: %s\n",
               f->topo->name, f->topo->n_switches, f->topo->n_links, f->engine, f->sweep, verdict);
        for (uint32_t i = 0; i < f->cuts; i++)
            printf("  cut %s\n", f->cut[i]);
        return;
    }
    dnet_json_string(json, "topology", f->topo->name);
    dnet_json_int(json, "switches", f->topo->n_switches);
    dnet_json_int(json, "links", f->topo->n_links);
    dnet_json_string(json, "engine", f->engine);
    dnet_json_int(json, "sweep", f->sweep);
    dnet_json_string(json, "verdict", verdict);
    dnet_json_array(json, "cuts");
    for (uint32_t i = 0; i < f->cuts; i++)
        dnet_json_string(json, NULL, f->cut[i]);
    dnet_json_end_array(json);
}

/* Arguments of path, cut, restore and degrade: `want` words, a cluster by --name. */
static int find_network(int argc, char **argv, int want, bool change, options_t *o,
                        dnet_network_t *n)
{
    dnet_cluster_t *cluster;
    if (!parse_options(argc, argv, o))
        return EXIT_USAGE;
    if (argc - optind != want) {
        fprintf(stderr, "dnet-cluster %s: want %s\n", argv[0],
                want == 2                         ? "two nodes"
                : strcmp(argv[0], "degrade") == 0 ? "SWITCH:PORT"
                                                  : "SWITCH or SWITCH:PORT");
        return EXIT_USAGE;
    }
    if (find(o->config.name ? o->config.name : DNET_CLUSTER_NAME_DEFAULT, &cluster) != DNET_OK)
        return EXIT_FAILED;
    dnet_status_t status = dnet_network_take(cluster, change, n);
    if (status == DNET_NOT_FOUND)
        fprintf(stderr, "dnet-cluster %s: cluster %s has no network; make it with --topology\n",
                argv[0], cluster->name);
    dnet_cluster_close(cluster);
    return status == DNET_OK ? EXIT_GOOD : EXIT_FAILED;
}

/* ---- path ---- */

/* A node by its number or its server's name. */
static int find_node(const dnet_topo_t *t, const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    int h =
        *text >= '0' && *text <= '9' && !*end && number >= 1 && number <= (unsigned long) t->n_hosts
            ? (int) number - 1
            : dnet_topo_find_host(t, text);
    if (h == DNET_TOPO_NONE)
        fprintf(stderr, "dnet-cluster path: no node %s; there are 1 to %d\n", text, t->n_hosts);
    return h;
}

int run_path(int argc, char **argv)
{
    dnet_network_t n;
    options_t o;
    int code = find_network(argc, argv, 2, false, &o, &n);
    if (code != EXIT_GOOD)
        return code;
    int from = find_node(n.fabric->topo, argv[optind]);
    int to = from == DNET_TOPO_NONE ? DNET_TOPO_NONE : find_node(n.fabric->topo, argv[optind + 1]);
    code = EXIT_USAGE;
    if (to != DNET_TOPO_NONE)
        code = dnet_tables_explain(n.fabric->tables, from, to, stdout) ? EXIT_GOOD : EXIT_FAILED;
    dnet_network_leave(&n);
    return code;
}

/* ---- cut and restore ---- */

static int sweep(dnet_network_t *n)
{
    dnet_fdb_diff_t diff;
    if (dnet_network_sweep(n, &diff) != DNET_OK)
        return EXIT_FAILED;
    show_network(NULL, n->fabric);
    printf("  %ld table entries changed, in %ld blocks\n", diff.entries, diff.blocks);
    if (!dnet_verdict_good(&n->fabric->verdict))
        printf("  %ld ways are missing: packets there wait for dnet-cluster restore\n",
               n->fabric->verdict.missing);
    return EXIT_GOOD;
}

int run_cut(int argc, char **argv)
{
    dnet_network_t n;
    options_t o;
    int code = find_network(argc, argv, 1, true, &o, &n);
    if (code != EXIT_GOOD)
        return code;
    const char *what = argv[optind];
    code = EXIT_FAILED;
    if (dnet_fabric_cut(n.fabric, what, o.force) == DNET_OK) {
        code = sweep(&n);
        if (code != EXIT_GOOD && dnet_fabric_restore(n.fabric, what) == DNET_OK)
            dnet_switches_set_links(&n.switches, n.fabric->topo);
    }
    dnet_network_leave(&n);
    return code;
}

int run_restore(int argc, char **argv)
{
    dnet_network_t n;
    options_t o;
    int code = find_network(argc, argv, 1, true, &o, &n);
    if (code != EXIT_GOOD)
        return code;
    code = dnet_fabric_restore(n.fabric, argv[optind]) == DNET_OK ? sweep(&n) : EXIT_FAILED;
    dnet_network_leave(&n);
    return code;
}

/* ---- degrade ---- */

int run_degrade(int argc, char **argv)
{
    dnet_network_t n;
    options_t o;
    int sw, link, code = find_network(argc, argv, 1, true, &o, &n);
    if (code != EXIT_GOOD)
        return code;
    const dnet_topo_t *t = n.fabric->topo;
    const char *what = argv[optind];
    code = EXIT_USAGE;
    if (!o.fault_given) {
        fprintf(stderr, "dnet-cluster degrade: want --width, --speed, --symbol-errors, "
                        "--receive-errors or --heal\n");
    } else if (!dnet_topo_find_part(t, what, &sw, &link) || link == DNET_TOPO_NONE) {
        fprintf(stderr, "dnet-cluster degrade: %s is no link between switches\n", what);
    } else {
        dnet_switches_degrade(&n.switches, 2 * link + (dnet_topo_tail(t, 2 * link) != sw),
                              &o.fault);
        code = EXIT_GOOD;
    }
    dnet_network_leave(&n);
    return code;
}

/* ---- up ---- */

/* Made, written and read again: numbers of switches and nodes are those that every later reader
 * sees. */
static dnet_status_t make_network(const options_t *o, dnet_fabric_t **fabric_p)
{
    dnet_fabric_t *made;
    dnet_status_t status = dnet_fabric_make(o->topology, o->engine ? o->engine : "turnadd", &made);
    if (status != DNET_OK)
        return status;
    status = o->config.fabric < 0 ? DNET_ERR_SYSTEM : dnet_fabric_store(made, o->config.fabric);
    dnet_fabric_free(made);
    return status == DNET_OK ? dnet_fabric_load(o->config.fabric, fabric_p) : status;
}

static int start_nodes(options_t *o, const dnet_fabric_t *f,
                       int (*start)(const dnet_cluster_config_t *config))
{
    uint16_t *lid = calloc((size_t) f->topo->n_hosts, sizeof(*lid));
    for (int h = 0; lid && h < f->topo->n_hosts; h++)
        lid[h] = f->topo->host[h].lid;
    o->config.nodes = (uint32_t) f->topo->n_hosts;
    o->config.lid = lid;
    o->config.switches = lid ? dnet_switches_make(f) : -1;
    int code = o->config.switches < 0 ? EXIT_FAILED : start(&o->config);
    if (code == EXIT_GOOD)
        show_network(NULL, f);
    if (o->config.switches >= 0)
        close(o->config.switches);
    free(lid);
    return code;
}

int up_network(options_t *o, int (*start)(const dnet_cluster_config_t *config))
{
    dnet_fabric_t *f;
    o->config.fabric = dnet_fabric_file();
    int code = EXIT_FAILED;
    if (make_network(o, &f) == DNET_OK) {
        code = start_nodes(o, f, start);
        dnet_fabric_free(f);
    }
    if (o->config.fabric >= 0)
        close(o->config.fabric);
    return code;
}

/* ---- status ---- */

static void show_end(dnet_json_t *json, const char *back, const dnet_switches_reading_t *r)
{
    static const char *const names[] = {"packets", "bytes", "symbol_errors", "receive_errors"};
    const uint64_t values[] = {r->packets, r->bytes, r->symbol, r->receive};
    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char key[32];
        snprintf(key, sizeof(key), "%s%s", names[i], back);
        dnet_json_int(json, key, (long long) values[i]);
    }
}

static void show_link_json(dnet_json_t *json, const dnet_topo_t *t, int l, bool down,
                           const dnet_switches_reading_t r[2])
{
    dnet_json_object(json, NULL);
    for (int d = 0; d < 2; d++) {
        dnet_json_string(json, d ? "to" : "from", t->sw[t->link[l].sw[d]].name);
        dnet_json_int(json, d ? "to_port" : "from_port", t->link[l].port[d]);
        show_end(json, d ? "_back" : "", &r[d]);
    }
    dnet_json_int(json, "width", r[0].lanes);
    dnet_json_string(json, "speed", dnet_switches_speed_name(r[0].lane_mbps));
    dnet_json_int(json, "downed", r[0].downed);
    dnet_json_bool(json, "cut", down);
    dnet_json_end_object(json);
}

/* Both directions of a link: first from the end that is named first. */
static void show_link(dnet_json_t *json, const dnet_network_t *n, int l)
{
    const dnet_topo_t *t = n->fabric->topo;
    const dnet_topo_link_t *link = &t->link[l];
    bool down = atomic_load_explicit(&n->switches.down[l], memory_order_relaxed);
    const dnet_switches_reading_t r[2] = {dnet_switches_read(&n->switches, 2 * l),
                                          dnet_switches_read(&n->switches, 2 * l + 1)};
    if (json) {
        show_link_json(json, t, l, down, r);
        return;
    }
    printf("  %16s %4d  %16s %4d  %-4s %12" PRIu64 " %12" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n",
           t->sw[link->sw[0]].name, link->port[0], t->sw[link->sw[1]].name, link->port[1],
           down ? "cut" : "", r[0].packets, r[1].packets, r[0].bytes, r[1].bytes);
    if (r[0].lanes != DNET_SWITCHES_LANES || r[0].lane_mbps != DNET_SWITCHES_LANE_MBPS ||
        r[0].symbol + r[1].symbol + r[0].receive + r[1].receive > 0)
        printf("      degraded: %" PRIu32 "x %s, symbol errors %" PRIu32 " and back %" PRIu32
               ", receive errors %" PRIu32 " and back %" PRIu32 "\n",
               r[0].lanes, dnet_switches_speed_name(r[0].lane_mbps), r[0].symbol, r[1].symbol,
               r[0].receive, r[1].receive);
}

static void show_links(dnet_json_t *json, const dnet_network_t *n)
{
    if (json)
        dnet_json_array(json, "link");
    else
        printf("             from port                to port           packets         back"
               "          bytes           back\n");
    for (int l = 0; l < n->fabric->topo->n_links; l++)
        show_link(json, n, l);
    if (json)
        dnet_json_end_array(json);
}

bool show_cluster_network(dnet_json_t *json, const dnet_cluster_t *c, bool links)
{
    dnet_network_t n;
    dnet_status_t status = dnet_network_take(c, false, &n);
    if (status != DNET_OK)
        return status == DNET_NOT_FOUND;
    if (json)
        dnet_json_object(json, "network");
    show_network(json, n.fabric);
    if (links)
        show_links(json, &n);
    if (json)
        dnet_json_end_object(json);
    bool good = dnet_verdict_good(&n.fabric->verdict);
    dnet_network_leave(&n);
    return good;
}
