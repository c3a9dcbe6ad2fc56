/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives on boards: the progress hook that lets them go on; barrier, bcast,
 * reduce, allreduce, gather, scatter, allgather and alltoall.
 *
 * A communicator gets its board with a blocking collective, in which ranks may wait for each other.
 * These take it where there is one: that is the same on all ranks, which call all of a
 * communicator's collectives in one order.
 */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_board.h"
#include "dimmnet_coll.h"
#include "dimmnet_nonblocking.h"

#include <pthread.h>

#define NETMOD_OF(comm) ((comm)->dev.ch4.netmod.dimmnet)

/* Boards that have some under way, and unused ones; under the lock. */
static MPIDI_DIMMNET_board_t *busy;
static MPIDI_DIMMNET_under_way_t *spares;
static int hook;

/* Threads that have a lock for each VCI look, and start some, at the same time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static inline bool is_locked(void)
{
    return MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__VCI && MPIR_IS_THREADED;
}

static inline void enter(void)
{
    if (is_locked())
        pthread_mutex_lock(&lock);
}

static inline void leave(void)
{
    if (is_locked())
        pthread_mutex_unlock(&lock);
}

/* ---- those under way ---- */

static void free_one(MPIDI_DIMMNET_under_way_t *u)
{
    enter();
    u->next = spares;
    spares = u;
    leave();
}

/* @return NULL: MPICH has no more memory, or requests */
static MPIDI_DIMMNET_under_way_t *new_one(dnet_nonblocking_kind_t kind, size_t bytes, int root)
{
    enter();
    MPIDI_DIMMNET_under_way_t *u = spares;
    if (u)
        spares = u->next;
    leave();
    if (!u)
        u = MPL_calloc(1, sizeof(*u), MPL_MEM_COLL);
    if (!u)
        return NULL;
    MPIR_Request *request = u->request ? u->request : MPIR_Request_create(MPIR_REQUEST_KIND__COLL);
    u->op = (dnet_nonblocking_t){.kind = kind, .bytes = bytes, .root = (uint32_t) root};
    u->request = request;
    u->sides = (MPIDI_DIMMNET_sides_t){.bytes = bytes};
    u->has_blocks = false;
    if (!request)
        free_one(u);
    return request ? u : NULL;
}

bool MPIDI_DIMMNET_nonblocking_may_sleep(void)
{
    for (MPIDI_DIMMNET_board_t *self = busy; self; self = self->next_busy)
        if (!dnet_board_may_sleep(&self->board))
            return false;
    return true;
}

static bool still_wait(void *arg)
{
    (void) arg;
    return MPIDI_DIMMNET_nonblocking_may_sleep();
}

void MPIDI_DIMMNET_nonblocking_await(void)
{
    dnet_ep_set_awaited(MPIDI_DIMMNET_EP(0), busy ? still_wait : NULL, NULL);
}

/* The first is under way, or no more is. */
static void busy_changed(void)
{
    if (busy)
        MPIR_Progress_hook_activate(hook);
    else
        MPIR_Progress_hook_deactivate(hook);
    if (MPIR_ThreadInfo.thread_provided != MPI_THREAD_MULTIPLE)
        MPIDI_DIMMNET_nonblocking_await();
}

static void becomes_busy(MPIDI_DIMMNET_board_t *self)
{
    bool first = !busy;
    self->next_busy = busy;
    busy = self;
    if (first)
        busy_changed();
}

/* Be done with what it gives and takes.  Returns an MPI error code if it is complete. */
static int end(MPIDI_DIMMNET_under_way_t *u, bool is_complete)
{
    const int sides = MPIDI_DIMMNET_sides_end(&u->sides, is_complete);
    if (!u->has_blocks)
        return sides;
    (void) MPIDI_DIMMNET_board_blocks_end(&u->give, false);
    const int blocks = MPIDI_DIMMNET_board_blocks_end(&u->take, is_complete);
    if (sides != MPI_SUCCESS || blocks != MPI_SUCCESS)
        return sides != MPI_SUCCESS ? sides : blocks;
    return is_complete && u->op.cut ? MPIDI_DIMMNET_error_truncated() : MPI_SUCCESS;
}

static void complete(MPIDI_DIMMNET_under_way_t *u)
{
    MPIR_Request *request = u->request;
    u->request = NULL;
    request->status.MPI_ERROR = end(u, true);
    free_one(u);
    MPID_Request_complete(request);
}

