/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/collective: boards, with a thread for each rank.
 */
#include "board_ranks.h"
#include "common/compiler.h"

static bool bcast_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    size_t bytes = bytes_of(round);
    uint32_t root = (uint32_t) (mix(round + 7) % b->size);
    (void) to;
    if (b->rank == root)
        fill(from, round, root, 0, bytes);
    else
        memset(from, 0, bytes);
    dnet_board_bcast(b, from, bytes, root);
    return is_filled(from, round, root, 0, bytes);
}

static size_t exact_bytes; /* of a vector */

static bool exact_bcast_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    (void) to;
    dnet_board_bcast(b, from, exact_bytes, round % b->size);
    return true;
}

static bool exact_gather_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    (void) round;
    dnet_board_allgather(b, from, to, exact_bytes);
    return true;
}

static bool exact_exchange_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    (void) round;
    dnet_board_alltoall(b, from, to, exact_bytes);
    return true;
}

static bool exact_allreduce_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    (void) round;
    memset(from, 0, exact_bytes);
    dnet_board_allreduce(b, from, to, exact_bytes / 8, 8,
                         dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64), NULL);
    return true;
}

static bool exact_reduce_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    memset(from, 0, exact_bytes);
    dnet_board_reduce(b, from, to, exact_bytes / 8, 8,
                      dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64), NULL,
                      round % b->size);
    return true;
}

/* Vectors that are read where they are, and go by slots where reading is slow: of two ranks those
 * of a root, and those that are combined, always. */
static void test_slow_reads_are_for_longer_vectors(void **state)
{
    (void) state;
    static const struct {
        body_t body;
        size_t bytes;
        int reads;
        bool made;
    } want[] = {
        {exact_bcast_once, 4096, 1, false},        {exact_bcast_once, 16384, 1, true},
        {exact_bcast_once, 1048576, 2, false},     {exact_bcast_once, 1048576, 3, false},
        {exact_gather_once, 4096, 1, false},       {exact_gather_once, 16384, 1, true},
        {exact_gather_once, 8192, 2, false},       {exact_gather_once, 16384, 2, true},
        {exact_gather_once, 65536, 3, false},      {exact_gather_once, 131072, 3, true},
        {exact_exchange_once, 4096, 1, false},     {exact_exchange_once, 8192, 1, true},
        {exact_exchange_once, 8192, 2, false},     {exact_exchange_once, 16384, 2, true},
        {exact_exchange_once, 32768, 3, false},    {exact_exchange_once, 65536, 3, true},
        {exact_allreduce_once, 4096, 1, false},    {exact_allreduce_once, 16384, 1, true},
        {exact_allreduce_once, 1048576, 2, false}, {exact_allreduce_once, 1048576, 3, false},
        {exact_reduce_once, 4096, 1, false},       {exact_reduce_once, 8192, 1, true},
        {exact_reduce_once, 1048576, 2, false},    {exact_reduce_once, 1048576, 3, false},
    };
    for (unsigned i = 0; i < sizeof want / sizeof want[0]; i++) {
        exact_bytes = want[i].bytes;
        reads_made = 0;
        check_with(2, want[i].body, want[i].reads);
        assert_int_equal(reads_made > 0, want[i].made);
    }
}

/* Blocks that more than a few ranks exchange, none of which has a processor of its own: sooner
 * where the kernel is slow, on Zen 1 however fast it is. */
static void test_blocks_of_many_are_moved_in_pairs(void **state)
{
    (void) state;
    for (int reads = 0; reads < 4; reads++)
        for (uint32_t size = 4; size <= 5; size++)
            for (exact_bytes = 4096; exact_bytes <= 32768; exact_bytes *= 2) {
                bool many = size > 4, early = many && dnet_is_zen1();
                size_t least = reads == 1   ? (many ? 8192 : 16384)
                               : early      ? 8192
                               : reads == 2 ? 32768
                                            : (many ? 32768 : 65536);

                reads_made = 0;
                check_with(size, exact_exchange_once, reads);
                assert_int_equal(reads_made > 0, reads && exact_bytes >= least);
            }
}

