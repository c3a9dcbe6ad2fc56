/* SPDX-License-Identifier: BSD-3-Clause
 *
 * User-level driver of one process's half of a NIC: issues primitives, reads rings, frees them in
 * order.
 *
 * The driver touches the NIC through its memory map only (include/dimmnet/device.h).  It keeps no
 * message state: what a packet means is the endpoint's business.
 *
 * LLCM of one process, as this driver lays it out:
 *   0x0000  AMT entries of the IPUSH rings (data sheet 9.1), 128 bytes apart; senders share ring 0
 *   0x1000  receive status ring, 4096 bytes (8)
 *   0x2000  words that peers write (RVS with lflag): DNET_DRV_WORDS of 64 bytes each
 *   0x6000  hold table (docs/protocol.md 6.1)
 *   0x6400  stop table, of the same form: senders stopped and not granted, for dnet-stat to read
 *   0x7000  cursors, one for each of the apertures 1 to DNET_DRV_CURSORS, 64 bytes apart: this
 *           process and one peer count them up
 * SO-DIMM area:
 *   0       IPUSH rings, all of one size; behind them the memory is the endpoint's
 *
 * Threads: one caller at a time.
 */
#ifndef DNET_DRV_H
#define DNET_DRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/compiler.h"
#include "common/short_copy.h"
#include "dimmnet/device.h"
#include "dimmnet/status.h"

#define DNET_DRV_RINGS_MAX 16u
#define DNET_DRV_RING_WORDS 16u /* LLCM words from one AMT entry to the next */
#define DNET_DRV_STATUS_RING 0x1000u
#define DNET_DRV_STATUS_RING_BYTES 4096u
#define DNET_DRV_WORD_BASE 0x2000u
#define DNET_DRV_WORD_STRIDE 64u
#define DNET_DRV_WORDS 256u
#define DNET_DRV_HOLD_TABLE 0x6000u
#define DNET_DRV_STOP_TABLE 0x6400u
#define DNET_DRV_CURSOR_BASE 0x7000u
#define DNET_DRV_CURSOR_STRIDE 64u
#define DNET_DRV_CURSORS 64u

#define DNET_DRV_HEADER_BYTES 16u /* a two-line packet header */
/** Longest data of one BOTF message: window less header and envelope. */
#define DNET_DRV_BOTF_DATA_MAX (DNET_WINDOW_BYTES - DNET_DRV_HEADER_BYTES - DNET_ENVELOPE_BYTES)
/** The same in the extended profile, where an image may go on in the next window: in a row of
 * messages, ten lines, for of longer ones what lies in lines of the LH Buffer is slower than in a
 * ring; and of one that is alone. */
#define DNET_DRV_BOTF_DATA_ROW 552u
#define DNET_DRV_BOTF_DATA_MOST (DNET_BOTF_BYTES_MAX - DNET_DRV_HEADER_BYTES - DNET_ENVELOPE_BYTES)
/** Longest data of one IPUSH packet at the largest MTU. */
#define DNET_DRV_PACKET_DATA_MAX \
    (DNET_PACKET_MAX_BYTES - DNET_DRV_HEADER_BYTES - DNET_ENVELOPE_BYTES)

/** Longest data of one message that a few packets bring, handed over together (message_bytes()):
 * an entry and two pages. */
#define DNET_DRV_MESSAGE_DATA_MAX (8192u + DNET_LH_DATA_BYTES)
/** The same for pieces of long messages: an entry and sixteen pages. */
#define DNET_DRV_PIECE_DATA_MAX (65536u + DNET_LH_DATA_BYTES)

/** Address of a process on the network, in the form the first header line wants it. */
typedef uint64_t dnet_drv_target_t;

/** Address of the process with this WID at the NIC with this LID. */
static inline dnet_drv_target_t dnet_drv_target(uint16_t lid, unsigned wid)
{
    return DNET_PUT(lid, PK_DLID) | DNET_PUT(wid, PK_DWID);
}

/** LID of an address. */
static inline uint16_t dnet_drv_target_lid(dnet_drv_target_t t)
{
    return (uint16_t) DNET_GET(t, PK_DLID);
}

