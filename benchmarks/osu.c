/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the OSU micro-benchmarks measure, by their method: the same warm-up and iteration counts,
 * buffers (one a side, page-aligned, touched), windows of 64 and columns.  For comparisons where
 * the OSU programs are not at hand; benchmarks/compare --osu runs those instead.
 *
 *   osu TEST [-m MIN:MAX] [-i ITERATIONS] [-x WARM-UP]     TEST: see `tests` below
 *
 * Sizes are in bytes, powers of two; of posted, unexpected and these with receives from
 * MPI_ANY_SOURCE (*_any) they are entries, and messages are of 8 bytes.  Latencies are in us, those
 * of collectives the mean over all ranks of the time in the call, with a barrier between two calls;
 * bandwidths in MB/s, MB of 10^6 bytes.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW = 64, LARGE_BYTES = 8192, PAGE = 4096, MIB = 1 << 20, FIRST = 100 };
enum { ENTRIES_MOST = 4096, OTHER_TAG = 1000, RANKS_MOST = 1024 };
#define COMPUTES_S 0.1 /* the target of passive_us() */

/* Iterations and warm-up of small messages and of those above LARGE_BYTES. */
typedef struct {
    int small, small_skip, large, large_skip;
} loops_t;

static const loops_t latency_loops = {10000, 100, 1000, 10};
static const loops_t bandwidth_loops = {100, 10, 20, 2};
static const loops_t collective_loops = {1000, 100, 100, 10};
static const loops_t matching_loops = {1000, 100, 1000, 100};
static const loops_t first_loops = {FIRST, 0, FIRST, 0};
static const loops_t passive_loops = {5, 1, 5, 1};

static int rank, ranks;
static char *out, *in;
static MPI_Win window;

/* ---- between pairs: rank r below the half and r + half ---- */

static int partner(void)
{
    int half = ranks / 2;
    return rank < half ? rank + half : rank - half;
}

static bool is_sender(void)
{
    return rank < ranks / 2;
}

