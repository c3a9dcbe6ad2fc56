/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Conformance: identifiers, memory map, registers, requests (data sheet sections 2 to 5).
 */
#include "tests/device/board.h"

/* [nic 2, OP-05, OP-06] LIDs and CLIDs. */
static void nic_2_lid_clid_round_trip(cluster_t *c)
{
    unsigned nodes = 0;

    (void) c;
    CHECK_EQUAL(dnet_lid_to_clid(0x0001), 0x001);
    CHECK_EQUAL(dnet_lid_to_clid(0xb0ff), 0xbff);
    CHECK_EQUAL(dnet_clid_to_lid(0xfff), 0xffff);
    CHECK_EQUAL(dnet_clid_to_lid(0x123), 0x1023);
    for (unsigned lid = 1; lid <= DNET_LID_UNICAST_LAST; lid++)
        nodes += dnet_clid_to_lid(dnet_lid_to_clid((uint16_t) lid)) == lid;
    CHECK_EQUAL(nodes, DNET_NODES_MAX);
}

/* [nic 2] Only LIDs that survive the round trip are assigned. */
static void nic_2_lid_that_cannot_be_assigned(cluster_t *c)
{
    static const uint16_t bad[] = {0, 0x0100, 0x0f01, 0xc000, 0xffff};
    dnet_emu_nic_t *nic;

    (void) c;
    for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(dnet_emu_create(&(dnet_emu_config_t){.lid = bad[i]}, &nic) == DNET_ERR_ARGUMENT);
}

/* [nic 3, OP-51] Sizes of the areas. */
static void nic_3_areas_of_the_prototype(cluster_t *c)
{
    const dnet_geometry_t *g = &c->dev[0][0]->geometry;

    CHECK_EQUAL(g->ww_count, 4);
    CHECK_EQUAL(g->pw_count, 4);
    CHECK_EQUAL(g->llcm_bytes, 32768);
    CHECK_EQUAL(g->lh_entries, 64);
    CHECK_EQUAL(g->flow_entries, 0);
    CHECK_EQUAL(g->aperture_slots, 0);
    CHECK_EQUAL(g->sodimm_bytes, 256ull << 20);
    CHECK(c->dev[0][0]->flow == NULL && c->dev[0][0]->sodimm == NULL);
}

/* [nic 3] Areas of a WID lie in pages of its own. */
static void nic_3_areas_do_not_share_pages(cluster_t *c)
{
    uintptr_t at[12];

    for (unsigned w = 0; w < 2; w++) {
        const dnet_device_t *d = c->dev[0][w];
        uintptr_t mine[6] = {(uintptr_t) d->ww,         (uintptr_t) d->pw,
                             (uintptr_t) d->llcm,       (uintptr_t) d->lh,
                             (uintptr_t) d->ureg_store, (uintptr_t) d->ureg_load};
        memcpy(at + 6 * w, mine, sizeof mine);
    }
    for (unsigned i = 0; i < 12; i++) {
        CHECK_EQUAL(at[i] % 4096, 0);
        for (unsigned j = 0; j < i; j++)
            CHECK(at[i] != at[j]);
    }
}

/* [nic 3, 4.1, 4.6, OP-07] Loads give the reset values the data sheet and its decisions state. */
static void nic_4_reset_values(cluster_t *c)
{
    dnet_emu_config_t config = {.profile = c->profile, .lid = 9};
    dnet_emu_nic_t *nic;
    dnet_device_t *d;

    CHECK(dnet_emu_create(&config, &nic) == DNET_OK);
    CHECK(dnet_emu_open(nic, 0, true, &d) == DNET_OK);
    CHECK_EQUAL(user_load(d, DNET_UREG_CONTROLLER_STATUS), 0x10);
    CHECK_EQUAL(user_load(d, DNET_UREG_PRIMITIVE_COUNTER), 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_PREFETCH_WINDOW_FLAG), 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_PACKET_COUNTER), 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_MODULE_STATE), 0x0000422200020001ull);
    CHECK_EQUAL(user_load(d, DNET_UREG_STATUS_NEXT_WRITE), 0);
    CHECK_EQUAL(system_load(d, DNET_SREG_SMA_LID), 3u << 16 | 9);
    for (unsigned i = 0; i < d->geometry.lh_entries; i++)
        CHECK_EQUAL(d->lh[i].envelope, 0);
    d->ops->close(d);
    dnet_emu_detach(nic);
}

