/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that are longer than their receive, of every way to travel: what fits arrives, nothing
 * is written behind it, and the receive ends with DNET_ERR_TRUNCATED and both lengths.  Receives
 * wait for the message, or come when it is there, or when a part of it is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

/* The ring is shorter than the longest eager message: of that a part is there when it is first
 * seen, and its sender waits for room. */
#define RING "32768"
#define EAGER "65536"
static const size_t sizes[] = {8, 40, 49, 488, 489, 2000, 8192, 16385, 65536, 300001};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), MOST = 300001, ROOMS = 5, UNTOUCHED = 0xee };

static size_t room_of(size_t len, unsigned which)
{
    const size_t rooms[ROOMS] = {0, 1, 7, len / 2, len - 1};
    return rooms[which];
}

static uint8_t byte_of(size_t i)
{
    return (uint8_t) (i * 7 + i / 251 + 1);
}

static bool is_right(const uint8_t *buf, size_t room)
{
    for (size_t i = 0; i < room; i++)
        if (buf[i] != byte_of(i))
            return false;
    for (size_t i = room; i < MOST; i++)
        if (buf[i] != UNTOUCHED)
            return false;
    return true;
}

/* Receive a message into less room than it needs.  @param late  it has been seen before */
static int receive(dnet_job_rank_t *job, size_t len, size_t room, bool late, uint8_t *buf)
{
    uint64_t envelope = dnet_ep_envelope(3, 0, (uint32_t) room);
    dnet_job_request_t r;
    dnet_ep_probe_t probe;
    bool did;
    memset(buf, UNTOUCHED, MOST);
    if (!late)
        dnet_job_irecv(job, &r, envelope, DNET_MATCH_BITS, room ? buf : NULL, room);
    dnet_job_barrier(job);
    while (late && dnet_ep_probe(job->ep, envelope, DNET_MATCH_BITS, &probe) != DNET_OK)
        dnet_ep_progress(job->ep, &did);
    if (late)
        dnet_job_irecv(job, &r, envelope, DNET_MATCH_BITS, room ? buf : NULL, room);
    dnet_status_t status = dnet_job_wait(job, &r);
    if (status == DNET_ERR_TRUNCATED && r.req.sent_bytes == len && r.req.len_bytes == room &&
        is_right(buf, room))
        return 0;
    fprintf(stderr, "%zu bytes into %zu, %s: %s, %zu of %zu bytes\n", len, room,
            late ? "late" : "waiting", dnet_status_name(status), (size_t) r.req.len_bytes,
            (size_t) r.req.sent_bytes);
    return 1;
}

static int truncated(dnet_job_rank_t *job, void *arg)
{
    const bool late = *(bool *) arg;
    uint8_t *buf = malloc(MOST);
    int bad = 0;
    for (size_t i = 0; i < MOST; i++)
        buf[i] = byte_of(i);
    for (unsigned i = 0; i < SIZES && !bad; i++) {
        for (unsigned k = 0; k < 2 * ROOMS && !bad; k++) {
            size_t room = room_of(sizes[i], k % ROOMS);
            if (job->rank == 1) {
                bad = receive(job, sizes[i], room, late, buf);
            } else {
                dnet_job_barrier(job);
                bad = dnet_job_send(job, 1, dnet_ep_envelope(3, 0, (uint32_t) room), buf, sizes[i],
                                    k >= ROOMS);
            }
        }
    }
    free(buf);
    return bad;
}

static void run(const char *profile, bool late)
{
    setenv("DIMMNET_PROFILE", profile, 1);
    setenv("DIMMNET_RING_BYTES", RING, 1);
    setenv("DIMMNET_EAGER_LIMIT", EAGER, 1);
    assert_int_equal(dnet_job_run(2, 60, truncated, &late), 0);
}

static void test_endpoint_receives_that_wait_take_what_fits(void **state)
{
    (void) state;
    run("extended", false);
    run("prototype", false);
}

static void test_endpoint_late_receives_take_what_fits(void **state)
{
    (void) state;
    run("extended", true);
    run("prototype", true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endpoint_receives_that_wait_take_what_fits),
        cmocka_unit_test(test_endpoint_late_receives_take_what_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
