/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process's port to other hosts and its connections, for the files of this folder only: the head
 * of a message on the wire, what is kept until it is acknowledged, and who calls whom from the
 * lowest floor up: connection.c, out.c, flow.c, in.c, reads.c, port.c, hosts.c.
 */
#ifndef DNET_EMU_CONNECTION_H
#define DNET_EMU_CONNECTION_H

#include "emulator/core_logic.h"
#include "emulator/swif/hosts/alive.h"
#include "emulator/swif/hosts/plug.h"
#include "srq_flowctl/connection.h"

#define WIRE_VERSION 2u
#define POOL 65536u /* buffers; room shows when a packet is delivered */
#define WINDOW 64u  /* packets under way to one process */

/* What a message is. */
enum { WIRE_DATA, WIRE_WORDS };

enum {                /* dnet_emu_wire_head_t.flags */
       WIRE_LAST = 1, /* nothing else waits to be sent */
       WIRE_ACK = 2,  /* `ack` counts */
       WIRE_HOLD = 4, /* the receiver of the other direction holds messages back */
};

/* Head of a message, little endian; then header lines and data of a packet, or control words.
 * Messages to one peer may leave together: each begins at a multiple of 8 bytes. */
typedef struct {
    uint32_t key;     /* +0x00 of the port it goes to */
    uint8_t version;  /* +0x04 */
    uint8_t kind;     /* +0x05 */
    uint8_t flags;    /* +0x06 */
    uint8_t count;    /* +0x07 header lines, or words */
    uint16_t slid;    /* +0x08 */
    uint8_t swid;     /* +0x0a */
    uint8_t reserved; /* +0x0b */
    uint16_t epoch;   /* +0x0c of the sender */
    uint16_t packets; /* +0x0e as in dnet_emu_packet_t */
    uint32_t seq;     /* +0x10 */
    uint32_t ack;     /* +0x14 last packet delivered of the other direction */
    uint32_t bytes;   /* +0x18 of the message, with its head */
    uint32_t zero;    /* +0x1c */
} dnet_emu_wire_head_t;
_Static_assert(sizeof(dnet_emu_wire_head_t) == 32, "head of a message");

#define WIRE_ALIGNED(bytes) (((bytes) + 7u) & ~7u)

/* Data of packets that go in one message of a plug. */
#define WIRE_DATA_BYTES(plug) \
    ((plug)->message_bytes - (uint32_t) sizeof(dnet_emu_wire_head_t) - 32u)

typedef struct dnet_emu_connection dnet_emu_connection_t;

/* A message that may still be needed. */
typedef struct dnet_emu_kept {
    dnet_emu_plug_op_t op;      /* first: the plug knows the message by it */
    struct dnet_emu_kept *next; /* of its connection */
    dnet_emu_connection_t *to;  /* NULL: not needed once it has left */
    bool under_way;             /* the plug has it */
    bool again;                 /* it had it before */
    uint32_t followers;         /* so many behind it left together with it */
    _Alignas(8) dnet_emu_wire_head_t head;
    uint8_t data[];
} dnet_emu_kept_t;

/* Both directions between this process and one other. */
struct dnet_emu_connection {
    dnet_emu_connection_t *next;     /* of all */
    dnet_emu_connection_t *due_next; /* of those that have something to say */
    uint64_t peer;                   /* as the plug knows it */
    uint16_t lid;
    uint8_t wid;
    bool is_due;
    bool wants; /* the process waits for the window */
    bool held;  /* the receiver holds messages back */
    bool hold_unsaid;
    dnet_fc_tx_t tx;
    dnet_fc_rx_t rx;
    dnet_emu_kept_t *first, *last; /* not acknowledged */
    dnet_emu_kept_t *post;         /* the first that the plug has not got; NULL: it has all */
    uint32_t acks;                 /* packets delivered since an acknowledgement was sent */
    uint32_t words;                /* a bit for each type of control word that is to be sent, */
    dnet_fc_control_t word[DNET_FC_CONTROL_NAK + 1]; /* by type */
    uint64_t acks_since_ns;
    uint64_t pause_until_ns; /* the network has refused a message */
    uint64_t asked_ns;       /* whether it lives: the first question without an answer; 0: none */
    uint64_t ask_next_ns;
    char why[128]; /* it is lost */
};

