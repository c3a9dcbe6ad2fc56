/* SPDX-License-Identifier: BSD-3-Clause */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_sides.h"
#include "dimmnet_board.h"

int MPIDI_DIMMNET_sides_take(MPIDI_DIMMNET_sides_t *s, void *buf, MPI_Aint count,
                             MPI_Datatype datatype)
{
    size_t len;
    s->to = MPIDI_DIMMNET_contiguous(buf, count, datatype, &len);
    if (s->to || !len)
        return MPI_SUCCESS;
    /* In place the own blocks are there already. */
    int mpi_errno = MPIDI_DIMMNET_pack(buf, count, datatype, &s->packed_to, &len);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    s->to = s->packed_to;
    s->buf = buf;
    s->count = count;
    s->datatype = datatype;
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    return MPI_SUCCESS;
}

/* Blocks of the length that the others take, where the program gives others: no more is read than
 * it has, and each block begins where it should. */
static int give_equal(MPIDI_DIMMNET_sides_t *s, size_t blocks, size_t given)
{
    uint8_t *equal = MPL_calloc(blocks, s->bytes, MPL_MEM_BUFFER);
    if (!equal && s->bytes)
        return MPIDI_DIMMNET_error_no_memory(blocks * s->bytes);
    for (size_t i = 0; i < blocks; i++)
        memcpy(equal + i * s->bytes, (const uint8_t *) s->from + i * given,
               MPL_MIN(given, s->bytes));
    MPL_free(s->packed_from);
    s->from = s->packed_from = equal;
    s->unequal = true;
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_sides_give(MPIDI_DIMMNET_sides_t *s, const void *buf, MPI_Aint count,
                             MPI_Datatype datatype, size_t blocks)
{
    size_t len;
    int mpi_errno = MPI_SUCCESS;
    count *= (MPI_Aint) blocks;
    s->from = MPIDI_DIMMNET_contiguous(buf, count, datatype, &len);
    if (!s->from && len) {
        mpi_errno = MPIDI_DIMMNET_pack(buf, count, datatype, &s->packed_from, &len);
        s->from = s->packed_from;
    }
    if (mpi_errno == MPI_SUCCESS && unlikely(len != s->bytes * blocks))
        mpi_errno = give_equal(s, blocks, len / blocks);
    return mpi_errno;
}

int MPIDI_DIMMNET_sides_exchange(MPIDI_DIMMNET_sides_t *s, const MPIR_Comm *comm,
                                 const void *sendbuf, MPI_Aint sendcount, MPI_Datatype sendtype,
                                 unsigned blocks, void *recvbuf, MPI_Aint recvcount,
                                 MPI_Datatype recvtype)
{
    int mpi_errno = MPIDI_DIMMNET_sides_take(s, recvbuf, recvcount * comm->local_size, recvtype);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;
    if (sendbuf != MPI_IN_PLACE)
        return MPIDI_DIMMNET_sides_give(s, sendbuf, sendcount, sendtype, blocks);
    s->from = blocks > 1 ? s->to : (uint8_t *) s->to + s->bytes * (size_t) comm->rank;
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_sides_part(MPIDI_DIMMNET_sides_t *s, unsigned blocks)
{
    s->packed_from = MPL_malloc(s->bytes * blocks, MPL_MEM_BUFFER);
    if (!s->packed_from)
        return MPIDI_DIMMNET_error_no_memory(s->bytes * blocks);
    s->from = memcpy(s->packed_from, s->to, s->bytes * blocks);
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_sides_end(MPIDI_DIMMNET_sides_t *s, bool complete)
{
    int mpi_errno = MPI_SUCCESS;
    if (s->packed_to) {
        size_t len;
        MPIDI_Datatype_check_size(s->datatype, s->count, len);
        if (complete)
            mpi_errno = MPIDI_DIMMNET_unpack(s->packed_to, len, s->buf, s->count, s->datatype);
        MPIR_Datatype_release_if_not_builtin(s->datatype);
    }
    MPL_free(s->packed_from);
    MPL_free(s->packed_to);
    return complete && mpi_errno == MPI_SUCCESS && s->unequal ? MPIDI_DIMMNET_error_truncated()
                                                              : mpi_errno;
}
