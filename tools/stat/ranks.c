/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "tools/common/command.h"
#include "tools/common/processes.h"
#include "tools/stat/stat.h"

#define TRIES 1000 /* to read a page that is being written */

/* ---- finding ---- */

/* A page as another process shows it.  NULL: it is none of this version, or a child's, which has it
 * from its parent. */
static const dnet_page_t *page_map(const char *path, int32_t pid)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool fits = fd >= 0 && fstat(fd, &st) == 0 && st.st_size == DNET_PAGE_BYTES;
    const dnet_page_t *p = MAP_FAILED;
    if (fits)
        p = mmap(NULL, DNET_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (p == MAP_FAILED)
        return NULL;
    if (p->magic == DNET_PAGE_MAGIC && p->version == DNET_PAGE_VERSION && p->pid == pid)
        return p;
    munmap((void *) (uintptr_t) p, DNET_PAGE_BYTES);
    return NULL;
}

static bool add(void *arg, int32_t pid, const char *path)
{
    stat_ranks_t *ranks = arg;
    const dnet_page_t *p = page_map(path, pid);
    if (!p)
        return false;
    stat_rank_t *grown = realloc(ranks->rank, (ranks->count + 1) * sizeof(*grown));
    if (!grown)
        return false;
    ranks->rank = grown;
    grown[ranks->count++] = (stat_rank_t){.page = p};
    return true;
}

static int by_rank(const void *a, const void *b)
{
    const dnet_page_t *x = ((const stat_rank_t *) a)->page, *y = ((const stat_rank_t *) b)->page;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* Keep the ranks of one job. */
static void keep(stat_ranks_t *ranks, uint64_t job)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < ranks->count; i++)
        if (ranks->rank[i].page->job == job)
            ranks->rank[kept++] = ranks->rank[i];
    ranks->count = kept;
}

stat_ranks_t stat_find(int32_t pid)
{
    stat_ranks_t ranks = {NULL, 0};
    bool own = pid && tool_memfd_of(pid, DNET_PAGE_MEMFD, add, &ranks);
    uint64_t job = own ? ranks.rank[0].page->job : 0;
    ranks.count = 0;
    tool_memfds_below(own ? 0 : pid, DNET_PAGE_MEMFD, add, &ranks);
    if (own)
        keep(&ranks, job);
    if (ranks.count)
        qsort(ranks.rank, ranks.count, sizeof(*ranks.rank), by_rank);
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
