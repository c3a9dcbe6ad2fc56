/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What being stopped must not do (docs/flow-control.md section 4): lose, double or overtake a
 * message, hold up others, starve a sender, hang; also while stops and resends get lost, and when
 * processes end or die in the middle.  A receiver that makes no progress until it is told brings
 * each stop about for certain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "endpoint/channel.h"
#include "job.h"

enum { CONTEXT = 1, BULK = 5, LAST = 6, NEVER = 7, LONGEST = 60000, RANKS_MAX = 8 };

/* Seen by all processes of a job. */
typedef struct {
    atomic_uint arrived; /* processes that have done their first part */
    atomic_uint go;
    atomic_uint looks[RANKS_MAX]; /* rounds of progress of each process that counts them */
} stage_t;
static stage_t *stage;

typedef struct {
    dnet_job_request_t r;
    uint32_t data[LONGEST / 4];
} send_t;

/* Mixed: in the entry, one window, one packet, several packets, rendezvous. */
static size_t mixed_len(uint32_t number)
{
    static const size_t lens[] = {8, 400, 4000, 48, 7000, 8, LONGEST};
    return lens[number % (sizeof(lens) / sizeof(lens[0]))];
}

/* @return DNET_OK, or DNET_IN_PROGRESS: it waits */
static dnet_status_t send_one(dnet_job_rank_t *job, send_t *s, uint32_t to, uint32_t tag,
                              uint32_t number, size_t len, bool sync)
{
    s->data[0] = number;
    s->data[1] = job->rank;
    for (size_t i = 2; i < len / 4; i++)
        s->data[i] = number * 31 + (uint32_t) i;
    return dnet_job_isend(job, &s->r, to, dnet_ep_envelope(CONTEXT, job->rank, tag), s->data, len,
                          sync);
}

/* Send until the receiver stops it.  @return messages started */
static uint32_t send_until_stopped(dnet_job_rank_t *job, send_t *sends, uint32_t most, uint32_t to,
                                   size_t len)
{
    uint32_t n = 0;
    while (n < most && dnet_ep_counters(job->ep)->stop == 0) {
        send_one(job, &sends[n], to, BULK, n, len, false);
        n++;
    }
    return n;
}

static int wait_all(dnet_job_rank_t *job, const send_t *sends, uint32_t count)
{
    int bad = 0;
    for (uint32_t i = 0; i < count && !bad; i++)
        bad = dnet_job_wait(job, &sends[i].r) != DNET_OK;
    return bad;
}

/* Number `number` of rank `from` with that tag is what comes, and is whole. */
static int expect(dnet_job_rank_t *job, uint32_t from, uint32_t tag, uint32_t number, size_t len)
{
    static uint32_t got[LONGEST / 4];
    long n =
        dnet_job_recv(job, dnet_ep_envelope(CONTEXT, from, tag), DNET_MATCH_BITS, got, sizeof(got));
    bool good = n == (long) len && got[0] == number && got[1] == from;
    for (size_t i = 2; good && i < len / 4; i++)
        good = got[i] == number * 31 + (uint32_t) i;
    if (!good)
        fprintf(stderr,
                "rank %u: %ld bytes, number %u of rank %u; expected %zu, number %u of rank %u\n",
                job->rank, n, got[0], got[1], len, number, from);
    return !good;
}

/* Without progress: what is sent to this process meanwhile is not taken.  Bodies meet at a barrier
 * before, for a process that has not connected stops every sender. */
static void sit_until(atomic_uint *word, unsigned value)
{
    while (atomic_load(word) < value)
        usleep(100); /* the condition is the word */
}

static void run_job(uint32_t size, int (*body)(dnet_job_rank_t *, void *), const char *ring)
{
    static const char *const profiles[] = {"extended", "prototype"};
    for (unsigned i = 0; i < 2; i++) {
        *stage = (stage_t){0};
        setenv("DIMMNET_PROFILE", profiles[i], 1);
        setenv("DIMMNET_RING_BYTES", ring, 1);
        assert_int_equal(dnet_job_run(size, 100, body, NULL), 0);
    }
}

/* ---- order ---- */

/* Nothing of what is sent while stopped goes out before its time, and all of it arrives in order.
 */
