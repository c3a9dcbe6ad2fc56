/* SPDX-License-Identifier: BSD-3-Clause */
#include "collective/blocks.h"
#include "collective/collective.h"
#include "collective/in_place.h"
#include "common/clock.h"

/* Each rank combines all of a vector up to so many bytes from all ranks together; beyond, each
 * combines a part for all. */
#define COMBINE_ALL_BYTES 16384u

/* Are vectors that are to be combined for all read where they are?  Where the kernel is not fast to
 * copy they never are (4 ranks, 256 KB by slots in 0.4 of the time, 4 MB in 0.6; 16 ranks 256 KB
 * and 1 MB in 0.7 and 0.8). */
static inline bool is_read_to_combine(const dnet_board_t *b, size_t bytes)
{
    if (b->owner.copies != DNET_KERNEL_FAST)
        return false;
    if (b->size > FEW_RANKS) /* parts, of which each rank combines one */
        return dnet_in_place_is_read(b, bytes * 2 / b->size);
    return dnet_in_place_is_read_by_all(b, bytes);
}

/* The same by one. */
static inline bool is_read_by_root(const dnet_board_t *b, size_t bytes)
{
    return !dnet_in_place_is_slow_for_two(b) && dnet_in_place_is_read(b, bytes) &&
           b->size <= FEW_RANKS;
}

/* Of two ranks, where the kernel copies fairly fast, vectors from so many bytes on are read by the
 * root or go by slots: whichever took it less time lately. */
#define CHOSEN_LEAST_BYTES 65536u

static inline bool is_chosen_for_root(const dnet_board_t *b, size_t bytes)
{
    return bytes >= CHOSEN_LEAST_BYTES && dnet_in_place_is_moved_of_two(b, bytes);
}

typedef struct {
    size_t element_bytes;
    dnet_reduce_fn fn;
    const void *how;
} reduction_t;

/* Combine what all ranks contribute to a step, in the order of their ranks.  `own`: what this one
 * does, which of the first one may be at result. */
static void combine_all(dnet_board_t *b, const reduction_t *by, uint64_t step, const uint8_t *own,
                        uint8_t *result, size_t count)
{
    size_t bytes = count * by->element_bytes;
    const uint8_t *before = b->rank == 0 ? own : dnet_step_contribution_to(b, 0, step, bytes);
    for (uint32_t r = 1; r < b->size; r++) {
        by->fn(r == b->rank ? own : dnet_step_contribution_to(b, r, step, bytes), before, result,
               count, by->how);
        before = result;
    }
}

/* First element of a rank's part of a step. */
static inline size_t part_of(const dnet_board_t *b, uint32_t rank, size_t count)
{
    return count * rank / b->size;
}

/* Combine the own part of a step in the own slot, where no other rank looks at it before it is said
 * to be combined. */
static void combine_part(dnet_board_t *b, const reduction_t *by, uint64_t step, size_t count)
{
    size_t first = part_of(b, b->rank, count), end = part_of(b, b->rank + 1, count);
    size_t at = first * by->element_bytes, bytes = count * by->element_bytes;
    uint8_t *mine = dnet_board_data(b, b->rank, step, bytes) + at;
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        by->fn(dnet_step_contribution_to(b, r, step, bytes) + at, mine, mine, end - first, by->how);
    }
}

static void collect_parts(dnet_board_t *b, const reduction_t *by, uint64_t step, uint8_t *result,
                          size_t count)
{
    size_t bytes = count * by->element_bytes;
    for (uint32_t i = 0; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        size_t at = part_of(b, r, count) * by->element_bytes;
        size_t n = part_of(b, r + 1, count) * by->element_bytes - at;
        dnet_word_wait_for(b, dnet_board_counter(b, r, COMBINED), step, r);
        dnet_take(result + at, dnet_board_data(b, r, step, bytes) + at, n);
    }
}

/* What a vector is read into before it is combined. */
typedef struct {
    uint8_t *at;
    size_t bytes;
} scratch_t;

/* The next step, to which this rank contributes nothing, when all have contributed to the one
 * before: so its slot is free, and its far memory, whose length saves calls of the kernel (256 KB
 * of two ranks in 0.5 of the time). */
static scratch_t begin_with_scratch(dnet_board_t *b)
{
    uint8_t *slot = dnet_step_begin_with_scratch(b);
    if (b->far.memory)
        return (scratch_t){b->far.memory + (size_t) b->rank * b->far.bytes, b->far.bytes};
    return (scratch_t){slot, b->slot_bytes};
}

