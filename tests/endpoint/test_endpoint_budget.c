/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The store for unexpected messages has a fixed budget; MPI's rules hold all the same: whatever
 * matching send and receive have both been started, one of them completes, and of all messages that
 * fit a receive the oldest is taken (docs/protocol.md 6.1).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "job.h"

#define BUDGET 65536u
/* What may come on top: a ring of messages that are under way when the budget is used up (default
 * sizes), and the entries and block heads for them. */
#define OVERSHOOT (262144u + 262144u + 1024u * 256u)

enum { CONTEXT = 1, BULK = 1, LAST = 5, OTHER = 6 };

typedef struct {
    dnet_job_request_t r;
    uint32_t number, rank;
} send_t;

static int send_numbered(dnet_job_rank_t *job, send_t *s, uint32_t to, uint32_t tag,
                         uint32_t number)
{
    s->number = number;
    s->rank = job->rank;
    dnet_status_t status = dnet_job_isend(job, &s->r, to, dnet_ep_envelope(CONTEXT, job->rank, tag),
                                          &s->number, 8, false);
    return status == DNET_OK || status == DNET_IN_PROGRESS ? 0 : 1;
}

static int wait_all(dnet_job_rank_t *job, const send_t *sends, size_t count)
{
    int bad = 0;
    for (size_t i = 0; i < count && !bad; i++)
        bad = dnet_job_wait(job, &sends[i].r) != DNET_OK;
    return bad;
}

static int expect(dnet_job_rank_t *job, uint64_t mask, uint32_t from, uint32_t tag, uint32_t number)
{
    uint32_t got[2] = {UINT32_MAX, UINT32_MAX};
    long len = dnet_job_recv(job, dnet_ep_envelope(CONTEXT, from, tag), mask, got, sizeof(got));
    if (len == 8 && got[0] == number && got[1] == from)
        return 0;
    fprintf(stderr, "tag %u: %ld bytes, number %u of rank %u, expected number %u of rank %u\n", tag,
            len, got[0], got[1], number, from);
    return 1;
}

static int within_budget(dnet_job_rank_t *job)
{
    uint64_t most = dnet_ep_counters(job->ep)->unexpected_bytes_max;
    if (most <= BUDGET + OVERSHOOT)
        return 0;
    fprintf(stderr, "%" PRIu64 " bytes of unexpected messages were kept, budget %u\n", most,
            BUDGET);
    return 1;
}

typedef struct {
    uint32_t messages; /* of each sender, before the last one */
    uint64_t mask;     /* of the receive for the last one */
    bool early;        /* that receive is posted first */
    bool probe;        /* it is probed for first */
    bool matched;      /* and taken by mprobe */
} flood_t;

static int flood_sender(dnet_job_rank_t *job, const flood_t *f)
{
    send_t *sends = malloc((f->messages + 1) * sizeof(*sends));
    int bad = !sends;
    for (uint32_t i = 0; i < f->messages && !bad; i++)
        bad = send_numbered(job, &sends[i], 0, BULK, i);
    if (!bad)
        bad = send_numbered(job, &sends[f->messages], 0, LAST, f->messages);
    if (!bad)
        bad = wait_all(job, sends, f->messages + 1);
    free(sends);
    return bad;
}

static int probe_last(dnet_job_rank_t *job, const flood_t *f, uint32_t rank)
{
    uint64_t envelope = dnet_ep_envelope(CONTEXT, rank, LAST);
    dnet_ep_message_t *message;
    dnet_ep_probe_t found;
    dnet_job_request_t r = {.req.complete = dnet_job_complete};
    bool did;
    while ((f->matched ? dnet_ep_mprobe(job->ep, envelope, f->mask, &found, &message)
                       : dnet_ep_probe(job->ep, envelope, f->mask, &found)) != DNET_OK)
        dnet_ep_progress(job->ep, &did);
    uint32_t from = dnet_ep_envelope_rank(found.envelope);
    if (found.len_bytes != 8 || dnet_ep_envelope_tag(found.envelope) != LAST)
        return 1;
    if (!f->matched)
        return expect(job, DNET_MATCH_BITS, from, LAST, f->messages);
    uint32_t got[2];
    dnet_job_started(&r, dnet_ep_mrecv(job->ep, message, got, sizeof(got), &r.req));
    return dnet_job_wait(job, &r) != DNET_OK || got[0] != f->messages || got[1] != from;
}

