/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface between NICs of one host (architecture: swif/shm).  A packet is delivered by
 * running the destination NIC's Receive Controller in the sender's context, on the destination's
 * segment, which is mapped at the first packet to it.  Packets to the own LID loop back (OP-57).
 */
#include "config.h"

#include <stddef.h>

#include "common/log.h"
#include "common/trace.h"
#include "emulator/swif/swif.h"

/* The first packet to a LID, or one that cannot go: map the NIC behind it. */
DNET_EMU_COLD static dnet_emu_nic_t *peer_attach(dnet_emu_nic_t *via, uint16_t dlid)
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
    if (dnet_emu_attach(&route->at, &route->nic) != DNET_OK) {
        route->failed = true;
        route->nic = NULL;
        return NULL;
    }
    /* Only the owner's own reserve call needs the descriptor; thousands of peers must not hold one
     * each. */
    dnet_emu_close_descriptor(route->nic);
    dnet_emu_segment_protect(route->nic);
    return route->nic;
}

static inline dnet_emu_nic_t *peer(dnet_emu_nic_t *via, uint16_t lid)
{
    uint16_t clid = dnet_lid_to_clid(lid);

    if (DNET_EMU_LIKELY(via->route && dnet_clid_to_lid(clid) == lid && via->route[clid].nic))
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

    if (DNET_EMU_UNLIKELY(!nic))
        return DNET_EMU_UNREACHABLE;
    return dnet_emu_rc_receive(nic, packet);
}

const dnet_emu_swif_ops_t dnet_emu_swif_shm = {.name = "shm", .send = shm_send};
