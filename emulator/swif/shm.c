/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface between NICs of one host (architecture: swif/shm).  A packet is delivered by
 * running the destination NIC's Receive Controller in the sender's context, on the destination's
 * segment, which is mapped at the first packet to it.  Packets to the own LID loop back (OP-57).
 */
#include "config.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/trace.h"
#include "emulator/aperture.h"
#include "emulator/process.h"
#include "emulator/receive_controller.h"
#include "emulator/segment.h"
#include "emulator/swif/swif.h"

/* Where a LID lives. */
struct dnet_emu_route {
    dnet_emu_nic_t *nic;   /* NULL: nothing mapped (yet) */
    dnet_emu_locator_t at; /* id 0: no route */
    bool failed;           /* attaching failed and has been logged */
};

/* ---- routes ---- */

dnet_status_t dnet_emu_routes_make(dnet_emu_nic_t *nic)
{
    if (nic->route)
        return DNET_OK;
    nic->route = calloc(DNET_EMU_PEERS, sizeof *nic->route);
    if (!nic->route) {
        dnet_error("no memory for routes: %zu bytes needed", DNET_EMU_PEERS * sizeof *nic->route);
        return DNET_ERR_NO_MEMORY;
    }
    nic->route[dnet_lid_to_clid(nic->lid)].nic = nic; /* loopback (OP-57) */
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
        nic->route[clid].at = *locator;
        nic->route[clid].failed = false;
    }
    return DNET_OK;
}

void dnet_emu_routes_drop(dnet_emu_nic_t *nic)
{
    for (unsigned i = 0; nic->route && i < DNET_EMU_PEERS; i++)
        if (nic->route[i].nic && nic->route[i].nic != nic)
            dnet_emu_segment_leave(nic->route[i].nic);
    free(nic->route);
    nic->route = NULL;
}

/* ---- packets ---- */

/* The first packet to a LID, or one that cannot go: map the NIC behind it. */
DNET_COLD static dnet_emu_nic_t *peer_attach(dnet_emu_nic_t *via, uint16_t dlid)
{
    uint16_t clid = dnet_lid_to_clid(dlid);
    dnet_emu_route_t *route;

    if (dlid > DNET_LID_UNICAST_LAST) {
        dnet_emu_event(via, DNET_EMU_DROP_MULTICAST);
        return NULL;
    }
    if (!via->route)
        return NULL;
    route = &via->route[clid];
    if (route->nic || route->at.id == 0 || route->failed || dnet_clid_to_lid(clid) != dlid)
        return NULL;
    DNET_TRACE(attach, dlid, 0, 0);
    if (dnet_emu_segment_attach(&route->at, false, &route->nic) != DNET_OK) {
        route->failed = true;
        route->nic = NULL;
        return NULL;
    }
    /* Only the owner's own reserve call needs the descriptor; thousands of peers must not hold one
     * each. */
    dnet_emu_segment_close_descriptor(route->nic);
    dnet_emu_segment_protect(route->nic);
    return route->nic;
}

static inline dnet_emu_nic_t *peer(dnet_emu_nic_t *via, uint16_t lid)
{
    uint16_t clid = dnet_lid_to_clid(lid);

    if (DNET_LIKELY(via->route && dnet_clid_to_lid(clid) == lid && via->route[clid].nic))
        return lid <= DNET_LID_UNICAST_LAST ? via->route[clid].nic : NULL;
    return peer_attach(via, lid);
}

dnet_emu_nic_t *dnet_emu_swif_peer(dnet_emu_nic_t *via, uint16_t lid)
{
    return peer(via, lid);
}

static dnet_emu_result_t shm_send(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    dnet_emu_nic_t *nic = peer(via, dlid);

    if (DNET_UNLIKELY(!nic))
        return DNET_EMU_UNREACHABLE;
    return dnet_emu_rc_receive(nic, packet);
}

const dnet_emu_swif_ops_t dnet_emu_swif_shm = {.name = "shm", .send = shm_send};

/* ---- peers ---- */

bool dnet_emu_swif_peer_lost(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid)
{
    uint16_t clid = dnet_lid_to_clid(lid);
    const dnet_emu_nic_t *peer;
    int32_t pid;

    if (wid >= DNET_PROCESSES_PER_NIC || !nic->route || dnet_clid_to_lid(clid) != lid)
        return false;
    peer = nic->route[clid].nic;
    if (!peer)
        return nic->route[clid].failed;
    /* Closing a device clears its owner; a process that is killed does not. */
    pid = atomic_load_explicit(&peer->area[wid].state->owner, memory_order_acquire);
    return pid != 0 && pid != nic->pid && dnet_emu_process_ended(pid);
}

bool dnet_emu_swif_can_copy(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid)
{
    uint16_t clid = dnet_lid_to_clid(lid);
    const dnet_emu_nic_t *peer;
    dnet_emu_nic_t *joined = NULL;
    bool can = false;
    int32_t pid;

    if (wid >= DNET_PROCESSES_PER_NIC || !nic->route || dnet_clid_to_lid(clid) != lid)
        return false;
    peer = nic->route[clid].nic;
    if (!peer) {
        if (nic->route[clid].at.id == 0 ||
            dnet_emu_segment_attach(&nic->route[clid].at, false, &joined) != DNET_OK)
            return false;
        peer = joined;
    }
    pid = atomic_load_explicit(&peer->area[wid].state->owner, memory_order_acquire);
    if (pid == nic->pid) {
        can = true;
    } else if (pid != 0) {
        uint64_t word = 0;

        can = dnet_emu_remote_probe(pid, peer->area[wid].state->probe, &word) &&
              word == DNET_EMU_MAGIC;
    }
    if (joined)
        dnet_emu_segment_leave(joined);
    return can;
}
