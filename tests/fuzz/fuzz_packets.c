/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Fuzz target: a hostile network. Bytes are lines of 66 bits that reach a NIC's Receive Controller,
 * or stores of the receiving host to the words the NIC reads. Packets for WID 0 may do what they
 * like there; WID 1, of another process group, must not see a byte changed.
 */
#include "tests/device/board.h"
#include "tests/fuzz/fuzz.h"

#define LINES_MAX 700
#define FOREIGN 9u

static snapshot_t before;
static dnet_emu_line_t lines[LINES_MAX];

static unsigned take_lines(input_t *in)
{
    unsigned n = 0, count = (unsigned) take(in, 1) + 1;
    bool first = true;

    for (; n < count && n < LINES_MAX && in->left > 0; n++) {
        unsigned how = (unsigned) take(in, 1);

        lines[n].content = how & 0x40 ? how : take(in, 8);
        lines[n].id = how & 0x80                     ? (uint8_t) (how & 3)
                      : first                        ? DNET_LINE_FIRST
                      : how & 0x20 || n + 1 == count ? DNET_LINE_LAST
                                                     : DNET_LINE_MIDDLE;
        if (lines[n].id == DNET_LINE_FIRST) {
            /* mostly ours */
            if (DNET_GET(lines[n].content, PK_PGID) == FOREIGN || !(how & 0x10))
                lines[n].content = (lines[n].content & ~DNET_MASK(PK_PGID)) | DNET_PUT(7, PK_PGID);
        }
        first = lines[n].id == DNET_LINE_LAST;
    }
    return n;
}

/* A large Total of an RVL would move gigabytes: legal, and slow. */
static void tame(unsigned n)
{
    for (unsigned i = 0; i + 2 < n; i++)
        if (lines[i].id == DNET_LINE_FIRST && DNET_GET(lines[i].content, PK_TYPE) == DNET_PRIM_RVL)
            lines[i + 2].content &= ~0xfff00000ull;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    input_t in = {data, size};
    cluster_t c;
    dnet_device_t *d;
    uint64_t first = take(&in, 1);
    uint8_t foreign[64];

    cluster_up(&c, first & 1 ? DNET_PROFILE_EXTENDED : DNET_PROFILE_PROTOTYPE,
               &(dnet_emu_config_t){.rc_skip_errors = !(first & 2)});
    d = c.dev[0][0];
    system_store(d, DNET_SREG_PGID1, FOREIGN);
    user_store(d, DNET_UREG_FLOW_MODE, first >> 2 & 3);
    ring_set(&c, 0, 0, 1, 0, 4, 0x10000, 1);
    ring_set(&c, 0, 0, 1, 1, 5, 0xffff000, 1); /* ends with the area */
    sodimm_fill(c.dev[0][1], 0, 0x99, 64);     /* the other area begins there */
    snapshot(c.dev[0][1], &before);
    for (unsigned i = 0; i < 64 && in.left > 0; i++) {
        unsigned op = (unsigned) take(&in, 1);
        unsigned n;

        switch (op & 7) {
            case 0:
                llcm_store(d, (uint32_t) take(&in, 2) & 0x7ff8, take(&in, 8));
                break;
            case 1:
                user_store(d, DNET_UREG_LH_NEXT_READ, take(&in, 4));
                break;
            case 2:
                user_store(d, DNET_UREG_STATUS_INITIAL_ADDRESS, take(&in, 4));
                user_store(d, DNET_UREG_STATUS_AREA_SIZE, take(&in, 1));
                break;
            case 3:
                user_store(d, DNET_UREG_STATUS_NEXT_READ, take(&in, 4));
                user_store(d, DNET_UREG_IPUSH_AREA_SIZE, take(&in, 2));
                break;
            case 4:
            case 5:
            case 6:
            case 7:
                n = take_lines(&in);
                tame(n);
                dnet_emu_inject(c.nic[0], (uint16_t) (op >> 4 ? 2 : take(&in, 2)), lines, n);
                break;
        }
    }
    CHECK(unchanged(c.dev[0][1], &before));
    sodimm_read(c.dev[0][1], 0, foreign, 64);
    for (unsigned i = 0; i < 64; i++)
        CHECK_EQUAL(foreign[i], 0x99);
    cluster_down(&c);
    return 0;
}
