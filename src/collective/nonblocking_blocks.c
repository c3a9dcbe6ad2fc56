/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/nonblocking_blocks.h"

#include "collective/parcel.h"

/* A block where a rank has it. */
typedef struct {
    uint8_t *at;
    size_t bytes;
} block_t;

/* What a rank says in the line of its slot.  `bytes`: of its parcel, or of its only block. */
typedef struct {
    bool by_address;
    size_t bytes;
} said_t;
/* Behind it, beside the slot's number. */
#define IN_LINE_BYTES (WITH_NUMBER_BYTES - sizeof(uint64_t))

bool dnet_nonblocking_has_any_lengths(const dnet_board_t *b)
{
    return b->owner.read && b->size * sizeof(block_t) <= b->nonblocking.slot_bytes;
}

/* It gives one block, to one rank. */
static inline bool gives_one(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_GATHERV || b->size == 2;
}

static inline block_t block_in(const dnet_blocks_at_t *blocks, uint32_t r)
{
    return (block_t){dnet_block_at(blocks, r), dnet_block_bytes(blocks, r)};
}

/* What this rank has for another one, or for itself. */
static block_t block_for(const dnet_nonblocking_t *op, uint32_t r)
{
    return op->kind != DNET_NONBLOCKING_GATHERV ? block_in(&op->give, r)
           : r == op->root                      ? (block_t){(uint8_t *) op->from, op->bytes}
                                                : (block_t){NULL, 0};
}

/* Where what a rank has for this one goes. */
static block_t place_for(const dnet_nonblocking_t *op, uint32_t r)
{
    return op->kind != DNET_NONBLOCKING_SCATTERV ? block_in(&op->take, r)
                                                 : (block_t){op->to, op->bytes};
}

size_t dnet_nonblocking_parcel_bytes(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_GATHERV ? op->bytes : dnet_parcel_bytes(b, &op->give);
}

/* ---- in a slot ---- */

static inline uint8_t *behind_said(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r)
{
    return dnet_nonblocking_slot(b, r, op->number) + sizeof(uint64_t);
}

static inline uint8_t *parcel_of(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r,
                                 size_t bytes)
{
    if (bytes <= IN_LINE_BYTES)
        return behind_said(b, op, r);
    return dnet_nonblocking_data(b, r, op->number,
                                 bytes > WITH_NUMBER_BYTES ? bytes : WITH_NUMBER_BYTES + 1);
}

/* Where ranks' blocks are that a rank has; of one that gives one, in its line. */
static inline block_t *table_of(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r)
{
    return (block_t *) (void *) (gives_one(b, op) ? behind_said(b, op, r)
                                                  : dnet_nonblocking_slot_data(b, r, op->number));
}

static inline said_t said_by(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r)
{
    uint64_t word;
    memcpy(&word, dnet_nonblocking_slot(b, r, op->number), sizeof(word));
    return (said_t){word & 1, word >> 1};
}

void dnet_nonblocking_give_any(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    const size_t bytes = dnet_nonblocking_parcel_bytes(b, op);
    const uint64_t word = (uint64_t) bytes << 1 | op->by_address;
    memcpy(dnet_nonblocking_slot(b, b->rank, op->number), &word, sizeof(word));
    if (op->by_address) {
        block_t *table = table_of(b, op, b->rank);
        if (gives_one(b, op))
            *table = block_for(op, op->kind == DNET_NONBLOCKING_GATHERV ? op->root : 1 - b->rank);
        else
            for (uint32_t r = 0; r < b->size; r++)
                table[r] = block_for(op, r);
    } else if (op->kind != DNET_NONBLOCKING_GATHERV) {
        dnet_parcel_give(b, &op->give, parcel_of(b, op, b->rank, bytes));
    } else if (bytes) {
        dnet_step_put(parcel_of(b, op, b->rank, bytes), op->from, bytes);
    }
}

/* @return how long it is there */
static size_t take_from(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r,
                        block_t place)
{
    const said_t said = said_by(b, op, r);
    if (said.by_address) {
        const block_t block = table_of(b, op, r)[gives_one(b, op) ? 0 : b->rank];
        const size_t bytes = dnet_least(block.bytes, place.bytes);
        if (bytes)
            b->owner.read(b->owner.arg, r, block.at, place.at, bytes);
        return block.bytes;
    }
    const uint8_t *parcel = parcel_of(b, op, r, said.bytes);
    if (op->kind != DNET_NONBLOCKING_GATHERV)
        return dnet_parcel_take(b, parcel, said.bytes, place.at, place.bytes);
    const size_t bytes = dnet_least(said.bytes, place.bytes);
    if (bytes)
        dnet_take(place.at, parcel, bytes);
    return said.bytes;
}

/* @return how long it is where it is given */
static size_t keep_own(const dnet_board_t *b, const dnet_nonblocking_t *op, block_t place)
{
    const block_t block = block_for(op, b->rank);
    const size_t bytes = dnet_least(block.bytes, place.bytes);
    if (bytes && place.at != block.at)
        memmove(place.at, block.at, bytes);
    return block.bytes;
}

void dnet_nonblocking_take_any(const dnet_board_t *b, dnet_nonblocking_t *op)
{
    const bool from_root = op->kind == DNET_NONBLOCKING_SCATTERV;
    for (uint32_t i = 0; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        if (from_root && r != op->root)
            continue;
        const block_t place = place_for(op, r);
        if (!place.at && !place.bytes && from_root && r == b->rank)
            continue; /* it stays where it is */
        op->cut |=
            (r == b->rank ? keep_own(b, op, place) : take_from(b, op, r, place)) > place.bytes;
    }
}
