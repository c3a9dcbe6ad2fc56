/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives on boards: with a thread for each rank, and step by step in one thread.
 */
#include "board_ranks.h"
#include "collective/nonblocking.h"

#define AT_A_TIME 12u       /* more than there are slots */
#define KINDS 8u            /* those with blocks of one length */
#define PLACE_BYTES 150000u /* a buffer of one of them, blocks of all ranks */

/* Lengths of a test's collectives, and of a buffer. */
typedef struct {
    size_t place_bytes;
    unsigned count;
    size_t bytes[13];
} lengths_t;

static const lengths_t many_lengths = {
    PLACE_BYTES, 13, {0, 1, 8, 55, 56, 57, 64, 240, 512, 1024, 4096, 16384, PLACE_BYTES}};
static const lengths_t long_lengths = {
    RANKS_MAX * BYTES_MAX, 4, {16384, 16448, 70000, RANKS_MAX *BYTES_MAX / 17}};

/* What rank `to` gets of rank `from` in one of them. */
static unsigned told_apart(unsigned round, unsigned k)
{
    return round * AT_A_TIME + k;
}

static bool is_of_vectors(dnet_nonblocking_kind_t kind)
{
    return kind == DNET_NONBLOCKING_BCAST || kind == DNET_NONBLOCKING_REDUCE ||
           kind == DNET_NONBLOCKING_ALLREDUCE;
}

static size_t length_of(const dnet_board_t *b, dnet_nonblocking_kind_t kind, unsigned which,
                        const lengths_t *lengths)
{
    const size_t room = lengths->place_bytes / (is_of_vectors(kind) ? 1 : b->size);
    size_t bytes = lengths->bytes[mix(which) % lengths->count];
    bytes = bytes < room ? bytes : room;
    if (is_of_vectors(kind))
        bytes = bytes / 8 * 8;
    return dnet_board_has_nonblocking(b, kind, bytes) ? bytes : 8;
}

static void make(dnet_nonblocking_t *op, const dnet_board_t *b, unsigned which, uint8_t *from,
                 uint8_t *to, const lengths_t *lengths)
{
    dnet_nonblocking_kind_t kind = (dnet_nonblocking_kind_t) (mix(which * 31u) % KINDS);
    size_t bytes = kind == DNET_NONBLOCKING_BARRIER ? 0 : length_of(b, kind, which, lengths);
    *op = (dnet_nonblocking_t){.kind = kind,
                               .root = (uint32_t) (mix(which * 7u) % b->size),
                               .from = from,
                               .to = to,
                               .bytes = bytes,
                               .count = bytes / 8,
                               .fn = dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64)};
    const bool in_place = which % 3 == 0;
    memset(to, UNTOUCHED, lengths->place_bytes);
    switch (kind) {
        default:
            break;
        case DNET_NONBLOCKING_BCAST:
        case DNET_NONBLOCKING_ALLGATHER:
        case DNET_NONBLOCKING_GATHER:
            if (in_place && kind != DNET_NONBLOCKING_BCAST)
                op->from = to + b->rank * bytes;
            op->take = (dnet_blocks_at_t){to, {.each = bytes}, 1};
            fill((uint8_t *) op->from, which, b->rank, 0, bytes);
            break;
        case DNET_NONBLOCKING_REDUCE:
        case DNET_NONBLOCKING_ALLREDUCE:
            op->from = in_place ? to : from;
            (void) vector_of(b, which, (void *) op->from, op->count);
            break;
        case DNET_NONBLOCKING_SCATTER:
        case DNET_NONBLOCKING_ALLTOALL:
            if (in_place && kind == DNET_NONBLOCKING_ALLTOALL &&
                !dnet_board_reads_nonblocking(b, kind, bytes))
                op->from = to;
            for (uint32_t r = 0; r < b->size; r++)
                fill((uint8_t *) op->from + r * bytes, which, b->rank, r, bytes);
            break;
    }
}

static bool has_blocks(const dnet_nonblocking_t *op, const dnet_board_t *b, unsigned which,
                       bool one_for_each)
{
    const uint8_t *to = op->to;
    for (uint32_t r = 0; r < b->size; r++)
        if (!is_filled(to + r * op->bytes, which, r, one_for_each ? b->rank : 0, op->bytes))
            return false;
    return true;
}

