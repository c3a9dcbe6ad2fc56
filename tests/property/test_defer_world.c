/* SPDX-License-Identifier: BSD-3-Clause
 *
 * src/deferral, both sides: senders and a receiver whose steps come in random order.  Words arrive
 * in order; the NIC's note of a refusal is lost, doubled or late.
 *
 * Checked: each message is received once; of the messages of a sender that fit a receive the oldest
 * is taken; no word is one that makes no sense; and all is received in the end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "deferral/defer_rx.h"
#include "deferral/defer_tx.h"
#include "seed.h"

enum { SENDERS = 3, MESSAGES = 40, RECEIVES = 400, TAGS = 3, BUDGET = 4, OFFERS = 3, RUNS = 400 };
enum { STEPS = 200000 }; /* of a run; a few thousand are needed */

typedef enum {
    MESSAGE,
    OFFER,
    PULL_NONE,
    RELEASE_ACK,
    DONE,
    VERDICT,
    PULL,
    GRANT,
    RELEASE,
} word_type_t;

typedef struct {
    word_type_t type;
    uint16_t id;
    unsigned count, number[OFFERS]; /* OFFER, MESSAGE: which */
    uint64_t envelope, mask;        /* PULL */
    unsigned bits, bytes, more;
} word_t;

typedef struct {
    word_t word[64];
    unsigned put, got;
} fifo_t;

typedef struct {
    dnet_defer_tx_t tx;
    enum { FUTURE, KEPT, GONE } at[MESSAGES];
    unsigned tag[MESSAGES];
    unsigned started, fresh; /* number of the first message that was never offered */
    unsigned out[OFFERS], out_count;
    word_t pull;
    fifo_t up, down;
    unsigned notes; /* under way to the receiver */
    /* at the receiver */
    dnet_defer_rx_t rx;
    bool in_table;
    bool received[MESSAGES];
    dnet_match_item_t landed[MESSAGES];
} sender_t;

typedef struct {
    dnet_match_item_t item; /* first member */
    bool open, wanted;
} receive_t;

static sender_t senders[SENDERS];
static receive_t receives[RECEIVES];
static dnet_match_t match;
static dnet_defer_wanted_t wanted;
static unsigned posted, received, stored, granted;
static bool holding;
static dnet_random_t dice;

static uint64_t envelope_of(const sender_t *s, unsigned number)
{
    return UINT64_C(1) << 48 | (uint64_t) (s - senders) << 32 | s->tag[number];
}

static void put(fifo_t *f, word_t word)
{
    assert_true(f->put - f->got < 64);
    f->word[f->put++ % 64] = word;
}

static bool is_empty(const fifo_t *f)
{
    return f->put == f->got;
}

/* ---- sender ---- */

/* The oldest message in [from, to) that is kept and fits; `to` if there is none. */
static unsigned oldest(const sender_t *s, unsigned from, unsigned to, const word_t *pull)
{
    while (from < to &&
           !(s->at[from] == KEPT &&
             (!pull || dnet_match_fits(envelope_of(s, from), pull->envelope, pull->mask))))
        from++;
    return from;
}

static void offer(sender_t *s, uint16_t id)
{
    word_t word = {.type = OFFER, .id = id, .count = s->out_count};
    memcpy(word.number, s->out, sizeof(s->out));
    put(&s->up, word);
}

static void tx_event(sender_t *s, dnet_defer_tx_event_t event, unsigned bytes)
{
    unsigned from = s->fresh < s->started ? s->fresh : s->started;
    dnet_defer_tx_facts_t facts = {
        .kept = oldest(s, 0, s->started, NULL) < s->started,
        .fresh = oldest(s, from, s->started, NULL) < s->started,
        .fits = dnet_defer_tx_pulled(&s->tx, event) && oldest(s, 0, from, &s->pull) < from,
        .bytes = bytes,
    };
    unsigned actions = dnet_defer_tx_event(&s->tx, event, &facts);
    assert_false(actions & DNET_DEFER_TX_DO_REPORT);
    if (actions & DNET_DEFER_TX_DO_PULL_NONE)
        put(&s->up, (word_t){.type = PULL_NONE, .id = s->pull.id});
    if (actions & DNET_DEFER_TX_DO_RELEASE_ACK)
        put(&s->up, (word_t){.type = RELEASE_ACK});
    if (actions & DNET_DEFER_TX_DO_DONE)
        put(&s->up, (word_t){.type = DONE, .more = facts.kept});
    if (actions & DNET_DEFER_TX_DO_OFFER_PULLED) {
        s->out[0] = oldest(s, 0, from, &s->pull);
        s->out_count = 1;
        offer(s, s->pull.id);
    }
    if (actions & DNET_DEFER_TX_DO_OFFER_FRESH) {
        s->out_count = 0;
        while (s->out_count < OFFERS && s->fresh < s->started)
            if (s->at[s->fresh++] == KEPT)
                s->out[s->out_count++] = s->fresh - 1;
        offer(s, 0);
    }
}

