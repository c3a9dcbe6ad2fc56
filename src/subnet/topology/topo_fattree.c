/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fat trees: one tree of two or three stages by switch radix, leaf-spine networks of the address
 * assignment paper [LID Table 3], TSUBAME2.0's rail [MR §1], and two equal three-stage trees joined
 * at the top, middle or bottom stage [TA §3, §5.3].
 *
 * Three stages, switches with 2k ports: pod q has k edge and k aggregation switches; aggregation
 * switch (q, g) reaches the k cores of group g.  Group g with its 2k aggregation and k core
 * switches is one director, as such trees are built in practice [TA §3.1.1, Fig. 5].
 */
#include "subnet/topology/topo_gen.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

/* First switch numbers of one three-stage tree. */
typedef struct tree3 {
    int k, pods, edge, agg, core;
} tree3_t;

static void place(dnet_topo_t *t, int s, int tree, int level, int group, int index)
{
    if (s == DNET_TOPO_NONE)
        return;
    t->sw[s].tree = tree;
    t->sw[s].level = level;
    t->sw[s].group = group;
    t->sw[s].index = index;
}

static int named_switch(dnet_topo_t *t, const char *prefix, const char *stage, int number,
                        int ports)
{
    char name[48];
    snprintf(name, sizeof(name), "%s%s%04d", prefix, stage, number + 1);
    return dnet_topo_add_switch(t, name, ports);
}

/* One tree; `extra` ports per switch of each stage are left for joining it to another. */
static tree3_t add_tree3(dnet_topo_t *t, const char *prefix, int tree, int k, int pods,
                         const int extra[3])
{
    tree3_t b = {.k = k, .pods = pods, .edge = t->n_switches};
    for (int e = 0; e < pods * k; e++)
        place(t, named_switch(t, prefix, "edge", e, 2 * k + extra[0]), tree, 0, e / k, e % k);
    b.agg = t->n_switches;
    for (int q = 0; q < pods; q++)
        for (int g = 0; g < k; g++)
            place(t, named_switch(t, prefix, "agg", q * k + g, 2 * k + extra[1]), tree, 1, g, q);
    b.core = t->n_switches;
    for (int c = 0; c < k * k; c++)
        place(t, named_switch(t, prefix, "core", c, pods + extra[2]), tree, 2, c / k, c % k);
    for (int e = 0; e < pods * k; e++)
        for (int j = 0; j < k; j++)
            dnet_topo_add_host(t, NULL, b.edge + e, j + 1);
    for (int e = 0; e < pods * k; e++)
        for (int g = 0; g < k; g++)
            dnet_topo_add_link(t, b.edge + e, k + g + 1, b.agg + e / k * k + g, e % k + 1);
    for (int q = 0; q < pods; q++)
        for (int g = 0; g < k; g++)
            for (int u = 0; u < k; u++)
                dnet_topo_add_link(t, b.agg + q * k + g, k + u + 1, b.core + g * k + u, q + 1);
    return b;
}

/*
 * Pods of the ends of the connecting link (director a of tree 1, director b of tree 2).  The
 * source's text does not give them; "half" is the wiring that its Table 2 confirms.
 */
static bool middle_pods(const char *placement, int k, int a, int b, int *pod1, int *pod2)
{
    if (strcmp(placement, "half") == 0) {
        *pod1 = b;
        *pod2 = a;
    } else if (strcmp(placement, "sum") == 0) {
        *pod1 = *pod2 = a + b;
    } else if (strcmp(placement, "all") == 0) {
        *pod1 = 2 * b + (a & 1);
        *pod2 = 2 * a + (b & 1);
    } else {
        return false;
    }
    *pod1 %= 2 * k;
    *pod2 %= 2 * k;
    return true;
}

static void join_middle(dnet_topo_t *t, const tree3_t *one, const tree3_t *two,
                        const char *placement)
{
    int k = one->k, pod1, pod2;
    for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++)
            if (middle_pods(placement, k, a, b, &pod1, &pod2))
                dnet_topo_add_link(t, one->agg + pod1 * k + a, 2 * k + 1, two->agg + pod2 * k + b,
                                   2 * k + 1);
}

