/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators and dynamic processes.  A communicator needs nothing: its context and ranks go into
 * the envelopes.  A job's processes are those it was started with: the NICs are laid out for them.
 */
#include "dimmnet_impl.h"

int MPIDI_DIMMNET_mpi_comm_commit_pre_hook(MPIR_Comm *comm)
{
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_comm_commit_post_hook(MPIR_Comm *comm)
{
    return MPI_SUCCESS;
}

int MPIDI_DIMMNET_mpi_comm_free_hook(MPIR_Comm *comm)
{
    return MPI_SUCCESS;
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
