/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "cluster/network.h"

#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

dnet_status_t dnet_network_take(const dnet_cluster_t *cluster, bool change, dnet_network_t *n)
{
    dnet_status_t status = dnet_fabric_open(cluster, &n->fd);
    if (status != DNET_OK)
        return status;
    flock(n->fd, change ? LOCK_EX : LOCK_SH);
    status = dnet_fabric_load(n->fd, &n->fabric);
    if (status == DNET_OK) {
        status = dnet_switches_open(cluster, n->fabric->topo, &n->switches);
        if (status != DNET_OK)
            dnet_fabric_free(n->fabric);
    }
    if (status == DNET_OK && change && !dnet_switches_follow(&n->switches, n->fabric)) {
        dnet_switches_set_links(&n->switches, n->fabric->topo);
        dnet_switches_set_tables(&n->switches, n->fabric);
    }
    if (status != DNET_OK)
        close(n->fd);
    return status;
}

void dnet_network_leave(dnet_network_t *n)
{
    dnet_switches_close(&n->switches);
    dnet_fabric_free(n->fabric);
    close(n->fd);
}

#define DRAIN_MS 20 /* a packet is on its way for microseconds, unless it waits for a way */

/* In two stages where one could deadlock: packets to some servers wait while the others drain. */
static dnet_status_t new_tables(dnet_network_t *n, int working, dnet_fdb_diff_t *diff)
{
    dnet_fabric_t *f = n->fabric;
    const struct timespec drain = {.tv_nsec = DRAIN_MS * 1000000L};
    dnet_status_t status = dnet_fabric_reroute(f, working, diff);
    if (status == DNET_OK)
        status = dnet_fabric_store(f, n->fd);
    if (status == DNET_OK && f->between) {
        dnet_tables_t *final = f->tables;
        f->tables = f->between;
        dnet_switches_set_tables(&n->switches, f);
        f->tables = final;
        nanosleep(&drain, NULL);
    }
    if (status == DNET_OK)
        dnet_switches_set_tables(&n->switches, f);
    return status;
}

dnet_status_t dnet_network_sweep(dnet_network_t *n, dnet_fdb_diff_t *diff)
{
    dnet_switches_set_links(&n->switches, n->fabric->topo);
    return new_tables(n, DNET_TOPO_NONE, diff);
}

dnet_status_t dnet_network_isolate(dnet_network_t *n, int link, dnet_fdb_diff_t *diff)
{
    const dnet_topo_link_t *l = &n->fabric->topo->link[link];
    char what[2 * DNET_FABRIC_TEXT]; /* one that is too long stays so, and is refused */
    snprintf(what, sizeof(what), "%s:%d", n->fabric->topo->sw[l->sw[0]].name, l->port[0]);
    dnet_status_t status = dnet_fabric_cut(n->fabric, what, false);
    if (status != DNET_OK)
        return status;
    status = new_tables(n, link, diff);
    if (status == DNET_OK)
        dnet_switches_set_links(&n->switches, n->fabric->topo);
    else
        dnet_fabric_restore(n->fabric, what);
    return status;
}

uint64_t dnet_network_counters(const dnet_network_t *n, dnet_counters_t *counters)
{
    dnet_topo_t *t = n->fabric->topo;
    const dnet_topo_rate_t made = {DNET_SWITCHES_LANES, DNET_SWITCHES_LANE_MBPS / 1e3};
    uint64_t packets = 0;
    for (int c = 0; c < dnet_topo_channels(t); c++) {
        dnet_switches_reading_t r = dnet_switches_read(&n->switches, c);
        counters[c] = (dnet_counters_t){r.symbol, r.receive, r.downed};
        dnet_topo_set_rate(&t->link[c >> 1], (dnet_topo_rate_t){(int) r.lanes, r.lane_mbps / 1e3},
                           made);
        packets += r.packets;
    }
    for (int h = 0; h < t->n_hosts; h++)
        t->host[h].rate = t->host[h].nominal = made;
    return packets;
}
