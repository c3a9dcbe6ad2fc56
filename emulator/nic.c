/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The NIC as a whole: making, joining and opening it, what register stores do (data sheet sections
 * 3 and 4), reset, sleeping.
 */
#include "config.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/trace.h"
#include "emulator/nic.h"

#define SETTLE_NS 1000
#define SLEEP_FRESH_US 1000

#ifdef DNET_TIMING
_Thread_local uint64_t dnet_emu_busy[DNET_UNIT_COUNT];
#endif

/* ---- processes ---- */

/* Has that process ended?  True also when only its exit status is left. */
DNET_EMU_COLD bool dnet_emu_process_ended(int32_t pid)
{
    int fd = (int) syscall(SYS_pidfd_open, pid, 0);
    struct pollfd state = {.fd = fd, .events = POLLIN};
    bool ended;

    if (fd < 0)
        return errno == ESRCH;
    ended = poll(&state, 1, 0) == 1;
    close(fd);
    return ended;
}

/* ---- reset ---- */

static bool is_system(const char *page)
{
    return page[0] == 'S';
}

/* Give the registers of a page their reset values (section 4; tables of registers.def). */
static void reset_page(const dnet_emu_nic_t *nic, bool system, unsigned wid)
{
    uint8_t *store = system ? nic->sreg_store : nic->area[wid].ureg_store;
    uint8_t *load = system ? nic->sreg_load : nic->area[wid].ureg_load;

#define PAGE_STORE_W store
#define PAGE_STORE_R load
#define DNET_REGISTER(page, name, offset, access, reset, effect, clause, title) \
    if (is_system(#page) == system) \
        dnet_emu_publish(PAGE_STORE_##access + (offset), (reset));
#include "dimmnet/registers.def"
#undef DNET_REGISTER
#undef PAGE_STORE_W
#undef PAGE_STORE_R
}

/* [nic 4.6, OP-40] Everything of one WID that Controller Reset clears. */
static void reset_wid(dnet_emu_nic_t *nic, unsigned wid, bool ready)
{
    dnet_emu_wid_t *s = nic->area[wid].state;

    dnet_emu_rc_acquire(nic, s);
    reset_page(nic, false, wid);
    if (ready)
        dnet_emu_status_set(nic, wid, DNET_MASK(CS_SDIMM_READY));
    /* [nic 10.3] all Valid and Complete are 0 */
    memset(nic->area[wid].lh, 0, nic->lh_mask + 1ul);
    s->lh_tail = 0;
    s->lh_head_seen = 0;
    s->lh_flags = 1;
    s->lh_limit = 0;
    s->packets = 0;
    s->status_base = 0;
    s->status_tail = 0;
    s->rc_state = 0;
    for (unsigned slot = 0; slot < nic->aperture_slots; slot++)
        atomic_store_explicit(&s->aperture[slot].length, 0, memory_order_relaxed);
    if (nic->flow_entries) {
        memset(nic->area[wid].flow, 0, s->flow_ready * sizeof(dnet_flow_entry_t));
        s->flow_tail = 0;
    }
    dnet_emu_wc_reset(nic, wid);
    dnet_emu_rc_release(s);
}

static void controller_reset(dnet_emu_nic_t *nic)
{
    bool ready = dnet_emu_sodimm_ready(nic);

    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        reset_wid(nic, w, ready);
    atomic_store_explicit(&nic->state->stalled_by, 0, memory_order_release);
}

/* [nic 4.6] The Subnet Manager Agent: in an emulated subnet it answers at once. */
static void sma_start(const dnet_emu_nic_t *nic)
{
    dnet_emu_publish(nic->sreg_load + DNET_SREG_SMA_LID,
                     DNET_PUT(nic->lid, SMA_LID) | DNET_PUT(3, SMA_STATE));
}

static void power_on(dnet_emu_nic_t *nic, bool paused)
{
    reset_page(nic, true, 0);
    controller_reset(nic);
    memset(nic->state->amt_address, 0, sizeof nic->state->amt_address);
    if (paused && nic->flow_entries)
        for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
            dnet_emu_publish(nic->area[w].ureg_store + DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_PAUSED);
    sma_start(nic);
}

/* ---- registers ---- */

/* [nic 4.6] Stores to the System Register page that do something. */
DNET_EMU_COLD static void system_store(dnet_emu_device_t *d, uint32_t offset)
{
    dnet_emu_nic_t *nic = d->nic;

    if (!d->dev.sreg_store)
        return;
    switch (offset) {
        case DNET_SREG_SODIMM_INIT:
            if (dnet_emu_sreg(nic, offset) & 1) /* OP-43 */
                for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
                    dnet_emu_status_set(nic, w, DNET_MASK(CS_SDIMM_READY));
            break;
        case DNET_SREG_SMA_SOFTWARE_RESET:
            sma_start(nic);
            break;
        case DNET_SREG_CONTROLLER_RESET:
            controller_reset(nic);
            break;
        case DNET_SREG_AMT_ADDRESS_TABLE:
            dnet_emu_amt_set(nic, dnet_emu_sreg(nic, offset));
            break;
    }
}

/* [nic 4.1] Stores to the User Register page that do something, but for requests. */
DNET_EMU_COLD static void user_store(dnet_emu_device_t *d, uint32_t offset)
{
    dnet_emu_nic_t *nic = d->nic;
    dnet_emu_wid_t *s = d->area->state;
    unsigned wid = d->dev.wid;

    switch (offset) {
        case DNET_UREG_PRIMITIVE_COUNTER_RESET:
            dnet_emu_publish(d->area->ureg_load + DNET_UREG_PRIMITIVE_COUNTER, 0);
            break;
        case DNET_UREG_PACKET_COUNTER_RESET:
            dnet_emu_rc_acquire(nic, s);
            s->packets = 0;
            dnet_emu_publish(d->area->ureg_load + DNET_UREG_PACKET_COUNTER, 0);
            dnet_emu_rc_release(s);
            break;
        case DNET_UREG_STATUS_INITIAL_ADDRESS:
            dnet_emu_rc_acquire(nic, s);
            dnet_emu_swu_restart(nic, wid);
            dnet_emu_rc_release(s);
            break;
        case DNET_UREG_STATUS_NEXT_READ:
        case DNET_UREG_STATUS_AREA_SIZE:
            dnet_emu_rc_acquire(nic, s);
            dnet_emu_swu_show(nic, wid);
            dnet_emu_rc_release(s);
            break;
        case DNET_UREG_AMT_OWN:
            dnet_emu_amt_set_own(nic, d->dev.wid);
            break;
        case DNET_UREG_LH_LIMIT:
            dnet_emu_limit_arm(nic, wid);
            break;
    }
}

/* [nic 3, OP-44] Is there a register to store to?  Controller Reset also answers loads. */
static bool is_register(uint32_t offset, bool system)
{
#define DNET_REGISTER(page, name, at, access, reset, effect, clause, title) \
    IS_CASE_##access(#page, at)
#define IS_CASE_W(page, at) \
    if (offset == (at) && is_system(page) == system) \
        return true;
#define IS_CASE_R(page, at)
#include "dimmnet/registers.def"
#undef DNET_REGISTER
#undef IS_CASE_W
#undef IS_CASE_R
    return false;
}

DNET_EMU_COLD static void trace_kick(const dnet_device_t *dev, uint32_t offset, bool system_page)
{
    const uint8_t *page = system_page ? dev->sreg_store : dev->ureg_store;
    bool readable = page && offset % 8 == 0 && offset < DNET_EMU_PAGE;

    DNET_TRACE(kick, dev->wid, offset | (uint64_t) system_page << 16,
               readable ? dnet_emu_peek(page + offset) : 0);
}

/* The host has stored to a register. */
void dnet_emu_kick(dnet_device_t *dev, uint32_t offset, bool system_page)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;

    if (DNET_EMU_UNLIKELY(dnet_trace_on(DNET_TRACE_kick)))
        trace_kick(dev, offset, system_page);
    if (DNET_EMU_LIKELY(!system_page && offset == DNET_UREG_COMMAND0_LOWER))
        dnet_emu_wc_request(d, dnet_emu_observe(dev->ureg_store + offset), false);
    else if (!system_page && offset == DNET_UREG_APERTURE_LENGTH)
        dnet_emu_aperture_set(d->nic, dev->wid); /* before each message of more than a window */
    else if (!system_page && offset == DNET_UREG_COMMAND1_LOWER)
        dnet_emu_wc_request(d, dnet_emu_observe(dev->ureg_store + offset), true);
    else if (!is_register(offset, system_page))
        dnet_emu_event(d->nic, DNET_EMU_DROP_STORE);
    else if (system_page)
        system_store(d, offset);
    else
        user_store(d, offset);
}

/* ---- sleeping ---- */

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

/*
 * Sleep until a packet arrives for this WID.  Senders look at `sleeping` after they have delivered,
 * with no barrier of their own, so one may miss it whose delivery is not visible yet: both are
 * under way for as long as a processor keeps stores to itself, some 0.1 us.  So the rings are
 * looked at for SETTLE_NS more, and a process that has just set `sleeping` sleeps for
 * SLEEP_FRESH_US at most, whatever it is asked for.
 *
 * A barrier on every processor (membarrier) would need neither, but takes 8 us here, and 5 us of
 * whoever runs on another processor: of 64 senders that were stopped the bystanders lost a third of
 * their time so.
 *
 * `sleeping` stays set when nothing has come: whoever goes on sleeping is known to sleep, and for
 * others it costs one wake-up for nothing.
 */
static void device_sleep(dnet_device_t *dev, uint32_t timeout_us, bool (*still_idle)(void *),
                         void *arg)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    dnet_emu_wid_t *s = d->area->state;
    bool fresh = atomic_exchange_explicit(&s->sleeping, 1, memory_order_seq_cst) == 0;
    bool idle = still_idle(arg), timed_out = false;
    struct timespec timeout;

    for (uint64_t start = now_ns(); fresh && idle && now_ns() - start < SETTLE_NS;)
        idle = still_idle(arg);
    if (fresh && timeout_us > SLEEP_FRESH_US)
        timeout_us = SLEEP_FRESH_US;
    timeout = (struct timespec){.tv_sec = timeout_us / 1000000,
                                .tv_nsec = (long) (timeout_us % 1000000) * 1000};
    if (idle)
        timed_out = syscall(SYS_futex, &s->sleeping, FUTEX_WAIT, 1, &timeout, NULL, 0) != 0 &&
                    errno == ETIMEDOUT;
    if (!timed_out)
        atomic_store_explicit(&s->sleeping, 0, memory_order_relaxed);
}

/* ---- making, joining, opening ---- */

static dnet_emu_nic_t *nic_alloc(void)
{
    dnet_emu_nic_t *nic = calloc(1, sizeof *nic);

    if (!nic)
        dnet_error("no memory for a NIC: %zu bytes needed", sizeof *nic);
    else
        nic->fd = -1;
    return nic;
}

/* The table of routes, which only a NIC that sends needs. */
static dnet_status_t routes_alloc(dnet_emu_nic_t *nic)
{
    if (nic->route)
        return DNET_OK;
    nic->route = calloc(DNET_EMU_PEERS, sizeof *nic->route);
    if (!nic->route) {
        dnet_error("no memory for routes: %zu bytes needed", DNET_EMU_PEERS * sizeof *nic->route);
        return DNET_ERR_NO_MEMORY;
    }
    nic->route[dnet_lid_to_clid(nic->lid)].nic = nic; /* loopback (OP-57) */
    return DNET_OK;
}

static void set_options(dnet_emu_nic_t *nic)
{
    nic->pgid_check = !(nic->header->options & DNET_EMU_NO_PGID_CHECK);
    nic->strict_swid = nic->header->options & DNET_EMU_STRICT_SWID;
    nic->in_line = !nic->extended || (nic->header->options & DNET_EMU_IN_LINE);
}

dnet_status_t dnet_emu_create(const dnet_emu_config_t *config, dnet_emu_nic_t **nic_p)
{
    dnet_emu_nic_t *nic;
    dnet_status_t status;

    if (config->lid == 0 || config->lid > DNET_LID_UNICAST_LAST ||
        dnet_clid_to_lid(dnet_lid_to_clid(config->lid)) != config->lid) {
        dnet_error("LID %#x cannot be assigned to a NIC", config->lid);
        return DNET_ERR_ARGUMENT;
    }
    nic = nic_alloc();
    if (!nic)
        return DNET_ERR_NO_MEMORY;
    status = dnet_emu_segment_create(nic, config);
    if (status != DNET_OK) {
        free(nic);
        return status;
    }
    power_on(nic, config->start_paused);
    set_options(nic);
    *nic_p = nic;
    return DNET_OK;
}

void dnet_emu_locate(const dnet_emu_nic_t *nic, dnet_emu_locator_t *locator_p)
{
    *locator_p =
        (dnet_emu_locator_t){.pid = nic->pid, .fd = nic->fd, .id = nic->id, .lid = nic->lid};
}

static dnet_status_t attach(const dnet_emu_locator_t *locator, bool watch, dnet_emu_nic_t **nic_p)
{
    dnet_emu_nic_t *nic = nic_alloc();
    dnet_status_t status;

    if (!nic)
        return DNET_ERR_NO_MEMORY;
    nic->watched = watch;
    status = dnet_emu_segment_attach(nic, locator);
    if (status != DNET_OK) {
        free(nic);
        return status;
    }
    set_options(nic);
    *nic_p = nic;
    return DNET_OK;
}

dnet_status_t dnet_emu_attach(const dnet_emu_locator_t *locator, dnet_emu_nic_t **nic_p)
{
    return attach(locator, false, nic_p);
}

dnet_status_t dnet_emu_watch(const dnet_emu_locator_t *locator, dnet_emu_nic_t **nic_p)
{
    return attach(locator, true, nic_p);
}

void dnet_emu_close_descriptor(dnet_emu_nic_t *nic)
{
    close(nic->fd);
    nic->fd = -1;
}

void dnet_emu_detach(dnet_emu_nic_t *nic)
{
    for (unsigned i = 0; nic->route && i < DNET_EMU_PEERS; i++)
        if (nic->route[i].nic && nic->route[i].nic != nic)
            dnet_emu_detach(nic->route[i].nic);
    free(nic->route);
    dnet_emu_network_leave(nic);
    free(nic->faults);
    dnet_emu_segment_unmap(nic);
    free(nic);
}

dnet_status_t dnet_emu_route(dnet_emu_nic_t *nic, const dnet_emu_locator_t *locator)
{
    uint16_t clid = dnet_lid_to_clid(locator->lid);
    dnet_status_t status = routes_alloc(nic);

    if (status != DNET_OK)
        return status;
    if (locator->lid == 0 || locator->lid > DNET_LID_UNICAST_LAST ||
        dnet_clid_to_lid(clid) != locator->lid) {
        dnet_error("no route to LID %#x: not a LID of a NIC", locator->lid);
        return DNET_ERR_ARGUMENT;
    }
    if (locator->lid != nic->lid) {
        nic->route[clid].at = *locator;
        nic->route[clid].failed = false;
    }
    return DNET_OK;
}

static void device_close(dnet_device_t *dev)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;

    if (!d->nic->watched)
        atomic_store_explicit(&d->area->state->owner, 0, memory_order_release);
    free(d);
}

