/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The extensions of the extended profile: flow ring and stop/resend, apertures, larger rings; and
 * that the prototype profile has none of them (docs/protocol.md sections 5 and 6).
 */
#include <unistd.h>

#include "tests/device/board.h"

static uint32_t delivered(const dnet_device_t *d)
{
    return (uint32_t) (user_load(d, DNET_UREG_STOP_REPORT) >> 32);
}

/* offset in units of DNET_APERTURE_UNIT */
static uint32_t aperture(unsigned slot, unsigned offset)
{
    return (uint32_t) (DNET_MASK(AP_FLAG) | DNET_PUT(slot, AP_SLOT) | DNET_PUT(offset, AP_OFFSET));
}

static void aperture_set(dnet_device_t *d, unsigned slot, void *at, uint64_t bytes)
{
    dnet_reg_store_quiet(d, DNET_UREG_APERTURE_ADDRESS, (uintptr_t) at);
    user_store(d, DNET_UREG_APERTURE_LENGTH,
               DNET_PUT(bytes, APL_LENGTH) | DNET_PUT(slot, APL_SLOT));
}

static void lhs(dnet_device_t *d, unsigned dlid)
{
    botf(d, 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = dlid, .swid = d->wid},
         "12345678", 8);
}

static void resend(dnet_device_t *d, unsigned dlid, unsigned dwid, uint64_t word)
{
    botf(d, 0,
         &(header_t){
             .type = DNET_PRIM_RESEND, .dlid = dlid, .dwid = dwid, .swid = d->wid, .line2 = word},
         NULL, 0);
}

/* [X.6] The prototype has no flow registers: they read 0, stores mean nothing, RESEND is dropped.
 */
static void x_6_prototype_has_no_flow_registers(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_PAUSED);
    lhs(d, 2);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 1);
    CHECK_EQUAL(user_load(d, DNET_UREG_STOP_REPORT), 0);
    resend(d, 2, 0, 1);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 1);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_STATE), 1);
}

/* [X.5] The prototype has no apertures: bit 31 is part of a SO-DIMM offset. */
static void x_5_prototype_has_no_apertures(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    issue(d, &(request_t){.type = DNET_PRIM_RVS, .size = 8, .dst = 0x80000000u, .dclid = 2});
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 1);
    CHECK(bit(c->dev[1][0], 17));
}

/* [X.6] A full LH ring stops the sender: not delivered, not counted, noted at the receiver. */
static void x_6_stop_when_lh_ring_is_full(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][1], *to = c->dev[1][0];
    unsigned n = to->geometry.lh_entries;

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    for (unsigned i = 0; i < n - 1; i++) {
        lhs(d, 2);
        CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
    }
    CHECK_EQUAL(to->flow[0].word, 0);
    lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    CHECK_EQUAL(counter(d, 0), n - 1);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), n - 1);
    CHECK_EQUAL(to->flow[0].word, 1ull << 63 | 1ull << 20 | 1ull << 16 | 1);
    CHECK_EQUAL(to->flow[0].arg, 64);
    dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, 64);
    lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_STOPS), 1);
}

/* [X.6] Retry: the packet is refused, and the receiver is not told. */
static void x_6_retry_leaves_no_note(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][1], *to = c->dev[1][0];

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_RETRY);
    for (unsigned i = 0; i < to->geometry.lh_entries; i++)
        lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), to->geometry.lh_entries - 1);
    CHECK_EQUAL(to->flow[0].word, 0);
}

/* [X.6] Stall: the report says so until there is room and the NIC has been let run. */
static void x_6_stall_is_reported(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][1], *to = c->dev[1][0];

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STALL);
    for (unsigned i = 0; i < to->geometry.lh_entries; i++)
        lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_STALLED);
    d->ops->run(d);
    CHECK_EQUAL(outcome(d), DNET_REPORT_STALLED);
    dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, 64);
    d->ops->run(d);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), to->geometry.lh_entries);
}

static unsigned limit_events(dnet_device_t *d)
{
    uint64_t when_ns;

    d->ops->event_raise(d); /* so that there is one to be seen */
    return d->ops->event_wait(d, 0, &when_ns);
}

/* [X.6] The limit event happens when a packet finds so many entries free or fewer, and once. */
static void x_6_limit_event_happens_once(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][1], *to = c->dev[1][0];
    unsigned n = to->geometry.lh_entries;

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_RETRY);
    user_store(to, DNET_UREG_LH_LIMIT, 5);
    for (unsigned i = 0; i < n - 1 - 5; i++)
        lhs(d, 2);
    CHECK_EQUAL(limit_events(to), 1);
    lhs(d, 2);
    CHECK_EQUAL(limit_events(to), 3);
    for (unsigned i = 0; i < 8; i++)
        lhs(d, 2);
    CHECK_EQUAL(limit_events(to), 4);
    user_store(to, DNET_UREG_LH_LIMIT, 5);
    lhs(d, 2); /* finds no room */
    CHECK_EQUAL(limit_events(to), 6);
}

