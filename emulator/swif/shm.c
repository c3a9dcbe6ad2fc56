/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface between NICs of one host (architecture: swif/shm).  A packet is delivered by
 * running the destination NIC's Receive Controller in the sender's context, on the destination's
 * segment, which is mapped at the first packet to it.  Packets to the own LID loop back (OP-57).
 *
 * Between groups, whose LIDs mean different NICs, packets are routed: one leaves for the LID of a
 * guest, and arrives from the LID that this process has as a guest there.
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
#include "emulator/descriptor.h"
#include "emulator/guests.h"
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

/* What a route has beside, when it leads to a guest. */
typedef struct {
    dnet_emu_nic_t *nic; /* NULL: not mapped (yet) */
    uint32_t number;     /* that this process has there, then */
    uint8_t wid;
    bool there;
} guest_t;

/* By CLID.  Each packet looks at the first part only. */
struct dnet_emu_routes {
    dnet_emu_nic_t *nic[DNET_EMU_PEERS]; /* NULL: nothing mapped (yet), or a guest's */
    route_t to[DNET_EMU_PEERS];
    dnet_emu_guest_t own; /* this process, for others */
    guest_t *guests;      /* by number; NULL: there are none */
};

/* How long a first packet waits for what it takes to map its destination. */
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
    nic->near = nic->routes->nic;
    nic->near[dnet_lid_to_clid(nic->lid)] = nic; /* loopback (OP-57) */
    return DNET_OK;
}

