/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/driver.h"

#include "common/log.h"
#include "common/move.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* From this size on a request an element is faster than columns. */
#define ROW_BYTES 4096u
/* Entries of the peer's list that are read at once. */
#define LIST_PIECE 128u
/* A buffer of fewer entries (prototype) has none to spare for entries of several lines. */
#define LINES_FROM 512u
/* Rows of wide elements that are read column by column together. */
#define ROWS_BYTES 65536u

static uint64_t status_area_size(uint32_t bytes)
{
    uint64_t one_hot = 1; /* bit k: 64 << k bytes (4.1) */
    while ((64u << (__builtin_ctzll(one_hot))) < bytes)
        one_hot <<= 1;
    return one_hot;
}

dnet_status_t dnet_drv_bring_up(dnet_device_t *dev, uint8_t pgid)
{
    if (!dev->sreg_store)
        return DNET_ERR_STATE;
    struct {
        uint32_t offset;
        uint64_t value;
    } steps[] = {
        {DNET_SREG_LID, 0},         {DNET_SREG_SODIMM_CAPACITY, 1}, /* 256 MB a module */
        {DNET_SREG_MTU, 0x10}, /* 4096 bytes: one packet up to 4088 */
        {DNET_SREG_SODIMM_INIT, 1}, {DNET_SREG_PGID0, pgid},        {DNET_SREG_PGID1, pgid},
    };
    uint64_t sma = atomic_load_explicit(
        (const _Atomic uint64_t *) (const void *) (dev->sreg_load + DNET_SREG_SMA_LID),
        memory_order_acquire);
    if (DNET_GET(sma, SMA_STATE) != 3) {
        dnet_error("nic: switch interface is not up, SMA LID register 0x%llx",
                   (unsigned long long) sma);
        return DNET_ERR_DEVICE;
    }
    steps[0].value = DNET_GET(sma, SMA_LID);
    for (unsigned i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        atomic_store_explicit((_Atomic uint64_t *) (void *) (dev->sreg_store + steps[i].offset),
                              steps[i].value, memory_order_release);
        dev->ops->kick(dev, steps[i].offset, true);
    }
    return DNET_OK;
}

/* AMT entry of a ring; Head is its lower half, Tail the upper one (OP-18). */
static uint8_t *amt_entry(const dnet_drv_t *nic, uint32_t ring)
{
    return nic->dev->llcm + ring * DNET_DRV_RING_WORDS * 8;
}

static bool power_of_two(uint32_t n)
{
    return n && !(n & (n - 1));
}

void dnet_drv_ring_assign(dnet_drv_t *nic, dnet_drv_target_t sender, uint32_t ring)
{
    dnet_reg_store(nic->dev, DNET_UREG_AMT_OWN,
                   DNET_PUT(dnet_drv_target_lid(sender), AMTI_LID) |
                       DNET_PUT(dnet_drv_target_wid(sender), AMTI_WID) |
                       DNET_PUT(ring * DNET_DRV_RING_WORDS, AMTI_VALUE));
}

/* Which ring an entry's bytes lie in. */
static uint32_t ring_of(const dnet_drv_t *nic, const dnet_lh_entry_t *entry)
{
    return (uint32_t) DNET_GET(entry->where, LH_POINTER) >> nic->ring_shift & (nic->rings - 1);
}

/* The next LH entry to be read is that with this number. */
static void lh_go_to(dnet_drv_t *nic, uint32_t number)
{
    nic->lh_read = number;
    nic->lh_at = &nic->dev->lh[number & nic->lh_mask];
    nic->lh_flags = dnet_drv_lh_flags(nic, number);
}

/* The next flow-ring entry to be read is that with this number. */
static void flow_go_to(dnet_drv_t *nic, uint32_t number)
{
    uint32_t entries = nic->dev->geometry.flow_entries; /* a power of two */
    nic->flow_read = number;
    nic->flow_at = &nic->dev->flow[number & (entries - 1)];
    nic->flow_valid = number & entries ? 0 : DNET_MASK(FLOW_VALID);
}

