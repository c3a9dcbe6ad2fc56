/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An endpoint that is closed in the midst of its messages leaves no memory: messages without a
 * receive, sends that wait, a receive whose data are under way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <malloc.h>
#include <stdlib.h>

#include "endpoint/op.h"
#include "job.h"

enum { LARGE = 300000, LONG = 5000 };

static void leave_something(dnet_job_rank_t *job)
{
    static uint8_t out[LARGE], in[LARGE];
    static dnet_job_request_t sent, received;
    dnet_op_t *waiting = NULL;
    bool did;
    for (size_t len = 8; len <= LONG; len += LONG - 8)
        dnet_ep_send(job->ep, 0, dnet_ep_envelope(1, 0, 2), out, len, false, NULL);
    dnet_job_settle(job);
    assert_int_equal(job->ep->inbox.match.unexpected_count, 2);
    dnet_job_irecv(job, &received, dnet_ep_envelope(1, 0, 1), DNET_MATCH_BITS, in, LARGE);
    dnet_job_isend(job, &sent, 0, dnet_ep_envelope(1, 0, 1), out, LARGE, false);
    assert_int_equal(dnet_ep_progress(job->ep, &did), DNET_OK);
    assert_non_null(job->ep->rndv.area[0]);
    while (dnet_ep_counters(job->ep)->stop == 0)
        dnet_ep_send(job->ep, 0, dnet_ep_envelope(1, 0, 2), out, LONG, false, NULL);
    for (uint32_t i = 0; i < job->ep->ops.cap; i++)
        if (job->ep->ops.by_id[i]->state == DNET_OP_PACKETS)
            waiting = job->ep->ops.by_id[i];
    assert_non_null(waiting);
    assert_int_equal(dnet_op_attach(waiting, out, LONG), DNET_OK);
}

/* A job of one process, which sends to itself. */
static void live(void)
{
    const dnet_ep_config_t config = {.size = 1, .job = 1};
    dnet_ep_address_t own;
    dnet_job_rank_t job = {.size = 1};
    assert_int_equal(dnet_ep_open(&config, &job.ep), DNET_OK);
    dnet_ep_address(job.ep, &own);
    assert_int_equal(dnet_ep_connect(job.ep, &own), DNET_OK);
    leave_something(&job);
    dnet_ep_close(job.ep);
}

/* Bytes by which the process has grown after so many. */
static size_t growth(unsigned times)
{
    size_t before = mallinfo2().uordblks;
    while (times-- > 0)
        live();
    return mallinfo2().uordblks - before;
}

/* Some bytes, for blocks are now and then larger than what was asked for. */
static void test_close_leaves_no_memory(void **state)
{
    enum { TIMES = 8 };
    (void) state;
    (void) growth(TIMES); /* what a process has once, or keeps for the next one, it has */
    assert_in_range(growth(TIMES), 0, TIMES * 64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_close_leaves_no_memory),
    };
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    return cmocka_run_group_tests_name("endpoint_close", tests, NULL, NULL);
}
