/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ways for management.  Engines choose turns and trees for the traffic of servers; a spine that
 * lost a link may then have no way to a leaf, nor the leaf one to it, because a packet would have
 * to go up again at another leaf.  Such turns carry next to nothing, so that they are opened after
 * everything else, one by one, if they close no cycle.
 */
#include "subnet/routing/acyclic.h"
#include "subnet/routing/routing.h"

#include <stdlib.h>
#include <string.h>

typedef struct fill {
    const dnet_topo_t *t;
    dnet_tables_t *tables;
    dnet_order_t *order; /* made when first needed */
    dnet_turns_t *turns;
    dnet_turns_t *refused; /* turn pairs that closed a cycle once do so ever after */
    int *next;             /* [switch]: output channel; NONE: no entry */
    int *hops;             /* [switch]: to the end; NONE: it does not get there */
    int *queue;
    int *piece; /* [switch]: see dnet_topo_pieces */
    dnet_status_t failed;
} fill_t;

/* Lengths of the ways there are to a LID.  @return connected switches that have none */
static int measure(fill_t *f, int end, int column)
{
    const dnet_topo_t *t = f->t;
    int left = 0;
    for (int s = 0; s < t->n_switches; s++) {
        int c, port = dnet_tables_row(f->tables, s)[column];
        bool channel = dnet_topo_port(t, s, port, &c) == DNET_PORT_CHANNEL;
        f->next[s] = channel && s != end ? c : DNET_TOPO_NONE;
        f->hops[s] = s == end ? 0 : DNET_TOPO_NONE;
    }
    for (int first = 0; first < t->n_switches; first++) {
        int n = 0, s = first;
        for (; f->hops[s] == DNET_TOPO_NONE && f->next[s] != DNET_TOPO_NONE && n < t->n_switches;
             s = dnet_topo_head(t, f->next[s]))
            f->queue[n++] = s;
        while (n > 0 && f->hops[s] != DNET_TOPO_NONE) {
            int before = f->queue[--n];
            f->hops[before] = f->hops[s] + 1;
            s = before;
        }
    }
    for (int s = 0; s < t->n_switches; s++)
        left += f->hops[s] == DNET_TOPO_NONE && f->piece[s] == f->piece[end] && !t->sw[s].down;
    return left;
}

static bool allow(fill_t *f, int s, int i, int j)
{
    if (i == j || dnet_turns_allowed(f->refused, s, i, j))
        return false;
    if (!f->order && !f->failed)
        f->failed = dnet_order_resume(f->turns, &f->order);
    if (f->failed)
        return false;
    if (dnet_order_allow(f->order, s, i, j)) {
        f->tables->opened++;
        return true;
    }
    dnet_turns_set(f->refused, s, i, j, true);
    return false;
}

/* The nearest way on from s, by a turn that is allowed or, with `open`, may be.  A way has to be
 * new up to where it meets an old one, so that no entry changes. */
static bool find_way(fill_t *f, int s, int end, bool open)
{
    const dnet_topo_t *t = f->t;
    int best = DNET_TOPO_NONE;
    for (int i = 0; i < dnet_topo_degree(t, s); i++) {
        int c = dnet_topo_channel(t, s, i), u = dnet_topo_head(t, c), in = t->slot[c ^ 1];
        if (f->hops[u] == DNET_TOPO_NONE ||
            (best != DNET_TOPO_NONE && f->hops[dnet_topo_head(t, best)] <= f->hops[u]))
            continue;
        if (u == end || dnet_turns_allowed(f->turns, u, in, t->slot[f->next[u]]) ||
            (open && allow(f, u, in, t->slot[f->next[u]])))
            best = c;
    }
    if (best == DNET_TOPO_NONE)
        return false;
    f->next[s] = best;
    f->hops[s] = f->hops[dnet_topo_head(t, best)] + 1;
    return true;
}

/* Every switch that still has none, first along turns that are allowed. */
static void fill_column(fill_t *f, int end, int column)
{
    const dnet_topo_t *t = f->t;
    int left = measure(f, end, column), *hole = f->queue, n = 0;
    for (int s = 0; s < t->n_switches && left > 0; s++)
        if (f->hops[s] == DNET_TOPO_NONE && f->piece[s] == f->piece[end] && !t->sw[s].down)
            hole[n++] = s;
    for (bool open = false; left > 0;) {
        bool found = false;
        for (int i = 0; i < n && !(found && open); i++) {
            int s = hole[i];
            if (f->hops[s] != DNET_TOPO_NONE || !find_way(f, s, end, open))
                continue;
            dnet_tables_row(f->tables, s)[column] = (uint16_t) dnet_topo_out_port(t, f->next[s]);
            found = true;
            left--;
        }
        if (!found && open)
            break;
        open = !found;
    }
    f->tables->unmanaged += left > 0;
}

dnet_status_t dnet_tables_fill(dnet_tables_t *tables, dnet_turns_t *turns)
{
    const dnet_topo_t *t = tables->topo;
    size_t ns = (size_t) t->n_switches;
    fill_t f = {.t = t, .tables = tables, .turns = turns};
    int *space = dnet_subnet_alloc(4 * ns, sizeof(int));
    bool *holes = dnet_subnet_alloc((size_t) dnet_tables_columns(tables), sizeof(*holes));
    dnet_status_t st = space && holes ? dnet_turns_new(t, false, &f.refused) : DNET_ERR_NO_MEMORY;
    if (!st) {
        f.next = space;
        f.hops = space + ns;
        f.queue = space + 2 * ns;
        f.piece = space + 3 * ns;
        dnet_topo_pieces(t, f.piece, f.queue);
        dnet_tables_mark_holes(tables, holes);
    }
    tables->unmanaged = 0;
    for (int x = 0; x < dnet_tables_columns(tables) && !st; x++) {
        int d = dnet_tables_dest(tables, x), end = d < 0 ? d : dnet_topo_dest_switch(t, d);
        if (holes[x] && end != DNET_TOPO_NONE && !t->sw[end].down)
            fill_column(&f, end, x);
        st = f.failed;
    }
    dnet_order_free(f.order);
    dnet_turns_free(f.refused);
    free(space);
    free(holes);
    return st;
}
