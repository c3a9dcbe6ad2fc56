/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One job on several hosts: processes of this machine that have different names for it, so that
 * they do not use each other's memory, and meet by a plug to the network on its loopback.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emulator/swif/hosts/connection.h"
#include "endpoint/ep.h"
#include "job.h"
#ifdef DNET_TEST_FABRIC
#include "fabric.h"
#endif

enum { CONTEXT = 3 };

static const int two[] = {0, 1}, odd[] = {0, 0, 0, 1, 1, 2}, in_turn[] = {0, 1, 0, 1, 0},
                 many[] = {0, 1, 1, 1, 2, 2, 2, 2};

static uint8_t byte_of(size_t i, unsigned seed)
{
    return (uint8_t) (i * 7 + i / 251 + seed);
}

static void fill(uint8_t *buf, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        buf[i] = byte_of(i, seed);
}

static int check(const uint8_t *buf, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        if (buf[i] != byte_of(i, seed)) {
            fprintf(stderr, "byte %zu of %zu is wrong (seed %u)\n", i, len, seed);
            return 1;
        }
    return 0;
}

static uint64_t envelope(uint32_t from, uint32_t tag)
{
    return dnet_ep_envelope(CONTEXT, from, tag);
}

/* ---- messages of every length, between all pairs ---- */

static const size_t sizes[] = {0,    1,    8,    48,    49,    488,    489,
                               4064, 4065, 8192, 20000, 65536, 300001, 1048576};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int exchange_with(dnet_job_rank_t *job, uint32_t peer, size_t len, uint32_t tag)
{
    uint8_t *out = malloc(len + 1), *in = malloc(len + 1);
    dnet_job_request_t s, r;
    fill(out, len, job->rank * 16 + tag);
    memset(in, 0xee, len + 1);
    dnet_job_irecv(job, &r, envelope(peer, tag), DNET_MATCH_BITS, in, len);
    dnet_job_isend(job, &s, peer, envelope(job->rank, tag), out, len, tag % 3 == 1);
    int bad = dnet_job_wait(job, &r) != DNET_OK || dnet_job_wait(job, &s) != DNET_OK ||
              r.req.len_bytes != len || check(in, len, peer * 16 + tag) || in[len] != 0xee;
    if (bad)
        fprintf(stderr, "rank %u with %u: %zu bytes go wrong\n", job->rank, peer, len);
    free(out);
    free(in);
    return bad;
}

static int all_pairs(dnet_job_rank_t *job, void *arg)
{
    size_t most = *(const size_t *) arg;
    int bad = 0;
    for (uint32_t i = 0; i < SIZES && sizes[i] <= most && !bad; i++)
        for (uint32_t shift = 0; shift < job->size && !bad; shift++) {
            uint32_t peer = (job->size + shift - job->rank) % job->size;
            if (peer != job->rank)
                bad = exchange_with(job, peer, sizes[i], i);
        }
    return bad;
}

static void test_endpoint_hosts_every_size_arrives(void **state)
{
    (void) state;
    size_t most = SIZE_MAX;
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, all_pairs, &most), 0);
    setenv("DIMMNET_PROFILE", "prototype", 1);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, all_pairs, &most), 0);
    unsetenv("DIMMNET_PROFILE");
}

/* One chunk more than an area holds: the sender waits to hear that a first one has been taken, and
 * the receiver finds all others at once. */
static int area_and_more(dnet_job_rank_t *job, void *arg)
{
    enum { CHUNKS = 8, BYTES = CHUNKS * 4096 + 1 };
    static uint8_t buf[BYTES];
    dnet_job_request_t r;
    (void) arg;
    if (job->rank == 0) {
        fill(buf, BYTES, 1);
        return dnet_job_send(job, 1, envelope(0, 1), buf, BYTES, true);
    }
    dnet_job_irecv(job, &r, envelope(0, 1), DNET_MATCH_BITS, buf, BYTES);
    for (bool did; !r.done;) {
        dnet_ep_progress(job->ep, &did);
        usleep(100000); /* time for all that the sender may send */
    }
    return r.status != DNET_OK || check(buf, BYTES, 1);
}

