/* SPDX-License-Identifier: BSD-3-Clause */
#include "endpoint/waits.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/text.h"
#include "endpoint/guests.h"
#include "endpoint/inbox.h"
#include "endpoint/op.h"
#include "endpoint/rndv.h"

/* A list that changes under the reader may be a circle; so many items are more than anyone reads.
 */
#define ITEMS_MAX 100000u

/* The page is written when a wait has lasted for two looks, and again every second. */
#define WRITE_AGAIN_NS UINT64_C(1000000000)

/* ---- kinds ---- */

typedef enum { NONE, ROOM, SIZE, SENT, PACKETS } bytes_t;
enum { NO, YES };

static const struct {
    const char *word, *before, *after;
    bool is_for;
    bytes_t bytes;
} kinds[] = {
#define DNET_WAIT(name, word, whom, before, bytes, after) {word, before, after, whom, bytes},
#include "endpoint/wait_kinds.def"
#undef DNET_WAIT
};

bool dnet_wait_is_for(uint32_t kind)
{
    return kind < DNET_WAIT_KINDS && kinds[kind].is_for;
}

const char *dnet_wait_word(uint32_t kind)
{
    return kind < DNET_WAIT_KINDS ? kinds[kind].word : "unknown";
}

static void put_comm(dnet_text_t *t, const dnet_wait_t *w)
{
    if (w->context == DNET_WAIT_NO_COMM) {
        dnet_text_put(t, "active message");
        return;
    }
    if (w->comm[0]) {
        dnet_text_put(t, w->comm);
    } else {
        dnet_text_put(t, "context ");
        dnet_text_number(t, w->context);
    }
    if (w->source != DNET_EP_NO_RANK && w->source != w->rank) {
        dnet_text_put(t, " rank ");
        dnet_text_number(t, w->source);
    }
    if (w->kind == DNET_WAIT_COLLECTIVE)
        return;
    dnet_text_put(t, ", ");
    dnet_text_put(t, w->tag < 0 ? "any tag" : "tag ");
    if (w->tag >= 0)
        dnet_text_number(t, (uint64_t) w->tag);
}

static void put_bytes(dnet_text_t *t, const dnet_wait_t *w)
{
    bytes_t bytes = kinds[w->kind].bytes;
    if (bytes == NONE)
        return;
    if (bytes == PACKETS) {
        dnet_text_put(t, " has not acknowledged ");
        dnet_text_number(t, w->bytes);
        dnet_text_put(t, w->bytes == 1 ? " packet for " : " packets for ");
        dnet_text_number(t, w->done);
        dnet_text_put(t, " ms");
        return;
    }
    dnet_text_put(t, bytes == ROOM ? ", room for " : ", ");
    if (bytes == SENT) {
        dnet_text_number(t, w->done);
        dnet_text_put(t, " of ");
    }
    dnet_text_number(t, w->bytes);
    dnet_text_put(t, bytes == SENT ? " bytes sent" : " bytes");
}

/* Windows, packets and what has stopped a rank belong to none. */
static bool has_comm(const dnet_wait_t *w)
{
    return w->kind != DNET_WAIT_STOPPED && w->kind != DNET_WAIT_UNACKED &&
           (w->context != DNET_WAIT_NO_COMM || kinds[w->kind].bytes != NONE);
}

void dnet_wait_text(const dnet_wait_t *w, char *text, size_t bytes)
{
    dnet_text_t t;
    dnet_text_begin(&t, text, bytes);
    if (w->kind >= DNET_WAIT_KINDS)
        return;
    dnet_text_put(&t, kinds[w->kind].before);
    if (w->rank < DNET_WAIT_OTHER_JOB) {
        dnet_text_put(&t, "rank ");
        dnet_text_number(&t, w->rank);
    } else if (w->source == DNET_EP_NO_RANK) {
        dnet_text_put(&t, "any rank");
    } else {
        dnet_text_put(&t, w->rank == DNET_EP_NO_RANK ? "a rank" : "a process of another job");
    }
    if (has_comm(w)) {
        dnet_text_put(&t, ": ");
        put_comm(&t, w);
    }
    put_bytes(&t, w);
    dnet_text_put(&t, kinds[w->kind].after);
}

