/* SPDX-License-Identifier: BSD-3-Clause
 *
 * LH entries that a thread offers (docs/protocol.md 6.2): so many as were asked for and a quarter
 * are the NIC's, the limit event comes when the quarter is left, what is given back is the NIC's
 * only when it is offered, and no message is lost or overwritten however often the ring wraps.  WID
 * 1 sends to WID 0 of one emulated NIC; both threads' parts are called in turn.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdint.h>

#include "dimmnet/emulator.h"
#include "driver/driver.h"

enum { REFILL = 16, AREA = 65536 };

typedef struct {
    dnet_emu_nic_t *emu;
    dnet_device_t *dev[2];
    dnet_drv_t nic[2];
    uint64_t sent, received;
} pair_t;

static dnet_status_t start_receiver(pair_t *p, uint32_t refill)
{
    return dnet_drv_start(&p->nic[0], p->dev[0], AREA, 1, DNET_FLOW_MODE_RETRY, refill);
}

static void pair_up(pair_t *p, dnet_profile_t profile)
{
    const dnet_emu_config_t config = {.profile = profile, .lid = 1};
    dnet_emu_locator_t at;
    *p = (pair_t){0};
    assert_int_equal(dnet_emu_create(&config, &p->emu), DNET_OK);
    dnet_emu_locate(p->emu, &at);
    assert_int_equal(dnet_emu_route(p->emu, &at), DNET_OK);
    for (unsigned wid = 0; wid < 2; wid++)
        assert_int_equal(dnet_emu_open(p->emu, wid, true, &p->dev[wid]), DNET_OK);
    assert_int_equal(dnet_drv_bring_up(p->dev[0], 7), DNET_OK);
    assert_int_equal(dnet_drv_start(&p->nic[1], p->dev[1], AREA, 1, DNET_FLOW_MODE_STOP, 0),
                     DNET_OK);
}

static void pair_down(pair_t *p)
{
    for (unsigned wid = 0; wid < 2; wid++)
        p->dev[wid]->ops->close(p->dev[wid]);
    dnet_emu_detach(p->emu);
}

static bool send_one(pair_t *p)
{
    dnet_status_t status =
        dnet_drv_send_short(&p->nic[1], dnet_drv_target(1, 0), p->sent, &p->sent, 8, false);
    if (status != DNET_OK)
        assert_int_equal(status, DNET_STOPPED);
    p->sent += status == DNET_OK;
    return status == DNET_OK;
}

/* Send until there is no room.  @return messages sent */
static unsigned fill(pair_t *p)
{
    unsigned n = 0;
    while (send_one(p))
        n++;
    return n;
}

/* Read `count` messages, which are there and are the next ones, and give their entries back. */
static void drain(pair_t *p, unsigned count)
{
    while (count--) {
        uint64_t number;
        const dnet_lh_entry_t *entry = dnet_drv_lh_next(&p->nic[0]);
        assert_non_null(entry);
        memcpy(&number, entry->data, sizeof(number));
        assert_int_equal(number, p->received);
        p->received++;
        (void) dnet_drv_lh_release(&p->nic[0], entry);
    }
    dnet_drv_publish(&p->nic[0]);
}

/* Limit events so far; does not wait, for there were not so many. */
static uint32_t events(pair_t *p)
{
    uint64_t when_ns;
    return dnet_drv_srq_limit_wait(&p->nic[0], UINT32_MAX, &when_ns);
}

static void test_srq_limit_has_a_refill_and_a_quarter(void **state)
{
    (void) state;
    pair_t p;
    pair_up(&p, DNET_PROFILE_EXTENDED);
    assert_int_equal(start_receiver(&p, REFILL), DNET_OK);
    assert_int_equal(fill(&p), REFILL + REFILL / 4);
    drain(&p, REFILL + REFILL / 4);
    assert_null(dnet_drv_lh_next(&p.nic[0]));
    pair_down(&p);
}

static void test_srq_limit_limit_event_when_a_quarter_is_left_and_once(void **state)
{
    (void) state;
    pair_t p;
    pair_up(&p, DNET_PROFILE_EXTENDED);
    assert_int_equal(start_receiver(&p, REFILL), DNET_OK);
    for (unsigned i = 0; i < REFILL; i++) {
        assert_int_equal(events(&p), 0);
        assert_true(send_one(&p));
    }
    assert_true(send_one(&p)); /* this packet finds a quarter */
    assert_int_equal(events(&p), 1);
    fill(&p);
    assert_int_equal(events(&p), 1);
    drain(&p, REFILL);
    dnet_drv_srq_refill(&p.nic[0]); /* arms it again */
    fill(&p);
    assert_int_equal(events(&p), 2);
    pair_down(&p);
}

