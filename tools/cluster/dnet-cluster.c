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

dnet_status_t cluster_find(const char *name, dnet_cluster_t **cluster_p)
{
    name = name ? name : DNET_CLUSTER_NAME_DEFAULT;
    dnet_status_t status = dnet_cluster_open(name, cluster_p);
    if (status == DNET_NOT_FOUND)
        tool_error("no cluster %s of this user; make one with: dnet-cluster up %s", name, name);
    return status;
}

int main(int argc, char **argv)
{
    static const tool_t tool = {"dnet-cluster", commands, NULL};
    dnet_log_init();
    dnet_log_identity("dnet-cluster");
    return tool_main(&tool, argc, argv);
}
