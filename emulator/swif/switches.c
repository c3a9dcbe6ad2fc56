/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface of a cluster with a network: each packet goes from switch to switch as the
 * forwarding tables in force say (dimmnet/switches.h), is counted on every link it passes, and is
 * then delivered as by swif/shm.  It stands in that one's place, so that a NIC without a network
 * pays nothing.
 *
 * A packet that has no way, because a link on it has been cut or a table leads nowhere, waits in
 * its sender's context, as it would in a switch's buffer, until there are tables with a way, or for
 * too long.  Where a link is slowed it waits there for as long as the link takes, and a lost packet
 * for as long as it takes to find that out and to send it again: a reliable connection loses time,
 * not data, and keeps its order.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/trace.h"
#include "dimmnet/switches.h"
#include "emulator/process.h"
#include "emulator/swif/swif.h"

#define LOOK_EVERY_NS 200000u /* while a packet waits */
#define TELL_AFTER_NS 1000000000u
#define RESEND_NS 1000000u /* after which a lost packet is sent again */
#define SPIN_NS 60000u     /* less is not slept */

struct dnet_emu_network {
    dnet_switches_t is;
    void *base; /* mapped read-only, but for the counts */
    int32_t keeper;
    uint32_t wait_s;
    uint32_t random;
    dnet_emu_lost_way_t lost;
};

/* The way of a packet, and where it ends. */
typedef struct {
    uint32_t channel[DNET_SWITCHES_HOPS_MAX];
    uint32_t hops;
    uint32_t at, port; /* switch that has no way on, and the port its table names */
    bool slowed;       /* by some link on it */
} way_t;

/* ---- the way ---- */

/* Where a port leads; what is out of range leads nowhere. */
static uint32_t wire_of(const dnet_switches_t *n, uint32_t sw, uint32_t port)
{
    uint32_t first = n->first_wire[sw], ports = n->first_wire[sw + 1] - first;

    return port < ports && first + port < n->header->wires ? n->wire[first + port] : DNET_WIRE_FREE;
}

static bool walk(const dnet_switches_t *n, uint32_t generation, uint32_t from, uint32_t to,
                 way_t *w)
{
    _Atomic uint16_t *table = n->table[generation & 1];
    uint32_t sw = n->at[from] - 1;

    w->slowed = false;
    for (w->hops = 0; sw < n->header->switches; w->hops++) {
        uint32_t wire, link;

        w->at = sw;
        w->port =
            atomic_load_explicit(&table[(size_t) sw * n->header->lids + to], memory_order_relaxed);
        wire = wire_of(n, sw, w->port);
        if (wire == (DNET_WIRE_NODE | to))
            return true;
        if (wire >= n->header->channels || w->hops == DNET_SWITCHES_HOPS_MAX)
            return false;
        link = atomic_load_explicit(&n->link[wire / 2], memory_order_relaxed);
        if (link & DNET_LINK_CUT)
            return false;
        w->slowed |= (link & DNET_LINK_SLOWED) != 0;
        w->channel[w->hops] = wire;
        sw = n->head[wire];
    }
    return false;
}

/* Acquire: pairs with the release store of the generation, after the table. */
static bool find_way(const dnet_switches_t *n, uint32_t from, uint32_t to, way_t *w)
{
    for (;;) {
        uint32_t before = atomic_load_explicit(&n->header->generation, memory_order_acquire);
        bool found = walk(n, before, from, to, w);

        atomic_thread_fence(memory_order_acquire);
        if (atomic_load_explicit(&n->header->generation, memory_order_relaxed) == before)
            return found;
    }
}

static void count(const dnet_switches_t *n, const way_t *w, const dnet_emu_packet_t *p)
{
    uint64_t bytes = p->data_bytes + (uint64_t) p->packets * p->header_lines * 8;

    for (uint32_t i = 0; i < w->hops; i++) {
        dnet_switches_count_t *c = &n->count[w->channel[i]];

        atomic_fetch_add_explicit(&c->packets, p->packets, memory_order_relaxed);
        atomic_fetch_add_explicit(&c->bytes, bytes, memory_order_relaxed);
    }
}

/* ---- waiting for one ---- */

static const char *name_of(const dnet_switches_t *n, uint32_t sw)
{
    return n->name + (size_t) sw * DNET_SWITCHES_NAME_BYTES;
}

