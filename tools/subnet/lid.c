/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet lid: addresses, and what the failure of a spine rewrites.
 */
#include "tools/subnet/subnet.h"

typedef struct {
    subnet_net_t net;
    const char *guid2lid, *json;
    int scheme, fail, window;
    double mad_us;
} options_t;

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    TOOL_OPTION(options_t, scheme, "scheme", TOOL_WORD, "S",
                "addresses: conventional, port-major, grouped or aligned (port-major)",
                .words = dnet_lid_schemes),
    TOOL_OPTION(options_t, guid2lid, "guid2lid", TOOL_TEXT, "FILE",
                "write the addresses for OpenSM"),
    TOOL_OPTION(options_t, fail, "fail", TOOL_INT, "N",
                "count what the failure of spine N rewrites", .least = 1, .most = 65535),
    TOOL_OPTION(options_t, window, "window", TOOL_INT, "N", "datagrams outstanding (4)", .least = 1,
                .most = 1000),
    TOOL_OPTION(options_t, mad_us, "mad-us", TOOL_FRACTION, "T",
                "time of a datagram, microseconds (264)", .low = 1e-3, .high = 1e6),
    SUBNET_JSON_OPTION(options_t),
    {NULL},
};

/* Standard leaf-spine tables before and after the failure of a spine. */
static dnet_status_t fail_spine(const options_t *o, dnet_topo_t *t, dnet_json_t *j)
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
        subnet_report_diff("spine_failure", &diff, j);
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
    return subnet_output_close(out, path, dnet_lid_write_guid2lid(t, out));
}

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS, .scheme = DNET_LID_PORT_MAJOR, .mad_us = 264, .window = 4};
    dnet_topo_t *t = NULL;
    dnet_json_t j;
    if (!tool_parse(&subnet_lid, &argc, &argv, &o))
        return TOOL_USAGE;
    o.net.quiet = true;
    dnet_status_t st = subnet_load(&o.net, &t);
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

const tool_command_t subnet_lid = {
    .name = "lid",
    .summary = "assign addresses; cost of a spine's failure",
    .options = options,
    .run = run,
};
