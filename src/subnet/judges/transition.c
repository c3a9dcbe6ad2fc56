/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Changes of tables without deadlock (transition.h).
 */
#include "subnet/judges/transition.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

typedef struct change {
    const dnet_topo_t *t;
    const dnet_tables_t *old, *new;
    dnet_depends_t depends; /* of everything that may be in force during the stage */
    dnet_depends_t trial;
    int *column; /* of LIDs whose entries differ */
    int columns;
    bool *drained; /* [column of the tables] */
    long drains;
    bool apart;
} change_t;

static int channel_at(const dnet_topo_t *t, const dnet_tables_t *tables, int s, int column)
{
    int c;
    return dnet_topo_port(t, s, dnet_tables_row(tables, s)[column], &c) == DNET_PORT_CHANNEL
               ? c
               : DNET_TOPO_NONE;
}

/* Dependencies of a LID with each switch's entry from either of two sets of tables. */
static void add_mixture(dnet_depends_t *d, const dnet_tables_t *a, const dnet_tables_t *b,
                        int column)
{
    const dnet_topo_t *t = d->t;
    const dnet_tables_t *const side[2] = {a, b};
    for (int s = 0; s < t->n_switches; s++)
        for (int i = 0; i < 2; i++) {
            int in = channel_at(t, side[i], s, column);
            for (int k = 0; k < 2 && in != DNET_TOPO_NONE; k++) {
                int out = channel_at(t, side[k], dnet_topo_head(t, in), column);
                if (out != DNET_TOPO_NONE)
                    dnet_depends_add(d, in, 0, out, 0);
            }
        }
}

static dnet_status_t check(const dnet_topo_t *t, const dnet_tables_t *old, const dnet_tables_t *new)
{
    if (dnet_tables_fit(old, t) && dnet_tables_fit(new, t))
        return DNET_OK;
    dnet_error("subnet: %s: the two sets of tables are not of the same switches and LIDs", t->name);
    return DNET_ERR_ARGUMENT;
}

dnet_status_t dnet_transition_judge(const dnet_topo_t *t, const dnet_tables_t *old,
                                    const dnet_tables_t *new, const dnet_mcast_t *groups,
                                    int *cyclic_p, dnet_cycle_t *cycle)
{
    dnet_depends_t d = {0};
    dnet_status_t st = check(t, old, new);
    if (!st)
        st = dnet_depends_init(&d, t, 1);
    for (int x = 0; x < dnet_tables_columns(new) && !st; x++)
        add_mixture(&d, old, new, x);
    if (!st && groups)
        dnet_mcast_depend(groups, NULL, &d);
    if (!st)
        st = dnet_depends_judge(&d, cyclic_p, cycle);
    dnet_depends_free(&d);
    return st;
}

static bool differs(const change_t *g, int column)
{
    for (int s = 0; s < g->t->n_switches; s++)
        if (!g->t->sw[s].down &&
            dnet_tables_row(g->old, s)[column] != dnet_tables_row(g->new, s)[column])
            return true;
    return false;
}

/* Let columns from..to change at once if that closes no cycle; else halve them, down to one, which
 * is to drain. */
static dnet_status_t admit(change_t *g, int from, int to)
{
    size_t words = g->depends.start[dnet_topo_channels(g->t)];
    dnet_cycle_t cycle;
    int cyclic;
    if (from == to)
        return DNET_OK;
    memcpy(g->trial.bits, g->depends.bits, words * sizeof(*g->trial.bits));
    for (int i = from; i < to; i++)
        add_mixture(&g->trial, g->old, g->new, g->column[i]);
    dnet_status_t st = dnet_depends_judge(&g->trial, &cyclic, &cycle);
    if (st)
        return st;
    if (!cyclic) {
        memcpy(g->depends.bits, g->trial.bits, words * sizeof(*g->trial.bits));
        return DNET_OK;
    }
    if (to - from == 1) {
        g->drained[g->column[from]] = true;
        g->drains++;
        return DNET_OK;
    }
    int middle = from + (to - from) / 2;
    st = admit(g, from, middle);
    return st ? st : admit(g, middle, to);
}

/* The groups go with everything that is written, if they may be in force beside the old tables. */
static dnet_status_t admit_groups(change_t *g, const dnet_mcast_t *groups)
{
    size_t words = g->depends.start[dnet_topo_channels(g->t)];
    dnet_cycle_t cycle;
    int cyclic;
    memcpy(g->trial.bits, g->depends.bits, words * sizeof(*g->trial.bits));
    dnet_mcast_depend(groups, NULL, &g->trial);
    dnet_status_t st = dnet_depends_judge(&g->trial, &cyclic, &cycle);
    g->apart = cyclic > 0;
    if (!st && !g->apart)
        memcpy(g->depends.bits, g->trial.bits, words * sizeof(*g->trial.bits));
    return st;
}

/* The first stage's tables: new, but dropped where a LID that drains had another entry. */
static dnet_status_t make_between(const change_t *g, dnet_transition_t *plan)
{
    dnet_status_t st = dnet_tables_new(g->t, &plan->between);
    for (int s = 0; s < g->t->n_switches && !st; s++) {
        const uint16_t *was = dnet_tables_row(g->old, s), *is = dnet_tables_row(g->new, s);
        uint16_t *row = dnet_tables_row(plan->between, s);
        for (int x = 0; x < dnet_tables_columns(g->new); x++)
            row[x] = g->drained[x] && was[x] != is[x] ? DNET_TABLE_NONE : is[x];
    }
    return st;
}

static dnet_status_t prepare(change_t *g)
{
    size_t columns = (size_t) dnet_tables_columns(g->new);
    g->column = dnet_subnet_alloc(columns, sizeof(*g->column));
    g->drained = dnet_subnet_alloc(columns, sizeof(*g->drained));
    if (!g->column || !g->drained || dnet_depends_init(&g->depends, g->t, 1) ||
        dnet_depends_init(&g->trial, g->t, 1))
        return DNET_ERR_NO_MEMORY;
    for (int x = 0; x < (int) columns; x++) {
        add_mixture(&g->depends, g->old, g->old, x);
        if (differs(g, x))
            g->column[g->columns++] = x;
    }
    return DNET_OK;
}

dnet_status_t dnet_transition_plan(const dnet_topo_t *t, const dnet_tables_t *old,
                                   const dnet_tables_t *new, const dnet_mcast_t *groups,
                                   dnet_transition_t *plan)
{
    change_t g = {.t = t, .old = old, .new = new};
    *plan = (dnet_transition_t){0};
    dnet_status_t st = check(t, old, new);
    if (!st)
        st = prepare(&g);
    if (!st && groups)
        st = admit_groups(&g, groups);
    if (!st)
        st = admit(&g, 0, g.columns);
    if (!st) {
        plan->stages = g.columns == 0 ? 0 : g.drains ? 2 : 1;
        plan->drained = g.drains;
        plan->apart = g.apart;
        if (g.drains)
            st = make_between(&g, plan);
    }
    dnet_depends_free(&g.depends);
    dnet_depends_free(&g.trial);
    free(g.column);
    free(g.drained);
    if (st)
        dnet_transition_free(plan);
    return st;
}

void dnet_transition_free(dnet_transition_t *plan)
{
    dnet_tables_free(plan->between);
    *plan = (dnet_transition_t){0};
}
