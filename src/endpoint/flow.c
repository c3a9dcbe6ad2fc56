/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stop and resend between this process and its peers (docs/protocol.md 6): the seam between the
 * flow ring of the NIC and the logic of src/srq_flowctl.
 *
 * The NIC stops exactly the sender that finds no room and notes it in the flow ring.  This process
 * grants the stopped ones once it has emptied its rings; as a sender it takes up its queue for a
 * peer when that peer's grant arrives.
 *
 * For comparison (DIMMNET_FLOW, docs/protocol.md 6.2): a NIC that stalls keeps the packet, and
 * everything this process has for anybody waits behind it; a receiver that does not resume its
 * senders is tried again soon.
 */
#include "endpoint/internal.h"

/* What arrives does not name its sender's NIC, so grants are not counted down; they are taken as
 * used after this time, and when their sender is stopped again.  (To take that for a broken
 * promise, and to put such a sender first, starves the others: test_stop_nobody_starves.) */
#define GRANT_NS 20000u

/* Given back before the only one that is stopped is granted: as many as a grant has credits. */
#define FIRST_ENTRIES 8u

static dnet_status_t send_grant(void *arg, dnet_fc_peer_t peer, unsigned credits, bool repeat)
{
    dnet_ep_t *ep = arg;
    (void) repeat; /* the shared-memory network loses nothing: no repeats */
    if (ep->stalled)
        return DNET_NO_RESOURCE;
    bool shared = ep->flow.receiver.stopped.count + ep->flow.receiver.granted.count > 1;
    dnet_status_t status =
        dnet_drv_resend(&ep->drv, dnet_drv_target(peer.lid, peer.wid), (uint8_t) credits, shared);
    if (status == DNET_STALLED) {
        dnet_flow_stalled(ep);
        status = DNET_OK; /* the NIC will deliver it */
    }
    dnet_drv_note_stopped(&ep->drv, dnet_drv_target(peer.lid, peer.wid), false);
    if (status == DNET_OK)
        ep->counters.granted_others++;
    DNET_TRACE(grants, dnet_job_rank(ep, peer.lid, peer.wid), credits, 0);
    return status;
}

static uint64_t own_bytes(void *arg, dnet_fc_peer_t peer)
{
    dnet_ep_t *ep = arg;
    return dnet_rings_own_free(ep, dnet_job_rank(ep, peer.lid, peer.wid));
}

static const dnet_fc_receiver_ops_t receiver_ops = {.resend = send_grant, .own_bytes = own_bytes};

dnet_flow_mode_t dnet_flow_mode(const dnet_ep_t *ep)
{
    if (ep->options.flow == DNET_EP_FLOW_STALL)
        return DNET_FLOW_MODE_STALL;
    return dnet_flow_retries(ep) ? DNET_FLOW_MODE_RETRY : DNET_FLOW_MODE_STOP;
}

dnet_status_t dnet_flow_start(dnet_ep_t *ep)
{
    dnet_fc_receiver_config_t config =
        dnet_fc_receiver_defaults(ep->dev->geometry.lh_entries - 1, ep->size);
    config.grant_ns = GRANT_NS;
    config.uncounted = true;
    /* A grant costs its sender a turn on a processor, where there are few.  64 senders on one had
     * 0.33 MB/s with the defaults, which gave them a packet each, and have 0.56
     * (benchmarks/incast). */
    if (config.grant_max < config.slots / 16)
        config.grant_max = config.slots / 16;
    config.grant_least = config.grant_max / 2;
    dnet_rings_start(ep);
    return dnet_fc_receiver_init(&ep->flow.receiver, &config, &receiver_ops, ep);
}

/* Entries are taken only when they can be noted; the ring keeps the rest. */
static bool read_ring(dnet_ep_t *ep)
{
    bool did = false;
    dnet_drv_flow_t entry;
    while (dnet_drv_flow_peek(&ep->drv, &entry)) {
        if (entry.kind == DNET_FLOW_STOPPED || entry.more) {
            dnet_fc_peer_t peer = {entry.lid, entry.wid};
            if (dnet_fc_receiver_stopped(&ep->flow.receiver, peer, entry.need_bytes) != DNET_OK)
                break;
            dnet_drv_note_stopped(&ep->drv, dnet_drv_target(peer.lid, peer.wid), true);
            ep->counters.stopped_others++;
            DNET_TRACE(stops, dnet_job_rank(ep, entry.lid, entry.wid), 0, entry.need_bytes);
        }
        dnet_drv_flow_advance(&ep->drv);
        did = true;
        uint32_t rank = dnet_job_rank(ep, entry.lid, entry.wid);
        if (rank >= ep->size || entry.more)
            continue;
        if (entry.kind == DNET_FLOW_HELD)
            dnet_hold_noted(ep, rank);
        else if (entry.kind == DNET_FLOW_RESEND && !dnet_flow_retries(ep) && !ep->stalled)
            dnet_channel_resume(ep, rank, entry.shared ? entry.credits : 0);
    }
    return did;
}

/* ---- for comparison ---- */

void dnet_flow_stalled(dnet_ep_t *ep)
{
    ep->counters.stalled++;
    ep->stalled = ep->flow_turns = true;
    dnet_channels_stop(ep);
}

/* Let the NIC go on; when it is done, everybody's turn comes, until it stalls again. */
static bool run_stalled(dnet_ep_t *ep)
{
    if (dnet_drv_run(&ep->drv) == DNET_STALLED)
        return false;
    ep->stalled = ep->flow_turns = false;
    for (uint32_t n = 0; n < ep->size && !ep->stalled; n++)
        dnet_channel_go_on(ep, ep->compare.resume_from++ % ep->size);
    return true;
}

/* Try the peers again whose time has come. */
static void retry(dnet_ep_t *ep)
{
    uint64_t now = dnet_clock_ns();
    if (ep->tx.retry_ns <= now)
        dnet_channel_retry(ep, now);
    ep->flow_turns = ep->tx.retry_ns != UINT64_MAX;
}

uint32_t dnet_flow_sleep_us(const dnet_ep_t *ep, uint32_t most_us)
{
    if (ep->stalled)
        return 1; /* only this process can let its NIC go on */
    uint64_t now = dnet_clock_ns();
    if (!(ep->flow_turns || ep->tx.open_channels) || ep->tx.retry_ns >= now + most_us * 1000ull)
        return most_us;
    return ep->tx.retry_ns > now ? (uint32_t) ((ep->tx.retry_ns - now) / 1000) + 1 : 1;
}

/* Grant the room there is. */
static bool grant(dnet_ep_t *ep)
{
    dnet_drv_publish(&ep->drv);
    return dnet_fc_receiver_room(&ep->flow.receiver, dnet_drv_lh_free(&ep->drv),
                                 dnet_drv_ring_free(&ep->drv, 0), dnet_clock_ns()) > 0;
}

bool dnet_flow_first(dnet_ep_t *ep)
{
    bool did = read_ring(ep);
    if (ep->oversubscribed || ep->flow.receiver.stopped.count != 1 ||
        ep->flow.receiver.granted.count != 0)
        /* he would take the processor that drains; several share what the whole round makes free */
        return did;
    return dnet_receive_round(ep, FIRST_ENTRIES) | grant(ep) | did;
}

bool dnet_flow_round(dnet_ep_t *ep)
{
    bool did = read_ring(ep);
    if (dnet_fc_receiver_pending(&ep->flow.receiver))
        did |= grant(ep);
    if (ep->holding)
        did |= dnet_hold_round(ep);
    if (ep->stalled)
        did |= run_stalled(ep);
    else if (ep->flow_turns)
        retry(ep);
    return did;
}
