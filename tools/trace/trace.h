/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the commands of dnet-trace share: trace points, and the rings of processes and files.
 */
#ifndef DNET_TOOLS_TRACE_H
#define DNET_TOOLS_TRACE_H

#include <sys/types.h>

#include "common/trace.h"
#include "tools/common/command.h"

extern const tool_command_t trace_list, trace_status, trace_on, trace_off, trace_show,
    trace_capture;

typedef struct {
    const char *name, *room, *shape, *who, *first, *second, *title;
} trace_point_t;

extern const trace_point_t trace_points[DNET_TRACE_COUNT];

/* A ring of a process or a file, mapped. */
typedef struct {
    int fd;
    dev_t device; /* with `inode`: which file it is */
    ino_t inode;
    dnet_trace_header_t *header;
    uint32_t capacity;
    int64_t epoch_ns; /* its host's: what makes times of events times of the day */
    char who[33];
} trace_ring_t;

extern trace_ring_t *trace_rings;
extern unsigned trace_ring_count;

#define TRACE_JOB_OPTION(type) \
    TOOL_OPTION(type, job, "job", TOOL_TEXTS, "PID", \
                "this process, or those it has started; repeatable (all of this user)", \
                .letter = 'p', .least = 1, .most = INT32_MAX), \
        TOOL_OPTION(type, job, "pid", TOOL_TEXTS, "PID", NULL, .least = 1, .most = INT32_MAX)

/**
 * Map what is asked for: files, processes, or without either all processes of this user.
 *
 * @param files  ends with NULL
 * @return false: not all could be had; lines have said why
 */
bool trace_find_rings(char **files, const tool_texts_t *job, bool write);

/** Points by their names.  @return false: a line has said which is none */
bool trace_parse_points(const char *text, uint64_t *mask_p);

#endif
