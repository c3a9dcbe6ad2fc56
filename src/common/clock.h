/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DNET_COMMON_CLOCK_H
#define DNET_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

/** What a clock of the system shows, ns. */
static inline uint64_t dnet_clock_read_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

/** Time since some fixed moment, ns; never goes back, and is the same in all processes. */
static inline uint64_t dnet_clock_ns(void)
{
    return dnet_clock_read_ns(CLOCK_MONOTONIC);
}

#endif