dnet_status_t dnet_drv_start(dnet_drv_t *nic, dnet_device_t *dev, uint32_t area_bytes,
                             uint32_t rings, dnet_flow_mode_t mode, uint32_t refill)
{
    if (!dev->flow || !power_of_two(area_bytes) || !power_of_two(rings) ||
        rings > DNET_DRV_RINGS_MAX || area_bytes / rings < 4096 ||
        area_bytes > dev->geometry.sodimm_bytes || (refill && refill < DNET_DRV_REFILL_LEAST) ||
        refill > dev->geometry.lh_entries / 2)
        return DNET_ERR_ARGUMENT;
    dnet_status_t status = dev->ops->reserve(dev, 0, area_bytes);
    uint32_t ring_bytes = area_bytes / rings;
    if (status != DNET_OK)
        return status;

    *nic = (dnet_drv_t){
        .dev = dev,
        .source = DNET_PUT(dev->wid, PK_SWID),
        .windows = dev->sodimm ? 4 : 3,
        .botf_data = dev->sodimm ? DNET_DRV_BOTF_DATA_ROW : DNET_DRV_BOTF_DATA_MAX,
        .botf_data_alone = dev->sodimm ? DNET_DRV_BOTF_DATA_MOST : DNET_DRV_BOTF_DATA_MAX,
        .lh_mask = dev->geometry.lh_entries - 1,
        .lh_batch = dev->geometry.lh_entries / 8,
        .ring_bytes = ring_bytes,
        .ring_shift = (uint32_t) __builtin_ctz(ring_bytes),
        .ring_grain = dev->sodimm ? DNET_IPUSH_GRAIN_MAX : 8,
        .rings = rings,
        .status_read = DNET_DRV_STATUS_RING,
        /* Head is one ahead of the last entry that may be filled. */
        .srq = {.refill = refill, .mark = refill / 4, .offered = 1 + refill / 4},
    };
    lh_go_to(nic, 0);
    flow_go_to(nic, 0);
    for (uint32_t r = 0; r < rings; r++) { /* empty: Head = Tail = the ring's start */
        uint64_t entry = DNET_PUT(r * ring_bytes, AMT_HEAD) | DNET_PUT(r * ring_bytes, AMT_TAIL);
        memcpy(amt_entry(nic, r), &entry, sizeof(entry));
    }
    for (unsigned i = 0; i < DNET_DRV_WORDS; i++)
        dnet_drv_word_clear(nic, i);
    memset(dev->llcm + DNET_DRV_HOLD_TABLE, 0, DNET_HOLD_TABLE_BYTES);
    memset(dev->llcm + DNET_DRV_STOP_TABLE, 0, DNET_HOLD_TABLE_BYTES);
    dnet_reg_store(dev, DNET_UREG_IPUSH_AREA_SIZE, ring_bytes / 4096);
    dnet_reg_store(dev, DNET_UREG_IPUSH_GRAIN, nic->ring_grain);
    dnet_reg_store(dev, DNET_UREG_STATUS_AREA_SIZE, status_area_size(DNET_DRV_STATUS_RING_BYTES));
    dnet_reg_store(dev, DNET_UREG_STATUS_INITIAL_ADDRESS, DNET_DRV_STATUS_RING);
    dnet_reg_store(dev, DNET_UREG_STATUS_NEXT_READ, DNET_DRV_STATUS_RING);
    dnet_reg_store(dev, DNET_UREG_PRIMITIVE_COUNTER_RESET, 0);
    if (refill)
        dnet_drv_srq_refill(nic);
    dnet_reg_store(dev, DNET_UREG_LH_LINES,
                   dev->geometry.lh_entries >= LINES_FROM ? DNET_LH_LINES_MAX : 1);
    dnet_reg_store(dev, DNET_UREG_FLOW_MODE, mode);
    return DNET_OK;
}

void dnet_drv_aperture_set(dnet_drv_t *nic, unsigned slot, const void *address, uint64_t len)
{
    dnet_reg_store_quiet(nic->dev, DNET_UREG_APERTURE_ADDRESS, (uint64_t) (uintptr_t) address);
    dnet_reg_store(nic->dev, DNET_UREG_APERTURE_LENGTH,
                   DNET_PUT(len, APL_LENGTH) | DNET_PUT(slot, APL_SLOT));
}

/* The driver's own slot.  It stays open behind the request, and messages often begin where the one
 * before did. */
static void own_aperture(dnet_drv_t *nic, const void *address, uint32_t len)
{
    if (address == nic->own.address && len <= nic->own.len)
        return;
    dnet_drv_aperture_set(nic, 0, address, len);
    nic->own.address = address;
    nic->own.len = len;
}

static uint64_t request_lower(dnet_prim_t prim, dnet_drv_target_t target, uint32_t size, bool eflag)
{
    return DNET_PUT(prim, RQ_OTYPE) | DNET_PUT(dnet_drv_target_wid(target), RQ_DWID) |
           DNET_PUT(dnet_lid_to_clid(dnet_drv_target_lid(target)), RQ_DCLID) |
           DNET_PUT(eflag, RQ_EFLAG) | DNET_PUT(size, RQ_SIZE);
}

