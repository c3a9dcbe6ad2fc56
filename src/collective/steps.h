/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Words, slots and steps of a board, for the files of this directory: what a rank writes, where,
 * and how the others wait for it.
 */
#ifndef DNET_COLLECTIVE_STEPS_H
#define DNET_COLLECTIVE_STEPS_H

#include <string.h>

#include "collective/board.h"
#include "common/compiler.h"
#include "common/move.h"

#define DNET_BOARD_LINE 64u
/* Processors fetch lines in pairs: what one rank polls and another fills lie in different ones. */
#define DNET_BOARD_PAIR 128u
/* Data of so many bytes lie in the line that holds their number, before it. */
#define WITH_NUMBER_BYTES 56u
#define SHORT_BYTES 256u

typedef _Atomic uint64_t dnet_word_t;

/* The words of a rank beside its slots, a line each: the step it is done with; the step it has
 * combined its part of; does it doze? */
enum { DONE, COMBINED, DOZES, COUNTERS };
/* Before them, a line each: how many ranks doze, how many have come to meetings so far, and the
 * number of the last meeting to which all have. */
enum { DOZING, COMES, MET, HEADS };

/* ---- words and slots ---- */

static inline dnet_word_t *dnet_board_counter(const dnet_board_t *b, uint32_t rank, unsigned which)
{
    return (dnet_word_t *) (void *) (b->words + (rank * COUNTERS + which) * DNET_BOARD_PAIR);
}

static inline dnet_word_t *dnet_board_head(const dnet_board_t *b, unsigned which)
{
    return (dnet_word_t *) (void *) (b->memory + which * DNET_BOARD_PAIR);
}

static inline uint32_t dnet_board_place(const dnet_board_t *b, uint64_t step)
{
    return (uint32_t) step & (b->slots - 1);
}

/* The first line of a rank's slot for a step.  Those of all ranks for all steps lie together, in a
 * page of memory or few, for each page is a fault when it is new, of 0.5 to 12 us. */
static inline uint8_t *dnet_board_slot(const dnet_board_t *b, uint32_t rank, uint64_t step)
{
    uint32_t line = (COUNTERS + dnet_board_place(b, step)) * b->size + rank;
    return b->words + (size_t) line * DNET_BOARD_PAIR;
}

/* Where data are that do not fit into that line, short ones: behind all those lines. */
static inline uint8_t *dnet_board_short_data(const dnet_board_t *b, uint32_t rank, uint64_t step)
{
    uint32_t place = dnet_board_place(b, step) * b->size + rank;
    return b->short_data + (size_t) place * SHORT_BYTES;
}

/* And others: in pages of their rank. */
static inline uint8_t *dnet_board_slot_data(const dnet_board_t *b, uint32_t rank, uint64_t step)
{
    return b->data + rank * b->rank_bytes + (size_t) dnet_board_place(b, step) * b->slot_bytes;
}

/* The slot's number, which is the end of its first line. */
static inline dnet_word_t *dnet_slot_number(uint8_t *s)
{
    return (dnet_word_t *) (void *) (s + WITH_NUMBER_BYTES);
}

/* Where the data that a rank contributes to a step begin when they are so many bytes: as many as
 * were said when the step began. */
static inline uint8_t *dnet_board_data(const dnet_board_t *b, uint32_t rank, uint64_t step,
                                       size_t bytes)
{
    if (DNET_UNLIKELY(bytes > b->near_bytes))
        return b->far.memory + (size_t) rank * b->far.bytes +
               b->far.place[dnet_board_place(b, step)];
    if (bytes <= WITH_NUMBER_BYTES)
        return dnet_board_slot(b, rank, step);
    return bytes <= SHORT_BYTES ? dnet_board_short_data(b, rank, step)
                                : dnet_board_slot_data(b, rank, step);
}

static inline bool dnet_word_has_come(const dnet_word_t *word, uint64_t step)
{
    /* Acquire: pairs with dnet_word_set(); what the rank wrote before is visible after. */
    return atomic_load_explicit(word, memory_order_acquire) >= step;
}

/* Some rank dozes: those that wait for `rank` are woken.  Were others, too, a rank that dozes would
 * make all slower, so that more of them doze. */
DNET_COLD void dnet_word_wake_waiting(const dnet_board_t *b, uint32_t rank);

