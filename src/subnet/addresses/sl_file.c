/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Service levels as `saquery -p` prints path records, and SL2VL tables as `smpquery sl2vl` does:
 *
 *   # SL2VL table: Lid 2
 *   #                 SL: | 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|
 *   ports: in  0, out  1: | 0| 1| 2| 3| 4| 5| 6| 7| 0| 1| 2| 3| 4| 5| 6| 7|
 */
#include "subnet/addresses/lid.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

bool dnet_sa_field(const char *line, const char *name, long *value)
{
    const char *p = line + strspn(line, " \t");
    size_t len = strlen(name);
    if (strncmp(p, name, len) != 0 || p[len] != '.')
        return false;
    *value = strtol(p + len + strspn(p + len, "."), NULL, 0);
    return true;
}

/* Columns by LID, NONE where there is none; the caller frees it. */
static int *index_lids(const dnet_tables_t *tables)
{
    int *column = dnet_subnet_alloc(65536, sizeof(int));
    for (int lid = 0; column && lid < 65536; lid++)
        column[lid] = DNET_TOPO_NONE;
    for (int x = 0; column && x < dnet_tables_columns(tables); x++)
        if (dnet_lid_of_column(tables, x))
            column[dnet_lid_of_column(tables, x)] = x;
    return column;
}

static int column_of(const int *index, long lid)
{
    return lid > 0 && lid < 65536 ? index[lid] : DNET_TOPO_NONE;
}

/*
 * Paths of one server to one LID have one service level here, whichever of its own LIDs it sends
 * from: of several that differ the last counts.
 */
static void keep_record(const dnet_tables_t *tables, const int *index, long slid, long dlid,
                        long sl, dnet_lanes_t *lanes)
{
    int a = column_of(index, slid), b = column_of(index, dlid);
    if (a == DNET_TOPO_NONE || b == DNET_TOPO_NONE || sl < 0 || sl >= DNET_SERVICE_LEVELS)
        return;
    int source = a % tables->dests;
    if (source >= tables->topo->n_hosts)
        return;
    lanes->sl[(size_t) source * lanes->columns + (size_t) b] = (uint8_t) sl;
    if (sl >= lanes->lanes)
        lanes->lanes = (int) sl + 1;
}

dnet_status_t dnet_sl_read(const dnet_tables_t *tables, const char *path, dnet_lanes_t **out)
{
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    char line[256];
    long slid = 0, dlid = 0, sl, records = 0;
    dnet_lanes_t *lanes = NULL;
    int *index = index_lids(tables);
    dnet_status_t st = index ? dnet_lanes_new(tables, true, &lanes) : DNET_ERR_NO_MEMORY;
    while (!st && fgets(line, sizeof(line), in)) {
        if (dnet_sa_field(line, "slid", &slid) || dnet_sa_field(line, "dlid", &dlid) ||
            !dnet_sa_field(line, "sl", &sl))
            continue;
        records++;
        keep_record(tables, index, slid, dlid, sl, lanes);
    }
    st = dnet_subnet_close(in, path, st);
    free(index);
    if (!st && records == 0) {
        dnet_error("subnet: %s: no path record; expected the output of 'saquery -p'", path);
        st = DNET_ERR_FORMAT;
    }
    if (st)
        dnet_lanes_free(lanes);
    else
        *out = lanes;
    return st;
}

dnet_status_t dnet_sl_write(const dnet_tables_t *tables, const dnet_lanes_t *lanes, FILE *out)
{
    const dnet_topo_t *t = tables->topo;
    for (int h = 0; h < t->n_hosts; h++)
        for (int x = 0; x < dnet_tables_columns(tables); x++) {
            size_t row = (size_t) (lanes->of_hosts ? h : t->host[h].sw);
            int sl = lanes->sl[row * lanes->columns + (size_t) x];
            if (sl == DNET_SL_NONE || !dnet_lid_of_column(tables, x))
                continue;
            fprintf(out,
                    "PathRecord dump:\n\t\tdlid....................%d\n"
                    "\t\tslid....................%d\n\t\tsl......................0x%x\n",
                    dnet_lid_of_column(tables, x), t->host[h].lid, sl);
        }
    return ferror(out) ? DNET_ERR_SYSTEM : DNET_OK;
}

/* ---- SL2VL ---- */

/* Number of the row of a pair of ports, over all switches. */
static size_t vl_row(const dnet_topo_t *t, const dnet_lanes_t *lanes, int s, int in, int out)
{
    size_t ports = (size_t) t->sw[s].ports + 1;
    return lanes->vl_start[s] / DNET_SERVICE_LEVELS + (size_t) in * ports + (size_t) out;
}

static dnet_status_t straight(const dnet_topo_t *t, dnet_lanes_t *lanes)
{
    lanes->vl_start = dnet_subnet_alloc((size_t) t->n_switches + 1, sizeof(*lanes->vl_start));
    for (int s = 0; lanes->vl_start && s < t->n_switches; s++) {
        size_t ports = (size_t) t->sw[s].ports + 1;
        lanes->vl_start[s + 1] = lanes->vl_start[s] + ports * ports * DNET_SERVICE_LEVELS;
    }
    size_t entries = lanes->vl_start ? lanes->vl_start[t->n_switches] : 0;
    lanes->vl = lanes->vl_start ? dnet_subnet_alloc(entries, 1) : NULL;
    for (size_t i = 0; lanes->vl && i < entries; i++)
        lanes->vl[i] = (uint8_t) (i % DNET_SERVICE_LEVELS);
    return lanes->vl ? DNET_OK : DNET_ERR_NO_MEMORY;
}

