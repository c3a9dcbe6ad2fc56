/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance: reception, receive status, IPUSH, LHS (data sheet sections 4.2, 8, 9, 10 and OP-13,
 * 42).
 */
#include "tests/device/board.h"

#define LINE(id_, content_) \
    { \
        .content = (content_), .id = (id_) \
    }

static uint64_t header(const header_t *h, unsigned size)
{
    return first_line(h) | DNET_PUT(7, PK_PGID) | DNET_PUT(size, PK_SIZE);
}

/* Send an LHS packet from node 0. */
static void lhs(cluster_t *c, unsigned wid, unsigned to_wid, uint64_t envelope, const void *data,
                unsigned bytes, bool eflag)
{
    uint8_t image[488];

    memcpy(image, &envelope, 8);
    if (bytes > 0)
        memcpy(image + 8, data, bytes);
    botf(c->dev[0][wid], 0,
         &(header_t){.type = DNET_PRIM_IPUSH,
                     .lflag = true,
                     .dlid = 2,
                     .swid = wid,
                     .dwid = to_wid,
                     .eflag = eflag},
         image, 8 + bytes);
}

static void ipush(cluster_t *c, const void *data, unsigned bytes)
{
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 2, .eflag = true}, data,
         bytes);
}

/* ---- reception ---- */

/* [nic 4.4, 2, OP-13] A packet of another group is dropped and counted; the check can be turned
 * off. */
static void nic_op_13_pgid(cluster_t *c)
{
    dnet_emu_config_t open_to_all = {.no_pgid_check = true};
    cluster_t other;

    system_store(c->dev[1][0], DNET_SREG_PGID0, 8);
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2}, "12345678", 8);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 0);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_PGID), 1);
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .dwid = 1}, "12345678", 8);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_PACKET_COUNTER), 1);
    cluster_up(&other, c->profile, &open_to_all);
    system_store(other.dev[1][0], DNET_SREG_PGID0, 8);
    botf(other.dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2}, "12345678", 8);
    CHECK_EQUAL(user_load(other.dev[1][0], DNET_UREG_PACKET_COUNTER), 1);
    cluster_down(&other);
}

/* [nic 7.1, 4.2] RC_STATE 01: a first line before the end of the packet before. */
static void nic_4_2_rc_state_first_line(cluster_t *c)
{
    const header_t h = {.type = DNET_PRIM_RVS, .dlid = 2};
    const dnet_emu_line_t lines[] = {
        LINE(DNET_LINE_FIRST, header(&h, 32)), LINE(DNET_LINE_MIDDLE, 0), LINE(DNET_LINE_MIDDLE, 1),
        LINE(DNET_LINE_FIRST, header(&h, 24)), LINE(DNET_LINE_MIDDLE, 0), LINE(DNET_LINE_LAST, 2),
    };

    dnet_emu_inject(c->nic[1], 1, lines, 6);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_CONTROLLER_STATUS) >> 18 & 3, 1);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_CONTROLLER_STATUS) >> 18 & 3, 1); /* global */
}

/* [nic 4.2] RC_STATE 10: hflag and header lines disagree. */
static void nic_4_2_rc_state_header_lines(cluster_t *c)
{
    const header_t h = {.type = DNET_PRIM_RVS, .dlid = 2, .hflag = true};
    const dnet_emu_line_t lines[] = {LINE(DNET_LINE_FIRST, header(&h, 16)),
                                     LINE(DNET_LINE_LAST, 0)};

    dnet_emu_inject(c->nic[1], 1, lines, 2);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_CONTROLLER_STATUS) >> 18 & 3, 2);
}

/* [nic 4.2, 7.4] RC_STATE 10: RVSS without its third line, by BOTF. */
static void nic_4_2_rc_state_rvss_needs_three_lines(cluster_t *c)
{
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVSS, .dlid = 2}, "12345678", 8);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_CONTROLLER_STATUS) >> 18 & 3, 2);
}

/* [nic 4.2] RC_STATE 11: an RVL packet that carries data. */
static void nic_4_2_rc_state_rvl_with_data(cluster_t *c)
{
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVL, .dlid = 2, .hflag = true}, "12345678",
         8);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_CONTROLLER_STATUS) >> 18 & 3, 3);
}

