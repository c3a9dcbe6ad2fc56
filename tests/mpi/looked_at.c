/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For dsh.sh: rank 1 has sent 4 bytes with tag 77 that rank 0 receives only after it has printed
 * its process and read a line.
 */
#include "check.h"

#include <unistd.h>

int main(int argc, char **argv)
{
    int value = 0;
    char line[16];
    check_begin(&argc, &argv);
    if (rank == 1) {
        value = 4711;
        MPI_Send(&value, 1, MPI_INT, 0, 77, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d\n", (int) getpid());
        fflush(stdout);
        CHECK(fgets(line, sizeof(line), stdin), "no line on stdin");
        MPI_Recv(&value, 1, MPI_INT, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == 4711, "received %d", value);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return check_end();
}
