/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A simulated cluster for the stop/resend protocol: senders, receiving NICs, receiving processes
 * and a network that loses, duplicates and delays, on a virtual clock.  Everything that is decided
 * is decided by src/srq_flowctl; this file only moves packets, and checks what must always hold:
 *   - each connection delivers 0, 1, 2, ... exactly once, in order;
 *   - free + reserved + occupied buffers of a receiver are B;
 *   - STOPs are at most HELD periods plus PROBEs.
 */
#ifndef DNET_FC_WORLD_H
#define DNET_FC_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "seed.h"
#include "srq_flowctl/connection.h"

#define WORLD_KINDS 8 /* DATA is 0, control words have their type */

/** What the network does to packets of one kind, in per mille. */
typedef struct {
    unsigned lose, duplicate, delay;
} world_fault_t;

/** A mechanism left out on purpose: the tests must notice. */
typedef enum {
    WORLD_BREAK_NOTHING,
    WORLD_BREAK_PROGRESS, /* D2: a process that waits does not drain */
    WORLD_BREAK_COPY_OUT, /* D3: unmatched messages stay in their buffers */
    WORLD_BREAK_RESERVE,  /* D4: what is granted stays in the shared pool */
    WORLD_BREAK_EXPIRE,   /* D5: grants are never taken back */
    WORLD_BREAK_QUEUE,    /* 8.6: the last stopped is served first */
    WORLD_BREAK_REPEAT,   /* 8.7: no timers at the sender */
    /* 8.8: a receiver closes without a word, and does not answer afterwards */
    WORLD_BREAK_RESET,
    WORLD_BREAK_EPOCH, /* 8.8: a restarted peer gets the same epoch */
} world_break_t;

typedef struct {
    uint64_t seed;
    unsigned processes;
    unsigned buffers; /* B of each process */
    unsigned window;
    uint64_t wire_ns;   /* one way */
    uint64_t jitter_ns; /* more, at random; reorders */
    uint64_t poll_ns;   /* between two drains of a process */
    uint64_t grant_ns;  /* T_grant */
    world_fault_t fault[WORLD_KINDS];
    world_break_t broken;
    bool blocking; /* a sender starts its next message when the last is delivered */
    int wanted;    /* >= 0: processes receive from this sender first, and nothing else until
                      its messages are here */
} world_config_t;

typedef struct {
    unsigned src, dst;
    unsigned messages; /* to send in all */
    unsigned started;
    unsigned delivered; /* by the receiving NIC */
    unsigned received;  /* by the receiving process */
    uint64_t finished_ns;
    bool dead;   /* the sender was told */
    bool killed; /* the sender no longer does anything */
    dnet_fc_tx_t tx;
    dnet_fc_rx_t rx;
    uint64_t timer_ns;                     /* a TIMER event is under way for this time; 0: none */
    unsigned noted_grant, noted_delivered; /* when it was stopped last */
    uint64_t number;                       /* incarnation; events of an earlier one are void */
} world_conn_t;

typedef struct {
    uint64_t stops, probes, held_periods, resends, packets, lost;
    uint64_t barren; /* stopped again though nothing had come of the grant */
} world_stats_t;

typedef struct world world_t;

/** Defaults: 2 processes, B 4, window 16, 1 us wire, 2 us polls, T_grant 100 us, no faults. */
world_config_t world_defaults(uint64_t seed);

world_t *world_open(const world_config_t *config);
void world_close(world_t *w);

/** A connection over which `messages` are sent; its number. */
unsigned world_connect(world_t *w, unsigned src, unsigned dst, unsigned messages);

world_conn_t *world_conn(world_t *w, unsigned c);
const world_stats_t *world_stats(const world_t *w);
uint64_t world_now(const world_t *w);

/**
 * Run until everything that is to be sent is received, nothing happens any more, or `until_ns`.
 *
 * @param stop  ends the run when it returns true; may be NULL
 * @return every connection that is neither dead nor killed has received everything, and nothing
 * that must hold was violated
 */
bool world_run(world_t *w, uint64_t until_ns, bool (*stop)(world_t *w, void *arg), void *arg);

/** What world_run() found wrong; "nothing". */
const char *world_wrong(const world_t *w);

/** The sender of a connection dies; `report`: its receiver is told by the transport. */
void world_kill_sender(world_t *w, unsigned c, bool report);

/** The sender comes back with the same address and sends `messages` anew. */
void world_restart_sender(world_t *w, unsigned c, unsigned messages);

/** A process closes its receive queue. */
void world_close_receiver(world_t *w, unsigned process);

/** Buffers of a process that are neither free nor hold a message. */
unsigned world_reserved(const world_t *w, unsigned process);

/** Senders a process has memory for. */
unsigned world_records(const world_t *w, unsigned process);

#endif
