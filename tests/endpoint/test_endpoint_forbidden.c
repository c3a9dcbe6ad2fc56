/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes that the kernel does not let copy from and to others, by a filter of system calls:
 * large messages of all kinds between two of which one may not arrive, whichever sends, and those
 * between two that may go straight, whatever has been found with a third.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "endpoint/am.h"
#include "endpoint/ep.h"
#include "endpoint/share.h"
#include "job.h"

enum { BYTES = 300000, HELD_BYTES = 6000, HELD = 40 };
enum { LARGE = 1, MOVED, KEPT, LAST };

/* From now on the kernel refuses this process copies from and to that one. */
static int forbid(int32_t pid)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t) pid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0)
        return 0;
    perror("seccomp");
    return 1;
}

static uint8_t byte_of(size_t at)
{
    return (uint8_t) (at * 7 + at / 251);
}

static int differs(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != byte_of(i))
            return 1;
    return 0;
}

static uint8_t out[BYTES], in[BYTES];

static void fill(void)
{
    for (size_t i = 0; i < BYTES; i++)
        out[i] = byte_of(i);
    memset(in, 0, BYTES);
}

/* ---- all kinds, from rank 0 to rank 1 ---- */

typedef struct {
    dnet_job_request_t r; /* first member */
    size_t at;
} moved_t;

static void move(dnet_ep_request_t *req, void *bytes, size_t len)
{
    moved_t *m = (moved_t *) req;
    memcpy(bytes, out + m->at, len);
    m->at += len;
}

static unsigned begun, ended;

static void on_am(void *arg, uint32_t peer, uint16_t id, const void *header, size_t header_len,
                  const void *data, size_t len)
{
    (void) arg, (void) peer, (void) id, (void) header, (void) header_len, (void) data, (void) len;
}

static void *on_begin(void *arg, uint32_t peer, uint16_t id, const void *header, size_t header_len,
                      size_t len, void **to_p)
{
    (void) arg, (void) peer, (void) id, (void) header, (void) header_len;
    begun += len == BYTES;
    return *to_p = in;
}

static void on_end(void *arg, void *is)
{
    (void) arg;
    ended += is == in;
}

/* How a message of those that the receiver holds back is had. */
typedef enum { RECEIVED, CLAIMED } had_t;

static int take_kept(dnet_job_rank_t *job, had_t had)
{
    const uint64_t envelope = dnet_ep_envelope(1, 0, KEPT);
    dnet_job_request_t r = {.req.complete = dnet_job_complete};
    dnet_ep_message_t *message;
    dnet_ep_probe_t found;
    memset(in, 0, HELD_BYTES);
    if (had == RECEIVED)
        return dnet_job_recv(job, envelope, DNET_MATCH_BITS, in, HELD_BYTES) != HELD_BYTES ||
               differs(in, HELD_BYTES);
    for (bool did; dnet_ep_mprobe(job->ep, envelope, DNET_MATCH_BITS, &found, &message) != DNET_OK;)
        if (dnet_ep_progress(job->ep, &did) != DNET_OK)
            return 1;
    dnet_job_started(&r, dnet_ep_mrecv(job->ep, message, in, HELD_BYTES, &r.req));
    return dnet_job_wait(job, &r) != DNET_OK || differs(in, HELD_BYTES);
}

static int send_all(dnet_job_rank_t *job)
{
    static dnet_job_request_t kept[HELD];
    dnet_job_request_t am = {.req.complete = dnet_job_complete};
    moved_t m = {.r.req = {.complete = dnet_job_complete, .move = move}};
    int bad = 0;
    for (unsigned sync = 0; sync < 2; sync++)
        bad |= dnet_job_send(job, 1, dnet_ep_envelope(1, 0, LARGE), out, BYTES, sync) != 0;
    dnet_job_started(
        &m.r, dnet_ep_send_moved(job->ep, 1, dnet_ep_envelope(1, 0, MOVED), BYTES, &m.r.req));
    bad |= dnet_job_wait(job, &m.r) != DNET_OK;
    dnet_job_started(&am, dnet_ep_am_send(job->ep, 1, 3, "head", 4, out, BYTES, &am.req));
    bad |= dnet_job_wait(job, &am) != DNET_OK;
    for (unsigned had = RECEIVED; had <= CLAIMED && !bad; had++) {
        for (unsigned i = 0; i < HELD; i++)
            dnet_job_isend(job, &kept[i], 1, dnet_ep_envelope(1, 0, KEPT), out, HELD_BYTES, false);
        bad |= dnet_job_send(job, 1, dnet_ep_envelope(1, 0, LAST), NULL, 0, false) != 0;
        for (unsigned i = 0; i < HELD && !bad; i++)
            bad = dnet_job_wait(job, &kept[i]) != DNET_OK;
        bad |= dnet_ep_counters(job->ep)->offers_taken == 0;
    }
    return bad;
}

