/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For the fault cases: messages of all kinds between all ranks, their bytes compared, for `argument
 * 1` seconds and at least one round.  Rank 0 prints how many rounds were right.
 */
#include "../mpi/check.h"

static const int lengths[] = {0, 8, 40, 300, 4000, 20000, 100000, 1000000};
enum { LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

static uint8_t *out[LENGTHS], *in[LENGTHS];

static uint32_t seed(int from, int to, int length, int round)
{
    return (uint32_t) (((from * 64 + to) * LENGTHS + length) * 31 + round);
}

static void exchange(int with, int round)
{
    MPI_Request request[2 * LENGTHS];
    MPI_Status status[2 * LENGTHS];
    for (int i = 0; i < LENGTHS; i++)
        MPI_Irecv(in[i], lengths[i], MPI_BYTE, with, i, MPI_COMM_WORLD, &request[i]);
    for (int i = 0; i < LENGTHS; i++) {
        pattern_fill(out[i], (size_t) lengths[i], seed(rank, with, i, round));
        MPI_Isend(out[i], lengths[i], MPI_BYTE, with, i, MPI_COMM_WORLD, &request[LENGTHS + i]);
    }
    MPI_Waitall(2 * LENGTHS, request, status);
    for (int i = 0; i < LENGTHS; i++) {
        int got;
        MPI_Get_count(&status[i], MPI_BYTE, &got);
        CHECK(got == lengths[i], "%d bytes from %d instead of %d", got, with, lengths[i]);
        size_t good = pattern_differs(in[i], (size_t) lengths[i], seed(with, rank, i, round));
        CHECK(good == (size_t) lengths[i], "round %d: byte %zu of %d from %d differs", round, good,
              lengths[i], with);
    }
}

int main(int argc, char **argv)
{
    int round = 0, go_on = 1;
    check_begin(&argc, &argv);
    for (int i = 0; i < LENGTHS; i++) {
        out[i] = check_alloc((size_t) lengths[i]);
        in[i] = check_alloc((size_t) lengths[i]);
    }
    double end = MPI_Wtime() + (argc > 1 ? atof(argv[1]) : 0);
    for (; go_on; round++) {
        for (int step = 0; step < size; step++) {
            int with = (step - rank + size) % size;
            if (with != rank)
                exchange(with, round);
        }
        int sum = 0, one = rank + 1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size + 1) / 2, "round %d: the sum is %d", round, sum);
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0 && check_failures == 0)
        printf("%d rounds\n", round);
    return check_end();
}
