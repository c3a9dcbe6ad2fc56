/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/lhs_match: one test per behaviour.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lhs_match/lhs_match.h"

#define VALID_BITS (DNET_MASK(LH_VALID) | DNET_MASK(LH_COMPLETE))

static uint64_t envelope(unsigned context, unsigned rank, unsigned tag)
{
    return DNET_PUT(context, LH_CONTEXT) | DNET_PUT(rank, LH_RANK) | DNET_PUT(tag, LH_TAG);
}

static void post(dnet_match_t *m, dnet_match_item_t *item, uint64_t wanted, uint64_t mask)
{
    item->envelope = wanted;
    item->mask = mask;
    dnet_match_post(m, item);
}

static void keep(dnet_match_t *m, dnet_match_item_t *item, uint64_t message)
{
    item->envelope = message;
    dnet_match_keep(m, item);
}

static int setup(void **state)
{
    static dnet_match_t m;
    dnet_match_init(&m);
    *state = &m;
    return 0;
}

static void test_lhs_match_empty_nothing_found(void **state)
{
    dnet_match_t *m = *state;
    assert_null(dnet_match_arrive(m, envelope(1, 2, 3)));
    assert_null(dnet_match_take(m, envelope(1, 2, 3), DNET_MATCH_BITS));
    assert_null(dnet_match_peek(m, envelope(1, 0, 0), DNET_MATCH_ANY_SOURCE & DNET_MATCH_ANY_TAG));
}

static void test_lhs_match_dropped_message_not_found(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t first, second;
    keep(m, &first, envelope(1, 2, 3));
    keep(m, &second, envelope(1, 2, 3));
    dnet_match_drop(m, &first);
    assert_int_equal(m->unexpected_count, 1);
    assert_ptr_equal(dnet_match_take(m, envelope(1, 2, 3), DNET_MATCH_ANY_TAG), &second);
    assert_null(dnet_match_take(m, envelope(1, 2, 3), DNET_MATCH_BITS));
}

static void test_lhs_match_arrive_takes_receive_once(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t receive;
    post(m, &receive, envelope(1, 2, 3), DNET_MATCH_BITS);
    assert_int_equal(m->posted_count, 1);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &receive);
    assert_int_equal(m->posted_count, 0);
    assert_null(dnet_match_arrive(m, envelope(1, 2, 3)));
}

static void test_lhs_match_flag_bits_ignored(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t receive, message;
    post(m, &receive, envelope(1, 2, 3), ~0ull);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3) | VALID_BITS), &receive);
    keep(m, &message, envelope(1, 2, 3) | VALID_BITS);
    assert_ptr_equal(dnet_match_take(m, envelope(1, 2, 3), ~0ull), &message);
}

static void test_lhs_match_each_field_differs_no_match(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t receive, message;
    post(m, &receive, envelope(1, 2, 3), DNET_MATCH_BITS);
    keep(m, &message, envelope(1, 2, 3));
    const uint64_t others[] = {envelope(2, 2, 3),      envelope(1, 3, 3),
                               envelope(1, 2, 4),      envelope(0x8001, 2, 3),
                               envelope(1, 0x2002, 3), envelope(1, 2, 0x80000003u)};
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_null(dnet_match_arrive(m, others[i]));
        assert_null(dnet_match_take(m, others[i], DNET_MATCH_BITS));
    }
}

static void test_lhs_match_field_limits_match(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t receive;
    const uint64_t limits[] = {envelope(0, 0, 0), envelope(0xffff, 0x3fff, 0xffffffffu)};
    for (unsigned i = 0; i < 2; i++) {
        post(m, &receive, limits[i], DNET_MATCH_BITS);
        assert_null(dnet_match_arrive(m, limits[1 - i]));
        assert_ptr_equal(dnet_match_arrive(m, limits[i]), &receive);
    }
}

static void test_lhs_match_same_receive_twice_first_posted_first(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t first, second;
    post(m, &first, envelope(1, 2, 3), DNET_MATCH_BITS);
    post(m, &second, envelope(1, 2, 3), DNET_MATCH_BITS);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &first);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &second);
}

