/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that waits for several others may need all of them, or any: its lists do not tell.  So
 *
 *   certain   a set of waiting ranks of which each waits for ranks of the set only: whichever of
 * its waits would have to end first, none can perhaps   a circle in which each waits for the next,
 * but some wait for others as well
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "tools/stat/stat.h"

/* A job's ranks by number; those that are not there are NULL. */
typedef struct {
    const stat_rank_t **of;
    uint32_t size;
    bool *in; /* may be in the set */
} job_t;

static bool waits_for(const dnet_wait_t *w)
{
    return dnet_wait_is_for(w->kind);
}

/* Does the rank wait, and for what its page lists? */
static bool may_be_stuck(const stat_rank_t *r)
{
    const dnet_page_t *p = &r->now;
    bool some = false;
    for (unsigned i = 0; i < stat_waits(p); i++)
        some |= waits_for(&p->wait[i]);
    return r->state == STAT_WAITS && some && p->waits <= DNET_PAGE_WAITS;
}

/* Can this wait end because of a rank outside the set, or of a process of another job? */
static bool leads_out(const job_t *j, uint32_t self, const dnet_wait_t *w)
{
    if (w->rank < j->size)
        return !j->in[w->rank];
    if (w->rank == DNET_WAIT_OTHER_JOB)
        return true;
    for (uint32_t r = 0; r < j->size; r++)
        if (r != self && !j->in[r])
            return true;
    return false;
}

static bool any_leads_out(const job_t *j, uint32_t r)
{
    const dnet_page_t *p = &j->of[r]->now;
    for (unsigned i = 0; i < stat_waits(p); i++)
        if (waits_for(&p->wait[i]) && leads_out(j, r, &p->wait[i]))
            return true;
    return false;
}

/* The largest set that no wait leads out of.  @return its ranks */
static uint32_t close_set(const job_t *j)
{
    uint32_t left = 0;
    for (bool changed = true; changed;) {
        changed = false;
        left = 0;
        for (uint32_t r = 0; r < j->size; r++) {
            if (!j->in[r])
                continue;
            if (any_leads_out(j, r))
                j->in[r] = !(changed = true);
            else
                left++;
        }
    }
    return left;
}

/* Whom a rank waits for next on a way; size: nobody of the set. */
static uint32_t next_of(const job_t *j, uint32_t r, unsigned *from)
{
    const dnet_page_t *p = &j->of[r]->now;
    for (; *from < stat_waits(p); (*from)++) {
        const dnet_wait_t *w = &p->wait[*from];
        if (waits_for(w) && w->rank < j->size && j->in[w->rank]) {
            (*from)++;
            return w->rank;
        }
    }
    return j->size;
}

/* Depth first: a rank met again while it is on the way closes a circle. */
static bool find_circle(const job_t *j, stat_deadlock_t *d)
{
    enum { NEW, ON_WAY, DONE };
    uint8_t *mark = calloc(j->size, 1);
    uint32_t *way = calloc(j->size, sizeof(*way));
    unsigned *at = calloc(j->size, sizeof(*at));
    for (uint32_t start = 0; mark && way && at && !d->path_count && start < j->size; start++) {
        uint32_t depth = 0;
        if (!j->in[start] || mark[start] != NEW)
            continue;
        way[depth++] = start;
        mark[start] = ON_WAY;
        while (depth && !d->path_count) {
            uint32_t r = way[depth - 1], next = next_of(j, r, &at[r]);
            if (next == j->size) {
                mark[r] = DONE;
                depth--;
            } else if (mark[next] == NEW) {
                mark[next] = ON_WAY;
                way[depth++] = next;
            } else if (mark[next] == ON_WAY) {
                uint32_t first = 0;
                while (way[first] != next)
                    first++;
                for (uint32_t i = first; i < depth && d->path_count + 1 < 64; i++)
                    d->path[d->path_count++] = way[i];
                d->path[d->path_count++] = next;
                d->circle = true;
            }
        }
    }
    free(mark);
    free(way);
    free(at);
    return d->path_count > 0;
}

static void list_set(const job_t *j, stat_deadlock_t *d)
{
    for (uint32_t r = 0; r < j->size && d->path_count < 64; r++)
        if (j->in[r])
            d->path[d->path_count++] = r;
}

static void fill(const job_t *j, bool for_circle)
{
    for (uint32_t r = 0; r < j->size; r++)
        j->in[r] = j->of[r] && may_be_stuck(j->of[r]) &&
                   !(for_circle && (strcmp(j->of[r]->now.call, "MPI_Waitany") == 0 ||
                                    strcmp(j->of[r]->now.call, "MPI_Waitsome") == 0));
}

stat_deadlock_t stat_deadlock(const stat_rank_t *rank, unsigned count)
{
    stat_deadlock_t d = {.certain = false};
    uint32_t size = count ? rank[0].now.size : 0;
    job_t j = {calloc(size + 1, sizeof(*j.of)), size, calloc(size + 1, sizeof(*j.in))};
    if (j.of && j.in) {
        /* the VCIs of a rank follow each other, VCI 0 first */
        for (unsigned i = 0; i < count; i++)
            if (rank[i].now.rank < size)
                j.of[rank[i].now.rank] = rank[i].now.vci ? NULL : &rank[i];
        fill(&j, false);
        d.certain = close_set(&j) > 0;
        if (!d.certain)
            fill(&j, true);
        if (!find_circle(&j, &d) && d.certain)
            list_set(&j, &d);
    }
    free(j.of);
    free(j.in);
    return d;
}
