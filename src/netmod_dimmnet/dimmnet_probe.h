/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Probes.  MPI_ERROR of the status is the caller's and stays as it is (MPI 4.0 section 3.2.5).
 */
#ifndef DIMMNET_PROBE_H_INCLUDED
#define DIMMNET_PROBE_H_INCLUDED

#include "dimmnet_impl.h"
#include "dimmnet_recv.h"

/* Tell source, tag and bytes of the message found. */
MPL_STATIC_INLINE_PREFIX void MPIDI_DIMMNET_probe_status(const dnet_ep_probe_t *found,
                                                         MPI_Status *status)
{
    if (status == MPI_STATUS_IGNORE)
        return;
    status->MPI_SOURCE = (int) dnet_ep_envelope_rank(found->envelope);
    status->MPI_TAG = (int) dnet_ep_envelope_tag(found->envelope);
    MPIR_STATUS_SET_CANCEL_BIT(*status, FALSE);
    MPIR_STATUS_SET_COUNT(*status, found->len_bytes);
}

/* There is no such message: remembered for who asks what this rank waits for. */
MPL_STATIC_INLINE_PREFIX void MPIDI_DIMMNET_probe_failed(int vci, uint64_t envelope, uint64_t mask)
{
    MPIDI_DIMMNET_VCI(vci)->asked.probe = envelope;
    MPIDI_DIMMNET_VCI(vci)->asked.probe_mask = mask;
}

/* MPI_Iprobe: *flag says whether such a message has arrived. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_iprobe(int source, int tag, MPIR_Comm *comm,
                                                 int context_offset, MPIDI_av_entry_t *addr,
                                                 int *flag, MPI_Status *status)
{
    int vci = MPIDI_DIMMNET_vci_of(DST_VCI_FROM_RECVER, comm, source, comm->rank, tag);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    uint64_t mask;
    uint64_t envelope = MPIDI_DIMMNET_wanted(source, tag, comm, context_offset, &mask);
    dnet_ep_probe_t found;
    *flag = dnet_ep_probe(MPIDI_DIMMNET_EP(vci), envelope, mask, &found) == DNET_OK;
    if (*flag)
        MPIDI_DIMMNET_probe_status(&found, status);
    else
        MPIDI_DIMMNET_probe_failed(vci, envelope, mask);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return MPI_SUCCESS;
}

/* MPI_Improbe: takes the message out of matching; MPIDI_NM_mpi_imrecv() receives it. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_mpi_improbe(int source, int tag, MPIR_Comm *comm,
                                                  int context_offset, MPIDI_av_entry_t *addr,
                                                  int *flag, MPIR_Request **message_p,
                                                  MPI_Status *status)
{
    int mpi_errno = MPI_SUCCESS;
    int vci = MPIDI_DIMMNET_vci_of(DST_VCI_FROM_RECVER, comm, source, comm->rank, tag);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(vci).lock);
    uint64_t mask;
    uint64_t envelope = MPIDI_DIMMNET_wanted(source, tag, comm, context_offset, &mask);
    dnet_ep_probe_t found;
    dnet_ep_message_t *message;
    *flag = 0;
    if (dnet_ep_probe(MPIDI_DIMMNET_EP(vci), envelope, mask, &found) != DNET_OK) {
        MPIDI_DIMMNET_probe_failed(vci, envelope, mask);
        goto fn_exit;
    }
    /* First, because a message that has been taken cannot be put back. */
    MPIR_Request *req = MPIR_Request_create_from_pool(MPIR_REQUEST_KIND__MPROBE, vci, 1);
    if (unlikely(!req)) {
        mpi_errno = MPIDI_DIMMNET_error_no_request();
        goto fn_exit;
    }
    if (unlikely(dnet_ep_mprobe(MPIDI_DIMMNET_EP(vci), envelope, mask, &found, &message) !=
                 DNET_OK)) {
        MPIDI_CH4_REQUEST_FREE(req);
        goto fn_exit;
    }
    MPIR_Request_add_ref(req);
    req->comm = comm;
    MPIR_Comm_add_ref(comm);
    MPIDI_DIMMNET_REQ(req).message = message;
    MPIDI_DIMMNET_probe_status(&found, status);
    *message_p = req;
    *flag = 1;
fn_exit:
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(vci).lock);
    return mpi_errno;
}

#endif
