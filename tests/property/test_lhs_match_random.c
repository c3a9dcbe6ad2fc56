/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/lhs_match against lhs_reference: both are given the same random calls and must give the same
 * answers.
 *
 * DNET_TEST_SEED repeats a run, DNET_TEST_CALLS sets the number of calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lhs_both.h"
#include "seed.h"

#define CALLS_DEFAULT 12000000u
#define EPISODE 20000u /* calls between two changes of the mix */

static unsigned choose(void *arg, unsigned n)
{
    return dnet_random_below(arg, n);
}

static void test_lhs_match_random_calls_agree_with_reference(void **state)
{
    (void) state;
    static lhs_both_t both;
    const char *text = getenv("DNET_TEST_CALLS");
    uint64_t calls = text != NULL ? strtoull(text, NULL, 0) : CALLS_DEFAULT;
    dnet_random_t random = {dnet_test_seed("lhs_match_random")};
    lhs_both_init(&both, choose, &random);
    for (uint64_t i = 0; i < calls; i++) {
        if (i % EPISODE == 0)
            lhs_both_mix(&both);
        if (!lhs_both_step(&both))
            fail_msg("call %" PRIu64 " has different answers", i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lhs_match_random_calls_agree_with_reference),
    };
    return cmocka_run_group_tests_name("lhs_match_random", tests, NULL, NULL);
}
