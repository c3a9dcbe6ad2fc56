/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet show: what there is in a network: switches, servers and ports, widths and speeds, its
 * Subnet Manager, and what is not as it should be.  Of an emulated cluster, of the fabric this host
 * is on (by the tools of infiniband-diags, also under ibsim), or of a file.
 */
#include "tools/common/clusters.h"
#include "tools/subnet/subnet.h"

#include "subnet/judges/health.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct {
    subnet_net_t net;
    const char *cluster, *links, *json;
    bool fabric, brief;
} options_t;

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    TOOL_OPTION(options_t, cluster, "cluster", TOOL_TEXT, "NAME", "of this emulated cluster"),
    TOOL_OPTION(options_t, fabric, "fabric", TOOL_FLAG, NULL,
                "of the fabric: runs ibnetdiscover, iblinkinfo and sminfo"),
    TOOL_OPTION(options_t, links, "links", TOOL_TEXT, "FILE",
                "of a file: what links run at and could, output of iblinkinfo -l"),
    TOOL_OPTION(options_t, brief, "brief", TOOL_FLAG, NULL, "the counts and the warnings only",
                .letter = 'b'),
    SUBNET_JSON_OPTION(options_t),
    {NULL},
};

/* What is shown. */
typedef struct {
    const options_t *o;
    dnet_topo_t *t;
    char manager[160];         /* its Subnet Manager; "": not known */
    dnet_counters_t *counters; /* [channel] of a cluster; NULL: not known */
    dnet_json_t j;
    char **warning;
    int warnings;
    dnet_status_t failed; /* no memory for a warning */
} show_t;

__attribute__((format(printf, 2, 3))) static void warn(show_t *k, const char *fmt, ...)
{
    va_list args;
    char *text = NULL, **grown;
    va_start(args, fmt);
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    grown = n < 0 ? NULL : realloc(k->warning, ((size_t) k->warnings + 1) * sizeof(*grown));
    if (!grown) {
        if (n >= 0)
            free(text);
        k->failed = DNET_ERR_NO_MEMORY;
        return;
    }
    k->warning = grown;
    grown[k->warnings++] = text;
}

/* ---- what is not as it should be ---- */

static bool link_is_cut(const dnet_topo_t *t, int l)
{
    const dnet_topo_link_t *link = &t->link[l];
    return link->down || t->sw[link->sw[0]].down || t->sw[link->sw[1]].down;
}

static void warn_of_rate(show_t *k, const char *sw, int port, const char *peer,
                         dnet_topo_rate_t rate, dnet_topo_rate_t nominal)
{
    if (rate.lanes && nominal.lanes && dnet_topo_gbps(rate) < dnet_topo_gbps(nominal))
        warn(k, "%s port %d to %s: runs at %dx %s, could at %dx %s", sw, port, peer, rate.lanes,
             dnet_topo_speed(rate.lane_gbps), nominal.lanes, dnet_topo_speed(nominal.lane_gbps));
}

static void warn_of_links(show_t *k)
{
    const dnet_topo_t *t = k->t;
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        const dnet_topo_link_t *link = &t->link[c >> 1];
        const char *sw = t->sw[dnet_topo_tail(t, c)].name, *peer = t->sw[dnet_topo_head(t, c)].name;
        int port = dnet_topo_out_port(t, c);
        const dnet_counters_t *n = k->counters ? &k->counters[c] : NULL;
        if (n && n->symbol + n->rcv + n->downed > 0)
            warn(k,
                 "%s port %d to %s: %" PRIu32 " symbol errors, %" PRIu32
                 " receive errors, went down %" PRIu32 " times",
                 sw, port, peer, n->symbol, n->rcv, n->downed);
        if (c & 1)
            continue;
        if (link_is_cut(t, c >> 1))
            warn(k, "%s port %d to %s: out of service", sw, port, peer);
        else
            warn_of_rate(k, sw, port, peer, link->rate, link->nominal);
    }
    for (int h = 0; h < t->n_hosts; h++) {
        const dnet_topo_host_t *host = &t->host[h];
        if (host->down)
            warn(k, "%s port %d to %s: out of service, the server is cut off", t->sw[host->sw].name,
                 host->port, host->name);
        else
            warn_of_rate(k, t->sw[host->sw].name, host->port, host->name, host->rate,
                         host->nominal);
    }
}

