/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The time line of a program with B shared receive buffers a rank (flow control specification 7.3).
 *
 * Two kinds of events: a rank comes to its next call, and a message arrives.  STATIC leaves all
 * times as they are with enough buffers and only counts; REPLAY lets a message that found no
 * buffer arrive when the receiver has granted it, one penalty after it made room.
 */
#include <stdlib.h>

#include "replay/replay.h"

#define NONE UINT32_MAX

typedef struct {
    uint64_t at_ns, order;
    uint32_t rank;    /* comes to its next call, or to its end; NONE: a message arrives */
    uint32_t channel; /* of the message */
    bool granted;     /* it was held before; its buffer is already taken */
} event_t;

enum { DONE = 1, AWAITED = 2 }; /* what is known of a request */

typedef struct {
    uint32_t next;              /* call */
    uint32_t made;              /* requests */
    uint32_t occupied;          /* buffers */
    uint32_t queue, queue_last; /* stopped channels, first stopped first */
    uint32_t missing;           /* requests the current WAIT waits for */
    bool waits;                 /* in a blocking call */
    bool below;                 /* the mark, since it last made room */
    uint64_t stolen_ns;         /* by limit events, not yet added to its computing */
    uint64_t events;
    uint8_t *request; /* of each request: DONE, AWAITED */
    uint32_t *after;  /* of each request: the next of its channel that is not served yet */
} rank_t;

/* Requests of one rank in a channel, oldest first. */
typedef struct {
    uint32_t first, last;
} line_t;

typedef struct {
    uint32_t held;    /* messages that found no buffer; more than 0: a HELD period */
    uint32_t queue;   /* next in the receiver's queue */
    uint32_t arrived; /* messages usable by the destination that no receive has taken */
    line_t sends, receives;
} channel_t;

typedef struct {
    const dnet_replay_program_t *program;
    const dnet_replay_config_t *config;
    rank_t *rank;
    channel_t *channel;
    event_t *heap;
    uint32_t events, capacity;
    uint32_t together; /* ranks in the current synchronising call */
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
    const dnet_replay_rank_t *of = &s->program->rank[rank];
    r->waits = false;
    r->next++;
    if (r->next < of->count) {
        uint64_t busy_ns = s->config->call_ns + r->stolen_ns + of->call[r->next].gap_ns;
        schedule(s, s->now_ns + busy_ns, rank, 0, false);
        r->stolen_ns = 0;
    } else {
        schedule(s, s->now_ns + of->last_gap_ns, rank, 0, false);
    }
}

static void append(line_t *line, rank_t *r, uint32_t request)
{
    r->after[request] = NONE;
    if (line->first == NONE)
        line->first = request;
    else
        r->after[line->last] = request;
    line->last = request;
}

static void done(sim_t *s, uint32_t rank, uint32_t request)
{
    rank_t *r = &s->rank[rank];
    r->request[request] |= DONE;
    if ((r->request[request] & AWAITED) && --r->missing == 0 && r->waits)
        go_on(s, rank);
}

/* The oldest request of a line is served, if there is one. */
static bool serve(sim_t *s, line_t *line, uint32_t rank)
{
    uint32_t request = line->first;
    if (request == NONE)
        return false;
    line->first = s->rank[rank].after[request];
    done(s, rank, request);
    return true;
}

/* A message is usable at its destination, and its sender knows. */
static void usable(sim_t *s, uint32_t n)
{
    channel_t *c = &s->channel[n];
    if (!serve(s, &c->receives, s->program->channel[n].dst))
        c->arrived++;
    serve(s, &c->sends, s->program->channel[n].src);
}

/*
 * The rank is in a call: empty its buffers, then resume stopped senders while there is room.  In a
 * blocking call there always is.
 */
static void drain(sim_t *s, uint32_t rank)
{
    rank_t *r = &s->rank[rank];
    r->occupied = 0;
    r->below = false;
    uint32_t room = r->waits ? UINT32_MAX : s->config->buffers;
    while (room > 0 && r->queue != NONE) {
        uint32_t n = r->queue;
        channel_t *c = &s->channel[n];
        uint32_t some = c->held < room ? c->held : room;
        room -= some;
        c->held -= some;
        r->queue = c->queue;
        if (r->queue == NONE)
            r->queue_last = NONE;
        if (c->held != 0) {
            c->queue = NONE;
            if (r->queue_last != NONE)
                s->channel[r->queue_last].queue = n;
            else
                r->queue = n;
            r->queue_last = n;
        }
        /* They take their buffers until the next call, like any other. */
        r->occupied += r->waits ? 0 : some;
        for (; some > 0 && s->config->replay; some--)
            schedule(s, s->now_ns + s->config->penalty_ns, NONE, n, true);
    }
}

static void hold(sim_t *s, uint32_t n)
{
    const dnet_replay_channel_t *where = &s->program->channel[n];
    channel_t *c = &s->channel[n];
    rank_t *r = &s->rank[where->dst];
    if (c->held++ != 0)
        return;
    s->result.events++;
    s->rank[where->src].events++;
    c->queue = NONE;
    if (r->queue_last != NONE)
        s->channel[r->queue_last].queue = n;
    else
        r->queue = n;
    r->queue_last = n;
}

