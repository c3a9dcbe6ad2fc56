/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pushed messages (docs/protocol.md 4.6): a sender that computes, one that alone finishes, both in
 * turns, one that dies between two pieces, a cursor that somebody has turned back or holds down,
 * several messages under way at once, with full rings, both ways, and every length about a piece;
 * several senders, which keep to what they have been granted; awaited messages, which go at once.
 *
 * The script stands between the receiver and its network, and lets its FADD go when its turn has
 * come; the sender pushes in its rounds, some pieces in each.
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

#include "emulator/swif/swif.h"
#include "endpoint/ep.h"
#include "endpoint/rndv.h"
#include "job.h"

enum { PIECE = DNET_PIECE_BYTES, PIECES = 24, BYTES = PIECES * PIECE - 77 };

typedef enum {
    RECEIVER_ALONE,
    SENDER_ALONE,
    IN_TURNS,     /* the receiver has some when the sender begins */
    SENDER_STOPS, /* to push, after some pieces */
    DIES,
    TURNED_BACK,
    HELD_DOWN, /* the sender gets the same number again and again */
} script_t;

static struct {
    atomic_uint pushed, taken; /* pieces the sender has sent; numbers the receiver has asked for */
    atomic_bool received;
} * stage;
static script_t script;
static const dnet_emu_swif_ops_t *below;

/* The job's alarm ends a wait that would have no end. */
static void wait_for(const atomic_uint *count, unsigned least)
{
    while (atomic_load(count) < least)
        sched_yield();
}

static void wait_for_receiver(void)
{
    while (!atomic_load(&stage->received))
        sched_yield();
}

static dnet_emu_result_t take(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    if (script == SENDER_ALONE)
        wait_for(&stage->pushed, PIECES);
    if (script == DIES || script == SENDER_STOPS)
        wait_for(&stage->pushed, 2);
    if (script == IN_TURNS && atomic_load(&stage->taken) >= 8)
        wait_for(&stage->pushed, 1);
    dnet_emu_result_t result = below->send(via, dlid, packet);
    if (script == TURNED_BACK && atomic_load(&stage->taken) == 2)
        packet->answer = 1;
    if (script == HELD_DOWN)
        packet->answer = UINT32_MAX; /* none is left for the receiver */
    atomic_fetch_add(&stage->taken, 1);
    return result;
}

static dnet_emu_result_t scripted(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    return DNET_GET(packet->header[0], PK_TYPE) == DNET_PRIM_FADD ? take(via, dlid, packet)
                                                                  : below->send(via, dlid, packet);
}

static const dnet_emu_swif_ops_t scripted_ops = {.name = "scripted", .send = scripted};

/* Where what happens between two rounds of the sender counts, it has more to send than in one. */
static unsigned times(void)
{
    return script == DIES || script == HELD_DOWN || script == SENDER_STOPS ? 4 : 1;
}

static size_t length(void)
{
    return times() * (size_t) BYTES;
}

static bool sender_computes(void)
{
    return script == RECEIVER_ALONE || script == TURNED_BACK;
}

/* Packets that found room.  One stop for each retry is no packet but a question. */
static uint64_t taken_by_peer(const dnet_job_rank_t *job)
{
    const dnet_ep_counters_t *c = dnet_ep_counters(job->ep);
    return c->ipush - (c->stop - c->retries);
}

/* A round of the sender, before which others may have held its cursors down. */
static void push_some(dnet_job_rank_t *job, uint64_t before)
{
    bool did;
    if (script == DIES && atomic_load(&stage->pushed) >= 2)
        raise(SIGKILL);
    if (script == SENDER_STOPS && atomic_load(&stage->pushed) >= 2)
        wait_for_receiver();
    for (uint32_t slot = 1; script == HELD_DOWN && slot <= DNET_DRV_CURSORS; slot++)
        dnet_drv_cursor_set(&job->ep->drv, slot, 1);
    dnet_ep_progress(job->ep, &did);
    atomic_store(&stage->pushed, (unsigned) (taken_by_peer(job) - before));
}

