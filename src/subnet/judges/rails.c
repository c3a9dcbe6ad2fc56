/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flows on rails (rails.h).  A flow's slow-down j on a rail is the largest number of flows on one
 * of its links, times that link's slowness; its server links carry one flow each.
 */
#include "subnet/judges/rails.h"

#include <stdlib.h>
#include <string.h>

dnet_status_t dnet_rail_init(dnet_rail_t *rail, const dnet_topo_t *t, const dnet_tables_t *tables)
{
    size_t channels = (size_t) dnet_topo_channels(t);
    *rail = (dnet_rail_t){.topo = t, .tables = tables};
    rail->load = dnet_subnet_alloc(channels, sizeof(int));
    rail->slowness = dnet_subnet_alloc(channels, sizeof(double));
    if (!rail->load || !rail->slowness) {
        dnet_rail_free(rail);
        return DNET_ERR_NO_MEMORY;
    }
    for (size_t c = 0; c < channels; c++)
        rail->slowness[c] = 1;
    return DNET_OK;
}

void dnet_rail_free(dnet_rail_t *rail)
{
    free(rail->load);
    free(rail->slowness);
    rail->load = NULL;
    rail->slowness = NULL;
}

void dnet_rail_degrade(dnet_rail_t *rail, int link, double rate)
{
    rail->slowness[2 * link] = rail->slowness[2 * link + 1] = 1 / rate;
}

/* Next channel of the way to server b, or NONE at the end. */
static int step(const dnet_rail_t *rail, int s, int b)
{
    int c, port = dnet_tables_row(rail->tables, s)[b];
    return dnet_topo_port(rail->topo, s, port, &c) == DNET_PORT_CHANNEL ? c : DNET_TOPO_NONE;
}

static void add_flow(dnet_rail_t *rail, int a, int b)
{
    int s = rail->topo->host[a].sw;
    for (int c; (c = step(rail, s, b)) != DNET_TOPO_NONE; s = dnet_topo_head(rail->topo, c))
        rail->load[c]++;
}

static double slow_down(const dnet_rail_t *rail, int a, int b)
{
    double j = 1;
    int s = rail->topo->host[a].sw;
    for (int c; (c = step(rail, s, b)) != DNET_TOPO_NONE; s = dnet_topo_head(rail->topo, c))
        if (rail->load[c] * rail->slowness[c] > j)
            j = rail->load[c] * rail->slowness[c];
    return j;
}

static void clear(dnet_rail_t *rail)
{
    memset(rail->load, 0, (size_t) dnet_topo_channels(rail->topo) * sizeof(int));
}

static double flow_bandwidth(dnet_rail_t rail[2], int a, int b, dnet_stripe_t stripe)
{
    double j1 = slow_down(&rail[0], a, b), j2 = slow_down(&rail[1], a, b);
    switch (stripe) {
        case DNET_STRIPE_AVERAGED:
            return 4 * DNET_RAILS_GBYTES / (j1 + j2);
        case DNET_STRIPE_SPLIT:
            return 2 * DNET_RAILS_GBYTES / (j1 > j2 ? j1 : j2);
        case DNET_STRIPE_ADAPTIVE:
            return DNET_RAILS_GBYTES / j1 + DNET_RAILS_GBYTES / j2;
    }
    return 0;
}

double dnet_rails_random_pairs(dnet_rail_t rail[2], int nodes, dnet_stripe_t stripe,
                               dnet_rng_t *rng, int *order, double *mean)
{
    double worst = 1e9, sum = 0;
    int paired = nodes / 2 * 2;
    for (int i = 0; i < nodes; i++)
        order[i] = i;
    dnet_rng_shuffle(rng, order, nodes);
    for (int r = 0; r < 2; r++) {
        clear(&rail[r]);
        for (int i = 0; i < paired; i++)
            add_flow(&rail[r], order[i], order[i ^ 1]);
    }
    for (int i = 0; i < paired; i++) {
        double b = flow_bandwidth(rail, order[i], order[i ^ 1], stripe);
        worst = b < worst ? b : worst;
        sum += b;
    }
    if (mean)
        *mean = sum / paired;
    return worst;
}

double dnet_rails_alltoall(dnet_rail_t rail[2], int nodes, int phases, dnet_stripe_t stripe,
                           double *unsynchronised)
{
    double time = 0, flow_time = 0;
    for (int p = 0; p < phases; p++) {
        int shift = 1 + (int) ((long) p * (nodes - 1) / phases);
        double worst = 1e9;
        for (int r = 0; r < 2; r++) {
            clear(&rail[r]);
            for (int i = 0; i < nodes; i++)
                add_flow(&rail[r], i, (i + shift) % nodes);
        }
        for (int i = 0; i < nodes; i++) {
            double b = flow_bandwidth(rail, i, (i + shift) % nodes, stripe);
            worst = b < worst ? b : worst;
            flow_time += 1 / b / nodes;
        }
        time += 1 / worst;
    }
    *unsynchronised = phases / flow_time;
    return phases / time;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

dnet_status_t dnet_rails_bisection(dnet_rail_t *rail, int nodes, int patterns, uint64_t seed,
                                   dnet_bisection_t *out)
{
    int *order = dnet_subnet_alloc((size_t) nodes, sizeof(int)), half = nodes / 2;
    double *means = dnet_subnet_alloc((size_t) patterns, sizeof(double));
    dnet_rng_t rng = {seed};
    *out = (dnet_bisection_t){0};
    if (!order || !means) {
        free(order);
        free(means);
        return DNET_ERR_NO_MEMORY;
    }
    for (int p = 0; p < patterns; p++) {
        double worst = 1;
        for (int i = 0; i < nodes; i++)
            order[i] = i;
        dnet_rng_shuffle(&rng, order, nodes);
        clear(rail);
        for (int i = 0; i < half; i++)
            add_flow(rail, order[i], order[half + i]);
        for (int i = 0; i < half; i++) {
            double b = 1 / slow_down(rail, order[i], order[half + i]);
            worst = b < worst ? b : worst;
            means[p] += b / half;
        }
        out->mean += means[p] / patterns;
        out->worst += worst / patterns;
    }
    qsort(means, (size_t) patterns, sizeof(double), by_size);
    out->p5 = means[patterns * 5 / 100];
    out->p50 = means[patterns / 2];
    out->p95 = means[patterns * 95 / 100];
    free(order);
    free(means);
    return DNET_OK;
}
