/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libdimmnet-trace: the MPI calls it takes the place of.  Each is the PMPI_ call between
 * tracer_enter and tracer_leave; calls that are not here count as computing.  The calls of mpif.h
 * and `use mpi` come through these; of those of `use mpi_f08`, MPI_Init among them, only some do.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "replay/tracer.h"

#define TRACED __attribute__((visibility("default"))) int

TRACED MPI_Init(int *argc, char ***argv)
{
    int rc = PMPI_Init(argc, argv);
    if (rc == MPI_SUCCESS)
        tracer_begin();
    return rc;
}

TRACED MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int rc = PMPI_Init_thread(argc, argv, required, provided);
    if (rc == MPI_SUCCESS)
        tracer_begin();
    return rc;
}

TRACED MPI_Finalize(void)
{
    tracer_end();
    return PMPI_Finalize();
}

/* Messages. */

#define SEND_PARAMETERS \
    const void *buf, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define SEND_ARGUMENTS buf, count, type, peer, tag, comm

static int sent(int rc, dnet_calls_op_t op, int count, MPI_Datatype type, int peer, int tag,
                MPI_Comm comm, const MPI_Request *request)
{
    if (rc == MPI_SUCCESS)
        tracer_message(op, count, type, peer, tag, comm, request);
    else
        tracer_other();
    tracer_leave();
    return rc;
}

#define BLOCKING_SEND(name) \
    TRACED MPI_##name(SEND_PARAMETERS) \
    { \
        tracer_enter(); \
        return sent(PMPI_##name(SEND_ARGUMENTS), DNET_CALLS_SEND, count, type, peer, tag, comm, \
                    NULL); \
    }
#define STARTED_SEND(name) \
    TRACED MPI_##name(SEND_PARAMETERS, MPI_Request *request) \
    { \
        tracer_enter(); \
        return sent(PMPI_##name(SEND_ARGUMENTS, request), DNET_CALLS_ISEND, count, type, peer, \
                    tag, comm, request); \
    }
#define PERSISTENT_SEND(name) \
    TRACED MPI_##name(SEND_PARAMETERS, MPI_Request *request) \
    { \
        int rc = PMPI_##name(SEND_ARGUMENTS, request); \
        if (rc == MPI_SUCCESS) \
            tracer_persistent(DNET_CALLS_ISEND, count, type, peer, tag, comm, *request); \
        return rc; \
    }
BLOCKING_SEND(Send)
BLOCKING_SEND(Bsend)
BLOCKING_SEND(Ssend)
BLOCKING_SEND(Rsend)
STARTED_SEND(Isend)
STARTED_SEND(Ibsend)
STARTED_SEND(Issend)
STARTED_SEND(Irsend)
PERSISTENT_SEND(Send_init)
PERSISTENT_SEND(Bsend_init)
PERSISTENT_SEND(Ssend_init)
PERSISTENT_SEND(Rsend_init)

TRACED MPI_Irecv(void *buf, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    tracer_enter();
    return sent(PMPI_Irecv(SEND_ARGUMENTS, request), DNET_CALLS_IRECV, count, type, peer, tag, comm,
                request);
}

TRACED MPI_Recv_init(void *buf, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    int rc = PMPI_Recv_init(SEND_ARGUMENTS, request);
    if (rc == MPI_SUCCESS)
        tracer_persistent(DNET_CALLS_IRECV, count, type, peer, tag, comm, *request);
    return rc;
}

TRACED MPI_Recv(void *buf, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                MPI_Status *status)
{
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    tracer_enter();
    int rc = PMPI_Recv(SEND_ARGUMENTS, status);
    if (rc == MPI_SUCCESS && peer != MPI_PROC_NULL) {
        peer = status->MPI_SOURCE;
        tag = status->MPI_TAG;
    }
    return sent(rc, DNET_CALLS_RECV, count, type, peer, tag, comm, NULL);
}

