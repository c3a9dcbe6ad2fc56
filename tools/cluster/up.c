/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster up: starts the keeper of a cluster, with a network between its nodes if asked for.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/cluster/cluster.h"

typedef struct {
    dnet_cluster_config_t config;
    const char *name, *topology, *engine;
    int nodes, profile, pgid, owner; /* nodes: 0 when not given */
} options_t;

static const tool_option_t options[] = {
    TOOL_CLUSTER_OPTION(options_t, name),
    TOOL_OPTION(options_t, nodes, "nodes", TOOL_INT, "N", "NICs, 1 to 3071 (2)", .least = 1,
                .most = DNET_NODES_MAX),
    TOOL_OPTION(options_t, topology, "topology", TOOL_TEXT, "SPEC",
                "a network between them, as for dnet-subnet; its servers are the nodes"),
    TOOL_OPTION(options_t, engine, "engine", TOOL_TEXT, "E",
                "routing engine of that network (turnadd)"),
    TOOL_OPTION(options_t, profile, "profile", TOOL_WORD, "P",
                "prototype, extended or prototype-flow (prototype)", .words = cluster_profiles),
    TOOL_OPTION(options_t, pgid, "pgid", TOOL_INT, "N",
                "process group of both WIDs of every node, 0 to 255 (1)", .most = 255),
    TOOL_OPTION(options_t, config.cold, "cold", TOOL_FLAG, NULL,
                "leave the NICs as after power-on: no LID, no PGID, SO-DIMM not initialised"),
    TOOL_OPTION(options_t, owner, "owner", TOOL_INT, "PID",
                "end the cluster when this process ends", .least = 1, .most = INT32_MAX),
    {NULL},
};

/* ---- the keeper ---- */

/* No descriptor of the shell but the three that become_daemon() turns away: whoever waits for the
 * end of a pipe, or for a lock, would wait for the end of the cluster. */
static void drop_descriptors(const dnet_cluster_config_t *config, int ready)
{
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *e; folder && (e = readdir(folder));) {
        int fd = atoi(e->d_name);
        if (fd > 2 && fd != dirfd(folder) && fd != ready && fd != config->fabric &&
            fd != config->switches)
            close(fd);
    }
    if (folder)
        closedir(folder);
}

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
    drop_descriptors(config, ready);
    prctl(PR_SET_NAME, "dnet-keeper");
    if (chdir("/") != 0)
        return TOOL_SYSTEM;
    return tool_exit(dnet_cluster_keep(config, become_daemon, &ready));
}

/* Start the keeper and wait until it is ready, or has said why not. */
static int start_keeper(const dnet_cluster_config_t *config)
{
    int ready[2];
    char byte;
    if (pipe2(ready, O_CLOEXEC) != 0) {
        tool_error("cannot make a pipe: %m");
        return TOOL_SYSTEM;
    }
    pid_t keeper = fork();
    if (keeper == 0) {
        close(ready[0]);
        _exit(keep(config, ready[1]));
    }
    close(ready[1]);
    if (keeper < 0)
        tool_error("cannot start a keeper: %m");
    bool good = keeper > 0 && read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (good)
        printf("cluster %s: %u nodes, profile %s, keeper %d\n", config->name, config->nodes,
               cluster_profiles[config->profile], (int) keeper);
    if (good)
        return TOOL_GOOD;
    int ended = 0;
    bool told = keeper > 0 && waitpid(keeper, &ended, 0) == keeper && WIFEXITED(ended);
    return told ? WEXITSTATUS(ended) : TOOL_SYSTEM;
}

/* ---- the network ---- */

/* Made, written and read again: numbers of switches and nodes are those that every later reader
 * sees. */
static dnet_status_t make_network(const options_t *o, dnet_fabric_t **fabric_p)
{
    dnet_fabric_t *made;
    dnet_status_t status = dnet_fabric_make(o->topology, o->engine ? o->engine : "turnadd", &made);
    if (status != DNET_OK)
        return status;
    status = o->config.fabric < 0 ? DNET_ERR_SYSTEM : dnet_fabric_store(made, o->config.fabric);
    dnet_fabric_free(made);
    return status == DNET_OK ? dnet_fabric_load(o->config.fabric, fabric_p) : status;
}

static int start_nodes(options_t *o, const dnet_fabric_t *f)
{
    uint16_t *lid = calloc((size_t) f->topo->n_hosts, sizeof(*lid));
    for (int h = 0; lid && h < f->topo->n_hosts; h++)
        lid[h] = f->topo->host[h].lid;
    o->config.nodes = (uint32_t) f->topo->n_hosts;
    o->config.lid = lid;
    o->config.switches = lid ? dnet_switches_make(f) : -1;
    int code = o->config.switches < 0 ? TOOL_SYSTEM : start_keeper(&o->config);
    if (code == TOOL_GOOD)
        cluster_show_network(NULL, f);
    if (o->config.switches >= 0)
        close(o->config.switches);
    free(lid);
    return code;
}

/* A cluster whose nodes are the servers of the network. */
static int start_network(options_t *o)
{
    dnet_fabric_t *f;
    o->config.fabric = dnet_fabric_file();
    int code = tool_exit(make_network(o, &f));
    if (code == TOOL_GOOD) {
        code = start_nodes(o, f);
        dnet_fabric_free(f);
    }
    if (o->config.fabric >= 0)
        close(o->config.fabric);
    return code;
}

static int run(int argc, char **argv)
{
    options_t o = {.config = {.fabric = -1, .switches = -1}, .pgid = 1};
    if (!tool_parse(&cluster_up, &argc, &argv, &o) || !cluster_name(argc, argv, &o.name))
        return TOOL_USAGE;
    if ((o.topology && o.nodes) || (o.engine && !o.topology)) {
        tool_error("%s", o.topology ? "--topology says how many nodes there are; leave --nodes out"
                                    : "--engine needs --topology");
        return TOOL_USAGE;
    }
    o.config.name = o.name ? o.name : DNET_CLUSTER_NAME_DEFAULT;
    o.config.nodes = o.nodes ? (uint32_t) o.nodes : 2;
    o.config.profile = (dnet_profile_t) o.profile;
    o.config.pgid = (uint8_t) o.pgid;
    o.config.owner = o.owner;
    return o.topology ? start_network(&o) : start_keeper(&o.config);
}

const tool_command_t cluster_up = {
    .name = "up",
    .args = "[NAME]",
    .args_most = 1,
    .summary = "make a cluster; NAME is \"" DNET_CLUSTER_NAME_DEFAULT "\" unless given",
    .options = options,
    .run = run,
};