/* The process that has a WID open, if that is another one that lives; else 0. */
static int32_t other_owner(const dnet_emu_nic_t *nic, unsigned wid)
{
    int32_t owner = atomic_load_explicit(&nic->area[wid].state->owner, memory_order_acquire);

    return owner != 0 && owner != nic->pid && !dnet_emu_process_ended(owner) ? owner : 0;
}

dnet_status_t dnet_emu_restart(dnet_emu_nic_t *nic, bool start_paused)
{
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        if (!other_owner(nic, w))
            continue;
        dnet_error("NIC %#x: process %d has WID %u open", nic->lid, other_owner(nic, w), w);
        return DNET_ERR_STATE;
    }
    dnet_emu_segment_forget(nic);
    power_on(nic, start_paused);
    return DNET_OK;
}

void dnet_emu_set_member(dnet_device_t *dev, uint32_t member)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;

    atomic_store_explicit(&d->area->state->member, member + 1, memory_order_release);
}

/* ---- peers ---- */

static bool device_peer_lost(dnet_device_t *dev, uint16_t lid, unsigned wid)
{
    const dnet_emu_nic_t *nic = ((dnet_emu_device_t *) (void *) dev)->nic;
    uint16_t clid = dnet_lid_to_clid(lid);
    const dnet_emu_nic_t *peer;
    int32_t pid;

    if (wid >= DNET_PROCESSES_PER_NIC || !nic->route || dnet_clid_to_lid(clid) != lid)
        return false;
    peer = nic->route[clid].nic;
    if (!peer)
        return nic->route[clid].failed;
    /* Closing a device clears its owner; a process that is killed does not. */
    pid = atomic_load_explicit(&peer->area[wid].state->owner, memory_order_acquire);
    return pid != 0 && pid != nic->pid && dnet_emu_process_ended(pid);
}

