/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance: primitives and packets (data sheet sections 6 and 7).
 */
#include "tests/device/board.h"

static uint8_t pattern(unsigned i)
{
    return (uint8_t) (i * 7 + i / 251 + 1);
}

static void fill_pattern(dnet_device_t *d, uint32_t offset, uint32_t bytes)
{
    uint8_t *p = malloc(bytes);

    for (uint32_t i = 0; i < bytes; i++)
        p[i] = pattern(i);
    sodimm_write(d, offset, p, bytes);
    free(p);
}

static void store_list(dnet_device_t *d, uint32_t offset, const uint32_t *list, unsigned n)
{
    sodimm_write(d, offset, list, n * 4);
}

/* [nic 6.0] Offsets are relative to the own half; the other WID's is not touched. */
static void nic_6_0_own_area(cluster_t *c)
{
    uint64_t in = 0;

    sodimm_write(c->dev[0][0], 0x80, "zero    ", 8);
    sodimm_write(c->dev[0][1], 0x80, "one     ", 8);
    sodimm_read(c->dev[0][0], 0x80, &in, 8);
    CHECK(memcmp(&in, "zero    ", 8) == 0);
    sodimm_read(c->dev[0][1], 0x80, &in, 8);
    CHECK(memcmp(&in, "one     ", 8) == 0);
}

/* [nic 6.0] Size 0 and Iteration 0 complete at once; no packet is sent. */
static void nic_6_0_nothing_to_move(cluster_t *c)
{
    static const dnet_prim_t type[] = {DNET_PRIM_VL,  DNET_PRIM_VLS,  DNET_PRIM_VS,   DNET_PRIM_VSI,
                                       DNET_PRIM_RVS, DNET_PRIM_RVSS, DNET_PRIM_IPUSH};
    dnet_device_t *d = c->dev[0][0];

    for (unsigned i = 0; i < sizeof type / sizeof *type; i++)
        issue(d, &(request_t){.type = type[i], .dclid = 2, .eflag = true});
    CHECK_EQUAL(counter(d, 1), 2);
    CHECK_EQUAL(counter(d, 2), 2);
    CHECK_EQUAL(counter(d, 4), 2);
    CHECK_EQUAL(counter(d, 5), 1);
    CHECK(bit(d, 5));
    CHECK_EQUAL(user_load(d, DNET_UREG_PREFETCH_WINDOW_FLAG), 0xf);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 0);
}

/* [nic 6, 6.0, OP-11] Unknown codes start nothing and count nothing. */
static void nic_6_unknown_codes(cluster_t *c)
{
    static const unsigned code[] = {2, 3, 7, 0xb, 0xc, 0xd, 0xf, 0x13, 0x17, 0x1b, 0x1d, 0x1f};
    dnet_device_t *d = c->dev[0][0];

    for (unsigned i = 0; i < sizeof code / sizeof *code; i++)
        issue(d, &(request_t){.type = (dnet_prim_t) code[i], .size = 64, .dclid = 2});
    CHECK_EQUAL(user_load(d, DNET_UREG_PRIMITIVE_COUNTER), 0);
    CHECK_EQUAL(dnet_emu_events(c->nic[0], DNET_EMU_DROP_REQUEST), sizeof code / sizeof *code);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 0);
}

/* [nic 6.1] VL stops at the window's end, silently. */
static void nic_6_1_vl_clamps_at_window_end(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    fill_pattern(d, 0x1000, 512);
    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 512, .src = 0x1000, .dst = 0x200});
    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 512, .src = 0x1000, .dst = 500});
    for (unsigned i = 0; i < 12; i++)
        CHECK_EQUAL(d->pw[500 + i], pattern(i));
    CHECK_EQUAL(d->pw[0x200 + 12], pattern(12)); /* what was there */
    CHECK_EQUAL(user_load(d, DNET_UREG_PREFETCH_WINDOW_FLAG) & 0xff, 0xff);
}