static void test_srq_limit_given_back_is_not_offered(void **state)
{
    (void) state;
    pair_t p;
    pair_up(&p, DNET_PROFILE_EXTENDED);
    assert_int_equal(start_receiver(&p, REFILL), DNET_OK);
    drain(&p, fill(&p));
    assert_int_equal(fill(&p), 0);
    dnet_drv_srq_refill(&p.nic[0]);
    assert_int_equal(fill(&p), REFILL);
    pair_down(&p);
}

static void test_srq_limit_nothing_to_offer_giving_back_raises_the_event(void **state)
{
    (void) state;
    pair_t p;
    pair_up(&p, DNET_PROFILE_EXTENDED);
    uint32_t entries = p.dev[0]->geometry.lh_entries;
    assert_int_equal(start_receiver(&p, REFILL), DNET_OK);
    unsigned held = fill(&p);
    uint32_t seen;
    do { /* nothing is given back: in the end all entries are offered, and full */
        seen = events(&p);
        dnet_drv_srq_refill(&p.nic[0]);
        held += fill(&p);
    } while (events(&p) != seen);
    assert_int_equal(held, entries - 1); /* one stays empty, or full would look like empty */
    assert_int_equal(fill(&p), 0);
    drain(&p, 1);
    assert_int_equal(events(&p), seen + 1);
    dnet_drv_srq_refill(&p.nic[0]);
    assert_int_equal(fill(&p), 1);
    drain(&p, held);
    pair_down(&p);
}

static void test_srq_limit_many_laps_nothing_lost_or_overwritten(void **state)
{
    (void) state;
    static const dnet_profile_t profiles[] = {DNET_PROFILE_EXTENDED, DNET_PROFILE_PROTOTYPE_FLOW};
    for (unsigned k = 0; k < 2; k++) {
        pair_t p;
        pair_up(&p, profiles[k]);
        uint32_t entries = p.dev[0]->geometry.lh_entries, seen = 0;
        assert_int_equal(start_receiver(&p, entries / 2), DNET_OK);
        for (unsigned turn = 0; p.sent < 10 * entries; turn++) {
            fill(&p);
            /* sometimes nothing, sometimes all */
            drain(&p, (unsigned) (p.sent - p.received) * (turn % 4) / 3);
            if (events(&p) != seen)
                dnet_drv_srq_refill(&p.nic[0]);
            seen = events(&p);
        }
        drain(&p, (unsigned) (p.sent - p.received));
        pair_down(&p);
    }
}

static void test_srq_limit_of_the_least_size(void **state)
{
    (void) state;
    pair_t p;
    pair_up(&p, DNET_PROFILE_EXTENDED);
    assert_int_equal(start_receiver(&p, DNET_DRV_REFILL_LEAST), DNET_OK);
    for (uint32_t i = 1; i < 100; i++) {
        unsigned n = fill(&p);
        assert_in_range(n, DNET_DRV_REFILL_LEAST, DNET_DRV_REFILL_LEAST + 1);
        assert_int_equal(events(&p), i);
        drain(&p, n);
        dnet_drv_srq_refill(&p.nic[0]);
    }
    pair_down(&p);
}

static void test_srq_limit_refill_out_of_range_is_refused(void **state)
{
    (void) state;
    pair_t p;
    pair_up(&p, DNET_PROFILE_PROTOTYPE_FLOW);
    uint32_t half = p.dev[0]->geometry.lh_entries / 2;
    assert_int_equal(start_receiver(&p, half + 1), DNET_ERR_ARGUMENT);
    assert_int_equal(start_receiver(&p, UINT32_MAX), DNET_ERR_ARGUMENT);
    assert_int_equal(start_receiver(&p, 1), DNET_ERR_ARGUMENT);
    /* a quarter is nothing: the event would never come */
    assert_int_equal(start_receiver(&p, 3), DNET_ERR_ARGUMENT);
    assert_int_equal(start_receiver(&p, half), DNET_OK);
    assert_int_equal(fill(&p), half + half / 4);
    assert_int_equal(events(&p), 1);
    pair_down(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srq_limit_has_a_refill_and_a_quarter),
        cmocka_unit_test(test_srq_limit_limit_event_when_a_quarter_is_left_and_once),
        cmocka_unit_test(test_srq_limit_given_back_is_not_offered),
        cmocka_unit_test(test_srq_limit_nothing_to_offer_giving_back_raises_the_event),
        cmocka_unit_test(test_srq_limit_many_laps_nothing_lost_or_overwritten),
        cmocka_unit_test(test_srq_limit_of_the_least_size),
        cmocka_unit_test(test_srq_limit_refill_out_of_range_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
