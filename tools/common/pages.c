/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tools/common/pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/common/processes.h"

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

/* A process has a page for each of its endpoints: the visit goes on. */
static bool add(void *arg, int32_t pid, const char *path)
{
    tool_pages_t *pages = arg;
    const dnet_page_t *p = page_map(path, pid);
    if (!p)
        return false;
    const dnet_page_t **grown = realloc(pages->page, (pages->count + 1) * sizeof(*grown));
    if (!grown)
        return false;
    pages->page = grown;
    grown[pages->count++] = p;
    return false;
}

static int by_rank(const void *a, const void *b)
{
    const dnet_page_t *x = *(const dnet_page_t *const *) a, *y = *(const dnet_page_t *const *) b;
    if (x->job != y->job)
        return x->job < y->job ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->vci < y->vci ? -1 : x->vci > y->vci;
}

/* Keep the ranks of one job. */
static void keep(tool_pages_t *pages, uint64_t job)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < pages->count; i++)
        if (pages->page[i]->job == job)
            pages->page[kept++] = pages->page[i];
    pages->count = kept;
}

tool_pages_t tool_pages_find(int32_t pid)
{
    tool_pages_t pages = {NULL, 0};
    if (pid)
        (void) tool_memfd_of(pid, DNET_PAGE_MEMFD, add, &pages);
    bool own = pages.count > 0;
    uint64_t job = own ? pages.page[0]->job : 0;
    pages.count = 0;
    tool_memfds_below(own ? 0 : pid, DNET_PAGE_MEMFD, add, &pages);
    if (own)
        keep(&pages, job);
    if (pages.count)
        qsort(pages.page, pages.count, sizeof(*pages.page), by_rank);
    return pages;
}
