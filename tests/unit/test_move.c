/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How data get into memory that another process reads: the bytes, at each alignment and around each
 * boundary of length, and which way they go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/move.h"
#include "common/stream.h"

#define MOST 9000u
#define EDGE 128u

static uint8_t from[MOST + EDGE], to[MOST + 2 * EDGE];

static void check_bytes(void (*move)(uint8_t *at, const uint8_t *data, uint32_t bytes),
                        uint32_t bytes, unsigned from_at, unsigned to_at)
{
    memset(to, 0xa5, sizeof to);
    move(to + EDGE + to_at, from + from_at, bytes);
    for (unsigned i = 0; i < EDGE + to_at; i++)
        assert_int_equal(to[i], 0xa5);
    assert_true(memcmp(to + EDGE + to_at, from + from_at, bytes) == 0);
    for (size_t i = EDGE + to_at + bytes; i < sizeof to; i++)
        assert_int_equal(to[i], 0xa5);
}

static void check_all_bytes(void (*move)(uint8_t *at, const uint8_t *data, uint32_t bytes))
{
    static const uint32_t lengths[] = {0,    1,    7,    63,   64,   65,   127,  128,  383, 384,
                                       1000, 1023, 1024, 1535, 1536, 1600, 4096, 8168, 8200};

    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (uint8_t) (i * 7 + i / 251);
    for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (unsigned at = 0; at < 64; at += 1 + at % 5)
            check_bytes(move, lengths[l], at, 63 - at);
    }
}

static void streamed(uint8_t *at, const uint8_t *data, uint32_t bytes)
{
    dnet_stream_copy(at, data, bytes);
}

static void taken(uint8_t *at, const uint8_t *data, uint32_t bytes)
{
    dnet_take(at, data, bytes);
}

static void test_move_bytes_arrive(void **state)
{
    (void) state;
    check_all_bytes(dnet_move);
    check_all_bytes(streamed);
    check_all_bytes(taken);
}

/* Wherever source and destination lie in their pages: a little apart a string move is not used. */
static void test_move_bytes_arrive_at_all_places_of_a_page(void **state)
{
    static _Alignas(4096) uint8_t source[8192], target[12288];
    static const uint32_t lengths[] = {640, 700, 2048, 3072, 3137, 4100, 5000};
    void (*const moves[])(uint8_t *, const uint8_t *, uint32_t) = {dnet_move, taken};

    (void) state;
    for (unsigned i = 0; i < sizeof source; i++)
        source[i] = (uint8_t) (i * 11 + i / 241);
    for (unsigned m = 0; m < 2; m++)
        for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++)
            for (unsigned ahead = 0; ahead < 80; ahead++) {
                const uint8_t *data = source + 40 * l;
                uint8_t *at = target + 40 * l + ahead;

                memset(target, 0xa5, sizeof target);
                moves[m](at, data, lengths[l]);
                assert_true(memcmp(at, data, lengths[l]) == 0);
                for (const uint8_t *b = target; b < target + sizeof target; b++)
                    if (b < at || b >= at + lengths[l])
                        assert_int_equal(*b, 0xa5);
            }
}

/* To whole lines: the rest of the last one, and nothing behind it, may have changed. */
static void check_lines(void (*move)(uint8_t *, const uint8_t *, uint32_t))
{
    uint8_t *lines = to + EDGE - (uintptr_t) to % DNET_MOVE_LINE;

    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (uint8_t) (i * 7 + i / 251);
    for (uint32_t bytes = 0; bytes < 2100; bytes++) {
        uint32_t whole = (bytes + DNET_MOVE_LINE - 1) / DNET_MOVE_LINE * DNET_MOVE_LINE;

        memset(to, 0xa5, sizeof to);
        move(lines, from + bytes % 61, bytes);
        assert_true(memcmp(lines, from + bytes % 61, bytes) == 0);
        for (uint8_t *at = to; at < lines; at++)
            assert_int_equal(*at, 0xa5);
        for (uint8_t *at = lines + whole; at < to + sizeof to; at++)
            assert_int_equal(*at, 0xa5);
    }
}

static void stream_lines(uint8_t *at, const uint8_t *data, uint32_t bytes)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512bw")) {
        dnet_stream_lines(at, data, bytes);
        return;
    }
#endif
    memcpy(at, data, bytes);
}

static void test_move_lines_arrive(void **state)
{
    (void) state;
    check_lines(dnet_move_lines);
    check_lines(stream_lines);
}

