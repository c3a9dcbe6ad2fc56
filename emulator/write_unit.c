/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Write Unit (data sheet 4.2.2, 6.2, 6.7, 9.2): stores into SO-DIMM contiguous, strided or by list,
 * and IPUSH ring arithmetic.  The same placement rules serve RVS into Prefetch Window and LLCM.
 */
#include "config.h"

#include "emulator/write_unit.h"

#include "common/move.h"
#include "emulator/aperture.h"
#include "emulator/elements.h"

static DNET_COLD bool copy_pieces(const dnet_emu_packet_t *packet, uint32_t from, uint8_t *to,
                                  uint32_t bytes)
{
    for (unsigned s = 0; s < packet->spans && bytes > 0; s++) {
        const dnet_emu_span_t *span = &packet->span[s];
        uint32_t n;

        if (from >= span->bytes) {
            from -= span->bytes;
            continue;
        }
        n = span->bytes - from < bytes ? span->bytes - from : bytes;
        if (DNET_LIKELY(span->pid == 0))
            dnet_move(to, span->at + from, n);
        else if (!dnet_emu_remote_read(span->pid, (uintptr_t) span->at + from, to, n))
            return false;
        to += n;
        bytes -= n;
        from = 0;
    }
    return true;
}

bool dnet_emu_payload_copy(const dnet_emu_packet_t *packet, uint32_t from, uint8_t *to,
                           uint32_t bytes)
{
    const uint8_t *at = dnet_emu_payload_at(packet, from, bytes);

    if (DNET_UNLIKELY(!at))
        return copy_pieces(packet, from, to, bytes);
    dnet_move(to, at, bytes);
    return true;
}

bool dnet_emu_wu_memory(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_ring_t *ring,
                        uint32_t bytes)
{
    uint32_t to_end = ring->start + ring->size - ring->tail;
    uint32_t n1 = to_end < bytes ? to_end : bytes;

    return (n1 == 0 || dnet_emu_sodimm_commit(nic, wid, ring->tail, n1)) &&
           (bytes == n1 || dnet_emu_sodimm_commit(nic, wid, ring->start, bytes - n1));
}

bool dnet_emu_wu_copy(const dnet_emu_nic_t *nic, unsigned wid, const dnet_emu_ring_t *ring,
                      const dnet_emu_packet_t *packet, uint32_t from, uint32_t bytes)
{
    uint8_t *base = nic->area[wid].sodimm + ring->start;
    uint32_t at = ring->tail - ring->start;
    uint32_t n1 = ring->size - at < bytes ? ring->size - at : bytes;
    const uint8_t *data = dnet_emu_payload_at(packet, from, bytes);

    if (DNET_LIKELY(data && dnet_emu_wu_is_whole(ring, bytes))) {
        dnet_emu_wu_copy_whole(nic, wid, ring, data, bytes);
        return true;
    }
    charge(nic, WU, dnet_emu_wu_clocks(bytes));
    return dnet_emu_payload_copy(packet, from, base + at, n1) &&
           dnet_emu_payload_copy(packet, from + n1, base, bytes - n1);
}

void dnet_emu_wu_expect(const dnet_emu_nic_t *nic, unsigned wid, uint16_t slid, unsigned swid,
                        uint32_t bytes)
{
    dnet_emu_ring_t ring;

    if (!dnet_emu_amt_ring(nic, wid, slid, swid, &ring) || !dnet_emu_wu_is_whole(&ring, bytes) ||
        !dnet_emu_wu_memory_known(nic, wid, &ring, bytes))
        return;
    dnet_move_expect(nic->area[wid].sodimm + ring.tail, bytes);
}

/* ---- placement ---- */

typedef enum { TARGET_SODIMM, TARGET_PW, TARGET_LLCM } target_t;

typedef struct {
    const dnet_emu_nic_t *nic;
    unsigned wid;
    target_t kind;
    uint8_t *base; /* not of SO-DIMM, which may move */
    uint64_t limit;
    bool failed; /* data could not be read, or memory could not be had */
} place_t;

static place_t place_in(const dnet_emu_nic_t *nic, unsigned wid, target_t kind)
{
    const dnet_emu_areas_t *a = &nic->area[wid];
    place_t p = {.nic = nic, .wid = wid, .kind = kind};

    switch (kind) {
        case TARGET_SODIMM:
            p.limit = dnet_emu_sodimm_area(nic);
            break;
        case TARGET_PW:
            p.base = a->pw;
            p.limit = DNET_WINDOW_BYTES * 4;
            break;
        case TARGET_LLCM:
            p.base = a->llcm;
            p.limit = nic->llcm_bytes;
            break;
    }
    return p;
}

