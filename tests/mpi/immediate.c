/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives of a communicator that has a board: short ones and some that are longer
 * than its slots, of types with gaps and in place, many under way at a time, in any order of
 * waits, and while messages and blocking ones go on.
 */
#include <stdbool.h>
#include <time.h>

#include "counter.h"

enum { BARRIER, BCAST, REDUCE, ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, KINDS };
enum { AT_A_TIME = 24, LONG = 5000, LONGEST = 20000 };

/* A collective under way: blocks of n integers, of which each second one counts where its type has
 * gaps. */
typedef struct {
    int kind, n, root, which;
    bool in_place, gaps;
    int *from, *to;
    MPI_Request request;
} started_t;

static MPI_Datatype spread; /* an integer, and room for one */

static int element(int which, int from, int to, int i)
{
    return (int) ((uint32_t) which * 2654435761u + (uint32_t) (from * 7919 + to * 104729 + i * 31));
}

static void put(const started_t *s, int *buf, int block, int from, int to)
{
    for (int i = 0; i < s->n; i++)
        buf[(block * s->n + i) << s->gaps] = element(s->which, from, to, i);
}

static void expect(const started_t *s, int block, int from, int to)
{
    for (int i = 0; i < s->n; i++) {
        int at = (block * s->n + i) << s->gaps, want = element(s->which, from, to, i);
        CHECK(s->to[at] == want, "kind %d, %d elements%s%s, root %d: block %d element %d", s->kind,
              s->n, s->gaps ? ", gaps" : "", s->in_place ? ", in place" : "", s->root, block, i);
        CHECK(!s->gaps || s->to[at + 1] == -1, "kind %d: a gap was stored to", s->kind);
    }
}

static void expect_sum(const started_t *s)
{
    for (int i = 0; i < s->n; i++) {
        unsigned want = 0;
        for (int r = 0; r < size; r++)
            want += (unsigned) element(s->which, r, 0, i);
        CHECK((unsigned) s->to[i] == want, "kind %d, %d elements%s, root %d: element %d", s->kind,
              s->n, s->in_place ? ", in place" : "", s->root, i);
    }
}

static void prepare(started_t *s)
{
    const size_t bytes = (size_t) (s->n * size + 1) * 2 * sizeof(int);
    const bool to_each = s->kind == SCATTER || s->kind == ALLTOALL;
    bool own_in_result = s->kind == GATHER || s->kind == ALLGATHER;
    s->from = check_alloc(bytes);
    s->to = check_alloc(bytes);
    memset(s->from, -1, bytes);
    memset(s->to, -1, bytes);
    s->gaps &= s->kind != REDUCE && s->kind != ALLREDUCE;
    s->in_place &=
        s->kind != BCAST && s->kind != BARRIER &&
        (rank == s->root || s->kind == ALLREDUCE || s->kind == ALLGATHER || s->kind == ALLTOALL);
    if (s->kind == BCAST && rank == s->root)
        put(s, s->to, 0, rank, 0);
    for (int r = 0; r < (to_each ? size : 1); r++)
        put(s, s->in_place && s->kind != SCATTER ? s->to : s->from,
            s->in_place && own_in_result ? rank : r, rank, r);
}

static void start(started_t *s, MPI_Comm comm)
{
    MPI_Datatype type = s->gaps ? spread : MPI_INT;
    const void *from = s->in_place && s->kind != SCATTER ? MPI_IN_PLACE : s->from;
    void *to = s->in_place && s->kind == SCATTER ? MPI_IN_PLACE : s->to;
    switch (s->kind) {
        case BARRIER:
            MPI_Ibarrier(comm, &s->request);
            break;
        case BCAST:
            MPI_Ibcast(s->to, s->n, type, s->root, comm, &s->request);
            break;
        case REDUCE:
            MPI_Ireduce(from, to, s->n, type, MPI_SUM, s->root, comm, &s->request);
            break;
        case ALLREDUCE:
            MPI_Iallreduce(from, to, s->n, type, MPI_SUM, comm, &s->request);
            break;
        case GATHER:
            MPI_Igather(from, s->n, type, to, s->n, type, s->root, comm, &s->request);
            break;
        case SCATTER:
            MPI_Iscatter(from, s->n, type, to, s->n, type, s->root, comm, &s->request);
            break;
        case ALLGATHER:
            MPI_Iallgather(from, s->n, type, to, s->n, type, comm, &s->request);
            break;
        case ALLTOALL:
            MPI_Ialltoall(from, s->n, type, to, s->n, type, comm, &s->request);
            break;
    }
}

static void end(started_t *s)
{
    const bool is_root = rank == s->root;
    if (s->kind == BCAST)
        expect(s, 0, s->root, 0);
    if (s->kind == ALLREDUCE || (s->kind == REDUCE && is_root))
        expect_sum(s);
    if (s->kind == SCATTER && !s->in_place)
        expect(s, 0, s->root, rank);
    for (int r = 0; r < size; r++) {
        if (s->kind == ALLGATHER || (s->kind == GATHER && is_root))
            expect(s, r, r, 0);
        if (s->kind == ALLTOALL)
            expect(s, r, r, rank);
    }
    free(s->from);
    free(s->to);
}

static void have_board(MPI_Comm comm)
{
    for (int i = 0; i < 5; i++)
        MPI_Barrier(comm);
}

