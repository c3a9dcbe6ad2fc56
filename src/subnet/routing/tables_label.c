/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tree of output channels to one destination, such that all turns along it are allowed
 * (tables_build.h).  Three attempts:
 *
 *   1. by hops, among equals the smallest load so far; switches left over get shortest allowed
 *      walks pinned, as many as agree with each other, and the labelling starts again;
 *   2. in descending dependency order (for Up-Down: everything that can go down does), which leaves
 *      the most freedom to switches further out;
 *   3. along a spanning tree whose turns are all allowed.
 */
#include "subnet/routing/tables_build.h"

#include <string.h>

#define PIN_TRIES 64 /* labellings of a column with ever more walks pinned */

/*
 * May w change to channel c, into u, while others have not changed yet?  Packets on the old ways
 * into w take c then, and packets in c take u's old way on.
 */
static bool mixes(const dnet_build_t *b, int w, int c, int u)
{
    const dnet_topo_t *t = b->t;
    int on = b->was[u], in = t->slot[c ^ 1];
    if (b->was[w] == c)
        return true;
    if (on != DNET_TOPO_NONE && on != b->next[u] &&
        (in == t->slot[on] || !dnet_turns_allowed(b->turns, u, in, t->slot[on])))
        return false;
    for (int i = 0; i < dnet_topo_degree(t, w); i++) {
        int before = dnet_topo_channel(t, w, i) ^ 1;
        if (b->was[dnet_topo_tail(t, before)] == before &&
            (i == t->slot[c] || !dnet_turns_allowed(b->turns, w, i, t->slot[c])))
            return false;
    }
    return true;
}

/*
 * Offer the incoming channel at adjacency place `at` of u to its tail, `hops` from the end.  `b` is
 * the caller's own copy, so that the compiler keeps it in registers.
 */
static inline void offer(dnet_build_t *b, const dnet_build_t *shared, int at, int u, int hops,
                         dnet_loads_t on)
{
    int w = b->near[at];
    if (b->hops[w] < hops)
        return;
    int c = b->adj[at] ^ 1, own = b->across[w];
    if ((b->pin[w] != DNET_TOPO_NONE && b->pin[w] != c) || (b->mixing && !mixes(shared, w, c, u)))
        return;
    /* What starts here is compared by its own load; the other kind passes only, and breaks ties. */
    dnet_loads_t cost = {{b->price[at].of[0] + on.of[0], b->price[at].of[1] + on.of[1]}};
    double mine = own ? cost.of[1] : cost.of[0], other = own ? cost.of[0] : cost.of[1];
    dnet_loads_t *best = &b->cost[w];
    if (b->hops[w] == DNET_BUILD_FAR) {
        b->order[b->labelled++] = w;
        b->hops[w] = hops;
    } else if (best->of[own] < mine || (best->of[own] == mine && best->of[!own] <= other)) {
        return;
    }
    b->next[w] = c;
    *best = cost;
}

void dnet_build_label_by_hops(dnet_build_t *shared, int dest)
{
    dnet_build_start(shared, dest);
    dnet_build_t b = *shared;
    const dnet_topo_t *t = b.t;
    for (int at = 0; at < b.labelled; at++) {
        int u = b.order[at], hops = b.hops[u] + 1, first = t->adj_start[u];
        dnet_loads_t on = b.balance == DNET_BALANCE_PORT ? (dnet_loads_t){{0, 0}} : b.cost[u];
        if (u == dest) {
            for (int i = 0; i < dnet_topo_degree(t, u); i++)
                offer(&b, shared, first + i, u, hops, on);
            continue;
        }
        const uint64_t *row = dnet_turns_row(b.turns, u, t->slot[b.next[u]]);
        for (int w = 0, words = b.turns->words[u]; w < words; w++)
            for (uint64_t m = row[w]; m; m &= m - 1)
                offer(&b, shared, first + 64 * w + __builtin_ctzll(m), u, hops, on);
    }
    shared->labelled = b.labelled;
}

/* The first connected switch from `first` on that must have an entry and has none, or NONE. */
static int left_over(const dnet_build_t *b, int first)
{
    for (int s = first; s < b->t->n_switches; s++)
        if (b->must[s] && b->piece[s] == b->piece[b->dest] && s != b->dest &&
            b->next[s] == DNET_TOPO_NONE)
            return s;
    return DNET_TOPO_NONE;
}

/* The n channels of b->walk: does it meet no switch pinned to something else? */
static bool pins_agree(const dnet_build_t *b, int n)
{
    for (int i = 0; i < n; i++) {
        int pin = b->pin[dnet_topo_tail(b->t, b->walk[i])];
        if (pin != DNET_TOPO_NONE && pin != b->walk[i])
            return false;
    }
    return true;
}

