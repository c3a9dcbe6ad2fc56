/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A step of messages.
 *
 * Every call has a time.  A call that may wait for a message's other side has no earlier time than
 * the call that starts the other side, and each rank makes its calls in the order of (time,
 * message). Of all calls not made yet the first one can therefore always be made, even if nothing
 * is buffered.
 *
 * Within a stream (sender, receiver, tag) sends and receives have the same order, so each receive
 * takes the message it was made for.  Where a destination uses wildcards that is open; then nothing
 * waits before the end of the step, and receives that name a sender are posted before those that do
 * not, so that no wildcard takes what another receive needs.
 */
#include "random.h"

#define NAME_OF(name, title, blocks) title,
#define BLOCKS(name, title, blocks) blocks,
const char *const send_titles[] = {SEND_MODES(NAME_OF)}, *const recv_titles[] = {
                                                             RECV_MODES(NAME_OF)};
static const bool send_blocks[] = {SEND_MODES(BLOCKS)}, recv_blocks[] = {RECV_MODES(BLOCKS)};

#define TAGS_SHARED 4
#define TAGS_OF_STEP 1024
#define BUFFERED_MAX 65536u /* of one message by MPI_Bsend */

/* What the receives of a destination leave open. */
enum { OPEN_NOTHING, OPEN_SOURCE, OPEN_TAG, OPEN_BOTH };

static send_mode_t any_send(player_t *p, const p2p_plan_t *plan, const message_t *m)
{
    for (;;) {
        send_mode_t mode = (send_mode_t) below(&p->plan, SEND_MODES_COUNT);
        bool buffered = mode == MODE_BSEND || mode == MODE_IBSEND;
        if (send_blocks[mode] && (m->wild || m->src == m->dst))
            continue;
        if ((mode == MODE_RSEND || mode == MODE_IRSEND) && !plan->ready)
            continue;
        /* the buffer belongs to the process */
        if (buffered && (p->threads > 1 || m->size > BUFFERED_MAX || chance(&p->plan, 70)))
            continue;
        return mode;
    }
}

static bool leaves_open(const message_t *m)
{
    return m->want_source < 0 || m->want_tag < 0;
}

static recv_mode_t any_recv(player_t *p, const p2p_plan_t *plan, const message_t *m)
{
    bool may_block = !plan->ready && m->src != m->dst && (!m->wild || leaves_open(m));
    for (;;) {
        recv_mode_t mode = (recv_mode_t) below(&p->plan, RECV_MODES_COUNT);
        if (chance(&p->plan, 40))
            mode = MODE_IRECV;
        if (mode == MODE_NO_SEND || (recv_blocks[mode] && !may_block) ||
            (mode == MODE_CANCEL && (m->wild || plan->ready)))
            continue;
        return mode;
    }
}

static void message_make(player_t *p, const p2p_plan_t *plan, message_t *m, int index,
                         const int *open, int busy)
{
    const comm_t *c = plan->comm;
    int tags = p->step % 1000 * TAGS_OF_STEP;
    do {
        m->src = (int) below(&p->plan, (uint32_t) c->members);
        m->dst =
            busy >= 0 && chance(&p->plan, 70) ? busy : (int) below(&p->plan, (uint32_t) c->members);
    } while (c->inter ? c->side[m->src] == c->side[m->dst]
                      : m->src == m->dst && chance(&p->plan, 80));
    m->wild = open[m->dst] != OPEN_NOTHING;
    m->tag = tags + (int) below(&p->plan, TAGS_SHARED);
    m->size = any_size(&p->plan, m->wild ? p->size_max / 8 : p->size_max);
    m->room = m->size;
    m->id =
        mix(p->seed + ((uint64_t) p->thread << 40) + ((uint64_t) p->step << 16) + (uint64_t) index);
    bool exact = !m->wild || chance(&p->plan, 15);
    m->want_source = !exact && open[m->dst] & OPEN_SOURCE ? -1 : m->src;
    m->want_tag = !exact && open[m->dst] & OPEN_TAG ? -1 : m->tag;
    m->send = any_send(p, plan, m);
    m->recv = any_recv(p, plan, m);
    if (m->recv == MODE_CANCEL)
        m->tag = m->want_tag = tags + TAGS_SHARED + index;
    if (!m->wild && m->size && chance(&p->plan, 7))
        m->room = below(&p->plan, (uint32_t) m->size);
}

