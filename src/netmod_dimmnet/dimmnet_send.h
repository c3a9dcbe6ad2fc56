/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends.  The path of a contiguous message that the endpoint takes at once touches the
 * communicator, the address table and the endpoint, and no request.
 */
#ifndef DIMMNET_SEND_H_INCLUDED
#define DIMMNET_SEND_H_INCLUDED

#include "dimmnet_impl.h"

/* A request for a send that may outlive the call: one reference for the caller, one for the
 * endpoint. NULL: no more requests. */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDI_DIMMNET_sreq_get(int vci)
{
    MPIR_Request *sreq = MPIDI_DIMMNET_VCI(vci)->spare_sreq;
    MPIDI_DIMMNET_VCI(vci)->spare_sreq = NULL;
    if (unlikely(!sreq)) {
        sreq = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__SEND, vci, 2);
        if (!sreq)
            return NULL;
        MPIDI_DIMMNET_REQ(sreq).ep.complete = MPIDI_DIMMNET_send_complete;
        MPIDI_DIMMNET_REQ(sreq).packed = NULL;
        MPIDI_DIMMNET_REQ(sreq).blocks = NULL;
        MPIDI_DIMMNET_REQ(sreq).moved = NULL;
    }
    return sreq;
}

/* Not needed after all.  A callback of the endpoint may have left another spare meanwhile. */
MPL_STATIC_INLINE_PREFIX void MPIDI_DIMMNET_sreq_put(int vci, MPIR_Request *sreq)
{
    if (likely(!MPIDI_DIMMNET_VCI(vci)->spare_sreq)) {
        MPIDI_DIMMNET_VCI(vci)->spare_sreq = sreq;
    } else {
        MPIDIU_request_complete(sreq);
        MPIR_Request_free_unsafe(sreq);
    }
}

/* The send goes on: the caller gets the request. */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDI_DIMMNET_sreq_keep(MPIR_Request *sreq, MPIR_Comm *comm)
{
    sreq->comm = comm;
    MPIR_Comm_add_ref(comm);
    return sreq;
}

/* Send; `sync`: complete only when the receive has been matched.  A send that is over at once
 * gets a request that is complete already.  The caller holds the lock of that VCI. */
MPL_STATIC_INLINE_PREFIX int MPIDI_DIMMNET_send(const void *buf, MPI_Aint count,
                                                MPI_Datatype datatype, int vci, int tag,
                                                MPIR_Comm *comm, int context_offset,
                                                MPIDI_av_entry_t *addr, bool sync,
                                                MPIR_Request **request)
{
    int contig;
    size_t len;
    MPI_Aint true_lb;
    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, len, true_lb);

    uint32_t peer = MPIDI_DIMMNET_AV(addr).peer;
    uint64_t envelope = dnet_ep_envelope(comm->context_id + context_offset, comm->rank, tag);
    if (unlikely(!contig && len))
        return MPIDI_DIMMNET_send_packed(buf, count, datatype, vci, peer, envelope, sync, comm,
                                         request);

    MPIR_Request *sreq = MPIDI_DIMMNET_sreq_get(vci);
    if (unlikely(!sreq))
        return MPIDI_DIMMNET_error_no_request();
    dnet_status_t status =
        dnet_ep_send(MPIDI_DIMMNET_EP(vci), peer, envelope, MPIR_get_contig_ptr(buf, true_lb), len,
                     sync, &MPIDI_DIMMNET_REQ(sreq).ep);
    if (unlikely(status == DNET_IN_PROGRESS)) {
        *request = MPIDI_DIMMNET_sreq_keep(sreq, comm);
        return MPI_SUCCESS;
    }
    MPIDI_DIMMNET_sreq_put(vci, sreq);
    if (unlikely(status != DNET_OK))
        return MPIDI_DIMMNET_error(status, "send");
    *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
    return MPI_SUCCESS;
}

/* The same by the VCI that (comm, rank, tag) say, under its lock.  wire_tag: as it is sent. */
MPL_STATIC_INLINE_PREFIX int MPIDI_DIMMNET_send_locked(const void *buf, MPI_Aint count,
                                                       MPI_Datatype datatype, int rank, int tag,
                                                       int wire_tag, MPIR_Comm *comm,
                                                       int context_offset, MPIDI_av_entry_t *addr,
                                                       bool sync, MPIR_Request **req_p)
{
    int vci = MPIDI_DIMMNET_vci_of(DST_VCI_FROM_SENDER, comm, comm->rank, rank, tag);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    int mpi_errno = MPIDI_DIMMNET_send(buf, count, datatype, vci, wire_tag, comm, context_offset,
                                       addr, sync, req_p);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
}

/* MPI_Isend. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_isend(const void *buf, MPI_Aint count,
                                                MPI_Datatype datatype, int rank, int tag,
                                                MPIR_Comm *comm, int context_offset,
                                                MPIDI_av_entry_t *addr, MPIR_Request **req_p)
{
    return MPIDI_DIMMNET_send_locked(buf, count, datatype, rank, tag, tag, comm, context_offset,
                                     addr, false, req_p);
}

/* MPI_Issend. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_issend(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm *comm, int context_offset,
                                                 MPIDI_av_entry_t *addr, MPIR_Request **req_p)
{
    return MPIDI_DIMMNET_send_locked(buf, count, datatype, rank, tag, tag, comm, context_offset,
                                     addr, true, req_p);
}

/* A collective that has failed here tells the receiver so in two bits of the tag. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_isend_coll(const void *buf, MPI_Aint count,
                                                 MPI_Datatype datatype, int rank, int tag,
                                                 MPIR_Comm *comm, int context_offset,
                                                 MPIDI_av_entry_t *addr, MPIR_Request **req_p,
                                                 MPIR_Errflag_t *errflag)
{
    int wire_tag = tag;
    if (unlikely(*errflag == MPIR_ERR_PROC_FAILED))
        MPIR_TAG_SET_PROC_FAILURE_BIT(wire_tag);
    else if (unlikely(*errflag != MPIR_ERR_NONE))
        MPIR_TAG_SET_ERROR_BIT(wire_tag);
    return MPIDI_DIMMNET_send_locked(buf, count, datatype, rank, tag, wire_tag, comm,
                                     context_offset, addr, false, req_p);
}

/* The request completes as cancelled, perhaps later, or as if nobody had asked. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_cancel_send(MPIR_Request *sreq)
{
    int vci = MPIDI_DIMMNET_vci_of_request(sreq);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    if (!MPIR_Request_is_complete(sreq))
        dnet_ep_cancel_send(MPIDI_DIMMNET_EP(vci), &MPIDI_DIMMNET_REQ(sreq).ep);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return MPI_SUCCESS;
}

#endif
