/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What ranks give and take of a nonblocking collective.
 *
 * By slots: a vector, or a block of each, in pieces that have room in one.  By address: a rank says
 * where its data are, and others read or write there.
 */
#include "collective/nonblocking_data.h"

#include "collective/in_place.h"
#include "collective/nonblocking_blocks.h"
#include "collective/nonblocking_pairs.h"

/* Up to so many bytes two ranks move by slots, of a vector and of each block.  Beyond, blocks that
 * they exchange are read where they are; others go another way, as messages, of which both move
 * pieces (64 KB of a broadcast 0.8, 128 KB of a gather 1.3 of the time by slots).  What only those
 * two know the length of goes in no pieces, so only what one slot has room for (32 KB of a gatherv
 * by address 1.9 of the time by messages). */
#define VECTOR_OF_TWO_MOST 65536u
#define BLOCK_OF_TWO_MOST 32768u
/* More ranks do up to so many pieces; an allgather, which is a copy that all find in the cache, and
 * a reduction always. */
#define PIECES_MOST 8u
#define PIECES_OF_ALLTOALL_MOST 16u
/* All ranks' vectors together, from which on each of more than two combines a part of it. */
#define COMBINE_ALL_BYTES 65536u

static inline bool is_of_blocks_for_each(dnet_nonblocking_kind_t kind)
{
    return kind == DNET_NONBLOCKING_SCATTER || kind == DNET_NONBLOCKING_ALLTOALL;
}

static inline bool is_reduction(dnet_nonblocking_kind_t kind)
{
    return kind == DNET_NONBLOCKING_REDUCE || kind == DNET_NONBLOCKING_ALLREDUCE ||
           kind == DNET_NONBLOCKING_REDUCE_SCATTER;
}

/* Bytes of a vector, or of each block, that have room in a slot. */
static size_t room_of(const dnet_board_t *b, dnet_nonblocking_kind_t kind)
{
    if (!is_of_blocks_for_each(kind))
        return b->nonblocking.slot_bytes;
    const size_t each = b->nonblocking.slot_bytes / b->size;
    return each < DNET_BOARD_LINE ? each : each & -(size_t) DNET_BOARD_LINE;
}

static size_t most_by_slots(const dnet_board_t *b, dnet_nonblocking_kind_t kind)
{
    if (is_reduction(kind))
        return SIZE_MAX;
    if (b->size == 2)
        return kind == DNET_NONBLOCKING_BCAST ? VECTOR_OF_TWO_MOST : BLOCK_OF_TWO_MOST;
    if (kind == DNET_NONBLOCKING_ALLGATHER)
        return SIZE_MAX;
    return room_of(b, kind) *
           (kind == DNET_NONBLOCKING_ALLTOALL ? PIECES_OF_ALLTOALL_MOST : PIECES_MOST);
}

/* Of two ranks, where the kernel copies fairly fast: 32 KB of a scatter 0.6, of a broadcast 0.8 of
 * the time by slots, 128 KB of a broadcast 1.15 of that as a message. */
static bool is_read_by_two(const dnet_board_t *b, dnet_nonblocking_kind_t kind, size_t bytes)
{
    return !is_reduction(kind) && dnet_in_place_is_moved_of_two(b, bytes) &&
           (kind != DNET_NONBLOCKING_BCAST || bytes <= VECTOR_OF_TWO_MOST);
}

bool dnet_board_reads_nonblocking(const dnet_board_t *b, dnet_nonblocking_kind_t kind, size_t bytes)
{
    const bool exchange = kind == DNET_NONBLOCKING_ALLGATHER || kind == DNET_NONBLOCKING_ALLTOALL;
    return is_read_by_two(b, kind, bytes) ||
           (bytes > most_by_slots(b, kind) && b->owner.read && (b->size > 2 || exchange));
}

bool dnet_board_has_nonblocking(const dnet_board_t *b, dnet_nonblocking_kind_t kind, size_t bytes)
{
    if (dnet_nonblocking_is_of_any_lengths(kind))
        return dnet_nonblocking_has_any_lengths(b) &&
               (b->size > 2 || kind == DNET_NONBLOCKING_ALLTOALLV || bytes <= room_of(b, kind) ||
                is_read_by_two(b, kind, bytes));
    return bytes <= most_by_slots(b, kind) || dnet_board_reads_nonblocking(b, kind, bytes);
}

