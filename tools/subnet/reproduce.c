/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet reproduce: every figure and table of the routing, address assignment and multi-rail
 * papers that can be computed, ours beside the paper's, and data files for the plots.
 */
#include "subnet/engines/engines.h"
#include "tools/subnet/rails.h"

#include "common/log.h"
#include "subnet/routing/paths.h"
#include "subnet/base/progress.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct {
    const char *data, *json;
    int nodes, seeds;
    bool quiet;
} options_t;

static const tool_option_t options[] = {
    TOOL_OPTION(options_t, nodes, "nodes", TOOL_INT, "N",
                "servers of a tree, in the largest network (8192)", .least = 2, .most = 65535),
    TOOL_OPTION(options_t, seeds, "seeds", TOOL_INT, "N", "random networks per size (10)",
                .least = 1, .most = 1000),
    TOOL_OPTION(options_t, data, "data", TOOL_TEXT, "DIRECTORY", "write the plots' data"),
    TOOL_OPTION(options_t, quiet, "quiet", TOOL_FLAG, NULL, "no progress on standard error",
                .letter = 'q'),
    SUBNET_JSON_OPTION(options_t),
    {NULL},
};

typedef struct book {
    const options_t *o;
    dnet_json_t j;
    int rows, kept;
    dnet_status_t st;
} book_t;

/* One figure: ours against what the paper prints, or the bounds within which it may lie. */
static void row(book_t *b, const char *id, const char *what, double ours, const char *paper,
                double low, double high)
{
    bool holds = ours >= low && ours <= high;
    b->rows++;
    b->kept += holds;
    printf("%-7s %-58s %12.6g  paper %-14s %s\n", id, what, ours, paper,
           holds ? "holds" : "DIFFERS");
    dnet_json_object(&b->j, NULL);
    dnet_json_string(&b->j, "id", id);
    dnet_json_string(&b->j, "what", what);
    dnet_json_number(&b->j, "ours", ours);
    dnet_json_string(&b->j, "paper", paper);
    dnet_json_number(&b->j, "accept_from", low);
    dnet_json_number(&b->j, "accept_to", high);
    dnet_json_bool(&b->j, "holds", holds);
    dnet_json_end_object(&b->j);
}

static void exact(book_t *b, const char *id, const char *what, double ours, double paper)
{
    char text[32];
    snprintf(text, sizeof(text), "%.8g", paper);
    row(b, id, what, ours, text, paper, paper);
}

/* A value the paper gives in a picture only, or not at all: shown, not judged. */
static void shown(book_t *b, const char *id, const char *what, double ours, const char *paper)
{
    printf("%-7s %-58s %12.6g  paper %s\n", id, what, ours, paper);
    dnet_json_object(&b->j, NULL);
    dnet_json_string(&b->j, "id", id);
    dnet_json_string(&b->j, "what", what);
    dnet_json_number(&b->j, "ours", ours);
    dnet_json_string(&b->j, "paper", paper);
    dnet_json_end_object(&b->j);
}

/* Data file for a plot, or NULL without --data. */
static FILE *data_file(book_t *b, const char *name, const char *columns)
{
    char path[512];
    if (!b->o->data)
        return NULL;
    snprintf(path, sizeof(path), "%s/%s", b->o->data, name);
    FILE *f = fopen(path, "w");
    if (!f) {
        dnet_error("cannot write %s: %s", path, strerror(errno));
        b->st = DNET_ERR_SYSTEM;
        return NULL;
    }
    fprintf(f, "# %s\n", columns);
    return f;
}

/* Throughputs of pair routing under one engine's turns. */
typedef struct pair_result {
    double inside, between;       /* or uniform in `inside` */
    double connecting_prohibited; /* turns at connecting links, share */
} pair_result_t;

static double connecting_share(const dnet_turns_t *turns)
{
    const dnet_topo_t *t = turns->topo;
    long pairs = 0, prohibited = 0;
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        int s = dnet_topo_tail(t, c);
        if (t->sw[s].tree == t->sw[dnet_topo_head(t, c)].tree)
            continue;
        for (int i = 0; i < dnet_topo_degree(t, s); i++)
            if (i != t->slot[c]) {
                pairs++;
                prohibited += !dnet_turns_allowed(turns, s, i, t->slot[c]);
            }
    }
    return pairs ? (double) prohibited / (double) pairs : 0;
}