static bool allgather_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    size_t bytes = bytes_of(round);
    bool in_place = round % 3 == 0, good = true;
    uint8_t *own = in_place ? to + b->rank * bytes : from;
    fill(own, round, b->rank, 0, bytes);
    dnet_board_allgather(b, own, to, bytes);
    for (uint32_t r = 0; r < b->size; r++)
        good &= is_filled(to + r * bytes, round, r, 0, bytes);
    return good;
}

static bool alltoall_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    size_t bytes = bytes_of(round);
    bool good = true;
    uint8_t *own = round % 3 ? from : to;
    for (uint32_t r = 0; r < b->size; r++)
        fill(own + r * bytes, round, b->rank, r, bytes);
    dnet_board_alltoall(b, own, to, bytes);
    for (uint32_t r = 0; r < b->size; r++)
        good &= is_filled(to + r * bytes, round, r, b->rank, bytes);
    return good;
}

static bool is_sum(const dnet_board_t *b, unsigned round, const uint64_t *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        for (uint32_t r = 0; r < b->size; r++)
            sum += element_of(round, r, i);
        if (at[i] != sum)
            return false;
    }
    return true;
}

static bool allreduce_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    size_t count = bytes_of(round) / 8;
    uint64_t *own = vector_of(b, round, round % 3 ? from : to, count);
    dnet_board_allreduce(b, own, to, count, 8,
                         dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64), NULL);
    return is_sum(b, round, (const uint64_t *) (const void *) to, count);
}

static bool reduce_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    size_t count = bytes_of(round) / 8;
    uint32_t root = (uint32_t) (mix(round + 9) % b->size);
    bool in_place = b->rank == root && round % 3 == 0;
    uint64_t *own = vector_of(b, round, in_place ? to : from, count);
    dnet_board_reduce(b, own, b->rank == root ? to : NULL, count, 8,
                      dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64), NULL, root);
    return b->rank != root || is_sum(b, round, (const uint64_t *) (const void *) to, count);
}

static unsigned loop_us; /* that a call takes besides */

static void slow_sum(const void *in, const void *with, void *result, size_t count, const void *how)
{
    usleep(loop_us);
    dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64)(in, with, result, count, how);
}

/* One rank is the root in the first half of the rounds, the other one in the second. */
static bool chosen_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    const size_t count = exact_bytes / 8;
    const uint32_t root = round < ROUNDS / 2 ? 0 : 1;
    const bool in_place = b->rank == root && b->far.memory && round % 2; /* read at once, too */
    uint64_t *own = vector_of(b, round, in_place ? to : from, count);
    dnet_board_reduce(b, own, b->rank == root ? to : NULL, count, 8, slow_sum, NULL, root);
    return b->rank != root || is_sum(b, round, (const uint64_t *) (const void *) to, count);
}

/* By slots there is a call of the loop for each, read there is one: each root tries both ways. */
static void test_reduce_to_one_of_two_goes_the_way_that_takes_less_time(void **state)
{
    (void) state;
    static const struct {
        size_t bytes;
        int reads;
        unsigned read_us, loop_us, made;
    } want[] = {
        {131072, 2 | SPINS, 0, 500, ROUNDS - 2 * DNET_CHOICE_CALLS},
        {131072, 2 | SPINS, 20000, 0, 2 * DNET_CHOICE_CALLS},
        {131072, 3 | SPINS, 0, 500, 0}, /* the kernel is slow */
        {32768, 2 | SPINS, 0, 500, 0},
    };
    for (unsigned i = 0; i < sizeof want / sizeof want[0]; i++) {
        exact_bytes = want[i].bytes;
        read_us = want[i].read_us;
        loop_us = want[i].loop_us;
        reads_made = 0;
        check_with(2, chosen_once, want[i].reads);
        assert_int_equal(reads_made, want[i].made);
    }
    read_us = 0;
}

/* Commutative, but not associative: what comes of it says which were combined first. */
static void by_twos(const void *in, const void *with, void *result, size_t count, const void *how)
{
    const uint64_t *a = in, *b = with;
    uint64_t *to = result;
    (void) how;
    for (size_t i = 0; i < count; i++)
        to[i] = mix(a[i]) + mix(b[i]);
}

