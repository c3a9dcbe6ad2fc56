/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A plug to plain Ethernet, by TCP sockets of its own: a process waits for the next message by
 * asking the socket on which the last one came, and no other, as long as messages come there; and a
 * large message goes from the memory it is in to the memory where it is wanted, with no copy but
 * the kernel's.
 */
#include "config.h"

#include "emulator/swif/hosts/tcp_end.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/descriptors.h"
#include "common/log.h"

/* A connection with each process that there can be, by each rail, and what the program has open. */
#define DESCRIPTORS (DNET_NODES_MAX * DNET_PROCESSES_PER_NIC * DNET_RAILS_MAX + 1024u)
#define EAGER_BYTES 32768u /* above that a read costs less than the copies */
#define EVENTS 16          /* connections with something, told at once */
/* Polls between two looks at all connections, where one is polled; the same, where it is the only
 * one: then there are only new ones to be seen. */
#define LOOKS 4u
#define LOOKS_ALONE 32u
/* After so many polls in a row that brought something from one connection alone the kernel need not
 * tell of it any more: it is polled anyway, and each packet costs less. */
#define QUIET 64u

static bool tcp_found(char *text, size_t bytes)
{
    dnet_emu_tcp_address_t at;
    char name[32], all[128];

    if (!dnet_emu_tcp_own_address(NULL, &at, name, sizeof name, all, sizeof all)) {
        snprintf(text, bytes, "no interface has an IP address");
        return false;
    }
    snprintf(text, bytes, "sockets, on %s", all);
    return true;
}

static void free_peer(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    if (p->fd >= 0) {
        /* What has come and was not read would make the end of the connection a reset, and what
         * is on its way to the peer would be lost. */
        while (recv(p->fd, NULL, TCP_BUFFER_BYTES, MSG_DONTWAIT | MSG_TRUNC) > 0)
            ;
        dnet_emu_tcp_break(e, p, ECONNRESET);
    }
    free(p);
}

static void free_peers(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    while (p) {
        dnet_emu_tcp_peer_t *next = p->next;

        free_peer(e, p);
        p = next;
    }
}

static void tcp_part(dnet_emu_plug_end_t *e, uint64_t peer)
{
    dnet_emu_tcp_peer_t *p = (dnet_emu_tcp_peer_t *) (uintptr_t) peer;
    dnet_emu_tcp_peer_t **link = &e->peers, **busy = &e->busy;

    if (--p->users)
        return; /* a process that came later has the address of one that has ended */
    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    while (*busy && *busy != p)
        busy = &(*busy)->busy_next;
    if (*busy)
        *busy = p->busy_next;
    free_peer(e, p);
}

static void tcp_close(dnet_emu_plug_end_t *e)
{
    free_peers(e, e->peers);
    free_peers(e, e->strangers);
    if (e->listen_fd >= 0)
        close(e->listen_fd);
    if (e->epoll_fd >= 0)
        close(e->epoll_fd);
    while (e->spare) {
        dnet_emu_tcp_buffer_t *b = e->spare;

        e->spare = b->next;
        free(b);
    }
    free(e->loan);
    free(e);
}

static dnet_status_t tcp_open(const dnet_emu_port_config_t *config, dnet_emu_port_address_t *at,
                              dnet_emu_plug_end_t **end_p)
{
    dnet_emu_plug_end_t *e = calloc(1, sizeof *e);
    dnet_emu_rail_facts_t facts;
    char all[128];

    if (!e) {
        dnet_error("no memory for a port: %zu bytes needed", sizeof *e);
        return DNET_ERR_NO_MEMORY;
    }
    (void) dnet_descriptors_allow(DESCRIPTORS);
    e->epoll_fd = e->listen_fd = -1;
    e->key = at->key;
    e->wait_ns = config->wait_s * UINT64_C(1000000000);
    e->first = e;
    if (!dnet_emu_tcp_own_address(config->interface, &e->at, e->network, sizeof e->network, all,
                                  sizeof all)) {
        dnet_error("no interface %s with an IP address; there are %s",
                   config->interface ? config->interface : "", all[0] ? all : "none");
        tcp_close(e);
        return DNET_NOT_FOUND;
    }
    if (!dnet_emu_tcp_listen(e)) {
        dnet_error("no port on %s: %m", e->network);
        tcp_close(e);
        return DNET_ERR_SYSTEM;
    }
    dnet_emu_tcp_interface_facts(e->network, &facts);
    e->mbits_per_s = facts.mbits_per_s;
    at->bytes = (uint8_t) dnet_emu_tcp_address_bytes(&e->at);
    memcpy(at->at, &e->at, at->bytes);
    *end_p = e;
    return DNET_OK;
}

