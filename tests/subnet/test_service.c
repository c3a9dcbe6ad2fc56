/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a fabric in service needs of routes and of their judge: management reachable, several LIDs a
 * port, service levels and lanes as the switches have them.
 */
#include "subnet/engines/engines.h"
#include "subnet/addresses/lid.h"
#include "subnet/judges/verify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static dnet_topo_t *make(const char *spec, uint64_t seed)
{
    dnet_topo_t *t = NULL;
    assert_int_equal(dnet_topo_make(spec, seed, &t), DNET_OK);
    return t;
}

static dnet_routing_t route(const dnet_topo_t *t, const char *engine)
{
    dnet_traffic_t tr;
    dnet_routing_t r;
    assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_WEIGHTED, 0.01), DNET_OK);
    dnet_route_options_t opt = {.seed = 1, .traffic = &tr, .lanes = 8};
    assert_int_equal(dnet_route(t, dnet_engine_find(engine), &opt, NULL, &r), DNET_OK);
    dnet_traffic_free(&tr);
    return r;
}

static dnet_verdict_t judge(const dnet_tables_t *tables, const dnet_lanes_t *lanes)
{
    dnet_verdict_t v;
    assert_int_equal(dnet_verify_tables(tables, lanes, NULL, NULL, &v), DNET_OK);
    return v;
}

static dnet_topo_t *read_text(const char *text)
{
    dnet_topo_t *t = NULL;
    FILE *in = fmemopen((void *) text, strlen(text), "r");
    assert_int_equal(dnet_topo_read(in, "text", &t), DNET_OK);
    fclose(in);
    return t;
}

static char *file_of(char *path, const char *text)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t) strlen(text));
    close(fd);
    return path;
}

static void check_complete(const dnet_topo_t *t, const char *engine)
{
    dnet_routing_t r = route(t, engine);
    dnet_verdict_t v = judge(r.tables, r.sl);
    if (!dnet_verdict_complete(&v))
        fail_msg("%s on %s: data %ld, management %ld, switches %ld missing; cyclic %d %d %d",
                 engine, t->name, v.data.missing, v.management.missing, v.switches.missing,
                 v.data.cyclic_lanes, v.management.cyclic_lanes, v.switches.cyclic_lanes);
    dnet_routing_free(&r);
}

/* ---- management ---- */

/* One uplink of a leaf gone: its spine and the leaf reach each other over another leaf. */
static void test_leaf_and_spine_without_their_link_reach_each_other(void **state)
{
    (void) state;
    static const char *const engines[] = {"turnadd", "turnprohib", "updn", "ftree"};
    for (size_t e = 0; e < sizeof(engines) / sizeof(engines[0]); e++) {
        dnet_topo_t *t = make("leaf-spine:8:4:4", 1);
        check_complete(t, engines[e]);
        assert_int_equal(dnet_topo_cut(t, "leaf0001:1"), DNET_OK);
        check_complete(t, engines[e]);
        dnet_topo_free(t);
    }
}

/* Traps and replies of all switches of intact joined trees, and no loss of balance for them. */
static void test_switches_of_joined_trees_reach_all_servers(void **state)
{
    (void) state;
    static const char *const specs[] = {"two-fat-trees:54:middle", "two-fat-trees:432:middle",
                                        "two-fat-trees:54:top", "two-fat-trees:54:bottom"};
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        dnet_topo_t *t = make(specs[i], 1);
        check_complete(t, "turnadd");
        dnet_topo_free(t);
    }
}

/* A random network of which every third switch has no servers. */
static dnet_topo_t *partly_served(uint64_t seed)
{
    dnet_topo_t *drawn = make("random:18:4:2", seed), *t = dnet_topo_new("partly served");
    for (int s = 0; s < drawn->n_switches; s++)
        dnet_topo_add_switch(t, NULL, drawn->sw[s].ports);
    for (int h = 0; h < drawn->n_hosts; h++)
        if (drawn->host[h].sw % 3 != 0)
            dnet_topo_add_host(t, NULL, drawn->host[h].sw, 0);
    for (int l = 0; l < drawn->n_links; l++)
        dnet_topo_add_link(t, drawn->link[l].sw[0], 0, drawn->link[l].sw[1], 0);
    assert_int_equal(dnet_topo_finish(t), DNET_OK);
    dnet_topo_free(drawn);
    return t;
}

