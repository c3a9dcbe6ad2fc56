/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages from blocks into blocks: every pair of layouts arrives byte for byte as the two say,
 * touches nothing else, and is fetched by the NIC exactly where the layouts can be paired;
 * expected, unexpected, to oneself, truncated, between blocks and ordinary memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint/layout.h"
#include "job.h"

enum { LEN = 96000, AREA = 2 << 20, LISTED = 64 };

typedef struct {
    const char *name;
    uint32_t block_bytes;
    int32_t step; /* of a list: 0 */
} shape_t;

static const shape_t shapes[] = {
    {"one block", LEN, LEN},      {"4 of 8", 4, 8},          {"8 of 16", 8, 16},
    {"16 of 16", 16, 16},         {"24 of 100", 24, 100},    {"32 of 64 backwards", 32, -64},
    {"128 of 260", 128, 260},     {"384 of 500", 384, 500},  {"1000 of 1004", 1000, 1004},
    {"6000 of 9000", 6000, 9000}, {"10 of 20", 10, 20},      {"list of 1500", 1500, 0},
    {"list of 6000", 6000, 0},    {"ordinary memory", 0, 0},
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

/* One side's buffer: in SO-DIMM, with the layout of a shape; or ordinary memory, bytes in a row. */
typedef struct {
    uint8_t *area;
    uint32_t *list;
    uint8_t *ordinary;
    uint32_t area_offset, list_offset;
} memory_t;

static int memory_get(dnet_job_rank_t *job, memory_t *m)
{
    void *area, *list;
    m->ordinary = malloc(AREA);
    if (!m->ordinary || dnet_ep_alloc(job->ep, AREA, &area) != DNET_OK ||
        dnet_ep_alloc(job->ep, LISTED * 4, &list) != DNET_OK)
        return 1;
    m->area = area;
    m->list = list;
    return !dnet_ep_sodimm_offset(job->ep, area, AREA, &m->area_offset) ||
           !dnet_ep_sodimm_offset(job->ep, list, LISTED * 4, &m->list_offset);
}

static int memory_put(dnet_job_rank_t *job, memory_t *m)
{
    free(m->ordinary);
    return dnet_ep_free(job->ep, m->area) != DNET_OK || dnet_ep_free(job->ep, m->list) != DNET_OK;
}

/* Layout of a shape that holds `len` bytes. */
static dnet_ep_layout_t layout_of(const memory_t *m, const shape_t *s, size_t len)
{
    dnet_ep_layout_t l = {.kind = DNET_LAYOUT_NONE};
    if (s->block_bytes == 0)
        return l;
    l.kind = s->step ? DNET_LAYOUT_BLOCKS : DNET_LAYOUT_LIST;
    l.block_bytes = s->block_bytes;
    l.count = (uint32_t) ((len + s->block_bytes - 1) / s->block_bytes);
    l.step = s->step ? (uint32_t) s->step : m->list_offset;
    l.offset = m->area_offset + 64;
    if (s->step < 0)
        l.offset += (l.count - 1) * (uint32_t) -s->step;
    for (uint32_t i = 0; !s->step && i < l.count; i++)
        m->list[i] = (i * 7 % l.count) * (s->block_bytes + 36);
    return l;
}

/* Where byte `at` of a message lies in the memory, without any code under test. */
static uint8_t *place(const memory_t *m, const shape_t *s, const dnet_ep_layout_t *l, size_t at)
{
    if (s->block_bytes == 0)
        return m->ordinary + at;
    uint32_t i = (uint32_t) (at / s->block_bytes);
    uint32_t start = l->offset - m->area_offset + (s->step ? i * (uint32_t) s->step : m->list[i]);
    return m->area + start + at % s->block_bytes;
}

static uint8_t pattern(size_t at, unsigned seed)
{
    return (uint8_t) (at * 13 + at / 253 + seed);
}

static void send_shape(dnet_job_rank_t *job, uint32_t to, const memory_t *m, const shape_t *s,
                       size_t len, unsigned seed, dnet_job_request_t *w)
{
    dnet_ep_layout_t l = layout_of(m, s, len);
    for (size_t i = 0; i < len; i++)
        *place(m, s, &l, i) = pattern(i, seed);
    uint64_t envelope = dnet_ep_envelope(3, job->rank, seed);
    *w = (dnet_job_request_t){.req.complete = dnet_job_complete};
    bool spread = l.kind != DNET_LAYOUT_NONE && !dnet_layout_is_contiguous(&l);
    dnet_job_started(
        w, spread ? dnet_ep_send_layout(job->ep, to, envelope, &l, &w->req)
                  : dnet_ep_send(job->ep, to, envelope, place(m, s, &l, 0), len, false, &w->req));
}

/* A receive of a shape, its memory before, and what it holds in the end. */
typedef struct {
    dnet_job_request_t w;
    dnet_ep_layout_t layout;
    uint8_t *packed;
    uint8_t *expected;
} receive_t;

static void receive_shape(dnet_job_rank_t *job, const memory_t *m, const shape_t *s, size_t len,
                          unsigned seed, receive_t *r)
{
    *r = (receive_t){.w.req.complete = dnet_job_complete, .layout = layout_of(m, s, len)};
    bool spread = r->layout.kind != DNET_LAYOUT_NONE && !dnet_layout_is_contiguous(&r->layout);
    memset(m->ordinary, 0xee, AREA);
    memset(m->area, 0xee, AREA);
    r->packed = malloc(len);
    r->expected = malloc(AREA);
    if (spread)
        r->w.req.layout = r->layout;
    dnet_job_started(&r->w,
                     dnet_ep_recv(job->ep, dnet_ep_envelope(3, 0, seed), DNET_MATCH_ANY_SOURCE,
                                  spread ? r->packed : place(m, s, &r->layout, 0), len, &r->w.req));
}

/* What is not in its layout is unpacked, as the netmod would; then every byte of the memory is
 * compared.
 */
static int check_shape(const memory_t *m, const shape_t *s, size_t len, unsigned seed, receive_t *r)
{
    uint8_t *got = s->block_bytes ? m->area : m->ordinary;
    if (r->w.req.layout.kind != DNET_LAYOUT_NONE && !r->w.req.in_layout)
        for (size_t i = 0; i < len; i++)
            *place(m, s, &r->layout, i) = r->packed[i];
    memset(r->expected, 0xee, AREA);
    for (size_t i = 0; i < len; i++)
        r->expected[place(m, s, &r->layout, i) - got] = pattern(i, seed);
    int bad = memcmp(got, r->expected, AREA) != 0;
    free(r->packed);
    free(r->expected);
    return bad;
}

/* Would the NIC do it? */
static bool pairs(const memory_t *m, const shape_t *from, const shape_t *to, size_t len)
{
    dnet_drv_run_t runs[DNET_LAYOUT_RUNS];
    uint32_t list[LISTED];
    memory_t other = *m;
    other.list = list;
    dnet_ep_layout_t a = layout_of(&other, from, len), b = layout_of(&other, to, len);
    return dnet_layout_pair(&a, &b, len, 4, runs) > 0;
}

typedef struct {
    bool late;  /* the receive comes after the message */
    bool fetch; /* the NIC is to fetch what it can */
} way_t;

static int all_pairs(dnet_job_rank_t *job, void *arg)
{
    const way_t *way = arg;
    memory_t m;
    uint64_t fetched = 0;
    int bad = memory_get(job, &m);
    for (unsigned k = 0; k < SHAPES * SHAPES && !bad; k++) {
        const shape_t *from = &shapes[k / SHAPES], *to = &shapes[k % SHAPES];
        dnet_job_request_t w;
        receive_t r;
        if (job->rank == 1 && !way->late)
            receive_shape(job, &m, to, LEN, k, &r);
        dnet_job_barrier(job);
        if (job->rank == 0)
            send_shape(job, 1, &m, from, LEN, k, &w);
        if (way->late)
            dnet_job_barrier(job);
        if (job->rank == 1 && way->late)
            receive_shape(job, &m, to, LEN, k, &r);
        fetched += way->fetch && pairs(&m, from, to, LEN);
        if (job->rank == 0) {
            bad = dnet_job_wait(job, &w) != DNET_OK;
        } else {
            bad = dnet_job_wait(job, &r.w) != DNET_OK || r.w.req.len_bytes != LEN ||
                  check_shape(&m, to, LEN, k, &r) || dnet_ep_counters(job->ep)->strided != fetched;
        }
        if (bad)
            fprintf(stderr,
                    "rank %u, from %s to %s: %llu messages fetched by the NIC, expected %llu\n",
                    job->rank, from->name, to->name,
                    (unsigned long long) dnet_ep_counters(job->ep)->strided,
                    (unsigned long long) fetched);
    }
    if (job->rank == 1 && way->fetch && fetched < 70) {
        fprintf(stderr, "only %llu pairs of layouts were fetched\n", (unsigned long long) fetched);
        bad = 1;
    }
    dnet_job_barrier(job);
    return memory_put(job, &m) || bad;
}

static void test_endpoint_strided_all_pairs_are_fetched(void **state)
{
    (void) state;
    way_t way = {.late = false, .fetch = true};
    setenv("DIMMNET_STRIDED", "auto", 1);
    assert_int_equal(dnet_job_run(2, 60, all_pairs, &way), 0);
    way.late = true;
    assert_int_equal(dnet_job_run(2, 60, all_pairs, &way), 0);
}

static void test_endpoint_strided_all_pairs_are_packed_when_told(void **state)
{
    (void) state;
    way_t way = {.late = false, .fetch = false};
    setenv("DIMMNET_STRIDED", "never", 1);
    assert_int_equal(dnet_job_run(2, 60, all_pairs, &way), 0);
    setenv("DIMMNET_RENDEZVOUS", "staged", 1);
    way.late = true;
    assert_int_equal(dnet_job_run(2, 60, all_pairs, &way), 0);
    unsetenv("DIMMNET_RENDEZVOUS");
}

static int to_oneself(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    memory_t from, to;
    dnet_job_request_t w;
    receive_t r;
    int bad = memory_get(job, &from) || memory_get(job, &to);
    for (unsigned k = 0; k < SHAPES * SHAPES && !bad; k++) {
        receive_shape(job, &to, &shapes[k % SHAPES], LEN, k, &r);
        send_shape(job, job->rank, &from, &shapes[k / SHAPES], LEN, k, &w);
        bad = dnet_job_wait(job, &w) != DNET_OK || dnet_job_wait(job, &r.w) != DNET_OK ||
              check_shape(&to, &shapes[k % SHAPES], LEN, k, &r);
    }
    if (dnet_ep_counters(job->ep)->strided < 70)
        bad = 1;
    return memory_put(job, &from) || memory_put(job, &to) || bad;
}

static void test_endpoint_strided_to_oneself(void **state)
{
    (void) state;
    setenv("DIMMNET_STRIDED", "auto", 1);
    assert_int_equal(dnet_job_run(1, 60, to_oneself, NULL), 0);
}

/* The receive holds half of the message; then twice as much. */
static int other_lengths(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    memory_t m;
    int bad = memory_get(job, &m);
    for (unsigned k = 0; k < 2 * SHAPES && !bad; k++) {
        const shape_t *s = &shapes[k / 2 % SHAPES];
        size_t sent = k % 2 ? LEN / 2 : LEN, room = k % 2 ? LEN : LEN / 2;
        size_t len = sent < room ? sent : room;
        dnet_job_request_t w;
        receive_t r;
        if (job->rank == 0) {
            send_shape(job, 1, &m, s, sent, k, &w);
            bad = dnet_job_wait(job, &w) != DNET_OK;
        } else {
            receive_shape(job, &m, s, room, k, &r);
            dnet_status_t status = dnet_job_wait(job, &r.w);
            bad = status != (k % 2 ? DNET_OK : DNET_ERR_TRUNCATED) || r.w.req.len_bytes != len ||
                  r.w.req.sent_bytes != sent || check_shape(&m, s, len, k, &r);
        }
        if (bad)
            fprintf(stderr, "rank %u: %zu bytes of %s into %zu\n", job->rank, sent, s->name, room);
        dnet_job_barrier(job);
    }
    return memory_put(job, &m) || bad;
}

static void test_endpoint_strided_receives_of_another_length(void **state)
{
    (void) state;
    setenv("DIMMNET_STRIDED", "auto", 1);
    assert_int_equal(dnet_job_run(2, 60, other_lengths, NULL), 0);
}

/* Memory that was given back reads as 0 when it is had again: it was not only forgotten. */
static int memory(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    enum { BIG = 8 << 20 };
    void *a, *b, *c;
    uint32_t offset;
    int stack;
    if (dnet_ep_alloc(job->ep, BIG, &a) != DNET_OK || dnet_ep_alloc(job->ep, 0, &b) != DNET_OK)
        return 1;
    memset(a, 1, BIG);
    if (!dnet_ep_sodimm_offset(job->ep, a, BIG, &offset) ||
        dnet_ep_sodimm_offset(job->ep, &stack, sizeof(stack), &offset) ||
        dnet_ep_sodimm_offset(job->ep, (uint8_t *) a - (1 << 20), 16, &offset) ||
        dnet_ep_sodimm_offset(job->ep, a, 1ull << 32, &offset))
        return 2;
    if (dnet_ep_free(job->ep, &stack) != DNET_ERR_ARGUMENT ||
        dnet_ep_free(job->ep, (uint8_t *) a + 64) != DNET_ERR_ARGUMENT ||
        dnet_ep_free(job->ep, a) != DNET_OK || dnet_ep_free(job->ep, a) != DNET_ERR_ARGUMENT)
        return 3;
    if (dnet_ep_alloc(job->ep, BIG, &c) != DNET_OK || c != a)
        return 4;
    for (unsigned i = 0; i < BIG; i++)
        if (((uint8_t *) c)[i])
            return 5;
    if (dnet_ep_alloc(job->ep, 1ull << 40, &a) != DNET_ERR_LIMIT)
        return 6;
    /* c is left: the end of the endpoint leaves it readable */
    return dnet_ep_free(job->ep, b) != DNET_OK;
}

static void test_endpoint_strided_memory_is_given_back(void **state)
{
    (void) state;
    assert_int_equal(dnet_job_run(1, 60, memory, NULL), 0);
}

static int no_memory(dnet_job_rank_t *job, void *arg)
{
    (void) arg;
    void *a;
    return dnet_ep_alloc(job->ep, 64, &a) != DNET_ERR_LIMIT;
}

static void test_endpoint_strided_prototype_has_no_memory(void **state)
{
    (void) state;
    setenv("DIMMNET_PROFILE", "prototype", 1);
    assert_int_equal(dnet_job_run(2, 60, no_memory, NULL), 0);
    unsetenv("DIMMNET_PROFILE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_endpoint_strided_all_pairs_are_fetched),
        cmocka_unit_test(test_endpoint_strided_all_pairs_are_packed_when_told),
        cmocka_unit_test(test_endpoint_strided_to_oneself),
        cmocka_unit_test(test_endpoint_strided_receives_of_another_length),
        cmocka_unit_test(test_endpoint_strided_memory_is_given_back),
        cmocka_unit_test(test_endpoint_strided_prototype_has_no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
