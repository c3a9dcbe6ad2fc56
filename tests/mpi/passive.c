/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Windows whose memory all ranks reach, mapped or by the kernel: what origins do arrives though the
 * target computes without a call of MPI; accumulates of all kinds and of many origins to one place
 * are atomic with respect to each other; locks exclude, and shared ones do not; parts of any
 * length, displacement unit and alignment, types with gaps and pairs; memory of MPI_Alloc_mem, a
 * program's own, and what is attached later.  The counters say that no message was used. "packets":
 * the same by MPICH's messages, but for what they cannot do.  "asked": owners have been asked.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "counter.h"

static bool packets;

/* What to make windows of. */
enum { ALLOCATED, OWN, KINDS };

static void *window_of(int kind, MPI_Aint bytes, int unit, MPI_Win *win_p)
{
    void *part;
    if (kind == ALLOCATED) {
        MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &part, win_p);
    } else {
        part = check_alloc((size_t) bytes + 1);
        MPI_Win_create(part, bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, win_p);
    }
    return part;
}

static void window_end(int kind, void *part, MPI_Win *win_p)
{
    MPI_Win_free(win_p);
    if (kind == OWN)
        free(part);
}

/* All ranks reach the memory of each window made since the last call, or of none. */
static void expect_windows(unsigned long long made, bool direct, const char *what)
{
    static unsigned long long before;
    unsigned long long now = counter("windows");
    CHECK(now - before == (direct && !packets ? made : 0), "%s: %llu of %llu windows direct", what,
          now - before, made);
    before = now;
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* ---- the target calls nothing ---- */

static void target_computes(int64_t *cells)
{
    double until = seconds() + 10;
    while (atomic_load((_Atomic int64_t *) cells) < size - 1 && seconds() < until)
        ;
    CHECK(cells[0] == size - 1, "%d of %d origins have been here", (int) cells[0], size - 1);
    for (int r = 0; r < size - 1; r++)
        CHECK(cells[1 + r] == 100 + r, "put of %d: %d", r, (int) cells[1 + r]);
}

static void origin_locks(int target, MPI_Win win)
{
    int64_t value = 100 + rank, one = 1, got = 0;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(&value, 1, MPI_INT64_T, target, 1 + rank, 1, MPI_INT64_T, win);
    MPI_Win_flush(target, win);
    MPI_Get(&got, 1, MPI_INT64_T, target, 1 + rank, 1, MPI_INT64_T, win);
    MPI_Win_unlock(target, win);
    CHECK(got == value, "got %d instead of %d", (int) got, (int) value);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Win_unlock(target, win);
}

static void passive(int kind)
{
    int target = size - 1;
    MPI_Win win;
    int64_t *cells = window_of(kind, (size + 1) * (MPI_Aint) sizeof(*cells), sizeof(*cells), &win);
    expect_windows(1, true, "passive");
    memset(cells, 0, (size_t) (size + 1) * sizeof(*cells));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == target)
        target_computes(cells);
    else
        origin_locks(target, win);
    window_end(kind, cells, &win);
}

/* ---- atomicity ---- */

enum { TIMES = 300, LONG = 3000 };

