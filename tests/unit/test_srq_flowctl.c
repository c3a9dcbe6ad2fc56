/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/srq_flowctl, the two processes' parts: one test per behaviour.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "srq_flowctl/srq_flowctl.h"

#define LOG_MAX 8192
#define ENOUGH UINT64_MAX

struct sent {
    dnet_fc_peer_t peer;
    unsigned credits;
    bool repeat;
};

static struct {
    struct sent resend[LOG_MAX];
    unsigned resends;
    dnet_fc_peer_t revoked[LOG_MAX];
    unsigned revokes;
    dnet_status_t answer; /* of resend() */
} nic;

static dnet_status_t resend(void *arg, dnet_fc_peer_t peer, unsigned credits, bool repeat)
{
    (void) arg;
    assert_true(nic.resends < LOG_MAX);
    nic.resend[nic.resends++] = (struct sent){peer, credits, repeat};
    return nic.answer;
}

static void revoke(void *arg, dnet_fc_peer_t peer)
{
    (void) arg;
    nic.revoked[nic.revokes++] = peer;
}

static uint64_t own; /* free bytes of sender 0's ring */

static uint64_t own_bytes(void *arg, dnet_fc_peer_t p)
{
    (void) arg;
    return p.lid == 1 && p.wid == 0 ? own : DNET_FC_SHARED;
}

static const dnet_fc_receiver_ops_t ops = {resend, revoke, own_bytes};
static dnet_fc_receiver_t r;

static dnet_fc_peer_t peer(unsigned n)
{
    return (dnet_fc_peer_t){.lid = (uint16_t) (1 + n / 2), .wid = (uint16_t) (n % 2)};
}

static unsigned number(dnet_fc_peer_t p)
{
    return (p.lid - 1u) * 2 + p.wid;
}

static void start(dnet_fc_receiver_config_t config)
{
    memset(&nic, 0, sizeof(nic));
    own = DNET_FC_SHARED;
    assert_int_equal(dnet_fc_receiver_init(&r, &config, &ops, NULL), DNET_OK);
}

static void stop(unsigned n)
{
    assert_int_equal(dnet_fc_receiver_stopped(&r, peer(n), 100), DNET_OK);
}

static int teardown(void **state)
{
    (void) state;
    dnet_fc_receiver_fini(&r);
    return 0;
}

static void test_fc_sender_stop_holds_until_resend(void **state)
{
    (void) state;
    dnet_fc_sender_t s = {0};
    assert_true(dnet_fc_sender_may_send(&s));
    dnet_fc_sender_stop(&s);
    assert_false(dnet_fc_sender_may_send(&s));
    dnet_fc_sender_stop(&s);
    assert_true(dnet_fc_sender_resend(&s));
    assert_true(dnet_fc_sender_may_send(&s));
    assert_false(dnet_fc_sender_resend(&s)); /* a repeat */
    assert_true(dnet_fc_sender_may_send(&s));
}

static void test_fc_sender_dead_never_runs_again(void **state)
{
    (void) state;
    dnet_fc_sender_t s = {0};
    dnet_fc_sender_dead(&s);
    dnet_fc_sender_stop(&s);
    assert_false(dnet_fc_sender_resend(&s));
    assert_false(dnet_fc_sender_may_send(&s));
    assert_string_equal(dnet_fc_tx_state_name((dnet_fc_tx_state_t) s.state), "DEAD");
    assert_string_equal(dnet_fc_tx_state_name((dnet_fc_tx_state_t) 77), "?");
}

static void test_fc_receiver_config_out_of_range_refused(void **state)
{
    (void) state;
    const dnet_fc_receiver_config_t good = dnet_fc_receiver_defaults(16, 0);
    dnet_fc_receiver_config_t bad[8] = {good, good, good, good, good, good, good, good};
    bad[0].slots = 0;
    bad[1].headroom = 16;
    bad[2].grant_max = 0;
    bad[3].grant_max = 256;
    bad[4].repeats = 256;
    bad[5].grant_ns = 0;
    bad[6].grant_least = 0;
    bad[7].grant_least = good.grant_max + 1;
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(dnet_fc_receiver_init(&r, &bad[i], &ops, NULL), DNET_ERR_ARGUMENT);
    for (uint32_t slots = 1; slots < 100; slots++) {
        dnet_fc_receiver_config_t config = dnet_fc_receiver_defaults(slots, 0);
        assert_int_equal(config.headroom, slots / 8);
        start(config);
    }
}

