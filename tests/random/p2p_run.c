/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One rank's part of a step of messages: its calls in the order of the plan, then what has come.
 */
#include "random.h"

#include <time.h>

typedef struct {
    buffer_t buffer;
    MPI_Request request;
    MPI_Status status;
    int code;      /* of the call that completed it */
    bool pending;  /* to be waited for */
    bool finished; /* of a receive: status, code and buffer are there */
} side_t;

typedef struct {
    player_t *p;
    const p2p_plan_t *plan;
    side_t sends[MESSAGES_MAX], recvs[MESSAGES_MAX];
    size_t wild_room; /* fits each message to this rank */
} run_t;

static void pause_a_while(player_t *p)
{
    static const long us[] = {0, 5, 50, 500, 3000};
    if (!chance(&p->own, 6))
        return;
    struct timespec now, end;
    long ns = us[below(&p->own, 5)] * 1000;
    if (chance(&p->own, 50)) {
        struct timespec t = {0, ns};
        nanosleep(&t, NULL);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += ns;
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec - end.tv_nsec < 0);
}

/* ---- sends ---- */

static void send_start(run_t *r, int index)
{
    player_t *p = r->p;
    const message_t *m = &r->plan->messages[index];
    side_t *s = &r->sends[index];
    MPI_Comm comm = r->plan->comm->comm;
    int to = r->plan->comm->rank[m->dst], tag = m->tag, code = MPI_SUCCESS;
    buffer_make(&s->buffer, &p->own, m->size, false);
    buffer_fill(&s->buffer, m->id);
    const void *base = s->buffer.base;
    int count = s->buffer.count;
    MPI_Datatype type = s->buffer.type;
    at(p, send_titles[m->send], index, to);
    s->request = MPI_REQUEST_NULL;
    switch (m->send) {
        case MODE_SEND:
            code = MPI_Send(base, count, type, to, tag, comm);
            break;
        case MODE_SSEND:
            code = MPI_Ssend(base, count, type, to, tag, comm);
            break;
        case MODE_BSEND:
            code = MPI_Bsend(base, count, type, to, tag, comm);
            break;
        case MODE_RSEND:
            code = MPI_Rsend(base, count, type, to, tag, comm);
            break;
        case MODE_ISEND:
            code = MPI_Isend(base, count, type, to, tag, comm, &s->request);
            break;
        case MODE_ISSEND:
            code = MPI_Issend(base, count, type, to, tag, comm, &s->request);
            break;
        case MODE_IBSEND:
            code = MPI_Ibsend(base, count, type, to, tag, comm, &s->request);
            break;
        case MODE_IRSEND:
            code = MPI_Irsend(base, count, type, to, tag, comm, &s->request);
            break;
        case MODE_SEND_INIT:
            code = MPI_Send_init(base, count, type, to, tag, comm, &s->request);
            break;
        case MODE_SSEND_INIT:
            code = MPI_Ssend_init(base, count, type, to, tag, comm, &s->request);
            break;
        case SEND_MODES_COUNT:
            break;
    }
    expect_ok(p, code, send_titles[m->send]);
    if (m->send == MODE_SEND_INIT || m->send == MODE_SSEND_INIT)
        expect_ok(p, MPI_Start(&s->request), "MPI_Start");
    s->pending = s->request != MPI_REQUEST_NULL;
    progressed(p);
}

/* ---- receives ---- */

static void probed(run_t *r, int index, const MPI_Status *probe)
{
    int count;
    MPI_Get_count(probe, MPI_BYTE, &count);
    const message_t *m = &r->plan->messages[index];
    if (!m->wild && (size_t) count != m->size)
        differs(r->p, "a probe says %d bytes, %zu were sent", count, m->size);
}

static int receive_now(run_t *r, int index, int source, int tag)
{
    side_t *s = &r->recvs[index];
    return MPI_Recv(s->buffer.base, s->buffer.count, s->buffer.type, source, tag,
                    r->plan->comm->comm, &s->status);
}

static int probe_and_receive(run_t *r, int index, int source, int tag, bool poll)
{
    MPI_Status probe;
    MPI_Comm comm = r->plan->comm->comm;
    int flag = !poll;
    if (!poll)
        expect_ok(r->p, MPI_Probe(source, tag, comm, &probe), "MPI_Probe");
    while (!flag)
        expect_ok(r->p, MPI_Iprobe(source, tag, comm, &flag, &probe), "MPI_Iprobe");
    probed(r, index, &probe);
    return receive_now(r, index, probe.MPI_SOURCE, probe.MPI_TAG);
}

