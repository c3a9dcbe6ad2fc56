/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libdimmnet-trace: what the MPI calls in tracer_calls.c record, and how.  The file is the one of
 * calls.h; nothing here calls an MPI_ function, only PMPI_ ones.
 *
 * A call is traced between tracer_enter and tracer_leave.  The processor time of the thread
 * between a leave and the next enter is the gap of the call's first record: waiting for a
 * processor does not count, so that ranks may outnumber processors.  Calls of several threads are
 * recorded one at a time.
 */
#ifndef DNET_REPLAY_TRACER_H
#define DNET_REPLAY_TRACER_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

#include "replay/calls.h"

/** From MPI_Init on: opens DNET_MPI_TRACE.RANK.dnt.  One line says why there will be no trace. */
void tracer_begin(void);

/** In MPI_Finalize, while MPI still works. */
void tracer_end(void);

/** An MPI call begins: the gap before it ends.  Calls inside a call count as part of it. */
void tracer_enter(void);

/** It ends; the next gap begins. */
void tracer_leave(void);

/** A call that only makes progress, or failed. */
void tracer_other(void);

/**
 * A message sent or a receive posted.
 *
 * @param op       SEND, RECV, ISEND or IRECV
 * @param peer     rank in comm; MPI_ANY_SOURCE and tag MPI_ANY_TAG for an IRECV
 * @param request  of ISEND and IRECV, as the call returned it; NULL for the others
 */
void tracer_message(dnet_calls_op_t op, int count, MPI_Datatype type, int peer, int tag,
                    MPI_Comm comm, const MPI_Request *request);

/** A persistent request was made: `op`, ISEND or IRECV, is recorded at every start of it. */
void tracer_persistent(dnet_calls_op_t op, int count, MPI_Datatype type, int peer, int tag,
                       MPI_Comm comm, MPI_Request request);

/** A persistent request was started. */
void tracer_start(MPI_Request request);

/** The request was freed. */
void tracer_forget(MPI_Request request);

/** The request was marked for cancellation; its status will tell whether it was cancelled. */
void tracer_cancel(MPI_Request request);

/** Must the status of one of these requests be asked for? */
bool tracer_wants_status(const MPI_Request *requests, int count);

/** A call that completes requests has returned: tracer_completed() for each, then
 * tracer_wait_end(). */
void tracer_wait_begin(void);

/** One of them, as it was before the call. */
void tracer_completed(MPI_Request request, const MPI_Status *status);

/** Record the wait for those that completed. */
void tracer_wait_end(void);

/** A collective call; count elements of the type are this rank's part. */
void tracer_collective(dnet_calls_coll_t kind, MPI_Comm comm, int64_t count, MPI_Datatype type);

/** The communicator is about to be freed. */
void tracer_comm_gone(MPI_Comm comm);

#endif
