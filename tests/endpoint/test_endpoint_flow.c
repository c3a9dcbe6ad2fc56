/* SPDX-License-Identifier: BSD-3-Clause
 *
 * DIMMNET_FLOW: what becomes of a packet that finds no room (docs/protocol.md 6 and 6.2).  Whatever
 * the mode, nothing is lost and order is kept; which machinery did it, the counters tell.
 *
 * Two senders flood rank 0, which does not look at its NIC before it is told that one was refused.
 * That one has a message for a bystander, too: it arrives at once, but for the mode that stalls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "endpoint/channel.h"
#include "job.h"

enum { RECEIVER, SENDER, REFUSED, BYSTANDER, RANKS };
enum { CONTEXT = 1, FLOOD = 1, ASIDE = 2, MIXED = 3, MESSAGES = 4000, LONGEST = 100000 };

typedef struct {
    bool stalls; /* the mode under test does */
    int (*expected)(uint32_t rank, const dnet_ep_counters_t *c);
    atomic_bool aside_sent, released;
} plan_t;

typedef struct {
    dnet_job_request_t r;
    uint32_t number;
} send_t;

static void begin(dnet_job_rank_t *job, send_t *s, uint32_t to, uint32_t tag, const void *buf,
                  size_t len)
{
    dnet_job_isend(job, &s->r, to, dnet_ep_envelope(CONTEXT, job->rank, tag), buf, len, false);
}

static bool refused(dnet_job_rank_t *job)
{
    const dnet_ep_counters_t *c = dnet_ep_counters(job->ep);
    return c->stop + c->stalled > 0;
}

static int flood(dnet_job_rank_t *job, plan_t *plan)
{
    static send_t sends[MESSAGES], aside;
    bool told = false;
    int bad = 0;
    for (uint32_t i = 0; i < MESSAGES; i++) {
        sends[i].number = i;
        begin(job, &sends[i], RECEIVER, FLOOD, &sends[i].number, 4);
        if (job->rank == REFUSED && !told && refused(job)) {
            begin(job, &aside, BYSTANDER, ASIDE, &sends[0].number, 4);
            atomic_store(&plan->aside_sent, true);
            told = true;
        }
    }
    if (job->rank == REFUSED && !told) {
        fprintf(stderr, "%d messages and none was refused\n", MESSAGES);
        return 1;
    }
    for (uint32_t i = 0; i < MESSAGES && !bad; i++)
        bad = dnet_job_wait(job, &sends[i].r) != DNET_OK;
    return bad || (told && dnet_job_wait(job, &aside.r) != DNET_OK);
}

static int drain(dnet_job_rank_t *job, plan_t *plan)
{
    uint32_t next[RANKS] = {0};
    while (!atomic_load(&plan->released))
        usleep(50); /* computes: the condition is the flag */
    for (uint32_t i = 0; i < MESSAGES * 2; i++) {
        uint32_t from = i % 2 ? REFUSED : SENDER, number = UINT32_MAX;
        if (dnet_job_recv(job, dnet_ep_envelope(CONTEXT, from, FLOOD), DNET_MATCH_BITS, &number,
                          4) != 4 ||
            number != next[from]++) {
            fprintf(stderr, "from rank %u: number %u, expected %u\n", from, number, next[from] - 1);
            return 1;
        }
    }
    return 0;
}

/* Does the message arrive although the receiver that refuses has not gone on?  In the mode that
 * stalls it must not, however often this process looks. */
static int stand_by(dnet_job_rank_t *job, plan_t *plan)
{
    const uint64_t envelope = dnet_ep_envelope(CONTEXT, REFUSED, ASIDE);
    dnet_ep_probe_t found;
    uint32_t number;
    bool did, arrived = false;
    while (!atomic_load(&plan->aside_sent))
        usleep(50);
    for (unsigned looks = 0; !arrived && (!plan->stalls || looks < 2000); looks++) {
        dnet_ep_progress(job->ep, &did);
        arrived = dnet_ep_probe(job->ep, envelope, DNET_MATCH_BITS, &found) == DNET_OK;
    }
    atomic_store(&plan->released, true);
    if (arrived == plan->stalls) {
        fprintf(stderr, "a message to a bystander passed a stalled one\n");
        return 1;
    }
    return dnet_job_recv(job, envelope, DNET_MATCH_BITS, &number, 4) != 4;
}

static uint8_t byte_of(uint32_t rank, uint32_t message, size_t i)
{
    return (uint8_t) (rank * 71 + message * 13 + i * 7 + (i >> 8));
}

