/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What route and verify say of forwarding tables: verdicts with an example of each fault, where it
 * is and what to do.
 */
#include "tools/subnet/subnet.h"

#include <stdlib.h>

/* What is wrong with a way, and what to do about it, by dnet_fault_t's kind. */
static const struct {
    const char *name, *text, *cure;
} faults[] = {
    {"no_entry", "has no entry", "let the subnet manager sweep; if it stays, use another engine"},
    {"no_link", "has an entry for a port without a link",
     "the tables are older than the topology: let the subnet manager sweep, or dump again"},
    {"lane", "maps its service level to VL 15, which drops it",
     "mend qos_sl2vl: every service level in use needs a data lane"},
    {"astray", "delivers it to another", "dump again; if it stays, the subnet manager is at fault"},
    {"loop", "sends it round", "let the subnet manager sweep; if it stays, use another engine"},
};

/* No tables can lead from one to the other. */
static bool in_pieces(const dnet_topo_t *t, int s, int u)
{
    int *piece = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    int *queue = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    bool apart = false;
    if (piece && queue) {
        dnet_topo_pieces(t, piece, queue);
        apart = piece[s] != piece[u];
    }
    free(piece);
    free(queue);
    return apart;
}

static void report_fault(const dnet_fault_t *f, const dnet_topo_t *t, dnet_json_t *j)
{
    if (f->source == DNET_TOPO_NONE)
        return;
    int d = f->column % dnet_topo_dests(t), plane = f->column / dnet_topo_dests(t);
    int lid = dnet_lid_of(t, d) ? dnet_lid_of(t, d) + plane : 0;
    const char *from = f->host == DNET_TOPO_NONE ? t->sw[f->source].name : t->host[f->host].name;
    const char *text = faults[f->kind].text, *cure = faults[f->kind].cure;
    if (f->kind == DNET_FAULT_MISSING && in_pieces(t, f->source, dnet_topo_dest_switch(t, d))) {
        text = "has no entry, and no link in service leads there";
        cure = "look for links that are down or not plugged in: the network is in pieces, which no "
               "tables join";
    }
    printf("    for example from %s to %s (LID %d): %s ", from, dnet_topo_dest_name(t, d), lid,
           t->sw[f->at].name);
    if (f->port != DNET_TABLE_NONE)
        printf("port %d ", f->port);
    printf("%s\n      do: %s\n", text, cure);
    dnet_json_object(j, "example");
    dnet_json_string(j, "fault", faults[f->kind].name);
    dnet_json_string(j, "from", from);
    dnet_json_string(j, "to", dnet_topo_dest_name(t, d));
    dnet_json_int(j, "lid", lid);
    dnet_json_string(j, "switch", t->sw[f->at].name);
    dnet_json_int(j, "port", f->port == DNET_TABLE_NONE ? -1 : f->port);
    dnet_json_string(j, "do", cure);
    dnet_json_end_object(j);
}

static const char other_engine[] = "load tables of an engine that is free of deadlock (turnadd, "
                                   "updn), or all lanes of one that needs several";

void subnet_report_cycle(const dnet_cycle_t *cycle, const dnet_topo_t *t, const char *cure,
                         dnet_json_t *j)
{
    int shown = cycle->length < DNET_CYCLE_SHOWN ? cycle->length : DNET_CYCLE_SHOWN;
    if (cycle->length == 0)
        return;
    printf("    cycle:");
    dnet_json_int(j, "cycle_length", cycle->length);
    dnet_json_array(j, "cycle");
    for (int i = 0; i < shown; i++) {
        int c = cycle->channel[i];
        const char *from = t->sw[dnet_topo_tail(t, c)].name, *to = t->sw[dnet_topo_head(t, c)].name;
        printf(" %s:%d>%s:%d", from, dnet_topo_out_port(t, c), to, dnet_topo_out_port(t, c ^ 1));
        if (cycle->lane[i])
            printf(" VL%d", cycle->lane[i]);
        dnet_json_object(j, NULL);
        dnet_json_string(j, "from", from);
        dnet_json_int(j, "from_port", dnet_topo_out_port(t, c));
        dnet_json_string(j, "to", to);
        dnet_json_int(j, "to_port", dnet_topo_out_port(t, c ^ 1));
        dnet_json_int(j, "lane", cycle->lane[i]);
        dnet_json_end_object(j);
    }
    dnet_json_end_array(j);
    printf("%s\n      do: %s\n", shown < cycle->length ? " ..." : "", cure);
}

