/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Life of the endpoints: opened and connected when MPI_COMM_WORLD is made, drained and closed in
 * MPI_Finalize.
 */
#include "dimmnet_impl.h"
#include "endpoint/share.h"
#include "mpidu_bc.h"

MPIDI_DIMMNET_global_t MPIDI_DIMMNET_global;

int MPIDI_DIMMNET_init_local(int *tag_bits)
{
    MPL_COMPILE_TIME_ASSERT(MPIR_CONTEXT_ID_BITS <= DNET_LH_CONTEXT_WIDTH);
    *tag_bits = DNET_EP_TAG_BITS;
    return MPI_SUCCESS;
}

/* The same in all processes of the job, and hardly ever the same in two jobs (FNV-1a). */
static uint64_t job_number(void)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *c = MPIR_pmi_job_id(); *c; c++)
        hash = (hash ^ (unsigned char) *c) * 0x100000001b3u;
    return hash;
}

/* The connection to the process manager that the environment names; 0: there is none. */
static int lifeline(void)
{
    const char *fd = getenv("PMI_FD");
    return fd ? atoi(fd) : 0;
}

/* An error of the start.  A line has named its cause already (dnet_error), so MPICH says in one
 * more where the start ended, and does not bury both below the calls that led there. */
static int start_error(dnet_status_t status, const char *doing)
{
    MPIR_CVAR_PRINT_ERROR_STACK = 0;
    return MPIDI_DIMMNET_error(status, doing);
}

/* Connect a VCI's endpoint to those of the same number.  table: each process's, by number. */
static int connect_one(int vci, const dnet_ep_address_t *table)
{
    dnet_status_t status = DNET_ERR_NO_MEMORY;
    dnet_ep_address_t *by_rank = MPL_malloc(MPIR_Process.size * sizeof(*table), MPL_MEM_ADDRESS);
    if (by_rank) {
        for (int rank = 0; rank < MPIR_Process.size; rank++)
            by_rank[rank] = table[rank * MPIDI_DIMMNET_vcis() + vci];
        status = dnet_ep_connect(MPIDI_DIMMNET_EP(vci), by_rank);
        MPL_free(by_rank);
    }
    return status == DNET_OK ? MPI_SUCCESS : start_error(status, "connect");
}

