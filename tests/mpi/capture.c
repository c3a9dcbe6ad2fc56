/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The traffic that pcap.sh finds again in a capture: rank 0 sends to rank 1 on a communicator of
 * its own, short, long, synchronous and by rendezvous, and gets an answer.
 */
#include <stdlib.h>

#include "check.h"

int main(int argc, char **argv)
{
    enum { LARGE = 200000 };
    MPI_Comm comm;
    int rank;
    char *buf = calloc(1, LARGE);
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Barrier(comm);
    if (rank == 0) {
        MPI_Send(buf, 8, MPI_BYTE, 1, 1001, comm);
        MPI_Send(buf, 400, MPI_BYTE, 1, 1002, comm);
        MPI_Ssend(buf, 16, MPI_BYTE, 1, 1003, comm);
        MPI_Send(buf, LARGE, MPI_BYTE, 1, 1004, comm);
        MPI_Recv(buf, 8, MPI_BYTE, 1, 1005, comm, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        for (int tag = 1001; tag <= 1004; tag++)
            MPI_Recv(buf, LARGE, MPI_BYTE, 0, tag, comm, MPI_STATUS_IGNORE);
        MPI_Send(buf, 8, MPI_BYTE, 0, 1005, comm);
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    free(buf);
    return 0;
}
