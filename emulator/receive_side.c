/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receive side of a WID (one process at a time delivers), and what those leave that die there.
 *
 * What a holder changes, it changes in an order that lets its successor see how far it has come:
 *
 *   an entry       the lines behind its first; data, line 1, then line 0 with the flags; lh_tail;
 *                  Tail register
 *   a reservation  its record, `owner` last; the ring's Tail; lh_tail; Tail register
 *   flow ring      arg, then word; flow_tail
 *   status ring    the entry; status_tail; its register
 *
 * So at most one entry of each is there that its counter does not count yet.
 */
#include "config.h"

#include "emulator/receive_side.h"

#include "emulator/status_write_unit.h"

/* [X.3] Lines of an entry that was never finished: the host must not take them for new ones.  Those
 * that it has not reached are of the lap before, and may be entries that nobody has read. */
static void turn_back(const dnet_emu_nic_t *nic, unsigned wid)
{
    for (uint32_t i = 1; i < DNET_LH_LINES_MAX; i++) {
        uint32_t at = nic->area[wid].state->lh_tail + i * DNET_LH_ENTRY_BYTES;
        dnet_lh_entry_t *line = &nic->area[wid].lh[(at & nic->lh_mask) / DNET_LH_ENTRY_BYTES];

        if ((dnet_emu_observe(&line->envelope) & DNET_EMU_LH_FLAGS) == dnet_emu_lh_flags(nic, at))
            dnet_emu_publish(&line->envelope, dnet_emu_lh_flags(nic, at) ^ DNET_EMU_LH_FLAGS);
    }
}

/* The lines of the entry at lh_tail, which has been filled or reserved; 0: it has not. */
static uint32_t taken(const dnet_emu_nic_t *nic, unsigned wid)
{
    const dnet_emu_wid_t *s = nic->area[wid].state;
    uint32_t index = (s->lh_tail & nic->lh_mask) / DNET_LH_ENTRY_BYTES;
    const dnet_emu_reservation_t *r = &s->reserved[index];
    const dnet_lh_entry_t *entry = &nic->area[wid].lh[index];

    if ((dnet_emu_observe(&entry->envelope) & DNET_EMU_LH_FLAGS) ==
        dnet_emu_lh_flags(nic, s->lh_tail))
        return dnet_lh_lines(entry->where);
    if (dnet_emu_lh_reserved_by(r, s->lh_tail) == 0)
        return 0;
    dnet_emu_publish32(nic->area[wid].llcm + (r->ring & 0xfff) * 8 + 4, (uint32_t) (r->ring >> 32));
    return 1;
}

/* Has the flow-ring entry at flow_tail been written? */
static bool is_noted(const dnet_emu_nic_t *nic, unsigned wid)
{
    const dnet_emu_wid_t *s = nic->area[wid].state;
    uint64_t word;

    if (nic->flow_entries == 0 ||
        (s->flow_tail < nic->flow_entries && s->flow_tail >= s->flow_ready))
        return false;
    word = dnet_emu_observe(&nic->area[wid].flow[s->flow_tail & (nic->flow_entries - 1)].word);
    return DNET_GET(word, FLOW_VALID) == !((s->flow_tail / nic->flow_entries) & 1) &&
           DNET_GET(word, FLOW_SEQ) == DNET_GET(DNET_PUT(s->flow_tail, FLOW_SEQ), FLOW_SEQ);
}

/* The holder before has died: make the counters those of what is there, and the registers show
 * them.  A successor that dies here leaves the rest to its own. */
static void put_right(const dnet_emu_nic_t *nic, unsigned wid)
{
    const dnet_emu_areas_t *a = &nic->area[wid];
    dnet_emu_wid_t *s = a->state;
    uint32_t lines = taken(nic, wid);

    if (lines) {
        s->packets++;
        dnet_emu_lh_advance(nic, &nic->area[wid], lines);
    } else if (nic->flow_entries != 0 && dnet_emu_ureg(nic, wid, DNET_UREG_LH_LINES) > 1) {
        turn_back(nic, wid);
    }
    if (is_noted(nic, wid))
        s->flow_tail++;
    dnet_emu_publish(a->ureg_load + DNET_UREG_LH_NEXT_WRITE, s->lh_tail & nic->lh_mask);
    dnet_emu_publish(a->ureg_load + DNET_UREG_PACKET_COUNTER, s->packets);
    dnet_emu_publish(a->ureg_load + DNET_UREG_STATUS_NEXT_WRITE, s->status_tail);
    dnet_emu_swu_show(nic, wid);
}

DNET_COLD void dnet_emu_rc_acquire_slow(const dnet_emu_nic_t *nic, unsigned wid)
{
    if (dnet_emu_acquire_slow(nic, &nic->area[wid].state->rc_holder, "receive side"))
        put_right(nic, wid);
}

/* Its sender has died: the host gives its bytes back as if it had come. */
static void make_void(const dnet_emu_nic_t *nic, dnet_lh_entry_t *entry, dnet_emu_reservation_t *r,
                      uint32_t at)
{
    dnet_emu_poke(&entry->where, r->where);
    dnet_emu_publish(&entry->envelope, dnet_emu_lh_flags(nic, at) ^ DNET_MASK(LH_COMPLETE));
    atomic_store_explicit(&r->owner, 0, memory_order_release);
    dnet_emu_event(nic, DNET_EMU_VOID);
}

DNET_COLD int32_t dnet_emu_rc_bury(const dnet_emu_nic_t *nic, unsigned wid, uint32_t *at_p)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    uint32_t holder = atomic_load_explicit(&s->rc_holder, memory_order_acquire);
    int32_t waits_for = 0;
    uint32_t tail, entries;

    if (holder != 0 && dnet_emu_process_ended((int32_t) holder)) {
        dnet_emu_rc_acquire(nic, wid);
        dnet_emu_rc_release(s);
    }
    tail = atomic_load_explicit((_Atomic uint32_t *) &s->lh_tail, memory_order_acquire);
    entries = ((tail - (uint32_t) dnet_emu_ureg(nic, wid, DNET_UREG_LH_NEXT_READ)) & nic->lh_mask) /
              DNET_LH_ENTRY_BYTES;
    for (uint32_t at = tail - entries * DNET_LH_ENTRY_BYTES; at != tail;
         at += DNET_LH_ENTRY_BYTES) {
        uint32_t index = (at & nic->lh_mask) / DNET_LH_ENTRY_BYTES;
        dnet_lh_entry_t *entry = &nic->area[wid].lh[index];
        int32_t pid = dnet_emu_lh_reserved_by(&s->reserved[index], at);

        if (pid == 0 ||
            (dnet_emu_observe(&entry->envelope) & DNET_EMU_LH_FLAGS) == dnet_emu_lh_flags(nic, at))
            continue;
        if (!dnet_emu_process_ended(pid)) {
            if (waits_for == 0)
                *at_p = at;
            waits_for = waits_for ? waits_for : pid;
        } else if ((dnet_emu_observe(&entry->envelope) & DNET_EMU_LH_FLAGS) !=
                   dnet_emu_lh_flags(nic, at)) {
            make_void(nic, entry, &s->reserved[index], at);
        }
    }
    return waits_for;
}
