/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Collectives of ranks of one host, on boards (src/collective): barrier, bcast, reduce, allreduce,
 * gather, gatherv, scatter, scatterv, allgather, allgatherv, alltoall, alltoallv, alltoallw,
 * reduce_scatter and reduce_scatter_block; and the nonblocking ones of the same names.  Other
 * collectives, some sizes and communicators without a board take MPICH's own ways.
 *
 * Which way a call takes follows from what MPI says is the same on all of its ranks: bytes, type
 * and operator of a reduction, the communicator, how often it has been used.
 */
#ifndef DIMMNET_COLL_H_INCLUDED
#define DIMMNET_COLL_H_INCLUDED

#include "dimmnet_impl.h"

/* MPICH's own collectives, of which those below are those without a board. */
#define MPIDI_NM_mpi_barrier MPIDI_DIMMNET_mpich_barrier
#define MPIDI_NM_mpi_bcast MPIDI_DIMMNET_mpich_bcast
#define MPIDI_NM_mpi_reduce MPIDI_DIMMNET_mpich_reduce
#define MPIDI_NM_mpi_allreduce MPIDI_DIMMNET_mpich_allreduce
#define MPIDI_NM_mpi_allgather MPIDI_DIMMNET_mpich_allgather
#define MPIDI_NM_mpi_alltoall MPIDI_DIMMNET_mpich_alltoall
#define MPIDI_NM_mpi_allgatherv MPIDI_DIMMNET_mpich_allgatherv
#define MPIDI_NM_mpi_reduce_scatter MPIDI_DIMMNET_mpich_reduce_scatter
#define MPIDI_NM_mpi_reduce_scatter_block MPIDI_DIMMNET_mpich_reduce_scatter_block
#define MPIDI_NM_mpi_alltoallv MPIDI_DIMMNET_mpich_alltoallv
#define MPIDI_NM_mpi_gather MPIDI_DIMMNET_mpich_gather
#define MPIDI_NM_mpi_scatter MPIDI_DIMMNET_mpich_scatter
#define MPIDI_NM_mpi_gatherv MPIDI_DIMMNET_mpich_gatherv
#define MPIDI_NM_mpi_scatterv MPIDI_DIMMNET_mpich_scatterv
#define MPIDI_NM_mpi_ibarrier MPIDI_DIMMNET_mpich_ibarrier
#define MPIDI_NM_mpi_ibcast MPIDI_DIMMNET_mpich_ibcast
#define MPIDI_NM_mpi_ireduce MPIDI_DIMMNET_mpich_ireduce
#define MPIDI_NM_mpi_iallreduce MPIDI_DIMMNET_mpich_iallreduce
#define MPIDI_NM_mpi_igather MPIDI_DIMMNET_mpich_igather
#define MPIDI_NM_mpi_iscatter MPIDI_DIMMNET_mpich_iscatter
#define MPIDI_NM_mpi_iallgather MPIDI_DIMMNET_mpich_iallgather
#define MPIDI_NM_mpi_ialltoall MPIDI_DIMMNET_mpich_ialltoall
#define MPIDI_NM_mpi_alltoallw MPIDI_DIMMNET_mpich_alltoallw
#define MPIDI_NM_mpi_igatherv MPIDI_DIMMNET_mpich_igatherv
#define MPIDI_NM_mpi_iscatterv MPIDI_DIMMNET_mpich_iscatterv
#define MPIDI_NM_mpi_iallgatherv MPIDI_DIMMNET_mpich_iallgatherv
#define MPIDI_NM_mpi_ialltoallv MPIDI_DIMMNET_mpich_ialltoallv
#define MPIDI_NM_mpi_ialltoallw MPIDI_DIMMNET_mpich_ialltoallw
#define MPIDI_NM_mpi_ireduce_scatter MPIDI_DIMMNET_mpich_ireduce_scatter
#define MPIDI_NM_mpi_ireduce_scatter_block MPIDI_DIMMNET_mpich_ireduce_scatter_block
#include "netmod_am_fallback_coll.h"
#undef MPIDI_NM_mpi_ireduce_scatter_block
#undef MPIDI_NM_mpi_ireduce_scatter
#undef MPIDI_NM_mpi_ialltoallw
#undef MPIDI_NM_mpi_ialltoallv
#undef MPIDI_NM_mpi_iallgatherv
#undef MPIDI_NM_mpi_iscatterv
#undef MPIDI_NM_mpi_igatherv
#undef MPIDI_NM_mpi_alltoallw
#undef MPIDI_NM_mpi_ialltoall
#undef MPIDI_NM_mpi_iallgather
#undef MPIDI_NM_mpi_iscatter
#undef MPIDI_NM_mpi_igather
#undef MPIDI_NM_mpi_iallreduce
#undef MPIDI_NM_mpi_ireduce
#undef MPIDI_NM_mpi_ibcast
#undef MPIDI_NM_mpi_ibarrier
#undef MPIDI_NM_mpi_barrier
#undef MPIDI_NM_mpi_bcast
#undef MPIDI_NM_mpi_reduce
#undef MPIDI_NM_mpi_allreduce
#undef MPIDI_NM_mpi_allgather
#undef MPIDI_NM_mpi_alltoall
#undef MPIDI_NM_mpi_scatterv
#undef MPIDI_NM_mpi_gatherv
#undef MPIDI_NM_mpi_scatter
#undef MPIDI_NM_mpi_gather
#undef MPIDI_NM_mpi_alltoallv
#undef MPIDI_NM_mpi_reduce_scatter_block
#undef MPIDI_NM_mpi_reduce_scatter
#undef MPIDI_NM_mpi_allgatherv

