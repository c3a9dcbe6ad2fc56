/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network of a cluster, of which this process is the keeper: what a process leaves behind that
 * is killed while it changes links and tables, the next one that changes something puts right; and
 * links of switches with long names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cluster/network.h"

#define CUT "S00001:2"

static dnet_cluster_t make(const char *topology)
{
    dnet_cluster_t c = {.name = "here", .keeper = getpid(), .fabric = dnet_fabric_file()};
    dnet_fabric_t *f;
    assert_int_equal(dnet_fabric_make(topology, "turnadd", &f), DNET_OK);
    assert_int_equal(dnet_fabric_store(f, c.fabric), DNET_OK);
    dnet_fabric_free(f);
    assert_int_equal(dnet_fabric_load(c.fabric, &f), DNET_OK);
    c.switches = dnet_switches_make(f);
    assert_true(c.switches >= 0);
    dnet_fabric_free(f);
    return c;
}

static void end(const dnet_cluster_t *c)
{
    close(c->fabric);
    close(c->switches);
}

static dnet_network_t take(const dnet_cluster_t *c, bool change)
{
    dnet_network_t n;
    assert_int_equal(dnet_network_take(c, change, &n), DNET_OK);
    return n;
}

static bool is_whole(const dnet_cluster_t *c)
{
    dnet_network_t n = take(c, false);
    bool follows = dnet_switches_follow(&n.switches, n.fabric);
    dnet_network_leave(&n);
    return follows;
}

static uint32_t cuts(const dnet_cluster_t *c)
{
    dnet_network_t n = take(c, false);
    uint32_t cuts = n.fabric->cuts;
    dnet_network_leave(&n);
    return cuts;
}

static void change_nothing(const dnet_cluster_t *c)
{
    dnet_network_t n = take(c, true);
    dnet_network_leave(&n);
}

static void test_network_change_is_whole(void **state)
{
    (void) state;
    const dnet_cluster_t c = make("ring:5:1");
    dnet_fdb_diff_t diff;
    assert_true(is_whole(&c));
    dnet_network_t n = take(&c, true);
    assert_int_equal(dnet_fabric_cut(n.fabric, CUT, false), DNET_OK);
    assert_int_equal(dnet_network_sweep(&n, &diff), DNET_OK);
    dnet_network_leave(&n);
    assert_true(is_whole(&c));
    assert_int_equal(cuts(&c), 1);
    end(&c);
}

/* The link is cut, and the file does not know yet: it was never cut. */
static void test_network_killed_before_its_file_is_written(void **state)
{
    (void) state;
    const dnet_cluster_t c = make("ring:5:1");
    dnet_network_t n = take(&c, true);
    assert_int_equal(dnet_fabric_cut(n.fabric, CUT, false), DNET_OK);
    dnet_switches_set_links(&n.switches, n.fabric->topo);
    dnet_network_leave(&n);
    assert_false(is_whole(&c));
    change_nothing(&c);
    assert_true(is_whole(&c));
    assert_int_equal(cuts(&c), 0);
    end(&c);
}

/* The file knows, and the old tables are in force. */
static void test_network_killed_before_its_tables_are_in_force(void **state)
{
    (void) state;
    const dnet_cluster_t c = make("ring:5:1");
    dnet_fdb_diff_t diff;
    dnet_network_t n = take(&c, true);
    assert_int_equal(dnet_fabric_cut(n.fabric, CUT, false), DNET_OK);
    dnet_switches_set_links(&n.switches, n.fabric->topo);
    assert_int_equal(dnet_fabric_reroute(n.fabric, DNET_TOPO_NONE, &diff), DNET_OK);
    assert_int_equal(dnet_fabric_store(n.fabric, n.fd), DNET_OK);
    dnet_network_leave(&n);
    assert_false(is_whole(&c));
    change_nothing(&c);
    assert_true(is_whole(&c));
    assert_int_equal(cuts(&c), 1);
    end(&c);
}

/* Two switches with two links between them, of names so long that they differ at the end only. */
static dnet_cluster_t make_named(unsigned length)
{
    char path[] = "/tmp/dnet-network-XXXXXX", topology[64], name[2][128];
    FILE *out = fdopen(mkstemp(path), "w");
    assert_non_null(out);
    for (int s = 0; s < 2; s++) {
        memset(name[s], 's', length);
        snprintf(name[s] + length - 1, 2, "%d", s);
    }
    for (int s = 0; s < 2; s++)
        fprintf(out, "Switch 4 \"%s\"\n[1] \"H%d\"[1]\n[2] \"%s\"[2]\n[3] \"%s\"[3]\n", name[s], s,
                name[1 - s], name[1 - s]);
    for (int s = 0; s < 2; s++)
        fprintf(out, "Hca 1 \"H%d\"\n[1] \"%s\"[1]\n", s, name[s]);
    fclose(out);
    snprintf(topology, sizeof(topology), "file:%s", path);
    const dnet_cluster_t c = make(topology);
    unlink(path);
    return c;
}

/* Whatever its switch is called; a name with no room in the file is refused, and none is cut short.
 */
static void test_network_isolates_links_of_long_names(void **state)
{
    (void) state;
    dnet_fdb_diff_t diff;
    for (unsigned length = 47; length < 64; length += 4) {
        const dnet_cluster_t c = make_named(length);
        const dnet_status_t want = length + 2 < DNET_FABRIC_TEXT ? DNET_OK : DNET_ERR_LIMIT;
        dnet_network_t n = take(&c, true);
        assert_int_equal(dnet_network_isolate(&n, 1, &diff), want);
        assert_int_equal(n.fabric->topo->link[1].down, want == DNET_OK);
        assert_false(n.fabric->topo->link[0].down);
        dnet_network_leave(&n);
        assert_true(is_whole(&c));
        end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_network_change_is_whole),
        cmocka_unit_test(test_network_killed_before_its_file_is_written),
        cmocka_unit_test(test_network_killed_before_its_tables_are_in_force),
        cmocka_unit_test(test_network_isolates_links_of_long_names),
    };
    return cmocka_run_group_tests_name("network", tests, NULL, NULL);
}
