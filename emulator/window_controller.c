/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Window Controller: acceptor, and the Request FIFOs in use (data sheet 4.2.2, 5.5, 5.6, 11.1).
 *
 * A request that meets no obstacle runs to completion inside the store that kicks it; a BOTF with
 * nothing before it does not even enter the FIFO.  One whose packet finds no room at a stalling
 * receiver stays in the executor, and later requests wait behind it.
 *
 * Prototype profile: one executor and one host FIFO for both WIDs, and a FIFO for requests from RC,
 * all held by one process at a time.  Extended profile: an executor for each WID, used by its
 * process alone.
 */
#include "config.h"

#include "emulator/window_controller.h"

#include "emulator/aperture.h"
#include "emulator/executor.h"
#include "emulator/packets.h"
#include "emulator/process.h"
#include "emulator/receive_controller.h"
#include "emulator/receive_entry.h"
#include "emulator/request_fifo.h"
#include "emulator/status_write_unit.h"

static void hold(const dnet_emu_nic_t *nic, dnet_emu_wc_t *wc)
{
    if (!nic->extended)
        (void) (dnet_emu_acquire(&wc->holder, nic->pid) ||
                dnet_emu_acquire_slow(nic, &wc->holder, "Window Controller"));
}

static void let_go(const dnet_emu_nic_t *nic, dnet_emu_wc_t *wc)
{
    if (!nic->extended)
        dnet_emu_release(&wc->holder);
}

/* ---- what the registers show ---- */

/* [nic 4.2] FIFO_AFULL; the prototype's FIFO serves both WIDs, so both see it. */
static void show_fifo(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_wc_t *wc)
{
    uint64_t bit = DNET_MASK(CS_FIFO_AFULL);
    uint64_t now = dnet_emu_fifo_fill(&wc->host) >= DNET_EMU_FIFO_AFULL ? bit : 0;

    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        uint64_t shown = dnet_emu_peek(nic->area[w].ureg_load + DNET_UREG_CONTROLLER_STATUS) & bit;

        if (shown == now || (nic->extended && w != wid))
            continue;
        if (now)
            dnet_emu_status_set(nic, w, bit);
        else
            dnet_emu_status_clear(nic, w, bit);
    }
}

/* [nic 4.5, OP-41] Module State [16:0]: acceptor one-hot in [3:0], executor in [16:4]. */
static void show_state(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_wc_t *wc)
{
    uint64_t now = 1ull << (wc->acceptor & 3) | (uint64_t) wc->x.state << 4;

    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        if (!nic->extended || w == wid)
            dnet_emu_module_state(nic, w, 0x1ffff, now);
}

/* [nic 4.2, 4.4] What the kick itself changes, whenever the request is executed. */
static void show_kick(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_request_t *r)
{
    uint64_t three = DNET_MASK(CS_WW0_DONE) | DNET_MASK(CS_WW0_SRC_OVF) | DNET_MASK(CS_WW0_DST_OVF);
    bool copy = dnet_emu_copy_half(r);
    unsigned window;

    switch (DNET_GET(r->lower, RQ_OTYPE) >> 2) {
        case DNET_PRIM_VL >> 2:
            if (!copy)
                dnet_emu_flags_begin(&nic->area[wid],
                                     (unsigned) (DNET_GET(r->upper, RQ_DST) >> 9) & 3);
            break;
        case DNET_PRIM_VS >> 2:
            window = copy ? 3 : (unsigned) (DNET_GET(r->upper, RQ_SRC) >> 9) & 3;
            dnet_emu_status_clear(nic, wid, three << (3 * window));
            break;
    }
}

/* ---- acceptor (11.1) ---- */

/* [nic 5.6] A request that waited for room in the FIFO enters it. */
static void admit_pending(const dnet_emu_nic_t *nic, dnet_emu_wc_t *wc)
{
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        dnet_emu_wid_t *s = nic->area[w].state;

        if (nic->area[w].wc == wc && s->pending &&
            dnet_emu_fifo_push(&wc->host, &s->pending_request)) {
            s->pending = 0;
            dnet_emu_status_clear(nic, w, DNET_MASK(CS_REQ_PENDING));
        }
    }
}