/* [nic 3] Offsets that hold no register read 0 and ignore stores. */
static void nic_3_unlisted_offsets(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    static const uint32_t offset[] = {0x008, 0x030, 0x208, 0x308, 0x708, 0xc08, 0xff8};

    for (unsigned i = 0; i < sizeof offset / sizeof *offset; i++) {
        user_store(d, offset[i], ~0ull);
        CHECK_EQUAL(user_load(d, offset[i]), 0);
    }
    CHECK_EQUAL(user_load(d, DNET_UREG_CONTROLLER_STATUS), 0x12);
}

/* [nic OP-44] A store that is not to a register's offset does nothing and is counted. */
static void nic_op_44_store_between_registers(cluster_t *c)
{
    uint64_t before = dnet_emu_events(c->nic[0], DNET_EMU_DROP_STORE);

    c->dev[0][0]->ops->kick(c->dev[0][0], DNET_UREG_COMMAND0_LOWER + 4, false);
    c->dev[0][0]->ops->kick(c->dev[0][0], 0x7fffffff, true);
    CHECK_EQUAL(dnet_emu_events(c->nic[0], DNET_EMU_DROP_STORE), before + 2);
}

/* [nic 4.2, OP-36] WWn_DONE: cleared by the kick, set at completion; the sample of the data sheet.
 */
static void nic_4_2_window_done_and_overflow_bits(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    CHECK_EQUAL(user_load(d, DNET_UREG_CONTROLLER_STATUS), 0x12);
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 512, .src = 0, .dst = 0});
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 512, .src = 0x400, .dst = 0x600});
    CHECK_EQUAL(user_load(d, DNET_UREG_CONTROLLER_STATUS), 0x832);
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 512, .src = 0x408, .dst = 0x600});
    CHECK(bit(d, 11) && bit(d, 12) && !bit(d, 13));
    issue(d, &(request_t){.type = DNET_PRIM_VS,
                          .size = 16,
                          .src = 0x400,
                          .dst = (uint32_t) d->geometry.sodimm_bytes - 8});
    CHECK(bit(d, 11) && !bit(d, 12) && bit(d, 13));
    /* of the other WID */
    CHECK_EQUAL(user_load(c->dev[0][1], DNET_UREG_CONTROLLER_STATUS), 0x12);
}

/* [nic 4.3, OP-37] Counters of each family; reset; modulo 1024; other WID unaffected. */
static void nic_4_3_primitive_counter(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    ring_set(c, 1, 0, 0, 0, 1, 0x10000, 1);
    botf(d, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2}, "12345678", 8);
    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 8});
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8});
    issue(d, &(request_t){.type = DNET_PRIM_RVL, .size = 8, .dclid = 2, .dst = 0x100});
    issue(d, &(request_t){.type = DNET_PRIM_RVS, .size = 8, .dclid = 2});
    issue(d, &(request_t){.type = DNET_PRIM_IPUSH, .size = 8, .dclid = 2});
    for (unsigned f = 0; f < 6; f++)
        CHECK_EQUAL(counter(d, f), 1);
    CHECK_EQUAL(user_load(d, DNET_UREG_PRIMITIVE_COUNTER) >> 60, 0);
    /* served RVL: not counted */
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PRIMITIVE_COUNTER), 0);
    issue(d, &(request_t){.type = DNET_PRIM_NOP});
    issue(d, &(request_t){.type = (dnet_prim_t) 0x0c});
    CHECK_EQUAL(counter(d, 0) + counter(d, 1) + counter(d, 2), 3);
    for (unsigned i = 0; i < 1024; i++)
        issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8});
    CHECK_EQUAL(counter(d, 2), 1);
    CHECK_EQUAL(counter(d, 3), 1); /* no carry into the next field */
    user_store(d, DNET_UREG_PRIMITIVE_COUNTER_RESET, 5);
    CHECK_EQUAL(user_load(d, DNET_UREG_PRIMITIVE_COUNTER), 0);
}