int MPIDI_DIMMNET_barrier(MPIR_Comm *comm, MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                        MPIR_Comm *comm, MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                         MPI_Op op, int root, MPIR_Comm *comm, MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_allreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                            MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                            MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_allgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                            MPIR_Comm *comm, MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_alltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                           MPIR_Comm *comm, MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_gather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                         void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                         MPIR_Comm *comm, MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_scatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                          MPIR_Comm *comm, MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_gatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                          MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                          MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_scatterv(const void *sendbuf, const MPI_Aint sendcounts[],
                           const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
                           MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                           MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_allgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                             MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_alltoallv(const void *sendbuf, const MPI_Aint sendcounts[],
                            const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                            const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                            MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_reduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                 MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                 MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_reduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                       MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                       MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_ibarrier(MPIR_Comm *comm, MPIR_Request **request);
int MPIDI_DIMMNET_ibcast(void *buffer, MPI_Aint count, MPI_Datatype datatype, int root,
                         MPIR_Comm *comm, MPIR_Request **request);
int MPIDI_DIMMNET_ireduce(const void *sendbuf, void *recvbuf, MPI_Aint count, MPI_Datatype datatype,
                          MPI_Op op, int root, MPIR_Comm *comm, MPIR_Request **request);
int MPIDI_DIMMNET_iallreduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                             MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                             MPIR_Request **request);
int MPIDI_DIMMNET_igather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                          void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                          MPIR_Comm *comm, MPIR_Request **request);
int MPIDI_DIMMNET_iscatter(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype, int root,
                           MPIR_Comm *comm, MPIR_Request **request);
int MPIDI_DIMMNET_iallgather(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                             void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                             MPIR_Comm *comm, MPIR_Request **request);
int MPIDI_DIMMNET_ialltoall(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                            void *recvbuf, MPI_Aint recvcount, MPI_Datatype recvtype,
                            MPIR_Comm *comm, MPIR_Request **request);
int MPIDI_DIMMNET_alltoallw(const void *sendbuf, const MPI_Aint sendcounts[],
                            const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf,
                            const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                            const MPI_Datatype recvtypes[], MPIR_Comm *comm,
                            MPIR_Errflag_t *errflag);
int MPIDI_DIMMNET_igatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                           void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                           MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                           MPIR_Request **request);
int MPIDI_DIMMNET_iscatterv(const void *sendbuf, const MPI_Aint sendcounts[],
                            const MPI_Aint displs[], MPI_Datatype sendtype, void *recvbuf,
                            MPI_Aint recvcount, MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                            MPIR_Request **request);
int MPIDI_DIMMNET_iallgatherv(const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                              void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint displs[],
                              MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Request **request);
int MPIDI_DIMMNET_ialltoallv(const void *sendbuf, const MPI_Aint sendcounts[],
                             const MPI_Aint sdispls[], MPI_Datatype sendtype, void *recvbuf,
                             const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                             MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Request **request);
int MPIDI_DIMMNET_ialltoallw(const void *sendbuf, const MPI_Aint sendcounts[],
                             const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],
                             void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
                             const MPI_Datatype recvtypes[], MPIR_Comm *comm,
                             MPIR_Request **request);
int MPIDI_DIMMNET_ireduce_scatter(const void *sendbuf, void *recvbuf, const MPI_Aint recvcounts[],
                                  MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                  MPIR_Request **request);
