/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The Window Controller's executor (data sheet 11.2 to 11.6; primitives of section 6): one switch
 * over the data sheet's states, each step returning the next state.
 *
 * PU and WU finish what they are asked before they return, so "wait until idle" is always satisfied
 * at once; what can wait is a packet, when its receiver stalls.  The executor then stays in WAIT
 * (BOTF, RVL) or in the state that sends the next packet (RVS1, RVSS1), and is called again later.
 */
#include "config.h"

#include "emulator/executor.h"

#include "common/log.h"
#include "common/trace.h"
#include "emulator/packets.h"
#include "emulator/write_unit.h"

/* What one call of the executor works with; rebuilt from the request whenever it resumes. */
typedef struct {
    dnet_emu_result_t result;
    bool counts; /* towards the Primitive Counter */
    bool stalled;
    dnet_emu_packet_t packet;
    dnet_emu_stream_t stream;
} work_t;

DNET_COLD static dnet_emu_executor_state_t discard(const dnet_emu_context_t *c, work_t *w,
                                                   const char *why)
{
    dnet_emu_event(c->nic, DNET_EMU_DROP_REQUEST);
    dnet_debug("wid %u: request discarded: %s", c->wid, why);
    DNET_TRACE(discard, c->wid, c->x->request.lower, 0);
    w->counts = false;
    w->result = DNET_EMU_DROPPED;
    return DNET_STATE_END2;
}

static unsigned access_of(const dnet_emu_context_t *c)
{
    return DNET_GET(c->x->request.lower, RQ_OTYPE) & 3;
}

/* ---- Prefetch Window Flag (4.4) ---- */

static void flags_or(const dnet_emu_areas_t *a, unsigned window, uint64_t bits)
{
    uint8_t *at = a->ureg_load + DNET_UREG_PREFETCH_WINDOW_FLAG;

    dnet_emu_publish(at, dnet_emu_peek(at) | bits << (4 * window));
}

/* ---- VL family (6.1) ---- */

static uint64_t line_bits(uint32_t first, uint32_t last)
{
    return (0xfull << first) & (0xfull >> (3 - last));
}

/* [nic 6.1] SO-DIMM to Prefetch Window; each 128-byte line's flag as the line is filled. */
static void load_window(const dnet_emu_context_t *c)
{
    const dnet_emu_request_t *r = &c->x->request;
    uint32_t dst = (uint32_t) DNET_GET(r->upper, RQ_DST);
    unsigned window = (dst >> 9) & 3;
    uint32_t at = dst & (DNET_WINDOW_BYTES - 1);
    uint8_t *pw = c->area->pw + window * DNET_WINDOW_BYTES;
    dnet_emu_source_t source =
        dnet_emu_source(c->nic, c->wid, r->lower, (uint32_t) DNET_GET(r->upper, RQ_SRC));
    uint64_t total = dnet_emu_pu_clamp(&source, dnet_emu_total(r->lower));
    uint32_t n = total < DNET_WINDOW_BYTES - at ? (uint32_t) total : DNET_WINDOW_BYTES - at;

    if (n == 0) {
        flags_or(c->area, window, 0xf);
        return;
    }
    flags_or(c->area, window, 0xf & ~line_bits(at >> 7, (at + n - 1) >> 7));
    for (uint32_t done = 0; done < n;) {
        uint32_t piece = 128 - ((at + done) & 127);

        piece = piece < n - done ? piece : n - done;
        dnet_emu_pu_read(&source, done, pw + at + done, piece);
        flags_or(c->area, window, 1ull << ((at + done) >> 7));
        done += piece;
    }
}

/* ---- VS family (6.2) and copies (6.8) ---- */