/* A process may send to itself, over its own source. */
static void test_move_ranges_overlap(void **state)
{
    static _Alignas(DNET_MOVE_LINE) uint8_t area[MOST];
    static uint8_t expected[MOST];
    static const int steps[] = {-3000, -64, -1, 0, 1, 8, 100, 3000};

    (void) state;
    for (unsigned s = 0; s < sizeof steps / sizeof *steps; s++) {
        for (unsigned i = 0; i < MOST; i++)
            area[i] = expected[i] = (uint8_t) (i * 13 + i / 253);
        memmove(expected + 3000 + steps[s], expected + 3000, 3000);
        dnet_move(area + 3000 + steps[s], area + 3000, 3000);
        assert_true(memcmp(area, expected, MOST) == 0);
        dnet_move_lines(area + 64, area + 64 + 8, 900);
        memmove(expected + 64, expected + 64 + 8, 900);
        assert_true(memcmp(area + 64, expected + 64, 900) == 0);
        dnet_move_lines(area + 128, area + 64, 900);
        memmove(expected + 128, expected + 64, 900);
        assert_true(memcmp(area + 128, expected + 128, 900) == 0);
    }
}

/* Copies until the next one is timed. */
static unsigned until_timed(dnet_pace_t *pace, dnet_pace_way_t way)
{
    unsigned n = 0;

    for (dnet_pace_way_t w; (w = dnet_pace_way(pace, 8192)) != DNET_PACE_TIMED; n++)
        assert_int_equal(w, way);
    return n;
}

enum { LINES = 8192 / 64, FAST = LINES * 5, SLOW = LINES * 25 };

static void test_move_slow_lines_are_streamed(void **state)
{
    dnet_pace_t pace = {0};
    unsigned between;

    (void) state;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(until_timed(&pace, DNET_PACE_CACHED), i == 0 ? 0 : 32);
        dnet_pace_took(&pace, 8192, FAST);
    }
    /* Two are not enough, for they may have been interrupted; they are tried again at once. */
    until_timed(&pace, DNET_PACE_CACHED);
    dnet_pace_took(&pace, 8192, SLOW);
    assert_int_equal(until_timed(&pace, DNET_PACE_CACHED), 0);
    dnet_pace_took(&pace, 8192, SLOW);
    assert_int_equal(until_timed(&pace, DNET_PACE_CACHED), 0);
    dnet_pace_took(&pace, 8192, FAST);
    until_timed(&pace, DNET_PACE_CACHED);
    for (unsigned i = 0; i < 3; i++) {
        if (i > 0)
            assert_int_equal(until_timed(&pace, DNET_PACE_CACHED), 0);
        dnet_pace_took(&pace, 8192, SLOW);
    }
    between = until_timed(&pace, DNET_PACE_STREAMED);
    assert_true(between >= 50); /* what is timed costs more */
    /* Still slow: streamed at once.  Fast, as when the processors have moved: cached at once. */
    dnet_pace_took(&pace, 8192, SLOW);
    assert_int_equal(until_timed(&pace, DNET_PACE_STREAMED), between);
    dnet_pace_took(&pace, 8192, FAST);
    until_timed(&pace, DNET_PACE_CACHED);
}

/* Nor do they count for those that are timed. */
static void test_move_short_copies_are_cached(void **state)
{
    dnet_pace_t pace = {0};

    (void) state;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(dnet_pace_way(&pace, 767), DNET_PACE_CACHED);
        assert_int_equal(dnet_pace_way(&pace, 768), DNET_PACE_TIMED);
        dnet_pace_took(&pace, 768, 12 * 30);
    }
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal(dnet_pace_way(&pace, 767), DNET_PACE_CACHED);
    assert_int_equal(dnet_pace_way(&pace, 768), DNET_PACE_STREAMED);
}

/* What is timed has to wait for its stores, so of short copies it is one of many. */
static void test_move_is_timed_after_so_many_bytes(void **state)
{
    dnet_pace_t pace = {0};
    unsigned n = 0;

    (void) state;
    assert_int_equal(dnet_pace_way(&pace, 1024), DNET_PACE_TIMED);
    dnet_pace_took(&pace, 1024, 16 * 5);
    while (dnet_pace_way(&pace, 1024) == DNET_PACE_CACHED)
        n++;
    assert_int_equal(n, 256);
    dnet_pace_took(&pace, 1024, 16 * 5);
    for (n = 0; dnet_pace_way(&pace, 65536) == DNET_PACE_CACHED;)
        n++;
    assert_int_equal(n, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_move_bytes_arrive),
        cmocka_unit_test(test_move_bytes_arrive_at_all_places_of_a_page),
        cmocka_unit_test(test_move_lines_arrive),
        cmocka_unit_test(test_move_ranges_overlap),
        cmocka_unit_test(test_move_slow_lines_are_streamed),
        cmocka_unit_test(test_move_short_copies_are_cached),
        cmocka_unit_test(test_move_is_timed_after_so_many_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
