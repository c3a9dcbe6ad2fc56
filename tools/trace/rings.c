/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/number.h"
#include "tools/common/processes.h"
#include "tools/trace/trace.h"

trace_ring_t *trace_rings;
unsigned trace_ring_count;

/* Maps an open file as a ring.  @return what is wrong with it, or NULL */
static const char *ring_map(trace_ring_t *r, bool write)
{
    struct stat st;
    if (r->fd < 0 || fstat(r->fd, &st) != 0)
        return strerror(errno);
    if (st.st_size < DNET_TRACE_HEADER_BYTES || !S_ISREG(st.st_mode))
        return "not a trace";
    void *at = mmap(NULL, (size_t) st.st_size, write ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_SHARED, r->fd, 0);
    if (at == MAP_FAILED)
        return strerror(errno);
    r->header = at;
    r->device = st.st_dev;
    r->inode = st.st_ino;
    r->capacity = r->header->capacity;
    if (r->header->magic != DNET_TRACE_MAGIC)
        return "not a trace";
    if (r->header->version != DNET_TRACE_VERSION || r->header->list != dnet_trace_list_id())
        return "made by another version of dimmnet; use its dnet-trace";
    uint64_t bytes = DNET_TRACE_HEADER_BYTES + r->capacity * sizeof(dnet_trace_event_t);
    return (uint64_t) st.st_size < bytes || r->capacity == 0 ? "cut off" : NULL;
}

/* Is the ring among those we have?  Who looks at a process's ring, as this one does, has it open,
 * too. */
static bool ring_known(const trace_ring_t *r)
{
    for (unsigned i = 0; i < trace_ring_count; i++)
        if (trace_rings[i].device == r->device && trace_rings[i].inode == r->inode)
            return true;
    return false;
}

/* Shown between quotes and commas, whatever has become of the file. */
static void take_name(trace_ring_t *r)
{
    memcpy(r->who, r->header->who, sizeof(r->header->who));
    for (char *c = r->who; *c; c++)
        if (*c < ' ' || *c > '~' || strchr("\"\\,", *c))
            *c = '?';
}

/* Processes of one host have one clock: what each has read of its epoch differs by the time between
 * its two looks only, and would change the order of their events.  Another host has another epoch.
 */
#define ONE_HOST_NS UINT64_C(100000000)
static int64_t epoch_of(const trace_ring_t *r)
{
    int64_t own = r->header->epoch_ns;
    for (unsigned i = 0; i < trace_ring_count; i++)
        if ((uint64_t) own - (uint64_t) trace_rings[i].epoch_ns + ONE_HOST_NS < 2 * ONE_HOST_NS)
            return trace_rings[i].epoch_ns;
    return own;
}

/* Opens and keeps a ring; one that is none gets a line. */
static bool ring_add(const char *path, bool write)
{
    trace_ring_t r = {.fd = open(path, write ? O_RDWR | O_CLOEXEC : O_RDONLY | O_CLOEXEC)};
    const char *wrong = ring_map(&r, write);
    if (wrong) {
        tool_error("%s: %s", path, wrong);
        if (r.fd >= 0)
            close(r.fd);
        return false;
    }
    if (ring_known(&r)) {
        munmap(r.header, DNET_TRACE_HEADER_BYTES + r.capacity * sizeof(dnet_trace_event_t));
        close(r.fd);
        return true;
    }
    take_name(&r);
    r.epoch_ns = epoch_of(&r);
    trace_rings = realloc(trace_rings, (trace_ring_count + 1) * sizeof(*trace_rings));
    if (!trace_rings)
        abort();
    trace_rings[trace_ring_count++] = r;
    return true;
}

static bool ring_visit(void *arg, int32_t pid, const char *path)
{
    (void) pid;
    return ring_add(path, *(const bool *) arg);
}

/* A process that has a ring, else those it has started: mpirun stands for its job. */
static bool rings_of_job(const char *text, bool write)
{
    uint64_t pid = 0;
    unsigned before = trace_ring_count;
    (void) dnet_number(text, 1, INT32_MAX, &pid); /* as the option wants it */
    if (tool_memfd_of((int32_t) pid, DNET_TRACE_MEMFD, ring_visit, &write))
        return true;
    tool_memfds_below((int32_t) pid, DNET_TRACE_MEMFD, ring_visit, &write);
    if (trace_ring_count > before)
        return true;
    tool_error("process %s cannot be traced: neither it nor a process it has started has a dimmnet "
               "endpoint, or it writes its trace to a file, or is another user's",
               text);
    return false;
}

bool trace_find_rings(char **files, const tool_texts_t *job, bool write)
{
    bool good = true;
    for (int i = 0; i < job->count; i++)
        good &= rings_of_job(job->text[i], write);
    for (char **f = files; *f; f++)
        good &= ring_add(*f, write);
    if (!*files && !job->count) {
        tool_memfds_below(0, DNET_TRACE_MEMFD, ring_visit, &write);
        good = trace_ring_count > 0;
        if (!good)
            tool_error("no process of this user has a dimmnet endpoint now");
    }
    return good;
}