/* [nic 6.1] VLS gathers by stride, modulo 2^32. */
static void nic_6_1_vls_gathers(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    fill_pattern(d, 0x1000, 512);
    issue(d, &(request_t){
                 .type = DNET_PRIM_VLS, .dtype = 2, .iteration = 10, .size = 12, .src = 0x1000});
    for (unsigned i = 0; i < 40; i++)
        CHECK_EQUAL(d->pw[i], pattern(i / 4 * 12 + i % 4));
    issue(d, &(request_t){.type = DNET_PRIM_VLS,
                          .dtype = 2,
                          .iteration = 4,
                          .size = (uint32_t) -8,
                          .src = 0x1018}); /* OP-30: backwards */
    for (unsigned i = 0; i < 16; i++)
        CHECK_EQUAL(d->pw[i], pattern(24 - i / 4 * 8 + i % 4));
}

/* [nic 6.1, 6.0] VLI gathers by a list of byte offsets; elements outside the area read as 0. */
static void nic_6_1_vli_gathers(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    const uint32_t list[] = {40, 0, 200, 0x7ffffff0u, 8};

    fill_pattern(d, 0x1000, 512);
    store_list(d, 0x3000, list, 5);
    issue(d, &(request_t){
                 .type = DNET_PRIM_VLI, .dtype = 3, .iteration = 5, .size = 0x3000, .src = 0x1000});
    for (unsigned i = 0; i < 40; i++)
        CHECK_EQUAL(d->pw[i], i / 8 == 3 ? 0 : pattern(list[i / 8] + i % 8));
}

/* [nic 6.2] VS past the window shortens Size; VSS shortens Iteration. */
static void nic_6_2_source_overflow(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint8_t in[64];

    sodimm_fill(d, 0, 0, 512);
    memset(d->ww, 0xee, 2048);
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 64, .src = 0x200 - 24});
    CHECK(bit(d, 6) && !bit(d, 7) && bit(d, 5));
    sodimm_read(d, 0, in, 64);
    CHECK(in[23] == 0xee && in[24] == 0);
    sodimm_fill(d, 0, 0, 512);
    memset(d->ww, 0xee, 2048);
    issue(d, &(request_t){
                 .type = DNET_PRIM_VSS, .dtype = 4, .iteration = 3, .size = 16, .src = 0x200 - 40});
    CHECK(bit(d, 6));
    sodimm_read(d, 0, in, 64);
    CHECK(in[31] == 0xee && in[32] == 0); /* two whole elements */
}

/* [nic 6.2] VS, VSS, VSI past the own area write what fits; each element is tested. */
static void nic_6_2_destination_overflow(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint32_t end = (uint32_t) d->geometry.sodimm_bytes;
    const uint32_t list[] = {8, end, 0};
    uint8_t in[64];

    store_list(d, 0x3000, list, 3);
    sodimm_fill(d, 0, 0, 64);
    for (unsigned i = 0; i < 64; i++)
        d->ww[i] = (uint8_t) (i + 1);
    issue(d, &(request_t){.type = DNET_PRIM_VSI, .dtype = 3, .iteration = 3, .size = 0x3000});
    CHECK(bit(d, 5) && bit(d, 7) && !bit(d, 6));
    sodimm_read(d, 0, in, 32);
    CHECK_EQUAL(in[8], 1);
    CHECK_EQUAL(in[0], 17); /* after the element that had no place */
    issue(d, &(request_t){
                 .type = DNET_PRIM_VSS, .dtype = 3, .iteration = 2, .size = 16, .dst = end - 12});
    CHECK(bit(d, 7));
    sodimm_read(d, end - 12, in, 8);
    CHECK(memcmp(in, d->ww, 8) == 0);
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8, .dst = end - 8});
    CHECK(!bit(d, 7)); /* cleared at the kick */
}

/* [nic 6.2] VSS and VSI scatter. */
static void nic_6_2_scatter(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][1];
    const uint32_t list[] = {64, 0, 24};
    uint8_t in[96];

    for (unsigned i = 0; i < 512; i++)
        d->ww[i] = (uint8_t) (i + 1);
    sodimm_fill(d, 0, 0, 256);
    issue(d, &(request_t){.type = DNET_PRIM_VSS, .dtype = 2, .iteration = 3, .size = 20, .dst = 4});
    sodimm_read(d, 0, in, 96);
    for (unsigned i = 0; i < 48; i++)
        CHECK_EQUAL(in[i], i >= 4 && (i - 4) % 20 < 4 ? (i - 4) / 20 * 4 + (i - 4) % 20 + 1 : 0);
    store_list(d, 0x3000, list, 3);
    sodimm_fill(d, 0, 0, 256);
    issue(d, &(request_t){.type = DNET_PRIM_VSI, .dtype = 3, .iteration = 3, .size = 0x3000});
    sodimm_read(d, 0, in, 96);
    for (unsigned e = 0; e < 3; e++)
        CHECK(memcmp(in + list[e], d->ww + 8 * e, 8) == 0);
}