static int flood_receiver(dnet_job_rank_t *job, const flood_t *f)
{
    bool any = f->mask != DNET_MATCH_BITS;
    int bad = 0;
    for (uint32_t s = 1; s < job->size && !bad; s++) {
        uint32_t got[2] = {0};
        if (f->probe)
            bad = probe_last(job, f, any ? 0 : s);
        else
            bad = dnet_job_recv(job, dnet_ep_envelope(CONTEXT, any ? 0 : s, LAST), f->mask, got,
                                8) != 8 ||
                  got[0] != f->messages;
    }
    if (bad)
        fprintf(stderr, "a last message is wrong\n");
    bad |= within_budget(job);
    for (uint32_t i = 0; i < f->messages && !bad; i++)
        for (uint32_t s = 1; s < job->size && !bad; s++)
            bad = expect(job, DNET_MATCH_BITS, s, BULK, i);
    return bad || within_budget(job);
}

static int flood(dnet_job_rank_t *job, void *arg)
{
    const flood_t *f = arg;
    if (job->rank == 0 && !f->early)
        dnet_job_settle(job); /* let the flood come first */
    int bad = job->rank == 0 ? flood_receiver(job, f) : flood_sender(job, f);
    dnet_job_barrier(job);
    return bad;
}

static void run_flood(uint32_t ranks, flood_t f)
{
    assert_int_equal(dnet_job_run(ranks, 100, flood, &f), 0);
}

static void test_budget_million_unexpected_then_the_last(void **state)
{
    (void) state;
    run_flood(2, (flood_t){1000000, DNET_MATCH_BITS, false, false, false});
}

static void test_budget_receive_of_the_last_is_posted_first(void **state)
{
    (void) state;
    run_flood(2, (flood_t){100000, DNET_MATCH_BITS, true, false, false});
}

static void test_budget_probe_finds_the_last(void **state)
{
    (void) state;
    run_flood(2, (flood_t){100000, DNET_MATCH_BITS, false, true, false});
    run_flood(2, (flood_t){100000, DNET_MATCH_ANY_SOURCE, false, true, true});
}

static void test_budget_many_senders_any_source(void **state)
{
    (void) state;
    run_flood(17, (flood_t){5000, DNET_MATCH_ANY_SOURCE, false, false, false});
    run_flood(9, (flood_t){5000, DNET_MATCH_ANY_SOURCE, true, true, false});
}

/* Rank 1 floods rank 0 and is held back; what rank 2 has to say is let in. */
/* The receives of rank 2's messages are posted before it sends: a message that found none would
 * need the store, which is used up. */
static int only_the_flooder(dnet_job_rank_t *job, void *arg)
{
    enum { MANY = 3000, FEW = 8 };
    static send_t sends[MANY];
    uint32_t got[FEW][2];
    dnet_job_request_t receives[FEW];
    const dnet_ep_counters_t *c = dnet_ep_counters(job->ep);
    int bad = 0;
    (void) arg;
    dnet_job_barrier(job);
    for (uint32_t i = 0; job->rank == 1 && i < MANY; i++)
        bad |= send_numbered(job, &sends[i], 0, BULK, i);
    for (bool did; job->rank == 1 && c->held == 0;)
        dnet_ep_progress(job->ep, &did);
    for (uint32_t i = 0; job->rank == 0 && i < FEW; i++)
        dnet_job_irecv(job, &receives[i], dnet_ep_envelope(CONTEXT, 2, OTHER), DNET_MATCH_BITS,
                       got[i], sizeof(got[i]));
    dnet_job_barrier(job);
    for (uint32_t i = 0; job->rank == 2 && i < FEW; i++)
        bad |= send_numbered(job, &sends[i], 0, OTHER, i) || wait_all(job, &sends[i], 1);
    bad |= (job->rank == 1) != (c->held > 0);
    if (bad)
        fprintf(stderr, "rank %u was held back %" PRIu64 " times\n", job->rank, c->held);
    for (uint32_t i = 0; job->rank == 0 && i < FEW; i++)
        bad |= dnet_job_wait(job, &receives[i]) != DNET_OK || got[i][0] != i || got[i][1] != 2;
    for (uint32_t i = 0; job->rank == 0 && i < MANY; i++)
        bad |= expect(job, DNET_MATCH_BITS, 1, BULK, i);
    bad |= job->rank == 1 && wait_all(job, sends, MANY);
    dnet_job_barrier(job);
    return bad;
}

