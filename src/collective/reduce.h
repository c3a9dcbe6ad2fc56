/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The reductions that programs use most, as loops over vectors: made for the instruction sets of
 * the processor they run on.
 */
#ifndef DNET_COLLECTIVE_REDUCE_H
#define DNET_COLLECTIVE_REDUCE_H

#include "collective/collective.h"

/** Operators: X(name, what becomes of the elements a and b, ...).  Of short types a and b become
 * int, which their product may not fit. */
#define DNET_REDUCE_EACH_OP(X, ...) \
    X(SUM, a + b, __VA_ARGS__) \
    X(PROD, 1u * a * b, __VA_ARGS__) \
    X(MIN, a < b ? a : b, __VA_ARGS__) \
    X(MAX, a > b ? a : b, __VA_ARGS__)

/** Types of elements: X(name, C type, ...) */
#define DNET_REDUCE_EACH_TYPE(X, ...) \
    X(INT8, int8_t, __VA_ARGS__) \
    X(INT16, int16_t, __VA_ARGS__) \
    X(INT32, int32_t, __VA_ARGS__) \
    X(INT64, int64_t, __VA_ARGS__) \
    X(UINT8, uint8_t, __VA_ARGS__) \
    X(UINT16, uint16_t, __VA_ARGS__) \
    X(UINT32, uint32_t, __VA_ARGS__) \
    X(UINT64, uint64_t, __VA_ARGS__) \
    X(FLOAT, float, __VA_ARGS__) \
    X(DOUBLE, double, __VA_ARGS__)

#define DNET_REDUCE_OP_NAME(name, of_a_and_b, ...) DNET_REDUCE_##name,
#define DNET_REDUCE_TYPE_NAME(name, type, ...) DNET_REDUCE_OF_##name,
typedef enum { DNET_REDUCE_EACH_OP(DNET_REDUCE_OP_NAME, ) DNET_REDUCE_OPS } dnet_reduce_op_t;
typedef enum {
    DNET_REDUCE_EACH_TYPE(DNET_REDUCE_TYPE_NAME, ) DNET_REDUCE_TYPES
} dnet_reduce_type_t;

/** The loop for an operator and a type, for this processor.  Sums and products of signed integers
 * wrap. */
dnet_reduce_fn dnet_reduce_loop(dnet_reduce_op_t op, dnet_reduce_type_t type);

#endif
