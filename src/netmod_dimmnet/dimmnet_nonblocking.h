/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives on boards, for the files whose calls start them.
 */
#ifndef DIMMNET_NONBLOCKING_H_INCLUDED
#define DIMMNET_NONBLOCKING_H_INCLUDED

#include "dimmnet_reduce.h"
#include "dimmnet_sides.h"
#include "dimmnet_vector.h"
#include "collective/nonblocking.h"

/* One of them, until it is complete. */
typedef struct MPIDI_DIMMNET_under_way {
    dnet_nonblocking_t op;
    MPIR_Request *request;                /* a spare one has it already; NULL: it is MPICH's */
    struct MPIDI_DIMMNET_under_way *next; /* spare one, or next to be completed */
    MPIDI_DIMMNET_sides_t sides;
    bool has_blocks; /* of any lengths; else those below are not used */
    MPIDI_DIMMNET_board_blocks_t give, take;
    MPIDI_DIMMNET_reduction_t how;
} MPIDI_DIMMNET_under_way_t;

/* One on the communicator's board, whose blocks have so many bytes; sides, blocks and the rest of
 * what it is are the caller's to say.  *u_p NULL: MPICH's way.  Returns an MPI error code. */
int MPIDI_DIMMNET_nonblocking_begin(MPIR_Comm *comm, dnet_nonblocking_kind_t kind, MPI_Aint bytes,
                                    int root, MPIDI_DIMMNET_under_way_t **u_p);

/* It is a reduction of so many elements. */
static inline void MPIDI_DIMMNET_nonblocking_reduces(MPIDI_DIMMNET_under_way_t *u,
                                                     const void *sendbuf, void *recvbuf,
                                                     size_t count, MPI_Datatype datatype, MPI_Op op,
                                                     dnet_reduce_fn loop)
{
    u->how = (MPIDI_DIMMNET_reduction_t){op, datatype};
    u->sides.from = sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf;
    u->sides.to = recvbuf;
    u->op.count = count;
    u->op.fn = loop;
    u->op.how = &u->how;
}

/* Start it, unless there has been an error, which is returned then; it may be NULL then. */
int MPIDI_DIMMNET_nonblocking_start(MPIR_Comm *comm, MPIDI_DIMMNET_under_way_t *u, int mpi_errno,
                                    MPIR_Request **request);

#endif
