/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the units of the emulated NIC share: the segment, its internal state, packets, requests, and
 * helpers that call no unit.
 *
 * Segment (docs/nic.md section 2): one memfd file.  All areas start on page boundaries; where they
 * lie follows from the profile alone, never from numbers found in the file.
 *
 *   header            1 page, read-only after creation
 *   state             NIC-internal state: AMT Address Table, request FIFOs, per-WID state
 *   System Register   store page, load page
 *   per WID           User Register store page, load page; WW; PW; LLCM; LH Buffer; flow ring;
 *                     guest table
 *   SO-DIMM           area of WID 0, area of WID 1; sparse
 *
 * Anything read from the segment may have been written by another process at any time: it is copied
 * first, then checked, and every offset is bounded before use.
 */
#ifndef DNET_EMU_CORE_LOGIC_H
#define DNET_EMU_CORE_LOGIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/compiler.h"
#include "dimmnet/device.h"
#include "dimmnet/emulator.h"
#include "dimmnet/format.h"
#include "dimmnet/status.h"
#include "emulator/charge.h"

#define DNET_EMU_MAGIC 0x314e4d4d49444e44ull /* "DNDIMMN1" */
#define DNET_EMU_VERSION 4u
#define DNET_EMU_SEGMENT_LINK "/memfd:dimmnet-nic" /* as /proc shows a segment */
#define DNET_EMU_PAGE 4096u
#define DNET_EMU_LINE 128u         /* two cache lines: the adjacent-line prefetcher pairs them */
#define DNET_EMU_PEERS 4096u       /* one place for each CLID */
#define DNET_EMU_AMT_ENTRIES 8192u /* index {CLID, WID} (9.1) */
#define DNET_EMU_APERTURES 128u
#define DNET_EMU_LH_ENTRIES 1024u      /* of the larger profile */
#define DNET_EMU_GRANULE_SHIFT 16u     /* SO-DIMM memory is committed in pieces of 64 KB */
#define DNET_EMU_AREA_MAX (1ull << 32) /* a 32-bit offset reaches no further (OP-28) */
#define DNET_EMU_GRANULES (DNET_EMU_AREA_MAX >> DNET_EMU_GRANULE_SHIFT)
#define DNET_EMU_FIFO_DEPTH 16u /* OP-33 */
#define DNET_EMU_FIFO_AFULL 12u
#define DNET_EMU_BURST_BYTES (64u << 20) /* packets handed over together, a call of the kernel */
#define DNET_EMU_MESSAGE_PACKETS 17u     /* of an LHSv2, handed over together */
#define DNET_EMU_SPARE_FDS 2u            /* kept for mapping a peer, at most */

/* ---- ordering ---- */

/* Acquire load of a word another process stores: a register (pairs with dnet_reg_store_quiet() of
 * the host) or a word of NIC state (pairs with dnet_emu_publish()). */
static inline uint64_t dnet_emu_observe(const void *at)
{
    return atomic_load_explicit((const _Atomic uint64_t *) at, memory_order_acquire);
}

/* The same of half a word. */
static inline uint32_t dnet_emu_observe32(const void *at)
{
    return atomic_load_explicit((const _Atomic uint32_t *) at, memory_order_acquire);
}

/* Release store of a word the host polls: everything the NIC wrote before is seen by a process that
 * sees the word. Pairs with dnet_reg_load() and with the host's acquire loads of ring entries. */
static inline void dnet_emu_publish(void *at, uint64_t value)
{
    atomic_store_explicit((_Atomic uint64_t *) at, value, memory_order_release);
}

/* The same for a 32-bit word. */
static inline void dnet_emu_publish32(void *at, uint32_t value)
{
    atomic_store_explicit((_Atomic uint32_t *) at, value, memory_order_release);
}

/* A word of shared memory whose order against others does not matter. */
static inline uint64_t dnet_emu_peek(const void *at)
{
    return atomic_load_explicit((const _Atomic uint64_t *) at, memory_order_relaxed);
}

