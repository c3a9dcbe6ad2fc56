/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives on boards, compared with what the ranks have: sizes around a line, a slot, many
 * slots, and by messages of two ranks, all roots, in place, types with gaps, operators with and
 * without a loop of ours, communicators of all kinds, made and freed.  The counters say which of
 * them had a board.
 */
#define _GNU_SOURCE /* CPU_COUNT */
#include <complex.h>
#include <malloc.h>
#include <sched.h>
#include <stdbool.h>
#include <unistd.h>

#include "counter.h"

#define ELEMENTS_MAX 140000
#define ROUNDS 6 /* a communicator has its board from the fourth collective on */

static int comm_rank, comm_size;
static bool packets; /* there are no boards */

static int32_t value_of(int who, int i)
{
    return (int32_t) ((uint32_t) who * 7919u + (uint32_t) i * 31u) % 1000 - 300;
}

/* Whole ints, or every second one: a type with gaps. */
typedef struct {
    MPI_Datatype type;
    int stride;
} layout_t;

static layout_t layout_of(int gaps)
{
    layout_t l = {MPI_INT, 1};
    if (gaps) {
        MPI_Datatype vector;
        l.stride = 2;
        MPI_Type_vector(1, 1, 2, MPI_INT, &vector);
        MPI_Type_create_resized(vector, 0, 8, &l.type);
        MPI_Type_free(&vector);
        MPI_Type_commit(&l.type);
    }
    return l;
}

static void layout_free(layout_t *l)
{
    if (l->stride > 1)
        MPI_Type_free(&l->type);
}

static void fill(int32_t *to, const layout_t *l, int count, int who, int from)
{
    for (int i = 0; i < count; i++)
        to[i * l->stride] = value_of(who, from + i);
}

static void expect(const char *what, const int32_t *at, const layout_t *l, int count, int who,
                   int from)
{
    for (int i = 0; i < count; i++) {
        if (at[i * l->stride] == value_of(who, from + i))
            continue;
        CHECK(false, "%s of %d, element %d of rank %d: %d instead of %d", what, count, i, who,
              (int) at[i * l->stride], (int) value_of(who, from + i));
        return;
    }
}

static void bcast(MPI_Comm comm, int count, int gaps, int32_t *a)
{
    /* the types of the ranks may differ, the bytes do not */
    layout_t l = layout_of(gaps && comm_rank % 2);
    for (int root = 0; root < comm_size; root++) {
        fill(a, &l, count, comm_rank, 5);
        MPI_Bcast(a, count, l.type, root, comm);
        expect("bcast", a, &l, count, root, 5);
    }
    layout_free(&l);
}

static void allgather(MPI_Comm comm, int count, int gaps, bool in_place, int32_t *a, int32_t *b)
{
    layout_t l = layout_of(gaps), whole = {MPI_INT, 1};
    if (in_place) {
        fill(b + comm_rank * count * l.stride, &l, count, comm_rank, 0);
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_INT, b, count, l.type, comm);
    } else {
        fill(a, &whole, count, comm_rank, 0);
        MPI_Allgather(a, count, MPI_INT, b, count, l.type, comm);
    }
    for (int r = 0; r < comm_size; r++)
        expect("allgather", b + r * count * l.stride, &l, count, r, 0);
    layout_free(&l);
}

static void alltoall(MPI_Comm comm, int count, int gaps, bool in_place, int32_t *a, int32_t *b)
{
    layout_t l = layout_of(gaps);
    int32_t *from = in_place ? b : a;
    for (int r = 0; r < comm_size; r++)
        fill(from + r * count * l.stride, &l, count, comm_rank, r);
    if (in_place)
        MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, b, count, l.type, comm);
    else
        MPI_Alltoall(a, count, l.type, b, count, l.type, comm);
    for (int r = 0; r < comm_size; r++)
        expect("alltoall", b + r * count * l.stride, &l, count, r, comm_rank);
    layout_free(&l);
}