static int send_large(dnet_job_rank_t *job, const uint8_t *data)
{
    dnet_job_request_t r;
    dnet_job_isend(job, &r, 1, dnet_ep_envelope(1, 0, 1), data, length(), false);
    uint64_t before = taken_by_peer(job); /* RTS is out */
    if (sender_computes())
        wait_for_receiver();
    if (script == IN_TURNS)
        wait_for(&stage->taken, 4);
    while (!r.done)
        push_some(job, before);
    unsigned pushed = atomic_load(&stage->pushed);
    int bad = r.status != DNET_OK;
    bad += script == RECEIVER_ALONE && pushed != 0;
    bad += (script == SENDER_ALONE || script == HELD_DOWN) && pushed != times() * PIECES;
    bad += (script == IN_TURNS || script == SENDER_STOPS) &&
           (pushed == 0 || pushed == times() * PIECES);
    /* Has the receiver told how long it took? */
    bad += script == SENDER_ALONE && job->ep->rndv.pushed_times.taken.ns == 0;
    if (bad)
        fprintf(stderr, "sender: status %s, %u pieces pushed, of %d\n", dnet_status_name(r.status),
                pushed, PIECES);
    return bad;
}

static int receive_large(dnet_job_rank_t *job, const uint8_t *data)
{
    dnet_status_t due = script == DIES          ? DNET_ERR_PEER_DEAD
                        : script == TURNED_BACK ? DNET_ERR_FORMAT
                                                : DNET_OK;
    uint8_t *in = calloc(1, length() + 1);
    dnet_job_request_t r;
    dnet_job_irecv(job, &r, dnet_ep_envelope(1, 0, 1), DNET_MATCH_BITS, in, length());
    dnet_status_t status = dnet_job_wait(job, &r);
    bool differ = memcmp(in, data, length()) != 0;
    int bad = status != due || in[length()] != 0 || (due == DNET_OK && differ);
    if (bad)
        fprintf(stderr, "receiver: status %s, %u pieces asked for, data %s\n",
                dnet_status_name(status), atomic_load(&stage->taken), differ ? "differ" : "right");
    atomic_store(&stage->received, true);
    bad += script != DIES && (job->ep->rndv.recvs_polled != 0 || job->ep->rndv.pushed);
    free(in);
    if (script == DIES)
        _exit(bad);
    return bad;
}

static void fill(uint8_t *data, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t) (i * 7 + i / 4093 + seed);
}

static int scripted_pair(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    uint8_t *data = malloc(length());
    fill(data, length(), 0);
    job->ep->rndv.pushed_times.trial = DNET_TRIAL_BYTES; /* what is learnt now counts */
    job->ep->oversubscribed = false;                     /* also on a machine of one processor */
    below = job->ep->job.emu->swif;
    if (job->rank == 1)
        job->ep->job.emu->swif = &scripted_ops;
    dnet_job_barrier(job);
    int bad = job->rank == 0 ? send_large(job, data) : receive_large(job, data);
    free(data);
    return bad;
}

static void play(script_t what)
{
    memset((void *) stage, 0, sizeof(*stage));
    script = what;
    assert_int_equal(dnet_job_run_mourning(2, 60, what == DIES ? 0 : 2, scripted_pair, NULL), 0);
}

static void test_pushed_receiver_alone_finishes_while_the_sender_computes(void **state)
{
    (void) state;
    play(RECEIVER_ALONE);
}

static void test_pushed_sender_alone_finishes(void **state)
{
    (void) state;
    play(SENDER_ALONE);
}

static void test_pushed_both_move_each_piece_once(void **state)
{
    (void) state;
    play(IN_TURNS);
}

static void test_pushed_sender_that_stops_to_push_delays_nobody(void **state)
{
    (void) state;
    setenv("DIMMNET_RING_BYTES", "8388608", 1); /* room for all: no piece stays in its hand */
    play(SENDER_STOPS);
    unsetenv("DIMMNET_RING_BYTES");
}

static void test_pushed_sender_killed_between_pieces_is_an_error(void **state)
{
    (void) state;
    play(DIES);
}

static void test_pushed_cursor_turned_back_is_an_error(void **state)
{
    (void) state;
    play(TURNED_BACK);
}

static void test_pushed_cursor_held_down_starts_no_more_than_there_are(void **state)
{
    (void) state;
    play(HELD_DOWN);
}

/* Messages of all lengths about a piece and some of several rings, both ways at once; receives are
 * longer or shorter. */
