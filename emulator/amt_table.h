/* SPDX-License-Identifier: BSD-3-Clause
 *
 * AMT Address Table (data sheet 9.1): where an IPUSH packet goes.
 */
#ifndef DNET_EMU_AMT_TABLE_H
#define DNET_EMU_AMT_TABLE_H

#include "emulator/core_logic.h"

/* An IPUSH ring, as its AMT entry says; offsets in the SO-DIMM area, in bytes. */
typedef struct {
    uint32_t word;  /* index of the AMT entry in LLCM */
    uint32_t start; /* offset of the ring's first byte */
    uint32_t size;  /* of the ring */
    uint32_t head;  /* next byte the host frees */
    uint32_t tail;  /* next byte the Write Unit writes */
} dnet_emu_ring_t;

/* [nic 9.2, OP-17] The ring a packet belongs to: the sender's entry of the AMT Address Table names
 * a word of the destination WID's LLCM, whose Tail says where the ring lies.  False: no usable
 * ring. */
bool dnet_emu_amt_ring(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                       dnet_emu_ring_t *ring_p);

/* [nic 9.2] Free bytes; 8 stay unused so that full and empty differ.  A Head outside the ring
 * counts modulo its size, like the subtractor of the Write Unit. */
uint32_t dnet_emu_amt_free(const dnet_emu_ring_t *ring);

/* [nic 9.1, OP-16] A store to the AMT Address Table Interface writes one entry, common to both
 * WIDs. */
void dnet_emu_amt_set(const dnet_emu_nic_t *nic, uint64_t value);

/* [X.6] AMT Own Entry: the same for the packets of one sender to the own WID only. */
void dnet_emu_amt_set_own(const dnet_emu_nic_t *nic, unsigned wid);

#endif
