/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Address assignment and forwarding blocks against the paper's examples and tables, and the files
 * exchanged with OpenSM.
 */
#include "subnet/addresses/lid.h"
#include "subnet/judges/verify.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static dnet_topo_t *make(const char *spec, dnet_lid_scheme_t scheme)
{
    dnet_topo_t *t = NULL;
    assert_int_equal(dnet_topo_make(spec, 1, &t), DNET_OK);
    assert_int_equal(dnet_lid_assign(t, scheme), DNET_OK);
    return t;
}

static dnet_fdb_diff_t fail_spine(dnet_topo_t *t, int spine, dnet_switch_routes_t rule)
{
    dnet_tables_t *before, *after;
    dnet_fdb_diff_t diff;
    int sw = t->n_switches;
    while (t->sw[--sw].level != 1 || t->sw[sw].index != spine)
        ;
    assert_int_equal(dnet_fdb_leaf_spine(t, DNET_TOPO_NONE, rule, &before), DNET_OK);
    assert_int_equal(dnet_fdb_leaf_spine(t, spine, rule, &after), DNET_OK);
    assert_int_equal(dnet_topo_set_switch(t, sw, true), DNET_OK);
    assert_int_equal(dnet_fdb_compare(t, before, after, &diff), DNET_OK);
    assert_int_equal(dnet_topo_set_switch(t, sw, false), DNET_OK);
    dnet_tables_free(before);
    dnet_tables_free(after);
    return diff;
}

/* [LID Fig. 4, Fig. 7]: 256 nodes, 16 leaves. */
static void test_assign_256_nodes_as_in_figures_4_and_7(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:16:16:16", DNET_LID_CONVENTIONAL);
    assert_int_equal(t->host[0].lid, 0x1);
    assert_int_equal(t->host[15].lid, 0x10);
    assert_int_equal(t->host[16].lid, 0x11);
    assert_int_equal(t->host[255].lid, 0x100);
    assert_int_equal(dnet_lid_assign(t, DNET_LID_PORT_MAJOR), DNET_OK);
    assert_int_equal(t->host[1].lid, 0x11);
    assert_int_equal(t->host[15].lid, 0xf1);
    assert_int_equal(t->host[16].lid, 0x2);
    assert_int_equal(t->host[16 * 15].lid, 0x10);
    assert_int_equal(t->host[255].lid, 0x100);
    dnet_topo_free(t);
}

/* [LID Table 1]: 16 nodes, 4 spines; node 7, not 8, goes through spine 3. */
static void test_spine_of_node_as_in_table_1(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:4:4:4", DNET_LID_CONVENTIONAL);
    dnet_tables_t *tables;
    assert_int_equal(dnet_fdb_leaf_spine(t, DNET_TOPO_NONE, DNET_SWITCH_ROUTES_ROTATE, &tables), 0);
    for (int h = 4; h < 16; h++)
        assert_int_equal(dnet_tables_row(tables, 0)[h], h % 4 + 1);
    dnet_tables_free(tables);
    dnet_topo_free(t);
}

/* [LID §3.2, §5]: 4 blocks per leaf against 1. */
static void test_spine_failure_256_nodes_costs_4_and_1_blocks(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:16:16:16", DNET_LID_CONVENTIONAL);
    assert_int_equal(fail_spine(t, 0, DNET_SWITCH_ROUTES_ROTATE).leaf_node_blocks, 16 * 4);
    assert_int_equal(dnet_lid_assign(t, DNET_LID_PORT_MAJOR), DNET_OK);
    assert_int_equal(fail_spine(t, 0, DNET_SWITCH_ROUTES_ROTATE).leaf_node_blocks, 16);
    dnet_topo_free(t);
}

