/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "tools/common/pages.h"
#include "tools/common/processes.h"
#include "tools/stat/stat.h"

#define TRIES 1000 /* to read a page that is being written */

stat_ranks_t stat_find(int32_t pid)
{
    tool_pages_t pages = tool_pages_find(pid);
    stat_ranks_t ranks = {calloc(pages.count + 1, sizeof(*ranks.rank)), 0};
    for (unsigned i = 0; ranks.rank && i < pages.count; i++)
        ranks.rank[ranks.count++].page = pages.page[i];
    free(pages.page);
    return ranks;
}

/* ---- looking ---- */

static void copy(const dnet_page_t *p, dnet_page_t *to)
{
    for (unsigned i = 0; i < TRIES; i++) {
        /* Acquire: pairs with the release store of the sequence after writing. */
        uint32_t before = atomic_load_explicit(&p->sequence, memory_order_acquire);
        memcpy(to, p, sizeof(*to));
        atomic_thread_fence(memory_order_acquire);
        if (!(before & 1) && atomic_load_explicit(&p->sequence, memory_order_relaxed) == before)
            break;
    }
    to->call[sizeof(to->call) - 1] = to->host[sizeof(to->host) - 1] = '\0';
    for (unsigned i = 0; i < DNET_PAGE_WAITS; i++)
        to->wait[i].comm[sizeof(to->wait[i].comm) - 1] = '\0';
}

static bool starts(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static stat_state_t state_of(const stat_rank_t *r)
{
    const dnet_page_t *p = &r->now;
    uint64_t seen = atomic_load_explicit(&p->seen_ns, memory_order_relaxed);
    char run = tool_run_state(p->pid);
    if (run == '\0' || run == 'Z' || run == 'X')
        return STAT_ENDED;
    if (run == 'T' || run == 't')
        return STAT_STOPPED;
    if (r->before_ns && dnet_page_mark(&r->before) != dnet_page_mark(p))
        return STAT_ACTIVE;
    if (r->now_ns - seen > DNET_PAGE_FRESH_NS || p->mark != dnet_page_mark(p))
        return STAT_COMPUTES;
    return starts(p->call, "MPI_Test") || starts(p->call, "MPI_Iprobe") ||
                   starts(p->call, "MPI_Improbe") || starts(p->call, "MPI_Request_get_status")
               ? STAT_POLLS
               : STAT_WAITS;
}

void stat_look(stat_ranks_t *ranks)
{
    for (unsigned i = 0; i < ranks->count; i++) {
        stat_rank_t *r = &ranks->rank[i];
        r->before = r->now;
        r->before_ns = r->now_ns;
        copy(r->page, &r->now);
        r->now_ns = dnet_clock_ns();
        r->state = state_of(r);
    }
}

double stat_waited_s(const stat_rank_t *r)
{
    return r->now_ns > r->now.since_ns ? (double) (r->now_ns - r->now.since_ns) / 1e9 : 0;
}
