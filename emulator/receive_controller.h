/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receive Controller (data sheet 4.2.2, 6.7, section 7): takes packets from the switch interface.
 */
#ifndef DNET_EMU_RECEIVE_CONTROLLER_H
#define DNET_EMU_RECEIVE_CONTROLLER_H

#include "emulator/core_logic.h"

/* Receive one packet, or a burst, in the sender's context, and say what became of it.
 * DNET_EMU_SERVE: an RVL that the caller executes: packet->service at packet->service_nic. */
dnet_emu_result_t dnet_emu_rc_receive(dnet_emu_nic_t *nic, dnet_emu_packet_t *packet);

/* [X.6] Is that sender in the hold table of a WID, and the table in force? */
bool dnet_emu_rc_holds(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid, unsigned swid);

/* [X.6] Would a hold table that has its sender keep this IPUSH packet out?  What the envelope marks
 * passes. */
bool dnet_emu_rc_may_hold(const dnet_emu_packet_t *packet);

/* [nic 4.6, 11.9] The packet of that NIC that had no room here does not come again, so reception
 * waits for it no longer. */
void dnet_emu_rc_forget(const dnet_emu_nic_t *nic, uint16_t slid);

/* [nic 4.2, 7.1] A first line has come before the last one of the packet before. */
void dnet_emu_rc_cut_off(const dnet_emu_nic_t *nic);

#endif
