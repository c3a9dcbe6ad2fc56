/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Cancel of sends: none is cancelled, each says so and arrives; nothing hangs, whether the
 * message has come, waits for its receive, or is persistent.
 */
#include "check.h"

enum { SIZES = 4, MOST = 1000000 };

static const int sizes[SIZES] = {8, 5000, 30000, MOST};

static void wait_uncancelled(MPI_Request *request, int bytes)
{
    MPI_Status status;
    int cancelled = -1;
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled == 0, "a send of %d bytes was cancelled: %d", bytes, cancelled);
}

/* `sync`: it is not over before its receive, which comes after the cancel. */
static void cancel(uint8_t *buf, int bytes, int sync)
{
    MPI_Request request;
    if (rank == 0) {
        pattern_fill(buf, (size_t) bytes, bytes);
        if (sync)
            MPI_Issend(buf, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        else
            MPI_Isend(buf, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        wait_uncancelled(&request, bytes);
    } else {
        memset(buf, 0, bytes);
        MPI_Recv(buf, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(buf, bytes, bytes);
    }
}

static void cancel_persistent(uint8_t *buf, int bytes)
{
    MPI_Request request;
    if (rank == 0)
        MPI_Send_init(buf, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 2; round++) {
        if (rank == 0) {
            pattern_fill(buf, (size_t) bytes, round);
            MPI_Start(&request);
            MPI_Cancel(&request);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            wait_uncancelled(&request, bytes);
        } else {
            MPI_Recv(buf, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_PATTERN(buf, bytes, round);
        }
    }
    if (rank == 0)
        MPI_Request_free(&request);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    uint8_t *buf = check_alloc(MOST);
    for (int i = 0; i < SIZES; i++) {
        cancel(buf, sizes[i], 0);
        cancel(buf, sizes[i], 1);
        cancel_persistent(buf, sizes[i]);
    }
    free(buf);
    return check_end();
}
