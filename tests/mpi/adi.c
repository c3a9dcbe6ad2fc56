/* SPDX-License-Identifier: BSD-3-Clause
 *
 * adi [ITERATIONS]: the communication of an alternating direction solver in the multi-partition
 * scheme, as in NAS bt and sp: c x c ranks with c cells each.  An iteration exchanges six faces,
 * then sweeps forward and backward in three directions, c - 1 messages each: 6 c sends of a rank
 * (flow control specification 7.1). Rank 0 receives what it checks from any source.  Every value
 * that travels is checked.
 */
#include "check.h"

#define DIRECTIONS 3
#define FACE 300 /* doubles */
#define SWEEP 60

static int side;

/* The neighbour of a rank in a direction: right, down, or across both. */
static int neighbour(int direction, int forward)
{
    int x = rank % side, y = rank / side, step = forward ? 1 : side - 1;
    if (direction != 1)
        x = (x + step) % side;
    if (direction != 0)
        y = (y + step) % side;
    return y * side + x;
}

static double work(const double *from, int n)
{
    double sum = 0;
    for (int repeat = 0; repeat < 20; repeat++)
        for (int i = 0; i < n; i++)
            sum += from[i] * (repeat + 1);
    return sum;
}

static void faces(int iteration)
{
    static double out[6][FACE], in[6][FACE];
    MPI_Request request[12];
    MPI_Status status[12];
    for (int f = 0; f < 6; f++)
        MPI_Irecv(in[f], FACE, MPI_DOUBLE, neighbour(f / 2, f % 2), f ^ 1, MPI_COMM_WORLD,
                  &request[f]);
    for (int f = 0; f < 6; f++) {
        out[f][0] = rank;
        out[f][FACE - 1] = iteration;
        MPI_Isend(out[f], FACE, MPI_DOUBLE, neighbour(f / 2, f % 2), f, MPI_COMM_WORLD,
                  &request[6 + f]);
    }
    MPI_Waitall(12, request, status);
    for (int f = 0; f < 6; f++) {
        CHECK(in[f][0] == neighbour(f / 2, f % 2), "face %d came from rank %.0f", f, in[f][0]);
        CHECK(in[f][FACE - 1] == iteration, "face %d is of iteration %.0f", f, in[f][FACE - 1]);
    }
}

static void sweep(int direction, int forward)
{
    static double out[SWEEP], in[SWEEP];
    MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int tag = 6 + 2 * direction + forward;
    for (int cell = 0; cell < side; cell++) {
        if (cell != 0) {
            MPI_Irecv(in, SWEEP, MPI_DOUBLE, neighbour(direction, !forward), tag, MPI_COMM_WORLD,
                      &request[0]);
            MPI_Wait(&request[1], MPI_STATUS_IGNORE);
            MPI_Wait(&request[0], MPI_STATUS_IGNORE);
            CHECK(in[0] == cell - 1, "cell %.0f instead of %d", in[0], cell - 1);
        }
        out[0] = cell;
        out[1] = work(in, SWEEP);
        if (cell != side - 1)
            MPI_Isend(out, SWEEP, MPI_DOUBLE, neighbour(direction, forward), tag, MPI_COMM_WORLD,
                      &request[1]);
    }
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int iterations = argc > 1 ? atoi(argv[1]) : 4;
    check_begin(&argc, &argv);
    for (side = 2; side * side < size; side++)
        ;
    CHECK(side * side == size, "%d ranks: a square number is wanted", size);
    MPI_Bcast(&iterations, 1, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; i < iterations; i++) {
        faces(i);
        for (int d = 0; d < DIRECTIONS; d++) {
            sweep(d, 1);
            sweep(d, 0);
        }
    }
    if (rank != 0)
        MPI_Send(&iterations, 1, MPI_INT, 0, rank, MPI_COMM_WORLD);
    for (int i = 1; i < size && rank == 0; i++) {
        MPI_Request request;
        int done = -1;
        MPI_Irecv(&done, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(done == iterations, "%d iterations instead of %d", done, iterations);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return check_end();
}
