/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fails at the sockets of a job on several hosts: those are processes of this machine with
 * different names for it, which meet on its loopback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "emulator/swif/hosts/connection.h"
#include "emulator/swif/hosts/rails.h"
#include "endpoint/ep.h"
#include "job.h"

enum { CONTEXT = 3, WAIT_S = 2, DESCRIPTORS = 256 };

static const int two[] = {0, 1}, three[] = {0, 1, 2};

static uint64_t envelope(uint32_t from, uint32_t tag)
{
    return dnet_ep_envelope(CONTEXT, from, tag);
}

/* A byte each way.  @return 0, or 1: it is wrong */
static int swap(dnet_job_rank_t *job, uint32_t peer, uint32_t tag)
{
    uint8_t out = (uint8_t) (job->rank + tag), in = 0;
    dnet_job_request_t s, r;
    dnet_job_irecv(job, &r, envelope(peer, tag), DNET_MATCH_BITS, &in, 1);
    dnet_job_isend(job, &s, peer, envelope(job->rank, tag), &out, 1, false);
    return dnet_job_wait(job, &r) != DNET_OK || dnet_job_wait(job, &s) != DNET_OK ||
           in != (uint8_t) (peer + tag);
}

/* ---- no descriptor is left ---- */

/* So many more, beside those that are open. */
static void leave_descriptors(unsigned more)
{
    int next = dup(0);
    close(next);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){(rlim_t) next + more, (rlim_t) next + more});
}

/* Rank 2 connects, and rank 0 cannot accept. */
static int full(dnet_job_rank_t *job, void *arg)
{
    uint8_t byte = 1;
    int bad = 0;
    (void) arg;
    if (job->rank < 2)
        bad = swap(job, 1 - job->rank, 1); /* connected */
    if (job->rank == 0)
        leave_descriptors(0);
    dnet_job_barrier(job);
    if (job->rank == 0)
        bad = bad || dnet_job_recv(job, envelope(2, 2), DNET_MATCH_BITS, &byte, 1) != -1;
    else if (job->rank == 1) /* until rank 0 has ended */
        bad = bad || dnet_job_recv(job, envelope(0, 2), DNET_MATCH_BITS, &byte, 1) != -1;
    else
        bad = dnet_job_send(job, 0, envelope(2, 2), &byte, 1, true) != -1;
    _exit(bad); /* nobody comes to the barrier */
}

static void test_hosts_tcp_no_descriptor_ends_the_job(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_hosts(3, 20, three, 3, full, NULL), 0);
}

/* A port that is open is one that answers whether its process lives. */
static int open_with_few(unsigned more)
{
    const dnet_emu_port_config_t config = {.plug = "tcp", .interface = "lo", .wait_s = 5};
    dnet_emu_port_t *port;
    leave_descriptors(more);
    if (dnet_emu_port_open(&config, &port) != DNET_OK)
        return 1;
    bool answers = port->alive;
    dnet_emu_port_close(port);
    return answers ? 0 : 2;
}

static void test_hosts_tcp_port_answers_or_is_refused(void **state)
{
    enum { ENOUGH = 16 };
    int status = -1;
    (void) state;
    for (unsigned more = 0; more <= ENOUGH; more++) {
        pid_t pid = fork();
        if (pid == 0)
            _exit(open_with_few(more));
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) < 2);
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* ---- a host that refuses connections ---- */

