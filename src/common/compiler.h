/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the compiler and the processor are told beside the language (gcc and clang).
 */
#ifndef DNET_COMMON_COMPILER_H
#define DNET_COMMON_COMPILER_H

#include <stdbool.h>

/** The condition holds nearly always, or hardly ever. */
#define DNET_LIKELY(x) __builtin_expect(!!(x), 1)
#define DNET_UNLIKELY(x) __builtin_expect(!!(x), 0)
/** Not on the way of an ordinary message: kept out of its cache lines. */
#define DNET_COLD __attribute__((cold, noinline))

/** In a loop that waits for another processor's store: lets the other hardware thread of this core
 * go first, and keeps the loop from loading far ahead. */
static inline void dnet_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    /* yield does nothing on most cores; isb waits about as long as x86's pause. */
    __asm__ volatile("isb" ::: "memory");
#elif defined(__riscv)
    __asm__ volatile(".4byte 0x0100000f" ::: "memory"); /* pause; a fence where there is none */
#else
    __asm__ volatile("" ::: "memory");
#endif
}

/** Ask for a cache line that will be stored to soon, so that its journey overlaps with the work
 * before. */
static inline void dnet_prefetch_for_store(const void *at)
{
#if defined(__x86_64__)
    /* What __builtin_prefetch() makes of it only with -mprfchw. */
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *) at));
#else
    __builtin_prefetch(at, 1);
#endif
}

/** A processor of Zen 1, whose caches are not those of later ones, or of Zen 2, which is of the
 * same family, and which nobody has looked at. */
static inline bool dnet_is_zen1(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amdfam17h");
#else
    return false;
#endif
}

/** Does a line that another processor has read stay shared when it is asked for so?  On AMD's it
 * does, and only a store makes it this processor's.  On Zen 1, too, but what is done about it
 * elsewhere makes messages in a row slower there, so that it does not count as one. */
static inline bool dnet_lines_stay_shared(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_is("amd") && !dnet_is_zen1();
#else
    return false;
#endif
}

#endif
