/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of one sender with one tag are received in the order of sending, whatever their sizes
 * and send modes, by receives that name the source or take any, that name the tag or take any.
 */
#include "check.h"

enum { MESSAGES = 300, MOST = 40000, BURST = 25 };

typedef struct {
    uint32_t sender, number, length;
} head_t;

static uint8_t *buffers[BURST];
static MPI_Request requests[BURST];

static void send_burst(int to, int burst, uint32_t *random)
{
    for (int i = 0; i < BURST; i++) {
        size_t len = sizeof(head_t) + random_length(random, MOST - sizeof(head_t));
        head_t head = {rank, burst * BURST + i, len};
        pattern_fill(buffers[i], len, head.number);
        memcpy(buffers[i], &head, sizeof(head));
        if (random_next(random) % 4 == 0)
            MPI_Issend(buffers[i], (int) len, MPI_BYTE, to, 5, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Isend(buffers[i], (int) len, MPI_BYTE, to, 5, MPI_COMM_WORLD, &requests[i]);
    }
}

static void receive_one(uint8_t *buf, const uint32_t *next, int from, uint32_t *random)
{
    MPI_Status status;
    int count, tag = random_next(random) % 2 ? 5 : MPI_ANY_TAG;
    MPI_Recv(buf, MOST, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    head_t head;
    memcpy(&head, buf, sizeof(head));
    CHECK((int) head.sender == status.MPI_SOURCE, "source %d holds a message of %u",
          status.MPI_SOURCE, head.sender);
    CHECK(head.number == next[status.MPI_SOURCE], "message %u of rank %d came as number %u",
          head.number, status.MPI_SOURCE, next[status.MPI_SOURCE]);
    CHECK((uint32_t) count == head.length, "%d bytes of %u", count, head.length);
    for (int i = sizeof(head); i < count; i++)
        if (buf[i] != pattern_byte(head.number, i)) {
            CHECK(0, "message %u differs from byte %d on", head.number, i);
            break;
        }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    uint32_t random = 4711 + rank;
    uint8_t *buf = check_alloc(MOST);
    uint32_t *next = calloc(size, sizeof(*next));
    for (int i = 0; i < BURST; i++)
        buffers[i] = check_alloc(MOST);
    /* In each step each rank sends to the rank `step` above, and receives from the one below. */
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size, from = (rank + size - step) % size;
        for (int burst = 0; burst < MESSAGES / BURST; burst++) {
            send_burst(to, burst, &random);
            for (int i = 0; i < BURST; i++, next[from]++)
                receive_one(buf, next, from, &random);
            MPI_Waitall(BURST, requests, MPI_STATUSES_IGNORE);
        }
    }
    /* Each rank to rank 0, which probes for any source.  A receive from any source would not be
     * promised the message that was probed (MPI 4.0 section 3.8.1). */
    MPI_Barrier(MPI_COMM_WORLD);
    memset(next, 0, size * sizeof(*next));
    for (int burst = 0; burst < MESSAGES / BURST; burst++) {
        if (rank != 0) {
            send_burst(0, burst, &random);
            MPI_Waitall(BURST, requests, MPI_STATUSES_IGNORE);
            continue;
        }
        for (int i = 0; i < BURST * (size - 1); i++) {
            MPI_Status status;
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            receive_one(buf, next, status.MPI_SOURCE, &random);
            head_t head;
            memcpy(&head, buf, sizeof(head));
            CHECK((int) head.sender == status.MPI_SOURCE, "probed %d, received %u",
                  status.MPI_SOURCE, head.sender);
            next[head.sender]++;
        }
    }
    for (int i = 0; i < BURST; i++)
        free(buffers[i]);
    free(next);
    free(buf);
    return check_end();
}
