/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A board with a thread for each rank, for the tests of src/collective.
 */
#ifndef DNET_TEST_BOARD_RANKS_H
#define DNET_TEST_BOARD_RANKS_H

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collective/collective.h"
#include "collective/reduce.h"
#include "collective/steps.h"

#define RANKS_MAX 17u
#define ROUNDS 60u
#define BYTES_MAX 150000u
#define ROUNDS_BEFORE_FAR 10u /* memory */
#define SPINS 8

/* What a rank does, told apart by the rank that it finds out and by the round. */
typedef bool (*body_t)(dnet_board_t *board, unsigned round, uint8_t *from, uint8_t *to);

typedef struct {
    void *memory, *far;
    uint32_t size, rank;
    body_t body;
    int reads; /* 1: may be read; 2: fairly fast; 3: slowly; SPINS: with a processor each */
    unsigned wakes;
    bool good;
} rank_t;

static inline void idle(void *arg, bool first)
{
    (void) arg;
    (void) first;
    sched_yield();
}

static inline void wake(void *arg, uint32_t rank)
{
    (void) rank;
    ((rank_t *) arg)->wakes++;
}

/* All ranks are in one process. */
static _Atomic unsigned reads_made;
static unsigned read_us; /* that one takes besides */

static inline void read_of(void *arg, uint32_t rank, const void *from, void *to, size_t bytes)
{
    (void) arg;
    (void) rank;
    atomic_fetch_add(&reads_made, 1);
    if (read_us)
        usleep(read_us);
    memcpy(to, from, bytes);
}

/* Others look whether it is there before it is. */
static inline void write_of(void *arg, uint32_t rank, const void *from, void *to, size_t bytes)
{
    (void) arg;
    (void) rank;
    sched_yield();
    memcpy(to, from, bytes);
}

static inline uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    return (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
}

/* The same length on all ranks: none, a few bytes, around a line and around a slot, many slots. */
static inline size_t bytes_of(unsigned round)
{
    static const size_t some[] = {0, 1, 8, 55, 56, 57, 64, 500, 4096, 16383, 16384, 16385, 70000};
    return some[mix(round) % (sizeof some / sizeof some[0])];
}

/* What byte i is that rank a has for rank b. */
static inline uint8_t byte_of(unsigned round, uint32_t a, uint32_t b, size_t i)
{
    return (uint8_t) mix(round * 1000003u + a * 8191u + b * 131u + i);
}

static inline void fill(uint8_t *to, unsigned round, uint32_t a, uint32_t b, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = byte_of(round, a, b, i);
}

static inline bool is_filled(const uint8_t *at, unsigned round, uint32_t a, uint32_t b,
                             size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != byte_of(round, a, b, i))
            return false;
    return true;
}

static inline void *run(void *arg)
{
    rank_t *r = arg;
    dnet_board_t board;
    dnet_board_owner_t owner = {idle,
                                wake,
                                r->reads ? read_of : NULL,
                                r->reads ? write_of : NULL,
                                r,
                                (r->reads & ~SPINS) == 3   ? DNET_KERNEL_SLOW
                                : (r->reads & ~SPINS) == 2 ? DNET_KERNEL_FAIR
                                                           : DNET_KERNEL_FAST};
    uint8_t *from = malloc(RANKS_MAX * BYTES_MAX), *to = malloc(RANKS_MAX * BYTES_MAX);
    dnet_board_join(&board, r->memory, r->size, r->rank, r->reads & SPINS, &owner);
    dnet_board_touch(&board);
    r->good = from && to;
    for (unsigned round = 0; r->good && round < ROUNDS; round++) {
        if (r->far && round == ROUNDS_BEFORE_FAR)
            dnet_board_add_far(&board, r->far);
        r->good = r->body(&board, round, from, to);
    }
    dnet_board_leave(&board);
    free(from);
    free(to);
    return NULL;
}

#define UNTOUCHED 0xa5

/* Far memory of a board of two ranks, with a page behind it. */
static inline uint8_t *far_begin(size_t *bytes_p)
{
    dnet_board_t board;
    dnet_board_join(&board, NULL, 2, 0, false, &(dnet_board_owner_t){0});
    *bytes_p = dnet_board_far_bytes(&board);
    uint8_t *far = aligned_alloc(4096, *bytes_p + 4096);
    assert_non_null(far);
    memset(far, UNTOUCHED, *bytes_p + 4096);
    return far;
}

static inline bool is_untouched(const uint8_t *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != UNTOUCHED)
            return false;
    return true;
}

static inline void far_end(uint8_t *far, size_t bytes)
{
    assert_true(is_untouched(far + bytes, 4096));
    free(far);
}

/* Only its front is zero. */
static inline uint8_t *board_begin(uint32_t size)
{
    uint8_t *memory = aligned_alloc(4096, dnet_board_bytes(size));
    assert_non_null(memory);
    memset(memory, UNTOUCHED, dnet_board_bytes(size));
    memset(memory, 0, dnet_board_front_bytes(size));
    return memory;
}

static inline void run_all(void *memory, uint32_t size, body_t body, int reads, void *far)
{
    rank_t rank[RANKS_MAX];
    pthread_t thread[RANKS_MAX];
    for (uint32_t r = 0; r < size; r++) {
        rank[r] = (rank_t){memory, far, .size = size, .rank = r, .body = body, .reads = reads};
        assert_int_equal(pthread_create(&thread[r], NULL, run, &rank[r]), 0);
    }
    for (uint32_t r = 0; r < size; r++) {
        pthread_join(thread[r], NULL);
        assert_true(rank[r].good);
    }
    assert_true(dnet_board_left_by_all(memory, size));
}

static inline void check_on(uint32_t size, body_t body, int reads, void *far)
{
    void *memory = board_begin(size);
    run_all(memory, size, body, reads, far);
    free(memory);
}

static inline void check_with(uint32_t size, body_t body, int reads)
{
    size_t bytes;
    uint8_t *far = size == 2 ? far_begin(&bytes) : NULL;
    check_on(size, body, reads, far);
    if (far)
        far_end(far, bytes);
}

static inline void check(body_t body)
{
    static const uint32_t sizes[] = {2, 3, 5, 8, 17};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int reads = 0; reads < 4; reads++)
            check_with(sizes[i], body, reads);
    check_with(2, body, 2 | SPINS);
}

static inline uint64_t element_of(unsigned round, uint32_t rank, size_t i)
{
    return mix(round * 77u + rank * 13u + i);
}

static inline uint64_t *vector_of(const dnet_board_t *b, unsigned round, void *at, size_t count)
{
    uint64_t *v = at;
    for (size_t i = 0; i < count; i++)
        v[i] = element_of(round, b->rank, i);
    return v;
}

/* Of a board whose ranks are called in turn by one process: nobody waits. */
static inline void idle_of_none(void *arg, bool first)
{
    (void) first;
    fail_msg("waits for rank %u", dnet_board_waits_for(arg));
}

static inline void wake_none(void *arg, uint32_t rank)
{
    (void) arg;
    (void) rank;
}

#endif
