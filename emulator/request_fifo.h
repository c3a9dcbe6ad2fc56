/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Request FIFO (data sheet 5.6, OP-33): one producer at a time and one consumer at a time, which
 * need not hold the same thing.
 */
#ifndef DNET_EMU_REQUEST_FIFO_H
#define DNET_EMU_REQUEST_FIFO_H

#include "emulator/core_logic.h"

/* Requests in it. */
static inline uint32_t dnet_emu_fifo_fill(const dnet_emu_fifo_t *f)
{
    /* Acquire: pairs with dnet_emu_fifo_push(); the head belongs to the holder of the executor.
     */
    return atomic_load_explicit(&f->tail, memory_order_acquire) -
           atomic_load_explicit(&f->head, memory_order_relaxed);
}

/* Append a request.  False: the FIFO is full. */
static inline bool dnet_emu_fifo_push(dnet_emu_fifo_t *f, const dnet_emu_request_t *r)
{
    uint32_t tail = atomic_load_explicit(&f->tail, memory_order_relaxed);

    if (dnet_emu_fifo_fill(f) >= DNET_EMU_FIFO_DEPTH)
        return false;
    f->request[tail % DNET_EMU_FIFO_DEPTH] = *r;
    atomic_store_explicit(&f->tail, tail + 1, memory_order_release);
    return true;
}

/* Take the oldest request; there is one.  Pairs with dnet_emu_fifo_fill() of the process that
 * pushes. */
static inline dnet_emu_request_t dnet_emu_fifo_pop(dnet_emu_fifo_t *f)
{
    uint32_t head = atomic_load_explicit(&f->head, memory_order_relaxed);
    dnet_emu_request_t r = f->request[head % DNET_EMU_FIFO_DEPTH];

    atomic_store_explicit(&f->head, head + 1, memory_order_release);
    r.wid &= 1;
    return r;
}

/* Drop all that is in it; as one who takes, so that somebody may put a request in meanwhile. */
static inline void dnet_emu_fifo_clear(dnet_emu_fifo_t *f)
{
    atomic_store_explicit(&f->head, atomic_load_explicit(&f->tail, memory_order_acquire),
                          memory_order_release);
}

#endif