/* Take a request from the FIFOs, in turn when both have one (OP-34).  A process that is here only
 * to serve an RVL (`host` false) leaves the host's requests to their owner. */
static bool fetch(const dnet_emu_nic_t *nic, dnet_emu_wc_t *wc, bool host)
{
    bool from_host = host && dnet_emu_fifo_fill(&wc->host) > 0;
    bool from_rc = dnet_emu_fifo_fill(&wc->rc) > 0;

    if (!from_host && !from_rc)
        return false;
    if (from_host && (!from_rc || wc->turn == 0)) {
        wc->accepted = dnet_emu_fifo_pop(&wc->host);
        wc->accepted.from_rc = 0;
        wc->turn = 1;
        admit_pending(nic, wc);
    } else {
        wc->accepted = dnet_emu_fifo_pop(&wc->rc);
        wc->accepted.from_rc = 1;
        wc->turn = 0;
    }
    return true;
}

/* [nic 11.1] One request is decoded ahead of the executor.  True: the executor has one to work on.
 */
static bool accept_request(const dnet_emu_nic_t *nic, dnet_emu_wc_t *wc, bool host)
{
    for (;;) {
        switch ((dnet_emu_acceptor_state_t) (wc->acceptor & 3)) {
            case DNET_ACCEPTOR_NOP:
                if (!fetch(nic, wc, host))
                    return wc->x.state != DNET_STATE_IDLE;
                wc->acceptor = DNET_ACCEPTOR_REQ;
                break;
            case DNET_ACCEPTOR_REQ:
                charge(nic, ACCEPTOR, 1);
                wc->acceptor = DNET_ACCEPTOR_REQ_IN;
                break;
            case DNET_ACCEPTOR_REQ_IN:
                charge(nic, ACCEPTOR, 1);
                wc->acceptor = DNET_ACCEPTOR_WAIT;
                break;
            case DNET_ACCEPTOR_WAIT:
                if (wc->x.state != DNET_STATE_IDLE)
                    return true;
                charge(nic, ACCEPTOR, 1);
                wc->x.request = wc->accepted;
                wc->x.serving = 0;
                wc->x.done = 0;
                wc->x.state = DNET_STATE_PRIM;
                wc->acceptor = DNET_ACCEPTOR_NOP;
                break;
        }
    }
}

/* May this process go on with what the executor has? */
static bool may_execute(const dnet_emu_wc_t *wc, bool host)
{
    return host || wc->x.request.from_rc;
}

static void work(dnet_emu_nic_t *nic, dnet_emu_nic_t *via, unsigned wid, bool host);

/* Let an executor that is held work as far as it can, and let go.  RVLs that it has sent are served
 * when nothing is held. */
static void work_held(dnet_emu_nic_t *nic, dnet_emu_nic_t *via, unsigned wid, bool host)
{
    dnet_emu_wc_t *wc = nic->area[wid].wc;
    bool go_on = true;

    while (go_on) {
        uint16_t service = 0;

        go_on = accept_request(nic, wc, host) && may_execute(wc, host);
        if (go_on) {
            unsigned w = wc->x.request.wid & 1;
            dnet_emu_context_t c = {
                .nic = nic, .via = via, .area = &nic->area[w], .wid = w, .x = &wc->x};

            go_on = dnet_emu_execute(&c);
            service = wc->x.service_lid;
        }
        if (!go_on) {
            show_fifo(nic, wid, wc);
            show_state(nic, wid, wc);
        }
        if (go_on && !service)
            continue;
        let_go(nic, wc);
        if (service) {
            dnet_emu_nic_t *target = dnet_emu_swif_peer(via, service);

            if (target && !target->extended)
                work(target, via, 0, false);
        }
        if (go_on)
            hold(nic, wc);
    }
}

