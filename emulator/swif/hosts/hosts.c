/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Switch interface of a process whose job spans hosts: packets to NICs of this host go as by
 * swif/shm, those to others by a plug (plug.h) to the process that has the WID, whose own poll
 * hands them to its Receive Controller.  It stands in the place of swif/shm, so that a job on one
 * host pays nothing (docs/protocol.md 8).
 *
 * A network answers late.  What is sent is copied and kept until it is acknowledged; the ends of a
 * connection are those of srq_flowctl/connection.h, so a packet that finds no room at its receiver
 * stops its sender, and is sent again when the receiving process grants it:
 *
 *   receiver's NIC refuses a packet   STOP, and what is under way behind it is discarded; the entry
 *                                     in its flow ring is the one of a sender of its own host
 *   its process sends a RESEND        becomes the connection's grant
 *   sender's window is full           STOPPED; when it opens, a RESEND entry in its own flow ring
 *   receiver holds a sender back      each message to that sender says so; what was under way is
 *                                     let in
 *
 * A packet that stores (RVS) is never refused for the window: how many there are is bounded by what
 * uses them.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "emulator/receive_controller.h"
#include "emulator/swif/hosts/connection.h"
#include "emulator/swif/hosts/guests.h"
#include "emulator/swif/hosts/rails.h"
#include "emulator/swif/hosts/reads.h"
#include "emulator/swif/swif.h"
#include "emulator/write_unit.h"

#define ASK_EVERY_NS 250000000u /* whether a peer lives */
/* A process that has not asked for so long after it was due has been somewhere else: in a large job
 * the turn of a peer comes each 3.2 s. */
#define AWAY_NS 5000000000u

/* ---- sending ---- */

/* Keep a part of a packet or burst, and number it. */
static bool put_part(dnet_emu_port_t *port, dnet_emu_connection_t *c, const dnet_emu_packet_t *p,
                     uint32_t from, uint32_t bytes, uint32_t each)
{
    uint32_t lines = p->header_lines * 8;
    dnet_emu_kept_t *k;
    dnet_emu_wire_head_t *head = dnet_emu_out_room(port, c, lines + bytes, &k);
    uint8_t *data;
    uint64_t h[4];

    if (!head)
        return false;
    data = (uint8_t *) (head + 1);
    dnet_emu_burst_header(port->nic, p, from, bytes, bytes < each ? bytes : each, h);
    if (c->its_lid)
        h[0] = (h[0] & ~DNET_MASK(PK_DLID)) | DNET_PUT(c->its_lid, PK_DLID);
    memcpy(data, h, lines);
    if (bytes && !dnet_emu_payload_copy(p, from, data + lines, bytes)) {
        dnet_emu_out_give_up(port, k);
        return false;
    }
    head->kind = WIRE_DATA;
    head->count = (uint8_t) p->header_lines;
    head->packets = (uint16_t) (bytes <= each ? 1 : (bytes + each - 1) / each);
    head->seq = c->tx.next_seq;
    if (c->tx.una_seq == c->tx.next_seq)
        c->unacked_since_ns = port->now_ns;
    dnet_emu_out_add(port, c, k, head);
    return dnet_fc_tx_send(&c->tx, &port->env, port->now_ns) == DNET_OK;
}

static dnet_emu_result_t put_packet(dnet_emu_port_t *port, dnet_emu_connection_t *c,
                                    const dnet_emu_packet_t *p)
{
    uint32_t each = p->data_bytes, part = p->data_bytes, from = 0;

    if (p->packets > 1) {
        each = (uint32_t) DNET_GET(p->header[0], PK_SIZE) - 8 * p->header_lines;
        part = WIRE_DATA_BYTES(port->plug) / each * each;
    }
    port->now_ns = dnet_clock_recent_ns(&port->clock);
    do {
        uint32_t left = p->data_bytes - from, n = left < part ? left : part;

        if (!put_part(port, c, p, from, n, each))
            return DNET_EMU_REFUSED;
        from += n;
    } while (from < p->data_bytes);
    if (!dnet_emu_out_push(port, c))
        dnet_emu_connection_due(port, c);
    return DNET_EMU_LATER;
}

