/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two layouts of one message, and the runs of equal elements that bring it from one to the other.
 * Pure logic.
 */
#ifndef DNET_LAYOUT_H
#define DNET_LAYOUT_H

#include "endpoint/endpoint.h"
#include "driver/driver.h"

/** Most runs of one message. */
#define DNET_LAYOUT_RUNS 32u

/** Is this where a message of `len` bytes can lie? */
bool dnet_layout_is_sound(const dnet_ep_layout_t *layout, size_t len);

/** One block. */
dnet_ep_layout_t dnet_layout_contiguous(uint32_t offset, uint32_t len);

static inline bool dnet_layout_is_contiguous(const dnet_ep_layout_t *layout)
{
    return layout->kind == DNET_LAYOUT_BLOCKS && layout->count == 1;
}

/**
 * The runs that move the first `len` bytes of a message.
 *
 * Blocks of two sizes meet each other in the same way again and again, after as many bytes as both
 * sizes divide; each piece of that period is a run.  Lists have no period: they pair with blocks of
 * their own size and with one whole block.
 *
 * @param least  bytes; with shorter elements than this there are no runs
 * @return how many; 0: these two cannot be paired, or lie in one block each
 */
unsigned dnet_layout_pair(const dnet_ep_layout_t *from, const dnet_ep_layout_t *to, size_t len,
                          uint32_t least, dnet_drv_run_t runs[DNET_LAYOUT_RUNS]);

/** Copy the first `len` bytes of a message out of the SO-DIMM area it lies in. */
void dnet_layout_pack(const uint8_t *sodimm, const dnet_ep_layout_t *layout, uint8_t *to,
                      size_t len);

#endif
