/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Packets of the RVS and IPUSH families (data sheet 6.3, 6.5, 6.9, 7.4), also when they answer an
 * RVL of another node (6.4).
 */
#include "config.h"

#include "emulator/packets.h"

#include "emulator/aperture.h"
#include "emulator/swif/swif.h"

/* [nic 7.4] Header lines and data bytes of each packet. */
static void set_limits(const dnet_emu_nic_t *nic, dnet_emu_stream_t *s)
{
    unsigned type = (unsigned) DNET_GET(s->header, PK_TYPE);
    bool aperture = type == DNET_PRIM_RVS && !DNET_GET(s->header, PK_RFLAG) &&
                    dnet_emu_is_aperture(nic, s->target);
    uint32_t cap = dnet_emu_packet_limit(nic);

    s->spread = type == DNET_PRIM_RVSS || type == DNET_PRIM_RVSI;
    s->lines = s->spread || aperture || s->total > cap - 16 ? 3 : 2;
    s->limit = cap - 8 * s->lines;
    if (s->spread)
        s->limit -= s->limit % s->element;
    s->burst = s->limit;
    /* Packets of one contiguous RVS differ in DSTOff only and are handed over together. */
    if (type == DNET_PRIM_RVS && s->source.access == DNET_ACCESS_CONTIGUOUS && s->total > s->limit)
        s->burst = DNET_EMU_BURST_BYTES - DNET_EMU_BURST_BYTES % s->limit;
}

/* [nic 7.4] Second and third header line for the data from byte `done` on. */
static void address_lines(const dnet_emu_nic_t *nic, const dnet_emu_stream_t *s, uint64_t done,
                          uint64_t *h)
{
    uint32_t dst = s->target;
    uint32_t list = s->list;

    switch (DNET_GET(s->header, PK_TYPE)) {
        case DNET_PRIM_RVS:
            if (!DNET_GET(s->header, PK_RFLAG) && dnet_emu_is_aperture(nic, dst))
                list = (uint32_t) done; /* [X.5] */
            else
                dst += (uint32_t) done;
            break;
        case DNET_PRIM_RVSS:
            dst += (uint32_t) (done / s->element) * s->list;
            break;
        case DNET_PRIM_RVSI:
            list += 4 * (uint32_t) (done / s->element); /* OP-32 */
            break;
    }
    h[1] = DNET_PUT(s->target, PK_SRC) | DNET_PUT(dst, PK_DST);
    h[2] = DNET_PUT(list, PK_LIST) | DNET_PUT(s->total, PK_TOTAL);
    h[3] = 0;
}

dnet_emu_result_t dnet_emu_stream_packet(const dnet_emu_context_t *c, dnet_emu_stream_t *s,
                                         dnet_emu_packet_t *p)
{
    uint64_t done = c->x->done;
    uint64_t left = s->total - done;
    uint32_t n = left < s->burst ? (uint32_t) left : s->burst;
    uint64_t size = n < s->limit ? n : s->limit;
    dnet_emu_result_t result;

    p->header[0] = s->header | DNET_PUT(size + 8 * s->lines, PK_SIZE) |
                   DNET_PUT(s->lines > 2, PK_HFLAG) | DNET_PUT(s->eflag && n == left, PK_EFLAG) |
                   DNET_PUT(s->lflag && done == 0, PK_LFLAG);
    if (s->spread)
        p->header[0] |= DNET_PUT(n / s->element, PK_ITERATION);
    address_lines(c->nic, s, done, p->header);
    p->header_lines = s->lines;
    p->data_bytes = n;
    p->packets = n <= s->limit ? 1 : (n + s->limit - 1) / s->limit;
    p->slid = DNET_UNLIKELY(c->nic->as_lid != c->nic->lid) ? c->nic->as_lid : dnet_emu_lid(c->nic);
    p->reply = s->reply;
    p->whole_lines = false;
    p->service_nic = NULL;
    if (!dnet_emu_pu_spans(&s->source, done, n, p, s->bounce))
        return DNET_EMU_UNREACHABLE;
    result = c->via->swif->send(c->via, s->dlid, p);
    if (result <= DNET_EMU_DROPPED || result == DNET_EMU_LATER)
        c->x->done += n;
    return result;
}

