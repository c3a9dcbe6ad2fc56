/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets of the BOTF, RVS and IPUSH families (data sheet 6.3, 6.5, 6.6, 6.9, 7.4).
 */
#ifndef DNET_EMU_PACKETS_H
#define DNET_EMU_PACKETS_H

#include "emulator/aperture.h"
#include "emulator/request.h"
#include "emulator/swif/swif.h"

/* [nic 4.6, 7.4] Largest packet: the MTU holds header and data, Packet Size has 12 bits (OP-09,
 * OP-10). */
static inline uint32_t dnet_emu_packet_limit(const dnet_emu_nic_t *nic)
{
    uint64_t code = dnet_emu_peek(nic->sreg_store + DNET_SREG_MTU) & 0x1f;
    uint64_t bytes = 2048;

    if (code == 0x14)
        code = 4;
    if (code != 0 && (code & (code - 1)) == 0)
        bytes = code * 256;
    return bytes < DNET_PACKET_MAX_BYTES ? (uint32_t) bytes : DNET_PACKET_MAX_BYTES;
}

/* The packets of one RVS or IPUSH primitive. */
typedef struct {
    uint64_t header;  /* 1st line without Packet Size, hflag, eflag, lflag */
    uint32_t target;  /* DSTOff of the request */
    uint32_t list;    /* Stride or List Address */
    uint32_t element; /* bytes */
    uint64_t total;   /* data bytes of the primitive */
    bool eflag;       /* of the last packet */
    bool lflag;       /* of the first packet */
    bool reply;
    bool spread; /* RVSS, RVSI: whole elements in each packet */
    uint16_t dlid;
    uint32_t lines; /* of each header */
    uint32_t limit; /* data bytes in a packet */
    uint32_t burst; /* data bytes handed over together */
    dnet_emu_source_t source;
    uint8_t bounce[DNET_EMU_BOUNCE_BYTES];
} dnet_emu_stream_t;

/* [nic 5.5, 6.3, 6.5, 6.9, 10.4] What a request of the RVS or IPUSH family sends.  False: not a
 * valid request. */
bool dnet_emu_stream_send(const dnet_emu_context_t *c, dnet_emu_stream_t *s);

/* [nic 6.4, 6.9] The target's WC executes an RVL as RVS towards the issuer: gather as the request
 * says, place as its Command Ex says.  False: not a valid request. */
bool dnet_emu_stream_serve(const dnet_emu_context_t *c, dnet_emu_stream_t *s);

/* [nic 7.2, 7.4, OP-20, OP-25] Build and send the next packet of a stream; the executor's `done`
 * follows. */
dnet_emu_result_t dnet_emu_stream_packet(const dnet_emu_context_t *c, dnet_emu_stream_t *s,
                                         dnet_emu_packet_t *p);

/* Where the data of an LHSv2 lie that are in an aperture of this process, but for those in a Write
 * Window; NULL: it is not of that kind. */
static inline const uint8_t *dnet_emu_message_data(const dnet_emu_nic_t *nic, unsigned wid,
                                                   uint64_t lower, uint64_t upper)
{
    uint32_t total = (uint32_t) DNET_GET(lower, RQ_SIZE), from = (uint32_t) DNET_GET(upper, RQ_SRC);
    uint32_t first = (uint32_t) DNET_GET(upper, RQ_LHS_WW_SIZE);
    uint32_t at = (uint32_t) DNET_GET(upper, RQ_LHS_WW_OFFSET) % DNET_WINDOW_BYTES;
    uint64_t base, length, at_byte = dnet_emu_aperture_offset(from);

    return dnet_emu_is_aperture(nic, from) && first < total && first <= DNET_WINDOW_BYTES - at &&
                   dnet_emu_aperture_own(nic, wid, from, &base, &length) && at_byte <= length &&
                   total - first <= length - at_byte
               ? (const uint8_t *) (uintptr_t) (base + at_byte)
               : NULL;
}

/* [nic 6.5, 7.4, 10.4] The packet of an LHSv2 of data in an aperture of this process, or its few
 * packets without receive status, handed over together so that their data are one behind the other
 * in a ring that others use as well: what dnet_emu_stream_send() and dnet_emu_stream_packet() make
 * of it.  False: it is not of that kind. */
bool dnet_emu_message_packet(const dnet_emu_nic_t *nic, unsigned wid, const uint8_t *windows,
                             uint64_t lower, uint64_t upper, dnet_emu_packet_t *p);

/* Longest data of those, envelope included. */
uint32_t dnet_emu_message_bytes(const dnet_emu_nic_t *nic);

/* [nic 2, 6.6, 7.1, 7.2] A Write Window's content is the packet, but for PGID and Packet Size,
 * which the NIC stamps (4.4, 4.6).  size >= 16.  The source LID goes beside the packet (OP-12). */
static inline dnet_emu_result_t dnet_emu_send_window(dnet_emu_nic_t *nic, dnet_emu_nic_t *via,
                                                     const uint8_t *windows, unsigned wid,
                                                     uint64_t lower, dnet_emu_packet_t *p)
{
    const uint8_t *ww = windows + DNET_GET(lower, RQ_BOTF_WW) * DNET_WINDOW_BYTES;
    uint32_t size = dnet_emu_botf_bytes(nic, lower);
    uint32_t lines, header_lines;
    uint64_t h;

    lines = (size + 7) / 8; /* OP-46 */
    h = dnet_emu_peek(ww) & ~(DNET_MASK(PK_PGID) | DNET_MASK(PK_SIZE));
    h |= DNET_PUT(dnet_emu_pgid(nic, wid), PK_PGID) | DNET_PUT(size, PK_SIZE);
    if (DNET_UNLIKELY(nic->strict_swid)) /* OP-14 */
        h = (h & ~DNET_MASK(PK_SWID)) | DNET_PUT(wid, PK_SWID);
    p->header[0] = h;
    p->header[1] = dnet_emu_peek(ww + 8);
    header_lines = 2;
    if (DNET_UNLIKELY(DNET_GET(h, PK_HFLAG))) {
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

#endif