/* [nic 6.2] Write Window to SO-DIMM, with the window's DONE and overflow flags. */
static void store_window(const dnet_emu_context_t *c)
{
    const dnet_emu_request_t *r = &c->x->request;
    uint32_t src = (uint32_t) DNET_GET(r->upper, RQ_SRC) & (4 * DNET_WINDOW_BYTES - 1);
    uint32_t room = DNET_WINDOW_BYTES - src % DNET_WINDOW_BYTES;
    uint32_t element = dnet_emu_element(r->lower);
    uint64_t n = dnet_emu_total(r->lower);
    uint64_t flags = DNET_MASK(CS_WW0_DONE);
    dnet_emu_packet_t data = {.spans = 1};
    bool failed;

    if (n > room) { /* VS shortens Size, VSS and VSI shorten Iteration */
        n = access_of(c) == DNET_ACCESS_CONTIGUOUS ? room : room - room % element;
        flags |= DNET_MASK(CS_WW0_SRC_OVF);
    }
    data.span[0] = (dnet_emu_span_t){.at = c->area->ww + src, .bytes = (uint32_t) n};
    if (!dnet_emu_wu_scatter(c->nic, c->wid, access_of(c), (uint32_t) DNET_GET(r->upper, RQ_DST),
                             (uint32_t) DNET_GET(r->lower, RQ_SIZE), element, (uint32_t) n, &data,
                             &failed) ||
        failed)
        flags |= DNET_MASK(CS_WW0_DST_OVF);
    dnet_emu_status_set(c->nic, c->wid, flags << (3 * (src / DNET_WINDOW_BYTES)));
}

/* [nic 6.8] The VS half of a copy, fed by the VL half; reports in WW#3's bits (OP-36). */
static void copy(const dnet_emu_context_t *c)
{
    const dnet_emu_request_t *to = &c->x->request;
    const dnet_emu_request_t *from = &c->area->state->copy;
    dnet_emu_source_t source =
        dnet_emu_source(c->nic, c->wid, from->lower, (uint32_t) DNET_GET(from->upper, RQ_SRC));
    uint32_t element = dnet_emu_element(to->lower);
    uint32_t offset = (uint32_t) DNET_GET(to->upper, RQ_DST);
    uint32_t stride = (uint32_t) DNET_GET(to->lower, RQ_SIZE);
    uint64_t total = dnet_emu_pu_clamp(&source, dnet_emu_total(from->lower));
    uint64_t flags = DNET_MASK(CS_WW0_DONE);
    uint8_t bounce[DNET_EMU_BOUNCE_BYTES]; /* a multiple of every element */
    bool failed = false;

    if (dnet_emu_total(to->lower) < total)
        total = dnet_emu_total(to->lower);
    for (uint64_t done = 0; done < total && !failed;) {
        uint32_t n =
            total - done < sizeof bounce ? (uint32_t) (total - done) : (uint32_t) sizeof bounce;
        dnet_emu_packet_t data = {.spans = 1, .span = {{.at = bounce, .bytes = n}}};
        uint64_t at = access_of(c) == DNET_ACCESS_CONTIGUOUS
                          ? offset + done
                          : (uint32_t) (offset + (uint32_t) (done / element) * stride);

        if (at >= DNET_EMU_AREA_MAX) { /* contiguous, past the end of every area */
            flags |= DNET_MASK(CS_WW0_DST_OVF);
            break;
        }
        dnet_emu_pu_read(&source, done, bounce, n);
        if (!dnet_emu_wu_scatter(c->nic, c->wid, access_of(c), (uint32_t) at, stride, element, n,
                                 &data, &failed) ||
            failed)
            flags |= DNET_MASK(CS_WW0_DST_OVF);
        done += n;
    }
    dnet_emu_status_set(c->nic, c->wid, flags << 9);
}

/* [nic 6.8, OP-52] A copy's VL half whose VS half does not come next is thrown away. */
static void forget_copy(const dnet_emu_context_t *c)
{
    bool vs = DNET_GET(c->x->request.lower, RQ_OTYPE) >> 2 == DNET_PRIM_VS >> 2;

    if (c->area->state->copying && !(vs && dnet_emu_copy_half(&c->x->request))) {
        c->area->state->copying = 0;
        dnet_emu_event(c->nic, DNET_EMU_DROP_COPY);
    }
}

/* ---- PRIM: the first state of every family ---- */

