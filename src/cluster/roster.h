/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The roster: the named segment of a cluster, mode 0600, written before it gets its name and not
 * changed afterwards.
 *
 *   header, then one entry for each node, node 1 first
 *
 * The keeper holds flock(LOCK_EX) on it as long as it lives.
 */
#ifndef DNET_CLUSTER_ROSTER_H
#define DNET_CLUSTER_ROSTER_H

#include <stddef.h>

#include "cluster/cluster.h"

#define DNET_ROSTER_MAGIC 0x534c4344544e4e44ull
#define DNET_ROSTER_VERSION 2u
#define DNET_ROSTER_DIR "/dev/shm"

typedef struct {
    uint64_t magic;   /* +0x00 */
    uint32_t version; /* +0x08 */
    uint32_t nodes;   /* +0x0c */
    uint32_t profile; /* +0x10 dnet_profile_t */
    int32_t keeper;   /* +0x14 pid */
    int64_t since;    /* +0x18 seconds since 1970 */
    int32_t fabric;   /* +0x20 the keeper's descriptor of the network; -1: none */
    int32_t switches; /* +0x24 likewise of its switches */
} dnet_roster_header_t;
_Static_assert(sizeof(dnet_roster_header_t) == 40, "roster header size");
_Static_assert(offsetof(dnet_roster_header_t, since) == 0x18, "roster header layout");

typedef struct {
    uint64_t id;       /* +0x00 of the NIC's segment */
    int32_t fd;        /* +0x08 the keeper's descriptor of it */
    uint16_t lid;      /* +0x0c */
    uint16_t reserved; /* +0x0e */
} dnet_roster_node_t;
_Static_assert(sizeof(dnet_roster_node_t) == 16, "roster entry size");

#define DNET_ROSTER_PATH_BYTES 96
/** Path of a cluster's roster.  @return DNET_OK; DNET_ERR_ARGUMENT, logged: a name that cannot be
 * one */
dnet_status_t dnet_roster_path(const char *name, char path[DNET_ROSTER_PATH_BYTES]);

#endif
