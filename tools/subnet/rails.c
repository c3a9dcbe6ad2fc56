/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet rails: the TSUBAME2.0 experiment by simulation [MR §2, §4]: worst bandwidth of random
 * pairs over node counts for alike and for different engines on the two rails.
 */
#include "subnet/engines/engines.h"
#include "tools/subnet/rails.h"

#include "common/log.h"
#include "subnet/base/progress.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *topology, *json;
    int nodes, trials, sick;
    uint64_t seed;
} options_t;

static const tool_option_t options[] = {
    TOOL_OPTION(options_t, topology, "topology", TOOL_TEXT, "SPEC", "both rails (TSUBAME2.0's two)",
                .letter = 't'),
    TOOL_OPTION(options_t, nodes, "nodes", TOOL_INT, "N", "largest number of servers (1300)",
                .least = 2, .most = 65535),
    TOOL_OPTION(options_t, trials, "trials", TOOL_INT, "N",
                "random pairings for each number of nodes (20)", .least = 1, .most = 100000),
    TOOL_OPTION(options_t, sick, "sick", TOOL_INT, "N", "sick links of each rail, 0 to 64",
                .most = RAILS_SICK_MAX),
    TOOL_OPTION(options_t, seed, "seed", TOOL_U64, "N", "of everything random (1)",
                .most = UINT64_MAX),
    SUBNET_JSON_OPTION(options_t),
    {NULL},
};

const rails_setting_t rails_settings[RAILS_SETTINGS] = {
    {"minhop", {"minhop", "minhop"}, false}, {"updn", {"updn", "updn"}, false},
    {"ftree", {"ftree", "ftree"}, false},    {"updn2", {"updn", "updn"}, true},
    {"hetero", {"ftree", "dfsssp"}, true},
};

/* The i-th sick link: one uplink of an edge switch, another switch for each i.  NONE, logged: there
 * is none. */
static int sick_link(const dnet_topo_t *t, int i, uint64_t seed)
{
    dnet_rng_t rng = {seed};
    int *order = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int)), edges = 0, link;
    if (!order)
        return DNET_TOPO_NONE;
    for (int s = 0; s < t->n_switches; s++)
        if (t->sw[s].hosts && dnet_topo_degree(t, s))
            order[edges++] = s;
    if (edges == 0) {
        dnet_error("rails: %s has no link between switches that could be sick; leave --sick out",
                   t->name);
        free(order);
        return DNET_TOPO_NONE;
    }
    dnet_rng_shuffle(&rng, order, edges);
    int s = order[i % edges];
    link = t->adj[t->adj_start[s] + i % dnet_topo_degree(t, s)] >> 1;
    free(order);
    return link;
}

/* Flows are followed from switch to switch; one without a way would meet no other and look best. */
static dnet_status_t check_ways(const rails_setting_t *setting, const dnet_topo_t *t,
                                const dnet_tables_t *tables)
{
    if (tables->unrouted == 0 && dnet_topo_connected(t))
        return DNET_OK;
    dnet_error("rails: %s: on %s servers are without a way to others%s", setting->name, t->name,
               setting->repaired ? " where sick links are out of service; take fewer (--sick)"
                                 : "");
    return DNET_ERR_ARGUMENT;
}

static dnet_status_t route_rail(const rails_setting_t *setting, int i, const char *topology,
                                int sick, uint64_t seed, rails_t *rs)
{
    dnet_topo_t **t = &rs->topo[i];
    dnet_traffic_t tr = {0};
    dnet_status_t st = dnet_topo_make(topology, seed, t);
    int link[RAILS_SICK_MAX];
    for (int k = 0; k < sick && !st; k++) {
        link[k] = sick_link(*t, k, seed + (uint64_t) i);
        st = link[k] == DNET_TOPO_NONE ? DNET_ERR_ARGUMENT : DNET_OK;
    }
    for (int k = 0; k < sick && !st && setting->repaired; k++)
        st = dnet_topo_set_link(*t, link[k], true);
    if (!st)
        st = dnet_traffic_init(&tr, *t, DNET_TRAFFIC_UNIFORM, 0);
    if (!st) {
        dnet_route_options_t opt = {.seed = seed, .traffic = &tr, .lanes = 8};
        st = dnet_route(*t, dnet_engine_find(setting->engine[i]), &opt, NULL, &rs->routing[i]);
    }
    dnet_traffic_free(&tr);
    if (!st)
        st = check_ways(setting, *t, rs->routing[i].tables);
    if (!st)
        st = dnet_rail_init(&rs->rail[i], *t, rs->routing[i].tables);
    for (int k = 0; k < sick && !st && !setting->repaired; k++)
        dnet_rail_degrade(&rs->rail[i], link[k], RAILS_SICK_RATE);
    return st;
}

dnet_status_t rails_open(rails_t *rs, const rails_setting_t *setting, const char *const topology[2],
                         int sick, uint64_t seed)
{
    *rs = (rails_t){.setting = setting};
    for (int i = 0; i < 2; i++) {
        dnet_status_t st = route_rail(setting, i, topology[i], sick, seed, rs);
        if (st)
            return st;
    }
    return DNET_OK;
}

