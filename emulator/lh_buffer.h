/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LH Buffer (data sheet section 10).
 */
#ifndef DNET_EMU_LH_BUFFER_H
#define DNET_EMU_LH_BUFFER_H

#include "emulator/amt_table.h"
#include "emulator/receive_side.h"

/* What fits an entry: envelope and data. */
#define DNET_EMU_LH_SHORT_BYTES (DNET_ENVELOPE_BYTES + DNET_LH_DATA_BYTES)

/* The LH entry so many behind the one that will be filled next. */
static inline dnet_lh_entry_t *dnet_emu_lh_ahead(const dnet_emu_nic_t *nic, unsigned wid,
                                                 uint32_t entries)
{
    uint32_t at = nic->area[wid].state->lh_tail + entries * DNET_LH_ENTRY_BYTES;

    return &nic->area[wid].lh[(at & nic->lh_mask) / DNET_LH_ENTRY_BYTES];
}

/* The LH entry that will be filled next. */
static inline dnet_lh_entry_t *dnet_emu_lh_next(const dnet_emu_nic_t *nic, unsigned wid)
{
    return dnet_emu_lh_ahead(nic, wid, 0);
}

/* An entry and ring bytes that are this packet's. */
typedef struct {
    dnet_lh_entry_t *entry; /* NULL: none */
    dnet_emu_reservation_t *reservation;
    dnet_emu_ring_t ring; /* Tail: where its bytes begin */
    uint64_t where;       /* line 1 */
    uint64_t flags;       /* of line 0 */
} dnet_emu_lh_place_t;

/* [nic 10.1, 10.2, 10.3, OP-54] First packet of an LHS message (lflag = 1) that fits the entry:
 * envelope with the flags in line 0, Pointer 0 and Size in line 1, data behind.  The receive side
 * is held; the packet is whole_lines. */
dnet_emu_result_t dnet_emu_lh_receive(const dnet_emu_nic_t *nic, unsigned wid,
                                      const dnet_emu_packet_t *packet);

/* [X.3] Lines that the entry of a packet of more than DNET_EMU_LH_SHORT_BYTES takes if its data all
 * lie in the entry. */
static inline uint32_t dnet_emu_lh_lines(const dnet_emu_packet_t *packet)
{
    return 1 + (packet->data_bytes - DNET_EMU_LH_SHORT_BYTES + DNET_LH_LINE_DATA_BYTES - 1) /
                   DNET_LH_LINE_DATA_BYTES;
}

/* [X.3] May the next entry have so many lines?  Half of the buffer stays for entries of one line,
 * whose rings have room of their own.  The receive side is held. */
bool dnet_emu_lh_lines_free(const dnet_emu_nic_t *nic, unsigned wid, uint32_t lines);

/* [X.3] As dnet_emu_lh_receive(), for a packet that is longer and fills so many lines, which are
 * free. */
void dnet_emu_lh_receive_lines(const dnet_emu_nic_t *nic, unsigned wid,
                               const dnet_emu_packet_t *packet, uint32_t lines);

/* [nic 10.3, 10.4, OP-24, OP-25, OP-26] One that is longer: its entry and the place of its bytes in
 * the ring.  The receive side is held.  `*place_p`: entry is NULL when there is none: dropped
 * (DELIVERED) or refused. False: nothing has happened, and place_p->ring needs memory for the
 * packet first. */
bool dnet_emu_lh_reserve(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                         dnet_emu_lh_place_t *place_p, dnet_emu_result_t *result_p);

/* Fill what was reserved: ring first, then the entry.  The receive side need not be held. */
void dnet_emu_lh_fill(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                      uint64_t envelope, const dnet_emu_lh_place_t *place);

#endif
