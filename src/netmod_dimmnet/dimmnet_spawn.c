/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of other jobs: spawned, or connected by a port.  MPICH's "upid" is an endpoint's
 * contact; it goes into port names, and the leaders of two groups exchange those of all.  A process
 * that is met gets an entry in one of MPICH's address tables; tables are freed with the last
 * communicator that refers to them, and who is in none is dropped.
 */
#include "dimmnet_impl.h"
#include "dimmnet_progress.h"

#include "common/clock.h"

/* ---- contacts ---- */

/* The first line of the error has been logged. */
static int refused(void)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_SPAWN, "**dimmnet_dynproc", 0);
}

/* Behind the others, of which so many bytes are in use. */
static dnet_status_t add_contact(uint32_t peer, char *upids, size_t *used, int *size_p)
{
    dnet_ep_contact_t contact;
    dnet_status_t status = dnet_ep_contact(MPIDI_DIMMNET_EP(0), peer, &contact);
    if (status != DNET_OK)
        return status;
    size_t bytes = dnet_ep_contact_pack(&contact, (uint8_t *) upids + *used);
    *used += bytes;
    *size_p = (int) bytes;
    return DNET_OK;
}

/* The contacts of a communicator's processes, in memory that MPICH frees. */
int MPIDI_DIMMNET_get_local_upids(MPIR_Comm *comm, int **local_upid_size, char **local_upids)
{
    int size = comm->local_size;
    dnet_status_t status = DNET_OK;
    size_t used = 0;
    int *sizes = MPL_malloc(size * sizeof(*sizes), MPL_MEM_ADDRESS);
    char *upids = MPL_malloc(size * DNET_EP_CONTACT_BYTES, MPL_MEM_ADDRESS);
    if (!sizes || !upids)
        status = DNET_ERR_NO_MEMORY;
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    for (int i = 0; status == DNET_OK && i < size; i++)
        status = add_contact(MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(comm, i)).peer, upids, &used,
                             &sizes[i]);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    if (status != DNET_OK) {
        MPL_free(sizes);
        MPL_free(upids);
        return status == DNET_ERR_NO_MEMORY ? MPIDI_DIMMNET_error(status, "connect") : refused();
    }
    *local_upid_size = sizes;
    *local_upids = upids;
    return MPI_SUCCESS;
}

/* It needs one too, then: who is to be met may be there. */
bool MPIDI_DIMMNET_parent_meets_hosts(void)
{
    char port[MPI_MAX_PORT_NAME] = "", upid[MPI_MAX_PORT_NAME];
    dnet_ep_contact_t contact;
    int bytes;
    return MPIR_Process.has_parent &&
           MPIR_pmi_kvs_get(-1, MPIDI_PARENT_PORT_KVSKEY, port, sizeof(port)) == MPI_SUCCESS &&
           MPL_str_get_binary_arg(port, "connentry", upid, sizeof(upid), &bytes) == MPL_SUCCESS &&
           dnet_ep_contact_unpack((const uint8_t *) upid, (size_t) bytes, &contact) == DNET_OK &&
           contact.who.port.bytes != 0;
}

/* ---- address tables ---- */

/* The entry with a peer, in the tables of other jobs' processes.  False: there is none. */
static bool find_peer(uint32_t peer, uint64_t *gpid_p)
{
    for (int t = 1; t < MPIDIU_get_n_avts(); t++) {
        const MPIDI_av_table_t *table = MPIDIU_get_av_table(t);
        for (int i = 0; table && i < table->size; i++) {
            if (MPIDI_DIMMNET_AV(&table->table[i]).peer == peer) {
                *gpid_p = MPIDIU_GPID_CREATE(t, i);
                return true;
            }
        }
    }
    return false;
}

