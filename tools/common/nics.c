/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <stdlib.h>

#include "tools/common/nics.h"
#include "tools/common/processes.h"

/* Keep each NIC once, however many processes hold it. */
static void note(void *arg, const dnet_emu_locator_t *at)
{
    nics_t *f = arg;
    dnet_emu_nic_t *nic;
    dnet_device_t *dev;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->nic[i].at.id == at->id)
            return;
    nics_nic_t *grown = realloc(f->nic, (f->count + 1) * sizeof(*grown));
    if (!grown || dnet_emu_watch(at, &nic) != DNET_OK) {
        f->nic = grown ? grown : f->nic;
        return;
    }
    f->nic = grown;
    nics_nic_t *n = &f->nic[f->count];
    n->at = *at;
    dnet_emu_describe(nic, &n->is);
    if (dnet_emu_open(nic, 0, true, &dev) == DNET_OK) {
        n->pgid = (uint8_t) nics_load(dev->sreg_store + DNET_SREG_PGID0);
        dev->ops->close(dev);
        f->count++;
    }
    dnet_emu_detach(nic);
}

static int by_lid(const void *a, const void *b)
{
    const nics_nic_t *x = a, *y = b;
    if (x->at.lid != y->at.lid)
        return x->at.lid < y->at.lid ? -1 : 1;
    return x->is.maker < y->is.maker ? -1 : x->is.maker > y->is.maker;
}

nics_t nics_all(void)
{
    nics_t f = {NULL, 0};
    dnet_emu_find(note, &f);
    if (f.count)
        qsort(f.nic, f.count, sizeof(*f.nic), by_lid);
    return f;
}

static bool used_by(const nics_nic_t *n, int32_t pid)
{
    return n->is.maker == pid || n->is.process[0] == pid || n->is.process[1] == pid;
}

static bool below(const nics_nic_t *n, int32_t ancestor)
{
    return tool_descends(n->is.maker, ancestor) || tool_descends(n->is.process[0], ancestor) ||
           tool_descends(n->is.process[1], ancestor);
}

void nics_job(nics_t *f, int32_t pid, uint32_t *at_p, unsigned *wid_p)
{
    const nics_nic_t *own = NULL;
    uint32_t kept = 0;
    for (uint32_t i = 0; !own && i < f->count; i++)
        own = used_by(&f->nic[i], pid) ? &f->nic[i] : NULL;
    nics_nic_t mine = own ? *own : (nics_nic_t){.pgid = 0};
    int32_t ancestor = own ? tool_parent_of(pid) : pid;
    *at_p = 0;
    *wid_p = own && mine.is.process[1] == pid;
    for (uint32_t i = 0; i < f->count; i++) {
        nics_nic_t n = f->nic[i];
        bool is_mine = own && n.at.id == mine.at.id;
        if (!is_mine && (!below(&n, ancestor) || (own && n.pgid != mine.pgid)))
            continue;
        if (is_mine)
            *at_p = kept;
        f->nic[kept++] = n;
    }
    f->count = kept;
}
