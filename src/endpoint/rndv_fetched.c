/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rendezvous, fetched: the receiver reads the message by RVL; the sender's process takes no part.
 */
#include <stdlib.h>

#include "endpoint/channel.h"
#include "endpoint/rndv.h"

_Static_assert(DNET_MOVED_PIECE % DNET_APERTURE_UNIT == 0, "pieces have addresses");

/* Piece by piece, each to where the caller has it. */
static void fetch_moved(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    uint8_t *piece = malloc(DNET_MOVED_PIECE);
    if (!piece) {
        dnet_error("no memory to receive a message of %zu bytes from rank %u", r->len, r->rank);
        r->status = DNET_ERR_NO_MEMORY;
    }
    while (r->got < r->len && r->status == DNET_OK) {
        size_t left = r->len - r->got, n = left < DNET_MOVED_PIECE ? left : DNET_MOVED_PIECE;
        dnet_rndv_fetch(ep, r, r->got, piece, n);
        if (r->status == DNET_OK)
            r->req->move(r->req, piece, n);
        r->got += n;
    }
    free(piece);
    r->req->in_layout = true;
}

static dnet_rndv_begun_t begin(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    if (dnet_rndv_is_moved(r))
        fetch_moved(ep, r);
    else
        dnet_rndv_fetch(ep, r, 0, r->buf, r->len);
    dnet_rndv_kernel_ack(ep, r);
    return DNET_RNDV_DONE;
}

const dnet_rndv_way_t dnet_rndv_fetched = {.begin = begin};
