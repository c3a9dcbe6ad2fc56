/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Turn addition against the paper's worked example and Table 2, and against the case its published
 * procedure gets wrong; the other turn engines; the verifier's own controls.
 */
#include "subnet/engines/engines.h"
#include "subnet/engines/turnadd.h"
#include "subnet/routing/paths.h"
#include "subnet/base/rng.h"
#include "subnet/judges/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made.h"

static dnet_topo_t *make(const char *spec, uint64_t seed)
{
    dnet_topo_t *t = NULL;
    assert_int_equal(dnet_topo_make(spec, seed, &t), DNET_OK);
    return t;
}

/* Slot of the link from switch s to switch v. */
static int slot_to(const dnet_topo_t *t, int s, int v)
{
    for (int i = 0; i < dnet_topo_degree(t, s); i++)
        if (dnet_topo_head(t, dnet_topo_channel(t, s, i)) == v)
            return i;
    fail_msg("no link from %d to %d", s, v);
    return -1;
}

/* A turn written as in the paper: "DAB" enters A from D and leaves to B. */
static dnet_turn_pair_t turn(const dnet_topo_t *t, const char *dab)
{
    int s = dab[1] - 'A';
    return (dnet_turn_pair_t){.sw = s,
                              .i = (uint16_t) slot_to(t, s, dab[0] - 'A'),
                              .j = (uint16_t) slot_to(t, s, dab[2] - 'A')};
}

static bool is_allowed(const dnet_turns_t *turns, const char *dab)
{
    dnet_turn_pair_t p = turn(turns->topo, dab);
    return dnet_turns_allowed(turns, p.sw, p.i, p.j);
}

static dnet_turns_t *decide(const dnet_topo_t *t, const char *const *order, int n)
{
    dnet_turns_t *turns;
    dnet_order_t *o;
    assert_int_equal(dnet_turns_new(t, false, &turns), DNET_OK);
    assert_int_equal(dnet_order_new(turns, &o), DNET_OK);
    for (int i = 0; i < n; i++) {
        dnet_turn_pair_t p = turn(t, order[i]);
        dnet_turnadd_decide(o, &p, 1);
    }
    dnet_order_free(o);
    return turns;
}

/* [TA §4.1.4, Fig. 16, 17] */
static void test_turnadd_grid_decides_as_in_figure_16(void **state)
{
    (void) state;
    static const char *const order[] = {"DAB", "ABE", "EDA", "BED", "ABC",
                                        "DEF", "EBC", "CFE", "FEB", "BCF"};
    dnet_topo_t *t = make("mesh:3x2", 1);
    dnet_turns_t *turns = decide(t, order, 10);
    for (int i = 0; i < 10; i++)
        assert_int_equal(is_allowed(turns, order[i]), i != 3 && i != 9);
    dnet_turns_free(turns);
    dnet_topo_free(t);
}

/* Two triangles joined by a path: A-P-Q, C-X-Y, A-B-C; letters A B C P Q X Y as numbers 0..6. */
static dnet_topo_t *two_triangles(void)
{
    static const int links[][2] = {{0, 3}, {3, 4}, {4, 0}, {2, 5}, {5, 6}, {6, 2}, {0, 1}, {1, 2}};
    return made("two triangles", 7, 1, links, sizeof(links) / sizeof(links[0]));
}