/* Messages of every path, from all to rank 0, several under way at once. */
static int mixed(dnet_job_rank_t *job)
{
    static const size_t lengths[] = {0, 8, 48, 400, 4000, 5000, 8192, LONGEST, 3, 4064, 40000, 8};
    enum { COUNT = sizeof(lengths) / sizeof(lengths[0]), ROUNDS = 10 };
    static uint8_t buf[COUNT][LONGEST];
    static send_t sends[COUNT];
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t m = 0; m < COUNT && job->rank != RECEIVER; m++) {
            for (size_t i = 0; i < lengths[m]; i++)
                buf[m][i] = byte_of(job->rank, m, i);
            begin(job, &sends[m], RECEIVER, MIXED, buf[m], lengths[m]);
        }
        for (uint32_t m = 0; m < COUNT && job->rank != RECEIVER; m++)
            if (dnet_job_wait(job, &sends[m].r) != DNET_OK)
                return 1;
        for (uint32_t k = 0; k < COUNT * (RANKS - 1) && job->rank == RECEIVER; k++) {
            uint32_t from = k % (RANKS - 1) + 1, m = k / (RANKS - 1);
            long got = dnet_job_recv(job, dnet_ep_envelope(CONTEXT, from, MIXED), DNET_MATCH_BITS,
                                     buf[0], LONGEST);
            for (size_t i = 0; got == (long) lengths[m] && i < lengths[m]; i++)
                got = buf[0][i] == byte_of(from, m, i) ? got : -1;
            if (got != (long) lengths[m]) {
                fprintf(stderr, "message %u of rank %u is wrong\n", m, from);
                return 1;
            }
        }
    }
    return 0;
}

static int flow_body(dnet_job_rank_t *job, void *arg)
{
    plan_t *plan = arg;
    dnet_job_barrier(job);
    int bad = job->rank == RECEIVER    ? drain(job, plan)
              : job->rank == BYSTANDER ? stand_by(job, plan)
                                       : flood(job, plan);
    dnet_job_barrier(job);
    if (!bad)
        bad = plan->expected(job->rank, dnet_ep_counters(job->ep));
    return bad ? bad : mixed(job);
}

static int counters_are(bool right, const char *mode, uint32_t rank, const dnet_ep_counters_t *c)
{
    if (!right)
        fprintf(stderr,
                "%s, rank %u: stop %" PRIu64 " resend %" PRIu64 " granted_others %" PRIu64
                " stalled %" PRIu64 " retries %" PRIu64 " limit_events %" PRIu64 "\n",
                mode, rank, c->stop, c->resend, c->granted_others, c->stalled, c->retries,
                c->limit_events);
    return !right;
}

static int expected_stop(uint32_t rank, const dnet_ep_counters_t *c)
{
    bool right = c->stalled == 0 && c->limit_events == 0;
    right &= rank != RECEIVER || (c->stopped_others > 0 && c->granted_others > 0);
    right &= rank != REFUSED || (c->stop > 0 && c->resend > 0);
    return counters_are(right, "stop", rank, c);
}

static int expected_stall(uint32_t rank, const dnet_ep_counters_t *c)
{
    bool right = c->stop == 0 && c->resend == 0 && c->granted_others == 0 && c->retries == 0 &&
                 c->limit_events == 0;
    right &= rank != REFUSED || c->stalled > 0;
    return counters_are(right, "stall", rank, c);
}

static int expected_rnr(uint32_t rank, const dnet_ep_counters_t *c)
{
    bool right =
        c->stalled == 0 && c->granted_others == 0 && c->resend == 0 && c->limit_events == 0;
    right &= rank != REFUSED || (c->stop > 0 && c->retries > 0);
    return counters_are(right, "rnr", rank, c);
}

static int expected_limit(uint32_t rank, const dnet_ep_counters_t *c)
{
    bool right = c->stalled == 0 && c->granted_others == 0 && c->resend == 0;
    right &= rank != RECEIVER || (c->limit_events > MESSAGES / 64 && c->limit_ns > 0);
    return counters_are(right, "limit", rank, c);
}