static int both_ways(dnet_job_rank_t *job, void *arg)
{
    static const size_t lens[] = {65537,     PIECE * 3 - 1, PIECE * 3,       PIECE * 3 + 1,
                                  PIECE * 4, 1000000,       PIECE * 100 + 5, 131072};
    enum { LENS = sizeof(lens) / sizeof(lens[0]), MOST = PIECE * 100 + 5 };
    uint8_t *out[LENS], *in[LENS];
    dnet_job_request_t s[LENS], r[LENS];
    int bad = 0;
    (void) arg;
    job->ep->oversubscribed = false;
    for (unsigned i = 0; i < LENS; i++) {
        out[i] = malloc(MOST);
        in[i] = calloc(1, MOST + 1);
        fill(out[i], MOST, i);
    }
    dnet_job_barrier(job);
    for (unsigned i = 0; i < LENS; i++) {
        dnet_job_irecv(job, &r[i], dnet_ep_envelope(1, 1 - job->rank, i), DNET_MATCH_BITS, in[i],
                       i % 3 ? MOST : lens[i] - 50000);
        dnet_job_isend(job, &s[i], 1 - job->rank, dnet_ep_envelope(1, job->rank, i), out[i],
                       lens[i], false);
    }
    for (unsigned i = 0; i < LENS; i++) {
        size_t got = i % 3 ? lens[i] : lens[i] - 50000;
        dnet_status_t due = i % 3 ? DNET_OK : DNET_ERR_TRUNCATED;
        bad += dnet_job_wait(job, &s[i]) != DNET_OK || dnet_job_wait(job, &r[i]) != due ||
               memcmp(in[i], out[i], got) != 0 || in[i][got] != 0;
        if (bad)
            fprintf(stderr, "%zu bytes: %s\n", lens[i], dnet_status_name(r[i].status));
        free(out[i]);
        free(in[i]);
    }
    return bad;
}

static void test_pushed_messages_both_ways_are_whole(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 60, both_ways, NULL), 0);
}

/* A message that is sent while another one still pushes pieces, for which the ring had no room once
 * and has now. */
static int beside_a_stopped_one(dnet_job_rank_t *job, void *arg)
{
    /* A ring holds some 31; then a round sends 16. */
    const size_t len = 115 * (size_t) PIECE;
    const dnet_ep_counters_t *c = &job->ep->page.counters;
    const dnet_ep_t *ep = job->ep;
    uint8_t *data = calloc(1, len), small[8];
    dnet_job_request_t large, r;
    bool did;
    (void) arg;
    job->ep->oversubscribed = false;
    dnet_job_barrier(job);
    if (job->rank == 0) {
        dnet_job_irecv(job, &large, dnet_ep_envelope(1, 1, 1), DNET_MATCH_BITS, data, len);
        dnet_job_irecv(job, &r, dnet_ep_envelope(1, 1, 2), DNET_MATCH_BITS, small, sizeof small);
        while (!ep->rndv.pushed)
            dnet_ep_progress(job->ep, &did);
        wait_for(&stage->pushed, 1); /* standing, so that the ring gets full */
        while (c->granted_others == 0)
            dnet_ep_progress(job->ep, &did);
        wait_for(&stage->pushed, 2);
    } else {
        dnet_job_isend(job, &large, 0, dnet_ep_envelope(1, 1, 1), data, len, false);
        while (c->stop == 0)
            dnet_ep_progress(job->ep, &did);
        atomic_store(&stage->pushed, 1);
        /* Or it has asked again, late, and a grant that comes meanwhile is not that answer. */
        while (c->resend + c->retries == 0)
            dnet_ep_progress(job->ep, &did);
        dnet_job_isend(job, &r, 0, dnet_ep_envelope(1, 1, 2), small, sizeof small, false);
        atomic_store(&stage->pushed, 2);
    }
    bool under_way = !large.done;
    int bad = dnet_job_wait(job, &r) != DNET_OK || dnet_job_wait(job, &large) != DNET_OK;
    if (!under_way) {
        fprintf(stderr, "rank %u: the large message was over before\n", job->rank);
        bad++;
    }
    if (ep->tx.open_channels != 0) {
        fprintf(stderr, "rank %u: %u channels are left\n", job->rank, ep->tx.open_channels);
        bad++;
    }
    free(data);
    return bad;
}

