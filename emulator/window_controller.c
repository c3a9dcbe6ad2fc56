/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Window Controller (data sheet 4.2.2, 5.6, section 6, 11.1-11.6): takes requests, drives Prefetch Unit
 * and Write Unit, builds packets, splits them by the MTU, reports completion.
 *
 * A request that meets no obstacle runs to completion inside the store that kicks it.  One whose packet
 * finds no room at a stalling receiver stays in the executor; later requests wait in the Request FIFO.
 */
#include "config.h"

#include "common/log.h"
#include "emulator/swif/swif.h"

enum { /* Primitive Counter (4.3): 10 bits each */
    COUNTER_BOTF,
    COUNTER_VL,
    COUNTER_VS,
    COUNTER_RVL,
    COUNTER_RVS,
    COUNTER_IPUSH,
};

/* ---- completion ------------------------------------------------------------------------------ */

/* [nic 4.3, OP-37] One more completed primitive of this family, modulo 1024. */
static inline void count(const dnet_emu_areas_t *a, unsigned counter)
{
    uint8_t *at = a->ureg_load + DNET_UREG_PRIMITIVE_COUNTER;
    uint64_t word = dnet_emu_peek(at);
    uint64_t field = 0x3ffull << (10 * counter);

    dnet_emu_publish(at, (word & ~field) | ((word + (1ull << (10 * counter))) & field));
}

/* [X.6] What became of a request. */
static inline void report(const dnet_emu_device_t *d, dnet_report_t outcome, uint64_t done)
{
    if (d->nic->flow_entries)
        dnet_emu_publish(d->area->ureg_load + DNET_UREG_STOP_REPORT, (uint64_t) outcome | done << 32);
}

DNET_EMU_COLD static void discard(const dnet_emu_device_t *d, const char *why)
{
    dnet_emu_event(d->nic, DNET_EMU_DROP_REQUEST);
    dnet_debug("wid %u: request discarded: %s", d->dev.wid, why);
}

/* ---- decoded requests ------------------------------------------------------------------------ */

static uint32_t element_of(uint64_t lower)
{
    return 1u << DNET_GET(lower, RQ_DTYPE);
}

/* [nic 6.0] Bytes a request moves: Size, or element times Iteration. */
static uint64_t total_of(uint64_t lower)
{
    if ((DNET_GET(lower, RQ_OTYPE) & 3) == DNET_ACCESS_CONTIGUOUS)
        return DNET_GET(lower, RQ_SIZE);
    return (uint64_t) element_of(lower) * DNET_GET(lower, RQ_ITERATION);
}

/* A gathering access as one 64-bit half describes it: Lower of VL and RVL, or Command Ex. */
static dnet_emu_source_t source_of(const dnet_emu_nic_t *nic, unsigned wid, uint64_t half,
                                   uint32_t offset)
{
    return (dnet_emu_source_t){
        .nic = nic,
        .wid = wid,
        .access = DNET_GET(half, RQ_OTYPE) & 3,
        .offset = offset,
        .stride_or_list = (uint32_t) DNET_GET(half, RQ_SIZE),
        .element = element_of(half),
    };
}

/* ---- BOTF (6.6, 11.2) ------------------------------------------------------------------------ */

/* [nic 6.6] A Write Window's content is the packet, but for PGID and Packet Size. */
static inline dnet_emu_result_t send_window(dnet_emu_device_t *d, uint64_t lower,
                                            dnet_emu_packet_t *p)
{
    dnet_emu_nic_t *nic = d->nic;
    const uint8_t *ww = d->dev.ww + DNET_GET(lower, RQ_BOTF_WW) * DNET_WINDOW_BYTES;
    uint32_t size = (uint32_t) DNET_GET(lower, RQ_BOTF_SIZE);
    uint32_t lines, header_lines;
    uint64_t h;

    if (size > DNET_WINDOW_BYTES)
        size = DNET_WINDOW_BYTES;
    lines = (size + 7) / 8;
    charge(nic, EXECUTOR, lines + 4);
    h = dnet_emu_peek(ww) & ~(DNET_MASK(PK_PGID) | DNET_MASK(PK_SIZE));
    h |= DNET_PUT(dnet_emu_pgid(nic, d->dev.wid), PK_PGID) | DNET_PUT(size, PK_SIZE);
    if (DNET_EMU_UNLIKELY(nic->strict_swid))
        h = (h & ~DNET_MASK(PK_SWID)) | DNET_PUT(d->dev.wid, PK_SWID);
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
    p->spans = 1;
    p->span[0].at = ww + header_lines * 8ul;
    p->span[0].bytes = p->data_bytes;
    p->span[0].pid = 0;
    return nic->swif->send(nic, (uint16_t) DNET_GET(h, PK_DLID), p);
}