/** WID of an address. */
static inline unsigned dnet_drv_target_wid(dnet_drv_target_t t)
{
    return (unsigned) DNET_GET(t, PK_DWID);
}

/** An address in a peer's memory: SO-DIMM offset, or aperture slot and offset (docs/protocol.md 5).
 */
typedef struct {
    uint32_t address;
} dnet_drv_remote_t;

/** What a receive status says (data sheet 8). */
typedef struct {
    uint32_t address; /* first address written */
    uint32_t bytes;
    uint16_t lid; /* of the sender's NIC */
    uint8_t wid;  /* of the sender */
} dnet_drv_receipt_t;

/** What a flow-ring entry says (docs/protocol.md 6). */
typedef struct {
    dnet_flow_kind_t kind;
    uint16_t lid;    /* of the other end's NIC */
    uint8_t wid;     /* of the other end */
    uint8_t credits; /* RESEND */
    bool shared;     /* RESEND: others wait as well */
    /* RESEND: of a sender, which has used its credits up and asks for more */
    bool more;
    uint32_t need_bytes; /* STOPPED, more: ring bytes the packet needs */
} dnet_drv_flow_t;

typedef struct {
    uint64_t botf, vs, vl, rvs, rvl, ipush;
} dnet_drv_counters_t;

#define DNET_DRV_REFILL_LEAST 4u /* the limit event comes when a quarter is left */

/**
 * LH entries that a thread of its own offers to the NIC, as with an InfiniBand SRQ.  Counts run
 * from the start, as lh_read does.
 */
typedef struct {
    /* entries offered at a time; 0: no thread, giving back is offering */
    uint32_t refill;
    uint32_t mark;             /* entries left at which the limit event happens */
    uint32_t offered;          /* thread: Head as stored, before it is cut to the ring */
    _Atomic uint32_t returned; /* entries given back */
    /* the thread had nothing to offer, and waits for more to be given back */
    _Atomic bool wanting;
} dnet_drv_srq_t;

/** Elements of one size, at both ends of an RVL: in steps, or where a list of 32-bit offsets says.
 */
typedef struct {
    /* SO-DIMM offset of the first; with a list, what its offsets are added to */
    uint32_t src, dst;
    /* bytes between two starts, modulo 2^32; or the list's SO-DIMM offset */
    uint32_t src_step, dst_step;
    bool src_list, dst_list; /* the step is a list's offset */
    uint32_t bytes;          /* of an element; a multiple of 4 */
    uint32_t count;
} dnet_drv_run_t;

typedef struct {
    dnet_device_t *dev; /* the NIC */
    dnet_drv_counters_t counters;
    /* Sending. */
    uint64_t source;  /* own SWID in header form */
    uint32_t window;  /* next Write Window for BOTF */
    uint32_t windows; /* used for BOTF: 4, or 3 where window 3 serves VS (prototype) */
    /* longest data of one BOTF message: of any, and of one that is alone */
    uint32_t botf_data, botf_data_alone;
    struct {
        const void *address; /* where aperture 0 is open now; NULL: nowhere */
        uint32_t len;
    } own;
    /* LH Buffer: entries read and entries given back, counted from the start. */
    uint32_t lh_mask;
    uint32_t lh_read;
    const dnet_lh_entry_t *lh_at; /* the next to be read */
    uint64_t lh_flags;            /* which its line 0 has when it has arrived */
    uint32_t lh_asked;            /* lines behind its first that are asked for while it has not */
    uint32_t lh_read_before;      /* when a message was sent at once last */
    uint32_t lh_freed;
    uint32_t lh_batch;
    /* IPUSH rings: bytes of one; of each, bytes read and given back, counted from the start. */
    uint32_t ring_bytes;
    uint32_t ring_shift; /* log2 of that */
    uint32_t ring_grain; /* a message takes a multiple of so many bytes */
    uint32_t rings;
    uint32_t ring_used; /* bytes read since the endpoint has taken a sample of senders */
    bool ring_due;      /* a ring has enough to give back, or a sample is due */
    struct {
        uint32_t read, freed;
    } ring[DNET_DRV_RINGS_MAX];
    /* Status ring and flow ring. */
    uint32_t status_read;
    uint32_t flow_read;               /* flow-ring entries read, counted from the start */
    const dnet_flow_entry_t *flow_at; /* the next to be read */
    uint64_t flow_valid;              /* its Valid when it has arrived */
    dnet_drv_srq_t srq;
} dnet_drv_t;