/* [nic 6.3, 7.4, OP-31, OP-32] RVSS and RVSI place in the remote area, over several packets. */
static void nic_6_3_remote_scatter(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][1];
    uint32_t list[200];
    uint8_t in[512];

    system_store(d, DNET_SREG_MTU, 1); /* 232 bytes a packet */
    fill_pattern(d, 0x1000, 2048);
    issue(d, &(request_t){.type = DNET_PRIM_RVSS,
                          .dtype = 3,
                          .iteration = 100,
                          .size = 24,
                          .src = 0x1000,
                          .dst = 0x8000,
                          .dclid = 2,
                          .dwid = 1});
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 4);
    for (unsigned e = 0; e < 100; e++) {
        sodimm_read(to, 0x8000 + 24 * e, in, 8);
        for (unsigned b = 0; b < 8; b++)
            CHECK_EQUAL(in[b], pattern(8 * e + b));
    }
    for (unsigned e = 0; e < 200; e++)
        list[e] = (e * 37 % 200) * 16;
    store_list(to, 0x20000, list, 200);
    user_store(to, DNET_UREG_PACKET_COUNTER_RESET, 0);
    issue(d, &(request_t){.type = DNET_PRIM_RVSI,
                          .dtype = 3,
                          .iteration = 200,
                          .size = 0x20000,
                          .src = 0x1000,
                          .dst = 0x9000,
                          .dclid = 2,
                          .dwid = 1});
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 7);
    /* Initial DSTOff, which a status shows, is that of the primitive in every packet. */
    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x1000);
    issue(d, &(request_t){.type = DNET_PRIM_RVSS,
                          .dtype = 3,
                          .iteration = 100,
                          .size = 24,
                          .src = 0x1000,
                          .dst = 0x8000,
                          .dclid = 2,
                          .dwid = 1,
                          .eflag = true});
    CHECK_EQUAL(llcm_word(to, 0x1008), 0x8000);
    for (unsigned e = 0; e < 200; e++) {
        sodimm_read(to, 0x9000 + list[e], in, 8);
        for (unsigned b = 0; b < 8; b++)
            CHECK_EQUAL(in[b], pattern(8 * e + b));
    }
}

/* [nic 6.3] A read past the own area shortens the message, with no flag. */
static void nic_6_3_local_read_is_clamped(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint32_t end = (uint32_t) d->geometry.sodimm_bytes;

    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    issue(d, &(request_t){
                 .type = DNET_PRIM_RVS, .size = 4096, .src = end - 40, .dclid = 2, .eflag = true});
    CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 16);
    CHECK_EQUAL(DNET_GET(llcm_word(to, 0), ST_SIZE), 40);
    CHECK_EQUAL(user_load(d, DNET_UREG_CONTROLLER_STATUS) >> 5, 0);
}