/* ---- RVS and IPUSH families (6.3, 6.5, 7.4, 11.6) --------------------------------------------- */

/* What the packets of one primitive have in common. */
typedef struct {
    uint64_t header;   /* 1st line without size, flags and, for strided and list, Iteration */
    uint32_t target;   /* DSTOff of the request */
    uint32_t list;     /* Stride or List Address */
    uint32_t element;
    uint64_t total;
    bool eflag;
    bool lflag;        /* of the first packet */
    bool reply;
    uint16_t dlid;
} stream_t;

/* [nic 7.4] Largest packet: the MTU holds header and data, Packet Size 12 bits (OP-09, OP-10). */
static uint32_t packet_limit(const dnet_emu_nic_t *nic)
{
    uint64_t code = dnet_emu_peek(nic->sreg_store + DNET_SREG_MTU) & 0x1f;
    uint64_t bytes = 2048;

    if (code == 0x14)
        code = 4;
    if (code != 0 && (code & (code - 1)) == 0)
        bytes = code * 256;
    return bytes < DNET_PACKET_MAX_BYTES ? (uint32_t) bytes : DNET_PACKET_MAX_BYTES;
}

/* [nic 7.4] Third header line's and DSTOff's values for the data from byte `done` on. */
static void address_lines(const dnet_emu_nic_t *via, const stream_t *s, uint64_t done, uint64_t *h)
{
    uint32_t dst = s->target;
    uint32_t list = s->list;

    switch ((dnet_prim_t) DNET_GET(s->header, PK_TYPE)) {
    case DNET_PRIM_RVS:
        if (dnet_emu_is_aperture(via, dst)) { /* [X.5] 16 bits of offset here, 32 in the third line */
            uint64_t offset = DNET_GET(dst, AP_OFFSET_LOW) + done;

            dst = (uint32_t) ((dst & ~DNET_MASK(AP_OFFSET_LOW)) | DNET_PUT(offset, AP_OFFSET_LOW));
            list = (uint32_t) (offset >> 16);
        } else {
            dst += (uint32_t) done;
        }
        break;
    case DNET_PRIM_RVSS:
        dst += (uint32_t) (done / s->element) * s->list;
        break;
    case DNET_PRIM_RVSI:
        list += 4 * (uint32_t) (done / s->element); /* OP-32 */
        break;
    case DNET_PRIM_NOP: case DNET_PRIM_BOTF:
    case DNET_PRIM_VL: case DNET_PRIM_VLS: case DNET_PRIM_VLI:
    case DNET_PRIM_VS: case DNET_PRIM_VSS: case DNET_PRIM_VSI:
    case DNET_PRIM_RVL: case DNET_PRIM_RVLS: case DNET_PRIM_RVLI:
    case DNET_PRIM_IPUSH: case DNET_PRIM_LHSv1: case DNET_PRIM_LHSv2: case DNET_PRIM_RESEND:
        break;
    }
    h[1] = DNET_PUT(s->target, PK_SRC) | DNET_PUT(dst, PK_DST);
    h[2] = DNET_PUT(list, PK_LIST) | DNET_PUT(s->total, PK_TOTAL);
    h[3] = 0;
}

/* [nic 7.4] Send a stream as packets, from byte *done_p on; *done_p follows what has been delivered. */
static dnet_emu_result_t send_stream(dnet_emu_device_t *d, dnet_emu_nic_t *source_nic,
                                     const stream_t *s, const dnet_emu_source_t *source,
                                     uint64_t *done_p)
{
    uint8_t bounce[DNET_EMU_BOUNCE_BYTES];
    unsigned type = (unsigned) DNET_GET(s->header, PK_TYPE);
    bool spread = type == DNET_PRIM_RVSS || type == DNET_PRIM_RVSI;
    bool aperture = type == DNET_PRIM_RVS && !DNET_GET(s->header, PK_RFLAG) &&
                    dnet_emu_is_aperture(source_nic, s->target);
    uint32_t cap = packet_limit(source_nic);
    uint32_t lines = spread || aperture || s->total > cap - 16 ? 3 : 2;
    uint32_t limit = cap - 8 * lines;
    uint32_t burst;
    dnet_emu_packet_t p;

    if (spread)
        limit -= limit % s->element;
    /* Packets of one contiguous RVS that differ in DSTOff only are handed over together. */
    if (type == DNET_PRIM_RVS && source->access == DNET_ACCESS_CONTIGUOUS && s->total > limit)
        burst = DNET_EMU_BURST_BYTES - DNET_EMU_BURST_BYTES % limit;
    else
        burst = limit;
    p.header_lines = lines;
    p.slid = dnet_emu_lid(source_nic);
    p.reply = s->reply;
    p.whole_lines = false;
    while (*done_p < s->total) {
        uint64_t left = s->total - *done_p;
        uint32_t n = left < burst ? (uint32_t) left : burst;
        bool last = n == left;
        uint64_t size = n < limit ? n : limit;
        dnet_emu_result_t result;

        p.header[0] = s->header | DNET_PUT(size + 8 * lines, PK_SIZE) |
                      DNET_PUT(lines > 2, PK_HFLAG) | DNET_PUT(s->eflag && last, PK_EFLAG) |
                      DNET_PUT(s->lflag && *done_p == 0, PK_LFLAG);
        if (spread)
            p.header[0] |= DNET_PUT(n / s->element, PK_ITERATION);
        address_lines(source_nic, s, *done_p, p.header);
        p.data_bytes = n;
        p.packets = n <= limit ? 1 : (n + limit - 1) / limit;
        charge(d->nic, EXECUTOR, (uint64_t) p.packets * (2 + lines) + n / 8);
        if (!dnet_emu_pu_spans(source, *done_p, n, &p, bounce))
            return DNET_EMU_UNREACHABLE;
        result = d->nic->swif->send(d->nic, s->dlid, &p);
        if (result > DNET_EMU_DROPPED)
            return result;
        *done_p += n;
    }
    return DNET_EMU_DELIVERED;
}