/* [X.6] A RESEND is the grant of this process, or, with MORE, its wish for one. */
static dnet_emu_result_t send_resend(dnet_emu_port_t *port, dnet_emu_connection_t *c,
                                     const dnet_emu_packet_t *p)
{
    unsigned credits = p->header[1] & 0xff;

    if (DNET_GET(p->header[1], RS_MORE)) {
        c->wants = true;
        if (dnet_emu_connection_is_open(port, c))
            dnet_emu_connection_resume(port, c);
        return DNET_EMU_LATER;
    }
    port->pool.free = POOL;
    (void) dnet_fc_rx_grant(&c->rx, &port->pool, credits ? credits : 1);
    return DNET_EMU_LATER;
}

/* A packet to a process of another host. */
DNET_COLD static dnet_emu_result_t send_far(dnet_emu_port_t *port, dnet_emu_connection_t *c,
                                            const dnet_emu_packet_t *p)
{
    unsigned family = (unsigned) DNET_GET(p->header[0], PK_TYPE) >> 2;

    if (c->why[0])
        return DNET_EMU_UNREACHABLE;
    switch (family) {
        case DNET_PRIM_IPUSH >> 2:
            if (c->held && dnet_emu_rc_may_hold(p))
                return DNET_EMU_HELD;
            if (!dnet_emu_connection_is_open(port, c)) {
                c->wants = true;
                return DNET_EMU_STOPPED;
            }
            return put_packet(port, c, p);
        case DNET_PRIM_RVS >> 2:
            return put_packet(port, c, p);
        case DNET_PRIM_RESEND >> 2:
            if (DNET_GET(p->header[0], PK_TYPE) == DNET_PRIM_RESEND)
                return send_resend(port, c, p);
            break;
    }
    /* What reads has its answer when it has been issued: not from another host. */
    dnet_emu_event(port->nic, DNET_EMU_DROP_REQUEST);
    return DNET_EMU_UNREACHABLE;
}

static dnet_emu_result_t hosts_send(dnet_emu_nic_t *via, uint16_t dlid, dnet_emu_packet_t *packet)
{
    dnet_emu_port_t *port = via->hosts;
    unsigned wid = (unsigned) DNET_GET(packet->header[0], PK_DWID);
    dnet_emu_connection_t *c;

    if (!dnet_emu_far_of(port, dlid, wid))
        return dnet_emu_swif_shm.send(via, dlid, packet);
    if (!dnet_emu_guest_is_met(port, dnet_emu_guest_of(dlid)))
        return DNET_EMU_UNREACHABLE;
    c = dnet_emu_connection_of(port, dlid, wid);
    return c ? send_far(port, c, packet) : DNET_EMU_REFUSED;
}

/* ---- receiving, and what waits to leave ---- */

static void sent(void *arg, dnet_emu_plug_op_t *op, const char *why)
{
    if (op->reads)
        dnet_emu_read_sent(arg, op, why);
    else
        dnet_emu_out_sent(arg, op, why);
}

static const dnet_emu_plug_events_t events = {
    .arrived = dnet_emu_in_arrived, .sent = sent, .lost = dnet_emu_out_lost};

static unsigned hosts_poll(dnet_emu_nic_t *via, unsigned budget)
{
    dnet_emu_port_t *port = via->hosts;
    unsigned n;

    port->now_ns = dnet_clock_recent_ns(&port->clock);
    port->budget = budget;
    n = port->plug->poll(port->end, &events, port);
    if (port->due)
        dnet_emu_out_push_due(port);
    if (port->reads_due)
        dnet_emu_reads_go_on(port);
    if (port->now_ns >= port->timers_ns) {
        dnet_emu_connection_run_timers(port);
        dnet_emu_guests_look(port);
    }
    return n;
}

static void hosts_gather(dnet_emu_nic_t *via, uint32_t bytes)
{
    dnet_emu_port_t *port = via->hosts;

    port->gathers = bytes;
    if (!bytes && port->due)
        dnet_emu_out_push_due(port);
}

static bool hosts_arm(dnet_emu_nic_t *via)
{
    dnet_emu_port_t *port = via->hosts;

    return !port->due && !port->reads_due && port->alive && port->plug->may_wait(port->end) &&
           dnet_emu_alive_arm(port->alive);
}

