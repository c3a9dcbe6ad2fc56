/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process sends to itself in MPI_COMM_WORLD: all sizes, before and after the receive, synchronous
 * too.
 */
#include "check.h"

enum { MOST = 1 << 20 };

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    uint8_t *out = check_alloc(MOST), *in = check_alloc(MOST);
    static const int lengths[] = {0, 8, 48, 49, 480, 481, 4000, 16384, 16385, MOST};
    for (int i = 0; i < (int) (sizeof(lengths) / sizeof(*lengths)); i++) {
        for (int way = 0; way < 4; way++) {
            MPI_Request receive, send;
            int len = lengths[i];
            pattern_fill(out, len, i + way);
            memset(in, 0, len);
            if (way & 1)
                MPI_Irecv(in, len, MPI_BYTE, rank, i, MPI_COMM_WORLD, &receive);
            if (way & 2)
                MPI_Issend(out, len, MPI_BYTE, rank, i, MPI_COMM_WORLD, &send);
            else
                MPI_Isend(out, len, MPI_BYTE, rank, i, MPI_COMM_WORLD, &send);
            if (!(way & 1))
                MPI_Irecv(in, len, MPI_BYTE, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, &receive);
            MPI_Wait(&send, MPI_STATUS_IGNORE);
            MPI_Wait(&receive, MPI_STATUS_IGNORE);
            CHECK_PATTERN(in, len, i + way);
        }
    }
    free(out);
    free(in);
    return check_end();
}
