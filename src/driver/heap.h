/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who has which part of a range of addresses: first fit, neighbouring holes become one.
 *
 * Pure bookkeeping, kept outside the range, so that memory that was not asked for is never touched.
 * Threads: one caller at a time.
 */
#ifndef DNET_HEAP_H
#define DNET_HEAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dimmnet/status.h"

/** Every part starts at a multiple of this, bytes. */
#define DNET_HEAP_ALIGN 64u

typedef struct dnet_heap_part dnet_heap_part_t;

typedef struct {
    dnet_heap_part_t *first; /* in order of address; NULL until something is taken */
    uint64_t base, bytes;
    _Atomic uint64_t taken_bytes; /* as rounded up; may be read at any time */
} dnet_heap_t;

/** A range of addresses, [offset, offset + bytes). */
typedef struct {
    uint64_t offset, bytes;
} dnet_heap_range_t;

/** @param base, bytes  the range; multiples of DNET_HEAP_ALIGN */
void dnet_heap_init(dnet_heap_t *heap, uint64_t base, uint64_t bytes);

/** Forget everything. */
void dnet_heap_fini(dnet_heap_t *heap);

/**
 * Take a part.
 *
 * @param bytes  rounded up to a multiple of DNET_HEAP_ALIGN; 0 takes one of them
 * @return DNET_OK; DNET_ERR_LIMIT (no hole is large enough); DNET_ERR_NO_MEMORY (for the
 * bookkeeping)
 */
dnet_status_t dnet_heap_take(dnet_heap_t *heap, uint64_t bytes, uint64_t *offset_p);

/**
 * Give a part back.
 *
 * @param part_p  the part
 * @param hole_p  the hole it is in now; holds nothing that is taken
 * @return DNET_OK; DNET_ERR_ARGUMENT (no part that is taken starts there)
 */
dnet_status_t dnet_heap_give(dnet_heap_t *heap, uint64_t offset, dnet_heap_range_t *part_p,
                             dnet_heap_range_t *hole_p);

#endif
