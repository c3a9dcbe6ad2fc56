/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Commands beyond the data sheet: rings decoded, registers by name, SO-DIMM memory, nodes.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "dimmnet/format.h"
#include "tools/shell/dsh.h"

#define PIECE_BYTES 4096u

/* ---- memory ---- */

/* Own SO-DIMM memory, in the form of the data sheet's dumps; offsets for addresses. */
static bool dump_sodimm(dsh_t *d, uint64_t offset, uint64_t bytes)
{
    _Alignas(16) uint8_t piece[PIECE_BYTES];
    uint64_t area = d->dev->geometry.sodimm_bytes;
    if (offset % 16 || bytes % 16)
        return dsh_fail(d, "Offset and Size are multiples of 16 here");
    if (offset > area || bytes > area - offset)
        return dsh_fail(
            d, "0x%" PRIx64 " bytes from 0x%" PRIx64 " pass the end of the area at 0x%" PRIx64,
            bytes, offset, area);
    dsh_heading();
    while (bytes > 0) {
        uint64_t n = bytes < sizeof(piece) ? bytes : sizeof(piece);
        if (dnet_emu_sodimm_peek(d->nic, d->dev->wid, offset, piece, n) != DNET_OK)
            return false; /* logged */
        for (uint64_t i = 0; i < n; i += 16)
            printf("#%08" PRIx64 ": %016" PRIx64 " %016" PRIx64 "\n", offset + i,
                   nics_load(piece + i), nics_load(piece + i + 8));
        offset += n;
        bytes -= n;
    }
    return true;
}

bool dsh_sodimm_read(dsh_t *d, unsigned count, char **words)
{
    uint64_t offset, size;
    return dsh_want(d, count - 1, 2, "sodimm_read Offset Size") &&
           dsh_number(d, "Offset", words[1], UINT64_MAX, &offset) &&
           dsh_number(d, "Size", words[2], UINT64_MAX, &size) && dump_sodimm(d, offset, size);
}

/* ---- rings ---- */

/* Entries of a ring to show: those that wait, or the `wanted` that were filled last. */
typedef struct {
    uint32_t entries, head, tail; /* in entries */
    uint32_t waiting, first, count;
} ring_t;

static bool choose_entries(dsh_t *d, unsigned count, char **words, const char *syntax, ring_t *r)
{
    uint64_t wanted = 0;
    if (count > 2)
        return dsh_want(d, count - 1, 1, syntax);
    r->waiting = (r->tail + r->entries - r->head) % r->entries;
    if (count == 2 && !dsh_number(d, "Entries", words[1], r->entries, &wanted))
        return false;
    r->count = count == 2 ? (uint32_t) wanted : r->waiting;
    r->first = (r->tail + r->entries - r->count % r->entries) % r->entries;
    return true;
}

/* A register the host stores to, as last stored; a board has no way to read it back. */
static uint32_t stored(const dsh_t *d, uint32_t offset)
{
    return (uint32_t) nics_load(d->dev->ureg_store + offset);
}

bool dsh_lh_ring(dsh_t *d, unsigned count, char **words)
{
    ring_t r = {.entries = d->dev->geometry.lh_entries};
    r.head = stored(d, DNET_UREG_LH_NEXT_READ) / DNET_LH_ENTRY_BYTES % r.entries;
    r.tail =
        (uint32_t) dnet_reg_load(d->dev, DNET_UREG_LH_NEXT_WRITE) / DNET_LH_ENTRY_BYTES % r.entries;
    if (!choose_entries(d, count, words, "lh_ring [Entries]", &r))
        return false;
    printf("LH Buffer: Head %u, Tail %u of %u entries, %u waiting\n", r.head, r.tail, r.entries,
           r.waiting);
    if (r.count)
        printf("  entry  valid  complete  context   rank         tag        size     pointer\n");
    for (uint32_t i = 0, behind = 0; i < r.count; i++) {
        uint32_t at = (r.first + i) % r.entries;
        uint64_t envelope = nics_load(&d->dev->lh[at].envelope);
        uint64_t where = nics_load(&d->dev->lh[at].where);

        if (behind) {
            printf("  %5u  (data)\n", at);
            behind--;
            continue;
        }
        behind = dnet_lh_lines(where) - 1;
        printf("  %5u  %5u  %8u   0x%04x  %5u  0x%08x  %10u  0x%08x\n", at,
               (unsigned) DNET_GET(envelope, LH_VALID), (unsigned) DNET_GET(envelope, LH_COMPLETE),
               (unsigned) DNET_GET(envelope, LH_CONTEXT), (unsigned) DNET_GET(envelope, LH_RANK),
               (unsigned) DNET_GET(envelope, LH_TAG), (unsigned) DNET_GET(where, LH_SIZE),
               (unsigned) DNET_GET(where, LH_POINTER));
    }
    return true;
}

static const char *primitive_name(uint64_t code)
{
    switch (code) {
#define DNET_PRIMITIVE(name, code, family, access) \
    case code: \
        return #name;
#include "dimmnet/primitives.def"
#undef DNET_PRIMITIVE
    }
    return "?";
}

