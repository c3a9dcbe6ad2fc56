/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A block of each rank for one, and of one for each.  Who only gives leaves as soon as all is in
 * its slots; long blocks are moved by the ranks that have one each, not by the root.
 */
#include "collective/blocks.h"
#include "collective/in_place.h"

/* ---- to one ---- */

static void gather_in_place(dnet_board_t *b, const uint8_t *from, uint8_t *to, size_t bytes,
                            uint32_t root)
{
    if (b->rank == root) {
        dnet_in_place_offer(b, NULL, to);
        if (to + root * bytes != from)
            memcpy(to + root * bytes, from, bytes);
        dnet_in_place_end(b);
    } else {
        b->step++;
        dnet_in_place_write(b, root, from, dnet_in_place_offered(b, root).result + b->rank * bytes,
                            bytes);
        dnet_step_end(b);
    }
}

/* Bytes [at, at + n) of each block in a step. */
static void gather_step(dnet_board_t *b, const uint8_t *from, uint8_t *to, size_t bytes, size_t at,
                        size_t n, uint32_t root)
{
    if (b->rank != root) {
        dnet_step_put(dnet_step_begin(b, n), from + at, n);
        dnet_step_contribute(b);
        dnet_step_end(b);
        return;
    }
    dnet_step_next(b, n);
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (root + i) % b->size;
        dnet_take(to + r * bytes + at, dnet_step_contribution(b, r, n), n);
    }
    dnet_step_end_of_all(b);
}

void dnet_board_gather(dnet_board_t *b, const void *from, void *to, size_t bytes, uint32_t root)
{
    uint8_t *own = b->rank == root ? (uint8_t *) to + root * bytes : NULL;
    if (dnet_in_place_is_read(b, bytes) && b->size > 2) {
        gather_in_place(b, from, to, bytes, root);
        return;
    }
    for (size_t at = 0; at < bytes; at += b->slot_bytes)
        gather_step(b, from, to, bytes, at, dnet_least(bytes - at, b->slot_bytes), root);
    if (own && own != from && bytes)
        memcpy(own, from, bytes);
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

/* In the root's slot there is no block for itself. */
static void scatter_step(dnet_board_t *b, const uint8_t *from, uint8_t *to, size_t bytes, size_t at,
                         size_t n, uint32_t root)
{
    const size_t all = n * (b->size - 1);
    if (b->rank == root) {
        uint8_t *mine = dnet_step_begin(b, all);
        for (uint32_t r = 0; r < b->size; r++)
            if (r != root)
                dnet_step_put(mine + dnet_blocks_in_slot(r, root) * n, from + r * bytes + at, n);
        dnet_step_contribute(b);
    } else {
        dnet_step_next(b, all);
        dnet_take(to + at,
                  dnet_step_contribution(b, root, all) + dnet_blocks_in_slot(b->rank, root) * n, n);
    }
    dnet_step_end(b);
}

/* More than a few ranks read blocks that the root would have to give in many steps, however fast
 * the kernel is (16 ranks, 16 KB 58 us by slots, 32 KB 10 so). */
static bool is_read_by_each(const dnet_board_t *b, size_t bytes)
{
    if (b->size > FEW_RANKS && b->owner.read && bytes >= READ_LEAST_BYTES)
        return true;
    return b->size > 2 && dnet_in_place_is_read(b, bytes);
}

/* As after a broadcast the root leads the next barrier, unless it had to wait for the others
 * anyway. */
void dnet_board_scatter(dnet_board_t *b, const void *from, void *to, size_t bytes, uint32_t root)
{
    if (is_read_by_each(b, bytes)) {
        scatter_in_place(b, from, to, bytes, root);
        return;
    }
    const size_t piece = b->slot_bytes / (b->size - 1) / DNET_BOARD_LINE * DNET_BOARD_LINE;
    for (size_t at = 0; at < bytes; at += piece)
        scatter_step(b, from, to, bytes, at, dnet_least(bytes - at, piece), root);
    if (b->rank == root && to && bytes)
        memcpy(to, (const uint8_t *) from + root * bytes, bytes);
    b->bcast.step = b->step;
    b->bcast.root = root;
}
