/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each thing a message does, once, through the memory map of the extended profile.
 */
#include "tests/device/board.h"

static cluster_t c;

static void test_vs_vl_round_trip(void)
{
    uint8_t out[1024], in[1024];

    for (unsigned i = 0; i < sizeof out; i++)
        out[i] = (uint8_t) (i * 7);
    sodimm_write(c.dev[0][0], 0x1000, out, sizeof out);
    sodimm_read(c.dev[0][0], 0x1000, in, sizeof in);
    CHECK(memcmp(in, out, sizeof in) == 0);
}

static void test_botf_lhs_one_entry(void)
{
    dnet_device_t *to = c.dev[1][0];
    char data[8 + 48] = {0};

    for (unsigned i = 0; i < 3000; i++) {
        const dnet_lh_entry_t *e = &to->lh[i % to->geometry.lh_entries];
        bool lap = !((i / to->geometry.lh_entries) & 1);
        unsigned n = i % 49;

        memset(data + 8, (int) i, 48);
        *(uint64_t *) (void *) data = 0x1234000500000000ull | i;
        CHECK(DNET_GET(e->envelope, LH_VALID) != lap);
        botf(c.dev[0][0], i & 3, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2},
             data, 8 + n);
        CHECK(DNET_GET(e->envelope, LH_VALID) == lap && DNET_GET(e->envelope, LH_COMPLETE) == lap);
        CHECK_EQUAL(DNET_GET(e->envelope, LH_TAG), i);
        CHECK_EQUAL(DNET_GET(e->envelope, LH_RANK), 5);
        CHECK_EQUAL(DNET_GET(e->where, LH_SIZE), n);
        CHECK(memcmp(e->data, data + 8, n) == 0);
        CHECK_EQUAL(user_load(c.dev[0][0], DNET_UREG_STOP_REPORT), DNET_REPORT_DELIVERED);
        dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ,
                             (i + 1) % to->geometry.lh_entries * DNET_LH_ENTRY_BYTES);
    }
    CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), 3000);
    CHECK_EQUAL(counter(c.dev[0][0], 0), 3000 % 1024);
}

static void test_lhs_rest_in_ring(void)
{
    dnet_device_t *to = c.dev[1][0];
    uint32_t entry = (uint32_t) user_load(to, DNET_UREG_LH_NEXT_WRITE) / DNET_LH_ENTRY_BYTES;
    uint8_t data[400], in[400];

    ring_set(&c, 1, 0, 0, 0, 100, 0x10000, 4);
    for (unsigned i = 0; i < sizeof data; i++)
        data[i] = (uint8_t) (i ^ 0x5a);
    botf(c.dev[0][0], 0,
         &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2, .eflag = true}, data,
         sizeof data);
    CHECK_EQUAL(DNET_GET(to->lh[entry].where, LH_SIZE), 392);
    CHECK_EQUAL(DNET_GET(to->lh[entry].where, LH_POINTER), 0x10000);
    sodimm_read(to, 0x10000, in, 344);
    CHECK(memcmp(in, data + 56, 344) == 0);
    CHECK(memcmp(to->lh[entry].data, data + 8, 48) == 0);
    CHECK_EQUAL(llcm_word(to, 800) >> 32, 0x10000 + 344);
    CHECK_EQUAL(user_load(to, DNET_UREG_STATUS_NEXT_WRITE), 0x1010);
    CHECK_EQUAL(llcm_word(to, 0x1008), 0x10000);
    CHECK_EQUAL(DNET_GET(llcm_word(to, 0x1000), ST_SIZE), 400);
}

