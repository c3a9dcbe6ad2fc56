/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Receive Controller (data sheet 4.2.2, 6.7, checks of section 7, 9.3, 11.8).  What has no
 * room is answered by flow_ring.c.
 *
 * Runs in the sender's context.  The receive side of a WID is held by one process at a time
 * (receive_side.c).  While it is held nothing is read but the NIC's own memory, at most a Write
 * Window of it: what lies elsewhere is copied before, or afterwards to a place that was reserved.
 */
#include "config.h"

#include "emulator/receive_controller.h"

#include "common/clock.h"
#include "emulator/amt_table.h"
#include "emulator/flow_ring.h"
#include "emulator/guests.h"
#include "emulator/receive_entry.h"
#include "emulator/request_fifo.h"
#include "emulator/status_write_unit.h"
#include "emulator/write_unit.h"

enum { /* RC_STATE (4.2) */
       RC_NORMAL = 0,
       RC_FIRST_LINE = 1,
       RC_HEADER_LINES = 2,
       RC_RVL_SHAPE = 3,
};

/* ---- what goes wrong ---- */

/* [nic 4.2, OP-42] A malformed packet: RC_STATE says why; RC halts unless told to go on. */
DNET_COLD static dnet_emu_result_t malformed(const dnet_emu_nic_t *nic, unsigned state)
{
    dnet_emu_event(nic, DNET_EMU_DROP_STATE);
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        if ((dnet_emu_peek(nic->area[w].ureg_load + DNET_UREG_CONTROLLER_STATUS) &
             DNET_MASK(CS_RC_STATE)) == 0)
            dnet_emu_status_set(nic, w, DNET_PUT(state, CS_RC_STATE));
        if (!(nic->header->options & DNET_EMU_RC_SKIP_ERRORS))
            nic->area[w].state->rc_state = state;
    }
    return DNET_EMU_DELIVERED;
}

void dnet_emu_rc_cut_off(const dnet_emu_nic_t *nic)
{
    (void) malformed(nic, RC_FIRST_LINE);
}

/* [nic 4.4, OP-13] A packet of another process group, that of no guest. */
DNET_COLD static dnet_emu_result_t foreign(const dnet_emu_nic_t *nic)
{
    dnet_emu_event(nic, DNET_EMU_DROP_PGID);
    return DNET_EMU_DELIVERED;
}

/* [X.9] Is a packet of another process group one of a guest? */
DNET_COLD static bool is_guest(const dnet_emu_nic_t *nic, unsigned wid,
                               const dnet_emu_packet_t *packet)
{
    return dnet_emu_guests_know(nic, wid, dnet_emu_guest_of(packet->slid),
                                (uint8_t) DNET_GET(packet->header[0], PK_PGID));
}

/* [X.6] A grant: it needs no other room and is never stopped. */
DNET_COLD static dnet_emu_result_t receive_resend(const dnet_emu_nic_t *nic, unsigned wid,
                                                  const dnet_emu_packet_t *packet)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    bool known;

    if (nic->flow_entries == 0) {
        dnet_emu_event(nic, DNET_EMU_DROP_STATE);
        return DNET_EMU_DELIVERED;
    }
    dnet_emu_rc_acquire(nic, wid);
    known = dnet_emu_flow_append(nic, wid, DNET_FLOW_RESEND, packet, packet->header[1] & 0xff,
                                 packet->header[1]);
    if (known)
        dnet_emu_rc_count(&nic->area[wid], 1);
    dnet_emu_rc_release(s);
    dnet_emu_wake(s);
    return known ? DNET_EMU_DELIVERED : DNET_EMU_UNREACHABLE;
}

/* [X.5] Fetch and add to a word of LLCM, which the host may change at the same time: {offset,
 * addend} in the second line. */
DNET_COLD static dnet_emu_result_t receive_fadd(const dnet_emu_nic_t *nic, unsigned wid,
                                                dnet_emu_packet_t *packet)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    uint32_t offset = (uint32_t) DNET_GET(packet->header[1], PK_DST);

    if (!nic->extended || offset % 8 != 0 || offset >= nic->llcm_bytes) {
        dnet_emu_event(nic, DNET_EMU_DROP_STATE);
        return DNET_EMU_UNREACHABLE; /* there is no answer */
    }
    packet->answer =
        atomic_fetch_add_explicit((_Atomic uint64_t *) (void *) (nic->area[wid].llcm + offset),
                                  DNET_GET(packet->header[1], PK_SRC), memory_order_acq_rel);
    dnet_emu_rc_acquire(nic, wid);
    dnet_emu_rc_count(&nic->area[wid], 1);
    dnet_emu_rc_release(s);
    return DNET_EMU_ANSWERED;
}

