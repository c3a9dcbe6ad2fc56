/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A network of switches, links and servers, as in the turn-addition paper's network model:
 * a channel is a directed link and stands for the input buffer at its head; channels are numbered
 * c = 2*link + dir, so the opposite channel is c ^ 1.  Servers hang off switches and never forward.
 *
 * Build: dnet_topo_new, add_switch / add_host / add_link in any order, dnet_topo_finish.  A
 * generator or reader need not check each add: the first failure is kept and finish returns it.
 * A finished topology is read-only except for dnet_topo_set_link / dnet_topo_set_switch, which
 * take parts out of service and renumber nothing.
 */
#ifndef DNET_SUBNET_TOPO_H
#define DNET_SUBNET_TOPO_H

#include "dimmnet/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define DNET_TOPO_NONE (-1) /* no such switch, link, host, port or channel */
/* the table model has no 8-bit limit; InfiniBand stops at 254 */
#define DNET_TOPO_PORT_MAX 65534

/** What a link runs at; 0: not stated. */
typedef struct dnet_topo_rate {
    int lanes;
    double lane_gbps; /* signalling rate of a lane */
} dnet_topo_rate_t;

typedef struct dnet_topo_switch {
    char *name;
    uint64_t guid;
    int ports;    /* physical ports, numbered from 1 */
    int level;    /* 0 = edge stage; DNET_TOPO_NONE until finish guesses it */
    int tree;     /* which of several joined trees, from 0 */
    int group;    /* director, pod or router group; meaning set by the generator */
    int index;    /* place of the switch inside its group */
    int hosts;    /* servers attached; counted by finish */
    uint16_t lid; /* base LID; 0 = none known */
    uint8_t lmc;  /* it has 2^lmc LIDs */
    bool down;    /* out of service */

    uint16_t stated_lid; /* its LIDs as the topology file says, whatever a dump of tables does */
    uint8_t stated_lmc;
    int lost; /* links to switches that it had in an earlier state, and has no more */
} dnet_topo_switch_t;

typedef struct dnet_topo_host {
    char *name;
    uint64_t guid;                  /* port GUID */
    int sw;                         /* switch */
    int port;                       /* port of that switch */
    int adapter;                    /* servers of one number are ports of one adapter */
    int hca_port;                   /* port of the adapter, from 1 */
    uint16_t lid;                   /* base LID; 0 = none known */
    uint8_t lmc;                    /* it has 2^lmc LIDs */
    dnet_topo_rate_t rate, nominal; /* of its link, and what both ends support */
    bool down;                      /* its link is out of service */

    uint16_t stated_lid; /* its LIDs as the topology file says */
    uint8_t stated_lmc;
} dnet_topo_host_t;

typedef struct dnet_topo_link {
    int sw[2]; /* channel 2*link leads from sw[0] to sw[1], channel 2*link+1 back */
    int port[2];
    dnet_topo_rate_t rate, nominal;
    double gbps;         /* signalling rate of all lanes; 0 = not stated */
    double nominal_gbps; /* what both ends support; 0 = not known */
    /* rate in rates of the fastest server's link, or of the fastest link where servers state none;
     * 1 where the link states none.  Made by finish */
    double capacity;
    /* weight hint: factor on the link's load when tables are balanced; 1 = neutral */
    double cost;
    bool down; /* out of service */
} dnet_topo_link_t;

typedef struct dnet_topo {
    char *name;
    dnet_topo_switch_t *sw;
    dnet_topo_host_t *host;
    dnet_topo_link_t *link;
    int *end; /* [channel]: the switch it leaves, as in `link`; searches read little else */
    int n_switches, n_hosts, n_links;
    bool symmetric; /* a regular tree: equal weights are ordered in rounds, not at random */

    /* Made by finish.  Slots number a switch's links in service, 0..degree-1, in port order. */
    int *adj_start;  /* [n_switches + 1] into adj */
    int *adj;        /* out channels */
    int *slot;       /* [channel]: slot of the channel at its tail, NONE if out of service */
    int *port_start; /* [n_switches + 1] into port_end */
    int *port_end;   /* what a port leads to: see dnet_topo_port */
    int *host_start; /* [n_switches + 1] into host_of */
    int *host_of;    /* hosts of a switch in port order */

    int cap_switches, cap_hosts, cap_links, cap_ends;
    dnet_status_t failed; /* first failure while building */
} dnet_topo_t;

/** Switch that channel c leaves. */
static inline int dnet_topo_tail(const dnet_topo_t *t, int c)
{
    return t->end[c];
}

