/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster restore: puts a switch, link or server back into service.
 */
#include "config.h"

#include "tools/cluster/cluster.h"

typedef struct {
    const char *name;
} options_t;

static const tool_option_t options[] = {
    CLUSTER_NAME_OPTION(options_t),
    {NULL},
};

static int run(int argc, char **argv)
{
    dnet_network_t n;
    options_t o = {0};
    if (!tool_parse(&cluster_restore, &argc, &argv, &o))
        return TOOL_USAGE;
    int code = tool_network_open(o.name, true, &n);
    if (code != TOOL_GOOD)
        return code;
    code = tool_exit(dnet_fabric_restore(n.fabric, argv[0]));
    if (code == TOOL_GOOD)
        code = cluster_sweep(&n);
    dnet_network_leave(&n);
    return code;
}

const tool_command_t cluster_restore = {
    .name = "restore",
    .args = "SWITCH[:PORT] | SERVER",
    .args_least = 1,
    .args_most = 1,
    .summary = "put it back into service, route again",
    .options = options,
    .run = run,
};