/* LLCM takes 64-bit words (6.7), each of which the host sees whole. */
static void put_words(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    uint64_t word;

    for (; bytes >= 8; bytes -= 8, to += 8, from += 8) {
        memcpy(&word, from, 8);
        dnet_emu_publish(to, word);
    }
    memcpy(to, from, bytes);
}

/* Put `bytes` at `offset`; what passes the end of the target is dropped.  False: something was. */
static bool put(place_t *p, uint64_t offset, const dnet_emu_packet_t *data, uint32_t from,
                uint32_t bytes)
{
    uint64_t room = offset < p->limit ? p->limit - offset : 0;
    uint32_t n = bytes < room ? bytes : (uint32_t) room;

    if (n == 0)
        return bytes == 0;
    switch (p->kind) {
        case TARGET_SODIMM:
            if (!dnet_emu_sodimm_commit(p->nic, p->wid, offset, n) ||
                !dnet_emu_payload_copy(data, from, p->nic->area[p->wid].sodimm + offset, n))
                p->failed = true;
            break;
        case TARGET_PW:
            if (!dnet_emu_payload_copy(data, from, p->base + offset, n))
                p->failed = true;
            break;
        case TARGET_LLCM:
            while (n > 0) {
                uint8_t piece[512];
                uint32_t m = n < sizeof piece ? n : (uint32_t) sizeof piece;

                if (!dnet_emu_payload_copy(data, from, piece, m)) {
                    p->failed = true;
                    break;
                }
                if (offset % 8 == 0)
                    put_words(p->base + offset, piece, m);
                else
                    memcpy(p->base + offset, piece, m);
                offset += m;
                from += m;
                n -= m;
                bytes -= m;
                room -= m;
            }
            break;
    }
    return bytes <= room;
}

/* [nic 6.0] A 32-bit list entry of the own SO-DIMM area; entries outside it read as an offset past
 * the end, so that their element goes nowhere. */
static uint64_t list_entry(const dnet_emu_nic_t *nic, unsigned wid, uint32_t list, uint32_t i)
{
    uint64_t at = (uint64_t) list + 4ull * i;
    uint32_t entry;

    if (at + 4 > dnet_emu_sodimm_area(nic) || !dnet_emu_sodimm_commit(nic, wid, at, 4))
        return UINT64_MAX;
    memcpy(&entry, nic->area[wid].sodimm + at, 4);
    return entry;
}

static inline __attribute__((always_inline)) uint32_t spread_of(uint32_t bytes,
                                                                const dnet_emu_elements_t *access,
                                                                uint32_t first, uint32_t count,
                                                                const uint8_t *from)
{
    dnet_emu_elements_t e = *access; /* a copy, which the data stored cannot alias */

    for (uint32_t i = 0; i < count; i++, from += bytes) {
        uint8_t *at = dnet_emu_element_at(&e, first + i, bytes);

        if (DNET_UNLIKELY(!at))
            return i;
        memcpy(at, from, bytes);
    }
    return count;
}

/* Spread whole elements, from element `first` on, that lie one behind the other in this process and
 * not in the area they go to.  Returns how many, up to one that is not all inside the area. */
static uint32_t spread(const place_t *p, unsigned access, uint32_t offset, uint32_t stride_or_list,
                       uint32_t element, uint32_t first, uint32_t count,
                       const dnet_emu_packet_t *data)
{
    const dnet_emu_areas_t *area = &p->nic->area[p->wid];
    const dnet_emu_span_t *span = &data->span[0];
    dnet_emu_elements_t e;

    if (p->kind != TARGET_SODIMM || data->spans != 1 || span->pid != 0 ||
        (span->at + span->bytes > area->sodimm && span->at < area->sodimm + area->sodimm_window) ||
        !dnet_emu_elements(&e, p->nic, p->wid, access, offset, stride_or_list, first + count))
        return 0;
    return DNET_EMU_BY_ELEMENT(element, spread_of, &e, first, count, span->at + first * element);
}

/* [nic 6.2, 6.3, OP-29, OP-30] Place data by access mode.  False: some of it passed the end of the
 * target. */
