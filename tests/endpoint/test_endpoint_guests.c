/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of several jobs, whose NICs have the same LIDs: messages of every way arrive between
 * them, also when the store for unexpected ones is full; a process that is dropped makes room for
 * others; one that has ended is named, and one that has gone while it was held back, or while it
 * held messages back, is waited for no longer; a job that can have no guests says so.  The same
 * between hosts: those of one machine that have different names for it, and meet on its loopback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "job.h"

enum { LOOKS = 300 }; /* sleeps of up to 1 ms: peers are looked at several times */
enum { JOBS = 3, SIZE = 3, ALL = JOBS * SIZE, MANY = 300, LONGEST = 1048576 };
static const size_t sizes[] = {8, 49, 489, 4065, 65536, LONGEST};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static uint32_t peers[ALL]; /* by number: the peer */
static bool hosts_differ;

static uint32_t source(void *arg, uint64_t envelope)
{
    (void) arg;
    return peers[dnet_ep_envelope_rank(envelope)];
}

static dnet_ep_contact_t *contacts(void)
{
    return dnet_job_shared();
}

/* Each process tells its contact; those of `number` below `known` learn all. */
static int meet(dnet_job_rank_t *job, uint32_t all, uint32_t known)
{
    if (dnet_ep_contact(job->ep, job->rank, &contacts()[job->number]) != DNET_OK)
        return 1;
    dnet_job_barrier(job);
    for (uint32_t n = 0; n < all; n++) {
        peers[n] = DNET_EP_NO_RANK;
        if (job->number < known && dnet_ep_add_peer(job->ep, &contacts()[n], &peers[n]) != DNET_OK)
            return 1;
    }
    dnet_ep_set_source(job->ep, source, NULL);
    return 0;
}

static uint8_t byte_of(uint32_t from, uint32_t to, unsigned size, size_t at)
{
    return (uint8_t) (from * 37 + to * 11 + size * 5 + at + at / 255);
}

/* Everybody sends every size to everybody else, the odd ones synchronously.  @param arg  how many
 * they are; NULL: ALL */
static int all_to_all(dnet_job_rank_t *job, void *arg)
{
    static uint8_t out[ALL][LONGEST], in[ALL][LONGEST];
    dnet_job_request_t sends[ALL], receives[ALL];
    const uint32_t all = arg ? *(uint32_t *) arg : ALL;
    if (meet(job, all, all))
        return 1;
    for (unsigned i = 0; i < SIZES; i++) {
        for (uint32_t n = 0; n < all; n++)
            dnet_job_irecv(job, &receives[n], dnet_ep_envelope(1, n, i), DNET_MATCH_BITS, in[n],
                           sizes[i]);
        for (uint32_t n = 0; n < all; n++) {
            for (size_t b = 0; b < sizes[i]; b++)
                out[n][b] = byte_of(job->number, n, i, b);
            dnet_job_isend(job, &sends[n], peers[n], dnet_ep_envelope(1, job->number, i), out[n],
                           sizes[i], i % 2);
        }
        for (uint32_t n = 0; n < all; n++) {
            if (dnet_job_wait(job, &receives[n]) != DNET_OK ||
                dnet_job_wait(job, &sends[n]) != DNET_OK)
                return 1;
            for (size_t b = 0; b < sizes[i]; b++) {
                if (in[n][b] == byte_of(n, job->number, i, b))
                    continue;
                fprintf(stderr, "byte %zu of %zu from %u is wrong\n", b, sizes[i], n);
                return 1;
            }
        }
    }
    return 0;
}

static void test_guests_all_sizes_arrive_between_jobs(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_several(JOBS, SIZE, 60, ALL, all_to_all, NULL), 0);
}

