/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies of 1 MB and more: the bytes, and which way they go.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/bulk.h"

enum { MB = 1 << 20, OF_ONE_WAY = 5, TRIAL = 10, TRIAL_EACH = 512 };

/* So many copies, which take so long by either way.  @return how many were string moves */
static unsigned copies(dnet_bulk_t *b, size_t bytes, unsigned count, const uint64_t ns[])
{
    unsigned strings = 0;

    for (unsigned i = 0; i < count; i++) {
        bool timed;
        dnet_bulk_way_t way = dnet_bulk_way(b, bytes, &timed);

        if (timed)
            dnet_bulk_took(b, bytes, way, ns[way]);
        strings += way == DNET_BULK_STRING;
    }
    return strings;
}

static void test_bulk_bytes_arrive(void **state)
{
    static const size_t lengths[] = {0, 1, MB - 1, MB, MB + 1, 2 * MB + 7, 5 * MB};
    enum { MOST = 5 * MB, EDGE = 64 };
    uint8_t *from = malloc(MOST + EDGE), *to = malloc(MOST + 2 * EDGE);

    (void) state;
    for (size_t i = 0; i < MOST + EDGE; i++)
        from[i] = (uint8_t) (i * 7 + i / 251);
    for (unsigned l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        for (unsigned at = 0; at < 2 * TRIAL; at++) {
            memset(to, 0xa5, MOST + 2 * EDGE);
            dnet_bulk_copy(to + EDGE, from + at, lengths[l]);
            assert_int_equal(to[EDGE - 1], 0xa5);
            assert_true(memcmp(to + EDGE, from + at, lengths[l]) == 0);
            assert_int_equal(to[EDGE + lengths[l]], 0xa5);
        }
    }
    free(from);
    free(to);
}

static void test_bulk_goes_by_what_is_faster(void **state)
{
    static const uint64_t strings[] = {21000, 17500}, memcpys[] = {21000, 23000};
    dnet_bulk_t b = {0};

    (void) state;
    assert_int_equal(copies(&b, MB, OF_ONE_WAY, strings), 0);
    assert_int_equal(copies(&b, MB, OF_ONE_WAY, strings), OF_ONE_WAY);
    assert_int_equal(copies(&b, MB, TRIAL_EACH - TRIAL, strings), TRIAL_EACH - TRIAL);
    /* It is asked anew, and what was known before does not count. */
    assert_int_equal(copies(&b, MB, TRIAL, memcpys), OF_ONE_WAY);
    assert_int_equal(copies(&b, MB, TRIAL_EACH - TRIAL, memcpys), 0);
}

static void test_bulk_lengths_are_asked_for_each(void **state)
{
    static const uint64_t strings[] = {200000, 100000}, memcpys[] = {100000, 200000};
    dnet_bulk_t b = {0};

    (void) state;
    for (unsigned c = 0; c < DNET_BULK_CLASSES; c++)
        (void) copies(&b, (size_t) MB << c, TRIAL, c % 2 ? strings : memcpys);
    for (unsigned c = 0; c < DNET_BULK_CLASSES; c++)
        assert_int_equal(copies(&b, ((size_t) 2 * MB << c) - 1, 10, NULL), c % 2 ? 10 : 0);
    assert_int_equal(copies(&b, (size_t) 100 * MB, 10, NULL), 0); /* as 16 MB */
}

/* Three of each way are timed, the fastest of which counts; a MB of them, whatever their length. */
static void test_bulk_an_interruption_decides_nothing(void **state)
{
    (void) state;
    for (unsigned which = 0; which < TRIAL; which++) {
        dnet_bulk_t b = {0};

        for (unsigned i = 0; i < TRIAL; i++) {
            bool timed;
            size_t bytes = MB + i * (MB / TRIAL);
            dnet_bulk_way_t way = dnet_bulk_way(&b, bytes, &timed);
            uint64_t mb_ns = i == which ? 1000000 : way == DNET_BULK_STRING ? 17500 : 21000;

            if (timed)
                dnet_bulk_took(&b, bytes, way, mb_ns * bytes / MB);
        }
        assert_int_equal(copies(&b, MB, 10, NULL), 10);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bulk_bytes_arrive),
        cmocka_unit_test(test_bulk_goes_by_what_is_faster),
        cmocka_unit_test(test_bulk_lengths_are_asked_for_each),
        cmocka_unit_test(test_bulk_an_interruption_decides_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
