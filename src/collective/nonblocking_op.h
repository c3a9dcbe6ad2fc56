/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A nonblocking collective: what is to be done, and how far it is.
 */
#ifndef DNET_COLLECTIVE_NONBLOCKING_OP_H
#define DNET_COLLECTIVE_NONBLOCKING_OP_H

#include "collective/collective.h"

/** What the blocking functions of these names do (collective.h). */
typedef enum {
    DNET_NONBLOCKING_BARRIER,
    DNET_NONBLOCKING_BCAST,
    DNET_NONBLOCKING_REDUCE,
    DNET_NONBLOCKING_ALLREDUCE,
    DNET_NONBLOCKING_GATHER,
    DNET_NONBLOCKING_SCATTER,
    DNET_NONBLOCKING_ALLGATHER, /* also with blocks of any lengths */
    DNET_NONBLOCKING_ALLTOALL,
    DNET_NONBLOCKING_REDUCE_SCATTER,
    DNET_NONBLOCKING_GATHERV,
    DNET_NONBLOCKING_SCATTERV,
    DNET_NONBLOCKING_ALLTOALLV
} dnet_nonblocking_kind_t;

/** One of them.  The caller keeps it, and its buffers, until it is complete. */
typedef struct dnet_nonblocking {
    dnet_nonblocking_kind_t kind;
    uint32_t root;    /* of those that have one */
    const void *from; /* not used where the rank gives nothing; may be what `to` has of it */
    void *to;         /* not used where it gets nothing; a scatter's root: NULL, or its own block */
    size_t bytes;     /* of a block, the longest of all, or the only one that this rank knows; of
                       * the vector */
    size_t count;     /* elements of a reduction */
    dnet_reduce_fn fn;
    const void *how;
    /* Blocks of any lengths that this rank has, and where those that it gets go: of an alltoallv;
     * of a scatterv's root, of a gatherv's root.  `take` of an allgather; of a reduce_scatter for
     * the lengths of its blocks. */
    dnet_blocks_at_t give, take;
    bool cut; /* when it is complete: a block was longer than its place, and the rest is left out */

    /* its own */
    uint64_t number;      /* of the first piece */
    size_t pieces, piece; /* bytes of all but the last one; of a block, where there are blocks */
    bool by_address;
    bool in_pairs;          /* it has moved, or others do, a pair with each rank; not all are */
    size_t pairs_at;        /* behind the beginning of slots' data */
    bool in_parts;          /* each rank combines a part of each piece */
    size_t given, combined; /* pieces, by this rank; `pieces` from the start where it need not */
    size_t taken;           /* likewise */
    uint32_t not_given_before, not_taken_before; /* ranks before have */
    struct dnet_nonblocking *next;
} dnet_nonblocking_t;

/* Numbers of each of its pieces: what a rank gives, and that its part of a vector is combined. */
static inline unsigned dnet_nonblocking_numbers(const dnet_nonblocking_t *op)
{
    return op->in_parts ? 2 : 1;
}

static inline uint64_t dnet_nonblocking_number(const dnet_nonblocking_t *op, size_t piece)
{
    return op->number + piece * dnet_nonblocking_numbers(op);
}

/* By address the root of a gather says where the others put what they have. */
static inline bool dnet_nonblocking_is_from_root(const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_BCAST || op->kind == DNET_NONBLOCKING_SCATTER ||
           op->kind == DNET_NONBLOCKING_SCATTERV ||
           (op->kind == DNET_NONBLOCKING_GATHER && op->by_address);
}

static inline bool dnet_nonblocking_is_for_root(const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_REDUCE || op->kind == DNET_NONBLOCKING_GATHERV ||
           (op->kind == DNET_NONBLOCKING_GATHER && !op->by_address);
}

/* The root of a reduction as well, for what is combined is in slots; and of a gatherv, which says
 * where long blocks go. */
static inline bool dnet_nonblocking_gives(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    return dnet_nonblocking_is_from_root(op)     ? b->rank == op->root
           : op->kind == DNET_NONBLOCKING_GATHER ? b->rank != op->root
                                                 : true;
}

static inline bool dnet_nonblocking_takes(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    return dnet_nonblocking_is_for_root(op)     ? b->rank == op->root
           : op->kind == DNET_NONBLOCKING_BCAST ? b->rank != op->root
                                                : true;
}

#endif
