/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet draw: a network as an SVG picture, with what its links carry: of an emulated cluster
 * what they have carried, else what the tables of an engine put on them.
 */
#include "subnet/engines/engines.h"
#include "tools/common/clusters.h"
#include "tools/subnet/subnet.h"

#include <stdlib.h>

typedef struct {
    subnet_net_t net;
    subnet_engine_t engine;
    const char *cluster, *links, *output;
    bool load;
} options_t;

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    SUBNET_ENGINE_OPTIONS(options_t),
    TOOL_OPTION(options_t, cluster, "cluster", TOOL_TEXT, "NAME", "of this emulated cluster"),
    TOOL_OPTION(options_t, links, "links", TOOL_TEXT, "FILE",
                "what links run at and could, output of iblinkinfo -l"),
    TOOL_OPTION(options_t, load, "load", TOOL_FLAG, NULL,
                "what links carry: of a cluster so far, else by the engine's tables"),
    TOOL_OPTION(options_t, output, "output", TOOL_TEXT, "FILE", "where to write (standard output)",
                .letter = 'o'),
    {NULL},
};

static dnet_status_t write_picture(const options_t *o, const dnet_topo_t *t,
                                   const dnet_topo_load_t *load)
{
    FILE *out = subnet_output(o->output);
    if (!out)
        return DNET_ERR_SYSTEM;
    return subnet_output_close(out, o->output, dnet_topo_draw(t, load, out));
}

/* What the engine's tables put on links when every server sends to every other alike. */
static dnet_status_t routed_load(const options_t *o, const dnet_topo_t *t, double *of)
{
    dnet_traffic_t assumed = {0}, uniform = {0};
    dnet_routing_t r = {0};
    dnet_verdict_t verdict;
    dnet_status_t st = subnet_traffic(&o->engine, t, &assumed);
    if (!st)
        st = dnet_traffic_init(&uniform, t, DNET_TRAFFIC_UNIFORM, 0);
    if (!st) {
        dnet_route_options_t with = subnet_route_options(&o->engine, o->net.seed, &assumed);
        st = dnet_route(t, dnet_engine_find(o->engine.name), &with, NULL, &r);
    }
    if (!st)
        st = dnet_verify(&(dnet_judged_t){.tables = r.tables,
                                          .traffic = o->engine.matrix ? &assumed : &uniform,
                                          .load = of},
                         &verdict);
    dnet_routing_free(&r);
    dnet_traffic_free(&assumed);
    dnet_traffic_free(&uniform);
    return st;
}

static dnet_status_t draw_file(const options_t *o)
{
    dnet_topo_t *t;
    double *of = NULL;
    dnet_status_t st = subnet_load(&o->net, &t);
    if (st)
        return st;
    if (o->links)
        st = dnet_health_read_links(t, o->links);
    if (!st && o->load) {
        of = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(*of));
        st = of ? routed_load(o, t, of) : DNET_ERR_NO_MEMORY;
    }
    const dnet_topo_load_t load = {of, "of what a server sends"};
    if (!st)
        st = write_picture(o, t, of ? &load : NULL);
    free(of);
    dnet_topo_free(t);
    return st;
}

static int draw_cluster(const options_t *o)
{
    dnet_network_t n;
    int code = tool_network_open(o->cluster, false, &n);
    if (code)
        return code;
    size_t channels = (size_t) dnet_topo_channels(n.fabric->topo);
    dnet_counters_t *counters = dnet_subnet_alloc(channels, sizeof(*counters));
    double *of = dnet_subnet_alloc(channels, sizeof(*of));
    dnet_status_t st = counters && of ? DNET_OK : DNET_ERR_NO_MEMORY;
    if (!st)
        dnet_network_counters(&n, counters);
    for (size_t c = 0; c < channels && !st; c++)
        of[c] = (double) dnet_switches_read(&n.switches, (int) c).bytes * 1e-6;
    const dnet_topo_load_t load = {of, "MB"};
    if (!st)
        st = write_picture(o, n.fabric->topo, o->load ? &load : NULL);
    free(counters);
    free(of);
    dnet_network_leave(&n);
    return subnet_exit(st);
}

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS, SUBNET_ENGINE_DEFAULTS};
    if (!tool_parse(&subnet_draw, &argc, &argv, &o) || (o.load && !dnet_engine_find(o.engine.name)))
        return TOOL_USAGE;
    o.net.quiet = true;
    if ((o.cluster != NULL) + (o.net.topology != NULL) != 1 || (o.links && o.cluster)) {
        tool_error("want --cluster NAME or --topology SPEC; --links goes with the latter");
        return TOOL_USAGE;
    }
    return o.cluster ? draw_cluster(&o) : subnet_exit(draw_file(&o));
}

const tool_command_t subnet_draw = {
    .name = "draw",
    .summary = "a picture of a network, its ports, loads and cuts, as SVG",
    .options = options,
    .run = run,
};
