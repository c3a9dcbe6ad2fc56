/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The network of a cluster: switches and links between its nodes, their forwarding tables, and what
 * has been cut.  It is a memfd file of the keeper, so it ends with the cluster; a process that
 * changes it locks it.
 *
 * Nodes are the topology's servers in its order.  Server LIDs are numbers from 1 that survive the
 * round trip through a compressed LID (data sheet section 2).
 */
#ifndef DNET_CLUSTER_FABRIC_H
#define DNET_CLUSTER_FABRIC_H

#include "cluster/cluster.h"
#include "subnet/addresses/lid.h"
#include "subnet/judges/transition.h"
#include "subnet/judges/verify.h"

#define DNET_FABRIC_CUTS 64
#define DNET_FABRIC_TEXT 64 /* bytes of an engine's or a cut's name */

typedef struct {
    char *text; /* the topology without cuts, as ibsim text */
    size_t text_bytes;
    dnet_topo_t *topo; /* with the cuts out of service */
    dnet_tables_t *tables;
    /* After a reroute that cannot go in one stage: tables to put in force until packets have
     * drained (transition.h); else NULL */
    dnet_tables_t *between;
    dnet_verdict_t verdict; /* of the tables, by the independent verifier */
    char engine[DNET_FABRIC_TEXT];
    char cut[DNET_FABRIC_CUTS][DNET_FABRIC_TEXT];
    uint32_t cuts;  /* entries of cut[] */
    uint32_t sweep; /* counts the tables made, from 1 */
} dnet_fabric_t;

/**
 * Read a topology, give its servers LIDs, route and verify it.
 *
 * @param topology  as dnet_topo_make() takes it
 * @param engine    name of a routing engine that needs one virtual lane
 * @return DNET_OK; DNET_ERR_LIMIT (more servers than a cluster has nodes, more lanes than one,
 * tables that the verifier rejects); DNET_ERR_ARGUMENT, DNET_ERR_FORMAT (engine, topology); each
 * logged
 */
dnet_status_t dnet_fabric_make(const char *topology, const char *engine, dnet_fabric_t **fabric_p);

/**
 * Take a link ("SWITCH:PORT"), a switch or a server out of service; dnet_fabric_reroute() is to
 * follow.
 *
 * @param force  also when that separates servers from each other
 * @return DNET_OK; DNET_ERR_ARGUMENT (no such link); DNET_ERR_LIMIT (it would separate servers, or
 *         DNET_FABRIC_CUTS are reached); each logged, the fabric unchanged in its file
 */
dnet_status_t dnet_fabric_cut(dnet_fabric_t *fabric, const char *what, bool force);

/** The opposite.  @return DNET_OK; DNET_ERR_ARGUMENT (it has not been cut; logged) */
dnet_status_t dnet_fabric_restore(dnet_fabric_t *fabric, const char *what);

/**
 * Route what is in service again, keeping what is not broken, and verify.  Where servers are
 * separated each piece is routed by itself, and the verdict says how many ways are missing between
 * them.
 *
 * @param working  a link that is cut in the plan but carries packets until the tables have
 *                 changed, or DNET_TOPO_NONE
 * @param diff     set on success: table entries and blocks that have changed
 * @return DNET_OK; DNET_ERR_LIMIT (the engine has no tables that the verifier accepts, logged)
 */
dnet_status_t dnet_fabric_reroute(dnet_fabric_t *fabric, int working, dnet_fdb_diff_t *diff);

/** An empty file for a fabric; its descriptor, or -1 (logged). */
int dnet_fabric_file(void);

/** Open the file of a cluster's fabric.  @return DNET_NOT_FOUND if the cluster has none */
dnet_status_t dnet_fabric_open(const dnet_cluster_t *cluster, int *fd_p);

/** Write the fabric to its file.  The caller holds the lock (flock) on fd when others may be
 * there.  @return DNET_OK; an error is logged */
dnet_status_t dnet_fabric_store(const dnet_fabric_t *fabric, int fd);

/** Read a fabric, under the same lock; dnet_fabric_free() frees it.  @return DNET_OK; an error is
 * logged */
dnet_status_t dnet_fabric_load(int fd, dnet_fabric_t **fabric_p);

/** Free a fabric in memory; its file stays. */
void dnet_fabric_free(dnet_fabric_t *fabric);

#endif
