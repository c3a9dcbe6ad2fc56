/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For kill.sh: rank `argument 1` kills itself with SIGKILL; the others wait for it in the way
 * argument 2 says: receive, threads (receive, with MPI_THREAD_MULTIPLE), send (until its rings are
 * full), barrier, lock (for the lock of rank 0's window, which the victim has).  With a third
 * argument the victim stops the process manager first, so that only the others themselves can end
 * them.
 */
#include "check.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int victim = atoi(argv[1]), provided;
    const char *way = argv[2];
    MPI_Init_thread(&argc, &argv,
                    strcmp(way, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    check_world();
    static char buf[100], *part;
    MPI_Win win;
    MPI_Win_allocate(1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    if (rank == victim)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        if (argc > 3) {
            FILE *f = fopen(argv[3], "w");
            fprintf(f, "%d\n", (int) getppid());
            fclose(f);
            kill(getppid(), SIGSTOP);
        }
        kill(getpid(), SIGKILL);
    }
    if (strcmp(way, "receive") == 0 || strcmp(way, "threads") == 0)
        MPI_Recv(buf, sizeof(buf), MPI_BYTE, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (strcmp(way, "send") == 0)
        for (;;)
            MPI_Send(buf, sizeof(buf), MPI_BYTE, victim, 0, MPI_COMM_WORLD);
    else if (strcmp(way, "lock") == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "rank %d: went on without rank %d\n", rank, victim);
    MPI_Finalize();
    return 0;
}
