/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Forwarding tables, addresses and service levels as OpenSM and the diagnostic tools write and read
 * them:
 *
 *   Unicast lids [0x0-0x24] of switch Lid 7 guid 0x0000000000200004 (S00005):
 *   0x0001 003 : (Channel Adapter portguid 0x0000000000100001: 'H00001')
 *
 * dump_fts puts a header line between the two and OpenSM's own dump a '#' for the ':('.
 */
#include "subnet/addresses/lid.h"

#include "common/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static uint64_t guid_of(const dnet_topo_t *t, int d)
{
    return d < t->n_hosts ? t->host[d].guid : t->sw[d - t->n_hosts].guid;
}

dnet_status_t dnet_lid_write_guid2lid(const dnet_topo_t *t, FILE *out)
{
    for (int d = 0; d < dnet_topo_dests(t); d++)
        if (dnet_lid_of(t, d))
            fprintf(out, "0x%016" PRIx64 " 0x%04x 0x%04x\n\n", guid_of(t, d), dnet_lid_of(t, d),
                    dnet_lid_of(t, d) + dnet_topo_lids(t, d) - 1);
    return ferror(out) ? DNET_ERR_SYSTEM : DNET_OK;
}

dnet_status_t dnet_lft_check(const dnet_tables_t *tables)
{
    const dnet_topo_t *t = tables->topo;
    for (int s = 0; s < t->n_switches; s++)
        for (int x = 0; x < dnet_tables_columns(tables) && t->sw[s].ports >= DNET_FDB_DROP; x++) {
            int port = dnet_tables_row(tables, s)[x];
            if (port == DNET_TABLE_NONE || port < DNET_FDB_DROP)
                continue;
            dnet_error("subnet: %s: tables of %s lead to port %d; InfiniBand's ports end at %d",
                       t->name, t->sw[s].name, port, DNET_FDB_DROP - 1);
            return DNET_ERR_LIMIT;
        }
    return DNET_OK;
}

dnet_status_t dnet_lft_write(const dnet_topo_t *t, const dnet_tables_t *tables, FILE *out)
{
    int top = dnet_fdb_blocks(t) * DNET_LID_BLOCK - 1;
    dnet_status_t st = dnet_lft_check(tables);
    if (st)
        return st;
    for (int s = 0; s < t->n_switches; s++) {
        const uint16_t *row = dnet_tables_row(tables, s);
        if (t->sw[s].down)
            continue;
        fprintf(out, "Unicast lids [0x0-0x%x] of switch Lid %d guid 0x%016" PRIx64 " (%s):\n", top,
                t->sw[s].lid, t->sw[s].guid, t->sw[s].name);
        for (int x = 0; x < dnet_tables_columns(tables); x++) {
            int d = x % tables->dests;
            bool host = d < t->n_hosts;
            if (row[x] == DNET_TABLE_NONE || !dnet_lid_of_column(tables, x))
                continue;
            fprintf(out, "0x%04x %03d : (%s portguid 0x%016" PRIx64 ": '%s')\n",
                    dnet_lid_of_column(tables, x), row[x], host ? "Channel Adapter" : "Switch",
                    guid_of(t, d), dnet_topo_dest_name(t, d));
        }
    }
    return ferror(out) ? DNET_ERR_SYSTEM : DNET_OK;
}

/* Destinations by GUID, for binary search. */
typedef struct guid_entry {
    uint64_t guid;
    int dest;
} guid_entry_t;

static int by_guid(const void *a, const void *b)
{
    const guid_entry_t *x = a, *y = b;
    return (x->guid > y->guid) - (x->guid < y->guid);
}

static guid_entry_t *index_guids(const dnet_topo_t *t)
{
    guid_entry_t *g = dnet_subnet_alloc((size_t) dnet_topo_dests(t), sizeof(*g));
    for (int d = 0; g && d < dnet_topo_dests(t); d++)
        g[d] = (guid_entry_t){guid_of(t, d), d};
    if (g)
        qsort(g, (size_t) dnet_topo_dests(t), sizeof(*g), by_guid);
    return g;
}

static int find_guid(const dnet_topo_t *t, const guid_entry_t *index, const char *text)
{
    guid_entry_t key = {strtoull(text, NULL, 16), 0};
    const guid_entry_t *e =
        bsearch(&key, index, (size_t) dnet_topo_dests(t), sizeof(*index), by_guid);
    return e ? e->dest : DNET_TOPO_NONE;
}

/* One entry of the file. */
typedef struct entry {
    int sw, dest;
    uint16_t lid, port;
} entry_t;

typedef struct lft_reader {
    dnet_topo_t *t;
    const guid_entry_t *index;
    const char *path;
    int line, sw, switches;
    entry_t *entry;
    size_t entries, room;
    int *owner; /* [LID]: destination, NONE */
    dnet_lid_faults_t faults;
} lft_reader_t;

