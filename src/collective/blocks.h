/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of a vector: how long they are, and where.
 */
#ifndef DNET_COLLECTIVE_BLOCKS_H
#define DNET_COLLECTIVE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

/** Blocks of a vector, one for each rank. */
typedef struct {
    const intptr_t *counts; /* elements of each; NULL: `each` */
    const intptr_t *places; /* first element of each; NULL: one lies behind the other */
    size_t each;
} dnet_blocks_t;

/* Elements of a block. */
static inline size_t dnet_blocks_count(const dnet_blocks_t *x, uint32_t r)
{
    return x->counts ? (size_t) x->counts[r] : x->each;
}

/* Those of the longest of `size` blocks. */
static inline size_t dnet_blocks_longest(const dnet_blocks_t *x, uint32_t size)
{
    size_t longest = 0;
    for (uint32_t r = 0; r < (x->counts ? size : 1); r++)
        if (dnet_blocks_count(x, r) > longest)
            longest = dnet_blocks_count(x, r);
    return longest;
}

/* Elements of the first `count` blocks, which is where the next one begins if they lie one behind
 * the other. */
static inline size_t dnet_blocks_before(const dnet_blocks_t *x, uint32_t count)
{
    size_t sum = 0;
    if (!x->counts)
        return count * x->each;
    for (uint32_t r = 0; r < count; r++)
        sum += (size_t) x->counts[r];
    return sum;
}

/* Where a block begins. */
static inline ptrdiff_t dnet_blocks_place(const dnet_blocks_t *x, uint32_t r)
{
    return x->places ? x->places[r] : (ptrdiff_t) dnet_blocks_before(x, r);
}

/** Blocks in memory. */
typedef struct {
    void *at; /* element 0 */
    dnet_blocks_t blocks;
    size_t element_bytes;
} dnet_blocks_at_t;

static inline uint8_t *dnet_block_at(const dnet_blocks_at_t *x, uint32_t r)
{
    return (uint8_t *) x->at + dnet_blocks_place(&x->blocks, r) * (ptrdiff_t) x->element_bytes;
}

static inline size_t dnet_block_bytes(const dnet_blocks_at_t *x, uint32_t r)
{
    return dnet_blocks_count(&x->blocks, r) * x->element_bytes;
}

/* Bytes of the longest of `size` blocks, but for that of `rank`. */
static inline size_t dnet_blocks_longest_of_others(const dnet_blocks_at_t *x, uint32_t size,
                                                   uint32_t rank)
{
    size_t longest = 0;
    for (uint32_t r = 0; r < size; r++)
        if (r != rank && dnet_block_bytes(x, r) > longest)
            longest = dnet_block_bytes(x, r);
    return longest;
}

/* Of `count` elements those of a piece that begins with element `at`, up to `most`. */
static inline size_t dnet_blocks_piece(size_t count, size_t at, size_t most)
{
    size_t left = count > at ? count - at : 0;
    return left < most ? left : most;
}

/* Place of a block in the slot of a rank, in which there is none for that rank itself. */
static inline size_t dnet_blocks_in_slot(uint32_t of, uint32_t slot_of)
{
    return of < slot_of ? of : of - 1;
}

#endif
