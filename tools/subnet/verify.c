/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet verify: judges forwarding tables that a subnet manager has dumped.
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"

#include <stdlib.h>

typedef struct {
    subnet_net_t net;
    const char *lfts, *from, *sl, *sl2vl, *mfts, *groups, *partitions, *json;
} options_t;

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    TOOL_OPTION(options_t, lfts, "lfts", TOOL_TEXT, "FILE", "dump of forwarding tables"),
    TOOL_OPTION(options_t, from, "from", TOOL_TEXT, "FILE",
                "dump of those before: judge the change, too"),
    TOOL_OPTION(options_t, sl, "sl", TOOL_TEXT, "FILE", "service levels, from saquery -p"),
    TOOL_OPTION(options_t, sl2vl, "sl2vl", TOOL_TEXT, "FILE",
                "lanes, from smpquery sl2vl LID PORT of each switch's ports"),
    TOOL_OPTION(options_t, mfts, "mfts", TOOL_TEXT, "FILE",
                "multicast tables, from dump_fts -M: judge them with the others"),
    TOOL_OPTION(options_t, groups, "groups", TOOL_TEXT, "FILE",
                "their service levels, from saquery -g"),
    TOOL_OPTION(options_t, partitions, "partitions", TOOL_TEXT, "FILE",
                "OpenSM's partitions: data goes only where it may"),
    SUBNET_JSON_OPTION(options_t),
    {NULL},
};

/* What is judged. */
typedef struct look {
    const options_t *o;
    dnet_topo_t *t;
    dnet_tables_t *tables, *old;
    bool bad_change; /* the change from `old` is not safe in any order */
    dnet_lid_faults_t faults;
    dnet_lanes_t *lanes;
    dnet_mcast_t *multicast;
    dnet_partitions_t *partitions;
    dnet_traffic_t tr, across;
    bool joined;
    dnet_verdict_t v;
} look_t;

static dnet_status_t read_multicast(look_t *k)
{
    dnet_status_t st = dnet_mft_read(k->t, k->o->mfts, &k->multicast);
    return st || !k->o->groups ? st : dnet_mcast_read_levels(k->multicast, k->o->groups);
}

/* Levels that multicast packets have, besides those of the path records. */
static void add_multicast_levels(look_t *k)
{
    for (int g = 0; g < k->multicast->groups; g++)
        k->lanes->multicast |= k->multicast->levels[g];
    for (int sl = k->lanes->lanes; sl < DNET_SERVICE_LEVELS; sl++)
        if (k->lanes->multicast >> sl & 1)
            k->lanes->lanes = sl + 1;
}

static dnet_status_t read_lanes(look_t *k)
{
    dnet_status_t st = DNET_OK;
    if (k->o->sl)
        st = dnet_sl_read(k->tables, k->o->sl, &k->lanes);
    if (!st && k->o->sl2vl && !k->lanes)
        st = dnet_lanes_new(k->tables, true, &k->lanes);
    if (!st && k->lanes && k->multicast)
        add_multicast_levels(k);
    if (!st && k->o->sl2vl)
        st = dnet_sl2vl_read(k->t, k->o->sl2vl, k->lanes);
    return st;
}

/* For the loads: of all servers, inside trees and across apart, or of those that may. */
static dnet_status_t assume_traffic(look_t *k)
{
    if (k->o->partitions) {
        dnet_status_t st = dnet_partitions_read(k->t, k->o->partitions, &k->partitions);
        return st ? st : dnet_partitions_traffic(k->partitions, k->t, &k->tr);
    }
    dnet_status_t st = dnet_traffic_init(&k->across, k->t, DNET_TRAFFIC_BETWEEN, 0);
    k->joined = !st && k->across.n_trees > 1;
    return st ? st
              : dnet_traffic_init(&k->tr, k->t,
                                  k->joined ? DNET_TRAFFIC_INSIDE : DNET_TRAFFIC_UNIFORM, 0);
}

static dnet_status_t judge(look_t *k)
{
    dnet_status_t st = subnet_load(&k->o->net, &k->t);
    if (!st && k->o->from) /* first, so that the LIDs are those of the new ones */
        st = dnet_lft_read(k->t, k->o->from, &k->old, NULL);
    if (!st)
        st = dnet_lft_read(k->t, k->o->lfts, &k->tables, &k->faults);
    if (!st && k->o->mfts)
        st = read_multicast(k);
    if (!st)
        st = read_lanes(k);
    if (!st)
        st = assume_traffic(k);
    dnet_judged_t what = {.tables = k->tables,
                          .lanes = k->lanes,
                          .multicast = k->multicast,
                          .partitions = k->partitions,
                          .traffic = &k->tr,
                          .traffic2 = k->joined ? &k->across : NULL};
    return st ? st : dnet_verify(&what, &k->v);
}

