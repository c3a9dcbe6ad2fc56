/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The faster of two ways: found by trials, kept while it is, left when it is not; how often the
 * other one is tried.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collective/choice.h"

enum { BYTES = 256 << 10, FAST_NS = 20000, SLOW_NS = 30000, LATE_NS = 900000 };

/* So many calls, of which either way takes so long.  @return those by the second */
static unsigned call(dnet_choice_t *c, unsigned times, uint64_t first_ns, uint64_t second_ns)
{
    unsigned second = 0;

    for (unsigned i = 0; i < times; i++) {
        bool way = dnet_choice_next(c);
        second += way;
        dnet_choice_took(c, BYTES, way ? second_ns : first_ns);
    }
    return second;
}

static void test_each_way_is_tried_first(void **state)
{
    dnet_choice_t c = {0};

    (void) state;
    assert_int_equal(call(&c, DNET_CHOICE_CALLS, FAST_NS, SLOW_NS), 0);
    assert_int_equal(call(&c, DNET_CHOICE_CALLS, FAST_NS, SLOW_NS), DNET_CHOICE_CALLS);
    assert_int_equal(call(&c, DNET_CHOICE_PAUSE, FAST_NS, SLOW_NS), 0);
}

static void test_the_faster_way_is_gone_and_the_other_tried_less_and_less(void **state)
{
    dnet_choice_t c = {0};

    (void) state;
    (void) call(&c, 2 * DNET_CHOICE_CALLS, SLOW_NS, FAST_NS);
    for (unsigned pause = DNET_CHOICE_PAUSE; pause <= DNET_CHOICE_PAUSE_MOST; pause *= 2) {
        assert_int_equal(call(&c, pause, SLOW_NS, FAST_NS), pause);
        assert_int_equal(call(&c, DNET_CHOICE_CALLS, SLOW_NS, FAST_NS), 0);
    }
    assert_int_equal(call(&c, DNET_CHOICE_PAUSE_MOST, SLOW_NS, FAST_NS), DNET_CHOICE_PAUSE_MOST);
    assert_int_equal(call(&c, DNET_CHOICE_CALLS, SLOW_NS, FAST_NS), 0);
}

static void test_a_way_that_has_become_slow_is_left(void **state)
{
    dnet_choice_t c = {0};

    (void) state;
    (void) call(&c, 2 * DNET_CHOICE_CALLS, FAST_NS, SLOW_NS);
    assert_int_equal(call(&c, DNET_CHOICE_PAUSE, SLOW_NS, FAST_NS), 0);
    assert_int_equal(call(&c, DNET_CHOICE_CALLS, SLOW_NS, FAST_NS), DNET_CHOICE_CALLS);
    assert_int_equal(call(&c, DNET_CHOICE_PAUSE, SLOW_NS, FAST_NS), DNET_CHOICE_PAUSE);
}

/* The first of a trial finds nothing in the caches, and any may have been interrupted. */
static void test_slow_calls_of_a_trial_do_not_count_beside_a_fast_one(void **state)
{
    dnet_choice_t c = {0};

    (void) state;
    (void) call(&c, DNET_CHOICE_CALLS, SLOW_NS, FAST_NS);
    (void) call(&c, 1, SLOW_NS, FAST_NS / 2);
    (void) call(&c, DNET_CHOICE_CALLS - 2, SLOW_NS, LATE_NS);
    (void) call(&c, 1, SLOW_NS, LATE_NS);
    assert_int_equal(call(&c, DNET_CHOICE_PAUSE, SLOW_NS, FAST_NS), 0);
    (void) call(&c, DNET_CHOICE_CALLS - 1, SLOW_NS, LATE_NS);
    (void) call(&c, 1, SLOW_NS, FAST_NS);
    assert_true(dnet_choice_next(&c));
}

/* Longer blocks take longer. */
static void test_times_count_by_the_byte(void **state)
{
    dnet_choice_t c = {0};

    (void) state;
    (void) call(&c, DNET_CHOICE_CALLS, FAST_NS, SLOW_NS);
    for (unsigned i = 0; i < DNET_CHOICE_CALLS; i++)
        dnet_choice_took(&c, 2 * BYTES, 2 * FAST_NS - 2000);
    assert_true(dnet_choice_next(&c));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_way_is_tried_first),
        cmocka_unit_test(test_the_faster_way_is_gone_and_the_other_tried_less_and_less),
        cmocka_unit_test(test_a_way_that_has_become_slow_is_left),
        cmocka_unit_test(test_slow_calls_of_a_trial_do_not_count_beside_a_fast_one),
        cmocka_unit_test(test_times_count_by_the_byte),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