static void test_budget_only_the_flooder_is_held(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(3, 100, only_the_flooder, NULL), 0);
}

/* ---- probes for what is held back ---- */

enum { FLOOD = 3000, NOTHING = 7 };

static uint64_t kept(const send_t *sends)
{
    uint64_t n = 0;
    for (uint32_t i = 0; i < FLOOD; i++)
        n += !sends[i].r.done;
    return n;
}

/* Rank 1 floods rank 0, is held back, and has offered all that it keeps. */
static int flood_until_held(dnet_job_rank_t *job, send_t *sends)
{
    const dnet_ep_counters_t *c = dnet_ep_counters(job->ep);
    int bad = 0;
    bool did;
    for (uint32_t i = 0; job->rank == 1 && i < FLOOD; i++)
        bad |= send_numbered(job, &sends[i], 0, BULK, i);
    while (job->rank == 1 && (c->held == 0 || c->offered < kept(sends)))
        dnet_ep_progress(job->ep, &did);
    dnet_job_settle(job);
    dnet_job_barrier(job);
    return bad;
}

static int drain_flood(dnet_job_rank_t *job, const send_t *sends)
{
    int bad = 0;
    for (uint32_t i = 0; job->rank == 0 && i < FLOOD; i++)
        bad |= expect(job, DNET_MATCH_BITS, 1, BULK, i);
    bad |= job->rank == 1 && wait_all(job, sends, FLOOD);
    dnet_job_barrier(job);
    return bad;
}

static dnet_status_t probe_tag(dnet_job_rank_t *job, uint32_t tag, dnet_ep_probe_t *found)
{
    return dnet_ep_probe(job->ep, dnet_ep_envelope(CONTEXT, 1, tag), DNET_MATCH_BITS, found);
}

/* Probe until a message with tag OTHER is found.  @return 1: it is not so long */
static int find_other(dnet_job_rank_t *job, size_t len)
{
    dnet_ep_probe_t found;
    bool did;
    while (probe_tag(job, OTHER, &found) != DNET_OK)
        dnet_ep_progress(job->ep, &did);
    if (found.len_bytes == len)
        return 0;
    fprintf(stderr, "a probe finds %zu bytes instead of %zu\n", (size_t) found.len_bytes, len);
    return 1;
}

static int receive_other(dnet_job_rank_t *job, long len)
{
    uint8_t got[32];
    return dnet_job_recv(job, dnet_ep_envelope(CONTEXT, 1, OTHER), DNET_MATCH_BITS, got,
                         sizeof(got)) != len;
}

/* A probe is behind the receives that are posted, and a receive that is posted after one takes what
 * it has found. */