static void start_message(sender_t *s)
{
    s->at[s->started++] = KEPT;
    if (dnet_defer_tx_is_held(&s->tx))
        tx_event(s, DNET_DEFER_TX_ON_ADDED, 0);
}

static void transmit(sender_t *s)
{
    unsigned number = oldest(s, 0, s->started, NULL);
    if (number < s->started && s->in_table && !dnet_defer_tx_is_held(&s->tx)) {
        s->notes += dnet_random_below(&dice, 3); /* lost, or doubled */
        s->fresh = number;
        tx_event(s, DNET_DEFER_TX_ON_REFUSED, 0);
        return;
    }
    if (number < s->started) {
        s->at[number] = GONE;
        put(&s->up, (word_t){.type = MESSAGE, .count = 1, .number = {number}});
        if (dnet_defer_tx_is_held(&s->tx))
            dnet_defer_tx_sent(&s->tx, 1);
        if (s->fresh == number)
            s->fresh++;
    }
    if (dnet_defer_tx_is_spent(&s->tx, oldest(s, 0, s->started, NULL) < s->started))
        tx_event(s, DNET_DEFER_TX_ON_SPENT, 0);
}

static void told(sender_t *s)
{
    word_t word = s->down.word[s->down.got++ % 64];
    if (word.type == VERDICT) {
        for (unsigned i = 0; i < s->out_count; i++)
            if (word.bits >> i & 1)
                s->at[s->out[i]] = GONE;
        s->out_count = 0;
        tx_event(s, DNET_DEFER_TX_ON_VERDICT, 0);
    } else if (word.type == PULL) {
        s->pull = word;
        tx_event(s, DNET_DEFER_TX_ON_PULL, 0);
    } else if (word.type == GRANT) {
        tx_event(s, DNET_DEFER_TX_ON_GRANT, word.bytes);
    } else {
        tx_event(s, DNET_DEFER_TX_ON_RELEASE, 0);
    }
}

/* ---- receiver ---- */

static bool may_have(void *arg, uint32_t rank, const dnet_match_item_t *receive)
{
    (void) arg;
    bool any = (receive->mask & DNET_MASK(LH_RANK)) == 0;
    return any || ((receive->envelope & DNET_MASK(LH_RANK)) >> 32) == rank;
}

static void close_receive(receive_t *q)
{
    q->open = false;
    if (!q->wanted)
        return;
    q->wanted = false;
    for (sender_t *s = senders; s < senders + SENDERS; s++)
        dnet_defer_rx_unwant(&s->rx, &wanted, &q->item);
    dnet_defer_wanted_remove(&q->item);
}

/* MPI's rules, at every match. */
static void take(sender_t *s, unsigned number, receive_t *q)
{
    assert_true(q->open);
    assert_false(s->received[number]);
    assert_true(dnet_match_fits(envelope_of(s, number), q->item.envelope, q->item.mask));
    for (unsigned older = 0; older < number; older++)
        assert_true(s->received[older] ||
                    !dnet_match_fits(envelope_of(s, older), q->item.envelope, q->item.mask));
    s->received[number] = true;
    received++;
    close_receive(q);
}