static int by_lid(const void *a, const void *b)
{
    return *(const int *) a - *(const int *) b;
}

/* A LID that two have, or that some lack where others have one. */
static void warn_of_lids(show_t *k)
{
    const dnet_topo_t *t = k->t;
    int n = 0, lacking = 0, *lid = dnet_subnet_alloc((size_t) dnet_topo_dests(t), sizeof(*lid));
    for (int d = 0; lid && d < dnet_topo_dests(t); d++) {
        if (dnet_lid_of(t, d))
            lid[n++] = dnet_lid_of(t, d);
        else
            lacking += d < t->n_hosts;
    }
    if (!lid)
        k->failed = DNET_ERR_NO_MEMORY;
    if (n)
        qsort(lid, (size_t) n, sizeof(*lid), by_lid);
    for (int i = 1; i < n; i++)
        if (lid[i] == lid[i - 1] && (i < 2 || lid[i - 2] != lid[i]))
            warn(k, "LID %d is given to more than one port", lid[i]);
    if (n && lacking)
        warn(k, "%d of %d servers have no LID: no subnet manager has reached them", lacking,
             t->n_hosts);
    free(lid);
}

static void judge(show_t *k)
{
    warn_of_links(k);
    warn_of_lids(k);
    if (!dnet_topo_connected(k->t))
        warn(k, "the network is in pieces: not all switches with servers reach each other");
}

/* ---- what there is ---- */

typedef struct {
    const char *state, *peer;
    int peer_port;
    unsigned peer_lid;
    dnet_topo_rate_t rate;
} port_t;

/* @return false: nothing is plugged in */
static bool port_of(const dnet_topo_t *t, int s, int port, port_t *p)
{
    int at;
    switch (dnet_topo_wired(t, s, port, &at)) {
        case DNET_PORT_CHANNEL:
            *p = (port_t){.state = link_is_cut(t, at >> 1) ? "cut" : "up",
                          .peer = t->sw[dnet_topo_head(t, at)].name,
                          .peer_port = dnet_topo_out_port(t, at ^ 1),
                          .peer_lid = t->sw[dnet_topo_head(t, at)].lid,
                          .rate = t->link[at >> 1].rate};
            return true;
        case DNET_PORT_HOST:
            *p = (port_t){.state = t->host[at].down || t->sw[s].down ? "cut" : "up",
                          .peer = t->host[at].name,
                          .peer_port = t->host[at].hca_port,
                          .peer_lid = t->host[at].lid,
                          .rate = t->host[at].rate};
            return true;
        case DNET_PORT_FREE:
            break;
    }
    return false;
}

static const char *number_or_dash(unsigned n, char text[12])
{
    snprintf(text, 12, n ? "%u" : "-", n);
    return text;
}

static void show_port(show_t *k, int port, const port_t *p)
{
    char width[16], lid[12];
    snprintf(width, sizeof(width), p->rate.lanes ? "%dx" : "-", p->rate.lanes);
    if (!k->o->brief)
        printf("  %4d  %-5s %5s  %-5s  %-24s %4d  %5s\n", port, p->state, width,
               p->rate.lanes ? dnet_topo_speed(p->rate.lane_gbps) : "-", p->peer, p->peer_port,
               number_or_dash(p->peer_lid, lid));
    dnet_json_object(&k->j, NULL);
    dnet_json_int(&k->j, "port", port);
    dnet_json_string(&k->j, "state", p->state);
    if (p->rate.lanes) {
        dnet_json_int(&k->j, "width", p->rate.lanes);
        dnet_json_string(&k->j, "speed", dnet_topo_speed(p->rate.lane_gbps));
    }
    dnet_json_string(&k->j, "peer", p->peer);
    dnet_json_int(&k->j, "peer_port", p->peer_port);
    if (p->peer_lid)
        dnet_json_int(&k->j, "peer_lid", p->peer_lid);
    dnet_json_end_object(&k->j);
}

