/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What goes over an open connection of the TCP plug: frames out, and frames in.
 *
 * A message is written from where it is, and taken where it was read.  Data that were asked for are
 * written from the memory they lie in, and read into the memory where they are wanted; they come in
 * the order in which they were asked for.
 */
#include "config.h"

#include "emulator/swif/hosts/tcp_end.h"

#include <errno.h>
#include <linux/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/log.h"

#define GATHERED 8u    /* frames that are written at once */
#define SPARES_MOST 4u /* buffers kept for the next connection that has something */
#define EXPECTED 4096u /* bytes read at once where data are to come, which would be copied */
/* Messages of at most so many bytes are copied behind their frame: two parts cost a system call
 * more than the copy does. */
#define COPIED 4352u
/* Bytes that are written at once, in whole packets of the longest kind where one has 1448 bytes on
 * the wire: what is left over would go as a packet of its own. */
#define WRITTEN 521280u
/* Where a short send buffer (the kernel makes twice as much of it) is as long as the network keeps
 * under way, it is better than a long one, whose pages have left the caches when they are read: 2
 * MB in a row between two namespaces 4.2 GB/s instead of 2.4.  The round trip is looked at with so
 * many long writes, of which the shortest counts. */
#define SHORT_BUFFER 131072
#define RTT_LOOKS 16u
/* Sent ahead: loans of at most so many bytes, so many of a peer's at once.  Where data had come too
 * soon and were asked for once more, so many loans are not. */
#define AHEAD_BYTES 1048576u
#define AHEAD_MOST 4u
#define AHEAD_RESTS 64u
#define WHOLE (TCP_MESSAGE_BYTES + sizeof(dnet_emu_tcp_frame_t))

void dnet_emu_tcp_append(dnet_emu_tcp_queue_t *q, dnet_emu_tcp_out_t *o)
{
    o->next = NULL;
    if (q->first)
        q->last->next = o;
    else
        q->first = o;
    q->last = o;
}

static dnet_emu_tcp_out_t *pop(dnet_emu_tcp_queue_t *q)
{
    dnet_emu_tcp_out_t *o = q->first;

    if (o)
        q->first = o->next;
    return o;
}

/* An operation of the caller has ended: it is told in the next report. */
static void end(dnet_emu_plug_end_t *e, dnet_emu_tcp_out_t *o, int error)
{
    o->error = error;
    dnet_emu_tcp_append(&e->ended, o);
}

void dnet_emu_tcp_report(dnet_emu_plug_end_t *e)
{
    dnet_emu_tcp_out_t *o;

    while ((o = pop(&e->ended)))
        e->events->sent(e->arg, (dnet_emu_plug_op_t *) (void *) o,
                        o->error ? strerror(o->error) : NULL);
}

/* ---- buffers ---- */

static dnet_emu_tcp_buffer_t *take_buffer(dnet_emu_plug_end_t *e)
{
    dnet_emu_tcp_buffer_t *b = e->spare;

    if (b) {
        e->spare = b->next;
        e->spares--;
    } else {
        b = aligned_alloc(_Alignof(dnet_emu_tcp_buffer_t), sizeof *b);
    }
    if (b)
        b->from = b->to = 0;
    return b;
}

static void give_buffer(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    if (p->in && e->spares < SPARES_MOST) {
        p->in->next = e->spare;
        e->spare = p->in;
        e->spares++;
    } else {
        free(p->in);
    }
    p->in = NULL;
    p->is_behind = false;
}

void dnet_emu_tcp_busy(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    if (p->is_busy)
        return;
    p->is_busy = true;
    p->busy_next = e->busy;
    e->busy = p;
}

/* ---- the end of a connection ---- */

/* A frame of this process's own is needed no more. */
static void forget(dnet_emu_plug_end_t *e, dnet_emu_tcp_out_t *o)
{
    if (o->frame.kind == TCP_AHEAD)
        e->loan[(uint32_t) o->request.key].ahead = NULL;
    free(o);
}

