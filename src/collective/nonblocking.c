/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/nonblocking.h"

#include "collective/nonblocking_blocks.h"
#include "collective/nonblocking_pairs.h"

#define LOOKS_BEFORE_DOZING 64u /* in a row that found nothing */

/* ---- who waits for whom ---- */

/* The first rank that is not done yet with all up to a number; DNET_BOARD_NO_RANK: all are. */
static uint32_t is_not_done(dnet_board_t *b, uint64_t number)
{
    uint64_t all = UINT64_MAX;
    if (number <= b->nonblocking.all_done)
        return DNET_BOARD_NO_RANK;
    for (uint32_t r = 0; r < b->size; r++) {
        /* Acquire: it has read what is written over next, and written what is read. */
        uint64_t done =
            atomic_load_explicit(dnet_nonblocking_counter(b, r, DONE_WITH), memory_order_acquire);
        if (done < number)
            return r;
        all = done < all ? done : all;
    }
    b->nonblocking.all_done = all;
    return DNET_BOARD_NO_RANK;
}

/* The first rank that has not contributed a number; DNET_BOARD_NO_RANK: this one has all that it
 * needs.  *from_p: the ones before have. */
static inline uint32_t has_not_come(const dnet_board_t *b, const dnet_nonblocking_t *op,
                                    uint64_t number, uint32_t *from_p)
{
    if (dnet_nonblocking_is_from_root(op))
        return b->rank == op->root || dnet_nonblocking_has_come(b, op->root, number)
                   ? DNET_BOARD_NO_RANK
                   : op->root;
    while (*from_p < b->size &&
           (*from_p == b->rank || dnet_nonblocking_has_come(b, *from_p, number)))
        ++*from_p;
    return *from_p < b->size ? *from_p : DNET_BOARD_NO_RANK;
}

/* What is done with a piece, one after the other; at the end who is read from waits for those who
 * read, or for pairs. */
enum { GIVE, COMBINE, TAKE, END, STAGES };
/* There is nothing to do in a stage, for now or any more. */
#define NOTHING_TO_DO (DNET_BOARD_NO_RANK - 1)

/* The rank that a stage waits for; DNET_BOARD_NO_RANK: it can be gone on with. */
static inline uint32_t stage_waits_for(dnet_board_t *b, dnet_nonblocking_t *op, unsigned stage)
{
    switch (stage) {
        case GIVE: {
            const uint64_t number =
                dnet_nonblocking_number(op, op->given) + dnet_nonblocking_numbers(op) - 1;
            if (op->given == op->pieces)
                return NOTHING_TO_DO;
            if (dnet_nonblocking_is_written(b, op) &&
                !dnet_nonblocking_has_come(b, op->root, number))
                return op->root;
            /* The own rank, too, has to be done with what the slot was used for last: it reads its
             * own ones. */
            return number <= DNET_NONBLOCKING_SLOTS
                       ? DNET_BOARD_NO_RANK
                       : is_not_done(b, number - DNET_NONBLOCKING_SLOTS);
        }
        case COMBINE:
            if (!op->in_parts || op->combined == op->given)
                return NOTHING_TO_DO;
            return has_not_come(b, op, dnet_nonblocking_number(op, op->combined),
                                &op->not_given_before);
        case TAKE:
            if (op->taken >= (op->in_parts ? op->combined : op->given))
                return NOTHING_TO_DO;
            return has_not_come(b, op, dnet_nonblocking_number(op, op->taken) + op->in_parts,
                                &op->not_taken_before);
        default:
            if (op->in_pairs && op->taken == op->pieces)
                return dnet_nonblocking_pair_left(b, op);
            if (!op->by_address || op->taken < op->pieces || !dnet_nonblocking_gives(b, op) ||
                op->kind == DNET_NONBLOCKING_GATHERV)
                return NOTHING_TO_DO;
            return is_not_done(b, op->number);
    }
}

/* This rank is done with all before the first of which it has not taken all, or waits for pairs. */
static void say_done(dnet_board_t *b)
{
    dnet_nonblocking_t *op = b->nonblocking.untaken;
    while (op && op->taken == op->pieces && !op->in_pairs)
        op = op->next;
    b->nonblocking.untaken = op;
    dnet_nonblocking_set(b, dnet_nonblocking_counter(b, b->rank, DONE_WITH),
                         !op            ? b->nonblocking.last
                         : op->in_pairs ? op->number - 1
                                        : dnet_nonblocking_number(op, op->taken) - 1);
}

static inline void do_stage(dnet_board_t *b, dnet_nonblocking_t *op, unsigned stage)
{
    switch (stage) {
        case GIVE:
            dnet_nonblocking_give(b, op);
            op->given++;
            break;
        case COMBINE:
            dnet_nonblocking_combine(b, op);
            op->combined++;
            op->not_given_before = 0;
            break;
        case TAKE:
            dnet_nonblocking_take(b, op);
            op->taken++;
            op->not_taken_before = 0;
            say_done(b);
            break;
        default:
            op->in_pairs = false;
            say_done(b);
            break;
    }
}