/* Both directions of a send-receive: one cannot end without the other having begun. */
static void exchanged(int sends, MPI_Datatype send_type, int to, int send_tag, int receives,
                      MPI_Datatype receive_type, const MPI_Status *status, MPI_Comm comm)
{
    /* Requests of ours, which no MPI call returned. */
    MPI_Request none[2];
    memset(none, 0xff, sizeof(none));
    memset(&none[1], 0xfe, sizeof(none[1]));
    tracer_message(DNET_CALLS_IRECV, receives, receive_type, status->MPI_SOURCE, status->MPI_TAG,
                   comm, &none[0]);
    tracer_message(DNET_CALLS_ISEND, sends, send_type, to, send_tag, comm, &none[1]);
    tracer_wait_begin();
    tracer_completed(none[0], status);
    tracer_completed(none[1], status);
    tracer_wait_end();
}

TRACED MPI_Sendrecv(const void *buf, int count, MPI_Datatype type, int peer, int tag, void *into,
                    int receives, MPI_Datatype receive_type, int from, int receive_tag,
                    MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    tracer_enter();
    int rc = PMPI_Sendrecv(buf, count, type, peer, tag, into, receives, receive_type, from,
                           receive_tag, comm, status);
    if (rc == MPI_SUCCESS)
        exchanged(count, type, peer, tag, receives, receive_type, status, comm);
    tracer_leave();
    return rc;
}

TRACED MPI_Sendrecv_replace(void *buf, int count, MPI_Datatype type, int peer, int tag, int from,
                            int receive_tag, MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own;
    if (status == MPI_STATUS_IGNORE)
        status = &own;
    tracer_enter();
    int rc = PMPI_Sendrecv_replace(buf, count, type, peer, tag, from, receive_tag, comm, status);
    if (rc == MPI_SUCCESS)
        exchanged(count, type, peer, tag, count, type, status, comm);
    tracer_leave();
    return rc;
}

/* Requests. */

TRACED MPI_Start(MPI_Request *request)
{
    tracer_enter();
    MPI_Request started = *request;
    int rc = PMPI_Start(request);
    tracer_start(started);
    tracer_leave();
    return rc;
}

TRACED MPI_Startall(int count, MPI_Request requests[])
{
    tracer_enter();
    int rc = PMPI_Startall(count, requests);
    for (int i = 0; i < count; i++)
        tracer_start(requests[i]);
    tracer_leave();
    return rc;
}

TRACED MPI_Request_free(MPI_Request *request)
{
    tracer_enter();
    tracer_forget(*request);
    int rc = PMPI_Request_free(request);
    tracer_leave();
    return rc;
}

TRACED MPI_Cancel(MPI_Request *request)
{
    tracer_enter();
    tracer_cancel(*request);
    int rc = PMPI_Cancel(request);
    tracer_leave();
    return rc;
}

/* A call that completes requests: what they were before it, and a status for each. */
typedef struct {
    MPI_Request few_requests[64], *requests;
    MPI_Status few_statuses[64], *statuses;
} before_t;

static void forget_before(before_t *b)
{
    if (b->requests != b->few_requests)
        free(b->requests);
    if (b->statuses != b->few_statuses)
        free(b->statuses);
}

/* @return false without memory: the call goes untraced */
static bool look_before(before_t *b, int count, const MPI_Request *requests)
{
    size_t n = count > 0 ? (size_t) count : 0;
    bool few = n <= sizeof(b->few_requests) / sizeof(b->few_requests[0]);
    b->requests = few ? b->few_requests : malloc(n * sizeof(*b->requests));
    b->statuses = few ? b->few_statuses : malloc(n * sizeof(*b->statuses));
    if (b->requests == NULL || b->statuses == NULL) {
        forget_before(b);
        return false;
    }
    memcpy(b->requests, requests, n * sizeof(*requests));
    return true;
}

/* The statuses to give to MPI: the caller's, or ours where something must be looked up in them. */
static MPI_Status *statuses_for(before_t *b, int count, MPI_Status *statuses, MPI_Status *ignored)
{
    return statuses == ignored && tracer_wants_status(b->requests, count) ? b->statuses : statuses;
}

/* Requests index[0..n-1], or 0..n-1 without an index, are complete. */
static void completed(const before_t *b, int n, const int *index, const MPI_Status *statuses)
{
    tracer_wait_begin();
    for (int i = 0; i < n; i++)
        tracer_completed(b->requests[index != NULL ? index[i] : i], &statuses[i]);
    tracer_wait_end();
    tracer_leave();
}