static void fail_all(dnet_emu_plug_end_t *e, dnet_emu_tcp_queue_t *q, int error)
{
    dnet_emu_tcp_out_t *o;

    while ((o = pop(q)))
        if (o->frame.kind == TCP_MESSAGE || o->frame.kind == TCP_ASKS)
            end(e, o, error);
        else
            forget(e, o);
}

void dnet_emu_tcp_break(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, int error)
{
    if (p->fd >= 0) {
        /* Where a child process has the descriptor, too, closing it does not end the watch. */
        (void) epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, p->fd, NULL);
        close(p->fd);
        e->connected--;
    }
    p->fd = -1;
    p->state = TCP_NONE;
    p->waits_to_write = p->is_quiet = p->keeps_asking = false;
    p->left = p->coming = 0;
    p->ahead_in = 0;
    p->rtt_looks = 0;
    if (p->into)
        end(e, p->into, error);
    p->into = NULL;
    give_buffer(e, p);
    fail_all(e, &p->out, error);
    fail_all(e, &p->reads, error);
    if (e->last == p) {
        e->last = NULL;
        e->in_a_row = 0;
    }
}

/* ---- out ---- */

/* Bytes of a frame's head, with the request that stands behind it. */
static size_t head_bytes(const dnet_emu_tcp_frame_t *frame)
{
    bool requests = frame->kind == TCP_ASKS || frame->kind == TCP_AHEAD;

    return sizeof *frame + (requests ? sizeof(dnet_emu_tcp_request_t) : 0);
}

/* Bytes of data behind the head. */
static uint32_t data_bytes(const dnet_emu_tcp_frame_t *frame)
{
    return frame->kind == TCP_ASKS || frame->kind == TCP_REFUSED ? 0 : frame->bytes;
}

/* The bytes of a frame as they are on the stream: two parts. */
static void parts_of(const dnet_emu_tcp_frame_t *frame, const void *data, struct iovec *part)
{
    part[0] = (struct iovec){.iov_base = (void *) (uintptr_t) frame, .iov_len = head_bytes(frame)};
    part[1] = (struct iovec){.iov_base = (void *) (uintptr_t) data, .iov_len = data_bytes(frame)};
}

/* What a system call has returned.  @return bytes that have left */
static uint64_t left_of(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, ssize_t n)
{
    if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
        dnet_emu_tcp_break(e, p, errno);
    return n > 0 ? (uint64_t) n : 0;
}