/* ---- is the peer still there? ---- */

static void hear_answers(dnet_emu_port_t *port)
{
    uint32_t i;
    bool gone;

    while (dnet_emu_alive_answer(port->alive, &i, &gone)) {
        const dnet_emu_far_t *f =
            dnet_emu_far_of(port, dnet_clid_to_lid((uint16_t) (i >> 1)), i & 1);

        if (!f || !f->connection)
            continue;
        f->connection->asked_ns = 0;
        if (gone)
            dnet_emu_connection_lose(f->connection, f->connection->its_lid
                                                        ? "has ended without leaving its job"
                                                        : "has ended without leaving the job");
    }
}

static void ask(dnet_emu_port_t *port, const dnet_emu_far_t *f, dnet_emu_connection_t *c)
{
    uint64_t now = dnet_clock_ns();
    const dnet_emu_port_address_t *at;
    struct sockaddr_storage ip;

    if (port->alive)
        hear_answers(port);
    else if (now >= c->ask_next_ns && port->plug->ask(port->end, c->peer))
        c->asked_ns = 0;
    if (c->asked_ns && port->plug->hears && port->plug->hears(port->end, c->peer))
        c->asked_ns = 0;
    if (c->asked_ns && now >= c->ask_next_ns + AWAY_NS)
        c->asked_ns = 0; /* one answer may have been lost: that says nothing */
    if (c->asked_ns && now - c->asked_ns >= port->wait_s * UINT64_C(1000000000)) {
        char why[sizeof c->why];

        snprintf(why, sizeof why,
                 "has not been heard of for %" PRIu32 " s: its host or the way there is down",
                 port->wait_s);
        dnet_emu_connection_lose(c, why);
    }
    if (c->why[0] || now < c->ask_next_ns)
        return;
    c->ask_next_ns = now + ASK_EVERY_NS;
    if (c->asked_ns == 0)
        c->asked_ns = now;
    for (unsigned r = 0; port->alive && r < DNET_RAILS_MAX && (at = dnet_emu_far_at(f, r)); r++)
        if (port->plug->ip(at, &ip))
            dnet_emu_alive_ask(port->alive, r, &ip, at, dnet_hold_index(c->lid, c->wid));
}

static bool hosts_lost(dnet_emu_nic_t *via, uint16_t lid, unsigned wid)
{
    dnet_emu_port_t *port = via->hosts;
    const dnet_emu_far_t *f = dnet_emu_far_of(port, lid, wid);
    const char *why;

    if (!f)
        return dnet_emu_swif_shm.lost(via, lid, wid);
    if (!f->connection || dnet_emu_hosts_guest_left(via, dnet_emu_guest_of(lid)))
        return false;
    why = port->plug->why ? port->plug->why(port->end, f->connection->peer) : NULL;
    if (why)
        dnet_emu_connection_lose(f->connection, why);
    else if ((port->alive || port->plug->ask) && !f->connection->why[0])
        ask(port, f, f->connection);
    return f->connection->why[0];
}

const dnet_emu_swif_ops_t dnet_emu_swif_hosts = {.name = "hosts",
                                                 .send = hosts_send,
                                                 .lost = hosts_lost,
                                                 .poll = hosts_poll,
                                                 .gather = hosts_gather,
                                                 .arm = hosts_arm};

void dnet_emu_hosts_join(dnet_emu_nic_t *nic, unsigned wid, dnet_emu_port_t *port)
{
    port->nic = nic;
    port->wid = wid;
    nic->hosts = port;
    dnet_emu_guests_begin(port);
    if (port->alive)
        dnet_emu_alive_watch(port->alive, port->plug->wait_fd(port->end), nic->area[wid].state);
    dnet_emu_swif_choose(nic);
}

/* Both sides of a pair have the same number for it, so that peers of a process spread over its
 * rails. */