/**
 * Take a device into use: rings empty, receiving enabled.
 *
 * @param dev         a NIC with a flow ring
 * @param area_bytes  all IPUSH rings together, a power of two
 * @param rings       how many, a power of two up to DNET_DRV_RINGS_MAX; each has 4096 bytes or more
 * @param mode        STALL, STOP or RETRY: what becomes of a packet that finds no room
 * @param refill      0: an LH entry is the NIC's again when it is given back.  Else entries are
 * only the NIC's when dnet_drv_srq_refill() offers them, so many at a time: DNET_DRV_REFILL_LEAST
 * to half of the LH Buffer
 * @return DNET_OK; DNET_ERR_ARGUMENT; DNET_ERR_NO_MEMORY (logged)
 */
dnet_status_t dnet_drv_start(dnet_drv_t *nic, dnet_device_t *dev, uint32_t area_bytes,
                             uint32_t rings, dnet_flow_mode_t mode, uint32_t refill);

/**
 * Sleep until the limit event has happened more often than `seen` times: of the entries offered few
 * are left. This and dnet_drv_srq_refill() are for one thread, beside the one that does everything
 * else.
 *
 * @param when_ns_p  when it happened last, on CLOCK_MONOTONIC
 * @return how often it has happened
 */
uint32_t dnet_drv_srq_limit_wait(dnet_drv_t *nic, uint32_t seen, uint64_t *when_ns_p);

/** End a dnet_drv_srq_limit_wait(). */
void dnet_drv_srq_limit_raise(dnet_drv_t *nic);

/** Offer the NIC more LH entries that were given back, and arm the limit event again if it has got
 * any. */
void dnet_drv_srq_refill(dnet_drv_t *nic);

/** Messages of this sender to this process go to that ring from now on. */
void dnet_drv_ring_assign(dnet_drv_t *nic, dnet_drv_target_t sender, uint32_t ring);

/** Privileged bring-up of a new NIC (data sheet Annex B): LID, capacity, MTU, SO-DIMM, PGIDs. */
dnet_status_t dnet_drv_bring_up(dnet_device_t *dev, uint8_t pgid);

/** Outcome of the request just issued, from the Stop Report register. */
static inline dnet_status_t dnet_drv_outcome(const dnet_drv_t *nic)
{
    uint32_t report = (uint32_t) dnet_reg_load(nic->dev, DNET_UREG_STOP_REPORT);
    if (DNET_LIKELY(report == DNET_REPORT_DELIVERED))
        return DNET_OK;
    return report == DNET_REPORT_STOPPED   ? DNET_STOPPED
           : report == DNET_REPORT_HELD    ? DNET_HELD
           : report == DNET_REPORT_STALLED ? DNET_STALLED
           : report == DNET_REPORT_REFUSED ? DNET_ERR_SYSTEM
           : report == DNET_REPORT_NO_WAY  ? DNET_ERR_NO_ROUTE
                                           : DNET_ERR_PEER_DEAD;
}

/** Let the NIC go on with a request that was DNET_STALLED.  @return its outcome */
static inline dnet_status_t dnet_drv_run(const dnet_drv_t *nic)
{
    nic->dev->ops->run(nic->dev);
    return dnet_drv_outcome(nic);
}

/** Write Window for the next BOTF.  With Flow Mode STOP a request is over when it has been issued,
 * so the window is free. */
static inline uint8_t *dnet_drv_window(const dnet_drv_t *nic)
{
    return nic->dev->ww + nic->window * DNET_WINDOW_BYTES;
}

/** Issue what stands in the current Write Window as a packet image of `bytes`; `alone`: no other
 * one is likely to follow before something has come. */
static inline dnet_status_t dnet_drv_botf(dnet_drv_t *nic, uint32_t bytes, bool alone)
{
    dnet_reg_store(nic->dev, DNET_UREG_COMMAND0_LOWER,
                   DNET_PUT(DNET_PRIM_BOTF, RQ_OTYPE) | DNET_PUT(nic->window, RQ_BOTF_WW) |
                       DNET_PUT(bytes, RQ_BOTF_SIZE) | DNET_PUT(alone, RQ_BOTF_ALONE));
    nic->counters.botf++;
    nic->window = nic->window + 1 == nic->windows ? 0 : nic->window + 1;
    return dnet_drv_outcome(nic);
}

