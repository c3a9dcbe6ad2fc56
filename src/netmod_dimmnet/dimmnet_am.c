/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Active messages.  A send has an object of its own, not a place in MPICH's request: a reply may
 * start another send on the same request before the endpoint has finished with the first.
 */
/* Our inline functions are wanted here, not the wrappers that choose among several netmods. */
#define NETMOD_DISABLE_INLINES
#include "dimmnet_impl.h"
#include "dimmnet_am.h"
#include "dimmnet_asked.h"
#include "endpoint/am.h"

struct MPIDI_DIMMNET_am_op {
    dnet_ep_request_t ep;
    MPIDI_DIMMNET_am_op_t *next; /* of the spare ones */
    MPIR_Request *sreq;          /* NULL: header only, no request waits */
    int handler_id;
    int vci;
    void *packed;
};

static void am_op_put(MPIDI_DIMMNET_am_op_t *op)
{
    MPIDI_DIMMNET_vci_t *self = MPIDI_DIMMNET_VCI(op->vci);
    MPL_free(op->packed);
    op->next = self->spare_am_ops;
    self->spare_am_ops = op;
}

static int am_sent(int handler_id, MPIR_Request *sreq)
{
    return sreq ? MPIDIG_global.origin_cbs[handler_id](sreq) : MPI_SUCCESS;
}

static void am_complete(dnet_ep_request_t *ep_req, dnet_status_t status)
{
    MPIDI_DIMMNET_am_op_t *op = MPL_container_of(ep_req, MPIDI_DIMMNET_am_op_t, ep);
    MPIR_Request *sreq = op->sreq;
    int handler_id = op->handler_id;
    am_op_put(op);
    if (status != DNET_OK)
        /* MPICH's protocol has no way to go on without the message */
        MPIDI_DIMMNET_abort(status);
    am_sent(handler_id, sreq);
}

static MPIDI_DIMMNET_am_op_t *am_op_get(int vci)
{
    MPIDI_DIMMNET_am_op_t *op = MPIDI_DIMMNET_VCI(vci)->spare_am_ops;
    if (op) {
        MPIDI_DIMMNET_VCI(vci)->spare_am_ops = op->next;
    } else {
        op = MPL_malloc(sizeof(*op), MPL_MEM_OTHER);
        if (!op)
            return NULL;
        op->ep.complete = am_complete;
        op->vci = vci;
    }
    op->packed = NULL;
    return op;
}

/* MPICH's handlers choose the VCI.  Without its lock, two threads' packets would become one; who
 * aborts takes none. */
static bool may_use(int vci, int handler_id)
{
#if MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__VCI
    MPL_thread_id_t self;
    MPL_thread_self(&self);
    return !MPIR_IS_THREADED || MPIDI_VCI(vci).lock.owner == self ||
           handler_id == MPIDIG_COMM_ABORT;
#else
    return true;
#endif
}

int MPIDI_DIMMNET_am_send(int vci, uint32_t peer, int handler_id, const void *am_hdr,
                          MPI_Aint am_hdr_sz, const void *data, MPI_Aint count,
                          MPI_Datatype datatype, MPIR_Request *sreq)
{
    if (unlikely(!may_use(vci, handler_id)))
        MPID_Abort(MPIR_Process.comm_world, MPI_ERR_INTERN, 1,
                   "an active message by a VCI whose lock is not held");
    MPIDI_DIMMNET_am_op_t *op = am_op_get(vci);
    if (!op)
        return MPIDI_DIMMNET_error_no_memory(sizeof(*op));
    if (handler_id == MPIDIG_WIN_LOCK)
        MPIDI_DIMMNET_VCI(vci)->asked.lock_peer = peer;
    else if (handler_id == MPIDIG_WIN_UNLOCK)
        MPIDI_DIMMNET_VCI(vci)->asked.unlock_peer = peer;
    op->sreq = sreq;
    op->handler_id = handler_id;

    int contig;
    size_t len;
    MPI_Aint true_lb;
    MPIDI_Datatype_check_contig_size_lb(datatype, count, contig, len, true_lb);
    const void *from = MPIR_get_contig_ptr(data, true_lb);
    if (!contig && len) {
        int mpi_errno = MPIDI_DIMMNET_pack(data, count, datatype, &op->packed, &len);
        if (mpi_errno != MPI_SUCCESS) {
            am_op_put(op);
            return mpi_errno;
        }
        from = op->packed;
    }

    dnet_status_t status = dnet_ep_am_send(MPIDI_DIMMNET_EP(vci), peer, handler_id, am_hdr,
                                           am_hdr_sz, from, len, &op->ep);
    if (status == DNET_IN_PROGRESS)
        return MPI_SUCCESS;
    am_op_put(op);
    if (status != DNET_OK)
        return MPIDI_DIMMNET_error(status, "send an active message");
    return am_sent(handler_id, sreq);
}

