/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Guests of other hosts (docs/protocol.md 9.1), for the files of this folder; what others see of
 * them stands in dimmnet/emulator.h.
 */
#ifndef DNET_EMU_HOSTS_GUESTS_H
#define DNET_EMU_HOSTS_GUESTS_H

#include "emulator/core_logic.h"

/** The port has been joined: from now on there can be guests, where there is a thread that enters
 * them. */
void dnet_emu_guests_begin(dnet_emu_port_t *port);

/** Another host's process calls: as dnet_emu_alive_called_fn. */
uint32_t dnet_emu_guest_called(void *port, const void *call, uint32_t bytes, void *reply);

/** Has this process a number there?  It is asked for with the first packet.  True also for who is
 * no guest of another host.  @return false: it is out of reach (logged, once) */
bool dnet_emu_guest_is_met(dnet_emu_port_t *port, uint32_t number);

/** What was kept for guests that have left is needed no more. */
void dnet_emu_guests_look(dnet_emu_port_t *port);

/** Tell all guests that this process leaves its job in order. */
void dnet_emu_guests_say_left(dnet_emu_port_t *port);

/** Free what there is of them; the thread has ended. */
void dnet_emu_guests_end(dnet_emu_port_t *port);

#endif
