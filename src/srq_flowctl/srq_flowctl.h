/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stop/resend flow control for shared receive queues: the two processes' parts.
 *
 * Many senders share the receive buffers of one process.  When there is no buffer the NIC drops the
 * packet, stops exactly that sender and notes it for the receiving process.  That process, when it
 * has room again, grants the stopped senders some packets each, first stopped first, with a RESEND.
 *
 *   sender              receiving NIC               receiving process
 *     | DATA -----------> | no buffer: drop
 *     | <---------- STOP  | note ------------------> dnet_fc_receiver_stopped()
 *     | dnet_fc_sender_stop()                             ... computes, drains ...
 *     | <----------------------------------- RESEND  dnet_fc_receiver_room()
 *     | dnet_fc_sender_resend(), DATA again -------> dnet_fc_receiver_arrived()
 *
 * These parts suffice where the network neither loses nor reorders and the sender learns of a STOP
 * before it sends again (the shared-memory SWIF: Stop Report register).  A network that may lose
 * adds sequence numbers, epochs and timers: connection.h.
 *
 * Pure logic: no I/O, no clock of its own.  Every call is O(1) in the number of senders; the
 * receiver has memory only for senders that are stopped or have a grant.
 *
 * Threads: one caller at a time per object.  Source: flow control specification 8.3 to 8.6.
 */
#ifndef DNET_SRQ_FLOWCTL_H
#define DNET_SRQ_FLOWCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/compiler.h"
#include "dimmnet/status.h"

typedef enum {
#define DNET_FC_TX_STATE(name, meaning) DNET_FC_TX_##name,
#include "srq_flowctl/states.def"
#undef DNET_FC_TX_STATE
} dnet_fc_tx_state_t;

/** Name of a sender's state, "RUN"; "?" for a value not in the list. */
const char *dnet_fc_tx_state_name(dnet_fc_tx_state_t state);

/* ---- sending process: one per peer, embedded by the caller ---- */

/** All zero: running.  What is held back, and in which order, the caller keeps. */
typedef struct {
    uint8_t state; /* dnet_fc_tx_state_t */
} dnet_fc_sender_t;

/** May the caller transmit to this peer now?  While false, everything for it is held back in order.
 */
static inline bool dnet_fc_sender_may_send(const dnet_fc_sender_t *s)
{
    return s->state == DNET_FC_TX_RUN;
}

/** The NIC has reported that the receiver had no room for the last packet. */
void dnet_fc_sender_stop(dnet_fc_sender_t *s);

/**
 * A RESEND has arrived.
 *
 * @return true: now running; transmit the stopped packet first, then what was held back, in order.
 *         false: the RESEND is late or the peer is dead; ignore it
 */
bool dnet_fc_sender_resend(dnet_fc_sender_t *s);

/** The peer is gone: nothing is transmitted to it any more. */
void dnet_fc_sender_dead(dnet_fc_sender_t *s);

/* ---- receiving process: one per set of shared receive buffers ---- */

/** A sender as the NIC names it. */
typedef struct {
    uint16_t lid;
    uint16_t wid;
} dnet_fc_peer_t;

#define DNET_FC_SHARED UINT64_MAX

/** What a receiver does through its NIC. */
typedef struct {
    /**
     * Send a RESEND: `credits` packets are reserved for that sender.
     *
     * @param repeat  the last grant again, because nothing came (only with repeats > 0)
     * @return DNET_OK; DNET_NO_RESOURCE: not now, the sender stays first in the queue; any other:
     *         the sender is gone and is forgotten
     */
    dnet_status_t (*resend)(void *arg, dnet_fc_peer_t peer, unsigned credits, bool repeat);
    /** A grant has expired: the NIC takes back what it has reserved.  NULL: it reserves nothing. */
    void (*revoke)(void *arg, dnet_fc_peer_t peer);
    /** Free bytes of the ring that only this sender uses; DNET_FC_SHARED: it uses the shared one.
     * NULL: all do. */
    uint64_t (*own_bytes)(void *arg, dnet_fc_peer_t peer);
} dnet_fc_receiver_ops_t;

typedef struct {
    uint32_t slots;   /* receive buffers in all (B); 1.. */
    uint32_t senders; /* how many may send here; 0: unknown */
    /* packets in one grant, where there is room; rather are fewer granted; 1..grant_max */
    uint32_t grant_least;
    uint32_t grant_max; /* most packets in one grant (g_max), 1..255 */
    uint32_t headroom;  /* buffers kept for running senders, 0..slots-1 */
    uint32_t repeats;   /* RESENDs repeated before a grant is taken back (lossy networks) */
    /* dnet_fc_receiver_arrived() is not called: a sender stopped again has used its grant */
    bool uncounted;
    /* a grant of which nothing came for so long is repeated or taken back */
    uint64_t grant_ns;
} dnet_fc_receiver_config_t;

typedef struct {
    uint64_t stops;       /* senders noted as stopped */
    uint64_t grants;      /* RESENDs sent, without repeats */
    uint64_t repeats;     /* RESENDs sent again */
    uint64_t expired;     /* grants taken back */
    uint64_t robbed;      /* stopped again in spite of a grant: a running sender was faster */
    uint32_t stopped_max; /* most senders stopped at once */
} dnet_fc_receiver_stats_t;