/* 1/M of one walk per bundle of server pairs; bundles 0 = evenly spread over all shortest walks. */
static dnet_status_t throughput(const dnet_turns_t *turns, dnet_traffic_kind_t kind, int bundles,
                                double *out)
{
    const dnet_topo_t *t = turns->topo;
    double max = 1, *load = dnet_subnet_alloc((size_t) dnet_topo_channels(t), sizeof(double));
    dnet_traffic_t tr = {0};
    long unreached;
    dnet_status_t st = load ? dnet_traffic_init(&tr, t, kind, 0) : DNET_ERR_NO_MEMORY;
    if (!st)
        st = bundles ? dnet_paths_greedy(turns, &tr, bundles, 1, load, &unreached)
                     : dnet_paths_spread_all(turns, &tr, load, NULL, NULL, &unreached);
    for (int c = 0; !st && c < dnet_topo_channels(t); c++)
        max = load[c] > max ? load[c] : max;
    *out = 1 / max;
    dnet_traffic_free(&tr);
    free(load);
    return st;
}

/*
 * Inside a tree.  The source balances one path for each pair of servers; spreading evenly costs
 * much less, and is as good where all shortest walks are allowed.  So the search is for engines
 * that come near to full throughput, as TP; Up-Down stays far below with either.
 */
static dnet_status_t throughput_inside(const dnet_turns_t *turns, int bundles, double *out)
{
    double one = 0;
    dnet_status_t st = throughput(turns, DNET_TRAFFIC_INSIDE, 0, out);
    if (!st && *out > 0.8 && *out < 0.99)
        st = throughput(turns, DNET_TRAFFIC_INSIDE, bundles, &one);
    *out = fmax(*out, one);
    return st;
}

/* bundles, inside: walks for a pair of switches, between trees (or in a network of one) and inside
 * them. */
static dnet_status_t pair_run(const char *topology, uint64_t seed, const char *engine, int bundles,
                              int inside, pair_result_t *out)
{
    dnet_topo_t *t = NULL;
    dnet_traffic_t tr = {0};
    dnet_routing_t r = {0};
    *out = (pair_result_t){0};
    dnet_status_t st = dnet_topo_make(topology, seed, &t);
    if (!st)
        st = dnet_traffic_init(&tr, t, DNET_TRAFFIC_WEIGHTED, DNET_TRAFFIC_ACROSS);
    if (!st) {
        dnet_route_options_t opt = {.seed = seed, .traffic = &tr, .lanes = 8, .no_tables = true};
        st = dnet_route(t, dnet_engine_find(engine), &opt, NULL, &r);
    }
    if (!st) {
        bool joined = tr.n_trees > 1;
        st = joined ? throughput_inside(r.turns, inside, &out->inside)
                    : throughput(r.turns, DNET_TRAFFIC_UNIFORM, bundles, &out->inside);
        if (!st && joined)
            st = throughput(r.turns, DNET_TRAFFIC_BETWEEN, bundles, &out->between);
        out->connecting_prohibited = connecting_share(r.turns);
    }
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    dnet_topo_free(t);
    return st;
}

enum { TURNADD, UPDN, TP, TURN_ENGINES };
static const char *const turn_engines[TURN_ENGINES] = {"turnadd", "updn", "turnprohib"};

/* [TA §5.2, Fig. 20] */
static void random_networks(book_t *b)
{
    double mean[11][TURN_ENGINES] = {{0}}, worst_tp = 1;
    FILE *f = data_file(b, "random.dat", "switches turnadd updn turnprohib: mean throughput");
    for (int n = 10; n <= 100; n += 10) {
        char spec[32];
        snprintf(spec, sizeof(spec), "random:%d:10:10", n);
        for (int e = 0; e < TURN_ENGINES; e++)
            for (int seed = 1; seed <= b->o->seeds && !b->st; seed++) {
                pair_result_t r;
                b->st = pair_run(spec, (uint64_t) seed, turn_engines[e], 10, 10, &r);
                mean[n / 10][e] += r.inside / b->o->seeds;
            }
        double ratio = mean[n / 10][TURNADD] / mean[n / 10][TP];
        worst_tp = fabs(ratio - 1) > fabs(worst_tp - 1) ? ratio : worst_tp;
        if (f)
            fprintf(f, "%d %.4f %.4f %.4f\n", n, mean[n / 10][0], mean[n / 10][1], mean[n / 10][2]);
    }
    if (f)
        fclose(f);
    if (b->st)
        return;
    row(b, "TA-01", "random, 100 switches: turn addition / Up-Down",
        mean[10][TURNADD] / mean[10][UPDN], "2.05, 2.08", 1.7, 3.1);
    row(b, "TA-02", "random, 10 switches: turn addition / Up-Down",
        mean[1][TURNADD] / mean[1][UPDN], "below 1.05", 0.95, 1.05);
    row(b, "TA-02", "random, 20 switches: turn addition / Up-Down",
        mean[2][TURNADD] / mean[2][UPDN], "above 1", 1.05, 9);
    row(b, "TA-03", "random: turn addition / TP, farthest from 1", worst_tp, "about 1", 0.9, 1.1);
    shown(b, "TA-04", "random, 100 switches: throughput of turn addition", mean[10][TURNADD],
          "(picture)");
}

