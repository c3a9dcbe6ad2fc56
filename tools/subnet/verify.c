/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet verify: judges forwarding tables that a subnet manager has dumped.
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"

#include <stdlib.h>

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
