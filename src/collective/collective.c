/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/collective.h"

#include <string.h>

#include "common/move.h"
#include "common/stream.h"
#include "common/compiler.h"

#define LINE 64u
/* Processors fetch lines in pairs: what one rank polls and another fills lie in different ones. */
#define PAIR 128u
#define PAGE 4096u
/* Data of so many bytes lie in the line that holds their number, before it. */
#define WITH_NUMBER_BYTES 56u
/* Polls without and with a pause before the owner's function is called, and how often that is
 * called before this rank counts as dozing. */
#define POLLS 100u
#define PAUSES 20u
#define IDLE_BEFORE_DOZING 64u
/* Each rank combines all of a vector up to so many bytes from all ranks together; beyond, each
 * combines a part for all. */
#define COMBINE_ALL_BYTES 16384u
/* From so many bytes on data are read where they are, by a call to the kernel for each reader and
 * source.  Where a whole vector goes to few ranks, or each rank needs all of all others, two copies
 * through slots take less time for longer (8 KB to 2 ranks 0.8 us instead of 2.8; 16 KB from each
 * of 16 to all 260 instead of 970).  One rank that combines all reads for few ranks only. */
#define READ_LEAST_BYTES 8192u
#define READ_LATE_BYTES 16384u
/* The same, both, where the kernel is slow to copy (2 ranks, 16 KB by slots in 0.3 to 1.0 of the
 * time, 64 KB in 0.8 to 1.9), and where each of a few ranks combines all (256 KB in 0.6). */
#define READ_BYTES_SLOW 65536u
#define COMBINE_READ_BYTES_SLOW 524288u
#define FEW_RANKS 4u
/* Few ranks without a processor for each gather blocks up to so many bytes by slots: while one of
 * them waits for the kernel, none of the others does anything. */
#define CROWDED_BY_SLOTS_BYTES 32768u
/* An allgather whose results are so many bytes at all ranks together leaves nothing in the caches
 * that anybody will find there. */
#define STREAM_LEAST_BYTES (64u << 20)

typedef _Atomic uint64_t word_t;

/* The words of a cell beside its slots, a line each: the step its rank is done with; the step its
 * rank has combined its part of; does its rank doze?  A rank that has left is done with GONE. */
enum { DONE, COMBINED, DOZES, COUNTERS };
#define GONE UINT64_MAX
/* Before the cells, a line each: how many ranks doze, how many have come to meetings so far, and
 * the number of the last meeting to which all have. */
enum { DOZING, COMES, MET };
#define HEAD_BYTES PAGE

/* With more slots a rank that has given something goes on for longer before it has to wait until
 * others have had a processor to take it.  Of two, each needs the other's at once. */
#define SLOTS_LEAST 4u
#define SLOTS_MOST 16u
#define SLOTS_BYTES (DNET_BOARD_MAX_BYTES / 2)

static uint32_t slots_of(uint32_t size)
{
    uint32_t slots = size > 2 ? SLOTS_MOST : SLOTS_LEAST;
    while (slots > SLOTS_LEAST && slots * size * DNET_BOARD_SLOT_MAX_BYTES > SLOTS_BYTES)
        slots /= 2;
    return slots;
}

static uint32_t slot_bytes_of(uint32_t size)
{
    uint32_t bytes = DNET_BOARD_MAX_BYTES / size / slots_of(size);
    return bytes < DNET_BOARD_SLOT_MAX_BYTES ? bytes / PAIR * PAIR - 2 * PAIR
                                             : DNET_BOARD_SLOT_MAX_BYTES;
}

static size_t cell_bytes_of(uint32_t size)
{
    size_t bytes = COUNTERS * PAIR + slots_of(size) * (PAIR + slot_bytes_of(size));
    return (bytes + PAGE - 1) & ~(size_t) (PAGE - 1);
}

size_t dnet_board_bytes(uint32_t size)
{
    return HEAD_BYTES + size * cell_bytes_of(size);
}

void dnet_board_join(dnet_board_t *board, void *memory, uint32_t size, uint32_t rank, bool spins,
                     const dnet_board_owner_t *owner)
{
    *board = (dnet_board_t){
        .memory = memory,
        .cells = (uint8_t *) memory + HEAD_BYTES,
        .size = size,
        .rank = rank,
        .slots = slots_of(size),
        .slot_bytes = slot_bytes_of(size),
        .cell_bytes = cell_bytes_of(size),
        .spins = spins,
        .owner = *owner,
    };
}