/* [nic OP-42] After an error RC halts until Controller Reset; the sender's requests wait. */
static void nic_op_42_rc_halts(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    unsigned before;

    botf(d, 0, &(header_t){.type = DNET_PRIM_RVSS, .dlid = 2}, "12345678", 8);
    before = counter(d, 0);
    botf(d, 1, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2}, "12345678", 8);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 0);
    CHECK_EQUAL(counter(d, 0), before);
    system_store(c->dev[1][0], DNET_SREG_CONTROLLER_RESET, 0);
    d->ops->run(d);
    CHECK_EQUAL(counter(d, 0), before + 1);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 1);
}

/* [nic OP-42] Or goes on at the next first line, when told to. */
static void nic_op_42_rc_goes_on(cluster_t *unused)
{
    dnet_emu_config_t skip = {.rc_skip_errors = true};
    cluster_t c;

    cluster_up(&c, unused->profile, &skip);
    botf(c.dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVSS, .dlid = 2}, "12345678", 8);
    botf(c.dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2}, "12345678", 8);
    CHECK_EQUAL(user_load(c.dev[1][0], DNET_UREG_PACKET_COUNTER), 1);
    CHECK_EQUAL(user_load(c.dev[1][0], DNET_UREG_CONTROLLER_STATUS) >> 18 & 3, 2); /* sticky */
    cluster_down(&c);
}

/* [nic 7.1] Lines between packets, and packets of unknown type, change nothing. */
static void nic_7_1_stray_lines(cluster_t *c)
{
    const header_t h = {.type = (dnet_prim_t) 0x0d, .dlid = 2};
    const dnet_emu_line_t lines[] = {
        LINE(DNET_LINE_MIDDLE, 5),
        LINE(DNET_LINE_LAST, 6),
        LINE(0, 7),
        LINE(DNET_LINE_FIRST, header(&h, 16)),
        LINE(DNET_LINE_LAST, 0),
    };

    dnet_emu_inject(c->nic[1], 1, lines, 5);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 0);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_CONTROLLER_STATUS), 0x12);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_STATE), 1);
}

/* ---- receive status (8) ---- */

/* [nic 8, OP-12, OP-20, OP-21] The 128 bits of an entry. */
static void nic_8_entry(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][1], *to = c->dev[1][0];

    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x4000);
    CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 0x4000);
    issue(d, &(request_t){.type = DNET_PRIM_RVSS,
                          .dtype = 3,
                          .iteration = 4,
                          .size = 16,
                          .dst = 0x88,
                          .dclid = 2,
                          .eflag = true});
    CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 0x4010);
    CHECK_EQUAL(llcm_word(to, 0x4000),
                32ull << 32 | 1u << 30 | 1u << 18 | 1u << 16 | 4 << 8 | 3 << 5 | DNET_PRIM_RVSS);
    CHECK_EQUAL(llcm_word(to, 0x4008), 0x88);
}

/* [nic 8, OP-22] Each size of the ring: N - 1 entries, wrap, ST_EMPTY and ST_FULL, and a stall when
 * full. */
static void nic_8_ring(cluster_t *c)
{
    static const struct {
        unsigned code, entries;
    } row[] = {
        {1, 4}, {2, 8}, {4, 16}, {8, 32}, {16, 64}, {32, 128}, {64, 256}, {0, 64}, {3, 64},
    };
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];

    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        unsigned n = row[i].entries, base = 0x1000, before;

        user_store(to, DNET_UREG_STATUS_AREA_SIZE, row[i].code);
        user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, base);
        user_store(d, DNET_UREG_PRIMITIVE_COUNTER_RESET, 0);
        CHECK(bit(to, 4) && !bit(to, 3));
        for (unsigned k = 0; k < n - 1; k++) {
            CHECK(!bit(to, 3));
            botf(d, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true}, "12345678", 8);
            CHECK(!bit(to, 4));
        }
        CHECK(bit(to, 3));
        CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), base + 16 * (n - 1));
        before = counter(d, 0);
        botf(d, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true}, "12345678", 8);
        CHECK_EQUAL(counter(d, 0), before); /* reception stalls, nothing is lost */
        user_store(to, DNET_UREG_STATUS_NEXT_READ, base + 32);
        CHECK(!bit(to, 3));
        d->ops->run(d);
        CHECK_EQUAL(counter(d, 0), before + 1);
        CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), base); /* wrapped */
        user_store(to, DNET_UREG_STATUS_NEXT_READ, base);
        CHECK(bit(to, 4));
    }
    /* A store of the address that stands there already empties a ring that is not empty. */
    botf(d, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true}, "12345678", 8);
    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x1000);
    CHECK(bit(to, 4));
    CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 0x1000);
    llcm_store(to, 0x1000, 0);
    botf(d, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true}, "12345678", 8);
    CHECK_EQUAL(llcm_word(to, 0x1000) >> 32, 8);
    CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 0x1010);
}

