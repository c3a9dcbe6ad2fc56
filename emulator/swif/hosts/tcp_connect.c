/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections of the TCP plug, one for two processes.  Who sends first connects and greets; who
 * accepts answers, and nothing else is sent before the answer has come.  Where both connect, the
 * connection of the one with the lower address is used: it answers the other's greeting with a no,
 * and the other one gives its own up.
 */
#include "config.h"

#include "emulator/swif/hosts/tcp_end.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"

#define MAGIC 0x31504354u           /* "TCP1" */
#define RETRY_NS UINT64_C(10000000) /* nobody was there */
/* No answer has come: it is tried anew.  The kernel would ask again after twice as long each time,
 * and so miss a network that comes back in time. */
#define ANSWER_NS UINT64_C(2000000000)
/* Nobody has tried for so long: what failed before says nothing of what fails now. */
#define PAUSED_NS UINT64_C(2000000000)
/* One of several rails whose connects have failed for so long carries nothing. */
#define REFUSED_NS UINT64_C(1000000000)
/* Connections that wait to be accepted: the kernel answers no others, so all that there can be. */
#define WAITING (DNET_NODES_MAX * DNET_PROCESSES_PER_NIC)
/* A packet was sent again so often without an answer, on a local network after 1.4 s, or 1 s. */
#define SENT_AGAIN 3
#define CONNECTS_AGAIN 1
/* Asked each second a kernel counts as heard of for so long: two questions may get lost.  So many
 * without an answer end the connection, as many as there can be. */
#define HEARD_MS 2500
#define KEPT_ASKING 127

bool dnet_emu_tcp_listen(dnet_emu_plug_end_t *e)
{
    socklen_t length = dnet_emu_tcp_address_bytes(&e->at);
    struct epoll_event event = {.events = EPOLLIN}; /* data.ptr NULL: nobody's yet */

    e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    e->listen_fd = socket(e->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return e->epoll_fd >= 0 && e->listen_fd >= 0 && bind(e->listen_fd, &e->at.any, length) == 0 &&
           listen(e->listen_fd, WAITING) == 0 &&
           getsockname(e->listen_fd, &e->at.any, &length) == 0 &&
           epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, e->listen_fd, &event) == 0;
}

static dnet_emu_tcp_peer_t *find(const dnet_emu_plug_end_t *e, const dnet_emu_tcp_address_t *at)
{
    dnet_emu_tcp_peer_t *p = e->peers;

    while (p && dnet_emu_tcp_address_compare(&p->at, at) != 0)
        p = p->next;
    return p;
}

static dnet_emu_tcp_peer_t *make(void)
{
    dnet_emu_tcp_peer_t *p = calloc(1, sizeof *p);

    if (p)
        p->fd = -1;
    else
        dnet_error("no memory for a connection: %zu bytes needed", sizeof *p);
    return p;
}

dnet_emu_tcp_peer_t *dnet_emu_tcp_peer_of(dnet_emu_plug_end_t *e, const dnet_emu_tcp_address_t *at)
{
    dnet_emu_tcp_peer_t *p = find(e, at);

    if (!p && (p = make())) {
        p->at = *at;
        p->next = e->peers;
        e->peers = p;
    }
    return p;
}

/* ---- descriptors ---- */

/* A descriptor is watched for a peer. */
static bool watch(const dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, int how, uint32_t what)
{
    struct epoll_event event = {.events = what, .data.ptr = p};

    return epoll_ctl(e->epoll_fd, how, p->fd, &event) == 0;
}

/* From now on a new descriptor is the peer's. */
static bool has(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, int fd, dnet_emu_tcp_state_t state)
{
    const int on = 1;

    p->fd = fd;
    p->state = state;
    e->connected++;
    return setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) == 0 &&
           watch(e, p, EPOLL_CTL_ADD, state == TCP_CONNECTING ? EPOLLOUT : EPOLLIN);
}

/* It has come to nothing.  A port listens before its address is known to anybody, so a process that
 * lives and is never reached has something in between. */
static void give_up(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, int error)
{
    uint64_t now = dnet_clock_ns();

    dnet_debug("a connection cannot be made: %s", strerror(error));
    dnet_emu_tcp_break(e, p, error);
    p->retry_ns = now + RETRY_NS;
    if (error == EMFILE || error == ENFILE)
        p->why = TCP_FULL;
    else if (!e->is_rail && p->failing_ns && now - p->failing_ns >= e->wait_ns)
        p->why = error == ECONNREFUSED
                     ? "cannot be reached: its host refuses connections (a firewall?)"
                     : "cannot be reached: no connection to its host can be made (a firewall?)";
}