/* A table of those that are in none yet. */
static void add_table(int size, const uint32_t *peers, uint64_t *gpids)
{
    int count = 0, table;
    for (int i = 0; i < size; i++)
        count += gpids[i] == UINT64_MAX;
    if (count == 0)
        return;
    MPIDIU_new_avt(count, &table);
    for (int i = 0, next = 0; i < size; i++) {
        if (gpids[i] != UINT64_MAX)
            continue;
        MPIDI_DIMMNET_AV(&MPIDIU_get_av(table, next)).peer = peers[i];
        gpids[i] = MPIDIU_GPID_CREATE(table, next++);
    }
}

static dnet_status_t add_peers(int size, const int *upid_size, const char *upids, uint32_t *peers)
{
    dnet_status_t status = DNET_OK;
    for (int i = 0; status == DNET_OK && i < size; upids += upid_size[i++]) {
        dnet_ep_contact_t contact;
        status = dnet_ep_contact_unpack((const uint8_t *) upids, (size_t) upid_size[i], &contact);
        if (status == DNET_OK)
            status = dnet_ep_add_peer(MPIDI_DIMMNET_EP(0), &contact, &peers[i]);
    }
    return status;
}

int MPIDI_DIMMNET_upids_to_gpids(int size, int *remote_upid_size, char *remote_upids,
                                 uint64_t *remote_gpids)
{
    uint32_t *peers = MPL_malloc(size * sizeof(*peers), MPL_MEM_ADDRESS);
    if (!peers)
        return MPIDI_DIMMNET_error(DNET_ERR_NO_MEMORY, "connect");
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    dnet_status_t status = add_peers(size, remote_upid_size, remote_upids, peers);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    if (status == DNET_OK) {
        for (int i = 0; i < size; i++) {
            remote_gpids[i] = UINT64_MAX;
            if (peers[i] < (uint32_t) MPIR_Process.size)
                remote_gpids[i] = MPIDIU_GPID_CREATE(0, peers[i]);
            else
                (void) find_peer(peers[i], &remote_gpids[i]);
        }
        add_table(size, peers, remote_gpids);
    }
    MPL_free(peers);
    return status == DNET_OK ? MPI_SUCCESS : refused();
}

void MPIDI_DIMMNET_drop_peers(void)
{
    dnet_ep_t *ep = MPIDI_DIMMNET_EP(0);
    uint64_t gpid;
    if (!ep || dnet_ep_peers(ep) <= (uint32_t) MPIR_Process.size)
        return;
    MPID_THREAD_CS_ENTER(VCI, MPIDIU_THREAD_DYNPROC_MUTEX);
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    for (uint32_t peer = (uint32_t) MPIR_Process.size; peer < dnet_ep_peers(ep); peer++)
        if (!find_peer(peer, &gpid))
            dnet_ep_drop_peer(ep, peer);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    MPID_THREAD_CS_EXIT(VCI, MPIDIU_THREAD_DYNPROC_MUTEX);
}

/* ---- messages of the leaders, before there is a communicator ---- */

static int no_answer(bool gone)
{
    if (gone)
        return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                    MPI_ERR_PORT, "**dimmnet_portgone", 0);
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__, MPI_ERR_PORT,
                                "**dimmnet_noaccept", 0);
}

static bool is_gone(uint32_t peer)
{
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    bool gone = dnet_ep_peer_gone(MPIDI_DIMMNET_EP(0), peer);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    return gone;
}

/* Until it is finished, or that peer has ended (DNET_EP_NO_RANK: nobody's end matters), or for so
 * many seconds; 0: for ever.  False: it is not finished. */
static bool wait_for(const MPIDI_DIMMNET_plain_request_t *req, int timeout, uint32_t peer)
{
    MPL_time_t start, now;
    double waited = 0;
    MPL_wtime(&start);
    while (!req->done && (timeout <= 0 || waited < timeout) && !is_gone(peer)) {
        (void) MPIDI_progress_wait_round();
        MPIDI_progress_yield();
        MPL_wtime(&now);
        MPL_wtime_diff(&start, &now, &waited);
    }
    return req->done;
}