/* [nic 8] A ring whose end lies past LLCM stays inside it. */
static void nic_8_ring_at_the_end_of_llcm(cluster_t *c)
{
    dnet_device_t *to = c->dev[1][0];

    user_store(to, DNET_UREG_STATUS_AREA_SIZE, 64);
    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x7ff7);
    CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 0x7ff0);
    user_store(to, DNET_UREG_STATUS_NEXT_READ, 0x10);
    for (unsigned i = 0; i < 8; i++)
        botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true}, "1", 1);
    CHECK(user_load(to, DNET_UREG_STATUS_NEXT_WRITE) <= 0x7ff0);
}

/* [nic 8] eflag = 0, or RVL: no status. */
static void nic_8_no_status_without_eflag(cluster_t *c)
{
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2}, "1", 1);
    issue(c->dev[0][0], &(request_t){.type = DNET_PRIM_RVL, .size = 8, .dclid = 2, .eflag = true});
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_STATUS_NEXT_WRITE), 0);
}

/* ---- IPUSH (9) ---- */

/* [nic 9.1, OP-16, OP-18] The AMT Address Table names a word of the destination WID's LLCM by {LID,
 * WID}. */
static void nic_9_1_amt_address_table(cluster_t *c)
{
    dnet_device_t *to0 = c->dev[1][0], *to1 = c->dev[1][1];

    ring_set(c, 1, 0, 0, 0, 4095, 0x10000, 1); /* the last word of LLCM */
    ring_set(c, 1, 0, 0, 1, 7, 0x20000, 1);
    user_store(to1, DNET_UREG_IPUSH_AREA_SIZE, 1);
    llcm_store(to1, 4095 * 8, 0x0003000000030000ull);
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 2}, "12345678", 8);
    botf(c->dev[0][1], 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 2, .swid = 1},
         "1234567890123456", 16);
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 2, .dwid = 1}, "12345678",
         8);
    CHECK_EQUAL(llcm_word(to0, 4095 * 8), 0x0001000800010000ull);
    CHECK_EQUAL(llcm_word(to0, 7 * 8), 0x0002001000020000ull);
    CHECK_EQUAL(llcm_word(to1, 4095 * 8), 0x0003000800030000ull); /* one table for both WIDs */
}

/* [nic 9.2, 9.3, OP-17] Geometry: rounding to 8, wrap, 8 bytes unused, wait for Head. */
static void nic_9_2_ring_geometry(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint8_t data[400], in[400];
    unsigned sent;

    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    ring_set(c, 1, 0, 0, 0, 2048, 0x10000, 1);
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (uint8_t) (i * 3 + 1);
    ipush(c, data, 5);
    CHECK_EQUAL(llcm_word(to, 0x4000) >> 32, 0x10008);
    CHECK_EQUAL(llcm_word(to, 8), 0x10000); /* first address */
    CHECK_EQUAL(DNET_GET(llcm_word(to, 0), ST_SIZE), 5);
    for (unsigned i = 0; i < 10; i++)
        ipush(c, data, 400);
    CHECK_EQUAL(llcm_word(to, 0x4000) >> 32, 0x10008 + 4000);
    ipush(c, data, 80); /* 88 free, 8 of them unused */
    CHECK_EQUAL(llcm_word(to, 0x4000) >> 32, 0x10008 + 4080);
    sent = counter(d, 0);
    ipush(c, data, 400); /* waits */
    CHECK_EQUAL(counter(d, 0), sent);
    atomic_store((_Atomic uint32_t *) (void *) (to->llcm + 0x4000), 0x10000 + 392);
    d->ops->run(d);
    CHECK_EQUAL(counter(d, 0), sent); /* 392 are not enough */
    atomic_store((_Atomic uint32_t *) (void *) (to->llcm + 0x4000), 0x10000 + 400);
    d->ops->run(d);
    CHECK_EQUAL(counter(d, 0), sent + 1);
    CHECK_EQUAL(llcm_word(to, 0x4000) >> 32, 0x10000 + 392);
    sodimm_read(to, 0x10000 + 4088, in, 8);
    CHECK(memcmp(in, data, 8) == 0);
    sodimm_read(to, 0x10000, in, 392);
    CHECK(memcmp(in, data + 8, 392) == 0);
}

