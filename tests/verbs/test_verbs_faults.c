/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What fails in libibverbs: each call and completion that the verbs plug looks at, one at a time.
 * Either a port is refused with one line that says why, or the job goes on with right data, or it
 * ends with a line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dimmnet/emulator.h"
#include "endpoint/ep.h"
#include "fabric.h"
#include "job.h"

enum { CONTEXT = 3, MESSAGES = 120, LARGE = 3000, RENDEZVOUS = 40960, REMOTE_ACCESS = 10 };

static const int two[] = {0, 1};

/* ---- ports ---- */

/* Open a port with stderr in a file.  The file's text is valid until the next call. */
static dnet_status_t open_port(const dnet_emu_port_config_t *config, const char **said_p)
{
    static char said[4096];
    FILE *f = tmpfile();
    int before = dup(2);
    dnet_emu_port_t *port = NULL;
    assert_non_null(f);
    dup2(fileno(f), 2);
    dnet_status_t status = dnet_emu_port_open(config, &port);
    dup2(before, 2);
    close(before);
    rewind(f);
    said[fread(said, 1, sizeof(said) - 1, f)] = '\0';
    fclose(f);
    if (status == DNET_OK)
        dnet_emu_port_close(port);
    *said_p = said;
    return status;
}

static bool is_one_line(const char *text)
{
    const char *end = strchr(text, '\n');
    return end && end[1] == '\0';
}

static const dnet_emu_port_config_t usual = {.plug = "verbs", .mtu_bytes = 4096, .wait_s = 2};

/* Each call that opens a port fails in turn: one line names it, or says what to do. */
static void test_verbs_open_each_call_fails(void **state)
{
    (void) state;
    static const struct {
        const char *faults, *text;
    } cases[] = {
        {"get_device_list@1=EPERM", "no list of devices"},
        {"open_device@1=EACCES", "able to read and write /dev/infiniband/uverbs"},
        {"query_port@1=EINVAL", "it cannot be queried"},
        {"query_device@2=EINVAL", "ibv_query_device"},
        {"alloc_pd@1=ENOMEM", "ibv_alloc_pd"},
        {"reg_mr@1=EINVAL", "ibv_reg_mr"},
        {"create_comp_channel@1=ENOMEM", "ibv_create_comp_channel"},
        {"create_cq@1=ENOMEM", "ibv_create_cq"},
        {"create_srq@1=ENOMEM", "ibv_create_srq"},
        {"post_srq_recv@3=ENOMEM", "ibv_post_srq_recv"},
        {"create_ud@1=EPERM", "ibv_create_qp (UD)"},
        {"to_init@1=EINVAL", "ibv_modify_qp (UD)"},
        {"to_rtr@1=EINVAL", "ibv_modify_qp (UD)"},
        {"to_rts@1=EINVAL", "ibv_modify_qp (UD)"},
        {"post_recv@2=ENOMEM", "ibv_post_recv (UD)"},
    };
    const char *said;
    /* The library is loaded, so that it can be told. */
    assert_int_equal(open_port(&usual, &said), DNET_OK);
    assert_string_equal(said, "");
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dnet_fabric_faults(cases[i].faults);
        dnet_status_t status = open_port(&usual, &said);
        dnet_fabric_faults("");
        if (status == DNET_OK || !is_one_line(said) || !strstr(said, cases[i].text))
            fail_msg("%s: status %d, and it says: %s", cases[i].faults, status, said);
    }
    assert_int_equal(open_port(&usual, &said), DNET_OK);
}

/* What there is on a host, or is not. */
static void test_verbs_open_devices(void **state)
{
    (void) state;
    static const struct {
        const char *kind;
        dnet_status_t status;
        const char *text;
    } cases[] = {{"none", DNET_NOT_FOUND, "no RDMA device"},
                 {"down", DNET_NOT_FOUND, "its state is PORT_DOWN"},
                 {"nogid", DNET_NOT_FOUND, "no GID of type RoCE v2"},
                 {"ib", DNET_OK, ""}};
    const char *said;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        setenv("DNET_FAKE_VERBS_KIND", cases[i].kind, 1);
        assert_int_equal(open_port(&usual, &said), cases[i].status);
        assert_non_null(strstr(said, cases[i].text));
        assert_int_equal(is_one_line(said), cases[i].status != DNET_OK);
    }
    unsetenv("DNET_FAKE_VERBS_KIND");
}

