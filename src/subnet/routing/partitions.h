/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partitions: which servers may send to each other.  Two servers may if they are in a common
 * partition and one of them at least is a full member of it.
 */
#ifndef DNET_SUBNET_PARTITIONS_H
#define DNET_SUBNET_PARTITIONS_H

#include "subnet/routing/turns.h"

#define DNET_PARTITIONS_MAX 64

typedef struct dnet_partitions {
    int count;
    int pkey[DNET_PARTITIONS_MAX]; /* 15 bits; NONE: the file leaves it to the subnet manager */
    uint64_t *member, *full;       /* [server]: a bit for each partition */
} dnet_partitions_t;

/** Partitions without members.  @return DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_partitions_new(const dnet_topo_t *t, dnet_partitions_t **out);

/** Free partitions; NULL is allowed. */
void dnet_partitions_free(dnet_partitions_t *p);

/** Number of the partition with this P_Key, added if it is new; NONE: there are too many. */
int dnet_partitions_get(dnet_partitions_t *p, int pkey);

/** May packets go between two servers? */
static inline bool dnet_partitions_talk(const dnet_partitions_t *p, int a, int b)
{
    return (p->full[a] & p->member[b]) || (p->member[a] & p->full[b]);
}

/** Traffic of servers that send 1.00 each, evenly to all others they may send to.  @return DNET_OK,
 * ERR_NO_MEMORY; dnet_traffic_free afterwards */
dnet_status_t dnet_partitions_traffic(const dnet_partitions_t *p, const dnet_topo_t *t,
                                      dnet_traffic_t *tr);

#endif
