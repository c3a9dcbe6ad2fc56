/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/heap.h"

#include <stddef.h>
#include <stdlib.h>

/* Taken or a hole; the parts cover the range without gaps, and no two holes are neighbours. */
struct dnet_heap_part {
    dnet_heap_part_t *prev, *next;
    uint64_t offset, bytes;
    bool taken;
};

void dnet_heap_init(dnet_heap_t *heap, uint64_t base, uint64_t bytes)
{
    *heap = (dnet_heap_t){.base = base, .bytes = bytes};
}

void dnet_heap_fini(dnet_heap_t *heap)
{
    while (heap->first) {
        dnet_heap_part_t *part = heap->first;
        heap->first = part->next;
        free(part);
    }
    heap->taken_bytes = 0;
}

static dnet_heap_part_t *part_new(uint64_t offset, uint64_t bytes)
{
    dnet_heap_part_t *part = calloc(1, sizeof(*part));
    if (part) {
        part->offset = offset;
        part->bytes = bytes;
    }
    return part;
}

/* Cut a hole so that `bytes` of it remain, a hole with the rest behind it. */
static dnet_status_t cut(dnet_heap_part_t *hole, uint64_t bytes)
{
    if (hole->bytes == bytes)
        return DNET_OK;
    dnet_heap_part_t *rest = part_new(hole->offset + bytes, hole->bytes - bytes);
    if (!rest)
        return DNET_ERR_NO_MEMORY;
    rest->prev = hole;
    rest->next = hole->next;
    if (rest->next)
        rest->next->prev = rest;
    hole->next = rest;
    hole->bytes = bytes;
    return DNET_OK;
}

dnet_status_t dnet_heap_take(dnet_heap_t *heap, uint64_t bytes, uint64_t *offset_p)
{
    if (bytes > heap->bytes)
        return DNET_ERR_LIMIT;
    bytes =
        bytes ? (bytes + DNET_HEAP_ALIGN - 1) & ~(uint64_t) (DNET_HEAP_ALIGN - 1) : DNET_HEAP_ALIGN;
    if (!heap->first && heap->bytes && !(heap->first = part_new(heap->base, heap->bytes)))
        return DNET_ERR_NO_MEMORY;
    dnet_heap_part_t *part = heap->first;
    while (part && (part->taken || part->bytes < bytes))
        part = part->next;
    if (!part)
        return DNET_ERR_LIMIT;
    dnet_status_t status = cut(part, bytes);
    if (status != DNET_OK)
        return status;
    part->taken = true;
    heap->taken_bytes += bytes;
    *offset_p = part->offset;
    return DNET_OK;
}

/* Make `part` and the part behind it one. */
static void join(dnet_heap_part_t *part)
{
    dnet_heap_part_t *behind = part->next;
    part->bytes += behind->bytes;
    part->next = behind->next;
    if (part->next)
        part->next->prev = part;
    free(behind);
}

dnet_status_t dnet_heap_give(dnet_heap_t *heap, uint64_t offset, dnet_heap_range_t *part_p,
                             dnet_heap_range_t *hole_p)
{
    dnet_heap_part_t *part = heap->first;
    while (part && part->offset < offset)
        part = part->next;
    if (!part || part->offset != offset || !part->taken)
        return DNET_ERR_ARGUMENT;
    *part_p = (dnet_heap_range_t){part->offset, part->bytes};
    part->taken = false;
    heap->taken_bytes -= part->bytes;
    if (part->next && !part->next->taken)
        join(part);
    if (part->prev && !part->prev->taken) {
        part = part->prev;
        join(part);
    }
    *hole_p = (dnet_heap_range_t){part->offset, part->bytes};
    return DNET_OK;
}