static void work(dnet_emu_nic_t *nic, dnet_emu_nic_t *via, unsigned wid, bool host)
{
    hold(nic, nic->area[wid].wc);
    work_held(nic, via, wid, host);
}

/* [nic 5.1, 5.5, 5.6] A request through the FIFO; Command1 means Prefetch Window instead of
 * SO-DIMM. */
static __attribute__((noinline)) void queue_request(dnet_emu_device_t *d, uint64_t lower,
                                                    bool to_pw)
{
    dnet_emu_nic_t *nic = d->nic;
    unsigned wid = d->dev.wid;
    dnet_emu_wc_t *wc = d->area->wc;
    dnet_emu_wid_t *s = d->area->state;
    dnet_emu_request_t r = {
        .lower = lower,
        .upper =
            dnet_emu_ureg(nic, wid, to_pw ? DNET_UREG_COMMAND1_UPPER : DNET_UREG_COMMAND0_UPPER),
        .to_pw = to_pw,
        .wid = (uint8_t) wid,
        .ex_on = dnet_emu_ureg(nic, wid, DNET_UREG_COMMAND_EX_FLAG) & 1,
    };

    r.ex = r.ex_on ? dnet_emu_ureg(nic, wid, DNET_UREG_COMMAND_EX) : 0;
    show_kick(nic, wid, &r);
    hold(nic, wc);
    if (s->pending)
        dnet_emu_event(nic, DNET_EMU_DROP_PENDING); /* OP-33: overwritten */
    if (s->pending || !dnet_emu_fifo_push(&wc->host, &r)) {
        s->pending_request = r;
        s->pending = 1;
        dnet_emu_status_set(nic, wid, DNET_MASK(CS_REQ_PENDING));
    }
    /* Held until this one is executed, where nothing is before it: to another host it must leave by
     * this process's port, and not by that of the other WID. */
    work_held(nic, nic, wid, true);
}

/* A request executed at once whose packet did not simply arrive. */
DNET_COLD static void not_delivered(dnet_emu_device_t *d, uint64_t lower,
                                    const dnet_emu_packet_t *p, dnet_emu_result_t result)
{
    dnet_emu_executor_t *x = &d->area->wc->x;
    bool botf;

    switch (result) {
        case DNET_EMU_DELIVERED:
        case DNET_EMU_DROPPED:
            return;
        case DNET_EMU_LATER:
            botf = DNET_GET(lower, RQ_OTYPE) == DNET_PRIM_BOTF;
            dnet_emu_count(d->area, botf ? DNET_COUNTER_BOTF : DNET_COUNTER_IPUSH);
            dnet_emu_report(d->nic, d->area, DNET_REPORT_DELIVERED, botf ? 0 : p->data_bytes);
            return;
        case DNET_EMU_ANSWERED:
            dnet_emu_answered(d->area, p);
            dnet_emu_count(d->area, DNET_COUNTER_BOTF);
            dnet_emu_report(d->nic, d->area, DNET_REPORT_DELIVERED, 0);
            return;
        case DNET_EMU_STOPPED:
            dnet_emu_report(d->nic, d->area, DNET_REPORT_STOPPED, 0);
            return;
        case DNET_EMU_HELD:
            dnet_emu_report(d->nic, d->area, DNET_REPORT_HELD, 0);
            return;
        case DNET_EMU_UNREACHABLE:
            dnet_emu_report(d->nic, d->area, DNET_REPORT_UNREACHABLE, 0);
            return;
        case DNET_EMU_REFUSED:
            dnet_emu_report(d->nic, d->area, DNET_REPORT_REFUSED, 0);
            return;
        case DNET_EMU_NO_WAY:
            dnet_emu_report(d->nic, d->area, DNET_REPORT_NO_WAY, 0);
            return;
        case DNET_EMU_STALLED:
            break;
        case DNET_EMU_SERVE:
            x->reply = p->service;
            x->reply_lid = p->service_nic->as_lid;
            x->reply_state = DNET_STATE_PRIM;
            break;
    }
    x->request = (dnet_emu_request_t){.lower = lower, .wid = (uint8_t) d->dev.wid};
    x->serving = result == DNET_EMU_SERVE;
    x->done = 0;
    x->state = DNET_STATE_WAIT;
    work(d->nic, d->nic, d->dev.wid, true);
}