/* ---- greetings ---- */

static bool greet(const dnet_emu_plug_end_t *e, const dnet_emu_tcp_peer_t *p, bool is_used)
{
    const dnet_emu_tcp_greeting_t g = {
        .magic = MAGIC, .to_key = p->key, .from_key = e->key, .is_used = is_used, .from = e->at};

    return send(p->fd, &g, sizeof g, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof g;
}

/* @return 1: it is one of the job's; 0: it has not come; -1: none will */
static int greeting_of(const dnet_emu_plug_end_t *e, const dnet_emu_tcp_peer_t *p,
                       dnet_emu_tcp_greeting_t *g)
{
    const uint32_t magic = MAGIC;
    ssize_t n = recv(p->fd, g, sizeof *g, MSG_DONTWAIT | MSG_PEEK);

    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        return 0;
    /* Of somebody else no more may come, and what lies here keeps this process awake. */
    if (n > 0 && memcmp(g, &magic, (size_t) n < sizeof magic ? (size_t) n : sizeof magic) != 0)
        return -1;
    if (n > 0 && n < (ssize_t) sizeof *g)
        return 0;
    if (n != sizeof *g || recv(p->fd, g, sizeof *g, MSG_DONTWAIT) != sizeof *g ||
        g->to_key != e->key || !dnet_emu_tcp_address_bytes(&g->from))
        return -1;
    return 1;
}

/* Has whoever greeted closed the connection since? */
static bool is_given_up(const dnet_emu_tcp_peer_t *p)
{
    uint8_t byte;

    return recv(p->fd, &byte, sizeof byte, MSG_DONTWAIT | MSG_PEEK) == 0;
}

/* Is the connection that another process has made the one to be used?  Its own is closed then. */
static bool is_used(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p,
                    const dnet_emu_tcp_peer_t *stranger)
{
    switch (p->state) {
        case TCP_NONE:
        case TCP_YIELDED:
        case TCP_ACCEPTED:
            break;
        case TCP_CONNECTING:
        case TCP_GREETED:
            if (dnet_emu_tcp_address_compare(&e->at, &p->at) < 0)
                return false;
            break;
        case TCP_OPEN: /* what was left of a race, or it has lost the one there was */
            if (is_given_up(stranger))
                return false;
            break;
    }
    dnet_emu_tcp_break(e, p, ECONNRESET);
    return true;
}

/* ---- who accepts ---- */

static void forget(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *stranger)
{
    dnet_emu_tcp_peer_t **link = &e->strangers;

    while (*link != stranger)
        link = &(*link)->next;
    *link = stranger->next;
    if (stranger->fd >= 0)
        dnet_emu_tcp_break(e, stranger, 0);
    free(stranger);
}

void dnet_emu_tcp_accept(dnet_emu_plug_end_t *e)
{
    int fd;

    while ((fd = accept4(e->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        dnet_emu_tcp_peer_t *stranger = make();

        if (!stranger) {
            close(fd);
            continue;
        }
        stranger->next = e->strangers;
        e->strangers = stranger;
        if (!has(e, stranger, fd, TCP_ACCEPTED))
            forget(e, stranger);
    }
    if ((errno == EMFILE || errno == ENFILE) && !e->is_full) {
        dnet_error("another rank cannot connect: too many open files (ulimit -n)");
        e->is_full = true;
    }
}

static void accept_greeting(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *stranger)
{
    dnet_emu_tcp_greeting_t g;
    int came = greeting_of(e, stranger, &g);
    dnet_emu_tcp_peer_t *p = came > 0 ? dnet_emu_tcp_peer_of(e, &g.from) : NULL;

    if (came == 0)
        return;
    if (p && is_used(e, p, stranger)) {
        p->fd = stranger->fd;
        stranger->fd = -1;
        p->state = TCP_OPEN;
        p->failing_ns = 0;
        p->key = g.from_key;
        if (!watch(e, p, EPOLL_CTL_MOD, EPOLLIN) || !greet(e, p, true))
            dnet_emu_tcp_break(e, p, errno);
    } else if (p) {
        stranger->key = g.from_key;
        (void) greet(e, stranger, false);
    }
    forget(e, stranger);
}

/* ---- does it get through? ---- */

/* A kernel acknowledges whatever its process does.  One that has no more room for data says so, and
 * those are not sent again. */
const char *dnet_emu_tcp_peer_ill(const dnet_emu_tcp_peer_t *p)
{
    struct tcp_info info = {.tcpi_retransmits = 0};
    socklen_t length = sizeof info;
    unsigned most = p->state == TCP_CONNECTING ? CONNECTS_AGAIN : SENT_AGAIN;

    if (p->failing_ns && p->retry_ns >= p->failing_ns + REFUSED_NS)
        return "no connection can be made";
    if (p->fd < 0 || getsockopt(p->fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0)
        return NULL;
    return info.tcpi_retransmits < most ? NULL : "no acknowledgement comes";
}

bool dnet_emu_tcp_hears(dnet_emu_tcp_peer_t *p)
{
    const int on = 1, each_s = 1, most = KEPT_ASKING;
    struct tcp_info info;
    socklen_t length = sizeof info;

    if (p->state != TCP_OPEN)
        return false;
    if (!p->keeps_asking)
        p->keeps_asking =
            setsockopt(p->fd, IPPROTO_TCP, TCP_KEEPIDLE, &each_s, sizeof each_s) == 0 &&
            setsockopt(p->fd, IPPROTO_TCP, TCP_KEEPINTVL, &each_s, sizeof each_s) == 0 &&
            setsockopt(p->fd, IPPROTO_TCP, TCP_KEEPCNT, &most, sizeof most) == 0 &&
            setsockopt(p->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on) == 0;
    return getsockopt(p->fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
           info.tcpi_last_ack_recv < HEARD_MS;
}

/* ---- who connects ---- */

/* Of several rails a connection has the address of its own, by which routes may go. */
static bool leave_by(const dnet_emu_plug_end_t *e, int fd)
{
    dnet_emu_tcp_address_t at = e->at;

    if (at.any.sa_family == AF_INET6)
        at.v6.sin6_port = 0;
    else
        at.v4.sin_port = 0;
    return bind(fd, &at.any, dnet_emu_tcp_address_bytes(&at)) == 0;
}

/* Has the peer's kernel not answered for long?  Where it has, this process may only not have looked
 * yet.  Of one of several rails dnet_emu_tcp_peer_ill() tells. */
static bool is_unanswered(const dnet_emu_plug_end_t *e, const dnet_emu_tcp_peer_t *p, uint64_t now)
{
    struct tcp_info info;
    socklen_t length = sizeof info;

    return p->state == TCP_CONNECTING && !e->is_rail && now - p->connecting_ns >= ANSWER_NS &&
           getsockopt(p->fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
           info.tcpi_state == TCP_SYN_SENT;
}

void dnet_emu_tcp_connect(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    uint64_t now = dnet_clock_ns();
    int fd;

    if (is_unanswered(e, p, now))
        give_up(e, p, ETIMEDOUT);
    if (p->state != TCP_NONE || now < p->retry_ns)
        return;
    p->connecting_ns = now;
    if (!p->failing_ns || now > p->retry_ns + PAUSED_NS)
        p->failing_ns = now;
    fd = socket(p->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (e->is_rail && !leave_by(e, fd)) ||
        (connect(fd, &p->at.any, dnet_emu_tcp_address_bytes(&p->at)) != 0 &&
         errno != EINPROGRESS)) {
        int error = errno;

        if (fd >= 0)
            close(fd);
        give_up(e, p, error);
    } else if (!has(e, p, fd, TCP_CONNECTING)) {
        give_up(e, p, errno);
    }
}

static void connected(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    int error = 0;
    socklen_t length = sizeof error;

    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &length) != 0)
        error = errno;
    if (!error && (!greet(e, p, false) || !watch(e, p, EPOLL_CTL_MOD, EPOLLIN)))
        error = errno;
    p->state = TCP_GREETED;
    if (error)
        give_up(e, p, error);
    else
        p->failing_ns = 0;
}

static void accept_answer(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    dnet_emu_tcp_greeting_t g;
    int came = greeting_of(e, p, &g);

    if (came < 0) {
        give_up(e, p, ECONNREFUSED);
    } else if (came > 0 && g.is_used) {
        p->state = TCP_OPEN;
    } else if (came > 0) {
        dnet_emu_tcp_break(e, p, 0);
        p->state = TCP_YIELDED;
    }
}

void dnet_emu_tcp_go_on(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    switch (p->state) {
        case TCP_CONNECTING:
            connected(e, p);
            break;
        case TCP_GREETED:
            accept_answer(e, p);
            break;
        case TCP_ACCEPTED:
            accept_greeting(e, p);
            break;
        case TCP_NONE:
        case TCP_YIELDED:
        case TCP_OPEN:
            break;
    }
}
