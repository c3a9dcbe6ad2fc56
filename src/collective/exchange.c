/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of any lengths from each rank to each: only the two ranks of a block know how long it is.
 *
 * So a rank says in one step what all need to know to find theirs.  Few bytes it gives with that,
 * in a parcel.  Of more it says the addresses, where the others read, or both move in pairs.  Two
 * ranks exchange pieces in steps where to read is slow, as they may with blocks of one length.
 */
#include "collective/exchange.h"

#include "collective/in_place.h"
#include "collective/parcel.h"

/* That two ranks exchange in a step. */
#define PIECE 8192u

/* PAIR_CUT: moved, but a block was longer than its place. */
enum { PAIR_WAITS, PAIR_TAKEN, PAIR_MOVED, PAIR_CUT };
/* For each other rank, in the slot of one that gives addresses. */
typedef struct {
    const uint8_t *from;
    uint8_t *to;
    size_t given, taken; /* bytes */
    dnet_word_t pair;    /* with a higher rank; those of lower ones have theirs */
} exchanged_t;

static exchanged_t *exchanged_of(const dnet_board_t *b, uint32_t r)
{
    return (exchanged_t *) (void *) dnet_board_slot_data(b, r, b->step);
}

/* Blocks that are replaced by those that come cannot be read meanwhile. */
static dnet_gives_t how_to_give(const dnet_board_t *b, const dnet_exchange_t *x,
                                size_t parcel_bytes)
{
    const size_t longest = dnet_blocks_longest_of_others(&x->give, b->size, b->rank);
    bool fits = parcel_bytes <= b->slot_bytes;
    bool is_read = x->give.at != x->take.at && b->owner.read;
    bool sooner = (b->owner.copies == DNET_KERNEL_FAST && longest >= READ_LEAST_BYTES) ||
                  dnet_in_place_is_read_by_two(b, longest);
    if (fits && !(is_read && sooner))
        return DNET_GIVES_PARCEL;
    /* By messages it takes 1.4 to 2.3 times as long (4 to 16 ranks on two processors of Zen 1). */
    bool slow = b->owner.copies == DNET_KERNEL_SLOW && longest < READ_BYTES_SLOW &&
                !dnet_in_place_is_moved_by_one(b);
    return is_read && !slow ? DNET_GIVES_ADDRESSES : DNET_GIVES_OTHERWISE;
}

static void give_addresses(const dnet_board_t *b, const dnet_exchange_t *x)
{
    exchanged_t *mine = exchanged_of(b, b->rank);
    for (uint32_t r = 0; r < b->size; r++) {
        mine[r].from = dnet_block_at(&x->give, r);
        mine[r].to = dnet_block_at(&x->take, r);
        mine[r].given = dnet_block_bytes(&x->give, r);
        mine[r].taken = dnet_block_bytes(&x->take, r);
        atomic_store_explicit(&mine[r].pair, PAIR_WAITS, memory_order_relaxed);
    }
}

/* This and the next two return false where a block is longer than its place. */
static bool keep_own(const dnet_board_t *b, const dnet_exchange_t *x)
{
    const size_t given = dnet_block_bytes(&x->give, b->rank);
    const size_t bytes = dnet_least(given, dnet_block_bytes(&x->take, b->rank));
    const uint8_t *from = dnet_block_at(&x->give, b->rank);
    uint8_t *to = dnet_block_at(&x->take, b->rank);
    if (from != to && bytes)
        memcpy(to, from, bytes);
    return given == bytes;
}

static bool read_block(const dnet_board_t *b, const dnet_exchange_t *x, uint32_t r)
{
    const exchanged_t *theirs = &exchanged_of(b, r)[b->rank];
    const size_t most = dnet_block_bytes(&x->take, r);
    dnet_in_place_read(b, r, theirs->from, dnet_block_at(&x->take, r),
                       dnet_least(theirs->given, most));
    return theirs->given <= most;
}

static bool write_block(const dnet_board_t *b, const dnet_exchange_t *x, uint32_t r)
{
    const exchanged_t *theirs = &exchanged_of(b, r)[b->rank];
    const size_t bytes = dnet_block_bytes(&x->give, r);
    dnet_in_place_write(b, r, dnet_block_at(&x->give, r), theirs->to,
                        dnet_least(bytes, theirs->taken));
    return bytes <= theirs->taken;
}

/* ---- in pairs ---- */

static dnet_word_t *pair_with(const dnet_board_t *b, uint32_t r)
{
    return r < b->rank ? &exchanged_of(b, r)[b->rank].pair : &exchanged_of(b, b->rank)[r].pair;
}

static bool pair_take(dnet_word_t *pair)
{
    uint64_t state = PAIR_WAITS;
    return atomic_compare_exchange_strong_explicit(pair, &state, PAIR_TAKEN, memory_order_relaxed,
                                                   memory_order_relaxed);
}

/* All have given addresses.  @return false: some block of this rank, either way, was cut */
static bool move_pairs(dnet_board_t *b, const dnet_exchange_t *x)
{
    bool fit = keep_own(b, x);
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        dnet_word_t *pair = pair_with(b, r);
        if (!pair_take(pair))
            continue;
        const bool read = read_block(b, x, r), written = write_block(b, x, r);
        dnet_word_set(b, pair, read && written ? PAIR_MOVED : PAIR_CUT);
    }
    for (uint32_t r = 0; r < b->size; r++) {
        if (r == b->rank)
            continue;
        dnet_word_wait_for(b, pair_with(b, r), PAIR_MOVED, r);
        fit &= !dnet_word_has_come(pair_with(b, r), PAIR_CUT);
    }
    dnet_step_end_of_all(b);
    return fit;
}

