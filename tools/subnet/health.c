/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet health: sick links from two readings of the error counters and the link speeds, of a
 * fabric (outputs of ibqueryerrors) or of an emulated cluster's switches.  Says what it would
 * isolate; with --apply it runs `ibportstate GUID PORT disable` for each, or puts tables without
 * the link in force in the cluster.
 */
#include "tools/common/clusters.h"
#include "tools/subnet/subnet.h"

#include "common/log.h"
#include "subnet/base/progress.h"

#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

typedef struct {
    subnet_net_t net;
    const char *cluster, *before, *after, *links, *previous, *json;
    double interval, nominal;
    bool apply, confirm;
} options_t;

static const tool_option_t options[] = {
    SUBNET_NET_OPTIONS(options_t),
    TOOL_OPTION(options_t, cluster, "cluster", TOOL_TEXT, "NAME",
                "the links of this emulated cluster"),
    TOOL_OPTION(options_t, before, "before", TOOL_TEXT, "FILE",
                "of a fabric: output of ibqueryerrors"),
    TOOL_OPTION(options_t, after, "after", TOOL_TEXT, "FILE", "the same later, the network idle"),
    TOOL_OPTION(options_t, interval, "interval", TOOL_FRACTION, "SECONDS",
                "between two readings (10)", .low = 1e-3, .high = 1e6),
    TOOL_OPTION(options_t, nominal, "nominal", TOOL_FRACTION, "GBPS", "rate every link should have",
                .low = 1e-3, .high = 1e6),
    TOOL_OPTION(options_t, links, "links", TOOL_TEXT, "FILE",
                "what links run at and could: output of iblinkinfo -l"),
    TOOL_OPTION(options_t, previous, "previous", TOOL_TEXT, "SPEC",
                "earlier topology: its rates, and its links that are gone, count"),
    TOOL_OPTION(options_t, apply, "apply", TOOL_FLAG, NULL,
                "isolate what may be isolated (else nothing is changed)"),
    TOOL_OPTION(options_t, confirm, "confirm", TOOL_FLAG, NULL,
                "even more than a quarter of an edge switch's uplinks"),
    SUBNET_JSON_OPTION(options_t),
    {NULL},
};

static const char *const states[] = {"clean", "watch", "sick"};
static const char *const decisions[] = {
    "keep",
    "isolate",
    "keep: nothing else connects the two ends",
    "keep: a quarter of the uplinks is gone; --confirm to go on",
};