/* A NIC that none is met by, as those of a cluster's keeper, needs none. */
static void have_spares(dnet_emu_nic_t *nic)
{
    unsigned n = nic->spare_fd[0] < 0 ? dnet_emu_descriptor_takes() : 0;

    for (unsigned i = 0; i < n; i++)
        if (nic->spare_fd[i] < 0)
            nic->spare_fd[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void give_up_spares(dnet_emu_nic_t *nic)
{
    for (unsigned i = 0; i < DNET_EMU_SPARE_FDS; i++) {
        if (nic->spare_fd[i] >= 0)
            close(nic->spare_fd[i]);
        nic->spare_fd[i] = -1;
    }
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
        have_spares(nic);
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

/* The guest with that CLID; NULL: none. */
static guest_t *guest_at(const dnet_emu_nic_t *via, uint16_t clid)
{
    uint32_t number = dnet_emu_guest_of(dnet_clid_to_lid(clid));

    return number && via->routes && via->routes->guests && via->routes->guests[number].there
               ? &via->routes->guests[number]
               : NULL;
}

static void guest_leave(guest_t *g)
{
    if (!g->nic)
        return;
    dnet_emu_guests_leave(g->nic, g->wid, g->number, DNET_EMU_GUEST_SENDS);
    dnet_emu_segment_leave(g->nic);
    g->nic = NULL;
}

void dnet_emu_routes_drop(dnet_emu_nic_t *nic)
{
    for (unsigned i = 0; nic->routes && i < DNET_EMU_PEERS; i++)
        if (nic->routes->nic[i] && nic->routes->nic[i] != nic)
            dnet_emu_segment_leave(nic->routes->nic[i]);
    for (unsigned n = 1; nic->routes && nic->routes->guests && n <= DNET_GUESTS_MAX; n++)
        guest_leave(&nic->routes->guests[n]);
    if (nic->routes)
        free(nic->routes->guests);
    free(nic->routes);
    nic->routes = NULL;
    nic->near = NULL;
    give_up_spares(nic);
}

/* ---- packets ---- */

/* May the cause be gone at the next attempt? */
static bool may_pass(dnet_status_t status)
{
    return status == DNET_ERR_NO_MEMORY || status == DNET_ERR_LIMIT;
}

/* Map the NIC behind a route.  A process that has used up its descriptors has some for this. */
static dnet_status_t attach_once(dnet_emu_nic_t *via, uint16_t clid, bool quiet)
{
    const route_t *route = &via->routes->to[clid];
    guest_t *guest = guest_at(via, clid);
    dnet_emu_nic_t *nic;
    dnet_status_t status;

    give_up_spares(via);
    status = dnet_emu_segment_attach(&route->at, quiet ? DNET_EMU_ATTACH_QUIET : 0, &nic);
    if (status == DNET_OK && guest) {
        status = dnet_emu_guests_enter(nic, guest->wid, &via->routes->own, DNET_EMU_GUEST_SENDS,
                                       &guest->number);
        if (status != DNET_OK)
            dnet_emu_segment_leave(nic);
    }
    if (status == DNET_OK) {
        /* Only the owner's own reserve call needs the descriptor; thousands of peers must not hold
         * one each. */
        dnet_emu_segment_close_descriptor(nic);
        dnet_emu_segment_protect_peer(nic);
        memcpy(nic->process, route->process, sizeof route->process);
        *(guest ? &guest->nic : &via->routes->nic[clid]) = nic;
        if (guest)
            nic->as_lid = dnet_clid_to_lid(clid);
    }
    have_spares(via);
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
    const guest_t *guest = guest_at(via, clid);
    const route_t *route;

    if (guest && guest->nic)
        return guest->nic;
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
    return guest ? guest->nic : via->routes->nic[clid];
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

/* To a guest: between groups each end has a LID of the other's.  What answers an RVL returns to the
 * own one. */
static dnet_emu_result_t to_guest(const guest_t *guest, dnet_emu_packet_t *packet)
{
    dnet_emu_packet_t there = *packet;
    dnet_emu_result_t result;

    there.slid = dnet_emu_guest_lid(guest->number);
    there.header[0] = (there.header[0] & ~DNET_MASK(PK_DLID)) | DNET_PUT(guest->nic->lid, PK_DLID);
    result = dnet_emu_rc_receive(guest->nic, &there);
    packet->service_nic = there.service_nic;
    packet->answer = there.answer;
    if (result == DNET_EMU_SERVE) {
        packet->service = there.service;
        packet->service.lower = (packet->service.lower & ~DNET_MASK(RQ_DCLID)) |
                                DNET_PUT(dnet_lid_to_clid(packet->slid), RQ_DCLID);
    }
    return result;
}

/* A function of its own, so that the way of all later packets saves no registers for it. */
DNET_COLD static dnet_emu_result_t first_packet(dnet_emu_nic_t *via, uint16_t dlid,
                                                dnet_emu_packet_t *packet)
{
    dnet_emu_nic_t *nic = peer(via, dlid);
    const guest_t *guest = guest_at(via, dnet_lid_to_clid(dlid));

    if (!nic)
        return no_nic(via, dlid);
    return guest ? to_guest(guest, packet) : dnet_emu_rc_receive(nic, packet);
}

static dnet_emu_result_t shm_send(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    dnet_emu_nic_t *nic = dnet_emu_swif_near(via, dlid);

    return DNET_LIKELY(nic) ? dnet_emu_rc_receive(nic, packet) : first_packet(via, dlid, packet);
}

/* ---- peers ---- */

static bool shm_lost(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid)
{
    uint16_t clid = dnet_lid_to_clid(lid);
    const dnet_emu_nic_t *peer;
    const guest_t *guest = guest_at(nic, clid);
    const _Atomic int32_t *owner;
    int32_t pid;

    if (wid >= DNET_PROCESSES_PER_NIC || !nic->routes || dnet_clid_to_lid(clid) != lid)
        return false;
    peer = guest ? guest->nic : nic->routes->nic[clid];
    if (!peer && guest && dnet_emu_guest_left(nic, dnet_emu_guest_of(lid)))
        return false;
    if (!peer)
        return nic->routes->to[clid].failed == DNET_ERR_PEER_DEAD ||
               (guest && dnet_emu_guests_lost(nic, nic->routes->own.wid, dnet_emu_guest_of(lid)));
    /* Closing a device clears its owner; a process that is killed does not. */
    owner = &peer->area[wid].state->owner;
    pid = atomic_load_explicit(owner, memory_order_acquire);
    if (pid != 0 && peer->process[wid] != 0)
        pid = peer->process[wid];
    if (pid == 0 || pid == nic->pid || !dnet_emu_process_ended(pid))
        return false;
    /* It may have closed its device, and ended, since the first look. */
    return atomic_load_explicit(owner, memory_order_acquire) != 0;
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

dnet_status_t dnet_emu_swif_copy(const dnet_emu_nic_t *via, uint16_t lid, unsigned wid, bool stores,
                                 dnet_ranges_t own, dnet_ranges_t theirs)
{
    int32_t pid = via->routes->to[dnet_lid_to_clid(lid)].process[wid];

    return dnet_emu_remote_copy(pid, stores, own, theirs);
}

static dnet_emu_locator_t own_locator(const dnet_emu_nic_t *nic)
{
    return (dnet_emu_locator_t){.pid = nic->pid, .fd = nic->fd, .id = nic->id, .lid = nic->lid};
}

void *dnet_emu_swif_map(dnet_emu_nic_t *via, uint16_t lid, unsigned wid, uint64_t offset,
                        uint64_t len)
{
    uint16_t clid = dnet_lid_to_clid(lid);
    dnet_emu_locator_t own = own_locator(via);
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

/* ---- guests ---- */

bool dnet_emu_guest_self(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid,
                         dnet_emu_guest_t *guest_p)
{
    uint16_t clid = dnet_lid_to_clid(lid);

    if (!nic->routes || (lid != nic->lid && nic->routes->to[clid].at.id == 0))
        return false;
    *guest_p = (dnet_emu_guest_t){
        .nic = nic->routes->to[clid].at,
        .pid = nic->routes->to[clid].process[wid],
        .wid = (uint8_t) wid,
        .pgid = dnet_emu_pgid(nic, wid),
    };
    if (lid == nic->lid)
        guest_p->nic = own_locator(nic);
    return true;
}

dnet_status_t dnet_emu_guest_add(dnet_emu_nic_t *nic, const dnet_emu_guest_t *own,
                                 const dnet_emu_guest_t *guest, uint32_t *number_p)
{
    struct dnet_emu_routes *routes = nic->routes;
    uint32_t number = 0;
    dnet_status_t status =
        dnet_emu_guests_enter(nic, own->wid, guest, DNET_EMU_GUEST_HOSTED, &number);
    route_t *to;

    if (status == DNET_OK && !routes->guests) {
        routes->guests = calloc(DNET_GUESTS_MAX + 1, sizeof *routes->guests);
        status = routes->guests ? DNET_OK : DNET_ERR_NO_MEMORY;
    }
    if (status != DNET_OK)
        return status;
    have_spares(nic);
    routes->own = *own;
    to = &routes->to[DNET_GUESTS_CLID + number];
    if (!routes->guests[number].there)
        *to = (route_t){.at = guest->nic};
    to->process[guest->wid & 1] = guest->pid;
    routes->guests[number].wid = guest->wid & 1;
    routes->guests[number].there = true;
    *number_p = number;
    return DNET_OK;
}

bool dnet_emu_guest_find(dnet_emu_nic_t *nic, unsigned wid, uint32_t number,
                         dnet_emu_guest_t *guest_p)
{
    return dnet_emu_guests_get(nic, wid, number, guest_p);
}

uint32_t dnet_emu_guest_number(dnet_emu_nic_t *nic, uint32_t number)
{
    uint16_t lid = dnet_emu_guest_lid(number);

    return peer(nic, lid) ? guest_at(nic, dnet_lid_to_clid(lid))->number : 0;
}

bool dnet_emu_guest_left(const dnet_emu_nic_t *nic, uint32_t number)
{
    const guest_t *g = guest_at(nic, (uint16_t) (DNET_GUESTS_CLID + number));

    if (!g)
        return false;
    return g->nic
               ? atomic_load_explicit(&g->nic->area[g->wid].state->owner, memory_order_acquire) == 0
               : dnet_emu_guests_left(nic, nic->routes->own.wid, number);
}

void dnet_emu_guest_drop(dnet_emu_nic_t *nic, uint32_t number)
{
    guest_t *g = guest_at(nic, (uint16_t) (DNET_GUESTS_CLID + number));

    if (!g)
        return;
    guest_leave(g);
    g->there = false;
    nic->routes->to[DNET_GUESTS_CLID + number] = (route_t){0};
    dnet_emu_guests_leave(nic, nic->routes->own.wid, number, DNET_EMU_GUEST_HOSTED);
}
