/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Completion of sends and receives, and types with gaps: these are packed into a contiguous buffer
 * to be sent, and received into one to be unpacked, or moved piece by piece.
 */
/* Our inline functions are wanted here, not the wrappers that choose among several netmods. */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "common/compiler.h"
#include "dimmnet_send.h"

/* ---- sends ---- */

void MPIDI_DIMMNET_send_complete(dnet_ep_request_t *ep_req, dnet_status_t status)
{
    MPIR_Request *sreq = MPIDI_DIMMNET_request_of(ep_req);
    MPL_free(MPIDI_DIMMNET_REQ(sreq).packed);
    MPIDI_DIMMNET_REQ(sreq).packed = NULL;
    if (unlikely(MPIDI_DIMMNET_REQ(sreq).blocks != NULL)) {
        MPIDI_DIMMNET_blocks_release(MPIDI_DIMMNET_REQ(sreq).blocks);
        MPIDI_DIMMNET_REQ(sreq).blocks = NULL;
    }
    if (unlikely(MPIDI_DIMMNET_REQ(sreq).moved != NULL)) {
        MPIDI_DIMMNET_moved_release(MPIDI_DIMMNET_REQ(sreq).moved);
        MPIDI_DIMMNET_REQ(sreq).moved = NULL;
    }
    if (unlikely(status == DNET_CANCELLED)) {
        MPIR_STATUS_SET_CANCEL_BIT(sreq->status, TRUE);
    } else if (unlikely(status != DNET_OK)) {
        sreq->status.MPI_ERROR = MPIDI_DIMMNET_error(status, "send");
    }
    MPIDIU_request_complete(sreq);
}

/* The receiver's NIC fetches the blocks, or asks for them packed. */
static int send_blocks(const dnet_ep_layout_t *layout, MPIDI_DIMMNET_blocks_t *blocks, int vci,
                       uint32_t peer, uint64_t envelope, MPIR_Comm *comm, MPIR_Request **request)
{
    MPIR_Request *sreq = MPIDI_DIMMNET_sreq_get(vci);
    if (!sreq) {
        MPIDI_DIMMNET_blocks_release(blocks);
        return MPIDI_DIMMNET_error_no_request();
    }
    MPIDI_DIMMNET_REQ(sreq).blocks = blocks;
    dnet_status_t status = dnet_ep_send_layout(MPIDI_DIMMNET_EP(vci), peer, envelope, layout,
                                               &MPIDI_DIMMNET_REQ(sreq).ep);
    if (status == DNET_IN_PROGRESS) {
        *request = MPIDI_DIMMNET_sreq_keep(sreq, comm);
        return MPI_SUCCESS;
    }
    MPIDI_DIMMNET_blocks_release(blocks);
    MPIDI_DIMMNET_REQ(sreq).blocks = NULL;
    MPIDI_DIMMNET_sreq_put(vci, sreq);
    return MPIDI_DIMMNET_error(status, "send");
}

/* Nobody has a copy of the whole. */
static int send_moved(MPIDI_DIMMNET_moved_t *moved, size_t len, int vci, uint32_t peer,
                      uint64_t envelope, MPIR_Comm *comm, MPIR_Request **request)
{
    MPIR_Request *sreq = MPIDI_DIMMNET_sreq_get(vci);
    if (!sreq) {
        MPIDI_DIMMNET_moved_release(moved);
        return MPIDI_DIMMNET_error_no_request();
    }
    MPIDI_DIMMNET_REQ(sreq).moved = moved;
    MPIDI_DIMMNET_REQ(sreq).ep.move = MPIDI_DIMMNET_move_out;
    dnet_status_t status =
        dnet_ep_send_moved(MPIDI_DIMMNET_EP(vci), peer, envelope, len, &MPIDI_DIMMNET_REQ(sreq).ep);
    if (status == DNET_IN_PROGRESS) {
        *request = MPIDI_DIMMNET_sreq_keep(sreq, comm);
        return MPI_SUCCESS;
    }
    MPIDI_DIMMNET_moved_release(moved);
    MPIDI_DIMMNET_REQ(sreq).moved = NULL;
    MPIDI_DIMMNET_sreq_put(vci, sreq);
    return MPIDI_DIMMNET_error(status, "send");
}

