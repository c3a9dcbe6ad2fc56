/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Write Unit (data sheet 4.2.2, 6.2, 6.7, 9.2): where received data go.
 */
#ifndef DNET_EMU_WRITE_UNIT_H
#define DNET_EMU_WRITE_UNIT_H

#include "common/move.h"
#include "emulator/amt_table.h"

/* Where `bytes` of a packet's data, from byte `from` on, lie in one piece in this process; NULL:
 * they do not. */
static inline const uint8_t *dnet_emu_payload_at(const dnet_emu_packet_t *packet, uint32_t from,
                                                 uint32_t bytes)
{
    const dnet_emu_span_t *span = &packet->span[0];

    if (packet->spans > 1 && from >= span->bytes)
        from -= (span++)->bytes;
    return span->pid == 0 && from + (uint64_t) bytes <= span->bytes ? span->at + from : NULL;
}

/* Copy `bytes` of a packet's data, from byte `from` on, to memory of this process.  False: a span
 * lies in another process and cannot be read. */
bool dnet_emu_payload_copy(const dnet_emu_packet_t *packet, uint32_t from, uint8_t *to,
                           uint32_t bytes);

/* Is there memory behind the part of a ring that the next `bytes` go to?  False: no, logged. */
bool dnet_emu_wu_memory(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_ring_t *ring,
                        uint32_t bytes);

/* Is that known without a call to the kernel? */
static inline bool dnet_emu_wu_memory_known(const dnet_emu_nic_t *nic, unsigned wid,
                                            const dnet_emu_ring_t *ring, uint32_t bytes)
{
    uint32_t to_end = ring->start + ring->size - ring->tail;
    uint32_t n1 = to_end < bytes ? to_end : bytes;

    return (n1 == 0 || dnet_emu_sodimm_known(nic, wid, ring->tail, n1)) &&
           (bytes == n1 || dnet_emu_sodimm_known(nic, wid, ring->start, bytes - n1));
}

/* [nic 9.2, 9.3] Copy `bytes` of a packet's data, from byte `from` on, to the ring's Tail.  The
 * caller has tested the free space and dnet_emu_wu_memory().  False: as dnet_emu_payload_copy(). */
bool dnet_emu_wu_copy(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_ring_t *ring,
                      const dnet_emu_packet_t *packet, uint32_t from, uint32_t bytes);

/* [nic 11.8] What that takes: ring 4, address 2, data 2, right 2, write 6. */
static inline uint32_t dnet_emu_wu_clocks(uint32_t bytes)
{
    return 16 + (bytes + 7) / 8 - 1;
}

/* Do the next bytes of a ring lie in one piece, in lines that are all the packet's? */
static inline bool dnet_emu_wu_is_whole(const dnet_emu_ring_t *ring, uint32_t bytes)
{
    uint32_t at = ring->tail - ring->start;

    return ring->size - at >= bytes && ring->grain == DNET_MOVE_LINE && at % DNET_MOVE_LINE == 0;
}

/* The same as dnet_emu_wu_copy() of data that lie in one piece in this process, where they do. */
static inline void dnet_emu_wu_copy_whole(const dnet_emu_nic_t *nic, unsigned wid,
                                          const dnet_emu_ring_t *ring, const uint8_t *data,
                                          uint32_t bytes)
{
    charge(nic, WU, dnet_emu_wu_clocks(bytes));
    dnet_move_lines(nic->area[wid].sodimm + ring->tail, data, bytes);
}

/* Ask for the lines that the next bytes of a sender's ring will be stored to. */
void dnet_emu_wu_expect(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid, unsigned swid,
                        uint32_t bytes);

/* [nic 9.2] The ring's Tail behind `bytes` more. */
static inline uint32_t dnet_emu_wu_tail(const dnet_emu_ring_t *ring, uint32_t bytes)
{
    uint32_t at = ring->tail - ring->start + dnet_emu_amt_taken(ring, bytes);

    return ring->start + (at >= ring->size ? at - ring->size : at);
}

/* [nic 9.3, OP-18] Store a ring's Tail where the host sees it: that half of the word only, the host
 * stores the Head half. */
static inline void dnet_emu_wu_store_tail(const dnet_emu_nic_t *nic, unsigned wid,
                                          const dnet_emu_ring_t *ring, uint32_t tail)
{
    dnet_emu_publish32(nic->area[wid].llcm + ring->word * 8ul + 4, tail);
}

/* [nic 6.7, OP-55] RVS, RVSS, RVSI: the data of one packet go where its header says.
 * DNET_EMU_UNREACHABLE: memory, or the process that has it, is not there. */
dnet_emu_result_t dnet_emu_wu_place(const dnet_emu_nic_t *nic, unsigned wid,
                                    const dnet_emu_packet_t *packet);

/* [nic 6.2, 6.3, OP-29, OP-30] Place data in SO-DIMM by access mode.  False: some of it passed the
 * end of the area. `*failed_p`: data could not be read, or memory could not be had. */
bool dnet_emu_wu_scatter(const dnet_emu_nic_t *nic, unsigned wid, unsigned access, uint32_t offset,
                         uint32_t stride_or_list, uint32_t element, uint32_t bytes,
                         const dnet_emu_packet_t *data, bool *failed_p);

#endif