static int sends_while_stopped(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 1500 };
    (void) arg;
    int bad = 0;
    dnet_job_barrier(job);
    if (job->rank == 0) {
        sit_until(&stage->arrived, 1);
        for (uint32_t i = 0; i < COUNT && !bad; i++)
            bad = expect(job, 1, BULK, i, i < stage->go ? 8 : mixed_len(i));
        dnet_job_barrier(job);
        return bad;
    }
    send_t *sends = calloc(COUNT, sizeof(*sends));
    uint32_t n = send_until_stopped(job, sends, COUNT, 0, 8);
    atomic_store(&stage->go, n);
    for (uint32_t i = n; i < COUNT; i++)
        bad |= send_one(job, &sends[i], 0, BULK, i, mixed_len(i), i % 5 == 0) != DNET_IN_PROGRESS;
    bad |= dnet_ep_counters(job->ep)->stop != 1;
    atomic_store(&stage->arrived, 1);
    bad |= n == COUNT || wait_all(job, sends, COUNT);
    bad |= dnet_ep_counters(job->ep)->resend == 0; /* not only by trying again */
    if (bad)
        fprintf(stderr, "stopped after %u messages, %lu stops\n", n,
                (unsigned long) dnet_ep_counters(job->ep)->stop);
    dnet_job_barrier(job);
    free(sends);
    return bad;
}

static void test_stop_sends_while_stopped_keep_order(void **state)
{
    (void) state;
    run_job(2, sends_while_stopped, "262144");
}

/* ---- granting ---- */

static dnet_ep_t *granting;
static uint64_t granted_then;

static void on_early(dnet_ep_request_t *req, dnet_status_t status)
{
    granted_then = dnet_ep_counters(granting)->granted_others;
    dnet_job_complete(req, status);
}

static uint32_t posted; /* receives when rank 0 looks */

/* The only sender that is stopped has been granted when the first of what had arrived before are
 * handed over, not only after all of it; and its stop was noted once.  What has no receive yet is
 * not taken in the same look. */
static int granted_early(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 1500, EARLY = 20 };
    (void) arg;
    static dnet_job_request_t early[EARLY];
    static uint32_t got[EARLY][2];
    int bad = 0;
    bool did;
    dnet_job_barrier(job);
    if (job->rank == 1) {
        /* rank 0 is out of the barrier, and takes nothing by accident */
        sit_until(&stage->looks[0], 1);
        send_t *sends = calloc(COUNT, sizeof(*sends));
        uint32_t n = send_until_stopped(job, sends, COUNT, 0, 8);
        atomic_store(&stage->go, n);
        atomic_store(&stage->arrived, 1);
        bad = n == COUNT || wait_all(job, sends, n);
        dnet_job_barrier(job);
        free(sends);
        return bad;
    }
    atomic_store(&stage->looks[0], 1);
    sit_until(&stage->arrived, 1);
    for (uint32_t i = 0; i < posted; i++) {
        dnet_job_irecv(job, &early[i], dnet_ep_envelope(CONTEXT, 1, BULK), DNET_MATCH_BITS, got[i],
                       sizeof(got[i]));
        early[i].req.complete = on_early;
    }
    granting = job->ep;
    dnet_ep_progress(job->ep, &did);
    for (uint32_t i = 0; i < posted; i++)
        bad |= !early[i].done || got[i][0] != i;
    bad |= (posted > 8 && granted_then != 1) || dnet_ep_counters(job->ep)->unexpected != 0 ||
           dnet_ep_counters(job->ep)->stopped_others != 1;
    if (bad)
        fprintf(stderr,
                "granted %lu senders by message %u, %lu stops, %lu messages without a receive\n",
                (unsigned long) granted_then, posted,
                (unsigned long) dnet_ep_counters(job->ep)->stopped_others,
                (unsigned long) dnet_ep_counters(job->ep)->unexpected);
    for (uint32_t i = posted; i < stage->go && !bad; i++)
        bad = expect(job, 1, BULK, i, 8);
    dnet_job_barrier(job);
    return bad;
}

