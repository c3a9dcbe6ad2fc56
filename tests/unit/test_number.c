/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Numbers that people write: the whole word, in range, and nothing that only begins as one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/number.h"

static void assert_number(const char *text, uint64_t wanted)
{
    uint64_t value = ~wanted;
    assert_true(dnet_number(text, 0, UINT64_MAX, &value));
    assert_int_equal(value, wanted);
}

static void test_number_whole_word_is_taken(void **state)
{
    (void) state;
    assert_number("0", 0);
    assert_number("42", 42);
    assert_number("010", 10); /* decimal, not octal */
    assert_number("0xff", 255);
    assert_number("18446744073709551615", UINT64_MAX);
}

static void test_number_junk_is_refused(void **state)
{
    static const char *const junk[] = {
        "",    " 1",  "1 ", "+1",   "-1",   "1junk", "x",     "0x",
        "0xg", "1e3", "ff", "0x 1", "0x-1", "1.5",   "0x0x1", "18446744073709551616"};
    (void) state;
    for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++) {
        uint64_t value = 77;
        if (dnet_number(junk[i], 0, UINT64_MAX, &value))
            fail_msg("'%s' is taken as %llu", junk[i], (unsigned long long) value);
        assert_int_equal(value, 77);
    }
}

static void test_number_outside_its_range_is_refused(void **state)
{
    uint64_t value;
    (void) state;
    assert_true(dnet_number("3", 3, 5, &value));
    assert_true(dnet_number("5", 3, 5, &value));
    assert_false(dnet_number("2", 3, 5, &value));
    assert_false(dnet_number("6", 3, 5, &value));
}

static void test_fraction_whole_word_in_range_is_taken(void **state)
{
    static const char *const junk[] = {"", " 1", "-1", "nan", "inf", "0x10", "1x", "1e", "2.5"};
    double value;
    (void) state;
    assert_true(dnet_fraction("0.25", 0, 2, &value));
    assert_true(value == 0.25);
    assert_true(dnet_fraction("1e-3", 0, 2, &value));
    assert_true(value == 1e-3);
    for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++)
        if (dnet_fraction(junk[i], 0, 2, &value))
            fail_msg("'%s' is taken as %g", junk[i], value);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_number_whole_word_is_taken),
        cmocka_unit_test(test_number_junk_is_refused),
        cmocka_unit_test(test_number_outside_its_range_is_refused),
        cmocka_unit_test(test_fraction_whole_word_in_range_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