bool dsh_status_ring(dsh_t *d, unsigned count, char **words)
{
    uint32_t code = stored(d, DNET_UREG_STATUS_AREA_SIZE) & 0x7f;
    uint32_t base = stored(d, DNET_UREG_STATUS_INITIAL_ADDRESS) & 0x7ff0;
    uint32_t bytes = code && !(code & (code - 1)) ? 64 * code : 1024; /* Table A.5 */
    if (bytes > d->dev->geometry.llcm_bytes - base)
        bytes = d->dev->geometry.llcm_bytes - base;
    ring_t r = {.entries = bytes / DNET_STATUS_BYTES};
    r.head = (stored(d, DNET_UREG_STATUS_NEXT_READ) - base) / DNET_STATUS_BYTES % r.entries;
    r.tail = ((uint32_t) dnet_reg_load(d->dev, DNET_UREG_STATUS_NEXT_WRITE) - base) /
             DNET_STATUS_BYTES % r.entries;
    if (!choose_entries(d, count, words, "status_ring [Entries]", &r))
        return false;
    printf("status ring: LLCM 0x%04x, Head %u, Tail %u of %u entries, %u waiting\n", base, r.head,
           r.tail, r.entries, r.waiting);
    if (r.count)
        printf("  entry  type   from CLID  WID       bytes     address\n");
    for (uint32_t i = 0; i < r.count; i++) {
        uint32_t at = (r.first + i) % r.entries;
        const uint8_t *entry = d->dev->llcm + base + at * DNET_STATUS_BYTES;
        uint64_t lower = nics_load(entry), upper = nics_load(entry + 8);
        printf("  %5u  %-5s      0x%03x  %3u  %10u  0x%08x\n", at,
               primitive_name(DNET_GET(lower, ST_TYPE)), (unsigned) DNET_GET(lower, ST_SCLID),
               (unsigned) DNET_GET(lower, ST_SWID), (unsigned) DNET_GET(lower, ST_SIZE),
               (unsigned) DNET_GET(upper, ST_ADDRESS));
    }
    return true;
}

/* The data between Head and Tail; the first and last line of 16 bytes may hold more. */
static bool dump_waiting(dsh_t *d, uint32_t start, uint32_t size, uint32_t head, uint32_t waiting)
{
    uint32_t to_end = size - (head - start);
    uint32_t first = waiting < to_end ? waiting : to_end;
    uint32_t from = head & ~15u;
    if (waiting == 0)
        return true;
    if (!dump_sodimm(d, from, (head + first - from + 15) & ~15u))
        return false;
    return first == waiting || dump_sodimm(d, start, (waiting - first + 15) & ~15u);
}

/* The ring a sender's IPUSH packets go to (9.1, 9.2). */
bool dsh_ipush_ring(dsh_t *d, unsigned count, char **words)
{
    uint64_t lid, wid, most = UINT64_MAX;
    if (count != 4 && !dsh_want(d, count - 1, 2, "ipush_ring Lid Wid [Size]"))
        return false;
    if (!dsh_number(d, "Lid", words[1], DNET_LID_UNICAST_LAST, &lid) ||
        !dsh_number(d, "Wid", words[2], 1, &wid) ||
        (count == 4 && !dsh_number(d, "Size", words[3], UINT64_MAX, &most)))
        return false;
    uint32_t size = (stored(d, DNET_UREG_IPUSH_AREA_SIZE) & 0xffff) * 4096;
    if (size == 0)
        return dsh_fail(d, "IPUSH Area Size is 0: this process has no ring");
    uint16_t word = dnet_emu_amt_word(d->nic, d->dev->wid, (uint16_t) lid, (unsigned) wid);
    uint64_t entry = nics_load(d->dev->llcm + word * 8ul);
    uint32_t tail = (uint32_t) DNET_GET(entry, AMT_TAIL), start = tail - tail % size;
    uint32_t head = (uint32_t) DNET_GET(entry, AMT_HEAD);
    printf("IPUSH ring: AMT word 0x%03x, SO-DIMM 0x%08x to 0x%08x, Head 0x%08x, Tail 0x%08x", word,
           start, start + size - 1, head, tail);
    if (head < start || head - start >= size) {
        printf("\n");
        return dsh_fail(d, "Head lies outside the ring");
    }
    uint32_t waiting = (tail + size - head) % size;
    printf(", %u bytes waiting\n", waiting);
    return dump_waiting(d, start, size, head, waiting < most ? waiting : (uint32_t) most);
}

/* ---- registers by name ---- */

typedef struct {
    const char *name, *title;
    uint32_t offset;
    bool system, loads;
} reg_t;

