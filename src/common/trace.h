/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Trace points (docs/tracing.md section 2): always compiled, one load and one branch when off,
 * switched at the start by DIMMNET_TRACE and at any time by dnet-trace, which reads the ring and
 * writes the mask of points in the page before it.
 *
 * The ring is a file: an unnamed one that /proc/PID/fd shows to processes of the same user, or the
 * one that DIMMNET_TRACE_FILE names, which outlives the process.
 */
#ifndef DNET_COMMON_TRACE_H
#define DNET_COMMON_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/compiler.h"
#include "dimmnet/status.h"

typedef enum {
#define DNET_TRACE_POINT(name, room, shape, who, first, second, title) DNET_TRACE_##name,
#include "common/trace.def"
#undef DNET_TRACE_POINT
    DNET_TRACE_COUNT,
} dnet_trace_point_t;
_Static_assert(DNET_TRACE_COUNT <= 64, "the mask has a bit for each point");

#define DNET_TRACE_MAGIC 0x4543415254444e44ull /* "DNDTRACE" */
#define DNET_TRACE_VERSION 1u
#define DNET_TRACE_HEADER_BYTES 4096u
#define DNET_TRACE_MEMFD "dnet-trace"

/** First page of a ring. */
typedef struct {
    uint64_t magic;        /* +0x00 */
    uint32_t version;      /* +0x08 */
    uint32_t points;       /* +0x0c DNET_TRACE_COUNT of the writer */
    uint64_t list;         /* +0x10 dnet_trace_list_id() of the writer */
    uint32_t capacity;     /* +0x18 events */
    int32_t pid;           /* +0x1c */
    int64_t epoch_ns;      /* +0x20 what makes times of events times of the day */
    char who[32];          /* +0x28 "rank 3" */
    _Atomic uint64_t mask; /* +0x48 points that are on; any process of the user may change it */
    _Atomic uint64_t next; /* +0x50 events written since the start */
} dnet_trace_header_t;
_Static_assert(sizeof(dnet_trace_header_t) == 0x58, "trace header layout");

/** An event.  time_ns is stored last, and is 0 while the rest is written. */
typedef struct {
    _Atomic uint64_t time_ns; /* +0x00 CLOCK_MONOTONIC */
    uint32_t point;           /* +0x08 */
    uint32_t who;             /* +0x0c */
    uint64_t first;           /* +0x10 */
    uint64_t second;          /* +0x18 */
} dnet_trace_event_t;
_Static_assert(sizeof(dnet_trace_event_t) == 32, "trace event layout");

/* The ring of this process; one whose points are all off before dnet_trace_open(). */
extern dnet_trace_header_t *dnet_trace_ring __attribute__((visibility("hidden")));

/** Append an event to the ring.  Callers use DNET_TRACE(), which looks at the mask first. */
void dnet_trace_write(dnet_trace_point_t point, uint32_t who, uint64_t first,
                      uint64_t second) DNET_COLD __attribute__((visibility("hidden")));

/** Is this point switched on? */
static inline bool dnet_trace_on(dnet_trace_point_t point)
{
    return atomic_load_explicit(&dnet_trace_ring->mask, memory_order_relaxed) >> point & 1;
}

/* The arguments are not evaluated while the point is off. */
#define DNET_TRACE(point, who, first, second) \
    do { \
        if (DNET_UNLIKELY(dnet_trace_on(DNET_TRACE_##point))) \
            dnet_trace_write(DNET_TRACE_##point, (uint32_t) (who), (uint64_t) (first), \
                             (uint64_t) (second)); \
    } while (0)

/**
 * Make this process's ring.  Each successful call wants a dnet_trace_close().
 *
 * @param points  points to switch on, as dnet_trace_parse() takes them; NULL: none yet, and then a
 *                ring that cannot be had is no error
 * @param path    file for the ring, made or emptied, mode 0600; NULL: an unnamed one
 * @param events  capacity; the newest are kept
 * @param who     name of this process, at most 31 bytes are kept
 * @return DNET_OK; DNET_ERR_FORMAT (points); DNET_ERR_SYSTEM (file); DNET_ERR_NO_MEMORY; each
 *         logged
 */
dnet_status_t dnet_trace_open(const char *points, const char *path, uint32_t events,
                              const char *who);

/** Undo one successful dnet_trace_open(); the last one unmaps the ring. */
void dnet_trace_close(void);

/**
 * The mask of a list of points, separated by commas: names of points, names of rooms, "all",
 * "none".
 *
 * @return true; false: *wrong_p points to the word that is none of these, *len_p bytes long
 */
bool dnet_trace_parse(const char *points, uint64_t *mask_p, const char **wrong_p, int *len_p);

/** A number that tells lists of trace points apart. */
uint64_t dnet_trace_list_id(void);

#endif
