/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A large message is received while its sender computes and makes no call: the receiver says in
 * memory of both that it has it, and the sender computes until it reads that.  The receive is
 * posted before the message is sent, or after.  Where the kernel lets no process copy out of
 * another there is nothing to test.
 */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

enum { LIMIT_S = 60, SKIPPED = 77 };

static const int sizes[] = {16385, 20480, 65536, 100001, 1 << 20, 4 << 20};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]), MOST = 4 << 20 };

/* Memory of both ranks. */
static atomic_int *board(void)
{
    char path[] = "/tmp/dimmnet-overlap-XXXXXX";
    int fd = rank == 0 ? mkstemp(path) : -1;
    if (rank == 0 && (fd < 0 || ftruncate(fd, 4096) != 0)) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Bcast(path, sizeof(path), MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0)
        fd = open(path, O_RDWR);
    void *at = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        perror(path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    close(fd);
    if (rank == 0)
        unlink(path);
    return at;
}

/* Computes until the other side has got there.  @return false: it has not */
static int compute_until(atomic_int *reached, int value)
{
    double end = MPI_Wtime() + LIMIT_S;
    while (atomic_load(reached) < value)
        if (MPI_Wtime() > end)
            return 0;
    return 1;
}

static void send_and_compute(atomic_int *received, int bytes, int number)
{
    uint8_t *buf = check_alloc(bytes);
    MPI_Request request;
    pattern_fill(buf, bytes, number);
    MPI_Isend(buf, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &request);
    CHECK(compute_until(received, number),
          "a message of %d bytes is not received while its sender computes", bytes);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(buf);
}

static void receive(atomic_int *received, int bytes, int number)
{
    uint8_t *buf = check_alloc(bytes);
    MPI_Recv(buf, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    atomic_store(received, number);
    CHECK_PATTERN(buf, bytes, number);
    free(buf);
}

/* May rank 1 copy out of rank 0? */
static int may_copy(void)
{
    int there = 4711, here = 0, may;
    uintptr_t at[2] = {(uintptr_t) getpid(), (uintptr_t) &there};
    MPI_Bcast(at, sizeof(at), MPI_BYTE, 0, MPI_COMM_WORLD);
    struct iovec from = {(void *) at[1], sizeof(there)}, to = {&here, sizeof(here)};
    may = rank == 1 && process_vm_readv((pid_t) at[0], &to, 1, &from, 1, 0) == sizeof(here);
    MPI_Bcast(&may, 1, MPI_INT, 1, MPI_COMM_WORLD);
    return may;
}

int main(int argc, char **argv)
{
    int number = 0;
    check_begin(&argc, &argv);
    atomic_int *received = board();
    if (!may_copy()) {
        MPI_Finalize();
        if (rank == 0)
            puts("the kernel lets no process copy out of another here");
        return SKIPPED;
    }
    for (int late = 0; late < 2; late++)
        for (int i = 0; i < SIZES; i++) {
            number++;
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) {
                send_and_compute(received, sizes[i], number);
            } else {
                if (late)
                    MPI_Probe(0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                receive(received, sizes[i], number);
            }
        }
    return check_end();
}
