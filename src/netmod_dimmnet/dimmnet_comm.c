/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators and dynamic processes.  A communicator's context and ranks go into the envelopes; a
 * list of all tells which process an envelope means.  A job's processes are those it was started
 * with: the NICs are laid out for them.
 */
#include "dimmnet_impl.h"

#include <pthread.h>

#define NEXT(comm) ((comm)->dev.ch4.netmod.dimmnet.next)

static MPIR_Comm *comms;
static pthread_mutex_t comms_lock = PTHREAD_MUTEX_INITIALIZER; /* nothing is taken inside */

int MPIDI_DIMMNET_mpi_comm_commit_pre_hook(MPIR_Comm *comm)
{
    pthread_mutex_lock(&comms_lock);
    NEXT(comm) = comms;
    comms = comm;
    pthread_mutex_unlock(&comms_lock);
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_comm_commit_post_hook(MPIR_Comm *comm)
{
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_comm_free_hook(MPIR_Comm *comm)
{
    pthread_mutex_lock(&comms_lock);
    MPIR_Comm **link = &comms;
    while (*link && *link != comm)
        link = &NEXT(*link);
    if (*link)
        *link = NEXT(comm);
    pthread_mutex_unlock(&comms_lock);
    return MPI_SUCCESS;
}

uint32_t MPIDI_DIMMNET_source(void *arg, uint64_t envelope)
{
    int context = (int) DNET_GET(envelope, LH_CONTEXT) & ~MPIR_CONTEXT_SUFFIX_MASK;
    int rank = (int) dnet_ep_envelope_rank(envelope);
    uint32_t peer = DNET_EP_NO_RANK;
    pthread_mutex_lock(&comms_lock);
    for (MPIR_Comm *comm = comms; comm; comm = NEXT(comm)) {
        if (comm->recvcontext_id == context) {
            if (rank < comm->remote_size)
                peer = MPIDI_DIMMNET_AV(MPIDIU_comm_rank_to_av(comm, rank)).peer;
            break;
        }
    }
    pthread_mutex_unlock(&comms_lock);
    return peer;
}

int MPIDI_DIMMNET_comm_set_hints(MPIR_Comm *comm_ptr, MPIR_Info *info)
{
    return MPI_SUCCESS;
}

static int no_dynamic_processes(void)
{
    return MPIR_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, __func__, __LINE__,
                                MPI_ERR_SPAWN, "**dimmnet_dynproc", 0);
}

/* MPI_Open_port and MPI_Comm_spawn start here. */
int MPIDI_DIMMNET_get_local_upids(MPIR_Comm *comm, int **local_upid_size, char **local_upids)
{
    return no_dynamic_processes();
}

int MPIDI_DIMMNET_upids_to_gpids(int size, int *remote_upid_size, char *remote_upids,
                                 uint64_t *remote_gpids)
{
    return no_dynamic_processes();
}

int MPIDI_DIMMNET_dynamic_send(uint64_t remote_gpid, int tag, const void *buf, int size,
                               int timeout)
{
    return no_dynamic_processes();
}

int MPIDI_DIMMNET_dynamic_recv(int tag, void *buf, int size, int timeout)
{
    return no_dynamic_processes();
}