/* The root has ints with gaps, if any. */
static void to_and_from_one(MPI_Comm comm, int each, int gaps, bool in_place, int32_t *a,
                            int32_t *b)
{
    layout_t l = layout_of(gaps), whole = {MPI_INT, 1};
    for (int root = 0; root < comm_size; root++) {
        const bool is_root = comm_rank == root, stays = in_place && is_root;
        fill(a, &whole, each, comm_rank, 2);
        if (stays)
            fill(b + root * each * l.stride, &l, each, root, 2);
        MPI_Gather(stays ? MPI_IN_PLACE : a, each, MPI_INT, b, each, l.type, root, comm);
        for (int r = 0; r < comm_size && is_root; r++)
            expect("gather", b + r * each * l.stride, &l, each, r, 2);
        for (int r = 0; r < comm_size; r++)
            fill(a + r * each * l.stride, &l, each, comm_rank, r);
        fill(b, &whole, each, root, comm_rank + 1);
        MPI_Scatter(a, each, l.type, stays ? MPI_IN_PLACE : b, each, MPI_INT, root, comm);
        expect("scatter", b, &whole, each, root, stays ? comm_rank + 1 : comm_rank);
    }
    layout_free(&l);
}

/* What rank a has for rank b: none of some, and else not more than `each`. */
static int block_of(int each, int a, int b)
{
    int count = (a + b) % 3 == 1 ? 0 : each - a * b % 4;
    return count > 0 ? count : 0;
}

/* Blocks of any lengths: the last one first, and a gap behind each. */
#define RANKS_MAX 64
typedef struct {
    int counts[RANKS_MAX], places[RANKS_MAX];
} blocks_t;

static void lay_out(blocks_t *blocks)
{
    for (int r = comm_size - 1, at = 0; r >= 0; at += blocks->counts[r--] + 1)
        blocks->places[r] = at;
}

static void allgatherv(MPI_Comm comm, int each, int gaps, bool in_place, int32_t *a, int32_t *b)
{
    layout_t l = layout_of(gaps), whole = {MPI_INT, 1};
    blocks_t to;
    for (int r = 0; r < comm_size; r++)
        to.counts[r] = block_of(each, r, 0);
    lay_out(&to);
    const int count = to.counts[comm_rank];
    if (in_place) {
        fill(b + to.places[comm_rank] * l.stride, &l, count, comm_rank, 0);
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_INT, b, to.counts, to.places, l.type, comm);
    } else {
        fill(a, &whole, count, comm_rank, 0);
        MPI_Allgatherv(a, count, MPI_INT, b, to.counts, to.places, l.type, comm);
    }
    for (int r = 0; r < comm_size; r++)
        expect("allgatherv", b + to.places[r] * l.stride, &l, to.counts[r], r, 0);
    layout_free(&l);
}

static void alltoallv(MPI_Comm comm, int each, int gaps, bool in_place, int32_t *a, int32_t *b)
{
    layout_t l = layout_of(gaps);
    int32_t *own = in_place ? b : a;
    blocks_t blocks;
    for (int r = 0; r < comm_size; r++)
        blocks.counts[r] = block_of(each, r, comm_rank);
    lay_out(&blocks);
    for (int r = 0; r < comm_size; r++)
        fill(own + blocks.places[r] * l.stride, &l, blocks.counts[r], comm_rank, r);
    if (in_place)
        MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, b, blocks.counts, blocks.places, l.type,
                      comm);
    else
        MPI_Alltoallv(a, blocks.counts, blocks.places, l.type, b, blocks.counts, blocks.places,
                      l.type, comm);
    for (int r = 0; r < comm_size; r++)
        expect("alltoallv", b + blocks.places[r] * l.stride, &l, blocks.counts[r], r, comm_rank);
    layout_free(&l);
}

/* The root has ints with gaps, if any; other ranks say nothing of lengths and places. */
static void blocks_to_and_from_one(MPI_Comm comm, int each, int gaps, bool in_place, int32_t *a,
                                   int32_t *b)
{
    layout_t l = layout_of(gaps), whole = {MPI_INT, 1};
    blocks_t blocks;
    for (int r = 0; r < comm_size; r++)
        blocks.counts[r] = block_of(each, r, 0);
    lay_out(&blocks);
    const int own = blocks.counts[comm_rank];
    for (int root = 0; root < comm_size; root++) {
        const bool is_root = comm_rank == root, stays = in_place && is_root;
        const int *counts = is_root ? blocks.counts : NULL;
        const int *places = is_root ? blocks.places : NULL;
        fill(a, &whole, own, comm_rank, 2);
        if (stays)
            fill(b + places[root] * l.stride, &l, own, root, 2);
        MPI_Gatherv(stays ? MPI_IN_PLACE : a, own, MPI_INT, is_root ? b : NULL, counts, places,
                    l.type, root, comm);
        for (int r = 0; r < comm_size && is_root; r++)
            expect("gatherv", b + places[r] * l.stride, &l, counts[r], r, 2);
        for (int r = 0; r < comm_size && is_root; r++)
            fill(a + places[r] * l.stride, &l, counts[r], root, r);
        fill(b, &whole, own, root, comm_rank + 1);
        MPI_Scatterv(is_root ? a : NULL, counts, places, l.type, stays ? MPI_IN_PLACE : b, own,
                     MPI_INT, root, comm);
        expect("scatterv", b, &whole, own, root, stays ? comm_rank + 1 : comm_rank);
    }
    layout_free(&l);
}

