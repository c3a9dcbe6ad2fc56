/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network of a cluster.  File: a pointer to the version in force, then versions one behind the
 * other, each a header, the topology as ibsim text and the tables as dump_fts text.  The pointer is
 * written last: a writer that dies leaves the version before in force.  Then the memory of that one
 * is given back, so that the file becomes longer and takes no more.
 */
#include "config.h"

#include "cluster/fabric.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "dimmnet/format.h"
#include "subnet/engines/engines.h"

#define FABRIC_MAGIC 0x4342414644494d44ull
#define FABRIC_NAME "dimmnet-fabric"
#define TEXT_MAX (256u << 20)

typedef struct {
    uint64_t magic;  /* +0x00 */
    uint64_t offset; /* +0x08 of the version in force */
} pointer_t;
_Static_assert(sizeof(pointer_t) == 16, "fabric file layout");

typedef struct {
    uint32_t cuts;           /* +0x00 */
    uint32_t sweep;          /* +0x04 */
    uint64_t topology_bytes; /* +0x08 */
    uint64_t tables_bytes;   /* +0x10 */
    char topology[DNET_FABRIC_TEXT];
    char engine[DNET_FABRIC_TEXT];
    char cut[DNET_FABRIC_CUTS][DNET_FABRIC_TEXT];
} version_t;
_Static_assert(sizeof(version_t) == 24 + 2 * 64 + 64 * 64, "fabric file layout");

/* ---- routing ---- */

/* [nic 2] Numbers from 1, without those no compressed LID names. */
static dnet_status_t assign_lids(dnet_topo_t *t)
{
    for (int h = 0; h < t->n_hosts; h++)
        t->host[h].lmc = 0; /* whatever a file says: a NIC has one */
    dnet_status_t status = dnet_lid_assign(t, DNET_LID_CONVENTIONAL);
    for (int h = 0; status == DNET_OK && h < t->n_hosts; h++) {
        if (t->host[h].lid > DNET_NODES_MAX) {
            dnet_error("%s: server %s would be node %u; the NIC's addresses reach %u nodes",
                       t->name, t->host[h].name, t->host[h].lid, DNET_NODES_MAX);
            return DNET_ERR_LIMIT;
        }
        t->host[h].lid = dnet_node_to_lid(t->host[h].lid);
    }
    return status;
}

static dnet_status_t judge(const char *engine, const dnet_topo_t *t, const dnet_tables_t *tables,
                           dnet_verdict_t *verdict)
{
    dnet_status_t status = dnet_verify_tables(tables, NULL, NULL, NULL, verdict);
    if (status != DNET_OK || dnet_verdict_good(verdict))
        return status;
    dnet_error(
        "%s by %s: %ld ways missing, %ld astray, %ld loops, %d cyclic lanes: not a network to use",
        t->name, engine, verdict->data.missing, verdict->data.astray, verdict->data.loops,
        verdict->data.cyclic_lanes);
    return DNET_ERR_LIMIT;
}

/* Tables for the topology as it is now, accepted by the verifier. */
static dnet_status_t route(const char *name, const dnet_topo_t *t, const dnet_tables_t *from,
                           dnet_tables_t **tables_p, dnet_verdict_t *verdict)
{
    const dnet_engine_t *engine = dnet_engine_find(name);
    dnet_traffic_t traffic = {0};
    dnet_routing_t routing = {0};
    if (!engine)
        return DNET_ERR_ARGUMENT;
    dnet_status_t status =
        dnet_traffic_init(&traffic, t, DNET_TRAFFIC_WEIGHTED, DNET_TRAFFIC_ACROSS);
    dnet_route_options_t options = {.traffic = &traffic, .lanes = 1, .from = from};
    if (status == DNET_OK)
        status = dnet_route(t, engine, &options, NULL, &routing);
    if (status == DNET_OK)
        status = judge(name, t, routing.tables, verdict);
    if (status == DNET_OK) {
        *tables_p = routing.tables;
        routing.tables = NULL;
    }
    dnet_routing_free(&routing);
    dnet_traffic_free(&traffic);
    return status;
}

/* ---- a network in pieces ---- */

