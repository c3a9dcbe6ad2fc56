/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding NICs.  Nodes of a persistent cluster are joined like any process would join them; NICs of
 * a running job are mapped read-only, so that no mistake here can reach the job.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "tools/common/clusters.h"
#include "tools/shell/dsh.h"

#define WAY_WAIT_S 60 /* a packet of a shell waits so long for a way through the network */

/* ---- NICs of this user ---- */

static void name_of(int32_t pid, char name[20])
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/comm", pid);
    FILE *in = fopen(path, "re");
    name[0] = '\0';
    if (in && fgets(name, 20, in))
        name[strcspn(name, "\n")] = '\0';
    if (in)
        fclose(in);
}

void dsh_list(void)
{
    static const char *const profiles[] = {"prototype", "extended", "prototype-flow"};
    nics_t f = nics_all();
    printf("   LID  profile         PGID  made by                     WID 0     WID 1\n");
    for (uint32_t i = 0; i < f.count; i++) {
        const dnet_emu_description_t *is = &f.nic[i].is;
        char name[20];
        name_of(is->maker, name);
        printf("0x%04x  %-14s  %4u  %8d %-16s  %8d  %8d\n", is->lid, profiles[is->profile],
               f.nic[i].pgid, is->maker, name, is->process[0], is->process[1]);
    }
    free(f.nic);
}

/* ---- a job ---- */

int dsh_attach_job(dsh_t *d, int32_t pid)
{
    nics_t f = nics_all();
    unsigned wid;
    nics_job(&f, pid, &d->at, &wid);
    d->look_only = true;
    d->node = calloc(f.count + 1, sizeof(*d->node));
    for (; d->node && d->nodes < f.count; d->nodes++)
        d->node[d->nodes] = f.nic[d->nodes].at;
    free(f.nic);
    if (!d->node) {
        dsh_fail(d, "no memory for %u nodes", f.count);
        return TOOL_SYSTEM;
    }
    if (d->nodes == 0) {
        dsh_fail(d,
                 "process %d: neither it nor a process it started has a NIC of this user; dsh "
                 "--list shows the NICs there are",
                 pid);
        return TOOL_BAD;
    }
    return dsh_take_node(d, d->at, wid) ? TOOL_GOOD : TOOL_SYSTEM;
}

/* ---- a cluster ---- */

int dsh_attach_cluster(dsh_t *d, const char *name)
{
    int code = tool_cluster_open(name, &d->cluster);
    if (code != TOOL_GOOD)
        return code;
    d->nodes = d->cluster->nodes;
    d->node = calloc(d->nodes, sizeof(*d->node));
    if (!d->node) {
        dsh_fail(d, "no memory for %u nodes", d->nodes);
        return TOOL_SYSTEM;
    }
    memcpy(d->node, d->cluster->node, d->nodes * sizeof(*d->node));
    return TOOL_GOOD;
}

/* ---- the node in hand ---- */

static void leave(dnet_emu_nic_t *nic, dnet_device_t *dev)
{
    if (dev)
        dev->ops->close(dev);
    if (nic)
        dnet_emu_detach(nic);
}

/* Tell a NIC where all others are, as the PID-LID/WID table of a job would. */
static dnet_status_t route_all(const dsh_t *d, dnet_emu_nic_t *nic)
{
    dnet_status_t status = DNET_OK;
    for (uint32_t n = 0; status == DNET_OK && n < d->nodes; n++)
        status = dnet_emu_route(nic, &d->node[n]);
    return status;
}

bool dsh_take_node(dsh_t *d, uint32_t index, unsigned wid)
{
    dnet_emu_nic_t *nic = NULL;
    dnet_device_t *dev = NULL;
    if (d->dev && index == d->at && wid == d->dev->wid)
        return true;
    dnet_status_t status = d->look_only ? dnet_emu_watch(&d->node[index], &nic)
                                        : dnet_emu_attach(&d->node[index], &nic);
    if (status == DNET_OK && !d->look_only)
        status = route_all(d, nic);
    if (status == DNET_OK && d->cluster && d->cluster->switches >= 0)
        status = dnet_emu_network_join(nic, d->cluster->keeper, d->cluster->switches, WAY_WAIT_S);
    if (status == DNET_OK)
        status = dnet_emu_open(nic, wid, true, &dev);
    if (status != DNET_OK) {
        leave(nic, dev);
        return false; /* logged */
    }
    leave(d->nic, d->dev);
    if (d->capture)
        dnet_emu_capture_set(nic, d->capture);
    d->nic = nic;
    d->dev = dev;
    d->at = index;
    return true;
}

void dsh_detach(dsh_t *d)
{
    leave(d->nic, d->dev);
    if (d->capture)
        dnet_emu_capture_close(d->capture);
    if (d->cluster)
        dnet_cluster_close(d->cluster);
    free(d->node);
}