/* ---- words and slots ---- */

static inline word_t *counter(const dnet_board_t *b, uint32_t rank, unsigned which)
{
    return (word_t *) (void *) (b->cells + rank * b->cell_bytes + which * PAIR);
}

static inline word_t *head(const dnet_board_t *b, unsigned which)
{
    return (word_t *) (void *) (b->memory + which * PAIR);
}

static inline uint8_t *slot(const dnet_board_t *b, uint32_t rank, uint64_t step)
{
    size_t at = COUNTERS * PAIR + (step & (b->slots - 1)) * (PAIR + b->slot_bytes);
    return b->cells + rank * b->cell_bytes + at;
}

/* The slot's number, which is the end of its first line. */
static inline word_t *number(uint8_t *s)
{
    return (word_t *) (void *) (s + WITH_NUMBER_BYTES);
}

/* Where the data of a slot begin when they are so many bytes. */
static inline uint8_t *data_of(uint8_t *s, size_t bytes)
{
    return s + (bytes <= WITH_NUMBER_BYTES ? 0 : PAIR);
}

static inline bool has_come(const word_t *word, uint64_t step)
{
    /* Acquire: pairs with set(); what the rank wrote before is visible after. */
    return atomic_load_explicit(word, memory_order_acquire) >= step;
}

/* Some rank dozes: those that wait for `rank` are woken.  Were others, too, a rank that dozes would
 * make all slower, so that more of them doze. */
static DNET_COLD void wake_waiting(const dnet_board_t *b, uint32_t rank)
{
    for (uint32_t r = 0; r < b->size; r++)
        if (atomic_load_explicit(counter(b, r, DOZES), memory_order_relaxed) == rank + UINT64_C(1))
            b->owner.wake(b->owner.arg, r);
}

/* @param rank  those that wait for it wait for this word */
static inline void set_for(const dnet_board_t *b, word_t *word, uint64_t step, uint32_t rank)
{
    /* Release: all that the rank has written, and read, comes before. */
    atomic_store_explicit(word, step, memory_order_release);
    /* May be too old by the time a store takes to be seen, for which who falls asleep looks on. */
    if (DNET_UNLIKELY(atomic_load_explicit(head(b, DOZING), memory_order_relaxed)))
        wake_waiting(b, rank);
}

static inline void set(const dnet_board_t *b, word_t *word, uint64_t step)
{
    set_for(b, word, step, b->rank);
}

bool dnet_board_waits(const dnet_board_t *b)
{
    const word_t *word = atomic_load_explicit(&b->wait.word, memory_order_acquire);
    return word && !has_come(word, atomic_load_explicit(&b->wait.step, memory_order_relaxed));
}

/* The first that has not come to the meeting in a step. */
static uint32_t missing(const dnet_board_t *b, uint64_t step)
{
    for (uint32_t r = 0; r < b->size; r++)
        if (!has_come(number(slot(b, r, step)), step))
            return r;
    return DNET_BOARD_NO_RANK;
}

uint32_t dnet_board_waits_for(const dnet_board_t *b)
{
    if (!dnet_board_waits(b))
        return DNET_BOARD_NO_RANK;
    uint32_t rank = atomic_load_explicit(&b->wait.rank, memory_order_relaxed);
    return rank != DNET_BOARD_NO_RANK
               ? rank
               : missing(b, atomic_load_explicit(&b->wait.meets_in, memory_order_relaxed));
}

static void begin_to_doze(const dnet_board_t *b, uint32_t rank)
{
    atomic_store_explicit(counter(b, b->rank, DOZES), rank + UINT64_C(1), memory_order_relaxed);
    atomic_fetch_add_explicit(head(b, DOZING), 1, memory_order_seq_cst);
}