/* ---- RVL served for another node (6.4) -------------------------------------------------------- */

/* [nic 6.4, 6.9] The target's WC executes an RVL as RVS towards the issuer: gather as the request says,
 * place as its Command Ex says. */
static dnet_emu_result_t serve(dnet_emu_device_t *d, dnet_emu_nic_t *nic,
                               const dnet_emu_request_t *r, uint64_t *done_p)
{
    dnet_emu_source_t source =
        source_of(nic, r->wid, r->lower, (uint32_t) DNET_GET(r->upper, RQ_SRC));
    unsigned access = DNET_GET(r->ex, RQ_OTYPE) & 3;
    uint64_t total = dnet_emu_pu_clamp(&source, total_of(r->lower));
    stream_t s = {
        .target = (uint32_t) DNET_GET(r->upper, RQ_DST),
        .eflag = DNET_GET(r->lower, RQ_EFLAG),
        .reply = true,
        .dlid = dnet_clid_to_lid((uint16_t) DNET_GET(r->lower, RQ_DCLID)),
        .element = 1,
    };

    if (access == 3)
        access = DNET_ACCESS_CONTIGUOUS;
    if (source.access == 3 || (!dnet_emu_is_aperture(nic, source.offset) && !dnet_emu_sodimm_ready(nic))) {
        dnet_emu_event(nic, DNET_EMU_DROP_REQUEST);
        return DNET_EMU_DELIVERED;
    }
    s.header = DNET_PUT(DNET_PRIM_RVS + access, PK_TYPE) |
               DNET_PUT(dnet_emu_pgid(nic, r->wid), PK_PGID) |
               DNET_PUT(DNET_GET(r->lower, RQ_DWID), PK_DWID) | DNET_PUT(r->wid, PK_SWID) |
               DNET_PUT(s.dlid, PK_DLID) | DNET_PUT(r->to_pw, PK_RFLAG);
    if (access != DNET_ACCESS_CONTIGUOUS) {
        uint64_t there = total_of(r->ex);

        s.header |= DNET_PUT(DNET_GET(r->ex, RQ_DTYPE), PK_DTYPE);
        s.list = (uint32_t) DNET_GET(r->ex, RQ_SIZE);
        s.element = element_of(r->ex);
        if (there < total)
            total = there;
    }
    s.total = total;
    return send_stream(d, nic, &s, &source, done_p);
}

/* ---- execution -------------------------------------------------------------------------------- */

