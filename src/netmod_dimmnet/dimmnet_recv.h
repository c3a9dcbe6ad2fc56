/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receives.
 */
#ifndef DIMMNET_RECV_H_INCLUDED
#define DIMMNET_RECV_H_INCLUDED

#include "dimmnet_impl.h"

/* What a receive or a probe wants, as envelope and mask. */
MPL_STATIC_INLINE_PREFIX uint64_t MPIDI_DIMMNET_wanted(int rank, int tag, MPIR_Comm *comm,
                                                       int context_offset, uint64_t *mask)
{
    *mask = MPIDI_DIMMNET_global.match_bits;
    if (rank == MPI_ANY_SOURCE) {
        *mask &= DNET_MATCH_ANY_SOURCE;
        rank = 0;
    }
    if (tag == MPI_ANY_TAG) {
        *mask &= DNET_MATCH_ANY_TAG;
        tag = 0;
    }
    return dnet_ep_envelope(comm->recvcontext_id + context_offset, rank, tag);
}

/* Where the data of a receive go: the user's buffer, or one to be unpacked from. */
MPL_STATIC_INLINE_PREFIX int MPIDI_DIMMNET_recv_buffer(void *buf, MPI_Aint count,
                                                       MPI_Datatype datatype, MPIR_Request *rreq,
                                                       void **to, size_t *len)
{
    int contig;
    MPI_Aint true_lb;
    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, *len, true_lb);
    if (unlikely(!contig && *len)) {
        int mpi_errno = MPIDI_DIMMNET_recv_packed(buf, count, datatype, rreq);
        *to = MPIDI_DIMMNET_REQ(rreq).packed;
        return mpi_errno;
    }
    MPIDI_DIMMNET_REQ(rreq).ep.complete = MPIDI_DIMMNET_recv_complete;
    MPIDI_DIMMNET_REQ(rreq).ep.layout.kind = DNET_LAYOUT_NONE;
    *to = MPIR_get_contig_ptr(buf, true_lb);
    return MPI_SUCCESS;
}

/* After dnet_ep_recv() or dnet_ep_mrecv(): nothing to do, or complete as the callback would. */
MPL_STATIC_INLINE_PREFIX void MPIDI_DIMMNET_recv_started(MPIR_Request *rreq, dnet_status_t status)
{
    if (status != DNET_IN_PROGRESS)
        MPIDI_DIMMNET_REQ(rreq).ep.complete(&MPIDI_DIMMNET_REQ(rreq).ep, status);
}

/* MPI_Irecv. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_irecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                int rank, int tag, MPIR_Comm *comm,
                                                int context_offset, MPIDI_av_entry_t *addr,
                                                MPIR_Request **req_p, MPIR_Request *partner)
{
    MPIR_FUNC_ENTER;
    int vci = MPIDI_DIMMNET_vci_of(DST_VCI_FROM_RECVER, comm, rank, comm->rank, tag);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    uint64_t mask;
    uint64_t envelope = MPIDI_DIMMNET_wanted(rank, tag, comm, context_offset, &mask);
    int mpi_errno;
    MPIR_Request *rreq = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__RECV, vci, 2);
    if (unlikely(!rreq)) {
        mpi_errno = MPIDI_DIMMNET_error_no_request();
        goto fn_exit;
    }
    rreq->comm = comm;
    MPIR_Comm_add_ref(comm);

    void *to;
    size_t len;
    mpi_errno = MPIDI_DIMMNET_recv_buffer(buf, count, datatype, rreq, &to, &len);
    if (unlikely(mpi_errno != MPI_SUCCESS)) {
        MPIDIU_request_complete(rreq);
        MPIR_Request_free_unsafe(rreq);
        goto fn_exit;
    }
    *req_p = rreq;
    MPIDI_DIMMNET_recv_started(rreq, dnet_ep_recv(MPIDI_DIMMNET_EP(vci), envelope, mask, to, len,
                                                  &MPIDI_DIMMNET_REQ(rreq).ep));
fn_exit:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    MPIR_FUNC_EXIT;
    return mpi_errno;
}

/* MPI_Imrecv: `message` becomes the receive request. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_imrecv(void *buf, MPI_Aint count, MPI_Datatype datatype,
                                                 MPIR_Request *message)
{
    MPIR_FUNC_ENTER;
    int vci = MPIDI_DIMMNET_vci_of_request(message);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    void *to;
    size_t len;
    int mpi_errno = MPIDI_DIMMNET_recv_buffer(buf, count, datatype, message, &to, &len);
    if (likely(mpi_errno == MPI_SUCCESS))
        MPIDI_DIMMNET_recv_started(message, dnet_ep_mrecv(MPIDI_DIMMNET_EP(vci),
                                                          MPIDI_DIMMNET_REQ(message).message, to,
                                                          len, &MPIDI_DIMMNET_REQ(message).ep));
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    MPIR_FUNC_EXIT;
    return mpi_errno;
}

/* MPICH holds the lock already. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_recv(DN_CANCEL_RECV_PARAMS)
{
    if (!MPIR_Request_is_complete(rreq) &&
        dnet_ep_cancel_recv(MPIDI_DIMMNET_EP(MPIDI_DIMMNET_vci_of_request(rreq)),
                            &MPIDI_DIMMNET_REQ(rreq).ep))
        MPIDI_DIMMNET_recv_cancelled(rreq);
    return MPI_SUCCESS;
}

#endif