/* Fewer buffers are left than the limit event was armed for: the receiver's thread refills them. */
static void limit_event(sim_t *s, rank_t *r)
{
    if (s->config->mark == 0 || r->below || r->waits ||
        r->occupied + s->config->mark <= s->config->buffers)
        return;
    r->below = true;
    r->events++;
    s->result.events++;
    if (s->config->replay)
        r->stolen_ns += s->config->penalty_ns;
}

/* A message reaches its destination's NIC for the first time. */
static void arrives(sim_t *s, uint32_t n)
{
    rank_t *r = &s->rank[s->program->channel[n].dst];
    s->result.messages++;
    bool fits = r->waits || s->config->mark != 0 ||
                (r->occupied < s->config->buffers && s->channel[n].held == 0);
    if (fits && !r->waits)
        r->occupied++;
    limit_event(s, r);
    if (!fits)
        hold(s, n);
    if (fits || !s->config->replay)
        usable(s, n);
}

/* A synchronising call ends for all when the last rank begins it. */
static void synchronise(sim_t *s)
{
    if (++s->together < s->program->ranks)
        return;
    s->together = 0;
    for (uint32_t i = 0; i < s->program->ranks; i++)
        go_on(s, i);
}

static void wait(sim_t *s, uint32_t rank, const dnet_replay_call_t *op)
{
    rank_t *r = &s->rank[rank];
    const uint32_t *waited = s->program->rank[rank].waited + op->where;
    r->missing = 0;
    for (uint32_t i = 0; i < op->amount; i++)
        if (r->request[waited[i]] == 0) {
            r->request[waited[i]] = AWAITED;
            r->missing++;
        }
    if (r->missing == 0)
        go_on(s, rank);
}

/* The rank is in MPI_Finalize: a call that blocks, and takes out what nobody receives. */
static void finish(sim_t *s, uint32_t rank)
{
    s->rank[rank].waits = true;
    drain(s, rank);
}

static void call(sim_t *s, uint32_t rank)
{
    rank_t *r = &s->rank[rank];
    const dnet_replay_call_t *op = &s->program->rank[rank].call[r->next];
    r->waits = op->kind == DNET_REPLAY_WAIT || op->kind == DNET_REPLAY_SYNC;
    if (r->waits || !s->config->at_waits)
        drain(s, rank);
    switch ((dnet_replay_kind_t) op->kind) {
        case DNET_REPLAY_SEND:
            append(&s->channel[op->where].sends, r, r->made++);
            schedule(s, s->now_ns + s->config->wire_ns, NONE, op->where, false);
            go_on(s, rank);
            break;
        case DNET_REPLAY_RECV:
            append(&s->channel[op->where].receives, r, r->made++);
            if (s->channel[op->where].arrived != 0) {
                s->channel[op->where].arrived--;
                serve(s, &s->channel[op->where].receives, rank);
            }
            go_on(s, rank);
            break;
        case DNET_REPLAY_WAIT:
            wait(s, rank, op);
            break;
        case DNET_REPLAY_SYNC:
            synchronise(s);
            break;
        case DNET_REPLAY_OTHER:
            go_on(s, rank);
            break;
    }
}

static bool start(sim_t *s)
{
    s->rank = calloc(s->program->ranks, sizeof(*s->rank));
    s->channel = malloc((s->program->channels + 1) * sizeof(*s->channel));
    if (s->rank == NULL || s->channel == NULL)
        return false;
    for (uint32_t i = 0; i < s->program->channels; i++)
        s->channel[i] = (channel_t){.queue = NONE, .sends = {NONE, NONE}, .receives = {NONE, NONE}};
    for (uint32_t i = 0; i < s->program->ranks; i++) {
        const dnet_replay_rank_t *of = &s->program->rank[i];
        s->rank[i].queue = s->rank[i].queue_last = NONE;
        s->rank[i].request = calloc(of->requests + 1, 1);
        s->rank[i].after = malloc((of->requests + 1) * sizeof(uint32_t));
        if (s->rank[i].request == NULL || s->rank[i].after == NULL)
            return false;
        schedule(s, of->count != 0 ? of->call[0].gap_ns : of->last_gap_ns, i, 0, false);
    }
    return true;
}

static void stop(sim_t *s)
{
    for (uint32_t i = 0; s->rank != NULL && i < s->program->ranks; i++) {
        free(s->rank[i].request);
        free(s->rank[i].after);
    }
    free(s->rank);
    free(s->channel);
    free(s->heap);
}

dnet_status_t dnet_replay_run(const dnet_replay_program_t *program,
                              const dnet_replay_config_t *config, dnet_replay_result_t *result_p)
{
    sim_t s = {.program = program, .config = config};
    s.failed = !start(&s);
    while (s.events != 0 && !s.failed) {
        event_t e = next_event(&s);
        s.now_ns = e.at_ns;
        if (e.rank != NONE && s.rank[e.rank].next == program->rank[e.rank].count)
            finish(&s, e.rank);
        else if (e.rank != NONE)
            call(&s, e.rank);
        else if (e.granted)
            usable(&s, e.channel);
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
    stop(&s);
    return status;
}
