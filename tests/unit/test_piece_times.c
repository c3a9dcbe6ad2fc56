/* SPDX-License-Identifier: BSD-3-Clause
 *
 * When messages go through the ring in pieces: while they are tried, and while the two copies of a
 * piece are fast, and faster than the kernel's; what counts of a trial, and how long the pause
 * after it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "endpoint/piece_times.h"

enum { FAST_NS = 2000, SLOW_NS = 3600, INTERRUPTED_NS = 1000000 };
/* Pieces of the shortest pause, and of the longest. */
enum { PAUSE = (256 << 20) / DNET_PIECE_BYTES, LONGEST = 32 * PAUSE };
enum { TRIAL = DNET_TRIAL_BYTES / DNET_PIECE_BYTES, FIRST_LAP = 32 };

static dnet_pace_t pace;
/* It is not tried. */
static dnet_kernel_times_t kernel = {.pause = UINT64_MAX};

static int forget_pace(void **state)
{
    (void) state;
    dnet_pace_anew(&pace);
    return 0;
}

static void send_pieces(dnet_piece_times_t *t, unsigned count, uint64_t sent_ns, uint64_t taken_ns)
{
    for (unsigned i = 0; i < count; i++) {
        dnet_piece_sent(t, DNET_PIECE_BYTES, sent_ns);
        dnet_piece_taken(t, DNET_PIECE_BYTES, taken_ns);
    }
}

/* Pieces that go otherwise until the next trial. */
static unsigned pause_of(dnet_piece_times_t *t)
{
    unsigned n = 0;

    while (n < 1000000 && !dnet_pieces_are_fast(t, DNET_PIECE_BYTES, &pace, &kernel))
        n++;
    return n;
}