/* The SO-DIMM is used, and is not initialised (OP-58). */
static bool not_ready(const dnet_emu_context_t *c)
{
    uint32_t from = (uint32_t) DNET_GET(c->x->request.upper, RQ_SRC);
    unsigned family = DNET_GET(c->x->request.lower, RQ_OTYPE) >> 2;
    bool local = family == DNET_PRIM_VL >> 2 || family == DNET_PRIM_VS >> 2;

    return !dnet_emu_sodimm_ready(c->nic) && (local || !dnet_emu_is_aperture(c->nic, from));
}

/* Prepare an RVS or IPUSH stream, also after a stall. */
static bool prepare(const dnet_emu_context_t *c, work_t *w)
{
    return c->x->request.from_rc ? dnet_emu_stream_serve(c, &w->stream)
                                 : dnet_emu_stream_send(c, &w->stream);
}

static dnet_emu_executor_state_t begin_stream(const dnet_emu_context_t *c, work_t *w)
{
    if (not_ready(c))
        return discard(c, w, "SO-DIMM not initialised");
    if (!prepare(c, w))
        return discard(c, w, "access mode of Command Ex");
    c->x->done = 0;
    if (w->stream.total == 0)
        return DNET_STATE_RVS_END;
    return w->stream.spread ? DNET_STATE_RVSS1 : DNET_STATE_RVS1;
}

static dnet_emu_executor_state_t begin_local(const dnet_emu_context_t *c, work_t *w,
                                             dnet_emu_executor_state_t first)
{
    if (not_ready(c))
        return discard(c, w, "SO-DIMM not initialised");
    if (dnet_emu_copy_half(&c->x->request) && access_of(c) == DNET_ACCESS_LIST)
        return discard(c, w, "a copy by list");
    return first;
}

/* [nic 6, 11.2-11.6] Decode the primitive; a code that is none is discarded (OP-11). */
static dnet_emu_executor_state_t begin(const dnet_emu_context_t *c, work_t *w)
{
    uint64_t lower = c->x->request.lower;

    if (c->x->request.from_rc)
        return begin_stream(c, w);
    forget_copy(c);
    switch ((dnet_prim_t) DNET_GET(lower, RQ_OTYPE)) {
        case DNET_PRIM_NOP:
            w->counts = false;
            return DNET_STATE_END2;
        case DNET_PRIM_BOTF:
            if (dnet_emu_botf_bytes(c->nic, lower) < 16) /* 5.3.3 for 0, OP-47 */
                return discard(c, w, "BOTF of less than a header");
            return DNET_STATE_BOTF1;
        case DNET_PRIM_VL:
        case DNET_PRIM_VLS:
        case DNET_PRIM_VLI:
            return begin_local(c, w, DNET_STATE_VL1);
        case DNET_PRIM_VS:
            return begin_local(c, w, DNET_STATE_VS1);
        case DNET_PRIM_VSS:
        case DNET_PRIM_VSI:
            return begin_local(c, w, DNET_STATE_VSS1);
        case DNET_PRIM_RVL:
        case DNET_PRIM_RVLS:
        case DNET_PRIM_RVLI:
            return DNET_STATE_RVL1;
        case DNET_PRIM_RVS:
        case DNET_PRIM_RVSS:
        case DNET_PRIM_RVSI:
        case DNET_PRIM_IPUSH:
        case DNET_PRIM_LHSv1:
        case DNET_PRIM_LHSv2:
            return begin_stream(c, w);
        case DNET_PRIM_RESEND:
        case DNET_PRIM_FADD:
            return discard(c, w, "RESEND and FADD are sent by BOTF");
    }
    return discard(c, w, "unknown code");
}

/* ---- RVL (6.4) ---- */

