/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/nonblocking.h"

#include "collective/steps.h"

#define LOOKS_BEFORE_DOZING 64u /* in a row that found nothing */

/* ---- its words and slots ---- */

/* The words of a rank: the number up to which it is done with all; the rank that it dozes for, plus
 * one, or any.  Before them: how many doze. */
enum { DONE_WITH, DOZES_FOR };
_Static_assert(DOZES_FOR + 1 == DNET_NONBLOCKING_COUNTERS, "so many words");
#define ANY_RANK UINT64_MAX

static inline dnet_word_t *dozing(const dnet_board_t *b)
{
    return (dnet_word_t *) (void *) b->nonblocking.words;
}

static inline dnet_word_t *counter(const dnet_board_t *b, uint32_t rank, unsigned which)
{
    size_t line = 1 + (size_t) rank * DNET_NONBLOCKING_COUNTERS + which;
    return (dnet_word_t *) (void *) (b->nonblocking.words + line * DNET_BOARD_PAIR);
}

static inline uint32_t place_of(uint64_t number)
{
    return (uint32_t) number % DNET_NONBLOCKING_SLOTS;
}

/* The line that says that a rank has contributed, with up to WITH_NUMBER_BYTES of data. */
static inline uint8_t *slot(const dnet_board_t *b, uint32_t rank, uint64_t number)
{
    size_t line = 1 + (size_t) (DNET_NONBLOCKING_COUNTERS + place_of(number)) * b->size + rank;
    return b->nonblocking.words + line * DNET_BOARD_PAIR;
}

static inline uint8_t *data_of(const dnet_board_t *b, uint32_t rank, uint64_t number, size_t bytes)
{
    if (bytes <= WITH_NUMBER_BYTES)
        return slot(b, rank, number);
    size_t block = (size_t) rank * DNET_NONBLOCKING_SLOTS + place_of(number);
    return b->nonblocking.data + block * b->nonblocking.slot_bytes;
}

static inline bool has_come(const dnet_board_t *b, uint32_t rank, uint64_t number)
{
    return dnet_word_has_come(dnet_slot_number(slot(b, rank, number)), number);
}

static DNET_COLD void wake_waiting(const dnet_board_t *b)
{
    for (uint32_t r = 0; r < b->size; r++) {
        uint64_t rank = atomic_load_explicit(counter(b, r, DOZES_FOR), memory_order_relaxed);
        if (r != b->rank && (rank == b->rank + UINT64_C(1) || rank == ANY_RANK))
            b->owner.wake(b->owner.arg, r);
    }
}

/* As dnet_word_set_for(), for those that doze here. */
static inline void set(const dnet_board_t *b, dnet_word_t *word, uint64_t number)
{
    atomic_store_explicit(word, number, memory_order_release);
    if (DNET_UNLIKELY(atomic_load_explicit(dozing(b), memory_order_relaxed)))
        wake_waiting(b);
}

/* ---- which ranks give, and who needs what ---- */

static inline bool is_from_root(const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_BCAST || op->kind == DNET_NONBLOCKING_SCATTER;
}

static inline bool is_for_root(const dnet_nonblocking_t *op)
{
    return op->kind == DNET_NONBLOCKING_REDUCE || op->kind == DNET_NONBLOCKING_GATHER;
}

/* The root of a reduction as well, for what is combined is in slots. */
static inline bool gives(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    return is_from_root(op)                      ? b->rank == op->root
           : op->kind == DNET_NONBLOCKING_GATHER ? b->rank != op->root
                                                 : true;
}

static inline size_t given_bytes(const dnet_board_t *b, dnet_nonblocking_kind_t kind, size_t bytes)
{
    bool blocks = kind == DNET_NONBLOCKING_SCATTER || kind == DNET_NONBLOCKING_ALLTOALL;
    return blocks ? bytes * b->size : bytes;
}

bool dnet_board_has_nonblocking(const dnet_board_t *b, dnet_nonblocking_kind_t kind, size_t bytes)
{
    return bytes <= b->nonblocking.slot_bytes &&
           given_bytes(b, kind, bytes) <= b->nonblocking.slot_bytes;
}

