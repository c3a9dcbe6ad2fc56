/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The receiver's state machine: one function per state.
 */
#include "deferral/defer_rx.h"

#include <stddef.h>

typedef dnet_defer_rx_facts_t facts_t;

const char *dnet_defer_rx_state_name(dnet_defer_rx_state_t state)
{
    switch (state) {
#define DNET_DEFER_RX_STATE(name, meaning) \
    case DNET_DEFER_RX_##name: \
        return #name;
#include "deferral/defer_rx.def"
#undef DNET_DEFER_RX_STATE
    }
    return "?";
}

/* ---- what is wanted ---- */

void dnet_defer_wanted_init(dnet_defer_wanted_t *w, dnet_defer_may_have_fn may_have, void *arg)
{
    *w = (dnet_defer_wanted_t){.may_have = may_have, .arg = arg};
    w->receives.next = w->receives.prev = &w->receives;
}

void dnet_defer_wanted_add(dnet_defer_wanted_t *w, dnet_match_item_t *receive)
{
    dnet_match_link_t *link = &receive->arrival;
    link->next = &w->receives;
    link->prev = w->receives.prev;
    link->prev->next = link;
    w->receives.prev = link;
}

void dnet_defer_wanted_remove(dnet_match_item_t *receive)
{
    dnet_match_link_t *link = &receive->arrival;
    link->prev->next = link->next;
    link->next->prev = link->prev;
}

/* The first receive behind this one that the sender can have a message for. */
static dnet_match_item_t *wanted_after(const dnet_defer_rx_t *rx, const dnet_defer_wanted_t *w,
                                       const dnet_match_item_t *receive)
{
    for (dnet_match_link_t *link = receive->arrival.next; link != &w->receives; link = link->next) {
        char *item = (char *) link - offsetof(dnet_match_item_t, arrival);
        if (w->may_have(w->arg, rx->rank, (dnet_match_item_t *) (void *) item))
            return (dnet_match_item_t *) (void *) item;
    }
    return NULL;
}

void dnet_defer_rx_unwant(dnet_defer_rx_t *rx, const dnet_defer_wanted_t *w,
                          const dnet_match_item_t *receive)
{
    if (rx->next == receive)
        rx->next = wanted_after(rx, w, receive);
    if (rx->asked == receive)
        rx->asked = NULL;
}

uint64_t dnet_defer_rx_before(const dnet_defer_rx_t *rx)
{
    if (rx->asked)
        return rx->asked->order;
    return rx->next ? rx->next->order : UINT64_MAX;
}

/* ---- the machine ---- */

/* Nothing is under way to the sender: pull for the next receive, if there is one. */
static unsigned go_on(dnet_defer_rx_t *rx, dnet_defer_wanted_t *w)
{
    rx->state = DNET_DEFER_RX_HELD;
    rx->asked = rx->next;
    if (!rx->asked)
        return 0;
    rx->next = wanted_after(rx, w, rx->asked);
    if (++w->pull_id == 0)
        w->pull_id = 1;
    rx->pull_id = w->pull_id;
    rx->state = DNET_DEFER_RX_PULLING;
    return DNET_DEFER_RX_DO_PULL;
}

/* What is wanted of the sender does not matter any more: all that it has will come. */
static unsigned release(dnet_defer_rx_t *rx)
{
    rx->state = DNET_DEFER_RX_RELEASING;
    rx->declined = false;
    rx->asked = rx->next = NULL;
    rx->granted_bytes = 0;
    return DNET_DEFER_RX_DO_RELEASE;
}

/* What was never declined meets the receive when it is offered. */
static void want(dnet_defer_rx_t *rx, const dnet_defer_wanted_t *w, dnet_match_item_t *receive)
{
    if (rx->declined && !rx->next && w->may_have(w->arg, rx->rank, receive))
        rx->next = receive;
}

static unsigned on_open(dnet_defer_rx_t *rx, dnet_defer_rx_event_t event, const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_RX_ON_FULL:
            rx->state = DNET_DEFER_RX_HELD;
            return 0;
        case DNET_DEFER_RX_ON_NOTED:
            if (!facts->in_table) /* released before the note was read */
                return release(rx);
            rx->state = DNET_DEFER_RX_HELD;
            return 0;
        case DNET_DEFER_RX_ON_OFFER:
            if (!facts->in_table) /* the same, and the note has been lost */
                return release(rx) | DNET_DEFER_RX_DO_VERDICT;
            rx->state = DNET_DEFER_RX_HELD;
            return DNET_DEFER_RX_DO_MATCH | DNET_DEFER_RX_DO_VERDICT;
        case DNET_DEFER_RX_ON_OFFER_PULL:
            return on_open(rx, DNET_DEFER_RX_ON_NOTED, facts) | DNET_DEFER_RX_DO_VERDICT;
        case DNET_DEFER_RX_ON_ANSWERED:
        case DNET_DEFER_RX_ON_PULL_NONE:
        case DNET_DEFER_RX_ON_POSTED:
        case DNET_DEFER_RX_ON_ROOM:
        case DNET_DEFER_RX_ON_DONE:
        case DNET_DEFER_RX_ON_RELEASE_ACK:
            break;
    }
    return 0;
}

