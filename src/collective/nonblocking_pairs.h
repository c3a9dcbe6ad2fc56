/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that have no processor each exchange blocks in pairs: whoever looks first moves both.  How
 * far a rank's pairs with higher ones are stands in its slot.
 */
#ifndef DNET_COLLECTIVE_NONBLOCKING_PAIRS_H
#define DNET_COLLECTIVE_NONBLOCKING_PAIRS_H

#include "collective/nonblocking_op.h"
#include "collective/nonblocking_slots.h"

enum { PAIR_WAITS, PAIR_TAKEN, PAIR_MOVED };
typedef _Atomic uint8_t dnet_pair_t;

static inline bool dnet_nonblocking_moves_pairs(const dnet_board_t *b)
{
    return b->size > 2 && !b->spins;
}

/* @param at  of the pairs, behind the beginning of a slot's data */
static inline dnet_pair_t *dnet_nonblocking_pair(const dnet_board_t *b, uint64_t number, size_t at,
                                                 uint32_t r)
{
    const uint32_t lower = r < b->rank ? r : b->rank, higher = r < b->rank ? b->rank : r;
    return (dnet_pair_t *) dnet_nonblocking_slot_data(b, lower, number) + at + higher;
}

/* Before this rank contributes. */
static inline void dnet_nonblocking_pairs_begin(const dnet_board_t *b, uint64_t number, size_t at)
{
    memset(dnet_nonblocking_slot_data(b, b->rank, number) + at, PAIR_WAITS, b->size);
}

/* Is this rank to move it? */
static inline bool dnet_nonblocking_pair_take(dnet_pair_t *pair)
{
    uint8_t state = PAIR_WAITS;
    /* Relaxed: where the blocks are has come with the number. */
    return atomic_compare_exchange_strong_explicit(pair, &state, PAIR_TAKEN, memory_order_relaxed,
                                                   memory_order_relaxed);
}

static inline void dnet_nonblocking_pair_end(const dnet_board_t *b, dnet_pair_t *pair)
{
    /* Release: the blocks are moved. */
    atomic_store_explicit(pair, PAIR_MOVED, memory_order_release);
    dnet_nonblocking_wake(b);
}

/* The rank with which this one has a pair that is not moved yet; DNET_BOARD_NO_RANK: none.  It is
 * not done with the number before, so that no slot with pairs is used for something else. */
static inline uint32_t dnet_nonblocking_pair_left(const dnet_board_t *b,
                                                  const dnet_nonblocking_t *op)
{
    for (uint32_t r = 0; r < b->size; r++)
        if (r != b->rank &&
            atomic_load_explicit(dnet_nonblocking_pair(b, op->number, op->pairs_at, r),
                                 memory_order_acquire) != PAIR_MOVED)
            return r;
    return DNET_BOARD_NO_RANK;
}

#endif