static void test_all_lids_of_random_networks_reach_all_ports(void **state)
{
    (void) state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        dnet_topo_t *t = partly_served(seed);
        check_complete(t, "turnadd");
        check_complete(t, "turnprohib");
        check_complete(t, "updn");
        dnet_topo_free(t);
    }
}

/* A way from a switch without servers that is gone is seen, and data stays good. */
static void test_lost_way_of_a_switch_is_judged_apart(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:4:2:2", 1);
    dnet_routing_t r = route(t, "turnadd");
    int spine = dnet_topo_find_switch(t, "spine0001"), leaf = dnet_topo_find_switch(t, "leaf0002");
    uint16_t *entry = &dnet_tables_row(r.tables, leaf)[t->n_hosts + spine], kept = *entry;
    *entry = DNET_TABLE_NONE;
    dnet_verdict_t v = judge(r.tables, NULL);
    assert_true(dnet_verdict_good(&v));
    assert_false(dnet_verdict_managed(&v));
    assert_int_equal(v.management.missing, 1);
    assert_int_equal(v.management.fault.source, leaf);
    assert_int_equal(v.management.fault.at, leaf);
    assert_int_equal(v.management.fault.column, t->n_hosts + spine);
    *entry = kept;
    /* From the spine to a server: no server's packet comes by, the reply to it does. */
    for (int h = 0; h < t->n_hosts; h++) {
        int via;
        bool used = false;
        for (int s = 0; s < t->n_switches; s++)
            used |=
                t->sw[s].hosts &&
                dnet_topo_port(t, s, dnet_tables_row(r.tables, s)[h], &via) == DNET_PORT_CHANNEL &&
                dnet_topo_head(t, via) == spine;
        if (used)
            continue;
        dnet_tables_row(r.tables, spine)[h] = DNET_TABLE_NONE;
        v = judge(r.tables, NULL);
        assert_true(dnet_verdict_good(&v));
        assert_true(v.management.missing > 0);
        dnet_routing_free(&r);
        dnet_topo_free(t);
        return;
    }
    fail_msg("no server that is reached without %s", "spine0001");
}

/* Ways to switches that close a cycle with data leave the data's verdict good. */
static void test_cycle_through_switch_lids_is_management(void **state)
{
    (void) state;
    dnet_topo_t *t = make("ring:4:1", 1);
    dnet_tables_t *tables;
    dnet_routing_t r = route(t, "updn");
    tables = r.tables;
    for (int s = 0; s < 4; s++) /* to the switch opposite always clockwise */
        for (int hop = 1, at = s; hop <= 2; hop++) {
            int next = (at + 1) % 4, c;
            for (int i = 0; i < dnet_topo_degree(t, at); i++)
                if (dnet_topo_head(t, c = dnet_topo_channel(t, at, i)) == next)
                    dnet_tables_row(tables, at)[t->n_hosts + (s + 2) % 4] =
                        (uint16_t) dnet_topo_out_port(t, c);
            at = next;
        }
    dnet_verdict_t v = judge(tables, NULL);
    assert_true(dnet_verdict_good(&v));
    assert_int_equal(v.management.missing + v.management.loops, 0);
    assert_int_equal(v.management.cyclic_lanes, 1);
    assert_int_equal(v.management.cycle.length, 4);
    dnet_routing_free(&r);
    dnet_topo_free(t);
}

/* ---- LMC ---- */

