/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For noway.sh: one kind of communication between all ranks, round after round, until there is no
 * way any more.  Rank 0 writes how many rounds are done into the file in the second argument.
 *
 *   noway barrier|allreduce|bcast|sendrecv|rendezvous|receive ROUNDS-FILE
 */
#include "check.h"

#include <unistd.h>

#define LONG_BYTES 100000

static void round_of(const char *way, int round)
{
    static uint8_t out[LONG_BYTES], in[LONG_BYTES];
    int far = (rank + size / 2) % size, sum = 0;
    if (strcmp(way, "barrier") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(way, "allreduce") == 0) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size - 1) / 2, "sum %d", sum);
    } else if (strcmp(way, "bcast") == 0) {
        MPI_Bcast(&round, 1, MPI_INT, round % size, MPI_COMM_WORLD);
    } else if (strcmp(way, "receive") == 0) {
        /* One half only receives, and never learns of the cut by itself. */
        if (rank < size / 2)
            MPI_Recv(in, 8, MPI_BYTE, far, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(out, 8, MPI_BYTE, far, 1, MPI_COMM_WORLD);
    } else {
        int len = strcmp(way, "sendrecv") == 0 ? 8 : LONG_BYTES;
        MPI_Sendrecv(out, len, MPI_BYTE, far, 2, in, len, MPI_BYTE, far, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int round = 1;; round++) {
        round_of(argv[1], round);
        if (rank == 0 && round % 64 == 0) {
            FILE *f = fopen(argv[2], "w");
            CHECK(f && fprintf(f, "%d\n", round) > 0 && fclose(f) == 0, "cannot write %s", argv[2]);
        }
        usleep(1000);
    }
}