static uint32_t gather(uint8_t *dst, const dnet_drv_piece_t *pieces, unsigned count)
{
    uint8_t *start = dst;
    for (unsigned i = 0; i < count; i++) {
        if (pieces[i].len)
            memcpy(dst, pieces[i].data, pieces[i].len);
        dst += pieces[i].len;
    }
    return (uint32_t) (dst - start);
}

dnet_status_t dnet_drv_send_pieces(dnet_drv_t *nic, dnet_drv_target_t target, uint64_t envelope,
                                   const dnet_drv_piece_t *pieces, unsigned count)
{
    uint8_t *window = dnet_drv_window(nic);
    dnet_drv_lhs_header(nic, window, target, envelope);
    uint32_t len = gather(window + 24, pieces, count);
    nic->counters.ipush++;
    return dnet_drv_botf(nic, 24 + len, false);
}

dnet_status_t dnet_drv_send_long(dnet_drv_t *nic, dnet_drv_target_t target, uint64_t envelope,
                                 const dnet_drv_piece_t *head, unsigned head_count,
                                 const void *body, uint32_t body_len)
{
    uint8_t *window = nic->dev->ww;
    memcpy(window, &envelope, sizeof(envelope));
    uint32_t ww_len = (uint32_t) sizeof(envelope) + gather(window + 8, head, head_count);
    own_aperture(nic, body, body_len);
    dnet_reg_store_quiet(nic->dev, DNET_UREG_COMMAND0_UPPER,
                         DNET_PUT(dnet_drv_aperture_address(0), RQ_SRC) |
                             DNET_PUT(ww_len, RQ_LHS_WW_SIZE) | DNET_PUT(0, RQ_LHS_WW_OFFSET));
    dnet_reg_store(nic->dev, DNET_UREG_COMMAND0_LOWER,
                   request_lower(DNET_PRIM_LHSv2, target, ww_len + body_len, false));
    nic->counters.ipush++;
    return dnet_drv_outcome(nic);
}

/* A two-line packet image of `type` with one data line or none. */
static dnet_status_t botf_image(dnet_drv_t *nic, uint64_t line0, uint64_t line1,
                                const uint64_t *data)
{
    uint8_t *window = dnet_drv_window(nic);
    uint64_t lines[3] = {line0 | nic->source, line1, data ? *data : 0};
    memcpy(window, lines, sizeof(lines));
    return dnet_drv_botf(nic, data ? 24 : 16, false);
}

dnet_status_t dnet_drv_put_word(dnet_drv_t *nic, dnet_drv_target_t target, uint32_t llcm_offset,
                                uint64_t value)
{
    return botf_image(nic, target | DNET_PUT(DNET_PRIM_RVS, PK_TYPE) | DNET_PUT(1, PK_LFLAG),
                      DNET_PUT(llcm_offset, PK_DST) | DNET_PUT(llcm_offset, PK_SRC), &value);
}

/* Where in LLCM is that of an aperture? */
static uint32_t cursor_offset(unsigned slot)
{
    return DNET_DRV_CURSOR_BASE + (slot - 1) * DNET_DRV_CURSOR_STRIDE;
}

static _Atomic uint64_t *cursor(const dnet_drv_t *nic, unsigned slot)
{
    return (_Atomic uint64_t *) (void *) (nic->dev->llcm + cursor_offset(slot));
}

void dnet_drv_cursor_set(dnet_drv_t *nic, unsigned slot, uint64_t value)
{
    atomic_store_explicit(cursor(nic, slot), value, memory_order_release);
}

uint64_t dnet_drv_cursor_next(dnet_drv_t *nic, unsigned slot)
{
    return atomic_fetch_add_explicit(cursor(nic, slot), 1, memory_order_acq_rel);
}

dnet_status_t dnet_drv_cursor_take(dnet_drv_t *nic, dnet_drv_target_t target, unsigned slot,
                                   uint64_t *before_p)
{
    dnet_status_t status =
        botf_image(nic, target | DNET_PUT(DNET_PRIM_FADD, PK_TYPE),
                   DNET_PUT(cursor_offset(slot), PK_DST) | DNET_PUT(1, PK_SRC), NULL);
    if (status == DNET_OK)
        *before_p = dnet_reg_load(nic->dev, DNET_UREG_FETCHED);
    return status;
}

dnet_status_t dnet_drv_resend(dnet_drv_t *nic, dnet_drv_target_t target, uint8_t credits,
                              bool shared)
{
    return botf_image(nic, target | DNET_PUT(DNET_PRIM_RESEND, PK_TYPE),
                      DNET_PUT(credits, RS_CREDITS) | DNET_PUT(shared, RS_SHARED), NULL);
}