static const reg_t registers[] = {
#define PAGE_UREG false
#define PAGE_SREG true
#define ACCESS_R true
#define ACCESS_W false
#define DNET_REGISTER(page, name, offset, access, reset, store, clause, title) \
    {#name, title, offset, PAGE_##page, ACCESS_##access},
#include "dimmnet/registers.def"
#undef DNET_REGISTER
};
#define REGISTERS (sizeof(registers) / sizeof(registers[0]))

static const reg_t *find_register(dsh_t *d, const char *name)
{
    for (unsigned i = 0; i < REGISTERS; i++)
        if (strcasecmp(name, registers[i].name) == 0)
            return &registers[i];
    dsh_fail(d, "no register '%.40s'; regs lists them", name);
    return NULL;
}

static void show_register(const dsh_t *d, const reg_t *r)
{
    const uint8_t *load = r->system ? d->dev->sreg_load : d->dev->ureg_load;
    const uint8_t *store = r->system ? d->dev->sreg_store : d->dev->ureg_store;
    printf("#%08" PRIx64 ": %016" PRIx64 " %c %-23s  %s\n",
           dsh_address(d, r->system ? DSH_AREA_SREG : DSH_AREA_UREG) + r->offset,
           nics_load((r->loads ? load : store) + r->offset), r->loads ? 'R' : 'W', r->name,
           r->title);
}

bool dsh_regs(dsh_t *d, unsigned count, char **words)
{
    (void) words;
    if (!dsh_want(d, count - 1, 0, "regs"))
        return false;
    for (unsigned i = 0; i < REGISTERS; i++)
        show_register(d, &registers[i]);
    return true;
}

bool dsh_reg_read(dsh_t *d, unsigned count, char **words)
{
    if (!dsh_want(d, count - 1, 1, "reg_read Name"))
        return false;
    const reg_t *r = find_register(d, words[1]);
    if (r)
        show_register(d, r);
    return r;
}

bool dsh_reg_write(dsh_t *d, unsigned count, char **words)
{
    uint64_t value;
    if (!dsh_want(d, count - 1, 2, "reg_write Name Value"))
        return false;
    const reg_t *r = find_register(d, words[1]);
    if (!r || !dsh_number(d, "Value", words[2], UINT64_MAX, &value))
        return false;
    if (r->loads)
        return dsh_fail(d, "%s can only be read", r->name);
    dsh_store(d, r->system, r->offset, value);
    return true;
}

bool dsh_reset(dsh_t *d, unsigned count, char **words)
{
    (void) words;
    if (!dsh_want(d, count - 1, 0, "reset"))
        return false;
    dsh_store(d, true, DNET_SREG_CONTROLLER_RESET, 1);
    return true;
}

bool dsh_events(dsh_t *d, unsigned count, char **words)
{
    static const char *const titles[] = {
#define DNET_EMU_EVENT(name, clause, text) text,
#include "dimmnet/events.def"
#undef DNET_EMU_EVENT
    };
    (void) words;
    if (!dsh_want(d, count - 1, 0, "events"))
        return false;
    for (unsigned e = 0; e < DNET_EMU_EVENT_COUNT; e++)
        printf("%8" PRIu64 "  %s\n", dnet_emu_events(d->nic, (dnet_emu_event_t) e), titles[e]);
    return true;
}

/* ---- packets ---- */

/* What this shell sends from now on, and the replies it gets, go to a file (docs/tracing.md). */
bool dsh_trace(dsh_t *d, unsigned count, char **words)
{
    dnet_emu_capture_t *capture = NULL;
    if (!dsh_want(d, count - 1, 1, "trace File, or trace off"))
        return false;
    if (strcmp(words[1], "off") != 0 &&
        dnet_emu_capture_open(words[1], "dsh", DNET_PACKET_MAX_BYTES, &capture) != DNET_OK)
        return false; /* logged */
    dnet_emu_capture_set(d->nic, capture);
    if (d->capture)
        dnet_emu_capture_close(d->capture);
    d->capture = capture;
    return true;
}

/* ---- nodes ---- */

bool dsh_nodes(dsh_t *d, unsigned count, char **words)
{
    (void) words;
    if (!dsh_want(d, count - 1, 0, "nodes"))
        return false;
    printf("  node     LID   CLID\n");
    for (uint32_t n = 0; n < d->nodes; n++) {
        printf("%c %4u  0x%04x  0x%03x", n == d->at ? '*' : ' ', n + 1, d->node[n].lid,
               dnet_lid_to_clid(d->node[n].lid));
        if (n == d->at)
            printf("  WID %u%s", d->dev->wid, d->look_only ? ", only to look at" : "");
        printf("\n");
    }
    return true;
}

bool dsh_node(dsh_t *d, unsigned count, char **words)
{
    uint64_t node, wid = 0;
    if (count != 3 && !dsh_want(d, count - 1, 1, "node Node [Wid]"))
        return false;
    if (!dsh_number(d, "Node", words[1], d->nodes, &node) ||
        (count == 3 && !dsh_number(d, "Wid", words[2], 1, &wid)))
        return false;
    if (node == 0)
        return dsh_fail(d, "nodes are numbered from 1");
    return dsh_take_node(d, (uint32_t) node - 1, (unsigned) wid);
}
