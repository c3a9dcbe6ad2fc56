/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Clocks of the units (data sheet section 11), with the NIC built to count them.
 */
#include "tests/device/board.h"

#include "emulator/charge.h"

static void start(void)
{
    memset(dnet_emu_busy, 0, sizeof dnet_emu_busy);
}

#define CLOCKS(unit, n) CHECK_EQUAL(dnet_emu_busy[DNET_UNIT_##unit], (n))

/* [nic 11.1, 11.2, 5.2, OP-45] Acceptor 3, executor N + 4: 10 clocks for 24 bytes, 68 + 3 for a
 * window. */
static void nic_11_2_botf(cluster_t *c)
{
    static const unsigned bytes[] = {0, 8, 100, 496};
    static const uint8_t zeros[496];

    for (unsigned i = 0; i < 4; i++) {
        start();
        botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2}, zeros, bytes[i]);
        CLOCKS(ACCEPTOR, 3);
        CLOCKS(EXECUTOR, (16 + bytes[i] + 7) / 8 + 4);
    }
}

/* [nic 11.3] PRIM, VL1, VL END beside the time of PU; a copy's half does not wait for PU. */
static void nic_11_3_vl(cluster_t *c)
{
    start();
    issue(c->dev[0][0], &(request_t){.type = DNET_PRIM_VL, .size = 64});
    CLOCKS(EXECUTOR, 3);
    CHECK(dnet_emu_busy[DNET_UNIT_PU] >= 8);
    start();
    issue(c->dev[0][0], &(request_t){.type = DNET_PRIM_VL, .size = 64, .dst = DNET_COPY_MARKER});
    CLOCKS(EXECUTOR, 3);
    CLOCKS(PU, 0);
}

/* [nic 11.4] VS: PRIM, VS END; VSS has VSS1 before. */
static void nic_11_4_vs(cluster_t *c)
{
    start();
    issue(c->dev[0][0], &(request_t){.type = DNET_PRIM_VS, .size = 64});
    CLOCKS(EXECUTOR, 2);
    start();
    issue(c->dev[0][0],
          &(request_t){.type = DNET_PRIM_VSS, .dtype = 3, .iteration = 2, .size = 16});
    CLOCKS(EXECUTOR, 3);
}

/* [nic 11.5] RVL: 5 clocks at the issuer; what the target's executor does comes on top. */
static void nic_11_5_rvl(cluster_t *c)
{
    start();
    issue(c->dev[0][0], &(request_t){.type = DNET_PRIM_RVL, .dclid = 2});
    CLOCKS(EXECUTOR, 5 + 2); /* nothing to read: PRIM and RVS END at the target */
}

/* [nic 11.6, OP-31, OP-49] RVS and IPUSH: PRIM, RVS1, RVS3, 2 header lines, data lines, RVS END;
 * RVSS has RVSS1 and 3. */
static void nic_11_6_rvs(cluster_t *c)
{
    ring_set(c, 1, 0, 0, 0, 1, 0x10000, 1);
    start();
    issue(c->dev[0][0], &(request_t){.type = DNET_PRIM_RVS, .size = 64, .dclid = 2});
    CLOCKS(EXECUTOR, 1 + 1 + 1 + 2 + 8 + 1);
    start();
    issue(c->dev[0][0], &(request_t){.type = DNET_PRIM_IPUSH, .size = 64, .dclid = 2});
    CLOCKS(EXECUTOR, 1 + 1 + 1 + 2 + 8 + 1);
    CHECK_EQUAL(counter(c->dev[0][0], 5), 1);
    start();
    issue(c->dev[0][0],
          &(request_t){.type = DNET_PRIM_RVSS, .dtype = 3, .iteration = 8, .size = 16, .dclid = 2});
    CLOCKS(EXECUTOR, 1 + 1 + 1 + 1 + 3 + 8 + 1);
    system_store(c->dev[0][0], DNET_SREG_MTU, 1); /* 232 bytes, 29 elements a packet */
    start();
    issue(
        c->dev[0][0],
        &(request_t){.type = DNET_PRIM_RVSS, .dtype = 3, .iteration = 30, .size = 16, .dclid = 2});
    /* RVSS2 while more remains */
    CLOCKS(EXECUTOR, 1 + (1 + 1 + 1 + 1 + 3 + 29) + (1 + 1 + 1 + 3 + 1) + 1);
}

/* [nic 11.7, 11.8] 24 bytes with status: PUSH 20 clocks, IPUSH 24, Prefetch Window 6 less than
 * PUSH. */
static void nic_11_8_reception(cluster_t *c)
{
    const dnet_prim_t type[] = {DNET_PRIM_RVS, DNET_PRIM_IPUSH, DNET_PRIM_RVS};
    const unsigned clocks[] = {20, 24, 14};
    static const uint8_t zeros[64];

    ring_set(c, 1, 0, 0, 0, 1, 0x10000, 1);
    for (unsigned i = 0; i < 3; i++) {
        start();
        botf(c->dev[0][0], 0,
             &(header_t){.type = type[i], .dlid = 2, .eflag = true, .rflag = i == 2}, "12345678",
             8);
        CLOCKS(SWU, 3);
        CHECK_EQUAL(dnet_emu_busy[DNET_UNIT_RC] + dnet_emu_busy[DNET_UNIT_WU] + 3, clocks[i]);
    }
    /* A line more of data is a clock more; a third header line is one. */
    start();
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true}, zeros, 64);
    CHECK_EQUAL(dnet_emu_busy[DNET_UNIT_RC] + dnet_emu_busy[DNET_UNIT_WU] + 3, 20 + 7);
    start();
    botf(c->dev[0][0], 0,
         &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .eflag = true, .hflag = true, .line3 = 8},
         zeros, 8);
    CHECK_EQUAL(dnet_emu_busy[DNET_UNIT_RC] + dnet_emu_busy[DNET_UNIT_WU] + 3, 20 + 1);
    /* An LH entry has eight lines, and needs neither WU nor SO-DIMM. */
    start();
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 2, .lflag = true}, zeros, 8);
    CLOCKS(WU, 0);
    CLOCKS(RC, 4 + 8);
}

static const board_test_t tests[] = {
    TEST(nic_11_2_botf, BOTH), TEST(nic_11_3_vl, BOTH),  TEST(nic_11_4_vs, BOTH),
    TEST(nic_11_5_rvl, BOTH),  TEST(nic_11_6_rvs, BOTH), TEST(nic_11_8_reception, BOTH),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