/* Store such a word. */
static inline void dnet_emu_poke(void *at, uint64_t value)
{
    atomic_store_explicit((_Atomic uint64_t *) at, value, memory_order_relaxed);
}

/* ---- segment ---- */

enum { /* dnet_emu_header_t.options */
       DNET_EMU_NO_PGID_CHECK = 1,
       DNET_EMU_STRICT_SWID = 2,
       DNET_EMU_RC_SKIP_ERRORS = 4,
       DNET_EMU_IN_LINE = 8,
       DNET_EMU_MANY_SENDERS = 16,
};

typedef struct {
    uint64_t magic;   /* +0x00 */
    uint32_t version; /* +0x08 */
    uint32_t profile; /* +0x0c dnet_profile_t */
    uint64_t id;      /* +0x10 random */
    uint64_t bytes;   /* +0x18 size of the segment */
    int32_t owner;    /* +0x20 pid */
    uint16_t lid;     /* +0x24 assigned by the Subnet Manager */
    uint16_t options; /* +0x26 */
} dnet_emu_header_t;
_Static_assert(sizeof(dnet_emu_header_t) == 40, "segment header size");
_Static_assert(offsetof(dnet_emu_header_t, id) == 0x10, "segment header layout");
_Static_assert(offsetof(dnet_emu_header_t, owner) == 0x20, "segment header layout");

/* A request as it enters the Request FIFO (5.6): 130 bits and Command Ex beside it. */
typedef struct {
    uint64_t lower;  /* Command0 or Command1, lower half */
    uint64_t upper;  /* the upper half */
    uint64_t ex;     /* Command Ex */
    uint8_t to_pw;   /* bit 128: Command1 */
    uint8_t wid;     /* bit 129 */
    uint8_t ex_on;   /* Command Ex Flag at the kick */
    uint8_t from_rc; /* an RVL received from the network, to be executed as RVS (6.4) */
    uint32_t reserved;
} dnet_emu_request_t;
_Static_assert(sizeof(dnet_emu_request_t) == 32, "request size");

/* States of the executor (states.def) and of the acceptor (11.1). */
typedef enum {
#define DNET_STATE(name, shown) DNET_STATE_##name,
#include "emulator/states.def"
#undef DNET_STATE
} dnet_emu_executor_state_t;
typedef enum {
    DNET_ACCEPTOR_NOP,
    DNET_ACCEPTOR_REQ,
    DNET_ACCEPTOR_REQ_IN,
    DNET_ACCEPTOR_WAIT,
} dnet_emu_acceptor_state_t;

/* An executor: the request it works on and how far it is. */
typedef struct {
    uint32_t state;   /* dnet_emu_executor_state_t */
    uint32_t outcome; /* dnet_emu_result_t of the last request */
    dnet_emu_request_t request;
    uint64_t done; /* bytes of the primitive delivered so far */
    /* An RVL has been delivered and its reply waits for room here (extended profile). */
    uint32_t serving;
    uint32_t reply_state; /* the state in which the reply waits */
    dnet_emu_request_t reply;
    uint16_t reply_lid;   /* the target */
    uint16_t service_lid; /* an RVL waits in that NIC's FIFO (prototype profile) */
    uint32_t reserved;
} dnet_emu_executor_t;

/* A Request FIFO (5.6); head and tail count requests. */
typedef struct {
    _Atomic uint32_t head; /* requests taken */
    _Atomic uint32_t tail; /* requests put */
    dnet_emu_request_t request[DNET_EMU_FIFO_DEPTH];
} dnet_emu_fifo_t;

/* Acceptor, executor and their FIFOs. */
typedef struct {
    /* prototype profile: pid that works here; 0: free */
    _Alignas(DNET_EMU_LINE) _Atomic uint32_t holder;
    uint32_t acceptor;     /* dnet_emu_acceptor_state_t */
    uint32_t turn;         /* 0: host FIFO next; 1: RC FIFO next */
    dnet_emu_executor_t x; /* the executor */
    dnet_emu_fifo_t host;  /* requests of the host */
    dnet_emu_fifo_t rc;    /* RVLs received */
    /* acceptor beyond NOP: decoded, not yet taken by the executor */
    dnet_emu_request_t accepted;
} dnet_emu_wc_t;