/* The published test, one direction only, leaves ABC and CBA on a cycle; the correction refuses. */
static void test_turnadd_two_triangles_refuses_the_missed_cycle(void **state)
{
    (void) state;
    /* P and Q are D and E, X and Y are F and G here. */
    static const char *const order[] = {"ADE", "AED", "CFG", "CGF", "BAD", "BAE",
                                        "BCF", "BCG", "DAE", "FCG", "ABC"};
    dnet_topo_t *t = two_triangles();
    dnet_turns_t *turns = decide(t, order, 11);
    dnet_verdict_t v;
    assert_false(is_allowed(turns, "DAE"));
    assert_false(is_allowed(turns, "FCG"));
    assert_false(is_allowed(turns, "ABC"));
    assert_int_equal(dnet_verify_turns(turns, &v), DNET_OK);
    assert_int_equal(v.data.cyclic_lanes, 0);
    assert_true(v.data.missing > 0); /* the halves are apart: why a spanning tree may come first */

    dnet_turn_pair_t abc = turn(t, "ABC");
    dnet_turns_set(turns, abc.sw, abc.i, abc.j, true);
    assert_int_equal(dnet_verify_turns(turns, &v), DNET_OK);
    assert_int_equal(v.data.cyclic_lanes, 1);
    assert_int_equal(v.data.cycle.length, 10);
    dnet_turns_free(turns);
    dnet_topo_free(t);
}

static dnet_routing_t route(const dnet_topo_t *t, const char *engine, dnet_route_options_t opt)
{
    dnet_traffic_t tr;
    dnet_routing_t r;
    assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_WEIGHTED, 0.01), DNET_OK);
    opt.traffic = &tr;
    opt.seed = 1;
    opt.lanes = 8;
    assert_int_equal(dnet_route(t, dnet_engine_find(engine), &opt, NULL, &r), DNET_OK);
    dnet_traffic_free(&tr);
    return r;
}

/* Sparse random networks in which decisions without a spanning tree can leave a host out. */
/* Places of channels agree with all turns that are allowed. */
static void check_order(const dnet_order_t *o)
{
    const dnet_topo_t *t = o->turns->topo;
    for (int s = 0; s < t->n_switches; s++)
        for (int i = 0; i < dnet_topo_degree(t, s); i++)
            for (int j = 0; j < dnet_topo_degree(t, s); j++)
                if (dnet_turns_allowed(o->turns, s, i, j) &&
                    o->ord[dnet_topo_channel(t, s, i) ^ 1] >= o->ord[dnet_topo_channel(t, s, j)])
                    fail_msg("%s: switch %d: turn %d to %d goes back", t->name, s, i, j);
}

/* Pairs in any sequence: allowed exactly if that closes no cycle, and the order stays one. */
static void test_order_allows_what_closes_no_cycle(void **state)
{
    (void) state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        dnet_topo_t *t = make("random:10:4:1", seed);
        int *all = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(int));
        dnet_rng_t rng = {seed};
        dnet_turns_t *turns;
        dnet_order_t *o;
        assert_non_null(all);
        assert_int_equal(dnet_turns_new(t, false, &turns), DNET_OK);
        assert_int_equal(dnet_order_new(turns, &o), DNET_OK);
        for (int k = 0; k < 300; k++) {
            int s = (int) dnet_rng_below(&rng, (uint32_t) t->n_switches);
            int degree = dnet_topo_degree(t, s);
            int i = (int) dnet_rng_below(&rng, (uint32_t) degree);
            int j = (int) dnet_rng_below(&rng, (uint32_t) degree);
            if (i == j || dnet_turns_allowed(turns, s, i, j))
                continue;
            bool allowed = dnet_order_allow(o, s, i, j);
            check_order(o);
            dnet_turns_set(turns, s, i, j, true);
            assert_int_equal(allowed, dnet_turns_order(turns, all) == 0);
            dnet_turns_set(turns, s, i, j, allowed);
        }
        dnet_order_free(o);
        dnet_turns_free(turns);
        dnet_topo_free(t);
        free(all);
    }
}

static void test_turnadd_sparse_random_networks_always_reachable(void **state)
{
    (void) state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        dnet_topo_t *t = make("random:24:3:1", seed);
        dnet_verdict_t v;
        dnet_routing_t r = route(t, "turnadd", (dnet_route_options_t){0});
        assert_int_equal(dnet_verify_turns(r.turns, &v), DNET_OK);
        assert_true(dnet_verdict_good(&v));
        assert_int_equal(dnet_verify_tables(r.tables, NULL, NULL, NULL, &v), DNET_OK);
        assert_true(dnet_verdict_good(&v));
        dnet_routing_free(&r);

        r = route(t, "turnadd", (dnet_route_options_t){.seed_tree = DNET_SEED_ON});
        assert_true(r.seeded);
        assert_int_equal(dnet_verify_turns(r.turns, &v), DNET_OK);
        assert_true(dnet_verdict_good(&v));
        dnet_routing_free(&r);
        dnet_topo_free(t);
    }
}

