/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/collective: blocks of any lengths, with a thread for each rank.
 */
#include "board_ranks.h"

#include "collective/in_place.h"

/* Elements that rank a has for rank b, or for all: none, few, around a line, a slot, many slots; in
 * some rounds so many that all blocks are read. */
static size_t count_of(unsigned round, uint32_t a, uint32_t b)
{
    static const size_t some[] = {0, 0, 1, 3, 5, 6, 7, 31, 33, 500, 2047, 2048, 2049, 5000, 9000};
    if (round % 5 == 4)
        return 8200 + a * 10 + b;
    if (round % 5 == 3) /* all fit into a slot */
        return (a * 7 + b * 3 + round) % 9;
    return some[mix(round * 4099u + a * 17u + b) % (sizeof some / sizeof some[0])];
}

#define ELEMENT 8u

typedef struct {
    intptr_t counts[RANKS_MAX], places[RANKS_MAX];
    dnet_blocks_t blocks;
} layout_t;

/* In some rounds with gaps between blocks, and the last one first. */
static void lay_out(layout_t *l, const dnet_board_t *b, unsigned round)
{
    intptr_t at = 0;
    for (uint32_t i = 0; i < b->size; i++) {
        uint32_t r = round % 3 == 1 ? b->size - 1 - i : i;
        l->places[r] = at;
        at += l->counts[r] + (round % 3 ? r % 4 : 0);
    }
    l->blocks = (dnet_blocks_t){.counts = l->counts, .places = round % 3 ? l->places : NULL};
}

static uint8_t *block_in(const layout_t *l, uint8_t *at, uint32_t r)
{
    return at + (size_t) l->places[r] * ELEMENT;
}

static bool allgatherv_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    layout_t l;
    bool good = true;
    for (uint32_t r = 0; r < b->size; r++)
        l.counts[r] = (intptr_t) count_of(round, r, 0);
    lay_out(&l, b, round);
    uint8_t *own = round % 2 ? block_in(&l, to, b->rank) : from;
    fill(own, round, b->rank, 0, (size_t) l.counts[b->rank] * ELEMENT);
    dnet_board_allgatherv(b, own, to, &l.blocks, ELEMENT);
    for (uint32_t r = 0; r < b->size; r++)
        good &= is_filled(block_in(&l, to, r), round, r, 0, (size_t) l.counts[r] * ELEMENT);
    return good;
}

/* So many elements two ranks read, or exchange by messages. */
#define PIECES_END 8192

/* In a program that is wrong, by so many elements. */
static size_t too_long;

/* What is moved where: on all ranks the same. */
static _Atomic unsigned moved, not_moved;

/* In a program that is wrong one block of a round is too long. */
static bool alltoallv_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    layout_t give, take;
    const uint32_t wrong_giver = (uint32_t) (mix(round + 9) % b->size);
    const uint32_t wrong_taker = (uint32_t) (mix(round + 10) % b->size);
    const bool in_place = round % 4 == 3;
    for (uint32_t r = 0; r < b->size; r++) {
        uint32_t low = r < b->rank ? r : b->rank, high = r < b->rank ? b->rank : r;
        give.counts[r] = (intptr_t) count_of(round, in_place ? low : b->rank, in_place ? high : r);
        if (b->rank == wrong_giver && r == wrong_taker && !in_place)
            give.counts[r] += (intptr_t) too_long;
        take.counts[r] = (intptr_t) count_of(round, in_place ? low : r, in_place ? high : b->rank);
    }
    lay_out(&give, b, round);
    lay_out(&take, b, in_place ? round : round + 1);
    uint8_t *own = in_place ? to : from, *behind = to;
    for (uint32_t r = 0; r < b->size; r++)
        if (block_in(&take, to, r) + (size_t) take.counts[r] * ELEMENT > behind)
            behind = block_in(&take, to, r) + (size_t) take.counts[r] * ELEMENT;
    *behind = UNTOUCHED;
    for (uint32_t r = 0; r < b->size; r++)
        fill(block_in(&give, own, r), round, b->rank, r, (size_t) give.counts[r] * ELEMENT);
    const dnet_exchange_t x = {{own, give.blocks, ELEMENT}, {to, take.blocks, ELEMENT}};
    const dnet_moved_t how = dnet_board_alltoallv(b, &x);
    const bool done = how != DNET_NOT_MOVED;
    const bool cut = done && too_long && !in_place && b->rank == wrong_taker;
    bool good = (how == DNET_MOVED_CUT) == cut;
    good |= too_long && b->rank == wrong_giver && !cut; /* may be told, too */
    good &= *behind == UNTOUCHED;
    atomic_fetch_add(done ? &moved : &not_moved, 1);
    for (uint32_t r = 0; r < b->size && done; r++)
        good &=
            is_filled(block_in(&take, to, r), round, r, b->rank, (size_t) take.counts[r] * ELEMENT);
    bool reads = b->owner.read && (b->owner.copies != DNET_KERNEL_SLOW || b->size > 2);
    bool must = round % 5 == 3 || (reads && !in_place);
    if (b->size == 2) /* piece by piece */
        must |= give.counts[1 - b->rank] < PIECES_END && take.counts[1 - b->rank] < PIECES_END;
    return good && (done || too_long || !must);
}

