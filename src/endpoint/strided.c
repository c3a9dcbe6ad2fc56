/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/strided.h"

#include <stdlib.h>
#include <string.h>

#include "endpoint/job.h"
#include "endpoint/layout.h"

/* Elements of every size the NIC's SO-DIMM access is made for are faster fetched than packed
 * (benchmarks/strided, 2026-11-21: 1.3 times with 4 bytes, 1.1 to 2.8 times with more). */
#define FETCH_LEAST 4u

/* ---- sender ---- */

bool dnet_ep_wants_layout(const dnet_ep_t *ep, size_t bytes, size_t block_bytes)
{
    return ep->memory.heap.taken_bytes && bytes > ep->eager_limit &&
           ep->options.strided != DNET_STRIDED_NEVER && block_bytes >= FETCH_LEAST;
}

dnet_status_t dnet_strided_attach(dnet_op_t *op, const dnet_ep_layout_t *layout)
{
    dnet_status_t status = dnet_op_attach(op, layout, sizeof(*layout));
    if (status == DNET_OK)
        op->head.flags |= DNET_RTS_LAYOUT;
    return status;
}

void dnet_strided_announce(dnet_ep_t *ep, dnet_op_t *op)
{
    uint32_t offset;
    if (!dnet_ep_wants_layout(ep, op->len, op->len) ||
        !dnet_ep_sodimm_offset(ep, op->buf, op->len, &offset))
        return;
    dnet_ep_layout_t layout = dnet_layout_contiguous(offset, (uint32_t) op->len);
    (void) dnet_strided_attach(op, &layout); /* without it the message travels as any other */
}

dnet_status_t dnet_strided_pack(dnet_ep_t *ep, dnet_op_t *op)
{
    dnet_ep_layout_t layout;
    memcpy(&layout, op->owned, sizeof(layout));
    uint8_t *packed = malloc(op->len);
    if (!packed) {
        dnet_error("no memory to pack a message of %zu bytes for rank %u", op->len, op->peer);
        return DNET_ERR_NO_MEMORY;
    }
    dnet_layout_pack(ep->dev->sodimm, &layout, packed, op->len);
    free(op->owned);
    op->owned = packed;
    op->header_len = 0;
    op->buf = packed;
    return DNET_OK;
}

/* ---- receiver ---- */

dnet_ep_layout_t dnet_strided_read(const dnet_ep_head_t *head, const dnet_lh_entry_t *entry)
{
    dnet_ep_layout_t layout = {.kind = DNET_LAYOUT_NONE};
    if (!(head->flags & DNET_RTS_LAYOUT) ||
        DNET_GET(entry->where, LH_SIZE) < sizeof(*head) + sizeof(layout))
        return layout;
    memcpy(&layout, entry->data + sizeof(*head), sizeof(layout));
    if (!dnet_layout_is_sound(&layout, head->length))
        layout.kind = DNET_LAYOUT_NONE;
    return layout;
}

/* Where the receive may be filled without its buffer. */
static dnet_ep_layout_t own_layout(dnet_ep_t *ep, const dnet_ep_request_t *req)
{
    uint32_t offset;
    if (req->layout.kind != DNET_LAYOUT_NONE ||
        !dnet_ep_sodimm_offset(ep, req->buf, req->cap_bytes, &offset))
        return req->layout;
    return dnet_layout_contiguous(offset, (uint32_t) req->cap_bytes);
}

bool dnet_strided_fetch(dnet_ep_t *ep, dnet_rndv_recv_t *r)
{
    dnet_drv_run_t runs[DNET_LAYOUT_RUNS];
    if (!r->req || dnet_rndv_is_moved(r) || ep->options.strided == DNET_STRIDED_NEVER ||
        !dnet_job_is_near(ep, r->rank))
        return false;
    dnet_ep_layout_t own = own_layout(ep, r->req);
    unsigned n = dnet_layout_pair(&r->layout, &own, r->len, FETCH_LEAST, runs);
    for (unsigned i = 0; i < n && r->status == DNET_OK; i++)
        r->status = dnet_drv_rvl_run(&ep->drv, ep->peers[r->rank].target, &runs[i]);
    if (r->status != DNET_OK)
        dnet_error("cannot fetch %zu bytes from rank %u: %s", r->len, r->rank,
                   dnet_status_text(r->status));
    if (n == 0)
        return false;
    r->req->in_layout = r->req->layout.kind != DNET_LAYOUT_NONE;
    ep->page.counters.strided++;
    return true;
}