/* What MPICH's handler is told of a message: from the network, by this VCI on both sides. */
static uint32_t attributes(void *vci, uint32_t others)
{
    int v = (int) (intptr_t) vci;
    MPIDIG_AM_ATTR_SET_VCIS(others, v, v);
    return others;
}

/* The handler may send, and so come back here from inside the endpoint. */
static void am_arrived(void *arg, uint32_t peer, uint16_t id, const void *header, size_t header_len,
                       const void *data, size_t len)
{
    if (id == MPIDI_DIMMNET_AM_ASKED) {
        MPIDI_DIMMNET_asked(header);
        return;
    }
    int mpi_errno = MPIDIG_global.target_msg_cbs[id]((void *) header, (void *) data, len,
                                                     attributes(arg, 0), NULL);
    if (mpi_errno != MPI_SUCCESS)
        MPID_Abort(MPIR_Process.comm_world, mpi_errno, 1, "an active message could not be handled");
}

/* One whose data are to come.  MPICH keeps accumulates in the order in which it has seen their
 * headers, whenever their data arrive. */
typedef struct {
    MPIR_Request *rreq; /* NULL: MPICH does not want the data */
    void *apart;        /* data that MPICH takes out later, into blocks; else NULL */
} am_long_t;

static bool in_one_place(MPIR_Request *rreq)
{
    int contig = MPIDIG_REQUEST(rreq, req->recv_async).recv_type == MPIDIG_RECV_CONTIG;
    if (MPIDIG_REQUEST(rreq, req->recv_async).recv_type == MPIDIG_RECV_DATATYPE)
        MPIR_Datatype_is_contig(MPIDIG_REQUEST(rreq, datatype), &contig);
    return contig;
}

/* Where the data go: where MPICH wants them, if that is one place that they fit into. */
static void *place_of(am_long_t *l, size_t len)
{
    int contig, device;
    void *place;
    MPI_Aint room;
    if (l->rreq && in_one_place(l->rreq)) {
        MPIDIG_get_recv_data(&contig, &device, &place, &room, l->rreq);
        if (room >= (MPI_Aint) len)
            return place;
    }
    l->apart = MPL_malloc(len, MPL_MEM_BUFFER);
    if (!l->apart)
        MPIDI_DIMMNET_abort(DNET_ERR_NO_MEMORY);
    return l->apart;
}

static void *am_begin(void *arg, uint32_t peer, uint16_t id, const void *header, size_t header_len,
                      size_t len, void **to_p)
{
    am_long_t *l = MPL_calloc(1, sizeof(*l), MPL_MEM_OTHER);
    if (!l)
        MPIDI_DIMMNET_abort(DNET_ERR_NO_MEMORY);
    int mpi_errno = MPIDIG_global.target_msg_cbs[id](
        (void *) header, NULL, len, attributes(arg, MPIDIG_AM_ATTR__IS_ASYNC), &l->rreq);
    if (mpi_errno != MPI_SUCCESS)
        MPID_Abort(MPIR_Process.comm_world, mpi_errno, 1, "an active message could not be handled");
    *to_p = place_of(l, len);
    return l;
}

static void am_end(void *arg, void *begun)
{
    am_long_t *l = begun;
    if (l->rreq) {
        if (l->apart)
            MPIDIG_recv_copy(l->apart, l->rreq);
        else
            MPIR_STATUS_SET_COUNT(l->rreq->status, MPIDIG_recv_in_data_sz(l->rreq));
        MPIDIG_REQUEST(l->rreq, req->target_cmpl_cb)(l->rreq);
    }
    MPL_free(l->apart);
    MPL_free(l);
}

void MPIDI_DIMMNET_am_init(int vci)
{
    static const dnet_ep_am_long_t am_long = {am_begin, am_end};
    dnet_ep_am_register(MPIDI_DIMMNET_EP(vci), am_arrived, (void *) (intptr_t) vci);
    dnet_ep_am_register_long(MPIDI_DIMMNET_EP(vci), &am_long);
}

void MPIDI_DIMMNET_am_finalize(int vci)
{
    MPIDI_DIMMNET_vci_t *self = MPIDI_DIMMNET_VCI(vci);
    while (self->spare_am_ops) {
        MPIDI_DIMMNET_am_op_t *op = self->spare_am_ops;
        self->spare_am_ops = op->next;
        MPL_free(op);
    }
}
