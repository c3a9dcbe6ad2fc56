/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocks of any lengths of a nonblocking collective, where only who gives a block and who takes it
 * know how long it is: alltoallv, gatherv and scatterv.
 *
 * In one number: who gives says in the line of its slot how many bytes it has, and gives them in a
 * parcel (parcel.h) if that has room in the slot, else a table of addresses, where others read, or
 * of which pairs are moved.  What has no room and is for the root of a gatherv is written to the
 * place that the root says, before it is said.
 */
#ifndef DNET_COLLECTIVE_NONBLOCKING_BLOCKS_H
#define DNET_COLLECTIVE_NONBLOCKING_BLOCKS_H

#include "collective/nonblocking_op.h"
#include "collective/nonblocking_slots.h"

static inline bool dnet_nonblocking_is_of_any_lengths(dnet_nonblocking_kind_t kind)
{
    return kind == DNET_NONBLOCKING_GATHERV || kind == DNET_NONBLOCKING_SCATTERV ||
           kind == DNET_NONBLOCKING_ALLTOALLV;
}

/* May ranks read each other's memory, and has a slot room for the table? */
bool dnet_nonblocking_has_any_lengths(const dnet_board_t *b);

/* Is this rank to give addresses, or to write?  More than `room` bytes, and what is read sooner. */
bool dnet_nonblocking_any_are_long(const dnet_board_t *b, const dnet_nonblocking_t *op,
                                   size_t room);

/* Does this rank write, when the root has said where? */
static inline bool dnet_nonblocking_is_written(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_GATHERV && op->by_address && b->rank != op->root;
}

/* What this rank has for others, to its slot. */
void dnet_nonblocking_give_any(const dnet_board_t *b, const dnet_nonblocking_t *op);

/* What others have for this rank, and its own block.  op->cut: one is longer than its place. */
void dnet_nonblocking_take_any(const dnet_board_t *b, dnet_nonblocking_t *op);

#endif
