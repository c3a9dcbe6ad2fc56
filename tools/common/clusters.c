/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tools/common/clusters.h"

int tool_cluster_open(const char *name, dnet_cluster_t **cluster_p)
{
    name = name ? name : DNET_CLUSTER_NAME_DEFAULT;
    dnet_status_t status = dnet_cluster_open(name, cluster_p);
    if (status == DNET_NOT_FOUND)
        tool_error("no cluster %s of this user; make one with: dnet-cluster up %s", name, name);
    return tool_exit(status);
}