/* [nic 4.1] Packet Counter counts packets for the WID, and is cleared by a store. */
static void nic_4_1_packet_counter(cluster_t *c)
{
    for (unsigned i = 0; i < 3; i++)
        botf(c->dev[0][0], i, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .dwid = 1}, "x", 1);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_PACKET_COUNTER), 3);
    CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), 0);
    user_store(c->dev[1][1], DNET_UREG_PACKET_COUNTER_RESET, 0);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_PACKET_COUNTER), 0);
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 2, .dwid = 1}, "x", 1);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_PACKET_COUNTER), 1);
}

/* [nic 4.4, OP-35] Lines not touched are set at once, the others as they are filled; 1111 at the
 * end. */
static void nic_4_4_prefetch_window_flags(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 512, .dst = 0x200});
    CHECK_EQUAL(user_load(d, DNET_UREG_PREFETCH_WINDOW_FLAG), 0x00f0);
    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 8, .dst = 0x600 + 200});
    CHECK_EQUAL(user_load(d, DNET_UREG_PREFETCH_WINDOW_FLAG), 0xf0f0);
    botf(c->dev[1][0], 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 1, .rflag = true}, "12345678",
         8);
    /* from the network: no change */
    CHECK_EQUAL(user_load(d, DNET_UREG_PREFETCH_WINDOW_FLAG), 0xf0f0);
    issue(d, &(request_t){.type = DNET_PRIM_VL, .size = 8, .dst = DNET_COPY_MARKER});
    CHECK_EQUAL(user_load(d, DNET_UREG_PREFETCH_WINDOW_FLAG), 0xf0f0); /* copy: no change */
}

/* [nic 4.5, OP-41] Module State while something waits differs from the idle value. */
static void nic_4_5_module_state(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    const uint64_t idle = 0x0000422200020001ull;

    for (unsigned i = 0; i < c->dev[1][0]->geometry.lh_entries; i++)
        botf(d, 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2}, "12345678", 8);
    CHECK(user_load(d, DNET_UREG_MODULE_STATE) != idle);
    CHECK_EQUAL(user_load(d, DNET_UREG_MODULE_STATE) >> 4 & 0x1fff, 2); /* WAIT */
    user_store(c->dev[1][0], DNET_UREG_LH_NEXT_READ, 64);
    d->ops->run(d);
    CHECK_EQUAL(user_load(d, DNET_UREG_MODULE_STATE), idle);
}

/* [nic 4.6, OP-43, OP-58] Before SO-DIMM Init, SO-DIMM requests are discarded and counted. */
static void nic_4_6_sodimm_init(cluster_t *c)
{
    dnet_emu_config_t config = {.profile = c->profile, .lid = 9};
    dnet_emu_nic_t *nic;
    dnet_device_t *d;

    CHECK(dnet_emu_create(&config, &nic) == DNET_OK);
    CHECK(dnet_emu_open(nic, 0, true, &d) == DNET_OK);
    CHECK(!bit(d, 1));
    system_store(d, DNET_SREG_SODIMM_INIT, 2);
    CHECK(!bit(d, 1));
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8});
    CHECK_EQUAL(counter(d, 2), 0);
    CHECK(dnet_emu_events(nic, DNET_EMU_DROP_REQUEST) > 0);
    system_store(d, DNET_SREG_SODIMM_INIT, 1);
    CHECK(bit(d, 1));
    system_store(d, DNET_SREG_CONTROLLER_RESET, 0);
    CHECK(bit(d, 1)); /* survives */
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8});
    CHECK_EQUAL(counter(d, 2), 1);
    d->ops->close(d);
    dnet_emu_detach(nic);
}