void dnet_nonblocking_plan(const dnet_board_t *b, dnet_nonblocking_t *op)
{
    size_t room = room_of(b, op->kind);
    op->in_parts = false;
    op->in_pairs = false;
    op->pairs_at = 0;
    op->piece = op->bytes;
    op->pieces = 1;
    if (dnet_nonblocking_is_of_any_lengths(op->kind)) {
        op->by_address =
            dnet_nonblocking_gives(b, op) && dnet_nonblocking_any_are_long(b, op, room);
        return;
    }
    op->by_address = dnet_board_reads_nonblocking(b, op->kind, op->bytes);
    if (op->by_address)
        return;
    op->in_parts = op->kind == DNET_NONBLOCKING_ALLREDUCE && b->size > 2 &&
                   op->bytes * b->size > COMBINE_ALL_BYTES;
    if (op->bytes <= room)
        return;
    if (is_reduction(op->kind)) {
        const size_t element = op->bytes / op->count;
        room = room / element * element;
    }
    op->piece = room;
    op->pieces = (op->bytes + room - 1) / room;
}

/* ---- by slots ---- */

/* A piece: where it begins in the vector or in each block, its length there, and what a rank gives
 * of it, but that of an allgather may be shorter. */
typedef struct {
    uint64_t number;
    size_t at, bytes, given;
} piece_t;

static inline piece_t piece_of(const dnet_board_t *b, const dnet_nonblocking_t *op, size_t which)
{
    const size_t at = which * op->piece, bytes = dnet_least(op->bytes - at, op->piece);
    return (piece_t){dnet_nonblocking_number(op, which), at, bytes,
                     is_of_blocks_for_each(op->kind) ? bytes * b->size : bytes};
}

/* Bytes of a rank's block of an allgather. */
static inline size_t bytes_of_block(const dnet_nonblocking_t *op, const piece_t *piece, uint32_t r)
{
    return dnet_blocks_piece(dnet_block_bytes(&op->take, r), piece->at, piece->bytes);
}

static inline uint8_t *data_of(const dnet_board_t *b, uint32_t rank, const piece_t *piece)
{
    return dnet_nonblocking_data(b, rank, piece->number, piece->given);
}

static void give_piece(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    const piece_t piece = piece_of(b, op, op->given);
    const uint8_t *from = (const uint8_t *) op->from + piece.at;
    uint8_t *mine = data_of(b, b->rank, &piece);
    if (op->kind == DNET_NONBLOCKING_ALLGATHER) {
        const size_t bytes = bytes_of_block(op, &piece, b->rank);
        if (bytes)
            dnet_step_put(mine, from, bytes);
    } else if (op->pieces == 1 || piece.given == piece.bytes) {
        if (piece.given)
            dnet_step_put(mine, from, piece.given);
    } else {
        for (uint32_t r = 0; r < b->size; r++)
            dnet_step_put(mine + r * piece.bytes, from + r * op->bytes, piece.bytes);
    }
}

static inline size_t elements_of(const dnet_nonblocking_t *op, size_t bytes)
{
    return op->bytes ? bytes / (op->bytes / op->count) : 0;
}

/* `bytes` bytes from `at` on in a piece, in the order of ranks, so that all have the same result.
 */
static void combine_all(const dnet_board_t *b, const dnet_nonblocking_t *op, const piece_t *piece,
                        size_t at, size_t bytes, uint8_t *to)
{
    const size_t count = elements_of(op, bytes);
    const uint8_t *before = data_of(b, 0, piece) + at;
    for (uint32_t r = 1; r < b->size; r++) {
        op->fn(data_of(b, r, piece) + at, before, to, count, op->how);
        before = to;
    }
}

/* The own block, as far as it is in this piece.  In place it comes to where all that is there
 * already has been given. */
static void combine_block(const dnet_board_t *b, const dnet_nonblocking_t *op, const piece_t *piece)
{
    const size_t first = dnet_blocks_before(&op->take.blocks, b->rank) * op->take.element_bytes;
    const size_t end = first + dnet_block_bytes(&op->take, b->rank);
    const size_t from = first > piece->at ? first : piece->at;
    const size_t to = dnet_least(end, piece->at + piece->bytes);
    if (from < to)
        combine_all(b, op, piece, from - piece->at, to - from, (uint8_t *) op->to + (from - first));
}

/* A rank's part of a piece. */
typedef struct {
    size_t at, count, bytes;
} part_t;

static inline part_t part_of(const dnet_board_t *b, const dnet_nonblocking_t *op,
                             const piece_t *piece, uint32_t rank)
{
    const size_t count = elements_of(op, piece->bytes), element = op->bytes / op->count;
    const size_t first = count * rank / b->size, end = count * (rank + 1) / b->size;
    return (part_t){first * element, end - first, (end - first) * element};
}