/* An aperture slot: host memory of the process that has this WID open. */
typedef struct {
    _Atomic uint64_t address; /* of its first byte, in that process */
    _Atomic uint64_t length;  /* 0: not set */
} dnet_emu_aperture_t;

/* An LH entry whose place, and that of its bytes in an IPUSH ring, is given to a packet, while its
 * sender still copies.  `owner` is stored when the others are, and stays behind the entry: the next
 * lap's may be there when a sender that was interrupted goes on. */
typedef struct {
    uint64_t where;         /* Pointer and Size, of this packet alone, as in the entry's line 1 */
    uint64_t ring;          /* index of its AMT word [31:0], Tail behind its bytes [63:32] */
    _Atomic uint64_t owner; /* pid [31:0], lh_tail at the time [63:32]; 0: none */
} dnet_emu_reservation_t;

/* NIC-internal state of one WID.  Cache lines are grouped by their users: senders; all (read only);
 * the own processes; senders again. */
typedef struct {
    /* Written by the process that delivers; the receiver never reads these while it polls. */
    _Alignas(DNET_EMU_LINE) _Atomic uint32_t rc_holder; /* pid that delivers now; 0: free */
    /* bytes of LH entries filled or reserved since the reset; a power of two of them is a lap */
    uint32_t lh_tail;
    uint32_t lh_head_seen; /* LH Next Read as last looked at */
    uint64_t packets;      /* Packet Counter */
    uint32_t status_base;  /* Status Area base, in LLCM */
    uint32_t status_tail;
    uint32_t flow_tail;  /* entries written so far */
    uint32_t flow_ready; /* entries whose memory is committed */
    uint32_t rc_state;
    /* bytes of free entries at which the limit event happens; 0: not armed */
    uint32_t lh_limit;
    /* The limit event. */
    /* futex word: how often it has happened */
    _Alignas(DNET_EMU_LINE) _Atomic uint32_t limit_events;
    _Atomic uint64_t limit_ns; /* when it happened last */
    /* Read by all that deliver; written when the process goes to sleep or wakes. */
    /* futex word: what the process does that has nothing to do (process.c); 0: it runs */
    _Alignas(DNET_EMU_LINE) _Atomic uint32_t sleeping;
    /* What the own processes alone write: in pages of its own, which peers map read-only where the
     * profile lets them (segment.c). */
    _Alignas(DNET_EMU_PAGE) _Atomic int32_t owner; /* pid that has this WID open; 0: none */
    _Atomic uint32_t member; /* 1 + its place in its process group; 0: not told */
    uint64_t probe;          /* virtual address, in the owner, of the header of this segment */
    /* Only the owner. */
    dnet_emu_wc_t wc; /* of WID 0: of both WIDs, in the prototype profile */
    uint32_t pending; /* a kicked request waits to enter the FIFO (5.6) */
    /* the VL half of a copy has been executed, its VS half has not (6.8) */
    uint32_t copying;
    dnet_emu_request_t pending_request;
    dnet_emu_request_t copy;
    _Alignas(DNET_EMU_LINE) dnet_emu_aperture_t aperture[DNET_EMU_APERTURES];
    /* Peers write again. */
    _Alignas(DNET_EMU_PAGE) _Atomic uint64_t committed[DNET_EMU_GRANULES / 64];
    /* Of each LH entry; those that deliver, one at a time. */
    _Alignas(DNET_EMU_LINE) dnet_emu_reservation_t reserved[DNET_EMU_LH_ENTRIES];
} dnet_emu_wid_t;

/* The guest table of a WID (guests.c): entry 0 is its head. */
typedef struct {
    _Atomic uint32_t uses; /* DNET_EMU_GUEST_*; 0: free */
    /* of entry 0: */
    _Atomic uint32_t holder; /* pid that changes the table; 0: free */
    _Atomic uint32_t end;    /* behind the last number that was ever given */
    _Atomic uint32_t came; /* of the others: the guest has entered itself, it may have left since */
    dnet_emu_guest_t who;
} dnet_emu_guest_entry_t;
_Static_assert(sizeof(dnet_emu_guest_entry_t) == 64, "guest entry size");