static void test_guests_staged_messages_arrive_between_jobs(void **state)
{
    (void) state;
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    assert_int_equal(dnet_job_run_several(JOBS, SIZE, 60, ALL, all_to_all, NULL), 0);
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* How far a process of another job is, nobody asks, for it has no place among the ranks. */
static void test_guests_are_as_near_as_can_be(void **state)
{
    uint32_t two = 2; /* as many as there are processors, so that both copy */
    (void) state;
    setenv("DIMMNET_RENDEZVOUS", "direct", 1);
    setenv("DIMMNET_SPLIT_LIMIT_FAR", "1", 1);
    assert_int_equal(dnet_job_run_several(two, 1, 60, two, all_to_all, &two), 0);
    unsetenv("DIMMNET_SPLIT_LIMIT_FAR");
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* All of the other jobs send to process 0, which stands until they are stopped, and receives the
 * last message of each first: the others are stopped, held back, pulled and granted.  Process 0 has
 * not been told of any, so it learns of them by what they send. */
static int flood(dnet_job_rank_t *job, void *arg)
{
    static dnet_job_request_t sends[MANY];
    static uint32_t numbers[MANY][16];
    uint32_t first = SIZE;
    (void) arg;
    if (meet(job, ALL, job->number ? ALL : 0))
        return 1;
    if (job->number == 0) {
        dnet_ep_set_source(job->ep, NULL, NULL);
        dnet_job_stand(job);
        for (uint32_t n = first; n < ALL; n++)
            for (uint32_t i = 0; i < MANY; i++) {
                uint32_t want = i == 0 ? MANY - 1 : i - 1, number[16];
                if (dnet_job_recv(job, dnet_ep_envelope(1, n, want), DNET_MATCH_BITS, number,
                                  sizeof(number)) != sizeof(number) ||
                    number[0] != want)
                    return 1;
            }
        const dnet_ep_counters_t *c = dnet_ep_counters(job->ep);
        fprintf(stderr, "stopped %u, held %u\n", (unsigned) c->stopped_others,
                (unsigned) c->held_others);
        /* Of what other hosts have sent only so much is taken as there is room for. */
        return (c->stopped_others == 0 && !hosts_differ) || c->held_others == 0;
    }
    if (job->number >= first)
        for (uint32_t i = 0; i < MANY; i++) {
            numbers[i][0] = i;
            dnet_job_isend(job, &sends[i], peers[0], dnet_ep_envelope(1, job->number, i),
                           numbers[i], sizeof(numbers[i]), false);
        }
    dnet_job_stand(job);
    for (uint32_t i = 0; i < MANY && job->number >= first; i++)
        if (dnet_job_wait(job, &sends[i]) != DNET_OK)
            return 1;
    return 0;
}

static void test_guests_are_stopped_and_held_back(void **state)
{
    (void) state;
    setenv("DIMMNET_UNEXPECTED_BYTES", "65536", 1);
    assert_int_equal(dnet_job_run_several(JOBS, SIZE, 60, ALL, flood, NULL), 0);
    unsetenv("DIMMNET_UNEXPECTED_BYTES");
}

/* Progress, until nothing of other jobs is known any more. */
static bool forgets_all(dnet_job_rank_t *job)
{
    bool did;
    for (uint32_t peer = job->size; peer < dnet_ep_peers(job->ep); peer++)
        dnet_ep_drop_peer(job->ep, peer);
    while (dnet_ep_peers(job->ep) > job->size)
        if (dnet_ep_progress(job->ep, &did) != DNET_OK)
            return false;
    return true;
}

/* Job 0 talks to the others, one after the other, and drops each. */
static int one_by_one(dnet_job_rank_t *job, void *arg)
{
    uint32_t number, others = *(uint32_t *) arg;
    if (meet(job, others, 0))
        return 1;
    for (uint32_t n = 1; n < others; n++) {
        uint64_t envelope = dnet_ep_envelope(1, 0, n);
        if (job->number == 0) {
            if (dnet_ep_add_peer(job->ep, &contacts()[n], &peers[0]) != DNET_OK ||
                peers[0] != job->size + 1 ||
                dnet_job_send(job, peers[0], envelope, &n, sizeof(n), true) || !forgets_all(job))
                return 1;
        } else if (job->number == n) {
            if (dnet_job_recv(job, envelope, DNET_MATCH_BITS, &number, sizeof(number)) !=
                    sizeof(number) ||
                number != n || !forgets_all(job))
                return 1;
        }
        dnet_job_barrier(job);
    }
    return 0;
}

/* Each gets the first number anew. */
static void test_guests_that_are_dropped_make_room(void **state)
{
    uint32_t others = 8;
    (void) state;
    assert_int_equal(dnet_job_run_several(others, 1, 60, others, one_by_one, &others), 0);
}

/* ---- between hosts ---- */

enum { TIMES = 40 };
/* Of three jobs the second one is on both hosts. */
static const int two_hosts[ALL] = {0, 0, 0, 0, 1, 1, 1, 1, 1};
static const int first_and_second[] = {0, 1};

static void between_hosts(const int *host)
{
    hosts_differ = true;
    setenv("DIMMNET_CONNECT", "hosts", 1);
    setenv("DIMMNET_PLUG", "tcp", 1);
    setenv("DIMMNET_INTERFACE", "lo", 1);
    dnet_job_hosts(host);
}

static void on_one_host(void)
{
    hosts_differ = false;
    dnet_job_hosts(NULL);
    unsetenv("DIMMNET_INTERFACE");
    unsetenv("DIMMNET_PLUG");
    unsetenv("DIMMNET_CONNECT");
}

static void test_guests_of_other_hosts_all_sizes(void **state)
{
    (void) state;
    between_hosts(two_hosts);
    assert_int_equal(dnet_job_run_several(JOBS, SIZE, 60, ALL, all_to_all, NULL), 0);
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    assert_int_equal(dnet_job_run_several(JOBS, SIZE, 60, ALL, all_to_all, NULL), 0);
    unsetenv("DIMMNET_RENDEZVOUS");
    on_one_host();
}

static void test_guests_of_other_hosts_are_stopped_and_held_back(void **state)
{
    (void) state;
    between_hosts(two_hosts);
    setenv("DIMMNET_UNEXPECTED_BYTES", "65536", 1);
    assert_int_equal(dnet_job_run_several(JOBS, SIZE, 60, ALL, flood, NULL), 0);
    unsetenv("DIMMNET_UNEXPECTED_BYTES");
    on_one_host();
}

/* A process is on its own: a job of its own, with a new NIC and port. */
static int begin_anew(dnet_job_rank_t *job, uint64_t number)
{
    dnet_ep_config_t config = {.size = 1, .job = (uint64_t) getpid() << 32 | number};
    dnet_ep_address_t own;
    dnet_ep_close(job->ep);
    if (dnet_ep_open(&config, &job->ep) != DNET_OK)
        return 1;
    dnet_ep_address(job->ep, &own);
    return dnet_ep_connect(job->ep, &own) != DNET_OK;
}

/* The number that the next descriptor gets. */
static int next_descriptor(void)
{
    int fd = dup(0);
    close(fd);
    return fd;
}

/* Process 1 comes, is met several times, and goes, over and over. */
static int come_and_go(dnet_job_rank_t *job, void *arg)
{
    enum { MEETINGS = 3 };
    int before = 0;
    (void) arg;
    for (uint32_t i = 0; i < TIMES; i++) {
        uint64_t envelope = dnet_ep_envelope(1, 0, i);
        uint32_t number, peer;
        if (job->number == 1 && begin_anew(job, i))
            return 1;
        if (meet(job, 2, 0))
            return 1;
        for (uint32_t m = 0; m < MEETINGS; m++) {
            if (dnet_ep_add_peer(job->ep, &contacts()[1 - job->number], &peer) != DNET_OK ||
                peer != job->size + 1)
                return 1;
            if (job->number == 0 && dnet_job_send(job, peer, envelope, &i, sizeof(i), true))
                return 1;
            if (job->number == 1 && dnet_job_recv(job, envelope, DNET_MATCH_BITS, &number,
                                                  sizeof(number)) != sizeof(number))
                return 1;
            dnet_ep_drop_peer(job->ep, peer);
            dnet_job_barrier(job);
        }
        if (job->number == 1 && begin_anew(job, TIMES + i)) /* the one that was met is gone */
            return 1;
        dnet_job_barrier(job);
        if (job->number == 0 && !forgets_all(job))
            return 1;
        before = i == 0 ? next_descriptor() : before;
        if (next_descriptor() != before) {
            fprintf(stderr, "after %u meetings a descriptor more is open\n", i + 1);
            return 1;
        }
    }
    return 0;
}

static void test_guests_of_other_hosts_that_leave_make_room(void **state)
{
    (void) state;
    between_hosts(first_and_second);
    assert_int_equal(dnet_job_run_several(2, 1, 60, 2, come_and_go, NULL), 0);
    on_one_host();
}

/* ---- losses ---- */

static void wait_for_end(pid_t pid)
{
    struct pollfd end = {.fd = (int) syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
    (void) poll(&end, 1, 20000);
    close(end.fd);
}

/* Process 1, of the other job, ends while process 0 still deals with it, or has dropped it. */
static int mourn(dnet_job_rank_t *job, void *arg)
{
    bool dropped = *(bool *) arg, did;
    uint32_t word = 0;
    if (meet(job, 2, 2))
        return 1;
    if (job->number == 1) {
        dnet_job_send(job, peers[0], dnet_ep_envelope(1, 1, 0), &word, sizeof(word), true);
        kill(getpid(), SIGKILL);
    }
    if (dnet_job_recv(job, dnet_ep_envelope(1, 1, 0), DNET_MATCH_BITS, &word, sizeof(word)) < 0)
        return 1;
    wait_for_end(contacts()[1].who.process.pid);
    /* As long as something is under way it is known, and its end is nobody's business. */
    dnet_status_t status = DNET_OK;
    if (dropped) {
        dnet_ep_drop_peer(job->ep, peers[1]);
        dnet_job_send(job, 0, dnet_ep_envelope(2, 0, 0), &word, sizeof(word), false);
        while (status == DNET_OK && dnet_ep_counters(job->ep)->sleeps < LOOKS)
            status = dnet_ep_progress(job->ep, &did);
        if (dnet_ep_peers(job->ep) == job->size)
            _exit(1);
        dnet_job_recv(job, dnet_ep_envelope(2, 0, 0), DNET_MATCH_BITS, &word, sizeof(word));
    }
    while (status == DNET_OK && dnet_ep_peers(job->ep) > job->size)
        status = dnet_ep_progress(job->ep, &did);
    fflush(NULL);
    _exit(status != (dropped ? DNET_OK : DNET_ERR_PEER_DEAD)); /* nobody comes to the barrier */
}

static void test_guests_that_end_are_lost(void **state)
{
    bool dropped = false;
    (void) state;
    assert_int_equal(dnet_job_run_several(2, 1, 60, 1, mourn, &dropped), 0);
    dropped = true; /* no loss */
    assert_int_equal(dnet_job_run_several(2, 1, 60, 1, mourn, &dropped), 0);
}

static void test_guests_of_other_hosts_that_end_are_lost(void **state)
{
    between_hosts(first_and_second);
    test_guests_that_end_are_lost(state);
    on_one_host();
}

/* Make progress, for two seconds at most, until a send is over, or nothing is under way any more
 * (`r` NULL). */
static bool ends_soon(dnet_job_rank_t *job, const dnet_job_request_t *r)
{
    const time_t end = time(NULL) + 3;
    bool did;
    while (r ? !r->done : dnet_ep_busy(job->ep))
        if (dnet_ep_progress(job->ep, &did) != DNET_OK || time(NULL) >= end)
            return false;
    return true;
}

enum { BUDGET = 4096, LENGTH = 1000 };

typedef struct {
    uint32_t count; /* messages of process 1 */
    bool known;     /* process 0 receives them from the last one on, as they come, and so has
                     * spoken to process 1; else they all fit its rings, and it has not */
    bool killed;    /* process 1 does not leave in order, but has been dropped */
} parting_t;

static void send_all(dnet_job_rank_t *job, uint32_t count)
{
    static dnet_job_request_t sends[MANY];
    static uint8_t out[LENGTH];
    for (uint32_t i = 0; i < count; i++)
        dnet_job_isend(job, &sends[i], peers[0], dnet_ep_envelope(1, 1, i), out, LENGTH, false);
    for (uint32_t i = 0; i < count; i++)
        dnet_job_wait(job, &sends[i]);
}

static int receive_all(dnet_job_rank_t *job, uint32_t count)
{
    static uint8_t in[LENGTH];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t want = i == 0 ? count - 1 : i - 1;
        if (dnet_job_recv(job, dnet_ep_envelope(1, 1, want), DNET_MATCH_BITS, in, LENGTH) != LENGTH)
            return 1;
    }
    return 0;
}

/* Process 1, of the other job, has sent all that it had, and goes: process 0 holds it back still,
 * and what it says then nobody hears. */
static int part_while_held(dnet_job_rank_t *job, void *arg)
{
    const parting_t *parting = arg;
    if (meet(job, 2, 2))
        return 1;
    if (job->number == 1) {
        send_all(job, parting->count);
        if (!parting->killed)
            return begin_anew(job, 1) || (dnet_job_stand(job), 0);
        dnet_job_stand(job);
        kill(getpid(), SIGKILL);
    }
    if (parting->known && receive_all(job, parting->count))
        return 1;
    if (parting->killed)
        dnet_ep_drop_peer(job->ep, peers[1]);
    dnet_job_stand(job);
    if (parting->killed)
        wait_for_end(contacts()[1].who.process.pid);
    if (!parting->known && receive_all(job, parting->count))
        return 1;
    bool held = dnet_ep_counters(job->ep)->held_others > 0;
    dnet_ep_finish(job->ep);
    bool ended = ends_soon(job, NULL);
    if (!held || !ended)
        fprintf(stderr, "held back: %d, over: %d\n", held, ended);
    fflush(NULL);
    if (parting->killed) /* nobody comes to the barrier */
        _exit(!held || !ended);
    return !held || !ended;
}

static void test_guests_that_go_while_they_are_held_back(void **state)
{
    static const struct {
        parting_t parting;
        uint32_t victim;
    } cases[] = {
        {{.count = MANY, .known = true}, 2},
        {{.count = 2 * BUDGET / LENGTH}, 2},
        {{.count = MANY, .known = true, .killed = true}, 1},
        {{.count = 2 * BUDGET / LENGTH, .killed = true}, 1},
    };
    (void) state;
    setenv("DIMMNET_UNEXPECTED_BYTES", "4096", 1);
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        parting_t parting = cases[i].parting;
        assert_int_equal(dnet_job_run_several(2, 1, 60, cases[i].victim, part_while_held, &parting),
                         0);
    }
    unsetenv("DIMMNET_UNEXPECTED_BYTES");
}

/* Process 0 holds a request of process 1 back when it ends. */
static int asked_dies_while_it_holds(dnet_job_rank_t *job, void *arg)
{
    dnet_job_request_t r;
    uint32_t word = 0;
    (void) arg;
    if (meet(job, 2, 2))
        return 1;
    if (job->number == 0) {
        dnet_job_stand(job);
        dnet_job_settle(job);
        dnet_job_stand(job);
        pause();
    }
    send_all(job, 2 * BUDGET / LENGTH);
    dnet_job_stand(job);
    dnet_job_stand(job);
    dnet_ep_set_asked(job->ep, peers[0], true);
    dnet_job_isend(job, &r, peers[0], dnet_ep_envelope(1, 1, MANY), &word, sizeof(word), false);
    bool held = !r.done && dnet_ep_counters(job->ep)->held > 0;
    kill(contacts()[0].who.process.pid, SIGKILL);
    wait_for_end(contacts()[0].who.process.pid);
    dnet_ep_cancel_send(job->ep, &r.req);
    bool over = ends_soon(job, &r) && ends_soon(job, NULL);
    if (!held || !over)
        fprintf(stderr, "held back: %d, over: %d\n", held, over);
    fflush(NULL);
    _exit(!held || !over);
}

static void test_guests_that_are_asked_end_while_they_hold_back(void **state)
{
    (void) state;
    setenv("DIMMNET_UNEXPECTED_BYTES", "4096", 1);
    assert_int_equal(dnet_job_run_several(2, 1, 60, 0, asked_dies_while_it_holds, NULL), 0);
    unsetenv("DIMMNET_UNEXPECTED_BYTES");
}

typedef struct {
    const char *rendezvous; /* DIMMNET_RENDEZVOUS */
    const char *eager;      /* DIMMNET_EAGER_LIMIT */
    const char *ring;       /* DIMMNET_RING_BYTES */
    size_t len;
    bool sends; /* process 1 does, and process 0 receives; else the other way */
} amid_t;

/* @return DNET_IN_PROGRESS: it has not ended in three seconds */
static dnet_status_t how_it_ends(dnet_job_rank_t *job, const dnet_job_request_t *r)
{
    const time_t end = time(NULL) + 3;
    dnet_status_t status = DNET_OK;
    bool did;
    while (status == DNET_OK && !r->done && time(NULL) < end)
        status = dnet_ep_progress(job->ep, &did);
    return status != DNET_OK ? status : r->done ? r->status : DNET_IN_PROGRESS;
}

/* Process 1, of the other job, ends in the midst of a message; process 0 has dropped it, but waits
 * for that. */
static int die_amid_a_message(dnet_job_rank_t *job, void *arg)
{
    static uint8_t bytes[8 * LONGEST];
    const amid_t *amid = arg;
    const bool sends = amid->sends == (job->number == 1);
    dnet_job_request_t r;
    if (meet(job, 2, 2))
        return 1;
    if (sends)
        dnet_job_isend(job, &r, peers[1 - job->number], dnet_ep_envelope(1, 0, 0), bytes, amid->len,
                       false);
    else
        dnet_job_irecv(job, &r, dnet_ep_envelope(1, 0, 0), DNET_MATCH_BITS, bytes, amid->len);
    dnet_job_stand(job);
    if (!sends)
        dnet_job_settle(job);
    dnet_job_stand(job);
    if (sends)
        dnet_job_settle(job);
    dnet_job_stand(job);
    if (job->number == 1)
        kill(getpid(), SIGKILL);
    wait_for_end(contacts()[1].who.process.pid);
    dnet_ep_drop_peer(job->ep, peers[1]);
    dnet_status_t status = r.done ? DNET_OK : how_it_ends(job, &r);
    if (status != DNET_ERR_PEER_DEAD)
        fprintf(stderr, "%s, %zu bytes, sent by who ends: %d: %s\n", amid->rendezvous, amid->len,
                amid->sends, dnet_status_text(status));
    fflush(NULL);
    _exit(status != DNET_ERR_PEER_DEAD);
}

static void test_guests_that_end_amid_a_message_are_lost(void **state)
{
    static const amid_t cases[] = {
        {"staged", "8192", "2097152", 8 * LONGEST, false},
        {"staged", "8192", "2097152", 8 * LONGEST, true},
        {"direct", "1048576", "32768", LONGEST, false},
        {"direct", "1048576", "32768", LONGEST, true},
    };
    (void) state;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        amid_t amid = cases[i];
        setenv("DIMMNET_RENDEZVOUS", amid.rendezvous, 1);
        setenv("DIMMNET_EAGER_LIMIT", amid.eager, 1);
        setenv("DIMMNET_RING_BYTES", amid.ring, 1);
        assert_int_equal(dnet_job_run_several(2, 1, 60, 1, die_amid_a_message, &amid), 0);
    }
    unsetenv("DIMMNET_RENDEZVOUS");
    unsetenv("DIMMNET_EAGER_LIMIT");
    unsetenv("DIMMNET_RING_BYTES");
}