/* [X.5, X.6] The types that the data sheet does not have; away from the way of all others. */
DNET_COLD static dnet_emu_result_t receive_extension(const dnet_emu_nic_t *nic, unsigned wid,
                                                     dnet_emu_packet_t *packet)
{
    return DNET_GET(packet->header[0], PK_TYPE) == DNET_PRIM_FADD
               ? receive_fadd(nic, wid, packet)
               : receive_resend(nic, wid, packet);
}

/* RC has halted, or the process is not ready: the answer to every packet.  The side is held. */
DNET_COLD static dnet_emu_result_t refuse(const dnet_emu_nic_t *nic, unsigned wid,
                                          const dnet_emu_packet_t *packet)
{
    if (nic->area[wid].state->rc_state == RC_NORMAL)
        return dnet_emu_flow_no_room(nic, wid, packet, packet->data_bytes);
    if (nic->flow_entries == 0 ||
        dnet_emu_ureg(nic, wid, DNET_UREG_FLOW_MODE) == DNET_FLOW_MODE_STALL)
        return DNET_EMU_STALLED;
    return DNET_EMU_UNREACHABLE;
}

static inline bool must_refuse(const dnet_emu_nic_t *nic, unsigned wid)
{
    return nic->area[wid].state->rc_state != RC_NORMAL ||
           (nic->flow_entries != 0 &&
            dnet_emu_ureg(nic, wid, DNET_UREG_FLOW_MODE) == DNET_FLOW_MODE_PAUSED);
}

/* The envelope of a packet with lflag; one that is shorter ends in zeros (10.3). */
static uint64_t envelope_of(const dnet_emu_packet_t *packet)
{
    const uint8_t *at = dnet_emu_payload_at(packet, 0, sizeof(uint64_t));
    uint64_t envelope = 0;

    if (DNET_LIKELY(at && packet->data_bytes >= sizeof envelope)) {
        memcpy(&envelope, at, sizeof envelope);
        return envelope;
    }
    (void) dnet_emu_payload_copy(packet, 0, (uint8_t *) &envelope,
                                 packet->data_bytes < sizeof envelope ? packet->data_bytes
                                                                      : sizeof envelope);
    return envelope;
}

bool dnet_emu_rc_holds(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid, unsigned swid)
{
    uint64_t mode = dnet_emu_ureg(nic, wid, DNET_UREG_FLOW_MODE);
    uint32_t index = dnet_hold_index(slid, swid);
    uint64_t at = DNET_GET(mode, FM_TABLE) + index / 8;

    return DNET_GET(mode, FM_MODE) == DNET_FLOW_MODE_HOLD && at < nic->llcm_bytes &&
           (nic->area[wid].llcm[at] >> index % 8 & 1);
}

bool dnet_emu_rc_may_hold(const dnet_emu_packet_t *packet)
{
    return DNET_GET(packet->header[0], PK_LFLAG) && !(envelope_of(packet) & DNET_ENVELOPE_PASS);
}

/* [X.6] Is this a message of a sender in the hold table?  What the envelope marks passes. */
static bool is_held(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet)
{
    return dnet_emu_rc_holds(nic, wid, packet->slid,
                             (unsigned) DNET_GET(packet->header[0], PK_SWID)) &&
           dnet_emu_rc_may_hold(packet);
}

/* Something may be against this packet.  False: nothing is. */
DNET_COLD static bool refused_or_held(const dnet_emu_nic_t *nic, unsigned wid,
                                      const dnet_emu_packet_t *packet, dnet_emu_result_t *result_p)
{
    if (must_refuse(nic, wid)) {
        *result_p = refuse(nic, wid, packet);
        return true;
    }
    if (!is_held(nic, wid, packet))
        return false;
    dnet_emu_event(nic, DNET_EMU_HOLDS);
    /* As in dnet_emu_flow_no_room(). */
    *result_p = dnet_emu_flow_append(nic, wid, DNET_FLOW_HELD, packet, 0, packet->data_bytes)
                    ? DNET_EMU_HELD
                    : DNET_EMU_UNREACHABLE;
    return true;
}

