/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LH Buffer (data sheet section 10).
 */
#ifndef DNET_EMU_LH_BUFFER_H
#define DNET_EMU_LH_BUFFER_H

#include <string.h>

#include "emulator/amt_table.h"
#include "emulator/receive_side.h"
#include "emulator/write_unit.h"

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

/* [nic 10.5] Is the ring full as far as Head was last looked at?  The receive side is held. */
static inline bool dnet_emu_lh_seems_full(const dnet_emu_nic_t *nic, const dnet_emu_wid_t *s)
{
    return DNET_UNLIKELY(((s->lh_tail + DNET_LH_ENTRY_BYTES) & nic->lh_mask) == s->lh_head_seen);
}

#define DNET_EMU_LH_BLOCK (8u * DNET_LH_ENTRY_BYTES)

/* Store to so many lines behind that value of lh_tail, none 24 or more on, so that they are this
 * processor's before their turn.  A receiver that reads a line leaves it shared, and on Zen 4
 * a prefetch does not change that: the store of each entry waits for its line then, behind all
 * others of its message (8 bytes in a row 16 million a second so, 22 with it).  Stores to several
 * lines at once wait together.  The entries are free, and the word means nothing before their
 * flags.  Where a prefetch does, a store ahead is one transfer more (Ice Lake: 1 KB one way 0.60 us
 * so, 0.57 without). */
static inline void dnet_emu_lh_claim_lines(const dnet_emu_nic_t *nic, unsigned wid, uint32_t at,
                                           uint32_t lines)
{
    const dnet_emu_wid_t *s = nic->area[wid].state;

    if (DNET_UNLIKELY(((s->lh_head_seen - s->lh_tail) & nic->lh_mask) < 4 * DNET_EMU_LH_BLOCK))
        return;
    for (; lines; lines--, at += DNET_LH_ENTRY_BYTES)
        dnet_emu_poke(&nic->area[wid].lh[(at & nic->lh_mask) / DNET_LH_ENTRY_BYTES].where, 0);
}

/* Tail is so many lines further than it was.  Where that began a block of lines, claim the next. */
static inline void dnet_emu_lh_claim(const dnet_emu_nic_t *nic, unsigned wid, uint32_t lines)
{
    uint32_t tail = nic->area[wid].state->lh_tail, before = tail - lines * DNET_LH_ENTRY_BYTES;

    if (DNET_UNLIKELY((tail ^ before) >= DNET_EMU_LH_BLOCK) && dnet_lines_stay_shared())
        dnet_emu_lh_claim_lines(nic, wid, (tail & ~(DNET_EMU_LH_BLOCK - 1)) + DNET_EMU_LH_BLOCK,
                                DNET_EMU_LH_BLOCK / DNET_LH_ENTRY_BYTES);
}

/* An entry and ring bytes that are this packet's. */
typedef struct {
    dnet_lh_entry_t *entry; /* NULL: none */
    dnet_emu_ring_t ring;   /* Tail: where its bytes begin */
    uint64_t where;         /* line 1 */
    uint64_t flags;         /* of line 0 */
} dnet_emu_lh_place_t;

/* [nic 10.1, 10.2, 10.3, OP-54] First packet of an LHS message (lflag = 1) that fits the entry:
 * envelope with the flags in line 0, Pointer 0 and Size in line 1, data behind.  The receive side
 * is held; the packet is whole_lines. */
dnet_emu_result_t dnet_emu_lh_receive(const dnet_emu_nic_t *nic, unsigned wid,
                                      const dnet_emu_packet_t *packet);

/* [X.3] Lines of an entry that holds envelope and data, together n bytes. */
static inline uint32_t dnet_emu_lh_lines(uint32_t n)
{
    return n <= DNET_EMU_LH_SHORT_BYTES
               ? 1
               : 1 + (n - DNET_EMU_LH_SHORT_BYTES + DNET_LH_LINE_DATA_BYTES - 1) /
                         DNET_LH_LINE_DATA_BYTES;
}

/* [X.3] dnet_emu_lh_lines_free(), as far as Head was last looked at. */
static inline bool dnet_emu_lh_lines_seem_free(const dnet_emu_nic_t *nic, const dnet_emu_wid_t *s,
                                               uint32_t lines)
{
    uint32_t least = (nic->lh_mask + 1) / 2 + lines * DNET_LH_ENTRY_BYTES;

    return ((s->lh_head_seen - s->lh_tail - DNET_LH_ENTRY_BYTES) & nic->lh_mask) >= least;
}

/* The same after a look at it. */
bool dnet_emu_lh_lines_free_now(const dnet_emu_nic_t *nic, unsigned wid, uint32_t lines);

/* [X.3] May the next entry have so many lines?  Half of the buffer stays for entries of one line,
 * whose rings have room of their own.  The receive side is held. */
static inline bool dnet_emu_lh_lines_free(const dnet_emu_nic_t *nic, unsigned wid, uint32_t lines)
{
    return DNET_LIKELY(dnet_emu_lh_lines_seem_free(nic, nic->area[wid].state, lines)) ||
           dnet_emu_lh_lines_free_now(nic, wid, lines);
}