dnet_status_t dnet_drv_ask(dnet_drv_t *nic, dnet_drv_target_t target, uint32_t need_bytes)
{
    return botf_image(nic, target | DNET_PUT(DNET_PRIM_RESEND, PK_TYPE),
                      DNET_PUT(1, RS_MORE) | DNET_PUT(need_bytes, RS_NEED), NULL);
}

/* A sender's place in the hold table or the stop table. */
static uint8_t *table_byte(const dnet_drv_t *nic, uint32_t table, dnet_drv_target_t sender,
                           uint8_t *bit_p)
{
    uint32_t index = dnet_hold_index(dnet_drv_target_lid(sender), dnet_drv_target_wid(sender));
    *bit_p = (uint8_t) (1u << index % 8);
    return nic->dev->llcm + table + index / 8;
}

void dnet_drv_note_stopped(dnet_drv_t *nic, dnet_drv_target_t sender, bool on)
{
    uint8_t bit, *byte = table_byte(nic, DNET_DRV_STOP_TABLE, sender, &bit);
    *byte = (uint8_t) (on ? *byte | bit : *byte & ~bit);
}

/* The table first: a NIC that sees the mode sees the table. */
static void hold_mode(dnet_drv_t *nic, bool on)
{
    dnet_reg_store(nic->dev, DNET_UREG_FLOW_MODE,
                   on ? DNET_PUT(DNET_FLOW_MODE_HOLD, FM_MODE) |
                            DNET_PUT(DNET_DRV_HOLD_TABLE, FM_TABLE)
                      : DNET_FLOW_MODE_STOP);
}

void dnet_drv_hold(dnet_drv_t *nic, dnet_drv_target_t sender, bool on)
{
    uint8_t bit, *byte = table_byte(nic, DNET_DRV_HOLD_TABLE, sender, &bit);
    *byte = (uint8_t) (on ? *byte | bit : *byte & ~bit);
    if (on)
        hold_mode(nic, true);
}

void dnet_drv_hold_all(dnet_drv_t *nic, bool on)
{
    memset(nic->dev->llcm + DNET_DRV_HOLD_TABLE, on ? 0xff : 0, DNET_HOLD_TABLE_BYTES);
    hold_mode(nic, on);
}

bool dnet_drv_holds(const dnet_drv_t *nic, dnet_drv_target_t sender)
{
    uint8_t bit;
    return *table_byte(nic, DNET_DRV_HOLD_TABLE, sender, &bit) & bit;
}

static dnet_status_t rvs(dnet_drv_t *nic, dnet_drv_target_t target, uint32_t src, uint32_t dst,
                         uint32_t len, bool status)
{
    dnet_reg_store_quiet(nic->dev, DNET_UREG_COMMAND0_UPPER,
                         DNET_PUT(src, RQ_SRC) | DNET_PUT(dst, RQ_DST));
    dnet_reg_store(nic->dev, DNET_UREG_COMMAND0_LOWER,
                   request_lower(DNET_PRIM_RVS, target, len, status));
    nic->counters.rvs++;
    return dnet_drv_outcome(nic);
}

dnet_status_t dnet_drv_rvs(dnet_drv_t *nic, dnet_drv_target_t target, const void *src,
                           dnet_drv_remote_t dst, uint32_t len, bool status)
{
    own_aperture(nic, src, len);
    return rvs(nic, target, dnet_drv_aperture_address(0), dst.address, len, status);
}

dnet_status_t dnet_drv_rvs_end(dnet_drv_t *nic, dnet_drv_target_t target, dnet_drv_remote_t dst)
{
    uint64_t lines[3] = {
        target | nic->source | DNET_PUT(DNET_PRIM_RVS, PK_TYPE) | DNET_PUT(1, PK_EFLAG) |
            DNET_PUT(1, PK_HFLAG),
        DNET_PUT(dst.address, PK_DST) | DNET_PUT(dst.address, PK_SRC),
        0,
    };
    memcpy(dnet_drv_window(nic), lines, sizeof(lines));
    return dnet_drv_botf(nic, sizeof(lines), false);
}

dnet_status_t dnet_drv_rvl(dnet_drv_t *nic, dnet_drv_target_t target, dnet_drv_remote_t src,
                           void *dst, uint32_t len)
{
    own_aperture(nic, dst, len);
    dnet_reg_store_quiet(nic->dev, DNET_UREG_COMMAND0_UPPER,
                         DNET_PUT(src.address, RQ_SRC) |
                             DNET_PUT(dnet_drv_aperture_address(0), RQ_DST));
    dnet_reg_store(nic->dev, DNET_UREG_COMMAND0_LOWER,
                   request_lower(DNET_PRIM_RVL, target, len, false));
    nic->counters.rvl++;
    return dnet_drv_outcome(nic);
}