/* The stages, one after the other.  *moved_p: something was done.  @return the rank that it waits
 * for, the own one only if an earlier one is to be gone on with; DNET_BOARD_NO_RANK: it is
 * complete */
static inline uint32_t do_stages(dnet_board_t *b, dnet_nonblocking_t *op, bool *moved_p)
{
    uint32_t first = DNET_BOARD_NO_RANK;
    *moved_p = false;
    for (unsigned stage = 0; stage < STAGES; stage++) {
        uint32_t rank;
        while ((rank = stage_waits_for(b, op, stage)) == DNET_BOARD_NO_RANK && stage != END) {
            do_stage(b, op, stage);
            *moved_p = true;
        }
        if (stage == END && op->in_pairs && rank == DNET_BOARD_NO_RANK)
            do_stage(b, op, END);
        if (rank != NOTHING_TO_DO && (first == DNET_BOARD_NO_RANK || first == b->rank))
            first = rank;
    }
    return first;
}

/* The same as long as something can be done. */
static uint32_t go_on(dnet_board_t *b, dnet_nonblocking_t *op)
{
    bool moved;
    uint32_t rank = do_stages(b, op, &moved);
    while (op->pieces > 1 && moved && rank != DNET_BOARD_NO_RANK)
        rank = do_stages(b, op, &moved);
    return rank;
}

/* ---- those under way ---- */

static void take_out(dnet_board_t *b, dnet_nonblocking_t *before, const dnet_nonblocking_t *op)
{
    if (before)
        before->next = op->next;
    else
        b->nonblocking.first = op->next;
    if (!op->next)
        b->nonblocking.end = before;
}

bool dnet_board_start(dnet_board_t *b, dnet_nonblocking_t *op)
{
    dnet_nonblocking_t *before = b->nonblocking.end;
    dnet_nonblocking_plan(b, op);
    op->number = b->nonblocking.last + 1;
    b->nonblocking.last += op->pieces * dnet_nonblocking_numbers(op);
    op->given = dnet_nonblocking_gives(b, op) ? 0 : op->pieces;
    op->combined = 0;
    op->taken = dnet_nonblocking_takes(b, op) ? 0 : op->pieces;
    op->not_given_before = op->not_taken_before = 0;
    op->next = NULL;
    if (dnet_nonblocking_is_from_root(op))
        dnet_step_came_from(b, op->root);
    if (before)
        before->next = op;
    else
        b->nonblocking.first = op;
    b->nonblocking.end = op;
    if (!b->nonblocking.untaken) {
        b->nonblocking.untaken = op;
        if (op->taken)
            say_done(b);
    }
    b->nonblocking.looks = 0;
    /* Where one before waits for a slot this one does, too. */
    if (go_on(b, op) != DNET_BOARD_NO_RANK)
        return false;
    take_out(b, before, op);
    return true;
}

/* Several, or several pieces, may each wait for another rank: whoever comes wakes this one. */
static void doze(dnet_board_t *b, uint32_t rank)
{
    const dnet_nonblocking_t *first = b->nonblocking.first;
    uint64_t of = first->next || first->pieces > 1 ? DOZES_FOR_ANY : rank + UINT64_C(1);
    atomic_store_explicit(dnet_nonblocking_counter(b, b->rank, DOZES_FOR), of,
                          memory_order_relaxed);
    if (!b->nonblocking.dozes)
        atomic_fetch_add_explicit(dnet_nonblocking_dozing(b), 1, memory_order_seq_cst);
    b->nonblocking.dozes = true;
    atomic_store_explicit(&b->nonblocking.waits_for, rank, memory_order_relaxed);
}

static void end_dozing(dnet_board_t *b)
{
    atomic_store_explicit(&b->nonblocking.waits_for, DNET_BOARD_NO_RANK, memory_order_relaxed);
    atomic_store_explicit(dnet_nonblocking_counter(b, b->rank, DOZES_FOR), 0, memory_order_relaxed);
    atomic_fetch_sub_explicit(dnet_nonblocking_dozing(b), 1, memory_order_seq_cst);
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
    const uint64_t of =
        atomic_load_explicit(dnet_nonblocking_counter(b, b->rank, DOZES_FOR), memory_order_relaxed);
    for (dnet_nonblocking_t *op = b->nonblocking.first; op; op = op->next)
        for (unsigned stage = 0; stage < STAGES; stage++) {
            uint32_t rank = stage_waits_for(b, op, stage);
            if (rank == DNET_BOARD_NO_RANK ||
                (rank != NOTHING_TO_DO && of != DOZES_FOR_ANY && of != rank + UINT64_C(1)))
                return false;
        }
    return true;
}
