/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/stream.h"

#include <stdint.h>
#include <string.h>

#define LINE 64u

#ifdef __x86_64__
#include <immintrin.h>

/* Whole lines only: parts of one would each go to memory alone. */
void dnet_stream_copy(void *to, const void *from, size_t bytes)
{
    uint8_t *at = to;
    const uint8_t *next = from;
    size_t head = -(uintptr_t) at % LINE;
    if (bytes < head + LINE) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(at, next, head);
    at += head, next += head, bytes -= head;
    for (; bytes >= LINE; at += LINE, next += LINE, bytes -= LINE) {
        const __m128i *in = (const __m128i *) (const void *) next;
        __m128i *out = (__m128i *) (void *) at;
        __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1);
        __m128i c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    memcpy(at, next, bytes);
    _mm_sfence();
}

__attribute__((target("avx512f,avx512bw"))) void dnet_stream_lines(uint8_t *to, const uint8_t *from,
                                                                   uint64_t bytes)
{
    for (; bytes >= LINE; to += LINE, from += LINE, bytes -= LINE)
        _mm512_stream_si512((void *) to, _mm512_loadu_si512(from));
    if (bytes)
        _mm512_stream_si512((void *) to, _mm512_maskz_loadu_epi8((1ull << bytes) - 1, from));
    _mm_sfence();
}
#else
void dnet_stream_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif
