/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous: receives that a completion starts while others wait for room; those that wait in a
 * row; answers of a peer that do not fit; the order in which the headers of active messages are
 * handed on; bytes that are moved piece by piece; messages sent in
 * a row that are not announced; 64 that are announced at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "endpoint/am.h"
#include "endpoint/channel.h"
#include "endpoint/ep.h"
#include "job.h"

enum { BYTES = 300000, AREAS = 4, CHAIN = 8 };

/* ---- a receive whose completion starts the next one ---- */

typedef struct {
    dnet_job_request_t r; /* first member */
    dnet_job_rank_t *job;
    uint8_t *buf;
    uint32_t tag;
} link_t;

static void start(link_t *l, size_t room);

/* Each receive of the chain takes nothing of its message, so that it is over as soon as it is its
 * turn; the last one takes all. */
static void next_of_chain(dnet_ep_request_t *req, dnet_status_t status)
{
    link_t *l = (link_t *) req;
    dnet_job_complete(req, status);
    if (l->tag + 1 < AREAS + CHAIN)
        start(l + 1, l->tag + 2 < AREAS + CHAIN ? 0 : BYTES);
}

static void start(link_t *l, size_t room)
{
    l->r = (dnet_job_request_t){.req.complete = next_of_chain};
    dnet_status_t status = dnet_ep_recv(l->job->ep, dnet_ep_envelope(1, 0, l->tag), DNET_MATCH_BITS,
                                        l->buf, room, &l->r.req);
    if (status != DNET_IN_PROGRESS)
        next_of_chain(&l->r.req, status);
}

static int chain_receiver(dnet_job_rank_t *job, link_t *links)
{
    int bad = 0;
    static uint8_t small[8];
    /* all announced, so that a receive finds its message at once */
    dnet_job_recv(job, dnet_ep_envelope(1, 0, 1000), DNET_MATCH_BITS, small, 0);
    for (uint32_t i = 0; i < AREAS + CHAIN; i++)
        links[i] = (link_t){.job = job, .tag = i, .buf = calloc(1, BYTES)};
    for (uint32_t i = 0; i < AREAS; i++)
        dnet_job_irecv(job, &links[i].r, dnet_ep_envelope(1, 0, i), DNET_MATCH_BITS, links[i].buf,
                       BYTES);
    start(&links[AREAS], 0); /* waits for an area */
    for (uint32_t i = 0; i < AREAS + CHAIN; i++) {
        while (i > AREAS && !links[i].r.req.complete) { /* not started yet */
            bool did;
            dnet_ep_progress(job->ep, &did);
        }
        bool whole = i < AREAS || i + 1 == AREAS + CHAIN;
        dnet_status_t status = dnet_job_wait(job, &links[i].r);
        bad += status != (whole ? DNET_OK : DNET_ERR_TRUNCATED);
        for (size_t b = 0; whole && b < BYTES; b++)
            bad += links[i].buf[b] != (uint8_t) (b + i);
        free(links[i].buf);
    }
    return bad;
}

static int chain(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    static link_t links[AREAS + CHAIN];
    static dnet_job_request_t sends[AREAS + CHAIN];
    static uint8_t data[AREAS + CHAIN][BYTES];
    int bad = 0;
    if (job->rank == 1) {
        bad = chain_receiver(job, links);
    } else {
        for (uint32_t i = 0; i < AREAS + CHAIN; i++) {
            for (size_t b = 0; b < BYTES; b++)
                data[i][b] = (uint8_t) (b + i);
            dnet_job_isend(job, &sends[i], 1, dnet_ep_envelope(1, 0, i), data[i], BYTES, false);
        }
        dnet_job_send(job, 1, dnet_ep_envelope(1, 0, 1000), NULL, 0, false);
        for (uint32_t i = 0; i < AREAS + CHAIN; i++)
            bad += dnet_job_wait(job, &sends[i]) != DNET_OK;
    }
    dnet_job_barrier(job);
    return bad;
}