static bool device_can_copy(dnet_device_t *dev, uint16_t lid, unsigned wid)
{
    const dnet_emu_nic_t *nic = ((dnet_emu_device_t *) (void *) dev)->nic;
    uint16_t clid = dnet_lid_to_clid(lid);
    const dnet_emu_nic_t *peer;
    dnet_emu_nic_t *joined = NULL;
    bool can = false;
    int32_t pid;

    if (wid >= DNET_PROCESSES_PER_NIC || !nic->route || dnet_clid_to_lid(clid) != lid)
        return false;
    peer = nic->route[clid].nic;
    if (!peer) {
        if (nic->route[clid].at.id == 0 ||
            dnet_emu_attach(&nic->route[clid].at, &joined) != DNET_OK)
            return false;
        peer = joined;
    }
    pid = atomic_load_explicit(&peer->area[wid].state->owner, memory_order_acquire);
    if (pid == nic->pid) {
        can = true;
    } else if (pid != 0) {
        uint64_t word = 0;

        can = dnet_emu_remote_probe(pid, peer->area[wid].state->probe, &word) &&
              word == DNET_EMU_MAGIC;
    }
    if (joined)
        dnet_emu_detach(joined);
    return can;
}

static const dnet_device_ops_t device_ops = {
    .kick = dnet_emu_kick,
    .run = dnet_emu_wc_run,
    .sleep = device_sleep,
    .event_wait = dnet_emu_limit_wait,
    .event_raise = dnet_emu_limit_raise,
    .reserve = dnet_emu_reserve,
    .unreserve = dnet_emu_unreserve,
    .can_copy = device_can_copy,
    .peer_lost = device_peer_lost,
    .close = device_close,
};

