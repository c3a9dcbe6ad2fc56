/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/srq_flowctl, the two ends of a connection over a network that loses: the tables of the flow
 * control specification 8.3, row by row.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "srq_flowctl/connection.h"

#define EPOCH 7
#define FIRST 0xfffffffeu /* numbers wrap around in most tests */
#define LOG_MAX 256

static dnet_fc_control_t said[LOG_MAX]; /* control words, in order */
static unsigned says, taken;            /* how many; how many were expected so far */
static unsigned notes, deaths;
static dnet_fc_data_t sent[LOG_MAX];
static unsigned sends;

static void rx_control(void *arg, dnet_fc_rx_t *rx, const dnet_fc_control_t *word)
{
    (void) arg;
    (void) rx;
    said[says++ % LOG_MAX] = *word;
}

static void rx_note(void *arg, dnet_fc_rx_t *rx)
{
    (void) arg;
    (void) rx;
    notes++;
}

static void tx_transmit(void *arg, dnet_fc_tx_t *tx, const dnet_fc_data_t *data)
{
    (void) arg;
    (void) tx;
    sent[sends++ % LOG_MAX] = *data;
}

static void tx_control(void *arg, dnet_fc_tx_t *tx, const dnet_fc_control_t *word)
{
    (void) arg;
    (void) tx;
    said[says++ % LOG_MAX] = *word;
}

static void tx_acked(void *arg, dnet_fc_tx_t *tx, uint32_t una_seq)
{
    (void) arg;
    (void) tx;
    (void) una_seq;
}

static void tx_dead(void *arg, dnet_fc_tx_t *tx)
{
    (void) arg;
    (void) tx;
    deaths++;
}

static const dnet_fc_rx_ops_t rx_ops = {rx_control, rx_note};
static const dnet_fc_tx_ops_t tx_ops = {tx_transmit, tx_control, tx_acked, tx_dead};
static dnet_fc_pool_t pool;
static dnet_fc_rx_t rx;
static dnet_fc_tx_t tx;
static dnet_fc_tx_env_t env;

static int setup(void **state)
{
    (void) state;
    says = taken = notes = deaths = sends = 0;
    pool = (dnet_fc_pool_t){.ops = &rx_ops, .srq_id = 3, .free = 2};
    dnet_fc_rx_open(&rx, EPOCH, FIRST);
    env = dnet_fc_tx_defaults(&tx_ops, NULL);
    dnet_fc_tx_open(&tx, EPOCH, 3, FIRST);
    return 0;
}

/* The next control word is this one; packets are counted from FIRST. */
static void expect_word(dnet_fc_control_type_t type, unsigned packet)
{
    assert_true(taken < says);
    const dnet_fc_control_t *word = &said[taken++];
    assert_string_equal(dnet_fc_control_name((dnet_fc_control_type_t) word->type),
                        dnet_fc_control_name(type));
    assert_int_equal(word->seq, FIRST + packet);
    assert_int_equal(word->epoch, EPOCH);
    assert_int_equal(word->srq_id, 3);
}

static void expect_silence(void)
{
    assert_int_equal(taken, says);
}

static void expect_rx(const char *state)
{
    assert_string_equal(dnet_fc_rx_state_name((dnet_fc_rx_state_t) rx.state), state);
}

static void expect_tx(const char *state)
{
    assert_string_equal(dnet_fc_tx_state_name((dnet_fc_tx_state_t) tx.state), state);
}

static bool data_of(uint16_t epoch, unsigned packet, bool last)
{
    dnet_fc_data_t data = {.epoch = epoch, .last = last, .seq = FIRST + packet};
    return dnet_fc_rx_data(&rx, &pool, &data);
}

static bool data(unsigned packet)
{
    return data_of(EPOCH, packet, false);
}

static void to_rx(dnet_fc_control_type_t type, uint16_t epoch, unsigned packet)
{
    dnet_fc_control_t word = {.type = (uint8_t) type, .epoch = epoch, .seq = FIRST + packet};
    dnet_fc_rx_control(&rx, &pool, &word);
}

static void to_tx(dnet_fc_control_type_t type, unsigned packet, unsigned grant, unsigned credits)
{
    dnet_fc_control_t word = {.type = (uint8_t) type,
                              .credits = (uint8_t) credits,
                              .epoch = EPOCH,
                              .seq = FIRST + packet,
                              .grant_id = grant};
    dnet_fc_tx_control(&tx, &env, &word, 0);
}

