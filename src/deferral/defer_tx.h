/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that their receiver holds back (docs/protocol.md 6.1): the sender's part, per receiver.
 *
 * The messages stay at the sender, in order.  Each is offered once, several at a time, and what no
 * receive takes is declined and kept.  For a receive that is posted later the receiver pulls: the
 * oldest declined message that fits is offered again.  With a GRANT the oldest messages are sent;
 * with a RELEASE all are.
 *
 *        oldest ............... fresh ............. newest
 *          declined, or out       never offered
 *
 * One OFFER is out at a time, and nothing is sent or offered before its VERDICT, because the
 * VERDICT may take what would be sent.  So a PULL, a GRANT or a RELEASE that comes meanwhile waits
 * for it: these are the three OFFERED_ states.
 *
 * Pure logic: no I/O, no clock, no allocation, O(1).  The messages are the caller's; it says with
 * each event what it keeps, and carries out the actions that come back, in the order of the list.
 *
 * Words come in order and none is lost, because they are packets that the NIC lets in whatever is
 * held back.  A word that no receiver says in a state is reported and changes nothing.
 *
 * Threads: one caller at a time per object.
 */
#ifndef DNET_DEFER_TX_H
#define DNET_DEFER_TX_H

#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define DNET_DEFER_TX_STATE(name, meaning) DNET_DEFER_TX_##name,
#include "deferral/defer_tx.def"
#undef DNET_DEFER_TX_STATE
} dnet_defer_tx_state_t;

typedef enum {
#define DNET_DEFER_TX_EVENT(name, meaning) DNET_DEFER_TX_ON_##name,
#include "deferral/defer_tx.def"
#undef DNET_DEFER_TX_EVENT
} dnet_defer_tx_event_t;

/* Numbers of the actions' bits. */
typedef enum {
#define DNET_DEFER_TX_ACTION(name, meaning) DNET_DEFER_TX_BIT_##name,
#include "deferral/defer_tx.def"
#undef DNET_DEFER_TX_ACTION
} dnet_defer_tx_bit_t;

/** Actions, as a set of bits. */
enum {
#define DNET_DEFER_TX_ACTION(name, meaning) \
    DNET_DEFER_TX_DO_##name = 1u << DNET_DEFER_TX_BIT_##name,
#include "deferral/defer_tx.def"
#undef DNET_DEFER_TX_ACTION
};

/** All zero: RUN. */
typedef struct {
    uint8_t state;          /* dnet_defer_tx_state_t */
    uint64_t granted_bytes; /* OFFERED_GRANTED, GRANTED: what may still be sent */
} dnet_defer_tx_t;

/** What the caller knows when an event happens. */
typedef struct {
    bool kept;      /* there are messages that were not taken and not sent */
    bool fresh;     /* some of them were never offered */
    bool fits;      /* one that was declined fits the PULL that is to be answered */
    uint64_t bytes; /* GRANT: how many, 1.. */
} dnet_defer_tx_facts_t;

/** Name of a state, "RUN"; "?" for a value not in the list. */
const char *dnet_defer_tx_state_name(dnet_defer_tx_state_t state);

/** May messages be sent now?  While false they are kept in order. */
static inline bool dnet_defer_tx_may_send(const dnet_defer_tx_t *tx)
{
    return tx->state == DNET_DEFER_TX_RUN ||
           (tx->state == DNET_DEFER_TX_GRANTED && tx->granted_bytes != 0);
}

/** Does the receiver hold messages back?  Then one that is sent is marked pass. */
static inline bool dnet_defer_tx_is_held(const dnet_defer_tx_t *tx)
{
    return tx->state != DNET_DEFER_TX_RUN;
}

/** Is an OFFER out?  Its messages must be kept until the VERDICT. */
bool dnet_defer_tx_is_out(const dnet_defer_tx_t *tx);

/** Is a PULL to be answered when this event has been handled?  Then facts.fits must be known. */
bool dnet_defer_tx_pulled(const dnet_defer_tx_t *tx, dnet_defer_tx_event_t event);

/** A message of so many bytes (in the receiver's store) has been sent, marked pass. */
void dnet_defer_tx_sent(dnet_defer_tx_t *tx, uint64_t bytes);

/** Has the GRANT been used?  Then the caller reports SPENT.  @param kept  as in the facts */
static inline bool dnet_defer_tx_is_spent(const dnet_defer_tx_t *tx, bool kept)
{
    return tx->state == DNET_DEFER_TX_GRANTED && (tx->granted_bytes == 0 || !kept);
}

/**
 * Something has happened.
 *
 * @return actions (DNET_DEFER_TX_DO_...) for the caller, who carries them out in the order of
 *         defer_tx.def
 */
unsigned dnet_defer_tx_event(dnet_defer_tx_t *tx, dnet_defer_tx_event_t event,
                             const dnet_defer_tx_facts_t *facts);

#endif
