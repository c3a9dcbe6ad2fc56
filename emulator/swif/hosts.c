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
#include <sys/random.h>

#include "common/clock.h"
#include "common/log.h"
#include "emulator/receive_controller.h"
#include "emulator/swif/alive.h"
#include "emulator/swif/plug.h"
#include "emulator/swif/swif.h"
#include "emulator/write_unit.h"
#include "srq_flowctl/connection.h"

#define WIRE_VERSION 1u
#define POOL 65536u            /* buffers; room shows when a packet is delivered */
#define WINDOW 64u             /* packets under way to one process */
#define ACKS_WAIT (WINDOW / 4) /* so many are acknowledged together, */
#define ACK_WAIT_NS 50000u     /* or after so long, or with data that go there */
#define SILENT_NS 1000000000u  /* a packet under way, or a stop, is asked after */
#define FAILED_NS 50000000u    /* what could not be sent is sent again */
#define TIMERS_EVERY_NS 10000000u
#define ASK_EVERY_NS 250000000u /* whether a peer lives */

/* What a message is. */
enum { WIRE_DATA, WIRE_WORDS };

enum {                /* wire_head_t.flags */
       WIRE_LAST = 1, /* nothing else waits to be sent */
       WIRE_ACK = 2,  /* `ack` counts */
       WIRE_HOLD = 4, /* the receiver of the other direction holds messages back */
};

/* Head of a message, little endian; then header lines and data of a packet, or control words. */
typedef struct {
    uint32_t key;     /* +0x00 of the port it goes to */
    uint8_t version;  /* +0x04 */
    uint8_t kind;     /* +0x05 */
    uint8_t flags;    /* +0x06 */
    uint8_t count;    /* +0x07 header lines, or words */
    uint16_t slid;    /* +0x08 */
    uint8_t swid;     /* +0x0a */
    uint8_t reserved; /* +0x0b */
    uint16_t epoch;   /* +0x0c of the sender */
    uint16_t packets; /* +0x0e as in dnet_emu_packet_t */
    uint32_t seq;     /* +0x10 */
    uint32_t ack;     /* +0x14 last packet delivered of the other direction */
} wire_head_t;
_Static_assert(sizeof(wire_head_t) == 24, "head of a message");

#define WIRE_PACKET_BYTES (DNET_PLUG_BYTES - (uint32_t) sizeof(wire_head_t) - 32u)
_Static_assert(WIRE_PACKET_BYTES >= DNET_PACKET_MAX_BYTES, "a message holds a packet");

typedef struct connection connection_t;

/* A message that may still be needed. */
typedef struct kept {
    dnet_emu_plug_op_t op; /* first: the plug knows the message by it */
    struct kept *next;     /* of its connection */
    connection_t *to;      /* NULL: not needed once it has left */
    bool under_way;        /* the plug has it */
    bool again;            /* it had it before */
    uint32_t bytes;
    _Alignas(8) wire_head_t head;
    uint8_t data[];
} kept_t;

/* Both directions between this process and one other. */
struct connection {
    connection_t *next;     /* of all */
    connection_t *due_next; /* of those that have something to say */
    uint64_t peer;          /* as the plug knows it */
    uint16_t lid;
    uint8_t wid;
    bool is_due;
    bool wants; /* the process waits for the window */
    bool held;  /* the receiver holds messages back */
    bool hold_unsaid;
    dnet_fc_tx_t tx;
    dnet_fc_rx_t rx;
    kept_t *first, *last; /* not acknowledged */
    kept_t *post;         /* the first that the plug has not got; NULL: it has all */
    uint32_t acks;        /* packets delivered since an acknowledgement was sent */
    uint32_t words;       /* a bit for each type of control word that is to be sent, */
    dnet_fc_control_t word[DNET_FC_CONTROL_NAK + 1]; /* by type */
    uint64_t acks_since_ns;
    uint64_t pause_until_ns; /* the network has refused a message */
    uint64_t asked_ns;       /* whether it lives: the first question without an answer; 0: none */
    uint64_t ask_next_ns;
    char why[128]; /* it is lost */
};

