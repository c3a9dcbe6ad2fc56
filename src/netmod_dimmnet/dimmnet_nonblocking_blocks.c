/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Nonblocking collectives on boards whose blocks have any lengths: gatherv, scatterv, allgatherv,
 * alltoallv and alltoallw, and reductions of which each rank has a block.
 *
 * Lists of a call are copied, for it may have made them itself of the program's.
 */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_board.h"
#include "dimmnet_coll.h"
#include "dimmnet_nonblocking.h"

enum {
    TAKES = MPIDI_DIMMNET_VECTOR_LASTS,
    GIVES = MPIDI_DIMMNET_VECTOR_LASTS | MPIDI_DIMMNET_VECTOR_GIVES,
    GIVES_APART = GIVES | MPIDI_DIMMNET_VECTOR_APART
};

/* Lists of an intercommunicator's calls have other lengths, and it has no board. */
static inline bool is_intra(const MPIR_Comm *comm)
{
    return comm->comm_kind == MPIR_COMM_KIND__INTRACOMM;
}

/* One with blocks; as MPIDI_DIMMNET_nonblocking_begin(). */
static int begin(MPIR_Comm *comm, dnet_nonblocking_kind_t kind, MPI_Aint bytes, int root,
                 MPIDI_DIMMNET_under_way_t **u_p)
{
    int mpi_errno = MPIDI_DIMMNET_nonblocking_begin(comm, kind, bytes, root, u_p);
    if (*u_p) {
        (*u_p)->give = (*u_p)->take = (MPIDI_DIMMNET_board_blocks_t){0};
        (*u_p)->has_blocks = true;
    }
    return mpi_errno;
}

static int begin_blocks(MPIDI_DIMMNET_board_blocks_t *blocks, dnet_blocks_at_t *of_op,
                        const MPIDI_DIMMNET_vector_t *of, unsigned flags)
{
    int mpi_errno = MPIDI_DIMMNET_board_blocks_begin(blocks, of, flags);
    *of_op = blocks->lie;
    return mpi_errno;
}

/* The only block that this rank has for others: that many elements, or, in place, the one of it in
 * what it takes. */
static int give_own(MPIDI_DIMMNET_under_way_t *u, const void *buf, MPI_Aint count,
                    MPI_Datatype datatype, int rank)
{
    if (buf != MPI_IN_PLACE)
        return MPIDI_DIMMNET_sides_give(&u->sides, buf, count, datatype, 1);
    u->sides.from = dnet_block_at(&u->take.lie, (uint32_t) rank);
    return MPI_SUCCESS;
}

/* ---- all know how long each block is ---- */

int MPIDI_DIMMNET_iallgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                              MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    const MPIDI_DIMMNET_vector_t recv = {recvbuf,  recvcounts, displs,
                                         recvtype, NULL,       comm->local_size};
    const dnet_blocks_t blocks = {.counts = recvcounts};
    MPI_Aint longest = 0;
    if (is_intra(comm))
        MPIDI_Datatype_check_size(
            recvtype, (MPI_Aint) dnet_blocks_longest(&blocks, (uint32_t) comm->local_size),
            longest);
    int mpi_errno = begin(comm, DNET_NONBLOCKING_ALLGATHER, longest, 0, &u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!u)
        return MPIDI_DIMMNET_mpich_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                               displs, recvtype, comm, request);
    mpi_errno = begin_blocks(&u->take, &u->op.take, &recv, sendbuf == MPI_IN_PLACE ? GIVES : TAKES);
    u->sides.bytes = dnet_block_bytes(&u->take.lie, (uint32_t) comm->rank);
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = give_own(u, sendbuf, sendcount, sendtype, comm->rank);
    return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
}

/* `counts` NULL: blocks of `count` elements.  *u_p NULL: MPICH's way. */
static int begin_to_reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint counts[],
                                   MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                   MPIR_Comm *comm, MPIDI_DIMMNET_under_way_t **u_p)
{
    MPI_Aint element;
    const dnet_blocks_t blocks = {.counts = counts, .each = (size_t) count};
    dnet_reduce_fn loop = MPIDI_DIMMNET_reduce_loop(op, datatype);
    *u_p = NULL;
    if (!loop)
        return MPI_SUCCESS;
    MPIR_Datatype_get_size_macro(datatype, element);
    const size_t total = dnet_blocks_before(&blocks, (uint32_t) comm->local_size);
    int mpi_errno =
        begin(comm, DNET_NONBLOCKING_REDUCE_SCATTER, (MPI_Aint) total * element, 0, u_p);
    MPIDI_DIMMNET_under_way_t *u = *u_p;
    if (!u)
        return mpi_errno;
    MPIDI_DIMMNET_nonblocking_reduces(u, sendbuf, recvbuf, total, datatype, op, loop);
    if (!counts) {
        u->op.take = (dnet_blocks_at_t){recvbuf, blocks, (size_t) element};
        return MPI_SUCCESS;
    }
    const MPIDI_DIMMNET_vector_t recv = {recvbuf, counts, NULL, datatype, NULL, comm->local_size};
    return begin_blocks(&u->take, &u->op.take, &recv, TAKES);
}

int MPIDI_DIMMNET_ireduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                  MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                  MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    int mpi_errno =
        begin_to_reduce_scatter(sendbuf, recvbuf, recvcounts, 0, datatype, op, comm, &u);
    if (mpi_errno != MPI_SUCCESS || u)
        return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
    return MPIDI_DIMMNET_mpich_ireduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm,
                                               request);
}

int MPIDI_DIMMNET_ireduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                        MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                        MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    int mpi_errno =
        begin_to_reduce_scatter(sendbuf, recvbuf, NULL, recvcount, datatype, op, comm, &u);
    if (mpi_errno != MPI_SUCCESS || u)
        return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
    return MPIDI_DIMMNET_mpich_ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op,
                                                     comm, request);
}

