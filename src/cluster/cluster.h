/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Persistent clusters of emulated NICs: made by dnet-cluster(1), used by dsh(1) and by MPI jobs
 * with DIMMNET_CLUSTER.
 *
 * A cluster belongs to one user and lives as long as its keeper process.  Every function here
 * removes what a keeper that has ended left behind before it looks for anything.
 */
#ifndef DNET_CLUSTER_H
#define DNET_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

#include "dimmnet/emulator.h"
#include "dimmnet/status.h"

#define DNET_CLUSTER_NAME_MAX 32u
#define DNET_CLUSTER_NAME_DEFAULT "default"

/** A cluster as found: a copy of its roster. */
typedef struct {
    char name[DNET_CLUSTER_NAME_MAX + 1];
    int32_t keeper; /* pid */
    uint32_t nodes;
    dnet_profile_t profile;
    int64_t since;            /* seconds since 1970 */
    dnet_emu_locator_t *node; /* [nodes], node 1 first */
    int32_t fabric;           /* the keeper's descriptor of the network (fabric.h); -1: none */
    /* the keeper's descriptor of its switches (dimmnet/switches.h); -1: none */
    int32_t switches;
    int fd; /* of the roster */
} dnet_cluster_t;

typedef struct {
    const char *name; /* as dnet_cluster_open() takes it */
    uint32_t nodes;   /* 1..DNET_NODES_MAX */
    dnet_profile_t profile;
    const uint16_t *lid; /* [nodes]; NULL: node n gets the n-th LID that has a CLID */
    int fabric;          /* file of the network (fabric.h), which stays the caller's; -1: none */
    int switches;        /* segment of its switches (switches.h), likewise */
    uint8_t pgid;        /* of both WIDs of every node */
    /* leave the NICs as after power-on: no LID, no PGID, SO-DIMM not initialised */
    bool cold;
    int32_t owner; /* the cluster ends with this process; 0: with dnet_cluster_stop() */
} dnet_cluster_config_t;

/**
 * Find a cluster of this user.
 *
 * @param name       1 to 32 letters, digits, '.', '_' and '-', the first a letter or digit
 * @param cluster_p  set on success; dnet_cluster_close() frees it
 * @return DNET_OK; DNET_NOT_FOUND (no such cluster; not logged); DNET_ERR_ARGUMENT (name);
 *         DNET_ERR_FORMAT (not a roster); DNET_ERR_SYSTEM (another user's, wrong mode, cannot be
 *         read); DNET_ERR_NO_MEMORY; each logged
 */
dnet_status_t dnet_cluster_open(const char *name, dnet_cluster_t **cluster_p);

/** Free a cluster as found; the cluster itself goes on. */
void dnet_cluster_close(dnet_cluster_t *cluster);

/** Does its keeper still live? */
bool dnet_cluster_alive(const dnet_cluster_t *cluster);

/** Visit the clusters of this user by name, in no order; the cluster is closed after the visit. */
void dnet_cluster_each(void (*visit)(void *arg, const dnet_cluster_t *cluster), void *arg);

/**
 * End a cluster and wait until it is gone; a keeper that does not answer is killed.
 *
 * @return DNET_OK; DNET_ERR_SYSTEM (logged): it cannot be ended
 */
dnet_status_t dnet_cluster_stop(const dnet_cluster_t *cluster);

/**
 * Be the keeper of a new cluster; returns when it has ended.
 *
 * Ends on SIGTERM, SIGINT or SIGHUP, or when config->owner has ended.
 *
 * @param ready  called once everything is made and the cluster has its name
 * @return DNET_OK; DNET_ERR_STATE (the name is taken); DNET_ERR_ARGUMENT; DNET_ERR_NO_MEMORY;
 *         DNET_ERR_SYSTEM; each logged, nothing left behind
 */
dnet_status_t dnet_cluster_keep(const dnet_cluster_config_t *config, void (*ready)(void *arg),
                                void *arg);

#endif
