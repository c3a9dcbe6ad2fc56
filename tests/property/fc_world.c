/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A simulated cluster for the stop/resend protocol; see fc_world.h.
 */
#include "fc_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef enum { EVENT_DATA, EVENT_TO_TX, EVENT_TO_RX, EVENT_POLL, EVENT_TIMER, EVENT_START } kind_t;

typedef struct {
    uint64_t at_ns, order;
    kind_t kind;
    unsigned where; /* connection; POLL: process */
    uint64_t number;
    union {
        dnet_fc_data_t data;
        dnet_fc_control_t word;
    } u;
} event_t;

/* A message in a receive buffer. */
typedef struct {
    unsigned conn;
    uint64_t number;
    bool last, counted;
} buffer_t;

typedef struct {
    dnet_fc_pool_t pool;
    dnet_fc_receiver_t receiver;
    buffer_t *buffer;
    unsigned occupied;
    unsigned *ring; /* stop ring: connections */
    unsigned ring_count;
    bool closed, polls;
    unsigned reserved; /* by its connections; for check() */
} process_t;

struct world {
    world_config_t config;
    dnet_random_t random;
    dnet_fc_tx_env_t env;
    uint64_t now_ns, order;
    event_t *heap;
    unsigned events, heap_capacity;
    process_t *process;
    world_conn_t *conn;
    unsigned conns, conn_capacity;
    int *conn_of; /* [dst * processes + src] */
    unsigned unfinished;
    const char *wrong;
    world_stats_t stats;
};

/* A property is violated; the first one is kept and ends the run. */
static bool expect(world_t *w, bool holds, const char *wrong)
{
    if (!holds && w->wrong == NULL)
        w->wrong = wrong;
    return holds;
}

/* ---- events ---- */