static bool has_sum(const dnet_nonblocking_t *op, const dnet_board_t *b, unsigned which)
{
    const uint64_t *to = op->to;
    for (size_t i = 0; i < op->count; i++) {
        uint64_t sum = 0;
        for (uint32_t r = 0; r < b->size; r++)
            sum += element_of(which, r, i);
        if (to[i] != sum)
            return false;
    }
    return true;
}

static bool is_right(const dnet_nonblocking_t *op, const dnet_board_t *b, unsigned which)
{
    const bool is_root = b->rank == op->root;
    switch (op->kind) {
        case DNET_NONBLOCKING_BARRIER:
            return true;
        case DNET_NONBLOCKING_BCAST:
            return is_filled(is_root ? op->from : op->to, which, op->root, 0, op->bytes);
        case DNET_NONBLOCKING_GATHER:
            return !is_root || has_blocks(op, b, which, false);
        case DNET_NONBLOCKING_ALLGATHER:
            return has_blocks(op, b, which, false);
        case DNET_NONBLOCKING_SCATTER:
            return is_filled(op->to, which, op->root, b->rank, op->bytes);
        case DNET_NONBLOCKING_ALLTOALL:
            return has_blocks(op, b, which, true);
        case DNET_NONBLOCKING_REDUCE:
            return !is_root || has_sum(op, b, which);
        case DNET_NONBLOCKING_ALLREDUCE:
            return has_sum(op, b, which);
        default:
            return false;
    }
}

/* Those that have completed, counted. */
static unsigned look(dnet_board_t *b, bool *complete, const dnet_nonblocking_t *op)
{
    unsigned found = 0;
    for (dnet_nonblocking_t *done; (done = dnet_board_look(b)); found++)
        complete[done - op] = true;
    return found;
}

/* Many at a time, each rank looking when it likes, with blocking ones between. */
static bool many_at_a_time(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    dnet_nonblocking_t op[AT_A_TIME];
    bool complete[AT_A_TIME] = {false}, good = true;
    unsigned left = AT_A_TIME, looks = 0;
    for (unsigned k = 0; k < AT_A_TIME; k++) {
        unsigned which = told_apart(round, k);
        make(&op[k], b, which, from + k * PLACE_BYTES, to + k * PLACE_BYTES, &many_lengths);
        complete[k] = dnet_board_start(b, &op[k]);
        left -= complete[k];
        if (mix(which * 5u + b->rank) % 3 == 0)
            left -= look(b, complete, op);
        if (which % 11 == 0)
            dnet_board_barrier(b);
    }
    while (left) {
        left -= look(b, complete, op);
        if (left && ++looks % 4 == 0)
            sched_yield();
    }
    for (unsigned k = 0; k < AT_A_TIME; k++)
        good &= complete[k] && is_right(&op[k], b, told_apart(round, k));
    return good && !dnet_board_is_busy(b);
}

static void test_all_bring_what_they_should(void **state)
{
    (void) state;
    static const uint32_t sizes[] = {2, 3, 5, 8, 17};
    assert_true(AT_A_TIME * PLACE_BYTES <= RANKS_MAX * BYTES_MAX);
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        check_with(sizes[i], many_at_a_time, 0);
}

/* In a program that is wrong the last rank has more than the root has room for. */
static bool long_gather_once(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    const size_t each = 70000, own = each + (b->rank == b->size - 1 ? 8 : 0);
    dnet_nonblocking_t op = {.kind = DNET_NONBLOCKING_GATHER, .from = from, .to = to, .bytes = own};
    op.take = (dnet_blocks_at_t){to, {.each = own}, 1};
    fill(from, round, b->rank, 0, own);
    to[b->size * each] = UNTOUCHED;
    dnet_board_barrier(b);
    if (!dnet_board_start(b, &op))
        while (!dnet_board_look(b))
            sched_yield();
    return b->rank != 0 || (has_blocks(&op, b, round, false) && to[b->size * each] == UNTOUCHED);
}

static void test_a_gather_by_address_writes_to_where_there_is_room(void **state)
{
    (void) state;
    check_with(2, long_gather_once, 2 | SPINS);
}