static void start(unsigned packets)
{
    while (packets-- > 0)
        assert_int_equal(dnet_fc_tx_send(&tx, &env, 0), DNET_OK);
}

/* Packets transmitted since the last call: `count` from `packet` on. */
static void expect_sent(unsigned packet, unsigned count)
{
    assert_int_equal(sends, count);
    for (unsigned i = 0; i < count; i++)
        assert_int_equal(sent[i].seq, FIRST + packet + i);
    sends = 0;
}

/* The receiver HELD at packet 2, pool empty. */
static void hold(void)
{
    assert_true(data(0));
    assert_true(data(1));
    assert_false(data(2));
    expect_word(DNET_FC_CONTROL_ACK, 0);
    expect_word(DNET_FC_CONTROL_ACK, 1);
    expect_word(DNET_FC_CONTROL_STOP, 2);
    expect_rx("HELD");
    assert_int_equal(notes, 1);
}

/* ---- receiving NIC ---- */

static void test_fc_rx_wrong_epoch_discarded_without_a_word(void **state)
{
    (void) state;
    assert_false(data_of(EPOCH - 1, 0, false));
    assert_false(data_of(EPOCH + 1, 0, false));
    to_rx(DNET_FC_CONTROL_CLOSE, EPOCH - 1, 0);
    to_rx(DNET_FC_CONTROL_PROBE, EPOCH - 1, 0);
    expect_silence();
    expect_rx("OPEN");
}

static void test_fc_rx_old_packet_acknowledged_again(void **state)
{
    (void) state;
    assert_true(data(0));
    assert_false(data(0));
    expect_word(DNET_FC_CONTROL_ACK, 0);
    expect_word(DNET_FC_CONTROL_ACK, 0);
    assert_int_equal(pool.free, 1);
}

static void test_fc_rx_gap_asked_for_once_until_it_moves(void **state)
{
    (void) state;
    assert_false(data(1));
    assert_false(data(2));
    expect_word(DNET_FC_CONTROL_NAK, 0);
    expect_silence();
    assert_true(data(0));
    expect_word(DNET_FC_CONTROL_ACK, 0);
    assert_false(data(2));
    expect_word(DNET_FC_CONTROL_NAK, 1);
    expect_silence();
}

static void test_fc_rx_pool_empty_stops_and_notes(void **state)
{
    (void) state;
    hold();
    assert_int_equal(said[2].grant_id, 0);
    expect_silence();
}

static void test_fc_rx_held_discards_though_buffers_are_free(void **state)
{
    (void) state;
    hold();
    pool.free = 2;
    assert_false(data(2));
    assert_false(data(3));
    expect_silence();
    assert_int_equal(pool.free, 2);
}

static void test_fc_rx_probe_answered_in_each_state(void **state)
{
    (void) state;
    to_rx(DNET_FC_CONTROL_PROBE, EPOCH, 0);
    expect_word(DNET_FC_CONTROL_NAK, 0);
    hold();
    to_rx(DNET_FC_CONTROL_PROBE, EPOCH, 1);
    expect_word(DNET_FC_CONTROL_STOP, 2);
    assert_int_equal(notes, 1);
    pool.free = 1;
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 1), DNET_OK);
    expect_word(DNET_FC_CONTROL_RESEND, 2);
    to_rx(DNET_FC_CONTROL_PROBE, EPOCH, 2);
    expect_word(DNET_FC_CONTROL_RESEND, 2);
    assert_true(data(2));
    expect_word(DNET_FC_CONTROL_ACK, 2);
    to_rx(DNET_FC_CONTROL_PROBE, EPOCH, 2);
    expect_word(DNET_FC_CONTROL_ACK, 2);
    expect_silence();
}

static void test_fc_rx_grant_reserves_numbers_and_resends(void **state)
{
    (void) state;
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 1), DNET_ERR_STATE);
    hold();
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 1), DNET_NO_RESOURCE);
    expect_rx("HELD");
    pool.free = 3;
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 2), DNET_OK);
    assert_int_equal(pool.free, 1);
    expect_word(DNET_FC_CONTROL_RESEND, 2);
    assert_int_equal(said[taken - 1].credits, 2);
    assert_int_equal(said[taken - 1].grant_id, 1);
    expect_rx("GRANTED");
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 1), DNET_ERR_STATE);
    assert_int_equal(dnet_fc_rx_repeat(&rx, &pool), DNET_OK);
    assert_int_equal(said[taken].grant_id, 1);
    expect_word(DNET_FC_CONTROL_RESEND, 2);
}

