/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turn sets, turn weights and the traffic they are made from [TA §4.1.2, §5.1].
 */
#include "subnet/routing/turns.h"

#include "common/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void allow_all(dnet_turns_t *turns)
{
    const dnet_topo_t *t = turns->topo;
    for (int s = 0; s < t->n_switches; s++)
        for (int i = 0; i < dnet_topo_degree(t, s); i++)
            for (int j = 0; j < dnet_topo_degree(t, s); j++)
                if (i != j)
                    dnet_turns_row(turns, s, i)[j >> 6] |= (uint64_t) 1 << (j & 63);
}

dnet_status_t dnet_turns_new(const dnet_topo_t *t, bool allowed, dnet_turns_t **out)
{
    dnet_turns_t *turns = dnet_subnet_alloc(1, sizeof(*turns));
    if (!turns)
        return DNET_ERR_NO_MEMORY;
    turns->topo = t;
    turns->start = dnet_subnet_alloc((size_t) t->n_switches + 1, sizeof(size_t));
    turns->words = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    if (turns->start && turns->words) {
        for (int s = 0; s < t->n_switches; s++) {
            int degree = dnet_topo_degree(t, s);
            turns->words[s] = (degree + 63) / 64;
            turns->start[s + 1] = turns->start[s] + (size_t) degree * (size_t) turns->words[s];
        }
        turns->bits = dnet_subnet_alloc(turns->start[t->n_switches], sizeof(uint64_t));
    }
    if (!turns->bits) {
        dnet_turns_free(turns);
        return DNET_ERR_NO_MEMORY;
    }
    if (allowed)
        allow_all(turns);
    *out = turns;
    return DNET_OK;
}

void dnet_turns_free(dnet_turns_t *turns)
{
    if (!turns)
        return;
    free(turns->start);
    free(turns->words);
    free(turns->bits);
    free(turns);
}

static void set_bit(uint64_t *row, int j, bool value)
{
    uint64_t bit = (uint64_t) 1 << (j & 63);
    row[j >> 6] = value ? row[j >> 6] | bit : row[j >> 6] & ~bit;
}

void dnet_turns_set(dnet_turns_t *turns, int s, int i, int j, bool allowed)
{
    set_bit(dnet_turns_row(turns, s, i), j, allowed);
    set_bit(dnet_turns_row(turns, s, j), i, allowed);
}

long dnet_turns_count(const dnet_turns_t *turns, long *prohibited)
{
    const dnet_topo_t *t = turns->topo;
    long pairs = 0, allowed = 0;
    for (int s = 0; s < t->n_switches; s++) {
        long d = dnet_topo_degree(t, s);
        pairs += d * (d - 1) / 2;
    }
    for (size_t i = 0; i < turns->start[t->n_switches]; i++)
        allowed += __builtin_popcountll(turns->bits[i]);
    *prohibited = pairs - allowed / 2;
    return pairs;
}

/* Rates */

dnet_status_t dnet_traffic_init(dnet_traffic_t *tr, const dnet_topo_t *t, dnet_traffic_kind_t kind,
                                double between)
{
    *tr = (dnet_traffic_t){.kind = kind, .between = between, .topo = t};
    for (int s = 0; s < t->n_switches; s++)
        if (t->sw[s].tree >= tr->n_trees)
            tr->n_trees = t->sw[s].tree + 1;
    tr->tree_hosts = dnet_subnet_alloc((size_t) tr->n_trees, sizeof(int));
    if (!tr->tree_hosts)
        return DNET_ERR_NO_MEMORY;
    for (int s = 0; s < t->n_switches; s++)
        tr->tree_hosts[t->sw[s].tree] += t->sw[s].hosts;
    for (int l = 0; l < t->n_links; l++)
        tr->connecting += t->sw[t->link[l].sw[0]].tree != t->sw[t->link[l].sw[1]].tree;
    return DNET_OK;
}

void dnet_traffic_free(dnet_traffic_t *tr)
{
    free(tr->matrix);
    free(tr->tree_hosts);
    tr->matrix = NULL;
    tr->tree_hosts = NULL;
}

