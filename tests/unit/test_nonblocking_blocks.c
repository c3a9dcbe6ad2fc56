/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives whose blocks have any lengths: what each rank gets, many at a time, with
 * blocks in a line, in a slot, in pieces and by address, and such as are longer than their places.
 */
#include "board_ranks.h"
#include "collective/nonblocking.h"

#define AT_A_TIME 12u /* more than there are slots */
#define PLACE_BYTES 150000u

static const dnet_nonblocking_kind_t kinds[] = {
    DNET_NONBLOCKING_ALLGATHER, DNET_NONBLOCKING_REDUCE_SCATTER, DNET_NONBLOCKING_GATHERV,
    DNET_NONBLOCKING_SCATTERV, DNET_NONBLOCKING_ALLTOALLV};

typedef struct {
    dnet_nonblocking_t op;
    unsigned which;
    intptr_t given[RANKS_MAX], taken[RANKS_MAX], places[RANKS_MAX];
} one_t;

/* Bytes between places of blocks. */
static size_t room_of(uint32_t size)
{
    return PLACE_BYTES / size / 8 * 8;
}

static bool has_only_one_block(dnet_nonblocking_kind_t kind)
{
    return kind == DNET_NONBLOCKING_ALLGATHER || kind == DNET_NONBLOCKING_REDUCE_SCATTER;
}

/* Of what rank a has for rank b. */
static size_t length_of(const one_t *x, uint32_t size, uint32_t a, uint32_t b)
{
    static const size_t most[] = {9, 49, 300, PLACE_BYTES};
    const size_t limit = most[mix(x->which * 3u) % 4], room = room_of(size);
    const uint64_t random =
        mix(x->which * 101u + a * 17u + (has_only_one_block(x->op.kind) ? 0 : b));
    if (random % 5 == 0)
        return 0;
    /* One of two ranks that have a block alone knows no other length. */
    size_t bytes = random / 5 % (limit < room ? limit : room);
    if (size == 2 &&
        (x->op.kind == DNET_NONBLOCKING_GATHERV || x->op.kind == DNET_NONBLOCKING_SCATTERV))
        bytes = bytes > 16384 ? 16384 : bytes;
    return x->op.kind == DNET_NONBLOCKING_REDUCE_SCATTER ? bytes / 8 * 8 : bytes;
}

/* Every seventh has a rank whose block is longer than the place for it. */
static bool is_cut(const one_t *x, uint32_t size, uint32_t a, uint32_t b)
{
    return !has_only_one_block(x->op.kind) && x->which % 7 == 0 && x->which % size == a &&
           length_of(x, size, a, b) > 0;
}

static size_t place_of(const one_t *x, uint32_t size, uint32_t a, uint32_t b)
{
    return length_of(x, size, a, b) - is_cut(x, size, a, b);
}

static void make(one_t *x, const dnet_board_t *b, unsigned which, uint8_t *from, uint8_t *to)
{
    const bool in_place = which % 3 == 0;
    const uint32_t size = b->size;
    size_t total = 0, longest = 0;
    x->which = which;
    x->op = (dnet_nonblocking_t){.kind = kinds[mix(which * 31u) % 5],
                                 .root = (uint32_t) (mix(which * 7u) % size),
                                 .from = from,
                                 .to = to,
                                 .fn = dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64)};
    dnet_nonblocking_t *op = &x->op;
    const bool is_root = b->rank == op->root;
    memset(to, UNTOUCHED, PLACE_BYTES);
    for (uint32_t r = 0; r < size; r++) {
        x->given[r] = (intptr_t) length_of(x, size, b->rank, r);
        x->taken[r] = (intptr_t) place_of(x, size, r, b->rank);
        x->places[r] = (intptr_t) (r * room_of(size));
        total += length_of(x, size, r, 0);
        longest = (size_t) x->taken[r] > longest ? (size_t) x->taken[r] : longest;
    }
    op->give = (dnet_blocks_at_t){from, {x->given, x->places, 0}, 1};
    op->take = (dnet_blocks_at_t){to, {x->taken, x->places, 0}, 1};
    switch (op->kind) {
        case DNET_NONBLOCKING_ALLGATHER:
            op->bytes = longest;
            if (in_place)
                op->from = to + x->places[b->rank];
            fill((uint8_t *) op->from, which, b->rank, 0, (size_t) x->given[0]);
            break;
        case DNET_NONBLOCKING_REDUCE_SCATTER:
            op->bytes = total;
            op->count = total / 8;
            for (uint32_t r = 0; r < size; r++)
                x->taken[r] /= 8;
            op->take = (dnet_blocks_at_t){to, {x->taken, NULL, 0}, 8};
            op->from = in_place ? to : from;
            (void) vector_of(b, which, (void *) op->from, op->count);
            break;
        case DNET_NONBLOCKING_GATHERV:
            op->bytes = (size_t) x->given[op->root];
            if (in_place && is_root)
                op->from = to + x->places[b->rank];
            fill((uint8_t *) op->from, which, b->rank, op->root, op->bytes);
            break;
        case DNET_NONBLOCKING_SCATTERV:
            op->bytes = (size_t) x->taken[op->root];
            if (in_place && is_root) {
                op->bytes = 0;
                op->to = NULL;
            }
            /* fall through */
        default:
            for (uint32_t r = 0; r < size; r++)
                fill(from + x->places[r], which, b->rank, r, (size_t) x->given[r]);
            break;
    }
}

