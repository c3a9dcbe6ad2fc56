/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/memory.h"
#include "endpoint/share.h"

/* Values of options.windows. */
enum { WINDOWS_AUTO, WINDOWS_PACKETS, WINDOWS_KERNEL, WINDOWS_ASKED };

/* Pieces in which SO-DIMM memory is committed. */
#define COMMIT_BYTES 65536u

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
        uint64_t base = (ep->rndv.staging_end + COMMIT_BYTES - 1) & ~(uint64_t) (COMMIT_BYTES - 1);
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

bool dnet_ep_job_may_share(const dnet_ep_t *ep)
{
    return !ep->job.cluster && !ep->job.spans_hosts;
}

static bool shares(const dnet_ep_t *ep)
{
    const dnet_options_t *o = &ep->options;
    return dnet_ep_job_may_share(ep) && ep->dev->sodimm && !ep->capture && !o->faults &&
           !o->fault_packet;
}

bool dnet_ep_shares_boards(const dnet_ep_t *ep)
{
    return ep->options.collectives == 0 && shares(ep);
}

bool dnet_ep_shares_windows(const dnet_ep_t *ep)
{
    return ep->options.windows != WINDOWS_PACKETS && shares(ep);
}

bool dnet_ep_asks_owners(const dnet_ep_t *ep)
{
    if (ep->options.windows != WINDOWS_AUTO)
        return ep->options.windows == WINDOWS_ASKED;
    return !ep->oversubscribed && ep->eager_near.copies == DNET_KERNEL_SLOW;
}

void *dnet_ep_map(dnet_ep_t *ep, uint32_t peer, uint32_t offset, size_t bytes)
{
    dnet_drv_target_t target = ep->peers[peer].target;
    return ep->dev->ops->map(ep->dev, dnet_drv_target_lid(target), dnet_drv_target_wid(target),
                             offset, bytes);
}

void dnet_ep_unmap(dnet_ep_t *ep, void *memory, size_t bytes)
{
    ep->dev->ops->unmap(ep->dev, memory, bytes);
}

bool dnet_ep_can_read(dnet_ep_t *ep, uint32_t peer)
{
    dnet_drv_target_t target = ep->peers[peer].target;
    return ep->options.rendezvous != DNET_RENDEZVOUS_STAGED &&
           ep->dev->ops->can_copy(ep->dev, dnet_drv_target_lid(target),
                                  dnet_drv_target_wid(target));
}

dnet_status_t dnet_ep_copy(dnet_ep_t *ep, uint32_t peer, bool stores, dnet_ranges_t own,
                           dnet_ranges_t theirs)
{
    dnet_drv_target_t target = ep->peers[peer].target;
    return ep->dev->ops->copy(ep->dev, dnet_drv_target_lid(target), dnet_drv_target_wid(target),
                              stores, own, theirs);
}

static dnet_status_t copy(dnet_ep_t *ep, uint32_t peer, bool stores, const void *own,
                          const void *theirs, size_t bytes)
{
    struct iovec here = {(void *) (uintptr_t) own, bytes};
    struct iovec there = {(void *) (uintptr_t) theirs, bytes};
    return dnet_ep_copy(ep, peer, stores, (dnet_ranges_t){&here, 1}, (dnet_ranges_t){&there, 1});
}

dnet_status_t dnet_ep_read(dnet_ep_t *ep, uint32_t peer, const void *from, void *to, size_t bytes)
{
    return copy(ep, peer, false, to, from, bytes);
}

dnet_status_t dnet_ep_write(dnet_ep_t *ep, uint32_t peer, const void *from, void *to, size_t bytes)
{
    return copy(ep, peer, true, from, to, bytes);
}

void dnet_ep_wake(dnet_ep_t *ep, uint32_t peer)
{
    dnet_drv_target_t target = ep->peers[peer].target;
    ep->dev->ops->wake(ep->dev, dnet_drv_target_lid(target), dnet_drv_target_wid(target));
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