/** Header lines of an IPUSH packet image with LHS reception. */
static inline void dnet_drv_lhs_header(const dnet_drv_t *nic, uint8_t *window,
                                       dnet_drv_target_t target, uint64_t envelope)
{
    /* A store for each line: two that were joined by a load of both from the stack would wait for
     * all stores before, lines on their way from other processors included. */
    uint64_t first =
        target | nic->source | DNET_PUT(DNET_PRIM_IPUSH, PK_TYPE) | DNET_PUT(1, PK_LFLAG);
    memset(window + 8, 0, 8);
    memcpy(window, &first, 8);
    memcpy(window + 16, &envelope, 8);
}

/* Less than a word, by the store of one, for a word is what the NIC loads: bytes stored one by one
 * would have to leave the processor's store buffer first, and all stores before them. */
static inline void dnet_drv_copy_word(uint8_t *to, const void *from, uint32_t len)
{
    const uint8_t *at = from;
    uint64_t word = 0;
    if (len >= 4) {
        uint32_t low, high;
        memcpy(&low, at, 4);
        memcpy(&high, at + len - 4, 4);
        word = low | (uint64_t) high << 8 * (len - 4);
    } else if (len >= 2) {
        uint16_t low, high;
        memcpy(&low, at, 2);
        memcpy(&high, at + len - 2, 2);
        word = low | (uint64_t) high << 8 * (len - 2);
    } else if (len) {
        word = *at;
    }
    memcpy(to, &word, 8);
}

/** Is a message alone: has one come since the last that was sent at once? */
static inline bool dnet_drv_is_alone(dnet_drv_t *nic)
{
    bool alone = nic->lh_read != nic->lh_read_before;
    nic->lh_read_before = nic->lh_read;
    return alone;
}

/**
 * Send a message in one BOTF packet.
 *
 * @param len    at most `botf_data`, or `botf_data_alone` if it is `alone`
 * @param alone  no other one is likely to follow soon
 * @return DNET_OK (buf may be reused); DNET_STOPPED; DNET_HELD; DNET_STALLED (buf may be reused,
 * but the NIC takes no other request before this one is out); DNET_ERR_PEER_DEAD;
 * DNET_ERR_NO_ROUTE
 */
static inline dnet_status_t dnet_drv_send_short(dnet_drv_t *nic, dnet_drv_target_t target,
                                                uint64_t envelope, const void *buf, uint32_t len,
                                                bool alone)
{
    if (DNET_UNLIKELY(len > DNET_DRV_BOTF_DATA_MAX) && nic->window + 2 >= nic->windows)
        nic->window = 0; /* it goes on in the next ones */
    uint8_t *window = dnet_drv_window(nic);
    dnet_drv_lhs_header(nic, window, target, envelope);
    if (len == 8) /* the most frequent size; a store instead of a call */
        memcpy(window + 24, buf, 8);
    else if (len < 8)
        dnet_drv_copy_word(window + 24, buf, len);
    else if (len <= DNET_SHORT_COPY_MOST)
        dnet_short_copy(window + 24, buf, len);
    else
        memcpy(window + 24, buf, len);
    nic->counters.ipush++;
    return dnet_drv_botf(nic, 24 + len, alone);
}

/** The next message to that process is likely to have so many bytes, more than an entry's first
 * line. */
static inline void dnet_drv_expect(const dnet_drv_t *nic, dnet_drv_target_t target, uint32_t bytes)
{
    nic->dev->ops->expect(nic->dev, dnet_drv_target_lid(target), dnet_drv_target_wid(target),
                          bytes - DNET_LH_DATA_BYTES);
}

/** A piece of a message, in host memory. */
typedef struct {
    const void *data;
    uint32_t len;
} dnet_drv_piece_t;

/** As dnet_drv_send_short(), with the data in up to three pieces. */
dnet_status_t dnet_drv_send_pieces(dnet_drv_t *nic, dnet_drv_target_t target, uint64_t envelope,
                                   const dnet_drv_piece_t *pieces, unsigned count);