typedef struct {
    dnet_emu_wid_t wid[DNET_PROCESSES_PER_NIC];
    /* Prototype profile: whose packet reception waits for, {pid, LID} (section 8, 11.9); 0: none.
     */
    _Alignas(DNET_EMU_LINE) _Atomic uint64_t stalled_by;
    _Alignas(DNET_EMU_LINE) _Atomic uint64_t event[DNET_EMU_EVENT_COUNT];
    _Alignas(DNET_EMU_PAGE) uint16_t amt_address[DNET_PROCESSES_PER_NIC][DNET_EMU_AMT_ENTRIES];
} dnet_emu_state_t;

/* ---- a NIC as a process sees it ---- */

typedef struct dnet_emu_swif_ops dnet_emu_swif_ops_t;
typedef struct dnet_emu_network dnet_emu_network_t;

/* The areas of one WID, as pointers into the segment. */
typedef struct {
    dnet_emu_wid_t *state; /* NIC-internal state */
    dnet_emu_wc_t *wc;     /* the Window Controller that serves it */
    uint8_t *ureg_store;   /* User Registers, as the host stores them */
    uint8_t *ureg_load;    /* User Registers, as the host loads them */
    uint8_t *ww;           /* Write Windows */
    uint8_t *pw;           /* Prefetch Windows */
    uint8_t *llcm;
    dnet_lh_entry_t *lh;     /* LH Buffer */
    dnet_flow_entry_t *flow; /* flow ring; extended profile */
    /* SO-DIMM area; moves when more of it is mapped (memory.c), so it is looked up behind each
     * dnet_emu_sodimm_commit() */
    uint8_t *sodimm;
    uint64_t sodimm_bytes;  /* of it that this process can touch */
    uint64_t sodimm_window; /* of it that have addresses */
    uint64_t sodimm_at;     /* where it begins in the segment */
    uint8_t *sodimm_before; /* a window that has been left and stays mapped; NULL: none */
    uint64_t sodimm_before_window;
} dnet_emu_areas_t;

struct dnet_emu_nic {
    dnet_emu_header_t *header;
    dnet_emu_state_t *state;
    uint8_t *sreg_store; /* System Registers, as the host stores them */
    uint8_t *sreg_load;  /* System Registers, as the host loads them */
    dnet_emu_areas_t area[DNET_PROCESSES_PER_NIC];
    uint32_t lh_mask;      /* LH Buffer bytes - 1 */
    uint32_t flow_entries; /* 0 in the prototype profile */
    uint32_t llcm_bytes;
    uint32_t aperture_slots;
    bool extended;
    bool in_line; /* reception stalls for both WIDs together */
    bool touched; /* dnet_emu_memory_touch() */
    bool pgid_check;
    bool strict_swid;
    bool privileged;       /* this process may store to the System Register page */
    bool watched;          /* mapped read-only */
    bool offered;          /* made by this process, dnet_emu_descriptor_offer() */
    uint64_t mapped_bytes; /* behind `header` */
    uint8_t *flow_rings;   /* of both WIDs; NULL: there are none */
    uint64_t flow_bytes;
    /* Guest tables, as far as this process has mapped them. */
    dnet_emu_guest_entry_t *guests[DNET_PROCESSES_PER_NIC];
    uint64_t id;
    int fd;      /* -1: a peer's NIC, whose descriptor is not kept */
    int32_t pid; /* this process */
    /* which process has a WID, as this process has learnt; 0: as the segment says */
    int32_t process[DNET_PROCESSES_PER_NIC];
    uint16_t lid;
    uint16_t as_lid; /* by which this process sends to it: `lid`, but for a guest's NIC */
    const dnet_emu_swif_ops_t *swif; /* carries the packets this process sends */
    /* switches that packets sent by this process pass; NULL: none */
    dnet_emu_network_t *network;
    /* the way to processes of other hosts; NULL: there are none */
    dnet_emu_port_t *hosts;
    struct dnet_emu_capture *capture;         /* of what this process sends by `swif`; NULL: none */
    struct dnet_emu_faults *faults;           /* of that; NULL: none */
    struct dnet_emu_fault_point *fault_point; /* of that; NULL: none */
    /* swif/shm.c: where LIDs live; NULL in a NIC only delivered to */
    struct dnet_emu_routes *routes;
    /* of `routes`, by CLID: what is mapped, but for NICs of guests; NULL with it */
    struct dnet_emu_nic **near;
    struct dnet_emu_nic *next; /* of those that this process has mapped (segment.c) */
    uint64_t inode;            /* of the segment */
    /* given up where a peer is mapped and no others are left; -1: none */
    int spare_fd[DNET_EMU_SPARE_FDS];
    /* Whose packet reception here waits for (`stalled_by`), as this process has seen it, and when
     * it has asked last what has become of that one. */
    uint64_t stall_seen;
    uint64_t stall_asked_ns;
};