static int probe_behind_receive(dnet_job_rank_t *job, void *arg)
{
    static send_t sends[FLOOD];
    static const uint8_t data[16];
    uint8_t got[32];
    dnet_job_request_t s[2], r;
    (void) arg;
    int bad = flood_until_held(job, sends);
    for (unsigned i = 0; job->rank == 1 && i < 2; i++)
        dnet_job_isend(job, &s[i], 0, dnet_ep_envelope(CONTEXT, 1, OTHER), data, 8 * (i + 1),
                       false);
    if (job->rank == 0) {
        bad |= find_other(job, 8) || find_other(job, 8);
        dnet_job_irecv(job, &r, dnet_ep_envelope(CONTEXT, 1, OTHER), DNET_MATCH_BITS, got, 32);
        bad |= find_other(job, 16);
        bad |= dnet_job_wait(job, &r) != DNET_OK || r.req.len_bytes != 8;
        bad |= receive_other(job, 16);
    }
    bad |= drain_flood(job, sends);
    for (unsigned i = 0; job->rank == 1 && i < 2; i++)
        bad |= dnet_job_wait(job, &s[i]) != DNET_OK;
    return bad;
}

static void test_budget_probe_is_behind_the_receives(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 30, probe_behind_receive, NULL), 0);
}

/* A message is offered while the sender is asked for a receive that was posted after the probe. */
static int probe_before_receive(dnet_job_rank_t *job, void *arg)
{
    static send_t sends[FLOOD];
    static const uint8_t data[16];
    const dnet_ep_counters_t *c = dnet_ep_counters(job->ep);
    dnet_ep_probe_t found;
    dnet_job_request_t s[2], r;
    bool did;
    (void) arg;
    int bad = flood_until_held(job, sends);
    if (job->rank == 0) { /* the second is asked for when the first has been answered */
        bad |= probe_tag(job, OTHER, &found) == DNET_OK;
        bad |= probe_tag(job, NOTHING, &found) == DNET_OK;
        while (c->pulls < 2)
            dnet_ep_progress(job->ep, &did);
    }
    dnet_job_barrier(job);
    if (job->rank == 0)
        dnet_job_irecv(job, &r, dnet_ep_envelope(CONTEXT, 1, LAST), DNET_MATCH_BITS, NULL, 0);
    dnet_job_stand(job);
    for (unsigned i = 0; i < 2; i++) {
        if (job->rank == 1)
            dnet_job_isend(job, &s[i], 0, dnet_ep_envelope(CONTEXT, 1, OTHER), data, 8 * (i + 1),
                           false);
        dnet_job_stand(job);
        dnet_job_barrier(job);
        dnet_job_settle(job);
        dnet_job_barrier(job);
    }
    if (job->rank == 0)
        bad |= find_other(job, 8) || receive_other(job, 8) || receive_other(job, 16) ||
               !dnet_ep_cancel_recv(job->ep, &r.req);
    bad |= drain_flood(job, sends);
    for (unsigned i = 0; job->rank == 1 && i < 2; i++)
        bad |= dnet_job_wait(job, &s[i]) != DNET_OK;
    return bad;
}

static void test_budget_probe_is_before_later_receives(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 30, probe_before_receive, NULL), 0);
}

/* ---- any receives in any order ---- */

/* Every process sends COUNT messages of random tag, length and mode to every process, and receives
 * all that come to it, with up to OPEN random receives at once, probing, claiming and cancelling
 * now and then.  Which message a receive may get is checked against MPI's rule: when receive r gets
 * message m, every older message of that sender that fits r belongs to a receive posted before r.
 */
enum { COUNT = 300, TAGS = 4, OPEN = 8, LONGEST = 20000 };

typedef struct {
    uint32_t number, rank;
} stamp_t;

typedef struct {
    dnet_job_request_t r;
    uint8_t *buf;
    uint64_t envelope, mask;
    uint32_t order; /* of posting; 0: not in use */
} open_t;

typedef struct {
    uint32_t tag, len;
    bool sync;
    uint32_t by;     /* order of the receive that got it; 0: none yet */
    uint32_t before; /* that order must be below this */
} plan_t;

typedef struct {
    dnet_job_rank_t *job;
    uint32_t random;
    uint32_t posted, received;
    plan_t (*plan)[COUNT]; /* by sender */
    open_t open[OPEN + 1];
    int bad;
} random_t;

