/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands of dnet-subnet, their options, and loading, common to them (subnet.h).
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"
#include "subnet/base/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const tool_option_t options[] = {
    {"topology", "SPEC", 't', "generator (dnet-subnet --help lists them) or file:PATH"},
    {"engine", "E", 'e', "routing engine (turnadd)"},
    {"json", "FILE", 'j', "results as JSON; - is standard output"},
    {"output", "FILE", 'o', "where to write (standard output)"},
    {"format", "F", 'f', "ibsim, dot or svg (ibsim)"},
    {"list", NULL, 'a', "show the generators"},
    {"verify", NULL, 'v', "judge and evaluate the routes"},
    {"traffic", "T", 'T', "uniform, inside, between or weighted (weighted)"},
    {"matrix", "FILE", 'M', "traffic as lines \"source destination rate\""},
    {"between", "RATE", 'b', "traffic across trees, 1 inside (0.01)"},
    {"hints", "FILE", 'H', "lines \"switch port cost\": above 1 the link is avoided"},
    {"cut", "SWITCH[:PORT]", 'c', "without this switch or link; repeatable"},
    {"root", "SWITCH", 'r', "updn: the root (the one that forbids least traffic)"},
    {"lanes", "N", 'l', "dfsssp: virtual lanes at most (8)"},
    {"ties", "T", 'i', "turnadd: equal weights by auto, rounds, plain or random (auto)"},
    {"seed-tree", "T", 'R', "turnadd: a spanning tree first: auto, off or on (auto)"},
    {"weightless", NULL, 'w', "turnadd: decide turns without traffic too"},
    {"static-weights", NULL, 'W', "turnprohib: do not recompute sums"},
    {"pairs-only", NULL, 'p', "no forwarding tables"},
    {"bundles", "N", 'B', "also one walk per bundle, N bundles per pair of switches"},
    {"lfts", "FILE", 'L', "dump of forwarding tables"},
    {"sl", "FILE", 'S', "service levels, from saquery -p"},
    {"against", "FILE", 1, "the dump to compare with"},
    {"scheme", "S", 2, "addresses: conventional, port-major, grouped or aligned"},
    {"guid2lid", "FILE", 3, "write the addresses for OpenSM"},
    {"write-lfts", "FILE", 4, "write the tables for OpenSM's file engine"},
    {"fail", "N", 5, "count what the failure of spine N rewrites"},
    {"window", "N", 6, "datagrams outstanding (4)"},
    {"mad-us", "T", 7, "time of a datagram, microseconds (264)"},
    {"nodes", "N", 9, "largest number of servers"},
    {"trials", "N", 8, "random pairings for each number of nodes"},
    {"sick", "N", 17, "sick links of each rail, 0 to 64"},
    {"seeds", "N", 'n', "random networks per size (10)"},
    {"data", "DIRECTORY", 10, "write the plots' data"},
    {"cluster", "NAME", 18, "the links of this emulated cluster"},
    {"before", "FILE", 11, "of a fabric: output of ibqueryerrors"},
    {"after", "FILE", 12, "the same later, the network idle"},
    {"interval", "SECONDS", 13, "between two readings (10)"},
    {"nominal", "GBPS", 14, "rate a link should have (the highest there is)"},
    {"apply", NULL, 15, "isolate what may be isolated (else nothing is changed)"},
    {"confirm", NULL, 16, "even more than a quarter of an edge switch's uplinks"},
    {"seed", "N", 's', "of everything random (1)"},
    {"quiet", NULL, 'q', "no progress on standard error"},
    {NULL, NULL, 0, NULL},
};

#define OF_TOPOLOGY "topology seed hints cut quiet"
#define OF_ENGINE \
    "engine traffic matrix between root lanes ties seed-tree weightless static-weights"

static const tool_command_t commands[] = {
    {"gen", "", OF_TOPOLOGY " format output list",
     "make a topology and write it as ibsim net, Graphviz or SVG", subnet_gen},
    {"route", "",
     OF_TOPOLOGY " " OF_ENGINE " verify pairs-only bundles scheme guid2lid write-lfts json",
     "route a topology; verify, evaluate, write forwarding tables", subnet_route},
    {"verify", "", OF_TOPOLOGY " lfts sl json",
     "judge forwarding tables dumped by a subnet manager", subnet_verify},
    {"diff", "", OF_TOPOLOGY " lfts against json",
     "count entries and blocks that differ between two dumps", subnet_diff},
    {"lid", "", OF_TOPOLOGY " scheme guid2lid fail window mad-us json",
     "assign addresses; cost of a spine's failure", subnet_lid},
    {"rails", "", "topology nodes trials sick seed quiet json",
     "simulate two rails with alike and with different engines", subnet_rails},
    {"health", "", OF_TOPOLOGY " cluster before after interval nominal apply confirm json",
     "find sick links; isolate those that may go", subnet_health},
    {"reproduce", "", "nodes seeds data quiet json", "the papers' figures: ours beside theirs",
     subnet_reproduce},
    {"path", "SERVER SERVER", OF_TOPOLOGY " " OF_ENGINE,
     "explain the route between two servers turn by turn", subnet_path},
    {NULL, NULL, NULL, NULL, NULL},
};

