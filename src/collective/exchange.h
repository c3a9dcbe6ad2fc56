/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks from each rank to each other one, of any lengths.
 */
#ifndef DNET_COLLECTIVE_EXCHANGE_H
#define DNET_COLLECTIVE_EXCHANGE_H

#include "collective/blocks.h"
#include "collective/board.h"

/** Blocks of any lengths from each rank to each other one. */
typedef struct {
    const void *from;
    const dnet_blocks_t *give; /* block r of `from` is for rank r; with places */
    size_t give_bytes;         /* of its elements */
    void *to;                  /* may be `from`, with the same blocks */
    const dnet_blocks_t *take; /* block r of `to` comes from there */
    size_t take_bytes;
} dnet_exchange_t;

/** Block r of `to` becomes block `rank` of `from` of rank r.  @return false, on all ranks: nothing
 * has been done, it has to go another way */
bool dnet_board_alltoallv(dnet_board_t *board, const dnet_exchange_t *exchange);

/** The same of blocks that all ranks may read and write, `to` apart from `from`, by pairs, where
 * ranks have no processor each: of two, the one that comes to it first moves what they have for
 * each other. So who gets a processor is done with all of its exchanges, and leaves, while the
 * others wait for theirs. */
void dnet_exchange_by_pairs(dnet_board_t *b, const dnet_exchange_t *x);

#endif
