/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory behind the sparse areas of a segment: SO-DIMM and flow rings are committed piece by
 * piece before their first use, so that a full machine gives an error and no signal, but on kernels
 * before 5.14 (MADV_POPULATE_WRITE), which commit some of it only at the first access.
 */
#include "config.h"

#include "emulator/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "common/available.h"
#include "common/file_size.h"
#include "common/log.h"
#include "emulator/numa.h"

dnet_status_t dnet_emu_memory_reserve(int fd, uint64_t offset, uint64_t bytes, const char *what)
{
    uint64_t available = dnet_available("", bytes);
    int error = bytes <= available ? dnet_file_reserve(fd, offset, bytes) : ENOMEM;

    if (error == 0)
        return DNET_OK;
    if (error != ENOSPC && error != ENOMEM) {
        dnet_error("cannot reserve %" PRIu64 " bytes for %s: %s", bytes, what, strerror(error));
        return DNET_ERR_SYSTEM;
    }
    dnet_error("no memory for %s: %" PRIu64 " bytes needed, %" PRIu64 " available", what, bytes,
               available);
    return DNET_ERR_NO_MEMORY;
}

static void mark_committed(const dnet_emu_nic_t *nic, unsigned wid, uint64_t offset, uint64_t len)
{
    uint64_t last = (offset + len - 1) >> DNET_EMU_GRANULE_SHIFT;

    for (uint64_t g = offset >> DNET_EMU_GRANULE_SHIFT; g <= last; g++)
        atomic_fetch_or_explicit(&nic->area[wid].state->committed[g / 64], 1ull << (g % 64),
                                 memory_order_relaxed);
}

/* ---- what of an area a process maps ---- */

/*
 * A NIC has 8 GB of SO-DIMM at most, of which little is used.  The area of the process that has a
 * WID open has all its addresses from the start, for the host may keep pointers into it, and can be
 * touched as far as it is used.  Of other areas a small window is mapped, which grows by mremap():
 * that needs no descriptor, and thousands of peers have none.
 */
static bool no_addresses(const dnet_emu_nic_t *nic, uint64_t bytes)
{
    dnet_error("cannot map %" PRIu64 " bytes of the SO-DIMM of NIC %#x: %m; raise the limit on "
               "address space (ulimit -v)",
               bytes, nic->lid);
    return false;
}

bool dnet_emu_sodimm_open(dnet_emu_nic_t *nic, unsigned wid)
{
    dnet_emu_areas_t *a = &nic->area[wid];
    uint64_t bytes = dnet_emu_sodimm_area(nic);
    uint8_t *base;

    if (!nic->extended || a->sodimm_window >= bytes)
        return true;
    base = mmap(NULL, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, nic->fd, (off_t) a->sodimm_at);
    if (base == MAP_FAILED)
        return no_addresses(nic, bytes);
    if (mprotect(base, a->sodimm_bytes, PROT_READ | PROT_WRITE) != 0) {
        (void) munmap(base, bytes);
        return no_addresses(nic, a->sodimm_bytes);
    }
    (void) madvise(base, bytes, MADV_DONTDUMP);
    (void) munmap(a->sodimm, a->sodimm_window);
    a->sodimm = base;
    a->sodimm_window = bytes;
    return true;
}

/* Take the memory of an LH Buffer in which all is 0 anew. */
static bool renew_lh(const dnet_emu_nic_t *nic, unsigned wid)
{
    uint64_t at = (uint64_t) ((uint8_t *) nic->area[wid].lh - (uint8_t *) nic->header);
    uint64_t bytes = nic->lh_mask + 1ul;

    return fallocate(nic->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t) at,
                     (off_t) bytes) != 0 ||
           dnet_emu_memory_reserve(nic->fd, at, bytes, "an LH Buffer") == DNET_OK;
}

bool dnet_emu_memory_place(const dnet_emu_nic_t *nic, unsigned wid)
{
    const dnet_emu_areas_t *a = &nic->area[wid];
    int node = dnet_emu_numa_here();

    dnet_emu_numa_prefer(a->lh, nic->lh_mask + 1ul, node);
    if (nic->flow_entries)
        dnet_emu_numa_prefer(a->flow, nic->flow_entries * sizeof(dnet_flow_entry_t), node);
    dnet_emu_numa_prefer(a->sodimm, a->sodimm_window, node);
    if (node < 0 || a->state->lh_tail != 0)
        return true;
    int now = dnet_emu_numa_of(a->lh);
    return now < 0 || now == node || renew_lh(nic, wid);
}

