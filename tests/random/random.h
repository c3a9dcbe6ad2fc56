/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A random, correct MPI program, made from a seed.  Every rank makes the same plan from the seed's
 * random numbers and does its part of it; what it then finds in its buffers and statuses is
 * compared with what the plan says.
 *
 *   main.c        arguments, the settings that belong to a seed, threads, the sequence of steps
 *   data.c        random numbers, sizes, patterns, types with gaps
 *   comms.c       communicators
 *   p2p_plan.c    a step of messages: who sends what, and in which order all calls are made
 *   p2p_run.c     the calls of one rank in that order
 *   requests.c    the ways to wait for several requests
 *   collective.c  collective operations, and exchanges that all ranks of a communicator make
 *   onesided.c    windows
 *   watch.c       where each thread is; what happens when no rank gets any further
 *
 * A plan is free of deadlocks whatever an MPI library buffers: see p2p_plan.c.
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS_MAX 12
#define THREADS_MAX 4
#define COMMS_MAX 6

/* ---- data.c ---- */

typedef struct {
    uint64_t state;
} rng_t;

uint64_t mix(uint64_t x);
uint64_t rng_next(rng_t *rng);
/* 0 .. n - 1 */
uint32_t below(rng_t *rng, uint32_t n);
bool chance(rng_t *rng, uint32_t percent);
/* A size on or beside a limit of some protocol, or any other, 0 .. most bytes. */
size_t any_size(rng_t *rng, size_t most);

/* Fills with bytes that belong to `id`. */
void pattern_fill(void *to, size_t len, uint64_t id);
/* Offset of the first byte that pattern_fill() would not have written; `len`: there is none. */
size_t pattern_differs(const void *from, size_t len, uint64_t id);

typedef struct {
    size_t offset, len;
} block_t;

/* Where a message's bytes lie, and the MPI type that says so; its signature is `len` of MPI_BYTE.
 */
typedef struct {
    size_t len;
    MPI_Datatype type;
    int count;
    block_t *blocks;
    uint32_t blocks_count;
    uint8_t *base;    /* of the calls */
    uint8_t *memory;  /* what was allocated: `base` with a margin on both sides */
    size_t all_bytes; /* of `memory` */
    bool from_mpi;    /* by MPI_Alloc_mem */
} buffer_t;

/* @param contiguous  bytes in a row, else blocks as the random numbers say */
void buffer_make(buffer_t *b, rng_t *rng, size_t len, bool contiguous);
void buffer_fill(buffer_t *b, uint64_t id);
/* Is everything unchanged but the first `len` bytes of the message? */
bool buffer_kept(const buffer_t *b, size_t len, char *why, size_t room);
/* ... and are these bytes those of `id`? */
bool buffer_holds(const buffer_t *b, size_t len, uint64_t id, char *why, size_t room);
void buffer_free(buffer_t *b);

/* ---- comms.c ---- */

/* Members have a number of their own: intercommunicators have two ranks of each number. */
typedef struct {
    MPI_Comm comm; /* MPI_COMM_NULL: this rank is no member */
    bool inter;
    int members;
    int me; /* the own number; -1: no member */
    int side[RANKS_MAX];
    int rank[RANKS_MAX]; /* in its group */
} comm_t;

/* ---- a thread and its part of the program ---- */

typedef struct {
    uint64_t seed;
    int thread, threads;
    int rank, size; /* in MPI_COMM_WORLD */
    rng_t plan;     /* of the step: starts with the same number on all ranks */
    rng_t own;      /* of this rank alone: types of buffers, ways of waiting, pauses */
    comm_t comms[COMMS_MAX];
    int comms_count;
    int step;
    size_t size_max;
} player_t;

void comms_make(player_t *p, MPI_Comm world);
void comms_free(player_t *p);
/* The number of the member with that rank in the group that talks to this rank. */
int comm_peer(const comm_t *c, int rank);

/* ---- the steps; each is called by all ranks, members of its communicator or not ---- */

void step_messages(player_t *p);
void step_collectives(player_t *p);
void step_exchange(player_t *p);
void step_partitioned(player_t *p);
void step_window(player_t *p);
void step_comm(player_t *p);