/* Turns at the ends of the connecting links, and how many of them are prohibited [TA Table 2]. */
static void count_connecting(const dnet_turns_t *turns, long *pairs, long *prohibited)
{
    const dnet_topo_t *t = turns->topo;
    *pairs = *prohibited = 0;
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        int s = dnet_topo_tail(t, c);
        if (t->sw[s].tree == t->sw[dnet_topo_head(t, c)].tree)
            continue;
        for (int i = 0; i < dnet_topo_degree(t, s); i++) {
            if (i == t->slot[c])
                continue;
            ++*pairs;
            *prohibited += !dnet_turns_allowed(turns, s, i, t->slot[c]);
        }
    }
}

static void check_table_2(const char *spec, long prohibited, long pairs, long tolerance)
{
    dnet_topo_t *t = make(spec, 1);
    long n, p;
    dnet_routing_t r = route(t, "turnadd", (dnet_route_options_t){.no_tables = true});
    count_connecting(r.turns, &n, &p);
    assert_int_equal(n, pairs);
    assert_in_range(p, prohibited - tolerance, prohibited + tolerance);
    assert_false(r.seeded);
    dnet_routing_free(&r);
    dnet_topo_free(t);
}

static void test_turnadd_joined_trees_prohibit_as_in_table_2(void **state)
{
    (void) state;
    check_table_2("two-fat-trees:16:middle", 2, 32, 0);
    /* 1.5 points: the tie order is ours */
    check_table_2("two-fat-trees:128:middle", 39, 256, 3);
    check_table_2("two-fat-trees:1024:middle", 405, 2048, 0);
}

/* Trunk turns all allowed: the inside of the trees keeps full bisection [TA §5.3.1]. */
static void test_joined_trees_inside_throughput_is_full(void **state)
{
    (void) state;
    static const char *const joins[] = {"two-fat-trees:16:top", "two-fat-trees:16:middle",
                                        "two-fat-trees:128:middle", "two-fat-trees:16:bottom"};
    for (size_t i = 0; i < sizeof(joins) / sizeof(joins[0]); i++) {
        dnet_topo_t *t = make(joins[i], 1);
        double *load = calloc((size_t) dnet_topo_channels(t), sizeof(double)), max = 0;
        long unreached;
        dnet_traffic_t in;
        dnet_routing_t r = route(t, "turnadd", (dnet_route_options_t){.no_tables = true});
        assert_int_equal(dnet_traffic_init(&in, t, DNET_TRAFFIC_INSIDE, 0), DNET_OK);
        assert_int_equal(dnet_paths_spread_all(r.turns, &in, load, NULL, NULL, &unreached),
                         DNET_OK);
        for (int c = 0; c < dnet_topo_channels(t); c++)
            max = load[c] > max ? load[c] : max;
        assert_true(max <= 1.01);
        assert_int_equal(unreached, 0);
        free(load);
        dnet_traffic_free(&in);
        dnet_routing_free(&r);
        dnet_topo_free(t);
    }
}

