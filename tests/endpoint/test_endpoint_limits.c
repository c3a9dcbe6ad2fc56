/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What an endpoint refuses, it refuses at once, with the right status and one line that says what.
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job.h"

typedef struct {
    dnet_status_t status;
    char said[2048];
    unsigned lines;
} outcome_t;

/* Open an endpoint in a process of its own, under a limit of address space if bytes > 0; of a job
 * of one connect it, too. */
static outcome_t open_alone(uint32_t rank, uint32_t size, rlim_t bytes)
{
    int said[2];
    assert_int_equal(pipe(said), 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(said[1], STDERR_FILENO);
        if (bytes)
            setrlimit(RLIMIT_AS, &(struct rlimit){bytes, bytes});
        dnet_ep_config_t config = {.rank = rank, .size = size, .job = 1};
        dnet_ep_t *ep;
        dnet_status_t status = dnet_ep_open(&config, &ep);
        dnet_status_t opened = status;
        if (opened == DNET_OK && size == 1) {
            dnet_ep_address_t own;
            dnet_ep_address(ep, &own);
            status = dnet_ep_connect(ep, &own);
        }
        if (opened == DNET_OK)
            dnet_ep_close(ep);
        _exit(-status);
    }
    close(said[1]);
    outcome_t o = {0};
    size_t used = 0;
    for (ssize_t n; (n = read(said[0], o.said + used, sizeof(o.said) - 1 - used)) > 0;)
        used += (size_t) n;
    close(said[0]);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    o.status = (dnet_status_t) -WEXITSTATUS(status);
    for (const char *c = o.said; *c; c++)
        o.lines += *c == '\n';
    return o;
}

static void test_endpoint_opens_and_says_nothing(void **state)
{
    (void) state;
    outcome_t o = open_alone(0, 2, 0);
    assert_int_equal(o.status, DNET_OK);
    assert_string_equal(o.said, "");
}

static void test_endpoint_more_ranks_than_addresses_is_refused(void **state)
{
    (void) state;
    assert_int_equal(open_alone(0, 6142, 0).status, DNET_OK);
    outcome_t o = open_alone(0, 6143, 0);
    assert_int_equal(o.status, DNET_ERR_LIMIT);
    assert_non_null(strstr(o.said, "6143 ranks"));
    assert_non_null(strstr(o.said, "6142"));
    assert_int_equal(o.lines, 1);
}

static void test_endpoint_without_memory_for_a_segment_says_how_much(void **state)
{
    (void) state;
    outcome_t o = open_alone(0, 2, 100u << 20);
    assert_int_equal(o.status, DNET_ERR_NO_MEMORY);
    assert_non_null(strstr(o.said, "ulimit -v"));
    assert_int_equal(o.lines, 1);
}

static void test_endpoint_malformed_options_are_refused(void **state)
{
    (void) state;
    static const struct {
        const char *name, *value, *says;
    } rows[] = {
        {"DIMMNET_PROFILE", "huge", "prototype, extended"},
        {"DIMMNET_PROFILE", "", "prototype, extended"},
        {"DIMMNET_EAGER_LIMIT", "many", "bytes"},
        {"DIMMNET_EAGER_LIMIT", "-1", "bytes"},
        {"DIMMNET_EAGER_LIMIT", "2M", "1048576"},
        {"DIMMNET_EAGER_LIMIT", "1KB", "bytes"},
        {"DIMMNET_RING_BYTES", "100000", "power of two"},
        {"DIMMNET_CHUNK_BYTES", "5000", "multiple of 4096"},
        {"DIMMNET_CHUNKS", "1", "2"},
        {"DIMMNET_SPIN_US", "99999999999999999999", "us"},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        setenv(rows[i].name, rows[i].value, 1);
        outcome_t o = open_alone(0, 2, 0);
        unsetenv(rows[i].name);
        assert_int_equal(o.status, DNET_ERR_FORMAT);
        assert_non_null(strstr(o.said, rows[i].name));
        assert_non_null(strstr(o.said, rows[i].says));
        assert_int_equal(o.lines, 1);
    }
}

