/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/nonblocking_slots.h"

DNET_COLD void dnet_nonblocking_wake_waiting(const dnet_board_t *b)
{
    for (uint32_t r = 0; r < b->size; r++) {
        uint64_t rank =
            atomic_load_explicit(dnet_nonblocking_counter(b, r, DOZES_FOR), memory_order_relaxed);
        if (r != b->rank && (rank == b->rank + UINT64_C(1) || rank == DOZES_FOR_ANY))
            b->owner.wake(b->owner.arg, r);
    }
}