static bool one_after_the_other(dnet_board_t *b, unsigned round, uint8_t *from, uint8_t *to)
{
    dnet_nonblocking_t op;
    make(&op, b, round, from, to, &long_lengths);
    if (!dnet_board_start(b, &op))
        while (!dnet_board_look(b))
            sched_yield();
    return is_right(&op, b, round) && !dnet_board_is_busy(b);
}

static void test_long_ones_go_by_address(void **state)
{
    (void) state;
    static const uint32_t sizes[] = {2, 7, 16};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        reads_made = 0;
        check_with(sizes[i], one_after_the_other, 1);
        assert_true(reads_made > 0);
    }
    reads_made = 0;
    check_with(2, one_after_the_other, 2);
    const unsigned by_exchanges = reads_made;
    reads_made = 0;
    check_with(2, one_after_the_other, 2 | SPINS);
    assert_true(reads_made > by_exchanges);
    check_with(2, many_at_a_time, 2 | SPINS);
}

/* ---- two ranks in one thread ---- */

static dnet_board_t board[2];
static unsigned wakes[2];

static void count_wake(void *arg, uint32_t rank)
{
    (void) arg;
    wakes[rank]++;
}

static void *two_begin(bool reads)
{
    void *memory = board_begin(2);
    for (uint32_t r = 0; r < 2; r++) {
        dnet_board_join(&board[r], memory, 2, r, true,
                        &(dnet_board_owner_t){.idle = idle_of_none,
                                              .wake = count_wake,
                                              .read = reads ? read_of : NULL,
                                              .write = reads ? write_of : NULL,
                                              .arg = &board[r]});
        wakes[r] = 0;
    }
    return memory;
}

static dnet_nonblocking_t barrier_op(void)
{
    return (dnet_nonblocking_t){.kind = DNET_NONBLOCKING_BARRIER};
}

static dnet_nonblocking_t bcast_op(int *value)
{
    return (dnet_nonblocking_t){
        .kind = DNET_NONBLOCKING_BCAST, .from = value, .to = value, .bytes = sizeof(*value)};
}

static void test_one_need_not_wait_for_the_one_before(void **state)
{
    (void) state;
    void *memory = two_begin(false);
    int sent = 7, got = 0;
    dnet_nonblocking_t first[2] = {barrier_op(), barrier_op()};
    dnet_nonblocking_t second[2] = {bcast_op(&sent), bcast_op(&got)};
    assert_false(dnet_board_start(&board[0], &first[0]));
    assert_true(dnet_board_start(&board[0], &second[0]));
    assert_null(dnet_board_look(&board[0]));
    assert_true(dnet_board_start(&board[1], &first[1]));
    assert_true(dnet_board_start(&board[1], &second[1]));
    assert_int_equal(got, 7);
    assert_ptr_equal(dnet_board_look(&board[0]), &first[0]);
    assert_null(dnet_board_look(&board[0]));
    free(memory);
}

/* Its slot is not written while somebody may still read it. */
static void test_one_without_a_slot_waits_for_its_reader(void **state)
{
    (void) state;
    void *memory = two_begin(false);
    enum { ALL = DNET_NONBLOCKING_SLOTS + 1 };
    int sent[ALL], got[ALL] = {0};
    dnet_nonblocking_t from[ALL], to[ALL];
    for (int i = 0; i < ALL; i++) {
        sent[i] = 100 + i;
        from[i] = bcast_op(&sent[i]);
        assert_int_equal(dnet_board_start(&board[0], &from[i]), i < ALL - 1);
    }
    assert_null(dnet_board_look(&board[0]));
    for (int i = 0; i < ALL; i++) {
        to[i] = bcast_op(&got[i]);
        bool there = dnet_board_start(&board[1], &to[i]);
        assert_int_equal(there, i < ALL - 1);
    }
    assert_ptr_equal(dnet_board_look(&board[0]), &from[ALL - 1]);
    assert_ptr_equal(dnet_board_look(&board[1]), &to[ALL - 1]);
    for (int i = 0; i < ALL; i++)
        assert_int_equal(got[i], 100 + i);
    free(memory);
}

static bool looks_in_vain_until_it_may_sleep(dnet_board_t *b)
{
    for (unsigned i = 0; i < 1000; i++) {
        if (dnet_board_may_sleep(b))
            return true;
        if (dnet_board_look(b))
            return false;
    }
    return false;
}

