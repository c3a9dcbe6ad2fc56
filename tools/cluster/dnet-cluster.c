/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster: persistent clusters of emulated NICs, for dsh and for drivers under development.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/cluster/cluster.h"
#include "tools/common/command.h"

static const char *const profile_names[] = {
    [DNET_PROFILE_PROTOTYPE] = "prototype",
    [DNET_PROFILE_EXTENDED] = "extended",
    [DNET_PROFILE_PROTOTYPE_FLOW] = "prototype-flow",
};

static int run_up(int argc, char **argv);
static int run_down(int argc, char **argv);
static int run_status(int argc, char **argv);

static const tool_option_t options[] = {
    {"nodes", "N", 'n', "NICs, 1 to 3071 (2)"},
    {"topology", "SPEC", 't',
     "a network between them, as for dnet-subnet; its servers are the nodes"},
    {"engine", "E", 'e', "routing engine of that network (turnadd)"},
    {"profile", "P", 'p', "prototype, extended or prototype-flow (prototype)"},
    {"pgid", "N", 'g', "process group of both WIDs of every node, 0 to 255 (1)"},
    {"cold", NULL, 'c',
     "leave the NICs as after power-on: no LID, no PGID, SO-DIMM not initialised"},
    {"owner", "PID", 'o', "end the cluster when this process ends"},
    {"json", NULL, 'j', "as JSON"},
    {"links", NULL, 'l', "what each link of the network has carried"},
    {"name", "NAME", 'N', "the cluster (" DNET_CLUSTER_NAME_DEFAULT ")"},
    {"force", NULL, 'f', "cut although that separates nodes from each other"},
    {"width", "1x|4x", 'W', "lanes in use (4x)"},
    {"speed", "S", 'S', "of a lane: SDR, DDR or QDR (QDR)"},
    {"symbol-errors", "N", 'y', "symbol errors a second that the port counts from now on"},
    {"receive-errors", "N", 'r', "receive errors a second, likewise"},
    {"heal", NULL, 'H', "full width and speed, no further errors; what is counted stays"},
    {NULL, NULL, 0, NULL},
};

static const tool_command_t commands[] = {
    {"up", "[NAME]", "nodes topology engine profile pgid cold owner",
     "make a cluster; NAME is \"" DNET_CLUSTER_NAME_DEFAULT "\" unless given", run_up},
    {"down", "[NAME]", "", "end a cluster", run_down},
    {"status", "[NAME]", "json links", "show a cluster, or all of this user", run_status},
    {"path", "NODE NODE", "name", "explain the way between two nodes", run_path},
    {"cut", "SWITCH[:PORT]", "name force", "take a switch or link out of service, route again",
     run_cut},
    {"restore", "SWITCH[:PORT]", "name", "put it back into service, route again", run_restore},
    {"degrade", "SWITCH:PORT", "name width speed symbol-errors receive-errors heal",
     "make a link sick; dnet-subnet health finds it", run_degrade},
    {NULL, NULL, NULL, NULL, NULL},
};

static const tool_t tool = {"dnet-cluster", "", commands, options, NULL, EXIT_USAGE};

/* ---- command line ---- */

static bool parse_number(const char *option, const char *text, unsigned long least,
                         unsigned long most, unsigned long *value_p)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 0);
    if (*text >= '0' && *text <= '9' && !*end && errno == 0 && value >= least && value <= most) {
        *value_p = value;
        return true;
    }
    fprintf(stderr, "dnet-cluster: --%s %s: want a number from %lu to %lu\n", option, text, least,
            most);
    return false;
}

static bool parse_profile(const char *text, dnet_profile_t *profile_p)
{
    for (unsigned i = 0; i < sizeof(profile_names) / sizeof(profile_names[0]); i++) {
        if (strcmp(text, profile_names[i]) == 0) {
            *profile_p = (dnet_profile_t) i;
            return true;
        }
    }
    fprintf(stderr, "dnet-cluster: --profile %s: want prototype, extended or prototype-flow\n",
            text);
    return false;
}

static bool parse_rate(const char *option, const char *text, double *rate_p)
{
    char *end;
    double rate = strtod(text, &end);
    if (*text >= '0' && *text <= '9' && !*end && rate <= 1e6) {
        *rate_p = rate;
        return true;
    }
    fprintf(stderr, "dnet-cluster: --%s %s: want a number from 0 to 1e6\n", option, text);
    return false;
}

