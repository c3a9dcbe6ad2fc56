/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "emulator/charge.h"

#ifdef DNET_TIMING
_Thread_local uint64_t dnet_emu_busy[DNET_UNIT_COUNT];
#endif
