/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/resource.h>

#include "common/descriptors.h"

static void test_descriptors_as_many_as_may_be(void **state)
{
    struct rlimit limit;
    (void) state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit = (struct rlimit){.rlim_cur = 20, .rlim_max = 50};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(dnet_descriptors_allow(10), 20); /* never fewer than there were */
    assert_int_equal(dnet_descriptors_allow(40), 40);
    assert_int_equal(dnet_descriptors_allow(60), 50);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(limit.rlim_cur, 50);
    assert_int_equal(limit.rlim_max, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descriptors_as_many_as_may_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