/* [nic 6.4] RVL, RVLS, RVLI: gathered at the target, eflag gives the issuer the status. */
static void nic_6_4_remote_load(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *from = c->dev[1][1];
    const uint32_t list[] = {80, 8, 160, 0};
    uint8_t in[512];

    fill_pattern(from, 0x1000, 2048);
    user_store(d, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    user_store(from, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    issue(d, &(request_t){.type = DNET_PRIM_RVL,
                          .size = 300,
                          .src = 0x1000,
                          .dst = 0x500,
                          .dclid = 2,
                          .dwid = 1,
                          .eflag = true});
    sodimm_read(d, 0x500, in, 300);
    for (unsigned i = 0; i < 300; i++)
        CHECK_EQUAL(in[i], pattern(i));
    CHECK_EQUAL(user_load(d, DNET_UREG_STATUS_NEXT_WRITE), 16);
    CHECK_EQUAL(DNET_GET(llcm_word(d, 0), ST_SCLID), 2);
    CHECK_EQUAL(DNET_GET(llcm_word(d, 0), ST_SWID), 1);
    CHECK_EQUAL(DNET_GET(llcm_word(d, 0), ST_TYPE), DNET_PRIM_RVS);
    CHECK_EQUAL(llcm_word(d, 8), 0x500);
    CHECK_EQUAL(user_load(from, DNET_UREG_STATUS_NEXT_WRITE), 0); /* the target gets none */
    issue(d, &(request_t){.type = DNET_PRIM_RVLS,
                          .dtype = 3,
                          .iteration = 8,
                          .size = 40,
                          .src = 0x1000,
                          .dst = 0x900,
                          .dclid = 2,
                          .dwid = 1});
    sodimm_read(d, 0x900, in, 64);
    for (unsigned i = 0; i < 64; i++)
        CHECK_EQUAL(in[i], pattern(i / 8 * 40 + i % 8));
    store_list(from, 0x5000, list, 4);
    issue(d, &(request_t){.type = DNET_PRIM_RVLI,
                          .dtype = 3,
                          .iteration = 4,
                          .size = 0x5000,
                          .src = 0x1000,
                          .dst = 0x900,
                          .dclid = 2,
                          .dwid = 1});
    sodimm_read(d, 0x900, in, 32);
    for (unsigned i = 0; i < 32; i++)
        CHECK_EQUAL(in[i], pattern(list[i / 8] + i % 8));
    CHECK_EQUAL(counter(d, 3), 3);
}

/* [nic 5.2, 6.6, OP-45, OP-46, OP-47] BOTF sizes: below a header discarded, odd sizes exact,
 * clamped to 512, of 10 bits.  [X.3] In the extended profile an image goes on in the next windows,
 * up to 1088.
 */
static void nic_6_6_botf_sizes(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    const header_t h = {.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true};
    uint64_t line[64] = {first_line(&h)};
    static const struct {
        unsigned size, data;
    } row[] = {
        {16, 0}, {17, 1}, {24, 8}, {509, 493}, {512, 496}, {1000, 496}, {1040, 0}, {2000, 496},
    };

    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    memcpy(d->ww, line, sizeof line);
    for (unsigned size = 0; size < 16; size++)
        user_store(d, DNET_UREG_COMMAND0_LOWER, (uint64_t) size << 32 | DNET_PRIM_BOTF);
    CHECK_EQUAL(counter(d, 0), 0);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 0);
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        user_store(d, DNET_UREG_COMMAND0_LOWER, (uint64_t) row[i].size << 32 | DNET_PRIM_BOTF);
        CHECK_EQUAL(counter(d, 0), i + 1);
        CHECK_EQUAL(DNET_GET(llcm_word(to, i * 16), ST_SIZE),
                    !d->sodimm || row[i].size <= 512    ? row[i].data
                    : row[i].size < DNET_BOTF_BYTES_MAX ? row[i].size - 16
                                                        : DNET_BOTF_BYTES_MAX - 16);
    }
    if (d->sodimm) {
        uint64_t beyond = 0x1122334455667788, in;

        memcpy(d->ww + 512 + 56, &beyond, 8);
        user_store(d, DNET_UREG_COMMAND0_LOWER, 576ull << 32 | DNET_PRIM_BOTF);
        sodimm_read(to, 496 + 56, &in, 8);
        CHECK_EQUAL(in, beyond);
        memcpy(d->ww + 3 * 512, line, sizeof line); /* not enough is behind it */
        user_store(d, DNET_UREG_COMMAND0_LOWER, 576ull << 32 | 3 << 5 | DNET_PRIM_BOTF);
        CHECK_EQUAL(DNET_GET(llcm_word(to, (sizeof row / sizeof *row + 1) * 16), ST_SIZE), 496);
    }
    /* Each window sends its own image. */
    for (uint64_t n = 0; n < 4; n++) {
        line[2] = 100 + n;
        memcpy(d->ww + 512 * n, line, sizeof line);
    }
    for (unsigned n = 0; n < 4; n++) {
        uint64_t in;

        user_store(d, DNET_UREG_COMMAND0_LOWER, 24ull << 32 | (3 - n) << 5 | DNET_PRIM_BOTF);
        sodimm_read(to, 0, &in, 8);
        CHECK_EQUAL(in, 100 + 3 - n);
    }
}

/* [nic 6.6, 4.2] An image that announces a third header line and is too short for it is sent as it
 * is; the receiver finds that hflag and lines disagree. */