static void test_stop_only_sender_granted_before_all_is_drained(void **state)
{
    (void) state;
    cpu_set_t own;
    if (sched_getaffinity(0, sizeof(own), &own) != 0 || CPU_COUNT(&own) < 2) {
        print_message("skipped: two processes on one processor take turns\n");
        skip();
    }
    static const uint32_t receives[] = {20, 1, 8};
    for (unsigned i = 0; i < 3; i++) {
        posted = receives[i];
        run_job(2, granted_early, "262144");
    }
}

/* ---- others ---- */

/* Rank 1 has filled the ring of rank 0, which does nothing.  Rank 2 still gets through to rank 0
 * with what needs no ring, and rank 1 to rank 3 with anything. */
static int others(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 100 };
    (void) arg;
    static send_t sends[COUNT], one, more[2];
    int bad = 0;
    dnet_job_barrier(job);
    switch (job->rank) {
        case 0:
            sit_until(&stage->go, 2);
            for (uint32_t i = 0; i < stage->arrived - 1 && !bad; i++)
                bad = expect(job, 1, BULK, i, 4000);
            bad |= expect(job, 2, LAST, 0, 8);
            break;
        case 1: {
            uint32_t n = send_until_stopped(job, sends, COUNT, 0, 4000);
            bad = n == COUNT;
            send_one(job, &more[0], 3, BULK, 0, 4000, false);
            send_one(job, &more[1], 3, BULK, 1, 8, false);
            atomic_store(&stage->arrived, n + 1);
            bad |= wait_all(job, more, 2) || wait_all(job, sends, n);
            break;
        }
        case 2:
            sit_until(&stage->arrived, 1);
            bad = send_one(job, &one, 0, LAST, 0, 8, false) != DNET_OK ||
                  dnet_ep_counters(job->ep)->stop != 0;
            if (bad)
                fprintf(stderr, "rank 2 was stopped too\n");
            atomic_fetch_add(&stage->go, 1);
            break;
        case 3:
            bad = expect(job, 1, BULK, 0, 4000) || expect(job, 1, BULK, 1, 8);
            atomic_fetch_add(&stage->go, 1);
            break;
    }
    dnet_job_barrier(job);
    return bad;
}

static void test_stop_others_are_not_held_up(void **state)
{
    (void) state;
    run_job(4, others, "16384");
}

/* ---- fairness ---- */

/* All flood one receiver, which has room for four messages and looks at its rings again only when
 * every sender has had time to use its grant, however busy the machine.  When the first sender
 * is through, the last one is not far behind. */
enum { SHARE = 200, SHARE_LEN = 4000 };

static int send_counting(dnet_job_rank_t *job, const send_t *sends)
{
    bool did;
    while (!sends[SHARE - 1].r.done) {
        if (dnet_ep_progress(job->ep, &did) != DNET_OK)
            return 1;
        atomic_fetch_add(&stage->looks[job->rank], 1);
        sched_yield();
    }
    atomic_store(&stage->looks[job->rank], UINT32_MAX / 2);
    return wait_all(job, sends, SHARE);
}

/* Until each sender has begun and ended a round. */
static void let_all_look(uint32_t size)
{
    unsigned seen[RANKS_MAX];
    for (uint32_t r = 1; r < size; r++)
        seen[r] = atomic_load(&stage->looks[r]);
    for (uint32_t r = 1; r < size; r++)
        while (seen[r] < UINT32_MAX / 2 && atomic_load(&stage->looks[r]) < seen[r] + 2)
            sched_yield();
}

static int receive_fairly(dnet_job_rank_t *job)
{
    static uint32_t got[SHARE_LEN / 4];
    uint32_t had[RANKS_MAX] = {0}, least = SHARE;
    uint64_t envelope = dnet_ep_envelope(CONTEXT, 0, BULK);
    dnet_job_request_t one;
    bool did;
    for (bool through = false; !through;) {
        dnet_job_irecv(job, &one, envelope, DNET_MATCH_ANY_SOURCE, got, sizeof(got));
        while (!one.done) {
            let_all_look(job->size);
            if (dnet_ep_progress(job->ep, &did) != DNET_OK)
                return 1;
        }
        if (one.req.len_bytes != SHARE_LEN || got[0] != had[got[1]])
            return 1;
        through = ++had[got[1]] == SHARE;
    }
    for (uint32_t r = 1; r < job->size; r++) {
        least = had[r] < least ? had[r] : least;
        for (uint32_t i = had[r]; i < SHARE; i++)
            if (expect(job, r, BULK, i, SHARE_LEN))
                return 1;
    }
    if (least < SHARE / 2) {
        fprintf(stderr, "when one sender was through, of %u each another had sent:", SHARE);
        for (uint32_t r = 1; r < job->size; r++)
            fprintf(stderr, " %u", had[r]);
        fprintf(stderr, "\n");
    }
    return least < SHARE / 2;
}