/* [nic 6.4, 11.5] The four lines of an RVL packet; DW 4 is Command Ex, or 0 without (6.9). */
static void rvl_lines(const dnet_emu_context_t *c, dnet_emu_packet_t *p)
{
    const dnet_emu_request_t *r = &c->x->request;
    bool contiguous = access_of(c) == DNET_ACCESS_CONTIGUOUS;
    uint16_t dlid = dnet_clid_to_lid((uint16_t) DNET_GET(r->lower, RQ_DCLID));

    *p = (dnet_emu_packet_t){
        .header =
            {
                DNET_PUT(32, PK_SIZE) | DNET_PUT(DNET_GET(r->lower, RQ_OTYPE), PK_TYPE) |
                    DNET_PUT(dnet_emu_pgid(c->nic, c->wid), PK_PGID) |
                    DNET_PUT(DNET_GET(r->lower, RQ_DWID), PK_DWID) | DNET_PUT(c->wid, PK_SWID) |
                    DNET_PUT(dlid, PK_DLID) | DNET_PUT(DNET_GET(r->lower, RQ_DTYPE), PK_DTYPE) |
                    DNET_PUT(DNET_GET(r->lower, RQ_ITERATION), PK_ITERATION) |
                    DNET_PUT(r->to_pw, PK_RFLAG) |
                    DNET_PUT(DNET_GET(r->lower, RQ_EFLAG), PK_EFLAG) | DNET_MASK(PK_HFLAG),
                DNET_PUT(DNET_GET(r->upper, RQ_SRC), PK_SRC) |
                    DNET_PUT(DNET_GET(r->upper, RQ_DST), PK_DST),
                DNET_PUT(contiguous ? 0 : DNET_GET(r->lower, RQ_SIZE), PK_LIST) |
                    DNET_PUT(dnet_emu_total(r->lower), PK_TOTAL),
                r->ex_on ? r->ex : 0,
            },
        .header_lines = 4,
        .packets = 1,
        .slid = dnet_emu_lid(c->nic),
    };
}

/*
 * An RVL has reached its target.  In the extended profile it is served here and now, without the
 * target's Request FIFO: any number of processes may read from one target side by side.  A reply
 * that finds no room at the issuer stays with the issuer's request.
 */
static void serve_now(const dnet_emu_context_t *c, work_t *w, dnet_emu_nic_t *target)
{
    dnet_emu_executor_t there = {.state = c->x->serving ? c->x->reply_state : DNET_STATE_PRIM,
                                 .request = c->x->reply,
                                 .done = c->x->done};
    dnet_emu_context_t t = {.nic = target,
                            .via = c->via,
                            .area = &target->area[c->x->reply.wid & 1],
                            .wid = c->x->reply.wid & 1,
                            .x = &there};

    w->stalled = !dnet_emu_execute(&t);
    c->x->serving = w->stalled;
    c->x->reply_state = there.state;
    c->x->done = there.done;
    w->result = (dnet_emu_result_t) there.outcome;
}

/* What becomes of a BOTF or RVL packet.  @return `next`, or WAIT where the receiver stalls */
static dnet_emu_executor_state_t sent(const dnet_emu_context_t *c, work_t *w,
                                      dnet_emu_executor_state_t next)
{
    if (w->result == DNET_EMU_STALLED) {
        w->stalled = true;
        return DNET_STATE_WAIT;
    }
    if (w->result == DNET_EMU_SERVE) {
        c->x->reply = w->packet.service;
        c->x->reply_lid = w->packet.service_nic->as_lid;
        serve_now(c, w, w->packet.service_nic);
        return w->stalled ? DNET_STATE_WAIT : next;
    }
    c->x->service_lid = w->packet.service_nic ? w->packet.service_nic->as_lid : 0;
    return next;
}

/* WAIT: the packet, or the reply to it, could not be delivered; try again. */
static dnet_emu_executor_state_t again(const dnet_emu_context_t *c, work_t *w)
{
    bool botf = DNET_GET(c->x->request.lower, RQ_OTYPE) == DNET_PRIM_BOTF;
    dnet_emu_nic_t *target;

    if (!c->x->serving)
        return botf ? DNET_STATE_BOTF1 : DNET_STATE_RVL1;
    target = dnet_emu_swif_peer(c->via, c->x->reply_lid);
    if (!target) {
        c->x->serving = 0;
        w->result = DNET_EMU_UNREACHABLE;
    } else {
        serve_now(c, w, target);
    }
    if (w->stalled)
        return DNET_STATE_WAIT;
    return botf ? DNET_STATE_END2 : DNET_STATE_RVL_END;
}

/* ---- completion ---- */