/* @return bytes that have left, not more than the socket has room for */
static uint64_t write_parts(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, struct iovec *part,
                            unsigned parts)
{
    struct msghdr m = {.msg_iov = part, .msg_iovlen = parts};
    ssize_t n;

    do
        n = sendmsg(p->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return left_of(e, p, n);
}

/* The same, of bytes that lie together. */
static uint64_t write_together(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, const void *data,
                               size_t bytes)
{
    ssize_t n;

    do
        n = send(p->fd, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return left_of(e, p, n);
}

void dnet_emu_tcp_queue(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, dnet_emu_tcp_out_t *o,
                        uint64_t left)
{
    if (!p->out.first)
        p->left = left;
    dnet_emu_tcp_busy(e, p);
    dnet_emu_tcp_append(&p->out, o);
}

/* The first frame has left. */
static void has_left(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    dnet_emu_tcp_out_t *o = pop(&p->out);

    if (o->frame.kind == TCP_MESSAGE)
        end(e, o, 0);
    else if (o->frame.kind == TCP_ASKS)
        dnet_emu_tcp_append(&p->reads, o);
    else
        forget(e, o);
}

/* Give a connection a short send buffer where that does. */
static DNET_COLD void look_at_rtt(const dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    struct tcp_info info = {.tcpi_min_rtt = UINT32_MAX};
    socklen_t length = sizeof info;
    int bytes = SHORT_BUFFER;

    p->rtt_looks++;
    if (getsockopt(p->fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0 || info.tcpi_min_rtt == 0 ||
        (uint64_t) e->mbits_per_s * info.tcpi_min_rtt / 8 > SHORT_BUFFER / 2)
        return;
    (void) setsockopt(p->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    p->rtt_looks = RTT_LOOKS;
}

/* Write once.  @return false: the socket has no room, or nothing waits */
static bool push_once(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    struct iovec part[2 * GATHERED];
    unsigned parts = 0, first = 0, last = 0;
    uint64_t wanted = 0, skip = p->left, n;

    for (dnet_emu_tcp_out_t *o = p->out.first; o && parts < 2 * GATHERED; o = o->next, parts += 2)
        parts_of(&o->frame, o->data, part + parts);
    while (first < parts && skip >= part[first].iov_len)
        skip -= part[first++].iov_len;
    if (first < parts) {
        part[first].iov_base = (uint8_t *) part[first].iov_base + skip;
        part[first].iov_len -= skip;
    }
    for (unsigned i = first; i < parts && wanted < WRITTEN; i++) {
        uint64_t room = WRITTEN - wanted;

        last = i + 1;
        part[i].iov_len = part[i].iov_len < room ? part[i].iov_len : room;
        wanted += part[i].iov_len;
    }
    if (wanted > SHORT_BUFFER && p->rtt_looks < RTT_LOOKS && e->mbits_per_s)
        look_at_rtt(e, p);
    n = first < last ? write_parts(e, p, part + first, last - first) : 0;
    for (p->left += n; p->out.first;) {
        const dnet_emu_tcp_out_t *o = p->out.first;
        uint64_t bytes = head_bytes(&o->frame) + data_bytes(&o->frame);

        if (p->left < bytes)
            break;
        p->left -= bytes;
        has_left(e, p);
    }
    return n == wanted && p->out.first;
}

void dnet_emu_tcp_push(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    while (p->out.first && push_once(e, p))
        ;
}

/* A message, and with it as much of what follows as is written at once. */
static uint64_t send_followed(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p,
                              const dnet_emu_tcp_frame_t *frame, const void *data)
{
    dnet_emu_tcp_out_t *o = p->follows;
    uint64_t bytes = sizeof *frame + frame->bytes, n;
    struct iovec part[4];

    parts_of(frame, data, part);
    parts_of(&o->frame, o->data, part + 2);
    if (part[3].iov_len > WRITTEN)
        part[3].iov_len = WRITTEN;
    n = write_parts(e, p, part, 4);
    if (n >= bytes) {
        p->follows = NULL;
        dnet_emu_tcp_queue(e, p, o, n - bytes);
        dnet_emu_tcp_push(e, p);
    }
    return n;
}

uint64_t dnet_emu_tcp_send_now(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p,
                               const dnet_emu_tcp_frame_t *frame, const void *data)
{
    struct iovec part[2];

    if (p->follows)
        return send_followed(e, p, frame, data);
    if (frame->bytes <= COPIED) {
        uint8_t together[sizeof *frame + COPIED];

        memcpy(together, frame, sizeof *frame);
        memcpy(together + sizeof *frame, data, frame->bytes);
        return write_together(e, p, together, sizeof *frame + frame->bytes);
    }
    parts_of(frame, data, part);
    return write_parts(e, p, part, 2);
}

/* ---- data that are sent ahead ---- */

void dnet_emu_tcp_send_ahead(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, uint32_t loan)
{
    dnet_emu_tcp_loan_t *l = &e->loan[loan];
    dnet_emu_tcp_out_t *o;

    if (l->bytes > AHEAD_BYTES || p->state != TCP_OPEN || p->sent_ahead >= AHEAD_MOST)
        return;
    if (p->rests) {
        p->rests--;
        return;
    }
    o = malloc(sizeof *o);
    if (!o)
        return; /* it will be asked for */
    *o =
        (dnet_emu_tcp_out_t){.data = l->at,
                             .frame = {.kind = TCP_AHEAD, .bytes = (uint32_t) l->bytes},
                             .request = {.key = (uint64_t) l->key << 32 | loan, .bytes = l->bytes}};
    l->to = p;
    l->ahead = o;
    p->sent_ahead++;
    p->follows = o;
}

void dnet_emu_tcp_sent_ahead(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    if (p->follows)
        dnet_emu_tcp_ahead_ends(e, &e->loan[(uint32_t) p->follows->request.key]);
}

void dnet_emu_tcp_ahead_ends(dnet_emu_plug_end_t *e, dnet_emu_tcp_loan_t *l)
{
    dnet_emu_tcp_peer_t *p = l->to;
    dnet_emu_tcp_queue_t all = p->out;
    dnet_emu_tcp_out_t *o;

    l->to = NULL;
    p->sent_ahead--;
    if (l->ahead && l->ahead == p->follows) {
        p->follows = NULL;
        forget(e, l->ahead);
    } else if (l->ahead && l->ahead == p->out.first && p->left) {
        dnet_emu_tcp_break(e, p, ECANCELED); /* a part has left, and the rest may not */
    } else if (l->ahead) {
        p->out = (dnet_emu_tcp_queue_t){.first = NULL};
        while ((o = pop(&all)))
            if (o == l->ahead)
                forget(e, o);
            else
                dnet_emu_tcp_append(&p->out, o);
    }
}

bool dnet_emu_tcp_take_ahead(dnet_emu_tcp_peer_t *p, dnet_emu_tcp_out_t *o)
{
    const dnet_emu_tcp_request_t *a = &p->ahead;

    if (!p->ahead_in || a->key != o->request.key || a->address != o->request.address ||
        o->request.bytes != a->bytes || p->coming != a->bytes)
        return false;
    p->ahead_in = 0;
    p->into = o;
    return true;
}

/* Nobody has asked yet for the data whose head came in this poll: there is time until the next one,
 * and then they are dropped. */
static bool stands(const dnet_emu_plug_end_t *e, const dnet_emu_tcp_peer_t *p)
{
    return p->ahead_in == e->polls;
}

/* ---- in ---- */

/* @param to  NULL: they are dropped  @return bytes; 0: there are none now, or the connection is
 * gone */
static size_t receive(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, void *to, size_t bytes)
{
    ssize_t n;

    do
        n = recv(p->fd, to, bytes, MSG_DONTWAIT | (to ? 0 : MSG_TRUNC));
    while (n < 0 && errno == EINTR);
    if (n > 0)
        return (size_t) n;
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
        dnet_emu_tcp_break(e, p, n == 0 ? ECONNRESET : errno);
    return 0;
}

/* A peer asks for memory of this process. */
static void answer(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, const dnet_emu_tcp_request_t *r)
{
    uint32_t i = (uint32_t) r->key;
    const dnet_emu_tcp_loan_t *l = i < e->first->loans ? &e->first->loan[i] : NULL;
    dnet_emu_tcp_out_t *o = calloc(1, sizeof *o);

    if (!o) {
        dnet_error("no memory to answer a read: %zu bytes needed", sizeof *o);
        dnet_emu_tcp_break(e, p, ENOMEM);
        return;
    }
    o->frame.kind = TCP_REFUSED;
    if (l && l->at && l->key == r->key >> 32 && r->address <= l->bytes &&
        r->bytes <= l->bytes - r->address && r->bytes <= UINT32_MAX) {
        o->frame = (dnet_emu_tcp_frame_t){.kind = TCP_DATA, .bytes = (uint32_t) r->bytes};
        o->data = l->at + r->address;
        if (l->to)
            p->rests = AHEAD_RESTS;
    }
    dnet_emu_tcp_queue(e, p, o, 0);
    dnet_emu_tcp_push(e, p);
}

/* So many bytes of what is coming are there. */
static void data_came(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, size_t bytes)
{
    p->coming -= bytes;
    if (p->into)
        p->into->to += bytes;
    if (p->coming)
        return;
    if (p->into)
        end(e, p->into, 0);
    p->into = NULL;
    p->ahead_in = 0;
}

/* The next frame of what was read.  @return false: it is not whole yet, or the connection is gone
 */
static bool take_frame(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    dnet_emu_tcp_buffer_t *b = p->in;
    uint32_t there = b->to - b->from, bytes = sizeof(dnet_emu_tcp_frame_t);
    uint8_t *at = b->data + b->from;
    dnet_emu_tcp_frame_t frame;
    dnet_emu_tcp_request_t request;

    if (there < bytes)
        return false;
    memcpy(&frame, at, sizeof frame);
    at += sizeof frame;
    switch (frame.kind) {
        case TCP_MESSAGE:
            if (frame.bytes > TCP_MESSAGE_BYTES)
                break;
            bytes += frame.bytes;
            if (there < bytes)
                return false;
            b->from += bytes;
            e->arrived++;
            p->expects &= frame.bytes <= EXPECTED;
            e->ends = !e->events->arrived(e->arg, at, frame.bytes);
            return true;
        case TCP_ASKS:
            bytes += (uint32_t) sizeof request;
            if (there < bytes)
                return false;
            b->from += bytes;
            memcpy(&request, at, sizeof request);
            answer(e, p, &request);
            return p->in;
        case TCP_DATA:
            if (!p->reads.first || frame.bytes != p->reads.first->frame.bytes)
                break;
            b->from += bytes;
            p->coming = frame.bytes;
            p->into = pop(&p->reads);
            data_came(e, p, 0);
            return true;
        case TCP_AHEAD:
            bytes += (uint32_t) sizeof request;
            if (there < bytes)
                return false;
            b->from += bytes;
            memcpy(&p->ahead, at, sizeof p->ahead);
            if (!frame.bytes || p->ahead.bytes != frame.bytes)
                break;
            p->coming = frame.bytes;
            p->ahead_in = e->polls;
            p->expects = true;
            return true;
        case TCP_REFUSED:
            if (!p->reads.first)
                break;
            b->from += bytes;
            end(e, pop(&p->reads), EACCES);
            return true;
    }
    dnet_emu_tcp_break(e, p, EPROTO);
    return false;
}

/* Take what was read, but for a frame that is not whole. */
static void take_read(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    while (p->in && p->in->from < p->in->to && !e->ends && !stands(e, p)) {
        if (p->coming) {
            uint32_t there = p->in->to - p->in->from;
            uint32_t n = there < p->coming ? there : (uint32_t) p->coming;

            if (p->into)
                memcpy(p->into->to, p->in->data + p->in->from, n);
            p->in->from += n;
            data_came(e, p, n);
        } else if (!take_frame(e, p)) {
            break;
        }
    }
    if (p->in && p->in->from == p->in->to)
        give_buffer(e, p);
}

/* Read frames.  @return whether there may be more */
static bool read_frames(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    dnet_emu_tcp_buffer_t *b = p->in ? p->in : take_buffer(e);
    size_t room, n;

    if (!b)
        return false; /* it stays in the socket */
    p->in = b;
    if (b->from + WHOLE > sizeof b->data) {
        memmove(b->data, b->data + b->from, b->to - b->from);
        b->to -= b->from;
        b->from = 0;
    }
    room = sizeof b->data - b->to;
    if ((p->reads.first || p->expects) && room > EXPECTED)
        room = EXPECTED;
    n = receive(e, p, b->data + b->to, room);
    if (!p->in)
        return false;
    b->to += (uint32_t) n;
    if (b->from == b->to)
        give_buffer(e, p);
    return n == room;
}

/* Read data to where they are wanted, if they are.  @return whether there may be more */
static bool read_data(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    size_t wanted = p->coming, n = receive(e, p, p->into ? p->into->to : NULL, wanted);

    if (n)
        data_came(e, p, n);
    return n && n == wanted;
}

void dnet_emu_tcp_take(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    bool more = true;

    take_read(e, p);
    while (more && !e->ends && !stands(e, p) && p->fd >= 0) {
        if (p->coming) {
            more = read_data(e, p);
        } else {
            more = read_frames(e, p);
            take_read(e, p);
        }
    }
    p->is_behind = (e->ends && p->in) || stands(e, p);
    if (p->is_behind)
        dnet_emu_tcp_busy(e, p);
}