/* Tell the others where this process is, and learn where they are. */
static int connect_all(void)
{
    dnet_ep_address_t own[MPIDI_CH4_MAX_VCIS];
    void *table;
    int len, vcis = MPIDI_DIMMNET_vcis();
    for (int vci = 0; vci < vcis; vci++)
        dnet_ep_address(MPIDI_DIMMNET_EP(vci), &own[vci]);
    int mpi_errno =
        MPIDU_bc_table_create(MPIR_Process.rank, MPIR_Process.size, MPIR_Process.node_map, own,
                              vcis * (int) sizeof(own[0]), TRUE, FALSE, &table, &len);
    MPIR_ERR_CHECK(mpi_errno);
    for (int vci = 0; vci < vcis; vci++) {
        mpi_errno = connect_one(vci, table);
        MPIR_ERR_CHECK(mpi_errno);
    }
    mpi_errno = MPIDU_bc_table_destroy();
    MPIR_ERR_CHECK(mpi_errno);
    for (int rank = 0; rank < MPIR_Process.size; rank++)
        MPIDI_DIMMNET_AV(&MPIDIU_get_av(0, rank)).peer = rank;

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

/* Open a VCI's endpoint.  Returns an MPI error code. */
static int open_one(int vci)
{
    dnet_ep_config_t config = {
        .rank = MPIR_Process.rank,
        .size = MPIR_Process.size,
        .job = job_number(),
        .node = MPIR_Process.node_map,
        .vci = (uint32_t) vci,
        .lifeline = lifeline(),
        .meets_hosts = MPIDI_DIMMNET_parent_meets_hosts(),
        .awaited = dnet_ep_envelope(MPIR_CONTEXT_INTRA_COLL, 0, 0),
    };
    dnet_status_t status = dnet_ep_open(&config, &MPIDI_DIMMNET_EP(vci));
    return status == DNET_OK ? MPI_SUCCESS : start_error(status, "open the NIC");
}

/* As many endpoints as MPICH has VCIs; where this job can have but one, MPICH's VCIs become one,
 * too. All ranks find the same.  Returns an MPI error code. */
static int open_all(void)
{
    int mpi_errno = open_one(0);
    MPIDI_DIMMNET_global.n_vcis = MPIDI_global.n_vcis;
    if (mpi_errno == MPI_SUCCESS && !dnet_ep_may_be_several(MPIDI_DIMMNET_EP(0)))
        MPIDI_global.n_vcis = 1;
    for (int vci = 1; mpi_errno == MPI_SUCCESS && vci < MPIDI_DIMMNET_vcis(); vci++)
        mpi_errno = open_one(vci);
    return mpi_errno;
}

int MPIDI_DIMMNET_init_world(void)
{
    int mpi_errno = open_all();
    MPIR_ERR_CHECK(mpi_errno);

    uint32_t tag_bits = MPIR_TAG_MASK_ERROR_BITS(~0u);
    MPIDI_DIMMNET_global.match_bits = DNET_MATCH_ANY_TAG | DNET_PUT((uint64_t) tag_bits, LH_TAG);
    for (int vci = 0; vci < MPIDI_DIMMNET_vcis(); vci++) {
        dnet_ep_t *ep = MPIDI_DIMMNET_EP(vci);
        /* Between rounds of progress MPICH lets its other threads in, and looks at its other VCIs;
         * asleep in one, it cannot. */
        dnet_ep_set_patient(ep, MPIR_ThreadInfo.thread_provided != MPI_THREAD_MULTIPLE &&
                                    MPIDI_DIMMNET_vcis() == 1);
        dnet_ep_set_source(ep, MPIDI_DIMMNET_source, NULL);
        MPIDI_DIMMNET_names_init(ep);
        MPIDI_DIMMNET_am_init(vci);
    }
#if MPICH_THREAD_GRANULARITY == MPICH_THREAD_GRANULARITY__VCI
    MPIDI_DIMMNET_turns_init(dnet_ep_own_processors(MPIDI_DIMMNET_EP(0)));
#endif
    MPIDI_DIMMNET_pvar_init();
    MPIDI_DIMMNET_events_init();
    mpi_errno = MPIDI_DIMMNET_nonblocking_init();
    MPIR_ERR_CHECK(mpi_errno);
    mpi_errno = connect_all();
    MPIR_ERR_CHECK(mpi_errno);

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}

int MPIDI_DIMMNET_post_init(void)
{
    return MPI_SUCCESS;
}

/* ---- the end ---- */

static void make_progress(void)
{
    for (int vci = 0; vci < MPIDI_DIMMNET_vcis(); vci++) {
        bool did = false;
        dnet_status_t status = dnet_ep_progress(MPIDI_DIMMNET_EP(vci), &did);
        if (status != DNET_OK)
            MPIDI_DIMMNET_abort(status);
    }
}

static bool is_busy(void)
{
    for (int vci = 0; vci < MPIDI_DIMMNET_vcis(); vci++)
        if (dnet_ep_busy(MPIDI_DIMMNET_EP(vci)))
            return true;
    return false;
}

static void drain(void)
{
    while (is_busy())
        make_progress();
}

void MPIDI_DIMMNET_plain_done(dnet_ep_request_t *ep_req, dnet_status_t status)
{
    MPIDI_DIMMNET_plain_request_t *self =
        MPL_container_of(ep_req, MPIDI_DIMMNET_plain_request_t, ep);
    self->done = true;
    self->status = status;
}

/* Dissemination: in round i each process tells the one 2^i behind it.  Unlike MPIR_pmi_barrier() it
 * makes progress meanwhile, which a sender held up by this process's full rings needs; unlike
 * MPI_Barrier() it needs no communicator, for there is none left. */
static void barrier(void)
{
    dnet_ep_t *ep = MPIDI_DIMMNET_EP(0);
    uint32_t rank = MPIR_Process.rank, size = MPIR_Process.size;
    for (uint32_t step = 1; step < size; step *= 2) {
        uint32_t to = (rank + step) % size, from = (rank + size - step) % size;
        MPIDI_DIMMNET_plain_request_t sent = {.ep.complete = MPIDI_DIMMNET_plain_done};
        MPIDI_DIMMNET_plain_request_t received = {.ep.complete = MPIDI_DIMMNET_plain_done};
        received.done =
            dnet_ep_recv(ep, dnet_ep_envelope(MPIDI_DIMMNET_BARRIER_CONTEXT, from, step),
                         DNET_MATCH_BITS, NULL, 0, &received.ep) == DNET_OK;
        sent.done =
            dnet_ep_send(ep, to, dnet_ep_envelope(MPIDI_DIMMNET_BARRIER_CONTEXT, rank, step), NULL,
                         0, false, &sent.ep) == DNET_OK;
        while (!sent.done || !received.done)
            make_progress();
    }
}

static void close_one(int vci)
{
    MPIDI_DIMMNET_vci_t *self = MPIDI_DIMMNET_VCI(vci);
    dnet_ep_close(self->ep);
    self->ep = NULL;
    MPIDI_DIMMNET_am_finalize(vci);
    if (self->spare_sreq) {
        MPIDIU_request_complete(self->spare_sreq);
        MPIR_Request_free_unsafe(self->spare_sreq);
        self->spare_sreq = NULL;
    }
}

int MPIDI_DIMMNET_mpi_finalize_hook(void)
{
    int mpi_errno = MPI_SUCCESS;
    if (!MPIDI_DIMMNET_EP(0))
        return mpi_errno; /* sessions that never made a world */

    for (int vci = 0; vci < MPIDI_DIMMNET_vcis(); vci++)
        dnet_ep_finish(MPIDI_DIMMNET_EP(vci));
    /* When all are through the barrier, all have delivered what they had; what it sent itself
     * follows. */
    drain();
    barrier();
    drain();
    /* No rank may leave while another's NIC still delivers into its own. */
    mpi_errno = MPIR_pmi_barrier();
    MPIR_ERR_CHECK(mpi_errno);

    MPIDI_DIMMNET_nonblocking_finalize();
    MPIDI_DIMMNET_boards_finalize();
    MPIDI_DIMMNET_buffers_finalize();
    MPIDI_DIMMNET_layout_finalize();
    MPIDI_DIMMNET_pvar_finalize();
    for (int vci = MPIDI_DIMMNET_vcis() - 1; vci >= 0; vci--)
        close_one(vci);
    MPIDI_global.n_vcis = MPIDI_DIMMNET_global.n_vcis; /* MPICH frees what it has made */

fn_exit:
    return mpi_errno;
fn_fail:
    goto fn_exit;
}