static void test_fc_receiver_no_stop_no_memory(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(16, 0));
    assert_int_equal(dnet_fc_receiver_bytes(&r), 0);
    assert_false(dnet_fc_receiver_pending(&r));
    assert_int_equal(dnet_fc_receiver_room(&r, 16, ENOUGH, 0), 0);
    dnet_fc_receiver_arrived(&r, peer(0), false, 0);
    dnet_fc_receiver_forget(&r, peer(0));
    assert_int_equal(dnet_fc_receiver_bytes(&r), 0);
}

static void test_fc_receiver_room_grants_first_stopped_first(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(4, 0));
    stop(7);
    stop(3);
    stop(5);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, i), 1);
        dnet_fc_receiver_arrived(&r, nic.resend[i].peer, false, i);
    }
    assert_int_equal(number(nic.resend[0].peer), 7);
    assert_int_equal(number(nic.resend[1].peer), 3);
    assert_int_equal(number(nic.resend[2].peer), 5);
    assert_false(dnet_fc_receiver_pending(&r));
}

/* Rows of 8.6: a = max(1, f - headroom), n = min(q, a), g = max(1, min(g_max, a / n)). */
static void test_fc_receiver_room_shares_by_the_formula(void **state)
{
    (void) state;
    static const struct {
        unsigned slots, senders, stopped, free, grants, credits;
    } row[] = {
        {16, 0, 1, 16, 1, 8},    /* capped by g_max */
        {16, 0, 1, 5, 1, 3},     /* headroom 2 */
        {16, 0, 1, 2, 1, 1},     /* at least one, in spite of headroom */
        {16, 0, 4, 16, 4, 3},    /* 14 / 4 */
        {16, 4, 4, 16, 4, 4},    /* all stopped: no headroom */
        {16, 0, 100, 16, 14, 1}, /* never more than fit */
        {4, 0, 3, 4, 3, 1},          {1, 0, 3, 1, 1, 1},
        {256, 0, 1000, 256, 224, 1}, {4, 0, 3, 0, 0, 0},
    };
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        start(dnet_fc_receiver_defaults(row[i].slots, row[i].senders));
        for (unsigned n = 0; n < row[i].stopped; n++)
            stop(n);
        assert_int_equal(dnet_fc_receiver_room(&r, row[i].free, ENOUGH, 0), row[i].grants);
        for (unsigned n = 0; n < row[i].grants; n++)
            assert_int_equal(nic.resend[n].credits, row[i].credits);
        assert_int_equal(nic.resends, row[i].grants);
        dnet_fc_receiver_fini(&r);
    }
}

/* A grant is worth a sender's turn: little room goes to the first of the queue, not to all in small
 * pieces. */
static void test_fc_receiver_least_grant_goes_to_fewer(void **state)
{
    (void) state;
    static const struct {
        unsigned stopped, free, grants, credits;
    } row[] = {
        {100, 96, 4, 16},                    /* headroom 32: 64 / 16 */
        {100, 50, 1, 18},                    /* not enough for two */
        {100, 40, 1, 8},                     /* less than that: to one */
        {100, 256, 14, 16}, {3, 256, 3, 32}, /* enough for all: up to g_max */
    };
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        dnet_fc_receiver_config_t config = dnet_fc_receiver_defaults(256, 0);
        config.grant_least = 16;
        config.grant_max = 32;
        start(config);
        for (unsigned n = 0; n < row[i].stopped; n++)
            stop(n);
        assert_int_equal(dnet_fc_receiver_room(&r, row[i].free, ENOUGH, 0), row[i].grants);
        for (unsigned n = 0; n < row[i].grants; n++) {
            assert_int_equal(number(nic.resend[n].peer), n);
            assert_int_equal(nic.resend[n].credits, row[i].credits);
        }
        dnet_fc_receiver_fini(&r);
    }
}