static void nic_6_6_botf_shorter_than_its_header(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    const header_t h = {.type = DNET_PRIM_RVS, .dlid = 2, .hflag = true};
    uint64_t line[64] = {first_line(&h)};

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP); /* no meaning in the prototype */
    memcpy(d->ww, line, sizeof line);
    user_store(d, DNET_UREG_COMMAND0_LOWER, 16ull << 32 | DNET_PRIM_BOTF);
    CHECK_EQUAL(user_load(to, DNET_UREG_CONTROLLER_STATUS) >> 18 & 3, 2);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 0);
}

/* [nic 6.6, 2] The NIC stamps PGID and Packet Size over what the image says; TYPE and SWID stay. */
static void nic_6_6_botf_stamps_pgid(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    const header_t h = {.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true, .swid = 1};
    uint64_t line[64] = {first_line(&h) | DNET_PUT(99, PK_PGID) | DNET_PUT(4000, PK_SIZE), 0, 42};

    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    memcpy(d->ww, line, sizeof line);
    user_store(d, DNET_UREG_COMMAND0_LOWER, 24ull << 32 | DNET_PRIM_BOTF);
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 1);
    CHECK_EQUAL(DNET_GET(llcm_word(to, 0), ST_SIZE), 8);
    CHECK_EQUAL(DNET_GET(llcm_word(to, 0), ST_SWID), 1); /* OP-14: as written */
}

/* [nic OP-14] Strict mode forces the SWID. */
static void nic_op_14_strict_swid(cluster_t *unused)
{
    dnet_emu_config_t strict = {.strict_swid = true};
    cluster_t c;

    cluster_up(&c, unused->profile, &strict);
    user_store(c.dev[1][0], DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    botf(c.dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .swid = 1, .eflag = true},
         "1", 1);
    CHECK_EQUAL(DNET_GET(llcm_word(c.dev[1][0], 0), ST_SWID), 0);
    cluster_down(&c);
}

/* [nic 6.6] BOTF starts an RVL as well, of 3 or 4 header lines (OP-31). */
static void nic_6_6_botf_rvl(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    const header_t h = {.type = DNET_PRIM_RVL, .dlid = 2, .hflag = true};
    uint64_t line[64] = {first_line(&h), DNET_PUT(0x1000, PK_SRC) | DNET_PUT(0x200, PK_DST), 16};
    uint8_t in[16];

    fill_pattern(c->dev[1][0], 0x1000, 512);
    for (unsigned lines = 3; lines <= 4; lines++) {
        sodimm_fill(d, 0x200, 0, 16);
        /* Behind three lines stands a Command Ex that would spread the data. */
        line[3] = lines == 3 ? 64ull << 32 | 2 << 8 | 3 << 5 | 1 : 0;
        memcpy(d->ww, line, sizeof line);
        user_store(d, DNET_UREG_COMMAND0_LOWER, (uint64_t) lines * 8 << 32 | DNET_PRIM_BOTF);
        sodimm_read(d, 0x200, in, 16);
        for (unsigned i = 0; i < 16; i++)
            CHECK_EQUAL(in[i], pattern(i));
    }
    CHECK_EQUAL(counter(d, 0), 2);
    CHECK_EQUAL(counter(d, 3), 0);
}

/* [nic 6.7, OP-39, OP-55] RVS into LLCM and Prefetch Window: limits, excess dropped with RC_OVF. */
static void nic_6_7_targets_and_limits(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint8_t data[64];

    memset(data, 0x77, sizeof data);
    botf(
        d, 0,
        &(header_t){
            .type = DNET_PRIM_RVS, .dlid = 2, .lflag = true, .line2 = DNET_PUT(32768 - 16, PK_DST)},
        data, 64);
    CHECK_EQUAL(llcm_word(to, 32768 - 8), 0x7777777777777777ull);
    CHECK(bit(to, 17));
    CHECK(!bit(c->dev[1][1], 17)); /* of the other WID */
    system_store(to, DNET_SREG_CONTROLLER_RESET, 0);
    botf(d, 0,
         &(header_t){
             .type = DNET_PRIM_RVS, .dlid = 2, .rflag = true, .line2 = DNET_PUT(512 - 8, PK_DST)},
         data, 64);
    CHECK(!bit(to, 17)); /* crossing between windows is allowed */
    CHECK_EQUAL(to->pw[512 + 55], 0x77);
    botf(d, 0,
         &(header_t){
             .type = DNET_PRIM_RVS, .dlid = 2, .rflag = true, .line2 = DNET_PUT(2048 - 8, PK_DST)},
         data, 64);
    CHECK(bit(to, 17));
    CHECK_EQUAL(to->pw[2047], 0x77);
    /* each packet is counted, whole or not */
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 2);
    fill_pattern(d, 0, 8192);
    issue(d, &(request_t){.type = DNET_PRIM_RVS, .size = 8192, .dst = 0x4000, .dclid = 2});
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 2 + 5); /* 2024 bytes in each */
}