/* [TA §5.3.1, Fig. 21] */
static void junctions(book_t *b)
{
    static const char *const stages[] = {"top", "middle", "bottom"};
    pair_result_t r[3][TURN_ENGINES];
    FILE *f = data_file(b, "junctions.dat",
                        "stage turnadd-in updn-in tp-in turnadd-between updn-between tp-between");
    for (int s = 0; s < 3; s++) {
        char spec[48];
        snprintf(spec, sizeof(spec), "two-fat-trees:128:%s", stages[s]);
        for (int e = 0; e < TURN_ENGINES && !b->st; e++)
            b->st = pair_run(spec, 1, turn_engines[e], 10, 10, &r[s][e]);
        if (b->st)
            break;
        if (f)
            fprintf(f, "%s %.4f %.4f %.4f %.4f %.4f %.4f\n", stages[s], r[s][0].inside,
                    r[s][1].inside, r[s][2].inside, r[s][0].between, r[s][1].between,
                    r[s][2].between);
        row(b, "TA-05", "inside a tree, turn addition", r[s][TURNADD].inside, "1.00", 0.99, 1.01);
        row(b, "TA-05", "inside a tree, TP", r[s][TP].inside, "1.00", 0.99, 1.01);
    }
    if (f)
        fclose(f);
    if (b->st)
        return;
    row(b, "TA-06", "inside, Up-Down, middle", r[1][UPDN].inside, "below 1", 0, 0.99);
    shown(b, "TA-06", "inside, Up-Down, top", r[0][UPDN].inside, "contradicts itself");
    row(b, "TA-06", "inside, Up-Down, bottom", r[2][UPDN].inside, "1.00", 0.99, 1.01);
    row(b, "TA-07", "between, top, least of the three",
        fmin(r[0][0].between, fmin(r[0][1].between, r[0][2].between)), "high", 0.9, 1);
    row(b, "TA-08", "between, middle: turn addition / TP", r[1][TURNADD].between / r[1][TP].between,
        "above 1", 1.01, 99);
    row(b, "TA-08", "between, middle, Up-Down", r[1][UPDN].between, "high", 0.7, 1);
    row(b, "TA-09", "between, bottom, largest of the three",
        fmax(r[2][0].between, fmax(r[2][1].between, r[2][2].between)), "low", 0, 0.5);
    row(b, "TA-09", "between, bottom: turn addition / best of the others",
        r[2][TURNADD].between / fmax(r[2][UPDN].between, r[2][TP].between), "at least 1", 1, 99);
}