/* The family's last state: counter and report. */
static void complete(const dnet_emu_context_t *c, const work_t *w, unsigned counter)
{
    dnet_report_t report = DNET_REPORT_DELIVERED;

    c->x->outcome = w->result;
    if (c->x->request.from_rc) /* OP-37 */
        return;
    switch (w->result) {
        case DNET_EMU_DELIVERED:
        case DNET_EMU_DROPPED:
        case DNET_EMU_SERVE:
        case DNET_EMU_STALLED:
        case DNET_EMU_LATER:
            if (w->counts)
                dnet_emu_count(c->area, counter);
            break;
        case DNET_EMU_ANSWERED:
            dnet_emu_answered(c->area, &w->packet);
            dnet_emu_count(c->area, counter);
            break;
        case DNET_EMU_STOPPED:
            report = DNET_REPORT_STOPPED;
            break;
        case DNET_EMU_HELD:
            report = DNET_REPORT_HELD;
            break;
        case DNET_EMU_UNREACHABLE:
            report = DNET_REPORT_UNREACHABLE;
            break;
        case DNET_EMU_REFUSED:
            report = DNET_REPORT_REFUSED;
            break;
        case DNET_EMU_NO_WAY:
            report = DNET_REPORT_NO_WAY;
            break;
    }
    dnet_emu_report(c->nic, c->area, report, c->x->done);
}

/* One packet (or burst) of a stream has been handed to the switch interface. */
static dnet_emu_executor_state_t stream_sent(const dnet_emu_context_t *c, work_t *w)
{
    dnet_emu_executor_state_t first = w->stream.spread ? DNET_STATE_RVSS1 : DNET_STATE_RVS1;

    if (w->result == DNET_EMU_STALLED) {
        w->stalled = true;
        return first;
    }
    if ((w->result > DNET_EMU_DROPPED && w->result != DNET_EMU_LATER) ||
        c->x->done == w->stream.total)
        return DNET_STATE_RVS_END;
    return first;
}

/* ---- the machine ---- */

