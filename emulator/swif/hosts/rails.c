/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "emulator/swif/hosts/rails.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "emulator/swif/hosts/rails_end.h"

/* Polls of the rail that brought something last between two of the others. */
#define OTHERS_EVERY 4u

/* ---- which rails ---- */

/* Entries of a list with commas between; 0: there is no list. */
static unsigned entries_of(const char *list)
{
    unsigned n = list && list[0] ? 1 : 0;

    for (; n && (list = strchr(list, ',')); list++)
        n++;
    return n;
}

/* Entry i of a list, or the only one there is. */
static const char *entry_of(const char *list, unsigned i, char *room)
{
    size_t bytes;

    if (entries_of(list) < 2)
        return list;
    while (i--)
        list = strchr(list, ',') + 1;
    bytes = strcspn(list, ",");
    snprintf(room, DNET_RAIL_NAME, "%.*s", (int) (bytes < DNET_RAIL_NAME ? bytes : 0), list);
    return room;
}

static unsigned named(const dnet_emu_port_config_t *config)
{
    unsigned devices = entries_of(config->device), interfaces = entries_of(config->interface);

    return devices > interfaces ? devices : interfaces;
}

bool dnet_emu_rails_wanted(const dnet_emu_port_config_t *config)
{
    return named(config) > 1 || config->rails > 1;
}

typedef struct {
    dnet_emu_port_config_t config[DNET_RAILS_MAX];
    char name[DNET_RAILS_MAX][DNET_RAIL_NAME], other[DNET_RAILS_MAX][DNET_RAIL_NAME];
    unsigned count;
} chosen_t;

/* @return false: more than there can be (logged) */
static bool choose(const dnet_emu_plug_ops_t *plug, const dnet_emu_port_config_t *config,
                   chosen_t *c)
{
    unsigned names = named(config), most = config->rails ? config->rails : DNET_RAILS_MAX;
    unsigned devices = entries_of(config->device), interfaces = entries_of(config->interface);

    if (devices > 1 && interfaces > 1 && devices != interfaces) {
        dnet_error("%u RDMA devices (%s) and %u interfaces (%s) are listed: list as many of both, "
                   "or one of either for all rails",
                   devices, config->device, interfaces, config->interface);
        return false;
    }
    c->count = names < most ? names : most;
    if (names > DNET_RAILS_MAX && !config->rails) {
        dnet_error("%u rails are listed, and a process has at most %u", names, DNET_RAILS_MAX);
        return false;
    }
    if (names > 1 && !plug->join) {
        dnet_error("plug %s has one rail: name one interface, not %s", plug->name,
                   config->interface);
        return false;
    }
    if (names < 2)
        c->count = plug->join && most > 1 ? plug->choose(config, most, c->config, c->name) : 0;
    for (unsigned i = 0; i < c->count && names > 1; i++) {
        c->config[i] = *config;
        c->config[i].device = entry_of(config->device, i, c->name[i]);
        c->config[i].interface = entry_of(config->interface, i, c->other[i]);
    }
    if (c->count == 0) {
        c->config[0] = *config;
        c->count = 1;
    }
    return true;
}

/* ---- opening ---- */

static void free_peers(dnet_emu_rails_peer_t *p)
{
    while (p) {
        dnet_emu_rails_peer_t *next = p->next;

        free(p);
        p = next;
    }
}

static void rails_close(dnet_emu_plug_end_t *e)
{
    while (e->rails > 0) /* the first has what is of all */
        e->plug->close(e->rail[--e->rails].end);
    free_peers(e->peers);
    free_peers(e->parted);
    while (e->reads) {
        dnet_emu_rails_read_t *read = e->reads;

        e->reads = read->next;
        free(read);
    }
    if (e->wait_fd >= 0)
        close(e->wait_fd);
    free(e);
}

