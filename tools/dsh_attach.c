/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Finding NICs.  Nodes of a persistent cluster are joined like any process would join them; NICs of
 * a running job are mapped read-only, so that no mistake here can reach the job.
 */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "tools/dsh.h"

#define WAY_WAIT_S 60 /* a packet of a shell waits so long for a way through the network */

/* ---- NICs of this user --------------------------------------------------------------- */

typedef struct {
    dnet_emu_locator_t at;
    dnet_emu_description_t is;
    uint8_t pgid;
} found_t;

typedef struct {
    found_t *nic;
    uint32_t count;
} finds_t;

/* Keep each NIC once, however many processes hold it. */
static void note(void *arg, const dnet_emu_locator_t *at)
{
    finds_t *f = arg;
    dnet_emu_nic_t *nic;
    dnet_device_t *dev;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->nic[i].at.id == at->id)
            return;
    found_t *grown = realloc(f->nic, (f->count + 1) * sizeof(*grown));
    if (!grown || dnet_emu_watch(at, &nic) != DNET_OK) {
        f->nic = grown ? grown : f->nic;
        return;
    }
    f->nic = grown;
    found_t *n = &f->nic[f->count];
    n->at = *at;
    dnet_emu_describe(nic, &n->is);
    if (dnet_emu_open(nic, 0, true, &dev) == DNET_OK) {
        n->pgid = (uint8_t) dsh_load(dev->sreg_store + DNET_SREG_PGID0);
        dev->ops->close(dev);
        f->count++;
    }
    dnet_emu_detach(nic);
}

static int by_lid(const void *a, const void *b)
{
    const found_t *x = a, *y = b;
    if (x->at.lid != y->at.lid)
        return x->at.lid < y->at.lid ? -1 : 1;
    return x->is.maker < y->is.maker ? -1 : x->is.maker > y->is.maker;
}

static finds_t find_all(void)
{
    finds_t f = {NULL, 0};
    dnet_emu_find(note, &f);
    if (f.count)
        qsort(f.nic, f.count, sizeof(*f.nic), by_lid);
    return f;
}

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
    finds_t f = find_all();
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

/* ---- a job --------------------------------------------------------------------------- */

static int32_t parent_of(int32_t pid)
{
    char path[32], text[512];
    int parent = 0;
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    FILE *in = fopen(path, "re");
    size_t n = in ? fread(text, 1, sizeof(text) - 1, in) : 0;
    if (in)
        fclose(in);
    text[n] = '\0';
    /* The name before may hold anything, so look behind its last parenthesis: state, parent. */
    const char *rest = strrchr(text, ')');
    return rest && sscanf(rest + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool descends(int32_t pid, int32_t ancestor)
{
    for (unsigned depth = 0; pid > 0 && depth < 64; depth++, pid = parent_of(pid))
        if (pid == ancestor)
            return true;
    return false;
}

static bool used_by(const found_t *n, int32_t pid)
{
    return n->is.maker == pid || n->is.process[0] == pid || n->is.process[1] == pid;
}

static bool below(const found_t *n, int32_t ancestor)
{
    return descends(n->is.maker, ancestor) || descends(n->is.process[0], ancestor) ||
           descends(n->is.process[1], ancestor);
}

/* The NICs of a job: of the processes that `pid` has started; or, when `pid` is itself one of the
 * job's processes, those of its siblings in the same process group. */
static void choose_job(dsh_t *d, const finds_t *f, int32_t pid, unsigned *wid_p)
{
    const found_t *own = NULL;
    for (uint32_t i = 0; !own && i < f->count; i++)
        own = used_by(&f->nic[i], pid) ? &f->nic[i] : NULL;
    int32_t ancestor = own ? parent_of(pid) : pid;
    for (uint32_t i = 0; i < f->count; i++) {
        const found_t *n = &f->nic[i];
        if (n != own && (!below(n, ancestor) || (own && n->pgid != own->pgid)))
            continue;
        if (n == own)
            d->at = d->nodes;
        d->node[d->nodes++] = n->at;
    }
    *wid_p = own && own->is.process[1] == pid;
}

bool dsh_attach_job(dsh_t *d, int32_t pid)
{
    finds_t f = find_all();
    unsigned wid = 0;
    d->look_only = true;
    d->node = calloc(f.count + 1, sizeof(*d->node));
    if (d->node)
        choose_job(d, &f, pid, &wid);
    free(f.nic);
    if (!d->node)
        return dsh_fail(d, "no memory for %u nodes", f.count);
    if (d->nodes == 0)
        return dsh_fail(
            d,
            "process %d: neither it nor a process it started has a NIC of this user; dsh --list "
            "shows the NICs there are",
            pid);
    return dsh_take_node(d, d->at, wid);
}

/* ---- a cluster ----------------------------------------------------------------------- */

bool dsh_attach_cluster(dsh_t *d, const char *name)
{
    dnet_status_t status = dnet_cluster_open(name, &d->cluster);
    if (status == DNET_NOT_FOUND)
        return dsh_fail(d, "no cluster %s of this user; make one with: dnet-cluster up %s", name,
                        name);
    if (status != DNET_OK)
        return false; /* logged */
    d->nodes = d->cluster->nodes;
    d->node = calloc(d->nodes, sizeof(*d->node));
    if (!d->node)
        return dsh_fail(d, "no memory for %u nodes", d->nodes);
    memcpy(d->node, d->cluster->node, d->nodes * sizeof(*d->node));
    return true;
}

/* ---- the node in hand ---------------------------------------------------------------- */

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