static void show_switch(show_t *k, int s)
{
    const dnet_topo_switch_t *sw = &k->t->sw[s];
    char lid[12];
    port_t p;
    int plugged = 0;
    for (int port = 1; port <= sw->ports; port++)
        plugged += port_of(k->t, s, port, &p);
    if (!k->o->brief)
        printf("switch %s  LID %s  GUID 0x%" PRIx64 "  %d ports, %d free%s\n", sw->name,
               number_or_dash(sw->lid, lid), sw->guid, sw->ports, sw->ports - plugged,
               sw->down ? ", out of service" : "");
    dnet_json_object(&k->j, NULL);
    dnet_json_string(&k->j, "name", sw->name);
    dnet_json_int(&k->j, "lid", sw->lid);
    dnet_json_bool(&k->j, "cut", sw->down);
    dnet_json_int(&k->j, "ports_there", sw->ports);
    dnet_json_array(&k->j, "ports");
    for (int port = 1; port <= sw->ports; port++)
        if (port_of(k->t, s, port, &p))
            show_port(k, port, &p);
    dnet_json_end_array(&k->j);
    dnet_json_end_object(&k->j);
}

static void show_servers(show_t *k)
{
    const dnet_topo_t *t = k->t;
    char lid[12];
    dnet_json_array(&k->j, "servers");
    for (int h = 0; h < t->n_hosts; h++) {
        const dnet_topo_host_t *host = &t->host[h];
        bool cut = host->down || t->sw[host->sw].down;
        if (!k->o->brief)
            printf("server %s  LID %s  GUID 0x%" PRIx64 "  at %s port %d%s\n", host->name,
                   number_or_dash(host->lid, lid), host->guid, t->sw[host->sw].name, host->port,
                   cut ? ", cut off" : "");
        dnet_json_object(&k->j, NULL);
        dnet_json_string(&k->j, "name", host->name);
        dnet_json_int(&k->j, "lid", host->lid);
        dnet_json_string(&k->j, "switch", t->sw[host->sw].name);
        dnet_json_int(&k->j, "port", host->port);
        dnet_json_bool(&k->j, "cut_off", cut);
        dnet_json_end_object(&k->j);
    }
    dnet_json_end_array(&k->j);
}

static dnet_status_t show(show_t *k)
{
    const dnet_topo_t *t = k->t;
    dnet_status_t st = dnet_json_open(&k->j, k->o->json);
    if (st)
        return st;
    printf("%s: %d switches, %d servers, %d links between switches\n", t->name, t->n_switches,
           t->n_hosts, t->n_links);
    dnet_json_string(&k->j, "topology", t->name);
    if (*k->manager) {
        printf("subnet manager: %s\n", k->manager);
        dnet_json_string(&k->j, "subnet_manager", k->manager);
    }
    if (!k->o->brief)
        printf("  port  state width  speed  to                       port    LID\n");
    dnet_json_array(&k->j, "switches");
    for (int s = 0; s < t->n_switches; s++)
        show_switch(k, s);
    dnet_json_end_array(&k->j);
    show_servers(k);
    judge(k);
    printf("%d warning%s\n", k->warnings, k->warnings == 1 ? "" : "s");
    dnet_json_array(&k->j, "warnings");
    for (int i = 0; i < k->warnings; i++) {
        printf("  %s\n", k->warning[i]);
        dnet_json_string(&k->j, NULL, k->warning[i]);
    }
    dnet_json_end_array(&k->j);
    st = dnet_json_close(&k->j) ? DNET_ERR_SYSTEM : k->failed;
    return st;
}

/* ---- where it comes from ---- */

/* Run a command of infiniband-diags; its output is in `path` then, a file of this process.
 * @return its descriptor, -1: a line has said why */
static int run_tool(const char *const *argv, char path[32])
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = 0, fd = memfd_create("dnet-subnet-show", MFD_CLOEXEC);
    if (fd < 0) {
        tool_error("cannot make a file for the output of %s: %m", argv[0]);
        return -1;
    }
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    int rc = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *) argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    while (!rc && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc)
        tool_error("cannot run %s: %s (Debian: infiniband-diags)", argv[0], strerror(rc));
    else if (status)
        tool_error("%s failed: see the line before this one", argv[0]);
    if (rc || status) {
        close(fd);
        return -1;
    }
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