static void test_pushed_message_beside_a_stopped_one_goes(void **state)
{
    (void) state;
    atomic_store(&stage->pushed, 0);
    setenv("DIMMNET_RING_BYTES", "2097152", 1); /* a ring for pieces, however few processors */
    assert_int_equal(dnet_job_run(2, 20, beside_a_stopped_one, NULL), 0);
    unsetenv("DIMMNET_RING_BYTES");
}

/* Several senders and one ring, which none of them finds empty.  The receiver notes what it grants
 * before that arrives, and each sender counts down what it sends. */
enum { SENDERS = 3, SENDERS_PIECES = 200, NOT_LIMITED = 1000 };

static struct {
    atomic_uint granted[SENDERS + 1], stops[SENDERS + 1], grants, exceeded;
} * crowd;
static dnet_ep_t *own;

static uint32_t rank_of(const dnet_emu_packet_t *packet)
{
    uint64_t to = packet->header[0] & (DNET_MASK(PK_DLID) | DNET_MASK(PK_DWID));
    uint32_t rank = 0;
    while (rank < SENDERS && own->peers[rank].target != to)
        rank++;
    return rank;
}

static dnet_emu_result_t granting(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    if (DNET_GET(packet->header[0], PK_TYPE) == DNET_PRIM_RESEND) {
        bool shared = DNET_GET(packet->header[1], RS_SHARED);
        unsigned credits = (unsigned) DNET_GET(packet->header[1], RS_CREDITS);
        atomic_store(&crowd->granted[rank_of(packet)], shared ? credits : NOT_LIMITED);
        atomic_fetch_add(&crowd->grants, shared);
    }
    return below->send(via, dlid, packet);
}

static const dnet_emu_swif_ops_t granting_ops = {.name = "granting", .send = granting};

static int receive_of_all(dnet_job_rank_t *job, const uint8_t *data, size_t len)
{
    dnet_job_request_t r[SENDERS];
    uint8_t *in[SENDERS];
    bool did;
    int bad = 0;
    while (job->ep->inbox.match.unexpected_count < SENDERS)
        dnet_ep_progress(job->ep, &did);
    for (uint32_t s = 0; s < SENDERS; s++) {
        in[s] = calloc(1, len);
        dnet_job_irecv(job, &r[s], dnet_ep_envelope(1, s + 1, 1), DNET_MATCH_BITS, in[s], len);
    }
    for (uint32_t s = 1; s <= SENDERS; s++)
        wait_for(&crowd->stops[s], 1);
    for (uint32_t s = 0; s < SENDERS; s++) {
        bad += dnet_job_wait(job, &r[s]) != DNET_OK || memcmp(in[s], data, len) != 0;
        free(in[s]);
    }
    if (bad || atomic_load(&crowd->grants) == 0 || atomic_load(&crowd->exceeded) != 0) {
        fprintf(stderr, "%d messages bad; %u grants, %u pieces more than were granted\n", bad,
                atomic_load(&crowd->grants), atomic_load(&crowd->exceeded));
        bad++;
    }
    return bad;
}

/* Its network stays what it is, for another one would bring the packets of a piece one by one. */
static int send_to_one(dnet_job_rank_t *job, const uint8_t *data, size_t len)
{
    const dnet_ep_counters_t *c = &job->ep->page.counters;
    unsigned left = NOT_LIMITED;
    dnet_job_request_t r;
    unsigned pushed = 0;
    bool did;
    dnet_job_isend(job, &r, 0, dnet_ep_envelope(1, job->rank, 1), data, len, false);
    while (!r.done) {
        uint64_t grants = c->resend;
        dnet_ep_progress(job->ep, &did);
        unsigned before = pushed;
        if (job->ep->rndv.sending)
            pushed = job->ep->rndv.sending->stored;
        unsigned sent = pushed - before;
        if (c->resend != grants)
            left = atomic_load(&crowd->granted[job->rank]);
        if (left != NOT_LIMITED && sent > left)
            atomic_fetch_add(&crowd->exceeded, sent - left);
        if (left != NOT_LIMITED)
            left -= sent < left ? sent : left;
        atomic_store(&crowd->stops[job->rank], (unsigned) c->stop);
    }
    return r.status != DNET_OK;
}