/* Who takes has counted on less than comes: it is told, and nothing behind is written. */
static void too_long(MPI_Comm comm, int each, int32_t *a, int32_t *b)
{
    int counts[RANKS_MAX], places[RANKS_MAX], class = MPI_SUCCESS;
    for (int r = 0; r < comm_size; r++) {
        counts[r] = each;
        places[r] = r * (each + 1);
    }
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < ELEMENTS_MAX; i++)
        b[i] = -7;
    int error = MPI_Gatherv(a, comm_rank == 0 ? each : each + 1, MPI_INT, b, counts, places,
                            MPI_INT, 0, comm);
    MPI_Error_class(error, &class);
    CHECK(comm_rank || comm_size == 1 || class == MPI_ERR_TRUNCATE, "gatherv of %d: class %d", each,
          class);
    for (int r = 0; r < comm_size; r++)
        CHECK(b[places[r] + each] == -7, "gatherv of %d wrote behind block %d", each, r);
    for (int r = 1; r < comm_size; r++)
        counts[r]++;
    b[each] = -7;
    error = MPI_Scatterv(a, counts, places, MPI_INT, b, each, MPI_INT, 0, comm);
    MPI_Error_class(error, &class);
    CHECK(!comm_rank || class == MPI_ERR_TRUNCATE, "scatterv of %d: class %d", each, class);
    CHECK(b[each] == -7, "scatterv of %d wrote behind", each);
    /* Rank 1 has more for rank 0. */
    int sends[RANKS_MAX];
    for (int r = 0; r < comm_size; r++) {
        sends[r] = each + (comm_rank == 1 && r == 0);
        counts[r] = each;
    }
    for (int i = 0; i < ELEMENTS_MAX; i++)
        b[i] = -7;
    error = MPI_Alltoallv(a, sends, places, MPI_INT, b, counts, places, MPI_INT, comm);
    class = MPI_SUCCESS;
    MPI_Error_class(error, &class);
    CHECK(comm_rank || comm_size == 1 || class == MPI_ERR_TRUNCATE, "alltoallv of %d: class %d",
          each, class);
    CHECK(comm_rank < 2 || class == MPI_SUCCESS, "alltoallv of %d: class %d at rank %d", each,
          class, comm_rank);
    for (int r = 0; r < comm_size; r++)
        CHECK(b[places[r] + each] == -7, "alltoallv of %d wrote behind block %d", each, r);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

static int class_of(int error)
{
    int class;
    MPI_Error_class(error, &class);
    return class;
}

