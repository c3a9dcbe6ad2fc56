/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flow ring (extension, docs/protocol.md section 6): called with the receive side of the WID held.
 */
#ifndef DNET_EMU_FLOW_RING_H
#define DNET_EMU_FLOW_RING_H

#include "emulator/core_logic.h"

/* [X.6] Append to the flow ring of a WID; `arg` is the entry's second word.  False: no memory. When
 * the ring is full the entry is lost, which its sender or the receiver of the grant finds out by
 * itself (docs/flow-control.md 3). */
bool dnet_emu_flow_append(const dnet_emu_nic_t *nic, unsigned wid, dnet_flow_kind_t kind,
                          const dnet_emu_packet_t *packet, unsigned credits, uint64_t arg);

/* What the packet needs, of which `bytes` are missing room, has no room: stalled, stopped or
 * unreachable, as the receiving process has chosen by Flow Mode. */
dnet_emu_result_t dnet_emu_flow_no_room(const dnet_emu_nic_t *nic, unsigned wid,
                                        const dnet_emu_packet_t *packet, uint32_t bytes);

#endif
