/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that are bound to processors: two that have one between them do not poll, the receiver
 * copies large messages alone, and one that waits for more than its messages does not sleep soon;
 * DIMMNET_SPLIT_LIMIT_FAR is for peers that share no L3 cache, on
 * machines that hwloc makes up.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emulator/swif/swif.h"
#include "endpoint/ep.h"
#include "endpoint/share.h"
#include "job.h"

enum { BYTES = 300000 };

typedef struct {
    bool crowded; /* the ranks share a processor, and know it */
    bool split;   /* both sides copy a message of BYTES */
    bool found;   /* the receiver has asked for the distance of its peer */
} due_t;

static const dnet_emu_swif_ops_t *below;
static unsigned asked; /* how often this receiver has asked for a piece of a split message */

static dnet_emu_result_t watch(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    asked += DNET_GET(packet->header[0], PK_TYPE) == DNET_PRIM_FADD;
    return below->send(via, dlid, packet);
}

static const dnet_emu_swif_ops_t watching = {.name = "watching", .send = watch};

static int receive(dnet_job_rank_t *job, const due_t *due)
{
    static uint8_t in[BYTES];
    below = job->ep->job.emu->swif;
    job->ep->job.emu->swif = &watching;
    long bytes = dnet_job_recv(job, dnet_ep_envelope(1, 0, 1), DNET_MATCH_BITS, in, BYTES);
    bool found = job->ep->job.place[0].distance != 0;
    if (bytes == BYTES && in[BYTES - 1] == 0x5a && (asked > 0) == due->split && found == due->found)
        return 0;
    fprintf(stderr, "%ld bytes, %u pieces asked for, distance %u\n", bytes, asked,
            job->ep->job.place[0].distance);
    return 1;
}

static int pair(dnet_job_rank_t *job, void *arg)
{
    static uint8_t out[BYTES];
    const due_t *due = arg;
    if (dnet_ep_oversubscribed(job->ep) != due->crowded) {
        fprintf(stderr, "rank %u: crowded is not %d\n", job->rank, due->crowded);
        return 1;
    }
    memset(out, 0x5a, sizeof(out));
    dnet_job_barrier(job); /* both have their NICs open */
    return job->rank == 0 ? dnet_job_send(job, 1, dnet_ep_envelope(1, 0, 1), out, BYTES, false)
                          : receive(job, due);
}

/* Two ranks, bound to processors 0 and `second`, on this machine or one that hwloc makes up. */
static void play(int second, const char *synthetic, const char *far, due_t due)
{
    const int processor[] = {0, second};
    setenv("HWLOC_SYNTHETIC", synthetic, 1);
    setenv("DIMMNET_SPLIT_LIMIT_FAR", far, 1);
    dnet_job_bind(processor);
    assert_int_equal(dnet_job_run(2, 60, pair, &due), 0);
    dnet_job_bind(NULL);
}

#define PACKAGES "package:2 l3:1 core:1 pu:1"
#define ONE_L3 "package:1 l3:1 core:2 pu:1"

static void test_bound_to_one_processor_the_receiver_copies(void **state)
{
    (void) state;
    play(0, ONE_L3, "0", (due_t){.crowded = true});
}

static void test_bound_to_two_processors_both_copy(void **state)
{
    (void) state;
    play(1, PACKAGES, "0", (due_t){.split = true}); /* whatever the machine: nobody looks */
}

static void test_bound_far_limit_is_for_peers_that_share_no_l3(void **state)
{
    (void) state;
    play(1, PACKAGES, "1M", (due_t){.found = true});
    play(1, PACKAGES, "100000", (due_t){.split = true, .found = true});
    play(1, ONE_L3, "1M", (due_t){.split = true, .found = true});
}

enum { MOST = 4096, LOOKS = 64 }; /* more messages than there is room for */

static bool never(void *arg)
{
    (void) arg;
    return true;
}

/* Rank 0 has a message that is stopped, and waits for what wakes it only when it has slept long. */
static int waits_while_stopped(dnet_job_rank_t *job, void *arg)
{
    static dnet_job_request_t sends[MOST];
    uint32_t *count = dnet_job_shared(), word = 0;
    (void) arg;
    dnet_job_barrier(job);
    if (job->rank == 1) {
        dnet_job_stand(job);
        for (uint32_t i = 0; i < *count; i++)
            if (dnet_job_recv(job, dnet_ep_envelope(1, 0, i), DNET_MATCH_BITS, &word,
                              sizeof(word)) != sizeof(word))
                return 1;
        return 0;
    }
    while (*count < MOST && !job->ep->tx.open_channels) {
        dnet_job_isend(job, &sends[*count], 1, dnet_ep_envelope(1, 0, *count), &word, sizeof(word),
                       false);
        (*count)++;
    }
    bool stopped = job->ep->tx.open_channels > 0, did;
    uint64_t before = dnet_ep_counters(job->ep)->sleeps;
    dnet_ep_waits_anew(job->ep);
    dnet_ep_set_awaited(job->ep, never, NULL);
    for (uint32_t i = 0; i < LOOKS; i++)
        dnet_ep_progress(job->ep, &did);
    dnet_ep_set_awaited(job->ep, NULL, NULL);
    uint64_t sleeps = dnet_ep_counters(job->ep)->sleeps - before;
    dnet_job_stand(job);
    for (uint32_t i = 0; i < *count; i++)
        dnet_job_wait(job, &sends[i]);
    if (stopped && sleeps == 0)
        return 0;
    fprintf(stderr, "stopped: %d, slept %u times\n", stopped, (unsigned) sleeps);
    return 1;
}

static void test_bound_to_one_processor_a_stopped_rank_waits_for_others(void **state)
{
    const int processor[] = {0, 0};
    (void) state;
    dnet_job_bind(processor);
    assert_int_equal(dnet_job_run(2, 60, waits_while_stopped, NULL), 0);
    dnet_job_bind(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bound_to_one_processor_the_receiver_copies),
        cmocka_unit_test(test_bound_to_two_processors_both_copy),
        cmocka_unit_test(test_bound_far_limit_is_for_peers_that_share_no_l3),
        cmocka_unit_test(test_bound_to_one_processor_a_stopped_rank_waits_for_others),
    };
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof(cpus), &cpus) != 0 || !CPU_ISSET(0, &cpus) ||
        !CPU_ISSET(1, &cpus)) {
        printf("processors 0 and 1 are not this process's\n");
        return 77;
    }
    setenv("DIMMNET_RENDEZVOUS", "direct", 1); /* where the kernel is slow, too */
    return cmocka_run_group_tests_name("endpoint_bound", tests, NULL, NULL);
}