static void end_dozing(const dnet_board_t *b)
{
    atomic_store_explicit(counter(b, b->rank, DOZES), 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(head(b, DOZING), 1, memory_order_seq_cst);
}

static bool poll_for_a_while(const word_t *word, uint64_t step, unsigned polls, bool pause)
{
    for (unsigned i = 0; i < polls; i++) {
        if (has_come(word, step))
            return true;
        if (pause)
            dnet_cpu_relax();
    }
    return has_come(word, step);
}

static DNET_COLD void wait_long(dnet_board_t *b, const word_t *word, uint64_t step, uint32_t rank)
{
    if (poll_for_a_while(word, step, b->spins ? POLLS : 0, false))
        return;
    atomic_store_explicit(&b->wait.step, step, memory_order_relaxed);
    atomic_store_explicit(&b->wait.rank, rank, memory_order_relaxed);
    atomic_store_explicit(&b->wait.meets_in, b->step, memory_order_relaxed);
    atomic_store_explicit(&b->wait.word, word, memory_order_release);
    unsigned idle = 0;
    while (!poll_for_a_while(word, step, b->spins ? PAUSES : 0, true)) {
        if (++idle == IDLE_BEFORE_DOZING)
            begin_to_doze(b, rank);
        b->owner.idle(b->owner.arg, idle == 1);
    }
    if (idle >= IDLE_BEFORE_DOZING)
        end_dozing(b);
    atomic_store_explicit(&b->wait.word, NULL, memory_order_relaxed);
}

/* Until a word of rank `rank` says that it has come to a step; NO_RANK: of all. */
static inline void wait_for(dnet_board_t *b, const word_t *word, uint64_t step, uint32_t rank)
{
    if (!has_come(word, step))
        wait_long(b, word, step, rank);
}

/* ---- steps ---- */

/* Which ranks are done with what is looked at only when it is not known from what they have
 * contributed since. */
static DNET_COLD void wait_for_slot(dnet_board_t *b, uint64_t least)
{
    uint64_t all = UINT64_MAX;
    for (uint32_t r = 0; r < b->size; r++) {
        if (r == b->rank)
            continue;
        wait_for(b, counter(b, r, DONE), least, r);
        uint64_t done = atomic_load_explicit(counter(b, r, DONE), memory_order_relaxed);
        all = done < all ? done : all;
    }
    b->all_done = all;
}

/* A step in which this rank contributes up to `bytes` bytes: where it puts them. */
static inline uint8_t *begin(dnet_board_t *b, size_t bytes)
{
    uint64_t step = ++b->step;
    if (DNET_UNLIKELY(step > b->all_done + b->slots))
        wait_for_slot(b, step - b->slots);
    return data_of(slot(b, b->rank, step), bytes);
}

/* Data into what begin() has returned: others read them next. */
static inline void put(uint8_t *at, const void *from, size_t bytes)
{
    if (DNET_LIKELY(bytes < DNET_MOVE_LEAST))
        memcpy(at, from, bytes);
    else
        dnet_move(at, from, (uint32_t) bytes);
}

static inline void contribute(const dnet_board_t *b)
{
    set(b, number(slot(b, b->rank, b->step)), b->step);
}

/* Where all ranks contribute, and have no processor each: until all have.  One that waited for each
 * other one, one after the other, would get a processor, or be woken, as often for nothing.
 * @return false: they have processors, and nothing was done */
static bool meet(dnet_board_t *b)
{
    if (b->spins || b->size == 2)
        return false;
    uint64_t all = ++b->meetings * b->size;
    /* Release: what this rank has written.  Acquire: for the last one, which says that all have. */
    if (atomic_fetch_add_explicit(head(b, COMES), 1, memory_order_acq_rel) + 1 == all)
        set_for(b, head(b, MET), b->meetings, DNET_BOARD_NO_RANK);
    else
        wait_for(b, head(b, MET), b->meetings, DNET_BOARD_NO_RANK);
    return true;
}

/* What rank r contributes to a step, when it has. */
static inline const uint8_t *contribution_to(dnet_board_t *b, uint32_t r, uint64_t step,
                                             size_t bytes)
{
    uint8_t *s = slot(b, r, step);
    wait_for(b, number(s), step, r);
    return data_of(s, bytes);
}

/* The same to this step. */
static inline const uint8_t *contribution(dnet_board_t *b, uint32_t r, size_t bytes)
{
    return contribution_to(b, r, b->step, bytes);
}

static inline void end(dnet_board_t *b)
{
    set(b, counter(b, b->rank, DONE), b->step);
}

/* The same when every rank has contributed: so all were done with the step before. */
static inline void end_of_all(dnet_board_t *b)
{
    end(b);
    b->all_done = b->step - 1;
}

void dnet_board_leave(dnet_board_t *board)
{
    set(board, counter(board, board->rank, DONE), GONE);
}

bool dnet_board_left_by_all(void *memory, uint32_t size)
{
    dnet_board_t b;
    dnet_board_join(&b, memory, size, 0, false, &(dnet_board_owner_t){0});
    for (uint32_t r = 0; r < size; r++)
        if (!has_come(counter(&b, r, DONE), GONE))
            return false;
    return true;
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* ---- data that stay where they are ---- */

static inline bool is_read(const dnet_board_t *b, size_t bytes)
{
    return b->owner.read && bytes >= (b->owner.reads_slowly ? READ_BYTES_SLOW : READ_LEAST_BYTES);
}

/* The same for a vector of which each rank reads all. */
static inline bool is_read_by_all(const dnet_board_t *b, size_t bytes)
{
    if (b->size > FEW_RANKS)
        return is_read(b, bytes) && bytes > b->slot_bytes;
    return b->owner.read && bytes >= (b->owner.reads_slowly ? READ_BYTES_SLOW : READ_LATE_BYTES);
}

/* The same for vectors to be combined. */
static inline bool is_read_to_combine(const dnet_board_t *b, size_t bytes)
{
    if (b->size > FEW_RANKS) /* parts, of which each rank combines one (16 ranks, 256 KB 0.92) */
        return is_read(b, bytes * (b->owner.reads_slowly ? 4 : 2) / b->size);
    return is_read_by_all(b, bytes) && (!b->owner.reads_slowly || bytes >= COMBINE_READ_BYTES_SLOW);
}

/* What a rank says of its data in a step. */
typedef struct {
    const uint8_t *from;
    const uint8_t *result;
} offer_t;

static void offer(dnet_board_t *b, const void *from, const void *result)
{
    const offer_t mine = {from, result};
    memcpy(begin(b, sizeof mine), &mine, sizeof mine);
    contribute(b);
}

static offer_t offered(dnet_board_t *b, uint32_t r)
{
    offer_t theirs;
    memcpy(&theirs, contribution(b, r, sizeof theirs), sizeof theirs);
    return theirs;
}

/* The i-th other rank, from 1 on, each time in the opposite direction: what was read or written
 * last is what the caches still have. */
static inline uint32_t other(const dnet_board_t *b, uint32_t i)
{
    return (b->rank + (b->backwards ? b->size - i : i)) % b->size;
}

static inline void read_of(const dnet_board_t *b, uint32_t r, const void *from, void *to,
                           size_t bytes)
{
    if (bytes)
        b->owner.read(b->owner.arg, r, from, to, bytes);
}

/* This rank has read what it needs, and goes on when no other needs its data any more. */
static void end_of_reading(dnet_board_t *b)
{
    end(b);
    for (uint32_t r = 0; r < b->size; r++)
        if (r != b->rank)
            wait_for(b, counter(b, r, DONE), b->step, r);
    b->all_done = b->step;
}

/* ---- collectives ---- */

static void copy_cached(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* After a broadcast the next one is likely to have the same root, for which all wait there.  Where
 * ranks have no processor each, that one leaves the barrier first: the others then find both when
 * they get a processor, and none of them gets one for nothing. */
static bool root_leads(const dnet_board_t *b)
{
    return !b->spins && b->step != 0 && b->bcast.step == b->step;
}

void dnet_board_barrier(dnet_board_t *b)
{
    uint32_t leader = root_leads(b) ? b->bcast.root : DNET_BOARD_NO_RANK;
    begin(b, 0);
    if (b->rank != leader)
        contribute(b);
    if (leader != DNET_BOARD_NO_RANK && leader != b->rank)
        (void) contribution(b, leader, 0);
    else if (leader == b->rank || !meet(b))
        for (uint32_t r = 0; r < b->size; r++)
            if (r != b->rank)
                (void) contribution(b, r, 0);
    if (b->rank == leader)
        contribute(b);
    end_of_all(b);
}

static void bcast_in_place(dnet_board_t *b, void *data, size_t bytes, uint32_t root)
{
    if (b->rank == root) {
        offer(b, data, NULL);
        end_of_reading(b);
    } else {
        b->step++;
        read_of(b, root, offered(b, root).from, data, bytes);
        end(b);
    }
}

static void bcast_by_slots(dnet_board_t *b, void *data, size_t bytes, uint32_t root)
{
    for (size_t at = 0; at < bytes; at += b->slot_bytes) {
        size_t n = least(bytes - at, b->slot_bytes);
        if (b->rank == root) {
            put(begin(b, n), (uint8_t *) data + at, n);
            contribute(b);
        } else {
            b->step++;
            memcpy((uint8_t *) data + at, contribution(b, root, n), n);
        }
        end(b);
    }
}

/* Where ranks have no processor each, the root of what fits into free slots waits for none. */
static bool is_read_from_root(const dnet_board_t *b, size_t bytes)
{
    if (!b->spins && b->size > 2 && bytes <= (size_t) b->slot_bytes * (b->slots - 1))
        return false;
    return b->size <= FEW_RANKS ? is_read_by_all(b, bytes) : is_read(b, bytes);
}

void dnet_board_bcast(dnet_board_t *b, void *data, size_t bytes, uint32_t root)
{
    if (is_read_from_root(b, bytes))
        bcast_in_place(b, data, bytes, root);
    else
        bcast_by_slots(b, data, bytes, root);
    b->bcast.step = b->step;
    b->bcast.root = root;
}

static void allgather_in_place(dnet_board_t *b, const void *from, uint8_t *to, size_t bytes)
{
    offer(b, from, NULL);
    if (to + b->rank * bytes != from)
        memcpy(to + b->rank * bytes, from, bytes);
    b->backwards = !b->backwards;
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = other(b, i);
        read_of(b, r, offered(b, r).from, to + r * bytes, bytes);
    }
    end_of_reading(b);
}

/* Many ranks without a processor for each take what is in slots from the cache, each after the
 * other. */
static bool is_read_to_gather(const dnet_board_t *b, size_t bytes)
{
    if (b->spins || b->size == 2)
        return is_read_by_all(b, bytes);
    return is_read(b, bytes) && b->size <= FEW_RANKS && bytes > CROWDED_BY_SLOTS_BYTES;
}

void dnet_board_allgather(dnet_board_t *b, const void *from, void *to, size_t bytes)
{
    if (is_read_to_gather(b, bytes)) {
        allgather_in_place(b, from, to, bytes);
        return;
    }
    bool streams = (uint64_t) bytes * b->size * b->size >= STREAM_LEAST_BYTES;
    void (*copy)(void *, const void *, size_t) = streams ? dnet_stream_copy : copy_cached;
    for (size_t at = 0; at < bytes; at += b->slot_bytes) {
        size_t n = least(bytes - at, b->slot_bytes);
        const uint8_t *own = (const uint8_t *) from + at;
        uint8_t *block = (uint8_t *) to + at;
        put(begin(b, n), own, n);
        contribute(b);
        (void) meet(b);
        for (uint32_t r = 0; r < b->size; r++)
            if (r != b->rank)
                copy(block + r * bytes, contribution(b, r, n), n);
            else if (block + r * bytes != own)
                memcpy(block + r * bytes, own, n);
        end_of_all(b);
    }
}

/* Bytes of a block that one step of an all-to-all moves. */
static size_t alltoall_piece(const dnet_board_t *b)
{
    return b->slot_bytes / b->size / LINE * LINE;
}

bool dnet_board_has_alltoall(const dnet_board_t *board)
{
    return alltoall_piece(board) > 0;
}

static void alltoall_in_place(dnet_board_t *b, const uint8_t *from, uint8_t *to, size_t bytes)
{
    offer(b, from, NULL);
    memcpy(to + b->rank * bytes, from + b->rank * bytes, bytes);
    b->backwards = !b->backwards;
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = other(b, i);
        read_of(b, r, offered(b, r).from + b->rank * bytes, to + r * bytes, bytes);
    }
    end_of_reading(b);
}

/* Few ranks without a processor for each exchange twice as much by slots, more than a few where
 * reading is slow half as much (16 ranks, 32 KB 1.2 of the time by slots). */
static bool is_read_to_exchange(const dnet_board_t *b, size_t bytes)
{
    if (b->size > FEW_RANKS && b->owner.reads_slowly)
        return is_read(b, bytes * 2);
    return !b->spins && b->size > 2 && b->size <= FEW_RANKS ? is_read(b, bytes / 2)
                                                            : is_read(b, bytes);
}

/* `count` bytes of each block as steps of `piece`. */
static void alltoall_group(dnet_board_t *b, const uint8_t *from, uint8_t *to, size_t bytes,
                           size_t count, size_t piece)
{
    uint64_t before = b->step;
    for (size_t at = 0; at < count; at += piece) {
        size_t n = least(count - at, piece);
        uint8_t *mine = begin(b, n * b->size);
        for (uint32_t r = 0; r < b->size; r++)
            put(mine + r * n, from + r * bytes + at, n);
        contribute(b);
    }
    for (uint32_t i = 0; i < b->size; i++) {
        /* Each rank begins with another one. */
        uint32_t r = (b->rank + i) % b->size;
        uint64_t step = before;
        for (size_t at = 0; at < count; at += piece) {
            size_t n = least(count - at, piece);
            memcpy(to + r * bytes + at, contribution_to(b, r, ++step, n * b->size) + b->rank * n,
                   n);
        }
    }
    end(b);
    b->all_done = before;
}

void dnet_board_alltoall(dnet_board_t *b, const void *from, void *to, size_t bytes)
{
    /* Blocks that are replaced by those that come cannot be read meanwhile. */
    if (is_read_to_exchange(b, bytes) && from != to) {
        alltoall_in_place(b, from, to, bytes);
        return;
    }
    /* Where ranks have no processor each, one does all it can before others have to. */
    size_t piece = alltoall_piece(b), group = b->spins ? piece : piece * (b->slots / 2);
    for (size_t at = 0; at < bytes; at += group)
        alltoall_group(b, (const uint8_t *) from + at, (uint8_t *) to + at, bytes,
                       least(bytes - at, group), piece);
}

/* ---- reductions ---- */

typedef struct {
    size_t element_bytes;
    dnet_reduce_fn fn;
    const void *how;
} reduction_t;

/* Combine what all ranks contribute to this step, in the order of their ranks. */
static void combine_all(dnet_board_t *b, const reduction_t *by, uint8_t *result, size_t count)
{
    size_t bytes = count * by->element_bytes;
    memcpy(result, contribution(b, 0, bytes), bytes);
    for (uint32_t r = 1; r < b->size; r++)
        by->fn(contribution(b, r, bytes), result, count, by->how);
}

/* First element of a rank's part of a step. */
static inline size_t part_of(const dnet_board_t *b, uint32_t rank, size_t count)
{
    return count * rank / b->size;
}

/* Combine the own part in the own slot, where no other rank looks at it before it is said to be
 * combined. */
static void combine_part(dnet_board_t *b, const reduction_t *by, uint8_t *mine, size_t count)
{
    size_t first = part_of(b, b->rank, count), end = part_of(b, b->rank + 1, count);
    size_t at = first * by->element_bytes, bytes = count * by->element_bytes;
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        by->fn(contribution(b, r, bytes) + at, mine + at, end - first, by->how);
    }
    set(b, counter(b, b->rank, COMBINED), b->step);
}