/* [TA §5.3.2, Fig. 24, Table 2] */
static void scale(book_t *b)
{
    static const struct {
        int n, bundles, inside; /* fewer bundles where there are more pairs of switches */
        double percent, tolerance;
    } table2[] = {{16, 10, 10, 6.25, 0},
                  {128, 10, 10, 15.23, 1.5},
                  {1024, 4, 4, 19.78, 0.005},
                  {8192, 1, 4, 23.43, 0.005}};
    FILE *f = data_file(b, "scale.dat",
                        "servers/tree turnadd-in turnadd-between updn-in "
                        "updn-between tp-in tp-between prohibited%");
    for (int i = 0; i < 4 && table2[i].n <= b->o->nodes && !b->st; i++) {
        pair_result_t r[TURN_ENGINES];
        char spec[48], what[64], paper[16];
        snprintf(spec, sizeof(spec), "two-fat-trees:%d:middle", table2[i].n);
        for (int e = 0; e < TURN_ENGINES && !b->st; e++)
            b->st = pair_run(spec, 1, turn_engines[e], table2[i].bundles, table2[i].inside, &r[e]);
        if (b->st)
            break;
        snprintf(what, sizeof(what), "prohibited at connecting links, %d per tree, %%",
                 table2[i].n);
        snprintf(paper, sizeof(paper), "%.2f", table2[i].percent);
        double share = 100 * r[TURNADD].connecting_prohibited;
        row(b,
            i == 0   ? "TA-14"
            : i == 1 ? "TA-15"
            : i == 2 ? "TA-16"
                     : "TA-17",
            what, share, paper, table2[i].percent - table2[i].tolerance,
            table2[i].percent + table2[i].tolerance);
        snprintf(what, sizeof(what), "middle, %d per tree, inside, turn addition", table2[i].n);
        row(b, "TA-10", what, r[TURNADD].inside, "1.00", 0.99, 1.01);
        snprintf(what, sizeof(what), "middle, %d per tree, inside, TP", table2[i].n);
        row(b, "TA-10", what, r[TP].inside, "1.00", 0.99, 1.01);
        snprintf(what, sizeof(what), "middle, %d per tree, between, turn addition", table2[i].n);
        shown(b, "TA-11", what, r[TURNADD].between, "(picture)");
        snprintf(what, sizeof(what), "middle, %d per tree, between, TA / TP", table2[i].n);
        double ratio = r[TURNADD].between / r[TP].between;
        if (table2[i].n == 8192)
            row(b, "TA-13", what, ratio, "4.77", 2, 99);
        else
            shown(b, "TA-12", what, ratio, "(picture)");
        if (f)
            fprintf(f, "%d %.4f %.4f %.4f %.4f %.4f %.4f %.2f\n", table2[i].n, r[0].inside,
                    r[0].between, r[1].inside, r[1].between, r[2].inside, r[2].between, share);
    }
    if (f)
        fclose(f);
}

static dnet_status_t spine_failure(const char *topology, dnet_lid_scheme_t scheme, int spine,
                                   dnet_fdb_diff_t *diff)
{
    dnet_topo_t *t;
    dnet_tables_t *before = NULL, *after = NULL;
    dnet_switch_routes_t rule =
        scheme == DNET_LID_GROUPED ? DNET_SWITCH_ROUTES_ROTATE : DNET_SWITCH_ROUTES_RUN;
    dnet_status_t st = dnet_topo_make(topology, 1, &t);
    if (st)
        return st;
    st = dnet_lid_assign(t, scheme);
    if (!st)
        st = dnet_fdb_leaf_spine(t, DNET_TOPO_NONE, rule, &before);
    if (!st)
        st = dnet_fdb_leaf_spine(t, spine, rule, &after);
    for (int s = 0, n = 0; s < t->n_switches && !st; s++)
        if (!t->sw[s].hosts && n++ == spine)
            t->sw[s].down = true;
    if (!st)
        st = dnet_fdb_compare(t, before, after, diff);
    dnet_tables_free(before);
    dnet_tables_free(after);
    dnet_topo_free(t);
    return st;
}

/* the second: [LID Table 4]'s counts are those of one of the first nine */
#define FAILED_SPINE 1
#define FIRST_LEAF 0x4001 /* [LID Table 3] */

/*
 * Datagrams for routes to switches when a spine fails.  A spine of 324 or 648 ports is a director
 * of 36-port chips, each a switch with a LID of its own: 18 + 9 or 36 + 18.  Their LIDs follow the
 * leaves', spine by spine. Every switch that is left, leaf or chip, rewrites the blocks with the
 * LIDs of the failed spine's chips: 783 at 5,832 nodes, the difference of the two lines of [LID
 * Table 4].
 */
static long director_mads(int leaves, int spines, int chips)
{
    int first = FIRST_LEAF + leaves + FAILED_SPINE * chips, last = first + chips - 1;
    return (long) (leaves + (spines - 1) * chips) * (last / 64 - first / 64 + 1);
}

