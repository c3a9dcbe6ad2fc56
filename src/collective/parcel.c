/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/parcel.h"

/* Two ranks have one block for each other.  Else the table has where each rank's block begins, and
 * where the last one ends; a rank's own block is empty. */
static inline size_t table_bytes(const dnet_board_t *b)
{
    return b->size > 2 ? (b->size + 1) * sizeof(uint32_t) : 0;
}

size_t dnet_parcel_bytes(const dnet_board_t *b, const dnet_blocks_at_t *give)
{
    size_t bytes = table_bytes(b);
    for (uint32_t r = 0; r < b->size; r++)
        if (r != b->rank)
            bytes += dnet_block_bytes(give, r);
    return bytes;
}

void dnet_parcel_give(const dnet_board_t *b, const dnet_blocks_at_t *give, uint8_t *parcel)
{
    uint32_t at = (uint32_t) table_bytes(b);
    for (uint32_t r = 0; r < b->size; r++) {
        const size_t bytes = r == b->rank ? 0 : dnet_block_bytes(give, r);
        if (b->size > 2)
            memcpy(parcel + r * sizeof(at), &at, sizeof(at));
        if (bytes)
            dnet_step_put(parcel + at, dnet_block_at(give, r), bytes);
        at += (uint32_t) bytes;
    }
    if (b->size > 2)
        memcpy(parcel + b->size * sizeof(at), &at, sizeof(at));
}

size_t dnet_parcel_take(const dnet_board_t *b, const uint8_t *parcel, size_t parcel_bytes, void *to,
                        size_t bytes)
{
    uint32_t begins[2] = {0, (uint32_t) parcel_bytes};
    if (b->size > 2)
        memcpy(begins, parcel + b->rank * sizeof(begins[0]), sizeof(begins));
    const size_t length = begins[1] - begins[0];
    if (length && bytes)
        dnet_take(to, parcel + begins[0], dnet_least(length, bytes));
    return length;
}