/* [X.6] A full status ring stops; nothing of the packet is visible. */
static void x_6_stop_when_status_ring_is_full(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint64_t in = 1;

    sodimm_fill(to, 0x40, 0, 8);
    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    user_store(to, DNET_UREG_STATUS_AREA_SIZE, 1);
    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    for (unsigned i = 0; i < 3; i++)
        botf(d, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true}, "12345678", 8);
    botf(d, 0,
         &(header_t){
             .type = DNET_PRIM_RVS, .dlid = 2, .eflag = true, .line2 = DNET_PUT(0x40, PK_DST)},
         "12345678", 8);
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    CHECK_EQUAL(to->flow[0].arg, 16);
    sodimm_read(to, 0x40, &in, 8);
    CHECK_EQUAL(in, 0);
    /* wants no status */
    botf(d, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2}, "12345678", 8);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
}

/* [X.6] A full IPUSH ring stops a primitive between two packets; the report says how far it came.
 */
static void x_6_stop_in_the_middle(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 1);
    issue(d, &(request_t){.type = DNET_PRIM_IPUSH, .size = 6000, .dclid = 2});
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    CHECK_EQUAL(delivered(d), 2 * 2024);
    CHECK_EQUAL(counter(d, 5), 0);
    CHECK_EQUAL(to->flow[0].arg, 6000 - 2 * 2024);
    /* the long LHS message: nothing of its first packet is visible either */
    issue(d, &(request_t){.type = DNET_PRIM_LHSv1, .size = 3000, .dclid = 2});
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    CHECK_EQUAL(delivered(d), 0);
    CHECK_EQUAL(to->lh[0].envelope, 0);
    CHECK_EQUAL(user_load(to, DNET_UREG_LH_NEXT_WRITE), 0);
}

/* [X.6] Paused: every packet is stopped, but not RESEND. */
static void x_6_paused(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_PAUSED);
    lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    issue(d, &(request_t){.type = DNET_PRIM_RVS, .size = 8, .dclid = 2});
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    issue(d, &(request_t){.type = DNET_PRIM_RVL, .size = 8, .dclid = 2});
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    resend(d, 2, 0, 5);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
    CHECK_EQUAL(DNET_GET(to->flow[3].word, FLOW_KIND), DNET_FLOW_RESEND);
    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
}

/* [X.6, OP-05] A LID that is not that of its CLID is nobody's, also when the NIC with that CLID is
 * known by now. */
static void x_6_lid_of_no_node(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];

    lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
    lhs(d, 0x0102);
    CHECK_EQUAL(outcome(d), DNET_REPORT_UNREACHABLE);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 1);
}

/* [X.6] Hold: messages of the senders in the table are held back, marked packets and other senders'
 * are not. */
static void x_6_hold(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][1], *other = c->dev[2][1], *to = c->dev[1][0];
    uint64_t pass = DNET_ENVELOPE_PASS;
    unsigned bit_index = dnet_hold_index(1, 1);

    to->llcm[0x6000 + bit_index / 8] = (uint8_t) (1u << bit_index % 8);
    user_store(to, DNET_UREG_FLOW_MODE,
               DNET_PUT(DNET_FLOW_MODE_HOLD, FM_MODE) | DNET_PUT(0x6000, FM_TABLE));
    lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_HELD);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 0);
    CHECK_EQUAL(to->lh[0].envelope, 0);
    CHECK_EQUAL(to->flow[0].word,
                1ull << 63 | DNET_PUT(DNET_FLOW_HELD, FLOW_KIND) | 1ull << 16 | 1);
    botf(d, 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2, .swid = 1}, &pass, 8);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
    issue(d, &(request_t){.type = DNET_PRIM_RVS, .size = 8, .dclid = 2});
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
    lhs(other, 2);
    CHECK_EQUAL(outcome(other), DNET_REPORT_DELIVERED);
    to->llcm[0x6000 + bit_index / 8] = 0;
    lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_HOLDS), 1);
}

/* [X.6] AMT Own Entry: one sender's data to this WID go to another ring; to the other WID, and from
 * others, not. */
static void x_6_amt_own_entry(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *other = c->dev[2][1];
    const header_t to0 = {.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2};
    const header_t to1 = {.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2, .dwid = 1};
    header_t from_other = to0;
    uint8_t data[100] = {0};

    from_other.swid = 1;
    for (unsigned w = 0; w < 2; w++) {
        dnet_device_t *to = c->dev[1][w];
        uint64_t second = DNET_PUT(4096, AMT_HEAD) | DNET_PUT(4096, AMT_TAIL);

        user_store(to, DNET_UREG_IPUSH_AREA_SIZE, 1);
        memset(to->llcm, 0, 8);
        memcpy(to->llcm + 16 * 8, &second, 8);
    }
    user_store(c->dev[1][0], DNET_UREG_AMT_OWN, DNET_PUT(1, AMTI_LID) | DNET_PUT(16, AMTI_VALUE));
    botf(d, 0, &to0, data, sizeof data);
    botf(d, 0, &to1, data, sizeof data);
    botf(other, 0, &from_other, data, sizeof data);
    CHECK_EQUAL(DNET_GET(c->dev[1][0]->lh[0].where, LH_POINTER), 4096);
    CHECK_EQUAL(DNET_GET(c->dev[1][1]->lh[0].where, LH_POINTER), 0);
    CHECK_EQUAL(DNET_GET(c->dev[1][0]->lh[1].where, LH_POINTER), 0);
    CHECK_EQUAL(dnet_emu_amt_word(c->nic[1], 0, 1, 0), 16);
    CHECK_EQUAL(dnet_emu_amt_word(c->nic[1], 1, 1, 0), 0);
}