static void test_lhs_match_any_source_posted_first_wins_over_exact(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t any, exact;
    post(m, &any, envelope(1, 0, 3), DNET_MATCH_ANY_SOURCE);
    post(m, &exact, envelope(1, 2, 3), DNET_MATCH_BITS);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &any);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &exact);
}

static void test_lhs_match_exact_posted_first_wins_over_any_source(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t any, exact;
    post(m, &exact, envelope(1, 2, 3), DNET_MATCH_BITS);
    post(m, &any, envelope(1, 0, 3), DNET_MATCH_ANY_SOURCE);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &exact);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &any);
}

static void test_lhs_match_any_source_other_context_no_match(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t any;
    post(m, &any, envelope(1, 0, 0), DNET_MATCH_ANY_SOURCE & DNET_MATCH_ANY_TAG);
    assert_null(dnet_match_arrive(m, envelope(2, 7, 7)));
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 7, 7)), &any);
}

static void test_lhs_match_any_tag_takes_every_tag_of_one_source(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t receive;
    post(m, &receive, envelope(1, 2, 0), DNET_MATCH_ANY_TAG);
    assert_null(dnet_match_arrive(m, envelope(1, 3, 9)));
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 9)), &receive);
}

static void test_lhs_match_partial_tag_mask_compares_these_bits(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t receive;
    post(m, &receive, envelope(1, 2, 0x10), DNET_MATCH_BITS & ~(uint64_t) 0xf);
    assert_null(dnet_match_arrive(m, envelope(1, 2, 0x20)));
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 0x1b)), &receive);
}

static void test_lhs_match_take_first_arrived_first(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t first, second;
    keep(m, &first, envelope(1, 2, 3));
    keep(m, &second, envelope(1, 2, 3));
    assert_int_equal(m->unexpected_count, 2);
    assert_ptr_equal(dnet_match_take(m, envelope(1, 2, 3), DNET_MATCH_BITS), &first);
    assert_ptr_equal(dnet_match_take(m, envelope(1, 2, 3), DNET_MATCH_BITS), &second);
    assert_int_equal(m->unexpected_count, 0);
    assert_null(dnet_match_take(m, envelope(1, 2, 3), DNET_MATCH_BITS));
}

static void test_lhs_match_take_any_source_earliest_of_all_sources(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t messages[200];
    /* Descending ranks: the order of bins is not the order of arrival. */
    for (unsigned i = 0; i < 200; i++)
        keep(m, &messages[i], envelope(1, 199 - i, i % 2));
    const uint64_t mask = DNET_MATCH_ANY_SOURCE;
    for (unsigned i = 1; i < 200; i += 2)
        assert_ptr_equal(dnet_match_take(m, envelope(1, 0, 1), mask), &messages[i]);
    for (unsigned i = 0; i < 200; i += 2)
        assert_ptr_equal(dnet_match_take(m, envelope(1, 0, 5), mask & DNET_MATCH_ANY_TAG),
                         &messages[i]);
    assert_int_equal(m->unexpected_count, 0);
}

static void test_lhs_match_take_by_source_gone_from_any_source(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t first, second;
    keep(m, &first, envelope(1, 2, 3));
    keep(m, &second, envelope(1, 4, 3));
    assert_ptr_equal(dnet_match_take(m, envelope(1, 2, 3), DNET_MATCH_BITS), &first);
    assert_ptr_equal(dnet_match_take(m, envelope(1, 0, 3), DNET_MATCH_ANY_SOURCE), &second);
    assert_null(dnet_match_take(m, envelope(1, 4, 3), DNET_MATCH_BITS));
}

static void test_lhs_match_peek_leaves_message(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t message;
    keep(m, &message, envelope(1, 2, 3));
    assert_ptr_equal(dnet_match_peek(m, envelope(1, 2, 3), DNET_MATCH_BITS), &message);
    assert_ptr_equal(dnet_match_peek(m, envelope(1, 0, 3), DNET_MATCH_ANY_SOURCE), &message);
    assert_int_equal(m->unexpected_count, 1);
    assert_ptr_equal(dnet_match_take(m, envelope(1, 2, 3), DNET_MATCH_BITS), &message);
}