/* [nic 9.2] A ring of any size, not only powers of two. */
static void nic_9_2_ring_of_three_units(cluster_t *c)
{
    dnet_device_t *to = c->dev[1][0];
    uint8_t data[400] = {1};
    uint32_t start = 12288 * 5;

    ring_set(c, 1, 0, 0, 0, 2048, start, 3);
    for (unsigned i = 0; i < 200; i++) {
        uint32_t tail = (uint32_t) (llcm_word(to, 0x4000) >> 32);

        CHECK(tail >= start && tail < start + 12288);
        botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 2}, data, 400);
        CHECK_EQUAL(llcm_word(to, 0x4000) >> 32, start + (tail - start + 400) % 12288);
        atomic_store((_Atomic uint32_t *) (void *) (to->llcm + 0x4000),
                     (uint32_t) (llcm_word(to, 0x4000) >> 32));
    }
}

/* [nic 9.2] No ring, a ring outside the area, a packet no ring can hold: RC_OVF, dropped. */
static void nic_9_2_unusable_rings(cluster_t *c)
{
    dnet_device_t *to = c->dev[1][0];

    ipush(c, "12345678", 8); /* IPUSH Area Size 0 */
    CHECK(bit(to, 17));
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_RING), 1);
    ring_set(c, 1, 0, 0, 0, 1, (uint32_t) to->geometry.sodimm_bytes, 1);
    ipush(c, "12345678", 8);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_RING), 2);
    ring_set(c, 1, 0, 0, 0, 1, 0xfffff000u, 65535);
    ipush(c, "12345678", 8);
    CHECK_EQUAL(dnet_emu_events(c->nic[1], DNET_EMU_DROP_RING), 3);
    CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 0);
}

/* [nic 9.3, 7.4] An IPUSH primitive of several packets is appended in a row; status per message. */
static void nic_9_4_long_message(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint8_t *data = malloc(10000), *in = malloc(10000);

    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    ring_set(c, 1, 0, 0, 0, 2048, 0x10000, 4);
    for (unsigned i = 0; i < 10000; i++)
        data[i] = (uint8_t) (i + i / 256);
    sodimm_write(d, 0, data, 10000);
    for (unsigned k = 0; k < 3; k++) {
        uint32_t start = 0x10000 + k * 10000 % 16384;

        issue(d, &(request_t){.type = DNET_PRIM_IPUSH, .size = 10000, .dclid = 2, .eflag = true});
        CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 16 * (k + 1));
        CHECK_EQUAL(llcm_word(to, 16 * k + 8), start);
        CHECK_EQUAL(DNET_GET(llcm_word(to, 16 * k), ST_SIZE), 10000);
        for (unsigned i = 0; i < 10000; i += 16) {
            sodimm_read(to, 0x10000 + (start - 0x10000 + i) % 16384, in, 16);
            CHECK(start - 0x10000 + i == 16384 - 8 || memcmp(in, data + i, 8) == 0);
        }
        atomic_store((_Atomic uint32_t *) (void *) (to->llcm + 0x4000),
                     (uint32_t) (llcm_word(to, 0x4000) >> 32));
    }
    CHECK_EQUAL(counter(d, 5), 3);
    free(data);
    free(in);
}

/* [nic 9.4] Two senders may share a ring. */
static void nic_9_4_shared_ring(cluster_t *c)
{
    dnet_device_t *to = c->dev[1][0];

    ring_set(c, 1, 0, 0, 0, 5, 0x10000, 1);
    ring_set(c, 1, 0, 2, 1, 5, 0x10000, 1);
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 2}, "12345678", 8);
    botf(c->dev[2][1], 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 2, .swid = 1}, "abcdefgh",
         8);
    uint8_t in[16];
    sodimm_read(to, 0x10000, in, 16);
    CHECK(memcmp(in, "12345678abcdefgh", 16) == 0);
}

/* ---- LHS (10) ---- */

