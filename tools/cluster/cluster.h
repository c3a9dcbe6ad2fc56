/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the commands of dnet-cluster share.
 */
#ifndef DNET_TOOLS_CLUSTER_H
#define DNET_TOOLS_CLUSTER_H

#include <stdbool.h>

#include "tools/common/clusters.h"
#include "tools/common/json_out.h"

extern const tool_command_t cluster_up, cluster_down, cluster_status, cluster_path, cluster_cut,
    cluster_restore, cluster_degrade;

extern const char *const cluster_profiles[]; /* names by dnet_profile_t, NULL at the end */

/** --cluster, and its earlier name --name. */
#define CLUSTER_NAME_OPTION(type) \
    TOOL_CLUSTER_OPTION(type, name), TOOL_OPTION(type, name, "name", TOOL_TEXT, "NAME", NULL)

/**
 * The cluster that up, down or status is to work on: --cluster NAME or NAME alone.
 *
 * @param name_p  what --cluster has set; NULL afterwards: neither was given
 * @return false: both were given, a line has said so
 */
bool cluster_name(int argc, char **argv, const char **name_p);

/* ---- network.c: the network between the nodes ---- */

/** What a network is, as lines or members.  @return false: not all nodes reach each other */
bool cluster_show_network(dnet_json_t *json, const dnet_fabric_t *f);

/** New tables for what is in service; says what has changed.  @return exit status */
int cluster_sweep(dnet_network_t *n);

#endif