static void test_endpoint_hosts_last_credit_is_given(void **state)
{
    (void) state;
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    setenv("DIMMNET_CHUNK_BYTES", "4096", 1);
    setenv("DIMMNET_EAGER_LIMIT_HOSTS", "4096", 1);
    assert_int_equal(dnet_job_run_hosts(2, 20, two, 2, area_and_more, NULL), 0);
    unsetenv("DIMMNET_EAGER_LIMIT_HOSTS");
    unsetenv("DIMMNET_CHUNK_BYTES");
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* ---- several packets go to another host's NIC as one message ---- */

static int whole(dnet_job_rank_t *job, void *arg)
{
    enum { WHOLE = 40, WHOLE_BYTES = 8192 };
    dnet_emu_hosts_stats_t before, after;
    int bad = exchange_with(job, 1 - job->rank, 8, WHOLE); /* connected */
    (void) arg;
    dnet_emu_hosts_stats(job->ep->job.emu, &before);
    for (uint32_t i = 0; i < WHOLE && !bad; i++)
        bad = exchange_with(job, 1 - job->rank, WHOLE_BYTES, i);
    dnet_emu_hosts_stats(job->ep->job.emu, &after);
    if (!bad && after.sent - before.sent > 2 * WHOLE) {
        fprintf(stderr, "rank %u: %d messages have left in %u parts\n", job->rank, WHOLE,
                (unsigned) (after.sent - before.sent));
        bad = 1;
    }
    return bad;
}

static void test_endpoint_hosts_several_packets_are_one(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, whole, NULL), 0);
}

#ifdef DNET_TEST_FABRIC
/* ---- what is issued at once leaves as one message of the network ---- */

enum { TOGETHER = 20, PIECES_BYTES = 20000 }; /* three pieces each, of which two leave together */

static int together(dnet_job_rank_t *job, void *arg)
{
    static uint8_t buf[PIECES_BYTES];
    int bad = exchange_with(job, 1 - job->rank, 8, TOGETHER); /* connected */
    unsigned before = dnet_fabric_count("post_send");
    (void) arg;
    for (uint32_t i = 0; i < TOGETHER && !bad; i++) {
        if (job->rank == 0) {
            fill(buf, PIECES_BYTES, i);
            bad = dnet_job_send(job, 1, envelope(0, i), buf, PIECES_BYTES, false);
        } else {
            bad = dnet_job_recv(job, envelope(0, i), DNET_MATCH_BITS, buf, PIECES_BYTES) !=
                      PIECES_BYTES ||
                  check(buf, PIECES_BYTES, i);
        }
    }
    unsigned posted = dnet_fabric_count("post_send") - before;
    if (!bad && job->rank == 0 && posted > TOGETHER * 5 / 2) {
        fprintf(stderr, "%d messages have left as %u\n", TOGETHER, posted);
        bad = 1;
    }
    return bad;
}

static void test_endpoint_hosts_pieces_leave_together(void **state)
{
    (void) state;
    setenv("DIMMNET_EAGER_LIMIT_HOSTS", "32768", 1);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, together, NULL), 0);
    unsetenv("DIMMNET_EAGER_LIMIT_HOSTS");
}

/* More at once than may be under way: the first leave one by one, and what waits for their
 * acknowledgement leaves together. */
