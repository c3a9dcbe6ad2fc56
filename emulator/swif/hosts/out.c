/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages out: kept until they have left, and packets until they are acknowledged.
 */
#include "config.h"

#include "emulator/swif/hosts/connection.h"

#include <stdlib.h>

#include "common/log.h"
#include "emulator/receive_controller.h"

#define LONG_BYTES 4096u /* longer messages use what there is to spare, */
#define SPARES 32u       /* of which no more is kept: malloc gives such memory back and again, */
                         /* and then it costs a page fault each 4 KB */
#define ACKS_WAIT (WINDOW / 4) /* so many are acknowledged together, */
#define ACK_WAIT_NS 50000u     /* or after so long, or with data that go there */
#define FAILED_NS 50000000u    /* what could not be sent is sent again */

static dnet_emu_kept_t *room_for(dnet_emu_port_t *port, uint32_t bytes)
{
    dnet_emu_kept_t *k = port->spare;

    if (bytes <= LONG_BYTES)
        return malloc(sizeof *k + WIRE_ALIGNED(bytes));
    if (!k)
        return malloc(sizeof *k + port->plug->message_bytes);
    port->spare = k->next;
    port->spares--;
    return k;
}

void dnet_emu_out_drop(dnet_emu_port_t *port, dnet_emu_kept_t *k)
{
    if (k->head.bytes <= LONG_BYTES + sizeof k->head || port->spares == SPARES) {
        free(k);
        return;
    }
    k->next = port->spare;
    port->spare = k;
    port->spares++;
}

dnet_emu_kept_t *dnet_emu_out_keep(dnet_emu_port_t *port, const dnet_emu_connection_t *c,
                                   uint32_t bytes)
{
    const dnet_emu_far_t *f = &port->to[dnet_hold_index(c->lid, c->wid)];
    dnet_emu_kept_t *k = room_for(port, bytes);

    if (!k) {
        dnet_error("no memory for a packet to %s: %zu bytes needed", f->host, sizeof *k + bytes);
        return NULL;
    }
    memset(k->data + (bytes & ~7u), 0, WIRE_ALIGNED(bytes) - (bytes & ~7u));
    *k = (dnet_emu_kept_t){.head = {.key = f->at.key,
                                    .bytes = (uint32_t) sizeof k->head + bytes,
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

/* How many of those behind a message go together with it? */
static uint32_t followers_of(const dnet_emu_port_t *port, const dnet_emu_connection_t *c,
                             const dnet_emu_kept_t *k)
{
    uint32_t n = 0, bytes = WIRE_ALIGNED(k->head.bytes);

    if (k->head.kind != WIRE_DATA)
        return 0;
    for (const dnet_emu_kept_t *f = k->next; f && n + 1 < DNET_PLUG_PARTS; f = f->next) {
        bytes += WIRE_ALIGNED(f->head.bytes);
        if (f->under_way || !dnet_fc_before(f->head.seq, c->tx.send_seq) ||
            bytes > port->plug->message_bytes)
            break;
        n++;
    }
    return n;
}

/* Hand a message to the plug, and those that go together with it.  @return false: not now */
static bool hand_over(dnet_emu_port_t *port, dnet_emu_connection_t *c, dnet_emu_kept_t *k)
{
    struct iovec part[DNET_PLUG_PARTS];
    uint32_t followers = followers_of(port, c, k), n = 0;
    bool acks = c->acks;

    for (dnet_emu_kept_t *f = k; n <= followers; f = f->next) {
        fill_in(port, c, &f->head);
        part[n++] = (struct iovec){.iov_base = &f->head, .iov_len = WIRE_ALIGNED(f->head.bytes)};
    }
    if (port->plug->send(port->end, c->peer, part, n, &k->op) != DNET_OK)
        return false;
    k->followers = followers;
    for (dnet_emu_kept_t *f = k; n > 0; f = f->next, n--) {
        port->stats.again += f->again;
        f->under_way = f->again = true;
    }
    port->leaving++;
    port->stats.sent += 1 + followers;
    if (acks)
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
        dnet_emu_out_drop(port, k);
        return false;
    }
    c->words = 0;
    return true;
}

bool dnet_emu_out_push(dnet_emu_port_t *port, dnet_emu_connection_t *c)
{
    if (c->why[0])
        return true;
    if (c->pause_until_ns > port->now_ns || port->gathers)
        return false;
    while (c->post && dnet_fc_before(c->post->head.seq, c->tx.send_seq)) {
        /* A message that the plug still has from before cannot be handed over once more. */
        dnet_emu_kept_t *k = c->post;

        if (k->under_way || !hand_over(port, c, k))
            return false;
        for (uint32_t n = 0; n <= k->followers; n++)
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
        dnet_emu_out_drop(port, k);
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
    dnet_emu_kept_t *k = (dnet_emu_kept_t *) (void *) op, *next;

    port->leaving--;
    for (uint32_t left = k->followers + 1; left > 0; left--, k = next) {
        next = k->next;
        k->under_way = false;
        if (why && k->to)
            go_back(port, k->to, why);
        if (!k->to)
            dnet_emu_out_drop(port, k);
    }
}