/* Read [at, at + count) of the elements that rank r has at `from`, and combine them with `with`,
 * which may be `result`. */
static void combine_read(const dnet_board_t *b, const reduction_t *by, uint32_t r,
                         const uint8_t *from, const uint8_t *with, uint8_t *result, size_t at,
                         size_t count, scratch_t scratch)
{
    size_t room = scratch.bytes / by->element_bytes;
    for (size_t last = at + count; at < last; at += room) {
        size_t n = dnet_least(last - at, room), byte = at * by->element_bytes;
        dnet_in_place_read(b, r, from + byte, scratch.at, n * by->element_bytes);
        by->fn(scratch.at, with + byte, result + byte, n, by->how);
    }
}

/* All elements of all ranks into result.  Those of the first other rank are read to where they are
 * combined, if that is not where the own ones are. */
static void combine_all_read(const dnet_board_t *b, const reduction_t *by,
                             const dnet_offer_t *theirs, const uint8_t *from, uint8_t *result,
                             size_t count, scratch_t scratch)
{
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        if (i > 1 || from == result) {
            combine_read(b, by, r, theirs[r].from, result, result, 0, count, scratch);
        } else {
            dnet_in_place_read(b, r, theirs[r].from, result, count * by->element_bytes);
            by->fn(from, result, result, count, by->how);
        }
    }
}

/* Of two ranks each combines all, in the order of the ranks, so that both have the same bits. */
static void allreduce_of_two(dnet_board_t *b, const reduction_t *by, const dnet_offer_t *theirs,
                             const uint8_t *from, uint8_t *result, size_t count)
{
    const scratch_t scratch = begin_with_scratch(b);
    if (b->rank == 0) {
        combine_all_read(b, by, theirs, from, result, count, scratch);
    } else {
        combine_read(b, by, 0, theirs[0].from, from, result, 0, count, scratch);
    }
    dnet_in_place_end(b);
}

/* Each rank combines its part from all ranks' memory, says so in a second step, whose slot it reads
 * into, and then reads the others' parts of the result.  Of two ranks each combines all, unless it
 * would overwrite what the other one reads. */
static void allreduce_in_place(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                               uint8_t *result, size_t count)
{
    size_t first = part_of(b, b->rank, count), n = part_of(b, b->rank + 1, count) - first;
    dnet_offer_t theirs[DNET_BOARD_MAX_RANKS];
    dnet_in_place_offer(b, from, result);
    bool apart = true;
    for (uint32_t r = 0; r < b->size; r++) {
        theirs[r] = dnet_in_place_offered(b, r);
        apart &= theirs[r].from != theirs[r].result;
    }
    if (apart && b->size == 2) {
        allreduce_of_two(b, by, theirs, from, result, count);
        return;
    }
    dnet_step_end_of_all(b);
    const scratch_t scratch = begin_with_scratch(b);
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        combine_read(b, by, r, theirs[r].from, i == 1 ? from : result, result, first, n, scratch);
    }
    dnet_step_contribute(b);
    for (uint32_t i = 1; i < b->size; i++) {
        uint32_t r = (b->rank + i) % b->size;
        size_t at = part_of(b, r, count) * by->element_bytes;
        (void) dnet_step_contribution(b, r, 0);
        dnet_in_place_read(b, r, theirs[r].result + at, result + at,
                           part_of(b, r + 1, count) * by->element_bytes - at);
    }
    dnet_in_place_end(b);
}

/* All have offered: the root combines what it reads, in a second step.  The others leave when it
 * has read all. */
static void reduce_offered(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                           uint8_t *result, size_t count, uint32_t root)
{
    if (b->rank != root) {
        b->step++;
        dnet_step_end(b);
        dnet_word_wait_for(b, dnet_board_counter(b, root, COMBINED), b->step, root);
        return;
    }
    dnet_offer_t theirs[FEW_RANKS];
    for (uint32_t r = 0; r < b->size; r++)
        theirs[r] = dnet_in_place_offered(b, r);
    const scratch_t scratch = begin_with_scratch(b);
    if (b->size == 2 && from != result) {
        dnet_in_place_read(b, 1 - root, theirs[1 - root].from, result, count * by->element_bytes);
        dnet_word_set(b, dnet_board_counter(b, b->rank, COMBINED), b->step);
        by->fn(from, result, result, count, by->how);
    } else {
        combine_all_read(b, by, theirs, from, result, count, scratch);
        dnet_word_set(b, dnet_board_counter(b, b->rank, COMBINED), b->step);
    }
    dnet_step_end(b);
}

