/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Latency and bandwidth between two ranks, 0 B to 4 MiB, in the columns of the OSU
 * micro-benchmarks: latency is half of a ping-pong's round trip; bandwidth is that of windows of 64
 * messages, each answered by an empty one.  Every size is measured several times and the median is
 * printed.
 *
 *   latency [--csv|--json] [--max=BYTES]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_S 0.03

enum { WINDOW = 64, REPEATS = 5, MIB = 1 << 20 };

typedef enum { TABLE, CSV, JSON } form_t;

static int rank;
static char *out, *in;

static double latency_us(int len, int rounds)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            MPI_Send(out, len, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(in, len, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, len, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(out, len, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - start) / rounds / 2 * 1e6;
}

/* MB are 10^6 bytes, as in the OSU benchmarks. */
static double bandwidth_mb_s(int len, int windows)
{
    MPI_Request requests[WINDOW];
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int w = 0; w < windows; w++) {
        for (int i = 0; i < WINDOW; i++) {
            if (rank == 0)
                MPI_Isend(out, len, MPI_CHAR, 1, 2, MPI_COMM_WORLD, &requests[i]);
            else
                MPI_Irecv(in, len, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(NULL, 0, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_CHAR, 0, 3, MPI_COMM_WORLD);
    }
    return (double) len * WINDOW * windows / (MPI_Wtime() - start) / 1e6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return (x > y) - (x < y);
}

/* Rounds for a repeat of BUDGET_S, from the time of a few; the same on both ranks. */
static int calibrate(double (*measure)(int, int), int len)
{
    measure(len, 2); /* first touch */
    double start = MPI_Wtime();
    measure(len, 10);
    int rounds = (int) (BUDGET_S * 10 / (MPI_Wtime() - start));
    rounds = rounds < 4 ? 4 : rounds > 20000 ? 20000 : rounds;
    MPI_Bcast(&rounds, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return rounds;
}

static double median(double (*measure)(int, int), int len)
{
    double values[REPEATS];
    int rounds = calibrate(measure, len);
    for (int i = 0; i < REPEATS; i++)
        values[i] = measure(len, rounds);
    qsort(values, REPEATS, sizeof(*values), ascending);
    return values[REPEATS / 2];
}

static void print_head(form_t form)
{
    if (form == TABLE)
        printf("# %-8s %18s %22s\n", "Size", "Latency (us)", "Bandwidth (MB/s)");
    else if (form == CSV)
        printf("bytes,latency_us,bandwidth_mb_s\n");
    else
        printf("[");
}

static void print_line(form_t form, int len, double latency, double bandwidth)
{
    if (form == TABLE)
        printf("%-10d %18.2f %22.2f\n", len, latency, bandwidth);
    else if (form == CSV)
        printf("%d,%.3f,%.2f\n", len, latency, bandwidth);
    else
        printf("%s\n  {\"bytes\": %d, \"latency_us\": %.3f, \"bandwidth_mb_s\": %.2f}",
               len ? "," : "", len, latency, bandwidth);
    fflush(stdout);
}

static int usage(const char *program)
{
    if (rank == 0)
        fprintf(stderr, "usage: mpirun -n 2 %s [--csv|--json] [--max=BYTES]\n", program);
    MPI_Finalize();
    return 2;
}

int main(int argc, char **argv)
{
    form_t form = TABLE;
    int size, most = 4 * MIB;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != 2)
        return usage(argv[0]);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--csv") == 0)
            form = CSV;
        else if (strcmp(argv[i], "--json") == 0)
            form = JSON;
        else if (sscanf(argv[i], "--max=%d", &most) != 1 || most < 0)
            return usage(argv[0]);
    }
    out = malloc(most + 1);
    in = malloc(most + 1);
    if (!out || !in)
        MPI_Abort(MPI_COMM_WORLD, 1);
    memset(out, 1, most + 1);
    memset(in, 0, most + 1);

    if (rank == 0)
        print_head(form);
    for (int len = 0; len <= most; len = len ? len * 2 : 1) {
        double latency = median(latency_us, len);
        double bandwidth = median(bandwidth_mb_s, len);
        if (rank == 0)
            print_line(form, len, latency, bandwidth);
    }
    if (rank == 0 && form == JSON)
        printf("\n]\n");
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