static void collect_parts(dnet_board_t *b, const reduction_t *by, uint8_t *result, size_t count)
{
    size_t bytes = count * by->element_bytes;
    for (uint32_t i = 0; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        size_t at = part_of(b, r, count) * by->element_bytes;
        size_t n = part_of(b, r + 1, count) * by->element_bytes - at;
        wait_for(b, counter(b, r, COMBINED), b->step, r);
        memcpy(result + at, data_of(slot(b, r, b->step), bytes) + at, n);
    }
}

/* Read [at, at + count) of the elements that rank r has, and combine them with those in result. */
static void combine_read(const dnet_board_t *b, const reduction_t *by, uint32_t r,
                         const uint8_t *from, uint8_t *result, size_t at, size_t count,
                         uint8_t *scratch)
{
    size_t room = b->slot_bytes / by->element_bytes;
    for (size_t last = at + count; at < last; at += room) {
        size_t n = least(last - at, room);
        read_of(b, r, from + at * by->element_bytes, scratch, n * by->element_bytes);
        by->fn(scratch, result + at * by->element_bytes, n, by->how);
    }
}

/* All elements of all ranks into result.  Those of the first other rank are read to where they are
 * combined, if that is not where the own ones are. */
static void combine_all_read(const dnet_board_t *b, const reduction_t *by, const offer_t *theirs,
                             const uint8_t *from, uint8_t *result, size_t count, uint8_t *scratch)
{
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        if (i > 1 || from == result) {
            combine_read(b, by, r, theirs[r].from, result, 0, count, scratch);
        } else {
            read_of(b, r, theirs[r].from, result, count * by->element_bytes);
            by->fn(from, result, count, by->how);
        }
    }
}