static dnet_status_t read_switch(lft_reader_t *r, const char *text)
{
    const char *guid = strstr(text, " guid ");
    int d = guid ? find_guid(r->t, r->index, guid + 6) : DNET_TOPO_NONE;
    if (d < r->t->n_hosts) {
        dnet_error("subnet: %s:%d: this switch is not in %s", r->path, r->line, r->t->name);
        return DNET_ERR_FORMAT;
    }
    r->sw = d - r->t->n_hosts;
    r->switches++;
    return DNET_OK;
}

static dnet_status_t keep_entry(lft_reader_t *r, int dest, long lid, long port)
{
    if (r->entries == r->room) {
        size_t room = r->room ? 2 * r->room : 4096;
        entry_t *more = realloc(r->entry, room * sizeof(*more));
        if (!more) {
            dnet_error("subnet: %s: no memory for %zu entries", r->path, room);
            return DNET_ERR_NO_MEMORY;
        }
        r->entry = more;
        r->room = room;
    }
    r->entry[r->entries++] = (entry_t){r->sw, dest, (uint16_t) lid, (uint16_t) port};
    return DNET_OK;
}

/* A LID belongs to one end port; if the file says two, its packets may go to either. */
static void claim(lft_reader_t *r, int dest, long lid)
{
    int owner = r->owner[lid];
    if (owner == DNET_TOPO_NONE)
        r->owner[lid] = dest;
    if (owner == DNET_TOPO_NONE || owner == dest)
        return;
    if (r->faults.duplicates++ == 0) {
        r->faults.duplicate_lid = (uint16_t) lid;
        r->faults.duplicate_dest[0] = owner;
        r->faults.duplicate_dest[1] = dest;
    }
}

static dnet_status_t read_entry(lft_reader_t *r, const char *text)
{
    char *end;
    long lid = strtol(text, &end, 16), port = strtol(end, &end, 10);
    const char *guid = strstr(end, "portguid ");
    if (r->sw == DNET_TOPO_NONE) {
        dnet_error("subnet: %s:%d: an entry before the first switch", r->path, r->line);
        return DNET_ERR_FORMAT;
    }
    if (lid < 1 || lid > DNET_LID_UNICAST_MAX || port < 0 || port > 255) {
        dnet_error("subnet: %s:%d: expected 'LID PORT' with a unicast LID and a port 0..255",
                   r->path, r->line);
        return DNET_ERR_FORMAT;
    }
    if (!guid || port == DNET_FDB_DROP)
        return DNET_OK; /* a LID without an end port, which a switch may keep from earlier */
    int d = find_guid(r->t, r->index, guid + 9);
    if (d == DNET_TOPO_NONE)
        return DNET_OK; /* an end port outside the topology file */
    claim(r, d, lid);
    return keep_entry(r, d, lid, port);
}

static void set_lids(dnet_topo_t *t, int d, uint16_t base, int lmc)
{
    if (d < t->n_hosts) {
        t->host[d].lid = base;
        t->host[d].lmc = (uint8_t) lmc;
    } else {
        t->sw[d - t->n_hosts].lid = base;
        t->sw[d - t->n_hosts].lmc = (uint8_t) lmc;
    }
}

/* The block that the topology file states for a destination.  @return false: it states none, or
 * the dump has none of these LIDs for it */
static bool stated_block(const lft_reader_t *r, int d, int *base_p, int *lmc_p)
{
    const dnet_topo_t *t = r->t;
    bool host = d < t->n_hosts, used = false;
    *base_p = host ? t->host[d].stated_lid : t->sw[d - t->n_hosts].stated_lid;
    *lmc_p = host ? t->host[d].stated_lmc : t->sw[d - t->n_hosts].stated_lmc;
    for (int lid = *base_p; *base_p && lid < *base_p + (1 << *lmc_p); lid++)
        used |= lid <= DNET_LID_UNICAST_MAX && r->owner[lid] == d;
    return used;
}

/*
 * Base LID and LMC of every destination.  2^LMC LIDs start at a multiple of 2^LMC; what the file
 * names for an end port fills such a block, unless some of it is stale, or no switch has an entry
 * for some.  Then the block counts that the topology file states, or else the LID that most
 * switches have.
 */