/* [nic 6.7] RVS past the receiver's area: what fits is written, RC_OVF is set, and nothing else. */
static void nic_6_7_sodimm_limit(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint32_t end = (uint32_t) to->geometry.sodimm_bytes;
    uint64_t in = 0;

    sodimm_fill(c->dev[1][1], 0, 0, 64); /* WID 1's area begins where WID 0's ends */
    botf(d, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .line2 = DNET_PUT(end - 8, PK_DST)},
         "abcdefghijklmnop", 16);
    CHECK(bit(to, 17));
    sodimm_read(to, end - 8, &in, 8);
    CHECK(memcmp(&in, "abcdefgh", 8) == 0);
    sodimm_read(c->dev[1][1], 0, &in, 8);
    CHECK_EQUAL(in, 0);
}

/* [nic 6.8, OP-08, OP-36] Copies inside a NIC: VLS + VS transposes a matrix. */
static void nic_6_8_copy_transposes(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint8_t in[1024];

    fill_pattern(d, 0x1000, 16 * 16 * 4);
    for (unsigned column = 0; column < 16; column++) {
        issue(d, &(request_t){.type = DNET_PRIM_VLS,
                              .dtype = 2,
                              .iteration = 16,
                              .size = 64,
                              .src = 0x1000 + 4 * column,
                              .dst = DNET_COPY_MARKER});
        issue(d, &(request_t){.type = DNET_PRIM_VS,
                              .size = 64,
                              .src = DNET_COPY_MARKER,
                              .dst = 0x8000 + 64 * column});
        CHECK(bit(d, 14) && !bit(d, 16)); /* WW#3's bits */
    }
    sodimm_read(d, 0x8000, in, 1024);
    for (unsigned i = 0; i < 1024; i++) {
        unsigned row = i / 64, column = i / 4 % 16;
        CHECK_EQUAL(in[i], pattern(64 * column + 4 * row + i % 4));
    }
    CHECK_EQUAL(counter(d, 1), 16 + 2); /* sodimm_read() makes two */
}

/* [nic 6.8] Large copies, contiguous and scattered; the shorter half decides (OP-52). */
static void nic_6_8_copy_lengths(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint8_t *in = malloc(20000);

    fill_pattern(d, 0x1000, 20000);
    sodimm_fill(d, 0x10000, 0, 20000);
    issue(d, &(request_t){
                 .type = DNET_PRIM_VL, .size = 20000, .src = 0x1000, .dst = DNET_COPY_MARKER});
    issue(d, &(request_t){
                 .type = DNET_PRIM_VS, .size = 15000, .src = DNET_COPY_MARKER, .dst = 0x10000});
    sodimm_read(d, 0x10000, in, 20000);
    for (unsigned i = 0; i < 20000; i++)
        CHECK_EQUAL(in[i], i < 15000 ? pattern(i) : 0);
    free(in);
}

/* [nic 6.8, OP-52] Halves that do not pair, and lists, are discarded and counted. */
static void nic_6_8_unpaired_copies(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint64_t before = dnet_emu_events(c->nic[0], DNET_EMU_DROP_COPY);

    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8, .src = DNET_COPY_MARKER});
    CHECK_EQUAL(dnet_emu_events(c->nic[0], DNET_EMU_DROP_COPY), before + 1);
    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 8, .dst = DNET_COPY_MARKER});
    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 8});
    CHECK_EQUAL(dnet_emu_events(c->nic[0], DNET_EMU_DROP_COPY), before + 2);
    issue(d,
          &(request_t){.type = DNET_PRIM_VLI, .size = 8, .iteration = 1, .dst = DNET_COPY_MARKER});
    CHECK_EQUAL(dnet_emu_events(c->nic[0], DNET_EMU_DROP_REQUEST), 1);
    /* the other WID's requests do not come between */
    sodimm_write(d, 0x100, "together", 8);
    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 8, .src = 0x100, .dst = DNET_COPY_MARKER});
    sodimm_write(c->dev[0][1], 0x100, "stranger", 8);
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8, .src = DNET_COPY_MARKER, .dst = 0x200});
    uint64_t in = 0;
    sodimm_read(d, 0x200, &in, 8);
    CHECK(memcmp(&in, "together", 8) == 0);
}

