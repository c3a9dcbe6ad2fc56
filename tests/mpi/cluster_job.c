/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For cluster.sh: every pair of ranks exchanges messages of three lengths (in the LH entry, in the
 * ring, by rendezvous), round after round, until the file in the first argument exists.  Rank 0
 * writes how many rounds are done into the file in the second argument.
 */
#include "check.h"

#include <unistd.h>

#define LONGEST 100000

static uint8_t *out, *in;

static void exchange(int with, int len, uint32_t round)
{
    MPI_Status status;
    int got = -1;
    pattern_fill(out, (size_t) len, round + (uint32_t) rank);
    memset(in, 0, (size_t) len);
    MPI_Sendrecv(out, len, MPI_BYTE, with, 5, in, len, MPI_BYTE, with, 5, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &got);
    CHECK(got == len, "%d bytes from %d instead of %d", got, with, len);
    CHECK(pattern_differs(in, (size_t) len, round + (uint32_t) with) == (size_t) len,
          "round %u: %d bytes from %d differ", round, len, with);
}

static void tell(const char *path, uint32_t round)
{
    char part[4096];
    snprintf(part, sizeof(part), "%s.part", path);
    FILE *f = fopen(part, "w");
    CHECK(f && fprintf(f, "%u\n", round) > 0, "cannot write %s", part);
    CHECK(f && fclose(f) == 0 && rename(part, path) == 0, "cannot write %s", path);
}

int main(int argc, char **argv)
{
    static const int lengths[] = {8, 3000, LONGEST};
    int enough = 0;
    uint32_t round = 0;
    check_begin(&argc, &argv);
    out = check_alloc(LONGEST);
    in = check_alloc(LONGEST);
    for (; !enough && !check_failures; round++) {
        for (int step = 1; step < size; step++)
            for (unsigned l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++)
                if ((rank ^ step) < size)
                    exchange(rank ^ step, lengths[l], round);
        if (rank == 0) {
            tell(argv[2], round + 1);
            enough = access(argv[1], F_OK) == 0;
        }
        MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("%u rounds\n", round);
    free(out);
    free(in);
    return check_end();
}