/* A cycle of the ways before is one of these, too, and is told once. */
static void report_ways(const char *what, const dnet_ways_t *w, const dnet_ways_t *before,
                        int lanes, const dnet_topo_t *t, dnet_json_t *j)
{
    int cut_off = before ? 0 : dnet_topo_cut_off(t); /* data only: servers have no part in others */
    bool good = dnet_ways_good(w) && cut_off == 0;
    printf("  %s: %s; %ld pairs, %ld missing, %ld astray, %ld loops, %d of %d lanes cyclic\n", what,
           good ? "good" : "BAD", w->pairs, w->missing, w->astray, w->loops, w->cyclic_lanes,
           lanes);
    if (cut_off)
        printf("    %d of %d servers are cut off: their switches or links are out of service\n",
               cut_off, t->n_hosts);
    dnet_json_bool(j, "good", good);
    if (!before)
        dnet_json_int(j, "servers_cut_off", cut_off);
    dnet_json_int(j, "pairs", w->pairs);
    dnet_json_int(j, "missing", w->missing);
    dnet_json_int(j, "astray", w->astray);
    dnet_json_int(j, "loops", w->loops);
    dnet_json_int(j, "cyclic_lanes", w->cyclic_lanes);
    report_fault(&w->fault, t, j);
    if (!before || before->cyclic_lanes == 0)
        subnet_report_cycle(&w->cycle, t, other_engine, j);
}

void subnet_report_verdict(const char *key, const dnet_verdict_t *v, const dnet_topo_t *t,
                           dnet_json_t *j)
{
    dnet_json_object(j, key);
    dnet_json_int(j, "lanes", v->lanes);
    dnet_json_int(j, "dependencies", v->dependencies);
    report_ways(key, &v->data, NULL, v->lanes, t, j);
    if (v->assumed_sl) {
        printf("    assumed: service level 0 for %ld pairs without a path record\n", v->assumed_sl);
        dnet_json_int(j, "pairs_without_path_record", v->assumed_sl);
    }
    if (v->management.pairs) {
        dnet_json_object(j, "management");
        report_ways("management", &v->management, &v->data, v->lanes, t, j);
        dnet_json_end_object(j);
    }
    if (v->switches.pairs) {
        dnet_json_object(j, "between_switches");
        report_ways("between switches", &v->switches, &v->management, v->lanes, t, j);
        dnet_json_end_object(j);
    }
    dnet_json_end_object(j);
}

/* What is wrong with a group's ports, by the judge's numbers. */
static const struct {
    const char *key, *text;
} group_faults[DNET_MCAST_FAULTS] = {
    [DNET_MCAST_LOOP] = {"groups_looping", "copies come back, and go round for ever"},
    [DNET_MCAST_APART] = {"groups_apart", "its members get nothing from others"},
    [DNET_MCAST_ONE_WAY] = {"groups_one_way", "the switch behind it does not send back"},
    [DNET_MCAST_NO_LINK] = {"groups_without_link", "copies go to a port without a link"},
};

