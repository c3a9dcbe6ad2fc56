/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives on a board: what a rank contributes it writes when it starts one, and it
 * takes what others have contributed whenever it looks and all is there.  What has no room in a
 * slot goes in pieces.  Of more than a few pieces data stay where they are: a rank says the
 * address, the others read or write there when they look, and it is complete when all have.
 *
 * They have slots and numbers of their own, apart from the steps of blocking ones: a rank that has
 * gone on to the next collective need not be done with those.  Several may be under way, and each
 * completes as soon as it can; one for which there is no slot yet waits for that, too.
 *
 * All ranks start the same ones in the same order, with the same sizes, as MPI asks of them.
 * Threads: one caller at a time for each rank of a board.
 */
#ifndef DNET_COLLECTIVE_NONBLOCKING_H
#define DNET_COLLECTIVE_NONBLOCKING_H

#include "collective/nonblocking_data.h"

/** @return true: it is complete.  false: it is under way, until dnet_board_look() returns it */
bool dnet_board_start(dnet_board_t *board, dnet_nonblocking_t *op);

/** Let those under way go on.  @return one that has completed, or NULL: call again until then */
dnet_nonblocking_t *dnet_board_look(dnet_board_t *board);

/** Are there any under way? */
static inline bool dnet_board_is_busy(const dnet_board_t *board)
{
    return board->nonblocking.first != NULL;
}

/** Has nothing come that any of them can go on with, and is this rank said to doze, so that it is
 * woken when something comes?  It is after some calls of dnet_board_look() in vain. */
bool dnet_board_may_sleep(dnet_board_t *board);

#endif