/* The block of rank r at `at`, and nothing behind it. */
static bool has_block(const one_t *x, const dnet_board_t *b, uint32_t r, const uint8_t *at)
{
    const size_t bytes = place_of(x, b->size, r, b->rank);
    return is_filled(at, x->which, r, has_only_one_block(x->op.kind) ? 0 : b->rank, bytes) &&
           (x->which % 3 == 0 || bytes == room_of(b->size) || at[bytes] == UNTOUCHED);
}

static bool has_own_sum(const one_t *x, const dnet_board_t *b)
{
    const uint64_t *to = x->op.to;
    const size_t first = dnet_blocks_before(&x->op.take.blocks, b->rank);
    for (size_t i = 0; i < (size_t) x->taken[b->rank]; i++) {
        uint64_t sum = 0;
        for (uint32_t r = 0; r < b->size; r++)
            sum += element_of(x->which, r, first + i);
        if (to[i] != sum)
            return false;
    }
    return true;
}

static bool is_right(const one_t *x, const dnet_board_t *b)
{
    const dnet_nonblocking_t *op = &x->op;
    const bool is_root = b->rank == op->root, in_place = x->which % 3 == 0;
    bool cut = false;
    if (op->kind == DNET_NONBLOCKING_REDUCE_SCATTER)
        return has_own_sum(x, b) && !op->cut;
    if (op->kind == DNET_NONBLOCKING_SCATTERV)
        return (is_root && in_place) || (has_block(x, b, op->root, op->to) &&
                                         op->cut == is_cut(x, b->size, op->root, b->rank));
    if (op->kind == DNET_NONBLOCKING_GATHERV && !is_root)
        return !op->cut;
    for (uint32_t r = 0; r < b->size; r++) {
        cut |= is_cut(x, b->size, r, b->rank);
        if (!has_block(x, b, r, (const uint8_t *) op->take.at + x->places[r]))
            return false;
    }
    return op->cut == cut;
}

static bool many_at_a_time(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    static _Thread_local one_t x[AT_A_TIME];
    unsigned left = 0, looks = 0;
    bool good = true;
    for (unsigned k = 0; k < AT_A_TIME; k++) {
        make(&x[k], b, round * AT_A_TIME + k, from + k * PLACE_BYTES, to + k * PLACE_BYTES);
        left += !dnet_board_start(b, &x[k].op);
        if (mix(x[k].which * 5u + b->rank) % 3 == 0)
            while (dnet_board_look(b))
                left--;
        if (x[k].which % 11 == 0)
            dnet_board_barrier(b);
    }
    while (left) {
        if (dnet_board_look(b))
            left--;
        else if (++looks % 4 == 0)
            sched_yield();
    }
    for (unsigned k = 0; k < AT_A_TIME; k++)
        good &= is_right(&x[k], b);
    return good && !dnet_board_is_busy(b);
}

static void test_all_bring_what_they_should(void **state)
{
    (void) state;
    static const uint32_t sizes[] = {2, 3, 5, 8, 17};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        reads_made = 0;
        check_with(sizes[i], many_at_a_time, 1);
        assert_true(reads_made > 0);
    }
    check_with(2, many_at_a_time, 2 | SPINS);
}

/* ---- ranks in one thread ---- */

static void wake_of_none(void *arg, uint32_t rank)
{
    (void) arg;
    (void) rank;
}