static int waiting(dnet_job_rank_t *job, void *arg)
{
    enum { AT_ONCE = 60, ALONE = 16 };
    static uint8_t buf[AT_ONCE];
    static dnet_job_request_t r[AT_ONCE];
    int bad = exchange_with(job, 1 - job->rank, 8, AT_ONCE); /* connected */
    unsigned before = dnet_fabric_count("post_send");
    (void) arg;
    for (uint32_t i = 0; i < AT_ONCE; i++) {
        if (job->rank == 0) {
            buf[i] = (uint8_t) i;
            dnet_job_isend(job, &r[i], 1, envelope(0, i), &buf[i], 1, false);
        } else {
            dnet_job_irecv(job, &r[i], envelope(0, i), DNET_MATCH_BITS, &buf[i], 1);
        }
    }
    for (uint32_t i = 0; i < AT_ONCE && !bad; i++)
        bad = dnet_job_wait(job, &r[i]) != DNET_OK || buf[i] != (uint8_t) i;
    unsigned posted = dnet_fabric_count("post_send") - before;
    if (!bad && job->rank == 0 && posted > 2 * ALONE) {
        fprintf(stderr, "%d messages have left as %u\n", AT_ONCE, posted);
        bad = 1;
    }
    return bad;
}

static void test_endpoint_hosts_what_waits_leaves_together(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, waiting, NULL), 0);
}
#endif

/* ---- large messages: read by the receiver's adapter, or in chunks ---- */

enum { READS = 5, READ_BYTES = 300001 };

/* @param arg  how many messages are to be read */
static int read_some(dnet_job_rank_t *job, void *arg)
{
    int bad = 0;
    for (uint32_t i = 0; i < READS && !bad; i++)
        bad = exchange_with(job, 1 - job->rank, READ_BYTES, i);
    if (!bad && dnet_ep_counters(job->ep)->read != *(const uint64_t *) arg) {
        fprintf(stderr, "rank %u: %u messages have been read\n", job->rank,
                (unsigned) dnet_ep_counters(job->ep)->read);
        bad = 1;
    }
    return bad;
}

static void test_endpoint_hosts_large_messages_are_read(void **state)
{
    (void) state;
    uint64_t all = READS, none = 0;
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, read_some, &all), 0);
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, read_some, &none), 0);
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* What is not posted yet is read when it is, a shorter receive takes the beginning. */
static int read_late(dnet_job_rank_t *job, void *arg)
{
    static uint8_t buf[READ_BYTES];
    dnet_job_request_t s, r;
    (void) arg;
    if (job->rank == 0) {
        fill(buf, READ_BYTES, 3);
        dnet_job_isend(job, &s, 1, envelope(0, 1), buf, READ_BYTES, false);
        return dnet_job_send(job, 1, envelope(0, 2), buf, 8, true) ||
               dnet_job_wait(job, &s) != DNET_OK;
    }
    if (dnet_job_recv(job, envelope(0, 2), DNET_MATCH_BITS, buf, 8) != 8)
        return 1;
    dnet_job_irecv(job, &r, envelope(0, 1), DNET_MATCH_BITS, buf, READ_BYTES / 2);
    return dnet_job_wait(job, &r) != DNET_ERR_TRUNCATED || check(buf, READ_BYTES / 2, 3) ||
           buf[READ_BYTES / 2] != 0 || dnet_ep_counters(job->ep)->read != 1;
}

static void test_endpoint_hosts_unexpected_is_read(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, read_late, NULL), 0);
}

/* Odd numbers of ranks on a host, and hosts whose ranks do not stand in a row. */
static void test_endpoint_hosts_any_placement(void **state)
{
    (void) state;
    size_t most = 65536;
    assert_int_equal(dnet_job_run_hosts(6, 60, odd, 6, all_pairs, &most), 0);
    assert_int_equal(dnet_job_run_hosts(5, 60, in_turn, 5, all_pairs, &most), 0);
}

/* ---- order, and a receiver that is slow ---- */

enum { BURST = 1000, LARGE = 3000 };

