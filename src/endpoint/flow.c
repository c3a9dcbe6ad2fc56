/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stop and resend between this process and its peers (docs/protocol.md 6): the seam between the flow
 * ring of the NIC and the logic of src/srq_flowctl.
 *
 * The NIC stops exactly the sender that finds no room and notes it in the flow ring.  This process
 * grants the stopped ones once it has emptied its rings; as a sender it takes up its queue for a peer
 * when that peer's grant arrives.
 */
#include "endpoint/internal.h"

/* What arrives does not name its sender's NIC, so grants are not counted down; they are taken as used
 * after this time, and when their sender is stopped again.  (To take that for a broken promise, and to put such a
 * sender first, starves the others: test_stop_nobody_starves.) */
#define GRANT_NS 20000u

static dnet_status_t send_grant(void *arg, dnet_fc_peer_t peer, unsigned credits, bool repeat)
{
    dnet_ep_t *ep = arg;
    (void) repeat; /* the shared-memory network loses nothing: no repeats */
    bool shared = ep->receiver.stopped.count + ep->receiver.granted.count > 1;
    dnet_status_t status = dnet_nic_resend(&ep->nic, dnet_nic_target(peer.lid, peer.wid),
                                           (uint8_t) credits, shared);
    if (status == DNET_OK)
        ep->counters.granted_others++;
    DNET_TRACE(grants, dnet_place_rank(ep, peer.lid, peer.wid), credits, 0);
    return status;
}

static const dnet_fc_receiver_ops_t receiver_ops = {.resend = send_grant};

dnet_status_t dnet_flow_start(dnet_ep_t *ep)
{
    dnet_fc_receiver_config_t config =
        dnet_fc_receiver_defaults(ep->dev->geometry.lh_entries - 1, ep->size);
    config.grant_ns = GRANT_NS;
    config.uncounted = true;
    return dnet_fc_receiver_init(&ep->receiver, &config, &receiver_ops, ep);
}

/* Entries are taken only when they can be noted; the ring keeps the rest. */
static bool read_ring(dnet_ep_t *ep)
{
    bool did = false;
    dnet_nic_flow_t entry;
    while (dnet_nic_flow_peek(&ep->nic, &entry)) {
        if (entry.kind == DNET_FLOW_STOPPED || entry.more) {
            dnet_fc_peer_t peer = {entry.lid, entry.wid};
            if (dnet_fc_receiver_stopped(&ep->receiver, peer, entry.need_bytes) != DNET_OK)
                break;
            ep->counters.stopped_others++;
            DNET_TRACE(stops, dnet_place_rank(ep, entry.lid, entry.wid), 0, entry.need_bytes);
        }
        dnet_nic_flow_advance(&ep->nic);
        did = true;
        uint32_t rank = dnet_place_rank(ep, entry.lid, entry.wid);
        if (rank >= ep->size || entry.more)
            continue;
        if (entry.kind == DNET_FLOW_HELD)
            dnet_hold_noted(ep, rank);
        else if (entry.kind == DNET_FLOW_RESEND && entry.credits == 0)
            dnet_offer_opened(ep, rank);
        else if (entry.kind == DNET_FLOW_RESEND)
            dnet_queue_resume(ep, rank, entry.shared ? entry.credits : 0);
    }
    return did;
}

bool dnet_flow_round(dnet_ep_t *ep)
{
    bool did = read_ring(ep);
    if (dnet_fc_receiver_pending(&ep->receiver)) {
        dnet_nic_publish(&ep->nic);
        did |= dnet_fc_receiver_room(&ep->receiver, dnet_nic_lh_free(&ep->nic),
                                     dnet_nic_ring_free(&ep->nic), dnet_clock_ns()) > 0;
    }
    if (ep->holding)
        did |= dnet_hold_round(ep);
    return did;
}