static void join(dnet_board_t *b, void *memory, uint32_t size, uint32_t rank, bool reads)
{
    dnet_board_join(b, memory, size, rank, true,
                    &(dnet_board_owner_t){.idle = idle,
                                          .wake = wake_of_none,
                                          .read = reads ? read_of : NULL,
                                          .write = reads ? write_of : NULL});
}

static void test_any_lengths_need_memory_that_is_read(void **state)
{
    (void) state;
    void *memory = board_begin(2);
    for (int reads = 0; reads < 2; reads++) {
        dnet_board_t b;
        join(&b, memory, 2, 0, reads);
        assert_int_equal(dnet_board_has_nonblocking(&b, DNET_NONBLOCKING_ALLTOALLV, 8), reads);
        assert_int_equal(dnet_board_has_nonblocking(&b, DNET_NONBLOCKING_GATHERV, 8), reads);
        assert_true(dnet_board_has_nonblocking(&b, DNET_NONBLOCKING_REDUCE_SCATTER, 8));
    }
    free(memory);
}

/* Who has a long block for the root writes it when the root has said where, and is complete. */
static void test_who_writes_to_the_root_waits_for_it_alone(void **state)
{
    (void) state;
    enum { RANKS = 3, BYTES = 100000 };
    void *memory = board_begin(RANKS);
    static uint8_t sent[RANKS][BYTES], got[RANKS * BYTES];
    const intptr_t counts[RANKS] = {BYTES, BYTES, BYTES};
    dnet_board_t board[RANKS];
    dnet_nonblocking_t op[RANKS];
    for (uint32_t r = 0; r < RANKS; r++) {
        join(&board[r], memory, RANKS, r, true);
        memset(sent[r], (int) (r + 1), BYTES);
        op[r] = (dnet_nonblocking_t){.kind = DNET_NONBLOCKING_GATHERV,
                                     .from = sent[r],
                                     .bytes = BYTES,
                                     .take = {got, {counts, NULL, 0}, 1}};
    }
    assert_false(dnet_board_start(&board[1], &op[1]));
    for (unsigned i = 0; i < 100; i++)
        assert_null(dnet_board_look(&board[1]));
    assert_true(dnet_board_may_sleep(&board[1]));
    assert_int_equal(dnet_board_waits_for(&board[1]), 0);
    assert_false(dnet_board_start(&board[0], &op[0]));
    assert_ptr_equal(dnet_board_look(&board[1]), &op[1]);
    assert_null(dnet_board_look(&board[0]));
    assert_true(dnet_board_start(&board[2], &op[2]));
    assert_ptr_equal(dnet_board_look(&board[0]), &op[0]);
    for (size_t i = 0; i < sizeof(got); i++)
        assert_int_equal(got[i], i / BYTES + 1);
    free(memory);
}

/* In a program that is wrong the root has not counted on a block that has no room in a slot. */
static void test_a_block_that_the_root_does_not_expect(void **state)
{
    (void) state;
    enum { BYTES = 100000, FEWER = 5 };
    void *memory = board_begin(2);
    static uint8_t sent[BYTES];
    uint8_t got[2 * FEWER + 1];
    const intptr_t counts[2] = {FEWER, FEWER};
    dnet_board_t board[2];
    dnet_nonblocking_t op[2];
    memset(sent, 7, BYTES);
    memset(got, UNTOUCHED, sizeof(got));
    for (uint32_t r = 0; r < 2; r++) {
        join(&board[r], memory, 2, r, true);
        op[r] = (dnet_nonblocking_t){.kind = DNET_NONBLOCKING_GATHERV,
                                     .from = sent,
                                     .bytes = r ? BYTES : FEWER,
                                     .take = {got, {counts, NULL, 0}, 1}};
    }
    assert_false(dnet_board_start(&board[1], &op[1]));
    assert_false(dnet_board_start(&board[0], &op[0]));
    assert_ptr_equal(dnet_board_look(&board[1]), &op[1]);
    assert_ptr_equal(dnet_board_look(&board[0]), &op[0]);
    assert_true(op[0].cut);
    for (unsigned i = 0; i < 2 * FEWER; i++)
        assert_int_equal(got[i], 7);
    assert_int_equal(got[2 * FEWER], UNTOUCHED);
    assert_int_equal(dnet_nonblocking_slot_data(&board[0], 1, op[1].number + 1)[0], UNTOUCHED);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_bring_what_they_should),
        cmocka_unit_test(test_any_lengths_need_memory_that_is_read),
        cmocka_unit_test(test_who_writes_to_the_root_waits_for_it_alone),
        cmocka_unit_test(test_a_block_that_the_root_does_not_expect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
