/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How much one side of a message can compute while the message goes on, and how long the other side
 * waits meanwhile (benchmarks/overlap).  Two ranks; one of them starts its operation, computes for
 * about twice as long as the message takes, and then waits for it.
 *
 *   overlap sender|receiver MIN:MAX [REPEATS]
 *
 * A line for each size, a power of two: bytes, and medians in us: of the side that computes, its
 * operation without computing, the computing alone, both together; of the other side, its operation
 * without and with.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS_MOST = 1000 };

static int rank, computing; /* the rank that computes */
static volatile unsigned long ticks;

/* Work of the processor alone, which takes longer when the processor is taken away. */
static void compute(unsigned long n)
{
    for (unsigned long i = 0; i < n; i++)
        ticks += i;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

static double median(double *values, int count)
{
    qsort(values, count, sizeof(*values), ascending);
    return values[count / 2];
}

static void token(int from)
{
    char nothing = 0;
    if (rank == from)
        MPI_Send(&nothing, 1, MPI_CHAR, 1 - rank, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(&nothing, 1, MPI_CHAR, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One message; us that this rank's operation takes, computing included. */
static double one(char *buf, int bytes, unsigned long work)
{
    MPI_Request request;
    double start;
    token(0); /* both are there */
    if (rank == 1) {
        start = MPI_Wtime();
        MPI_Irecv(buf, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request);
        token(1); /* the receive is posted before the send starts */
    } else {
        token(1);
        start = MPI_Wtime();
        MPI_Isend(buf, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    }
    if (rank == computing)
        compute(work);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return (MPI_Wtime() - start) * 1e6;
}

static double messages(char *buf, int bytes, unsigned long work, int repeats)
{
    double values[REPEATS_MOST];
    one(buf, bytes, work);
    for (int i = 0; i < repeats; i++)
        values[i] = one(buf, bytes, work);
    return median(values, repeats);
}

static double work_alone(unsigned long work, int repeats)
{
    double values[REPEATS_MOST];
    for (int i = 0; i < repeats; i++) {
        double start = MPI_Wtime();
        compute(work);
        values[i] = (MPI_Wtime() - start) * 1e6;
    }
    return median(values, repeats);
}

static void measure(char *buf, int bytes, double loops_per_us, int repeats)
{
    double times[3] = {messages(buf, bytes, 0, repeats)}, other[3];
    unsigned long work = (unsigned long) (2 * times[0] * loops_per_us);
    times[1] = work_alone(work, repeats);
    times[2] = messages(buf, bytes, work, repeats);
    MPI_Sendrecv(times, 3, MPI_DOUBLE, 1 - rank, 3, other, 3, MPI_DOUBLE, 1 - rank, 3,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double *own = rank == computing ? times : other, *peer = rank == computing ? other : times;
    if (rank == 0)
        printf("%d %.3f %.3f %.3f %.3f %.3f\n", bytes, own[0], own[1], own[2], peer[0], peer[2]);
}

int main(int argc, char **argv)
{
    int least = 0, most = 0, size, repeats = argc > 3 ? atoi(argv[3]) : 101;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3 || size != 2 || sscanf(argv[2], "%d:%d", &least, &most) != 2 || least < 1 ||
        most < least || repeats < 1 || repeats > REPEATS_MOST) {
        if (rank == 0)
            fprintf(stderr, "overlap sender|receiver MIN:MAX [1..%d], two ranks\n", REPEATS_MOST);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    computing = strcmp(argv[1], "receiver") == 0;
    char *buf = malloc(most);
    memset(buf, 1, most);
    double loops_per_us = 1000000 / work_alone(1000000, 5);
    for (int bytes = least; bytes <= most; bytes *= 2)
        measure(buf, bytes, loops_per_us, repeats);
    free(buf);
    MPI_Finalize();
    return 0;
}
