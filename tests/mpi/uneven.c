/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives whose blocks have any lengths, of a communicator that has a board: short
 * and long ones and some that have nothing, of types with gaps that are freed meanwhile, in place,
 * many under way at a time, and blocks that are longer than their places.
 */
#include <stdbool.h>

#include "counter.h"

enum { GATHERV, SCATTERV, ALLGATHERV, ALLTOALLV, ALLTOALLW, REDUCE_SCATTER, BLOCKS, KINDS };
enum { AT_A_TIME = 14, RANKS_MAX = 16 };
enum { IN_SLOT = 4096 }; /* integers, of two ranks */

/* One under way.  Blocks lie apart, each with room for `room` integers, twice that where the type
 * has gaps. */
typedef struct {
    int kind, root, which, room;
    bool in_place, gaps;
    int *from, *to;
    int given[RANKS_MAX], taken[RANKS_MAX], places[RANKS_MAX], bytes[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    MPI_Request request;
} started_t;

static int element(int which, int from, int to, int i)
{
    return (int) ((uint32_t) which * 2654435761u + (uint32_t) (from * 7919 + to * 104729 + i * 31));
}

static bool is_reduction(int kind)
{
    return kind == REDUCE_SCATTER || kind == BLOCKS;
}

static bool has_a_block_for_all(int kind)
{
    return is_reduction(kind) || kind == ALLGATHERV;
}

/* Of what rank a has for rank b. */
static int length(const started_t *s, int a, int b)
{
    const uint32_t random =
        (uint32_t) element(s->which * 13, a, has_a_block_for_all(s->kind) ? 0 : b, 5) >> 3;
    if (s->kind == BLOCKS)
        return s->room / 2 + 1;
    return random % 5 == 0 ? 0 : (int) (random % (uint32_t) s->room);
}

/* An integer, and room for one. */
static MPI_Datatype spread(void)
{
    MPI_Datatype one, type;
    const int count = 1;
    const MPI_Aint place = 0;
    MPI_Type_create_hindexed(1, &count, &place, MPI_INT, &one);
    MPI_Type_create_resized(one, 0, 2 * sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Type_free(&one);
    return type;
}

static bool has_gaps(const started_t *s, int block)
{
    return s->gaps || (s->kind == ALLTOALLW && block % 2 == 1);
}

static void put(const started_t *s, int *buf, int block, int from, int to)
{
    for (int i = 0; i < length(s, from, to); i++)
        buf[s->places[block] * 2 + (i << has_gaps(s, block))] = element(s->which, from, to, i);
}

static void expect(const started_t *s, int block, int from, int to)
{
    const bool gaps = has_gaps(s, block);
    const int n = length(s, from, to), *at = s->to + s->places[block] * 2;
    for (int i = 0; i < n; i++) {
        CHECK(at[i << gaps] == element(s->which, from, to, i),
              "kind %d, %d elements%s%s, root %d: block %d element %d", s->kind, n,
              gaps ? ", gaps" : "", s->in_place ? ", in place" : "", s->root, block, i);
        CHECK(!gaps || at[2 * i + 1] == -1, "kind %d: a gap was stored to", s->kind);
    }
    CHECK(s->in_place || at[n << gaps] == -1, "kind %d: more than a block came", s->kind);
}

static void expect_sum(const started_t *s)
{
    int first = 0, n = length(s, rank, 0);
    for (int r = 0; r < rank; r++)
        first += length(s, r, 0);
    for (int i = 0; i < n; i++) {
        unsigned want = 0;
        for (int r = 0; r < size; r++)
            want += (unsigned) element(s->which, r, 0, first + i);
        CHECK((unsigned) s->to[i] == want, "kind %d, %d elements%s: element %d", s->kind, n,
              s->in_place ? ", in place" : "", i);
    }
}

static void prepare(started_t *s)
{
    const size_t bytes = (size_t) (s->room + 2) * 2 * (size_t) size * sizeof(int);
    const bool own = s->kind == GATHERV || s->kind == ALLGATHERV;
    s->from = check_alloc(bytes);
    s->to = check_alloc(bytes);
    memset(s->from, -1, bytes);
    memset(s->to, -1, bytes);
    s->gaps &= !is_reduction(s->kind) && s->kind != ALLTOALLW;
    s->in_place &= rank == s->root || !(s->kind == GATHERV || s->kind == SCATTERV);
    if (s->in_place && (s->kind == ALLTOALLV || s->kind == ALLTOALLW))
        s->in_place = false; /* what it has and what it gets differ in length here */
    int at = 0;
    for (int r = 0; r < size; r++) {
        s->given[r] = length(s, rank, r);
        s->taken[r] = length(s, r, rank);
        /* In extents, of two integers or one; `put` counts pairs. */
        s->places[r] = r * (s->room + 2);
        s->bytes[r] = s->places[r] * 2 * (int) sizeof(int);
        s->types[r] = has_gaps(s, r) ? spread() : MPI_INT;
    }
    if (is_reduction(s->kind)) {
        int *vector = s->in_place ? s->to : s->from;
        for (int r = 0; r < size; r++)
            at += length(s, r, 0);
        for (int i = 0; i < at; i++)
            vector[i] = element(s->which, rank, 0, i);
    } else if (own) {
        put(s, s->in_place ? s->to : s->from, s->in_place ? rank : 0, rank,
            s->kind == GATHERV ? s->root : 0);
    } else {
        for (int r = 0; r < size; r++)
            put(s, s->from, r, rank, r);
    }
}

static void start(started_t *s, MPI_Comm comm)
{
    MPI_Datatype type = s->gaps ? spread() : MPI_INT;
    int places[RANKS_MAX];
    const void *from = s->in_place && s->kind != SCATTERV ? MPI_IN_PLACE : s->from;
    void *to = s->in_place && s->kind == SCATTERV ? MPI_IN_PLACE : s->to;
    for (int r = 0; r < size; r++)
        places[r] = s->places[r] * (s->gaps ? 1 : 2);
    switch (s->kind) {
        case GATHERV:
            MPI_Igatherv(from, s->given[s->root], type, to, s->taken, places, type, s->root, comm,
                         &s->request);
            break;
        case SCATTERV:
            MPI_Iscatterv(from, s->given, places, type, to, s->taken[s->root], type, s->root, comm,
                          &s->request);
            break;
        case ALLGATHERV:
            MPI_Iallgatherv(from, s->given[rank], type, to, s->taken, places, type, comm,
                            &s->request);
            break;
        case ALLTOALLV:
            MPI_Ialltoallv(from, s->given, places, type, to, s->taken, places, type, comm,
                           &s->request);
            break;
        case ALLTOALLW:
            MPI_Ialltoallw(from, s->given, s->bytes, s->types, to, s->taken, s->bytes, s->types,
                           comm, &s->request);
            break;
        case REDUCE_SCATTER:
            MPI_Ireduce_scatter(from, to, s->taken, MPI_INT, MPI_SUM, comm, &s->request);
            break;
        default:
            MPI_Ireduce_scatter_block(from, to, s->taken[0], MPI_INT, MPI_SUM, comm, &s->request);
            break;
    }
    if (s->gaps)
        MPI_Type_free(&type);
}

static void end(started_t *s)
{
    if (is_reduction(s->kind))
        expect_sum(s);
    if (s->kind == SCATTERV && !s->in_place)
        expect(s, 0, s->root, rank);
    for (int r = 0; r < size; r++) {
        if (s->kind == ALLGATHERV || (s->kind == GATHERV && rank == s->root))
            expect(s, r, r, s->kind == GATHERV ? s->root : 0);
        if (s->kind == ALLTOALLV || s->kind == ALLTOALLW)
            expect(s, r, r, rank);
        if (s->types[r] != MPI_INT)
            MPI_Type_free(&s->types[r]);
    }
    free(s->from);
    free(s->to);
}

/* The same on all ranks. */
static void plan(started_t *s, int which)
{
    static const int rooms[] = {2, 13, 60, 1000, 10, 20000};
    s->which = which;
    s->kind = which % KINDS;
    s->room = rooms[which / KINDS % 6];
    s->root = which / 3 % size;
    s->in_place = which % 5 == 0;
    s->gaps = which % 11 < 4;
}

static void many(MPI_Comm comm, MPI_Comm other, int round)
{
    static started_t s[AT_A_TIME];
    for (int k = 0; k < AT_A_TIME; k++) {
        plan(&s[k], round * AT_A_TIME + k);
        prepare(&s[k]);
        start(&s[k], k % 4 == 3 ? other : comm);
        if (k % 6 == 5)
            MPI_Barrier(comm);
    }
    for (int k = 0; k < AT_A_TIME; k++)
        MPI_Wait(&s[round % 2 ? k : AT_A_TIME - 1 - k].request, MPI_STATUS_IGNORE);
    for (int k = 0; k < AT_A_TIME; k++)
        end(&s[k]);
}

/* Has one of two ranks more for the other than a slot has room for? */
static bool is_long_of_two(const started_t *s)
{
    const bool gathers = s->kind == GATHERV;
    return size == 2 && (gathers || s->kind == SCATTERV) &&
           length(s, gathers ? 1 : 0, gathers ? 0 : 1) > IN_SLOT;
}

/* They take the board, and no message, but for long ones of two ranks that one has for the other
 * and that are not read. */
static void take_the_board(int room)
{
    for (int kind = 0; kind < KINDS; kind++) {
        started_t s = {.kind = kind, .room = room, .which = kind};
        unsigned long long before = counter("board_collectives"), now;
        bool by_messages;
        while (room > IN_SLOT && size == 2 && (kind == GATHERV || kind == SCATTERV) &&
               !is_long_of_two(&s))
            s.which++;
        by_messages = is_long_of_two(&s) && !copies_are_fair();
        prepare(&s);
        start(&s, MPI_COMM_WORLD);
        MPI_Wait(&s.request, MPI_STATUS_IGNORE);
        end(&s);
        now = counter("board_collectives");
        CHECK(now == before + !by_messages, "kind %d, room %d: %llu went by the board", kind, room,
              now - before);
    }
}

/* With blocks that replace those that were there, and the blocking one with types of its own. */
static void all_in_place(int n)
{
    int counts[RANKS_MAX], places[RANKS_MAX], bytes[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    int *buf = check_alloc((size_t) (n * size + 1) * sizeof(int));
    for (int kind = 0; kind < 3; kind++) {
        MPI_Request request = MPI_REQUEST_NULL;
        for (int r = 0; r < size; r++) {
            counts[r] = n;
            places[r] = r * n;
            bytes[r] = r * n * (int) sizeof(int);
            types[r] = MPI_INT;
            for (int i = 0; i < n; i++)
                buf[r * n + i] = element(n, rank, r, i);
        }
        if (kind == 0)
            MPI_Ialltoallv(MPI_IN_PLACE, NULL, NULL, MPI_INT, buf, counts, places, MPI_INT,
                           MPI_COMM_WORLD, &request);
        else if (kind == 1)
            MPI_Ialltoallw(MPI_IN_PLACE, NULL, NULL, NULL, buf, counts, bytes, types,
                           MPI_COMM_WORLD, &request);
        else
            MPI_Alltoallw(MPI_IN_PLACE, NULL, NULL, NULL, buf, counts, bytes, types,
                          MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int r = 0; r < size; r++)
            for (int i = 0; i < n; i++)
                CHECK(buf[r * n + i] == element(n, r, rank, i),
                      "in place %d, %d elements: block %d element %d", kind, n, r, i);
    }
    free(buf);
}

/* Blocking, with blocks of different types. */
static void blocking_with_types(int room)
{
    started_t s = {.kind = ALLTOALLW, .room = room, .which = room};
    prepare(&s);
    MPI_Alltoallw(s.from, s.given, s.bytes, s.types, s.to, s.taken, s.bytes, s.types,
                  MPI_COMM_WORLD);
    end(&s);
}

/* What has no elements needs no type. */
static void nothing_has_no_type(void)
{
    int none[RANKS_MAX] = {0}, from = 0, to = 0;
    MPI_Datatype types[RANKS_MAX];
    MPI_Request request;
    for (int r = 0; r < size; r++)
        types[r] = MPI_DATATYPE_NULL;
    MPI_Alltoallw(&from, none, none, types, &to, none, none, types, MPI_COMM_WORLD);
    MPI_Ialltoallw(&from, none, none, types, &to, none, none, types, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* A block of rank 0 that is longer than its place is an error of the rank that takes it, and no
 * byte comes behind the place. */
static void longer_than_its_place(int n)
{
    int counts[RANKS_MAX], fewer[RANKS_MAX], places[RANKS_MAX], code, class;
    int *from = check_alloc((size_t) (n * size) * sizeof(int));
    int *to = check_alloc((size_t) (n * size) * sizeof(int));
    MPI_Request request;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 5; i++)
        MPI_Barrier(comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int r = 0; r < size; r++) {
        counts[r] = n;
        fewer[r] = n - (r == 0);
        places[r] = r * n;
    }
    memset(from, 1, (size_t) (n * size) * sizeof(int));
    memset(to, -1, (size_t) (n * size) * sizeof(int));
    code =
        MPI_Ialltoallv(from, counts, places, MPI_INT, to, fewer, places, MPI_INT, comm, &request);
    if (code == MPI_SUCCESS)
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_TRUNCATE, "%d elements: a longer block is error class %d", n, class);
    CHECK(to[n - 1] == -1 && to[n - 2] == 0x01010101, "%d elements: %x, %x came", n,
          (unsigned) to[n - 2], (unsigned) to[n - 1]);
    MPI_Comm_free(&comm);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    check_begin(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int round = 0; round < 3; round++) /* without a board */
        many(other, MPI_COMM_WORLD, round);
    for (int i = 0; i < 5; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Barrier(other);
    }
    for (int round = 0; round < 60; round++)
        many(MPI_COMM_WORLD, other, round);
    nothing_has_no_type();
    for (int n = 1; n <= 20000; n *= 20) {
        all_in_place(n);
        blocking_with_types(n + 1);
    }
    if (argc < 2) { /* "packets": there are no boards */
        take_the_board(10);
        take_the_board(20000);
        longer_than_its_place(10);
        longer_than_its_place(20000);
    }
    MPI_Comm_free(&other);
    counters_end();
    return check_end();
}
