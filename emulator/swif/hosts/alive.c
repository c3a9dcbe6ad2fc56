/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "emulator/swif/hosts/alive.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/thread.h"
#include "emulator/process.h"

#define QUESTION 0x51444e44u /* "DNDQ" */
#define ANSWER 0x41444e44u   /* "DNDA" */
#define CALL 0x43444e44u /* "DNDC": so many bytes follow; those of the reply follow the answer */

/* Question and answer on the wire. */
typedef struct {
    uint32_t kind;
    uint32_t key;   /* of the process that is asked */
    uint32_t tag;   /* as in the question */
    uint32_t bytes; /* that follow */
} datagram_t;
_Static_assert(sizeof(datagram_t) == 16, "datagram size");

typedef struct {
    datagram_t head;
    uint8_t data[DNET_EMU_CALL_BYTES];
} call_t;

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} address_t;

struct dnet_emu_alive {
    pthread_t thread;
    uint32_t key;
    unsigned rails;
    int answers_fd[DNET_RAILS_MAX], asks_fd[DNET_RAILS_MAX];
    int end_fd;   /* an eventfd: the thread ends */
    int epoll_fd; /* of the others, and of watched_fd while the process sleeps */
    int watched_fd;
    dnet_emu_wid_t *sleeper;
    dnet_emu_alive_called_fn called;
    void *called_arg;
};

/* An address with another port number.  0: it is no IP address. */
static socklen_t address_of(const struct sockaddr_storage *ip, uint16_t port, address_t *a)
{
    memcpy(a, ip, sizeof *a);
    if (a->any.sa_family == AF_INET) {
        a->v4.sin_port = htons(port);
        return sizeof a->v4;
    }
    if (a->any.sa_family == AF_INET6) {
        a->v6.sin6_port = htons(port);
        return sizeof a->v6;
    }
    return 0;
}

/* What is to be answered to a call.  One for a process that was here before gets no reply. */
static uint32_t reply_to(const dnet_emu_alive_t *a, call_t *c)
{
    call_t call = *c;

    if (call.head.key != a->key || call.head.bytes > sizeof call.data)
        return 0;
    return a->called(a->called_arg, call.data, call.head.bytes, c->data);
}

static void answer(const dnet_emu_alive_t *a, int fd)
{
    call_t c;
    address_t from;
    socklen_t length = sizeof from;
    ssize_t n = recvfrom(fd, &c, sizeof c, MSG_DONTWAIT, &from.any, &length);

    if (n < (ssize_t) sizeof c.head || (size_t) n != sizeof c.head + c.head.bytes ||
        (c.head.kind != CALL && (c.head.kind != QUESTION || c.head.key != a->key)))
        return;
    c.head.bytes = c.head.kind == CALL ? reply_to(a, &c) : 0;
    c.head.kind = ANSWER;
    (void) sendto(fd, &c, sizeof c.head + c.head.bytes, MSG_DONTWAIT, &from.any, length);
}

static void *serve(void *arg)
{
    dnet_emu_alive_t *a = arg;
    struct epoll_event e;

    for (;;) {
        int n = epoll_wait(a->epoll_fd, &e, 1, -1);

        if (n < 0 && errno != EINTR)
            return NULL;
        if (n != 1)
            continue;
        if (e.data.fd == a->end_fd)
            return NULL;
        if (e.data.fd == a->watched_fd)
            dnet_emu_wake_slow(a->sleeper);
        else
            answer(a, e.data.fd);
    }
}

static bool add(const dnet_emu_alive_t *a, int fd, uint32_t what)
{
    struct epoll_event e = {.events = what, .data.fd = fd};

    return epoll_ctl(a->epoll_fd, EPOLL_CTL_ADD, fd, &e) == 0;
}

void dnet_emu_alive_watch(dnet_emu_alive_t *a, int fd, dnet_emu_wid_t *sleeper)
{
    a->sleeper = sleeper;
    a->watched_fd = fd;
    if (fd >= 0 && !add(a, fd, EPOLLONESHOT)) /* nothing but errors, before it is armed */
        a->watched_fd = -1;
}

bool dnet_emu_alive_arm(dnet_emu_alive_t *a)
{
    struct epoll_event e = {.events = EPOLLIN | EPOLLONESHOT, .data.fd = a->watched_fd};

    return a->watched_fd >= 0 && epoll_ctl(a->epoll_fd, EPOLL_CTL_MOD, a->watched_fd, &e) == 0;
}

static void close_all(dnet_emu_alive_t *a)
{
    int fds[] = {a->end_fd, a->epoll_fd};

    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    for (unsigned r = 0; r < a->rails; r++) {
        if (a->answers_fd[r] >= 0)
            close(a->answers_fd[r]);
        if (a->asks_fd[r] >= 0)
            close(a->asks_fd[r]);
    }
    free(a);
}