/* A process of another host. */
typedef struct {
    dnet_emu_port_address_t at;
    const char *host;
    connection_t *connection; /* NULL: no packet so far */
} far_t;

struct dnet_emu_port {
    const dnet_emu_plug_ops_t *plug;
    dnet_emu_plug_end_t *end;
    dnet_emu_alive_t *alive; /* NULL: the network's addresses are not IP's */
    dnet_emu_nic_t *nic;     /* NULL: not joined */
    unsigned wid;
    uint32_t wait_s;
    dnet_emu_port_address_t at;
    dnet_fc_tx_env_t env;
    dnet_fc_pool_t pool;
    far_t *to; /* by CLID and WID */
    uint32_t to_count;
    connection_t *connections, *due;
    uint64_t now_ns, timers_ns;
    uint32_t leaving; /* messages that the plug has */
    uint32_t unacked; /* packets */
    dnet_emu_hosts_stats_t stats;
};

/* ---- peers ---- */

static far_t *far_of(const dnet_emu_port_t *port, uint16_t lid, unsigned wid)
{
    uint32_t i = dnet_hold_index(lid, wid);
    bool known = i < port->to_count && dnet_clid_to_lid(dnet_lid_to_clid(lid)) == lid &&
                 wid < DNET_PROCESSES_PER_NIC && port->to[i].at.bytes;

    return known ? &port->to[i] : NULL;
}

/* The connection has something to say. */
static void is_due(dnet_emu_port_t *port, connection_t *c)
{
    if (c->is_due)
        return;
    c->is_due = true;
    c->due_next = port->due;
    port->due = c;
}

DNET_COLD static connection_t *connect_to(dnet_emu_port_t *port, far_t *f, uint16_t lid,
                                          unsigned wid)
{
    connection_t *c = calloc(1, sizeof *c);

    if (!c) {
        dnet_error("no memory for a connection to %s: %zu bytes needed", f->host, sizeof *c);
        return NULL;
    }
    if (!port->plug->reach(port->end, &f->at, &c->peer)) {
        free(c);
        return NULL;
    }
    c->lid = lid;
    c->wid = (uint8_t) wid;
    dnet_fc_tx_open(&c->tx, port->at.epoch, 0, 0);
    dnet_fc_rx_open(&c->rx, f->at.epoch, 0);
    c->next = port->connections;
    port->connections = c;
    port->stats.connected++;
    f->connection = c;
    return c;
}

static connection_t *connection_of(dnet_emu_port_t *port, uint16_t lid, unsigned wid)
{
    far_t *f = far_of(port, lid, wid);

    if (!f)
        return NULL;
    return f->connection ? f->connection : connect_to(port, f, lid, wid);
}

/* ---- messages out ---- */

static kept_t *keep(const dnet_emu_port_t *port, const connection_t *c, uint32_t bytes)
{
    const far_t *f = &port->to[dnet_hold_index(c->lid, c->wid)];
    kept_t *k = malloc(sizeof *k + ((bytes + 7) & ~7u));

    if (!k) {
        dnet_error("no memory for a packet to %s: %zu bytes needed", f->host, sizeof *k + bytes);
        return NULL;
    }
    *k = (kept_t){.bytes = (uint32_t) sizeof k->head + bytes,
                  .head = {.key = f->at.key,
                           .version = WIRE_VERSION,
                           .slid = port->nic->lid,
                           .swid = (uint8_t) port->wid,
                           .epoch = port->at.epoch}};
    return k;
}

/* What each message says beside its content. */
static void fill_in(dnet_emu_port_t *port, connection_t *c, wire_head_t *h)
{
    h->flags = h->kind == WIRE_DATA && h->seq + 1 == c->tx.next_seq ? WIRE_LAST : 0;
    if (c->acks) {
        h->flags |= WIRE_ACK;
        h->ack = c->rx.exp_seq - 1;
    }
    if (dnet_emu_rc_holds(port->nic, port->wid, c->lid, c->wid))
        h->flags |= WIRE_HOLD;
}

