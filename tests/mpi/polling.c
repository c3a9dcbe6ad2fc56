/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that works between its calls of MPI_Test, MPI_Testany and MPI_Iprobe is never put to
 * sleep by them, and one that waits is: counted, not timed.
 */
#include "counter.h"

enum { POLLS = 20000 };

static void work(void)
{
    double end = MPI_Wtime() + 5e-6;
    while (MPI_Wtime() < end)
        ;
}

int main(int argc, char **argv)
{
    int in = 0, flag, index;
    check_begin(&argc, &argv);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned long long before = counter("sleeps");
    for (int i = 0; i < POLLS; i++) {
        work();
        if (i % 3 == 0)
            MPI_Test(&request, &flag, &status);
        else if (i % 3 == 1)
            MPI_Testany(1, &request, &index, &flag, &status);
        else
            MPI_Iprobe(from, 2, MPI_COMM_WORLD, &flag, &status);
        CHECK(!flag, "something has come before it was sent");
    }
    unsigned long long slept = counter("sleeps") - before;
    CHECK(slept == 0, "%d polls have slept %llu times", POLLS, slept);
    MPI_Barrier(MPI_COMM_WORLD);

    before = counter("sleeps");
    if (rank == 0) {
        double end = MPI_Wtime() + 0.3;
        while (MPI_Wtime() < end)
            ;
    }
    MPI_Send(&rank, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    CHECK(in == from, "received %d", in);
    if (rank == 1)
        CHECK(counter("sleeps") > before, "waiting for 0.3 s without a sleep");
    return check_end();
}
