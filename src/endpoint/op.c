/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/op.h"

#include <stdlib.h>
#include <string.h>

#include "endpoint/aperture.h"

#define OP_INDEX_BITS 20u
#define OPS_AT_FIRST 256u

static dnet_status_t grow_ops(dnet_ops_t *ops)
{
    uint32_t cap = ops->cap ? ops->cap * 2 : OPS_AT_FIRST;
    if (cap > 1u << OP_INDEX_BITS) {
        dnet_error("more than %u sends under way at once", 1u << OP_INDEX_BITS);
        return DNET_ERR_LIMIT;
    }
    dnet_op_t **by_id = realloc(ops->by_id, cap * sizeof(*by_id));
    if (!by_id)
        return DNET_ERR_NO_MEMORY;
    ops->by_id = by_id;
    dnet_op_t *block = calloc(cap - ops->cap, sizeof(*block));
    if (!block)
        return DNET_ERR_NO_MEMORY;
    for (uint32_t i = ops->cap; i < cap; i++) {
        dnet_op_t *op = &block[i - ops->cap];
        op->id = i;
        op->next = ops->free;
        ops->free = op;
        by_id[i] = op;
    }
    ops->cap = cap;
    return DNET_OK;
}

dnet_status_t dnet_op_new(dnet_ep_t *ep, uint32_t peer, dnet_op_t **op_p)
{
    if (!ep->ops.free) {
        dnet_status_t status = grow_ops(&ep->ops);
        if (status != DNET_OK)
            return status;
    }
    dnet_op_t *op = ep->ops.free;
    ep->ops.free = op->next;
    ep->ops.active++;
    *op = (dnet_op_t){.id = op->id, .peer = peer, .state = DNET_OP_PACKETS};
    *op_p = op;
    return DNET_OK;
}

dnet_op_t *dnet_op_find(dnet_ep_t *ep, uint32_t id)
{
    uint32_t index = id & ((1u << OP_INDEX_BITS) - 1);
    if (index >= ep->ops.cap || ep->ops.by_id[index]->id != id ||
        ep->ops.by_id[index]->state == DNET_OP_FREE)
        return NULL;
    return ep->ops.by_id[index];
}

dnet_status_t dnet_op_attach(dnet_op_t *op, const void *behind, size_t len)
{
    op->header_len = (uint32_t) len;
    if (len == 0)
        return DNET_OK;
    op->owned = malloc(len);
    if (!op->owned) {
        op->header_len = 0;
        return DNET_ERR_NO_MEMORY;
    }
    memcpy(op->owned, behind, len);
    return DNET_OK;
}

void dnet_op_finish(dnet_ep_t *ep, dnet_op_t *op, dnet_status_t status)
{
    dnet_ep_request_t *req = op->req;
    if (op->fetch_slot)
        dnet_aperture_hide(ep, op->fetch_slot);
    op->fetch_slot = 0;
    if (op->loan)
        ep->dev->ops->take_back(ep->dev, op->loan);
    free(op->owned);
    op->owned = NULL;
    op->state = DNET_OP_FREE;
    op->id += 1u << OP_INDEX_BITS; /* what still comes for the old id finds nothing */
    op->next = ep->ops.free;
    ep->ops.free = op;
    ep->ops.active--;
    if (req)
        req->complete(req, status);
}

void dnet_op_acknowledged(dnet_ep_t *ep, dnet_op_t *op)
{
    op->fetch_due = false;
    bool fetched = op->state == DNET_OP_CTS_WAIT && op->head.type == DNET_HEAD_RTS &&
                   (op->fetch_slot || op->loan || (op->head.flags & DNET_RTS_LAYOUT));
    if (op->state == DNET_OP_ACK_WAIT || op->state == DNET_OP_FETCH_WAIT || fetched)
        dnet_op_finish(ep, op, DNET_OK);
}

void dnet_ops_peer_gone(dnet_ep_t *ep, uint32_t peer)
{
    for (uint32_t i = 0; i < ep->ops.cap; i++) {
        dnet_op_t *op = ep->ops.by_id[i];
        if (op->peer == peer && (op->state == DNET_OP_ACK_WAIT || op->state == DNET_OP_CTS_WAIT ||
                                 op->state == DNET_OP_FETCH_WAIT))
            dnet_op_finish(ep, op, DNET_ERR_PEER_DEAD);
    }
}

void dnet_ops_free(dnet_ep_t *ep)
{
    for (uint32_t i = 0; i < ep->ops.cap; i++)
        free(ep->ops.by_id[i]->owned);
    /* Each growth is one block, and starts at the old size. */
    for (uint32_t base = 0; base < ep->ops.cap; base = base ? base * 2 : OPS_AT_FIRST)
        free(ep->ops.by_id[base]);
    free(ep->ops.by_id);
}
