/* SPDX-License-Identifier: BSD-3-Clause
 *
 * State of the netmod and what its files share.
 *
 *   dimmnet_send.h, _recv.h, _probe.h, _am.h, _progress.h, _rma.h   hot paths, inlined
 *   dimmnet_pt2pt.c   completion of requests, types with gaps
 *   dimmnet_layout.c  where the blocks of such types lie in SO-DIMM
 *   dimmnet_am.c      active messages in both directions
 *   dimmnet_init.c    life: open, connect, drain, close
 *   dimmnet_pvar.c    MPI_T variables; dimmnet_events.c: MPI_T events
 *   dimmnet_comm.c    communicators; what a rank waits for, in MPI's words
 *   dimmnet_spawn.c   processes of other jobs
 *   dimmnet_board.c   memory for the collectives of a communicator
 *   dimmnet_coll.c, dimmnet_blocks.c, dimmnet_nonblocking.c   the calls
 *   dimmnet_sides.h   what they give and take; dimmnet_reduce.c: operators' loops
 *   dimmnet_buffers.c buffers that MPICH's own collectives keep
 *   dimmnet_win.c     windows whose memory all ranks share; dimmnet_rma.c: operations on them
 *   dimmnet_turns.h   turns of threads that wait
 *   dimmnet_shared.h  memory that the ranks of a communicator share
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

#include <stdatomic.h>

#ifndef MPIDI_CH4_DIRECT_NETMOD
#error "the NIC matches messages: configure MPICH with --with-ch4-shmmods=none"
#endif

typedef struct MPIDI_DIMMNET_am_op MPIDI_DIMMNET_am_op_t;

/* Lines are fetched in pairs. */
#define MPIDI_DIMMNET_PAIR 128

/* What has been asked for last, for those who want to know what a rank waits for. */
typedef struct {
    uint64_t probe, probe_mask; /* envelope that no message had */
    uint32_t lock_peer,
        unlock_peer; /* rank in the job whose window was to be locked, or unlocked */
} MPIDI_DIMMNET_asked_t;

/* A VCI: an endpoint, and what belongs to it.  Whoever uses it holds MPICH's lock of that VCI. */
typedef struct {
    dnet_ep_t *ep;
    /* One made ahead, because most sends finish at once and then need none. */
    MPIR_Request *spare_sreq;
    MPIDI_DIMMNET_am_op_t *spare_am_ops; /* list of unused ones */
    MPIDI_DIMMNET_asked_t asked;
} __attribute__((aligned(MPIDI_DIMMNET_PAIR))) MPIDI_DIMMNET_vci_t;

typedef struct {
    /* Bits a receive compares: all but those MPICH uses to tell of an error in a collective. */
    uint64_t match_bits;
    int n_vcis; /* that MPICH had, though this job may have but one (MPIDI_global.n_vcis) */
    /* On which some rank was waited for; NULL: none. */
    _Atomic(MPIDI_DIMMNET_board_t *) board;
    atomic_uint board_readers; /* threads, and handlers of signals, that look at it */
    MPIDI_DIMMNET_vci_t vci[MPIDI_CH4_MAX_VCIS];
} MPIDI_DIMMNET_global_t;

extern MPIDI_DIMMNET_global_t MPIDI_DIMMNET_global;

#define MPIDI_DIMMNET_VCI(v) (&MPIDI_DIMMNET_global.vci[v])
/* A VCI's endpoint.  That of VCI 0 also has what is no message: memory, windows, boards, guests. */
#define MPIDI_DIMMNET_EP(v) (MPIDI_DIMMNET_global.vci[v].ep)

/* How many VCIs there are. */
MPL_STATIC_INLINE_PREFIX int MPIDI_DIMMNET_vcis(void)
{
    return MPIDI_CH4_MAX_VCIS == 1 ? 1 : MPIDI_global.n_vcis;
}

/* The VCI that a message goes by, which is the receiver's on both sides: endpoints know peers with
 * their own number.  The tag is the user's, or a collective's without its error bits.
 *
 * @param flag  DST_VCI_FROM_SENDER or DST_VCI_FROM_RECVER */
MPL_STATIC_INLINE_PREFIX int MPIDI_DIMMNET_vci_of(int flag, MPIR_Comm *comm, int source, int dest,
                                                  int tag)
{
    return likely(MPIDI_DIMMNET_vcis() == 1) ? 0 : MPIDI_get_vci(flag, comm, source, dest, tag);
}

