/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LH Buffer (data sheet section 10): a message's envelope, size, pointer and first 48 bytes into
 * one 64-byte entry, the rest into the sender's IPUSH ring.
 *
 * Valid and Complete flip in one store, written last: a polling host sees the line change hands
 * once.  What fits the entry is copied while the receive side is held: 48 bytes of the sender's own
 * Write Window.  Of a longer message only the place is reserved then; it is copied afterwards, for
 * its source may be any memory of the sender's program, and a page that has to be fetched first, or
 * a sender that is stopped meanwhile, would keep out all others.  The record of the reservation
 * says whose the place is, should that sender die (receive_side.c).
 */
#include "config.h"

#include "emulator/lh_buffer.h"

#include "common/log.h"
#include "emulator/amt_table.h"
#include "emulator/flow_ring.h"
#include "emulator/limit_event.h"
#include "emulator/write_unit.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* [nic 10.5, X.6] Head is where the ring seems to be full.  With the limit event armed the next
 * look is due where the limit is reached, so that the event costs nothing as long as it does not
 * happen. */
DNET_COLD static bool look_at_head(const dnet_emu_nic_t *nic, unsigned wid, uint32_t next)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    uint32_t head = (uint32_t) dnet_emu_ureg(nic, wid, DNET_UREG_LH_NEXT_READ) & nic->lh_mask &
                    ~(DNET_LH_ENTRY_BYTES - 1);
    uint32_t left = (head - next) & nic->lh_mask;

    s->lh_head_seen = head;
    if (s->lh_limit && left > s->lh_limit)
        s->lh_head_seen = (head - s->lh_limit) & nic->lh_mask;
    else if (s->lh_limit)
        dnet_emu_limit_happens(nic, wid);
    return left == 0;
}

/* [nic 10.5] Is the ring full?  Head is looked at again only when it seems so. */
static inline bool ring_full(const dnet_emu_nic_t *nic, unsigned wid)
{
    const dnet_emu_wid_t *s = nic->area[wid].state;

    return dnet_emu_lh_seems_full(nic, nic->area[wid].state) &&
           look_at_head(nic, wid, (s->lh_tail + DNET_LH_ENTRY_BYTES) & nic->lh_mask);
}

/* A sender reckons with rings of the size of its own. */
DNET_COLD static dnet_emu_result_t too_long(const dnet_emu_nic_t *nic, unsigned wid, uint32_t bytes,
                                            uint32_t ring_bytes)
{
    dnet_error("a message of %u bytes does not fit the IPUSH ring of process %d, of %u bytes; "
               "DIMMNET_RING_BYTES and DIMMNET_RINGS have to be the same in all ranks",
               bytes, nic->process[wid], ring_bytes);
    return DNET_EMU_REFUSED;
}

bool dnet_emu_lh_reserve(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                         dnet_emu_lh_place_t *place_p, dnet_emu_result_t *result_p)
{
    uint32_t rest = packet->data_bytes - DNET_EMU_LH_SHORT_BYTES;
    unsigned swid = (unsigned) DNET_GET(packet->header[0], PK_SWID);
    dnet_emu_ring_t *ring = &place_p->ring;

    place_p->entry = NULL;
    *result_p = DNET_EMU_DELIVERED;
    if (DNET_UNLIKELY(ring_full(nic, wid))) {
        *result_p = dnet_emu_flow_no_room(nic, wid, packet, DNET_LH_ENTRY_BYTES);
        return true;
    }
    if (!dnet_emu_amt_ring(nic, wid, packet->slid, swid, ring) || rest > ring->size - ring->grain) {
        dnet_emu_overflow(nic, wid);
        dnet_emu_event(nic, DNET_EMU_DROP_RING);
        if (packet->packets > 1)
            *result_p = too_long(nic, wid, rest, ring->size);
        return true;
    }
    if (dnet_emu_amt_free(ring) < dnet_emu_amt_taken(ring, rest)) {
        *result_p = dnet_emu_flow_no_room(nic, wid, packet, rest);
        return true;
    }
    if (!dnet_emu_wu_memory_known(nic, wid, ring, rest))
        return false;
    dnet_emu_lh_take(nic, wid, packet->data_bytes, dnet_emu_lh_message(packet), place_p);
    return true;
}

void dnet_emu_lh_fill(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                      uint64_t envelope, const dnet_emu_lh_place_t *place)
{
    const uint8_t *first = dnet_emu_payload_at(packet, DNET_ENVELOPE_BYTES, DNET_LH_DATA_BYTES);
    uint8_t gathered[DNET_LH_DATA_BYTES];

    (void) dnet_emu_wu_copy(nic, wid, &place->ring, packet, DNET_EMU_LH_SHORT_BYTES,
                            packet->data_bytes - DNET_EMU_LH_SHORT_BYTES);
    if (DNET_UNLIKELY(!first)) {
        (void) dnet_emu_payload_copy(packet, DNET_ENVELOPE_BYTES, gathered, DNET_LH_DATA_BYTES);
        first = gathered;
    }
    dnet_emu_lh_finish(place, envelope, first);
}