static bool earlier(const event_t *a, const event_t *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void schedule(world_t *w, uint64_t at_ns, event_t e)
{
    e.at_ns = at_ns;
    e.order = w->order++;
    if (w->events == w->heap_capacity) {
        w->heap_capacity = w->heap_capacity != 0 ? 2 * w->heap_capacity : 1024;
        w->heap = realloc(w->heap, w->heap_capacity * sizeof(*w->heap));
        assert_non_null(w->heap);
    }
    unsigned i = w->events++;
    for (; i > 0 && earlier(&e, &w->heap[(i - 1) / 2]); i = (i - 1) / 2)
        w->heap[i] = w->heap[(i - 1) / 2];
    w->heap[i] = e;
}

static event_t next_event(world_t *w)
{
    event_t first = w->heap[0], moved = w->heap[--w->events];
    unsigned i = 0, child;
    while ((child = 2 * i + 1) < w->events) {
        if (child + 1 < w->events && earlier(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!earlier(&w->heap[child], &moved))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = moved;
    return first;
}

static bool chance(world_t *w, unsigned permille)
{
    return permille != 0 && dnet_random_below(&w->random, 1000) < permille;
}

/* Put a packet on the wire: it arrives no, one or two times. */
static void network(world_t *w, unsigned fault_kind, event_t e)
{
    const world_fault_t *fault = &w->config.fault[fault_kind];
    w->stats.packets++;
    for (unsigned copies = chance(w, fault->duplicate) ? 2 : 1; copies > 0; copies--) {
        if (chance(w, fault->lose)) {
            w->stats.lost++;
            continue;
        }
        uint64_t wire = w->config.wire_ns;
        if (w->config.jitter_ns != 0)
            wire += dnet_random(&w->random) % w->config.jitter_ns;
        if (chance(w, fault->delay))
            wire += dnet_random(&w->random) % (20 * w->config.grant_ns);
        schedule(w, w->now_ns + wire, e);
    }
}

/* ---- ops of the code under test ---- */

static unsigned conn_number(const world_t *w, const world_conn_t *c)
{
    return (unsigned) (c - w->conn);
}

static world_conn_t *of_tx(dnet_fc_tx_t *tx)
{
    return (world_conn_t *) (void *) ((char *) tx - offsetof(world_conn_t, tx));
}

static world_conn_t *of_rx(dnet_fc_rx_t *rx)
{
    return (world_conn_t *) (void *) ((char *) rx - offsetof(world_conn_t, rx));
}

static void rx_control(void *arg, dnet_fc_rx_t *rx, const dnet_fc_control_t *word)
{
    world_t *w = arg;
    world_conn_t *c = of_rx(rx);
    w->stats.stops += word->type == DNET_FC_CONTROL_STOP;
    w->stats.resends += word->type == DNET_FC_CONTROL_RESEND;
    event_t e = {.kind = EVENT_TO_TX, .where = conn_number(w, c), .number = c->number};
    e.u.word = *word;
    network(w, word->type, e);
}

static void rx_note_stop(void *arg, dnet_fc_rx_t *rx)
{
    world_t *w = arg;
    world_conn_t *c = of_rx(rx);
    process_t *p = &w->process[c->dst];
    w->stats.held_periods++;
    w->stats.barren += c->rx.grant_id != c->noted_grant && c->delivered == c->noted_delivered;
    c->noted_grant = c->rx.grant_id;
    c->noted_delivered = c->delivered;
    if (expect(w, p->ring_count < w->config.processes, "a connection is twice in the stop ring"))
        p->ring[p->ring_count++] = conn_number(w, c);
}

static void tx_transmit(void *arg, dnet_fc_tx_t *tx, const dnet_fc_data_t *data)
{
    world_t *w = arg;
    world_conn_t *c = of_tx(tx);
    event_t e = {.kind = EVENT_DATA, .where = conn_number(w, c), .number = c->number};
    e.u.data = *data;
    network(w, 0, e);
}

static void tx_control(void *arg, dnet_fc_tx_t *tx, const dnet_fc_control_t *word)
{
    world_t *w = arg;
    world_conn_t *c = of_tx(tx);
    w->stats.probes += word->type == DNET_FC_CONTROL_PROBE;
    event_t e = {.kind = EVENT_TO_RX, .where = conn_number(w, c), .number = c->number};
    e.u.word = *word;
    network(w, word->type, e);
}

static void tx_acked(void *arg, dnet_fc_tx_t *tx, uint32_t una_seq)
{
    world_t *w = arg;
    world_conn_t *c = of_tx(tx);
    /* What is acknowledged has been delivered: a send may be reported as complete (O3). */
    expect(w, c->rx.epoch != tx->epoch || !dnet_fc_before(c->rx.exp_seq, una_seq),
           "acknowledged before it was delivered");
    if (w->config.blocking && una_seq == tx->next_seq && c->started < c->messages)
        schedule(w, w->now_ns,
                 (event_t){.kind = EVENT_START, .where = conn_number(w, c), .number = c->number});
}

static void conn_over(world_t *w, world_conn_t *c)
{
    if (!c->dead && !c->killed && c->received < c->messages)
        w->unfinished--;
}

static void tx_dead(void *arg, dnet_fc_tx_t *tx)
{
    conn_over(arg, of_tx(tx));
    of_tx(tx)->dead = true;
}

static world_conn_t *conn_of_peer(world_t *w, unsigned process, dnet_fc_peer_t peer)
{
    unsigned src = (peer.lid - 1u) * 2 + peer.wid;
    return &w->conn[w->conn_of[process * w->config.processes + src]];
}

static dnet_fc_peer_t peer_of(const world_conn_t *c)
{
    return (dnet_fc_peer_t){.lid = (uint16_t) (1 + c->src / 2), .wid = c->src % 2};
}

/* The receiver's ops get a process: which world it is in is found through its pool. */
static dnet_status_t receiver_resend(void *arg, dnet_fc_peer_t peer, unsigned credits, bool repeat)
{
    process_t *p = arg;
    world_t *w = p->pool.arg;
    world_conn_t *c = conn_of_peer(w, (unsigned) (p - w->process), peer);
    if (repeat) {
        dnet_fc_rx_repeat(&c->rx, &p->pool);
        return DNET_OK;
    }
    dnet_status_t status = dnet_fc_rx_grant(&c->rx, &p->pool, credits);
    if (w->config.broken == WORLD_BREAK_RESERVE && status == DNET_OK) {
        p->pool.free += c->rx.reserved;
        c->rx.reserved = 0;
        c->rx.state = DNET_FC_RX_OPEN;
    }
    return status;
}

static void receiver_revoke(void *arg, dnet_fc_peer_t peer)
{
    process_t *p = arg;
    world_t *w = p->pool.arg;
    if (w->config.broken != WORLD_BREAK_EXPIRE)
        dnet_fc_rx_revoke(&conn_of_peer(w, (unsigned) (p - w->process), peer)->rx, &p->pool);
}

static const dnet_fc_rx_ops_t rx_ops = {rx_control, rx_note_stop};
static const dnet_fc_tx_ops_t tx_ops = {tx_transmit, tx_control, tx_acked, tx_dead};
static const dnet_fc_receiver_ops_t receiver_ops = {
    .resend = receiver_resend,
    .revoke = receiver_revoke,
};

/* ---- the receiving process ---- */

/* Would the process take this message out of its buffer now? */
static bool may_take(const world_t *w, const world_conn_t *c)
{
    if (w->config.wanted < 0 || w->config.broken != WORLD_BREAK_COPY_OUT)
        return true;
    if ((int) c->src == w->config.wanted)
        return true;
    int wanted = w->conn_of[c->dst * w->config.processes + (unsigned) w->config.wanted];
    return w->conn[wanted].received == w->conn[wanted].messages;
}

static void drain(world_t *w, process_t *p)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < p->occupied; i++) {
        buffer_t b = p->buffer[i];
        world_conn_t *c = &w->conn[b.conn];
        if (!b.counted && b.number == c->number)
            dnet_fc_receiver_arrived(&p->receiver, peer_of(c), b.last, w->now_ns);
        b.counted = true;
        if (!may_take(w, c)) {
            p->buffer[kept++] = b;
            continue;
        }
        p->pool.free++;
        if (b.number != c->number)
            continue;
        c->received++;
        if (c->received == c->messages && !c->dead && !c->killed) {
            c->finished_ns = w->now_ns;
            w->unfinished--;
        }
    }
    p->occupied = kept;
}

static bool waits(const world_t *w, unsigned process)
{
    for (unsigned i = 0; i < w->conns; i++)
        if (w->conn[i].src == process && w->conn[i].tx.state == DNET_FC_TX_STOPPED)
            return true;
    return false;
}

/* An entry of the stop ring; stale when the connection has been closed since. */
static void take_note(process_t *p, const world_conn_t *c)
{
    if (c->rx.state == DNET_FC_RX_HELD)
        assert_int_equal(dnet_fc_receiver_stopped(&p->receiver, peer_of(c), 64), DNET_OK);
}

static void poll_process(world_t *w, unsigned n)
{
    process_t *p = &w->process[n];
    if (p->closed || (w->config.broken == WORLD_BREAK_PROGRESS && waits(w, n)))
        return;
    drain(w, p);
    if (w->config.broken == WORLD_BREAK_QUEUE) {
        if (p->ring_count != 0 && p->receiver.stopped.count == 0)
            take_note(p, &w->conn[p->ring[--p->ring_count]]);
    } else {
        for (unsigned i = 0; i < p->ring_count; i++)
            take_note(p, &w->conn[p->ring[i]]);
        p->ring_count = 0;
    }
    dnet_fc_receiver_room(&p->receiver, w->config.buffers - p->occupied, UINT64_MAX, w->now_ns);
}

/* ---- the world ---- */

#define FIRST_SEQ ((uint32_t) -5) /* the numbers wrap around early on */

world_config_t world_defaults(uint64_t seed)
{
    return (world_config_t){
        .seed = seed,
        .processes = 2,
        .buffers = 4,
        .window = 16,
        .wire_ns = 1000,
        .poll_ns = 2000,
        .grant_ns = 100 * 1000,
        .wanted = -1,
    };
}

world_t *world_open(const world_config_t *config)
{
    world_t *w = calloc(1, sizeof(*w));
    assert_non_null(w);
    w->config = *config;
    w->random.state = config->seed;
    w->env = dnet_fc_tx_defaults(&tx_ops, w);
    w->env.window = config->window;
    w->env.stop_ns = 1000 * 1000;
    w->env.repeats = 12;
    w->process = calloc(config->processes, sizeof(*w->process));
    w->conn_of = malloc(sizeof(int) * config->processes * config->processes);
    assert_non_null(w->process);
    assert_non_null(w->conn_of);
    memset(w->conn_of, -1, sizeof(int) * config->processes * config->processes);
    /* Events hold numbers of connections, ops hold pointers: the array never moves. */
    w->conn_capacity = 4096;
    w->conn = calloc(w->conn_capacity, sizeof(*w->conn));
    assert_non_null(w->conn);
    for (unsigned i = 0; i < config->processes; i++) {
        process_t *p = &w->process[i];
        p->pool = (dnet_fc_pool_t){.ops = &rx_ops, .arg = w, .srq_id = i, .free = config->buffers};
        p->buffer = calloc(config->buffers, sizeof(*p->buffer));
        p->ring = calloc(config->processes, sizeof(*p->ring));
        assert_non_null(p->buffer);
        assert_non_null(p->ring);
        dnet_fc_receiver_config_t rc = dnet_fc_receiver_defaults(config->buffers, 0);
        rc.repeats = 3;
        rc.grant_ns = config->grant_ns;
        assert_int_equal(dnet_fc_receiver_init(&p->receiver, &rc, &receiver_ops, p), DNET_OK);
    }
    return w;
}

void world_close(world_t *w)
{
    for (unsigned i = 0; i < w->config.processes; i++) {
        dnet_fc_receiver_fini(&w->process[i].receiver);
        free(w->process[i].buffer);
        free(w->process[i].ring);
    }
    free(w->process);
    free(w->conn);
    free(w->conn_of);
    free(w->heap);
    free(w);
}

static void conn_start(world_t *w, world_conn_t *c, unsigned messages)
{
    c->messages = messages;
    c->started = c->delivered = c->received = 0;
    c->dead = c->killed = false;
    c->timer_ns = 0;
    c->noted_grant = c->noted_delivered = 0;
    c->number++;
    uint16_t epoch = w->config.broken == WORLD_BREAK_EPOCH ? 1 : (uint16_t) c->number;
    dnet_fc_tx_open(&c->tx, epoch, c->dst, FIRST_SEQ);
    dnet_fc_rx_open(&c->rx, epoch, FIRST_SEQ);
    w->unfinished++;
    schedule(w, w->now_ns + dnet_random(&w->random) % 1000,
             (event_t){.kind = EVENT_START, .where = conn_number(w, c), .number = c->number});
}

unsigned world_connect(world_t *w, unsigned src, unsigned dst, unsigned messages)
{
    assert_true(w->conns < w->conn_capacity);
    world_conn_t *c = &w->conn[w->conns];
    c->src = src;
    c->dst = dst;
    w->conn_of[dst * w->config.processes + src] = (int) w->conns;
    if (!w->process[dst].polls)
        schedule(w, dnet_random(&w->random) % w->config.poll_ns,
                 (event_t){.kind = EVENT_POLL, .where = dst});
    w->process[dst].polls = true;
    conn_start(w, c, messages);
    return w->conns++;
}

world_conn_t *world_conn(world_t *w, unsigned c)
{
    return &w->conn[c];
}

const world_stats_t *world_stats(const world_t *w)
{
    return &w->stats;
}

uint64_t world_now(const world_t *w)
{
    return w->now_ns;
}

unsigned world_reserved(const world_t *w, unsigned process)
{
    const process_t *p = &w->process[process];
    return w->config.buffers - p->pool.free - p->occupied;
}

unsigned world_records(const world_t *w, unsigned process)
{
    const dnet_fc_receiver_t *r = &w->process[process].receiver;
    return r->stopped.count + r->granted.count;
}

static void data_arrives(world_t *w, world_conn_t *c, const dnet_fc_data_t *data, uint64_t number)
{
    process_t *p = &w->process[c->dst];
    if (p->closed && w->config.broken == WORLD_BREAK_RESET)
        return;
    uint32_t expected = c->rx.exp_seq;
    if (!dnet_fc_rx_data(&c->rx, &p->pool, data))
        return;
    expect(w, number == c->number, "delivered a packet of an earlier incarnation");
    expect(w, data->seq == expected && data->seq == FIRST_SEQ + c->delivered,
           "not delivered exactly once and in order");
    c->delivered++;
    if (expect(w, p->occupied < w->config.buffers, "delivered without a buffer"))
        p->buffer[p->occupied++] = (buffer_t){conn_number(w, c), c->number, data->last, false};
}

/* Sends are started in bunches, at any time, stopped or not. */
static void start_sends(world_t *w, world_conn_t *c)
{
    unsigned bunch = w->config.blocking ? 1 : 1 + dnet_random_below(&w->random, 20);
    while (bunch-- > 0 && c->started < c->messages && !c->dead) {
        c->started++;
        assert_int_equal(dnet_fc_tx_send(&c->tx, &w->env, w->now_ns), DNET_OK);
    }
    if (!w->config.blocking && c->started < c->messages)
        schedule(w, w->now_ns + dnet_random(&w->random) % 20000,
                 (event_t){.kind = EVENT_START, .where = conn_number(w, c), .number = c->number});
}

static void handle(world_t *w, event_t *e)
{
    world_conn_t *c = e->kind == EVENT_POLL ? NULL : &w->conn[e->where];
    bool own = e->kind == EVENT_TIMER || e->kind == EVENT_START;
    if ((own && e->number != c->number) ||
        (c != NULL && c->killed && (own || e->kind == EVENT_TO_TX)))
        return;
    switch (e->kind) {
        case EVENT_DATA:
            data_arrives(w, c, &e->u.data, e->number);
            break;
        case EVENT_TO_RX:
            if (!w->process[c->dst].closed || w->config.broken != WORLD_BREAK_RESET)
                dnet_fc_rx_control(&c->rx, &w->process[c->dst].pool, &e->u.word);
            break;
        case EVENT_TO_TX:
            dnet_fc_tx_control(&c->tx, &w->env, &e->u.word, w->now_ns);
            break;
        case EVENT_POLL:
            poll_process(w, e->where);
            schedule(w,
                     w->now_ns + w->config.poll_ns / 2 + 1 +
                         dnet_random(&w->random) % w->config.poll_ns,
                     *e);
            break;
        case EVENT_TIMER:
            c->timer_ns = 0;
            dnet_fc_tx_timer(&c->tx, &w->env, w->now_ns);
            break;
        case EVENT_START:
            start_sends(w, c);
            break;
    }
    if (c != NULL && !c->killed && c->tx.deadline_ns != UINT64_MAX &&
        w->config.broken != WORLD_BREAK_REPEAT &&
        (c->timer_ns == 0 || c->tx.deadline_ns < c->timer_ns)) {
        c->timer_ns = c->tx.deadline_ns;
        schedule(w, c->timer_ns,
                 (event_t){.kind = EVENT_TIMER, .where = e->where, .number = c->number});
    }
}

static void check(world_t *w)
{
    expect(w, w->stats.stops <= w->stats.held_periods + w->stats.probes, "too many STOPs");
    for (unsigned i = 0; i < w->config.processes; i++)
        w->process[i].reserved = 0;
    for (unsigned i = 0; i < w->conns; i++)
        w->process[w->conn[i].dst].reserved += w->conn[i].rx.reserved;
    for (unsigned i = 0; i < w->config.processes; i++) {
        const process_t *p = &w->process[i];
        expect(w, p->pool.free + p->occupied + p->reserved == w->config.buffers,
               "a buffer is lost");
    }
}

bool world_run(world_t *w, uint64_t until_ns, bool (*stop)(world_t *w, void *arg), void *arg)
{
    for (uint64_t n = 0; w->unfinished != 0 && w->wrong == NULL; n++) {
        event_t e = next_event(w);
        if (e.at_ns > until_ns) {
            schedule(w, e.at_ns, e);
            w->now_ns = until_ns;
            break;
        }
        w->now_ns = e.at_ns;
        handle(w, &e);
        if (n % 1024 == 0)
            check(w);
        if (stop != NULL && stop(w, arg))
            break;
    }
    check(w);
    return w->unfinished == 0 && w->wrong == NULL;
}

const char *world_wrong(const world_t *w)
{
    return w->wrong != NULL     ? w->wrong
           : w->unfinished != 0 ? "not everything has arrived"
                                : "nothing";
}

void world_kill_sender(world_t *w, unsigned n, bool report)
{
    world_conn_t *c = &w->conn[n];
    conn_over(w, c);
    c->killed = true;
    if (report) {
        process_t *p = &w->process[c->dst];
        dnet_fc_rx_close(&c->rx, &p->pool, false);
        dnet_fc_receiver_forget(&p->receiver, peer_of(c));
    }
}

void world_restart_sender(world_t *w, unsigned n, unsigned messages)
{
    world_conn_t *c = &w->conn[n];
    process_t *p = &w->process[c->dst];
    dnet_fc_rx_close(&c->rx, &p->pool, false);
    dnet_fc_receiver_forget(&p->receiver, peer_of(c));
    conn_start(w, c, messages);
}

void world_close_receiver(world_t *w, unsigned process)
{
    process_t *p = &w->process[process];
    p->closed = true;
    for (unsigned i = 0; i < w->conns; i++)
        if (w->conn[i].dst == process) {
            dnet_fc_rx_close(&w->conn[i].rx, &p->pool, w->config.broken != WORLD_BREAK_RESET);
            dnet_fc_receiver_forget(&p->receiver, peer_of(&w->conn[i]));
        }
}