static void test_fc_receiver_reserved_slots_not_granted_twice(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(4, 0));
    stop(0);
    stop(1);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 0);
    assert_int_equal(dnet_fc_receiver_room(&r, 2, ENOUGH, 0), 1);
}

static void test_fc_receiver_last_packet_frees_rest_of_grant(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(7, 0));
    stop(0);
    dnet_fc_receiver_room(&r, 7, ENOUGH, 0);
    assert_int_equal(nic.resend[0].credits, 7);
    stop(1);
    assert_int_equal(dnet_fc_receiver_room(&r, 7, ENOUGH, 0), 0);
    dnet_fc_receiver_arrived(&r, peer(0), true, 0);
    assert_int_equal(dnet_fc_receiver_room(&r, 6, ENOUGH, 0), 1);
    assert_int_equal(nic.resend[1].credits, 6);
}

static void test_fc_receiver_bytes_limit_the_grant(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(7, 0));
    assert_int_equal(dnet_fc_receiver_stopped(&r, peer(0), 1000), DNET_OK);
    assert_int_equal(dnet_fc_receiver_stopped(&r, peer(1), 10), DNET_OK);
    /* Expect: the first keeps its place though the second would fit. */
    assert_int_equal(dnet_fc_receiver_room(&r, 6, 999, 0), 0);
    assert_int_equal(dnet_fc_receiver_room(&r, 6, 2500, 0), 2);
    assert_int_equal(nic.resend[0].credits, 2);
    assert_int_equal(nic.resend[1].credits, 3);
}

static void test_fc_receiver_own_ring_limits_its_owner_only(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(64, 0));
    own = 300;
    stop(0);
    stop(1);
    assert_int_equal(dnet_fc_receiver_room(&r, 60, 200, 0), 2);
    assert_int_equal(nic.resend[0].credits, 3); /* 100 bytes each, of its own */
    /* of the shared ring, of which nothing was taken */
    assert_int_equal(nic.resend[1].credits, 2);
    assert_int_equal(r.reserved_bytes, 200);
}

static void test_fc_receiver_everything_free_grants_any_size(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(4, 0));
    assert_int_equal(dnet_fc_receiver_stopped(&r, peer(0), UINT32_MAX), DNET_OK);
    assert_int_equal(dnet_fc_receiver_room(&r, 3, 64, 0), 0);
    assert_int_equal(dnet_fc_receiver_room(&r, 4, 64, 0), 1);
    assert_int_equal(nic.resend[0].credits, 1);
}

static void test_fc_receiver_stopped_twice_queued_once(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(4, 0));
    stop(0);
    stop(0);
    assert_int_equal(r.stopped.count, 1);
    assert_int_equal(r.stats.stops, 1);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
    dnet_fc_receiver_arrived(&r, peer(0), false, 0);
    assert_false(dnet_fc_receiver_pending(&r));
}

static void test_fc_receiver_robbed_grant_goes_first(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(4, 0));
    stop(0);
    stop(1);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
    stop(0); /* a running sender has taken the buffer */
    assert_int_equal(r.stats.robbed, 1);
    assert_int_equal(r.reserved_slots, 0);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
    assert_int_equal(number(nic.resend[1].peer), 0);
}

static void test_fc_receiver_uncounted_grant_goes_last(void **state)
{
    dnet_fc_receiver_config_t config = dnet_fc_receiver_defaults(4, 0);
    config.uncounted = true;
    (void) state;
    start(config);
    stop(0);
    stop(1);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
    stop(0); /* it has sent, or not: that is not known */
    assert_int_equal(r.stats.robbed, 0);
    assert_int_equal(r.reserved_slots, 0);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
    assert_int_equal(number(nic.resend[1].peer), 1);
}

