/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The link monitor's judgement and the rail simulation's model.
 */
#include "subnet/engines/engines.h"
#include "subnet/judges/health.h"
#include "subnet/judges/rails.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static dnet_topo_t *make(const char *spec)
{
    dnet_topo_t *t = NULL;
    assert_int_equal(dnet_topo_make(spec, 1, &t), DNET_OK);
    return t;
}

typedef struct fixture {
    dnet_topo_t *t;
    dnet_counters_t *before, *after;
    dnet_link_health_t *list;
    int n;
} fixture_t;

static fixture_t start(const char *spec)
{
    fixture_t f = {.t = make(spec)};
    f.before = calloc((size_t) dnet_topo_channels(f.t), sizeof(*f.before));
    f.after = calloc((size_t) dnet_topo_channels(f.t), sizeof(*f.after));
    for (int l = 0; l < f.t->n_links; l++)
        f.t->link[l].gbps = f.t->link[l].nominal_gbps = 40;
    return f;
}

static void judge(fixture_t *f, bool confirmed)
{
    free(f->list);
    assert_int_equal(
        dnet_health_judge(f->t, f->before, f->after, 10, 0, confirmed, &f->list, &f->n), DNET_OK);
}

static void finish(fixture_t *f)
{
    free(f->before);
    free(f->after);
    free(f->list);
    dnet_topo_free(f->t);
}

static void test_health_idle_errors_are_graded(void **state)
{
    (void) state;
    fixture_t f = start("leaf-spine:4:4:8");
    f.before[2 * 3].symbol = 100;
    f.after[2 * 3].symbol = 100;      /* old errors, none new: clean */
    f.after[2 * 5 + 1].symbol = 3000; /* hundreds per second [MR §3.2] */
    f.after[2 * 9].symbol = 2;
    f.after[2 * 12].rcv = 5;
    f.t->link[20].gbps = 10;
    f.after[2 * 30 + 1].downed = 1;
    f.before[2 * 25].symbol = 500;
    f.after[2 * 25].symbol = 40; /* cleared in between: 4/s */
    judge(&f, false);
    assert_int_equal(f.n, 6);
    assert_int_equal(f.list[0].link, 5);
    assert_int_equal(f.list[0].isolate, DNET_ISOLATE_YES);
    assert_int_equal(f.list[4].link, 9);
    assert_int_equal(f.list[4].state, DNET_LINK_WATCH);
    assert_int_equal(f.list[4].isolate, DNET_ISOLATE_NO);
    assert_int_equal(f.list[5].link, 30);
    assert_int_equal(f.list[5].state, DNET_LINK_WATCH);
    assert_true(f.list[5].downed);
    for (int i = 0; i < 4; i++)
        assert_int_equal(f.list[i].state, DNET_LINK_SICK);
    assert_true(f.list[3].slow);
    finish(&f);
}

/* A counter of errors that is full cannot rise, and says nothing of now: the link is sick until it
 * is cleared.  One of times that the link has gone down: it is watched.  A link that is out of
 * service is nobody's concern. */
static void test_health_full_counter_is_sick_and_a_cut_link_is_not(void **state)
{
    (void) state;
    fixture_t f = start("leaf-spine:4:4:8");
    f.before[2 * 3].symbol = f.after[2 * 3].symbol = DNET_HEALTH_SATURATED;
    f.before[2 * 4].symbol = f.after[2 * 4].symbol = DNET_HEALTH_SATURATED - 1;
    f.after[2 * 5].symbol = 3000;
    f.before[2 * 6 + 1].rcv = f.after[2 * 6 + 1].rcv = DNET_HEALTH_SATURATED;
    f.before[2 * 7].rcv = f.after[2 * 7].rcv = DNET_HEALTH_SATURATED - 1;
    f.before[2 * 8].downed = f.after[2 * 8].downed = DNET_HEALTH_DOWNED_SATURATED;
    f.before[2 * 9].downed = f.after[2 * 9].downed = DNET_HEALTH_DOWNED_SATURATED - 1;
    assert_int_equal(dnet_topo_set_link(f.t, 5, true), DNET_OK);
    judge(&f, false);
    assert_int_equal(f.n, 3);
    static const int link[] = {3, 6, 8};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(f.list[i].link, link[i]);
        assert_true(f.list[i].saturated);
        assert_false(f.list[i].downed);
        assert_int_equal(f.list[i].state, i < 2 ? DNET_LINK_SICK : DNET_LINK_WATCH);
    }
    finish(&f);
}

static void test_health_capacity_and_connectivity_are_kept(void **state)
{
    (void) state;
    fixture_t f = start("leaf-spine:3:4:4"); /* a quarter of four uplinks is one */
    for (int l = 0; l < 4; l++)
        f.after[2 * l].symbol = (uint32_t) (1000 - l);
    judge(&f, false);
    assert_int_equal(f.n, 4);
    assert_int_equal(f.list[0].isolate, DNET_ISOLATE_YES);
    for (int i = 1; i < 4; i++)
        assert_int_equal(f.list[i].isolate, DNET_ISOLATE_CAPACITY);
    judge(&f, true);
    assert_int_equal(f.list[2].isolate, DNET_ISOLATE_YES);
    assert_int_equal(f.list[3].isolate, DNET_ISOLATE_LAST_UPLINK);
    finish(&f);
}

