/* SPDX-License-Identifier: BSD-3-Clause
 *
 * OpenSM routing plug-in: registers turnadd and turnprohib as external routing engines, so that an
 * unmodified OpenSM (3.3.23 or later, osm_register_external_routing_engine) routes with them:
 *
 *   event_plugin_name dimmnet_osm          in opensm.conf
 *   opensm -F opensm.conf -R turnadd,no_fallback
 *
 * OpenSM keeps its own hop matrices; the plug-in fills each switch's new_lft.  A fabric that cannot
 * be routed completely is refused, so that OpenSM says so and, with no_fallback, keeps the tables
 * it has.  Multicast groups get their ports from the plug-in, too: trees by hops, which OpenSM
 * would make, close cycles with the tables.
 */
#include "subnet/engines/engines.h"
#include "subnet/addresses/lid.h"
#include "subnet/base/progress.h"
#include "subnet/judges/transition.h"
#include "subnet/routing/partitions.h"
#include "subnet/routing/routing.h"
#include "subnet/judges/verify.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

#include <opensm/osm_event_plugin.h>
#include <opensm/osm_mcast_tbl.h>
#include <opensm/osm_multicast.h>
#include <opensm/osm_opensm.h>
#include <opensm/osm_partition.h>
#include <opensm/osm_version.h>

/* What one engine's callbacks get. */
typedef struct engine_context {
    osm_opensm_t *osm;
    const dnet_engine_t *engine;
    int drains; /* sweeps in a row that wrote a stage only */
    /* The fabric of the last tables loaded, and the tree of all groups (multicast.h), which get no
     * ports without it; NULL: none */
    dnet_topo_t *topo;
    int *tree;
} engine_context_t;

#define DRAINS_MAX 4 /* each leaves less to change; more are a fabric that changes all the time */

typedef struct plugin {
    engine_context_t engine[2];
} plugin_t;

/* The fabric as OpenSM sees it at this sweep. */
typedef struct fabric {
    dnet_topo_t *topo;
    osm_switch_t **sw; /* [switch] */
} fabric_t;

static osm_switch_t *first_switch(osm_subn_t *subn)
{
    return (osm_switch_t *) cl_qmap_head(&subn->sw_guid_tbl);
}

static bool is_end(osm_subn_t *subn, osm_switch_t *sw)
{
    return sw == (osm_switch_t *) cl_qmap_end(&subn->sw_guid_tbl);
}

static osm_switch_t *next_switch(osm_switch_t *sw)
{
    return (osm_switch_t *) cl_qmap_next(&sw->map_item);
}

static uint64_t switch_guid(osm_switch_t *sw)
{
    return cl_ntoh64(osm_node_get_node_guid(sw->p_node));
}

static int number_of(const fabric_t *f, osm_switch_t *sw)
{
    for (int s = 0; s < f->topo->n_switches; s++)
        if (f->sw[s] == sw)
            return s;
    return DNET_TOPO_NONE;
}

/* What a port's link runs at; its fields are bits, one of which is set. */
static dnet_topo_rate_t rate_of(const osm_physp_t *port)
{
    static const double speeds[] = {0, 2.5, 5, 0, 10},
                        extended[] = {0, 14.0625, 25.78125, 0, 53.125, 0, 0, 0, 106.25};
    static const int widths[] = {[1] = 1, [2] = 4, [4] = 8, [8] = 12, [16] = 2};
    const ib_port_info_t *info = &port->port_info;
    unsigned speed = ib_port_info_get_link_speed_active(info);
    unsigned more = ib_port_info_get_link_speed_ext_active(info), width = info->link_width_active;
    dnet_topo_rate_t rate = {0, 0};
    if (width < sizeof(widths) / sizeof(widths[0]))
        rate.lanes = widths[width];
    if (more > 0 && more < sizeof(extended) / sizeof(extended[0]))
        rate.lane_gbps = extended[more];
    else if (speed < sizeof(speeds) / sizeof(speeds[0]))
        rate.lane_gbps = speeds[speed];
    return rate;
}

