/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prefetch Unit (data sheet 4.2.2, 6.1, 6.3): reads SO-DIMM contiguous, strided or by list.  What
 * can be sent from where it lies is named by spans; what must be gathered goes through a
 * packet-sized buffer.
 */
#include "config.h"

#include "emulator/prefetch_unit.h"

#include "emulator/aperture.h"
#include "emulator/elements.h"

/* [nic 6.0] Bytes left between an offset and the end of what it may read. */
static uint64_t room_at(const dnet_emu_source_t *s)
{
    uint64_t area = dnet_emu_sodimm_area(s->nic);
    uint64_t base, length;
    int32_t pid;

    if (dnet_emu_is_aperture(s->nic, s->offset)) {
        /* A closed slot shortens nothing: dnet_emu_pu_spans() then fails, and the issuer is told.
         */
        if (!dnet_emu_aperture_find(s->nic, s->wid, s->offset, &base, &length, &pid))
            return UINT64_MAX;
        return length - (dnet_emu_aperture_offset(s->offset) < length
                             ? dnet_emu_aperture_offset(s->offset)
                             : length);
    }
    return s->offset < area ? area - s->offset : 0;
}

uint64_t dnet_emu_pu_clamp(const dnet_emu_source_t *s, uint64_t bytes)
{
    uint64_t from_memory, room;

    if (s->access != DNET_ACCESS_CONTIGUOUS)
        return bytes;
    from_memory = bytes > s->window_bytes ? bytes - s->window_bytes : 0;
    room = from_memory > 0 ? room_at(s) : 0;
    return from_memory > room ? bytes - from_memory + room : bytes;
}

static void read_sodimm(const dnet_emu_source_t *s, uint64_t at, uint8_t *to, uint32_t bytes)
{
    uint64_t area = dnet_emu_sodimm_area(s->nic);
    uint64_t room = at < area ? area - at : 0;
    uint32_t n = bytes < room ? bytes : (uint32_t) room;

    if (n > 0 && dnet_emu_sodimm_commit(s->nic, s->wid, at, n))
        memcpy(to, s->nic->area[s->wid].sodimm + at, n);
    else
        n = 0;
    memset(to + n, 0, bytes - n); /* what lies outside reads as 0 (6.1) */
}

static inline __attribute__((always_inline)) uint32_t gather_of(uint32_t bytes,
                                                                const dnet_emu_elements_t *access,
                                                                uint32_t first, uint32_t count,
                                                                uint8_t *to)
{
    dnet_emu_elements_t e = *access; /* a copy, which the data stored cannot alias */

    for (uint32_t i = 0; i < count; i++, to += bytes) {
        const uint8_t *at = dnet_emu_element_at(&e, first + i, bytes);

        if (DNET_UNLIKELY(!at))
            return i;
        memcpy(to, at, bytes);
    }
    return count;
}

/* Gather whole elements from element `first` on.  Returns how many, up to one that is not all
 * there. */
static uint32_t gather(const dnet_emu_source_t *s, uint64_t first, uint8_t *to, uint32_t count)
{
    dnet_emu_elements_t e;

    if (!dnet_emu_elements(&e, s->nic, s->wid, s->access, s->offset, s->stride_or_list,
                           first + count))
        return 0;
    return DNET_EMU_BY_ELEMENT(s->element, gather_of, &e, (uint32_t) first, count, to);
}

void dnet_emu_pu_read(const dnet_emu_source_t *s, uint64_t from, uint8_t *to, uint32_t bytes)
{
    charge(s->nic, PU, 20 + bytes / 8);
    if (s->access == DNET_ACCESS_CONTIGUOUS) {
        read_sodimm(s, s->offset + from, to, bytes);
        return;
    }
    while (bytes > 0) {
        uint64_t i = from / s->element;
        uint32_t skip = (uint32_t) (from % s->element);
        uint32_t n = s->element - skip < bytes ? s->element - skip : bytes;
        uint32_t at, whole = skip == 0 ? gather(s, i, to, bytes / s->element) : 0;

        if (whole > 0) {
            to += whole * s->element;
            from += whole * s->element;
            bytes -= whole * s->element;
            continue;
        }
        if (s->access == DNET_ACCESS_STRIDE) {
            at = s->offset + (uint32_t) i * s->stride_or_list;
        } else {
            read_sodimm(s, s->stride_or_list + 4 * i, (uint8_t *) &at, 4);
            at += s->offset;
        }
        read_sodimm(s, (uint64_t) at + skip, to, n);
        to += n;
        from += n;
        bytes -= n;
    }
}

bool dnet_emu_pu_spans(const dnet_emu_source_t *s, uint64_t from, uint32_t bytes,
                       dnet_emu_packet_t *packet, uint8_t *bounce)
{
    dnet_emu_span_t *span = packet->span;
    uint64_t base, length;
    int32_t pid;

    packet->spans = 0;
    if (from < s->window_bytes) {
        uint32_t n = s->window_bytes - (uint32_t) from;

        n = n < bytes ? n : bytes;
        *span++ = (dnet_emu_span_t){.at = s->window + from, .bytes = n};
        packet->spans = 1;
        from += n;
        bytes -= n;
    }
    if (bytes == 0)
        return true;
    from -= s->window_bytes;
    packet->spans++;
    if (s->access != DNET_ACCESS_CONTIGUOUS) {
        dnet_emu_pu_read(s, from, bounce, bytes);
        *span = (dnet_emu_span_t){.at = bounce, .bytes = bytes};
        return true;
    }
    charge(s->nic, PU, 20 + bytes / 8);
    if (dnet_emu_is_aperture(s->nic, s->offset)) {
        uint64_t at = dnet_emu_aperture_offset(s->offset) + from;

        if (!dnet_emu_aperture_find(s->nic, s->wid, s->offset, &base, &length, &pid) ||
            at > length || bytes > length - at)
            return false;
        *span = (dnet_emu_span_t){.at = (const uint8_t *) (uintptr_t) (base + at),
                                  .bytes = bytes,
                                  .pid = pid == s->nic->pid ? 0 : pid};
        return true;
    }
    if (s->offset + from + bytes > dnet_emu_sodimm_area(s->nic) ||
        !dnet_emu_sodimm_commit(s->nic, s->wid, s->offset + from, bytes))
        return false;
    *span = (dnet_emu_span_t){.at = s->nic->area[s->wid].sodimm + s->offset + from, .bytes = bytes};
    return true;
}