static dnet_status_t open_rail(dnet_emu_plug_end_t *e, const dnet_emu_port_config_t *config,
                               dnet_emu_port_address_t *at)
{
    dnet_emu_rail_t *rail = &e->rail[e->rails];
    struct epoll_event event = {.events = EPOLLIN};
    size_t used = strlen(e->network);
    dnet_status_t status = e->plug->open(config, at, &rail->end);

    if (status != DNET_OK)
        return status;
    e->plug->join(rail->end, e->rail[0].end, e->rails, &rail->facts);
    rail->name = e->plug->network(rail->end);
    snprintf(e->network + used, sizeof e->network - used, "%s%s", e->rails ? " + " : "",
             rail->name);
    e->rails++;
    if (epoll_ctl(e->wait_fd, EPOLL_CTL_ADD, e->plug->wait_fd(rail->end), &event) == 0)
        return DNET_OK;
    dnet_error("no descriptor of several rails: %m");
    return DNET_ERR_SYSTEM;
}

static void set_ops(dnet_emu_plug_end_t *e);

static dnet_status_t open_all(const chosen_t *c, dnet_emu_port_address_t *at,
                              const dnet_emu_plug_ops_t **plug_p, dnet_emu_plug_end_t **end_p)
{
    dnet_emu_plug_end_t *e = calloc(1, sizeof *e);
    dnet_status_t status = DNET_OK;

    if (!e) {
        dnet_error("no memory for a port: %zu bytes needed", sizeof *e);
        return DNET_ERR_NO_MEMORY;
    }
    e->plug = *plug_p;
    e->key = at->key;
    e->wait_ns = c->config[0].wait_s * UINT64_C(1000000000);
    e->wait_fd = epoll_create1(EPOLL_CLOEXEC);
    for (unsigned i = 0; status == DNET_OK && i < c->count; i++) {
        at[i] = at[0];
        status = open_rail(e, &c->config[i], &at[i]);
    }
    if (status != DNET_OK) {
        rails_close(e);
        return status;
    }
    set_ops(e);
    *plug_p = &e->ops;
    *end_p = e;
    return DNET_OK;
}

dnet_status_t dnet_emu_rails_open(const dnet_emu_port_config_t *config,
                                  dnet_emu_port_address_t at[DNET_RAILS_MAX],
                                  const dnet_emu_plug_ops_t **plug_p, dnet_emu_plug_end_t **end_p)
{
    chosen_t *c = calloc(1, sizeof *c);
    dnet_status_t status = DNET_ERR_ARGUMENT;

    if (!c) {
        dnet_error("no memory for a port: %zu bytes needed", sizeof *c);
        return DNET_ERR_NO_MEMORY;
    }
    if (choose(*plug_p, config, c))
        status = c->count == 1 ? (*plug_p)->open(&c->config[0], at, end_p)
                               : open_all(c, at, plug_p, end_p);
    free(c);
    return status;
}

/* ---- peers ---- */

/* The rail of a peer's messages: of those that are nearest one after the other. */
static uint8_t home_of(const dnet_emu_plug_end_t *e, unsigned rails, unsigned number)
{
    uint32_t least = UINT32_MAX;
    uint8_t nearest[DNET_RAILS_MAX];
    unsigned count = 0;

    for (unsigned r = 0; r < rails; r++)
        if (e->rail[r].facts.distance < least)
            least = e->rail[r].facts.distance;
    for (unsigned r = 0; r < rails; r++)
        if (e->rail[r].facts.distance == least)
            nearest[count++] = (uint8_t) r;
    return nearest[number % count];
}

static bool rails_reach(dnet_emu_plug_end_t *e, const dnet_emu_port_address_t *at, uint64_t *peer_p)
{
    dnet_emu_rails_peer_t *p = calloc(1, sizeof *p);

    if (!p) {
        dnet_error("no memory for a connection: %zu bytes needed", sizeof *p);
        return false;
    }
    while (p->rails < e->rails && at[p->rails].bytes) {
        if (!e->plug->reach(e->rail[p->rails].end, &at[p->rails], &p->to[p->rails])) {
            free(p);
            return false;
        }
        p->rails++;
    }
    p->key = at->key;
    p->good = p->says = (uint8_t) ((1u << p->rails) - 1);
    p->home = p->now = home_of(e, p->rails, at->number);
    p->next = e->peers;
    e->peers = p;
    for (unsigned r = 0; r < p->rails; r++)
        if (e->rail[r].ill) /* since before there was this peer to fail to */
            dnet_emu_rails_failed(e, p, r, e->rail[r].ill);
    *peer_p = (uintptr_t) p;
    return true;
}

