/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DNET_COMMON_CLOCK_H
#define DNET_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

/** Time since some fixed moment, ns; never goes back, and is the same in all processes. */
static inline uint64_t dnet_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

#endif
