/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multicast tables: what is wrong with a group's tree, cycles that it closes together with packets
 * to single ports on the same lane and not on another, and what dump_fts -M and saquery -g print.
 */
#include "subnet/addresses/lid.h"
#include "subnet/engines/engines.h"
#include "subnet/judges/transition.h"
#include "subnet/judges/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GROUP 0xc000

/* A ring of four switches with a server each, routed by updn. */
typedef struct world {
    dnet_topo_t *t;
    dnet_routing_t r;
    dnet_mcast_t *m;
    int corner; /* switch at which no packet to a single port turns */
} world_t;

static int port_to(const dnet_topo_t *t, int s, int u)
{
    for (int i = 0; i < dnet_topo_degree(t, s); i++)
        if (dnet_topo_head(t, dnet_topo_channel(t, s, i)) == u)
            return dnet_topo_out_port(t, dnet_topo_channel(t, s, i));
    fail_msg("no link from switch %d to %d", s, u);
    return 0;
}

static int corner_of(const dnet_turns_t *turns)
{
    for (int s = 0; s < turns->topo->n_switches; s++)
        if (!dnet_turns_allowed(turns, s, 0, 1))
            return s;
    fail_msg("%s", "all turns are allowed on a ring");
    return 0;
}

static world_t make_world(void)
{
    world_t w = {0};
    dnet_traffic_t tr;
    assert_int_equal(dnet_topo_make("ring:4:1", 1, &w.t), DNET_OK);
    assert_int_equal(dnet_traffic_init(&tr, w.t, DNET_TRAFFIC_UNIFORM, 0), DNET_OK);
    dnet_route_options_t opt = {.seed = 1, .traffic = &tr, .lanes = 1};
    assert_int_equal(dnet_route(w.t, dnet_engine_find("updn"), &opt, NULL, &w.r), DNET_OK);
    dnet_traffic_free(&tr);
    assert_int_equal(dnet_mcast_new(w.t, &w.m), DNET_OK);
    w.corner = corner_of(w.r.turns);
    return w;
}

static void free_world(world_t *w)
{
    dnet_mcast_free(w->m);
    dnet_routing_free(&w->r);
    dnet_topo_free(w->t);
}

static dnet_mcast_verdict_t judge(const world_t *w, const dnet_lanes_t *lanes)
{
    dnet_verdict_t v;
    dnet_judged_t what = {.tables = w->r.tables, .lanes = lanes, .multicast = w->m};
    assert_int_equal(dnet_verify(&what, &v), DNET_OK);
    assert_true(dnet_verdict_managed(&v)); /* single ports have a verdict of their own */
    return v.multicast;
}

/* The link between switches s and u, both ways, and the servers at both ends. */
static void join(world_t *w, int group, int s, int u)
{
    dnet_mcast_add(w->m, group, s, port_to(w->t, s, u));
    dnet_mcast_add(w->m, group, u, port_to(w->t, u, s));
    dnet_mcast_add(w->m, group, s, w->t->host[s].port);
    dnet_mcast_add(w->m, group, u, w->t->host[u].port);
}

static void forget(world_t *w, int group, int s, int port)
{
    dnet_mcast_ports(w->m, group, s)[port >> 6] &= ~((uint64_t) 1 << (port & 63));
}

/* A line of three switches that does not turn at the corner. */
static int good_group(world_t *w, uint16_t mlid)
{
    int g = dnet_mcast_group(w->m, mlid), middle = (w->corner + 2) % 4;
    join(w, g, (middle + 3) % 4, middle);
    join(w, g, middle, (middle + 1) % 4);
    return g;
}

/* One that does. */
static int closing_group(world_t *w, uint16_t mlid)
{
    int g = dnet_mcast_group(w->m, mlid);
    join(w, g, (w->corner + 3) % 4, w->corner);
    join(w, g, w->corner, (w->corner + 1) % 4);
    return g;
}

static void test_tree_is_good(void **state)
{
    (void) state;
    world_t w = make_world();
    good_group(&w, GROUP);
    dnet_mcast_verdict_t v = judge(&w, NULL);
    assert_true(dnet_mcast_good(&v));
    assert_int_equal(v.groups, 1);
    assert_int_equal(v.members, 3);
    free_world(&w);
}