static uint64_t request_access(bool list, uint32_t step, uint32_t element)
{
    if (list)
        return DNET_ACCESS_LIST;
    return step == element ? DNET_ACCESS_CONTIGUOUS : DNET_ACCESS_STRIDE;
}

/* Access, element size, Iteration and Stride or List (or Size) as Lower and Command Ex have them.
 */
static uint64_t request_elements(dnet_prim_t family, bool list, uint32_t step, uint32_t element,
                                 uint32_t count)
{
    uint64_t access = request_access(list, step, element);
    return DNET_PUT(family | access, RQ_OTYPE) | DNET_PUT(__builtin_ctz(element), RQ_DTYPE) |
           DNET_PUT(count, RQ_ITERATION) |
           DNET_PUT(access == DNET_ACCESS_CONTIGUOUS ? element * count : step, RQ_SIZE);
}

/* Elements [from, from + count) of a run, of each `element` bytes from byte `at` on; Command Ex is
 * on. */
static dnet_status_t rvl_column(dnet_drv_t *nic, dnet_drv_target_t target,
                                const dnet_drv_run_t *run, uint32_t from, uint32_t count,
                                uint32_t at, uint32_t element)
{
    dnet_device_t *dev = nic->dev;
    uint32_t src_step = run->src_step + (run->src_list ? 4 * from : 0);
    uint32_t dst_step = run->dst_step + (run->dst_list ? 4 * from : 0);
    uint32_t src = run->src + at + (run->src_list ? 0 : from * run->src_step);
    uint32_t dst = run->dst + at + (run->dst_list ? 0 : from * run->dst_step);
    dnet_reg_store_quiet(dev, DNET_UREG_COMMAND0_UPPER,
                         DNET_PUT(src, RQ_SRC) | DNET_PUT(dst, RQ_DST));
    dnet_reg_store_quiet(dev, DNET_UREG_COMMAND_EX,
                         request_elements(DNET_PRIM_VS, run->dst_list, dst_step, element, count));
    dnet_reg_store(dev, DNET_UREG_COMMAND0_LOWER,
                   request_lower(0, target, 0, false) |
                       request_elements(DNET_PRIM_RVL, run->src_list, src_step, element, count));
    nic->counters.rvl++;
    return dnet_drv_outcome(nic);
}

/* Wide elements are columns of the sizes the NIC has (5.4), for so many rows at a time that those
 * stay in the processor's first cache between two columns. */
static dnet_status_t rvl_columns(dnet_drv_t *nic, dnet_drv_target_t target,
                                 const dnet_drv_run_t *run)
{
    dnet_status_t status = DNET_OK;
    uint32_t rows = run->bytes <= DNET_ELEMENT_MAX ? DNET_ITERATION_MAX : ROWS_BYTES / run->bytes;
    if (rows > DNET_ITERATION_MAX)
        rows = DNET_ITERATION_MAX;
    dnet_reg_store_quiet(nic->dev, DNET_UREG_COMMAND_EX_FLAG, 1);
    for (uint32_t from = 0; from < run->count && status == DNET_OK; from += rows) {
        uint32_t n = run->count - from < rows ? run->count - from : rows;
        uint32_t element = DNET_ELEMENT_MAX;
        for (uint32_t at = 0; at < run->bytes && status == DNET_OK; at += element) {
            while (element > run->bytes - at)
                element /= 2;
            status = rvl_column(nic, target, run, from, n, at, element);
        }
    }
    dnet_reg_store_quiet(nic->dev, DNET_UREG_COMMAND_EX_FLAG, 0);
    return status;
}

/* A request an element; the peer's list is read first. */
static dnet_status_t rvl_rows(dnet_drv_t *nic, dnet_drv_target_t target, const dnet_drv_run_t *run)
{
    uint32_t src[LIST_PIECE], dst[LIST_PIECE];
    dnet_status_t status = DNET_OK;
    for (uint32_t row = 0; row < run->count && status == DNET_OK; row++) {
        uint32_t i = row % LIST_PIECE;
        uint32_t n = run->count - row < LIST_PIECE ? run->count - row : LIST_PIECE;
        if (i == 0 && run->src_list)
            status =
                dnet_drv_rvl(nic, target, (dnet_drv_remote_t){run->src_step + 4 * row}, src, 4 * n);
        if (i == 0 && run->dst_list)
            dnet_drv_sodimm_read(nic, run->dst_step + 4 * row, dst, 4 * n);
        if (status != DNET_OK)
            break;
        uint32_t from = run->src + (run->src_list ? src[i] : row * run->src_step);
        uint32_t to = run->dst + (run->dst_list ? dst[i] : row * run->dst_step);
        dnet_reg_store_quiet(nic->dev, DNET_UREG_COMMAND0_UPPER,
                             DNET_PUT(from, RQ_SRC) | DNET_PUT(to, RQ_DST));
        dnet_reg_store(nic->dev, DNET_UREG_COMMAND0_LOWER,
                       request_lower(DNET_PRIM_RVL, target, run->bytes, false));
        nic->counters.rvl++;
        status = dnet_drv_outcome(nic);
    }
    return status;
}