/* ---- the packet types ---- */

/* [nic 6.5, 9.3] IPUSH without LHS: append to the sender's ring.  False: as dnet_emu_lh_reserve().
 */
static bool receive_ring(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                         dnet_emu_ring_t *ring, uint32_t *address_p, dnet_emu_result_t *result_p)
{
    uint32_t total = packet->header_lines > 2 ? (uint32_t) DNET_GET(packet->header[2], PK_TOTAL)
                                              : packet->data_bytes;
    uint32_t before, back;

    if (!dnet_emu_sodimm_ready(nic)) {
        dnet_emu_event(nic, DNET_EMU_DROP_REQUEST); /* OP-58 */
        *result_p = DNET_EMU_DROPPED;
        return true;
    }
    if (!dnet_emu_amt_ring(nic, wid, packet->slid, (unsigned) DNET_GET(packet->header[0], PK_SWID),
                           ring) ||
        packet->data_bytes > ring->size - ring->grain) {
        dnet_emu_overflow(nic, wid); /* [nic 9.2] can never be stored */
        dnet_emu_event(nic, DNET_EMU_DROP_RING);
        *result_p = DNET_EMU_DROPPED;
        return true;
    }
    if (dnet_emu_amt_free(ring) < dnet_emu_amt_taken(ring, packet->data_bytes)) {
        *result_p = dnet_emu_flow_no_room(nic, wid, packet, packet->data_bytes);
        return true;
    }
    if (!dnet_emu_wu_memory_known(nic, wid, ring, packet->data_bytes))
        return false;
    /* [nic 9.4] Where the message began, when its packets lie in a row. */
    before = ring->tail - ring->start;
    back = total > packet->data_bytes ? total - packet->data_bytes : 0;
    if (back > before && back <= ring->size)
        before += ring->size;
    *address_p = ring->start + (back <= before ? before - back : 0);
    (void) dnet_emu_wu_copy(nic, wid, ring, packet, 0, packet->data_bytes);
    dnet_emu_wu_store_tail(nic, wid, ring, dnet_emu_wu_tail(ring, packet->data_bytes));
    *result_p = DNET_EMU_DELIVERED;
    return true;
}

/* Any other IPUSH packet, once: false when its ring needs memory first. */
static bool receive_once(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_packet_t *packet,
                         dnet_emu_lh_place_t *place, dnet_emu_result_t *result_p)
{
    bool eflag = DNET_GET(packet->header[0], PK_EFLAG);
    bool lflag = DNET_GET(packet->header[0], PK_LFLAG);
    uint32_t address = 0;
    bool done = true;

    place->entry = NULL;
    if (DNET_UNLIKELY(!dnet_emu_rc_is_open(nic, &nic->area[wid])) &&
        refused_or_held(nic, wid, packet, result_p))
        return true;
    if (DNET_UNLIKELY(eflag && dnet_emu_swu_full(nic, wid)))
        *result_p = dnet_emu_flow_no_room(nic, wid, packet, DNET_STATUS_BYTES);
    else if (!lflag)
        done = receive_ring(nic, wid, packet, &place->ring, &address, result_p);
    else if (packet->data_bytes <= DNET_EMU_LH_SHORT_BYTES)
        *result_p = dnet_emu_lh_receive(nic, wid, packet);
    else
        done = dnet_emu_lh_reserve(nic, wid, packet, place, result_p);
    if (!done || *result_p > DNET_EMU_DROPPED)
        return done;
    dnet_emu_rc_count(&nic->area[wid], packet->packets);
    if (eflag && *result_p == DNET_EMU_DELIVERED) {
        /* The status comes last, so it cannot be written before a place is filled. */
        if (place->entry) {
            address = (uint32_t) DNET_GET(place->where, LH_POINTER);
            dnet_emu_lh_fill(nic, wid, packet, envelope_of(packet), place);
            place->entry = NULL;
        }
        dnet_emu_swu_write(nic, wid, packet, address);
    }
    return true;
}

