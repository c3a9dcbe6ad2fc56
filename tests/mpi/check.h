/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the MPI tests share: expectations, and patterns that tell every byte of every message apart.
 */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_failures;
static int rank, size; /* in MPI_COMM_WORLD; set by check_begin() */

/* Counts a failed expectation; the first few are printed. */
#define CHECK(condition, ...) \
    do { \
        if (!(condition) && check_failures++ < 5) { \
            fprintf(stderr, "%s:%d: rank %d: ", __FILE__, __LINE__, rank); \
            fprintf(stderr, __VA_ARGS__); \
            fputc('\n', stderr); \
        } \
    } while (0)

static inline void check_world(void)
{
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline void check_begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    check_world();
}

/* Ends MPI.  Returns the exit status: the same on every rank. */
static inline int check_end(void)
{
    int all = 0;
    MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all)
        fprintf(stderr, "%d expectations failed\n", all);
    MPI_Finalize();
    return all != 0;
}

static inline void *check_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", rank, bytes);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return p;
}

/* A different sequence of bytes for each seed. */
static inline uint8_t pattern_byte(uint32_t seed, size_t i)
{
    return (uint8_t) (seed * 167u + i * 31u + (i >> 8) * 7u + (i >> 16));
}

static inline void pattern_fill(void *buf, size_t len, uint32_t seed)
{
    uint8_t *p = buf;
    for (size_t i = 0; i < len; i++)
        p[i] = pattern_byte(seed, i);
}

/* Index of the first byte that is not of the pattern, or len. */
static inline size_t pattern_differs(const void *buf, size_t len, uint32_t seed)
{
    const uint8_t *p = buf;
    for (size_t i = 0; i < len; i++)
        if (p[i] != pattern_byte(seed, i))
            return i;
    return len;
}

#define CHECK_PATTERN(buf, len, seed) \
    do { \
        size_t at_ = pattern_differs((buf), (len), (seed)); \
        CHECK(at_ == (size_t) (len), "message of %zu bytes differs from byte %zu on", \
              (size_t) (len), at_); \
    } while (0)

/* xorshift: the same numbers on every machine. */
static inline uint32_t random_next(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

/* Sizes that sit on both sides of every limit of the path: entry, window, packet, eager limit,
 * chunk. */
static inline size_t random_length(uint32_t *state, size_t most)
{
    static const size_t around[] = {0,    1,    8,     24,    47,    48,    49,    63,
                                    64,   455,  456,   480,   512,   1000,  2048,  4095,
                                    4096, 8192, 16383, 16384, 16385, 32768, 65536, 262144};
    size_t len = around[random_next(state) % (sizeof(around) / sizeof(*around))];
    len += random_next(state) % 3;
    return len < most ? len : most;
}

#endif
