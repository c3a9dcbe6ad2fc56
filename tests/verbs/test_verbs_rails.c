/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several RDMA ports of a host as rails of one job, on a libibverbs of our own with two devices.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "emulator/swif/hosts/plug.h"
#include "endpoint/ep.h"
#include "fabric.h"
#include "job.h"

enum { CONTEXT = 3, BYTES = 1 << 20 };

static const int two[] = {0, 1}, three[] = {0, 1, 2};

static uint64_t envelope(uint32_t from, uint32_t tag)
{
    return dnet_ep_envelope(CONTEXT, from, tag);
}

static void fill(uint8_t *buf, size_t len, uint32_t seed)
{
    for (size_t i = 0; i < len; i++)
        buf[i] = (uint8_t) (i * 7 + i / 251 + seed);
}

static bool is_right(const uint8_t *buf, size_t len, uint32_t seed)
{
    for (size_t i = 0; i < len; i++)
        if (buf[i] != (uint8_t) (i * 7 + i / 251 + seed))
            return false;
    return true;
}

static dnet_emu_hosts_stats_t stats_of(const dnet_job_rank_t *job)
{
    dnet_emu_hosts_stats_t h;
    dnet_emu_hosts_stats(job->ep->job.emu, &h);
    return h;
}

static int rail_to(const dnet_job_rank_t *job, uint32_t peer)
{
    dnet_drv_target_t target = job->ep->peers[peer].target;
    return dnet_emu_hosts_rail(job->ep->job.emu, dnet_drv_target_lid(target),
                               dnet_drv_target_wid(target));
}

/* A message each way.  @return 0, or 1: it is wrong */
static int swap(dnet_job_rank_t *job, uint32_t peer, uint32_t tag, size_t len)
{
    static uint8_t out[BYTES], in[BYTES];
    dnet_job_request_t s, r;
    fill(out, len, job->rank * 31 + tag);
    memset(in, 0xee, len);
    dnet_job_irecv(job, &r, envelope(peer, tag), DNET_MATCH_BITS, in, len);
    dnet_job_isend(job, &s, peer, envelope(job->rank, tag), out, len, false);
    if (dnet_job_wait(job, &r) == DNET_OK && dnet_job_wait(job, &s) == DNET_OK &&
        r.req.len_bytes == len && is_right(in, len, peer * 31 + tag))
        return 0;
    fprintf(stderr, "rank %u: message %u of %zu bytes is wrong\n", job->rank, tag, len);
    return 1;
}

/* Swaps of large messages, until both rails have read, or `seconds` are over. */
static int until_both_read(dnet_job_rank_t *job, uint32_t *tag, int seconds)
{
    uint64_t before[2] = {stats_of(job).rail[0].read_bytes, stats_of(job).rail[1].read_bytes};
    time_t end = time(NULL) + seconds;
    uint8_t mine = 0, its = 0;
    while (!mine || !its) {
        dnet_job_request_t s, r;
        if (swap(job, 1 - job->rank, ++*tag, BYTES))
            return 1;
        mine = time(NULL) >= end || (stats_of(job).rail[0].read_bytes > before[0] &&
                                     stats_of(job).rail[1].read_bytes > before[1]);
        dnet_job_irecv(job, &r, envelope(1 - job->rank, ++*tag), DNET_MATCH_BITS, &its, 1);
        dnet_job_isend(job, &s, 1 - job->rank, envelope(job->rank, *tag), &mine, 1, false);
        if (dnet_job_wait(job, &r) != DNET_OK || dnet_job_wait(job, &s) != DNET_OK)
            return 1;
    }
    return time(NULL) >= end;
}

/* ---- what goes by which rail ---- */