static bool scatter(place_t *p, unsigned access, uint32_t offset, uint32_t stride_or_list,
                    uint32_t element, uint32_t bytes, const dnet_emu_packet_t *data)
{
    bool fits = true;
    uint32_t i = 0;

    if (access == DNET_ACCESS_CONTIGUOUS)
        return put(p, offset, data, 0, bytes);
    for (uint32_t from = 0; from < bytes; from += element, i++) {
        uint32_t whole =
            spread(p, access, offset, stride_or_list, element, i, (bytes - from) / element, data);

        i += whole;
        from += whole * element;
        if (from == bytes)
            break;

        uint32_t n = bytes - from < element ? bytes - from : element;
        uint64_t at = (uint32_t) (offset + i * stride_or_list);

        if (access == DNET_ACCESS_LIST) {
            at = list_entry(p->nic, p->wid, stride_or_list, i);
            if (at != UINT64_MAX)
                at = (uint32_t) (offset + (uint32_t) at);
        }
        fits = put(p, at, data, from, n) && fits;
    }
    return fits;
}

bool dnet_emu_wu_scatter(const dnet_emu_nic_t *nic, unsigned wid, unsigned access, uint32_t offset,
                         uint32_t stride_or_list, uint32_t element, uint32_t bytes,
                         const dnet_emu_packet_t *data, bool *failed_p)
{
    place_t p = place_in(nic, wid, TARGET_SODIMM);
    bool fits = scatter(&p, access, offset, stride_or_list, element, bytes, data);

    charge(nic, WU, 12 + bytes / 8);
    *failed_p = p.failed;
    return fits;
}

/* [X.5] RVS into an aperture of the destination process. */
static dnet_emu_result_t place_aperture(const dnet_emu_nic_t *nic, unsigned wid,
                                        const dnet_emu_packet_t *packet)
{
    uint32_t address = (uint32_t) DNET_GET(packet->header[1], PK_DST);
    uint64_t offset = dnet_emu_aperture_offset(address) + DNET_GET(packet->header[2], PK_LIST);
    uint64_t base, length, room, n;
    int32_t pid;
    bool ok;

    if (!dnet_emu_aperture_find(nic, wid, address, &base, &length, &pid)) {
        dnet_emu_overflow(nic, wid);
        return DNET_EMU_UNREACHABLE;
    }
    room = offset < length ? length - offset : 0;
    n = packet->data_bytes;
    if (n > room) {
        dnet_emu_overflow(nic, wid);
        n = room;
    }
    if (n == 0)
        return DNET_EMU_DELIVERED;
    if (pid == nic->pid)
        ok =
            dnet_emu_payload_copy(packet, 0, (uint8_t *) (uintptr_t) (base + offset), (uint32_t) n);
    else
        ok = dnet_emu_remote_write(pid, packet, base + offset, n);
    return ok ? DNET_EMU_DELIVERED : DNET_EMU_UNREACHABLE;
}

dnet_emu_result_t dnet_emu_wu_place(const dnet_emu_nic_t *nic, unsigned wid,
                                    const dnet_emu_packet_t *packet)
{
    uint64_t h = packet->header[0];
    uint32_t offset = (uint32_t) DNET_GET(packet->header[1], PK_DST);
    uint32_t list = packet->header_lines > 2 ? (uint32_t) DNET_GET(packet->header[2], PK_LIST) : 0;
    target_t kind = DNET_GET(h, PK_LFLAG)   ? TARGET_LLCM
                    : DNET_GET(h, PK_RFLAG) ? TARGET_PW
                                            : TARGET_SODIMM;
    place_t p;

    /* [nic 11.8] address 2, data 2, right 2, write 6; a line more, a clock more; no right and no
     * SO-DIMM for the Prefetch Window */
    charge(nic, WU,
           (kind == TARGET_PW ? 6u : 12u) * packet->packets +
               (packet->data_bytes > 8 ? (packet->data_bytes - 1) / 8 : 0));
    if (kind == TARGET_SODIMM && dnet_emu_is_aperture(nic, offset))
        return place_aperture(nic, wid, packet);
    if (kind == TARGET_SODIMM && !dnet_emu_sodimm_ready(nic)) {
        dnet_emu_event(nic, DNET_EMU_DROP_REQUEST); /* OP-58 */
        return DNET_EMU_DELIVERED;
    }
    p = place_in(nic, wid, kind);
    if (!scatter(&p, DNET_GET(h, PK_TYPE) & 3, offset, list, 1u << DNET_GET(h, PK_DTYPE),
                 packet->data_bytes, packet))
        dnet_emu_overflow(nic, wid);
    return p.failed ? DNET_EMU_UNREACHABLE : DNET_EMU_DELIVERED;
}