void dnet_nonblocking_combine(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    const piece_t piece = piece_of(b, op, op->combined);
    const part_t part = part_of(b, op, &piece, b->rank);
    uint8_t *mine = data_of(b, b->rank, &piece) + part.at;
    for (uint32_t i = 1; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        op->fn(data_of(b, r, &piece) + part.at, mine, mine, part.count, op->how);
    }
    dnet_nonblocking_contribute(b, piece.number + 1);
}

static void collect_parts(const dnet_board_t *b, const dnet_nonblocking_t *op, const piece_t *piece)
{
    uint8_t *to = (uint8_t *) op->to + piece->at;
    for (uint32_t i = 0; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        const part_t part = part_of(b, op, piece, r);
        dnet_take(to + part.at, data_of(b, r, piece) + part.at, part.bytes);
    }
}

static void keep_own(void *to, const void *from, size_t bytes)
{
    if (to && to != from && bytes)
        memmove(to, from, bytes);
}

static void take_blocks(const dnet_board_t *b, const dnet_nonblocking_t *op, const piece_t *piece)
{
    for (uint32_t r = 0; r < b->size; r++) {
        const size_t bytes = bytes_of_block(op, piece, r);
        if (bytes)
            dnet_take(dnet_block_at(&op->take, r) + piece->at, data_of(b, r, piece), bytes);
    }
}

/* This rank's block of what each has given. */
static void take_own_of_all(const dnet_board_t *b, const dnet_nonblocking_t *op,
                            const piece_t *piece)
{
    for (uint32_t r = 0; r < b->size; r++)
        dnet_take((uint8_t *) op->to + r * op->bytes + piece->at,
                  data_of(b, r, piece) + b->rank * piece->bytes, piece->bytes);
}

static void take_piece(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    const piece_t piece = piece_of(b, op, op->taken);
    const bool is_root = b->rank == op->root;
    uint8_t *to = op->to ? (uint8_t *) op->to + piece.at : NULL;
    const uint8_t *from = (const uint8_t *) op->from + piece.at;
    switch (op->kind) {
        case DNET_NONBLOCKING_BARRIER:
            break;
        case DNET_NONBLOCKING_BCAST:
            dnet_take(to, data_of(b, op->root, &piece), piece.bytes);
            break;
        case DNET_NONBLOCKING_REDUCE:
            combine_all(b, op, &piece, 0, piece.bytes, to);
            break;
        case DNET_NONBLOCKING_ALLREDUCE:
            if (op->in_parts)
                collect_parts(b, op, &piece);
            else
                combine_all(b, op, &piece, 0, piece.bytes, to);
            break;
        case DNET_NONBLOCKING_REDUCE_SCATTER:
            combine_block(b, op, &piece);
            break;
        case DNET_NONBLOCKING_SCATTER:
            if (is_root)
                keep_own(to, from + b->rank * op->bytes, piece.bytes);
            else
                dnet_take(to, data_of(b, op->root, &piece) + b->rank * piece.bytes, piece.bytes);
            break;
        case DNET_NONBLOCKING_GATHER:
            for (uint32_t r = 0; r < b->size; r++)
                if (r == b->rank)
                    keep_own(to + r * op->bytes, from, piece.bytes);
                else
                    dnet_take(to + r * op->bytes, data_of(b, r, &piece), piece.bytes);
            break;
        case DNET_NONBLOCKING_ALLGATHER:
            take_blocks(b, op, &piece);
            break;
        case DNET_NONBLOCKING_ALLTOALL:
            take_own_of_all(b, op, &piece);
            break;
        case DNET_NONBLOCKING_GATHERV:
        case DNET_NONBLOCKING_SCATTERV:
        case DNET_NONBLOCKING_ALLTOALLV:
            break; /* not in pieces */
    }
}

/* ---- by address ---- */

/* Where a rank says in its slot that its data are and go. */
typedef struct {
    const uint8_t *from;
    uint8_t *to;
    size_t bytes; /* of each block, or of the vector: in a program that is wrong not the same */
} places_t;
_Static_assert(sizeof(places_t) <= WITH_NUMBER_BYTES, "beside the number");

static inline bool goes_in_pairs(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_ALLTOALL && dnet_nonblocking_moves_pairs(b);
}

static void give_places(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    const places_t mine = {op->from, op->to, op->bytes};
    if (goes_in_pairs(b, op))
        dnet_nonblocking_pairs_begin(b, op->number, 0);
    memcpy(dnet_nonblocking_slot(b, b->rank, op->number), &mine, sizeof(mine));
}