/* Both LIDs of every server are routed and judged; one that is broken is seen whichever it is. */
static void test_every_lid_of_a_port_is_routed_and_judged(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:4:4:4", 1);
    for (int h = 0; h < t->n_hosts; h++) {
        t->host[h].lmc = 1;
        t->host[h].lid = (uint16_t) (2 + 2 * h);
    }
    for (int s = 0; s < t->n_switches; s++)
        t->sw[s].lid = (uint16_t) (100 + s);
    dnet_routing_t r = route(t, "turnadd");
    assert_int_equal(r.tables->planes, 2);
    dnet_verdict_t v = judge(r.tables, NULL);
    assert_true(dnet_verdict_complete(&v));
    assert_int_equal(v.data.pairs, 4 * 32);
    int differ = 0;
    for (int h = 4; h < t->n_hosts; h++)
        differ +=
            dnet_tables_row(r.tables, 0)[h] != dnet_tables_row(r.tables, 0)[h + r.tables->dests];
    assert_true(differ > 0); /* several LIDs are several ways */

    char path[] = "lft-XXXXXX";
    FILE *out = fdopen(mkstemp(path), "w");
    assert_int_equal(dnet_lft_write(t, r.tables, out), DNET_OK);
    fclose(out);
    for (int plane = 0; plane < 2; plane++) {
        dnet_topo_t *again = make("leaf-spine:4:4:4", 1); /* no LMC known but from the file */
        dnet_tables_t *back;
        dnet_lid_faults_t faults;
        assert_int_equal(dnet_lft_read(again, path, &back, &faults), DNET_OK);
        assert_int_equal(back->planes, 2);
        assert_int_equal(faults.duplicates + faults.stale, 0);
        v = judge(back, NULL);
        assert_true(dnet_verdict_complete(&v));
        dnet_tables_row(back, 0)[plane * back->dests + 15] = DNET_TABLE_NONE;
        v = judge(back, NULL);
        assert_int_equal(v.data.missing, 1);
        dnet_tables_free(back);
        dnet_topo_free(again);
    }
    unlink(path);
    dnet_routing_free(&r);
    dnet_topo_free(t);
}

static void test_duplicate_and_stale_lids_are_found(void **state)
{
    (void) state;
    static const char net[] = "switchguid=0x20\nSwitch 3 \"a\"\n[1] \"h\"[1]\n[2] \"g\"[1]\n\n"
                              "caguid=0x30\nHca 1 \"h\"\ncaguid=0x40\nHca 1 \"g\"\n";
    char path[] = "lft-XXXXXX";
    dnet_topo_t *t = read_text(net);
    dnet_tables_t *tables;
    dnet_lid_faults_t faults;
    file_of(path, "Unicast lids [0x0-0x9] of switch Lid 1 guid 0x20 (a):\n"
                  "0x0001 000 : (Switch portguid 0x20: 'a')\n"
                  "0x0002 001 : (Channel Adapter portguid 0x31: 'h')\n"
                  "0x0007 001 : (Channel Adapter portguid 0x31: 'h')\n"
                  "0x0003 002 : (Channel Adapter portguid 0x41: 'g')\n"
                  "0x0001 002 : (Channel Adapter portguid 0x41: 'g')\n");
    assert_int_equal(dnet_lft_read(t, path, &tables, &faults), DNET_OK);
    assert_int_equal(faults.duplicates, 1);
    assert_int_equal(faults.duplicate_lid, 1);
    assert_int_equal(faults.stale, 1);
    assert_int_equal(t->host[0].lid == 2 || t->host[0].lid == 7, true);
    unlink(path);
    dnet_tables_free(tables);
    dnet_topo_free(t);
}

/* ---- service levels and lanes ---- */

/* Shortest ways on a ring: cyclic in both directions unless those over the dateline, between the
 * last switch and the first, are on another lane. */
typedef struct ring {
    dnet_topo_t *t;
    dnet_tables_t *tables;
} ring_t;

static bool is_clockwise(const dnet_topo_t *t, int s, int end)
{
    return (end - s + t->n_switches) % t->n_switches <= t->n_switches / 2;
}

