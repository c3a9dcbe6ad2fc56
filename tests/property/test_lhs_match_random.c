/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/lhs_match against lhs_reference: both are given the same random calls and must give the same
 * answers.  Few contexts, ranks and tags, so that nearly every lookup has several candidates.
 *
 * DNET_TEST_SEED repeats a run, DNET_TEST_CALLS sets the number of calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lhs_match/lhs_match.h"
#include "lhs_reference.h"
#include "seed.h"

#define CALLS_DEFAULT 12000000u
#define EPISODE 20000u /* calls between two changes of the mix */

typedef struct {
    dnet_match_t fast;
    dnet_ref_t slow;
    dnet_match_item_t item[2 * DNET_REF_MAX]; /* item[id] */
    int free_ids[2 * DNET_REF_MAX];
    int free_count;
    dnet_random_t random;
    unsigned contexts, ranks, tags, wild; /* wild: percent of wildcards */
    unsigned limit;                       /* entries per queue */
} world_t;

static world_t world;

static int id_of(const dnet_match_item_t *item)
{
    return item == NULL ? DNET_REF_NONE : (int) (item - world.item);
}

static void release(int id)
{
    if (id != DNET_REF_NONE)
        world.free_ids[world.free_count++] = id;
}

static bool chance(unsigned percent)
{
    return dnet_random_below(&world.random, 100) < percent;
}

/* A random message or receive: some fields have their highest bits set, to reach all bits. */
static dnet_ref_entry_t draw(bool receive)
{
    dnet_ref_entry_t e = {
        .id = DNET_REF_NONE,
        .context = (int) (dnet_random_below(&world.random, world.contexts) * 0x5555 & 0xffff),
        .rank = (int) (dnet_random_below(&world.random, world.ranks) * 0x1fff & 0x3fff),
        .tag = (int64_t) dnet_random_below(&world.random, world.tags) * 0x7fffffff & 0xffffffff,
    };
    if (receive && chance(world.wild))
        e.rank = DNET_REF_ANY;
    if (receive && chance(world.wild))
        e.tag = DNET_REF_ANY;
    return e;
}

static uint64_t envelope_of(dnet_ref_entry_t e)
{
    /* Fields that are not compared hold anything. */
    uint64_t rank = e.rank == DNET_REF_ANY ? dnet_random(&world.random) : (uint64_t) e.rank;
    uint64_t tag = e.tag == DNET_REF_ANY ? dnet_random(&world.random) : (uint64_t) e.tag;
    uint64_t flags = dnet_random(&world.random) & ~DNET_MATCH_BITS;
    return DNET_PUT(e.context, LH_CONTEXT) | DNET_PUT(rank, LH_RANK) | DNET_PUT(tag, LH_TAG) |
           flags;
}

static uint64_t mask_of(dnet_ref_entry_t e)
{
    return (e.rank == DNET_REF_ANY ? DNET_MATCH_ANY_SOURCE : DNET_MATCH_BITS) &
           (e.tag == DNET_REF_ANY ? DNET_MATCH_ANY_TAG : DNET_MATCH_BITS);
}

static void message_arrives(void)
{
    dnet_ref_entry_t e = draw(false);
    uint64_t envelope = envelope_of(e);
    int expected = dnet_ref_arrive(&world.slow, e);
    assert_int_equal(id_of(dnet_match_arrive(&world.fast, envelope)), expected);
    release(expected);
    if (expected != DNET_REF_NONE || (unsigned) world.slow.unexpected.count >= world.limit)
        return;
    e.id = world.free_ids[--world.free_count];
    dnet_ref_keep(&world.slow, e);
    world.item[e.id].envelope = envelope;
    dnet_match_keep(&world.fast, &world.item[e.id]);
}

static void receive_starts(void)
{
    dnet_ref_entry_t e = draw(true);
    uint64_t envelope = envelope_of(e), mask = mask_of(e);
    int expected = dnet_ref_lookup(&world.slow, e, true);
    assert_int_equal(id_of(dnet_match_take(&world.fast, envelope, mask)), expected);
    release(expected);
    if (expected != DNET_REF_NONE || (unsigned) world.slow.posted.count >= world.limit)
        return;
    e.id = world.free_ids[--world.free_count];
    dnet_ref_post(&world.slow, e);
    world.item[e.id].envelope = envelope;
    world.item[e.id].mask = mask;
    dnet_match_post(&world.fast, &world.item[e.id]);
}

static void probe(void)
{
    dnet_ref_entry_t e = draw(true);
    assert_int_equal(id_of(dnet_match_peek(&world.fast, envelope_of(e), mask_of(e))),
                     dnet_ref_lookup(&world.slow, e, false));
}

static void cancel(void)
{
    if (world.slow.posted.count == 0)
        return;
    unsigned at = dnet_random_below(&world.random, (unsigned) world.slow.posted.count);
    int id = world.slow.posted.entry[at].id;
    assert_true(dnet_ref_withdraw(&world.slow, id));
    dnet_match_withdraw(&world.fast, &world.item[id]);
    release(id);
}

static void start(uint64_t seed)
{
    world.random.state = seed;
    dnet_match_init(&world.fast);
    world.slow.posted.count = 0;
    world.slow.unexpected.count = 0;
    world.free_count = 2 * DNET_REF_MAX;
    for (int i = 0; i < world.free_count; i++)
        world.free_ids[i] = i;
}

static void test_lhs_match_random_calls_agree_with_reference(void **state)
{
    (void) state;
    const char *text = getenv("DNET_TEST_CALLS");
    uint64_t calls = text != NULL ? strtoull(text, NULL, 0) : CALLS_DEFAULT;
    unsigned arrive = 0, post = 0;
    start(dnet_test_seed("lhs_match_random"));
    for (uint64_t i = 0; i < calls; i++) {
        if (i % EPISODE == 0) {
            world.contexts = 1 + dnet_random_below(&world.random, 3);
            world.ranks = 1 + dnet_random_below(&world.random, 8);
            world.tags = 1 + dnet_random_below(&world.random, 5);
            world.wild = dnet_random_below(&world.random, 50);
            world.limit = 4u << dnet_random_below(&world.random, 6);
            arrive = 20 + dnet_random_below(&world.random, 50);
            post = 75 - arrive;
        }
        unsigned what = dnet_random_below(&world.random, 100);
        if (what < arrive)
            message_arrives();
        else if (what < arrive + post)
            receive_starts();
        else if (what < 90)
            probe();
        else
            cancel();
        assert_int_equal(world.fast.posted_count, world.slow.posted.count);
        assert_int_equal(world.fast.unexpected_count, world.slow.unexpected.count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lhs_match_random_calls_agree_with_reference),
    };
    return cmocka_run_group_tests_name("lhs_match_random", tests, NULL, NULL);
}
