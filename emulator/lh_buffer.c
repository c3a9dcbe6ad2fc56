/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LH Buffer (data sheet section 10): a message's envelope, size, pointer and first 48 bytes into
 * one 64-byte entry, the rest into the sender's IPUSH ring.
 *
 * Called with the receive side of the WID held.  When everything fits the entry, Valid and Complete
 * flip in one store, written last: a polling host sees the line change hands once.
 */
#include "config.h"

#include "emulator/lh_buffer.h"

#include "emulator/amt_table.h"
#include "emulator/flow_ring.h"
#include "emulator/limit_event.h"
#include "emulator/write_unit.h"

/* Payload of a packet as whole lines, when it lies in a Write Window behind the header. */
static inline const uint8_t *payload_lines(const dnet_emu_packet_t *packet)
{
    return packet->whole_lines ? packet->span[0].at : NULL;
}

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
    dnet_emu_wid_t *s = nic->area[wid].state;
    uint32_t next = (s->lh_tail + DNET_LH_ENTRY_BYTES) & nic->lh_mask;

    if (DNET_LIKELY(next != s->lh_head_seen))
        return false;
    return look_at_head(nic, wid, next);
}

/* [nic 10.5] The next entry, and Tail behind it; the flags' polarity changes every lap (10.3). */
static inline void ring_advance(const dnet_emu_nic_t *nic, unsigned wid)
{
    dnet_emu_wid_t *s = nic->area[wid].state;

    s->lh_tail = (s->lh_tail + DNET_LH_ENTRY_BYTES) & nic->lh_mask;
    s->lh_flags ^= s->lh_tail == 0;
    dnet_emu_publish(nic->area[wid].ureg_load + DNET_UREG_LH_NEXT_WRITE, s->lh_tail);
}

/* [nic 10.3, 10.4, OP-24, OP-25, OP-26, OP-54] A message longer than an entry: the rest of its
 * first packet goes to the IPUSH ring, Pointer says where; Complete then speaks of this packet
 * only. */
static dnet_emu_result_t receive_split(const dnet_emu_nic_t *nic, unsigned wid,
                                       const dnet_emu_packet_t *packet, dnet_lh_entry_t *entry,
                                       uint64_t envelope, uint32_t message, uint32_t *pointer_p)
{
    const uint64_t flags = DNET_MASK(LH_VALID) | DNET_MASK(LH_COMPLETE);
    uint64_t now = nic->area[wid].state->lh_flags & 1 ? flags : 0;
    uint32_t first = DNET_ENVELOPE_BYTES + DNET_LH_DATA_BYTES;
    uint32_t in_entry = packet->data_bytes < first ? packet->data_bytes : first;
    uint32_t rest = packet->data_bytes - in_entry;
    dnet_emu_ring_t ring;

    if (!dnet_emu_amt_ring(nic, wid, packet, &ring) || rest > ring.size - 8) {
        dnet_emu_overflow(nic, wid);
        dnet_emu_event(nic, DNET_EMU_DROP_RING);
        return DNET_EMU_DELIVERED;
    }
    if (dnet_emu_amt_free(&ring) < ((rest + 7) & ~7u))
        return dnet_emu_flow_no_room(nic, wid, packet, rest);
    if (!dnet_emu_wu_memory(nic, wid, &ring, rest))
        return DNET_EMU_UNREACHABLE;
    *pointer_p = ring.tail;
    (void) dnet_emu_wu_append(nic, wid, &ring, packet, in_entry, rest);
    /* The entry last and in one go, Valid and Complete in one store: a host that polls the entry
     * pulls its line away at each pause, and has to give it back (64 B one way 0.44 us so,
     * nic_pingpong). */
    dnet_emu_poke(&entry->where, DNET_PUT(*pointer_p, LH_POINTER) | DNET_PUT(message, LH_SIZE));
    if (in_entry > DNET_ENVELOPE_BYTES)
        (void) dnet_emu_payload_copy(packet, DNET_ENVELOPE_BYTES, entry->data,
                                     in_entry - DNET_ENVELOPE_BYTES);
    dnet_emu_publish(&entry->envelope, envelope | now);
    ring_advance(nic, wid);
    return DNET_EMU_DELIVERED;
}

dnet_emu_result_t dnet_emu_lh_receive(const dnet_emu_nic_t *nic, unsigned wid,
                                      const dnet_emu_packet_t *packet, uint32_t *pointer_p)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    dnet_lh_entry_t *entry = dnet_emu_lh_next(nic, wid);
    const uint64_t flags = DNET_MASK(LH_VALID) | DNET_MASK(LH_COMPLETE);
    const uint8_t *lines = payload_lines(packet);
    uint32_t n = packet->data_bytes;
    uint32_t message =
        packet->header_lines > 2 ? (uint32_t) DNET_GET(packet->header[2], PK_TOTAL) : n;
    uint64_t envelope = 0;

    charge(nic, RC, 8); /* an entry has 8 lines */
    *pointer_p = 0;
    if (DNET_UNLIKELY(ring_full(nic, wid)))
        return dnet_emu_flow_no_room(nic, wid, packet, DNET_LH_ENTRY_BYTES);
    if (DNET_LIKELY(lines && n >= 8))
        memcpy(&envelope, lines, 8);
    else if (!dnet_emu_payload_copy(packet, 0, (uint8_t *) &envelope, n < 8 ? n : 8))
        return DNET_EMU_UNREACHABLE;
    envelope &= ~flags;
    message = message > DNET_ENVELOPE_BYTES ? message - DNET_ENVELOPE_BYTES : 0;
    if (DNET_UNLIKELY(n > DNET_ENVELOPE_BYTES + DNET_LH_DATA_BYTES))
        return receive_split(nic, wid, packet, entry, envelope, message, pointer_p);
    if (n > DNET_ENVELOPE_BYTES) {
        if (DNET_LIKELY(lines != NULL))
            dnet_emu_copy_lines(entry->data, lines + DNET_ENVELOPE_BYTES, n - DNET_ENVELOPE_BYTES);
        else if (!dnet_emu_payload_copy(packet, DNET_ENVELOPE_BYTES, entry->data,
                                        n - DNET_ENVELOPE_BYTES))
            return DNET_EMU_UNREACHABLE;
    }
    dnet_emu_poke(&entry->where, DNET_PUT(message, LH_SIZE));
    dnet_emu_publish(&entry->envelope, envelope | (s->lh_flags & 1 ? flags : 0));
    ring_advance(nic, wid);
    return DNET_EMU_DELIVERED;
}