/* Two EDR leaves among HDR ones: their uplinks are as fast as they can be. */
static void test_health_nominal_is_of_each_link(void **state)
{
    (void) state;
    char path[] = "links-XXXXXX";
    fixture_t f = start("leaf-spine:4:2:2");
    FILE *out = fdopen(mkstemp(path), "w");
    for (int l = 0; l < f.t->n_links; l++) {
        int s = f.t->link[l].sw[0], edr = s < 2;
        f.t->sw[s].guid = 0x200u + (unsigned) s;
        f.t->link[l].nominal_gbps = 0;
        f.t->link[l].gbps = edr ? 103.125 : 212.5;
        fprintf(out,
                "0x%016x \"  leaf\"      4 %4d[  ] ==( 4X %s Gbps Active/  LinkUp)==>  "
                "0x0000000000000300      6    1[  ] \"spine\" (%s)\n",
                0x200u + (unsigned) s, f.t->link[l].port[0],
                edr      ? "25.78125"
                : l == 7 ? "10.0"
                         : "53.125",
                l == 7 ? "Could be 53.125 Gbps" : " ");
    }
    fclose(out);
    judge(&f, true); /* nominal unknown: a link as fast as its slower end is not slow */
    assert_int_equal(f.n, 0);
    f.t->link[7].gbps = 40;
    judge(&f, true); /* this one may be: watched, not isolated */
    assert_int_equal(f.n, 1);
    assert_int_equal(f.list[0].state, DNET_LINK_WATCH);
    assert_true(f.list[0].perhaps_slow);
    assert_int_equal(dnet_health_read_links(f.t, path), DNET_OK);
    judge(&f, true);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.list[0].link, 7);
    assert_int_equal(f.list[0].state, DNET_LINK_SICK);
    assert_int_equal(f.list[0].isolate, DNET_ISOLATE_YES);
    unlink(path);

    dnet_topo_t *earlier = make("leaf-spine:4:2:2");
    for (int s = 0; s < earlier->n_switches; s++)
        earlier->sw[s].guid = f.t->sw[s].guid;
    for (int l = 0; l < f.t->n_links; l++) {
        earlier->link[l].gbps = 212.5;
        f.t->link[l].gbps = l == 3 ? 103.125 : 212.5;
    }
    dnet_health_expect(f.t, earlier);
    judge(&f, true);
    assert_int_equal(f.n, 1);
    assert_int_equal(f.list[0].link, 3);
    dnet_topo_free(earlier);
    finish(&f);
}

static void test_health_reads_ibqueryerrors(void **state)
{
    (void) state;
    char path[] = "err-XXXXXX";
    fixture_t f = start("leaf-spine:2:2:2");
    int fd = mkstemp(path), c;
    assert_true(fd >= 0);
    FILE *out = fdopen(fd, "w");
    fputs("Errors for 0x200000 \"leaf0001\"\n"
          "   GUID 0x200000 port ALL: [SymbolErrorCounter == 77]\n"
          "   GUID 0x200000 port 2: [SymbolErrorCounter == 70] [PortRcvErrors == 7]\n\n"
          "## Summary: 6 nodes checked, 1 bad nodes found\n",
          out);
    fclose(out);
    assert_int_equal(dnet_health_read(f.t, path, f.after), DNET_OK);
    assert_int_equal(dnet_topo_port(f.t, 0, 2, &c), DNET_PORT_CHANNEL);
    assert_int_equal(f.after[c].symbol, 70);
    assert_int_equal(f.after[c].rcv, 7);
    unlink(path);
    finish(&f);
}

/* One flow alone gets both rails whole; a link at a quarter of its speed makes an outlier. */
static void test_rails_degraded_link_makes_outliers(void **state)
{
    (void) state;
    dnet_topo_t *t = make("tsubame:20:18:0");
    dnet_traffic_t tr;
    dnet_routing_t r;
    dnet_rail_t rail[2];
    int order[320];
    dnet_route_options_t opt = {.seed = 1, .traffic = &tr, .lanes = 8};
    assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_UNIFORM, 0), DNET_OK);
    assert_int_equal(dnet_route(t, dnet_engine_find("ftree"), &opt, NULL, &r), DNET_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(dnet_rail_init(&rail[i], t, r.tables), DNET_OK);
    dnet_rng_t rng = {1};
    double alone = dnet_rails_random_pairs(rail, 2, DNET_STRIPE_AVERAGED, &rng, order, NULL);
    assert_true(alone > 7.79 && alone < 7.81);
    double clean = 0, sick = 0;
    for (int sickness = 0; sickness < 2; sickness++) {
        rng.state = 7;
        for (int i = 0; i < 50; i++) {
            double b = dnet_rails_random_pairs(rail, 320, DNET_STRIPE_AVERAGED, &rng, order, NULL);
            *(sickness ? &sick : &clean) += b / 50;
        }
        dnet_rail_degrade(&rail[0], 0, 0.25);
        dnet_rail_degrade(&rail[1], 0, 0.25);
    }
    assert_true(sick < 0.9 * clean);
    for (int i = 0; i < 2; i++)
        dnet_rail_free(&rail[i]);
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_topo_free(t);
}

