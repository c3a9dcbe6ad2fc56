/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Changes of tables in service: no mixture of old and new can deadlock, and no more changes than a
 * failure breaks.
 */
#include "subnet/addresses/lid.h"
#include "subnet/engines/engines.h"
#include "subnet/judges/transition.h"
#include "subnet/judges/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static dnet_topo_t *make(const char *spec, uint64_t seed)
{
    dnet_topo_t *t = NULL;
    assert_int_equal(dnet_topo_make(spec, seed, &t), DNET_OK);
    return t;
}

static dnet_routing_t route_from(const dnet_topo_t *t, const char *engine,
                                 const dnet_tables_t *from)
{
    dnet_traffic_t tr;
    dnet_routing_t r;
    assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_WEIGHTED, 0.01), DNET_OK);
    dnet_route_options_t opt = {.seed = 1, .traffic = &tr, .lanes = 8, .from = from};
    assert_int_equal(dnet_route(t, dnet_engine_find(engine), &opt, NULL, &r), DNET_OK);
    dnet_traffic_free(&tr);
    return r;
}

static int mixtures_cyclic(const dnet_topo_t *t, const dnet_tables_t *old, const dnet_tables_t *new)
{
    dnet_cycle_t cycle;
    int cyclic;
    assert_int_equal(dnet_transition_judge(t, old, new, NULL, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic != 0, cycle.length != 0);
    return cyclic;
}

static void check_good(const dnet_tables_t *tables, const char *name)
{
    dnet_verdict_t v;
    assert_int_equal(dnet_verify_tables(tables, NULL, NULL, NULL, &v), DNET_OK);
    if (!dnet_verdict_complete(&v))
        fail_msg("%s: missing %ld %ld %ld, cyclic %d %d %d", name, v.data.missing,
                 v.management.missing, v.switches.missing, v.data.cyclic_lanes,
                 v.management.cyclic_lanes, v.switches.cyclic_lanes);
}

static const char *const specs[] = {"torus:4x4:2",      "torus:5x5:1", "random:20:5:2",
                                    "dragonfly:4:2:2",  "mesh:4x4:2",  "two-fat-trees:54:middle",
                                    "leaf-spine:8:4:4", "fat-tree:3:4"};
#define SPECS (sizeof(specs) / sizeof(specs[0]))
#define FAILURES 20

/* The change in the planned stages.  @return LIDs that drain */
static long check_change(const dnet_topo_t *t, const dnet_tables_t *old, const dnet_tables_t *new)
{
    dnet_transition_t plan;
    assert_int_equal(dnet_transition_plan(t, old, new, NULL, &plan), DNET_OK);
    long drained = plan.drained;
    if (plan.stages == 2) {
        assert_int_equal(mixtures_cyclic(t, old, plan.between), 0);
        assert_int_equal(mixtures_cyclic(t, plan.between, new), 0);
    } else {
        assert_int_equal(mixtures_cyclic(t, old, new), 0);
    }
    dnet_transition_free(&plan);
    return drained;
}

/* Entries to LIDs whose way from somewhere passes a link, over all switches. */
static long entries_of_ways_over(const dnet_topo_t *t, const dnet_tables_t *tables, int link)
{
    long entries = 0;
    for (int x = 0; x < dnet_tables_columns(tables); x++)
        for (int first = 0; first < t->n_switches; first++) {
            int c, s = first, hops = 0;
            for (; hops < t->n_switches; hops++) {
                if (dnet_topo_port(t, s, dnet_tables_row(tables, s)[x], &c) != DNET_PORT_CHANNEL)
                    break;
                if (c >> 1 == link) {
                    entries++;
                    break;
                }
                s = dnet_topo_head(t, c);
            }
        }
    return entries;
}

static bool connected_without(dnet_topo_t *t, int link)
{
    dnet_topo_set_link(t, link, true);
    bool connected = dnet_topo_connected(t);
    for (int s = 0; s < t->n_switches; s++)
        connected &= dnet_topo_degree(t, s) > 0;
    dnet_topo_set_link(t, link, false);
    return connected;
}

/* Twenty single failures of each network, and the links back again. */
static void test_no_mixture_after_a_failure_can_deadlock(void **state)
{
    (void) state;
    for (size_t i = 0; i < SPECS; i++) {
        dnet_topo_t *t = make(specs[i], 1);
        dnet_routing_t whole = route_from(t, "turnadd", NULL);
        long changed = 0, used = 0, drained = 0, mended = 0, drained_back = 0;
        int kept = 0, done = 0;
        for (int k = 0; k < FAILURES; k++) {
            int link = (int) ((unsigned) k * 7919u % (unsigned) t->n_links);
            dnet_fdb_diff_t diff;
            if (!connected_without(t, link))
                continue;
            long over = entries_of_ways_over(t, whole.tables, link);
            dnet_topo_set_link(t, link, true);
            dnet_routing_t r = route_from(t, "turnadd", whole.tables);
            check_good(r.tables, specs[i]);
            drained += check_change(t, whole.tables, r.tables);
            mended += r.tables->mended;
            assert_int_equal(dnet_fdb_compare(t, whole.tables, r.tables, &diff), DNET_OK);
            changed += diff.entries;
            used += over;
            kept += r.kept;
            done++;
            dnet_topo_set_link(t, link, false);
            dnet_routing_t back = route_from(t, "turnadd", r.tables);
            check_good(back.tables, specs[i]);
            drained_back += check_change(t, r.tables, back.tables);
            dnet_routing_free(&back);
            dnet_routing_free(&r);
        }
        print_message(
            "%s: %d failures, %ld entries changed, %ld had ways over the link; of %ld LIDs mended %ld drain, %ld when it is back\n",
            specs[i], done, changed, used, mended, drained, drained_back);
        assert_int_equal(kept, done);
        assert_true(changed <= used + used / 4);
        dnet_routing_free(&whole);
        dnet_topo_free(t);
    }
}

/* Tables made from nothing after a failure: the change is planned in stages, each without cycle. */
static void test_planned_stages_have_no_cyclic_mixture(void **state)
{
    (void) state;
    static const char *const engines[] = {"turnadd", "updn", "turnprohib"};
    int staged = 0;
    for (size_t i = 0; i < SPECS; i++)
        for (size_t e = 0; e < sizeof(engines) / sizeof(engines[0]); e++) {
            dnet_topo_t *t = make(specs[i], 1);
            dnet_routing_t old = route_from(t, engines[e], NULL);
            dnet_transition_t plan;
            int link = 0;
            while (!connected_without(t, link))
                link++;
            dnet_topo_set_link(t, link, true);
            dnet_routing_t new = route_from(t, engines[e], NULL);
            assert_int_equal(dnet_transition_plan(t, old.tables, new.tables, NULL, &plan), DNET_OK);
            staged += plan.stages == 2;
            assert_int_equal(plan.stages == 2, plan.drained > 0);
            assert_int_equal(plan.stages == 2, mixtures_cyclic(t, old.tables, new.tables));
            dnet_transition_free(&plan);
            check_change(t, old.tables, new.tables);
            assert_int_equal(dnet_transition_plan(t, new.tables, new.tables, NULL, &plan), DNET_OK);
            assert_int_equal(plan.stages, 0);
            dnet_transition_free(&plan);
            dnet_routing_free(&old);
            dnet_routing_free(&new);
            dnet_topo_free(t);
        }
    assert_true(staged > 0);
}

/* One failure after the other, each from the tables before: always good, never out of balance. */
static void test_balance_after_many_failures(void **state)
{
    (void) state;
    dnet_topo_t *t = make("two-fat-trees:54:middle", 1);
    dnet_routing_t now = route_from(t, "turnadd", NULL);
    dnet_traffic_t in;
    dnet_verdict_t kept, anew;
    for (int k = 0; k < 8; k++) {
        int link = (int) ((unsigned) k * 7919u % (unsigned) t->n_links);
        if (!connected_without(t, link))
            continue;
        dnet_topo_set_link(t, link, true);
        dnet_routing_t next = route_from(t, "turnadd", now.tables);
        check_change(t, now.tables, next.tables);
        check_good(next.tables, "after failures");
        dnet_routing_free(&now);
        now = next;
    }
    dnet_routing_t fresh = route_from(t, "turnadd", NULL);
    assert_int_equal(dnet_traffic_init(&in, t, DNET_TRAFFIC_INSIDE, 0), DNET_OK);
    assert_int_equal(dnet_verify_tables(now.tables, NULL, &in, NULL, &kept), DNET_OK);
    assert_int_equal(dnet_verify_tables(fresh.tables, NULL, &in, NULL, &anew), DNET_OK);
    print_message("inside after failures: %.3f kept, %.3f from nothing\n", kept.throughput,
                  anew.throughput);
    assert_true(kept.throughput >= 0.6 * anew.throughput);
    dnet_traffic_free(&in);
    dnet_routing_free(&fresh);
    dnet_routing_free(&now);
    dnet_topo_free(t);
}

/* A link that is back carries packets again: what is kept does not keep it idle. */
static void test_a_link_that_is_back_is_used(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:8:4:4", 1);
    dnet_routing_t whole = route_from(t, "turnadd", NULL);
    dnet_topo_set_link(t, 5, true);
    dnet_routing_t cut = route_from(t, "turnadd", whole.tables);
    dnet_topo_set_link(t, 5, false);
    dnet_routing_t back = route_from(t, "turnadd", cut.tables);
    assert_true(cut.kept && back.kept);
    int uses = 0, s = dnet_topo_tail(t, 10);
    for (int h = 0; h < t->n_hosts; h++)
        uses += dnet_tables_row(back.tables, s)[h] == dnet_topo_out_port(t, 10);
    assert_true(uses > 0);
    dnet_routing_free(&back);
    dnet_routing_free(&cut);
    dnet_routing_free(&whole);
    dnet_topo_free(t);
}

/* A leaf without links is a piece of its own: the others are routed as if it were not there, from
 * nothing and from the tables before, of which no way between the others changes. */
static void test_a_leaf_that_is_cut_off_costs_the_others_nothing(void **state)
{
    (void) state;
    static const char *const engines[] = {"turnadd", "updn", "turnprohib", "minhop"};
    for (size_t e = 0; e < sizeof(engines) / sizeof(engines[0]); e++) {
        dnet_topo_t *t = make("leaf-spine:16:16:16", 1);
        dnet_routing_t whole = route_from(t, engines[e], NULL);
        dnet_traffic_t tr;
        dnet_verdict_t v;
        for (int l = 0; l < t->n_links; l++)
            if (t->link[l].sw[0] == 0 || t->link[l].sw[1] == 0)
                assert_int_equal(dnet_topo_set_link(t, l, true), DNET_OK);
        assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_UNIFORM, 0), DNET_OK);
        for (int from = 0; from < 2; from++) {
            dnet_routing_t r = route_from(t, engines[e], from ? whole.tables : NULL);
            assert_int_equal(dnet_verify_tables(r.tables, NULL, &tr, NULL, &v), DNET_OK);
            if (r.tables->fallbacks || r.tables->second_order || r.tables->unrouted ||
                v.throughput < 0.99 || v.max_hops != 2)
                fail_msg("%s: %ld on the tree, %ld in dependency order, %ld unrouted, throughput "
                         "%.3f, %d links",
                         engines[e], r.tables->fallbacks, r.tables->second_order,
                         r.tables->unrouted, v.throughput, v.max_hops);
            for (int s = 0; s < t->n_switches && from && r.kept; s++)
                for (int h = 0; h < t->n_hosts; h++)
                    if (t->sw[s].hosts && s != 0 && t->host[h].sw != 0)
                        assert_int_equal(dnet_tables_row(r.tables, s)[h],
                                         dnet_tables_row(whole.tables, s)[h]);
            dnet_routing_free(&r);
        }
        dnet_traffic_free(&tr);
        dnet_routing_free(&whole);
        dnet_topo_free(t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_mixture_after_a_failure_can_deadlock),
        cmocka_unit_test(test_planned_stages_have_no_cyclic_mixture),
        cmocka_unit_test(test_a_link_that_is_back_is_used),
        cmocka_unit_test(test_balance_after_many_failures),
        cmocka_unit_test(test_a_leaf_that_is_cut_off_costs_the_others_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