/* All blocks in one buffer, those to take behind those to give. */
static bool alltoallv_in_one_buffer(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    layout_t give, take;
    const size_t each = 1 + round % 500;
    bool good = true;
    (void) from;
    for (uint32_t r = 0; r < b->size; r++)
        give.counts[r] = take.counts[r] = (intptr_t) each;
    lay_out(&give, b, 0);
    lay_out(&take, b, 0);
    take.blocks.places = take.places;
    for (uint32_t r = 0; r < b->size; r++) {
        take.places[r] += (intptr_t) (b->size * each);
        fill(block_in(&give, to, r), round, b->rank, r, each * ELEMENT);
    }
    memset(block_in(&take, to, 0), UNTOUCHED, b->size * each * ELEMENT);
    const dnet_exchange_t x = {{to, give.blocks, ELEMENT}, {to, take.blocks, ELEMENT}};
    if (dnet_board_alltoallv(b, &x) == DNET_NOT_MOVED)
        return true;
    for (uint32_t r = 0; r < b->size; r++)
        good &= is_filled(block_in(&take, to, r), round, r, b->rank, each * ELEMENT);
    return good;
}

static bool reduce_scatter_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    intptr_t counts[RANKS_MAX];
    const dnet_blocks_t blocks = {.counts = round % 4 ? counts : NULL,
                                  .each = count_of(round, 0, 0)};
    size_t total = 0, first = 0;
    for (uint32_t r = 0; r < b->size; r++) {
        counts[r] = (intptr_t) (round % 4 ? count_of(round, r, 0) : blocks.each);
        first += r < b->rank ? (size_t) counts[r] : 0;
        total += (size_t) counts[r];
    }
    const uint64_t *own = vector_of(b, round, from, total), *result = (const void *) to;
    dnet_board_reduce_scatter(b, own, to, &blocks, ELEMENT,
                              dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64), NULL);
    for (size_t i = 0; i < (size_t) counts[b->rank]; i++) {
        uint64_t sum = 0;
        for (uint32_t r = 0; r < b->size; r++)
            sum += element_of(round, r, first + i);
        if (result[i] != sum)
            return false;
    }
    return true;
}

static bool gather_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    const size_t bytes = bytes_of(round);
    const uint32_t root = (uint32_t) (mix(round + 5) % b->size);
    bool in_place = b->rank == root && round % 3 == 0, good = true;
    uint8_t *own = in_place ? to + root * bytes : from;
    fill(own, round, b->rank, 0, bytes);
    dnet_board_gather(b, own, b->rank == root ? to : NULL, bytes, root);
    for (uint32_t r = 0; r < b->size && b->rank == root; r++)
        good &= is_filled(to + r * bytes, round, r, 0, bytes);
    return good;
}

static bool scatter_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    const size_t bytes = bytes_of(round);
    const uint32_t root = (uint32_t) (mix(round + 6) % b->size);
    const bool keeps = b->rank != root || round % 3;
    for (uint32_t r = 0; r < b->size && b->rank == root; r++)
        fill(from + r * bytes, round, root, r, bytes);
    dnet_board_scatter(b, b->rank == root ? from : NULL, keeps ? to : NULL, bytes, root);
    return !keeps || is_filled(to, round, root, b->rank, bytes);
}