/* Who connects sends a request, receives the answer and then settles it; who accepts does it the
 * other way round, and is told whether the other one still waits: it may have given up, and its
 * request have stayed here.  A process may do both at once, in two threads, and its ports and those
 * of others have the same tags.  MPICH's functions do not say which it is: an answer is a context,
 * and a thread that has sent a request receives the answer next, from the peer that it has asked.
 * The tag of a request is the port's, that of what follows the request's number. */
enum { REQUEST, ANSWER, SETTLED };
/* For so long a peer that does not take messages is waited for when a request is withdrawn. */
enum { WITHDRAW_S = 1 };

#define NOBODY UINT64_MAX
static _Thread_local uint64_t asked =
    NOBODY;                            /* MPICH's name of whoever has a request of this thread */
static _Thread_local uint32_t attempt; /* number of the request that was sent, or received, last */

/* A number that no other request to the same process has; those of others begin elsewhere. */
static uint32_t new_attempt(void)
{
    static _Atomic uint32_t last;
    uint32_t none = 0, begin = (uint32_t) dnet_clock_ns() ^ ((uint32_t) getpid() << 14);
    atomic_compare_exchange_strong(&last, &none, begin);
    return (atomic_fetch_add(&last, 1) + 1) & INT32_MAX;
}

static uint64_t port_envelope(int what, int tag)
{
    return dnet_ep_envelope(MPIDI_DIMMNET_PORT_CONTEXT, (uint32_t) what, (uint32_t) tag);
}

static void watch(uint32_t peer, bool on)
{
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    dnet_ep_set_asked(MPIDI_DIMMNET_EP(0), peer, on);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
}

static uint32_t peer_of(uint64_t gpid)
{
    const MPIDI_av_entry_t *av =
        &MPIDIU_get_av(MPIDIU_GPID_GET_AVTID(gpid), MPIDIU_GPID_GET_LPID(gpid));
    return MPIDI_DIMMNET_AV(av).peer;
}

/* There is no connection with it after all.  It is missed no more, but by those who have another.
 */
static void part_from(uint64_t gpid)
{
    int table = MPIDIU_GPID_GET_AVTID(gpid);
    if (table == 0)
        return;
    MPIDIU_avt_add_ref(table);
    MPIDIU_avt_release_ref(table); /* goes with the last one */
    MPIDI_DIMMNET_drop_peers();
}

/* Whoever was asked has answered; or there will be no connection, and why is the error. */
static int asked_ends(uint64_t gpid, bool answered)
{
    const uint32_t peer = peer_of(gpid);
    int mpi_errno = MPI_SUCCESS;
    if (!answered)
        mpi_errno = no_answer(is_gone(peer));
    watch(peer, false);
    if (!answered)
        part_from(gpid);
    return mpi_errno;
}

/* A few bytes: on its way at once, or when the peer has room, for which it waits so many seconds;
 * 0: for ever. */
static dnet_status_t send_short(uint32_t peer, uint64_t envelope, const void *buf, size_t size,
                                int timeout)
{
    MPIDI_DIMMNET_plain_request_t req = {.ep.complete = MPIDI_DIMMNET_plain_done};
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    dnet_status_t status =
        dnet_ep_send(MPIDI_DIMMNET_EP(0), peer, envelope, buf, size, false, &req.ep);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    if (status != DNET_IN_PROGRESS)
        return status;
    if (!wait_for(&req, timeout, peer)) { /* what has not left can be withdrawn at once */
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
        dnet_ep_cancel_send(MPIDI_DIMMNET_EP(0), &req.ep);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
        (void) wait_for(&req, 0, DNET_EP_NO_RANK); /* it lives on the stack */
    }
    return req.status;
}

