/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/nonblocking_blocks.h"

#include "collective/in_place.h"
#include "collective/nonblocking_pairs.h"
#include "collective/parcel.h"

/* A block where a rank has it, or where it goes. */
typedef struct {
    uint8_t *at;
    size_t bytes;
} block_t;

/* What a rank says in the line of its slot.  `bytes`: of its parcel; of its block for the root. */
typedef struct {
    bool by_address; /* or written where it goes */
    size_t bytes;
} said_t;
/* Behind it, beside the slot's number. */
#define IN_LINE_BYTES (WITH_NUMBER_BYTES - sizeof(uint64_t))

bool dnet_nonblocking_has_any_lengths(const dnet_board_t *b)
{
    return b->owner.read && b->size * sizeof(block_t) <= b->nonblocking.slot_bytes;
}

static inline block_t block_in(const dnet_blocks_at_t *blocks, uint32_t r)
{
    return (block_t){dnet_block_at(blocks, r), dnet_block_bytes(blocks, r)};
}

/* What this rank has for another one, or for itself. */
static block_t block_for(const dnet_nonblocking_t *op, uint32_t r)
{
    return op->kind == DNET_NONBLOCKING_GATHERV ? (block_t){(uint8_t *) op->from, op->bytes}
                                                : block_in(&op->give, r);
}

/* Where what a rank has for this one goes. */
static block_t place_for(const dnet_nonblocking_t *op, uint32_t r)
{
    return op->kind == DNET_NONBLOCKING_SCATTERV ? (block_t){op->to, op->bytes}
                                                 : block_in(&op->take, r);
}