static void test_verbs_open_options(void **state)
{
    (void) state;
    static const struct {
        const char *device, *gid, *pkey, *interface;
        dnet_status_t status;
        const char *text;
    } cases[] = {{"fake0", NULL, NULL, NULL, DNET_OK, ""},
                 {"fake0:1", "3", "0x8001", "lo", DNET_OK, ""},
                 {"fake0:1", "1", "1", "127.0.0.1", DNET_OK, ""},
                 {"fake0:2", NULL, NULL, NULL, DNET_NOT_FOUND, "no device and port fake0:2"},
                 {"fake", NULL, NULL, NULL, DNET_NOT_FOUND, "no device and port fake "},
                 {NULL, "9", NULL, NULL, DNET_NOT_FOUND, "DIMMNET_VERBS_GID=9"},
                 {NULL, "x", NULL, NULL, DNET_NOT_FOUND, "DIMMNET_VERBS_GID=x"},
                 {NULL, "-1", NULL, NULL, DNET_NOT_FOUND, "DIMMNET_VERBS_GID=-1"},
                 {NULL, NULL, "0x8003", NULL, DNET_NOT_FOUND, "0x8003"},
                 {NULL, NULL, "-1", NULL, DNET_NOT_FOUND, "no -1"},
                 {NULL, NULL, NULL, "eth7", DNET_NOT_FOUND, "interface eth7"}};
    const char *said;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dnet_emu_port_config_t config = usual;
        config.device = cases[i].device;
        config.gid = cases[i].gid;
        config.pkey = cases[i].pkey;
        config.interface = cases[i].interface;
        dnet_status_t status = open_port(&config, &said);
        if (status != cases[i].status || !strstr(said, cases[i].text))
            fail_msg("case %u: status %d, and it says: %s", i, status, said);
    }
    /* Which ports a device has is not known before it is open. */
    dnet_emu_port_config_t second = usual;
    second.device = "fake0:2";
    dnet_fabric_faults("open_device@1=EACCES");
    assert_int_equal(open_port(&second, &said), DNET_NOT_FOUND);
    dnet_fabric_faults("");
    assert_non_null(strstr(said, "able to read and write /dev/infiniband/uverbs"));
}

/* As many receive buffers as the device has completions for. */
static void test_verbs_open_with_all_buffers(void **state)
{
    (void) state;
    dnet_emu_port_config_t config = usual;
    const char *said;
    config.buffers = 32768;
    assert_int_equal(open_port(&config, &said), DNET_OK);
    assert_string_equal(said, "");
}

/* The GID of RoCE v2 with the IPv4 address, not the first one; the PKEY of a full member of the
 * default partition, not that of a limited one. */
static void test_verbs_open_takes_the_right_entries(void **state)
{
    (void) state;
    static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1};
    dnet_emu_port_t *port;
    dnet_emu_port_address_t at[DNET_RAILS_MAX];
    uint16_t pkey;
    assert_int_equal(dnet_emu_port_open(&usual, &port), DNET_OK);
    dnet_emu_port_address(port, at);
    assert_memory_equal(at[0].at, v4, sizeof(v4));
    memcpy(&pkey, at[0].at + 0x16, sizeof(pkey));
    assert_int_equal(pkey, 0xffff);
    assert_int_not_equal(at[0].alive_port, 0);
    assert_int_equal(at[1].bytes, 0);
    dnet_emu_port_close(port);
}

/* ---- jobs ---- */

static uint64_t envelope(uint32_t from, uint32_t tag)
{
    return dnet_ep_envelope(CONTEXT, from, tag);
}

/* Large messages are such that the receiver's adapter reads them. */
static bool reads;

static size_t length_of(uint32_t i)
{
    return i % 5 == 0 ? reads ? RENDEZVOUS : LARGE : i % 5 == 1 ? 200 : 8;
}

typedef struct {
    const char *faults;  /* of rank 0 */
    const char *counted; /* what must have happened there */
    unsigned at_least;
    bool fails; /* the job ends with a line */
} fault_case_t;

/* Both ranks send to each other, and look at every byte.  Rank 0 begins: a connection that both ask
 * for may be made though what rank 0 asked has been lost. */
