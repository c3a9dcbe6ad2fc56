/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receive Controller: a message that fits an LH entry, of one line or a few, or an entry and one
 * piece of its sender's ring, while nothing is against it.  It is the way of most messages, so
 * their sender's Window Controller comes here without a packet being made (window_controller.c),
 * where nothing lies between the two NICs but shared memory.
 */
#ifndef DNET_EMU_RECEIVE_ENTRY_H
#define DNET_EMU_RECEIVE_ENTRY_H

#include "emulator/lh_buffer.h"

/* How many entries ahead a line is asked for in a row of messages, so that it has come from the
 * receiver, who read it a lap ago, before its turn: the stores of one must not wait for the next.
 * Not one that the receiver polls. */
#define DNET_EMU_ENTRIES_AHEAD 4u

/* RC has not halted, and its process lets everything in: one look for all that may be against a
 * packet. */
static inline bool dnet_emu_rc_is_open(const dnet_emu_nic_t *nic, const dnet_emu_areas_t *a)
{
    return a->state->rc_state == 0 &&
           (nic->flow_entries == 0 ||
            dnet_emu_observe(a->ureg_store + DNET_UREG_FLOW_MODE) < DNET_FLOW_MODE_PAUSED);
}

/* [nic 4.3] The receive side is held. */
static inline void dnet_emu_rc_count(const dnet_emu_areas_t *a, uint32_t packets)
{
    a->state->packets += packets;
    dnet_emu_publish(a->ureg_load + DNET_UREG_PACKET_COUNTER, a->state->packets);
}

/* Header bits of an IPUSH packet that say what becomes of it, and what they are of one with an LH
 * entry, without receive status and third line. */
#define DNET_EMU_PLAIN_BITS \
    (DNET_PUT(0x1c, PK_TYPE) | DNET_MASK(PK_EFLAG) | DNET_MASK(PK_HFLAG) | DNET_MASK(PK_LFLAG))
#define DNET_EMU_PLAIN (DNET_PUT(DNET_PRIM_IPUSH, PK_TYPE) | DNET_MASK(PK_LFLAG))

/* [nic 7.3, 10.2, 10.3] Envelope and data, 8..DNET_EMU_LH_SHORT_BYTES bytes and readable up to a
 * multiple of 8, of a packet that is DNET_EMU_PLAIN.  False: something is against it, which
 * dnet_emu_rc_receive() finds, and nothing has happened.  `alone`: no other one is likely to follow
 * soon, so one line alone counts.  It is not asked for then, for a receiver that polls takes it
 * back before it is filled, nor are those behind, which that processor's prefetchers take back (8
 * bytes one way 0.38 us instead of 0.48 where no cache is shared, 0.13 instead of 0.15 where one
 * is).  On Zen 1 to ask brings nothing in a row either, and takes 5 to 15 % of the time. */
static inline bool dnet_emu_receive_short(const dnet_emu_nic_t *nic, unsigned wid,
                                          const uint8_t *lines, uint32_t n, bool alone)
{
    const dnet_emu_areas_t *a = &nic->area[wid];
    dnet_emu_wid_t *s = a->state;
    uint32_t tail;
    bool here;

    if (DNET_LIKELY(!alone && !dnet_is_zen1())) {
        dnet_prefetch_for_store(dnet_emu_lh_next(nic, wid));
        dnet_prefetch_for_store(dnet_emu_lh_ahead(nic, wid, DNET_EMU_ENTRIES_AHEAD));
    }
    dnet_emu_rc_acquire(nic, wid);
    tail = s->lh_tail;
    here = dnet_emu_rc_is_open(nic, a) && !dnet_emu_lh_seems_full(nic, s);
    if (DNET_LIKELY(here)) {
        dnet_lh_entry_t *entry = &a->lh[(tail & nic->lh_mask) / DNET_LH_ENTRY_BYTES];

        charge(nic, RC, 8); /* an entry has 8 lines */
        for (uint32_t at = DNET_ENVELOPE_BYTES; at < n; at += DNET_LINE_BYTES)
            memcpy(entry->data + at - DNET_ENVELOPE_BYTES, lines + at, DNET_LINE_BYTES);
        dnet_emu_poke(&entry->where, DNET_PUT(n - DNET_ENVELOPE_BYTES, LH_SIZE));
        dnet_emu_publish(&entry->envelope, (dnet_emu_peek(lines) & ~DNET_EMU_LH_FLAGS) |
                                               dnet_emu_lh_flags(nic, tail));
        dnet_emu_lh_advance(nic, a, 1);
        if (!alone)
            dnet_emu_lh_claim(nic, wid, 1);
        dnet_emu_rc_count(a, 1);
    }
    dnet_emu_rc_release(s);
    if (DNET_LIKELY(here))
        dnet_emu_wake(s);
    return here;
}