bool dnet_nonblocking_any_are_long(const dnet_board_t *b, const dnet_nonblocking_t *op, size_t room)
{
    const size_t bytes = op->kind != DNET_NONBLOCKING_GATHERV ? dnet_parcel_bytes(b, &op->give)
                         : b->rank == op->root
                             ? dnet_blocks_longest_of_others(&op->take, b->size, b->rank)
                             : op->bytes;
    return bytes > room ||
           (op->kind != DNET_NONBLOCKING_ALLTOALLV && dnet_in_place_is_moved_of_two(b, bytes));
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

/* Where blocks are that a rank has for each, or, of a gatherv's root, go. */
static inline block_t *table_of(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r)
{
    return (block_t *) (void *) dnet_nonblocking_slot_data(b, r, op->number);
}

/* Where what it gets from each goes, if it is moved in pairs; and behind both the pairs. */
static inline block_t *places_of(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r)
{
    return table_of(b, op, r) + b->size;
}

static inline size_t pairs_at(const dnet_board_t *b)
{
    return 2 * b->size * sizeof(block_t);
}

/* Are blocks of two ranks moved in a pair that both give addresses of? */
static inline bool goes_in_pairs(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_ALLTOALLV && dnet_nonblocking_moves_pairs(b) &&
           pairs_at(b) + b->size <= b->nonblocking.slot_bytes;
}

static inline dnet_pair_t *pair_with(const dnet_board_t *b, const dnet_nonblocking_t *op,
                                     uint32_t r)
{
    return dnet_nonblocking_pair(b, op->number, pairs_at(b), r);
}

static void say(const dnet_board_t *b, const dnet_nonblocking_t *op, said_t said)
{
    const uint64_t word = (uint64_t) said.bytes << 1 | said.by_address;
    memcpy(dnet_nonblocking_slot(b, b->rank, op->number), &word, sizeof(word));
}

static inline said_t said_by(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r)
{
    uint64_t word;
    memcpy(&word, dnet_nonblocking_slot(b, r, op->number), sizeof(word));
    return (said_t){word & 1, word >> 1};
}

static void read_block(const dnet_board_t *b, uint32_t r, block_t block, block_t place)
{
    const size_t bytes = dnet_least(block.bytes, place.bytes);
    if (bytes)
        b->owner.read(b->owner.arg, r, block.at, place.at, bytes);
}

static void write_block(const dnet_board_t *b, uint32_t r, block_t block, block_t place)
{
    const size_t bytes = dnet_least(block.bytes, place.bytes);
    if (bytes)
        b->owner.write(b->owner.arg, r, block.at, place.at, bytes);
}

/* ---- for the root ---- */

/* The root says where long blocks go.  The others: what a slot has no room for is written there;
 * in a program that is wrong the root has not counted on it, and takes less. */
static void give_root(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    if (b->rank == op->root) {
        for (uint32_t r = 0; op->by_address && r < b->size; r++)
            table_of(b, op, b->rank)[r] = place_for(op, r);
        say(b, op, (said_t){op->by_address, 0});
        return;
    }
    const block_t block = block_for(op, op->root);
    const bool writes = op->by_address && said_by(b, op, op->root).by_address;
    say(b, op, (said_t){writes, block.bytes});
    if (writes)
        write_block(b, op->root, block, table_of(b, op, op->root)[b->rank]);
    else if (block.bytes)
        dnet_step_put(parcel_of(b, op, b->rank, block.bytes), block.at,
                      dnet_least(block.bytes, b->nonblocking.slot_bytes));
}

/* @return how long it is where it is given; and the next ones */
static size_t take_for_root(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r,
                            block_t place)
{
    const said_t said = said_by(b, op, r);
    const size_t bytes = dnet_least(said.bytes, place.bytes);
    if (!said.by_address && bytes)
        dnet_take(place.at, parcel_of(b, op, r, said.bytes), bytes);
    return said.bytes;
}

/* ---- for each ---- */

static void give_each(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    const size_t bytes = dnet_parcel_bytes(b, &op->give);
    say(b, op, (said_t){op->by_address, bytes});
    if (!op->by_address) {
        dnet_parcel_give(b, &op->give, parcel_of(b, op, b->rank, bytes));
        return;
    }
    for (uint32_t r = 0; r < b->size; r++)
        table_of(b, op, b->rank)[r] = block_for(op, r);
    if (!goes_in_pairs(b, op))
        return;
    for (uint32_t r = 0; r < b->size; r++)
        places_of(b, op, b->rank)[r] = place_for(op, r);
    dnet_nonblocking_pairs_begin(b, op->number, pairs_at(b));
}

static size_t take_from(const dnet_board_t *b, dnet_nonblocking_t *op, uint32_t r, block_t place)
{
    const said_t said = said_by(b, op, r);
    op->in_pairs &= said.by_address;
    if (!said.by_address)
        return dnet_parcel_take(b, parcel_of(b, op, r, said.bytes), said.bytes, place.at,
                                place.bytes);
    const block_t block = table_of(b, op, r)[b->rank];
    if (!op->by_address || !goes_in_pairs(b, op)) {
        read_block(b, r, block, place);
    } else if (dnet_nonblocking_pair_take(pair_with(b, op, r))) {
        read_block(b, r, block, place);
        write_block(b, r, block_for(op, r), places_of(b, op, r)[b->rank]);
        dnet_nonblocking_pair_end(b, pair_with(b, op, r));
    }
    return block.bytes;
}

static size_t keep_own(const dnet_board_t *b, const dnet_nonblocking_t *op, block_t place)
{
    const block_t block = block_for(op, b->rank);
    const size_t bytes = dnet_least(block.bytes, place.bytes);
    if (bytes && place.at != block.at)
        memmove(place.at, block.at, bytes);
    return block.bytes;
}

/* ---- either ---- */

void dnet_nonblocking_give_any(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    if (op->kind == DNET_NONBLOCKING_GATHERV)
        give_root(b, op);
    else
        give_each(b, op);
}

void dnet_nonblocking_take_any(const dnet_board_t *b, dnet_nonblocking_t *op)
{
    const bool from_root = op->kind == DNET_NONBLOCKING_SCATTERV;
    op->in_pairs = op->by_address && goes_in_pairs(b, op);
    op->pairs_at = pairs_at(b);
    for (uint32_t i = 0; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        const block_t place = place_for(op, r);
        if (from_root && (r != op->root || (r == b->rank && !place.at)))
            continue; /* of others; its own stays where it is */
        const size_t given = r == b->rank                           ? keep_own(b, op, place)
                             : op->kind == DNET_NONBLOCKING_GATHERV ? take_for_root(b, op, r, place)
                                                                    : take_from(b, op, r, place);
        op->cut |= given > place.bytes;
    }
}