/* [nic 4.6, OP-58] What comes in for a SO-DIMM that is not initialised is discarded and counted,
 * and hangs no sender; LLCM and LH Buffer do not need one. */
static void nic_op_58_reception_without_sodimm(cluster_t *c)
{
    dnet_emu_config_t config = {.profile = c->profile, .lid = 9};
    dnet_emu_nic_t *nic;
    dnet_device_t *d, *to = c->dev[0][0];
    dnet_emu_locator_t at;
    uint64_t in = 1;

    CHECK(dnet_emu_create(&config, &nic) == DNET_OK);
    CHECK(dnet_emu_open(nic, 0, true, &d) == DNET_OK);
    dnet_emu_locate(nic, &at);
    CHECK(dnet_emu_route(c->nic[0], &at) == DNET_OK);
    system_store(d, DNET_SREG_PGID0, 7); /* as the cluster */
    user_store(d, DNET_UREG_IPUSH_AREA_SIZE, 1);
    system_store(d, DNET_SREG_AMT_ADDRESS_TABLE, 1ull << 14 | 5);
    botf(to, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 9}, "12345678", 8);
    CHECK_EQUAL(dnet_emu_events(nic, DNET_EMU_DROP_REQUEST), 1);
    botf(to, 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 9}, "12345678", 8);
    CHECK_EQUAL(dnet_emu_events(nic, DNET_EMU_DROP_REQUEST), 2);
    CHECK_EQUAL(llcm_word(d, 40), 0); /* the ring's Tail has not moved */
    botf(to, 0, &(header_t){.type = DNET_PRIM_RVS, .dlid = 9, .lflag = true}, "12345678", 8);
    botf(to, 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 9, .lflag = true}, "12345678", 8);
    CHECK_EQUAL(dnet_emu_events(nic, DNET_EMU_DROP_REQUEST), 2);
    CHECK(memcmp(d->llcm, "12345678", 8) == 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 64);
    system_store(d, DNET_SREG_SODIMM_INIT, 1);
    sodimm_read(d, 0, &in, 8);
    CHECK_EQUAL(in, 0);
    d->ops->close(d);
    dnet_emu_detach(nic);
}

/* [nic 4.6, OP-27, OP-28] Capacity: the area of a WID is one module's; other codes give the
 * default. */
static void nic_4_6_sodimm_capacity(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    const uint64_t mega = 1 << 20;
    struct {
        unsigned code;
        uint64_t area;
    } row[] = {
        {1, 256 * mega},   {2, 512 * mega},   {4, 1024 * mega}, {8, 2048 * mega},
        {16, 4096 * mega}, {32, 4096 * mega}, {0, 256 * mega},  {3, 256 * mega},
    };

    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        uint64_t area = c->profile == DNET_PROFILE_EXTENDED && row[i].area > 2048 * mega
                            ? 2048 * mega /* bit 31 names apertures [X.5] */
                            : row[i].area;

        system_store(d, DNET_SREG_SODIMM_CAPACITY, row[i].code);
        issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8, .dst = (uint32_t) (area - 8)});
        CHECK(!bit(d, 7));
        if (area < 4096 * mega) {
            issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8, .dst = (uint32_t) (area - 4)});
            CHECK(bit(d, 7));
        }
    }
}