/* dnet_emu_receive_placed() of a packet that no receive status is wanted of. */
static inline bool receive_placed(const dnet_emu_nic_t *nic, unsigned wid,
                                  const dnet_emu_packet_t *packet)
{
    uint32_t n = packet->data_bytes;
    const uint8_t *first = dnet_emu_payload_at(packet, 0, DNET_ENVELOPE_BYTES);
    const uint8_t *data = dnet_emu_payload_at(packet, DNET_ENVELOPE_BYTES, n - DNET_ENVELOPE_BYTES);

    return DNET_LIKELY(first && data) &&
           dnet_emu_receive_placed(nic, wid, packet->slid,
                                   (unsigned) DNET_GET(packet->header[0], PK_SWID), first, data, n,
                                   dnet_emu_lh_message(packet), packet->packets);
}

static dnet_emu_result_t receive_long(const dnet_emu_nic_t *nic, unsigned wid,
                                      const dnet_emu_packet_t *packet)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    uint64_t envelope = DNET_GET(packet->header[0], PK_LFLAG) ? envelope_of(packet) : 0;
    dnet_emu_lh_place_t place;
    dnet_emu_result_t result;
    bool done;

    dnet_prefetch_for_store(dnet_emu_lh_next(nic, wid));
    do {
        dnet_emu_rc_acquire(nic, wid);
        done = receive_once(nic, wid, packet, &place, &result);
        dnet_emu_rc_release(s);
        if (!done && !dnet_emu_wu_memory(nic, wid, &place.ring, packet->data_bytes))
            return DNET_EMU_UNREACHABLE;
    } while (!done);
    if (place.entry)
        dnet_emu_lh_fill(nic, wid, packet, envelope, &place);
    dnet_emu_wake(s);
    return result;
}

/* The data of a packet that are read while the receive side is held, and lie in no Write Window. */
static __attribute__((noinline)) dnet_emu_result_t receive_gathered(const dnet_emu_nic_t *nic,
                                                                    unsigned wid,
                                                                    const dnet_emu_packet_t *packet)
{
    uint8_t data[DNET_PACKET_MAX_BYTES];
    dnet_emu_packet_t p = *packet;

    if (packet->data_bytes > sizeof data ||
        !dnet_emu_payload_copy(packet, 0, data, packet->data_bytes))
        return DNET_EMU_UNREACHABLE;
    p.whole_lines = true;
    p.spans = 1;
    p.span[0] = (dnet_emu_span_t){.at = data, .bytes = packet->data_bytes};
    return receive_long(nic, wid, &p);
}

static inline dnet_emu_result_t receive_ipush(const dnet_emu_nic_t *nic, unsigned wid,
                                              const dnet_emu_packet_t *packet)
{
    const uint64_t both = DNET_MASK(PK_EFLAG) | DNET_MASK(PK_LFLAG);
    bool plain = (packet->header[0] & both) == DNET_MASK(PK_LFLAG);
    bool fits = packet->data_bytes <= DNET_EMU_LH_SHORT_BYTES;

    if (packet->whole_lines) {
        if (plain && packet->header_lines == 2 && packet->data_bytes >= DNET_ENVELOPE_BYTES &&
            dnet_emu_receive_entry(nic, wid, packet->span[0].at, packet->data_bytes, false))
            return DNET_EMU_DELIVERED;
    } else if (!plain || fits) {
        return receive_gathered(nic, wid, packet);
    }
    if (plain && !fits && receive_placed(nic, wid, packet))
        return DNET_EMU_DELIVERED;
    return receive_long(nic, wid, packet);
}

/* [nic 6.7, 7.3] RVS family.  Data are placed before the receive side is taken: two senders may
 * write at the same time; only counting and the receive status, the last step (section 8), are one
 * at a time. */