/* What is there holds as many chunks as fit behind the rings, and in the prototype profile one
 * more.
 */
static void test_endpoint_more_chunks_than_so_dimm_holds_are_refused(void **state)
{
    (void) state;
    static const struct {
        const char *profile, *bytes, *chunks, *ring_bytes;
        dnet_status_t is;
    } rows[] = {
        {"extended", "1M", "64", "4096", DNET_ERR_LIMIT}, {"extended", "1M", "63", "4M", DNET_OK},
        {"extended", "1M", "63", "8M", DNET_ERR_LIMIT},   {"prototype", "1M", "63", "2M", DNET_OK},
        {"prototype", "1M", "63", "4M", DNET_ERR_LIMIT},
    };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        setenv("DIMMNET_PROFILE", rows[i].profile, 1);
        setenv("DIMMNET_CHUNK_BYTES", rows[i].bytes, 1);
        setenv("DIMMNET_CHUNKS", rows[i].chunks, 1);
        setenv("DIMMNET_RING_BYTES", rows[i].ring_bytes, 1);
        outcome_t o = open_alone(0, 1, 0);
        assert_int_equal(o.status, rows[i].is);
        assert_int_equal(o.lines, rows[i].is != DNET_OK);
        assert_true(o.lines == 0 ||
                    strstr(o.said, "DIMMNET_CHUNK_BYTES=1048576 and DIMMNET_CHUNKS"));
    }
    unsetenv("DIMMNET_PROFILE");
    unsetenv("DIMMNET_CHUNK_BYTES");
    unsetenv("DIMMNET_CHUNKS");
    unsetenv("DIMMNET_RING_BYTES");
}

/* As the option says, or 2 MB, and less where a host has many ranks or no processor for each, or
 * where all others are on other hosts. */
static void test_endpoint_rings_are_as_long_as_a_host_bears(void **state)
{
    (void) state;
    dnet_options_t o = {.ring_bytes = DNET_OPTION_AUTO};
    assert_int_equal(dnet_ep_ring_bytes(&o, 1, 2, false), 2u << 20);
    assert_int_equal(dnet_ep_ring_bytes(&o, 3, 2, false), 256u << 10);
    assert_int_equal(dnet_ep_ring_bytes(&o, 1, 2, true), 256u << 10);
    assert_int_equal(dnet_ep_ring_bytes(&o, 2, 2, true), 2u << 20);
    uint64_t before = 2u << 20;
    for (uint32_t ranks = 2; ranks < 1000; ranks++) {
        uint64_t bytes = dnet_ep_ring_bytes(&o, ranks, 500, ranks % 2);
        assert_true(bytes <= before && (bytes & (bytes - 1)) == 0);
        assert_true(bytes * ranks <= 64u << 20 || bytes == 256u << 10);
        before = bytes;
    }
    o.ring_bytes = 16384;
    assert_int_equal(dnet_ep_ring_bytes(&o, 1, 2, true), 16384);
    assert_int_equal(dnet_ep_ring_bytes(&o, 1000, 2, false), 16384);
}

static uint32_t copy_ns;

static uint32_t copy_time(dnet_device_t *dev)
{
    (void) dev;
    return copy_ns;
}

/* As the option says, or as long as two copies are faster than the kernel's. */
static void test_endpoint_longer_messages_are_eager_where_the_kernel_is_slow(void **state)
{
    (void) state;
    static const struct {
        uint32_t copy_ns;
        dnet_eager_near_t is;
    } want[] = {
        {0, {DNET_KERNEL_FAST, 8192, 16384}},     {500, {DNET_KERNEL_FAST, 8192, 16384}},
        {850, {DNET_KERNEL_FAIR, 8192, 16384}},   {1850, {DNET_KERNEL_FAIR, 8192, 16384}},
        {2300, {DNET_KERNEL_SLOW, 65536, 16384}},
    };
    const dnet_device_ops_t ops = {.copy_time = copy_time};
    dnet_device_t dev = {.ops = &ops};
    for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
        dnet_options_t o = {.eager_limit = DNET_OPTION_AUTO};
        copy_ns = want[i].copy_ns;
        dnet_eager_near_t is = dnet_ep_eager_near(&o, &dev);
        assert_int_equal(is.copies, want[i].is.copies);
        assert_int_equal(is.alone, want[i].is.alone);
        assert_int_equal(is.in_a_row, want[i].is.in_a_row);
        o.eager_limit = 12345;
        is = dnet_ep_eager_near(&o, &dev);
        assert_int_equal(is.copies, want[i].is.copies);
        assert_int_equal(is.alone, 12345);
        assert_int_equal(is.in_a_row, 0);
    }
}