static dnet_status_t find_lids(lft_reader_t *r)
{
    const dnet_topo_t *t = r->t;
    int dests = dnet_topo_dests(t);
    int *uses = dnet_subnet_alloc(DNET_LID_UNICAST_MAX + 1, sizeof(int));
    int *low = dnet_subnet_alloc((size_t) dests, sizeof(int));
    int *high = dnet_subnet_alloc((size_t) dests, sizeof(int));
    int *found = dnet_subnet_alloc((size_t) dests, sizeof(int));
    int *most = dnet_subnet_alloc((size_t) dests, sizeof(int));
    bool good = uses && low && high && found && most;
    for (size_t i = 0; good && i < r->entries; i++)
        uses[r->entry[i].lid] += r->owner[r->entry[i].lid] == r->entry[i].dest;
    for (int lid = 1; good && lid <= DNET_LID_UNICAST_MAX; lid++) {
        int d = r->owner[lid];
        if (d == DNET_TOPO_NONE)
            continue;
        low[d] = low[d] ? low[d] : lid;
        high[d] = lid;
        found[d]++;
        most[d] = uses[lid] > uses[most[d]] ? lid : most[d];
    }
    for (int d = 0; good && d < dests; d++) {
        int lmc = 0, base, stated_lmc;
        while (high[d] - low[d] >= 1 << lmc)
            lmc++;
        if (!found[d])
            continue;
        bool whole = found[d] == 1 << lmc && low[d] % (1 << lmc) == 0 && lmc <= DNET_LMC_MAX;
        if (stated_block(r, d, &base, &stated_lmc) && !(whole && lmc >= stated_lmc))
            set_lids(r->t, d, (uint16_t) base, stated_lmc);
        else if (whole)
            set_lids(r->t, d, (uint16_t) low[d], lmc);
        else
            set_lids(r->t, d, (uint16_t) most[d], 0);
    }
    free(uses);
    free(low);
    free(high);
    free(found);
    free(most);
    return good ? DNET_OK : DNET_ERR_NO_MEMORY;
}

/* The next dump that is read may say others of the same end ports. */
static dnet_status_t keep_lids(dnet_tables_t *tables)
{
    int columns = dnet_tables_columns(tables);
    uint16_t *lid = dnet_subnet_alloc((size_t) columns, sizeof(*lid));
    if (!lid)
        return DNET_ERR_NO_MEMORY;
    for (int x = 0; x < columns; x++)
        lid[x] = dnet_lid_of_column(tables, x);
    tables->lid = lid;
    return DNET_OK;
}

static dnet_status_t fill_tables(lft_reader_t *r, dnet_tables_t **out)
{
    dnet_status_t st = find_lids(r);
    if (!st)
        st = dnet_tables_new(r->t, out);
    if (!st)
        st = keep_lids(*out);
    for (size_t i = 0; i < r->entries && !st; i++) {
        const entry_t *e = &r->entry[i];
        int plane = e->lid - dnet_lid_of(r->t, e->dest);
        if (plane >= 0 && plane < dnet_topo_lids(r->t, e->dest))
            dnet_tables_row(*out, e->sw)[plane * (*out)->dests + e->dest] = e->port;
    }
    for (int lid = 1; lid <= DNET_LID_UNICAST_MAX && !st; lid++) {
        int d = r->owner[lid], plane = d == DNET_TOPO_NONE ? 0 : lid - dnet_lid_of(r->t, d);
        if (d == DNET_TOPO_NONE || (plane >= 0 && plane < dnet_topo_lids(r->t, d)))
            continue;
        if (r->faults.stale++ == 0) {
            r->faults.stale_lid = (uint16_t) lid;
            r->faults.stale_dest = d;
        }
    }
    return st;
}

static dnet_status_t read_lines(lft_reader_t *r, FILE *in)
{
    dnet_status_t st = DNET_OK;
    char line[512];
    while (!st && fgets(line, sizeof(line), in)) {
        const char *p = line + strspn(line, " \t");
        r->line++;
        if (strncmp(p, "Unicast lids", 12) == 0)
            st = read_switch(r, p);
        else if (strncmp(p, "0x", 2) == 0)
            st = read_entry(r, p);
    }
    return st;
}

dnet_status_t dnet_lft_read(dnet_topo_t *t, const char *path, dnet_tables_t **out,
                            dnet_lid_faults_t *faults)
{
    lft_reader_t r = {.t = t, .path = path, .sw = DNET_TOPO_NONE};
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    guid_entry_t *index = index_guids(t);
    r.owner = dnet_subnet_alloc(DNET_LID_UNICAST_MAX + 1, sizeof(int));
    r.index = index;
    dnet_status_t st = index && r.owner ? DNET_OK : DNET_ERR_NO_MEMORY;
    for (int lid = 0; !st && lid <= DNET_LID_UNICAST_MAX; lid++)
        r.owner[lid] = DNET_TOPO_NONE;
    if (!st)
        st = read_lines(&r, in);
    st = dnet_subnet_close(in, path, st);
    if (!st && r.switches == 0) {
        dnet_error("subnet: %s: no 'Unicast lids ... of switch' line; expected a dump of "
                   "forwarding tables",
                   path);
        st = DNET_ERR_FORMAT;
    }
    if (!st)
        st = fill_tables(&r, out);
    if (faults)
        *faults = r.faults;
    free(index);
    free(r.owner);
    free(r.entry);
    return st;
}
