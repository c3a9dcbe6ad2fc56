/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The judge of multicast (multicast.h).
 */
#include "subnet/judges/multicast.h"

#include <stdlib.h>
#include <string.h>

typedef struct walk {
    const dnet_mcast_t *m;
    const dnet_topo_t *t;
    const dnet_lanes_t *lanes;
    int group;
    int *piece; /* [switch]: the one that its part of the group was found from, or NONE */
    int *came;  /* [switch]: channel by which it was found, or NONE */
    int *queue;
    bool found[DNET_MCAST_FAULTS]; /* of the group in hand */
    dnet_mcast_verdict_t *v;
} walk_t;

static bool has_ports(const walk_t *k, int s)
{
    static const uint64_t none[DNET_MCAST_WORDS];
    return memcmp(dnet_mcast_ports(k->m, k->group, s), none, sizeof(none)) != 0;
}

/* Is the channel out of its tail one of the group's? */
static bool carries(const walk_t *k, int c)
{
    return dnet_mcast_has(k->m, k->group, dnet_topo_tail(k->t, c), dnet_topo_out_port(k->t, c));
}

static void note(walk_t *k, int fault, int at, int port)
{
    if (k->v->example[fault].group == DNET_TOPO_NONE)
        k->v->example[fault] = (dnet_mcast_fault_t){k->group, at, port};
    k->v->faulty[fault] += !k->found[fault];
    k->found[fault] = true;
}

/* What a port of switch s leads to.  @return 1: a member */
static int look_behind(walk_t *k, int s, int port, int *queued)
{
    const dnet_topo_t *t = k->t;
    int c;
    dnet_port_kind_t kind = dnet_topo_port(t, s, port, &c);
    if (port == 0 || kind == DNET_PORT_HOST)
        return 1;
    if (kind == DNET_PORT_FREE) {
        note(k, DNET_MCAST_NO_LINK, s, port);
        return 0;
    }
    int u = dnet_topo_head(t, c);
    if (!carries(k, c ^ 1)) {
        note(k, DNET_MCAST_ONE_WAY, s, port);
    } else if (k->piece[u] == DNET_TOPO_NONE) {
        k->piece[u] = k->piece[s];
        k->came[u] = c;
        k->queue[(*queued)++] = u;
    } else if (k->came[s] != (c ^ 1) && k->came[u] != c) {
        note(k, DNET_MCAST_LOOP, s, port);
    }
    return 0;
}

/* The ports of a switch.  @return members there */
static int look_at(walk_t *k, int s, int *queued)
{
    const uint64_t *ports = dnet_mcast_ports(k->m, k->group, s);
    int members = 0;
    for (int w = 0; w < DNET_MCAST_WORDS; w++)
        for (uint64_t m = ports[w]; m; m &= m - 1)
            members += look_behind(k, s, 64 * w + __builtin_ctzll(m), queued);
    return members;
}

/* Faults of one group: its channels, both ways, are a tree, and all members are on one. */
static void judge_ports(walk_t *k)
{
    const dnet_topo_t *t = k->t;
    int joined = DNET_TOPO_NONE; /* where the first members were found */
    memset(k->found, 0, sizeof(k->found));
    for (int s = 0; s < t->n_switches; s++)
        k->piece[s] = k->came[s] = DNET_TOPO_NONE;
    for (int first = 0; first < t->n_switches; first++) {
        if (k->piece[first] != DNET_TOPO_NONE || t->sw[first].down || !has_ports(k, first))
            continue;
        int queued = 0, members = 0;
        k->piece[first] = first;
        k->queue[queued++] = first;
        for (int at = 0; at < queued; at++) {
            int here = look_at(k, k->queue[at], &queued);
            if (here && joined != DNET_TOPO_NONE && joined != first)
                note(k, DNET_MCAST_APART, k->queue[at], DNET_TOPO_NONE);
            members += here;
        }
        if (members && joined == DNET_TOPO_NONE)
            joined = first;
        k->v->members += members;
    }
}

/* Lanes on which packets of one level can be in channel c: by each way in to its tail, those of
 * servers that send without being members included. */
static uint16_t lanes_in(const walk_t *k, int c, int level)
{
    const dnet_topo_t *t = k->t;
    int s = dnet_topo_tail(t, c), out = dnet_topo_out_port(t, c), unused;
    uint16_t lanes = 0;
    for (int in = 0; in <= t->sw[s].ports; in++) {
        bool comes = in != out && (in == 0 || dnet_mcast_has(k->m, k->group, s, in) ||
                                   dnet_topo_port(t, s, in, &unused) == DNET_PORT_HOST);
        if (comes)
            lanes |= (uint16_t) (1u << dnet_lanes_vl(k->lanes, t, s, in, out, level));
    }
    return lanes & (uint16_t) ~(1u << DNET_VL_DROP);
}