static void test_rvs_and_rvl(void)
{
    uint8_t *out = malloc(100000), *in = malloc(100000);

    for (unsigned i = 0; i < 100000; i++)
        out[i] = (uint8_t) (i * 13 + i / 256);
    sodimm_write(c.dev[0][1], 0x20000, out, 100000);
    issue(c.dev[0][1], &(request_t){.type = DNET_PRIM_RVS,
                                    .size = 100000,
                                    .src = 0x20000,
                                    .dst = 0x40008,
                                    .dclid = 3,
                                    .dwid = 1,
                                    .eflag = true});
    sodimm_read(c.dev[2][1], 0x40008, in, 100000);
    CHECK(memcmp(in, out, 100000) == 0);
    CHECK_EQUAL(user_load(c.dev[2][1], DNET_UREG_STATUS_NEXT_WRITE), 0x1010);
    CHECK_EQUAL(user_load(c.dev[2][1], DNET_UREG_PACKET_COUNTER), (100000 + 2023) / 2024);
    CHECK_EQUAL(llcm_word(c.dev[2][1], 0x1008), 0x40008);
    issue(c.dev[1][0], &(request_t){.type = DNET_PRIM_RVL,
                                    .size = 100000,
                                    .src = 0x40008,
                                    .dst = 0x80000,
                                    .dclid = 3,
                                    .dwid = 1,
                                    .eflag = true});
    sodimm_read(c.dev[1][0], 0x80000, in, 100000);
    CHECK(memcmp(in, out, 100000) == 0);
    CHECK_EQUAL(counter(c.dev[1][0], 3), 1);
    free(out);
    free(in);
}

static void test_llcm_write(void)
{
    uint64_t value = 0x1122334455667788ull;

    botf(c.dev[0][0], 1,
         &(header_t){.type = DNET_PRIM_RVS,
                     .lflag = true,
                     .dlid = 3,
                     .line2 = DNET_PUT(0x2000, PK_DST) | DNET_PUT(0x2000, PK_SRC)},
         &value, 8);
    CHECK_EQUAL(llcm_word(c.dev[2][0], 0x2000), value);
}

static void aperture(dnet_device_t *dev, unsigned slot, void *at, uint64_t bytes)
{
    dnet_reg_store_quiet(dev, DNET_UREG_APERTURE_ADDRESS, (uintptr_t) at);
    user_store(dev, DNET_UREG_APERTURE_LENGTH,
               DNET_PUT(bytes, APL_LENGTH) | DNET_PUT(slot, APL_SLOT));
}

static void test_apertures(void)
{
    enum { SHIFT = 3 * DNET_APERTURE_UNIT };
    const uint32_t bytes = 1000000;
    uint8_t *out = malloc(bytes), *in = calloc(1, bytes);
    uint32_t from = (uint32_t) (DNET_MASK(AP_FLAG) | DNET_PUT(5, AP_SLOT));
    uint32_t to = (uint32_t) (DNET_MASK(AP_FLAG) | DNET_PUT(9, AP_SLOT) | DNET_PUT(3, AP_OFFSET));

    for (uint32_t i = 0; i < bytes; i++)
        out[i] = (uint8_t) (i * 31 + i / 4096);
    aperture(c.dev[0][0], 5, out, bytes);
    aperture(c.dev[1][0], 9, in, bytes);
    issue(c.dev[0][0],
          &(request_t){
              .type = DNET_PRIM_RVS, .size = bytes - SHIFT, .src = from, .dst = to, .dclid = 2});
    CHECK_EQUAL(user_load(c.dev[0][0], DNET_UREG_STOP_REPORT) & 0xf, DNET_REPORT_DELIVERED);
    CHECK(memcmp(in + SHIFT, out, bytes - SHIFT) == 0);
    memset(in, 0, bytes);
    issue(c.dev[1][0],
          &(request_t){
              .type = DNET_PRIM_RVL, .size = bytes - SHIFT, .src = from, .dst = to, .dclid = 1});
    CHECK(memcmp(in + SHIFT, out, bytes - SHIFT) == 0);
    aperture(c.dev[1][0], 9, NULL, 0);
    issue(c.dev[0][0],
          &(request_t){.type = DNET_PRIM_RVS, .size = 8, .src = from, .dst = to, .dclid = 2});
    CHECK_EQUAL(user_load(c.dev[0][0], DNET_UREG_STOP_REPORT) & 0xf, DNET_REPORT_UNREACHABLE);
    free(out);
    free(in);
}

