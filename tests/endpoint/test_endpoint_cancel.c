/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Cancelling sends (docs/protocol.md 3.4): each is cancelled, or arrives, wherever its message is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint/wire.h"
#include "job.h"

enum { CONTEXT = 1, BULK = 1, OTHER = 2, FLOOD = 3000, LONG = 200000 };

typedef struct {
    dnet_job_request_t r;
    uint32_t number;
} send_t;

static uint64_t envelope(uint32_t tag)
{
    return dnet_ep_envelope(CONTEXT, 1, tag);
}

static dnet_status_t send_numbered(dnet_job_rank_t *job, send_t *s, uint32_t number)
{
    s->number = number;
    return dnet_job_isend(job, &s->r, 0, envelope(BULK), &s->number, 4, false);
}

/* @return 0; 1: a message with that tag is there */
static int nothing_with(dnet_job_rank_t *job, uint32_t tag)
{
    dnet_ep_probe_t found;
    for (unsigned i = 0; i < 3; i++) {
        if (dnet_ep_probe(job->ep, envelope(tag), DNET_MATCH_BITS, &found) == DNET_OK) {
            fprintf(stderr, "a message of %zu bytes with tag %u is still there\n",
                    (size_t) found.len_bytes, tag);
            return 1;
        }
        dnet_job_settle(job);
    }
    return 0;
}

/* The messages of the sender that were not cancelled, in order, and no other. */
static int receive_others(dnet_job_rank_t *job, const bool *cancelled, uint32_t count)
{
    uint32_t got = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        if (cancelled[i])
            continue;
        if (dnet_job_recv(job, envelope(BULK), DNET_MATCH_BITS, &got, 4) == 4 && got == i)
            continue;
        fprintf(stderr, "message %u came instead of %u\n", got, i);
        return 1;
    }
    return nothing_with(job, BULK);
}

/* ---- has not left ---- */

/* The receiver does nothing: the call itself ends the send. */
static int not_left(dnet_job_rank_t *job, void *arg)
{
    static send_t sends[FLOOD];
    bool *cancelled = dnet_job_shared();
    atomic_uint *count = (atomic_uint *) (cancelled + FLOOD);
    const dnet_ep_counters_t *c = dnet_ep_counters(job->ep);
    int bad = 0;
    (void) arg;
    dnet_job_barrier(job);
    for (uint32_t i = 0; job->rank == 1 && i < FLOOD && c->stop == 0; i++) {
        send_numbered(job, &sends[i], i);
        atomic_store(count, i + 1);
    }
    uint32_t n = atomic_load(count);
    if (job->rank == 1) {
        send_numbered(job, &sends[n], n);
        dnet_ep_cancel_send(job->ep, &sends[n - 1].r.req);
        cancelled[n - 1] = sends[n - 1].r.done && sends[n - 1].r.status == DNET_CANCELLED;
        bad = !cancelled[n - 1];
        atomic_store(count, n + 1);
    }
    dnet_job_stand(job);
    if (job->rank == 0)
        bad = receive_others(job, cancelled, atomic_load(count));
    else
        bad |= dnet_job_wait(job, &sends[n].r) != DNET_OK;
    dnet_job_barrier(job);
    return bad;
}

static void test_cancel_what_has_not_left(void **state)
{
    (void) state;
    setenv("DIMMNET_RING_BYTES", "8192", 1);
    setenv("DIMMNET_PROFILE", "prototype", 1);
    assert_int_equal(dnet_job_run(2, 30, not_left, NULL), 0);
    unsetenv("DIMMNET_PROFILE");
    unsetenv("DIMMNET_RING_BYTES");
}

/* ---- has been announced ---- */

/* @param arg  is the receive posted before? */
static int announced(dnet_job_rank_t *job, void *arg)
{
    static uint8_t data[LONG], got[2][LONG];
    static const size_t lengths[] = {8, LONG};
    const bool *posted = arg;
    dnet_job_request_t sends[2], receives[2];
    int bad = 0;
    for (uint32_t i = 0; job->rank == 0 && *posted && i < 2; i++)
        dnet_job_irecv(job, &receives[i], envelope(i), DNET_MATCH_BITS, got[i], LONG);
    dnet_job_barrier(job);
    for (uint32_t i = 0; job->rank == 1 && i < 2; i++) {
        memset(data, 7, sizeof(data));
        dnet_job_isend(job, &sends[i], 0, envelope(i), data, lengths[i], true);
        dnet_ep_cancel_send(job->ep, &sends[i].req);
        bad |= sends[i].done; /* the receiver decides */
    }
    for (uint32_t i = 0; job->rank == 1 && i < 2; i++)
        bad |= dnet_job_wait(job, &sends[i]) != (*posted ? DNET_OK : DNET_CANCELLED);
    dnet_job_barrier(job);
    for (uint32_t i = 0; job->rank == 0 && i < 2; i++)
        bad |= *posted ? dnet_job_wait(job, &receives[i]) != DNET_OK || got[i][lengths[i] - 1] != 7
                       : nothing_with(job, i);
    dnet_job_barrier(job);
    return bad;
}

