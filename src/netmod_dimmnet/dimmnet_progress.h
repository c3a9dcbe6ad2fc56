/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Progress of one VCI.  Requests that complete advance MPICH's progress count themselves, in their
 * free hook.
 */
#ifndef DIMMNET_PROGRESS_H_INCLUDED
#define DIMMNET_PROGRESS_H_INCLUDED

#include "dimmnet_impl.h"

/* Let the endpoint make progress, in a call that waits or in one that looks; an error ends the job,
 * for no call is there to return it. */
MPL_STATIC_INLINE_PREFIX int MPIDI_NM_progress(int vci, int blocking)
{
    bool did = false;
    dnet_status_t status = blocking ? dnet_ep_progress(MPIDI_DIMMNET_EP(vci), &did)
                                    : dnet_ep_poll(MPIDI_DIMMNET_EP(vci), &did);
    if (unlikely(status != DNET_OK))
        MPIDI_DIMMNET_abort(status);
    return MPI_SUCCESS;
}

#endif
