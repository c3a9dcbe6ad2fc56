/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sending side of a rendezvous (docs/protocol.md 4): RTS has been sent (send.c), and CTS comes.
 */
#include "endpoint/rndv_send.h"

#include <stdlib.h>

#include "endpoint/aperture.h"
#include "endpoint/strided.h"

uint32_t dnet_rndv_show(dnet_ep_t *ep, dnet_op_t *op)
{
    uint32_t nowhere = dnet_rndv_shown_at(ep, op);
    if (nowhere || op->len == 0 || ep->rndv.no_fetch)
        return nowhere;
    op->fetch_slot = dnet_aperture_show(ep, op, op->buf, op->len);
    if (!op->fetch_slot)
        return 0;
    /* The receiver takes a piece without asking. */
    dnet_drv_cursor_set(&ep->drv, op->fetch_slot, 1);
    return dnet_drv_aperture_address(op->fetch_slot);
}

void dnet_rndv_lend(dnet_ep_t *ep, dnet_op_t *op)
{
    dnet_drv_target_t target = ep->peers[op->peer].target;
    dnet_remote_memory_t memory;
    if (op->len == 0 || !dnet_rndv_reads(ep, op->peer))
        return;
    op->loan = ep->dev->ops->lend(ep->dev, dnet_drv_target_lid(target), dnet_drv_target_wid(target),
                                  op->buf, op->len, &memory);
    if (op->loan && dnet_op_attach(op, &memory, sizeof(memory)) == DNET_OK)
        op->head.flags |= DNET_RTS_LENT; /* without, the message goes by chunks */
}

/* The bytes are not where one pointer says: pack them, or have room for a piece.  @return DNET_OK;
 * DNET_ERR_NO_MEMORY (logged) */
static dnet_status_t prepare(dnet_ep_t *ep, dnet_op_t *op, const dnet_ep_staging_t *staging)
{
    if (op->buf)
        return DNET_OK;
    if (!op->moved)
        return dnet_strided_pack(ep, op);
    uint32_t chunk = staging->chunk_bytes;
    op->owned = malloc(chunk > DNET_MOVED_PIECE ? chunk : DNET_MOVED_PIECE);
    if (op->owned)
        return DNET_OK;
    dnet_error("no memory to send a message of %zu bytes to rank %u", op->len, op->peer);
    return DNET_ERR_NO_MEMORY;
}

static const dnet_rndv_way_t *way_of(const dnet_op_t *op)
{
    return op->state == DNET_OP_STAGED   ? &dnet_rndv_staged
           : op->state == DNET_OP_SPLIT  ? &dnet_rndv_split
           : op->state == DNET_OP_PUSHED ? &dnet_rndv_pushed
                                         : &dnet_rndv_stored;
}

/* @return true: the send has no more turns */
static bool turn(dnet_ep_t *ep, dnet_op_t *op, bool *did_p)
{
    if (ep->stalled)
        return false;
    dnet_status_t status = way_of(op)->turn(ep, op, did_p);
    if (status == DNET_IN_PROGRESS)
        return false;
    *did_p = true;
    if (status == DNET_OK && op->fetch_due)
        op->state = DNET_OP_FETCH_WAIT;
    else
        dnet_op_finish(ep, op, status);
    return true;
}

/* Does the CTS belong to a send that waits for one, and can it be followed? */
static bool is_sound(const dnet_op_t *op, const dnet_ep_head_t *cts,
                     const dnet_ep_staging_t *staging)
{
    if (!op || op->state != DNET_OP_CTS_WAIT || op->peer != cts->rank || cts->length > op->len)
        return false;
    if ((cts->flags & (DNET_CTS_SPLIT | DNET_CTS_PUSHED)) && !op->fetch_slot)
        return false;
    if ((cts->flags & DNET_CTS_PUSHED) && !(op->head.flags & DNET_RTS_PUSHES))
        return false;
    return !(cts->flags & DNET_CTS_STAGED) ||
           (staging->chunks != 0 && staging->chunk_bytes != 0 && cts->id < DNET_DRV_WORDS);
}

void dnet_rndv_cleared(dnet_ep_t *ep, const dnet_ep_head_t *cts, const dnet_ep_staging_t *staging)
{
    dnet_op_t *op = dnet_op_find(ep, cts->op);
    DNET_TRACE(cleared, cts->rank, cts->op, cts->length);
    if (!is_sound(op, cts, staging)) {
        dnet_error("CTS of rank %u for a rendezvous that does not exist (operation 0x%x)",
                   cts->rank, cts->op);
        return;
    }
    op->fetch_due = cts->flags & (DNET_CTS_SPLIT | DNET_CTS_PUSHED);
    op->len = cts->length; /* a shorter receive takes less */
    if (op->len == 0) {
        dnet_op_finish(ep, op, DNET_OK);
        return;
    }
    dnet_status_t status = prepare(ep, op, staging);
    if (status != DNET_OK) {
        dnet_op_finish(ep, op, status);
        return;
    }
    op->remote_addr = cts->arg;
    op->head.id = cts->id;
    op->staging = *staging;
    op->word = UINT32_MAX;
    op->state = cts->flags & DNET_CTS_STAGED   ? DNET_OP_STAGED
                : cts->flags & DNET_CTS_SPLIT  ? DNET_OP_SPLIT
                : cts->flags & DNET_CTS_PUSHED ? DNET_OP_PUSHED
                                               : DNET_OP_STORED;
    bool did = false;
    if (op->state == DNET_OP_PUSHED)
        dnet_rndv_was_awaited(ep, cts->flags & DNET_CTS_AWAITED);
    dnet_rndv_pushed_begin_round(ep);
    if ((op->state != DNET_OP_PUSHED || !ep->rndv.sending) && turn(ep, op, &did))
        return;
    dnet_op_t **link = &ep->rndv.sending;
    while (*link)
        link = &(*link)->next;
    op->next = NULL;
    *link = op;
}

bool dnet_rndv_send_round(dnet_ep_t *ep)
{
    bool did = false;
    dnet_op_t **link = &ep->rndv.sending;
    dnet_rndv_pushed_begin_round(ep);
    while (*link) {
        dnet_op_t *op = *link, *next = op->next;
        if (turn(ep, op, &did))
            *link = next;
        else
            link = &op->next;
    }
    return did;
}

bool dnet_rndv_is_sending(const dnet_ep_t *ep, uint32_t peer)
{
    const dnet_op_t *op = ep->rndv.sending;
    while (op && op->peer != peer)
        op = op->next;
    return op;
}

bool dnet_rndv_send_waiting(const dnet_ep_t *ep)
{
    for (const dnet_op_t *op = ep->rndv.sending; op; op = op->next)
        if (way_of(op)->ready(ep, op))
            return true;
    return false;
}