/* [nic 10.1, 10.2, OP-24, OP-54] What lies where in an entry, for every size around the limits. */
static void nic_10_2_entry(cluster_t *c)
{
    dnet_device_t *to = c->dev[1][0];
    uint8_t data[128], in[128];

    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 16);
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (uint8_t) (200 - i);
    for (unsigned n = 0; n <= 60; n++) {
        const dnet_lh_entry_t *e = &to->lh[n];
        uint32_t tail = (uint32_t) (llcm_word(to, 72) >> 32);

        lhs(c, 0, 0, 0xabcdc123ffff0000ull | n, data, n, false);
        CHECK_EQUAL(DNET_GET(e->envelope, LH_CONTEXT), 0xabcd);
        CHECK_EQUAL(DNET_GET(e->envelope, LH_RANK), 0x0123);
        CHECK_EQUAL(DNET_GET(e->envelope, LH_TAG), 0xffff0000u | n);
        CHECK_EQUAL(DNET_GET(e->envelope, LH_VALID), 1);
        CHECK_EQUAL(DNET_GET(e->envelope, LH_COMPLETE), 1);
        CHECK_EQUAL(e->where, (n > 48 ? (uint64_t) tail : 0) << 32 | n);
        CHECK(memcmp(e->data, data, n < 48 ? n : 48) == 0);
        for (unsigned i = n; i < 48; i++)
            CHECK_EQUAL(e->data[i], 0); /* left unchanged */
        if (n > 48) {
            sodimm_read(to, tail, in, n - 48);
            CHECK(memcmp(in, data + 48, n - 48) == 0);
            CHECK_EQUAL(llcm_word(to, 72) >> 32, tail + (n - 48 + 7) / 8 * 8);
        }
    }
}

/* [nic OP-53] Prefetch Window and LH Buffer are for the NIC to write: a host that stores there all
 * the same harms only itself, for the NIC never reads them. */
static void nic_op_53_stores_to_load_only_areas(cluster_t *c)
{
    dnet_device_t *to = c->dev[1][0];

    memset((void *) (uintptr_t) to->lh, 0xff, to->geometry.lh_entries * 64);
    memset((void *) (uintptr_t) to->pw, 0xff, 2048);
    lhs(c, 0, 0, 5, "abc", 3, false);
    CHECK_EQUAL(to->lh[0].envelope, 5 | 3ull << 46);
    CHECK_EQUAL(to->lh[0].where, 3);
    issue(to, &(request_t){.type = DNET_PRIM_VL, .size = 8});
    CHECK_EQUAL(user_load(to, DNET_UREG_PREFETCH_WINDOW_FLAG), 0xf);
}

/* [nic 10.3] A message shorter than its envelope is zero-extended. */
static void nic_10_3_short_envelope(cluster_t *c)
{
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2},
         "\xff\xff\xff\xff\xff\xff\xff", 3);
    CHECK_EQUAL(c->dev[1][0]->lh[0].envelope, 0xffffffull | 3ull << 46);
    CHECK_EQUAL(c->dev[1][0]->lh[0].where, 0);
}

/* [nic 10.2, 10.3] Valid and Complete are the NIC's, whatever an image says in their place; line 1
 * is Size and Pointer by their positions. */
static void nic_10_2_flags_are_not_the_senders(cluster_t *c)
{
    dnet_device_t *to = c->dev[1][0];
    unsigned entries = to->geometry.lh_entries;

    for (unsigned n = 0; n < 2 * entries; n++) {
        lhs(c, 0, 0, ~0ull, "abc", 3, false);
        CHECK_EQUAL(to->lh[n % entries].envelope, n < entries ? ~0ull : ~(3ull << 46));
        CHECK_EQUAL(to->lh[n % entries].where, 3);
        dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, (n + 1) % entries * 64);
    }
}

/* [nic 10.3, 10.5] The flags' polarity changes at every lap; 63 (1023) entries; the stall; other
 * order. */
