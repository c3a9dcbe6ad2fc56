/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stop/resend over a network that may lose, duplicate, delay and reorder: one connection's two
 * ends.
 *
 *   dnet_fc_tx_t  at the sender, beside the queue of packets not yet acknowledged
 *   dnet_fc_rx_t  in the receiving NIC; the receiving process's part is srq_flowctl.h
 *
 * Packets of a connection are numbered.  The receiver delivers only the number it expects, so
 * nothing under way when a packet is dropped can pass it (O1, O2); the sender goes back to the
 * dropped packet and transmits all from there (O3).  Every control word is idempotent.  Numbers are
 * compared as serial numbers: (int32_t) (a - b) < 0.
 *
 * Where the network neither loses nor reorders, and the sender is told of a STOP before it sends
 * again, nothing is under way behind a dropped packet: numbers, acknowledgements, probes and timers
 * have nothing to do, an OPEN or RUN connection needs no record, and srq_flowctl.h alone suffices.
 *
 * Departures from the tables of 8.3, each because the tables as written can hang (proved by
 * tests/property/test_fc_faults.c):
 *   - A running sender obeys a STOP whose grant number is its last grant's *or later*, and a RESEND
 *     with any later grant number: several grants may have been lost whole and taken back.
 *   - A repeated RESEND acknowledges everything before its packet, as a STOP does: the ACK of a
 *     packet delivered under the same grant may be lost.
 *   - A stopped sender that is told NAK, or ACK of its stopped packet, runs again: a late copy of
 *     that packet may have used the grant up, so that the receiver is OPEN and knows of no sender
 *     to resume.
 *
 * Pure logic; every event is O(1) plus the packets it transmits.
 * Threads: one caller at a time per object.  Source: flow control specification 8.1 to 8.8.
 */
#ifndef DNET_FC_CONNECTION_H
#define DNET_FC_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "srq_flowctl/srq_flowctl.h"

#define DNET_FC_WINDOW_MAX 65536u /* packets under way, at most (8.2) */

typedef enum {
#define DNET_FC_CONTROL(name, type, from, seq_means) DNET_FC_CONTROL_##name = (type),
#include "srq_flowctl/controls.def"
#undef DNET_FC_CONTROL
} dnet_fc_control_type_t;

/** A control word (8.2), little endian. */
typedef struct {
    uint8_t type;      /* +0 dnet_fc_control_type_t */
    uint8_t credits;   /* +1 RESEND: packets reserved for this sender, 1.. */
    uint16_t epoch;    /* +2 incarnation of the connection */
    uint32_t srq_id;   /* +4 which shared receive queue */
    uint32_t seq;      /* +8 see controls.def */
    uint32_t grant_id; /* +12 RESEND: number of this grant; STOP: of the last grant issued */
} dnet_fc_control_t;
_Static_assert(sizeof(dnet_fc_control_t) == 16, "a control word is 16 bytes");

/** What each DATA packet carries besides its payload. */
typedef struct {
    uint16_t epoch;
    bool last; /* the sender's queue for this receive queue is now empty */
    uint32_t seq;
} dnet_fc_data_t;

typedef enum {
#define DNET_FC_RX_STATE(name, meaning) DNET_FC_RX_##name,
#include "srq_flowctl/states.def"
#undef DNET_FC_RX_STATE
} dnet_fc_rx_state_t;

/** Name of a receiving NIC's state, "OPEN"; "?" for a value not in the list. */
const char *dnet_fc_rx_state_name(dnet_fc_rx_state_t state);

/** Name of a control word, "STOP"; "?" for a value not in the list. */
const char *dnet_fc_control_name(dnet_fc_control_type_t type);

/** Serial number a lies before b: they are less than 2^31 apart. */
static inline bool dnet_fc_before(uint32_t a, uint32_t b)
{
    return (int32_t) (a - b) < 0;
}

/* ---- receiving NIC ---- */

typedef struct dnet_fc_rx dnet_fc_rx_t;

typedef struct {
    /** Send a control word to the sender of this connection.  May be lost; never takes a buffer
     * (D1). */
    void (*control)(void *arg, dnet_fc_rx_t *rx, const dnet_fc_control_t *word);
    /** Append this connection to the stop ring (8.4): the receiving process will be told. */
    void (*note_stop)(void *arg, dnet_fc_rx_t *rx);
} dnet_fc_rx_ops_t;

/** What all connections of one shared receive queue have in common. */
typedef struct {
    const dnet_fc_rx_ops_t *ops;
    void *arg;
    uint32_t srq_id;
    /* buffers of the shared pool; those reserved for a connection are not in it */
    uint32_t free;
} dnet_fc_pool_t;

struct dnet_fc_rx {
    uint32_t exp_seq;  /* number of the packet to deliver next */
    uint32_t grant_id; /* last grant issued */
    uint16_t epoch;
    uint8_t state;    /* dnet_fc_rx_state_t */
    uint8_t reserved; /* buffers only this connection may take */
    bool parked;      /* HELD, and its process does not know: it waits for a PROBE */
    bool nak_sent;    /* exp_seq has been asked for */
};