static int look(int *made_progress)
{
    MPIDI_DIMMNET_under_way_t *done = NULL, **end = &done;
    dnet_nonblocking_t *op;
    if (is_locked() && pthread_mutex_trylock(&lock) != 0)
        return MPI_SUCCESS;
    for (MPIDI_DIMMNET_board_t **link = &busy; *link;) {
        MPIDI_DIMMNET_board_t *self = *link;
        while ((op = dnet_board_look(&self->board))) {
            *end = MPL_container_of(op, MPIDI_DIMMNET_under_way_t, op);
            end = &(*end)->next;
        }
        if (self->board.nonblocking.dozes)
            atomic_store_explicit(&MPIDI_DIMMNET_global.board, self, memory_order_relaxed);
        if (dnet_board_is_busy(&self->board))
            link = &self->next_busy;
        else
            *link = self->next_busy;
    }
    if (!busy)
        busy_changed();
    *end = NULL;
    leave();
    /* Their boards may be freed with them. */
    for (MPIDI_DIMMNET_under_way_t *u = done, *next; u; u = next) {
        next = u->next;
        complete(u);
        *made_progress = 1;
    }
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_nonblocking_init(void)
{
    return MPIR_Progress_hook_register(look, &hook);
}

void MPIDI_DIMMNET_nonblocking_finalize(void)
{
    MPIR_Progress_hook_deregister(hook);
    for (MPIDI_DIMMNET_under_way_t *u = spares, *next; u; u = next) {
        next = u->next;
        if (u->request)
            MPID_Request_complete(u->request);
        MPL_free(u);
    }
    spares = NULL;
}

int MPIDI_DIMMNET_nonblocking_start(MPIR_Comm *comm, MPIDI_DIMMNET_under_way_t *u, int mpi_errno,
                                    MPIR_Request **request)
{
    MPIDI_DIMMNET_board_t *self = NETMOD_OF(comm).board;
    if (mpi_errno != MPI_SUCCESS) {
        if (u) {
            (void) end(u, false);
            free_one(u);
        }
        return mpi_errno;
    }
    u->op.from = u->sides.from;
    u->op.to = u->sides.to;
    enter();
    bool was_busy = dnet_board_is_busy(&self->board);
    bool completed = dnet_board_start(&self->board, &u->op);
    if (!completed) {
        MPIR_Comm_add_ref(comm);
        u->request->comm = comm;
        MPIR_Request_add_ref(u->request); /* one is the program's, one ours until it is complete */
        *request = u->request;
        if (!was_busy)
            becomes_busy(self);
    }
    leave();
    if (completed) {
        *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__COLL);
        mpi_errno = end(u, true);
        free_one(u);
    }
    return mpi_errno;
}

/* ---- the calls ---- */

int MPIDI_DIMMNET_nonblocking_begin(MPIR_Comm *comm, dnet_nonblocking_kind_t kind, MPI_Aint bytes,
                                    int root, MPIDI_DIMMNET_under_way_t **u_p)
{
    MPIDI_DIMMNET_board_t *self = NETMOD_OF(comm).board;
    *u_p = NULL;
    if (!self) {
        MPIDI_DIMMNET_board_is_wanted(comm);
        return MPI_SUCCESS;
    }
    if (!dnet_board_has_nonblocking(&self->board, kind, (size_t) bytes))
        return MPI_SUCCESS;
    int mpi_errno = MPIDI_DIMMNET_board_serves(self);
    if (mpi_errno == MPI_SUCCESS && !(*u_p = new_one(kind, (size_t) bytes, root)))
        mpi_errno = MPIDI_DIMMNET_error_no_memory(sizeof(MPIDI_DIMMNET_under_way_t));
    return mpi_errno;
}

int MPIDI_DIMMNET_ibarrier(MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    int mpi_errno = MPIDI_DIMMNET_nonblocking_begin(comm, DNET_NONBLOCKING_BARRIER, 0, 0, &u);
    if (mpi_errno != MPI_SUCCESS || u)
        return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
    return MPIDI_DIMMNET_mpich_ibarrier(comm, request);
}

int MPIDI_DIMMNET_ibcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                         MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    MPI_Aint bytes;
    MPIDI_Datatype_check_size(datatype, count, bytes);
    int mpi_errno = MPIDI_DIMMNET_nonblocking_begin(comm, DNET_NONBLOCKING_BCAST, bytes, root, &u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!u)
        return MPIDI_DIMMNET_mpich_ibcast(buffer, count, datatype, root, comm, request);
    mpi_errno = comm->rank == root ? MPIDI_DIMMNET_sides_give(&u->sides, buffer, count, datatype, 1)
                                   : MPIDI_DIMMNET_sides_take(&u->sides, buffer, count, datatype);
    return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
}

/* A reduction.  *u_p NULL: MPICH's way. */
static int begin_to_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                           MPI_Datatype datatype, MPI_Op op, int root, MPIR_Comm *comm,
                           dnet_nonblocking_kind_t kind, MPIDI_DIMMNET_under_way_t **u_p)
{
    MPI_Aint bytes;
    dnet_reduce_fn loop = MPIDI_DIMMNET_reduce_loop(op, datatype);
    *u_p = NULL;
    if (!loop)
        return MPI_SUCCESS;
    MPIDI_Datatype_check_size(datatype, count, bytes);
    int mpi_errno = MPIDI_DIMMNET_nonblocking_begin(comm, kind, bytes, root, u_p);
    MPIDI_DIMMNET_under_way_t *u = *u_p;
    if (!u)
        return mpi_errno;
    MPIDI_DIMMNET_nonblocking_reduces(u, sendbuf, recvbuf, (size_t) count, datatype, op, loop);
    return mpi_errno;
}

