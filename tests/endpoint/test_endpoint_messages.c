/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of every way to travel (one entry, one window, one packet, several packets, rendezvous)
 * arrive whole and in order, expected and unexpected, plain and synchronous, between 2 and more
 * processes, and to oneself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint/am.h"
#include "endpoint/ep.h"
#include "endpoint/wire.h"
#include "job.h"

static const size_t sizes[] = {0,    1,     8,     40,    48,     49,     200,     488,
                               489,  552,   553,   1064,  1065,   2000,   4064,    4065,
                               9000, 16384, 16385, 65536, 262144, 300001, 1048576, 4194304};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static void fill(uint8_t *buf, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        buf[i] = (uint8_t) (i * 7 + i / 251 + seed);
}

static int check(const uint8_t *buf, size_t len, unsigned seed, const char *what)
{
    for (size_t i = 0; i < len; i++)
        if (buf[i] != (uint8_t) (i * 7 + i / 251 + seed)) {
            fprintf(stderr, "%s: byte %zu of %zu is wrong\n", what, i, len);
            return 1;
        }
    return 0;
}

/* Rank 0 sends every size three times; the second message is synchronous. */
static int all_sizes(dnet_job_rank_t *job, void *arg)
{
    bool late = *(bool *) arg;
    uint8_t *buf = malloc(sizes[SIZES - 1] + 64);
    int bad = 0;
    for (unsigned i = 0; i < SIZES && !bad; i++) {
        for (unsigned k = 0; k < 3 && !bad; k++) {
            uint64_t envelope = dnet_ep_envelope(3, 0, i * 3 + k);
            if (job->rank == 0) {
                fill(buf + k, sizes[i], i + k);
                bad = dnet_job_send(job, 1, envelope, buf + k, sizes[i], k == 1);
            } else {
                if (late)
                    for (unsigned p = 0; p < 200; p++) {
                        bool did;
                        dnet_ep_progress(job->ep, &did);
                    }
                memset(buf, 0xee, sizes[i] + 32);
                long got = dnet_job_recv(job, envelope, DNET_MATCH_BITS, buf + k, sizes[i]);
                bad = got != (long) sizes[i] || check(buf + k, sizes[i], i + k, "all sizes") ||
                      buf[k + sizes[i]] != 0xee;
                if (got != (long) sizes[i])
                    fprintf(stderr, "size %zu: got %ld\n", sizes[i], got);
            }
        }
    }
    free(buf);
    return bad;
}

/* Requests of the messages that rank 0 sends: two pages are one; a longer message alone goes as
 * pieces of four pages, and one that follows another as pieces of sixteen. */
static int pages(dnet_job_rank_t *job, void *arg)
{
    enum { BYTES = 8192, ROW = 10, MOST = 65536 };
    static uint8_t buf[MOST];
    uint64_t before;
    int bad = 0;
    (void) arg;
    dnet_job_barrier(job); /* who is not ready stops the first */
    before = dnet_ep_counters(job->ep)->ipush;
    for (unsigned i = 0; i < ROW && !bad; i++) {
        fill(buf, BYTES, job->rank ? 0 : i);
        bad = job->rank == 0 ? dnet_job_send(job, 1, dnet_ep_envelope(3, 0, i), buf, BYTES, false)
                             : dnet_job_recv(job, dnet_ep_envelope(3, 0, i), DNET_MATCH_BITS, buf,
                                             BYTES) != BYTES ||
                                   check(buf, BYTES, i, "row");
    }
    bad = bad || (job->rank == 0 && dnet_ep_counters(job->ep)->ipush - before != ROW);
    for (unsigned i = 1; i <= 2 && !bad; i++) {
        fill(buf, MOST, job->rank ? 0 : 77 + i);
        before = dnet_ep_counters(job->ep)->ipush;
        if (job->rank == 0)
            bad = dnet_job_send(job, 1, dnet_ep_envelope(5, 0, i), buf, MOST, false) ||
                  dnet_ep_counters(job->ep)->ipush - before != MOST / (i == 1 ? 16384 : MOST);
        else
            bad =
                dnet_job_recv(job, dnet_ep_envelope(5, 0, i), DNET_MATCH_BITS, buf, MOST) != MOST ||
                check(buf, MOST, 77 + i, "long");
    }
    if (bad)
        fprintf(stderr, "%llu packets\n",
                (unsigned long long) (dnet_ep_counters(job->ep)->ipush - before));
    return bad;
}