/** A connection starts, or a process comes back with the same address and a new epoch. */
void dnet_fc_rx_open(dnet_fc_rx_t *rx, uint16_t epoch, uint32_t first_seq);

/** A DATA packet.  @return true: deliver it, a buffer has been taken; false: discard it */
bool dnet_fc_rx_data(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, const dnet_fc_data_t *data);

/**
 * Where a packet's room shows only when it is delivered: is this the packet to deliver next?  Try
 * it then, and say what came of it: dnet_fc_rx_data(), with a buffer in the pool, or
 * dnet_fc_rx_refused().
 */
bool dnet_fc_rx_expects(const dnet_fc_rx_t *rx, const dnet_fc_data_t *data);

/** The packet expected next has found no room, whatever the pool or a grant said: as a DATA packet
 * of an OPEN connection that finds the pool empty. */
void dnet_fc_rx_refused(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool);

/** A control word of the sender: PROBE or CLOSE; others are ignored. */
void dnet_fc_rx_control(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, const dnet_fc_control_t *word);

/**
 * The receiving process grants packets.
 *
 * @param credits  1..255
 * @return DNET_OK; DNET_NO_RESOURCE: the pool has less; DNET_ERR_STATE: not HELD
 */
dnet_status_t dnet_fc_rx_grant(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, unsigned credits);

/** Nothing came of a grant: send the same RESEND again.  @return DNET_OK; DNET_ERR_STATE */
dnet_status_t dnet_fc_rx_repeat(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool);

/** Take a grant back; the connection is parked until its sender probes.  Ignored unless GRANTED. */
void dnet_fc_rx_revoke(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool);

/** The receiver closes (`tell`: a stopped sender gets RESET), or the transport reports an error. */
void dnet_fc_rx_close(dnet_fc_rx_t *rx, dnet_fc_pool_t *pool, bool tell);

/* ---- sender ---- */

typedef struct dnet_fc_tx dnet_fc_tx_t;

typedef struct {
    /** Transmit packet data->seq, which the caller keeps until it is acknowledged. */
    void (*transmit)(void *arg, dnet_fc_tx_t *tx, const dnet_fc_data_t *data);
    /** Send PROBE or CLOSE.  May be lost. */
    void (*control)(void *arg, dnet_fc_tx_t *tx, const dnet_fc_control_t *word);
    /** All packets before `una_seq` have been delivered. */
    void (*acked)(void *arg, dnet_fc_tx_t *tx, uint32_t una_seq);
    /** DEAD: all packets from una_seq on have failed. */
    void (*dead)(void *arg, dnet_fc_tx_t *tx);
} dnet_fc_tx_ops_t;

/** What all connections of one sender have in common. */
typedef struct {
    const dnet_fc_tx_ops_t *ops;
    void *arg;
    uint32_t window;       /* packets under way, 1..DNET_FC_WINDOW_MAX */
    uint64_t ack_ns;       /* T_ack: first PROBE of a running sender */
    uint64_t stop_ns;      /* T_stop: first PROBE of a stopped sender */
    uint64_t probe_max_ns; /* longest time between two PROBEs */
    uint32_t repeats;      /* PROBEs without any answer before the peer is dead */
    uint32_t random;       /* state of the jitter; any value */
} dnet_fc_tx_env_t;

struct dnet_fc_tx {
    uint64_t deadline_ns; /* when dnet_fc_tx_timer() is to be called; UINT64_MAX: never */
    uint32_t una_seq;     /* first packet not acknowledged */
    uint32_t send_seq;    /* next packet to transmit, una_seq..next_seq */
    uint32_t next_seq;    /* number of the next new packet */
    uint32_t last_grant;
    uint32_t srq_id;
    uint16_t epoch;
    uint8_t state;  /* dnet_fc_tx_state_t */
    uint8_t silent; /* PROBEs since anything was heard */
    /* after RESEND, until the first ACK: most packets under way; 0: the window */
    uint8_t credits;
};

/** Defaults of 8.7: T_ack 100 us, T_stop 10 ms doubling to 1 s, 7 repeats, window 64. */
dnet_fc_tx_env_t dnet_fc_tx_defaults(const dnet_fc_tx_ops_t *ops, void *arg);

/** A connection starts in state RUN; epoch and first_seq as its receiver's dnet_fc_rx_open(). */
void dnet_fc_tx_open(dnet_fc_tx_t *tx, uint16_t epoch, uint32_t srq_id, uint32_t first_seq);

/**
 * One more packet to send; it has number next_seq and is transmitted now or later.
 *
 * @return DNET_OK; DNET_ERR_PEER_DEAD
 */
dnet_status_t dnet_fc_tx_send(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, uint64_t now_ns);

/** A control word of the receiving NIC: STOP, RESEND, ACK, NAK, RESET; others are ignored. */
void dnet_fc_tx_control(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, const dnet_fc_control_t *word,
                        uint64_t now_ns);

/** deadline_ns has passed: probe, or give the peer up. */
void dnet_fc_tx_timer(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env, uint64_t now_ns);

/** Close: tells the receiver; what is pending fails through dead().  Also for a transport error. */
void dnet_fc_tx_close(dnet_fc_tx_t *tx, dnet_fc_tx_env_t *env);

#endif