static ring_t shortest_ways(const char *spec)
{
    ring_t r = {.t = make(spec, 1)};
    dnet_topo_t *t = r.t;
    assert_int_equal(dnet_lid_assign(t, DNET_LID_CONVENTIONAL), DNET_OK);
    assert_int_equal(dnet_tables_new(t, &r.tables), DNET_OK);
    for (int s = 0; s < t->n_switches; s++)
        for (int d = 0; d < r.tables->dests; d++) {
            int end = dnet_topo_dest_switch(t, d), c;
            uint16_t *entry = &dnet_tables_row(r.tables, s)[d];
            if (end == s)
                *entry = (uint16_t) (d < t->n_hosts ? t->host[d].port : 0);
            for (int i = 0; end != s && i < dnet_topo_degree(t, s); i++)
                if (dnet_topo_head(t, c = dnet_topo_channel(t, s, i)) ==
                    (s + (is_clockwise(t, s, end) ? 1 : t->n_switches - 1)) % t->n_switches)
                    *entry = (uint16_t) dnet_topo_out_port(t, c);
        }
    return r;
}

/* Path records: ways over the dateline have service level 1, but not from ports up to `odd`. */
static char *records(const ring_t *r, char *path, int odd, bool all)
{
    const dnet_topo_t *t = r->t;
    FILE *out = fdopen(mkstemp(path), "w");
    for (int a = 0; a < t->n_hosts; a++)
        for (int d = 0; d < dnet_topo_dests(t); d++) {
            int end = dnet_topo_dest_switch(t, d);
            int s = t->host[a].sw;
            bool late = (is_clockwise(t, s, end) ? end < s : end > s) && t->host[a].port > odd;
            if (!all && a == 0)
                continue;
            fprintf(out,
                    "\t\tdlid....................%d\n\t\tslid....................%d\n"
                    "\t\tsl......................0x%x\n",
                    dnet_lid_of(t, d), dnet_lid_of(t, a), late);
        }
    fclose(out);
    return path;
}

/* The servers of a switch differ: the first of them stays on lane 0 all round. */
static void test_service_levels_are_judged_for_each_server(void **state)
{
    (void) state;
    ring_t r = shortest_ways("ring:6:3");
    int lowest = r.t->host[0].port;
    for (int odd = lowest - 1; odd <= lowest; odd++) {
        char path[] = "sl-XXXXXX";
        dnet_lanes_t *lanes;
        records(&r, path, odd, true);
        assert_int_equal(dnet_sl_read(r.tables, path, &lanes), DNET_OK);
        dnet_verdict_t v = judge(r.tables, lanes);
        assert_int_equal(v.lanes, 2);
        assert_int_equal(v.data.missing, 0);
        assert_int_equal(v.data.cyclic_lanes, odd == lowest);
        assert_int_equal(v.assumed_sl, 0);
        dnet_lanes_free(lanes);
        unlink(path);
    }
    char path[] = "sl-XXXXXX";
    dnet_lanes_t *lanes;
    records(&r, path, lowest - 1, false);
    assert_int_equal(dnet_sl_read(r.tables, path, &lanes), DNET_OK);
    dnet_verdict_t v = judge(r.tables, lanes);
    assert_int_equal(v.assumed_sl, r.t->n_hosts - 1); /* of the first server, and it says so */
    dnet_lanes_free(lanes);
    unlink(path);
    dnet_tables_free(r.tables);
    dnet_topo_free(r.t);
}

/* to_servers: of the ports that servers hang on */
static void write_sl2vl(const dnet_topo_t *t, char *path, const char *lanes, const char *to_servers)
{
    int which;
    FILE *out = fdopen(mkstemp(path), "w");
    for (int s = 0; s < t->n_switches; s++)
        for (int in = 0; in <= t->sw[s].ports; in++) {
            fprintf(out, "# SL2VL table: Lid %d\n", t->sw[s].lid);
            for (int port = 0; port <= t->sw[s].ports; port++)
                fprintf(out, "ports: in %2d, out %2d: %s\n", in, port,
                        dnet_topo_port(t, s, port, &which) == DNET_PORT_HOST ? to_servers : lanes);
        }
    fclose(out);
}