/* [LID §3, §5, §6] */
static void addresses(book_t *b)
{
    static const struct {
        const char *name, *topology;
    } nets[] = {{"256", "leaf-spine:16:16:16"},
                {"5832", "leaf-spine:324:18:18"},
                {"11664", "leaf-spine:648:18:18"}};
    dnet_fdb_diff_t d[3][3]; /* [network][scheme] */
    for (int n = 0; n < 3; n++)
        for (int s = 0; s < 3 && !b->st; s++)
            b->st = spine_failure(nets[n].topology, (dnet_lid_scheme_t) s, FAILED_SPINE, &d[n][s]);
    if (b->st)
        return;
    exact(b, "LID-02", "blocks per leaf, 648 nodes", ceil(648 / 64.0), 11);
    exact(b, "LID-02", "blocks per leaf, 5,832 nodes", ceil(5832 / 64.0), 92);
    exact(b, "LID-02", "blocks per leaf, 11,664 nodes", ceil(11664 / 64.0), 183);
    row(b, "LID-05", "update time, 648 nodes, s", dnet_fdb_seconds(396, 264, 1), "0.10", 0.095,
        0.105);
    row(b, "LID-05", "update time, 5,832 nodes, s", dnet_fdb_seconds(29808, 264, 1), "7.87", 7.865,
        7.875);
    row(b, "LID-05", "update time, 11,664 nodes, s", dnet_fdb_seconds(118584, 264, 1), "31.31",
        31.305, 31.315);
    exact(b, "LID-07", "256 nodes, conventional, blocks per leaf", d[0][0].leaf_node_blocks / 16.0,
          4);
    exact(b, "LID-08", "256 nodes, port-major, blocks per leaf", d[0][1].leaf_node_blocks / 16.0,
          1);
    exact(b, "LID-11", "5,832, conventional, node-route MADs", (double) d[1][0].node_blocks, 29484);
    exact(b, "LID-11", "5,832, port-major, node-route MADs", (double) d[1][1].node_blocks, 1944);
    long small = director_mads(324, 18, 27), large = director_mads(648, 18, 54);
    double all[2][2] = {
        {(double) (d[1][0].node_blocks + small), (double) (d[1][1].node_blocks + small)},
        {(double) (d[2][0].node_blocks + large), (double) (d[2][1].node_blocks + large)}};
    exact(b, "LID-14", "5,832, switch-route MADs, spines of 27 chips", (double) small, 783);
    exact(b, "LID-10", "5,832, conventional, all MADs", all[0][0], 30267);
    exact(b, "LID-10", "5,832, port-major, all MADs", all[0][1], 2727);
    row(b, "LID-15", "5,832, reduction of all MADs", all[0][0] / all[0][1], "11", 10.5, 11.5);
    row(b, "LID-15", "11,664, reduction of all MADs", all[1][0] / all[1][1], "12", 11.5, 12.5);
    exact(b, "LID-17", "11,664, conventional, node-route MADs", (double) d[2][0].node_blocks,
          118583);
    exact(b, "LID-17", "11,664, port-major, node-route MADs", (double) d[2][1].node_blocks, 7128);
    row(b, "ours", "5,832, grouped with switch LIDs, all MADs", (double) d[1][2].blocks,
        "2727 (port)", 0, 2726);
    shown(b, "ours", "11,664, grouped with switch LIDs, all MADs", (double) d[2][2].blocks, "-");
}

/*
 * Worst pair of each setting, mean over 600 nodes and more; also of two nodes alone.  Points go
 * to f, if any.
 */
static void rails_means(book_t *b, const char *const topology[2], int sick, FILE *f,
                        double large[RAILS_SETTINGS], double *alone)
{
    for (int s = 0; s < RAILS_SETTINGS && !b->st; s++) {
        rails_t rs;
        int counts = 0;
        large[s] = 0;
        b->st = rails_open(&rs, &rails_settings[s], topology, sick, 1);
        for (int n = 40; n <= 1300 && !b->st; n += 60) {
            rails_sample_t sample;
            b->st = rails_sample(&rs, n, 50, 1, DNET_STRIPE_AVERAGED, &sample);
            if (f)
                fprintf(f, "%s %d %.3f %.3f %.3f\n", rails_settings[s].name, n, sample.mean,
                        sample.best, sample.lowest);
            if (n >= 600) {
                large[s] += sample.mean;
                counts++;
            }
        }
        rails_sample_t two;
        if (!b->st)
            b->st = rails_sample(&rs, 2, 1, 1, DNET_STRIPE_AVERAGED, &two);
        *alone = two.best;
        large[s] /= counts ? counts : 1;
        rails_close(&rs);
    }
}

/* Hetero over another setting, in percent. */
static double gain(const double large[RAILS_SETTINGS], int s)
{
    return 100 * (large[RAILS_SETTINGS - 1] / large[s] - 1);
}

/*
 * [MR §4].  The paper ran minhop, updn and ftree with the sick links in service, hetero and updn2
 * without them; how many there were is not in its text.  Judged with four a rail.
 */