static int stripe(dnet_job_rank_t *job, void *arg)
{
    uint32_t tag = 0;
    (void) arg;
    int bad = until_both_read(job, &tag, 20);
    dnet_emu_hosts_stats_t a = stats_of(job);
    uint64_t sent = a.rail[0].sent_bytes + a.rail[1].sent_bytes;
    unsigned reads[2] = {dnet_fabric_count("read"), dnet_fabric_count("read1")};
    for (uint32_t i = 0; i < 8 && !bad; i++)
        bad = swap(job, 1 - job->rank, ++tag, BYTES);
    dnet_emu_hosts_stats_t b = stats_of(job);
    reads[0] = dnet_fabric_count("read") - reads[0];
    reads[1] = dnet_fabric_count("read1") - reads[1];
    if (!bad && (b.rails != 2 || b.rail[0].read_bytes - a.rail[0].read_bytes != 8 * BYTES / 2 ||
                 b.rail[1].read_bytes - a.rail[1].read_bytes != 8 * BYTES / 2 ||
                 reads[0] != reads[1] || reads[0] < 8)) {
        fprintf(stderr, "rank %u: %u reads by fake0 and %u by fake1\n", job->rank, reads[0],
                reads[1]);
        bad = 1;
    }
    if (!bad && b.rail[rail_to(job, 1 - job->rank)].sent_bytes <= sent) {
        fprintf(stderr, "rank %u: messages do not keep to one rail\n", job->rank);
        bad = 1;
    }
    return bad;
}

static void test_rails_long_messages_are_striped(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, stripe, NULL), 0);
}

static int swap_with_all(dnet_job_rank_t *job)
{
    for (uint32_t shift = 0; shift < job->size; shift++) {
        uint32_t peer = (job->size + shift - job->rank) % job->size;
        if (peer != job->rank && swap(job, peer, shift, 8))
            return 1;
    }
    return 0;
}

static int spread(dnet_job_rank_t *job, void *arg)
{
    int rail[3];
    (void) arg;
    if (swap_with_all(job))
        return 1;
    for (uint32_t r = 0; r < job->size; r++)
        rail[r] = rail_to(job, r);
    /* Pairs have numbers in a row. */
    return job->rank == 0 ? rail[1] == rail[2] : rail[0] < 0;
}

static void test_rails_peers_spread(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_hosts(3, 60, three, 3, spread, NULL), 0);
}

/* ---- the adapter that is near ---- */

static char folder[32];

/* What sysfs says of a device: near to these processors. */
static void put_near(const char *device, const char *processors)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, device);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%s/device", folder, device);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%s/device/local_cpulist", folder, device);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s\n", processors);
    fclose(f);
}

static void make_near(const char *to_fake0, const char *to_fake1)
{
    snprintf(folder, sizeof(folder), "/tmp/dnet-rails-XXXXXX");
    assert_non_null(mkdtemp(folder));
    setenv("DNET_FAKE_VERBS_SYSFS", folder, 1);
    put_near("fake0", to_fake0);
    put_near("fake1", to_fake1);
}

static void remove_near(void)
{
    static const char *const parts[] = {"fake0/device/local_cpulist",
                                        "fake0/device",
                                        "fake0",
                                        "fake1/device/local_cpulist",
                                        "fake1/device",
                                        "fake1",
                                        ""};
    char path[128];
    for (unsigned i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, parts[i]);
        remove(path);
    }
    unsetenv("DNET_FAKE_VERBS_SYSFS");
}

/* Messages to every other host go by it. */
static int near(dnet_job_rank_t *job, void *arg)
{
    const char *wanted = arg;
    if (swap_with_all(job))
        return 1;
    dnet_emu_hosts_stats_t h = stats_of(job);
    for (uint32_t peer = 0; peer < job->size; peer++) {
        if (peer == job->rank)
            continue;
        const char *used = h.rails ? h.rail[rail_to(job, peer)].network : h.network;
        if (strncmp(used, wanted, strlen(wanted)) != 0) {
            fprintf(stderr, "rank %u: messages to rank %u go by %s\n", job->rank, peer, used);
            return 1;
        }
    }
    return 0;
}

