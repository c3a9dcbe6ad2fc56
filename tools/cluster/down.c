/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster down: ends a cluster.
 */
#include "config.h"

#include <stdio.h>

#include "tools/cluster/cluster.h"

static int run(int argc, char **argv)
{
    dnet_cluster_t *cluster;
    if (!tool_parse(&cluster_down, &argc, &argv, NULL))
        return TOOL_USAGE;
    if (cluster_find(argc ? argv[0] : NULL, &cluster) != DNET_OK)
        return TOOL_BAD;
    dnet_status_t status = dnet_cluster_stop(cluster);
    if (status == DNET_OK)
        printf("cluster %s is gone\n", cluster->name);
    dnet_cluster_close(cluster);
    return status == DNET_OK ? TOOL_GOOD : TOOL_BAD;
}

const tool_command_t cluster_down = {
    .name = "down",
    .args = "[NAME]",
    .args_most = 1,
    .summary = "end a cluster",
    .run = run,
};
