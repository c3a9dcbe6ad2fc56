/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A NIC from power-on to its end, and the areas of a WID as a device (dimmnet/emulator.h,
 * dimmnet/device.h).
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "emulator/aperture.h"
#include "emulator/limit_event.h"
#include "emulator/memory.h"
#include "emulator/packets.h"
#include "emulator/receive_side.h"
#include "emulator/registers.h"
#include "emulator/segment.h"
#include "emulator/swif/hosts/reads.h"
#include "emulator/swif/swif.h"
#include "emulator/window_controller.h"
#include "emulator/write_unit.h"

#define TELL_NS 1000000000u

/* ---- making, joining, opening ---- */

dnet_status_t dnet_emu_create(const dnet_emu_config_t *config, dnet_emu_nic_t **nic_p)
{
    dnet_emu_nic_t *nic;
    dnet_status_t status;

    if (config->lid == 0 || config->lid > DNET_LID_UNICAST_LAST ||
        dnet_clid_to_lid(dnet_lid_to_clid(config->lid)) != config->lid) {
        dnet_error("LID %#x cannot be assigned to a NIC", config->lid);
        return DNET_ERR_ARGUMENT;
    }
    status = dnet_emu_segment_create(config, &nic);
    if (status != DNET_OK)
        return status;
    dnet_emu_swif_choose(nic);
    dnet_emu_power_on(nic, config->start_paused);
    *nic_p = nic;
    return DNET_OK;
}

static dnet_status_t attach(const dnet_emu_locator_t *locator, unsigned how, dnet_emu_nic_t **nic_p)
{
    dnet_emu_nic_t *nic;
    dnet_status_t status = dnet_emu_segment_attach(locator, how, &nic);

    if (status != DNET_OK)
        return status;
    dnet_emu_swif_choose(nic);
    *nic_p = nic;
    return DNET_OK;
}

dnet_status_t dnet_emu_attach(const dnet_emu_locator_t *locator, dnet_emu_nic_t **nic_p)
{
    return attach(locator, 0, nic_p);
}

dnet_status_t dnet_emu_watch(const dnet_emu_locator_t *locator, dnet_emu_nic_t **nic_p)
{
    return attach(locator, DNET_EMU_ATTACH_WATCH, nic_p);
}

void dnet_emu_locate(const dnet_emu_nic_t *nic, dnet_emu_locator_t *locator_p)
{
    *locator_p =
        (dnet_emu_locator_t){.pid = nic->pid, .fd = nic->fd, .id = nic->id, .lid = nic->lid};
}

void dnet_emu_detach(dnet_emu_nic_t *nic)
{
    dnet_emu_routes_drop(nic);
    dnet_emu_network_leave(nic);
    dnet_emu_hosts_leave(nic);
    free(nic->faults);
    free(nic->fault_point);
    dnet_emu_segment_leave(nic);
}

/* The process that has a WID open, if that is another one that lives; else 0. */
static int32_t other_owner(const dnet_emu_nic_t *nic, unsigned wid)
{
    int32_t owner = atomic_load_explicit(&nic->area[wid].state->owner, memory_order_acquire);

    return owner != 0 && owner != nic->pid && !dnet_emu_process_gone(nic, owner) ? owner : 0;
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
    dnet_emu_power_on(nic, start_paused);
    return DNET_OK;
}

/* ---- devices ---- */

static bool device_can_copy(dnet_device_t *dev, uint16_t lid, unsigned wid)
{
    return dnet_emu_swif_can_copy(((dnet_emu_device_t *) (void *) dev)->nic, lid, wid);
}

static uint32_t device_message_bytes(dnet_device_t *dev)
{
    return dnet_emu_message_bytes(((dnet_emu_device_t *) (void *) dev)->nic);
}

static uint32_t device_copy_time(dnet_device_t *dev)
{
    return dnet_emu_remote_time(((dnet_emu_device_t *) (void *) dev)->nic->pid);
}

static bool device_peer_lost(dnet_device_t *dev, uint16_t lid, unsigned wid)
{
    dnet_emu_nic_t *nic = ((dnet_emu_device_t *) (void *) dev)->nic;

    return dnet_emu_swif_carrier(nic)->lost(nic, lid, wid);
}

static bool device_poll(dnet_device_t *dev, unsigned budget)
{
    dnet_emu_nic_t *nic = ((dnet_emu_device_t *) (void *) dev)->nic;
    const dnet_emu_swif_ops_t *swif = dnet_emu_swif_carrier(nic);

    return swif->poll && swif->poll(nic, budget) > 0;
}

static void device_gather(dnet_device_t *dev, uint32_t bytes)
{
    dnet_emu_nic_t *nic = ((dnet_emu_device_t *) (void *) dev)->nic;
    const dnet_emu_swif_ops_t *swif = dnet_emu_swif_carrier(nic);

    if (swif->gather)
        swif->gather(nic, bytes);
}

