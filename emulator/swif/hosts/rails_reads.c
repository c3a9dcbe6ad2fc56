/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads over several rails: each carries a part, by the rate of its link.
 */
#include "config.h"

#include "emulator/swif/hosts/rails_end.h"

#include <stdlib.h>

#include "common/log.h"

#define PART_LEAST 32768u /* a shorter part costs more than the other rail saves */
#define PART_UNIT 4096u

/* ---- a part ---- */

static void end_read(dnet_emu_plug_end_t *e, dnet_emu_rails_read_t *read)
{
    dnet_emu_rails_read_t **link = &e->reads;

    while (*link != read)
        link = &(*link)->next;
    *link = read->next;
    e->events->sent(e->arg, read->op, read->why);
    free(read);
}

static void end_part(dnet_emu_plug_end_t *e, dnet_emu_rails_part_t *part, const char *why)
{
    dnet_emu_rails_read_t *read = part->of;

    if (why)
        read->why = why;
    if (--read->pending == 0)
        end_read(e, read);
}

static void is_due(dnet_emu_plug_end_t *e, dnet_emu_rails_part_t *part, bool due)
{
    e->due += (uint32_t) due - (uint32_t) part->is_due;
    part->is_due = due;
}

/* Hand it to the plug, by its rail or else by the one that carries messages now. */
static void start(dnet_emu_plug_end_t *e, dnet_emu_rails_part_t *part)
{
    dnet_emu_rails_read_t *read = part->of;
    dnet_emu_rails_peer_t *p = read->peer;
    dnet_remote_memory_t from = read->from;
    dnet_status_t status;

    if (!(dnet_emu_rails_usable(p) >> part->op.rail & 1))
        part->op.rail = p->now;
    from.address += part->at;
    part->under_way = part->left;
    status = e->plug->read(e->rail[part->op.rail].end, p->to[part->op.rail], &from,
                           read->to + part->at, read->held, &part->under_way, &part->op);
    is_due(e, part, status != DNET_IN_PROGRESS);
    if (status != DNET_IN_PROGRESS && status != DNET_STOPPED)
        dnet_emu_rails_refused(e, p, part->op.rail);
}

void dnet_emu_rails_part_sent(dnet_emu_plug_end_t *e, dnet_emu_rails_part_t *part, const char *why,
                              bool is_broken)
{
    if (why && (!is_broken || ++part->tries > 2 * DNET_RAILS_MAX)) {
        end_part(e, part, why);
        return;
    }
    if (!why) {
        e->rail[part->op.rail].read_bytes += part->under_way;
        part->at += part->under_way;
        part->left -= part->under_way;
        part->tries = 0;
    }
    if (part->left == 0)
        end_part(e, part, NULL);
    else
        is_due(e, part, true); /* not within this poll: the plug may be ending a connection */
}

/* No rail will carry what waits; what is under way ends by itself. */
static void give_up(dnet_emu_plug_end_t *e, dnet_emu_rails_read_t *read)
{
    unsigned due = 0;

    for (unsigned i = 0; i < read->parts; i++) {
        due += read->part[i].is_due;
        is_due(e, &read->part[i], false);
    }
    read->why = due ? read->peer->lost : read->why;
    read->pending -= due;
    if (due && read->pending == 0)
        end_read(e, read);
}

void dnet_emu_rails_reads_go_on(dnet_emu_plug_end_t *e)
{
    for (dnet_emu_rails_read_t *read = e->reads, *next; read && e->due; read = next) {
        next = read->next;
        if (read->peer->lost[0]) {
            give_up(e, read);
            continue;
        }
        for (unsigned i = 0; i < read->parts; i++)
            if (read->part[i].is_due)
                start(e, &read->part[i]);
    }
}

/* ---- a read ---- */

/* Rails for a read of so many bytes, a bit for each: those that are connected, and of a short one
 * the messages' only. */
static unsigned rails_for(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, uint64_t bytes)
{
    unsigned connected = 0, usable = dnet_emu_rails_usable(p);

    if (bytes < 2 * PART_LEAST)
        return 1u << p->now;
    for (unsigned r = 0; r < p->rails; r++)
        if (usable >> r & 1 && dnet_emu_rails_connect(e, p, r))
            connected |= 1u << r;
    return connected ? connected : 1u << p->now;
}

/* What a rail's link counts for; all alike where one says no rate. */
static uint64_t weight_of(const dnet_emu_plug_end_t *e, unsigned rails, unsigned r)
{
    for (unsigned other = 0; other < e->rails; other++)
        if (rails >> other & 1 && e->rail[other].facts.mbits_per_s == 0)
            return 1;
    return e->rail[r].facts.mbits_per_s;
}

static void cut(dnet_emu_plug_end_t *e, dnet_emu_rails_read_t *read, unsigned rails, uint64_t bytes)
{
    uint64_t all = 0, at = 0, weight = 0;

    for (unsigned r = 0; r < e->rails; r++)
        all += rails >> r & 1 ? weight_of(e, rails, r) : 0;
    for (unsigned r = 0; r < e->rails; r++) {
        dnet_emu_rails_part_t *part = &read->part[read->parts];
        uint64_t end;

        if (!(rails >> r & 1))
            continue;
        weight += weight_of(e, rails, r);
        end = weight == all ? bytes : bytes * weight / all / PART_UNIT * PART_UNIT;
        if (end == at && (weight != all || read->parts))
            continue;
        *part = (dnet_emu_rails_part_t){
            .of = read,
            .at = at,
            .left = end - at,
            .op = {.reads = true, .is_own = true, .peer = read->peer, .rail = (uint8_t) r}};
        read->parts++;
        at = end;
    }
    read->pending = read->parts;
}

dnet_status_t dnet_emu_rails_read(dnet_emu_plug_end_t *e, uint64_t peer,
                                  const dnet_remote_memory_t *from, void *to, void *held,
                                  uint64_t *bytes_p, dnet_emu_plug_op_t *op)
{
    dnet_emu_rails_peer_t *p = (dnet_emu_rails_peer_t *) (uintptr_t) peer;
    dnet_emu_rails_read_t *read = calloc(1, sizeof *read);

    if (!read)
        return DNET_STOPPED;
    read->op = op;
    read->peer = p;
    read->from = *from;
    read->to = to;
    read->held = held;
    cut(e, read, rails_for(e, p, *bytes_p), *bytes_p);
    read->next = e->reads;
    e->reads = read;
    for (unsigned i = 0; i < read->parts; i++)
        start(e, &read->part[i]);
    return DNET_IN_PROGRESS;
}