/* Mark what hangs together with switch `first`. */
static void mark_piece(const dnet_topo_t *t, int first, bool *in, int *queue)
{
    int n = 0;
    memset(in, 0, (size_t) t->n_switches * sizeof(*in));
    in[first] = true;
    queue[n++] = first;
    for (int at = 0; at < n; at++)
        for (int i = 0; i < dnet_topo_degree(t, queue[at]); i++) {
            int u = dnet_topo_head(t, dnet_topo_channel(t, queue[at], i));
            if (in[u])
                continue;
            in[u] = true;
            queue[n++] = u;
        }
}

/* Put the ways inside a piece into the tables. */
static void copy_piece(const bool *in, const dnet_tables_t *from, dnet_tables_t *to)
{
    const dnet_topo_t *t = from->topo;
    for (int s = 0; s < t->n_switches; s++)
        for (int d = 0; in[s] && d < from->dests; d++)
            if (in[dnet_topo_dest_switch(t, d)])
                dnet_tables_row(to, s)[d] = dnet_tables_row(from, s)[d];
}

/* Route a piece alone, all other switches out of service. */
static dnet_status_t route_piece(const char *engine, dnet_topo_t *t, const bool *in, bool *down,
                                 dnet_tables_t *all)
{
    dnet_tables_t *tables = NULL;
    dnet_verdict_t verdict;
    dnet_status_t status = DNET_OK;
    for (int s = 0; s < t->n_switches; s++) {
        down[s] = t->sw[s].down;
        if (!in[s] && !down[s] && status == DNET_OK)
            status = dnet_topo_set_switch(t, s, true);
    }
    if (status == DNET_OK)
        status = route(engine, t, NULL, &tables, &verdict);
    for (int s = 0; s < t->n_switches; s++)
        if (t->sw[s].down != down[s])
            dnet_topo_set_switch(t, s, down[s]);
    if (status == DNET_OK)
        copy_piece(in, tables, all);
    if (tables)
        dnet_tables_free(tables);
    return status;
}

/*
 * Each piece is routed by itself.  Entries for other pieces stay: a packet for there waits, and its
 * sender names the link at which the way ends.
 */
static dnet_status_t route_pieces(const char *engine, dnet_topo_t *t, dnet_tables_t *all)
{
    size_t n = (size_t) t->n_switches;
    bool *in = calloc(n, 3 * sizeof(*in));
    int *queue = calloc(n, sizeof(*queue));
    dnet_status_t status = in && queue ? DNET_OK : DNET_ERR_NO_MEMORY;
    for (int s = 0; status == DNET_OK && s < t->n_switches; s++) {
        bool *done = in + n;
        if (done[s] || t->sw[s].down || !t->sw[s].hosts)
            continue;
        mark_piece(t, s, in, queue);
        for (size_t i = 0; i < n; i++)
            done[i] |= in[i];
        status = route_piece(engine, t, in, in + 2 * n, all);
    }
    if (status == DNET_ERR_NO_MEMORY)
        dnet_error("no memory for the pieces of a network of %d switches", t->n_switches);
    free(in);
    free(queue);
    return status;
}

/* What a writer of the subnet tools writes, as text in memory; the caller frees it. */
static char *text_of(const dnet_fabric_t *f, bool tables, size_t *bytes_p)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, bytes_p);
    dnet_status_t status = !out     ? DNET_ERR_NO_MEMORY
                           : tables ? dnet_lft_write(f->topo, f->tables, out)
                                    : dnet_topo_write_ibsim(f->topo, out);
    if (out && fclose(out) != 0)
        status = DNET_ERR_NO_MEMORY;
    if (status == DNET_OK)
        return text;
    free(text);
    return NULL;
}

static dnet_fabric_t *fabric_new(void)
{
    dnet_fabric_t *f = calloc(1, sizeof(*f));
    if (!f)
        dnet_error("no memory for a cluster's network");
    return f;
}

