/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Processes of other jobs.  A guest has a number in the NIC's table, which is its peer number less
 * the job's ranks; who sends enters itself there, so that a process may be known that
 * dnet_ep_add_peer() was never called for.
 */
#include "endpoint/guests.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#define CONTACT_VERSION 1u
#define LIST_BYTES ((DNET_GUESTS_MAX + 1) * sizeof(dnet_guest_t))

/* ---- contacts ---- */

/* Can this job have guests?  DNET_OK, or why not (logged). */
static dnet_status_t check_job(const dnet_ep_t *ep)
{
    const char *why = NULL;
    if (ep->job.spans_hosts)
        why = "its ranks are on several hosts, and that is for jobs of one host";
    else if (ep->job.cluster)
        why =
            "it lives on a cluster (DIMMNET_CLUSTER), whose nodes are given to ranks at its start";
    else if (dnet_job_profile(ep) != DNET_PROFILE_EXTENDED)
        why = "DIMMNET_PROFILE=prototype cannot do that; use the extended profile";
    else if (ep->options.flow != 0)
        why = "DIMMNET_FLOW must be stop for that";
    if (why) {
        dnet_error("no processes can be added to this job, or connected to it: %s", why);
        return DNET_ERR_STATE;
    }
    if (ep->job.nics >= DNET_GUESTS_CLID) {
        dnet_error("no processes can be added to a job of %u ranks, or connected to it; to one of "
                   "%u they can",
                   ep->size, (DNET_GUESTS_CLID - 1) * DNET_PROCESSES_PER_NIC);
        return DNET_ERR_LIMIT;
    }
    return DNET_OK;
}

/* This process, or another of the job, as others know it. */
static void describe(const dnet_ep_t *ep, uint32_t rank, dnet_emu_guest_t *who_p)
{
    dnet_drv_target_t target = ep->peers[rank].target;
    (void) dnet_emu_guest_self(ep->job.emu, dnet_drv_target_lid(target),
                               dnet_drv_target_wid(target), who_p);
    if (dnet_drv_target_lid(target) == ep->job.nic.lid)
        who_p->nic = ep->job.nic;
    who_p->pid = ep->job.pids[rank];
    who_p->group = ep->job.id;
    who_p->member = rank;
}

dnet_status_t dnet_ep_contact(const dnet_ep_t *ep, uint32_t peer, dnet_ep_contact_t *contact_p)
{
    dnet_status_t status = check_job(ep);
    if (status != DNET_OK)
        return status;
    memset(contact_p, 0, sizeof(*contact_p)); /* contacts are compared as bytes */
    contact_p->version = CONTACT_VERSION;
    contact_p->host_id = dnet_job_host_id(ep);
    dnet_job_host(ep, contact_p->host);
    if (peer < ep->size)
        describe(ep, peer, &contact_p->process);
    else
        contact_p->process = ep->guests.list[peer - ep->size].who;
    return DNET_OK;
}

/* ---- knowing ---- */

static void update_processors(dnet_ep_t *ep)
{
    ep->oversubscribed = ep->guests.crowded || ep->job.near + ep->guests.count > ep->job.processors;
}