/**
 * Send head (first bytes, through a Write Window) and body (straight from host memory) as one IPUSH
 * packet, or a few handed over together, with LHSv2 (data sheet 5.3, 10.4).  Extended profile.
 *
 * @param head  pieces of together at most DNET_DRV_BOTF_DATA_MAX bytes; with the body at most
 *              DNET_DRV_PACKET_DATA_MAX, or DNET_DRV_PIECE_DATA_MAX where message_bytes() allows it
 */
dnet_status_t dnet_drv_send_long(dnet_drv_t *nic, dnet_drv_target_t target, uint64_t envelope,
                                 const dnet_drv_piece_t *head, unsigned head_count,
                                 const void *body, uint32_t body_len);

/** Write one 64-bit word into a peer's LLCM (BOTF of RVS with lflag). */
dnet_status_t dnet_drv_put_word(dnet_drv_t *nic, dnet_drv_target_t target, uint32_t llcm_offset,
                                uint64_t value);

/** Hold messages of one sender back, or no longer; packets marked DNET_ENVELOPE_PASS come in all
 * the same. */
void dnet_drv_hold(dnet_drv_t *nic, dnet_drv_target_t sender, bool on);

/** The same for all senders. */
void dnet_drv_hold_all(dnet_drv_t *nic, bool on);

/** Does the hold table hold this sender's messages back? */
bool dnet_drv_holds(const dnet_drv_t *nic, dnet_drv_target_t sender);

/** Note in the stop table that a sender waits for a grant, or no longer. */
void dnet_drv_note_stopped(dnet_drv_t *nic, dnet_drv_target_t sender, bool on);

/** Set the cursor of one of the own apertures, before a peer is told of it. */
void dnet_drv_cursor_set(dnet_drv_t *nic, unsigned slot, uint64_t value);

/** Count the cursor of one of the own apertures up.  @return what it was */
uint64_t dnet_drv_cursor_next(dnet_drv_t *nic, unsigned slot);

/**
 * Count the cursor of a peer's aperture up, by FADD: of all that do so at any time, each gets a
 * number of its own.
 *
 * @param slot       1 to DNET_DRV_CURSORS
 * @param before_p   what it was
 * @return DNET_OK; else nothing has been counted, as for dnet_drv_rvl()
 */
dnet_status_t dnet_drv_cursor_take(dnet_drv_t *nic, dnet_drv_target_t target, unsigned slot,
                                   uint64_t *before_p);

/** Grant a stopped sender `credits` packets, 1..255.  `shared`: others wait as well, so it comes
 * back after them with dnet_drv_ask(). */
dnet_status_t dnet_drv_resend(dnet_drv_t *nic, dnet_drv_target_t target, uint8_t credits,
                              bool shared);

/** As a sender whose credits are used up: ask for more, for a packet that needs so many ring bytes.
 */
dnet_status_t dnet_drv_ask(dnet_drv_t *nic, dnet_drv_target_t target, uint32_t need_bytes);

/**
 * RDMA write from host memory (extended) to an address at the peer.
 *
 * @param status  the receiver gets a receive status
 */
dnet_status_t dnet_drv_rvs(dnet_drv_t *nic, dnet_drv_target_t target, const void *src,
                           dnet_drv_remote_t dst, uint32_t len, bool status);

/** An RVS without data, for the receive status alone, of what was stored at `dst`. */
dnet_status_t dnet_drv_rvs_end(dnet_drv_t *nic, dnet_drv_target_t target, dnet_drv_remote_t dst);

/** RDMA read from an address at the peer into host memory (extended); over when issued. */
dnet_status_t dnet_drv_rvl(dnet_drv_t *nic, dnet_drv_target_t target, dnet_drv_remote_t src,
                           void *dst, uint32_t len);

/**
 * RDMA read of a run from the peer's SO-DIMM into the own one: RVLS, RVLI or RVL, with Command Ex
 * for the own side (data sheet 6.4, 6.9).  Over when issued (extended).
 */
dnet_status_t dnet_drv_rvl_run(dnet_drv_t *nic, dnet_drv_target_t target,
                               const dnet_drv_run_t *run);

