/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For endings.sh: a rank that ends in MPI_Init or without MPI_Finalize, a program to be spawned,
 * ranks that wait.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    MPI_Comm spawned;
    const char *id = getenv("PMI_RANK"), *manager = getenv("PMI_FD");
    int rank;

    if (!strcmp(how, "in-init") && id && atoi(id) == 1) {
        dprintf(manager ? atoi(manager) : 2, "cmd=init pmi_version=1 pmi_subversion=1\n");
        sleep(1);
        exit(atoi(argv[2]));
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(how, "exit") && rank == 1)
        exit(atoi(argv[2]));
    if (!strcmp(how, "spawn"))
        MPI_Comm_spawn(argv[2], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &spawned,
                       MPI_ERRCODES_IGNORE);
    if (!strcmp(how, "wait")) {
        printf("waits\n");
        fflush(stdout);
        sleep(60);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