static void test_cancel_what_was_announced(void **state)
{
    (void) state;
    bool posted = false;
    assert_int_equal(dnet_job_run(2, 30, announced, &posted), 0);
}

static void test_cancel_what_was_matched(void **state)
{
    (void) state;
    bool posted = true;
    assert_int_equal(dnet_job_run(2, 30, announced, &posted), 0);
}

/* ---- is held back ---- */

/* The sender sends until it is held back.  @return messages */
static uint32_t send_until_held(dnet_job_rank_t *job, send_t *sends)
{
    uint32_t n = 0;
    dnet_job_barrier(job);
    while (job->rank == 1 && n < FLOOD && dnet_ep_counters(job->ep)->held == 0) {
        send_numbered(job, &sends[n], n);
        n++;
        dnet_job_settle(job);
    }
    dnet_job_barrier(job);
    dnet_job_settle(job);
    dnet_job_barrier(job);
    return n;
}

/* So many are sent and, but for every so-manieth, cancelled, while the receiver does nothing: the
 * first have been offered, the next are offered before the receiver's answers have come, the last
 * never are. */
typedef struct {
    uint32_t count, keep_every;
} held_t;

static int held(dnet_job_rank_t *job, void *arg)
{
    static send_t sends[FLOOD + 100];
    const held_t *h = arg;
    bool *cancelled = dnet_job_shared();
    uint32_t *counts = (uint32_t *) (cancelled + FLOOD + 100);
    int bad = 0;
    uint32_t first = send_until_held(job, sends), end = first + h->count;
    dnet_job_stand(job);
    for (uint32_t i = first; job->rank == 1 && i < end; i++)
        send_numbered(job, &sends[i], i);
    for (uint32_t i = first; job->rank == 1 && i < end; i++)
        if ((i - first) % h->keep_every)
            dnet_ep_cancel_send(job->ep, &sends[i].r.req);
    dnet_job_stand(job);
    if (job->rank == 0)
        dnet_job_settle(job); /* its answers come together */
    dnet_job_stand(job);
    for (uint32_t i = first; job->rank == 1 && i < end; i++) {
        if ((i - first) % h->keep_every)
            cancelled[i] = dnet_job_wait(job, &sends[i].r) == DNET_CANCELLED;
        bad |= cancelled[i] != ((i - first) % h->keep_every != 0);
    }
    if (job->rank == 1)
        *counts = end;
    dnet_job_barrier(job);
    if (job->rank == 0)
        bad |= receive_others(job, cancelled, *counts);
    for (uint32_t i = 0; job->rank == 1 && i < end; i++)
        bad |= !cancelled[i] && dnet_job_wait(job, &sends[i].r) != DNET_OK;
    dnet_job_barrier(job);
    return bad;
}

static void test_cancel_what_is_held(void **state)
{
    static const held_t cases[] = {{100, 3}, {100, 1000}};
    (void) state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        held_t h = cases[i];
        assert_int_equal(dnet_job_run(2, 30, held, &h), 0);
    }
}

/* The receiver is asked, and answers that it does not know of it, while so many others are ahead.
 * Behind few it has been offered meanwhile, and a receive takes it; behind more than one OFFER has
 * room for it is cancelled, and that receive gets the next one. */
static int behind(dnet_job_rank_t *job, void *arg)
{
    static send_t sends[FLOOD + 32];
    static const uint32_t data[2] = {7, 8};
    const uint32_t *others = arg;
    uint32_t *came = dnet_job_shared(), *is_cancelled = came + 1; /* how many messages; the last? */
    uint32_t got = 0;
    dnet_job_request_t last[2], wanted;
    int bad = 0;
    uint32_t n = send_until_held(job, sends);
    dnet_job_stand(job);
    for (uint32_t i = 0; job->rank == 1 && i < *others; i++, n++)
        send_numbered(job, &sends[n], n);
    if (job->rank == 1) {
        *came = n;
        dnet_job_isend(job, &last[0], 0, envelope(OTHER), &data[0], 4, false);
        dnet_ep_cancel_send(job->ep, &last[0].req);
    }
    for (uint32_t turn = 0; turn < 6; turn++) { /* each says something, the other answers */
        dnet_job_stand(job);
        if (job->rank == 0 && turn == 2)
            dnet_job_irecv(job, &wanted, envelope(OTHER), DNET_MATCH_BITS, &got, 4);
        if (job->rank == turn % 2)
            dnet_job_settle(job);
    }
    if (job->rank == 1)
        *is_cancelled = dnet_job_wait(job, &last[0]) == DNET_CANCELLED;
    dnet_job_barrier(job);
    if (job->rank == 1 && *is_cancelled)
        dnet_job_isend(job, &last[1], 0, envelope(OTHER), &data[1], 4, false);
    if (job->rank == 0)
        bad |= dnet_job_wait(job, &wanted) != DNET_OK || got != data[*is_cancelled];
    bad |= (*others < DNET_OFFERS_MAX && *is_cancelled) ||
           (*others > DNET_OFFERS_MAX && !*is_cancelled);
    for (uint32_t i = 0; job->rank == 0 && i < *came; i++)
        bad |= dnet_job_recv(job, envelope(BULK), DNET_MATCH_BITS, &got, 4) != 4 || got != i;
    for (uint32_t i = 0; job->rank == 1 && i < n; i++)
        bad |= dnet_job_wait(job, &sends[i].r) != DNET_OK;
    if (job->rank == 1 && *is_cancelled)
        bad |= dnet_job_wait(job, &last[1]) != DNET_OK;
    dnet_job_barrier(job);
    return bad;
}

