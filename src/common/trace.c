/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file_size.h"
#include "common/log.h"

static dnet_trace_header_t off;
dnet_trace_header_t *dnet_trace_ring = &off;

static unsigned users;
static uint32_t capacity; /* never the ring's own word, which others can write */
static int ring_fd = -1;

static size_t ring_bytes(uint32_t events)
{
    return DNET_TRACE_HEADER_BYTES + (size_t) events * sizeof(dnet_trace_event_t);
}

void dnet_trace_write(dnet_trace_point_t point, uint32_t who, uint64_t first, uint64_t second)
{
    dnet_trace_event_t *events =
        (dnet_trace_event_t *) (void *) ((uint8_t *) dnet_trace_ring + DNET_TRACE_HEADER_BYTES);
    uint64_t n = atomic_fetch_add_explicit(&dnet_trace_ring->next, 1, memory_order_relaxed);
    dnet_trace_event_t *e = &events[n % capacity];
    /* A reader that sees any word of the new event finds time 0 when it looks at the time again. */
    atomic_store_explicit(&e->time_ns, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    e->point = point;
    e->who = who;
    e->first = first;
    e->second = second;
    atomic_store_explicit(&e->time_ns, dnet_clock_read_ns(CLOCK_MONOTONIC), memory_order_release);
}

/* ---- lists of points ---- */

static bool is_word(const char *text, size_t len, const char *word)
{
    return strlen(word) == len && strncmp(text, word, len) == 0;
}

/* What points were called before: still understood. */
static const struct {
    const char *old, *now;
} renamed[] = {{"request", "rts"}, {"answer", "cts"}, {"answered", "cleared"}};

/* The points a word stands for; 0: none. */
static uint64_t points_of(const char *word, size_t len)
{
    uint64_t mask = 0;
    for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++) {
        if (is_word(word, len, renamed[i].old)) {
            dnet_warn("trace point %s is now called %s", renamed[i].old, renamed[i].now);
            return points_of(renamed[i].now, strlen(renamed[i].now));
        }
    }
#define DNET_TRACE_POINT(name, room, shape, who, first, second, title) \
    if (is_word(word, len, #name) || is_word(word, len, #room) || is_word(word, len, "all")) \
        mask |= 1ull << DNET_TRACE_##name;
#include "common/trace.def"
#undef DNET_TRACE_POINT
    return mask;
}

bool dnet_trace_parse(const char *points, uint64_t *mask_p, const char **wrong_p, int *len_p)
{
    uint64_t mask = 0;
    for (const char *c = points;; c++) {
        size_t len = strcspn(c, ",");
        uint64_t more = points_of(c, len);
        if (!more && !is_word(c, len, "none")) {
            *wrong_p = c;
            *len_p = (int) len;
            return false;
        }
        mask |= more;
        c += len;
        if (!*c)
            break;
    }
    *mask_p = mask;
    return true;
}

uint64_t dnet_trace_list_id(void)
{
    static const char list[] =
#define DNET_TRACE_POINT(name, room, shape, who, first, second, title) #name #who #first #second ","
#include "common/trace.def"
#undef DNET_TRACE_POINT
        ;
    uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */
    for (const char *c = list; *c; c++)
        h = (h ^ (uint8_t) *c) * 0x100000001b3ull;
    return h;
}

/* ---- the ring ---- */

/* A file of the ring's size, of which the first `reserved` bytes are there for sure.  @return
 * descriptor; -1: errno says why */
static int make_file(const char *path, uint32_t events, size_t reserved)
{
    struct stat st;
    int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600)
                  : memfd_create(DNET_TRACE_MEMFD, MFD_CLOEXEC);
    if (fd < 0)
        return -1;
    int cause = 0;
    if (fstat(fd, &st) != 0)
        cause = errno;
    else if (!S_ISREG(st.st_mode))
        cause = EINVAL;
    else if (!dnet_file_size_allowed(ring_bytes(events)))
        cause = EFBIG;
    else if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t) ring_bytes(events)) != 0)
        cause = errno;
    else
        cause = dnet_file_reserve(fd, 0, reserved);
    if (cause == 0)
        return fd;
    close(fd);
    errno = cause;
    return -1;
}

/* Give the process its ring. */
static dnet_status_t start(const char *path, uint32_t events, const char *who, uint64_t mask)
{
    size_t bytes = ring_bytes(events);
    /* What is written must be there: a ring that is on is whole, one that may be is a page. */
    int fd = make_file(path, events, mask || path ? bytes : DNET_TRACE_HEADER_BYTES);
    if (fd < 0)
        return errno == ENOSPC && !path ? DNET_ERR_NO_MEMORY : DNET_ERR_SYSTEM;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        close(fd);
        return DNET_ERR_NO_MEMORY;
    }
    dnet_trace_header_t *ring = at;
    *ring = (dnet_trace_header_t){
        .magic = DNET_TRACE_MAGIC,
        .version = DNET_TRACE_VERSION,
        .points = DNET_TRACE_COUNT,
        .list = dnet_trace_list_id(),
        .capacity = events,
        .pid = getpid(),
        .epoch_ns =
            (int64_t) (dnet_clock_read_ns(CLOCK_REALTIME) - dnet_clock_read_ns(CLOCK_MONOTONIC)),
    };
    strncpy(ring->who, who, sizeof(ring->who) - 1);
    capacity = events;
    ring_fd = fd;
    dnet_trace_ring = ring;
    atomic_store_explicit(&ring->mask, mask, memory_order_relaxed);
    return DNET_OK;
}

dnet_status_t dnet_trace_open(const char *points, const char *path, uint32_t events,
                              const char *who)
{
    uint64_t mask = 0;
    const char *wrong;
    int len;
    if (points && !dnet_trace_parse(points, &mask, &wrong, &len)) {
        dnet_error("DIMMNET_TRACE=%s: '%.*s' is no trace point; dnet-trace list shows them", points,
                   len, wrong);
        return DNET_ERR_FORMAT;
    }
    if (users == 0) {
        dnet_status_t status = start(path, events, who, mask);
        if (status != DNET_OK && (points || path)) {
            dnet_error("cannot keep a trace of %" PRIu32 " events in %s: %s", events,
                       path ? path : "memory",
                       errno == EINVAL ? "not a regular file" : strerror(errno));
            return status;
        }
    }
    users++;
    return DNET_OK;
}

void dnet_trace_close(void)
{
    if (--users > 0 || dnet_trace_ring == &off)
        return;
    void *ring = dnet_trace_ring;
    dnet_trace_ring = &off;
    munmap(ring, ring_bytes(capacity));
    close(ring_fd);
    ring_fd = -1;
}
