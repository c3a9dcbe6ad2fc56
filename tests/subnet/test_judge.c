/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The judges on tables made by hand: each case is good but for what the one rule in question finds.
 */
#include "subnet/addresses/lid.h"
#include "subnet/engines/engines.h"
#include "subnet/judges/transition.h"
#include "subnet/judges/verify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "made.h"

/*
 * A ring of switches 0 to 3, SHORT across it from 0 to 2, and ASIDE, whose link to 0 has the lowest
 * number of all.  Server and switch have one number.
 */
enum { SHORT = 4, ASIDE = 5, SWITCHES = 6 };

static dnet_topo_t *make_ring(void)
{
    static const int links[][2] = {{ASIDE, 0}, {0, 1},     {1, 2},    {2, 3},
                                   {3, 0},     {SHORT, 0}, {SHORT, 2}};
    return made("ring with a short cut", SWITCHES, 8, links, sizeof(links) / sizeof(links[0]));
}

static dnet_tables_t *no_tables(const dnet_topo_t *t)
{
    dnet_tables_t *tables;
    assert_int_equal(dnet_tables_new(t, &tables), DNET_OK);
    return tables;
}

static uint16_t port_to(const dnet_topo_t *t, int s, int u)
{
    for (int i = 0; i < dnet_topo_degree(t, s); i++)
        if (dnet_topo_head(t, dnet_topo_channel(t, s, i)) == u)
            return (uint16_t) dnet_topo_out_port(t, dnet_topo_channel(t, s, i));
    fail_msg("no link from %d to %d", s, u);
    return 0;
}

/* A destination's way: from each switch to the next, the last delivers. */
static void way(dnet_tables_t *tables, int dest, const int *switches, int n)
{
    const dnet_topo_t *t = tables->topo;
    for (int i = 0; i + 1 < n; i++)
        dnet_tables_row(tables, switches[i])[dest] = port_to(t, switches[i], switches[i + 1]);
    dnet_tables_row(tables, switches[n - 1])[dest] =
        (uint16_t) (dest < t->n_hosts ? t->host[dest].port : 0);
}

#define WAY(tables, dest, ...) \
    way(tables, dest, (const int[]){__VA_ARGS__}, \
        (int) (sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))

static dnet_verdict_t judge(const dnet_tables_t *tables, const dnet_lanes_t *lanes)
{
    dnet_verdict_t v;
    assert_int_equal(dnet_verify_tables(tables, lanes, NULL, NULL, &v), DNET_OK);
    return v;
}

