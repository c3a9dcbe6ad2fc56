/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large messages from and into memory that has become another one at the same address since the
 * last message: unmapped and mapped again, emptied, moved away, freed.  What an adapter has
 * registered must not be taken for what is there now.  Two ranks.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 1 << 19, ROUNDS = 10 };

static void *map_at(void *at)
{
    return mmap(at, BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

static void *unmap(void *at)
{
    munmap(at, BYTES);
    return map_at(at);
}

static void *map_over(void *at)
{
    return map_at(at);
}

static void *empty(void *at)
{
    madvise(at, BYTES, MADV_DONTNEED);
    return at;
}

static void *move(void *at)
{
    void *there = map_at(NULL);
    mremap(at, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, there);
    munmap(there, BYTES);
    return map_at(at);
}

static void *free_it(void *at)
{
    free(at);
    return malloc(BYTES);
}

static void *free_mem(void *at)
{
    void *again;
    MPI_Free_mem(at);
    MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &again);
    return again;
}

static const struct {
    const char *name;
    void *(*exchange)(void *at);
} ways[] = {{"unmapped", unmap}, {"mapped over", map_over}, {"emptied", empty},
            {"moved", move},     {"freed", free_it},        {"freed by MPI", free_mem}};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static unsigned char value_of(int way, int round)
{
    return (unsigned char) (1 + way * ROUNDS + round);
}

/* @return how many bytes are wrong */
static int look(const unsigned char *buf, unsigned char value)
{
    int bad = 0;
    for (int i = 0; i < BYTES; i++)
        bad += buf[i] != value;
    return bad;
}

/* Two rounds with what is there, then another memory: rank 0's and rank 1's in turn. */
static int try_way(int rank, int way)
{
    void *buf = map_at(NULL);
    int bad = 0;
    if (ways[way].exchange == free_it)
        buf = malloc(BYTES);
    else if (ways[way].exchange == free_mem)
        MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &buf);
    for (int round = 0; round < ROUNDS && !bad; round++) {
        memset(buf, rank == 0 ? value_of(way, round) : 0, BYTES);
        if (rank == 0) {
            MPI_Send(buf, BYTES, MPI_BYTE, 1, round, MPI_COMM_WORLD);
        } else {
            MPI_Recv(buf, BYTES, MPI_BYTE, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            bad = look(buf, value_of(way, round));
            if (bad)
                fprintf(stderr, "%s: %d bytes of message %d are wrong\n", ways[way].name, bad,
                        round);
        }
        if (round % 4 / 2 == rank)
            buf = ways[way].exchange(buf);
    }
    if (ways[way].exchange == free_mem)
        MPI_Free_mem(buf);
    return bad;
}

int main(int argc, char **argv)
{
    int rank, bad = 0, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int way = 0; way < WAYS; way++)
        bad |= try_way(rank, way);
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD);
    if (rank == 0)
        puts(all ? "wrong data" : "right data");
    MPI_Finalize();
    return all != 0;
}
