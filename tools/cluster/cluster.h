/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the commands of dnet-cluster share.
 */
#ifndef DNET_TOOLS_CLUSTER_H
#define DNET_TOOLS_CLUSTER_H

#include <stdbool.h>

#include "cluster/network.h"
#include "tools/common/command.h"
#include "tools/common/json_out.h"

extern const tool_command_t cluster_up, cluster_down, cluster_status, cluster_path, cluster_cut,
    cluster_restore, cluster_degrade;

extern const char *const cluster_profiles[]; /* names by dnet_profile_t, NULL at the end */

/** Open a cluster, NULL: the one of the usual name; a line says so when there is none. */
dnet_status_t cluster_find(const char *name, dnet_cluster_t **cluster_p);

/* ---- network.c: the network between the nodes ---- */

#define CLUSTER_NAME_OPTION(type) \
    TOOL_OPTION(type, name, "cluster", TOOL_TEXT, "NAME", \
                "the cluster (" DNET_CLUSTER_NAME_DEFAULT ")"), \
        TOOL_OPTION(type, name, "name", TOOL_TEXT, "NAME", NULL)

/** Take the network of a cluster, to change it or to look.  @return false: a line has said why */
bool cluster_take_network(const char *name, bool change, dnet_network_t *n);

/** What a network is, as lines or members. */
void cluster_show_network(dnet_json_t *json, const dnet_fabric_t *f);

/** New tables for what is in service; says what has changed.  @return exit status */
int cluster_sweep(dnet_network_t *n);

#endif
