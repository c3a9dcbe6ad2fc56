/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clocks of the Core Logic (data sheet section 11).  Every step that takes clocks on the board names its
 * unit and its number of clocks here.  The ordinary build compiles the calls to nothing; the timing build
 * (-DDNET_TIMING) keeps a busy-until time per unit.
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
typedef struct {
    uint64_t busy_until[DNET_UNIT_COUNT]; /* clocks since Controller Reset */
} dnet_emu_clocks_t;

static inline void dnet_emu_charge_clocks(dnet_emu_clocks_t *at, dnet_emu_unit_t unit, uint64_t clocks)
{
    at->busy_until[unit] += clocks;
}
#define charge(nic, unit, clocks) dnet_emu_charge_clocks(&(nic)->clocks, DNET_UNIT_##unit, (clocks))
#else
#define charge(nic, unit, clocks) ((void) 0)
#endif

#endif