static uint32_t next_random(uint32_t *x)
{
    *x ^= *x << 13;
    *x ^= *x >> 17;
    *x ^= *x << 5;
    return *x;
}

/* The same on both sides. */
static void make_plan(plan_t *plan, uint32_t from, uint32_t to)
{
    static const uint32_t lengths[] = {8, 8, 40, 100, 600, 5000, 7000, 9000, LONGEST};
    uint32_t x = 1000003u * (from + 1) + 7919u * (to + 1);
    for (unsigned i = 0; i < COUNT; i++)
        plan[i] = (plan_t){
            .tag = next_random(&x) % TAGS,
            .len = lengths[next_random(&x) % (sizeof(lengths) / sizeof(lengths[0]))],
            .sync = next_random(&x) % 4 == 0,
            .before = UINT32_MAX,
        };
}

static void check_received(random_t *t, const dnet_ep_request_t *req, const uint8_t *buf,
                           uint64_t envelope, uint64_t mask, uint32_t order)
{
    stamp_t stamp;
    memcpy(&stamp, buf, sizeof(stamp));
    uint32_t from = dnet_ep_envelope_rank(req->envelope);
    if (stamp.rank != from || stamp.number >= COUNT) {
        fprintf(stderr, "a message of rank %u is stamped %u of rank %u\n", from, stamp.number,
                stamp.rank);
        t->bad = 1;
        return;
    }
    plan_t *plan = t->plan[from], *m = &plan[stamp.number];
    bool right = !m->by && order < m->before && req->len_bytes == m->len &&
                 dnet_match_fits(req->envelope, envelope, mask) &&
                 dnet_ep_envelope_tag(req->envelope) == m->tag;
    m->by = order;
    for (plan_t *older = plan; older < m; older++) {
        if (!dnet_match_fits(dnet_ep_envelope(CONTEXT, from, older->tag), envelope, mask))
            continue;
        if (older->by)
            right &= older->by < order;
        else if (order < older->before)
            older->before = order;
    }
    if (!right)
        fprintf(stderr,
                "rank %u: message %u of rank %u, tag %u, length %zu of %u, went to receive %u\n",
                t->job->rank, stamp.number, from, m->tag, req->len_bytes, m->len, order);
    t->bad |= !right;
    t->received++;
}

static void wanted(random_t *t, uint64_t *envelope_p, uint64_t *mask_p)
{
    uint32_t x = next_random(&t->random);
    *envelope_p = dnet_ep_envelope(CONTEXT, x % t->job->size, (x >> 8) % TAGS);
    *mask_p = DNET_MATCH_BITS;
    if ((x >> 16) % 3 == 0)
        *mask_p &= DNET_MATCH_ANY_SOURCE;
    if ((x >> 20) % 3 == 0)
        *mask_p &= DNET_MATCH_ANY_TAG;
}

static void collect(random_t *t)
{
    for (unsigned i = 0; i <= OPEN; i++) {
        open_t *o = &t->open[i];
        if (o->order && o->r.done) {
            t->bad |= o->r.status != DNET_OK;
            check_received(t, &o->r.req, o->buf, o->envelope, o->mask, o->order);
            o->order = 0;
        }
    }
}

/* Start receive number i, if it is not under way.  The last one takes anything, so that there is
 * always one that a message can go to. */
static void start_receive(random_t *t, unsigned i)
{
    open_t *o = &t->open[i];
    if (o->order)
        return;
    wanted(t, &o->envelope, &o->mask);
    if (i == OPEN)
        o->mask = DNET_MATCH_ANY_SOURCE & DNET_MATCH_ANY_TAG;
    o->order = ++t->posted;
    dnet_job_irecv(t->job, &o->r, o->envelope, o->mask, o->buf, LONGEST);
}