/** RDMA write from the own SO-DIMM area to the peer's (both profiles). */
dnet_status_t dnet_drv_rvs_sodimm(dnet_drv_t *nic, dnet_drv_target_t target, uint32_t src,
                                  uint32_t dst, uint32_t len, bool status);

/** Open an aperture for host memory; slot 1..aperture_slots-1 (0 is the driver's own). */
void dnet_drv_aperture_set(dnet_drv_t *nic, unsigned slot, const void *address, uint64_t len);

/** Address, in requests of peers, of the first byte of an aperture. */
static inline uint32_t dnet_drv_aperture_address(unsigned slot)
{
    return (uint32_t) (DNET_MASK(AP_FLAG) | DNET_PUT(slot, AP_SLOT));
}

/** A place `offset` bytes behind another in the same aperture.  @param offset  a multiple of
 * DNET_APERTURE_UNIT */
static inline dnet_drv_remote_t dnet_drv_aperture_place(uint32_t address, uint64_t offset)
{
    return (dnet_drv_remote_t){address + (uint32_t) (offset / DNET_APERTURE_UNIT)};
}

#define DNET_DRV_LH_FLAGS (DNET_MASK(LH_VALID) | DNET_MASK(LH_COMPLETE))

/* Both flags of the LH entry with this number when it has arrived: lap n is new while Valid ==
 * (n + 1) & 1. */
static inline uint64_t dnet_drv_lh_flags(const dnet_drv_t *nic, uint32_t number)
{
    bool odd_lap = number & (nic->lh_mask + 1); /* a power of two */
    return odd_lap ? 0 : DNET_DRV_LH_FLAGS;
}

static inline bool dnet_drv_lh_has_come(const dnet_lh_entry_t *entry, uint64_t flags)
{
    /* Acquire: pairs with the release store of line 0 by the Receive Controller, after data and
     * line 1. */
    uint64_t line0 = atomic_load_explicit(
        (const _Atomic uint64_t *) (const void *) &entry->envelope, memory_order_acquire);
    return ((line0 ^ flags) & DNET_DRV_LH_FLAGS) == 0;
}

/** The next LH entry that has arrived and was not read yet; NULL: none. */
static inline const dnet_lh_entry_t *dnet_drv_lh_next(const dnet_drv_t *nic)
{
    return dnet_drv_lh_has_come(nic->lh_at, nic->lh_flags) ? nic->lh_at : NULL;
}

/** Is there one behind the entry that dnet_drv_lh_next() has returned? */
static inline bool dnet_drv_lh_more(const dnet_drv_t *nic)
{
    uint32_t number = nic->lh_read + 1;
    return dnet_drv_lh_has_come(&nic->dev->lh[number & nic->lh_mask],
                                dnet_drv_lh_flags(nic, number));
}

/** Has a sender got the next entry, and not filled it yet? */
static inline bool dnet_drv_lh_late(const dnet_drv_t *nic)
{
    uint64_t tail = dnet_reg_load(nic->dev, DNET_UREG_LH_NEXT_WRITE) / DNET_LH_ENTRY_BYTES;
    return tail != (nic->lh_read & nic->lh_mask) && !dnet_drv_lh_next(nic);
}

/**
 * Let the NIC look at a late entry, and pass over those that stay void because their sender has
 * died.
 *
 * @return true: entries were passed over; call dnet_drv_publish() to give them back
 */
bool dnet_drv_lh_settle(dnet_drv_t *nic);

/** Publish what was freed: LH Head and ring Head. */
void dnet_drv_publish(dnet_drv_t *nic);

/** srq_limit.c: entries were given back that a thread is to offer. */
void dnet_drv_srq_return(dnet_drv_t *nic);

/* dnet_drv_lh_release() of an entry whose data go on elsewhere, or that is a lap's last one. */
bool dnet_drv_lh_release_other(dnet_drv_t *nic, const dnet_lh_entry_t *entry);

/**
 * Be done with the entry last returned by dnet_drv_lh_next(), and with its bytes in the IPUSH ring.
 *
 * @return true: enough has come together; call dnet_drv_publish() to give it back
 */