static void test_fc_rx_granted_delivers_in_order_until_used_up(void **state)
{
    (void) state;
    hold();
    pool.free = 2;
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 2), DNET_OK);
    expect_word(DNET_FC_CONTROL_RESEND, 2);
    assert_false(data(3)); /* tail from before the stop */
    expect_silence();
    assert_true(data(2));
    expect_rx("GRANTED");
    assert_true(data(3));
    expect_rx("OPEN");
    assert_int_equal(pool.free, 0);
    assert_int_equal(dnet_fc_rx_repeat(&rx, &pool), DNET_ERR_STATE);
}

static void test_fc_rx_last_gives_the_rest_back(void **state)
{
    (void) state;
    hold();
    pool.free = 5;
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 5), DNET_OK);
    assert_true(data_of(EPOCH, 2, true));
    expect_rx("OPEN");
    assert_int_equal(pool.free, 4);
}

static void test_fc_rx_revoked_parks_until_probed(void **state)
{
    (void) state;
    hold();
    pool.free = 2;
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 2), DNET_OK);
    dnet_fc_rx_revoke(&rx, &pool);
    expect_rx("HELD");
    assert_int_equal(pool.free, 2);
    assert_false(data(2));
    assert_int_equal(notes, 1);
    to_rx(DNET_FC_CONTROL_PROBE, EPOCH, 2);
    to_rx(DNET_FC_CONTROL_PROBE, EPOCH, 2);
    assert_int_equal(notes, 2);
    assert_int_equal(said[says - 1].type, DNET_FC_CONTROL_STOP);
    assert_int_equal(said[says - 1].grant_id, 1);
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 1), DNET_OK);
    assert_int_equal(said[says - 1].grant_id, 2);
}

static void test_fc_rx_revoke_of_an_ended_grant_ignored(void **state)
{
    (void) state;
    dnet_fc_rx_revoke(&rx, &pool);
    expect_rx("OPEN");
    hold();
    dnet_fc_rx_revoke(&rx, &pool);
    assert_false(rx.parked);
}

static void test_fc_rx_close_releases_and_resets(void **state)
{
    (void) state;
    hold();
    pool.free = 2;
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 2), DNET_OK);
    expect_word(DNET_FC_CONTROL_RESEND, 2);
    to_rx(DNET_FC_CONTROL_CLOSE, EPOCH, 0);
    expect_silence();
    expect_rx("DEAD");
    assert_int_equal(pool.free, 2);
    assert_false(data(2));
    to_rx(DNET_FC_CONTROL_PROBE, EPOCH, 2);
    to_rx(DNET_FC_CONTROL_CLOSE, EPOCH, 2);
    assert_int_equal(says, taken + 2);
    assert_int_equal(said[taken].type, DNET_FC_CONTROL_RESET);
    assert_int_equal(said[taken + 1].type, DNET_FC_CONTROL_RESET);
}

static void test_fc_rx_receiver_closes_stopped_sender_told(void **state)
{
    (void) state;
    dnet_fc_rx_t open;
    dnet_fc_rx_open(&open, EPOCH, FIRST);
    dnet_fc_rx_close(&open, &pool, true);
    expect_silence();
    hold();
    dnet_fc_rx_close(&rx, &pool, true);
    assert_int_equal(said[taken++].type, DNET_FC_CONTROL_RESET);
    expect_silence();
}

/* ---- sender ---- */

static void test_fc_tx_transmits_up_to_the_window(void **state)
{
    (void) state;
    env.window = 3;
    start(5);
    expect_sent(0, 3);
    to_tx(DNET_FC_CONTROL_ACK, 1, 0, 0);
    expect_sent(3, 2);
    assert_int_equal(tx.una_seq, FIRST + 2);
}

static void test_fc_tx_last_marks_the_end_of_the_queue(void **state)
{
    (void) state;
    env.window = 1;
    start(2);
    assert_true(sent[0].last);
    to_tx(DNET_FC_CONTROL_NAK, 0, 0, 0);
    assert_false(sent[1].last);
    to_tx(DNET_FC_CONTROL_ACK, 0, 0, 0);
    assert_true(sent[2].last);
}

static void test_fc_tx_ack_of_nothing_sent_ignored(void **state)
{
    (void) state;
    start(2);
    to_tx(DNET_FC_CONTROL_ACK, 2, 0, 0);
    assert_int_equal(tx.una_seq, FIRST);
    to_tx(DNET_FC_CONTROL_ACK, 1, 0, 0);
    to_tx(DNET_FC_CONTROL_ACK, 0, 0, 0);
    assert_int_equal(tx.una_seq, FIRST + 2);
    assert_int_equal(tx.deadline_ns, UINT64_MAX);
}

