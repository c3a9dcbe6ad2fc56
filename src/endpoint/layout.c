/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/layout.h"

#include <string.h>

bool dnet_layout_is_sound(const dnet_ep_layout_t *layout, size_t len)
{
    return (layout->kind == DNET_LAYOUT_BLOCKS || layout->kind == DNET_LAYOUT_LIST) &&
           layout->block_bytes > 0 && (uint64_t) layout->block_bytes * layout->count == len;
}

dnet_ep_layout_t dnet_layout_contiguous(uint32_t offset, uint32_t len)
{
    return (dnet_ep_layout_t){DNET_LAYOUT_BLOCKS, offset, len, len, 1};
}

/* The NIC's SO-DIMM access is made for elements of 4 bytes and more (data sheet 5.4). */
static bool is_aligned(const dnet_ep_layout_t *layout)
{
    return (layout->offset | layout->block_bytes | layout->step) % 4 == 0;
}

/* A single block is as many blocks of the other side's size as wanted. */
static dnet_ep_layout_t as_blocks_of(const dnet_ep_layout_t *layout, const dnet_ep_layout_t *other)
{
    dnet_ep_layout_t l = *layout;
    if (dnet_layout_is_contiguous(layout))
        l.block_bytes = l.step = other->block_bytes;
    return l;
}

static uint64_t common_multiple(uint32_t a, uint32_t b)
{
    uint32_t x = a, y = b;
    while (y) {
        uint32_t rest = x % y;
        x = y;
        y = rest;
    }
    return (uint64_t) a / x * b;
}

static unsigned pair_list(const dnet_ep_layout_t *a, const dnet_ep_layout_t *b, size_t len,
                          dnet_drv_run_t *run)
{
    if (a->block_bytes != b->block_bytes || len % a->block_bytes)
        return 0;
    *run = (dnet_drv_run_t){
        .src = a->offset,
        .dst = b->offset,
        .src_step = a->step,
        .dst_step = b->step,
        .src_list = a->kind == DNET_LAYOUT_LIST,
        .dst_list = b->kind == DNET_LAYOUT_LIST,
        .bytes = a->block_bytes,
        .count = (uint32_t) (len / a->block_bytes),
    };
    return 1;
}

/* Where byte `at` of the message lies. */
static uint32_t place(const dnet_ep_layout_t *l, uint64_t at)
{
    return l->offset + (uint32_t) (at / l->block_bytes) * l->step +
           (uint32_t) (at % l->block_bytes);
}

static uint32_t to_end_of_block(const dnet_ep_layout_t *l, uint64_t at)
{
    return l->block_bytes - (uint32_t) (at % l->block_bytes);
}

static unsigned pair_blocks(const dnet_ep_layout_t *a, const dnet_ep_layout_t *b, size_t len,
                            dnet_drv_run_t *runs)
{
    uint64_t period = common_multiple(a->block_bytes, b->block_bytes);
    unsigned n = 0;
    for (uint64_t at = 0; at < period && at < len;) {
        uint32_t bytes = to_end_of_block(a, at);
        if (to_end_of_block(b, at) < bytes)
            bytes = to_end_of_block(b, at);
        if (bytes > len - at)
            bytes = (uint32_t) (len - at);
        if (n == DNET_LAYOUT_RUNS)
            return 0;
        runs[n++] = (dnet_drv_run_t){
            .src = place(a, at),
            .dst = place(b, at),
            .src_step = (uint32_t) (period / a->block_bytes) * a->step,
            .dst_step = (uint32_t) (period / b->block_bytes) * b->step,
            .bytes = bytes,
            .count = (uint32_t) ((len - at - bytes) / period) + 1,
        };
        at += bytes;
    }
    return n;
}

/* A message that ends inside a piece: that piece is shorter in the last period. */
static bool ends_with_a_piece(const dnet_drv_run_t *runs, unsigned n, size_t len)
{
    uint64_t moved = 0;
    for (unsigned i = 0; i < n; i++)
        moved += (uint64_t) runs[i].bytes * runs[i].count;
    return moved == len;
}

unsigned dnet_layout_pair(const dnet_ep_layout_t *from, const dnet_ep_layout_t *to, size_t len,
                          uint32_t least, dnet_drv_run_t runs[DNET_LAYOUT_RUNS])
{
    if (from->kind == DNET_LAYOUT_NONE || to->kind == DNET_LAYOUT_NONE || len == 0 ||
        (dnet_layout_is_contiguous(from) && dnet_layout_is_contiguous(to)))
        return 0;
    dnet_ep_layout_t a = as_blocks_of(from, to), b = as_blocks_of(to, from);
    if (!is_aligned(&a) || !is_aligned(&b))
        return 0;
    bool list = a.kind == DNET_LAYOUT_LIST || b.kind == DNET_LAYOUT_LIST;
    unsigned n = list ? pair_list(&a, &b, len, runs) : pair_blocks(&a, &b, len, runs);
    for (unsigned i = 0; i < n; i++)
        if (runs[i].bytes < least || runs[i].bytes % 4)
            return 0;
    return ends_with_a_piece(runs, n, len) ? n : 0;
}

void dnet_layout_pack(const uint8_t *sodimm, const dnet_ep_layout_t *layout, uint8_t *to,
                      size_t len)
{
    for (uint32_t i = 0; len; i++) {
        uint32_t at = i * layout->step;
        if (layout->kind == DNET_LAYOUT_LIST)
            memcpy(&at, sodimm + layout->step + 4 * (size_t) i, sizeof(at));
        size_t n = layout->block_bytes < len ? layout->block_bytes : len;
        memcpy(to, sodimm + (uint32_t) (layout->offset + at), n);
        to += n;
        len -= n;
    }
}
