/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Address assignment: the conventional and the port-major order of the paper [LID §3.1, §5], the
 * aligned variant, and groups that hold a leaf port's servers together with the switches that are
 * reached through the same spine (the paper's future work [LID §8]).
 */
#include "subnet/addresses/lid.h"

#include "common/log.h"

#include <stdlib.h>

const char *const dnet_lid_schemes[] = {"conventional", "port-major", "grouped", "aligned", NULL};

/* What the formulas need, which count as if everyone had one LID: leaves and spines numbered,
 * server ports numbered from 0. */
typedef struct shape {
    int leaves, spines;
    int first_port, ports; /* server ports of a leaf: first_port .. first_port + ports - 1 */
    int host_lmc, sw_lmc;  /* the largest */
    int *number;           /* [switch]: place among leaves or among spines */
} shape_t;

static dnet_status_t measure(const dnet_topo_t *t, shape_t *sh)
{
    int last = 0;
    *sh = (shape_t){.first_port = DNET_TOPO_PORT_MAX};
    sh->number = dnet_subnet_alloc((size_t) t->n_switches, sizeof(int));
    if (!sh->number)
        return DNET_ERR_NO_MEMORY;
    for (int s = 0; s < t->n_switches; s++) {
        sh->number[s] = t->sw[s].hosts ? sh->leaves++ : sh->spines++;
        sh->sw_lmc = t->sw[s].lmc > sh->sw_lmc ? t->sw[s].lmc : sh->sw_lmc;
    }
    for (int h = 0; h < t->n_hosts; h++) {
        int port = t->host[h].port;
        sh->host_lmc = t->host[h].lmc > sh->host_lmc ? t->host[h].lmc : sh->host_lmc;
        sh->first_port = port < sh->first_port ? port : sh->first_port;
        last = port > last ? port : last;
    }
    sh->ports = last - sh->first_port + 1;
    return DNET_OK;
}

static long round_up(long n, long unit)
{
    return (n + unit - 1) / unit * unit;
}

static long host_lid(const shape_t *sh, dnet_lid_scheme_t scheme, int leaf, int port)
{
    long leaves = sh->leaves, spines = sh->spines ? sh->spines : 1;
    switch (scheme) {
        case DNET_LID_CONVENTIONAL:
            return (long) leaf * sh->ports + port + 1;
        case DNET_LID_PORT_MAJOR:
            return port * leaves + leaf + 1;
        case DNET_LID_GROUPED:
            return 1 + port * (leaves + (leaves + spines - 1) / spines + 1) + leaf;
        case DNET_LID_ALIGNED:
            return DNET_LID_BLOCK + port * round_up(leaves, DNET_LID_BLOCK) + leaf;
    }
    return 0;
}

/* Switches inside their groups, or, from 0 on, behind the servers' range. */
static long switch_lid(const shape_t *sh, dnet_lid_scheme_t scheme, bool leaf, int number)
{
    long leaves = sh->leaves, spines = sh->spines ? sh->spines : 1;
    if (scheme != DNET_LID_GROUPED)
        return leaf ? number : leaves + number;
    long in_group = (leaves + spines - 1) / spines, size = leaves + in_group + 1;
    if (leaf)
        return 1 + number % spines * size + leaves + number / spines;
    return 1 + number * size + leaves + in_group;
}

dnet_status_t dnet_lid_assign(dnet_topo_t *t, dnet_lid_scheme_t scheme)
{
    shape_t sh;
    dnet_status_t st = measure(t, &sh);
    long highest = 0, first = DNET_LID_SWITCHES;
    if (scheme == DNET_LID_GROUPED) { /* servers and switches take turns */
        first = 0;
        sh.host_lmc = sh.sw_lmc = sh.host_lmc > sh.sw_lmc ? sh.host_lmc : sh.sw_lmc;
    }
    for (int h = 0; h < t->n_hosts && !st; h++) {
        const dnet_topo_host_t *host = &t->host[h];
        long lid = host_lid(&sh, scheme, sh.number[host->sw], host->port - sh.first_port)
                   << sh.host_lmc;
        long last = lid + (1 << sh.host_lmc) - 1;
        highest = last > highest ? last : highest;
        t->host[h].lid = (uint16_t) lid;
    }
    if (scheme != DNET_LID_GROUPED && highest >= first)
        first = round_up(highest + 1, DNET_LID_BLOCK);
    first = round_up(first, 1 << sh.sw_lmc);
    for (int s = 0; s < t->n_switches && !st; s++) {
        long lid = first + (switch_lid(&sh, scheme, t->sw[s].hosts > 0, sh.number[s]) << sh.sw_lmc);
        long last = lid + (1 << sh.sw_lmc) - 1;
        highest = last > highest ? last : highest;
        t->sw[s].lid = (uint16_t) lid;
    }
    if (!st && highest > DNET_LID_UNICAST_MAX) {
        dnet_error("subnet: %s: the assignment needs LIDs up to 0x%lx; unicast LIDs end at 0x%x",
                   t->name, highest, DNET_LID_UNICAST_MAX);
        st = DNET_ERR_LIMIT;
    }
    free(sh.number);
    return st;
}

uint16_t dnet_lid_of(const dnet_topo_t *t, int dest)
{
    return dest < t->n_hosts ? t->host[dest].lid : t->sw[dest - t->n_hosts].lid;
}

uint16_t dnet_lid_of_column(const dnet_tables_t *tables, int column)
{
    if (tables->lid)
        return tables->lid[column];
    int d = dnet_tables_dest(tables, column);
    int base = d == DNET_TOPO_NONE ? 0 : dnet_lid_of(tables->topo, d);
    return (uint16_t) (base ? base + column / tables->dests : 0);
}
