/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Incremental and one-off topological orders of allowed turns (acyclic.h).  D. J. Pearce and
 * P. H. J. Kelly's dynamic topological sort: an insertion that agrees with the order costs nothing,
 * any other searches only channels placed between its two ends and reorders those.
 */
#include "subnet/routing/acyclic.h"

#include <stdlib.h>
#include <string.h>

void dnet_order_free(dnet_order_t *o)
{
    if (!o)
        return;
    free(o->ord);
    free(o->open_at);
    free(o->open);
    free(o->open_in);
    free(o->ahead);
    free(o->behind);
    free(o->pool);
    free(o);
}

/* Rank of a channel in the first order: up by level, level, down by level. */
static int first_rank(const dnet_topo_t *t, int c, int top)
{
    int tail = t->sw[dnet_topo_tail(t, c)].level, head = t->sw[dnet_topo_head(t, c)].level;
    if (head > tail)
        return tail;
    return head == tail ? top : 2 * top - head;
}

static void first_order(dnet_order_t *o)
{
    const dnet_topo_t *t = o->turns->topo;
    int top = 0, place = 0;
    for (int s = 0; s < t->n_switches; s++)
        if (t->sw[s].level > top)
            top = t->sw[s].level;
    for (int rank = 0; rank <= 2 * top; rank++)
        for (int c = 0; c < dnet_topo_channels(t); c++)
            if (first_rank(t, c, top) == rank)
                o->ord[c] = place++;
}

dnet_status_t dnet_order_new(dnet_turns_t *turns, dnet_order_t **out)
{
    const dnet_topo_t *t = turns->topo;
    size_t channels = (size_t) dnet_topo_channels(t);
    dnet_order_t *o = dnet_subnet_alloc(1, sizeof(*o));
    if (!o)
        return DNET_ERR_NO_MEMORY;
    o->turns = turns;
    o->ord = dnet_subnet_alloc(channels, sizeof(int));
    o->open_in = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    o->open_at = dnet_subnet_alloc((size_t) t->n_switches + 1, sizeof(*o->open_at));
    for (int s = 0; o->open_at && s < t->n_switches; s++)
        o->open_at[s + 1] = o->open_at[s] + (size_t) turns->words[s];
    o->open = o->open_at ? dnet_subnet_alloc(o->open_at[t->n_switches], sizeof(uint64_t)) : NULL;
    o->ahead = dnet_subnet_alloc(channels, sizeof(int));
    o->behind = dnet_subnet_alloc(channels, sizeof(int));
    o->pool = dnet_subnet_alloc(2 * channels, sizeof(int));
    if (!o->ord || !o->open_in || !o->open || !o->ahead || !o->behind || !o->pool) {
        dnet_order_free(o);
        return DNET_ERR_NO_MEMORY;
    }
    first_order(o);
    *out = o;
    return DNET_OK;
}

/* The slots of switch s that this search has not come to. */
static uint64_t *open_slots(dnet_order_t *o, int s)
{
    uint64_t *open = o->open + o->open_at[s];
    if (o->open_in[s] != o->search)
        memset(open, 0xff, (size_t) o->turns->words[s] * sizeof(*open));
    o->open_in[s] = o->search;
    return open;
}

/* Close a slot.  @return it was open */
static bool come_to(dnet_order_t *o, int s, int slot)
{
    uint64_t *word = &open_slots(o, s)[slot >> 6], bit = (uint64_t) 1 << (slot & 63);
    bool open = *word & bit;
    *word &= ~bit;
    return open;
}

/* All channels from `start` placed up to `goal`; -1 if goal itself is among them. */
static int search_ahead(dnet_order_t *o, int start, int goal)
{
    const dnet_topo_t *t = o->turns->topo;
    int n = 0, bound = o->ord[goal];
    o->search++;
    come_to(o, dnet_topo_tail(t, start), t->slot[start]);
    o->ahead[n++] = start;
    for (int at = 0; at < n; at++) {
        int c = o->ahead[at], u = dnet_topo_head(t, c);
        const uint64_t *row = dnet_turns_row(o->turns, u, t->slot[c ^ 1]);
        uint64_t *open = open_slots(o, u);
        for (int w = 0; w < o->turns->words[u]; w++) {
            uint64_t m = row[w] & open[w];
            open[w] &= ~m;
            for (; m; m &= m - 1) {
                int next = dnet_topo_channel(t, u, 64 * w + __builtin_ctzll(m));
                if (next == goal)
                    return -1;
                if (o->ord[next] < bound)
                    o->ahead[n++] = next;
            }
        }
    }
    return n;
}

/*
 * All channels that lead to `start` and are placed behind `bound`; a slot stands for the channel
 * that comes in there.  Turn rows are read as columns: they are symmetric but for the half-inserted
 * turn half_a -> half_b, which is looked at by itself.
 */