/* Cell 0 by five kinds of operations, one of them a long one that begins there. */
static void add_in_all_ways(MPI_Win win)
{
    static int64_t ones[LONG], was[LONG];
    int64_t one = 1, old, wanted, seen;
    for (int i = 0; i < LONG; i++)
        ones[i] = 1;
    for (int i = 0; i < TIMES; i++) {
        MPI_Accumulate(&one, 1, MPI_INT64_T, 0, 0, 1, MPI_INT64_T, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &old, MPI_INT64_T, 0, 0, MPI_SUM, win);
        MPI_Accumulate(ones, LONG, MPI_INT64_T, 0, 0, LONG, MPI_INT64_T, MPI_SUM, win);
        MPI_Get_accumulate(ones, LONG, MPI_INT64_T, was, LONG, MPI_INT64_T, 0, 0, LONG, MPI_INT64_T,
                           MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(was[0] > old, "%lld is fetched after %lld", (long long) was[0], (long long) old);
        for (seen = was[0];;) {
            wanted = seen + 1;
            MPI_Compare_and_swap(&wanted, &seen, &old, MPI_INT64_T, 0, 0, win);
            MPI_Win_flush(0, win);
            if (old == seen)
                break;
            seen = old;
        }
    }
}

static void atomicity(int kind)
{
    MPI_Win win;
    int64_t *cells =
        window_of(kind, rank ? 0 : LONG * (MPI_Aint) sizeof(*cells), sizeof(*cells), &win);
    expect_windows(1, true, "memory of one rank");
    if (rank == 0)
        memset(cells, 0, LONG * sizeof(*cells));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    add_in_all_ways(win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(cells[0] == 5ll * TIMES * size, "the sum is %lld", (long long) cells[0]);
        CHECK(cells[LONG - 1] == 2ll * TIMES * size, "the last one's is %lld",
              (long long) cells[LONG - 1]);
    }
    window_end(kind, cells, &win);
}

/* ---- locks ---- */

static void locks(int kind)
{
    int64_t was, next;
    MPI_Win win;
    int64_t *cells = window_of(kind, 2 * sizeof(*cells), sizeof(*cells), &win);
    expect_windows(1, true, "locks");
    cells[0] = cells[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TIMES; i++) {
        /* What is no atomic operation excludes others by the lock alone. */
        int target = i % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&was, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win);
        MPI_Win_flush(target, win);
        next = was + 1;
        MPI_Put(&next, 1, MPI_INT64_T, target, 0, 1, MPI_INT64_T, win);
        MPI_Win_unlock(target, win);
        if (i % 50)
            continue;
        /* All have it at once. */
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_unlock(target, win);
        MPI_Win_lock_all(0, win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int here = TIMES / size + (rank < TIMES % size);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(cells[0] == (int64_t) here * size, "counted %d of %d", (int) cells[0], here * size);
    MPI_Win_unlock(rank, win);
    window_end(kind, cells, &win);
}

/* ---- types and places ---- */

static void odd_places(MPI_Win win, uint8_t *part, int target)
{
    /* Every second of 5 bytes, at an odd address, there; together here. */
    MPI_Datatype gaps;
    uint8_t out[5] = {1, 2, 3, 4, (uint8_t) rank}, in[5] = {0};
    int64_t big = 0x1122334455667788ll + rank, sum = 1;
    MPI_Type_vector(5, 1, 2, MPI_UINT8_T, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Win_fence(0, win);
    MPI_Put(out, 5, MPI_UINT8_T, target, 3, 1, gaps, win);
    MPI_Put(&big, 1, MPI_INT64_T, target, 17, 1, MPI_INT64_T, win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(&sum, 1, MPI_INT64_T, target, 17, 1, MPI_INT64_T, MPI_SUM, win);
    MPI_Accumulate(out, 5, MPI_UINT8_T, target, 3, 1, gaps, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Get(in, 5, MPI_UINT8_T, target, 3, 1, gaps, win);
    MPI_Win_fence(0, win);
    memcpy(&big, part + 17, sizeof(big));
    CHECK(big == 0x1122334455667789ll + (rank + size - 1) % size, "odd place: %llx",
          (long long) big);
    for (int i = 0; i < 5; i++)
        CHECK(in[i] == 2 * out[i], "byte %d in a gap: %d", i, in[i]);
    CHECK(part[4] == 0xee && part[6] == 0xee, "a gap has changed");
    MPI_Type_free(&gaps);
}

typedef struct {
    double value;
    int where;
} pair_t;

/* Pairs have a hole behind each; a type of them has more. */
static void pairs(MPI_Win win, uint8_t *part)
{
    MPI_Datatype every_other;
    pair_t own[8] = {{0}}, result[4]; /* the type of one of them spans seven */
    MPI_Type_vector(4, 1, 2, MPI_DOUBLE_INT, &every_other);
    MPI_Type_commit(&every_other);
    for (int i = 0; i < 4; i++)
        own[i] = (pair_t){rank * (i % 2 ? 1 : -1), rank};
    if (rank == 0)
        for (int i = 0; i < 8; i++)
            ((pair_t *) part)[i] = (pair_t){-1000, -1};
    MPI_Win_fence(0, win);
    MPI_Accumulate(own, 4, MPI_DOUBLE_INT, 0, 0, 1, every_other, MPI_MAXLOC, win);
    MPI_Win_fence(0, win);
    MPI_Get_accumulate(NULL, 0, MPI_DOUBLE_INT, result, 4, MPI_DOUBLE_INT, 0, 0, 1, every_other,
                       MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 4; i++)
        CHECK(result[i].where == (i % 2 ? size - 1 : 0), "pair %d is of rank %d", i,
              result[i].where);
    MPI_Accumulate(own, 1, every_other, 0, 0, 4, MPI_DOUBLE_INT, MPI_REPLACE, win);
    MPI_Win_fence(0, win);
    MPI_Type_free(&every_other);
}

static void requests(MPI_Win win, int target)
{
    int32_t out = 7, in = 0, was = 0;
    MPI_Request request[2];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Rput(&out, 1, MPI_INT32_T, target, 40, 1, MPI_INT32_T, win, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Win_flush(target, win);
    MPI_Raccumulate(&out, 1, MPI_INT32_T, target, 40, 1, MPI_INT32_T, MPI_PROD, win, &request[0]);
    MPI_Rget_accumulate(&out, 1, MPI_INT32_T, &was, 1, MPI_INT32_T, target, 40, 1, MPI_INT32_T,
                        MPI_SUM, win, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    MPI_Win_flush(target, win);
    MPI_Rget(&in, 1, MPI_INT32_T, target, 40, 1, MPI_INT32_T, win, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Win_unlock(target, win);
    CHECK(was == 49 && in == 56, "%d, then %d", was, in);
}

/* Rank 0 waits for its long message to leave before it says so, and the others ask for that by
 * operations whose requests are done at once. */
static void asks_by_requests(void)
{
    enum { BYTES = 4 << 20 };
    uint8_t *message = check_alloc(BYTES);
    int *word, one = 1, said = 0;
    MPI_Request request;
    MPI_Win win;
    MPI_Win_allocate(sizeof(*word), sizeof(*word), MPI_INFO_NULL, MPI_COMM_WORLD, &word, &win);
    expect_windows(1, true, "MPI_Win_allocate of a word");
    *word = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    if (rank == 0) {
        pattern_fill(message, BYTES, 3);
        for (int r = 1; r < size; r++)
            MPI_Ssend(message, BYTES, MPI_BYTE, r, 0, MPI_COMM_WORLD);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_flush(0, win);
    } else {
        double until = seconds() + 20;
        MPI_Irecv(message, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        while (!said && seconds() < until) {
            MPI_Request ask;
            MPI_Rget_accumulate(NULL, 0, MPI_INT, &said, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP,
                                win, &ask);
            MPI_Wait(&ask, MPI_STATUS_IGNORE);
        }
        CHECK(said, "the message has not left in 20 s");
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_PATTERN(message, BYTES, 3);
    }
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(message);
}

/* By messages the target learns of such an error, and cannot say so. */
static void out_of_range(MPI_Win win, int target, int bytes)
{
    int32_t word = 0;
    int class;
    if (packets)
        return;
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
    MPI_Error_class(MPI_Put(&word, 1, MPI_INT32_T, target, bytes - 3, 1, MPI_INT32_T, win), &class);
    CHECK(class == MPI_ERR_RMA_RANGE, "a put beyond the window: error class %d", class);
    MPI_Error_class(MPI_Get(&word, 1, MPI_INT32_T, target, (MPI_Aint) 1 << 62, 1, MPI_INT32_T, win),
                    &class);
    CHECK(class == MPI_ERR_RMA_RANGE, "a get from far beyond: error class %d", class);
    CHECK(MPI_Get(&word, 1, MPI_INT32_T, target, bytes - 4, 1, MPI_INT32_T, win) == MPI_SUCCESS,
          "a get of the last word");
    /* More than 32 bits can say, and than can be. */
    MPI_Count many[] = {((MPI_Count) 1 << 32) + 1, (MPI_Count) 1 << 62};
    for (int i = 0; i < 2; i++) {
        MPI_Error_class(
            MPI_Put_c(&word, many[i], MPI_INT32_T, target, 0, many[i], MPI_INT32_T, win), &class);
        CHECK(class == MPI_ERR_RMA_RANGE, "a put of too many: error class %d", class);
    }
    double number = 1;
    MPI_Error_class(MPI_Accumulate(&number, 1, MPI_DOUBLE, target, 0, 1, MPI_DOUBLE, MPI_BAND, win),
                    &class);
    CHECK(class == MPI_ERR_OP, "bits of a double: error class %d", class);
    MPI_Win_unlock(target, win);
    MPI_Error_class(MPI_Put(&word, 1, MPI_INT32_T, target, 0, 1, MPI_INT32_T, win), &class);
    CHECK(class == MPI_ERR_RMA_SYNC, "a put without a lock: error class %d", class);
}

/* A lock that nobody else holds, so that it need not be asked for, and one that others do. */
static void locks_without_check(MPI_Win win)
{
    int32_t word = 5;
    for (int i = 0; i < 3 && rank == 0; i++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, i ? 0 : MPI_MODE_NOCHECK, win);
        MPI_Put(&word, 1, MPI_INT32_T, 1, 8, 1, MPI_INT32_T, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Get(&word, 1, MPI_INT32_T, 1, 8, 1, MPI_INT32_T, win);
    MPI_Win_unlock(1, win);
    CHECK(word == 5, "the word is %d", word);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Nobody waits for one that was not asked for, as long as it is held. */
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_unlock_all(win);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        word = 6;
        MPI_Put(&word, 1, MPI_INT32_T, 1, 8, 1, MPI_INT32_T, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 0) {
        MPI_Get(&word, 1, MPI_INT32_T, 1, 8, 1, MPI_INT32_T, win);
        MPI_Win_flush(1, win);
        MPI_Win_unlock_all(win);
        CHECK(word == 6, "the word is %d", word);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static int bytes_of(int r)
{
    return 4099 + 13 * r;
}

static void places(uint8_t *part, MPI_Win win)
{
    int right = (rank + 1) % size;
    memset(part, 0xee, (size_t) bytes_of(rank));
    odd_places(win, part, right);
    MPI_Win_fence(0, win);
    pairs(win, part);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    requests(win, right);
    out_of_range(win, right, bytes_of(right));
    locks_without_check(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same window on memory of all kinds. */
static void kinds_of_memory(void)
{
    uint8_t *part, *memory;
    MPI_Win win;
    MPI_Win_allocate(bytes_of(rank), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    expect_windows(1, true, "MPI_Win_allocate, odd lengths");
    CHECK((uintptr_t) part % 64 == 0, "the part begins at %p", (void *) part);
    places(part, win);
    MPI_Win_free(&win);

    MPI_Win_allocate_shared(bytes_of(rank), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    expect_windows(1, true, "MPI_Win_allocate_shared");
    places(part, win);
    MPI_Win_free(&win);

    MPI_Alloc_mem(bytes_of(rank) + 100, MPI_INFO_NULL, &memory);
    MPI_Win_create(memory + 56, bytes_of(rank), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    expect_windows(1, true, "MPI_Win_create of MPI_Alloc_mem");
    places(memory + 56, win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);

    part = check_alloc((size_t) bytes_of(rank));
    MPI_Win_create(part, bytes_of(rank), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    expect_windows(1, true, "MPI_Win_create of other memory");
    places(part, win);
    MPI_Win_free(&win);

    /* Of one rank another kind than of the others. */
    MPI_Alloc_mem(bytes_of(rank), MPI_INFO_NULL, &memory);
    MPI_Win_create(rank == 1 ? part : memory, bytes_of(rank), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    expect_windows(1, true, "MPI_Win_create of two kinds of memory");
    places(rank == 1 ? part : memory, win);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
    free(part);
}

/* ---- many, and long ones ---- */

enum { CELLS = 1000, STEP = 3, LONG_BYTES = 1 << 20, PARTS = 37 };

/* More than a row has room for, one behind the other and not, and to several ranks in turn. */
static void rows(int kind)
{
    MPI_Win win;
    static int32_t out[CELLS], in[CELLS], all[CELLS];
    int32_t *part = window_of(kind, CELLS * STEP * sizeof(*part), sizeof(*part), &win);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    memset(part, 0, CELLS * STEP * sizeof(*part));
    for (int i = 0; i < CELLS; i++)
        out[i] = rank * CELLS + i;
    MPI_Win_fence(0, win);
    for (int i = 0; i < CELLS; i++) {
        /* The first third in order, then with gaps, the last ones by turns with gets. */
        MPI_Put(&out[i], 1, MPI_INT32_T, right, i < CELLS / 3 ? i : i * STEP, 1, MPI_INT32_T, win);
        if (i > 2 * CELLS / 3)
            MPI_Get(&all[i], 1, MPI_INT32_T, i % size, 0, 1, MPI_INT32_T, win);
    }
    MPI_Win_fence(0, win);
    for (int i = 0; i < CELLS; i++)
        CHECK(part[i < CELLS / 3 ? i : i * STEP] == left * CELLS + i, "cell %d: %d", i,
              part[i < CELLS / 3 ? i : i * STEP]);
    for (int i = 0; i < CELLS; i++)
        MPI_Get(&in[CELLS - 1 - i], 1, MPI_INT32_T, left, i < CELLS / 3 ? i : i * STEP, 1,
                MPI_INT32_T, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < CELLS; i++)
        CHECK(in[CELLS - 1 - i] == (left + size - 1) % size * CELLS + i, "got %d of cell %d",
              in[CELLS - 1 - i], i);
    window_end(kind, part, &win);
}

/* All at once, so that each is asked while it asks; whole, in parts, and with gaps on one side. */
static void long_ones(int kind)
{
    MPI_Win win;
    uint8_t *part = window_of(kind, LONG_BYTES, 1, &win);
    uint8_t *out = check_alloc(LONG_BYTES), *in = check_alloc(LONG_BYTES);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    MPI_Datatype gaps;
    MPI_Type_vector(LONG_BYTES / 64, 32, 64, MPI_BYTE, &gaps);
    MPI_Type_commit(&gaps);
    for (int round = 0; round < 20; round++) {
        pattern_fill(out, LONG_BYTES, (unsigned) (round + rank));
        MPI_Win_fence(0, win);
        if (round % 2)
            for (int i = 0; i < PARTS; i++) {
                MPI_Aint at = (MPI_Aint) LONG_BYTES / PARTS * i;
                int n = i < PARTS - 1 ? LONG_BYTES / PARTS : (int) (LONG_BYTES - at);
                MPI_Put(out + at, n, MPI_BYTE, right, at, n, MPI_BYTE, win);
            }
        else
            MPI_Put(out, LONG_BYTES, MPI_BYTE, right, 0, LONG_BYTES, MPI_BYTE, win);
        MPI_Win_fence(0, win);
        CHECK_PATTERN(part, LONG_BYTES, (unsigned) (round + left));
        memset(in, 0xee, LONG_BYTES);
        MPI_Get(in, LONG_BYTES, MPI_BYTE, right, 0, LONG_BYTES, MPI_BYTE, win);
        MPI_Win_fence(0, win);
        CHECK(memcmp(in, out, LONG_BYTES) == 0, "round %d: got other bytes than were put", round);
        MPI_Get(in, 1, gaps, right, 0, LONG_BYTES / 2, MPI_BYTE, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < LONG_BYTES / 64; i++)
            CHECK(memcmp(in + 64 * i, out + 32 * i, 32) == 0, "block %d of a get", i);
        MPI_Put(out, LONG_BYTES / 2, MPI_BYTE, right, 0, 1, gaps, win);
        MPI_Win_fence(0, win);
        MPI_Get(in, 1, gaps, right, 0, 1, gaps, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < LONG_BYTES / 64; i++)
            CHECK(memcmp(in + 64 * i, out + 32 * i, 32) == 0, "block %d of a put", i);
    }
    MPI_Type_free(&gaps);
    free(in);
    free(out);
    window_end(kind, part, &win);
}

/* ---- dynamic windows ---- */

/* Each rank attaches two pieces; the last one computes while the others work in its memory. */
static void dynamic(void)
{
    MPI_Win win;
    int64_t *cells = check_alloc((size_t) (size + 1) * sizeof(*cells)), one = 1, was;
    int32_t *other = check_alloc(1000 * sizeof(*other)), value = rank, got = -1;
    MPI_Aint at[2], *all = check_alloc((size_t) size * sizeof(at));
    int target = size - 1;
    memset(cells, 0, (size_t) (size + 1) * sizeof(*cells));
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    expect_windows(1, true, "MPI_Win_create_dynamic");
    MPI_Win_attach(win, cells, (size + 1) * (MPI_Aint) sizeof(*cells));
    MPI_Win_attach(win, other, 1000 * sizeof(*other));
    MPI_Get_address(cells, &at[0]);
    MPI_Get_address(other, &at[1]);
    MPI_Allgather(at, 2, MPI_AINT, all, 2, MPI_AINT, MPI_COMM_WORLD);
    if (rank == target && !packets) {
        target_computes(cells);
    } else if (rank != target) {
        MPI_Aint there = all[2 * target], word = all[2 * target + 1];
        int64_t put = 100 + rank;
        MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);
        MPI_Put(&value, 1, MPI_INT32_T, target, MPI_Aint_add(word, 4 * rank), 1, MPI_INT32_T, win);
        MPI_Put(&put, 1, MPI_INT64_T, target, MPI_Aint_add(there, 8 + 8 * rank), 1, MPI_INT64_T,
                win);
        MPI_Win_flush(target, win);
        MPI_Get(&got, 1, MPI_INT32_T, target, MPI_Aint_add(word, 4 * rank), 1, MPI_INT32_T, win);
        MPI_Win_flush(target, win);
        CHECK(got == rank, "got %d", got);
        MPI_Fetch_and_op(&one, &was, MPI_INT64_T, target, there, MPI_SUM, win);
        MPI_Win_unlock(target, win);
        CHECK(was >= 0 && was < size - 1, "%lld were here before", (long long) was);
    }
    if (!packets) {
        /* Memory that the target has not. */
        int class;
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, win);
        int first = MPI_Put(&value, 1, MPI_INT32_T, (rank + 1) % size, 4096, 1, MPI_INT32_T, win);
        int second = MPI_Win_unlock((rank + 1) % size, win);
        MPI_Error_class(first ? first : second, &class);
        CHECK(class == MPI_ERR_RMA_RANGE, "a put to where nothing is: error class %d", class);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, cells);
    MPI_Win_detach(win, other);
    MPI_Win_free(&win);
    free(all);
    free(other);
    free(cells);
}

/* ---- who does not want it, who has no other ---- */

static void hints(void)
{
    int *word;
    MPI_Win win;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shm", "false");
    MPI_Win_allocate(sizeof(*word), sizeof(*word), rank == 0 ? info : MPI_INFO_NULL, MPI_COMM_WORLD,
                     &word, &win);
    expect_windows(1, false, "a rank's alloc_shm=false");
    MPI_Win_free(&win);
    MPI_Info_free(&info);
    int own = 1, got = 0, nothing = 0;
    MPI_Win_create(&own, sizeof(own), sizeof(own), MPI_INFO_NULL, MPI_COMM_SELF, &win);
    expect_windows(1, true, "a window of MPI_COMM_SELF");
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Fetch_and_op(&nothing, &got, MPI_INT, 0, 0, MPI_NO_OP, win);
    MPI_Win_unlock(0, win);
    CHECK(got == 1, "got %d of myself", got);
    MPI_Win_free(&win);
}

/* ---- post and start ---- */

/* Rank 0 starts with each of the others in turn, the last one first, who post in the other order.
 */
static void starts_in_turn(int kind)
{
    int token = 0;
    MPI_Win win;
    MPI_Group world, other;
    int *cell = window_of(kind, sizeof(*cell), sizeof(*cell), &win);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int round = 0; round < TIMES; round++) {
        if (rank == 0) {
            for (int r = size - 1; r > 0; r--) {
                int value = round * size + r;
                MPI_Group_incl(world, 1, &r, &other);
                MPI_Win_start(other, 0, win);
                MPI_Put(&value, 1, MPI_INT, r, 0, 1, MPI_INT, win);
                MPI_Win_complete(win);
                MPI_Group_free(&other);
            }
            continue;
        }
        int zero = 0;
        if (rank > 1)
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        *cell = -1;
        MPI_Group_incl(world, 1, &zero, &other);
        MPI_Win_post(other, 0, win);
        if (rank < size - 1)
            MPI_Send(&token, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
        MPI_Win_wait(win);
        CHECK(*cell == round * size + rank, "round %d: the cell is %d", round, *cell);
        MPI_Group_free(&other);
    }
    MPI_Group_free(&world);
    window_end(kind, cell, &win);
}

int main(int argc, char **argv)
{
    packets = argc > 1 && strcmp(argv[1], "packets") == 0;
    bool asked = argc > 1 && strcmp(argv[1], "asked") == 0;
    check_begin(&argc, &argv);
    expect_windows(0, false, "the start");
    for (int kind = 0; kind < KINDS; kind++) {
        if (!packets)
            passive(kind);
        atomicity(kind);
        locks(kind);
        rows(kind);
        long_ones(kind);
        starts_in_turn(kind);
        expect_windows(3, true, "the rest");
    }
    kinds_of_memory();
    dynamic();
    asks_by_requests();
    hints();
    CHECK((counter("window_ops") > 100) == !packets, "%llu operations without a packet",
          counter("window_ops"));
    CHECK(!asked || counter("window_asks") > 100, "%llu answers", counter("window_asks"));
    counters_end();
    return check_end();
}