static void test_cancel_what_may_be_offered_meanwhile(void **state)
{
    uint32_t others[] = {1, DNET_OFFERS_MAX - 1, DNET_OFFERS_MAX, DNET_OFFERS_MAX + 1};
    (void) state;
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(dnet_job_run(2, 30, behind, &others[i]), 0);
}

/* It is sent, by a grant, when the receiver has been asked, and before it looks. */
static int granted(dnet_job_rank_t *job, void *arg)
{
    static send_t sends[FLOOD];
    static const uint32_t data;
    uint32_t got, *came = dnet_job_shared(); /* how many messages */
    dnet_job_request_t last;
    bool did;
    int bad = 0;
    (void) arg;
    uint32_t n = send_until_held(job, sends);
    if (job->rank == 1) {
        dnet_job_isend(job, &last, 0, envelope(OTHER), &data, 4, true);
        *came = n - 1;
    }
    dnet_job_barrier(job);
    dnet_job_settle(job);
    dnet_job_barrier(job);
    for (uint32_t i = 0; job->rank == 0 && i < *came; i++)
        bad |= dnet_job_recv(job, envelope(BULK), DNET_MATCH_BITS, &got, 4) != 4;
    for (unsigned i = 0; job->rank == 0 && i < 4; i++)
        dnet_ep_progress(job->ep, &did);
    dnet_job_stand(job);
    if (job->rank == 1) {
        dnet_ep_cancel_send(job->ep, &last.req);
        dnet_job_settle(job);
    }
    dnet_job_stand(job);
    if (job->rank == 1)
        bad |= dnet_job_wait(job, &last) != DNET_CANCELLED;
    for (uint32_t i = 0; job->rank == 1 && i < n; i++)
        bad |= dnet_job_wait(job, &sends[i].r) != DNET_OK;
    dnet_job_barrier(job);
    bad |= job->rank == 0 && nothing_with(job, OTHER);
    dnet_job_barrier(job);
    return bad;
}

static void test_cancel_what_is_sent_meanwhile(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 30, granted, NULL), 0);
}

/* A probe has found it. */
static int held_and_found(dnet_job_rank_t *job, void *arg)
{
    static send_t sends[FLOOD];
    static const bool cancelled[FLOOD];
    static const uint8_t data[16];
    dnet_job_request_t first, second;
    dnet_ep_probe_t found = {0};
    bool did;
    int bad = 0;
    (void) arg;
    dnet_job_barrier(job);
    for (uint32_t i = 0; job->rank == 1 && i < FLOOD; i++)
        send_numbered(job, &sends[i], i);
    if (job->rank == 1)
        dnet_job_isend(job, &first, 0, envelope(OTHER), data, 8, false);
    while (job->rank == 0 &&
           dnet_ep_probe(job->ep, envelope(OTHER), DNET_MATCH_BITS, &found) != DNET_OK)
        dnet_ep_progress(job->ep, &did);
    dnet_job_barrier(job);
    if (job->rank == 1) {
        dnet_ep_cancel_send(job->ep, &first.req);
        bad |= dnet_job_wait(job, &first) != DNET_CANCELLED;
    }
    dnet_job_barrier(job);
    if (job->rank == 0)
        bad |= nothing_with(job, OTHER);
    dnet_job_barrier(job);
    if (job->rank == 1)
        dnet_job_isend(job, &second, 0, envelope(OTHER), data, 16, false);
    else
        bad |= dnet_job_recv(job, envelope(OTHER), DNET_MATCH_BITS, &(uint8_t[16]){0}, 16) != 16 ||
               receive_others(job, cancelled, FLOOD);
    for (uint32_t i = 0; job->rank == 1 && i < FLOOD; i++)
        bad |= dnet_job_wait(job, &sends[i].r) != DNET_OK;
    bad |= job->rank == 1 && dnet_job_wait(job, &second) != DNET_OK;
    dnet_job_barrier(job);
    return bad;
}

static void test_cancel_what_a_probe_has_found(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 60, held_and_found, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cancel_what_has_not_left),
        cmocka_unit_test(test_cancel_what_was_announced),
        cmocka_unit_test(test_cancel_what_was_matched),
        cmocka_unit_test(test_cancel_what_is_held),
        cmocka_unit_test(test_cancel_what_may_be_offered_meanwhile),
        cmocka_unit_test(test_cancel_what_is_sent_meanwhile),
        cmocka_unit_test(test_cancel_what_a_probe_has_found),
    };
    setenv("DIMMNET_UNEXPECTED_BYTES", "4096", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