/* [nic 4.6, OP-40] Controller Reset: what it clears and what it keeps. */
static void nic_4_6_controller_reset(cluster_t *c)
{
    dnet_device_t *d = c->dev[1][0];
    uint64_t value = 0;

    ring_set(c, 1, 0, 0, 0, 1, 0x10000, 1);
    user_store(d, DNET_UREG_STATUS_INITIAL_ADDRESS, 0x1000);
    sodimm_write(d, 0x40, "kept", 5);
    botf(c->dev[0][0], 0,
         &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .eflag = true, .dlid = 2}, "12345678",
         8);
    botf(c->dev[0][0], 0,
         &(header_t){
             .type = DNET_PRIM_RVS, .lflag = true, .dlid = 2, .line2 = DNET_PUT(32768, PK_DST)},
         "12345678", 8);
    CHECK(bit(d, 17));
    system_store(c->dev[1][1], DNET_SREG_CONTROLLER_RESET, 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_CONTROLLER_STATUS), 0x12);
    CHECK_EQUAL(user_load(d, DNET_UREG_PACKET_COUNTER), 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_PRIMITIVE_COUNTER), 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_LH_NEXT_WRITE), 0);
    CHECK_EQUAL(user_load(d, DNET_UREG_STATUS_NEXT_WRITE), 0);
    CHECK_EQUAL(d->lh[0].envelope, 0); /* [nic 10.3] */
    CHECK_EQUAL(llcm_word(d, 8), 0x0001000000010000ull);
    sodimm_read(d, 0x40, &value, 5);
    CHECK(memcmp(&value, "kept", 5) == 0);
    /* AMT Address Table and PGIDs are kept: IPUSH still arrives. */
    user_store(d, DNET_UREG_IPUSH_AREA_SIZE, 1);
    botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .dlid = 2}, "abcdefgh", 8);
    CHECK_EQUAL(llcm_word(d, 8) >> 32, 0x10008);
}

/* [nic 4.6, OP-09, OP-10] MTU codes: data bytes of a full packet. */
static void nic_4_6_mtu(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    struct {
        unsigned code, data;
    } row[] = {
        {1, 232}, {2, 488}, {4, 1000}, {0x14, 1000}, {8, 2024}, {16, 4064}, {0, 2024}, {5, 2024},
    };

    for (unsigned i = 0; i < sizeof row / sizeof *row; i++) {
        for (unsigned w = 0; w < 2; w++) {
            unsigned bytes = row[i].data * 3 + (w ? 8 : 0);

            system_store(d, DNET_SREG_MTU, row[i].code);
            user_store(c->dev[1][0], DNET_UREG_PACKET_COUNTER_RESET, 0);
            issue(d, &(request_t){.type = DNET_PRIM_RVS, .size = bytes, .dclid = 2});
            CHECK_EQUAL(user_load(c->dev[1][0], DNET_UREG_PACKET_COUNTER), w ? 4 : 3);
        }
    }
}

/* [nic 4.6] SMA Software Reset: the agent comes back with the same LID. */
static void nic_4_6_sma_reset(cluster_t *c)
{
    system_store(c->dev[0][0], DNET_SREG_SMA_SOFTWARE_RESET, 1);
    CHECK_EQUAL(system_load(c->dev[0][0], DNET_SREG_SMA_LID), 3u << 16 | 1);
}

/* [nic 3] The System Register page belongs to the privileged process. */
static void nic_3_system_page_is_privileged(cluster_t *c)
{
    dnet_emu_config_t config = {.profile = c->profile, .lid = 9};
    dnet_emu_nic_t *nic;
    dnet_device_t *d;

    CHECK(dnet_emu_create(&config, &nic) == DNET_OK);
    CHECK(dnet_emu_open(nic, 1, false, &d) == DNET_OK);
    CHECK(d->sreg_store == NULL && d->sreg_load == NULL);
    d->ops->kick(d, DNET_SREG_SODIMM_INIT, true);
    CHECK(!bit(d, 1));
    CHECK(dnet_emu_open(nic, 2, false, &d) == DNET_ERR_ARGUMENT);
    d->ops->close(d);
    dnet_emu_detach(nic);
}

/* [nic 5.1] The data sheet's own example of a request, as two 64-bit words. */
static void nic_5_1_request_words(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint8_t in[512];

    memset(d->ww + 0x400, 0xa5, 512);
    user_store(d, DNET_UREG_COMMAND0_UPPER, 0x0000060000000400ull);
    user_store(d, DNET_UREG_COMMAND0_LOWER, 0x0000020000000008ull);
    sodimm_read(d, 0x600, in, 512);
    for (unsigned i = 0; i < 512; i++)
        CHECK_EQUAL(in[i], 0xa5);
}