static int fair(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    send_t *sends = calloc(SHARE, sizeof(*sends));
    int bad = 0;
    dnet_job_barrier(job);
    for (uint32_t i = 0; job->rank && i < SHARE; i++)
        send_one(job, &sends[i], 0, BULK, i, SHARE_LEN, false);
    atomic_fetch_add(&stage->arrived, 1);
    if (job->rank)
        bad = send_counting(job, sends);
    else
        sit_until(&stage->arrived, job->size);
    if (!job->rank)
        bad = receive_fairly(job);
    dnet_job_barrier(job);
    free(sends);
    return bad;
}

static void test_stop_no_sender_starves(void **state)
{
    (void) state;
    run_job(6, fair, "16384");
}

/* ---- deadlock ---- */

/* Each rank stops each other before any receives: eager, synchronous and rendezvous messages,
 * whose control packets need room in rings that are full. */
static int all_stopped(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 140 };
    (void) arg;
    send_t *sends = calloc((size_t) COUNT * job->size, sizeof(*sends));
    dnet_job_barrier(job);
    for (uint32_t i = 0; i < COUNT; i++)
        for (uint32_t to = 0; to < job->size; to++)
            send_one(job, &sends[i * job->size + to], to, BULK, i, mixed_len(i), i % 4 == 0);
    int bad = dnet_ep_counters(job->ep)->stop == 0;
    atomic_fetch_add(&stage->arrived, 1);
    sit_until(&stage->arrived, job->size);
    for (uint32_t i = 0; i < COUNT && !bad; i++)
        for (uint32_t k = 0; k < job->size && !bad; k++)
            bad = expect(job, (job->rank + k) % job->size, BULK, i, mixed_len(i));
    bad |= wait_all(job, sends, COUNT * job->size);
    dnet_job_barrier(job);
    free(sends);
    return bad;
}

/* A ring of 4096 bytes has room for one long packet. */
static void test_stop_all_to_all_with_one_entry_rings(void **state)
{
    (void) state;
    run_job(2, all_stopped, "4096");
    run_job(5, all_stopped, "4096");
}

/* ---- faults ---- */

static int all_stopped_with_faults(dnet_job_rank_t *job, void *arg)
{
    int bad = all_stopped(job, arg);
    if (dnet_ep_counters(job->ep)->retries == 0) {
        fprintf(stderr, "rank %u: nothing was lost\n", job->rank);
        bad = 1;
    }
    return bad;
}

static void test_stop_lost_doubled_and_late_words_are_survived(void **state)
{
    (void) state;
    static const char *const permille[] = {"20", "100"};
    for (unsigned i = 0; i < 2; i++) {
        setenv("DIMMNET_FAULTS", permille[i], 1);
        run_job(4, all_stopped_with_faults, "8192");
    }
    unsetenv("DIMMNET_FAULTS");
}

/* The waits of a long message whose pieces are stopped again and again, by loss: those of which
 * some pieces went out in between say nothing about the receiver. */
static int longest_wait_is_short(dnet_job_rank_t *job, void *arg)
{
    static send_t send;
    const uint32_t len = 59996;
    const uint64_t most_ns = 400000000; /* five doublings of 10 ms, and more */
    uint64_t longest = 0;
    (void) arg;
    if (job->rank == 0) {
        int bad = expect(job, 1, BULK, 7, len);
        dnet_job_barrier(job);
        return bad;
    }
    send_one(job, &send, 0, BULK, 7, len, false);
    while (!send.r.done) {
        const dnet_channel_t *ch = job->ep->peers[0].channel;
        if (ch && ch->retry_ns - ch->stopped_ns > longest)
            longest = ch->retry_ns - ch->stopped_ns;
        bool did;
        if (dnet_ep_progress(job->ep, &did) != DNET_OK)
            return 1;
    }
    uint64_t retries = dnet_ep_counters(job->ep)->retries;
    dnet_job_barrier(job);
    if (retries > 6 && longest <= most_ns)
        return 0;
    fprintf(stderr, "%u retries, the longest after %u ms\n", (unsigned) retries,
            (unsigned) (longest / 1000000));
    return 1;
}

