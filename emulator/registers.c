/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The registers (data sheet sections 3 and 4): reset values, and what a store does, as the handler
 * column of registers.def says.
 */
#include "config.h"

#include "emulator/registers.h"

#include "common/trace.h"
#include "emulator/amt_table.h"
#include "emulator/aperture.h"
#include "emulator/limit_event.h"
#include "emulator/receive_side.h"
#include "emulator/status_write_unit.h"
#include "emulator/window_controller.h"

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

    /* First, and by itself: who holds a Window Controller waits for receive sides. */
    dnet_emu_wc_reset(nic, wid);
    dnet_emu_rc_acquire(nic, wid);
    reset_page(nic, false, wid);
    if (ready)
        dnet_emu_status_set(nic, wid, DNET_MASK(CS_SDIMM_READY));
    /* [nic 10.3] all Valid and Complete are 0 */
    memset(nic->area[wid].lh, 0, nic->lh_mask + 1ul);
    s->lh_tail = 0;
    s->lh_head_seen = 0;
    memset(s->reserved, 0, sizeof s->reserved);
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

void dnet_emu_power_on(dnet_emu_nic_t *nic, bool paused)
{
    reset_page(nic, true, 0);
    controller_reset(nic);
    memset(nic->state->amt_address, 0, sizeof nic->state->amt_address);
    if (paused && nic->flow_entries)
        for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
            dnet_emu_publish(nic->area[w].ureg_store + DNET_UREG_FLOW_MODE, DNET_FLOW_MODE_PAUSED);
    sma_start(nic);
}

/* ---- what a store does: User Register page (4.1) ---- */

typedef void store_t(dnet_emu_device_t *d);

/* The NIC looks at the value when it needs it. */
static void store_QUIET(dnet_emu_device_t *d)
{
    (void) d;
}

static inline void store_command0(dnet_emu_device_t *d)
{
    dnet_emu_wc_request(d, dnet_emu_observe(d->dev.ureg_store + DNET_UREG_COMMAND0_LOWER), false);
}

static void store_command1(dnet_emu_device_t *d)
{
    dnet_emu_wc_request(d, dnet_emu_observe(d->dev.ureg_store + DNET_UREG_COMMAND1_LOWER), true);
}

static void store_primitive_counter_reset(dnet_emu_device_t *d)
{
    dnet_emu_publish(d->area->ureg_load + DNET_UREG_PRIMITIVE_COUNTER, 0);
}

static void store_packet_counter_reset(dnet_emu_device_t *d)
{
    dnet_emu_rc_acquire(d->nic, d->dev.wid);
    d->area->state->packets = 0;
    dnet_emu_publish(d->area->ureg_load + DNET_UREG_PACKET_COUNTER, 0);
    dnet_emu_rc_release(d->area->state);
}

static void store_status_restart(dnet_emu_device_t *d)
{
    dnet_emu_rc_acquire(d->nic, d->dev.wid);
    dnet_emu_swu_restart(d->nic, d->dev.wid);
    dnet_emu_rc_release(d->area->state);
}

static void store_status_show(dnet_emu_device_t *d)
{
    dnet_emu_rc_acquire(d->nic, d->dev.wid);
    dnet_emu_swu_show(d->nic, d->dev.wid);
    dnet_emu_rc_release(d->area->state);
}

static inline void store_aperture(dnet_emu_device_t *d)
{
    dnet_emu_aperture_set(d->nic, d->dev.wid);
}

static void store_lh_limit(dnet_emu_device_t *d)
{
    dnet_emu_limit_arm(d->nic, d->dev.wid);
}

static void store_amt_own(dnet_emu_device_t *d)
{
    dnet_emu_amt_set_own(d->nic, d->dev.wid);
}

/* ---- what a store does: System Register page (4.6) ---- */

static void store_sodimm_init(dnet_emu_device_t *d)
{
    if (dnet_emu_sreg(d->nic, DNET_SREG_SODIMM_INIT) & 1) /* OP-43 */
        for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
            dnet_emu_status_set(d->nic, w, DNET_MASK(CS_SDIMM_READY));
}

static void store_sma_reset(dnet_emu_device_t *d)
{
    sma_start(d->nic);
}

static void store_controller_reset(dnet_emu_device_t *d)
{
    controller_reset(d->nic);
}

static void store_amt_entry(dnet_emu_device_t *d)
{
    dnet_emu_amt_set(d->nic, dnet_emu_sreg(d->nic, DNET_SREG_AMT_ADDRESS_TABLE));
}

/* ---- kicks ---- */

/* [nic 3, OP-44] The handlers of a page, a register each 16 bytes; NULL: no register to store to.
 * Controller Reset also answers loads. */
#define SLOTS (DNET_EMU_PAGE / 16)
#define SLOT(at, store) [(at) / 16] = store_##store,
#define NO_SLOT(at, store)
#define USER_SREG_W NO_SLOT
#define USER_SREG_R NO_SLOT
#define USER_UREG_W SLOT
#define USER_UREG_R NO_SLOT
#define SYSTEM_SREG_W SLOT
#define SYSTEM_SREG_R NO_SLOT
#define SYSTEM_UREG_W NO_SLOT
#define SYSTEM_UREG_R NO_SLOT
#define DNET_REGISTER(page, name, at, access, reset, store, clause, title) \
    USER_##page##_##access(at, store)
static store_t *const user_page[SLOTS] = {
#include "dimmnet/registers.def"
};
#undef DNET_REGISTER
#define DNET_REGISTER(page, name, at, access, reset, store, clause, title) \
    SYSTEM_##page##_##access(at, store)
static store_t *const system_page[SLOTS] = {
#include "dimmnet/registers.def"
};
#undef DNET_REGISTER

/* Any store. */
static __attribute__((noinline)) void store(dnet_emu_device_t *d, uint32_t offset, bool system)
{
    store_t *handler = NULL;

    if (offset % 16 == 0 && offset < DNET_EMU_PAGE)
        handler = (system ? system_page : user_page)[offset / 16];
    if (!handler)
        dnet_emu_event(d->nic, DNET_EMU_DROP_STORE);
    else if (!system || d->dev.sreg_store)
        handler(d);
}

DNET_COLD static void kick_traced(dnet_device_t *dev, uint32_t offset, bool system)
{
    const uint8_t *page = system ? dev->sreg_store : dev->ureg_store;
    bool readable = page && offset % 8 == 0 && offset < DNET_EMU_PAGE;

    DNET_TRACE(kick, dev->wid, offset | (uint64_t) system << 16,
               readable ? dnet_emu_peek(page + offset) : 0);
    store((dnet_emu_device_t *) (void *) dev, offset, system);
}

/* The two stores of ordinary messages go straight to their handlers: a request, and, before each
 * message of more than a window, an aperture. */
void dnet_emu_kick(dnet_device_t *dev, uint32_t offset, bool system)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;

    if (DNET_UNLIKELY(dnet_trace_on(DNET_TRACE_kick)))
        kick_traced(dev, offset, system);
    else if (DNET_LIKELY(!system && offset == DNET_UREG_COMMAND0_LOWER))
        store_command0(d);
    else if (!system && offset == DNET_UREG_APERTURE_LENGTH)
        store_aperture(d);
    else
        store(d, offset, system);
}