static int mprobe_and_receive(run_t *r, int index, int source, int tag, bool poll)
{
    side_t *s = &r->recvs[index];
    MPI_Status probe;
    MPI_Message message;
    MPI_Comm comm = r->plan->comm->comm;
    int flag = !poll;
    if (!poll)
        expect_ok(r->p, MPI_Mprobe(source, tag, comm, &message, &probe), "MPI_Mprobe");
    while (!flag)
        expect_ok(r->p, MPI_Improbe(source, tag, comm, &flag, &message, &probe), "MPI_Improbe");
    probed(r, index, &probe);
    if (!poll)
        return MPI_Mrecv(s->buffer.base, s->buffer.count, s->buffer.type, &message, &s->status);
    expect_ok(r->p,
              MPI_Imrecv(s->buffer.base, s->buffer.count, s->buffer.type, &message, &s->request),
              "MPI_Imrecv");
    return request_finish(r->p, &s->request, &s->status);
}

static void recv_start(run_t *r, int index)
{
    player_t *p = r->p;
    const message_t *m = &r->plan->messages[index];
    side_t *s = &r->recvs[index];
    MPI_Comm comm = r->plan->comm->comm;
    int source = m->want_source < 0 ? MPI_ANY_SOURCE : r->plan->comm->rank[m->want_source];
    int tag = m->want_tag < 0 ? MPI_ANY_TAG : m->want_tag;
    /* a message with unknown size may end within a block; of a type, that is for its own test */
    buffer_make(&s->buffer, &p->own, m->wild ? r->wild_room : m->room, m->wild);
    at(p, recv_titles[m->recv], index, source);
    s->request = MPI_REQUEST_NULL;
    s->pending = s->finished = false;
    void *base = s->buffer.base;
    int count = s->buffer.count;
    MPI_Datatype type = s->buffer.type;
    switch (m->recv) {
        case MODE_RECV:
            s->code = receive_now(r, index, source, tag);
            break;
        case MODE_PROBE:
        case MODE_IPROBE:
            s->code = probe_and_receive(r, index, source, tag, m->recv == MODE_IPROBE);
            break;
        case MODE_MPROBE:
        case MODE_IMPROBE:
            s->code = mprobe_and_receive(r, index, source, tag, m->recv == MODE_IMPROBE);
            break;
        case MODE_RECV_INIT:
            expect_ok(p, MPI_Recv_init(base, count, type, source, tag, comm, &s->request),
                      "MPI_Recv_init");
            expect_ok(p, MPI_Start(&s->request), "MPI_Start");
            s->pending = true;
            break;
        case MODE_IRECV:
        case MODE_CANCEL:
        case MODE_NO_SEND:
            expect_ok(p, MPI_Irecv(base, count, type, source, tag, comm, &s->request), "MPI_Irecv");
            s->pending = true;
            break;
        case RECV_MODES_COUNT:
            break;
    }
    s->finished = !s->pending;
    progressed(p);
}

static void recv_cancel(run_t *r, int index)
{
    const message_t *m = &r->plan->messages[index];
    side_t *s = &r->recvs[index];
    int cancelled;
    at(r->p, recv_titles[m->recv], index, r->plan->comm->rank[m->src]);
    expect_ok(r->p, MPI_Cancel(&s->request), "MPI_Cancel");
    s->code = request_finish(r->p, &s->request, &s->status);
    MPI_Test_cancelled(&s->status, &cancelled);
    if (m->recv == MODE_NO_SEND && !cancelled)
        differs(r->p, "a receive that nothing was sent to could not be cancelled");
    if (m->recv == MODE_CANCEL && cancelled)
        s->code = receive_now(r, index, r->plan->comm->rank[m->src], m->tag);
    s->finished = true;
    s->pending = false;
}

/* ---- ends ---- */

static void send_finish(run_t *r, int index, int code)
{
    side_t *s = &r->sends[index];
    expect_ok(r->p, code, send_titles[r->plan->messages[index].send]);
    s->pending = false;
    if (s->request != MPI_REQUEST_NULL)
        MPI_Request_free(&s->request);
    progressed(r->p);
}

