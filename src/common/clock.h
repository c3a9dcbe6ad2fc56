/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DNET_COMMON_CLOCK_H
#define DNET_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>
#ifdef __x86_64__
#include <x86intrin.h>
#endif

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

/** The last reading of somebody who reads often. */
typedef struct {
    uint64_t ns, ticks;
} dnet_clock_t;

/** Ticks of the processor's counter, which has one to some GHz. */
#define DNET_CLOCK_RECENT_TICKS 262144u

/** dnet_clock_ns() as it was 0.3 ms ago at most, for what waits longer.  Where the system's clock
 * is a device, as the HPET of a virtual machine, reading it is a system call of 1 us. */
static inline uint64_t dnet_clock_recent_ns(dnet_clock_t *last)
{
#ifdef __x86_64__
    uint64_t ticks = __rdtsc();
    if (last->ns && ticks - last->ticks < DNET_CLOCK_RECENT_TICKS)
        return last->ns;
    last->ticks = ticks;
#endif
    last->ns = dnet_clock_ns();
    return last->ns;
}

#endif
