/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-cluster status: nodes, processes and the network of clusters.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/cluster/cluster.h"

typedef struct {
    const char *name;
    bool json, links;
} options_t;

static const tool_option_t options[] = {
    TOOL_OPTION(options_t, name, "cluster", TOOL_TEXT, "NAME", "this cluster (all of this user)"),
    TOOL_OPTION(options_t, json, "json", TOOL_FLAG, NULL, "as JSON"),
    TOOL_OPTION(options_t, links, "links", TOOL_FLAG, NULL,
                "what each link of the network has carried"),
    {NULL},
};

/* ---- the network ---- */

static void show_end(dnet_json_t *json, const char *back, const dnet_switches_reading_t *r)
{
    static const char *const names[] = {"packets", "bytes", "symbol_errors", "receive_errors",
                                        "lost"};
    const uint64_t values[] = {r->packets, r->bytes, r->symbol, r->receive, r->lost};
    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char key[32];
        snprintf(key, sizeof(key), "%s%s", names[i], back);
        dnet_json_int(json, key, (long long) values[i]);
    }
}

static void show_link_json(dnet_json_t *json, const dnet_topo_t *t, int l, bool down,
                           const dnet_switches_reading_t r[2])
{
    dnet_json_object(json, NULL);
    for (int d = 0; d < 2; d++) {
        dnet_json_string(json, d ? "to" : "from", t->sw[t->link[l].sw[d]].name);
        dnet_json_int(json, d ? "to_port" : "from_port", t->link[l].port[d]);
        show_end(json, d ? "_back" : "", &r[d]);
    }
    dnet_json_int(json, "width", r[0].lanes);
    dnet_json_string(json, "speed", dnet_switches_speed_name(r[0].lane_mbps));
    dnet_json_int(json, "delay_us", r[0].delay_us);
    dnet_json_int(json, "limit_mb_s", r[0].limit_mb_s);
    dnet_json_number(json, "loss_percent", r[0].loss * 100);
    dnet_json_int(json, "downed", r[0].downed);
    dnet_json_bool(json, "cut", down);
    dnet_json_end_object(json);
}

/* Both directions of a link: first from the end that is named first. */
static void show_link(dnet_json_t *json, const dnet_network_t *n, int l)
{
    const dnet_topo_t *t = n->fabric->topo;
    const dnet_topo_link_t *link = &t->link[l];
    bool down = atomic_load_explicit(&n->switches.link[l], memory_order_relaxed) & DNET_LINK_CUT;
    const dnet_switches_reading_t r[2] = {dnet_switches_read(&n->switches, 2 * l),
                                          dnet_switches_read(&n->switches, 2 * l + 1)};
    if (json) {
        show_link_json(json, t, l, down, r);
        return;
    }
    printf("  %16s %4d  %16s %4d  %-4s %12" PRIu64 " %12" PRIu64 " %14" PRIu64 " %14" PRIu64 "\n",
           t->sw[link->sw[0]].name, link->port[0], t->sw[link->sw[1]].name, link->port[1],
           down ? "cut" : "", r[0].packets, r[1].packets, r[0].bytes, r[1].bytes);
    if (r[0].lanes != DNET_SWITCHES_LANES || r[0].lane_mbps != DNET_SWITCHES_LANE_MBPS ||
        r[0].symbol + r[1].symbol + r[0].receive + r[1].receive > 0)
        printf("      degraded: %" PRIu32 "x %s, symbol errors %" PRIu32 " and back %" PRIu32
               ", receive errors %" PRIu32 " and back %" PRIu32 "\n",
               r[0].lanes, dnet_switches_speed_name(r[0].lane_mbps), r[0].symbol, r[1].symbol,
               r[0].receive, r[1].receive);
    if (r[0].delay_us || r[0].limit_mb_s || r[0].loss > 0 || r[0].lost + r[1].lost > 0)
        printf("      slowed: delay %" PRIu32 " us, at most %" PRIu32
               " MB/s (0: no limit), loss %g %%; lost %" PRIu64 " and back %" PRIu64 "\n",
               r[0].delay_us, r[0].limit_mb_s, r[0].loss * 100, r[0].lost, r[1].lost);
}

static void show_links(dnet_json_t *json, const dnet_network_t *n)
{
    if (json)
        dnet_json_array(json, "link");
    else
        printf("             from port                to port           packets         back"
               "          bytes           back\n");
    for (int l = 0; l < n->fabric->topo->n_links; l++)
        show_link(json, n, l);
    if (json)
        dnet_json_end_array(json);
}

/* @return false: it is bad, or cannot be read */
static bool show_network(dnet_json_t *json, const dnet_cluster_t *c, bool with_links)
{
    dnet_network_t n;
    dnet_status_t status = dnet_network_take(c, false, &n);
    if (status != DNET_OK)
        return status == DNET_NOT_FOUND;
    if (json)
        dnet_json_object(json, "network");
    bool good = cluster_show_network(json, n.fabric);
    bool follows = dnet_switches_follow(&n.switches, n.fabric);
    if (json)
        dnet_json_bool(json, "half_changed", !follows);
    else if (!follows)
        printf(
            "  a command that changed it was killed: its links or tables are others until the next "
            "one changes something\n");
    if (with_links)
        show_links(json, &n);
    if (json)
        dnet_json_end_object(json);
    dnet_network_leave(&n);
    return good && follows;
}

/* ---- the nodes ---- */

/* What a node shows: mapped read-only, whether it is in use or not. */
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
        dnet_json_string(json, "profile", cluster_profiles[c->profile]);
        dnet_json_int(json, "keeper", c->keeper);
        dnet_json_string(json, "since", since);
        dnet_json_array(json, "nodes");
        return;
    }
    printf("cluster %s: %u nodes, profile %s, keeper %d, since %s\n", c->name, c->nodes,
           cluster_profiles[c->profile], c->keeper, since);
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
    s->failed |= !show_network(s->json, c, s->links);
    if (s->json)
        dnet_json_end_object(s->json);
    s->shown++;
}

static int run(int argc, char **argv)
{
    dnet_json_t json;
    options_t o = {0};
    dnet_cluster_t *cluster = NULL;
    if (!tool_parse(&cluster_status, &argc, &argv, &o) || !cluster_name(argc, argv, &o.name))
        return TOOL_USAGE;
    int code = o.name ? tool_cluster_open(o.name, &cluster) : TOOL_GOOD;
    if (code != TOOL_GOOD)
        return code;
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
        if (dnet_json_close(s.json) != DNET_OK)
            return TOOL_SYSTEM;
    } else if (!s.shown) {
        printf("no cluster\n");
    }
    return s.failed ? TOOL_BAD : TOOL_GOOD;
}

const tool_command_t cluster_status = {
    .name = "status",
    .args = "[NAME]",
    .args_most = 1,
    .summary = "show a cluster, or all of this user",
    .options = options,
    .run = run,
};
