/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous, read: the receiver's adapter reads the message from memory that a sender on another
 * host has lent (docs/protocol.md 4.4); the sender's process takes no part.
 */
#include "endpoint/rndv.h"

static dnet_rndv_begun_t begin(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    dnet_drv_target_t target = ep->peers[r->rank].target;
    r->is_lent = false; /* it is tried once */
    if (!ep->dev->ops->read(ep->dev, dnet_drv_target_lid(target), dnet_drv_target_wid(target),
                            &r->memory, r->buf, r->len, r))
        return dnet_rndv_staged.begin(ep, r);
    r->next = ep->rndv.reading;
    ep->rndv.reading = r;
    ep->rndv.recvs_polled++;
    return DNET_RNDV_UNDER_WAY;
}

dnet_rndv_recv_t *dnet_rndv_read_end(dnet_ep_t *ep)
{
    dnet_status_t status;
    dnet_rndv_recv_t *r = ep->dev->ops->read_ended(ep->dev, &status);
    dnet_rndv_recv_t **link = &ep->rndv.reading;
    if (!r)
        return NULL;
    while (*link != r)
        link = &(*link)->next;
    *link = r->next;
    ep->rndv.recvs_polled--;
    r->status = status;
    if (status == DNET_OK)
        ep->page.counters.read++;
    return r;
}

const dnet_rndv_way_t dnet_rndv_read = {.begin = begin};
