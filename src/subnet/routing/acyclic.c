/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Incremental and one-off topological orders of allowed turns (acyclic.h).  D. J. Pearce and
 * P. H. J. Kelly's dynamic topological sort: an insertion that agrees with the order costs nothing,
 * any other searches only channels placed between its two ends and reorders those.
 */
#include "subnet/routing/acyclic.h"

#include <stdlib.h>
#include <string.h>

static void front_free(dnet_front_t *f)
{
    free(f->list);
    free(f->open);
    free(f->open_in);
}

static bool front_init(const dnet_order_t *o, dnet_front_t *f)
{
    const dnet_topo_t *t = o->turns->topo;
    f->list = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(int));
    f->open = dnet_subnet_alloc(o->open_at[t->n_switches], sizeof(uint64_t));
    f->open_in = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    return f->list && f->open && f->open_in;
}

void dnet_order_free(dnet_order_t *o)
{
    if (!o)
        return;
    front_free(&o->ahead);
    front_free(&o->behind);
    free(o->ord);
    free(o->at);
    free(o->marks);
    free(o->open_at);
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
            if (first_rank(t, c, top) == rank) {
                o->at[place] = c;
                o->ord[c] = place++;
            }
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
    o->at = dnet_subnet_alloc(channels, sizeof(int));
    o->words = (int) (channels + 63) / 64;
    o->marks = dnet_subnet_alloc((size_t) o->words, sizeof(*o->marks));
    o->pool = dnet_subnet_alloc(2 * channels, sizeof(int));
    o->open_at = dnet_subnet_alloc((size_t) t->n_switches + 1, sizeof(*o->open_at));
    for (int s = 0; o->open_at && s < t->n_switches; s++)
        o->open_at[s + 1] = o->open_at[s] + (size_t) turns->words[s];
    if (!o->ord || !o->at || !o->marks || !o->pool || !o->open_at || !front_init(o, &o->ahead) ||
        !front_init(o, &o->behind)) {
        dnet_order_free(o);
        return DNET_ERR_NO_MEMORY;
    }
    first_order(o);
    *out = o;
    return DNET_OK;
}

/* The slots of switch s that this front has not come to. */
static uint64_t *open_slots(const dnet_order_t *o, dnet_front_t *f, int s)
{
    uint64_t *open = f->open + o->open_at[s];
    if (f->open_in[s] != o->search)
        memset(open, 0xff, (size_t) o->turns->words[s] * sizeof(*open));
    f->open_in[s] = o->search;
    return open;
}

static bool has_come(const dnet_order_t *o, const dnet_front_t *f, int s, int slot)
{
    return f->open_in[s] == o->search &&
           !(f->open[o->open_at[s] + (size_t) (slot >> 6)] >> (slot & 63) & 1);
}

static void front_start(const dnet_order_t *o, dnet_front_t *f, int c, int s, int slot)
{
    f->n = f->at = 0;
    f->list[f->n++] = c;
    open_slots(o, f, s)[slot >> 6] &= ~((uint64_t) 1 << (slot & 63));
}

/* A link further ahead, to channels placed before `bound`.  @return it meets what is behind */
static bool go_ahead(dnet_order_t *o, int bound)
{
    const dnet_topo_t *t = o->turns->topo;
    dnet_front_t *f = &o->ahead;
    for (int end = f->n; f->at < end; f->at++) {
        int c = f->list[f->at], u = dnet_topo_head(t, c);
        const uint64_t *row = dnet_turns_row(o->turns, u, t->slot[c ^ 1]);
        uint64_t *open = open_slots(o, f, u);
        for (int w = 0; w < o->turns->words[u]; w++) {
            uint64_t m = row[w] & open[w];
            open[w] &= ~m;
            for (; m; m &= m - 1) {
                int next = dnet_topo_channel(t, u, 64 * w + __builtin_ctzll(m));
                if (has_come(o, &o->behind, dnet_topo_head(t, next), t->slot[next ^ 1]))
                    return true;
                if (o->ord[next] < bound)
                    f->list[f->n++] = next;
            }
        }
    }
    return false;
}

/*
 * A link further back, to channels placed behind `bound`; a slot stands for the channel that comes
 * in there.  Turn rows are read as columns: they are symmetric but for the half-inserted turn
 * half_a -> half_b, which is looked at by itself.  @return it meets what is ahead
 */