/* [X.3] Envelope and data of a packet, n bytes and more than DNET_EMU_LH_SHORT_BYTES, into an entry
 * of so many lines, which are free.  `alone`: the next one is likely to come later, and may be as
 * long.  The receive side is held. */
void dnet_emu_lh_receive_lines(const dnet_emu_nic_t *nic, unsigned wid, const uint8_t *first,
                               uint32_t n, uint32_t lines, bool alone);

/* [nic 10.4] What an entry says is the size of a message: without its envelope, of all its packets.
 */
static inline uint32_t dnet_emu_lh_message(const dnet_emu_packet_t *packet)
{
    uint32_t n = packet->header_lines > 2 ? (uint32_t) DNET_GET(packet->header[2], PK_TOTAL)
                                          : packet->data_bytes;

    return n > DNET_ENVELOPE_BYTES ? n - DNET_ENVELOPE_BYTES : 0;
}

/* [nic 10.5] The entry at lh_tail, and ring bytes behind the ring's Tail, become a packet's that
 * has n bytes and is the first of such a message.  In the order that receive_side.c relies on. */
static inline void dnet_emu_lh_take(const dnet_emu_nic_t *nic, unsigned wid, uint32_t n,
                                    uint32_t message, dnet_emu_lh_place_t *place_p)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    const dnet_emu_ring_t *ring = &place_p->ring;
    uint32_t bytes = n - DNET_ENVELOPE_BYTES;
    uint32_t tail = dnet_emu_wu_tail(ring, n - DNET_EMU_LH_SHORT_BYTES);
    dnet_emu_reservation_t *r = &s->reserved[(s->lh_tail & nic->lh_mask) / DNET_LH_ENTRY_BYTES];

    charge(nic, RC, 8); /* an entry has 8 lines */
    place_p->entry = dnet_emu_lh_next(nic, wid);
    place_p->flags = dnet_emu_lh_flags(nic, s->lh_tail);
    place_p->where = DNET_PUT(ring->tail, LH_POINTER) | DNET_PUT(message, LH_SIZE);
    dnet_emu_poke(&r->where, DNET_PUT(ring->tail, LH_POINTER) | DNET_PUT(bytes, LH_SIZE));
    dnet_emu_poke(&r->ring, (uint64_t) tail << 32 | ring->word);
    atomic_store_explicit(&r->owner, (uint64_t) s->lh_tail << 32 | (uint32_t) nic->pid,
                          memory_order_release);
    dnet_emu_wu_store_tail(nic, wid, ring, tail);
    dnet_emu_lh_advance(nic, &nic->area[wid], 1);
}

/* [nic 10.3, 10.4, OP-24, OP-25, OP-26] The same of a sender whose packet is longer than an entry,
 * where there are both, the bytes in the ring as dnet_emu_wu_is_whole() wants them.  The receive
 * side is held.  False: nothing has happened, and dnet_emu_lh_reserve() finds out why. */
static inline bool dnet_emu_lh_place(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid,
                                     unsigned swid, uint32_t n, uint32_t message,
                                     dnet_emu_lh_place_t *place_p)
{
    uint32_t rest = n - DNET_EMU_LH_SHORT_BYTES;
    const dnet_emu_ring_t *ring = &place_p->ring;

    if (DNET_UNLIKELY(dnet_emu_lh_seems_full(nic, nic->area[wid].state) ||
                      !dnet_emu_amt_ring(nic, wid, slid, swid, &place_p->ring) ||
                      !dnet_emu_wu_is_whole(ring, rest) ||
                      dnet_emu_amt_free(ring) < dnet_emu_amt_taken(ring, rest) ||
                      !dnet_emu_wu_memory_known(nic, wid, ring, rest)))
        return false;
    dnet_emu_lh_take(nic, wid, n, message, place_p);
    return true;
}

/* The same with what else may become of it.  `*place_p`: entry is NULL when there is none: dropped
 * (DELIVERED) or refused.  False: nothing has happened, and place_p->ring needs memory for the
 * packet first. */
bool dnet_emu_lh_reserve(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                         dnet_emu_lh_place_t *place_p, dnet_emu_result_t *result_p);

/* What was reserved is filled but for the entry.  It comes last and in one go, Valid and Complete
 * in one store: a host that polls the entry pulls its line away at each pause, and has to give it
 * back (64 B one way 0.44 us so, nic_pingpong).  `first`: the data behind the envelope. */
static inline void dnet_emu_lh_finish(const dnet_emu_lh_place_t *place, uint64_t envelope,
                                      const uint8_t *first)
{
    dnet_emu_poke(&place->entry->where, place->where);
    memcpy(place->entry->data, first, DNET_LH_DATA_BYTES);
    dnet_emu_publish(&place->entry->envelope, (envelope & ~DNET_EMU_LH_FLAGS) | place->flags);
}

/* Fill what was reserved: ring first, then the entry.  The receive side need not be held. */
void dnet_emu_lh_fill(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                      uint64_t envelope, const dnet_emu_lh_place_t *place);

#endif
