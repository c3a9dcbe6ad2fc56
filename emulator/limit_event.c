/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The limit event (docs/protocol.md 6.2): few LH entries are left, or a packet found none.  It
 * stands for the SRQ limit event of an InfiniBand adapter and its interrupt: it happens once each
 * time it is armed by a store to LH Limit, and wakes a thread of the receiving process through the
 * kernel.
 */
#include "config.h"

#include "emulator/limit_event.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "emulator/receive_side.h"

static dnet_emu_wid_t *state_of(dnet_device_t *dev)
{
    return ((dnet_emu_device_t *) (void *) dev)->area->state;
}

static void raise_event(dnet_emu_wid_t *s)
{
    atomic_store_explicit(&s->limit_ns, dnet_clock_ns(), memory_order_relaxed);
    /* Release: pairs with the acquire load in dnet_emu_limit_wait(). */
    atomic_fetch_add_explicit(&s->limit_events, 1, memory_order_release);
    syscall(SYS_futex, &s->limit_events, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

DNET_COLD void dnet_emu_limit_happens(const dnet_emu_nic_t *nic, unsigned wid)
{
    dnet_emu_wid_t *s = nic->area[wid].state;

    if (s->lh_limit == 0)
        return;
    raise_event(s); /* first: a sender that dies between the two must not have disarmed it unseen */
    s->lh_limit = 0;
}

void dnet_emu_limit_arm(const dnet_emu_nic_t *nic, unsigned wid)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    uint32_t entries = (uint32_t) dnet_emu_ureg(nic, wid, DNET_UREG_LH_LIMIT);

    dnet_emu_rc_acquire(nic, wid);
    s->lh_limit = entries < nic->lh_mask / DNET_LH_ENTRY_BYTES ? entries * DNET_LH_ENTRY_BYTES : 0;
    s->lh_head_seen = (s->lh_tail + DNET_LH_ENTRY_BYTES) & nic->lh_mask;
    dnet_emu_rc_release(s);
}

uint32_t dnet_emu_limit_wait(dnet_device_t *dev, uint32_t seen, uint64_t *when_ns_p)
{
    dnet_emu_wid_t *s = state_of(dev);
    uint32_t events;

    /* Acquire: pairs with raise_event(). */
    while ((events = atomic_load_explicit(&s->limit_events, memory_order_acquire)) == seen)
        syscall(SYS_futex, &s->limit_events, FUTEX_WAIT, seen, NULL, NULL, 0);
    *when_ns_p = atomic_load_explicit(&s->limit_ns, memory_order_relaxed);
    return events;
}

void dnet_emu_limit_raise(dnet_device_t *dev)
{
    raise_event(state_of(dev));
}