static void test_fc_tx_stop_holds_back_and_acknowledges(void **state)
{
    (void) state;
    start(3);
    to_tx(DNET_FC_CONTROL_STOP, 1, 0, 0);
    expect_tx("STOPPED");
    assert_int_equal(tx.una_seq, FIRST + 1);
    start(2);
    expect_sent(0, 3);
    to_tx(DNET_FC_CONTROL_RESEND, 1, 1, 8);
    expect_tx("RUN");
    expect_sent(1, 4);
}

static void test_fc_tx_stop_of_nothing_under_way_ignored(void **state)
{
    (void) state;
    start(2);
    to_tx(DNET_FC_CONTROL_STOP, 2, 0, 0);
    expect_tx("RUN");
    to_tx(DNET_FC_CONTROL_ACK, 0, 0, 0);
    to_tx(DNET_FC_CONTROL_STOP, 0, 0, 0);
    to_tx(DNET_FC_CONTROL_STOP, 99, 0, 0);
    expect_tx("RUN");
}

static void test_fc_tx_late_stop_of_an_ended_period_ignored(void **state)
{
    (void) state;
    start(3);
    to_tx(DNET_FC_CONTROL_STOP, 0, 0, 0);
    to_tx(DNET_FC_CONTROL_RESEND, 0, 1, 1);
    to_tx(DNET_FC_CONTROL_STOP, 0, 0, 0);
    expect_tx("RUN");
    to_tx(DNET_FC_CONTROL_STOP, 0, 1, 0);
    expect_tx("STOPPED");
}

/* Departure from 8.3 (connection.h): whole grants may have been lost. */
static void test_fc_tx_stop_after_lost_grants_obeyed(void **state)
{
    (void) state;
    start(3);
    to_tx(DNET_FC_CONTROL_STOP, 0, 5, 0);
    expect_tx("STOPPED");
    to_tx(DNET_FC_CONTROL_RESEND, 0, 6, 1);
    expect_tx("RUN");
    assert_int_equal(tx.last_grant, 6);
}

static void test_fc_tx_resend_that_overtook_its_stop_obeyed(void **state)
{
    (void) state;
    start(3);
    expect_sent(0, 3);
    to_tx(DNET_FC_CONTROL_RESEND, 1, 1, 8);
    expect_sent(1, 2);
    to_tx(DNET_FC_CONTROL_RESEND, 1, 3, 8); /* a later grant: the one between was lost */
    expect_sent(1, 2);
    assert_int_equal(tx.last_grant, 3);
}

static void test_fc_tx_resend_repeated_transmits_again(void **state)
{
    (void) state;
    start(3);
    to_tx(DNET_FC_CONTROL_STOP, 0, 0, 0);
    to_tx(DNET_FC_CONTROL_RESEND, 0, 1, 8);
    sends = 0;
    to_tx(DNET_FC_CONTROL_RESEND, 0, 1, 8);
    expect_sent(0, 3);
    /* Departure from 8.3: it acknowledges what came before. */
    to_tx(DNET_FC_CONTROL_RESEND, 2, 1, 8);
    expect_sent(2, 1);
    assert_int_equal(tx.una_seq, FIRST + 2);
}

static void test_fc_tx_old_resend_ignored_in_both_states(void **state)
{
    (void) state;
    start(3);
    to_tx(DNET_FC_CONTROL_STOP, 0, 0, 0);
    to_tx(DNET_FC_CONTROL_RESEND, 0, 2, 8);
    sends = 0;
    to_tx(DNET_FC_CONTROL_RESEND, 0, 1, 8);
    expect_sent(0, 0);
    to_tx(DNET_FC_CONTROL_STOP, 0, 2, 0);
    to_tx(DNET_FC_CONTROL_RESEND, 0, 2, 8);
    to_tx(DNET_FC_CONTROL_RESEND, 0, 1, 8);
    expect_tx("STOPPED");
    expect_sent(0, 0);
}

static void test_fc_tx_credits_limit_until_the_first_ack(void **state)
{
    (void) state;
    start(6);
    to_tx(DNET_FC_CONTROL_STOP, 0, 0, 0);
    sends = 0;
    to_tx(DNET_FC_CONTROL_RESEND, 0, 1, 2);
    expect_sent(0, 2);
    to_tx(DNET_FC_CONTROL_ACK, 0, 0, 0);
    expect_sent(2, 4);
}