/* What lies at the start of an area is what all store to: IPUSH rings.  There no page is cleared,
 * and none mapped singly, while a message waits for it. */
#define TOUCHED_BYTES (4u << 20)

static uint64_t touched_end(uint64_t end)
{
    return end < TOUCHED_BYTES ? end : TOUCHED_BYTES;
}

/* A page that was only reserved is cleared when it is stored to first. */
static void clear(uint8_t *area, uint64_t from, uint64_t end)
{
    if (from < touched_end(end))
        (void) madvise(area + from, touched_end(end) - from, MADV_POPULATE_WRITE);
}

static bool is_committed(const dnet_emu_areas_t *a, uint64_t offset)
{
    uint64_t g = offset >> DNET_EMU_GRANULE_SHIFT;

    return atomic_load_explicit(&a->state->committed[g / 64], memory_order_relaxed) >> (g % 64) & 1;
}

/* What is only in the kernel's page tables may still cost a fault at the first access: where those
 * of a virtual machine are shadows, 5 us a page.  A load takes a page in for storing too, and those
 * around it, at an eighth of what a store of its own costs. */
void dnet_emu_memory_touch(const dnet_emu_nic_t *nic, const void *from, uint64_t bytes)
{
    const volatile uint8_t *at = from;

    for (uint64_t n = 0; nic->touched && n < bytes; n += DNET_EMU_PAGE)
        (void) at[n];
}

/* Have what is committed of the bytes [from, end) of an area in the page tables. */
static void touch(const dnet_emu_nic_t *nic, unsigned wid, uint64_t from, uint64_t end)
{
    const uint64_t granule = 1ull << DNET_EMU_GRANULE_SHIFT;
    const dnet_emu_areas_t *a = &nic->area[wid];
    uint64_t next;

    for (uint64_t at = from; at < touched_end(end); at = next) {
        next = (at & -granule) + granule;
        next = next < touched_end(end) ? next : touched_end(end);
        if (is_committed(a, at))
            dnet_emu_memory_touch(nic, a->sodimm + at, next - at);
    }
}

/* Of other processes' areas so many are mapped as far as anybody stores to them with the first
 * message that needs more than a page, so that no later one waits for it; the others as they fill.
 */
#define WHOLE_AREAS 4u
static _Atomic unsigned whole_areas;

static bool takes_whole(uint64_t mapped)
{
    return mapped == DNET_EMU_PAGE &&
           atomic_fetch_add_explicit(&whole_areas, 1, memory_order_relaxed) < WHOLE_AREAS;
}

/* Let this process touch the first `end` bytes of an area, and some more. */
static bool reach(const dnet_emu_nic_t *nic, unsigned wid, uint64_t end)
{
    dnet_emu_areas_t *a = (dnet_emu_areas_t *) &nic->area[wid]; /* of this process */
    uint64_t most = dnet_emu_sodimm_area(nic);
    /* somebody may still hold an address in it */
    bool stays = !nic->extended || a->sodimm_window > a->sodimm_bytes;
    uint64_t before = a->sodimm_bytes, bytes = before;
    uint8_t *base;

    if (end <= bytes)
        return true;
    while (bytes < end)
        bytes *= bytes < TOUCHED_BYTES / 4 ? 16 : 4;
    bytes = bytes < most ? bytes : most;
    if (bytes <= a->sodimm_window) {
        if (mprotect(a->sodimm, bytes, PROT_READ | PROT_WRITE) != 0)
            return no_addresses(nic, bytes);
        a->sodimm_bytes = bytes;
        touch(nic, wid, before, bytes);
        return true;
    }
    if (stays)
        bytes = most;
    else if (bytes < TOUCHED_BYTES && takes_whole(before))
        bytes = TOUCHED_BYTES;
    base = mremap(a->sodimm, stays ? 0 : a->sodimm_window, bytes, MREMAP_MAYMOVE);
    if (base == MAP_FAILED)
        return no_addresses(nic, bytes);
    if (stays && !a->sodimm_before) {
        a->sodimm_before = a->sodimm;
        a->sodimm_before_window = a->sodimm_window;
    }
    a->sodimm = base;
    a->sodimm_bytes = a->sodimm_window = bytes;
    touch(nic, wid, 0, bytes);
    return true;
}