/* The turns that agree with the pins: out of a pinned switch there is one way only. */
static void narrow_turns(dnet_build_t *b)
{
    const dnet_topo_t *t = b->t;
    memcpy(b->narrow->bits, b->turns->bits, b->turns->start[t->n_switches] * sizeof(uint64_t));
    for (int s = 0; s < t->n_switches; s++)
        for (int i = 0; i < dnet_topo_degree(t, s) && b->pin[s] != DNET_TOPO_NONE; i++)
            if (i != t->slot[b->pin[s]])
                memset(dnet_turns_row(b->narrow, s, i), 0,
                       (size_t) b->narrow->words[s] * sizeof(uint64_t));
}

/* Pin walks that agree with the pins there are, of all switches without entry that one search
 * serves: a walk that crosses one of them waits for the next.  Where a walk meets an old pin it
 * ends: rows are turns out of a slot here, so that none leads in to a pinned switch. */
static bool pin_agreeing(dnet_build_t *b)
{
    bool pinned = false;
    narrow_turns(b);
    dnet_paths_measure(b->narrow_paths, b->dest);
    for (int s = left_over(b, 0); s != DNET_TOPO_NONE; s = left_over(b, s + 1)) {
        if (b->pin[s] != DNET_TOPO_NONE)
            continue;
        int n = dnet_paths_walk(b->narrow_paths, s, b->walk, b->t->n_switches);
        if (n <= 0)
            return false; /* nor has it one when there are more pins */
        if (!pins_agree(b, n))
            continue;
        for (int i = 0; i < n; i++)
            b->pin[dnet_topo_tail(b->t, b->walk[i])] = b->walk[i];
        pinned = true;
    }
    return pinned;
}

/* Come to a channel out of switch s, after another.  @return its head is the end, or has a pin and
 * may be entered */
static bool come_to(dnet_build_t *b, int s, int slot, int after)
{
    const dnet_topo_t *t = b->t;
    dnet_reach_t *r = &b->reach;
    int place = t->adj_start[s] + slot;
    if (r->seen[place])
        return false;
    r->seen[place] = true;
    r->place[r->n] = place;
    r->after[r->n++] = after;
    int c = b->adj[place], u = b->head[c], in = t->slot[c ^ 1], pin = b->pin[u];
    return u == b->dest || (pin != DNET_TOPO_NONE && in != t->slot[pin] &&
                            dnet_turns_allowed(b->turns, u, in, t->slot[pin]));
}

/* The nearest channel on the ways out of s to a switch that has a pin and may be entered, or to the
 * end; switches on the way have none.  @return its place in b->reach, or NONE */
static int reach_pin(dnet_build_t *b, int s)
{
    const dnet_topo_t *t = b->t;
    dnet_reach_t *r = &b->reach;
    for (int i = 0; i < dnet_topo_degree(t, s); i++)
        if (come_to(b, s, i, DNET_TOPO_NONE))
            return r->n - 1;
    for (int at = 0; at < r->n; at++) {
        int c = b->adj[r->place[at]], u = b->head[c];
        const uint64_t *row = dnet_turns_row(b->turns, u, t->slot[c ^ 1]);
        for (int w = 0; w < b->turns->words[u] && b->pin[u] == DNET_TOPO_NONE && u != s; w++)
            for (uint64_t m = row[w]; m; m &= m - 1)
                if (come_to(b, u, 64 * w + __builtin_ctzll(m), at))
                    return r->n - 1;
    }
    return DNET_TOPO_NONE;
}

/* Pin such a way.  @return false: there is none */
static bool pin_nearest(dnet_build_t *b, int s)
{
    dnet_reach_t *r = &b->reach;
    r->n = 0;
    int end = reach_pin(b, s);
    for (int at = end; at != DNET_TOPO_NONE; at = r->after[at]) {
        int c = b->adj[r->place[at]];
        b->pin[dnet_topo_tail(b->t, c)] = c;
    }
    for (int i = 0; i < r->n; i++)
        r->seen[r->place[i]] = false;
    return end != DNET_TOPO_NONE;
}

/* Ways of all switches without entry, one after the other. */
static bool pin_around(dnet_build_t *b)
{
    for (int s = left_over(b, 0); s != DNET_TOPO_NONE; s = left_over(b, s + 1))
        if (b->pin[s] == DNET_TOPO_NONE && !pin_nearest(b, s))
            return false;
    return true;
}

static void clear_pins(dnet_build_t *b)
{
    for (int s = 0; s < b->t->n_switches; s++)
        b->pin[s] = DNET_TOPO_NONE;
}

/* Label by hops with the pins there are and, as long as switches are left over, walks of theirs
 * pinned.  The pins are gone then.  @return complete */
