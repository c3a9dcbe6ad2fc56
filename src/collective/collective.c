/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/collective.h"

#include "collective/blocks.h"
#include "collective/exchange.h"
#include "collective/in_place.h"
#include "common/compiler.h"
#include "common/stream.h"

/* An allgather whose results are so many bytes at all ranks together leaves nothing in the caches
 * that anybody will find there. */
#define STREAM_LEAST_BYTES (64u << 20)

/* The i-th other rank, from 1 on, each time in the opposite direction: what was read or written
 * last is what the caches still have. */
static inline uint32_t other(const dnet_board_t *b, uint32_t i)
{
    return (b->rank + (b->backwards ? b->size - i : i)) % b->size;
}

static void copy_cached(void *to, const void *from, size_t bytes)
{
    dnet_take(to, from, bytes);
}

/* After a broadcast or scatter the next one is likely to have the same root, for which all wait
 * there.  Where ranks have no processor each, that one leaves the barrier first: the others then
 * find both when they get a processor, and none of them gets one for nothing. */
static bool root_leads(const dnet_board_t *b)
{
    return !b->spins && b->step != 0 && b->bcast.step == b->step;
}

void dnet_board_barrier(dnet_board_t *b)
{
    uint32_t leader = root_leads(b) ? b->bcast.root : DNET_BOARD_NO_RANK;
    dnet_step_begin(b, 0);
    if (b->rank != leader)
        dnet_step_contribute(b);
    if (leader != DNET_BOARD_NO_RANK && leader != b->rank)
        (void) dnet_step_contribution(b, leader, 0);
    else if (leader == b->rank || !dnet_step_meet(b))
        for (uint32_t r = 0; r < b->size; r++)
            if (r != b->rank)
                (void) dnet_step_contribution(b, r, 0);
    if (b->rank == leader)
        dnet_step_contribute(b);
    dnet_step_end_of_all(b);
}

static void bcast_in_place(dnet_board_t *b, void *data, size_t bytes, uint32_t root)
{
    if (b->rank == root) {
        dnet_in_place_offer(b, data, NULL);
        dnet_in_place_end(b);
    } else {
        b->step++;
        dnet_in_place_read(b, root, dnet_in_place_offered(b, root).from, data, bytes);
        dnet_step_end(b);
    }
}

static void bcast_by_slots(dnet_board_t *b, void *data, size_t bytes, uint32_t root)
{
    for (size_t at = 0; at < bytes; at += b->slot_bytes) {
        size_t n = dnet_least(bytes - at, b->slot_bytes);
        if (b->rank == root) {
            dnet_step_put(dnet_step_begin(b, n), (uint8_t *) data + at, n);
            dnet_step_contribute(b);
        } else {
            dnet_step_next(b, n);
            dnet_take((uint8_t *) data + at, dnet_step_contribution(b, root, n), n);
        }
        dnet_step_end(b);
    }
}

/* Where ranks have no processor each, the root of what fits into free slots waits for none. */
static bool is_read_from_root(const dnet_board_t *b, size_t bytes)
{
    if (dnet_in_place_is_slow_for_two(b))
        return false;
    if (!b->spins && b->size > 2 && bytes <= (size_t) b->slot_bytes * (b->slots - 1))
        return false;
    return b->size <= FEW_RANKS ? dnet_in_place_is_read_by_all(b, bytes)
                                : dnet_in_place_is_read(b, bytes);
}

void dnet_board_bcast(dnet_board_t *b, void *data, size_t bytes, uint32_t root)
{
    if (is_read_from_root(b, bytes))
        bcast_in_place(b, data, bytes, root);
    else
        bcast_by_slots(b, data, bytes, root);
    dnet_step_came_from(b, root);
}

static void allgather_in_place(dnet_board_t *b, const uint8_t *from, const dnet_blocks_at_t *to)
{
    dnet_in_place_offer(b, from, NULL);
    if (dnet_block_at(to, b->rank) != from && dnet_block_bytes(to, b->rank))
        memcpy(dnet_block_at(to, b->rank), from, dnet_block_bytes(to, b->rank));
    b->backwards = !b->backwards;
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = other(b, i);
        dnet_in_place_read(b, r, dnet_in_place_offered(b, r).from, dnet_block_at(to, r),
                           dnet_block_bytes(to, r));
    }
    dnet_in_place_end(b);
}