static void test_who_dozes_is_woken(void **state)
{
    (void) state;
    void *memory = two_begin(false);
    dnet_nonblocking_t one[2] = {barrier_op(), barrier_op()};
    assert_true(dnet_board_may_sleep(&board[0])); /* for nothing of these */
    assert_false(dnet_board_start(&board[0], &one[0]));
    assert_int_equal(dnet_board_waits_for(&board[0]), DNET_BOARD_NO_RANK);
    assert_true(looks_in_vain_until_it_may_sleep(&board[0]));
    assert_int_equal(dnet_board_waits_for(&board[0]), 1);
    assert_true(dnet_board_start(&board[1], &one[1]));
    assert_true(wakes[0] > 0);
    assert_false(dnet_board_may_sleep(&board[0]));
    assert_ptr_equal(dnet_board_look(&board[0]), &one[0]);
    assert_int_equal(dnet_board_waits_for(&board[0]), DNET_BOARD_NO_RANK);

    /* Nobody is woken who does not doze. */
    wakes[0] = 0;
    one[0] = barrier_op();
    one[1] = barrier_op();
    assert_false(dnet_board_start(&board[0], &one[0]));
    assert_true(dnet_board_start(&board[1], &one[1]));
    assert_ptr_equal(dnet_board_look(&board[0]), &one[0]);
    assert_int_equal(wakes[0], 0);
    free(memory);
}

/* Who dozes until a slot is free is woken by the one that frees it. */
static void test_who_dozes_for_a_slot_is_woken(void **state)
{
    (void) state;
    void *memory = two_begin(false);
    enum { ALL = DNET_NONBLOCKING_SLOTS + 1 };
    int value = 1;
    dnet_nonblocking_t from[ALL], to = bcast_op(&value);
    for (int i = 0; i < ALL; i++) {
        from[i] = bcast_op(&value);
        (void) dnet_board_start(&board[0], &from[i]);
    }
    assert_true(looks_in_vain_until_it_may_sleep(&board[0]));
    assert_int_equal(dnet_board_waits_for(&board[0]), 1);
    assert_true(dnet_board_start(&board[1], &to));
    assert_true(wakes[0] > 0);
    assert_ptr_equal(dnet_board_look(&board[0]), &from[ALL - 1]);
    free(memory);
}

/* More pieces than there are slots: each rank waits for the other to be done with some. */
static void test_pieces_go_on_as_slots_are_free(void **state)
{
    (void) state;
    void *memory = two_begin(false);
    enum { ELEMENTS = (DNET_NONBLOCKING_SLOTS + 1) * DNET_NONBLOCKING_SLOT_OF_TWO_BYTES / 8 };
    static uint64_t from[2][ELEMENTS], to[2][ELEMENTS];
    dnet_nonblocking_t op[2];
    for (uint32_t r = 0; r < 2; r++) {
        for (size_t i = 0; i < ELEMENTS; i++)
            from[r][i] = element_of(1, r, i);
        op[r] = (dnet_nonblocking_t){
            .kind = DNET_NONBLOCKING_ALLREDUCE,
            .from = from[r],
            .to = to[r],
            .bytes = sizeof(from[r]),
            .count = ELEMENTS,
            .fn = dnet_reduce_loop(DNET_REDUCE_SUM, DNET_REDUCE_OF_UINT64),
        };
    }
    assert_false(dnet_board_start(&board[0], &op[0]));
    assert_true(looks_in_vain_until_it_may_sleep(&board[0]));
    assert_int_equal(dnet_board_waits_for(&board[0]), 1);
    assert_false(dnet_board_start(&board[1], &op[1]));
    assert_true(wakes[0] > 0);
    assert_null(dnet_board_look(&board[0]));
    assert_ptr_equal(dnet_board_look(&board[1]), &op[1]);
    assert_ptr_equal(dnet_board_look(&board[0]), &op[0]);
    for (uint32_t r = 0; r < 2; r++)
        for (size_t i = 0; i < ELEMENTS; i++)
            assert_int_equal(to[r][i], from[0][i] + from[1][i]);
    free(memory);
}

/* Whose data are read where they are is not done before they have been, not even where it has been
 * done with a later one; and it is woken then. */
