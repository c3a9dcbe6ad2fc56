/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LH Buffer (data sheet section 10): called with the receive side of the WID held.
 */
#ifndef DNET_EMU_LH_BUFFER_H
#define DNET_EMU_LH_BUFFER_H

#include "emulator/core_logic.h"

/* The LH entry that will be filled next. */
static inline dnet_lh_entry_t *dnet_emu_lh_next(const dnet_emu_nic_t *nic, unsigned wid)
{
    uint32_t at = nic->area[wid].state->lh_tail & nic->lh_mask;

    return &nic->area[wid].lh[at / DNET_LH_ENTRY_BYTES];
}

/* [nic 10.1, 10.2, 10.3, OP-54] First packet of an LHS message (lflag = 1): envelope with the flags
 * in line 0, Pointer (0 when nothing is left over) and Size in line 1, data behind.  `*pointer_p`:
 * what a receive status shows. */
dnet_emu_result_t dnet_emu_lh_receive(const dnet_emu_nic_t *nic, unsigned wid,
                                      const dnet_emu_packet_t *packet, uint32_t *pointer_p);

#endif