static void test_rails_nearest_first(void **state)
{
    char text[512];
    (void) state;
    make_near("8000-8100", "0-8191"); /* the former are none of this machine's */
    assert_int_equal(dnet_job_run_hosts(3, 60, three, 3, near, (void *) "fake1:1"), 0);
    unsetenv("DIMMNET_VERBS_DEVICE"); /* one rail */
    assert_int_equal(dnet_job_run_hosts(3, 60, three, 3, near, (void *) "fake1:1"), 0);
    assert_true(dnet_emu_plug_verbs.found(text, sizeof(text)));
    assert_non_null(strstr(text, "fake1:1 RoCE 127.0.0.2, fake0:1 RoCE 127.0.0.1, far"));
    put_near("fake1", "8000-8100");
    assert_int_equal(dnet_job_run_hosts(3, 60, three, 3, near, (void *) "fake0:1"), 0);
    setenv("DIMMNET_RAILS", "2", 1);
    assert_int_equal(dnet_job_run_hosts(3, 60, three, 3, near, (void *) "fake"), 0);
    unsetenv("DIMMNET_RAILS");
    setenv("DIMMNET_VERBS_DEVICE", "fake0,fake1", 1);
    remove_near();
}

/* ---- a rail fails ---- */

typedef struct {
    const char *first, *then; /* faults of rank 0 */
    int other;                /* rail that must carry then; -1: any */
    bool all_read;            /* no part of a read is given up */
} failing_t;

enum { ROUNDS = 60, IN_A_ROW = 20, LENGTHS = 4, READ_IN_A_ROW = IN_A_ROW / 2 };

/* Messages in a row of all lengths: by packets, and read. */
static int in_order(dnet_job_rank_t *job, uint32_t *tag)
{
    static const size_t len[LENGTHS] = {8, 5000, 40000, BYTES};
    static uint8_t out[IN_A_ROW][BYTES], in[BYTES];
    static dnet_job_request_t s[IN_A_ROW];
    uint32_t peer = 1 - job->rank;
    int bad = 0;
    ++*tag;
    for (uint32_t i = 0; i < IN_A_ROW; i++) {
        fill(out[i], len[i % LENGTHS], *tag + i + job->rank);
        dnet_job_isend(job, &s[i], peer, envelope(job->rank, 1), out[i], len[i % LENGTHS], false);
    }
    for (uint32_t i = 0; i < IN_A_ROW && !bad; i++) {
        size_t n = len[i % LENGTHS];
        bad = dnet_job_recv(job, envelope(peer, 1), DNET_MATCH_BITS, in, sizeof(in)) != (long) n ||
              !is_right(in, n, *tag + i + peer);
        if (bad)
            fprintf(stderr, "rank %u: message %u of row %u is wrong\n", job->rank, i, *tag);
    }
    for (uint32_t i = 0; i < IN_A_ROW && !bad; i++)
        bad = dnet_job_wait(job, &s[i]) != DNET_OK;
    return bad;
}

static int fail_over(dnet_job_rank_t *job, void *arg)
{
    const failing_t *f = arg;
    uint32_t tag = 0;
    int bad = until_both_read(job, &tag, 20);
    time_t start = time(NULL);
    uint64_t reads = stats_of(job).reads;
    for (uint32_t i = 0; i < ROUNDS && !bad; i++) {
        if (job->rank == 0 && i == ROUNDS / 3)
            dnet_fabric_faults(f->first);
        bad = in_order(job, &tag);
    }
    reads = stats_of(job).reads - reads;
    if (!bad && f->all_read && reads != ROUNDS * READ_IN_A_ROW) {
        fprintf(stderr, "rank %u: %u long messages, %llu read\n", job->rank, ROUNDS * READ_IN_A_ROW,
                (unsigned long long) reads);
        bad = 1;
    }
    if (!bad && f->other >= 0 && rail_to(job, 1 - job->rank) != f->other) {
        fprintf(stderr, "rank %u: messages go by rail %d\n", job->rank,
                rail_to(job, 1 - job->rank));
        bad = 1;
    }
    if (!bad && time(NULL) - start > 15) {
        fprintf(stderr, "rank %u: it takes %d s\n", job->rank, (int) (time(NULL) - start));
        bad = 1;
    }
    /* The rail comes back, and carries again. */
    if (job->rank == 0 && !bad)
        dnet_fabric_faults(f->then);
    if (!bad && until_both_read(job, &tag, 20)) {
        fprintf(stderr, "rank %u: the rail does not come back\n", job->rank);
        bad = 1;
    }
    return bad;
}

