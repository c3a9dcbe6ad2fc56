/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What benchmarks/memory runs: some communication, then each rank writes what memory it has.
 *
 *   memory FOLDER neighbours|all
 *
 * FOLDER/RANK gets a line with the bytes of PSS: all, anonymous, file, shared (smaps_rollup), one
 * with the bytes of page tables, and a line 'segment DEVICE INODE BYTES' for every piece of shared
 * memory that is mapped: with all its pages, for those that no process has looked at yet are in
 * no PSS.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { LONGEST = 65536, TIMES = 4 };

static int rank, size;
static char out[LONGEST], in[LONGEST];

static void exchange(int distance, int bytes)
{
    int to = (rank + distance) % size, from = (rank - distance + size) % size;
    MPI_Sendrecv(out, bytes, MPI_BYTE, to, 0, in, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

static void communicate(int all)
{
    static const int lengths[] = {8, 4096, LONGEST};
    int one = 1, sum;
    for (int i = 0; i < TIMES; i++) {
        for (int k = 0; k < 3; k++) {
            exchange(1, lengths[k]);
            exchange(size - 1, lengths[k]);
        }
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    for (int d = 1; all && d < size; d++)
        exchange(d, 8);
}

static int write_pss(FILE *to)
{
    unsigned long long kb, anon = 0, file = 0, shared = 0, whole = 0;
    char line[256];
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    if (!f)
        return -1;
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "Pss: %llu", &kb) == 1)
            whole = kb;
        else if (sscanf(line, "Pss_Anon: %llu", &kb) == 1)
            anon = kb;
        else if (sscanf(line, "Pss_File: %llu", &kb) == 1)
            file = kb;
        else if (sscanf(line, "Pss_Shmem: %llu", &kb) == 1)
            shared = kb;
    }
    fclose(f);
    fprintf(to, "pss %llu %llu %llu %llu\n", whole << 10, anon << 10, file << 10, shared << 10);
    return 0;
}

/* The kernel's page tables of this process: in no PSS. */
static int write_tables(FILE *to)
{
    unsigned long long kb;
    char line[256];
    FILE *f = fopen("/proc/self/status", "r");
    if (!f)
        return -1;
    while (fgets(line, sizeof(line), f))
        if (sscanf(line, "VmPTE: %llu", &kb) == 1)
            fprintf(to, "tables %llu\n", kb << 10);
    fclose(f);
    return 0;
}

static int write_segments(FILE *to)
{
    char line[4096], path[128], mode[8];
    unsigned long from, until;
    struct stat st;
    FILE *f = fopen("/proc/self/maps", "r");
    if (!f)
        return -1;
    while (fgets(line, sizeof(line), f)) {
        if (sscanf(line, "%lx-%lx %7s", &from, &until, mode) != 3 || mode[3] != 's')
            continue;
        snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", from, until);
        if (stat(path, &st) != 0)
            continue; /* not allowed: the driver then takes what PSS has */
        fprintf(to, "segment %u:%u %lu %llu\n", major(st.st_dev), minor(st.st_dev),
                (unsigned long) st.st_ino, (unsigned long long) st.st_blocks * 512);
    }
    fclose(f);
    return 0;
}

int main(int argc, char **argv)
{
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 3) {
        fprintf(stderr, "usage: memory FOLDER neighbours|all\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    communicate(strcmp(argv[2], "all") == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    snprintf(path, sizeof(path), "%s/%d", argv[1], rank);
    FILE *to = fopen(path, "w");
    if (!to || write_pss(to) != 0 || write_tables(to) != 0 || write_segments(to) != 0 ||
        fclose(to) != 0) {
        fprintf(stderr, "memory: rank %d: cannot read /proc/self or write %s\n", rank, path);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* no rank leaves while others look */
    MPI_Finalize();
    return 0;
}