static void test_fc_tx_nak_goes_back_and_ends_a_stop(void **state)
{
    (void) state;
    start(3);
    sends = 0;
    to_tx(DNET_FC_CONTROL_NAK, 1, 0, 0);
    expect_sent(1, 2);
    to_tx(DNET_FC_CONTROL_STOP, 1, 0, 0);
    /* Departure from 8.3 (connection.h): the receiver is OPEN. */
    to_tx(DNET_FC_CONTROL_NAK, 1, 0, 0);
    expect_tx("RUN");
    expect_sent(1, 2);
}

static void test_fc_tx_ack_of_the_stopped_packet_ends_a_stop(void **state)
{
    (void) state;
    start(3);
    to_tx(DNET_FC_CONTROL_STOP, 1, 0, 0);
    sends = 0;
    to_tx(DNET_FC_CONTROL_ACK, 0, 0, 0);
    expect_tx("STOPPED");
    to_tx(DNET_FC_CONTROL_ACK, 1, 0, 0);
    expect_tx("RUN");
    expect_sent(2, 1);
}

static void test_fc_tx_word_of_another_epoch_ignored(void **state)
{
    (void) state;
    start(1);
    dnet_fc_control_t word = {.type = DNET_FC_CONTROL_RESET, .epoch = EPOCH + 1, .seq = FIRST};
    dnet_fc_tx_control(&tx, &env, &word, 0);
    word.type = DNET_FC_CONTROL_STOP;
    dnet_fc_tx_control(&tx, &env, &word, 0);
    expect_tx("RUN");
}

static void test_fc_tx_reset_fails_everything_once(void **state)
{
    (void) state;
    start(2);
    to_tx(DNET_FC_CONTROL_RESET, 0, 0, 0);
    expect_tx("DEAD");
    assert_int_equal(deaths, 1);
    assert_int_equal(dnet_fc_tx_send(&tx, &env, 0), DNET_ERR_PEER_DEAD);
    to_tx(DNET_FC_CONTROL_RESEND, 0, 1, 1);
    dnet_fc_tx_close(&tx, &env);
    expect_tx("DEAD");
    assert_int_equal(deaths, 1);
    assert_int_equal(tx.deadline_ns, UINT64_MAX);
}

static void test_fc_tx_close_tells_the_receiver(void **state)
{
    (void) state;
    start(2);
    dnet_fc_tx_close(&tx, &env);
    expect_word(DNET_FC_CONTROL_CLOSE, 0);
    assert_int_equal(deaths, 1);
}

/* 8.7: T_ack 100 us, T_stop 10 ms, doubled up to 1 s, +-25 %; dead after 7 PROBEs without an
 * answer. */
static void test_fc_tx_silence_probed_slower_and_slower_then_dead(void **state)
{
    (void) state;
    static const char *const names[] = {"RUN", "STOPPED"};
    for (unsigned stopped = 0; stopped < 2; stopped++) {
        setup(NULL);
        start(1);
        if (stopped)
            to_tx(DNET_FC_CONTROL_STOP, 0, 0, 0);
        uint64_t now = 0;
        bool jitter = false;
        for (unsigned i = 0; i <= 7; i++) {
            uint64_t wait = (stopped ? env.stop_ns : env.ack_ns) << i;
            wait = wait > env.probe_max_ns ? env.probe_max_ns : wait;
            uint64_t next = tx.deadline_ns;
            assert_in_range(next - now, wait * 3 / 4, wait * 5 / 4);
            jitter |= next - now != wait;
            expect_tx(names[stopped]);
            dnet_fc_tx_timer(&tx, &env, next - 1);
            expect_silence();
            dnet_fc_tx_timer(&tx, &env, next);
            if (i < 7)
                expect_word(DNET_FC_CONTROL_PROBE, 0);
            now = next;
        }
        assert_true(jitter);
        expect_silence();
        expect_tx("DEAD");
        assert_int_equal(deaths, 1);
    }
}