static void test_rndv_receive_posted_by_a_waiting_one_completes(void **state)
{
    (void) state;
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    assert_int_equal(dnet_job_run(2, 60, chain, NULL), 0);
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* ---- receives that wait in a row ---- */

enum { FIRST = AREAS + 2, ROW = FIRST + 3 };

static struct {
    dnet_job_rank_t *job;
    dnet_job_request_t r[ROW];
    uint8_t *buf[ROW];
    uint32_t posted, over;
} row;

static void post_in_row(dnet_ep_request_t *req, dnet_status_t status);

static void post(uint32_t count)
{
    for (; count > 0; count--) {
        uint32_t i = row.posted++;
        row.r[i] = (dnet_job_request_t){.req.complete = post_in_row};
        dnet_status_t status = dnet_ep_recv(row.job->ep, dnet_ep_envelope(1, 0, i), DNET_MATCH_BITS,
                                            row.buf[i], BYTES, &row.r[i].req);
        if (status != DNET_IN_PROGRESS)
            post_in_row(&row.r[i].req, status);
    }
}

/* When one is over, the first of two that wait has its area and the second is alone.  When two are,
 * a third comes behind that one.  When four are, none waits; one takes the area, and the next one
 * waits alone. */
static void post_in_row(dnet_ep_request_t *req, dnet_status_t status)
{
    dnet_job_complete(req, status);
    row.over++;
    if (row.over == 2)
        post(1);
    if (row.over == 4)
        post(2);
}

static int in_row(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    static dnet_job_request_t sends[ROW];
    int bad = 0;
    row.job = job;
    for (uint32_t i = 0; i < ROW; i++) {
        row.buf[i] = calloc(1, BYTES);
        if (job->rank == 1)
            continue;
        memset(row.buf[i], (int) i + 1, BYTES);
        dnet_job_isend(job, &sends[i], 1, dnet_ep_envelope(1, 0, i), row.buf[i], BYTES, false);
    }
    if (job->rank == 0) {
        dnet_job_send(job, 1, dnet_ep_envelope(1, 0, 1000), NULL, 0, false);
        for (uint32_t i = 0; i < ROW; i++)
            bad += dnet_job_wait(job, &sends[i]) != DNET_OK;
    } else {
        /* all announced */
        dnet_job_recv(job, dnet_ep_envelope(1, 0, 1000), DNET_MATCH_BITS, NULL, 0);
        post(FIRST);
        for (bool did; row.over < ROW;)
            dnet_ep_progress(job->ep, &did);
    }
    dnet_job_barrier(job);
    for (uint32_t i = 0; i < ROW; i++) {
        bad += job->rank == 1 && row.r[i].status != DNET_OK;
        for (size_t b = 0; b < BYTES; b++)
            bad += row.buf[i][b] != i + 1;
        free(row.buf[i]);
    }
    return bad;
}

static void test_rndv_receives_wait_in_a_row(void **state)
{
    (void) state;
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    assert_int_equal(dnet_job_run(2, 60, in_row, NULL), 0);
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* ---- a CTS that cannot be followed ---- */

typedef struct {
    uint32_t op;   /* of the send, less the true one */
    uint32_t rank; /* that the CTS says it is of */
    uint8_t flags;
    uint16_t id;
    int more; /* bytes than the message has */
    dnet_ep_staging_t staging;
} answer_t;

/* Rank 0 shows nothing, so that there is nothing to split. */
static const answer_t answers[] = {
    {.rank = 1, .more = 1},
    {.rank = 1, .more = 1, .flags = DNET_CTS_STAGED, .id = 1, .staging = {4096, 4}},
    {.rank = 1, .op = 1u << 20},
    {.rank = 1, .op = 1u << 19},
    {.rank = 2},
    {.rank = 1, .flags = DNET_CTS_SPLIT},
    {.rank = 1, .flags = DNET_CTS_STAGED, .id = 1, .staging = {4096, 0}},
    {.rank = 1, .flags = DNET_CTS_STAGED, .id = 1, .staging = {0, 4}},
    {.rank = 1, .flags = DNET_CTS_STAGED, .id = DNET_DRV_WORDS, .staging = {4096, 4}},
};
enum { ANSWERS = sizeof(answers) / sizeof(answers[0]) };

static void answer(dnet_job_rank_t *job, uint32_t op, const answer_t *a)
{
    dnet_ep_head_t cts = {.type = DNET_HEAD_CTS,
                          .rank = a->rank,
                          .op = op + a->op,
                          .flags = a->flags,
                          .id = a->id,
                          .length = (uint64_t) (BYTES + a->more)};
    bool staged = a->flags & DNET_CTS_STAGED;
    dnet_send_control(job->ep, 0, &cts, staged ? &a->staging : NULL,
                      staged ? sizeof(a->staging) : 0);
}

/* Id of the only send, once it waits for its CTS. */
static uint32_t announced(dnet_job_rank_t *job)
{
    for (bool did;; dnet_ep_progress(job->ep, &did))
        for (uint32_t i = 0; i < job->ep->ops.cap; i++)
            if (job->ep->ops.by_id[i]->state == DNET_OP_CTS_WAIT)
                return job->ep->ops.by_id[i]->id;
}

/* The send waits on, whatever rank 1 answers, and is over when the right answer has come. */
static int wrong_answers(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    static dnet_job_request_t r;
    uint8_t *buf = calloc(1, BYTES + 1), byte;
    int bad = 0;
    uint32_t op = 0;
    if (job->rank == 0) {
        memset(buf, 7, BYTES);
        dnet_job_isend(job, &r, 1, dnet_ep_envelope(1, 0, 1), buf, BYTES, false);
        op = announced(job);
        dnet_job_send(job, 1, dnet_ep_envelope(1, 0, 2), &op, sizeof(op), false);
    } else if (job->rank == 1) {
        dnet_job_recv(job, dnet_ep_envelope(1, 0, 2), DNET_MATCH_BITS, &op, sizeof(op));
    }
    for (uint32_t i = 0; i < ANSWERS; i++) {
        if (job->rank == 1) {
            answer(job, op, &answers[i]);
            dnet_job_send(job, 0, dnet_ep_envelope(1, 1, 3), &byte, 0, false);
            dnet_job_recv(job, dnet_ep_envelope(1, 0, 4), DNET_MATCH_BITS, &byte, 0); /* seen */
        } else if (job->rank == 0) {
            dnet_job_recv(job, dnet_ep_envelope(1, 1, 3), DNET_MATCH_BITS, &byte, 0);
            const dnet_op_t *o = dnet_op_find(job->ep, op);
            if (r.done || !o || o->state != DNET_OP_CTS_WAIT || o->len != BYTES) {
                fprintf(stderr, "answer %u has been followed\n", i);
                bad = 1;
                break;
            }
            dnet_job_send(job, 1, dnet_ep_envelope(1, 0, 4), &byte, 0, false);
        }
    }
    if (!bad && job->rank == 1) {
        bad = dnet_job_recv(job, dnet_ep_envelope(1, 0, 1), DNET_MATCH_BITS, buf, BYTES) != BYTES;
        for (size_t b = 0; b <= BYTES; b++)
            bad |= buf[b] != (b < BYTES ? 7 : 0);
    } else if (!bad && job->rank == 0) {
        bad = dnet_job_wait(job, &r) != DNET_OK;
    }
    free(buf);
    if (bad)
        _exit(1);
    dnet_job_barrier(job);
    return 0;
}

static void test_rndv_answers_that_do_not_fit_are_not_followed(void **state)
{
    (void) state;
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    assert_int_equal(dnet_job_run(3, 60, wrong_answers, NULL), 0);
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* ---- active messages ---- */

enum { MESSAGES = 40 };

static uint32_t seen[MESSAGES], seen_count, over_count, wrong;
static uint8_t landing[MESSAGES][BYTES];

static void on_am(void *arg, uint32_t peer, uint16_t id, const void *header, size_t header_len,
                  const void *data, size_t len)
{
    (void) arg;
    (void) peer;
    (void) id;
    (void) data;
    wrong += header_len != 4 || len != 8;
    memcpy(&seen[seen_count++], header, 4);
    over_count++;
}

static void *on_begin(void *arg, uint32_t peer, uint16_t id, const void *header, size_t header_len,
                      size_t len, void **to_p)
{
    (void) arg;
    (void) peer;
    (void) id;
    wrong += header_len != 4 || len != BYTES;
    memcpy(&seen[seen_count], header, 4);
    *to_p = landing[seen[seen_count++]];
    return *to_p;
}

static void on_end(void *arg, void *begun)
{
    (void) arg;
    const uint8_t *at = begun;
    for (size_t b = 0; b < BYTES; b++)
        wrong += at[b] != (uint8_t) b;
    over_count++;
}

static int headers_in_order(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    static const dnet_ep_am_long_t am_long = {on_begin, on_end};
    static dnet_job_request_t requests[MESSAGES];
    static uint8_t data[BYTES];
    bool did;
    seen_count = over_count = wrong = 0;
    for (size_t b = 0; b < BYTES; b++)
        data[b] = (uint8_t) b;
    dnet_ep_am_register(job->ep, on_am, NULL);
    dnet_ep_am_register_long(job->ep, &am_long);
    dnet_job_barrier(job);
    for (uint32_t i = 0; i < MESSAGES && job->rank == 0; i++) {
        requests[i].req.complete = dnet_job_complete;
        (void) dnet_ep_am_send(job->ep, 1, 3, &i, 4, data, i % 3 ? 8 : BYTES, &requests[i].req);
    }
    while (job->rank == 1 && over_count < MESSAGES)
        dnet_ep_progress(job->ep, &did);
    dnet_job_barrier(job);
    for (uint32_t i = 0; i < MESSAGES && job->rank == 1; i++)
        wrong += seen[i] != i;
    return wrong != 0;
}

static void test_rndv_headers_of_active_messages_come_in_order_of_sending(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 60, headers_in_order, NULL), 0);
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    assert_int_equal(dnet_job_run(2, 60, headers_in_order, NULL), 0);
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* ---- bytes that are moved piece by piece ---- */

enum { LONG = (4 << 20) + 12345, CUT = 1 << 20 };

/* One side of a message; its bytes are in `memory` backwards. */
typedef struct {
    dnet_job_request_t w; /* first member */
    uint8_t *memory;
    size_t at, longest;
} moved_t;

static void move_out(dnet_ep_request_t *req, void *bytes, size_t len)
{
    moved_t *m = (moved_t *) req;
    for (size_t i = 0; i < len; i++)
        ((uint8_t *) bytes)[i] = m->memory[LONG - 1 - m->at++];
    m->longest = len > m->longest ? len : m->longest;
}

static void move_in(dnet_ep_request_t *req, void *bytes, size_t len)
{
    moved_t *m = (moved_t *) req;
    for (size_t i = 0; i < len; i++)
        m->memory[LONG - 1 - m->at++] = ((uint8_t *) bytes)[i];
    m->longest = len > m->longest ? len : m->longest;
}

static uint8_t byte_of(size_t at)
{
    return (uint8_t) (at * 7 + at / 251);
}

typedef struct {
    bool sender, receiver; /* which moves its bytes */
    bool late;
    size_t room;
} moving_t;

static void moved_send(dnet_job_rank_t *job, const moving_t *how, uint32_t to, moved_t *m)
{
    *m = (moved_t){.w.req = {.complete = dnet_job_complete, .move = move_out},
                   .memory = malloc(LONG)};
    for (size_t i = 0; i < LONG; i++)
        m->memory[how->sender ? LONG - 1 - i : i] = byte_of(i);
    uint64_t envelope = dnet_ep_envelope(1, job->rank, 4);
    dnet_job_started(&m->w, how->sender ? dnet_ep_send_moved(job->ep, to, envelope, LONG, &m->w.req)
                                        : dnet_ep_send(job->ep, to, envelope, m->memory, LONG,
                                                       false, &m->w.req));
}

static void moved_receive(dnet_job_rank_t *job, const moving_t *how, uint32_t from, moved_t *m,
                          uint8_t *packed)
{
    *m = (moved_t){.w.req = {.complete = dnet_job_complete, .move = move_in},
                   .memory = calloc(1, LONG)};
    if (how->receiver)
        m->w.req.layout.kind = DNET_LAYOUT_MOVED;
    dnet_job_started(&m->w, dnet_ep_recv(job->ep, dnet_ep_envelope(1, from, 4), DNET_MATCH_BITS,
                                         how->receiver ? packed : m->memory, how->room, &m->w.req));
}

/* Did all come, in pieces, and nothing behind? */
static int moved_check(const moving_t *how, const moved_t *m)
{
    size_t len = how->room < LONG ? how->room : LONG;
    if (m->w.status != (len < LONG ? DNET_ERR_TRUNCATED : DNET_OK) || m->w.req.len_bytes != len ||
        m->w.req.in_layout != how->receiver || m->longest > CUT)
        return 1;
    for (size_t i = 0; i < LONG; i++)
        if (m->memory[how->receiver ? LONG - 1 - i : i] != (i < len ? byte_of(i) : 0))
            return 2;
    return 0;
}

/* From rank 0 to the last one, which may be the same. */
static int moved(dnet_job_rank_t *job, void *arg)
{
    const moving_t *how = arg;
    uint32_t last = job->size - 1;
    moved_t out = {0}, in = {0};
    uint8_t *packed = malloc(LONG);
    bool sends = job->rank == 0, receives = job->rank == last;
    int bad = 0;
    if (receives && !how->late)
        moved_receive(job, how, 0, &in, packed);
    dnet_job_barrier(job);
    if (sends)
        moved_send(job, how, last, &out);
    if (how->late)
        dnet_job_barrier(job);
    if (receives && how->late)
        moved_receive(job, how, 0, &in, packed);
    if (sends)
        bad = dnet_job_wait(job, &out.w) != DNET_OK || out.longest > CUT;
    if (receives) {
        (void) dnet_job_wait(job, &in.w);
        bad |= moved_check(how, &in);
    }
    dnet_job_barrier(job);
    if (bad)
        fprintf(stderr, "rank %u of %u: sender %d, receiver %d, late %d, room %zu\n", job->rank,
                job->size, how->sender, how->receiver, how->late, how->room);
    free(out.memory);
    free(in.memory);
    free(packed);
    return bad;
}

static void moved_all_ways(void)
{
    for (unsigned i = 1; i < 8; i++) {
        moving_t how = {.sender = i & 1, .receiver = i & 2, .late = i & 4, .room = LONG};
        if (!how.sender && !how.receiver)
            continue;
        assert_int_equal(dnet_job_run(2, 60, moved, &how), 0);
        assert_int_equal(dnet_job_run(1, 60, moved, &how), 0);
        assert_int_equal(dnet_job_run(5, 60, moved, &how), 0);
        how.room = 2 * LONG / 3;
        assert_int_equal(dnet_job_run(2, 60, moved, &how), 0);
    }
}

static void test_rndv_moved_bytes_arrive_by_all_ways(void **state)
{
    (void) state;
    moved_all_ways();
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    setenv("DIMMNET_CHUNK_BYTES", "1M", 1);
    moved_all_ways();
    unsetenv("DIMMNET_CHUNK_BYTES");
    moved_all_ways();
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* An answer says nothing behind its head unless it is staged, whatever an older message has left
 * there: the sender's room is for a piece, and not for 4 GB, which it cannot have. */
static int behind_a_head(dnet_job_rank_t *job, void *arg)
{
    enum { ENTRIES = 2 * 1024 };
    static const moving_t how = {.sender = true, .room = LONG};
    static dnet_job_request_t r[ENTRIES];
    static uint8_t bytes[DNET_LH_DATA_BYTES], got[DNET_LH_DATA_BYTES], packed[1];
    unsigned long pages = 0;
    moved_t m;
    int bad = 0;
    (void) arg;
    memset(bytes, 0xff, sizeof(bytes));
    for (uint32_t i = 0; i < ENTRIES; i++) {
        if (job->rank == 1)
            dnet_job_isend(job, &r[i], 0, dnet_ep_envelope(1, 1, 1), bytes, sizeof(bytes), false);
        else
            dnet_job_irecv(job, &r[i], dnet_ep_envelope(1, 1, 1), DNET_MATCH_BITS, got,
                           sizeof(got));
    }
    for (uint32_t i = 0; i < ENTRIES; i++)
        bad |= dnet_job_wait(job, &r[i]) != DNET_OK;
    if (job->rank == 1) {
        moved_receive(job, &how, 0, &m, packed);
        (void) dnet_job_wait(job, &m.w);
        bad |= moved_check(&how, &m);
    } else {
        FILE *f = fopen("/proc/self/statm", "r");
        rlim_t most = (1ul << 30);
        if (f && fscanf(f, "%lu", &pages) == 1)
            most += pages * (rlim_t) sysconf(_SC_PAGESIZE);
        setrlimit(RLIMIT_AS, &(struct rlimit){most, most});
        moved_send(job, &how, 1, &m);
        bad |= dnet_job_wait(job, &m.w) != DNET_OK;
        if (f)
            fclose(f);
    }
    if (bad)
        _exit(1);
    free(m.memory);
    dnet_job_barrier(job);
    return 0;
}

static void test_rndv_nothing_is_read_behind_a_head_that_stands_alone(void **state)
{
    (void) state;
    setenv("DIMMNET_RENDEZVOUS", "direct", 1);
    assert_int_equal(dnet_job_run(2, 60, behind_a_head, NULL), 0);
    unsetenv("DIMMNET_RENDEZVOUS");
}

/* ---- messages that are sent in a row ---- */

enum { ALONE_RNDV = 12000, ALWAYS_RNDV = 40000 };

static int send_in_a_row(dnet_job_rank_t *job)
{
    static const struct {
        size_t bytes;
        bool after_a_receive, rendezvous;
    } sends[] = {
        {ALONE_RNDV, true, true},   {ALONE_RNDV, false, false}, {ALONE_RNDV, false, false},
        {ALWAYS_RNDV, false, true}, {ALONE_RNDV, true, true},
    };
    enum { SENDS = sizeof(sends) / sizeof(sends[0]) };
    static uint8_t data[ALWAYS_RNDV];
    dnet_job_request_t r[SENDS];
    int bad = 0;
    job->ep->eager_near.alone = ALONE_RNDV - 1; /* some machines have a higher one */
    job->ep->oversubscribed = false;
    for (int i = 0; i < SENDS; i++) {
        if (sends[i].after_a_receive)
            dnet_job_recv(job, dnet_ep_envelope(1, 1, 0), DNET_MATCH_BITS, data, 0);
        uint64_t before = job->ep->page.counters.rendezvous;
        dnet_job_isend(job, &r[i], 1, dnet_ep_envelope(1, 0, 1), data, sends[i].bytes, false);
        if (job->ep->page.counters.rendezvous - before != sends[i].rendezvous) {
            fprintf(stderr, "send %d of %zu bytes: %s\n", i, sends[i].bytes,
                    sends[i].rendezvous ? "no rendezvous" : "rendezvous");
            bad++;
        }
    }
    for (int i = 0; i < SENDS; i++)
        bad += dnet_job_wait(job, &r[i]) != DNET_OK;
    return bad;
}

static int in_a_row(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    static uint8_t in[ALWAYS_RNDV];
    int bad = 0;
    if (job->rank == 0) {
        bad = send_in_a_row(job);
    } else {
        for (int i = 0; i < 2; i++)
            dnet_job_send(job, 0, dnet_ep_envelope(1, 1, 0), NULL, 0, false);
        for (int i = 0; i < 5; i++)
            dnet_job_recv(job, dnet_ep_envelope(1, 0, 1), DNET_MATCH_BITS, in, sizeof(in));
    }
    dnet_job_barrier(job);
    return bad;
}

static void test_rndv_messages_in_a_row_are_not_announced(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(2, 60, in_a_row, NULL), 0);
}

/* ---- as many as programs have under way ---- */

enum { WINDOW = 64 };

static int window(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    static dnet_job_request_t sends[WINDOW];
    static uint8_t data[WINDOW][BYTES], in[BYTES];
    int bad = 0;
    dnet_job_barrier(job); /* the other one has its NIC open */
    for (uint32_t i = 0; job->rank == 0 && i < WINDOW; i++) {
        memset(data[i], (int) i, BYTES);
        dnet_job_isend(job, &sends[i], 1, dnet_ep_envelope(1, 0, i), data[i], BYTES, false);
    }
    for (uint32_t i = 0; i < WINDOW; i++) {
        if (job->rank == 0)
            bad += dnet_job_wait(job, &sends[i]) != DNET_OK;
        else
            bad += dnet_job_recv(job, dnet_ep_envelope(1, 0, i), DNET_MATCH_BITS, in, BYTES) !=
                       BYTES ||
                   in[0] != i || memcmp(in, in + 1, BYTES - 1) != 0;
    }
    bad += job->rank == 0 && dnet_ep_counters(job->ep)->rvs != 0;
    dnet_job_barrier(job);
    return bad;
}

static void test_rndv_a_window_of_64_is_fetched_whole(void **state)
{
    (void) state;
    setenv("DIMMNET_RENDEZVOUS", "direct", 1);
    setenv("DIMMNET_SPLIT_LIMIT", "1G", 1);
    assert_int_equal(dnet_job_run(2, 60, window, NULL), 0);
    unsetenv("DIMMNET_SPLIT_LIMIT");
    unsetenv("DIMMNET_RENDEZVOUS");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rndv_receive_posted_by_a_waiting_one_completes),
        cmocka_unit_test(test_rndv_receives_wait_in_a_row),
        cmocka_unit_test(test_rndv_answers_that_do_not_fit_are_not_followed),
        cmocka_unit_test(test_rndv_headers_of_active_messages_come_in_order_of_sending),
        cmocka_unit_test(test_rndv_moved_bytes_arrive_by_all_ways),
        cmocka_unit_test(test_rndv_nothing_is_read_behind_a_head_that_stands_alone),
        cmocka_unit_test(test_rndv_messages_in_a_row_are_not_announced),
        cmocka_unit_test(test_rndv_a_window_of_64_is_fetched_whole),
    };
    return cmocka_run_group_tests_name("endpoint_rndv", tests, NULL, NULL);
}
