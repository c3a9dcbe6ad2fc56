/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Cancel of sends: whatever the receiver does, MPI_Wait returns; a send is either cancelled,
 * and then no receive and no probe finds its message, or it arrives.
 */
#include "check.h"

enum { COUNT = 30, MOST = 300000, BLOCK = 4096, BLOCKS = 1200, TAG = 1, TAG_SAID = 2 };

/* Longer ones are announced by RTS whatever the setting. */
enum { EAGER_AT_MOST = 65536 };

static int wait_cancelled(MPI_Request *request)
{
    MPI_Status status;
    int cancelled = -1;
    MPI_Wait(request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    return cancelled;
}

static void nothing_is_left(const char *what)
{
    int found;
    MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
    CHECK(!found, "%s: a cancelled message is still there", what);
}

/* Messages in a row, of which two in three are cancelled before any is received. */
static void cancel_some(uint8_t *buf, int bytes, int sync)
{
    MPI_Request requests[COUNT];
    int cancelled[COUNT] = {0};
    for (int i = 0; rank == 0 && i < COUNT; i++) {
        uint8_t *message = buf + (size_t) i * (size_t) bytes;
        pattern_fill(message, (size_t) bytes, i);
        if (sync)
            MPI_Issend(message, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Isend(message, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; rank == 0 && i < COUNT; i++)
        if (i % 3)
            MPI_Cancel(&requests[i]);
    for (int i = COUNT - 1; rank == 0 && i >= 0; i--)
        if (i % 3)
            cancelled[i] = wait_cancelled(&requests[i]);
    for (int i = 0; rank == 0 && i < COUNT; i++)
        CHECK(i % 3 == 0 || cancelled[i] || (!sync && bytes <= EAGER_AT_MOST),
              "a %s of %d bytes could not be cancelled", sync ? "synchronous send" : "send", bytes);
    MPI_Bcast(cancelled, COUNT, MPI_INT, 0, MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < COUNT; i++) {
        if (cancelled[i])
            continue;
        memset(buf, 0, (size_t) bytes);
        MPI_Recv(buf, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(buf, bytes, i);
    }
    if (rank == 1)
        nothing_is_left("some of many");
    for (int i = 0; rank == 0 && i < COUNT; i += 3)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Its receive has been posted, so the message arrives. */
static void cancel_matched(uint8_t *buf, int bytes)
{
    MPI_Request request;
    if (rank == 1)
        MPI_Irecv(buf, bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        pattern_fill(buf, (size_t) bytes, bytes);
        MPI_Issend(buf, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        CHECK(!wait_cancelled(&request), "a matched send of %d bytes was cancelled", bytes);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK_PATTERN(buf, bytes, bytes);
    }
}

/* It has been taken out by a matched probe, and arrives all the same. */
static void cancel_claimed(uint8_t *buf, int bytes)
{
    MPI_Request request;
    MPI_Message message;
    if (rank == 0) {
        pattern_fill(buf, (size_t) bytes, bytes);
        MPI_Issend(buf, bytes, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG_SAID, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Cancel(&request);
        CHECK(!wait_cancelled(&request), "a claimed send of %d bytes was cancelled", bytes);
    } else {
        MPI_Mprobe(0, TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_SAID, MPI_COMM_WORLD);
        MPI_Mrecv(buf, bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        CHECK_PATTERN(buf, bytes, bytes);
    }
}

/* A persistent send can be started again. */
static void cancel_persistent(uint8_t *buf)
{
    MPI_Request request;
    if (rank == 0) {
        pattern_fill(buf, MOST, 1);
        MPI_Send_init(buf, MOST, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        for (int round = 0; round < 2; round++) {
            MPI_Start(&request);
            MPI_Cancel(&request);
            CHECK(wait_cancelled(&request), "a persistent send could not be cancelled");
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        nothing_is_left("persistent");
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Start(&request);
        CHECK(!wait_cancelled(&request), "a persistent send remains cancelled");
        MPI_Request_free(&request);
    } else {
        MPI_Recv(buf, MOST, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(buf, MOST, 1);
    }
}

/* For MPICH a buffered send is over when it has been buffered: it arrives. */
static void cancel_buffered(uint8_t *buf)
{
    MPI_Request request;
    int bytes = MOST + MPI_BSEND_OVERHEAD;
    uint8_t *attached = check_alloc((size_t) bytes);
    if (rank == 0) {
        pattern_fill(buf, MOST, 2);
        MPI_Buffer_attach(attached, bytes);
        MPI_Ibsend(buf, MOST, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        CHECK(!wait_cancelled(&request), "a buffered send was cancelled");
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Buffer_detach(&attached, &bytes);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Recv(buf, MOST, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(buf, MOST, 2);
    }
    free(attached);
}

/* A type with gaps, in memory that the NIC gathers from, or moved piece by piece. */
static void cancel_gaps(void *buf)
{
    MPI_Request request;
    MPI_Datatype type;
    MPI_Type_vector(BLOCKS, BLOCK, 2 * BLOCK, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    if (rank == 0) {
        MPI_Isend(buf, 1, type, 1, TAG, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        CHECK(wait_cancelled(&request), "a send of a type with gaps could not be cancelled");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        nothing_is_left("gaps");
    MPI_Barrier(MPI_COMM_WORLD); /* the next one is sent */
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 400, 5000, 30000, 100000, MOST};
    check_begin(&argc, &argv);
    uint8_t *buf = check_alloc((size_t) COUNT * MOST), *gaps, *given;
    gaps = check_alloc((size_t) BLOCKS * 2 * BLOCK);
    MPI_Alloc_mem(BLOCKS * 2 * BLOCK, MPI_INFO_NULL, &given);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        cancel_some(buf, sizes[i], 0);
        cancel_some(buf, sizes[i], 1);
        cancel_matched(buf, sizes[i]);
        cancel_claimed(buf, sizes[i]);
    }
    cancel_persistent(buf);
    cancel_buffered(buf);
    cancel_gaps(gaps);
    cancel_gaps(given);
    MPI_Free_mem(given);
    free(gaps);
    free(buf);
    return check_end();
}