static void reduce_in_place(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                            uint8_t *result, size_t count, uint32_t root)
{
    dnet_in_place_offer(b, from, NULL);
    reduce_offered(b, by, from, result, count, root);
}

/* Each of two ranks combines all that it needs, and streams what it gives: with parts the
 * processors would work on the same lines in turn (16 KB to 256 KB 1.0, where no cache is
 * shared 1.4 to 1.6 of the time; to one root 16 KB 1.2 and 3.5). */
static bool in_parts(const dnet_board_t *b, size_t bytes)
{
    return b->size > 2 && bytes * b->size > COMBINE_ALL_BYTES;
}

/* A reduction by slots: the result is for rank `root`, or ALL. */
#define ALL UINT32_MAX
typedef struct {
    const reduction_t *by;
    const uint8_t *from;
    uint8_t *result;
    size_t room; /* elements of a step, at most */
    uint32_t root;
    bool parts;
} plan_t;

static inline bool has_result(const dnet_board_t *b, const plan_t *plan)
{
    return plan->root == ALL || plan->root == b->rank;
}

/* Does this rank combine what it contributes from its slot?  Else from where it is. */
static inline bool own_from_slot(const dnet_board_t *b, const plan_t *plan)
{
    return plan->from == plan->result && b->rank > 0; /* others' come first there */
}

/* Elements [at, at + count) as the next step. */
static void contribute(dnet_board_t *b, const plan_t *plan, size_t at, size_t count)
{
    const size_t element = plan->by->element_bytes;
    uint8_t *mine = dnet_step_begin(b, count * element);
    if (plan->parts || plan->root != b->rank || own_from_slot(b, plan))
        dnet_step_put(mine, plan->from + at * element, count * element);
    dnet_step_contribute(b);
}

static void take_result(dnet_board_t *b, const plan_t *plan, uint64_t step, size_t at, size_t count)
{
    const size_t element = plan->by->element_bytes;
    uint8_t *result = plan->result + at * element;
    if (plan->parts)
        collect_parts(b, plan->by, step, result, count);
    else
        combine_all(b, plan->by, step,
                    own_from_slot(b, plan) ? dnet_board_data(b, b->rank, step, count * element)
                                           : plan->from + at * element,
                    result, count);
}

/* Elements [from, end), for which there are slots: all that can be done before others have to do
 * something. */
static void reduce_group_by_slots(dnet_board_t *b, const plan_t *plan, size_t from, size_t end)
{
    const uint64_t before = b->step;
    uint64_t step = before;
    for (size_t at = from; at < end; at += plan->room)
        contribute(b, plan, at, dnet_least(end - at, plan->room));
    if (plan->parts) {
        for (size_t at = from; at < end; at += plan->room)
            combine_part(b, plan->by, ++step, dnet_least(end - at, plan->room));
        dnet_word_set(b, dnet_board_counter(b, b->rank, COMBINED), b->step);
    }
    step = before;
    for (size_t at = from; at < end && has_result(b, plan); at += plan->room)
        take_result(b, plan, ++step, at, dnet_least(end - at, plan->room));
    dnet_step_end(b);
    if (has_result(b, plan)) /* all have contributed, and so were done with what was before */
        b->all_done = before;
}

/* One slot after the other; where ranks have no processor each, all slots at once. */
static void reduce_by_slots(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                            uint8_t *result, size_t count, uint32_t root)
{
    plan_t plan = {by, from, result, b->slot_bytes / by->element_bytes, root, false};
    size_t group = b->spins ? plan.room : plan.room * b->slots;
    plan.parts = in_parts(b, dnet_least(count, plan.room) * by->element_bytes);
    for (size_t at = 0; at < count; at += group)
        reduce_group_by_slots(b, &plan, at, dnet_least(count, at + group));
}

/* ---- a reduction of which each rank has a block ---- */

/* Each rank gives all others what it has for their blocks, and combines its own. */
typedef struct {
    const reduction_t *by;
    const uint8_t *from;
    uint8_t *result;
    const dnet_blocks_t *blocks;
    size_t first, count; /* elements of the own block */
    size_t piece;        /* of a step, of each block at most */
} scatter_t;