static void add_port(fabric_t *f, int s, uint8_t port)
{
    uint8_t far_port;
    osm_node_t *far = osm_node_get_remote_node(f->sw[s]->p_node, port, &far_port);
    osm_physp_t *near = osm_node_get_physp_ptr(f->sw[s]->p_node, port);
    if (!far || !near || osm_physp_get_port_state(near) < IB_LINK_INIT)
        return;
    if (far->sw) {
        int v = number_of(f, far->sw);
        int l = v == DNET_TOPO_NONE || v <= s
                    ? DNET_TOPO_NONE /* not swept yet, a loopback cable, or the other end did it */
                    : dnet_topo_add_link(f->topo, s, port, v, far_port);
        if (l != DNET_TOPO_NONE)
            dnet_topo_set_rate(&f->topo->link[l], rate_of(near), (dnet_topo_rate_t){0, 0});
        return;
    }
    int h = dnet_topo_add_host(f->topo, far->print_desc, s, port);
    if (h == DNET_TOPO_NONE)
        return;
    f->topo->host[h].rate = rate_of(near);
    osm_physp_t *there = osm_node_get_physp_ptr(far, far_port);
    if (there) {
        f->topo->host[h].guid = cl_ntoh64(osm_physp_get_port_guid(there));
        f->topo->host[h].lid = cl_ntoh16(osm_physp_get_base_lid(there));
        f->topo->host[h].lmc = osm_physp_get_lmc(there);
    }
}

static dnet_status_t read_fabric(osm_subn_t *subn, fabric_t *f)
{
    int n = (int) cl_qmap_count(&subn->sw_guid_tbl);
    f->topo = dnet_topo_new("OpenSM's fabric");
    f->sw = dnet_subnet_alloc((size_t) n, sizeof(*f->sw));
    if (!f->topo || !f->sw)
        return DNET_ERR_NO_MEMORY;
    for (osm_switch_t *sw = first_switch(subn); !is_end(subn, sw); sw = next_switch(sw)) {
        int s = dnet_topo_add_switch(f->topo, sw->p_node->print_desc, sw->num_ports - 1);
        if (s == DNET_TOPO_NONE)
            return DNET_ERR_NO_MEMORY;
        f->sw[s] = sw;
        f->topo->sw[s].guid = switch_guid(sw);
        f->topo->sw[s].lid = cl_ntoh16(osm_node_get_base_lid(sw->p_node, 0));
        f->topo->sw[s].lmc = osm_physp_get_lmc(osm_node_get_physp_ptr(sw->p_node, 0));
    }
    for (int s = 0; s < n; s++)
        for (int port = 1; port <= f->topo->sw[s].ports; port++)
            add_port(f, s, (uint8_t) port);
    return dnet_topo_finish(f->topo);
}

static void write_lfts(const fabric_t *f, const dnet_tables_t *tables)
{
    const dnet_topo_t *t = f->topo;
    for (int s = 0; s < t->n_switches; s++) {
        osm_switch_t *sw = f->sw[s];
        const uint16_t *row = dnet_tables_row(tables, s);
        memset(sw->new_lft, OSM_NO_PATH, sw->lft_size);
        for (int x = 0; x < dnet_tables_columns(tables); x++) {
            uint16_t lid = dnet_lid_of_column(tables, x);
            if (lid && lid <= sw->max_lid_ho && row[x] != DNET_TABLE_NONE)
                sw->new_lft[lid] = (uint8_t) row[x];
        }
    }
}

/* What the switches hold since the last sweep; *out NULL: OpenSM has not written any yet. */
static dnet_status_t read_lfts(const fabric_t *f, dnet_tables_t **out)
{
    const dnet_topo_t *t = f->topo;
    long entries = 0;
    *out = NULL;
    dnet_status_t st = dnet_tables_new(t, out);
    for (int s = 0; s < t->n_switches && !st; s++)
        for (int x = 0; x < dnet_tables_columns(*out); x++) {
            const osm_switch_t *sw = f->sw[s];
            uint16_t lid = dnet_lid_of_column(*out, x);
            if (!lid || !sw->lft || lid >= sw->lft_size || sw->lft[lid] == OSM_NO_PATH)
                continue;
            dnet_tables_row(*out, s)[x] = sw->lft[lid];
            entries++;
        }
    if (!st && entries == 0) {
        dnet_tables_free(*out);
        *out = NULL;
    }
    return st;
}

/* The change that OpenSM is about to make, in its own order of blocks.  Where that could deadlock
 * the first stage is written now, and the sweep that it asks for writes the rest.  Where groups
 * cannot be in force beside the old tables, those that are go in a sweep of their own before, and
 * the new ones wait for the next.
 *
 * @param wait_p  set: groups get no ports now
 */
