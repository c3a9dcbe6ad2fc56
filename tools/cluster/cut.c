/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster cut: takes a switch, link or server out of service.
 */
#include "config.h"

#include "tools/cluster/cluster.h"

typedef struct {
    const char *name;
    bool force;
} options_t;

static const tool_option_t options[] = {
    CLUSTER_NAME_OPTION(options_t),
    TOOL_OPTION(options_t, force, "force", TOOL_FLAG, NULL,
                "cut although that separates nodes from each other"),
    {NULL},
};

static int run(int argc, char **argv)
{
    dnet_network_t n;
    options_t o = {0};
    if (!tool_parse(&cluster_cut, &argc, &argv, &o))
        return TOOL_USAGE;
    int code = tool_network_open(o.name, true, &n);
    if (code != TOOL_GOOD)
        return code;
    code = tool_exit(dnet_fabric_cut(n.fabric, argv[0], o.force));
    if (code == TOOL_GOOD) {
        code = cluster_sweep(&n);
        if (code != TOOL_GOOD && dnet_fabric_restore(n.fabric, argv[0]) == DNET_OK)
            dnet_switches_set_links(&n.switches, n.fabric->topo);
    }
    dnet_network_leave(&n);
    return code;
}

const tool_command_t cluster_cut = {
    .name = "cut",
    .args = "SWITCH[:PORT] | SERVER",
    .args_least = 1,
    .args_most = 1,
    .summary = "take a switch, link or server out of service, route again",
    .options = options,
    .run = run,
};
