/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the connection machine (srq_flowctl/connection.h) asks for.
 */
#include "config.h"

#include "emulator/swif/hosts/connection.h"

#include <stdio.h>

#include "emulator/receive_controller.h"

#define TIMERS_EVERY_NS 10000000u

static dnet_emu_connection_t *of_tx(dnet_fc_tx_t *tx)
{
    return (dnet_emu_connection_t *) (void *) ((uint8_t *) tx -
                                               offsetof(dnet_emu_connection_t, tx));
}

static dnet_emu_connection_t *of_rx(dnet_fc_rx_t *rx)
{
    return (dnet_emu_connection_t *) (void *) ((uint8_t *) rx -
                                               offsetof(dnet_emu_connection_t, rx));
}

/* dnet_emu_out_push() sends all before tx.send_seq; here it is only said from where on, if it goes
 * back. */
static void tx_transmit(void *arg, dnet_fc_tx_t *tx, const dnet_fc_data_t *data)
{
    dnet_emu_port_t *port = arg;
    dnet_emu_connection_t *c = of_tx(tx);

    if (!c->post || dnet_fc_before(data->seq, c->post_seq)) {
        c->post = c->first;
        c->post_seq = data->seq;
        while (c->post && !dnet_fc_before(data->seq, c->post->first + c->post->count))
            c->post = c->post->next;
    }
    dnet_emu_connection_due(port, c);
}

static void tx_control(void *arg, dnet_fc_tx_t *tx, const dnet_fc_control_t *word)
{
    dnet_emu_connection_t *c = of_tx(tx);

    c->word[word->type] = *word;
    c->words |= 1u << word->type;
    dnet_emu_connection_due(arg, c);
}

static void tx_acked(void *arg, dnet_fc_tx_t *tx, uint32_t una_seq)
{
    dnet_emu_port_t *port = arg;
    dnet_emu_connection_t *c = of_tx(tx);

    c->unacked_since_ns = port->now_ns;
    while (c->first && !dnet_fc_before(una_seq, c->first->first + c->first->count)) {
        dnet_emu_kept_t *k = c->first;

        c->first = k->next;
        dnet_emu_out_release(port, k);
    }
    if (!c->first)
        c->last = NULL;
    if (c->post && dnet_fc_before(c->post_seq, una_seq)) {
        c->post = c->first;
        c->post_seq = una_seq;
    }
    if (c->post) /* it may have waited for a buffer there */
        dnet_emu_connection_due(port, c);
}

/* The peer says that it knows this connection no more. */
static void tx_dead(void *arg, dnet_fc_tx_t *tx)
{
    (void) arg;
    snprintf(of_tx(tx)->why, sizeof of_tx(tx)->why, "has left the job");
}

const dnet_fc_tx_ops_t dnet_emu_connection_tx_ops = {
    .transmit = tx_transmit, .control = tx_control, .acked = tx_acked, .dead = tx_dead};

static void rx_control(void *arg, dnet_fc_rx_t *rx, const dnet_fc_control_t *word)
{
    dnet_emu_port_t *port = arg;
    dnet_emu_connection_t *c = of_rx(rx);

    if (word->type == DNET_FC_CONTROL_ACK) {
        if (c->acks++ == 0)
            c->acks_since_ns = port->now_ns;
    } else {
        c->word[word->type] = *word;
        c->words |= 1u << word->type;
    }
    dnet_emu_connection_due(port, c);
}

/* The Receive Controller has put the sender into the flow ring. */
static void rx_note_stop(void *arg, dnet_fc_rx_t *rx)
{
    dnet_emu_port_t *port = arg;

    (void) rx;
    port->stats.stops++;
}

const dnet_fc_rx_ops_t dnet_emu_connection_rx_ops = {.control = rx_control,
                                                     .note_stop = rx_note_stop};

/* Messages under way, most. */
static uint32_t messages_of(const dnet_emu_connection_t *c)
{
    return c->share && c->share < MESSAGES ? c->share : MESSAGES;
}

bool dnet_emu_connection_is_open(const dnet_emu_port_t *port, const dnet_emu_connection_t *c)
{
    bool gathered = port->gathers && c->last && !c->last->handed;

    return c->tx.state == DNET_FC_TX_RUN && c->tx.next_seq - c->tx.una_seq < WINDOW &&
           (gathered || dnet_emu_connection_kept(c, false) < messages_of(c));
}

bool dnet_emu_connection_reopens(const dnet_emu_connection_t *c)
{
    return c->tx.state == DNET_FC_TX_RUN && c->tx.next_seq - c->tx.una_seq < WINDOW / 2 &&
           dnet_emu_connection_kept(c, false) <= messages_of(c) / 2;
}

/* An entry of the flow ring, as of a RESEND packet from there. */
static void enter_resend(dnet_emu_port_t *port, const dnet_emu_connection_t *c, uint64_t what)
{
    dnet_emu_packet_t p = {
        .header = {DNET_PUT(DNET_PRIM_RESEND, PK_TYPE) |
                       DNET_PUT(dnet_emu_pgid(port->nic, port->wid), PK_PGID) |
                       DNET_PUT(port->wid, PK_DWID) | DNET_PUT(c->wid, PK_SWID) |
                       DNET_PUT(port->nic->lid, PK_DLID),
                   what},
        .header_lines = 2,
        .packets = 1,
        .slid = c->lid,
    };

    (void) dnet_emu_rc_receive(port->nic, &p);
}

void dnet_emu_connection_resume(dnet_emu_port_t *port, dnet_emu_connection_t *c)
{
    c->wants = false;
    enter_resend(port, c, 0);
}

void dnet_emu_connection_remind(dnet_emu_port_t *port, const dnet_emu_connection_t *c)
{
    enter_resend(port, c, DNET_PUT(1, RS_MORE) | DNET_PUT(c->refused_bytes, RS_NEED));
}

void dnet_emu_connection_run_timers(dnet_emu_port_t *port)
{
    port->timers_ns = port->now_ns + TIMERS_EVERY_NS;
    for (dnet_emu_connection_t *c = port->connections; c; c = c->next)
        if (!c->why[0] && c->tx.deadline_ns <= port->now_ns)
            dnet_fc_tx_timer(&c->tx, &port->env, port->now_ns);
}