static dnet_status_t write_change(const fabric_t *f, engine_context_t *c, const dnet_tables_t *old,
                                  const dnet_tables_t *new, const dnet_mcast_t *m, double began,
                                  bool *wait_p)
{
    dnet_transition_t plan = {0};
    dnet_fdb_diff_t diff = {0};
    dnet_status_t st = old ? dnet_transition_plan(f->topo, old, new, m, &plan) : DNET_OK;
    if (!st && old)
        st = dnet_fdb_compare(f->topo, old, new, &diff);
    if (st)
        return st;
    bool stage = (plan.between || plan.apart) && c->drains < DRAINS_MAX;
    c->drains = stage ? c->drains + 1 : 0;
    *wait_p = stage && plan.apart;
    write_lfts(f, *wait_p && c->tree ? old : stage && plan.between ? plan.between : new);
    if (stage)
        c->osm->subn.force_heavy_sweep = TRUE;
    osm_log(
        &c->osm->log, OSM_LOG_INFO,
        "dimmnet: %s: %d switches, %d end ports, %.3f s; %ld entries changed in %ld blocks, %ld "
        "LIDs drain first%s\n",
        c->engine->name, f->topo->n_switches, f->topo->n_hosts, dnet_progress_seconds() - began,
        diff.entries, diff.blocks, plan.drained,
        !*wait_p  ? ""
        : c->tree ? "; groups are removed before"
                  : "; groups wait until it is made");
    dnet_transition_free(&plan);
    return DNET_OK;
}

static int find_guid(const dnet_topo_t *t, uint64_t guid)
{
    for (int s = 0; s < t->n_switches; s++)
        if (t->sw[s].guid == guid)
            return s;
    return DNET_TOPO_NONE;
}

/* The groups' tree of the last sweep in the numbers of this one; NULL: none, or without memory. */
static int *last_tree(const engine_context_t *c, const dnet_topo_t *now)
{
    int *tree = c->tree ? dnet_subnet_alloc((size_t) now->n_switches, sizeof(*tree)) : NULL,
        channel;
    for (int s = 0; tree && s < now->n_switches; s++) {
        int was = find_guid(c->topo, now->sw[s].guid), link;
        tree[s] = DNET_TOPO_NONE;
        if (was == DNET_TOPO_NONE || (link = c->tree[was]) == DNET_TOPO_NONE)
            continue;
        const dnet_topo_link_t *l = &c->topo->link[link];
        if (dnet_topo_port(now, s, l->port[l->sw[1] == was], &channel) == DNET_PORT_CHANNEL)
            tree[s] = channel >> 1;
    }
    return tree;
}

/* Who may send to whom, as OpenSM has set the ports' P_Keys; *out NULL: everyone to everyone. */
static dnet_status_t read_partitions(osm_subn_t *subn, const dnet_topo_t *t,
                                     dnet_partitions_t **out)
{
    bool all = cl_qmap_count(&subn->prtn_pkey_tbl) > DNET_PARTITIONS_MAX;
    *out = NULL;
    dnet_status_t st = dnet_partitions_new(t, out);
    for (cl_map_item_t *i = cl_qmap_head(&subn->prtn_pkey_tbl);
         !st && !all && i != cl_qmap_end(&subn->prtn_pkey_tbl); i = cl_qmap_next(i)) {
        const osm_prtn_t *partition = PARENT_STRUCT(i, osm_prtn_t, map_item);
        int full = 0;
        uint64_t bit = (uint64_t) 1
                       << dnet_partitions_get(*out, cl_ntoh16(partition->pkey) & 0x7fff);
        for (int h = 0; h < t->n_hosts; h++) {
            uint64_t guid = cl_hton64(t->host[h].guid);
            if (cl_map_get(&partition->full_guid_tbl, guid)) {
                (*out)->full[h] |= bit;
                (*out)->member[h] |= bit;
                full++;
            } else if (cl_map_get(&partition->part_guid_tbl, guid)) {
                (*out)->member[h] |= bit;
            }
        }
        all = full == t->n_hosts;
    }
    if (!st && (all || (*out)->count == 0)) {
        dnet_partitions_free(*out);
        *out = NULL;
    }
    return st;
}

/* What turns and tables are made for; *decide_p: turns without traffic are wanted, too, since all
 * LIDs have to be reached. */
static dnet_status_t expect_traffic(engine_context_t *c, const dnet_topo_t *t, dnet_traffic_t *tr,
                                    bool *decide_p)
{
    dnet_partitions_t *p;
    dnet_status_t st = read_partitions(&c->osm->subn, t, &p);
    *decide_p = p != NULL;
    if (!st && p)
        osm_log(&c->osm->log, OSM_LOG_INFO,
                "dimmnet: %s: balanced for traffic inside %d partitions\n", c->engine->name,
                p->count);
    if (!st)
        st = p ? dnet_partitions_traffic(p, t, tr)
               : dnet_traffic_init(tr, t, DNET_TRAFFIC_WEIGHTED, DNET_TRAFFIC_ACROSS);
    dnet_partitions_free(p);
    return st;
}

