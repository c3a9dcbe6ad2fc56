/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A block of each rank for one, and of one for each.  Who only gives leaves as soon as all is in
 * its slots; long blocks are moved by the ranks that have one each, not by the root.
 *
 * Of blocks of any lengths the root knows all and each other rank its own.  So who gives says how,
 * and how many bytes: in a program that is wrong who takes has counted on fewer.
 */
#include "collective/blocks.h"
#include "collective/in_place.h"
#include "collective/parcel.h"

/* Where a block is at the root, for others to read or write, and how long it is there. */
typedef struct {
    uint8_t *at;
    size_t bytes;
} place_t;

static place_t *places_of(const dnet_board_t *b, uint32_t r)
{
    return (place_t *) (void *) dnet_board_slot_data(b, r, b->step);
}

/* Begun by what the root says, or to be begun. */
static void give_places(dnet_board_t *b, const dnet_blocks_at_t *blocks)
{
    place_t *places = places_of(b, b->rank);
    for (uint32_t r = 0; r < b->size; r++)
        places[r] = (place_t){dnet_block_at(blocks, r), dnet_block_bytes(blocks, r)};
    dnet_step_contribute(b);
}

/* Are blocks moved where they are, each by the rank that has it or needs it? */
static bool is_moved_by_each(const dnet_board_t *b, size_t bytes)
{
    return b->size > 2 ? dnet_in_place_is_read(b, bytes) : dnet_in_place_is_moved_of_two(b, bytes);
}

/* ---- to one ---- */

static void gather_in_place(dnet_board_t *b, const uint8_t *from, uint8_t *to, size_t bytes,
                            uint32_t root)
{
    if (b->rank == root) {
        dnet_in_place_say(b, &(dnet_offer_t){.result = to, .bytes = bytes});
        if (to + root * bytes != from)
            memcpy(to + root * bytes, from, bytes);
        dnet_in_place_end(b);
    } else {
        b->step++;
        const dnet_offer_t offer = dnet_in_place_offered(b, root);
        dnet_in_place_write(b, root, from, offer.result + b->rank * offer.bytes,
                            dnet_least(bytes, offer.bytes));
        dnet_step_end(b);
    }
}

/* Bytes from `at` on of all blocks, in as many steps as the longest needs.  `to`: at the root;
 * `bytes`: elsewhere, of the own block */
static void gather_pieces(dnet_board_t *b, const uint8_t *from, size_t bytes,
                          const dnet_blocks_at_t *to, size_t at, size_t longest, uint32_t root)
{
    for (; at < longest; at += b->slot_bytes) {
        const size_t n = dnet_least(longest - at, b->slot_bytes);
        if (b->rank != root) {
            uint8_t *mine = dnet_step_begin(b, n);
            if (bytes > at)
                dnet_step_put(mine, from + at, dnet_blocks_piece(bytes, at, n));
            dnet_step_contribute(b);
            dnet_step_end(b);
            continue;
        }
        dnet_step_next(b, n);
        for (uint32_t i = 1; i < b->size; i++) {
            uint32_t r = (root + i) % b->size;
            dnet_take(dnet_block_at(to, r) + at, dnet_step_contribution(b, r, n),
                      dnet_blocks_piece(dnet_block_bytes(to, r), at, n));
        }
        dnet_step_end_of_all(b);
    }
}

void dnet_board_gather(dnet_board_t *b, const void *from, void *to, size_t bytes, uint32_t root)
{
    uint8_t *own = b->rank == root ? (uint8_t *) to + root * bytes : NULL;
    if (is_moved_by_each(b, bytes)) {
        gather_in_place(b, from, to, bytes, root);
        return;
    }
    const dnet_blocks_at_t all = {to, {.each = bytes}, 1};
    gather_pieces(b, from, bytes, &all, 0, bytes, root);
    if (own && own != from && bytes)
        memcpy(own, from, bytes);
}

/* Is a block of any length written to its place?  More than a slot holds, and what is so sooner. */
static bool is_written(const dnet_board_t *b, size_t bytes)
{
    return b->owner.write && (bytes > b->slot_bytes || dnet_in_place_is_read(b, bytes) ||
                              dnet_in_place_is_moved_of_two(b, bytes));
}

