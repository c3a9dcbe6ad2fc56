/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Options and loading, common to the subcommands of dnet-subnet (subnet_tool.h).
 */
#include "subnet_tool.h"

#include "common/log.h"
#include "subnet/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct option long_options[] = {
    {"topology", required_argument, NULL, 't'},
    {"engine", required_argument, NULL, 'e'},
    {"json", required_argument, NULL, 'j'},
    {"output", required_argument, NULL, 'o'},
    {"format", required_argument, NULL, 'f'},
    {"traffic", required_argument, NULL, 'T'},
    {"matrix", required_argument, NULL, 'M'},
    {"between", required_argument, NULL, 'b'},
    {"hints", required_argument, NULL, 'H'},
    {"cut", required_argument, NULL, 'c'},
    {"root", required_argument, NULL, 'r'},
    {"lfts", required_argument, NULL, 'L'},
    {"sl", required_argument, NULL, 'S'},
    {"seed", required_argument, NULL, 's'},
    {"seeds", required_argument, NULL, 'n'},
    {"lanes", required_argument, NULL, 'l'},
    {"bundles", required_argument, NULL, 'B'},
    {"ties", required_argument, NULL, 'i'},
    {"seed-tree", required_argument, NULL, 'R'},
    {"against", required_argument, NULL, 1},
    {"scheme", required_argument, NULL, 2},
    {"guid2lid", required_argument, NULL, 3},
    {"write-lfts", required_argument, NULL, 4},
    {"fail", required_argument, NULL, 5},
    {"window", required_argument, NULL, 6},
    {"mad-us", required_argument, NULL, 7},
    {"trials", required_argument, NULL, 8},
    {"sick", required_argument, NULL, 17},
    {"nodes", required_argument, NULL, 9},
    {"data", required_argument, NULL, 10},
    {"before", required_argument, NULL, 11},
    {"after", required_argument, NULL, 12},
    {"interval", required_argument, NULL, 13},
    {"nominal", required_argument, NULL, 14},
    {"apply", no_argument, NULL, 15},
    {"confirm", no_argument, NULL, 16},
    {"verify", no_argument, NULL, 'v'},
    {"pairs-only", no_argument, NULL, 'p'},
    {"weightless", no_argument, NULL, 'w'},
    {"static-weights", no_argument, NULL, 'W'},
    {"quiet", no_argument, NULL, 'q'},
    {"list", no_argument, NULL, 'a'},
    {NULL, 0, NULL, 0},
};

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
    case 't': o->topology = optarg; return true;
    case 'e': o->engine = optarg; return true;
    case 'j': o->json = optarg; return true;
    case 'o': o->output = optarg; return true;
    case 'f': o->format = optarg; return true;
    case 'T': o->traffic = optarg; return true;
    case 'M': o->matrix = optarg; return true;
    case 'H': o->hints = optarg; return true;
    case 'r': o->root = optarg; return true;
    case 'L': o->lfts = optarg; return true;
    case 'S': o->lanes_file = optarg; return true;
    case 'v': o->verify = true; return true;
    case 'p': o->pairs_only = true; return true;
    case 'w': o->weightless = true; return true;
    case 'W': o->static_weights = true; return true;
    case 'q': o->quiet = true; return true;
    case 'a': o->list = true; return true;
    case 'b': return parse_rate("between", optarg, &o->between);
    case 'n': return parse_int("seeds", optarg, 1, 1000, &o->seeds);
    case 'l': return parse_int("lanes", optarg, 1, 15, &o->lanes);
    case 'B': return parse_int("bundles", optarg, 0, 1000, &o->bundles);
    case 1: o->against = optarg; return true;
    case 3: o->guid2lid = optarg; return true;
    case 4: o->write_lfts = optarg; return true;
    case 5: return parse_int("fail", optarg, 1, 65535, &o->fail);
    case 6: return parse_int("window", optarg, 1, 1000, &o->window);
    case 7: return parse_rate("mad-us", optarg, &o->mad_us);
    case 8: return parse_int("trials", optarg, 1, 100000, &o->trials);
    case 17: return parse_int("sick", optarg, 0, SUBNET_SICK_MAX, &o->sick);
    case 9: return parse_int("nodes", optarg, 2, 65535, &o->nodes);
    case 10: o->data = optarg; return true;
    case 11: o->before = optarg; return true;
    case 12: o->after = optarg; return true;
    case 13: return parse_rate("interval", optarg, &o->interval);
    case 14: return parse_rate("nominal", optarg, &o->nominal);
    case 15: o->apply = true; return true;
    case 16: o->confirm = true; return true;
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
        return false; /* getopt has said what is wrong */
    }
}

int subnet_parse(int argc, char **argv, subnet_options_t *o)
{
    int c;
    o->between = o->between > 0 ? o->between : 0.01;
    o->lanes = o->lanes ? o->lanes : 8;
    o->seed = o->seed ? o->seed : 1;
    while ((c = getopt_long(argc, argv, "t:e:j:o:vq", long_options, NULL)) != -1)
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
    return (dnet_route_options_t) {
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
