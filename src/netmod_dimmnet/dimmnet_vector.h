/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A vector of a program with a block for each rank, of any lengths, as a board needs it: where the
 * blocks are, or, if their types have gaps, packed one behind the other.
 */
#ifndef DIMMNET_VECTOR_H_INCLUDED
#define DIMMNET_VECTOR_H_INCLUDED

#include "dimmnet_impl.h"
#include "collective/blocks.h"

/* As the program says it. */
typedef struct {
    const void *buf;
    const MPI_Aint *counts;
    const MPI_Aint *displs; /* in extents of `type`, or, of blocks with types of their own, bytes;
                             * NULL: one behind the other, of a type without gaps */
    MPI_Datatype type;
    const MPI_Datatype *types; /* of each block; NULL: all have `type` */
    int size;
} MPIDI_DIMMNET_vector_t;

/* Pack what is there, else only make room; pack it in any case; it is used after the call, so take
 * copies of the lists. */
enum {
    MPIDI_DIMMNET_VECTOR_GIVES = 1,
    MPIDI_DIMMNET_VECTOR_APART = 2,
    MPIDI_DIMMNET_VECTOR_LASTS = 4
};

typedef struct {
    dnet_blocks_at_t lie;
    void *packed; /* NULL: they are where they are */
    MPIDI_DIMMNET_vector_t of;
    void *lists;    /* own ones */
    bool has_types; /* that are kept until its end */
} MPIDI_DIMMNET_board_blocks_t;

/* Returns an MPI error code; MPIDI_DIMMNET_board_blocks_end() follows in any case. */
int MPIDI_DIMMNET_board_blocks_begin(MPIDI_DIMMNET_board_blocks_t *blocks,
                                     const MPIDI_DIMMNET_vector_t *of, unsigned flags);

/* `has_come`: to where the program wants it.  Returns an MPI error code.  Of {0} there is nothing
 * to do. */
int MPIDI_DIMMNET_board_blocks_end(MPIDI_DIMMNET_board_blocks_t *blocks, bool has_come);

static inline size_t MPIDI_DIMMNET_board_blocks_longest(const MPIDI_DIMMNET_board_blocks_t *blocks)
{
    return dnet_blocks_longest(&blocks->lie.blocks, (uint32_t) blocks->of.size) *
           blocks->lie.element_bytes;
}

#endif
