/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of other hosts, and connections to those that have been sent a packet.
 */
#include "config.h"

#include "emulator/swif/hosts/connection.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"

dnet_emu_far_guest_t *dnet_emu_far_guest(const dnet_emu_port_t *port, uint32_t number)
{
    if (!port->guests || number == 0 || number > DNET_GUESTS_MAX ||
        !atomic_load_explicit(&port->guests[number].known, memory_order_acquire))
        return NULL;
    return &port->guests[number];
}

static dnet_emu_far_t *guest_of(const dnet_emu_port_t *port, uint16_t lid, unsigned wid)
{
    dnet_emu_far_guest_t *g = dnet_emu_far_guest(port, dnet_emu_guest_of(lid));

    return g && g->who.process.wid == wid ? &g->to : NULL;
}

dnet_emu_far_t *dnet_emu_far_of(const dnet_emu_port_t *port, uint16_t lid, unsigned wid)
{
    uint32_t i = dnet_hold_index(lid, wid);

    if (dnet_clid_to_lid(dnet_lid_to_clid(lid)) != lid || wid >= DNET_PROCESSES_PER_NIC)
        return NULL;
    return i < port->to_count && port->to[i].at.bytes ? &port->to[i] : guest_of(port, lid, wid);
}

const dnet_emu_port_address_t *dnet_emu_far_at(const dnet_emu_far_t *f, unsigned rail)
{
    const dnet_emu_port_address_t *at = f->rails ? &f->rails[rail] : rail == 0 ? &f->at : NULL;

    return at && at->bytes ? at : NULL;
}

void dnet_emu_connection_due(dnet_emu_port_t *port, dnet_emu_connection_t *c)
{
    if (c->is_due)
        return;
    c->is_due = true;
    c->due_next = port->due;
    port->due = c;
}

uint8_t dnet_emu_connection_share(const dnet_emu_port_t *port)
{
    uint32_t all = port->buffers - port->buffers / 4;
    uint32_t each = all / (port->stats.connected > 1 ? port->stats.connected : 2);

    return (uint8_t) (port->buffers == 0 ? 0 : each < 1 ? 1 : each < WINDOW ? each : WINDOW);
}

uint32_t dnet_emu_connection_kept(const dnet_emu_connection_t *c, bool left)
{
    uint32_t end;

    if (!c->first)
        return 0;
    end = c->last->number + 1;
    if (left && c->post)
        end = c->post->number;
    return end - c->first->number;
}

/* Who was told that more may be under way hears of it. */
static void shares_change(dnet_emu_port_t *port)
{
    uint8_t share = dnet_emu_connection_share(port);

    for (dnet_emu_connection_t *c = port->connections; c; c = c->next)
        if (c->told > share) {
            c->unsaid = true;
            dnet_emu_connection_due(port, c);
        }
}

DNET_COLD static dnet_emu_connection_t *connect_to(dnet_emu_port_t *port, dnet_emu_far_t *f,
                                                   uint16_t lid, unsigned wid)
{
    const dnet_emu_far_guest_t *g = dnet_emu_far_guest(port, dnet_emu_guest_of(lid));
    uint32_t number = g ? atomic_load_explicit(&g->number, memory_order_acquire) : 0;
    const dnet_emu_port_address_t one[DNET_RAILS_MAX] = {f->at};
    dnet_emu_connection_t *c;

    if (g && number == 0)
        return NULL;
    c = calloc(1, sizeof *c);
    if (!c) {
        dnet_error("no memory for a connection to %s: %zu bytes needed", f->host, sizeof *c);
        return NULL;
    }
    if (!port->plug->reach(port->end, f->rails ? f->rails : one, &c->peer)) {
        free(c);
        return NULL;
    }
    c->key = f->at.key;
    c->lid = lid;
    c->own_lid = g ? dnet_emu_guest_lid(number) : port->nic->lid;
    c->its_lid = g ? g->who.process.nic.lid : 0;
    c->wid = (uint8_t) wid;
    dnet_fc_tx_open(&c->tx, port->at->epoch, 0, 0);
    dnet_fc_rx_open(&c->rx, f->at.epoch, 0);
    c->share = port->buffers ? 1 : 0; /* until the peer says more */
    c->next = port->connections;
    port->connections = c;
    port->stats.connected++;
    f->connection = c;
    shares_change(port);
    return c;
}

dnet_emu_connection_t *dnet_emu_connection_of(dnet_emu_port_t *port, uint16_t lid, unsigned wid)
{
    dnet_emu_far_t *f = dnet_emu_far_of(port, lid, wid);

    if (!f)
        return NULL;
    return f->connection ? f->connection : connect_to(port, f, lid, wid);
}

void dnet_emu_connection_lose(dnet_emu_connection_t *c, const char *why)
{
    if (!c->why[0])
        snprintf(c->why, sizeof c->why, "%s", why);
}