static void test_stop_and_resend(void)
{
    dnet_device_t *to = c.dev[2][0];
    unsigned sent = 0;
    uint64_t envelope = 42;

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    while ((user_load(c.dev[0][1], DNET_UREG_STOP_REPORT) & 0xf) != DNET_REPORT_STOPPED &&
           sent < 5000) {
        botf(c.dev[0][1], 0,
             &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 3, .swid = 1}, &envelope,
             8);
        sent++;
    }
    CHECK_EQUAL(sent, to->geometry.lh_entries);
    CHECK_EQUAL(DNET_GET(to->flow[0].word, FLOW_VALID), 1);
    CHECK_EQUAL(DNET_GET(to->flow[0].word, FLOW_KIND), DNET_FLOW_STOPPED);
    CHECK_EQUAL(DNET_GET(to->flow[0].word, FLOW_LID), 1);
    CHECK_EQUAL(DNET_GET(to->flow[0].word, FLOW_WID), 1);
    CHECK_EQUAL(counter(c.dev[0][1], 0), (sent - 1) % 1024);
    botf(to, 0, &(header_t){.type = DNET_PRIM_RESEND, .dlid = 1, .dwid = 1, .line2 = 17}, NULL, 0);
    CHECK_EQUAL(DNET_GET(c.dev[0][1]->flow[0].word, FLOW_KIND), DNET_FLOW_RESEND);
    CHECK_EQUAL(DNET_GET(c.dev[0][1]->flow[0].word, FLOW_CREDITS), 17);
    CHECK_EQUAL(DNET_GET(c.dev[0][1]->flow[0].word, FLOW_LID), 3);
}

static void test_stall_waits_in_the_sender(void)
{
    dnet_device_t *to = c.dev[2][1];
    uint64_t envelope = 1;
    unsigned before = counter(c.dev[1][0], 0);

    for (unsigned i = 0; i < to->geometry.lh_entries + 3; i++)
        botf(c.dev[1][0], 0,
             &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 3, .dwid = 1}, &envelope,
             8);
    CHECK_EQUAL(counter(c.dev[1][0], 0) - before, to->geometry.lh_entries - 1);
    dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, 10 * DNET_LH_ENTRY_BYTES);
    c.dev[1][0]->ops->run(c.dev[1][0]);
    CHECK_EQUAL((counter(c.dev[1][0], 0) - before) & 0x3ff, (to->geometry.lh_entries + 3) & 0x3ff);
    CHECK_EQUAL(user_load(to, DNET_UREG_LH_NEXT_WRITE), 3 * DNET_LH_ENTRY_BYTES);
}

static void test_unreachable(void)
{
    uint64_t envelope = 1;

    botf(c.dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 99}, &envelope,
         8);
    CHECK_EQUAL(user_load(c.dev[0][0], DNET_UREG_STOP_REPORT) & 0xf, DNET_REPORT_UNREACHABLE);
}

int main(void)
{
    cluster_up(&c, DNET_PROFILE_EXTENDED, NULL);
    for (unsigned n = 0; n < BOARD_NODES; n++)
        for (unsigned w = 0; w < 2; w++)
            user_store(c.dev[n][w], DNET_UREG_STATUS_INITIAL_ADDRESS, 0x1000);
    test_vs_vl_round_trip();
    test_botf_lhs_one_entry();
    test_lhs_rest_in_ring();
    test_rvs_and_rvl();
    test_llcm_write();
    test_apertures();
    test_stop_and_resend();
    test_stall_waits_in_the_sender();
    test_unreachable();
    cluster_down(&c);
    puts("each path of a message works");
    return 0;
}
