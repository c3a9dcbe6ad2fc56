/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster down: ends a cluster.
 */
#include "config.h"

#include <stdio.h>

#include "tools/cluster/cluster.h"

typedef struct {
    const char *name;
} options_t;

static const tool_option_t options[] = {
    TOOL_CLUSTER_OPTION(options_t, name),
    {NULL},
};

static int run(int argc, char **argv)
{
    dnet_cluster_t *cluster;
    options_t o = {0};
    if (!tool_parse(&cluster_down, &argc, &argv, &o) || !cluster_name(argc, argv, &o.name))
        return TOOL_USAGE;
    int code = tool_cluster_open(o.name, &cluster);
    if (code != TOOL_GOOD)
        return code;
    dnet_status_t status = dnet_cluster_stop(cluster);
    if (status == DNET_OK)
        printf("cluster %s is gone\n", cluster->name);
    dnet_cluster_close(cluster);
    return tool_exit(status);
}

const tool_command_t cluster_down = {
    .name = "down",
    .args = "[NAME]",
    .args_most = 1,
    .summary = "end a cluster",
    .options = options,
    .run = run,
};