/* [nic 5.3, 6.0, OP-48] LHSv2: the Write Window part goes first and stays inside its window. */
static void set_window_part(const dnet_emu_context_t *c, dnet_emu_stream_t *s)
{
    uint64_t upper = c->x->request.upper;
    uint32_t at = (uint32_t) DNET_GET(upper, RQ_LHS_WW_OFFSET) & (4 * DNET_WINDOW_BYTES - 1);
    uint32_t room = DNET_WINDOW_BYTES - at % DNET_WINDOW_BYTES;
    uint32_t n = (uint32_t) DNET_GET(upper, RQ_LHS_WW_SIZE);

    if (n > room)
        n = room;
    s->source.window = c->area->ww + at;
    s->source.window_bytes = n < s->total ? n : (uint32_t) s->total;
}

bool dnet_emu_stream_send(const dnet_emu_context_t *c, dnet_emu_stream_t *s)
{
    const dnet_emu_request_t *r = &c->x->request;
    unsigned type = (unsigned) DNET_GET(r->lower, RQ_OTYPE);
    bool ipush = type >> 2 == DNET_PRIM_IPUSH >> 2;
    uint32_t from = (uint32_t) DNET_GET(r->upper, RQ_SRC);

    s->total = ipush ? DNET_GET(r->lower, RQ_SIZE) : dnet_emu_total(r->lower);
    s->list = ipush || type == DNET_PRIM_RVS ? 0 : (uint32_t) DNET_GET(r->lower, RQ_SIZE);
    s->element = dnet_emu_element(r->lower);
    s->eflag = DNET_GET(r->lower, RQ_EFLAG);
    s->lflag = type == DNET_PRIM_LHSv1 || type == DNET_PRIM_LHSv2;
    s->reply = false;
    s->target = ipush ? 0 : (uint32_t) DNET_GET(r->upper, RQ_DST);
    s->dlid = dnet_clid_to_lid((uint16_t) DNET_GET(r->lower, RQ_DCLID));
    s->source = dnet_emu_source(c->nic, c->wid, r->ex_on ? r->ex : 0, from);
    if (type == DNET_PRIM_LHSv2)
        set_window_part(c, s);
    if (r->ex_on && dnet_emu_total(r->ex) + s->source.window_bytes < s->total)
        s->total = dnet_emu_total(r->ex) + s->source.window_bytes; /* OP-38 */
    if (s->source.access > DNET_ACCESS_LIST)
        return false;
    s->total = dnet_emu_pu_clamp(&s->source, s->total);
    s->header = DNET_PUT(ipush ? DNET_PRIM_IPUSH : type, PK_TYPE) |
                DNET_PUT(dnet_emu_pgid(c->nic, c->wid), PK_PGID) |
                DNET_PUT(DNET_GET(r->lower, RQ_DWID), PK_DWID) | DNET_PUT(c->wid, PK_SWID) |
                DNET_PUT(s->dlid, PK_DLID) | DNET_PUT(DNET_GET(r->lower, RQ_DTYPE), PK_DTYPE) |
                DNET_PUT(ipush ? 0 : r->to_pw, PK_RFLAG);
    if (ipush || type == DNET_PRIM_RVS)
        s->header |= DNET_PUT(DNET_GET(r->lower, RQ_ITERATION), PK_ITERATION);
    else
        s->total -= s->total % s->element;
    set_limits(c->nic, s);
    return true;
}

uint32_t dnet_emu_message_bytes(const dnet_emu_nic_t *nic)
{
    uint32_t limit = dnet_emu_packet_limit(nic);

    return nic->extended && dnet_emu_swif_brings_together(nic)
               ? DNET_EMU_MESSAGE_PACKETS * (limit - 24)
               : limit - 16;
}

/* [nic 7.4] Several packets: the header of the first, with the bytes of all. */
static void several_packets(const dnet_emu_nic_t *nic, uint32_t total, dnet_emu_packet_t *p)
{
    uint32_t most = dnet_emu_packet_limit(nic) - 24;

    p->header[0] =
        (p->header[0] & ~DNET_MASK(PK_SIZE)) | DNET_PUT(most + 24, PK_SIZE) | DNET_MASK(PK_HFLAG);
    p->header[2] = DNET_PUT(total, PK_TOTAL);
    p->header_lines = 3;
    p->packets = (total + most - 1) / most;
}