static bool gatherv_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    layout_t l = {.counts = {0}};
    const uint32_t root = (uint32_t) (mix(round + 7) % b->size);
    /* the root, unless it is in place, or the others, or all */
    const size_t extra = (b->rank == root ? round % 2 : round % 4 == 0) ? 0 : too_long;
    for (uint32_t r = 0; r < b->size; r++)
        l.counts[r] = (intptr_t) count_of(round, r, 0);
    const size_t bytes = ((size_t) l.counts[b->rank] + extra) * ELEMENT;
    lay_out(&l, b, round);
    uint8_t *own = b->rank == root && round % 2 ? block_in(&l, to, root) : from;
    fill(own, round, b->rank, 0, bytes);
    const dnet_blocks_at_t all = {to, l.blocks, ELEMENT};
    bool good = dnet_board_gatherv(b, own, bytes, &all, root) == (b->rank != root || !too_long);
    for (uint32_t r = 0; r < b->size && b->rank == root; r++)
        good &= is_filled(block_in(&l, to, r), round, r, 0, (size_t) l.counts[r] * ELEMENT);
    return good;
}

static bool scatterv_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    layout_t l;
    const uint32_t root = (uint32_t) (mix(round + 8) % b->size);
    const bool keeps = b->rank != root || round % 2;
    for (uint32_t r = 0; r < b->size; r++)
        l.counts[r] = (intptr_t) (count_of(round, r, 0) + too_long);
    lay_out(&l, b, round);
    for (uint32_t r = 0; r < b->size && b->rank == root; r++)
        fill(block_in(&l, from, r), round, root, r, (size_t) l.counts[r] * ELEMENT);
    const dnet_blocks_at_t all = {from, l.blocks, ELEMENT};
    const size_t bytes = count_of(round, b->rank, 0) * ELEMENT;
    to[bytes] = UNTOUCHED;
    bool fits = dnet_board_scatterv(b, &all, keeps ? to : NULL, bytes, root);
    return fits == (!keeps || !too_long) && to[bytes] == UNTOUCHED &&
           (!keeps || is_filled(to, round, root, b->rank, bytes));
}

static bool any_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    static const body_t each[] = {allgatherv_once, alltoallv_once, reduce_scatter_once,
                                  gather_once,     scatter_once,   gatherv_once,
                                  gatherv_once,    scatterv_once};
    if (round % 7 == 0)
        dnet_board_barrier(b);
    return each[mix(round + 1) % (sizeof each / sizeof each[0])](b, round, from, to);
}

/* A block that is longer than its place, by a little or by more than a slot, is said to be, and
 * what lies behind that is left. */
static void check_too_long(body_t body)
{
    static const uint32_t sizes[] = {2, 5};
    static const size_t by[] = {3, 9000};
    for (unsigned i = 0; i < 8; i++) {
        too_long = by[i / 4];
        check_with(sizes[i / 2 % 2], body, i % 2);
        check_with(2, body, 2 | SPINS);
    }
    too_long = 0;
}

static void test_allgatherv(void **state)
{
    (void) state;
    check(allgatherv_once);
}

/* Where nothing can be read, and too much is given, on all ranks nothing is done. */
static void test_alltoallv(void **state)
{
    (void) state;
    check(alltoallv_once);
    static const uint32_t sizes[] = {2, 5};
    for (unsigned i = 0; i < 2; i++) {
        moved = not_moved = 0;
        check_with(sizes[i], alltoallv_once, 0);
        assert_true(moved > 0 && moved % sizes[i] == 0);
        assert_true(not_moved > 0 && not_moved % sizes[i] == 0);
    }
}

static void test_alltoallv_in_one_buffer(void **state)
{
    (void) state;
    check(alltoallv_in_one_buffer);
}

static void test_alltoallv_of_blocks_that_are_too_long(void **state)
{
    (void) state;
    check_too_long(alltoallv_once);
}

static void test_reduce_scatter(void **state)
{
    (void) state;
    check(reduce_scatter_once);
}

static void test_gather(void **state)
{
    (void) state;
    check(gather_once);
}

/* In a program that is wrong the last rank has more than the root has room for. */
static bool long_gather_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    const size_t each = 2 * READ_LEAST_BYTES, own = each + (b->rank == b->size - 1 ? ELEMENT : 0);
    fill(from, round, b->rank, 0, own);
    to[b->size * each] = UNTOUCHED;
    dnet_board_barrier(b);
    dnet_board_gather(b, from, to, own, 0);
    bool good = b->rank != 0 || to[b->size * each] == UNTOUCHED;
    for (uint32_t r = 0; r < b->size && b->rank == 0; r++)
        good &= is_filled(to + r * each, round, r, 0, each);
    return good;
}