/* A process that has ended, one that somebody else follows at its port, and a host that is silent:
 * the message is refused, and the job goes on. */
static int met_too_late(dnet_job_rank_t *job, void *arg)
{
    uint32_t peer, word = 0;
    (void) arg;
    if (job->number == 1)
        return dnet_ep_contact(job->ep, 0, &contacts()[1]) != DNET_OK || begin_anew(job, 1) ||
               (dnet_job_barrier(job), 0);
    dnet_job_barrier(job);
    if (dnet_ep_add_peer(job->ep, &contacts()[1], &peer) != DNET_OK ||
        dnet_job_send(job, peer, dnet_ep_envelope(1, 0, 0), &word, sizeof(word), false) == 0)
        return 1;
    dnet_ep_drop_peer(job->ep, peer);
    if (!forgets_all(job))
        return 1;
    dnet_ep_contact(job->ep, 0, &contacts()[0]);
    contacts()[0].who.process.group++;
    contacts()[0].host_id++;
    contacts()[0].who.port.key++; /* as if another process had its port now */
    return dnet_ep_add_peer(job->ep, &contacts()[0], &peer) != DNET_OK ||
           dnet_job_send(job, peer, dnet_ep_envelope(1, 0, 0), &word, sizeof(word), false) == 0;
}