/* A process of another host. */
typedef struct {
    dnet_emu_port_address_t at;
    const char *host;
    dnet_emu_connection_t *connection; /* NULL: no packet so far */
} dnet_emu_far_t;

struct dnet_emu_port {
    const dnet_emu_plug_ops_t *plug;
    dnet_emu_plug_end_t *end;
    dnet_emu_alive_t *alive; /* NULL: the network's addresses are not IP's */
    dnet_emu_nic_t *nic;     /* NULL: not joined */
    unsigned wid;
    uint32_t wait_s;
    dnet_emu_port_address_t at;
    dnet_fc_tx_env_t env;
    dnet_fc_pool_t pool;
    dnet_emu_far_t *to; /* by CLID and WID */
    uint32_t to_count;
    bool gathers;           /* more follows at once: packets wait */
    dnet_emu_kept_t *spare; /* room for long messages, the last used first: it is in the cache */
    uint32_t spares;
    dnet_emu_connection_t *connections, *due;
    uint64_t now_ns, timers_ns;
    struct dnet_emu_read *reads;
    uint32_t reads_due; /* of which so many wait for the plug */
    uint32_t leaving;   /* messages that the plug has */
    uint32_t unacked;   /* packets */
    dnet_emu_hosts_stats_t stats;
};
/* ---- connection.c: who there is ---- */

/* The process of another host that has a WID; NULL: none is known. */
dnet_emu_far_t *dnet_emu_far_of(const dnet_emu_port_t *port, uint16_t lid, unsigned wid);

/* The connection to it, made if need be; NULL: no such process, or no memory (logged). */
dnet_emu_connection_t *dnet_emu_connection_of(dnet_emu_port_t *port, uint16_t lid, unsigned wid);

/* The connection has something to say. */
void dnet_emu_connection_due(dnet_emu_port_t *port, dnet_emu_connection_t *c);

/* Its process counts as lost; the first reason stays. */
void dnet_emu_connection_lose(dnet_emu_connection_t *c, const char *why);

/* ---- out.c: messages out ---- */

/* A message of so many bytes behind the head.  NULL: no memory (logged). */
dnet_emu_kept_t *dnet_emu_out_keep(dnet_emu_port_t *port, const dnet_emu_connection_t *c,
                                   uint32_t bytes);

/* It is needed no more. */
void dnet_emu_out_drop(dnet_emu_port_t *port, dnet_emu_kept_t *k);

/* Let everything go that can.  @return true: there is nothing left to say */
bool dnet_emu_out_push(dnet_emu_port_t *port, dnet_emu_connection_t *c);

/* The same for all that have something to say. */
void dnet_emu_out_push_due(dnet_emu_port_t *port);

/* A packet has been acknowledged. */
void dnet_emu_out_release(dnet_emu_port_t *port, dnet_emu_kept_t *k);

/* The plug's sent event. */
void dnet_emu_out_sent(void *arg, dnet_emu_plug_op_t *op, const char *why);

/* ---- flow.c: the connection machine's wishes ---- */

extern const dnet_fc_tx_ops_t dnet_emu_connection_tx_ops;
extern const dnet_fc_rx_ops_t dnet_emu_connection_rx_ops;

/* May a packet be sent, with no more than a window under way? */
bool dnet_emu_connection_is_open(const dnet_emu_connection_t *c, uint32_t window);

/* [X.6] The process may go on: a RESEND entry, as if the receiver had sent one. */
void dnet_emu_connection_resume(dnet_emu_port_t *port, dnet_emu_connection_t *c);

/* Probe where an answer is overdue. */
void dnet_emu_connection_run_timers(dnet_emu_port_t *port);

/* ---- in.c: messages in ---- */

/* The plug's arrived event. */
void dnet_emu_in_arrived(void *arg, uint8_t *data, uint32_t bytes);

#endif
