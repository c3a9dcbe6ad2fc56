/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands of the data sheet's dsh (section 12), output for output.  What the data sheet leaves
 * open is decided in docs/dsh.md.
 */
#include "config.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dimmnet/format.h"
#include "tools/shell/dsh.h"

/* Where the data sheet's examples have the NIC mapped. */
#define MAP_BASE 0x4213c000u
#define LINE_BYTES 16u

/* ---- dumps ---- */

uint64_t dsh_address(const dsh_t *d, dsh_area_t area)
{
    static const struct {
        uint32_t offset, stride; /* of the memory map (section 3) */
    } areas[] = {
        [DSH_AREA_WW] = {0x00000, 0x2000},   [DSH_AREA_PW] = {0x10000, 0x2000},
        [DSH_AREA_LLCM] = {0x20000, 0x8000}, [DSH_AREA_LH] = {0x30000, 0x8000},
        [DSH_AREA_UREG] = {0x40000, 0x1000}, [DSH_AREA_SREG] = {0x50000, 0},
    };
    return MAP_BASE + areas[area].offset + d->dev->wid * areas[area].stride;
}

void dsh_heading(void)
{
    printf("# ADDR    7 6 5 4 3 2 1 0 F E D C B A 9 8\n");
}

bool dsh_dump(dsh_t *d, uint64_t address, const void *area, uint64_t area_bytes, uint64_t offset,
              uint64_t bytes)
{
    const uint8_t *from = area;
    if (offset % 8)
        return dsh_fail(d, "Offset 0x%" PRIx64 " is not a multiple of 8", offset);
    if (offset > area_bytes || bytes > area_bytes - offset)
        return dsh_fail(
            d, "0x%" PRIx64 " bytes from 0x%" PRIx64 " pass the end of the area at 0x%" PRIx64,
            bytes, offset, area_bytes);
    dsh_heading();
    for (uint64_t at = offset; at < offset + bytes; at += LINE_BYTES) {
        printf("#%08" PRIx64 ": %016" PRIx64, address + at, nics_load(from + at));
        if (at + 8 < area_bytes)
            printf(" %016" PRIx64, nics_load(from + at + 8));
        printf("\n");
    }
    return true;
}

static bool read_area(dsh_t *d, unsigned count, char **words, dsh_area_t area, const void *from,
                      uint64_t bytes, const char *syntax)
{
    uint64_t offset, size;
    return dsh_want(d, count - 1, 2, syntax) &&
           dsh_number(d, "Offset", words[1], UINT64_MAX, &offset) &&
           dsh_number(d, "Size", words[2], UINT64_MAX, &size) &&
           dsh_dump(d, dsh_address(d, area), from, bytes, offset, size);
}

bool dsh_evpbuf_read(dsh_t *d, unsigned count, char **words)
{
    return read_area(d, count, words, DSH_AREA_LH, d->dev->lh,
                     (uint64_t) d->dev->geometry.lh_entries * DNET_LH_ENTRY_BYTES,
                     "evpbuf_read Offset Size");
}

bool dsh_llcm_read(dsh_t *d, unsigned count, char **words)
{
    return read_area(d, count, words, DSH_AREA_LLCM, d->dev->llcm, d->dev->geometry.llcm_bytes,
                     "llcm_read Offset Size");
}

static bool read_window(dsh_t *d, unsigned count, char **words, dsh_area_t area,
                        const uint8_t *from, uint32_t windows, const char *syntax)
{
    uint64_t window, size;
    if (!dsh_want(d, count - 1, 2, syntax) ||
        !dsh_number(d, "window", words[1], windows - 1, &window) ||
        !dsh_number(d, "Size", words[2], DNET_WINDOW_BYTES, &size))
        return false;
    return dsh_dump(d, dsh_address(d, area) + window * DNET_WINDOW_BYTES,
                    from + window * DNET_WINDOW_BYTES, DNET_WINDOW_BYTES, 0, size);
}

bool dsh_pw_read(dsh_t *d, unsigned count, char **words)
{
    return read_window(d, count, words, DSH_AREA_PW, d->dev->pw, d->dev->geometry.pw_count,
                       "pw_read PW# Size");
}

