/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks from each rank to each other one, of any lengths; and of two ranks, of one.
 */
#ifndef DNET_COLLECTIVE_EXCHANGE_H
#define DNET_COLLECTIVE_EXCHANGE_H

#include "collective/blocks.h"
#include "collective/board.h"

/** Blocks of any lengths from each rank to each other one. */
typedef struct {
    dnet_blocks_at_t give; /* block r is for rank r */
    dnet_blocks_at_t take; /* block r comes from there; each may be where that of `give` is */
} dnet_exchange_t;

/** What has become of an exchange: nothing, on all ranks, so it has to go another way; or it is
 * done, in a program that is wrong with a block that is longer than its place: what lies behind
 * that is left. */
typedef enum { DNET_NOT_MOVED, DNET_MOVED, DNET_MOVED_CUT } dnet_moved_t;

/** Block r to take becomes block `rank` to give of rank r.  DNET_MOVED_CUT: at the least on the
 * rank that takes such a block. */
dnet_moved_t dnet_board_alltoallv(dnet_board_t *board, const dnet_exchange_t *exchange);

/** The same of blocks that all ranks may read and write, those to take apart from those to give, by
 * pairs, where ranks have no processor each: of two, the one that comes to it first moves what they
 * have for each other. So who gets a processor is done with all of its exchanges, and leaves, while
 * the others wait for theirs.  @return false: a block was longer than its place, as above */
bool dnet_exchange_by_pairs(dnet_board_t *b, const dnet_exchange_t *x);

/** How two ranks exchange long blocks: each reads the other's, both put theirs on the board piece
 * by piece, or neither. */
typedef enum { DNET_PAIR_READS, DNET_PAIR_PUTS, DNET_PAIR_OTHERWISE } dnet_pair_way_t;

/**
 * Two ranks are about to exchange long blocks of one length.
 *
 * @param from  the own one, for the other rank, until dnet_board_pair_end() returns; NULL: it is
 *              not in one piece, or has no place that is
 * @param way   that rank 0 would take.  Of rank 1 it is all the same
 * @return the way that both ranks go on with: dnet_board_pair_read(), dnet_board_pair_put(), or
 *         none of these
 */
dnet_pair_way_t dnet_board_pair_offer(dnet_board_t *board, const void *from, dnet_pair_way_t way);

/** The other rank's block, to `to`. */
void dnet_board_pair_read(dnet_board_t *board, void *to, size_t bytes);

/** Return when the other rank has read, too. */
void dnet_board_pair_end(dnet_board_t *board);

/** The own block to the other rank, and its to `to`. */
void dnet_board_pair_put(dnet_board_t *board, const void *from, void *to, size_t bytes);

#endif
