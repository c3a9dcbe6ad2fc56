/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partitioned communication: MPICH's own, over active messages.
 */
#include "dimmnet_impl.h"

int MPIDI_DIMMNET_mpi_psend_init(const void *buf, int partitions, MPI_Aint count,
                                 MPI_Datatype datatype, int rank, int tag, MPIR_Comm *comm,
                                 MPIR_Info *info, MPIDI_av_entry_t *av, MPIR_Request **req_p)
{
    return MPIDIG_mpi_psend_init(buf, partitions, count, datatype, rank, tag, comm, info, req_p);
}

int MPIDI_DIMMNET_mpi_precv_init(void *buf, int partitions, MPI_Aint count, MPI_Datatype datatype,
                                 int rank, int tag, MPIR_Comm *comm, MPIR_Info *info,
                                 MPIDI_av_entry_t *av, MPIR_Request **req_p)
{
    return MPIDIG_mpi_precv_init(buf, partitions, count, datatype, rank, tag, comm, info, req_p);
}