/* The VCI that a request was made for. */
MPL_STATIC_INLINE_PREFIX int MPIDI_DIMMNET_vci_of_request(const MPIR_Request *req)
{
    return MPIDI_CH4_MAX_VCIS == 1 ? 0 : (int) MPIDI_Request_get_vci(req);
}

#define MPIDI_DIMMNET_REQ(req) ((req)->dev.ch4.netmod.dimmnet)
#define MPIDI_DIMMNET_AV(av) ((av)->netmod.dimmnet)

/* The MPI request around the endpoint's. */
MPL_STATIC_INLINE_PREFIX MPIR_Request *MPIDI_DIMMNET_request_of(dnet_ep_request_t *ep_req)
{
    return MPL_container_of(ep_req, MPIR_Request, dev.ch4.netmod.dimmnet.ep);
}

/* A message that is no MPI request's. */
typedef struct {
    dnet_ep_request_t ep; /* .complete: MPIDI_DIMMNET_plain_done */
    bool done;
    dnet_status_t status; /* then */
} MPIDI_DIMMNET_plain_request_t;

/* The endpoint has finished it. */
void MPIDI_DIMMNET_plain_done(dnet_ep_request_t *ep_req, dnet_status_t status);

/* The MPI error for a status.  Its cause has been logged where it was first known. */
int MPIDI_DIMMNET_error(dnet_status_t status, const char *doing);

/* The MPI error when MPICH has no more requests. */
int MPIDI_DIMMNET_error_no_request(void);

/* The MPI error for memory that cannot be had; it names the bytes. */
int MPIDI_DIMMNET_error_no_memory(size_t bytes);

/* The MPI error where the ranks of a collective say different lengths. */
int MPIDI_DIMMNET_error_truncated(void);

/* A process of the job is gone, or the NIC: nothing MPI promises can be kept.  Ends the job. */
void MPIDI_DIMMNET_abort(dnet_status_t status) __attribute__((cold, noreturn));

/* dimmnet_pt2pt.c */
/* The endpoint has finished a send: free what it was sent from, complete the MPI request. */
void MPIDI_DIMMNET_send_complete(dnet_ep_request_t *ep_req, dnet_status_t status);

/* The endpoint has finished a receive into a contiguous buffer: set status, complete. */
void MPIDI_DIMMNET_recv_complete(dnet_ep_request_t *ep_req, dnet_status_t status);

/* The same for a type with gaps: unpack first what has not been moved. */
void MPIDI_DIMMNET_recv_unpack(dnet_ep_request_t *ep_req, dnet_status_t status);

/* Send data of a type with gaps: by its layout if it lies in SO-DIMM, moved piece by piece if it is
 * long, else packed.  Returns an MPI error code; *request is set on success. */
int MPIDI_DIMMNET_send_packed(const void *buf, MPI_Aint count, MPI_Datatype datatype, int vci,
                              uint32_t peer, uint64_t envelope, bool sync, MPIR_Comm *comm,
                              MPIR_Request **request);

/* Give a receive of a type with gaps the buffer, and the layout if there is one, that it receives
 * into.  Returns an MPI error code. */
int MPIDI_DIMMNET_recv_packed(void *buf, MPI_Aint count, MPI_Datatype datatype, MPIR_Request *rreq);

/* The endpoint has let go of a receive: complete it as cancelled. */
void MPIDI_DIMMNET_recv_cancelled(MPIR_Request *rreq);

/* dimmnet_comm.c */
/* The process that a message or a receive with this envelope comes from (dnet_ep_source_fn). */
uint32_t MPIDI_DIMMNET_source(void *arg, uint64_t envelope);

/* Are all ranks of a communicator of this process's job, of an intercommunicator all remote ones?
 * Then each of them finds the same: those that two jobs share have ranks of each of them. */
bool MPIDI_DIMMNET_comm_is_of_one_job(MPIR_Comm *comm);

/* A context that no communicator has: MPICH's own are below 0x8000.  For the barrier at the end. */
#define MPIDI_DIMMNET_BARRIER_CONTEXT 0xffffu

/* Another one: for what leaders say to each other by a port. */
#define MPIDI_DIMMNET_PORT_CONTEXT 0xfffeu

/* Tell an endpoint how to say in MPI's words what this rank waits for. */
void MPIDI_DIMMNET_names_init(dnet_ep_t *ep);

