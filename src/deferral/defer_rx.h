/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that their receiver holds back (docs/protocol.md 6.1): the receiver's part, per sender.
 *
 * A sender that is held offers each message once, as if it had arrived; what no receive takes stays
 * with the sender.  For a receive that is posted later the receiver pulls: it asks every sender
 * that keeps declined messages, one receive at a time in the order of posting.
 *
 * Of all messages of a sender that fit a receive the oldest must be taken.  So while a sender has
 * not answered for a receive, its fresh messages may go only to receives that were posted before
 * that one (dnet_defer_rx_before): an older message that was declined may fit as well.
 *
 * Of PULL, GRANT and RELEASE one is under way to a sender: PULLING, GRANTED, RELEASING.
 *
 * The hold table is the NIC's.  RELEASING alone may be in it or not: a sender that has not yet
 * acknowledged its RELEASE can be put into the table again, and is HELD after RELEASE_ACK.
 *
 * Pure logic: no I/O, no clock, no allocation.  Threads: one caller at a time per object.
 */
#ifndef DNET_DEFER_RX_H
#define DNET_DEFER_RX_H

#include <stdbool.h>
#include <stdint.h>

#include "lhs_match/lhs_match.h"

typedef enum {
#define DNET_DEFER_RX_STATE(name, meaning) DNET_DEFER_RX_##name,
#include "deferral/defer_rx.def"
#undef DNET_DEFER_RX_STATE
} dnet_defer_rx_state_t;

typedef enum {
#define DNET_DEFER_RX_EVENT(name, meaning) DNET_DEFER_RX_ON_##name,
#include "deferral/defer_rx.def"
#undef DNET_DEFER_RX_EVENT
} dnet_defer_rx_event_t;

/* Numbers of the actions' bits. */
typedef enum {
#define DNET_DEFER_RX_ACTION(name, meaning) DNET_DEFER_RX_BIT_##name,
#include "deferral/defer_rx.def"
#undef DNET_DEFER_RX_ACTION
} dnet_defer_rx_bit_t;

/** Actions, as a set of bits. */
enum {
#define DNET_DEFER_RX_ACTION(name, meaning) \
    DNET_DEFER_RX_DO_##name = 1u << DNET_DEFER_RX_BIT_##name,
#include "deferral/defer_rx.def"
#undef DNET_DEFER_RX_ACTION
};

/** A sender's record; all zero: OPEN. */
typedef struct {
    uint8_t state;            /* dnet_defer_rx_state_t */
    bool declined;            /* it keeps messages that were offered and not taken */
    uint16_t pull_id;         /* PULLING: number of the PULL */
    uint32_t rank;            /* the sender's, set by the caller */
    uint64_t granted_bytes;   /* GRANTED */
    dnet_match_item_t *asked; /* PULLING: what the PULL is for; NULL: no longer wanted */
    dnet_match_item_t *next;  /* what to pull for next; NULL: nothing */
} dnet_defer_rx_t;

/** Can this sender have a message for this receive? */
typedef bool (*dnet_defer_may_have_fn)(void *arg, uint32_t rank, const dnet_match_item_t *receive);

/** What all senders are pulled for: receives and probes since one is held, oldest first. */
typedef struct {
    dnet_match_link_t receives; /* by their arrival links */
    dnet_defer_may_have_fn may_have;
    void *arg;
    uint16_t pull_id; /* last used, 1.. */
} dnet_defer_wanted_t;

/** What the caller knows when an event happens. */
typedef struct {
    bool in_table;              /* NOTED, OFFER, OFFER_PULL, RELEASE_ACK: the NIC holds it back */
    bool more;                  /* DONE: it keeps messages */
    uint16_t id;                /* OFFER_PULL, PULL_NONE: number of the PULL */
    uint64_t bytes;             /* ROOM: the share, 1.. */
    dnet_match_item_t *receive; /* POSTED: the receive, which has been added to the wanted */
} dnet_defer_rx_facts_t;

/** Name of a state, "OPEN"; "?" for a value not in the list. */
const char *dnet_defer_rx_state_name(dnet_defer_rx_state_t state);

/** No receive is wanted; the first call.  Must not be moved: its ring points into it. */
void dnet_defer_wanted_init(dnet_defer_wanted_t *w, dnet_defer_may_have_fn may_have, void *arg);

/** A receive has been posted while senders are held; POSTED is then due for each of them. */
void dnet_defer_wanted_add(dnet_defer_wanted_t *w, dnet_match_item_t *receive);

/** It is open no longer; dnet_defer_rx_unwant() has been called for each sender. */
void dnet_defer_wanted_remove(dnet_match_item_t *receive);

/**
 * Something has happened.
 *
 * @return actions (DNET_DEFER_RX_DO_...) for the caller, who carries them out in the order of
 *         defer_rx.def; an event that means nothing in this state has none
 */
unsigned dnet_defer_rx_event(dnet_defer_rx_t *rx, dnet_defer_wanted_t *w,
                             dnet_defer_rx_event_t event, const dnet_defer_rx_facts_t *facts);

/** A receive that may be asked for will be open no longer. */
void dnet_defer_rx_unwant(dnet_defer_rx_t *rx, const dnet_defer_wanted_t *w,
                          const dnet_match_item_t *receive);

/** A message that was offered has not been taken: it stays with the sender, and can be pulled. */
static inline void dnet_defer_rx_decline(dnet_defer_rx_t *rx)
{
    rx->declined = true;
}

/** Number of a posting: fresh messages may not go to receives from this one on. */
uint64_t dnet_defer_rx_before(const dnet_defer_rx_t *rx);

#endif