int MPIDI_DIMMNET_iallreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                             MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                             MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    int mpi_errno = begin_to_reduce(sendbuf, recvbuf, count, datatype, op, 0, comm,
                                    DNET_NONBLOCKING_ALLREDUCE, &u);
    if (mpi_errno != MPI_SUCCESS || u)
        return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
    return MPIDI_DIMMNET_mpich_iallreduce(sendbuf, recvbuf, count, datatype, op, comm, request);
}

int MPIDI_DIMMNET_ireduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, int root, MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    int mpi_errno = begin_to_reduce(sendbuf, recvbuf, count, datatype, op, root, comm,
                                    DNET_NONBLOCKING_REDUCE, &u);
    if (mpi_errno != MPI_SUCCESS || u)
        return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
    return MPIDI_DIMMNET_mpich_ireduce(sendbuf, recvbuf, count, datatype, op, root, comm, request);
}

int MPIDI_DIMMNET_igather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                          MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    MPI_Aint bytes;
    const bool is_root = comm->rank == root;
    MPIDI_Datatype_check_size(is_root ? recvtype : sendtype, is_root ? recvcount : sendcount,
                              bytes);
    int mpi_errno = MPIDI_DIMMNET_nonblocking_begin(comm, DNET_NONBLOCKING_GATHER, bytes, root, &u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!u)
        return MPIDI_DIMMNET_mpich_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                           recvtype, root, comm, request);
    if (is_root)
        mpi_errno =
            MPIDI_DIMMNET_sides_take(&u->sides, recvbuf, recvcount * comm->local_size, recvtype);
    if (sendbuf == MPI_IN_PLACE)
        u->sides.from = (uint8_t *) u->sides.to + bytes * root;
    else if (mpi_errno == MPI_SUCCESS)
        mpi_errno = MPIDI_DIMMNET_sides_give(&u->sides, sendbuf, sendcount, sendtype, 1);
    return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
}

int MPIDI_DIMMNET_iscatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                           MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    MPI_Aint bytes;
    const bool is_root = comm->rank == root;
    MPIDI_Datatype_check_size(is_root ? sendtype : recvtype, is_root ? sendcount : recvcount,
                              bytes);
    int mpi_errno =
        MPIDI_DIMMNET_nonblocking_begin(comm, DNET_NONBLOCKING_SCATTER, bytes, root, &u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!u)
        return MPIDI_DIMMNET_mpich_iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                            recvtype, root, comm, request);
    if (is_root)
        mpi_errno = MPIDI_DIMMNET_sides_give(&u->sides, sendbuf, sendcount, sendtype,
                                             (size_t) comm->local_size);
    if (mpi_errno == MPI_SUCCESS && recvbuf != MPI_IN_PLACE)
        mpi_errno = MPIDI_DIMMNET_sides_take(&u->sides, recvbuf, recvcount, recvtype);
    return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
}

/* `blocks`: of the send buffer; the receive buffer has one for each rank. */
static int begin_to_exchange(dnet_nonblocking_kind_t kind, const void *sendbuf, MPI_Aint sendcount,
                             MPI_Datatype sendtype, int blocks, void *recvbuf, MPI_Aint recvcount,
                             MPI_Datatype recvtype, MPIR_Comm *comm,
                             MPIDI_DIMMNET_under_way_t **u_p)
{
    MPI_Aint bytes;
    MPIDI_Datatype_check_size(recvtype, recvcount, bytes);
    int mpi_errno = MPIDI_DIMMNET_nonblocking_begin(comm, kind, bytes, 0, u_p);
    MPIDI_DIMMNET_under_way_t *u = *u_p;
    if (!u)
        return mpi_errno;
    mpi_errno = MPIDI_DIMMNET_sides_exchange(&u->sides, comm, sendbuf, sendcount, sendtype,
                                             (unsigned) blocks, recvbuf, recvcount, recvtype);
    if (mpi_errno == MPI_SUCCESS && sendbuf == MPI_IN_PLACE && blocks > 1 &&
        dnet_board_reads_nonblocking(&NETMOD_OF(comm).board->board, kind, (size_t) bytes))
        mpi_errno = MPIDI_DIMMNET_sides_part(&u->sides, (unsigned) blocks);
    return mpi_errno;
}

int MPIDI_DIMMNET_iallgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                             MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    int mpi_errno = begin_to_exchange(DNET_NONBLOCKING_ALLGATHER, sendbuf, sendcount, sendtype, 1,
                                      recvbuf, recvcount, recvtype, comm, &u);
    if (u)
        u->op.take = (dnet_blocks_at_t){u->sides.to, {.each = u->sides.bytes}, 1};
    if (mpi_errno != MPI_SUCCESS || u)
        return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
    return MPIDI_DIMMNET_mpich_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount,
                                          recvtype, comm, request);
}

int MPIDI_DIMMNET_ialltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                            MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    int mpi_errno = begin_to_exchange(DNET_NONBLOCKING_ALLTOALL, sendbuf, sendcount, sendtype,
                                      comm->local_size, recvbuf, recvcount, recvtype, comm, &u);
    if (mpi_errno != MPI_SUCCESS || u)
        return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
    return MPIDI_DIMMNET_mpich_ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                         comm, request);
}
