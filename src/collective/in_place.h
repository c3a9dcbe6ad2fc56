/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data that stay where they are: a rank says the address, the others read there, and it returns
 * when all have.
 */
#ifndef DNET_COLLECTIVE_IN_PLACE_H
#define DNET_COLLECTIVE_IN_PLACE_H

#include "collective/steps.h"

/* From so many bytes on data are read where they are, by a call to the kernel for each reader and
 * source.  Where a whole vector goes to few ranks, or each rank needs all of all others, two copies
 * through slots take less time for longer (8 KB to 2 ranks 0.8 us instead of 2.8; 16 KB from each
 * of 16 to all 260 instead of 970).  One rank that combines all reads for few ranks only. */
#define READ_LEAST_BYTES 8192u
#define READ_LATE_BYTES 16384u
/* The same, both, where the kernel copies fairly fast (2 ranks by slots, 16 KB in 0.75 to 0.85 of
 * the time, blocks of 32 KB of an alltoall in 1.35), and where it is slow (16 KB in 0.3 to 1.0,
 * 64 KB in 0.8 to 1.9). */
#define READ_BYTES_FAIR 32768u
#define READ_BYTES_SLOW 65536u
#define FEW_RANKS 4u

static inline bool dnet_in_place_is_read_from(const dnet_board_t *b, size_t bytes,
                                              size_t least_fast)
{
    size_t least = b->owner.copies == DNET_KERNEL_SLOW   ? READ_BYTES_SLOW
                   : b->owner.copies == DNET_KERNEL_FAIR ? READ_BYTES_FAIR
                                                         : least_fast;
    return b->owner.read && bytes >= least;
}

static inline bool dnet_in_place_is_read(const dnet_board_t *b, size_t bytes)
{
    return dnet_in_place_is_read_from(b, bytes, READ_LEAST_BYTES);
}

/* The same for a vector of which each rank reads all. */
static inline bool dnet_in_place_is_read_by_all(const dnet_board_t *b, size_t bytes)
{
    if (b->size > FEW_RANKS)
        return dnet_in_place_is_read(b, bytes) && bytes > b->slot_bytes;
    return dnet_in_place_is_read_from(b, bytes, READ_LATE_BYTES);
}

/* Blocks that two ranks exchange, besides those of the above: 16 KB in 0.66 (alltoall) and 0.75
 * (allgather) of the time by slots, where a line from the other processor takes 190 ns. */
static inline bool dnet_in_place_is_read_by_two(const dnet_board_t *b, size_t bytes)
{
    return b->size == 2 && b->owner.copies == DNET_KERNEL_FAIR && b->owner.read &&
           bytes >= READ_BYTES_FAIR / 2;
}

/* The same of what one of two ranks has for the other, if there is a processor for each: 16 and 32
 * KB of a nonblocking scatter in 0.85 and 0.6 of the time by slots. */
static inline bool dnet_in_place_is_moved_of_two(const dnet_board_t *b, size_t bytes)
{
    return b->spins && dnet_in_place_is_read_by_two(b, bytes);
}

/* More than two ranks without a processor each exchange blocks in pairs: one moves both while the
 * other waits for its turn. */
static inline bool dnet_in_place_is_moved_by_one(const dnet_board_t *b)
{
    return b->owner.read && !b->spins && b->size > 2;
}

/* For two ranks slots and far memory serve longer where it is not fast. */
static inline bool dnet_in_place_is_slow_for_two(const dnet_board_t *b)
{
    return b->size == 2 && b->owner.copies != DNET_KERNEL_FAST;
}

/* What a rank says of its data in a step. */
typedef struct {
    const uint8_t *from;
    uint8_t *result;
    size_t bytes; /* of each block there, of a gather */
    int way;      /* dnet_board_pair_offer(); of a reduction to one of two: is it read? */
} dnet_offer_t;

static inline void dnet_in_place_say(dnet_board_t *b, const dnet_offer_t *mine)
{
    memcpy(dnet_step_begin(b, sizeof *mine), mine, sizeof *mine);
    dnet_step_contribute(b);
}

static inline void dnet_in_place_offer(dnet_board_t *b, const void *from, void *result)
{
    dnet_in_place_say(b, &(dnet_offer_t){.from = from, .result = result});
}

static inline dnet_offer_t dnet_in_place_offered(dnet_board_t *b, uint32_t r)
{
    dnet_offer_t theirs;
    memcpy(&theirs, dnet_step_contribution(b, r, sizeof theirs), sizeof theirs);
    return theirs;
}

static inline void dnet_in_place_read(const dnet_board_t *b, uint32_t r, const void *from, void *to,
                                      size_t bytes)
{
    if (bytes)
        b->owner.read(b->owner.arg, r, from, to, bytes);
}

static inline void dnet_in_place_write(const dnet_board_t *b, uint32_t r, const void *from,
                                       void *to, size_t bytes)
{
    if (bytes)
        b->owner.write(b->owner.arg, r, from, to, bytes);
}

/* Until no other rank needs this one's data any more. */
static inline void dnet_in_place_wait(dnet_board_t *b)
{
    for (uint32_t r = 0; r < b->size; r++)
        if (r != b->rank)
            dnet_word_wait_for(b, dnet_board_counter(b, r, DONE), b->step, r);
    b->all_done = b->step;
}

/* This rank has read what it needs. */
static inline void dnet_in_place_end(dnet_board_t *b)
{
    dnet_step_end(b);
    dnet_in_place_wait(b);
}

#endif
