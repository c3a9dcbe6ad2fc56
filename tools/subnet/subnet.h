/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the commands of dnet-subnet share: groups of options, loading a topology, routing it,
 * reports.
 */
#ifndef DNET_TOOLS_SUBNET_H
#define DNET_TOOLS_SUBNET_H

#include "subnet/addresses/lid.h"
#include "subnet/judges/transition.h"
#include "subnet/judges/verify.h"
#include "subnet/routing/routing.h"
#include "tools/common/command.h"
#include "tools/common/json_out.h"

/* Exit status beside those of every tool: data is good, but ways from or to switches are missing or
 * close a cycle. */
enum { SUBNET_UNMANAGED = 4 };

extern const tool_command_t subnet_gen, subnet_route, subnet_verify, subnet_diff, subnet_lid,
    subnet_rails, subnet_health, subnet_show, subnet_draw, subnet_reproduce, subnet_path;

/* ---- options of several commands; each names the group's member `net` or `engine` ---- */

typedef struct {
    const char *topology, *hints;
    tool_texts_t cut;
    uint64_t seed;
    bool quiet;
} subnet_net_t;

#define SUBNET_NET_DEFAULTS .net = {.seed = 1}

#define SUBNET_NET_OPTIONS(type) \
    TOOL_OPTION(type, net.topology, "topology", TOOL_TEXT, "SPEC", \
                "generator (dnet-subnet --help lists them) or file:PATH", .letter = 't'), \
        TOOL_OPTION(type, net.hints, "hints", TOOL_TEXT, "FILE", \
                    "lines \"switch port cost\": above 1 the link is avoided"), \
        TOOL_OPTION(type, net.cut, "cut", TOOL_TEXTS, "SWITCH[:PORT]|SERVER", \
                    "without this switch, link or server; repeatable"), \
        TOOL_OPTION(type, net.seed, "seed", TOOL_U64, "N", "of everything random (1)", \
                    .most = UINT64_MAX), \
        TOOL_OPTION(type, net.quiet, "quiet", TOOL_FLAG, NULL, "no progress on standard error", \
                    .letter = 'q')

typedef struct {
    const char *name, *matrix, *partitions, *root;
    double between;
    int traffic, lanes, ties, seed_tree;
    bool weightless, static_weights;
} subnet_engine_t;

#define SUBNET_ENGINE_DEFAULTS \
    .engine = {.name = "turnadd", \
               .traffic = DNET_TRAFFIC_WEIGHTED, \
               .between = DNET_TRAFFIC_ACROSS, \
               .lanes = 8}

#define SUBNET_ENGINE_OPTIONS(type) \
    TOOL_OPTION(type, engine.name, "engine", TOOL_TEXT, "E", "routing engine (turnadd)", \
                .letter = 'e'), \
        TOOL_OPTION(type, engine.traffic, "traffic", TOOL_WORD, "T", \
                    "uniform, inside, between or weighted (weighted)", \
                    .words = subnet_traffic_words), \
        TOOL_OPTION(type, engine.matrix, "matrix", TOOL_TEXT, "FILE", \
                    "traffic as lines \"source destination rate\""), \
        TOOL_OPTION(type, engine.partitions, "partitions", TOOL_TEXT, "FILE", \
                    "traffic between servers that OpenSM's partitions let send"), \
        TOOL_OPTION(type, engine.between, "between", TOOL_FRACTION, "RATE", \
                    "traffic across trees, 1 inside (0.01)", .low = 1e-9, .high = 1e9), \
        TOOL_OPTION(type, engine.root, "root", TOOL_TEXT, "SWITCH", \
                    "updn: the root (the one that forbids least traffic)"), \
        TOOL_OPTION(type, engine.lanes, "lanes", TOOL_INT, "N", \
                    "dfsssp: virtual lanes at most (8)", .least = 1, .most = 15), \
        TOOL_OPTION(type, engine.ties, "ties", TOOL_WORD, "T", \
                    "turnadd: equal weights by auto, rounds, plain or random (auto)", \
                    .words = subnet_ties_words), \
        TOOL_OPTION(type, engine.seed_tree, "seed-tree", TOOL_WORD, "T", \
                    "turnadd: a spanning tree first: auto, off or on (auto)", \
                    .words = subnet_seed_tree_words), \
        TOOL_OPTION(type, engine.weightless, "weightless", TOOL_FLAG, NULL, \
                    "turnadd: decide turns without traffic too"), \
        TOOL_OPTION(type, engine.static_weights, "static-weights", TOOL_FLAG, NULL, \
                    "turnprohib: do not recompute sums")