static void nic_10_5_laps_and_full(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    unsigned entries = to->geometry.lh_entries, n = 0;

    for (unsigned lap = 0; lap < 3; lap++) {
        for (unsigned i = 0; i < entries; i++, n++) {
            CHECK_EQUAL(DNET_GET(to->lh[i].envelope, LH_VALID), lap & 1);
            lhs(c, 0, 0, n, NULL, 0, false);
            CHECK_EQUAL(DNET_GET(to->lh[i].envelope, LH_VALID), !(lap & 1));
            CHECK_EQUAL(DNET_GET(to->lh[i].envelope, LH_COMPLETE), !(lap & 1));
            CHECK_EQUAL(user_load(to, DNET_UREG_LH_NEXT_WRITE), (i + 1) % entries * 64);
            dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, (i + 1) % entries * 64);
        }
    }
    user_store(d, DNET_UREG_PRIMITIVE_COUNTER_RESET, 0);
    for (unsigned i = 0; i < entries; i++)
        lhs(c, 0, 0, i, NULL, 0, false);
    CHECK_EQUAL(counter(d, 0), entries - 1);
    dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, 64);
    d->ops->run(d);
    CHECK_EQUAL(counter(d, 0), entries & 0x3ff);
}

/* [nic 10.3, OP-24, OP-25, OP-26] A long LHS message: first packet into entry and ring, the rest
 * plain. */
static void nic_10_4_lhsv1_long(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint8_t *data = malloc(6000), *in = malloc(6000);
    const uint64_t envelope = 0x00010002000000aaull;

    for (unsigned i = 0; i < 6000; i++)
        data[i] = (uint8_t) (i * 5 + i / 100);
    memcpy(data, &envelope, 8);
    sodimm_write(d, 0x100, data, 6000);
    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 16);
    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x4000);
    issue(d, &(request_t){
                 .type = DNET_PRIM_LHSv1, .size = 6000, .src = 0x100, .dclid = 2, .eflag = true});
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 3);
    CHECK_EQUAL(user_load(to, DNET_UREG_LH_NEXT_WRITE), 64);
    CHECK_EQUAL(to->lh[0].where, 0x10000ull << 32 | 5992);
    CHECK_EQUAL(to->lh[0].envelope, envelope | 3ull << 46);
    CHECK(memcmp(to->lh[0].data, data + 8, 48) == 0);
    sodimm_read(to, 0x10000, in, 5944);
    CHECK(memcmp(in, data + 56, 5944) == 0);
    CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 0x4010);
    CHECK_EQUAL(DNET_GET(llcm_word(to, 0x4000), ST_TYPE), DNET_PRIM_IPUSH); /* OP-23 */
    CHECK_EQUAL(counter(d, 5), 1);
    free(data);
    free(in);
}

/* [nic 10.4, 5.3, OP-48] LHSv2: envelope from the Write Window, data from SO-DIMM. */
static void nic_10_4_lhsv2(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint64_t envelope = 0x00070003000000bbull;
    uint8_t in[100];

    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 16);
    sodimm_fill(d, 0x200, 0x5c, 512);
    memcpy(d->ww + 0x488, &envelope, 8);
    memset(d->ww + 0x490, 0x11, 4);
    user_store(d, DNET_UREG_COMMAND0_UPPER, 0x488ull << 42 | 12ull << 32 | 0x200); /* Fig 7.8 */
    user_store(d, DNET_UREG_COMMAND0_LOWER, 112ull << 32 | 2 << 18 | DNET_PRIM_LHSv2);
    CHECK_EQUAL(to->lh[0].envelope, envelope | 3ull << 46);
    CHECK_EQUAL(DNET_GET(to->lh[0].where, LH_SIZE), 104);
    for (unsigned i = 0; i < 48; i++)
        CHECK_EQUAL(to->lh[0].data[i], i < 4 ? 0x11 : 0x5c);
    sodimm_read(to, 0x10000, in, 56);
    CHECK(in[0] == 0x5c && in[55] == 0x5c);
    /* the Write Window part ends with its window (6.0) */
    memset(d->ww, 0x22, 2048);
    user_store(d, DNET_UREG_COMMAND0_UPPER,
               DNET_PUT(0x200, RQ_SRC) | DNET_PUT(40, RQ_LHS_WW_SIZE) |
                   DNET_PUT(0x200 - 16, RQ_LHS_WW_OFFSET));
    user_store(d, DNET_UREG_COMMAND0_LOWER, 40ull << 32 | 2 << 18 | DNET_PRIM_LHSv2);
    CHECK_EQUAL(to->lh[1].data[7], 0x22);
    CHECK_EQUAL(to->lh[1].data[8], 0x5c);
    /* and with the message; what stands above the offset's 12 bits is not looked at */
    user_store(d, DNET_UREG_COMMAND0_UPPER, 0x3ffull << 54 | 0x600ull << 42 | 100ull << 32 | 0x200);
    user_store(d, DNET_UREG_COMMAND0_LOWER, 20ull << 32 | 2 << 18 | DNET_PRIM_LHSv2);
    CHECK_EQUAL(to->lh[2].where, 12);
    CHECK_EQUAL(to->lh[2].data[11], 0x22);
}