/* [X.6] RESEND entries; the flow ring's Valid flips every lap; a full ring drops and counts. */
static void x_6_flow_ring_laps(cluster_t *c)
{
    dnet_device_t *d = c->dev[2][1], *to = c->dev[1][0];
    unsigned n = to->geometry.flow_entries;

    for (unsigned i = 0; i < 2 * n + 100; i++) {
        unsigned lap = i / n & 1;

        CHECK_EQUAL(DNET_GET(to->flow[i % n].word, FLOW_VALID), lap);
        resend(d, 2, 0, (uint64_t) i << 8 | (i & 0xff));
        CHECK_EQUAL(DNET_GET(to->flow[i % n].word, FLOW_VALID), !lap);
        CHECK_EQUAL(DNET_GET(to->flow[i % n].word, FLOW_CREDITS), i & 0xff);
        CHECK_EQUAL(DNET_GET(to->flow[i % n].word, FLOW_LID), 3);
        CHECK_EQUAL(DNET_GET(to->flow[i % n].word, FLOW_WID), 1);
        CHECK_EQUAL(DNET_GET(to->flow[i % n].word, FLOW_SEQ), i);
        CHECK_EQUAL(to->flow[i % n].arg, (uint64_t) i << 8 | (i & 0xff));
        dnet_reg_store_quiet(to, DNET_UREG_FLOW_NEXT_READ, i + 1);
    }
    for (unsigned i = 0; i < n; i++)
        resend(d, 2, 0, 0);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_FLOW), 0);
    resend(d, 2, 0, 0);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_FLOW), 1);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
    /* the oldest unread */
    CHECK_EQUAL(DNET_GET(to->flow[(2 * n + 100) % n].word, FLOW_SEQ), 2 * n + 100);
}

/* [X.6] No NIC has that LID. */
static void x_6_unreachable(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    lhs(d, 99);
    CHECK_EQUAL(outcome(d), DNET_REPORT_UNREACHABLE);
    CHECK_EQUAL(counter(d, 0), 0);
    issue(d, &(request_t){.type = DNET_PRIM_RVL, .size = 8, .dclid = 99});
    CHECK_EQUAL(outcome(d), DNET_REPORT_UNREACHABLE);
    lhs(d, 2);
    CHECK_EQUAL(outcome(d), DNET_REPORT_DELIVERED);
}

/* [X.5] RVS and RVL between apertures and SO-DIMM, all four ways, with offsets and sizes that do
 * not align. */