extern const char *const subnet_traffic_words[];
extern const char *const subnet_ties_words[];
extern const char *const subnet_seed_tree_words[];

#define SUBNET_JSON_OPTION(type) \
    TOOL_OPTION(type, json, "json", TOOL_TEXT, "FILE", "results as JSON; - is standard output", \
                .letter = 'j')

/* ---- what they do ---- */

/** Exit status for a status that was logged already. */
int subnet_exit(dnet_status_t st);

/** Make the topology of the options with hints and cuts applied; progress lines as they say. */
dnet_status_t subnet_load(const subnet_net_t *net, dnet_topo_t **out);

/** Traffic of the options. */
dnet_status_t subnet_traffic(const subnet_engine_t *e, const dnet_topo_t *t, dnet_traffic_t *tr);

/** Routing options from command line options. */
dnet_route_options_t subnet_route_options(const subnet_engine_t *e, uint64_t seed,
                                          const dnet_traffic_t *tr);

/** Print a verdict and write it as a JSON object. */
void subnet_report_verdict(const char *key, const dnet_verdict_t *v, const dnet_topo_t *t,
                           dnet_json_t *j);

/** Print the verdict on multicast tables and write it as the JSON object `multicast`; `known`: the
 * groups' service levels are. */
void subnet_report_multicast(const dnet_mcast_t *m, const dnet_mcast_verdict_t *v, bool known,
                             dnet_json_t *j);

/** Print a cycle of channels and what to do about it, and write it as a JSON array; nothing if
 * there is none. */
void subnet_report_cycle(const dnet_cycle_t *cycle, const dnet_topo_t *t, const char *cure,
                         dnet_json_t *j);

/**
 * Judge and plan the change between two sets of tables; print it and write it as the JSON object
 * `transition`.
 *
 * @param lanes   that packets have; a change on more than one is not judged, and it says so
 * @param groups  multicast tables of the new ones; NULL: none
 * @param bad     set: not in any order of blocks
 */
dnet_status_t subnet_report_change(const dnet_topo_t *t, const dnet_tables_t *old,
                                   const dnet_tables_t *new, int lanes, const dnet_mcast_t *groups,
                                   dnet_json_t *j, bool *bad);

/** Exit status for a verdict. */
int subnet_verdict_exit(const dnet_verdict_t *v, const dnet_topo_t *t);

/** Print throughput and hops; `between` adds the second traffic; tables may be NULL. */
void subnet_report_tables(const dnet_tables_t *tables, const dnet_verdict_t *v, bool between,
                          dnet_json_t *j);

/** Print what differs between two tables and write it as the JSON object `what`. */
void subnet_report_diff(const char *what, const dnet_fdb_diff_t *d, dnet_json_t *j);

/** Print how many LIDs belong to another end port than in tables before, and write it; nothing
 * where that is none.  @return DNET_OK; ERR_NO_MEMORY */
dnet_status_t subnet_report_moved(const dnet_topo_t *t, const dnet_tables_t *old,
                                  const dnet_tables_t *new, dnet_json_t *j, long *moved_p);

/** Open an output file, or stdout for NULL or "-".  @return NULL: logged */
FILE *subnet_output(const char *path);

/** Close it, and put it in the place of an earlier one if it is whole.
 *  @param st  of what was written  @return st; DNET_ERR_SYSTEM, logged */
dnet_status_t subnet_output_close(FILE *f, const char *path, dnet_status_t st);

#endif
