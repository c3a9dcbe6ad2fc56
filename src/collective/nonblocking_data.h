/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How a nonblocking collective goes, and what ranks give and take of it, a piece at a time.
 */
#ifndef DNET_COLLECTIVE_NONBLOCKING_DATA_H
#define DNET_COLLECTIVE_NONBLOCKING_DATA_H

#include "collective/nonblocking_op.h"
#include "collective/nonblocking_slots.h"

/** Does one with such blocks go by the board?  The same answer on all ranks.  Else it goes another
 * way.
 *
 * @param bytes  as dnet_nonblocking_t has; of a gatherv or scatterv of two ranks those of the block
 *               that both know, of more ranks or an alltoallv any number
 */
bool dnet_board_has_nonblocking(const dnet_board_t *board, dnet_nonblocking_kind_t kind,
                                size_t bytes);

/** And by address?  Then an alltoall's `to` is apart from its `from`. */
bool dnet_board_reads_nonblocking(const dnet_board_t *board, dnet_nonblocking_kind_t kind,
                                  size_t bytes);

/* How it goes: in which pieces, or by address. */
void dnet_nonblocking_plan(const dnet_board_t *b, dnet_nonblocking_t *op);

/* The next piece to the own slot, which is free. */
void dnet_nonblocking_give(const dnet_board_t *b, const dnet_nonblocking_t *op);

/* The own part of the next piece, which all ranks have given, in the own slot. */
void dnet_nonblocking_combine(const dnet_board_t *b, const dnet_nonblocking_t *op);

/* The next piece, which those have given, or combined, that have it. */
void dnet_nonblocking_take(const dnet_board_t *b, dnet_nonblocking_t *op);

#endif
