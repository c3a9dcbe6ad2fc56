/* SPDX-License-Identifier: BSD-3-Clause
 *
 * AMT Address Table (data sheet 9.1) and the geometry of IPUSH rings (9.2).
 */
#include "config.h"

#include "emulator/amt_table.h"

#include "emulator/memory.h"

static uint32_t amt_index(uint16_t lid, unsigned wid)
{
    return (uint32_t) dnet_lid_to_clid(lid) << 1 | wid;
}

/* One entry for packets to a WID.  Receivers read it once for each packet: the old ring or the new
 * one. */
static void set(const dnet_emu_nic_t *nic, unsigned wid, uint64_t value)
{
    uint32_t index = amt_index((uint16_t) DNET_GET(value, AMTI_LID), DNET_GET(value, AMTI_WID) & 1);

    atomic_store_explicit((_Atomic uint16_t *) &nic->state->amt_address[wid][index],
                          (uint16_t) DNET_GET(value, AMTI_VALUE), memory_order_relaxed);
}

void dnet_emu_amt_set(const dnet_emu_nic_t *nic, uint64_t value)
{
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        set(nic, w, value);
}

void dnet_emu_amt_set_own(const dnet_emu_nic_t *nic, unsigned wid)
{
    if (nic->flow_entries)
        set(nic, wid, dnet_emu_ureg(nic, wid, DNET_UREG_AMT_OWN));
}

static uint16_t amt_word(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid, unsigned swid)
{
    return atomic_load_explicit(
               (const _Atomic uint16_t *) &nic->state->amt_address[wid][amt_index(slid, swid & 1)],
               memory_order_relaxed) &
           0xfff;
}

uint16_t dnet_emu_amt_word(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid, unsigned swid)
{
    return amt_word(nic, wid, slid, swid);
}

bool dnet_emu_amt_ring(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                       dnet_emu_ring_t *ring_p)
{
    uint32_t word = amt_word(nic, wid, packet->slid, DNET_GET(packet->header[0], PK_SWID));
    uint64_t units = dnet_emu_ureg(nic, wid, DNET_UREG_IPUSH_AREA_SIZE) & 0xffff;
    uint32_t size = (uint32_t) units * 4096;
    uint64_t entry;

    if (size == 0)
        return false;
    entry = dnet_emu_observe(nic->area[wid].llcm + word * 8ul);
    ring_p->word = word;
    ring_p->size = size;
    ring_p->head = (uint32_t) DNET_GET(entry, AMT_HEAD);
    ring_p->tail = (uint32_t) DNET_GET(entry, AMT_TAIL);
    if (DNET_LIKELY((size & (size - 1)) == 0))
        ring_p->start = ring_p->tail & ~(size - 1);
    else
        ring_p->start = ring_p->tail - ring_p->tail % size;
    return (uint64_t) ring_p->start + size <= dnet_emu_sodimm_area(nic);
}

uint32_t dnet_emu_amt_free(const dnet_emu_ring_t *ring)
{
    uint32_t used = ring->tail - ring->head;

    if (DNET_LIKELY((ring->size & (ring->size - 1)) == 0))
        used &= ring->size - 1;
    else
        used = (ring->tail - ring->start + ring->size - (ring->head % ring->size)) % ring->size;
    return used + 8 > ring->size ? 0 : ring->size - 8 - used;
}
