/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The registers (data sheet sections 3 and 4): reset, and what a store does.
 */
#ifndef DNET_EMU_REGISTERS_H
#define DNET_EMU_REGISTERS_H

#include "emulator/core_logic.h"

/* The kick operation of a device (dimmnet/device.h): the host has stored to a register
 * of its User Register page, or of the System Register page (`system`). */
void dnet_emu_kick(dnet_device_t *dev, uint32_t offset, bool system);

/* All registers, rings and tables as after power-on.  `paused`: with a flow ring, both WIDs stop
 * their senders until their process sets Flow Mode. */
void dnet_emu_power_on(dnet_emu_nic_t *nic, bool paused);

#endif