static void sick_rails(book_t *b, const char *const topology[2])
{
    static const int sick[] = {2, 4, 8};
    double large[RAILS_SETTINGS], alone;
    for (int i = 0; i < 3 && !b->st; i++) {
        rails_means(b, topology, sick[i], NULL, large, &alone);
        for (int s = 0; s + 1 < RAILS_SETTINGS && !b->st; s++) {
            char what[80];
            snprintf(what, sizeof(what),
                     "hetero over %s, 600 nodes and more, %d sick links a rail, %%",
                     rails_settings[s].name, sick[i]);
            if (sick[i] == 4 && !rails_settings[s].repaired)
                row(b, "MR-06", what, gain(large, s), "16.0..39.5", 10, 45);
            else
                shown(b, "MR-06", what, gain(large, s), "16.0..39.5");
        }
    }
}

/*
 * [MR §2.1, §4].  Without sick links what is left is the routing.  I/O servers on the second rail
 * alone shift the counters of minhop and updn there, which makes their two rails differ without
 * anybody having meant it; on both rails they do not.
 */
static void rails(book_t *b)
{
    static const char *const differ[2] = {RAILS_FIRST, RAILS_SECOND};
    static const char *const alike[2] = {RAILS_SECOND, RAILS_SECOND};
    double large[RAILS_SETTINGS], same[RAILS_SETTINGS], alone = 0;
    FILE *f = data_file(b, "rails.dat", "setting nodes mean best lowest (GB/s)");
    rails_means(b, differ, 0, f, large, &alone);
    if (f)
        fclose(f);
    rails_means(b, alike, 0, NULL, same, &alone);
    if (b->st)
        return;
    row(b, "MR-02", "a pair alone, GB/s", alone, "7.5", 7.4, 7.9);
    for (int s = 0; s + 2 < RAILS_SETTINGS; s++) { /* updn2 is updn here */
        char what[80];
        snprintf(what, sizeof(what), "hetero over %s, no sick links, %%", rails_settings[s].name);
        shown(b, "MR-06", what, gain(large, s), "16.0..39.5");
        snprintf(what, sizeof(what), "hetero over %s, no sick links, I/O servers on both rails, %%",
                 rails_settings[s].name);
        shown(b, "MR-06", what, gain(same, s), "16.0..39.5");
    }
    sick_rails(b, differ);
}

/* [MR §3.1, Fig. 6]: ordering only */
static void bisection(book_t *b)
{
    double mean[2] = {0};
    static const char *const engines[2] = {"updn", "dfsssp"};
    for (int e = 0; e < 2 && !b->st; e++) {
        const rails_setting_t alone = {engines[e], {engines[e], engines[e]}, false};
        static const char *const topology[2] = {RAILS_SECOND, RAILS_SECOND};
        dnet_bisection_t result;
        rails_t rs;
        b->st = rails_open(&rs, &alone, topology, 0, 1);
        if (!b->st)
            b->st = dnet_rails_bisection(&rs.rail[0], 1300, 200, 1, &result);
        mean[e] = result.mean;
        rails_close(&rs);
    }
    if (!b->st)
        row(b, "MR-11", "effective bisection bandwidth, dfsssp / updn", mean[1] / mean[0],
            "above 1", 1, 9);
}

static int run(int argc, char **argv)
{
    options_t o = {.nodes = 8192, .seeds = 10};
    if (!tool_parse(&subnet_reproduce, &argc, &argv, &o))
        return TOOL_USAGE;
    dnet_progress_enable(!o.quiet);
    setvbuf(stdout, NULL, _IOLBF, 0); /* rows appear as they come, in a file too */
    book_t b = {.o = &o};
    if (o.data && mkdir(o.data, 0777) && errno != EEXIST) {
        dnet_error("cannot make the directory %s: %s", o.data, strerror(errno));
        return TOOL_SYSTEM;
    }
    b.st = dnet_json_open(&b.j, o.json);
    if (b.st)
        return subnet_exit(b.st);
    dnet_json_array(&b.j, "rows");
    void (*const parts[])(book_t *) = {addresses, rails, bisection,
                                       junctions, scale, random_networks};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !b.st; i++) {
        parts[i](&b);
        fflush(stdout);
    }
    dnet_json_end_array(&b.j);
    dnet_json_int(&b.j, "judged", b.rows);
    dnet_json_int(&b.j, "hold", b.kept);
    printf("%d of %d figures that can be judged hold\n", b.kept, b.rows);
    if (dnet_json_close(&b.j) && !b.st)
        b.st = DNET_ERR_SYSTEM;
    return b.st ? subnet_exit(b.st) : TOOL_GOOD;
}

const tool_command_t subnet_reproduce = {
    .name = "reproduce",
    .summary = "the papers' figures: ours beside theirs",
    .options = options,
    .run = run,
};
