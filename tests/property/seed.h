/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seeds and random numbers of the property tests: a failing run is repeated with DNET_TEST_SEED.
 */
#ifndef DNET_TEST_SEED_H
#define DNET_TEST_SEED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"

typedef struct {
    uint64_t state;
} dnet_random_t;

/** Next number, uniform over 64 bits (splitmix64). */
static inline uint64_t dnet_random(dnet_random_t *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/** A number from 0 to n - 1. */
static inline unsigned dnet_random_below(dnet_random_t *r, unsigned n)
{
    return (unsigned) ((dnet_random(r) >> 32) * n >> 32);
}

/** The seed of this run: DNET_TEST_SEED, else the time; printed as a line to repeat it with. */
static inline uint64_t dnet_test_seed(const char *test)
{
    const char *text = getenv("DNET_TEST_SEED");
    uint64_t seed = dnet_clock_read_ns(CLOCK_REALTIME);
    if (text != NULL && *text != '\0')
        seed = strtoull(text, NULL, 0);
    printf("# %s: DNET_TEST_SEED=%" PRIu64 "\n", test, seed);
    return seed;
}

#endif