dnet_status_t dnet_fabric_make(const char *topology, const char *engine, dnet_fabric_t **fabric_p)
{
    dnet_fabric_t *f = fabric_new();
    if (!f)
        return DNET_ERR_NO_MEMORY;
    snprintf(f->engine, sizeof(f->engine), "%s", engine);
    f->sweep = 1;
    dnet_status_t status = dnet_topo_make(topology, 0, &f->topo);
    if (status == DNET_OK &&
        (f->topo->n_hosts < 1 || (unsigned) f->topo->n_hosts > DNET_NODES_MAX)) {
        dnet_error("%s has %d servers; a cluster has 1 to %u nodes", topology, f->topo->n_hosts,
                   DNET_NODES_MAX);
        status = DNET_ERR_LIMIT;
    }
    if (status == DNET_OK)
        status = assign_lids(f->topo);
    if (status == DNET_OK)
        status = route(f->engine, f->topo, NULL, &f->tables, &f->verdict);
    if (status == DNET_OK)
        status = dnet_lft_check(f->tables);
    if (status == DNET_OK) {
        f->text = text_of(f, false, &f->text_bytes);
        status = f->text ? DNET_OK : DNET_ERR_NO_MEMORY;
    }
    if (status != DNET_OK) {
        dnet_fabric_free(f);
        return status;
    }
    *fabric_p = f;
    return DNET_OK;
}

/* Some server cannot be reached: its switch is out of service, or the network is in pieces. */
static bool separates(const dnet_topo_t *t)
{
    for (int h = 0; h < t->n_hosts; h++)
        if (t->sw[t->host[h].sw].down)
            return true;
    return !dnet_topo_connected(t);
}

dnet_status_t dnet_fabric_cut(dnet_fabric_t *f, const char *what, bool force)
{
    if (f->cuts == DNET_FABRIC_CUTS || strlen(what) >= DNET_FABRIC_TEXT) {
        dnet_error("cut %.70s: at most %d cuts of at most %d characters", what, DNET_FABRIC_CUTS,
                   DNET_FABRIC_TEXT - 1);
        return DNET_ERR_LIMIT;
    }
    dnet_topo_part_t part;
    dnet_status_t status = dnet_topo_cut(f->topo, what);
    if (status == DNET_OK && !force && dnet_topo_find_part(f->topo, what, &part) &&
        (part.host != DNET_TOPO_NONE || separates(f->topo))) {
        dnet_error("cut %s: it would separate servers from each other; --force cuts all the same",
                   what);
        status = DNET_ERR_LIMIT;
    }
    if (status == DNET_OK)
        snprintf(f->cut[f->cuts++], DNET_FABRIC_TEXT, "%s", what);
    return status;
}

dnet_status_t dnet_fabric_restore(dnet_fabric_t *f, const char *what)
{
    dnet_topo_part_t part, cut;
    bool found = dnet_topo_find_part(f->topo, what, &part);
    for (uint32_t i = 0; found && i < f->cuts; i++) {
        if (!dnet_topo_find_part(f->topo, f->cut[i], &cut) || cut.link != part.link ||
            cut.host != part.host || (part.link == DNET_TOPO_NONE && cut.sw != part.sw))
            continue;
        memmove(f->cut[i], f->cut[i + 1], (--f->cuts - i) * sizeof(f->cut[0]));
        return dnet_topo_set_part(f->topo, &part, false);
    }
    dnet_error("restore %s: it has not been cut", what);
    return DNET_ERR_ARGUMENT;
}

/* Tables that begin as the old ones, for a network in pieces. */
static dnet_status_t reroute_pieces(const dnet_fabric_t *f, dnet_tables_t **tables_p,
                                    dnet_verdict_t *verdict)
{
    dnet_status_t status = dnet_tables_new(f->topo, tables_p);
    if (status != DNET_OK)
        return status;
    memcpy((*tables_p)->port, f->tables->port,
           (size_t) f->topo->n_switches * (size_t) dnet_tables_columns(f->tables) *
               sizeof(*f->tables->port));
    status = route_pieces(f->engine, f->topo, *tables_p);
    return status == DNET_OK ? dnet_verify_tables(*tables_p, NULL, NULL, NULL, verdict) : status;
}