static dnet_emu_result_t receive_rvs(const dnet_emu_nic_t *nic, unsigned wid,
                                     const dnet_emu_packet_t *packet)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    bool eflag = DNET_GET(packet->header[0], PK_EFLAG);
    bool refused = must_refuse(nic, wid) || (eflag && dnet_emu_swu_full(nic, wid));
    dnet_emu_result_t result = DNET_EMU_DELIVERED;

    if (!refused)
        result = dnet_emu_wu_place(nic, wid, packet);
    if (result == DNET_EMU_UNREACHABLE)
        return result;
    dnet_emu_rc_acquire(nic, wid);
    if (must_refuse(nic, wid)) {
        result = refuse(nic, wid, packet);
    } else if (refused || (eflag && dnet_emu_swu_full(nic, wid))) {
        result = dnet_emu_flow_no_room(nic, wid, packet, DNET_STATUS_BYTES);
    } else {
        dnet_emu_rc_count(&nic->area[wid], packet->packets);
        if (eflag)
            dnet_emu_swu_write(nic, wid, packet, (uint32_t) DNET_GET(packet->header[1], PK_SRC));
    }
    dnet_emu_rc_release(s);
    dnet_emu_wake(s);
    return result;
}

/* The prototype's FIFO for RVLs is that of both WIDs, and the receive side of WID 0 says whose turn
 * it is to put one in; that of the packet's own WID is held. */
static bool push_rvl(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_request_t *r)
{
    bool good;

    if (wid != 0)
        dnet_emu_rc_acquire(nic, 0);
    good = dnet_emu_fifo_push(&nic->area[0].wc->rc, r);
    if (wid != 0)
        dnet_emu_rc_release(nic->area[0].state);
    return good;
}

/* [nic 6.4] RVL family: a request for this NIC's Window Controller. */
static dnet_emu_result_t receive_rvl(dnet_emu_nic_t *nic, unsigned wid, dnet_emu_packet_t *packet)
{
    dnet_emu_wid_t *s = nic->area[wid].state;
    const uint64_t *h = packet->header;
    bool contiguous = (DNET_GET(h[0], PK_TYPE) & 3) == DNET_ACCESS_CONTIGUOUS;
    dnet_emu_result_t result = DNET_EMU_SERVE;

    dnet_emu_rc_acquire(nic, wid);
    if (must_refuse(nic, wid)) {
        result = refuse(nic, wid, packet);
    } else {
        packet->service_nic = nic;
        packet->service = (dnet_emu_request_t){
            .lower =
                DNET_PUT(DNET_GET(h[0], PK_TYPE), RQ_OTYPE) |
                DNET_PUT(DNET_GET(h[0], PK_DTYPE), RQ_DTYPE) |
                DNET_PUT(DNET_GET(h[0], PK_ITERATION), RQ_ITERATION) |
                DNET_PUT(DNET_GET(h[0], PK_SWID), RQ_DWID) |
                DNET_PUT(dnet_lid_to_clid(packet->slid), RQ_DCLID) |
                DNET_PUT(DNET_GET(h[0], PK_EFLAG), RQ_EFLAG) |
                DNET_PUT(contiguous ? DNET_GET(h[2], PK_TOTAL) : DNET_GET(h[2], PK_LIST), RQ_SIZE),
            .upper =
                DNET_PUT(DNET_GET(h[1], PK_SRC), RQ_SRC) | DNET_PUT(DNET_GET(h[1], PK_DST), RQ_DST),
            .ex = packet->header_lines > 3 ? h[3] : 0,
            .to_pw = (uint8_t) DNET_GET(h[0], PK_RFLAG),
            .wid = (uint8_t) wid,
            .from_rc = 1,
        };
        if (!nic->extended)
            result = push_rvl(nic, wid, &packet->service) ? DNET_EMU_DELIVERED : DNET_EMU_STALLED;
        if (result != DNET_EMU_STALLED)
            dnet_emu_rc_count(&nic->area[wid], 1);
    }
    dnet_emu_rc_release(s);
    return result;
}

/* [nic 6.7, 7.3, 7.4, 10.4, OP-23, OP-31, OP-39] One packet; lflag, not TYPE, decides about LHS and
 * LLCM. header_lines > 2 must agree with hflag; RVL has 3 or 4 lines and no data; strided, list and
 * aperture placement need the third line. */