/* Probe, and receive what is found; a claimed message is as good as received when it is claimed. */
static void probe_some(random_t *t)
{
    open_t o = {.buf = malloc(LONGEST), .r.req.complete = dnet_job_complete};
    dnet_ep_message_t *message;
    dnet_ep_probe_t found;
    wanted(t, &o.envelope, &o.mask);
    if (t->random & 64) {
        (void) dnet_ep_probe(t->job->ep, o.envelope, o.mask, &found);
    } else if (dnet_ep_mprobe(t->job->ep, o.envelope, o.mask, &found, &message) == DNET_OK) {
        o.order = ++t->posted;
        dnet_job_started(&o.r, dnet_ep_mrecv(t->job->ep, message, o.buf, LONGEST, &o.r.req));
        if (dnet_job_wait(t->job, &o.r) != DNET_OK || o.r.req.len_bytes != found.len_bytes ||
            o.r.req.envelope != found.envelope)
            t->bad = 1;
        check_received(t, &o.r.req, o.buf, o.envelope, o.mask, o.order);
    }
    free(o.buf);
}

static void cancel(random_t *t, unsigned i)
{
    open_t *o = &t->open[i];
    if (o->order && !o->r.done && dnet_ep_cancel_recv(t->job->ep, &o->r.req))
        o->order = 0;
}

static int random_receives(random_t *t)
{
    uint32_t total = COUNT * t->job->size;
    bool did;
    while (t->received < total && !t->bad) {
        start_receive(t, next_random(&t->random) % (OPEN + 1));
        if (t->random % 5 == 0)
            probe_some(t);
        if (t->random % 7 == 0)
            cancel(t, (t->random >> 8) % OPEN);
        if (t->random % 16 == 0)
            start_receive(t, OPEN);
        for (unsigned i = 0; i < t->random % 40; i++)
            dnet_ep_poll(t->job->ep, &did); /* what it waits for may be a receive it posts next */
        collect(t);
    }
    for (unsigned i = 0; i <= OPEN; i++)
        cancel(t, i);
    return t->bad;
}

static int random_traffic(dnet_job_rank_t *job, void *arg)
{
    static plan_t mine[64][COUNT], theirs[64][COUNT];
    random_t t = {.job = job, .random = 77 + job->rank, .plan = theirs};
    send_t *sends = calloc((size_t) COUNT * job->size, sizeof(*sends));
    uint8_t *data = calloc((size_t) COUNT * job->size, LONGEST);
    if (*(bool *) arg)
        dnet_ep_set_source(job->ep, NULL, NULL);
    for (unsigned i = 0; i <= OPEN; i++)
        t.open[i].buf = malloc(LONGEST);
    for (uint32_t r = 0; r < job->size; r++) {
        make_plan(mine[r], job->rank, r);
        make_plan(theirs[r], r, job->rank);
    }
    for (uint32_t i = 0, k = 0; i < COUNT; i++)
        for (uint32_t to = 0; to < job->size; to++, k++) {
            const plan_t *m = &mine[to][i];
            stamp_t stamp = {i, job->rank};
            memcpy(data + (size_t) k * LONGEST, &stamp, sizeof(stamp));
            dnet_job_isend(job, &sends[k].r, to, dnet_ep_envelope(CONTEXT, job->rank, m->tag),
                           data + (size_t) k * LONGEST, m->len, m->sync);
        }
    int bad = random_receives(&t);
    if (!bad)
        bad = wait_all(job, sends, (size_t) COUNT * job->size);
    dnet_job_barrier(job);
    for (unsigned i = 0; i <= OPEN; i++)
        free(t.open[i].buf);
    free(sends);
    free(data);
    return bad;
}

static void test_budget_random_receives_keep_the_order(void **state)
{
    (void) state;
    static const char *const profiles[] = {"extended", "prototype"};
    setenv("DIMMNET_UNEXPECTED_BYTES", "4096", 1);
    for (unsigned i = 0; i < 4; i++) {
        bool nameless = i & 1;
        setenv("DIMMNET_PROFILE", profiles[i / 2], 1);
        assert_int_equal(dnet_job_run(4, 100, random_traffic, &nameless), 0);
    }
}

