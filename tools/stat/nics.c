/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-stat --nics: the receiving side of running processes as their NICs show it: rings, their
 * owners, how full they are, how often each sender has been stopped and which wait now.  NICs are
 * mapped read-only.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "tools/common/nics.h"
#include "tools/stat/stat.h"

#define SENDERS (1u << 13) /* {CLID, WID} */

/* What a process knows of one sender. */
typedef struct {
    uint32_t stops, resends; /* in the flow rings; they keep the newest entries */
    uint32_t ring;
    bool stopped, held;
} sender_t;

typedef struct {
    const dnet_device_t *dev;
    dnet_emu_nic_t *nic;
    int32_t process;
    uint32_t lh_used, lh_entries;
    uint32_t ring_bytes, rings;
    uint64_t mode;
    bool hold_all;
    sender_t sender[SENDERS];
} look_t;

static uint64_t stored(const look_t *l, uint32_t offset)
{
    return nics_load(l->dev->ureg_store + offset);
}

static uint16_t lid_of(uint32_t index)
{
    return dnet_clid_to_lid((uint16_t) (index >> 1));
}

static bool bit_of(const look_t *l, uint64_t table, uint32_t index)
{
    return l->dev->llcm[table + index / 8] >> index % 8 & 1;
}

/* ---- looking ---- */

static const dnet_flow_entry_t *entry_at(const look_t *l, uint32_t number)
{
    return &l->dev->flow[number & (l->dev->geometry.flow_entries - 1)];
}

/* Number of the flow ring's next entry: all before it are there, as many as the ring has. */
static uint32_t end_of_flow(const look_t *l, uint32_t read)
{
    uint32_t entries = l->dev->geometry.flow_entries, end = read;
    while (end - read < entries &&
           DNET_GET(nics_load(&entry_at(l, end)->word), FLOW_VALID) == !(end & entries))
        end++;
    return end;
}

/* Entries of the flow ring that are still there: those the process has read, then those it has not.
 */
static void look_at_flow(look_t *l)
{
    uint32_t entries = l->dev->geometry.flow_entries;
    uint32_t read = (uint32_t) stored(l, DNET_UREG_FLOW_NEXT_READ), end = end_of_flow(l, read);
    for (uint32_t i = end > entries ? end - entries : 0; i != end; i++) {
        uint64_t word = nics_load(&entry_at(l, i)->word), arg = nics_load(&entry_at(l, i)->arg);
        uint16_t lid = (uint16_t) DNET_GET(word, FLOW_LID);
        sender_t *s =
            &l->sender[dnet_hold_index(lid, (unsigned) DNET_GET(word, FLOW_WID)) % SENDERS];
        if (DNET_GET(word, FLOW_KIND) == DNET_FLOW_STOPPED) {
            s->stops++;
            s->stopped |= i - read < entries; /* its process has not noted it yet */
        }
        if (DNET_GET(word, FLOW_KIND) == DNET_FLOW_RESEND && !DNET_GET(arg, RS_MORE) &&
            DNET_GET(arg, RS_CREDITS))
            s->resends++;
    }
}

static void look_at_senders(look_t *l)
{
    bool holds = DNET_GET(l->mode, FM_MODE) == DNET_FLOW_MODE_HOLD;
    uint32_t held = 0;
    for (uint32_t i = 2; i < SENDERS; i++) {
        sender_t *s = &l->sender[i];
        uint32_t word = dnet_emu_amt_word(l->nic, l->dev->wid, lid_of(i), i & 1);
        s->ring = word / DNET_DRV_RING_WORDS;
        s->stopped = bit_of(l, DNET_DRV_STOP_TABLE, i);
        s->held = holds && bit_of(l, DNET_DRV_HOLD_TABLE, i);
        held += s->held;
        if (s->ring >= l->rings)
            l->rings = s->ring + 1;
    }
    l->hold_all = held == SENDERS - 2;
}

static void look(look_t *l)
{
    uint32_t bytes = l->dev->geometry.lh_entries * DNET_LH_ENTRY_BYTES;
    uint32_t tail = (uint32_t) nics_load(l->dev->ureg_load + DNET_UREG_LH_NEXT_WRITE);
    uint32_t head = (uint32_t) stored(l, DNET_UREG_LH_NEXT_READ);
    l->lh_entries = l->dev->geometry.lh_entries - 1;
    l->lh_used = ((tail - head) & (bytes - 1)) / DNET_LH_ENTRY_BYTES;
    l->ring_bytes = (uint32_t) (stored(l, DNET_UREG_IPUSH_AREA_SIZE) & 0xffff) * 4096;
    l->rings = 1;
    l->mode = stored(l, DNET_UREG_FLOW_MODE);
    look_at_senders(l);
    look_at_flow(l);
}

static uint32_t ring_used(const look_t *l, uint32_t ring)
{
    uint64_t entry = nics_load(l->dev->llcm + (size_t) ring * DNET_DRV_RING_WORDS * 8);
    uint32_t used = (uint32_t) (DNET_GET(entry, AMT_TAIL) - DNET_GET(entry, AMT_HEAD));
    return l->ring_bytes ? used & (l->ring_bytes - 1) : 0;
}