static unsigned rx_event(sender_t *s, dnet_defer_rx_event_t event, dnet_defer_rx_facts_t facts)
{
    facts.in_table = s->in_table;
    unsigned actions = dnet_defer_rx_event(&s->rx, &wanted, event, &facts);
    if (actions & DNET_DEFER_RX_DO_RELEASE) {
        s->in_table = false;
        put(&s->down, (word_t){.type = RELEASE});
    }
    if (actions & DNET_DEFER_RX_DO_PULL)
        put(&s->down, (word_t){.type = PULL,
                               .id = s->rx.pull_id,
                               .envelope = s->rx.asked->envelope,
                               .mask = s->rx.asked->mask});
    if (actions & DNET_DEFER_RX_DO_GRANT) {
        granted += (unsigned) s->rx.granted_bytes;
        put(&s->down, (word_t){.type = GRANT, .bytes = (unsigned) s->rx.granted_bytes});
    }
    if (actions & DNET_DEFER_RX_DO_FORGET)
        s->rx = (dnet_defer_rx_t){.rank = (uint32_t) (s - senders)};
    return actions;
}

static void landed(sender_t *s, unsigned number)
{
    dnet_match_item_t *item = dnet_match_arrive(&match, envelope_of(s, number));
    if (item) {
        take(s, number, (receive_t *) item);
        return;
    }
    s->landed[number].envelope = envelope_of(s, number);
    dnet_match_keep(&match, &s->landed[number]);
    if (++stored <= BUDGET || s->in_table)
        return;
    holding = true;
    s->in_table = true;
    rx_event(s, DNET_DEFER_RX_ON_FULL, (dnet_defer_rx_facts_t){0});
}

static void offered(sender_t *s, const word_t *word)
{
    word_t verdict = {.type = VERDICT};
    receive_t *taken[OFFERS] = {NULL};
    unsigned actions = rx_event(s, word->id ? DNET_DEFER_RX_ON_OFFER_PULL : DNET_DEFER_RX_ON_OFFER,
                                (dnet_defer_rx_facts_t){.id = word->id});
    bool matches = actions & DNET_DEFER_RX_DO_MATCH;
    for (unsigned i = 0; matches && i < word->count; i++) {
        if (!word->id)
            taken[i] = (receive_t *) dnet_match_arrive_before(
                &match, envelope_of(s, word->number[i]), dnet_defer_rx_before(&s->rx));
        else if ((taken[i] = (receive_t *) s->rx.asked) != NULL)
            dnet_match_withdraw(&match, s->rx.asked);
        if (taken[i])
            verdict.bits |= 1u << i;
        else
            dnet_defer_rx_decline(&s->rx);
    }
    put(&s->down, verdict);
    if (matches && word->id)
        rx_event(s, DNET_DEFER_RX_ON_ANSWERED, (dnet_defer_rx_facts_t){0});
    for (unsigned i = 0; i < word->count; i++)
        if (taken[i])
            take(s, word->number[i], taken[i]);
}

static void hear(sender_t *s)
{
    word_t word = s->up.word[s->up.got++ % 64];
    if (word.type == MESSAGE) {
        landed(s, word.number[0]);
    } else if (word.type == OFFER) {
        offered(s, &word);
    } else if (word.type == PULL_NONE) {
        rx_event(s, DNET_DEFER_RX_ON_PULL_NONE, (dnet_defer_rx_facts_t){.id = word.id});
    } else if (word.type == RELEASE_ACK) {
        rx_event(s, DNET_DEFER_RX_ON_RELEASE_ACK, (dnet_defer_rx_facts_t){0});
    } else {
        granted -= (unsigned) s->rx.granted_bytes;
        rx_event(s, DNET_DEFER_RX_ON_DONE, (dnet_defer_rx_facts_t){.more = word.more});
    }
}

static sender_t *sender_of(const dnet_match_item_t *message)
{
    return &senders[(message->envelope & DNET_MASK(LH_RANK)) >> 32];
}

