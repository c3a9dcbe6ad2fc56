/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Bit formats of the NIC: requests, packet headers, receive status, LH entries, flow-ring entries.
 *
 * All words are 64 bits, little endian.  Source: data sheet sections 5 (requests), 7 (packets),
 * 8 (status), 9 (AMT) and 10 (LHS).  Every position stands once, in the tables below; the driver
 * and the emulated NIC both use them and nothing else.
 */
#ifndef DIMMNET_FORMAT_H
#define DIMMNET_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One field: lowest bit and width. */
#define DNET_FIELD_MASK(shift, width) (((width) >= 64 ? ~0ull : ((1ull << (width)) - 1)) << (shift))
#define DNET_GET_(word, shift, width) (((uint64_t) (word) >> (shift)) & DNET_FIELD_MASK(0, width))
#define DNET_PUT_(value, shift, width) (((uint64_t) (value) &DNET_FIELD_MASK(0, width)) << (shift))
/* DNET_GET(word, RQ_SIZE), DNET_PUT(value, RQ_SIZE): the field lists below supply shift and width.
 */
#define DNET_GET(word, field) DNET_GET_(word, DNET_##field##_SHIFT, DNET_##field##_WIDTH)
#define DNET_PUT(value, field) DNET_PUT_(value, DNET_##field##_SHIFT, DNET_##field##_WIDTH)
#define DNET_MASK(field) DNET_FIELD_MASK(DNET_##field##_SHIFT, DNET_##field##_WIDTH)

typedef enum {
#define DNET_PRIMITIVE(name, code, family, access) DNET_PRIM_##name = (code),
#include "dimmnet/primitives.def"
#undef DNET_PRIMITIVE
} dnet_prim_t;

/** Access modes: the low two bits of a VL, VS, RVL or RVS code, and of Command Ex (6.0, 6.9). */
typedef enum { DNET_ACCESS_CONTIGUOUS, DNET_ACCESS_STRIDE, DNET_ACCESS_LIST } dnet_access_t;

enum {
#define DNET_FORMAT_FIELD(name, shift, width, title) \
    DNET_##name##_SHIFT = (shift), DNET_##name##_WIDTH = (width),
#include "dimmnet/format.def"
#undef DNET_FORMAT_FIELD
    DNET_FORMAT_END_
};

/* Identifiers of a 66-bit line (7.1). */
typedef enum { DNET_LINE_FIRST = 1, DNET_LINE_LAST = 2, DNET_LINE_MIDDLE = 3 } dnet_line_t;

#define DNET_LINE_BYTES 8u
#define DNET_WINDOW_BYTES 512u
#define DNET_LH_ENTRY_BYTES 64u
/* user data in an LH entry, behind envelope and pointer/size (10.2) */
#define DNET_LH_DATA_BYTES 48u
#define DNET_ENVELOPE_BYTES 8u
#define DNET_STATUS_BYTES 16u
#define DNET_ELEMENT_MAX 128u       /* bytes of an element, a power of two (5.4) */
#define DNET_ITERATION_MAX 255u     /* elements of a request (5.1) */
#define DNET_PACKET_MAX_BYTES 4088u /* 12-bit Packet Size, whole lines (OP-10) */
#define DNET_APERTURE_UNIT 256u     /* offsets in apertures are multiples of it (X.5) */
/* DSTOff of a copy's VL half, SRCOff of its VS half (6.8) */
#define DNET_COPY_MARKER 0xffffffffu
#define DNET_PROCESSES_PER_NIC 2u
#define DNET_LID_UNICAST_LAST 0xBFFFu
#define DNET_NODES_MAX 3071u /* CLIDs 0x001..0xBFF (OP-06) */

/** CLID of a LID: drops LID[11:8] (section 2, OP-05). */
static inline uint16_t dnet_lid_to_clid(uint16_t lid)
{
    return (uint16_t) (((lid >> 4) & 0xf00) | (lid & 0xff));
}

/** LID of a CLID; the broadcast CLID 0xfff gives 0xffff. */
static inline uint16_t dnet_clid_to_lid(uint16_t clid)
{
    return (uint16_t) (((clid & 0xf00) << 4) | (clid == 0xfff ? 0x0f00 : 0) | (clid & 0xff));
}