static int later(player_t *p, int time)
{
    return chance(&p->plan, 50) ? TIMES + 1 : time + (int) below(&p->plan, (uint32_t) TIMES / 4);
}

static int max(int a, int b)
{
    return a > b ? a : b;
}

static bool one_stream(const message_t *a, const message_t *b)
{
    return a->src == b->src && a->dst == b->dst && a->tag == b->tag;
}

/* Times of message `index`, not before those of an earlier one of its stream. */
static void set_times(player_t *p, p2p_plan_t *plan, int index)
{
    message_t *m = &plan->messages[index];
    m->send_time = TIME_READY + (int) below(&p->plan, TIMES - TIME_READY);
    m->recv_time = TIME_READY + (int) below(&p->plan, TIMES - TIME_READY);
    if (m->wild)
        m->recv_time = m->recv_time / 2 + (leaves_open(m) ? TIMES / 2 : 0);
    if (plan->ready)
        m->recv_time = leaves_open(m);
    if (m->wild) {
        if (recv_blocks[m->recv])
            m->recv_time = TIMES;
        m->send_end = m->recv_end = TIMES + 1;
        return;
    }
    for (int i = 0; i < index; i++) {
        if (one_stream(&plan->messages[i], m)) {
            m->send_time = max(m->send_time, plan->messages[i].send_time);
            m->recv_time = max(m->recv_time, plan->messages[i].recv_time);
        }
    }
    if (send_blocks[m->send])
        m->send_time = max(m->send_time, m->recv_time);
    if (recv_blocks[m->recv])
        m->recv_time = max(m->recv_time, m->send_time);
    int both = max(m->send_time, m->recv_time);
    m->send_end = later(p, both);
    m->recv_end = later(p, both);
}

static void add_event(p2p_plan_t *plan, int time, int message, event_kind_t kind)
{
    plan->events[plan->events_count++] = (event_t){time, message, kind};
}

static int by_order(const void *one, const void *other)
{
    const event_t *a = one, *b = other;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->message != b->message)
        return a->message < b->message ? -1 : 1;
    return (int) a->kind - (int) b->kind;
}

static void order_events(p2p_plan_t *plan)
{
    for (int i = 0; i < plan->count; i++) {
        const message_t *m = &plan->messages[i];
        if (m->src == plan->comm->me && m->recv != MODE_NO_SEND) {
            add_event(plan, m->send_time, i, EVENT_SEND);
            add_event(plan, m->send_end, i, EVENT_SEND_END);
        }
        if (m->dst == plan->comm->me) {
            add_event(plan, m->recv_time, i, EVENT_RECV);
            add_event(plan, m->recv_end, i, EVENT_RECV_END);
        }
    }
    qsort(plan->events, (size_t) plan->events_count, sizeof(event_t), by_order);
}

/* A receive that nothing is sent to. */
static void make_no_send(player_t *p, p2p_plan_t *plan, int index, const int *open)
{
    message_t *m = &plan->messages[index];
    if (plan->ready || open[m->dst] != OPEN_NOTHING || !chance(&p->plan, 3))
        return;
    m->recv = MODE_NO_SEND;
    m->tag = m->want_tag = p->step % 1000 * TAGS_OF_STEP + TAGS_SHARED + index;
    m->size = 0;
    m->room = 64;
}

void p2p_plan_make(player_t *p, p2p_plan_t *plan)
{
    int open[RANKS_MAX];
    plan->comm = &p->comms[below(&p->plan, (uint32_t) p->comms_count)];
    plan->ready = chance(&p->plan, 10);
    plan->barrier = false;
    plan->collective = chance(&p->plan, 20);
    plan->events_count = 0;
    plan->count = 1 + (int) below(&p->plan, chance(&p->plan, 30) ? MESSAGES_MAX : 40);
    for (int i = 0; i < plan->comm->members; i++) {
        open[i] = chance(&p->plan, 60) ? OPEN_NOTHING : 1 + (int) below(&p->plan, 3);
        plan->barrier |= (open[i] & OPEN_TAG) != 0;
    }
    int busy = chance(&p->plan, 30) ? (int) below(&p->plan, (uint32_t) plan->comm->members) : -1;
    for (int i = 0; i < plan->count; i++) {
        message_make(p, plan, &plan->messages[i], i, open, busy);
        make_no_send(p, plan, i, open);
        set_times(p, plan, i);
    }
    order_events(plan);
}