static void more(FILE *out)
{
    fprintf(out, "\nTopologies (--topology):\n");
    for (int i = 0; dnet_topo_kinds(i); i++)
        fprintf(out, "  %s\n", dnet_topo_kinds(i));
    fprintf(out, "  file:PATH  ibsim net file or ibnetdiscover output\n\nEngines (--engine):\n");
    for (int i = 0; dnet_engine_at(i); i++)
        fprintf(out, "  %-10s %s\n", dnet_engine_at(i)->name, dnet_engine_at(i)->summary);
    fprintf(out,
            "\nExit status: 0 good, 1 bad verdict, 2 wrong command line or input, 3 system.\n");
}

const tool_t subnet_tool = {"dnet-subnet", "tejovq", commands, options, more, SUBNET_EXIT_USAGE};

/* A number in a range; false and a line naming the option otherwise. */
static bool parse_int(const char *option, const char *text, long low, long high, int *out)
{
    char *end;
    errno = 0;
    long value = strtol(text, &end, 0);
    if (errno == 0 && end != text && *end == '\0' && value >= low && value <= high) {
        *out = (int) value;
        return true;
    }
    dnet_error("--%s %s: expected a number from %ld to %ld", option, text, low, high);
    return false;
}

/* Place of a word in a list; -1 and a line naming the words otherwise. */
static int parse_word(const char *option, const char *text, const char *const *words)
{
    char names[128] = "";
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0)
            return i;
        strcat(strcat(names, i ? ", " : ""), words[i]);
    }
    dnet_error("--%s %s: expected one of %s", option, text, names);
    return -1;
}

static bool parse_rate(const char *option, const char *text, double *out)
{
    *out = strtod(text, NULL);
    if (*out > 0)
        return true;
    dnet_error("--%s %s: expected a number above 0", option, text);
    return false;
}

static bool parse_one(int c, subnet_options_t *o)
{
    static const char *const ties[] = {"auto", "rounds", "plain", "random", NULL};
    static const char *const trees[] = {"auto", "off", "on", NULL};
    int word;
    switch (c) {
        case 't':
            o->topology = optarg;
            return true;
        case 'e':
            o->engine = optarg;
            return true;
        case 'j':
            o->json = optarg;
            return true;
        case 'o':
            o->output = optarg;
            return true;
        case 'f':
            o->format = optarg;
            return true;
        case 'T':
            o->traffic = optarg;
            return true;
        case 'M':
            o->matrix = optarg;
            return true;
        case 'H':
            o->hints = optarg;
            return true;
        case 'r':
            o->root = optarg;
            return true;
        case 'L':
            o->lfts = optarg;
            return true;
        case 'S':
            o->lanes_file = optarg;
            return true;
        case 'v':
            o->verify = true;
            return true;
        case 'p':
            o->pairs_only = true;
            return true;
        case 'w':
            o->weightless = true;
            return true;
        case 'W':
            o->static_weights = true;
            return true;
        case 'q':
            o->quiet = true;
            return true;
        case 'a':
            o->list = true;
            return true;
        case 'b':
            return parse_rate("between", optarg, &o->between);
        case 'n':
            return parse_int("seeds", optarg, 1, 1000, &o->seeds);
        case 'l':
            return parse_int("lanes", optarg, 1, 15, &o->lanes);
        case 'B':
            return parse_int("bundles", optarg, 0, 1000, &o->bundles);
        case 1:
            o->against = optarg;
            return true;
        case 3:
            o->guid2lid = optarg;
            return true;
        case 4:
            o->write_lfts = optarg;
            return true;
        case 5:
            return parse_int("fail", optarg, 1, 65535, &o->fail);
        case 6:
            return parse_int("window", optarg, 1, 1000, &o->window);
        case 7:
            return parse_rate("mad-us", optarg, &o->mad_us);
        case 8:
            return parse_int("trials", optarg, 1, 100000, &o->trials);
        case 17:
            return parse_int("sick", optarg, 0, SUBNET_SICK_MAX, &o->sick);
        case 9:
            return parse_int("nodes", optarg, 2, 65535, &o->nodes);
        case 10:
            o->data = optarg;
            return true;
        case 11:
            o->before = optarg;
            return true;
        case 12:
            o->after = optarg;
            return true;
        case 18:
            o->cluster = optarg;
            return true;
        case 13:
            return parse_rate("interval", optarg, &o->interval);
        case 14:
            return parse_rate("nominal", optarg, &o->nominal);
        case 15:
            o->apply = true;
            return true;
        case 16:
            o->confirm = true;
            return true;
        case 2:
            o->scheme = parse_word("scheme", optarg, dnet_lid_schemes);
            return o->scheme >= 0;
        case 'c':
            if (o->cuts < (int) (sizeof(o->cut) / sizeof(o->cut[0]))) {
                o->cut[o->cuts++] = optarg;
                return true;
            }
            dnet_error("--cut: at most %d times", o->cuts);
            return false;
        case 's':
            o->seed = strtoull(optarg, NULL, 0);
            return true;
        case 'i':
            word = parse_word("ties", optarg, ties);
            o->ties = (dnet_ties_t) word;
            return word >= 0;
        case 'R':
            word = parse_word("seed-tree", optarg, trees);
            o->seed_tree = (dnet_seed_tree_t) word;
            return word >= 0;
        default:
            return false; /* a line has said what is wrong */
    }
}