/* What goes out by a channel that is open though nothing waits in it, as where pieces are pushed,
 * counts, too: the receiver answers. */
static int counts_tries_anew(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 1500 };
    (void) arg;
    int bad = 0;
    dnet_job_barrier(job);
    if (job->rank == 0) {
        sit_until(&stage->arrived, 1);
        for (uint32_t i = 0; i < stage->go + 1 && !bad; i++)
            bad = expect(job, 1, BULK, i, 8);
        dnet_job_barrier(job);
        return bad;
    }
    send_t *sends = calloc(COUNT + 1, sizeof(*sends));
    uint32_t n = send_until_stopped(job, sends, COUNT, 0, 8);
    dnet_channel_t *ch = job->ep->peers[0].channel;
    ch->pushing++;
    atomic_store(&stage->go, n);
    atomic_store(&stage->arrived, 1);
    bad = n == COUNT || wait_all(job, sends, n);
    ch->retries = 7;
    ch->limited = false;
    bad |= send_one(job, &sends[n], 0, BULK, n, 8, false) != DNET_OK || ch->retries != 0;
    ch->pushing--;
    dnet_channel_close_if_idle(job->ep, ch);
    dnet_job_barrier(job);
    free(sends);
    return bad;
}

static void test_stop_tries_are_counted_from_the_last_packet_on(void **state)
{
    (void) state;
    run_job(2, counts_tries_anew, "262144");
}

static void test_stop_of_pieces_is_not_tried_later_each_time(void **state)
{
    (void) state;
    setenv("DIMMNET_FAULTS", "200", 1);
    setenv("DIMMNET_PROFILE", "prototype", 1);
    setenv("DIMMNET_EAGER_LIMIT", "65536", 1);
    setenv("DIMMNET_RING_BYTES", "262144", 1);
    assert_int_equal(dnet_job_run(2, 100, longest_wait_is_short, NULL), 0);
    unsetenv("DIMMNET_EAGER_LIMIT");
    unsetenv("DIMMNET_PROFILE");
    unsetenv("DIMMNET_FAULTS");
}

/* ---- probe, cancel, finish ---- */

static int probe_and_cancel(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 2000 };
    (void) arg;
    int bad = 0;
    dnet_job_barrier(job);
    if (job->rank == 1) {
        send_t *sends = calloc(COUNT + 1, sizeof(*sends));
        for (uint32_t i = 0; i < COUNT; i++)
            send_one(job, &sends[i], 0, BULK, i, 8, false);
        bad = send_one(job, &sends[COUNT], 0, LAST, COUNT, 400, false) != DNET_IN_PROGRESS;
        atomic_store(&stage->arrived, 1);
        bad |= wait_all(job, sends, COUNT + 1);
        dnet_job_barrier(job);
        free(sends);
        return bad;
    }
    static send_t never;
    dnet_ep_message_t *message;
    dnet_ep_probe_t found;
    bool did;
    sit_until(&stage->arrived, 1);
    bad = dnet_job_irecv(job, &never.r, dnet_ep_envelope(CONTEXT, 1, NEVER), DNET_MATCH_BITS,
                         never.data, 8) != DNET_IN_PROGRESS;
    bad |=
        !dnet_ep_cancel_recv(job->ep, &never.r.req) || dnet_ep_cancel_recv(job->ep, &never.r.req);
    while (dnet_ep_probe(job->ep, dnet_ep_envelope(CONTEXT, 1, LAST), DNET_MATCH_BITS, &found) !=
           DNET_OK)
        dnet_ep_progress(job->ep, &did);
    bad |= found.len_bytes != 400 || expect(job, 1, LAST, COUNT, 400);
    bad |= dnet_ep_mprobe(job->ep, dnet_ep_envelope(CONTEXT, 1, BULK), DNET_MATCH_BITS, &found,
                          &message) != DNET_OK ||
           dnet_ep_mrecv(job->ep, message, never.data, 8, &never.r.req) != DNET_OK ||
           never.data[0] != 0;
    for (uint32_t i = 1; i < COUNT && !bad; i++)
        bad = expect(job, 1, BULK, i, 8);
    dnet_job_barrier(job);
    return bad;
}