bool dsh_ww_read(dsh_t *d, unsigned count, char **words)
{
    return read_window(d, count, words, DSH_AREA_WW, d->dev->ww, d->dev->geometry.ww_count,
                       "ww_read WW# Size");
}

/* ---- writes ---- */

/* Iteration 32-bit values at successive addresses, each Increment larger. */
static bool write_values(dsh_t *d, uint8_t *area, uint64_t area_bytes, uint64_t from,
                         uint64_t iteration, uint64_t value, uint64_t increment)
{
    if (from % 4)
        return dsh_fail(d, "from=0x%" PRIx64 " is not a multiple of 4", from);
    if (from > area_bytes || iteration > (area_bytes - from) / 4)
        return dsh_fail(
            d, "%" PRIu64 " values from 0x%" PRIx64 " pass the end of the area at 0x%" PRIx64,
            iteration, from, area_bytes);
    for (uint64_t i = 0; i < iteration; i++)
        atomic_store_explicit((_Atomic uint32_t *) (void *) (area + from + 4 * i),
                              (uint32_t) (value + i * increment), memory_order_release);
    return true;
}

bool dsh_llcm_write(dsh_t *d, unsigned count, char **words)
{
    dsh_pair_t p[] = {{"from", UINT64_MAX, 0},
                      {"it", UINT64_MAX, 0},
                      {"val", UINT32_MAX, 0},
                      {"inc", UINT32_MAX, 0}};
    return dsh_pairs(d, count - 1, words + 1, p, 4) &&
           write_values(d, d->dev->llcm, d->dev->geometry.llcm_bytes, p[0].value, p[1].value,
                        p[2].value, p[3].value);
}

bool dsh_ww_write(dsh_t *d, unsigned count, char **words)
{
    dsh_pair_t p[] = {{"ww", d->dev->geometry.ww_count - 1, 0},
                      {"from", UINT64_MAX, 0},
                      {"it", UINT64_MAX, 0},
                      {"val", UINT32_MAX, 0},
                      {"inc", UINT32_MAX, 0}};
    return dsh_pairs(d, count - 1, words + 1, p, 5) &&
           write_values(d, d->dev->ww + p[0].value * DNET_WINDOW_BYTES, DNET_WINDOW_BYTES,
                        p[1].value, p[2].value, p[3].value, p[4].value);
}

/* ---- requests ---- */

void dsh_store(dsh_t *d, bool system, uint32_t offset, uint64_t value)
{
    uint8_t *page = system ? d->dev->sreg_store : d->dev->ureg_store;
    atomic_store_explicit((_Atomic uint64_t *) (void *) (page + offset), value,
                          memory_order_release);
    d->dev->ops->kick(d->dev, offset, system);
}

/* Annex B: no kick while a request waits. */
static bool issue(dsh_t *d, uint64_t upper, uint64_t lower)
{
    uint64_t status = dnet_reg_load(d->dev, DNET_UREG_CONTROLLER_STATUS);
    if (status & (DNET_MASK(CS_REQ_PENDING) | DNET_MASK(CS_FIFO_AFULL)))
        return dsh_fail(
            d, "the Request FIFO is full: requests before wait for room at their destination");
    dsh_store(d, false, DNET_UREG_COMMAND_EX_FLAG, 0);
    dsh_store(d, false, DNET_UREG_COMMAND0_UPPER, upper);
    dsh_store(d, false, DNET_UREG_COMMAND0_LOWER, lower);
    return true;
}

/* Codes of the data sheet's primitives but BOTF, which takes an image and not these arguments. */
static bool primitive(dsh_t *d, const char *name, uint64_t *code_p)
{
    static const struct {
        const char *name;
        uint8_t code;
    } primitives[] = {
#define DNET_PRIMITIVE(name, code, family, access) {#name, code},
#include "dimmnet/primitives.def"
#undef DNET_PRIMITIVE
    };
    for (unsigned i = 0; i < sizeof(primitives) / sizeof(primitives[0]); i++) {
        *code_p = primitives[i].code;
        if (strcasecmp(name, primitives[i].name) == 0 && *code_p != DNET_PRIM_BOTF &&
            *code_p != DNET_PRIM_RESEND && *code_p != DNET_PRIM_FADD)
            return true;
    }
    return dsh_fail(
        d,
        "no primitive '%.40s'; there are NOP VL VLS VLI VS VSS VSI RVL RVLS RVLI RVS RVSS "
        "RVSI IPUSH LHSv1 LHSv2",
        name);
}

