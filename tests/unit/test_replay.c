/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/replay: the generated pattern's counts, time lines that can be worked out by hand, traces
 * written and read back, traces that are malformed, and the traces of docs/replay.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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
static void two_senders(dnet_replay_program_t *program_p)
{
    assert_int_equal(dnet_replay_new(3, program_p), DNET_OK);
    for (uint32_t sender = 1; sender <= 2; sender++) {
        uint32_t channel = dnet_replay_channel(program_p, sender, 0, 7);
        for (uint32_t i = 0; i < 2; i++) {
            dnet_replay_add(program_p, sender, DNET_REPLAY_SEND, 0, channel, 8);
            dnet_replay_wait_for(program_p, sender, i);
            dnet_replay_add(program_p, 0, DNET_REPLAY_RECV, sender == 1 && i == 0 ? 1000000 : 0,
                            channel, 8);
            dnet_replay_wait_for(program_p, 0, 2 * (sender - 1) + i);
        }
        dnet_replay_wait(program_p, sender, 0);
    }
    dnet_replay_wait(program_p, 0, 0);
    assert_int_equal(dnet_replay_finish(program_p), DNET_OK);
}

static void test_replay_computing_receiver_stops_whom_it_has_no_room_for(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    two_senders(&program);
    /* Arrivals 1, 2, 1, 2 in turn: with B buffers the senders whose messages find none. */
    static const unsigned events[] = {0, 2, 2, 1, 0};
    for (uint32_t b = 1; b <= 4; b++)
        for (unsigned mode = 0; mode < 2; mode++)
            assert_int_equal(run(&program, b, mode == 1).events, events[b]);
    dnet_replay_free(&program);
}

static void test_replay_held_message_costs_the_penalty(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    two_senders(&program);
    /* Room is made by the first call after computing, at 1 ms. */
    assert_int_equal(run(&program, 4, true).time_ns, 1000000 + 4 * 100);
    assert_int_equal(run(&program, 3, true).time_ns, 1000000 + 5000);
    assert_int_equal(run(&program, 3, false).time_ns, 1000000 + 4 * 100);
    dnet_replay_free(&program);
}

/* The third arrival of four leaves 3 of 6 buffers, fewer than 4: once, until room is made. */
static void test_replay_low_mark_counts_once_and_delays_the_receiver(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    dnet_replay_result_t result;
    dnet_replay_config_t config = {.buffers = 6,
                                   .mark = 4,
                                   .penalty_ns = 5000,
                                   .wire_ns = 1000,
                                   .call_ns = 100,
                                   .replay = true};
    two_senders(&program);
    assert_int_equal(dnet_replay_run(&program, &config, &result), DNET_OK);
    assert_int_equal(result.events, 1);
    assert_int_equal(result.time_ns, 1000000 + 4 * 100 + 5000);
    config.buffers = 8;
    assert_int_equal(dnet_replay_run(&program, &config, &result), DNET_OK);
    assert_int_equal(result.events, 0);
    dnet_replay_free(&program);
}

/* Room made at waits only: a call that does not wait lets no message in. */
static void test_replay_release_at_waits_holds_longer(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    dnet_replay_result_t result;
    dnet_replay_config_t config = {.buffers = 3,
                                   .penalty_ns = 5000,
                                   .wire_ns = 1000,
                                   .call_ns = 100,
                                   .replay = true,
                                   .at_waits = true};
    two_senders(&program);
    assert_int_equal(dnet_replay_run(&program, &config, &result), DNET_OK);
    assert_int_equal(result.time_ns, 1000000 + 4 * 100 + 5000);
    dnet_replay_free(&program);
}

static void test_replay_wait_names_its_requests(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    assert_int_equal(dnet_replay_new(2, &program), DNET_OK);
    uint32_t early = dnet_replay_channel(&program, 0, 1, 1);
    uint32_t late = dnet_replay_channel(&program, 0, 1, 2);
    dnet_replay_add(&program, 0, DNET_REPLAY_SEND, 0, early, 1);
    dnet_replay_add(&program, 0, DNET_REPLAY_SEND, 500000, late, 1);
    dnet_replay_add(&program, 1, DNET_REPLAY_RECV, 0, late, 1);
    dnet_replay_add(&program, 1, DNET_REPLAY_RECV, 0, early, 1);
    dnet_replay_wait_for(&program, 1, 1);
    dnet_replay_wait(&program, 1, 0);
    dnet_replay_wait_for(&program, 1, 0);
    dnet_replay_wait(&program, 1, 600000);
    /* The first wait ends with the early message, at 1 us; the late one comes during computing. */
    assert_int_equal(run(&program, 9, true).time_ns, 1000 + 100 + 600000);
    dnet_replay_free(&program);
}

