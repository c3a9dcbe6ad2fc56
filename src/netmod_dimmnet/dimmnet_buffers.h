/* SPDX-License-Identifier: BSD-3-Clause
 *
 * For files of MPICH: buffers of schedules, which nonblocking collectives have, and the loops of
 * their reductions.
 */
#ifndef DIMMNET_BUFFERS_H_INCLUDED
#define DIMMNET_BUFFERS_H_INCLUDED

#include <stdbool.h>
#include <stddef.h>

#include <mpi.h>

/* As malloc() and free(), but long ones are kept for the next schedule, as a few of 4 MB in all:
 * the C library gives such memory back, and each page of it is a fault when it is had anew. */
void *MPIDI_DIMMNET_buffer_alloc(size_t bytes);
void MPIDI_DIMMNET_buffer_free(void *buffer);

/* Give back all that is kept. */
void MPIDI_DIMMNET_buffers_finalize(void);

/* inout[i] = in[i] op inout[i].  @return false: MPICH has to do it */
bool MPIDI_DIMMNET_reduce_local(const void *in, void *inout, MPI_Aint count, MPI_Datatype datatype,
                                MPI_Op op);

#endif