void subnet_report_multicast(const dnet_mcast_t *m, const dnet_mcast_verdict_t *v, bool known,
                             dnet_json_t *j)
{
    bool good = dnet_mcast_good(v);
    dnet_json_object(j, "multicast");
    dnet_json_bool(j, "good", good);
    dnet_json_int(j, "groups", v->groups);
    dnet_json_int(j, "members", v->members);
    dnet_json_int(j, "cyclic_lanes", v->cyclic_lanes);
    printf("  multicast: %s; %d groups, %ld members, %d lanes cyclic together with data and "
           "management%s\n",
           good ? "good" : "BAD", v->groups, v->members, v->cyclic_lanes,
           known ? "" : "; assumed: service level 0 (--groups)");
    for (int i = 0; i < DNET_MCAST_FAULTS; i++) {
        const dnet_mcast_fault_t *f = &v->example[i];
        dnet_json_int(j, group_faults[i].key, v->faulty[i]);
        if (!v->faulty[i])
            continue;
        printf("    %d groups, for example 0x%04x at %s", v->faulty[i], m->mlid[f->group],
               m->topo->sw[f->at].name);
        if (f->port != DNET_TOPO_NONE)
            printf(" port %d", f->port);
        printf(": %s\n      do: let the subnet manager sweep\n", group_faults[i].text);
    }
    if (v->closed_by != DNET_TOPO_NONE) {
        char group[16];
        snprintf(group, sizeof(group), "0x%04x", m->mlid[v->closed_by]);
        printf("    group %s closes a cycle\n", group);
        dnet_json_string(j, "closed_by", group);
        subnet_report_cycle(&v->cycle, m->topo,
                            "give the group a service level whose lane no data has, or load an "
                            "engine that builds its groups' trees from the turns it allows",
                            j);
    }
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
           "unrouted %ld; turns opened for management %ld\n",
           tables->pinned, tables->second_order, tables->fallbacks, tables->unrouted,
           tables->opened);
    dnet_json_int(j, "destinations_pinned", tables->pinned);
    dnet_json_int(j, "destinations_in_dependency_order", tables->second_order);
    dnet_json_int(j, "destinations_on_tree", tables->fallbacks);
    dnet_json_int(j, "destinations_unrouted", tables->unrouted);
    dnet_json_int(j, "turns_opened", tables->opened);
}