/* The launcher (this process) has all, the script that it starts is bound to one, and so is the
 * rank that the script starts. */
static void test_endpoint_counts_the_processors_of_the_launcher_not_of_a_script(void **state)
{
    (void) state;
    int line[2], status = -1;
    cpu_set_t all, one;
    assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, line), 0);
    pid_t script = fork();
    if (script == 0) {
        CPU_ZERO(&one);
        for (unsigned c = 0; CPU_COUNT(&one) == 0; c++)
            if (CPU_ISSET(c, &all))
                CPU_SET(c, &one);
        sched_setaffinity(0, sizeof(one), &one);
        pid_t rank = fork();
        if (rank == 0)
            _exit(dnet_ep_processors(0) == 1 &&
                          dnet_ep_processors(line[1]) == (uint32_t) CPU_COUNT(&all)
                      ? 0
                      : 1);
        waitpid(rank, &status, 0);
        _exit(WEXITSTATUS(status));
    }
    assert_int_equal(waitpid(script, &status, 0), script);
    assert_int_equal(status, 0);
    close(line[0]);
    close(line[1]);
}

static void test_endpoint_unknown_variable_is_warned_about(void **state)
{
    (void) state;
    setenv("DIMMNET_EAGRE_LIMIT", "1", 1);
    outcome_t o = open_alone(0, 2, 0);
    unsetenv("DIMMNET_EAGRE_LIMIT");
    assert_int_equal(o.status, DNET_OK);
    assert_non_null(strstr(o.said, "DIMMNET_EAGRE_LIMIT is not an option"));
}

static void test_endpoint_peer_on_another_host_is_refused(void **state)
{
    (void) state;
    dnet_ep_config_t config = {.rank = 0, .size = 2, .job = 1};
    dnet_ep_t *ep;
    assert_int_equal(dnet_ep_open(&config, &ep), DNET_OK);
    dnet_ep_address_t addresses[2];
    dnet_ep_address(ep, &addresses[0]);
    addresses[1] = addresses[0];
    addresses[1].rank = 1;
    addresses[1].host_id++;
    assert_int_equal(dnet_ep_connect(ep, addresses), DNET_ERR_LIMIT);
    addresses[1] = addresses[0]; /* two processes that claim one rank */
    assert_int_equal(dnet_ep_connect(ep, addresses), DNET_ERR_FORMAT);
    addresses[1].rank = 1;
    addresses[1].version++; /* another library */
    assert_int_equal(dnet_ep_connect(ep, addresses), DNET_ERR_FORMAT);
    dnet_ep_close(ep);
}

/* Messages of every way between two ranks that may not look into each other. */
static int exchange(dnet_job_rank_t *job, void *arg)
{
    static uint8_t buffer[1 << 20];
    (void) arg;
    for (size_t len = 1; len <= sizeof(buffer); len *= 16) {
        uint64_t envelope = dnet_ep_envelope(1, job->rank, 7);
        memset(buffer, job->rank == 0 ? 0x5a : 0, len);
        if (job->rank == 0 && dnet_job_send(job, 1, envelope, buffer, len, true) != 0)
            return 1;
        if (job->rank == 1 &&
            (dnet_job_recv(job, dnet_ep_envelope(1, 0, 7), UINT64_MAX, buffer, len) != (long) len ||
             buffer[0] != 0x5a || buffer[len - 1] != 0x5a))
            return 1;
    }
    return 0;
}