/* Where room shows only when a packet is delivered. */
static void test_fc_rx_refused_on_delivery_stops_and_is_granted_again(void **state)
{
    (void) state;
    dnet_fc_data_t next = {.epoch = EPOCH, .seq = FIRST},
                   later = {.epoch = EPOCH, .seq = FIRST + 1},
                   foreign = {.epoch = EPOCH + 1, .seq = FIRST};
    assert_true(dnet_fc_rx_expects(&rx, &next));
    assert_false(dnet_fc_rx_expects(&rx, &later));
    assert_false(dnet_fc_rx_expects(&rx, &foreign));
    dnet_fc_rx_refused(&rx, &pool);
    expect_rx("HELD");
    expect_word(DNET_FC_CONTROL_STOP, 0);
    assert_int_equal(notes, 1);
    assert_false(dnet_fc_rx_expects(&rx, &next));
    /* A grant that its process could not keep: it is told again, and the rest is given back. */
    assert_int_equal(dnet_fc_rx_grant(&rx, &pool, 2), DNET_OK);
    expect_word(DNET_FC_CONTROL_RESEND, 0);
    assert_true(dnet_fc_rx_expects(&rx, &next));
    dnet_fc_rx_refused(&rx, &pool);
    expect_rx("HELD");
    expect_word(DNET_FC_CONTROL_STOP, 0);
    assert_int_equal(notes, 2);
    assert_int_equal(pool.free, 2);
    expect_silence();
}

static void test_fc_tx_any_answer_ends_the_silence(void **state)
{
    (void) state;
    start(1);
    for (unsigned i = 0; i < 50; i++) {
        dnet_fc_tx_timer(&tx, &env, tx.deadline_ns);
        expect_word(DNET_FC_CONTROL_PROBE, 0);
        to_tx(DNET_FC_CONTROL_STOP, 0, 0, 0);
        assert_true(tx.deadline_ns <= env.stop_ns * 5 / 4);
    }
    expect_tx("STOPPED");
}

static void test_fc_names_of_values_not_in_the_lists(void **state)
{
    (void) state;
    assert_string_equal(dnet_fc_rx_state_name((dnet_fc_rx_state_t) 99), "?");
    assert_string_equal(dnet_fc_control_name((dnet_fc_control_type_t) 99), "?");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        TEST(test_fc_rx_wrong_epoch_discarded_without_a_word),
        TEST(test_fc_rx_old_packet_acknowledged_again),
        TEST(test_fc_rx_gap_asked_for_once_until_it_moves),
        TEST(test_fc_rx_pool_empty_stops_and_notes),
        TEST(test_fc_rx_held_discards_though_buffers_are_free),
        TEST(test_fc_rx_probe_answered_in_each_state),
        TEST(test_fc_rx_grant_reserves_numbers_and_resends),
        TEST(test_fc_rx_granted_delivers_in_order_until_used_up),
        TEST(test_fc_rx_last_gives_the_rest_back),
        TEST(test_fc_rx_revoked_parks_until_probed),
        TEST(test_fc_rx_revoke_of_an_ended_grant_ignored),
        TEST(test_fc_rx_close_releases_and_resets),
        TEST(test_fc_rx_receiver_closes_stopped_sender_told),
        TEST(test_fc_rx_refused_on_delivery_stops_and_is_granted_again),
        TEST(test_fc_tx_transmits_up_to_the_window),
        TEST(test_fc_tx_last_marks_the_end_of_the_queue),
        TEST(test_fc_tx_ack_of_nothing_sent_ignored),
        TEST(test_fc_tx_stop_holds_back_and_acknowledges),
        TEST(test_fc_tx_stop_of_nothing_under_way_ignored),
        TEST(test_fc_tx_late_stop_of_an_ended_period_ignored),
        TEST(test_fc_tx_stop_after_lost_grants_obeyed),
        TEST(test_fc_tx_resend_that_overtook_its_stop_obeyed),
        TEST(test_fc_tx_resend_repeated_transmits_again),
        TEST(test_fc_tx_old_resend_ignored_in_both_states),
        TEST(test_fc_tx_credits_limit_until_the_first_ack),
        TEST(test_fc_tx_nak_goes_back_and_ends_a_stop),
        TEST(test_fc_tx_ack_of_the_stopped_packet_ends_a_stop),
        TEST(test_fc_tx_word_of_another_epoch_ignored),
        TEST(test_fc_tx_reset_fails_everything_once),
        TEST(test_fc_tx_close_tells_the_receiver),
        TEST(test_fc_tx_silence_probed_slower_and_slower_then_dead),
        TEST(test_fc_tx_any_answer_ends_the_silence),
        TEST(test_fc_names_of_values_not_in_the_lists),
    };
    return cmocka_run_group_tests_name("fc_connection", tests, NULL, NULL);
}