/* [nic 6.9, OP-38] Command Ex: local gather for RVS and IPUSH, local scatter for RVL. */
static void nic_6_9_command_ex(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint8_t in[512];

    fill_pattern(d, 0x1000, 2048);
    user_store(d, DNET_UREG_COMMAND_EX_FLAG, 1);
    user_store(d, DNET_UREG_COMMAND_EX, 40ull << 32 | 16 << 8 | 3 << 5 | DNET_PRIM_VLS);
    issue(d, &(request_t){.type = DNET_PRIM_RVSS,
                          .dtype = 2,
                          .iteration = 30,
                          .size = 12,
                          .src = 0x1000,
                          .dst = 0x4000,
                          .dclid = 2});
    sodimm_read(to, 0x4000, in, 360);
    for (unsigned e = 0; e < 30; e++)
        for (unsigned b = 0; b < 4; b++) {
            unsigned i = 4 * e + b;
            CHECK_EQUAL(in[12 * e + b], pattern(i / 8 * 40 + i % 8));
        }
    /* the smaller total: 16 x 8 local against 200 remote */
    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    issue(d, &(request_t){
                 .type = DNET_PRIM_RVS, .size = 200, .src = 0x1000, .dclid = 2, .eflag = true});
    CHECK_EQUAL(DNET_GET(llcm_word(to, 0), ST_SIZE), 128);
    /* RVL: the reply is scattered here */
    sodimm_fill(d, 0x8000, 0, 512);
    user_store(d, DNET_UREG_COMMAND_EX, 24ull << 32 | 4 << 8 | 3 << 5 | DNET_PRIM_VSS);
    issue(d, &(request_t){
                 .type = DNET_PRIM_RVL, .size = 100, .src = 0x4000, .dst = 0x8000, .dclid = 2});
    user_store(d, DNET_UREG_COMMAND_EX_FLAG, 0);
    sodimm_read(to, 0x4000, in, 100);
    uint8_t out[512];
    sodimm_read(d, 0x8000, out, 100);
    for (unsigned e = 0; e < 4; e++)
        CHECK(memcmp(out + 24 * e, in + 8 * e, 8) == 0);
    CHECK_EQUAL(out[8], 0);
}

/* [nic 7.1, 7.4] Header lines of each primitive, seen through Packet Counter and status. */
static void nic_7_4_packets_of_a_primitive(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    /* MTU 2048: one packet up to 2032 bytes, 2024 a packet beyond; the data sheet: 9 KB are 5
     * packets */
    static const struct {
        unsigned bytes, packets;
    } row[] = {
        {1, 1}, {2032, 1}, {2033, 2}, {2024 * 2, 2}, {2024 * 2 + 1, 3}, {9216, 5},
    };

    user_store(to, DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    fill_pattern(d, 0, 10000);
    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        uint8_t *in = malloc(row[i].bytes);

        user_store(to, DNET_UREG_PACKET_COUNTER_RESET, 0);
        issue(d, &(request_t){.type = DNET_PRIM_RVS,
                              .size = row[i].bytes,
                              .dst = 0x4321,
                              .dclid = 2,
                              .eflag = true});
        CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), row[i].packets);
        /* OP-20: last only */
        CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 16 * (i + 1));
        CHECK_EQUAL(DNET_GET(llcm_word(to, 16 * i), ST_SIZE), row[i].bytes);
        CHECK_EQUAL(llcm_word(to, 16 * i + 8), 0x4321); /* Initial DSTOff */
        sodimm_read(to, 0x4321, in, row[i].bytes);
        for (unsigned b = 0; b < row[i].bytes; b++)
            CHECK_EQUAL(in[b], pattern(b));
        free(in);
    }
}