/* Every engine on every kind of topology it accepts; minhop on a ring must be found out. */
static void test_engines_on_all_kinds_verify(void **state)
{
    (void) state;
    static const char *const kinds[] = {"two-fat-trees:16:middle",
                                        "two-fat-trees:16:top",
                                        "two-fat-trees:16:bottom",
                                        "ring:7:2",
                                        "mesh:4x3",
                                        "torus:4x4:2",
                                        "torus:3x3x3",
                                        "dragonfly:4:2:2",
                                        "random:20",
                                        "fat-tree:2:8",
                                        "fat-tree:3:4",
                                        "leaf-spine:6:4:4",
                                        "leaf-spine:12:3:2:8",
                                        "tsubame:8:6:2"};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (int e = 0; dnet_engine_at(e); e++) {
            const char *engine = dnet_engine_at(e)->name;
            bool tree = strncmp(kinds[k], "fat-tree", 8) == 0 ||
                        strncmp(kinds[k], "leaf", 4) == 0 || strncmp(kinds[k], "tsubame", 7) == 0;
            if (strcmp(engine, "ftree") == 0 && !tree)
                continue;
            dnet_topo_t *t = make(kinds[k], 1);
            dnet_verdict_t v;
            dnet_routing_t r = route(t, engine, (dnet_route_options_t){0});
            assert_int_equal(dnet_verify_tables(r.tables, r.sl, NULL, NULL, &v), DNET_OK);
            assert_int_equal(v.data.missing + v.data.astray + v.data.loops, 0);
            if (strcmp(engine, "minhop") != 0 && !dnet_verdict_good(&v))
                fail_msg("%s on %s has a cycle", engine, kinds[k]);
            if (strcmp(engine, "minhop") == 0 && strncmp(kinds[k], "ring", 4) == 0)
                assert_int_equal(v.data.cyclic_lanes, 1);
            dnet_routing_free(&r);
            dnet_topo_free(t);
        }
}

/* A generated topology as a file says it, without levels and trees. */
static dnet_topo_t *written_and_read(const dnet_topo_t *t)
{
    char *text = NULL;
    size_t bytes = 0;
    dnet_topo_t *read = NULL;
    FILE *out = open_memstream(&text, &bytes);
    assert_int_equal(dnet_topo_write_ibsim(t, out), DNET_OK);
    fclose(out);
    FILE *in = fmemopen(text, bytes, "r");
    assert_int_equal(dnet_topo_read(in, "text", &read), DNET_OK);
    fclose(in);
    free(text);
    return read;
}

/* Throughput of turnadd's forwarding tables, inside (or of uniform traffic) and between trees. */
static void check_tables(const dnet_topo_t *t, double inside, double between)
{
    dnet_traffic_t tr, in, across;
    dnet_routing_t r;
    dnet_verdict_t v;
    dnet_route_options_t opt = {.seed = 1, .traffic = &tr, .lanes = 1};
    dnet_traffic_init(&tr, t, DNET_TRAFFIC_WEIGHTED, DNET_TRAFFIC_ACROSS);
    dnet_traffic_init(&in, t, DNET_TRAFFIC_INSIDE, 0);
    dnet_traffic_init(&across, t, DNET_TRAFFIC_BETWEEN, 0);
    assert_int_equal(dnet_route(t, dnet_engine_find("turnadd"), &opt, NULL, &r), DNET_OK);
    assert_int_equal(dnet_verify_tables(r.tables, NULL, &in, between > 0 ? &across : NULL, &v),
                     DNET_OK);
    assert_true(dnet_verdict_good(&v));
    if (v.throughput < inside || (between > 0 && v.throughput2 < between))
        fail_msg("%s: %.3f inside, %.3f between", t->name, v.throughput, v.throughput2);
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_traffic_free(&in);
    dnet_traffic_free(&across);
}