/* An address as it was sent.  @return false: none of IP */
static bool address_of(const dnet_emu_port_address_t *from, dnet_emu_tcp_address_t *at)
{
    memset(at, 0, sizeof *at);
    memcpy(at, from->at, from->bytes < sizeof *at ? from->bytes : sizeof *at);
    return dnet_emu_tcp_address_bytes(at) && dnet_emu_tcp_address_bytes(at) == from->bytes;
}

static bool tcp_reach(dnet_emu_plug_end_t *e, const dnet_emu_port_address_t *at, uint64_t *peer_p)
{
    dnet_emu_tcp_address_t address;
    dnet_emu_tcp_peer_t *p;

    if (!address_of(at, &address)) {
        dnet_error("an address that is none of IP");
        return false;
    }
    p = dnet_emu_tcp_peer_of(e, &address);
    if (!p)
        return false;
    if (p->key != at->key) { /* what is known is of another process */
        p->failing_ns = 0;
        p->why = NULL;
    }
    p->key = at->key;
    p->users++;
    *peer_p = (uintptr_t) p;
    return true;
}

static socklen_t tcp_ip(const dnet_emu_port_address_t *at, struct sockaddr_storage *ip)
{
    dnet_emu_tcp_address_t address;

    if (!address_of(at, &address))
        return 0;
    memset(ip, 0, sizeof *ip);
    memcpy(ip, &address, sizeof address);
    return dnet_emu_tcp_address_bytes(&address);
}

/* ---- messages and reads ---- */

static bool is_open(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    if (p->state == TCP_NONE || p->state == TCP_CONNECTING)
        dnet_emu_tcp_connect(e, p);
    return p->state == TCP_OPEN;
}

static dnet_status_t tcp_send(dnet_emu_plug_end_t *e, uint64_t peer, const void *data,
                              uint32_t bytes, dnet_emu_plug_op_t *op)
{
    dnet_emu_tcp_peer_t *p = (dnet_emu_tcp_peer_t *) (uintptr_t) peer;
    const dnet_emu_tcp_frame_t frame = {.kind = TCP_MESSAGE, .bytes = bytes};
    dnet_emu_tcp_out_t *o = dnet_emu_tcp_out_of(op);
    uint64_t left = 0;

    if (!is_open(e, p))
        return DNET_STOPPED;
    if (!p->out.first) {
        left = dnet_emu_tcp_send_now(e, p, &frame, data);
        if (left >= sizeof frame + bytes)
            return DNET_OK;
        if (p->state != TCP_OPEN)
            return DNET_STOPPED;
    }
    *o = (dnet_emu_tcp_out_t){.data = data, .frame = frame};
    dnet_emu_tcp_queue(e, p, o, left);
    return DNET_IN_PROGRESS;
}

/* Memory is only noted; what is read into needs nothing. */
static void *tcp_hold(dnet_emu_plug_end_t *e, const void *at, uint64_t bytes, bool steady,
                      dnet_remote_memory_t *memory_p)
{
    uint32_t i = e->loan_free;
    dnet_emu_tcp_loan_t *l;

    (void) steady;
    if (!memory_p)
        return e;
    if (i == e->loans) {
        uint32_t loans = e->loans ? 2 * e->loans : 64;

        l = realloc(e->loan, loans * sizeof *l);
        if (!l)
            return NULL;
        e->loan = l;
        for (; e->loans < loans; e->loans++)
            l[e->loans] = (dnet_emu_tcp_loan_t){.next = e->loans + 1};
    }
    l = &e->loan[i];
    e->loan_free = l->next;
    l->at = at;
    l->bytes = bytes;
    l->to = NULL;
    l->ahead = NULL;
    *memory_p = (dnet_remote_memory_t){.address = 0, .key[0] = (uint64_t) ++l->key << 32 | i};
    return (void *) (uintptr_t) (i + 1);
}

static void tcp_let_go(dnet_emu_plug_end_t *e, void *held)
{
    uint32_t i = (uint32_t) (uintptr_t) held - 1;

    if (held == e)
        return;
    if (e->loan[i].to)
        dnet_emu_tcp_ahead_ends(e, &e->loan[i]);
    e->loan[i].at = NULL;
    e->loan[i].next = e->loan_free;
    e->loan_free = i;
}

