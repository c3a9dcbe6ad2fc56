/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "emulator/swif/hosts/reads.h"

#include <stdlib.h>

#include "common/log.h"
#include "emulator/swif/hosts/connection.h"

typedef enum { DUE, UNDER_WAY, ENDED } state_t;

typedef struct dnet_emu_read {
    dnet_emu_plug_op_t op; /* first */
    struct dnet_emu_read *next;
    dnet_emu_connection_t *from;
    state_t state;
    dnet_status_t status; /* ENDED */
    dnet_remote_memory_t memory;
    uint8_t *to;
    uint64_t left, part; /* bytes, and those that are under way */
    void *held;          /* of `to` */
    void *tag;
} dnet_emu_read_t;

/* Memory of the own SO-DIMM area, which nobody but its process gives back. */
static bool is_steady(const dnet_emu_port_t *port, const void *at)
{
    const dnet_emu_areas_t *a = &port->nic->area[port->wid];
    uintptr_t offset = (uintptr_t) at - (uintptr_t) a->sodimm;

    return a->sodimm && offset < a->sodimm_window;
}

void *dnet_emu_hosts_lend(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid, const void *at,
                          uint64_t bytes, dnet_remote_memory_t *memory_p)
{
    dnet_emu_port_t *port = nic->hosts;

    if (!port || !port->plug->hold || !dnet_emu_far_of(port, lid, wid))
        return NULL;
    return port->plug->hold(port->end, at, bytes, is_steady(port, at), memory_p);
}

void dnet_emu_hosts_send_ahead(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid, void *loan)
{
    dnet_emu_port_t *port = nic->hosts;
    const dnet_emu_far_t *f =
        port && port->plug->send_ahead ? dnet_emu_far_of(port, lid, wid) : NULL;

    if (f && f->connection && (!loan || !f->connection->post))
        port->plug->send_ahead(port->end, f->connection->peer, loan);
}

void dnet_emu_hosts_take_back(dnet_emu_nic_t *nic, void *loan)
{
    if (nic->hosts)
        nic->hosts->plug->let_go(nic->hosts->end, loan);
}

void dnet_emu_hosts_forget(dnet_emu_nic_t *nic, const void *at, uint64_t bytes)
{
    if (nic->hosts && nic->hosts->plug->forget)
        nic->hosts->plug->forget(nic->hosts->end, at, bytes);
}

/* ---- reading ---- */

static void end(dnet_emu_port_t *port, dnet_emu_read_t *r, dnet_status_t status)
{
    if (r->state == DUE)
        port->reads_due--;
    r->state = ENDED;
    r->status = status;
    port->plug->let_go(port->end, r->held);
    r->held = NULL;
}

/* Hand the plug what is left, or as much of that as it takes at once. */
static void go_on(dnet_emu_port_t *port, dnet_emu_read_t *r)
{
    dnet_status_t status = DNET_ERR_PEER_DEAD;

    r->part = r->left;
    if (!r->from->why[0])
        status = port->plug->read(port->end, r->from->peer, &r->memory, r->to, r->held, &r->part,
                                  &r->op);
    if (status == DNET_IN_PROGRESS) {
        r->state = UNDER_WAY;
        port->reads_due--;
    } else if (status != DNET_STOPPED) {
        end(port, r, status);
    }
}

bool dnet_emu_hosts_read(dnet_emu_nic_t *nic, uint16_t lid, unsigned wid,
                         const dnet_remote_memory_t *from, void *to, uint64_t bytes, void *tag)
{
    dnet_emu_port_t *port = nic->hosts;
    dnet_emu_connection_t *c = port ? dnet_emu_connection_of(port, lid, wid) : NULL;
    dnet_emu_read_t *r = c && port->plug->hold ? calloc(1, sizeof *r) : NULL;

    if (!r)
        return false;
    *r =
        (dnet_emu_read_t){.op.reads = true,
                          .from = c,
                          .memory = *from,
                          .to = to,
                          .left = bytes,
                          .held = port->plug->hold(port->end, to, bytes, is_steady(port, to), NULL),
                          .tag = tag};
    if (!r->held) {
        free(r);
        return false;
    }
    r->next = port->reads;
    port->reads = r;
    port->reads_due++;
    go_on(port, r);
    return true;
}

void dnet_emu_read_sent(dnet_emu_port_t *port, dnet_emu_plug_op_t *op, const char *why)
{
    dnet_emu_read_t *r = (dnet_emu_read_t *) (void *) op;

    if (why) {
        dnet_debug("LID %#x WID %u: a read has failed: %s", r->from->lid, r->from->wid, why);
        end(port, r, DNET_ERR_DEVICE);
        return;
    }
    r->from->asked_ns = 0;
    r->to += r->part;
    r->memory.address += r->part;
    r->left -= r->part;
    if (r->left == 0) {
        port->stats.reads++;
        end(port, r, DNET_OK);
        return;
    }
    r->state = DUE;
    port->reads_due++;
    go_on(port, r);
}

void dnet_emu_reads_go_on(dnet_emu_port_t *port)
{
    for (dnet_emu_read_t *r = port->reads; r && port->reads_due; r = r->next)
        if (r->state == DUE)
            go_on(port, r);
}

void *dnet_emu_hosts_read_ended(dnet_emu_nic_t *nic, dnet_status_t *status_p)
{
    dnet_emu_port_t *port = nic->hosts;
    dnet_emu_read_t **link = port ? &port->reads : NULL, *r;
    void *tag;

    while (link && *link && (*link)->state != ENDED)
        link = &(*link)->next;
    r = link ? *link : NULL;
    if (!r)
        return NULL;
    *link = r->next;
    *status_p = r->status;
    tag = r->tag;
    free(r);
    return tag;
}

bool dnet_emu_reads_from(const dnet_emu_port_t *port, const dnet_emu_connection_t *c)
{
    const dnet_emu_read_t *r = port->reads;

    while (r && (r->from != c || r->state == ENDED))
        r = r->next;
    return r;
}

void dnet_emu_reads_drop(dnet_emu_port_t *port)
{
    while (port->reads) {
        dnet_emu_read_t *r = port->reads;

        port->reads = r->next;
        free(r);
    }
}
