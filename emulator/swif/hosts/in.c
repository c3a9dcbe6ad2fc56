/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages in: packets to the Receive Controller, control words to the connection machine.
 */
#include "config.h"

#include "emulator/swif/hosts/connection.h"

#include "emulator/receive_controller.h"

/* The packet in a message.  @return false: malformed */
static bool packet_of(const dnet_emu_port_t *port, const dnet_emu_wire_head_t *h, uint8_t *data,
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
static void let_in(dnet_emu_port_t *port, dnet_emu_connection_t *c, dnet_emu_packet_t *p,
                   uint8_t *data)
{
    uint64_t envelope;

    if (DNET_GET(p->header[0], PK_TYPE) >> 2 != DNET_PRIM_IPUSH >> 2 ||
        p->data_bytes < sizeof envelope || !dnet_emu_rc_may_hold(p) ||
        !dnet_emu_rc_holds(port->nic, port->wid, c->lid, c->wid))
        return;
    memcpy(&envelope, data, sizeof envelope);
    envelope |= DNET_ENVELOPE_PASS;
    memcpy(data, &envelope, sizeof envelope);
    c->unsaid = true;
    dnet_emu_connection_due(port, c);
}
static void data_arrived(dnet_emu_port_t *port, dnet_emu_connection_t *c,
                         const dnet_emu_wire_head_t *h, uint8_t *data, uint32_t bytes)
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
                c->refused_bytes = p.data_bytes;
                dnet_fc_rx_refused(&c->rx, &port->pool);
                return;
            case DNET_EMU_UNREACHABLE:
            case DNET_EMU_REFUSED:
            case DNET_EMU_NO_WAY:
                dnet_emu_connection_lose(c,
                                         "has sent a packet that this process has no memory for");
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

static void words_arrived(dnet_emu_port_t *port, dnet_emu_connection_t *c,
                          const dnet_emu_wire_head_t *h, const uint8_t *data, uint32_t bytes)
{
    dnet_fc_control_t word;

    port->pool.free = POOL;
    for (uint32_t i = 0; i < h->count && (i + 1) * sizeof word <= bytes; i++) {
        memcpy(&word, data + i * sizeof word, sizeof word);
        if (word.type == DNET_FC_CONTROL_PROBE || word.type == DNET_FC_CONTROL_CLOSE)
            dnet_fc_rx_control(&c->rx, &port->pool, &word);
        else
            dnet_fc_tx_control(&c->tx, &port->env, &word, port->now_ns);
        if (word.type == DNET_FC_CONTROL_PROBE && c->rx.state == DNET_FC_RX_HELD)
            dnet_emu_connection_remind(port, c);
    }
}

/* @return its connection; NULL: none that matters */
static dnet_emu_connection_t *one_arrived(dnet_emu_port_t *port, const dnet_emu_wire_head_t *h,
                                          uint8_t *data)
{
    uint32_t bytes = h->bytes - (uint32_t) sizeof *h;
    dnet_emu_far_t *f = dnet_emu_far_of(port, h->slid, h->swid);
    dnet_emu_connection_t *c;

    if (!f || f->at.epoch != h->epoch)
        return NULL; /* of somebody else */
    c = dnet_emu_connection_of(port, h->slid, h->swid);
    if (!c || c->why[0])
        return NULL;
    port->stats.received++;
    c->asked_ns = 0;
    c->held = h->flags & WIRE_HOLD;
    c->share = h->share;
    if (h->flags & WIRE_ACK) {
        dnet_fc_control_t ack = {
            .type = DNET_FC_CONTROL_ACK, .epoch = port->at->epoch, .seq = h->ack};

        dnet_fc_tx_control(&c->tx, &port->env, &ack, port->now_ns);
    }
    if (h->kind == WIRE_DATA)
        data_arrived(port, c, h, data, bytes);
    else if (h->kind == WIRE_WORDS)
        words_arrived(port, c, h, data, bytes);
    if (c->wants && dnet_emu_connection_reopens(c))
        dnet_emu_connection_resume(port, c);
    return c;
}

bool dnet_emu_in_arrived(void *arg, uint8_t *data, uint32_t bytes)
{
    dnet_emu_port_t *port = arg;
    dnet_emu_connection_t *c = NULL;
    dnet_emu_wire_head_t h;
    uint32_t taken = 0;

    while (bytes >= sizeof h) {
        uint32_t whole;

        memcpy(&h, data, sizeof h);
        if (h.key != port->at->key || h.version != WIRE_VERSION || h.bytes < sizeof h ||
            h.bytes > bytes)
            break; /* of somebody else */
        c = one_arrived(port, &h, data + sizeof h);
        taken++;
        whole = WIRE_ALIGNED(h.bytes);
        data += whole;
        bytes -= whole < bytes ? whole : bytes;
    }
    if (c && c->acks)
        c->ack_messages++;
    port->budget -= taken < port->budget ? taken : port->budget;
    return port->budget > 0;
}
