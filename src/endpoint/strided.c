/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory in the own SO-DIMM area, and messages whose bytes lie there in blocks
 * (docs/protocol.md 4.3).
 *
 * RTS says where the blocks are.  A receiver whose own blocks lie in SO-DIMM too has its NIC
 * fetch them by RVLS or RVLI and put them where they belong by Command Ex, and acknowledges.  Any
 * other receiver answers as usual, and the sender packs the blocks then.
 */
#include "endpoint/internal.h"
#include "endpoint/layout.h"

#include <stdlib.h>

enum { STRIDED_AUTO, STRIDED_NEVER }; /* DIMMNET_STRIDED */

/* Elements of every size the NIC's SO-DIMM access is made for are faster fetched than packed
 * (benchmarks/strided, 2026-11-21: 1.3 times with 4 bytes, 1.1 to 2.8 times with more). */
#define FETCH_LEAST 4u
/* Pieces in which SO-DIMM memory is committed. */
#define COMMIT_BYTES 65536u

/* ---- memory ---- */

void dnet_memory_start(dnet_ep_t *ep)
{
    pthread_mutex_init(&ep->memory.lock, NULL);
}

/* Behind ring and staging areas; what the prototype's staging needs more does not matter here. */
static bool has_heap(dnet_ep_t *ep)
{
    if (!ep->dev || !ep->dev->sodimm)
        return false;
    if (!ep->memory.heap.bytes) {
        uint64_t base = ep->rndv.staging_base +
                        (uint64_t) ep->rndv.chunk_bytes * ep->rndv.chunks * DNET_STAGING_AREAS;
        base = (base + COMMIT_BYTES - 1) & ~(uint64_t) (COMMIT_BYTES - 1);
        uint64_t end = ep->dev->geometry.sodimm_bytes;
        dnet_heap_init(&ep->memory.heap, base, base < end ? end - base : 0);
    }
    return true;
}

static dnet_status_t take_and_commit(dnet_ep_t *ep, size_t bytes, uint64_t *offset_p)
{
    dnet_heap_range_t part, hole;
    dnet_status_t status = dnet_heap_take(&ep->memory.heap, bytes, offset_p);
    if (status != DNET_OK)
        return status;
    status = ep->dev->ops->reserve(ep->dev, *offset_p, bytes ? bytes : 1);
    if (status != DNET_OK)
        dnet_heap_give(&ep->memory.heap, *offset_p, &part, &hole);
    return status;
}

dnet_status_t dnet_ep_alloc(dnet_ep_t *ep, size_t bytes, void **memory_p)
{
    uint64_t offset;
    pthread_mutex_lock(&ep->memory.lock);
    dnet_status_t status = has_heap(ep) ? take_and_commit(ep, bytes, &offset) : DNET_ERR_LIMIT;
    pthread_mutex_unlock(&ep->memory.lock);
    if (status == DNET_OK)
        *memory_p = ep->dev->sodimm + offset;
    return status;
}

/* Give back the pieces that held the part and hold nothing else now. */
static void uncommit(dnet_ep_t *ep, const dnet_heap_range_t *part, const dnet_heap_range_t *hole)
{
    uint64_t from = part->offset & ~(uint64_t) (COMMIT_BYTES - 1);
    uint64_t end = (part->offset + part->bytes + COMMIT_BYTES - 1) & ~(uint64_t) (COMMIT_BYTES - 1);
    if (from < hole->offset)
        from += COMMIT_BYTES;
    if (end > hole->offset + hole->bytes)
        end -= COMMIT_BYTES;
    if (from < end)
        ep->dev->ops->unreserve(ep->dev, from, end - from);
}

dnet_status_t dnet_ep_free(dnet_ep_t *ep, void *memory)
{
    uint32_t offset;
    dnet_heap_range_t part, hole;
    if (!dnet_ep_sodimm_offset(ep, memory, 1, &offset))
        return DNET_ERR_ARGUMENT;
    pthread_mutex_lock(&ep->memory.lock);
    dnet_status_t status = dnet_heap_give(&ep->memory.heap, offset, &part, &hole);
    if (status == DNET_OK)
        uncommit(ep, &part, &hole);
    pthread_mutex_unlock(&ep->memory.lock);
    return status;
}