/* The sockets of one more rail. */
static bool open_rail(dnet_emu_alive_t *a, const struct sockaddr_storage *ip,
                      dnet_emu_port_address_t *at)
{
    const int on = 1;
    address_t own;
    socklen_t length = address_of(ip, 0, &own);
    unsigned r = a->rails++;
    bool v4 = own.any.sa_family == AF_INET;

    a->answers_fd[r] = socket(own.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    a->asks_fd[r] = socket(own.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (a->answers_fd[r] < 0 || a->asks_fd[r] < 0 || !add(a, a->answers_fd[r], EPOLLIN) ||
        bind(a->answers_fd[r], &own.any, length) != 0 ||
        getsockname(a->answers_fd[r], &own.any, &length) != 0)
        return false;
    (void) setsockopt(a->asks_fd[r], v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_RECVERR : IPV6_RECVERR,
                      &on, sizeof on);
    at->alive_port = ntohs(v4 ? own.v4.sin_port : own.v6.sin6_port);
    return true;
}

dnet_emu_alive_t *dnet_emu_alive_start(const struct sockaddr_storage *ip, unsigned rails,
                                       dnet_emu_port_address_t *at, dnet_emu_alive_called_fn called,
                                       void *arg)
{
    dnet_emu_alive_t *a = calloc(1, sizeof *a);
    bool good;

    if (!a) {
        dnet_error("no memory to answer other hosts: %zu bytes needed", sizeof *a);
        return NULL;
    }
    a->key = at->key;
    a->called = called;
    a->called_arg = arg;
    a->end_fd = eventfd(0, EFD_CLOEXEC);
    a->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    a->watched_fd = -1;
    good = a->end_fd >= 0 && a->epoll_fd >= 0 && add(a, a->end_fd, EPOLLIN);
    for (unsigned r = 0; r < rails && good; r++)
        good = open_rail(a, &ip[r], &at[r]);
    if (!good || (errno = dnet_thread_start(&a->thread, serve, a)) != 0) {
        dnet_error("no socket or thread to answer other hosts: %m");
        close_all(a);
        return NULL;
    }
    return a;
}

void dnet_emu_alive_end(dnet_emu_alive_t *a)
{
    const uint64_t one = 1;

    if (write(a->end_fd, &one, sizeof one) == sizeof one)
        pthread_join(a->thread, NULL);
    close_all(a);
}

void dnet_emu_alive_ask(dnet_emu_alive_t *a, unsigned rail, const struct sockaddr_storage *ip,
                        const dnet_emu_port_address_t *at, uint32_t tag)
{
    const datagram_t d = {.kind = QUESTION, .key = at->key, .tag = tag};
    address_t to;
    socklen_t length = address_of(ip, at->alive_port, &to);

    /* A host that cannot be reached now answers nothing, and that is what counts. */
    if (length && at->alive_port && rail < a->rails)
        (void) sendto(a->asks_fd[rail], &d, sizeof d, MSG_DONTWAIT, &to.any, length);
}

/* What a host's kernel says of a question: it comes back with an error behind it. */
static bool refused(int fd, datagram_t *d, bool *gone_p)
{
    union {
        struct cmsghdr first;
        uint8_t room[256];
    } control;
    struct iovec data = {.iov_base = d, .iov_len = sizeof *d};
    struct msghdr m = {.msg_iov = &data,
                       .msg_iovlen = 1,
                       .msg_control = &control,
                       .msg_controllen = sizeof control};

    if (recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) != sizeof *d)
        return false;
    *gone_p = false;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
        struct sock_extended_err e;

        if (c->cmsg_type != IP_RECVERR && c->cmsg_type != IPV6_RECVERR)
            continue;
        memcpy(&e, CMSG_DATA(c), sizeof e);
        *gone_p = e.ee_errno == ECONNREFUSED;
    }
    return d->kind == QUESTION;
}

static bool answered(int fd, uint32_t *tag_p, bool *gone_p)
{
    datagram_t d;

    while (refused(fd, &d, gone_p))
        if (*gone_p) {
            *tag_p = d.tag;
            return true;
        }
    *gone_p = false;
    while (recv(fd, &d, sizeof d, MSG_DONTWAIT) == sizeof d)
        if (d.kind == ANSWER) {
            *tag_p = d.tag;
            return true;
        }
    return false;
}

bool dnet_emu_alive_answer(dnet_emu_alive_t *a, uint32_t *tag_p, bool *gone_p)
{
    for (unsigned r = 0; r < a->rails; r++)
        if (answered(a->asks_fd[r], tag_p, gone_p))
            return true;
    return false;
}

/* ---- calls ---- */

#define CALL_AGAIN_MS 20 /* and then twice as long, */
#define CALL_MOST_MS 320 /* up to that */

/* The answer to a call.  @return as dnet_emu_alive_call(), or -1: none has come in so long */
static int reply_from(int fd, uint32_t tag, void *reply, int wait_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    call_t c;

    while (poll(&p, 1, wait_ms) > 0) {
        ssize_t n = recv(fd, &c, sizeof c, MSG_DONTWAIT);

        if (n < 0 && errno == ECONNREFUSED)
            return 0;
        if (n < (ssize_t) sizeof c.head || c.head.kind != ANSWER || c.head.tag != tag ||
            (size_t) n != sizeof c.head + c.head.bytes)
            continue;
        memcpy(reply, c.data, c.head.bytes);
        return (int) c.head.bytes;
    }
    return -1;
}

int dnet_emu_alive_call(const struct sockaddr_storage *ip, const dnet_emu_port_address_t *at,
                        const void *call, uint32_t bytes, void *reply, uint64_t wait_ns)
{
    uint64_t start = dnet_clock_ns();
    call_t c = {.head = {.kind = CALL, .key = at->key, .tag = (uint32_t) start, .bytes = bytes}};
    address_t to;
    socklen_t length = address_of(ip, at->alive_port, &to);
    int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), got = -1;

    memcpy(c.data, call, bytes);
    if (fd >= 0 && length && connect(fd, &to.any, length) == 0)
        for (int ms = CALL_AGAIN_MS; got < 0 && dnet_clock_ns() - start < wait_ns;) {
            ssize_t sent = send(fd, &c, sizeof c.head + bytes, 0);

            got = sent < 0 && errno == ECONNREFUSED ? 0 : reply_from(fd, c.head.tag, reply, ms);
            ms = ms * 2 < CALL_MOST_MS ? ms * 2 : CALL_MOST_MS;
        }
    if (fd >= 0)
        close(fd);
    return got;
}
