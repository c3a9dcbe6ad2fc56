/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What route and verify say of forwarding tables.
 */
#include "tools/subnet/subnet.h"

void subnet_report_verdict(const char *key, const dnet_verdict_t *v, const dnet_topo_t *t,
                           dnet_json_t *j)
{
    printf("  %s: %s; %ld pairs, %ld missing, %ld astray, %ld loops, %d of %d lanes cyclic; %ld "
           "ways to switches missing\n",
           key, dnet_verdict_good(v) ? "good" : "BAD", v->pairs, v->missing, v->astray, v->loops,
           v->cyclic_lanes, v->lanes, v->management);
    if (v->first_bad_switch != DNET_TOPO_NONE) {
        int d = (int) v->first_bad_dest;
        printf("    for example from %s to %s\n", t->sw[v->first_bad_switch].name,
               d < t->n_hosts ? t->host[d].name : t->sw[d - t->n_hosts].name);
    }
    for (int i = 0; i < v->cycle_length && i < DNET_VERIFY_CYCLE; i++)
        printf("%s%s%s", i ? " " : "    cycle: ", t->sw[dnet_topo_tail(t, v->cycle[i])].name,
               i + 1 == v->cycle_length || i + 1 == DNET_VERIFY_CYCLE ? "\n" : "");
    dnet_json_object(j, key);
    dnet_json_bool(j, "good", dnet_verdict_good(v));
    dnet_json_int(j, "pairs", v->pairs);
    dnet_json_int(j, "missing", v->missing);
    dnet_json_int(j, "missing_to_switches", v->management);
    dnet_json_int(j, "astray", v->astray);
    dnet_json_int(j, "loops", v->loops);
    dnet_json_int(j, "lanes", v->lanes);
    dnet_json_int(j, "cyclic_lanes", v->cyclic_lanes);
    dnet_json_int(j, "dependencies", v->dependencies);
    dnet_json_end_object(j);
}

void subnet_report_tables(const dnet_tables_t *tables, const dnet_verdict_t *v, bool between,
                          dnet_json_t *j)
{
    printf("  tables: throughput %.4f%s", v->throughput, between ? " inside" : "");
    if (between)
        printf(", %.4f between", v->throughput2);
    printf("; hops mean %.3f, max %d\n", v->mean_hops, v->max_hops);
    dnet_json_number(j, between ? "tables_inside" : "tables_uniform", v->throughput);
    if (between)
        dnet_json_number(j, "tables_between", v->throughput2);
    dnet_json_number(j, "mean_hops", v->mean_hops);
    dnet_json_int(j, "max_hops", v->max_hops);
    if (!tables)
        return;
    printf("  destinations with pinned walks %ld, in dependency order %ld, on the tree %ld, "
           "unrouted %ld\n",
           tables->pinned, tables->second_order, tables->fallbacks, tables->unrouted);
    dnet_json_int(j, "destinations_pinned", tables->pinned);
    dnet_json_int(j, "destinations_in_dependency_order", tables->second_order);
    dnet_json_int(j, "destinations_on_tree", tables->fallbacks);
    dnet_json_int(j, "destinations_unrouted", tables->unrouted);
}

void subnet_report_diff(const char *what, const dnet_fdb_diff_t *d, dnet_json_t *j)
{
    printf("%s: %ld entries in %ld blocks; blocks with servers' entries %ld (%ld at leaves), with "
           "switches' entries %ld; at most %d blocks per switch\n",
           what, d->entries, d->blocks, d->node_blocks, d->leaf_node_blocks, d->switch_blocks,
           d->max_per_switch);
    dnet_json_object(j, what);
    dnet_json_int(j, "entries", d->entries);
    dnet_json_int(j, "blocks", d->blocks);
    dnet_json_int(j, "node_blocks", d->node_blocks);
    dnet_json_int(j, "leaf_node_blocks", d->leaf_node_blocks);
    dnet_json_int(j, "switch_blocks", d->switch_blocks);
    dnet_json_int(j, "max_blocks_per_switch", d->max_per_switch);
    dnet_json_end_object(j);
}
