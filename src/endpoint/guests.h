/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of other jobs: peers whose numbers follow those of the job's ranks (docs/protocol.md
 * 9).
 */
#ifndef DNET_ENDPOINT_GUESTS_H
#define DNET_ENDPOINT_GUESTS_H

#include "endpoint/ep.h"
#include "endpoint/job.h"

/** One behind the highest peer number in use. */
static inline uint32_t dnet_peers_end(const dnet_ep_t *ep)
{
    return ep->size + ep->guests.end;
}

/** The peer that another process has entered as guest `number`; DNET_EP_NO_RANK: there is none. */
uint32_t dnet_guest_peer(dnet_ep_t *ep, uint32_t number);

/** The peer with that address; DNET_EP_NO_RANK: none. */
static inline uint32_t dnet_peer_at(dnet_ep_t *ep, uint16_t lid, unsigned wid)
{
    uint32_t rank = dnet_job_rank(ep, lid, wid);
    return DNET_LIKELY(rank != DNET_EP_NO_RANK) ? rank
                                                : dnet_guest_peer(ep, dnet_emu_guest_of(lid));
}

/** What this process is to a peer, in heads: its rank, or its number there. */
DNET_COLD uint32_t dnet_guest_self(dnet_ep_t *ep, uint32_t peer);

/** The peer that a head's `rank` means; DNET_EP_NO_RANK: none. */
static inline uint32_t dnet_peer_of_head(dnet_ep_t *ep, uint32_t rank)
{
    if (DNET_LIKELY(rank < ep->size))
        return rank;
    return rank & DNET_HEAD_GUEST ? dnet_guest_peer(ep, rank & ~DNET_HEAD_GUEST) : DNET_EP_NO_RANK;
}

/** May the memories of this process and of a guest be copied between them? */
bool dnet_guest_direct(dnet_ep_t *ep, uint32_t peer);

/** Has that peer left its job in order?  False of a rank. */
bool dnet_guest_has_left(const dnet_ep_t *ep, uint32_t peer);

/** May that peer's end be its own business: has it been dropped, or only been asked for a
 * connection?  Not for ranks. */
bool dnet_guest_is_free_to_end(const dnet_ep_t *ep, uint32_t peer);

/** Will nothing come from it any more: has it left, or ended where that is its own business?  Not
 * for ranks. */
bool dnet_guest_is_away(const dnet_ep_t *ep, uint32_t peer);

/** It is dealt with still, although it was dropped: its end is not only its own business.  @return
 * false: it has not been dropped */
bool dnet_guest_take_back(dnet_ep_t *ep, uint32_t peer);

/** Has a guest ended that this process still deals with?  Logged, the first time.  Those that were
 * dropped are forgotten when `quiet`: nothing is under way. */
bool dnet_guests_lost(dnet_ep_t *ep, bool quiet);

/** Tell all guests that this process is theirs no more, and free the list; the last call. */
void dnet_guests_leave(dnet_ep_t *ep);

#endif