static void test_fc_receiver_nic_busy_sender_keeps_its_place(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(4, 0));
    stop(0);
    stop(1);
    nic.answer = DNET_NO_RESOURCE;
    assert_int_equal(dnet_fc_receiver_room(&r, 4, ENOUGH, 0), 0);
    assert_int_equal(nic.resends, 1);
    assert_int_equal(r.reserved_slots, 0);
    nic.answer = DNET_OK;
    assert_int_equal(dnet_fc_receiver_room(&r, 4, ENOUGH, 0), 2);
    assert_int_equal(number(nic.resend[1].peer), 0);
    assert_int_equal(number(nic.resend[2].peer), 1);
}

static void test_fc_receiver_dead_sender_makes_room_for_next(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(4, 0));
    stop(0);
    nic.answer = DNET_ERR_PEER_DEAD;
    assert_int_equal(dnet_fc_receiver_room(&r, 4, ENOUGH, 0), 0);
    assert_int_equal(nic.resends, 1);
    assert_false(dnet_fc_receiver_pending(&r));
    assert_int_equal(r.reserved_slots, 0);
    assert_int_equal(r.reserved_bytes, 0);
}

static void test_fc_receiver_forget_releases_in_each_state(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(4, 0));
    stop(0);
    stop(1);
    stop(2);
    dnet_fc_receiver_forget(&r, peer(1)); /* in the middle of the queue */
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
    dnet_fc_receiver_forget(&r, peer(0)); /* granted */
    assert_int_equal(r.reserved_slots, 0);
    assert_int_equal(r.reserved_bytes, 0);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
    assert_int_equal(number(nic.resend[1].peer), 2);
    /* A process with the same address comes back. */
    dnet_fc_receiver_forget(&r, peer(2));
    stop(0);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
    assert_int_equal(number(nic.resend[2].peer), 0);
}

static void test_fc_receiver_silent_grant_expires_and_frees(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(1, 0));
    stop(0);
    stop(1);
    assert_int_equal(dnet_fc_receiver_deadline(&r), UINT64_MAX);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 5), 1);
    assert_int_equal(dnet_fc_receiver_deadline(&r), 10000005);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 10000004), 0);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 10000005), 1);
    assert_int_equal(number(nic.resend[1].peer), 1);
    assert_int_equal(nic.revokes, 1);
    assert_int_equal(number(nic.revoked[0]), 0);
    assert_int_equal(r.stats.expired, 1);
}

static void test_fc_receiver_repeats_before_expiry(void **state)
{
    (void) state;
    dnet_fc_receiver_config_t config = dnet_fc_receiver_defaults(4, 0);
    config.repeats = 2;
    config.grant_ns = 100;
    start(config);
    stop(0);
    dnet_fc_receiver_room(&r, 4, ENOUGH, 0);
    for (unsigned i = 1; i <= 2; i++) {
        dnet_fc_receiver_room(&r, 4, ENOUGH, 100 * i);
        assert_int_equal(nic.resends, 1 + i);
        assert_true(nic.resend[i].repeat);
        assert_int_equal(nic.revokes, 0);
    }
    dnet_fc_receiver_room(&r, 4, ENOUGH, 300);
    assert_int_equal(nic.resends, 3);
    assert_int_equal(nic.revokes, 1);
    assert_false(dnet_fc_receiver_pending(&r));
}

static void test_fc_receiver_arrival_renews_the_grant(void **state)
{
    (void) state;
    dnet_fc_receiver_config_t config = dnet_fc_receiver_defaults(4, 2);
    config.grant_ns = 100;
    start(config);
    stop(0);
    stop(1);
    assert_int_equal(dnet_fc_receiver_room(&r, 4, ENOUGH, 0), 2);
    dnet_fc_receiver_arrived(&r, peer(0), false, 60);
    dnet_fc_receiver_room(&r, 3, ENOUGH, 100);
    assert_int_equal(nic.revokes, 1);
    assert_int_equal(number(nic.revoked[0]), 1);
    assert_int_equal(dnet_fc_receiver_deadline(&r), 160);
}

