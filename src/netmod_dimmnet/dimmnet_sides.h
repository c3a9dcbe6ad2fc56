/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank gives to a collective, and what it takes, one byte behind the other: the program's
 * own buffers, or packed ones where their types have gaps.
 */
#ifndef DIMMNET_SIDES_H_INCLUDED
#define DIMMNET_SIDES_H_INCLUDED

#include "dimmnet_impl.h"

/* {.bytes = those of a block}, then what follows. */
typedef struct {
    size_t bytes;
    const void *from;
    void *to;
    void *packed_from, *packed_to; /* to be freed; NULL: the program's own */
    void *buf;                     /* what packed_to is unpacked to */
    MPI_Aint count;
    MPI_Datatype datatype;
    bool unequal; /* the program is wrong: what is given is not what is taken */
} MPIDI_DIMMNET_sides_t;

/* It takes `count` elements in all, or has some of them there already (in place).  Returns an MPI
 * error code; MPIDI_DIMMNET_sides_end() follows in any case, as after the next one. */
int MPIDI_DIMMNET_sides_take(MPIDI_DIMMNET_sides_t *sides, void *buf, MPI_Aint count,
                             MPI_Datatype datatype);

/* It gives so many blocks of `count` elements. */
int MPIDI_DIMMNET_sides_give(MPIDI_DIMMNET_sides_t *sides, const void *buf, MPI_Aint count,
                             MPI_Datatype datatype, size_t blocks);

/* Both, of an allgather or alltoall: it takes a block from each rank, and gives so many. */
int MPIDI_DIMMNET_sides_exchange(MPIDI_DIMMNET_sides_t *sides, const MPIR_Comm *comm,
                                 const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                 unsigned blocks, void *recvbuf, MPI_Aint recvcount,
                                 MPI_Datatype recvtype);

/* Of an alltoall in place: what it gives is not to be where it takes. */
int MPIDI_DIMMNET_sides_part(MPIDI_DIMMNET_sides_t *sides, unsigned blocks);

/* Be done with it.  Returns an MPI error code if it is complete: then what it has taken goes to the
 * program's buffer. */
int MPIDI_DIMMNET_sides_end(MPIDI_DIMMNET_sides_t *sides, bool complete);

#endif
