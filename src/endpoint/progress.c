/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One round over everything that can go on, and what to do when nothing can.
 */
#include "endpoint/internal.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

/* A pause longer than this between two rounds means that the caller computes in between. */
#define QUICK_SUCCESSION_NS 20000u
#define CLOCK_EVERY 32u        /* idle rounds between two looks at the clock */
#define YIELDS_BEFORE_SLEEP 16u
#define SLEEP_US 1000u
#define CHECK_EVERY_NS 50000000u /* a look at the peers' lives */

uint64_t dnet_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t) t.tv_sec * 1000000000u + (uint64_t) t.tv_nsec;
}

static bool round_once(dnet_ep_t *ep)
{
    bool did = dnet_receive_round(ep);
    if (dnet_nic_flow_waiting(&ep->nic) || dnet_fc_receiver_pending(&ep->receiver))
        did |= dnet_flow_round(ep);
    if (ep->staged || ep->landings_staged || dnet_nic_status_waiting(&ep->nic))
        did |= dnet_rendezvous_round(ep);
    if (DNET_UNLIKELY(ep->retry != NULL))
        did |= dnet_queues_retry(ep);
    return did;
}

static bool still_idle(void *arg)
{
    dnet_ep_t *ep = arg;
    return !dnet_nic_lh_next(&ep->nic) && !dnet_nic_flow_waiting(&ep->nic) &&
           !dnet_rendezvous_waiting(ep) && !ep->retry;
}

/* Has a peer that we have dealt with ended without leaving?  A few peers are looked at each time. */
static dnet_status_t check_peers(dnet_ep_t *ep)
{
    uint32_t looks = ep->size / 64 + 1;
    while (looks--) {
        uint32_t rank = ep->check_next++ % ep->size;
        dnet_nic_target_t target = ep->peers[rank].target;
        if (rank == ep->rank ||
            !dnet_emu_peer_lost(ep->emu, dnet_nic_target_lid(target), dnet_nic_target_wid(target)))
            continue;
        if (!ep->dead_reported)
            dnet_error("rank %u (pid %d) has ended without leaving the job", rank, ep->pids[rank]);
        ep->dead_reported = true;
        return DNET_ERR_PEER_DEAD;
    }
    return DNET_OK;
}

static DNET_COLD dnet_status_t idle_round(dnet_ep_t *ep)
{
    uint64_t now = dnet_clock_ns();
    if (now - ep->last_poll_ns > QUICK_SUCCESSION_NS * CLOCK_EVERY) {
        ep->last_poll_ns = ep->idle_since_ns = now; /* the caller computes; do not slow it down */
        ep->idle = 1;
        return DNET_OK;
    }
    ep->last_poll_ns = now;
    uint64_t spin_ns = ep->oversubscribed ? 0 : ep->options.spin_us * 1000;
    if (now - ep->idle_since_ns < spin_ns)
        return DNET_OK;
    if (ep->idle < (YIELDS_BEFORE_SLEEP + 1) * CLOCK_EVERY ||
        (!ep->oversubscribed && now - ep->idle_since_ns < 4 * spin_ns)) {
        sched_yield();
        return DNET_OK;
    }
    ep->counters.sleeps++;
    ep->dev->ops->sleep(ep->dev, SLEEP_US, still_idle, ep);
    ep->last_poll_ns = dnet_clock_ns();
    if (ep->last_poll_ns - ep->last_check_ns < CHECK_EVERY_NS)
        return DNET_OK;
    ep->last_check_ns = ep->last_poll_ns;
    return check_peers(ep);
}

dnet_status_t dnet_ep_progress(dnet_ep_t *ep, bool *did_p)
{
    if (DNET_UNLIKELY(ep->in_progress)) /* called from a callback */
        return DNET_OK;
    ep->in_progress = true;
    bool did = round_once(ep);
    ep->in_progress = false;
    if (DNET_UNLIKELY(dnet_dump_wanted()))
        dnet_dump_now(ep);
    if (did) {
        *did_p = true;
        ep->idle = 0;
        return DNET_OK;
    }
    if (ep->impatient)
        return DNET_OK;
    if (DNET_LIKELY(++ep->idle % CLOCK_EVERY != 0 && !(ep->oversubscribed && ep->idle > 2)))
        return DNET_OK;
    if (ep->idle == CLOCK_EVERY || (ep->oversubscribed && ep->idle == 3))
        ep->idle_since_ns = ep->last_poll_ns = dnet_clock_ns();
    return idle_round(ep);
}
