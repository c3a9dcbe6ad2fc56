/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The judges' channel dependency graph (depends.h).
 */
#include "subnet/judges/depends.h"

#include <stdlib.h>
#include <string.h>

static size_t row_words(const dnet_depends_t *d, int c)
{
    size_t slots = (size_t) dnet_topo_degree(d->t, dnet_topo_head(d->t, c));
    return (slots * (size_t) d->lanes + 63) / 64;
}

static uint64_t *row_of(const dnet_depends_t *d, int c, int lane)
{
    return d->bits + d->start[c] + (size_t) lane * row_words(d, c);
}

dnet_status_t dnet_depends_init(dnet_depends_t *d, const dnet_topo_t *t, int lanes)
{
    int channels = dnet_topo_channels(t);
    *d = (dnet_depends_t){.t = t, .lanes = lanes};
    d->start = dnet_subnet_alloc((size_t) channels + 1, sizeof(size_t));
    if (!d->start)
        return DNET_ERR_NO_MEMORY;
    for (int c = 0; c < channels; c++)
        d->start[c + 1] = d->start[c] + (size_t) lanes * row_words(d, c);
    d->bits = dnet_subnet_alloc(d->start[channels], sizeof(uint64_t));
    return d->bits ? DNET_OK : DNET_ERR_NO_MEMORY;
}

void dnet_depends_free(dnet_depends_t *d)
{
    free(d->start);
    free(d->bits);
    *d = (dnet_depends_t){0};
}

void dnet_depends_add(dnet_depends_t *d, int a, int la, int b, int lb)
{
    size_t bit = (size_t) d->t->slot[b] * (size_t) d->lanes + (size_t) lb;
    row_of(d, a, la)[bit >> 6] |= (uint64_t) 1 << (bit & 63);
}

void dnet_depends_merge(dnet_depends_t *d, const dnet_depends_t *from)
{
    for (size_t i = 0; i < d->start[dnet_topo_channels(d->t)]; i++)
        d->bits[i] |= from->bits[i];
}

long dnet_depends_count(const dnet_depends_t *d)
{
    long n = 0;
    for (size_t i = 0; i < d->start[dnet_topo_channels(d->t)]; i++)
        n += __builtin_popcountll(d->bits[i]);
    return n;
}

/* Depth-first search; a vertex is channel * lanes + lane. */
typedef struct search {
    const dnet_depends_t *d;
    uint8_t *state; /* [vertex] */
    int *path;      /* vertices from the root */
    int *at;        /* [vertex]: bit of its row to look at next */
} search_t;

enum { NEW, ON_PATH, DONE };

/* Next vertex behind v, or NONE. */
static int next_of(search_t *s, int v)
{
    const dnet_depends_t *d = s->d;
    int c = v / d->lanes, u = dnet_topo_head(d->t, c);
    int bits = dnet_topo_degree(d->t, u) * d->lanes;
    const uint64_t *row = row_of(d, c, v % d->lanes);
    while (s->at[v] < bits) {
        int bit = s->at[v];
        uint64_t rest = row[bit >> 6] >> (bit & 63);
        if (!rest) {
            s->at[v] = (bit | 63) + 1;
            continue;
        }
        bit += __builtin_ctzll(rest);
        s->at[v] = bit + 1;
        return dnet_topo_channel(d->t, u, bit / d->lanes) * d->lanes + bit % d->lanes;
    }
    return DNET_TOPO_NONE;
}

static void record(const search_t *s, int depth, int back, dnet_cycle_t *cycle)
{
    int from = depth - 1;
    while (s->path[from] != back)
        from--;
    cycle->length = depth - from;
    for (int i = from; i < depth && i - from < DNET_CYCLE_SHOWN; i++) {
        cycle->channel[i - from] = s->path[i] / s->d->lanes;
        cycle->lane[i - from] = (uint8_t) (s->path[i] % s->d->lanes);
    }
}

static bool cycle_from(search_t *s, int root, dnet_cycle_t *cycle)
{
    int depth = 0;
    s->path[depth++] = root;
    s->state[root] = ON_PATH;
    while (depth > 0) {
        int v = s->path[depth - 1], next = next_of(s, v);
        if (next == DNET_TOPO_NONE) {
            s->state[v] = DONE;
            depth--;
        } else if (s->state[next] == ON_PATH) {
            record(s, depth, next, cycle);
            return true;
        } else if (s->state[next] == NEW) {
            s->state[next] = ON_PATH;
            s->path[depth++] = next;
        }
    }
    return false;
}

/* One cycle that can be entered on this lane. */
static bool cycle_on(search_t *s, int lane, size_t vertices, dnet_cycle_t *cycle)
{
    memset(s->state, NEW, vertices);
    memset(s->at, 0, vertices * sizeof(*s->at));
    for (size_t v = (size_t) lane; v < vertices; v += (size_t) s->d->lanes)
        if (s->state[v] == NEW && cycle_from(s, (int) v, cycle))
            return true;
    return false;
}

dnet_status_t dnet_depends_judge(const dnet_depends_t *d, int *cyclic_p, dnet_cycle_t *cycle)
{
    size_t vertices = (size_t) dnet_topo_channels(d->t) * (size_t) d->lanes;
    search_t s = {.d = d,
                  .state = dnet_subnet_alloc(vertices, 1),
                  .path = dnet_subnet_alloc(vertices, sizeof(int)),
                  .at = dnet_subnet_alloc(vertices, sizeof(int))};
    dnet_status_t st = s.state && s.path && s.at ? DNET_OK : DNET_ERR_NO_MEMORY;
    *cyclic_p = 0;
    *cycle = (dnet_cycle_t){0};
    for (int lane = 0; lane < d->lanes && !st; lane++)
        *cyclic_p += cycle_on(&s, lane, vertices, cycle);
    free(s.state);
    free(s.path);
    free(s.at);
    return st;
}
