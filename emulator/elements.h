/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Elements of a strided or list access as Prefetch Unit and Write Unit meet them: each where it is
 * mapped, when all of it lies inside the area and has memory behind it.
 */
#ifndef DNET_EMU_ELEMENTS_H
#define DNET_EMU_ELEMENTS_H

#include "emulator/memory.h"

typedef struct {
    const dnet_emu_nic_t *nic;
    unsigned wid;
    uint64_t area;    /* bytes */
    uint32_t offset;  /* of the first element; what a list's entries are added to */
    uint32_t stride;  /* bytes, or the list's offset */
    bool by_list;     /* the step is a list's offset */
    uint64_t granule; /* of the area that was last found to have memory */
} dnet_emu_elements_t;

/* [nic 6.0] Elements [0, count) of an access.  False: some of the list lies outside, or has no
 * memory. */
static inline bool dnet_emu_elements(dnet_emu_elements_t *e, const dnet_emu_nic_t *nic,
                                     unsigned wid, unsigned access, uint32_t offset,
                                     uint32_t stride_or_list, uint64_t count)
{
    *e = (dnet_emu_elements_t){.nic = nic,
                               .wid = wid,
                               .area = dnet_emu_sodimm_area(nic),
                               .offset = offset,
                               .stride = stride_or_list,
                               .granule = UINT64_MAX};
    if (access == DNET_ACCESS_STRIDE)
        return true;
    e->by_list = true;
    return stride_or_list + 4 * count <= e->area && count > 0 &&
           dnet_emu_sodimm_commit(nic, wid, stride_or_list, 4 * count);
}

/* [nic 6.0, OP-30] Element i; NULL: not all of its bytes are there. */
static inline uint8_t *dnet_emu_element_at(dnet_emu_elements_t *e, uint32_t i, uint32_t bytes)
{
    uint32_t at = i * e->stride;
    uint64_t last;

    if (e->by_list)
        memcpy(&at, e->nic->area[e->wid].sodimm + e->stride + 4 * (uint64_t) i, 4);
    at += e->offset;
    last = at + (uint64_t) bytes - 1;
    if (last >= e->area)
        return NULL;
    if (at >> DNET_EMU_GRANULE_SHIFT != e->granule ||
        last >> DNET_EMU_GRANULE_SHIFT != e->granule) {
        /* To the granule's end, where later elements may lie: less of it may be mapped. */
        uint64_t end = (last | ((1ull << DNET_EMU_GRANULE_SHIFT) - 1)) + 1;

        if (!dnet_emu_sodimm_commit(e->nic, e->wid, at, end - at))
            return NULL;
        e->granule = last >> DNET_EMU_GRANULE_SHIFT;
    }
    return e->nic->area[e->wid].sodimm + at;
}

/* A call of `of` for each size an element can have, so that its copies have a size the compiler
 * knows. */
#define DNET_EMU_BY_ELEMENT(bytes, of, ...) \
    ((bytes) == 4     ? of(4, __VA_ARGS__) \
     : (bytes) == 8   ? of(8, __VA_ARGS__) \
     : (bytes) == 16  ? of(16, __VA_ARGS__) \
     : (bytes) == 32  ? of(32, __VA_ARGS__) \
     : (bytes) == 64  ? of(64, __VA_ARGS__) \
     : (bytes) == 128 ? of(128, __VA_ARGS__) \
                      : of((bytes), __VA_ARGS__))

#endif