/* ---- reading lists that may change ---- */

bool dnet_peek_open(dnet_peek_t *peek)
{
    return pipe2(peek->fd, O_CLOEXEC | O_NONBLOCK) == 0;
}

void dnet_peek_close(dnet_peek_t *peek)
{
    close(peek->fd[0]);
    close(peek->fd[1]);
}

/* Through the pipe the kernel reads, and says so where there is nothing.  A pipe holds 4 KB at
 * least, and no object here is larger. */
static bool look(const dnet_peek_t *peek, void *to, const void *from, size_t bytes)
{
    if (!from)
        return false;
    if (!peek) {
        memcpy(to, from, bytes);
        return true;
    }
    ssize_t written = write(peek->fd[1], from, bytes);
    return written > 0 && read(peek->fd[0], to, (size_t) written) == (ssize_t) bytes;
}

typedef struct {
    dnet_ep_t *ep;
    const dnet_peek_t *peek;
    dnet_wait_fn fn;
    void *arg;
} visit_t;

/* The number that a process of another job has here means nothing to anybody else. */
static void tell(const visit_t *v, dnet_wait_t *w)
{
    if (w->rank >= v->ep->size && w->rank != DNET_EP_NO_RANK)
        w->rank = DNET_WAIT_OTHER_JOB;
    v->fn(v->arg, w);
}

static void tell_other(void *arg, const dnet_wait_t *w)
{
    dnet_wait_t copy = *w;
    tell(arg, &copy);
}

static void visit(const visit_t *v, dnet_wait_t *w, uint64_t envelope, uint64_t mask)
{
    w->context = (uint32_t) DNET_GET(envelope, LH_CONTEXT);
    w->source = mask & DNET_MASK(LH_RANK) ? dnet_ep_envelope_rank(envelope) : DNET_EP_NO_RANK;
    w->tag = mask & 0xffff ? (int64_t) dnet_ep_envelope_tag(envelope) : -1;
    if (v->ep->names.name)
        v->ep->names.name(w);
    tell(v, w);
}

/* The items of a ring of lists; `unexpected` ones are messages, else receives. */
static void visit_ring(const visit_t *v, const dnet_match_link_t *ring, bool unexpected)
{
    dnet_match_link_t link;
    union {
        dnet_match_item_t item;
        dnet_ep_request_t receive;
        dnet_ep_message_t message;
    } is;
    const dnet_match_link_t *at = ring->next;
    for (uint32_t i = 0; at != ring && i < ITEMS_MAX; i++, at = link.next) {
        _Static_assert(offsetof(dnet_match_item_t, bin) == 0, "a link is its item");
        size_t bytes = unexpected ? sizeof(is.message) : sizeof(is.receive);
        if (!look(v->peek, &is, at, bytes))
            return;
        link = is.item.bin;
        dnet_wait_t w = {.rank = DNET_EP_NO_RANK};
        w.kind = unexpected ? DNET_WAIT_UNEXPECTED : DNET_WAIT_RECEIVE;
        w.bytes = unexpected ? is.message.len : is.receive.cap_bytes;
        if (unexpected)
            w.rank = is.message.rank;
        visit(v, &w, is.item.envelope, unexpected ? DNET_MATCH_BITS : is.item.mask);
    }
}

static dnet_wait_kind_t kind_of(const dnet_op_t *op)
{
    switch (op->state) {
        case DNET_OP_ACK_WAIT:
        case DNET_OP_CTS_WAIT:
            return DNET_WAIT_MATCH;
        case DNET_OP_STORED:
        case DNET_OP_SPLIT:
        case DNET_OP_PUSHED:
        case DNET_OP_STAGED:
        case DNET_OP_FETCH_WAIT:
            return DNET_WAIT_DATA;
        case DNET_OP_FREE:
        case DNET_OP_PACKETS:
            break;
    }
    return DNET_WAIT_QUEUED;
}

