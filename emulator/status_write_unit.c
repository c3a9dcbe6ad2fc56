/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Status Write Unit (data sheet section 8, states 11.7): packet receive status into a ring in LLCM.
 * Called with the receive side of the WID held.
 */
#include "config.h"

#include "emulator/status_write_unit.h"

typedef struct {
    uint32_t base;
    uint32_t size;
    uint32_t tail;
    uint32_t head;
} ring_t;

/* [nic 8, OP-22] The ring as the registers say it is now. */
static ring_t ring_of(const dnet_emu_nic_t *nic, unsigned wid)
{
    const dnet_emu_wid_t *s = nic->area[wid].state;
    uint64_t code = dnet_emu_ureg(nic, wid, DNET_UREG_STATUS_AREA_SIZE) & 0x7f;
    ring_t r = {.base = s->status_base & 0x7ff0, .size = 1024};

    if (code != 0 && (code & (code - 1)) == 0)
        r.size = (uint32_t) (64 * code);
    if (r.base + r.size > nic->llcm_bytes)
        r.size = nic->llcm_bytes - r.base;
    r.tail = s->status_tail;
    if (r.tail < r.base || r.tail >= r.base + r.size || r.tail % DNET_STATUS_BYTES)
        r.tail = r.base;
    r.head = (uint32_t) dnet_emu_ureg(nic, wid, DNET_UREG_STATUS_NEXT_READ) & 0x7fff;
    return r;
}

static uint32_t next(const ring_t *r)
{
    uint32_t tail = r->tail + DNET_STATUS_BYTES;

    return tail >= r->base + r->size ? r->base : tail;
}

void dnet_emu_swu_show(const dnet_emu_nic_t *nic, unsigned wid)
{
    ring_t r = ring_of(nic, wid);
    const uint64_t both = DNET_MASK(CS_ST_FULL) | DNET_MASK(CS_ST_EMPTY);
    uint64_t now = (next(&r) == r.head ? DNET_MASK(CS_ST_FULL) : 0) |
                   (r.tail == r.head ? DNET_MASK(CS_ST_EMPTY) : 0);
    uint64_t shown = dnet_emu_peek(nic->area[wid].ureg_load + DNET_UREG_CONTROLLER_STATUS) & both;

    if (shown & ~now)
        dnet_emu_status_clear(nic, wid, shown & ~now);
    if (now & ~shown)
        dnet_emu_status_set(nic, wid, now & ~shown);
}

bool dnet_emu_swu_full(const dnet_emu_nic_t *nic, unsigned wid)
{
    ring_t r = ring_of(nic, wid);

    return next(&r) == r.head;
}

void dnet_emu_swu_write(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                        uint32_t address)
{
    ring_t r = ring_of(nic, wid);
    uint64_t h = packet->header[0];
    uint32_t size = packet->header_lines > 2 ? (uint32_t) DNET_GET(packet->header[2], PK_TOTAL)
                                             : packet->data_bytes;
    uint8_t *entry = nic->area[wid].llcm + r.tail;

    charge(nic, SWU, 3); /* [nic 11.7] NOP, WRITE1, WRITE2 */
    charge(nic, RC, 1);  /* [nic 11.8] 4 in all, from RC's view */
    dnet_emu_poke(entry + 8, DNET_PUT(address, ST_ADDRESS));
    dnet_emu_publish(entry, DNET_PUT(DNET_GET(h, PK_TYPE), ST_TYPE) |
                                DNET_PUT(DNET_GET(h, PK_DTYPE), RQ_DTYPE) |
                                DNET_PUT(DNET_GET(h, PK_ITERATION), RQ_ITERATION) |
                                DNET_PUT(DNET_GET(h, PK_SWID), ST_SWID) |
                                DNET_PUT(dnet_lid_to_clid(packet->slid), ST_SCLID) |
                                DNET_MASK(ST_EFLAG) | DNET_PUT(size, ST_SIZE));
    dnet_emu_publish32(&nic->area[wid].state->status_tail, next(&r));
    dnet_emu_publish(nic->area[wid].ureg_load + DNET_UREG_STATUS_NEXT_WRITE, next(&r));
    dnet_emu_swu_show(nic, wid);
}

void dnet_emu_swu_restart(const dnet_emu_nic_t *nic, unsigned wid)
{
    uint32_t base = (uint32_t) dnet_emu_ureg(nic, wid, DNET_UREG_STATUS_INITIAL_ADDRESS) & 0x7ff0;

    nic->area[wid].state->status_base = base;
    nic->area[wid].state->status_tail = base;
    dnet_emu_publish(nic->area[wid].ureg_store + DNET_UREG_STATUS_NEXT_READ, base);
    dnet_emu_publish(nic->area[wid].ureg_load + DNET_UREG_STATUS_NEXT_WRITE, base);
    dnet_emu_swu_show(nic, wid);
}
