/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LH entries of several lines, and places of whole lines in the IPUSH rings (docs/protocol.md
 * section 3.2).
 */
#include "tests/device/board.h"

/* Byte `i` of an entry's data; with an entry of several lines from the line that has it. */
static uint8_t lh_byte(const dnet_device_t *d, unsigned entry, uint32_t i)
{
    unsigned line = entry + (i < 48 ? 0 : 1 + (i - 48) / 56);
    const uint8_t *at = (const uint8_t *) &d->lh[line % d->geometry.lh_entries];

    return i < 48 ? at[16 + i] : at[8 + (i - 48) % 56];
}

/* [X.3] An entry has as many lines as its message needs, up to LH Lines: every line has the flags
 * of its lap, the first has Size and Pointer 1, Tail stands behind the last.  Three laps, so that
 * lines of all kinds stand where the next entries begin. */
static void x_3_entries_of_several_lines(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    const header_t h = {.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2};
    const uint64_t flags = DNET_MASK(LH_VALID) | DNET_MASK(LH_COMPLETE);
    unsigned n = to->geometry.lh_entries, at = 0, messages = 0;
    uint8_t data[DNET_BOTF_BYTES_MAX - 16] = {0};

    user_store(to, DNET_UREG_LH_LINES, DNET_LH_LINES_MAX);
    for (unsigned i = 8; i < sizeof data; i++)
        data[i] = (uint8_t) (i * 7 + 1);
    for (uint32_t size = 49; at<3 * n; size = size + 13> 1064 ? 1 : size + 13) {
        unsigned lines = size <= 48 ? 1 : 1 + (size - 48 + 55) / 56;

        for (unsigned i = 0; i < lines; i++) /* nobody may take it for a new one */
            CHECK((to->lh[(at + i) % n].envelope & flags) == ((at + i) / n & 1 ? flags : 0));
        data[0] = (uint8_t) size;
        botf(d, 0, &h, data, 8 + size);
        CHECK_EQUAL(to->lh[at % n].envelope & 0xff, size & 0xff);
        CHECK_EQUAL(DNET_GET(to->lh[at % n].where, LH_SIZE), size);
        CHECK_EQUAL(DNET_GET(to->lh[at % n].where, LH_POINTER), lines > 1);
        CHECK_EQUAL(dnet_lh_lines(to->lh[at % n].where), lines);
        for (unsigned i = 0; i < lines; i++)
            CHECK((to->lh[(at + i) % n].envelope & flags) == ((at + i) / n & 1 ? 0 : flags));
        for (uint32_t i = 0; i < size; i++)
            CHECK_EQUAL(lh_byte(to, at % n, i), data[8 + i]);
        at += lines;
        CHECK_EQUAL(user_load(to, DNET_UREG_LH_NEXT_WRITE), at % n * 64);
        CHECK_EQUAL(user_load(to, DNET_UREG_PACKET_COUNTER), ++messages);
        dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, at % n * 64);
    }
}

/* [X.3] Longer ones than LH Lines, and all once half of the buffer waits, go to the ring; there is
 * room for one-line entries up to the last. */
static void x_3_half_of_the_buffer_stays(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    const header_t h = {.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2};
    unsigned n = to->geometry.lh_entries, at = 0, rings = 0;
    uint8_t data[496] = {0};

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 16);
    CHECK(to->ops->reserve(to, 0x10000, 16 * 4096) == DNET_OK);
    user_store(to, DNET_UREG_LH_LINES, 3);
    botf(d, 0, &h, data, 8 + 161);
    CHECK_EQUAL(DNET_GET(to->lh[at++].where, LH_POINTER), 0x10000);
    while (outcome(d) == DNET_REPORT_DELIVERED) {
        uint64_t where;

        botf(d, 0, &h, data, 8 + 160);
        where = to->lh[at].where;
        if (outcome(d) != DNET_REPORT_DELIVERED)
            break;
        CHECK_EQUAL(dnet_lh_lines(where), rings || at + 3 + n / 2 > n - 1 ? 1 : 3);
        rings += dnet_lh_lines(where) == 1;
        at += dnet_lh_lines(where);
    }
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    CHECK_EQUAL(at, n - 1);
    CHECK(rings >= n / 2 - 3);
    dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, at * 64ul);
    botf(d, 0, &h, data, 8 + 160);
    CHECK_EQUAL(dnet_lh_lines(to->lh[at].where), 3);
}

/* Entries [from, to) of one line hold what they were sent with. */
static void check_entries(const dnet_device_t *d, unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        const dnet_lh_entry_t *e = &d->lh[i % d->geometry.lh_entries];

        CHECK_EQUAL(DNET_GET(e->where, LH_SIZE), 1 + i % 48);
        CHECK_EQUAL(e->data[0], i & 0xff);
    }
}

/* Lines that are stored to before their turn are free ones: with a full buffer, of which a part is
 * read, then another, no entry changes that has not been read. */
