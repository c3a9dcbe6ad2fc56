/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 0 sends thousands of small messages and goes straight into MPI_Finalize; the others receive
 * them late.  All arrive, and the job ends.
 */
#include "check.h"

int main(int argc, char **argv)
{
    enum { MESSAGES = 4000 };
    check_begin(&argc, &argv);
    int64_t value[4] = {0};
    int status = 0;
    if (rank == 0) {
        for (int i = 0; i < MESSAGES; i++)
            for (int r = 1; r < size; r++) {
                value[0] = i;
                value[3] = -i;
                MPI_Send(value, 4, MPI_INT64_T, r, 0, MPI_COMM_WORLD);
            }
    } else {
        double until = MPI_Wtime() + 0.2; /* outside MPI: rank 0 meets full rings */
        while (MPI_Wtime() < until)
            ;
        for (int i = 0; i < MESSAGES; i++) {
            MPI_Recv(value, 4, MPI_INT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(value[0] == i && value[3] == -i, "message %d holds %lld", i,
                  (long long) value[0]);
        }
        status = check_failures != 0;
    }
    MPI_Finalize();
    return status;
}