static void visit_sends(const visit_t *v)
{
    const dnet_ops_t *ops = &v->ep->ops;
    uint32_t left = ops->active, cap = ops->cap;
    for (uint32_t i = 0; left && i < cap; i++) {
        const dnet_op_t *at;
        dnet_op_t op;
        if (!look(v->peek, &at, &ops->by_id[i], sizeof(at)) || !look(v->peek, &op, at, sizeof(op)))
            return;
        if (op.state == DNET_OP_FREE)
            continue;
        left--;
        dnet_wait_t w = {.kind = kind_of(&op), .rank = op.peer, .bytes = op.len, .done = op.off};
        if (op.control) {
            w.context = DNET_WAIT_NO_COMM;
            tell(v, &w);
        } else {
            /* the rank in the envelope is the own one */
            visit(v, &w, op.envelope, DNET_MATCH_BITS & ~DNET_MASK(LH_RANK));
        }
    }
}

static void visit_arriving(const visit_t *v, const dnet_rndv_recv_t *at)
{
    dnet_rndv_recv_t r;
    if (!at || !look(v->peek, &r, at, sizeof(r)))
        return;
    dnet_wait_t w = {.kind = DNET_WAIT_ARRIVING, .rank = r.rank, .bytes = r.sent_bytes};
    dnet_ep_request_t receive;
    w.context = DNET_WAIT_NO_COMM;
    if (r.req && look(v->peek, &receive, r.req, sizeof(receive)))
        visit(v, &w, receive.envelope, DNET_MATCH_BITS);
    else
        tell(v, &w);
}

/* Those of a list: that are read from other hosts, or pushed, or wait for room. */
static void visit_list(const visit_t *v, const dnet_rndv_recv_t *at)
{
    dnet_rndv_recv_t r;
    for (uint32_t i = 0; i < ITEMS_MAX && at && look(v->peek, &r, at, sizeof(r)); i++, at = r.next)
        visit_arriving(v, at);
}

static void visit_receives(const visit_t *v)
{
    const dnet_match_t *m = &v->ep->inbox.match;
    for (unsigned i = 0; i < DNET_APERTURES_MAX; i++)
        visit_arriving(v, v->ep->aperture.recv[i]);
    for (unsigned i = 0; i < DNET_STAGING_AREAS; i++)
        visit_arriving(v, v->ep->rndv.area[i]);
    visit_list(v, v->ep->rndv.reading);
    visit_list(v, v->ep->rndv.pushed);
    visit_list(v, v->ep->rndv.wait);
    for (unsigned b = 0; b < DNET_MATCH_BINS && m->posted_count; b++)
        visit_ring(v, &m->posted[b], false);
    visit_ring(v, &m->posted_any, false);
}

static void visit_stops(const visit_t *v)
{
    for (uint32_t r = 0; v->ep->tx.open_channels && r < dnet_peers_end(v->ep); r++) {
        if (!v->ep->peers[r].channel)
            continue;
        dnet_wait_t w = {.kind = DNET_WAIT_STOPPED, .rank = r, .source = r};
        tell(v, &w);
    }
}

/* Packets to other hosts. */
static void visit_unacked(const visit_t *v)
{
    const dnet_ep_t *ep = v->ep;
    uint64_t now_ns = dnet_clock_ns(), since_ns;
    for (uint32_t r = 0; ep->job.has_port && r < dnet_peers_end(ep); r++) {
        dnet_drv_target_t target = ep->peers[r].target;
        dnet_wait_t w = {.kind = DNET_WAIT_UNACKED, .rank = r, .source = r};
        w.bytes = dnet_emu_hosts_unacked(ep->job.emu, dnet_drv_target_lid(target),
                                         dnet_drv_target_wid(target), &since_ns);
        w.done = w.bytes && now_ns > since_ns ? (now_ns - since_ns) / 1000000 : 0;
        if (w.bytes)
            tell(v, &w);
    }
}