/* Of two ranks each combines all, in the order of the ranks, so that both have the same bits. */
static void allreduce_of_two(dnet_board_t *b, const reduction_t *by, const offer_t *theirs,
                             const uint8_t *from, uint8_t *result, size_t count)
{
    uint8_t *scratch = begin(b, b->slot_bytes); /* no contribution to this step follows */
    if (b->rank == 0) {
        combine_all_read(b, by, theirs, from, result, count, scratch);
    } else {
        memcpy(result, from, count * by->element_bytes);
        combine_read(b, by, 0, theirs[0].from, result, 0, count, scratch);
    }
    end_of_reading(b);
}

/* Each rank combines its part from all ranks' memory, says so in a second step, whose slot it reads
 * into, and then reads the others' parts of the result.  Of two ranks each combines all, unless it
 * would overwrite what the other one reads. */
static void allreduce_in_place(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                               uint8_t *result, size_t count)
{
    size_t first = part_of(b, b->rank, count), n = part_of(b, b->rank + 1, count) - first;
    offer_t theirs[DNET_BOARD_MAX_RANKS];
    offer(b, from, result);
    bool apart = true;
    for (uint32_t r = 0; r < b->size; r++) {
        theirs[r] = offered(b, r);
        apart &= theirs[r].from != theirs[r].result;
    }
    if (apart && b->size == 2) {
        allreduce_of_two(b, by, theirs, from, result, count);
        return;
    }
    end_of_all(b);
    uint8_t *scratch = begin(b, b->slot_bytes);
    if (from != result)
        memcpy(result + first * by->element_bytes, from + first * by->element_bytes,
               n * by->element_bytes);
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        combine_read(b, by, r, theirs[r].from, result, first, n, scratch);
    }
    contribute(b);
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        size_t at = part_of(b, r, count) * by->element_bytes;
        (void) contribution(b, r, b->slot_bytes);
        read_of(b, r, theirs[r].result + at, result + at,
                part_of(b, r + 1, count) * by->element_bytes - at);
    }
    end_of_reading(b);
}

