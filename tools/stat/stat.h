/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-stat: what its files share.
 *
 *   ranks.c     the pages of the ranks, and what each does
 *   deadlock.c  who waits for whom for ever
 *   show.c      as tables and as JSON
 *   nics.c      --nics: rings, stops and resends as the NICs show them
 */
#ifndef DNET_TOOLS_STAT_H
#define DNET_TOOLS_STAT_H

#include "endpoint/page.h"
#include "tools/common/nics.h"

typedef enum {
    STAT_COMPUTES, /* in no call of MPI that waits, and no messages come or go */
    STAT_ACTIVE,   /* messages come or go */
    STAT_WAITS,
    STAT_POLLS,   /* asks again and again whether something has come */
    STAT_STOPPED, /* by a signal or a debugger */
    STAT_ENDED,
} stat_state_t;

/** A rank as it is now, or one of its VCIs. */
typedef struct {
    const dnet_page_t *page; /* mapped read-only */
    dnet_page_t now, before; /* copies */
    uint64_t now_ns, before_ns;
    stat_state_t state;
} stat_rank_t;

typedef struct {
    stat_rank_t *rank; /* by job, by rank, then by VCI; freed by the caller */
    unsigned count;
} stat_ranks_t;

/** A set of ranks of one job that wait for each other. */
typedef struct {
    bool certain; /* none of them can go on; else each waits for the next, but for others too */
    unsigned path_count; /* 0: there is none */
    uint32_t path[64];   /* first one = last one; or, if `circle` is false, just the ranks */
    bool circle;
} stat_deadlock_t;

/** The ranks of the job that a process belongs to or has started; pid 0: of all jobs of this user.
 * Their states are known after two calls of stat_look(). */
stat_ranks_t stat_find(int32_t pid);

/** Look at all of them again. */
void stat_look(stat_ranks_t *ranks);

/** Seconds since a rank that waits has got on. */
double stat_waited_s(const stat_rank_t *r);

/** Waits that the copy of a page lists. */
static inline unsigned stat_waits(const dnet_page_t *p)
{
    return p->waits < DNET_PAGE_WAITS ? p->waits : DNET_PAGE_WAITS;
}

/** Who waits for whom among `count` ranks of one job?  path_count 0: nobody for ever, or nobody
 * but ranks with several VCIs, of whose threads one may help the other. */
stat_deadlock_t stat_deadlock(const stat_rank_t *rank, unsigned count);

/** Show the jobs.  @param rates  there were two looks as far apart as the user wants */
void stat_show(const stat_ranks_t *ranks, bool rates);

/** The same as one JSON object on standard output.  @return false: it could not be written */
bool stat_show_json(const stat_ranks_t *ranks);

/** Show NICs.  @return processes shown */
unsigned stat_nics(const nics_t *nics, bool json);

#endif