static void nic_10_5_entries_stay_until_they_are_read(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    const header_t h = {.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2};
    unsigned n = to->geometry.lh_entries, at = 0, read = 0;
    uint8_t data[56] = {0};

    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    for (unsigned part = 1; at < 4 * n; part = part * 3 % n) {
        for (;; at++) {
            data[8] = (uint8_t) at;
            botf(d, 0, &h, data, 8 + 1 + at % 48);
            if (outcome(d) != DNET_REPORT_DELIVERED)
                break;
        }
        CHECK_EQUAL(at - read, n - 1);
        check_entries(to, read, at);
        read += part;
        dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, read % n * 64);
    }
}

/* [X.3] The prototype has entries of one line. */
static void x_3_prototype_has_no_lines(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    uint8_t data[100] = {0};

    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 16);
    user_store(to, DNET_UREG_LH_LINES, DNET_LH_LINES_MAX);
    user_store(to, DNET_UREG_IPUSH_GRAIN, DNET_IPUSH_GRAIN_MAX);
    botf(d, 0, &(header_t){.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2}, data, sizeof data);
    CHECK_EQUAL(DNET_GET(to->lh[0].where, LH_POINTER), 0x10000);
    CHECK_EQUAL(llcm_word(to, 72) >> 32, 0x10000 + (sizeof data - 56 + 7) / 8 * 8);
}

/* [X.3] With IPUSH Grain 64 places in a ring are whole lines, and one of them stays free; a value
 * that is none leaves them multiples of 8.  Two laps, so that data go on at the ring's start. */
static void x_3_places_of_whole_lines(cluster_t *c)
{
    dnet_device_t *d = c->dev[0][0], *to = c->dev[1][0];
    const header_t h = {.type = DNET_PRIM_IPUSH, .lflag = true, .dlid = 2};
    uint32_t tail = 0x10000, n = to->geometry.lh_entries;
    uint8_t data[496] = {0}, in[496];
    unsigned at = 0, fitted = 0;

    for (unsigned i = 8; i < sizeof data; i++)
        data[i] = (uint8_t) (i * 11 + 3);
    user_store(to, DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_STOP);
    ring_set(c, 1, 0, 0, 0, 9, 0x10000, 1);
    CHECK(to->ops->reserve(to, 0x10000, 4096) == DNET_OK);
    user_store(to, DNET_UREG_IPUSH_GRAIN, DNET_IPUSH_GRAIN_MAX);
    for (uint32_t size = 49; at<60; size = size + 41> 488 ? 49 : size + 41, at++) {
        uint32_t rest = size - 48, first = 0x11000 - tail < rest ? 0x11000 - tail : rest;

        d->ops->expect(d, 2, 0, rest); /* asks for lines, and changes nothing */
        botf(d, 0, &h, data, 8 + size);
        CHECK_EQUAL(DNET_GET(to->lh[at].where, LH_POINTER), tail);
        sodimm_read(to, tail, in, first);
        sodimm_read(to, 0x10000, in + first, rest - first);
        CHECK(memcmp(in, data + 56, rest) == 0);
        tail = 0x10000 + (tail + (rest + 63) / 64 * 64) % 4096;
        CHECK_EQUAL(llcm_word(to, 72) >> 32, tail);
        llcm_store(to, 72, (uint64_t) tail << 32 | tail); /* all is read */
        dnet_reg_store_quiet(to, DNET_UREG_LH_NEXT_READ, (at + 1) % n * 64);
    }
    d->ops->expect(d, 2, 0, 5000); /* longer than the ring */
    d->ops->expect(d, 2, 1, 64);   /* no ring there */
    d->ops->expect(d, 77, 0, 64);  /* no NIC */
    for (; outcome(d) == DNET_REPORT_DELIVERED; fitted++)
        botf(d, 0, &h, data, 8 + 49);
    CHECK_EQUAL(outcome(d), DNET_REPORT_STOPPED);
    CHECK_EQUAL(fitted - 1, (4096 - 64) / 64);
    user_store(to, DNET_UREG_IPUSH_GRAIN, 63);
    botf(d, 0, &h, data, 8 + 49);
    CHECK_EQUAL(llcm_word(to, 72) >> 32, 0x10000 + (tail - 0x10000 + 4096 - 64 + 8) % 4096);
}

static const board_test_t tests[] = {
    TEST(x_3_entries_of_several_lines, EXTENDED),
    TEST(x_3_half_of_the_buffer_stays, EXTENDED),
    TEST(nic_10_5_entries_stay_until_they_are_read, EXTENDED),
    TEST(x_3_prototype_has_no_lines, PROTOTYPE),
    TEST(x_3_places_of_whole_lines, EXTENDED),
};

int main(int argc, char **argv)
{
    return board_main(tests, sizeof tests / sizeof *tests, argc, argv);
}
