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
    dnet_blocks_at_t give; /* block r is for rank r */
    dnet_blocks_at_t take; /* block r comes from there; may be where `give` is, if they are alike */
} dnet_exchange_t;

/** Block r to take becomes block `rank` to give of rank r.  @return false, on all ranks: nothing
 * has been done, it has to go another way */
bool dnet_board_alltoallv(dnet_board_t *board, const dnet_exchange_t *exchange);

/** The same of blocks that all ranks may read and write, those to take apart from those to give, by
 * pairs, where ranks have no processor each: of two, the one that comes to it first moves what they
 * have for each other. So who gets a processor is done with all of its exchanges, and leaves, while
 * the others wait for theirs. */
void dnet_exchange_by_pairs(dnet_board_t *b, const dnet_exchange_t *x);

#endif