static void recv_finish(run_t *r, int index, int code, const MPI_Status *status)
{
    side_t *s = &r->recvs[index];
    s->pending = false;
    s->finished = true;
    s->code = code;
    s->status = *status;
    if (s->request != MPI_REQUEST_NULL)
        MPI_Request_free(&s->request);
    progressed(r->p);
}

static void event_end(run_t *r, const event_t *e)
{
    const message_t *m = &r->plan->messages[e->message];
    bool send = e->kind == EVENT_SEND_END;
    side_t *s = send ? &r->sends[e->message] : &r->recvs[e->message];
    MPI_Status status;
    if (!s->pending)
        return;
    if (!send && (m->recv == MODE_CANCEL || m->recv == MODE_NO_SEND)) {
        recv_cancel(r, e->message);
        return;
    }
    at(r->p, send ? "waiting for a send" : "waiting for a receive", e->message,
       r->plan->comm->rank[send ? m->dst : m->src]);
    int code = request_finish(r->p, &s->request, &status);
    if (send)
        send_finish(r, e->message, code);
    else
        recv_finish(r, e->message, code, &status);
}

/* All that is left, in one call or several. */
static void finish_all(run_t *r)
{
    MPI_Request requests[2 * MESSAGES_MAX];
    MPI_Status statuses[2 * MESSAGES_MAX];
    int which[2 * MESSAGES_MAX], n = 0;
    for (int i = 0; i < r->plan->count; i++) {
        if (r->sends[i].pending) {
            requests[n] = r->sends[i].request;
            which[n++] = i;
        }
        if (r->recvs[i].pending) {
            requests[n] = r->recvs[i].request;
            which[n++] = -1 - i;
        }
    }
    at(r->p, "waiting for all", n, -1);
    requests_finish(r->p, requests, statuses, n);
    for (int k = 0; k < n; k++) {
        int i = which[k] < 0 ? -1 - which[k] : which[k];
        if (which[k] >= 0) {
            r->sends[i].request = requests[k];
            send_finish(r, i, statuses[k].MPI_ERROR);
        } else {
            r->recvs[i].request = requests[k];
            recv_finish(r, i, statuses[k].MPI_ERROR, &statuses[k]);
        }
    }
}

/* ---- what has come ---- */

/* The message that this receive must have got: of those that its sender sent here in that order,
 * the first that no earlier receive has got and that fits. */
static int expected(run_t *r, const message_t *receive, const MPI_Status *status, const bool *taken)
{
    int from = comm_peer(r->plan->comm, status->MPI_SOURCE), first = -1;
    for (int i = 0; i < r->plan->count; i++) {
        const message_t *m = &r->plan->messages[i];
        if (m->src != from || m->dst != r->plan->comm->me || taken[i] || m->recv == MODE_NO_SEND ||
            (receive->want_tag >= 0 && m->tag != receive->want_tag))
            continue;
        if (first < 0 || m->send_time < r->plan->messages[first].send_time)
            first = i;
    }
    return first;
}

static void compare(run_t *r, int index, bool *taken)
{
    player_t *p = r->p;
    const message_t *receive = &r->plan->messages[index];
    side_t *s = &r->recvs[index];
    char why[160];
    int count, class, got = index;
    at(p, "comparing a receive", index, r->plan->comm->rank[receive->src]);
    if (receive->recv == MODE_NO_SEND) {
        if (!buffer_kept(&s->buffer, 0, why, sizeof(why)))
            differs(p, "%s", why);
        return;
    }
    MPI_Error_class(s->code, &class);
    if (receive->wild) {
        got = expected(r, receive, &s->status, taken);
        if (got < 0 || r->plan->messages[got].tag != s->status.MPI_TAG ||
            (receive->want_source >= 0 && r->plan->messages[got].src != receive->want_source))
            differs(p, "a message from %d with tag %d, of which the next has tag %d",
                    s->status.MPI_SOURCE, s->status.MPI_TAG,
                    got < 0 ? -1 : r->plan->messages[got].tag);
    }
    const message_t *m = &r->plan->messages[got];
    taken[got] = true;
    if (m->room < m->size && !receive->wild) {
        if (class != MPI_ERR_TRUNCATE)
            differs(p, "%s of %zu bytes into %zu: error class %d instead of MPI_ERR_TRUNCATE",
                    recv_titles[m->recv], m->size, m->room, class);
        /* MPI does not say what the receive has got */
        if (!buffer_kept(&s->buffer, m->room, why, sizeof(why)))
            differs(p, "%s of %zu bytes into %zu: %s", recv_titles[m->recv], m->size, m->room, why);
        return;
    }
    expect_ok(p, s->code, recv_titles[receive->recv]);
    MPI_Get_count(&s->status, MPI_BYTE, &count);
    if (s->status.MPI_SOURCE != r->plan->comm->rank[m->src] || s->status.MPI_TAG != m->tag ||
        (size_t) count != m->size)
        differs(
            p,
            "%s, %s: status says %d bytes from %d with tag %d; sent were %zu from %d with tag %d",
            send_titles[m->send], recv_titles[receive->recv], count, s->status.MPI_SOURCE,
            s->status.MPI_TAG, m->size, r->plan->comm->rank[m->src], m->tag);
    if (!buffer_holds(&s->buffer, m->size, m->id, why, sizeof(why)))
        differs(p, "message of %zu bytes by %s, received by %s: %s", m->size, send_titles[m->send],
                recv_titles[receive->recv], why);
}