/* No rail is connected to it any more. */
static void rails_part(dnet_emu_plug_end_t *e, uint64_t peer)
{
    dnet_emu_rails_peer_t *p = (dnet_emu_rails_peer_t *) (uintptr_t) peer, **link = &e->peers;

    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    p->next = e->parted;
    e->parted = p;
    p->is_parted = true;
    for (unsigned r = 0; r < p->rails; r++)
        e->plug->part(e->rail[r].end, p->to[r]);
}

unsigned dnet_emu_rails_now(uint64_t peer)
{
    return ((const dnet_emu_rails_peer_t *) (uintptr_t) peer)->now;
}

/* ---- messages ---- */

static dnet_status_t rails_send(dnet_emu_plug_end_t *e, uint64_t peer, const void *data,
                                uint32_t bytes, dnet_emu_plug_op_t *op)
{
    dnet_emu_rails_peer_t *p = (dnet_emu_rails_peer_t *) (uintptr_t) peer;
    unsigned r = p->now;
    dnet_status_t status;

    op->peer = p;
    op->rail = (uint8_t) r;
    op->is_own = false;
    status = e->plug->send(e->rail[r].end, p->to[r], data, bytes, op);
    switch (status) {
        case DNET_OK:
        case DNET_IN_PROGRESS:
            e->rail[r].sent_bytes += bytes;
            p->used |= (uint8_t) (1u << r);
            if (status == DNET_OK)
                p->none_ns = 0;
            return status;
        case DNET_STOPPED:
            if (!(p->used >> r & 1))
                (void) dnet_emu_rails_connect(e, p, r);
            return status;
        default:
            dnet_emu_rails_refused(e, p, r);
            return DNET_STOPPED;
    }
}

static bool arrived(void *arg, uint8_t *data, uint32_t bytes)
{
    dnet_emu_plug_end_t *e = arg;

    if (dnet_emu_rails_noted(e, data, bytes))
        return true;
    e->ends = !e->events->arrived(e->arg, data, bytes);
    return !e->ends;
}

static void sent(void *arg, dnet_emu_plug_op_t *op, const char *why)
{
    dnet_emu_plug_end_t *e = arg;
    dnet_emu_rails_peer_t *p = op->peer;
    bool is_broken =
        why && !p->is_parted && !e->plug->ready(e->rail[op->rail].end, p->to[op->rail], false);

    if (!why)
        p->none_ns = 0;
    if (is_broken)
        dnet_emu_rails_failed(e, p, op->rail, why);
    if (!op->is_own) {
        e->events->sent(e->arg, op, why);
    } else if (op->reads) {
        dnet_emu_rails_part_sent(e, (dnet_emu_rails_part_t *) (void *) op, why, is_broken);
    } else {
        p->is_leaving = false;
        p->is_unsaid = p->is_unsaid || why;
    }
}

static const dnet_emu_plug_events_t events = {.arrived = arrived, .sent = sent};

static unsigned poll_one(dnet_emu_plug_end_t *e, unsigned r)
{
    unsigned n = e->plug->poll(e->rail[r].end, &events, e);

    if (n)
        e->last = r;
    return n;
}

static unsigned rails_poll(dnet_emu_plug_end_t *e, const dnet_emu_plug_events_t *above, void *arg)
{
    unsigned last = e->last, n;
    uint64_t now;

    e->events = above;
    e->arg = arg;
    e->ends = false;
    n = poll_one(e, last);
    if (e->polls++ % OTHERS_EVERY == 0)
        for (unsigned r = 0; r < e->rails && !e->ends; r++)
            n += r == last ? 0 : poll_one(e, r);
    now = dnet_clock_recent_ns(&e->clock);
    if (now >= e->check_ns || e->changed)
        dnet_emu_rails_check(e, now);
    if (e->due)
        dnet_emu_rails_reads_go_on(e);
    return n;
}

/* ---- memory: the first rail keeps it for all ---- */

static void *rails_hold(dnet_emu_plug_end_t *e, const void *at, uint64_t bytes, bool steady,
                        dnet_remote_memory_t *memory_p)
{
    return e->plug->hold(e->rail[0].end, at, bytes, steady, memory_p);
}

static void rails_let_go(dnet_emu_plug_end_t *e, void *held)
{
    e->plug->let_go(e->rail[0].end, held);
}

