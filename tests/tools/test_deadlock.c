/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-stat's verdict about ranks that wait: a deadlock where none can go on, and none where one
 * waits for somebody who can.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tools/stat/stat.h"

#define RANKS 3u
#define NOBODY (UINT32_MAX - 2) /* in the list of whom a rank waits for */

static stat_rank_t rank[RANKS];

/* A job of `size` ranks, of which each waits for up to two others, in receives. */
static stat_deadlock_t judge(uint32_t size, const uint32_t whom[][2])
{
    for (uint32_t r = 0; r < size; r++) {
        rank[r] = (stat_rank_t){.state = STAT_WAITS};
        dnet_page_t *p = &rank[r].now;
        p->rank = r;
        p->size = size;
        for (unsigned i = 0; i < 2; i++)
            if (whom[r][i] != NOBODY)
                p->wait[p->waits++] = (dnet_wait_t){.kind = DNET_WAIT_RECEIVE, .rank = whom[r][i]};
    }
    return stat_deadlock(rank, size);
}

static void test_deadlock_circle_is_certain(void **state)
{
    (void) state;
    stat_deadlock_t d = judge(3, (const uint32_t[][2]){{2, NOBODY}, {0, NOBODY}, {1, NOBODY}});
    assert_true(d.certain && d.circle);
    assert_int_equal(d.path_count, 4);
}

static void test_deadlock_all_wait_for_any(void **state)
{
    (void) state;
    const uint32_t any = DNET_EP_NO_RANK;
    stat_deadlock_t d = judge(2, (const uint32_t[][2]){{any, NOBODY}, {any, NOBODY}});
    assert_true(d.certain && !d.circle);
    assert_int_equal(d.path_count, 2);
}

/* A server waits for its clients, parents for their children. */
static void test_deadlock_none_with_a_process_of_another_job(void **state)
{
    (void) state;
    const uint32_t other = DNET_WAIT_OTHER_JOB;
    assert_int_equal(judge(1, (const uint32_t[][2]){{other, NOBODY}}).path_count, 0);
    assert_int_equal(
        judge(3, (const uint32_t[][2]){{other, NOBODY}, {0, NOBODY}, {1, NOBODY}}).path_count, 0);
    stat_deadlock_t d = judge(2, (const uint32_t[][2]){{1, other}, {0, NOBODY}});
    assert_true(d.circle && !d.certain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_deadlock_circle_is_certain),
        cmocka_unit_test(test_deadlock_all_wait_for_any),
        cmocka_unit_test(test_deadlock_none_with_a_process_of_another_job),
    };
    return cmocka_run_group_tests_name("deadlock", tests, NULL, NULL);
}