/* How the tables are to change; the link that still works has its old dependencies, too. */
static dnet_status_t plan_change(dnet_fabric_t *f, int working, const dnet_tables_t *tables)
{
    dnet_transition_t plan;
    if (working != DNET_TOPO_NONE)
        dnet_topo_set_link(f->topo, working, false);
    dnet_status_t status = dnet_transition_plan(f->topo, f->tables, tables, NULL, &plan);
    if (working != DNET_TOPO_NONE)
        dnet_topo_set_link(f->topo, working, true);
    if (status == DNET_OK)
        f->between = plan.between;
    return status;
}

dnet_status_t dnet_fabric_reroute(dnet_fabric_t *f, int working, dnet_fdb_diff_t *diff)
{
    dnet_tables_t *tables = NULL;
    *diff = (dnet_fdb_diff_t){0};
    dnet_tables_free(f->between);
    f->between = NULL;
    dnet_status_t status = separates(f->topo)
                               ? reroute_pieces(f, &tables, &f->verdict)
                               : route(f->engine, f->topo, f->tables, &tables, &f->verdict);
    if (status == DNET_OK)
        status = dnet_fdb_compare(f->topo, f->tables, tables, diff);
    if (status == DNET_OK)
        status = plan_change(f, working, tables);
    if (status != DNET_OK) {
        dnet_tables_free(tables);
        return status;
    }
    dnet_tables_free(f->tables);
    f->tables = tables;
    f->sweep++;
    return DNET_OK;
}

void dnet_fabric_free(dnet_fabric_t *f)
{
    dnet_tables_free(f->tables);
    dnet_tables_free(f->between);
    if (f->topo)
        dnet_topo_free(f->topo);
    free(f->text);
    free(f);
}

/* ---- file ---- */

int dnet_fabric_file(void)
{
    int fd = memfd_create(FABRIC_NAME, MFD_CLOEXEC);
    if (fd >= 0 && fchmod(fd, 0600) == 0)
        return fd;
    dnet_error("cannot make a file for a cluster's network: %m");
    if (fd >= 0)
        close(fd);
    return -1;
}

dnet_status_t dnet_fabric_open(const dnet_cluster_t *cluster, int *fd_p)
{
    char path[64];
    struct stat st;
    if (cluster->fabric < 0)
        return DNET_NOT_FOUND;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", cluster->keeper, cluster->fabric);
    *fd_p = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (*fd_p >= 0 && fstat(*fd_p, &st) == 0 && st.st_uid == geteuid())
        return DNET_OK;
    dnet_error("cluster %s: cannot open its network: %m", cluster->name);
    if (*fd_p >= 0)
        close(*fd_p);
    return DNET_ERR_SYSTEM;
}

static bool put(int fd, const void *from, size_t bytes, off_t at)
{
    return pwrite(fd, from, bytes, at) == (ssize_t) bytes;
}

static bool get(int fd, void *to, size_t bytes, off_t at)
{
    return pread(fd, to, bytes, at) == (ssize_t) bytes;
}

static bool store_version(int fd, const version_t *v, const char *topology, const char *tables)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    off_t at = st.st_size < (off_t) sizeof(pointer_t) ? (off_t) sizeof(pointer_t) : st.st_size;
    pointer_t p = {.magic = FABRIC_MAGIC, .offset = (uint64_t) at};
    bool good = put(fd, v, sizeof(*v), at) &&
                put(fd, topology, v->topology_bytes, at + (off_t) sizeof(*v)) &&
                put(fd, tables, v->tables_bytes, at + (off_t) (sizeof(*v) + v->topology_bytes)) &&
                put(fd, &p, sizeof(p), 0);
    /* Nobody reads the versions before: that takes the lock. */
    if (good && at > (off_t) sizeof(p))
        (void) fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) sizeof(p),
                         at - (off_t) sizeof(p));
    return good;
}