dnet_status_t dnet_drv_rvl_run(dnet_drv_t *nic, dnet_drv_target_t target, const dnet_drv_run_t *run)
{
    if (run->bytes < ROW_BYTES)
        return rvl_columns(nic, target, run);
    return rvl_rows(nic, target, run);
}

dnet_status_t dnet_drv_rvs_sodimm(dnet_drv_t *nic, dnet_drv_target_t target, uint32_t src,
                                  uint32_t dst, uint32_t len, bool status)
{
    return rvs(nic, target, src, dst, len, status);
}

void dnet_drv_publish(dnet_drv_t *nic)
{
    dnet_device_t *dev = nic->dev;
    for (uint32_t r = 0; r < nic->rings; r++) {
        if (nic->ring[r].read == nic->ring[r].freed)
            continue;
        /* Head half of the AMT entry (9.3).  Release: the data were read before the NIC may reuse
         * their place; pairs with the NIC's acquire load of the entry. */
        atomic_store_explicit((_Atomic uint32_t *) (void *) amt_entry(nic, r),
                              r * nic->ring_bytes + (nic->ring[r].read & (nic->ring_bytes - 1)),
                              memory_order_release);
        nic->ring[r].freed = nic->ring[r].read;
    }
    nic->ring_due = false;
    if (nic->lh_read != nic->lh_freed) {
        if (nic->srq.refill)
            dnet_drv_srq_return(nic);
        else
            dnet_reg_store_quiet(dev, DNET_UREG_LH_NEXT_READ,
                                 (uint64_t) (nic->lh_read & nic->lh_mask) * DNET_LH_ENTRY_BYTES);
        nic->lh_freed = nic->lh_read;
    }
}

/* Valid has turned and Complete has not. */
static bool is_void(const dnet_drv_t *nic, const dnet_lh_entry_t *entry)
{
    uint64_t line0 = atomic_load_explicit(
        (const _Atomic uint64_t *) (const void *) &entry->envelope, memory_order_acquire);
    return ((line0 ^ nic->lh_flags) & DNET_DRV_LH_FLAGS) == DNET_MASK(LH_COMPLETE);
}

/* No more are asked for: 512 bytes, ten lines, gain 2 % at most from these. */
#define LINES_ASKED 8u

/* Lines that the next entry may have behind its first if it is as long.  Where a line that has been
 * read stays shared its sender has claimed them, which to read them would undo. */
static uint32_t lines_asked(uint32_t behind)
{
    if (dnet_lines_stay_shared())
        return 0;
    return behind < LINES_ASKED ? behind : LINES_ASKED;
}

bool dnet_drv_lh_release_other(dnet_drv_t *nic, const dnet_lh_entry_t *entry)
{
    uint32_t size = (uint32_t) DNET_GET(entry->where, LH_SIZE), behind = 0;
    if (size > DNET_LH_DATA_BYTES && dnet_lh_is_behind(entry->where)) {
        behind = dnet_lh_lines(entry->where) - 1;
    } else if (size > DNET_LH_DATA_BYTES) {
        uint32_t r = ring_of(nic, entry);
        uint32_t bytes = (size - DNET_LH_DATA_BYTES + nic->ring_grain - 1) & -nic->ring_grain;
        nic->ring[r].read += bytes;
        nic->ring_used += bytes;
        nic->ring_due |= (nic->ring[r].read - nic->ring[r].freed >= nic->ring_bytes / 8) |
                         (nic->ring_used >= nic->ring_bytes / 8);
    }
    lh_go_to(nic, nic->lh_read + 1 + behind);
    nic->lh_asked = lines_asked(behind);
    return nic->ring_due | (nic->lh_read - nic->lh_freed >= nic->lh_batch);
}

bool dnet_drv_lh_settle(dnet_drv_t *nic)
{
    const dnet_lh_entry_t *entry;
    bool any = false;
    nic->dev->ops->settle(nic->dev);
    while (dnet_drv_lh_late(nic) && is_void(nic, entry = nic->lh_at)) {
        (void) dnet_drv_lh_release(nic, entry);
        any = true;
    }
    return any;
}