bool dsh_prim(dsh_t *d, unsigned count, char **words)
{
    dsh_pair_t p[] = {{"dt", 7, 0},           {"it", 0xff, 0},       {"dw", 1, 0},
                      {"dl", 0xfff, 0},       {"ef", 1, 0},          {"size", UINT32_MAX, 0},
                      {"src", UINT32_MAX, 0}, {"dst", UINT32_MAX, 0}};
    uint64_t code;
    if (count < 2)
        return dsh_fail(d,
                        "PRIM is missing; syntax: prim PRIM dt= it= dw= dl= ef= size= src= dst=");
    if (!primitive(d, words[1], &code) || !dsh_pairs(d, count - 2, words + 2, p, 8))
        return false;
    uint64_t lower = DNET_PUT(code, RQ_OTYPE) | DNET_PUT(p[0].value, RQ_DTYPE) |
                     DNET_PUT(p[1].value, RQ_ITERATION) | DNET_PUT(p[2].value, RQ_DWID) |
                     DNET_PUT(p[3].value, RQ_DCLID) | DNET_PUT(p[4].value, RQ_EFLAG) |
                     DNET_PUT(p[5].value, RQ_SIZE);
    uint64_t upper = DNET_PUT(p[6].value, RQ_SRC) | DNET_PUT(p[7].value, RQ_DST);
    if (!issue(d, upper, lower))
        return false;
    printf("cmd:%" PRIx64 "_%" PRIx64 "\n", upper, lower);
    return true;
}

/* An RVS image of three lines with lflag, sent by BOTF from WW#0. */
bool dsh_rllcm_write(dsh_t *d, unsigned count, char **words)
{
    uint64_t clid, offset, value;
    if (!dsh_want(d, count - 1, 3, "rllcm_write Dclid Offset Value") ||
        !dsh_number(d, "Dclid", words[1], 0xfff, &clid) ||
        !dsh_number(d, "Offset", words[2], d->dev->geometry.llcm_bytes - 8, &offset) ||
        !dsh_number(d, "Value", words[3], UINT64_MAX, &value))
        return false;
    if (offset % 8)
        return dsh_fail(d, "Offset 0x%" PRIx64 " is not a multiple of 8", offset);
    uint16_t lid = dnet_clid_to_lid((uint16_t) clid);
    bool known = false;
    for (uint32_t n = 0; n < d->nodes; n++)
        known |= d->node[n].lid == lid;
    if (!known)
        return dsh_fail(d, "no node has CLID 0x%" PRIx64 "; nodes lists those there are", clid);
    uint64_t image[3] = {
        DNET_PUT(DNET_PRIM_RVS, PK_TYPE) | DNET_PUT(lid, PK_DLID) | DNET_PUT(d->dev->wid, PK_SWID) |
            DNET_PUT(1, PK_LFLAG),
        DNET_PUT(offset, PK_SRC) | DNET_PUT(offset, PK_DST),
        value,
    };
    memcpy(d->dev->ww, image, sizeof(image));
    return issue(d, 0,
                 DNET_PUT(DNET_PRIM_BOTF, RQ_OTYPE) | DNET_PUT(0, RQ_BOTF_WW) |
                     DNET_PUT(sizeof(image), RQ_BOTF_SIZE));
}

/* ---- registers ---- */

/* What the shell calls a register, and the banner above its value. */
typedef struct {
    const char *name, *banner;
    uint32_t offset;
} option_t;