typedef struct dnet_fc_record dnet_fc_record_t; /* a sender that is stopped or has a grant */

/** A list of records by index. */
typedef struct {
    uint32_t first, last, count; /* of the records in the list */
} dnet_fc_list_t;

typedef struct {
    const dnet_fc_receiver_ops_t *ops;
    void *arg;
    dnet_fc_receiver_config_t config;
    dnet_fc_record_t *record;
    uint32_t *bucket;        /* heads of the hash chains of records */
    uint32_t capacity;       /* of both; power of two, or 0 */
    uint32_t unused;         /* first free record */
    dnet_fc_list_t stopped;  /* first stopped first */
    dnet_fc_list_t granted;  /* first to expire first */
    uint32_t reserved_slots; /* receive buffers under grants */
    uint64_t reserved_bytes; /* ring bytes under grants */
    dnet_fc_receiver_stats_t stats;
} dnet_fc_receiver_t;

/**
 * Defaults for B buffers: g_max 8, headroom B/8, no repeats, grants expire after 10 ms (8.6, 8.7).
 *
 * @param slots    receive buffers in all, 1..
 * @param senders  how many may send here; 0: unknown
 */
dnet_fc_receiver_config_t dnet_fc_receiver_defaults(uint32_t slots, uint32_t senders);

/**
 * @param ops, arg  what the receiver does through its NIC; kept
 * @return DNET_OK; DNET_ERR_ARGUMENT: a value of config is out of range
 */
dnet_status_t dnet_fc_receiver_init(dnet_fc_receiver_t *r, const dnet_fc_receiver_config_t *config,
                                    const dnet_fc_receiver_ops_t *ops, void *arg);

/** Free the memory of the records.  Nothing is sent. */
void dnet_fc_receiver_fini(dnet_fc_receiver_t *r);

/**
 * The NIC has stopped a sender (flow ring entry STOPPED).
 *
 * A sender already in the queue keeps its place.  One whose grant could not be honoured goes to the
 * front, any other to the end; where arrivals are not counted, each to the end.
 *
 * @param need_bytes  ring bytes its packet needs
 * @return DNET_OK; DNET_ERR_NO_MEMORY: not noted, keep the entry and call again
 */
dnet_status_t dnet_fc_receiver_stopped(dnet_fc_receiver_t *r, dnet_fc_peer_t peer,
                                       uint32_t need_bytes);

/** dnet_fc_receiver_arrived() while there are grants. */
void dnet_fc_receiver_count_arrival(dnet_fc_receiver_t *r, dnet_fc_peer_t peer, bool last,
                                    uint64_t now_ns);

/**
 * A packet of this sender has arrived: it uses up one packet of its grant, if it has one.
 *
 * @param last    the sender has nothing more to send here now; the rest of its grant is free. False
 *                when that is not known
 * @param now_ns  the caller's clock
 */
static inline void dnet_fc_receiver_arrived(dnet_fc_receiver_t *r, dnet_fc_peer_t peer, bool last,
                                            uint64_t now_ns)
{
    if (DNET_UNLIKELY(r->granted.count != 0))
        dnet_fc_receiver_count_arrival(r, peer, last, now_ns);
}

/** Is there anything for dnet_fc_receiver_room() to do? */
static inline bool dnet_fc_receiver_pending(const dnet_fc_receiver_t *r)
{
    return (r->stopped.count | r->granted.count) != 0;
}

/**
 * Grant what fits now (8.6).  Call after each drain of the rings while dnet_fc_receiver_pending().
 *
 * @param free_slots  free receive buffers, those under grants included
 * @param free_bytes  free ring bytes, those under grants included
 * @param now_ns      the caller's clock
 * @return grants made
 */
unsigned dnet_fc_receiver_room(dnet_fc_receiver_t *r, uint32_t free_slots, uint64_t free_bytes,
                               uint64_t now_ns);

/** When dnet_fc_receiver_room() has something to do though nothing arrives; UINT64_MAX: never. */
uint64_t dnet_fc_receiver_deadline(const dnet_fc_receiver_t *r);

/** That sender is gone, or has closed: leave the queue, free its grant. */
void dnet_fc_receiver_forget(dnet_fc_receiver_t *r, dnet_fc_peer_t peer);

/** Call fn for each stopped sender in queue order (credits 0), then each with a grant; for dumps.
 */
void dnet_fc_receiver_walk(const dnet_fc_receiver_t *r,
                           void (*fn)(void *arg, dnet_fc_peer_t peer, unsigned credits), void *arg);

/** Bytes of memory held now, beyond the object itself. */
size_t dnet_fc_receiver_bytes(const dnet_fc_receiver_t *r);

/* ---- the paper's retransmission management table, for comparison ---- */

/**
 * Bytes of the paper's bit matrix of one shared receive queue: one bit per process that might be
 * stopped, rows of whole 64-bit words (section 3.1).
 *
 * @param nodes      rows, 0..
 * @param processes  processes per node, 0..
 */
uint64_t dnet_fc_table_bytes(uint64_t nodes, uint64_t processes);

#endif