bool dnet_emu_message_packet(const dnet_emu_nic_t *nic, unsigned wid, const uint8_t *windows,
                             uint64_t lower, uint64_t upper, dnet_emu_packet_t *p)
{
    uint32_t total = (uint32_t) DNET_GET(lower, RQ_SIZE);
    uint32_t at = (uint32_t) DNET_GET(upper, RQ_LHS_WW_OFFSET) & (4 * DNET_WINDOW_BYTES - 1);
    uint32_t first = (uint32_t) DNET_GET(upper, RQ_LHS_WW_SIZE);
    uint32_t one = dnet_emu_packet_limit(nic) - 16;
    /* Several packets of which the last one brings a receive status go one by one. */
    bool together = total > one && !DNET_GET(lower, RQ_EFLAG);
    uint32_t limit = together ? dnet_emu_message_bytes(nic) : one;
    const uint8_t *data = dnet_emu_message_data(nic, wid, lower, upper);

    if (!data || total > limit)
        return false;
    p->header[0] = DNET_PUT(total + 16, PK_SIZE) | DNET_PUT(DNET_PRIM_IPUSH, PK_TYPE) |
                   DNET_PUT(dnet_emu_pgid(nic, wid), PK_PGID) |
                   DNET_PUT(DNET_GET(lower, RQ_DWID), PK_DWID) | DNET_PUT(wid, PK_SWID) |
                   DNET_PUT(dnet_clid_to_lid((uint16_t) DNET_GET(lower, RQ_DCLID)), PK_DLID) |
                   DNET_PUT(DNET_GET(lower, RQ_DTYPE), PK_DTYPE) |
                   DNET_PUT(DNET_GET(lower, RQ_ITERATION), PK_ITERATION) |
                   DNET_PUT(DNET_GET(lower, RQ_EFLAG), PK_EFLAG) | DNET_MASK(PK_LFLAG);
    p->header[1] = 0;
    p->header_lines = 2;
    p->data_bytes = total;
    p->packets = 1;
    p->slid = dnet_emu_lid(nic);
    p->reply = false;
    p->whole_lines = false;
    p->service_nic = NULL;
    p->spans = first ? 2 : 1;
    p->span[0] = (dnet_emu_span_t){.at = windows + at, .bytes = first};
    p->span[first != 0] = (dnet_emu_span_t){.at = data, .bytes = total - first};
    if (DNET_UNLIKELY(together))
        several_packets(nic, total, p);
    charge(nic, EXECUTOR, 6 + total / 8); /* [nic 11.6] */
    charge(nic, PU, 20 + (total - first) / 8);
    return true;
}

bool dnet_emu_stream_serve(const dnet_emu_context_t *c, dnet_emu_stream_t *s)
{
    const dnet_emu_request_t *r = &c->x->request;
    unsigned access = DNET_GET(r->ex, RQ_OTYPE) & 3;

    s->source = dnet_emu_source(c->nic, c->wid, r->lower, (uint32_t) DNET_GET(r->upper, RQ_SRC));
    if (s->source.access > DNET_ACCESS_LIST)
        return false;
    if (access > DNET_ACCESS_LIST)
        access = DNET_ACCESS_CONTIGUOUS;
    s->total = dnet_emu_pu_clamp(&s->source, dnet_emu_total(r->lower));
    s->target = (uint32_t) DNET_GET(r->upper, RQ_DST);
    s->eflag = DNET_GET(r->lower, RQ_EFLAG);
    s->lflag = false;
    s->reply = true;
    s->dlid = dnet_clid_to_lid((uint16_t) DNET_GET(r->lower, RQ_DCLID));
    s->element = 1;
    s->list = 0;
    s->header = DNET_PUT(DNET_PRIM_RVS + access, PK_TYPE) |
                DNET_PUT(dnet_emu_pgid(c->nic, c->wid), PK_PGID) |
                DNET_PUT(DNET_GET(r->lower, RQ_DWID), PK_DWID) | DNET_PUT(c->wid, PK_SWID) |
                DNET_PUT(s->dlid, PK_DLID) | DNET_PUT(r->to_pw, PK_RFLAG);
    if (access != DNET_ACCESS_CONTIGUOUS) {
        uint64_t there = dnet_emu_total(r->ex);

        s->header |= DNET_PUT(DNET_GET(r->ex, RQ_DTYPE), PK_DTYPE);
        s->list = (uint32_t) DNET_GET(r->ex, RQ_SIZE);
        s->element = dnet_emu_element(r->ex);
        s->total = there < s->total ? there : s->total;
        s->total -= s->total % s->element;
    }
    set_limits(c->nic, s);
    return true;
}