/* The switch-side port of a link, disabled through infiniband-diags. */
static dnet_status_t disable(const dnet_topo_t *t, int link)
{
    char guid[24], port[8];
    pid_t pid;
    int status = 0;
    snprintf(guid, sizeof(guid), "0x%" PRIx64, t->sw[t->link[link].sw[0]].guid);
    snprintf(port, sizeof(port), "%d", t->link[link].port[0]);
    char *const argv[] = {(char *) "ibportstate", (char *) "-G", guid, port,
                          (char *) "disable",     NULL};
    int rc = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
    if (rc) {
        dnet_error("health: cannot run ibportstate: %s (Debian: infiniband-diags)", strerror(rc));
        return DNET_ERR_SYSTEM;
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return DNET_OK;
    dnet_error("health: ibportstate -G %s %s disable failed; the link stays in service", guid,
               port);
    return DNET_ERR_SYSTEM;
}

/* What is looked at. */
typedef struct {
    const options_t *o;
    dnet_topo_t *t;
    dnet_counters_t *before, *after; /* [channel] */
    double seconds;                  /* between the two */
    dnet_network_t *network;         /* of a cluster, locked; NULL: a fabric */
    bool idle;                       /* no packet passed its links in between */
    dnet_link_health_t *list;        /* [n], those that are not clean */
    int n;
} look_t;

static dnet_status_t isolate(const look_t *k, int link)
{
    dnet_fdb_diff_t diff;
    if (!k->network)
        return disable(k->t, link);
    dnet_status_t st = dnet_network_isolate(k->network, link, &diff);
    if (!st)
        printf("  isolated: tables of sweep %u, %ld entries changed in %ld blocks\n",
               k->network->fabric->sweep, diff.entries, diff.blocks);
    return st;
}

static void report_link(const look_t *k, const dnet_link_health_t *h, dnet_json_t *j)
{
    const dnet_topo_t *t = k->t;
    const dnet_topo_link_t *l = &t->link[h->link];
    printf("%s: %s port %d - %s port %d:%s%s%s%s symbol errors %.2f/s, receive errors %.2f/s; %s\n",
           states[h->state], t->sw[l->sw[0]].name, l->port[0], t->sw[l->sw[1]].name, l->port[1],
           h->slow ? " slow," : "", h->perhaps_slow ? " slow perhaps (--links says)," : "",
           h->saturated ? " counter saturated," : "", h->downed ? " went down," : "",
           h->symbol_rate, h->rcv_rate, decisions[h->isolate]);
    dnet_json_object(j, NULL);
    dnet_json_string(j, "state", states[h->state]);
    dnet_json_string(j, "switch", t->sw[l->sw[0]].name);
    dnet_json_int(j, "port", l->port[0]);
    dnet_json_string(j, "peer", t->sw[l->sw[1]].name);
    dnet_json_int(j, "peer_port", l->port[1]);
    dnet_json_number(j, "gbps", l->gbps);
    dnet_json_number(j, "nominal_gbps", l->nominal_gbps);
    dnet_json_bool(j, "slow", h->slow);
    dnet_json_bool(j, "perhaps_slow", h->perhaps_slow);
    dnet_json_bool(j, "saturated", h->saturated);
    dnet_json_bool(j, "went_down", h->downed);
    dnet_json_number(j, "symbol_rate", h->symbol_rate);
    dnet_json_number(j, "receive_error_rate", h->rcv_rate);
    dnet_json_bool(j, "isolate", h->isolate == DNET_ISOLATE_YES);
    dnet_json_end_object(j);
}

static dnet_status_t report(const look_t *k)
{
    dnet_json_t j;
    dnet_status_t st = dnet_json_open(&j, k->o->json);
    if (st)
        return st;
    if (k->network)
        printf("cluster, %s: %.1f s, %s\n", k->t->name, k->seconds, k->idle ? "idle" : "not idle");
    dnet_json_number(&j, "seconds", k->seconds);
    dnet_json_array(&j, "links");
    for (int i = 0; i < k->n && !st; i++) {
        report_link(k, &k->list[i], &j);
        if (k->list[i].isolate == DNET_ISOLATE_YES && k->o->apply)
            st = isolate(k, k->list[i].link);
    }
    dnet_json_end_array(&j);
    printf("%d link%s not clean%s\n", k->n, k->n == 1 ? "" : "s",
           k->n && !k->o->apply ? "; nothing was changed (--apply isolates)" : "");
    return dnet_json_close(&j) && !st ? DNET_ERR_SYSTEM : st;
}

static dnet_status_t judge(look_t *k)
{
    dnet_status_t st = dnet_health_judge(k->t, k->before, k->after, k->seconds, k->o->nominal,
                                         k->o->confirm, &k->list, &k->n);
    if (!st)
        st = report(k);
    free(k->list);
    return st;
}

static dnet_status_t make_room(look_t *k)
{
    size_t channels = (size_t) dnet_topo_channels(k->t);
    k->before = dnet_subnet_alloc(channels, sizeof(*k->before));
    k->after = dnet_subnet_alloc(channels, sizeof(*k->after));
    return k->before && k->after ? DNET_OK : DNET_ERR_NO_MEMORY;
}

/* ---- a fabric, by files ---- */

/* What links should run at: by what both ends support, or as they did. */
static dnet_status_t read_nominal(look_t *k)
{
    dnet_topo_t *earlier = NULL;
    dnet_status_t st = DNET_OK;
    if (k->o->previous) {
        st = dnet_topo_make(k->o->previous, k->o->net.seed, &earlier);
        if (!st)
            dnet_health_expect(k->t, earlier);
        dnet_topo_free(earlier);
    }
    return st || !k->o->links ? st : dnet_health_read_links(k->t, k->o->links);
}

static dnet_status_t look_at_fabric(look_t *k)
{
    dnet_status_t st = subnet_load(&k->o->net, &k->t);
    if (!st)
        st = read_nominal(k);
    if (!st)
        st = make_room(k);
    if (!st)
        st = dnet_health_read(k->t, k->o->before, k->before);
    if (!st)
        st = dnet_health_read(k->t, k->o->after, k->after);
    k->seconds = k->o->interval;
    if (!st)
        st = judge(k);
    dnet_topo_free(k->t);
    return st;
}

/* ---- a cluster ---- */

/* The first reading, and a wait in which others may have the network.  @return exit status */
static int read_first(look_t *k, const dnet_cluster_t *cluster, uint64_t *packets_p)
{
    dnet_network_t network;
    struct timespec pause = {.tv_sec = (time_t) k->o->interval};
    pause.tv_nsec = (long) ((k->o->interval - (double) pause.tv_sec) * 1e9);
    int code = tool_network_take(cluster, false, &network);
    if (code)
        return code;
    k->t = network.fabric->topo;
    code = subnet_exit(make_room(k));
    if (!code) {
        *packets_p = dnet_network_counters(&network, k->before);
        k->seconds = -dnet_progress_seconds();
    }
    dnet_network_leave(&network);
    while (!code && nanosleep(&pause, &pause) != 0)
        ;
    return code;
}

static int look_at_cluster(look_t *k)
{
    dnet_cluster_t *cluster;
    dnet_network_t network;
    uint64_t packets = 0;
    int code = tool_cluster_open(k->o->cluster, &cluster);
    if (code)
        return code;
    code = read_first(k, cluster, &packets);
    if (!code)
        code = tool_network_take(cluster, k->o->apply, &network);
    if (!code) {
        k->idle = dnet_network_counters(&network, k->after) == packets;
        k->seconds += dnet_progress_seconds();
        k->t = network.fabric->topo;
        k->network = &network;
        code = subnet_exit(judge(k));
        dnet_network_leave(&network);
    }
    dnet_cluster_close(cluster);
    return code;
}

static int run(int argc, char **argv)
{
    options_t o = {SUBNET_NET_DEFAULTS, .interval = 10};
    look_t k = {.o = &o};
    if (!tool_parse(&subnet_health, &argc, &argv, &o))
        return TOOL_USAGE;
    o.net.quiet = true;
    if (o.cluster ? o.before || o.after || o.net.topology : !o.before || !o.after) {
        dnet_error(
            "health: needs --cluster NAME alone, or --before FILE and --after FILE, two outputs "
            "of ibqueryerrors");
        return TOOL_USAGE;
    }
    int code = o.cluster ? look_at_cluster(&k) : subnet_exit(look_at_fabric(&k));
    free(k.before);
    free(k.after);
    return code ? code : k.n ? TOOL_BAD : TOOL_GOOD;
}

const tool_command_t subnet_health = {
    .name = "health",
    .summary = "find sick links; isolate those that may go",
    .options = options,
    .run = run,
};
