/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Window Controller: Request FIFOs and acceptor (data sheet 4.2.2, 5.5, 5.6, 11.1).
 */
#ifndef DNET_EMU_WINDOW_CONTROLLER_H
#define DNET_EMU_WINDOW_CONTROLLER_H

#include "emulator/core_logic.h"

/* [nic 5.2, 5.6] Command Lower has been stored: a request, to the Prefetch Window instead of
 * SO-DIMM where Command1 was (`to_pw`). */
void dnet_emu_wc_request(dnet_emu_device_t *d, uint64_t lower, bool to_pw);

/* The run operation of a device (dimmnet/device.h): go on with requests that waited for room
 * elsewhere. */
void dnet_emu_wc_run(dnet_device_t *dev);

/* [nic 4.6] Controller Reset: FIFOs and state machines. */
void dnet_emu_wc_reset(dnet_emu_nic_t *nic, unsigned wid);

#endif