dnet_emu_result_t dnet_emu_lh_receive(const dnet_emu_nic_t *nic, unsigned wid,
                                      const dnet_emu_packet_t *packet)
{
    dnet_lh_entry_t *entry = dnet_emu_lh_next(nic, wid);
    const uint8_t *lines = packet->span[0].at;
    uint32_t n = packet->data_bytes;
    uint64_t envelope = 0;

    charge(nic, RC, 8); /* an entry has 8 lines */
    if (DNET_UNLIKELY(ring_full(nic, wid)))
        return dnet_emu_flow_no_room(nic, wid, packet, DNET_LH_ENTRY_BYTES);
    if (DNET_LIKELY(n >= DNET_ENVELOPE_BYTES))
        memcpy(&envelope, lines, DNET_ENVELOPE_BYTES);
    else
        memcpy(&envelope, lines, n);
    envelope &= ~DNET_EMU_LH_FLAGS;
    if (n > DNET_ENVELOPE_BYTES)
        dnet_emu_copy_lines(entry->data, lines + DNET_ENVELOPE_BYTES, n - DNET_ENVELOPE_BYTES);
    dnet_emu_poke(&entry->where, DNET_PUT(dnet_emu_lh_message(packet), LH_SIZE));
    dnet_emu_publish(&entry->envelope,
                     envelope | dnet_emu_lh_flags(nic, nic->area[wid].state->lh_tail));
    dnet_emu_lh_advance(nic, &nic->area[wid], 1);
    return DNET_EMU_DELIVERED;
}

DNET_COLD bool dnet_emu_lh_lines_free_now(const dnet_emu_nic_t *nic, unsigned wid, uint32_t lines)
{
    const dnet_emu_wid_t *s = nic->area[wid].state;

    if (s->lh_limit)
        return false;
    (void) look_at_head(nic, wid, (s->lh_tail + DNET_LH_ENTRY_BYTES) & nic->lh_mask);
    return dnet_emu_lh_lines_seem_free(nic, s, lines);
}

#ifdef __x86_64__
/* [X.3] The lines of an entry behind its first one, which lie one behind the other, by one store a
 * line, its flags and 56 bytes of data, `last` of the last one: one that is stored to as a whole
 * comes without its content from the receiver's cache (5 lines from one processor to the other 110
 * ns instead of 143). */
__attribute__((target("avx512f"))) static void fill_whole_lines(dnet_lh_entry_t *line,
                                                                uint64_t flags, const uint8_t *data,
                                                                uint32_t lines, uint32_t last)
{
    __m512i words = _mm512_maskz_set1_epi64(1, (long long) flags);

    for (data -= DNET_LINE_BYTES; --lines; data += DNET_LH_LINE_DATA_BYTES)
        _mm512_store_si512(line++, _mm512_mask_loadu_epi64(words, 0xfe, data));
    _mm512_store_si512(
        line, _mm512_mask_loadu_epi64(words, (__mmask8) ((2u << (last + 7) / 8) - 2), data));
}
#endif

/* The same on any processor, and wherever they lie. */
static void fill_lines(const dnet_emu_nic_t *nic, unsigned wid, const uint8_t *data, uint32_t bytes)
{
    uint32_t at = nic->area[wid].state->lh_tail;

    for (uint32_t i = 1; bytes; i++, data += DNET_LH_LINE_DATA_BYTES) {
        uint32_t n = bytes < DNET_LH_LINE_DATA_BYTES ? bytes : DNET_LH_LINE_DATA_BYTES;
        uint8_t *line = (uint8_t *) dnet_emu_lh_ahead(nic, wid, i);

        if (DNET_LIKELY(n == DNET_LH_LINE_DATA_BYTES))
            memcpy(line + DNET_LINE_BYTES, data, DNET_LH_LINE_DATA_BYTES);
        else
            dnet_emu_copy_lines(line + DNET_LINE_BYTES, data, n);
        dnet_emu_poke(line, dnet_emu_lh_flags(nic, at + i * DNET_LH_ENTRY_BYTES));
        bytes -= n;
    }
}

/* Entries whose lines are claimed ahead: of longer ones the stores wait together anyway (256 bytes
 * in a row 0.9 with it). */
#define CLAIMING_LINES 3u

void dnet_emu_lh_receive_lines(const dnet_emu_nic_t *nic, unsigned wid, const uint8_t *first,
                               uint32_t n, uint32_t lines, bool alone)
{
    const dnet_emu_areas_t *a = &nic->area[wid];
    uint32_t tail = a->state->lh_tail, at = tail & nic->lh_mask;
    uint64_t flags = dnet_emu_lh_flags(nic, tail), envelope;
    dnet_lh_entry_t *entry = &a->lh[at / DNET_LH_ENTRY_BYTES];
    const uint8_t *data = first + DNET_EMU_LH_SHORT_BYTES;
    uint32_t rest = n - DNET_EMU_LH_SHORT_BYTES;

    charge(nic, RC, 8 * lines);
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") &&
        DNET_LIKELY(at + lines * DNET_LH_ENTRY_BYTES <= nic->lh_mask + 1))
        fill_whole_lines(entry + 1, flags, data, lines - 1,
                         rest - (lines - 2) * DNET_LH_LINE_DATA_BYTES);
    else
#endif
        fill_lines(nic, wid, data, rest);
    /* The first line in one go, as in dnet_emu_lh_fill(). */
    memcpy(&envelope, first, sizeof envelope);
    memcpy(entry->data, first + DNET_ENVELOPE_BYTES, DNET_LH_DATA_BYTES);
    dnet_emu_poke(&entry->where, DNET_PUT(DNET_LH_POINTER_BEHIND, LH_POINTER) |
                                     DNET_PUT(n - DNET_ENVELOPE_BYTES, LH_SIZE));
    dnet_emu_publish(&entry->envelope, (envelope & ~DNET_EMU_LH_FLAGS) | flags);
    dnet_emu_lh_advance(nic, a, lines);
    if (lines <= CLAIMING_LINES)
        dnet_emu_lh_claim(nic, wid, lines);
    else if (alone && dnet_lines_stay_shared())
        dnet_emu_lh_claim_lines(nic, wid, a->state->lh_tail + DNET_LH_ENTRY_BYTES, lines - 1);
}