static dnet_status_t have_list(dnet_ep_t *ep)
{
    if (ep->guests.list)
        return DNET_OK;
    void *list = mmap(NULL, LIST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (list == MAP_FAILED)
        return DNET_ERR_NO_MEMORY;
    ep->guests.list = list;
    ep->guests.crowded = ep->oversubscribed;
    return DNET_OK;
}

static dnet_status_t know(dnet_ep_t *ep, const dnet_emu_guest_t *who, uint32_t *number_p)
{
    dnet_emu_guest_t own = {0};
    uint32_t number;
    describe(ep, ep->rank, &own);
    dnet_status_t status = have_list(ep);
    if (status == DNET_OK)
        status = dnet_emu_guest_add(ep->job.emu, &own, who, &number);
    if (status != DNET_OK)
        return status;
    dnet_guest_t *g = &ep->guests.list[number];
    if (!g->known) {
        *g = (dnet_guest_t){.known = true, .parted = true};
        ep->guests.count++;
        if (number >= ep->guests.end)
            ep->guests.end = number + 1;
        ep->peers[ep->size + number] =
            (dnet_peer_t){.target = dnet_drv_target(dnet_emu_guest_lid(number), who->wid)};
        update_processors(ep);
    }
    g->who = *who;
    *number_p = number;
    return DNET_OK;
}

static dnet_status_t check_contact(const dnet_ep_t *ep, const dnet_ep_contact_t *contact)
{
    if (contact->version != CONTACT_VERSION || contact->process.wid >= DNET_PROCESSES_PER_NIC ||
        contact->process.nic.id == 0) {
        dnet_error("a process of another job has sent no contact of this library's version");
        return DNET_ERR_FORMAT;
    }
    if (contact->host_id != dnet_job_host_id(ep)) {
        dnet_error("process %d of another job is on another host (%.*s); jobs that are to be "
                   "connected, and processes that are spawned, must be on one host",
                   contact->process.pid, (int) DNET_EP_HOST_BYTES - 1, contact->host);
        return DNET_ERR_STATE;
    }
    return DNET_OK;
}

dnet_status_t dnet_ep_add_peer(dnet_ep_t *ep, const dnet_ep_contact_t *contact, uint32_t *peer_p)
{
    uint32_t number;
    dnet_status_t status = check_job(ep);
    if (status == DNET_OK)
        status = check_contact(ep, contact);
    if (status != DNET_OK)
        return status;
    if (contact->process.group == ep->job.id && contact->process.member < ep->size) {
        *peer_p = contact->process.member;
        return DNET_OK;
    }
    status = know(ep, &contact->process, &number);
    if (status != DNET_OK)
        return status;
    ep->guests.list[number].parted = false;
    *peer_p = ep->size + number;
    return DNET_OK;
}

uint32_t dnet_guest_peer(dnet_ep_t *ep, uint32_t number)
{
    dnet_emu_guest_t who;
    if (number == 0 || number > DNET_GUESTS_MAX)
        return DNET_EP_NO_RANK;
    if (ep->guests.list && ep->guests.list[number].known)
        return ep->size + number;
    if (!dnet_emu_guest_find(ep->job.emu, ep->dev->wid, number, &who) ||
        know(ep, &who, &number) != DNET_OK)
        return DNET_EP_NO_RANK;
    return ep->size + number;
}

uint32_t dnet_guest_self(dnet_ep_t *ep, uint32_t peer)
{
    return peer < ep->size ? ep->rank
                           : dnet_emu_guest_number(ep->job.emu, peer - ep->size) | DNET_HEAD_GUEST;
}

bool dnet_guest_direct(dnet_ep_t *ep, uint32_t peer)
{
    dnet_guest_t *g = &ep->guests.list[peer - ep->size];
    dnet_drv_target_t target = ep->peers[peer].target;
    if (!g->tried)
        g->direct = ep->dev->ops->can_copy(ep->dev, dnet_drv_target_lid(target),
                                           dnet_drv_target_wid(target));
    g->tried = true;
    return g->direct;
}

uint32_t dnet_ep_peers(const dnet_ep_t *ep)
{
    return dnet_peers_end(ep);
}

/* ---- forgetting ---- */

void dnet_ep_drop_peer(dnet_ep_t *ep, uint32_t peer)
{
    if (peer >= ep->size && peer < dnet_peers_end(ep))
        ep->guests.list[peer - ep->size].parted = true;
}

static void forget(dnet_ep_t *ep, uint32_t number)
{
    dnet_emu_guest_drop(ep->job.emu, number);
    ep->peers[ep->size + number] = (dnet_peer_t){0};
    ep->guests.list[number].known = false;
    ep->guests.count--;
    while (ep->guests.end > 0 && !ep->guests.list[ep->guests.end - 1].known)
        ep->guests.end--;
    update_processors(ep);
}

static bool is_lost(const dnet_ep_t *ep, uint32_t number)
{
    dnet_drv_target_t target = ep->peers[ep->size + number].target;
    return ep->dev->ops->peer_lost(ep->dev, dnet_drv_target_lid(target),
                                   dnet_drv_target_wid(target));
}

bool dnet_guests_lost(dnet_ep_t *ep, bool quiet)
{
    for (uint32_t n = 1; n < ep->guests.end; n++) {
        const dnet_guest_t *g = &ep->guests.list[n];
        const char *what = NULL;
        if (!g->known)
            continue;
        if (g->parted && quiet) {
            forget(ep, n);
            continue;
        }
        if (!g->parted && is_lost(ep, n))
            what = "has ended without leaving its job";
        else if (ep->peers[ep->size + n].channel && dnet_emu_guest_left(ep->job.emu, n))
            what = "has left, and has not received what was sent to it";
        if (!what)
            continue;
        if (!ep->progress.dead_reported)
            dnet_error("rank %u of another job (pid %d) %s", g->who.member, g->who.pid, what);
        return true;
    }
    return false;
}

void dnet_guests_leave(dnet_ep_t *ep)
{
    for (uint32_t n = 1; n < ep->guests.end; n++)
        if (ep->guests.list[n].known)
            dnet_emu_guest_drop(ep->job.emu, n);
    if (ep->guests.list)
        munmap(ep->guests.list, LIST_BYTES);
}