static void read_manager(show_t *k, const char *path)
{
    FILE *in = fopen(path, "re");
    char line[256] = "", state[32];
    uint64_t guid;
    unsigned lid, activity, priority;
    bool good = in && fgets(line, sizeof(line), in) &&
                sscanf(line,
                       "sminfo: sm lid %u sm guid %" SCNx64
                       ", activity count %u priority %u state %*d %31s",
                       &lid, &guid, &activity, &priority, state) == 5;
    if (good)
        snprintf(k->manager, sizeof(k->manager),
                 "LID %u, GUID 0x%" PRIx64 ", priority %u, activity %u, %s", lid, guid, priority,
                 activity, state);
    if (good && strcmp(state, "SMINFO_MASTER") != 0)
        warn(k, "the subnet manager is not master: %s", state);
    if (in)
        fclose(in);
}

static int show_fabric(show_t *k)
{
    char file[32], spec[48];
    subnet_net_t net = k->o->net;
    const char *const discover[] = {"ibnetdiscover", NULL},
                      *const info[] = {"iblinkinfo", "-l", NULL}, *const sm[] = {"sminfo", NULL};
    int fd = run_tool(discover, file);
    if (fd < 0)
        return TOOL_SYSTEM;
    snprintf(spec, sizeof(spec), "file:%s", file);
    net.topology = spec;
    dnet_status_t st = subnet_load(&net, &k->t);
    close(fd);
    fd = st ? -1 : run_tool(info, file);
    if (!st && fd < 0)
        return TOOL_SYSTEM;
    if (!st)
        st = dnet_health_read_links(k->t, file);
    if (fd >= 0)
        close(fd);
    fd = st ? -1 : run_tool(sm, file);
    if (fd >= 0) {
        read_manager(k, file);
        close(fd);
    } else if (!st) {
        warn(k, "no subnet manager answers: LIDs and routes are those of an earlier one, or none");
    }
    return subnet_exit(st ? st : show(k));
}

static int show_cluster(show_t *k)
{
    dnet_network_t network;
    int code = tool_network_open(k->o->cluster, false, &network);
    if (code)
        return code;
    const dnet_fabric_t *f = network.fabric;
    k->t = f->topo;
    k->counters = dnet_subnet_alloc((size_t) dnet_topo_channels(k->t), sizeof(*k->counters));
    if (k->counters) {
        dnet_network_counters(&network, k->counters);
        snprintf(k->manager, sizeof(k->manager), "dnet-cluster, sweep %u of engine %s, tables %s",
                 f->sweep, f->engine, dnet_verdict_good(&f->verdict) ? "good" : "BAD");
        if (!dnet_verdict_good(&f->verdict))
            warn(k, "tables: %ld ways are missing; dnet-cluster status says more",
                 f->verdict.data.missing);
        code = subnet_exit(show(k));
    } else {
        code = TOOL_SYSTEM;
    }
    dnet_network_leave(&network);
    k->t = NULL;
    return code;
}

static int show_file(show_t *k)
{
    dnet_status_t st = subnet_load(&k->o->net, &k->t);
    if (!st && k->o->links)
        st = dnet_health_read_links(k->t, k->o->links);
    return subnet_exit(st ? st : show(k));
}

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS};
    show_t k = {.o = &o};
    if (!tool_parse(&subnet_show, &argc, &argv, &o))
        return TOOL_USAGE;
    o.net.quiet = true;
    if ((o.cluster != NULL) + o.fabric + (o.net.topology != NULL) != 1 ||
        (o.links && !o.net.topology)) {
        tool_error("want one of --cluster NAME, --fabric and --topology SPEC; --links goes with "
                   "the last");
        return TOOL_USAGE;
    }
    int code = o.cluster ? show_cluster(&k) : o.fabric ? show_fabric(&k) : show_file(&k);
    if (code == TOOL_GOOD && k.warnings)
        code = TOOL_BAD;
    for (int i = 0; i < k.warnings; i++)
        free(k.warning[i]);
    free(k.warning);
    free(k.counters);
    dnet_topo_free(k.t);
    return code;
}

const tool_command_t subnet_show = {
    .name = "show",
    .summary = "nodes, ports, widths, speeds, subnet manager, warnings",
    .options = options,
    .run = run,
};