/* To server 2 by 3, 0, 1 with some entries new and some old, as no packet goes by either alone. */
static void test_one_lid_old_here_and_new_there(void **state)
{
    (void) state;
    dnet_topo_t *t = make_ring();
    dnet_tables_t *old = no_tables(t), *new = no_tables(t);
    dnet_cycle_t cycle;
    int cyclic;
    WAY(old, 0, 1, 2, 3, 0);
    WAY(new, 0, 1, 2, 3, 0);
    WAY(old, 2, 0, 1, 2);
    WAY(old, 2, 3, 2);
    WAY(new, 2, 3, 0, SHORT, 2);
    assert_int_equal(dnet_transition_judge(t, old, old, NULL, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic, 0);
    assert_int_equal(dnet_transition_judge(t, new, new, NULL, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic, 0);
    assert_int_equal(dnet_transition_judge(t, old, new, NULL, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic, 1);
    assert_int_equal(cycle.length, 4);
    dnet_tables_free(old);
    dnet_tables_free(new);
    dnet_topo_free(t);
}

static void test_tables_of_other_networks_are_no_change(void **state)
{
    (void) state;
    dnet_topo_t *t = make_ring(), *other = NULL;
    assert_int_equal(dnet_topo_make("ring:5:1", 1, &other), DNET_OK);
    dnet_tables_t *old = no_tables(other), *new = no_tables(t);
    dnet_transition_t plan;
    dnet_cycle_t cycle;
    int cyclic;
    assert_int_equal(dnet_transition_judge(t, old, new, NULL, &cyclic, &cycle), DNET_ERR_ARGUMENT);
    assert_int_equal(dnet_transition_plan(t, old, new, NULL, &plan), DNET_ERR_ARGUMENT);
    dnet_tables_free(old);
    dnet_tables_free(new);
    dnet_topo_free(other);
    dnet_topo_free(t);
}

/* Three parts of the circle are data's, the fourth is that of queries of a switch.  It is entered
 * from the switch aside, which is not on it. */
static void test_management_closes_a_cycle_with_data(void **state)
{
    (void) state;
    dnet_topo_t *t = make_ring();
    dnet_tables_t *tables = no_tables(t);
    WAY(tables, 0, 1, 2, 3, 0);
    WAY(tables, 2, ASIDE, 0, 1, 2);
    dnet_verdict_t v = judge(tables, NULL);
    assert_int_equal(v.data.cyclic_lanes + v.management.cyclic_lanes, 0);
    WAY(tables, t->n_hosts + 1, 3, 0, 1);
    v = judge(tables, NULL);
    assert_int_equal(v.data.cyclic_lanes, 0);
    assert_int_equal(v.management.cyclic_lanes, 1);
    assert_int_equal(v.management.cycle.length, 4);
    dnet_tables_free(tables);
    dnet_topo_free(t);
}

/* All the circle's parts are data's. */
static dnet_tables_t *circle(const dnet_topo_t *t)
{
    dnet_tables_t *tables = no_tables(t);
    WAY(tables, 0, 1, 2, 3, 0);
    WAY(tables, 2, 3, 0, 1, 2);
    return tables;
}

static void set_level(const dnet_tables_t *tables, dnet_lanes_t *lanes, int column, uint8_t sl)
{
    for (int h = 0; h < tables->topo->n_hosts; h++)
        lanes->sl[(size_t) h * lanes->columns + (size_t) column] = sl;
}

static void test_cycles_are_found_on_every_lane(void **state)
{
    (void) state;
    dnet_topo_t *t = make_ring();
    dnet_tables_t *tables = circle(t);
    dnet_lanes_t *lanes;
    assert_int_equal(dnet_lanes_new(tables, true, &lanes), DNET_OK);
    lanes->lanes = 3;
    for (uint8_t sl = 0; sl < 3; sl++) {
        memset(lanes->sl, sl, (size_t) t->n_hosts * lanes->columns);
        dnet_verdict_t v = judge(tables, lanes);
        assert_int_equal(v.data.cyclic_lanes, 1);
        assert_int_equal(v.data.cycle.lane[0], sl);
    }
    dnet_lanes_free(lanes);
    dnet_tables_free(tables);
    dnet_topo_free(t);
}

/* Packets to server 2 are on lane 1, and so are its queries: the replies, too, then. */
static void test_a_reply_has_the_level_of_its_request(void **state)
{
    (void) state;
    dnet_topo_t *t = make_ring();
    dnet_tables_t *tables = circle(t);
    dnet_lanes_t *lanes;
    assert_int_equal(dnet_lanes_new(tables, true, &lanes), DNET_OK);
    lanes->lanes = 2;
    memset(lanes->sl, 0, (size_t) t->n_hosts * lanes->columns);
    set_level(tables, lanes, 2, 1);
    uint8_t *of_zero = lanes->sl + t->n_hosts, *of_two = of_zero + 2 * lanes->columns;
    memset(of_zero, 1, (size_t) t->n_switches); /* the other way round: each closes with data */
    dnet_verdict_t v = judge(tables, lanes);
    assert_int_equal(v.data.cyclic_lanes, 0);
    assert_int_equal(v.management.cyclic_lanes, 2);
    memset(of_zero, 0, (size_t) t->n_switches);
    memset(of_two, 1, (size_t) t->n_switches);
    v = judge(tables, lanes);
    assert_int_equal(v.data.cyclic_lanes + v.management.cyclic_lanes, 0);
    dnet_lanes_free(lanes);
    dnet_tables_free(tables);
    dnet_topo_free(t);
}

static void test_faults_have_a_kind_and_a_place(void **state)
{
    (void) state;
    dnet_topo_t *t = make_ring();
    dnet_tables_t *tables = no_tables(t);
    WAY(tables, 0, ASIDE, 0);
    WAY(tables, 0, SHORT, 0);
    WAY(tables, 0, 1, 2, 3, 0);
    uint16_t *entry = &dnet_tables_row(tables, 3)[0];
    const struct {
        uint16_t port;
        int kind;
    } cases[] = {{DNET_TABLE_NONE, DNET_FAULT_MISSING},
                 {7, DNET_FAULT_NO_LINK},
                 {(uint16_t) t->host[3].port, DNET_FAULT_ASTRAY},
                 {0, DNET_FAULT_ASTRAY}, /* the switch itself */
                 {port_to(t, 3, 2), DNET_FAULT_LOOP}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        *entry = cases[i].port;
        dnet_verdict_t v = judge(tables, NULL);
        assert_int_equal(v.data.fault.kind, cases[i].kind);
        assert_int_equal(v.data.fault.source, 1);
        assert_int_equal(v.data.fault.column, 0);
        if (cases[i].kind != DNET_FAULT_LOOP) {
            assert_int_equal(v.data.fault.at, 3);
            assert_int_equal(v.data.fault.port, cases[i].port);
        }
    }
    dnet_tables_free(tables);
    dnet_topo_free(t);
}

static void test_lanes_out_of_range_are_refused(void **state)
{
    (void) state;
    dnet_topo_t *t = make_ring();
    dnet_tables_t *tables = circle(t);
    dnet_lanes_t *lanes;
    dnet_verdict_t v;
    assert_int_equal(dnet_lanes_new(tables, true, &lanes), DNET_OK);
    static const int wrong[] = {0, 17};
    for (size_t i = 0; i < 2; i++) {
        lanes->lanes = wrong[i];
        assert_int_equal(dnet_verify_tables(tables, lanes, NULL, NULL, &v), DNET_ERR_ARGUMENT);
    }
    lanes->lanes = 2;
    set_level(tables, lanes, 0, 2);
    assert_int_equal(dnet_verify_tables(tables, lanes, NULL, NULL, &v), DNET_ERR_ARGUMENT);
    dnet_lanes_free(lanes);
    dnet_tables_free(tables);
    dnet_topo_free(t);
}

/* A record for the second LID of a port is that LID's. */
static void test_levels_belong_to_lids_not_to_ports(void **state)
{
    (void) state;
    dnet_topo_t *t = make_ring();
    char path[] = "sl-XXXXXX";
    dnet_lanes_t *lanes;
    for (int h = 0; h < t->n_hosts; h++) {
        t->host[h].lmc = 1;
        t->host[h].lid = (uint16_t) (2 + 2 * h);
    }
    dnet_tables_t *tables = no_tables(t);
    FILE *out = fdopen(mkstemp(path), "w");
    fputs("dlid....................5\nslid....................2\nsl......................0x3\n",
          out);
    fclose(out);
    assert_int_equal(dnet_sl_read(tables, path, &lanes), DNET_OK);
    unlink(path);
    assert_int_equal(lanes->sl[1], DNET_SL_NONE);
    assert_int_equal(lanes->sl[tables->dests + 1], 3);
    dnet_lanes_free(lanes);
    dnet_tables_free(tables);
    dnet_topo_free(t);
}

/* Loads of a network whose tables were made by an engine. */
static dnet_verdict_t loads(const char *spec, const char *engine, int lmc, dnet_traffic_kind_t kind,
                            dnet_traffic_kind_t kind2)
{
    dnet_topo_t *t;
    dnet_traffic_t tr, tr2;
    dnet_routing_t r;
    dnet_verdict_t v;
    assert_int_equal(dnet_topo_make(spec, 1, &t), DNET_OK);
    for (int h = 0; h < t->n_hosts; h++)
        t->host[h].lmc = (uint8_t) lmc;
    assert_int_equal(dnet_traffic_init(&tr, t, kind, 0), DNET_OK);
    assert_int_equal(dnet_traffic_init(&tr2, t, kind2, 0), DNET_OK);
    dnet_route_options_t opt = {.seed = 1, .traffic = &tr, .lanes = 1};
    assert_int_equal(dnet_route(t, dnet_engine_find(engine), &opt, NULL, &r), DNET_OK);
    assert_int_equal(dnet_verify_tables(r.tables, NULL, &tr, &tr2, &v), DNET_OK);
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_traffic_free(&tr2);
    dnet_topo_free(t);
    return v;
}

/* Several LIDs share a server's traffic; each kind of traffic has loads of its own. */
static void test_loads_are_those_of_the_traffic(void **state)
{
    (void) state;
    dnet_verdict_t one =
        loads("leaf-spine:4:4:4", "turnadd", 0, DNET_TRAFFIC_UNIFORM, DNET_TRAFFIC_UNIFORM);
    dnet_verdict_t two =
        loads("leaf-spine:4:4:4", "turnadd", 1, DNET_TRAFFIC_UNIFORM, DNET_TRAFFIC_UNIFORM);
    assert_true(one.mean_load > 0.1 && fabs(one.mean_load - two.mean_load) < 1e-9);
    /* From a leaf four servers are on it and twelve behind a spine. */
    assert_true(fabs(one.mean_hops - 1.5) < 1e-9 && fabs(two.mean_hops - 1.5) < 1e-9);
    assert_int_equal(one.max_hops, 2);
    /* Every server sends 1.00 to the other tree, over as many links as there are servers. */
    dnet_verdict_t v =
        loads("two-fat-trees:54:middle", "minhop", 0, DNET_TRAFFIC_INSIDE, DNET_TRAFFIC_BETWEEN);
    if (v.throughput > 0.9 || v.throughput2 > 0.9 || v.throughput == v.throughput2)
        fail_msg("%.3f inside, %.3f between", v.throughput, v.throughput2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_lid_old_here_and_new_there),
        cmocka_unit_test(test_tables_of_other_networks_are_no_change),
        cmocka_unit_test(test_management_closes_a_cycle_with_data),
        cmocka_unit_test(test_cycles_are_found_on_every_lane),
        cmocka_unit_test(test_a_reply_has_the_level_of_its_request),
        cmocka_unit_test(test_faults_have_a_kind_and_a_place),
        cmocka_unit_test(test_lanes_out_of_range_are_refused),
        cmocka_unit_test(test_levels_belong_to_lids_not_to_ports),
        cmocka_unit_test(test_loads_are_those_of_the_traffic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