/* Hand a message to the plug.  @return false: not now */
static bool hand_over(dnet_emu_port_t *port, connection_t *c, kept_t *k)
{
    fill_in(port, c, &k->head);
    if (port->plug->send(port->end, c->peer, &k->head, k->bytes, &k->op) != DNET_OK)
        return false;
    port->stats.again += k->again;
    k->under_way = k->again = true;
    port->leaving++;
    port->stats.sent++;
    if (k->head.flags & WIRE_ACK)
        c->acks = 0;
    c->hold_unsaid = false;
    return true;
}

/* @return false: not now */
static bool say_words(dnet_emu_port_t *port, connection_t *c)
{
    uint32_t count = (uint32_t) __builtin_popcount(c->words);
    uint32_t bytes = count * (uint32_t) sizeof(dnet_fc_control_t);
    kept_t *k = keep(port, c, bytes);
    uint8_t *at;

    if (!k)
        return false;
    k->head.kind = WIRE_WORDS;
    k->head.count = (uint8_t) count;
    at = k->data;
    for (unsigned type = 0; type <= DNET_FC_CONTROL_NAK; type++)
        if (c->words >> type & 1) {
            memcpy(at, &c->word[type], sizeof c->word[type]);
            at += sizeof c->word[type];
        }
    if (!hand_over(port, c, k)) {
        free(k);
        return false;
    }
    c->words = 0;
    return true;
}

/* Let everything go that can.  @return true: there is nothing left to say */
static bool push(dnet_emu_port_t *port, connection_t *c)
{
    if (c->why[0])
        return true;
    if (c->pause_until_ns > port->now_ns)
        return false;
    while (c->post && dnet_fc_before(c->post->head.seq, c->tx.send_seq)) {
        /* A message that the plug still has from before cannot be handed over once more. */
        if (c->post->under_way || !hand_over(port, c, c->post))
            return false;
        c->post = c->post->next;
    }
    if ((c->words || c->hold_unsaid || c->acks >= ACKS_WAIT ||
         (c->acks && port->now_ns - c->acks_since_ns >= ACK_WAIT_NS)) &&
        !say_words(port, c))
        return false;
    return c->acks == 0;
}

static void push_due(dnet_emu_port_t *port)
{
    connection_t **link = &port->due;

    while (*link) {
        connection_t *c = *link;

        if (push(port, c)) {
            c->is_due = false;
            *link = c->due_next;
        } else {
            link = &c->due_next;
        }
    }
}

/* ---- the connection machine's wishes ---- */

static connection_t *of_tx(dnet_fc_tx_t *tx)
{
    return (connection_t *) (void *) ((uint8_t *) tx - offsetof(connection_t, tx));
}

static connection_t *of_rx(dnet_fc_rx_t *rx)
{
    return (connection_t *) (void *) ((uint8_t *) rx - offsetof(connection_t, rx));
}

/* push() sends all before tx.send_seq; here it is only said from where on, if it goes back. */
static void tx_transmit(void *arg, dnet_fc_tx_t *tx, const dnet_fc_data_t *data)
{
    dnet_emu_port_t *port = arg;
    connection_t *c = of_tx(tx);

    if (!c->post || dnet_fc_before(data->seq, c->post->head.seq)) {
        c->post = c->first;
        while (c->post && c->post->head.seq != data->seq)
            c->post = c->post->next;
    }
    is_due(port, c);
}

static void tx_control(void *arg, dnet_fc_tx_t *tx, const dnet_fc_control_t *word)
{
    connection_t *c = of_tx(tx);

    c->word[word->type] = *word;
    c->words |= 1u << word->type;
    is_due(arg, c);
}

static void release(dnet_emu_port_t *port, kept_t *k)
{
    port->unacked--;
    k->to = NULL;
    if (!k->under_way)
        free(k);
}

static void tx_acked(void *arg, dnet_fc_tx_t *tx, uint32_t una_seq)
{
    connection_t *c = of_tx(tx);

    while (c->first && dnet_fc_before(c->first->head.seq, una_seq)) {
        kept_t *k = c->first;

        c->first = k->next;
        if (c->post == k)
            c->post = k->next;
        release(arg, k);
    }
    if (!c->first)
        c->last = NULL;
}

/* The peer says that it knows this connection no more. */
static void tx_dead(void *arg, dnet_fc_tx_t *tx)
{
    (void) arg;
    snprintf(of_tx(tx)->why, sizeof of_tx(tx)->why, "has left the job");
}