static inline void arrived(dnet_emu_device_t *d, uint64_t lower, const dnet_emu_packet_t *p,
                           dnet_emu_result_t result, unsigned counter, uint64_t done)
{
    if (DNET_LIKELY(result <= DNET_EMU_DROPPED)) {
        dnet_emu_count(d->area, counter);
        dnet_emu_report(d->nic, d->area, DNET_REPORT_DELIVERED, done);
    } else {
        not_delivered(d, lower, p, result);
    }
}

/* May messages go to that NIC without a packet being made?  Where nothing but shared memory lies
 * before it (`nic->swif`). */
static inline bool is_straight(const dnet_emu_device_t *d, const dnet_emu_nic_t *to, unsigned dwid)
{
    return to && !to->in_line && dnet_emu_pgid(to, dwid) == dnet_emu_pgid(d->nic, d->dev.wid);
}

/* A message of n bytes with its envelope that fits an LH entry so, by `receive`.  False: it takes
 * another way, and nothing has happened. */
static inline bool entry_at_once(dnet_emu_device_t *d, uint64_t lower, uint32_t n,
                                 bool (*receive)(const dnet_emu_nic_t *to, unsigned wid,
                                                 const uint8_t *first, uint32_t n, bool alone))
{
    const dnet_emu_nic_t *nic = d->nic, *to;
    const uint8_t *ww = d->dev.ww + DNET_GET(lower, RQ_BOTF_WW) * DNET_WINDOW_BYTES;
    uint64_t h = dnet_emu_peek(ww);
    unsigned wid = (unsigned) DNET_GET(h, PK_DWID);

    if (DNET_UNLIKELY((h & DNET_EMU_PLAIN_BITS) != DNET_EMU_PLAIN ||
                      nic->swif != &dnet_emu_swif_shm))
        return false;
    to = dnet_emu_swif_near(nic, (uint16_t) DNET_GET(h, PK_DLID));
    if (DNET_UNLIKELY(!is_straight(d, to, wid) || !receive(to, wid, ww + 2 * DNET_LINE_BYTES, n,
                                                           DNET_GET(lower, RQ_BOTF_ALONE))))
        return false;
    charge(nic, ACCEPTOR, 3);
    charge(nic, EXECUTOR, (n + 7) / 8 + 6); /* OP-45 */
    charge(to, RC, 4);                      /* [nic 11.8] */
    dnet_emu_count(d->area, DNET_COUNTER_BOTF);
    dnet_emu_report(nic, d->area, DNET_REPORT_DELIVERED, 0);
    return true;
}

/* One that fits the entry's first line. */
static inline bool short_at_once(dnet_emu_device_t *d, uint64_t lower)
{
    uint32_t n = (uint32_t) DNET_GET(lower, RQ_BOTF_SIZE) - 2 * DNET_LINE_BYTES;

    return DNET_LIKELY(n - DNET_ENVELOPE_BYTES <= DNET_LH_DATA_BYTES) &&
           entry_at_once(d, lower, n, dnet_emu_receive_short);
}

/* A longer one of one packet, of which the envelope lies in a Write Window and all else in memory
 * of this process.  False: as short_at_once(). */
