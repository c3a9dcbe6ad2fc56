/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Status Write Unit (data sheet section 8): called with the receive side of the WID held.
 */
#ifndef DNET_EMU_STATUS_WRITE_UNIT_H
#define DNET_EMU_STATUS_WRITE_UNIT_H

#include "emulator/core_logic.h"

/* Has the status ring no room for another entry? */
bool dnet_emu_swu_full(const dnet_emu_nic_t *nic, unsigned wid);

/* [nic 8, OP-21] Write the entry of a packet that has come; `address`: first address written.  The
 * ring is not full. */
void dnet_emu_swu_write(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                        uint32_t address);

/* [nic 8, OP-22] A store to Status Initial Address empties the ring: Head = Tail = base. */
void dnet_emu_swu_restart(const dnet_emu_nic_t *nic, unsigned wid);

/* [nic 4.2] Make ST_FULL and ST_EMPTY follow Head and Tail. */
void dnet_emu_swu_show(const dnet_emu_nic_t *nic, unsigned wid);

#endif