static const dnet_fc_tx_ops_t tx_ops = {
    .transmit = tx_transmit, .control = tx_control, .acked = tx_acked, .dead = tx_dead};

static void rx_control(void *arg, dnet_fc_rx_t *rx, const dnet_fc_control_t *word)
{
    dnet_emu_port_t *port = arg;
    connection_t *c = of_rx(rx);

    if (word->type == DNET_FC_CONTROL_ACK) {
        if (c->acks++ == 0)
            c->acks_since_ns = port->now_ns;
    } else {
        c->word[word->type] = *word;
        c->words |= 1u << word->type;
    }
    is_due(port, c);
}

/* The Receive Controller has put the sender into the flow ring. */
static void rx_note_stop(void *arg, dnet_fc_rx_t *rx)
{
    dnet_emu_port_t *port = arg;

    (void) rx;
    port->stats.stops++;
}

static const dnet_fc_rx_ops_t rx_ops = {.control = rx_control, .note_stop = rx_note_stop};

/* ---- sending ---- */

static bool is_open(const connection_t *c, uint32_t window)
{
    return c->tx.state == DNET_FC_TX_RUN && c->tx.next_seq - c->tx.una_seq < window;
}

/* [X.6] The process may go on: a RESEND entry, as if the receiver had sent one. */
static void resume(dnet_emu_port_t *port, connection_t *c)
{
    dnet_emu_packet_t p = {
        .header = {DNET_PUT(DNET_PRIM_RESEND, PK_TYPE) |
                       DNET_PUT(dnet_emu_pgid(port->nic, port->wid), PK_PGID) |
                       DNET_PUT(port->wid, PK_DWID) | DNET_PUT(c->wid, PK_SWID) |
                       DNET_PUT(port->nic->lid, PK_DLID),
                   0},
        .header_lines = 2,
        .packets = 1,
        .slid = c->lid,
    };

    c->wants = false;
    (void) dnet_emu_rc_receive(port->nic, &p);
}

/* Keep a part of a packet or burst, and number it. */
static bool put_part(dnet_emu_port_t *port, connection_t *c, const dnet_emu_packet_t *p,
                     uint32_t from, uint32_t bytes, uint32_t each)
{
    uint32_t lines = p->header_lines * 8;
    kept_t *k = keep(port, c, lines + bytes);
    uint64_t h[4];

    if (!k)
        return false;
    dnet_emu_burst_header(port->nic, p, from, bytes, bytes < each ? bytes : each, h);
    memcpy(k->data, h, lines);
    if (bytes && !dnet_emu_payload_copy(p, from, k->data + lines, bytes)) {
        free(k);
        return false;
    }
    k->to = c;
    k->head.kind = WIRE_DATA;
    k->head.count = (uint8_t) p->header_lines;
    k->head.packets = (uint16_t) (bytes <= each ? 1 : (bytes + each - 1) / each);
    k->head.seq = c->tx.next_seq;
    if (c->last)
        c->last->next = k;
    else
        c->first = k;
    c->last = k;
    if (!c->post)
        c->post = k;
    port->unacked++;
    return dnet_fc_tx_send(&c->tx, &port->env, port->now_ns) == DNET_OK;
}

static dnet_emu_result_t put_packet(dnet_emu_port_t *port, connection_t *c,
                                    const dnet_emu_packet_t *p)
{
    uint32_t each = p->data_bytes, part = p->data_bytes, from = 0;

    if (p->packets > 1) {
        each = (uint32_t) DNET_GET(p->header[0], PK_SIZE) - 8 * p->header_lines;
        part = WIRE_PACKET_BYTES / each * each;
    }
    port->now_ns = dnet_clock_ns();
    do {
        uint32_t left = p->data_bytes - from, n = left < part ? left : part;

        if (!put_part(port, c, p, from, n, each))
            return DNET_EMU_REFUSED;
        from += n;
    } while (from < p->data_bytes);
    if (!push(port, c))
        is_due(port, c);
    return DNET_EMU_LATER;
}