static int switch_by_lid(const dnet_topo_t *t, long lid)
{
    for (int s = 0; s < t->n_switches; s++)
        if (t->sw[s].lid == lid)
            return s;
    return DNET_TOPO_NONE;
}

static dnet_status_t read_ports(const dnet_topo_t *t, const char *path, int number, int s,
                                const char *line, dnet_lanes_t *lanes, bool *read)
{
    int in, out;
    const char *p = strchr(line, '|');
    if (sscanf(line, "ports: in %d, out %d:", &in, &out) != 2 || !p || in < 0 || out < 0) {
        dnet_error("subnet: %s:%d: expected 'ports: in N, out N: | VL| ...|'", path, number);
        return DNET_ERR_FORMAT;
    }
    if (s == DNET_TOPO_NONE || in > t->sw[s].ports || out > t->sw[s].ports)
        return DNET_OK; /* an adapter's, or a switch outside the topology file */
    size_t row = vl_row(t, lanes, s, in, out);
    read[row] = true;
    for (int sl = 0; sl < DNET_SERVICE_LEVELS; sl++) {
        char *end = NULL;
        long vl = p ? strtol(p + 1, &end, 10) : 0;
        if (!p || end == p + 1 || vl < 0 || vl > DNET_VL_DROP) {
            dnet_error("subnet: %s:%d: expected %d virtual lanes 0..%d", path, number,
                       DNET_SERVICE_LEVELS, DNET_VL_DROP);
            return DNET_ERR_FORMAT;
        }
        lanes->vl[row * DNET_SERVICE_LEVELS + (size_t) sl] = (uint8_t) vl;
        p = strchr(end, '|');
    }
    return DNET_OK;
}

/* Packets go from the switch itself, or from a link, to another link; a query without a port is of
 * port 0, to which none goes on. */
static void count_assumed(const dnet_topo_t *t, const bool *read, dnet_lanes_t *lanes)
{
    int unused;
    for (int s = 0; s < t->n_switches; s++)
        for (int out = 1; out <= t->sw[s].ports && !t->sw[s].down; out++) {
            if (dnet_topo_port(t, s, out, &unused) == DNET_PORT_FREE)
                continue;
            for (int in = 0; in <= t->sw[s].ports; in++)
                lanes->assumed_vl +=
                    in != out && !read[vl_row(t, lanes, s, in, out)] &&
                    (in == 0 || dnet_topo_port(t, s, in, &unused) != DNET_PORT_FREE);
        }
}

/* Lanes that the service levels in use can get. */
static void count_lanes(const dnet_topo_t *t, dnet_lanes_t *lanes)
{
    bool used[DNET_SERVICE_LEVELS] = {true};
    size_t paths = (size_t) (lanes->of_hosts ? t->n_hosts : t->n_switches) * lanes->columns;
    for (size_t i = 0; lanes->sl && i < paths; i++)
        if (lanes->sl[i] != DNET_SL_NONE)
            used[lanes->sl[i]] = true;
    for (int sl = 0; sl < DNET_SERVICE_LEVELS; sl++)
        used[sl] |= lanes->multicast >> sl & 1;
    lanes->lanes = 1;
    for (size_t i = 0; i < lanes->vl_start[t->n_switches]; i++)
        if (lanes->vl[i] != DNET_VL_DROP && used[i % DNET_SERVICE_LEVELS] &&
            lanes->vl[i] >= lanes->lanes)
            lanes->lanes = lanes->vl[i] + 1;
    for (size_t i = 0; i < lanes->vl_start[t->n_switches]; i++)
        if (!used[i % DNET_SERVICE_LEVELS])
            lanes->vl[i] = DNET_VL_DROP; /* no path has it */
}

dnet_status_t dnet_sl2vl_read(const dnet_topo_t *t, const char *path, dnet_lanes_t *lanes)
{
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    dnet_status_t st = straight(t, lanes);
    size_t pairs = st ? 0 : lanes->vl_start[t->n_switches] / DNET_SERVICE_LEVELS;
    bool *read = dnet_subnet_alloc(pairs, sizeof(*read));
    if (!read)
        st = DNET_ERR_NO_MEMORY;
    int s = DNET_TOPO_NONE;
    long rows = 0;
    char line[256];
    for (int number = 1; !st && fgets(line, sizeof(line), in); number++) {
        const char *lid = strstr(line, "SL2VL table: Lid ");
        if (lid)
            s = switch_by_lid(t, strtol(lid + 17, NULL, 10));
        else if (strncmp(line, "ports:", 6) == 0) {
            st = read_ports(t, path, number, s, line, lanes, read);
            rows++;
        }
    }
    st = dnet_subnet_close(in, path, st);
    if (!st && rows == 0) {
        dnet_error("subnet: %s: no SL2VL table; expected outputs of 'smpquery sl2vl LID PORT'",
                   path);
        st = DNET_ERR_FORMAT;
    }
    if (!st) {
        count_assumed(t, read, lanes);
        count_lanes(t, lanes);
    }
    free(read);
    return st;
}
