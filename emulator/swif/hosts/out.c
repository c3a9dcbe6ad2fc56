/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages out: kept until they have left, and packets until they are acknowledged.
 */
#include "config.h"

#include "emulator/swif/hosts/connection.h"

#include <stdlib.h>

#include "common/log.h"
#include "emulator/receive_controller.h"

/*
 * Rooms that are kept for the next messages, by size.  Short ones, for making one costs as much as
 * all else of a message; and long ones, for malloc gives their memory back and again, and then it
 * costs a page fault each 4 KB.  The smallest of these are for two packets with their heads, each
 * next one is twice as large, the last one is for the plug's longest message.
 */
#define SHORT_BYTES 512u
#define LONG_BYTES 4096u
#define LONG_LEAST 9216u
#define HEADS_SHARE 16u /* heads of packets that are gathered take such a part of their data */
static const uint32_t spares_most[DNET_EMU_SPARES] = {64, 64, 32, 16, 16};

#define ACKS_WAIT (WINDOW / 4)           /* so many are acknowledged together, */
#define ACK_MESSAGES_WAIT (MESSAGES / 4) /* or in so many messages, */
#define ACK_WAIT_NS 400000u              /* or after so long, or with data that go there */
#define FAILED_NS 50000000u              /* what could not be sent is sent again */

/* ---- room ---- */

/* Bytes of the rooms of a size. */
static uint32_t spare_bytes(const dnet_emu_port_t *port, unsigned size)
{
    uint32_t most = port->plug->message_bytes, bytes;

    if (size == 0)
        return SHORT_BYTES;
    bytes = LONG_LEAST << (size - 1);
    return bytes < most && size + 1 < DNET_EMU_SPARES ? bytes : most;
}

/* The size of room for so many bytes; DNET_EMU_SPARES: none is kept. */
static unsigned size_for(const dnet_emu_port_t *port, uint32_t bytes)
{
    unsigned size = 1;

    if (bytes <= SHORT_BYTES)
        return 0;
    if (bytes <= LONG_BYTES)
        return DNET_EMU_SPARES;
    while (spare_bytes(port, size) < bytes)
        size++;
    return size;
}

/* A message of the plug with so much room, heads included.  NULL: no memory (logged). */
static dnet_emu_kept_t *make(dnet_emu_port_t *port, const dnet_emu_connection_t *c, uint32_t bytes)
{
    unsigned size = size_for(port, bytes);
    uint32_t room = size < DNET_EMU_SPARES ? spare_bytes(port, size) : bytes;
    dnet_emu_kept_t *k = size < DNET_EMU_SPARES ? port->spare[size].first : NULL;

    if (k) {
        port->spare[size].first = k->next;
        port->spare[size].count--;
    } else {
        k = malloc(sizeof *k + room);
    }
    if (k)
        *k = (dnet_emu_kept_t){.room = room, .size = (uint8_t) size};
    else
        dnet_error("no memory for a packet to %s: %zu bytes needed",
                   dnet_emu_far_of(port, c->lid, c->wid)->host, sizeof *k + room);
    return k;
}

static void drop(dnet_emu_port_t *port, dnet_emu_kept_t *k)
{
    dnet_emu_spare_t *spare = &port->spare[k->size];

    if (k->size == DNET_EMU_SPARES || spare->count == spares_most[k->size]) {
        free(k);
        return;
    }
    k->next = spare->first;
    spare->first = k;
    spare->count++;
}

/* Head of the next message of ours in one of the plug. */
static dnet_emu_wire_head_t *begin(const dnet_emu_port_t *port, const dnet_emu_connection_t *c,
                                   dnet_emu_kept_t *k, uint32_t bytes)
{
    dnet_emu_wire_head_t *h = (dnet_emu_wire_head_t *) (void *) (k->data + k->bytes);
    uint8_t *end = (uint8_t *) (h + 1) + bytes;

    *h = (dnet_emu_wire_head_t){.key = c->key,
                                .bytes = (uint32_t) sizeof *h + bytes,
                                .version = WIRE_VERSION,
                                .slid = c->own_lid,
                                .swid = (uint8_t) port->wid,
                                .epoch = port->at->epoch};
    memset(end, 0, WIRE_ALIGNED(bytes) - bytes);
    return h;
}

dnet_emu_wire_head_t *dnet_emu_out_room(dnet_emu_port_t *port, const dnet_emu_connection_t *c,
                                        uint32_t bytes, dnet_emu_kept_t **k_p)
{
    uint32_t all = (uint32_t) sizeof(dnet_emu_wire_head_t) + WIRE_ALIGNED(bytes);
    dnet_emu_kept_t *k = c->last;

    if (!port->gathers || !k || k->handed || k->room - k->bytes < all) {
        uint32_t least = port->gathers + port->gathers / HEADS_SHARE;
        uint32_t most = port->plug->message_bytes;

        least = least < most ? least : most;
        k = make(port, c, all < least ? least : all);
    }
    *k_p = k;
    return k ? begin(port, c, k, bytes) : NULL;
}

void dnet_emu_out_add(dnet_emu_port_t *port, dnet_emu_connection_t *c, dnet_emu_kept_t *k,
                      const dnet_emu_wire_head_t *h)
{
    k->bytes += WIRE_ALIGNED(h->bytes);
    if (k->count++ > 0)
        return;
    k->to = c;
    k->first = h->seq;
    k->number = c->last ? c->last->number + 1 : 0;
    if (c->last)
        c->last->next = k;
    else
        c->first = k;
    c->last = k;
    if (!c->post) {
        c->post = k;
        c->post_seq = h->seq;
    }
    port->unacked++;
}

void dnet_emu_out_give_up(dnet_emu_port_t *port, dnet_emu_kept_t *k)
{
    if (k->count == 0)
        drop(port, k);
}

