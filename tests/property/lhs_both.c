/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/lhs_match and lhs_reference side by side; see lhs_both.h.
 */
#include "lhs_both.h"

#include <stddef.h>

void lhs_both_init(lhs_both_t *b, unsigned (*choose)(void *arg, unsigned n), void *arg)
{
    dnet_match_init(&b->fast);
    b->slow.posted.count = 0;
    b->slow.unexpected.count = 0;
    b->free_count = 2 * DNET_REF_MAX;
    for (int i = 0; i < b->free_count; i++)
        b->free_ids[i] = i;
    b->choose = choose;
    b->arg = arg;
}

void lhs_both_mix(lhs_both_t *b)
{
    b->mix.contexts = 1 + b->choose(b->arg, 3);
    b->mix.ranks = 1 + b->choose(b->arg, 8);
    b->mix.tags = 1 + b->choose(b->arg, 5);
    b->mix.wild = b->choose(b->arg, 50);
    b->mix.limit = 4u << b->choose(b->arg, 6);
    b->mix.arrive = 20 + b->choose(b->arg, 50);
    b->mix.post = 75 - b->mix.arrive;
}

static int id_of(const lhs_both_t *b, const dnet_match_item_t *item)
{
    return item == NULL ? DNET_REF_NONE : (int) (item - b->item);
}

static void release(lhs_both_t *b, int id)
{
    if (id != DNET_REF_NONE)
        b->free_ids[b->free_count++] = id;
}

/* A message or receive; the values reach the highest bits of their fields. */
static dnet_ref_entry_t draw(lhs_both_t *b, bool receive)
{
    dnet_ref_entry_t e = {
        .id = DNET_REF_NONE,
        .context = (int) (b->choose(b->arg, b->mix.contexts) * 0x5555 & 0xffff),
        .rank = (int) (b->choose(b->arg, b->mix.ranks) * 0x1fff & 0x3fff),
        .tag = (int64_t) b->choose(b->arg, b->mix.tags) * 0x7fffffff & 0xffffffff,
    };
    if (receive && b->choose(b->arg, 100) < b->mix.wild)
        e.rank = DNET_REF_ANY;
    if (receive && b->choose(b->arg, 100) < b->mix.wild)
        e.tag = DNET_REF_ANY;
    return e;
}

/* Bits that are not compared hold anything. */
static uint64_t envelope_of(lhs_both_t *b, dnet_ref_entry_t e)
{
    uint64_t rank = e.rank == DNET_REF_ANY ? b->choose(b->arg, 8) * 0x1fff : (uint64_t) e.rank;
    uint64_t tag = e.tag == DNET_REF_ANY ? b->choose(b->arg, 5) * 0x7fffffffull : (uint64_t) e.tag;
    unsigned flags = b->choose(b->arg, 4);
    return DNET_PUT(e.context, LH_CONTEXT) | DNET_PUT(rank, LH_RANK) | DNET_PUT(tag, LH_TAG) |
           DNET_PUT(flags & 1, LH_VALID) | DNET_PUT(flags >> 1, LH_COMPLETE);
}

static uint64_t mask_of(dnet_ref_entry_t e)
{
    return (e.rank == DNET_REF_ANY ? DNET_MATCH_ANY_SOURCE : DNET_MATCH_BITS) &
           (e.tag == DNET_REF_ANY ? DNET_MATCH_ANY_TAG : DNET_MATCH_BITS);
}

static bool message_arrives(lhs_both_t *b)
{
    dnet_ref_entry_t e = draw(b, false);
    uint64_t envelope = envelope_of(b, e);
    int expected = dnet_ref_arrive(&b->slow, e);
    if (id_of(b, dnet_match_arrive(&b->fast, envelope)) != expected)
        return false;
    release(b, expected);
    if (expected != DNET_REF_NONE || (unsigned) b->slow.unexpected.count >= b->mix.limit)
        return true;
    e.id = b->free_ids[--b->free_count];
    dnet_ref_keep(&b->slow, e);
    b->item[e.id].envelope = envelope;
    dnet_match_keep(&b->fast, &b->item[e.id]);
    return true;
}

static bool receive_starts(lhs_both_t *b)
{
    dnet_ref_entry_t e = draw(b, true);
    uint64_t envelope = envelope_of(b, e), mask = mask_of(e);
    int expected = dnet_ref_lookup(&b->slow, e, true);
    if (id_of(b, dnet_match_take(&b->fast, envelope, mask)) != expected)
        return false;
    release(b, expected);
    if (expected != DNET_REF_NONE || (unsigned) b->slow.posted.count >= b->mix.limit)
        return true;
    e.id = b->free_ids[--b->free_count];
    dnet_ref_post(&b->slow, e);
    b->item[e.id].envelope = envelope;
    b->item[e.id].mask = mask;
    dnet_match_post(&b->fast, &b->item[e.id]);
    return true;
}

static bool probe(lhs_both_t *b)
{
    dnet_ref_entry_t e = draw(b, true);
    return id_of(b, dnet_match_peek(&b->fast, envelope_of(b, e), mask_of(e))) ==
           dnet_ref_lookup(&b->slow, e, false);
}

static bool cancel(lhs_both_t *b)
{
    if (b->slow.posted.count == 0)
        return true;
    unsigned at = b->choose(b->arg, (unsigned) b->slow.posted.count);
    int id = b->slow.posted.entry[at].id;
    if (!dnet_ref_withdraw(&b->slow, id))
        return false;
    dnet_match_withdraw(&b->fast, &b->item[id]);
    release(b, id);
    return true;
}

bool lhs_both_step(lhs_both_t *b)
{
    unsigned what = b->choose(b->arg, 100);
    bool same;
    if (what < b->mix.arrive)
        same = message_arrives(b);
    else if (what < b->mix.arrive + b->mix.post)
        same = receive_starts(b);
    else if (what < 90)
        same = probe(b);
    else
        same = cancel(b);
    return same && (int) b->fast.posted_count == b->slow.posted.count &&
           (int) b->fast.unexpected_count == b->slow.unexpected.count;
}
