/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The time line of a program with B shared receive buffers a rank (flow control specification 7.3).
 *
 * Two kinds of events: a rank comes to its next call, and a message arrives.  STATIC leaves all times as
 * they are with enough buffers and only counts; REPLAY lets a message that found no buffer arrive when
 * the receiver has granted it, one penalty after it made room.
 */
#include <stdlib.h>

#include "replay/replay.h"

#define NOBODY UINT32_MAX

typedef struct {
    uint64_t at_ns, order;
    uint32_t rank;    /* comes to its next call; NOBODY: a message arrives */
    uint32_t channel; /* of the message */
    bool granted;     /* it was held before; its buffer is already taken */
} event_t;

typedef struct {
    uint32_t next;      /* call */
    uint32_t occupied;  /* buffers */
    uint32_t queue, queue_last; /* stopped channels, first stopped first */
    uint32_t missing;   /* messages and sends WAIT waits for */
    bool waits;
    uint64_t events;    /* as a sender */
} rank_t;

typedef struct {
    uint32_t held;      /* messages that found no buffer; more than 0: a HELD period */
    uint32_t queue;     /* next in the receiver's queue */
    uint32_t arrived, wanted; /* messages usable by, and receives posted at, the destination */
} channel_t;

typedef struct {
    const dnet_replay_program_t *program;
    const dnet_replay_config_t *config;
    rank_t *rank;
    channel_t *channel;
    event_t *heap;
    uint32_t events, capacity;
    uint64_t order, now_ns;
    bool failed;
    dnet_replay_result_t result;
} sim_t;

