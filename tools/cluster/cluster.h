/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of dnet-cluster share.
 */
#ifndef DNET_TOOLS_CLUSTER_TOOL_H
#define DNET_TOOLS_CLUSTER_TOOL_H

#include <stdbool.h>

#include "cluster/switches.h"
#include "tools/common/json_out.h"

enum { EXIT_GOOD = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

typedef struct {
    dnet_cluster_config_t config;
    const char *topology, *engine;
    bool json, nodes_given, links, force;
    dnet_switches_fault_t fault;
    bool fault_given;
} options_t;

/* dnet-cluster.c */

/** Options of the command in argv[0]; optind is left at the first argument.  False: a line has said
 * why. */
bool parse_options(int argc, char **argv, options_t *o);

/** Open a cluster; a line says so when there is none. */
dnet_status_t find(const char *name, dnet_cluster_t **cluster_p);

/* cluster_network.c: commands of the network between the nodes, and its part of the others. */
int run_path(int argc, char **argv);
int run_cut(int argc, char **argv);
int run_restore(int argc, char **argv);
int run_degrade(int argc, char **argv);

/** Start a cluster whose nodes are the servers of the network that o->topology asks for. */
int up_network(options_t *o, int (*start)(const dnet_cluster_config_t *config));

/** The network of a cluster in its status.  False: it is bad, or cannot be read. */
bool show_cluster_network(dnet_json_t *json, const dnet_cluster_t *c, bool links);

#endif