/* [LID Table 4(b), 4(e)], every failed spine. */
static void check_table_4(const char *spec, const long *conventional, const long *port_major)
{
    dnet_topo_t *t = make(spec, DNET_LID_CONVENTIONAL);
    for (int s = 0; s < 18; s++)
        assert_int_equal(fail_spine(t, s, DNET_SWITCH_ROUTES_RUN).node_blocks, conventional[s]);
    assert_int_equal(dnet_lid_assign(t, DNET_LID_PORT_MAJOR), DNET_OK);
    for (int s = 0; s < 18; s++)
        assert_int_equal(fail_spine(t, s, DNET_SWITCH_ROUTES_RUN).node_blocks, port_major[s]);
    dnet_topo_free(t);
}

static void test_spine_failure_5832_nodes_as_in_table_4(void **state)
{
    (void) state;
    long conventional[18], port_major[18];
    for (int s = 0; s < 18; s++) {
        conventional[s] = s < 9 ? 29484 : 29807;
        port_major[s] = s == 15 ? 2267 : 1944;
    }
    check_table_4("leaf-spine:324:18:18", conventional, port_major);
}

static void test_spine_failure_11664_nodes_as_computed_for_table_4(void **state)
{
    (void) state;
    long conventional[18], port_major[18];
    for (int s = 0; s < 18; s++) {
        conventional[s] = s == 0 ? 117936 : 118583;
        port_major[s] = s == 7 || s == 15 ? 7775 : 7128;
    }
    check_table_4("leaf-spine:648:18:18", conventional, port_major);
}

/* Switch LIDs in the groups: all routes, to switches too, in few blocks. */
static void test_spine_failure_grouped_beats_port_major_in_total(void **state)
{
    (void) state;
    dnet_topo_t *t = make("leaf-spine:324:18:18", DNET_LID_PORT_MAJOR);
    long paper = fail_spine(t, 0, DNET_SWITCH_ROUTES_RUN).blocks;
    assert_int_equal(dnet_lid_assign(t, DNET_LID_GROUPED), DNET_OK);
    dnet_fdb_diff_t ours = fail_spine(t, 0, DNET_SWITCH_ROUTES_ROTATE);
    assert_int_equal(ours.blocks, 324 * 6 + 17);
    assert_true(ours.blocks < paper);
    assert_int_equal(dnet_lid_assign(t, DNET_LID_ALIGNED), DNET_OK);
    for (int s = 0; s < 18; s++)
        assert_int_equal(fail_spine(t, s, DNET_SWITCH_ROUTES_RUN).node_blocks, 324 * 6);
    dnet_topo_free(t);
}

/* [LID Table 2]: blocks and times at 264 us. */
static void test_update_time_as_in_table_2(void **state)
{
    (void) state;
    assert_true(fabs(dnet_fdb_seconds(36 * 11, 264, 1) - 0.10) < 0.005);
    assert_true(fabs(dnet_fdb_seconds(324 * 92, 264, 1) - 7.87) < 0.005);
    assert_true(fabs(dnet_fdb_seconds(648 * 183, 264, 1) - 31.31) < 0.005);
    assert_true(fabs(dnet_fdb_seconds(324 * 92, 264, 4) * 4 - 7.87) < 0.005);
}

/* Every scheme: no LID twice, none 0. */
static void test_assign_lids_are_unique(void **state)
{
    (void) state;
    static const char *const kinds[] = {"leaf-spine:20:16:18", "fat-tree:3:8", "tsubame:10:6:3",
                                        "torus:4x4:3", "two-fat-trees:128:middle",
                                        /* more servers than there are LIDs before the switches' */
                                        "leaf-spine:1000:18:2"};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
        for (int scheme = 0; dnet_lid_schemes[scheme]; scheme++) {
            dnet_topo_t *t = make(kinds[k], (dnet_lid_scheme_t) scheme);
            char *seen = calloc(65536, 1);
            for (int d = 0; d < dnet_topo_dests(t); d++) {
                if (dnet_lid_of(t, d) == 0 || seen[dnet_lid_of(t, d)]++)
                    fail_msg("%s on %s: LID %d of destination %d", dnet_lid_schemes[scheme],
                             kinds[k], dnet_lid_of(t, d), d);
            }
            free(seen);
            dnet_topo_free(t);
        }
}