dnet_status_t dnet_topo_gen_two_fat_trees(dnet_topo_t *t, const dnet_topo_args_t *args)
{
    int k = 1, unused;
    const char *stage = args->count > 1 ? args->word[1] : "middle";
    const char *placement = args->count > 2 ? args->word[2] : "half";
    while (2 * k * k * k < args->number[0])
        k++;
    if (args->count < 1 || 2 * k * k * k != args->number[0] || k < 2 || k > 32) {
        dnet_error("subnet: two-fat-trees: %d servers per tree; possible are 2*k^3: 16, 54, 128, "
                   "250, ..., 1024, ..., 8192, up to k = 32",
                   args->number[0]);
        return DNET_ERR_FORMAT;
    }
    int level = strcmp(stage, "bottom") == 0 ? 0 : strcmp(stage, "middle") == 0 ? 1 : 2;
    if (level == 2 && strcmp(stage, "top") != 0) {
        dnet_error("subnet: two-fat-trees: joined at '%s'; use top, middle or bottom", stage);
        return DNET_ERR_FORMAT;
    }
    if (!middle_pods(placement, k, 0, 0, &unused, &unused)) {
        dnet_error("subnet: two-fat-trees: placement '%s'; use half, sum or all", placement);
        return DNET_ERR_FORMAT;
    }
    int extra[3] = {0, 0, 0};
    extra[level] = 1; /* the port of the connecting link */
    tree3_t one = add_tree3(t, "a-", 0, k, 2 * k, extra);
    tree3_t two = add_tree3(t, "b-", 1, k, 2 * k, extra);
    if (level == 1)
        join_middle(t, &one, &two, placement);
    for (int i = 0; i < k * k && level == 2; i++)
        dnet_topo_add_link(t, one.core + i, 2 * k + 1, two.core + i, 2 * k + 1);
    for (int i = 0; i < k * k && level == 0; i++)
        dnet_topo_add_link(t, one.edge + 2 * i, 2 * k + 1, two.edge + 2 * i, 2 * k + 1);
    t->symmetric = true;
    return DNET_OK;
}

/* Leaves with their servers and one link to each spine; I/O servers on evenly spaced leaves,
 * numbered behind all others. */
static dnet_status_t add_leaf_spine(dnet_topo_t *t, int leaves, int spines, const int *nodes_of,
                                    int node_ports, int io_servers)
{
    for (int e = 0; e < leaves; e++)
        place(t, named_switch(t, "", "leaf", e, node_ports + spines + (io_servers > 0)), 0, 0, 0,
              e);
    for (int s = 0; s < spines; s++)
        place(t, named_switch(t, "", "spine", s, leaves), 0, 1, 0, s);
    for (int e = 0; e < leaves; e++)
        for (int j = 0; j < nodes_of[e]; j++)
            dnet_topo_add_host(t, NULL, e, spines + j + 1); /* uplinks first [LID Fig. 6] */
    for (int i = 0; i < io_servers; i++) {
        char name[32];
        snprintf(name, sizeof(name), "io%04d", i + 1);
        dnet_topo_add_host(t, name, i * leaves / io_servers, spines + node_ports + 1);
    }
    for (int e = 0; e < leaves; e++)
        for (int s = 0; s < spines; s++)
            dnet_topo_add_link(t, e, s + 1, leaves + s, e + 1);
    t->symmetric = true;
    return DNET_OK;
}

static dnet_status_t uniform_leaf_spine(dnet_topo_t *t, int leaves, int nodes, int spines)
{
    int *nodes_of = dnet_subnet_alloc((size_t) leaves, sizeof(int));
    if (!nodes_of)
        return DNET_ERR_NO_MEMORY;
    for (int e = 0; e < leaves; e++)
        nodes_of[e] = nodes;
    dnet_status_t st = add_leaf_spine(t, leaves, spines, nodes_of, nodes, 0);
    free(nodes_of);
    return st;
}

/*
 * A spine built of chips, as directors are: line chips with half of their ports outside, which the
 * leaves plug into one after the other, and as many fabric chips as have room for the other halves
 * [LID §2.6: 18 and 9 chips of 36 ports for 324].
 */
static void add_director(dnet_topo_t *t, int leaves, int spine, int radix)
{
    int half = radix / 2, lines = (leaves + half - 1) / half, fabrics = (lines + 1) / 2;
    int line = t->n_switches, fabric = line + lines;
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "spine%04d-", spine + 1);
    for (int i = 0; i < lines; i++)
        place(t, named_switch(t, prefix, "line", i, radix), 0, 1, spine, i);
    for (int i = 0; i < fabrics; i++)
        place(t, named_switch(t, prefix, "fabric", i, radix), 0, 2, spine, i);
    for (int e = 0; e < leaves; e++)
        dnet_topo_add_link(t, e, spine + 1, line + e / half, e % half + 1);
    for (int i = 0; i < lines * half; i++)
        dnet_topo_add_link(t, line + i / half, half + i % half + 1, fabric + i % fabrics, 0);
}