/* Two service levels are two lanes only if the switches' SL2VL tables say so. */
static void test_lanes_are_those_of_the_sl2vl_tables(void **state)
{
    (void) state;
    static const struct {
        const char *vl;
        int lanes, cyclic;
        bool lost;
    } cases[] = {
        {"| 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14| 7|", 2, 0, false},
        {"| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0|", 1, 1, false},
        {"| 0|15| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14| 7|", 1, 0, true},
    };
    ring_t r = shortest_ways("ring:6:2");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char sl[] = "sl-XXXXXX", vl[] = "vl-XXXXXX";
        dnet_lanes_t *lanes;
        records(&r, sl, 0, true);
        write_sl2vl(r.t, vl, cases[i].vl, cases[i].vl);
        assert_int_equal(dnet_sl_read(r.tables, sl, &lanes), DNET_OK);
        assert_int_equal(dnet_sl2vl_read(r.t, vl, lanes), DNET_OK);
        dnet_verdict_t v = judge(r.tables, lanes);
        assert_int_equal(v.lanes, cases[i].lanes);
        assert_int_equal(v.data.cyclic_lanes, cases[i].cyclic);
        assert_int_equal(v.data.missing > 0, cases[i].lost);
        if (cases[i].lost)
            assert_int_equal(v.data.fault.kind, DNET_FAULT_LANE);
        dnet_lanes_free(lanes);
        unlink(sl);
        unlink(vl);
    }
    dnet_tables_free(r.tables);
    dnet_topo_free(r.t);
}

/* A packet is lost that gets lane 15 on the last link, to the server, on the way from its neighbour
 * on the switch, too. */
static void test_a_lane_that_drops_at_the_last_switch_is_seen(void **state)
{
    (void) state;
    char sl[] = "sl-XXXXXX", vl[] = "vl-XXXXXX";
    ring_t r = shortest_ways("ring:6:2");
    dnet_lanes_t *lanes;
    records(&r, sl, 0, true);
    write_sl2vl(r.t, vl, "| 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14| 7|",
                "|15|15| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14| 7|");
    assert_int_equal(dnet_sl_read(r.tables, sl, &lanes), DNET_OK);
    assert_int_equal(dnet_sl2vl_read(r.t, vl, lanes), DNET_OK);
    dnet_verdict_t v = judge(r.tables, lanes);
    assert_int_equal(v.data.pairs, 12 * 11);
    assert_int_equal(v.data.missing, 12 * 11);
    assert_int_equal(v.data.fault.kind, DNET_FAULT_LANE);
    dnet_lanes_free(lanes);
    unlink(sl);
    unlink(vl);
    dnet_tables_free(r.tables);
    dnet_topo_free(r.t);
}

/* dfsssp's levels written, read and judged are good; without them its tables are not. */
static void test_levels_written_are_those_read(void **state)
{
    (void) state;
    char path[] = "sl-XXXXXX";
    dnet_topo_t *t = make("ring:6:2", 1);
    dnet_lanes_t *back;
    assert_int_equal(dnet_lid_assign(t, DNET_LID_CONVENTIONAL), DNET_OK);
    dnet_routing_t r = route(t, "dfsssp");
    FILE *out = fdopen(mkstemp(path), "w");
    assert_int_equal(dnet_sl_write(r.tables, r.sl, out), DNET_OK);
    fclose(out);
    assert_int_equal(dnet_sl_read(r.tables, path, &back), DNET_OK);
    dnet_verdict_t v = judge(r.tables, back);
    assert_true(dnet_verdict_good(&v));
    assert_int_equal(v.assumed_sl, 0);
    v = judge(r.tables, NULL);
    assert_int_equal(v.data.cyclic_lanes, 1);
    unlink(path);
    dnet_lanes_free(back);
    dnet_routing_free(&r);
    dnet_topo_free(t);
}

/* ---- partitions ---- */