/* ---- leaving ---- */

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
    h->share = c->told = dnet_emu_connection_share(port);
}

/* Hand bytes of a message to the plug.  @return false: not now */
static bool hand_over(dnet_emu_port_t *port, dnet_emu_connection_t *c, dnet_emu_kept_t *k,
                      const uint8_t *from, uint32_t bytes)
{
    bool acks = c->acks;
    dnet_status_t status = port->plug->send(port->end, c->peer, from, bytes, &k->op);

    if (status != DNET_OK && status != DNET_IN_PROGRESS)
        return false;
    k->under_way = status == DNET_IN_PROGRESS;
    port->leaving += k->under_way;
    if (acks)
        c->acks = c->ack_messages = 0;
    c->unsaid = false;
    return true;
}

/* The packets of a message from post_seq on that may leave now.  @return false: not now */
static bool post_packets(dnet_emu_port_t *port, dnet_emu_connection_t *c, dnet_emu_kept_t *k)
{
    uint32_t begin = c->post_seq - k->first, end = begin, at = 0, from = 0;

    for (uint32_t i = 0; i < k->count; i++) {
        dnet_emu_wire_head_t *h = (dnet_emu_wire_head_t *) (void *) (k->data + at);

        if (!dnet_fc_before(h->seq, c->tx.send_seq))
            break;
        at += WIRE_ALIGNED(h->bytes);
        if (i < begin) {
            from = at;
            continue;
        }
        fill_in(port, c, h);
        end++;
    }
    if (!hand_over(port, c, k, k->data + from, at - from))
        return false;
    port->stats.sent += end - begin;
    if (k->handed > begin)
        port->stats.again += (k->handed < end ? k->handed : end) - begin;
    if (k->handed < end)
        k->handed = end;
    c->post_seq = k->first + end;
    if (end == k->count)
        c->post = k->next;
    return true;
}

/* @return false: not now */
static bool say_words(dnet_emu_port_t *port, dnet_emu_connection_t *c)
{
    uint32_t count = (uint32_t) __builtin_popcount(c->words);
    uint32_t bytes = count * (uint32_t) sizeof(dnet_fc_control_t);
    dnet_emu_kept_t *k = make(port, c, (uint32_t) sizeof(dnet_emu_wire_head_t) + bytes);
    dnet_emu_wire_head_t *h;
    uint8_t *at;

    if (!k)
        return false;
    h = begin(port, c, k, bytes);
    h->kind = WIRE_WORDS;
    h->count = (uint8_t) count;
    fill_in(port, c, h);
    at = (uint8_t *) (h + 1);
    for (unsigned type = 0; type <= DNET_FC_CONTROL_NAK; type++)
        if (c->words >> type & 1) {
            memcpy(at, &c->word[type], sizeof c->word[type]);
            at += sizeof c->word[type];
        }
    if (!hand_over(port, c, k, k->data, h->bytes)) {
        drop(port, k);
        return false;
    }
    if (!k->under_way)
        drop(port, k);
    port->stats.sent++;
    c->words = 0;
    return true;
}

/* Has the peer a buffer for one more message? */
static bool may_leave(const dnet_emu_connection_t *c)
{
    return c->share == 0 || dnet_emu_connection_kept(c, true) < c->share;
}

/* Shall what has been delivered be acknowledged now?  Soon where the peer may have few messages
 * under way. */
static bool must_acknowledge(const dnet_emu_port_t *port, const dnet_emu_connection_t *c)
{
    uint32_t messages = ACK_MESSAGES_WAIT;

    if (port->buffers && c->told / 4 < messages)
        messages = c->told / 4;
    return c->acks && (c->acks >= ACKS_WAIT || c->ack_messages >= messages ||
                       port->now_ns - c->acks_since_ns >= ACK_WAIT_NS);
}

bool dnet_emu_out_push(dnet_emu_port_t *port, dnet_emu_connection_t *c)
{
    if (c->why[0])
        return true;
    if (c->pause_until_ns > port->now_ns || port->gathers)
        return false;
    while (c->post && dnet_fc_before(c->post_seq, c->tx.send_seq) && may_leave(c))
        /* A message that the plug still has from before cannot be handed over once more. */
        if (c->post->under_way || !post_packets(port, c, c->post))
            return false;
    if ((c->words || c->unsaid || must_acknowledge(port, c)) && !say_words(port, c))
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
        drop(port, k);
}

/* What is not acknowledged goes again, and what has been said. */
static void send_again(dnet_emu_port_t *port, dnet_emu_connection_t *c)
{
    c->post = c->first;
    c->post_seq = c->tx.una_seq;
    c->unsaid = true;
    dnet_emu_connection_due(port, c);
}

/* A packet that could not leave, and all behind it, go again in a while. */
static void go_back(dnet_emu_port_t *port, dnet_emu_connection_t *c, const char *why)
{
    dnet_debug("LID %#x WID %u: a message cannot leave: %s", c->lid, c->wid, why);
    c->pause_until_ns = port->now_ns + FAILED_NS;
    send_again(port, c);
}

void dnet_emu_out_lost(void *arg, uint64_t peer)
{
    dnet_emu_port_t *port = arg;

    for (dnet_emu_connection_t *c = port->connections; c; c = c->next)
        if (c->peer == peer)
            send_again(port, c);
}

void dnet_emu_out_sent(void *arg, dnet_emu_plug_op_t *op, const char *why)
{
    dnet_emu_port_t *port = arg;
    dnet_emu_kept_t *k = (dnet_emu_kept_t *) (void *) op;

    port->leaving--;
    k->under_way = false;
    if (why && k->to)
        go_back(port, k->to, why);
    if (!k->to)
        drop(port, k);
}