/* [nic 6.5] IPUSH by request, through either Command register: SO-DIMM data to the sender's ring
 * (its WID and LID choose it), DSTOff without a meaning, one status with the place the NIC has
 * chosen. */
static void nic_6_5_ipush(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][1], *to = c->dev[1][0];
    uint8_t data[600], in[600];

    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (uint8_t) (i * 3 + 1);
    sodimm_write(d, 0x300, data, sizeof data);
    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 1);
    ring_set(c, 1, 0, 0, 1, 10, 0x20000, 1);
    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x4000);
    for (unsigned i = 0; i < 2; i++) {
        issue(d, &(request_t){.type = DNET_PRIM_IPUSH,
                              .size = 300,
                              .src = 0x300 + 300 * i,
                              .dst = 0x77777,
                              .dclid = 2,
                              .eflag = true,
                              .command1 = i == 1});
        CHECK_EQUAL(llcm_word(to, 80), (0x20000ull + 304 * (i + 1)) << 32 | 0x20000);
        CHECK_EQUAL(llcm_word(to, 0x4000 + 16 * i),
                    300ull << 32 | 1u << 30 | 1u << 18 | 1u << 16 | DNET_PRIM_IPUSH);
        CHECK_EQUAL(llcm_word(to, 0x4008 + 16 * i), 0x20000 + 304 * i);
        sodimm_read(to, 0x20000 + 304 * i, in, 300);
        CHECK(memcmp(in, data + 300 * i, 300) == 0);
    }
    CHECK_EQUAL(llcm_word(to, 72) >> 32, 0x10000); /* the other WID's ring */
    CHECK_EQUAL(counter(d, 5), 2);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 2);
}

/* [nic 10.4, OP-23] All three TYPEs with lflag are LHS; the flag decides, not the TYPE. */
static void nic_op_23_lflag_decides(cluster_t *c)
{
    static const dnet_prim_t type[] = {DNET_PRIM_IPUSH, DNET_PRIM_LHSv1, DNET_PRIM_LHSv2};
    dnet_device_t *to = c->dev[1][0];

    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 1);
    for (unsigned i = 0; i < 3; i++) {
        botf(c->dev[0][0], 0, &(header_t){.type = type[i], .lflag = true, .dlid = 2}, "12345678",
             8);
        CHECK_EQUAL(user_load(to, DNET_UREG_LH_NEXT_WRITE), 64 * (i + 1));
        botf(c->dev[0][0], 0, &(header_t){.type = type[i], .dlid = 2}, "12345678", 8);
        CHECK_EQUAL(llcm_word(to, 72) >> 32, 0x10000 + 8 * (i + 1));
    }
}

/* [nic 10.3] Status of an LHS packet: first address is Pointer. */
static void nic_10_3_status_shows_pointer(cluster_t *c)
{
    uint8_t data[100] = {0};
    dnet_device_t *to = c->dev[1][0];

    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 1);
    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x4000);
    lhs(c, 0, 0, 1, data, 20, true);
    lhs(c, 0, 0, 1, data, 100, true);
    CHECK_EQUAL(llcm_word(to, 0x4008), 0);
    CHECK_EQUAL(llcm_word(to, 0x4018), 0x10000);
}

/* ---- stalls (8, 9.3, 11.9) ---- */

/* [nic 11.9, 8] Prototype: a stalled packet holds up the whole node, the other WID and other
 * senders too; RVL replies as well. */
static void nic_11_9_stall_is_head_of_line(cluster_t *c)
{
    dnet_device_t *to = c->dev[1][0], *other = c->dev[2][0];

    for (unsigned i = 0; i < 64; i++)
        lhs(c, 0, 0, i, NULL, 0, false);
    botf(other, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .dwid = 1}, "12345678", 8);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_PACKET_COUNTER), 0);
    CHECK_EQUAL(counter(other, 0), 0);
    dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, 64);
    other->ops->run(other);
    CHECK_EQUAL(counter(other, 0), 0); /* its turn has not come */
    c->dev[0][0]->ops->run(c->dev[0][0]);
    other->ops->run(other);
    CHECK_EQUAL(counter(other, 0), 1);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_PACKET_COUNTER), 1);
}

