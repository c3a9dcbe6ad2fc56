/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The segment of a NIC: one sealed memfd file and its areas.
 */
#ifndef DNET_EMU_SEGMENT_H
#define DNET_EMU_SEGMENT_H

#include "emulator/core_logic.h"

/* Make a segment, and a NIC object of it.  DNET_ERR_NO_MEMORY, DNET_ERR_LIMIT, DNET_ERR_SYSTEM:
 * logged. */
dnet_status_t dnet_emu_segment_create(const dnet_emu_config_t *config, dnet_emu_nic_t **nic_p);

enum {                            /* how to attach */
       DNET_EMU_ATTACH_WATCH = 1, /* to look at it only */
       DNET_EMU_ATTACH_QUIET = 2, /* do not log what may pass */
};

/* Map the segment of a NIC that another process has made.  Each cause is logged; two may pass:
 * DNET_ERR_NO_MEMORY (memory, address space), DNET_ERR_LIMIT (descriptors, or the time that an
 * owner has to pass its own).  DNET_ERR_PEER_DEAD, DNET_ERR_FORMAT, DNET_ERR_SYSTEM: as
 * dnet_emu_attach(). */
dnet_status_t dnet_emu_segment_attach(const dnet_emu_locator_t *at, unsigned how,
                                      dnet_emu_nic_t **nic_p);

/* Map [offset, offset+len) bytes of a WID's SO-DIMM area in the segment of a NIC.  NULL: logged. */
void *dnet_emu_segment_map_sodimm(const dnet_emu_locator_t *at, unsigned wid, uint64_t offset,
                                  uint64_t len);

/* Where the guest table of a WID lies in the segment. */
uint64_t dnet_emu_segment_guests_at(const dnet_emu_nic_t *nic, unsigned wid);

/* Map it, for which the descriptor is needed.  False: it cannot be had, logged. */
bool dnet_emu_segment_map_guests(dnet_emu_nic_t *nic, unsigned wid);

/* Unmap the segment and free the object. */
void dnet_emu_segment_leave(dnet_emu_nic_t *nic);

/* A process that is not privileged may look at header and System Register page only (section 3). */
void dnet_emu_segment_protect(const dnet_emu_nic_t *nic);

/* A NIC that packets are delivered to: what a delivery writes stays writable, and nothing else
 * (docs/nic.md 2.2). */
void dnet_emu_segment_protect_peer(const dnet_emu_nic_t *nic);

/* Keep the mapping and not the descriptor. */
void dnet_emu_segment_close_descriptor(dnet_emu_nic_t *nic);

/* Give back all SO-DIMM memory: it reads as 0 again. */
void dnet_emu_segment_forget(const dnet_emu_nic_t *nic);

#endif
