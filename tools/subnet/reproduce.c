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

/* What a figure of ours is worth. */
typedef enum {
    COMPUTED,   /* by a model that does not know the paper's number: judged and counted */
    DEFINITION, /* follows from the definition of what is counted, in the paper and here */
    CALIBRATED, /* has a parameter that was chosen with the paper's number in sight */
    ABSENT,     /* not computed; the row says why */
    KINDS
} kind_t;

static const char *const kinds[KINDS] = {"computed", "definition", "calibrated", "not computed"};

#define RAILS_TRIALS 50

typedef struct book {
    const options_t *o;
    dnet_json_t j;
    int rows[KINDS], hold;
    dnet_status_t st;
} book_t;

static void open_row(book_t *b, kind_t kind, const char *id, const char *what)
{
    b->rows[kind]++;
    dnet_json_object(&b->j, NULL);
    dnet_json_string(&b->j, "id", id);
    dnet_json_string(&b->j, "what", what);
    dnet_json_string(&b->j, "kind", kinds[kind]);
}

/* One figure: ours against what the paper prints, or the bounds within which it may lie. */
static void row(book_t *b, const char *id, const char *what, double ours, const char *paper,
                double low, double high)
{
    bool holds = ours >= low && ours <= high;
    b->hold += holds;
    printf("%-7s %-60s %12.6g  paper %-14s %s\n", id, what, ours, paper,
           holds ? "holds" : "DIFFERS");
    open_row(b, COMPUTED, id, what);
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

/* Figures that a failed spine, or a number of sick links, decides. */
typedef struct range {
    double sum, least, most;
    int n;
} range_t;

static void add(range_t *r, double value)
{
    r->least = r->n && r->least < value ? r->least : value;
    r->most = r->n && r->most > value ? r->most : value;
    r->sum += value;
    r->n++;
}

static double mean_of(const range_t *r)
{
    return r->n ? r->sum / r->n : 0;
}

/* Judged by the mean over all cases, within a share of what the paper has for one of them. */
static void row_of_range(book_t *b, const char *id, const char *what, const range_t *r,
                         double paper, double share)
{
    char text[80];
    snprintf(text, sizeof(text), "%s, %g..%g", what, r->least, r->most);
    char number[32];
    snprintf(number, sizeof(number), "%.8g", paper);
    row(b, id, text, mean_of(r), number, paper * (1 - share), paper * (1 + share));
}

/* Not judged. */
static void told(book_t *b, kind_t kind, const char *id, const char *what, double ours,
                 const char *paper)
{
    printf("%-7s %-60s %12.6g  paper %-14s (%s)\n", id, what, ours, paper, kinds[kind]);
    open_row(b, kind, id, what);
    dnet_json_number(&b->j, "ours", ours);
    dnet_json_string(&b->j, "paper", paper);
    dnet_json_end_object(&b->j);
}

static void absent(book_t *b, const char *id, const char *what, const char *why)
{
    printf("%-7s %-60s not computed: %s\n", id, what, why);
    open_row(b, ABSENT, id, what);
    dnet_json_string(&b->j, "why", why);
    dnet_json_end_object(&b->j);
}

/* A value the paper gives in a picture only, or ours alone: shown, in no count. */
static void shown(book_t *b, const char *id, const char *what, double ours, const char *paper)
{
    printf("%-7s %-60s %12.6g  paper %s\n", id, what, ours, paper);
    dnet_json_object(&b->j, NULL);
    dnet_json_string(&b->j, "id", id);
    dnet_json_string(&b->j, "what", what);
    dnet_json_string(&b->j, "kind", "shown");
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

/* Data count as written when all of them are, on a full disk too. */
static void close_data(book_t *b, FILE *f)
{
    bool lost = f && ferror(f) != 0;
    lost |= f && fclose(f) != 0;
    if (!lost || b->st)
        return;
    dnet_error("reproduce: cannot write data to %s: %s", b->o->data, strerror(errno));
    b->st = DNET_ERR_SYSTEM;
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
 * Inside a tree: one path for each bundle of pairs of servers, as in the source; Up-Down, far below
 * with either method, by even spreading, which costs much less.
 */
static dnet_status_t throughput_inside(const dnet_turns_t *turns, const char *engine, int bundles,
                                       double *out)
{
    return throughput(turns, DNET_TRAFFIC_INSIDE, strcmp(engine, "updn") == 0 ? 0 : bundles, out);
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
        st = joined ? throughput_inside(r.turns, engine, inside, &out->inside)
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
    close_data(b, f);
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
    close_data(b, f);
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

/* How the figures of one size are to those of the size before; 0 = that size was not run. */
static void growth(book_t *b, const double prohibited[4], const double between[4])
{
    static const struct {
        const char *what, *paper;
        double ratio;
    } table[] = {{"prohibited share, 128 / 16 servers a tree", "2.43 (2.44)", 2.437},
                 {"prohibited share, 1024 / 128", "1.30", 1.299},
                 {"prohibited share, 8192 / 1024", "1.23 (1.18)", 1.185}};
    for (int i = 0; i < 3 && prohibited[i + 1] > 0; i++)
        row(b, "TA-18", table[i].what, prohibited[i + 1] / prohibited[i], table[i].paper,
            0.95 * table[i].ratio, 1.05 * table[i].ratio);
    if (between[1] > 0)
        row(b, "TA-11", "middle, between, turn addition, 128 / 16 servers a tree",
            between[1] / between[0], "falls", 0, 0.99);
    if (between[3] > 0) {
        row(b, "TA-11", "middle, between, turn addition, 1024 / 128", between[2] / between[1],
            "rises", 1.01, 99);
        row(b, "TA-11", "middle, between, turn addition, 8192 / 1024", between[3] / between[2],
            "rises", 1.01, 99);
    }
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
    double prohibited[4] = {0}, between[4] = {0};
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
        double share = prohibited[i] = 100 * r[TURNADD].connecting_prohibited;
        between[i] = r[TURNADD].between;
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
    close_data(b, f);
    if (!b->st)
        growth(b, prohibited, between);
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

#define SPINES 18
#define FIRST_LEAF 0x4001 /* [LID Table 3] */

/*
 * A reading of the spines of 324 ports that gives the paper's number: directors of 18 + 9 chips,
 * each a switch with a LID of its own behind the leaves', spine by spine; every switch that is left
 * rewrites the blocks with those of the failed director's chips.
 */
static long director_mads(int leaves, int spines, int chips, int spine)
{
    int first = FIRST_LEAF + leaves + spine * chips, last = first + chips - 1;
    return (long) (leaves + (spines - 1) * chips) * (last / 64 - first / 64 + 1);
}

/* What the failure of each spine in turn rewrites. */
typedef struct failures {
    range_t blocks, node_blocks, switch_blocks, leaf_node_blocks;
} failures_t;

static failures_t fail_all(book_t *b, const char *topology, int spines, dnet_lid_scheme_t scheme)
{
    failures_t f = {0};
    for (int s = 0; s < spines && !b->st; s++) {
        dnet_fdb_diff_t d = {0};
        b->st = spine_failure(topology, scheme, s, &d);
        add(&f.blocks, (double) d.blocks);
        add(&f.node_blocks, (double) d.node_blocks);
        add(&f.switch_blocks, (double) (d.blocks - d.node_blocks));
        add(&f.leaf_node_blocks, (double) d.leaf_node_blocks);
    }
    return f;
}

/* [LID Table 1]: nodes of 16 that leaf 1 reaches over the spine that the table names. */
static double spines_as_in_table_1(book_t *b)
{
    dnet_topo_t *t = NULL;
    dnet_tables_t *tables = NULL;
    int right = 0;
    b->st = dnet_topo_make("leaf-spine:4:4:4", 1, &t);
    if (!b->st)
        b->st = dnet_fdb_leaf_spine(t, DNET_TOPO_NONE, DNET_SWITCH_ROUTES_ROTATE, &tables);
    for (int h = 4; h < 16 && !b->st; h++)
        right += dnet_tables_row(tables, 0)[h] == h % 4 + 1;
    dnet_tables_free(tables);
    dnet_topo_free(t);
    return right;
}

/* Counts that follow from the size of a block. */
static void definitions(book_t *b)
{
    static const struct {
        int nodes;
        const char *leaves, *blocks, *total, *seconds;
    } nets[] = {{648, "36", "11", "396", "0.10"},
                {5832, "324", "92", "29808", "7.87"},
                {11664, "648", "183", "118584", "31.31"}};
    for (int i = 0; i < 3; i++) {
        double leaves = nets[i].nodes / 18.0, blocks = ceil(nets[i].nodes / 64.0);
        double mads = leaves * blocks;
        char what[64];
        snprintf(what, sizeof(what), "%d nodes: leaves", nets[i].nodes);
        told(b, DEFINITION, "LID-03", what, leaves, nets[i].leaves);
        snprintf(what, sizeof(what), "%d nodes: blocks per leaf", nets[i].nodes);
        told(b, DEFINITION, "LID-02", what, blocks, nets[i].blocks);
        snprintf(what, sizeof(what), "%d nodes: blocks in all", nets[i].nodes);
        told(b, DEFINITION, "LID-04", what, mads, nets[i].total);
        snprintf(what, sizeof(what), "%d nodes: update time, s", nets[i].nodes);
        told(b, DEFINITION, "LID-05", what, dnet_fdb_seconds((long) mads, 264, 1), nets[i].seconds);
    }
    told(b, DEFINITION, "LID-12", "5,832: blocks per leaf by formula, port-major",
         ceil(5832 / 64.0 / SPINES), "6");
    told(b, DEFINITION, "LID-13", "5,832: datagrams by formula, port-major",
         324 * ceil(5832 / 64.0 / SPINES), "1944");
    told(b, DEFINITION, "LID-16", "bound of the reduction, 1 / uplinks", SPINES, "18");
}

/* [LID §3, §5, §6].  The example of 256 nodes names the spine that fails; which one failed in the
 * measured networks is not in the text, so that they are judged over all. */
static void addresses(book_t *b)
{
    failures_t mid[3], large[3]; /* [scheme] */
    double few[3] = {0};
    for (int s = 0; s < 3; s++) {
        failures_t example = fail_all(b, "leaf-spine:16:16:16", 1, (dnet_lid_scheme_t) s);
        few[s] = mean_of(&example.leaf_node_blocks);
        mid[s] = fail_all(b, "leaf-spine:324:18:18", SPINES, (dnet_lid_scheme_t) s);
        large[s] = fail_all(b, "leaf-spine:648:18:18", SPINES, (dnet_lid_scheme_t) s);
    }
    double table_1 = spines_as_in_table_1(b);
    if (b->st)
        return;
    definitions(b);
    exact(b, "LID-06", "nodes of 12 over the spine of Table 1", table_1, 12);
    exact(b, "LID-07", "256 nodes, conventional, spine 1 fails, blocks per leaf", few[0] / 16, 4);
    exact(b, "LID-08", "256 nodes, port-major, spine 1 fails, blocks per leaf", few[1] / 16, 1);
    row_of_range(b, "LID-11", "5,832, conventional, node routes", &mid[0].node_blocks, 29484, 0.03);
    row_of_range(b, "LID-11", "5,832, port-major, node routes", &mid[1].node_blocks, 1944, 0.03);
    row_of_range(b, "LID-17", "11,664, conventional, node routes", &large[0].node_blocks, 118583,
                 0.03);
    row_of_range(b, "LID-17", "11,664, port-major, node routes", &large[1].node_blocks, 7128, 0.03);
    row_of_range(b, "LID-14", "5,832, conventional, blocks of switch routes alone",
                 &mid[0].switch_blocks, 783, 0.03);
    row_of_range(b, "LID-14", "5,832, port-major, blocks of switch routes alone",
                 &mid[1].switch_blocks, 783, 0.03);
    row_of_range(b, "LID-10", "5,832, conventional, all", &mid[0].blocks, 30267, 0.03);
    row_of_range(b, "LID-10", "5,832, port-major, all", &mid[1].blocks, 2727, 0.2);
    row(b, "LID-15", "5,832, reduction of all datagrams",
        mean_of(&mid[0].blocks) / mean_of(&mid[1].blocks), "11 (11.10)", 9.99, 12.21);
    row(b, "LID-15", "11,664, reduction of all datagrams",
        mean_of(&large[0].blocks) / mean_of(&large[1].blocks), "12", 10.8, 13.2);
    told(b, CALIBRATED, "LID-14", "spines as directors of 27 chips, the second fails",
         (double) director_mads(324, SPINES, 27, 1), "783");
    row(b, "ours", "5,832, grouped with switch LIDs, all datagrams", mean_of(&mid[2].blocks),
        "2727 (port)", 0, 2726);
    shown(b, "ours", "11,664, grouped with switch LIDs, all datagrams", mean_of(&large[2].blocks),
          "-");
}

/* What a setting's nodes get. */
typedef struct rails_result {
    double large;        /* the worst pair, mean over 600 nodes and more, GB/s */
    double alltoall;     /* likewise */
    double small, alone; /* the best trial of 40 nodes; of two nodes */
    double best[22];     /* the best trial, by number of nodes */
    int points;
    double broken; /* share of trials below 0.5 GB/s at 600 nodes and more */
} rails_result_t;

/* Points go to f, if any. */
static rails_result_t rails_run(book_t *b, const rails_setting_t *setting,
                                const char *const topology[2], int sick, FILE *f)
{
    rails_t rs;
    rails_result_t r = {0};
    rails_sample_t sample;
    int counts = 0;
    b->st = rails_open(&rs, setting, topology, sick, 1);
    for (int n = 40; n <= 1300 && !b->st; n += 60) {
        double loose, all;
        b->st = rails_sample(&rs, n, RAILS_TRIALS, 1, DNET_STRIPE_AVERAGED, &sample);
        if (f)
            fprintf(f, "%s %d %.3f %.3f %.3f\n", setting->name, n, sample.mean, sample.best,
                    sample.lowest);
        r.best[r.points++] = sample.best;
        if (n < 600)
            continue;
        all = dnet_rails_alltoall(rs.rail, n, 32, DNET_STRIPE_AVERAGED, &loose);
        r.large += sample.mean;
        r.alltoall += all;
        r.broken += sample.lowest < 0.5;
        counts++;
    }
    if (!b->st)
        b->st = rails_sample(&rs, 2, 1, 1, DNET_STRIPE_AVERAGED, &sample);
    r.alone = sample.best;
    r.small = r.best[0];
    for (int i = 0; i < 3 && counts; i++)
        *(double *[]){&r.large, &r.alltoall, &r.broken}[i] /= counts;
    rails_close(&rs);
    return r;
}

/* How far hetero is ahead, over all numbers of sick links. */
static void sick_rails(book_t *b, const char *const topology[2])
{
    static const int sick[] = {0, 2, 4, 6, 8};
    enum { HETERO = RAILS_SETTINGS - 1 };
    range_t gain[RAILS_SETTINGS] = {{0}};
    for (size_t i = 0; i < sizeof(sick) / sizeof(sick[0]) && !b->st; i++) {
        rails_result_t r[RAILS_SETTINGS];
        for (int s = 0; s < RAILS_SETTINGS && !b->st; s++)
            r[s] = rails_run(b, &rails_settings[s], topology, sick[i], NULL);
        for (int s = 0; s < HETERO && !b->st; s++)
            add(&gain[s], 100 * (r[HETERO].large / r[s].large - 1));
        if (!b->st && sick[i] == 8)
            row(b, "MR-14", "trials below 0.5 GB/s, hetero, 8 sick links taken out, share",
                r[HETERO].broken, "practically none", 0, 0.01);
    }
    for (int s = 1; s < HETERO && !b->st; s++) { /* minhop and updn are one in two stages */
        char what[80];
        snprintf(what, sizeof(what), "hetero over %s%s, 0 to 8 sick links, least, %%",
                 s == 1 ? "minhop and " : "", rails_settings[s].name);
        row(b, "MR-06", what, gain[s].least, "16.0", 10, 45);
        snprintf(what, sizeof(what), "hetero over %s%s, 0 to 8 sick links, most, %%",
                 s == 1 ? "minhop and " : "", rails_settings[s].name);
        row(b, "MR-06", what, gain[s].most, "39.5", 10, 45);
    }
}

/* [MR §2.1, §4]: without sick links what is left is the routing. */
static void rails(book_t *b)
{
    static const char *const differ[2] = {RAILS_FIRST, RAILS_SECOND};
    static const double steps[] = {5.2, 3.9, 3.1, 2.6};
    rails_result_t r[RAILS_SETTINGS];
    double alltoall[2] = {1e9, 0};
    int found = 0;
    FILE *f = data_file(b, "rails.dat", "setting nodes mean best lowest (GB/s)");
    for (int s = 0; s < RAILS_SETTINGS && !b->st; s++) {
        r[s] = rails_run(b, &rails_settings[s], differ, 0, f);
        alltoall[0] = fmin(alltoall[0], r[s].alltoall);
        alltoall[1] = fmax(alltoall[1], r[s].alltoall);
    }
    close_data(b, f);
    if (b->st)
        return;
    const rails_result_t *updn = &r[1], *hetero = &r[RAILS_SETTINGS - 1];
    row(b, "MR-02", "random pairs of 40 nodes, best trial / a pair alone",
        updn->small / updn->alone, "1", 0.95, 1.05);
    told(b, CALIBRATED, "MR-02", "random pairs of 40 nodes, best trial, GB/s", updn->small, "7.5");
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < updn->points; i++)
            if (fabs(updn->best[i] / updn->alone / (steps[k] / 7.8) - 1) < 0.05) {
                found++;
                break;
            }
    exact(b, "MR-03", "steps of the best trials that appear, of 4", found, 4);
    row(b, "MR-03", "best trial of 1,300 nodes / a pair alone",
        updn->best[updn->points - 1] / updn->alone, "0.333", 0.317, 0.35);
    absent(b, "MR-04", "trials below 500 MB/s before the repair",
           "its sick links lost packets; ours are slow only, and how slow is a choice");
    told(b, CALIBRATED, "MR-07", "alltoall beyond 600 nodes, GB/s", hetero->alltoall, "1.74");
    row(b, "MR-08", "alltoall / worst injection bandwidth", hetero->alltoall / hetero->large,
        "about 1/2", 0.4, 0.6);
    row(b, "MR-09", "alltoall, best / worst routing", alltoall[1] / alltoall[0], "about 1", 1, 1.1);
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

/* Rows of the papers that nothing here computes. */
static void left_out(book_t *b)
{
    absent(b, "TA-20", "decisions in the 2 x 3 grid of Fig. 16",
           "its weights are in the figure only; tests/subnet/test_turns decides in its order");
    told(b, DEFINITION, "TA-22", "weight of traffic across, 1 inside", DNET_TRAFFIC_ACROSS, "0.01");
    absent(b, "LID-01", "time of a forwarding datagram, us",
           "measured on the paper's switch; input");
    absent(b, "MR-05", "delayed collectives, s", "needs MPI on the sick machine");
    absent(b, "MR-10", "all communication with DFSSSP on rail 1", "a defect of that installation");
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
    void (*const parts[])(book_t *) = {addresses, rails,           bisection, junctions,
                                       scale,     random_networks, left_out};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !b.st; i++) {
        parts[i](&b);
        fflush(stdout);
    }
    dnet_json_end_array(&b.j);
    dnet_json_int(&b.j, "hold", b.hold);
    dnet_json_int(&b.j, "differ", b.rows[COMPUTED] - b.hold);
    dnet_json_int(&b.j, "not_computed", b.rows[ABSENT]);
    dnet_json_int(&b.j, "definition", b.rows[DEFINITION]);
    dnet_json_int(&b.j, "calibrated", b.rows[CALIBRATED]);
    printf("of %d computed figures %d hold and %d differ; not counted: %d by definition, %d "
           "calibrated, %d not computed\n",
           b.rows[COMPUTED], b.hold, b.rows[COMPUTED] - b.hold, b.rows[DEFINITION],
           b.rows[CALIBRATED], b.rows[ABSENT]);
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