static bool parse_fault(int c, options_t *o)
{
    dnet_switches_fault_t *f = &o->fault;
    o->fault_given = true;
    switch (c) {
        case 'W':
            f->lanes = strcmp(optarg, "1x") == 0 ? 1 : strcmp(optarg, "4x") == 0 ? 4 : 0;
            if (!f->lanes)
                fprintf(stderr, "dnet-cluster: --width %s: want 1x or 4x\n", optarg);
            return f->lanes != 0;
        case 'S':
            f->lane_mbps = dnet_switches_speed(optarg);
            if (!f->lane_mbps)
                fprintf(stderr, "dnet-cluster: --speed %s: want SDR, DDR or QDR\n", optarg);
            return f->lane_mbps != 0;
        case 'y':
            return parse_rate("symbol-errors", optarg, &f->symbol_rate);
        case 'r':
            return parse_rate("receive-errors", optarg, &f->receive_rate);
        case 'H':
            *f = (dnet_switches_fault_t){.lanes = DNET_SWITCHES_LANES,
                                         .lane_mbps = DNET_SWITCHES_LANE_MBPS};
            return true;
    }
    return false; /* a line has said why */
}

static bool parse_option(int c, options_t *o)
{
    unsigned long value = 0;
    bool good = true;
    switch (c) {
        case 'n':
            good = parse_number("nodes", optarg, 1, DNET_NODES_MAX, &value);
            o->config.nodes = (uint32_t) value;
            o->nodes_given = true;
            return good;
        case 'p':
            return parse_profile(optarg, &o->config.profile);
        case 'g':
            good = parse_number("pgid", optarg, 0, 255, &value);
            o->config.pgid = (uint8_t) value;
            return good;
        case 'o':
            good = parse_number("owner", optarg, 1, INT32_MAX, &value);
            o->config.owner = (int32_t) value;
            return good;
        case 'c':
            o->config.cold = true;
            return true;
        case 'j':
            o->json = true;
            return true;
        case 'l':
            o->links = true;
            return true;
        case 'f':
            o->force = true;
            return true;
        case 't':
            o->topology = optarg;
            return true;
        case 'e':
            o->engine = optarg;
            return true;
        case 'N':
            o->config.name = optarg;
            return true;
    }
    return parse_fault(c, o);
}

bool parse_options(int argc, char **argv, options_t *o)
{
    *o = (options_t){.config = {.nodes = 2, .pgid = 1, .fabric = -1, .switches = -1},
                     .fault = {.symbol_rate = -1, .receive_rate = -1}};
    for (int c; (c = command_option(&tool, argc, argv)) != -1;)
        if (!parse_option(c, o))
            return false;
    return true;
}

/* Options and at most one name behind them.  The name stays NULL when none is given. */
static bool parse(int argc, char **argv, options_t *o)
{
    if (!parse_options(argc, argv, o))
        return false;
    if (optind < argc)
        o->config.name = argv[optind++];
    if (optind == argc)
        return true;
    fprintf(stderr, "dnet-cluster %s: unexpected argument %s\n", argv[0], argv[optind]);
    return false;
}

dnet_status_t find(const char *name, dnet_cluster_t **cluster_p)
{
    dnet_status_t status = dnet_cluster_open(name, cluster_p);
    if (status == DNET_NOT_FOUND)
        fprintf(stderr,
                "dnet-cluster: no cluster %s of this user; make one with: dnet-cluster up %s\n",
                name, name);
    return status;
}

/* ---- up ---- */

/* The keeper keeps nothing of the shell it was started from. */
static void become_daemon(void *arg)
{
    int ready = *(int *) arg;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 3 && null >= 0; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
    ssize_t written = write(ready, "", 1);
    (void) written;
    close(ready);
}

static int keep(const dnet_cluster_config_t *config, int ready)
{
    setsid();
    prctl(PR_SET_NAME, "dnet-keeper");
    if (chdir("/") != 0)
        return EXIT_FAILED;
    return dnet_cluster_keep(config, become_daemon, &ready) == DNET_OK ? EXIT_GOOD : EXIT_FAILED;
}

