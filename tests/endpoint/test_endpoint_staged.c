/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Staged messages: areas that cannot be had, a count of taken chunks that does not reach the
 * sender, receives that wait for an area.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "emulator/swif/swif.h"
#include "endpoint/ep.h"
#include "endpoint/waits.h"
#include "job.h"

enum { CHUNK = 4096, CHUNKS = 8, BYTES = CHUNKS * CHUNK + 1 };

static uint8_t byte_of(size_t at)
{
    return (uint8_t) (at * 7 + at / 251);
}

/* A message of one chunk more than an area holds, from rank 0 to rank 1. */
static int one_message(dnet_job_rank_t *job)
{
    static uint8_t buf[BYTES];
    int bad = 0;
    for (size_t i = 0; job->rank == 0 && i < BYTES; i++)
        buf[i] = byte_of(i);
    if (job->rank == 0)
        return dnet_job_send(job, 1, dnet_ep_envelope(1, 0, 1), buf, BYTES, true);
    if (dnet_job_recv(job, dnet_ep_envelope(1, 0, 1), DNET_MATCH_BITS, buf, BYTES) != BYTES)
        return 1;
    for (size_t i = 0; i < BYTES; i++)
        bad |= buf[i] != byte_of(i);
    return bad;
}

/* ---- no memory for the areas ---- */

static dnet_status_t reserve_nothing(dnet_device_t *dev, uint64_t offset, uint64_t len)
{
    (void) dev, (void) offset, (void) len;
    return DNET_ERR_NO_MEMORY;
}

/* As what the job's end is told of. */
static void is_killed(int signal)
{
    (void) signal;
    kill(getpid(), SIGKILL);
}

static int without_areas(dnet_job_rank_t *job, void *arg)
{
    static dnet_device_ops_t ops;
    (void) arg;
    if (job->rank == 1) {
        signal(SIGABRT, is_killed);
        ops = *job->ep->dev->ops;
        ops.reserve = reserve_nothing;
        job->ep->dev->ops = &ops;
    }
    _exit(one_message(job) == 0);
}

static void test_staged_receiver_without_memory_ends(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_mourning(2, 20, 1, without_areas, NULL), 0);
}

/* ---- a count that is not told ---- */

static const dnet_emu_swif_ops_t *below;
static unsigned lost;

/* The first count is refused. */
static dnet_emu_result_t lose_one(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    if (DNET_GET(packet->header[0], PK_TYPE) == DNET_PRIM_RVS &&
        DNET_GET(packet->header[0], PK_LFLAG) && lost++ == 0)
        return DNET_EMU_UNREACHABLE;
    return below->send(via, dlid, packet);
}

static const dnet_emu_swif_ops_t lossy = {.name = "lossy", .send = lose_one};

static int with_a_loss(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    if (job->rank == 1) {
        below = job->ep->job.emu->swif;
        job->ep->job.emu->swif = &lossy;
    }
    dnet_job_barrier(job); /* the two have one NIC */
    lost = job->rank == 0;
    int bad = one_message(job);
    bad |= job->rank == 1 && lost < 2;
    dnet_job_barrier(job);
    return bad;
}

static void test_staged_count_that_was_not_told_is_told_later(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 20, with_a_loss, NULL), 0);
}

/* ---- receives that wait for an area ---- */

enum { ANNOUNCED = DNET_STAGING_AREAS + 3 };

static void count_arriving(void *arg, const dnet_wait_t *w)
{
    *(unsigned *) arg += w->kind == DNET_WAIT_ARRIVING && w->rank == 0 && w->bytes == BYTES;
}

static int many(dnet_job_rank_t *job, void *arg)
{
    static uint8_t buf[ANNOUNCED][BYTES];
    static dnet_job_request_t r[ANNOUNCED];
    unsigned arriving = 0;
    int bad = 0;
    (void) arg;
    for (unsigned i = 0; job->rank == 0 && i < ANNOUNCED; i++)
        dnet_job_isend(job, &r[i], 1, dnet_ep_envelope(1, 0, i), buf[i], BYTES, false);
    if (job->rank == 0)
        dnet_job_send(job, 1, dnet_ep_envelope(1, 0, ANNOUNCED), NULL, 0, false);
    else
        dnet_job_recv(job, dnet_ep_envelope(1, 0, ANNOUNCED), DNET_MATCH_BITS, NULL, 0);
    for (unsigned i = 0; job->rank == 1 && i < ANNOUNCED; i++)
        dnet_job_irecv(job, &r[i], dnet_ep_envelope(1, 0, i), DNET_MATCH_BITS, buf[i], BYTES);
    if (job->rank == 1) {
        dnet_waits_visit(job->ep, NULL, "", count_arriving, &arriving);
        bad = arriving != ANNOUNCED;
        if (bad)
            fprintf(stderr, "%u messages are said to arrive, of %u\n", arriving, ANNOUNCED);
    }
    for (unsigned i = 0; i < ANNOUNCED; i++)
        bad |= dnet_job_wait(job, &r[i]) != DNET_OK;
    dnet_job_barrier(job);
    return bad;
}

static void test_staged_receives_that_wait_for_an_area_are_shown(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 20, many, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_staged_receiver_without_memory_ends),
        cmocka_unit_test(test_staged_count_that_was_not_told_is_told_later),
        cmocka_unit_test(test_staged_receives_that_wait_for_an_area_are_shown),
    };
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    setenv("DIMMNET_CHUNK_BYTES", "4096", 1);
    setenv("DIMMNET_EAGER_LIMIT", "4096", 1);
    return cmocka_run_group_tests_name("endpoint_staged", tests, NULL, NULL);
}
