/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The emulated switches between the NICs of a cluster: a segment that says where each port leads,
 * what the forwarding tables hold and which links are out of service, and counts what each link
 * carries.
 *
 *   header       dnet_switches_header_t
 *   names        of the switches, DNET_SWITCHES_NAME_BYTES each, ended by 0
 *   port         [channels] condition of the port at the channel's start; senders look at it where
 *                the link is slowed only
 *                The last switch has no ports: it is where a NIC hangs whose own link is out of
 *                service
 *   first_wire   [switches + 1] a switch's port p is wire first_wire[switch] + p
 *   wire         [wires] where the port leads: a channel, DNET_WIRE_NODE | CLID, or DNET_WIRE_FREE
 *   head         [channels] switch at the end of a channel; channels 2n and 2n + 1 are link n
 *   at           [lids] 1 + the switch a NIC hangs on, by CLID; 0: no such NIC
 *   link         [channels / 2] DNET_LINK_ bits
 *   table[2]     [switches][lids] port for a CLID; the one in force is that of the generation's
 *                lowest bit
 *   count        [channels], on pages of their own: all a process that sends may write
 *
 * The Subnet Manager's part, which runs in dnet-cluster(1), writes the table that is not in force
 * and then the generation.  A reader that finds another generation after its walk than before walks
 * again.
 */
#ifndef DIMMNET_SWITCHES_H
#define DIMMNET_SWITCHES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define DNET_SWITCHES_MAGIC 0x3153574344494e44ull
#define DNET_SWITCHES_VERSION 3u
#define DNET_SWITCHES_NAME_BYTES 32u
#define DNET_SWITCHES_HOPS_MAX 64u
#define DNET_SWITCHES_PAGE 4096u

#define DNET_WIRE_FREE 0xffffffffu
#define DNET_WIRE_NODE 0x80000000u

#define DNET_LINK_CUT 1u    /* out of service */
#define DNET_LINK_SLOWED 2u /* delay, limit or loss: the ports say which */

typedef struct {
    uint64_t magic;              /* +0x00 */
    uint32_t version;            /* +0x08 */
    uint32_t switches;           /* +0x0c */
    uint32_t wires;              /* +0x10 */
    uint32_t channels;           /* +0x14 */
    uint32_t lids;               /* +0x18 highest CLID of a NIC + 1 */
    _Atomic uint32_t generation; /* +0x1c tables made; its store is what puts them in force */
} dnet_switches_header_t;
_Static_assert(sizeof(dnet_switches_header_t) == 32, "switches header size");

/** Errors of a kind at a port: so many until an instant, and at a steady rate since, whether
 * packets pass or not. */
typedef struct {
    double counted;    /* +0x00 */
    double per_second; /* +0x08 */
    uint64_t since_ns; /* +0x10 CLOCK_MONOTONIC */
} dnet_switches_errors_t;

/** The condition of a port; changed by dnet-cluster(1) alone, which holds the network's lock. */
typedef struct {
    dnet_switches_errors_t symbol;  /* +0x00 */
    dnet_switches_errors_t receive; /* +0x18 */
    uint32_t downed;                /* +0x30 times its link has been taken out of service */
    uint32_t lanes;                 /* +0x34 in use */
    uint32_t lane_mbps;             /* +0x38 signalling rate of a lane */
    /* What packets meet that leave by this port; 0: nothing. */
    _Atomic uint32_t delay_us;     /* +0x3c each arrives so much later */
    _Atomic uint32_t limit_mb_s;   /* +0x40 all together at most; 1 MB is 10^6 bytes */
    _Atomic uint32_t loss_million; /* +0x44 of a million are lost, and sent again */
} dnet_switches_port_t;
_Static_assert(sizeof(dnet_switches_port_t) == 72, "switches port size");

/** What a channel has carried. */
typedef struct {
    _Atomic uint64_t packets;
    _Atomic uint64_t bytes;   /* headers included */
    _Atomic uint64_t lost;    /* packets that were sent again */
    _Atomic uint64_t busy_ns; /* where its rate is limited: until when, CLOCK_MONOTONIC */
} dnet_switches_count_t;

/** The parts of a segment. */
typedef struct {
    dnet_switches_header_t *header;
    char *name;
    dnet_switches_port_t *port;
    uint32_t *first_wire;
    _Atomic uint32_t *wire; /* that of a NIC changes with its link */
    uint32_t *head;
    _Atomic uint32_t *at; /* likewise */
    _Atomic uint8_t *link;
    _Atomic uint16_t *table[2];
    dnet_switches_count_t *count;
    size_t count_offset; /* bytes from the segment's start, whole pages */
    size_t bytes;        /* of the segment */
} dnet_switches_t;

/** Where the parts lie in a segment that starts at `base` and has the counts of `header`. */
static inline dnet_switches_t dnet_switches_parts(void *base, const dnet_switches_header_t *header)
{
    uint8_t *b = base;
    size_t at = sizeof(*header), s = header->switches;
    dnet_switches_t n = {.header = base, .name = (char *) b + at};
    at += s * DNET_SWITCHES_NAME_BYTES;
    n.port = (dnet_switches_port_t *) (void *) (b + at);
    at += header->channels * sizeof(*n.port);
    n.first_wire = (uint32_t *) (void *) (b + at);
    at += (s + 1) * sizeof(uint32_t);
    n.wire = (_Atomic uint32_t *) (void *) (b + at);
    at += header->wires * sizeof(uint32_t);
    n.head = (uint32_t *) (void *) (b + at);
    at += header->channels * sizeof(uint32_t);
    n.at = (_Atomic uint32_t *) (void *) (b + at);
    at += header->lids * sizeof(uint32_t);
    for (unsigned i = 0; i < 2; i++) {
        n.table[i] = (_Atomic uint16_t *) (void *) (b + at);
        at += s * header->lids * sizeof(uint16_t);
    }
    n.link = (_Atomic uint8_t *) (void *) (b + at);
    at += header->channels / 2;
    n.count_offset = (at + DNET_SWITCHES_PAGE - 1) & ~(size_t) (DNET_SWITCHES_PAGE - 1);
    n.count = (dnet_switches_count_t *) (void *) (b + n.count_offset);
    n.bytes = n.count_offset + header->channels * sizeof(*n.count);
    return n;
}

#endif