static void test_replay_synchronising_call_ends_for_all_at_once(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    assert_int_equal(dnet_replay_new(3, &program), DNET_OK);
    for (uint32_t i = 0; i < 3; i++) {
        dnet_replay_add(&program, i, DNET_REPLAY_SYNC, 1000 * (i + 1), 0, 0);
        dnet_replay_add(&program, i, DNET_REPLAY_OTHER, 50 * (3 - i), 0, 0);
    }
    assert_int_equal(run(&program, 1, true).time_ns, 3000 + 100 + 150);
    dnet_replay_add(&program, 0, DNET_REPLAY_SYNC, 0, 0, 0);
    dnet_replay_config_t config = {.buffers = 1};
    dnet_replay_result_t result;
    assert_int_equal(dnet_replay_run(&program, &config, &result), DNET_ERR_STATE);
    dnet_replay_free(&program);
}

static void test_replay_receive_nobody_sends_refused(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    assert_int_equal(dnet_replay_new(1, &program), DNET_OK);
    dnet_replay_add(&program, 0, DNET_REPLAY_RECV, 0, dnet_replay_channel(&program, 0, 0, 0), 1);
    dnet_replay_wait_for(&program, 0, 0);
    dnet_replay_wait(&program, 0, 0);
    dnet_replay_config_t config = {.buffers = 1};
    dnet_replay_result_t result;
    assert_int_equal(dnet_replay_run(&program, &config, &result), DNET_ERR_STATE);
    dnet_replay_free(&program);
}

/* The time is that of the rank that computes longest, whether it makes calls or not. */
static void test_replay_rank_without_calls_has_its_time(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    assert_int_equal(dnet_replay_new(2, &program), DNET_OK);
    dnet_replay_add(&program, 0, DNET_REPLAY_OTHER, 500, 0, 0);
    program.rank[0].last_gap_ns = 100;
    program.rank[1].last_gap_ns = 7000;
    assert_int_equal(dnet_replay_finish(&program), DNET_OK);
    assert_int_equal(run(&program, 1, true).time_ns, 7000);
    dnet_replay_free(&program);
}

/* What a rank takes by calls that a trace has not stays in its buffers until its next call, and at
 * its end, in MPI_Finalize, is in nobody's way. */
static void test_replay_messages_nobody_receives_are_let_in_at_the_end(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    assert_int_equal(dnet_replay_new(2, &program), DNET_OK);
    uint32_t channel = dnet_replay_channel(&program, 1, 0, 7);
    for (uint32_t i = 0; i < 3; i++) {
        dnet_replay_add(&program, 1, DNET_REPLAY_SEND, 0, channel, 8);
        dnet_replay_wait_for(&program, 1, i);
        dnet_replay_wait(&program, 1, 0);
    }
    dnet_replay_add(&program, 0, DNET_REPLAY_OTHER, 0, 0, 0);
    program.rank[0].last_gap_ns = 1000000;
    assert_int_equal(dnet_replay_finish(&program), DNET_OK);
    /* With one buffer the second waits for the end of rank 0; the third finds room at once. */
    assert_int_equal(run(&program, 1, true).time_ns, 1000000 + 5000 + 100 + 1000);
    assert_int_equal(run(&program, 3, true).time_ns, 1000000);
    dnet_replay_free(&program);
}

/* Thesis table 7.3: 6 partners in bt and sp. */
static void test_replay_pattern_has_six_partners(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    dnet_replay_partners_t partners;
    assert_int_equal(dnet_replay_generate(DNET_REPLAY_SP, 64, 1, 0, 1, &program), DNET_OK);
    assert_int_equal(dnet_replay_partners(&program, &partners), DNET_OK);
    assert_int_equal(partners.least, 6);
    assert_int_equal(partners.most, 6);
    assert_int_equal(partners.messages, 64 * 6 * 8 * 2);
    dnet_replay_free(&program);
}

