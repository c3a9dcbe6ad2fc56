/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-trace on and off: switches trace points of running processes.
 */
#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "common/file_size.h"
#include "tools/trace/trace.h"

typedef struct {
    tool_texts_t job;
} options_t;

static const tool_option_t options[] = {
    TRACE_JOB_OPTION(options_t),
    {NULL},
};

/* The ring's memory is reserved first, so that its process never meets a page that cannot be had.
 */
static bool switch_points(uint64_t mask)
{
    bool good = true;
    for (unsigned i = 0; i < trace_ring_count; i++) {
        uint64_t bytes = DNET_TRACE_HEADER_BYTES +
                         (uint64_t) trace_rings[i].capacity * sizeof(dnet_trace_event_t);
        int cause = mask ? dnet_file_reserve(trace_rings[i].fd, 0, bytes) : 0;
        if (cause) {
            tool_error("%s: a ring of %" PRIu64 " bytes: %s", trace_rings[i].who, bytes,
                       strerror(cause));
            good = false;
            continue;
        }
        atomic_store_explicit(&trace_rings[i].header->mask, mask, memory_order_relaxed);
    }
    return good;
}

static int run_on(int argc, char **argv)
{
    options_t o = {0};
    uint64_t mask;
    if (!tool_parse(&trace_on, &argc, &argv, &o) || !trace_parse_points(argv[0], &mask))
        return TOOL_USAGE;
    return trace_find_rings(argv + 1, &o.job, true) && switch_points(mask) ? TOOL_GOOD : TOOL_BAD;
}

static int run_off(int argc, char **argv)
{
    options_t o = {0};
    if (!tool_parse(&trace_off, &argc, &argv, &o))
        return TOOL_USAGE;
    return trace_find_rings(argv, &o.job, true) && switch_points(0) ? TOOL_GOOD : TOOL_BAD;
}

const tool_command_t trace_on = {
    .name = "on",
    .args = "POINTS [FILE]...",
    .args_least = 1,
    .args_most = INT32_MAX,
    .summary = "switch these points on, and no others",
    .options = options,
    .run = run_on,
};

const tool_command_t trace_off = {
    .name = "off",
    .args = "[FILE]...",
    .args_most = INT32_MAX,
    .summary = "switch all points off",
    .options = options,
    .run = run_off,
};