static bool label_pinned(dnet_build_t *b, int dest, bool (*pin)(dnet_build_t *b))
{
    bool done = false, more = true;
    for (int tries = 0; more && tries < PIN_TRIES; tries++) {
        dnet_build_label_by_hops(b, dest);
        done = dnet_build_complete(b);
        more = !done && pin(b);
    }
    clear_pins(b);
    return done;
}

/* Pin the entries of b's tree that servers' packets pass; all others may change for free. */
static void pin_used(dnet_build_t *b, bool *used)
{
    const dnet_topo_t *t = b->t;
    for (int s = 0; s < t->n_switches; s++) {
        used[s] = t->sw[s].hosts > 0;
        b->pin[s] = DNET_TOPO_NONE;
    }
    for (int i = b->labelled - 1; i > 0; i--) {
        int s = b->order[i];
        if (!used[s])
            continue;
        b->pin[s] = b->next[s];
        used[dnet_topo_head(t, b->next[s])] = true;
    }
    for (int s = 0; s < t->n_switches; s++)
        used[s] = b->pin[s] != DNET_TOPO_NONE;
}

/* Pin all entries of b's tree. */
static void pin_all(dnet_build_t *b)
{
    for (int s = 0; s < b->t->n_switches; s++)
        b->pin[s] = DNET_TOPO_NONE;
    for (int i = 1; i < b->labelled; i++)
        b->pin[b->order[i]] = b->next[b->order[i]];
}

bool dnet_build_label_keeping(dnet_build_t *b, int dest, bool *used)
{
    if (used)
        pin_used(b, used);
    else
        pin_all(b);
    return label_pinned(b, dest, pin_agreeing);
}

bool dnet_build_label_around(dnet_build_t *b, int dest, bool *used)
{
    pin_used(b, used);
    if (pin_around(b))
        return label_pinned(b, dest, pin_around);
    clear_pins(b);
    return false;
}

/* Mark the channels into u that may be taken, by their places in the dependency order. */
static void wait_for(dnet_build_t *b, int u)
{
    const dnet_topo_t *t = b->t;
    for (int i = 0; i < dnet_topo_degree(t, u); i++) {
        int c = dnet_topo_channel(t, u, i) ^ 1, w = dnet_topo_tail(t, c);
        bool legal = u == b->dest || dnet_turns_allowed(b->turns, u, i, t->slot[b->next[u]]);
        if (legal && w != b->dest && b->next[w] == DNET_TOPO_NONE)
            b->waits[b->ord[c] >> 6] |= (uint64_t) 1 << (b->ord[c] & 63);
    }
}

/* From the last place to the first: a channel waits only for those behind it. */
static void label_by_dependency(dnet_build_t *b, int dest)
{
    dnet_build_start(b, dest);
    wait_for(b, dest);
    for (int word = dnet_topo_channels(b->t) >> 6; word >= 0; word--)
        while (b->waits[word]) {
            int bit = 63 - __builtin_clzll(b->waits[word]), c = b->at[64 * word + bit];
            int w = dnet_topo_tail(b->t, c);
            b->waits[word] &= ~((uint64_t) 1 << bit);
            if (b->next[w] != DNET_TOPO_NONE)
                continue;
            b->next[w] = c;
            b->order[b->labelled++] = w;
            wait_for(b, w);
        }
}

static void label_by_tree(dnet_build_t *b, int dest)
{
    const dnet_topo_t *t = b->t;
    dnet_build_start(b, dest);
    for (int at = 0; at < b->labelled; at++) {
        int u = b->order[at];
        for (int i = 0; i < dnet_topo_degree(t, u); i++) {
            int c = dnet_topo_channel(t, u, i) ^ 1, w = dnet_topo_tail(t, c);
            if ((b->tree[u] != c >> 1 && b->tree[w] != c >> 1) || w == dest ||
                b->next[w] != DNET_TOPO_NONE)
                continue;
            b->next[w] = c;
            b->order[b->labelled++] = w;
        }
    }
}

bool dnet_build_label(dnet_build_t *b, int dest, dnet_tables_t *tables)
{
    dnet_build_label_by_hops(b, dest);
    if (dnet_build_complete(b))
        return true;
    if (label_pinned(b, dest, pin_agreeing)) {
        tables->pinned++;
        return true;
    }
    if (b->ord) {
        label_by_dependency(b, dest);
        if (dnet_build_complete(b)) {
            tables->second_order++;
            return true;
        }
    }
    if (b->tree) {
        label_by_tree(b, dest);
        if (dnet_build_complete(b)) {
            tables->fallbacks++;
            return true;
        }
    }
    return false;
}