static void test_rails_port_goes_down(void **state)
{
    (void) state;
    failing_t rail_0 = {"down@50=1", "up@1=1", 1, true},
              rail_1 = {"down1@50=1", "up1@1=1", 0, true};
    assert_int_equal(dnet_job_run_hosts(2, 90, two, 2, fail_over, &rail_0), 0);
    assert_int_equal(dnet_job_run_hosts(2, 90, two, 2, fail_over, &rail_1), 0);
}

/* The rails are looked at, and all that has come is acknowledged. */
static void rest(dnet_job_rank_t *job)
{
    for (unsigned i = 0; i < 50; i++) {
        dnet_job_settle(job);
        usleep(10000);
    }
}

/* A peer that is met for the first time while one rail does not lead there.  @param arg  fault of
 * rank 0 */
static int meet(dnet_job_rank_t *job, void *arg)
{
    uint8_t byte = 1;
    int bad = job->rank < 2 && swap(job, 1 - job->rank, 1, 8);
    if (job->rank == 0) {
        dnet_fabric_faults(arg);
        rest(job);
    }
    time_t start = time(NULL);
    if (!bad && job->rank == 0)
        bad = dnet_job_send(job, 2, envelope(0, 2), &byte, 1, true);
    else if (!bad && job->rank == 2)
        bad = dnet_job_recv(job, envelope(0, 2), DNET_MATCH_BITS, &byte, 1) != 1;
    if (!bad && time(NULL) - start > 5) {
        fprintf(stderr, "rank %u: it takes %d s\n", job->rank, (int) (time(NULL) - start));
        bad = 1;
    }
    return bad;
}

static void test_rails_peer_is_met_by_the_other(void **state)
{
    static const char *const faults[] = {"down@1=1", "down1@1=1",
                                         /* EHOSTUNREACH */
                                         "create_ah@*=113", "create_ah1@*=113"};
    (void) state;
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (dnet_job_run_hosts(3, 30, three, 3, meet, (void *) (uintptr_t) faults[i]) != 0)
            fail_msg("%s", faults[i]);
}

/* A connection breaks, over and over: 12 is IBV_WC_RETRY_EXC_ERR. */
static void test_rails_connections_break(void **state)
{
    (void) state;
    failing_t f = {"wc@40=12,wc@400=12,wc@1000=12", "", -1, true};
    assert_int_equal(dnet_job_run_hosts(2, 90, two, 2, fail_over, &f), 0);
    f.first = "forget@400=1";
    assert_int_equal(dnet_job_run_hosts(2, 90, two, 2, fail_over, &f), 0);
    f.first = "empty@40=1,empty@41=1,empty@100=1";
    assert_int_equal(dnet_job_run_hosts(2, 90, two, 2, fail_over, &f), 0);
}

/* An adapter takes no request any more, though its connections are made. */
static void test_rails_adapter_refuses(void **state)
{
    (void) state;
    failing_t rail_0 = {"post_send@*=EINVAL", "", 1, true},
              rail_1 = {"post_send1@*=EINVAL", "", 0, true};
    assert_int_equal(dnet_job_run_hosts(2, 90, two, 2, fail_over, &rail_0), 0);
    assert_int_equal(dnet_job_run_hosts(2, 90, two, 2, fail_over, &rail_1), 0);
}