static double ping_pong_from_us(int source, int len, int iterations, int skip)
{
    double start = 0;
    int peer = partner();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < iterations + skip; i++) {
        if (i == skip)
            start = MPI_Wtime();
        if (is_sender()) {
            MPI_Send(out, len, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
            MPI_Recv(in, len, MPI_CHAR, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, len, MPI_CHAR, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, len, MPI_CHAR, peer, 1, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) * 1e6 / (2.0 * iterations);
}

static double ping_pong_us(int len, int iterations, int skip)
{
    return ping_pong_from_us(partner(), len, iterations, skip);
}

/* ---- matching: 8 bytes, while each side has so many other receives posted, or messages that
 * nobody has asked for ---- */

static double posted_from_us(int source, int entries, int iterations, int skip)
{
    static MPI_Request requests[ENTRIES_MOST];
    for (int i = 0; i < entries; i++)
        MPI_Irecv(NULL, 0, MPI_CHAR, source, OTHER_TAG + i, MPI_COMM_WORLD, &requests[i]);
    double us = ping_pong_from_us(source, 8, iterations, skip);
    for (int i = 0; i < entries; i++)
        MPI_Send(NULL, 0, MPI_CHAR, partner(), OTHER_TAG + i, MPI_COMM_WORLD);
    MPI_Waitall(entries, requests, MPI_STATUSES_IGNORE);
    return us;
}

static double unexpected_from_us(int source, int entries, int iterations, int skip)
{
    static MPI_Request requests[ENTRIES_MOST];
    for (int i = 0; i < entries; i++)
        MPI_Isend(NULL, 0, MPI_CHAR, partner(), OTHER_TAG + i, MPI_COMM_WORLD, &requests[i]);
    double us = ping_pong_from_us(source, 8, iterations, skip);
    for (int i = 0; i < entries; i++)
        MPI_Recv(NULL, 0, MPI_CHAR, source, OTHER_TAG + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(entries, requests, MPI_STATUSES_IGNORE);
    return us;
}

static double posted_us(int entries, int iterations, int skip)
{
    return posted_from_us(partner(), entries, iterations, skip);
}

static double posted_any_us(int entries, int iterations, int skip)
{
    return posted_from_us(MPI_ANY_SOURCE, entries, iterations, skip);
}

static double unexpected_us(int entries, int iterations, int skip)
{
    return unexpected_from_us(partner(), entries, iterations, skip);
}

static double unexpected_any_us(int entries, int iterations, int skip)
{
    return unexpected_from_us(MPI_ANY_SOURCE, entries, iterations, skip);
}

/* The first messages of a program: no barrier and no other call has touched anything. */
static double first_us(int len, int iterations, int skip)
{
    (void) skip;
    double start = MPI_Wtime();
    for (int i = 0; i < iterations; i++) {
        if (is_sender()) {
            MPI_Send(out, len, MPI_CHAR, partner(), 1, MPI_COMM_WORLD);
            MPI_Recv(in, len, MPI_CHAR, partner(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, len, MPI_CHAR, partner(), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, len, MPI_CHAR, partner(), 1, MPI_COMM_WORLD);
            if (i == 0) /* rank 0 may have started later */
                start = MPI_Wtime();
        }
    }
    return (MPI_Wtime() - start) * 1e6 / (2.0 * iterations);
}

static void window_of(int len, bool send, bool receive)
{
    MPI_Request requests[2 * WINDOW];
    int n = 0;
    for (int j = 0; receive && j < WINDOW; j++)
        MPI_Irecv(in, len, MPI_CHAR, partner(), 10, MPI_COMM_WORLD, &requests[n++]);
    for (int j = 0; send && j < WINDOW; j++)
        MPI_Isend(out, len, MPI_CHAR, partner(), 10, MPI_COMM_WORLD, &requests[n++]);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
}

static double stream_mb_s(int len, int iterations, int skip, bool both)
{
    double start = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < iterations + skip; i++) {
        if (i == skip)
            start = MPI_Wtime();
        window_of(len, both || is_sender(), both || !is_sender());
        if (is_sender())
            MPI_Recv(in, 4, MPI_CHAR, partner(), 101, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(out, 4, MPI_CHAR, partner(), 101, MPI_COMM_WORLD);
    }
    double time = MPI_Wtime() - start, longest = 0;
    double bytes = (double) len * WINDOW * iterations * (ranks / 2) * (both ? 2 : 1);
    MPI_Reduce(&time, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return rank == 0 ? bytes / 1e6 / longest : 0;
}

static double bw_mb_s(int len, int iterations, int skip)
{
    return stream_mb_s(len, iterations, skip, false);
}

static double bibw_mb_s(int len, int iterations, int skip)
{
    return stream_mb_s(len, iterations, skip, true);
}

/* ---- one-sided, rank 0 at rank 1 ---- */

static void put(int len)
{
    MPI_Put(out, len, MPI_CHAR, 1, 0, len, MPI_CHAR, window);
}

static void get(int len)
{
    MPI_Get(in, len, MPI_CHAR, 1, 0, len, MPI_CHAR, window);
}

static void accumulate(int len)
{
    MPI_Accumulate(out, len, MPI_CHAR, 1, 0, len, MPI_CHAR, MPI_SUM, window);
}

static void fetch_and_op(int len)
{
    (void) len;
    MPI_Fetch_and_op(out, in, MPI_LONG_LONG, 1, 0, MPI_SUM, window);
}

static void compare_and_swap(int len)
{
    (void) len;
    MPI_Compare_and_swap(out, out, in, MPI_LONG_LONG, 1, 0, window);
}

static double rma_us(int len, int iterations, int skip, void (*call)(int len), int per_flush)
{
    double start = 0, time = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, window);
        for (int i = 0; i < iterations + skip; i++) {
            if (i == skip)
                start = MPI_Wtime();
            for (int j = 0; j < per_flush; j++)
                call(len);
            MPI_Win_flush(1, window);
        }
        time = MPI_Wtime() - start;
        MPI_Win_unlock(1, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return time * 1e6 / iterations;
}

#define ONE_SIDED(name, call) \
    static double name##_us(int len, int iterations, int skip) \
    { \
        return rma_us(len, iterations, skip, call, 1); \
    } \
    static double name##_mb_s(int len, int iterations, int skip) \
    { \
        return (double) len * WINDOW / rma_us(len, iterations, skip, call, WINDOW); \
    }

ONE_SIDED(put, put)
ONE_SIDED(get, get)
ONE_SIDED(acc, accumulate)
ONE_SIDED(fop, fetch_and_op)
ONE_SIDED(cas, compare_and_swap)

/* A lock, a put, a flush and an unlock while the target computes and makes no call of MPI. */
static double passive_us(int len, int iterations, int skip)
{
    double sum = 0;
    for (int i = 0; i < iterations + skip; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        if (rank == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, window);
            put(len);
            MPI_Win_flush(1, window);
            MPI_Win_unlock(1, window);
            sum += i < skip ? 0 : MPI_Wtime() - start;
        } else {
            while (MPI_Wtime() - start < COMPUTES_S)
                ;
        }
    }
    return sum * 1e6 / iterations;
}

/* ---- collectives ---- */

static double collective_us(int len, int iterations, int skip, void (*call)(int len))
{
    double time = 0, sum = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < iterations + skip; i++) {
        double start = MPI_Wtime();
        call(len);
        if (i >= skip)
            time += MPI_Wtime() - start;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    time = time * 1e6 / iterations;
    MPI_Reduce(&time, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return sum / ranks;
}

static double barrier_us(int len, int iterations, int skip)
{
    (void) len;
    double start = 0;
    for (int i = 0; i < iterations + skip; i++) {
        if (i == skip)
            start = MPI_Wtime();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    double time = (MPI_Wtime() - start) * 1e6 / iterations, sum = 0;
    MPI_Reduce(&time, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return sum / ranks;
}

#define COLLECTIVE(name, ...) \
    static void call_##name(int len) \
    { \
        __VA_ARGS__; \
    } \
    static double name##_us(int len, int iterations, int skip) \
    { \
        return collective_us(len, iterations, skip, call_##name); \
    }

COLLECTIVE(bcast, MPI_Bcast(out, len, MPI_CHAR, 0, MPI_COMM_WORLD))
COLLECTIVE(reduce, MPI_Reduce(out, in, len / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD))
COLLECTIVE(allreduce, MPI_Allreduce(out, in, len / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD))
COLLECTIVE(allgather, MPI_Allgather(out, len, MPI_CHAR, in, len, MPI_CHAR, MPI_COMM_WORLD))
COLLECTIVE(alltoall, MPI_Alltoall(out, len, MPI_CHAR, in, len, MPI_CHAR, MPI_COMM_WORLD))
COLLECTIVE(gather, MPI_Gather(out, len, MPI_CHAR, in, len, MPI_CHAR, 0, MPI_COMM_WORLD))
COLLECTIVE(scatter, MPI_Scatter(out, len, MPI_CHAR, in, len, MPI_CHAR, 0, MPI_COMM_WORLD))

/* Started and waited for at once. */
#define NONBLOCKING(name, ...) \
    COLLECTIVE(name, MPI_Request request; __VA_ARGS__; MPI_Wait(&request, MPI_STATUS_IGNORE))

NONBLOCKING(ibarrier, (void) len; MPI_Ibarrier(MPI_COMM_WORLD, &request))
NONBLOCKING(ibcast, MPI_Ibcast(out, len, MPI_CHAR, 0, MPI_COMM_WORLD, &request))
NONBLOCKING(ireduce, MPI_Ireduce(out, in, len / 4, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD, &request))
NONBLOCKING(iallreduce,
            MPI_Iallreduce(out, in, len / 4, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request))
NONBLOCKING(iallgather,
            MPI_Iallgather(out, len, MPI_CHAR, in, len, MPI_CHAR, MPI_COMM_WORLD, &request))
NONBLOCKING(ialltoall,
            MPI_Ialltoall(out, len, MPI_CHAR, in, len, MPI_CHAR, MPI_COMM_WORLD, &request))
NONBLOCKING(igather,
            MPI_Igather(out, len, MPI_CHAR, in, len, MPI_CHAR, 0, MPI_COMM_WORLD, &request))
NONBLOCKING(iscatter,
            MPI_Iscatter(out, len, MPI_CHAR, in, len, MPI_CHAR, 0, MPI_COMM_WORLD, &request))

/* Blocks of one length that the library cannot know of. */
static int counts[RANKS_MOST], places[RANKS_MOST];
static MPI_Datatype types[RANKS_MOST];

static void lay_out(int len)
{
    for (int r = 0; r < ranks; r++) {
        counts[r] = len;
        places[r] = r * len;
        types[r] = MPI_CHAR;
    }
}

#define COLLECTIVE_V(name, ...) COLLECTIVE(name, lay_out(len); __VA_ARGS__)
COLLECTIVE_V(gatherv,
             MPI_Gatherv(out, len, MPI_CHAR, in, counts, places, MPI_CHAR, 0, MPI_COMM_WORLD))
COLLECTIVE_V(scatterv,
             MPI_Scatterv(out, counts, places, MPI_CHAR, in, len, MPI_CHAR, 0, MPI_COMM_WORLD))
COLLECTIVE_V(allgatherv,
             MPI_Allgatherv(out, len, MPI_CHAR, in, counts, places, MPI_CHAR, MPI_COMM_WORLD))
COLLECTIVE_V(alltoallv, MPI_Alltoallv(out, counts, places, MPI_CHAR, in, counts, places, MPI_CHAR,
                                      MPI_COMM_WORLD))
COLLECTIVE_V(alltoallw,
             MPI_Alltoallw(out, counts, places, types, in, counts, places, types, MPI_COMM_WORLD))

#define NONBLOCKING_V(name, ...) NONBLOCKING(name, lay_out(len); __VA_ARGS__)
NONBLOCKING_V(igatherv, MPI_Igatherv(out, len, MPI_CHAR, in, counts, places, MPI_CHAR, 0,
                                     MPI_COMM_WORLD, &request))
NONBLOCKING_V(iscatterv, MPI_Iscatterv(out, counts, places, MPI_CHAR, in, len, MPI_CHAR, 0,
                                       MPI_COMM_WORLD, &request))
NONBLOCKING_V(iallgatherv, MPI_Iallgatherv(out, len, MPI_CHAR, in, counts, places, MPI_CHAR,
                                           MPI_COMM_WORLD, &request))
NONBLOCKING_V(ialltoallv, MPI_Ialltoallv(out, counts, places, MPI_CHAR, in, counts, places,
                                         MPI_CHAR, MPI_COMM_WORLD, &request))
NONBLOCKING_V(ialltoallw, MPI_Ialltoallw(out, counts, places, types, in, counts, places, types,
                                         MPI_COMM_WORLD, &request))

/* A vector of `len` bytes in all, of which the last rank has what is left. */
static void lay_out_vector(int len)
{
    lay_out(len / 4 / ranks);
    counts[ranks - 1] += len / 4 % ranks;
}

COLLECTIVE(reduce_scatter, lay_out_vector(len);
           MPI_Reduce_scatter(out, in, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD))
COLLECTIVE(reduce_scatter_block,
           MPI_Reduce_scatter_block(out, in, len / 4 / ranks, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD))
NONBLOCKING(ireduce_scatter, lay_out_vector(len);
            MPI_Ireduce_scatter(out, in, counts, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request))
NONBLOCKING(ireduce_scatter_block, MPI_Ireduce_scatter_block(out, in, len / 4 / ranks, MPI_FLOAT,
                                                             MPI_SUM, MPI_COMM_WORLD, &request))

/* ---- the programs ---- */

typedef struct {
    const char *name, *unit;
    double (*measure)(int len, int iterations, int skip);
    const loops_t *loops;
    int least_bytes, most_bytes;
    int most_ranks; /* 0: any number */
    enum { ONE_BUFFER, BUFFER_A_RANK, WITH_WINDOW, NO_SIZE } memory;
} test_t;

static const test_t tests[] = {
    {"latency", "us", ping_pong_us, &latency_loops, 1, 4 * MIB, 2, ONE_BUFFER},
    {"bw", "MB/s", bw_mb_s, &bandwidth_loops, 1, 4 * MIB, 2, ONE_BUFFER},
    {"bibw", "MB/s", bibw_mb_s, &bandwidth_loops, 1, 4 * MIB, 2, ONE_BUFFER},
    {"mbw_mr", "MB/s", bw_mb_s, &bandwidth_loops, 1, 4 * MIB, 0, ONE_BUFFER},
    {"multi_lat", "us", ping_pong_us, &latency_loops, 1, 4 * MIB, 0, ONE_BUFFER},
    {"put_latency", "us", put_us, &latency_loops, 1, 4 * MIB, 2, WITH_WINDOW},
    {"get_latency", "us", get_us, &latency_loops, 1, 4 * MIB, 2, WITH_WINDOW},
    {"put_bw", "MB/s", put_mb_s, &bandwidth_loops, 1, 4 * MIB, 2, WITH_WINDOW},
    {"get_bw", "MB/s", get_mb_s, &bandwidth_loops, 1, 4 * MIB, 2, WITH_WINDOW},
    {"acc_latency", "us", acc_us, &latency_loops, 1, 4 * MIB, 2, WITH_WINDOW},
    {"acc_bw", "MB/s", acc_mb_s, &bandwidth_loops, 1, 4 * MIB, 2, WITH_WINDOW},
    {"fop_latency", "us", fop_us, &latency_loops, 8, 8, 2, WITH_WINDOW},
    {"fop_bw", "MB/s", fop_mb_s, &bandwidth_loops, 8, 8, 2, WITH_WINDOW},
    {"cas_latency", "us", cas_us, &latency_loops, 8, 8, 2, WITH_WINDOW},
    {"cas_bw", "MB/s", cas_mb_s, &bandwidth_loops, 8, 8, 2, WITH_WINDOW},
    {"passive", "us", passive_us, &passive_loops, 8, 8, 2, WITH_WINDOW},
    {"barrier", "us", barrier_us, &collective_loops, 0, 0, 0, NO_SIZE},
    {"bcast", "us", bcast_us, &collective_loops, 1, MIB, 0, ONE_BUFFER},
    {"reduce", "us", reduce_us, &collective_loops, 4, MIB, 0, ONE_BUFFER},
    {"allreduce", "us", allreduce_us, &collective_loops, 4, MIB, 0, ONE_BUFFER},
    {"allgather", "us", allgather_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"alltoall", "us", alltoall_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"gather", "us", gather_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"scatter", "us", scatter_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"gatherv", "us", gatherv_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"scatterv", "us", scatterv_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"allgatherv", "us", allgatherv_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"alltoallv", "us", alltoallv_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"alltoallw", "us", alltoallw_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"reduce_scatter", "us", reduce_scatter_us, &collective_loops, 4, MIB, 0, ONE_BUFFER},
    {"reduce_scatter_block", "us", reduce_scatter_block_us, &collective_loops, 4, MIB, 0,
     ONE_BUFFER},
    {"ibarrier", "us", ibarrier_us, &collective_loops, 0, 0, 0, NO_SIZE},
    {"ibcast", "us", ibcast_us, &collective_loops, 1, MIB, 0, ONE_BUFFER},
    {"ireduce", "us", ireduce_us, &collective_loops, 4, MIB, 0, ONE_BUFFER},
    {"iallreduce", "us", iallreduce_us, &collective_loops, 4, MIB, 0, ONE_BUFFER},
    {"iallgather", "us", iallgather_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"ialltoall", "us", ialltoall_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"igather", "us", igather_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"iscatter", "us", iscatter_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"igatherv", "us", igatherv_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"iscatterv", "us", iscatterv_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"iallgatherv", "us", iallgatherv_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"ialltoallv", "us", ialltoallv_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"ialltoallw", "us", ialltoallw_us, &collective_loops, 1, MIB, 0, BUFFER_A_RANK},
    {"ireduce_scatter", "us", ireduce_scatter_us, &collective_loops, 4, MIB, 0, ONE_BUFFER},
    {"ireduce_scatter_block", "us", ireduce_scatter_block_us, &collective_loops, 4, MIB, 0,
     ONE_BUFFER},
    {"posted", "us", posted_us, &matching_loops, 1, ENTRIES_MOST, 2, ONE_BUFFER},
    {"posted_any", "us", posted_any_us, &matching_loops, 1, ENTRIES_MOST, 2, ONE_BUFFER},
    {"unexpected", "us", unexpected_us, &matching_loops, 1, ENTRIES_MOST, 2, ONE_BUFFER},
    {"unexpected_any", "us", unexpected_any_us, &matching_loops, 1, ENTRIES_MOST, 2, ONE_BUFFER},
    {"first", "us", first_us, &first_loops, 8, 8, 2, NO_SIZE},
};

typedef struct {
    const test_t *test;
    int from, to, iterations, skip; /* negative: the test's own */
    bool create;                    /* the window of memory of the program's own */
} order_t;

static int leave(const char *why)
{
    if (rank == 0) {
        fprintf(
            stderr,
            "osu: %s\nusage: osu TEST [-m MIN:MAX] [-i ITERATIONS] [-x WARM-UP] [-w allocate|create]\nTEST:",
            why);
        for (size_t t = 0; t < sizeof(tests) / sizeof(*tests); t++)
            fprintf(stderr, " %s", tests[t].name);
        fprintf(stderr, "\n");
    }
    MPI_Finalize();
    return 2;
}

/* NULL, or what is wrong. */
static const char *parse(int argc, char **argv, order_t *order)
{
    char rest;
    *order = (order_t){.from = -1, .to = -1, .iterations = -1, .skip = -1};
    for (size_t t = 0; argc > 1 && t < sizeof(tests) / sizeof(*tests); t++)
        if (strcmp(argv[1], tests[t].name) == 0)
            order->test = &tests[t];
    if (!order->test)
        return "no such test";
    for (int i = 2; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        bool good = false;
        if (strcmp(argv[i], "-m") == 0)
            good = sscanf(value, "%d:%d%c", &order->from, &order->to, &rest) == 2 &&
                   order->from >= 1 && order->from <= order->to && order->to <= 1 << 26;
        else if (strcmp(argv[i], "-i") == 0)
            good = sscanf(value, "%d%c", &order->iterations, &rest) == 1 && order->iterations > 0;
        else if (strcmp(argv[i], "-x") == 0)
            good = sscanf(value, "%d%c", &order->skip, &rest) == 1 && order->skip >= 0;
        else if (strcmp(argv[i], "-w") == 0)
            good = (order->create = strcmp(value, "create") == 0) || strcmp(value, "allocate") == 0;
        if (!good)
            return "wrong option or value";
    }
    bool one_size = order->test->least_bytes == order->test->most_bytes;
    if (order->from < order->test->least_bytes || one_size)
        order->from = order->test->least_bytes;
    if (order->to < 0 || one_size)
        order->to = order->test->most_bytes;
    if (order->to > order->test->most_bytes && order->test->loops == &matching_loops)
        order->to = ENTRIES_MOST;
    if (ranks > RANKS_MOST)
        return "too many ranks";
    return ranks % 2 || (order->test->most_ranks && ranks != order->test->most_ranks)
               ? "this test wants 2 ranks, or an even number"
               : NULL;
}

static char *buffer(size_t bytes, int fill)
{
    char *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (!memory) {
        fprintf(stderr, "osu: no memory for %zu bytes\n", bytes);
        MPI_Abort(MPI_COMM_WORLD, 1);
        exit(1);
    }
    return memset(memory, fill, bytes);
}

static void run(const order_t *order)
{
    const test_t *t = order->test;
    if (rank == 0)
        printf("# Size  %s (%s)\n", t->name, t->unit);
    for (int len = order->from; len <= order->to; len = len ? 2 * len : 1) {
        bool large = len > LARGE_BYTES;
        int iterations = large ? t->loops->large : t->loops->small;
        int skip = large ? t->loops->large_skip : t->loops->small_skip;
        double value = t->measure(len, order->iterations > 0 ? order->iterations : iterations,
                                  order->skip >= 0 ? order->skip : skip);
        if (rank == 0)
            printf("%-10d %16.3f\n", len, value);
        fflush(stdout);
        if (t->memory == NO_SIZE)
            break;
    }
}

int main(int argc, char **argv)
{
    order_t order;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *wrong = parse(argc, argv, &order);
    if (wrong)
        return leave(wrong);
    size_t bytes = (size_t) (order.to < 8 ? 8 : order.to);
    size_t all = order.test->memory == BUFFER_A_RANK ? bytes * (size_t) ranks : bytes;
    out = buffer(all, 1);
    in = buffer(all, 0);
    void *exposed = NULL;
    if (order.test->memory == WITH_WINDOW && order.create)
        MPI_Win_create(exposed = buffer(bytes, 2), (MPI_Aint) bytes, 1, MPI_INFO_NULL,
                       MPI_COMM_WORLD, &window);
    else if (order.test->memory == WITH_WINDOW)
        MPI_Win_allocate((MPI_Aint) bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
    run(&order);
    if (order.test->memory == WITH_WINDOW)
        MPI_Win_free(&window);
    if (order.create)
        free(exposed);
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