/* Whoever comes first, the same vectors give the same bits. */
static bool repeated_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    size_t count = bytes_of(round) / 8, half = RANKS_MAX * BYTES_MAX / 2;
    uint32_t root = (uint32_t) (mix(round + 9) % b->size);
    uint64_t *own = vector_of(b, round, from, count);
    dnet_board_reduce(b, own, to, count, 8, by_twos, NULL, root);
    if ((round + b->rank) % 3 == 0)
        sched_yield();
    dnet_board_reduce(b, own, to + half, count, 8, by_twos, NULL, root);
    return b->rank != root || memcmp(to, to + half, count * 8) == 0;
}

/* No sum: what comes of it says in which order it was combined. */
static void in_order(const void *in, const void *with, void *result, size_t count, const void *how)
{
    const uint64_t *a = in, *b = with;
    uint64_t *to = result;
    (void) how;
    for (size_t i = 0; i < count; i++)
        to[i] = mix(a[i]) + 3 * b[i];
}

/* All ranks have the same bits. */
static bool same_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    size_t bytes = bytes_of(round) / 8 * 8;
    bool in_place = round % 3 == 0, good = true;
    uint64_t *own = vector_of(b, round, in_place ? to : from, bytes / 8);
    dnet_board_allreduce(b, own, to, bytes / 8, 8, in_order, NULL);
    for (uint32_t root = 0; root < b->size; root++) {
        memcpy(from, to, bytes);
        dnet_board_bcast(b, from, bytes, root);
        good &= memcmp(from, to, bytes) == 0;
    }
    return good;
}

static void test_allreduce_gives_all_ranks_the_same_bits(void **state)
{
    (void) state;
    check(same_once);
}

/* More ranks than two combine a part each. */
static bool whole_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    (void) exact_allreduce_once(b, round, from, to);
    return (*dnet_board_counter(b, b->rank, COMBINED) == 0) == (b->size == 2);
}

static void test_two_ranks_combine_all_each(void **state)
{
    (void) state;
    exact_bytes = 65536;
    check_with(2, whole_once, 0);
    check_with(3, whole_once, 0);
}

static bool long_bcast_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    size_t bytes = BYTES_MAX / 2 + mix(round) % (BYTES_MAX / 2);
    (void) to;
    if (b->rank == 0)
        fill(from, round, 0, 0, bytes);
    dnet_board_bcast(b, from, bytes, 0);
    return is_filled(from, round, 0, 0, bytes);
}

/* The root's steps use all that it has of the far memory, but for what a step of 16 KB did not fit
 * into, and nothing else. */
static void test_long_data_of_two_ranks_go_round_in_far_memory(void **state)
{
    (void) state;
    size_t bytes, used = 0;
    uint8_t *far = far_begin(&bytes);
    check_on(2, long_bcast_once, 0, far);
    for (size_t at = 0; at < bytes / 2; at += 4096)
        used += !is_untouched(far + at, 4096);
    assert_true(used * 4096 > bytes / 2 - DNET_BOARD_SLOT_MAX_BYTES);
    assert_true(is_untouched(far + bytes / 2, bytes / 2));
    far_end(far, bytes);
}

static void test_bcast(void **state)
{
    (void) state;
    check(bcast_once);
}

static void test_allgather(void **state)
{
    (void) state;
    check(allgather_once);
}

static void test_alltoall(void **state)
{
    (void) state;
    check(alltoall_once);
}

static void test_allreduce(void **state)
{
    (void) state;
    check(allreduce_once);
}

static void test_reduce(void **state)
{
    (void) state;
    check(reduce_once);
}

static void test_reduce_gives_the_same_bits_again(void **state)
{
    (void) state;
    check(repeated_once);
}

/* Zeros of both signs, which are neither less nor more than each other: what is left of them is
 * that of rank 0, in whatever order ranks come.  The root is the last one, for it waits. */
static void check_order(const uint32_t order[4])
{
    enum { SIZE = 4, COUNT_OF_ZEROS = 1000 };
    static double zeros[SIZE][COUNT_OF_ZEROS], result[COUNT_OF_ZEROS];
    const uint32_t root = order[SIZE - 1];
    dnet_board_t rank[SIZE];
    dnet_board_owner_t owner = {idle_of_none, wake_none, NULL, NULL, NULL, DNET_KERNEL_SLOW};
    uint8_t *memory = board_begin(SIZE);
    for (uint32_t r = 0; r < SIZE; r++) {
        owner.arg = &rank[r];
        dnet_board_join(&rank[r], memory, SIZE, r, false, &owner);
        for (size_t i = 0; i < COUNT_OF_ZEROS; i++)
            zeros[r][i] = (r + i) % 2 || (r == 2 && i % 3) ? -0.0 : 0.0;
    }
    for (uint32_t i = 0; i < SIZE; i++)
        dnet_board_reduce(&rank[order[i]], zeros[order[i]], order[i] == root ? result : NULL,
                          COUNT_OF_ZEROS, sizeof(double),
                          dnet_reduce_loop(DNET_REDUCE_MIN, DNET_REDUCE_OF_DOUBLE), NULL, root);
    assert_memory_equal(result, zeros[0], sizeof(result));
    free(memory);
}

static void test_reduce_gives_the_same_bits_in_whatever_order_ranks_come(void **state)
{
    (void) state;
    for (uint32_t i = 0; i < 256; i++) {
        const uint32_t order[4] = {i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6};
        if ((1u << order[0] | 1u << order[1] | 1u << order[2] | 1u << order[3]) == 15)
            check_order(order);
    }
}

/* Ranks that only give run ahead of those that take, as far as there are slots. */
static bool any_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    static const body_t each[] = {bcast_once,    bcast_once,     reduce_once,
                                  alltoall_once, allreduce_once, allgather_once};
    return each[mix(round + 1) % (sizeof each / sizeof each[0])](b, round, from, to);
}

static void test_all_of_them_mixed(void **state)
{
    (void) state;
    check(any_once);
}

/* All have come to a barrier before any goes on. */
static _Atomic unsigned come;

static bool barrier_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    (void) from;
    (void) to;
    atomic_fetch_add(&come, 1);
    dnet_board_barrier(b);
    bool good = atomic_load(&come) >= (round + 1) * b->size;
    dnet_board_barrier(b);
    return good;
}

static void test_barrier(void **state)
{
    (void) state;
    static const uint32_t sizes[] = {2, 3, 17};
    for (unsigned i = 0; i < 3; i++) {
        atomic_store(&come, 0);
        check_with(sizes[i], barrier_once, false);
    }
}

/* The same with a barrier that the root of the broadcast before it leads. */
static bool led_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    (void) to;
    uint64_t data = round;
    dnet_board_bcast(b, b->rank == round % b->size ? (void *) &data : from, 8, round % b->size);
    return barrier_once(b, round, from, to);
}

static void test_barrier_after_bcast(void **state)
{
    (void) state;
    atomic_store(&come, 0);
    check_with(5, led_once, false);
}

/* ---- waiting ---- */

/* Three ranks in one thread: each one that waits has the next one come. */
typedef struct {
    dnet_board_t rank[3];
    uint32_t come, waits_for[2];
} three_t;

static void idle_of_three(void *arg, bool first)
{
    three_t *t = arg;
    uint32_t r = t->come++;
    assert_true(first && r < 2);
    t->waits_for[r] = dnet_board_waits_for(&t->rank[r]);
    dnet_board_barrier(&t->rank[r + 1]);
}

static void three_meet(three_t *t, bool spins, uint32_t root)
{
    uint64_t data = 0;
    dnet_board_owner_t owner = {idle_of_three, wake, NULL, NULL, t, DNET_KERNEL_FAST};
    void *memory = aligned_alloc(4096, dnet_board_bytes(3));
    assert_non_null(memory);
    memset(memory, 0, dnet_board_bytes(3));
    for (uint32_t r = 0; r < 3; r++)
        dnet_board_join(&t->rank[r], memory, 3, r, spins, &owner);
    dnet_board_bcast(&t->rank[root], &data, 8, root);
    for (uint32_t r = 0; r < 3; r++)
        if (r != root)
            dnet_board_bcast(&t->rank[r], &data, 8, root);
    t->come = 0;
    dnet_board_barrier(&t->rank[0]);
    free(memory);
}

