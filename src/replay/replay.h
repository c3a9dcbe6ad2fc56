/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many shared receive buffers does a program need?  Rebuilds a program's time line from its
 * communication calls and counts how often a receiver has no buffer (flow control specification 7).
 *
 * A program is a list of calls per rank.  Messages travel in channels, one for each (source,
 * destination, tag), in order; every message takes one buffer from its arrival until the
 * receiving rank makes an MPI call (which: dnet_replay_config_t).  A rank inside a blocking call
 * takes messages out at once.
 *
 * Threads: independent objects may be used by different threads.
 */
#ifndef DNET_REPLAY_H
#define DNET_REPLAY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "dimmnet/status.h"
#include "replay/calls.h"

typedef enum {
    DNET_REPLAY_SEND,  /* Isend in channel `where`; makes a request */
    DNET_REPLAY_RECV,  /* Irecv from channel `where`; makes a request */
    DNET_REPLAY_WAIT,  /* for `amount` requests, from place `where` of the rank's list on */
    DNET_REPLAY_SYNC,  /* a collective call that ends when every rank has begun it */
    DNET_REPLAY_OTHER, /* a call that only makes progress */
} dnet_replay_kind_t;

typedef struct {
    uint64_t gap_ns; /* computing before the call */
    uint32_t where;
    uint32_t amount; /* SEND, RECV: bytes; WAIT: requests */
    uint8_t kind;    /* dnet_replay_kind_t */
} dnet_replay_call_t;

typedef struct {
    dnet_replay_call_t *call; /* in program order */
    uint32_t count, capacity;
    uint32_t requests; /* made by its calls, numbered from 0 in their order */
    uint32_t *waited;  /* requests that WAITs name */
    uint32_t waits, wait_capacity;
    uint32_t waits_used;  /* by the WAITs there are */
    uint64_t last_gap_ns; /* computing behind the last call */
} dnet_replay_rank_t;

typedef struct {
    uint32_t src, dst; /* ranks */
    int32_t tag;
    uint32_t next; /* channel of the same hash */
} dnet_replay_channel_t;

typedef struct {
    uint32_t ranks, channels, channel_capacity;
    dnet_replay_rank_t *rank;
    dnet_replay_channel_t *channel;
    uint32_t *bucket;     /* heads of the hash chains of channels */
    uint64_t collectives; /* calls of which nothing but the call is replayed */
    bool failed;          /* memory was short */
} dnet_replay_program_t;

/* Making a program.  Lack of memory shows once, in dnet_replay_finish. */

/** A program of so many ranks without calls; dnet_replay_free() frees it.  @return DNET_OK;
 * ERR_NO_MEMORY */
dnet_status_t dnet_replay_new(uint32_t ranks, dnet_replay_program_t *program_p);

/** The channel of (src, dst, tag), made if there is none. */
uint32_t dnet_replay_channel(dnet_replay_program_t *program, uint32_t src, uint32_t dst,
                             int32_t tag);

/** Add a call with nothing to wait for; SEND and RECV make the rank's next request. */
void dnet_replay_add(dnet_replay_program_t *program, uint32_t rank, dnet_replay_kind_t kind,
                     uint64_t gap_ns, uint32_t channel, uint32_t bytes);

/** Name a request that the rank's next dnet_replay_wait waits for. */
void dnet_replay_wait_for(dnet_replay_program_t *program, uint32_t rank, uint32_t request);

/** Add a WAIT for the requests named since the last one. */
void dnet_replay_wait(dnet_replay_program_t *program, uint32_t rank, uint64_t gap_ns);

/** Close the program: tell whether memory was short.  @return DNET_OK; ERR_NO_MEMORY, and the
 * program is freed */
dnet_status_t dnet_replay_finish(dnet_replay_program_t *program);

/** Free what a program holds. */
void dnet_replay_free(dnet_replay_program_t *program);

/** Shapes of the multi-partition pattern: NAS bt and sp, class A. */
typedef enum { DNET_REPLAY_BT, DNET_REPLAY_SP } dnet_replay_shape_t;

/**
 * Generate a program of the multi-partition scheme (7.1).
 *
 * @param ranks       a square number, 4..4096
 * @param iterations  1..; bt and sp of class A have 200 and 400
 * @param noise_percent  computing times vary by so much, 0..100
 * @return DNET_OK; ERR_ARGUMENT; ERR_NO_MEMORY
 */
dnet_status_t dnet_replay_generate(dnet_replay_shape_t shape, uint32_t ranks, uint32_t iterations,
                                   uint32_t noise_percent, uint64_t seed,
                                   dnet_replay_program_t *program_p);

/**
 * The program of a complete trace.  Collective calls on MPI_COMM_WORLD that end after every rank
 * has begun them synchronise; the messages inside collective calls are not known and not
 * replayed.
 *
 * @return DNET_OK; ERR_FORMAT: a line on standard error says which record makes no sense;
 *         ERR_NO_MEMORY
 */
dnet_status_t dnet_replay_from_trace(const dnet_calls_t *trace, dnet_replay_program_t *program_p);

/**
 * Write a program as a trace.
 *
 * @param tick_ns  unit of gaps
 * @param name     of the program
 * @return DNET_OK; ERR_NO_MEMORY; ERR_SYSTEM (errno)
 */
dnet_status_t dnet_replay_to_trace(const dnet_replay_program_t *program, uint32_t tick_ns,
                                   const char *name, FILE *out);

/* The IPUSH buffer study: how many partners need a receive ring of their own (thesis table 7.3). */
typedef struct {
    uint32_t least, most; /* partners of a rank: others that send to it */
    double mean;
    uint32_t most_rank; /* a rank with `most` */
    uint64_t messages, bytes;
} dnet_replay_partners_t;

/** Count each rank's partners.  @return DNET_OK; ERR_NO_MEMORY */
dnet_status_t dnet_replay_partners(const dnet_replay_program_t *program,
                                   dnet_replay_partners_t *partners_p);

typedef struct {
    uint32_t buffers;    /* B of each rank, 1.. */
    uint64_t penalty_ns; /* one flow control */
    uint64_t wire_ns;    /* from the send call to the arrival */
    uint64_t call_ns;    /* one MPI call */
    uint32_t mark;       /* 0: an event is a message without a buffer (OVERFLOW); else: an arrival
                            that leaves fewer than `mark` buffers free, once until the receiver
                            makes room (LOWMARK) */
    /* REPLAY: delays propagate; else STATIC: times stay, events are counted */
    bool replay;
    /* buffers come back at waits (MATCHING_WAIT); else any call (ANY_CALL) */
    bool at_waits;
} dnet_replay_config_t;

typedef struct {
    uint64_t time_ns; /* of the whole run */
    uint64_t messages;
    uint64_t events;     /* HELD periods or, with a mark, limit events; all ranks */
    uint64_t events_max; /* of the rank with most: the sender, or with a mark the receiver */
} dnet_replay_result_t;

/** Simulate a program.  @return DNET_OK; ERR_STATE: it waits for a message that is never sent;
 * ERR_NO_MEMORY */
dnet_status_t dnet_replay_run(const dnet_replay_program_t *program,
                              const dnet_replay_config_t *config, dnet_replay_result_t *result_p);

#endif
