/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What programs do that have more ranks than processors (benchmarks/oversub).
 *
 *   oversub TEST ITERATIONS
 *
 *   start     nothing between MPI_Init and MPI_Finalize: the caller takes the time
 *   barrier   us a barrier
 *   alltoall  us an all-to-all of 64 bytes a pair
 *   solver    us an iteration of a conjugate gradient: halos of two neighbours, a product, two sums
 *   ring      us a hop of a token that goes around all ranks
 *   idle      ranks other than 0 wait in MPI_Recv for ITERATIONS seconds: percent of a processor
 * that each of them uses, the mean
 *
 * One number, printed by rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PAIR_BYTES = 64, POINTS = 4096, HALO = 128 };

static int rank, ranks;

static double barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    return 1;
}

static double alltoall(void)
{
    static char *from, *to;
    if (!from) {
        from = calloc((size_t) ranks, PAIR_BYTES);
        to = calloc((size_t) ranks, PAIR_BYTES);
    }
    MPI_Alltoall(from, PAIR_BYTES, MPI_CHAR, to, PAIR_BYTES, MPI_CHAR, MPI_COMM_WORLD);
    return 1;
}

static double sum(double part)
{
    double all;
    MPI_Allreduce(&part, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* A row of points a rank, HALO of each end at its neighbours. */
static double solver(void)
{
    static double p[HALO + POINTS + HALO], x[POINTS], r[POINTS], q[POINTS];
    static double squares;
    int left = rank ? rank - 1 : MPI_PROC_NULL;
    int right = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    if (squares == 0) {
        for (int i = 0; i < POINTS; i++)
            r[i] = p[HALO + i] = 1;
        squares = (double) ranks * POINTS;
    }
    MPI_Sendrecv(p + HALO, HALO, MPI_DOUBLE, left, 1, p + HALO + POINTS, HALO, MPI_DOUBLE, right, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(p + POINTS, HALO, MPI_DOUBLE, right, 2, p, HALO, MPI_DOUBLE, left, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double product = 0, before = squares;
    for (int i = 0; i < POINTS; i++) {
        q[i] = 2.5 * p[HALO + i] - p[HALO + i - 1] - p[HALO + i + 1];
        product += p[HALO + i] * q[i];
    }
    double alpha = squares / sum(product), part = 0;
    for (int i = 0; i < POINTS; i++) {
        x[i] += alpha * p[HALO + i];
        r[i] -= alpha * q[i];
        part += r[i] * r[i];
    }
    squares = sum(part) + 1e-300;
    for (int i = 0; i < POINTS; i++)
        p[HALO + i] = r[i] + squares / before * p[HALO + i];
    return 1;
}

/* Returns the hops. */
static double ring(void)
{
    char token = 0;
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    if (rank)
        MPI_Recv(&token, 1, MPI_CHAR, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(&token, 1, MPI_CHAR, right, 3, MPI_COMM_WORLD);
    if (!rank)
        MPI_Recv(&token, 1, MPI_CHAR, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return ranks;
}

static double us_of(double (*once)(void), int iterations)
{
    double times = 0;
    once();
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < iterations; i++)
        times += once();
    return (MPI_Wtime() - start) * 1e6 / times;
}

static double processor_s(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static double idle_percent(int seconds)
{
    char token = 0;
    double used = 0, all;
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime(), before = processor_s();
    if (rank == 0) {
        sleep((unsigned) seconds);
        for (int r = 1; r < ranks; r++)
            MPI_Send(&token, 1, MPI_CHAR, r, 4, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&token, 1, MPI_CHAR, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        used = 100 * (processor_s() - before) / (MPI_Wtime() - start);
    }
    MPI_Reduce(&used, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return all / (ranks - 1);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        double (*once)(void);
    } tests[] = {{"barrier", barrier}, {"alltoall", alltoall}, {"solver", solver}, {"ring", ring}};
    int iterations = argc > 2 ? atoi(argv[2]) : 0;
    double value = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 1 && strcmp(argv[1], "start") == 0)
        value = 0;
    else if (argc > 1 && strcmp(argv[1], "idle") == 0 && iterations > 0 && ranks > 1)
        value = idle_percent(iterations);
    for (size_t t = 0; argc > 1 && iterations > 0 && t < sizeof(tests) / sizeof(*tests); t++)
        if (strcmp(argv[1], tests[t].name) == 0)
            value = us_of(tests[t].once, iterations);
    if (rank == 0 && value >= 0)
        printf("%.3f\n", value);
    else if (rank == 0)
        fprintf(stderr, "oversub start|barrier|alltoall|solver|ring|idle ITERATIONS\n");
    MPI_Finalize();
    return value < 0 ? 2 : 0;
}
