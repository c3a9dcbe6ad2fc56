/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A message longer than its receive is an error of class MPI_ERR_TRUNCATE at the receiver, raised
 * on the communicator of the receive; the part that fits is there, nothing behind the buffer
 * changes, the sender succeeds, and the next message is not disturbed.  Of many that have failed
 * before the first is asked, each says so.  In a call for more requests than MPICH looks at in one
 * go (64) each status tells its request's error, or that the request goes on.
 */
#include "check.h"

#include <stdbool.h>

static const int lengths[] = {1, 48, 49, 500, 5000, 16384, 70000, 1000000};
enum { MANY = 300 };
enum { BATCHES = 128 };
enum { SIZES = sizeof(lengths) / sizeof(*lengths), MOST = 1000000, GUARD = 16 };

static void truncate_many(MPI_Comm comm)
{
    static int in[MANY], out[2];
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY && rank == 1; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 0, 50, comm, &requests[i]);
    MPI_Barrier(comm);
    for (int i = 0; i < MANY && rank == 0; i++)
        MPI_Send(out, 2, MPI_INT, 1, 50, comm);
    MPI_Barrier(comm); /* all have come */
    for (int i = 0; i < MANY && rank == 1; i++) {
        int class, len, error = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        char text[MPI_MAX_ERROR_STRING];
        MPI_Error_class(error, &class);
        CHECK(class == MPI_ERR_TRUNCATE, "receive %d of %d: error class %d", i, MANY, class);
        CHECK(MPI_Error_string(error, text, &len) == MPI_SUCCESS, "code %d has no text", error);
    }
}

static void truncate_first_of_batches(MPI_Comm comm, bool test)
{
    static int in[BATCHES], out[2] = {1, 1};
    MPI_Request requests[BATCHES];
    MPI_Status statuses[BATCHES];
    for (int i = 0; i < BATCHES && rank == 1; i++)
        MPI_Irecv(&in[i], 1, MPI_INT, 0, 51, comm, &requests[i]);
    MPI_Barrier(comm);
    for (int i = 0; i < BATCHES && rank == 0; i++)
        MPI_Send(out, i ? 1 : 2, MPI_INT, 1, 51, comm);
    MPI_Barrier(comm);
    if (rank == 0)
        return;
    for (int i = 0; i < BATCHES; i++)
        statuses[i].MPI_ERROR = MPI_ERR_LASTCODE;
    void *volatile zeros = calloc(BATCHES, sizeof(void *));
    free(zeros); /* the call may get this memory for its own use */
    int done = 0, error = test ? MPI_Testall(BATCHES, requests, &done, statuses)
                               : MPI_Waitall(BATCHES, requests, statuses);
    CHECK(error == MPI_ERR_IN_STATUS, "a call for %d requests: %d", BATCHES, error);
    for (int i = 0; i < BATCHES; i++) {
        int class;
        MPI_Error_class(statuses[i].MPI_ERROR, &class);
        bool ended = requests[i] == MPI_REQUEST_NULL;
        CHECK(class == (!ended ? MPI_ERR_PENDING
                        : i    ? MPI_SUCCESS
                               : MPI_ERR_TRUNCATE),
              "%s, request %d, which %s: error class %d", test ? "MPI_Testall" : "MPI_Waitall", i,
              ended ? "has ended" : "goes on", class);
        if (!ended)
            CHECK(MPI_Wait(&requests[i], &statuses[i]) == MPI_SUCCESS, "request %d failed", i);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    uint8_t *buf = check_alloc(MOST + GUARD);
    /* Posted before the message, posted after it, and not blocking. */
    for (int way = 0; way < 3; way++) {
        for (int i = 0; i < SIZES; i++) {
            int len = lengths[i], room = len / 2, next = -1;
            if (rank == 0) {
                pattern_fill(buf, len, i);
                if (way != 1)
                    MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, comm, MPI_STATUS_IGNORE);
                CHECK(MPI_Send(buf, len, MPI_BYTE, 1, i, comm) == MPI_SUCCESS,
                      "the sender got an error");
                MPI_Send(&i, 1, MPI_INT, 1, i, comm);
                continue;
            }
            MPI_Request request;
            MPI_Status status;
            int error, class;
            memset(buf, 0xee, len + GUARD);
            if (way == 1) {
                MPI_Probe(0, i, comm, &status);
                error = MPI_Recv(buf, room, MPI_BYTE, 0, i, comm, &status);
            } else {
                MPI_Irecv(buf, room, MPI_BYTE, way ? MPI_ANY_SOURCE : 0, i, comm, &request);
                MPI_Send(NULL, 0, MPI_BYTE, 0, 2, comm);
                error = MPI_Wait(&request, &status);
            }
            MPI_Error_class(error, &class);
            CHECK(class == MPI_ERR_TRUNCATE, "%d bytes into %d: error class %d", len, room, class);
            CHECK(status.MPI_SOURCE == 0 && status.MPI_TAG == i, "source %d tag %d",
                  status.MPI_SOURCE, status.MPI_TAG);
            CHECK_PATTERN(buf, room, i);
            for (int g = 0; g < GUARD; g++)
                CHECK(buf[room + g] == 0xee, "byte %d behind a truncated receive changed", g);
            MPI_Recv(&next, 1, MPI_INT, 0, i, comm, MPI_STATUS_IGNORE);
            CHECK(next == i, "the next message is %d", next);
        }
    }
    truncate_many(comm);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* calls for several requests */
    truncate_first_of_batches(comm, true);
    truncate_first_of_batches(comm, false);
    MPI_Comm_free(&comm);
    free(buf);
    return check_end();
}
