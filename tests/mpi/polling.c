/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Test, MPI_Testany and MPI_Iprobe never sleep, whether the program works between them or not;
 * MPI_Wait, MPI_Probe and MPI_Win_lock do when they wait for long: counted, not timed.
 */
#include <stdbool.h>

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

/* Rank 0 lets rank 1 wait for so many seconds, in one of three calls.  Has it slept, at rank 1? */
static bool in_wait(double seconds)
{
    int in;
    MPI_Request request;
    unsigned long long before = counter("sleeps");
    if (rank == 0) {
        work(seconds);
        MPI_Send(&rank, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else {
        MPI_Irecv(&in, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return counter("sleeps") > before;
}

static bool in_probe(double seconds)
{
    int in;
    bool slept = false;
    unsigned long long before = counter("sleeps");
    if (rank == 0) {
        work(seconds);
        MPI_Send(&rank, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else {
        MPI_Probe(0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        slept = counter("sleeps") > before;
        MPI_Recv(&in, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return slept;
}

static MPI_Win win;

static bool in_lock(double seconds)
{
    int in;
    bool slept = false;
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        MPI_Send(&rank, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
        work(seconds);
        MPI_Win_unlock(1, win);
    } else {
        MPI_Recv(&in, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        unsigned long long before = counter("sleeps");
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        slept = counter("sleeps") > before;
        MPI_Win_unlock(1, win);
    }
    return slept;
}

/* A call that waits for long sleeps.  How long it yields before depends on what else the machine
 * does, so that it may take more than the first wait. */
static void check_sleep(const char *call, bool (*wait)(double seconds))
{
    int slept = 0;
    double seconds;
    for (seconds = 0.3; rank < 2 && !slept && seconds < 10; seconds *= 2) {
        slept = wait(seconds);
        if (rank == 0)
            MPI_Recv(&slept, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(&slept, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
    }
    CHECK(rank > 1 || slept, "%s: %.1f s without a sleep", call, seconds / 2);
    MPI_Barrier(MPI_COMM_WORLD);
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

    MPI_Send(&rank, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    CHECK(in == from, "received %d", in);

    check_sleep("MPI_Wait", in_wait);
    check_sleep("MPI_Probe", in_probe);
    int word = 0;
    MPI_Win_create(&word, sizeof(word), sizeof(word), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    check_sleep("MPI_Win_lock", in_lock);
    MPI_Win_free(&win);
    return check_end();
}