static void x_5_apertures_all_ways(cluster_t *c)
{
    enum { N = 700001, UNIT = DNET_APERTURE_UNIT, FAR = 400 * UNIT };
    const uint32_t n = N;
    dnet_device_t *a = c->dev[0][0], *b = c->dev[1][1];
    uint8_t *out = malloc(n + FAR + 1), *in = calloc(1, n + FAR + 1);

    system_store(a, DNET_SREG_MTU, 16);
    for (uint32_t i = 0; i < n + FAR + 1; i++)
        out[i] = (uint8_t) (i * 17 + i / 1000);
    aperture_set(a, 0, out + 1, n + FAR);
    aperture_set(b, 127, in, n + FAR);
    /* aperture to aperture */
    issue(a, &(request_t){.type = DNET_PRIM_RVS,
                          .size = n,
                          .src = aperture(0, 400),
                          .dst = aperture(127, 5),
                          .dclid = 2,
                          .dwid = 1});
    CHECK_EQUAL(outcome(a), DNET_REPORT_DELIVERED);
    CHECK(memcmp(in + 5 * UNIT, out + 1 + FAR, n) == 0 && in[5 * UNIT - 1] == 0 &&
          in[5 * UNIT + n] == 0);
    CHECK_EQUAL(user_load(b, DNET_UREG_PACKET_COUNTER), (n + 4063) / 4064);
    /* aperture to SO-DIMM, SO-DIMM to aperture */
    issue(a, &(request_t){.type = DNET_PRIM_RVS,
                          .size = n,
                          .src = aperture(0, 0),
                          .dst = 0x100000,
                          .dclid = 2,
                          .dwid = 1});
    memset(in, 0, n + FAR);
    issue(b, &(request_t){.type = DNET_PRIM_RVS,
                          .size = n,
                          .src = 0x100000,
                          .dst = aperture(127, 0),
                          .dclid = 2,
                          .dwid = 1});
    CHECK(memcmp(in, out + 1, n) == 0);
    /* RVL: read a's memory into b's */
    memset(in, 0, n + FAR);
    user_store(b, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    issue(b, &(request_t){.type = DNET_PRIM_RVL,
                          .size = n,
                          .src = aperture(0, 3),
                          .dst = aperture(127, 390),
                          .dclid = 1,
                          .eflag = true});
    CHECK(memcmp(in + 390 * UNIT, out + 1 + 3 * UNIT, n) == 0);
    CHECK_EQUAL(user_load(b, DNET_UREG_STATUS_NEXT_WRITE), 16);
    CHECK_EQUAL(DNET_GET(llcm_word(b, 0), ST_SIZE), n);
    /* IPUSH and LHS gather from an aperture too */
    ring_set(c, 1, 1, 0, 0, 9, 0x400000, 4);
    CHECK(b->ops->reserve(b, 0x400000, 4 * 4096) == DNET_OK);
    issue(a,
          &(request_t){
              .type = DNET_PRIM_LHSv1, .size = 5000, .src = aperture(0, 0), .dclid = 2, .dwid = 1});
    CHECK(memcmp(b->sodimm + 0x400000, out + 57, 5000 - 56) == 0);
    free(out);
    free(in);
}

/* [X.5, nic 10.4] An LHSv2 of one packet out of an aperture is executed at once when nothing waits
 * before it; with Command Ex, which makes it go through the FIFO, the same arrives. */
static void x_5_message_at_once_or_not(cluster_t *c)
{
    static const struct {
        uint32_t total, window, at;
    } message[] = {{9, 8, 0}, {56, 8, 3}, {57, 8, 1}, {512, 32, 5}, {600, 0, 0}, {2032, 512, 7}};
    enum { MESSAGES = sizeof message / sizeof message[0], UNIT = DNET_APERTURE_UNIT };
    dnet_device_t *a = c->dev[0][1], *b = c->dev[1][0];
    uint8_t *out = malloc(5000);

    for (unsigned i = 0; i < 5000; i++)
        out[i] = (uint8_t) (i * 13 + 5);
    for (unsigned i = 0; i < 512; i++)
        a->ww[0x400 + i] = (uint8_t) (i * 3 + 1);
    ring_set(c, 1, 0, 0, 1, 9, 0x10000, 16);
    CHECK(b->ops->reserve(b, 0x10000, 16 * 4096) == DNET_OK);
    user_store(a, DNET_UREG_COMMAND_EX, DNET_PUT(DNET_PRIM_VS, RQ_OTYPE) | DNET_PUT(5000, RQ_SIZE));
    for (unsigned i = 0; i < 2 * MESSAGES; i++) {
        const uint32_t total = message[i / 2].total, window = message[i / 2].window;
        aperture_set(a, 3, out + 1, message[i / 2].at * UNIT + total - window);
        user_store(a, DNET_UREG_COMMAND_EX_FLAG, i % 2);
        user_store(a, DNET_UREG_COMMAND0_UPPER,
                   DNET_PUT(aperture(3, message[i / 2].at), RQ_SRC) |
                       DNET_PUT(window, RQ_LHS_WW_SIZE) | DNET_PUT(0x400, RQ_LHS_WW_OFFSET));
        user_store(a, DNET_UREG_COMMAND0_LOWER, (uint64_t) total << 32 | 2 << 18 | DNET_PRIM_LHSv2);
        CHECK_EQUAL(delivered(a), total);
        CHECK_EQUAL(outcome(a), DNET_REPORT_DELIVERED);
        CHECK_EQUAL(counter(a, 5), i + 1);
        CHECK_EQUAL(user_load(b, DNET_UREG_PACKET_COUNTER), i + 1);
    }
    for (unsigned i = 0; i < 2 * MESSAGES; i++) {
        const uint32_t total = message[i / 2].total, window = message[i / 2].window;
        const uint8_t *rest = b->sodimm + DNET_GET(b->lh[i].where, LH_POINTER);
        CHECK_EQUAL(DNET_GET(b->lh[i].where, LH_SIZE), total - 8);
        CHECK_EQUAL(b->lh[i].envelope, b->lh[i & ~1u].envelope);
        for (uint32_t at = 8; at < total; at++)
            CHECK_EQUAL(at < 56 ? b->lh[i].data[at - 8] : rest[at - 56],
                        at < window ? a->ww[0x400 + at]
                                    : out[1 + message[i / 2].at * UNIT + at - window]);
    }
    /* What lies outside the aperture is not sent, whichever way. */
    aperture_set(a, 3, out, 100);
    user_store(a, DNET_UREG_COMMAND_EX_FLAG, 0);
    user_store(a, DNET_UREG_COMMAND0_UPPER,
               DNET_PUT(aperture(3, 0), RQ_SRC) | DNET_PUT(8, RQ_LHS_WW_SIZE) |
                   DNET_PUT(0x400, RQ_LHS_WW_OFFSET));
    user_store(a, DNET_UREG_COMMAND0_LOWER, 512ull << 32 | 2 << 18 | DNET_PRIM_LHSv2);
    CHECK_EQUAL(DNET_GET(b->lh[2 * MESSAGES].where, LH_SIZE), 100);
    free(out);
}

static void send_lhs(dnet_device_t *d, unsigned slot, uint32_t total, bool through_fifo)
{
    uint64_t envelope = DNET_PUT(total, LH_TAG);

    memcpy(d->ww + 0x400, &envelope, sizeof envelope);
    user_store(d, DNET_UREG_COMMAND_EX,
               DNET_PUT(DNET_PRIM_VS, RQ_OTYPE) | DNET_PUT(100000, RQ_SIZE));
    user_store(d, DNET_UREG_COMMAND_EX_FLAG, through_fifo);
    user_store(d, DNET_UREG_COMMAND0_UPPER,
               DNET_PUT(aperture(slot, 0), RQ_SRC) | DNET_PUT(8, RQ_LHS_WW_SIZE) |
                   DNET_PUT(0x400, RQ_LHS_WW_OFFSET));
    user_store(d, DNET_UREG_COMMAND0_LOWER, (uint64_t) total << 32 | 2 << 18 | DNET_PRIM_LHSv2);
}

/* [X.5, nic 7.4, 10.4] An LHSv2 of a few packets is handed over as one: its entry shows the bytes
 * of all, its data stand in one piece in a ring that others use too, and the packets are counted.
 * Where the ring has no room for all of them none comes, and no longer message may be asked for. */
static void x_5_message_of_several_packets(cluster_t *c)
{
    enum { RING = 16 * 4096 };
    static const uint32_t total[] = {2032, 2033, 2040, 4048, 4049, 6000, 6072};
    enum { MESSAGES = sizeof total / sizeof total[0] };
    dnet_device_t *a = c->dev[0][1], *third = c->dev[2][0], *b = c->dev[1][0];
    uint8_t *out = malloc(8000);
    uint64_t packets = 0;
    uint32_t at = 0;

    for (unsigned i = 0; i < 8000; i++)
        out[i] = (uint8_t) (i * 11 + i / 256);
    ring_set(c, 1, 0, 0, 1, 9, 0x10000, 16);
    ring_set(c, 1, 0, 2, 0, 9, 0x10000, 16);
    CHECK(b->ops->reserve(b, 0x10000, RING) == DNET_OK);
    CHECK_EQUAL(a->ops->message_bytes(a), 17 * (2048 - 24));
    aperture_set(a, 3, out + 1, 7999);
    aperture_set(third, 3, out + 1, 7999);
    for (unsigned i = 0; i < 2 * MESSAGES; i++) {
        const uint32_t n = total[i / 2];
        const dnet_lh_entry_t *e = &b->lh[i];

        send_lhs(i % 2 ? third : a, 3, n, false);
        CHECK_EQUAL(outcome(i % 2 ? third : a), DNET_REPORT_DELIVERED);
        CHECK_EQUAL(DNET_GET(e->where, LH_SIZE), n - 8);
        CHECK_EQUAL(DNET_GET(e->where, LH_POINTER), 0x10000 + at);
        CHECK(memcmp(e->data, out + 1, 48) == 0);
        CHECK(memcmp(b->sodimm + 0x10000 + at, out + 1 + 48, n - 56) == 0);
        at += (n - 56 + 7) & ~7u;
        packets += n <= 2032 ? 1 : (n + 2023) / 2024;
        CHECK_EQUAL(user_load(b, DNET_UREG_PACKET_COUNTER), packets);
    }
    /* Fill the ring until less than that is left. */
    while (RING - 8 - at > 6000) {
        send_lhs(a, 3, 2032, false);
        at += 2032 - 56;
        packets++;
    }
    user_store(b, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    send_lhs(a, 3, 6072, false);
    CHECK_EQUAL(outcome(a), DNET_REPORT_STOPPED);
    CHECK_EQUAL(user_load(b, DNET_UREG_PACKET_COUNTER), packets);
    CHECK_EQUAL(b->flow[0].arg, 6072 - 56);
    /* A ring that could never hold it. */
    ring_set(c, 1, 0, 0, 1, 10, 0x40000, 1);
    CHECK(b->ops->reserve(b, 0x40000, 4096) == DNET_OK);
    send_lhs(a, 3, 6072, false);
    CHECK_EQUAL(outcome(a), DNET_REPORT_REFUSED);
    CHECK_EQUAL(user_load(b, DNET_UREG_PACKET_COUNTER), packets);
    free(out);
}

/* [X.5, nic 8] With a receive status they go one by one; the status, of the bytes of all, comes
 * with the last one. */
static void x_5_message_of_several_packets_with_a_status(cluster_t *c)
{
    enum { BYTES = 6000 };
    dnet_device_t *a = c->dev[0][1], *b = c->dev[1][0];
    uint8_t *out = malloc(BYTES);

    for (unsigned i = 0; i < BYTES; i++)
        out[i] = (uint8_t) (i * 11 + i / 256);
    ring_set(c, 1, 0, 0, 1, 9, 0x10000, 16);
    CHECK(b->ops->reserve(b, 0x10000, 16 * 4096) == DNET_OK);
    user_store(b, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x4000);
    aperture_set(a, 3, out, BYTES);
    user_store(a, DNET_UREG_COMMAND_EX_FLAG, 0);
    user_store(a, DNET_UREG_COMMAND0_UPPER,
               DNET_PUT(aperture(3, 0), RQ_SRC) | DNET_PUT(8, RQ_LHS_WW_SIZE) |
                   DNET_PUT(0x400, RQ_LHS_WW_OFFSET));
    user_store(a, DNET_UREG_COMMAND0_LOWER,
               DNET_PUT(DNET_PRIM_LHSv2, RQ_OTYPE) | DNET_MASK(RQ_EFLAG) | DNET_PUT(2, RQ_DCLID) |
                   DNET_PUT(BYTES, RQ_SIZE));
    CHECK_EQUAL(outcome(a), DNET_REPORT_DELIVERED);
    CHECK_EQUAL(DNET_GET(b->lh[0].where, LH_SIZE), BYTES - 8);
    CHECK(memcmp(b->lh[0].data, out, 48) == 0);
    CHECK(memcmp(b->sodimm + 0x10000, out + 48, BYTES - 56) == 0);
    CHECK_EQUAL(user_load(b, DNET_UREG_PACKET_COUNTER), 3);
    CHECK_EQUAL(user_load(b, DNET_UREG_STATUS_NEXT_WRITE), 0x4010);
    CHECK_EQUAL(DNET_GET(llcm_word(b, 0x4000), ST_SIZE), BYTES);
    free(out);
}

/* [X.5] Bounds: excess sets RC_OVF, closed and unknown slots are unreachable, nothing else is
 * written. */
static void x_5_aperture_bounds(cluster_t *c)
{
    dnet_device_t *a = c->dev[0][0], *b = c->dev[1][0];
    uint8_t out[256], in[256];

    memset(out, 0x3c, sizeof out);
    memset(in, 0, sizeof in);
    aperture_set(a, 1, out, sizeof out);
    aperture_set(b, 2, in, 100);
    issue(a, &(request_t){.type = DNET_PRIM_RVS,
                          .size = 200,
                          .src = aperture(1, 0),
                          .dst = aperture(2, 0),
                          .dclid = 2});
    CHECK(bit(b, 17));
    CHECK(in[99] == 0x3c && in[100] == 0);
    issue(a, &(request_t){.type = DNET_PRIM_RVS,
                          .size = 8,
                          .src = aperture(1, 0),
                          .dst = aperture(2, 0xffffff),
                          .dclid = 2});
    CHECK_EQUAL(in[100], 0);
    issue(a, &(request_t){.type = DNET_PRIM_RVS,
                          .size = 8,
                          .src = aperture(1, 0),
                          .dst = aperture(3, 0),
                          .dclid = 2});
    CHECK_EQUAL(outcome(a), DNET_REPORT_UNREACHABLE);
    issue(a, &(request_t){.type = DNET_PRIM_RVS,
                          .size = 8,
                          .src = aperture(1, 0),
                          .dst = aperture(0x7f, 0),
                          .dclid = 2});
    CHECK_EQUAL(outcome(a), DNET_REPORT_UNREACHABLE);
    aperture_set(b, 2, NULL, 0);
    issue(a, &(request_t){.type = DNET_PRIM_RVS,
                          .size = 8,
                          .src = aperture(1, 0),
                          .dst = aperture(2, 0),
                          .dclid = 2});
    CHECK_EQUAL(outcome(a), DNET_REPORT_UNREACHABLE);
    /* the source is clamped like SO-DIMM is: 256 of 300 bytes */
    aperture_set(b, 2, in, sizeof in);
    issue(a, &(request_t){.type = DNET_PRIM_RVS,
                          .size = 300,
                          .src = aperture(1, 0),
                          .dst = aperture(2, 0),
                          .dclid = 2});
    CHECK_EQUAL(delivered(a), 256);
    /* a slot past the end cannot be set */
    aperture_set(b, b->geometry.aperture_slots, in, 8);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_REQUEST), 1);
    /* Controller Reset closes all */
    system_store(b, DNET_SREG_CONTROLLER_RESET, 0);
    issue(a, &(request_t){.type = DNET_PRIM_RVS,
                          .size = 8,
                          .src = aperture(1, 0),
                          .dst = aperture(2, 0),
                          .dclid = 2});
    CHECK_EQUAL(outcome(a), DNET_REPORT_UNREACHABLE);
}

