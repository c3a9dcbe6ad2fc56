/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/aperture.h"

_Static_assert(DNET_APERTURES_MAX / 2 <= DNET_DRV_CURSORS, "a cursor for each message shown");

static uint32_t slots(const dnet_ep_t *ep)
{
    uint32_t n = ep->dev->geometry.aperture_slots;
    return n < DNET_APERTURES_MAX ? n : DNET_APERTURES_MAX;
}

/* Open a slot below `end`.  @return 0: none is free */
static uint32_t open_below(dnet_ep_t *ep, uint32_t end, const void *at, size_t len)
{
    for (uint32_t slot = 1; slot < end; slot++) {
        if (!ep->aperture.recv[slot] && !ep->aperture.send[slot]) {
            dnet_drv_aperture_set(&ep->drv, slot, at, len);
            return slot;
        }
    }
    return 0;
}

uint32_t dnet_aperture_show(dnet_ep_t *ep, dnet_op_t *op, const void *at, size_t len)
{
    /* The others stay for receives: messages that are shown wait for the other side's receives, and
     * if they had all slots on both sides nothing could be stored anywhere.  Slots 1 to 64 of 128:
     * programs have 64 messages under way, and one that is not shown would wait for a CTS, and for
     * its sender to copy it. */
    uint32_t slot = open_below(ep, slots(ep) / 2 + 1, at, len);
    if (slot)
        ep->aperture.send[slot] = op;
    return slot;
}

void dnet_aperture_hide(dnet_ep_t *ep, uint32_t slot)
{
    dnet_drv_aperture_set(&ep->drv, slot, NULL, 0);
    ep->aperture.send[slot] = NULL;
}

uint32_t dnet_aperture_open(dnet_ep_t *ep, dnet_rndv_recv_t *recv, void *at, size_t len)
{
    uint32_t slot = open_below(ep, slots(ep), at, len);
    if (slot)
        ep->aperture.recv[slot] = recv;
    return slot;
}

dnet_rndv_recv_t *dnet_aperture_close(dnet_ep_t *ep, uint32_t slot)
{
    dnet_rndv_recv_t *recv = slot < DNET_APERTURES_MAX ? ep->aperture.recv[slot] : NULL;
    if (recv) {
        dnet_drv_aperture_set(&ep->drv, slot, NULL, 0);
        ep->aperture.recv[slot] = NULL;
    }
    return recv;
}
