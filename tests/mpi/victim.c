/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For kill.sh: rank `argument 1` kills itself with SIGKILL; the others wait for it in the way
 * argument 2 says: receive, threads (receive, with MPI_THREAD_MULTIPLE), send (until its rings are
 * full), barrier, lock (for the lock of rank 0's window, which the victim has), accumulate (at rank
 * 0, amidst an accumulate of the victim there: the first byte of its operand kills it).  With a
 * third argument the victim stops the process manager first, so that only the others themselves can
 * end them.
 */
#define _GNU_SOURCE
#include "check.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static void end(int number)
{
    (void) number;
    kill(getpid(), SIGKILL);
}

static void end_amidst_accumulate(MPI_Win win)
{
    void *operand = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, end);
    MPI_Accumulate(operand, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
}

int main(int argc, char **argv)
{
    int victim = atoi(argv[1]), provided;
    const char *way = argv[2];
    MPI_Init_thread(&argc, &argv, strstr(way, "threads") ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                    &provided);
    check_world();
    static char buf[100], *part;
    MPI_Win win;
    bool accumulates = strncmp(way, "accumulate", 10) == 0;
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    if (accumulates)
        MPI_Win_lock_all(0, win);
    else if (rank == victim)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim) {
        if (argc > 3) {
            FILE *f = fopen(argv[3], "w");
            fprintf(f, "%d\n", (int) getppid());
            fclose(f);
            kill(getppid(), SIGSTOP);
        }
        if (accumulates)
            end_amidst_accumulate(win);
        end(0);
    }
    if (strcmp(way, "receive") == 0 || strcmp(way, "threads") == 0)
        MPI_Recv(buf, sizeof(buf), MPI_BYTE, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (strcmp(way, "send") == 0)
        for (;;)
            MPI_Send(buf, sizeof(buf), MPI_BYTE, victim, 0, MPI_COMM_WORLD);
    else if (strcmp(way, "lock") == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    else if (accumulates)
        for (int one = 1;;)
            MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    else
        MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "rank %d: went on without rank %d\n", rank, victim);
    MPI_Finalize();
    return 0;
}