bool dnet_exchange_by_pairs(dnet_board_t *b, const dnet_exchange_t *x)
{
    (void) dnet_step_begin(b, 0);
    give_addresses(b, x);
    dnet_step_contribute(b);
    (void) dnet_step_meet(b);
    return move_pairs(b, x);
}

/* ---- of two ranks ---- */

/* For each other, piece by piece. */
typedef struct {
    const uint8_t *from;
    uint8_t *to;
    size_t given, taken;       /* bytes */
    const dnet_exchange_t *of; /* whose own block is kept meanwhile; NULL: none */
} swap_t;

/* `longest`: of the two blocks, as both know it.  @return false: the own one is longer than its
 * place */
static bool swap_pieces(dnet_board_t *b, const swap_t *x, size_t longest)
{
    bool fit = true;
    for (size_t at = 0; at < longest; at += PIECE) {
        const size_t most = dnet_least(longest - at, PIECE);
        dnet_step_put(dnet_step_begin(b, most), x->from + at,
                      dnet_blocks_piece(x->given, at, most));
        dnet_step_contribute(b);
        if (at == 0 && x->of)
            fit = keep_own(b, x->of);
        const uint8_t *theirs = dnet_step_contribution(b, 1 - b->rank, most);
        dnet_take(x->to + at, theirs, dnet_blocks_piece(x->taken, at, most));
        dnet_step_end_of_all(b);
    }
    return fit;
}

dnet_pair_way_t dnet_board_pair_offer(dnet_board_t *b, const void *from, dnet_pair_way_t way)
{
    if (way == DNET_PAIR_READS && !b->owner.read)
        way = DNET_PAIR_OTHERWISE;
    const dnet_offer_t mine = {.from = from, .way = (int) way};
    dnet_in_place_say(b, &mine);
    const dnet_offer_t theirs = dnet_in_place_offered(b, 1 - b->rank);
    if (b->rank != 0)
        way = (dnet_pair_way_t) theirs.way;
    if (!mine.from || !theirs.from)
        way = DNET_PAIR_OTHERWISE;
    if (way != DNET_PAIR_READS)
        dnet_step_end_of_all(b);
    return way;
}

void dnet_board_pair_read(dnet_board_t *b, void *to, size_t bytes)
{
    const uint32_t r = 1 - b->rank;
    dnet_in_place_read(b, r, dnet_in_place_offered(b, r).from, to, bytes);
    dnet_step_end(b);
}

void dnet_board_pair_end(dnet_board_t *b)
{
    dnet_in_place_end(b);
}

void dnet_board_pair_put(dnet_board_t *b, const void *from, void *to, size_t bytes)
{
    (void) swap_pieces(b, &(swap_t){from, to, bytes, bytes, NULL}, bytes);
}

/* ---- of any lengths ---- */

dnet_moved_t dnet_board_alltoallv(dnet_board_t *b, const dnet_exchange_t *x)
{
    const size_t parcel_bytes = dnet_parcel_bytes(b, &x->give);
    const dnet_gives_t mine = how_to_give(b, x, parcel_bytes);
    dnet_parcel_say(b, (dnet_said_t){mine, parcel_bytes});
    if (mine == DNET_GIVES_PARCEL)
        dnet_parcel_give(b, &x->give, dnet_parcel_at(b, b->rank, parcel_bytes));
    else if (mine == DNET_GIVES_ADDRESSES)
        give_addresses(b, x);
    dnet_step_contribute(b);
    (void) dnet_step_meet(b);

    dnet_gives_t least = DNET_GIVES_OTHERWISE,
                 most = DNET_GIVES_PARCEL; /* of all: the same on each */
    size_t longest = 0;
    for (uint32_t r = 0; r < b->size; r++) {
        const dnet_said_t said = dnet_parcel_said(b, r);
        least = said.gives < least ? said.gives : least;
        most = said.gives > most ? said.gives : most;
        longest = said.bytes > longest ? said.bytes : longest;
    }
    if (most == DNET_GIVES_OTHERWISE && b->size == 2 && longest < READ_BYTES_SLOW) {
        const uint32_t other = 1 - b->rank;
        const size_t theirs = dnet_parcel_said(b, other).bytes;
        const swap_t both = {dnet_block_at(&x->give, other), dnet_block_at(&x->take, other),
                             dnet_block_bytes(&x->give, other), dnet_block_bytes(&x->take, other),
                             x};
        return swap_pieces(b, &both, longest) && theirs <= both.taken ? DNET_MOVED : DNET_MOVED_CUT;
    }
    if (most == DNET_GIVES_OTHERWISE) {
        dnet_step_end_of_all(b);
        return DNET_NOT_MOVED;
    }
    if (least == DNET_GIVES_ADDRESSES && !b->spins && b->size > 2)
        return move_pairs(b, x) ? DNET_MOVED : DNET_MOVED_CUT;
    bool fit = true;
    for (uint32_t i = 1; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        const dnet_said_t said = dnet_parcel_said(b, r);
        const size_t bytes = dnet_block_bytes(&x->take, r);
        if (said.gives == DNET_GIVES_ADDRESSES)
            fit &= read_block(b, x, r);
        else
            fit &= dnet_parcel_take(b, dnet_parcel_at(b, r, said.bytes), said.bytes,
                                    dnet_block_at(&x->take, r), bytes) <= bytes;
    }
    dnet_step_end_of_all(b);
    fit &= keep_own(b, x); /* while others read */
    if (most == DNET_GIVES_ADDRESSES)
        dnet_in_place_wait(b);
    return fit ? DNET_MOVED : DNET_MOVED_CUT;
}
