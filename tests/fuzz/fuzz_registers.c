/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: a hostile driver. Bytes are actions on the memory maps of three NICs: stores to
 * registers and windows, to LLCM, kicks of offsets that are no register, ops->run. Nothing may
 * crash, and a process whose NIC the others have no group in common with must not see a byte
 * changed.
 */
#include "tests/device/board.h"
#include "tests/fuzz/fuzz.h"

#define ACTIONS_MAX 256

static const uint32_t user_offset[] = {
#define DNET_REGISTER(page, name, offset, access, reset, store, clause, title) DNET_##page##_##name,
#include "dimmnet/registers.def"
#undef DNET_REGISTER
};

static snapshot_t before[2];
static uint8_t memory[4096]; /* what apertures may name */

/* Requests keep their meaning but move at most 1 MB, so that an input ends soon. */
static uint64_t tame(uint32_t offset, uint64_t value)
{
    switch (offset) {
        case DNET_UREG_COMMAND0_LOWER:
        case DNET_UREG_COMMAND1_LOWER:
        case DNET_UREG_COMMAND_EX:
            if ((value & 3) == 0 || DNET_GET(value, RQ_OTYPE) >= DNET_PRIM_IPUSH)
                value &= ~(0xfff00000ull << 32);
            return value;
        case DNET_UREG_APERTURE_ADDRESS:
            return (uintptr_t) memory + value % sizeof memory;
    }
    return value;
}

static void act(cluster_t *c, input_t *in)
{
    unsigned op = (unsigned) take(in, 1);
    unsigned who = (unsigned) take(in, 1) & 3; /* nodes 0 and 1; node 2 looks on */
    dnet_device_t *d = c->dev[who >> 1][who & 1];
    uint32_t offset;
    uint64_t value;

    switch (op & 7) {
        case 0:
        case 1:
        case 2:
            offset = user_offset[take(in, 1) % (sizeof user_offset / sizeof *user_offset)];
            value = tame(offset, take(in, 8));
            if (offset == DNET_UREG_APERTURE_LENGTH) { /* stay inside `memory` */
                uintptr_t base =
                    *(uint64_t *) (void *) (d->ureg_store + DNET_UREG_APERTURE_ADDRESS);
                uint64_t room = base ? (uintptr_t) memory + sizeof memory - base : 0;

                value = (value & DNET_MASK(APL_SLOT)) | (value & 0xfff) % (room + 1);
            }
            user_store(d, offset, value);
            break;
        case 3:
            offset = user_offset[take(in, 1) % (sizeof user_offset / sizeof *user_offset)];
            value = take(in, 8);
            if (offset == DNET_SREG_PGID0 || offset == DNET_SREG_PGID1)
                value = value & 0xff & ~8ull; /* never node 2's group */
            system_store(d, offset, value);
            break;
        case 4:
            offset = (uint32_t) take(in, 2);
            value = take(in, 1);
            for (unsigned i = 0; i < 4; i++)
                *(uint64_t *) (void *) (d->ww + ((offset + 8 * i) & 0x7f8)) = take(in, 8);
            break;
        case 5:
            offset = (uint32_t) take(in, 2) & 0x7ff8;
            llcm_store(d, offset, take(in, 8));
            break;
        case 6:
            offset = (uint32_t) take(in, 4);
            if (offset != DNET_UREG_APERTURE_LENGTH)
                d->ops->kick(d, offset, take(in, 1) & 1);
            break;
        case 7:
            d->ops->run(d);
            break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size};
    cluster_t c;
    uint64_t first = take(&in, 1);

    cluster_up(
        &c, first & 1 ? DNET_PROFILE_EXTENDED : DNET_PROFILE_PROTOTYPE,
        &(dnet_emu_config_t){.rc_skip_errors = first >> 1 & 1, .strict_swid = first >> 2 & 1});
    system_store(c.dev[2][0], DNET_SREG_PGID0, 8);
    system_store(c.dev[2][1], DNET_SREG_PGID1, 8);
    ring_set(&c, 0, 0, 1, 0, 4, 0x10000, 1);
    ring_set(&c, 1, 1, 0, 0, 4, 0x10000, 1);
    memset(memory, 0, sizeof memory);
    for (unsigned w = 0; w < 2; w++)
        snapshot(c.dev[2][w], &before[w]);
    for (unsigned i = 0; i < ACTIONS_MAX && in.left > 0; i++)
        act(&c, &in);
    for (unsigned w = 0; w < 2; w++)
        CHECK(unchanged(c.dev[2][w], &before[w]));
    cluster_down(&c);
    return 0;
}