static int receive_all(dnet_job_rank_t *job)
{
    int bad = 0;
    for (unsigned i = 0; i < 3 && !bad; i++) {
        memset(in, 0, BYTES);
        bad = dnet_job_recv(job, dnet_ep_envelope(1, 0, i < 2 ? LARGE : MOVED), DNET_MATCH_BITS, in,
                            BYTES) != BYTES ||
              differs(in, BYTES);
    }
    memset(in, 0, BYTES);
    for (bool did; !ended && !bad;)
        bad = dnet_ep_progress(job->ep, &did) != DNET_OK;
    bad |= begun != 1 || differs(in, BYTES);
    for (unsigned had = RECEIVED; had <= CLAIMED && !bad; had++) {
        bad = dnet_job_recv(job, dnet_ep_envelope(1, 0, LAST), DNET_MATCH_BITS, NULL, 0) != 0;
        for (unsigned i = 0; i < HELD && !bad; i++)
            bad = take_kept(job, (had_t) had);
    }
    return bad;
}

/* `arg`: bit r is set: rank r may not. */
static int all_kinds(dnet_job_rank_t *job, void *arg)
{
    static const dnet_ep_am_long_t am_long = {on_begin, on_end};
    const unsigned *who = arg;
    fill();
    begun = ended = 0;
    dnet_ep_am_register(job->ep, on_am, NULL);
    dnet_ep_am_register_long(job->ep, &am_long);
    if ((*who >> job->rank & 1) && forbid(job->ep->job.pids[1 - job->rank]))
        _exit(1);
    dnet_job_barrier(job);
    int bad = job->rank == 0 ? send_all(job) : receive_all(job);
    if (bad) {
        fprintf(stderr, "rank %u: wrong where %#x may not\n", job->rank, *who);
        _exit(1);
    }
    dnet_job_barrier(job);
    return 0;
}

static void test_messages_arrive_whichever_side_may_not_copy(void **state)
{
    (void) state;
    setenv("DIMMNET_UNEXPECTED_BYTES", "16384", 1);
    setenv("DIMMNET_RING_BYTES", "65536", 1);
    for (unsigned who = 0; who < 4; who++)
        assert_int_equal(dnet_job_run(2, 60, all_kinds, &who), 0);
    unsetenv("DIMMNET_RING_BYTES");
    unsetenv("DIMMNET_UNEXPECTED_BYTES");
}

/* ---- three, of which rank 0 may not copy from and to rank 2 ---- */

static int exchange(dnet_job_rank_t *job, uint32_t with)
{
    dnet_job_request_t r;
    memset(in, 0, BYTES);
    dnet_job_isend(job, &r, with, dnet_ep_envelope(1, job->rank, LARGE), out, BYTES, false);
    return dnet_job_recv(job, dnet_ep_envelope(1, with, LARGE), DNET_MATCH_BITS, in, BYTES) !=
               BYTES ||
           differs(in, BYTES) || dnet_job_wait(job, &r) != DNET_OK;
}

/* `arg`: whom rank 0 meets first. */
static int of_three(dnet_job_rank_t *job, void *arg)
{
    const uint32_t first = *(const uint32_t *) arg;
    int bad = 0;
    fill();
    dnet_job_barrier(job);
    bool straight = dnet_ep_can_read(job->ep, (job->rank + 1) % 3);
    if (job->rank == 0 && forbid(job->ep->job.pids[2]))
        _exit(1);
    dnet_job_barrier(job);
    if (job->rank == 0)
        bad = exchange(job, first) || exchange(job, 3 - first) || exchange(job, first);
    else
        bad = exchange(job, 0) || (job->rank == first && exchange(job, 0));
    const uint64_t fetched = dnet_ep_counters(job->ep)->rvl;
    const uint64_t with_1 = straight ? (first == 1 ? 2 : 1) : 0;
    if (bad || fetched != (job->rank == 2 ? 0 : with_1)) {
        fprintf(stderr, "rank %u, first %u: %llu fetched\n", job->rank, first,
                (unsigned long long) fetched);
        _exit(1);
    }
    dnet_job_barrier(job);
    return 0;
}

static void test_what_holds_of_one_peer_holds_of_no_other(void **state)
{
    (void) state;
    setenv("DIMMNET_RENDEZVOUS", "direct", 1);
    setenv("DIMMNET_SPLIT_LIMIT", "1G", 1);
    for (uint32_t first = 1; first <= 2; first++)
        assert_int_equal(dnet_job_run(3, 60, of_three, &first), 0);
    unsetenv("DIMMNET_SPLIT_LIMIT");
    unsetenv("DIMMNET_RENDEZVOUS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_arrive_whichever_side_may_not_copy),
        cmocka_unit_test(test_what_holds_of_one_peer_holds_of_no_other),
    };
    return cmocka_run_group_tests_name("endpoint_forbidden", tests, NULL, NULL);
}
