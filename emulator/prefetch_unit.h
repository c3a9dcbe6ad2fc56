/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prefetch Unit (data sheet 4.2.2, 6.1, 6.3): a stream of data read from SO-DIMM or host memory.
 */
#ifndef DNET_EMU_PREFETCH_UNIT_H
#define DNET_EMU_PREFETCH_UNIT_H

#include "emulator/core_logic.h"

#define DNET_EMU_BOUNCE_BYTES 4096u

/* A gathering access, and what a Write Window puts before its data. */
typedef struct {
    const dnet_emu_nic_t *nic;
    unsigned wid;
    unsigned access; /* dnet_access_t */
    uint32_t offset;
    uint32_t stride_or_list; /* bytes between elements, or offset of the list */
    uint32_t element;        /* bytes */
    const uint8_t *window;   /* LHSv2: bytes sent before the SO-DIMM data */
    uint32_t window_bytes;
} dnet_emu_source_t;

/* Name bytes [from, from + bytes) of a stream as the spans of a packet: the Write Window part first
 * (LHSv2), then SO-DIMM or host memory.  `bounce` holds gathered data while the packet is sent;
 * bytes is at most DNET_EMU_BOUNCE_BYTES then.  False: memory is not there. */
bool dnet_emu_pu_spans(const dnet_emu_source_t *source, uint64_t from, uint32_t bytes,
                       dnet_emu_packet_t *packet, uint8_t *bounce);

/* [nic 6.0, OP-30] Gather bytes [from, from + bytes) of the stream; elements outside the area read
 * as 0. */
void dnet_emu_pu_read(const dnet_emu_source_t *source, uint64_t from, uint8_t *to, uint32_t bytes);

/* [nic 6.3] How many of `bytes` a stream has: a contiguous read past the own area is shortened,
 * silently. */
uint64_t dnet_emu_pu_clamp(const dnet_emu_source_t *source, uint64_t bytes);

#endif