static void test_pieces_are_tried_and_stay_while_they_are_fast(void **state)
{
    dnet_piece_times_t t = {0};

    (void) state;
    for (unsigned i = 0; i < 20 * TRIAL; i++) {
        assert_true(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
        send_pieces(&t, 1, FAST_NS, FAST_NS);
    }
    send_pieces(&t, 200, FAST_NS, SLOW_NS);
    assert_false(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
}

static void test_pieces_of_the_first_lap_do_not_count(void **state)
{
    dnet_piece_times_t t = {0};

    (void) state;
    send_pieces(&t, FIRST_LAP, SLOW_NS, SLOW_NS);
    assert_true(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
    send_pieces(&t, TRIAL - FIRST_LAP, FAST_NS, FAST_NS);
    assert_true(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
}

/* Shorter ones count by their bytes. */
static void test_halves_of_pieces_count_as_halves(void **state)
{
    dnet_piece_times_t t = {0};

    (void) state;
    for (unsigned i = 0; i < 2 * TRIAL; i++) {
        assert_int_equal(t.sent.counted == 0, i <= 2 * FIRST_LAP);
        dnet_piece_sent(&t, DNET_PIECE_BYTES / 2, SLOW_NS / 2);
        dnet_piece_taken(&t, DNET_PIECE_BYTES / 2, FAST_NS / 2);
    }
    assert_int_equal(t.sent.ns, SLOW_NS);
    assert_int_equal(t.taken.ns, FAST_NS);
    assert_false(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
}

static void test_one_piece_that_was_interrupted_decides_nothing(void **state)
{
    (void) state;
    for (unsigned which = 0; which < TRIAL; which++) {
        dnet_piece_times_t t = {0};

        for (unsigned i = 0; i < TRIAL; i++)
            send_pieces(&t, 1, i == which ? INTERRUPTED_NS : FAST_NS, FAST_NS);
        assert_true(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
    }
}

/* Where the kernel is little slower than pieces are. */
static void test_one_piece_that_is_interrupted_later_decides_nothing(void **state)
{
    dnet_piece_times_t t = {0};
    dnet_kernel_times_t k = kernel;

    (void) state;
    k.known_ns = 2 * FAST_NS + 800;
    send_pieces(&t, TRIAL, FAST_NS, FAST_NS);
    send_pieces(&t, 1, INTERRUPTED_NS, FAST_NS);
    assert_true(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &k));
    send_pieces(&t, 3, 3 * FAST_NS, FAST_NS);
    assert_false(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &k));
}

static void test_pauses_double_while_pieces_are_slow(void **state)
{
    dnet_piece_times_t t = {0};
    unsigned due = PAUSE;

    (void) state;
    for (unsigned trial = 0; trial < 12; trial++) {
        send_pieces(&t, TRIAL, SLOW_NS, FAST_NS);
        assert_int_equal(pause_of(&t), due);
        due = due < LONGEST ? 2 * due : due;
    }
    send_pieces(&t, TRIAL, FAST_NS, FAST_NS);
    assert_true(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
    send_pieces(&t, 500, SLOW_NS, FAST_NS);
    assert_int_equal(pause_of(&t), PAUSE);
}

/* Where pieces take more than 9/8 of the kernel's time the first pause is 2 GB. */
static void test_clearly_slow_pieces_rest_longer(void **state)
{
    static const struct {
        int64_t known_ns;
        unsigned due;
    } cases[] = {
        {2 * FAST_NS, PAUSE}, {16 * FAST_NS / 9 + 1, PAUSE}, {16 * FAST_NS / 9 - 9, 8 * PAUSE}};
    dnet_kernel_times_t before = kernel;

    (void) state;
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        dnet_piece_times_t t = {0};

        kernel.known_ns = cases[c].known_ns;
        send_pieces(&t, TRIAL, FAST_NS, FAST_NS);
        assert_int_equal(pause_of(&t), cases[c].due);
        send_pieces(&t, TRIAL, FAST_NS, FAST_NS);
        assert_int_equal(pause_of(&t), 2 * cases[c].due);
    }
    kernel = before;
}

/* What others would send as pieces meanwhile counts for the pause, and after it may come so. */
static void test_pieces_of_others_rest_as_well(void **state)
{
    dnet_piece_times_t t = {0};
    unsigned n = 0;

    (void) state;
    assert_false(dnet_pieces_rest(&t, DNET_PIECE_BYTES));
    send_pieces(&t, TRIAL, SLOW_NS, FAST_NS);
    assert_false(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
    while (n < 10000 && dnet_pieces_rest(&t, 4 * DNET_PIECE_BYTES))
        n++;
    assert_int_equal(n, PAUSE / 4 - 1);
    assert_true(t.rest > 0);
    assert_int_equal(pause_of(&t), 3);
    assert_false(dnet_pieces_rest(&t, DNET_PIECE_BYTES));
}

static void lines_come_slowly(void)
{
    for (unsigned i = 0; i < 3; i++)
        dnet_pace_took(&pace, DNET_PIECE_BYTES, DNET_PIECE_BYTES / DNET_MOVE_LINE * 25);
}

/* Not begun, where that is known, and later looked at anew. */
static void test_a_trial_ends_where_lines_come_slowly(void **state)
{
    dnet_piece_times_t t = {0};

    (void) state;
    lines_come_slowly();
    assert_int_equal(pause_of(&t), PAUSE);
    assert_false(dnet_pace_is_slow(&pace));
    send_pieces(&t, 1, SLOW_NS, FAST_NS);
    lines_come_slowly();
    assert_int_equal(pause_of(&t), 2 * PAUSE);
    send_pieces(&t, TRIAL, FAST_NS, FAST_NS);
    for (unsigned i = 0; i < 20 * TRIAL; i++)
        assert_true(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
}

static void test_a_receiver_that_says_nothing_is_not_counted(void **state)
{
    dnet_piece_times_t t = {0};

    (void) state;
    send_pieces(&t, 2 * TRIAL, SLOW_NS, 0);
    assert_true(dnet_pieces_are_fast(&t, DNET_PIECE_BYTES, &pace, &kernel));
    assert_int_equal(t.taken.ns, 0);
}

/* A window of messages is announced before a piece of its first one is sent: 16 MB of it are the
 * trial, and after 32 MB that went otherwise as many again, should it not have come to an end. */
static void test_no_more_is_announced_than_a_trial_needs(void **state)
{
    enum { LONG = 4 << 20, TRIED = 4, OTHERS = 9 };
    dnet_piece_times_t t = {0};
    dnet_kernel_times_t k = {0};

    (void) state;
    for (unsigned again = 0; again < 3; again++) {
        for (unsigned i = 0; i < TRIED; i++)
            assert_true(dnet_pieces_are_fast(&t, LONG, &pace, &k));
        for (unsigned i = 0; i < OTHERS; i++)
            assert_false(dnet_pieces_are_fast(&t, LONG, &pace, &k));
    }
    assert_true(dnet_pieces_are_fast(&t, (size_t) 1 << 30, &pace, &k));
    send_pieces(&t, TRIAL, SLOW_NS, SLOW_NS);
    assert_int_equal(pause_of(&t), PAUSE);
    for (unsigned i = 0; i < TRIED; i++)
        assert_true(dnet_pieces_are_fast(&t, LONG, &pace, &k));
    assert_false(dnet_pieces_are_fast(&t, LONG, &pace, &k));
}

enum {
    MESSAGE = 1 << 20,
    TRIAL_MESSAGES = 64,
    BEGINS = 4 << 20,
    KERNEL_FAST_NS = 2700,
    KERNEL_SLOW_NS = 9000
};

/* After its first bytes copies of the kernel count. */
static void kernel_copies(dnet_kernel_times_t *k, uint64_t own_ns, uint32_t told_ns)
{
    for (unsigned i = 0; i < 2 * BEGINS / DNET_PIECE_BYTES; i++) {
        if (own_ns)
            dnet_kernel_copied(k, DNET_PIECE_BYTES, own_ns);
        dnet_kernel_told(k, DNET_PIECE_BYTES, told_ns);
    }
}

/* Messages that go otherwise until one goes in pieces; and those until one does not. */
static unsigned not_in_pieces(dnet_piece_times_t *t, dnet_kernel_times_t *k, unsigned most)
{
    unsigned n = 0;

    while (n < most && !dnet_pieces_are_fast(t, MESSAGE, &pace, k))
        n++;
    return n;
}

static unsigned in_pieces(dnet_piece_times_t *t, dnet_kernel_times_t *k, unsigned most)
{
    unsigned n = 0;

    while (n < most && dnet_pieces_are_fast(t, MESSAGE, &pace, k))
        n++;
    return n;
}

/* For 64 messages, and then not for sixteen times as many, or more. */
static void test_the_kernel_is_tried_while_pieces_are_fast(void **state)
{
    dnet_piece_times_t t = {0};
    dnet_kernel_times_t k = {0};
    unsigned pause = 16 * TRIAL_MESSAGES;

    (void) state;
    send_pieces(&t, TRIAL, FAST_NS, FAST_NS);
    for (unsigned trial = 0; trial < 6; trial++) {
        /* The first one of later trials has ended the loop below. */
        assert_int_equal(not_in_pieces(&t, &k, 1000), TRIAL_MESSAGES - (trial ? 2 : 1));
        assert_int_equal(in_pieces(&t, &k, 10000), pause - 1);
        pause = pause < 4096 ? 2 * pause : pause;
    }
}

/* Of short messages 16 MB, of very long ones 256. */
static void test_a_trial_of_the_kernel_is_bounded(void **state)
{
    static const struct {
        size_t bytes;
        unsigned messages;
    } cases[] = {{128 << 10, 128}, {8 << 20, 32}, {1 << 30, 1}};

    (void) state;
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        dnet_piece_times_t t = {0};
        dnet_kernel_times_t k = {0};
        unsigned n = 0;

        send_pieces(&t, TRIAL, FAST_NS, FAST_NS);
        while (n < 1000 && !dnet_pieces_are_fast(&t, cases[c].bytes, &pace, &k))
            n++;
        assert_int_equal(n, cases[c].messages - 1);
    }
}

static void test_what_is_faster_stays(void **state)
{
    static const struct {
        uint64_t own_ns;
        uint32_t told_ns;
        bool pieces;
    } cases[] = {
        {KERNEL_SLOW_NS, KERNEL_SLOW_NS, true},
        {KERNEL_FAST_NS, KERNEL_FAST_NS, false},
        {0, KERNEL_FAST_NS, false},
        {KERNEL_FAST_NS, 0, false},
        {KERNEL_SLOW_NS, 0, true},
        {KERNEL_FAST_NS, KERNEL_SLOW_NS, false}, /* 4154, as one is done while the other lasts */
        {2 * FAST_NS + 400, 2 * FAST_NS + 400, true},
        {2 * FAST_NS + 200, 2 * FAST_NS + 200, false},
    };

    (void) state;
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        dnet_piece_times_t t = {0};
        dnet_kernel_times_t k = {0};

        send_pieces(&t, TRIAL, FAST_NS, FAST_NS);
        assert_false(dnet_pieces_are_fast(&t, MESSAGE, &pace, &k));
        kernel_copies(&k, cases[c].own_ns, cases[c].told_ns);
        /* The trial goes on, or pieces rest. */
        (void) not_in_pieces(&t, &k, cases[c].pieces ? TRIAL_MESSAGES : 15);
        assert_int_equal(in_pieces(&t, &k, 200), cases[c].pieces ? 200 : 0);
        assert_int_equal(dnet_pieces_were_fast(&t, &k), cases[c].pieces);
    }
}

static void test_without_the_kernel_pieces_keep_to_a_constant(void **state)
{
    dnet_piece_times_t t = {0};

    (void) state;
    send_pieces(&t, TRIAL, FAST_NS, FAST_NS);
    for (unsigned i = 0; i < 10000; i++)
        assert_true(dnet_pieces_are_fast(&t, MESSAGE, &pace, NULL));
    send_pieces(&t, 200, FAST_NS, SLOW_NS);
    assert_false(dnet_pieces_are_fast(&t, MESSAGE, &pace, NULL));
}

/* What was not read lately comes from farther away, and what was interrupted says nothing. */
static void test_first_copies_of_the_kernel_do_not_count(void **state)
{
    dnet_kernel_times_t k = {0};

    (void) state;
    for (unsigned i = 0; i < BEGINS / DNET_PIECE_BYTES; i++)
        dnet_kernel_copied(&k, DNET_PIECE_BYTES, KERNEL_SLOW_NS);
    assert_int_equal(k.own.counted, 0);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(k.known_ns, 0);
        dnet_kernel_copied(&k, DNET_PIECE_BYTES, KERNEL_FAST_NS);
    }
    assert_int_equal(k.known_ns, KERNEL_FAST_NS);
    dnet_kernel_copied(&k, DNET_PIECE_BYTES, INTERRUPTED_NS);
    assert_true(k.known_ns < 2 * KERNEL_FAST_NS);
    dnet_kernel_told(&k, 0, KERNEL_FAST_NS);
    assert_int_equal(k.told.counted, 0);
}

/* One of 128 KB, and none of a length that only a peer out of order can name. */
static void test_one_piece_of_128_kb_is_timed(void **state)
{
    unsigned timed = 0;

    (void) state;
    for (uint32_t piece = 0; piece < 32; piece++) {
        assert_int_equal(dnet_piece_is_timed(piece, DNET_PIECE_BYTES), piece % 2 == 1);
        assert_int_equal(dnet_piece_is_timed(piece, 32768), piece % 4 == 1);
        timed += dnet_piece_is_timed(piece, 0) + dnet_piece_is_timed(piece, 16383) +
                 dnet_piece_is_timed(piece, DNET_PIECE_BYTES + 1) +
                 dnet_piece_is_timed(piece, UINT32_MAX);
    }
    assert_int_equal(timed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_pieces_are_tried_and_stay_while_they_are_fast, forget_pace),
        cmocka_unit_test_setup(test_pieces_of_the_first_lap_do_not_count, forget_pace),
        cmocka_unit_test_setup(test_halves_of_pieces_count_as_halves, forget_pace),
        cmocka_unit_test_setup(test_one_piece_of_128_kb_is_timed, forget_pace),
        cmocka_unit_test_setup(test_one_piece_that_was_interrupted_decides_nothing, forget_pace),
        cmocka_unit_test_setup(test_one_piece_that_is_interrupted_later_decides_nothing,
                               forget_pace),
        cmocka_unit_test_setup(test_pauses_double_while_pieces_are_slow, forget_pace),
        cmocka_unit_test_setup(test_clearly_slow_pieces_rest_longer, forget_pace),
        cmocka_unit_test_setup(test_pieces_of_others_rest_as_well, forget_pace),
        cmocka_unit_test_setup(test_a_trial_ends_where_lines_come_slowly, forget_pace),
        cmocka_unit_test_setup(test_a_receiver_that_says_nothing_is_not_counted, forget_pace),
        cmocka_unit_test_setup(test_no_more_is_announced_than_a_trial_needs, forget_pace),
        cmocka_unit_test_setup(test_the_kernel_is_tried_while_pieces_are_fast, forget_pace),
        cmocka_unit_test_setup(test_a_trial_of_the_kernel_is_bounded, forget_pace),
        cmocka_unit_test_setup(test_what_is_faster_stays, forget_pace),
        cmocka_unit_test_setup(test_without_the_kernel_pieces_keep_to_a_constant, forget_pace),
        cmocka_unit_test_setup(test_first_copies_of_the_kernel_do_not_count, forget_pace),
    };

    return cmocka_run_group_tests_name("piece_times", tests, NULL, NULL);
}
