/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Active messages: what MPICH's fall-back code for RMA, partitioned communication and the rest
 * travels in. The endpoint delivers a message whole, so nothing is asynchronous on the receiving
 * side.
 */
#ifndef DIMMNET_AM_H_INCLUDED
#define DIMMNET_AM_H_INCLUDED

#include "dimmnet_impl.h"

/* Payload up to which MPICH's own protocols send at once; MPICH keeps such a message in a buffer of
 * MPIR_CVAR_CH4_AM_PACK_BUFFER_SIZE (16 KiB) bytes while its receive is missing. */
#define MPIDI_DIMMNET_AM_EAGER_BYTES 16384

/* Send header and data to a rank; sreq completes when buf may be reused.  NULL: there is no data.
 */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend(int rank, MPIR_Comm *comm, int handler_id,
                                               const void *am_hdr, MPI_Aint am_hdr_sz,
                                               const void *data, MPI_Aint count,
                                               MPI_Datatype datatype, int src_vci, int dst_vci,
                                               MPIR_Request *sreq)
{
    /* MPICH's are the same on both sides: a window's, or 0 */
    MPIR_Assert(src_vci == dst_vci && dst_vci < MPIDI_DIMMNET_vcis());
    return MPIDI_DIMMNET_am_send(dst_vci, MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(comm, rank)).peer,
                                 handler_id, am_hdr, am_hdr_sz, data, count, datatype, sreq);
}

/* The same from inside a handler, to the rank that sent its message. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_isend_reply(MPIR_Comm *comm, int src_rank, int handler_id,
                                                     const void *am_hdr, MPI_Aint am_hdr_sz,
                                                     const void *data, MPI_Aint count,
                                                     MPI_Datatype datatype, int src_vci,
                                                     int dst_vci, MPIR_Request *sreq)
{
    return MPIDI_NM_am_isend(src_rank, comm, handler_id, am_hdr, am_hdr_sz, data, count, datatype,
                             src_vci, dst_vci, sreq);
}

/* Send a header without data. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr(int rank, MPIR_Comm *comm, int handler_id,
                                                  const void *am_hdr, MPI_Aint am_hdr_sz,
                                                  int src_vci, int dst_vci)
{
    return MPIDI_NM_am_isend(rank, comm, handler_id, am_hdr, am_hdr_sz, NULL, 0, MPI_BYTE, src_vci,
                             dst_vci, NULL);
}

/* The same from inside a handler. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_am_send_hdr_reply(MPIR_Comm *comm, int src_rank,
                                                        int handler_id, const void *am_hdr,
                                                        MPI_Aint am_hdr_sz, int src_vci,
                                                        int dst_vci)
{
    return MPIDI_NM_am_send_hdr(src_rank, comm, handler_id, am_hdr, am_hdr_sz, src_vci, dst_vci);
}

/* Longest header, bytes. */
MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_hdr_max_sz(void)
{
    return DNET_EP_AM_HEADER_MAX;
}

/* Longest message, with its header, that MPICH is to send at once, bytes. */
MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_limit(void)
{
    return MPIDI_DIMMNET_AM_EAGER_BYTES;
}

/* Longest message that MPICH buffers while its receive is missing, bytes. */
MPL_STATIC_INLINE_PREFIX MPI_Aint MPIDI_NM_am_eager_buf_limit(void)
{
    return MPIDI_DIMMNET_AM_EAGER_BYTES;
}

/* May MPICH send this message at once? */
MPL_STATIC_INLINE_PREFIX bool MPIDI_NM_am_check_eager(MPI_Aint am_hdr_sz, MPI_Aint data_sz,
                                                      const void *data, MPI_Aint count,
                                                      MPI_Datatype datatype, MPIR_Request *sreq)
{
    return am_hdr_sz + data_sz <= MPIDI_DIMMNET_AM_EAGER_BYTES;
}

/* None: data come with their message, so that nothing is left to copy. */
MPL_STATIC_INLINE_PREFIX MPIDIG_recv_data_copy_cb MPIDI_NM_am_get_data_copy_cb(uint32_t attr)
{
    return NULL;
}

/* Hooks MPICH wants; the netmod keeps nothing in such requests. */
MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_init(MPIR_Request *req)
{
}

/* As MPIDI_NM_am_request_init(). */
MPL_STATIC_INLINE_PREFIX void MPIDI_NM_am_request_finalize(MPIR_Request *req)
{
}

#endif
