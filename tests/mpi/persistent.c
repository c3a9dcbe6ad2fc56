/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that are started again and again: persistent sends of each mode and receives, a
 * persistent collective, and partitioned sends whose parts become ready in any order.
 */
#include "check.h"

enum { ROUNDS = 30, LENGTH = 3000, PARTS = 8, PART = 500 };

static void persistent(int to, int from)
{
    static int out[4][LENGTH], in[4][LENGTH];
    MPI_Request requests[8];
    for (int i = 0; i < 4; i++)
        MPI_Recv_init(in[i], LENGTH, MPI_INT, i % 2 ? from : MPI_ANY_SOURCE, i, MPI_COMM_WORLD,
                      &requests[i]);
    MPI_Send_init(out[0], LENGTH, MPI_INT, to, 0, MPI_COMM_WORLD, &requests[4]);
    MPI_Ssend_init(out[1], LENGTH, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[5]);
    MPI_Rsend_init(out[2], LENGTH, MPI_INT, to, 2, MPI_COMM_WORLD, &requests[6]);
    MPI_Send_init(out[3], 1, MPI_INT, to, 3, MPI_COMM_WORLD, &requests[7]);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Status statuses[8];
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < LENGTH; k++) {
                out[i][k] = rank * 1000000 + round * 10000 + i * 3000 + k;
                in[i][k] = -1;
            }
        MPI_Startall(4, requests);
        MPI_Barrier(MPI_COMM_WORLD); /* the ready send needs its receive */
        MPI_Startall(4, requests + 4);
        MPI_Waitall(8, requests, statuses);
        for (int i = 0; i < 4; i++) {
            int count, length = i < 3 ? LENGTH : 1;
            MPI_Get_count(&statuses[i], MPI_INT, &count);
            CHECK(count == length && statuses[i].MPI_SOURCE == from, "%d ints of rank %d", count,
                  statuses[i].MPI_SOURCE);
            int last = from * 1000000 + round * 10000 + i * 3000 + length - 1;
            CHECK(in[i][length - 1] == last, "round %d message %d ends in %d", round, i,
                  in[i][length - 1]);
        }
    }
    for (int i = 0; i < 8; i++)
        MPI_Request_free(&requests[i]);
}

static void collective(void)
{
    int value, sum;
    MPI_Request request;
    MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < ROUNDS; round++) {
        value = rank + round;
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(sum == size * (size - 1) / 2 + size * round, "round %d: sum %d", round, sum);
    }
    MPI_Request_free(&request);
}

/* Several at once, started and waited for in either order. */
static void collectives_together(void)
{
    enum { BCAST, ALLTOALL, BARRIER, KINDS };
    int word = 0, *own = check_alloc((size_t) size * sizeof(int));
    int *all = check_alloc((size_t) size * sizeof(int));
    MPI_Request requests[KINDS];
    MPI_Bcast_init(&word, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[BCAST]);
    MPI_Alltoall_init(own, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &requests[ALLTOALL]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[BARRIER]);
    for (int round = 0; round < ROUNDS; round++) {
        word = rank == size - 1 ? 100 + round : -1;
        for (int i = 0; i < size; i++) {
            own[i] = round + rank;
            all[i] = -1;
        }
        MPI_Startall(KINDS, requests);
        for (int i = 0; i < KINDS; i++)
            MPI_Wait(&requests[round % 2 ? i : KINDS - 1 - i], MPI_STATUS_IGNORE);
        CHECK(word == 100 + round, "round %d: word %d", round, word);
        for (int i = 0; i < size; i++)
            CHECK(all[i] == round + i, "round %d: %d from rank %d", round, all[i], i);
    }
    for (int i = 0; i < KINDS; i++)
        MPI_Request_free(&requests[i]);
    free(own);
    free(all);
}

static void partitioned(int to, int from)
{
    static double out[PARTS * PART], in[PARTS * PART];
    MPI_Request send, receive;
    MPI_Psend_init(out, PARTS, PART, MPI_DOUBLE, to, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, PARTS, PART, MPI_DOUBLE, from, 9, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (int round = 0; round < ROUNDS; round++) {
        memset(in, 0, sizeof(in));
        MPI_Start(&receive);
        MPI_Start(&send);
        for (int i = 0; i < PARTS; i++) {
            int part = (i * 3 + round) % PARTS;
            for (int k = 0; k < PART; k++)
                out[part * PART + k] = rank * 1e6 + round * 1e4 + part * PART + k;
            MPI_Pready(part, send);
        }
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        for (int k = 0; k < PARTS * PART; k++)
            if (in[k] != from * 1e6 + round * 1e4 + k) {
                CHECK(0, "round %d: element %d is %g", round, k, in[k]);
                break;
            }
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    persistent(to, from);
    collective();
    collectives_together();
    partitioned(to, from);
    return check_end();
}
