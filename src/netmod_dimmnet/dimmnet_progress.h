/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress.  One endpoint serves VCI 0; others have nothing of ours.  Requests that complete
 * advance MPICH's progress count themselves, in their free hook.
 */
#ifndef DIMMNET_PROGRESS_H_INCLUDED
#define DIMMNET_PROGRESS_H_INCLUDED

#include "dimmnet_impl.h"

/* Let the endpoint make progress, in a call that waits or in one that looks; an error ends the job,
 * for no call is there to return it. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_progress(int vci, int blocking)
{
    if (unlikely(vci != 0))
        return MPI_SUCCESS;
    bool did = false;
    dnet_status_t status = blocking ? dnet_ep_progress(MPIDI_DIMMNET_global.ep, &did)
                                    : dnet_ep_poll(MPIDI_DIMMNET_global.ep, &did);
    if (unlikely(status != DNET_OK))
        MPIDI_DIMMNET_abort(status);
    return MPI_SUCCESS;
}

#endif
