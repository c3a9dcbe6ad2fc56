/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words and slots of nonblocking collectives, for the files of this directory.
 */
#ifndef DNET_COLLECTIVE_NONBLOCKING_SLOTS_H
#define DNET_COLLECTIVE_NONBLOCKING_SLOTS_H

#include "collective/steps.h"

/* The words of a rank: the number up to which it is done with all; the rank that it dozes for, plus
 * one, or any.  Before them: how many doze. */
enum { DONE_WITH, DOZES_FOR };
_Static_assert(DOZES_FOR + 1 == DNET_NONBLOCKING_COUNTERS, "so many words");
#define DOZES_FOR_ANY UINT64_MAX

static inline dnet_word_t *dnet_nonblocking_dozing(const dnet_board_t *b)
{
    return (dnet_word_t *) (void *) b->nonblocking.words;
}

static inline dnet_word_t *dnet_nonblocking_counter(const dnet_board_t *b, uint32_t rank,
                                                    unsigned which)
{
    size_t line = 1 + (size_t) rank * DNET_NONBLOCKING_COUNTERS + which;
    return (dnet_word_t *) (void *) (b->nonblocking.words + line * DNET_BOARD_PAIR);
}

static inline uint32_t dnet_nonblocking_place(uint64_t number)
{
    return (uint32_t) number % DNET_NONBLOCKING_SLOTS;
}

/* The line that says that a rank has contributed, with up to WITH_NUMBER_BYTES of data, or where
 * they are. */
static inline uint8_t *dnet_nonblocking_slot(const dnet_board_t *b, uint32_t rank, uint64_t number)
{
    size_t line =
        1 + (size_t) (DNET_NONBLOCKING_COUNTERS + dnet_nonblocking_place(number)) * b->size + rank;
    return b->nonblocking.words + line * DNET_BOARD_PAIR;
}

static inline uint8_t *dnet_nonblocking_slot_data(const dnet_board_t *b, uint32_t rank,
                                                  uint64_t number)
{
    size_t block = (size_t) rank * DNET_NONBLOCKING_SLOTS + dnet_nonblocking_place(number);
    return b->nonblocking.data + block * b->nonblocking.slot_bytes;
}

/* Where so many bytes lie: with the number, short ones together, or in pages of their rank. */
static inline uint8_t *dnet_nonblocking_data(const dnet_board_t *b, uint32_t rank, uint64_t number,
                                             size_t bytes)
{
    if (bytes <= WITH_NUMBER_BYTES)
        return dnet_nonblocking_slot(b, rank, number);
    if (bytes > b->nonblocking.short_bytes)
        return dnet_nonblocking_slot_data(b, rank, number);
    uint32_t place = dnet_nonblocking_place(number) * b->size + rank;
    return b->nonblocking.short_data + (size_t) place * SHORT_BYTES;
}

static inline bool dnet_nonblocking_has_come(const dnet_board_t *b, uint32_t rank, uint64_t number)
{
    return dnet_word_has_come(dnet_slot_number(dnet_nonblocking_slot(b, rank, number)), number);
}

/* As dnet_word_set_for(), for those that doze here. */
DNET_COLD void dnet_nonblocking_wake_waiting(const dnet_board_t *b);

static inline void dnet_nonblocking_wake(const dnet_board_t *b)
{
    if (DNET_UNLIKELY(atomic_load_explicit(dnet_nonblocking_dozing(b), memory_order_relaxed)))
        dnet_nonblocking_wake_waiting(b);
}

static inline void dnet_nonblocking_set(const dnet_board_t *b, dnet_word_t *word, uint64_t number)
{
    atomic_store_explicit(word, number, memory_order_release);
    dnet_nonblocking_wake(b);
}

static inline void dnet_nonblocking_contribute(const dnet_board_t *b, uint64_t number)
{
    dnet_nonblocking_set(b, dnet_slot_number(dnet_nonblocking_slot(b, b->rank, number)), number);
}

#endif
