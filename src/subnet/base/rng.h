/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Seeded random numbers (splitmix64), so that every random network and every tie is repeatable on
 * every machine.
 */
#ifndef DNET_SUBNET_RNG_H
#define DNET_SUBNET_RNG_H

#include <stdint.h>

typedef struct dnet_rng {
    uint64_t state;
} dnet_rng_t;

/** Next 64 random bits (SplitMix64). */
static inline uint64_t dnet_rng_next(dnet_rng_t *r)
{
    uint64_t z = (r->state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/** Number below n (n > 0); the bias of n / 2^64 does not matter here. */
static inline uint32_t dnet_rng_below(dnet_rng_t *r, uint32_t n)
{
    return (uint32_t) (((dnet_rng_next(r) >> 32) * n) >> 32);
}

/** Put n numbers in random order. */
static inline void dnet_rng_shuffle(dnet_rng_t *r, int *v, int n)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int) dnet_rng_below(r, (uint32_t) i + 1);
        int x = v[i];
        v[i] = v[j];
        v[j] = x;
    }
}

#endif
