/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of any lengths from each rank to each: only the two ranks of a block know how long it is.
 *
 * So a rank says in one step what all need to know to find theirs.  Few bytes it gives with that:
 * its parcel, in which blocks lie one behind the other, behind a table of where each begins if
 * there are several.  Of more it says the addresses, where the others read, or both move in pairs.
 */
#include "collective/exchange.h"

#include "collective/in_place.h"

enum { GIVES_PARCEL, GIVES_ADDRESSES, GIVES_NOTHING };

/* The beginning of the first line of a rank's slot. */
typedef struct {
    uint32_t gives;
    uint32_t bytes; /* of the parcel */
} said_t;

#define WITH_SAID_BYTES (WITH_NUMBER_BYTES - sizeof(said_t))

/* For each other rank, in the slot of one that gives addresses. */
enum { PAIR_WAITS, PAIR_TAKEN, PAIR_MOVED };
typedef struct {
    const uint8_t *from;
    uint8_t *to;
    dnet_word_t pair; /* with a higher rank; those of lower ones have theirs */
} place_t;

/* Where a rank's parcel of so many bytes lies in this step. */
static uint8_t *parcel_at(const dnet_board_t *b, uint32_t r, size_t bytes)
{
    if (bytes <= WITH_SAID_BYTES)
        return dnet_board_slot(b, r, b->step) + sizeof(said_t);
    return bytes <= SHORT_BYTES ? dnet_board_short_data(b, r, b->step)
                                : dnet_board_slot_data(b, r, b->step);
}

static place_t *places_of(const dnet_board_t *b, uint32_t r)
{
    return (place_t *) (void *) dnet_board_slot_data(b, r, b->step);
}

static inline const uint8_t *given_at(const dnet_exchange_t *x, uint32_t r)
{
    return (const uint8_t *) x->from + dnet_blocks_place(x->give, r) * (ptrdiff_t) x->give_bytes;
}

static inline uint8_t *taken_at(const dnet_exchange_t *x, uint32_t r)
{
    return (uint8_t *) x->to + dnet_blocks_place(x->take, r) * (ptrdiff_t) x->take_bytes;
}

static inline size_t given_bytes(const dnet_exchange_t *x, uint32_t r)
{
    return dnet_blocks_count(x->give, r) * x->give_bytes;
}

static inline size_t taken_bytes(const dnet_exchange_t *x, uint32_t r)
{
    return dnet_blocks_count(x->take, r) * x->take_bytes;
}

/* Two ranks have one block for each other. */
static inline size_t table_bytes(const dnet_board_t *b)
{
    return b->size > 2 ? b->size * sizeof(uint32_t) : 0;
}

/* Blocks that are replaced by those that come cannot be read meanwhile. */
static said_t what_to_give(const dnet_board_t *b, const dnet_exchange_t *x)
{
    size_t bytes = table_bytes(b), longest = 0;
    for (uint32_t r = 0; r < b->size; r++)
        if (r != b->rank) {
            bytes += given_bytes(x, r);
            longest = given_bytes(x, r) > longest ? given_bytes(x, r) : longest;
        }
    bool fits = bytes <= b->slot_bytes, is_read = x->from != x->to && b->owner.read;
    if (fits && !(is_read && b->owner.copies == DNET_KERNEL_FAST && longest >= READ_LEAST_BYTES))
        return (said_t){GIVES_PARCEL, (uint32_t) bytes};
    bool slow = b->owner.copies == DNET_KERNEL_SLOW && longest < READ_BYTES_SLOW;
    return (said_t){is_read && !slow ? GIVES_ADDRESSES : GIVES_NOTHING, 0};
}

static void give_parcel(const dnet_board_t *b, const dnet_exchange_t *x, size_t bytes)
{
    uint8_t *parcel = parcel_at(b, b->rank, bytes);
    size_t at = table_bytes(b);
    for (uint32_t r = 0; r < b->size; r++) {
        const uint32_t place = (uint32_t) at;
        if (r == b->rank)
            continue;
        if (b->size > 2)
            memcpy(parcel + r * sizeof(place), &place, sizeof(place));
        dnet_step_put(parcel + at, given_at(x, r), given_bytes(x, r));
        at += given_bytes(x, r);
    }
}