/* All servers as one group. */
static dnet_status_t join_all(const engine_context_t *c, const dnet_topo_t *t, const int *tree,
                              int left, dnet_mcast_t **m)
{
    int all = DNET_TOPO_NONE;
    if (left)
        osm_log(&c->osm->log, OSM_LOG_ERROR,
                "dimmnet: %s: %d switches are in no tree that goes together with the tables; their "
                "servers get no multicast\n",
                c->engine->name, left);
    dnet_status_t st = dnet_mcast_new(t, m);
    if (!st)
        all = dnet_mcast_group(*m, DNET_MLID_FIRST);
    if (!st && all == DNET_TOPO_NONE)
        st = DNET_ERR_NO_MEMORY;
    for (int h = 0; h < t->n_hosts && !st; h++)
        dnet_mcast_add(*m, all, t->host[h].sw, t->host[h].port);
    return st ? st : dnet_mcast_span(*m, all, tree);
}

/* Only a good result reaches the switches. */
static dnet_status_t judge(const dnet_engine_t *engine, const dnet_tables_t *tables,
                           const dnet_mcast_t *m)
{
    dnet_verdict_t v;
    dnet_judged_t what = {.tables = tables, .multicast = m};
    dnet_status_t st = dnet_verify(&what, &v);
    if (st || (dnet_verdict_managed(&v) && v.multicast.cyclic_lanes == 0))
        return st;
    dnet_error("subnet: %s: of data %ld ways missing, %ld loops, %d cyclic lanes; of management "
               "%ld, %ld, %d; of multicast %d cyclic lanes; the tables were not loaded",
               engine->name, v.data.missing, v.data.loops, v.data.cyclic_lanes,
               v.management.missing, v.management.loops, v.management.cyclic_lanes,
               v.multicast.cyclic_lanes);
    return DNET_ERR_STATE;
}

static void forget_tree(engine_context_t *c)
{
    dnet_topo_free(c->topo);
    free(c->tree);
    c->topo = NULL;
    c->tree = NULL;
}

/* For groups that OpenSM asks for later; takes the fabric and the tree over. */
static void keep_tree(engine_context_t *c, fabric_t *f, int *tree)
{
    forget_tree(c);
    c->topo = f->topo;
    c->tree = tree;
    f->topo = NULL;
}

/* Route and judge. */
static dnet_status_t route_fabric(fabric_t *f, engine_context_t *c, double began)
{
    const dnet_engine_t *engine = c->engine;
    dnet_tables_t *old = NULL;
    dnet_traffic_t tr = {0};
    dnet_routing_t r = {0};
    dnet_mcast_t *m = NULL;
    int left = 0, *old_tree = last_tree(c, f->topo);
    int *tree = dnet_subnet_alloc((size_t) f->topo->n_switches, sizeof(*tree));
    dnet_status_t st = tree ? DNET_OK : DNET_ERR_NO_MEMORY;
    bool wait = false, decide = false;
    if (!st)
        st = expect_traffic(c, f->topo, &tr, &decide);
    if (!st) {
        dnet_route_options_t opt = {
            .seed = 1, .traffic = &tr, .lanes = 1, .decide_weightless = decide};
        st = read_lfts(f, &old);
        opt.from = old;
        opt.from_tree = old_tree;
        if (!st)
            st = dnet_mcast_route(f->topo, engine, &opt, &r, tree, &left);
    }
    if (!st)
        st = join_all(c, f->topo, tree, left, &m);
    if (!st)
        st = judge(engine, r.tables, m);
    if (!st)
        st = write_change(f, c, old, r.tables, m, began, &wait);
    if (!st) {
        keep_tree(c, f, wait ? NULL : tree);
        tree = wait ? tree : NULL;
    }
    free(tree);
    free(old_tree);
    dnet_mcast_free(m);
    dnet_tables_free(old);
    dnet_routing_free(&r);
    dnet_traffic_free(&tr);
    return st;
}

static int build_fwd_tables(void *context)
{
    engine_context_t *c = context;
    fabric_t f = {0};
    double began = dnet_progress_seconds();
    dnet_status_t st = read_fabric(&c->osm->subn, &f);
    if (!st)
        st = route_fabric(&f, c, began);
    if (st)
        osm_log(&c->osm->log, OSM_LOG_ERROR, "dimmnet: %s: %s; the line on stderr says why\n",
                c->engine->name, dnet_status_text(st));
    dnet_topo_free(f.topo);
    free(f.sw);
    return st ? -1 : 0;
}