static int burst(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    uint8_t buf[LARGE];
    int bad = 0;
    if (job->rank != 0) {
        for (uint32_t i = 0; i < BURST && !bad; i++) {
            size_t len = i % 7 == 0 ? sizeof(buf) : 8;
            fill(buf, len, i + job->rank);
            bad = dnet_job_send(job, 0, envelope(job->rank, 5), buf, len, false);
        }
        return bad;
    }
    usleep(100000); /* rings fill, and senders are stopped; nothing depends on how long */
    for (uint32_t i = 0; i < BURST && !bad; i++)
        for (uint32_t from = 1; from < job->size && !bad; from++) {
            size_t len = i % 7 == 0 ? sizeof(buf) : 8;
            long got = dnet_job_recv(job, envelope(from, 5), DNET_MATCH_BITS, buf, sizeof(buf));
            bad = got != (long) len || check(buf, len, i + from);
            if (bad)
                fprintf(stderr, "message %u of rank %u: %ld bytes\n", i, from, got);
        }
    return bad;
}

static void test_endpoint_hosts_incast_stops_and_resumes(void **state)
{
    (void) state;
    setenv("DIMMNET_RING_BYTES", "16384", 1);
    assert_int_equal(dnet_job_run_hosts(8, 90, many, 8, burst, NULL), 0);
    unsetenv("DIMMNET_RING_BYTES");
}

/* The entry of a stopped sender is lost before its receiver reads it.  The sender's port asks after
 * a while, and the receiver learns of it then. */
static int unread_stop(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 20 };
    dnet_job_request_t sends[COUNT];
    uint8_t buf[LARGE];
    dnet_drv_flow_t entry;
    int bad = 0;
    (void) arg;
    if (job->rank == 0) {
        fill(buf, LARGE, 1);
        for (uint32_t i = 0; i < COUNT; i++)
            dnet_job_isend(job, &sends[i], 1, envelope(0, i), buf, LARGE, false);
        for (uint32_t i = 0; i < COUNT && !bad; i++)
            bad = dnet_job_wait(job, &sends[i]) != DNET_OK;
        return bad;
    }
    while (!dnet_drv_flow_peek(&job->ep->drv, &entry))
        (void) job->ep->dev->ops->poll(job->ep->dev, COUNT);
    if (entry.kind != DNET_FLOW_STOPPED)
        return 1;
    dnet_drv_flow_advance(&job->ep->drv);
    for (uint32_t i = 0; i < COUNT && !bad; i++)
        bad = dnet_job_recv(job, envelope(0, i), DNET_MATCH_BITS, buf, LARGE) != LARGE ||
              check(buf, LARGE, 1);
    return bad;
}

static void test_endpoint_hosts_unread_stop_is_told_again(void **state)
{
    (void) state;
    setenv("DIMMNET_RING_BYTES", "4096", 1);
    assert_int_equal(dnet_job_run_hosts(2, 20, two, 2, unread_stop, NULL), 0);
    unsetenv("DIMMNET_RING_BYTES");
}

/* A receiver over its budget holds senders back that do not share its memory. */
static int out_of_order(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    enum { COUNT = 150, BYTES = 1000 };
    static uint8_t out[COUNT][BYTES];
    static dnet_job_request_t sends[COUNT];
    uint8_t in[BYTES];
    int bad = 0;
    if (job->rank != 0) {
        for (uint32_t i = 0; i < COUNT; i++) {
            fill(out[i], BYTES, i);
            dnet_job_isend(job, &sends[i], 0, envelope(job->rank, i), out[i], BYTES, false);
        }
        for (uint32_t i = 0; i < COUNT && !bad; i++)
            bad = dnet_job_wait(job, &sends[i]) != DNET_OK;
        if (!bad && in_turn[job->rank] != in_turn[0] && dnet_ep_counters(job->ep)->held == 0) {
            fprintf(stderr, "rank %u was never held back\n", job->rank);
            bad = 1;
        }
        return bad;
    }
    for (uint32_t i = COUNT; i-- > 0 && !bad;)
        for (uint32_t from = 1; from < job->size && !bad; from++)
            bad = dnet_job_recv(job, envelope(from, i), DNET_MATCH_BITS, in, BYTES) != BYTES ||
                  check(in, BYTES, i);
    if (!bad && dnet_ep_counters(job->ep)->held_others == 0) {
        fprintf(stderr, "nobody was held back\n");
        bad = 1;
    }
    return bad;
}

