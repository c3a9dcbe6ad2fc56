/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Each loop is compiled for the processors that every build runs on, and on x86-64 twice more, for
 * those with AVX2 and with AVX-512.
 */
#include "collective/reduce.h"

#ifdef __GNUC__
#pragma GCC optimize("O3") /* loops whose length is not known become vectors */
#endif

/* An element that is stored is none that is loaded later: `result` is `with`, or another vector. */
#ifdef __clang__
#define EACH_BY_ITSELF _Pragma("clang loop vectorize(assume_safety)")
#else
#define EACH_BY_ITSELF _Pragma("GCC ivdep")
#endif

#define LOOP_NAME(op, type, set) op##_of_##type##_##set

/* Vectors that are stored to two lines each take up to 1.6 times as long; so of longer ones the
 * elements before the first line are apart. */
#define LINE 64u
#define ALIGNED_LEAST 2048u

static inline size_t before_line(const void *to, size_t element_bytes, size_t count)
{
    size_t bytes = -(uintptr_t) to % LINE;
    return count < ALIGNED_LEAST / element_bytes ? 0 : bytes / element_bytes;
}

#define LOOP(op, of_a_and_b, name, type, set, target) \
    target __attribute__((noinline)) static void LOOP_NAME(op, name, set)( \
        const void *in, const void *with, void *result, size_t count, const void *how) \
    { \
        typedef type element_t \
            __attribute__((aligned(1))); /* a program's vector is where it is */ \
        const element_t *as = in, *bs = with; \
        element_t *to = result; \
        const size_t head = before_line(to, sizeof(type), count); \
        if (head) \
            LOOP_NAME(op, name, set)(in, with, result, head, how); \
        EACH_BY_ITSELF \
        for (size_t i = head; i < count; i++) { \
            type a = as[i], b = bs[i]; \
            to[i] = (type) (of_a_and_b); \
        } \
    }

#define LOOPS(name, type, set, target) DNET_REDUCE_EACH_OP(LOOP, name, type, set, target)
#define ENTRY(op, of_a_and_b, name, set) \
    [DNET_REDUCE_##op][DNET_REDUCE_OF_##name] = LOOP_NAME(op, name, set),
#define ENTRIES(name, type, set) DNET_REDUCE_EACH_OP(ENTRY, name, set)

/* All loops for an instruction set, and the table of them. */
#define LOOPS_FOR(set, target) \
    DNET_REDUCE_EACH_TYPE(LOOPS, set, target) \
    static const dnet_reduce_fn set[DNET_REDUCE_OPS][DNET_REDUCE_TYPES] = { \
        DNET_REDUCE_EACH_TYPE(ENTRIES, set)};

LOOPS_FOR(base, )
#ifdef __x86_64__
LOOPS_FOR(avx2, __attribute__((target("avx2"))))
#define AVX512 "avx512f,avx512bw,avx512dq,avx512vl"
#ifdef __clang__
LOOPS_FOR(avx512, __attribute__((target(AVX512))))
#else
LOOPS_FOR(avx512, __attribute__((target(AVX512 ",prefer-vector-width=512"))))
#endif

static bool has_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

dnet_reduce_fn dnet_reduce_loop(dnet_reduce_op_t op, dnet_reduce_type_t type)
{
    static const dnet_reduce_type_t same_bits[DNET_REDUCE_TYPES] = {
        [DNET_REDUCE_OF_INT8] = DNET_REDUCE_OF_UINT8,
        [DNET_REDUCE_OF_INT16] = DNET_REDUCE_OF_UINT16,
        [DNET_REDUCE_OF_INT32] = DNET_REDUCE_OF_UINT32,
        [DNET_REDUCE_OF_INT64] = DNET_REDUCE_OF_UINT64,
    };
    /* What is too large for a signed type is the same bits in the unsigned one, where C says so. */
    if (type <= DNET_REDUCE_OF_INT64 && (op == DNET_REDUCE_SUM || op == DNET_REDUCE_PROD))
        type = same_bits[type];
#ifdef __x86_64__
    if (has_avx512())
        return avx512[op][type];
    if (__builtin_cpu_supports("avx2"))
        return avx2[op][type];
#endif
    return base[op][type];
}