static void test_root_of_a_bcast_leads_the_barrier_after_it(void **state)
{
    (void) state;
    three_t t;
    three_meet(&t, false, 2);
    assert_int_equal(t.waits_for[0], 2);
    assert_int_equal(t.waits_for[1], 2);
    three_meet(&t, true, 2); /* not where each rank has a processor */
    assert_int_equal(t.waits_for[0], 1);
}

/* Three ranks in one thread, without processors: each one that has been idle for long has the next
 * one come.  @param depth  how many of them wait */
typedef struct {
    dnet_board_t rank[3];
    uint32_t depth, idle[3], first_waits_for[3], woken[3], woken_early;
} meeting_t;

static void idle_of_meeting(void *arg, bool first)
{
    meeting_t *m = arg;
    uint32_t last = m->depth;
    if (first)
        m->first_waits_for[last] = dnet_board_waits_for(&m->rank[0]);
    if (++m->idle[last] != 100)
        return;
    m->depth++;
    for (uint32_t r = 0; r < 3; r++)
        m->woken_early += m->woken[r];
    dnet_board_barrier(&m->rank[m->depth]);
}

static void wake_of_meeting(void *arg, uint32_t rank)
{
    ((meeting_t *) arg)->woken[rank]++;
}

static void test_the_last_one_of_a_barrier_wakes_all(void **state)
{
    (void) state;
    meeting_t m = {.depth = 0};
    dnet_board_owner_t owner = {idle_of_meeting, wake_of_meeting, NULL, NULL, &m, DNET_KERNEL_FAST};
    void *memory = aligned_alloc(4096, dnet_board_bytes(3));
    assert_non_null(memory);
    memset(memory, 0, dnet_board_bytes(3));
    for (uint32_t r = 0; r < 3; r++)
        dnet_board_join(&m.rank[r], memory, 3, r, false, &owner);
    dnet_board_barrier(&m.rank[0]);
    assert_int_equal(m.depth, 2);
    assert_int_equal(m.first_waits_for[0], 1); /* the first rank says who has not come yet */
    assert_int_equal(m.first_waits_for[1], 2);
    assert_int_equal(m.woken_early, 0);
    assert_int_equal(m.woken[0], 1);
    assert_int_equal(m.woken[1], 1);
    assert_int_equal(m.woken[2], 0);
    assert_int_equal(m.idle[0], 100); /* nobody was idle again */
    assert_int_equal(m.idle[1], 100);
    for (uint32_t r = 0; r < 3; r++)
        assert_false(dnet_board_waits(&m.rank[r]));
    free(memory);
}

typedef struct {
    dnet_board_t *waits, *comes, *leaves;
    unsigned idle, wakes, needless;
    uint32_t waits_for, woken;
    bool good;
} pair_t;

/* The rank that is waited for comes when this one has been idle for long, and after another one,
 * which wakes nobody. */
static void idle_of_pair(void *arg, bool first)
{
    pair_t *p = arg;
    p->good &= first == (p->idle == 0);
    p->waits_for = dnet_board_waits_for(p->waits);
    if (++p->idle == 99) {
        dnet_board_leave(p->leaves);
        p->needless = p->wakes;
    }
    if (p->idle == 100)
        dnet_board_bcast(p->comes, &(uint64_t){42}, 8, 1);
}

static void wake_of_pair(void *arg, uint32_t rank)
{
    pair_t *p = arg;
    p->wakes++;
    p->woken = rank;
}

static void test_who_dozes_is_woken_and_says_for_whom_it_waits(void **state)
{
    (void) state;
    dnet_board_t a, b, c;
    pair_t pair = {.waits = &a, .comes = &b, .leaves = &c, .good = true};
    dnet_board_owner_t owner = {idle_of_pair, wake_of_pair, NULL, NULL, &pair, DNET_KERNEL_FAST};
    void *memory = aligned_alloc(4096, dnet_board_bytes(3));
    uint64_t word = 0;
    assert_non_null(memory);
    memset(memory, 0, dnet_board_bytes(3));
    dnet_board_join(&a, memory, 3, 0, true, &owner);
    dnet_board_join(&b, memory, 3, 1, true, &owner);
    dnet_board_join(&c, memory, 3, 2, true, &owner);
    assert_int_equal(dnet_board_waits_for(&a), DNET_BOARD_NO_RANK);
    dnet_board_bcast(&a, &word, 8, 1);
    assert_int_equal(word, 42);
    assert_int_equal(pair.waits_for, 1);
    assert_int_equal(pair.idle, 100);
    assert_true(pair.good);
    assert_int_equal(pair.needless, 0);
    assert_int_not_equal(pair.wakes, 0);
    assert_int_equal(pair.woken, 0);
    assert_int_equal(dnet_board_waits_for(&a), DNET_BOARD_NO_RANK);
    /* Nobody dozes any more. */
    pair.wakes = 0;
    dnet_board_bcast(&b, &word, 8, 1);
    dnet_board_bcast(&a, &word, 8, 1);
    assert_int_equal(pair.wakes, 0);
    dnet_board_leave(&a);
    assert_false(dnet_board_left_by_all(memory, 3));
    dnet_board_leave(&b);
    assert_true(dnet_board_left_by_all(memory, 3));
    free(memory);
}