/* Rank 0 waits, and the question whether rank 1 is there breaks the connection of the rail of the
 * messages.  Another one cannot be made. */
static int question(dnet_job_rank_t *job, void *arg)
{
    static const char *const faults[] = {"wc@1=12,ud@*=1,ud1@*=1", "wc@2=12,ud@*=1,ud1@*=1"};
    uint32_t tag = 0;
    uint8_t byte = 1, answer;
    dnet_job_request_t r;
    bool did;
    (void) arg;
    if (until_both_read(job, &tag, 20))
        return 1;
    rest(job);
    dnet_job_stand(job);
    time_t start = time(NULL);
    if (job->rank == 1) {
        sleep(2);
    } else {
        dnet_fabric_faults(faults[rail_to(job, 1)]); /* they are asked in turn */
        dnet_job_irecv(job, &r, envelope(1, 9), DNET_MATCH_BITS, &answer, 1);
        while (time(NULL) < start + 2 && dnet_ep_progress(job->ep, &did) == DNET_OK)
            ;
        if (dnet_fabric_count("wc") == 0) {
            fprintf(stderr, "nothing has been asked\n");
            return 1;
        }
    }
    int bad = job->rank == 0 ? dnet_job_send(job, 1, envelope(0, 8), &byte, 1, false) ||
                                   dnet_job_wait(job, &r) != DNET_OK
                             : dnet_job_recv(job, envelope(0, 8), DNET_MATCH_BITS, &byte, 1) != 1 ||
                                   dnet_job_send(job, 0, envelope(1, 9), &byte, 1, false);
    if (!bad && time(NULL) - start > 6) {
        fprintf(stderr, "rank %u: it takes %d s\n", job->rank, (int) (time(NULL) - start));
        bad = 1;
    }
    return bad;
}

static void test_rails_question_breaks_a_connection(void **state)
{
    (void) state;
    setenv("DNET_FAKE_VERBS_KIND", "ib", 1);
    assert_int_equal(dnet_job_run_hosts(2, 40, two, 2, question, NULL), 0);
    unsetenv("DNET_FAKE_VERBS_KIND");
}

/* Rank 1 has connected the rail that is near to it, and the one that is near to rank 0 cannot be
 * connected for a while: messages go by the former, and then home. */
static int near_and_late(dnet_job_rank_t *job, void *arg)
{
    uint32_t tag = 1, peer = 1 - job->rank;
    uint8_t byte = 1;
    time_t start = time(NULL);
    (void) arg;
    if (job->rank == 0)
        dnet_fabric_faults("ud@*=1");
    int bad = job->rank == 1 ? dnet_job_send(job, 0, envelope(1, 0), &byte, 1, false)
                             : dnet_job_recv(job, envelope(1, 0), DNET_MATCH_BITS, &byte, 1) != 1;
    bad = bad || swap(job, peer, tag, 8);
    if (!bad && (rail_to(job, peer) != 1 || time(NULL) - start > 5)) {
        fprintf(stderr, "rank %u: messages go by rail %d after %d s\n", job->rank,
                rail_to(job, peer), (int) (time(NULL) - start));
        bad = 1;
    }
    if (job->rank == 0)
        dnet_fabric_faults("");
    for (unsigned i = 0; i < 200 && !bad; i++) {
        bad = swap(job, peer, ++tag, 8);
        usleep(20000);
    }
    if (!bad && rail_to(job, peer) != (int) job->rank) {
        fprintf(stderr, "rank %u: messages go by rail %d\n", job->rank, rail_to(job, peer));
        bad = 1;
    }
    return bad;
}

static void test_rails_home_is_late(void **state)
{
    static const int processors[] = {0, 1};
    (void) state;
    if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
        skip();
    make_near("0", "1");
    dnet_job_bind(processors);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, near_and_late, NULL), 0);
    dnet_job_bind(NULL);
    remove_near();
}

/* The device of the first rail, which keeps the registered memory, fails for good: 108 is
 * IBV_EVENT_DEVICE_FATAL. */
