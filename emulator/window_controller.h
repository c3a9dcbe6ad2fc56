/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Inside the Window Controller: the acceptor (window_controller.c), the executor (executor.c) and
 * the packets of RVS and IPUSH (packets.c).
 */
#ifndef DNET_EMU_WINDOW_CONTROLLER_H
#define DNET_EMU_WINDOW_CONTROLLER_H

#include "emulator/swif/swif.h"

/* Who executes: the NIC of the executor and the WID of its request, and the NIC whose routes this
 * process sends by (its own; another one only when an RVL is served here for another node). */
typedef struct {
    dnet_emu_nic_t *nic;
    dnet_emu_nic_t *via;
    const dnet_emu_areas_t *area;
    unsigned wid;
    dnet_emu_executor_t *x;
} dnet_emu_context_t;

enum { /* Primitive Counter (4.3): 10 bits each */
       DNET_COUNTER_BOTF,
       DNET_COUNTER_VL,
       DNET_COUNTER_VS,
       DNET_COUNTER_RVL,
       DNET_COUNTER_RVS,
       DNET_COUNTER_IPUSH,
};

/* [nic 4.3, OP-37] One more completed primitive of this family, modulo 1024. */
static inline void dnet_emu_count(const dnet_emu_areas_t *a, unsigned counter)
{
    uint8_t *at = a->ureg_load + DNET_UREG_PRIMITIVE_COUNTER;
    uint64_t word = dnet_emu_peek(at);
    uint64_t field = 0x3ffull << (10 * counter);

    dnet_emu_publish(at, (word & ~field) | ((word + (1ull << (10 * counter))) & field));
}

/* [X.6] What became of a request. */
static inline void dnet_emu_report(const dnet_emu_nic_t *nic, const dnet_emu_areas_t *a,
                                   dnet_report_t outcome, uint64_t done)
{
    if (nic->flow_entries)
        dnet_emu_publish(a->ureg_load + DNET_UREG_STOP_REPORT, (uint64_t) outcome | done << 32);
}

/* [nic 5.4, OP-29] */
static inline uint32_t dnet_emu_element(uint64_t half)
{
    return 1u << DNET_GET(half, RQ_DTYPE);
}

/* [nic 6.0] Bytes a request moves: Size, or element times Iteration. */
static inline uint64_t dnet_emu_total(uint64_t half)
{
    if ((DNET_GET(half, RQ_OTYPE) & 3) == DNET_ACCESS_CONTIGUOUS)
        return DNET_GET(half, RQ_SIZE);
    return (uint64_t) dnet_emu_element(half) * DNET_GET(half, RQ_ITERATION);
}

/* A gathering access as one 64-bit half describes it: Lower of VL and RVL, or Command Ex. */
static inline dnet_emu_source_t dnet_emu_source(const dnet_emu_nic_t *nic, unsigned wid,
                                                uint64_t half, uint32_t offset)
{
    return (dnet_emu_source_t){
        .nic = nic,
        .wid = wid,
        .access = DNET_GET(half, RQ_OTYPE) & 3,
        .offset = offset,
        .stride_or_list = (uint32_t) DNET_GET(half, RQ_SIZE),
        .element = dnet_emu_element(half),
    };
}

/* [nic 2, 6.6, 7.1, 7.2] A Write Window's content is the packet, but for PGID and Packet Size,
 * which the NIC stamps (4.4, 4.6).  size >= 16.  The source LID goes beside the packet (OP-12). */
static inline dnet_emu_result_t dnet_emu_send_window(dnet_emu_nic_t *nic, dnet_emu_nic_t *via,
                                                     const uint8_t *windows, unsigned wid,
                                                     uint64_t lower, dnet_emu_packet_t *p)
{
    const uint8_t *ww = windows + DNET_GET(lower, RQ_BOTF_WW) * DNET_WINDOW_BYTES;
    uint32_t size = (uint32_t) DNET_GET(lower, RQ_BOTF_SIZE);
    uint32_t lines, header_lines;
    uint64_t h;

    if (size > DNET_WINDOW_BYTES)
        size = DNET_WINDOW_BYTES;
    lines = (size + 7) / 8; /* OP-46 */
    h = dnet_emu_peek(ww) & ~(DNET_MASK(PK_PGID) | DNET_MASK(PK_SIZE));
    h |= DNET_PUT(dnet_emu_pgid(nic, wid), PK_PGID) | DNET_PUT(size, PK_SIZE);
    if (DNET_EMU_UNLIKELY(nic->strict_swid)) /* OP-14 */
        h = (h & ~DNET_MASK(PK_SWID)) | DNET_PUT(wid, PK_SWID);
    p->header[0] = h;
    p->header[1] = dnet_emu_peek(ww + 8);
    header_lines = 2;
    if (DNET_EMU_UNLIKELY(DNET_GET(h, PK_HFLAG))) {
        /* [nic 7.4] An RVL's fourth line is told by EOP; all others have three. */
        header_lines = (DNET_GET(h, PK_TYPE) >> 2) == DNET_PRIM_RVL >> 2 ? 4 : 3;
        if (header_lines > lines)
            header_lines = lines;
        p->header[2] = dnet_emu_peek(ww + 16);
        p->header[3] = dnet_emu_peek(ww + 24);
    }
    p->header_lines = header_lines;
    p->data_bytes = size > header_lines * 8 ? size - header_lines * 8 : 0;
    p->packets = 1;
    p->slid = dnet_emu_lid(nic);
    p->reply = false;
    p->whole_lines = true;
    p->service_nic = NULL;
    p->spans = 1;
    p->span[0].at = ww + header_lines * 8ul;
    p->span[0].bytes = p->data_bytes;
    p->span[0].pid = 0;
    return via->swif->send(via, (uint16_t) DNET_GET(h, PK_DLID), p);
}

/* packets.c: the packets of one RVS or IPUSH primitive. */
typedef struct {
    uint64_t header; /* 1st line without Packet Size, hflag, eflag, lflag */
    uint32_t target; /* DSTOff of the request */
    uint32_t list;   /* Stride or List Address */
    uint32_t element;
    uint64_t total;
    bool eflag;
    bool lflag; /* of the first packet */
    bool reply;
    bool spread; /* RVSS, RVSI: whole elements in each packet */
    uint16_t dlid;
    uint32_t lines; /* of each header */
    uint32_t limit; /* data bytes in a packet */
    uint32_t burst; /* data bytes handed over together */
    dnet_emu_source_t source;
    uint8_t bounce[DNET_EMU_BOUNCE_BYTES];
} dnet_emu_stream_t;
bool dnet_emu_stream_send(const dnet_emu_context_t *c, dnet_emu_stream_t *s);
bool dnet_emu_message_packet(const dnet_emu_nic_t *nic, unsigned wid, const uint8_t *windows,
                             uint64_t lower, uint64_t upper, dnet_emu_packet_t *p);
bool dnet_emu_stream_serve(const dnet_emu_context_t *c, dnet_emu_stream_t *s);
dnet_emu_result_t dnet_emu_stream_packet(const dnet_emu_context_t *c, dnet_emu_stream_t *s,
                                         dnet_emu_packet_t *p);

/* executor.c */
bool dnet_emu_execute(const dnet_emu_context_t *c);
bool dnet_emu_copy_half(const dnet_emu_request_t *r);
void dnet_emu_flags_begin(const dnet_emu_areas_t *a, unsigned window);

#endif