/* [nic 6.5, 6.9] RVS and IPUSH families, issued by the host. */
static dnet_emu_result_t execute_send(dnet_emu_device_t *d, dnet_emu_executor_t *x)
{
    const dnet_emu_request_t *r = &x->request;
    dnet_emu_nic_t *nic = d->nic;
    unsigned type = (unsigned) DNET_GET(r->lower, RQ_OTYPE);
    bool ipush = type >> 2 == DNET_PRIM_IPUSH >> 2;
    dnet_emu_source_t source = {
        .nic = nic,
        .wid = d->dev.wid,
        .offset = (uint32_t) DNET_GET(r->upper, RQ_SRC),
        .element = 1,
    };
    stream_t s = {
        .total = ipush ? DNET_GET(r->lower, RQ_SIZE) : total_of(r->lower),
        .list = ipush || type == DNET_PRIM_RVS ? 0 : (uint32_t) DNET_GET(r->lower, RQ_SIZE),
        .element = element_of(r->lower),
        .eflag = DNET_GET(r->lower, RQ_EFLAG),
        .lflag = type == DNET_PRIM_LHSv1 || type == DNET_PRIM_LHSv2,
        .target = ipush ? 0 : (uint32_t) DNET_GET(r->upper, RQ_DST),
        .dlid = dnet_clid_to_lid((uint16_t) DNET_GET(r->lower, RQ_DCLID)),
    };

    if (type == DNET_PRIM_LHSv2) { /* [nic 5.3, 6.0] a transfer stays inside one window */
        uint32_t at = (uint32_t) DNET_GET(r->upper, RQ_LHS_WW_OFFSET) & (4 * DNET_WINDOW_BYTES - 1);
        uint32_t room = DNET_WINDOW_BYTES - at % DNET_WINDOW_BYTES;
        uint32_t n = (uint32_t) DNET_GET(r->upper, RQ_LHS_WW_SIZE);

        source.window = d->dev.ww + at;
        source.window_bytes = n < room ? n : room;
        if (source.window_bytes > s.total)
            source.window_bytes = (uint32_t) s.total;
    }
    if (r->ex_on && (DNET_GET(r->ex, RQ_OTYPE) & 3) != DNET_ACCESS_CONTIGUOUS) {
        dnet_emu_source_t ex = source_of(nic, d->dev.wid, r->ex, source.offset);

        ex.window = source.window;
        ex.window_bytes = source.window_bytes;
        source = ex;
    }
    if (r->ex_on && total_of(r->ex) + source.window_bytes < s.total)
        s.total = total_of(r->ex) + source.window_bytes; /* OP-38 */
    if (source.access == 3) {
        discard(d, "access mode of Command Ex");
        return DNET_EMU_DROPPED;
    }
    s.total = dnet_emu_pu_clamp(&source, s.total);
    if (type == DNET_PRIM_RVSS || type == DNET_PRIM_RVSI)
        s.total -= s.total % s.element;
    s.header = DNET_PUT(ipush ? DNET_PRIM_IPUSH : type, PK_TYPE) |
               DNET_PUT(dnet_emu_pgid(nic, d->dev.wid), PK_PGID) |
               DNET_PUT(DNET_GET(r->lower, RQ_DWID), PK_DWID) | DNET_PUT(d->dev.wid, PK_SWID) |
               DNET_PUT(s.dlid, PK_DLID) | DNET_PUT(DNET_GET(r->lower, RQ_DTYPE), PK_DTYPE) |
               DNET_PUT(ipush ? 0 : r->to_pw, PK_RFLAG);
    if (type != DNET_PRIM_RVSS && type != DNET_PRIM_RVSI)
        s.header |= DNET_PUT(DNET_GET(r->lower, RQ_ITERATION), PK_ITERATION);
    return send_stream(d, nic, &s, &source, &x->done);
}

/* An RVL has reached its target: execute it there.  The reply may have to wait for room here. */
static dnet_emu_result_t follow_rvl(dnet_emu_device_t *d, dnet_emu_executor_t *x, dnet_emu_nic_t *nic)
{
    dnet_emu_result_t result = serve(d, nic, &x->reply, &x->done);

    x->serving = result == DNET_EMU_STALLED;
    return result;
}

static dnet_emu_result_t start_rvl(dnet_emu_device_t *d, dnet_emu_executor_t *x,
                                   const dnet_emu_packet_t *p)
{
    x->reply = p->service;
    x->reply_lid = p->service_nic->lid;
    x->done = 0;
    return follow_rvl(d, x, p->service_nic);
}

/* [nic 6.4, 11.5] RVL family, issued by the host: one packet of 4 lines. */
static dnet_emu_result_t execute_rvl(dnet_emu_device_t *d, dnet_emu_executor_t *x)
{
    const dnet_emu_request_t *r = &x->request;
    uint16_t dlid = dnet_clid_to_lid((uint16_t) DNET_GET(r->lower, RQ_DCLID));
    bool contiguous = (DNET_GET(r->lower, RQ_OTYPE) & 3) == DNET_ACCESS_CONTIGUOUS;
    uint64_t total = total_of(r->lower);
    dnet_emu_packet_t p = {
        .header = {
            DNET_PUT(32, PK_SIZE) | DNET_PUT(DNET_GET(r->lower, RQ_OTYPE), PK_TYPE) |
                DNET_PUT(dnet_emu_pgid(d->nic, d->dev.wid), PK_PGID) |
                DNET_PUT(DNET_GET(r->lower, RQ_DWID), PK_DWID) |
                DNET_PUT(d->dev.wid, PK_SWID) | DNET_PUT(dlid, PK_DLID) |
                DNET_PUT(DNET_GET(r->lower, RQ_DTYPE), PK_DTYPE) |
                DNET_PUT(DNET_GET(r->lower, RQ_ITERATION), PK_ITERATION) |
                DNET_PUT(r->to_pw, PK_RFLAG) |
                DNET_PUT(DNET_GET(r->lower, RQ_EFLAG), PK_EFLAG) | DNET_MASK(PK_HFLAG),
            DNET_PUT(DNET_GET(r->upper, RQ_SRC), PK_SRC) |
                DNET_PUT(DNET_GET(r->upper, RQ_DST), PK_DST),
            DNET_PUT(contiguous ? 0 : DNET_GET(r->lower, RQ_SIZE), PK_LIST) |
                DNET_PUT(total, PK_TOTAL),
            r->ex_on ? r->ex : 0,
        },
        .header_lines = 4,
        .packets = 1,
        .slid = dnet_emu_lid(d->nic),
    };
    dnet_emu_result_t result;

    if (x->serving) {
        dnet_emu_nic_t *target = d->nic->route[dnet_lid_to_clid(x->reply_lid)].nic;

        return target ? follow_rvl(d, x, target) : DNET_EMU_UNREACHABLE;
    }
    charge(d->nic, EXECUTOR, 5);
    result = d->nic->swif->send(d->nic, dlid, &p);
    return result == DNET_EMU_SERVE ? start_rvl(d, x, &p) : result;
}