static int one_of_many(dnet_job_rank_t *job, void *arg)
{
    const size_t len = (size_t) SENDERS_PIECES * PIECE;
    uint8_t *data = malloc(len);
    (void) arg;
    fill(data, len, 5);
    own = job->ep;
    own->oversubscribed = false;
    below = own->job.emu->swif;
    if (job->rank == 0)
        own->job.emu->swif = &granting_ops;
    dnet_job_barrier(job);
    int bad = job->rank == 0 ? receive_of_all(job, data, len) : send_to_one(job, data, len);
    if (own->tx.open_channels != 0) {
        fprintf(stderr, "rank %u: %u channels are left\n", job->rank, own->tx.open_channels);
        bad++;
    }
    free(data);
    return bad;
}

static void test_pushed_senders_keep_to_what_they_are_granted(void **state)
{
    (void) state;
    for (unsigned s = 1; s <= SENDERS; s++)
        atomic_store(&crowd->granted[s], NOT_LIMITED);
    setenv("DIMMNET_RING_BYTES", "2097152", 1); /* a ring for pieces, however few processors */
    assert_int_equal(dnet_job_run(SENDERS + 1, 60, one_of_many, NULL), 0);
    unsetenv("DIMMNET_RING_BYTES");
}

/* How many of the next messages, of 8 pieces each, would not be pushed until one is? */
static unsigned not_pushed(dnet_job_rank_t *job)
{
    dnet_op_t op = {.fetch_slot = 1, .peer = 1 - job->rank, .len = 8 * PIECE};
    unsigned n = 0;
    while (n < 10000 && !dnet_rndv_pushes(job->ep, &op))
        n++;
    return n;
}

/* Without the option: only where the kernel is slow, and while pieces are not, on their way in and
 * out together; else it is tried again after 4096 pieces, the next 8192 and so on. */
static int choices(dnet_job_rank_t *job, void *arg)
{
    enum { TRIED = DNET_TRIAL_BYTES, NEVER = 10000 };
    static const struct {
        dnet_kernel_copies_t copies;
        unsigned trial;
        int64_t sent_ns, taken_ns;
        unsigned not_pushed;
    } cases[] = {
        {DNET_KERNEL_FAST, TRIED, 2000, 2000, NEVER},
        {DNET_KERNEL_FAIR, TRIED, 2000, 2000, NEVER},
        {DNET_KERNEL_SLOW, 0, 0, 0, 0},
        {DNET_KERNEL_SLOW, TRIED, 2000, 2000, 0},
        {DNET_KERNEL_SLOW, TRIED, 5000, 2000, 512},
        {DNET_KERNEL_SLOW, TRIED, 2000, 5000, 1024},
        {DNET_KERNEL_SLOW, TRIED - 1, 5000, 5000, 0},
        {DNET_KERNEL_SLOW, TRIED, 2000, 2000, 0},
        {DNET_KERNEL_SLOW, TRIED, 5000, 5000, 512},
    };
    dnet_piece_times_t *t = &job->ep->rndv.pushed_times;
    int bad = 0;
    (void) arg;
    job->ep->oversubscribed = false;
    job->ep->options.rendezvous = DNET_RENDEZVOUS_AUTO;
    job->ep->rndv.kernel_times.pause = UINT64_MAX; /* it is not tried */
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        job->ep->eager_near.copies = cases[c].copies;
        t->trial = cases[c].trial;
        t->sent.ns = cases[c].sent_ns;
        t->taken.ns = cases[c].taken_ns;
        dnet_pace_anew(dnet_move_pace()); /* wherever this runs */
        unsigned n = not_pushed(job);
        if (n != cases[c].not_pushed)
            fprintf(stderr, "case %u: %u not pushed, not %u\n", c, n, cases[c].not_pushed);
        bad |= n != cases[c].not_pushed;
    }
    return bad;
}

static void test_pushed_only_where_that_is_faster(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 60, choices, NULL), 0);
}

