/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which rails carry to which peer: what is seen here, and what the peer says.
 */
#include "config.h"

#include "emulator/swif/hosts/rails_end.h"

#include <stdio.h>

#include "common/log.h"

#define MAGIC 0x4c494152u /* "RAIL": no head of connection.h has its last byte at that place */
#define CHECK_NS UINT64_C(20000000)   /* looks at the rails, */
#define PEERS_NS UINT64_C(200000000)  /* and at each peer */
#define AGAIN_NS UINT64_C(1000000000) /* a rail that has failed is connected anew */
/* Messages wait for a connection so long before another rail is tried; and so long after that one
 * has been connected, which takes the peer's process, theirs has failed. */
#define PATIENCE_NS UINT64_C(1000000000)
#define UNANSWERED_NS UINT64_C(2000000000)

static uint8_t bit(unsigned r)
{
    return (uint8_t) (1u << r);
}

unsigned dnet_emu_rails_usable(const dnet_emu_rails_peer_t *p)
{
    unsigned both = p->good & p->says;

    return both ? both : p->good ? p->good : bit(p->now);
}

/* The rail of the messages: the one they have at home, or else the next one that carries. */
static void choose(dnet_emu_rails_peer_t *p)
{
    unsigned usable = dnet_emu_rails_usable(p);

    if (usable & ~(unsigned) p->late)
        usable &= ~(unsigned) p->late;
    for (unsigned i = 0; i < p->rails; i++) {
        unsigned r = (p->home + i) % p->rails;

        if (usable & bit(r)) {
            p->now = (uint8_t) r;
            break;
        }
    }
}

bool dnet_emu_rails_connect(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r)
{
    if (e->rail[r].ill)
        return false;
    if (e->plug->ready(e->rail[r].end, p->to[r], true)) {
        if (p->asked & bit(r))
            p->connected_ns = e->now_ns;
        p->used |= bit(r);
        p->asked &= (uint8_t) ~bit(r);
        if (p->late & bit(r)) {
            p->late &= (uint8_t) ~bit(r);
            choose(p);
        }
        return true;
    }
    if (!(p->asked & bit(r))) {
        p->asked |= bit(r);
        p->since_ns[r] = e->now_ns;
    }
    return false;
}

static void tell(dnet_emu_plug_end_t *e, const dnet_emu_rails_peer_t *p, unsigned r,
                 const char *why)
{
    if (e->rail[r].is_told)
        return;
    e->rail[r].is_told = true;
    if (p->good)
        dnet_warn("rail %s has failed: %s; what went by it goes by %s", e->rail[r].name, why,
                  e->rail[p->now].name);
    else
        dnet_warn("rail %s has failed: %s; there is no other one now, and all are tried again",
                  e->rail[r].name, why);
}

/* It carries again soon, perhaps, and nothing gets through: none_ns stays until something does. */
static void none_carries(const dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p)
{
    if (p->none_ns == 0)
        p->none_ns = e->now_ns;
    else if (e->now_ns - p->none_ns >= e->wait_ns && !p->lost[0])
        snprintf(p->lost, sizeof p->lost, "cannot be reached by any rail: %s", p->why);
}

void dnet_emu_rails_failed(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r,
                           const char *why)
{
    if (!(p->good & bit(r)))
        return;
    p->good &= (uint8_t) ~bit(r);
    p->asked &= (uint8_t) ~bit(r);
    p->late &= (uint8_t) ~bit(r);
    p->since_ns[r] = e->now_ns + AGAIN_NS;
    p->why = why;
    p->is_unsaid = true;
    e->changed = true;
    p->is_lost = p->is_lost || p->now == r;
    choose(p);
    tell(e, p, r, why);
    if (!p->good)
        none_carries(e, p);
}

void dnet_emu_rails_refused(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r)
{
    const char *why = e->plug->ill(e->rail[r].end, 0);

    dnet_emu_rails_failed(e, p, r, why ? why : "its adapter takes nothing");
    p->refused |= bit(r);
}

/* The same, seen from without: nothing has failed by itself. */
static void fail(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r, const char *why)
{
    dnet_emu_rails_failed(e, p, r, why);
    e->plug->drop(e->rail[r].end, p->to[r]);
}

static void carries_again(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r)
{
    p->good |= bit(r);
    p->used |= bit(r);
    p->is_unsaid = true;
    e->changed = true;
    choose(p);
    if (e->rail[r].is_told)
        dnet_info("rail %s carries again", e->rail[r].name);
    e->rail[r].is_told = false;
}

/* ---- notes ---- */

bool dnet_emu_rails_noted(dnet_emu_plug_end_t *e, const uint8_t *data, uint32_t bytes)
{
    dnet_emu_rails_peer_t *p = e->peers;
    dnet_emu_rails_note_t note;

    if (bytes != sizeof note)
        return false;
    memcpy(&note, data, sizeof note);
    if (note.key != e->key || note.magic != MAGIC)
        return false;
    while (p && p->key != note.from_key)
        p = p->next;
    if (p && (int32_t) (note.number - p->heard) > 0) {
        p->heard = note.number;
        p->denied |= (uint8_t) (p->says & ~note.good);
        p->says = (uint8_t) note.good;
        e->changed = true; /* what follows may end connections: not within their poll */
    }
    return true;
}