/* Ranks without a processor for each take what is in slots from the cache, each after the other (4
 * ranks, 64 KB to 4 MB in 0.4 to 0.9 of the time).  Two ranks read longer blocks only, where
 * reading is slow (64 KB by slots 0.76 of the time, 128 KB 0.85; where no cache is shared 1.13
 * and 1.2). */
static bool is_read_to_gather(const dnet_board_t *b, size_t bytes)
{
    if (dnet_in_place_is_slow_for_two(b))
        return dnet_in_place_is_read_by_two(b, bytes) ||
               dnet_in_place_is_read(b, b->owner.copies == DNET_KERNEL_SLOW ? bytes / 2 : bytes);
    return (b->spins || b->size == 2) && dnet_in_place_is_read_by_all(b, bytes);
}

/* Bytes [first, end) of the longest block, and of each other one what it has of them, for which
 * there are slots. */
static void allgather_group(dnet_board_t *b, const uint8_t *from, const dnet_blocks_at_t *to,
                            size_t first, size_t end, bool streams)
{
    void (*copy)(void *, const void *, size_t) = streams ? dnet_stream_copy : copy_cached;
    const uint64_t before = b->step;
    const size_t own_bytes = dnet_block_bytes(to, b->rank);
    for (size_t at = first; at < end; at += b->slot_bytes) {
        size_t most = dnet_least(end - at, b->slot_bytes);
        uint8_t *mine = dnet_step_begin(b, most);
        dnet_step_put(mine, from + at, dnet_blocks_piece(own_bytes, at, most));
        dnet_step_contribute(b);
    }
    (void) dnet_step_meet(b);
    for (uint32_t r = 0; r < b->size; r++) {
        uint8_t *block = dnet_block_at(to, r);
        const size_t bytes = dnet_block_bytes(to, r);
        uint64_t step = before;
        if (r == b->rank) {
            size_t n = dnet_blocks_piece(bytes, first, end - first);
            if (n && block != from)
                memcpy(block + first, from + first, n);
            continue;
        }
        for (size_t at = first; at < end; at += b->slot_bytes) {
            size_t most = dnet_least(end - at, b->slot_bytes);
            copy(block + at, dnet_step_contribution_to(b, r, ++step, most),
                 dnet_blocks_piece(bytes, at, most));
        }
    }
    dnet_step_end(b);
    b->all_done = before;
}

void dnet_board_allgatherv(dnet_board_t *b, const void *from, void *to,
                           const dnet_blocks_t *to_blocks, size_t element_bytes)
{
    const dnet_blocks_at_t blocks = {to, *to_blocks, element_bytes};
    size_t longest = dnet_blocks_longest(to_blocks, b->size) * element_bytes;
    if (is_read_to_gather(b, longest)) {
        allgather_in_place(b, from, &blocks);
        return;
    }
    bool streams = (uint64_t) dnet_blocks_before(to_blocks, b->size) * element_bytes * b->size >=
                   STREAM_LEAST_BYTES;
    /* Where ranks have no processor each, one does all it can before others have to. */
    size_t group = b->spins ? b->slot_bytes : (size_t) b->slot_bytes * b->slots;
    for (size_t at = 0; at < longest; at += group)
        allgather_group(b, from, &blocks, at, dnet_least(longest, at + group), streams);
}

void dnet_board_allgather(dnet_board_t *b, const void *from, void *to, size_t bytes)
{
    dnet_board_allgatherv(b, from, to, &(dnet_blocks_t){.each = bytes}, 1);
}

/* Bytes of a block that one step of an all-to-all moves. */
static size_t alltoall_piece(const dnet_board_t *b)
{
    return b->slot_bytes / b->size / DNET_BOARD_LINE * DNET_BOARD_LINE;
}

bool dnet_board_has_alltoall(const dnet_board_t *board)
{
    return alltoall_piece(board) > 0;
}

