/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Many more ranks than processors: collectives, an all-to-all of 64 KiB blocks and a token ring go
 * on.
 */
#include "check.h"

enum { BLOCK = 65536 };

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    for (int i = 0; i < 20; i++) {
        int root = i % size, value = rank == root ? i * 7 : -1, sum = 0;
        MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD);
        CHECK(value == i * 7, "broadcast %d gave %d", i, value);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size - 1) / 2, "sum of ranks %d", sum);
    }
    uint8_t *out = check_alloc((size_t) BLOCK * size), *in = check_alloc((size_t) BLOCK * size);
    for (int round = 0; round < 3; round++) {
        for (int r = 0; r < size; r++)
            pattern_fill(out + (size_t) r * BLOCK, BLOCK, rank * size + r + round);
        memset(in, 0, (size_t) BLOCK * size);
        MPI_Alltoall(out, BLOCK, MPI_BYTE, in, BLOCK, MPI_BYTE, MPI_COMM_WORLD);
        for (int r = 0; r < size; r++)
            CHECK_PATTERN(in + (size_t) r * BLOCK, BLOCK, r * size + rank + round);
    }
    int token = 0;
    for (int lap = 0; lap < 20; lap++) {
        if (rank != 0 || lap)
            MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(token == lap * size + rank, "lap %d: token %d", lap, token);
        token++;
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
    }
    if (rank == 0)
        MPI_Recv(&token, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(out);
    free(in);
    return check_end();
}
