/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Multicast forwarding tables: which ports of a switch a packet to a group is copied to.  It goes
 * to all of them but the one it came in by.
 */
#ifndef DNET_SUBNET_MULTICAST_H
#define DNET_SUBNET_MULTICAST_H

#include "subnet/routing/routing.h"

#define DNET_MLID_FIRST 0xc000 /* of multicast LIDs */
#define DNET_MLID_LAST 0xfffe
#define DNET_MCAST_WORDS 4 /* ports 0 to 255 */

typedef struct dnet_mcast {
    const dnet_topo_t *topo;
    int groups, room;
    uint16_t *mlid;   /* [group]; several groups with one MLID are one here */
    uint16_t *levels; /* [group]: a bit for each service level its packets can have; 0: not known */
    uint64_t *ports;  /* [(group * switches + switch) * WORDS]: a bit for each port */
} dnet_mcast_t;

/** Tables without groups.  @return DNET_OK, ERR_NO_MEMORY */
dnet_status_t dnet_mcast_new(const dnet_topo_t *t, dnet_mcast_t **out);

/** Free tables; NULL is allowed. */
void dnet_mcast_free(dnet_mcast_t *m);

/** Number of the group with this MLID, added if it is new; NONE without memory (logged). */
int dnet_mcast_group(dnet_mcast_t *m, uint16_t mlid);

/** Ports of a switch that a group's packets are copied to. */
static inline uint64_t *dnet_mcast_ports(const dnet_mcast_t *m, int group, int s)
{
    return m->ports +
           ((size_t) group * (size_t) m->topo->n_switches + (size_t) s) * DNET_MCAST_WORDS;
}

/** Is a port one of them? */
static inline bool dnet_mcast_has(const dnet_mcast_t *m, int group, int s, int port)
{
    return port >= 0 && port < 64 * DNET_MCAST_WORDS &&
           (dnet_mcast_ports(m, group, s)[port >> 6] >> (port & 63) & 1);
}

/** Copy to a port, too. */
static inline void dnet_mcast_add(dnet_mcast_t *m, int group, int s, int port)
{
    dnet_mcast_ports(m, group, s)[port >> 6] |= (uint64_t) 1 << (port & 63);
}

/**
 * A tree for all groups, whose turns close no cycle with those that packets to single ports take.
 *
 * @param tables  on one lane, free of cycles
 * @param old     a tree to keep to, as `tree`; NULL: none
 * @param tree    [switch], set: link to its parent; NONE: the root, or not in the tree
 * @param left    set: switches with servers that are not in it; 0 unless there is no such tree, or
 *                none was found
 * @return DNET_OK, ERR_NO_MEMORY
 */
dnet_status_t dnet_mcast_tree(const dnet_tables_t *tables, const int *old, int *tree, int *left);

/**
 * Route, and find the groups' tree.  Where none goes together with what is kept of opt->from and
 * opt->from_tree, both are made from nothing.
 *
 * @return as dnet_route(), whose result is to be freed only if this is DNET_OK; tree, left: as
 *         dnet_mcast_tree()
 */
dnet_status_t dnet_mcast_route(const dnet_topo_t *t, const dnet_engine_t *engine,
                               const dnet_route_options_t *opt, dnet_routing_t *r, int *tree,
                               int *left);

/** Join a group's switches, those with a port of it, by the tree's links.  @return DNET_OK,
 * ERR_NO_MEMORY */
dnet_status_t dnet_mcast_span(dnet_mcast_t *m, int group, const int *tree);

#endif