/* 1 KB goes by BOTF where something has come since the last one, and from memory in a row. */
static int images(dnet_job_rank_t *job, void *arg)
{
    enum { BYTES = 1024, TURNS = 5, ROW = 7 };
    static uint8_t buf[BYTES];
    int bad = 0;
    (void) arg;
    dnet_job_barrier(job); /* who is not ready stops the first */
    uint64_t before = dnet_ep_counters(job->ep)->botf;
    for (unsigned i = 0; i < 2 * TURNS && !bad; i++) {
        fill(buf, BYTES, job->rank == i % 2 ? i : 0);
        bad = job->rank == i % 2
                  ? dnet_job_send(job, !job->rank, dnet_ep_envelope(3, 0, i), buf, BYTES, false)
                  : dnet_job_recv(job, dnet_ep_envelope(3, 0, i), DNET_MATCH_BITS, buf, BYTES) !=
                            BYTES ||
                        check(buf, BYTES, i, "turns");
    }
    bad = bad || dnet_ep_counters(job->ep)->botf - before <
                     TURNS - 1; /* one may have followed the barrier */
    before = dnet_ep_counters(job->ep)->botf;
    for (unsigned i = 0; i < ROW && !bad; i++)
        bad = job->rank == 0 ? dnet_job_send(job, 1, dnet_ep_envelope(4, 0, i), buf, BYTES, false)
                             : dnet_job_recv(job, dnet_ep_envelope(4, 0, i), DNET_MATCH_BITS, buf,
                                             BYTES) != BYTES;
    return bad || dnet_ep_counters(job->ep)->botf - before > 1;
}

/* Messages are there when the first one's receive is posted: the round that completes it ends
 * before the second, which so finds its receive, and one more is kept by the next round. */
static int windows(dnet_job_rank_t *job, void *arg)
{
    static const size_t lengths[] = {8, 3000, 40000};
    static uint8_t buf[40000];
    const dnet_ep_counters_t *counters = dnet_ep_counters(job->ep);
    (void) arg;
    dnet_job_barrier(job); /* who is not ready stops the first */
    for (unsigned s = 0; s < 3; s++) {
        uint64_t before = counters->unexpected;
        bool did;
        for (unsigned i = 0; i < 3 && job->rank == 0; i++)
            if (dnet_job_send(job, 1, dnet_ep_envelope(3, 0, i), buf, lengths[s], false))
                return 1;
        dnet_job_stand(job);
        for (unsigned i = 0; i < 2 && job->rank == 1; i++)
            if (dnet_job_recv(job, dnet_ep_envelope(3, 0, i), DNET_MATCH_BITS, buf, lengths[s]) !=
                    (long) lengths[s] ||
                counters->unexpected != before)
                return 1;
        if (job->rank == 1)
            dnet_ep_progress(job->ep, &did);
        if (job->rank == 1 && (counters->unexpected != before + 1 ||
                               dnet_job_recv(job, dnet_ep_envelope(3, 0, 2), DNET_MATCH_BITS, buf,
                                             lengths[s]) != (long) lengths[s]))
            return 1;
        dnet_job_stand(job);
    }
    return 0;
}

static void test_endpoint_round_leaves_what_has_no_receive(void **state)
{
    (void) state;
    setenv("DIMMNET_PROFILE", "extended", 1);
    setenv("DIMMNET_EAGER_LIMIT", "65536", 1);
    assert_int_equal(dnet_job_run(2, 60, windows, NULL), 0);
    unsetenv("DIMMNET_EAGER_LIMIT");
}