/* [nic 4.6, 11.9] Prototype: a stalled packet that a Controller Reset has taken away holds up
 * nobody any longer. */
static void nic_11_9_reset_ends_a_stall(cluster_t *c)
{
    dnet_device_t *other = c->dev[2][0];

    for (unsigned i = 0; i < 64; i++)
        lhs(c, 0, 0, i, NULL, 0, false);
    system_store(c->dev[0][0], DNET_SREG_CONTROLLER_RESET, 1);
    botf(other, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .dwid = 1}, "12345678", 8);
    CHECK_EQUAL(counter(other, 0), 1);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_PACKET_COUNTER), 1);
}

/* [nic 6.4] A reply that finds the issuer's status ring full waits, and goes on. */
static void nic_6_4_reply_waits_for_status_room(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint64_t in = 0;

    sodimm_write(c->dev[1][0], 0x80, "waiting ", 8);
    user_store(d, DNET_UREG_STATUS_AREA_SIZE, 1);
    user_store(d, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    for (unsigned i = 0; i < 3; i++)
        botf(c->dev[2][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 1, .eflag = true}, "1", 1);
    issue(
        d,
        &(request_t){
            .type = DNET_PRIM_RVL, .size = 8, .src = 0x80, .dst = 0x40, .dclid = 2, .eflag = true});
    CHECK_EQUAL(user_load(d, DNET_UREG_STATUS_NEXT_WRITE), 48);
    user_store(d, DNET_UREG_STATUS_NEXT_READ, 16);
    c->dev[1][0]->ops->run(c->dev[1][0]); /* the prototype's target replies */
    d->ops->run(d);                       /* in the extended profile the issuer fetches it */
    CHECK_EQUAL(user_load(d, DNET_UREG_STATUS_NEXT_WRITE), 0);
    sodimm_read(d, 0x40, &in, 8);
    CHECK(memcmp(&in, "waiting ", 8) == 0);
}

static const board_test_t tests[] = {
    TEST(nic_op_13_pgid, BOTH),
    TEST(nic_4_2_rc_state_first_line, BOTH),
    TEST(nic_4_2_rc_state_header_lines, BOTH),
    TEST(nic_4_2_rc_state_rvss_needs_three_lines, BOTH),
    TEST(nic_4_2_rc_state_rvl_with_data, BOTH),
    TEST(nic_op_42_rc_halts, BOTH),
    TEST(nic_op_42_rc_goes_on, BOTH),
    TEST(nic_7_1_stray_lines, BOTH),
    TEST(nic_8_entry, BOTH),
    TEST(nic_8_ring, BOTH),
    TEST(nic_8_ring_at_the_end_of_llcm, BOTH),
    TEST(nic_8_no_status_without_eflag, BOTH),
    TEST(nic_9_1_amt_address_table, BOTH),
    TEST(nic_9_2_ring_geometry, BOTH),
    TEST(nic_9_2_ring_of_three_units, BOTH),
    TEST(nic_9_2_unusable_rings, BOTH),
    TEST(nic_9_4_long_message, BOTH),
    TEST(nic_9_4_shared_ring, BOTH),
    TEST(nic_10_2_entry, BOTH),
    TEST(nic_10_2_flags_are_not_the_senders, BOTH),
    TEST(nic_op_53_stores_to_load_only_areas, BOTH),
    TEST(nic_10_3_short_envelope, BOTH),
    TEST(nic_10_5_laps_and_full, BOTH),
    TEST(nic_10_4_lhsv1_long, BOTH),
    TEST(nic_10_4_lhsv2, BOTH),
    TEST(nic_6_5_ipush, BOTH),
    TEST(nic_op_23_lflag_decides, BOTH),
    TEST(nic_10_3_status_shows_pointer, BOTH),
    TEST(nic_11_9_stall_is_head_of_line, PROTOTYPE),
    TEST(nic_11_9_reset_ends_a_stall, PROTOTYPE),
    TEST(nic_6_4_reply_waits_for_status_room, BOTH),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