static void test_stop_probe_and_cancel(void **state)
{
    (void) state;
    run_job(2, probe_and_cancel, "262144");
}

/* A process that leaves the job while it is stopped delivers first what it owes. */
static int finish(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 1200 };
    (void) arg;
    static send_t sends[COUNT]; /* outlives this function */
    int bad = 0;
    dnet_job_barrier(job);
    if (job->rank == 1) {
        for (uint32_t i = 0; i < COUNT; i++)
            send_one(job, &sends[i], 0, BULK, i, 400, false);
        bad = sends[COUNT - 1].r.done;
        atomic_store(&stage->arrived, 1);
        dnet_ep_finish(job->ep);
        for (bool did; dnet_ep_busy(job->ep);)
            dnet_ep_progress(job->ep, &did);
        return bad || !sends[COUNT - 1].r.done;
    }
    sit_until(&stage->arrived, 1);
    for (uint32_t i = 0; i < COUNT && !bad; i++)
        bad = expect(job, 1, BULK, i, 400);
    return bad;
}

static void test_stop_finish_delivers_first(void **state)
{
    (void) state;
    run_job(2, finish, "262144");
}

/* ---- death ---- */

static void die(void)
{
    raise(SIGKILL);
}

/* Progress until a dead peer is reported; the job's alarm ends a test that waits in vain. */
static void until_dead(dnet_job_rank_t *job)
{
    bool did;
    while (dnet_ep_progress(job->ep, &did) != DNET_ERR_PEER_DEAD)
        ;
}

/* As expect(), and a dead peer is no reason to give up. */
static int expect_among_dead(dnet_job_rank_t *job, uint32_t from, uint32_t number)
{
    static uint32_t got[1000];
    dnet_job_request_t r;
    bool did;
    dnet_job_irecv(job, &r, dnet_ep_envelope(CONTEXT, from, BULK), DNET_MATCH_BITS, got,
                   sizeof(got));
    while (!r.done)
        (void) dnet_ep_progress(job->ep, &did);
    return got[0] != number || got[1] != from;
}

enum { MANY = 300 };

/* Ranks 1 and 2 are stopped by rank 0; rank 1 dies.  What rank 2 has sent arrives, whole and in
 * order. */
static int sender_dies(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    static send_t sends[MANY];
    int bad = 0;
    dnet_job_barrier(job);
    if (job->rank == 0) {
        sit_until(&stage->arrived, 2);
        for (uint32_t i = 0; i < MANY && !bad; i++)
            bad = expect_among_dead(job, 2, i);
        until_dead(job);
        atomic_store(&stage->go, 1);
        _exit(bad);
    }
    for (uint32_t i = 0; i < MANY; i++)
        send_one(job, &sends[i], 0, BULK, i, 4000, false);
    bad = dnet_ep_counters(job->ep)->stop == 0;
    atomic_fetch_add(&stage->arrived, 1);
    if (job->rank == 1)
        die();
    bool did;
    while (!sends[MANY - 1].r.done)
        (void) dnet_ep_progress(job->ep, &did);
    sit_until(&stage->go, 1);
    _exit(bad);
}

/* Rank 0 has stopped the others and dies: they find out. */
static int receiver_dies(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    static send_t sends[MANY];
    dnet_job_barrier(job);
    if (job->rank == 0) {
        sit_until(&stage->arrived, 2);
        die();
    }
    for (uint32_t i = 0; i < MANY; i++)
        send_one(job, &sends[i], 0, BULK, i, 4000, false);
    int bad = dnet_ep_counters(job->ep)->stop == 0;
    atomic_fetch_add(&stage->arrived, 1);
    until_dead(job);
    atomic_fetch_add(&stage->go, 1);
    sit_until(&stage->go, 2);
    _exit(bad);
}

/* Rank 1 dies in the middle of its second packet (a fault point); what rank 2 sends behind it
 * arrives. */