/* Exactly one fault, of one group, where it is. */
static void expect_fault(const world_t *w, int fault, int group, int at, int port)
{
    dnet_mcast_verdict_t v = judge(w, NULL);
    for (int i = 0; i < DNET_MCAST_FAULTS; i++)
        assert_int_equal(v.faulty[i], i == fault);
    assert_false(dnet_mcast_good(&v));
    assert_int_equal(v.example[fault].group, group);
    if (at != DNET_TOPO_NONE) {
        assert_int_equal(v.example[fault].at, at);
        assert_int_equal(v.example[fault].port, port);
    }
}

static void test_faults_of_a_tree_are_told_apart(void **state)
{
    (void) state;
    world_t w = make_world();
    int g, s, port;

    good_group(&w, GROUP + 1);
    g = good_group(&w, GROUP); /* a member far from the others */
    dnet_mcast_add(w.m, g, w.corner, w.t->host[w.corner].port);
    expect_fault(&w, DNET_MCAST_APART, g, DNET_TOPO_NONE, 0);
    forget(&w, g, w.corner, w.t->host[w.corner].port);

    s = (w.corner + 2) % 4; /* copies there, and none back: both sides have members */
    port = port_to(w.t, s, (s + 1) % 4);
    forget(&w, g, s, port);
    dnet_mcast_verdict_t v = judge(&w, NULL);
    assert_int_equal(v.faulty[DNET_MCAST_ONE_WAY], 1);
    assert_int_equal(v.faulty[DNET_MCAST_APART], 1);
    assert_int_equal(v.faulty[DNET_MCAST_LOOP] + v.faulty[DNET_MCAST_NO_LINK], 0);
    assert_int_equal(v.example[DNET_MCAST_ONE_WAY].at, (s + 1) % 4);
    dnet_mcast_add(w.m, g, s, port);

    dnet_mcast_add(w.m, g, s, 200);
    expect_fault(&w, DNET_MCAST_NO_LINK, g, s, 200);
    forget(&w, g, s, 200);

    v = judge(&w, NULL);
    assert_true(dnet_mcast_good(&v));
    free_world(&w);
}

/* All round: no server but four switches, so that copies circulate. */
static void test_copies_that_come_back_are_a_loop(void **state)
{
    (void) state;
    world_t w = make_world();
    int g = good_group(&w, GROUP);
    closing_group(&w, GROUP);
    dnet_mcast_verdict_t v = judge(&w, NULL);
    assert_int_equal(v.faulty[DNET_MCAST_LOOP], 1);
    assert_int_equal(v.example[DNET_MCAST_LOOP].group, g);
    assert_int_equal(v.members, 4);
    assert_int_equal(v.cyclic_lanes, 1);
    free_world(&w);
}

/* Trees that are free of cycles, tables that are: not both together. */
static void test_group_closes_a_cycle_with_single_ports(void **state)
{
    (void) state;
    world_t w = make_world();
    good_group(&w, GROUP);
    good_group(&w, GROUP + 1);
    int closing = closing_group(&w, GROUP + 7);
    good_group(&w, GROUP + 2);
    dnet_mcast_verdict_t v = judge(&w, NULL);
    assert_int_equal(v.faulty[DNET_MCAST_LOOP] + v.faulty[DNET_MCAST_APART], 0);
    assert_int_equal(v.cyclic_lanes, 1);
    assert_int_equal(v.closed_by, closing);
    assert_int_equal(v.cycle.length, 4);
    assert_false(dnet_mcast_good(&v));
    free_world(&w);
}

