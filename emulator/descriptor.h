/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How the descriptor of a NIC's segment reaches another process: by /proc, or, where that needs a
 * right that peers do not have, by a socket.
 */
#ifndef DNET_EMU_DESCRIPTOR_H
#define DNET_EMU_DESCRIPTOR_H

#include "emulator/core_logic.h"

/* This process has made a segment: pass its descriptor to those that ask and may not take it by
 * themselves. */
void dnet_emu_descriptor_offer(void);

/* The opposite; each offer is withdrawn once. */
void dnet_emu_descriptor_withdraw(void);

/* Open the segment of another process.  `flags`: as open().  @return a descriptor, or -1 and errno;
 * ETIMEDOUT: its owner does not answer now. */
int dnet_emu_descriptor_open(const dnet_emu_locator_t *at, int flags);

/* How many descriptors that takes at once where other processes are as this one, up to
 * DNET_EMU_SPARE_FDS: a socket has one while the other is passed. */
unsigned dnet_emu_descriptor_takes(void);

#endif