/* The sockets of TCP that listen, in the order of the rails, or (`listens` false) the others. */
static unsigned sockets(bool listens, int *fd, unsigned most)
{
    unsigned n = 0;
    for (int i = 3; i < DESCRIPTORS && n < most; i++) {
        int family = 0, type = 0, accepts = 0;
        socklen_t length = sizeof(int);
        if (getsockopt(i, SOL_SOCKET, SO_DOMAIN, &family, &length) == 0 && family == AF_INET &&
            getsockopt(i, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM &&
            getsockopt(i, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &length) == 0 &&
            (bool) accepts == listens)
            fd[n++] = i;
    }
    return n;
}

/* Who connects to that rail is refused from now on.  @return 0, or 1: it cannot be */
static int refuse(unsigned rail)
{
    int fd[DNET_RAILS_MAX];
    return sockets(true, fd, DNET_RAILS_MAX) <= rail || shutdown(fd[rail], SHUT_RD) != 0;
}

/* Who connects is not answered: as many as may wait to be accepted do.  @return 0, or 1: it cannot
 * be */
static int fill(void)
{
    struct sockaddr_in at;
    socklen_t length = sizeof(at);
    int fd;
    if (sockets(true, &fd, 1) != 1 || listen(fd, 0) != 0 ||
        getsockname(fd, (struct sockaddr *) &at, &length) != 0)
        return 1;
    for (unsigned i = 0; i < 4; i++) {
        fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (connect(fd, (struct sockaddr *) &at, length) != 0 && errno != EINPROGRESS)
            return 1;
    }
    return 0;
}

/* Rank 1 lives, and cannot be connected to.  @param arg  whether it does not even refuse */
static int refused(dnet_job_rank_t *job, void *arg)
{
    uint8_t byte = 1;
    int bad = 0;
    if (job->rank == 1)
        bad = *(const bool *) arg ? fill() : refuse(0);
    dnet_job_stand(job);
    time_t start = time(NULL);
    if (job->rank == 0)
        bad = dnet_job_send(job, 1, envelope(0, 1), &byte, 1, true) != -1 ||
              time(NULL) - start < WAIT_S - 1 || time(NULL) - start > WAIT_S + 3;
    else /* until rank 0 has ended */
        while (!atomic_load((atomic_int *) dnet_job_shared()))
            usleep(1000);
    atomic_store((atomic_int *) dnet_job_shared(), 1);
    _exit(bad); /* nobody comes to the barrier */
}

static void test_hosts_tcp_refused_connections_end_the_job(void **state)
{
    (void) state;
    setenv("DIMMNET_HOST_WAIT_S", "2", 1);
    for (unsigned silent = 0; silent < 2; silent++) {
        bool arg = silent;
        assert_int_equal(dnet_job_run_hosts(2, 20, two, 2, refused, &arg), 0);
    }
    unsetenv("DIMMNET_HOST_WAIT_S");
}

static int rail_to(const dnet_job_rank_t *job, uint32_t peer)
{
    dnet_drv_target_t target = job->ep->peers[peer].target;
    return dnet_emu_hosts_rail(job->ep->job.emu, dnet_drv_target_lid(target),
                               dnet_drv_target_wid(target));
}

/* Connections end while nothing is under way, and on the rail of the messages none is made any
 * more. */
static int refused_again(dnet_job_rank_t *job, void *arg)
{
    uint32_t peer = 1 - job->rank;
    int fd[DESCRIPTORS], bad = swap(job, peer, 1), rail = rail_to(job, peer);
    (void) arg;
    if (bad || rail < 0 || refuse((unsigned) rail))
        return 1;
    for (unsigned i = 0; i < 50; i++) { /* the rails have been looked at, and no more is wanted */
        dnet_job_settle(job);
        usleep(10000);
    }
    dnet_job_stand(job);
    if (job->rank == 1)
        for (unsigned n = sockets(false, fd, DESCRIPTORS); n > 0; n--)
            shutdown(fd[n - 1], SHUT_RDWR);
    dnet_job_stand(job);
    for (uint32_t tag = 2; tag < 10 && !bad; tag++)
        bad = swap(job, peer, tag);
    if (!bad && rail_to(job, peer) == rail) {
        fprintf(stderr, "rank %u: messages go by a rail that is refused\n", job->rank);
        bad = 1;
    }
    return bad;
}

static void test_hosts_tcp_refused_rail_is_given_up(void **state)
{
    (void) state;
    setenv("DIMMNET_INTERFACE", "lo,lo", 1);
    assert_int_equal(dnet_job_run_hosts(2, 20, two, 2, refused_again, NULL), 0);
    setenv("DIMMNET_INTERFACE", "lo", 1);
}

/* ---- one address, of two processes ---- */

/* A process has the address of one that has ended and is not forgotten yet. */
static void test_hosts_tcp_address_is_used_again(void **state)
{
    const dnet_emu_plug_ops_t *tcp = &dnet_emu_plug_tcp;
    const dnet_emu_port_config_t config = {.interface = "lo", .wait_s = 5};
    dnet_emu_port_address_t own = {.key = 1}, other = {.key = 2};
    dnet_emu_plug_end_t *end, *other_end;
    uint64_t before, now;
    (void) state;
    assert_int_equal(tcp->open(&config, &own, &end), DNET_OK);
    assert_int_equal(tcp->open(&config, &other, &other_end), DNET_OK);
    assert_true(tcp->reach(end, &other, &before));
    other.key = 3;
    assert_true(tcp->reach(end, &other, &now));
    tcp->part(end, before);
    assert_false(tcp->ready(end, now, true));
    tcp->part(end, now);
    tcp->close(other_end);
    tcp->close(end);
}

/* ---- rails to a process that has ended ---- */

static unsigned ended;
static const char *ended_why;

static bool arrived(void *arg, uint8_t *data, uint32_t bytes)
{
    (void) arg;
    (void) data;
    (void) bytes;
    return true;
}

static void sent(void *arg, dnet_emu_plug_op_t *op, const char *why)
{
    (void) arg;
    (void) op;
    ended++;
    ended_why = why;
}

static void lost(void *arg, uint64_t peer)
{
    (void) arg;
    (void) peer;
}

static void poll_for(const dnet_emu_plug_ops_t *plug, dnet_emu_plug_end_t *end, unsigned ms)
{
    static const dnet_emu_plug_events_t events = {.arrived = arrived, .sent = sent, .lost = lost};
    for (ended = 0; ms > 0 && !ended; ms--) {
        plug->poll(end, &events, NULL);
        usleep(1000);
    }
}

/* A read from there ends, and after parting nothing is connected to it any more. */
static void test_hosts_tcp_rails_to_the_ended(void **state)
{
    static uint8_t to[1 << 17];
    const dnet_emu_plug_ops_t *plug = &dnet_emu_plug_tcp, *other_plug = plug;
    const dnet_emu_port_config_t config = {.interface = "lo,lo", .wait_s = 1};
    dnet_emu_port_address_t own[DNET_RAILS_MAX] = {{.key = 1}};
    dnet_emu_port_address_t other[DNET_RAILS_MAX] = {{.key = 2}};
    dnet_emu_plug_end_t *end, *other_end;
    dnet_remote_memory_t from = {.address = (uintptr_t) to};
    dnet_emu_plug_op_t op = {.reads = true};
    uint64_t peer, bytes = sizeof(to);
    void *held;
    (void) state;
    assert_int_equal(dnet_emu_rails_open(&config, own, &plug, &end), DNET_OK);
    assert_int_equal(dnet_emu_rails_open(&config, other, &other_plug, &other_end), DNET_OK);
    assert_true(plug->reach(end, other, &peer));
    other_plug->close(other_end);
    held = plug->hold(end, to, sizeof(to), false, NULL);
    assert_non_null(held);
    assert_int_equal(plug->read(end, peer, &from, to, held, &bytes, &op), DNET_IN_PROGRESS);
    poll_for(plug, end, 15000);
    assert_int_equal(ended, 1);
    assert_non_null(ended_why);
    plug->let_go(end, held);
    assert_non_null(plug->part);
    plug->part(end, peer);
    poll_for(plug, end, 1500);
    assert_int_equal(ended, 0);
    assert_true(plug->may_wait(end));
    plug->close(end);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hosts_tcp_no_descriptor_ends_the_job),
        cmocka_unit_test(test_hosts_tcp_port_answers_or_is_refused),
        cmocka_unit_test(test_hosts_tcp_refused_connections_end_the_job),
        cmocka_unit_test(test_hosts_tcp_refused_rail_is_given_up),
        cmocka_unit_test(test_hosts_tcp_address_is_used_again),
        cmocka_unit_test(test_hosts_tcp_rails_to_the_ended),
    };
    setenv("DIMMNET_PLUG", "tcp", 1);
    setenv("DIMMNET_INTERFACE", "lo", 1);
    setenv("DIMMNET_SPIN_US", "0", 1); /* the hosts share this machine's processors */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
