/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet path: the route between two servers, turn by turn.
 */
#include "subnet/engines/engines.h"
#include "tools/subnet/subnet.h"

#include "common/log.h"

typedef struct {
    subnet_net_t net;
    subnet_engine_t engine;
} options_t;

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    SUBNET_ENGINE_OPTIONS(options_t),
    {NULL},
};

/* Its switch or its link is out of service: no packet leaves or reaches it. */
static bool is_cut_off(const dnet_topo_t *t, int host)
{
    if (!t->host[host].down && !t->sw[t->host[host].sw].down)
        return false;
    printf("%s is cut off: its %s is out of service\n", t->host[host].name,
           t->host[host].down ? "link" : "switch");
    return true;
}

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS, SUBNET_ENGINE_DEFAULTS};
    dnet_topo_t *t = NULL;
    dnet_traffic_t tr = {0};
    dnet_routing_t r = {0};
    const dnet_engine_t *engine = NULL;
    if (!tool_parse(&subnet_path, &argc, &argv, &o) || !(engine = dnet_engine_find(o.engine.name)))
        return TOOL_USAGE;
    o.net.quiet = true;
    dnet_status_t st = subnet_load(&o.net, &t);
    int src = st ? 0 : dnet_topo_find_host(t, argv[0]);
    int dst = st ? 0 : dnet_topo_find_host(t, argv[1]);
    if (!st && (src == DNET_TOPO_NONE || dst == DNET_TOPO_NONE)) {
        dnet_error("path: no server %s in %s", argv[src != DNET_TOPO_NONE], t->name);
        st = DNET_ERR_ARGUMENT;
    }
    if (!st)
        st = subnet_traffic(&o.engine, t, &tr);
    if (!st) {
        dnet_route_options_t opt = subnet_route_options(&o.engine, o.net.seed, &tr);
        st = dnet_route(t, engine, &opt, NULL, &r);
    }
    int rc = subnet_exit(st);
    if (!st && (is_cut_off(t, src) || is_cut_off(t, dst) ||
                !dnet_tables_explain(r.tables, src, dst, stdout)))
        rc = TOOL_BAD;
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_topo_free(t);
    return rc;
}

const tool_command_t subnet_path = {
    .name = "path",
    .args = "SERVER SERVER",
    .args_least = 2,
    .args_most = 2,
    .summary = "explain the route between two servers turn by turn",
    .options = options,
    .run = run,
};