/* With several LIDs an end port: no LID of a block twice, each block at a multiple of its size. */
static void test_assign_blocks_of_lids_are_apart(void **state)
{
    (void) state;
    for (int scheme = 0; dnet_lid_schemes[scheme]; scheme++) {
        dnet_topo_t *t = make("leaf-spine:20:16:18", DNET_LID_CONVENTIONAL);
        for (int h = 0; h < t->n_hosts; h++)
            t->host[h].lmc = 3;
        t->sw[5].lmc = 1;
        assert_int_equal(dnet_lid_assign(t, (dnet_lid_scheme_t) scheme), DNET_OK);
        char *seen = calloc(65536, 1);
        for (int d = 0; d < dnet_topo_dests(t); d++)
            for (int k = 0; k < dnet_topo_lids(t, d); k++)
                if (seen[dnet_lid_of(t, d) + k]++ || dnet_lid_of(t, d) % dnet_topo_lids(t, d))
                    fail_msg("%s: LID %d of destination %d", dnet_lid_schemes[scheme],
                             dnet_lid_of(t, d) + k, d);
        free(seen);
        dnet_topo_free(t);
    }
}

static void test_assign_refuses_more_lids_than_there_are(void **state)
{
    (void) state;
    dnet_topo_t *t = NULL;
    assert_int_equal(dnet_topo_make("leaf-spine:3000:18:2", 1, &t), DNET_OK);
    for (int scheme = 0; dnet_lid_schemes[scheme]; scheme++)
        assert_int_equal(dnet_lid_assign(t, (dnet_lid_scheme_t) scheme), DNET_ERR_LIMIT);
    dnet_topo_free(t);
}

static FILE *scratch(char *path)
{
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    return fdopen(fd, "w");
}

static void test_lft_file_written_and_read_is_the_same(void **state)
{
    (void) state;
    char path[] = "lft-XXXXXX";
    dnet_topo_t *t = make("leaf-spine:5:3:2", DNET_LID_GROUPED);
    dnet_tables_t *tables, *back;
    dnet_fdb_diff_t diff;
    dnet_verdict_t v;
    assert_int_equal(dnet_fdb_leaf_spine(t, DNET_TOPO_NONE, DNET_SWITCH_ROUTES_ROTATE, &tables), 0);
    FILE *out = scratch(path);
    assert_int_equal(dnet_lft_write(t, tables, out), DNET_OK);
    fclose(out);
    assert_int_equal(dnet_lft_read(t, path, &back, NULL), DNET_OK);
    assert_int_equal(dnet_fdb_compare(t, tables, back, &diff), DNET_OK);
    assert_int_equal(diff.entries, 0);
    assert_int_equal(dnet_verify_tables(back, NULL, NULL, NULL, &v), DNET_OK);
    assert_true(dnet_verdict_good(&v));
    unlink(path);
    dnet_tables_free(tables);
    dnet_tables_free(back);
    dnet_topo_free(t);
}

static dnet_status_t read_text(const char *text)
{
    char path[] = "net-XXXXXX";
    dnet_topo_t *t = NULL;
    FILE *out = scratch(path);
    fputs(text, out);
    fclose(out);
    dnet_status_t st = dnet_topo_make(path, 1, &t);
    unlink(path);
    dnet_topo_free(t);
    return st;
}