static bool keep_rails(const dnet_emu_port_t *port, dnet_emu_far_t *f,
                       const dnet_emu_port_address_t *address, uint32_t i)
{
    size_t bytes = DNET_RAILS_MAX * sizeof *f->rails;

    f->rails = malloc(bytes);
    if (!f->rails) {
        dnet_error("no memory for addresses of other hosts: %zu bytes needed", bytes);
        return false;
    }
    memcpy(f->rails, address, bytes);
    for (unsigned r = 1; r < DNET_RAILS_MAX; r++)
        if (address[r].bytes > sizeof address[r].at || address[r].plug != address->plug)
            f->rails[r].bytes = 0;
    f->rails[0].number = (uint16_t) (dnet_lid_to_clid(port->nic->lid) + port->wid +
                                     i / DNET_PROCESSES_PER_NIC + i % DNET_PROCESSES_PER_NIC);
    return true;
}

dnet_status_t dnet_emu_hosts_route(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid,
                                   const dnet_emu_port_address_t address[DNET_RAILS_MAX],
                                   const char *host)
{
    dnet_emu_port_t *port = nic->hosts;
    uint32_t i = dnet_hold_index(lid, wid);

    if (lid == 0 || lid > DNET_LID_UNICAST_LAST || dnet_clid_to_lid(dnet_lid_to_clid(lid)) != lid ||
        wid >= DNET_PROCESSES_PER_NIC || address->bytes == 0 ||
        address->bytes > sizeof address->at || address->plug != port->at->plug) {
        dnet_error("no way to WID %u of LID %#x on %s: it has no port of plug %s", wid, lid, host,
                   port->plug->name);
        return DNET_ERR_ARGUMENT;
    }
    if (i >= port->to_count) {
        uint32_t count = (i | 63) + 1;
        dnet_emu_far_t *to = realloc(port->to, count * sizeof *to);

        if (!to) {
            dnet_error("no memory for addresses of other hosts: %zu bytes needed",
                       count * sizeof *to);
            return DNET_ERR_NO_MEMORY;
        }
        memset(to + port->to_count, 0, (count - port->to_count) * sizeof *to);
        port->to = to;
        port->to_count = count;
    }
    free(port->to[i].rails);
    port->to[i] = (dnet_emu_far_t){.at = *address, .host = host};
    if (port->at[1].bytes && !keep_rails(port, &port->to[i], address, i))
        return DNET_ERR_NO_MEMORY;
    port->stats.routes++;
    return DNET_OK;
}

bool dnet_emu_hosts_busy(const dnet_emu_nic_t *nic)
{
    const dnet_emu_port_t *port = nic->hosts;

    return port && (port->unacked || port->leaving || port->due);
}

const char *dnet_emu_hosts_why(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid)
{
    const dnet_emu_far_t *f = nic->hosts ? dnet_emu_far_of(nic->hosts, lid, wid) : NULL;

    return f && f->connection && f->connection->why[0] ? f->connection->why : NULL;
}

uint32_t dnet_emu_hosts_unacked(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid,
                                uint64_t *since_ns_p)
{
    const dnet_emu_far_t *f = nic->hosts ? dnet_emu_far_of(nic->hosts, lid, wid) : NULL;
    const dnet_emu_connection_t *c = f ? f->connection : NULL;

    if (!c)
        return 0;
    *since_ns_p = c->unacked_since_ns;
    return c->tx.next_seq - c->tx.una_seq;
}

void dnet_emu_hosts_stats(const dnet_emu_nic_t *nic, dnet_emu_hosts_stats_t *stats_p)
{
    *stats_p = nic->hosts ? nic->hosts->stats : (dnet_emu_hosts_stats_t){.plug = NULL};
    if (nic->hosts && nic->hosts->plug->count)
        nic->hosts->plug->count(nic->hosts->end, stats_p);
}

int dnet_emu_hosts_rail(const dnet_emu_nic_t *nic, uint16_t lid, unsigned wid)
{
    const dnet_emu_port_t *port = nic->hosts;
    const dnet_emu_far_t *f = port ? dnet_emu_far_of(port, lid, wid) : NULL;

    return f && f->connection && port->at[1].bytes ? (int) dnet_emu_rails_now(f->connection->peer)
                                                   : -1;
}

void dnet_emu_hosts_leave(dnet_emu_nic_t *nic)
{
    if (!nic->hosts)
        return;
    dnet_emu_port_close(nic->hosts);
    nic->hosts = NULL;
    dnet_emu_swif_choose(nic);
}
