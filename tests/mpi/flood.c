/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each rank floods each other with small messages before any receives: rings fill up, senders
 * are held back, nothing is lost, nothing is doubled, no rank waits for ever.  Argument: messages
 * per pair (2000).
 */
#include "check.h"

typedef struct {
    uint32_t from, to, number, check;
} item_t;

static item_t item_of(int from, int to, int number)
{
    return (item_t){from, to, number, from * 2654435761u ^ to * 40503u ^ number};
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    int messages = argc > 1 ? atoi(argv[1]) : 2000;
    int total = messages * (size - 1);
    item_t *out = check_alloc(total * sizeof(*out));
    MPI_Request *requests = check_alloc(total * sizeof(*requests));
    int n = 0;
    for (int i = 0; i < messages; i++)
        for (int d = 1; d < size; d++, n++) {
            int to = (rank + d) % size;
            out[n] = item_of(rank, to, i);
            MPI_Isend(&out[n], sizeof(*out), MPI_BYTE, to, i % 3, MPI_COMM_WORLD, &requests[n]);
        }
    /* Tag 2 first, so that the others stay unexpected. */
    for (int tag = 2; tag >= 0; tag--) {
        int *next = calloc(size, sizeof(*next));
        int expected = (messages - tag + 2) / 3 * (size - 1);
        for (int i = 0; i < expected; i++) {
            item_t in = {0};
            MPI_Status status;
            MPI_Recv(&in, sizeof(in), MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
            item_t wanted = item_of(status.MPI_SOURCE, rank, next[status.MPI_SOURCE] * 3 + tag);
            next[status.MPI_SOURCE]++;
            CHECK(memcmp(&in, &wanted, sizeof(in)) == 0, "from %d tag %d: number %u, wanted %u",
                  status.MPI_SOURCE, tag, in.number, wanted.number);
        }
        for (int r = 0; r < size; r++)
            CHECK(r == rank || next[r] == expected / (size - 1), "%d messages of rank %d", next[r],
                  r);
        free(next);
    }
    MPI_Waitall(total, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(out);
    return check_end();
}