static void test_endpoint_hosts_budget_holds_back(void **state)
{
    (void) state;
    setenv("DIMMNET_UNEXPECTED_BYTES", "8192", 1);
    assert_int_equal(dnet_job_run_hosts(5, 90, in_turn, 5, out_of_order, NULL), 0);
    unsetenv("DIMMNET_UNEXPECTED_BYTES");
}

/* ---- a host that goes away ---- */

/* Seconds until the rank notices; -1: it does not. */
static int mourn(dnet_job_rank_t *job, void *arg)
{
    unsigned most_s = *(const unsigned *) arg;
    uint8_t byte = 1;
    uint32_t victim = job->size - 1;
    if (job->rank == victim) {
        for (uint32_t r = 0; r < victim; r++)
            dnet_job_send(job, r, envelope(victim, 1), &byte, 1, true);
        kill(getpid(), SIGKILL);
    }
    if (dnet_job_recv(job, envelope(victim, 1), DNET_MATCH_BITS, &byte, 1) != 1)
        return 1;
    time_t start = time(NULL);
    if (dnet_job_recv(job, envelope(victim, 2), DNET_MATCH_BITS, &byte, 1) != -1)
        return 1;
    _exit(time(NULL) - start <= (time_t) most_s ? 0 : 1);
}

static void test_endpoint_hosts_death_is_noticed(void **state)
{
    (void) state;
    unsigned most_s = 20; /* the time-out is 10 s, and the host says at once that nobody is there */
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 1, mourn, &most_s), 0);
}

/* A process that computes is not taken for one that has gone. */
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

static void test_endpoint_hosts_computing_is_not_death(void **state)
{
    (void) state;
    setenv("DIMMNET_HOST_WAIT_S", "1", 1);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, compute, NULL), 0);
    unsetenv("DIMMNET_HOST_WAIT_S");
}

#ifndef DNET_TEST_FABRIC
/* A process that gets no processor answers nothing itself; its host's kernel does. */
static int stand_still(dnet_job_rank_t *job, void *arg)
{
    enum { STILL_S = 4 };
    uint8_t byte = 1;
    pid_t self = getpid();
    (void) arg;
    if (exchange_with(job, 1 - job->rank, 8, 1)) /* connected */
        return 1;
    if (job->rank == 0)
        return dnet_job_recv(job, envelope(1, 2), DNET_MATCH_BITS, &byte, 1) != 1;
    if (fork() == 0) {
        kill(self, SIGSTOP);
        sleep(STILL_S);
        kill(self, SIGCONT);
        _exit(0);
    }
    for (time_t start = time(NULL); time(NULL) - start < STILL_S;)
        sched_yield();
    return dnet_job_send(job, 0, envelope(1, 2), &byte, 1, true);
}

static void test_endpoint_hosts_standing_still_is_not_death(void **state)
{
    (void) state;
    setenv("DIMMNET_HOST_WAIT_S", "1", 1);
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, stand_still, NULL), 0);
    unsetenv("DIMMNET_HOST_WAIT_S");
}
#endif

/* ---- messages that are not of a peer, or not for this process ---- */

typedef enum {
    FORGED_KEY,
    FORGED_VERSION,
    FORGED_LENGTH, /* longer than what has come */
    FORGED_SENDER,
    FORGED_EPOCH,
    FORGED_LINES,
    FORGED_PACKETS,
    FORGED_TYPE,
    FORGED_DWID,
    FORGED_SWID,
    FORGERIES,
} forgery_t;

static const dnet_emu_plug_ops_t *true_plug;
static const dnet_emu_plug_events_t *true_events;
static unsigned forged;

