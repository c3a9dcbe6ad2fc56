/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "cluster/switches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file_size.h"
#include "common/log.h"
#include "dimmnet/format.h"

/* The switch without ports.  Its name and the port in its table are what a sender's line says. */
#define UNPLUGGED "its own adapter"
#define UNPLUGGED_PORT 1u
#define UNPLUGGED_WIRES 2u

static dnet_switches_header_t header_of(const dnet_topo_t *t)
{
    dnet_switches_header_t h = {
        .magic = DNET_SWITCHES_MAGIC,
        .version = DNET_SWITCHES_VERSION,
        .switches = (uint32_t) t->n_switches + 1,
        .channels = (uint32_t) dnet_topo_channels(t),
    };
    for (int s = 0; s < t->n_switches; s++)
        h.wires += (uint32_t) t->sw[s].ports + 1;
    h.wires += UNPLUGGED_WIRES;
    for (int i = 0; i < t->n_hosts; i++) {
        uint32_t clid = dnet_lid_to_clid(t->host[i].lid);
        h.lids = clid >= h.lids ? clid + 1 : h.lids;
    }
    return h;
}

/* ---- what does not change ---- */

static void write_wires(const dnet_switches_t *n, const dnet_topo_t *t)
{
    uint32_t at = 0;
    for (int s = 0; s < t->n_switches; s++) {
        snprintf(n->name + (size_t) s * DNET_SWITCHES_NAME_BYTES, DNET_SWITCHES_NAME_BYTES, "%s",
                 t->sw[s].name);
        n->first_wire[s] = at;
        at += (uint32_t) t->sw[s].ports + 1;
    }
    snprintf(n->name + (size_t) t->n_switches * DNET_SWITCHES_NAME_BYTES, DNET_SWITCHES_NAME_BYTES,
             UNPLUGGED);
    n->first_wire[t->n_switches] = at;
    at += UNPLUGGED_WIRES;
    n->first_wire[t->n_switches + 1] = at;
    for (unsigned i = 0; i < 2; i++)
        for (uint32_t lid = 0; lid < n->header->lids; lid++)
            n->table[i][(size_t) t->n_switches * n->header->lids + lid] = UNPLUGGED_PORT;
    for (uint32_t w = 0; w < at; w++)
        n->wire[w] = DNET_WIRE_FREE;
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        n->wire[n->first_wire[dnet_topo_tail(t, c)] + (uint32_t) dnet_topo_out_port(t, c)] =
            (uint32_t) c;
        n->head[c] = (uint32_t) dnet_topo_head(t, c);
        n->port[c].lanes = DNET_SWITCHES_LANES;
        n->port[c].lane_mbps = DNET_SWITCHES_LANE_MBPS;
    }
}

/* ---- what the Subnet Manager changes ---- */

static void write_table(const dnet_switches_t *n, uint32_t generation, const dnet_fabric_t *f)
{
    const dnet_topo_t *t = f->topo;
    _Atomic uint16_t *table = n->table[generation & 1];
    /* Whoever still walks over this table and sees a new entry sees that it has changed, too. */
    atomic_thread_fence(memory_order_release);
    for (int s = 0; s < t->n_switches; s++) {
        const uint16_t *row = dnet_tables_row(f->tables, s);
        for (int i = 0; i < t->n_hosts; i++)
            atomic_store_explicit(
                &table[(size_t) s * n->header->lids + dnet_lid_to_clid(t->host[i].lid)], row[i],
                memory_order_relaxed);
    }
}

/* @return what it was */
static bool set_bit(_Atomic uint8_t *link, uint8_t bit, bool on)
{
    uint8_t was = on ? atomic_fetch_or_explicit(link, bit, memory_order_relaxed)
                     : atomic_fetch_and_explicit(link, (uint8_t) ~bit, memory_order_relaxed);
    return (was & bit) != 0;
}

static bool is_down(const dnet_topo_t *t, const dnet_topo_link_t *link)
{
    return link->down || t->sw[link->sw[0]].down || t->sw[link->sw[1]].down;
}

/* Where a server's port leads, and at which switch its NIC hangs. */
typedef struct {
    _Atomic uint32_t *wire, *at;
    uint32_t wire_value, at_value;
} plug_t;

static plug_t plug_of(const dnet_switches_t *n, const dnet_topo_t *t, int host)
{
    const dnet_topo_host_t *h = &t->host[host];
    uint32_t clid = dnet_lid_to_clid(h->lid);
    return (plug_t){
        .wire = &n->wire[n->first_wire[h->sw] + (uint32_t) h->port],
        .at = &n->at[clid],
        .wire_value = h->down ? DNET_WIRE_FREE : DNET_WIRE_NODE | clid,
        .at_value = 1 + (uint32_t) (h->down ? t->n_switches : h->sw),
    };
}