static void test_endpoint_1_kb_alone_goes_by_botf(void **state)
{
    (void) state;
    setenv("DIMMNET_PROFILE", "extended", 1);
    assert_int_equal(dnet_job_run(2, 60, images, NULL), 0);
}

static void test_endpoint_two_pages_are_one_request(void **state)
{
    (void) state;
    setenv("DIMMNET_PROFILE", "extended", 1);
    setenv("DIMMNET_EAGER_LIMIT", "65536", 1);
    assert_int_equal(dnet_job_run(2, 60, pages, NULL), 0);
    unsetenv("DIMMNET_EAGER_LIMIT");
}

/* The same in both profiles of the NIC. */
static void run_in_profiles(uint32_t size, int (*body)(dnet_job_rank_t *, void *), void *arg)
{
    static const char *const profiles[] = {"extended", "prototype"};
    for (unsigned p = 0; p < 2; p++) {
        setenv("DIMMNET_PROFILE", profiles[p], 1);
        assert_int_equal(dnet_job_run(size, 60, body, arg), 0);
    }
}

static void test_endpoint_all_sizes_arrive_whole(void **state)
{
    (void) state;
    bool late = false;
    run_in_profiles(2, all_sizes, &late);
    late = true;
    run_in_profiles(2, all_sizes, &late);
}

static void ignore_completion(dnet_ep_request_t *req, dnet_status_t status)
{
    (void) req;
    if (status != DNET_OK)
        fprintf(stderr, "a send ended with %s\n", dnet_status_name(status));
}

/* Every process sends `count` numbered messages of changing size to every process, itself included,
 * before it receives any; then it takes them from any source and checks the order per source. */
static int flood(dnet_job_rank_t *job, void *arg)
{
    unsigned count = *(unsigned *) arg;
    enum { MAX = 700 };
    uint8_t buf[MAX] = {0};
    unsigned next[job->size];
    memset(next, 0, sizeof(next));
    typedef struct {
        dnet_ep_request_t req;
        uint32_t data[MAX / 4];
    } send_t;
    send_t *sends = calloc((size_t) count * job->size, sizeof(*sends));
    for (unsigned i = 0; i < count; i++)
        for (uint32_t to = 0; to < job->size; to++) {
            send_t *s = &sends[i * job->size + to];
            s->req.complete = ignore_completion;
            s->data[0] = i;
            s->data[1] = job->rank;
            size_t len = 8 + (i * 37 + to * 11) % (MAX - 8);
            dnet_status_t st = dnet_ep_send(job->ep, to, dnet_ep_envelope(1, job->rank, 5), s->data,
                                            len, false, &s->req);
            if (st != DNET_OK && st != DNET_IN_PROGRESS)
                return 1;
        }
    int bad = 0;
    for (unsigned i = 0; i < count * job->size && !bad; i++) {
        uint32_t number, from;
        long got = dnet_job_recv(job, dnet_ep_envelope(1, 0, 5), DNET_MATCH_ANY_SOURCE, buf, MAX);
        memcpy(&number, buf, 4);
        memcpy(&from, buf + 4, 4);
        bad = got < 8 || from >= job->size || number != next[from] ||
              got != (long) (8 + (number * 37 + job->rank * 11) % (MAX - 8));
        if (bad)
            fprintf(stderr, "rank %u: number %u of length %ld from %u, expected number %u\n",
                    job->rank, number, got, from, from < job->size ? next[from] : 0);
        else
            next[from]++;
    }
    dnet_job_barrier(job);
    free(sends);
    return bad;
}

static void test_endpoint_flood_of_all_to_all_is_complete_and_in_order(void **state)
{
    (void) state;
    unsigned count = 3000;
    run_in_profiles(2, flood, &count);
    count = 600;
    run_in_profiles(7, flood, &count);
}

/* More large sends under way on both sides than a NIC has apertures: some must stay for the
 * receives. */