/* The root combines what it reads; the slot of the second step, to which it contributes nothing, is
 * what it reads into.  The others leave when it has read all. */
static void reduce_in_place(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                            uint8_t *result, size_t count, uint32_t root)
{
    offer(b, from, NULL);
    if (b->rank != root) {
        b->step++;
        end(b);
        wait_for(b, counter(b, root, COMBINED), b->step, root);
        return;
    }
    offer_t theirs[FEW_RANKS];
    for (uint32_t r = 0; r < b->size; r++)
        theirs[r] = offered(b, r);
    uint8_t *scratch = begin(b, b->slot_bytes);
    if (b->size == 2 && from != result) {
        read_of(b, 1 - root, theirs[1 - root].from, result, count * by->element_bytes);
        set(b, counter(b, b->rank, COMBINED), b->step);
        by->fn(from, result, count, by->how);
    } else {
        combine_all_read(b, by, theirs, from, result, count, scratch);
        set(b, counter(b, b->rank, COMBINED), b->step);
    }
    end(b);
}

static bool in_parts(const dnet_board_t *b, size_t bytes)
{
    return bytes * b->size > COMBINE_ALL_BYTES;
}

/* Parts of the vectors, one slot after the other; the result is for rank `root`, or ALL. */
#define ALL UINT32_MAX
static void reduce_by_slots(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                            uint8_t *result, size_t count, uint32_t root)
{
    size_t room = b->slot_bytes / by->element_bytes;
    for (size_t at = 0; at < count; at += room) {
        size_t n = least(count - at, room), bytes = n * by->element_bytes;
        uint8_t *mine = begin(b, bytes);
        put(mine, from + at * by->element_bytes, bytes);
        contribute(b);
        if (in_parts(b, bytes))
            combine_part(b, by, mine, n);
        if (root != ALL && root != b->rank) {
            end(b);
            continue;
        }
        if (in_parts(b, bytes))
            collect_parts(b, by, result + at * by->element_bytes, n);
        else
            combine_all(b, by, result + at * by->element_bytes, n);
        end_of_all(b);
    }
}

