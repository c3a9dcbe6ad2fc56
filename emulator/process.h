/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The processes that share a NIC: has one ended, what one of them at a time may hold, waking one
 * that sleeps.
 */
#ifndef DNET_EMU_PROCESS_H
#define DNET_EMU_PROCESS_H

#include "emulator/core_logic.h"

/* Has that process ended?  True also when only its exit status is left. */
bool dnet_emu_process_ended(int32_t pid);

/* The same of a process that has used this NIC: has it ended, and its number been given to another
 * that cannot have? */
bool dnet_emu_process_gone(const dnet_emu_nic_t *nic, int32_t pid);

/* What keeps a process from going on, as the end of a sentence about it. */
const char *dnet_emu_process_doing(int32_t pid);

/* dnet_emu_acquire() when another process holds it, of this NIC: wait, soon asleep, and say so
 * after a second; succeed a holder that has ended.  `what` is it: for the line.  True: the holder
 * before has ended, and may have left something half done. */
bool dnet_emu_acquire_slow(const dnet_emu_nic_t *nic, _Atomic uint32_t *holder, const char *what);

/* dnet_emu_wake() when the process sleeps. */
void dnet_emu_wake_slow(dnet_emu_wid_t *state);

/* Take what one process at a time may hold, if it is free.  Pairs with dnet_emu_release() of the
 * holder before. */
static inline bool dnet_emu_acquire(_Atomic uint32_t *holder, int32_t pid)
{
    uint32_t free = 0;

    return DNET_LIKELY(atomic_compare_exchange_strong_explicit(
        holder, &free, (uint32_t) pid, memory_order_acquire, memory_order_relaxed));
}

/* Let go of it; what was written under it is seen by the next holder. */
static inline void dnet_emu_release(_Atomic uint32_t *holder)
{
    atomic_store_explicit(holder, 0, memory_order_release);
}

/* A number that no process has. */
#define DNET_EMU_NOBODY INT32_MAX

/* This process cannot hold that yet: if its number stands there, it is that of one before, which
 * has ended. */
static inline void dnet_emu_disown(_Atomic uint32_t *holder, int32_t pid)
{
    uint32_t seen = (uint32_t) pid;

    atomic_compare_exchange_strong_explicit(holder, &seen, DNET_EMU_NOBODY, memory_order_acq_rel,
                                            memory_order_relaxed);
}

/* The same of the LH entry that a process has reserved, as lh_tail counted it. */
void dnet_emu_disown_entry(const dnet_emu_nic_t *nic, unsigned wid, uint32_t at, int32_t pid);

/* The same of all that can be held or reserved of a NIC which this process has just mapped, for the
 * first time: others and this one succeed what has ended, as always. */
void dnet_emu_disown_nic(const dnet_emu_nic_t *nic);

/* The sleep operation of a device (dimmnet/device.h). */
void dnet_emu_sleep(dnet_device_t *dev, uint32_t timeout_us, bool (*still_idle)(void *), void *arg);

/* The yield operation. */
void dnet_emu_yield(dnet_device_t *dev, uint32_t times, bool (*still_idle)(void *), void *arg);

/* Wake the process of a WID if it sleeps.  The sleeper looks at its rings for a while after it has
 * set `sleeping` (dnet_emu_sleep()), so a plain load is enough here. */
static inline void dnet_emu_wake(dnet_emu_wid_t *state)
{
    atomic_signal_fence(memory_order_seq_cst);
    if (DNET_UNLIKELY(atomic_load_explicit(&state->sleeping, memory_order_relaxed)))
        dnet_emu_wake_slow(state);
}

#endif
