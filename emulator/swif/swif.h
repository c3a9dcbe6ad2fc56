/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The plug between Core Logic and the network (architecture: Core Logic | SWIF).  A switch
 * interface carries packets in order per pair and without loss, with the source LID beside the
 * packet.
 */
#ifndef DNET_EMU_SWIF_H
#define DNET_EMU_SWIF_H

#include "emulator/core_logic.h"

struct dnet_emu_swif_ops {
    const char *name;
    /** Carry one packet to the NIC with LID dlid and say what became of it, or that it will show
     * LATER. */
    dnet_emu_result_t (*send)(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet);
    /** Has the process of that WID ended without closing its device, or gone out of reach? */
    bool (*lost)(dnet_emu_nic_t *via, uint16_t lid, unsigned wid);
    /** Deliver what has come for this process from elsewhere, and let go on what waits to leave, at
     * most so many packets.  NULL: nothing comes but by the processes that send it.  @return how
     * many have come */
    unsigned (*poll)(dnet_emu_nic_t *via, unsigned budget);
    /** Packets with so many bytes of data are issued from now on, and may wait for one another; 0:
     * these were all.  NULL: none waits. */
    void (*gather)(dnet_emu_nic_t *via, uint32_t bytes);
    /** This process has said that it sleeps: what comes from elsewhere shall wake it.  NULL: who
     * delivers does.  @return false: something has come already, or nothing could wake it */
    bool (*arm)(dnet_emu_nic_t *via);
};

/**
 * Make the table of routes, which only a NIC that sends needs.  DNET_ERR_NO_MEMORY: logged.
 * dnet_emu_route() fills it.
 */
dnet_status_t dnet_emu_routes_make(dnet_emu_nic_t *nic);

/** Leave all NICs that have been mapped, and free the table. */
void dnet_emu_routes_drop(dnet_emu_nic_t *nic);

/** The can_copy operation: may this process copy straight into and out of that one's memory? */
bool dnet_emu_swif_can_copy(dnet_emu_nic_t *via, uint16_t lid, unsigned wid);

/** The copy operation: out of that process's memory, or into it. */
dnet_status_t dnet_emu_swif_copy(const dnet_emu_nic_t *via, uint16_t lid, unsigned wid, bool stores,
                                 dnet_ranges_t own, dnet_ranges_t theirs);

/** The map operation: part of the SO-DIMM area of a WID. */
void *dnet_emu_swif_map(dnet_emu_nic_t *via, uint16_t lid, unsigned wid, uint64_t offset,
                        uint64_t len);

/** The wake operation: let a process that sleeps go on. */
void dnet_emu_swif_wake(dnet_emu_nic_t *via, uint16_t lid, unsigned wid);

/** The NIC that has a LID, mapped if need be; NULL: none, or it is gone. */
dnet_emu_nic_t *dnet_emu_swif_peer(dnet_emu_nic_t *via, uint16_t lid);

/** The NIC of this host that has a LID, if it is mapped already; NULL: it is not, or a guest's. */
static inline dnet_emu_nic_t *dnet_emu_swif_near(const dnet_emu_nic_t *via, uint16_t dlid)
{
    dnet_emu_nic_t *nic = DNET_LIKELY(via->near) ? via->near[dnet_lid_to_clid(dlid)] : NULL;

    return DNET_LIKELY(nic && nic->as_lid == dlid) ? nic : NULL;
}

/** Delivers by running the destination's Receive Controller in this process. */
extern const dnet_emu_swif_ops_t dnet_emu_swif_shm;

/** dnet_emu_swif_shm, and each packet follows the forwarding tables of the NIC's network. */
extern const dnet_emu_swif_ops_t dnet_emu_swif_switches;

/** The one of the two that the NIC has, and each packet goes to the NIC's capture file. */
extern const dnet_emu_swif_ops_t dnet_emu_swif_capture;

/** dnet_emu_swif_shm for NICs of this host, and a plug to the network for those of others. */
extern const dnet_emu_swif_ops_t dnet_emu_swif_hosts;

/**
 * [nic 7.4] Header of a part of a burst: what begins `from` bytes into its data and has `bytes` of
 * them, the first packet of it `first`.
 *
 * @param h  4 lines
 */
void dnet_emu_burst_header(const dnet_emu_nic_t *nic, const dnet_emu_packet_t *p, uint32_t from,
                           uint32_t bytes, uint32_t first, uint64_t *h);

/** What carries a NIC's packets, captured or not. */
static inline const dnet_emu_swif_ops_t *dnet_emu_swif_carrier(const dnet_emu_nic_t *nic)
{
    return nic->hosts     ? &dnet_emu_swif_hosts
           : nic->network ? &dnet_emu_swif_switches
                          : &dnet_emu_swif_shm;
}

/** Do packets that are handed over together come to a NIC together?  Where there is nothing but
 * shared memory, or a plug to other hosts, between the two, and nothing that looks at each packet.
 */
bool dnet_emu_swif_brings_together(const dnet_emu_nic_t *nic);

/** Plug in what the NIC's network and capture call for. */
static inline void dnet_emu_swif_choose(dnet_emu_nic_t *nic)
{
    nic->swif = nic->capture ? &dnet_emu_swif_capture : dnet_emu_swif_carrier(nic);
}

#endif
