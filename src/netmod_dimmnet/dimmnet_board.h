/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator's board (src/collective), for the files whose collectives use it.
 */
#ifndef DIMMNET_BOARD_H_INCLUDED
#define DIMMNET_BOARD_H_INCLUDED

#include "dimmnet_impl.h"
#include "dimmnet_shared.h"
#include "collective/collective.h"
#include "endpoint/share.h"

/* From these bytes on a rank MPICH's way by messages is faster where ranks cannot read each other's
 * memory, and, of what two ranks move from or to one of them, where they can, for both move pieces
 * of a message. */
#define MPIDI_DIMMNET_BOARD_MAX 32768
#define MPIDI_DIMMNET_BOARD_OF_TWO_MAX 32768

struct MPIDI_DIMMNET_board {
    dnet_board_t board;
    MPIR_Comm *comm;
    MPIDI_DIMMNET_shared_t shared, far;
    dnet_choices_t of_two;            /* blocks that two exchange go as is found to be faster */
    int longs;                        /* collectives that would have gained by far memory */
    unsigned calls;                   /* collectives */
    MPIDI_DIMMNET_board_t *next;      /* that all others have not left yet */
    MPIDI_DIMMNET_board_t *next_busy; /* with nonblocking collectives */
};

/* The collective that makes a communicator's board. */
#define MPIDI_DIMMNET_COLLECTIVES_BEFORE 4

/* Make this communicator's board, if it may have one and this is the collective to do it with.
 * *board_p is left as it is: MPICH's way. */
int MPIDI_DIMMNET_board_make(MPIR_Comm *comm, MPIR_Errflag_t *errflag,
                             MPIDI_DIMMNET_board_t **board_p);

/* The same when it would gain by far memory. */
int MPIDI_DIMMNET_board_extend_now(MPIDI_DIMMNET_board_t *self);

/* Before a collective to which a rank contributes so many bytes. */
static inline int MPIDI_DIMMNET_board_extend(MPIDI_DIMMNET_board_t *self, size_t bytes)
{
    return unlikely(dnet_board_gains_by_far(&self->board, bytes))
               ? MPIDI_DIMMNET_board_extend_now(self)
               : MPI_SUCCESS;
}

/* A collective goes by it.  A rank that comes last need not wait, and what others wait for may be
 * one of its messages. */
static inline int MPIDI_DIMMNET_board_serves(MPIDI_DIMMNET_board_t *self)
{
    dnet_ep_count_board_collective(MPIDI_DIMMNET_EP(0));
    return unlikely(++self->calls % MPIDI_DIMMNET_CALLS_WITHOUT_PROGRESS == 0)
               ? MPIDI_DIMMNET_let_others_go_on()
               : MPI_SUCCESS;
}

/* The board for a collective to which a rank contributes so many bytes; *board_p NULL: MPICH's
 * way. */
static inline int MPIDI_DIMMNET_board_of(MPIR_Comm *comm, MPI_Aint bytes, MPIR_Errflag_t *errflag,
                                         MPIDI_DIMMNET_board_t **board_p)
{
    const MPIDI_DIMMNET_comm_t *c = &comm->dev.ch4.netmod.dimmnet;
    *board_p = c->board;
    if (unlikely(!c->board))
        return c->without_board ? MPI_SUCCESS : MPIDI_DIMMNET_board_make(comm, errflag, board_p);
    if (likely(bytes <= MPIDI_DIMMNET_BOARD_MAX || c->board->board.owner.read))
        return MPIDI_DIMMNET_board_serves(c->board);
    *board_p = NULL;
    return MPI_SUCCESS;
}

/* A nonblocking collective, which cannot make a board, would go by it. */
static inline void MPIDI_DIMMNET_board_is_wanted(MPIR_Comm *comm)
{
    int *collectives = &comm->dev.ch4.netmod.dimmnet.collectives;
    *collectives += *collectives < MPIDI_DIMMNET_COLLECTIVES_BEFORE;
}

/* The board for an exchange of blocks of `count` elements. */
static inline int MPIDI_DIMMNET_board_for(MPIR_Comm *comm, MPI_Aint count, MPI_Datatype datatype,
                                          MPIR_Errflag_t *errflag, MPIDI_DIMMNET_board_t **board_p)
{
    MPI_Aint bytes;
    MPIDI_Datatype_check_size(datatype, count, bytes);
    return MPIDI_DIMMNET_board_of(comm, bytes, errflag, board_p);
}

/* A block of `count` elements of such a buffer. */
static inline void *MPIDI_DIMMNET_block_of(const void *buf, int r, MPI_Aint count,
                                           MPI_Datatype datatype)
{
    MPI_Aint extent;
    MPIR_Datatype_get_extent_macro(datatype, extent);
    return (char *) buf + r * count * extent;
}

/* Bytes of a message, and where they lie one behind the other; NULL: in no such place. */
static inline void *MPIDI_DIMMNET_contiguous(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                             size_t *len_p)
{
    int contig;
    MPI_Aint true_lb;
    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, *len_p, true_lb);
    return contig ? MPIR_get_contig_ptr(buf, true_lb) : NULL;
}

static inline int MPIDI_DIMMNET_unpack(const void *packed, size_t len, void *buf, MPI_Aint count,
                                       MPI_Datatype datatype)
{
    MPI_Aint unpacked;
    return MPIR_Typerep_unpack(packed, len, buf, count, datatype, 0, &unpacked);
}

#endif
