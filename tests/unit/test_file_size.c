/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Files in memory of a process that has signals, and limits.  posix_fallocate() is replaced by what
 * older kernels make of it: it gives up when a signal is pending.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "common/file_size.h"

static volatile sig_atomic_t handled;
static unsigned interrupted, calls;

int __wrap_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate64(int fd, off_t offset, off_t len);

int __wrap_posix_fallocate(int fd, off_t offset, off_t len)
{
    sig_atomic_t before = handled;
    (void) len;
    calls++;
    assert_int_equal(offset, 4096);
    if (calls > 100)
        return EIO; /* it would go on for ever */
    raise(SIGALRM);
    if (handled != before || interrupted)
        return interrupted -= interrupted != 0, EINTR;
    return fd == 3 ? 0 : ENOSPC;
}

int __wrap_posix_fallocate64(int fd, off_t offset, off_t len)
{
    return __wrap_posix_fallocate(fd, offset, len);
}

static void count(int number)
{
    (void) number;
    handled++;
}

/* A timer that goes off in each call, as a profiler's does while a large file is reserved. */
static void test_file_size_signals_wait(void **state)
{
    (void) state;
    signal(SIGALRM, count);
    handled = 0;
    calls = 0;
    assert_int_equal(dnet_file_reserve(3, 4096, 1), 0);
    assert_int_equal(calls, 1);
    assert_int_equal(handled, 1); /* behind the call */
    assert_int_equal(dnet_file_reserve(4, 4096, 1), ENOSPC);
}

/* What no mask keeps away. */
static void test_file_size_interrupted_is_tried_again(void **state)
{
    (void) state;
    signal(SIGALRM, count);
    calls = 0;
    interrupted = 2;
    assert_int_equal(dnet_file_reserve(3, 4096, 1), 0);
    assert_int_equal(calls, 3);
}

static void test_file_size_limit(void **state)
{
    struct rlimit limit;
    (void) state;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = 1000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_true(dnet_file_size_allowed(1000));
    assert_false(dnet_file_size_allowed(1001));
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_file_size_signals_wait),
        cmocka_unit_test(test_file_size_interrupted_is_tried_again),
        cmocka_unit_test(test_file_size_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
