/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multicast forwarding tables (multicast.h).
 */
#include "subnet/routing/multicast.h"

#include "common/log.h"

#include <stdlib.h>
#include <string.h>

dnet_status_t dnet_mcast_new(const dnet_topo_t *t, dnet_mcast_t **out)
{
    dnet_mcast_t *m = dnet_subnet_alloc(1, sizeof(*m));
    if (!m)
        return DNET_ERR_NO_MEMORY;
    m->topo = t;
    *out = m;
    return DNET_OK;
}

void dnet_mcast_free(dnet_mcast_t *m)
{
    if (!m)
        return;
    free(m->mlid);
    free(m->levels);
    free(m->ports);
    free(m);
}

static bool grow(dnet_mcast_t *m)
{
    size_t room = m->room ? 2 * (size_t) m->room : 4;
    size_t words = (size_t) m->topo->n_switches * DNET_MCAST_WORDS;
    uint16_t *mlid = realloc(m->mlid, room * sizeof(*mlid));
    m->mlid = mlid ? mlid : m->mlid;
    uint16_t *levels = realloc(m->levels, room * sizeof(*levels));
    m->levels = levels ? levels : m->levels;
    uint64_t *ports = realloc(m->ports, room * words * sizeof(*ports));
    m->ports = ports ? ports : m->ports;
    if (!mlid || !levels || !ports) {
        dnet_error("subnet: no memory for %zu multicast groups", room);
        return false;
    }
    m->room = (int) room;
    return true;
}

int dnet_mcast_group(dnet_mcast_t *m, uint16_t mlid)
{
    for (int g = m->groups - 1; g >= 0; g--)
        if (m->mlid[g] == mlid)
            return g;
    if (m->groups == m->room && !grow(m))
        return DNET_TOPO_NONE;
    int g = m->groups++;
    m->mlid[g] = mlid;
    m->levels[g] = 0;
    memset(dnet_mcast_ports(m, g, 0), 0,
           (size_t) m->topo->n_switches * DNET_MCAST_WORDS * sizeof(uint64_t));
    return g;
}