/* A collective operation that is under way. */
typedef struct collective collective_t;
/* @param blocking  it is over when this returns, but not looked at yet */
collective_t *collective_start(player_t *p, const comm_t *c, bool blocking);
/* Waits for it if need be, and compares. */
void collective_finish(player_t *p, collective_t *op);

/* ---- p2p_plan.c ---- */

/* SEND_MODE(name, title, blocks): how a message is sent; `blocks`: the call may wait for the
 * receive */
#define SEND_MODES(X) \
    X(SEND, "MPI_Send", true) \
    X(SSEND, "MPI_Ssend", true) \
    X(BSEND, "MPI_Bsend", false) \
    X(RSEND, "MPI_Rsend", true) \
    X(ISEND, "MPI_Isend", false) \
    X(ISSEND, "MPI_Issend", false) \
    X(IBSEND, "MPI_Ibsend", false) \
    X(IRSEND, "MPI_Irsend", false) \
    X(SEND_INIT, "MPI_Send_init", false) \
    X(SSEND_INIT, "MPI_Ssend_init", false)

/* ... and received */
#define RECV_MODES(X) \
    X(RECV, "MPI_Recv", true) \
    X(PROBE, "MPI_Probe and MPI_Recv", true) \
    X(IPROBE, "MPI_Iprobe and MPI_Recv", true) \
    X(MPROBE, "MPI_Mprobe and MPI_Mrecv", true) \
    X(IMPROBE, "MPI_Improbe and MPI_Imrecv", true) \
    X(IRECV, "MPI_Irecv", false) \
    X(RECV_INIT, "MPI_Recv_init", false) \
    X(CANCEL, "MPI_Irecv and MPI_Cancel", false) \
    X(NO_SEND, "MPI_Irecv and MPI_Cancel without a message", false)

#define MODE_NAME(name, title, blocks) MODE_##name,
typedef enum { SEND_MODES(MODE_NAME) SEND_MODES_COUNT } send_mode_t;
typedef enum { RECV_MODES(MODE_NAME) RECV_MODES_COUNT } recv_mode_t;
#undef MODE_NAME

extern const char *const send_titles[], *const recv_titles[];

#define MESSAGES_MAX 160
#define TIMES 1000   /* the step's time; what has no time of its own happens after it */
#define TIME_READY 2 /* before it, receives are posted for messages that are sent in ready mode */

typedef struct {
    int src, dst; /* members */
    int tag;
    size_t size, room; /* room < size: truncated */
    uint64_t id;
    send_mode_t send;
    recv_mode_t recv;
    bool wild; /* of a destination that uses wildcards: which receive takes it is open */
    int want_source, want_tag; /* member and tag; -1: any */
    int send_time, recv_time;  /* the calls that start */
    int send_end, recv_end;    /* the calls that wait */
} message_t;

typedef enum { EVENT_SEND, EVENT_RECV, EVENT_SEND_END, EVENT_RECV_END } event_kind_t;

typedef struct {
    int time, message;
    event_kind_t kind;
} event_t;

typedef struct {
    const comm_t *comm;
    message_t messages[MESSAGES_MAX];
    int count;
    bool ready;   /* all receives are posted before the first message is sent */
    bool barrier; /* the next step's messages must not meet this one's receives */
    bool collective;
    event_t events[4 * MESSAGES_MAX]; /* of this rank, in order */
    int events_count;
} p2p_plan_t;

void p2p_plan_make(player_t *p, p2p_plan_t *plan);

/* ---- requests.c ---- */

/* Waits for all, some way; errors are in statuses[].MPI_ERROR. */
void requests_finish(player_t *p, MPI_Request *requests, MPI_Status *statuses, int count);
/* Waits for one, some way.  @return MPI's error code */
int request_finish(player_t *p, MPI_Request *request, MPI_Status *status);

/* ---- watch.c ---- */

/* What the thread does now; `what` must stay. */
void at(player_t *p, const char *what, int of, int peer);
/* Something has come to its end. */
void progressed(player_t *p);
/* A difference between plan and reality: prints it with all that is needed to see it again, and
 * ends the job. */
void differs(player_t *p, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
/* MPI's error code must be MPI_SUCCESS. */
void expect_ok(player_t *p, int code, const char *what);
/* @param shared  file that all ranks of the job may map, to know of the others' progress */
void watch_start(const char *shared, int rank, int size, uint64_t seed, int limit_s);

#endif