void dnet_switches_set_links(const dnet_switches_t *n, const dnet_topo_t *t)
{
    for (int l = 0; l < t->n_links; l++) {
        bool down = is_down(t, &t->link[l]);
        bool was = set_bit(&n->link[l], DNET_LINK_CUT, down);
        for (int c = 2 * l; c <= 2 * l + 1 && down && !was; c++)
            n->port[c].downed++;
    }
    for (int i = 0; i < t->n_hosts; i++) {
        const plug_t p = plug_of(n, t, i);
        atomic_store_explicit(p.wire, p.wire_value, memory_order_relaxed);
        atomic_store_explicit(p.at, p.at_value, memory_order_relaxed);
    }
}

void dnet_switches_set_tables(const dnet_switches_t *n, const dnet_fabric_t *f)
{
    uint32_t next = atomic_load_explicit(&n->header->generation, memory_order_relaxed) + 1;
    write_table(n, next, f);
    /* Release: pairs with the acquire load of a walk over the table. */
    atomic_store_explicit(&n->header->generation, next, memory_order_release);
}

static bool tables_follow(const dnet_switches_t *n, const dnet_fabric_t *f)
{
    const dnet_topo_t *t = f->topo;
    uint32_t generation = atomic_load_explicit(&n->header->generation, memory_order_acquire);
    for (int s = 0; s < t->n_switches; s++) {
        const uint16_t *row = dnet_tables_row(f->tables, s);
        const _Atomic uint16_t *in_force = n->table[generation & 1] + (size_t) s * n->header->lids;
        for (int i = 0; i < t->n_hosts; i++)
            if (atomic_load_explicit(&in_force[dnet_lid_to_clid(t->host[i].lid)],
                                     memory_order_relaxed) != row[i])
                return false;
    }
    return true;
}

bool dnet_switches_follow(const dnet_switches_t *n, const dnet_fabric_t *f)
{
    const dnet_topo_t *t = f->topo;
    for (int l = 0; l < t->n_links; l++) {
        uint8_t link = atomic_load_explicit(&n->link[l], memory_order_relaxed);
        if (((link & DNET_LINK_CUT) != 0) != is_down(t, &t->link[l]))
            return false;
    }
    for (int i = 0; i < t->n_hosts; i++) {
        const plug_t p = plug_of(n, t, i);
        if (atomic_load_explicit(p.wire, memory_order_relaxed) != p.wire_value ||
            atomic_load_explicit(p.at, memory_order_relaxed) != p.at_value)
            return false;
    }
    return tables_follow(n, f);
}

/* ---- the condition of links ---- */

static const struct {
    const char *name;
    uint32_t lane_mbps;
} speeds[] = {{"SDR", 2500}, {"DDR", 5000}, {"QDR", 10000}};

