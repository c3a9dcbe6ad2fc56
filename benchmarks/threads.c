/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages a second of several threads (benchmarks/threads).
 *
 *   threads THREADS BYTES WINDOWS
 *
 * Two ranks with so many threads each.  A thread of rank 0 sends to the thread of the same number
 * of rank 1, on a communicator of those two: 64 messages, then an answer, so many times.  One
 * number, printed by rank 0: messages a second of all threads together.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WINDOW = 64, THREADS_MAX = 64, WARM_UP = 10 };

static int rank, threads, bytes, windows;
static MPI_Comm comms[THREADS_MAX];
static pthread_barrier_t begins;
static double began[THREADS_MAX];

static void exchange(MPI_Comm comm, char *buffer, int times)
{
    MPI_Request requests[WINDOW];
    for (int w = 0; w < times; w++) {
        for (int i = 0; i < WINDOW; i++) {
            char *at = buffer + (size_t) i * (size_t) bytes;
            if (rank == 0)
                MPI_Isend(at, bytes, MPI_CHAR, 1, 1, comm, &requests[i]);
            else
                MPI_Irecv(at, bytes, MPI_CHAR, 0, 1, comm, &requests[i]);
        }
        MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
        if (rank == 0)
            MPI_Recv(NULL, 0, MPI_CHAR, 1, 2, comm, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_CHAR, 0, 2, comm);
    }
}

static void *work(void *arg)
{
    MPI_Comm comm = comms[(intptr_t) arg];
    char *buffer = calloc(WINDOW, (size_t) bytes + 1);
    exchange(comm, buffer, WARM_UP);
    pthread_barrier_wait(&begins);
    began[(intptr_t) arg] = MPI_Wtime();
    exchange(comm, buffer, windows);
    free(buffer);
    return NULL;
}

/* Seconds that all threads together take, from when the first goes on after all have warmed up. */
static double run(void)
{
    pthread_t thread[THREADS_MAX];
    pthread_barrier_init(&begins, NULL, (unsigned) threads);
    for (int t = 0; t < threads; t++)
        pthread_create(&thread[t], NULL, work, (void *) (intptr_t) t);
    for (int t = 0; t < threads; t++)
        pthread_join(thread[t], NULL);
    double end = MPI_Wtime(), first = began[0];
    for (int t = 1; t < threads; t++)
        first = began[t] < first ? began[t] : first;
    return end - first;
}

int main(int argc, char **argv)
{
    int provided, ranks;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 4 || ranks != 2 || provided != MPI_THREAD_MULTIPLE) {
        fprintf(stderr,
                "usage: threads THREADS BYTES WINDOWS, with 2 ranks and MPI_THREAD_MULTIPLE\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    threads = atoi(argv[1]);
    bytes = atoi(argv[2]);
    windows = atoi(argv[3]);
    if (threads < 1 || threads > THREADS_MAX)
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int t = 0; t < threads; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[t]);
    double seconds = run();
    if (rank == 0)
        printf("%.0f\n", (double) threads * windows * WINDOW / seconds);
    MPI_Finalize();
    return 0;
}
