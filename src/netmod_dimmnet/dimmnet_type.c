/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes and operations: packing; what is known of a type's blocks (dimmnet_layout.c) goes with
 * it.
 */
#include "dimmnet_impl.h"

int MPIDI_DIMMNET_pack(const void *buf, MPI_Aint count, MPI_Datatype datatype, void **packed_p,
                       size_t *len_p)
{
    size_t len;
    MPIDI_Datatype_check_size(datatype, count, len);
    void *packed = MPL_malloc(len, MPL_MEM_BUFFER);
    if (!packed)
        return MPIDI_DIMMNET_error_no_memory(len);
    MPI_Aint actual;
    int mpi_errno = MPIR_Typerep_pack(buf, count, datatype, 0, packed, len, &actual);
    if (mpi_errno != MPI_SUCCESS) {
        MPL_free(packed);
        return mpi_errno;
    }
    MPIR_Assert(actual == (MPI_Aint) len);
    *packed_p = packed;
    *len_p = len;
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_type_commit_hook(MPIR_Datatype *datatype_p)
{
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_type_free_hook(MPIR_Datatype *datatype_p)
{
    MPIDI_DIMMNET_layout_forget(datatype_p);
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_op_commit_hook(MPIR_Op *op_p)
{
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_op_free_hook(MPIR_Op *op_p)
{
    return MPI_SUCCESS;
}
