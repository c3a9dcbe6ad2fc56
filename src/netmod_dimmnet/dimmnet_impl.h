/* SPDX-License-Identifier: BSD-3-Clause
 *
 * State of the netmod and what its files share.
 *
 *   dimmnet_send.h, _recv.h, _probe.h, _am.h, _progress.h   hot paths, inlined
 *   dimmnet_pt2pt.c   completion of requests, types with gaps
 *   dimmnet_layout.c  where the blocks of such types lie in SO-DIMM
 *   dimmnet_am.c      active messages in both directions
 *   dimmnet_init.c    life: open, connect, drain, close
 *   dimmnet_pvar.c    MPI_T variables
 *   others            hooks MPICH wants
 *
 * MPICH objects stop here: below, a process is a peer number, a message an envelope and bytes.
 */

/* Outside the guard: mpidimpl.h includes the netmod, which then finds this file still unread. */
#include <mpidimpl.h>

#ifndef DIMMNET_IMPL_H_INCLUDED
#define DIMMNET_IMPL_H_INCLUDED

#include "mpidch4r.h"
#include "ch4_impl.h"
#include "dn_compat.h"

#ifndef MPIDI_CH4_DIRECT_NETMOD
#error "the NIC matches messages: configure MPICH with --with-ch4-shmmods=none"
#endif

typedef struct MPIDI_DIMMNET_am_op MPIDI_DIMMNET_am_op_t;

typedef struct {
    dnet_ep_t *ep;
    /* Bits a receive compares: all but those MPICH uses to tell of an error in a collective. */
    uint64_t match_bits;
    /* One made ahead, because most sends finish at once and then need none. */
    MPIR_Request *spare_sreq;
    MPIDI_DIMMNET_am_op_t *spare_am_ops;
} MPIDI_DIMMNET_global_t;

extern MPIDI_DIMMNET_global_t MPIDI_DIMMNET_global;

#define MPIDI_DIMMNET_REQ(req) ((req)->dev.ch4.netmod.dimmnet)
#define MPIDI_DIMMNET_AV(av) ((av)->netmod.dimmnet)

MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDI_DIMMNET_request_of(dnet_ep_request_t *ep_req)
{
    return MPL_container_of(ep_req, MPIR_Request, dev.ch4.netmod.dimmnet.ep);
}

/* The MPI error for a status.  Its cause has been logged where it was first known. */
int MPIDI_DIMMNET_error(dnet_status_t status, const char *doing);
int MPIDI_DIMMNET_error_no_request(void);
int MPIDI_DIMMNET_error_no_memory(size_t bytes);

/* A process of the job is gone, or the NIC: nothing MPI promises can be kept.  Ends the job. */
void MPIDI_DIMMNET_abort(dnet_status_t status) __attribute__((cold, noreturn));

/* dimmnet_pt2pt.c */
void MPIDI_DIMMNET_send_complete(dnet_ep_request_t *ep_req, dnet_status_t status);
void MPIDI_DIMMNET_recv_complete(dnet_ep_request_t *ep_req, dnet_status_t status);
void MPIDI_DIMMNET_recv_unpack(dnet_ep_request_t *ep_req, dnet_status_t status);
int MPIDI_DIMMNET_send_packed(const void *buf, MPI_Aint count, MPI_Datatype datatype, uint32_t peer,
                              uint64_t envelope, bool sync, MPIR_Comm *comm,
                              MPIR_Request **request);
int MPIDI_DIMMNET_recv_packed(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request *rreq);
void MPIDI_DIMMNET_recv_cancelled(MPIR_Request *rreq);

/* dimmnet_comm.c */
/* The process that a message or a receive with this envelope comes from (dnet_ep_source_fn). */
uint32_t MPIDI_DIMMNET_source(void *arg, uint64_t envelope);

/* dimmnet_type.c */
int MPIDI_DIMMNET_pack(const void *buf, MPI_Aint count, MPI_Datatype datatype, void **packed_p,
                       size_t *len_p);

/* dimmnet_layout.c */
/* Where the data of a type with gaps lie in SO-DIMM.  False: not there, or packing is as good. Else
 * the layout stays true until MPIDI_DIMMNET_blocks_release(). */
bool MPIDI_DIMMNET_layout(const void *buf, MPI_Aint count, MPI_Datatype datatype, size_t len,
                          dnet_ep_layout_t *layout_p, MPIDI_DIMMNET_blocks_t **blocks_p);
void MPIDI_DIMMNET_blocks_release(MPIDI_DIMMNET_blocks_t *blocks);
void MPIDI_DIMMNET_layout_forget(MPIR_Datatype *datatype);
void MPIDI_DIMMNET_layout_finalize(void);

/* dimmnet_am.c */
int MPIDI_DIMMNET_am_send(uint32_t peer, int handler_id, const void *am_hdr, MPI_Aint am_hdr_sz,
                          const void *data, MPI_Aint count, MPI_Datatype datatype,
                          MPIR_Request *sreq);
void MPIDI_DIMMNET_am_init(void);
void MPIDI_DIMMNET_am_finalize(void);

/* dimmnet_pvar.c */
void MPIDI_DIMMNET_pvar_init(void);
void MPIDI_DIMMNET_pvar_finalize(void);

#endif
