/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/replay: the generated pattern's counts, and time lines that can be worked out by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "replay/replay.h"

static dnet_replay_result_t run(const dnet_replay_program_t *program, uint32_t buffers, bool replay)
{
    dnet_replay_config_t config = {
        .buffers = buffers, .penalty_ns = 5000, .wire_ns = 1000, .call_ns = 100, .replay = replay};
    dnet_replay_result_t result;
    assert_int_equal(dnet_replay_run(program, &config, &result), DNET_OK);
    return result;
}

/* 7.1: 6 c sends of each rank and iteration; one iteration more than niter. */
static void test_replay_pattern_has_the_published_messages(void **state)
{
    (void) state;
    static const struct {
        uint32_t ranks, c;
    } row[] = {{16, 4}, {100, 10}, {196, 14}};
    for (unsigned i = 0; i < 3; i++) {
        dnet_replay_program_t program;
        assert_int_equal(dnet_replay_generate(DNET_REPLAY_BT, row[i].ranks, 2, 5, 1, &program),
                         DNET_OK);
        dnet_replay_result_t result = run(&program, 1000, false);
        assert_int_equal(result.messages, 6 * row[i].c * 3 * row[i].ranks);
        assert_int_equal(result.events, 0);
        dnet_replay_free(&program);
    }
}

static void test_replay_not_a_square_refused(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    assert_int_equal(dnet_replay_generate(DNET_REPLAY_SP, 99, 1, 0, 1, &program),
                     DNET_ERR_ARGUMENT);
    assert_int_equal(dnet_replay_generate(DNET_REPLAY_SP, 16, 0, 0, 1, &program),
                     DNET_ERR_ARGUMENT);
}

/* 8.10.8, in STATIC mode: the events do not grow with B, and end. */
static void test_replay_events_fall_with_buffers_to_none(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    assert_int_equal(dnet_replay_generate(DNET_REPLAY_SP, 64, 5, 5, 1, &program), DNET_OK);
    uint64_t before = UINT64_MAX;
    uint64_t time_ns = run(&program, 1000, false).time_ns;
    for (uint32_t b = 1; before != 0; b++) {
        assert_true(b < 100);
        dnet_replay_result_t result = run(&program, b, false);
        assert_true(result.events <= before);
        assert_int_equal(result.time_ns, time_ns);
        before = result.events;
    }
    dnet_replay_free(&program);
}

/* Two senders to a rank that computes 1 ms; each sends two messages and waits. */
static void two_senders(dnet_replay_call_t sender[2][3], dnet_replay_call_t receiver[5],
                        dnet_replay_rank_t ranks[3], dnet_replay_program_t *program_p)
{
    static dnet_replay_channel_t channel[2] = {{1, 0}, {2, 0}};
    for (unsigned s = 0; s < 2; s++) {
        sender[s][0] = (dnet_replay_call_t){0, DNET_REPLAY_SEND, s};
        sender[s][1] = (dnet_replay_call_t){0, DNET_REPLAY_SEND, s};
        sender[s][2] = (dnet_replay_call_t){0, DNET_REPLAY_WAIT, 0};
        ranks[1 + s] = (dnet_replay_rank_t){sender[s], 3, 3};
    }
    for (unsigned i = 0; i < 4; i++)
        receiver[i] = (dnet_replay_call_t){i == 0 ? 1000000 : 0, DNET_REPLAY_RECV, i / 2};
    receiver[4] = (dnet_replay_call_t){0, DNET_REPLAY_WAIT, 0};
    ranks[0] = (dnet_replay_rank_t){receiver, 5, 5};
    *program_p = (dnet_replay_program_t){3, 2, ranks, channel};
}

static void test_replay_computing_receiver_stops_whom_it_has_no_room_for(void **state)
{
    (void) state;
    dnet_replay_call_t sender[2][3], receiver[5];
    dnet_replay_rank_t ranks[3];
    dnet_replay_program_t program;
    two_senders(sender, receiver, ranks, &program);
    /* Arrivals 1, 2, 1, 2 in turn: with B buffers the senders whose messages find none. */
    static const unsigned events[] = {0, 2, 2, 1, 0};
    for (uint32_t b = 1; b <= 4; b++)
        for (unsigned mode = 0; mode < 2; mode++)
            assert_int_equal(run(&program, b, mode == 1).events, events[b]);
}

static void test_replay_held_message_costs_the_penalty(void **state)
{
    (void) state;
    dnet_replay_call_t sender[2][3], receiver[5];
    dnet_replay_rank_t ranks[3];
    dnet_replay_program_t program;
    two_senders(sender, receiver, ranks, &program);
    /* Room is made by the first call after computing, at 1 ms. */
    assert_int_equal(run(&program, 4, true).time_ns, 1000000 + 4 * 100);
    assert_int_equal(run(&program, 3, true).time_ns, 1000000 + 5000);
    assert_int_equal(run(&program, 3, false).time_ns, 1000000 + 4 * 100);
}

static void test_replay_receive_nobody_sends_refused(void **state)
{
    (void) state;
    dnet_replay_call_t call[2] = {{0, DNET_REPLAY_RECV, 0}, {0, DNET_REPLAY_WAIT, 0}};
    dnet_replay_rank_t rank = {call, 2, 2};
    dnet_replay_channel_t channel = {0, 0};
    dnet_replay_program_t program = {1, 1, &rank, &channel};
    dnet_replay_config_t config = {.buffers = 1};
    dnet_replay_result_t result;
    assert_int_equal(dnet_replay_run(&program, &config, &result), DNET_ERR_STATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay_pattern_has_the_published_messages),
        cmocka_unit_test(test_replay_not_a_square_refused),
        cmocka_unit_test(test_replay_events_fall_with_buffers_to_none),
        cmocka_unit_test(test_replay_computing_receiver_stops_whom_it_has_no_room_for),
        cmocka_unit_test(test_replay_held_message_costs_the_penalty),
        cmocka_unit_test(test_replay_receive_nobody_sends_refused),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
