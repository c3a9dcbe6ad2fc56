/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface between NICs of one host (architecture: swif/shm).  A packet is delivered by
 * running the destination NIC's Receive Controller in the sender's context, on the destination's
 * segment, which is mapped at the first packet to it.  Packets to the own LID loop back (OP-57).
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/trace.h"
#include "emulator/aperture.h"
#include "emulator/memory.h"
#include "emulator/process.h"
#include "emulator/receive_controller.h"
#include "emulator/segment.h"
#include "emulator/swif/swif.h"

/* Where a LID lives. */
typedef struct {
    dnet_emu_locator_t at;                   /* id 0: no route */
    int32_t process[DNET_PROCESSES_PER_NIC]; /* for the NIC, once it is mapped */
    /* Why the last attempt to map it has failed, which has been logged; DNET_OK: it has not. */
    dnet_status_t failed;
} route_t;

/* By CLID.  Each packet looks at the first part only. */
struct dnet_emu_routes {
    dnet_emu_nic_t *nic[DNET_EMU_PEERS]; /* NULL: nothing mapped (yet) */
    route_t to[DNET_EMU_PEERS];
};

/* How long a first packet waits for descriptors or memory to map its destination. */
#define WAIT_NS 2000000000u
#define LOOK_EVERY_NS 1000000u

/* ---- routes ---- */

dnet_status_t dnet_emu_routes_make(dnet_emu_nic_t *nic)
{
    if (nic->routes)
        return DNET_OK;
    nic->routes = calloc(1, sizeof *nic->routes);
    if (!nic->routes) {
        dnet_error("no memory for routes: %zu bytes needed", sizeof *nic->routes);
        return DNET_ERR_NO_MEMORY;
    }
    nic->routes->nic[dnet_lid_to_clid(nic->lid)] = nic; /* loopback (OP-57) */
    nic->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return DNET_OK;
}

dnet_status_t dnet_emu_route(dnet_emu_nic_t *nic, const dnet_emu_locator_t *locator)
{
    uint16_t clid = dnet_lid_to_clid(locator->lid);
    dnet_status_t status = dnet_emu_routes_make(nic);

    if (status != DNET_OK)
        return status;
    if (locator->lid == 0 || locator->lid > DNET_LID_UNICAST_LAST ||
        dnet_clid_to_lid(clid) != locator->lid) {
        dnet_error("no route to LID %#x: not a LID of a NIC", locator->lid);
        return DNET_ERR_ARGUMENT;
    }
    if (locator->lid != nic->lid) {
        nic->routes->to[clid].at = *locator;
        nic->routes->to[clid].failed = DNET_OK;
    }
    return DNET_OK;
}

dnet_status_t dnet_emu_route_process(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid, int32_t pid)
{
    uint16_t clid = dnet_lid_to_clid(lid);

    if (!nic->routes || wid >= DNET_PROCESSES_PER_NIC || dnet_clid_to_lid(clid) != lid ||
        (!nic->routes->nic[clid] && nic->routes->to[clid].at.id == 0)) {
        dnet_error("no route to WID %u of LID %#x", wid, lid);
        return DNET_ERR_ARGUMENT;
    }
    nic->routes->to[clid].process[wid] = pid;
    if (nic->routes->nic[clid])
        nic->routes->nic[clid]->process[wid] = pid;
    return DNET_OK;
}

void dnet_emu_routes_drop(dnet_emu_nic_t *nic)
{
    for (unsigned i = 0; nic->routes && i < DNET_EMU_PEERS; i++)
        if (nic->routes->nic[i] && nic->routes->nic[i] != nic)
            dnet_emu_segment_leave(nic->routes->nic[i]);
    free(nic->routes);
    nic->routes = NULL;
    if (nic->spare_fd >= 0)
        close(nic->spare_fd);
    nic->spare_fd = -1;
}

/* ---- packets ---- */

