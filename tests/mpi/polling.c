/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Test, MPI_Testany and MPI_Iprobe never sleep, whether the program works between them or not;
 * MPI_Wait, MPI_Probe and MPI_Win_lock do when they wait for long: counted, not timed.
 */
#include "counter.h"

/* A call that waits sleeps after 512 yields: with 2 ranks each 256 rounds, with more than there are
 * processors each round. */
enum { POLLS = 20000, TIGHT_POLLS = 300000, TIGHT_POLLS_OF_MANY = 3000 };

static void work(double seconds)
{
    double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end)
        ;
}

/* Polls for what does not come; the calls take turns. */
static void poll(MPI_Request *request, int from, int polls, double between)
{
    int flag, index;
    MPI_Status status;
    unsigned long long before = counter("sleeps");
    for (int i = 0; i < polls; i++) {
        if (between > 0)
            work(between);
        if (i % 3 == 0)
            MPI_Test(request, &flag, &status);
        else if (i % 3 == 1)
            MPI_Testany(1, request, &index, &flag, &status);
        else
            MPI_Iprobe(from, 2, MPI_COMM_WORLD, &flag, &status);
        CHECK(!flag, "something has come before it was sent");
    }
    unsigned long long slept = counter("sleeps") - before;
    CHECK(slept == 0, "%d polls with %.0f us of work between them have slept %llu times", polls,
          between * 1e6, slept);
}

int main(int argc, char **argv)
{
    int in = 0;
    check_begin(&argc, &argv);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    poll(&request, from, POLLS, 5e-6);
    MPI_Barrier(MPI_COMM_WORLD);
    poll(&request, from, size == 2 ? TIGHT_POLLS : TIGHT_POLLS_OF_MANY, 0);
    MPI_Barrier(MPI_COMM_WORLD);

    /* Rank 0 lets rank 1 wait three times. */
    unsigned long long before = counter("sleeps");
    if (rank == 0)
        work(0.3);
    MPI_Send(&rank, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    CHECK(in == from, "received %d", in);
    if (rank == 1)
        CHECK(counter("sleeps") > before, "MPI_Wait: 0.3 s without a sleep");
    MPI_Barrier(MPI_COMM_WORLD);

    before = counter("sleeps");
    if (rank == 0) {
        work(0.3);
        MPI_Send(&rank, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Probe(0, 3, MPI_COMM_WORLD, &status);
        CHECK(counter("sleeps") > before, "MPI_Probe: 0.3 s without a sleep");
        MPI_Recv(&in, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &status);
    }

    int word = 0;
    MPI_Win win;
    MPI_Win_create(&word, sizeof(word), sizeof(word), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Send(&rank, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
        work(0.3);
        MPI_Win_unlock(1, win);
    } else if (rank == 1) {
        MPI_Recv(&in, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &status);
        before = counter("sleeps");
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        CHECK(counter("sleeps") > before, "MPI_Win_lock: 0.3 s without a sleep");
        MPI_Win_unlock(1, win);
    }
    MPI_Win_free(&win);
    return check_end();
}
