/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The limit event (docs/protocol.md 6.2): few LH entries are left, or a packet found none.
 */
#ifndef DNET_EMU_LIMIT_EVENT_H
#define DNET_EMU_LIMIT_EVENT_H

#include "emulator/core_logic.h"

/* LH Limit has been stored; the next packet looks at Head.  The receive side is not held. */
void dnet_emu_limit_arm(const dnet_emu_nic_t *nic, unsigned wid);

/* The limit is reached.  The receive side is held. */
void dnet_emu_limit_happens(const dnet_emu_nic_t *nic, unsigned wid);

/* The event_wait operation of a device (dimmnet/device.h). */
uint32_t dnet_emu_limit_wait(dnet_device_t *dev, uint32_t seen, uint64_t *when_ns_p);

/* The event_raise operation: end a dnet_emu_limit_wait(). */
void dnet_emu_limit_raise(dnet_device_t *dev);

#endif
