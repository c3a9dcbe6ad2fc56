/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Apertures (extension, docs/protocol.md section 5), and copies between processes.
 */
#ifndef DNET_EMU_APERTURE_H
#define DNET_EMU_APERTURE_H

#include "emulator/core_logic.h"

/* [X.5] A store to Aperture Length sets, replaces or (length 0) revokes a slot of the own WID. */
void dnet_emu_aperture_set(const dnet_emu_nic_t *nic, unsigned wid);

/* What an aperture address names: `*length_p` bytes at `*base_p` in process `*pid_p`.  False: no
 * such slot, or it is closed. */
bool dnet_emu_aperture_find(const dnet_emu_nic_t *nic, unsigned wid, uint32_t address,
                            uint64_t *base_p, uint64_t *length_p, int32_t *pid_p);

/* The same for an aperture of this process, which has that WID open: it has set the slot itself. */
static inline bool dnet_emu_aperture_own(const dnet_emu_nic_t *nic, unsigned wid, uint32_t address,
                                         uint64_t *base_p, uint64_t *length_p)
{
    const dnet_emu_wid_t *s = nic->area[wid].state;
    uint64_t slot = DNET_GET(address, AP_SLOT);

    if (slot >= nic->aperture_slots ||
        atomic_load_explicit(&s->owner, memory_order_relaxed) != nic->pid)
        return false;
    *base_p = dnet_emu_peek(&s->aperture[slot].address);
    *length_p = dnet_emu_peek(&s->aperture[slot].length);
    return *length_p != 0;
}

/* One word of another process, to learn whether it can be read at all. */
bool dnet_emu_remote_probe(int32_t pid, uint64_t from, uint64_t *word_p);

/* What copying DNET_COPY_TIMED_BYTES by the kernel as between processes takes at least, in ns; 0:
 * the kernel refuses. */
uint32_t dnet_emu_remote_time(int32_t own_pid);

/* The copy operation of a device, with a process. */
dnet_status_t dnet_emu_remote_copy(int32_t pid, bool stores, dnet_ranges_t own,
                                   dnet_ranges_t theirs);

/* Copy out of another process.  False, logged: it is gone, or does not let us. */
bool dnet_emu_remote_read(int32_t pid, uint64_t from, void *to, uint64_t bytes);

/* The same into it. */
bool dnet_emu_remote_store(int32_t pid, const void *from, uint64_t to, uint64_t bytes);

/* Copy the first `bytes` of a packet's data into another process.  Data that lie in a third process
 * go through a buffer here.  False, logged: as above. */
bool dnet_emu_remote_write(int32_t pid, const dnet_emu_packet_t *packet, uint64_t to,
                           uint64_t bytes);

#endif