static unsigned on_held(dnet_defer_rx_t *rx, dnet_defer_wanted_t *w, dnet_defer_rx_event_t event,
                        const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_RX_ON_OFFER:
            return DNET_DEFER_RX_DO_MATCH | DNET_DEFER_RX_DO_VERDICT;
        case DNET_DEFER_RX_ON_OFFER_PULL:
            return DNET_DEFER_RX_DO_VERDICT;
        case DNET_DEFER_RX_ON_POSTED:
            want(rx, w, facts->receive);
            return go_on(rx, w);
        case DNET_DEFER_RX_ON_ROOM:
            rx->state = DNET_DEFER_RX_GRANTED;
            rx->granted_bytes = facts->bytes;
            return DNET_DEFER_RX_DO_GRANT;
        case DNET_DEFER_RX_ON_FULL:
        case DNET_DEFER_RX_ON_NOTED:
        case DNET_DEFER_RX_ON_ANSWERED:
        case DNET_DEFER_RX_ON_PULL_NONE:
        case DNET_DEFER_RX_ON_DONE:
        case DNET_DEFER_RX_ON_RELEASE_ACK:
            break;
    }
    return 0;
}

static unsigned on_pulling(dnet_defer_rx_t *rx, dnet_defer_wanted_t *w, dnet_defer_rx_event_t event,
                           const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_RX_ON_OFFER:
            return DNET_DEFER_RX_DO_MATCH | DNET_DEFER_RX_DO_VERDICT;
        case DNET_DEFER_RX_ON_OFFER_PULL:
            return facts->id == rx->pull_id ? DNET_DEFER_RX_DO_MATCH | DNET_DEFER_RX_DO_VERDICT
                                            : DNET_DEFER_RX_DO_VERDICT;
        case DNET_DEFER_RX_ON_ANSWERED:
            return go_on(rx, w);
        case DNET_DEFER_RX_ON_PULL_NONE:
            return facts->id == rx->pull_id ? go_on(rx, w) : 0;
        case DNET_DEFER_RX_ON_POSTED:
            want(rx, w, facts->receive);
            return 0;
        case DNET_DEFER_RX_ON_FULL:
        case DNET_DEFER_RX_ON_NOTED:
        case DNET_DEFER_RX_ON_ROOM:
        case DNET_DEFER_RX_ON_DONE:
        case DNET_DEFER_RX_ON_RELEASE_ACK:
            break;
    }
    return 0;
}

static unsigned on_granted(dnet_defer_rx_t *rx, dnet_defer_wanted_t *w, dnet_defer_rx_event_t event,
                           const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_RX_ON_OFFER: /* it was out when the GRANT was said */
            return DNET_DEFER_RX_DO_MATCH | DNET_DEFER_RX_DO_VERDICT;
        case DNET_DEFER_RX_ON_OFFER_PULL:
            return DNET_DEFER_RX_DO_VERDICT;
        case DNET_DEFER_RX_ON_POSTED:
            want(rx, w, facts->receive);
            return 0;
        case DNET_DEFER_RX_ON_DONE:
            rx->granted_bytes = 0;
            return facts->more ? go_on(rx, w) : release(rx);
        case DNET_DEFER_RX_ON_FULL:
        case DNET_DEFER_RX_ON_NOTED:
        case DNET_DEFER_RX_ON_ANSWERED:
        case DNET_DEFER_RX_ON_PULL_NONE:
        case DNET_DEFER_RX_ON_ROOM:
        case DNET_DEFER_RX_ON_RELEASE_ACK:
            break;
    }
    return 0;
}

static unsigned on_releasing(dnet_defer_rx_t *rx, dnet_defer_rx_event_t event, const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_RX_ON_OFFER: /* it will send these messages itself */
        case DNET_DEFER_RX_ON_OFFER_PULL:
            return DNET_DEFER_RX_DO_VERDICT;
        case DNET_DEFER_RX_ON_RELEASE_ACK:
            rx->state = facts->in_table ? DNET_DEFER_RX_HELD : DNET_DEFER_RX_OPEN;
            return facts->in_table ? 0 : DNET_DEFER_RX_DO_FORGET;
        case DNET_DEFER_RX_ON_FULL:
        case DNET_DEFER_RX_ON_NOTED:
        case DNET_DEFER_RX_ON_ANSWERED:
        case DNET_DEFER_RX_ON_PULL_NONE:
        case DNET_DEFER_RX_ON_POSTED:
        case DNET_DEFER_RX_ON_ROOM:
        case DNET_DEFER_RX_ON_DONE:
            break;
    }
    return 0;
}

unsigned dnet_defer_rx_event(dnet_defer_rx_t *rx, dnet_defer_wanted_t *w,
                             dnet_defer_rx_event_t event, const facts_t *facts)
{
    switch ((dnet_defer_rx_state_t) rx->state) {
        case DNET_DEFER_RX_OPEN:
            return on_open(rx, event, facts);
        case DNET_DEFER_RX_HELD:
            return on_held(rx, w, event, facts);
        case DNET_DEFER_RX_PULLING:
            return on_pulling(rx, w, event, facts);
        case DNET_DEFER_RX_GRANTED:
            return on_granted(rx, w, event, facts);
        case DNET_DEFER_RX_RELEASING:
            return on_releasing(rx, event, facts);
    }
    return 0;
}