TRACED MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    before_t b;
    if (!look_before(&b, 1, request))
        return PMPI_Wait(request, status);
    tracer_enter();
    status = statuses_for(&b, 1, status, MPI_STATUS_IGNORE);
    int rc = PMPI_Wait(request, status);
    completed(&b, rc == MPI_SUCCESS, NULL, status);
    return rc;
}

TRACED MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    before_t b;
    if (!look_before(&b, 1, request))
        return PMPI_Test(request, flag, status);
    tracer_enter();
    status = statuses_for(&b, 1, status, MPI_STATUS_IGNORE);
    int rc = PMPI_Test(request, flag, status);
    completed(&b, rc == MPI_SUCCESS && *flag, NULL, status);
    return rc;
}

TRACED MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
    before_t b;
    if (!look_before(&b, count, requests))
        return PMPI_Waitall(count, requests, statuses);
    tracer_enter();
    statuses = statuses_for(&b, count, statuses, MPI_STATUSES_IGNORE);
    int rc = PMPI_Waitall(count, requests, statuses);
    completed(&b, rc == MPI_SUCCESS ? count : 0, NULL, statuses);
    forget_before(&b);
    return rc;
}

TRACED MPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
    before_t b;
    if (!look_before(&b, count, requests))
        return PMPI_Testall(count, requests, flag, statuses);
    tracer_enter();
    statuses = statuses_for(&b, count, statuses, MPI_STATUSES_IGNORE);
    int rc = PMPI_Testall(count, requests, flag, statuses);
    completed(&b, rc == MPI_SUCCESS && *flag ? count : 0, NULL, statuses);
    forget_before(&b);
    return rc;
}

TRACED MPI_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
    before_t b;
    if (!look_before(&b, count, requests))
        return PMPI_Waitany(count, requests, index, status);
    tracer_enter();
    status = statuses_for(&b, count, status, MPI_STATUS_IGNORE);
    int rc = PMPI_Waitany(count, requests, index, status);
    completed(&b, rc == MPI_SUCCESS && *index != MPI_UNDEFINED, index, status);
    forget_before(&b);
    return rc;
}

TRACED MPI_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
    before_t b;
    if (!look_before(&b, count, requests))
        return PMPI_Testany(count, requests, index, flag, status);
    tracer_enter();
    status = statuses_for(&b, count, status, MPI_STATUS_IGNORE);
    int rc = PMPI_Testany(count, requests, index, flag, status);
    completed(&b, rc == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED, index, status);
    forget_before(&b);
    return rc;
}

#define SOME(name) \
    TRACED MPI_##name(int count, MPI_Request requests[], int *n, int indices[], \
                      MPI_Status statuses[]) \
    { \
        before_t b; \
        if (!look_before(&b, count, requests)) \
            return PMPI_##name(count, requests, n, indices, statuses); \
        tracer_enter(); \
        statuses = statuses_for(&b, count, statuses, MPI_STATUSES_IGNORE); \
        int rc = PMPI_##name(count, requests, n, indices, statuses); \
        completed(&b, rc == MPI_SUCCESS && *n != MPI_UNDEFINED ? *n : 0, indices, statuses); \
        forget_before(&b); \
        return rc; \
    }
SOME(Waitsome)
SOME(Testsome)

/* Calls that only make progress. */
#define PROGRESS(name, parameters, arguments) \
    TRACED MPI_##name parameters \
    { \
        tracer_enter(); \
        int rc = PMPI_##name arguments; \
        tracer_other(); \
        tracer_leave(); \
        return rc; \
    }
PROGRESS(Probe, (int peer, int tag, MPI_Comm comm, MPI_Status *status), (peer, tag, comm, status))
PROGRESS(Iprobe, (int peer, int tag, MPI_Comm comm, int *flag, MPI_Status *status),
         (peer, tag, comm, flag, status))

/* Handles may be used again. */
TRACED MPI_Comm_free(MPI_Comm *comm)
{
    tracer_comm_gone(*comm);
    return PMPI_Comm_free(comm);
}

TRACED MPI_Comm_disconnect(MPI_Comm *comm)
{
    tracer_comm_gone(*comm);
    return PMPI_Comm_disconnect(comm);
}

