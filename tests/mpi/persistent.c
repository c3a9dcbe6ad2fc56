/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Requests that are started again and again: persistent sends of each mode and receives, a
 * persistent collective, and partitioned sends whose parts become ready in any order; to and from
 * nobody; and those that are not started.
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

/* Those that count what they have while they go on; with a type that only they hold. */
static void collectives_of_blocks(void)
{
    enum { EACH = 7 };
    int *given = check_alloc(EACH * (size_t) size * sizeof(int));
    int *all = check_alloc(EACH * (size_t) size * 2 * sizeof(int)), got[EACH];
    MPI_Request scatter, allgather;
    MPI_Datatype type;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
    MPI_Type_commit(&type);
    MPI_Scatter_init(given, EACH, MPI_INT, got, EACH, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                     &scatter);
    MPI_Allgather_init(got, EACH, MPI_INT, all, EACH, type, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &allgather);
    MPI_Type_free(&type);
    for (int k = 0; k < ROUNDS; k++) {
        for (int i = 0; i < EACH * size; i++) {
            given[i] = rank == 0 ? k * 1000 + i : -1;
            all[2 * i] = all[2 * i + 1] = -2;
        }
        MPI_Start(&scatter);
        MPI_Wait(&scatter, MPI_STATUS_IGNORE);
        for (int i = 0; i < EACH; i++)
            CHECK(got[i] == k * 1000 + rank * EACH + i, "start %d of a scatter gave %d", k, got[i]);
        MPI_Start(&allgather);
        MPI_Wait(&allgather, MPI_STATUS_IGNORE);
        for (int i = 0; i < EACH * size; i++)
            CHECK(all[2 * i] == k * 1000 + i && all[2 * i + 1] == -2,
                  "start %d of an allgather gave %d", k, all[2 * i]);
    }
    MPI_Request_free(&scatter);
    MPI_Request_free(&allgather);
    free(given);
    free(all);
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
        MPI_Request both[] = {send, receive};
        for (int done = 0; !done;)
            MPI_Testall(2, both, &done, MPI_STATUSES_IGNORE);
        for (int k = 0; k < PARTS * PART; k++)
            if (in[k] != from * 1e6 + round * 1e4 + k) {
                CHECK(0, "round %d: element %d is %g", round, k, in[k]);
                break;
            }
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

/* What is sent to nobody is complete at once, and is reported like everything that was started. */
static void to_nobody(void)
{
    int word = 5, index, done, indices[3];
    MPI_Request requests[3];
    MPI_Status status, statuses[3];
    MPI_Send_init(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[1]);
    MPI_Send_init(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &requests[2]);
    for (int round = 0; round < 3; round++) {
        MPI_Waitany(3, requests, &index, &status);
        CHECK(index == MPI_UNDEFINED, "request %d was not started", index);
        MPI_Startall(3, requests);
        memset(statuses, 0, sizeof(statuses));
        MPI_Waitsome(3, requests, &done, indices, statuses);
        CHECK(done == 3, "%d of 3 requests are complete", done);
        CHECK(statuses[1].MPI_SOURCE == MPI_PROC_NULL && statuses[1].MPI_TAG == MPI_ANY_TAG,
              "source %d, tag %d", statuses[1].MPI_SOURCE, statuses[1].MPI_TAG);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
}

/* In the memory of a request to nobody, which has been freed. */
static void collective_after_nobody(void)
{
    int word = 5, index, flag;
    MPI_Status status;
    MPI_Request request;
    MPI_Send_init(&word, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* it was not started */
    MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag, "a barrier that was not started is not complete");
    status.MPI_SOURCE = 77;
    MPI_Testany(1, &request, &index, &flag, &status);
    CHECK(flag && index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE,
          "a barrier that was not started: flag %d, index %d, source %d", flag, index,
          status.MPI_SOURCE);
    MPI_Start(&request);
    for (flag = 0; !flag;)
        MPI_Testall(1, &request, &flag, MPI_STATUSES_IGNORE);
    for (int round = 0; round < 3; round++) {
        MPI_Start(&request);
        MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
        CHECK(index == 0, "the barrier has index %d", index);
        MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE);
        CHECK(index == MPI_UNDEFINED, "a barrier that is over has index %d", index);
    }
    MPI_Request_free(&request);
}

/* More than MPI_Testall looks at in one go: one of a kind that it frees behind those that it does
 * not. */
static void many_at_once(int to, int from)
{
    enum { MANY = 64 };
    static int in[MANY + 1];
    MPI_Request requests[MANY + 1];
    for (int i = 0; i < MANY; i++)
        MPI_Recv_init(&in[i], 1, MPI_INT, from, i, MPI_COMM_WORLD, &requests[i]);
    for (int round = 0; round < 2; round++) {
        int flag = 0;
        MPI_Startall(MANY, requests);
        MPI_Irecv(&in[MANY], 1, MPI_INT, from, MANY, MPI_COMM_WORLD, &requests[MANY]);
        for (int i = 0; i <= MANY; i++) {
            int out = round * 1000 + i;
            MPI_Send(&out, 1, MPI_INT, to, i, MPI_COMM_WORLD);
        }
        while (!flag)
            MPI_Testall(MANY + 1, requests, &flag, MPI_STATUSES_IGNORE);
        for (int i = 0; i <= MANY; i++)
            CHECK(in[i] == round * 1000 + i, "round %d: receive %d has %d", round, i, in[i]);
        CHECK(requests[0] != MPI_REQUEST_NULL, "a persistent receive has been freed");
        CHECK(requests[MANY] == MPI_REQUEST_NULL, "a receive has not been freed");
        if (requests[0] == MPI_REQUEST_NULL)
            return;
    }
    for (int i = 0; i < MANY; i++)
        MPI_Request_free(&requests[i]);
}

/* MPI_Request_get_status() of what is complete and not freed. */
static void looked_at(int to, int from)
{
    double out[PARTS] = {0}, in[PARTS];
    int word = 5, flag, count;
    MPI_Status status;
    MPI_Request requests[2];
    MPI_Psend_init(out, PARTS, 1, MPI_DOUBLE, to, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, PARTS, 1, MPI_DOUBLE, from, 12, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, PARTS - 1, requests[0]);
    for (flag = 0; !flag;)
        MPI_Request_get_status(requests[1], &flag, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK(status.MPI_SOURCE == from && status.MPI_TAG == 12 && count == PARTS,
          "parts of rank %d, tag %d, %d doubles", status.MPI_SOURCE, status.MPI_TAG, count);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_get_status(requests[1], &flag, &status);
    CHECK(flag && status.MPI_SOURCE == MPI_ANY_SOURCE, "parts that are not started: source %d",
          status.MPI_SOURCE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);

    MPI_Ssend_init(&word, 1, MPI_INT, to, 13, MPI_COMM_WORLD, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Cancel(&requests[0]);
    for (flag = 0; !flag;)
        MPI_Request_get_status(requests[0], &flag, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag, "a send that was cancelled is not said to be");
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void parts_to_nobody(void)
{
    double parts[PARTS] = {0};
    MPI_Request send, receive;
    MPI_Status status;
    int arrived;
    MPI_Psend_init(parts, PARTS, 1, MPI_DOUBLE, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &send);
    MPI_Precv_init(parts, PARTS, 1, MPI_DOUBLE, MPI_PROC_NULL, 9, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &receive);
    for (int round = 0; round < 3; round++) {
        MPI_Start(&send);
        MPI_Start(&receive);
        MPI_Pready_range(0, PARTS - 1, send);
        MPI_Parrived(receive, 0, &arrived);
        CHECK(arrived, "a part of nobody's has not arrived");
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Wait(&receive, &status);
        CHECK(status.MPI_SOURCE == MPI_PROC_NULL, "source %d", status.MPI_SOURCE);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int to = (rank + 1) % size, from = (rank + size - 1) % size;
    to_nobody();
    collective_after_nobody();
    parts_to_nobody();
    persistent(to, from);
    collective();
    collectives_together();
    collectives_of_blocks();
    partitioned(to, from);
    many_at_once(to, from);
    looked_at(to, from);
    return check_end();
}
