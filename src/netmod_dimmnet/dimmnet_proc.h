/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Where a process is and what it is called.
 */
#ifndef DIMMNET_PROC_H_INCLUDED
#define DIMMNET_PROC_H_INCLUDED

#include "dimmnet_impl.h"

/* Is a rank on this host? */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_rank_is_local(int rank, MPIR_Comm *comm)
{
    return MPIDIU_rank_is_local(rank, comm);
}

/* MPICH's global number of a rank of a communicator. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_comm_get_gpid(MPIR_Comm *comm_ptr, int idx,
                                                    uint64_t *gpid_ptr, bool is_remote)
{
    int avtid, lpid;
    if (comm_ptr->comm_kind == MPIR_COMM_KIND__INTERCOMM && !is_remote)
        MPIDIU_comm_rank_to_pid_local(comm_ptr, idx, &lpid, &avtid);
    else
        MPIDIU_comm_rank_to_pid(comm_ptr, idx, &lpid, &avtid);
    *gpid_ptr = MPIDIU_GPID_CREATE(avtid, lpid);
    return MPI_SUCCESS;
}

#endif
