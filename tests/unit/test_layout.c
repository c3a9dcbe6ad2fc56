/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairing of layouts: the runs bring every byte of a message from its place in one layout to its
 * place in the other, and nothing else; layouts that do not fit together give no runs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint/layout.h"

/* The lists of a test stand in its memory, as they do in SO-DIMM. */
enum { MEMORY = 1 << 18, FROM_LIST = 200000, TO_LIST = 220000 };
static uint8_t source[MEMORY], sink[MEMORY], expected[MEMORY];

static uint32_t list_entry(const uint8_t *memory, uint32_t list, uint32_t i)
{
    uint32_t entry;
    memcpy(&entry, memory + list + 4 * i, 4);
    return entry;
}

static uint32_t place(const uint8_t *memory, const dnet_ep_layout_t *l, size_t at)
{
    uint32_t i = (uint32_t) (at / l->block_bytes);
    uint32_t start = l->kind == DNET_LAYOUT_LIST ? list_entry(memory, l->step, i) : i * l->step;
    return l->offset + start + (uint32_t) (at % l->block_bytes);
}

static void perform(const dnet_drv_run_t *r)
{
    for (uint32_t i = 0; i < r->count; i++) {
        uint32_t from =
            r->src + (r->src_list ? list_entry(source, r->src_step, i) : i * r->src_step);
        uint32_t to = r->dst + (r->dst_list ? list_entry(sink, r->dst_step, i) : i * r->dst_step);
        memcpy(sink + to, source + from, r->bytes);
    }
}

/* @return number of runs; they have been checked byte by byte */
static unsigned pair(const dnet_ep_layout_t *from, const dnet_ep_layout_t *to, size_t len,
                     uint32_t least)
{
    dnet_drv_run_t runs[DNET_LAYOUT_RUNS];
    unsigned n = dnet_layout_pair(from, to, len, least, runs);
    if (n == 0)
        return 0;
    memcpy(expected, sink, sizeof(expected));
    for (size_t i = 0; i < len; i++)
        expected[place(sink, to, i)] = source[place(source, from, i)];
    for (unsigned i = 0; i < n; i++) {
        assert_true(runs[i].bytes >= least);
        perform(&runs[i]);
    }
    assert_memory_equal(sink, expected, sizeof(sink));
    return n;
}

static int fill(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < FROM_LIST; i++) {
        source[i] = (uint8_t) (i * 31 + i / 255);
        sink[i] = 0xee;
    }
    /* 64 blocks that do not overlap, in no order. */
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t from = (i * 37 % 64) * 1024, to = (i * 11 % 64) * 2048 + 4;
        memcpy(source + FROM_LIST + 4 * i, &from, 4);
        memcpy(sink + TO_LIST + 4 * i, &to, 4);
    }
    return 0;
}

static dnet_ep_layout_t blocks(uint32_t offset, uint32_t bytes, uint32_t step, uint32_t count)
{
    return (dnet_ep_layout_t){DNET_LAYOUT_BLOCKS, offset, bytes, step, count};
}

static dnet_ep_layout_t list(uint32_t offset, uint32_t bytes, uint32_t at, uint32_t count)
{
    return (dnet_ep_layout_t){DNET_LAYOUT_LIST, offset, bytes, at, count};
}

static void test_layout_blocks_of_one_size_are_one_run(void **state)
{
    (void) state;
    dnet_ep_layout_t a = blocks(16, 24, 64, 100), b = blocks(400, 24, 40, 100);
    assert_int_equal(pair(&a, &b, 2400, 4), 1);
    assert_int_equal(pair(&a, &b, 2400, 24), 1);
    assert_int_equal(pair(&a, &b, 2400, 25), 0);
}

static void test_layout_one_block_takes_the_other_sides_size(void **state)
{
    (void) state;
    dnet_ep_layout_t one = dnet_layout_contiguous(8, 2400), many = blocks(400, 24, 40, 100);
    assert_int_equal(pair(&one, &many, 2400, 4), 1);
    assert_int_equal(pair(&many, &one, 2400, 4), 1);
    assert_int_equal(pair(&one, &one, 2400, 4), 0);
    /* The receive is longer than the message; the message ends inside a block. */
    dnet_ep_layout_t shorter = dnet_layout_contiguous(8, 2388);
    assert_int_equal(pair(&shorter, &many, 2388, 4), 0);
    dnet_ep_layout_t whole = dnet_layout_contiguous(8, 2376);
    assert_int_equal(pair(&whole, &many, 2376, 4), 1);
}

static void test_layout_blocks_of_two_sizes_are_the_pieces_of_a_period(void **state)
{
    (void) state;
    dnet_ep_layout_t a = blocks(0, 32, 48, 120), b = blocks(64, 8, 12, 480);
    assert_int_equal(pair(&a, &b, 3840, 4), 4);
    assert_int_equal(pair(&b, &a, 3840, 4), 4);
    dnet_ep_layout_t c = blocks(4, 24, 100, 160); /* period 96: 24, 8 | 16, 16 | 8, 24 */
    assert_int_equal(pair(&a, &c, 3840, 4), 6);
    assert_int_equal(pair(&a, &c, 3840, 8), 6);
    assert_int_equal(pair(&a, &c, 3840, 12), 0);
    /* The last period is not whole, and ends with a piece. */
    dnet_ep_layout_t part = blocks(0, 32, 48, 121), longer = blocks(4, 24, 100, 200);
    assert_int_equal(pair(&part, &longer, 3872, 4), 6);
    dnet_ep_layout_t even = blocks(0, 32, 48, 3), odd = blocks(4, 24, 100, 4);
    assert_int_equal(pair(&even, &odd, 96, 4), 6);
}