static void fadd(dnet_device_t *d, unsigned dlid, uint32_t offset, uint32_t addend)
{
    botf(d, 0,
         &(header_t){.type = DNET_PRIM_FADD,
                     .dlid = dlid,
                     .swid = d->wid,
                     .line2 = DNET_PUT(offset, PK_DST) | DNET_PUT(addend, PK_SRC)},
         NULL, 0);
}

/* [X.5] FADD: the issuer's register has what the word was; the word is 64 bits wide; what is no
 * word is unreachable. */
static void x_5_fetch_and_add(cluster_t *c)
{
    dnet_device_t *a = c->dev[0][1], *b = c->dev[1][0];

    llcm_store(b, 0x7008, 0xfffffffeull);
    fadd(a, 2, 0x7008, 1);
    CHECK_EQUAL(outcome(a), DNET_REPORT_DELIVERED);
    CHECK_EQUAL(user_load(a, DNET_UREG_FETCHED), 0xfffffffeull);
    CHECK_EQUAL(user_load(b, DNET_UREG_FETCHED), 0);
    fadd(a, 2, 0x7008, 0xffffffff);
    CHECK_EQUAL(user_load(a, DNET_UREG_FETCHED), 0xffffffffull);
    CHECK_EQUAL(llcm_word(b, 0x7008), 0x1fffffffeull);
    CHECK_EQUAL(llcm_word(b, 0x7000), 0);
    CHECK_EQUAL(llcm_word(b, 0x7010), 0);
    CHECK_EQUAL(counter(a, 0), 2);
    CHECK_EQUAL(user_load(b, DNET_UREG_PACKET_COUNTER), 2);
    fadd(a, 2, b->geometry.llcm_bytes, 1);
    CHECK_EQUAL(outcome(a), DNET_REPORT_UNREACHABLE);
    fadd(a, 2, 0x7004, 1);
    CHECK_EQUAL(outcome(a), DNET_REPORT_UNREACHABLE);
    CHECK_EQUAL(user_load(a, DNET_UREG_FETCHED), 0xffffffffull);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_STATE), 2);
    /* behind a request that waits to be paired it goes the long way */
    issue(a, &(request_t){.type = DNET_PRIM_VL, .size = 8, .dst = DNET_COPY_MARKER});
    fadd(a, 2, 0x7000, 5);
    CHECK_EQUAL(user_load(a, DNET_UREG_FETCHED), 0);
    CHECK_EQUAL(llcm_word(b, 0x7000), 5);
    CHECK_EQUAL(counter(a, 0), 5 - 2);
}

