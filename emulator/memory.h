/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The memory behind the sparse areas of a segment: SO-DIMM and flow rings.
 */
#ifndef DNET_EMU_MEMORY_H
#define DNET_EMU_MEMORY_H

#include <sys/mman.h>

#include "emulator/core_logic.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* [nic 6.0, OP-27] Bytes of SO-DIMM each WID owns: one module's capacity.  Bit 31 names apertures
 * when there are any, so an area then ends at 2 GB. */
static inline uint64_t dnet_emu_sodimm_area(const dnet_emu_nic_t *nic)
{
    uint64_t code = dnet_emu_peek(nic->sreg_store + DNET_SREG_SODIMM_CAPACITY) & 0x3f;
    uint64_t limit = nic->extended ? 1ull << 31 : DNET_EMU_AREA_MAX;
    uint64_t bytes = 256ull << 20;

    if (code != 0 && (code & (code - 1)) == 0)
        bytes = code * (256ull << 20);
    return bytes < limit ? bytes : limit;
}

/* Reserve part of a segment's file, in bytes; `what` names it in what is logged.
 * DNET_ERR_NO_MEMORY, DNET_ERR_SYSTEM: logged. */
dnet_status_t dnet_emu_memory_reserve(int fd, uint64_t offset, uint64_t bytes, const char *what);

/* The reserve operation of a device (dimmnet/device.h). */
dnet_status_t dnet_emu_reserve(dnet_device_t *dev, uint64_t offset, uint64_t len);

/* The unreserve operation: give back the whole granules inside [offset, offset+len) bytes. */
void dnet_emu_unreserve(dnet_device_t *dev, uint64_t offset, uint64_t len);

/* Commit the page of the flow ring that entry `index` lies in.  False: no memory, logged. */
bool dnet_emu_flow_commit(const dnet_emu_nic_t *nic, unsigned wid, uint32_t index);

/* dnet_emu_sodimm_commit() when some piece of the range is not known to be there. */
bool dnet_emu_sodimm_commit_slow(const dnet_emu_nic_t *nic, unsigned wid, uint64_t offset,
                                 uint64_t len);

/* The process has this WID open: its SO-DIMM area gets addresses that do not move as long as its
 * capacity is not changed.  False: no address space, logged. */
bool dnet_emu_sodimm_open(dnet_emu_nic_t *nic, unsigned wid);

/*
 * The process has this WID open, and it is the one that reads its LH Buffer, flow ring and SO-DIMM:
 * what of them is committed from now on comes from the NUMA node it runs on, whoever commits it. An
 * LH Buffer that another process has made lies on that one's node; it is exchanged if nothing has
 * come yet. The caller has the receive side.  False: no memory, logged.
 */
bool dnet_emu_memory_place(const dnet_emu_nic_t *nic, unsigned wid);

/* Have bytes of a NIC, of pages that are there, in the page tables before anybody waits for it,
 * unless it has so many senders that they do not need most of them. */
void dnet_emu_memory_touch(const dnet_emu_nic_t *nic, const void *from, uint64_t bytes);

/* Is the memory behind [offset, offset+len) of an area known to be there and mapped?  len > 0, at
 * most a granule. */
static inline bool dnet_emu_sodimm_known(const dnet_emu_nic_t *nic, unsigned wid, uint64_t offset,
                                         uint64_t len)
{
    uint64_t first = offset >> DNET_EMU_GRANULE_SHIFT;
    uint64_t last = (offset + len - 1) >> DNET_EMU_GRANULE_SHIFT;
    const _Atomic uint64_t *committed = nic->area[wid].state->committed;

    return offset + len <= nic->area[wid].sodimm_bytes &&
           (atomic_load_explicit(&committed[first / 64], memory_order_relaxed) >> (first % 64) &
            1) &&
           (DNET_LIKELY(first == last) ||
            (atomic_load_explicit(&committed[last / 64], memory_order_relaxed) >> (last % 64) & 1));
}

/* Make sure that the memory behind [offset, offset+len) of an area is there.  len > 0, range
 * checked by the caller.  False: it cannot be had, logged. */
static inline bool dnet_emu_sodimm_commit(const dnet_emu_nic_t *nic, unsigned wid, uint64_t offset,
                                          uint64_t len)
{
    if (DNET_LIKELY(len <= 1ull << DNET_EMU_GRANULE_SHIFT &&
                    dnet_emu_sodimm_known(nic, wid, offset, len)))
        return true;
    return dnet_emu_sodimm_commit_slow(nic, wid, offset, len);
}

#endif
