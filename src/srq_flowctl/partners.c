/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "srq_flowctl/partners.h"

/* Samples until all counts are halved. */
#define HALVE_EVERY 256u
/* Count from which a sender is worth a free ring. */
#define COUNT_FREE 4u
/* A ring is taken from its owner by a sender named twice as often and so much more: no ring
 * goes to and fro. */
#define COUNT_MORE 8u

void dnet_fc_partners_init(dnet_fc_partners_t *p, uint32_t rings)
{
    *p = (dnet_fc_partners_t){.rings = rings};
    for (uint32_t i = 0; i < DNET_FC_PARTNERS; i++)
        p->partner[i].sender = DNET_FC_NO_SENDER;
    for (uint32_t r = 0; r < DNET_FC_RINGS_MAX; r++)
        p->owner[r] = DNET_FC_NO_SENDER;
}

static uint32_t find(const dnet_fc_partners_t *p, uint32_t sender)
{
    for (uint32_t i = 0; i < DNET_FC_PARTNERS; i++)
        if (p->partner[i].sender == sender)
            return i;
    return DNET_FC_NO_SENDER;
}

/* The place of the sender counted least among those that share; owners of rings keep theirs. */
static uint32_t make_room(dnet_fc_partners_t *p, uint32_t sender)
{
    uint32_t least = DNET_FC_NO_SENDER;
    for (uint32_t i = 0; i < DNET_FC_PARTNERS; i++)
        if (p->partner[i].ring == 0 &&
            (least == DNET_FC_NO_SENDER || p->partner[i].count < p->partner[least].count))
            least = i;
    p->partner[least].sender = sender;
    return least;
}

static void halve(dnet_fc_partners_t *p)
{
    if (++p->samples < HALVE_EVERY)
        return;
    p->samples = 0;
    for (uint32_t i = 0; i < DNET_FC_PARTNERS; i++)
        p->partner[i].count /= 2;
}

/* A free ring, else the one whose owner is counted least. */
static uint32_t cheapest_ring(const dnet_fc_partners_t *p)
{
    uint32_t cheapest = 1;
    for (uint32_t r = 1; r < p->rings; r++) {
        if (p->owner[r] == DNET_FC_NO_SENDER)
            return r;
        if (p->partner[p->owner[r]].count < p->partner[p->owner[cheapest]].count)
            cheapest = r;
    }
    return cheapest;
}

bool dnet_fc_partners_sample(dnet_fc_partners_t *p, uint32_t sender,
                             dnet_fc_ring_change_t *change_p)
{
    uint32_t i = find(p, sender);
    if (p->rings < 2)
        return false;
    if (i == DNET_FC_NO_SENDER)
        i = make_room(p, sender);
    dnet_fc_partner_t *mine = &p->partner[i];
    mine->count++;
    halve(p);
    if (mine->ring)
        return false;
    uint32_t ring = cheapest_ring(p);
    dnet_fc_partner_t *owner =
        p->owner[ring] == DNET_FC_NO_SENDER ? NULL : &p->partner[p->owner[ring]];
    if (mine->count < (owner ? 2 * owner->count + COUNT_MORE : COUNT_FREE))
        return false;
    *change_p = (dnet_fc_ring_change_t){ring, owner ? owner->sender : DNET_FC_NO_SENDER};
    if (owner)
        owner->ring = 0;
    mine->ring = ring;
    p->owner[ring] = i;
    return true;
}

uint32_t dnet_fc_partners_ring(const dnet_fc_partners_t *p, uint32_t sender)
{
    uint32_t i = find(p, sender);
    return i == DNET_FC_NO_SENDER ? 0 : p->partner[i].ring;
}