/* The port of a switch behind which a member of a group is. */
static void add_member(const dnet_topo_t *t, const osm_port_t *member, dnet_mcast_t *m, int group)
{
    osm_node_t *at = member->p_node;
    uint8_t port = 0;
    if (!at->sw)
        at = osm_node_get_remote_node(at, osm_physp_get_port_num(member->p_physp), &port);
    int s = at && at->sw ? find_guid(t, switch_guid(at->sw)) : DNET_TOPO_NONE;
    if (s != DNET_TOPO_NONE) /* else the next sweep will know it */
        dnet_mcast_add(m, group, s, port);
}

static void add_members(const dnet_topo_t *t, osm_mgrp_box_t *box, dnet_mcast_t *m, int group)
{
    for (cl_list_item_t *i = cl_qlist_head(&box->mgrp_list); i != cl_qlist_end(&box->mgrp_list);
         i = cl_qlist_next(i)) {
        osm_mgrp_t *mgrp = PARENT_STRUCT(i, osm_mgrp_t, list_item);
        for (cl_map_item_t *k = cl_qmap_head(&mgrp->mcm_port_tbl);
             k != cl_qmap_end(&mgrp->mcm_port_tbl); k = cl_qmap_next(k))
            add_member(t, PARENT_STRUCT(k, osm_mcm_port_t, map_item)->port, m, group);
    }
}

/* OpenSM wants a group's ports, in tables that it has cleared. */
static ib_api_status_t build_group(void *context, osm_mgrp_box_t *box)
{
    engine_context_t *c = context;
    dnet_mcast_t *m = NULL;
    dnet_status_t st = c->topo ? dnet_mcast_new(c->topo, &m) : DNET_ERR_STATE;
    if (!st && !c->tree) { /* it waits for the next sweep */
        dnet_mcast_free(m);
        return IB_SUCCESS;
    }
    int group = st ? DNET_TOPO_NONE : dnet_mcast_group(m, box->mlid);
    if (group != DNET_TOPO_NONE) {
        add_members(c->topo, box, m, group);
        st = dnet_mcast_span(m, group, c->tree);
    }
    for (int s = 0; group != DNET_TOPO_NONE && !st && s < c->topo->n_switches; s++) {
        osm_switch_t *sw = osm_get_switch_by_guid(&c->osm->subn, cl_hton64(c->topo->sw[s].guid));
        for (int port = 0; sw && port <= c->topo->sw[s].ports; port++)
            if (dnet_mcast_has(m, group, s, port))
                osm_mcast_tbl_set(osm_switch_get_mcast_tbl_ptr(sw), box->mlid, (uint8_t) port);
    }
    dnet_mcast_free(m);
    return st || group == DNET_TOPO_NONE ? IB_ERROR : IB_SUCCESS;
}

static int setup_engine(osm_routing_engine_t *engine, osm_opensm_t *osm)
{
    (void) osm;
    engine->ucast_build_fwd_tables = build_fwd_tables;
    engine->mcast_build_stree = build_group;
    return 0;
}

static void *construct(osm_opensm_t *osm)
{
    static const char *const names[2] = {"turnadd", "turnprohib"};
    plugin_t *p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    dnet_log_init();
    dnet_log_identity("OpenSM plug-in");
    for (int i = 0; i < 2; i++) {
        p->engine[i] = (engine_context_t){.osm = osm, .engine = dnet_engine_find(names[i])};
        external_routing_engine_module_t module = {names[i], setup_engine, &p->engine[i]};
        if (osm_register_external_routing_engine(osm, &module, &p->engine[i]) != CL_SUCCESS) {
            osm_log(&osm->log, OSM_LOG_ERROR, "dimmnet: OpenSM refuses the engine %s\n", names[i]);
            free(p);
            return NULL;
        }
    }
    return p;
}

static void destroy(void *context)
{
    plugin_t *p = context;
    for (int i = 0; i < 2; i++)
        forget_tree(&p->engine[i]);
    free(p);
}

#if OSM_EVENT_PLUGIN_INTERFACE_VER != 2
#error "the plug-in is written for OpenSM's event plug-in interface 2"
#endif

osm_event_plugin_t osm_event_plugin = {
    .osm_version = OSM_VERSION, .create = construct, .delete = destroy};