static void test_layout_too_many_pieces_give_no_runs(void **state)
{
    (void) state;
    dnet_ep_layout_t a = blocks(0, 1000, 1004, 100), b = blocks(0, 1004, 1012, 100);
    assert_int_equal(pair(&a, &b, 100000, 4), 0);
}

static void test_layout_steps_may_go_backwards(void **state)
{
    (void) state;
    dnet_ep_layout_t a = blocks(100 * 64, 24, (uint32_t) -64, 100), b = blocks(400, 24, 40, 100);
    assert_int_equal(pair(&a, &b, 2400, 4), 1);
    assert_int_equal(pair(&b, &a, 2400, 4), 1);
}

static void test_layout_lists_pair_with_blocks_of_their_size(void **state)
{
    (void) state;
    dnet_ep_layout_t a = list(8, 512, FROM_LIST, 64), b = list(16, 512, TO_LIST, 64);
    dnet_ep_layout_t v = blocks(4, 512, 600, 64), w = blocks(4, 256, 600, 128);
    dnet_ep_layout_t one = dnet_layout_contiguous(20, 512 * 64);
    assert_int_equal(pair(&a, &b, 512 * 64, 4), 1);
    assert_int_equal(pair(&a, &v, 512 * 64, 4), 1);
    assert_int_equal(pair(&v, &b, 512 * 64, 4), 1);
    assert_int_equal(pair(&one, &b, 512 * 64, 4), 1);
    assert_int_equal(pair(&a, &one, 512 * 64, 4), 1);
    assert_int_equal(pair(&a, &w, 512 * 64, 4), 0);
    assert_int_equal(pair(&one, &b, 512 * 60, 4), 1);
    assert_int_equal(pair(&one, &b, 512 * 60 + 4, 4), 0);
}

static void test_layout_bytes_the_nic_is_not_made_for_give_no_runs(void **state)
{
    (void) state;
    dnet_ep_layout_t good = blocks(0, 24, 40, 100);
    dnet_ep_layout_t bad[] = {blocks(2, 24, 40, 100), blocks(0, 24, 42, 100),
                              blocks(0, 6, 40, 400)};
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(pair(&bad[i], &good, 2400, 4), 0);
        assert_int_equal(pair(&good, &bad[i], 2400, 4), 0);
    }
    dnet_ep_layout_t none = {.kind = DNET_LAYOUT_NONE};
    assert_int_equal(pair(&none, &good, 2400, 4), 0);
    assert_int_equal(pair(&good, &none, 2400, 4), 0);
    assert_int_equal(pair(&good, &good, 0, 4), 0);
}

static void test_layout_sound_is_what_has_the_messages_length(void **state)
{
    (void) state;
    dnet_ep_layout_t l = blocks(0, 24, 40, 100);
    assert_true(dnet_layout_is_sound(&l, 2400));
    assert_false(dnet_layout_is_sound(&l, 2399));
    l.kind = 3;
    assert_false(dnet_layout_is_sound(&l, 2400));
    l = blocks(0, 0, 40, 100);
    assert_false(dnet_layout_is_sound(&l, 0));
    l = blocks(0, 1u << 31, 0, 1u << 31); /* more than 64 bits of 32 */
    assert_false(dnet_layout_is_sound(&l, 0));
}

static void test_layout_pack_puts_blocks_one_behind_the_other(void **state)
{
    (void) state;
    dnet_ep_layout_t layouts[] = {blocks(16, 24, 64, 100), list(8, 24, FROM_LIST, 64),
                                  blocks(6400, 24, (uint32_t) -64, 100)};
    uint8_t out[1600];
    for (unsigned k = 0; k < 3; k++) {
        memset(out, 0xaa, sizeof(out));
        dnet_layout_pack(source, &layouts[k], out, 1500);
        for (size_t i = 0; i < 1500; i++)
            assert_int_equal(out[i], source[place(source, &layouts[k], i)]);
        assert_int_equal(out[1500], 0xaa);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_layout_blocks_of_one_size_are_one_run, fill),
        cmocka_unit_test_setup(test_layout_one_block_takes_the_other_sides_size, fill),
        cmocka_unit_test_setup(test_layout_blocks_of_two_sizes_are_the_pieces_of_a_period, fill),
        cmocka_unit_test_setup(test_layout_too_many_pieces_give_no_runs, fill),
        cmocka_unit_test_setup(test_layout_steps_may_go_backwards, fill),
        cmocka_unit_test_setup(test_layout_lists_pair_with_blocks_of_their_size, fill),
        cmocka_unit_test_setup(test_layout_bytes_the_nic_is_not_made_for_give_no_runs, fill),
        cmocka_unit_test_setup(test_layout_sound_is_what_has_the_messages_length, fill),
        cmocka_unit_test_setup(test_layout_pack_puts_blocks_one_behind_the_other, fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