static inline bool long_at_once(dnet_emu_device_t *d, uint64_t lower, uint64_t upper)
{
    const dnet_emu_nic_t *nic = d->nic;
    unsigned wid = d->dev.wid, dwid = (unsigned) DNET_GET(lower, RQ_DWID);
    uint32_t n = (uint32_t) DNET_GET(lower, RQ_SIZE);
    uint32_t at = (uint32_t) DNET_GET(upper, RQ_LHS_WW_OFFSET) & (4 * DNET_WINDOW_BYTES - 1);
    const dnet_emu_nic_t *to =
        dnet_emu_swif_near(nic, dnet_clid_to_lid((uint16_t) DNET_GET(lower, RQ_DCLID)));
    const uint8_t *data = dnet_emu_message_data(nic, wid, lower, upper);

    if (DNET_UNLIKELY(nic->swif != &dnet_emu_swif_shm || !is_straight(d, to, dwid) || !data ||
                      DNET_GET(lower, RQ_EFLAG) ||
                      DNET_GET(upper, RQ_LHS_WW_SIZE) != DNET_ENVELOPE_BYTES ||
                      n <= DNET_EMU_LH_SHORT_BYTES || n > dnet_emu_packet_limit(nic) - 16 ||
                      !dnet_emu_receive_placed(to, dwid, dnet_emu_lid(nic), wid, d->dev.ww + at,
                                               data, n, n - DNET_ENVELOPE_BYTES, 1)))
        return false;
    charge(nic, ACCEPTOR, 3);
    charge(nic, EXECUTOR, 6 + n / 8); /* [nic 11.6] */
    charge(nic, PU, 20 + (n - DNET_ENVELOPE_BYTES) / 8);
    charge(to, RC, 4); /* [nic 11.8] */
    dnet_emu_count(d->area, DNET_COUNTER_IPUSH);
    dnet_emu_report(nic, d->area, DNET_REPORT_DELIVERED, n);
    return true;
}

/* Any other BOTF, a message that fits an entry of several lines first. */
static __attribute__((noinline)) void window_at_once(dnet_emu_device_t *d, uint64_t lower)
{
    uint32_t n = dnet_emu_botf_bytes(d->nic, lower) - 2 * DNET_LINE_BYTES;
    dnet_emu_packet_t p;
    dnet_emu_result_t result;

    if (DNET_LIKELY(n > DNET_EMU_LH_SHORT_BYTES &&
                    entry_at_once(d, lower, n, dnet_emu_receive_lines)))
        return;
    charge(d->nic, ACCEPTOR, 3);
    charge(d->nic, EXECUTOR, (DNET_GET(lower, RQ_BOTF_SIZE) + 7) / 8 + 4); /* OP-45 */
    result = dnet_emu_send_window(d->nic, d->nic, d->dev.ww, d->dev.wid, lower, &p);
    arrived(d, lower, &p, result, DNET_COUNTER_BOTF, 0);
}

/* False: it takes the long way, and nothing has happened. */
static bool message_at_once(dnet_emu_device_t *d, uint64_t lower)
{
    unsigned wid = d->dev.wid;
    uint64_t upper = dnet_emu_ureg(d->nic, wid, DNET_UREG_COMMAND0_UPPER);
    dnet_emu_packet_t p;
    dnet_emu_result_t result;

    if (dnet_emu_ureg(d->nic, wid, DNET_UREG_COMMAND_EX_FLAG) & 1)
        return false;
    if (DNET_LIKELY(long_at_once(d, lower, upper)))
        return true;
    if (!dnet_emu_message_packet(d->nic, wid, d->dev.ww, lower, upper, &p))
        return false;
    charge(d->nic, ACCEPTOR, 3);
    result = d->nic->swif->send(d->nic, (uint16_t) DNET_GET(p.header[0], PK_DLID), &p);
    if (DNET_UNLIKELY(result == DNET_EMU_STALLED))
        return false; /* where it waits */
    arrived(d, lower, &p, result, DNET_COUNTER_IPUSH, p.data_bytes);
    return true;
}

/* An RVS or RVL between an aperture of this process and one of another. */
typedef struct {
    const dnet_emu_nic_t *target;
    unsigned wid;  /* there */
    uint64_t here; /* addresses in the two processes */
    uint64_t there;
    int32_t pid;
    uint32_t bytes;
} between_t;

