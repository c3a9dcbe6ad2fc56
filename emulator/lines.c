/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets as sequences of 66-bit lines (data sheet 7.1), for a caller that has lines instead of
 * packets: finds where packets begin and end, and the header's length (7.4), and hands them to the
 * Receive Controller.
 */
#include "config.h"

#include "emulator/executor.h"
#include "emulator/receive_controller.h"

#define PACKET_LINES 512u /* Packet Size has 12 bits */

typedef struct {
    uint64_t line[PACKET_LINES];
    unsigned count;
    bool open; /* a first line has come, the last one has not */
} assembly_t;

/* An RVL has been accepted: answer it, as far as there is room. */
static void serve(dnet_emu_nic_t *nic, const dnet_emu_packet_t *p)
{
    dnet_emu_executor_t x = {.state = DNET_STATE_PRIM, .request = p->service};
    unsigned wid = p->service.wid & 1;
    dnet_emu_context_t c = {.nic = nic, .via = nic, .area = &nic->area[wid], .wid = wid, .x = &x};

    (void) dnet_emu_execute(&c);
}

/* [nic 7.4] RVL: all lines are header, at most 4; others: 2, or 3 with hflag. */
static void deliver(dnet_emu_nic_t *nic, uint16_t slid, const assembly_t *a)
{
    uint64_t h = a->line[0];
    uint32_t size = (uint32_t) DNET_GET(h, PK_SIZE);
    uint32_t header = 2;
    dnet_emu_packet_t p = {.packets = 1, .slid = slid, .spans = 1};

    if (DNET_GET(h, PK_HFLAG))
        header = (DNET_GET(h, PK_TYPE) >> 2) == DNET_PRIM_RVL >> 2 ? 4 : 3;
    if (header > a->count)
        header = a->count;
    memcpy(p.header, a->line, header * 8);
    p.header_lines = header;
    p.data_bytes = (a->count - header) * 8;
    if (size >= header * 8 && size - header * 8 < p.data_bytes)
        p.data_bytes = size - header * 8;
    p.span[0] = (dnet_emu_span_t){.at = (const uint8_t *) &a->line[header], .bytes = p.data_bytes};
    if (dnet_emu_rc_receive(nic, &p) == DNET_EMU_SERVE)
        serve(nic, &p);
}

void dnet_emu_inject(dnet_emu_nic_t *nic, uint16_t slid, const dnet_emu_line_t *lines,
                     unsigned count)
{
    assembly_t a = {.count = 0, .open = false};

    for (unsigned i = 0; i < count; i++) {
        if (lines[i].id == DNET_LINE_FIRST) {
            if (a.open)
                dnet_emu_rc_cut_off(nic);
            a.open = true;
            a.count = 0;
        }
        if (!a.open)
            continue; /* between packets only a first line means anything */
        if (a.count < PACKET_LINES)
            a.line[a.count++] = lines[i].content;
        if (lines[i].id == DNET_LINE_LAST) {
            a.open = false;
            deliver(nic, slid, &a);
        }
    }
}
