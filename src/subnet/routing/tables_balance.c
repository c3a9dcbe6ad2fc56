/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What links carry, in parts of their capacities, and what a way over them pays, while tables are
 * made (tables_build.h).  Loads inside trees and across are kept apart, as they are judged.
 */
#include "subnet/routing/tables_build.h"

#include <string.h>

dnet_load_t dnet_build_price(const dnet_build_t *b, int place, dnet_load_t load)
{
    dnet_load_t price;
    for (int k = 0; k < 2; k++)
        price.of[k] =
            (float) (b->factor[place] *
                     (b->refining ? dnet_build_steep(load.of[k] / b->most.of[k]) : load.of[k]));
    return price;
}

void dnet_build_set_factor(dnet_build_t *b, int s, int place)
{
    const dnet_topo_t *t = b->t;
    b->factor[place] = (float) t->link[t->adj[place] >> 1].cost;
    if (b->balance == DNET_BALANCE_TREE && t->symmetric && !b->mixed_rates && !b->refining &&
        b->factor[place] == 1 && t->sw[b->near[place]].level < t->sw[s].level)
        b->factor[place] = 0;
}

void dnet_build_flows(dnet_build_t *b, const dnet_traffic_t *tr)
{
    double share = 1.0 / b->t->sw[b->dest].hosts / b->lids;
    memset(b->flow, 0, (size_t) b->t->n_switches * sizeof(*b->flow));
    for (int i = b->labelled - 1; i > 0; i--) {
        int s = b->order[i];
        if (b->balance == DNET_BALANCE_PORT) {
            b->flow[s].of[0] = 1;
            continue;
        }
        dnet_loads_t *on = &b->flow[b->head[b->next[s]]];
        if (b->t->sw[s].hosts)
            b->flow[s].of[b->across[s]] += share * dnet_traffic_rate(tr, s, b->dest);
        on->of[0] += b->flow[s].of[0];
        on->of[1] += b->flow[s].of[1];
    }
}

void dnet_build_put_load(dnet_build_t *b, const dnet_traffic_t *tr, double sign)
{
    dnet_build_flows(b, tr);
    for (int i = b->labelled - 1; i > 0; i--) {
        int s = b->order[i], place = b->place[b->next[s]];
        for (int k = 0; k < 2; k++)
            b->load[place].of[k] += (float) (sign * b->flow[s].of[k]) * b->part[place];
        b->price[place] = dnet_build_price(b, place, b->load[place]);
    }
}

void dnet_build_price_links(dnet_build_t *b)
{
    const dnet_topo_t *t = b->t;
    b->most = (dnet_loads_t){{1e-9, 1e-9}};
    for (int i = 0; i < dnet_topo_channels(t); i++)
        for (int k = 0; k < 2; k++)
            if (b->load[i].of[k] > b->most.of[k])
                b->most.of[k] = b->load[i].of[k];
    for (int s = 0; s < t->n_switches; s++)
        for (int i = t->adj_start[s]; i < t->adj_start[s + 1]; i++) {
            dnet_build_set_factor(b, s, i);
            b->price[i] = dnet_build_price(b, i, b->load[i]);
        }
}