/* A receiver whose own messages go by the kernel, for pieces were slow, is not pushed to. */
static int rested(dnet_job_rank_t *job, void *arg)
{
    enum { LEN = 8 * PIECE };
    uint8_t *data = calloc(1, LEN);
    uint64_t envelope = dnet_ep_envelope(2, 0, 1);
    dnet_piece_times_t *times = &job->ep->rndv.pushed_times;
    int bad = 0;
    (void) arg;
    job->ep->oversubscribed = false;
    for (unsigned rest = 0; rest < 2; rest++) {
        times->rest = job->rank == 1 && rest ? 3 * LEN : 0;
        times->trial = 0;
        if (job->rank == 0)
            bad += dnet_job_send(job, 1, envelope, data, LEN, false) != 0;
        else
            bad += dnet_job_recv(job, envelope, DNET_MATCH_BITS, data, LEN) != LEN;
        bad += job->rank == 0 && rest && times->trial != 0;
        bad += job->rank == 1 && times->rest != (rest ? 2 * LEN : 0);
        dnet_job_barrier(job);
    }
    if (bad)
        fprintf(stderr, "rank %u: %u bytes pushed, %llu to rest\n", job->rank, times->trial,
                (unsigned long long) times->rest);
    free(data);
    return bad;
}

static void test_pushed_not_to_who_found_that_slow(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 60, rested, NULL), 0);
}

#define AWAITED UINT64_C(1) /* of a context */

/* Messages with and without the bit that says that they are awaited, before and after pieces were
 * found slow: how many go by rendezvous?  Every other one is there before its receive. */
static int awaited(dnet_job_rank_t *job, void *arg)
{
    enum { MESSAGES = 8 };
    static const struct {
        uint16_t context;
        size_t len;
        int64_t taken_ns;
        unsigned rendezvous;
    } cases[] = {
        {2, 4 * PIECE, 0, MESSAGES},
        {2 | AWAITED, 4 * PIECE, 0, 0},
        {2 | AWAITED, 4 * PIECE + 7, 2000, 0},
        {2 | AWAITED, 8 * PIECE, 2000, 0},
        {2 | AWAITED, 8 * PIECE + 1, 2000, MESSAGES}, /* more than a quarter of the ring */
        {2 | AWAITED, 4 * PIECE, 8000, MESSAGES},
    };
    uint8_t *out = malloc(9 * PIECE), *in = malloc(9 * PIECE);
    int bad = 0;
    (void) arg;
    fill(out, 9 * PIECE, 3);
    job->ep->options.rendezvous = DNET_RENDEZVOUS_AUTO;
    job->ep->oversubscribed = false;
    job->ep->eager_near.copies = DNET_KERNEL_SLOW;
    job->ep->rndv.kernel_times.pause = UINT64_MAX; /* it is not tried */
    job->ep->awaited = dnet_ep_envelope(AWAITED, 0, 0);
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        const size_t len = cases[c].len;
        uint64_t before = job->ep->page.counters.rendezvous;
        job->ep->rndv.pushed_times = (dnet_piece_times_t){.rest = 1u << 30};
        dnet_piece_times_t *t = &job->ep->rndv.at_once_times;
        *t = (dnet_piece_times_t){.trial = cases[c].taken_ns ? DNET_TRIAL_BYTES : 0};
        if (job->rank == 0) { /* it learns no more */
            t->sent = (dnet_usual_time_t){1000, UINT32_MAX};
            t->taken = (dnet_usual_time_t){cases[c].taken_ns, UINT32_MAX};
        }
        for (unsigned m = 0; m < MESSAGES; m++) {
            uint64_t envelope = dnet_ep_envelope(cases[c].context, 0, m);
            bool did;
            dnet_job_barrier(job);
            dnet_pace_anew(dnet_move_pace()); /* wherever this runs */
            if (job->rank == 0) {
                bad += dnet_job_send(job, 1, envelope, out, len, false) != 0;
                continue;
            }
            while (m % 2 && job->ep->inbox.match.unexpected_count == 0)
                dnet_ep_progress(job->ep, &did);
            memset(in, 0, len);
            bad += dnet_job_recv(job, envelope, DNET_MATCH_BITS, in, len) != (long) len ||
                   memcmp(in, out, len) != 0;
        }
        unsigned rendezvous = (unsigned) (job->ep->page.counters.rendezvous - before);
        if (bad || (job->rank == 0 && rendezvous != cases[c].rendezvous)) {
            fprintf(stderr, "case %u: %u by rendezvous, not %u\n", c, rendezvous,
                    cases[c].rendezvous);
            bad++;
        }
        /* Has the receiver learnt from those that it copied to where they belong? */
        unsigned timed = MESSAGES / 2 * (unsigned) (len / PIECE / 2);
        if (job->rank == 1 && cases[c].rendezvous == 0 && cases[c].taken_ns)
            bad += t->taken.counted != (timed < 8 ? timed : 8);
    }
    free(out);
    free(in);
    return bad;
}