static bool earlier(const event_t *a, const event_t *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void schedule(sim_t *s, uint64_t at_ns, uint32_t rank, uint32_t channel, bool granted)
{
    event_t e = {at_ns, s->order++, rank, channel, granted};
    if (s->events == s->capacity) {
        uint32_t capacity = s->capacity != 0 ? 2 * s->capacity : 4096;
        event_t *heap = realloc(s->heap, capacity * sizeof(*heap));
        if (heap == NULL) {
            s->failed = true;
            return;
        }
        s->heap = heap;
        s->capacity = capacity;
    }
    uint32_t i = s->events++;
    for (; i > 0 && earlier(&e, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = e;
}

static event_t next_event(sim_t *s)
{
    event_t first = s->heap[0], moved = s->heap[--s->events];
    uint32_t i = 0, child;
    while ((child = 2 * i + 1) < s->events) {
        if (child + 1 < s->events && earlier(&s->heap[child + 1], &s->heap[child]))
            child++;
        if (!earlier(&s->heap[child], &moved))
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = moved;
    return first;
}

/* The rank's current call is over. */
static void go_on(sim_t *s, uint32_t rank)
{
    rank_t *r = &s->rank[rank];
    r->waits = false;
    r->next++;
    if (r->next < s->program->rank[rank].count)
        schedule(s, s->now_ns + s->config->call_ns + s->program->rank[rank].call[r->next].gap_ns, rank,
                 0, false);
}

/* One thing less that a rank's WAIT waits for. */
static void came(sim_t *s, uint32_t rank)
{
    rank_t *r = &s->rank[rank];
    r->missing--;
    if (r->missing == 0 && r->waits)
        go_on(s, rank);
}

/* A message is usable at its destination. */
static void usable(sim_t *s, uint32_t n)
{
    channel_t *c = &s->channel[n];
    c->arrived++;
    if (c->arrived <= c->wanted)
        came(s, s->program->channel[n].dst);
}

/*
 * The rank is in a call: empty its buffers, then resume stopped senders while there is room.  In a
 * blocking call there always is.
 */
static void drain(sim_t *s, uint32_t rank)
{
    rank_t *r = &s->rank[rank];
    r->occupied = 0;
    for (uint32_t room = r->waits ? UINT32_MAX : s->config->buffers; room > 0 && r->queue != NOBODY;) {
        uint32_t n = r->queue;
        channel_t *c = &s->channel[n];
        uint32_t some = c->held < room ? c->held : room;
        room -= some;
        c->held -= some;
        r->queue = c->queue;
        if (r->queue == NOBODY)
            r->queue_last = NOBODY;
        if (c->held != 0) {
            c->queue = NOBODY;
            if (r->queue_last != NOBODY)
                s->channel[r->queue_last].queue = n;
            else
                r->queue = n;
            r->queue_last = n;
        }
        /* They take their buffers until the next call, like any other. */
        r->occupied += r->waits ? 0 : some;
        for (; some > 0 && s->config->replay; some--)
            schedule(s, s->now_ns + s->config->penalty_ns, NOBODY, n, true);
    }
}

static void hold(sim_t *s, uint32_t n)
{
    const dnet_replay_channel_t *where = &s->program->channel[n];
    channel_t *c = &s->channel[n];
    rank_t *r = &s->rank[where->dst];
    if (s->config->replay)
        s->rank[where->src].missing++; /* MPI_Wait of the send */
    if (c->held++ != 0)
        return;
    s->result.events++;
    s->rank[where->src].events++;
    c->queue = NOBODY;
    if (r->queue_last != NOBODY)
        s->channel[r->queue_last].queue = n;
    else
        r->queue = n;
    r->queue_last = n;
}

/* A message reaches its destination's NIC for the first time. */
static void arrives(sim_t *s, uint32_t n)
{
    uint32_t dst = s->program->channel[n].dst;
    rank_t *r = &s->rank[dst];
    s->result.messages++;
    bool fits = r->waits || (r->occupied < s->config->buffers && s->channel[n].held == 0);
    if (fits && !r->waits)
        r->occupied++;
    if (!fits)
        hold(s, n);
    if (fits || !s->config->replay)
        usable(s, n);
}

static void call(sim_t *s, uint32_t rank)
{
    rank_t *r = &s->rank[rank];
    const dnet_replay_call_t *op = &s->program->rank[rank].call[r->next];
    channel_t *c = &s->channel[op->channel];
    r->waits = op->kind == DNET_REPLAY_WAIT;
    drain(s, rank);
    switch ((dnet_replay_kind_t) op->kind) {
    case DNET_REPLAY_SEND:
        schedule(s, s->now_ns + s->config->wire_ns, NOBODY, op->channel, false);
        go_on(s, rank);
        break;
    case DNET_REPLAY_RECV:
        c->wanted++;
        if (c->wanted > c->arrived)
            r->missing++;
        go_on(s, rank);
        break;
    case DNET_REPLAY_WAIT:
        if (r->missing == 0)
            go_on(s, rank);
        break;
    }
}

static void granted(sim_t *s, uint32_t n)
{
    usable(s, n);
    came(s, s->program->channel[n].src);
}

static bool start(sim_t *s)
{
    s->rank = calloc(s->program->ranks, sizeof(*s->rank));
    s->channel = calloc(s->program->channels, sizeof(*s->channel));
    if (s->rank == NULL || s->channel == NULL)
        return false;
    for (uint32_t i = 0; i < s->program->ranks; i++) {
        s->rank[i].queue = s->rank[i].queue_last = NOBODY;
        if (s->program->rank[i].count != 0)
            schedule(s, s->program->rank[i].call[0].gap_ns, i, 0, false);
    }
    return true;
}

dnet_status_t dnet_replay_run(const dnet_replay_program_t *program,
                              const dnet_replay_config_t *config, dnet_replay_result_t *result_p)
{
    sim_t s = {.program = program, .config = config};
    s.failed = !start(&s);
    while (s.events != 0 && !s.failed) {
        event_t e = next_event(&s);
        s.now_ns = e.at_ns;
        if (e.rank != NOBODY)
            call(&s, e.rank);
        else if (e.granted)
            granted(&s, e.channel);
        else
            arrives(&s, e.channel);
    }
    dnet_status_t status = s.failed ? DNET_ERR_NO_MEMORY : DNET_OK;
    for (uint32_t i = 0; i < program->ranks && status == DNET_OK; i++) {
        if (s.rank[i].next < program->rank[i].count)
            status = DNET_ERR_STATE;
        if (s.rank[i].events > s.result.events_max)
            s.result.events_max = s.rank[i].events;
    }
    s.result.time_ns = s.now_ns;
    if (status == DNET_OK)
        *result_p = s.result;
    free(s.rank);
    free(s.channel);
    free(s.heap);
    return status;
}
