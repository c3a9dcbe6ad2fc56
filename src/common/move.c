/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stores to lines that the reader's processor has.
 *
 * Where both processors share a cache such a line comes back in some 5 ns, many at a time.  Where
 * they share none, on other dies of a package or in other sockets, it takes 20 to 35 ns each, and
 * stores past the caches are far cheaper for both sides (16 KB from process to process 2.4 us
 * instead of 10.8), while between processors that share one they are dearer for the reader
 * (docs/performance/ring.md).  What lies between them is not known, in virtual machines not even
 * the same from one minute to the next.  So some copies are timed, and which way the next ones go
 * is decided by that.
 */
#include "common/move.h"

#include <string.h>
#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif

#include "common/clock.h"
#include "common/compiler.h"
#include "common/stream.h"

#define STREAMED_BYTES 768u
/* Longer ones go by a string move.  Elsewhere than on Zen that is slower to begin (Ice Lake: 2 KB
 * one way 0.92 by lines, 4 KB 0.95). */
#define LINES_MOST 4160u
#define LINES_MOST_ZEN 1024u
#define SLOW_LINE_NS 15u
#define SLOW_LEAST_NS 100u /* besides: two fences and the clock */
/* 3 to 5 ns a line where a cache is shared, 10 to 17 where none is. */
#define SLOW_LINE_NS_ZEN1 8u
#define SLOW_LEAST_NS_ZEN1 250u
/* Bytes that go through the caches before a copy is timed, which has to wait for its stores; and
 * those that go past them before one is tried through them again. */
#define TIMED_EACH_BYTES (256u << 10)
#define STREAMED_FOR_BYTES (4u << 20)
#define SLOW_IN_A_ROW 3u /* one alone was interrupted */

static uint32_t get(const _Atomic uint32_t *n)
{
    return atomic_load_explicit(n, memory_order_relaxed);
}

static void set(_Atomic uint32_t *n, uint32_t value)
{
    atomic_store_explicit(n, value, memory_order_relaxed);
}

dnet_pace_way_t dnet_pace_way(dnet_pace_t *pace, uint32_t bytes)
{
    if (bytes < STREAMED_BYTES)
        return DNET_PACE_CACHED;
    uint32_t left = get(&pace->left);
    if (left == 0)
        return DNET_PACE_TIMED;
    set(&pace->left, left > bytes ? left - bytes : 0);
    return dnet_pace_is_slow(pace) ? DNET_PACE_STREAMED : DNET_PACE_CACHED;
}

/* What a copy of so many bytes takes at least, in ns, where lines come back slowly. */
static uint64_t slow_from(uint32_t bytes)
{
    uint64_t least = dnet_is_zen1() ? SLOW_LEAST_NS_ZEN1 : SLOW_LEAST_NS;
    uint64_t line = dnet_is_zen1() ? SLOW_LINE_NS_ZEN1 : SLOW_LINE_NS;

    return least + bytes * line / DNET_MOVE_LINE;
}

void dnet_pace_took(dnet_pace_t *pace, uint32_t bytes, uint64_t ns)
{
    uint32_t slow = get(&pace->slow);

    if (ns < slow_from(bytes)) {
        set(&pace->slow, 0);
        set(&pace->left, TIMED_EACH_BYTES);
        return;
    }
    slow += slow < SLOW_IN_A_ROW;
    set(&pace->slow, slow);
    set(&pace->left, slow < SLOW_IN_A_ROW ? 0 : STREAMED_FOR_BYTES);
}

bool dnet_pace_is_slow(const dnet_pace_t *pace)
{
    return get(&pace->slow) == SLOW_IN_A_ROW;
}

void dnet_pace_anew(dnet_pace_t *pace)
{
    set(&pace->slow, 0);
    set(&pace->left, 0);
}

static dnet_pace_t move_pace;

dnet_pace_t *dnet_move_pace(void)
{
    return &move_pace;
}

void dnet_move_expect(uint8_t *to, uint32_t bytes)
{
    if (dnet_pace_is_slow(&move_pace) || get(&move_pace.left) < bytes)
        return;
    for (uint32_t i = 0; i < bytes; i += DNET_MOVE_LINE)
        dnet_prefetch_for_store(to + i);
}

#ifdef __x86_64__
/* Lines of the destination as a whole, from anywhere.  `bytes`: of whole lines. */
__attribute__((target("avx512f"))) static void copy_lines_512(uint8_t *to, const uint8_t *from,
                                                              size_t bytes)
{
    for (; bytes >= 4 * DNET_MOVE_LINE; bytes -= 4 * DNET_MOVE_LINE) {
        __m512i a = _mm512_loadu_si512(from), b = _mm512_loadu_si512(from + 64);
        __m512i c = _mm512_loadu_si512(from + 128), d = _mm512_loadu_si512(from + 192);
        _mm512_store_si512(to, a);
        _mm512_store_si512(to + 64, b);
        _mm512_store_si512(to + 128, c);
        _mm512_store_si512(to + 192, d);
        to += 4 * DNET_MOVE_LINE, from += 4 * DNET_MOVE_LINE;
    }
    for (; bytes; bytes -= DNET_MOVE_LINE, to += DNET_MOVE_LINE, from += DNET_MOVE_LINE)
        _mm512_store_si512(to, _mm512_loadu_si512(from));
}

__attribute__((target("avx"))) static void copy_lines_256(uint8_t *to, const uint8_t *from,
                                                          size_t bytes)
{
    for (; bytes; bytes -= DNET_MOVE_LINE, to += DNET_MOVE_LINE, from += DNET_MOVE_LINE) {
        __m256i a = _mm256_loadu_si256((const __m256i *) (const void *) from);
        __m256i b = _mm256_loadu_si256((const __m256i *) (const void *) (from + 32));
        _mm256_store_si256((__m256i *) (void *) to, a);
        _mm256_store_si256((__m256i *) (void *) (to + 32), b);
    }
}

