/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet diff: entries and blocks that differ between two dumps of forwarding tables.
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"

typedef struct {
    subnet_net_t net;
    const char *lfts, *against, *json;
} options_t;

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    TOOL_OPTION(options_t, lfts, "lfts", TOOL_TEXT, "FILE", "dump of forwarding tables"),
    TOOL_OPTION(options_t, against, "against", TOOL_TEXT, "FILE", "the dump to compare with"),
    SUBNET_JSON_OPTION(options_t),
    {NULL},
};

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS};
    dnet_topo_t *t = NULL;
    dnet_tables_t *a = NULL, *b = NULL;
    dnet_fdb_diff_t diff;
    dnet_json_t j;
    if (!tool_parse(&subnet_diff, &argc, &argv, &o))
        return TOOL_USAGE;
    o.net.quiet = true;
    if (!o.lfts || !o.against) {
        dnet_error("diff: needs --lfts FILE and --against FILE, dumps before and after");
        return TOOL_USAGE;
    }
    dnet_status_t st = subnet_load(&o.net, &t);
    if (!st)
        st = dnet_lft_read(t, o.against, &b, NULL);
    if (!st)
        st = dnet_lft_read(t, o.lfts, &a, NULL);
    if (!st)
        st = dnet_fdb_compare(t, a, b, &diff);
    if (!st)
        st = dnet_json_open(&j, o.json);
    if (!st) {
        long moved;
        subnet_report_diff("difference", &diff, &j);
        st = subnet_report_moved(t, a, b, &j, &moved);
        if (dnet_json_close(&j) && !st)
            st = DNET_ERR_SYSTEM;
    }
    dnet_tables_free(a);
    dnet_tables_free(b);
    dnet_topo_free(t);
    return subnet_exit(st);
}

const tool_command_t subnet_diff = {
    .name = "diff",
    .summary = "count entries and blocks that differ between two dumps",
    .options = options,
    .run = run,
};