/* [X.5] Is that what is asked for, and is nothing against one copy by the kernel? */
static bool is_between(const dnet_emu_device_t *d, uint64_t lower, uint32_t here, uint32_t there,
                       between_t *b)
{
    const dnet_emu_nic_t *nic = d->nic;
    uint64_t from = dnet_emu_aperture_offset(here), to = dnet_emu_aperture_offset(there);
    uint64_t base[2], length[2], n = dnet_emu_total(lower);

    b->wid = (unsigned) DNET_GET(lower, RQ_DWID);
    b->target = dnet_emu_swif_near(nic, dnet_clid_to_lid((uint16_t) DNET_GET(lower, RQ_DCLID)));
    if (DNET_UNLIKELY(
            (dnet_emu_ureg(nic, d->dev.wid, DNET_UREG_COMMAND_EX_FLAG) & 1) ||
            nic->swif != &dnet_emu_swif_shm || !is_straight(d, b->target, b->wid) ||
            !dnet_emu_is_aperture(nic, here) || !dnet_emu_is_aperture(nic, there) ||
            !dnet_emu_rc_is_open(b->target, &b->target->area[b->wid]) ||
            !dnet_emu_aperture_own(nic, d->dev.wid, here, &base[0], &length[0]) ||
            !dnet_emu_aperture_find(b->target, b->wid, there, &base[1], &length[1], &b->pid) ||
            b->pid == nic->pid || from > length[0] || n > length[0] - from || to > length[1] ||
            n > length[1] - to))
        return false;
    b->here = base[0] + from;
    b->there = base[1] + to;
    b->bytes = (uint32_t) n;
    return true;
}

static void copied(const dnet_emu_device_t *d, const between_t *b, bool good, unsigned counter)
{
    charge(d->nic, ACCEPTOR, 3);
    charge(d->nic, EXECUTOR, 6 + b->bytes / 8); /* [nic 11.6] */
    if (DNET_LIKELY(good))
        dnet_emu_count(d->area, counter);
    dnet_emu_report(d->nic, d->area, good ? DNET_REPORT_DELIVERED : DNET_REPORT_UNREACHABLE,
                    good ? b->bytes : 0);
}

/* [X.5] Neither RVL nor RVS packets are made, and no Packet Counter counts them.  False: as
 * short_at_once(). */
static bool fetch_at_once(dnet_emu_device_t *d, uint64_t lower)
{
    uint64_t upper = dnet_emu_ureg(d->nic, d->dev.wid, DNET_UREG_COMMAND0_UPPER);
    between_t b;

    if (DNET_GET(lower, RQ_EFLAG) || !dnet_emu_rc_is_open(d->nic, d->area) ||
        !is_between(d, lower, (uint32_t) DNET_GET(upper, RQ_DST),
                    (uint32_t) DNET_GET(upper, RQ_SRC), &b))
        return false;
    copied(d, &b, dnet_emu_remote_read(b.pid, b.there, (void *) (uintptr_t) b.here, b.bytes),
           DNET_COUNTER_RVL);
    return true;
}

/* [nic 8] The receive status that an RVS packet with all data would have had.  False: there is no
 * room for it. */
static bool tell(const dnet_emu_device_t *d, uint64_t lower, const between_t *b, uint32_t dst)
{
    const dnet_emu_packet_t p = {
        .header = {DNET_PUT(DNET_PRIM_RVS, PK_TYPE) | DNET_PUT(d->dev.wid, PK_SWID) |
                       DNET_PUT(DNET_GET(lower, RQ_DTYPE), PK_DTYPE) |
                       DNET_PUT(DNET_GET(lower, RQ_ITERATION), PK_ITERATION),
                   0, DNET_PUT(b->bytes, PK_TOTAL)},
        .header_lines = 3,
        .slid = dnet_emu_lid(d->nic),
    };
    dnet_emu_wid_t *s = b->target->area[b->wid].state;
    bool room;

    dnet_emu_rc_acquire(b->target, b->wid);
    room = dnet_emu_rc_is_open(b->target, &b->target->area[b->wid]) &&
           !dnet_emu_swu_full(b->target, b->wid);
    if (DNET_LIKELY(room))
        dnet_emu_swu_write(b->target, b->wid, &p, dst);
    dnet_emu_rc_release(s);
    if (DNET_LIKELY(room))
        dnet_emu_wake(s);
    return room;
}