static void post(bool anything)
{
    unsigned x = dnet_random_below(&dice, 1u << 16);
    receive_t *q = &receives[posted++];
    uint64_t mask = DNET_MATCH_BITS;
    if (anything || x % 3 == 0)
        mask &= DNET_MATCH_ANY_SOURCE;
    if (anything || x / 3 % 3 == 0)
        mask &= DNET_MATCH_ANY_TAG;
    *q = (receive_t){.item = {.mask = mask,
                              .envelope = UINT64_C(1) << 48 | (uint64_t) (x / 9 % SENDERS) << 32 |
                                          x / 27 % TAGS},
                     .open = true};
    dnet_match_item_t *message = dnet_match_take(&match, q->item.envelope, mask);
    if (message) {
        sender_t *s = sender_of(message);
        stored--;
        take(s, (unsigned) (message - s->landed), q);
        return;
    }
    dnet_match_post(&match, &q->item);
    if (!holding)
        return;
    q->wanted = true;
    dnet_defer_wanted_add(&wanted, &q->item);
    for (sender_t *s = senders; s < senders + SENDERS; s++)
        rx_event(s, DNET_DEFER_RX_ON_POSTED, (dnet_defer_rx_facts_t){.receive = &q->item});
}

static void cancel(receive_t *q)
{
    if (!q->open)
        return;
    dnet_match_withdraw(&match, &q->item);
    close_receive(q);
}

static void grant(sender_t *s)
{
    unsigned share = 1 + dnet_random_below(&dice, 2);
    if (stored + granted + share <= BUDGET && s->rx.state == DNET_DEFER_RX_HELD)
        rx_event(s, DNET_DEFER_RX_ON_ROOM, (dnet_defer_rx_facts_t){.bytes = share});
}

/* ---- runs ---- */

static void begin(void)
{
    memset(senders, 0, sizeof(senders));
    posted = received = stored = granted = 0;
    holding = false;
    dnet_match_init(&match);
    dnet_defer_wanted_init(&wanted, may_have, NULL);
    for (unsigned i = 0; i < SENDERS; i++) {
        senders[i].rx.rank = i;
        for (unsigned m = 0; m < MESSAGES; m++)
            senders[i].tag[m] = dnet_random_below(&dice, TAGS);
    }
}

static void step(sender_t *s)
{
    switch (dnet_random_below(&dice, 8)) {
        case 0:
            if (s->started < MESSAGES)
                start_message(s);
            break;
        case 1:
        case 2:
            if (dnet_defer_tx_may_send(&s->tx) || dnet_defer_tx_is_spent(&s->tx, true))
                transmit(s);
            break;
        case 3:
            if (!is_empty(&s->down))
                told(s);
            break;
        case 4:
            if (!is_empty(&s->up))
                hear(s);
            break;
        case 5:
            if (s->notes) {
                s->notes--;
                rx_event(s, DNET_DEFER_RX_ON_NOTED, (dnet_defer_rx_facts_t){0});
            }
            break;
        case 6:
            grant(s);
            break;
        case 7:
            if (posted && dnet_random_below(&dice, 8) == 0)
                cancel(&receives[dnet_random_below(&dice, posted)]);
            else if (posted < RECEIVES / 2 && dnet_random_below(&dice, 4) == 0)
                post(false);
            break;
    }
}

/* Is a receive open that takes anything? */
static bool anything_is_open(void)
{
    for (receive_t *q = receives; q < receives + posted; q++)
        if (q->open && (q->item.mask & (DNET_MASK(LH_RANK) | DNET_MASK(LH_TAG))) == 0)
            return true;
    return false;
}

static void run_once(void)
{
    begin();
    for (unsigned n = 0; n < STEPS && received < SENDERS * MESSAGES; n++) {
        step(&senders[dnet_random_below(&dice, SENDERS)]);
        /* Later there is always a receive that takes anything, so that all must come. */
        if (n > 4000 && posted < RECEIVES && n % 16 == 0 && !anything_is_open())
            post(true);
    }
    if (received < SENDERS * MESSAGES)
        fail_msg("%u of %u messages were received; the first sender is %s here, %s there", received,
                 SENDERS * MESSAGES,
                 dnet_defer_tx_state_name((dnet_defer_tx_state_t) senders[0].tx.state),
                 dnet_defer_rx_state_name((dnet_defer_rx_state_t) senders[0].rx.state));
}

static void test_defer_world_all_is_received_in_order(void **state)
{
    (void) state;
    dice.state = dnet_test_seed("test_defer_world");
    for (unsigned run = 0; run < RUNS; run++)
        run_once();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defer_world_all_is_received_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