static void tcp_send_ahead(dnet_emu_plug_end_t *e, uint64_t peer, void *held)
{
    dnet_emu_tcp_peer_t *p = (dnet_emu_tcp_peer_t *) (uintptr_t) peer;

    if (held)
        dnet_emu_tcp_send_ahead(e, p, (uint32_t) (uintptr_t) held - 1);
    else
        dnet_emu_tcp_sent_ahead(e, p);
}

static dnet_status_t tcp_read(dnet_emu_plug_end_t *e, uint64_t peer,
                              const dnet_remote_memory_t *from, void *to, void *held,
                              uint64_t *bytes_p, dnet_emu_plug_op_t *op)
{
    dnet_emu_tcp_peer_t *p = (dnet_emu_tcp_peer_t *) (uintptr_t) peer;
    dnet_emu_tcp_out_t *o = dnet_emu_tcp_out_of(op);

    (void) held;
    if (!is_open(e, p))
        return DNET_STOPPED;
    if (*bytes_p > TCP_READ_MOST)
        *bytes_p = TCP_READ_MOST;
    *o = (dnet_emu_tcp_out_t){.to = to,
                              .frame = {.kind = TCP_ASKS, .bytes = (uint32_t) *bytes_p},
                              .request = {from->address, from->key[0], *bytes_p}};
    if (dnet_emu_tcp_take_ahead(p, o))
        return DNET_IN_PROGRESS;
    dnet_emu_tcp_queue(e, p, o, 0);
    dnet_emu_tcp_push(e, p);
    return DNET_IN_PROGRESS;
}

/* ---- polling and waiting ---- */

/* What the epoll descriptor is to tell of a connection. */
static bool watch(const dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, bool quiet, bool writing)
{
    struct epoll_event event = {.events = (quiet ? 0u : (uint32_t) EPOLLIN) |
                                          (writing ? (uint32_t) EPOLLOUT : 0u),
                                .data.ptr = p};

    if (p->is_quiet == quiet && p->waits_to_write == writing)
        return true;
    p->is_quiet = quiet;
    p->waits_to_write = writing;
    return epoll_ctl(e->epoll_fd, EPOLL_CTL_MOD, p->fd, &event) == 0;
}

/* A poll has brought something from that one. */
static void heard_of(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    if (e->last != p) {
        if (e->last)
            (void) watch(e, e->last, false, e->last->waits_to_write);
        e->last = p;
        e->in_a_row = 0;
    } else if (++e->in_a_row == QUIET) {
        (void) watch(e, p, true, p->waits_to_write);
    }
}

/* What could not leave, and what could not be taken the last time. */
static void go_on(dnet_emu_plug_end_t *e)
{
    dnet_emu_tcp_peer_t **link = &e->busy, *p;

    while ((p = *link)) {
        dnet_emu_tcp_push(e, p);
        if (p->is_behind && !e->ends)
            dnet_emu_tcp_take(e, p);
        if (p->out.first || p->is_behind) {
            link = &p->busy_next;
            continue;
        }
        if (p->fd >= 0)
            (void) watch(e, p, p->is_quiet, false);
        p->is_busy = false;
        *link = p->busy_next;
    }
}

static void take(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p)
{
    unsigned before = e->arrived;

    if (p->state != TCP_OPEN) {
        dnet_emu_tcp_go_on(e, p);
        return;
    }
    dnet_emu_tcp_take(e, p);
    if (e->arrived != before && p->state == TCP_OPEN)
        heard_of(e, p);
}

/* Has something come, or has the connection ended?  recv() would hold the socket meanwhile, and
 * what comes then would wait for that: 2 KB one way take 0.4 us longer. */
static bool has_something(const dnet_emu_tcp_peer_t *p)
{
    struct pollfd there = {.fd = p->fd, .events = POLLIN};

    return poll(&there, 1, 0) != 0;
}

static void look_at_all(dnet_emu_plug_end_t *e)
{
    struct epoll_event event[EVENTS];
    int n = epoll_wait(e->epoll_fd, event, EVENTS, 0);

    for (int i = 0; i < n && !e->ends; i++)
        if (event[i].data.ptr)
            take(e, event[i].data.ptr);
        else
            dnet_emu_tcp_accept(e);
}