static void test_endpoint_without_right_to_trace_a_job_runs(void **state)
{
    (void) state;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}};
        if (syscall(SYS_capset, &head, none) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0)
            _exit(2);
        _exit(dnet_job_run(3, 60, exchange, NULL));
    }
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- little address space; memory that stays in place ---- */

enum { LONGEST = 1 << 20 };

/* Messages of all kinds both ways, and memory of the NIC. */
static int exchange_kinds(dnet_job_rank_t *job, void *arg)
{
    static const size_t lens[] = {8, 200, 4000, 20000, LONGEST};
    static uint8_t out[LONGEST], in[LONGEST];
    bool lock = arg != NULL;
    int bad = 0;
    if (lock && mlockall(MCL_CURRENT | MCL_FUTURE) != 0) {
        perror("mlockall");
        return 1;
    }
    for (unsigned i = 0; i < 3 * sizeof(lens) / sizeof(lens[0]) && !bad; i++) {
        size_t len = lens[i % (sizeof(lens) / sizeof(lens[0]))];
        uint64_t mine = dnet_ep_envelope(1, job->rank, i);
        uint64_t theirs = dnet_ep_envelope(1, 1 - job->rank, i);
        dnet_job_request_t r;
        memset(out, (int) (i + job->rank), len);
        dnet_job_irecv(job, &r, theirs, DNET_MATCH_BITS, in, sizeof(in));
        bad = dnet_job_send(job, 1 - job->rank, mine, out, len, false) ||
              dnet_job_wait(job, &r) != DNET_OK || r.req.len_bytes != len ||
              in[0] != (uint8_t) (i + 1 - job->rank) || in[len - 1] != in[0];
    }
    dnet_job_barrier(job);
    return bad;
}

static void exchange_in_each_way(void *lock)
{
    static const char *const ways[] = {"direct", "staged"};
    for (unsigned i = 0; i < 2; i++) {
        setenv("DIMMNET_RENDEZVOUS", ways[i], 1);
        assert_int_equal(dnet_job_run(2, 100, exchange_kinds, lock), 0);
    }
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* [X.4] Two ranks under ulimit -v 1000000: what is not used of a NIC takes up no addresses. */
static void test_endpoint_job_runs_in_a_gigabyte_of_addresses(void **state)
{
    (void) state;
#ifdef __SANITIZE_ADDRESS__
    skip(); /* its shadow needs terabytes */
#endif
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    struct rlimit little = {1000000ul << 10, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &little), 0);
    exchange_in_each_way(NULL);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
}

/* [X.4] All memory is locked: what is not used of a NIC takes up none. */
static void test_endpoint_job_runs_with_its_memory_locked(void **state)
{
    (void) state;
    struct rlimit most;
    assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &most), 0);
    if (most.rlim_cur != RLIM_INFINITY && geteuid() != 0)
        skip();
#ifdef __SANITIZE_ADDRESS__
    skip();
#endif
    static int lock = 1;
    exchange_in_each_way(&lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endpoint_opens_and_says_nothing),
        cmocka_unit_test(test_endpoint_more_ranks_than_addresses_is_refused),
        cmocka_unit_test(test_endpoint_without_memory_for_a_segment_says_how_much),
        cmocka_unit_test(test_endpoint_malformed_options_are_refused),
        cmocka_unit_test(test_endpoint_more_chunks_than_so_dimm_holds_are_refused),
        cmocka_unit_test(test_endpoint_longer_messages_are_eager_where_the_kernel_is_slow),
        cmocka_unit_test(test_endpoint_rings_are_as_long_as_a_host_bears),
        cmocka_unit_test(test_endpoint_counts_the_processors_of_the_launcher_not_of_a_script),
        cmocka_unit_test(test_endpoint_unknown_variable_is_warned_about),
        cmocka_unit_test(test_endpoint_peer_on_another_host_is_refused),
        cmocka_unit_test(test_endpoint_without_right_to_trace_a_job_runs),
        cmocka_unit_test(test_endpoint_job_runs_in_a_gigabyte_of_addresses),
        cmocka_unit_test(test_endpoint_job_runs_with_its_memory_locked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