static int search_behind(dnet_order_t *o, int start, int bound, int half_a, int half_b)
{
    const dnet_topo_t *t = o->turns->topo;
    int n = 0;
    o->search++;
    come_to(o, dnet_topo_head(t, start), t->slot[start ^ 1]);
    o->behind[n++] = start;
    for (int at = 0; at < n; at++) {
        int c = o->behind[at], v = dnet_topo_tail(t, c);
        if (c == half_b && o->ord[half_a] > bound && come_to(o, v, t->slot[half_a ^ 1]))
            o->behind[n++] = half_a;
        const uint64_t *row = dnet_turns_row(o->turns, v, t->slot[c]);
        uint64_t *open = open_slots(o, v);
        for (int w = 0; w < o->turns->words[v]; w++) {
            uint64_t m = row[w] & open[w];
            open[w] &= ~m;
            for (; m; m &= m - 1) {
                int before = dnet_topo_channel(t, v, 64 * w + __builtin_ctzll(m)) ^ 1;
                if (o->ord[before] > bound)
                    o->behind[n++] = before;
            }
        }
    }
    return n;
}

static int *sort_ord; /* qsort has no argument for its comparison */

static int by_place(const void *a, const void *b)
{
    int x = sort_ord[*(const int *) a], y = sort_ord[*(const int *) b];
    return (x > y) - (x < y);
}

static int by_value(const void *a, const void *b)
{
    int x = *(const int *) a, y = *(const int *) b;
    return (x > y) - (x < y);
}

/* Channels behind take the lowest of the places of both sets, channels ahead the highest. */
static void reorder(dnet_order_t *o, int behind, int ahead)
{
    sort_ord = o->ord;
    qsort(o->behind, (size_t) behind, sizeof(int), by_place);
    qsort(o->ahead, (size_t) ahead, sizeof(int), by_place);
    for (int i = 0; i < behind; i++)
        o->pool[i] = o->ord[o->behind[i]];
    for (int i = 0; i < ahead; i++)
        o->pool[behind + i] = o->ord[o->ahead[i]];
    qsort(o->pool, (size_t) (behind + ahead), sizeof(int), by_value);
    for (int i = 0; i < behind; i++)
        o->ord[o->behind[i]] = o->pool[i];
    for (int i = 0; i < ahead; i++)
        o->ord[o->ahead[i]] = o->pool[behind + i];
}

/* Make room for the dependency a -> b; false if b already leads to a. */
static bool insert(dnet_order_t *o, int a, int b, int half_a, int half_b)
{
    if (o->ord[a] < o->ord[b])
        return true;
    o->searches++;
    int ahead = search_ahead(o, b, a);
    if (ahead < 0)
        return false;
    int behind = search_behind(o, a, o->ord[b], half_a, half_b);
    o->visited += ahead + behind;
    reorder(o, behind, ahead);
    return true;
}

bool dnet_order_allow(dnet_order_t *o, int s, int i, int j)
{
    const dnet_topo_t *t = o->turns->topo;
    int b = dnet_topo_channel(t, s, j), a = dnet_topo_channel(t, s, i) ^ 1;
    uint64_t *word = &dnet_turns_row(o->turns, s, i)[j >> 6], bit = (uint64_t) 1 << (j & 63);
    if (!insert(o, a, b, DNET_TOPO_NONE, DNET_TOPO_NONE))
        return false;
    *word |= bit;
    if (!insert(o, b ^ 1, a ^ 1, a, b)) {
        *word &= ~bit; /* deleting never invalidates an order */
        return false;
    }
    dnet_turns_row(o->turns, s, j)[i >> 6] |= (uint64_t) 1 << (i & 63);
    return true;
}

int dnet_turns_order(const dnet_turns_t *turns, int *ord)
{
    const dnet_topo_t *t = turns->topo;
    int channels = dnet_topo_channels(t), done = 0, n = 0, live = 0;
    int *waiting = dnet_subnet_alloc((size_t) channels, sizeof(int));
    int *queue = dnet_subnet_alloc((size_t) channels, sizeof(int));
    if (!waiting || !queue) {
        free(waiting);
        free(queue);
        return -1;
    }
    for (int c = 0; c < channels; c++) {
        ord[c] = 0;
        if (t->slot[c] == DNET_TOPO_NONE)
            continue;
        int v = dnet_topo_tail(t, c);
        const uint64_t *row = dnet_turns_row(turns, v, t->slot[c]);
        for (int w = 0; w < turns->words[v]; w++)
            waiting[c] += __builtin_popcountll(row[w]);
        live++;
        if (waiting[c] == 0)
            queue[n++] = c;
    }
    for (; done < n; done++) {
        int c = queue[done], u = dnet_topo_head(t, c);
        const uint64_t *row = dnet_turns_row(turns, u, t->slot[c ^ 1]);
        ord[c] = done;
        for (int w = 0; w < turns->words[u]; w++)
            for (uint64_t m = row[w]; m; m &= m - 1) {
                int next = dnet_topo_channel(t, u, 64 * w + __builtin_ctzll(m));
                if (--waiting[next] == 0)
                    queue[n++] = next;
            }
    }
    free(waiting);
    free(queue);
    return live - done;
}

dnet_status_t dnet_order_resume(dnet_turns_t *turns, dnet_order_t **out)
{
    dnet_order_t *o;
    dnet_status_t st = dnet_order_new(turns, &o);
    if (st)
        return st;
    int cyclic = dnet_turns_order(turns, o->ord);
    if (cyclic) {
        dnet_order_free(o);
        return cyclic < 0 ? DNET_ERR_NO_MEMORY : DNET_ERR_STATE;
    }
    *out = o;
    return DNET_OK;
}