static void give_addresses(const dnet_board_t *b, const dnet_exchange_t *x)
{
    place_t *places = places_of(b, b->rank);
    for (uint32_t r = 0; r < b->size; r++) {
        places[r].from = given_at(x, r);
        places[r].to = taken_at(x, r);
        atomic_store_explicit(&places[r].pair, PAIR_WAITS, memory_order_relaxed);
    }
}

static void keep_own(const dnet_board_t *b, const dnet_exchange_t *x)
{
    if (x->from != x->to && given_bytes(x, b->rank))
        memcpy(taken_at(x, b->rank), given_at(x, b->rank), given_bytes(x, b->rank));
}

static void read_block(const dnet_board_t *b, const dnet_exchange_t *x, uint32_t r)
{
    dnet_in_place_read(b, r, places_of(b, r)[b->rank].from, taken_at(x, r), taken_bytes(x, r));
}

static void take_from_parcel(const dnet_board_t *b, const dnet_exchange_t *x, uint32_t r,
                             size_t bytes)
{
    const uint8_t *parcel = parcel_at(b, r, bytes);
    uint32_t place = 0;
    if (b->size > 2)
        memcpy(&place, parcel + b->rank * sizeof(place), sizeof(place));
    dnet_take(taken_at(x, r), parcel + place, taken_bytes(x, r));
}

/* ---- in pairs ---- */

static dnet_word_t *pair_with(const dnet_board_t *b, uint32_t r)
{
    return r < b->rank ? &places_of(b, r)[b->rank].pair : &places_of(b, b->rank)[r].pair;
}

static bool pair_take(dnet_word_t *pair)
{
    uint64_t state = PAIR_WAITS;
    return atomic_compare_exchange_strong_explicit(pair, &state, PAIR_TAKEN, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* All have given addresses. */
static void move_pairs(dnet_board_t *b, const dnet_exchange_t *x)
{
    keep_own(b, x);
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        dnet_word_t *pair = pair_with(b, r);
        if (!pair_take(pair))
            continue;
        read_block(b, x, r);
        dnet_in_place_write(b, r, given_at(x, r), places_of(b, r)[b->rank].to, given_bytes(x, r));
        dnet_word_set(b, pair, PAIR_MOVED);
    }
    for (uint32_t r = 0; r < b->size; r++)
        if (r != b->rank)
            dnet_word_wait_for(b, pair_with(b, r), PAIR_MOVED, r);
    dnet_step_end_of_all(b);
}

void dnet_exchange_by_pairs(dnet_board_t *b, const dnet_exchange_t *x)
{
    (void) dnet_step_begin(b, 0);
    give_addresses(b, x);
    dnet_step_contribute(b);
    (void) dnet_step_meet(b);
    move_pairs(b, x);
}

/* ---- of any lengths ---- */

/* What a rank has said, when it has. */
static said_t said_by(dnet_board_t *b, uint32_t r)
{
    said_t said;
    memcpy(&said, dnet_step_contribution(b, r, 0), sizeof(said));
    return said;
}

bool dnet_board_alltoallv(dnet_board_t *b, const dnet_exchange_t *x)
{
    const said_t mine = what_to_give(b, x);
    memcpy(dnet_step_begin(b, 0), &mine, sizeof(mine));
    if (mine.gives == GIVES_PARCEL)
        give_parcel(b, x, mine.bytes);
    else if (mine.gives == GIVES_ADDRESSES)
        give_addresses(b, x);
    dnet_step_contribute(b);
    (void) dnet_step_meet(b);

    uint32_t least = GIVES_NOTHING, most = GIVES_PARCEL; /* of all ranks: the same on each */
    for (uint32_t r = 0; r < b->size; r++) {
        const uint32_t gives = said_by(b, r).gives;
        least = gives < least ? gives : least;
        most = gives > most ? gives : most;
    }
    if (most == GIVES_NOTHING) {
        dnet_step_end_of_all(b);
        return false;
    }
    if (least == GIVES_ADDRESSES && !b->spins && b->size > 2) {
        move_pairs(b, x);
        return true;
    }
    keep_own(b, x);
    for (uint32_t i = 1; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        const said_t said = said_by(b, r);
        if (said.gives == GIVES_ADDRESSES)
            read_block(b, x, r);
        else
            take_from_parcel(b, x, r, said.bytes);
    }
    if (most == GIVES_ADDRESSES)
        dnet_in_place_end(b);
    else
        dnet_step_end_of_all(b);
    return true;
}