static int lose_device(dnet_job_rank_t *job, void *arg)
{
    uint32_t tag = 0;
    int bad = until_both_read(job, &tag, 20);
    (void) arg;
    if (job->rank == 0 && !bad)
        dnet_fabric_faults("poll@1=108");
    for (uint32_t i = 0; i < ROUNDS && !bad; i++)
        bad = in_order(job, &tag);
    return bad;
}

static void test_rails_device_fails(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_hosts(2, 90, two, 2, lose_device, NULL), 0);
}

/* All are gone: the job ends, as with one.  @param arg  faults of rank 0 */
static int lose_all(dnet_job_rank_t *job, void *arg)
{
    uint32_t tag = 0;
    uint8_t byte;
    if (until_both_read(job, &tag, 20))
        return 1;
    if (job->rank == 0)
        dnet_fabric_faults(arg);
    time_t start = time(NULL);
    (void) dnet_job_send(job, 1 - job->rank, envelope(job->rank, 7), &byte, 1, true);
    _exit(dnet_job_recv(job, envelope(1 - job->rank, 8), DNET_MATCH_BITS, &byte, 1) != -1 ||
          time(NULL) - start > 10);
}

/* Ports that are down; connections that are made, and nothing gets through. */
static void test_rails_all_fail(void **state)
{
    static const char *const faults[] = {"down@1=1,down1@1=1",
                                         "post_send@*=EINVAL,post_send1@*=EINVAL", "wc@*=12"};
    (void) state;
    setenv("DIMMNET_HOST_WAIT_S", "2", 1);
    for (unsigned i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
        if (dnet_job_run_hosts(2, 60, two, 2, lose_all, (void *) (uintptr_t) faults[i]) != 0)
            fail_msg("%s", faults[i]);
    unsetenv("DIMMNET_HOST_WAIT_S");
}

/* ---- what cannot be ---- */

static void test_rails_settings_are_refused(void **state)
{
    (void) state;
    static const dnet_emu_port_config_t wrong[] = {
        {.plug = "verbs", .wait_s = 5, .mtu_bytes = 4096, .device = "fake0,fake1,a,b,c"},
        {.plug = "verbs", .wait_s = 5, .mtu_bytes = 4096, .device = "fake0,none0"},
        {.plug = "libfabric", .wait_s = 5, .interface = "lo,lo"},
        {.plug = "verbs", .mtu_bytes = 4096, .device = "fake0,fake1", .interface = "lo,lo,lo"},
        {.plug = "verbs", .mtu_bytes = 4096, .device = "fake0,fake1,fake0", .interface = "lo,lo"},
    };
    dnet_emu_port_t *port;
    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_int_not_equal(dnet_emu_port_open(&wrong[i], &port), DNET_OK);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rails_long_messages_are_striped),
        cmocka_unit_test(test_rails_peers_spread),
        cmocka_unit_test(test_rails_nearest_first),
        cmocka_unit_test(test_rails_port_goes_down),
        cmocka_unit_test(test_rails_peer_is_met_by_the_other),
        cmocka_unit_test(test_rails_connections_break),
        cmocka_unit_test(test_rails_adapter_refuses),
        cmocka_unit_test(test_rails_question_breaks_a_connection),
        cmocka_unit_test(test_rails_home_is_late),
        cmocka_unit_test(test_rails_device_fails),
        cmocka_unit_test(test_rails_all_fail),
        cmocka_unit_test(test_rails_settings_are_refused),
    };
    (void) argc;
    if (!dnet_fabric_begin(argv))
        return 1;
    setenv("DNET_FAKE_VERBS_DEVICES", "2", 1);
    setenv("DIMMNET_VERBS_DEVICE", "fake0,fake1", 1);
    setenv("DIMMNET_SPIN_US", "0", 1); /* the hosts share this machine's processors */
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    dnet_fabric_end();
    return failed;
}
