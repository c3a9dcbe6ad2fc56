/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The conventional way to keep shared receive buffers filled, for comparison (DIMMNET_FLOW=limit):
 * a thread sleeps until the NIC's limit event, offers more LH entries and arms the event again.
 *
 * Threads: the thread touches nothing of the endpoint but its own counters and the entries to
 * offer.
 */
#include <string.h>

#include "endpoint/compare/compare.h"
#include "endpoint/compare/modes.h"

/* As many as the measurement of the flow control specification (4.1) adds at a time. */
#define REFILL 64u

uint32_t dnet_srq_limit_refill(const dnet_ep_t *ep)
{
    uint32_t half = ep->dev->geometry.lh_entries / 2;
    if (ep->options.flow != DNET_EP_FLOW_LIMIT)
        return 0;
    return half < REFILL ? half : REFILL;
}

static void *offer_buffers(void *arg)
{
    dnet_ep_t *ep = arg;
    uint32_t seen = 0;
    for (;;) {
        uint64_t when_ns;
        seen = dnet_drv_srq_limit_wait(&ep->drv, seen, &when_ns);
        if (atomic_load(&ep->compare.limit.stop))
            return NULL;
        dnet_drv_srq_refill(&ep->drv);
        atomic_fetch_add_explicit(&ep->compare.limit.events, 1, memory_order_relaxed);
        atomic_fetch_add_explicit(&ep->compare.limit.ns, dnet_clock_ns() - when_ns,
                                  memory_order_relaxed);
    }
}

dnet_status_t dnet_srq_limit_start(dnet_ep_t *ep)
{
    if (ep->options.flow != DNET_EP_FLOW_LIMIT)
        return DNET_OK;
    int error = pthread_create(&ep->compare.limit.thread, NULL, offer_buffers, ep);
    if (error) {
        dnet_error("DIMMNET_FLOW=limit: cannot start a thread: %s", strerror(error));
        return DNET_ERR_SYSTEM;
    }
    ep->compare.limit.running = true;
    return DNET_OK;
}

void dnet_srq_limit_end(dnet_ep_t *ep)
{
    if (!ep->compare.limit.running)
        return;
    atomic_store(&ep->compare.limit.stop, true);
    dnet_drv_srq_limit_raise(&ep->drv);
    pthread_join(ep->compare.limit.thread, NULL);
    ep->compare.limit.running = false;
}