const char *dnet_switches_speed_name(uint32_t lane_mbps)
{
    for (unsigned i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
        if (speeds[i].lane_mbps == lane_mbps)
            return speeds[i].name;
    return "?";
}

uint32_t dnet_switches_speed(const char *name)
{
    for (unsigned i = 0; i < sizeof(speeds) / sizeof(speeds[0]); i++)
        if (strcasecmp(speeds[i].name, name) == 0)
            return speeds[i].lane_mbps;
    return 0;
}

static double errors_at(const dnet_switches_errors_t *e, uint64_t now)
{
    return e->counted + e->per_second * (double) (now - e->since_ns) * 1e-9;
}

static void set_rate(dnet_switches_errors_t *e, double per_second, uint64_t now)
{
    if (per_second >= 0)
        *e = (dnet_switches_errors_t){errors_at(e, now), per_second, now};
}

static void set_slowness(_Atomic uint32_t *value, double wanted)
{
    if (wanted >= 0)
        atomic_store_explicit(value, (uint32_t) (wanted + 0.5), memory_order_relaxed);
}

void dnet_switches_degrade(const dnet_switches_t *n, int channel,
                           const dnet_switches_fault_t *fault)
{
    uint64_t now = dnet_clock_ns();
    set_rate(&n->port[channel].symbol, fault->symbol_rate, now);
    set_rate(&n->port[channel].receive, fault->receive_rate, now);
    for (int end = 0; end < 2; end++) {
        dnet_switches_port_t *p = &n->port[channel ^ end];
        p->lanes = fault->lanes ? fault->lanes : p->lanes;
        p->lane_mbps = fault->lane_mbps ? fault->lane_mbps : p->lane_mbps;
        set_slowness(&p->delay_us, fault->delay_us);
        set_slowness(&p->limit_mb_s, fault->limit_mb_s);
        set_slowness(&p->loss_million, fault->loss < 0 ? -1 : fault->loss * 1e6);
    }
    const dnet_switches_port_t *p = &n->port[channel];
    set_bit(&n->link[channel / 2], DNET_LINK_SLOWED,
            p->delay_us || p->limit_mb_s || p->loss_million);
}

static uint32_t as_counter(double errors, uint32_t most)
{
    return errors < most ? (uint32_t) errors : most;
}

dnet_switches_reading_t dnet_switches_read(const dnet_switches_t *n, int channel)
{
    const dnet_switches_port_t *p = &n->port[channel];
    const dnet_switches_count_t *c = &n->count[channel];
    uint64_t now = dnet_clock_ns();
    /* A packet that did not arrive is an error of the port that it did not reach. */
    uint64_t missed = atomic_load_explicit(&n->count[channel ^ 1].lost, memory_order_relaxed);
    return (dnet_switches_reading_t){
        .symbol = as_counter(errors_at(&p->symbol, now) + (double) missed, UINT16_MAX),
        .receive = as_counter(errors_at(&p->receive, now), UINT16_MAX),
        .downed = p->downed < UINT8_MAX ? p->downed : UINT8_MAX,
        .lanes = p->lanes,
        .lane_mbps = p->lane_mbps,
        .packets = atomic_load_explicit(&c->packets, memory_order_relaxed),
        .bytes = atomic_load_explicit(&c->bytes, memory_order_relaxed),
        .lost = atomic_load_explicit(&c->lost, memory_order_relaxed),
        .delay_us = atomic_load_explicit(&p->delay_us, memory_order_relaxed),
        .limit_mb_s = atomic_load_explicit(&p->limit_mb_s, memory_order_relaxed),
        .loss = atomic_load_explicit(&p->loss_million, memory_order_relaxed) * 1e-6,
    };
}

/* ---- the segment ---- */

static void *map(int fd, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        dnet_error("cannot map a cluster's switches, %zu bytes: %m", bytes);
    return base == MAP_FAILED ? NULL : base;
}

int dnet_switches_make(const dnet_fabric_t *f)
{
    dnet_switches_header_t h = header_of(f->topo);
    size_t bytes = dnet_switches_parts(NULL, &h).bytes;
    int fd = memfd_create("dimmnet-switches", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* All of it is written or counted in: a full machine says so now. */
    int error = fd < 0 || fchmod(fd, 0600) != 0  ? errno
                : !dnet_file_size_allowed(bytes) ? EFBIG
                                                 : dnet_file_reserve(fd, 0, bytes);
    if (error == 0)
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    else
        dnet_error("no memory for a cluster's switches, %zu bytes: %s", bytes, strerror(error));
    void *base = error == 0 ? map(fd, bytes) : NULL;
    if (!base) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    memcpy(base, &h, sizeof(h));
    dnet_switches_t n = dnet_switches_parts(base, &h);
    write_wires(&n, f->topo);
    write_table(&n, 0, f);
    dnet_switches_set_links(&n, f->topo);
    munmap(base, bytes);
    return fd;
}

/* The segment of this topology and no other: its size says so, and its header. */
static bool fits(int fd, const dnet_switches_header_t *want, size_t bytes)
{
    dnet_switches_header_t h;
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_uid == geteuid() && (size_t) st.st_size == bytes &&
           pread(fd, &h, sizeof(h), 0) == (ssize_t) sizeof(h) &&
           memcmp(&h, want, offsetof(dnet_switches_header_t, generation)) == 0;
}

dnet_status_t dnet_switches_open(const dnet_cluster_t *cluster, const dnet_topo_t *topo,
                                 dnet_switches_t *parts_p)
{
    char path[64];
    dnet_switches_header_t h = header_of(topo);
    size_t bytes = dnet_switches_parts(NULL, &h).bytes;
    if (cluster->switches < 0)
        return DNET_NOT_FOUND;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", cluster->keeper, cluster->switches);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0 || !fits(fd, &h, bytes)) {
        dnet_error("cluster %s: its switches do not fit its network: %s", cluster->name,
                   fd < 0 ? strerror(errno) : "another topology or version; end the cluster");
        if (fd >= 0)
            close(fd);
        return fd < 0 ? DNET_ERR_SYSTEM : DNET_ERR_FORMAT;
    }
    void *base = map(fd, bytes);
    close(fd);
    if (!base)
        return DNET_ERR_SYSTEM;
    *parts_p = dnet_switches_parts(base, &h);
    return DNET_OK;
}

void dnet_switches_close(const dnet_switches_t *parts)
{
    munmap(parts->header, parts->bytes);
}
