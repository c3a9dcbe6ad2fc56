/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clusters and their networks, as a command line names them: the same lines and exit statuses in
 * all tools.
 */
#ifndef DNET_TOOLS_CLUSTERS_H
#define DNET_TOOLS_CLUSTERS_H

#include "cluster/network.h"
#include "tools/common/command.h"

/* The option of every command that works on a cluster; `member` is a const char *. */
#define TOOL_CLUSTER_OPTION(type, member) \
    TOOL_OPTION(type, member, "cluster", TOOL_TEXT, "NAME", \
                "the cluster (" DNET_CLUSTER_NAME_DEFAULT ")")

/**
 * Open a cluster of this user; NULL: the one of the usual name.
 *
 * @return TOOL_GOOD: dnet_cluster_close() frees it; else the exit status, and a line has said why:
 *         TOOL_BAD (no such cluster), TOOL_USAGE, TOOL_SYSTEM
 */
int tool_cluster_open(const char *name, dnet_cluster_t **cluster_p);

/* ---- network.c ---- */

/**
 * Take the network of a cluster, to change it or to look; dnet_network_leave() gives it back.
 *
 * @return as tool_cluster_open(); TOOL_BAD also when the cluster has no network
 */
int tool_network_take(const dnet_cluster_t *cluster, bool change, dnet_network_t *network_p);

/** Both of them, for a command that needs the network only.  @return as they do */
int tool_network_open(const char *name, bool change, dnet_network_t *network_p);

#endif
