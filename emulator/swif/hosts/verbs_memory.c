/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of messages that the adapter reads and writes: registered when it is first used, and kept
 * registered for the next message in it, as long as the kernel tells when it is unmapped
 * (unmapped.h).  What nobody tells of is registered for each message anew.
 */
#include "config.h"

#ifdef HAVE_STRUCT_IBV_GID_ENTRY

#include "emulator/swif/hosts/verbs_end.h"

#include <errno.h>
#include <stdlib.h>

#include "common/log.h"

#define PAGE 4096u

struct dnet_emu_verbs_region {
    dnet_emu_verbs_region_t *next; /* of all, the last used first */
    uintptr_t from, end;
    struct ibv_mr *mr[DNET_RAILS_MAX]; /* NULL: that device has failed, or there is none */
    uint32_t users;
    bool writable;
    bool watched;
    bool kept; /* for other messages; else it goes with its user */
    bool gone; /* the memory is another one now */
};

static void gone(void *arg, uintptr_t from, uintptr_t end)
{
    dnet_emu_plug_end_t *e = arg;

    for (dnet_emu_verbs_region_t *r = e->regions; r; r = r->next)
        if (r->from < end && from < r->end)
            r->gone = true;
}

/* ---- what is kept; under the lock ---- */

static dnet_emu_verbs_region_t *take_out(dnet_emu_plug_end_t *e, dnet_emu_verbs_region_t **link)
{
    dnet_emu_verbs_region_t *r = *link;

    *link = r->next;
    e->regions_count--;
    return r;
}

static void put_first(dnet_emu_plug_end_t *e, dnet_emu_verbs_region_t *r)
{
    r->next = e->regions;
    e->regions = r;
    e->regions_count++;
}

/* One that can be used; it is the first then. */
static dnet_emu_verbs_region_t *find(dnet_emu_plug_end_t *e, uintptr_t from, uintptr_t end,
                                     bool writable)
{
    for (dnet_emu_verbs_region_t **link = &e->regions; *link; link = &(*link)->next) {
        dnet_emu_verbs_region_t *r = *link;

        if (r->gone || !r->kept || r->from > from || r->end < end || (writable && !r->writable))
            continue;
        put_first(e, take_out(e, link));
        r->users++;
        return r;
    }
    return NULL;
}

/* One that is not used: of gone memory, or else the one that was used least lately. */
static dnet_emu_verbs_region_t *find_idle(dnet_emu_plug_end_t *e, bool only_gone)
{
    dnet_emu_verbs_region_t **found = NULL;

    for (dnet_emu_verbs_region_t **link = &e->regions; *link; link = &(*link)->next)
        if ((*link)->users == 0 && ((*link)->gone || (!only_gone && !(found && (*found)->gone))))
            found = link;
    return found ? take_out(e, found) : NULL;
}

/* ---- registering; not under the lock, for it may free memory ---- */

static void deregister(dnet_emu_plug_end_t *e, dnet_emu_verbs_region_t *r)
{
    for (unsigned i = 0; i < e->rails_count; i++) {
        if (r->mr[i] && e->lib.dereg_mr(r->mr[i]) != 0)
            dnet_debug("verbs: ibv_dereg_mr: %s", strerror(errno));
        r->mr[i] = NULL;
    }
}

/* By the devices of all rails.  @return false: one refuses (errno), or none is left */
static bool register_by_all(dnet_emu_plug_end_t *e, dnet_emu_verbs_region_t *r, int access)
{
    bool any = false;

    errno = ENODEV;
    for (unsigned i = 0; i < e->rails_count; i++) {
        int error;

        if (e->rails[i]->fatal)
            continue;
        r->mr[i] = e->lib.reg_mr(e->rails[i]->pd, (void *) r->from, r->end - r->from, access);
        if (r->mr[i]) {
            any = true;
            continue;
        }
        error = errno;
        deregister(e, r);
        errno = error;
        return false;
    }
    return any;
}

static void end_region(dnet_emu_plug_end_t *e, dnet_emu_verbs_region_t *r)
{
    bool alone = r->watched;

    for (const dnet_emu_verbs_region_t *other = e->regions; other; other = other->next)
        alone = alone && (other->end <= r->from || r->end <= other->from);
    if (alone)
        dnet_emu_unmapped_unwatch(e->unmapped, r->from, r->end);
    deregister(e, r);
    free(r);
}

/* @return whether there was any */
static bool drop_idle(dnet_emu_plug_end_t *e, bool only_gone)
{
    dnet_emu_verbs_region_t *r;

    dnet_emu_unmapped_lock(e->unmapped);
    r = find_idle(e, only_gone);
    dnet_emu_unmapped_unlock(e->unmapped);
    if (r)
        end_region(e, r);
    return r;
}

