/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A request as acceptor and executor see it (data sheet section 5): what executes it, what its
 * halves say, and what the registers show when it is done.
 */
#ifndef DNET_EMU_REQUEST_H
#define DNET_EMU_REQUEST_H

#include "emulator/prefetch_unit.h"

/* Where a request is executed: the NIC of the executor and the WID of its request, and the NIC
 * whose routes this process sends by (its own; another one only when an RVL is served here for
 * another node). */
typedef struct {
    dnet_emu_nic_t *nic;
    dnet_emu_nic_t *via;
    const dnet_emu_areas_t *area;
    unsigned wid;
    dnet_emu_executor_t *x; /* the executor */
} dnet_emu_context_t;

enum { /* Primitive Counter (4.3): 10 bits each */
       DNET_COUNTER_BOTF,
       DNET_COUNTER_VL,
       DNET_COUNTER_VS,
       DNET_COUNTER_RVL,
       DNET_COUNTER_RVS,
       DNET_COUNTER_IPUSH,
};

/* [nic 4.3, OP-37] One more completed primitive of this family, modulo 1024. */
static inline void dnet_emu_count(const dnet_emu_areas_t *a, unsigned counter)
{
    uint8_t *at = a->ureg_load + DNET_UREG_PRIMITIVE_COUNTER;
    uint64_t word = dnet_emu_peek(at);
    uint64_t field = 0x3ffull << (10 * counter);

    dnet_emu_publish(at, (word & ~field) | ((word + (1ull << (10 * counter))) & field));
}

/* [X.6] What became of a request. */
static inline void dnet_emu_report(const dnet_emu_nic_t *nic, const dnet_emu_areas_t *a,
                                   dnet_report_t outcome, uint64_t done)
{
    if (nic->flow_entries)
        dnet_emu_publish(a->ureg_load + DNET_UREG_STOP_REPORT, (uint64_t) outcome | done << 32);
}

/* [X.5] The answer to a FADD. */
static inline void dnet_emu_answered(const dnet_emu_areas_t *a, const dnet_emu_packet_t *packet)
{
    dnet_emu_publish(a->ureg_load + DNET_UREG_FETCHED, packet->answer);
}

/* [nic 5.4, OP-29] Bytes of an element. */
static inline uint32_t dnet_emu_element(uint64_t half)
{
    return 1u << DNET_GET(half, RQ_DTYPE);
}

/* [nic 6.0] Bytes a request moves: Size, or element times Iteration. */
static inline uint64_t dnet_emu_total(uint64_t half)
{
    if ((DNET_GET(half, RQ_OTYPE) & 3) == DNET_ACCESS_CONTIGUOUS)
        return DNET_GET(half, RQ_SIZE);
    return (uint64_t) dnet_emu_element(half) * DNET_GET(half, RQ_ITERATION);
}

/* [nic 5.2, 6.6, X.3] Bytes of a BOTF's image.  The data sheet's field has 10 bits. */
static inline uint32_t dnet_emu_botf_bytes(const dnet_emu_nic_t *nic, uint64_t lower)
{
    uint32_t size = (uint32_t) DNET_GET(lower, RQ_BOTF_SIZE), most = DNET_WINDOW_BYTES;

    if (DNET_UNLIKELY(!nic->extended))
        size %= 1024;
    else if (DNET_GET(lower, RQ_BOTF_WW) < 2)
        most = DNET_BOTF_BYTES_MAX;
    return size < most ? size : most;
}

/* A gathering access as one 64-bit half describes it: Lower of VL and RVL, or Command Ex. */
static inline dnet_emu_source_t dnet_emu_source(const dnet_emu_nic_t *nic, unsigned wid,
                                                uint64_t half, uint32_t offset)
{
    return (dnet_emu_source_t){
        .nic = nic,
        .wid = wid,
        .access = DNET_GET(half, RQ_OTYPE) & 3,
        .offset = offset,
        .stride_or_list = (uint32_t) DNET_GET(half, RQ_SIZE),
        .element = dnet_emu_element(half),
    };
}

/* [nic 6.8, OP-08] Is this one half of a copy? */
static inline bool dnet_emu_copy_half(const dnet_emu_request_t *r)
{
    switch (DNET_GET(r->lower, RQ_OTYPE) >> 2) {
        case DNET_PRIM_VL >> 2:
            return DNET_GET(r->upper, RQ_DST) == DNET_COPY_MARKER;
        case DNET_PRIM_VS >> 2:
            return DNET_GET(r->upper, RQ_SRC) == DNET_COPY_MARKER;
    }
    return false;
}

/* [nic 4.4, OP-35] The kick makes a window's nibble 0. */
static inline void dnet_emu_flags_begin(const dnet_emu_areas_t *a, unsigned window)
{
    uint8_t *at = a->ureg_load + DNET_UREG_PREFETCH_WINDOW_FLAG;

    dnet_emu_publish(at, dnet_emu_peek(at) & ~(0xfull << (4 * window)));
}

#endif