/* [X.6] A RESEND is the grant of this process, or, with MORE, its wish for one. */
static dnet_emu_result_t send_resend(dnet_emu_port_t *port, connection_t *c,
                                     const dnet_emu_packet_t *p)
{
    unsigned credits = p->header[1] & 0xff;

    if (DNET_GET(p->header[1], RS_MORE)) {
        c->wants = true;
        if (is_open(c, WINDOW))
            resume(port, c);
        return DNET_EMU_LATER;
    }
    port->pool.free = POOL;
    (void) dnet_fc_rx_grant(&c->rx, &port->pool, credits ? credits : 1);
    return DNET_EMU_LATER;
}

/* A packet to a process of another host. */
DNET_COLD static dnet_emu_result_t send_far(dnet_emu_port_t *port, connection_t *c,
                                            const dnet_emu_packet_t *p)
{
    unsigned family = (unsigned) DNET_GET(p->header[0], PK_TYPE) >> 2;

    if (c->why[0])
        return DNET_EMU_UNREACHABLE;
    switch (family) {
        case DNET_PRIM_IPUSH >> 2:
            if (c->held && dnet_emu_rc_may_hold(p))
                return DNET_EMU_HELD;
            if (!is_open(c, WINDOW)) {
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
    connection_t *c;

    if (!far_of(port, dlid, wid))
        return dnet_emu_swif_shm.send(via, dlid, packet);
    c = connection_of(port, dlid, wid);
    return c ? send_far(port, c, packet) : DNET_EMU_REFUSED;
}

/* ---- receiving ---- */

/* The packet in a message.  @return false: malformed */
static bool packet_of(const dnet_emu_port_t *port, const wire_head_t *h, uint8_t *data,
                      uint32_t bytes, dnet_emu_packet_t *p)
{
    unsigned family;
    uint32_t lines = h->count * 8u;

    if (h->count < 2 || h->count > 4 || bytes < lines || h->packets == 0)
        return false;
    *p = (dnet_emu_packet_t){.header_lines = h->count,
                             .data_bytes = bytes - lines,
                             .packets = h->packets,
                             .slid = h->slid,
                             .whole_lines = true,
                             .spans = 1};
    memcpy(p->header, data, lines);
    p->span[0] = (dnet_emu_span_t){.at = data + lines, .bytes = p->data_bytes};
    family = (unsigned) DNET_GET(p->header[0], PK_TYPE) >> 2;
    return (family == DNET_PRIM_IPUSH >> 2 || family == DNET_PRIM_RVS >> 2) &&
           DNET_GET(p->header[0], PK_DWID) == port->wid &&
           DNET_GET(p->header[0], PK_SWID) == h->swid;
}

/* [X.6] The sender did not know yet that it is held back: it is told, and this one is let in. */
static void let_in(dnet_emu_port_t *port, connection_t *c, dnet_emu_packet_t *p, uint8_t *data)
{
    uint64_t envelope;

    if (DNET_GET(p->header[0], PK_TYPE) >> 2 != DNET_PRIM_IPUSH >> 2 ||
        p->data_bytes < sizeof envelope || !dnet_emu_rc_may_hold(p) ||
        !dnet_emu_rc_holds(port->nic, port->wid, c->lid, c->wid))
        return;
    memcpy(&envelope, data, sizeof envelope);
    envelope |= DNET_ENVELOPE_PASS;
    memcpy(data, &envelope, sizeof envelope);
    c->hold_unsaid = true;
    is_due(port, c);
}

static void lose(connection_t *c, const char *why)
{
    if (!c->why[0])
        snprintf(c->why, sizeof c->why, "%s", why);
}

static void data_arrived(dnet_emu_port_t *port, connection_t *c, const wire_head_t *h,
                         uint8_t *data, uint32_t bytes)
{
    dnet_fc_data_t d = {.epoch = h->epoch, .last = h->flags & WIRE_LAST, .seq = h->seq};
    dnet_emu_packet_t p;

    if (!packet_of(port, h, data, bytes, &p)) {
        dnet_emu_event(port->nic, DNET_EMU_DROP_STATE);
        return;
    }
    port->pool.free = POOL;
    if (dnet_fc_rx_expects(&c->rx, &d)) {
        let_in(port, c, &p, data + p.header_lines * 8);
        switch (dnet_emu_rc_receive(port->nic, &p)) {
            case DNET_EMU_STOPPED:
            case DNET_EMU_STALLED:
            case DNET_EMU_HELD:
                dnet_fc_rx_refused(&c->rx, &port->pool);
                return;
            case DNET_EMU_UNREACHABLE:
            case DNET_EMU_REFUSED:
            case DNET_EMU_NO_WAY:
                lose(c, "has sent a packet that this process has no memory for");
                return;
            case DNET_EMU_DELIVERED:
            case DNET_EMU_DROPPED:
            case DNET_EMU_SERVE:
            case DNET_EMU_ANSWERED:
            case DNET_EMU_LATER:
                break;
        }
    }
    (void) dnet_fc_rx_data(&c->rx, &port->pool, &d);
}

static void words_arrived(dnet_emu_port_t *port, connection_t *c, const wire_head_t *h,
                          const uint8_t *data, uint32_t bytes)
{
    dnet_fc_control_t word;

    port->pool.free = POOL;
    for (uint32_t i = 0; i < h->count && (i + 1) * sizeof word <= bytes; i++) {
        memcpy(&word, data + i * sizeof word, sizeof word);
        if (word.type == DNET_FC_CONTROL_PROBE || word.type == DNET_FC_CONTROL_CLOSE)
            dnet_fc_rx_control(&c->rx, &port->pool, &word);
        else
            dnet_fc_tx_control(&c->tx, &port->env, &word, port->now_ns);
    }
}

static void arrived(void *arg, uint8_t *data, uint32_t bytes)
{
    dnet_emu_port_t *port = arg;
    wire_head_t h;
    far_t *f;
    connection_t *c;

    if (bytes < sizeof h)
        return;
    memcpy(&h, data, sizeof h);
    f = far_of(port, h.slid, h.swid);
    if (h.key != port->at.key || h.version != WIRE_VERSION || !f || f->at.epoch != h.epoch)
        return; /* of somebody else */
    c = connection_of(port, h.slid, h.swid);
    if (!c || c->why[0])
        return;
    port->stats.received++;
    c->asked_ns = 0;
    c->held = h.flags & WIRE_HOLD;
    if (h.flags & WIRE_ACK) {
        dnet_fc_control_t ack = {
            .type = DNET_FC_CONTROL_ACK, .epoch = port->at.epoch, .seq = h.ack};

        dnet_fc_tx_control(&c->tx, &port->env, &ack, port->now_ns);
    }
    if (h.kind == WIRE_DATA)
        data_arrived(port, c, &h, data + sizeof h, bytes - (uint32_t) sizeof h);
    else if (h.kind == WIRE_WORDS)
        words_arrived(port, c, &h, data + sizeof h, bytes - (uint32_t) sizeof h);
    if (c->wants && is_open(c, WINDOW / 2))
        resume(port, c);
}

/* A packet that could not leave, and all behind it, go again in a while. */
static void go_back(dnet_emu_port_t *port, connection_t *c, const char *why)
{
    dnet_debug("LID %#x WID %u: a message cannot leave: %s", c->lid, c->wid, why);
    c->pause_until_ns = port->now_ns + FAILED_NS;
    c->post = c->first;
    is_due(port, c);
}

static void sent(void *arg, dnet_emu_plug_op_t *op, const char *why)
{
    dnet_emu_port_t *port = arg;
    kept_t *k = (kept_t *) (void *) op;

    k->under_way = false;
    port->leaving--;
    if (why && k->to)
        go_back(port, k->to, why);
    if (!k->to)
        free(k);
}

static const dnet_emu_plug_events_t events = {.arrived = arrived, .sent = sent};

/* ---- time ---- */

static void run_timers(dnet_emu_port_t *port)
{
    port->timers_ns = port->now_ns + TIMERS_EVERY_NS;
    for (connection_t *c = port->connections; c; c = c->next)
        if (!c->why[0] && c->tx.deadline_ns <= port->now_ns)
            dnet_fc_tx_timer(&c->tx, &port->env, port->now_ns);
}

static unsigned hosts_poll(dnet_emu_nic_t *via, unsigned budget)
{
    dnet_emu_port_t *port = via->hosts;
    unsigned n;

    port->now_ns = dnet_clock_ns();
    n = port->plug->poll(port->end, budget, &events, port);
    if (port->due)
        push_due(port);
    if (port->now_ns >= port->timers_ns)
        run_timers(port);
    return n;
}

static bool hosts_arm(dnet_emu_nic_t *via)
{
    dnet_emu_port_t *port = via->hosts;

    return !port->due && port->alive && port->plug->may_wait(port->end) &&
           dnet_emu_alive_arm(port->alive);
}

/* ---- is the peer still there? ---- */

static void hear_answers(dnet_emu_port_t *port)
{
    uint32_t i;
    bool gone;

    while (dnet_emu_alive_answer(port->alive, &i, &gone)) {
        connection_t *c = i < port->to_count ? port->to[i].connection : NULL;

        if (!c)
            continue;
        c->asked_ns = 0;
        if (gone)
            lose(c, "has ended without leaving the job");
    }
}

static void ask(dnet_emu_port_t *port, const far_t *f, connection_t *c)
{
    uint64_t now = dnet_clock_ns();

    hear_answers(port);
    if (c->asked_ns && now - c->asked_ns >= port->wait_s * UINT64_C(1000000000)) {
        char why[sizeof c->why];

        snprintf(why, sizeof why,
                 "has not been heard of for %" PRIu32 " s: its host or the way there is down",
                 port->wait_s);
        lose(c, why);
    }
    if (c->why[0] || now < c->ask_next_ns)
        return;
    c->ask_next_ns = now + ASK_EVERY_NS;
    if (c->asked_ns == 0)
        c->asked_ns = now;
    dnet_emu_alive_ask(port->alive, &f->at, dnet_hold_index(c->lid, c->wid));
}

static bool hosts_lost(dnet_emu_nic_t *via, uint16_t lid, unsigned wid)
{
    dnet_emu_port_t *port = via->hosts;
    const far_t *f = far_of(port, lid, wid);

    if (!f)
        return dnet_emu_swif_shm.lost(via, lid, wid);
    if (!f->connection)
        return false;
    if (port->alive && !f->connection->why[0])
        ask(port, f, f->connection);
    return f->connection->why[0];
}

const dnet_emu_swif_ops_t dnet_emu_swif_hosts = {
    .name = "hosts", .send = hosts_send, .lost = hosts_lost, .poll = hosts_poll, .arm = hosts_arm};

/* ---- ports ---- */

static const struct {
    const dnet_emu_plug_ops_t *ops;
    const char *title;
} plugs[] = {
#define DNET_PLUG(name, title) {&dnet_emu_plug_##name, title},
#include "emulator/swif/plugs.def"
#undef DNET_PLUG
};

void dnet_emu_plugs(void (*visit)(void *arg, const char *name, const char *title, bool found,
                                  const char *text),
                    void *arg)
{
    char text[256];

    for (unsigned i = 0; i < sizeof plugs / sizeof *plugs; i++) {
        bool found = plugs[i].ops->found(text, sizeof text);

        visit(arg, plugs[i].ops->name, plugs[i].title, found, text);
    }
}

/* The first plug that this library has. */
static bool choose_plug(dnet_emu_port_t *port)
{
    for (unsigned i = 0; i < sizeof plugs / sizeof *plugs; i++)
        if (plugs[i].ops->open) {
            port->plug = plugs[i].ops;
            port->at.plug = (uint8_t) i;
            return true;
        }
    dnet_error(
        "ranks are on several hosts, and this library has no plug to a network: configure it "
        "where libfabric's headers are (Debian: libfabric-dev)");
    return false;
}

dnet_status_t dnet_emu_port_open(const dnet_emu_port_config_t *config, dnet_emu_port_t **port_p)
{
    dnet_emu_port_t *port = calloc(1, sizeof *port);
    dnet_status_t status = DNET_NOT_FOUND;

    if (!port) {
        dnet_error("no memory for a port: %zu bytes needed", sizeof *port);
        return DNET_ERR_NO_MEMORY;
    }
    if (getrandom(&port->at.key, sizeof port->at.key, 0) != sizeof port->at.key ||
        getrandom(&port->at.epoch, sizeof port->at.epoch, 0) != sizeof port->at.epoch) {
        dnet_error("no random number for a port: %m");
        status = DNET_ERR_SYSTEM;
    } else if (choose_plug(port)) {
        status = port->plug->open(config, &port->at, &port->end);
    }
    if (status != DNET_OK) {
        free(port);
        return status;
    }
    port->wait_s = config->wait_s;
    port->alive = dnet_emu_alive_start(&port->at);
    port->env = dnet_fc_tx_defaults(&tx_ops, port);
    port->env.window = WINDOW;
    port->env.ack_ns = port->env.stop_ns = SILENT_NS;
    /* A process that computes answers no PROBE; alive.c says whether it is there. */
    port->env.repeats = UINT32_MAX;
    port->env.random = port->at.key;
    port->pool = (dnet_fc_pool_t){.ops = &rx_ops, .arg = port};
    port->stats.plug = port->plug->name;
    port->stats.network = port->plug->network(port->end);
    port->stats.connection_bytes = sizeof(connection_t);
    *port_p = port;
    return DNET_OK;
}

void dnet_emu_port_address(const dnet_emu_port_t *port, dnet_emu_port_address_t *address_p)
{
    *address_p = port->at;
}

void dnet_emu_port_close(dnet_emu_port_t *port)
{
    if (port->alive)
        dnet_emu_alive_end(port->alive);
    port->plug->close(port->end); /* it has no message any more */
    while (port->connections) {
        connection_t *c = port->connections;

        port->connections = c->next;
        while (c->first) {
            kept_t *k = c->first;

            c->first = k->next;
            free(k);
        }
        free(c);
    }
    free(port->to);
    free(port);
}

void dnet_emu_hosts_join(dnet_emu_nic_t *nic, unsigned wid, dnet_emu_port_t *port)
{
    port->nic = nic;
    port->wid = wid;
    nic->hosts = port;
    if (port->alive)
        dnet_emu_alive_watch(port->alive, port->plug->wait_fd(port->end), nic->area[wid].state);
    dnet_emu_swif_choose(nic);
}

dnet_status_t dnet_emu_hosts_route(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid,
                                   const dnet_emu_port_address_t *address, const char *host)
{
    dnet_emu_port_t *port = nic->hosts;
    uint32_t i = dnet_hold_index(lid, wid);

    if (lid == 0 || lid > DNET_LID_UNICAST_LAST || dnet_clid_to_lid(dnet_lid_to_clid(lid)) != lid ||
        wid >= DNET_PROCESSES_PER_NIC || address->bytes == 0 ||
        address->bytes > sizeof address->at || address->plug != port->at.plug) {
        dnet_error("no way to WID %u of LID %#x on %s: it has no port of plug %s", wid, lid, host,
                   port->plug->name);
        return DNET_ERR_ARGUMENT;
    }
    if (i >= port->to_count) {
        uint32_t count = (i | 63) + 1;
        far_t *to = realloc(port->to, count * sizeof *to);

        if (!to) {
            dnet_error("no memory for addresses of other hosts: %zu bytes needed",
                       count * sizeof *to);
            return DNET_ERR_NO_MEMORY;
        }
        memset(to + port->to_count, 0, (count - port->to_count) * sizeof *to);
        port->to = to;
        port->to_count = count;
    }
    port->to[i] = (far_t){.at = *address, .host = host};
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
    const far_t *f = nic->hosts ? far_of(nic->hosts, lid, wid) : NULL;

    return f && f->connection && f->connection->why[0] ? f->connection->why : NULL;
}

void dnet_emu_hosts_stats(const dnet_emu_nic_t *nic, dnet_emu_hosts_stats_t *stats_p)
{
    *stats_p = nic->hosts ? nic->hosts->stats : (dnet_emu_hosts_stats_t){.plug = NULL};
}

void dnet_emu_hosts_leave(dnet_emu_nic_t *nic)
{
    if (!nic->hosts)
        return;
    dnet_emu_port_close(nic->hosts);
    nic->hosts = NULL;
    dnet_emu_swif_choose(nic);
}