static void forge(forgery_t what, dnet_emu_wire_head_t *h, uint64_t *line)
{
    switch (what) {
        case FORGED_KEY:
            h->key++;
            break;
        case FORGED_VERSION:
            h->version++;
            break;
        case FORGED_LENGTH:
            h->bytes++;
            break;
        case FORGED_SENDER:
            h->slid += 64;
            break;
        case FORGED_EPOCH:
            h->epoch--;
            break;
        case FORGED_LINES:
            h->count = 1;
            break;
        case FORGED_PACKETS:
            h->packets = 0;
            break;
        case FORGED_TYPE:
            *line ^= DNET_PUT(DNET_GET(*line, PK_TYPE) ^ DNET_PRIM_RVL, PK_TYPE);
            break;
        case FORGED_DWID:
            *line ^= DNET_PUT(1, PK_DWID);
            break;
        case FORGED_SWID:
            *line ^= DNET_PUT(1, PK_SWID);
            break;
        case FORGERIES:
            break;
    }
}

/* Each packet comes with each forgery first. */
static bool arrives(void *arg, uint8_t *data, uint32_t bytes)
{
    dnet_emu_port_t *port = arg;
    dnet_emu_wire_head_t h;
    memcpy(&h, data, sizeof(h));
    const dnet_emu_connection_t *c = dnet_emu_connection_of(port, h.slid, h.swid);
    for (int what = 0; what < FORGERIES && h.kind == WIRE_DATA; what++) {
        uint64_t *copy = malloc(h.bytes);
        uint32_t next = c->rx.exp_seq, state = c->rx.state;
        bool held = c->held;
        memcpy(copy, data, h.bytes);
        dnet_emu_wire_head_t *head = (dnet_emu_wire_head_t *) (void *) copy;
        head->flags ^= WIRE_HOLD;
        forge((forgery_t) what, head, copy + sizeof(h) / sizeof(*copy));
        (void) true_events->arrived(arg, (uint8_t *) copy, h.bytes);
        forged++;
        /* what is right but for its packet says a thing or two beside it */
        if (c->rx.exp_seq != next || c->rx.state != state ||
            (c->held != held && what < FORGED_LINES)) {
            fprintf(stderr, "forgery %d has been taken\n", what);
            _exit(1); /* what follows may be lost */
        }
        free(copy);
    }
    return true_events->arrived(arg, data, bytes);
}

static unsigned poll_forged(dnet_emu_plug_end_t *end, const dnet_emu_plug_events_t *events,
                            void *arg)
{
    const dnet_emu_plug_events_t with_forged = {.arrived = arrives, .sent = events->sent};
    true_events = events;
    return true_plug->poll(end, &with_forged, arg);
}

static int forgeries(dnet_job_rank_t *job, void *arg)
{
    static dnet_emu_plug_ops_t plug;
    (void) arg;
    dnet_emu_port_t *port = job->ep->job.emu->hosts;
    true_plug = port->plug;
    plug = *true_plug;
    plug.poll = poll_forged;
    port->plug = &plug;
    size_t most = 20000;
    int bad = all_pairs(job, &most);
    port->plug = true_plug;
    return bad || forged == 0;
}

static void test_endpoint_hosts_forgeries_are_not_taken(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run_hosts(2, 60, two, 2, forgeries, NULL), 0);
}

/* ---- what cannot be ---- */

static void test_endpoint_hosts_settings_are_refused(void **state)
{
    (void) state;
    const struct {
        const char *variable, *value;
        dnet_status_t status;
    } cases[] = {{"DIMMNET_FLOW", "stall", DNET_ERR_STATE},
                 {"DIMMNET_CLUSTER", "any", DNET_ERR_STATE},
                 {"DIMMNET_INTERFACE", "none0", DNET_NOT_FOUND},
#ifdef DNET_TEST_FABRIC
                 {"DIMMNET_VERBS_DEVICE", "none0", DNET_NOT_FOUND},
                 {"DIMMNET_VERBS_GID", "17", DNET_NOT_FOUND},
                 {"DIMMNET_VERBS_PKEY", "0x8002", DNET_NOT_FOUND}};
#else
                 {"DIMMNET_PROVIDER", "none",
                  strcmp(getenv("DIMMNET_PLUG"), "libfabric") == 0 ? DNET_NOT_FOUND
                                                                   : DNET_ERR_ARGUMENT},
                 {"DIMMNET_VERBS_DEVICE", "none0", DNET_ERR_ARGUMENT}};