/* May the cause be gone at the next attempt? */
static bool may_pass(dnet_status_t status)
{
    return status == DNET_ERR_NO_MEMORY || status == DNET_ERR_LIMIT;
}

/* Map the NIC behind a route.  A process that has used up its descriptors has one for this. */
static dnet_status_t attach_once(dnet_emu_nic_t *via, uint16_t clid, bool quiet)
{
    const route_t *route = &via->routes->to[clid];
    dnet_emu_nic_t *nic;
    dnet_status_t status;

    if (via->spare_fd >= 0)
        close(via->spare_fd);
    status = dnet_emu_segment_attach(&route->at, quiet ? DNET_EMU_ATTACH_QUIET : 0, &nic);
    if (status == DNET_OK) {
        /* Only the owner's own reserve call needs the descriptor; thousands of peers must not hold
         * one each. */
        dnet_emu_segment_close_descriptor(nic);
        dnet_emu_segment_protect_peer(nic);
        memcpy(nic->process, route->process, sizeof route->process);
        via->routes->nic[clid] = nic;
    }
    via->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return status;
}

/* The same; the first attempt waits for a while, the later ones of a route do not. */
static void attach_route(dnet_emu_nic_t *via, uint16_t clid)
{
    route_t *route = &via->routes->to[clid];
    const struct timespec pause = {.tv_nsec = LOOK_EVERY_NS};
    uint64_t start = dnet_clock_ns();
    bool first = route->failed == DNET_OK;

    do {
        bool last = !first || dnet_clock_ns() - start >= WAIT_NS;
        dnet_status_t status = attach_once(via, clid, !last || !first);

        if (status == DNET_OK || last || !may_pass(status)) {
            route->failed = status;
            return;
        }
    } while (nanosleep(&pause, NULL) == 0 || errno == EINTR);
}

/* The first packet to a LID, or one that cannot go: map the NIC behind it. */
DNET_COLD static dnet_emu_nic_t *peer_attach(dnet_emu_nic_t *via, uint16_t dlid)
{
    uint16_t clid = dnet_lid_to_clid(dlid);
    const route_t *route;

    if (dlid > DNET_LID_UNICAST_LAST) {
        dnet_emu_event(via, DNET_EMU_DROP_MULTICAST);
        return NULL;
    }
    if (!via->routes)
        return NULL;
    route = &via->routes->to[clid];
    if (via->routes->nic[clid] || route->at.id == 0 || dnet_clid_to_lid(clid) != dlid ||
        (route->failed != DNET_OK && !may_pass(route->failed)))
        return NULL;
    DNET_TRACE(attach, dlid, 0, 0);
    attach_route(via, clid);
    return via->routes->nic[clid];
}

static inline dnet_emu_nic_t *peer(dnet_emu_nic_t *via, uint16_t lid)
{
    uint16_t clid = dnet_lid_to_clid(lid);

    if (DNET_LIKELY(via->routes && dnet_clid_to_lid(clid) == lid && via->routes->nic[clid]))
        return lid <= DNET_LID_UNICAST_LAST ? via->routes->nic[clid] : NULL;
    return peer_attach(via, lid);
}

dnet_emu_nic_t *dnet_emu_swif_peer(dnet_emu_nic_t *via, uint16_t lid)
{
    return peer(via, lid);
}

/* What becomes of a packet whose destination is not there: its process has ended, or this one could
 * not map it. */
DNET_COLD static dnet_emu_result_t no_nic(const dnet_emu_nic_t *via, uint16_t dlid)
{
    dnet_status_t failed = via->routes ? via->routes->to[dnet_lid_to_clid(dlid)].failed : DNET_OK;

    return failed == DNET_OK || failed == DNET_ERR_PEER_DEAD ? DNET_EMU_UNREACHABLE
                                                             : DNET_EMU_REFUSED;
}