/* ---- a reduction that only its root waits for ---- */

/* The ranks are the leaves of a tree.  Of two halves of it, whoever comes second combines both and
 * goes on upwards; whoever comes first leaves.  So the order is always the same, ranks wait for
 * nobody, and all of them work.  The word of a node lies in the slot of the first rank of its
 * second half, behind the first line, and says who came: the step and the rank in whose slot the
 * value is. */
#define NODE_RANKS DNET_BOARD_MAX_RANKS

static inline word_t *node(const dnet_board_t *b, uint32_t second_half, uint64_t step)
{
    return (word_t *) (void *) (slot(b, second_half, step) + LINE);
}

static void climb(dnet_board_t *b, const reduction_t *by, const uint8_t *from, size_t count)
{
    size_t bytes = count * by->element_bytes;
    uint8_t *own = begin(b, bytes), *value = NULL; /* NULL: at `from` */
    uint32_t at = b->rank;
    const uint64_t come = b->step * NODE_RANKS;
    for (uint32_t half = 1; half < b->size; half *= 2) {
        uint32_t second = (b->rank & ~(2 * half - 1)) + half;
        if (second >= b->size)
            continue;
        /* Acquire: pairs with the exchange of who came first. */
        word_t *word = node(b, second, b->step);
        uint64_t first = atomic_load_explicit(word, memory_order_acquire);
        if (first >= come) {
            at = (uint32_t) (first - come);
            uint8_t *theirs = data_of(slot(b, at, b->step), bytes);
            by->fn(value ? value : from, theirs, count, by->how);
            value = theirs;
            continue;
        }
        if (!value)
            value = memcpy(own, from, bytes);
        /* Release: with the value.  Acquire: the other half may have come since. */
        first = atomic_exchange_explicit(word, come + at, memory_order_acq_rel);
        if (first < come)
            return;
        by->fn(data_of(slot(b, (uint32_t) (first - come), b->step), bytes), value, count, by->how);
    }
}