/* [X.5] The prototype has none. */
static void x_5_prototype_has_no_fetch_and_add(cluster_t *c)
{
    fadd(c->dev[0][0], 2, 0x7008, 1);
    CHECK_EQUAL(llcm_word(c->dev[1][0], 0x7008), 0);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_STATE), 1);
}

/* [X.5] An RVS without data leaves a receive status, and nothing else. */
static void x_5_rvs_without_data(cluster_t *c)
{
    dnet_device_t *a = c->dev[0][0], *b = c->dev[1][0];
    uint8_t in[8] = {0};

    aperture_set(b, 2, in, sizeof in);
    user_store(b, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    botf(a, 0,
         &(header_t){.type = DNET_PRIM_RVS,
                     .dlid = 2,
                     .eflag = true,
                     .hflag = true,
                     .line2 = DNET_PUT(aperture(2, 0), PK_DST) | DNET_PUT(aperture(2, 0), PK_SRC)},
         NULL, 0);
    CHECK_EQUAL(outcome(a), DNET_REPORT_DELIVERED);
    CHECK_EQUAL(user_load(b, DNET_UREG_STATUS_NEXT_WRITE), 16);
    CHECK_EQUAL(DNET_GET(llcm_word(b, 8), ST_ADDRESS), aperture(2, 0));
    CHECK(in[0] == 0);
}

/* The process's own SO-DIMM area is mapped, and is the memory VS and VL see. */
static void x_4_sodimm_is_mapped(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][1];
    uint64_t in = 0;

    CHECK(d->sodimm != NULL);
    CHECK(d->ops->reserve(d, 0x100000, 1 << 20) == DNET_OK);
    memcpy(d->sodimm + 0x100000, "mapped  ", 8);
    sodimm_read(d, 0x100000, &in, 8);
    CHECK(memcmp(&in, "mapped  ", 8) == 0);
    CHECK(d->ops->reserve(d, d->geometry.sodimm_bytes, 8) == DNET_ERR_ARGUMENT);
    CHECK(d->ops->reserve(d, 8, d->geometry.sodimm_bytes) == DNET_ERR_ARGUMENT);
    CHECK(d->ops->reserve(d, 0, 0) == DNET_OK);
}

