/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the netmod keeps inside MPICH's objects.  MPICH includes this file before its own objects
 * exist.
 */
#ifndef DIMMNET_PRE_H_INCLUDED
#define DIMMNET_PRE_H_INCLUDED

#include "dimmnet_buffers.h"
#include "dimmnet_turns.h"
#include "endpoint/endpoint.h"

typedef struct MPIDI_DIMMNET_blocks MPIDI_DIMMNET_blocks_t;
typedef struct MPIDI_DIMMNET_board MPIDI_DIMMNET_board_t;
typedef struct MPIDI_DIMMNET_moved MPIDI_DIMMNET_moved_t;
typedef struct MPIDI_DIMMNET_window MPIDI_DIMMNET_window_t;

/* A native send or receive; also a message taken by MPI_Mprobe. */
typedef struct {
    dnet_ep_request_t ep;       /* the endpoint's part */
    dnet_ep_message_t *message; /* MPI_Mprobe: what MPI_Mrecv will receive */
    /* Types with gaps go through a contiguous buffer; NULL for the others. */
    void *packed;
    /* What the layout of a type with gaps refers to; NULL: there is none. */
    MPIDI_DIMMNET_blocks_t *blocks;
    /* Long ones may be moved piece by piece instead; NULL: not. */
    MPIDI_DIMMNET_moved_t *moved;
    /* Where a receive unpacks to; the type is held until then. */
    void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
} MPIDI_DIMMNET_request_t;

/* A process, by its rank in the job. */
typedef struct {
    uint32_t peer; /* rank in the job */
} MPIDI_DIMMNET_addr_t;

/* A communicator: its place in the list of all; its board, if any (dimmnet_board.h). */
typedef struct {
    struct MPIR_Comm *next;
    MPIDI_DIMMNET_board_t *board; /* NULL: none */
    int collectives;              /* that had none, up to the one that asks for it */
    bool without_board;           /* there will be none */
} MPIDI_DIMMNET_comm_t;

/* A window.  NULL in one that has not been made, for MPICH frees those, too, where making one
 * fails: the memory of MPICH's objects is 0 at first, and a freed one has NULL again. */
typedef struct {
    MPIDI_DIMMNET_window_t *window; /* its memory, which all ranks share; NULL: they do not */
} MPIDI_DIMMNET_win_t;

/* MPICH wants these types; the netmod has nothing to keep in them. */
typedef struct {
    char unused;
} MPIDI_DIMMNET_am_request_t, MPIDI_DIMMNET_dt_t, MPIDI_DIMMNET_op_t, MPIDI_DIMMNET_part_t;

#endif