static void test_fc_receiver_memory_follows_the_stopped(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(8, 0));
    for (unsigned i = 0; i < 5000; i++)
        stop(i);
    assert_int_equal(r.stats.stopped_max, 5000);
    assert_true(dnet_fc_receiver_bytes(&r) <= 8192 * 48);
    for (unsigned i = 0; i < 5000; i++) {
        assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
        assert_int_equal(number(nic.resend[i].peer), i);
        dnet_fc_receiver_arrived(&r, peer(i), true, 0);
    }
    assert_true(dnet_fc_receiver_bytes(&r) <= 16 * 48);
    stop(1);
    assert_int_equal(dnet_fc_receiver_room(&r, 1, ENOUGH, 0), 1);
}

static unsigned walked[8], walks;

static void note(void *arg, dnet_fc_peer_t p, unsigned credits)
{
    (void) arg;
    assert_true(walks < 8);
    walked[walks++] = number(p) * 100 + credits;
}

static void test_fc_receiver_walk_names_who_waits(void **state)
{
    (void) state;
    start(dnet_fc_receiver_defaults(4, 0));
    stop(4);
    stop(9);
    stop(6);
    dnet_fc_receiver_room(&r, 1, ENOUGH, 0);
    walks = 0;
    dnet_fc_receiver_walk(&r, note, NULL);
    assert_int_equal(walks, 3);
    assert_int_equal(walked[0], 900);
    assert_int_equal(walked[1], 600);
    assert_int_equal(walked[2], 401);
}

/* 3.1, and the sizes stated there. */
static void test_fc_table_bytes_as_published(void **state)
{
    (void) state;
    assert_int_equal(dnet_fc_table_bytes(4096, 256), 131072);
    assert_int_equal(dnet_fc_table_bytes(32768, 256), 1048576);
    assert_int_equal(dnet_fc_table_bytes(49151, 256), 1572832);
    assert_int_equal(dnet_fc_table_bytes(1, 1), 8);
    assert_int_equal(dnet_fc_table_bytes(3, 65), 48);
    assert_int_equal(dnet_fc_table_bytes(0, 256), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fc_sender_stop_holds_until_resend),
        cmocka_unit_test(test_fc_sender_dead_never_runs_again),
        TEST(test_fc_receiver_config_out_of_range_refused),
        TEST(test_fc_receiver_no_stop_no_memory),
        TEST(test_fc_receiver_room_grants_first_stopped_first),
        TEST(test_fc_receiver_room_shares_by_the_formula),
        TEST(test_fc_receiver_least_grant_goes_to_fewer),
        TEST(test_fc_receiver_reserved_slots_not_granted_twice),
        TEST(test_fc_receiver_last_packet_frees_rest_of_grant),
        TEST(test_fc_receiver_bytes_limit_the_grant),
        TEST(test_fc_receiver_own_ring_limits_its_owner_only),
        TEST(test_fc_receiver_everything_free_grants_any_size),
        TEST(test_fc_receiver_stopped_twice_queued_once),
        TEST(test_fc_receiver_robbed_grant_goes_first),
        TEST(test_fc_receiver_uncounted_grant_goes_last),
        TEST(test_fc_receiver_nic_busy_sender_keeps_its_place),
        TEST(test_fc_receiver_dead_sender_makes_room_for_next),
        TEST(test_fc_receiver_forget_releases_in_each_state),
        TEST(test_fc_receiver_silent_grant_expires_and_frees),
        TEST(test_fc_receiver_repeats_before_expiry),
        TEST(test_fc_receiver_arrival_renews_the_grant),
        TEST(test_fc_receiver_memory_follows_the_stopped),
        TEST(test_fc_receiver_walk_names_who_waits),
        cmocka_unit_test(test_fc_table_bytes_as_published),
    };
    return cmocka_run_group_tests_name("srq_flowctl", tests, NULL, NULL);
}