static int sender_dies_in_a_packet(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 30 };
    static const size_t lens[] = {8, 400, 4000};
    static send_t s;
    (void) arg;
    int bad = 0;
    dnet_job_barrier(job);
    if (job->rank == 0) {
        for (uint32_t i = 0; i < COUNT && !bad; i++)
            bad = expect_among_dead(job, 2, i);
        until_dead(job);
        _exit(bad);
    }
    for (uint32_t i = 0; i < (job->rank == 1 ? 2 : COUNT); i++) {
        bool did;
        send_one(job, &s, 0, BULK, i, job->rank == 1 ? 4000 : lens[i % 3], false);
        while (!s.r.done)
            (void) dnet_ep_progress(job->ep, &did);
        if (job->rank == 2 && i == 0)
            until_dead(job);
    }
    if (job->rank == 1)
        die(); /* the packet had fewer instructions */
    _exit(0);
}

/* Each of the two survivors that looks says once who has died; so many look for certain. */
static void run_mourning(int (*body)(dnet_job_rank_t *, void *), uint32_t victim,
                         unsigned lines_due)
{
    static const char *const profiles[] = {"extended", "prototype"};
    for (unsigned i = 0; i < 2; i++) {
        char line[256], named[32];
        FILE *said = tmpfile();
        int old = dup(STDERR_FILENO);
        unsigned lines = 0;
        *stage = (stage_t){0};
        setenv("DIMMNET_PROFILE", profiles[i], 1);
        setenv("DIMMNET_RING_BYTES", "16384", 1);
        fflush(NULL);
        dup2(fileno(said), STDERR_FILENO);
        int result = dnet_job_run_mourning(3, 100, victim, body, NULL);
        fflush(NULL);
        dup2(old, STDERR_FILENO);
        close(old);
        rewind(said);
        snprintf(named, sizeof(named), "rank %u (pid", victim);
        while (fgets(line, sizeof(line), said)) {
            if (!strstr(line, named))
                fprintf(stderr, "said: %s", line);
            lines++;
        }
        fclose(said);
        assert_int_equal(result, 0);
        assert_in_range(lines, lines_due, 2); /* no rank says it twice */
    }
}

static void test_stop_sender_dies_others_finish(void **state)
{
    (void) state;
    run_mourning(sender_dies, 1, 1);
}

static void test_stop_sender_dies_in_a_packet_others_finish(void **state)
{
    (void) state;
#ifndef __x86_64__
    skip();
#endif
    setenv("DIMMNET_FAULT_PACKET", "2", 1);
    setenv("DIMMNET_FAULT_RANK", "1", 1);
    for (unsigned step = 60; step < 800; step += 100) {
        char text[16];
        snprintf(text, sizeof(text), "%u", step);
        setenv("DIMMNET_FAULT_STEP", text, 1);
        run_mourning(sender_dies_in_a_packet, 1, 1);
    }
    unsetenv("DIMMNET_FAULT_PACKET");
}

static void test_stop_receiver_dies_senders_are_told(void **state)
{
    (void) state;
    run_mourning(receiver_dies, 0, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stop_sends_while_stopped_keep_order),
        cmocka_unit_test(test_stop_only_sender_granted_before_all_is_drained),
        cmocka_unit_test(test_stop_others_are_not_held_up),
        cmocka_unit_test(test_stop_no_sender_starves),
        cmocka_unit_test(test_stop_all_to_all_with_one_entry_rings),
        cmocka_unit_test(test_stop_lost_doubled_and_late_words_are_survived),
        cmocka_unit_test(test_stop_tries_are_counted_from_the_last_packet_on),
        cmocka_unit_test(test_stop_of_pieces_is_not_tried_later_each_time),
        cmocka_unit_test(test_stop_probe_and_cancel),
        cmocka_unit_test(test_stop_finish_delivers_first),
        cmocka_unit_test(test_stop_sender_dies_others_finish),
        cmocka_unit_test(test_stop_sender_dies_in_a_packet_others_finish),
        cmocka_unit_test(test_stop_receiver_dies_senders_are_told),
    };
    stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return stage == MAP_FAILED ? 1 : cmocka_run_group_tests(tests, NULL, NULL);
}