void rails_close(rails_t *rs)
{
    for (int i = 0; i < 2; i++) {
        dnet_rail_free(&rs->rail[i]);
        dnet_routing_free(&rs->routing[i]);
        dnet_topo_free(rs->topo[i]);
    }
}

dnet_status_t rails_sample(rails_t *rs, int nodes, int trials, uint64_t seed, dnet_stripe_t stripe,
                           rails_sample_t *out)
{
    int *order = dnet_subnet_alloc((size_t) nodes, sizeof(int));
    *out = (rails_sample_t){.lowest = 1e9};
    if (!order)
        return DNET_ERR_NO_MEMORY;
    for (int i = 0; i < trials; i++) {
        /* Pairings depend on node count and trial only: every setting meets the same ones. */
        dnet_rng_t rng = {seed + (uint64_t) nodes * 1000003u + (uint64_t) i};
        double worst = dnet_rails_random_pairs(rs->rail, nodes, stripe, &rng, order, NULL);
        out->mean += worst / trials;
        out->best = worst > out->best ? worst : out->best;
        out->lowest = worst < out->lowest ? worst : out->lowest;
        out->outliers += worst < 1.0;
    }
    free(order);
    return DNET_OK;
}

static dnet_status_t one_setting(const options_t *o, const rails_setting_t *setting,
                                 const char *const topology[2], double *large, dnet_json_t *j)
{
    rails_t rs;
    int large_counts = 0;
    dnet_status_t st = rails_open(&rs, setting, topology, o->sick, o->seed);
    *large = 0;
    printf("%s (%s / %s)\n", setting->name, setting->engine[0], setting->engine[1]);
    dnet_json_object(j, setting->name);
    dnet_json_array(j, "points");
    for (int n = o->nodes < 40 ? o->nodes : 40; n <= o->nodes && !st; n += 60) {
        rails_sample_t sample;
        double split, all, loose;
        st = rails_sample(&rs, n, o->trials, o->seed, DNET_STRIPE_AVERAGED, &sample);
        if (st)
            break;
        all = dnet_rails_alltoall(rs.rail, n, 32, DNET_STRIPE_AVERAGED, &loose);
        rails_sample_t halves;
        st = rails_sample(&rs, n, o->trials, o->seed, DNET_STRIPE_SPLIT, &halves);
        split = halves.mean;
        printf("  %5d nodes: worst pair %.2f GB/s mean, %.2f best, %.2f lowest; split %.2f; "
               "alltoall %.2f (%.2f loose)\n",
               n, sample.mean, sample.best, sample.lowest, split, all, loose);
        dnet_json_object(j, NULL);
        dnet_json_int(j, "nodes", n);
        dnet_json_number(j, "worst_mean", sample.mean);
        dnet_json_number(j, "worst_best", sample.best);
        dnet_json_number(j, "worst_lowest", sample.lowest);
        dnet_json_number(j, "worst_mean_split", split);
        dnet_json_number(j, "alltoall", all);
        dnet_json_number(j, "alltoall_unsynchronised", loose);
        dnet_json_end_object(j);
        if (n >= 600) {
            *large += sample.mean;
            large_counts++;
        }
    }
    dnet_json_end_array(j);
    *large = large_counts ? *large / large_counts : 0;
    dnet_json_number(j, "worst_mean_600_and_more", *large);
    dnet_json_end_object(j);
    rails_close(&rs);
    return st;
}

static int run(int argc, char **argv)
{
    options_t o = {.nodes = 1300, .trials = 20, .seed = 1};
    const char *topology[2] = {RAILS_FIRST, RAILS_SECOND};
    double large[RAILS_SETTINGS];
    dnet_json_t j;
    if (!tool_parse(&subnet_rails, &argc, &argv, &o))
        return TOOL_USAGE;
    dnet_progress_enable(false);
    if (o.topology)
        topology[0] = topology[1] = o.topology;
    dnet_topo_t *t;
    dnet_status_t st = dnet_topo_make(topology[0], o.seed, &t);
    if (st)
        return subnet_exit(st);
    if (o.nodes > t->n_hosts)
        o.nodes = t->n_hosts;
    if (o.nodes < 2) {
        dnet_error("rails: %s has %d servers; pairs take 2", t->name, t->n_hosts);
        st = DNET_ERR_ARGUMENT;
    }
    dnet_topo_free(t);
    if (st)
        return subnet_exit(st);
    st = dnet_json_open(&j, o.json);
    if (st)
        return subnet_exit(st);
    for (int i = 0; i < RAILS_SETTINGS && !st; i++)
        st = one_setting(&o, &rails_settings[i], topology, &large[i], &j);
    for (int i = 0; i + 1 < RAILS_SETTINGS && !st && large[0] > 0; i++)
        printf("hetero over %s at 600 nodes and more: %+.1f %%\n", rails_settings[i].name,
               100 * (large[RAILS_SETTINGS - 1] / large[i] - 1));
    if (dnet_json_close(&j) && !st)
        st = DNET_ERR_SYSTEM;
    return subnet_exit(st);
}

const tool_command_t subnet_rails = {
    .name = "rails",
    .summary = "simulate two rails with alike and with different engines",
    .options = options,
    .run = run,
};