/* The word of the uppermost node says where the value is when all have come. */
static const uint8_t *top(const dnet_board_t *b, uint64_t step, size_t bytes)
{
    uint32_t half = 1;
    while (half * 2 < b->size)
        half *= 2;
    uint64_t word = atomic_load_explicit(node(b, half, step), memory_order_acquire);
    return data_of(slot(b, (uint32_t) (word % NODE_RANKS), step), bytes);
}

/* Elements [at, at + count) as steps of up to `room`: the root collects them when all are done. */
static void reduce_group(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                         uint8_t *result, size_t count, size_t room, uint32_t root)
{
    uint64_t before = b->step;
    for (size_t at = 0; at < count; at += room) {
        climb(b, by, from + at * by->element_bytes, least(count - at, room));
        if (b->rank != root)
            end(b);
    }
    if (b->rank != root)
        return;
    for (uint32_t r = 0; r < b->size; r++)
        if (r != root)
            wait_for(b, counter(b, r, DONE), b->step, r);
    for (size_t at = 0; at < count; at += room) {
        size_t bytes = least(count - at, room) * by->element_bytes;
        memcpy(result + at * by->element_bytes, top(b, ++before, bytes), bytes);
    }
    b->all_done = b->step;
    end(b);
}

/* As much at once as there are slots; of more, half as much, so that the others give while the root
 * collects. */
static void reduce_by_tree(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                           uint8_t *result, size_t count, uint32_t root)
{
    size_t room = b->slot_bytes / by->element_bytes;
    size_t group = room * (count <= room * b->slots ? b->slots : b->slots / 2);
    for (size_t at = 0; at < count; at += group)
        reduce_group(b, by, from + at * by->element_bytes,
                     b->rank == root ? result + at * by->element_bytes : NULL,
                     least(count - at, group), room, root);
}

void dnet_board_allreduce(dnet_board_t *b, const void *from, void *result, size_t count,
                          size_t element_bytes, dnet_reduce_fn fn, const void *how)
{
    reduction_t by = {element_bytes, fn, how};
    if (is_read_to_combine(b, count * element_bytes))
        allreduce_in_place(b, &by, from, result, count);
    else
        reduce_by_slots(b, &by, from, result, count, ALL);
}

void dnet_board_reduce(dnet_board_t *b, const void *from, void *result, size_t count,
                       size_t element_bytes, dnet_reduce_fn fn, const void *how, uint32_t root)
{
    reduction_t by = {element_bytes, fn, how};
    size_t bytes = count * element_bytes;
    if (!b->spins && b->size > 2 && in_parts(b, bytes))
        reduce_by_tree(b, &by, from, result, count, root);
    else if (is_read(b, bytes) && b->size <= FEW_RANKS)
        reduce_in_place(b, &by, from, result, count, root);
    else
        reduce_by_slots(b, &by, from, result, count, root);
}