static dnet_verdict_t judge_parts(const ring_t *r, const char *text)
{
    char path[] = "part-XXXXXX";
    dnet_partitions_t *p;
    dnet_traffic_t tr;
    dnet_verdict_t v;
    file_of(path, text);
    assert_int_equal(dnet_partitions_read(r->t, path, &p), DNET_OK);
    unlink(path);
    assert_int_equal(dnet_partitions_traffic(p, r->t, &tr), DNET_OK);
    dnet_judged_t what = {.tables = r->tables, .partitions = p, .traffic = &tr};
    assert_int_equal(dnet_verify(&what, &v), DNET_OK);
    dnet_traffic_free(&tr);
    dnet_partitions_free(p);
    return v;
}

/* A ring of four by shortest ways: clockwise to the server opposite.  Pairs of servers that may not
 * talk close no cycle, and load nothing. */
static void test_data_goes_where_partitions_let_it(void **state)
{
    (void) state;
    static const struct {
        const char *text;
        int pairs, cyclic;
        double load; /* of the link that carries most */
    } cases[] = {
        /* Three pairs each, of which two links carry two. */
        {"Default=0x7fff, ipoib : ALL=full ;\n", 12, 1, 1},
        {"Default=0x7fff,ipoib:\n  ALL_CAS=full,\n  ALL_SWITCHES=full;\n", 12, 1, 1},
        {"# nobody\nDefault=0x7fff : ALL ;\n", 0, 0, 0},
        {"Default=0x7fff : ALL=limited, 0x100001=full ;\n", 6, 0, 2},
        {"a=0x1,defmember=full:0x100001,0x100004; b=0x8002 : 0x100007=full,0x10000a=limited;", 4, 0,
         1},
        {"a=0x1 : 0x100001=full, 0x100004 ;\na=0x8001 : 0x100007 ;\n", 4, 0, 1},
        /* Blanks around =, as OpenSM's own examples have them; a key alone; a GUID in decimal. */
        {"s = 0x80 , defmember=full : 0x100001, 0x100004 ;\ns = 0x80 : 0x100007 ;\n", 6, 0, 1},
        {"s=0x80, defmember = full, sl = 1 : 0x100001, 0x100004 ;\n0x80 : 1048583 ;\n", 6, 0, 1},
        {"0x80 : 0x100001 = full ;\n0x81 : 0x100004 = lim ;\n", 0, 0, 0},
        /* One partition by its name, whose key is OpenSM's to choose. */
        {"a : 0x100001=full, 0x100004 ;\na, ipoib : 0x100007 ;\nb : 0x10000a ;\n", 4, 0, 1},
        {"a=0x5 : 0x100001=full ;\na : 0x100004, 0x100007 ;\n", 4, 0, 1},
        /* All are limited members of the default partition. */
        {"Default=0x7fff : 0x100001=full ;\n", 6, 0, 2},
    };
    ring_t r = shortest_ways("ring:4:1");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dnet_verdict_t v = judge_parts(&r, cases[i].text);
        if (v.data.pairs != cases[i].pairs || v.data.cyclic_lanes != cases[i].cyclic ||
            fabs(v.max_load - cases[i].load) > 1e-9)
            fail_msg("case %zu: %ld pairs, %d lanes cyclic, load %f", i, v.data.pairs,
                     v.data.cyclic_lanes, v.max_load);
        assert_int_equal(v.data.missing + v.data.astray + v.data.loops, 0);
    }
    dnet_tables_free(r.tables);
    dnet_topo_free(r.t);
}

/* ---- rates ---- */