/* OpenSM's dfsssp, with three lanes: 0.58 inside and 0.94 between of 128 servers a tree. */
static void test_turnadd_tables_are_balanced(void **state)
{
    (void) state;
    static const struct {
        const char *spec;
        double inside, between;
    } cases[] = {{"two-fat-trees:54:middle", 0.97, 0.94},
                 {"two-fat-trees:128:middle", 0.97, 0.96},
                 {"two-fat-trees:128:top", 0.99, 0.99},
                 {"two-fat-trees:128:bottom", 0.97, 0.38},
                 {"random:50:10:10", 0.40, 0},
                 {"mesh:6x6:2", 0.18, 0},
                 {"fat-tree:3:8", 0.99, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dnet_topo_t *t = make(cases[i].spec, 1);
        check_tables(t, cases[i].inside, cases[i].between);
        dnet_topo_free(t);
    }
    dnet_topo_t *t = make("two-fat-trees:128:middle", 1), *f = written_and_read(t);
    check_tables(f, 0.97, 0.96);
    dnet_topo_free(t);
    dnet_topo_free(f);
}

static void test_stages_and_trees_of_a_file_are_found(void **state)
{
    (void) state;
    static const char *const specs[] = {"two-fat-trees:54:middle", "two-fat-trees:16:top",
                                        "two-fat-trees:16:bottom", "two-fat-trees:54:middle:all",
                                        "fat-tree:3:6"};
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        dnet_topo_t *t = make(specs[i], 1), *f = written_and_read(t);
        assert_true(f->symmetric);
        for (int s = 0; s < t->n_switches; s++) {
            const dnet_topo_switch_t *is = &f->sw[dnet_topo_find_switch(f, t->sw[s].name)];
            assert_int_equal(is->level, t->sw[s].level);
            assert_int_equal(is->tree, t->sw[s].tree);
            assert_int_equal(is->group, t->sw[s].group);
            assert_int_equal(is->index, t->sw[s].index);
        }
        dnet_topo_free(t);
        dnet_topo_free(f);
    }
    dnet_topo_t *t = make("torus:4x4:2", 1), *f = written_and_read(t);
    assert_false(f->symmetric);
    for (int s = 0; s < f->n_switches; s++)
        assert_int_equal(f->sw[s].tree, 0);
    dnet_topo_free(t);
    dnet_topo_free(f);
}

static void test_ftree_on_a_ring_is_refused(void **state)
{
    (void) state;
    dnet_topo_t *t = make("ring:5:1", 1);
    dnet_route_options_t opt = {0};
    dnet_routing_t r;
    assert_int_equal(dnet_route(t, dnet_engine_find("ftree"), &opt, NULL, &r), DNET_ERR_LIMIT);
    dnet_topo_free(t);
}

/* Tables spoiled in each way must be found out. */
static void test_verify_spoiled_tables_are_bad(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:3:2:2", 1);
    dnet_routing_t r = route(t, "updn", (dnet_route_options_t){0});
    dnet_verdict_t v;
    uint16_t *leaf0 = dnet_tables_row(r.tables, 0), *spine = dnet_tables_row(r.tables, 3);
    uint16_t *spine2 = dnet_tables_row(r.tables, 4), keep = leaf0[5];
    uint16_t kept[2] = {spine[5], spine2[5]};

    assert_int_equal(dnet_verify_tables(r.tables, NULL, NULL, NULL, &v), DNET_OK);
    assert_true(dnet_verdict_good(&v));
    leaf0[5] = DNET_TABLE_NONE;
    dnet_verify_tables(r.tables, NULL, NULL, NULL, &v);
    assert_int_equal(v.data.missing, 1);
    leaf0[5] = 3; /* its own server's port */
    dnet_verify_tables(r.tables, NULL, NULL, NULL, &v);
    assert_int_equal(v.data.astray, 1);
    leaf0[5] = keep;
    spine[5] = spine2[5] = 1; /* back to leaf 0 */
    dnet_verify_tables(r.tables, NULL, NULL, NULL, &v);
    assert_true(v.data.loops > 0);
    assert_int_equal(v.data.fault.column, 5);
    spine[5] = kept[0];
    spine2[5] = kept[1];
    dnet_verify_tables(r.tables, NULL, NULL, NULL, &v);
    assert_true(dnet_verdict_good(&v));
    dnet_routing_free(&r);
    dnet_topo_free(t);
}

/* All paths of a ring on one lane are a cycle, on dfsssp's lanes they are not. */
static void test_verify_dfsssp_without_its_lanes_is_bad(void **state)
{
    (void) state;
    dnet_topo_t *t = make("ring:6:1", 1);
    dnet_routing_t r = route(t, "dfsssp", (dnet_route_options_t){0});
    dnet_verdict_t v;
    assert_int_equal(r.lanes, 2);
    assert_int_equal(dnet_verify_tables(r.tables, r.sl, NULL, NULL, &v), DNET_OK);
    assert_true(dnet_verdict_good(&v));
    assert_int_equal(dnet_verify_tables(r.tables, NULL, NULL, NULL, &v), DNET_OK);
    assert_int_equal(v.data.cyclic_lanes, 1);
    assert_int_equal(v.data.cycle.length, 6);
    dnet_routing_free(&r);
    dnet_topo_free(t);
}