/* A trace in memory. */
typedef struct {
    char *at;
    size_t size;
} memory_t;

static memory_t written(const dnet_replay_program_t *program, uint32_t tick_ns)
{
    memory_t m;
    FILE *out = open_memstream(&m.at, &m.size);
    assert_non_null(out);
    assert_int_equal(dnet_replay_to_trace(program, tick_ns, "pattern", out), DNET_OK);
    fclose(out);
    return m;
}

static void read_back(const memory_t *m, dnet_calls_t *trace)
{
    memset(trace, 0, sizeof(*trace));
    assert_int_equal(dnet_calls_parse(trace, (const uint8_t *) m->at, m->size, "memory"), DNET_OK);
    assert_int_equal(dnet_calls_complete(trace), DNET_OK);
}

static void assert_same(const dnet_replay_program_t *a, const dnet_replay_program_t *b)
{
    assert_int_equal(a->ranks, b->ranks);
    for (uint32_t i = 0; i < a->ranks; i++) {
        assert_int_equal(a->rank[i].count, b->rank[i].count);
        for (uint32_t c = 0; c < a->rank[i].count; c++) {
            const dnet_replay_call_t *x = &a->rank[i].call[c], *y = &b->rank[i].call[c];
            assert_int_equal(x->kind, y->kind);
            assert_int_equal(x->amount, y->amount);
            assert_int_equal(x->gap_ns, y->gap_ns);
            if (x->kind <= DNET_REPLAY_RECV)
                assert_int_equal(a->channel[x->where].dst, b->channel[y->where].dst);
        }
        assert_int_equal(a->rank[i].waits, b->rank[i].waits);
        assert_memory_equal(a->rank[i].waited, b->rank[i].waited,
                            a->rank[i].waits * sizeof(uint32_t));
    }
}

static void test_trace_written_program_is_read_back(void **state)
{
    (void) state;
    dnet_replay_program_t program, again;
    dnet_calls_t trace;
    assert_int_equal(dnet_replay_generate(DNET_REPLAY_BT, 16, 40, 5, 3, &program), DNET_OK);
    memory_t m = written(&program, 1); /* 40 iterations: several blocks a rank */
    read_back(&m, &trace);
    assert_string_equal(trace.rank[5].name, "pattern");
    assert_int_equal(dnet_replay_from_trace(&trace, &again), DNET_OK);
    assert_same(&program, &again);
    dnet_replay_free(&again);
    dnet_calls_free(&trace);
    free(m.at);
    dnet_replay_free(&program);
}

static void test_trace_coarse_tick_keeps_the_sum_of_gaps(void **state)
{
    (void) state;
    dnet_replay_program_t program;
    dnet_calls_t trace;
    assert_int_equal(dnet_replay_generate(DNET_REPLAY_SP, 16, 3, 5, 3, &program), DNET_OK);
    memory_t m = written(&program, 1000);
    read_back(&m, &trace);
    uint64_t exact = program.rank[2].last_gap_ns, rounded = trace.rank[2].last_gap_ns;
    for (uint32_t c = 0; c < program.rank[2].count; c++) {
        exact += program.rank[2].call[c].gap_ns;
        rounded += trace.rank[2].record[c].gap_ns;
    }
    assert_in_range(exact - rounded, 0, 999);
    dnet_calls_free(&trace);
    free(m.at);
    dnet_replay_free(&program);
}

/* Rank 1 receives from any source; what it got stands before the wait. */
static void any_source(memory_t *m, bool match)
{
    dnet_calls_writer_t *w;
    int64_t send[4] = {1, 5, 0, 100}, any[4] = {-1, -1, 0, 200}, got[3] = {1, 0, 5}, age = 1;
    FILE *out = open_memstream(&m->at, &m->size);
    assert_int_equal(dnet_calls_begin(out, 0, 2, 10, "any", &w), DNET_OK);
    dnet_calls_record(w, DNET_CALLS_SEND, send, 4, 100);
    assert_int_equal(dnet_calls_end(w, 0, 0), DNET_OK);
    assert_int_equal(dnet_calls_begin(out, 1, 2, 10, "any", &w), DNET_OK);
    dnet_calls_record(w, DNET_CALLS_IRECV, any, 4, 0);
    if (match)
        dnet_calls_record(w, DNET_CALLS_MATCH, got, 3, 0);
    dnet_calls_record(w, DNET_CALLS_WAIT, &age, 1, 0);
    assert_int_equal(dnet_calls_end(w, 0, 0), DNET_OK);
    fclose(out);
}