static void rails_forget(dnet_emu_plug_end_t *e, const void *at, uint64_t bytes)
{
    e->plug->forget(e->rail[0].end, at, bytes);
}

/* ---- what the caller asks ---- */

static const char *rails_why(const dnet_emu_plug_end_t *e, uint64_t peer)
{
    const dnet_emu_rails_peer_t *p = (const dnet_emu_rails_peer_t *) (uintptr_t) peer;
    const char *why = NULL;

    if (p->lost[0])
        return p->lost;
    for (unsigned r = 0; r < p->rails; r++) {
        why = e->plug->why(e->rail[r].end, p->to[r]);
        if (!why)
            return NULL;
    }
    return why;
}

/* One answer by any rail will do. */
static bool rails_ask(dnet_emu_plug_end_t *e, uint64_t peer)
{
    const dnet_emu_rails_peer_t *p = (const dnet_emu_rails_peer_t *) (uintptr_t) peer;
    bool answered = !p->used;

    for (unsigned r = 0; r < p->rails; r++)
        if (p->used >> r & 1)
            answered = e->plug->ask(e->rail[r].end, p->to[r]) || answered;
    return answered;
}

static bool rails_hears(dnet_emu_plug_end_t *e, uint64_t peer)
{
    const dnet_emu_rails_peer_t *p = (const dnet_emu_rails_peer_t *) (uintptr_t) peer;
    bool heard = false;

    for (unsigned r = 0; r < p->rails; r++)
        heard = e->plug->hears(e->rail[r].end, p->to[r]) || heard;
    return heard;
}

static int rails_wait_fd(const dnet_emu_plug_end_t *e)
{
    return e->wait_fd;
}

static bool rails_may_wait(dnet_emu_plug_end_t *e)
{
    bool may = !e->due && !e->changed;

    e->polls = 0; /* the next poll is of all */
    for (unsigned r = 0; r < e->rails; r++)
        may = e->plug->may_wait(e->rail[r].end) && may;
    return may;
}

static void rails_count(const dnet_emu_plug_end_t *e, dnet_emu_hosts_stats_t *stats)
{
    stats->rails = e->rails;
    for (unsigned r = 0; r < e->rails; r++) {
        dnet_emu_hosts_stats_t one = {.rnr = -1};

        stats->rail[r] = (dnet_emu_rail_stats_t){.network = e->rail[r].name,
                                                 .sent_bytes = e->rail[r].sent_bytes,
                                                 .read_bytes = e->rail[r].read_bytes};
        if (e->plug->count)
            e->plug->count(e->rail[r].end, &one);
        stats->registered += one.registered;
        stats->reused += one.reused;
        if (one.rnr >= 0)
            stats->rnr = (stats->rnr > 0 ? stats->rnr : 0) + one.rnr;
    }
}

/* All messages may come by one rail. */
static uint32_t rails_buffers(const dnet_emu_plug_end_t *e)
{
    uint32_t least = UINT32_MAX;

    for (unsigned r = 0; r < e->rails; r++) {
        uint32_t n = e->plug->buffers(e->rail[r].end);

        least = n < least ? n : least;
    }
    return least;
}

static const char *rails_network(const dnet_emu_plug_end_t *e)
{
    return e->network;
}

static void set_ops(dnet_emu_plug_end_t *e)
{
    const dnet_emu_plug_ops_t *plug = e->plug;

    e->ops = (dnet_emu_plug_ops_t){
        .name = plug->name,
        .message_bytes = plug->message_bytes,
        .eager_bytes = plug->eager_bytes,
        .ip = plug->ip,
        .reach = rails_reach,
        .part = plug->part ? rails_part : NULL,
        .send = rails_send,
        .hold = rails_hold,
        .let_go = rails_let_go,
        .forget = plug->forget ? rails_forget : NULL,
        .read = dnet_emu_rails_read,
        .poll = rails_poll,
        .why = rails_why,
        .ask = plug->ask ? rails_ask : NULL,
        .hears = plug->hears ? rails_hears : NULL,
        .wait_fd = rails_wait_fd,
        .may_wait = rails_may_wait,
        .count = rails_count,
        .buffers = plug->buffers ? rails_buffers : NULL,
        .network = rails_network,
        .close = rails_close,
    };
}