dnet_status_t dnet_fabric_store(const dnet_fabric_t *f, int fd)
{
    size_t tables_bytes = 0;
    char *tables = text_of(f, true, &tables_bytes);
    version_t v = {.cuts = f->cuts,
                   .sweep = f->sweep,
                   .topology_bytes = f->text_bytes,
                   .tables_bytes = tables_bytes};
    snprintf(v.topology, sizeof(v.topology), "%s", f->topo->name);
    memcpy(v.engine, f->engine, sizeof(v.engine));
    memcpy(v.cut, f->cut, sizeof(v.cut));
    bool good = tables && store_version(fd, &v, f->text, tables);
    if (!good)
        dnet_error("cannot write a cluster's network: %m");
    free(tables);
    return good ? DNET_OK : DNET_ERR_SYSTEM;
}

static bool load_version(int fd, version_t *v, off_t *at_p)
{
    pointer_t p;
    if (!get(fd, &p, sizeof(p), 0) || p.magic != FABRIC_MAGIC || p.offset > INT64_MAX / 2 ||
        !get(fd, v, sizeof(*v), (off_t) p.offset))
        return false;
    v->topology[sizeof(v->topology) - 1] = v->engine[sizeof(v->engine) - 1] = '\0';
    for (int i = 0; i < DNET_FABRIC_CUTS; i++)
        v->cut[i][DNET_FABRIC_TEXT - 1] = '\0';
    *at_p = (off_t) (p.offset + sizeof(*v));
    return v->cuts <= DNET_FABRIC_CUTS && v->topology_bytes <= TEXT_MAX &&
           v->tables_bytes <= TEXT_MAX;
}

static dnet_status_t read_topology(int fd, const version_t *v, off_t at, dnet_fabric_t *f)
{
    f->text_bytes = v->topology_bytes;
    f->text = malloc(v->topology_bytes + 1);
    FILE *in = f->text && v->topology_bytes && get(fd, f->text, v->topology_bytes, at)
                   ? fmemopen(f->text, v->topology_bytes, "r")
                   : NULL;
    if (!in) {
        dnet_error("cannot read a cluster's topology");
        return DNET_ERR_FORMAT;
    }
    dnet_status_t status = dnet_topo_read(in, v->topology, &f->topo);
    fclose(in);
    return status;
}

/* The reader of tables wants a file of its own. */
static dnet_status_t read_tables(int fd, const version_t *v, off_t at, dnet_topo_t *t,
                                 dnet_tables_t **tables_p)
{
    char path[64], *text = malloc(v->tables_bytes + 1);
    int copy = dnet_fabric_file();
    dnet_status_t status = DNET_ERR_SYSTEM;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", copy);
    if (copy >= 0 && text && get(fd, text, v->tables_bytes, at) &&
        put(copy, text, v->tables_bytes, 0))
        status = dnet_lft_read(t, path, tables_p, NULL);
    else
        dnet_error("cannot read a cluster's tables");
    if (copy >= 0)
        close(copy);
    free(text);
    return status;
}

/* Cuts come before the tables: these are of the network without what is cut. */
static dnet_status_t load(int fd, dnet_fabric_t *f)
{
    version_t v;
    off_t at;
    if (!load_version(fd, &v, &at)) {
        dnet_error("a cluster's network is malformed; end the cluster and make it again");
        return DNET_ERR_FORMAT;
    }
    memcpy(f->engine, v.engine, sizeof(f->engine));
    memcpy(f->cut, v.cut, sizeof(f->cut));
    f->cuts = v.cuts;
    f->sweep = v.sweep;
    dnet_status_t status = read_topology(fd, &v, at, f);
    for (uint32_t i = 0; status == DNET_OK && i < f->cuts; i++)
        status = dnet_topo_cut(f->topo, f->cut[i]);
    if (status == DNET_OK)
        status = read_tables(fd, &v, at + (off_t) v.topology_bytes, f->topo, &f->tables);
    if (status == DNET_OK)
        status = dnet_verify_tables(f->tables, NULL, NULL, NULL, &f->verdict);
    return status;
}

dnet_status_t dnet_fabric_load(int fd, dnet_fabric_t **fabric_p)
{
    dnet_fabric_t *f = fabric_new();
    if (!f)
        return DNET_ERR_NO_MEMORY;
    dnet_status_t status = load(fd, f);
    if (status != DNET_OK) {
        dnet_fabric_free(f);
        return status;
    }
    *fabric_p = f;
    return DNET_OK;
}