/* ---- two ranks know how long a block is ---- */

/* The bytes that both of two ranks know: of the root the other one's block, else the own one's. */
static MPI_Aint bytes_of_two(const MPIR_Comm *comm, int root, const MPI_Aint counts[],
                             MPI_Datatype root_type, MPI_Aint count, MPI_Datatype datatype)
{
    MPI_Aint bytes;
    if (comm->local_size != 2 || !is_intra(comm))
        return 0;
    const bool is_root = comm->rank == root;
    MPIDI_Datatype_check_size(is_root ? root_type : datatype, is_root ? counts[1 - root] : count,
                              bytes);
    return bytes;
}

int MPIDI_DIMMNET_igatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                           MPI_Datatype recvtype, int root, MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    const bool in_place = sendbuf == MPI_IN_PLACE;
    int mpi_errno =
        begin(comm, DNET_NONBLOCKING_GATHERV,
              bytes_of_two(comm, root, recvcounts, recvtype, sendcount, sendtype), root, &u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!u)
        return MPIDI_DIMMNET_mpich_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts,
                                            displs, recvtype, root, comm, request);
    if (comm->rank == root) {
        const MPIDI_DIMMNET_vector_t recv = {recvbuf,  recvcounts, displs,
                                             recvtype, NULL,       comm->local_size};
        mpi_errno = begin_blocks(&u->take, &u->op.take, &recv, in_place ? GIVES : TAKES);
    }
    if (in_place)
        u->op.bytes = dnet_block_bytes(&u->take.lie, (uint32_t) root);
    else
        MPIDI_Datatype_check_size(sendtype, sendcount, u->op.bytes);
    u->sides.bytes = u->op.bytes;
    if (mpi_errno == MPI_SUCCESS)
        mpi_errno = give_own(u, sendbuf, sendcount, sendtype, root);
    return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
}

int MPIDI_DIMMNET_iscatterv(const void *sendbuf, const MPI_Aint sendcounts[],
                            const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
                            MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                            MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    int mpi_errno =
        begin(comm, DNET_NONBLOCKING_SCATTERV,
              bytes_of_two(comm, root, sendcounts, sendtype, recvcount, recvtype), root, &u);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (!u)
        return MPIDI_DIMMNET_mpich_iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf,
                                             recvcount, recvtype, root, comm, request);
    if (comm->rank == root) {
        const MPIDI_DIMMNET_vector_t send = {sendbuf,  sendcounts, displs,
                                             sendtype, NULL,       comm->local_size};
        mpi_errno = begin_blocks(&u->give, &u->op.give, &send, GIVES);
    }
    u->op.bytes = 0;
    if (mpi_errno == MPI_SUCCESS && recvbuf != MPI_IN_PLACE) {
        MPIDI_Datatype_check_size(recvtype, recvcount, u->op.bytes);
        mpi_errno = MPIDI_DIMMNET_sides_take(&u->sides, recvbuf, recvcount, recvtype);
    }
    return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
}

/* *u_p NULL: MPICH's way. */
static int begin_to_exchange(const MPIDI_DIMMNET_vector_t *send, const MPIDI_DIMMNET_vector_t *recv,
                             MPIR_Comm *comm, MPIDI_DIMMNET_under_way_t **u_p)
{
    int mpi_errno = begin(comm, DNET_NONBLOCKING_ALLTOALLV, 0, 0, u_p);
    MPIDI_DIMMNET_under_way_t *u = *u_p;
    if (!u)
        return mpi_errno;
    /* In place what it gives is not to be where it takes. */
    const bool in_place = send->buf == MPI_IN_PLACE;
    mpi_errno =
        begin_blocks(&u->give, &u->op.give, in_place ? recv : send, in_place ? GIVES_APART : GIVES);
    return mpi_errno == MPI_SUCCESS ? begin_blocks(&u->take, &u->op.take, recv, TAKES) : mpi_errno;
}

int MPIDI_DIMMNET_ialltoallv(const void *sendbuf, const MPI_Aint sendcounts[],
                             const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                             const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                             MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    const int size = comm->local_size;
    const MPIDI_DIMMNET_vector_t send = {sendbuf, sendcounts, sdispls, sendtype, NULL, size};
    const MPIDI_DIMMNET_vector_t recv = {recvbuf, recvcounts, rdispls, recvtype, NULL, size};
    int mpi_errno = begin_to_exchange(&send, &recv, comm, &u);
    if (mpi_errno != MPI_SUCCESS || u)
        return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
    return MPIDI_DIMMNET_mpich_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf,
                                          recvcounts, rdispls, recvtype, comm, request);
}

int MPIDI_DIMMNET_ialltoallw(const void *sendbuf, const MPI_Aint sendcounts[],
                             const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                             void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                             const MPI_Datatype recvtypes[], MPIR_Comm *comm,
                             MPIR_Request **request)
{
    MPIDI_DIMMNET_under_way_t *u;
    const int size = comm->local_size;
    const MPIDI_DIMMNET_vector_t send = {sendbuf, sendcounts, sdispls, MPI_BYTE, sendtypes, size};
    const MPIDI_DIMMNET_vector_t recv = {recvbuf, recvcounts, rdispls, MPI_BYTE, recvtypes, size};
    int mpi_errno = begin_to_exchange(&send, &recv, comm, &u);
    if (mpi_errno != MPI_SUCCESS || u)
        return MPIDI_DIMMNET_nonblocking_start(comm, u, mpi_errno, request);
    return MPIDI_DIMMNET_mpich_ialltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf,
                                          recvcounts, rdispls, recvtypes, comm, request);
}