/* What a sender has waited for in vain is waited for no more. */
DNET_COLD static void give_up(dnet_emu_network_t *net, uint16_t slid, uint16_t dlid,
                              uint64_t waited_s, const way_t *w)
{
    net->lost = (dnet_emu_lost_way_t){
        .from = slid, .lid = dlid, .waited_s = (uint32_t) waited_s, .port = w->port};
    net->lost.keeper_ended = dnet_emu_process_ended(net->keeper);
    snprintf(net->lost.switch_name, sizeof net->lost.switch_name, "%s", name_of(&net->is, w->at));
    dnet_error("LID %#x has had no way to LID %#x for %" PRIu64 " s: switch %s port %" PRIu32
               " is cut%s",
               slid, dlid, waited_s, net->lost.switch_name, w->port,
               net->lost.keeper_ended ? ", and the cluster is gone" : "");
}

/* The way does not exist now: wait until it does, or for too long. */
DNET_COLD static bool wait_for_way(dnet_emu_network_t *net, uint16_t slid, uint16_t dlid, way_t *w)
{
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
    const dnet_switches_t *n = &net->is;
    uint64_t start = dnet_clock_ns(), waited = 0;
    bool told = false;

    if (net->lost.lid == dlid)
        return false;
    DNET_TRACE(no_way, slid, dlid, w->at);
    while (!find_way(n, dnet_lid_to_clid(slid), dnet_lid_to_clid(dlid), w)) {
        waited = dnet_clock_ns() - start;
        if (!told && waited >= TELL_AFTER_NS) {
            told = true;
            dnet_warn(
                "LID %#x waits for a way to LID %#x: switch %s port %" PRIu32
                " is cut, and there are no tables around it; dnet-cluster restore brings it back",
                slid, dlid, name_of(n, w->at), w->port);
        }
        if (waited >= net->wait_s * (uint64_t) 1000000000u || dnet_emu_process_ended(net->keeper)) {
            give_up(net, slid, dlid, waited / 1000000000u, w);
            return false;
        }
        nanosleep(&pause, NULL);
    }
    if (told)
        dnet_warn("LID %#x has a way to LID %#x again, after %" PRIu64 " ms", slid, dlid,
                  waited / 1000000u);
    return true;
}

/* ---- links that are slowed ---- */

/* When the link has carried so many bytes more, at its rate and behind those of other senders. */
static uint64_t carried_at(_Atomic uint64_t *busy_ns, uint64_t now, uint64_t bytes, uint32_t mb_s)
{
    uint64_t busy = atomic_load_explicit(busy_ns, memory_order_relaxed), until;

    do
        until = (busy > now ? busy : now) + bytes * 1000u / mb_s;
    while (!atomic_compare_exchange_weak_explicit(busy_ns, &busy, until, memory_order_relaxed,
                                                  memory_order_relaxed));
    return until;
}

static uint32_t next_random(dnet_emu_network_t *net)
{
    net->random ^= net->random << 13;
    net->random ^= net->random >> 17;
    net->random ^= net->random << 5;
    return net->random;
}

/* Rounds until none of the packets is lost any more; counts those that were. */
static uint32_t rounds_lost(dnet_emu_network_t *net, _Atomic uint64_t *lost, uint32_t packets,
                            uint32_t loss_million)
{
    uint32_t rounds = 0;

    while (packets > 0) {
        uint32_t again = 0;

        for (uint32_t i = 0; i < packets; i++)
            again += next_random(net) % 1000000u < loss_million;
        atomic_fetch_add_explicit(lost, again, memory_order_relaxed);
        rounds += again > 0;
        packets = again;
    }
    return rounds;
}

static void wait_until(uint64_t at)
{
    for (uint64_t now = dnet_clock_ns(); now < at; now = dnet_clock_ns()) {
        const struct timespec pause = {.tv_sec = (time_t) ((at - now) / 1000000000u),
                                       .tv_nsec = (long) ((at - now) % 1000000000u)};
        if (at - now >= SPIN_NS)
            nanosleep(&pause, NULL);
        else
            dnet_cpu_relax();
    }
}

/* One link of the way after the other. */
DNET_COLD static void pass_slowly(dnet_emu_network_t *net, const way_t *w,
                                  const dnet_emu_packet_t *p)
{
    const dnet_switches_t *n = &net->is;
    uint64_t bytes = p->data_bytes + (uint64_t) p->packets * p->header_lines * 8;
    uint64_t at = dnet_clock_ns();

    for (uint32_t i = 0; i < w->hops; i++) {
        dnet_switches_port_t *port = &n->port[w->channel[i]];
        dnet_switches_count_t *c = &n->count[w->channel[i]];
        uint32_t limit = atomic_load_explicit(&port->limit_mb_s, memory_order_relaxed);
        uint32_t loss = atomic_load_explicit(&port->loss_million, memory_order_relaxed);

        if (limit)
            at = carried_at(&c->busy_ns, at, bytes, limit);
        if (loss)
            at += (uint64_t) rounds_lost(net, &c->lost, p->packets, loss) * RESEND_NS;
        at += atomic_load_explicit(&port->delay_us, memory_order_relaxed) * 1000ull;
    }
    wait_until(at);
}