static void test_topology_files_with_faults_are_refused(void **state)
{
    (void) state;
    assert_int_equal(read_text("Switch 4 \"a\"\n[1] \"b\"[2]\n\nSwitch 4 \"b\"\n"), DNET_OK);
    assert_int_equal(read_text("Switch 4 \"a\"\n[1] \"c\"[2]\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch 4 \"a\"\n[9] \"a\"[2]\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("[1] \"a\"[2]\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch \"a\"\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch 4 \"a\"\nnonsense\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch 4 \"a\"\nSwitch 4 \"a\"\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch 4 \"a\"\n[1] \"b\"[2]\nSwitch 4 \"b\"\n[2] \"a\"[3]\n"),
                     DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch 4 \"a\"\n[0] \"b\"[2]\nSwitch 4 \"b\"\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch 4 \"a\"\n[4294967297] \"b\"[2]\nSwitch 4 \"b\"\n"),
                     DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch 4 \"a\"\n[1] \"b\"[4294967297]\nSwitch 4 \"b\"\n"),
                     DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch 4 \"a\"\n[] \"b\"[2]\nSwitch 4 \"b\"\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("Switch 4 \"a\"\nHca 1 \"h\"\n[1](abc"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("switchguid=none\nSwitch 4 \"a\"\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text("switchguid=0x7\nSwitch 4 \"a\"\nswitchguid=0x7\nSwitch 4 \"b\"\n"),
                     DNET_ERR_FORMAT);
    assert_int_equal(read_text("Hca 2 \"h\"\n"), DNET_ERR_FORMAT);
    assert_int_equal(read_text(""), DNET_ERR_FORMAT);
}

/* What the generators write is what the reader reads. */
static void test_topology_written_as_ibsim_reads_back(void **state)
{
    (void) state;
    static const char *const kinds[] = {"torus:4x3:2", "two-fat-trees:16:middle", "random:12:4:3"};
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        char path[] = "net-XXXXXX";
        dnet_topo_t *t = make(kinds[k], DNET_LID_CONVENTIONAL), *back;
        FILE *out = scratch(path);
        assert_int_equal(dnet_topo_write_ibsim(t, out), DNET_OK);
        fclose(out);
        assert_int_equal(dnet_topo_make(path, 1, &back), DNET_OK);
        assert_int_equal(back->n_switches, t->n_switches);
        assert_int_equal(back->n_links, t->n_links);
        assert_int_equal(back->n_hosts, t->n_hosts);
        for (int h = 0; h < t->n_hosts; h++) {
            assert_string_equal(back->host[h].name, t->host[h].name);
            assert_int_equal(back->host[h].port, t->host[h].port);
            assert_int_equal(back->host[h].sw, t->host[h].sw);
            assert_int_equal(back->host[h].guid, t->host[h].guid);
        }
        unlink(path);
        dnet_topo_free(t);
        dnet_topo_free(back);
    }
}

/* An ibnetdiscover file: GUIDs of its own, adapters of several ports, a port far from the first in
 * its GUID, a description with a # in it.  Its tables are read with the topology as it was written.
 */
static void test_topology_of_ibnetdiscover_keeps_guids_and_ports(void **state)
{
    (void) state;
    static const char *const text =
        "switchguid=0x2c9020000a000(2c9020000a000)\n"
        "Switch 36 \"S-0002c9020000a000\" # \"Euclid 9 lid 3 #1\" enhanced port 0 lid 7 lmc 1\n"
        "[1] \"H-0002c90300000010\"[1](2c90300000011) # \"two\" lid 1 4xQDR\n"
        "[2] \"H-0002c90300000010\"[2](2c903000000ff) # \"two\" lid 2 4xQDR\n"
        "[3] \"H-0002c90300000020\"[4](2c90300000024) # \"four\" lid 3 4xQDR\n\n"
        "caguid=0x2c90300000010\nCa 2 \"H-0002c90300000010\" # \"two\"\n"
        "[1](2c90300000011) \"S-0002c9020000a000\"[1] # lid 4 lmc 2 \"Euclid 9 lid 3 #1\" lid 7 4xQDR\n"
        "[2](2c903000000ff) \"S-0002c9020000a000\"[2] # lid 8 lmc 2 \"Euclid 9 lid 3 #1\" lid 7 4xQDR\n\n"
        "caguid=0x2c90300000020\nCa 4 \"H-0002c90300000020\" # \"four\"\n"
        "[4](2c90300000024) \"S-0002c9020000a000\"[3] # lid 12 lmc 2 \"Euclid 9 lid 3 #1\" lid 7 4xQDR\n";
    char path[] = "net-XXXXXX", again[] = "net-XXXXXX";
    dnet_topo_t *t = NULL, *back = NULL;
    FILE *out = scratch(path);
    fputs(text, out);
    fclose(out);
    assert_int_equal(dnet_topo_make(path, 1, &t), DNET_OK);
    assert_int_equal(t->n_hosts, 3);
    out = scratch(again);
    assert_int_equal(dnet_topo_write_ibsim(t, out), DNET_OK);
    fclose(out);
    assert_int_equal(dnet_topo_make(again, 1, &back), DNET_OK);
    assert_int_equal(back->n_hosts, t->n_hosts);
    assert_int_equal(back->sw[0].guid, 0x2c9020000a000);
    assert_string_equal(back->sw[0].name, "Euclid 9 lid 3 #1");
    assert_int_equal(t->sw[0].lid, 7);
    assert_int_equal(t->sw[0].lmc, 1);
    for (int h = 0; h < t->n_hosts; h++) {
        static const int lids[] = {4, 12, 8}; /* in the order of GUIDs */
        assert_int_equal(t->host[h].lid, lids[h]);
        assert_int_equal(t->host[h].lmc, 2);
        assert_true(dnet_topo_gbps(t->host[h].rate) == 40);
    }
    for (int h = 0; h < t->n_hosts; h++) {
        assert_string_equal(back->host[h].name, t->host[h].name);
        assert_int_equal(back->host[h].guid, t->host[h].guid);
        assert_int_equal(back->host[h].hca_port, t->host[h].hca_port);
        assert_int_equal(back->host[h].port, t->host[h].port);
    }
    unlink(path);
    unlink(again);
    dnet_topo_free(t);
    dnet_topo_free(back);
}

