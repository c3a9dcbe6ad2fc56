/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-trace status: which points are on, how much is in the rings.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/trace/trace.h"

typedef struct {
    tool_texts_t job;
} options_t;

static const tool_option_t options[] = {
    TRACE_JOB_OPTION(options_t),
    {NULL},
};

static void show(void)
{
    printf("%-10s %8s %10s %10s  points that are on\n", "who", "pid", "events", "room for");
    for (unsigned i = 0; i < trace_ring_count; i++) {
        const dnet_trace_header_t *h = trace_rings[i].header;
        uint64_t mask = atomic_load_explicit(&h->mask, memory_order_relaxed);
        printf("%-10s %8d %10" PRIu64 " %10" PRIu32 "  ", trace_rings[i].who, h->pid,
               atomic_load_explicit(&h->next, memory_order_relaxed), trace_rings[i].capacity);
        bool all = mask + 1 == 1ull << DNET_TRACE_COUNT;
        for (unsigned p = 0; p < DNET_TRACE_COUNT && !all; p++)
            if (mask >> p & 1)
                printf("%s%s", mask & ((1ull << p) - 1) ? "," : "", trace_points[p].name);
        printf("%s\n", all ? "all" : mask ? "" : "none");
    }
}

static int run(int argc, char **argv)
{
    options_t o = {0};
    if (!tool_parse(&trace_status, &argc, &argv, &o))
        return TOOL_USAGE;
    if (!trace_find_rings(argv, &o.job, false))
        return TOOL_BAD;
    show();
    return TOOL_GOOD;
}

const tool_command_t trace_status = {
    .name = "status",
    .args = "[FILE]...",
    .args_most = INT32_MAX,
    .summary = "which points are on, how much is in the rings",
    .options = options,
    .run = run,
};