/* A new group is in force before the last packets on the old tables have arrived. */
static void test_new_group_beside_old_tables(void **state)
{
    (void) state;
    world_t w = make_world();
    dnet_transition_t plan;
    dnet_cycle_t cycle;
    int cyclic;
    const dnet_tables_t *tables = w.r.tables;
    good_group(&w, GROUP);
    assert_int_equal(dnet_transition_judge(w.t, tables, tables, w.m, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic, 0);
    assert_int_equal(dnet_transition_plan(w.t, tables, tables, w.m, &plan), DNET_OK);
    assert_false(plan.apart);
    closing_group(&w, GROUP + 7);
    assert_int_equal(dnet_transition_judge(w.t, tables, tables, NULL, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic, 0);
    assert_int_equal(dnet_transition_judge(w.t, tables, tables, w.m, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic, 1);
    assert_int_equal(cycle.length, 4);
    assert_int_equal(dnet_transition_plan(w.t, tables, tables, w.m, &plan), DNET_OK);
    assert_true(plan.apart);
    free_world(&w);
}

/* On a lane of its own the group waits for nothing but itself; if both lanes are one again, not. */
static void test_groups_are_judged_on_their_lanes(void **state)
{
    (void) state;
    world_t w = make_world();
    int closing = closing_group(&w, GROUP);
    dnet_lanes_t *lanes;
    w.m->levels[closing] = 1u << 1;
    assert_int_equal(dnet_lanes_new(w.r.tables, true, &lanes), DNET_OK);
    lanes->lanes = 2;
    dnet_mcast_verdict_t v = judge(&w, lanes);
    assert_true(dnet_mcast_good(&v));

    static const struct {
        int lane, of_servers; /* of level 1, by the way in */
        int cyclic;
    } cases[] = {
        {1, 1, 0}, {0, 0, 1}, {15, 15, 0} /* dropped */, {0, 15, 1}, {15, 0, 0},
    };
    assert_int_equal(dnet_lid_assign(w.t, DNET_LID_CONVENTIONAL), DNET_OK);
    lanes->multicast = 1u << 1;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char path[] = "vl-XXXXXX";
        FILE *out = fdopen(mkstemp(path), "w");
        for (int s = 0; s < 4; s++) {
            fprintf(out, "# SL2VL table: Lid %d\n", w.t->sw[s].lid);
            for (int p = 0; p <= w.t->sw[s].ports; p++)
                for (int q = 0; q <= w.t->sw[s].ports; q++)
                    fprintf(
                        out,
                        "ports: in %2d, out %2d: | 0|%2d| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0| 0|\n",
                        p, q, p == w.t->host[s].port ? cases[i].of_servers : cases[i].lane);
        }
        fclose(out);
        free(lanes->vl);
        free(lanes->vl_start);
        assert_int_equal(dnet_sl2vl_read(w.t, path, lanes), DNET_OK);
        v = judge(&w, lanes);
        assert_int_equal(v.cyclic_lanes, cases[i].cyclic);
        unlink(path);
    }
    dnet_lanes_free(lanes);
    free_world(&w);
}

/* ---- one tree for all groups ---- */

static dnet_routing_t route(const dnet_topo_t *t, const char *engine, const dnet_tables_t *from,
                            const int *from_tree, int *tree)
{
    dnet_traffic_t tr;
    dnet_routing_t r = {0};
    int left;
    assert_int_equal(dnet_traffic_init(&tr, t, DNET_TRAFFIC_WEIGHTED, DNET_TRAFFIC_ACROSS),
                     DNET_OK);
    dnet_route_options_t opt = {
        .seed = 1, .traffic = &tr, .lanes = 1, .from = from, .from_tree = from_tree};
    assert_int_equal(dnet_mcast_route(t, dnet_engine_find(engine), &opt, &r, tree, &left), DNET_OK);
    if (left)
        fail_msg("%s, %s: %d switches are not in the tree", t->name, engine, left);
    dnet_traffic_free(&tr);
    return r;
}

/* The ends of a group's tree are members: it goes nowhere for nothing. */
static void check_ends(const dnet_mcast_t *m, int group)
{
    const dnet_topo_t *t = m->topo;
    for (int s = 0; s < t->n_switches; s++) {
        int links = 0, servers = 0, which;
        for (int port = 1; port <= t->sw[s].ports; port++) {
            if (!dnet_mcast_has(m, group, s, port))
                continue;
            bool server = dnet_topo_port(t, s, port, &which) == DNET_PORT_HOST;
            servers += server;
            links += !server;
        }
        assert_true(links != 1 || servers > 0);
    }
}

/* Groups of every server, of every third and of two are trees along the one tree, and close no
 * cycle with the tables. */
static void check_groups(const dnet_topo_t *t, const dnet_routing_t *r, const int *tree)
{
    dnet_mcast_t *m;
    dnet_verdict_t v;
    long members = 0;
    assert_int_equal(dnet_mcast_new(t, &m), DNET_OK);
    for (int step = 1; step <= t->n_hosts - 1; step = step == 1 ? 3 : t->n_hosts - 1) {
        int g = dnet_mcast_group(m, (uint16_t) (GROUP + step));
        for (int h = 0; h < t->n_hosts; h += step, members++)
            dnet_mcast_add(m, g, t->host[h].sw, t->host[h].port);
        assert_int_equal(dnet_mcast_span(m, g, tree), DNET_OK);
        check_ends(m, g);
        if (step == t->n_hosts - 1)
            break;
    }
    dnet_judged_t what = {.tables = r->tables, .multicast = m};
    assert_int_equal(dnet_verify(&what, &v), DNET_OK);
    assert_true(dnet_verdict_managed(&v));
    for (int i = 0; i < DNET_MCAST_FAULTS; i++)
        assert_int_equal(v.multicast.faulty[i], 0);
    assert_int_equal(v.multicast.cyclic_lanes, 0);
    assert_int_equal(v.multicast.members, members);
    dnet_mcast_free(m);
}

static void check_tree(const char *spec, uint64_t seed, const char *engine)
{
    dnet_topo_t *t;
    assert_int_equal(dnet_topo_make(spec, seed, &t), DNET_OK);
    int *tree = calloc((size_t) t->n_switches, sizeof(int));
    dnet_routing_t r = route(t, engine, NULL, NULL, tree);
    check_groups(t, &r, tree);
    free(tree);
    dnet_routing_free(&r);
    dnet_topo_free(t);
}

static void test_one_tree_serves_all_groups(void **state)
{
    (void) state;
    static const char *const specs[] = {"ring:7:1",
                                        "torus:4x4:2",
                                        "mesh:3x3x3:1",
                                        "dragonfly:4:2",
                                        "leaf-spine:8:4:4",
                                        "fat-tree:3:8",
                                        "two-fat-trees:54:middle",
                                        "two-fat-trees:54:bottom"};
    static const char *const engines[] = {"turnadd", "turnprohib", "updn"};
    for (size_t e = 0; e < sizeof(engines) / sizeof(engines[0]); e++) {
        for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++)
            check_tree(specs[i], 1, engines[e]);
        for (uint64_t seed = 1; seed <= 40; seed++)
            check_tree("random:18:4:2", seed, engines[e]);
    }
}

static int common_links(const dnet_topo_t *t, const int *a, const int *b)
{
    int n = 0;
    for (int s = 0; s < t->n_switches; s++)
        for (int u = 0; a[s] != DNET_TOPO_NONE && u < t->n_switches; u++)
            n += a[s] == b[u];
    return n;
}

/* While the new tables are written groups have the old tree still, but for the link that is gone.
 */
static void check_old_tree(const dnet_tables_t *tables, const int *tree)
{
    const dnet_topo_t *t = tables->topo;
    dnet_mcast_t *m;
    dnet_verdict_t v;
    assert_int_equal(dnet_mcast_new(t, &m), DNET_OK);
    int g = dnet_mcast_group(m, GROUP);
    for (int h = 0; h < t->n_hosts; h++)
        dnet_mcast_add(m, g, t->host[h].sw, t->host[h].port);
    assert_int_equal(dnet_mcast_span(m, g, tree), DNET_OK);
    dnet_judged_t what = {.tables = tables, .multicast = m};
    assert_int_equal(dnet_verify(&what, &v), DNET_OK);
    assert_int_equal(v.multicast.faulty[DNET_MCAST_NO_LINK], 1);
    assert_int_equal(v.multicast.cyclic_lanes, 0);
    dnet_mcast_free(m);
}

/* A link of the tree fails: most others stay, unless both tables and tree are made from nothing. */
/* A group of all servers is on the new tree while switches go from old to new tables, or, if no
 * plan makes that safe, after it.  All stages are safe.  @return it is after it */
static bool is_apart(const dnet_topo_t *t, const dnet_tables_t *old, const dnet_tables_t *new,
                     const int *tree)
{
    dnet_transition_t plan;
    dnet_cycle_t cycle;
    dnet_mcast_t *m;
    int cyclic;
    assert_int_equal(dnet_mcast_new(t, &m), DNET_OK);
    int all = dnet_mcast_group(m, GROUP);
    for (int h = 0; h < t->n_hosts; h++)
        dnet_mcast_add(m, all, t->host[h].sw, t->host[h].port);
    assert_int_equal(dnet_mcast_span(m, all, tree), DNET_OK);
    assert_int_equal(dnet_transition_plan(t, old, new, m, &plan), DNET_OK);
    const dnet_tables_t *const mid = plan.between ? plan.between : new;
    assert_int_equal(dnet_transition_judge(t, old, mid, m, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic > 0, plan.apart);
    assert_int_equal(dnet_transition_judge(t, old, mid, NULL, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic, 0);
    assert_int_equal(dnet_transition_judge(t, mid, new, m, &cyclic, &cycle), DNET_OK);
    assert_int_equal(cyclic, 0);
    bool apart = plan.apart;
    dnet_transition_free(&plan);
    dnet_mcast_free(m);
    return apart;
}

static void fail_links_of_tree(const char *spec)
{
    dnet_topo_t *t;
    int stayed = 0, failed = 0, anew = 0, apart = 0;
    assert_int_equal(dnet_topo_make(spec, 1, &t), DNET_OK);
    int *tree = calloc((size_t) t->n_switches, sizeof(int));
    int *next = calloc((size_t) t->n_switches, sizeof(int));
    dnet_routing_t r = route(t, "turnadd", NULL, NULL, tree);
    for (int s = 0; s < t->n_switches; s++) {
        if (tree[s] == DNET_TOPO_NONE)
            continue;
        dnet_topo_set_link(t, tree[s], true);
        dnet_routing_t then = route(t, "turnadd", r.tables, tree, next);
        check_groups(t, &then, next);
        apart += is_apart(t, r.tables, then.tables, next);
        failed++;
        if (then.kept) {
            check_old_tree(then.tables, tree);
            stayed += common_links(t, tree, next);
        } else {
            anew++;
        }
        dnet_routing_free(&then);
        dnet_topo_set_link(t, tree[s], false);
    }
    print_message(
        "%s: %d failures, %d of %d other links stay; %d times from nothing, %d not beside "
        "the old tables\n",
        spec, failed, stayed, (failed - anew) * (t->n_switches - 2), anew, apart);
    assert_true(stayed >= (failed - anew) * (t->n_switches - 2) * 85 / 100);
    assert_true(10 * anew <= failed && apart <= anew);
    free(tree);
    free(next);
    dnet_routing_free(&r);
    dnet_topo_free(t);
}

static void test_tree_stays_but_for_the_link_that_failed(void **state)
{
    (void) state;
    fail_links_of_tree("torus:4x4:2");
    fail_links_of_tree("torus:5x5:1");
    fail_links_of_tree("random:20:5:2");
    fail_links_of_tree("dragonfly:4:2:2");
}

/* A level that no lane is for is refused, not judged on a lane that is not there. */
static void test_level_without_a_lane_is_refused(void **state)
{
    (void) state;
    world_t w = make_world();
    dnet_lanes_t *lanes;
    dnet_verdict_t v;
    int group = good_group(&w, GROUP);
    w.m->levels[group] = 1u << 2;
    assert_int_equal(dnet_lanes_new(w.r.tables, true, &lanes), DNET_OK);
    lanes->lanes = 2;
    dnet_judged_t what = {.tables = w.r.tables, .lanes = lanes, .multicast = w.m};
    assert_int_equal(dnet_verify(&what, &v), DNET_ERR_ARGUMENT);
    lanes->lanes = 3;
    assert_int_equal(dnet_verify(&what, &v), DNET_OK);
    dnet_lanes_free(lanes);
    free_world(&w);
}

/* ---- files ---- */

static char *file_of(char *path, const char *text)
{
    FILE *out = fdopen(mkstemp(path), "w");
    fputs(text, out);
    fclose(out);
    return path;
}

static void test_tables_and_levels_as_the_tools_print_them(void **state)
{
    (void) state;
    dnet_topo_t *t;
    dnet_mcast_t *m;
    char path[] = "mft-XXXXXX", levels[] = "mcm-XXXXXX";
    assert_int_equal(dnet_topo_make("leaf-spine:2:11:1", 1, &t), DNET_OK);
    file_of(path, "Multicast mlids [0xc000-0xc3ff] of switch Lid 7 guid 0x0000000000200001 (x):\n"
                  "            0                   1     \n"
                  "     Ports: 0 1 2 3 4 5 6 7 8 9 0 1 2 \n"
                  " MLid\n"
                  "0xc001      x   x                 x   \n"
                  "0xc003        x                     x \n"
                  "2 valid mlids dumped \n");
    assert_int_equal(dnet_mft_read(t, path, &m), DNET_OK);
    assert_int_equal(m->groups, 2);
    assert_int_equal(m->mlid[0], 0xc001);
    assert_int_equal(dnet_mcast_ports(m, 0, 1)[0], 1u << 0 | 1u << 2 | 1u << 11);
    assert_int_equal(dnet_mcast_ports(m, 1, 1)[0], 1u << 1 | 1u << 12);
    assert_int_equal(dnet_mcast_ports(m, 1, 0)[0], 0);
    file_of(levels, "\t\tMlid....................0xC003\n\t\tpkey....................0xFFFF\n"
                    "\t\tSL......................0x4\n"
                    "\t\tMlid....................0xC003\n\t\tSL......................0x0\n");
    assert_int_equal(dnet_mcast_read_levels(m, levels), DNET_OK);
    assert_int_equal(m->levels[0], 0);
    assert_int_equal(m->levels[1], 1u << 4 | 1u << 0);
    unlink(path);
    unlink(levels);
    dnet_mcast_free(m);
    dnet_topo_free(t);
}

static void test_junk_is_no_table(void **state)
{
    (void) state;
    static const char *const junk[] = {
        "",
        "Unicast lids [0x0-0x9] of switch Lid 1 guid 0x200000 (a):\n",
        "Multicast mlids [0xc000-0xc3ff] of switch Lid 7 guid 0x77 (x):\n",
        "0xc001        x\n",
        "Multicast mlids of switch Lid 7 guid 0x200000 (x):\n0x1        x\n",
        "Multicast mlids of switch Lid 7 guid 0x200000 (x):\n0xc000       x\n",
        "Multicast mlids of switch Lid 7 guid 0x200000 (x):\n0xc000        o\n",
        "Multicast mlids of switch Lid 7 guid 0x200000 (x):\n0xc000                      x\n",
    };
    dnet_topo_t *t;
    assert_int_equal(dnet_topo_make("ring:4:1", 1, &t), DNET_OK);
    for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
        char path[] = "mft-XXXXXX";
        dnet_mcast_t *m = NULL;
        file_of(path, junk[i]);
        assert_int_equal(dnet_mft_read(t, path, &m), DNET_ERR_FORMAT);
        unlink(path);
    }
    dnet_topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tree_is_good),
        cmocka_unit_test(test_faults_of_a_tree_are_told_apart),
        cmocka_unit_test(test_copies_that_come_back_are_a_loop),
        cmocka_unit_test(test_group_closes_a_cycle_with_single_ports),
        cmocka_unit_test(test_new_group_beside_old_tables),
        cmocka_unit_test(test_groups_are_judged_on_their_lanes),
        cmocka_unit_test(test_one_tree_serves_all_groups),
        cmocka_unit_test(test_tree_stays_but_for_the_link_that_failed),
        cmocka_unit_test(test_level_without_a_lane_is_refused),
        cmocka_unit_test(test_tables_and_levels_as_the_tools_print_them),
        cmocka_unit_test(test_junk_is_no_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
