/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of all sizes and modes that arrive before their receives are kept, and given to receives
 * by tag in any order, and to wildcard receives in the order of arrival.
 */
#include "check.h"

enum { COUNT = 40, MOST = 300000 };

static size_t lengths[COUNT];
static uint8_t *buffers[COUNT];
static MPI_Request requests[COUNT];

static void send_all(int to)
{
    for (int i = 0; i < COUNT; i++) {
        pattern_fill(buffers[i], lengths[i], i);
        if (i % 5 == 4)
            MPI_Issend(buffers[i], (int) lengths[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Isend(buffers[i], (int) lengths[i], MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
    }
    /* Comes behind all others, so they have arrived when it has. */
    MPI_Send(NULL, 0, MPI_BYTE, to, COUNT, MPI_COMM_WORLD);
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
}

static void receive(int source, int tag, int wanted)
{
    MPI_Status status;
    int count;
    memset(buffers[wanted], 0, lengths[wanted]);
    MPI_Recv(buffers[wanted], MOST, MPI_BYTE, source, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(status.MPI_TAG == wanted, "message %d where %d should be", status.MPI_TAG, wanted);
    CHECK((size_t) count == lengths[wanted], "message %d: %d bytes of %zu", wanted, count,
          lengths[wanted]);
    CHECK_PATTERN(buffers[wanted], lengths[wanted], wanted);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    uint32_t random = 99;
    for (int i = 0; i < COUNT; i++) {
        lengths[i] = random_length(&random, MOST);
        buffers[i] = check_alloc(MOST);
    }
    for (int round = 0; round < 6; round++) {
        if (rank == 0) {
            send_all(1);
            continue;
        }
        MPI_Recv(NULL, 0, MPI_BYTE, 0, COUNT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < COUNT; i++) {
            if (round % 3 == 0)
                receive(0, COUNT - 1 - i, COUNT - 1 - i);
            else if (round % 3 == 1)
                receive(MPI_ANY_SOURCE, MPI_ANY_TAG, i);
            else
                receive(i % 2 ? 0 : MPI_ANY_SOURCE, (i * 7) % COUNT, (i * 7) % COUNT);
        }
    }
    for (int i = 0; i < COUNT; i++)
        free(buffers[i]);
    return check_end();
}
