/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster: persistent clusters of emulated NICs, for dsh and for drivers under development.
 */
#include "config.h"

#include "common/log.h"
#include "tools/cluster/cluster.h"

const char *const cluster_profiles[] = {
    [DNET_PROFILE_PROTOTYPE] = "prototype",
    [DNET_PROFILE_EXTENDED] = "extended",
    [DNET_PROFILE_PROTOTYPE_FLOW] = "prototype-flow",
    NULL,
};

static const tool_command_t *const commands[] = {
    &cluster_up,  &cluster_down,    &cluster_status,  &cluster_path,
    &cluster_cut, &cluster_restore, &cluster_degrade, NULL,
};

bool cluster_name(int argc, char **argv, const char **name_p)
{
    if (argc && *name_p) {
        tool_error("--cluster %s and %s: want one of them", *name_p, argv[0]);
        return false;
    }
    *name_p = argc ? argv[0] : *name_p;
    return true;
}

int main(int argc, char **argv)
{
    static const tool_t tool = {"dnet-cluster", commands, NULL, NULL};
    dnet_log_init();
    dnet_log_identity("dnet-cluster");
    return tool_main(&tool, argc, argv);
}
