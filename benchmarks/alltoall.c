/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Time of one MPI_Alltoall, milliseconds, with the answer checked.  Meant for more ranks than
 * processors.
 *
 *   alltoall BYTES ROUNDS
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int bytes = argc > 1 ? atoi(argv[1]) : 0, rounds = argc > 2 ? atoi(argv[2]) : 0;
    if (bytes < 1 || rounds < 1) {
        if (rank == 0)
            fprintf(stderr, "usage: %s BYTES ROUNDS\n", argv[0]);
        MPI_Finalize();
        return 2;
    }
    char *out = malloc((size_t) bytes * size), *in = malloc((size_t) bytes * size);
    memset(out, rank, (size_t) bytes * size);
    memset(in, 255, (size_t) bytes * size);
    MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    for (int i = 0; i < rounds; i++)
        MPI_Alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, MPI_COMM_WORLD);
    double ms = (MPI_Wtime() - start) / rounds * 1e3;
    int bad = 0;
    for (int r = 0; r < size; r++)
        bad += in[(size_t) r * bytes] != (char) r || in[(size_t) r * bytes + bytes - 1] != (char) r;
    MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s%.4f\n", bad ? "wrong data " : "", ms);
    MPI_Finalize();
    return bad != 0;
}