/* The own block, or what a slot holds of it. */
static void give_root(dnet_board_t *b, const uint8_t *from, size_t bytes, uint32_t root)
{
    const bool writes = is_written(b, bytes);
    dnet_parcel_say(b, (dnet_said_t){writes ? DNET_GIVES_ADDRESSES : DNET_GIVES_PARCEL, bytes});
    if (!writes && bytes) {
        const size_t n = dnet_least(bytes, b->slot_bytes);
        dnet_step_put(dnet_parcel_at(b, b->rank, n), from, n);
    }
    dnet_step_contribute(b);
    if (writes) {
        (void) dnet_parcel_said(b, root);
        const place_t place = places_of(b, root)[b->rank];
        dnet_in_place_write(b, root, from, place.at, dnet_least(bytes, place.bytes));
    }
}

/* @return false: some block is longer than its place */
static bool take_all(dnet_board_t *b, const dnet_blocks_at_t *to, size_t longest)
{
    bool writes = is_written(b, longest), fit = true;
    dnet_parcel_say(b, (dnet_said_t){DNET_GIVES_OTHERWISE, longest});
    if (writes)
        give_places(b, to);
    else if (!b->owner.write)
        dnet_step_contribute(b);
    for (uint32_t i = 1; i < b->size; i++) {
        const uint32_t r = (b->rank + i) % b->size;
        const dnet_said_t said = dnet_parcel_said(b, r);
        const size_t n = dnet_least(said.bytes, b->slot_bytes), bytes = dnet_block_bytes(to, r);
        fit &= said.bytes <= bytes;
        if (said.gives == DNET_GIVES_PARCEL) {
            dnet_take(dnet_block_at(to, r), dnet_parcel_at(b, r, n), dnet_least(n, bytes));
        } else if (!writes) {
            give_places(b, to);
            writes = true;
        }
    }
    if (writes)
        dnet_in_place_end(b);
    else
        dnet_step_end_of_all(b);
    return fit;
}

bool dnet_board_gatherv(dnet_board_t *b, const void *from, size_t bytes, const dnet_blocks_at_t *to,
                        uint32_t root)
{
    bool fit = true;
    size_t longest = 0;
    if (b->rank == root) {
        longest = dnet_blocks_longest_of_others(to, b->size, root);
        fit = take_all(b, to, longest);
    } else {
        give_root(b, from, bytes, root);
        if (!b->owner.write) /* which all ranks know */
            longest = dnet_parcel_said(b, root).bytes;
        dnet_step_end(b);
    }
    if (!b->owner.write)
        gather_pieces(b, from, bytes, to, b->slot_bytes, longest, root);
    if (b->rank == root) {
        const size_t own = dnet_least(bytes, dnet_block_bytes(to, root));
        if (from != dnet_block_at(to, root) && own)
            memcpy(dnet_block_at(to, root), from, own);
        fit &= bytes == own;
    }
    return fit;
}

/* ---- from one ---- */

static void scatter_in_place(dnet_board_t *b, const uint8_t *from, uint8_t *to, size_t bytes,
                             uint32_t root)
{
    if (b->rank == root) {
        dnet_in_place_offer(b, from, NULL);
        if (to)
            memcpy(to, from + root * bytes, bytes);
        dnet_in_place_end(b);
    } else {
        b->step++;
        dnet_in_place_read(b, root, dnet_in_place_offered(b, root).from + b->rank * bytes, to,
                           bytes);
        dnet_step_end(b);
    }
}

/* As many steps as the longest block needs.  `from`: at the root, in whose slot there is no block
 * for itself; `bytes`: elsewhere, of the own block */
static void scatter_pieces(dnet_board_t *b, const dnet_blocks_at_t *from, uint8_t *to, size_t bytes,
                           size_t longest, uint32_t root)
{
    const size_t piece = b->slot_bytes / (b->size - 1) / DNET_BOARD_LINE * DNET_BOARD_LINE;
    for (size_t at = 0; at < longest; at += piece) {
        const size_t n = dnet_least(longest - at, piece), all = n * (b->size - 1);
        if (b->rank == root) {
            uint8_t *mine = dnet_step_begin(b, all);
            for (uint32_t r = 0; r < b->size; r++)
                if (r != root)
                    dnet_step_put(mine + dnet_blocks_in_slot(r, root) * n,
                                  dnet_block_at(from, r) + at,
                                  dnet_blocks_piece(dnet_block_bytes(from, r), at, n));
            dnet_step_contribute(b);
        } else {
            dnet_step_next(b, all);
            const uint8_t *theirs = dnet_step_contribution(b, root, all);
            if (bytes > at)
                dnet_take(to + at, theirs + dnet_blocks_in_slot(b->rank, root) * n,
                          dnet_blocks_piece(bytes, at, n));
        }
        dnet_step_end(b);
    }
}