/* Start the keeper and wait until it is ready, or has said why not. */
static int start_keeper(const dnet_cluster_config_t *config)
{
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) != 0) {
        fprintf(stderr, "dnet-cluster: cannot make a pipe: %m\n");
        return EXIT_FAILED;
    }
    pid_t keeper = fork();
    if (keeper == 0) {
        close(ready[0]);
        _exit(keep(config, ready[1]));
    }
    close(ready[1]);
    if (keeper < 0)
        fprintf(stderr, "dnet-cluster: cannot start a keeper: %m\n");
    bool good = keeper > 0 && read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (good)
        printf("cluster %s: %u nodes, profile %s, keeper %d\n", config->name, config->nodes,
               profile_names[config->profile], (int) keeper);
    return good ? EXIT_GOOD : EXIT_FAILED;
}

static int run_up(int argc, char **argv)
{
    options_t o;
    if (!parse(argc, argv, &o))
        return EXIT_USAGE;
    if (!o.config.name)
        o.config.name = DNET_CLUSTER_NAME_DEFAULT;
    if ((o.topology && o.nodes_given) || (o.engine && !o.topology)) {
        fprintf(stderr, "dnet-cluster up: %s\n",
                o.topology ? "--topology says how many nodes there are; leave --nodes out"
                           : "--engine needs --topology");
        return EXIT_USAGE;
    }
    return o.topology ? up_network(&o, start_keeper) : start_keeper(&o.config);
}

/* ---- down ---- */

static int run_down(int argc, char **argv)
{
    options_t o;
    dnet_cluster_t *cluster;
    if (!parse(argc, argv, &o))
        return EXIT_USAGE;
    if (find(o.config.name ? o.config.name : DNET_CLUSTER_NAME_DEFAULT, &cluster) != DNET_OK)
        return EXIT_FAILED;
    dnet_status_t status = dnet_cluster_stop(cluster);
    if (status == DNET_OK)
        printf("cluster %s is gone\n", cluster->name);
    dnet_cluster_close(cluster);
    return status == DNET_OK ? EXIT_GOOD : EXIT_FAILED;
}

/* ---- status ---- */

/* What a node shows: read-only, whoever uses it. */
typedef struct {
    dnet_emu_description_t is;
    uint64_t packets[DNET_PROCESSES_PER_NIC];
    uint64_t dropped;
} view_t;

static bool look(const dnet_emu_locator_t *at, view_t *v)
{
    dnet_emu_nic_t *nic;
    if (dnet_emu_watch(at, &nic) != DNET_OK)
        return false;
    dnet_emu_describe(nic, &v->is);
    bool good = true;
    for (unsigned w = 0; good && w < DNET_PROCESSES_PER_NIC; w++) {
        dnet_device_t *dev;
        good = dnet_emu_open(nic, w, false, &dev) == DNET_OK;
        if (good) {
            v->packets[w] = dnet_reg_load(dev, DNET_UREG_PACKET_COUNTER);
            dev->ops->close(dev);
        }
    }
    v->dropped = 0;
    for (unsigned e = 0; e < DNET_EMU_EVENT_COUNT; e++)
        v->dropped += e == DNET_EMU_STOPS ? 0 : dnet_emu_events(nic, (dnet_emu_event_t) e);
    dnet_emu_detach(nic);
    return good;
}

static void show_node(dnet_json_t *json, uint32_t node, const view_t *v)
{
    char process[DNET_PROCESSES_PER_NIC][16];
    if (json) {
        dnet_json_object(json, NULL);
        dnet_json_int(json, "node", node);
        dnet_json_int(json, "lid", v->is.lid);
        dnet_json_array(json, "wids");
        for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
            dnet_json_object(json, NULL);
            dnet_json_int(json, "process", v->is.process[w]);
            dnet_json_int(json, "packets", (long long) v->packets[w]);
            dnet_json_end_object(json);
        }
        dnet_json_end_array(json);
        dnet_json_int(json, "dropped", (long long) v->dropped);
        dnet_json_end_object(json);
        return;
    }
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        snprintf(process[w], sizeof(process[w]), v->is.process[w] ? "%d" : "-", v->is.process[w]);
    printf("  %4u  0x%04x  %8s  %8s  %12" PRIu64 "  %12" PRIu64 "  %8" PRIu64 "\n", node, v->is.lid,
           process[0], process[1], v->packets[0], v->packets[1], v->dropped);
}

/* [nic 2] An entry of the PID-LID/WID table: where a process of a group is. */
typedef struct {
    int32_t pid; /* place in its group */
    uint16_t lid;
    uint8_t wid, pgid;
    int32_t process;
} process_t;

