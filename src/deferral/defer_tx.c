/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The sender's state machine: one function per state.
 */
#include "deferral/defer_tx.h"

typedef dnet_defer_tx_facts_t facts_t;

const char *dnet_defer_tx_state_name(dnet_defer_tx_state_t state)
{
    switch (state) {
#define DNET_DEFER_TX_STATE(name, meaning) \
    case DNET_DEFER_TX_##name: \
        return #name;
#include "deferral/defer_tx.def"
#undef DNET_DEFER_TX_STATE
    }
    return "?";
}

bool dnet_defer_tx_is_out(const dnet_defer_tx_t *tx)
{
    switch ((dnet_defer_tx_state_t) tx->state) {
        case DNET_DEFER_TX_OFFERED:
        case DNET_DEFER_TX_OFFERED_PULLED:
        case DNET_DEFER_TX_OFFERED_GRANTED:
        case DNET_DEFER_TX_OFFERED_RELEASED:
            return true;
        case DNET_DEFER_TX_RUN:
        case DNET_DEFER_TX_HELD:
        case DNET_DEFER_TX_GRANTED:
            break;
    }
    return false;
}

bool dnet_defer_tx_pulled(const dnet_defer_tx_t *tx, dnet_defer_tx_event_t event)
{
    return (tx->state == DNET_DEFER_TX_HELD && event == DNET_DEFER_TX_ON_PULL) ||
           (tx->state == DNET_DEFER_TX_OFFERED_PULLED && event == DNET_DEFER_TX_ON_VERDICT);
}

void dnet_defer_tx_sent(dnet_defer_tx_t *tx, uint64_t bytes)
{
    tx->granted_bytes -= bytes < tx->granted_bytes ? bytes : tx->granted_bytes;
}

static unsigned run(dnet_defer_tx_t *tx)
{
    tx->state = DNET_DEFER_TX_RUN;
    tx->granted_bytes = 0;
    return DNET_DEFER_TX_DO_SEND;
}

static unsigned use_grant(dnet_defer_tx_t *tx)
{
    tx->state = DNET_DEFER_TX_GRANTED;
    return DNET_DEFER_TX_DO_SEND;
}

/* No OFFER is out and no word waits: offer what is fresh.  With nothing kept, holding has no more
 * to hold; the next message that is refused starts it anew. */
static unsigned go_on(dnet_defer_tx_t *tx, const facts_t *facts)
{
    if (!facts->kept)
        return run(tx);
    tx->state = facts->fresh ? DNET_DEFER_TX_OFFERED : DNET_DEFER_TX_HELD;
    return facts->fresh ? DNET_DEFER_TX_DO_OFFER_FRESH : 0;
}

static unsigned answer_pull(dnet_defer_tx_t *tx, const facts_t *facts)
{
    if (!facts->fits)
        return DNET_DEFER_TX_DO_PULL_NONE | go_on(tx, facts);
    tx->state = DNET_DEFER_TX_OFFERED;
    return DNET_DEFER_TX_DO_OFFER_PULLED;
}

static unsigned on_run(dnet_defer_tx_t *tx, dnet_defer_tx_event_t event, const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_TX_ON_REFUSED:
            return go_on(tx, facts);
        case DNET_DEFER_TX_ON_PULL:
            return DNET_DEFER_TX_DO_PULL_NONE;
        case DNET_DEFER_TX_ON_GRANT:
            return DNET_DEFER_TX_DO_DONE;
        case DNET_DEFER_TX_ON_RELEASE:
            return DNET_DEFER_TX_DO_RELEASE_ACK;
        case DNET_DEFER_TX_ON_VERDICT:
            return DNET_DEFER_TX_DO_REPORT;
        case DNET_DEFER_TX_ON_ADDED:
        case DNET_DEFER_TX_ON_TAKE:
        case DNET_DEFER_TX_ON_SPENT:
            break;
    }
    return 0;
}

static unsigned on_offered(dnet_defer_tx_t *tx, dnet_defer_tx_event_t event, const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_TX_ON_VERDICT:
            return go_on(tx, facts);
        case DNET_DEFER_TX_ON_PULL:
            tx->state = DNET_DEFER_TX_OFFERED_PULLED;
            return 0;
        case DNET_DEFER_TX_ON_GRANT:
            tx->state = DNET_DEFER_TX_OFFERED_GRANTED;
            tx->granted_bytes = facts->bytes;
            return 0;
        case DNET_DEFER_TX_ON_RELEASE:
            tx->state = DNET_DEFER_TX_OFFERED_RELEASED;
            return DNET_DEFER_TX_DO_RELEASE_ACK;
        case DNET_DEFER_TX_ON_REFUSED:
        case DNET_DEFER_TX_ON_ADDED:
        case DNET_DEFER_TX_ON_TAKE:
        case DNET_DEFER_TX_ON_SPENT:
            break;
    }
    return 0;
}

