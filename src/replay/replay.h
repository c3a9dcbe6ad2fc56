/* SPDX-License-Identifier: BSD-3-Clause
 *
 * How many shared receive buffers does a program need?  Rebuilds a program's time line from its
 * communication calls and counts how often a receiver has no buffer (flow control specification 7).
 *
 * A program is a list of calls per rank.  Messages travel in channels, one for each (source,
 * destination, tag), in order; every message takes one buffer from its arrival until the receiving rank
 * makes any MPI call (release ANY_CALL).  A rank inside a blocking call takes messages out at once.
 *
 * Threads: independent objects may be used by different threads.
 */
#ifndef DNET_REPLAY_H
#define DNET_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "dimmnet/status.h"

typedef enum {
    DNET_REPLAY_SEND, /* Isend in channel `channel` */
    DNET_REPLAY_RECV, /* Irecv from channel `channel` */
    DNET_REPLAY_WAIT, /* Waitall: every Isend and Irecv before it */
} dnet_replay_kind_t;

typedef struct {
    uint32_t gap_ns; /* computing before the call */
    uint8_t kind;    /* dnet_replay_kind_t */
    uint32_t channel;
} dnet_replay_call_t;

typedef struct {
    dnet_replay_call_t *call;
    uint32_t count, capacity;
} dnet_replay_rank_t;

typedef struct {
    uint32_t src, dst;
} dnet_replay_channel_t;

typedef struct {
    uint32_t ranks, channels;
    dnet_replay_rank_t *rank;
    dnet_replay_channel_t *channel;
} dnet_replay_program_t;

/** Shapes of the multi-partition pattern: NAS bt and sp, class A. */
typedef enum { DNET_REPLAY_BT, DNET_REPLAY_SP } dnet_replay_shape_t;

/**
 * Generate a program of the multi-partition scheme (7.1).
 *
 * @param ranks       a square number, 4..4096
 * @param iterations  1..; bt and sp of class A have 200 and 400
 * @param noise_percent  computing times vary by so much, 0..100
 * @return DNET_OK; DNET_ERR_ARGUMENT; DNET_ERR_NO_MEMORY
 */
dnet_status_t dnet_replay_generate(dnet_replay_shape_t shape, uint32_t ranks, uint32_t iterations,
                                   uint32_t noise_percent, uint64_t seed,
                                   dnet_replay_program_t *program_p);

void dnet_replay_free(dnet_replay_program_t *program);

typedef struct {
    uint32_t buffers;    /* B of each rank, 1.. */
    uint64_t penalty_ns; /* one flow control */
    uint64_t wire_ns;    /* from the send call to the arrival */
    uint64_t call_ns;    /* one MPI call */
    bool replay;         /* REPLAY: a held message delays who waits for it; else STATIC */
} dnet_replay_config_t;

typedef struct {
    uint64_t time_ns;    /* of the whole run */
    uint64_t messages;
    uint64_t events;     /* HELD periods, all ranks */
    uint64_t events_max; /* of the sender with most of them */
} dnet_replay_result_t;

/** @return DNET_OK; DNET_ERR_STATE: the program waits for a message nobody sends; DNET_ERR_NO_MEMORY */
dnet_status_t dnet_replay_run(const dnet_replay_program_t *program,
                              const dnet_replay_config_t *config, dnet_replay_result_t *result_p);

#endif