/* One pair, whose ways share nothing: a rail at a quarter of its speed counts as four flows. */
static void test_rails_divide_a_message_as_the_model_says(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:2:1:1");
    dnet_traffic_t tr;
    dnet_routing_t r;
    dnet_rail_t rail[2];
    dnet_rng_t rng = {1};
    dnet_bisection_t half;
    int order[2];
    double mean, loose;
    dnet_route_options_t opt = {.seed = 1, .traffic = &tr, .lanes = 1};
    static const double expected[] = {[DNET_STRIPE_AVERAGED] = 4 * 3.9 / (4 + 1),
                                      [DNET_STRIPE_SPLIT] = 2 * 3.9 / 4,
                                      [DNET_STRIPE_ADAPTIVE] = 3.9 / 4 + 3.9};
    assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_UNIFORM, 0), DNET_OK);
    assert_int_equal(dnet_route(t, dnet_engine_find("minhop"), &opt, NULL, &r), DNET_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(dnet_rail_init(&rail[i], t, r.tables), DNET_OK);
    for (int l = 0; l < t->n_links; l++)
        dnet_rail_degrade(&rail[0], l, 0.25);
    for (int stripe = 0; stripe < 3; stripe++) {
        dnet_stripe_t s = (dnet_stripe_t) stripe;
        double worst = dnet_rails_random_pairs(rail, 2, s, &rng, order, &mean);
        assert_true(fabs(worst - expected[stripe]) < 1e-9 && fabs(mean - worst) < 1e-9);
        worst = dnet_rails_alltoall(rail, 2, 1, s, &loose);
        assert_true(fabs(worst - expected[stripe]) < 1e-9 && fabs(loose - worst) < 1e-9);
    }
    assert_int_equal(dnet_rails_bisection(&rail[0], 2, 20, 1, &half), DNET_OK);
    assert_true(fabs(half.mean - 0.25) < 1e-9 && fabs(half.worst - 0.25) < 1e-9);
    assert_true(fabs(half.p5 - 0.25) < 1e-9 && fabs(half.p50 - 0.25) < 1e-9);
    assert_true(fabs(half.p95 - 0.25) < 1e-9);
    for (int i = 0; i < 2; i++)
        dnet_rail_free(&rail[i]);
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_topo_free(t);
}

/* A missing uplink: only its ways move, and not all to one other link. */
static void test_ftree_missing_link_moves_its_ways_only(void **state)
{
    (void) state;
    dnet_topo_t *t = make("tsubame:20:18:0");
    dnet_traffic_t tr;
    dnet_routing_t full, less;
    dnet_route_options_t opt = {.seed = 1, .traffic = &tr, .lanes = 1};
    int leaf = t->host[0].sw, moved = 0;
    int gone = dnet_topo_channel(t, leaf, 3);
    assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_UNIFORM, 0), DNET_OK);
    assert_int_equal(dnet_route(t, dnet_engine_find("ftree"), &opt, NULL, &full), DNET_OK);
    assert_int_equal(dnet_topo_set_link(t, gone >> 1, true), DNET_OK);
    assert_int_equal(dnet_route(t, dnet_engine_find("ftree"), &opt, NULL, &less), DNET_OK);
    for (int s = 0; s < t->n_switches; s++) {
        bool taken[64] = {false};
        for (int d = 0; t->sw[s].hosts && d < t->n_hosts; d++) {
            int before = dnet_tables_row(full.tables, s)[d],
                now = dnet_tables_row(less.tables, s)[d];
            bool to_leaf = t->host[d].sw == leaf && s != leaf;
            moved += now != before;
            assert_true(!to_leaf || !taken[now]); /* to 16 servers by 16 spines */
            taken[now] |= to_leaf;
        }
    }
    /* the leaf to one server of each other leaf, each of those back */
    assert_int_equal(moved, 2 * 19);
    dnet_routing_free(&full);
    dnet_routing_free(&less);
    dnet_traffic_free(&tr);
    dnet_topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_health_idle_errors_are_graded),
        cmocka_unit_test(test_health_full_counter_is_sick_and_a_cut_link_is_not),
        cmocka_unit_test(test_health_capacity_and_connectivity_are_kept),
        cmocka_unit_test(test_health_nominal_is_of_each_link),
        cmocka_unit_test(test_health_reads_ibqueryerrors),
        cmocka_unit_test(test_rails_degraded_link_makes_outliers),
        cmocka_unit_test(test_rails_divide_a_message_as_the_model_says),
        cmocka_unit_test(test_ftree_missing_link_moves_its_ways_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