static void test_lhs_match_withdraw_next_receive_takes_over(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t exact[3], any;
    for (unsigned i = 0; i < 3; i++)
        post(m, &exact[i], envelope(1, 2, 3), DNET_MATCH_BITS);
    post(m, &any, envelope(1, 0, 3), DNET_MATCH_ANY_SOURCE);
    dnet_match_withdraw(m, &exact[1]);
    dnet_match_withdraw(m, &exact[0]);
    assert_int_equal(m->posted_count, 2);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &exact[2]);
    dnet_match_withdraw(m, &any);
    assert_null(dnet_match_arrive(m, envelope(1, 2, 3)));
    assert_int_equal(m->posted_count, 0);
}

static void test_lhs_match_withdrawn_receive_posted_again_goes_last(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t first, second;
    post(m, &first, envelope(1, 2, 3), DNET_MATCH_BITS);
    post(m, &second, envelope(1, 0, 3), DNET_MATCH_ANY_SOURCE);
    dnet_match_withdraw(m, &first);
    dnet_match_post(m, &first);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &second);
    assert_ptr_equal(dnet_match_arrive(m, envelope(1, 2, 3)), &first);
}

struct seen {
    unsigned posted, unexpected;
    uint64_t sum;
};

static void count(void *arg, const dnet_match_item_t *item, bool posted)
{
    struct seen *seen = arg;
    if (posted)
        seen->posted++;
    else
        seen->unexpected++;
    seen->sum += DNET_GET(item->envelope, LH_TAG);
}

static void test_lhs_match_walk_visits_each_once(void **state)
{
    dnet_match_t *m = *state;
    dnet_match_item_t receives[100], messages[50];
    for (unsigned i = 0; i < 100; i++)
        post(m, &receives[i], envelope(1, i, i),
             i % 3 != 0 ? DNET_MATCH_BITS : DNET_MATCH_ANY_SOURCE);
    for (unsigned i = 0; i < 50; i++)
        keep(m, &messages[i], envelope(2, i, 1000 + i));
    struct seen seen = {0};
    dnet_match_walk(m, count, &seen);
    assert_int_equal(seen.posted, 100);
    assert_int_equal(seen.unexpected, 50);
    assert_int_equal(seen.sum, 99 * 100 / 2 + 50 * 1000 + 49 * 50 / 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        TEST(test_lhs_match_empty_nothing_found),
        TEST(test_lhs_match_dropped_message_not_found),
        TEST(test_lhs_match_arrive_takes_receive_once),
        TEST(test_lhs_match_flag_bits_ignored),
        TEST(test_lhs_match_each_field_differs_no_match),
        TEST(test_lhs_match_field_limits_match),
        TEST(test_lhs_match_same_receive_twice_first_posted_first),
        TEST(test_lhs_match_any_source_posted_first_wins_over_exact),
        TEST(test_lhs_match_exact_posted_first_wins_over_any_source),
        TEST(test_lhs_match_any_source_other_context_no_match),
        TEST(test_lhs_match_any_tag_takes_every_tag_of_one_source),
        TEST(test_lhs_match_partial_tag_mask_compares_these_bits),
        TEST(test_lhs_match_take_first_arrived_first),
        TEST(test_lhs_match_take_any_source_earliest_of_all_sources),
        TEST(test_lhs_match_take_by_source_gone_from_any_source),
        TEST(test_lhs_match_peek_leaves_message),
        TEST(test_lhs_match_withdraw_next_receive_takes_over),
        TEST(test_lhs_match_withdrawn_receive_posted_again_goes_last),
        TEST(test_lhs_match_walk_visits_each_once),
    };
    return cmocka_run_group_tests_name("lhs_match", tests, NULL, NULL);
}
