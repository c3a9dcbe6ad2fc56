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

#define LIST_BYTES ((DNET_GUESTS_MAX + 1) * sizeof(dnet_guest_t))

/* ---- contacts ---- */

/* Can this job have guests?  DNET_OK, or why not (logged). */
static dnet_status_t check_job(const dnet_ep_t *ep)
{
    const char *why = NULL;
    if (ep->job.cluster)
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

/* Another process of a job that has a port. */
static void describe_by_address(const dnet_ep_t *ep, const dnet_ep_address_t *a,
                                dnet_ep_contact_t *contact_p)
{
    const dnet_ep_address_t *owner = &ep->job.addresses[a->nic_owner];
    dnet_emu_guest_t *g = &contact_p->who.process;
    g->nic = (dnet_emu_locator_t){owner->pid, owner->nic_fd, owner->nic_id, owner->lid};
    g->wid = (uint8_t) a->wid;
    contact_p->host_id = a->host_id;
    contact_p->who.port = a->port[0];
    memcpy(contact_p->who.host, a->host, sizeof(a->host));
}

/* This process, or another of the job, as others know it. */
static void describe(const dnet_ep_t *ep, uint32_t rank, dnet_ep_contact_t *contact_p)
{
    dnet_drv_target_t target = ep->peers[dnet_job_is_near(ep, rank) ? rank : ep->rank].target;
    dnet_emu_guest_t *g = &contact_p->who.process;
    (void) dnet_emu_guest_self(ep->job.emu, dnet_drv_target_lid(target),
                               dnet_drv_target_wid(target), g);
    if (ep->job.addresses) {
        describe_by_address(ep, &ep->job.addresses[rank], contact_p);
    } else {
        contact_p->host_id = dnet_job_host_id(ep);
        dnet_job_host(ep, contact_p->who.host);
    }
    if (g->nic.lid == ep->job.nic.lid)
        g->nic = ep->job.nic;
    g->pid = ep->job.pids[rank];
    g->group = ep->job.id;
    g->member = rank;
}

dnet_status_t dnet_ep_contact(const dnet_ep_t *ep, uint32_t peer, dnet_ep_contact_t *contact_p)
{
    dnet_status_t status = check_job(ep);
    if (status != DNET_OK)
        return status;
    *contact_p = (dnet_ep_contact_t){0};
    if (peer < ep->size)
        describe(ep, peer, contact_p);
    else
        *contact_p = ep->guests.list[peer - ep->size].contact;
    return DNET_OK;
}

/* ---- knowing ---- */

static void update_processors(dnet_ep_t *ep)
{
    ep->oversubscribed = ep->guests.crowded || ep->job.near + ep->guests.near > ep->job.processors;
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

static dnet_status_t know(dnet_ep_t *ep, const dnet_ep_contact_t *contact, bool far,
                          uint32_t *number_p)
{
    dnet_ep_contact_t own = {0};
    uint32_t number;
    describe(ep, ep->rank, &own);
    dnet_status_t status = have_list(ep);
    if (status != DNET_OK)
        return status;
    status =
        far ? dnet_emu_hosts_guest_add(ep->job.emu, &own.who, &contact->who, &number)
            : dnet_emu_guest_add(ep->job.emu, &own.who.process, &contact->who.process, &number);
    if (status != DNET_OK)
        return status;
    dnet_guest_t *g = &ep->guests.list[number];
    if (!g->known) {
        *g = (dnet_guest_t){.known = true, .parted = true, .far = far};
        ep->guests.near += !far;
        if (number >= ep->guests.end)
            ep->guests.end = number + 1;
        ep->peers[ep->size + number] = (dnet_peer_t){
            .target = dnet_drv_target(dnet_emu_guest_lid(number), contact->who.process.wid)};
        update_processors(ep);
    }
    g->contact = *contact;
    *number_p = number;
    return DNET_OK;
}

/* May a process of another host be met? */
static dnet_status_t check_hosts(const dnet_ep_t *ep, const dnet_ep_contact_t *contact)
{
    const dnet_emu_far_process_t *who = &contact->who;
    const dnet_emu_port_address_t *own = ep->job.has_port ? ep->job.addresses[ep->rank].port : NULL;
    const char *why = NULL;
    if (!own)
        why = "this job has no port to other hosts: start it with DIMMNET_CONNECT=hosts";
    else if (who->port.bytes == 0)
        why = "its job has no port to other hosts: start that one with DIMMNET_CONNECT=hosts";
    else if (who->port.plug != own->plug)
        why = "its job is on another network: start both with the same DIMMNET_PLUG";
    else if (!own->alive_port || !who->port.alive_port)
        why = "their network has no IP addresses, by which processes of different jobs meet";
    if (!why)
        return DNET_OK;
    dnet_error("process %d of another job is on another host (%s), and %s", who->process.pid,
               who->host, why);
    return DNET_ERR_STATE;
}

dnet_status_t dnet_ep_add_peer(dnet_ep_t *ep, const dnet_ep_contact_t *contact, uint32_t *peer_p)
{
    const dnet_emu_guest_t *process = &contact->who.process;
    uint32_t number;
    dnet_status_t status = check_job(ep);
    if (status != DNET_OK)
        return status;
    if (process->group == ep->job.id && process->member < ep->size) {
        *peer_p = process->member;
        return DNET_OK;
    }
    bool far = contact->host_id != dnet_job_host_id(ep);
    if (far)
        status = check_hosts(ep, contact);
    if (status == DNET_OK)
        status = know(ep, contact, far, &number);
    if (status != DNET_OK)
        return status;
    ep->guests.list[number].parted = false;
    *peer_p = ep->size + number;
    return DNET_OK;
}

uint32_t dnet_guest_peer(dnet_ep_t *ep, uint32_t number)
{
    dnet_ep_contact_t contact = {0};
    if (number == 0 || number > DNET_GUESTS_MAX)
        return DNET_EP_NO_RANK;
    if (ep->guests.list && ep->guests.list[number].known)
        return ep->size + number;
    bool far = dnet_emu_hosts_guest_find(ep->job.emu, number, &contact.who);
    if ((!far && !dnet_emu_guest_find(ep->job.emu, ep->dev->wid, number, &contact.who.process)) ||
        know(ep, &contact, far, &number) != DNET_OK)
        return DNET_EP_NO_RANK;
    return ep->size + number;
}

uint32_t dnet_guest_self(dnet_ep_t *ep, uint32_t peer)
{
    if (peer < ep->size)
        return ep->rank;
    uint32_t number = peer - ep->size;
    return DNET_HEAD_GUEST |
           (ep->guests.list[number].far ? dnet_emu_hosts_guest_number(ep->job.emu, number)
                                        : dnet_emu_guest_number(ep->job.emu, number));
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

bool dnet_guest_take_back(dnet_ep_t *ep, uint32_t peer)
{
    dnet_guest_t *g = &ep->guests.list[peer - ep->size];
    bool parted = g->parted;
    g->parted = false;
    return parted;
}

/* A guest of another host is known as long as it lives. */
static void forget(dnet_ep_t *ep, uint32_t number)
{
    dnet_guest_t *g = &ep->guests.list[number];
    if (!g->far)
        dnet_emu_guest_drop(ep->job.emu, number);
    else if (!dnet_emu_hosts_guest_drop(ep->job.emu, number))
        return;
    ep->peers[ep->size + number] = (dnet_peer_t){0};
    g->known = false;
    ep->guests.near -= !g->far;
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

static bool has_left(const dnet_ep_t *ep, uint32_t number)
{
    return ep->guests.list[number].far ? dnet_emu_hosts_guest_left(ep->job.emu, number)
                                       : dnet_emu_guest_left(ep->job.emu, number);
}

bool dnet_guest_has_left(const dnet_ep_t *ep, uint32_t peer)
{
    return peer >= ep->size && has_left(ep, peer - ep->size);
}

bool dnet_guest_is_free_to_end(const dnet_ep_t *ep, uint32_t peer)
{
    const dnet_guest_t *g = &ep->guests.list[peer - ep->size];
    return g->known && (g->parted || g->asked);
}

bool dnet_guest_is_away(const dnet_ep_t *ep, uint32_t peer)
{
    return dnet_guest_has_left(ep, peer) ||
           (dnet_guest_is_free_to_end(ep, peer) && is_lost(ep, peer - ep->size));
}

static void tell_lost(const dnet_ep_t *ep, uint32_t number, const char *what)
{
    const dnet_emu_far_process_t *who = &ep->guests.list[number].contact.who;
    dnet_drv_target_t target = ep->peers[ep->size + number].target;
    const char *why =
        dnet_emu_hosts_why(ep->job.emu, dnet_drv_target_lid(target), dnet_drv_target_wid(target));
    if (ep->guests.list[number].far)
        dnet_error("rank %u of another job (pid %d on host %s) %s", who->process.member,
                   who->process.pid, who->host, why ? why : what);
    else
        dnet_error("rank %u of another job (pid %d) %s", who->process.member, who->process.pid,
                   what);
}

void dnet_ep_set_asked(dnet_ep_t *ep, uint32_t peer, bool asked)
{
    if (peer >= ep->size && peer < dnet_peers_end(ep))
        ep->guests.list[peer - ep->size].asked = asked;
}

bool dnet_ep_peer_gone(const dnet_ep_t *ep, uint32_t peer)
{
    return peer >= ep->size && peer < dnet_peers_end(ep) &&
           (has_left(ep, peer - ep->size) || is_lost(ep, peer - ep->size));
}

bool dnet_guests_lost(dnet_ep_t *ep, bool quiet)
{
    for (uint32_t n = 1; n < ep->guests.end; n++) {
        const dnet_guest_t *g = &ep->guests.list[n];
        const char *what = NULL;
        if (!g->known || g->asked)
            continue;
        bool lost = (g->far || !g->parted) && is_lost(ep, n);
        if (g->parted && quiet) {
            forget(ep, n);
            continue;
        }
        if (!g->parted && lost)
            what = "has ended without leaving its job";
        else if (ep->peers[ep->size + n].channel && has_left(ep, n))
            what = "has left, and has not received what was sent to it";
        if (!what)
            continue;
        if (!ep->progress.dead_reported)
            tell_lost(ep, n, what);
        return true;
    }
    return false;
}

void dnet_guests_leave(dnet_ep_t *ep)
{
    for (uint32_t n = 1; n < ep->guests.end; n++)
        if (ep->guests.list[n].known && !ep->guests.list[n].far)
            dnet_emu_guest_drop(ep->job.emu, n);
    if (ep->guests.list)
        munmap(ep->guests.list, LIST_BYTES);
}