static void test_guests_of_other_hosts_that_are_gone_are_not_met(void **state)
{
    (void) state;
    between_hosts(first_and_second);
    assert_int_equal(dnet_job_run_several(2, 1, 60, 2, met_too_late, NULL), 0);
    on_one_host();
}

static int refused(dnet_job_rank_t *job, void *arg)
{
    dnet_ep_contact_t contact;
    (void) arg;
    return dnet_ep_contact(job->ep, job->rank, &contact) != DNET_ERR_STATE;
}

/* Contacts of another host, and of nobody. */
static int not_reached(dnet_job_rank_t *job, void *arg)
{
    dnet_ep_contact_t contact, again;
    uint8_t bytes[DNET_EP_CONTACT_BYTES], nobody[DNET_EP_CONTACT_BYTES] = {0};
    uint32_t peer;
    (void) arg;
    if (dnet_ep_contact(job->ep, job->rank, &contact) != DNET_OK ||
        dnet_ep_contact_unpack(nobody, sizeof(nobody), &again) != DNET_ERR_FORMAT)
        return 1;
    memset(contact.who.host, 'x', sizeof(contact.who.host) - 1);
    contact.who.port.bytes = sizeof(contact.who.port.at); /* the longest there can be */
    memset(contact.who.port.at, 7, sizeof(contact.who.port.at));
    size_t len = dnet_ep_contact_pack(&contact, bytes);
    if (len > sizeof(bytes) || dnet_ep_contact_unpack(bytes, len - 1, &again) == DNET_OK ||
        dnet_ep_contact_unpack(bytes, len, &again) != DNET_OK ||
        memcmp(&contact.who.process, &again.who.process, sizeof(again.who.process)) != 0 ||
        memcmp(&contact.who.port, &again.who.port, sizeof(again.who.port)) != 0 ||
        strlen(again.who.host) < 24)
        return 1;
    contact.who.process.group++;
    contact.host_id++;
    return dnet_ep_add_peer(job->ep, &contact, &peer) != DNET_ERR_STATE;
}