/* [nic 5.1, OP-01, OP-02] DWID in bit 16, eflag in bit 30; the reserved bits beside them mean
 * nothing. */
static void nic_5_1_dwid_and_eflag_bits(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    user_store(c->dev[1][1], DNET_UREG_STATUS_INITIAL_ADDRESS, 0);
    user_store(d, DNET_UREG_COMMAND0_UPPER, 0);
    user_store(d, DNET_UREG_COMMAND0_LOWER,
               8ull << 32 | 1u << 31 | 2u << 18 | 3u << 16 | DNET_PRIM_RVS);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_PACKET_COUNTER), 1);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_STATUS_NEXT_WRITE), 0);
    user_store(d, DNET_UREG_COMMAND0_LOWER,
               8ull << 32 | 1u << 30 | 2u << 18 | 1u << 16 | DNET_PRIM_RVS);
    CHECK_EQUAL(user_load(c->dev[1][1], DNET_UREG_STATUS_NEXT_WRITE), 16);
}

/* [nic 5.4, OP-29] Element sizes 1 to 128, byte-exact. */
static void nic_5_4_dtype(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint8_t in[512], want[512];

    for (unsigned t = 0; t < 8; t++) {
        unsigned e = 1u << t;

        sodimm_fill(d, 0, 0, 512);
        for (unsigned i = 0; i < 512; i++)
            d->ww[i] = (uint8_t) (i + 1);
        issue(d, &(request_t){.type = DNET_PRIM_VSS, .dtype = t, .iteration = 2, .size = 2 * e});
        memset(want, 0, sizeof want);
        memcpy(want, d->ww, e);
        memcpy(want + 2 * e, d->ww + e, e);
        sodimm_read(d, 0, in, 512);
        CHECK(memcmp(in, want, 512) == 0);
    }
}

/* [nic 5.5] Command1: RVS to the remote, RVL to the local Prefetch Window; no effect on IPUSH. */
static void nic_5_5_command1(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];

    sodimm_write(d, 0, "abcdefgh", 8);
    issue(d, &(request_t){
                 .type = DNET_PRIM_RVS, .size = 8, .dclid = 2, .dst = 0x200, .command1 = true});
    CHECK(memcmp(c->dev[1][0]->pw + 0x200, "abcdefgh", 8) == 0);
    issue(
        c->dev[2][0],
        &(request_t){.type = DNET_PRIM_RVL, .size = 8, .dclid = 1, .dst = 0x400, .command1 = true});
    CHECK(memcmp(c->dev[2][0]->pw + 0x400, "abcdefgh", 8) == 0);
    ring_set(c, 1, 0, 0, 0, 1, 0x10000, 1);
    issue(d, &(request_t){.type = DNET_PRIM_IPUSH, .size = 8, .dclid = 2, .command1 = true});
    CHECK_EQUAL(llcm_word(c->dev[1][0], 8) >> 32, 0x10008);
}

/* [nic 5.6] Upper is kept after a kick and used again. */
static void nic_5_6_upper_is_kept(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    uint64_t in = 0;

    memset(d->ww, 1, 8);
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8, .dst = 0x100});
    memset(d->ww, 2, 8);
    user_store(d, DNET_UREG_COMMAND0_LOWER, 8ull << 32 | DNET_PRIM_VS);
    sodimm_read(d, 0x100, &in, 8);
    CHECK_EQUAL(in, 0x0202020202020202ull);
}

/* Fill the LH ring of node 1 so that what node 0 sends next waits. */
static void block(cluster_t *c)
{
    unsigned entries = c->dev[1][0]->geometry.lh_entries;

    for (unsigned i = 0; i < entries; i++)
        botf(c->dev[0][0], 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2},
             "12345678", 8);
}

/* [nic 5.6, OP-33] 16 requests wait in the FIFO; almost full at 12; then REQ_PENDING; then
 * overwritten. */