/* @param rank  those that wait for it wait for this word */
static inline void dnet_word_set_for(const dnet_board_t *b, dnet_word_t *word, uint64_t step,
                                     uint32_t rank)
{
    /* Release: all that the rank has written, and read, comes before. */
    atomic_store_explicit(word, step, memory_order_release);
    /* May be too old by the time a store takes to be seen, for which who falls asleep looks on. */
    if (DNET_UNLIKELY(atomic_load_explicit(dnet_board_head(b, DOZING), memory_order_relaxed)))
        dnet_word_wake_waiting(b, rank);
}

static inline void dnet_word_set(const dnet_board_t *b, dnet_word_t *word, uint64_t step)
{
    dnet_word_set_for(b, word, step, b->rank);
}

DNET_COLD void dnet_word_wait_long(dnet_board_t *b, const dnet_word_t *word, uint64_t step,
                                   uint32_t rank);

/* Until a word of rank `rank` says that it has come to a step; NO_RANK: of all. */
static inline void dnet_word_wait_for(dnet_board_t *b, const dnet_word_t *word, uint64_t step,
                                      uint32_t rank)
{
    if (!dnet_word_has_come(word, step))
        dnet_word_wait_long(b, word, step, rank);
}

/* ---- steps ---- */

/* Which ranks are done with what is looked at only when it is not known from what they have
 * contributed since. */
DNET_COLD void dnet_step_wait_for_slot(dnet_board_t *b, uint64_t least);

/* The next step, in which some rank contributes up to `bytes` bytes. */
static inline uint64_t dnet_step_next(dnet_board_t *b, size_t bytes)
{
    uint64_t step = ++b->step;
    if (DNET_UNLIKELY(bytes > b->near_bytes)) {
        if (b->far.next + bytes > b->far.bytes)
            b->far.next = 0;
        b->far.place[dnet_board_place(b, step)] = b->far.next;
        b->far.next += ((uint32_t) bytes + DNET_BOARD_PAIR - 1) & ~(DNET_BOARD_PAIR - 1);
    }
    return step;
}

/* A step in which this rank contributes up to `bytes` bytes: where it puts them. */
static inline uint8_t *dnet_step_begin(dnet_board_t *b, size_t bytes)
{
    uint64_t step = dnet_step_next(b, bytes);
    if (DNET_UNLIKELY(step > b->all_done + b->slots))
        dnet_step_wait_for_slot(b, step - b->slots);
    return dnet_board_data(b, b->rank, step, bytes);
}

/* A step to which this rank contributes no data: its slot is scratch of slot_bytes. */
static inline uint8_t *dnet_step_begin_with_scratch(dnet_board_t *b)
{
    (void) dnet_step_begin(b, 0);
    return dnet_board_slot_data(b, b->rank, b->step);
}

/* Data into what dnet_step_begin() has returned: others read them next. */
static inline void dnet_step_put(uint8_t *at, const void *from, size_t bytes)
{
    if (DNET_LIKELY(bytes < DNET_MOVE_LEAST))
        memcpy(at, from, bytes);
    else
        dnet_move(at, from, (uint32_t) bytes);
}

static inline void dnet_step_contribute(const dnet_board_t *b)
{
    dnet_word_set(b, dnet_slot_number(dnet_board_slot(b, b->rank, b->step)), b->step);
}

/* What rank r contributes to a step, when it has. */
static inline const uint8_t *dnet_step_contribution_to(dnet_board_t *b, uint32_t r, uint64_t step,
                                                       size_t bytes)
{
    dnet_word_wait_for(b, dnet_slot_number(dnet_board_slot(b, r, step)), step, r);
    return dnet_board_data(b, r, step, bytes);
}

/* The same to this step. */
static inline const uint8_t *dnet_step_contribution(dnet_board_t *b, uint32_t r, size_t bytes)
{
    return dnet_step_contribution_to(b, r, b->step, bytes);
}

static inline void dnet_step_end(dnet_board_t *b)
{
    dnet_word_set(b, dnet_board_counter(b, b->rank, DONE), b->step);
}

/* The same when every rank has contributed: so all were done with the step before. */
static inline void dnet_step_end_of_all(dnet_board_t *b)
{
    dnet_step_end(b);
    b->all_done = b->step - 1;
}

/* What has come last was the root's, as of a broadcast: it leads a barrier that is next. */
static inline void dnet_step_came_from(dnet_board_t *b, uint32_t root)
{
    b->bcast.step = b->step;
    b->bcast.root = root;
}

/* Where all ranks contribute, and have no processor each: until all have.  One that waited for each
 * other one, one after the other, would get a processor, or be woken, as often for nothing.
 * @return false: they have processors, and nothing was done */
bool dnet_step_meet(dnet_board_t *b);

static inline size_t dnet_least(size_t a, size_t b)
{
    return a < b ? a : b;
}

#endif