/* The others' parts of [at, at + most) of their blocks. */
static void give_blocks(dnet_board_t *b, const scatter_t *s, size_t at, size_t most)
{
    const size_t element = s->by->element_bytes;
    uint8_t *mine = dnet_step_begin(b, most * element * (b->size - 1));
    const uint8_t *block = s->from;
    for (uint32_t r = 0; r < b->size; r++) {
        size_t count = dnet_blocks_count(s->blocks, r);
        if (r != b->rank)
            dnet_step_put(mine + dnet_blocks_in_slot(r, b->rank) * most * element,
                          block + at * element, dnet_blocks_piece(count, at, most) * element);
        block += count * element;
    }
    dnet_step_contribute(b);
}

/* The own block's part of a step, in the order of the ranks.  Who has none does not wait. */
static void combine_block(dnet_board_t *b, const scatter_t *s, uint64_t step, size_t at,
                          size_t most)
{
    const size_t element = s->by->element_bytes;
    const size_t n = dnet_blocks_piece(s->count, at, most);
    const uint8_t *before = NULL;
    uint8_t *result = s->result + at * element;
    if (!n)
        return;
    for (uint32_t r = 0; r < b->size; r++) {
        const uint8_t *theirs =
            r == b->rank ? s->from + (s->first + at) * element
                         : dnet_step_contribution_to(b, r, step, most * element * (b->size - 1)) +
                               dnet_blocks_in_slot(b->rank, r) * most * element;
        if (before)
            s->by->fn(theirs, before, result, n, s->by->how);
        before = before ? result : theirs;
    }
}

static void reduce_scatter_by_slots(dnet_board_t *b, const scatter_t *s, size_t longest)
{
    const size_t group = b->spins ? s->piece : s->piece * b->slots;
    for (size_t from = 0; from < longest; from += group) {
        const size_t end = dnet_least(longest, from + group);
        const uint64_t before = b->step;
        uint64_t step = before;
        for (size_t at = from; at < end; at += s->piece)
            give_blocks(b, s, at, dnet_least(end - at, s->piece));
        for (size_t at = from; at < end; at += s->piece)
            combine_block(b, s, ++step, at, dnet_least(end - at, s->piece));
        dnet_step_end(b);
        if (s->count > from) /* all have contributed */
            b->all_done = before;
    }
}

/* The slot of the second step, to which no rank contributes, is what is read into. */
static void reduce_scatter_in_place(dnet_board_t *b, const scatter_t *s)
{
    const size_t at = s->first * s->by->element_bytes;
    dnet_offer_t theirs[DNET_BOARD_MAX_RANKS];
    dnet_in_place_offer(b, s->from, NULL);
    for (uint32_t r = 0; r < b->size; r++) {
        theirs[r] = dnet_in_place_offered(b, r);
        theirs[r].from += at;
    }
    dnet_step_end_of_all(b);
    const scratch_t scratch = begin_with_scratch(b);
    combine_all_read(b, s->by, theirs, s->from + at, s->result, s->count, scratch);
    dnet_in_place_end(b);
}

void dnet_board_reduce_scatter(dnet_board_t *b, const void *from, void *result,
                               const dnet_blocks_t *blocks, size_t element_bytes, dnet_reduce_fn fn,
                               const void *how)
{
    const reduction_t by = {element_bytes, fn, how};
    const size_t longest = dnet_blocks_longest(blocks, b->size);
    const scatter_t s = {&by,
                         from,
                         result,
                         blocks,
                         dnet_blocks_before(blocks, b->rank),
                         dnet_blocks_count(blocks, b->rank),
                         b->slot_bytes / (b->size - 1) / element_bytes};
    if (b->owner.copies == DNET_KERNEL_FAST && dnet_in_place_is_read(b, longest * element_bytes))
        reduce_scatter_in_place(b, &s);
    else
        reduce_scatter_by_slots(b, &s, longest);
}

/* ---- a reduction that only its root waits for ---- */

/* The ranks are the leaves of a tree.  Of two halves of it, whoever comes second combines both, the
 * second half with the first whichever is its own, and goes on upwards; whoever comes first leaves.
 * So the order is always the same, ranks wait for nobody, and all of them work.  The word of a node
 * lies in the slot of the first rank of its second half, behind the first line, and says who came:
 * the step and the rank in whose slot the value is. */
#define NODE_RANKS DNET_BOARD_MAX_RANKS

/* Ranks of the first half of the whole tree. */
static inline uint32_t half_of_all(const dnet_board_t *b)
{
    uint32_t half = 1;
    while (half * 2 < b->size)
        half *= 2;
    return half;
}