int subnet_parse(int argc, char **argv, subnet_options_t *o)
{
    int c;
    o->between = o->between > 0 ? o->between : DNET_TRAFFIC_ACROSS;
    o->lanes = o->lanes ? o->lanes : 8;
    o->seed = o->seed ? o->seed : 1;
    while ((c = command_option(&subnet_tool, argc, argv)) != -1)
        if (!parse_one(c, o))
            return SUBNET_EXIT_USAGE;
    dnet_progress_enable(!o->quiet);
    return 0;
}

int subnet_exit(dnet_status_t st)
{
    switch (st) {
        case DNET_OK:
            return SUBNET_EXIT_GOOD;
        case DNET_ERR_NO_MEMORY:
        case DNET_ERR_SYSTEM:
            return SUBNET_EXIT_SYSTEM;
        default:
            return SUBNET_EXIT_USAGE;
    }
}

dnet_status_t subnet_load(const subnet_options_t *o, dnet_topo_t **out)
{
    dnet_topo_t *t;
    if (!o->topology) {
        dnet_error("--topology is missing; dnet-subnet --help lists the kinds");
        return DNET_ERR_ARGUMENT;
    }
    dnet_status_t st = dnet_topo_make(o->topology, o->seed, &t);
    if (st)
        return st;
    if (o->hints)
        st = dnet_topo_read_hints(t, o->hints);
    for (int i = 0; i < o->cuts && !st; i++)
        st = dnet_topo_cut(t, o->cut[i]);
    if (st)
        dnet_topo_free(t);
    else
        *out = t;
    return st;
}

dnet_status_t subnet_traffic(const subnet_options_t *o, const dnet_topo_t *t, dnet_traffic_t *tr)
{
    static const char *const kinds[] = {"uniform", "inside", "between", "weighted", NULL};
    if (o->matrix)
        return dnet_traffic_read(tr, t, o->matrix);
    int kind = parse_word("traffic", o->traffic ? o->traffic : "weighted", kinds);
    if (kind < 0)
        return DNET_ERR_ARGUMENT;
    return dnet_traffic_init(tr, t, (dnet_traffic_kind_t) kind, o->between);
}

dnet_route_options_t subnet_route_options(const subnet_options_t *o, const dnet_traffic_t *tr)
{
    return (dnet_route_options_t){
        .seed = o->seed,
        .traffic = tr,
        .root = o->root,
        .seed_tree = o->seed_tree,
        .ties = o->ties,
        .decide_weightless = o->weightless,
        .static_weights = o->static_weights,
        .no_tables = o->pairs_only,
        .lanes = o->lanes,
    };
}

FILE *subnet_output(const char *path)
{
    if (!path || strcmp(path, "-") == 0)
        return stdout;
    FILE *f = fopen(path, "w");
    if (!f)
        dnet_error("cannot write %s: %s", path, strerror(errno));
    return f;
}

dnet_status_t subnet_output_close(FILE *f, const char *path)
{
    int bad = f == stdout ? fflush(f) : fclose(f);
    if (!bad)
        return DNET_OK;
    dnet_error("writing %s failed: %s", path ? path : "the output", strerror(errno));
    return DNET_ERR_SYSTEM;
}
