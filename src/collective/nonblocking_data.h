/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A nonblocking collective, how it goes, and what ranks give and take of it, a piece at a time.
 */
#ifndef DNET_COLLECTIVE_NONBLOCKING_DATA_H
#define DNET_COLLECTIVE_NONBLOCKING_DATA_H

#include "collective/collective.h"
#include "collective/nonblocking_slots.h"

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
    uint64_t number;      /* of the first piece */
    size_t pieces, piece; /* bytes of all but the last one; of a block, where there are blocks */
    bool by_address;
    bool in_parts;          /* each rank combines a part of each piece */
    size_t given, combined; /* pieces, by this rank; `pieces` from the start where it need not */
    size_t taken;           /* likewise */
    uint32_t not_given_before, not_taken_before; /* ranks before have */
    struct dnet_nonblocking *next;
} dnet_nonblocking_t;

/** Does one with such blocks go by the board?  The same answer on all ranks.  Else it goes another
 * way. */
bool dnet_board_has_nonblocking(const dnet_board_t *board, dnet_nonblocking_kind_t kind,
                                size_t bytes);

/** And by address?  Then an alltoall's `to` is apart from its `from`. */
bool dnet_board_reads_nonblocking(const dnet_board_t *board, dnet_nonblocking_kind_t kind,
                                  size_t bytes);

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
           (op->kind == DNET_NONBLOCKING_GATHER && op->by_address);
}

static inline bool dnet_nonblocking_is_for_root(const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_REDUCE ||
           (op->kind == DNET_NONBLOCKING_GATHER && !op->by_address);
}

/* The root of a reduction as well, for what is combined is in slots. */
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

/* How it goes: in which pieces, or by address. */
void dnet_nonblocking_plan(const dnet_board_t *b, dnet_nonblocking_t *op);

/* The next piece to the own slot, which is free. */
void dnet_nonblocking_give(const dnet_board_t *b, const dnet_nonblocking_t *op);

/* The own part of the next piece, which all ranks have given, in the own slot. */
void dnet_nonblocking_combine(const dnet_board_t *b, const dnet_nonblocking_t *op);

/* The next piece, which those have given, or combined, that have it. */
void dnet_nonblocking_take(const dnet_board_t *b, const dnet_nonblocking_t *op);

/* By address, when this rank has taken what it gets, and `not_done` is not done yet: the rank that
 * still may read or write where its data are; DNET_BOARD_NO_RANK: none. */
uint32_t dnet_nonblocking_reader(const dnet_board_t *b, const dnet_nonblocking_t *op,
                                 uint32_t not_done);

#endif