static bool known(const dnet_switches_t *n, uint16_t lid)
{
    uint16_t clid = dnet_lid_to_clid(lid);

    return clid < n->header->lids && dnet_clid_to_lid(clid) == lid && n->at[clid] != 0;
}

static dnet_emu_result_t switches_send(dnet_emu_nic_t *via, uint16_t dlid,
                                       dnet_emu_packet_t *packet)
{
    dnet_emu_network_t *net = via->network;
    uint16_t slid = packet->slid;
    way_t way;

    if (slid != dlid && known(&net->is, slid) && known(&net->is, dlid)) {
        if (DNET_UNLIKELY(
                !find_way(&net->is, dnet_lid_to_clid(slid), dnet_lid_to_clid(dlid), &way)) &&
            !wait_for_way(net, slid, dlid, &way))
            return DNET_EMU_NO_WAY;
        count(&net->is, &way, packet);
        if (DNET_UNLIKELY(way.slowed))
            pass_slowly(net, &way, packet);
    }
    return dnet_emu_swif_shm.send(via, dlid, packet);
}

static bool switches_lost(dnet_emu_nic_t *via, uint16_t lid, unsigned wid)
{
    return dnet_emu_swif_shm.lost(via, lid, wid);
}

const dnet_emu_swif_ops_t dnet_emu_swif_switches = {
    .name = "switches", .send = switches_send, .lost = switches_lost};

/* ---- joining ---- */

/* Map the segment behind a descriptor: all of it to be read, the counts to be written too. */
static bool map(dnet_emu_network_t *net, int fd)
{
    dnet_switches_header_t h;
    dnet_switches_t want;
    struct stat st;
    uint8_t *base;

    if (fstat(fd, &st) != 0 || st.st_uid != geteuid() ||
        pread(fd, &h, sizeof h, 0) != (ssize_t) sizeof h || h.magic != DNET_SWITCHES_MAGIC ||
        h.version != DNET_SWITCHES_VERSION || h.lids > DNET_EMU_PEERS)
        return false;
    want = dnet_switches_parts(NULL, &h);
    if ((uint64_t) st.st_size != want.bytes)
        return false;
    base = mmap(NULL, want.bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED)
        return false;
    net->base = base;
    net->is = dnet_switches_parts(base, &h);
    return want.bytes == want.count_offset ||
           mmap(base + want.count_offset, want.bytes - want.count_offset, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED, fd, (off_t) want.count_offset) != MAP_FAILED;
}

dnet_status_t dnet_emu_network_join(dnet_emu_nic_t *nic, int32_t pid, int32_t segment,
                                    uint32_t wait_s)
{
    char path[64];
    dnet_emu_network_t *net = calloc(1, sizeof *net);
    bool good;
    int fd;

    if (!net) {
        dnet_error("no memory for a network: %zu bytes needed", sizeof *net);
        return DNET_ERR_NO_MEMORY;
    }
    net->keeper = pid;
    net->wait_s = wait_s;
    net->random = ((uint32_t) getpid() * 2654435761u ^ (uint32_t) dnet_clock_ns()) | 1;
    nic->network = net;
    dnet_emu_swif_choose(nic);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, segment);
    fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    good = fd >= 0 && map(net, fd);
    if (!good)
        dnet_error("process %d: descriptor %d is not a network of this version (%u)", pid, segment,
                   DNET_SWITCHES_VERSION);
    if (fd >= 0)
        close(fd);
    if (good)
        return DNET_OK;
    dnet_emu_network_leave(nic);
    return DNET_ERR_FORMAT;
}

void dnet_emu_network_lost(const dnet_emu_nic_t *nic, dnet_emu_lost_way_t *lost_p)
{
    *lost_p = nic->network ? nic->network->lost : (dnet_emu_lost_way_t){.lid = 0};
}

void dnet_emu_network_leave(dnet_emu_nic_t *nic)
{
    if (!nic->network)
        return;
    if (nic->network->base)
        munmap(nic->network->base, nic->network->is.bytes);
    free(nic->network);
    nic->network = NULL;
    dnet_emu_swif_choose(nic);
}