/* The same on all ranks. */
static void plan(started_t *s, int which)
{
    static const int lengths[] = {1, 13, 14, 15, 100, 0, 1000, LONG, LONGEST};
    s->which = which;
    s->kind = which % KINDS;
    s->n = lengths[which / KINDS % 9];
    s->root = which / 3 % size;
    s->in_place = which % 5 == 0;
    s->gaps = which % 7 < 2;
}

/* Waits in any order: all at once, one by one from the last, by tests, as they complete. */
static void wait_for(started_t *s, int how)
{
    MPI_Request request[AT_A_TIME];
    int left = AT_A_TIME, i, flag;
    for (i = 0; i < AT_A_TIME; i++)
        request[i] = s[i].request;
    if (how == 0)
        MPI_Waitall(AT_A_TIME, request, MPI_STATUSES_IGNORE);
    for (i = AT_A_TIME - 1; how == 1 && i >= 0; i--)
        MPI_Wait(&request[i], MPI_STATUS_IGNORE);
    while (how == 2 && left) {
        MPI_Testany(AT_A_TIME, request, &i, &flag, MPI_STATUS_IGNORE);
        left -= flag && i != MPI_UNDEFINED;
    }
    while (how == 3 && left--)
        MPI_Waitany(AT_A_TIME, request, &i, MPI_STATUS_IGNORE);
}

static void many(MPI_Comm comm, MPI_Comm other, int round)
{
    started_t s[AT_A_TIME];
    int token = -1, next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int k = 0; k < AT_A_TIME; k++) {
        plan(&s[k], round * AT_A_TIME + k);
        prepare(&s[k]);
        start(&s[k], k % 4 == 3 ? other : comm);
        if (k % 6 == 5)
            MPI_Barrier(comm);
        if (k % 9 == 8) {
            MPI_Sendrecv(&k, 1, MPI_INT, next, 0, &token, 1, MPI_INT, before, 0, comm,
                         MPI_STATUS_IGNORE);
            CHECK(token == k, "%d came beside collectives, not %d", token, k);
        }
    }
    wait_for(s, round % 4);
    for (int k = 0; k < AT_A_TIME; k++)
        end(&s[k]);
}

/* Of two ranks long ones go by messages, of which both move pieces, unless they are read. */
static bool takes_the_board(int kind, int n)
{
    if (size > 2 || n < LONGEST)
        return true;
    return kind == GATHER || kind == SCATTER ? copies_are_fair() : kind != BCAST;
}

/* Those take it, and no message. */
static void take_the_board(int n)
{
    for (int kind = 0; kind < KINDS; kind++) {
        unsigned long long before = counter("board_collectives"), now;
        started_t s = {.kind = kind, .n = n, .which = kind};
        prepare(&s);
        start(&s, MPI_COMM_WORLD);
        MPI_Wait(&s.request, MPI_STATUS_IGNORE);
        end(&s);
        now = counter("board_collectives");
        CHECK(now == before + takes_the_board(kind, n),
              "kind %d, %d elements: %llu went by the board", kind, n, now - before);
    }
}

/* A rank that has started one need not wait for those who start it later. */
static void starts_return_at_once(void)
{
    MPI_Request request;
    int flag, go = 1;
    if (rank == 0) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag, "a barrier was over before the others had come");
        for (int r = 1; r < size; r++)
            MPI_Send(&go, 1, MPI_INT, r, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&go, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Those who wait for long sleep, and are woken. */
static void a_late_rank(void)
{
    const struct timespec late = {0, 20000000};
    for (int k = 0; k < 10; k++) {
        MPI_Request request;
        int sum = -1;
        if (rank == k % size)
            nanosleep(&late, NULL);
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sum == size * (size - 1) / 2, "the sum of ranks is %d", sum);
    }
}

/* The communicator is freed while some of its collectives are under way. */
static void freed_before_the_end(void)
{
    for (int k = 0; k < 20; k++) {
        MPI_Comm comm;
        MPI_Request request[3];
        int value = rank == 0 ? k : -1, sum = -1;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        have_board(comm);
        MPI_Ibarrier(comm, &request[0]);
        MPI_Ibcast(&value, 1, MPI_INT, 0, comm, &request[1]);
        MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request[2]);
        MPI_Comm_free(&comm);
        MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
        CHECK(value == k && sum == size * (size - 1) / 2, "%d and %d came", value, sum);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm other;
    MPI_Datatype one;
    const int length = 1, place = 0;
    check_begin(&argc, &argv);
    MPI_Type_create_hindexed(1, &length, &(MPI_Aint){place}, MPI_INT, &one);
    MPI_Type_create_resized(one, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int round = 0; round < 3; round++) /* without a board */
        many(other, MPI_COMM_WORLD, round);
    have_board(MPI_COMM_WORLD);
    have_board(other);
    for (int round = 0; round < 60; round++)
        many(MPI_COMM_WORLD, other, round);
    if (argc < 2) { /* "packets": there are no boards */
        take_the_board(1);
        take_the_board(LONGEST);
    }
    starts_return_at_once();
    a_late_rank();
    freed_before_the_end();
    MPI_Comm_free(&other);
    MPI_Type_free(&one);
    MPI_Type_free(&spread);
    counters_end();
    return check_end();
}