static uint32_t note_processes(const dnet_emu_description_t *is, process_t *table)
{
    uint32_t n = 0;
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        if (is->member[w] >= 0)
            table[n++] =
                (process_t){is->member[w], is->lid, (uint8_t) w, is->pgid[w], is->process[w]};
    return n;
}

static int by_group(const void *a, const void *b)
{
    const process_t *x = a, *y = b;
    return x->pgid != y->pgid ? x->pgid - y->pgid : x->pid - y->pid;
}

static void show_processes(dnet_json_t *json, process_t *table, uint32_t n)
{
    if (n)
        qsort(table, n, sizeof(*table), by_group);
    if (json)
        dnet_json_array(json, "processes");
    else if (n)
        printf("  PGID   PID     LID  WID   process\n");
    for (uint32_t i = 0; i < n; i++) {
        const process_t *p = &table[i];
        if (!json) {
            printf("  %4u  %4d  0x%04x  %3u  %8d\n", p->pgid, p->pid, p->lid, p->wid, p->process);
            continue;
        }
        dnet_json_object(json, NULL);
        dnet_json_int(json, "pgid", p->pgid);
        dnet_json_int(json, "pid", p->pid);
        dnet_json_int(json, "lid", p->lid);
        dnet_json_int(json, "wid", p->wid);
        dnet_json_int(json, "process", p->process);
        dnet_json_end_object(json);
    }
    if (json)
        dnet_json_end_array(json);
}

typedef struct {
    dnet_json_t *json; /* NULL: a table */
    unsigned shown;
    bool links;
    bool failed;
} status_t;

static void show_heading(const dnet_cluster_t *c, dnet_json_t *json)
{
    char since[32];
    time_t t = (time_t) c->since;
    struct tm tm;
    strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%S%z", localtime_r(&t, &tm));
    if (json) {
        dnet_json_object(json, NULL);
        dnet_json_string(json, "name", c->name);
        dnet_json_string(json, "profile", profile_names[c->profile]);
        dnet_json_int(json, "keeper", c->keeper);
        dnet_json_string(json, "since", since);
        dnet_json_array(json, "nodes");
        return;
    }
    printf("cluster %s: %u nodes, profile %s, keeper %d, since %s\n", c->name, c->nodes,
           profile_names[c->profile], c->keeper, since);
    printf("  node     LID     WID 0     WID 1     packets 0     packets 1   dropped\n");
}

static void show_cluster(void *arg, const dnet_cluster_t *c)
{
    status_t *s = arg;
    process_t *table = calloc(c->nodes * DNET_PROCESSES_PER_NIC, sizeof(*table));
    uint32_t processes = 0;
    show_heading(c, s->json);
    for (uint32_t i = 0; i < c->nodes; i++) {
        view_t v;
        if (!table || !look(&c->node[i], &v)) {
            s->failed = true;
            continue;
        }
        show_node(s->json, i + 1, &v);
        processes += note_processes(&v.is, table + processes);
    }
    if (s->json)
        dnet_json_end_array(s->json);
    show_processes(s->json, table, processes);
    free(table);
    s->failed |= !show_cluster_network(s->json, c, s->links);
    if (s->json)
        dnet_json_end_object(s->json);
    s->shown++;
}

static int run_status(int argc, char **argv)
{
    dnet_json_t json;
    options_t o;
    dnet_cluster_t *cluster = NULL;
    if (!parse(argc, argv, &o))
        return EXIT_USAGE;
    if (o.config.name && find(o.config.name, &cluster) != DNET_OK)
        return EXIT_FAILED;
    status_t s = {.json = o.json ? &json : NULL, .links = o.links};
    if (s.json) {
        dnet_json_open(s.json, "-");
        dnet_json_array(s.json, "clusters");
    }
    if (cluster) {
        show_cluster(&s, cluster);
        dnet_cluster_close(cluster);
    } else {
        dnet_cluster_each(show_cluster, &s);
    }
    if (s.json) {
        dnet_json_end_array(s.json);
        s.failed |= dnet_json_close(s.json) != DNET_OK;
    } else if (!s.shown) {
        printf("no cluster\n");
    }
    return s.failed ? EXIT_FAILED : EXIT_GOOD;
}

int main(int argc, char **argv)
{
    dnet_log_init();
    dnet_log_identity("dnet-cluster");
    return command_run(&tool, argc, argv);
}