/* The rank that this one needs something of next; DNET_BOARD_NO_RANK: it has all. */
static uint32_t needs(const dnet_board_t *b, dnet_nonblocking_t *op)
{
    if (is_from_root(op))
        return b->rank == op->root || has_come(b, op->root, op->number) ? DNET_BOARD_NO_RANK
                                                                        : op->root;
    if (is_for_root(op) && b->rank != op->root)
        return DNET_BOARD_NO_RANK;
    while (op->missing < b->size &&
           (op->missing == b->rank || has_come(b, op->missing, op->number)))
        op->missing++;
    return op->missing < b->size ? op->missing : DNET_BOARD_NO_RANK;
}

/* ---- giving and taking ---- */

/* The first rank that still has to be done with what the slot of a number was used for last;
 * DNET_BOARD_NO_RANK: the slot is free.  The own rank, too: it reads its own slots. */
static uint32_t needs_room_of(dnet_board_t *b, uint64_t number)
{
    uint64_t all = UINT64_MAX;
    if (number <= b->nonblocking.all_done + DNET_NONBLOCKING_SLOTS)
        return DNET_BOARD_NO_RANK;
    for (uint32_t r = 0; r < b->size; r++) {
        /* Acquire: it has read what is written over next. */
        uint64_t done = atomic_load_explicit(counter(b, r, DONE_WITH), memory_order_acquire);
        if (done + DNET_NONBLOCKING_SLOTS < number)
            return r;
        all = done < all ? done : all;
    }
    b->nonblocking.all_done = all;
    return DNET_BOARD_NO_RANK;
}

static void give(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    size_t bytes = given_bytes(b, op->kind, op->bytes);
    if (bytes)
        dnet_step_put(data_of(b, b->rank, op->number, bytes), op->from, bytes);
    set(b, dnet_slot_number(slot(b, b->rank, op->number)), op->number);
}

/* In the order of ranks, so that all have the same result. */
static void combine(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    const uint8_t *before = data_of(b, 0, op->number, op->bytes);
    for (uint32_t r = 1; r < b->size; r++) {
        op->fn(data_of(b, r, op->number, op->bytes), before, op->to, op->count, op->how);
        before = op->to;
    }
}

static inline void take_block(const dnet_board_t *b, const dnet_nonblocking_t *op, uint32_t r,
                              uint32_t block, void *to)
{
    size_t bytes = given_bytes(b, op->kind, op->bytes);
    dnet_take(to, data_of(b, r, op->number, bytes) + block * op->bytes, op->bytes);
}

static void keep_own(const dnet_nonblocking_t *op, void *to, const void *from)
{
    if (to && to != from && op->bytes)
        memmove(to, from, op->bytes);
}

static void take(const dnet_board_t *b, const dnet_nonblocking_t *op)
{
    const bool is_root = b->rank == op->root;
    uint8_t *to = op->to;
    switch (op->kind) {
        case DNET_NONBLOCKING_BARRIER:
            break;
        case DNET_NONBLOCKING_BCAST:
            if (!is_root)
                take_block(b, op, op->root, 0, to);
            break;
        case DNET_NONBLOCKING_REDUCE:
            if (is_root)
                combine(b, op);
            break;
        case DNET_NONBLOCKING_ALLREDUCE:
            combine(b, op);
            break;
        case DNET_NONBLOCKING_SCATTER:
            if (is_root)
                keep_own(op, to, (const uint8_t *) op->from + b->rank * op->bytes);
            else
                take_block(b, op, op->root, b->rank, to);
            break;
        case DNET_NONBLOCKING_GATHER:
            for (uint32_t r = 0; is_root && r < b->size; r++)
                if (r == b->rank)
                    keep_own(op, to + r * op->bytes, op->from);
                else
                    take_block(b, op, r, 0, to + r * op->bytes);
            break;
        case DNET_NONBLOCKING_ALLGATHER:
            for (uint32_t r = 0; r < b->size; r++)
                take_block(b, op, r, 0, to + r * op->bytes);
            break;
        case DNET_NONBLOCKING_ALLTOALL:
            for (uint32_t r = 0; r < b->size; r++)
                take_block(b, op, r, b->rank, to + r * op->bytes);
            break;
    }
}

