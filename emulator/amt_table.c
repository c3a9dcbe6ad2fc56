/* SPDX-License-Identifier: BSD-3-Clause
 *
 * AMT Address Table (data sheet 9.1) and the geometry of IPUSH rings (9.2).
 */
#include "config.h"

#include "emulator/nic.h"

static uint32_t amt_index(uint16_t lid, unsigned wid)
{
    return (uint32_t) dnet_lid_to_clid(lid) << 1 | wid;
}

/* [nic 9.1, OP-16] A store to the AMT Address Table Interface writes one entry. */
void dnet_emu_amt_set(dnet_emu_nic_t *nic, uint64_t value)
{
    uint16_t lid = (uint16_t) DNET_GET(value, AMTI_LID);

    nic->state->amt_address[amt_index(lid, DNET_GET(value, AMTI_WID) & 1)] =
        (uint16_t) DNET_GET(value, AMTI_VALUE);
}

static uint16_t amt_word(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid)
{
    return nic->state->amt_address[amt_index(lid, wid & 1)] & 0xfff;
}

uint16_t dnet_emu_amt_word(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid)
{
    return amt_word(nic, lid, wid);
}

/*
 * [nic 9.2, OP-17] The ring a packet belongs to: the sender's entry of the AMT Address Table names a word of
 * the destination WID's LLCM, whose Tail says where the ring lies.  False: no usable ring.
 */
bool dnet_emu_amt_ring(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                       dnet_emu_ring_t *ring_p)
{
    uint32_t word = amt_word(nic, packet->slid, DNET_GET(packet->header[0], PK_SWID));
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
    if (DNET_EMU_LIKELY((size & (size - 1)) == 0))
        ring_p->start = ring_p->tail & ~(size - 1);
    else
        ring_p->start = ring_p->tail - ring_p->tail % size;
    return (uint64_t) ring_p->start + size <= dnet_emu_sodimm_area(nic);
}

/* [nic 9.2] Free bytes; 8 stay unused so that full and empty differ.  A Head outside the ring counts
 * modulo its size, like the subtractor of the Write Unit. */
uint32_t dnet_emu_amt_free(const dnet_emu_ring_t *ring)
{
    uint32_t used = ring->tail - ring->head;

    if (DNET_EMU_LIKELY((ring->size & (ring->size - 1)) == 0))
        used &= ring->size - 1;
    else
        used = (ring->tail - ring->start + ring->size - (ring->head % ring->size)) % ring->size;
    return used + 8 > ring->size ? 0 : ring->size - 8 - used;
}
