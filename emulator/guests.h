/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Guest tables (extension, docs/protocol.md section 9): of each process that has a WID, those of
 * other process groups that it knows, or that send to it.
 */
#ifndef DNET_EMU_GUESTS_H
#define DNET_EMU_GUESTS_H

#include "emulator/core_logic.h"

/* Who uses an entry. */
enum {
    DNET_EMU_GUEST_HOSTED = 1, /* the process whose table it is */
    DNET_EMU_GUEST_SENDS = 2,  /* the guest */
    DNET_EMU_GUEST_FAR = 4,    /* both: it is of another host, and has not ended */
};

/* Have a table for a WID of the own NIC, before the first guest: from now on other threads of this
 * process may enter guests.
 *
 * @return DNET_OK; DNET_ERR_NO_MEMORY, DNET_ERR_SYSTEM: logged
 */
dnet_status_t dnet_emu_guests_open(dnet_emu_nic_t *nic, unsigned wid);

/*
 * Have the guest's number in the table of a WID, an old one or a new one.
 *
 * @param by  which of the two uses it from now on
 * @return DNET_OK; DNET_ERR_LIMIT (the table is full), DNET_ERR_NO_MEMORY, DNET_ERR_SYSTEM: logged
 */
dnet_status_t dnet_emu_guests_enter(dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_guest_t *who,
                                    uint32_t by, uint32_t *number_p);

/* That one of the two uses it no more; free for others when both do not. */
void dnet_emu_guests_leave(const dnet_emu_nic_t *nic, unsigned wid, uint32_t number, uint32_t by);

/* Who has a number.  False: nobody. */
bool dnet_emu_guests_get(dnet_emu_nic_t *nic, unsigned wid, uint32_t number,
                         dnet_emu_guest_t *guest_p);

/* [X.9] Is this the process group of that guest? */
bool dnet_emu_guests_know(const dnet_emu_nic_t *nic, unsigned wid, uint32_t number, uint8_t pgid);

/* Has a guest that has sent left, or forgotten the process of that table? */
bool dnet_emu_guests_left(const dnet_emu_nic_t *nic, unsigned wid, uint32_t number);

/* Has a guest that sends ended without leaving? */
bool dnet_emu_guests_lost(const dnet_emu_nic_t *nic, unsigned wid, uint32_t number);

#endif
