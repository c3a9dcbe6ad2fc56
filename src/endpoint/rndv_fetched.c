/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous, fetched: the receiver reads the message by RVL; the sender's process takes no part.
 */
#include "endpoint/channel.h"
#include "endpoint/rndv.h"

static dnet_rndv_begun_t begin(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    dnet_rndv_fetch(ep, r, 0, r->len);
    dnet_send_ack(ep, r->rank, r->op);
    return DNET_RNDV_DONE;
}

const dnet_rndv_way_t dnet_rndv_fetched = {.begin = begin};
