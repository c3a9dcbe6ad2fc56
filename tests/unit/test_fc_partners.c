/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/srq_flowctl/partners.c: who gets a ring of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "srq_flowctl/partners.h"

static dnet_fc_partners_t p;
static dnet_fc_ring_change_t change;

static unsigned sample(uint32_t sender, unsigned times)
{
    unsigned changes = 0;
    while (times--)
        changes += dnet_fc_partners_sample(&p, sender, &change);
    return changes;
}

static void test_fc_partners_one_ring_is_shared(void **state)
{
    (void) state;
    dnet_fc_partners_init(&p, 1);
    assert_int_equal(sample(3, 1000), 0);
    assert_int_equal(dnet_fc_partners_ring(&p, 3), 0);
}

static void test_fc_partners_frequent_one_gets_a_free_ring_once(void **state)
{
    (void) state;
    dnet_fc_partners_init(&p, 4);
    assert_int_equal(sample(3, 1), 0); /* a passer-by does not */
    assert_int_equal(sample(3, 100), 1);
    assert_int_equal(change.before, DNET_FC_NO_SENDER);
    assert_int_equal(dnet_fc_partners_ring(&p, 3), change.ring);
    assert_true(change.ring >= 1 && change.ring < 4);
}

static void test_fc_partners_each_ring_has_one_owner(void **state)
{
    (void) state;
    dnet_fc_partners_init(&p, 8);
    uint32_t x = 12345;
    for (unsigned i = 0; i < 100000; i++) {
        x = x * 1664525u + 1013904223u;
        uint32_t sender = (x >> 16) % 100 * ((x >> 24) % 3);
        uint32_t had = dnet_fc_partners_ring(&p, sender);
        if (sample(sender, 1)) {
            assert_int_equal(had, 0);
            if (change.before != DNET_FC_NO_SENDER)
                assert_int_equal(dnet_fc_partners_ring(&p, change.before), 0);
        }
        unsigned owners[DNET_FC_RINGS_MAX] = {0};
        for (uint32_t s = 0; s < 200; s++)
            owners[dnet_fc_partners_ring(&p, s)]++;
        for (uint32_t r = 1; r < DNET_FC_RINGS_MAX; r++)
            assert_true(owners[r] <= (r < 8));
    }
}

/* Equals keep what they have: a ring does not go to and fro. */
static void test_fc_partners_equals_do_not_trade(void **state)
{
    (void) state;
    dnet_fc_partners_init(&p, 2);
    sample(1, 50);
    unsigned changes = 0;
    for (unsigned i = 0; i < 10000; i++)
        changes += sample(1, 1) + sample(2, 1);
    assert_int_equal(changes, 0);
}

static void test_fc_partners_new_friend_succeeds_the_old_one(void **state)
{
    (void) state;
    dnet_fc_partners_init(&p, 2);
    sample(1, 5000);
    assert_int_equal(sample(2, 2000), 1);
    assert_int_equal(change.before, 1);
    assert_int_equal(dnet_fc_partners_ring(&p, 2), 1);
}

/* However many passers-by there are, one sender with a tenth of the traffic is found. */
static void test_fc_partners_frequent_one_among_thousands(void **state)
{
    (void) state;
    dnet_fc_partners_init(&p, 16);
    for (uint32_t i = 0; i < 20000; i++)
        sample(i % 10 == 0 ? 7 : 1000 + i, 1);
    assert_int_not_equal(dnet_fc_partners_ring(&p, 7), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fc_partners_one_ring_is_shared),
        cmocka_unit_test(test_fc_partners_frequent_one_gets_a_free_ring_once),
        cmocka_unit_test(test_fc_partners_each_ring_has_one_owner),
        cmocka_unit_test(test_fc_partners_equals_do_not_trade),
        cmocka_unit_test(test_fc_partners_new_friend_succeeds_the_old_one),
        cmocka_unit_test(test_fc_partners_frequent_one_among_thousands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