static bool go_behind(dnet_order_t *o, int bound, int half_a, int half_b)
{
    const dnet_topo_t *t = o->turns->topo;
    dnet_front_t *f = &o->behind;
    for (int end = f->n; f->at < end; f->at++) {
        int c = f->list[f->at], v = dnet_topo_tail(t, c);
        uint64_t *open = open_slots(o, f, v);
        for (int w = 0; w < o->turns->words[v]; w++) {
            uint64_t m = dnet_turns_row(o->turns, v, t->slot[c])[w];
            if (c == half_b && t->slot[half_a ^ 1] >> 6 == w)
                m |= (uint64_t) 1 << (t->slot[half_a ^ 1] & 63);
            m &= open[w];
            open[w] &= ~m;
            for (; m; m &= m - 1) {
                int before = dnet_topo_channel(t, v, 64 * w + __builtin_ctzll(m)) ^ 1;
                if (has_come(o, &o->ahead, dnet_topo_tail(t, before), t->slot[before]))
                    return true;
                if (o->ord[before] > bound)
                    f->list[f->n++] = before;
            }
        }
    }
    return false;
}

/* Sort a front's channels by their places, which go to `places`. */
static void sort_front(dnet_order_t *o, dnet_front_t *f, int *places)
{
    int low = o->words, high = -1, n = 0;
    for (int i = 0; i < f->n; i++) {
        int word = o->ord[f->list[i]] >> 6;
        o->marks[word] |= (uint64_t) 1 << (o->ord[f->list[i]] & 63);
        low = word < low ? word : low;
        high = word > high ? word : high;
    }
    for (int w = low; w <= high; w++) {
        for (uint64_t m = o->marks[w]; m; m &= m - 1) {
            places[n] = 64 * w + __builtin_ctzll(m);
            f->list[n] = o->at[places[n]];
            n++;
        }
        o->marks[w] = 0;
    }
}

/* The lower of the first places in two sorted lists is taken out of its list. */
static int next_place(const int **a, const int *a_end, const int **b, const int *b_end)
{
    return *b == b_end || (*a < a_end && **a < **b) ? *(*a)++ : *(*b)++;
}

/* Channels behind take the lowest of the places of both sets, channels ahead the highest. */
static void reorder(dnet_order_t *o)
{
    dnet_front_t *fronts[2] = {&o->behind, &o->ahead};
    const int *a = o->pool, *a_end = a + o->behind.n, *b = a_end, *b_end = b + o->ahead.n;
    sort_front(o, fronts[0], o->pool);
    sort_front(o, fronts[1], o->pool + o->behind.n);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < fronts[k]->n; i++) {
            int c = fronts[k]->list[i], place = next_place(&a, a_end, &b, b_end);
            o->ord[c] = place;
            o->at[place] = c;
        }
}

/*
 * Make room for the dependency a -> b; false if b already leads to a.  The search goes on where
 * fewer channels wait, as most that are refused meet soon.
 */
static bool insert(dnet_order_t *o, int a, int b, int half_a, int half_b)
{
    const dnet_topo_t *t = o->turns->topo;
    dnet_front_t *ahead = &o->ahead, *behind = &o->behind;
    int from = o->ord[b], to = o->ord[a];
    if (to < from)
        return true;
    o->searches++;
    o->search++;
    front_start(o, ahead, b, dnet_topo_tail(t, b), t->slot[b]);
    front_start(o, behind, a, dnet_topo_head(t, a), t->slot[a ^ 1]);
    while (ahead->at < ahead->n || behind->at < behind->n) {
        int x = ahead->n - ahead->at, y = behind->n - behind->at;
        bool forward = y == 0 || (x > 0 && x <= y);
        if (forward ? go_ahead(o, to) : go_behind(o, from, half_a, half_b))
            return false;
    }
    o->visited += ahead->n + behind->n;
    reorder(o);
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
    for (int c = 0; c < dnet_topo_channels(turns->topo); c++)
        if (turns->topo->slot[c] != DNET_TOPO_NONE)
            o->at[o->ord[c]] = c;
    *out = o;
    return DNET_OK;
}