static void compare_all(run_t *r)
{
    bool taken[MESSAGES_MAX] = {false};
    for (int i = 0; i < r->plan->events_count; i++)
        if (r->plan->events[i].kind == EVENT_RECV)
            compare(r, r->plan->events[i].message, taken);
    for (int i = 0; i < r->plan->events_count; i++) {
        const event_t *e = &r->plan->events[i];
        if (e->kind == EVENT_RECV)
            buffer_free(&r->recvs[e->message].buffer);
        else if (e->kind == EVENT_SEND)
            buffer_free(&r->sends[e->message].buffer);
    }
}

static void play(run_t *r)
{
    const p2p_plan_t *plan = r->plan;
    bool ready = plan->ready;
    collective_t *beside = plan->collective ? collective_start(r->p, plan->comm, false) : NULL;
    for (int i = 0; i < plan->events_count; i++) {
        const event_t *e = &plan->events[i];
        if (ready && e->time >= TIME_READY) {
            at(r->p, "the barrier of ready mode", 0, -1);
            expect_ok(r->p, MPI_Barrier(plan->comm->comm), "MPI_Barrier");
            ready = false;
        }
        if (e->time > TIMES)
            continue;
        pause_a_while(r->p);
        if (e->kind == EVENT_SEND)
            send_start(r, e->message);
        else if (e->kind == EVENT_RECV)
            recv_start(r, e->message);
        else
            event_end(r, e);
    }
    if (ready)
        expect_ok(r->p, MPI_Barrier(plan->comm->comm), "MPI_Barrier");
    for (int i = 0; i < plan->events_count; i++) {
        const event_t *e = &plan->events[i];
        recv_mode_t mode = plan->messages[e->message].recv;
        if (e->time > TIMES && e->kind == EVENT_RECV_END &&
            (mode == MODE_CANCEL || mode == MODE_NO_SEND))
            event_end(r, e);
    }
    finish_all(r);
    if (beside)
        collective_finish(r->p, beside);
    compare_all(r);
    if (plan->barrier) {
        at(r->p, "the barrier behind wildcards", 0, -1);
        expect_ok(r->p, MPI_Barrier(plan->comm->comm), "MPI_Barrier");
    }
}

void step_messages(player_t *p)
{
    run_t *r = calloc(1, sizeof(*r));
    p2p_plan_t *plan = calloc(1, sizeof(*plan));
    void *buffered = NULL;
    int buffered_bytes = 0;
    if (!r || !plan)
        abort();
    p2p_plan_make(p, plan);
    *r = (run_t){.p = p, .plan = plan};
    for (int i = 0; i < plan->count; i++) {
        const message_t *m = &plan->messages[i];
        if (m->dst == plan->comm->me && m->size > r->wild_room)
            r->wild_room = m->size;
        if (m->src == plan->comm->me && (m->send == MODE_BSEND || m->send == MODE_IBSEND))
            buffered_bytes +=
                2 * ((int) m->size + MPI_BSEND_OVERHEAD); /* pieces of it stay unused */
    }
    if (plan->comm->me >= 0) {
        if (buffered_bytes && (buffered = malloc((size_t) buffered_bytes)))
            MPI_Buffer_attach(buffered, buffered_bytes);
        play(r);
        if (buffered) {
            at(p, "MPI_Buffer_detach", 0, -1);
            MPI_Buffer_detach(&buffered, &buffered_bytes);
        }
        free(buffered);
    }
    free(plan);
    free(r);
}
