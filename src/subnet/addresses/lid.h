/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Address assignment and forwarding database blocks.  A switch's table is written in blocks of 64
 * consecutive LIDs, one datagram each; which LIDs share a block decides how many datagrams a
 * failure costs (address assignment paper).
 */
#ifndef DNET_SUBNET_LID_H
#define DNET_SUBNET_LID_H

#include "subnet/routing/multicast.h"
#include "subnet/routing/partitions.h"
#include "subnet/routing/routing.h"

#define DNET_LID_BLOCK 64
#define DNET_LID_SWITCHES 0x4001 /* first switch LID of the paper's networks [LID Table 3] */
#define DNET_LID_UNICAST_MAX 0xbfff
#define DNET_FDB_DROP 255
#define DNET_LMC_MAX 7 /* 128 LIDs an end port */

typedef enum {
    DNET_LID_CONVENTIONAL, /* leaf by leaf */
    DNET_LID_PORT_MAJOR,   /* leaf port by leaf port: the paper's */
    DNET_LID_GROUPED,      /* ours: port by port, and with each port its switches */
    DNET_LID_ALIGNED,      /* port-major, every port starting a block */
} dnet_lid_scheme_t;

extern const char *const dnet_lid_schemes[]; /* names by dnet_lid_scheme_t, NULL at the end */

/**
 * Give every server and switch a LID by closed formula, so that a missing node keeps its place.
 *
 * A leaf is a switch with servers; the other switches are its spines.  Each gets as many LIDs as
 * the largest LMC needs, beginning at a multiple of that number.
 * @return DNET_OK; ERR_LIMIT (more LIDs than unicast ones, logged)
 */
dnet_status_t dnet_lid_assign(dnet_topo_t *t, dnet_lid_scheme_t scheme);

/** Base LID of a destination of forwarding tables; 0 = none. */
uint16_t dnet_lid_of(const dnet_topo_t *t, int dest);

/** LID of a column of forwarding tables; 0 = none. */
uint16_t dnet_lid_of_column(const dnet_tables_t *tables, int column);

/* Differences between two sets of tables, in blocks: one datagram per block. */
typedef struct dnet_fdb_diff {
    long entries;          /* destinations with another port, over all switches */
    long blocks;           /* blocks that differ */
    long node_blocks;      /* of these: with a server's entry that differs */
    long switch_blocks;    /* with a switch's entry that differs */
    long leaf_node_blocks; /* node_blocks at switches with servers */
    int max_per_switch;
} dnet_fdb_diff_t;

/** Compare tables of one topology whose destinations have LIDs, by LID where those differ, too.
 *  Switches out of service in `t` are left out. */
dnet_status_t dnet_fdb_compare(const dnet_topo_t *t, const dnet_tables_t *a, const dnet_tables_t *b,
                               dnet_fdb_diff_t *diff);

/* A LID that was one end port's and is another's now. */
typedef struct dnet_lid_moved {
    uint16_t lid;
    int was, is; /* destinations */
} dnet_lid_moved_t;

/** LIDs that were another end port's in tables before.  @return how many; -1: no memory, logged */
long dnet_fdb_moved(const dnet_tables_t *old, const dnet_tables_t *new, dnet_lid_moved_t *example);

/** Blocks a switch's table occupies: up to the highest LID in use. */
int dnet_fdb_blocks(const dnet_topo_t *t);

/* How routes to leaf switch e choose their spine. */
typedef enum { DNET_SWITCH_ROUTES_ROTATE, DNET_SWITCH_ROUTES_RUN } dnet_switch_routes_t;

/**
 * Standard leaf-spine tables: server on leaf port q through spine q mod P; leaf switch e through
 * spine e mod P (rotate) or e / (leaves / P) (run).  Spine `failed` (0-based, NONE for none) is
 * replaced by the next one for exactly the entries that led to it.
 *
 * @return ERR_LIMIT (logged) if the topology is not leaves with one link to every spine
 */
dnet_status_t dnet_fdb_leaf_spine(const dnet_topo_t *t, int failed, dnet_switch_routes_t rule,
                                  dnet_tables_t **out);

/** Time of `mads` datagrams of `mad_us` microseconds with `window` outstanding, in seconds. */
double dnet_fdb_seconds(long mads, double mad_us, int window);

/* Files (lft_file.c) */

/** Write "port GUID, LID, LID" lines for OpenSM's guid2lid file, of destinations with LIDs. */
dnet_status_t dnet_lid_write_guid2lid(const dnet_topo_t *t, FILE *out);

/** Do tables lead to ports that InfiniBand has, below DNET_FDB_DROP?  @return DNET_OK; ERR_LIMIT,
 * logged */
dnet_status_t dnet_lft_check(const dnet_tables_t *tables);

/** Write tables as OpenSM's `file` routing engine reads them; every destination needs a LID.
 *  @return DNET_OK; ERR_SYSTEM; as dnet_lft_check() */
dnet_status_t dnet_lft_write(const dnet_topo_t *t, const dnet_tables_t *tables, FILE *out);

/* What is wrong with the addresses in a dump. */
typedef struct dnet_lid_faults {
    long duplicates; /* LIDs that two end ports have */
    long stale;      /* LIDs that an end port had once: not of the block its LMC gives it */
    uint16_t duplicate_lid, stale_lid; /* examples */
    int duplicate_dest[2], stale_dest;
} dnet_lid_faults_t;

/**
 * Read tables dumped by OpenSM (opensm-lfts.dump), dump_fts or dnet_lft_write; destinations are
 * found by port GUID and get the file's LIDs, as many as the file has for them (LMC).
 *
 * @param faults  set if not NULL
 * @return DNET_OK; ERR_FORMAT naming file, line and reason; ERR_SYSTEM; ERR_NO_MEMORY
 */
dnet_status_t dnet_lft_read(dnet_topo_t *t, const char *path, dnet_tables_t **out,
                            dnet_lid_faults_t *faults);

/**
 * Read service levels from `saquery -p` output, for each pair of a server and a LID.
 *
 * @param out  paths that the file does not have stay SL_NONE
 * @return as dnet_lft_read
 */
dnet_status_t dnet_sl_read(const dnet_tables_t *tables, const char *path, dnet_lanes_t **out);

/**
 * Read SL2VL tables of switches, outputs of `smpquery sl2vl LID PORT` one behind the other.  Ports
 * that the file does not have map each service level to the lane of its number, and are counted.
 *
 * @param lanes  its lanes become those that paths of its service levels can get
 */
dnet_status_t dnet_sl2vl_read(const dnet_topo_t *t, const char *path, dnet_lanes_t *lanes);

/** Number behind a field of what saquery prints ("Mlid....................0xC000") if the line
 * names it. */
bool dnet_sa_field(const char *line, const char *name, long *value);

/**
 * Read multicast tables dumped by `dump_fts -M`.
 *
 * @param out  groups with a port at some switch; their service levels are not known
 * @return as dnet_lft_read
 */
dnet_status_t dnet_mft_read(const dnet_topo_t *t, const char *path, dnet_mcast_t **out);

/** Read the groups' service levels from `saquery -g` output.  @return as dnet_lft_read */
dnet_status_t dnet_mcast_read_levels(dnet_mcast_t *m, const char *path);

/** Read OpenSM's partition configuration; ports outside the topology are left out.  @return as
 * dnet_lft_read */
dnet_status_t dnet_partitions_read(const dnet_topo_t *t, const char *path, dnet_partitions_t **out);

/** Write service levels as `saquery -p` prints path records. */
dnet_status_t dnet_sl_write(const dnet_tables_t *tables, const dnet_lanes_t *lanes, FILE *out);

#endif