static int exchange(dnet_job_rank_t *job, void *arg)
{
    const fault_case_t *c = arg;
    uint32_t peer = 1 - job->rank;
    static uint8_t out[RENDEZVOUS], in[RENDEZVOUS];
    dnet_job_request_t s, r;
    /* What happens to a device is looked at each 1024 polls. */
    uint32_t messages = c->fails ? 20 * MESSAGES : MESSAGES;
    int bad = 0;
    if (job->rank == 0)
        dnet_fabric_faults(c->faults);
    for (uint32_t i = 0; i < messages && !bad; i++) {
        size_t len = length_of(i);
        memset(out, (int) (i + job->rank), len);
        memset(in, 0xee, len);
        dnet_job_irecv(job, &r, envelope(peer, i), DNET_MATCH_BITS, in, len);
        if (i == 0 && job->rank == 1 && !c->fails && dnet_job_wait(job, &r) != DNET_OK)
            _exit(4);
        dnet_job_isend(job, &s, peer, envelope(job->rank, i), out, len, false);
        if (dnet_job_wait(job, &r) != DNET_OK || dnet_job_wait(job, &s) != DNET_OK)
            _exit(c->fails ? 0 : 4);
        for (size_t k = 0; k < len && !bad; k++)
            bad = in[k] != (uint8_t) (i + peer);
        if (bad)
            fprintf(stderr, "%s: message %u of rank %u is wrong\n", c->faults, i, peer);
    }
    if (c->fails)
        return 1;
    if (!bad && job->rank == 0 && dnet_fabric_count(c->counted) < c->at_least) {
        fprintf(stderr, "%s: %s happened %u times\n", c->faults, c->counted,
                dnet_fabric_count(c->counted));
        bad = 1;
    }
    return bad;
}

/* A job for each. */
static void run_cases(fault_case_t *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (dnet_job_run_hosts(2, 60, two, 2, exchange, &cases[i]) != 0)
            fail_msg("%s", cases[i].faults);
}

/* Jobs that go on: every kind of send that fails, on the connection and before it. */
static void test_verbs_job_goes_on(void **state)
{
    (void) state;
    static fault_case_t cases[] = {
        {"ud@1=1", "ud", 2, false},
        {"ud@2=1,ud@3=1", "ud", 3, false},
        {"ud_wc@1=2", "ud", 2, false}, /* and its queue pair fails */
        {"ud_wc@2=2,ud_wc@3=2,to_reset@1=EINVAL", "to_reset", 2, false},
        {"post_ud@1=ENOMEM", "post_ud", 2, false},
        {"create_ah@1=113", "create_ah", 2, false}, /* EHOSTUNREACH: no way there now */
        {"to_rtr@1=113,to_rtr@2=110", "to_rtr", 3, false},
        {"create_qp@1=EINVAL", "create_qp", 2, false}, /* without inline messages then */
        {"post_send@5=ENOMEM", "create_qp", 2, false},
        {"wc@1=12", "create_qp", 2, false},
        {"wc@40=12", "create_qp", 2, false},
        {"wc@7=9,wc@60=12,wc@61=12", "create_qp", 3, false},
        {"wc@50=4", "create_qp", 2, false},
        {"forget@1=1", "create_qp", 2, false},
        {"forget@60=1", "create_qp", 2, false},
        {"req_notify_cq@1=EINVAL", "wc", 20, false},
        {"poll@50=110,poll@80=109", "poll", 80, false}, /* the port says that it is down, and up */
    };
    run_cases(cases, sizeof(cases) / sizeof(cases[0]));
}

/* Connections that fail, each of which has taken a receive buffer: none of the few is lost.  One
 * whose last receive request is not told of ends all the same. */
static void test_verbs_job_keeps_its_buffers(void **state)
{
    (void) state;
    static fault_case_t cases[] = {
        {"taken@*=1,wc@10=12,wc@30=12,wc@50=12,wc@70=12,wc@90=12,wc@110=12", "create_qp", 7, false},
        {"last_wqe@*=1,wc@10=12,wc@30=12", "last_wqe", 2, false}};
    setenv("DIMMNET_VERBS_BUFFERS", "4", 1);
    run_cases(cases, sizeof(cases) / sizeof(cases[0]));
    unsetenv("DIMMNET_VERBS_BUFFERS");
}