/* A function of its own, so that the way of all later packets saves no registers for it. */
DNET_COLD static dnet_emu_result_t first_packet(dnet_emu_nic_t *via, uint16_t dlid,
                                                dnet_emu_packet_t *packet)
{
    dnet_emu_nic_t *nic = peer(via, dlid);

    return nic ? dnet_emu_rc_receive(nic, packet) : no_nic(via, dlid);
}

static dnet_emu_result_t shm_send(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    uint16_t clid = dnet_lid_to_clid(dlid);

    if (DNET_LIKELY(via->routes && dnet_clid_to_lid(clid) == dlid && via->routes->nic[clid] &&
                    dlid <= DNET_LID_UNICAST_LAST))
        return dnet_emu_rc_receive(via->routes->nic[clid], packet);
    return first_packet(via, dlid, packet);
}

/* ---- peers ---- */

static bool shm_lost(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid)
{
    uint16_t clid = dnet_lid_to_clid(lid);
    const dnet_emu_nic_t *peer;
    int32_t pid;

    if (wid >= DNET_PROCESSES_PER_NIC || !nic->routes || dnet_clid_to_lid(clid) != lid)
        return false;
    peer = nic->routes->nic[clid];
    if (!peer)
        return nic->routes->to[clid].failed == DNET_ERR_PEER_DEAD;
    /* Closing a device clears its owner; a process that is killed does not. */
    pid = atomic_load_explicit(&peer->area[wid].state->owner, memory_order_acquire);
    if (pid != 0 && peer->process[wid] != 0)
        pid = peer->process[wid];
    return pid != 0 && pid != nic->pid && dnet_emu_process_ended(pid);
}

const dnet_emu_swif_ops_t dnet_emu_swif_shm = {.name = "shm", .send = shm_send, .lost = shm_lost};

bool dnet_emu_swif_can_copy(dnet_emu_nic_t *via, uint16_t lid, unsigned wid)
{
    const dnet_emu_nic_t *nic = wid < DNET_PROCESSES_PER_NIC ? peer(via, lid) : NULL;
    uint64_t word = 0;
    int32_t pid;

    if (!nic)
        return false;
    pid = atomic_load_explicit(&nic->area[wid].state->owner, memory_order_acquire);
    if (nic->process[wid] != 0 && pid != nic->process[wid])
        return false;
    if (pid == 0 || pid == via->pid)
        return pid != 0;
    return dnet_emu_remote_probe(pid, nic->area[wid].state->probe, &word) && word == DNET_EMU_MAGIC;
}

bool dnet_emu_swif_copy_from(const dnet_emu_nic_t *via, uint16_t lid, unsigned wid,
                             const void *from, void *to, uint64_t bytes)
{
    int32_t pid = via->routes->to[dnet_lid_to_clid(lid)].process[wid];

    return dnet_emu_remote_read(pid, (uintptr_t) from, to, bytes);
}

void *dnet_emu_swif_map(dnet_emu_nic_t *via, uint16_t lid, unsigned wid, uint64_t offset,
                        uint64_t len)
{
    uint16_t clid = dnet_lid_to_clid(lid);
    dnet_emu_locator_t own = {.pid = via->pid, .fd = via->fd, .id = via->id, .lid = via->lid};
    const dnet_emu_locator_t *at = lid == via->lid ? &own : &via->routes->to[clid].at;

    if (wid >= DNET_PROCESSES_PER_NIC || dnet_clid_to_lid(clid) != lid || at->id == 0 ||
        offset + len > dnet_emu_sodimm_area(via)) {
        dnet_error("no memory of WID %u of LID %#x to be mapped", wid, lid);
        return NULL;
    }
    return dnet_emu_segment_map_sodimm(at, wid, offset, len);
}

void dnet_emu_swif_wake(dnet_emu_nic_t *via, uint16_t lid, unsigned wid)
{
    const dnet_emu_nic_t *nic = peer(via, lid);

    if (nic && wid < DNET_PROCESSES_PER_NIC)
        dnet_emu_wake(nic->area[wid].state);
}