/* WID 0 of a node, as a process of the group with its number. */
static dnet_emu_guest_t as_guest(const cluster_t *c, unsigned node)
{
    dnet_emu_guest_t guest;

    CHECK(dnet_emu_guest_self(c->nic[node], c->lid[node], 0, &guest));
    guest.pid = getpid();
    guest.group = node;
    return guest;
}

/* [X.9] Two groups: packets of a guest come in, from the LID that it has here; those of nobody, and
 * of another group from a guest's LID, do not.  An RVL is answered. */
static void x_9_guests(cluster_t *c)
{
    const header_t to_guest = {.type = DNET_PRIM_RVS, .dlid = dnet_emu_guest_lid(1)};
    dnet_emu_guest_t own, other, found;
    uint32_t number;
    uint64_t word = 0;

    system_store(c->dev[1][0], DNET_SREG_PGID0, 8);
    own = as_guest(c, 0);
    other = as_guest(c, 1);
    CHECK(!dnet_emu_guest_find(c->nic[1], 0, 1, &found));
    CHECK_EQUAL(dnet_emu_guest_add(c->nic[0], &own, &other, &number), DNET_OK);
    CHECK_EQUAL(number, 1);
    CHECK_EQUAL(dnet_emu_guest_number(c->nic[0], number), 1);
    CHECK(dnet_emu_guest_find(c->nic[1], 0, 1, &found) && found.nic.id == own.nic.id);
    botf(c->dev[0][0], 0, &to_guest, "12345678", 8);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 1);
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2}, "12345678", 8);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 1);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_PGID), 1);

    sodimm_write(c->dev[1][0], 0x1000, "abcdefgh", 8);
    issue(c->dev[0][0], &(request_t){.type = DNET_PRIM_RVL,
                                     .dclid = DNET_GUESTS_CLID + 1,
                                     .size = 8,
                                     .src = 0x1000,
                                     .dst = 0x2000});
    sodimm_read(c->dev[0][0], 0x2000, &word, 8);
    CHECK(memcmp(&word, "abcdefgh", 8) == 0);

    /* A full ring: the entry names the guest. */
    user_store(c->dev[1][0], DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_PAUSED);
    botf(c->dev[0][0], 0, &to_guest, "12345678", 8);
    CHECK_EQUAL(DNET_GET(c->dev[1][0]->flow[0].word, FLOW_LID), dnet_emu_guest_lid(1));
    user_store(c->dev[1][0], DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);

    system_store(c->dev[0][0], DNET_SREG_PGID0, 9);
    botf(c->dev[0][0], 0, &to_guest, "12345678", 8);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_PGID), 2);

    dnet_emu_guest_drop(c->nic[0], number);
    CHECK(!dnet_emu_guest_find(c->nic[0], 0, 1, &found));
    CHECK(!dnet_emu_guest_find(c->nic[1], 0, 1, &found));
}

