/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/deferral, the receiver: every event in every state, and what is pulled for in which order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "deferral/defer_rx.h"

/* Facts.  WANTED: a receive waits that the sender is to be asked for; LATE: another PULL's number.
 */
enum { TABLE = 1, MORE = 2, WANTED = 4, LATE = 8 };

enum {
#define DNET_DEFER_RX_STATE(name, meaning) name,
#include "deferral/defer_rx.def"
#undef DNET_DEFER_RX_STATE
    STATES
};
enum {
#define DNET_DEFER_RX_EVENT(name, meaning) ON_##name,
#include "deferral/defer_rx.def"
#undef DNET_DEFER_RX_EVENT
    EVENTS
};
static const char *const event_names[] = {
#define DNET_DEFER_RX_EVENT(name, meaning) #name,
#include "deferral/defer_rx.def"
#undef DNET_DEFER_RX_EVENT
};
enum {
#define DNET_DEFER_RX_ACTION(name, meaning) DO_##name = DNET_DEFER_RX_DO_##name,
#include "deferral/defer_rx.def"
#undef DNET_DEFER_RX_ACTION
};
#define DO_ALL (DO_MATCH | DO_VERDICT)

typedef struct {
    int state, event, facts, next;
    unsigned actions;
} row_t;

static const row_t rows[] = {
    /* A sender that says it is held, and is not (any more), is released. */
    {OPEN, ON_FULL, TABLE, HELD, 0},
    {OPEN, ON_NOTED, TABLE, HELD, 0},
    {OPEN, ON_NOTED, 0, RELEASING, DO_RELEASE},
    {OPEN, ON_OFFER, TABLE, HELD, DO_ALL},
    {OPEN, ON_OFFER, 0, RELEASING, DO_RELEASE | DO_VERDICT},
    {OPEN, ON_OFFER_PULL, TABLE, HELD, DO_VERDICT},
    {OPEN, ON_OFFER_PULL, 0, RELEASING, DO_RELEASE | DO_VERDICT},
    {OPEN, ON_ANSWERED, 0, OPEN, 0},
    {OPEN, ON_PULL_NONE, 0, OPEN, 0},
    {OPEN, ON_POSTED, 0, OPEN, 0},
    {OPEN, ON_ROOM, 0, OPEN, 0},
    {OPEN, ON_DONE, 0, OPEN, 0},
    {OPEN, ON_RELEASE_ACK, 0, OPEN, 0},
    {HELD, ON_FULL, TABLE, HELD, 0},
    {HELD, ON_NOTED, TABLE, HELD, 0},
    {HELD, ON_OFFER, TABLE, HELD, DO_ALL},
    {HELD, ON_OFFER_PULL, TABLE, HELD, DO_VERDICT},
    {HELD, ON_ANSWERED, 0, HELD, 0},
    {HELD, ON_PULL_NONE, 0, HELD, 0},
    {HELD, ON_POSTED, WANTED, PULLING, DO_PULL},
    {HELD, ON_POSTED, 0, HELD, 0},
    {HELD, ON_ROOM, 0, GRANTED, DO_GRANT},
    {HELD, ON_DONE, 0, HELD, 0},
    {HELD, ON_RELEASE_ACK, 0, HELD, 0},
    /* Only the answer with the PULL's number is one. */
    {PULLING, ON_FULL, TABLE, PULLING, 0},
    {PULLING, ON_NOTED, TABLE, PULLING, 0},
    {PULLING, ON_OFFER, TABLE, PULLING, DO_ALL},
    {PULLING, ON_OFFER_PULL, TABLE | LATE, PULLING, DO_VERDICT},
    {PULLING, ON_OFFER_PULL, TABLE, PULLING, DO_ALL},
    {PULLING, ON_OFFER_PULL, TABLE | WANTED, PULLING, DO_ALL},
    {PULLING, ON_ANSWERED, 0, HELD, 0},
    {PULLING, ON_ANSWERED, WANTED, PULLING, DO_PULL},
    {PULLING, ON_PULL_NONE, LATE, PULLING, 0},
    {PULLING, ON_PULL_NONE, 0, HELD, 0},
    {PULLING, ON_PULL_NONE, WANTED, PULLING, DO_PULL},
    {PULLING, ON_POSTED, WANTED, PULLING, 0},
    {PULLING, ON_ROOM, 0, PULLING, 0},
    {PULLING, ON_DONE, 0, PULLING, 0},
    {PULLING, ON_RELEASE_ACK, 0, PULLING, 0},
    {GRANTED, ON_FULL, TABLE, GRANTED, 0},
    {GRANTED, ON_NOTED, TABLE, GRANTED, 0},
    {GRANTED, ON_OFFER, TABLE, GRANTED, DO_ALL},
    {GRANTED, ON_OFFER_PULL, TABLE, GRANTED, DO_VERDICT},
    {GRANTED, ON_ANSWERED, 0, GRANTED, 0},
    {GRANTED, ON_PULL_NONE, 0, GRANTED, 0},
    {GRANTED, ON_POSTED, WANTED, GRANTED, 0},
    {GRANTED, ON_ROOM, 0, GRANTED, 0},
    {GRANTED, ON_DONE, MORE, HELD, 0},
    {GRANTED, ON_DONE, MORE | WANTED, PULLING, DO_PULL},
    {GRANTED, ON_DONE, 0, RELEASING, DO_RELEASE},
    {GRANTED, ON_DONE, WANTED, RELEASING, DO_RELEASE},
    {GRANTED, ON_RELEASE_ACK, 0, GRANTED, 0},
    /* Nothing is taken and nothing asked for until the RELEASE has been heard. */
    {RELEASING, ON_FULL, TABLE, RELEASING, 0},
    {RELEASING, ON_NOTED, TABLE, RELEASING, 0},
    {RELEASING, ON_NOTED, 0, RELEASING, 0},
    {RELEASING, ON_OFFER, TABLE, RELEASING, DO_VERDICT},
    {RELEASING, ON_OFFER, 0, RELEASING, DO_VERDICT},
    {RELEASING, ON_OFFER_PULL, 0, RELEASING, DO_VERDICT},
    {RELEASING, ON_ANSWERED, 0, RELEASING, 0},
    {RELEASING, ON_PULL_NONE, 0, RELEASING, 0},
    {RELEASING, ON_POSTED, 0, RELEASING, 0},
    {RELEASING, ON_ROOM, TABLE, RELEASING, 0},
    {RELEASING, ON_DONE, 0, RELEASING, 0},
    {RELEASING, ON_RELEASE_ACK, 0, OPEN, DO_FORGET},
    {RELEASING, ON_RELEASE_ACK, TABLE, HELD, 0},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static dnet_defer_wanted_t wanted;
static dnet_match_item_t receive[4]; /* posted in this order; receive[3] is not for sender 7 */

static bool may_have(void *arg, uint32_t rank, const dnet_match_item_t *item)
{
    assert_ptr_equal(arg, &wanted);
    return rank != 7 || item != &receive[3];
}

static int setup(void **state)
{
    (void) state;
    dnet_defer_wanted_init(&wanted, may_have, &wanted);
    for (unsigned i = 0; i < 4; i++)
        receive[i] = (dnet_match_item_t){.order = 100 + i};
    return 0;
}

static unsigned feed(dnet_defer_rx_t *rx, int event, dnet_defer_rx_facts_t facts)
{
    return dnet_defer_rx_event(rx, &wanted, (dnet_defer_rx_event_t) event, &facts);
}

/* As the endpoint does: the receive joins what is wanted, and the sender's record is told. */
static unsigned post(dnet_defer_rx_t *rx, unsigned i)
{
    dnet_defer_wanted_add(&wanted, &receive[i]);
    return feed(rx, ON_POSTED, (dnet_defer_rx_facts_t){.receive = &receive[i]});
}

static void unpost(dnet_defer_rx_t *rx, unsigned i)
{
    dnet_defer_rx_unwant(rx, &wanted, &receive[i]);
    dnet_defer_wanted_remove(&receive[i]);
}

/* A sender that keeps declined messages and has no receive to be asked for. */
static dnet_defer_rx_t held(void)
{
    return (dnet_defer_rx_t){.state = HELD, .declined = true, .rank = 7};
}

static void check_row(const row_t *row)
{
    bool late = row->facts & LATE;
    dnet_defer_rx_t rx = held();
    rx.state = (uint8_t) row->state;
    rx.declined = row->state != OPEN && row->state != RELEASING;
    if (row->state == PULLING)
        rx.pull_id = 5;
    dnet_defer_wanted_add(&wanted, &receive[0]);
    if ((row->facts & WANTED) && row->event != ON_POSTED)
        rx.next = &receive[0];
    if (row->event == ON_POSTED && !(row->facts & WANTED))
        rx.declined = false;
    unsigned actions = feed(&rx, row->event,
                            (dnet_defer_rx_facts_t){.in_table = row->facts & TABLE,
                                                    .more = row->facts & MORE,
                                                    .id = late ? 4 : 5,
                                                    .bytes = 100,
                                                    .receive = &receive[0]});
    dnet_defer_wanted_remove(&receive[0]);
    if (rx.state == row->next && actions == row->actions)
        return;
    fail_msg("%s, %s with facts %d: %s, actions 0x%x; expected %s, 0x%x",
             dnet_defer_rx_state_name((dnet_defer_rx_state_t) row->state), event_names[row->event],
             row->facts, dnet_defer_rx_state_name((dnet_defer_rx_state_t) rx.state), actions,
             dnet_defer_rx_state_name((dnet_defer_rx_state_t) row->next), row->actions);
}

static void test_defer_rx_each_event_in_each_state(void **state)
{
    (void) state;
    for (const row_t *row = rows; row < rows + ROWS; row++)
        check_row(row);
}

static void test_defer_rx_no_pair_is_left_out(void **state)
{
    (void) state;
    bool seen[STATES][EVENTS] = {{false}};
    for (const row_t *row = rows; row < rows + ROWS; row++)
        seen[row->state][row->event] = true;
    for (int s = 0; s < STATES; s++)
        for (int e = 0; e < EVENTS; e++)
            if (!seen[s][e])
                fail_msg("no row for %s, %s", dnet_defer_rx_state_name((dnet_defer_rx_state_t) s),
                         event_names[e]);
}

static void test_defer_rx_actions_are_in_the_order_of_the_wire(void **state)
{
    (void) state;
    assert_true(DO_RELEASE < DO_VERDICT);
    assert_true(DO_MATCH < DO_VERDICT);
    assert_true(DO_VERDICT < DO_PULL);
}

static void test_defer_rx_nothing_declined_is_not_pulled(void **state)
{
    (void) state;
    dnet_defer_rx_t rx = {.state = HELD, .rank = 7};
    assert_int_equal(post(&rx, 0), 0);
    assert_int_equal(dnet_defer_rx_before(&rx), UINT64_MAX);
    dnet_defer_rx_decline(&rx);
    assert_int_equal(post(&rx, 1), DO_PULL);
    assert_ptr_equal(rx.asked, &receive[1]); /* the first one met what was declined */
}

static void test_defer_rx_one_receive_at_a_time_in_the_order_of_posting(void **state)
{
    (void) state;
    dnet_defer_rx_t rx = held();
    assert_int_equal(post(&rx, 0), DO_PULL);
    uint16_t first = rx.pull_id;
    assert_int_equal(post(&rx, 1), 0);
    assert_int_equal(post(&rx, 2), 0);
    assert_ptr_equal(rx.asked, &receive[0]);
    assert_int_equal(feed(&rx, ON_PULL_NONE, (dnet_defer_rx_facts_t){.id = first}), DO_PULL);
    assert_ptr_equal(rx.asked, &receive[1]);
    assert_int_not_equal(rx.pull_id, first);
    dnet_defer_rx_facts_t answer = {.in_table = true, .id = rx.pull_id};
    assert_int_equal(feed(&rx, ON_OFFER_PULL, answer), DO_ALL);
    assert_ptr_equal(rx.asked, &receive[1]); /* what takes it */
    assert_int_equal(feed(&rx, ON_ANSWERED, answer), DO_PULL);
    assert_ptr_equal(rx.asked, &receive[2]);
    assert_int_equal(feed(&rx, ON_PULL_NONE, (dnet_defer_rx_facts_t){.id = rx.pull_id}), 0);
    assert_int_equal(rx.state, HELD);
    assert_null(rx.asked);
}

static void test_defer_rx_fresh_messages_stay_before_what_is_asked(void **state)
{
    (void) state;
    dnet_defer_rx_t rx = held();
    assert_int_equal(dnet_defer_rx_before(&rx), UINT64_MAX);
    post(&rx, 0);
    post(&rx, 1);
    assert_int_equal(dnet_defer_rx_before(&rx), 100);
    feed(&rx, ON_PULL_NONE, (dnet_defer_rx_facts_t){.id = rx.pull_id});
    assert_int_equal(dnet_defer_rx_before(&rx), 101);
    feed(&rx, ON_PULL_NONE, (dnet_defer_rx_facts_t){.id = rx.pull_id});
    assert_int_equal(dnet_defer_rx_before(&rx), UINT64_MAX);
}

static void test_defer_rx_fresh_messages_stay_before_what_waits_for_a_grant(void **state)
{
    (void) state;
    dnet_defer_rx_t rx = held();
    feed(&rx, ON_ROOM, (dnet_defer_rx_facts_t){.bytes = 100});
    assert_int_equal(rx.granted_bytes, 100);
    assert_int_equal(post(&rx, 0), 0);
    assert_int_equal(dnet_defer_rx_before(&rx), 100);
    assert_int_equal(feed(&rx, ON_DONE, (dnet_defer_rx_facts_t){.more = true}), DO_PULL);
    assert_int_equal(rx.granted_bytes, 0);
}

static void test_defer_rx_receive_gone_is_not_asked_for(void **state)
{
    (void) state;
    dnet_defer_rx_t rx = held();
    for (unsigned i = 0; i < 3; i++)
        post(&rx, i);
    unpost(&rx, 1); /* waits: the one behind it is next */
    assert_ptr_equal(rx.next, &receive[2]);
    unpost(&rx, 0); /* its PULL is under way */
    assert_null(rx.asked);
    assert_int_equal(dnet_defer_rx_before(&rx), 102);
    dnet_defer_rx_facts_t answer = {.in_table = true, .id = rx.pull_id};
    assert_int_equal(feed(&rx, ON_OFFER_PULL, answer), DO_ALL);
    assert_null(rx.asked); /* so nothing of it is taken */
    assert_int_equal(feed(&rx, ON_ANSWERED, answer), DO_PULL);
    assert_ptr_equal(rx.asked, &receive[2]);
    unpost(&rx, 2);
    assert_int_equal(dnet_defer_rx_before(&rx), UINT64_MAX);
}

static void test_defer_rx_receive_from_another_sender_is_passed_over(void **state)
{
    (void) state;
    dnet_defer_rx_t rx = held(), other = held();
    other.rank = 8;
    post(&rx, 3);
    assert_int_equal(rx.state, HELD);
    assert_int_equal(dnet_defer_rx_before(&rx), UINT64_MAX);
    assert_int_equal(feed(&other, ON_POSTED, (dnet_defer_rx_facts_t){.receive = &receive[3]}),
                     DO_PULL);
    dnet_defer_wanted_remove(&receive[3]);
    post(&rx, 0);
    post(&rx, 1);
    dnet_defer_wanted_add(&wanted, &receive[3]);
    unpost(&rx, 1);
    assert_null(rx.next);
}

static void test_defer_rx_pull_numbers_skip_zero(void **state)
{
    (void) state;
    dnet_defer_rx_t rx = held();
    wanted.pull_id = UINT16_MAX;
    post(&rx, 0);
    assert_int_equal(rx.pull_id, 1);
}

static void test_defer_rx_release_forgets_what_is_wanted(void **state)
{
    (void) state;
    dnet_defer_rx_t rx = held();
    feed(&rx, ON_ROOM, (dnet_defer_rx_facts_t){.bytes = 100});
    post(&rx, 0);
    assert_int_equal(feed(&rx, ON_DONE, (dnet_defer_rx_facts_t){.more = false}), DO_RELEASE);
    assert_null(rx.next);
    assert_false(rx.declined);
    assert_int_equal(rx.granted_bytes, 0);
    assert_int_equal(post(&rx, 1), 0);
    assert_null(rx.next);
}

static void test_defer_rx_doubled_answers_mean_nothing(void **state)
{
    (void) state;
    dnet_defer_rx_t rx = held();
    post(&rx, 0);
    post(&rx, 1);
    dnet_defer_rx_facts_t first = {.in_table = true, .id = rx.pull_id};
    assert_int_equal(feed(&rx, ON_PULL_NONE, first), DO_PULL);
    assert_int_equal(feed(&rx, ON_PULL_NONE, first), 0);
    assert_int_equal(feed(&rx, ON_OFFER_PULL, first), DO_VERDICT);
    assert_ptr_equal(rx.asked, &receive[1]);
}

static void test_defer_rx_names(void **state)
{
    (void) state;
    assert_string_equal(dnet_defer_rx_state_name(DNET_DEFER_RX_RELEASING), "RELEASING");
    assert_string_equal(dnet_defer_rx_state_name((dnet_defer_rx_state_t) STATES), "?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_defer_rx_each_event_in_each_state, setup),
        cmocka_unit_test(test_defer_rx_no_pair_is_left_out),
        cmocka_unit_test(test_defer_rx_actions_are_in_the_order_of_the_wire),
        cmocka_unit_test_setup(test_defer_rx_nothing_declined_is_not_pulled, setup),
        cmocka_unit_test_setup(test_defer_rx_one_receive_at_a_time_in_the_order_of_posting, setup),
        cmocka_unit_test_setup(test_defer_rx_fresh_messages_stay_before_what_is_asked, setup),
        cmocka_unit_test_setup(test_defer_rx_fresh_messages_stay_before_what_waits_for_a_grant,
                               setup),
        cmocka_unit_test_setup(test_defer_rx_receive_gone_is_not_asked_for, setup),
        cmocka_unit_test_setup(test_defer_rx_receive_from_another_sender_is_passed_over, setup),
        cmocka_unit_test_setup(test_defer_rx_pull_numbers_skip_zero, setup),
        cmocka_unit_test_setup(test_defer_rx_release_forgets_what_is_wanted, setup),
        cmocka_unit_test_setup(test_defer_rx_doubled_answers_mean_nothing, setup),
        cmocka_unit_test(test_defer_rx_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
