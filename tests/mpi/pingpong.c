/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every size from 0 to 4 MiB that sits near a limit, and every size up to 600, goes back and forth
 * whole, from and to any alignment, and touches nothing outside its buffer.
 */
#include "check.h"

enum { MOST = 4 << 20, GUARD = 16 };

static uint8_t *out, *in;

static void exchange(size_t len, int out_at, int in_at)
{
    int other = 1 - rank;
    MPI_Status status;
    int count;
    pattern_fill(out + out_at, len, (uint32_t) len);
    memset(in, 0xee, GUARD + in_at + (len < 4096 ? len : 4096) + GUARD);
    memset(in + GUARD + in_at + len, 0xee, GUARD);
    if (rank == 0) {
        MPI_Send(out + out_at, (int) len, MPI_BYTE, other, 7, MPI_COMM_WORLD);
        MPI_Recv(in + GUARD + in_at, (int) len, MPI_BYTE, other, 8, MPI_COMM_WORLD, &status);
    } else {
        MPI_Recv(in + GUARD + in_at, (int) len, MPI_BYTE, other, 7, MPI_COMM_WORLD, &status);
        MPI_Send(in + GUARD + in_at, (int) len, MPI_BYTE, other, 8, MPI_COMM_WORLD);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == (int) len, "count %d for %zu bytes", count, len);
    CHECK(status.MPI_SOURCE == other, "source %d", status.MPI_SOURCE);
    CHECK(status.MPI_TAG == 7 + !rank, "tag %d", status.MPI_TAG);
    CHECK_PATTERN(in + GUARD + in_at, len, (uint32_t) len);
    for (int i = 0; i < GUARD; i++) {
        CHECK(in[in_at + i] == 0xee, "%zu bytes: byte %d before the buffer changed", len,
              GUARD - i);
        CHECK(in[GUARD + in_at + len + i] == 0xee, "%zu bytes: byte %d behind the buffer changed",
              len, i);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv);
    out = check_alloc(MOST + 64);
    in = check_alloc(MOST + 64 + 2 * GUARD);
    for (size_t len = 0; len <= 600; len++)
        exchange(len, len % 7, len % 5);
    for (size_t base = 1024; base <= MOST; base *= 2)
        for (int d = -2; d <= 2; d++)
            if (base + d <= MOST)
                exchange(base + d, (d + 2) * 3 % 8, (d + 2) * 5 % 8);
    for (int o = 0; o < 16; o++)
        for (int i = 0; i < 16; i++)
            exchange(100 + o + i, o, i);
    free(out);
    free(in);
    return check_end();
}
