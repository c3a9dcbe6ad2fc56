/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster path: the way between two nodes, switch by switch.
 */
#include "config.h"

#include <stdio.h>

#include "common/number.h"
#include "tools/cluster/cluster.h"

typedef struct {
    const char *name;
} options_t;

static const tool_option_t options[] = {
    CLUSTER_NAME_OPTION(options_t),
    {NULL},
};

/* A node by its number or its server's name. */
static int find_node(const dnet_topo_t *t, const char *text)
{
    uint64_t number;
    int h = dnet_number(text, 1, (uint64_t) t->n_hosts, &number) ? (int) number - 1
                                                                 : dnet_topo_find_host(t, text);
    if (h == DNET_TOPO_NONE)
        tool_error("no node %s; there are 1 to %d", text, t->n_hosts);
    return h;
}

static bool has_link(const dnet_topo_t *t, int h)
{
    const dnet_topo_host_t *host = &t->host[h];
    if (host->down)
        tool_error("node %s is cut off: its link at %s port %d is out of service", host->name,
                   t->sw[host->sw].name, host->port);
    return !host->down;
}

static int run(int argc, char **argv)
{
    dnet_network_t n;
    options_t o = {0};
    if (!tool_parse(&cluster_path, &argc, &argv, &o))
        return TOOL_USAGE;
    int code = tool_network_open(o.name, false, &n);
    if (code != TOOL_GOOD)
        return code;
    int from = find_node(n.fabric->topo, argv[0]);
    int to = from == DNET_TOPO_NONE ? DNET_TOPO_NONE : find_node(n.fabric->topo, argv[1]);
    code = TOOL_USAGE;
    if (to != DNET_TOPO_NONE)
        code = dnet_tables_explain(n.fabric->tables, from, to, stdout) &&
                       has_link(n.fabric->topo, from) && has_link(n.fabric->topo, to)
                   ? TOOL_GOOD
                   : TOOL_BAD;
    dnet_network_leave(&n);
    return code;
}

const tool_command_t cluster_path = {
    .name = "path",
    .args = "NODE NODE",
    .args_least = 2,
    .args_most = 2,
    .summary = "explain the way between two nodes",
    .options = options,
    .run = run,
};