/* Memory that is lent may be read-only. */
static bool register_it(dnet_emu_plug_end_t *e, dnet_emu_verbs_region_t *r, bool writable)
{
    r->writable = true;
    if (register_by_all(e, r, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ))
        return true;
    if (writable || errno == ENOMEM)
        return false;
    r->writable = false;
    return register_by_all(e, r, IBV_ACCESS_REMOTE_READ);
}

static void say_refused(dnet_emu_plug_end_t *e, size_t bytes, int error)
{
    if (e->refusal_told)
        return;
    e->refusal_told = true;
    dnet_warn("verbs: %s: ibv_reg_mr of a message of %zu KB: %s%s; such messages are copied and go "
              "by packets",
              e->port.text, bytes / 1024, strerror(error),
              error == ENOMEM ? " (ulimit -l limits what can be locked)" : "");
}

static dnet_emu_verbs_region_t *make(dnet_emu_plug_end_t *e, uintptr_t from, uintptr_t end,
                                     bool writable, bool steady)
{
    dnet_emu_verbs_region_t *r = calloc(1, sizeof *r);
    bool registered;

    if (!r)
        return NULL;
    *r = (dnet_emu_verbs_region_t){.from = from, .end = end, .users = 1};
    /* Before it is registered: what happens to it from then on is told. */
    r->watched = !steady && dnet_emu_unmapped_watch(e->unmapped, from, end);
    do
        registered = register_it(e, r, writable);
    while (!registered && errno == ENOMEM && drop_idle(e, false));
    if (!registered) {
        say_refused(e, end - from, errno);
        end_region(e, r);
        return NULL;
    }
    r->kept = steady || (r->watched && dnet_emu_unmapped_is_told(e->unmapped, from, end));
    e->registered++;
    return r;
}

/* What a peer has to know: of two rails a word. */
static dnet_remote_memory_t remote_of(const dnet_emu_verbs_region_t *r, const void *at)
{
    dnet_remote_memory_t memory = {.address = (uintptr_t) at};

    for (unsigned i = 0; i < DNET_RAILS_MAX; i++)
        if (r->mr[i])
            memory.key[i / 2] |= (uint64_t) r->mr[i]->rkey << (i % 2 * 32);
    return memory;
}

/* ---- the plug's operations ---- */

void *dnet_emu_verbs_hold(dnet_emu_plug_end_t *e, const void *at, uint64_t bytes, bool steady,
                          dnet_remote_memory_t *memory_p)
{
    uintptr_t from = (uintptr_t) at & ~(uintptr_t) (PAGE - 1);
    uintptr_t end = ((uintptr_t) at + bytes + PAGE - 1) & ~(uintptr_t) (PAGE - 1);
    dnet_emu_verbs_region_t *r;

    if (!e->unmapped)
        e->unmapped = dnet_emu_unmapped_open(gone, e);
    if (!e->unmapped || (e->fatal && !e->is_rail))
        return NULL;
    while (drop_idle(e, e->regions_count < VERBS_REGIONS))
        ;
    dnet_emu_unmapped_lock(e->unmapped);
    r = find(e, from, end, !memory_p);
    dnet_emu_unmapped_unlock(e->unmapped);
    if (!r) {
        r = make(e, from, end, !memory_p, steady);
        if (!r)
            return NULL;
        dnet_emu_unmapped_lock(e->unmapped);
        put_first(e, r);
        dnet_emu_unmapped_unlock(e->unmapped);
    } else {
        e->reused++;
    }
    if (memory_p)
        *memory_p = remote_of(r, at);
    return r;
}

void dnet_emu_verbs_let_go(dnet_emu_plug_end_t *e, void *held)
{
    dnet_emu_verbs_region_t *r = held, **link = &e->regions;
    bool ends;

    dnet_emu_unmapped_lock(e->unmapped);
    ends = --r->users == 0 && (!r->kept || r->gone);
    while (ends && *link != r)
        link = &(*link)->next;
    if (ends)
        (void) take_out(e, link);
    dnet_emu_unmapped_unlock(e->unmapped);
    if (ends)
        end_region(e, r);
}

void dnet_emu_verbs_forget(dnet_emu_plug_end_t *e, const void *at, uint64_t bytes)
{
    if (!e->unmapped)
        return;
    dnet_emu_unmapped_lock(e->unmapped);
    gone(e, (uintptr_t) at, (uintptr_t) at + bytes);
    dnet_emu_unmapped_unlock(e->unmapped);
}

uint32_t dnet_emu_verbs_key(const void *held, unsigned rail)
{
    const dnet_emu_verbs_region_t *r = held;

    return r->mr[rail] ? r->mr[rail]->lkey : 0;
}

void dnet_emu_verbs_memory_close(dnet_emu_plug_end_t *e)
{
    while (e->regions)
        end_region(e, take_out(e, &e->regions));
    if (e->unmapped)
        dnet_emu_unmapped_close(e->unmapped);
    e->unmapped = NULL;
}

#endif