/* Every completion in turn, over the first messages. */
static void test_verbs_job_each_completion_fails(void **state)
{
    (void) state;
    for (unsigned n = 2; n < 20; n += 3) {
        char faults[32];
        fault_case_t c = {faults, "create_qp", 2, false};
        reads = n % 2;
        snprintf(faults, sizeof(faults), "wc@%u=%u", n, n % 4 == 1 ? REMOTE_ACCESS : 12u);
        if (dnet_job_run_hosts(2, 60, two, 2, exchange, &c) != 0)
            fail_msg("%s", faults);
    }
    reads = false;
}

/* Reads that are reported as done, and nothing has come. */
static void test_verbs_job_reads_without_data(void **state)
{
    (void) state;
    static fault_case_t cases[] = {{"empty@1=1", "create_qp", 2, false},
                                   {"empty@3=1,empty@4=1", "create_qp", 3, false}};
    reads = true;
    run_cases(cases, sizeof(cases) / sizeof(cases[0]));
    reads = false;
}

/* Nothing can be registered: by packets. */
static void test_verbs_job_without_registration(void **state)
{
    (void) state;
    static fault_case_t cases[] = {{"reg_mr@1=ENOMEM", "reg_mr", 2, false},
                                   {"reg_mr@*=ENOMEM", "reg_mr", 3, false},
                                   {"reg_mr@*=14", "reg_mr", 3, false}};
    reads = true;
    run_cases(cases, sizeof(cases) / sizeof(cases[0]));
    reads = false;
}

/* Jobs that cannot: the other rank learns it from rank 0's end. */
static void test_verbs_job_ends(void **state)
{
    (void) state;
    static fault_case_t cases[] = {
        {"create_ah@*=113", NULL, 0, true},
        {"create_qp@*=ENOMEM", NULL, 0, true},
        {"to_rtr@*=EINVAL", NULL, 0, true},
        {"ud_wc@*=2", NULL, 0, true},
        {"poll@100=108", NULL, 0, true}, /* IBV_EVENT_DEVICE_FATAL */
        {"poll@100=100", NULL, 0, true}, /* IBV_EVENT_CQ_ERR */
        {"poll@100=114", NULL, 0, true}, /* IBV_EVENT_SRQ_ERR */
        {"wc@*=12", NULL, 0, true},
        {"post_send@*=EINVAL", NULL, 0, true},
        {"poll_cq@100=EINVAL", NULL, 0, true},
        {"post_srq_recv@20=ENOMEM", NULL, 0, true},
    };
    setenv("DIMMNET_HOST_WAIT_S", "2", 1);
    run_cases(cases, sizeof(cases) / sizeof(cases[0]));
    unsetenv("DIMMNET_HOST_WAIT_S");
}

/* ---- registered memory ---- */

/* How memory comes to be another one at the same address. */
static void *unmap_and_map(uint8_t *at, size_t bytes)
{
    munmap(at, bytes);
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void *map_over(uint8_t *at, size_t bytes)
{
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void *empty(uint8_t *at, size_t bytes)
{
    return madvise(at, bytes, MADV_DONTNEED) == 0 ? at : MAP_FAILED;
}

static void *move(uint8_t *at, size_t bytes)
{
    void *there = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mremap(at, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, there) == MAP_FAILED)
        return MAP_FAILED;
    munmap(there, bytes);
    return map_over(at, bytes);
}

static void *(*const ways[])(uint8_t *at, size_t bytes) = {unmap_and_map, map_over, empty, move};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static bool is_all(const uint8_t *at, size_t bytes, uint8_t value)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != value)
            return false;
    return true;
}

/* Message i, whose bytes are all i + 1, from rank 0 to rank 1. */
static int carry(dnet_job_rank_t *job, uint32_t i, uint8_t *buf, size_t bytes)
{
    if (job->rank == 0)
        return dnet_job_send(job, 1, envelope(0, i), buf, bytes, true);
    if (dnet_job_recv(job, envelope(0, i), DNET_MATCH_BITS, buf, bytes) == (int) bytes &&
        is_all(buf, bytes, (uint8_t) (i + 1)))
        return 0;
    fprintf(stderr, "message %u is wrong: %02x\n", i, buf[0]);
    return 1;
}

/* A message from one buffer into another one; afterwards the sender's, or the receiver's memory, is
 * exchanged.  Twice each time: what is registered is used again.
 *
 * @param arg  which rank's */
