/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet verify: judges forwarding tables that a subnet manager has dumped.
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"

#include <stdlib.h>

typedef struct {
    subnet_net_t net;
    const char *lfts, *lanes, *json;
} options_t;

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    TOOL_OPTION(options_t, lfts, "lfts", TOOL_TEXT, "FILE", "dump of forwarding tables"),
    TOOL_OPTION(options_t, lanes, "sl", TOOL_TEXT, "FILE", "service levels, from saquery -p"),
    SUBNET_JSON_OPTION(options_t),
    {NULL},
};

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS};
    dnet_topo_t *t = NULL;
    dnet_tables_t *tables = NULL;
    dnet_traffic_t tr = {0}, across = {0};
    dnet_verdict_t v;
    dnet_json_t j;
    bool joined = false;
    uint8_t *lane = NULL;
    int lanes = 1;
    if (!tool_parse(&subnet_verify, &argc, &argv, &o))
        return TOOL_USAGE;
    o.net.quiet = true;
    if (!o.lfts) {
        dnet_error("verify: --lfts FILE is missing: the dump of forwarding tables to judge");
        return TOOL_USAGE;
    }
    dnet_status_t st = subnet_load(&o.net, &t);
    if (!st)
        st = dnet_lft_read(t, o.lfts, &tables);
    if (!st && o.lanes)
        st = dnet_sl_read(t, o.lanes, &lane, &lanes);
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
    int rc = st ? subnet_exit(st) : dnet_verdict_good(&v) ? TOOL_GOOD : TOOL_BAD;
    free(lane);
    dnet_traffic_free(&tr);
    dnet_traffic_free(&across);
    dnet_tables_free(tables);
    dnet_topo_free(t);
    return rc;
}

const tool_command_t subnet_verify = {
    .name = "verify",
    .summary = "judge forwarding tables dumped by a subnet manager",
    .options = options,
    .run = run,
};
