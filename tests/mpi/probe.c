/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Probe, MPI_Iprobe, MPI_Mprobe, MPI_Improbe say what a receive would get; a message taken by
 * MPI_Mprobe is out of reach of others; MPI_Cancel withdraws a receive that has matched nothing,
 * and only such a one.
 */
#include "check.h"

static const int lengths[] = {0, 1, 48, 200, 5000, 16384, 100000, 1000000};
enum { SIZES = sizeof(lengths) / sizeof(*lengths), MOST = 1000000 };

static uint8_t *buf;

static void probe_status(const MPI_Status *status, int source, int tag, int len)
{
    int count, cancelled;
    MPI_Get_count(status, MPI_BYTE, &count);
    MPI_Test_cancelled(status, &cancelled);
    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && count == len && !cancelled,
          "probe says source %d tag %d count %d cancelled %d", status->MPI_SOURCE, status->MPI_TAG,
          count, cancelled);
}

static void probes(void)
{
    for (int i = 0; i < SIZES; i++) {
        if (rank == 0) {
            pattern_fill(buf, lengths[i], i);
            MPI_Send(buf, lengths[i], MPI_BYTE, 1, i, MPI_COMM_WORLD);
            MPI_Ssend(buf, lengths[i], MPI_BYTE, 1, i, MPI_COMM_WORLD);
            continue;
        }
        MPI_Status status;
        memset(&status, 0xff, sizeof(status));
        MPI_Probe(i % 2 ? 0 : MPI_ANY_SOURCE, i % 3 ? i : MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        probe_status(&status, 0, i, lengths[i]);
        MPI_Recv(buf, lengths[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, &status);
        CHECK_PATTERN(buf, lengths[i], i);
        int flag = 0;
        while (!flag)
            MPI_Iprobe(MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &flag, &status);
        probe_status(&status, 0, i, lengths[i]);
        MPI_Iprobe(0, i + 1000, MPI_COMM_WORLD, &flag, &status);
        CHECK(!flag, "a probe found a tag that was never sent");
        MPI_Recv(buf, lengths[i], MPI_BYTE, 0, i, MPI_COMM_WORLD, &status);
    }
}

static void matched_probes(void)
{
    for (int i = 0; i < SIZES; i++) {
        if (rank == 0) {
            pattern_fill(buf, lengths[i], i);
            MPI_Request request;
            MPI_Isend(buf, lengths[i], MPI_BYTE, 1, 3, MPI_COMM_WORLD, &request);
            MPI_Send(&i, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            continue;
        }
        MPI_Message message;
        MPI_Status status;
        int flag = 0, later = -1;
        if (i % 2)
            MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, &status);
        else
            while (!flag)
                MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, &status);
        probe_status(&status, 0, 3, lengths[i]);
        /* The message is taken: a receive gets the one behind it. */
        MPI_Recv(&later, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(later == i, "got %d behind a taken message", later);
        memset(buf, 0, lengths[i]);
        if (i % 3) {
            MPI_Mrecv(buf, lengths[i], MPI_BYTE, &message, &status);
        } else {
            MPI_Request request;
            MPI_Imrecv(buf, lengths[i], MPI_BYTE, &message, &request);
            MPI_Wait(&request, &status);
        }
        CHECK(message == MPI_MESSAGE_NULL, "the message handle is not null after its receive");
        probe_status(&status, 0, 3, lengths[i]);
        CHECK_PATTERN(buf, lengths[i], i);
    }
}

static void cancels(void)
{
    MPI_Request request;
    MPI_Status status;
    int cancelled, value = -1;
    if (rank == 1) {
        for (int i = 0; i < 100; i++) {
            MPI_Irecv(buf, MOST, MPI_BYTE, i % 2 ? 0 : MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &request);
            MPI_Cancel(&request);
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &cancelled);
            CHECK(cancelled, "a receive without a sender was not cancelled");
        }
        MPI_Irecv(&value, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, &request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        value = 42;
        MPI_Send(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Cancel(&request); /* too late: the message came before the barrier's */
        MPI_Wait(&request, &status);
        MPI_Test_cancelled(&status, &cancelled);
        CHECK(!cancelled && value == 42, "cancelled %d, value %d after the message came", cancelled,
              value);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    buf = check_alloc(MOST);
    probes();
    matched_probes();
    cancels();
    free(buf);
    return check_end();
}