void dnet_waits_visit(dnet_ep_t *ep, const dnet_peek_t *peek, const char *call, dnet_wait_fn fn,
                      void *arg)
{
    visit_t v = {ep, peek, fn, arg};
    const dnet_match_t *m = &ep->inbox.match;
    visit_stops(&v);
    visit_sends(&v);
    if (ep->names.others)
        ep->names.others(ep->vci, call, tell_other, &v);
    visit_receives(&v);
    visit_unacked(&v);
    for (unsigned b = 0; b < DNET_MATCH_BINS && m->unexpected_count; b++)
        visit_ring(&v, &m->unexpected[b], true);
}

/* ---- the page ---- */

void dnet_page_open(dnet_ep_t *ep)
{
    dnet_page_t *p = &ep->page, before = *p;
    int fd = memfd_create(DNET_PAGE_MEMFD, MFD_CLOEXEC);
    if (fd >= 0 && (ftruncate(fd, DNET_PAGE_BYTES) != 0 ||
                    mmap(ep->page_bytes, DNET_PAGE_BYTES, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)) {
        close(fd);
        fd = -1;
    }
    ep->page_fd = fd;
    *p = before; /* what has been counted */
    gethostname(p->host, sizeof(p->host) - 1);
    p->pid = getpid();
    p->job = ep->job.id;
    p->rank = ep->rank;
    p->size = ep->size;
    p->vci = ep->vci;
    p->lid = dnet_drv_target_lid(ep->peers[ep->rank].target);
    p->wid = (uint16_t) ep->dev->wid;
    p->version = DNET_PAGE_VERSION;
    p->magic = DNET_PAGE_MAGIC;
}

void dnet_page_close(dnet_ep_t *ep)
{
    if (ep->page_fd >= 0)
        close(ep->page_fd);
}

static void add(void *arg, const dnet_wait_t *w)
{
    dnet_page_t *p = arg;
    if (w->kind == DNET_WAIT_UNEXPECTED)
        return; /* their number says enough here */
    if (p->waits < DNET_PAGE_WAITS)
        p->wait[p->waits] = *w;
    p->waits++;
}

/* A reader that finds the sequence odd, or another one after reading, reads again. */
static void begin_writing(dnet_page_t *p)
{
    atomic_fetch_add_explicit(&p->sequence, 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    p->waits = 0;
    p->call[0] = '\0';
}

static void end_writing(dnet_page_t *p)
{
    atomic_fetch_add_explicit(&p->sequence, 1, memory_order_release);
}

static void write_waits(dnet_ep_t *ep)
{
    dnet_page_t *p = &ep->page;
    p->posted = ep->inbox.match.posted_count;
    p->unexpected = ep->inbox.match.unexpected_count;
    p->sends = ep->ops.active;
    p->senders_stopped = ep->receiver.stopped.count;
    if (ep->names.call)
        ep->names.call(p->call, sizeof(p->call));
    dnet_waits_visit(ep, NULL, p->call, add, p);
}

void dnet_page_waiting(dnet_ep_t *ep, uint64_t now_ns)
{
    dnet_page_t *p = &ep->page;
    uint64_t mark = dnet_page_mark(p);
    bool goes_on = mark == p->mark && p->since_ns && ep->progress.packets == ep->drv.counters.ipush;
    if (!goes_on) {
        ep->progress.packets = ep->drv.counters.ipush;
        begin_writing(p);
        p->mark = mark;
        p->since_ns = now_ns;
        end_writing(p);
        ep->progress.written_ns = 0;
    } else if (now_ns - ep->progress.written_ns >= WRITE_AGAIN_NS) {
        ep->progress.written_ns = now_ns;
        begin_writing(p);
        write_waits(ep);
        end_writing(p);
    }
    atomic_store_explicit(&p->seen_ns, now_ns, memory_order_release);
}