static void test_guests_are_refused_where_there_can_be_none(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(1, 60, not_reached, NULL), 0);
    setenv("DIMMNET_PROFILE", "prototype", 1);
    assert_int_equal(dnet_job_run(1, 60, refused, NULL), 0);
    unsetenv("DIMMNET_PROFILE");
    setenv("DIMMNET_FLOW", "rnr", 1);
    assert_int_equal(dnet_job_run(1, 60, refused, NULL), 0);
    unsetenv("DIMMNET_FLOW");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_guests_all_sizes_arrive_between_jobs),
        cmocka_unit_test(test_guests_staged_messages_arrive_between_jobs),
        cmocka_unit_test(test_guests_are_as_near_as_can_be),
        cmocka_unit_test(test_guests_are_stopped_and_held_back),
        cmocka_unit_test(test_guests_that_are_dropped_make_room),
        cmocka_unit_test(test_guests_that_end_are_lost),
        cmocka_unit_test(test_guests_that_go_while_they_are_held_back),
        cmocka_unit_test(test_guests_that_are_asked_end_while_they_hold_back),
        cmocka_unit_test(test_guests_that_end_amid_a_message_are_lost),
        cmocka_unit_test(test_guests_are_refused_where_there_can_be_none),
        cmocka_unit_test(test_guests_of_other_hosts_all_sizes),
        cmocka_unit_test(test_guests_of_other_hosts_are_stopped_and_held_back),
        cmocka_unit_test(test_guests_of_other_hosts_that_leave_make_room),
        cmocka_unit_test(test_guests_of_other_hosts_that_end_are_lost),
        cmocka_unit_test(test_guests_of_other_hosts_that_are_gone_are_not_met),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