static unsigned tcp_poll(dnet_emu_plug_end_t *e, const dnet_emu_plug_events_t *events, void *arg)
{
    e->events = events;
    e->arg = arg;
    e->arrived = 0;
    e->ends = false;
    e->polls += e->polls == UINT32_MAX ? 2 : 1;
    if (e->busy)
        go_on(e);
    if (e->last && e->looks++ < (e->connected > 1 ? LOOKS : LOOKS_ALONE)) {
        if (has_something(e->last))
            take(e, e->last);
    } else if (!e->ends) {
        e->looks = 0;
        look_at_all(e);
    }
    if (e->ended.first)
        dnet_emu_tcp_report(e);
    return e->arrived;
}

static const char *tcp_why(const dnet_emu_plug_end_t *e, uint64_t peer)
{
    if (e->is_full) /* this peer may be well, but the job cannot go on */
        return TCP_FULL;
    return ((const dnet_emu_tcp_peer_t *) (uintptr_t) peer)->why;
}

static bool tcp_hears(dnet_emu_plug_end_t *e, uint64_t peer)
{
    (void) e;
    return dnet_emu_tcp_hears((dnet_emu_tcp_peer_t *) (uintptr_t) peer);
}

static int tcp_wait_fd(const dnet_emu_plug_end_t *e)
{
    return e->epoll_fd;
}

static bool tcp_may_wait(dnet_emu_plug_end_t *e)
{
    for (dnet_emu_tcp_peer_t *p = e->busy; p; p = p->busy_next)
        if (p->is_behind || (p->out.first && !watch(e, p, p->is_quiet, true)))
            return false;
    e->in_a_row = 0;
    return !e->ended.first && (!e->last || watch(e, e->last, false, e->last->waits_to_write));
}

static const char *tcp_network(const dnet_emu_plug_end_t *e)
{
    return e->network;
}

/* ---- one of several rails ---- */

static uint32_t tcp_choose(const dnet_emu_port_config_t *config, uint32_t most,
                           dnet_emu_port_config_t *rail, char (*name)[DNET_RAIL_NAME])
{
    uint32_t n = config->interface ? 0 : dnet_emu_tcp_interfaces(most, name);

    for (uint32_t i = 0; i < n; i++) {
        rail[i] = *config;
        rail[i].interface = name[i];
    }
    return n;
}

static void tcp_join(dnet_emu_plug_end_t *e, dnet_emu_plug_end_t *first, unsigned rail,
                     dnet_emu_rail_facts_t *facts_p)
{
    (void) rail;
    e->first = first;
    e->is_rail = true;
    dnet_emu_tcp_interface_facts(e->network, facts_p);
}

static const char *tcp_ill(dnet_emu_plug_end_t *e, uint64_t peer)
{
    const dnet_emu_tcp_peer_t *p = (const dnet_emu_tcp_peer_t *) (uintptr_t) peer;

    return p ? dnet_emu_tcp_peer_ill(p) : dnet_emu_tcp_interface_ill(e->listen_fd, e->network);
}

static bool tcp_ready(dnet_emu_plug_end_t *e, uint64_t peer, bool begin)
{
    dnet_emu_tcp_peer_t *p = (dnet_emu_tcp_peer_t *) (uintptr_t) peer;

    return begin ? is_open(e, p) : p->state == TCP_OPEN;
}

static void tcp_drop(dnet_emu_plug_end_t *e, uint64_t peer)
{
    dnet_emu_tcp_break(e, (dnet_emu_tcp_peer_t *) (uintptr_t) peer, ENETDOWN);
}

const dnet_emu_plug_ops_t dnet_emu_plug_tcp = {
    .name = "tcp",
    .message_bytes = TCP_MESSAGE_BYTES,
    .eager_bytes = EAGER_BYTES,
    .found = tcp_found,
    .open = tcp_open,
    .reach = tcp_reach,
    .part = tcp_part,
    .ip = tcp_ip,
    .send = tcp_send,
    .hold = tcp_hold,
    .let_go = tcp_let_go,
    .send_ahead = tcp_send_ahead,
    .read = tcp_read,
    .poll = tcp_poll,
    .why = tcp_why,
    .hears = tcp_hears,
    .wait_fd = tcp_wait_fd,
    .may_wait = tcp_may_wait,
    .network = tcp_network,
    .close = tcp_close,
    .choose = tcp_choose,
    .join = tcp_join,
    .ill = tcp_ill,
    .ready = tcp_ready,
    .drop = tcp_drop,
};