/* @return index of the sender; 0: none */
static uint32_t owner_of(const look_t *l, uint32_t ring)
{
    for (uint32_t i = 2; ring && i < SENDERS; i++)
        if (l->sender[i].ring == ring)
            return i;
    return 0;
}

static bool worth_showing(const look_t *l, const sender_t *s)
{
    return s->stops || s->resends || s->ring || s->stopped || (s->held && !l->hold_all);
}

/* ---- showing ---- */

static const char *mode_name(const look_t *l)
{
    static const char *const names[] = {"stall", "stop", "paused", "hold", "retry"};
    uint64_t mode = DNET_GET(l->mode, FM_MODE);
    return mode < 5 ? names[mode] : "unknown";
}

static void show_table(const look_t *l, uint16_t lid)
{
    char owner[32] = "all others";
    printf("NIC 0x%04x WID %u, process %d: %u of %u LH entries in use, flow mode %s%s\n", lid,
           l->dev->wid, l->process, l->lh_used, l->lh_entries, mode_name(l),
           l->hold_all ? ", all senders held" : "");
    printf("  ring  owner           bytes    in use\n");
    for (uint32_t r = 0; r < l->rings; r++) {
        uint32_t i = owner_of(l, r);
        if (r && !i)
            continue;
        if (r)
            snprintf(owner, sizeof(owner), "0x%04x WID %u", lid_of(i), i & 1);
        printf("  %4u  %-12s %8u  %8u\n", r, owner, l->ring_bytes, ring_used(l, r));
    }
    bool heading = false;
    for (uint32_t i = 2; i < SENDERS; i++) {
        const sender_t *s = &l->sender[i];
        if (!worth_showing(l, s))
            continue;
        if (!heading)
            printf("  peer          ring  stopped here  resends from it  now\n");
        heading = true;
        printf("  0x%04x WID %u  %4u  %12u  %15u  %s\n", lid_of(i), i & 1, s->ring, s->stops,
               s->resends,
               s->stopped ? "stopped"
               : s->held  ? "held"
                          : "-");
    }
}

static void show_json(const look_t *l, uint16_t lid)
{
    const char *comma = "";
    printf("  {\"lid\": %u, \"wid\": %u, \"process\": %d, \"lh_used\": %u, \"lh_entries\": %u, "
           "\"flow_mode\": \"%s\", \"hold_all\": %s,\n   \"rings\": [",
           lid, l->dev->wid, l->process, l->lh_used, l->lh_entries, mode_name(l),
           l->hold_all ? "true" : "false");
    for (uint32_t r = 0; r < l->rings; r++) {
        uint32_t i = owner_of(l, r);
        if (r && !i)
            continue;
        printf("%s{\"ring\": %u, \"bytes\": %u, \"used\": %u", comma, r, l->ring_bytes,
               ring_used(l, r));
        if (r)
            printf(", \"owner\": {\"lid\": %u, \"wid\": %u}", lid_of(i), i & 1);
        printf("}");
        comma = ", ";
    }
    printf("],\n   \"peers\": [");
    comma = "";
    for (uint32_t i = 2; i < SENDERS; i++) {
        const sender_t *s = &l->sender[i];
        if (!worth_showing(l, s))
            continue;
        printf("%s{\"lid\": %u, \"wid\": %u, \"ring\": %u, \"stops\": %u, \"resends\": %u, "
               "\"stopped\": %s, \"held\": %s}",
               comma, lid_of(i), i & 1, s->ring, s->stops, s->resends,
               s->stopped ? "true" : "false", s->held ? "true" : "false");
        comma = ", ";
    }
    printf("]}");
}

/* @return processes shown */
static unsigned show_nic(const nics_nic_t *n, bool json, unsigned shown)
{
    dnet_emu_nic_t *nic;
    dnet_device_t *dev;
    look_t *l = malloc(sizeof(*l));
    if (!l || dnet_emu_watch(&n->at, &nic) != DNET_OK) {
        free(l);
        return shown;
    }
    for (unsigned w = 0; w < DNET_PROCESSES_PER_NIC; w++) {
        if (!n->is.process[w] || dnet_emu_open(nic, w, true, &dev) != DNET_OK)
            continue;
        *l = (look_t){.dev = dev, .nic = nic, .process = n->is.process[w]};
        if (dev->flow) {
            look(l);
            printf("%s", json && shown ? ",\n" : "");
            (json ? show_json : show_table)(l, n->is.lid);
            shown++;
        }
        dev->ops->close(dev);
    }
    dnet_emu_detach(nic);
    free(l);
    return shown;
}

unsigned stat_nics(const nics_t *nics, bool json)
{
    unsigned shown = 0;
    printf("%s", json ? "[\n" : "");
    for (uint32_t i = 0; i < nics->count; i++)
        shown = show_nic(&nics->nic[i], json, shown);
    printf("%s", json ? "\n]\n" : "");
    return shown;
}
