/* SPDX-License-Identifier: BSD-3-Clause
 *
 * minhop: any shortest path, all turns allowed; balanced by destinations per port, not free of
 * deadlock [MR §3.1].
 */
#include "subnet/engines/engines.h"

static dnet_status_t turns(const dnet_topo_t *t, const dnet_route_options_t *opt,
                           const dnet_weights_t *w, dnet_routing_t *r)
{
    (void) opt;
    (void) w;
    return dnet_turns_new(t, true, &r->turns);
}

static dnet_status_t tables(const dnet_topo_t *t, const dnet_route_options_t *opt,
                            dnet_routing_t *r)
{
    return dnet_tables_from_turns(t, opt, DNET_BALANCE_PORT, r);
}

const dnet_engine_t dnet_engine_minhop = {
    .name = "minhop",
    .summary = "any shortest path; may deadlock",
    .turns = turns,
    .tables = tables,
};