/* ibsim: a node without a GUID of its own has the next, and an adapter takes one more than it has
 * ports. */
static void test_guids_that_the_file_leaves_out_are_those_of_ibsim(void **state)
{
    (void) state;
    char path[] = "net-XXXXXX";
    dnet_topo_t *t = NULL;
    FILE *out = scratch(path);
    fputs("Hca 1 \"a\"\n[1] \"s\"[1]\n\nHca 4 \"b\"\n[1] \"s\"[2]\n\nHca 2 \"c\"\n[2] \"s\"[3]\n\n"
          "Switch 4 \"s\"\n\nswitchguid=0x300\nSwitch 4 \"u\"\n\nSwitch 4 \"v\"\n",
          out);
    fclose(out);
    assert_int_equal(dnet_topo_make(path, 1, &t), DNET_OK);
    assert_int_equal(t->host[0].guid, 0x100001);
    assert_int_equal(t->host[1].guid, 0x100003);
    assert_int_equal(t->host[2].guid, 0x100009);
    assert_int_equal(t->sw[0].guid, 0x200000);
    assert_int_equal(t->sw[1].guid, 0x300);
    assert_int_equal(t->sw[2].guid, 0x301);
    unlink(path);
    dnet_topo_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_assign_256_nodes_as_in_figures_4_and_7),
        cmocka_unit_test(test_spine_of_node_as_in_table_1),
        cmocka_unit_test(test_spine_failure_256_nodes_costs_4_and_1_blocks),
        cmocka_unit_test(test_spine_failure_5832_nodes_as_in_table_4),
        cmocka_unit_test(test_spine_failure_11664_nodes_as_computed_for_table_4),
        cmocka_unit_test(test_spine_failure_grouped_beats_port_major_in_total),
        cmocka_unit_test(test_update_time_as_in_table_2),
        cmocka_unit_test(test_assign_lids_are_unique),
        cmocka_unit_test(test_assign_blocks_of_lids_are_apart),
        cmocka_unit_test(test_assign_refuses_more_lids_than_there_are),
        cmocka_unit_test(test_lft_file_written_and_read_is_the_same),
        cmocka_unit_test(test_topology_files_with_faults_are_refused),
        cmocka_unit_test(test_topology_written_as_ibsim_reads_back),
        cmocka_unit_test(test_topology_of_ibnetdiscover_keeps_guids_and_ports),
        cmocka_unit_test(test_guids_that_the_file_leaves_out_are_those_of_ibsim),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