/* [nic 4.4] The nibble of a Prefetch Window. */
static void flags_change(const dnet_emu_areas_t *a, unsigned window, uint64_t set, bool clear_first)
{
    uint8_t *at = a->ureg_load + DNET_UREG_PREFETCH_WINDOW_FLAG;
    uint64_t word = dnet_emu_peek(at);

    if (clear_first)
        word &= ~(0xfull << (4 * window));
    dnet_emu_publish(at, word | set << (4 * window));
}

static uint64_t line_bits(uint32_t first, uint32_t last)
{
    return (0xfull << first) & (0xfull >> (3 - last));
}

/* [nic 6.1] VL family: SO-DIMM to Prefetch Window, line flags as each line is filled. */
static void execute_vl(dnet_emu_device_t *d, dnet_emu_executor_t *x)
{
    const dnet_emu_request_t *r = &x->request;
    uint32_t dst = (uint32_t) DNET_GET(r->upper, RQ_DST);
    dnet_emu_source_t source =
        source_of(d->nic, d->dev.wid, r->lower, (uint32_t) DNET_GET(r->upper, RQ_SRC));
    unsigned window = (dst >> 9) & 3;
    uint32_t at = dst & (DNET_WINDOW_BYTES - 1);
    uint64_t total = dnet_emu_pu_clamp(&source, total_of(r->lower));
    uint32_t n = total < DNET_WINDOW_BYTES - at ? (uint32_t) total : DNET_WINDOW_BYTES - at;
    uint8_t *pw = d->area->pw + window * DNET_WINDOW_BYTES;

    if (n == 0) {
        flags_change(d->area, window, 0xf, false);
        return;
    }
    flags_change(d->area, window, 0xf & ~line_bits(at >> 7, (at + n - 1) >> 7), false);
    for (uint32_t done = 0; done < n;) {
        uint32_t piece = 128 - ((at + done) & 127);

        if (piece > n - done)
            piece = n - done;
        dnet_emu_pu_read(&source, done, pw + at + done, piece);
        flags_change(d->area, window, 1ull << ((at + done) >> 7), false);
        done += piece;
    }
}

/* [nic 6.8] The VS half of a copy, fed by the VL half before it. */
static void execute_copy(dnet_emu_device_t *d, dnet_emu_executor_t *x)
{
    const dnet_emu_request_t *r = &x->request;
    const dnet_emu_request_t *from = &x->copy;
    dnet_emu_source_t source =
        source_of(d->nic, d->dev.wid, from->lower, (uint32_t) DNET_GET(from->upper, RQ_SRC));
    uint32_t element = element_of(r->lower);
    unsigned access = DNET_GET(r->lower, RQ_OTYPE) & 3;
    uint32_t offset = (uint32_t) DNET_GET(r->upper, RQ_DST);
    uint32_t stride = (uint32_t) DNET_GET(r->lower, RQ_SIZE);
    uint64_t total = dnet_emu_pu_clamp(&source, total_of(from->lower));
    uint8_t bounce[DNET_EMU_BOUNCE_BYTES];
    uint64_t overflow = DNET_MASK(CS_WW0_DST_OVF) << 9;
    bool failed = false;

    if (total_of(r->lower) < total)
        total = total_of(r->lower);
    for (uint64_t done = 0; done < total && !failed;) {
        uint32_t n = total - done < sizeof bounce ? (uint32_t) (total - done) : (uint32_t) sizeof bounce;
        dnet_emu_packet_t data = { .spans = 1, .span = { { .at = bounce, .bytes = n } } };
        uint32_t step = access == DNET_ACCESS_CONTIGUOUS ? (uint32_t) done
                                                         : (uint32_t) (done / element) * stride;

        dnet_emu_pu_read(&source, done, bounce, n);
        if (!dnet_emu_wu_scatter(d->nic, d->dev.wid, access, offset + step, stride, element, n, &data,
                                 &failed))
            dnet_emu_status_set(d->nic, d->dev.wid, overflow);
        done += n;
    }
    dnet_emu_status_set(d->nic, d->dev.wid, DNET_MASK(CS_WW0_DONE) << 9);
}

