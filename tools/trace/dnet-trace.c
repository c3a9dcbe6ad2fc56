/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-trace: trace points of running processes and of trace files: which there are, switching
 * them, events of all ranks in the order of time.
 */
#include "config.h"

#include "common/log.h"
#include "tools/trace/trace.h"

const trace_point_t trace_points[DNET_TRACE_COUNT] = {
#define DNET_TRACE_POINT(name, room, shape, who, first, second, title) \
    {#name, #room, #shape, who, first, second, title},
#include "common/trace.def"
#undef DNET_TRACE_POINT
};

bool trace_parse_points(const char *text, uint64_t *mask_p)
{
    const char *wrong;
    int len;
    if (dnet_trace_parse(text, mask_p, &wrong, &len))
        return true;
    tool_error("%.*s is no trace point; dnet-trace list shows them", len, wrong);
    return false;
}

static void more(FILE *out)
{
    fprintf(out, "\nWithout PID and FILE: all processes of this user that dimmnet can trace.\n");
}

int main(int argc, char **argv)
{
    static const tool_command_t *const commands[] = {
        &trace_list, &trace_status, &trace_on, &trace_off, &trace_show, &trace_capture, NULL};
    static const tool_t tool = {"dnet-trace", commands, more, NULL};
    dnet_log_identity("dnet-trace");
    return tool_main(&tool, argc, argv);
}
