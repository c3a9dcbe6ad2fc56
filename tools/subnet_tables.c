/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet verify, diff, lid: forwarding tables as files and addresses.
 */
#include "subnet_tool.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

int subnet_verify(int argc, char **argv)
{
    subnet_options_t o = {.quiet = true};
    dnet_topo_t *t = NULL;
    dnet_tables_t *tables = NULL;
    dnet_traffic_t tr = {0}, across = {0};
    dnet_verdict_t v;
    dnet_json_t j;
    bool joined = false;
    uint8_t *lane = NULL;
    int lanes = 1, rc = subnet_parse(argc, argv, &o);
    if (rc)
        return rc;
    if (!o.lfts) {
        dnet_error("verify: --lfts FILE is missing: the dump of forwarding tables to judge");
        return SUBNET_EXIT_USAGE;
    }
    dnet_status_t st = subnet_load(&o, &t);
    if (!st)
        st = dnet_lft_read(t, o.lfts, &tables);
    if (!st && o.lanes_file)
        st = dnet_sl_read(t, o.lanes_file, &lane, &lanes);
    if (!st)
        st = dnet_traffic_init(&across, t, DNET_TRAFFIC_BETWEEN, 0);
    if (!st) {
        joined = across.n_trees > 1;
        st = dnet_traffic_init(&tr, t, joined ? DNET_TRAFFIC_INSIDE : DNET_TRAFFIC_UNIFORM, 0);
    }
    if (!st)
        st = dnet_verify_tables(tables, lane, lanes, &tr, joined ? &across : NULL, &v);
    if (!st)
        st = dnet_json_open(&j, o.json);
    if (!st) {
        printf("%s on %s\n", o.lfts, t->name);
        subnet_report_verdict("tables_verdict", &v, t, &j);
        subnet_report_tables(NULL, &v, joined, &j);
        st = dnet_json_close(&j);
    }
    rc = st ? subnet_exit(st) : dnet_verdict_good(&v) ? SUBNET_EXIT_GOOD : SUBNET_EXIT_BAD;
    free(lane);
    dnet_traffic_free(&tr);
    dnet_traffic_free(&across);
    dnet_tables_free(tables);
    dnet_topo_free(t);
    return rc;
}

static void report_diff(const char *what, const dnet_fdb_diff_t *d, dnet_json_t *j)
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

int subnet_diff(int argc, char **argv)
{
    subnet_options_t o = {.quiet = true};
    dnet_topo_t *t = NULL;
    dnet_tables_t *a = NULL, *b = NULL;
    dnet_fdb_diff_t diff;
    dnet_json_t j;
    int rc = subnet_parse(argc, argv, &o);
    if (rc)
        return rc;
    if (!o.lfts || !o.against) {
        dnet_error("diff: needs --lfts FILE and --against FILE, dumps before and after");
        return SUBNET_EXIT_USAGE;
    }
    dnet_status_t st = subnet_load(&o, &t);
    if (!st) /* the earlier dump last, so that its LIDs number the blocks */
        st = dnet_lft_read(t, o.against, &b);
    if (!st)
        st = dnet_lft_read(t, o.lfts, &a);
    if (!st)
        st = dnet_fdb_compare(t, a, b, &diff);
    if (!st)
        st = dnet_json_open(&j, o.json);
    if (!st) {
        report_diff("difference", &diff, &j);
        st = dnet_json_close(&j);
    }
    dnet_tables_free(a);
    dnet_tables_free(b);
    dnet_topo_free(t);
    return subnet_exit(st);
}

/* Standard leaf-spine tables before and after the failure of a spine. */
static dnet_status_t fail_spine(const subnet_options_t *o, dnet_topo_t *t, dnet_json_t *j)
{
    dnet_switch_routes_t rule =
        o->scheme == DNET_LID_GROUPED ? DNET_SWITCH_ROUTES_ROTATE : DNET_SWITCH_ROUTES_RUN;
    dnet_tables_t *before = NULL, *after = NULL;
    dnet_fdb_diff_t diff;
    dnet_status_t st = dnet_fdb_leaf_spine(t, DNET_TOPO_NONE, rule, &before);
    if (!st)
        st = dnet_fdb_leaf_spine(t, o->fail - 1, rule, &after);
    for (int s = 0, spine = 0; s < t->n_switches && !st; s++)
        if (!t->sw[s].hosts && ++spine == o->fail)
            t->sw[s].down = true;
    if (!st)
        st = dnet_fdb_compare(t, before, after, &diff);
    if (!st) {
        report_diff("spine_failure", &diff, j);
        printf("update time at %.0f us a datagram: %.2f s one after the other, %.2f s with %d "
               "outstanding\n",
               o->mad_us, dnet_fdb_seconds(diff.blocks, o->mad_us, 1),
               dnet_fdb_seconds(diff.blocks, o->mad_us, o->window), o->window);
        dnet_json_number(j, "serial_seconds", dnet_fdb_seconds(diff.blocks, o->mad_us, 1));
        dnet_json_number(j, "pipelined_seconds",
                         dnet_fdb_seconds(diff.blocks, o->mad_us, o->window));
    }
    dnet_tables_free(before);
    dnet_tables_free(after);
    return st;
}

static dnet_status_t write_guid2lid(const dnet_topo_t *t, const char *path)
{
    FILE *out = subnet_output(path);
    if (!out)
        return DNET_ERR_SYSTEM;
    dnet_status_t st = dnet_lid_write_guid2lid(t, out);
    return subnet_output_close(out, path) ? DNET_ERR_SYSTEM : st;
}

int subnet_lid(int argc, char **argv)
{
    subnet_options_t o = {.quiet = true, .scheme = DNET_LID_PORT_MAJOR, .mad_us = 264, .window = 4};
    dnet_topo_t *t = NULL;
    dnet_json_t j;
    int rc = subnet_parse(argc, argv, &o);
    if (rc)
        return rc;
    dnet_status_t st = subnet_load(&o, &t);
    if (!st)
        st = dnet_lid_assign(t, (dnet_lid_scheme_t) o.scheme);
    if (!st)
        st = dnet_json_open(&j, o.json);
    if (!st) {
        printf("%s, %s: %d blocks per full table\n", t->name, dnet_lid_schemes[o.scheme],
               dnet_fdb_blocks(t));
        dnet_json_string(&j, "topology", t->name);
        dnet_json_string(&j, "scheme", dnet_lid_schemes[o.scheme]);
        dnet_json_int(&j, "blocks_per_table", dnet_fdb_blocks(t));
        if (o.guid2lid)
            st = write_guid2lid(t, o.guid2lid);
        if (!st && o.fail)
            st = fail_spine(&o, t, &j);
        if (dnet_json_close(&j) && !st)
            st = DNET_ERR_SYSTEM;
    }
    dnet_topo_free(t);
    return subnet_exit(st);
}