static inline places_t places_of(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r)
{
    places_t theirs;
    memcpy(&theirs, dnet_nonblocking_slot(b, r, op->number), sizeof(theirs));
    return theirs;
}

/* Block `which` of those that a rank gives. */
static void read_block(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r,
                       uint32_t which, void *to)
{
    const places_t theirs = places_of(b, op, r);
    dnet_in_place_read(b, r, theirs.from + which * theirs.bytes, to,
                       dnet_least(op->bytes, theirs.bytes));
}

/* The own one of those that it takes. */
static void write_block(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r,
                        const void *from)
{
    const places_t theirs = places_of(b, op, r);
    dnet_in_place_write(b, r, from, theirs.to + b->rank * theirs.bytes,
                        dnet_least(op->bytes, theirs.bytes));
}

static void move_pairs(const dnet_board_t *b, dnet_nonblocking_t *op)
{
    const uint8_t *from = op->from;
    uint8_t *to = op->to;
    const size_t own = b->rank * op->bytes;
    op->in_pairs = true;
    keep_own(to + own, from + own, op->bytes);
    for (uint32_t i = 1; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        dnet_pair_t *pair = dnet_nonblocking_pair(b, op->number, 0, r);
        if (!dnet_nonblocking_pair_take(pair))
            continue;
        read_block(b, op, r, b->rank, to + r * op->bytes);
        write_block(b, op, r, from + r * op->bytes);
        dnet_nonblocking_pair_end(b, pair);
    }
}

static void read_blocks(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    for (uint32_t i = 0; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        const size_t bytes = dnet_block_bytes(&op->take, r);
        if (r == b->rank)
            keep_own(dnet_block_at(&op->take, r), op->from, bytes);
        else
            dnet_in_place_read(b, r, places_of(b, op, r).from, dnet_block_at(&op->take, r), bytes);
    }
}

/* This rank's block of what each gives. */
static void read_own_of_all(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    const size_t at = b->rank * op->bytes;
    for (uint32_t i = 0; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        uint8_t *to = (uint8_t *) op->to + r * op->bytes;
        if (r == b->rank)
            keep_own(to, (const uint8_t *) op->from + at, op->bytes);
        else
            read_block(b, op, r, b->rank, to);
    }
}

static void take_by_address(const dnet_board_t *b, dnet_nonblocking_t *op)
{
    const bool is_root = b->rank == op->root;
    const size_t own = b->rank * op->bytes;
    switch (op->kind) {
        case DNET_NONBLOCKING_BARRIER:
        case DNET_NONBLOCKING_REDUCE:
        case DNET_NONBLOCKING_ALLREDUCE:
        case DNET_NONBLOCKING_REDUCE_SCATTER:
        case DNET_NONBLOCKING_GATHERV:
        case DNET_NONBLOCKING_SCATTERV:
        case DNET_NONBLOCKING_ALLTOALLV:
            break; /* go by slots, or as blocks of any lengths */
        case DNET_NONBLOCKING_BCAST:
            read_block(b, op, op->root, 0, op->to);
            break;
        case DNET_NONBLOCKING_SCATTER:
            if (is_root)
                keep_own(op->to, (const uint8_t *) op->from + own, op->bytes);
            else
                read_block(b, op, op->root, b->rank, op->to);
            break;
        case DNET_NONBLOCKING_GATHER:
            if (is_root)
                keep_own((uint8_t *) op->to + own, op->from, op->bytes);
            else
                write_block(b, op, op->root, op->from);
            break;
        case DNET_NONBLOCKING_ALLGATHER:
            read_blocks(b, op);
            break;
        case DNET_NONBLOCKING_ALLTOALL:
            if (goes_in_pairs(b, op))
                move_pairs(b, op);
            else
                read_own_of_all(b, op);
            break;
    }
}

/* ---- either way ---- */

void dnet_nonblocking_give(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    if (dnet_nonblocking_is_of_any_lengths(op->kind))
        dnet_nonblocking_give_any(b, op);
    else if (op->by_address)
        give_places(b, op);
    else
        give_piece(b, op);
    dnet_nonblocking_contribute(b, dnet_nonblocking_number(op, op->given));
}

void dnet_nonblocking_take(const dnet_board_t *b, dnet_nonblocking_t *op)
{
    if (dnet_nonblocking_is_of_any_lengths(op->kind))
        dnet_nonblocking_take_any(b, op);
    else if (op->by_address)
        take_by_address(b, op);
    else
        take_piece(b, op);
}