int subnet_verdict_exit(const dnet_verdict_t *v, const dnet_topo_t *t)
{
    if (!dnet_verdict_good(v) || dnet_topo_cut_off(t))
        return TOOL_BAD;
    return dnet_verdict_managed(v) ? TOOL_GOOD : SUBNET_UNMANAGED;
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

dnet_status_t subnet_report_moved(const dnet_topo_t *t, const dnet_tables_t *old,
                                  const dnet_tables_t *new, dnet_json_t *j, long *moved_p)
{
    dnet_lid_moved_t m;
    *moved_p = dnet_fdb_moved(old, new, &m);
    if (*moved_p < 0)
        return DNET_ERR_NO_MEMORY;
    if (*moved_p == 0)
        return DNET_OK;
    printf("  addresses: %ld LIDs belong to another than before, for example LID %d, of %s before "
           "and of %s now\n",
           *moved_p, m.lid, dnet_topo_dest_name(t, m.was), dnet_topo_dest_name(t, m.is));
    dnet_json_int(j, "lids_moved", *moved_p);
    return DNET_OK;
}

/* A change without stages: where a LID has got another owner, packets under way to it go to either,
 * and old and new entries of one end port are not of one LID; and with several lanes a mixture's
 * dependencies would be those of paths on the levels before, too, which no file says. */
static dnet_status_t report_unplanned(const dnet_topo_t *t, const dnet_tables_t *old,
                                      const dnet_tables_t *new, bool moved, dnet_json_t *j)
{
    dnet_fdb_diff_t all;
    dnet_status_t st = dnet_fdb_compare(t, old, new, &all);
    if (st)
        return st;
    printf("  change: %ld entries in %ld blocks; %s\n", all.entries, all.blocks,
           moved
               ? "BAD in any order: packets under way to LIDs that have moved go astray\n"
                 "      do: keep the LIDs (opensm --honor_guid2lid), or let nothing send meanwhile"
               : "not judged: packets have several lanes, and changes are judged on one\n"
                 "      do: let nothing send meanwhile");
    dnet_json_object(j, "transition");
    dnet_json_int(j, "entries", all.entries);
    dnet_json_int(j, "blocks", all.blocks);
    dnet_json_bool(j, "judged", moved);
    if (moved)
        dnet_json_bool(j, "good_in_any_order", false);
    dnet_json_end_object(j);
    return DNET_OK;
}

dnet_status_t subnet_report_change(const dnet_topo_t *t, const dnet_tables_t *old,
                                   const dnet_tables_t *new, int lanes, const dnet_mcast_t *groups,
                                   dnet_json_t *j, bool *bad)
{
    dnet_transition_t plan;
    dnet_fdb_diff_t all, stage[2] = {{0}};
    dnet_cycle_t cycle;
    int cyclic, left[2] = {0}, left_groups = 0;
    long moved;
    dnet_status_t st = subnet_report_moved(t, old, new, j, &moved);
    *bad = moved > 0;
    if (!st && (moved || lanes > 1))
        return report_unplanned(t, old, new, moved, j);
    if (st)
        return st;
    st = dnet_transition_judge(t, old, new, groups, &cyclic, &cycle);
    if (!st)
        st = dnet_transition_plan(t, old, new, groups, &plan);
    if (st)
        return st;
    const dnet_tables_t *const mid = plan.between ? plan.between : new;
    st = dnet_fdb_compare(t, old, new, &all);
    if (!st)
        st = dnet_fdb_compare(t, old, mid, &stage[0]);
    if (!st && plan.between)
        st = dnet_fdb_compare(t, mid, new, &stage[1]);
    /* The stages are judged, not believed. */
    dnet_cycle_t unused;
    const dnet_mcast_t *const beside = plan.apart ? NULL : groups;
    if (!st)
        st = dnet_transition_judge(t, old, mid, beside, &left[0], &unused);
    if (!st && plan.between)
        st = dnet_transition_judge(t, mid, new, beside, &left[1], &unused);
    if (!st && plan.apart)
        st = dnet_transition_judge(t, new, new, groups, &left_groups, &unused);
    if (!st) {
        *bad = cyclic > 0;
        printf("  change: %ld entries in %ld blocks; %s\n", all.entries, all.blocks,
               plan.apart ? "BAD in any order: groups close a cycle with the tables before"
               : cyclic   ? "BAD in any order: a mixture of old and new can deadlock"
                          : "good in any order of blocks");
        dnet_json_object(j, "transition");
        dnet_json_int(j, "entries", all.entries);
        dnet_json_int(j, "blocks", all.blocks);
        dnet_json_bool(j, "judged", true);
        dnet_json_bool(j, "good_in_any_order", !cyclic);
        if (groups)
            dnet_json_bool(j, "groups_beside_old_tables", !plan.apart);
        subnet_report_cycle(&cycle, t, other_engine, j);
        dnet_json_int(j, "lids_drained", plan.drained);
        if (plan.stages == 2)
            printf("  plan: %ld LIDs are dropped in %ld blocks with all else, packets drain, then "
                   "%ld blocks\n",
                   plan.drained, stage[0].blocks, stage[1].blocks);
        if (plan.apart)
            printf("  plan: groups are removed before, packets drain; groups are written when all "
                   "else is and packets have drained: %s\n",
                   left_groups ? "BAD" : "good");
        dnet_json_array(j, "stages");
        for (int i = 0; i < plan.stages; i++) {
            dnet_json_object(j, NULL);
            dnet_json_int(j, "datagrams", stage[i].blocks);
            dnet_json_int(j, "entries", stage[i].entries);
            dnet_json_int(j, "cyclic_lanes", left[i]);
            dnet_json_end_object(j);
        }
        if (plan.apart) {
            dnet_json_object(j, NULL);
            dnet_json_bool(j, "groups", true);
            dnet_json_int(j, "cyclic_lanes", left_groups);
            dnet_json_end_object(j);
        }
        dnet_json_end_array(j);
        dnet_json_int(j, "datagrams", stage[0].blocks + stage[1].blocks);
        dnet_json_end_object(j);
    }
    dnet_transition_free(&plan);
    return st;
}