int MPIDI_DIMMNET_send_packed(const void *buf, MPI_Aint count, MPI_Datatype datatype, int vci,
                              uint32_t peer, uint64_t envelope, bool sync, MPIR_Comm *comm,
                              MPIR_Request **request)
{
    void *packed;
    size_t len;
    dnet_ep_layout_t layout;
    MPIDI_DIMMNET_blocks_t *blocks;
    MPIDI_Datatype_check_size(datatype, count, len);
    /* SO-DIMM memory of MPI_Alloc_mem is VCI 0's. */
    if (vci == 0 && MPIDI_DIMMNET_layout(buf, count, datatype, len, &layout, &blocks))
        return send_blocks(&layout, blocks, vci, peer, envelope, comm, request);
    MPIDI_DIMMNET_moved_t *moved = MPIDI_DIMMNET_moved(buf, count, datatype, len);
    if (moved)
        return send_moved(moved, len, vci, peer, envelope, comm, request);
    int mpi_errno = MPIDI_DIMMNET_pack(buf, count, datatype, &packed, &len);
    if (mpi_errno != MPI_SUCCESS)
        return mpi_errno;

    MPIR_Request *sreq = MPIDI_DIMMNET_sreq_get(vci);
    if (!sreq) {
        MPL_free(packed);
        return MPIDI_DIMMNET_error_no_request();
    }
    MPIDI_DIMMNET_REQ(sreq).packed = packed;
    dnet_status_t status = dnet_ep_send(MPIDI_DIMMNET_EP(vci), peer, envelope, packed, len, sync,
                                        &MPIDI_DIMMNET_REQ(sreq).ep);
    if (status == DNET_IN_PROGRESS) {
        *request = MPIDI_DIMMNET_sreq_keep(sreq, comm);
        return MPI_SUCCESS;
    }
    MPL_free(packed);
    MPIDI_DIMMNET_REQ(sreq).packed = NULL;
    MPIDI_DIMMNET_sreq_put(vci, sreq);
    if (status != DNET_OK)
        return MPIDI_DIMMNET_error(status, "send");
    *request = MPIR_Request_create_complete(MPIR_REQUEST_KIND__SEND);
    return MPI_SUCCESS;
}

/* ---- receives ---- */

/* MPICH keeps the texts of the last 128 codes, and a request may be asked long after it has failed:
 * its class is a code too, and stays.  Where the first error ends the job it can be told in full.
 */
static DNET_COLD void recv_error(MPIR_Request *rreq, dnet_status_t status)
{
    const dnet_ep_request_t *ep_req = &MPIDI_DIMMNET_REQ(rreq).ep;
    bool fatal = rreq->comm && !rreq->comm->errhandler;
    if (!fatal)
        rreq->status.MPI_ERROR = status == DNET_ERR_TRUNCATED ? MPI_ERR_TRUNCATE : MPI_ERR_OTHER;
    else if (status == DNET_ERR_TRUNCATED)
        rreq->status.MPI_ERROR = MPIR_Err_create_code(
            MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_TRUNCATE, "**truncate",
            "**truncate %d %d %d %d", rreq->status.MPI_SOURCE,
            MPIR_TAG_MASK_ERROR_BITS(rreq->status.MPI_TAG), (int) ep_req->sent_bytes,
            (int) ep_req->len_bytes);
    else
        rreq->status.MPI_ERROR = MPIDI_DIMMNET_error(status, "receive");
}

static inline void recv_status(MPIR_Request *rreq, dnet_status_t status)
{
    const dnet_ep_request_t *ep_req = &MPIDI_DIMMNET_REQ(rreq).ep;
    rreq->status.MPI_SOURCE = (int) dnet_ep_envelope_rank(ep_req->envelope);
    rreq->status.MPI_TAG = (int) dnet_ep_envelope_tag(ep_req->envelope);
    MPIR_STATUS_SET_COUNT(rreq->status, ep_req->len_bytes);
    if (unlikely(status != DNET_OK))
        recv_error(rreq, status);
}