/* [X.9] A number is a guest's as long as one of the two uses it. */
static void x_9_numbers(cluster_t *c)
{
    dnet_emu_guest_t own[3], found;
    uint32_t number;

    for (unsigned n = 0; n < 3; n++)
        own[n] = as_guest(c, n);
    CHECK_EQUAL(dnet_emu_guest_add(c->nic[0], &own[0], &own[1], &number), DNET_OK);
    CHECK_EQUAL(dnet_emu_guest_add(c->nic[1], &own[1], &own[0], &number), DNET_OK);
    CHECK_EQUAL(dnet_emu_guest_number(c->nic[1], number), 1);
    dnet_emu_guest_drop(c->nic[0], 1);
    CHECK(dnet_emu_guest_find(c->nic[0], 0, 1, &found)); /* it may still send */
    CHECK_EQUAL(dnet_emu_guest_add(c->nic[0], &own[0], &own[2], &number), DNET_OK);
    CHECK_EQUAL(number, 2);
    CHECK_EQUAL(dnet_emu_guest_add(c->nic[0], &own[0], &own[1], &number), DNET_OK);
    CHECK_EQUAL(number, 1);
    dnet_emu_guest_drop(c->nic[0], 1);
    dnet_emu_guest_drop(c->nic[1], 1);
    CHECK(!dnet_emu_guest_find(c->nic[0], 0, 1, &found));
    for (unsigned n = 0; n < DNET_GUESTS_MAX; n++) {
        dnet_emu_guest_t many = {.nic.id = 1000 + n, .pid = getpid()};

        CHECK_EQUAL(dnet_emu_guest_add(c->nic[0], &own[0], &many, &number),
                    n < DNET_GUESTS_MAX - 1 ? DNET_OK : DNET_ERR_LIMIT);
    }
}

static const board_test_t tests[] = {
    TEST(x_6_prototype_has_no_flow_registers, PROTOTYPE),
    TEST(x_5_prototype_has_no_apertures, PROTOTYPE),
    TEST(x_6_stop_when_lh_ring_is_full, EXTENDED),
    TEST(x_6_stop_when_status_ring_is_full, EXTENDED),
    TEST(x_6_retry_leaves_no_note, EXTENDED),
    TEST(x_6_stall_is_reported, EXTENDED),
    TEST(x_6_limit_event_happens_once, EXTENDED),
    TEST(x_6_stop_in_the_middle, EXTENDED),
    TEST(x_6_paused, EXTENDED),
    TEST(x_6_lid_of_no_node, EXTENDED),
    TEST(x_6_hold, EXTENDED),
    TEST(x_6_amt_own_entry, EXTENDED),
    TEST(x_6_flow_ring_laps, EXTENDED),
    TEST(x_6_unreachable, EXTENDED),
    TEST(x_5_apertures_all_ways, EXTENDED),
    TEST(x_5_message_at_once_or_not, EXTENDED),
    TEST(x_5_message_of_several_packets, EXTENDED),
    TEST(x_5_message_of_several_packets_with_a_status, EXTENDED),
    TEST(x_5_aperture_bounds, EXTENDED),
    TEST(x_5_fetch_and_add, EXTENDED),
    TEST(x_5_prototype_has_no_fetch_and_add, PROTOTYPE),
    TEST(x_5_rvs_without_data, EXTENDED),
    TEST(x_4_sodimm_is_mapped, EXTENDED),
    TEST(x_9_guests, EXTENDED),
    TEST(x_9_numbers, EXTENDED),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
