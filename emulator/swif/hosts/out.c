/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages out: kept until they have left, and packets until they are acknowledged.
 */
#include "config.h"

#include "emulator/swif/hosts/connection.h"

#include <stdlib.h>

#include "common/log.h"
#include "emulator/receive_controller.h"

#define ACKS_WAIT (WINDOW / 4) /* so many are acknowledged together, */
#define ACK_WAIT_NS 50000u     /* or after so long, or with data that go there */
#define FAILED_NS 50000000u    /* what could not be sent is sent again */

dnet_emu_kept_t *dnet_emu_out_keep(const dnet_emu_port_t *port, const dnet_emu_connection_t *c,
                                   uint32_t bytes)
{
    const dnet_emu_far_t *f = &port->to[dnet_hold_index(c->lid, c->wid)];
    dnet_emu_kept_t *k = malloc(sizeof *k + ((bytes + 7) & ~7u));

    if (!k) {
        dnet_error("no memory for a packet to %s: %zu bytes needed", f->host, sizeof *k + bytes);
        return NULL;
    }
    *k = (dnet_emu_kept_t){.bytes = (uint32_t) sizeof k->head + bytes,
                           .head = {.key = f->at.key,
                                    .version = WIRE_VERSION,
                                    .slid = port->nic->lid,
                                    .swid = (uint8_t) port->wid,
                                    .epoch = port->at.epoch}};
    return k;
}

/* What each message says beside its content. */
static void fill_in(dnet_emu_port_t *port, dnet_emu_connection_t *c, dnet_emu_wire_head_t *h)
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
static bool hand_over(dnet_emu_port_t *port, dnet_emu_connection_t *c, dnet_emu_kept_t *k)
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
static bool say_words(dnet_emu_port_t *port, dnet_emu_connection_t *c)
{
    uint32_t count = (uint32_t) __builtin_popcount(c->words);
    uint32_t bytes = count * (uint32_t) sizeof(dnet_fc_control_t);
    dnet_emu_kept_t *k = dnet_emu_out_keep(port, c, bytes);
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

bool dnet_emu_out_push(dnet_emu_port_t *port, dnet_emu_connection_t *c)
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

void dnet_emu_out_push_due(dnet_emu_port_t *port)
{
    dnet_emu_connection_t **link = &port->due;

    while (*link) {
        dnet_emu_connection_t *c = *link;

        if (dnet_emu_out_push(port, c)) {
            c->is_due = false;
            *link = c->due_next;
        } else {
            link = &c->due_next;
        }
    }
}
void dnet_emu_out_release(dnet_emu_port_t *port, dnet_emu_kept_t *k)
{
    port->unacked--;
    k->to = NULL;
    if (!k->under_way)
        free(k);
}
/* A packet that could not leave, and all behind it, go again in a while. */
static void go_back(dnet_emu_port_t *port, dnet_emu_connection_t *c, const char *why)
{
    dnet_debug("LID %#x WID %u: a message cannot leave: %s", c->lid, c->wid, why);
    c->pause_until_ns = port->now_ns + FAILED_NS;
    c->post = c->first;
    dnet_emu_connection_due(port, c);
}

void dnet_emu_out_sent(void *arg, dnet_emu_plug_op_t *op, const char *why)
{
    dnet_emu_port_t *port = arg;
    dnet_emu_kept_t *k = (dnet_emu_kept_t *) (void *) op;

    k->under_way = false;
    port->leaving--;
    if (why && k->to)
        go_back(port, k->to, why);
    if (!k->to)
        free(k);
}
