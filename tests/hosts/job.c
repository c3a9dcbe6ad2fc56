/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What check-hosts runs where a host or a cable fails: `rounds N [WORDS]` exchanges messages of so
 * many words with all ranks for N seconds and says how often, how long the longest time was, and
 * "begun" after the first; `wait` has rank 0 receive from each
 * other rank what never comes; `unacknowledged` has rank 0 dump its state before and after rank 1
 * has looked at a message; `there-and-back BYTES N` sends a message N times between ranks 0 and 1,
 * and back, and says how many microseconds that takes.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 4096, WORDS_MOST = 262144 };

static int out[WORDS_MOST], in[WORDS_MOST], words = WORDS;

/* A round: each rank to its next one, and the sum of all. */
static int round_trip(int rank, int size, int round, int *last_p)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    int mine[2] = {rank, *last_p}, sum[2];
    for (int i = 0; i < words; i++)
        out[i] = rank * 1000003 + round + i;
    MPI_Sendrecv(out, words, MPI_INT, next, 1, in, words, MPI_INT, before, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < words; i++)
        if (in[i] != before * 1000003 + round + i) {
            fprintf(stderr, "rank %d: word %d of round %d is %d, not %d\n", rank, i, round, in[i],
                    before * 1000003 + round + i);
            return 1;
        }
    MPI_Allreduce(mine, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    *last_p = sum[1];
    return sum[0] != size * (size - 1) / 2;
}

static void there_and_back(int rank, int bytes, int times)
{
    char *buf = calloc(1, (size_t) bytes);
    double start = 0;
    for (int i = -times / 10; i < times && rank < 2; i++) {
        if (i == 0)
            start = MPI_Wtime();
        if (rank == 0)
            MPI_Send(buf, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(buf, bytes, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(buf, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%.2f us\n", (MPI_Wtime() - start) / times * 1e6);
    free(buf);
}

static void unacknowledged(int rank)
{
    if (rank == 0) {
        MPI_Send(out, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
        usleep(200000);
        kill(getpid(), SIGUSR2);
        MPI_Recv(in, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        kill(getpid(), SIGUSR2);
    } else if (rank == 1) {
        sleep(3); /* in no call, so it takes nothing from the network */
        MPI_Recv(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(in, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, size, bad = 0, last = 0, i;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 && strcmp(argv[1], "rounds") == 0) {
        double start = MPI_Wtime(), before = start, now, longest = 0;
        words = argc > 3 && atoi(argv[3]) <= WORDS_MOST ? atoi(argv[3]) : WORDS;
        for (i = 0; !last && !bad; i++) {
            last = rank == 0 && MPI_Wtime() - start >= atoi(argv[2]);
            bad = round_trip(rank, size, i, &last);
            now = MPI_Wtime();
            longest = now - before > longest ? now - before : longest;
            before = now;
            if (i == 0 && rank == 0 && puts("begun") >= 0)
                fflush(stdout);
        }
        if (bad)
            fprintf(stderr, "rank %d: wrong data in round %d\n", rank, i);
        else if (rank == 0)
            printf("%d rounds, the longest %.0f ms\n", i, longest * 1e3);
    } else if (argc > 3 && strcmp(argv[1], "there-and-back") == 0) {
        there_and_back(rank, atoi(argv[2]), atoi(argv[3]));
    } else if (argc > 1 && strcmp(argv[1], "unacknowledged") == 0) {
        unacknowledged(rank);
    } else {
        bad = round_trip(rank, size, 0, &last);
        if (rank == 0) {
            puts("waiting");
            fflush(stdout);
            for (i = 1; i < size; i++)
                MPI_Recv(in, 1, MPI_INT, i, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(in, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return bad;
}