static void run(const char *mode, const char *profile, bool stalls,
                int (*expected)(uint32_t, const dnet_ep_counters_t *))
{
    plan_t *plan =
        mmap(NULL, sizeof(*plan), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(plan, MAP_FAILED);
    plan->stalls = stalls;
    plan->expected = expected;
    setenv("DIMMNET_FLOW", mode, 1);
    setenv("DIMMNET_PROFILE", profile, 1);
    assert_int_equal(dnet_job_run(RANKS, 60, flow_body, plan), 0);
    unsetenv("DIMMNET_FLOW");
    unsetenv("DIMMNET_PROFILE");
    munmap(plan, sizeof(*plan));
}

static void test_full_ring_stop_resumes_by_resend(void **state)
{
    (void) state;
    run("stop", "extended", false, expected_stop);
    run("stop", "prototype", false, expected_stop);
}

static void test_full_ring_stall_blocks_everything_behind(void **state)
{
    (void) state;
    run("stall", "extended", true, expected_stall);
}

static void test_full_ring_rnr_retries_by_timer(void **state)
{
    (void) state;
    run("rnr", "extended", false, expected_rnr);
    run("rnr", "prototype", false, expected_rnr);
}

static void test_full_ring_limit_wakes_a_thread(void **state)
{
    (void) state;
    run("limit", "extended", false, expected_limit);
    run("limit", "prototype", false, expected_limit);
}

/* ---- an answer to a packet that had stalled, before its peer's turn ---- */

enum { AWAY, ANSWERS, SENDS, ENDPOINTS };
enum { FILLING = 2000, FILLINGS = 4, ASKED = 490, ROUNDS = 50 };

typedef struct {
    dnet_ep_request_t req; /* first member */
    bool done;
} wait_t;

static void ended(dnet_ep_request_t *req, dnet_status_t status)
{
    ((wait_t *) req)->done = status == DNET_OK;
}

static void look(dnet_ep_t *ep)
{
    for (int i = 0; i < ROUNDS; i++) {
        bool did = false;
        assert_int_equal(dnet_ep_poll(ep, &did), DNET_OK);
    }
}

static void open_all(dnet_ep_t **ep)
{
    dnet_ep_address_t address[ENDPOINTS];
    setenv("DIMMNET_FLOW", "stall", 1);
    setenv("DIMMNET_RING_BYTES", "8192", 1);
    for (uint32_t rank = 0; rank < ENDPOINTS; rank++) {
        dnet_ep_config_t config = {.rank = rank, .size = ENDPOINTS, .job = (uint64_t) getpid()};
        assert_int_equal(dnet_ep_open(&config, &ep[rank]), DNET_OK);
        dnet_ep_address(ep[rank], &address[rank]);
    }
    for (uint32_t rank = 0; rank < ENDPOINTS; rank++)
        assert_int_equal(dnet_ep_connect(ep[rank], address), DNET_OK);
    unsetenv("DIMMNET_FLOW");
    unsetenv("DIMMNET_RING_BYTES");
}

/* The NIC of SENDS keeps a synchronous message to ANSWERS.  When it has been delivered the NIC
 * stalls again, by one to AWAY, whose turn comes first; and then the answer comes. */
static void test_stalled_packet_is_answered_before_its_turn(void **state)
{
    static char buf[FILLING];
    uint64_t envelope = dnet_ep_envelope(CONTEXT, SENDS, FLOOD);
    wait_t asked = {.req.complete = ended}, behind = {.req.complete = ended};
    dnet_ep_t *ep[ENDPOINTS];
    (void) state;
    open_all(ep);
    for (int i = 0; i < FILLINGS; i++)
        for (uint32_t peer = AWAY; peer < SENDS; peer++)
            assert_int_equal(dnet_ep_send(ep[SENDS], peer, envelope, buf, FILLING, false, NULL),
                             DNET_OK);
    assert_int_equal(dnet_ep_send(ep[SENDS], ANSWERS, envelope, buf, ASKED, true, &asked.req),
                     DNET_IN_PROGRESS);
    assert_int_equal(dnet_ep_send(ep[SENDS], AWAY, envelope, buf, FILLING, false, &behind.req),
                     DNET_IN_PROGRESS);
    wait_t received[FILLINGS + 1];
    for (int i = 0; i <= FILLINGS; i++) {
        received[i] = (wait_t){.req.complete = ended};
        dnet_ep_recv(ep[ANSWERS], envelope, DNET_MATCH_BITS, buf, FILLING, &received[i].req);
    }
    look(ep[ANSWERS]); /* makes room */
    look(ep[SENDS]);
    assert_false(behind.done);
    look(ep[ANSWERS]);
    assert_true(received[FILLINGS].done);
    look(ep[SENDS]);
    assert_true(asked.done);
    look(ep[AWAY]);
    look(ep[SENDS]);
    assert_true(behind.done);
    for (uint32_t rank = 0; rank < ENDPOINTS; rank++)
        dnet_ep_close(ep[rank]);
}

/* The entries of ANSWERS are full when SENDS acknowledges a synchronous message of it: the NIC
 * keeps the acknowledgement, and it arrives once. */
static void test_stalled_answer_arrives_once(void **state)
{
    uint64_t number = 0, to_answers = dnet_ep_envelope(CONTEXT, SENDS, FLOOD);
    uint64_t to_sends = dnet_ep_envelope(CONTEXT, ANSWERS, ASIDE);
    wait_t asked = {.req.complete = ended}, received = {.req.complete = ended};
    dnet_ep_t *ep[ENDPOINTS];
    (void) state;
    open_all(ep);
    assert_int_equal(
        dnet_ep_send(ep[ANSWERS], SENDS, to_sends, &number, sizeof(number), true, &asked.req),
        DNET_IN_PROGRESS);
    const uint32_t entries = dnet_drv_lh_free(&ep[ANSWERS]->drv);
    const uint32_t before = ep[ANSWERS]->drv.lh_read;
    for (uint32_t i = 0; i < entries; i++)
        assert_int_equal(
            dnet_ep_send(ep[SENDS], ANSWERS, to_answers, &number, sizeof(number), false, NULL),
            DNET_OK);
    dnet_ep_recv(ep[SENDS], to_sends, DNET_MATCH_BITS, &number, sizeof(number), &received.req);
    look(ep[SENDS]);
    assert_true(received.done);
    assert_int_equal(dnet_ep_counters(ep[SENDS])->stalled, 1);
    for (int i = 0; i < 3; i++) {
        look(ep[ANSWERS]);
        look(ep[SENDS]);
    }
    assert_true(asked.done);
    assert_int_equal(ep[ANSWERS]->drv.lh_read - before, entries + 1);
    for (uint32_t rank = 0; rank < ENDPOINTS; rank++)
        dnet_ep_close(ep[rank]);
}

typedef struct {
    dnet_ep_request_t req; /* first member */
    dnet_ep_t *ep;
    uint64_t number;
    uint32_t started;
} starter_t;

static void start_others(dnet_ep_request_t *req, dnet_status_t status)
{
    starter_t *s = (starter_t *) req;
    uint64_t envelope = dnet_ep_envelope(CONTEXT, SENDS, FLOOD);
    assert_int_equal(status, DNET_OK);
    do
        s->started++;
    while (dnet_ep_send(s->ep, ANSWERS, envelope, &s->number, 8, false, NULL) == DNET_OK);
}

/* A send that has waited is over, and its caller starts others until the NIC keeps one: that one
 * arrives once. */
static void test_stalled_send_of_a_callback_arrives_once(void **state)
{
    uint64_t envelope = dnet_ep_envelope(CONTEXT, SENDS, FLOOD);
    dnet_ep_t *ep[ENDPOINTS];
    (void) state;
    open_all(ep);
    starter_t starter = {.req.complete = start_others, .ep = ep[SENDS]};
    const uint32_t entries = dnet_drv_lh_free(&ep[ANSWERS]->drv);
    const uint32_t before = ep[ANSWERS]->drv.lh_read;
    for (uint32_t i = 0; i <= entries; i++)
        assert_int_equal(
            dnet_ep_send(ep[SENDS], ANSWERS, envelope, &starter.number, 8, false, NULL),
            i < entries ? DNET_OK : DNET_IN_PROGRESS);
    assert_int_equal(
        dnet_ep_send(ep[SENDS], ANSWERS, envelope, &starter.number, 8, false, &starter.req),
        DNET_IN_PROGRESS);
    for (int i = 0; i < 3; i++) {
        look(ep[ANSWERS]);
        look(ep[SENDS]);
    }
    look(ep[ANSWERS]);
    assert_true(starter.started > 1);
    assert_int_equal(ep[ANSWERS]->drv.lh_read - before, entries + 2 + starter.started);
    for (uint32_t rank = 0; rank < ENDPOINTS; rank++)
        dnet_ep_close(ep[rank]);
}

/* A word that its peer waits for can neither go nor wait, for there is no op left. */
static void test_control_that_is_lost_ends_the_process(void **state)
{
    uint64_t number = 0;
    int status;
    (void) state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dnet_ep_t *ep[ENDPOINTS];
        open_all(ep);
        while (dnet_ep_send(ep[SENDS], ANSWERS, dnet_ep_envelope(CONTEXT, SENDS, FLOOD), &number,
                            sizeof(number), false, NULL) == DNET_OK)
            ;
        ep[SENDS]->ops.free = NULL;
        ep[SENDS]->ops.cap = 1u << 20;
        dnet_send_ack(ep[SENDS], ANSWERS, 0);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_ring_stop_resumes_by_resend),
        cmocka_unit_test(test_full_ring_stall_blocks_everything_behind),
        cmocka_unit_test(test_stalled_packet_is_answered_before_its_turn),
        cmocka_unit_test(test_stalled_answer_arrives_once),
        cmocka_unit_test(test_stalled_send_of_a_callback_arrives_once),
        cmocka_unit_test(test_control_that_is_lost_ends_the_process),
        cmocka_unit_test(test_full_ring_rnr_retries_by_timer),
        cmocka_unit_test(test_full_ring_limit_wakes_a_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
