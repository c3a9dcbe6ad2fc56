/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multicast forwarding tables as `dump_fts -M` prints them, and groups as `saquery -g` does:
 *
 *   Multicast mlids [0xc000-0xc3ff] of switch Lid 7 guid 0x0000000000200004 (S00005):
 *        Ports: 0 1 2 3 4
 *    MLid
 *   0xc000        x   x
 */
#include "subnet/addresses/lid.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

#define MARKS_AT 12 /* column of port 0's mark; each port has two */

static dnet_status_t find_switch(const dnet_topo_t *t, const char *path, int number,
                                 const char *text, int *sw)
{
    char guid[32] = "";
    const char *p = strstr(text, " guid ");
    if (p)
        sscanf(p + 6, "%31s", guid);
    *sw = guid[0] ? dnet_topo_find_switch(t, guid) : DNET_TOPO_NONE;
    if (*sw != DNET_TOPO_NONE)
        return DNET_OK;
    dnet_error("subnet: %s:%d: this switch is not in %s", path, number, t->name);
    return DNET_ERR_FORMAT;
}

static dnet_status_t read_marks(dnet_mcast_t *m, const char *path, int number, int sw,
                                const char *line)
{
    long mlid = strtol(line, NULL, 16);
    size_t len = strcspn(line, "\r\n");
    if (sw == DNET_TOPO_NONE) {
        dnet_error("subnet: %s:%d: a group before the first switch", path, number);
        return DNET_ERR_FORMAT;
    }
    if (mlid < DNET_MLID_FIRST || mlid > DNET_MLID_LAST) {
        dnet_error("subnet: %s:%d: expected a multicast LID from 0x%x to 0x%x", path, number,
                   DNET_MLID_FIRST, DNET_MLID_LAST);
        return DNET_ERR_FORMAT;
    }
    int group = dnet_mcast_group(m, (uint16_t) mlid), last = m->topo->sw[sw].ports;
    if (group == DNET_TOPO_NONE)
        return DNET_ERR_NO_MEMORY;
    if (last >= 64 * DNET_MCAST_WORDS)
        last = 64 * DNET_MCAST_WORDS - 1;
    for (size_t i = strcspn(line, " \t\r\n"); i < len; i++) {
        if (line[i] == ' ')
            continue;
        int port = (int) (i - MARKS_AT) / 2;
        if (line[i] != 'x' || i < MARKS_AT || (i - MARKS_AT) % 2 || port > last) {
            dnet_error("subnet: %s:%d: expected an x under each port of 0..%d that has one", path,
                       number, last);
            return DNET_ERR_FORMAT;
        }
        dnet_mcast_add(m, group, sw, port);
    }
    return DNET_OK;
}

dnet_status_t dnet_mft_read(const dnet_topo_t *t, const char *path, dnet_mcast_t **out)
{
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    char line[1024];
    int sw = DNET_TOPO_NONE;
    dnet_mcast_t *m = NULL;
    dnet_status_t st = dnet_mcast_new(t, &m);
    for (int number = 1; !st && fgets(line, sizeof(line), in); number++) {
        if (strncmp(line, "Multicast mlids", 15) == 0)
            st = find_switch(t, path, number, line, &sw);
        else if (strncmp(line, "0x", 2) == 0)
            st = read_marks(m, path, number, sw, line);
    }
    st = dnet_subnet_close(in, path, st);
    if (!st && sw == DNET_TOPO_NONE) {
        dnet_error("subnet: %s: no 'Multicast mlids ... of switch' line; expected the output of "
                   "'dump_fts -M'",
                   path);
        st = DNET_ERR_FORMAT;
    }
    if (st)
        dnet_mcast_free(m);
    else
        *out = m;
    return st;
}

dnet_status_t dnet_mcast_read_levels(dnet_mcast_t *m, const char *path)
{
    FILE *in = dnet_subnet_open(path);
    if (!in)
        return DNET_ERR_SYSTEM;
    char line[256];
    long mlid = 0, level, records = 0;
    dnet_status_t st = DNET_OK;
    while (fgets(line, sizeof(line), in)) {
        if (dnet_sa_field(line, "Mlid", &mlid) || !dnet_sa_field(line, "SL", &level))
            continue;
        records++;
        for (int g = 0; g < m->groups && level >= 0 && level < DNET_SERVICE_LEVELS; g++)
            if (m->mlid[g] == mlid)
                m->levels[g] |= (uint16_t) (1u << level);
    }
    st = dnet_subnet_close(in, path, st);
    if (st || records)
        return st;
    dnet_error("subnet: %s: no multicast group; expected the output of 'saquery -g'", path);
    return DNET_ERR_FORMAT;
}
