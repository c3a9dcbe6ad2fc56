/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tools/common/clusters.h"

int tool_network_take(const dnet_cluster_t *cluster, bool change, dnet_network_t *network_p)
{
    dnet_status_t status = dnet_network_take(cluster, change, network_p);
    if (status == DNET_NOT_FOUND)
        tool_error("cluster %s has no network; make it with dnet-cluster up --topology",
                   cluster->name);
    return tool_exit(status);
}

int tool_network_open(const char *name, bool change, dnet_network_t *network_p)
{
    dnet_cluster_t *cluster;
    int code = tool_cluster_open(name, &cluster);
    if (code != TOOL_GOOD)
        return code;
    code = tool_network_take(cluster, change, network_p);
    dnet_cluster_close(cluster);
    return code;
}