/* The device handed to the host, and what the emulator keeps beside it. */
typedef struct dnet_emu_device {
    dnet_device_t dev; /* first: the host's pointer is this object's */
    dnet_emu_nic_t *nic;
    dnet_emu_areas_t *area; /* of the WID that is open */
    /* A sender that has been waited for to finish its LH entry; 0: none. */
    int32_t late;
    uint32_t late_at; /* which entry, as lh_tail counts */
    uint64_t late_since_ns;
    bool late_told;
    /* Of the devices that this process has open: the next one, and which NIC this is one of. */
    struct dnet_emu_device *next;
    uint64_t nic_id;
} dnet_emu_device_t;

/* One more of the events that no register shows. */
static inline void dnet_emu_event(const dnet_emu_nic_t *nic, dnet_emu_event_t event)
{
    atomic_fetch_add_explicit(&nic->state->event[event], 1, memory_order_relaxed);
}

/* What the host has stored to a User Register. */
static inline uint64_t dnet_emu_ureg(const dnet_emu_nic_t *nic, unsigned wid, uint32_t offset)
{
    return dnet_emu_observe(nic->area[wid].ureg_store + offset);
}

/* What the host has stored to a System Register. */
static inline uint64_t dnet_emu_sreg(const dnet_emu_nic_t *nic, uint32_t offset)
{
    return dnet_emu_observe(nic->sreg_store + offset);
}

/* [nic 4.6] Process group of a WID. */
static inline uint8_t dnet_emu_pgid(const dnet_emu_nic_t *nic, unsigned wid)
{
    return (uint8_t) dnet_emu_peek(nic->sreg_store + DNET_SREG_PGID0 +
                                   wid * (DNET_SREG_PGID1 - DNET_SREG_PGID0));
}

/* [nic 4.6] LID that packets of this NIC carry as their source. */
static inline uint16_t dnet_emu_lid(const dnet_emu_nic_t *nic)
{
    return (uint16_t) dnet_emu_peek(nic->sreg_store + DNET_SREG_LID);
}

/* Controller Status bits of one WID (4.2); several processes may change different bits. */
static inline void dnet_emu_status_set(const dnet_emu_nic_t *nic, unsigned wid, uint64_t bits)
{
    atomic_fetch_or_explicit(
        (_Atomic uint64_t *) (void *) (nic->area[wid].ureg_load + DNET_UREG_CONTROLLER_STATUS),
        bits, memory_order_release);
}

/* The opposite. */
static inline void dnet_emu_status_clear(const dnet_emu_nic_t *nic, unsigned wid, uint64_t bits)
{
    atomic_fetch_and_explicit(
        (_Atomic uint64_t *) (void *) (nic->area[wid].ureg_load + DNET_UREG_CONTROLLER_STATUS),
        ~bits, memory_order_release);
}

/* [nic 4.2] RC_OVF: received data passed the end of its target. */
static inline void dnet_emu_overflow(const dnet_emu_nic_t *nic, unsigned wid)
{
    dnet_emu_status_set(nic, wid, DNET_MASK(CS_RC_OVF));
}