#endif
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        dnet_ep_config_t config = {.size = 2, .job = 1, .node = two};
        dnet_ep_t *ep;
        char *before = getenv(cases[i].variable) ? strdup(getenv(cases[i].variable)) : NULL;
        setenv(cases[i].variable, cases[i].value, 1);
        assert_int_equal(dnet_ep_open(&config, &ep), cases[i].status);
        unsetenv(cases[i].variable);
        if (before)
            setenv(cases[i].variable, before, 1);
        free(before);
    }
}

#ifndef DNET_TEST_FABRIC
/* Has libfabric a network here? */
static void look(void *arg, const char *name, const char *title, bool found, const char *text)
{
    (void) title;
    if (strcmp(name, "libfabric") != 0)
        return;
    if (!found)
        printf("%s: %s\n", name, text);
    *(bool *) arg = found;
}
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endpoint_hosts_every_size_arrives),
        cmocka_unit_test(test_endpoint_hosts_last_credit_is_given),
#ifdef DNET_TEST_FABRIC
        cmocka_unit_test(test_endpoint_hosts_pieces_leave_together),
        cmocka_unit_test(test_endpoint_hosts_what_waits_leaves_together),
#endif
        cmocka_unit_test(test_endpoint_hosts_several_packets_are_one),
        cmocka_unit_test(test_endpoint_hosts_large_messages_are_read),
        cmocka_unit_test(test_endpoint_hosts_unexpected_is_read),
        cmocka_unit_test(test_endpoint_hosts_any_placement),
        cmocka_unit_test(test_endpoint_hosts_incast_stops_and_resumes),
        cmocka_unit_test(test_endpoint_hosts_unread_stop_is_told_again),
        cmocka_unit_test(test_endpoint_hosts_budget_holds_back),
        cmocka_unit_test(test_endpoint_hosts_death_is_noticed),
        cmocka_unit_test(test_endpoint_hosts_computing_is_not_death),
        cmocka_unit_test(test_endpoint_hosts_forgeries_are_not_taken),
        cmocka_unit_test(test_endpoint_hosts_settings_are_refused),
    };
    (void) argc;
    (void) argv;
#ifdef DNET_TEST_FABRIC
    if (!dnet_fabric_begin(argv))
        return 1;
#else
    bool found = false;
    dnet_emu_plugs(look, &found);
    setenv("DIMMNET_PLUG", "tcp", 1);
#endif
    setenv("DIMMNET_INTERFACE", "lo", 1);
    setenv("DIMMNET_SPIN_US", "0", 1); /* the hosts share this machine's processors */
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
#ifdef DNET_TEST_FABRIC
    dnet_fabric_end();
#else
    const struct CMUnitTest by_the_kernel[] = {
        cmocka_unit_test(test_endpoint_hosts_standing_still_is_not_death),
    };
    failed += cmocka_run_group_tests_name("tcp alone", by_the_kernel, NULL, NULL);
    const struct CMUnitTest rails[] = {
        cmocka_unit_test(test_endpoint_hosts_every_size_arrives),
        cmocka_unit_test(test_endpoint_hosts_unexpected_is_read),
        cmocka_unit_test(test_endpoint_hosts_any_placement),
        cmocka_unit_test(test_endpoint_hosts_death_is_noticed),
        cmocka_unit_test(test_endpoint_hosts_computing_is_not_death),
        cmocka_unit_test(test_endpoint_hosts_standing_still_is_not_death),
    };
    setenv("DIMMNET_INTERFACE", "lo,lo", 1);
    failed += cmocka_run_group_tests_name("two rails", rails, NULL, NULL);
    setenv("DIMMNET_INTERFACE", "lo", 1);
    setenv("DIMMNET_PLUG", "libfabric", 1);
    if (found)
        failed += cmocka_run_group_tests(tests, NULL, NULL);
#endif
    return failed;
}