/* Lines that are asked for before they are stored to where one message alone counts: a processor
 * has some 12 under way, and the stores, of whole lines, want none of their content (Ice Lake: 1 KB
 * one way 0.57 us with all 19, 0.53 with none). */
#define DNET_EMU_ASKED_LINES 12u

/* [X.3] As dnet_emu_receive_short(), of more bytes than that, which lie in a few lines. */
static inline bool dnet_emu_receive_lines(const dnet_emu_nic_t *nic, unsigned wid,
                                          const uint8_t *first, uint32_t n, bool alone)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    uint32_t lines = dnet_emu_lh_lines(n);
    bool here;

    if (nic->flow_entries == 0 || lines > dnet_emu_ureg(nic, wid, DNET_UREG_LH_LINES))
        return false;
    for (uint32_t i = 0; i < lines && !(alone && lines > DNET_EMU_ASKED_LINES); i++)
        dnet_prefetch_for_store(dnet_emu_lh_ahead(nic, wid, i));
    dnet_emu_rc_acquire(nic, wid);
    here = dnet_emu_rc_is_open(nic, &nic->area[wid]) && dnet_emu_lh_lines_free(nic, wid, lines);
    if (DNET_LIKELY(here)) {
        dnet_emu_lh_receive_lines(nic, wid, first, n, lines, alone);
        dnet_emu_rc_count(&nic->area[wid], 1);
    }
    dnet_emu_rc_release(s);
    if (DNET_LIKELY(here))
        dnet_emu_wake(s);
    return here;
}

/* [nic 10.2, 10.3] A message of more bytes than an entry has, n with its envelope, of which the
 * entry and the sender's ring get what one packet has, or several that come together.  False:
 * nothing has happened, as above. */
static inline bool dnet_emu_receive_placed(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid,
                                           unsigned swid, const uint8_t *first, const uint8_t *data,
                                           uint32_t n, uint32_t message, uint32_t packets)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    dnet_emu_lh_place_t place;
    bool here;

    dnet_prefetch_for_store(dnet_emu_lh_next(nic, wid));
    dnet_emu_rc_acquire(nic, wid);
    here = dnet_emu_rc_is_open(nic, &nic->area[wid]) &&
           dnet_emu_lh_place(nic, wid, slid, swid, n, message, &place);
    if (DNET_LIKELY(here))
        dnet_emu_rc_count(&nic->area[wid], packets);
    dnet_emu_rc_release(s);
    if (DNET_UNLIKELY(!here))
        return false;
    dnet_emu_wu_copy_whole(nic, wid, &place.ring, data + DNET_LH_DATA_BYTES,
                           n - DNET_EMU_LH_SHORT_BYTES);
    dnet_emu_lh_finish(&place, dnet_emu_peek(first), data);
    dnet_emu_wake(s);
    return true;
}

/* One of the first two.  `alone`: no other one is likely to follow soon. */
static inline bool dnet_emu_receive_entry(const dnet_emu_nic_t *nic, unsigned wid,
                                          const uint8_t *first, uint32_t n, bool alone)
{
    return DNET_LIKELY(n <= DNET_EMU_LH_SHORT_BYTES)
               ? dnet_emu_receive_short(nic, wid, first, n, alone)
               : dnet_emu_receive_lines(nic, wid, first, n, alone);
}

#endif
