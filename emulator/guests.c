/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Guest tables.  An entry's number is the guest's as long as either of the two uses it: what is on
 * its way still means that guest.  A process that sends to another enters itself in the other's
 * table, and no message is needed for it; whoever looks up a number finds all that it takes to
 * answer.
 */
#include "config.h"

#include "emulator/guests.h"

#include "common/log.h"
#include "emulator/memory.h"
#include "emulator/process.h"
#include "emulator/segment.h"

#define PAGE_ENTRIES (DNET_EMU_PAGE / sizeof(dnet_emu_guest_entry_t))

/* The page of a number, before it is touched for the first time. */
static dnet_status_t reserve(const dnet_emu_nic_t *nic, unsigned wid, uint32_t number)
{
    return dnet_emu_memory_reserve(
        nic->fd, dnet_emu_segment_guests_at(nic, wid) + number / PAGE_ENTRIES * DNET_EMU_PAGE,
        DNET_EMU_PAGE, "a guest");
}

static bool is_same(const dnet_emu_guest_t *a, const dnet_emu_guest_t *b)
{
    return a->nic.id == b->nic.id && a->wid == b->wid && a->pid == b->pid;
}

/* Numbers that are given, and the next one. */
static uint32_t end_of(const dnet_emu_guest_entry_t *table)
{
    uint32_t end = atomic_load_explicit(&table->end, memory_order_acquire);

    return end == 0 ? 1 : end > DNET_GUESTS_MAX + 1 ? DNET_GUESTS_MAX + 1 : end;
}

/* An entry that nobody uses, or only a guest that has ended. */
static bool is_free(const dnet_emu_guest_entry_t *e, uint32_t uses)
{
    return uses == 0 || (uses == DNET_EMU_GUEST_SENDS && dnet_emu_process_ended(e->who.pid));
}

/* The table is held.  @return the guest's number, else a free one; 0: there is none */
static uint32_t find(dnet_emu_guest_entry_t *table, const dnet_emu_guest_t *who)
{
    uint32_t free_number = 0, end = end_of(table);

    for (uint32_t n = 1; n < end; n++) {
        uint32_t uses = atomic_load_explicit(&table[n].uses, memory_order_relaxed);

        if (uses != 0 && is_same(&table[n].who, who))
            return n;
        if (free_number == 0 && is_free(&table[n], uses))
            free_number = n;
    }
    return free_number ? free_number : end <= DNET_GUESTS_MAX ? end : 0;
}

/* The table is held. */
static dnet_status_t enter(dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_guest_t *who,
                           uint32_t by, uint32_t *number_p)
{
    dnet_emu_guest_entry_t *table = nic->guests[wid], *e;
    uint32_t number = find(table, who), end = end_of(table);
    dnet_status_t status;

    if (number == 0) {
        dnet_error("process %d has %u guests of other jobs already, and no room for process %d",
                   nic->area[wid].state->owner, DNET_GUESTS_MAX, who->pid);
        return DNET_ERR_LIMIT;
    }
    if (number == end) {
        status = reserve(nic, wid, number);
        if (status != DNET_OK)
            return status;
        atomic_store_explicit(&table->end, end + 1, memory_order_release);
    }
    e = &table[number];
    if (!atomic_load_explicit(&e->uses, memory_order_relaxed) || !is_same(&e->who, who)) {
        atomic_store_explicit(&e->uses, 0, memory_order_relaxed);
        atomic_store_explicit(&e->came, 0, memory_order_relaxed);
        e->who = *who;
    }
    if (by & DNET_EMU_GUEST_SENDS)
        atomic_store_explicit(&e->came, 1, memory_order_relaxed);
    atomic_fetch_or_explicit(&e->uses, by, memory_order_release);
    *number_p = number;
    return DNET_OK;
}

/* The first page is there from the moment that the table is mapped. */
dnet_status_t dnet_emu_guests_open(dnet_emu_nic_t *nic, unsigned wid)
{
    dnet_status_t status = nic->guests[wid] ? DNET_OK : reserve(nic, wid, 0);

    if (status != DNET_OK)
        return status;
    return dnet_emu_segment_map_guests(nic, wid) ? DNET_OK : DNET_ERR_NO_MEMORY;
}

dnet_status_t dnet_emu_guests_enter(dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_guest_t *who,
                                    uint32_t by, uint32_t *number_p)
{
    dnet_status_t status = dnet_emu_guests_open(nic, wid);

    if (status != DNET_OK)
        return status;
    if (!dnet_emu_acquire(&nic->guests[wid]->holder, nic->pid))
        (void) dnet_emu_acquire_slow(nic, &nic->guests[wid]->holder, "guest table");
    status = enter(nic, wid, who, by, number_p);
    dnet_emu_release(&nic->guests[wid]->holder);
    return status;
}

void dnet_emu_guests_leave(const dnet_emu_nic_t *nic, unsigned wid, uint32_t number, uint32_t by)
{
    if (nic->guests[wid] && number < end_of(nic->guests[wid]))
        atomic_fetch_and_explicit(&nic->guests[wid][number].uses, ~by, memory_order_release);
}

bool dnet_emu_guests_get(dnet_emu_nic_t *nic, unsigned wid, uint32_t number,
                         dnet_emu_guest_t *guest_p)
{
    const dnet_emu_guest_entry_t *e;

    if (number == 0 || dnet_emu_guests_open(nic, wid) != DNET_OK ||
        number >= end_of(nic->guests[wid]))
        return false;
    e = &nic->guests[wid][number];
    if (atomic_load_explicit(&e->uses, memory_order_acquire) == 0)
        return false;
    *guest_p = e->who;
    return guest_p->wid < DNET_PROCESSES_PER_NIC && guest_p->nic.id != 0;
}

bool dnet_emu_guests_know(const dnet_emu_nic_t *nic, unsigned wid, uint32_t number, uint8_t pgid)
{
    const dnet_emu_guest_entry_t *table = nic->guests[wid];

    return table && number != 0 && number < end_of(table) &&
           atomic_load_explicit(&table[number].uses, memory_order_acquire) != 0 &&
           table[number].who.pgid == pgid;
}

static bool sends(const dnet_emu_guest_entry_t *e)
{
    return atomic_load_explicit(&e->uses, memory_order_acquire) & DNET_EMU_GUEST_SENDS;
}

bool dnet_emu_guests_left(const dnet_emu_nic_t *nic, unsigned wid, uint32_t number)
{
    const dnet_emu_guest_entry_t *table = nic->guests[wid];

    return table && number != 0 && number < end_of(table) && !sends(&table[number]) &&
           atomic_load_explicit(&table[number].came, memory_order_relaxed);
}

bool dnet_emu_guests_lost(const dnet_emu_nic_t *nic, unsigned wid, uint32_t number)
{
    const dnet_emu_guest_entry_t *table = nic->guests[wid];

    /* Looked at again: it may have left, and ended, since the first look. */
    return table && number != 0 && number < end_of(table) && sends(&table[number]) &&
           dnet_emu_process_ended(table[number].who.pid) && sends(&table[number]);
}