/* A failed spine or link: the rest stays reachable and verified. */
static void test_engines_after_failures_verify(void **state)
{
    (void) state;
    static const char *const engines[] = {"updn", "ftree", "turnprohib", "turnadd", "dfsssp"};
    for (size_t e = 0; e < sizeof(engines) / sizeof(engines[0]); e++) {
        dnet_topo_t *t = make("fat-tree:3:8", 1);
        dnet_verdict_t v;
        assert_int_equal(dnet_topo_set_switch(t, dnet_topo_find_switch(t, "core0003"), true), 0);
        assert_int_equal(dnet_topo_set_link(t, 5, true), 0);
        dnet_routing_t r = route(t, engines[e], (dnet_route_options_t){0});
        assert_int_equal(dnet_verify_tables(r.tables, r.sl, NULL, NULL, &v), DNET_OK);
        assert_true(dnet_verdict_good(&v));
        dnet_routing_free(&r);
        dnet_topo_free(t);
    }
}

/* A channel has the walks of those that may follow one link nearer, whether switches prohibit some
 * turns or none. */
static void test_walks_are_counted_over_allowed_turns(void **state)
{
    (void) state;
    dnet_topo_t *t = make("torus:4x4:1", 1);
    dnet_rng_t rng = {7};
    for (int some = 0; some < 20; some++) {
        dnet_turns_t *turns;
        dnet_paths_t *p;
        assert_int_equal(dnet_turns_new(t, true, &turns), DNET_OK);
        for (int i = 0; i < 2 * some; i++)
            dnet_turns_set(turns, (int) dnet_rng_below(&rng, 16), 0, 1 + i % 3, false);
        assert_int_equal(dnet_paths_new(turns, &p), DNET_OK);
        for (int dest = 0; dest < t->n_switches; dest++) {
            dnet_paths_search(p, dest);
            for (int i = 0; i < p->found; i++) {
                int c = p->order[i], u = dnet_topo_head(t, c);
                double walks = p->dist[c] == 1;
                for (int j = 0; j < dnet_topo_degree(t, u); j++) {
                    int next = dnet_topo_channel(t, u, j);
                    if (p->dist[next] + 1 == p->dist[c] &&
                        dnet_turns_allowed(turns, u, t->slot[c ^ 1], j))
                        walks += p->count[next];
                }
                assert_true(walks > 0 && walks == p->count[c]);
            }
        }
        dnet_paths_free(p);
        dnet_turns_free(turns);
    }
    dnet_topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_walks_are_counted_over_allowed_turns),
        cmocka_unit_test(test_turnadd_grid_decides_as_in_figure_16),
        cmocka_unit_test(test_turnadd_two_triangles_refuses_the_missed_cycle),
        cmocka_unit_test(test_order_allows_what_closes_no_cycle),
        cmocka_unit_test(test_turnadd_sparse_random_networks_always_reachable),
        cmocka_unit_test(test_turnadd_joined_trees_prohibit_as_in_table_2),
        cmocka_unit_test(test_joined_trees_inside_throughput_is_full),
        cmocka_unit_test(test_engines_on_all_kinds_verify),
        cmocka_unit_test(test_turnadd_tables_are_balanced),
        cmocka_unit_test(test_stages_and_trees_of_a_file_are_found),
        cmocka_unit_test(test_ftree_on_a_ring_is_refused),
        cmocka_unit_test(test_verify_spoiled_tables_are_bad),
        cmocka_unit_test(test_verify_dfsssp_without_its_lanes_is_bad),
        cmocka_unit_test(test_engines_after_failures_verify),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