/* Every channel of the group waits for every port on from it. */
static void add_level(const walk_t *k, int level, dnet_depends_t *d)
{
    const dnet_topo_t *t = k->t;
    bool mapped = k->lanes && k->lanes->vl;
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        int s = dnet_topo_head(t, c), in = dnet_topo_out_port(t, c ^ 1);
        if (t->slot[c] == DNET_TOPO_NONE || !carries(k, c))
            continue;
        uint16_t lanes = mapped ? lanes_in(k, c, level) : (uint16_t) (1u << level);
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            int next = dnet_topo_channel(t, s, i);
            if (next == (c ^ 1) || !carries(k, next))
                continue;
            int lane = dnet_lanes_vl(k->lanes, t, s, in, dnet_topo_out_port(t, next), level);
            for (uint16_t from = lanes; from && lane != DNET_VL_DROP; from &= from - 1)
                dnet_depends_add(d, c, __builtin_ctz(from), next, lane);
        }
    }
}

static void add_group(walk_t *k, int group, dnet_depends_t *d)
{
    uint16_t levels = k->m->levels[group];
    k->group = group;
    if (!k->lanes || !levels)
        levels = 1; /* one lane, or not known */
    for (; levels; levels &= levels - 1)
        add_level(k, __builtin_ctz(levels), d);
}

void dnet_mcast_depend(const dnet_mcast_t *m, const dnet_lanes_t *lanes, dnet_depends_t *d)
{
    walk_t k = {.m = m, .t = m->topo, .lanes = lanes};
    for (int g = 0; g < m->groups; g++)
        add_group(&k, g, d);
}

/* The dependencies of single ports with those of the first n groups. */
static dnet_status_t judge_with(walk_t *k, const dnet_depends_t *unicast, int n, int *cyclic_p,
                                dnet_cycle_t *cycle)
{
    dnet_depends_t d = {0};
    dnet_status_t st = dnet_depends_init(&d, k->t, unicast->lanes);
    if (!st) {
        dnet_depends_merge(&d, unicast);
        for (int g = 0; g < n; g++)
            add_group(k, g, &d);
        st = dnet_depends_judge(&d, cyclic_p, cycle);
    }
    dnet_depends_free(&d);
    return st;
}

/* The first group that closes a cycle with those before it, if the others close none without. */
static dnet_status_t judge_cycles(walk_t *k, const dnet_depends_t *unicast)
{
    dnet_mcast_verdict_t *v = k->v;
    dnet_cycle_t unused;
    int cyclic, good = 0, bad = k->m->groups;
    dnet_status_t st = dnet_depends_judge(unicast, &cyclic, &unused);
    if (st || cyclic)
        return st;
    st = judge_with(k, unicast, bad, &v->cyclic_lanes, &v->cycle);
    while (!st && v->cyclic_lanes && bad - good > 1) {
        int middle = good + (bad - good) / 2;
        dnet_cycle_t cycle;
        st = judge_with(k, unicast, middle, &cyclic, &cycle);
        if (cyclic) {
            bad = middle;
            v->cycle = cycle;
        } else {
            good = middle;
        }
    }
    v->closed_by = !st && v->cyclic_lanes ? bad - 1 : DNET_TOPO_NONE;
    return st;
}

dnet_status_t dnet_mcast_judge(const dnet_mcast_t *m, const dnet_lanes_t *lanes,
                               const dnet_depends_t *unicast, dnet_mcast_verdict_t *v)
{
    const dnet_topo_t *t = m->topo;
    walk_t k = {.m = m, .t = t, .lanes = lanes, .v = v};
    *v = (dnet_mcast_verdict_t){.groups = m->groups, .closed_by = DNET_TOPO_NONE};
    for (int i = 0; i < DNET_MCAST_FAULTS; i++)
        v->example[i].group = DNET_TOPO_NONE;
    int *space = dnet_subnet_alloc(3 * (size_t) t->n_switches, sizeof(int));
    if (!space)
        return DNET_ERR_NO_MEMORY;
    k.piece = space;
    k.came = space + t->n_switches;
    k.queue = space + 2 * t->n_switches;
    for (k.group = 0; k.group < m->groups; k.group++)
        judge_ports(&k);
    dnet_status_t st = judge_cycles(&k, unicast);
    free(space);
    return st;
}

bool dnet_mcast_good(const dnet_mcast_verdict_t *v)
{
    for (int i = 0; i < DNET_MCAST_FAULTS; i++)
        if (v->faulty[i])
            return false;
    return v->cyclic_lanes == 0;
}
