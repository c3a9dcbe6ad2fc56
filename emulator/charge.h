/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clocks of the Core Logic (data sheet section 11).  Every step that takes clocks on the board
 * names its unit and its number of clocks here.  The ordinary build compiles the calls to nothing;
 * the timing build
 * (-DDNET_TIMING) counts them per unit.
 */
#ifndef DNET_EMU_CHARGE_H
#define DNET_EMU_CHARGE_H

#include <stdint.h>

typedef enum {
    DNET_UNIT_ACCEPTOR,
    DNET_UNIT_EXECUTOR,
    DNET_UNIT_PU,
    DNET_UNIT_WU,
    DNET_UNIT_RC,
    DNET_UNIT_SWU,
    DNET_UNIT_COUNT,
} dnet_emu_unit_t;

#ifdef DNET_TIMING
/* Clocks each unit of this process's NICs has been busy; a thread's own. */
extern _Thread_local uint64_t dnet_emu_busy[DNET_UNIT_COUNT];
#define charge(nic, unit, clocks) ((void) (nic), dnet_emu_busy[DNET_UNIT_##unit] += (clocks))
#else
#define charge(nic, unit, clocks) ((void) 0)
#endif

#endif