static int remap(dnet_job_rank_t *job, void *arg)
{
    const size_t bytes = RENDEZVOUS;
    bool exchanges = job->rank == *(const uint32_t *) arg;
    uint8_t *buf = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    dnet_emu_hosts_stats_t stats;
    for (uint32_t i = 0; i < 2 * WAYS; i++) {
        memset(buf, job->rank == 0 ? (int) i + 1 : 0xee, bytes);
        if (carry(job, i, buf, bytes) != 0)
            return 1;
        if (exchanges && i % 2) {
            dnet_fabric_unmapped(buf, bytes);
            if (ways[i / 2](buf, bytes) != buf)
                return 2;
        }
    }
    dnet_emu_hosts_stats(job->ep->job.emu, &stats);
    if (stats.reused < WAYS || stats.registered != (exchanges ? WAYS : 1)) {
        fprintf(stderr, "rank %u: %u registered, %u used again\n", job->rank,
                (unsigned) stats.registered, (unsigned) stats.reused);
        return 1;
    }
    munmap(buf, bytes);
    return 0;
}

static void test_verbs_job_memory_is_another_one(void **state)
{
    (void) state;
    for (uint32_t rank = 0; rank < 2; rank++)
        assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, remap, &rank), 0);
}

/* Memory that is shared, of a file or read-only is registered for each message; that of
 * dnet_ep_alloc() until it is freed. */
static int kinds(dnet_job_rank_t *job, void *arg)
{
    const size_t bytes = RENDEZVOUS;
    (void) arg;
    for (uint32_t i = 0; i < 6; i++) {
        void *buf = NULL;
        if (i % 3 == 2 && dnet_ep_alloc(job->ep, bytes, &buf) != DNET_OK)
            return 2;
        if (i % 3 != 2)
            buf = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       (i % 3 ? MAP_PRIVATE : MAP_SHARED) | MAP_ANONYMOUS, -1, 0);
        memset(buf, job->rank == 0 ? (int) i + 1 : 0xee, bytes);
        if (i == 1 && job->rank == 0 && mprotect(buf, bytes, PROT_READ) != 0)
            return 2;
        if (carry(job, i, buf, bytes) != 0)
            return 1;
        dnet_fabric_unmapped(buf, bytes);
        if (i % 3 != 2)
            munmap(buf, bytes);
        else if (dnet_ep_free(job->ep, buf) != DNET_OK)
            return 2;
    }
    return dnet_ep_counters(job->ep)->read != (job->rank == 1 ? 6 : 0);
}

static void test_verbs_job_kinds_of_memory(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, kinds, NULL), 0);
}

/* ---- receive buffers, and those who share them ---- */

static const int crowd[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
static _Atomic unsigned *refused; /* messages of all ranks that found no receive buffer */

/* All others send to rank 0.  @param arg  how long it does not look at first, in us */
static int incast(dnet_job_rank_t *job, void *arg)
{
    static uint8_t out[MESSAGES][8];
    static dnet_job_request_t sends[MESSAGES];
    uint8_t in[8];
    int bad = 0;
    if (job->rank != 0) {
        for (uint32_t i = 0; i < MESSAGES; i++) {
            memset(out[i], (int) (i + job->rank), sizeof(out[i]));
            dnet_job_isend(job, &sends[i], 0, envelope(job->rank, i), out[i], sizeof(out[i]),
                           false);
        }
        for (uint32_t i = 0; i < MESSAGES && !bad; i++)
            bad = dnet_job_wait(job, &sends[i]) != DNET_OK;
        atomic_fetch_add(refused, dnet_fabric_count("rnr"));
        return bad;
    }
    usleep(*(const useconds_t *) arg);
    for (uint32_t i = 0; i < MESSAGES && !bad; i++)
        for (uint32_t from = 1; from < job->size && !bad; from++)
            bad = dnet_job_recv(job, envelope(from, i), DNET_MATCH_BITS, in, sizeof(in)) !=
                      sizeof(in) ||
                  in[0] != (uint8_t) (i + from);
    return bad;
}

/* @return how many messages found no buffer */
static unsigned refused_of(uint32_t ranks, const char *buffers, useconds_t late_us)
{
    unsigned all;
    refused =
        mmap(NULL, sizeof(*refused), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(refused, MAP_FAILED);
    setenv("DIMMNET_VERBS_BUFFERS", buffers, 1);
    assert_int_equal(dnet_job_run_hosts(ranks, 60, crowd, (int) ranks, incast, &late_us), 0);
    unsetenv("DIMMNET_VERBS_BUFFERS");
    all = *refused;
    munmap((void *) refused, sizeof(*refused));
    return all;
}

/* Each sender has its share under way and no more, whether the receiver looks or not. */
static void test_verbs_job_shares_buffers(void **state)
{
    (void) state;
    assert_int_equal(refused_of(2, "4", 50000), 0);
    assert_int_equal(refused_of(9, "16", 0), 0);
    assert_int_equal(refused_of(9, "16", 50000), 0);
}

/* More senders than buffers, and a receiver that does not look: adapters wait, and nothing is lost.
 */
static void test_verbs_job_runs_out_of_buffers(void **state)
{
    (void) state;
    assert_true(refused_of(9, "2", 50000) > 0);
}

/* InfiniBand: addresses without IP; and a port that wants a global route. */
static void test_verbs_job_infiniband(void **state)
{
    (void) state;
    static fault_case_t plain = {"", "wc", 20, false};
    setenv("DNET_FAKE_VERBS_KIND", "ib", 1);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, exchange, &plain), 0);
    setenv("DNET_FAKE_VERBS_KIND", "ibgrh", 1);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, exchange, &plain), 0);
    unsetenv("DNET_FAKE_VERBS_KIND");
}