uint32_t dnet_drv_lh_free(const dnet_drv_t *nic)
{
    uint32_t tail =
        (uint32_t) dnet_reg_load(nic->dev, DNET_UREG_LH_NEXT_WRITE) / DNET_LH_ENTRY_BYTES;
    return nic->lh_mask - ((tail - nic->lh_freed) & nic->lh_mask);
}

uint32_t dnet_drv_ring_free(const dnet_drv_t *nic, uint32_t ring)
{
    /* Tail half of the AMT entry, written by the NIC (9.3); a value out of range frees nothing. */
    uint32_t tail = atomic_load_explicit(
        (const _Atomic uint32_t *) (const void *) amt_entry(nic, ring) + 1, memory_order_relaxed);
    uint32_t used = (tail - nic->ring[ring].freed) & (nic->ring_bytes - 1);
    return nic->ring_bytes - nic->ring_grain - used;
}

#ifdef __x86_64__
/* Data of whole lines behind the first one; the last store has 8 bytes more. */
__attribute__((target("avx512f"))) static void read_whole_lines(uint8_t *to,
                                                                const dnet_lh_entry_t *line,
                                                                uint32_t lines)
{
    for (; lines; lines--, line++, to += DNET_LH_LINE_DATA_BYTES) {
        __m512i words = _mm512_load_si512(line);
        _mm512_storeu_si512(to, _mm512_alignr_epi64(words, words, 1));
    }
}
#endif

void dnet_drv_lines_read(const dnet_drv_t *nic, uint32_t from, void *dst, uint32_t len)
{
    uint32_t number = nic->lh_read + 1, at = 0;
    uint8_t *to = dst;
    if (DNET_UNLIKELY(from)) {
        number += from / DNET_LH_LINE_DATA_BYTES;
        at = from % DNET_LH_LINE_DATA_BYTES;
    }
#ifdef __x86_64__
    while (len >= DNET_LH_ENTRY_BYTES && at == 0 && __builtin_cpu_supports("avx512f")) {
        uint32_t lines = (len - DNET_LINE_BYTES) / DNET_LH_LINE_DATA_BYTES;
        uint32_t to_end = nic->lh_mask + 1 - (number & nic->lh_mask);
        lines = lines < to_end ? lines : to_end;
        read_whole_lines(to, &nic->dev->lh[number & nic->lh_mask], lines);
        number += lines;
        to += lines * DNET_LH_LINE_DATA_BYTES;
        len -= lines * DNET_LH_LINE_DATA_BYTES;
    }
#endif
    for (; len; number++, at = 0) {
        const uint8_t *line = (const uint8_t *) &nic->dev->lh[number & nic->lh_mask] + 8;
        uint32_t n = DNET_LH_LINE_DATA_BYTES - at;
        n = n < len ? n : len;
        dnet_short_copy(to, line + at, n);
        to += n;
        len -= n;
    }
}

void dnet_drv_ring_read(dnet_drv_t *nic, const dnet_lh_entry_t *entry, uint32_t from, void *dst,
                        uint32_t len)
{
    uint32_t base = ring_of(nic, entry) * nic->ring_bytes;
    uint32_t start = ((uint32_t) DNET_GET(entry->where, LH_POINTER) + from) & (nic->ring_bytes - 1);
    uint32_t first = nic->ring_bytes - start;
    if (first > len)
        first = len;
    dnet_drv_sodimm_read(nic, base + start, dst, first);
    if (first < len)
        dnet_drv_sodimm_read(nic, base, (uint8_t *) dst + first, len - first);
}

bool dnet_drv_status_next(dnet_drv_t *nic, dnet_drv_receipt_t *receipt_p)
{
    if (!dnet_drv_status_waiting(nic))
        return false;
    dnet_status_entry_t entry;
    memcpy(&entry, nic->dev->llcm + nic->status_read, sizeof(entry));
    *receipt_p = (dnet_drv_receipt_t){
        .address = (uint32_t) DNET_GET(entry.upper, ST_ADDRESS),
        .bytes = (uint32_t) DNET_GET(entry.lower, ST_SIZE),
        .lid = dnet_clid_to_lid((uint16_t) DNET_GET(entry.lower, ST_SCLID)),
        .wid = (uint8_t) DNET_GET(entry.lower, ST_SWID),
    };
    nic->status_read += DNET_STATUS_BYTES;
    if (nic->status_read == DNET_DRV_STATUS_RING + DNET_DRV_STATUS_RING_BYTES)
        nic->status_read = DNET_DRV_STATUS_RING;
    dnet_reg_store_quiet(nic->dev, DNET_UREG_STATUS_NEXT_READ, nic->status_read);
    return true;
}