int MPIDI_DIMMNET_ireduce_scatter_block(const void *sendbuf, void *recvbuf, MPI_Aint recvcount,
                                        MPI_Datatype datatype, MPI_Op op, MPIR_Comm *comm,
                                        MPIR_Request **request);

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_barrier(MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_barrier(comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_bcast(void *buffer, MPI_Aint count, MPI_Datatype datatype,
                                                int root, MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_bcast(buffer, count, datatype, root, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce(const void *sendbuf, void *recvbuf, MPI_Aint count,
                                                 MPI_Datatype datatype, MPI_Op op, int root,
                                                 MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_reduce(sendbuf, recvbuf, count, datatype, op, root, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allreduce(const void *sendbuf, void *recvbuf,
                                                    MPI_Aint count, MPI_Datatype datatype,
                                                    MPI_Op op, MPIR_Comm *comm,
                                                    MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_allreduce(sendbuf, recvbuf, count, datatype, op, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allgather(const void *sendbuf, MPI_Aint sendcount,
                                                    MPI_Datatype sendtype, void *recvbuf,
                                                    MPI_Aint recvcount, MPI_Datatype recvtype,
                                                    MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                   errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_alltoall(const void *sendbuf, MPI_Aint sendcount,
                                                   MPI_Datatype sendtype, void *recvbuf,
                                                   MPI_Aint recvcount, MPI_Datatype recvtype,
                                                   MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                  errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_allgatherv(const void *sendbuf, MPI_Aint sendcount,
                                                     MPI_Datatype sendtype, void *recvbuf,
                                                     const MPI_Aint recvcounts[],
                                                     const MPI_Aint displs[], MPI_Datatype recvtype,
                                                     MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_allgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                    recvtype, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce_scatter(const void *sendbuf, void *recvbuf,
                                                         const MPI_Aint recvcounts[],
                                                         MPI_Datatype datatype, MPI_Op op,
                                                         MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_reduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_reduce_scatter_block(const void *sendbuf, void *recvbuf,
                                                               MPI_Aint recvcount,
                                                               MPI_Datatype datatype, MPI_Op op,
                                                               MPIR_Comm *comm,
                                                               MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_reduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm,
                                              errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_alltoallv(const void *sendbuf,
                                                    const MPI_Aint sendcounts[],
                                                    const MPI_Aint sdispls[], MPI_Datatype sendtype,
                                                    void *recvbuf, const MPI_Aint recvcounts[],
                                                    const MPI_Aint rdispls[], MPI_Datatype recvtype,
                                                    MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                   rdispls, recvtype, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_gather(const void *sendbuf, MPI_Aint sendcount,
                                                 MPI_Datatype sendtype, void *recvbuf,
                                                 MPI_Aint recvcount, MPI_Datatype recvtype,
                                                 int root, MPIR_Comm *comm, MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_scatter(const void *sendbuf, MPI_Aint sendcount,
                                                  MPI_Datatype sendtype, void *recvbuf,
                                                  MPI_Aint recvcount, MPI_Datatype recvtype,
                                                  int root, MPIR_Comm *comm,
                                                  MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                 comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_gatherv(const void *sendbuf, MPI_Aint sendcount,
                                                  MPI_Datatype sendtype, void *recvbuf,
                                                  const MPI_Aint recvcounts[],
                                                  const MPI_Aint displs[], MPI_Datatype recvtype,
                                                  int root, MPIR_Comm *comm,
                                                  MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_gatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                 recvtype, root, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_scatterv(const void *sendbuf, const MPI_Aint sendcounts[],
                                                   const MPI_Aint displs[], MPI_Datatype sendtype,
                                                   void *recvbuf, MPI_Aint recvcount,
                                                   MPI_Datatype recvtype, int root, MPIR_Comm *comm,
                                                   MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_scatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                  recvtype, root, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ibarrier(MPIR_Comm *comm, MPIR_Request **request)
{
    return MPIDI_DIMMNET_ibarrier(comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ibcast(void *buffer, MPI_Aint count,
                                                 MPI_Datatype datatype, int root, MPIR_Comm *comm,
                                                 MPIR_Request **request)
{
    return MPIDI_DIMMNET_ibcast(buffer, count, datatype, root, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ireduce(const void *sendbuf, void *recvbuf,
                                                  MPI_Aint count, MPI_Datatype datatype, MPI_Op op,
                                                  int root, MPIR_Comm *comm, MPIR_Request **request)
{
    return MPIDI_DIMMNET_ireduce(sendbuf, recvbuf, count, datatype, op, root, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iallreduce(const void *sendbuf, void *recvbuf,
                                                     MPI_Aint count, MPI_Datatype datatype,
                                                     MPI_Op op, MPIR_Comm *comm,
                                                     MPIR_Request **request)
{
    return MPIDI_DIMMNET_iallreduce(sendbuf, recvbuf, count, datatype, op, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_igather(const void *sendbuf, MPI_Aint sendcount,
                                                  MPI_Datatype sendtype, void *recvbuf,
                                                  MPI_Aint recvcount, MPI_Datatype recvtype,
                                                  int root, MPIR_Comm *comm, MPIR_Request **request)
{
    return MPIDI_DIMMNET_igather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                 comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iscatter(const void *sendbuf, MPI_Aint sendcount,
                                                   MPI_Datatype sendtype, void *recvbuf,
                                                   MPI_Aint recvcount, MPI_Datatype recvtype,
                                                   int root, MPIR_Comm *comm,
                                                   MPIR_Request **request)
{
    return MPIDI_DIMMNET_iscatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root,
                                  comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iallgather(const void *sendbuf, MPI_Aint sendcount,
                                                     MPI_Datatype sendtype, void *recvbuf,
                                                     MPI_Aint recvcount, MPI_Datatype recvtype,
                                                     MPIR_Comm *comm, MPIR_Request **request)
{
    return MPIDI_DIMMNET_iallgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype,
                                    comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ialltoall(const void *sendbuf, MPI_Aint sendcount,
                                                    MPI_Datatype sendtype, void *recvbuf,
                                                    MPI_Aint recvcount, MPI_Datatype recvtype,
                                                    MPIR_Comm *comm, MPIR_Request **request)
{
    return MPIDI_DIMMNET_ialltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm,
                                   request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_alltoallw(
    const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Aint recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPIR_Comm *comm,
    MPIR_Errflag_t *errflag)
{
    return MPIDI_DIMMNET_alltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                   rdispls, recvtypes, comm, errflag);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_igatherv(const void *sendbuf, MPI_Aint sendcount,
                                                   MPI_Datatype sendtype, void *recvbuf,
                                                   const MPI_Aint recvcounts[],
                                                   const MPI_Aint displs[], MPI_Datatype recvtype,
                                                   int root, MPIR_Comm *comm,
                                                   MPIR_Request **request)
{
    return MPIDI_DIMMNET_igatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                  recvtype, root, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iscatterv(const void *sendbuf,
                                                    const MPI_Aint sendcounts[],
                                                    const MPI_Aint displs[], MPI_Datatype sendtype,
                                                    void *recvbuf, MPI_Aint recvcount,
                                                    MPI_Datatype recvtype, int root,
                                                    MPIR_Comm *comm, MPIR_Request **request)
{
    return MPIDI_DIMMNET_iscatterv(sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount,
                                   recvtype, root, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iallgatherv(const void *sendbuf, MPI_Aint sendcount,
                                                      MPI_Datatype sendtype, void *recvbuf,
                                                      const MPI_Aint recvcounts[],
                                                      const MPI_Aint displs[],
                                                      MPI_Datatype recvtype, MPIR_Comm *comm,
                                                      MPIR_Request **request)
{
    return MPIDI_DIMMNET_iallgatherv(sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs,
                                     recvtype, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ialltoallv(
    const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
    MPI_Datatype sendtype, void *recvbuf, const MPI_Aint recvcounts[], const MPI_Aint rdispls[],
    MPI_Datatype recvtype, MPIR_Comm *comm, MPIR_Request **request)
{
    return MPIDI_DIMMNET_ialltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts,
                                    rdispls, recvtype, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ialltoallw(
    const void *sendbuf, const MPI_Aint sendcounts[], const MPI_Aint sdispls[],
    const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Aint recvcounts[],
    const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPIR_Comm *comm,
    MPIR_Request **request)
{
    return MPIDI_DIMMNET_ialltoallw(sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts,
                                    rdispls, recvtypes, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ireduce_scatter(const void *sendbuf, void *recvbuf,
                                                          const MPI_Aint recvcounts[],
                                                          MPI_Datatype datatype, MPI_Op op,
                                                          MPIR_Comm *comm, MPIR_Request **request)
{
    return MPIDI_DIMMNET_ireduce_scatter(sendbuf, recvbuf, recvcounts, datatype, op, comm, request);
}

MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_ireduce_scatter_block(const void *sendbuf, void *recvbuf,
                                                                MPI_Aint recvcount,
                                                                MPI_Datatype datatype, MPI_Op op,
                                                                MPIR_Comm *comm,
                                                                MPIR_Request **request)
{
    return MPIDI_DIMMNET_ireduce_scatter_block(sendbuf, recvbuf, recvcount, datatype, op, comm,
                                               request);
}

#endif