bool dnet_board_moves_of_two(const dnet_board_t *board, size_t bytes)
{
    return dnet_in_place_is_moved_of_two(board, bytes);
}

static void alltoall_in_place(dnet_board_t *b, const uint8_t *from, uint8_t *to, size_t bytes)
{
    dnet_in_place_offer(b, from, NULL);
    memcpy(to + b->rank * bytes, from + b->rank * bytes, bytes);
    b->backwards = !b->backwards;
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = other(b, i);
        dnet_in_place_read(b, r, dnet_in_place_offered(b, r).from + b->rank * bytes, to + r * bytes,
                           bytes);
    }
    dnet_in_place_end(b);
}

/* Few ranks without a processor for each exchange twice as much by slots, unless reading is slow
 * (4 ranks, 64 KB by slots 0.75 to 1 of the time, where no cache is shared 1.1 to 2); more than a
 * few half as much where it is (16 ranks, 32 KB 0.8, where no cache is shared 1.9), and on Zen 1
 * far less, whose shared cache of 8 MB does not hold what ranks and slots have (16 ranks, 8 KB by
 * slots 1.45 of the time, 16 KB 1.8). */
static bool is_read_to_exchange(const dnet_board_t *b, size_t bytes)
{
    if (dnet_in_place_is_moved_by_one(b) && b->size > FEW_RANKS && dnet_is_zen1())
        return bytes >= READ_LEAST_BYTES;
    if (dnet_in_place_is_read_by_two(b, bytes))
        return true;
    if (b->size > FEW_RANKS && b->owner.copies == DNET_KERNEL_SLOW)
        return dnet_in_place_is_read(b, bytes * 2);
    bool crowded = !b->spins && b->size > 2 && b->size <= FEW_RANKS;
    return dnet_in_place_is_read(b, crowded && b->owner.copies == DNET_KERNEL_FAST ? bytes / 2
                                                                                   : bytes);
}

/* `count` bytes of each block as steps of `piece`. */
static void alltoall_group(dnet_board_t *b, const uint8_t *from, uint8_t *to, size_t bytes,
                           size_t count, size_t piece)
{
    uint64_t before = b->step;
    for (size_t at = 0; at < count; at += piece) {
        size_t n = dnet_least(count - at, piece);
        uint8_t *mine = dnet_step_begin(b, n * b->size);
        for (uint32_t r = 0; r < b->size; r++)
            if (r != b->rank)
                dnet_step_put(mine + r * n, from + r * bytes + at, n);
        dnet_step_contribute(b);
    }
    if (from != to)
        memcpy(to + b->rank * bytes, from + b->rank * bytes, count);
    for (uint32_t i = 1; i < b->size; i++) {
        /* Each rank begins with another one. */
        uint32_t r = (b->rank + i) % b->size;
        uint64_t step = before;
        for (size_t at = 0; at < count; at += piece) {
            size_t n = dnet_least(count - at, piece);
            dnet_take(to + r * bytes + at,
                      dnet_step_contribution_to(b, r, ++step, n * b->size) + b->rank * n, n);
        }
    }
    dnet_step_end(b);
    b->all_done = before;
}

void dnet_board_alltoall(dnet_board_t *b, const void *from, void *to, size_t bytes)
{
    /* Blocks that are replaced by those that come cannot be read meanwhile. */
    if (is_read_to_exchange(b, bytes) && from != to) {
        if (b->spins || b->size == 2) {
            alltoall_in_place(b, from, to, bytes);
        } else {
            const dnet_exchange_t x = {{(void *) from, {.each = bytes}, 1},
                                       {to, {.each = bytes}, 1}};
            (void) dnet_exchange_by_pairs(b, &x); /* where lengths differ blocks are cut */
        }
        return;
    }
    /* Where ranks have no processor each, one does all it can before others have to. */
    size_t piece = alltoall_piece(b), group = b->spins ? piece : piece * b->slots;
    for (size_t at = 0; at < bytes; at += group)
        alltoall_group(b, (const uint8_t *) from + at, (uint8_t *) to + at, bytes,
                       dnet_least(bytes - at, group), piece);
}