/* [nic 6.2] VS family: Write Window to SO-DIMM. */
static void execute_vs(dnet_emu_device_t *d, dnet_emu_executor_t *x)
{
    const dnet_emu_request_t *r = &x->request;
    uint32_t src = (uint32_t) DNET_GET(r->upper, RQ_SRC);
    unsigned window = (src >> 9) & 3;
    uint32_t at = src & (DNET_WINDOW_BYTES - 1);
    uint32_t room = DNET_WINDOW_BYTES - at;
    unsigned access = DNET_GET(r->lower, RQ_OTYPE) & 3;
    uint32_t element = element_of(r->lower);
    uint64_t n = total_of(r->lower);
    uint64_t flags = DNET_MASK(CS_WW0_DONE);
    dnet_emu_packet_t data = { .spans = 1 };
    bool failed;

    if (n > room) {
        n = access == DNET_ACCESS_CONTIGUOUS ? room : room - room % element;
        flags |= DNET_MASK(CS_WW0_SRC_OVF);
    }
    data.span[0] = (dnet_emu_span_t){ .at = d->dev.ww + (src & (4 * DNET_WINDOW_BYTES - 1)),
                                      .bytes = (uint32_t) n };
    if (!dnet_emu_wu_scatter(d->nic, d->dev.wid, access, (uint32_t) DNET_GET(r->upper, RQ_DST),
                             (uint32_t) DNET_GET(r->lower, RQ_SIZE), element, (uint32_t) n, &data,
                             &failed))
        flags |= DNET_MASK(CS_WW0_DST_OVF);
    dnet_emu_status_set(d->nic, d->dev.wid, flags << (3 * window));
}

static bool is_copy_half(const dnet_emu_request_t *r)
{
    switch (DNET_GET(r->lower, RQ_OTYPE) >> 2) {
    case DNET_PRIM_VL >> 2:
        return DNET_GET(r->upper, RQ_DST) == DNET_COPY_MARKER;
    case DNET_PRIM_VS >> 2:
        return DNET_GET(r->upper, RQ_SRC) == DNET_COPY_MARKER;
    }
    return false;
}

/* [nic 6.8, OP-52] Pair the halves of a copy. */
static void execute_copy_half(dnet_emu_device_t *d, dnet_emu_executor_t *x, bool reads)
{
    if ((DNET_GET(x->request.lower, RQ_OTYPE) & 3) == DNET_ACCESS_LIST) {
        discard(d, "a copy by list");
        return;
    }
    if (reads) {
        x->copy = x->request;
        x->copying = 1;
        count(d->area, COUNTER_VL);
    } else if (x->copying) {
        x->copying = 0;
        execute_copy(d, x);
        count(d->area, COUNTER_VS);
    } else {
        dnet_emu_event(d->nic, DNET_EMU_DROP_COPY);
    }
}

/* Local primitives complete at once. */
static dnet_emu_result_t execute_local(dnet_emu_device_t *d, dnet_emu_executor_t *x, bool reads)
{
    if (!dnet_emu_sodimm_ready(d->nic)) {
        discard(d, "SO-DIMM not initialised");
        return DNET_EMU_DROPPED;
    }
    if (is_copy_half(&x->request)) {
        execute_copy_half(d, x, reads);
    } else if (reads) {
        execute_vl(d, x);
        count(d->area, COUNTER_VL);
    } else {
        execute_vs(d, x);
        count(d->area, COUNTER_VS);
    }
    return DNET_EMU_DELIVERED;
}

/* [nic 6.6, OP-47] BOTF off the fast path: what is too short, what was stalled, what starts an RVL. */
static dnet_emu_result_t execute_botf(dnet_emu_device_t *d, dnet_emu_executor_t *x)
{
    dnet_emu_packet_t p;
    dnet_emu_result_t result;

    if (x->serving) {
        dnet_emu_nic_t *target = d->nic->route[dnet_lid_to_clid(x->reply_lid)].nic;

        return target ? follow_rvl(d, x, target) : DNET_EMU_UNREACHABLE;
    }
    if (DNET_GET(x->request.lower, RQ_BOTF_SIZE) < 16) {
        discard(d, "BOTF of less than a header");
        return DNET_EMU_DROPPED;
    }
    result = send_window(d, x->request.lower, &p);
    return result == DNET_EMU_SERVE ? start_rvl(d, x, &p) : result;
}