static void test_pushed_awaited_messages_go_at_once(void **state)
{
    (void) state;
    setenv("DIMMNET_RING_BYTES", "2097152", 1); /* a ring for pieces, however few processors */
    assert_int_equal(dnet_job_run(2, 60, awaited, NULL), 0);
    unsetenv("DIMMNET_RING_BYTES");
}

/* Messages one after the other, each answered, or not so that they are in a row: how many go by
 * rendezvous?  A message whose receive was there lets the next 15 go at once. */
static int guessed(dnet_job_rank_t *job, void *arg)
{
    enum { LEN = 4 * PIECE, TRIED = DNET_TRIAL_BYTES };
    static const struct {
        bool posted, answered;
        unsigned trial;
        int64_t taken_ns;
        unsigned messages, rendezvous;
    } cases[] = {
        {true, true, TRIED, 1000, 32, 2},   {true, false, TRIED, 1000, 32, 32},
        {true, true, TRIED, 8000, 16, 16},  {true, true, 0, 1000, 8, 8}, /* a trial */
        {false, true, TRIED, 1000, 32, 32},
    };
    uint8_t *data = calloc(1, LEN), *in = malloc(LEN);
    uint64_t envelope = dnet_ep_envelope(2, 0, 1), answer = dnet_ep_envelope(2, 1, 2);
    int bad = 0;
    (void) arg;
    job->ep->options.rendezvous = DNET_RENDEZVOUS_AUTO;
    job->ep->oversubscribed = false;
    job->ep->eager_near.copies = DNET_KERNEL_SLOW;
    job->ep->rndv.kernel_times.pause = UINT64_MAX; /* it is not tried */
    for (unsigned c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
        dnet_rndv_t *rndv = &job->ep->rndv;
        uint64_t before = job->ep->page.counters.rendezvous;
        rndv->guesses = 0;
        /* They learn no more. */
        rndv->pushed_times = (dnet_piece_times_t){
            .trial = cases[c].trial,
            .sent = {1000, UINT32_MAX},
            .taken = {cases[c].taken_ns, UINT32_MAX},
        };
        rndv->at_once_times = (dnet_piece_times_t){
            .trial = TRIED,
            .sent = {1000, UINT32_MAX},
            .taken = {1000, UINT32_MAX},
        };
        for (unsigned m = 0; m < cases[c].messages; m++) {
            dnet_job_request_t r;
            bool did;
            fill(data, LEN, (uint8_t) (c + m));
            if (job->rank == 1 && cases[c].posted)
                dnet_job_irecv(job, &r, envelope, DNET_MATCH_BITS, in, LEN);
            dnet_job_barrier(job);
            if (job->rank == 0) {
                bad += dnet_job_send(job, 1, envelope, data, LEN, false) != 0;
                if (cases[c].answered)
                    bad += dnet_job_recv(job, answer, DNET_MATCH_BITS, in, 8) != 8;
                continue;
            }
            while (!cases[c].posted && job->ep->inbox.match.unexpected_count == 0)
                dnet_ep_progress(job->ep, &did);
            if (!cases[c].posted)
                dnet_job_irecv(job, &r, envelope, DNET_MATCH_BITS, in, LEN);
            bad += dnet_job_wait(job, &r) != DNET_OK || memcmp(in, data, LEN) != 0;
            if (cases[c].answered)
                bad += dnet_job_send(job, 0, answer, data, 8, false) != 0;
        }
        unsigned rendezvous = (unsigned) (job->ep->page.counters.rendezvous - before);
        if (bad || (job->rank == 0 && rendezvous != cases[c].rendezvous)) {
            fprintf(stderr, "case %u: %u by rendezvous, not %u\n", c, rendezvous,
                    cases[c].rendezvous);
            bad++;
        }
    }
    free(data);
    free(in);
    return bad;
}