/* The root keeps less of its own block than it gives, and nothing behind is written. */
static void own_block_too_long(MPI_Comm comm, int each, int32_t *a, int32_t *b)
{
    const layout_t whole = {MPI_INT, 1};
    const bool is_root = comm_rank == 0;
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    fill(a, &whole, each + 3, comm_rank, 4);
    b[each * comm_size] = -7;
    int class =
        class_of(MPI_Gather(a, is_root ? each + 3 : each, MPI_INT, b, each, MPI_INT, 0, comm));
    CHECK(!is_root || class == MPI_ERR_TRUNCATE, "gather of %d: class %d", each, class);
    for (int r = 0; r < comm_size && is_root; r++)
        expect("gather of unequal blocks", b + r * each, &whole, each, r, 4);
    CHECK(b[each * comm_size] == -7, "gather of %d wrote behind", each);
    for (int r = 0; r < comm_size; r++)
        fill(a + r * each, &whole, each, 0, r);
    b[each] = b[each - 1] = -7;
    class = class_of(MPI_Scatter(a, each, MPI_INT, b, is_root ? each - 1 : each, MPI_INT, 0, comm));
    CHECK(!is_root || class == MPI_ERR_TRUNCATE, "scatter of %d: class %d", each, class);
    expect("scatter of unequal blocks", b, &whole, is_root ? each - 1 : each, 0, comm_rank);
    CHECK(b[is_root ? each - 1 : each] == -7, "scatter of %d wrote behind", each);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

/* The last rank gives less than the others take of it: it is told, and no more of its memory is
 * read than it has said. */
static void gives_less_of(MPI_Comm comm, int each, int given_by_last, int32_t *a, int32_t *b)
{
    const layout_t whole = {MPI_INT, 1};
    const int last = comm_size - 1, given = comm_rank == last ? given_by_last : each;
    const int expected = comm_rank == last ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    fill(a, &whole, each * comm_size, comm_rank, 0);
    memset(b, 0, (size_t) (each * comm_size) * sizeof(*b));
    int class = class_of(MPI_Allgather(a, given, MPI_INT, b, each, MPI_INT, comm));
    CHECK(class == expected, "allgather of %d: class %d", each, class);
    for (int r = 0; r < comm_size; r++)
        expect("allgather of unequal blocks", b + r * each, &whole,
               r == last ? given_by_last : each, r, 0);
    CHECK(b[last * each + given_by_last] == 0, "allgather of %d brought what was not given", each);
    class = class_of(MPI_Alltoall(a, given, MPI_INT, b, each, MPI_INT, comm));
    CHECK(class == expected, "alltoall of %d: class %d", each, class);
    for (int r = 0; r < comm_size; r++) {
        int of_r = r == last ? given_by_last : each;
        expect("alltoall of unequal blocks", b + r * each, &whole, of_r, r, comm_rank * of_r);
    }
}

static void gives_less(MPI_Comm comm, int32_t *a, int32_t *b)
{
    enum { EACH = 5, GIVEN = 3 };
    const layout_t whole = {MPI_INT, 1};
    const int last = comm_size - 1, given = comm_rank == last ? GIVEN : EACH;
    const int expected = comm_rank == last ? MPI_ERR_TRUNCATE : MPI_SUCCESS;
    int counts[RANKS_MAX], places[RANKS_MAX];
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    gives_less_of(comm, EACH, GIVEN, a, b);
    for (int round = 0; round < 8 && comm_size == 2; round++) /* both ways of two are tried */
        for (int each = 20000; each <= 40000; each += 20000)
            gives_less_of(comm, each, each - 1000, a, b);
    fill(a, &whole, EACH * comm_size, comm_rank, 0);
    for (int r = 0; r < comm_size; r++) {
        counts[r] = EACH;
        places[r] = r * EACH;
    }
    b[last * EACH + GIVEN] = -7;
    int class = class_of(MPI_Allgatherv(a, given, MPI_INT, b, counts, places, MPI_INT, comm));
    CHECK(class == expected, "allgatherv: class %d", class);
    expect("allgatherv of unequal blocks", b + last * EACH, &whole, GIVEN, last, 0);
    CHECK(b[last * EACH + GIVEN] == 0, "allgatherv brought what was not given");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

/* What an operator makes of element i of all ranks. */
static int32_t reduced(MPI_Op op, int i)
{
    int32_t all = value_of(0, i);
    for (int r = 1; r < comm_size; r++) {
        int32_t v = value_of(r, i);
        all = op == MPI_SUM   ? all + v
              : op == MPI_MIN ? (v < all ? v : all)
              : op == MPI_MAX ? (v > all ? v : all)
                              : (all ^ v);
    }
    return all;
}

static void expect_reduced(const char *what, const int32_t *at, MPI_Op op, int count, int from)
{
    for (int i = 0; i < count; i++) {
        if (at[i] == reduced(op, from + i))
            continue;
        CHECK(false, "%s of %d, element %d: %d instead of %d", what, count, from + i, (int) at[i],
              (int) reduced(op, from + i));
        return;
    }
}

/* Each rank has a block of the result. */
static void reduce_scatters(MPI_Comm comm, int each, bool in_place, int32_t *a, int32_t *b)
{
    const MPI_Op op[] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_BXOR};
    const layout_t whole = {MPI_INT, 1};
    int32_t *own = in_place ? b : a;
    int counts[RANKS_MAX], before = 0, total = 0;
    for (int r = 0; r < comm_size; r++) {
        counts[r] = block_of(each, r, 0);
        before += r < comm_rank ? counts[r] : 0;
        total += counts[r];
    }
    for (int i = 0; i < 4; i++) {
        fill(own, &whole, total, comm_rank, 0);
        MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : a, b, counts, MPI_INT, op[i], comm);
        expect_reduced("reduce_scatter", b, op[i], counts[comm_rank], before);
        fill(own, &whole, each * comm_size, comm_rank, 0);
        MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : a, b, each, MPI_INT, op[i], comm);
        expect_reduced("reduce_scatter_block", b, op[i], each, each * comm_rank);
        /* All for one rank. */
        for (int r = 0; r < comm_size; r++)
            counts[r] = r == i % comm_size ? total : 0;
        fill(own, &whole, total, comm_rank, 0);
        MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : a, b, counts, MPI_INT, op[i], comm);
        expect_reduced("reduce_scatter to one rank", b, op[i], counts[comm_rank], 0);
        for (int r = 0; r < comm_size; r++)
            counts[r] = block_of(each, r, 0);
    }
}

