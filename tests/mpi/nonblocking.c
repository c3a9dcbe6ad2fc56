/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives: of two ranks, who waits for one takes no messages of the next one; the
 * buffers of their schedules stay; and MPI_Reduce_local gives what MPI says with operators and
 * types that have a loop of ours, and with some that have none.
 */
#define _GNU_SOURCE /* CPU_SET */
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "counter.h"

#define CALLS 1000
#define BYTES 16384

/* Each of two ranks a processor of its own, if there are so many: one that has to wait for its turn
 * finds what has come meanwhile. */
static bool has_processor(void)
{
    cpu_set_t all, own;
    CPU_ZERO(&own);
    if (size > 2 || sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2)
        return false;
    for (int cpu = 0, n = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &all) && n++ == rank)
            CPU_SET(cpu, &own);
    return sched_setaffinity(0, sizeof(own), &own) == 0;
}

static void one_after_the_other(void)
{
    static char data[BYTES];
    const bool sure = has_processor();
    unsigned long long before = counter("unexpected"), came;
    for (int i = 0; i < CALLS; i++) {
        MPI_Request request;
        memset(data, rank == 0 ? i : -1, BYTES);
        MPI_Ibcast(data, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(data[0] == (char) i && data[BYTES - 1] == (char) i, "ibcast %d brought %d", i,
              data[0]);
    }
    came = counter("unexpected") - before;
    CHECK(!sure || came < CALLS / 4, "%llu of %d messages came before their receives", came, CALLS);
    CHECK(counter("board_collectives") == 0, "they went by a board, and not by messages");
    MPI_Barrier(MPI_COMM_WORLD);
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

/* Several at a time, so that some buffers stay and others do not. */
#define AT_A_TIME 12
#define ELEMENTS 65536
#define ROUNDS 40

static void buffers_stay(void)
{
    float *in = malloc(ELEMENTS * sizeof(*in)), *out = malloc(ELEMENTS * sizeof(*out));
    long before = 0;
    for (int i = 0; i < ELEMENTS; i++)
        in[i] = (float) (rank + i % 7);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request;
        if (round == ROUNDS / 2)
            before = faults();
        MPI_Ireduce(in, out, ELEMENTS, MPI_FLOAT, MPI_SUM, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        for (int i = 0; i < ELEMENTS && rank == 0; i += 997)
            CHECK(out[i] == (float) (size * (size - 1) / 2 + size * (i % 7)), "ireduce: %f at %d",
                  (double) out[i], i);
    }
    long each = (faults() - before) / (ROUNDS / 2);
    CHECK(each < 16, "%ld page faults for each reduction", each); /* a buffer has 64 pages */
    free(in);
    free(out);
}

static void many_at_a_time(void)
{
    static int out[AT_A_TIME][ELEMENTS];
    MPI_Request request[AT_A_TIME];
    MPI_Status status[AT_A_TIME];
    int *from = calloc(ELEMENTS, sizeof(*from));
    for (int i = 0; i < ELEMENTS; i++)
        from[i] = rank * i;
    for (int k = 0; k < AT_A_TIME; k++)
        MPI_Iallreduce(from, out[k], ELEMENTS / (k + 1), MPI_INT, k % 2 ? MPI_MAX : MPI_SUM,
                       MPI_COMM_WORLD, &request[k]);
    MPI_Waitall(AT_A_TIME, request, status);
    for (int k = 0; k < AT_A_TIME; k++)
        for (int i = 0; i < ELEMENTS / (k + 1); i += 101)
            CHECK(out[k][i] == (k % 2 ? (size - 1) * i : size * (size - 1) / 2 * i),
                  "iallreduce %d: %d at %d", k, out[k][i], i);
    free(from);
}

#define LOCAL_MOST 100
#define LOCAL_OF(type, datatype) \
    static void local_of_##datatype(int count) \
    { \
        type in[LOCAL_MOST], out[LOCAL_MOST]; \
        const MPI_Op op[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX}; \
        for (int k = 0; k < 4; k++) { \
            for (int i = 0; i < LOCAL_MOST; i++) { \
                in[i] = (type) (i % 9); \
                out[i] = (type) (i % 5 + 1); \
            } \
            MPI_Reduce_local(in, out, count, datatype, op[k]); \
            for (int i = 0; i < LOCAL_MOST; i++) { \
                type a = (type) (i % 9), b = (type) (i % 5 + 1); \
                type want = i >= count ? b \
                            : k == 0   ? (type) (a + b) \
                            : k == 1   ? (type) (a * b) \
                            : k == 2   ? (a < b ? a : b) \
                                       : (a > b ? a : b); \
                CHECK(out[i] == want, #datatype ", operator %d of %d: element %d", k, count, i); \
            } \
        } \
    }

LOCAL_OF(signed char, MPI_SIGNED_CHAR)
LOCAL_OF(unsigned short, MPI_UNSIGNED_SHORT)
LOCAL_OF(int, MPI_INT)
LOCAL_OF(long, MPI_LONG)
LOCAL_OF(float, MPI_FLOAT)
LOCAL_OF(double, MPI_DOUBLE)
LOCAL_OF(long double, MPI_LONG_DOUBLE)
LOCAL_OF(float, MPI_REAL)
LOCAL_OF(double, MPI_DOUBLE_PRECISION)
LOCAL_OF(int, MPI_INTEGER)

static void local_reductions(void)
{
    static const int counts[] = {0, 1, 31, 32, 33, LOCAL_MOST};
    for (int i = 0; i < 6; i++) {
        local_of_MPI_SIGNED_CHAR(counts[i]);
        local_of_MPI_UNSIGNED_SHORT(counts[i]);
        local_of_MPI_INT(counts[i]);
        local_of_MPI_LONG(counts[i]);
        local_of_MPI_FLOAT(counts[i]);
        local_of_MPI_DOUBLE(counts[i]);
        local_of_MPI_LONG_DOUBLE(counts[i]);
        local_of_MPI_REAL(counts[i]);
        local_of_MPI_DOUBLE_PRECISION(counts[i]);
        local_of_MPI_INTEGER(counts[i]);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    one_after_the_other();
    buffers_stay();
    many_at_a_time();
    local_reductions();
    counters_end();
    return check_end();
}