/* There a process that has ended is noticed by its adapter. */
static int mourn(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    uint8_t byte = 1;
    if (job->rank == 1) {
        dnet_job_send(job, 0, envelope(1, 1), &byte, 1, true);
        kill(getpid(), SIGKILL);
    }
    if (dnet_job_recv(job, envelope(1, 1), DNET_MATCH_BITS, &byte, 1) != 1)
        return 1;
    _exit(dnet_job_recv(job, envelope(1, 2), DNET_MATCH_BITS, &byte, 1) == -1 ? 0 : 1);
}

static int compute(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    uint8_t byte = 1;
    if (job->rank == 1) {
        int bad = dnet_job_send(job, 0, envelope(1, 1), &byte, 1, true);
        sleep(3);
        return bad || dnet_job_send(job, 0, envelope(1, 2), &byte, 1, true);
    }
    return dnet_job_recv(job, envelope(1, 1), DNET_MATCH_BITS, &byte, 1) != 1 ||
           dnet_job_recv(job, envelope(1, 2), DNET_MATCH_BITS, &byte, 1) != 1;
}

static void test_verbs_job_infiniband_death_is_noticed(void **state)
{
    (void) state;
    setenv("DNET_FAKE_VERBS_KIND", "ib", 1);
    setenv("DIMMNET_HOST_WAIT_S", "2", 1);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, compute, NULL), 0);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 1, mourn, NULL), 0);
    unsetenv("DIMMNET_HOST_WAIT_S");
    unsetenv("DNET_FAKE_VERBS_KIND");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verbs_open_each_call_fails),
        cmocka_unit_test(test_verbs_open_devices),
        cmocka_unit_test(test_verbs_open_options),
        cmocka_unit_test(test_verbs_open_with_all_buffers),
        cmocka_unit_test(test_verbs_open_takes_the_right_entries),
        cmocka_unit_test(test_verbs_job_goes_on),
        cmocka_unit_test(test_verbs_job_keeps_its_buffers),
        cmocka_unit_test(test_verbs_job_each_completion_fails),
        cmocka_unit_test(test_verbs_job_reads_without_data),
        cmocka_unit_test(test_verbs_job_without_registration),
        cmocka_unit_test(test_verbs_job_ends),
        cmocka_unit_test(test_verbs_job_memory_is_another_one),
        cmocka_unit_test(test_verbs_job_kinds_of_memory),
        cmocka_unit_test(test_verbs_job_shares_buffers),
        cmocka_unit_test(test_verbs_job_runs_out_of_buffers),
        cmocka_unit_test(test_verbs_job_infiniband),
        cmocka_unit_test(test_verbs_job_infiniband_death_is_noticed),
    };
    (void) argc;
    if (!dnet_fabric_begin(argv))
        return 1;
    setenv("DIMMNET_SPIN_US", "0", 1);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dnet_fabric_end();
    return failed;
}