/* [nic 4.2, OP-58] Has the SO-DIMM been initialised? */
static inline bool dnet_emu_sodimm_ready(const dnet_emu_nic_t *nic)
{
    return DNET_GET(dnet_emu_peek(nic->area[0].ureg_load + DNET_UREG_CONTROLLER_STATUS),
                    CS_SDIMM_READY);
}

/* ---- packets ---- */

/* A piece of a packet's data where it lies: in this process, or (pid != 0) in that process. */
typedef struct {
    const uint8_t *at; /* first byte */
    uint32_t bytes;
    int32_t pid;
} dnet_emu_span_t;

/*
 * A packet on its way.  Core Logic hands it to the switch interface by reference; nothing is copied
 * before the destination's Receive Controller puts the data where they go.
 *
 * `packets` > 1 stands for that many packets of one contiguous RVS, back to back: header[] is the
 * first one's, with the eflag of the last.
 */
typedef struct {
    uint64_t header[4]; /* header lines, the first header_lines of them */
    uint32_t header_lines;
    uint32_t data_bytes;
    uint32_t packets;
    uint16_t slid; /* sideband of the switch interface (OP-12) */
    bool reply;    /* answers an RVL that this process has issued */
    /* span[0] holds all data and is readable up to a multiple of 8 bytes */
    bool whole_lines;
    uint8_t spans; /* entries of span[] in use */
    dnet_emu_span_t span[2];
    /* Set by RC for an RVL: what the target's WC is to do, and where. */
    struct dnet_emu_nic *service_nic;
    dnet_emu_request_t service;
    /* Set by RC for a FADD: the word as it was. */
    uint64_t answer;
} dnet_emu_packet_t;

typedef enum {
#define DNET_RESULT(name, shown) DNET_EMU_##name,
#include "emulator/results.def"
#undef DNET_RESULT
} dnet_emu_result_t;

/* ---- small helpers used by several units ---- */

/* [X.5] Does an address name an aperture instead of SO-DIMM? */
static inline bool dnet_emu_is_aperture(const dnet_emu_nic_t *nic, uint32_t address)
{
    return nic->extended && DNET_GET(address, AP_FLAG);
}

/* [X.5] Bytes from the beginning of its aperture to the place an address names. */
static inline uint64_t dnet_emu_aperture_offset(uint32_t address)
{
    return DNET_GET(address, AP_OFFSET) * DNET_APERTURE_UNIT;
}

/* [nic 4.5] Change a field of Module State. */
static inline void dnet_emu_module_state(const dnet_emu_nic_t *nic, unsigned wid, uint64_t mask,
                                         uint64_t value)
{
    _Atomic uint64_t *at =
        (_Atomic uint64_t *) (void *) (nic->area[wid].ureg_load + DNET_UREG_MODULE_STATE);
    uint64_t old = atomic_load_explicit(at, memory_order_relaxed);

    while ((old & mask) != value &&
           !atomic_compare_exchange_weak_explicit(at, &old, (old & ~mask) | value,
                                                  memory_order_release, memory_order_relaxed))
        continue;
}

/* Copy whole and partial lines by 64-bit loads, which forward from 64-bit and wider stores.  `from`
 * is readable up to the next multiple of 8. */
static inline void dnet_emu_copy_lines(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    uint64_t word;

    for (; bytes >= 8; bytes -= 8, to += 8, from += 8) {
        memcpy(&word, from, 8);
        memcpy(to, &word, 8);
    }
    if (bytes == 0)
        return;
    memcpy(&word, from, 8);
    if (bytes & 4) {
        uint32_t half = (uint32_t) word;
        memcpy(to, &half, 4);
        to += 4;
        word >>= 32;
    }
    if (bytes & 2) {
        uint16_t pair = (uint16_t) word;
        memcpy(to, &pair, 2);
        to += 2;
        word >>= 16;
    }
    if (bytes & 1)
        *to = (uint8_t) word;
}

#endif
