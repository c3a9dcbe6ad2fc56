/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of ranks that share memory, by a board: a piece of memory in which each rank has
 * slots that it alone writes and all others read.  What a rank contributes it puts there, once, and
 * each rank that needs it takes it from there; nothing is sent to anybody.
 *
 * Each rank has a few slots and three words.  Every step of a collective has a number, the same on
 * all ranks; it uses slot number % slots, whose number becomes that one when the contribution is
 * complete.  A rank writes a slot again when all ranks are done with the step before that used it.
 * Only in a reduction that goes up a tree, and in an exchange by pairs, others write there too.
 *
 * Long data stay where they are: a rank says the address, the others read there, in an exchange
 * by pairs write as well, and it returns when all have.  Where that cannot be, they go in as many
 * steps as slots are needed, so that one rank writes while others read.
 *
 * Pure logic over memory: no allocation, no system call.  A rank that waits calls its owner's
 * function again and again; one that has waited for long is said to doze, and is woken by those
 * that write a word.
 *
 * All ranks of a board call the same functions in the same order, with the same sizes, as MPI asks
 * of them.  Threads: one caller at a time for each rank of a board.
 */
#ifndef DNET_COLLECTIVE_H
#define DNET_COLLECTIVE_H

#include "collective/blocks.h"
#include "collective/board.h"
#include "collective/exchange.h"

/** result[i] = in[i] op with[i] for `count` elements; `result` may be `with`.  `how` is what the
 * caller handed on. */
typedef void (*dnet_reduce_fn)(const void *in, const void *with, void *result, size_t count,
                               const void *how);

/** Return when all ranks have called it. */
void dnet_board_barrier(dnet_board_t *board);

/** Bring `bytes` bytes at `data` of rank `root` to `data` of all others. */
void dnet_board_bcast(dnet_board_t *board, void *data, size_t bytes, uint32_t root);

/**
 * Combine the contributions of all ranks, element by element, in result[] of all of them.
 *
 * @param from  `count` elements of `element_bytes` bytes; may be `result`
 * @param fn    associative and commutative; called for parts of the vectors
 */
void dnet_board_allreduce(dnet_board_t *board, const void *from, void *result, size_t count,
                          size_t element_bytes, dnet_reduce_fn fn, const void *how);

/** The same with the result at rank `root` only; other ranks' `result` is not used. */
void dnet_board_reduce(dnet_board_t *board, const void *from, void *result, size_t count,
                       size_t element_bytes, dnet_reduce_fn fn, const void *how, uint32_t root);

/** Block r of `to` at rank `root` becomes the `bytes` bytes at `from` of rank r; `from` may be that
 * block.  Other ranks' `to` is not used. */
void dnet_board_gather(dnet_board_t *board, const void *from, void *to, size_t bytes,
                       uint32_t root);

/** Block r of `from` at rank `root`, of `bytes` bytes, comes to `to` of rank r.  Of the root: NULL,
 * it has its own.  Other ranks' `from` is not used. */
void dnet_board_scatter(dnet_board_t *board, const void *from, void *to, size_t bytes,
                        uint32_t root);

/** Block r of `to` at rank `root` becomes the `bytes` bytes, of any number, at `from` of rank r;
 * `from` may be that block.  Other ranks' `to` is not used.  @return false, at the root: some
 * rank's block is longer than its place, of which the rest is left out */
bool dnet_board_gatherv(dnet_board_t *board, const void *from, size_t bytes,
                        const dnet_blocks_at_t *to, uint32_t root);

/** Block r of `from` at rank `root` comes to the `bytes` bytes, of any number, at `to` of rank r.
 * Of the root it may be NULL: it keeps its own.  Other ranks' `from` is not used.  @return false:
 * this rank's block is longer, and the rest is left out */
bool dnet_board_scatterv(dnet_board_t *board, const dnet_blocks_at_t *from, void *to, size_t bytes,
                         uint32_t root);

/** Block r of `to` becomes the `bytes` bytes at `from` of rank r; `from` may be that block. */
void dnet_board_allgather(dnet_board_t *board, const void *from, void *to, size_t bytes);

/** The same with blocks of any lengths: of rank r as many elements of `element_bytes` bytes as
 * `to_blocks` says, the same on all ranks but for their places. */
void dnet_board_allgatherv(dnet_board_t *board, const void *from, void *to,
                           const dnet_blocks_t *to_blocks, size_t element_bytes);

/**
 * Combine the contributions of all ranks, element by element; rank r has block r of the result.
 *
 * @param from       all blocks, one behind the other
 * @param result     the own block; apart from `from`
 * @param blocks     without places
 * @param fn         as for dnet_board_allreduce()
 */
void dnet_board_reduce_scatter(dnet_board_t *board, const void *from, void *result,
                               const dnet_blocks_t *blocks, size_t element_bytes, dnet_reduce_fn fn,
                               const void *how);

/** Is a block of an all-to-all at least a line of a slot?  Ask before dnet_board_scatter(),
 * _scatterv(), _gatherv(), _alltoall(), _alltoallv() and _reduce_scatter(). */
bool dnet_board_has_alltoall(const dnet_board_t *board);

/** Does what one of two ranks has for the other stay where it is, so that any length is as well on
 * a board as in a message? */
bool dnet_board_moves_of_two(const dnet_board_t *board, size_t bytes);

/** Block r of `to` becomes block `rank` of `from` of rank r; `from` may be `to`. */
void dnet_board_alltoall(dnet_board_t *board, const void *from, void *to, size_t bytes);

#endif
