/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The common path through the routing engines (routing.h).
 */
#include "subnet/routing/routing.h"
#include "subnet/routing/paths.h"

#include "common/log.h"

#include <stdlib.h>

dnet_status_t dnet_route_weights(const dnet_topo_t *t, const dnet_traffic_t *tr,
                                 dnet_weights_t **out)
{
    dnet_turns_t *all = NULL;
    dnet_weights_t *w = NULL;
    double *load = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(double));
    long unreached;
    dnet_status_t st = load ? dnet_turns_new(t, true, &all) : DNET_ERR_NO_MEMORY;
    if (!st)
        st = dnet_weights_new(t, &w);
    if (!st)
        st = dnet_paths_spread_all(all, tr, load, w, NULL, &unreached);
    if (!st && unreached)
        dnet_warn("subnet: %s: %ld pairs of switches cannot reach each other at all", t->name,
                  unreached);
    dnet_turns_free(all);
    free(load);
    if (st)
        dnet_weights_free(w);
    else
        *out = w;
    return st;
}

dnet_status_t dnet_route(const dnet_topo_t *t, const dnet_engine_t *engine,
                         const dnet_route_options_t *opt, const dnet_weights_t *w,
                         dnet_routing_t *r)
{
    dnet_weights_t *own = NULL;
    dnet_status_t st = DNET_OK;
    *r = (dnet_routing_t){.engine = engine->name, .lanes = 1, .root = DNET_TOPO_NONE};
    if (engine->needs_weights && !w) {
        st = dnet_route_weights(t, opt->traffic, &own);
        w = own;
    }
    if (!st && engine->turns)
        st = engine->turns(t, opt, w, r);
    if (!st && !(engine->turns && opt->no_tables))
        st = engine->tables(t, opt, r);
    dnet_weights_free(own);
    if (st)
        dnet_routing_free(r);
    return st;
}

void dnet_routing_free(dnet_routing_t *r)
{
    dnet_turns_free(r->turns);
    dnet_tables_free(r->tables);
    free(r->tree);
    dnet_lanes_free(r->sl);
    *r = (dnet_routing_t){.root = DNET_TOPO_NONE};
}