/* [nic 7.2, OP-03, OP-04] Positions in the first header line, bit by bit. */
static void nic_7_2_header_positions(cluster_t *c)
{
    (void) c;
    CHECK_EQUAL(DNET_MASK(PK_SIZE), 0xfff);
    CHECK_EQUAL(DNET_MASK(PK_TYPE), 0x1full << 12);
    CHECK_EQUAL(DNET_MASK(PK_PGID), 0xffull << 20);
    CHECK_EQUAL(DNET_MASK(PK_DWID), 1ull << 28);
    CHECK_EQUAL(DNET_MASK(PK_SWID), 1ull << 30);
    CHECK_EQUAL(DNET_MASK(PK_DLID), 0xffffull << 32);
    CHECK_EQUAL(DNET_MASK(PK_DTYPE), 7ull << 48);
    CHECK_EQUAL(DNET_MASK(PK_ITERATION), 0xffull << 51);
    CHECK_EQUAL(DNET_MASK(PK_RFLAG) | DNET_MASK(PK_EFLAG) | DNET_MASK(PK_HFLAG) |
                    DNET_MASK(PK_LFLAG),
                0xfull << 59);
}

/* [nic 7.3, OP-57] A packet to the own LID comes back, to either WID. */
static void nic_op_57_loopback(cluster_t *c)
{
    uint64_t in = 0;

    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 1, .dwid = 1}, "loopback", 8);
    sodimm_read(c->dev[0][1], 0, &in, 8);
    CHECK(memcmp(&in, "loopback", 8) == 0);
    issue(c->dev[0][0],
          &(request_t){.type = DNET_PRIM_RVL, .size = 8, .dclid = 1, .dwid = 1, .dst = 0x40});
    sodimm_read(c->dev[0][0], 0x40, &in, 8);
    CHECK(memcmp(&in, "loopback", 8) == 0);
}

/* [nic OP-15] Multicast LIDs: dropped at the sender, counted. */
static void nic_op_15_multicast(cluster_t *c)
{
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 0xc001}, "12345678", 8);
    issue(c->dev[0][0], &(request_t){.type = DNET_PRIM_RVS, .size = 8, .dclid = 0xc01});
    CHECK_EQUAL(dnet_emu_events(c->nic[0], DNET_EMU_DROP_MULTICAST), 2);
}

/* [nic 11.9, 6.0] Requests are executed in order: VS followed by RVS of the same data. */
static void nic_11_9_fifo_order(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint64_t in = 0;

    for (unsigned i = 0; i < 50; i++) {
        memset(d->ww, (int) i, 8);
        issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8});
        issue(d, &(request_t){.type = DNET_PRIM_RVS, .size = 8, .dclid = 2, .dst = 8 * i});
        sodimm_read(c->dev[1][0], 8 * i, &in, 8);
        CHECK_EQUAL(in, i * 0x0101010101010101ull);
    }
}

static const board_test_t tests[] = {
    TEST(nic_6_0_own_area, BOTH),
    TEST(nic_6_0_nothing_to_move, BOTH),
    TEST(nic_6_unknown_codes, BOTH),
    TEST(nic_6_1_vl_clamps_at_window_end, BOTH),
    TEST(nic_6_1_vls_gathers, BOTH),
    TEST(nic_6_1_vli_gathers, BOTH),
    TEST(nic_6_2_source_overflow, BOTH),
    TEST(nic_6_2_destination_overflow, BOTH),
    TEST(nic_6_2_scatter, BOTH),
    TEST(nic_6_3_remote_scatter, BOTH),
    TEST(nic_6_3_local_read_is_clamped, BOTH),
    TEST(nic_6_4_remote_load, BOTH),
    TEST(nic_6_6_botf_sizes, BOTH),
    TEST(nic_6_6_botf_shorter_than_its_header, BOTH),
    TEST(nic_6_6_botf_stamps_pgid, BOTH),
    TEST(nic_6_6_botf_rvl, BOTH),
    TEST(nic_op_14_strict_swid, BOTH),
    TEST(nic_6_7_targets_and_limits, BOTH),
    TEST(nic_6_7_sodimm_limit, BOTH),
    TEST(nic_6_8_copy_transposes, BOTH),
    TEST(nic_6_8_copy_lengths, BOTH),
    TEST(nic_6_8_unpaired_copies, BOTH),
    TEST(nic_6_9_command_ex, BOTH),
    TEST(nic_7_2_header_positions, PROTOTYPE),
    TEST(nic_7_4_packets_of_a_primitive, BOTH),
    TEST(nic_op_57_loopback, BOTH),
    TEST(nic_op_15_multicast, BOTH),
    TEST(nic_11_9_fifo_order, BOTH),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
