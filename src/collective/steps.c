/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/steps.h"

#define PAGE 4096u
/* Polls without and with a pause before the owner's function is called, and how often that is
 * called before this rank counts as dozing. */
#define POLLS 100u
#define PAUSES 20u
#define IDLE_BEFORE_DOZING 64u
/* A rank that has left is done with this step. */
#define GONE UINT64_MAX

/* The slots of so many ranks are few enough to have their first pages at once, of two all. */
#define TOUCHED_RANKS 4u

/* Short data of nonblocking collectives lie together up to so many. */
#define SHORT_NONBLOCKING_RANKS 64u

/* With more slots a rank that has given something goes on for longer before it has to wait until
 * others have had a processor to take it.  Of two, each needs the other's at once. */
#define SLOTS_LEAST 4u

static uint32_t slots_of(uint32_t size)
{
    uint32_t slots = size > 2 ? DNET_BOARD_MAX_SLOTS : SLOTS_LEAST;
    while (slots > SLOTS_LEAST && slots * size * DNET_BOARD_SLOT_MAX_BYTES > DNET_BOARD_MAX_BYTES)
        slots /= 2;
    return slots;
}

static size_t in_pages(size_t bytes)
{
    return (bytes + PAGE - 1) & ~(size_t) (PAGE - 1);
}

static size_t words_bytes_of(uint32_t size)
{
    return (size_t) size * (COUNTERS + slots_of(size)) * DNET_BOARD_PAIR;
}

static size_t short_bytes_of(uint32_t size)
{
    return (size_t) size * slots_of(size) * SHORT_BYTES;
}

static size_t nonblocking_words_bytes_of(uint32_t size)
{
    return (1 + (size_t) (DNET_NONBLOCKING_COUNTERS + DNET_NONBLOCKING_SLOTS) * size) *
           DNET_BOARD_PAIR;
}

static size_t nonblocking_short_bytes_of(uint32_t size)
{
    return size > SHORT_NONBLOCKING_RANKS ? 0
                                          : (size_t) size * DNET_NONBLOCKING_SLOTS * SHORT_BYTES;
}

size_t dnet_board_front_bytes(uint32_t size)
{
    return in_pages(HEADS * DNET_BOARD_PAIR + words_bytes_of(size) + short_bytes_of(size) +
                    nonblocking_words_bytes_of(size) + nonblocking_short_bytes_of(size));
}

static uint32_t slot_bytes_of(uint32_t size)
{
    uint32_t bytes = DNET_BOARD_MAX_BYTES / size / slots_of(size);
    return bytes < DNET_BOARD_SLOT_MAX_BYTES
               ? bytes / DNET_BOARD_PAIR * DNET_BOARD_PAIR - 2 * DNET_BOARD_PAIR - SHORT_BYTES
               : DNET_BOARD_SLOT_MAX_BYTES;
}

static size_t rank_bytes_of(uint32_t size)
{
    return (size_t) slots_of(size) * slot_bytes_of(size);
}

static uint32_t nonblocking_slot_bytes_of(uint32_t size)
{
    uint32_t bytes = DNET_NONBLOCKING_MAX_BYTES / DNET_NONBLOCKING_SLOTS / size;
    if (size == 2)
        return DNET_NONBLOCKING_SLOT_OF_TWO_BYTES;
    return bytes < DNET_NONBLOCKING_SLOT_MAX_BYTES ? bytes & -DNET_BOARD_PAIR
                                                   : DNET_NONBLOCKING_SLOT_MAX_BYTES;
}

static size_t nonblocking_bytes_of(uint32_t size)
{
    return (size_t) size * DNET_NONBLOCKING_SLOTS * nonblocking_slot_bytes_of(size);
}

size_t dnet_board_bytes(uint32_t size)
{
    return in_pages(dnet_board_front_bytes(size) + size * rank_bytes_of(size) +
                    nonblocking_bytes_of(size));
}

static void look_at(dnet_board_t *board, void *memory, uint32_t size, uint32_t rank)
{
    uint8_t *words = (uint8_t *) memory + HEADS * DNET_BOARD_PAIR;
    uint8_t *short_data = words + words_bytes_of(size);
    uint8_t *nonblocking = short_data + short_bytes_of(size);
    uint8_t *data = (uint8_t *) memory + dnet_board_front_bytes(size);
    *board = (dnet_board_t){
        .memory = memory,
        .words = words,
        .short_data = short_data,
        .data = data,
        .size = size,
        .rank = rank,
        .slots = slots_of(size),
        .slot_bytes = slot_bytes_of(size),
        .near_bytes = slot_bytes_of(size),
        .rank_bytes = rank_bytes_of(size),
        .nonblocking = {.words = nonblocking,
                        .short_data = nonblocking + nonblocking_words_bytes_of(size),
                        .short_bytes = size > SHORT_NONBLOCKING_RANKS ? 0 : SHORT_BYTES,
                        .data = data + size * rank_bytes_of(size),
                        .slot_bytes = nonblocking_slot_bytes_of(size),
                        .waits_for = DNET_BOARD_NO_RANK},
    };
}

void dnet_board_join(dnet_board_t *board, void *memory, uint32_t size, uint32_t rank, bool spins,
                     const dnet_board_owner_t *owner)
{
    look_at(board, memory, size, rank);
    board->spins = spins;
    board->owner = *owner;
}

/* Others may write there already: what is read is not used, so it need not be whole. */
__attribute__((no_sanitize_thread)) static void touch(const void *memory, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        (void) *((const volatile uint8_t *) memory + at);
}