bool dnet_drv_flow_peek(const dnet_drv_t *nic, dnet_drv_flow_t *flow_p)
{
    if (!dnet_drv_flow_waiting(nic))
        return false;
    const dnet_flow_entry_t *e = nic->flow_at;
    bool resend = DNET_GET(e->word, FLOW_KIND) == DNET_FLOW_RESEND;
    bool more = resend && DNET_GET(e->arg, RS_MORE);
    *flow_p = (dnet_drv_flow_t){
        .kind = (dnet_flow_kind_t) DNET_GET(e->word, FLOW_KIND),
        .shared = resend && DNET_GET(e->arg, RS_SHARED),
        .more = more,
        .lid = (uint16_t) DNET_GET(e->word, FLOW_LID),
        .wid = (uint8_t) DNET_GET(e->word, FLOW_WID),
        .credits = (uint8_t) DNET_GET(e->word, FLOW_CREDITS),
        .need_bytes = (uint32_t) (more ? DNET_GET(e->arg, RS_NEED) : e->arg),
    };
    return true;
}

void dnet_drv_flow_advance(dnet_drv_t *nic)
{
    flow_go_to(nic, nic->flow_read + 1);
    dnet_reg_store_quiet(nic->dev, DNET_UREG_FLOW_NEXT_READ, nic->flow_read);
}

void dnet_drv_word_clear(dnet_drv_t *nic, unsigned index)
{
    atomic_store_explicit(
        (_Atomic uint64_t *) (void *) (nic->dev->llcm + dnet_drv_word_offset(index)), 0,
        memory_order_relaxed);
}

/* Through Prefetch Window 0, 512 bytes at a time (6.1). */
static void read_by_vl(dnet_drv_t *nic, uint32_t offset, uint8_t *dst, uint32_t len)
{
    dnet_device_t *dev = nic->dev;
    while (len) {
        uint32_t n = len < DNET_WINDOW_BYTES ? len : DNET_WINDOW_BYTES;
        dnet_reg_store_quiet(dev, DNET_UREG_COMMAND0_UPPER,
                             DNET_PUT(offset, RQ_SRC) | DNET_PUT(0, RQ_DST));
        dnet_reg_store(dev, DNET_UREG_COMMAND0_LOWER,
                       DNET_PUT(DNET_PRIM_VL, RQ_OTYPE) | DNET_PUT(n, RQ_SIZE));
        nic->counters.vl++;
        while ((dnet_reg_load(dev, DNET_UREG_PREFETCH_WINDOW_FLAG) & 0xf) != 0xf)
            dev->ops->run(dev);
        memcpy(dst, dev->pw, n);
        dst += n;
        offset += n;
        len -= n;
    }
}

/* Through Write Window 3 (6.2). */
static void write_by_vs(dnet_drv_t *nic, uint32_t offset, const uint8_t *src, uint32_t len)
{
    dnet_device_t *dev = nic->dev;
    const uint32_t window = 3 * DNET_WINDOW_BYTES;
    while (len) {
        uint32_t n = len < DNET_WINDOW_BYTES ? len : DNET_WINDOW_BYTES;
        memcpy(dev->ww + window, src, n);
        dnet_reg_store_quiet(dev, DNET_UREG_COMMAND0_UPPER,
                             DNET_PUT(window, RQ_SRC) | DNET_PUT(offset, RQ_DST));
        dnet_reg_store(dev, DNET_UREG_COMMAND0_LOWER,
                       DNET_PUT(DNET_PRIM_VS, RQ_OTYPE) | DNET_PUT(n, RQ_SIZE));
        nic->counters.vs++;
        while (!(dnet_reg_load(dev, DNET_UREG_CONTROLLER_STATUS) & (DNET_MASK(CS_WW0_DONE) << 9)))
            dev->ops->run(dev);
        src += n;
        offset += n;
        len -= n;
    }
}

void dnet_drv_sodimm_read(dnet_drv_t *nic, uint32_t offset, void *dst, uint32_t len)
{
    if (nic->dev->sodimm)
        dnet_take(dst, nic->dev->sodimm + offset, len);
    else
        read_by_vl(nic, offset, dst, len);
}

void dnet_drv_sodimm_write(dnet_drv_t *nic, uint32_t offset, const void *src, uint32_t len)
{
    if (nic->dev->sodimm)
        memcpy(nic->dev->sodimm + offset, src, len);
    else
        write_by_vs(nic, offset, src, len);
}
