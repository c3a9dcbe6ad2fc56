/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receive rings of their own for frequent partners (docs/flow-control.md section 6): they change
 * hands under way, and no message is lost or overtaken; who has one does not fill the others' ring.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "job.h"

enum { CONTEXT = 1, TAG = 5, LEN = 3000 };

static atomic_uint *stage;

static int send_numbered(dnet_job_rank_t *job, uint32_t to, uint32_t number, size_t len)
{
    uint32_t data[LEN / 4];
    for (size_t i = 0; i < len / 4; i++)
        data[i] = number + (uint32_t) i;
    return dnet_job_send(job, to, dnet_ep_envelope(CONTEXT, job->rank, TAG), data, len, false);
}

static int receive_numbered(dnet_job_rank_t *job, uint32_t from, uint32_t number, size_t len)
{
    uint32_t data[LEN / 4];
    bool good = dnet_job_recv(job, dnet_ep_envelope(CONTEXT, from, TAG), DNET_MATCH_BITS, data,
                              sizeof(data)) == (long) len;
    for (size_t i = 0; good && i < len / 4; i++)
        good = data[i] == number + (uint32_t) i;
    if (!good)
        fprintf(stderr, "message %u of rank %u is wrong\n", number, from);
    return !good;
}

/* In each phase another sender is the frequent one, and all send now and then. */
static int phases(dnet_job_rank_t *job, void *arg)
{
    enum { PHASES = 6, MANY = 4000, FEW = 40 };
    uint32_t sent = 0, got[8] = {0};
    int bad = 0;
    (void) arg;
    dnet_job_barrier(job);
    for (uint32_t phase = 0; phase < PHASES && !bad; phase++) {
        uint32_t frequent = 1 + phase % (job->size - 1);
        for (uint32_t i = 0; job->rank && i < (job->rank == frequent ? MANY : FEW) && !bad;
             i++, sent++)
            bad = send_numbered(job, 0, sent, sent % 7 == 0 ? 200 : LEN);
        for (uint32_t from = 1; !job->rank && from < job->size; from++)
            for (uint32_t i = 0; i < (from == frequent ? MANY : FEW) && !bad; i++, got[from]++)
                bad = receive_numbered(job, from, got[from], got[from] % 7 == 0 ? 200 : LEN);
        dnet_job_barrier(job);
    }
    if (!job->rank && dnet_ep_counters(job->ep)->rings_given < job->size - 1) {
        fprintf(stderr, "rings were given %lu times\n",
                (unsigned long) dnet_ep_counters(job->ep)->rings_given);
        bad = 1;
    }
    dnet_job_barrier(job);
    return bad;
}

static void test_rings_change_hands_under_way_in_order(void **state)
{
    (void) state;
    setenv("DIMMNET_RINGS", "2", 1);
    setenv("DIMMNET_RING_BYTES", "16384", 1);
    assert_int_equal(dnet_job_run(4, 100, phases, NULL), 0);
    setenv("DIMMNET_RINGS", "4", 1);
    setenv("DIMMNET_PROFILE", "prototype", 1);
    assert_int_equal(dnet_job_run(4, 100, phases, NULL), 0);
    unsetenv("DIMMNET_PROFILE");
}

/* Rank 1 earns a ring, and fills it while rank 0 does nothing.  Is rank 2 stopped? */
static int flooder(dnet_job_rank_t *job)
{
    static dnet_job_request_t sends[200];
    static uint32_t data[LEN / 4];
    uint64_t stops = dnet_ep_counters(job->ep)->stop;
    unsigned n = 0;
    int bad = 0;
    for (; n < 200 && dnet_ep_counters(job->ep)->stop == stops; n++)
        dnet_job_isend(job, &sends[n], 0, dnet_ep_envelope(CONTEXT, 1, TAG + 1), data, LEN, false);
    atomic_store(&stage[0], n);
    for (unsigned i = 0; i < n && !bad; i++)
        bad = dnet_job_wait(job, &sends[i]) != DNET_OK;
    return bad || n == 200;
}

static int isolation(dnet_job_rank_t *job, void *arg)
{
    const bool *stopped_too = arg;
    enum { WARM = 2000 };
    int bad = 0;
    dnet_job_barrier(job);
    for (uint32_t i = 0; i < WARM && !bad && job->rank < 2; i++)
        bad = job->rank ? send_numbered(job, 0, i, LEN) : receive_numbered(job, 1, i, LEN);
    dnet_job_barrier(job);
    if (job->rank == 1) {
        bad |= flooder(job);
    } else if (job->rank == 2) {
        static uint32_t data[LEN / 4];
        dnet_job_request_t one;
        while (atomic_load(&stage[0]) == 0)
            usleep(100); /* the condition is the word */
        dnet_job_isend(job, &one, 0, dnet_ep_envelope(CONTEXT, 2, TAG), data, LEN, false);
        bad = one.done == *stopped_too;
        if (bad)
            fprintf(stderr, "rank 2 was %sstopped\n", one.done ? "not " : "");
        atomic_store(&stage[1], 1);
        bad |= dnet_job_wait(job, &one) != DNET_OK;
    } else {
        static uint32_t data[LEN / 4];
        while (atomic_load(&stage[1]) == 0)
            usleep(100);
        for (uint32_t i = 0; i < atomic_load(&stage[0]); i++)
            bad |= dnet_job_recv(job, dnet_ep_envelope(CONTEXT, 1, TAG + 1), DNET_MATCH_BITS, data,
                                 LEN) != LEN;
        bad |= dnet_job_recv(job, dnet_ep_envelope(CONTEXT, 2, TAG), DNET_MATCH_BITS, data, LEN) !=
               LEN;
    }
    dnet_job_barrier(job);
    return bad;
}

static void run_isolation(const char *rings, bool stopped_too)
{
    atomic_store(&stage[0], 0);
    atomic_store(&stage[1], 0);
    setenv("DIMMNET_RINGS", rings, 1);
    setenv("DIMMNET_RING_BYTES", "65536", 1);
    assert_int_equal(dnet_job_run(3, 100, isolation, &stopped_too), 0);
}

static void test_rings_frequent_partner_does_not_fill_the_shared_one(void **state)
{
    (void) state;
    run_isolation("4", false);
    run_isolation("1", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rings_change_hands_under_way_in_order),
        cmocka_unit_test(test_rings_frequent_partner_does_not_fill_the_shared_one),
    };
    stage = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return stage == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
