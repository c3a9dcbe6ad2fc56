/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the subcommands of dnet-subnet share: options, exit codes, loading a topology, routing it.
 */
#ifndef DNET_TOOLS_SUBNET_H
#define DNET_TOOLS_SUBNET_H

#include "tools/common/json_out.h"
#include "subnet/addresses/lid.h"
#include "subnet/routing/routing.h"
#include "subnet/judges/verify.h"
#include "tools/common/command.h"

#include <getopt.h>

/* Exit codes, also in the man page. */
enum {
    SUBNET_EXIT_GOOD = 0,
    /* the verdict is bad: a cycle, something unreachable, a sick link */
    SUBNET_EXIT_BAD = 1,
    SUBNET_EXIT_USAGE = 2,  /* wrong command line or input file */
    SUBNET_EXIT_SYSTEM = 3, /* memory, files */
};

#define SUBNET_SICK_MAX 64 /* sick links of a rail */

/* Options that several subcommands take; each has its own default. */
typedef struct subnet_options {
    const char *topology, *engine, *json, *output, *format;
    const char *traffic, *matrix, *hints, *root, *lfts, *lanes_file;
    const char *against, *guid2lid, *write_lfts, *data;
    const char *cut[16];
    int cuts, scheme, fail, window, trials, nodes, sick;
    const char *before, *after, *cluster;
    double mad_us, interval, nominal;
    uint64_t seed;
    double between;
    int lanes, bundles, seeds;
    bool verify, quiet, pairs_only, weightless, static_weights, list, apply, confirm;
    dnet_ties_t ties;
    dnet_seed_tree_t seed_tree;
} subnet_options_t;

extern const tool_t subnet_tool;

int subnet_gen(int argc, char **argv);
int subnet_route(int argc, char **argv);
int subnet_verify(int argc, char **argv);
int subnet_path(int argc, char **argv);
int subnet_diff(int argc, char **argv);
int subnet_lid(int argc, char **argv);
int subnet_rails(int argc, char **argv);
int subnet_health(int argc, char **argv);
int subnet_reproduce(int argc, char **argv);

/** Parse common options; optind is left at the first argument.  @return 0, or an exit code. */
int subnet_parse(int argc, char **argv, subnet_options_t *o);

/** Exit code for a status that was logged already. */
int subnet_exit(dnet_status_t st);

/** Make the topology of the options with hints and cuts applied. */
dnet_status_t subnet_load(const subnet_options_t *o, dnet_topo_t **out);

/** Traffic of the options. */
dnet_status_t subnet_traffic(const subnet_options_t *o, const dnet_topo_t *t, dnet_traffic_t *tr);

/** Routing options from command line options. */
dnet_route_options_t subnet_route_options(const subnet_options_t *o, const dnet_traffic_t *tr);

/** Print a verdict and write it as a JSON object. */
void subnet_report_verdict(const char *key, const dnet_verdict_t *v, const dnet_topo_t *t,
                           dnet_json_t *j);

/** Print throughput and hops; `between` adds the second traffic; tables may be NULL. */
void subnet_report_tables(const dnet_tables_t *tables, const dnet_verdict_t *v, bool between,
                          dnet_json_t *j);

/** Print what differs between two tables and write it as the JSON object `what`. */
void subnet_report_diff(const char *what, const dnet_fdb_diff_t *d, dnet_json_t *j);

/** Open an output file, or stdout for NULL or "-". */
FILE *subnet_output(const char *path);
dnet_status_t subnet_output_close(FILE *f, const char *path);

#endif
