/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings for frequent partners (docs/flow-control.md section 6): the IPUSH area is cut into
 * DIMMNET_RINGS rings of one size, of which ring 0 is shared.
 *
 * They are slower than one ring at every size, because a part of the memory holds a part of a
 * burst.  What keeps them: one partner's flood does not stop the others' long messages
 * (test_rings_frequent_partner_does_not_fill_the_shared_one).
 *
 * A ring may change hands at any time.  The NIC looks a packet's ring up once, while it holds the
 * receive side; the packet's LH entry says where its bytes lie; and LH entries are read and given
 * back in one order, whichever sender they came from.  So neither the order of a sender's messages
 * nor that of a ring's bytes depends on its owner.
 */
#include "endpoint/compare/rings.h"

#include <string.h>

void dnet_rings_start(dnet_ep_t *ep)
{
    dnet_fc_partners_init(&ep->compare.partners, (uint32_t) ep->options.rings);
}

static uint32_t sender_of(const dnet_ep_t *ep, const dnet_lh_entry_t *entry)
{
    dnet_ep_head_t head;
    if (entry->envelope & DNET_EP_HEADED) {
        memcpy(&head, entry->data, sizeof(head));
        return head.rank;
    }
    return ep->source_fn ? ep->source_fn(ep->source_arg, entry->envelope & DNET_MATCH_BITS)
                         : DNET_EP_NO_RANK;
}

void dnet_rings_sample(dnet_ep_t *ep, const dnet_lh_entry_t *entry)
{
    dnet_fc_ring_change_t change;
    uint32_t rank = sender_of(ep, entry);
    if (rank >= ep->size || !dnet_fc_partners_sample(&ep->compare.partners, rank, &change))
        return;
    if (change.before != DNET_FC_NO_SENDER)
        dnet_drv_ring_assign(&ep->drv, ep->peers[change.before].target, 0);
    dnet_drv_ring_assign(&ep->drv, ep->peers[rank].target, change.ring);
    ep->page.counters.rings_given++;
}

uint64_t dnet_rings_own_free(const dnet_ep_t *ep, uint32_t rank)
{
    uint32_t ring = dnet_fc_partners_ring(&ep->compare.partners, rank);
    return ring ? dnet_drv_ring_free(&ep->drv, ring) : DNET_FC_SHARED;
}