static void test_a_gather_in_place_writes_to_where_there_is_room(void **state)
{
    (void) state;
    check_with(5, long_gather_once, 1);
    check_with(2, long_gather_once, 2 | SPINS);
}

static void test_scatter(void **state)
{
    (void) state;
    check(scatter_once);
}

static void test_gatherv(void **state)
{
    (void) state;
    check(gatherv_once);
    check_too_long(gatherv_once);
}

static void test_scatterv(void **state)
{
    (void) state;
    check(scatterv_once);
    check_too_long(scatterv_once);
}

static void test_all_of_them_mixed(void **state)
{
    (void) state;
    check(any_once);
}

/* Where the kernel copies fast, or fairly fast, and what is combined only where it is fast. */
static void test_long_blocks_are_read(void **state)
{
    (void) state;
    static const struct {
        body_t body;
        uint32_t size;
        int reads;
        bool made;
    } want[] = {
        {alltoallv_once, 5, 1, true},        {alltoallv_once, 5, 2, true},
        {alltoallv_once, 5, 3, true},        {alltoallv_once, 5, 0, false},
        {allgatherv_once, 2, 1, true},       {allgatherv_once, 2, 2, true},
        {allgatherv_once, 5, 1, false},      {reduce_scatter_once, 5, 1, true},
        {reduce_scatter_once, 5, 2, false},  {reduce_scatter_once, 5, 3, false},
        {reduce_scatter_once, 5, 0, false},  {scatter_once, 5, 1, true},
        {scatter_once, 5, 2, true},          {scatter_once, 5, 0, false},
        {scatter_once, 2, 1, false},         {scatterv_once, 5, 1, true},
        {scatterv_once, 5, 2, true},         {scatterv_once, 5, 0, false},
        {scatterv_once, 2, 1, false},        {scatter_once, 2, 2, false},
        {scatter_once, 2, 2 | SPINS, true},  {scatterv_once, 2, 2, false},
        {scatterv_once, 2, 2 | SPINS, true},
    };
    for (unsigned i = 0; i < sizeof want / sizeof want[0]; i++) {
        reads_made = 0;
        check_with(want[i].size, want[i].body, want[i].reads);
        assert_int_equal(reads_made > 0, want[i].made);
    }
}

/* Several times, so that slots are used again; who has a block is the last to come. */
static void test_who_gets_no_block_does_not_wait(void **state)
{
    (void) state;
    dnet_board_t rank[3];
    dnet_board_owner_t owner = {idle_of_none, wake_none, NULL, NULL, NULL, DNET_KERNEL_SLOW};
    const intptr_t counts[3] = {2, 0, 0};
    const dnet_blocks_t blocks = {.counts = counts};
    void *memory = aligned_alloc(4096, dnet_board_bytes(3));
    assert_non_null(memory);
    memset(memory, 0, dnet_board_bytes(3));
    for (uint32_t r = 0; r < 3; r++) {
        owner.arg = &rank[r];
        dnet_board_join(&rank[r], memory, 3, r, true, &owner);
    }
    for (uint64_t round = 0; round < 100; round++) {
        uint64_t sum[2] = {0, 0};
        for (uint32_t r = 3; r-- > 0;) {
            const uint64_t own[2] = {round + r, round * r};
            dnet_board_reduce_scatter(&rank[r], own, sum, &blocks, ELEMENT,
                                      dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64),
                                      NULL);
        }
        assert_int_equal(sum[0], 3 * round + 3);
        assert_int_equal(sum[1], 3 * round);
    }
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allgatherv),
        cmocka_unit_test(test_alltoallv),
        cmocka_unit_test(test_alltoallv_in_one_buffer),
        cmocka_unit_test(test_alltoallv_of_blocks_that_are_too_long),
        cmocka_unit_test(test_reduce_scatter),
        cmocka_unit_test(test_gather),
        cmocka_unit_test(test_a_gather_in_place_writes_to_where_there_is_room),
        cmocka_unit_test(test_scatter),
        cmocka_unit_test(test_gatherv),
        cmocka_unit_test(test_scatterv),
        cmocka_unit_test(test_all_of_them_mixed),
        cmocka_unit_test(test_long_blocks_are_read),
        cmocka_unit_test(test_who_gets_no_block_does_not_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