static void nic_5_6_request_fifo(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0];
    unsigned before;

    block(c); /* one waits in the executor */
    CHECK(!bit(d, 2) && !bit(d, 0));
    /* decoded ahead by the acceptor */
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8});
    for (unsigned i = 1; i <= 16; i++) {
        issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8});
        CHECK_EQUAL(bit(d, 2), i >= 12);
        CHECK(!bit(d, 0));
    }
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8});
    CHECK(bit(d, 0));
    CHECK_EQUAL(dnet_emu_events(c->nic[0], DNET_EMU_DROP_PENDING), 0);
    issue(d, &(request_t){.type = DNET_PRIM_VS, .size = 8});
    CHECK_EQUAL(dnet_emu_events(c->nic[0], DNET_EMU_DROP_PENDING), 1);
    before = counter(d, 2);
    CHECK_EQUAL(before, 0);
    user_store(c->dev[1][0], DNET_UREG_LH_NEXT_READ, 5 * 64);
    d->ops->run(d);
    CHECK(!bit(d, 2) && !bit(d, 0));
    CHECK_EQUAL(counter(d, 2), 18);
}

/* [nic 5.6, 11.1, OP-34] Prototype: one FIFO and one executor for both processes. */
static void nic_5_6_one_fifo_for_both(cluster_t *c)
{
    block(c);
    issue(c->dev[0][1], &(request_t){.type = DNET_PRIM_VS, .size = 8});
    CHECK_EQUAL(counter(c->dev[0][1], 2), 0);
    user_store(c->dev[1][0], DNET_UREG_LH_NEXT_READ, 64);
    c->dev[0][1]->ops->run(c->dev[0][1]);
    CHECK_EQUAL(counter(c->dev[0][1], 2), 1);
    CHECK_EQUAL(counter(c->dev[0][0], 0), 64);
}

/* The extended profile gives each process an executor of its own. */
static void x_5_6_executor_of_its_own(cluster_t *c)
{
    block(c);
    issue(c->dev[0][1], &(request_t){.type = DNET_PRIM_VS, .size = 8});
    CHECK_EQUAL(counter(c->dev[0][1], 2), 1);
}

static const board_test_t tests[] = {
    TEST(nic_2_lid_clid_round_trip, PROTOTYPE),
    TEST(nic_2_lid_that_cannot_be_assigned, BOTH),
    TEST(nic_3_areas_of_the_prototype, PROTOTYPE),
    TEST(nic_3_areas_do_not_share_pages, BOTH),
    TEST(nic_3_unlisted_offsets, BOTH),
    TEST(nic_3_system_page_is_privileged, BOTH),
    TEST(nic_4_reset_values, BOTH),
    TEST(nic_op_44_store_between_registers, BOTH),
    TEST(nic_4_1_packet_counter, BOTH),
    TEST(nic_4_2_window_done_and_overflow_bits, BOTH),
    TEST(nic_4_3_primitive_counter, BOTH),
    TEST(nic_4_4_prefetch_window_flags, BOTH),
    TEST(nic_4_5_module_state, BOTH),
    TEST(nic_4_6_sodimm_init, BOTH),
    TEST(nic_op_58_reception_without_sodimm, BOTH),
    TEST(nic_4_6_sodimm_capacity, BOTH),
    TEST(nic_4_6_controller_reset, BOTH),
    TEST(nic_4_6_mtu, BOTH),
    TEST(nic_4_6_sma_reset, BOTH),
    TEST(nic_5_1_request_words, BOTH),
    TEST(nic_5_1_dwid_and_eflag_bits, BOTH),
    TEST(nic_5_4_dtype, BOTH),
    TEST(nic_5_5_command1, BOTH),
    TEST(nic_5_6_upper_is_kept, BOTH),
    TEST(nic_5_6_request_fifo, BOTH),
    TEST(nic_5_6_one_fifo_for_both, PROTOTYPE),
    TEST(x_5_6_executor_of_its_own, EXTENDED),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