static int large_both_ways(dnet_job_rank_t *job, void *arg)
{
    enum { COUNT = 300, BYTES = 20000 };
    (void) arg;
    uint8_t *out = malloc(BYTES), *in = malloc(BYTES);
    dnet_ep_request_t *sends = calloc(COUNT, sizeof(*sends));
    fill(out, BYTES, job->rank);
    for (unsigned i = 0; i < COUNT; i++) {
        sends[i].complete = ignore_completion;
        dnet_ep_send(job->ep, 1 - job->rank, dnet_ep_envelope(1, job->rank, i), out, BYTES, false,
                     &sends[i]);
    }
    int bad = 0;
    for (unsigned i = 0; i < COUNT && !bad; i++)
        bad = dnet_job_recv(job, dnet_ep_envelope(1, 1 - job->rank, i), DNET_MATCH_BITS, in,
                            BYTES) != BYTES ||
              check(in, BYTES, 1 - job->rank, "large both ways");
    bool did;
    while (dnet_ep_busy(job->ep))
        dnet_ep_progress(job->ep, &did);
    free(sends);
    free(in);
    free(out);
    return bad;
}

static void test_endpoint_more_large_sends_than_apertures_on_both_sides(void **state)
{
    (void) state;
    run_in_profiles(2, large_both_ways, NULL);
}

static uint64_t am_bytes, am_bad, am_count;

static void on_am(void *arg, uint32_t peer, uint16_t id, const void *header, size_t header_len,
                  const void *data, size_t len)
{
    (void) arg;
    (void) peer;
    am_bad += id != 17 || header_len != *(const uint32_t *) header ||
              check(data, len, (unsigned) len, "active message");
    am_bytes += len;
    am_count++;
}

/* A long one: its header comes first, and says where the data go. */
typedef struct {
    uint16_t id;
    uint32_t header_len;
    size_t len;
    uint8_t header[512];
    uint8_t data[];
} am_begun_t;

static void *on_am_begin(void *arg, uint32_t peer, uint16_t id, const void *header,
                         size_t header_len, size_t len, void **to_p)
{
    (void) arg;
    (void) peer;
    am_begun_t *begun = malloc(sizeof(*begun) + len);
    assert_non_null(begun);
    begun->id = id;
    begun->header_len = (uint32_t) header_len;
    begun->len = len;
    memcpy(begun->header, header, header_len);
    *to_p = begun->data;
    return begun;
}

static void on_am_end(void *arg, void *of)
{
    am_begun_t *begun = of;
    on_am(arg, 0, begun->id, begun->header, begun->header_len, begun->data, begun->len);
    free(begun);
}

static const dnet_ep_am_long_t am_long = {on_am_begin, on_am_end};

static int active(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    static const uint32_t headers[] = {4, 64, 400, 460, 464};
    static const size_t lens[] = {0, 8, 400, 3000, 5000, 200000};
    static uint8_t data[200000];
    static uint32_t header[256];
    uint64_t want = 0, total = 0;
    am_bytes = am_bad = am_count = 0;
    dnet_ep_am_register(job->ep, on_am, NULL);
    dnet_ep_am_register_long(job->ep, &am_long);
    dnet_job_barrier(job);
    for (unsigned h = 0; h < 5; h++)
        for (unsigned l = 0; l < 6; l++) {
            want += lens[l];
            total++;
            if (job->rank != 0)
                continue;
            header[0] = headers[h];
            fill(data, lens[l], (unsigned) lens[l]);
            dnet_ep_request_t req = {.complete = ignore_completion};
            bool did;
            dnet_ep_am_send(job->ep, 1, 17, header, headers[h], data, lens[l], &req);
            while (dnet_ep_busy(job->ep))
                dnet_ep_progress(job->ep, &did);
        }
    bool did;
    while (job->rank == 1 && am_count < total)
        dnet_ep_progress(job->ep, &did);
    dnet_job_barrier(job);
    return job->rank == 1 && (am_bad || am_bytes != want);
}

static void test_endpoint_active_messages_arrive_with_header_and_data(void **state)
{
    (void) state;
    run_in_profiles(2, active, NULL);
}