/* Leaves with a fast spine and a slow one: ways go by what the links carry. */
static void test_links_of_other_rates_carry_their_part(void **state)
{
    (void) state;
    static const dnet_topo_rate_t edr = {4, 25.78125}, hdr = {4, 53.125};
    double best[2];
    for (int known = 0; known < 2; known++) {
        dnet_topo_t *t = make("leaf-spine:4:6:2", 1);
        dnet_traffic_t tr;
        dnet_routing_t r;
        dnet_verdict_t v;
        if (known)
            for (int h = 0; h < t->n_hosts; h++)
                t->host[h].rate = edr;
        for (int l = 0; l < t->n_links && known; l++)
            dnet_topo_set_rate(&t->link[l], t->link[l].port[0] == 1 ? hdr : edr, hdr);
        assert_int_equal(dnet_topo_index(t), DNET_OK);
        r = route(t, "turnadd");
        for (int l = 0; l < t->n_links; l++) /* judged by what the links are, either way */
            dnet_topo_set_rate(&t->link[l], t->link[l].port[0] == 1 ? hdr : edr, hdr);
        for (int h = 0; h < t->n_hosts; h++)
            t->host[h].rate = edr;
        assert_int_equal(dnet_topo_index(t), DNET_OK);
        assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_UNIFORM, 0), DNET_OK);
        assert_int_equal(dnet_verify_tables(r.tables, NULL, &tr, NULL, &v), DNET_OK);
        assert_true(dnet_verdict_complete(&v));
        best[known] = v.throughput;
        dnet_traffic_free(&tr);
        dnet_routing_free(&r);
        dnet_topo_free(t);
    }
    /* 18 of 23 packets leave their leaf.  Three of six by a slow link carry 3 * 18 / 23 of it. */
    assert_true(best[0] < 0.43);
    if (best[1] <= 0.6)
        fail_msg("throughput is %.3f", best[1]);
}

/* ---- topologies ---- */

/* A director of 324 ports: 18 line chips, 9 fabric chips, two links between each two; and tables
 * over such spines, though most of the chips have no servers. */
static void test_directors_are_made_of_chips(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:324:1:1:36", 1);
    assert_int_equal(t->n_switches, 324 + 18 + 9);
    assert_int_equal(t->n_links, 324 + 18 * 18);
    int links[18][9] = {{0}};
    for (int l = 0; l < t->n_links; l++)
        if (t->link[l].sw[0] >= 324)
            links[t->link[l].sw[0] - 324][t->link[l].sw[1] - 324 - 18]++;
    for (int i = 0; i < 18; i++)
        for (int k = 0; k < 9; k++)
            assert_int_equal(links[i][k], 2);
    dnet_topo_free(t);
    t = make("leaf-spine:12:3:3:8", 1);
    check_complete(t, "turnadd");
    check_complete(t, "updn");
    dnet_topo_free(t);
}

/* A cable from a switch to itself carries nothing; everything else of the file counts. */
static void test_loopback_cable_is_left_out(void **state)
{
    (void) state;
    dnet_topo_t *t =
        read_text("Switch 4 \"a\"\n[1] \"a\"[2]\n[2] \"a\"[1]\n[3] \"b\"[3]\n[4] \"h\"[1]\n\n"
                  "Switch 4 \"b\"\n[1] \"g\"[1]\n\nHca 1 \"h\"\nHca 1 \"g\"\n");
    assert_int_equal(t->n_links, 1);
    assert_int_equal(t->n_hosts, 2);
    check_complete(t, "turnadd");
    dnet_topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaf_and_spine_without_their_link_reach_each_other),
        cmocka_unit_test(test_switches_of_joined_trees_reach_all_servers),
        cmocka_unit_test(test_all_lids_of_random_networks_reach_all_ports),
        cmocka_unit_test(test_lost_way_of_a_switch_is_judged_apart),
        cmocka_unit_test(test_cycle_through_switch_lids_is_management),
        cmocka_unit_test(test_every_lid_of_a_port_is_routed_and_judged),
        cmocka_unit_test(test_duplicate_and_stale_lids_are_found),
        cmocka_unit_test(test_service_levels_are_judged_for_each_server),
        cmocka_unit_test(test_lanes_are_those_of_the_sl2vl_tables),
        cmocka_unit_test(test_a_lane_that_drops_at_the_last_switch_is_seen),
        cmocka_unit_test(test_levels_written_are_those_read),
        cmocka_unit_test(test_data_goes_where_partitions_let_it),
        cmocka_unit_test(test_links_of_other_rates_carry_their_part),
        cmocka_unit_test(test_directors_are_made_of_chips),
        cmocka_unit_test(test_loopback_cable_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