static void report_addresses(const look_t *k, dnet_json_t *j)
{
    const dnet_lid_faults_t *f = &k->faults;
    dnet_json_int(j, "duplicate_lids", f->duplicates);
    dnet_json_int(j, "stale_lids", f->stale);
    if (f->duplicates) {
        const char *a = dnet_topo_dest_name(k->t, f->duplicate_dest[0]);
        const char *b = dnet_topo_dest_name(k->t, f->duplicate_dest[1]);
        printf(
            "  addresses: BAD; %ld LIDs belong to two, for example LID %d to %s and %s\n"
            "      do: delete the one that joined last from the subnet manager's guid2lid file\n",
            f->duplicates, f->duplicate_lid, a, b);
        dnet_json_int(j, "duplicate_lid", f->duplicate_lid);
        dnet_json_string(j, "duplicate_of", a);
        dnet_json_string(j, "duplicate_and", b);
    }
    if (f->stale) {
        printf("  addresses: %ld stale LIDs, for example LID %d of %s, which has LID %d now\n"
               "      do: nothing, or a heavy sweep; no packet is sent there\n",
               f->stale, f->stale_lid, dnet_topo_dest_name(k->t, f->stale_dest),
               dnet_lid_of(k->t, f->stale_dest));
        dnet_json_int(j, "stale_lid", f->stale_lid);
        dnet_json_string(j, "stale_of", dnet_topo_dest_name(k->t, f->stale_dest));
    }
}

/* What lanes are known by, and what stands in where they are not. */
static void report_lanes(const look_t *k, dnet_json_t *j)
{
    const options_t *o = k->o;
    long assumed = o->sl2vl ? k->lanes->assumed_vl : 0;
    if (!o->sl)
        printf("    assumed: %s\n",
               o->sl2vl ? "service level 0 (--sl)" : "one lane for all (--sl, --sl2vl)");
    else if (!o->sl2vl)
        printf("    assumed: VL = SL (--sl2vl)\n");
    else if (!assumed)
        printf("    lanes: as the SL2VL tables say\n");
    if (!assumed)
        return;
    printf("    assumed: VL = SL for %ld pairs of ports without an SL2VL row\n"
           "      do: smpquery sl2vl LID PORT for every port of every switch, into that file\n",
           assumed);
    dnet_json_int(j, "port_pairs_without_sl2vl_row", assumed);
}

static dnet_status_t report(look_t *k)
{
    dnet_json_t j;
    dnet_status_t st = dnet_json_open(&j, k->o->json);
    if (st)
        return st;
    printf("%s on %s\n", k->o->lfts, k->t->name);
    subnet_report_verdict("tables_verdict", &k->v, k->t, &j);
    report_addresses(k, &j);
    report_lanes(k, &j);
    if (k->multicast)
        subnet_report_multicast(k->multicast, &k->v.multicast, k->o->groups, &j);
    subnet_report_tables(NULL, &k->v, k->joined, &j);
    if (k->old)
        st = subnet_report_change(k->t, k->old, k->tables, k->v.lanes, k->multicast, &j,
                                  &k->bad_change);
    return dnet_json_close(&j) && !st ? DNET_ERR_SYSTEM : st;
}

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS};
    look_t k = {.o = &o};
    if (!tool_parse(&subnet_verify, &argc, &argv, &o))
        return TOOL_USAGE;
    o.net.quiet = true;
    if (!o.lfts) {
        dnet_error("verify: --lfts FILE is missing: the dump of forwarding tables to judge");
        return TOOL_USAGE;
    }
    if (o.groups && !o.mfts) {
        dnet_error("verify: --groups FILE needs --mfts FILE: the multicast tables");
        return TOOL_USAGE;
    }
    dnet_status_t st = judge(&k);
    if (!st)
        st = report(&k);
    bool bad = k.faults.duplicates || k.bad_change || !dnet_mcast_good(&k.v.multicast);
    int rc = st ? subnet_exit(st) : bad ? TOOL_BAD : subnet_verdict_exit(&k.v, k.t);
    dnet_lanes_free(k.lanes);
    dnet_mcast_free(k.multicast);
    dnet_partitions_free(k.partitions);
    dnet_traffic_free(&k.tr);
    dnet_traffic_free(&k.across);
    dnet_tables_free(k.tables);
    dnet_tables_free(k.old);
    dnet_topo_free(k.t);
    return rc;
}

const tool_command_t subnet_verify = {
    .name = "verify",
    .summary = "judge forwarding tables dumped by a subnet manager",
    .options = options,
    .run = run,
};