static void test_boards_are_bounded(void **state)
{
    (void) state;
    for (uint32_t size = 2; size <= DNET_BOARD_MAX_RANKS; size++)
        assert_true(dnet_board_bytes(size) <= 7u << 20);
    dnet_board_t two;
    dnet_board_join(&two, NULL, 2, 0, false, &(dnet_board_owner_t){0});
    assert_true(dnet_board_bytes(2) + dnet_board_far_bytes(&two) <= DNET_BOARD_MAX_BYTES);
}

/* Rank 0 wants each way in turn; of some blocks, one of the two ranks has none in one piece. */
static bool pair_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    uint32_t other = 1 - b->rank;
    size_t bytes = bytes_of(round);
    dnet_pair_way_t ways[] = {DNET_PAIR_READS, DNET_PAIR_PUTS, DNET_PAIR_OTHERWISE};
    dnet_pair_way_t want = ways[round % 3], mine = ways[(round + b->rank) % 3];
    if ((want == DNET_PAIR_READS && !b->owner.read) || round % 5 < 2)
        want = DNET_PAIR_OTHERWISE;
    fill(from, round, b->rank, other, bytes);
    if (dnet_board_pair_offer(b, round % 5 != b->rank ? from : NULL, mine) != want)
        return false;
    if (want == DNET_PAIR_OTHERWISE)
        return true;
    if (want == DNET_PAIR_READS) {
        dnet_board_pair_read(b, to, bytes);
        dnet_board_pair_end(b);
    } else {
        dnet_board_pair_put(b, from, to, bytes);
    }
    memset(from, 0, bytes); /* nobody needs it any more */
    return is_filled(to, round, other, b->rank, bytes);
}

static void test_two_ranks_exchange_as_rank_0_would(void **state)
{
    (void) state;
    for (int reads = 0; reads < 4; reads++)
        check_with(2, pair_once, reads);
}

static void test_slots_are_many_where_ranks_run_ahead(void **state)
{
    (void) state;
    static const struct {
        uint32_t size, slots;
    } want[] = {{2, 4}, {3, 16}, {16, 16}, {17, 8}, {32, 8}, {33, 4}, {256, 4}};
    for (unsigned i = 0; i < sizeof want / sizeof want[0]; i++) {
        dnet_board_t board;
        dnet_board_join(&board, NULL, want[i].size, 0, false, &(dnet_board_owner_t){0});
        assert_int_equal(board.slots, want[i].slots);
    }
}

#define SHORT 256u

static bool short_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    uint32_t root = round % b->size;
    size_t bytes = round % 2 ? SHORT : 56, block = SHORT / b->size;
    fill(from, round, b->rank, 0, bytes);
    fill(to, round, root, 0, b->rank == root ? bytes : 0);
    dnet_board_bcast(b, to, bytes, root);
    bool good = is_filled(to, round, root, 0, bytes);
    dnet_board_allgather(b, from, to, bytes);
    for (uint32_t r = 0; r < b->size; r++)
        good &= is_filled(to + r * bytes, round, r, 0, bytes);
    for (uint32_t r = 0; r < b->size; r++)
        fill(from + r * block, round, b->rank, r, block);
    dnet_board_alltoall(b, from, to, block);
    for (uint32_t r = 0; r < b->size; r++)
        good &= is_filled(to + r * block, round, r, b->rank, block);
    dnet_board_barrier(b);
    return good;
}

