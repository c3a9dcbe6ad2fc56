/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network between the nodes of a cluster.  The process that changes it is its Subnet
 * Manager meanwhile and holds the lock of its file.
 */
#include "config.h"

#include <stdio.h>

#include "tools/cluster/cluster.h"

bool cluster_show_network(dnet_json_t *json, const dnet_fabric_t *f)
{
    int cut_off = dnet_topo_cut_off(f->topo);
    bool good = dnet_verdict_good(&f->verdict) && cut_off == 0;
    const char *verdict = dnet_verdict_good(&f->verdict) ? "good" : "BAD";
    if (!json) {
        printf("  network %s: %d switches, %d links, engine %s, tables of sweep %u: %s\n",
               f->topo->name, f->topo->n_switches, f->topo->n_links, f->engine, f->sweep, verdict);
        for (uint32_t i = 0; i < f->cuts; i++)
            printf("  cut %s\n", f->cut[i]);
        if (cut_off)
            printf("  %d of %d nodes are cut off: packets from and to them wait for dnet-cluster "
                   "restore\n",
                   cut_off, f->topo->n_hosts);
        return good;
    }
    dnet_json_string(json, "topology", f->topo->name);
    dnet_json_int(json, "switches", f->topo->n_switches);
    dnet_json_int(json, "links", f->topo->n_links);
    dnet_json_string(json, "engine", f->engine);
    dnet_json_int(json, "sweep", f->sweep);
    dnet_json_string(json, "verdict", verdict);
    dnet_json_array(json, "cuts");
    for (uint32_t i = 0; i < f->cuts; i++)
        dnet_json_string(json, NULL, f->cut[i]);
    dnet_json_end_array(json);
    dnet_json_int(json, "nodes_cut_off", cut_off);
    return good;
}

int cluster_sweep(dnet_network_t *n)
{
    dnet_fdb_diff_t diff;
    dnet_status_t status = dnet_network_sweep(n, &diff);
    if (status != DNET_OK)
        return tool_exit(status);
    cluster_show_network(NULL, n->fabric);
    printf("  %ld table entries changed, in %ld blocks\n", diff.entries, diff.blocks);
    if (n->fabric->verdict.data.missing)
        printf("  %ld ways are missing: packets there wait for dnet-cluster restore\n",
               n->fabric->verdict.data.missing);
    return TOOL_GOOD;
}