bool dnet_ep_sodimm_offset(const dnet_ep_t *ep, const void *memory, size_t bytes,
                           uint32_t *offset_p)
{
    if (!ep->memory.heap.bytes)
        return false;
    uint64_t at = (uint64_t) ((uintptr_t) memory - (uintptr_t) ep->dev->sodimm);
    if (at < ep->memory.heap.base || at - ep->memory.heap.base >= ep->memory.heap.bytes ||
        bytes > ep->memory.heap.base + ep->memory.heap.bytes - at)
        return false;
    *offset_p = (uint32_t) at;
    return true;
}

bool dnet_memory_in_use(const dnet_ep_t *ep)
{
    return ep->memory.heap.taken_bytes > 0;
}

void dnet_memory_end(dnet_ep_t *ep)
{
    dnet_heap_fini(&ep->memory.heap);
    pthread_mutex_destroy(&ep->memory.lock);
}

/* ---- sender ---- */

bool dnet_ep_wants_layout(const dnet_ep_t *ep, size_t bytes, size_t block_bytes)
{
    return ep->memory.heap.taken_bytes && bytes > ep->eager_limit &&
           ep->options.strided != STRIDED_NEVER && block_bytes >= FETCH_LEAST;
}

/* The layout stands behind the head of the RTS. */
static dnet_status_t attach(dnet_op_t *op, const dnet_ep_layout_t *layout)
{
    op->owned = malloc(sizeof(*layout));
    if (!op->owned)
        return DNET_ERR_NO_MEMORY;
    memcpy(op->owned, layout, sizeof(*layout));
    op->header_len = sizeof(*layout);
    op->head.flags |= DNET_RTS_LAYOUT;
    return DNET_OK;
}

void dnet_strided_offer(dnet_ep_t *ep, dnet_op_t *op)
{
    uint32_t offset;
    if (!dnet_ep_wants_layout(ep, op->len, op->len) ||
        !dnet_ep_sodimm_offset(ep, op->buf, op->len, &offset))
        return;
    dnet_ep_layout_t layout = dnet_layout_contiguous(offset, (uint32_t) op->len);
    (void) attach(op, &layout); /* without it the message travels as any other */
}

dnet_status_t dnet_ep_send_layout(dnet_ep_t *ep, uint32_t peer, uint64_t envelope,
                                  const dnet_ep_layout_t *layout, dnet_ep_request_t *req)
{
    dnet_op_t *op;
    dnet_status_t status = dnet_op_new(ep, peer, &op);
    if (status != DNET_OK)
        return status;
    op->envelope = envelope | DNET_EP_HEADED;
    op->headed = true;
    op->len = (size_t) layout->block_bytes * layout->count;
    op->head =
        (dnet_ep_head_t){.type = DNET_HEAD_RTS, .rank = ep->rank, .op = op->id, .length = op->len};
    status = attach(op, layout);
    if (status != DNET_OK) {
        dnet_op_finish(ep, op, status);
        return status;
    }
    ep->counters.sent_messages++;
    ep->counters.sent_bytes += op->len;
    ep->counters.rendezvous++;
    status = dnet_op_submit(ep, op);
    if (status == DNET_IN_PROGRESS)
        op->req = req;
    return status;
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

bool dnet_strided_fetch(dnet_ep_t *ep, dnet_rndv_recv_t *l)
{
    dnet_drv_run_t runs[DNET_LAYOUT_RUNS];
    if (!l->req || ep->options.strided == STRIDED_NEVER)
        return false;
    dnet_ep_layout_t own = own_layout(ep, l->req);
    unsigned n = dnet_layout_pair(&l->layout, &own, l->len, FETCH_LEAST, runs);
    for (unsigned i = 0; i < n && l->status == DNET_OK; i++)
        l->status = dnet_drv_rvl_run(&ep->drv, ep->peers[l->rank].target, &runs[i]);
    if (l->status != DNET_OK)
        dnet_error("cannot fetch %zu bytes from rank %u: %s", l->len, l->rank,
                   dnet_status_text(l->status));
    if (n == 0)
        return false;
    l->req->in_layout = l->req->layout.kind != DNET_LAYOUT_NONE;
    ep->counters.strided++;
    return true;
}
