/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stop and resend between this process and its peers (docs/protocol.md 6): the seam between the
 * flow ring of the NIC and the logic of src/srq_flowctl.
 *
 * The NIC stops exactly the sender that finds no room and notes it in the flow ring.  This process
 * grants the stopped senders once it has emptied its rings.  As a sender it goes on with what waits
 * for a peer when that peer's grant arrives.
 */
#include "endpoint/flow.h"

#include "endpoint/channel.h"
#include "endpoint/compare/compare.h"
#include "endpoint/compare/rings.h"
#include "endpoint/defer_recv.h"
#include "endpoint/defer_send.h"
#include "endpoint/dispatch.h"
#include "endpoint/guests.h"

/* What arrives does not name its sender's NIC, so grants are not counted down.  A grant counts as
 * used after this time, and when its sender is stopped again.  (If a sender that is stopped again
 * were put first, the others would starve: test_stop_no_sender_starves.) */
#define GRANT_NS 20000u

/* Entries that are given back before the only stopped sender is granted: as many as a grant has
 * credits. */
#define FIRST_ENTRIES 8u

/* Packets that are taken from other hosts in a round: what the LH Buffer has room for, in part. */
#define POLL_PACKETS 32u

static dnet_status_t send_grant(void *arg, dnet_fc_peer_t peer, unsigned credits, bool repeat)
{
    dnet_ep_t *ep = arg;
    (void) repeat; /* the shared-memory network loses nothing: no repeats */
    if (ep->stalled)
        return DNET_NO_RESOURCE;
    bool shared = ep->receiver.stopped.count + ep->receiver.granted.count > 1;
    dnet_status_t status =
        dnet_drv_resend(&ep->drv, dnet_drv_target(peer.lid, peer.wid), (uint8_t) credits, shared);
    if (status == DNET_STALLED) {
        dnet_channel_stall(ep);
        status = DNET_OK; /* the NIC will deliver it */
    }
    dnet_drv_note_stopped(&ep->drv, dnet_drv_target(peer.lid, peer.wid), false);
    if (status == DNET_OK)
        ep->page.counters.granted_others++;
    DNET_TRACE(grants, dnet_peer_at(ep, peer.lid, peer.wid), credits, 0);
    return status;
}

static uint64_t own_bytes(void *arg, dnet_fc_peer_t peer)
{
    dnet_ep_t *ep = arg;
    return dnet_rings_own_free(ep, dnet_peer_at(ep, peer.lid, peer.wid));
}

static const dnet_fc_receiver_ops_t receiver_ops = {.resend = send_grant, .own_bytes = own_bytes};

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
    return dnet_fc_receiver_init(&ep->receiver, &config, &receiver_ops, ep);
}

/* That receiver has granted. */
static void resumed(dnet_ep_t *ep, uint32_t rank, uint32_t credits)
{
    dnet_channel_t *ch = dnet_channel_resume(ep, rank, credits);
    if (ch)
        dnet_defer_flush(ep, ch);
}

/* Entries are taken only when they can be noted; the ring keeps the rest. */
static bool read_ring(dnet_ep_t *ep)
{
    bool did = false;
    dnet_drv_flow_t entry;
    while (dnet_drv_flow_peek(&ep->drv, &entry)) {
        if (entry.kind == DNET_FLOW_STOPPED || entry.more) {
            dnet_fc_peer_t peer = {entry.lid, entry.wid};
            if (dnet_fc_receiver_stopped(&ep->receiver, peer, entry.need_bytes) != DNET_OK)
                break;
            dnet_drv_note_stopped(&ep->drv, dnet_drv_target(peer.lid, peer.wid), true);
            ep->page.counters.stopped_others++;
            DNET_TRACE(stops, dnet_peer_at(ep, entry.lid, entry.wid), 0, entry.need_bytes);
        }
        dnet_drv_flow_advance(&ep->drv);
        did = true;
        uint32_t rank = dnet_peer_at(ep, entry.lid, entry.wid);
        if (rank == DNET_EP_NO_RANK || entry.more)
            continue;
        if (entry.kind == DNET_FLOW_HELD)
            dnet_defer_noted(ep, rank);
        else if (entry.kind == DNET_FLOW_RESEND && !ep->tx.timer_ns && !ep->stalled)
            resumed(ep, rank, entry.shared ? entry.credits : 0);
    }
    return did;
}

/* Grant the room there is. */
static bool grant(dnet_ep_t *ep)
{
    dnet_drv_publish(&ep->drv);
    return dnet_fc_receiver_room(&ep->receiver, dnet_drv_lh_free(&ep->drv),
                                 dnet_drv_ring_free(&ep->drv, 0), dnet_clock_ns()) > 0;
}

bool dnet_flow_first(dnet_ep_t *ep)
{
    bool did = read_ring(ep);
    if (ep->oversubscribed || ep->receiver.stopped.count != 1 || ep->receiver.granted.count != 0)
        /* A sender that was granted now would take the processor that drains; several share what
         * the whole round makes free. */
        return did;
    return dnet_receive_round(ep, FIRST_ENTRIES) | grant(ep) | did;
}

bool dnet_flow_round(dnet_ep_t *ep)
{
    bool did = read_ring(ep);
    if (dnet_fc_receiver_pending(&ep->receiver))
        did |= grant(ep);
    if (ep->holding)
        did |= dnet_defer_round(ep);
    if (ep->flow_turns && !ep->job.has_port)
        did |= dnet_compare_turn(ep);
    return did;
}

bool dnet_flow_network(dnet_ep_t *ep)
{
    return ep->dev->ops->poll(ep->dev, POLL_PACKETS);
}