/* Leaves whose spines are directors of chips. */
static dnet_status_t leaf_director(dnet_topo_t *t, int leaves, int nodes, int spines, int radix)
{
    if (radix < 4 || radix % 2 || radix > 64 || leaves > radix * radix / 2) {
        dnet_error("subnet: leaf-spine: spines of chips with %d ports for %d leaves; use an even "
                   "number of 4..64 ports, and at most half their square of leaves",
                   radix, leaves);
        return DNET_ERR_FORMAT;
    }
    for (int e = 0; e < leaves; e++)
        place(t, named_switch(t, "", "leaf", e, nodes + spines), 0, 0, 0, e);
    for (int e = 0; e < leaves; e++)
        for (int j = 0; j < nodes; j++)
            dnet_topo_add_host(t, NULL, e, spines + j + 1);
    for (int s = 0; s < spines; s++)
        add_director(t, leaves, s, radix);
    t->symmetric = true;
    return DNET_OK;
}

dnet_status_t dnet_topo_gen_leaf_spine(dnet_topo_t *t, const dnet_topo_args_t *args)
{
    const int *n = args->number;
    if (args->count < 3 || n[0] < 1 || n[1] < 1 || n[2] < 1 || n[0] > 4096 || n[1] > 254 ||
        n[2] > 254) {
        dnet_error("subnet: leaf-spine needs LEAVES:NODES:SPINES[:CHIP-PORTS], each at least 1, at "
                   "most 4096 leaves and 254 nodes or spines per leaf");
        return DNET_ERR_FORMAT;
    }
    if (args->count > 3)
        return leaf_director(t, n[0], n[1], n[2], n[3]);
    return uniform_leaf_spine(t, n[0], n[1], n[2]);
}

dnet_status_t dnet_topo_gen_fat_tree(dnet_topo_t *t, const dnet_topo_args_t *args)
{
    int stages = args->number[0], radix = args->number[1];
    int pods = args->count > 2 ? args->number[2] : radix;
    if (args->count < 2 || (stages != 2 && stages != 3) || radix < 4 || radix % 2 || radix > 64) {
        dnet_error("subnet: fat-tree needs STAGES:RADIX[:PODS], 2 or 3 stages of switches with an "
                   "even radix 4..64");
        return DNET_ERR_FORMAT;
    }
    if (pods < 2 || pods > radix) {
        dnet_error("subnet: fat-tree: %d pods; 2..%d fit the radix", pods, radix);
        return DNET_ERR_FORMAT;
    }
    if (stages == 2)
        return uniform_leaf_spine(t, pods, radix / 2, radix / 2);
    add_tree3(t, "", 0, radix / 2, pods, (int[3]){0, 0, 0});
    t->symmetric = true;
    return DNET_OK;
}

/*
 * One rail of TSUBAME2.0: 1,408 nodes at most, 14 or 16 nodes per edge switch, two stages with full
 * bisection.  88 edge switches, the last 6 with 14 nodes (1,396), and 18 spines are our choice for
 * what the source leaves open.
 */
dnet_status_t dnet_topo_gen_tsubame(dnet_topo_t *t, const dnet_topo_args_t *args)
{
    int edges = args->count > 0 ? args->number[0] : 88;
    int uplinks = args->count > 1 ? args->number[1] : 18;
    int short_edges = args->count > 2 ? args->number[2] : 6;
    int io_servers = args->count > 3 ? args->number[3] : 0;
    if (io_servers < 0 || io_servers > edges || edges < 1 || edges > 1024 || uplinks < 1 ||
        uplinks > 128 || short_edges < 0 || short_edges > edges) {
        dnet_error("subnet: tsubame[:EDGES[:UPLINKS[:EDGES-WITH-14[:IO-SERVERS]]]]: 1..1024 "
                   "edges, 1..128 uplinks, no more edges with 14 nodes or I/O servers than edges");
        return DNET_ERR_FORMAT;
    }
    int *nodes_of = dnet_subnet_alloc((size_t) edges, sizeof(int));
    if (!nodes_of)
        return DNET_ERR_NO_MEMORY;
    for (int e = 0; e < edges; e++)
        nodes_of[e] = e < edges - short_edges ? 16 : 14;
    dnet_status_t st = add_leaf_spine(t, edges, uplinks, nodes_of, 16, io_servers);
    free(nodes_of);
    return st;
}