/* Each length up to that of the longest entry and some more, there and back, so that each message
 * is alone, to a buffer that is not aligned, and nothing behind it. */
static int short_lengths(dnet_job_rank_t *job, void *arg)
{
    enum { MOST = 1100, GUARD = 0x5a };
    uint8_t data[MOST + 9], want[MOST + 9];
    uint64_t envelope = dnet_ep_envelope(2, 0, 1);
    int bad = 0;
    (void) arg;
    for (size_t len = 0; len <= MOST; len++) {
        memset(want, GUARD, sizeof want);
        for (size_t i = 0; i < len; i++)
            want[1 + i] = (uint8_t) (len * 7 + i * 13 + 1);
        if (job->rank == 0)
            bad += dnet_job_send(job, 1, envelope, want + 1, len, false) != 0;
        memset(data, GUARD, sizeof data);
        bad += dnet_job_recv(job, envelope, DNET_MATCH_BITS, data + 1, MOST) != (long) len;
        bad += memcmp(data, want, sizeof data) != 0;
        if (job->rank == 1)
            bad += dnet_job_send(job, 0, envelope, want + 1, len, false) != 0;
    }
    return bad;
}

static void test_short_messages_of_each_length_are_whole(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 60, short_lengths, NULL), 0);
}

/* A first piece as it is on the wire: the head, what is left of 48 bytes, data. */
static dnet_status_t send_first(dnet_job_rank_t *job, uint32_t tag, uint64_t length, uint32_t bytes)
{
    const dnet_ep_head_t head = {.type = DNET_HEAD_FIRST, .rank = job->rank, .length = length};
    uint8_t packet[DNET_LH_DATA_BYTES + 100];
    memset(packet, 0xee, sizeof(packet));
    memcpy(packet, &head, sizeof(head));
    for (uint32_t i = 0; i < 100; i++)
        packet[DNET_LH_DATA_BYTES + i] = (uint8_t) (i + 1);
    return dnet_drv_send_pieces(&job->ep->drv, job->ep->peers[0].target,
                                dnet_ep_envelope(1, 1, tag) | DNET_EP_HEADED,
                                &(dnet_drv_piece_t){packet, bytes}, 1);
}

/* Pieces that end before their data begin are ignored, however long the message is said to be. */
static int pieces(dnet_job_rank_t *job, void *arg)
{
    static const uint32_t none[] = {8, 24, 40, 48};
    static uint8_t buf[1 << 20];
    (void) arg;
    bool sent = true;
    dnet_job_barrier(job); /* a process that has not connected stops every sender */
    if (job->rank == 1) {
        for (unsigned i = 0; i < sizeof(none) / sizeof(none[0]); i++)
            sent &= send_first(job, 5, sizeof(buf), none[i]) == DNET_OK;
        return !sent || send_first(job, 5, 100, DNET_LH_DATA_BYTES + 100) != DNET_OK;
    }
    size_t got = dnet_job_recv(job, dnet_ep_envelope(1, 1, 5), DNET_MATCH_BITS, buf, sizeof(buf));
    for (uint32_t i = 0; i < 101; i++)
        if (got != 100 || buf[i] != (i < 100 ? i + 1 : 0))
            return 1;
    return 0;
}

static void test_endpoint_pieces_begin_behind_the_entry(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 30, pieces, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short_messages_of_each_length_are_whole),
        cmocka_unit_test(test_endpoint_pieces_begin_behind_the_entry),
        cmocka_unit_test(test_endpoint_all_sizes_arrive_whole),
        cmocka_unit_test(test_endpoint_1_kb_alone_goes_by_botf),
        cmocka_unit_test(test_endpoint_two_pages_are_one_request),
        cmocka_unit_test(test_endpoint_round_leaves_what_has_no_receive),
        cmocka_unit_test(test_endpoint_flood_of_all_to_all_is_complete_and_in_order),
        cmocka_unit_test(test_endpoint_more_large_sends_than_apertures_on_both_sides),
        cmocka_unit_test(test_endpoint_active_messages_arrive_with_header_and_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