static bool uses_sodimm(const dnet_emu_device_t *d, const dnet_emu_request_t *r)
{
    return !dnet_emu_is_aperture(d->nic, (uint32_t) DNET_GET(r->upper, RQ_SRC));
}

/* [nic 11.1-11.6] Execute the request in the executor; false: it waits for room elsewhere. */
static bool execute(dnet_emu_device_t *d, dnet_emu_executor_t *x)
{
    unsigned counter = COUNTER_BOTF;
    dnet_emu_result_t result = DNET_EMU_DROPPED;
    bool counts = true;

    if (x->copying && !is_copy_half(&x->request)) { /* OP-52 */
        x->copying = 0;
        dnet_emu_event(d->nic, DNET_EMU_DROP_COPY);
    }
    switch ((dnet_prim_t) DNET_GET(x->request.lower, RQ_OTYPE)) {
    case DNET_PRIM_BOTF:
        result = execute_botf(d, x);
        counts = result != DNET_EMU_DROPPED || DNET_GET(x->request.lower, RQ_BOTF_SIZE) >= 16;
        break;
    case DNET_PRIM_VL: case DNET_PRIM_VLS: case DNET_PRIM_VLI:
        result = execute_local(d, x, true);
        counts = false; /* counted there */
        break;
    case DNET_PRIM_VS: case DNET_PRIM_VSS: case DNET_PRIM_VSI:
        result = execute_local(d, x, false);
        counts = false;
        break;
    case DNET_PRIM_RVL: case DNET_PRIM_RVLS: case DNET_PRIM_RVLI:
        counter = COUNTER_RVL;
        result = execute_rvl(d, x);
        break;
    case DNET_PRIM_RVS: case DNET_PRIM_RVSS: case DNET_PRIM_RVSI:
    case DNET_PRIM_IPUSH: case DNET_PRIM_LHSv1: case DNET_PRIM_LHSv2:
        counter = DNET_GET(x->request.lower, RQ_OTYPE) < DNET_PRIM_IPUSH ? COUNTER_RVS : COUNTER_IPUSH;
        if (uses_sodimm(d, &x->request) && !dnet_emu_sodimm_ready(d->nic)) {
            discard(d, "SO-DIMM not initialised");
            counts = false;
        } else {
            result = execute_send(d, x);
        }
        break;
    case DNET_PRIM_NOP:
        counts = false;
        break;
    case DNET_PRIM_RESEND:
        counts = false;
        discard(d, "RESEND is sent by BOTF");
        break;
    }
    switch (result) {
    case DNET_EMU_DELIVERED: case DNET_EMU_DROPPED: case DNET_EMU_SERVE:
        if (counts)
            count(d->area, counter);
        report(d, DNET_REPORT_DELIVERED, x->done);
        return true;
    case DNET_EMU_STALLED:
        return false;
    case DNET_EMU_STOPPED:
        report(d, DNET_REPORT_STOPPED, x->done);
        return true;
    case DNET_EMU_UNREACHABLE:
        report(d, DNET_REPORT_UNREACHABLE, x->done);
        return true;
    }
    return true;
}

/* ---- acceptor (5.6, 11.1) --------------------------------------------------------------------- */

static void show_fifo(const dnet_emu_device_t *d, const dnet_emu_executor_t *x)
{
    uint64_t bit = DNET_MASK(CS_FIFO_AFULL);

    if (x->fifo_tail - x->fifo_head >= DNET_EMU_FIFO_AFULL)
        dnet_emu_status_set(d->nic, d->dev.wid, bit);
    else
        dnet_emu_status_clear(d->nic, d->dev.wid, bit);
}

/* Let the executor work through the Request FIFO as far as it can. */
static void work(dnet_emu_device_t *d, dnet_emu_executor_t *x)
{
    bool queued = x->fifo_tail != x->fifo_head;

    for (;;) {
        if (!x->active) {
            if (x->fifo_head == x->fifo_tail)
                break;
            x->request = x->fifo[x->fifo_head++ % DNET_EMU_FIFO_DEPTH];
            x->active = 1;
            x->serving = 0;
            x->done = 0;
        }
        if (!execute(d, x))
            break;
        x->active = 0;
    }
    if (queued)
        show_fifo(d, x);
}