/** Switch that channel c leads to. */
static inline int dnet_topo_head(const dnet_topo_t *t, int c)
{
    return t->end[c ^ 1];
}

/** Port of the tail switch through which channel c leaves. */
static inline int dnet_topo_out_port(const dnet_topo_t *t, int c)
{
    return t->link[c >> 1].port[c & 1];
}

/** Links of switch s in service. */
static inline int dnet_topo_degree(const dnet_topo_t *t, int s)
{
    return t->adj_start[s + 1] - t->adj_start[s];
}

/** Out channel at a slot of switch s. */
static inline int dnet_topo_channel(const dnet_topo_t *t, int s, int slot)
{
    return t->adj[t->adj_start[s] + slot];
}

/** Channels, two for each link, in service or not. */
static inline int dnet_topo_channels(const dnet_topo_t *t)
{
    return 2 * t->n_links;
}

/** Destinations of forwarding tables: hosts 0..n_hosts-1, then the switches. */
static inline int dnet_topo_dests(const dnet_topo_t *t)
{
    return t->n_hosts + t->n_switches;
}

/** Switch at which destination d is reached. */
static inline int dnet_topo_dest_switch(const dnet_topo_t *t, int d)
{
    return d < t->n_hosts ? t->host[d].sw : d - t->n_hosts;
}

/** Name of destination d. */
static inline const char *dnet_topo_dest_name(const dnet_topo_t *t, int d)
{
    return d < t->n_hosts ? t->host[d].name : t->sw[d - t->n_hosts].name;
}

/** LIDs of destination d. */
static inline int dnet_topo_lids(const dnet_topo_t *t, int d)
{
    return 1 << (d < t->n_hosts ? t->host[d].lmc : t->sw[d - t->n_hosts].lmc);
}

typedef enum { DNET_PORT_FREE, DNET_PORT_CHANNEL, DNET_PORT_HOST } dnet_port_kind_t;

/**
 * What a switch port leads to.
 *
 * @param port   from 1; any value is accepted
 * @param which  set to the out channel or the host; untouched for a free port
 * @return kind; a port out of range, or whose link is out of service, is free
 */
dnet_port_kind_t dnet_topo_port(const dnet_topo_t *t, int s, int port, int *which);

/** The same, in service or not: a link that is cut is still a channel. */
dnet_port_kind_t dnet_topo_wired(const dnet_topo_t *t, int s, int port, int *which);

/** Zeroed array; NULL after logging when memory is short.  n may be 0. */
void *dnet_subnet_alloc(size_t n, size_t size);

/** Open a file to read; NULL after logging why not. */
FILE *dnet_subnet_open(const char *path);

/** Close it.  @return status, or ERR_SYSTEM, logged, where that was good but reading has failed */
dnet_status_t dnet_subnet_close(FILE *in, const char *path, dnet_status_t status);

/** New empty topology; NULL when memory is short (logged).  The caller frees it. */
dnet_topo_t *dnet_topo_new(const char *name);

/** Free a topology; NULL is allowed. */
void dnet_topo_free(dnet_topo_t *t);

/** Add a switch; name NULL makes one ("S00007").  @return its number, NONE after a failure. */
int dnet_topo_add_switch(dnet_topo_t *t, const char *name, int ports);

/** Add a server at a port of switch s; port 0 takes the lowest free one; name NULL makes one. */
int dnet_topo_add_host(dnet_topo_t *t, const char *name, int s, int port);

/** Add a link; port 0 takes the lowest free one on that side.  A link to itself is refused. */
int dnet_topo_add_link(dnet_topo_t *t, int a, int port_a, int b, int port_b);

/**
 * Check and index the topology.  Switches without a level get their distance from the nearest
 * switch with servers; trees, groups and indices follow from the levels.
 *
 * @return DNET_OK; ERR_ARGUMENT (two cables in one port, port out of range), ERR_NO_MEMORY; logged
 */
dnet_status_t dnet_topo_finish(dnet_topo_t *t);

/** The part of dnet_topo_finish that checks and indexes; levels stay as they are.  @return as there
 */
dnet_status_t dnet_topo_index(dnet_topo_t *t);

/** Signalling rate of all lanes, Gbit/s; 0: not stated. */
static inline double dnet_topo_gbps(dnet_topo_rate_t rate)
{
    return rate.lanes * rate.lane_gbps;
}

/** State what a link runs at, and what both its ends support. */
static inline void dnet_topo_set_rate(dnet_topo_link_t *link, dnet_topo_rate_t rate,
                                      dnet_topo_rate_t nominal)
{
    link->rate = rate;
    link->nominal = nominal;
    link->gbps = dnet_topo_gbps(rate);
    link->nominal_gbps = dnet_topo_gbps(nominal);
}