/* Claim a WID for this process; one whose owner has ended is free. */
static bool claim(const dnet_emu_nic_t *nic, unsigned wid)
{
    _Atomic int32_t *owner = &nic->area[wid].state->owner;
    int32_t seen = 0;

    while (!atomic_compare_exchange_strong_explicit(owner, &seen, nic->pid, memory_order_acq_rel,
                                                    memory_order_acquire)) {
        if (seen != 0 && !dnet_emu_process_ended(seen)) {
            dnet_error("NIC %#x: process %d has WID %u open", nic->lid, seen, wid);
            return false;
        }
    }
    atomic_store_explicit(&nic->area[wid].state->member, 0, memory_order_relaxed);
    nic->area[wid].state->probe = (uint64_t) (uintptr_t) nic->header;
    return true;
}

dnet_status_t dnet_emu_open(dnet_emu_nic_t *nic, unsigned wid, bool privileged,
                            dnet_device_t **dev_p)
{
    dnet_emu_device_t *d;
    dnet_emu_areas_t *a;
    dnet_status_t status;

    if (wid >= DNET_PROCESSES_PER_NIC) {
        dnet_error("NIC %#x: no WID %u", nic->lid, wid);
        return DNET_ERR_ARGUMENT;
    }
    status = routes_alloc(nic);
    if (status != DNET_OK)
        return status;
    d = calloc(1, sizeof *d);
    if (!d) {
        dnet_error("no memory for a device: %zu bytes needed", sizeof *d);
        return DNET_ERR_NO_MEMORY;
    }
    if (!nic->watched && !claim(nic, wid)) {
        free(d);
        return DNET_ERR_STATE;
    }
    a = &nic->area[wid];
    d->nic = nic;
    d->area = a;
    if (nic->extended && !nic->watched)
        dnet_emu_wc_reset(nic, wid); /* what a process before has left half done */
    d->dev = (dnet_device_t){
        .ops = &device_ops,
        .ww = a->ww,
        .pw = a->pw,
        .llcm = a->llcm,
        .lh = a->lh,
        .ureg_store = a->ureg_store,
        .ureg_load = a->ureg_load,
        .sreg_store = privileged ? nic->sreg_store : NULL,
        .sreg_load = privileged ? nic->sreg_load : NULL,
        .flow = nic->flow_entries ? a->flow : NULL,
        .sodimm = nic->extended ? a->sodimm : NULL,
        .geometry =
            {
                .ww_count = 4,
                .pw_count = 4,
                .llcm_bytes = nic->llcm_bytes,
                .lh_entries = (nic->lh_mask + 1) / DNET_LH_ENTRY_BYTES,
                .flow_entries = nic->flow_entries,
                .aperture_slots = nic->aperture_slots,
                .sodimm_bytes = dnet_emu_sodimm_area(nic),
            },
        .wid = wid,
    };
    if (privileged)
        nic->privileged = true;
    else if (!nic->privileged && !nic->watched)
        dnet_emu_segment_protect(nic);
    *dev_p = &d->dev;
    return DNET_OK;
}

uint64_t dnet_emu_events(const dnet_emu_nic_t *nic, dnet_emu_event_t event)
{
    return atomic_load_explicit(&nic->state->event[event], memory_order_relaxed);
}