static void *device_lend(dnet_device_t *dev, uint16_t lid, unsigned wid, const void *at,
                         uint64_t bytes, dnet_remote_memory_t *memory_p)
{
    return dnet_emu_hosts_lend(((dnet_emu_device_t *) (void *) dev)->nic, lid, wid, at, bytes,
                               memory_p);
}

static void device_send_ahead(dnet_device_t *dev, uint16_t lid, unsigned wid, void *loan)
{
    dnet_emu_hosts_send_ahead(((dnet_emu_device_t *) (void *) dev)->nic, lid, wid, loan);
}

static void device_take_back(dnet_device_t *dev, void *loan)
{
    dnet_emu_hosts_take_back(((dnet_emu_device_t *) (void *) dev)->nic, loan);
}

static bool device_read(dnet_device_t *dev, uint16_t lid, unsigned wid,
                        const dnet_remote_memory_t *from, void *to, uint64_t bytes, void *tag)
{
    return dnet_emu_hosts_read(((dnet_emu_device_t *) (void *) dev)->nic, lid, wid, from, to, bytes,
                               tag);
}

static void *device_read_ended(dnet_device_t *dev, dnet_status_t *status_p)
{
    return dnet_emu_hosts_read_ended(((dnet_emu_device_t *) (void *) dev)->nic, status_p);
}

static void device_unreserve(dnet_device_t *dev, uint64_t offset, uint64_t len)
{
    dnet_emu_hosts_forget(((dnet_emu_device_t *) (void *) dev)->nic, dev->sodimm + offset, len);
    dnet_emu_unreserve(dev, offset, len);
}

/* What a process that goes to sleep is asked once it has said so. */
typedef struct {
    dnet_emu_nic_t *nic;
    bool (*still_idle)(void *);
    void *arg;
    bool armed;
} sleeper_t;

static bool idle_and_armed(void *arg)
{
    sleeper_t *s = arg;

    if (!s->still_idle(s->arg))
        return false;
    if (!s->armed)
        s->armed = dnet_emu_swif_carrier(s->nic)->arm(s->nic);
    return s->armed;
}

static void device_sleep(dnet_device_t *dev, uint32_t timeout_us, bool (*still_idle)(void *),
                         void *arg)
{
    sleeper_t s = {
        .nic = ((dnet_emu_device_t *) (void *) dev)->nic, .still_idle = still_idle, .arg = arg};

    if (dnet_emu_swif_carrier(s.nic)->arm)
        dnet_emu_sleep(dev, timeout_us, idle_and_armed, &s);
    else
        dnet_emu_sleep(dev, timeout_us, still_idle, arg);
}

static dnet_status_t device_copy(dnet_device_t *dev, uint16_t lid, unsigned wid, bool stores,
                                 dnet_ranges_t own, dnet_ranges_t theirs)
{
    return dnet_emu_swif_copy(((dnet_emu_device_t *) (void *) dev)->nic, lid, wid, stores, own,
                              theirs);
}

static void *device_map(dnet_device_t *dev, uint16_t lid, unsigned wid, uint64_t offset,
                        uint64_t len)
{
    return dnet_emu_swif_map(((dnet_emu_device_t *) (void *) dev)->nic, lid, wid, offset, len);
}

static void device_unmap(dnet_device_t *dev, void *memory, uint64_t len)
{
    (void) dev;
    munmap(memory, len);
}

static void device_expect(dnet_device_t *dev, uint16_t lid, unsigned wid, uint32_t bytes)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    const dnet_emu_nic_t *to = dnet_emu_swif_near(d->nic, lid);

    if (to)
        dnet_emu_wu_expect(to, wid, dnet_emu_lid(d->nic), dev->wid, bytes);
}

static void device_wake(dnet_device_t *dev, uint16_t lid, unsigned wid)
{
    dnet_emu_swif_wake(((dnet_emu_device_t *) (void *) dev)->nic, lid, wid);
}

/* A sender that lives finishes its entry some hundred nanoseconds after it has got it. */
static void device_settle(dnet_device_t *dev)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    uint32_t at = 0;
    int32_t late = dnet_emu_rc_bury(d->nic, dev->wid, &at);
    uint64_t now = dnet_clock_ns();

    if (late != d->late || at != d->late_at) {
        d->late = late;
        d->late_at = at;
        d->late_since_ns = now;
        d->late_told = false;
    } else if (late != 0 && !d->late_told && now - d->late_since_ns >= TELL_NS) {
        d->late_told = !dnet_emu_process_gone(d->nic, late);
        if (d->late_told)
            dnet_warn("process %d has been in the middle of a packet to this process for 1 s, and "
                      "all that came after it waits: it %s",
                      late, dnet_emu_process_doing(late));
        else /* the next look makes its entry void */
            dnet_emu_disown_entry(d->nic, dev->wid, at, late);
    }
}

/* The devices that this process has open. */
static struct {
    pthread_mutex_t lock;
    dnet_emu_device_t *first;
} opened = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* They are held. */
static bool is_opened(const dnet_emu_nic_t *nic, unsigned wid)
{
    const dnet_emu_device_t *d = opened.first;

    while (d && (d->nic_id != nic->id || d->dev.wid != wid))
        d = d->next;
    return d != NULL;
}