void MPIDI_DIMMNET_recv_complete(dnet_ep_request_t *ep_req, dnet_status_t status)
{
    MPIR_Request *rreq = MPIDI_DIMMNET_request_of(ep_req);
    recv_status(rreq, status);
    MPIDIU_request_complete(rreq);
}

static void packed_release(MPIR_Request *rreq)
{
    MPL_free(MPIDI_DIMMNET_REQ(rreq).packed);
    if (MPIDI_DIMMNET_REQ(rreq).blocks)
        MPIDI_DIMMNET_blocks_release(MPIDI_DIMMNET_REQ(rreq).blocks);
    if (MPIDI_DIMMNET_REQ(rreq).moved)
        MPIDI_DIMMNET_moved_release(MPIDI_DIMMNET_REQ(rreq).moved);
    MPIR_Datatype_release_if_not_builtin(MPIDI_DIMMNET_REQ(rreq).datatype);
}

void MPIDI_DIMMNET_recv_unpack(dnet_ep_request_t *ep_req, dnet_status_t status)
{
    MPIR_Request *rreq = MPIDI_DIMMNET_request_of(ep_req);
    const MPIDI_DIMMNET_request_t *req = &MPIDI_DIMMNET_REQ(rreq);
    recv_status(rreq, status);
    if (!ep_req->in_layout && (status == DNET_OK || status == DNET_ERR_TRUNCATED)) {
        MPI_Aint unpacked;
        MPIR_Typerep_unpack(req->packed, ep_req->len_bytes, req->buf, req->count, req->datatype, 0,
                            &unpacked);
        /* There was room, yet not all fitted: the sender's elements are of another size. */
        if (unpacked < (MPI_Aint) ep_req->len_bytes && status == DNET_OK)
            rreq->status.MPI_ERROR = MPI_ERR_TYPE;
        MPIR_STATUS_SET_COUNT(rreq->status, unpacked);
    }
    packed_release(rreq);
    MPIDIU_request_complete(rreq);
}

int MPIDI_DIMMNET_recv_packed(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request *rreq)
{
    MPIDI_DIMMNET_request_t *req = &MPIDI_DIMMNET_REQ(rreq);
    size_t len;
    MPIDI_Datatype_check_size(datatype, count, len);
    req->packed = MPL_malloc(len, MPL_MEM_BUFFER);
    if (!req->packed)
        return MPIDI_DIMMNET_error_no_memory(len);
    req->buf = buf;
    req->count = count;
    req->datatype = datatype;
    MPIR_Datatype_add_ref_if_not_builtin(datatype);
    req->ep.complete = MPIDI_DIMMNET_recv_unpack;
    req->moved = NULL;
    if (MPIDI_DIMMNET_vci_of_request(rreq) == 0 &&
        MPIDI_DIMMNET_layout(buf, count, datatype, len, &req->ep.layout, &req->blocks))
        return MPI_SUCCESS;
    req->blocks = NULL;
    req->moved = MPIDI_DIMMNET_moved(buf, count, datatype, len);
    req->ep.layout.kind = req->moved ? DNET_LAYOUT_MOVED : DNET_LAYOUT_NONE;
    req->ep.move = MPIDI_DIMMNET_move_in;
    return MPI_SUCCESS;
}

void MPIDI_DIMMNET_recv_cancelled(MPIR_Request *rreq)
{
    if (MPIDI_DIMMNET_REQ(rreq).ep.complete == MPIDI_DIMMNET_recv_unpack)
        packed_release(rreq);
    MPIR_STATUS_SET_CANCEL_BIT(rreq->status, TRUE);
    MPIR_STATUS_SET_COUNT(rreq->status, 0);
    MPIDIU_request_complete(rreq);
}