static inline dnet_emu_result_t receive(dnet_emu_nic_t *nic, dnet_emu_packet_t *packet)
{
    uint64_t h = packet->header[0];
    unsigned wid = (unsigned) DNET_GET(h, PK_DWID);
    unsigned type = (unsigned) DNET_GET(h, PK_TYPE);
    bool hflag = DNET_GET(h, PK_HFLAG);

    charge(nic, RC, (2u + packet->header_lines) * packet->packets); /* [nic 11.8] */
    if (DNET_UNLIKELY(DNET_GET(h, PK_PGID) != dnet_emu_pgid(nic, wid) && nic->pgid_check) &&
        !is_guest(nic, wid, packet))
        return foreign(nic); /* [nic 2] */
    if (DNET_UNLIKELY(hflag != (packet->header_lines > 2)))
        return malformed(nic, RC_HEADER_LINES);
    switch (type >> 2) {
        case DNET_PRIM_IPUSH >> 2:
            return receive_ipush(nic, wid, packet);
        case DNET_PRIM_RVS >> 2:
            if (!hflag &&
                ((type & 3) != DNET_ACCESS_CONTIGUOUS ||
                 (!DNET_GET(h, PK_LFLAG) && !DNET_GET(h, PK_RFLAG) &&
                  dnet_emu_is_aperture(nic, (uint32_t) DNET_GET(packet->header[1], PK_DST)))))
                return malformed(nic, RC_HEADER_LINES);
            return receive_rvs(nic, wid, packet);
        case DNET_PRIM_RVL >> 2:
            if (!hflag)
                return malformed(nic, RC_HEADER_LINES);
            if (packet->data_bytes > 0)
                return malformed(nic, RC_RVL_SHAPE);
            return receive_rvl(nic, wid, packet);
        case DNET_PRIM_RESEND >> 2:
            return receive_extension(nic, wid, packet);
    }
    dnet_emu_event(nic, DNET_EMU_DROP_STATE);
    return DNET_EMU_DELIVERED;
}

#define ASK_NS 1000000000u

/* Has the process gone whose packet is to be first?  That another has its number by now is asked
 * once a second: it takes long. */
DNET_COLD static bool has_gone(dnet_emu_nic_t *nic, uint64_t first)
{
    uint64_t now;

    if (dnet_emu_process_ended((int32_t) first))
        return true;
    now = dnet_clock_ns();
    if (first != nic->stall_seen) {
        nic->stall_seen = first;
        nic->stall_asked_ns = now;
    }
    if (now - nic->stall_asked_ns < ASK_NS)
        return false;
    nic->stall_asked_ns = now;
    return dnet_emu_process_gone(nic, (int32_t) first);
}

/* [nic 8, 11.9] Prototype profile, and where a NIC is made so: a packet without room stalls
 * reception for the whole node, so that no packet passes it.  A sender that has died takes its
 * packet with it. */
static dnet_emu_result_t receive_in_line(dnet_emu_nic_t *nic, dnet_emu_packet_t *packet)
{
    _Atomic uint64_t *stalled_by = &nic->state->stalled_by;
    uint64_t me = (uint64_t) packet->slid << 32 | (uint32_t) nic->pid;
    uint64_t first = atomic_load_explicit(stalled_by, memory_order_acquire);
    dnet_emu_result_t result;

    if (first != 0 && first >> 32 != packet->slid && !has_gone(nic, first))
        return DNET_EMU_STALLED;
    result = receive(nic, packet);
    if (result == DNET_EMU_STALLED)
        atomic_compare_exchange_strong_explicit(stalled_by, &first, me, memory_order_acq_rel,
                                                memory_order_relaxed);
    else if (first != 0)
        atomic_compare_exchange_strong_explicit(stalled_by, &first, 0, memory_order_acq_rel,
                                                memory_order_relaxed);
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++)
        dnet_emu_module_state(nic, w, 0x1full << 17,
                              (nic->area[w].state->rc_state ? 4ull
                               : result == DNET_EMU_STALLED ? 2ull
                                                            : 1ull)
                                  << 17);
    return result;
}

void dnet_emu_rc_forget(const dnet_emu_nic_t *nic, uint16_t slid)
{
    uint64_t first = atomic_load_explicit(&nic->state->stalled_by, memory_order_acquire);

    if (first != 0 && first >> 32 == slid)
        atomic_compare_exchange_strong_explicit(&nic->state->stalled_by, &first, 0,
                                                memory_order_acq_rel, memory_order_relaxed);
}

dnet_emu_result_t dnet_emu_rc_receive(dnet_emu_nic_t *nic, dnet_emu_packet_t *packet)
{
    if (DNET_UNLIKELY(nic->in_line))
        return receive_in_line(nic, packet);
    return receive(nic, packet);
}
