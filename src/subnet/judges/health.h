/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Link health: finds links that run below their width or speed or collect errors while the network
 * is idle, and decides which may be taken out of service without cutting any node off [MR §3.2].
 */
#ifndef DNET_SUBNET_HEALTH_H
#define DNET_SUBNET_HEALTH_H

#include "subnet/topology/topo.h"

/* Thresholds, errors per second over an idle interval. */
#define DNET_HEALTH_SYMBOL_SICK 1.0   /* symbol errors: act */
#define DNET_HEALTH_SYMBOL_WATCH 0.05 /* 1e-12 bit errors at 40 Gbit/s are 0.04/s */
#define DNET_HEALTH_RCV_SICK 0.1      /* receive errors */
#define DNET_HEALTH_UPLINK_SHARE 0.25 /* of an edge switch's uplinks, without confirmation */
/* Counters stay at their largest value and say nothing of now: of errors, 16 bits wide, and of
 * times that a link has gone down, 8 bits */
#define DNET_HEALTH_SATURATED 65535
#define DNET_HEALTH_DOWNED_SATURATED 255

/* Error counters of one port; the port at the tail of a channel. */
typedef struct dnet_counters {
    uint32_t symbol, rcv, downed; /* SymbolErrors, PortRcvErrors, LinkDowned */
} dnet_counters_t;

/**
 * Read counters in the form ibqueryerrors prints:
 *   Errors for 0x200000 "S00001"
 *      GUID 0x200000 port 3: [SymbolErrorCounter == 120] [PortRcvErrors == 4]
 *
 * @param counters  [channel], set; ports that the text does not name have no errors
 * @return DNET_OK; ERR_FORMAT with file, line and reason; ERR_SYSTEM
 */
dnet_status_t dnet_health_read(const dnet_topo_t *t, const char *path, dnet_counters_t *counters);

/**
 * Read what each link runs at and what both its ends support, from `iblinkinfo -l`:
 *   0x..20 "leaf0001" 4 3[ ] ==( 4X 25.78125 Gbps Active/ LinkUp)==> 0x..21 6 1[ ] "spine0001" ( )
 * with "Could be 12X" and "Could be 53.125 Gbps" in the last brackets where it could do more.
 *
 * @return as dnet_health_read
 */
dnet_status_t dnet_health_read_links(dnet_topo_t *t, const char *path);

/** Rates of an earlier state are what links should have, and links that it had and `t` has not are
 * gone.  Ends are matched by GUID and port. */
void dnet_health_expect(dnet_topo_t *t, const dnet_topo_t *earlier);

typedef enum { DNET_LINK_CLEAN, DNET_LINK_WATCH, DNET_LINK_SICK } dnet_link_state_t;

typedef enum {
    DNET_ISOLATE_NO, /* not sick */
    DNET_ISOLATE_YES,
    DNET_ISOLATE_LAST_UPLINK, /* would cut off an edge switch or a node */
    DNET_ISOLATE_CAPACITY,    /* more than a quarter of an edge switch's uplinks */
} dnet_isolate_t;

typedef struct dnet_link_health {
    int link;
    dnet_link_state_t state;
    bool slow, downed; /* downed: it has gone down and come back in between */
    bool saturated;    /* a counter is full; one of errors: sick, else watched */
    /* slower than the fastest link of either end, perhaps by design: watched */
    bool perhaps_slow;
    double symbol_rate, rcv_rate; /* of the worse end, 1/s */
    dnet_isolate_t isolate;
} dnet_link_health_t;

/**
 * Judge all links, one after the other as an operator would: a link that may be isolated counts as
 * gone for the links after it; the worst links come first.
 *
 * @param before, after  counters `seconds` apart on an idle network; a counter that went down was
 *                       cleared in between and counts from 0
 * @param nominal_gbps   rate every link should have; 0 = each its own nominal_gbps
 * @param confirmed      lift the capacity limit, never the connectivity one
 * @param out            array of *n links that are not clean; the caller frees it
 */
dnet_status_t dnet_health_judge(const dnet_topo_t *t, const dnet_counters_t *before,
                                const dnet_counters_t *after, double seconds, double nominal_gbps,
                                bool confirmed, dnet_link_health_t **out, int *n);

#endif