/* Their pages are few, and all had when the board is made. */
static void test_short_collectives_stay_in_the_front(void **state)
{
    (void) state;
    static const uint32_t sizes[] = {2, 4, 17};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        size_t front = dnet_board_front_bytes(sizes[i]);
        uint8_t *memory = board_begin(sizes[i]);
        run_all(memory, sizes[i], short_once, 0, NULL);
        assert_true(is_untouched(memory + front, dnet_board_bytes(sizes[i]) - front));
        free(memory);
    }
}

/* ---- loops ---- */

/* Vectors that begin at a line, and one element behind it. */
#define COUNT 2051u

#define CHECK_LOOP(op, of_a_and_b, name, type, ...) \
    for (size_t at = 0; at < 2; at++) \
        for (size_t count = COUNT; count > 0; count /= 31) { \
            static _Alignas(64) type in[COUNT], with[COUNT + 2], result[COUNT + 2], want[COUNT]; \
            for (size_t i = 0; i < count; i++) { \
                type a = in[i] = (type) (mix(i) >> 49); \
                type b = with[at + i] = (type) (mix(~i) >> 49); \
                want[i] = (type) (of_a_and_b); \
            } \
            result[at + count] = with[at + count] = 1; \
            dnet_reduce_fn loop = dnet_reduce_loop(DNET_REDUCE_##op, DNET_REDUCE_OF_##name); \
            loop(in, with + at, result + at, count, NULL); \
            assert_memory_equal(result + at, want, count * sizeof want[0]); \
            loop(in, with + at, with + at, count, NULL); \
            assert_memory_equal(with + at, want, count * sizeof want[0]); \
            assert_true(result[at + count] == 1 && with[at + count] == 1); \
        }
#define CHECK_LOOPS(name, type, ...) DNET_REDUCE_EACH_OP(CHECK_LOOP, name, type, )

static void test_loops(void **state)
{
    (void) state;
    DNET_REDUCE_EACH_TYPE(CHECK_LOOPS, )
    int32_t most[2] = {INT32_MAX, INT32_MIN}, one[2] = {1, -1};
    dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_INT32)(one, most, most, 2, NULL);
    assert_int_equal(most[0], INT32_MIN);
    assert_int_equal(most[1], INT32_MAX);
    uint16_t factor[1] = {UINT16_MAX}, product[1] = {UINT16_MAX};
    dnet_reduce_loop(DNET_REDUCE_PROD, DNET_REDUCE_OF_UINT16)(factor, product, product, 1, NULL);
    assert_int_equal(product[0], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_bcast),
        cmocka_unit_test(test_allgather),
        cmocka_unit_test(test_slow_reads_are_for_longer_vectors),
        cmocka_unit_test(test_blocks_of_many_are_moved_in_pairs),
        cmocka_unit_test(test_alltoall),
        cmocka_unit_test(test_allreduce),
        cmocka_unit_test(test_allreduce_gives_all_ranks_the_same_bits),
        cmocka_unit_test(test_two_ranks_combine_all_each),
        cmocka_unit_test(test_long_data_of_two_ranks_go_round_in_far_memory),
        cmocka_unit_test(test_reduce),
        cmocka_unit_test(test_reduce_to_one_of_two_goes_the_way_that_takes_less_time),
        cmocka_unit_test(test_reduce_gives_the_same_bits_again),
        cmocka_unit_test(test_reduce_gives_the_same_bits_in_whatever_order_ranks_come),
        cmocka_unit_test(test_barrier_after_bcast),
        cmocka_unit_test(test_root_of_a_bcast_leads_the_barrier_after_it),
        cmocka_unit_test(test_two_ranks_exchange_as_rank_0_would),
        cmocka_unit_test(test_short_collectives_stay_in_the_front),
        cmocka_unit_test(test_slots_are_many_where_ranks_run_ahead),
        cmocka_unit_test(test_all_of_them_mixed),
        cmocka_unit_test(test_the_last_one_of_a_barrier_wakes_all),
        cmocka_unit_test(test_who_dozes_is_woken_and_says_for_whom_it_waits),
        cmocka_unit_test(test_boards_are_bounded),
        cmocka_unit_test(test_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
