/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loops of reductions, for collectives and for accumulates.
 */
#ifndef DIMMNET_REDUCE_H_INCLUDED
#define DIMMNET_REDUCE_H_INCLUDED

#include "dimmnet_impl.h"
#include "collective/reduce.h"

/* What such a loop needs to know; its last parameter. */
typedef struct {
    MPI_Op op;
    MPI_Datatype datatype;
} MPIDI_DIMMNET_reduction_t;

/* The loop for elements without gaps.  NULL: MPICH has to do it. */
dnet_reduce_fn MPIDI_DIMMNET_reduce_loop(MPI_Op op, MPI_Datatype datatype);

#endif