/* [X.5] The same of an RVS.  False: as short_at_once(), but that the data may be there already. */
static bool store_at_once(dnet_emu_device_t *d, uint64_t lower)
{
    uint64_t upper = dnet_emu_ureg(d->nic, d->dev.wid, DNET_UREG_COMMAND0_UPPER);
    uint32_t dst = (uint32_t) DNET_GET(upper, RQ_DST);
    between_t b;
    bool good;

    if (!is_between(d, lower, (uint32_t) DNET_GET(upper, RQ_SRC), dst, &b))
        return false;
    good = dnet_emu_remote_store(b.pid, (const void *) (uintptr_t) b.here, b.there, b.bytes);
    if (good && DNET_GET(lower, RQ_EFLAG) && !tell(d, lower, &b, dst))
        return false;
    copied(d, &b, good, DNET_COUNTER_RVS);
    return true;
}

/* Is there nothing that a request would have to wait for? */
static inline bool is_idle(const dnet_emu_device_t *d)
{
    const dnet_emu_wc_t *wc = d->area->wc;

    return d->nic->extended &&
           !(wc->x.state | wc->acceptor | dnet_emu_fifo_fill(&wc->host) | d->area->state->copying);
}

/* Any request but a BOTF with nothing before it. */
static __attribute__((noinline)) void request(dnet_emu_device_t *d, uint64_t lower, bool to_pw)
{
    bool idle = is_idle(d) && !to_pw, done = false;

    switch (DNET_GET(lower, RQ_OTYPE)) {
        case DNET_PRIM_LHSv2:
            done = idle && message_at_once(d, lower);
            break;
        case DNET_PRIM_RVL:
            done = idle && fetch_at_once(d, lower);
            break;
        case DNET_PRIM_RVS:
            done = idle && store_at_once(d, lower);
            break;
    }
    if (!done)
        queue_request(d, lower, to_pw);
}

void dnet_emu_wc_request(dnet_emu_device_t *d, uint64_t lower, bool to_pw)
{
    if (DNET_UNLIKELY(DNET_GET(lower, RQ_OTYPE) != DNET_PRIM_BOTF || !is_idle(d) ||
                      DNET_GET(lower, RQ_BOTF_SIZE) < 2 * DNET_LINE_BYTES))
        request(d, lower, to_pw);
    else if (!short_at_once(d, lower))
        window_at_once(d, lower);
}

void dnet_emu_wc_run(dnet_device_t *dev)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    const dnet_emu_wc_t *wc = d->area->wc;

    if (wc->x.state | wc->acceptor | dnet_emu_fifo_fill(&wc->host) | dnet_emu_fifo_fill(&wc->rc))
        work(d->nic, d->nic, dev->wid, true);
}

/* [nic 11.9] The executor's packet, if it waits for room, is not sent again: no NIC keeps out
 * others for it. */
static void forget_packet(const dnet_emu_nic_t *nic)
{
    for (unsigned clid = 0; nic->near && clid < DNET_EMU_PEERS; clid++)
        if (nic->near[clid])
            dnet_emu_rc_forget(nic->near[clid], dnet_emu_lid(nic));
}

void dnet_emu_wc_reset(dnet_emu_nic_t *nic, unsigned wid)
{
    dnet_emu_wc_t *wc = nic->area[wid].wc;
    dnet_emu_wid_t *s = nic->area[wid].state;

    hold(nic, wc);
    if (wc->x.state != DNET_STATE_IDLE)
        forget_packet(nic);
    memset(&wc->x, 0, sizeof wc->x);
    dnet_emu_fifo_clear(&wc->host);
    dnet_emu_fifo_clear(&wc->rc);
    wc->acceptor = DNET_ACCEPTOR_NOP;
    wc->turn = 0;
    s->pending = 0;
    s->copying = 0;
    let_go(nic, wc);
}
