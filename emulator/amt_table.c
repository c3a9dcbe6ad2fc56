/* SPDX-License-Identifier: BSD-3-Clause
 *
 * AMT Address Table (data sheet 9.1).
 */
#include "config.h"

#include "emulator/amt_table.h"

/* One entry for packets to a WID.  Receivers read it once for each packet: the old ring or the new
 * one. */
static void set(const dnet_emu_nic_t *nic, unsigned wid, uint64_t value)
{
    uint32_t index =
        dnet_emu_amt_index((uint16_t) DNET_GET(value, AMTI_LID), DNET_GET(value, AMTI_WID) & 1);

    atomic_store_explicit((_Atomic uint16_t *) &nic->state->amt_address[wid][index],
                          (uint16_t) DNET_GET(value, AMTI_VALUE), memory_order_relaxed);
}

void dnet_emu_amt_set(const dnet_emu_nic_t *nic, uint64_t value)
{
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        set(nic, w, value);
}

void dnet_emu_amt_set_own(const dnet_emu_nic_t *nic, unsigned wid)
{
    if (nic->flow_entries)
        set(nic, wid, dnet_emu_ureg(nic, wid, DNET_UREG_AMT_OWN));
}

uint16_t dnet_emu_amt_word(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid, unsigned swid)
{
    return dnet_emu_amt_lookup(nic, wid, slid, swid);
}
