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

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

dnet_status_t dnet_lid_write_guid2lid(const dnet_topo_t *t, FILE *out)
{
    for (int h = 0; h < t->n_hosts; h++)
        fprintf(out, "0x%016" PRIx64 " 0x%04x 0x%04x\n\n", t->host[h].guid, t->host[h].lid,
                t->host[h].lid);
    for (int s = 0; s < t->n_switches; s++)
        fprintf(out, "0x%016" PRIx64 " 0x%04x 0x%04x\n\n", t->sw[s].guid, t->sw[s].lid,
                t->sw[s].lid);
    return ferror(out) ? DNET_ERR_SYSTEM : DNET_OK;
}

dnet_status_t dnet_lft_write(const dnet_topo_t *t, const dnet_tables_t *tables, FILE *out)
{
    int top = dnet_fdb_blocks(t) * DNET_LID_BLOCK - 1;
    for (int s = 0; s < t->n_switches; s++) {
        const uint16_t *row = dnet_tables_row(tables, s);
        if (t->sw[s].down)
            continue;
        fprintf(out, "Unicast lids [0x0-0x%x] of switch Lid %d guid 0x%016" PRIx64 " (%s):\n", top,
                t->sw[s].lid, t->sw[s].guid, t->sw[s].name);
        for (int d = 0; d < tables->dests; d++) {
            bool host = d < t->n_hosts;
            if (row[d] == DNET_TABLE_NONE || !dnet_lid_of(t, d))
                continue;
            fprintf(out, "0x%04x %03d : (%s portguid 0x%016" PRIx64 ": '%s')\n", dnet_lid_of(t, d),
                    row[d], host ? "Channel Adapter" : "Switch",
                    host ? t->host[d].guid : t->sw[d - t->n_hosts].guid,
                    host ? t->host[d].name : t->sw[d - t->n_hosts].name);
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
        g[d] = (guid_entry_t){d < t->n_hosts ? t->host[d].guid : t->sw[d - t->n_hosts].guid, d};
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

typedef struct lft_reader {
    dnet_topo_t *t;
    const guid_entry_t *index;
    dnet_tables_t *tables;
    const char *path;
    int line, sw, switches;
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
        return DNET_OK; /* an entry for nobody, which a switch may keep from earlier */
    int d = find_guid(r->t, r->index, guid + 9);
    if (d == DNET_TOPO_NONE)
        return DNET_OK; /* an end port outside the topology file */
    dnet_tables_row(r->tables, r->sw)[d] = (uint16_t) port;
    if (d < r->t->n_hosts)
        r->t->host[d].lid = (uint16_t) lid;
    else
        r->t->sw[d - r->t->n_hosts].lid = (uint16_t) lid;
    return DNET_OK;
}

dnet_status_t dnet_lft_read(dnet_topo_t *t, const char *path, dnet_tables_t **out)
{
    lft_reader_t r = {.t = t, .path = path, .sw = DNET_TOPO_NONE};
    FILE *in = fopen(path, "r");
    if (!in) {
        dnet_error("subnet: cannot open %s: %s", path, strerror(errno));
        return DNET_ERR_SYSTEM;
    }
    guid_entry_t *index = index_guids(t);
    dnet_status_t st = index ? dnet_tables_new(t, &r.tables) : DNET_ERR_NO_MEMORY;
    char line[512];
    r.index = index;
    while (!st && fgets(line, sizeof(line), in)) {
        const char *p = line + strspn(line, " \t");
        r.line++;
        if (strncmp(p, "Unicast lids", 12) == 0)
            st = read_switch(&r, p);
        else if (strncmp(p, "0x", 2) == 0)
            st = read_entry(&r, p);
    }
    if (!st && r.switches == 0) {
        dnet_error("subnet: %s: no 'Unicast lids ... of switch' line; expected a dump of "
                   "forwarding tables",
                   path);
        st = DNET_ERR_FORMAT;
    }
    fclose(in);
    free(index);
    if (st)
        dnet_tables_free(r.tables);
    else
        *out = r.tables;
    return st;
}

static int dest_by_lid(const dnet_topo_t *t, long lid)
{
    for (int d = 0; d < dnet_topo_dests(t); d++)
        if (dnet_lid_of(t, d) == lid)
            return d;
    return DNET_TOPO_NONE;
}

/* Value behind the dots of "slid....................1" if the line names the field. */
static bool field(const char *line, const char *name, long *value)
{
    const char *p = line + strspn(line, " \t");
    size_t len = strlen(name);
    if (strncmp(p, name, len) != 0 || p[len] != '.')
        return false;
    *value = strtol(p + len + strspn(p + len, "."), NULL, 0);
    return true;
}

dnet_status_t dnet_sl_read(const dnet_topo_t *t, const char *path, uint8_t **lane, int *lanes)
{
    FILE *in = fopen(path, "r");
    if (!in) {
        dnet_error("subnet: cannot open %s: %s", path, strerror(errno));
        return DNET_ERR_SYSTEM;
    }
    size_t dests = (size_t) dnet_topo_dests(t);
    char line[256];
    long slid = 0, dlid = 0, sl, records = 0;
    *lanes = 1;
    *lane = dnet_subnet_alloc((size_t) t->n_switches * dests, 1);
    while (*lane && fgets(line, sizeof(line), in)) {
        if (field(line, "slid", &slid) || field(line, "dlid", &dlid) || !field(line, "sl", &sl))
            continue;
        int a = dest_by_lid(t, slid), b = dest_by_lid(t, dlid);
        records++;
        if (a == DNET_TOPO_NONE || a >= t->n_hosts || b == DNET_TOPO_NONE || sl < 0 || sl > 15)
            continue;
        (*lane)[(size_t) t->host[a].sw * dests + (size_t) b] = (uint8_t) sl;
        if (sl >= *lanes)
            *lanes = (int) sl + 1;
    }
    fclose(in);
    if (!*lane)
        return DNET_ERR_NO_MEMORY;
    if (records > 0)
        return DNET_OK;
    dnet_error("subnet: %s: no path record; expected the output of 'saquery -p'", path);
    free(*lane);
    *lane = NULL;
    return DNET_ERR_FORMAT;
}
