/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet diff: entries and blocks that differ between two dumps of forwarding tables.
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"

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
        subnet_report_diff("difference", &diff, &j);
        st = dnet_json_close(&j);
    }
    dnet_tables_free(a);
    dnet_tables_free(b);
    dnet_topo_free(t);
    return subnet_exit(st);
}