/* DNET_IN_PROGRESS: it has been withdrawn. */
static dnet_status_t recv_short(uint64_t envelope, void *buf, size_t size, int timeout,
                                uint32_t peer)
{
    dnet_ep_t *ep = MPIDI_DIMMNET_EP(0);
    MPIDI_DIMMNET_plain_request_t req = {.ep.complete = MPIDI_DIMMNET_plain_done};
    MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
    dnet_status_t status = dnet_ep_recv(ep, envelope, DNET_MATCH_BITS, buf, size, &req.ep);
    MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
    if (status != DNET_IN_PROGRESS)
        return status;
    if (!wait_for(&req, timeout, peer)) {
        MPID_THREAD_CS_ENTER(VCI, MPIDI_VCI(0).lock);
        bool withdrawn = dnet_ep_cancel_recv(ep, &req.ep);
        MPID_THREAD_CS_EXIT(VCI, MPIDI_VCI(0).lock);
        if (withdrawn)
            return DNET_IN_PROGRESS;
        (void) wait_for(&req, 0, DNET_EP_NO_RANK);
    }
    return req.status;
}

/* The answer; true: it has come, and still waited.  Not longer than it lives. */
static bool answer(uint64_t gpid, const void *buf, size_t size)
{
    const uint32_t peer = peer_of(gpid);
    bool waits = false;
    watch(peer, true);
    dnet_status_t status = send_short(peer, port_envelope(ANSWER, attempt), buf, size, 0);
    if (status == DNET_OK)
        status = recv_short(port_envelope(SETTLED, attempt), &waits, sizeof(waits), 0, peer);
    watch(peer, false);
    waits &= status == DNET_OK;
    if (!waits)
        part_from(gpid);
    return waits;
}

/* What MPICH sends, behind the request's number. */
typedef struct {
    uint32_t attempt;
    uint8_t data[MPI_MAX_PORT_NAME + 64];
} port_request_t;

int MPIDI_DIMMNET_dynamic_send(uint64_t remote_gpid, int tag, const void *buf, int size,
                               int timeout)
{
    const uint32_t peer = peer_of(remote_gpid);
    if (size == sizeof(MPIR_Context_id_t))
        return answer(remote_gpid, buf, (size_t) size) ? MPI_SUCCESS : no_answer(true);
    port_request_t request = {.attempt = new_attempt()};
    memcpy(request.data, buf, (size_t) size);
    watch(peer, true);
    dnet_status_t status = send_short(peer, port_envelope(REQUEST, (uint32_t) tag), &request,
                                      offsetof(port_request_t, data) + (size_t) size, 0);
    if (status != DNET_OK)
        return asked_ends(remote_gpid, false);
    asked = remote_gpid;
    attempt = request.attempt;
    return MPI_SUCCESS;
}

/* The answer of the peer that was asked, which is told whether it has come in time. */
static int receive_answer(uint64_t gpid, void *buf, int size, int timeout)
{
    const uint32_t peer = peer_of(gpid);
    bool answered =
        recv_short(port_envelope(ANSWER, attempt), buf, (size_t) size, timeout, peer) == DNET_OK;
    (void) send_short(peer, port_envelope(SETTLED, attempt), &answered, sizeof(answered),
                      answered ? 0 : WITHDRAW_S);
    return asked_ends(gpid, answered);
}

int MPIDI_DIMMNET_dynamic_recv(int tag, void *buf, int size, int timeout)
{
    port_request_t request;
    const uint64_t gpid = asked;
    asked = NOBODY;
    if (gpid != NOBODY)
        return receive_answer(gpid, buf, size, timeout);
    dnet_status_t status = recv_short(port_envelope(REQUEST, (uint32_t) tag), &request,
                                      sizeof(request), timeout, DNET_EP_NO_RANK);
    if (status != DNET_OK)
        return no_answer(false);
    attempt = request.attempt;
    memcpy(buf, request.data, MPL_MIN((size_t) size, sizeof(request.data)));
    return MPI_SUCCESS;
}