/* dimmnet_spawn.c */
/* Be done with processes of other jobs that no communicator has any more. */
void MPIDI_DIMMNET_drop_peers(void);

/* Was this job spawned by one that has a port to other hosts? */
bool MPIDI_DIMMNET_parent_meets_hosts(void);

/* dimmnet_board.c */
/* The communicator is freed: leave its board, if it has one. */
void MPIDI_DIMMNET_board_free(MPIR_Comm *comm);

/* Give back all boards. */
void MPIDI_DIMMNET_boards_finalize(void);

/* What a collective on a board waits for; also in a signal handler.  False: none waits. */
bool MPIDI_DIMMNET_board_waits(dnet_wait_t *wait);

/* dimmnet_nonblocking.c */
/* Nonblocking collectives go on in MPICH's progress.  Returns an MPI error code. */
int MPIDI_DIMMNET_nonblocking_init(void);
void MPIDI_DIMMNET_nonblocking_finalize(void);

/* Has none of them anything to go on with, so that this process may sleep? */
bool MPIDI_DIMMNET_nonblocking_may_sleep(void);

/* The endpoint asks that before it sleeps, and nothing else. */
void MPIDI_DIMMNET_nonblocking_await(void);

/* dimmnet_type.c */
/* Pack data into a new buffer, which the caller frees with MPL_free().  Returns an MPI error
 * code. */
int MPIDI_DIMMNET_pack(const void *buf, MPI_Aint count, MPI_Datatype datatype, void **packed_p,
                       size_t *len_p);

/* Have the data of a type with gaps moved piece by piece.  NULL: pack them, they are few, or in
 * many short blocks. */
MPIDI_DIMMNET_moved_t *MPIDI_DIMMNET_moved(const void *buf, MPI_Aint count, MPI_Datatype datatype,
                                           size_t len);

/* Be done with it. */
void MPIDI_DIMMNET_moved_release(MPIDI_DIMMNET_moved_t *moved);

/* The next piece of what a request's `moved` says: out of the user's buffer, and into it
 * (dnet_ep_move_fn). */
void MPIDI_DIMMNET_move_out(dnet_ep_request_t *ep_req, void *bytes, size_t len);
void MPIDI_DIMMNET_move_in(dnet_ep_request_t *ep_req, void *bytes, size_t len);

/* dimmnet_layout.c */
/* Where the data of a type with gaps lie in SO-DIMM.  False: not there, or packing is as good. Else
 * the layout stays true until MPIDI_DIMMNET_blocks_release(). */
bool MPIDI_DIMMNET_layout(const void *buf, MPI_Aint count, MPI_Datatype datatype, size_t len,
                          dnet_ep_layout_t *layout_p, MPIDI_DIMMNET_blocks_t **blocks_p);

/* Be done with a layout's blocks. */
void MPIDI_DIMMNET_blocks_release(MPIDI_DIMMNET_blocks_t *blocks);

/* The type is freed: forget its blocks. */
void MPIDI_DIMMNET_layout_forget(MPIR_Datatype *datatype);

/* Forget the blocks of all types. */
void MPIDI_DIMMNET_layout_finalize(void);

/* dimmnet_am.c */
/* Send an active message to a peer; sreq as for MPIDI_NM_am_isend().  Returns an MPI error code.
 */
int MPIDI_DIMMNET_am_send(int vci, uint32_t peer, int handler_id, const void *am_hdr,
                          MPI_Aint am_hdr_sz, const void *data, MPI_Aint count,
                          MPI_Datatype datatype, MPIR_Request *sreq);

/* Register the handlers of active messages with a VCI's endpoint. */
void MPIDI_DIMMNET_am_init(int vci);

/* Free a VCI's requests kept in reserve. */
void MPIDI_DIMMNET_am_finalize(int vci);

/* dimmnet_events.c */
/* Register MPI_T events of unexpected messages, and raise them for these VCIs. */
void MPIDI_DIMMNET_events_init(void);

/* dimmnet_pvar.c */
/* Register the endpoints' counters and the lengths of their lists, summed up, as MPI_T performance
 * variables. */
void MPIDI_DIMMNET_pvar_init(void);

/* Before the endpoints are closed: keep the last values, which tools may still read. */
void MPIDI_DIMMNET_pvar_finalize(void);

#endif
