/* SPDX-License-Identifier: BSD-3-Clause
 *
 * AMT Address Table (data sheet 9.1): where an IPUSH packet goes.
 */
#ifndef DNET_EMU_AMT_TABLE_H
#define DNET_EMU_AMT_TABLE_H

#include "emulator/memory.h"

/* An IPUSH ring, as its AMT entry says; offsets in the SO-DIMM area, in bytes. */
typedef struct {
    uint32_t word;  /* index of the AMT entry in LLCM */
    uint32_t start; /* offset of the ring's first byte */
    uint32_t size;  /* of the ring */
    uint32_t grain; /* places are multiples of it */
    uint32_t head;  /* next byte the host frees */
    uint32_t tail;  /* next byte the Write Unit writes */
} dnet_emu_ring_t;

/* [nic 9.1] The place of a sender in the table. */
static inline uint32_t dnet_emu_amt_index(uint16_t lid, unsigned wid)
{
    return (uint32_t) dnet_lid_to_clid(lid) << 1 | wid;
}

/* [nic 9.1] The word of LLCM that the table names for the packets of a sender to this WID. */
static inline uint16_t dnet_emu_amt_lookup(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid,
                                           unsigned swid)
{
    return atomic_load_explicit((const _Atomic uint16_t *) &nic->state
                                    ->amt_address[wid][dnet_emu_amt_index(slid, swid & 1)],
                                memory_order_relaxed) &
           0xfff;
}

/* [nic 9.2, X.3] Places in the rings of a WID are multiples of so many bytes. */
static inline uint32_t dnet_emu_amt_grain(const dnet_emu_nic_t *nic, unsigned wid)
{
    uint64_t grain = nic->extended ? dnet_emu_ureg(nic, wid, DNET_UREG_IPUSH_GRAIN) : 0;

    return grain == DNET_IPUSH_GRAIN_MAX || grain == 32 || grain == 16 ? (uint32_t) grain : 8;
}

/* [nic 9.2, OP-17] The ring of a sender's packets: its entry of the AMT Address Table names
 * a word of the destination WID's LLCM, whose Tail says where the ring lies.  False: no usable
 * ring. */
static inline bool dnet_emu_amt_ring(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid,
                                     unsigned swid, dnet_emu_ring_t *ring_p)
{
    uint32_t word = dnet_emu_amt_lookup(nic, wid, slid, swid);
    uint64_t units = dnet_emu_ureg(nic, wid, DNET_UREG_IPUSH_AREA_SIZE) & 0xffff;
    uint32_t size = (uint32_t) units * 4096;
    const uint8_t *entry = nic->area[wid].llcm + word * 8ul;

    if (size == 0)
        return false;
    ring_p->word = word;
    ring_p->size = size;
    ring_p->grain = dnet_emu_amt_grain(nic, wid);
    /* By halves, as they are stored: a load of both waits until the store of the last packet's Tail
     * has left the processor, and every store before that. */
    ring_p->head = dnet_emu_observe32(entry);
    ring_p->tail = dnet_emu_observe32(entry + 4);
    if (DNET_LIKELY((size & (size - 1)) == 0))
        ring_p->start = ring_p->tail & ~(size - 1);
    else
        ring_p->start = ring_p->tail - ring_p->tail % size;
    return (uint64_t) ring_p->start + size <= dnet_emu_sodimm_area(nic);
}

/* [nic 9.2] What so many bytes take of a ring. */
static inline uint32_t dnet_emu_amt_taken(const dnet_emu_ring_t *ring, uint32_t bytes)
{
    return (bytes + ring->grain - 1) & ~(ring->grain - 1);
}

/* [nic 9.2] Free bytes; 8, or a grain, stay unused so that full and empty differ.  A Head outside
 * the ring counts modulo its size, like the subtractor of the Write Unit. */
static inline uint32_t dnet_emu_amt_free(const dnet_emu_ring_t *ring)
{
    uint32_t used = ring->tail - ring->head;

    if (DNET_LIKELY((ring->size & (ring->size - 1)) == 0))
        used &= ring->size - 1;
    else
        used = (ring->tail - ring->start + ring->size - (ring->head % ring->size)) % ring->size;
    return used + ring->grain > ring->size ? 0 : ring->size - ring->grain - used;
}

/* [nic 9.1, OP-16] A store to the AMT Address Table Interface writes one entry, common to both
 * WIDs. */
void dnet_emu_amt_set(const dnet_emu_nic_t *nic, uint64_t value);

/* [X.6] AMT Own Entry: the same for the packets of one sender to the own WID only. */
void dnet_emu_amt_set_own(const dnet_emu_nic_t *nic, unsigned wid);

#endif