static void test_who_is_read_from_waits_for_its_readers(void **state)
{
    (void) state;
    void *memory = two_begin(true);
    static uint8_t sent[2][2][PLACE_BYTES], got[2][2][2 * PLACE_BYTES];
    dnet_nonblocking_t op[2][2]; /* of the first rank, of the second one */
    for (uint32_t r = 0; r < 2; r++)
        for (int i = 0; i < 2; i++) {
            memset(sent[r][i], (int) r * 2 + i + 1, PLACE_BYTES);
            op[r][i] = (dnet_nonblocking_t){.kind = DNET_NONBLOCKING_ALLGATHER,
                                            .from = sent[r][i],
                                            .take = {got[r][i], {.each = PLACE_BYTES}, 1},
                                            .bytes = PLACE_BYTES};
        }
    for (int i = 0; i < 2; i++)
        assert_false(dnet_board_start(&board[0], &op[0][i]));
    assert_true(looks_in_vain_until_it_may_sleep(&board[0]));
    assert_int_equal(dnet_board_waits_for(&board[0]), 1);
    assert_false(dnet_board_start(&board[1], &op[1][0]));
    assert_true(wakes[0] > 0);
    assert_false(dnet_board_may_sleep(&board[0]));
    assert_null(dnet_board_look(&board[1]));
    assert_ptr_equal(dnet_board_look(&board[0]), &op[0][0]);
    assert_null(dnet_board_look(&board[0]));
    memset(sent[0][0], 9, PLACE_BYTES);
    assert_ptr_equal(dnet_board_look(&board[1]), &op[1][0]);
    assert_false(dnet_board_start(&board[1], &op[1][1]));
    assert_ptr_equal(dnet_board_look(&board[0]), &op[0][1]);
    assert_ptr_equal(dnet_board_look(&board[1]), &op[1][1]);
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < 2 * PLACE_BYTES; k++)
            assert_int_equal(got[1][i][k], k / PLACE_BYTES * 2 + i + 1);
    free(memory);
}

/* One that is read from may have taken what it gets before an earlier one has: others are done with
 * both only then. */
static void test_who_is_read_from_need_not_be_first(void **state)
{
    (void) state;
    void *memory = two_begin(true);
    static uint8_t sent[2][PLACE_BYTES], got[2][2 * PLACE_BYTES];
    int value = 5, other = 0;
    dnet_nonblocking_t first[2], second[2];
    for (uint32_t r = 0; r < 2; r++) {
        memset(sent[r], (int) (r + 1), PLACE_BYTES);
        first[r] = bcast_op(r ? &value : &other);
        first[r].root = 1;
        second[r] = (dnet_nonblocking_t){.kind = DNET_NONBLOCKING_ALLGATHER,
                                         .from = sent[r],
                                         .take = {got[r], {.each = PLACE_BYTES}, 1},
                                         .bytes = PLACE_BYTES};
    }
    assert_false(dnet_board_start(&board[0], &first[0]));
    assert_false(dnet_board_start(&board[0], &second[0]));
    assert_true(dnet_board_start(&board[1], &first[1]));
    assert_false(dnet_board_start(&board[1], &second[1]));
    assert_ptr_equal(dnet_board_look(&board[0]), &first[0]);
    assert_int_equal(other, 5);
    assert_ptr_equal(dnet_board_look(&board[0]), &second[0]);
    assert_ptr_equal(dnet_board_look(&board[1]), &second[1]);
    for (uint32_t r = 0; r < 2; r++)
        for (size_t k = 0; k < 2 * PLACE_BYTES; k++)
            assert_int_equal(got[r][k], 1 + k / PLACE_BYTES);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_bring_what_they_should),
        cmocka_unit_test(test_a_gather_by_address_writes_to_where_there_is_room),
        cmocka_unit_test(test_long_ones_go_by_address),
        cmocka_unit_test(test_one_need_not_wait_for_the_one_before),
        cmocka_unit_test(test_one_without_a_slot_waits_for_its_reader),
        cmocka_unit_test(test_who_dozes_is_woken),
        cmocka_unit_test(test_who_dozes_for_a_slot_is_woken),
        cmocka_unit_test(test_pieces_go_on_as_slots_are_free),
        cmocka_unit_test(test_who_is_read_from_waits_for_its_readers),
        cmocka_unit_test(test_who_is_read_from_need_not_be_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
