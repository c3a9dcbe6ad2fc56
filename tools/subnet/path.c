/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet path: the route between two servers, turn by turn.
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"

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
