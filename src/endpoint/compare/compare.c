/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What DIMMNET_FLOW changes.
 *
 * stall: a NIC keeps the packet that finds no room, and everything this process has for any peer
 * waits behind it.  rnr, limit: the packet is refused and sent again by a timer.
 */
#include "endpoint/compare/compare.h"

#include "endpoint/channel.h"
#include "endpoint/compare/modes.h"
#include "endpoint/defer_send.h"
#include "endpoint/job.h"
#include "endpoint/retry.h"
#include "endpoint/strided.h"

/* The timer of InfiniBand's RNR NAK that is coded 12, the usual choice. */
#define RNR_NS UINT64_C(640000)

dnet_status_t dnet_compare_check(const dnet_ep_t *ep)
{
    if (ep->options.flow != DNET_EP_FLOW_STALL)
        return DNET_OK;
    if (ep->job.cluster) {
        dnet_error("DIMMNET_FLOW=stall is for NICs of the job's own; leave DIMMNET_CLUSTER out");
        return DNET_ERR_STATE;
    }
    if (ep->options.faults) {
        dnet_error("DIMMNET_FAULTS is for stops and resends, of which DIMMNET_FLOW=stall has none; "
                   "leave one of them out");
        return DNET_ERR_STATE;
    }
    if (dnet_job_profile(ep) == DNET_PROFILE_EXTENDED)
        return DNET_OK;
    /* There a process reads its messages by requests of its own, which would wait behind the
     * stalled one. */
    dnet_error(
        "DIMMNET_FLOW=stall with DIMMNET_PROFILE=prototype can deadlock; use the extended profile");
    return DNET_ERR_STATE;
}

void dnet_compare_apply(dnet_ep_t *ep)
{
    if (ep->options.flow == DNET_EP_FLOW_STOP)
        return;
    ep->inbox.budget = UINT64_MAX / 4; /* holding senders back is a part of stop and resend */
    if (ep->options.flow != DNET_EP_FLOW_STALL) {
        ep->tx.timer_ns = RNR_NS;
        return;
    }
    ep->rndv.no_fetch = true;
    ep->options.strided = DNET_STRIDED_NEVER;
}

bool dnet_compare_in_line(const dnet_ep_t *ep)
{
    return ep->options.flow == DNET_EP_FLOW_STALL;
}

dnet_flow_mode_t dnet_compare_flow_mode(const dnet_ep_t *ep)
{
    switch ((dnet_ep_flow_t) ep->options.flow) {
        case DNET_EP_FLOW_STOP:
            return DNET_FLOW_MODE_STOP;
        case DNET_EP_FLOW_STALL:
            return DNET_FLOW_MODE_STALL;
        case DNET_EP_FLOW_RNR:
        case DNET_EP_FLOW_LIMIT:
            return DNET_FLOW_MODE_RETRY;
    }
    return DNET_FLOW_MODE_STOP;
}

/* Let the NIC go on; when it is done each peer has its turn, until the NIC stalls again. */
static bool run_stalled(dnet_ep_t *ep)
{
    if (dnet_drv_run(&ep->drv) == DNET_STALLED)
        return false;
    dnet_channel_settle(ep);
    ep->stalled = ep->flow_turns = false;
    for (uint32_t n = 0; n < ep->size && !ep->stalled; n++) {
        dnet_channel_t *ch = dnet_channel_go_on(ep, ep->compare.resume_from++ % ep->size);
        if (ch)
            dnet_defer_flush(ep, ch);
    }
    return true;
}

bool dnet_compare_turn(dnet_ep_t *ep)
{
    if (ep->stalled)
        return run_stalled(ep);
    uint64_t now = dnet_clock_ns();
    if (ep->tx.retry_ns <= now)
        dnet_retry_due(ep, now);
    ep->flow_turns = ep->tx.retry_ns != UINT64_MAX;
    return false;
}