/* More than a few ranks read blocks that the root would have to give in many steps, however fast
 * the kernel is (16 ranks, 16 KB 58 us by slots, 32 KB 10 so). */
static bool is_read_by_each(const dnet_board_t *b, size_t bytes)
{
    if (b->size > FEW_RANKS && b->owner.read && bytes >= READ_LEAST_BYTES)
        return true;
    return is_moved_by_each(b, bytes);
}

void dnet_board_scatter(dnet_board_t *b, const void *from, void *to, size_t bytes, uint32_t root)
{
    if (is_read_by_each(b, bytes)) {
        scatter_in_place(b, from, to, bytes, root);
        return;
    }
    const dnet_blocks_at_t all = {(void *) from, {.each = bytes}, 1};
    scatter_pieces(b, &all, to, bytes, bytes, root);
    if (b->rank == root && to && bytes)
        memcpy(to, (const uint8_t *) from + root * bytes, bytes);
    dnet_step_came_from(b, root);
}

/* @return what it has said */
static dnet_said_t give_each(dnet_board_t *b, const dnet_blocks_at_t *from)
{
    const size_t parcel_bytes = dnet_parcel_bytes(b, from);
    const size_t longest = dnet_blocks_longest_of_others(from, b->size, b->rank);
    dnet_said_t said = {DNET_GIVES_OTHERWISE, longest};
    if (is_read_by_each(b, longest))
        said.gives = DNET_GIVES_ADDRESSES;
    else if (parcel_bytes <= b->slot_bytes)
        said = (dnet_said_t){DNET_GIVES_PARCEL, parcel_bytes};
    dnet_parcel_say(b, said);
    if (said.gives == DNET_GIVES_PARCEL) {
        dnet_parcel_give(b, from, dnet_parcel_at(b, b->rank, parcel_bytes));
        dnet_step_contribute(b);
    } else {
        give_places(b, from);
    }
    if (said.gives == DNET_GIVES_ADDRESSES)
        dnet_in_place_end(b);
    else
        dnet_step_end(b);
    return said;
}

/* *given_p: how long the own block is at the root.  @return what the root says */
static dnet_said_t take_own(dnet_board_t *b, void *to, size_t bytes, uint32_t root, size_t *given_p)
{
    dnet_step_next(b, 0);
    const dnet_said_t said = dnet_parcel_said(b, root);
    if (said.gives == DNET_GIVES_PARCEL) {
        *given_p = dnet_parcel_take(b, dnet_parcel_at(b, root, said.bytes), said.bytes, to, bytes);
    } else {
        const place_t place = places_of(b, root)[b->rank];
        *given_p = place.bytes;
        if (said.gives == DNET_GIVES_ADDRESSES)
            dnet_in_place_read(b, root, place.at, to, dnet_least(bytes, place.bytes));
    }
    dnet_step_end(b);
    return said;
}

bool dnet_board_scatterv(dnet_board_t *b, const dnet_blocks_at_t *from, void *to, size_t bytes,
                         uint32_t root)
{
    size_t given = b->rank == root ? dnet_block_bytes(from, root) : 0;
    const dnet_said_t said =
        b->rank == root ? give_each(b, from) : take_own(b, to, bytes, root, &given);
    if (said.gives == DNET_GIVES_OTHERWISE)
        scatter_pieces(b, from, to, bytes, said.bytes, root);
    if (b->rank == root && to && bytes)
        memcpy(to, dnet_block_at(from, root), dnet_least(bytes, given));
    if (said.gives != DNET_GIVES_ADDRESSES)
        dnet_step_came_from(b, root); /* else it has waited for all */
    return given <= bytes || (b->rank == root && !to);
}
