/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Window Controller's executor (data sheet 11.2 to 11.6).
 */
#ifndef DNET_EMU_EXECUTOR_H
#define DNET_EMU_EXECUTOR_H

#include "emulator/request.h"

/* Run the executor until it is idle.  False: it waits for room at a receiver, and is to be called
 * again later. */
bool dnet_emu_execute(const dnet_emu_context_t *c);

#endif
