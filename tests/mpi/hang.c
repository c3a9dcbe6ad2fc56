/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For hang.sh: ranks that wait, each in another way, in a communicator "row" that counts them the
 * other way round.
 *
 *   hang ring            the ring of docs/hangs.md: each receives from its left neighbour first
 *   hang circle          0 waits for 2, 2 for 1, 1 for 0, for ever
 *   hang collective      rank 1 is in MPI_Recv from 0, the others in MPI_Barrier, for ever
 *   hang board           the same, where the communicator has a board
 *   hang nonblocking     the same, in MPI_Wait for an MPI_Ibarrier
 *   hang flood           rank 0 receives from the others without a pause, for ever
 *   hang accumulate      rank 1 stops itself amidst an accumulate at rank 2, the others accumulate
 * there as well; ends when rank 1 goes on
 *   hang accept          all wait for somebody who connects, for ever
 *   hang parents         all wait for any of those that they have started, which compute, for ever
 *   hang each FILE       0 computes until there is the file; 1 in MPI_Probe, 2 polls by MPI_Iprobe,
 * 3 in MPI_Win_lock at 4, 4 in MPI_Recv, all for 0
 */
#include "check.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

static MPI_Comm row;

static int row_rank(int world)
{
    return size - 1 - world;
}

static void compute_until(const char *file)
{
    volatile double x = 1;
    do
        for (int i = 0; i < 1000000; i++)
            x = x * 1.0000001 + 1e-9;
    while (access(file, F_OK) != 0);
}

static void each(const char *file)
{
    int word = 0, flag = 0;
    MPI_Win win;
    MPI_Win_create(&word, sizeof(word), sizeof(word), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 4)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 4, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    switch (rank) {
        case 0:
            compute_until(file);
            MPI_Send(&word, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
            MPI_Send(&word, 1, MPI_INT, 2, 6, MPI_COMM_WORLD);
            MPI_Send(&word, 1, MPI_INT, row_rank(4), 7, row);
            break;
        case 1:
            MPI_Probe(0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Recv(&word, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            break;
        case 2:
            while (!flag)
                MPI_Iprobe(MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            MPI_Recv(&word, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            break;
        case 3:
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 4, 0, win);
            MPI_Win_unlock(4, win);
            break;
        case 4:
            MPI_Recv(&word, 1, MPI_INT, row_rank(0), 7, row, MPI_STATUS_IGNORE);
            MPI_Win_unlock(4, win);
            break;
    }
    MPI_Win_free(&win);
}

static void flood(void)
{
    static uint8_t data[3000];
    for (;;) {
        if (rank == 0)
            MPI_Recv(data, sizeof(data), MPI_BYTE, MPI_ANY_SOURCE, 1, row, MPI_STATUS_IGNORE);
        else
            MPI_Send(data, sizeof(data), MPI_BYTE, row_rank(0), 1, row);
    }
}

static int *operand;

/* The operand is read for the first time. */
static void stop_here(int number)
{
    (void) number;
    kill(getpid(), SIGSTOP);
    mprotect(operand, 4096, PROT_READ);
}

static void accumulate(void)
{
    int *part, one = 1;
    MPI_Win win;
    MPI_Win_allocate(sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &part, &win);
    MPI_Win_lock_all(0, win);
    operand = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (rank == 1)
        signal(SIGSEGV, stop_here);
    else
        sleep(1); /* rank 1 is stopped by then */
    MPI_Accumulate(rank == 1 ? operand : &one, 1, MPI_INT, 2, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

static void accept_somebody(void)
{
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm other;
    if (rank == 0)
        MPI_Open_port(MPI_INFO_NULL, port);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other);
}

static void be_parents(char *program)
{
    int word;
    char *arguments[] = {"child", NULL};
    MPI_Comm children;
    MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   MPI_ERRCODES_IGNORE);
    MPI_Comm_set_name(children, "children");
    MPI_Recv(&word, 1, MPI_INT, rank == 0 ? MPI_ANY_SOURCE : 0, 1, children, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int word;
    MPI_Request request;
    check_begin(&argc, &argv);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &row);
    MPI_Comm_set_name(row, "row");
    bool nonblocking = strcmp(argv[1], "nonblocking") == 0;
    bool board = nonblocking || strcmp(argv[1], "board") == 0;
    for (int i = 0; board && i < 8; i++)
        MPI_Barrier(row);
    if (strcmp(argv[1], "ring") == 0)
        MPI_Recv(&word, 1, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (strcmp(argv[1], "circle") == 0)
        MPI_Recv(&word, 1, MPI_INT, row_rank((rank + size - 1) % size), 3, row, MPI_STATUS_IGNORE);
    else if ((board || strcmp(argv[1], "collective") == 0) && rank == 1)
        MPI_Recv(&word, 1, MPI_INT, row_rank(0), 3, row, MPI_STATUS_IGNORE);
    else if (nonblocking && MPI_Ibarrier(row, &request) == MPI_SUCCESS)
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    else if (board || strcmp(argv[1], "collective") == 0)
        MPI_Barrier(row);
    else if (strcmp(argv[1], "flood") == 0)
        flood();
    else if (strcmp(argv[1], "accumulate") == 0)
        accumulate();
    else if (strcmp(argv[1], "accept") == 0)
        accept_somebody();
    else if (strcmp(argv[1], "parents") == 0)
        be_parents(argv[0]);
    else if (strcmp(argv[1], "child") == 0)
        compute_until("/dev/null/never");
    else
        each(argv[2]);
    MPI_Comm_free(&row);
    return check_end();
}