/* [nic 4.2, 4.4] What the kick itself changes, whenever the request is executed. */
static void show_kick(const dnet_emu_device_t *d, const dnet_emu_request_t *r)
{
    uint64_t three = DNET_MASK(CS_WW0_DONE) | DNET_MASK(CS_WW0_SRC_OVF) | DNET_MASK(CS_WW0_DST_OVF);
    bool copy = is_copy_half(r);

    switch (DNET_GET(r->lower, RQ_OTYPE) >> 2) {
    case DNET_PRIM_VL >> 2:
        if (!copy)
            flags_change(d->area, (unsigned) (DNET_GET(r->upper, RQ_DST) >> 9) & 3, 0, true);
        break;
    case DNET_PRIM_VS >> 2:
        dnet_emu_status_clear(d->nic, d->dev.wid,
                              three << 3 * (copy ? 3 : (DNET_GET(r->upper, RQ_SRC) >> 9) & 3));
        break;
    }
}

/* [nic 5.6] A request that cannot run inside the kick: through the FIFO. */
static __attribute__((noinline)) void request_queued(dnet_emu_device_t *d, uint64_t lower, bool to_pw)
{
    dnet_emu_executor_t *x = d->executor;
    unsigned wid = d->dev.wid;
    dnet_emu_request_t r = {
        .lower = lower,
        .upper = dnet_emu_ureg(d->nic, wid, to_pw ? DNET_UREG_COMMAND1_UPPER
                                                  : DNET_UREG_COMMAND0_UPPER),
        .to_pw = to_pw,
        .wid = (uint8_t) wid,
        .ex_on = dnet_emu_ureg(d->nic, wid, DNET_UREG_COMMAND_EX_FLAG) & 1,
    };

    r.ex = r.ex_on ? dnet_emu_ureg(d->nic, wid, DNET_UREG_COMMAND_EX) : 0;
    show_kick(d, &r);
    if (x->fifo_tail - x->fifo_head >= DNET_EMU_FIFO_DEPTH)
        work(d, x);
    if (x->fifo_tail - x->fifo_head >= DNET_EMU_FIFO_DEPTH) {
        if (x->pending)
            dnet_emu_event(d->nic, DNET_EMU_DROP_PENDING); /* OP-33 */
        x->pending_request = r;
        x->pending = 1;
        dnet_emu_status_set(d->nic, wid, DNET_MASK(CS_REQ_PENDING));
        return;
    }
    x->fifo[x->fifo_tail++ % DNET_EMU_FIFO_DEPTH] = r;
    show_fifo(d, x);
    work(d, x);
}

/* [nic 5.6] Command Lower has been stored.  A BOTF with nothing before it is executed here and now. */
void dnet_emu_wc_request(dnet_emu_device_t *d, uint64_t lower, bool to_pw)
{
    dnet_emu_executor_t *x = d->executor;
    dnet_emu_packet_t p;
    dnet_emu_result_t result;

    if (DNET_EMU_UNLIKELY(DNET_GET(lower, RQ_OTYPE) != DNET_PRIM_BOTF || x->active || x->copying ||
                          x->fifo_head != x->fifo_tail ||
                          DNET_GET(lower, RQ_BOTF_SIZE) < 16)) {
        request_queued(d, lower, to_pw);
        return;
    }
    result = send_window(d, lower, &p);
    if (DNET_EMU_LIKELY(result <= DNET_EMU_DROPPED)) {
        count(d->area, COUNTER_BOTF);
        report(d, DNET_REPORT_DELIVERED, 0);
    } else if (result == DNET_EMU_STOPPED) {
        report(d, DNET_REPORT_STOPPED, 0);
    } else if (result == DNET_EMU_UNREACHABLE) {
        report(d, DNET_REPORT_UNREACHABLE, 0);
    } else {
        x->request = (dnet_emu_request_t){ .lower = lower, .wid = (uint8_t) d->dev.wid };
        x->serving = 0;
        x->done = 0;
        x->active = 1;
        if (result == DNET_EMU_SERVE) {
            x->reply = p.service;
            x->reply_lid = p.service_nic->lid;
            x->serving = 1;
        }
        work(d, x);
    }
}

/* Go on with requests that waited for room elsewhere. */
void dnet_emu_wc_run(dnet_device_t *dev)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    dnet_emu_executor_t *x = d->executor;

    if (!x->active && x->fifo_head == x->fifo_tail && !x->pending)
        return;
    work(d, x);
    if (x->pending && x->fifo_tail - x->fifo_head < DNET_EMU_FIFO_DEPTH) {
        x->fifo[x->fifo_tail++ % DNET_EMU_FIFO_DEPTH] = x->pending_request;
        x->pending = 0;
        dnet_emu_status_clear(d->nic, dev->wid, DNET_MASK(CS_REQ_PENDING));
        work(d, x);
    }
}

void dnet_emu_wc_reset(dnet_emu_nic_t *nic, unsigned wid)
{
    memset(&nic->area[wid].state->executor, 0, sizeof(dnet_emu_executor_t));
}