/* Held, offered, granted and let go, over and over, while stops and resends get lost, doubled and
 * late. */
static int flood_again_and_again(dnet_job_rank_t *job, void *arg)
{
    int bad = 0;
    for (unsigned round = 0; round < 12 && !bad; round++)
        bad = flood(job, arg);
    return bad;
}

static void test_budget_lost_doubled_and_late_words_are_survived(void **state)
{
    (void) state;
    flood_t f = {60, DNET_MATCH_BITS, true, false, false};
    bool nameless = false;
    setenv("DIMMNET_UNEXPECTED_BYTES", "4096", 1);
    setenv("DIMMNET_PROFILE", "extended", 1);
    setenv("DIMMNET_FAULTS", "100", 1);
    assert_int_equal(dnet_job_run(4, 60, flood_again_and_again, &f), 0);
    setenv("DIMMNET_FAULTS", "20", 1);
    assert_int_equal(dnet_job_run(4, 60, random_traffic, &nameless), 0);
    unsetenv("DIMMNET_FAULTS");
}

/* A receiver that holds a sender back is busy until that one has heard that it is free: before, it
 * left, and the answer could be stopped by a process that looked at nothing any more. */
static void test_budget_who_holds_is_busy(void **state)
{
    enum { HOLDS, HELD, BOTH, BYTES = 2000, MESSAGES_HELD = 8, LOOKS = 1000 };
    static char buf[BYTES];
    dnet_ep_address_t address[BOTH];
    dnet_ep_t *ep[BOTH];
    bool did;
    (void) state;
    setenv("DIMMNET_UNEXPECTED_BYTES", "4096", 1);
    for (uint32_t rank = 0; rank < BOTH; rank++) {
        dnet_ep_config_t config = {.rank = rank, .size = BOTH, .job = (uint64_t) getpid()};
        assert_int_equal(dnet_ep_open(&config, &ep[rank]), DNET_OK);
        dnet_ep_address(ep[rank], &address[rank]);
    }
    unsetenv("DIMMNET_UNEXPECTED_BYTES");
    for (uint32_t rank = 0; rank < BOTH; rank++)
        assert_int_equal(dnet_ep_connect(ep[rank], address), DNET_OK);
    assert_false(dnet_ep_busy(ep[HOLDS]));
    for (int i = 0; i < MESSAGES_HELD; i++) {
        assert_true(dnet_ep_send(ep[HELD], HOLDS, dnet_ep_envelope(1, HELD, 1), buf, BYTES, false,
                                 NULL) <= DNET_IN_PROGRESS);
        assert_int_equal(dnet_ep_poll(ep[HOLDS], &did), DNET_OK);
    }
    assert_true(dnet_ep_busy(ep[HOLDS]));
    dnet_ep_finish(ep[HOLDS]);
    for (int i = 0; i < LOOKS; i++)
        assert_int_equal(dnet_ep_poll(ep[i % BOTH], &did), DNET_OK);
    assert_false(dnet_ep_busy(ep[HOLDS]));
    assert_false(dnet_ep_busy(ep[HELD]));
    for (uint32_t rank = 0; rank < BOTH; rank++)
        dnet_ep_close(ep[rank]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_budget_million_unexpected_then_the_last),
        cmocka_unit_test(test_budget_receive_of_the_last_is_posted_first),
        cmocka_unit_test(test_budget_probe_finds_the_last),
        cmocka_unit_test(test_budget_many_senders_any_source),
        cmocka_unit_test(test_budget_only_the_flooder_is_held),
        cmocka_unit_test(test_budget_probe_is_behind_the_receives),
        cmocka_unit_test(test_budget_probe_is_before_later_receives),
        cmocka_unit_test(test_budget_random_receives_keep_the_order),
        cmocka_unit_test(test_budget_lost_doubled_and_late_words_are_survived),
        cmocka_unit_test(test_budget_who_holds_is_busy),
    };
    setenv("DIMMNET_UNEXPECTED_BYTES", "65536", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