/** The LID of node number `node` (1..3071): the n-th LID that survives the CLID round trip. */
static inline uint16_t dnet_node_to_lid(uint16_t node)
{
    return dnet_clid_to_lid(node);
}

/** An entry of the LH Buffer (10.2). */
typedef struct {
    uint64_t envelope;                /* +0x00 Context, Valid, Complete, Rank, Tag */
    uint64_t where;                   /* +0x08 Pointer [63:32], Size [31:0] */
    uint8_t data[DNET_LH_DATA_BYTES]; /* +0x10 */
} dnet_lh_entry_t;
_Static_assert(sizeof(dnet_lh_entry_t) == DNET_LH_ENTRY_BYTES, "an LH entry is one cache line");

/** Data in each line behind the first of an entry of several lines (X.3): line 0 has its flags. */
#define DNET_LH_LINE_DATA_BYTES (DNET_LH_ENTRY_BYTES - DNET_LINE_BYTES)
/** Pointer of such an entry; that of a ring is a multiple of 8. */
#define DNET_LH_POINTER_BEHIND 1u

/** Lines of the longest entry. */
#define DNET_LH_LINES_MAX 20u
/** Longest BOTF image of the extended profile, which goes on in the next Write Window (X.3): what
 * such an entry holds. */
#define DNET_BOTF_BYTES_MAX 1088u

/** Largest value of IPUSH Grain (X.3): a cache line. */
#define DNET_IPUSH_GRAIN_MAX 64u

/** Do the data that the first line does not hold lie behind it? */
static inline bool dnet_lh_is_behind(uint64_t where)
{
    return where >> 32 & DNET_LH_POINTER_BEHIND;
}

/** Lines of an entry with this line 1 (X.3). */
static inline uint32_t dnet_lh_lines(uint64_t where)
{
    uint32_t size = (uint32_t) where;
    if (!dnet_lh_is_behind(where))
        return 1;
    return 1 + (size - DNET_LH_DATA_BYTES + DNET_LH_LINE_DATA_BYTES - 1) / DNET_LH_LINE_DATA_BYTES;
}

/** An entry of the receive status ring (8): a request pair with changed meanings. */
typedef struct {
    uint64_t lower; /* +0x00 */
    uint64_t upper; /* +0x08 */
} dnet_status_entry_t;
_Static_assert(sizeof(dnet_status_entry_t) == DNET_STATUS_BYTES, "status entry size");

/** Kinds of flow-ring entries (docs/protocol.md section 6). */
typedef enum {
    /* receiver side: this NIC stopped that sender; it waits for RESEND */
    DNET_FLOW_STOPPED = 1,
    DNET_FLOW_RESEND = 2, /* sender side: that receiver grants `credits` packets */
    DNET_FLOW_HELD = 3,   /* receiver side: this NIC holds that sender's messages back */
} dnet_flow_kind_t;

/** Set in the envelope of an LHS packet that a NIC in Flow Mode HOLD lets in from every sender; in
 * the LH entry the bit is Complete. */
#define DNET_ENVELOPE_PASS DNET_MASK(LH_COMPLETE)

/** Hold table in LLCM: one bit per sender, at {CLID, WID} as in the AMT Address Table (9.1). */
#define DNET_HOLD_TABLE_BYTES 1024u

static inline uint32_t dnet_hold_index(uint16_t lid, unsigned wid)
{
    return (uint32_t) dnet_lid_to_clid(lid) << 1 | (wid & 1);
}

/** An entry of the flow ring (extension).  `word` is written last; its VALID bit flips every lap.
 */
typedef struct {
    uint64_t word; /* +0x00 FLOW_* fields */
    /* +0x08 STOPPED: bytes the packet needed; RESEND: second word of the packet */
    uint64_t arg;
} dnet_flow_entry_t;
_Static_assert(sizeof(dnet_flow_entry_t) == 16, "flow entry size");

#ifdef __cplusplus
}
#endif
#endif
