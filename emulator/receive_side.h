/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receive side of a WID: one process at a time delivers there.
 */
#ifndef DNET_EMU_RECEIVE_SIDE_H
#define DNET_EMU_RECEIVE_SIDE_H

#include "emulator/process.h"

/* dnet_emu_rc_acquire() when it is held. */
void dnet_emu_rc_acquire_slow(const dnet_emu_nic_t *nic, unsigned wid);

/* Take the receive side; a holder that has died is succeeded, and what it left is put right. */
static inline void dnet_emu_rc_acquire(const dnet_emu_nic_t *nic, unsigned wid)
{
    if (!dnet_emu_acquire(&nic->area[wid].state->rc_holder, nic->pid))
        dnet_emu_rc_acquire_slow(nic, wid);
}

/* The opposite. */
static inline void dnet_emu_rc_release(dnet_emu_wid_t *s)
{
    dnet_emu_release(&s->rc_holder);
}

#define DNET_EMU_LH_FLAGS (DNET_MASK(LH_VALID) | DNET_MASK(LH_COMPLETE))

/* [nic 10.3] Valid and Complete, as they are when the entry at a value of lh_tail is filled. */
static inline uint64_t dnet_emu_lh_flags(const dnet_emu_nic_t *nic, uint32_t lh_tail)
{
    return lh_tail & (nic->lh_mask + 1) ? 0 : DNET_EMU_LH_FLAGS;
}

/* [nic 10.5] One more entry, of so many lines, is filled or reserved: the next one, and Tail behind
 * it. */
static inline void dnet_emu_lh_advance(const dnet_emu_nic_t *nic, const dnet_emu_areas_t *a,
                                       uint32_t lines)
{
    uint32_t tail = a->state->lh_tail + lines * DNET_LH_ENTRY_BYTES;

    /* Release: a process that dies here has filled the entry. */
    dnet_emu_publish32(&a->state->lh_tail, tail);
    dnet_emu_publish(a->ureg_load + DNET_UREG_LH_NEXT_WRITE, tail & nic->lh_mask);
}

/* Who has reserved the entry at a value of lh_tail; 0: it is not reserved. */
static inline int32_t dnet_emu_lh_reserved_by(const dnet_emu_reservation_t *r, uint32_t lh_tail)
{
    uint64_t owner = atomic_load_explicit(&r->owner, memory_order_acquire);

    return owner >> 32 == lh_tail ? (int32_t) owner : 0;
}

/*
 * Of the entries that were reserved and are not filled, those whose sender has died are void: their
 * Valid turns and their Complete does not, so that the host can pass over them.  A holder of the
 * receive side that has died is succeeded.  Called by the process of the WID.
 *
 * @param at_p  the entry's place, as lh_tail counted it
 * @return the process that lives and has the oldest entry reserved that is not filled; 0: there is
 *         none
 */
int32_t dnet_emu_rc_bury(const dnet_emu_nic_t *nic, unsigned wid, uint32_t *at_p);

#endif
