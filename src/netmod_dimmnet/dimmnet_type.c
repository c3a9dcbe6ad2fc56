/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes and operations: packing, and moving piece by piece; what is known of a type's blocks
 * (dimmnet_layout.c) goes with it.
 */
#include "dimmnet_impl.h"

/* Blocks found out about at a time. */
#define BLOCKS_AT_ONCE 1024
/* Shorter blocks, in the mean, are packed by loops made for them. */
#define MOVED_BLOCK_LEAST 4096

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

/* ---- piece by piece ---- */

/* Where the rest of the data are. */
struct MPIDI_DIMMNET_moved {
    const void *buf;
    MPI_Aint count;
    MPI_Datatype datatype;
    MPI_Aint bytes;   /* of all */
    MPI_Aint found;   /* of those, in blocks that have been found out about */
    MPI_Aint next, n; /* blocks */
    struct iovec block[BLOCKS_AT_ONCE];
};

MPIDI_DIMMNET_moved_t *MPIDI_DIMMNET_moved(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                           size_t len)
{
    MPI_Aint blocks;
    if (likely(!dnet_ep_wants_moved(MPIDI_DIMMNET_EP(0), len)))
        return NULL;
    MPIR_Typerep_iov_len(count, datatype, len, &blocks);
    if (blocks > (MPI_Aint) len / MOVED_BLOCK_LEAST)
        return NULL;
    MPIDI_DIMMNET_moved_t *m = MPL_malloc(sizeof(*m), MPL_MEM_DATATYPE);
    if (!m)
        return NULL;
    m->buf = buf;
    m->count = count;
    m->datatype = datatype;
    m->bytes = len;
    m->found = m->next = m->n = 0;
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    return m;
}

void MPIDI_DIMMNET_moved_release(MPIDI_DIMMNET_moved_t *moved)
{
    MPIR_Datatype_release_if_not_builtin(moved->datatype);
    MPL_free(moved);
}

static struct iovec *block_of(MPIDI_DIMMNET_moved_t *m)
{
    MPI_Aint bytes;
    if (m->next == m->n) {
        MPIR_Typerep_to_iov(m->buf, m->count, m->datatype, m->found, m->block, BLOCKS_AT_ONCE,
                            m->bytes - m->found, &m->n, &bytes);
        MPIR_Assert(m->n > 0);
        m->found += bytes;
        m->next = 0;
    }
    return &m->block[m->next];
}

static void move(MPIDI_DIMMNET_moved_t *m, char *bytes, size_t len, bool out)
{
    while (len) {
        struct iovec *block = block_of(m);
        size_t n = MPL_MIN(len, block->iov_len);
        memcpy(out ? bytes : block->iov_base, out ? block->iov_base : bytes, n);
        block->iov_base = (char *) block->iov_base + n;
        block->iov_len -= n;
        m->next += block->iov_len == 0;
        bytes += n;
        len -= n;
    }
}

void MPIDI_DIMMNET_move_out(dnet_ep_request_t *ep_req, void *bytes, size_t len)
{
    move(MPIDI_DIMMNET_REQ(MPIDI_DIMMNET_request_of(ep_req)).moved, bytes, len, true);
}

void MPIDI_DIMMNET_move_in(dnet_ep_request_t *ep_req, void *bytes, size_t len)
{
    move(MPIDI_DIMMNET_REQ(MPIDI_DIMMNET_request_of(ep_req)).moved, bytes, len, false);
}

/* ---- hooks ---- */

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