void dnet_board_touch(const dnet_board_t *b)
{
    touch(b->memory, dnet_board_front_bytes(b->size));
    for (uint32_t r = 0; b->size <= TOUCHED_RANKS && r < b->size; r++) {
        for (uint64_t step = 0; step < b->slots; step++)
            touch(dnet_board_slot_data(b, r, step), b->size == 2 ? b->slot_bytes : PAGE);
        for (size_t i = 0; i < DNET_NONBLOCKING_SLOTS; i++)
            touch(b->nonblocking.data +
                      (r * DNET_NONBLOCKING_SLOTS + i) * b->nonblocking.slot_bytes,
                  b->size == 2 ? b->nonblocking.slot_bytes : PAGE);
    }
}

/* What a board may still have. */
static uint32_t far_bytes_of(uint32_t size)
{
    return (uint32_t) (DNET_BOARD_MAX_BYTES - dnet_board_bytes(size)) / size & -PAGE;
}

size_t dnet_board_far_bytes(const dnet_board_t *b)
{
    return (size_t) b->size * far_bytes_of(b->size);
}

void dnet_board_add_far(dnet_board_t *b, void *memory)
{
    b->far.memory = memory;
    b->far.bytes = far_bytes_of(b->size);
    b->near_bytes = dnet_board_near_bytes();
    touch(memory, dnet_board_far_bytes(b));
}

void dnet_board_leave(dnet_board_t *board)
{
    dnet_word_set(board, dnet_board_counter(board, board->rank, DONE), GONE);
}

bool dnet_board_left_by_all(void *memory, uint32_t size)
{
    dnet_board_t b;
    look_at(&b, memory, size, 0);
    for (uint32_t r = 0; r < size; r++)
        if (!dnet_word_has_come(dnet_board_counter(&b, r, DONE), GONE))
            return false;
    return true;
}

/* ---- waiting ---- */

DNET_COLD void dnet_word_wake_waiting(const dnet_board_t *b, uint32_t rank)
{
    for (uint32_t r = 0; r < b->size; r++)
        if (atomic_load_explicit(dnet_board_counter(b, r, DOZES), memory_order_relaxed) ==
            rank + UINT64_C(1))
            b->owner.wake(b->owner.arg, r);
}

bool dnet_board_waits(const dnet_board_t *b)
{
    const dnet_word_t *word = atomic_load_explicit(&b->wait.word, memory_order_acquire);
    return word &&
           !dnet_word_has_come(word, atomic_load_explicit(&b->wait.step, memory_order_relaxed));
}

/* The first that has not come to the meeting in a step. */
static uint32_t missing(const dnet_board_t *b, uint64_t step)
{
    for (uint32_t r = 0; r < b->size; r++)
        if (!dnet_word_has_come(dnet_slot_number(dnet_board_slot(b, r, step)), step))
            return r;
    return DNET_BOARD_NO_RANK;
}

uint32_t dnet_board_waits_for(const dnet_board_t *b)
{
    if (!dnet_board_waits(b))
        return atomic_load_explicit(&b->nonblocking.waits_for, memory_order_relaxed);
    uint32_t rank = atomic_load_explicit(&b->wait.rank, memory_order_relaxed);
    return rank != DNET_BOARD_NO_RANK
               ? rank
               : missing(b, atomic_load_explicit(&b->wait.meets_in, memory_order_relaxed));
}

static void begin_to_doze(const dnet_board_t *b, uint32_t rank)
{
    atomic_store_explicit(dnet_board_counter(b, b->rank, DOZES), rank + UINT64_C(1),
                          memory_order_relaxed);
    atomic_fetch_add_explicit(dnet_board_head(b, DOZING), 1, memory_order_seq_cst);
}

static void end_dozing(const dnet_board_t *b)
{
    atomic_store_explicit(dnet_board_counter(b, b->rank, DOZES), 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(dnet_board_head(b, DOZING), 1, memory_order_seq_cst);
}

static bool poll_for_a_while(const dnet_word_t *word, uint64_t step, unsigned polls, bool pause)
{
    for (unsigned i = 0; i < polls; i++) {
        if (dnet_word_has_come(word, step))
            return true;
        if (pause)
            dnet_cpu_relax();
    }
    return dnet_word_has_come(word, step);
}

DNET_COLD void dnet_word_wait_long(dnet_board_t *b, const dnet_word_t *word, uint64_t step,
                                   uint32_t rank)
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

DNET_COLD void dnet_step_wait_for_slot(dnet_board_t *b, uint64_t least)
{
    uint64_t all = UINT64_MAX;
    for (uint32_t r = 0; r < b->size; r++) {
        if (r == b->rank)
            continue;
        dnet_word_wait_for(b, dnet_board_counter(b, r, DONE), least, r);
        uint64_t done = atomic_load_explicit(dnet_board_counter(b, r, DONE), memory_order_relaxed);
        all = done < all ? done : all;
    }
    b->all_done = all;
}

bool dnet_step_meet(dnet_board_t *b)
{
    if (b->spins || b->size == 2)
        return false;
    uint64_t all = ++b->meetings * b->size;
    /* Release: what this rank has written.  Acquire: for the last one, which says that all have. */
    if (atomic_fetch_add_explicit(dnet_board_head(b, COMES), 1, memory_order_acq_rel) + 1 == all)
        dnet_word_set_for(b, dnet_board_head(b, MET), b->meetings, DNET_BOARD_NO_RANK);
    else
        dnet_word_wait_for(b, dnet_board_head(b, MET), b->meetings, DNET_BOARD_NO_RANK);
    return true;
}