static bool is_rank(MPI_Comm comm, int root)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank == root;
}

static int own_of(const int counts[], MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return counts[rank];
}

/*
 * Collective calls; bytes are those of the arguments `count` and `type`: of a pair that MPI reads
 * on this rank, for others may be anything.
 */
#define IN const void *in, int n, MPI_Datatype type
#define OUT void *out, int n_out, MPI_Datatype type_out
#define COUNTS const int counts[], const int places[]
#define COLLECTIVE(name, kind, count, type, parameters, arguments) \
    TRACED MPI_##name parameters \
    { \
        tracer_enter(); \
        tracer_collective(DNET_CALLS_COLL_##kind, comm, count, type); \
        int rc = PMPI_##name arguments; \
        tracer_leave(); \
        return rc; \
    }
COLLECTIVE(Barrier, BARRIER, 0, MPI_BYTE, (MPI_Comm comm), (comm))
COLLECTIVE(Bcast, BCAST, n, type, (void *in, int n, MPI_Datatype type, int root, MPI_Comm comm),
           (in, n, type, root, comm))
COLLECTIVE(Reduce, REDUCE, n, type,
           (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, int root,
            MPI_Comm comm),
           (in, out, n, type, op, root, comm))
COLLECTIVE(Allreduce, ALLREDUCE, n, type,
           (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, n, type, op, comm))
COLLECTIVE(Gather, GATHER, is_rank(comm, root) ? n_out : n, is_rank(comm, root) ? type_out : type,
           (IN, OUT, int root, MPI_Comm comm), (in, n, type, out, n_out, type_out, root, comm))
COLLECTIVE(Gatherv, GATHER, in == MPI_IN_PLACE ? own_of(counts, comm) : n,
           in == MPI_IN_PLACE ? type_out : type,
           (IN, void *out, COUNTS, MPI_Datatype type_out, int root, MPI_Comm comm),
           (in, n, type, out, counts, places, type_out, root, comm))
COLLECTIVE(Scatter, SCATTER, is_rank(comm, root) ? n : n_out, is_rank(comm, root) ? type : type_out,
           (IN, OUT, int root, MPI_Comm comm), (in, n, type, out, n_out, type_out, root, comm))
COLLECTIVE(Scatterv, SCATTER, out == MPI_IN_PLACE ? own_of(counts, comm) : n_out,
           out == MPI_IN_PLACE ? type : type_out,
           (const void *in, COUNTS, MPI_Datatype type, OUT, int root, MPI_Comm comm),
           (in, counts, places, type, out, n_out, type_out, root, comm))
COLLECTIVE(Allgather, ALLGATHER, n_out, type_out, (IN, OUT, MPI_Comm comm),
           (in, n, type, out, n_out, type_out, comm))
COLLECTIVE(Allgatherv, ALLGATHER, in == MPI_IN_PLACE ? own_of(counts, comm) : n,
           in == MPI_IN_PLACE ? type_out : type,
           (IN, void *out, COUNTS, MPI_Datatype type_out, MPI_Comm comm),
           (in, n, type, out, counts, places, type_out, comm))
COLLECTIVE(Alltoall, ALLTOALL, n_out, type_out, (IN, OUT, MPI_Comm comm),
           (in, n, type, out, n_out, type_out, comm))
COLLECTIVE(Alltoallv, ALLTOALL, 0, type_out,
           (const void *in, COUNTS, MPI_Datatype type, void *out, const int counts_out[],
            const int places_out[], MPI_Datatype type_out, MPI_Comm comm),
           (in, counts, places, type, out, counts_out, places_out, type_out, comm))
COLLECTIVE(Reduce_scatter, REDUCE_SCATTER, 0, type,
           (const void *in, void *out, const int counts[], MPI_Datatype type, MPI_Op op,
            MPI_Comm comm),
           (in, out, counts, type, op, comm))
COLLECTIVE(Reduce_scatter_block, REDUCE_SCATTER, n, type,
           (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, n, type, op, comm))
COLLECTIVE(Scan, SCAN, n, type,
           (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, n, type, op, comm))
COLLECTIVE(Exscan, SCAN, n, type,
           (const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
           (in, out, n, type, op, comm))