static inline dnet_word_t *node(const dnet_board_t *b, uint32_t second_half, uint64_t step)
{
    return (dnet_word_t *) (void *) (dnet_board_slot(b, second_half, step) + DNET_BOARD_LINE);
}

static void climb(dnet_board_t *b, const reduction_t *by, const uint8_t *from, size_t count)
{
    size_t bytes = count * by->element_bytes;
    uint8_t *own = dnet_step_begin(b, bytes), *value = NULL; /* NULL: at `from` */
    uint32_t at = b->rank;
    const uint64_t come = b->step * NODE_RANKS;
    for (uint32_t half = 1; half < b->size; half *= 2) {
        uint32_t second = (b->rank & ~(2 * half - 1)) + half;
        if (second >= b->size)
            continue;
        /* Acquire: pairs with the exchange of who came first. */
        dnet_word_t *word = node(b, second, b->step);
        uint64_t first = atomic_load_explicit(word, memory_order_acquire);
        if (first < come) {
            if (!value)
                value = memcpy(own, from, bytes);
            /* Release: with the value.  Acquire: the other half may have come since. */
            first = atomic_exchange_explicit(word, come + at, memory_order_acq_rel);
            if (first < come)
                return;
        }
        const uint8_t *ours = value ? value : from;
        uint8_t *theirs = dnet_board_data(b, (uint32_t) (first - come), b->step, bytes);
        if (b->rank < second) {
            value = value ? value : own;
            by->fn(theirs, ours, value, count, by->how);
        } else {
            by->fn(ours, theirs, theirs, count, by->how);
            value = theirs;
            at = (uint32_t) (first - come);
        }
    }
    /* the root looks at it when all are done */
    atomic_store_explicit(node(b, half_of_all(b), b->step), come + at, memory_order_relaxed);
}

/* The word of the uppermost node says where the value is when all have come. */
static const uint8_t *top(const dnet_board_t *b, uint64_t step, size_t bytes)
{
    uint64_t word = atomic_load_explicit(node(b, half_of_all(b), step), memory_order_acquire);
    return dnet_board_data(b, (uint32_t) (word % NODE_RANKS), step, bytes);
}

/* Elements [at, at + count) as steps of up to `room`: the root collects them when all are done. */
static void reduce_group(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                         uint8_t *result, size_t count, size_t room, uint32_t root)
{
    uint64_t before = b->step;
    for (size_t at = 0; at < count; at += room) {
        climb(b, by, from + at * by->element_bytes, dnet_least(count - at, room));
        if (b->rank != root)
            dnet_step_end(b);
    }
    if (b->rank != root)
        return;
    for (uint32_t r = 0; r < b->size; r++)
        if (r != root)
            dnet_word_wait_for(b, dnet_board_counter(b, r, DONE), b->step, r);
    for (size_t at = 0; at < count; at += room) {
        size_t bytes = dnet_least(count - at, room) * by->element_bytes;
        dnet_take(result + at * by->element_bytes, top(b, ++before, bytes), bytes);
    }
    b->all_done = b->step;
    dnet_step_end(b);
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
                     dnet_least(count - at, group), room, root);
}

/* To one of two, which measures from when both are there. */
static void reduce_as_chosen(dnet_board_t *b, const reduction_t *by, const uint8_t *from,
                             uint8_t *result, size_t count, uint32_t root)
{
    const size_t bytes = count * by->element_bytes;
    const bool is_root = b->rank == root;
    dnet_choice_t *choice = dnet_choices_for(&b->reduces, bytes);
    const dnet_offer_t mine = {.from = from, .way = is_root && dnet_choice_next(choice)};
    dnet_in_place_say(b, &mine);
    const dnet_offer_t theirs = dnet_in_place_offered(b, 1 - b->rank);
    const uint64_t begin = dnet_clock_ns();
    if (is_root ? mine.way : theirs.way) {
        reduce_offered(b, by, from, result, count, root);
    } else {
        dnet_step_end_of_all(b);
        reduce_by_slots(b, by, from, result, count, root);
    }
    if (is_root)
        dnet_choice_took(choice, bytes, dnet_clock_ns() - begin);
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
    if (!b->spins && in_parts(b, bytes))
        reduce_by_tree(b, &by, from, result, count, root);
    else if (is_chosen_for_root(b, bytes))
        reduce_as_chosen(b, &by, from, result, count, root);
    else if (is_read_by_root(b, bytes))
        reduce_in_place(b, &by, from, result, count, root);
    else
        reduce_by_slots(b, &by, from, result, count, root);
}
