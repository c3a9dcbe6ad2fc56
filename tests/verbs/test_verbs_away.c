/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank that computes for longer than another host may be silent, and had no answer before: what
 * was not asked for counts as no silence.  The clock is the test's, and answers of alive.c can be
 * lost.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "emulator/swif/hosts/alive.h"
#include "endpoint/ep.h"
#include "fabric.h"
#include "job.h"

enum { CONTEXT = 3, WAIT_S = 10, ASK_MS = 300 };

static const int two[] = {0, 1};
static long ahead_ms; /* of the real clock */
static bool deaf;

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
bool __real_dnet_emu_alive_answer(dnet_emu_alive_t *a, uint32_t *tag_p, bool *gone_p);
bool __wrap_dnet_emu_alive_answer(dnet_emu_alive_t *a, uint32_t *tag_p, bool *gone_p);

int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    int error = __real_clock_gettime(clock, t);
    t->tv_nsec += ahead_ms % 1000 * 1000000;
    t->tv_sec += ahead_ms / 1000 + t->tv_nsec / 1000000000;
    t->tv_nsec %= 1000000000;
    return error;
}

bool __wrap_dnet_emu_alive_answer(dnet_emu_alive_t *a, uint32_t *tag_p, bool *gone_p)
{
    while (__real_dnet_emu_alive_answer(a, tag_p, gone_p))
        if (!deaf)
            return true;
    return false;
}

static bool is_lost(const dnet_job_rank_t *job, uint32_t peer)
{
    dnet_drv_target_t target = job->ep->peers[peer].target;
    return job->ep->dev->ops->peer_lost(job->ep->dev, dnet_drv_target_lid(target),
                                        dnet_drv_target_wid(target));
}

/* The other one is asked, and the answer is lost or waits; a while later it still is not lost. */
static int asks(dnet_job_rank_t *job)
{
    for (unsigned i = 0; i < 2; i++) {
        ahead_ms += ASK_MS;
        if (is_lost(job, 1))
            return 1;
    }
    usleep(50000);
    return is_lost(job, 1);
}

static int compute(dnet_job_rank_t *job, bool *loses)
{
    uint8_t byte = 0;
    if (dnet_job_send(job, 1, dnet_ep_envelope(CONTEXT, 0, 1), &byte, 1, true) ||
        dnet_job_recv(job, dnet_ep_envelope(CONTEXT, 1, 2), DNET_MATCH_BITS, &byte, 1) != 1)
        return 1;
    deaf = true;
    if (asks(job))
        return 2;
    dnet_job_settle(job); /* an adapter's answer is found so */
    deaf = false;
    ahead_ms += (WAIT_S + 2) * 1000; /* it computes */
    if (is_lost(job, 1))
        return 3;
    if (!*loses)
        return 0;
    deaf = true;
    for (long end = ahead_ms + (WAIT_S - 1) * 1000; ahead_ms < end; ahead_ms += ASK_MS)
        if (is_lost(job, 1))
            return 4;
    for (long end = ahead_ms + 2 * 1000; ahead_ms < end && !is_lost(job, 1);)
        ahead_ms += ASK_MS;
    return is_lost(job, 1) ? 0 : 5;
}

static int body(dnet_job_rank_t *job, void *arg)
{
    atomic_int *ended = dnet_job_shared();
    uint8_t byte = 0;
    if (job->rank == 0) {
        int bad = compute(job, arg);
        if (bad)
            fprintf(stderr, "rank 0: step %d goes wrong\n", bad);
        atomic_store(ended, 1);
        _exit(bad);
    }
    if (dnet_job_recv(job, dnet_ep_envelope(CONTEXT, 0, 1), DNET_MATCH_BITS, &byte, 1) != 1 ||
        dnet_job_send(job, 0, dnet_ep_envelope(CONTEXT, 1, 2), &byte, 1, true))
        return 1;
    while (!atomic_load(ended))
        usleep(1000);
    _exit(0);
}

/* Its thread answers, or does not. */
static void test_verbs_away_by_ip(void **state)
{
    bool loses = true;
    (void) state;
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, body, &loses), 0);
}

/* Its adapter answers, and that is found when the process polls again. */
static void test_verbs_away_by_adapter(void **state)
{
    bool loses = false;
    (void) state;
    setenv("DNET_FAKE_VERBS_KIND", "ib", 1);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, body, &loses), 0);
    unsetenv("DNET_FAKE_VERBS_KIND");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verbs_away_by_ip),
        cmocka_unit_test(test_verbs_away_by_adapter),
    };
    (void) argc;
    if (!dnet_fabric_begin(argv))
        return 1;
    setenv("DIMMNET_SPIN_US", "0", 1); /* the hosts share this machine's processors */
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dnet_fabric_end();
    return failed;
}