static void test_trace_wildcard_receive_gets_its_match(void **state)
{
    (void) state;
    for (unsigned match = 0; match < 2; match++) {
        memory_t m;
        dnet_calls_t trace;
        dnet_replay_program_t program;
        dnet_replay_config_t config = {.buffers = 1};
        dnet_replay_result_t result;
        any_source(&m, match);
        read_back(&m, &trace);
        assert_int_equal(dnet_replay_from_trace(&trace, &program), DNET_OK);
        assert_int_equal(dnet_replay_run(&program, &config, &result),
                         match ? DNET_OK : DNET_ERR_STATE);
        dnet_replay_free(&program);
        dnet_calls_free(&trace);
        free(m.at);
    }
}

/* What went wrong with the file is what went wrong first, not what errno is at the end. */
static void test_trace_full_disk_is_told_at_the_end(void **state)
{
    (void) state;
    FILE *out = fopen("/dev/full", "wb");
    if (out == NULL)
        skip();
    dnet_calls_writer_t *w;
    assert_int_equal(dnet_calls_begin(out, 0, 1, 1, "full", &w), DNET_OK);
    for (unsigned i = 0; i < 20000; i++)
        dnet_calls_record(w, DNET_CALLS_OTHER, NULL, 0, i);
    errno = 0;
    assert_int_equal(dnet_calls_end(w, 0, 0), DNET_ERR_SYSTEM);
    assert_int_equal(errno, ENOSPC);
    fclose(out);
}

/* Every prefix of a trace is refused, and so is every trace with a byte of its header changed. */
static void test_trace_cut_or_changed_refused(void **state)
{
    (void) state;
    memory_t m;
    any_source(&m, true);
    size_t first = 0; /* of the second section */
    for (size_t i = 1; i + 8 < m.size; i++)
        if (memcmp(m.at + i, DNET_CALLS_MAGIC, 8) == 0)
            first = i;
    for (size_t size = 0; size < m.size; size++) {
        dnet_calls_t trace = {0};
        dnet_status_t status = dnet_calls_parse(&trace, (const uint8_t *) m.at, size, "cut");
        if (size == first)
            assert_int_equal(dnet_calls_complete(&trace), DNET_ERR_FORMAT);
        else
            assert_int_equal(status, DNET_ERR_FORMAT);
        dnet_calls_free(&trace);
    }
    for (size_t i = 0; i < 24; i++) {
        dnet_calls_t trace = {0};
        m.at[i] ^= (char) 0x80;
        dnet_status_t status = dnet_calls_parse(&trace, (const uint8_t *) m.at, m.size, "changed");
        /* Bytes 20 to 23 are the tick: any but 0 is one. */
        assert_int_equal(status, i < 20 ? DNET_ERR_FORMAT : DNET_OK);
        dnet_calls_free(&trace);
        m.at[i] ^= (char) 0x80;
    }
    free(m.at);
}