/* Some piece of the range is not committed yet, or not mapped: make all of it so. */
DNET_COLD bool dnet_emu_sodimm_commit_slow(const dnet_emu_nic_t *nic, unsigned wid, uint64_t offset,
                                           uint64_t len)
{
    const uint64_t granule = 1ull << DNET_EMU_GRANULE_SHIFT;
    uint64_t end = (offset + len + granule - 1) & ~(granule - 1);

    if (!reach(nic, wid, end))
        return false;
    for (uint64_t at = offset & ~(granule - 1); at < end; at += granule) {
        if (is_committed(&nic->area[wid], at))
            continue;
        /* EINVAL: a kernel before 5.14, where the page fault itself must do. */
        if (madvise(nic->area[wid].sodimm + at, granule, MADV_POPULATE_WRITE) != 0 &&
            errno != EINVAL) {
            dnet_error("no memory for SO-DIMM at %#" PRIx64 ": %" PRIu64 " bytes needed, %" PRIu64
                       " available",
                       at, granule, dnet_available("", UINT64_MAX));
            return false;
        }
        mark_committed(nic, wid, at, granule);
    }
    return true;
}

DNET_COLD bool dnet_emu_flow_commit(const dnet_emu_nic_t *nic, unsigned wid, uint32_t index)
{
    uint8_t *page =
        (uint8_t *) nic->area[wid].flow +
        ((uint64_t) index * sizeof(dnet_flow_entry_t) & ~(uint64_t) (DNET_EMU_PAGE - 1));

    if (madvise(page, DNET_EMU_PAGE, MADV_POPULATE_WRITE) == 0 || errno == EINVAL)
        return true;
    dnet_error("no memory for the flow ring: %u bytes needed, %" PRIu64 " available", DNET_EMU_PAGE,
               dnet_available("", UINT64_MAX));
    return false;
}

dnet_status_t dnet_emu_reserve(dnet_device_t *dev, uint64_t offset, uint64_t len)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    const uint64_t granule = 1ull << DNET_EMU_GRANULE_SHIFT;
    uint64_t from = offset & ~(granule - 1);
    uint64_t bytes, base;
    dnet_status_t status;

    if (len == 0)
        return DNET_OK;
    if (offset >= dnet_emu_sodimm_area(d->nic) || len > dnet_emu_sodimm_area(d->nic) - offset) {
        dnet_error("SO-DIMM range %#" PRIx64 "+%#" PRIx64 " is outside the area of %" PRIu64
                   " bytes",
                   offset, len, dnet_emu_sodimm_area(d->nic));
        return DNET_ERR_ARGUMENT;
    }
    bytes = ((offset + len + granule - 1) & ~(granule - 1)) - from;
    base = d->area->sodimm_at;
    status = dnet_emu_memory_reserve(d->nic->fd, base + from, bytes, "SO-DIMM");
    if (status == DNET_OK && !reach(d->nic, dev->wid, from + bytes))
        status = DNET_ERR_NO_MEMORY;
    if (status == DNET_OK) {
        mark_committed(d->nic, dev->wid, from, bytes);
        clear(d->area->sodimm, from, from + bytes);
        touch(d->nic, dev->wid, from, from + bytes);
    }
    return status;
}

void dnet_emu_unreserve(dnet_device_t *dev, uint64_t offset, uint64_t len)
{
    dnet_emu_device_t *d = (dnet_emu_device_t *) (void *) dev;
    const uint64_t granule = 1ull << DNET_EMU_GRANULE_SHIFT;
    uint64_t from = (offset + granule - 1) & ~(granule - 1);
    uint64_t end = (offset + len) & ~(granule - 1);

    if (from >= end || end > dnet_emu_sodimm_area(d->nic))
        return;
    for (uint64_t g = from >> DNET_EMU_GRANULE_SHIFT; g < end >> DNET_EMU_GRANULE_SHIFT; g++)
        atomic_fetch_and_explicit(&d->area->state->committed[g / 64], ~(1ull << (g % 64)),
                                  memory_order_relaxed);
    if (fallocate(d->nic->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  (off_t) (d->area->sodimm_at + from), (off_t) (end - from)))
        dnet_warn("cannot give back %" PRIu64 " bytes of SO-DIMM: %m", end - from);
}