/* One before may have had the number of this process. */
static bool is_used(const dnet_emu_nic_t *nic, unsigned wid, int32_t owner)
{
    return owner == nic->pid ? is_opened(nic, wid) : !dnet_emu_process_gone(nic, owner);
}

/* Claim a WID for this process; one whose owner has ended is free.  The devices are held. */
static bool claim(const dnet_emu_nic_t *nic, unsigned wid)
{
    _Atomic int32_t *owner = &nic->area[wid].state->owner;
    int32_t seen = 0;

    while (!atomic_compare_exchange_strong_explicit(owner, &seen, nic->pid, memory_order_acq_rel,
                                                    memory_order_acquire)) {
        if (seen != 0 && is_used(nic, wid, seen)) {
            dnet_error("NIC %#x: process %d has WID %u open", nic->lid, seen, wid);
            return false;
        }
    }
    atomic_store_explicit(&nic->area[wid].state->member, 0, memory_order_relaxed);
    nic->area[wid].state->probe = (uint64_t) (uintptr_t) nic->header;
    return true;
}

/* Claim the WID of a device, which has its NIC and WID. */
static bool enter(dnet_emu_device_t *d)
{
    bool good;

    pthread_mutex_lock(&opened.lock);
    good = claim(d->nic, d->dev.wid);
    if (good) {
        d->next = opened.first;
        opened.first = d;
    }
    pthread_mutex_unlock(&opened.lock);
    return good;
}

/* The opposite. */
static void leave(dnet_emu_device_t *d)
{
    dnet_emu_device_t **at = &opened.first;

    pthread_mutex_lock(&opened.lock);
    while (*at && *at != d)
        at = &(*at)->next;
    if (*at)
        *at = d->next;
    atomic_store_explicit(&d->area->state->owner, 0, memory_order_release);
    pthread_mutex_unlock(&opened.lock);
}

static void device_close(dnet_device_t *dev)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;

    if (!d->nic->watched)
        leave(d);
    free(d);
}

static const dnet_device_ops_t device_ops = {
    .kick = dnet_emu_kick,
    .run = dnet_emu_wc_run,
    .settle = device_settle,
    .poll = device_poll,
    .gather = device_gather,
    .lend = device_lend,
    .send_ahead = device_send_ahead,
    .take_back = device_take_back,
    .read = device_read,
    .read_ended = device_read_ended,
    .sleep = device_sleep,
    .yield = dnet_emu_yield,
    .event_wait = dnet_emu_limit_wait,
    .event_raise = dnet_emu_limit_raise,
    .reserve = dnet_emu_reserve,
    .unreserve = device_unreserve,
    .can_copy = device_can_copy,
    .copy_time = device_copy_time,
    .message_bytes = device_message_bytes,
    .copy = device_copy,
    .peer_lost = device_peer_lost,
    .expect = device_expect,
    .map = device_map,
    .unmap = device_unmap,
    .wake = device_wake,
    .close = device_close,
};

/* The memory of a WID comes to the process that has it.  False: no memory, logged. */
static bool place(dnet_emu_nic_t *nic, unsigned wid)
{
    bool good;

    dnet_emu_rc_acquire(nic, wid);
    good = dnet_emu_memory_place(nic, wid);
    dnet_emu_rc_release(nic->area[wid].state);
    if (good) {
        dnet_emu_memory_touch(nic, nic->header, nic->mapped_bytes);
        /* And what the first round of progress looks at. */
        dnet_emu_memory_touch(nic, nic->area[wid].flow, nic->flow_entries ? DNET_EMU_PAGE : 0);
    }
    return good;
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
    status = dnet_emu_routes_make(nic);
    if (status != DNET_OK)
        return status;
    d = calloc(1, sizeof *d);
    if (!d) {
        dnet_error("no memory for a device: %zu bytes needed", sizeof *d);
        return DNET_ERR_NO_MEMORY;
    }
    if (!nic->watched && !dnet_emu_sodimm_open(nic, wid)) {
        free(d);
        return DNET_ERR_NO_MEMORY;
    }
    a = &nic->area[wid];
    d->nic = nic;
    d->area = a;
    d->dev.wid = wid;
    d->nic_id = nic->id;
    if (!nic->watched && !enter(d)) {
        free(d);
        return DNET_ERR_STATE;
    }
    if (!nic->watched && !place(nic, wid)) {
        leave(d);
        free(d);
        return DNET_ERR_NO_MEMORY;
    }
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

void dnet_emu_set_member(dnet_device_t *dev, uint32_t member)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;

    atomic_store_explicit(&d->area->state->member, member + 1, memory_order_release);
}

uint64_t dnet_emu_events(const dnet_emu_nic_t *nic, dnet_emu_event_t event)
{
    return atomic_load_explicit(&nic->state->event[event], memory_order_relaxed);
}
