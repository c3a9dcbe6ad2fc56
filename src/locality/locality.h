/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The host's processors, caches and memory as hwloc knows them, and how far apart two processes
 * are.
 *
 * Loading costs milliseconds, on large machines more, so a rank does it only where an option asks
 * for distances (DIMMNET_SPLIT_LIMIT_FAR), and not before it deals with a peer.  HWLOC_SYNTHETIC
 * and HWLOC_XMLFILE put another machine in the place of this one, as with hwloc's own tools.
 */
#ifndef DNET_LOCALITY_H
#define DNET_LOCALITY_H

#include "locality/processors.h"

typedef enum {
#define DNET_DISTANCE(name, shown, title) DNET_DISTANCE_##name,
#include "locality/distances.def"
#undef DNET_DISTANCE
    DNET_DISTANCES,
} dnet_distance_t;

/** What a class is called: "l3". */
const char *dnet_distance_name(dnet_distance_t distance);

/** The same as words that end a sentence on two processes: "share an L3 cache". */
const char *dnet_distance_title(dnet_distance_t distance);

/** The host. */
typedef struct dnet_locality dnet_locality_t;

/**
 * Load it.
 *
 * @return DNET_OK; DNET_ERR_FORMAT (not what HWLOC_SYNTHETIC or HWLOC_XMLFILE may say);
 *         DNET_ERR_SYSTEM (hwloc cannot read this host); DNET_ERR_NO_MEMORY; each logged
 */
dnet_status_t dnet_locality_open(dnet_locality_t **locality_p);

void dnet_locality_close(dnet_locality_t *locality);

/** Class of two processes that may use these processors.  Processors that hwloc does not know are
 * nowhere: DNET_DISTANCE_OTHER. */
dnet_distance_t dnet_locality_distance(const dnet_locality_t *locality, const dnet_processors_t *a,
                                       const dnet_processors_t *b);

/** A thing of the host. */
typedef struct {
    enum {
        DNET_LOCALITY_PACKAGE,
        DNET_LOCALITY_NUMA,
        DNET_LOCALITY_L3,
        DNET_LOCALITY_L2,
        DNET_LOCALITY_CORE,
        DNET_LOCALITY_PROCESSOR,
        DNET_LOCALITY_KINDS,
    } kind;
    uint32_t number; /* of NUMA nodes and processors as the operating system has it; else counted */
    uint64_t bytes;  /* of a cache, or of a NUMA node's memory; else 0 */
    dnet_processors_t processors;
} dnet_locality_thing_t;

/** Visit the things of one kind, in hwloc's order. */
void dnet_locality_each(const dnet_locality_t *locality, int kind,
                        void (*visit)(void *arg, const dnet_locality_thing_t *thing), void *arg);

/** Number of the NUMA node that holds all of these processors; -1: none does alone. */
int dnet_locality_node(const dnet_locality_t *locality, const dnet_processors_t *set);

/** Is it the machine this process runs on, and not one that HWLOC_SYNTHETIC or HWLOC_XMLFILE
 * describes?
 */
bool dnet_locality_is_here(const dnet_locality_t *locality);

#endif