static void test_pushed_message_alone_goes_at_once_when_the_last_was_awaited(void **state)
{
    (void) state;
    setenv("DIMMNET_RING_BYTES", "2097152", 1); /* a ring for pieces, however few processors */
    assert_int_equal(dnet_job_run(2, 60, guessed, NULL), 0);
    unsetenv("DIMMNET_RING_BYTES");
}

/* While pieces are fast, 64 messages go by the kernel, and then it is known how long that takes, to
 * the receiver, which tells it, and to the sender where that copies a part. */
static int measured(dnet_job_rank_t *job, void *arg)
{
    enum { LEN = 64 * PIECE, MESSAGES = 72 };
    uint8_t *data = calloc(1, LEN);
    uint64_t envelope = dnet_ep_envelope(2, 0, 1);
    dnet_rndv_t *rndv = &job->ep->rndv;
    int bad = 0;
    (void) arg;
    job->ep->options.rendezvous = DNET_RENDEZVOUS_AUTO;
    job->ep->oversubscribed = false;
    job->ep->eager_near.copies = DNET_KERNEL_SLOW;
    rndv->pushed_times = (dnet_piece_times_t){
        .trial = DNET_TRIAL_BYTES, .sent = {1, UINT32_MAX}, .taken = {1, UINT32_MAX}};
    for (unsigned m = 0; m < MESSAGES; m++) {
        dnet_pace_anew(dnet_move_pace()); /* wherever this runs */
        if (job->rank == 0)
            bad += dnet_job_send(job, 1, envelope, data, LEN, false) != 0;
        else
            bad += dnet_job_recv(job, envelope, DNET_MATCH_BITS, data, LEN) != LEN;
    }
    const dnet_kernel_times_t *k = &rndv->kernel_times;
    bad += job->rank == 0 && (k->told.ns == 0 || k->known_ns == 0 || k->pause == 0);
    bad += job->rank == 1 && k->own.ns == 0;
    if (bad)
        fprintf(stderr, "rank %u: own %lld, told %lld, known %lld ns, pause %llu\n", job->rank,
                (long long) k->own.ns, (long long) k->told.ns, (long long) k->known_ns,
                (unsigned long long) k->pause);
    free(data);
    return bad;
}

static void test_pushed_where_the_kernel_has_been_measured(void **state)
{
    (void) state;
    setenv("DIMMNET_RING_BYTES", "2097152", 1); /* a ring for pieces, however few processors */
    assert_int_equal(dnet_job_run(2, 60, measured, NULL), 0);
    unsetenv("DIMMNET_RING_BYTES");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pushed_receiver_alone_finishes_while_the_sender_computes),
        cmocka_unit_test(test_pushed_sender_alone_finishes),
        cmocka_unit_test(test_pushed_both_move_each_piece_once),
        cmocka_unit_test(test_pushed_sender_that_stops_to_push_delays_nobody),
        cmocka_unit_test(test_pushed_sender_killed_between_pieces_is_an_error),
        cmocka_unit_test(test_pushed_cursor_turned_back_is_an_error),
        cmocka_unit_test(test_pushed_cursor_held_down_starts_no_more_than_there_are),
        cmocka_unit_test(test_pushed_messages_both_ways_are_whole),
        cmocka_unit_test(test_pushed_message_beside_a_stopped_one_goes),
        cmocka_unit_test(test_pushed_senders_keep_to_what_they_are_granted),
        cmocka_unit_test(test_pushed_only_where_that_is_faster),
        cmocka_unit_test(test_pushed_not_to_who_found_that_slow),
        cmocka_unit_test(test_pushed_awaited_messages_go_at_once),
        cmocka_unit_test(test_pushed_message_alone_goes_at_once_when_the_last_was_awaited),
        cmocka_unit_test(test_pushed_where_the_kernel_has_been_measured),
    };
    setenv("DIMMNET_RENDEZVOUS", "pushed", 1);
    stage = mmap(NULL, sizeof(*stage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    crowd = mmap(NULL, sizeof(*crowd), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return cmocka_run_group_tests_name("endpoint_pushed", tests, NULL, NULL);
}