static unsigned on_offered_pulled(dnet_defer_tx_t *tx, dnet_defer_tx_event_t event,
                                  const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_TX_ON_VERDICT:
            return answer_pull(tx, facts);
        case DNET_DEFER_TX_ON_RELEASE:
            tx->state = DNET_DEFER_TX_OFFERED_RELEASED;
            return DNET_DEFER_TX_DO_PULL_NONE | DNET_DEFER_TX_DO_RELEASE_ACK;
        case DNET_DEFER_TX_ON_PULL: /* a receiver has one PULL or one GRANT under way */
        case DNET_DEFER_TX_ON_GRANT:
            return DNET_DEFER_TX_DO_REPORT;
        case DNET_DEFER_TX_ON_REFUSED:
        case DNET_DEFER_TX_ON_ADDED:
        case DNET_DEFER_TX_ON_TAKE:
        case DNET_DEFER_TX_ON_SPENT:
            break;
    }
    return 0;
}

static unsigned on_offered_granted(dnet_defer_tx_t *tx, dnet_defer_tx_event_t event)
{
    switch (event) {
        case DNET_DEFER_TX_ON_VERDICT:
            return use_grant(tx);
        case DNET_DEFER_TX_ON_RELEASE:
            tx->state = DNET_DEFER_TX_OFFERED_RELEASED;
            return DNET_DEFER_TX_DO_RELEASE_ACK;
        case DNET_DEFER_TX_ON_PULL:
        case DNET_DEFER_TX_ON_GRANT:
            return DNET_DEFER_TX_DO_REPORT;
        case DNET_DEFER_TX_ON_REFUSED:
        case DNET_DEFER_TX_ON_ADDED:
        case DNET_DEFER_TX_ON_TAKE:
        case DNET_DEFER_TX_ON_SPENT:
            break;
    }
    return 0;
}

static unsigned on_offered_released(dnet_defer_tx_t *tx, dnet_defer_tx_event_t event)
{
    switch (event) {
        case DNET_DEFER_TX_ON_VERDICT:
            return run(tx);
        case DNET_DEFER_TX_ON_PULL:
            return DNET_DEFER_TX_DO_PULL_NONE;
        case DNET_DEFER_TX_ON_GRANT:
            return DNET_DEFER_TX_DO_DONE;
        case DNET_DEFER_TX_ON_RELEASE:
            return DNET_DEFER_TX_DO_RELEASE_ACK;
        case DNET_DEFER_TX_ON_REFUSED:
        case DNET_DEFER_TX_ON_ADDED:
        case DNET_DEFER_TX_ON_TAKE:
        case DNET_DEFER_TX_ON_SPENT:
            break;
    }
    return 0;
}

static unsigned on_held(dnet_defer_tx_t *tx, dnet_defer_tx_event_t event, const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_TX_ON_ADDED:
        case DNET_DEFER_TX_ON_TAKE:
            return go_on(tx, facts);
        case DNET_DEFER_TX_ON_PULL:
            return answer_pull(tx, facts);
        case DNET_DEFER_TX_ON_GRANT:
            tx->granted_bytes = facts->bytes;
            return use_grant(tx);
        case DNET_DEFER_TX_ON_RELEASE:
            return DNET_DEFER_TX_DO_RELEASE_ACK | run(tx);
        case DNET_DEFER_TX_ON_VERDICT:
            return DNET_DEFER_TX_DO_REPORT;
        case DNET_DEFER_TX_ON_REFUSED:
        case DNET_DEFER_TX_ON_SPENT:
            break;
    }
    return 0;
}

static unsigned on_granted(dnet_defer_tx_t *tx, dnet_defer_tx_event_t event, const facts_t *facts)
{
    switch (event) {
        case DNET_DEFER_TX_ON_TAKE:
            return facts->kept ? 0 : on_granted(tx, DNET_DEFER_TX_ON_SPENT, facts);
        case DNET_DEFER_TX_ON_SPENT:
            tx->granted_bytes = 0;
            return DNET_DEFER_TX_DO_DONE | go_on(tx, facts);
        case DNET_DEFER_TX_ON_RELEASE:
            return DNET_DEFER_TX_DO_RELEASE_ACK | run(tx);
        case DNET_DEFER_TX_ON_VERDICT:
        case DNET_DEFER_TX_ON_PULL:
        case DNET_DEFER_TX_ON_GRANT:
            return DNET_DEFER_TX_DO_REPORT;
        case DNET_DEFER_TX_ON_REFUSED:
        case DNET_DEFER_TX_ON_ADDED:
            break;
    }
    return 0;
}

unsigned dnet_defer_tx_event(dnet_defer_tx_t *tx, dnet_defer_tx_event_t event, const facts_t *facts)
{
    switch ((dnet_defer_tx_state_t) tx->state) {
        case DNET_DEFER_TX_RUN:
            return on_run(tx, event, facts);
        case DNET_DEFER_TX_OFFERED:
            return on_offered(tx, event, facts);
        case DNET_DEFER_TX_OFFERED_PULLED:
            return on_offered_pulled(tx, event, facts);
        case DNET_DEFER_TX_OFFERED_GRANTED:
            return on_offered_granted(tx, event);
        case DNET_DEFER_TX_OFFERED_RELEASED:
            return on_offered_released(tx, event);
        case DNET_DEFER_TX_HELD:
            return on_held(tx, event, facts);
        case DNET_DEFER_TX_GRANTED:
            return on_granted(tx, event, facts);
    }
    return DNET_DEFER_TX_DO_REPORT;
}
