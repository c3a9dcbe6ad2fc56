/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The judges' channel dependency graph: which buffer a packet may hold while it waits for which.
 * A vertex is a channel on one virtual lane; the network can deadlock iff the graph has a cycle
 * [TA §2.1].  Shares no code with the routers' own (routing/acyclic.h).
 */
#ifndef DNET_SUBNET_DEPENDS_H
#define DNET_SUBNET_DEPENDS_H

#include "subnet/topology/topo.h"

typedef struct dnet_depends {
    const dnet_topo_t *t;
    int lanes;
    size_t *start;  /* [channel + 1]: first word of its rows, a row for each lane */
    uint64_t *bits; /* row: output slots of the channel's head, a bit for each lane of each */
} dnet_depends_t;

/** Without dependencies.  @return DNET_OK, ERR_NO_MEMORY; dnet_depends_free in both cases */
dnet_status_t dnet_depends_init(dnet_depends_t *d, const dnet_topo_t *t, int lanes);

/** Free the rows. */
void dnet_depends_free(dnet_depends_t *d);

/** A packet in channel a on lane la may wait for channel b, an output of a's head, on lane lb. */
void dnet_depends_add(dnet_depends_t *d, int a, int la, int b, int lb);

/** All dependencies of `from`, of the same topology and lanes, too. */
void dnet_depends_merge(dnet_depends_t *d, const dnet_depends_t *from);

/** Number of dependencies. */
long dnet_depends_count(const dnet_depends_t *d);

/* An example of a cycle. */
#define DNET_CYCLE_SHOWN 64
typedef struct dnet_cycle {
    int length;                    /* 0 = none; may exceed what is shown */
    int channel[DNET_CYCLE_SHOWN]; /* each waits for the next, the last for the first */
    uint8_t lane[DNET_CYCLE_SHOWN];
} dnet_cycle_t;

/**
 * Look for cycles.
 *
 * @param cyclic_p  on how many lanes one was met
 * @param cycle     one of them
 * @return DNET_OK, ERR_NO_MEMORY
 */
dnet_status_t dnet_depends_judge(const dnet_depends_t *d, int *cyclic_p, dnet_cycle_t *cycle);

#endif
