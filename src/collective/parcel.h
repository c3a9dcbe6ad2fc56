/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank has for others, in one step, where those do not know how long it is: it says in the
 * first line of its slot how they find it.  Few bytes it gives with that, its parcel, in which
 * blocks lie one behind the other, behind a table of where each begins if there are several.
 */
#ifndef DNET_COLLECTIVE_PARCEL_H
#define DNET_COLLECTIVE_PARCEL_H

#include "collective/blocks.h"
#include "collective/steps.h"

/* How a rank gives what it has: in a parcel, by addresses, or in another way. */
typedef enum { DNET_GIVES_PARCEL, DNET_GIVES_ADDRESSES, DNET_GIVES_OTHERWISE } dnet_gives_t;

typedef struct {
    dnet_gives_t gives;
    size_t bytes; /* of its parcel; of its block for the root; of the root's longest */
} dnet_said_t;

/* Begin a step, with what this rank says: the first word of its slot. */
static inline void dnet_parcel_say(dnet_board_t *b, dnet_said_t said)
{
    const uint64_t word = (uint64_t) said.bytes << 2 | said.gives;
    memcpy(dnet_step_begin(b, 0), &word, sizeof(word));
}

/* What a rank has said, when it has. */
static inline dnet_said_t dnet_parcel_said(dnet_board_t *b, uint32_t r)
{
    uint64_t word;
    memcpy(&word, dnet_step_contribution(b, r, 0), sizeof(word));
    return (dnet_said_t){(dnet_gives_t) (word & 3), word >> 2};
}

/* Where a rank's parcel of so many bytes lies in this step. */
static inline uint8_t *dnet_parcel_at(const dnet_board_t *b, uint32_t r, size_t bytes)
{
    if (bytes <= WITH_NUMBER_BYTES - sizeof(uint64_t))
        return dnet_board_slot(b, r, b->step) + sizeof(uint64_t);
    return bytes <= SHORT_BYTES ? dnet_board_short_data(b, r, b->step)
                                : dnet_board_slot_data(b, r, b->step);
}

/* Bytes of the parcel with a block for each other rank. */
size_t dnet_parcel_bytes(const dnet_board_t *b, const dnet_blocks_at_t *give);

/* Put them into it. */
void dnet_parcel_give(const dnet_board_t *b, const dnet_blocks_at_t *give, uint8_t *parcel);

/* This rank's block in that of another one, up to `bytes` bytes of it.  @return how long it is
 * there */
size_t dnet_parcel_take(const dnet_board_t *b, const uint8_t *parcel, size_t parcel_bytes, void *to,
                        size_t bytes);

#endif