static dnet_status_t read_rate(dnet_traffic_t *tr, char *line, const char *path, int number,
                               long *rates)
{
    const dnet_topo_t *t = tr->topo;
    char src[128], dst[128];
    double rate;
    line[strcspn(line, "#\n")] = '\0';
    if (line[strspn(line, " \t\r")] == '\0')
        return DNET_OK;
    if (sscanf(line, "%127s %127s %lf", src, dst, &rate) != 3 || !(rate >= 0) || isinf(rate)) {
        dnet_error(
            "subnet: %s:%d: expected 'source destination rate' with a rate of at least 0; a name with blanks as its GUID",
            path, number);
        return DNET_ERR_FORMAT;
    }
    int a = dnet_topo_find_host(t, src), b = dnet_topo_find_host(t, dst);
    if (a == DNET_TOPO_NONE || b == DNET_TOPO_NONE) {
        dnet_error("subnet: %s:%d: no server %s in %s", path, number,
                   a == DNET_TOPO_NONE ? src : dst, t->name);
        return DNET_ERR_FORMAT;
    }
    tr->matrix[(size_t) t->host[a].sw * (size_t) t->n_switches + (size_t) t->host[b].sw] += rate;
    ++*rates;
    return DNET_OK;
}

dnet_status_t dnet_traffic_read(dnet_traffic_t *tr, const dnet_topo_t *t, const char *path)
{
    dnet_status_t st = dnet_traffic_init(tr, t, DNET_TRAFFIC_MATRIX, 0);
    if (st)
        return st;
    FILE *in = dnet_subnet_open(path);
    if (!in) {
        dnet_traffic_free(tr);
        return DNET_ERR_SYSTEM;
    }
    tr->matrix = dnet_subnet_alloc((size_t) t->n_switches * (size_t) t->n_switches, sizeof(double));
    st = tr->matrix ? DNET_OK : DNET_ERR_NO_MEMORY;
    char line[512];
    long rates = 0;
    for (int number = 1; !st && fgets(line, sizeof(line), in); number++)
        st = read_rate(tr, line, path, number, &rates);
    st = dnet_subnet_close(in, path, st);
    if (!st && rates == 0) {
        dnet_error("subnet: %s: no traffic in it; expected lines 'source destination rate'", path);
        st = DNET_ERR_FORMAT;
    }
    if (st)
        dnet_traffic_free(tr);
    return st;
}

double dnet_traffic_rate(const dnet_traffic_t *tr, int a, int b)
{
    const dnet_topo_t *t = tr->topo;
    const dnet_topo_switch_t *sa = &t->sw[a], *sb = &t->sw[b];
    if (a == b || sa->down || sb->down)
        return 0;
    if (tr->kind == DNET_TRAFFIC_MATRIX)
        return tr->matrix[(size_t) a * (size_t) t->n_switches + (size_t) b];
    double pairs = (double) sa->hosts * sb->hosts;
    if (pairs == 0)
        return 0;
    bool inside = sa->tree == sb->tree;
    switch (tr->kind) {
        case DNET_TRAFFIC_UNIFORM:
            return pairs / (t->n_hosts - 1);
        case DNET_TRAFFIC_INSIDE:
            return inside ? pairs / (tr->tree_hosts[sa->tree] - 1) : 0;
        case DNET_TRAFFIC_BETWEEN: {
            double n = tr->tree_hosts[sa->tree], others = t->n_hosts - n;
            return inside ? 0 : pairs * tr->connecting / n / others;
        }
        case DNET_TRAFFIC_WEIGHTED:
            return inside ? pairs : pairs * tr->between;
        case DNET_TRAFFIC_MATRIX:
            break;
    }
    return 0;
}

/* Weights */

dnet_status_t dnet_weights_new(const dnet_topo_t *t, dnet_weights_t **out)
{
    dnet_weights_t *w = dnet_subnet_alloc(1, sizeof(*w));
    if (!w)
        return DNET_ERR_NO_MEMORY;
    w->topo = t;
    w->start = dnet_subnet_alloc((size_t) t->n_switches + 1, sizeof(size_t));
    if (w->start) {
        for (int s = 0; s < t->n_switches; s++) {
            size_t d = (size_t) dnet_topo_degree(t, s);
            w->start[s + 1] = w->start[s] + d * d;
        }
        w->w = dnet_subnet_alloc(w->start[t->n_switches], sizeof(double));
    }
    if (!w->w) {
        dnet_weights_free(w);
        return DNET_ERR_NO_MEMORY;
    }
    *out = w;
    return DNET_OK;
}

void dnet_weights_free(dnet_weights_t *w)
{
    if (!w)
        return;
    free(w->start);
    free(w->w);
    free(w);
}

bool dnet_weights_equal(double a, double b)
{
    double big = a > b ? a : b, small = a > b ? b : a;
    return big - small <= 1e-9 * big;
}