/* The rank that it waits for; DNET_BOARD_NO_RANK: it is complete. */
static uint32_t go_on(dnet_board_t *b, dnet_nonblocking_t *op)
{
    if (!op->given) {
        uint32_t reader = needs_room_of(b, op->number);
        if (reader != DNET_BOARD_NO_RANK)
            return reader;
        give(b, op);
        op->given = true;
    }
    uint32_t giver = needs(b, op);
    if (giver == DNET_BOARD_NO_RANK)
        take(b, op);
    return giver;
}

/* ---- those under way ---- */

/* This rank is done with all before the first that is under way. */
static inline void say_done(const dnet_board_t *b)
{
    const dnet_nonblocking_t *first = b->nonblocking.first;
    set(b, counter(b, b->rank, DONE_WITH), first ? first->number - 1 : b->nonblocking.last);
}

bool dnet_board_start(dnet_board_t *b, dnet_nonblocking_t *op)
{
    op->number = ++b->nonblocking.last;
    op->missing = 0;
    op->given = !gives(b, op);
    op->next = NULL;
    if (is_from_root(op))
        dnet_step_came_from(b, op->root);
    /* Where one before waits for a slot this one does, too. */
    if (go_on(b, op) == DNET_BOARD_NO_RANK) {
        if (!b->nonblocking.first)
            say_done(b);
        return true;
    }
    if (b->nonblocking.first)
        b->nonblocking.end->next = op;
    else
        b->nonblocking.first = op;
    b->nonblocking.end = op;
    b->nonblocking.looks = 0;
    return false;
}

static void take_out(dnet_board_t *b, dnet_nonblocking_t *before, const dnet_nonblocking_t *op)
{
    if (before)
        before->next = op->next;
    else
        b->nonblocking.first = op->next;
    if (!op->next)
        b->nonblocking.end = before;
    if (!before)
        say_done(b);
}

/* Several may each wait for another rank: whoever comes wakes this one. */
static void doze(dnet_board_t *b, uint32_t rank)
{
    uint64_t of = b->nonblocking.first->next ? ANY_RANK : rank + UINT64_C(1);
    atomic_store_explicit(counter(b, b->rank, DOZES_FOR), of, memory_order_relaxed);
    if (!b->nonblocking.dozes)
        atomic_fetch_add_explicit(dozing(b), 1, memory_order_seq_cst);
    b->nonblocking.dozes = true;
    atomic_store_explicit(&b->nonblocking.waits_for, rank, memory_order_relaxed);
}

static void end_dozing(dnet_board_t *b)
{
    atomic_store_explicit(&b->nonblocking.waits_for, DNET_BOARD_NO_RANK, memory_order_relaxed);
    atomic_store_explicit(counter(b, b->rank, DOZES_FOR), 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(dozing(b), 1, memory_order_seq_cst);
    b->nonblocking.dozes = false;
}

dnet_nonblocking_t *dnet_board_look(dnet_board_t *b)
{
    dnet_nonblocking_t *before = NULL, *op = b->nonblocking.first;
    uint32_t first_waits_for = DNET_BOARD_NO_RANK;
    for (; op; before = op, op = op->next) {
        uint32_t rank = go_on(b, op);
        if (rank == DNET_BOARD_NO_RANK)
            break;
        first_waits_for = before ? first_waits_for : rank;
    }
    if (op) {
        take_out(b, before, op);
        b->nonblocking.looks = 0;
        if (b->nonblocking.dozes)
            end_dozing(b);
    } else if (b->nonblocking.first && ++b->nonblocking.looks >= LOOKS_BEFORE_DOZING) {
        doze(b, first_waits_for);
    }
    return op;
}

bool dnet_board_may_sleep(dnet_board_t *b)
{
    uint32_t dozes_for = atomic_load_explicit(&b->nonblocking.waits_for, memory_order_relaxed);
    for (dnet_nonblocking_t *op = b->nonblocking.first; op; op = op->next) {
        uint32_t rank = op->given ? needs(b, op) : needs_room_of(b, op->number);
        if (rank == DNET_BOARD_NO_RANK || (op == b->nonblocking.first && rank != dozes_for))
            return false;
    }
    return true;
}