static const option_t sreg_reads[] = {{"sma_lid", "Get LID from sma", DNET_SREG_SMA_LID}};
static const option_t sreg_writes[] = {
    {"sdimm_init", "", DNET_SREG_SODIMM_INIT},
    {"sdimm_capacity", "", DNET_SREG_SODIMM_CAPACITY},
    {"mtu", "", DNET_SREG_MTU},
    {"sma_reset", "", DNET_SREG_SMA_SOFTWARE_RESET},
    {"lid", "", DNET_SREG_LID},
    {"pgid0", "", DNET_SREG_PGID0},
    {"pgid1", "", DNET_SREG_PGID1},
    {"ctl_reset", "", DNET_SREG_CONTROLLER_RESET},
    {"clt_reset", "", DNET_SREG_CONTROLLER_RESET},
};
static const option_t ureg_reads[] = {
    {"ctl_status", "Controller Status", DNET_UREG_CONTROLLER_STATUS},
    {"prim_counter", "Primitive Counter", DNET_UREG_PRIMITIVE_COUNTER},
    {"pw_flag", "Prefetch Window Flag", DNET_UREG_PREFETCH_WINDOW_FLAG},
    {"pkt_counter", "Packet Counter", DNET_UREG_PACKET_COUNTER},
    {"evpbuf_nwa", "LH Buffer Next Write Address", DNET_UREG_LH_NEXT_WRITE},
    {"module_state", "Module Status", DNET_UREG_MODULE_STATE},
    {"status_nwa", "Status Next Write Address", DNET_UREG_STATUS_NEXT_WRITE},
};
static const option_t ureg_writes[] = {
    {"prim_counter_reset", "Primitive Counter Reset", DNET_UREG_PRIMITIVE_COUNTER_RESET},
    {"pkt_counter_reset", "Packet Counter Reset", DNET_UREG_PACKET_COUNTER_RESET},
    {"ivs_area_size", "IPUSH Area Size", DNET_UREG_IPUSH_AREA_SIZE},
    {"evpbuf_nra", "LH Buffer Next Read Address", DNET_UREG_LH_NEXT_READ},
    {"status_initial_addr", "Status Initial Address", DNET_UREG_STATUS_INITIAL_ADDRESS},
    {"status_area_size", "Status Area Size", DNET_UREG_STATUS_AREA_SIZE},
    {"status_nra", "Status Next Read Address", DNET_UREG_STATUS_NEXT_READ},
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const option_t *find_option(dsh_t *d, const option_t *options, size_t count,
                                   const char *name)
{
    char known[256] = "";
    for (size_t i = 0; i < count; i++) {
        if (strcmp(name, options[i].name) == 0)
            return &options[i];
        strcat(strcat(known, " "), options[i].name);
    }
    dsh_fail(d, "no Option '%.40s'; there are%s", name, known);
    return NULL;
}

static void banner(const char *text)
{
    printf("####### %s #######\n", text);
}

static void show_register(uint64_t address, uint64_t value)
{
    dsh_heading();
    printf("#%08" PRIx64 ": %016" PRIx64 "\n", address, value);
}

bool dsh_sreg_read(dsh_t *d, unsigned count, char **words)
{
    if (!dsh_want(d, count - 1, 1, "sreg_read sma_lid"))
        return false;
    const option_t *o = find_option(d, sreg_reads, COUNT(sreg_reads), words[1]);
    if (!o)
        return false;
    banner(o->banner);
    show_register(dsh_address(d, DSH_AREA_SREG) + o->offset,
                  nics_load(d->dev->sreg_load + o->offset));
    return true;
}

static bool write_amt(dsh_t *d, unsigned count, char **words)
{
    dsh_pair_t p[] = {{"addr", 0xfff, 0}, {"wid", 1, 0}, {"lid", 0xffff, 0}};
    if (!dsh_pairs(d, count, words, p, 3))
        return false;
    dsh_store(d, true, DNET_SREG_AMT_ADDRESS_TABLE,
              DNET_PUT(p[0].value, AMTI_VALUE) | DNET_PUT(p[1].value, AMTI_WID) |
                  DNET_PUT(p[2].value, AMTI_LID));
    return true;
}

bool dsh_sreg_write(dsh_t *d, unsigned count, char **words)
{
    uint64_t value;
    if (count > 1 && strcmp(words[1], "amt") == 0)
        return write_amt(d, count - 2, words + 2);
    if (!dsh_want(d, count - 1, 2, "sreg_write Option Value, or sreg_write amt addr= wid= lid="))
        return false;
    const option_t *o = find_option(d, sreg_writes, COUNT(sreg_writes), words[1]);
    if (!o || !dsh_number(d, "Value", words[2], UINT64_MAX, &value))
        return false;
    dsh_store(d, true, o->offset, value);
    return true;
}

/* Six counters of 10 bits (4.3). */
static void show_counters(uint64_t word)
{
    static const char *const families[] = {"BOTF", "VL", "VS", "RVL", "RVS", "IPUSH"};
    for (unsigned i = 0; i < COUNT(families); i++)
        printf("%-4s : %u\n", families[i], (unsigned) (word >> (10 * i)) & 0x3ff);
}

/* A state by name; the names of working states are the emulator's (4.5, OP-41). */
static void show_state(const char *title, const char *separator, uint64_t value,
                       const char *const *names, unsigned count)
{
    if (value < count && names[value])
        printf("%s%s%s\n", title, separator, names[value]);
    else
        printf("%s%s0x%" PRIx64 "\n", title, separator, value);
}

static void show_module_state(uint64_t word)
{
    static const char *const acceptor[] = {
        [1] = "P_RPATH_NOP", [2] = "P_RPATH_REQ", [4] = "P_RPATH_REQ_IN", [8] = "P_RPATH_WAIT"};
    static const char *const executor[] = {
#define DNET_STATE(name, shown) shown,
#include "emulator/states.def"
#undef DNET_STATE
    };
    static const char *const receiver[] = {[1] = "IDLE", [2] = "STALL", [4] = "ERROR"};
    static const char *const idle_1[] = {[1] = "IDLE"};
    printf("Window Controller\n");
    show_state("Accepter", " : ", word & 0xf, acceptor, COUNT(acceptor));
    show_state("Executer", " : ", word >> 4 & 0x1fff, executor, COUNT(executor));
    show_state("Receive Controller", "\n", word >> 17 & 0xffff, receiver, COUNT(receiver));
    show_state("PWrite", "\n", word >> 33 & 0xf, idle_1, COUNT(idle_1));
    show_state("Write Unit rctl_stat", "\n", word >> 37 & 0xf, idle_1, COUNT(idle_1));
    show_state("Write Unit wctl_stat", "\n", word >> 41 & 0x1f, idle_1, COUNT(idle_1));
    show_state("Write Unit wu_stride", "\n", word >> 46 & 0x7, idle_1, COUNT(idle_1));
    show_state("Write Unit wu_ipush", "\n", word >> 49 & 0x3, (const char *const[]){"M_IDLE"}, 1);
    show_state("Prefetch Unit", "\n", word >> 51 & 0x3, (const char *const[]){"ST_R_IDLE"}, 1);
    show_state("Prefetch Unit pu_ctl", "\n", word >> 53 & 0x3, (const char *const[]){"ST_IDLE"}, 1);
    show_state("Prefetch Unit pu_write", "\n", word >> 55 & 0x7,
               (const char *const[]){"ST_FIFO_IDLE, ST_PW_IDLE"}, 1);
}

bool dsh_ureg_read(dsh_t *d, unsigned count, char **words)
{
    if (!dsh_want(d, count - 1, 1, "ureg_read Option"))
        return false;
    const option_t *o = find_option(d, ureg_reads, COUNT(ureg_reads), words[1]);
    if (!o)
        return false;
    uint64_t word = dnet_reg_load(d->dev, o->offset);
    banner(o->banner);
    show_register(dsh_address(d, DSH_AREA_UREG) + o->offset, word);
    if (o->offset == DNET_UREG_PRIMITIVE_COUNTER)
        show_counters(word);
    if (o->offset == DNET_UREG_MODULE_STATE)
        show_module_state(word);
    return true;
}

bool dsh_ureg_write(dsh_t *d, unsigned count, char **words)
{
    uint64_t value;
    if (!dsh_want(d, count - 1, 2, "ureg_write Option Value"))
        return false;
    const option_t *o = find_option(d, ureg_writes, COUNT(ureg_writes), words[1]);
    if (!o || !dsh_number(d, "Value", words[2], UINT64_MAX, &value))
        return false;
    dsh_store(d, false, o->offset, value);
    banner(o->banner);
    return true;
}

/* ---- the shell itself ---- */

bool dsh_version(dsh_t *d, unsigned count, char **words)
{
    (void) words;
    if (!dsh_want(d, count - 1, 0, "v"))
        return false;
    printf("DIMMnet-2 Shell version 2.1a released by Yomi\n");
    return true;
}

bool dsh_quit(dsh_t *d, unsigned count, char **words)
{
    (void) words;
    d->quit = dsh_want(d, count - 1, 0, "q");
    return d->quit;
}
