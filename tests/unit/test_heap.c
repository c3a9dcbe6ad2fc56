/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bookkeeping of SO-DIMM memory: parts never overlap, holes join, what is given back can be
 * taken.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "driver/heap.h"

#define BASE 0x10000u
#define BYTES 4096u

static uint64_t take(dnet_heap_t *heap, uint64_t bytes)
{
    uint64_t offset = 0;
    assert_int_equal(dnet_heap_take(heap, bytes, &offset), DNET_OK);
    assert_int_equal(offset % DNET_HEAP_ALIGN, 0);
    return offset;
}

static dnet_heap_range_t give(dnet_heap_t *heap, uint64_t offset)
{
    dnet_heap_range_t part, hole;
    assert_int_equal(dnet_heap_give(heap, offset, &part, &hole), DNET_OK);
    assert_int_equal(part.offset, offset);
    return hole;
}

static void test_heap_take_uses_the_first_hole_that_fits(void **state)
{
    (void) state;
    dnet_heap_t heap;
    uint64_t none;
    dnet_heap_init(&heap, BASE, BYTES);
    uint64_t a = take(&heap, 100), b = take(&heap, 0), c = take(&heap, 64);
    assert_int_equal(a, BASE);
    assert_int_equal(b, BASE + 128);
    assert_int_equal(c, BASE + 192);
    give(&heap, a);
    assert_int_equal(take(&heap, 129), BASE + 256); /* does not fit into 128 */
    assert_int_equal(take(&heap, 128), BASE);
    assert_int_equal(dnet_heap_take(&heap, BYTES, &none), DNET_ERR_LIMIT);
    assert_int_equal(dnet_heap_take(&heap, UINT64_MAX, &none), DNET_ERR_LIMIT);
    assert_int_equal(heap.taken_bytes, 128 + 64 + 64 + 192);
    dnet_heap_fini(&heap);
}

static void test_heap_give_joins_holes_on_both_sides(void **state)
{
    (void) state;
    dnet_heap_t heap;
    dnet_heap_init(&heap, BASE, BYTES);
    uint64_t a = take(&heap, 64), b = take(&heap, 64), c = take(&heap, 64), d = take(&heap, 64);
    dnet_heap_range_t hole = give(&heap, a);
    assert_int_equal(hole.bytes, 64);
    hole = give(&heap, c);
    assert_int_equal(hole.offset, c);
    assert_int_equal(hole.bytes, 64);
    hole = give(&heap, b);
    assert_int_equal(hole.offset, a);
    assert_int_equal(hole.bytes, 192);
    hole = give(&heap, d);
    assert_int_equal(hole.offset, BASE);
    assert_int_equal(hole.bytes, BYTES);
    assert_int_equal(heap.taken_bytes, 0);
    assert_int_equal(take(&heap, BYTES), BASE);
    dnet_heap_fini(&heap);
}

static void test_heap_give_of_what_is_not_taken_is_refused(void **state)
{
    (void) state;
    dnet_heap_t heap;
    dnet_heap_range_t part, hole;
    dnet_heap_init(&heap, BASE, BYTES);
    assert_int_equal(dnet_heap_give(&heap, BASE, &part, &hole), DNET_ERR_ARGUMENT);
    uint64_t a = take(&heap, 256);
    assert_int_equal(dnet_heap_give(&heap, a + 64, &part, &hole), DNET_ERR_ARGUMENT);
    assert_int_equal(dnet_heap_give(&heap, a + 256, &part, &hole), DNET_ERR_ARGUMENT);
    give(&heap, a);
    assert_int_equal(dnet_heap_give(&heap, a, &part, &hole), DNET_ERR_ARGUMENT);
    dnet_heap_fini(&heap);
}

static void test_heap_of_no_bytes_gives_none(void **state)
{
    (void) state;
    dnet_heap_t heap;
    uint64_t offset;
    dnet_heap_init(&heap, BASE, 0);
    assert_int_equal(dnet_heap_take(&heap, 0, &offset), DNET_ERR_LIMIT);
    assert_int_equal(dnet_heap_take(&heap, 1, &offset), DNET_ERR_LIMIT);
    dnet_heap_fini(&heap);
}

/* Against a map of every 64 bytes. */
static void test_heap_random_parts_never_overlap(void **state)
{
    (void) state;
    enum { UNITS = 256, PARTS = 64 };
    static uint8_t owner[UNITS];
    uint64_t at[PARTS] = {0}, units[PARTS] = {0};
    uint32_t seed = 12345;
    dnet_heap_t heap;
    dnet_heap_init(&heap, 0, UNITS * DNET_HEAP_ALIGN);
    for (unsigned step = 0; step < 20000; step++) {
        seed = seed * 1664525u + 1013904223u;
        unsigned p = (seed >> 8) % PARTS;
        if (units[p]) {
            give(&heap, at[p]);
            memset(owner + at[p] / DNET_HEAP_ALIGN, 0, units[p]);
            units[p] = 0;
            continue;
        }
        uint64_t want = 1 + (seed >> 16) % 12, offset;
        if (dnet_heap_take(&heap, want * DNET_HEAP_ALIGN - 3, &offset) != DNET_OK) {
            for (unsigned u = 0, run = 0; u < UNITS; u++) {
                run = owner[u] ? 0 : run + 1;
                assert_true(run < want);
            }
            continue;
        }
        at[p] = offset;
        units[p] = want;
        for (uint64_t u = 0; u < want; u++) {
            assert_int_equal(owner[offset / DNET_HEAP_ALIGN + u], 0);
            owner[offset / DNET_HEAP_ALIGN + u] = 1;
        }
    }
    dnet_heap_fini(&heap);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heap_take_uses_the_first_hole_that_fits),
        cmocka_unit_test(test_heap_give_joins_holes_on_both_sides),
        cmocka_unit_test(test_heap_give_of_what_is_not_taken_is_refused),
        cmocka_unit_test(test_heap_of_no_bytes_gives_none),
        cmocka_unit_test(test_heap_random_parts_never_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
