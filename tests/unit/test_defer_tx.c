/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/deferral, the sender: every event in every state, with what it depends on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "deferral/defer_tx.h"

enum { KEPT = 1, FRESH = 2, FITS = 4 }; /* facts */

enum {
#define DNET_DEFER_TX_STATE(name, meaning) name,
#include "deferral/defer_tx.def"
#undef DNET_DEFER_TX_STATE
    STATES
};
enum {
#define DNET_DEFER_TX_EVENT(name, meaning) ON_##name,
#include "deferral/defer_tx.def"
#undef DNET_DEFER_TX_EVENT
    EVENTS
};
static const char *const event_names[] = {
#define DNET_DEFER_TX_EVENT(name, meaning) #name,
#include "deferral/defer_tx.def"
#undef DNET_DEFER_TX_EVENT
};
enum {
#define DNET_DEFER_TX_ACTION(name, meaning) DO_##name = DNET_DEFER_TX_DO_##name,
#include "deferral/defer_tx.def"
#undef DNET_DEFER_TX_ACTION
};

typedef struct {
    int state, event, facts, next;
    unsigned actions;
} row_t;

static const row_t rows[] = {
    /* Not held: words that are late are answered, so that no receiver waits. */
    {RUN, ON_REFUSED, KEPT | FRESH, OFFERED, DO_OFFER_FRESH},
    {RUN, ON_ADDED, KEPT, RUN, 0},
    {RUN, ON_VERDICT, 0, RUN, DO_REPORT},
    {RUN, ON_PULL, 0, RUN, DO_PULL_NONE},
    {RUN, ON_PULL, KEPT | FITS, RUN, DO_PULL_NONE},
    {RUN, ON_TAKE, 0, RUN, 0},
    {RUN, ON_GRANT, 0, RUN, DO_DONE},
    {RUN, ON_SPENT, 0, RUN, 0},
    {RUN, ON_RELEASE, 0, RUN, DO_RELEASE_ACK},
    /* An OFFER is out: everything waits for its VERDICT. */
    {OFFERED, ON_REFUSED, KEPT, OFFERED, 0},
    {OFFERED, ON_ADDED, KEPT | FRESH, OFFERED, 0},
    {OFFERED, ON_VERDICT, KEPT | FRESH, OFFERED, DO_OFFER_FRESH},
    {OFFERED, ON_VERDICT, KEPT, HELD, 0},
    {OFFERED, ON_VERDICT, 0, RUN, DO_SEND},
    {OFFERED, ON_PULL, KEPT | FITS, OFFERED_PULLED, 0},
    {OFFERED, ON_TAKE, KEPT, OFFERED, 0},
    {OFFERED, ON_GRANT, KEPT, OFFERED_GRANTED, 0},
    {OFFERED, ON_SPENT, KEPT, OFFERED, 0},
    {OFFERED, ON_RELEASE, KEPT, OFFERED_RELEASED, DO_RELEASE_ACK},
    /* The PULL is answered before fresh messages are offered. */
    {OFFERED_PULLED, ON_REFUSED, KEPT, OFFERED_PULLED, 0},
    {OFFERED_PULLED, ON_ADDED, KEPT | FRESH, OFFERED_PULLED, 0},
    {OFFERED_PULLED, ON_VERDICT, KEPT | FITS | FRESH, OFFERED, DO_OFFER_PULLED},
    {OFFERED_PULLED, ON_VERDICT, KEPT | FITS, OFFERED, DO_OFFER_PULLED},
    {OFFERED_PULLED, ON_VERDICT, KEPT | FRESH, OFFERED, DO_PULL_NONE | DO_OFFER_FRESH},
    {OFFERED_PULLED, ON_VERDICT, KEPT, HELD, DO_PULL_NONE},
    {OFFERED_PULLED, ON_VERDICT, 0, RUN, DO_PULL_NONE | DO_SEND},
    {OFFERED_PULLED, ON_PULL, KEPT | FITS, OFFERED_PULLED, DO_REPORT},
    {OFFERED_PULLED, ON_TAKE, KEPT, OFFERED_PULLED, 0},
    {OFFERED_PULLED, ON_GRANT, KEPT, OFFERED_PULLED, DO_REPORT},
    {OFFERED_PULLED, ON_SPENT, KEPT, OFFERED_PULLED, 0},
    {OFFERED_PULLED, ON_RELEASE, KEPT, OFFERED_RELEASED, DO_PULL_NONE | DO_RELEASE_ACK},
    /* The GRANT is used when the VERDICT has taken its part. */
    {OFFERED_GRANTED, ON_REFUSED, KEPT, OFFERED_GRANTED, 0},
    {OFFERED_GRANTED, ON_ADDED, KEPT | FRESH, OFFERED_GRANTED, 0},
    {OFFERED_GRANTED, ON_VERDICT, KEPT | FRESH, GRANTED, DO_SEND},
    {OFFERED_GRANTED, ON_VERDICT, 0, GRANTED, DO_SEND},
    {OFFERED_GRANTED, ON_PULL, KEPT | FITS, OFFERED_GRANTED, DO_REPORT},
    {OFFERED_GRANTED, ON_TAKE, KEPT, OFFERED_GRANTED, 0},
    {OFFERED_GRANTED, ON_GRANT, KEPT, OFFERED_GRANTED, DO_REPORT},
    {OFFERED_GRANTED, ON_SPENT, KEPT, OFFERED_GRANTED, 0},
    {OFFERED_GRANTED, ON_RELEASE, KEPT, OFFERED_RELEASED, DO_RELEASE_ACK},
    /* All is sent when the VERDICT has taken its part. */
    {OFFERED_RELEASED, ON_REFUSED, KEPT, OFFERED_RELEASED, 0},
    {OFFERED_RELEASED, ON_ADDED, KEPT | FRESH, OFFERED_RELEASED, 0},
    {OFFERED_RELEASED, ON_VERDICT, KEPT | FRESH, RUN, DO_SEND},
    {OFFERED_RELEASED, ON_VERDICT, 0, RUN, DO_SEND},
    {OFFERED_RELEASED, ON_PULL, KEPT | FITS, OFFERED_RELEASED, DO_PULL_NONE},
    {OFFERED_RELEASED, ON_TAKE, KEPT, OFFERED_RELEASED, 0},
    {OFFERED_RELEASED, ON_GRANT, KEPT, OFFERED_RELEASED, DO_DONE},
    {OFFERED_RELEASED, ON_SPENT, KEPT, OFFERED_RELEASED, 0},
    {OFFERED_RELEASED, ON_RELEASE, KEPT, OFFERED_RELEASED, DO_RELEASE_ACK},
    /* All is declined. */
    {HELD, ON_REFUSED, KEPT, HELD, 0},
    {HELD, ON_ADDED, KEPT | FRESH, OFFERED, DO_OFFER_FRESH},
    {HELD, ON_VERDICT, KEPT, HELD, DO_REPORT},
    {HELD, ON_PULL, KEPT | FITS, OFFERED, DO_OFFER_PULLED},
    {HELD, ON_PULL, KEPT, HELD, DO_PULL_NONE},
    {HELD, ON_TAKE, KEPT, HELD, 0},
    {HELD, ON_TAKE, 0, RUN, DO_SEND},
    {HELD, ON_GRANT, KEPT, GRANTED, DO_SEND},
    {HELD, ON_SPENT, KEPT, HELD, 0},
    {HELD, ON_RELEASE, KEPT, RUN, DO_RELEASE_ACK | DO_SEND},
    /* Sending: nothing is offered meanwhile. */
    {GRANTED, ON_REFUSED, KEPT, GRANTED, 0},
    {GRANTED, ON_ADDED, KEPT | FRESH, GRANTED, 0},
    {GRANTED, ON_VERDICT, KEPT, GRANTED, DO_REPORT},
    {GRANTED, ON_PULL, KEPT | FITS, GRANTED, DO_REPORT},
    {GRANTED, ON_TAKE, KEPT, GRANTED, 0},
    {GRANTED, ON_TAKE, 0, RUN, DO_DONE | DO_SEND},
    {GRANTED, ON_GRANT, KEPT, GRANTED, DO_REPORT},
    {GRANTED, ON_SPENT, KEPT | FRESH, OFFERED, DO_DONE | DO_OFFER_FRESH},
    {GRANTED, ON_SPENT, KEPT, HELD, DO_DONE},
    {GRANTED, ON_SPENT, 0, RUN, DO_DONE | DO_SEND},
    {GRANTED, ON_RELEASE, KEPT, RUN, DO_RELEASE_ACK | DO_SEND},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

static unsigned feed(dnet_defer_tx_t *tx, int event, int facts, uint64_t bytes)
{
    dnet_defer_tx_facts_t f = {facts & KEPT, facts & FRESH, facts & FITS, bytes};
    return dnet_defer_tx_event(tx, (dnet_defer_tx_event_t) event, &f);
}

static void test_defer_tx_each_event_in_each_state(void **state)
{
    (void) state;
    for (const row_t *row = rows; row < rows + ROWS; row++) {
        dnet_defer_tx_t tx = {.state = (uint8_t) row->state};
        unsigned actions = feed(&tx, row->event, row->facts, 100);
        if (tx.state == row->next && actions == row->actions)
            continue;
        fail_msg("%s, %s with facts %d: %s, actions 0x%x; expected %s, 0x%x",
                 dnet_defer_tx_state_name((dnet_defer_tx_state_t) row->state),
                 event_names[row->event], row->facts,
                 dnet_defer_tx_state_name((dnet_defer_tx_state_t) tx.state), actions,
                 dnet_defer_tx_state_name((dnet_defer_tx_state_t) row->next), row->actions);
    }
}

static void test_defer_tx_no_pair_is_left_out(void **state)
{
    (void) state;
    bool seen[STATES][EVENTS] = {{false}};
    for (const row_t *row = rows; row < rows + ROWS; row++)
        seen[row->state][row->event] = true;
    for (int s = 0; s < STATES; s++)
        for (int e = 0; e < EVENTS; e++)
            if (!seen[s][e])
                fail_msg("no row for %s, %s", dnet_defer_tx_state_name((dnet_defer_tx_state_t) s),
                         event_names[e]);
}

/* The words that follow from one event are said in this order. */
static void test_defer_tx_actions_are_in_the_order_of_the_wire(void **state)
{
    (void) state;
    assert_true(DO_PULL_NONE < DO_RELEASE_ACK);
    assert_true(DO_PULL_NONE < DO_OFFER_FRESH);
    assert_true(DO_DONE < DO_OFFER_FRESH);
    assert_true(DO_RELEASE_ACK < DO_SEND);
    assert_true(DO_DONE < DO_SEND);
}

static void test_defer_tx_sends_only_when_not_held_or_granted(void **state)
{
    (void) state;
    for (int s = 0; s < STATES; s++) {
        dnet_defer_tx_t tx = {.state = (uint8_t) s, .granted_bytes = 1};
        assert_int_equal(dnet_defer_tx_may_send(&tx), s == RUN || s == GRANTED);
        assert_int_equal(dnet_defer_tx_is_held(&tx), s != RUN);
        tx.granted_bytes = 0;
        assert_int_equal(dnet_defer_tx_may_send(&tx), s == RUN);
    }
}

static void test_defer_tx_an_offer_is_out_until_its_verdict(void **state)
{
    (void) state;
    for (int s = 0; s < STATES; s++) {
        dnet_defer_tx_t tx = {.state = (uint8_t) s};
        bool out =
            s == OFFERED || s == OFFERED_PULLED || s == OFFERED_GRANTED || s == OFFERED_RELEASED;
        assert_int_equal(dnet_defer_tx_is_out(&tx), out);
        /* A VERDICT is expected exactly then. */
        assert_int_equal((feed(&tx, ON_VERDICT, 0, 0) & DO_REPORT) == 0, out);
    }
}

static void test_defer_tx_pull_is_answered_in_two_places(void **state)
{
    (void) state;
    for (int s = 0; s < STATES; s++)
        for (int e = 0; e < EVENTS; e++) {
            dnet_defer_tx_t tx = {.state = (uint8_t) s};
            assert_int_equal(dnet_defer_tx_pulled(&tx, (dnet_defer_tx_event_t) e),
                             (s == HELD && e == ON_PULL) ||
                                 (s == OFFERED_PULLED && e == ON_VERDICT));
        }
}

static void test_defer_tx_grant_lasts_for_its_bytes(void **state)
{
    (void) state;
    dnet_defer_tx_t tx = {.state = HELD};
    assert_int_equal(feed(&tx, ON_GRANT, KEPT, 300), DO_SEND);
    dnet_defer_tx_sent(&tx, 200);
    assert_true(dnet_defer_tx_may_send(&tx));
    assert_false(dnet_defer_tx_is_spent(&tx, true));
    assert_true(dnet_defer_tx_is_spent(&tx, false));
    dnet_defer_tx_sent(&tx, 200); /* the last message may be longer than what is left */
    assert_false(dnet_defer_tx_may_send(&tx));
    assert_true(dnet_defer_tx_is_spent(&tx, true));
    assert_int_equal(feed(&tx, ON_SPENT, KEPT, 0), DO_DONE);
    assert_false(dnet_defer_tx_is_spent(&tx, true));
}

static void test_defer_tx_grant_waits_for_the_verdict_with_all_its_bytes(void **state)
{
    (void) state;
    dnet_defer_tx_t tx = {.state = OFFERED};
    assert_int_equal(feed(&tx, ON_GRANT, KEPT, 300), 0);
    assert_false(dnet_defer_tx_may_send(&tx));
    assert_false(dnet_defer_tx_is_spent(&tx, true));
    assert_int_equal(feed(&tx, ON_VERDICT, KEPT, 0), DO_SEND);
    assert_int_equal(tx.granted_bytes, 300);
    assert_true(dnet_defer_tx_may_send(&tx));
}

static void test_defer_tx_doubled_grant_adds_nothing(void **state)
{
    (void) state;
    dnet_defer_tx_t tx = {.state = OFFERED};
    feed(&tx, ON_GRANT, KEPT, 300);
    assert_int_equal(feed(&tx, ON_GRANT, KEPT, 500), DO_REPORT);
    assert_int_equal(tx.granted_bytes, 300);
    feed(&tx, ON_VERDICT, KEPT, 0);
    assert_int_equal(feed(&tx, ON_GRANT, KEPT, 500), DO_REPORT);
    assert_int_equal(tx.granted_bytes, 300);
}

static void test_defer_tx_release_ends_a_grant(void **state)
{
    (void) state;
    dnet_defer_tx_t tx = {.state = OFFERED};
    feed(&tx, ON_GRANT, KEPT, 300);
    feed(&tx, ON_RELEASE, KEPT, 0);
    feed(&tx, ON_VERDICT, KEPT, 0);
    assert_int_equal(tx.state, RUN);
    assert_int_equal(tx.granted_bytes, 0);
}

static void test_defer_tx_names(void **state)
{
    (void) state;
    assert_string_equal(dnet_defer_tx_state_name(DNET_DEFER_TX_OFFERED_PULLED), "OFFERED_PULLED");
    assert_string_equal(dnet_defer_tx_state_name((dnet_defer_tx_state_t) STATES), "?");
    dnet_defer_tx_t broken = {.state = STATES};
    assert_int_equal(feed(&broken, ON_RELEASE, 0, 0), DO_REPORT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defer_tx_each_event_in_each_state),
        cmocka_unit_test(test_defer_tx_no_pair_is_left_out),
        cmocka_unit_test(test_defer_tx_actions_are_in_the_order_of_the_wire),
        cmocka_unit_test(test_defer_tx_sends_only_when_not_held_or_granted),
        cmocka_unit_test(test_defer_tx_an_offer_is_out_until_its_verdict),
        cmocka_unit_test(test_defer_tx_pull_is_answered_in_two_places),
        cmocka_unit_test(test_defer_tx_grant_lasts_for_its_bytes),
        cmocka_unit_test(test_defer_tx_grant_waits_for_the_verdict_with_all_its_bytes),
        cmocka_unit_test(test_defer_tx_doubled_grant_adds_nothing),
        cmocka_unit_test(test_defer_tx_release_ends_a_grant),
        cmocka_unit_test(test_defer_tx_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