/* The note leaves by a rail that carries; where it cannot now it is tried at the next look. */
static void say(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p)
{
    unsigned r = p->now;
    dnet_status_t status;

    if (p->is_leaving || !p->good)
        return;
    p->note = (dnet_emu_rails_note_t){
        .key = p->key, .magic = MAGIC, .from_key = e->key, .number = p->said + 1, .good = p->good};
    p->op.is_own = true;
    p->op.peer = p;
    p->op.rail = (uint8_t) r;
    status = e->plug->send(e->rail[r].end, p->to[r], &p->note, sizeof p->note, &p->op);
    switch (status) {
        case DNET_OK:
        case DNET_IN_PROGRESS:
            p->said++;
            p->is_leaving = status == DNET_IN_PROGRESS;
            p->is_unsaid = false;
            if (status == DNET_OK)
                p->none_ns = 0;
            break;
        case DNET_STOPPED:
            break;
        default:
            dnet_emu_rails_refused(e, p, r);
    }
}

/* ---- looks ---- */

static void look_at_rail(dnet_emu_plug_end_t *e, unsigned r)
{
    const char *why = e->plug->ill(e->rail[r].end, 0);
    bool was_ill = e->rail[r].ill;

    e->rail[r].ill = why;
    for (dnet_emu_rails_peer_t *p = e->peers; p && was_ill != (bool) why; p = p->next) {
        if (r >= p->rails)
            continue;
        if (why)
            fail(e, p, r, why);
        p->since_ns[r] = 0;
    }
}

/* Messages wait for that rail: they go by another one meanwhile, if one is connected. */
static void do_without(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r)
{
    for (unsigned other = 0; other < p->rails; other++)
        if (p->good & bit(other) && dnet_emu_rails_connect(e, p, other))
            p->late |= bit(r);
    if (!(p->late & bit(r)))
        return;
    p->is_lost = e->changed = true;
    choose(p);
}

/* It was wanted, and is not connected yet: the peer computes, or the rail does not lead there. */
static void look_at_unconnected(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r,
                                uint64_t now)
{
    if (p->connected_ns > p->since_ns[r] && now - p->connected_ns >= UNANSWERED_NS)
        fail(e, p, r, "no connection, and another rail has one");
    else if (r == p->now && now - p->since_ns[r] >= PATIENCE_NS)
        do_without(e, p, r);
}

/* One that carries: does it still? */
static void look_at_good(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r, uint64_t now)
{
    const char *why = e->plug->ill(e->rail[r].end, p->to[r]);

    if (why)
        fail(e, p, r, why);
    else if (p->asked & bit(r) && !dnet_emu_rails_connect(e, p, r))
        look_at_unconnected(e, p, r, now);
}

/* One that does not: does it again? */
static void look_at_failed(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, unsigned r,
                           uint64_t now)
{
    if (e->rail[r].ill || (p->refused & bit(r) && now < p->since_ns[r]))
        return;
    p->refused &= (uint8_t) ~bit(r);
    if (e->plug->ready(e->rail[r].end, p->to[r], false)) {
        carries_again(e, p, r);
    } else if (now >= p->since_ns[r]) {
        e->plug->drop(e->rail[r].end, p->to[r]);
        (void) e->plug->ready(e->rail[r].end, p->to[r], true);
        p->since_ns[r] = now + AGAIN_NS;
    }
}

static void look_at_peer(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p, uint64_t now)
{
    for (unsigned r = 0; r < p->rails; r++) {
        if (!(p->good & bit(r)))
            look_at_failed(e, p, r, now);
        else if (now >= e->peers_ns)
            look_at_good(e, p, r, now);
    }
    if (!p->good)
        none_carries(e, p);
}

/* A rail that has failed there has failed here, too, and both connect anew. */
static void believe(dnet_emu_plug_end_t *e, dnet_emu_rails_peer_t *p)
{
    for (unsigned r = 0; r < p->rails; r++)
        if (p->denied & p->good & bit(r))
            fail(e, p, r, "its other end has");
    p->denied = 0;
    choose(p);
}

static void follow_changes(dnet_emu_plug_end_t *e)
{
    e->changed = false;
    for (dnet_emu_rails_peer_t *p = e->peers; p; p = p->next) {
        believe(e, p);
        if (p->is_unsaid)
            say(e, p);
        if (p->is_lost)
            e->events->lost(e->arg, (uintptr_t) p);
        p->is_lost = false;
    }
}

void dnet_emu_rails_check(dnet_emu_plug_end_t *e, uint64_t now)
{
    e->now_ns = now;
    if (now >= e->check_ns) {
        e->check_ns = now + CHECK_NS;
        for (unsigned r = 0; r < e->rails; r++)
            look_at_rail(e, r);
        for (dnet_emu_rails_peer_t *p = e->peers; p; p = p->next) {
            look_at_peer(e, p, now);
            e->changed = e->changed || p->is_unsaid;
        }
        if (now >= e->peers_ns)
            e->peers_ns = now + PEERS_NS;
    }
    if (e->changed)
        follow_changes(e);
}
