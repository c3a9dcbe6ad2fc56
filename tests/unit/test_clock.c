/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A clock that is read often: never later than the system's, and not much earlier.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"

#define LATE_NS UINT64_C(1000000)

static void test_clock_recent_follows(void **state)
{
    dnet_clock_t clock = {0};
    uint64_t last = 0;

    (void) state;
    for (unsigned i = 0; i < 20; i++) {
        uint64_t before = dnet_clock_ns();
        uint64_t recent = dnet_clock_recent_ns(&clock);

        assert_true(recent >= last && recent <= dnet_clock_ns());
        assert_true(before < LATE_NS || recent >= before - LATE_NS);
        last = recent;
        if (i % 2)
            usleep(2000);
    }
}

#ifdef __x86_64__
static void test_clock_recent_is_not_read_each_time(void **state)
{
    dnet_clock_t clock = {0};
    unsigned same = 0;

    (void) state;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t last = clock.ns;

        same += dnet_clock_recent_ns(&clock) == last;
    }
    assert_in_range(same, 500, 999);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clock_recent_follows),
#ifdef __x86_64__
        cmocka_unit_test(test_clock_recent_is_not_read_each_time),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
