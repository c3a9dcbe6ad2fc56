/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives on a board: what a rank contributes it writes when it starts one, and it
 * takes what others have contributed whenever it looks and all is there.
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

#include "collective/collective.h"

/** What the blocking functions of these names do (collective.h). */
typedef enum {
    DNET_NONBLOCKING_BARRIER,
    DNET_NONBLOCKING_BCAST,
    DNET_NONBLOCKING_REDUCE,
    DNET_NONBLOCKING_ALLREDUCE,
    DNET_NONBLOCKING_GATHER,
    DNET_NONBLOCKING_SCATTER,
    DNET_NONBLOCKING_ALLGATHER,
    DNET_NONBLOCKING_ALLTOALL
} dnet_nonblocking_kind_t;

/** One of them.  The caller keeps it, and its buffers, until it is complete. */
typedef struct dnet_nonblocking {
    dnet_nonblocking_kind_t kind;
    uint32_t root;    /* of those that have one */
    const void *from; /* not used where the rank gives nothing; may be what `to` has of it */
    void *to;         /* not used where it gets nothing; a scatter's root: NULL, or its own block */
    size_t bytes;     /* of a block, or of the vector */
    size_t count;     /* elements of a reduction */
    dnet_reduce_fn fn;
    const void *how;

    /* its own */
    uint64_t number;
    uint32_t missing; /* the first rank whose contribution has not come, as far as is known */
    bool given;       /* this rank has contributed, or need not */
    struct dnet_nonblocking *next;
} dnet_nonblocking_t;

/** Is there room for one with such blocks?  The same answer on all ranks.  Else it goes another
 * way. */
bool dnet_board_has_nonblocking(const dnet_board_t *board, dnet_nonblocking_kind_t kind,
                                size_t bytes);

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