static void reductions(MPI_Comm comm, int count, bool in_place, int32_t *a, int32_t *b)
{
    const MPI_Op op[] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_BXOR};
    layout_t whole = {MPI_INT, 1};
    for (int i = 0; i < 4; i++) {
        fill(a, &whole, count, comm_rank, 0);
        fill(b, &whole, count, comm_rank, 0);
        MPI_Allreduce(in_place ? MPI_IN_PLACE : a, b, count, MPI_INT, op[i], comm);
        expect_reduced("allreduce", b, op[i], count, 0);
        int root = (count + i) % comm_size;
        fill(b, &whole, count, comm_rank, 0);
        MPI_Reduce(in_place && comm_rank == root ? MPI_IN_PLACE : a, b, count, MPI_INT, op[i], root,
                   comm);
        if (comm_rank == root)
            expect_reduced("reduce", b, op[i], count, 0);
    }
}

/* Types with no loop of ours, and results that all ranks must have the same bits of. */
static void other_types(MPI_Comm comm)
{
    double _Complex z = comm_rank + 1, zs;
    long double d = comm_rank + 0.25L, ds;
    struct {
        double value;
        int where;
    } m = {(comm_rank * 7) % comm_size, comm_rank}, most;
    double third = 1.0 / (comm_rank + 3), sum, least, greatest;
    MPI_Allreduce(&z, &zs, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, comm);
    CHECK(zs == comm_size * (comm_size + 1) / 2, "sum of complex numbers");
    MPI_Allreduce(&d, &ds, 1, MPI_LONG_DOUBLE, MPI_MAX, comm);
    CHECK(ds == comm_size - 0.75L, "maximum of long doubles");
    MPI_Allreduce(&m, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    CHECK(most.value >= m.value, "maximum with its place");
    MPI_Allreduce(&third, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(&sum, &least, 1, MPI_DOUBLE, MPI_MIN, comm);
    MPI_Allreduce(&sum, &greatest, 1, MPI_DOUBLE, MPI_MAX, comm);
    CHECK(least == greatest, "a sum differs between ranks");
}

/* Both buffers at one address, which their types move apart. */
static void at_one_address(MPI_Comm comm, int count, int32_t *a)
{
    enum { RANKS = 2 };
    const layout_t whole = {MPI_INT, 1};
    int32_t *result = a + RANKS * count;
    MPI_Datatype from, to;
    MPI_Aint apart = RANKS * (MPI_Aint) count * (MPI_Aint) sizeof(*a);
    MPI_Type_create_hindexed(1, &count, &apart, MPI_INT, &from);
    MPI_Type_create_resized(from, 0, count * (MPI_Aint) sizeof(*a), &to);
    MPI_Type_free(&from);
    MPI_Type_contiguous(count, MPI_INT, &from);
    MPI_Type_commit(&from);
    MPI_Type_commit(&to);
    for (int round = 0; round < 8; round++) { /* both ways are tried */
        fill(a, &whole, RANKS * count, comm_rank, 0);
        memset(result, 0, (size_t) (RANKS * count) * sizeof(*a));
        MPI_Allgather(a, 1, from, a, 1, to, comm);
        for (int r = 0; r < RANKS; r++)
            expect("allgather at one address", result + r * count, &whole, count, r, 0);
        memset(result, 0, (size_t) (RANKS * count) * sizeof(*a));
        MPI_Alltoall(a, 1, from, a, 1, to, comm);
        for (int r = 0; r < RANKS; r++)
            expect("alltoall at one address", result + r * count, &whole, count, r,
                   comm_rank * count);
    }
    MPI_Type_free(&from);
    MPI_Type_free(&to);
}

/* Two ranks try both ways for what they exchange, other ones for other lengths, and types with gaps
 * go neither by slots nor are they read. */
static void long_exchanges(MPI_Comm comm, int32_t *a, int32_t *b)
{
    for (int round = 0; round < 48; round++) {
        int kind = round % 8 < 6 ? 0 : round % 8 - 5;
        for (int part = 2; part <= 8; part *= 2) { /* of 280, 140 and 70 KB */
            allgather(comm, ELEMENTS_MAX / part, kind & 1, kind & 2, a, b);
            alltoall(comm, ELEMENTS_MAX / part, kind & 1, kind & 2, a, b);
        }
    }
    for (int part = 2; part <= 8; part *= 2)
        at_one_address(comm, ELEMENTS_MAX / part, a);
}

static void all_of_them(MPI_Comm comm, int32_t *a, int32_t *b)
{
    static const int counts[] = {1, 0, 13, 14, 15, 100, 4095, 4096, 4097, 9000, 33000};
    MPI_Comm_rank(comm, &comm_rank);
    MPI_Comm_size(comm, &comm_size);
    for (int round = 0; round < ROUNDS; round++)
        MPI_Barrier(comm);
    for (unsigned c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
        int count = counts[c];
        int most = ELEMENTS_MAX / comm_size, each = count < most ? count : most;
        for (int kind = 0; kind < 4; kind++) {
            bcast(comm, count, kind & 1, a);
            allgather(comm, each, kind & 1, kind & 2, a, b);
            alltoall(comm, each, kind & 1, kind & 2, a, b);
            reductions(comm, count, kind & 2, a, b);
            const int block = each < most ? each : most - 1; /* gaps */
            allgatherv(comm, block, kind & 1, kind & 2, a, b);
            alltoallv(comm, block, kind & 1, kind & 2, a, b);
            reduce_scatters(comm, each, kind & 2, a, b);
            to_and_from_one(comm, each, kind & 1, kind & 2, a, b);
            blocks_to_and_from_one(comm, block, kind & 1, kind & 2, a, b);
        }
    }
    too_long(comm, 5, a, b);
    too_long(comm, ELEMENTS_MAX / comm_size - 1, a, b);
    if (comm_size > 1 && !packets) {
        own_block_too_long(comm, 5, a, b);
        gives_less(comm, a, b);
    }
    if (comm_size > 2 && !packets) /* of two ranks these are messages */
        own_block_too_long(comm, 9000, a, b);
    if (comm_size == 2)
        long_exchanges(comm, a, b);
    other_types(comm);
    MPI_Barrier(comm);
}

/* Messages go on while others wait in a collective. */
static void with_messages(int32_t *a, int32_t *b)
{
    MPI_Request request;
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    layout_t whole = {MPI_INT, 1};
    fill(a, &whole, ELEMENTS_MAX, rank, 1);
    MPI_Isend(a, ELEMENTS_MAX, MPI_INT, next, 1, MPI_COMM_WORLD, &request);
    if (rank == 0)
        MPI_Recv(b, ELEMENTS_MAX, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0)
        MPI_Recv(b, ELEMENTS_MAX, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("message", b, &whole, ELEMENTS_MAX, last, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Rank 1 comes last to each collective, so that it waits in none: a message to it arrives all the
 * same.  Limit: far more collectives than that takes. */
static void with_messages_where_none_waits(int32_t *a, int32_t *b)
{
    const layout_t whole = {MPI_INT, 1};
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 1, all = 0, rounds = 0;
    fill(a, &whole, ELEMENTS_MAX, 0, 1);
    if (rank == 0)
        MPI_Isend(a, ELEMENTS_MAX, MPI_INT, 1, 2, MPI_COMM_WORLD, &request);
    else if (rank == 1)
        MPI_Irecv(b, ELEMENTS_MAX, MPI_INT, 0, 2, MPI_COMM_WORLD, &request);
    while (!all && rounds++ < 2000) {
        if (rank == 0)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        else if (rank == 1)
            usleep(200);
        MPI_Allreduce(&done, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    CHECK(all, "the message has not left after %d collectives", rounds);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1)
        expect("message beside collectives", b, &whole, ELEMENTS_MAX, 0, 1);
}

/* More communicators, one after the other, than memory for boards at once. */
static void many_communicators(void)
{
    for (int i = 0; i < 300; i++) {
        MPI_Comm comm;
        int sum = 0, one = 1;
        MPI_Comm_split(MPI_COMM_WORLD, i % 3 ? 0 : rank % 2, i % 2 ? rank : -rank, &comm);
        MPI_Comm_size(comm, &comm_size);
        for (int round = 0; round < ROUNDS; round++)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == comm_size, "sum in communicator %d: %d instead of %d", i, sum, comm_size);
        MPI_Comm_free(&comm);
    }
}

/* More boards of two ranks at a time than may have far memory, which the next ones have again. */
#define PAIRS 20
#define FAR_BOARDS 16 /* that of MPI_COMM_WORLD among them */
static void pairs(int32_t *a, int32_t *b)
{
    MPI_Comm comm[PAIRS];
    for (int i = 0; i < PAIRS; i++)
        MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &comm[i]);
    MPI_Comm_rank(comm[0], &comm_rank);
    MPI_Comm_size(comm[0], &comm_size);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < PAIRS; i++)
            reductions(comm[i], 5000 + round, false, a, b);
    for (int i = 0; i < PAIRS; i++)
        MPI_Comm_free(&comm[i]);
}

static void add_late(void *in, void *inout, int *len, MPI_Datatype *type)
{
    (void) type;
    if (comm_rank == 0)
        usleep(5000); /* not needed for success: the others fall asleep meanwhile */
    for (int i = 0; i < *len; i++)
        ((int *) inout)[i] += ((int *) in)[i];
}

/* MPI_Scan goes by MPICH's own way, which ends with a broadcast on a communicator below this one;
 * that one soon has a board.  The root comes late, leaves, and frees both while others still sleep
 * there. The order of the ranks has a table, which is freed with them. */
static void left_while_others_sleep(void)
{
    MPI_Op op;
    MPI_Op_create(add_late, 1, &op);
    for (int i = 0; i < 5; i++) {
        MPI_Comm comm;
        int sum = 0, one = 1;
        MPI_Comm_split(MPI_COMM_WORLD, 0, rank ^ 1, &comm);
        MPI_Comm_rank(comm, &comm_rank);
        for (int round = 0; round < ROUNDS; round++)
            MPI_Scan(&one, &sum, 1, MPI_INT, op, comm);
        CHECK(sum == comm_rank + 1, "scan %d brought %d", i, sum);
        MPI_Comm_free(&comm);
    }
    MPI_Op_free(&op);
}

static int processors(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    mallopt(M_PERTURB, 0x5a); /* what is freed does not keep its values */
    check_begin(&argc, &argv);
    packets = argc > 1 && strcmp(argv[1], "packets") == 0;
    int32_t *a = check_alloc(ELEMENTS_MAX * 2 * sizeof(*a));
    int32_t *b = check_alloc(ELEMENTS_MAX * 2 * sizeof(*b));
    all_of_them(MPI_COMM_WORLD, a, b);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
    all_of_them(comm, a, b);
    MPI_Comm_free(&comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    all_of_them(comm, a, b);
    MPI_Comm_free(&comm);
    with_messages(a, b);
    if (size > 1)
        with_messages_where_none_waits(a, b);
    many_communicators();
    pairs(a, b);
    pairs(a, b);
    left_while_others_sleep();
    CHECK((counter("board_collectives") > 1000) == !packets, "%llu collectives on boards",
          (unsigned long long) counter("board_collectives"));
    if (size == 2 && !packets && processors() >= 2)
        CHECK(counter("boards_far") == 2 + 2 * (FAR_BOARDS - 1), "%llu boards with far memory",
              (unsigned long long) counter("boards_far"));
    counters_end();
    free(a);
    free(b);
    return check_end();
}