static void test_trace_impossible_records_refused(void **state)
{
    (void) state;
    static const struct {
        dnet_calls_op_t op;
        uint32_t arguments;
        int64_t argument[4];
    } bad[] = {
        {DNET_CALLS_SEND, 4, {1, 0, 0, 8}}, /* a rank that is not there */
        {DNET_CALLS_ISEND, 4, {-1, 0, 0, 8}},
        {DNET_CALLS_IRECV, 4, {0, 1ll << 40, 0, 8}},
        {DNET_CALLS_RECV, 4, {0, 0, 0, -8}},
        {DNET_CALLS_WAIT, 1, {1}}, /* of a request that was never made */
        {DNET_CALLS_WAIT, 1, {-1}},
        {DNET_CALLS_MATCH, 3, {1, 0, 0}},
    };
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        memory_t m;
        dnet_calls_writer_t *w;
        dnet_calls_t trace;
        dnet_replay_program_t program;
        FILE *out = open_memstream(&m.at, &m.size);
        assert_int_equal(dnet_calls_begin(out, 0, 1, 1, "bad", &w), DNET_OK);
        dnet_calls_record(w, bad[i].op, bad[i].argument, bad[i].arguments, 0);
        assert_int_equal(dnet_calls_end(w, 0, 0), DNET_OK);
        fclose(out);
        read_back(&m, &trace);
        assert_int_equal(dnet_replay_from_trace(&trace, &program), DNET_ERR_FORMAT);
        dnet_calls_free(&trace);
        free(m.at);
    }
}

/* docs/replay: its commands still make the traces that are there, with the result it states. */
static void test_trace_kept_ones_are_the_pattern(void **state)
{
    (void) state;
    const char *source = getenv("DNET_SRC");
    static const struct {
        const char *file;
        dnet_replay_shape_t shape;
        uint32_t ranks;
    } kept[] = {{"bt-100", DNET_REPLAY_BT, 100},
                {"bt-196", DNET_REPLAY_BT, 196},
                {"sp-100", DNET_REPLAY_SP, 100},
                {"sp-196", DNET_REPLAY_SP, 196}};
    if (source == NULL)
        skip();
    for (unsigned i = 0; i < 4; i++) {
        char path[4096];
        dnet_calls_t trace = {0}, again;
        dnet_replay_program_t program, pattern;
        snprintf(path, sizeof(path), "%s/docs/replay/%s.dnt.gz", source, kept[i].file);
        assert_int_equal(dnet_calls_load(&trace, path), DNET_OK);
        assert_int_equal(dnet_calls_complete(&trace), DNET_OK);
        assert_int_equal(dnet_replay_from_trace(&trace, &program), DNET_OK);
        assert_int_equal(dnet_replay_generate(kept[i].shape, kept[i].ranks, 20, 5, 1, &pattern),
                         DNET_OK);
        memory_t m = written(&pattern, 128);
        dnet_replay_free(&pattern);
        read_back(&m, &again);
        assert_int_equal(dnet_replay_from_trace(&again, &pattern), DNET_OK);
        assert_same(&program, &pattern);
        assert_int_equal(run(&program, 5, true).events != 0, 1);
        assert_int_equal(run(&program, 6, true).events, 0);
        free(m.at);
        dnet_calls_free(&again);
        dnet_calls_free(&trace);
        dnet_replay_free(&pattern);
        dnet_replay_free(&program);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_replay_pattern_has_the_published_messages),
        cmocka_unit_test(test_replay_not_a_square_refused),
        cmocka_unit_test(test_replay_events_fall_with_buffers_to_none),
        cmocka_unit_test(test_replay_computing_receiver_stops_whom_it_has_no_room_for),
        cmocka_unit_test(test_replay_held_message_costs_the_penalty),
        cmocka_unit_test(test_replay_low_mark_counts_once_and_delays_the_receiver),
        cmocka_unit_test(test_replay_release_at_waits_holds_longer),
        cmocka_unit_test(test_replay_wait_names_its_requests),
        cmocka_unit_test(test_replay_synchronising_call_ends_for_all_at_once),
        cmocka_unit_test(test_replay_receive_nobody_sends_refused),
        cmocka_unit_test(test_replay_rank_without_calls_has_its_time),
        cmocka_unit_test(test_replay_messages_nobody_receives_are_let_in_at_the_end),
        cmocka_unit_test(test_replay_pattern_has_six_partners),
        cmocka_unit_test(test_trace_written_program_is_read_back),
        cmocka_unit_test(test_trace_coarse_tick_keeps_the_sum_of_gaps),
        cmocka_unit_test(test_trace_wildcard_receive_gets_its_match),
        cmocka_unit_test(test_trace_full_disk_is_told_at_the_end),
        cmocka_unit_test(test_trace_cut_or_changed_refused),
        cmocka_unit_test(test_trace_impossible_records_refused),
        cmocka_unit_test(test_trace_kept_ones_are_the_pattern),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