static inline bool dnet_drv_lh_release(dnet_drv_t *nic, const dnet_lh_entry_t *entry)
{
    uint32_t next = nic->lh_read + 1;
    if (DNET_UNLIKELY(DNET_GET(entry->where, LH_SIZE) > DNET_LH_DATA_BYTES ||
                      !(next & nic->lh_mask)))
        return dnet_drv_lh_release_other(nic, entry);
    nic->lh_read = next;
    nic->lh_at++;
    nic->lh_asked = 0;
    return DNET_UNLIKELY(nic->ring_due | (next - nic->lh_freed >= nic->lh_batch));
}

/** Nothing has come: ask for the lines behind the next entry's first where the last one had such,
 * so that they are on their way when it is seen. */
static inline void dnet_drv_lh_ask(const dnet_drv_t *nic)
{
    for (uint32_t i = 1; i <= nic->lh_asked; i++)
        __builtin_prefetch(nic->lh_at + i);
}

/** LH entries that senders may still fill; what is not published counts as used. */
uint32_t dnet_drv_lh_free(const dnet_drv_t *nic);

/** Bytes of an IPUSH ring that senders may still fill; what is not published counts as used. */
uint32_t dnet_drv_ring_free(const dnet_drv_t *nic, uint32_t ring);

/** Copy the part of a message that lies in the IPUSH ring; `from` counts from the message's
 * byte 48. */
void dnet_drv_ring_read(dnet_drv_t *nic, const dnet_lh_entry_t *entry, uint32_t from, void *dst,
                        uint32_t len);

/** The same for the entry last returned by dnet_drv_lh_next(), whose data lie in lines behind its
 * first (X.3). */
void dnet_drv_lines_read(const dnet_drv_t *nic, uint32_t from, void *dst, uint32_t len);

/** Next receive status.  @return false: none */
bool dnet_drv_status_next(dnet_drv_t *nic, dnet_drv_receipt_t *receipt_p);

/** Has dnet_drv_status_next() something to return? */
static inline bool dnet_drv_status_waiting(const dnet_drv_t *nic)
{
    return dnet_reg_load(nic->dev, DNET_UREG_STATUS_NEXT_WRITE) != nic->status_read;
}

/** The oldest flow-ring entry; it stays until dnet_drv_flow_advance().  @return false: none */
bool dnet_drv_flow_peek(const dnet_drv_t *nic, dnet_drv_flow_t *flow_p);

/** Be done with the entry last returned by dnet_drv_flow_peek(). */
void dnet_drv_flow_advance(dnet_drv_t *nic);

/** Has a flow-ring entry arrived? */
static inline bool dnet_drv_flow_waiting(const dnet_drv_t *nic)
{
    /* Acquire: pairs with the release store of the word by the NIC, after arg. */
    uint64_t word = atomic_load_explicit(
        (const _Atomic uint64_t *) (const void *) &nic->flow_at->word, memory_order_acquire);
    return ((word ^ nic->flow_valid) & DNET_MASK(FLOW_VALID)) == 0;
}

/** A word peers write with dnet_drv_put_word(); index 0..DNET_DRV_WORDS-1. */
static inline uint32_t dnet_drv_word_offset(unsigned index)
{
    return DNET_DRV_WORD_BASE + index * DNET_DRV_WORD_STRIDE;
}

/** Value of such a word now; 0 until a peer has written it. */
static inline uint64_t dnet_drv_word(const dnet_drv_t *nic, unsigned index)
{
    /* Acquire: pairs with the release store of an LLCM word by the Receive Controller; what the
     * peer wrote into SO-DIMM before is visible after. */
    return atomic_load_explicit(
        (const _Atomic uint64_t *) (const void *) (nic->dev->llcm + dnet_drv_word_offset(index)),
        memory_order_acquire);
}

/** Make such a word 0 again, before a peer may write the next value. */
void dnet_drv_word_clear(dnet_drv_t *nic, unsigned index);

/** Copy len bytes at an offset of the own SO-DIMM area to host memory. */
void dnet_drv_sodimm_read(dnet_drv_t *nic, uint32_t offset, void *dst, uint32_t len);

/** Copy len bytes of host memory to an offset of the own SO-DIMM area. */
void dnet_drv_sodimm_write(dnet_drv_t *nic, uint32_t offset, const void *src, uint32_t len);

#endif
