/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flow ring (extension, docs/protocol.md section 6; no clause of the data sheet): what a packet
 * that has no room gets as an answer, and which process learns of it.
 *
 * Called with the receive side of the WID held.
 */
#include "config.h"

#include "emulator/flow_ring.h"

#include "common/trace.h"
#include "emulator/limit_event.h"
#include "emulator/memory.h"

bool dnet_emu_flow_append(const dnet_emu_nic_t *nic, unsigned wid, dnet_flow_kind_t kind,
                          const dnet_emu_packet_t *packet, unsigned credits, uint64_t arg)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    uint32_t read = (uint32_t) dnet_emu_ureg(nic, wid, DNET_UREG_FLOW_NEXT_READ);
    uint32_t count = s->flow_tail;
    uint32_t index = count & (nic->flow_entries - 1);
    bool lap = !((count / nic->flow_entries) & 1);
    dnet_flow_entry_t *entry = &nic->area[wid].flow[index];

    if (count - read >= nic->flow_entries) {
        dnet_emu_event(nic, DNET_EMU_DROP_FLOW);
        return true;
    }
    if (count < nic->flow_entries && count >= s->flow_ready) {
        if (!dnet_emu_flow_commit(nic, wid, index))
            return false;
        s->flow_ready = (index | (DNET_EMU_PAGE / sizeof *entry - 1)) + 1;
    }
    dnet_emu_poke(&entry->arg, arg);
    dnet_emu_publish(&entry->word, DNET_PUT(packet->slid, FLOW_LID) |
                                       DNET_PUT(DNET_GET(packet->header[0], PK_SWID), FLOW_WID) |
                                       DNET_PUT(kind, FLOW_KIND) | DNET_PUT(credits, FLOW_CREDITS) |
                                       DNET_PUT(count, FLOW_SEQ) | DNET_PUT(lap, FLOW_VALID));
    dnet_emu_publish32(&s->flow_tail, count + 1); /* behind the entry, if the sender dies here */
    return true;
}

/*
 * Something the packet needs has no room.  The receive side is held and stays so.
 *
 * [nic 8, 9.3, 10.5] Stall mode: reception waits.  [X.6] Stop mode: exactly this sender is told to
 * stop, and the receiving process learns that it owes the sender a resend.  The NIC's own replies
 * are repeated by the process that asked for them, which needs no entry for itself.  Retry mode:
 * the sender tries again by itself.
 */
DNET_COLD dnet_emu_result_t dnet_emu_flow_no_room(const dnet_emu_nic_t *nic, unsigned wid,
                                                  const dnet_emu_packet_t *packet, uint32_t bytes)
{
    uint64_t mode = dnet_emu_ureg(nic, wid, DNET_UREG_FLOW_MODE);

    DNET_TRACE(no_room, wid, packet->header[0], bytes);
    if (nic->flow_entries == 0 || mode == DNET_FLOW_MODE_STALL)
        return DNET_EMU_STALLED;
    dnet_emu_event(nic, DNET_EMU_STOPS);
    if (mode == DNET_FLOW_MODE_RETRY) {
        dnet_emu_limit_happens(nic, wid);
        return DNET_EMU_STOPPED;
    }
    /* A sender that the receiver does not know of would wait for ever. */
    if (!packet->reply && !dnet_emu_flow_append(nic, wid, DNET_FLOW_STOPPED, packet, 0, bytes))
        return DNET_EMU_UNREACHABLE;
    return DNET_EMU_STOPPED;
}