/** Name of a lane's signalling rate, "QDR"; "?": none has this rate. */
const char *dnet_topo_speed(double lane_gbps);

/** Take a link out of service or back; renumbers slots only. */
dnet_status_t dnet_topo_set_link(dnet_topo_t *t, int link, bool down);

/** The same for a switch with its links. */
dnet_status_t dnet_topo_set_switch(dnet_topo_t *t, int s, bool down);

/** Take a server's link out of service or back: no packet leaves or reaches it; routes stay. */
void dnet_topo_set_host(dnet_topo_t *t, int host, bool down);

/** A part of a network that can fail. */
typedef struct dnet_topo_part {
    int sw;   /* the switch, or the one that the text names; of a server the one it hangs on */
    int link; /* the link between switches, or NONE */
    int host; /* the server, or NONE */
} dnet_topo_part_t;

/**
 * A switch ("NAME"), a link ("SWITCH:PORT") between switches or to a server, or a server ("NAME"),
 * in service or not.
 *
 * @param part_p  set on success
 * @return false: there is none such
 */
bool dnet_topo_find_part(const dnet_topo_t *t, const char *what, dnet_topo_part_t *part_p);

/** Take one of these out of service, or back.  @return as dnet_topo_set_switch() */
dnet_status_t dnet_topo_set_part(dnet_topo_t *t, const dnet_topo_part_t *part, bool down);

/** Take one of these out of service; ERR_ARGUMENT, logged: none such, or it is already. */
dnet_status_t dnet_topo_cut(dnet_topo_t *t, const char *what);

/** Servers whose switch or link is out of service: no packet leaves or reaches them. */
int dnet_topo_cut_off(const dnet_topo_t *t);

/** True if all switches in service that have servers can reach each other. */
bool dnet_topo_connected(const dnet_topo_t *t);

/** Set piece[switch]: switches that are connected by links in service have the same number.
 *  queue[switch] is working space. */
void dnet_topo_pieces(const dnet_topo_t *t, int *piece, int *queue);

/**
 * Read link hints, lines "switch port cost" ('#' starts a comment): a cost above 1 makes tables
 * avoid the link, below 1 seek it.
 *
 * @return DNET_OK; ERR_FORMAT with file, line and reason; ERR_SYSTEM
 */
dnet_status_t dnet_topo_read_hints(dnet_topo_t *t, const char *path);

/** Number of a switch by name, or GUID in hexadecimal; NONE if there is none. */
int dnet_topo_find_switch(const dnet_topo_t *t, const char *name);

/** The same for a host. */
int dnet_topo_find_host(const dnet_topo_t *t, const char *name);

/**
 * Make a topology from a specification: "kind:arg:arg..." of a generator (dnet_topo_kinds lists
 * them) or "file:PATH" / an existing path of an ibsim net file or ibnetdiscover output.
 *
 * @param seed  for kinds that draw random numbers
 * @param out   set on success; the caller frees it
 * @return DNET_OK; ERR_FORMAT with a line naming the argument or the file, its line and the reason;
 *         ERR_NO_MEMORY; ERR_SYSTEM (file cannot be read)
 */
dnet_status_t dnet_topo_make(const char *spec, uint64_t seed, dnet_topo_t **out);

/** One line per kind of generator: syntax and meaning; NULL after the last. */
const char *dnet_topo_kinds(int i);

/** Read ibsim net or ibnetdiscover text; errors name `where`, the line and the reason. */
dnet_status_t dnet_topo_read(FILE *in, const char *where, dnet_topo_t **out);

/** Write as ibsim net text. */
dnet_status_t dnet_topo_write_ibsim(const dnet_topo_t *t, FILE *out);

/** Write as a Graphviz graph. */
dnet_status_t dnet_topo_write_dot(const dnet_topo_t *t, FILE *out);

/** What links carry, for a picture. */
typedef struct dnet_topo_load {
    const double *of; /* [channel] */
    const char *unit; /* "MB carried" */
} dnet_topo_load_t;

/**
 * Draw as SVG: meshes and tori on their grid, trees in layers or as a matrix, others on a circle.
 *
 * @param load  colours the links; NULL: it is not known
 * @return DNET_OK; ERR_NO_MEMORY; ERR_SYSTEM (writing failed)
 */
dnet_status_t dnet_topo_draw(const dnet_topo_t *t, const dnet_topo_load_t *load, FILE *out);

/** The same without loads. */
dnet_status_t dnet_topo_write_svg(const dnet_topo_t *t, FILE *out);

#endif