/* By loads and stores, whole lines but for the ends.  bytes >= DNET_MOVE_LINE; no overlap.
 * False: this processor has no vectors for that, and nothing has happened. */
static bool copy_by_vectors(uint8_t *to, const uint8_t *from, size_t bytes)
{
    size_t head = -(uintptr_t) to % DNET_MOVE_LINE;
    size_t lines = (bytes - head) & -(size_t) DNET_MOVE_LINE;

    if (__builtin_cpu_supports("avx512f"))
        copy_lines_512(to + head, from + head, lines);
    else if (__builtin_cpu_supports("avx"))
        copy_lines_256(to + head, from + head, lines);
    else
        return false;
    memcpy(to, from, head);
    memcpy(to + head + lines, from + head + lines, bytes - head - lines);
    return true;
}

void dnet_take_long(void *to, const void *from, size_t bytes)
{
    if (!copy_by_vectors(to, from, bytes))
        memcpy(to, from, bytes);
}

/* A string move whose destination is a little ahead of its source, as far as the places in their
 * pages say, takes 1.3 to 15 times as long (Zen 4; 1 to 15 bytes ahead 32 KB take 9.3 us instead of
 * 0.6). */
static bool lies_badly(const uint8_t *to, const uint8_t *from)
{
    return ((uintptr_t) to - (uintptr_t) from - 1) % 4096 < DNET_MOVE_LINE - 1;
}

#define ERMS (1u << 9) /* CPUID leaf 7, EBX */
enum { UNKNOWN, YES, NO };

/* Does this processor say that it moves strings fast?  One that does not may go byte by byte where
 * the two lie badly, and is slower elsewhere, too (Zen 1: 1 to 15 bytes ahead or behind 8 KB take
 * 4.7 us instead of 0.4; osu_bw of 1 MB 13.0 GB/s instead of 18.1).  Asked once, for in a virtual
 * machine the question goes to the host. */
static bool moves_strings_fast(void)
{
    static _Atomic uint32_t known;
    uint32_t answer = get(&known);

    if (DNET_UNLIKELY(answer == UNKNOWN)) {
        unsigned a, b, c, d;
        answer = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & ERMS) ? YES : NO;
        set(&known, answer);
    }
    return answer == YES;
}

/* memmove() takes a line from another processor's cache without reading it first from about 2 KB on
 * only (osu_bw: 1 KB messages 0.46 us each instead of 0.60, 2 KB 0.43 instead of 0.58).  A string
 * move of less than DNET_MOVE_LEAST costs more to begin than that saves (512 bytes one way 0.55 us
 * instead of 0.49, in a row 0.85 of the bandwidth). */
void dnet_string_move(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    bool strings = moves_strings_fast() && !lies_badly(to, from);

    if (!strings && copy_by_vectors(to, from, bytes))
        return;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

typedef void copy_t(uint8_t *to, const uint8_t *from, uint64_t bytes);

/* Stores of earlier copies do not count, and the last one's do. */
static void copy_timed(copy_t *copy, uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    _mm_mfence();
    uint64_t begin = dnet_clock_ns();
    copy(to, from, bytes);
    _mm_mfence();
    dnet_pace_took(&move_pace, bytes, dnet_clock_ns() - begin);
}

static inline void copy_paced(copy_t *cached, copy_t *streamed, uint8_t *to, const uint8_t *from,
                              uint32_t bytes)
{
    switch (dnet_pace_way(&move_pace, bytes)) {
        case DNET_PACE_CACHED:
            cached(to, from, bytes);
            break;
        case DNET_PACE_TIMED:
            copy_timed(cached, to, from, bytes);
            break;
        case DNET_PACE_STREAMED:
            streamed(to, from, bytes);
            break;
    }
}

static void stream(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    dnet_stream_copy(to, from, bytes);
}

/* A process may send to itself, over its own source. */
static bool overlap(const uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    return (to > from && to < from + bytes) || (from > to && from < to + bytes);
}

void dnet_move(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    if (bytes < DNET_MOVE_LEAST || overlap(to, from, bytes))
        memmove(to, from, bytes);
    else
        copy_paced(dnet_string_move, stream, to, from, bytes);
}

__attribute__((target("avx512f,avx512bw"))) static void store_lines(uint8_t *to,
                                                                    const uint8_t *from,
                                                                    uint64_t bytes)
{
    for (; bytes >= DNET_MOVE_LINE; bytes -= DNET_MOVE_LINE) {
        _mm512_store_si512(to, _mm512_loadu_si512(from));
        to += DNET_MOVE_LINE, from += DNET_MOVE_LINE;
    }
    if (bytes)
        _mm512_store_si512(to, _mm512_maskz_loadu_epi8((1ull << bytes) - 1, from));
}

void dnet_move_lines(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    uint32_t most = dnet_lines_stay_shared() ? LINES_MOST_ZEN : LINES_MOST;

    if (bytes < most && __builtin_cpu_supports("avx512bw") &&
        !overlap(to, from, (bytes + DNET_MOVE_LINE - 1) & -DNET_MOVE_LINE))
        copy_paced(store_lines, dnet_stream_lines, to, from, bytes);
    else
        dnet_move(to, from, bytes);
}
#else
void dnet_string_move(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    memcpy(to, from, bytes);
}

void dnet_take_long(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

void dnet_move(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    memmove(to, from, bytes);
}

void dnet_move_lines(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    dnet_move(to, from, bytes);
}
#endif