static dnet_emu_executor_state_t step(const dnet_emu_context_t *c, work_t *w)
{
    const dnet_emu_request_t *r = &c->x->request;
    unsigned type = (unsigned) DNET_GET(r->lower, RQ_OTYPE);

    switch ((dnet_emu_executor_state_t) c->x->state) {
        case DNET_STATE_IDLE:
            return DNET_STATE_IDLE;
        case DNET_STATE_PRIM:
            charge(c->nic, EXECUTOR, 1);
            return begin(c, w);
        case DNET_STATE_WAIT:
            charge(c->nic, EXECUTOR, 1);
            return again(c, w);

        case DNET_STATE_BOTF1: /* [nic 11.2] */
            charge(c->nic, EXECUTOR, 1);
            return DNET_STATE_BOTF2;
        case DNET_STATE_BOTF2: /* first line latched; PGID and Packet Size replaced */
            charge(c->nic, EXECUTOR, 1);
            return DNET_STATE_BOTF3;
        case DNET_STATE_BOTF3: /* BOTF3 and BOTF4 alternate, a line each */
        case DNET_STATE_BOTF4:
            charge(c->nic, EXECUTOR, (dnet_emu_botf_bytes(c->nic, r->lower) + 7) / 8 - 1);
            return DNET_STATE_END1;
        case DNET_STATE_END1:
            charge(c->nic, EXECUTOR, 1);
            w->result =
                dnet_emu_send_window(c->nic, c->via, c->area->ww, c->wid, r->lower, &w->packet);
            return sent(c, w, DNET_STATE_END2);
        case DNET_STATE_END2:
            charge(c->nic, EXECUTOR, 1);
            complete(c, w, DNET_COUNTER_BOTF);
            return DNET_STATE_IDLE;

        case DNET_STATE_VL1: /* [nic 11.3] */
            charge(c->nic, EXECUTOR, 1);
            if (!dnet_emu_copy_half(r))
                return DNET_STATE_VL2;
            c->area->state->copy = *r;
            c->area->state->copying = 1;
            return DNET_STATE_VL_END;
        case DNET_STATE_VL2:
            load_window(c);
            return DNET_STATE_VL_END;
        case DNET_STATE_VL_END:
            charge(c->nic, EXECUTOR, 1);
            complete(c, w, DNET_COUNTER_VL);
            return DNET_STATE_IDLE;

        case DNET_STATE_VSS1: /* [nic 11.4] */
            charge(c->nic, EXECUTOR, 1);
            return DNET_STATE_VS1;
        case DNET_STATE_VS1:
            if (!dnet_emu_copy_half(r)) {
                store_window(c);
            } else if (c->area->state->copying) {
                c->area->state->copying = 0;
                copy(c);
            } else {
                dnet_emu_event(c->nic, DNET_EMU_DROP_COPY); /* OP-52 */
                w->counts = false;
            }
            return DNET_STATE_VS_END;
        case DNET_STATE_VS_END:
            charge(c->nic, EXECUTOR, 1);
            complete(c, w, DNET_COUNTER_VS);
            return DNET_STATE_IDLE;

        case DNET_STATE_RVL1: /* [nic 11.5] */
            charge(c->nic, EXECUTOR, 1);
            rvl_lines(c, &w->packet);
            return DNET_STATE_RVL2;
        case DNET_STATE_RVL2:
            charge(c->nic, EXECUTOR, 1);
            return DNET_STATE_RVL3;
        case DNET_STATE_RVL3:
            charge(c->nic, EXECUTOR, 1);
            w->result = c->via->swif->send(
                c->via, (uint16_t) DNET_GET(w->packet.header[0], PK_DLID), &w->packet);
            return sent(c, w, DNET_STATE_RVL_END);
        case DNET_STATE_RVL_END:
            charge(c->nic, EXECUTOR, 1);
            complete(c, w, DNET_COUNTER_RVL);
            return DNET_STATE_IDLE;

        case DNET_STATE_RVSS1: /* [nic 11.6, OP-49] one packet, or as many whole elements as fit */
            charge(c->nic, EXECUTOR, 1);
            return w->stream.total - c->x->done > w->stream.limit ? DNET_STATE_RVSS2
                                                                  : DNET_STATE_RVS1;
        case DNET_STATE_RVSS2:
            charge(c->nic, EXECUTOR, 1);
            return DNET_STATE_RVS1;
        case DNET_STATE_RVS1:
            charge(c->nic, EXECUTOR, 1);
            return w->stream.lines > 2 ? DNET_STATE_RVS2 : DNET_STATE_RVS3;
        case DNET_STATE_RVS2:
        case DNET_STATE_RVS3:
            charge(c->nic, EXECUTOR, 1);
            return DNET_STATE_RVS4;
        case DNET_STATE_RVS4:
            charge(c->nic, EXECUTOR, w->stream.lines);
            return DNET_STATE_RVS5;
        case DNET_STATE_RVS5:
            w->result = dnet_emu_stream_packet(c, &w->stream, &w->packet);
            charge(c->nic, EXECUTOR, w->packet.data_bytes / 8);
            return stream_sent(c, w);
        case DNET_STATE_RVS_END:
            charge(c->nic, EXECUTOR, 1);
            complete(c, w,
                     type >> 2 == DNET_PRIM_IPUSH >> 2 ? DNET_COUNTER_IPUSH : DNET_COUNTER_RVS);
            return DNET_STATE_IDLE;
    }
    return DNET_STATE_IDLE;
}

bool dnet_emu_execute(const dnet_emu_context_t *c)
{
    dnet_emu_executor_t *x = c->x;
    work_t w;

    w.result = DNET_EMU_DELIVERED;
    w.counts = true;
    w.stalled = false;
    x->service_lid = 0;
    if ((x->state == DNET_STATE_RVS1 || x->state == DNET_STATE_RVSS1) && !prepare(c, &w))
        x->state = discard(c, &w, "changed while it waited");
    while (x->state != DNET_STATE_IDLE && !w.stalled)
        x->state = step(c, &w);
    if (DNET_UNLIKELY(w.stalled) && !x->request.from_rc)
        dnet_emu_report(c->nic, c->area, DNET_REPORT_STALLED, x->done);
    return !w.stalled;
}
