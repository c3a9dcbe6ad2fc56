/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A process's port to other hosts and its connections, for the files of this folder only: the head
 * of a message on the wire, what is kept until it is acknowledged, and who calls whom from the
 * lowest floor up: connection.c, out.c, flow.c, in.c, reads.c, guests.c, port.c, hosts.c.
 */
#ifndef DNET_EMU_CONNECTION_H
#define DNET_EMU_CONNECTION_H

#include <pthread.h>

#include "common/clock.h"
#include "emulator/core_logic.h"
#include "emulator/swif/hosts/alive.h"
#include "emulator/swif/hosts/plug.h"
#include "srq_flowctl/connection.h"

#define WIRE_VERSION 3u
#define POOL 65536u  /* buffers; room shows when a packet is delivered */
#define WINDOW 64u   /* packets under way to one process, */
#define MESSAGES 16u /* in so many of the plug's messages: what follows is gathered meanwhile */

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
    uint8_t share;    /* +0x0b messages that may be under way the other way; 0: any number */
    uint16_t epoch;   /* +0x0c of the sender */
    uint16_t packets; /* +0x0e as in dnet_emu_packet_t */
    uint32_t seq;     /* +0x10 */
    uint32_t ack;     /* +0x14 last packet delivered of the other direction */
    uint32_t bytes;   /* +0x18 of the message, with its head */
    uint32_t zero;    /* +0x1c */
} dnet_emu_wire_head_t;
_Static_assert(sizeof(dnet_emu_wire_head_t) == 32, "head of a message");

#define WIRE_ALIGNED(bytes) (((bytes) + 7u) & ~7u)

/* Data of a packet that still goes in one message of a plug. */
#define WIRE_DATA_BYTES(plug) \
    ((plug)->message_bytes - (uint32_t) sizeof(dnet_emu_wire_head_t) - 32u)

typedef struct dnet_emu_connection dnet_emu_connection_t;

/* One message of the plug, which may still be needed: one of ours, or several that leave together
 * and are kept until the last one is acknowledged. */
typedef struct dnet_emu_kept {
    dnet_emu_plug_op_t op;      /* first: the plug knows the message by it */
    struct dnet_emu_kept *next; /* of its connection */
    dnet_emu_connection_t *to;  /* NULL: not needed once it has left */
    bool under_way;             /* the plug has it */
    uint32_t number;            /* among those of its connection */
    uint32_t first, count;      /* number of the first packet, and how many there are */
    uint32_t handed;            /* of which so many have left once */
    uint32_t room, bytes;       /* of data, and those in use */
    uint8_t size;               /* of its room, among those that are kept (out.c) */
    _Alignas(8) uint8_t data[]; /* heads, each with what follows it */
} dnet_emu_kept_t;

/* Both directions between this process and one other. */
struct dnet_emu_connection {
    dnet_emu_connection_t *next;     /* of all */
    dnet_emu_connection_t *due_next; /* of those that have something to say */
    uint64_t peer;                   /* as the plug knows it */
    uint32_t key;                    /* of its port */
    uint16_t lid;
    uint16_t own_lid; /* of this process, as the peer knows it: */
    uint16_t its_lid; /* a guest has another one there, and the peer one of its own; 0: no guest */
    uint8_t wid;
    bool is_due;
    bool wants;    /* the process waits for the window */
    bool held;     /* the receiver holds messages back */
    bool unsaid;   /* what each message says beside its content has changed */
    uint8_t share; /* messages that may be under way, 0: any number; */
    uint8_t told;  /* and what the peer has been told of it */
    dnet_fc_tx_t tx;
    dnet_fc_rx_t rx;
    dnet_emu_kept_t *first, *last; /* not acknowledged */
    dnet_emu_kept_t *post;         /* the first that the plug has not got whole; NULL: it has all */
    uint32_t post_seq;             /* first packet that the plug has not got */
    uint32_t acks, ack_messages;   /* packets, and messages, since an acknowledgement was sent */
    uint32_t refused_bytes;        /* of data, in the packet it was stopped with */
    uint32_t words;                /* a bit for each type of control word that is to be sent, */
    dnet_fc_control_t word[DNET_FC_CONTROL_NAK + 1]; /* by type */
    uint64_t acks_since_ns;
    uint64_t unacked_since_ns; /* something was acknowledged last, or nothing was under way */
    uint64_t pause_until_ns;   /* the network has refused a message */
    uint64_t asked_ns;         /* whether it lives: the first question without an answer; 0: none */
    uint64_t ask_next_ns;
    char why[128]; /* it is lost */
};

/* Rooms of one size for messages, the last used first: it is in the cache. */
typedef struct {
    dnet_emu_kept_t *first;
    uint32_t count;
} dnet_emu_spare_t;
#define DNET_EMU_SPARES 5u /* sizes */

/* A process of another host. */
typedef struct {
    dnet_emu_port_address_t at; /* on the first rail */
    const char *host;
    dnet_emu_connection_t *connection; /* NULL: no packet so far */
    dnet_emu_port_address_t *rails;    /* DNET_RAILS_MAX, the first included; NULL: one */
} dnet_emu_far_t;

/* A guest of another host, by its number in the guest table.  The port's thread enters some. */
typedef struct {
    dnet_emu_far_t to;
    _Atomic uint32_t number; /* of this process there; 0: not known yet */
    atomic_bool known;       /* all before this counts */
    atomic_bool left;        /* it has left its job */
    bool failed;             /* it could not be asked for the number, which has been logged */
    dnet_emu_far_process_t who;
} dnet_emu_far_guest_t;

struct dnet_emu_port {
    const dnet_emu_plug_ops_t *plug;
    dnet_emu_plug_end_t *end;
    dnet_emu_alive_t *alive; /* NULL: the network's addresses are not IP's */
    dnet_emu_nic_t *nic;     /* NULL: not joined */
    unsigned wid;
    uint32_t wait_s;
    dnet_emu_port_address_t at[DNET_RAILS_MAX];
    dnet_fc_tx_env_t env;
    dnet_fc_pool_t pool;
    dnet_emu_far_t *to; /* by CLID and WID */
    uint32_t to_count;
    dnet_emu_far_guest_t *guests; /* by number; NULL: there can be none */
    pthread_mutex_t guests_lock;  /* for who enters or frees one */
    dnet_emu_far_process_t own;   /* this process, for guests */
    atomic_bool guest_left;       /* one of them, since the last look */
    uint32_t gathers; /* bytes of packets that are issued at once: they wait, and leave together */
    dnet_emu_spare_t spare[DNET_EMU_SPARES];
    uint32_t buffers; /* in which messages arrive; 0: any number */
    uint32_t budget;  /* packets that may still be taken in this poll */
    dnet_emu_connection_t *connections, *due;
    dnet_clock_t clock;
    uint64_t now_ns, timers_ns;
    struct dnet_emu_read *reads;
    uint32_t reads_due; /* of which so many wait for the plug */
    uint32_t leaving;   /* messages that the plug has */
    uint32_t unacked;   /* messages of the plug with packets */
    dnet_emu_hosts_stats_t stats;
};
/* ---- connection.c: who there is ---- */

/* The process of another host that has a WID; NULL: none is known. */
dnet_emu_far_t *dnet_emu_far_of(const dnet_emu_port_t *port, uint16_t lid, unsigned wid);

/* Its address on a rail; NULL: there is none. */
const dnet_emu_port_address_t *dnet_emu_far_at(const dnet_emu_far_t *f, unsigned rail);

/* The connection to it, made if need be; NULL: no such process, or no memory (logged). */
dnet_emu_connection_t *dnet_emu_connection_of(dnet_emu_port_t *port, uint16_t lid, unsigned wid);

/* The guest of another host that has a number; NULL: none. */
dnet_emu_far_guest_t *dnet_emu_far_guest(const dnet_emu_port_t *port, uint32_t number);

/* The connection has something to say. */
void dnet_emu_connection_due(dnet_emu_port_t *port, dnet_emu_connection_t *c);

/* Its process counts as lost; the first reason stays. */
void dnet_emu_connection_lose(dnet_emu_connection_t *c, const char *why);

/* Messages with packets that are not acknowledged; `left`: of which the plug has had all. */
uint32_t dnet_emu_connection_kept(const dnet_emu_connection_t *c, bool left);

/* The part of the receive buffers that is a sender's (flow control specification, equation 2, of
 * all that send here): a quarter is left for control words, and a half to those that come next.  0:
 * any number */
uint8_t dnet_emu_connection_share(const dnet_emu_port_t *port);

/* ---- out.c: messages out ---- */

/* Room for a packet of so many bytes behind its head, in a message of the plug that gathers packets
 * or in one of its own.  It is not in it before dnet_emu_out_add().
 *
 * @param k_p  out: the message
 * @return its head, filled in but for what is of packets; NULL: no memory (logged) */
dnet_emu_wire_head_t *dnet_emu_out_room(dnet_emu_port_t *port, const dnet_emu_connection_t *c,
                                        uint32_t bytes, dnet_emu_kept_t **k_p);

/* The packet at that head is complete, and the next one of its connection. */
void dnet_emu_out_add(dnet_emu_port_t *port, dnet_emu_connection_t *c, dnet_emu_kept_t *k,
                      const dnet_emu_wire_head_t *h);

/* The packet at that room will not be. */
void dnet_emu_out_give_up(dnet_emu_port_t *port, dnet_emu_kept_t *k);

/* Let everything go that can.  @return true: there is nothing left to say */
bool dnet_emu_out_push(dnet_emu_port_t *port, dnet_emu_connection_t *c);

/* The same for all that have something to say. */
void dnet_emu_out_push_due(dnet_emu_port_t *port);

/* All packets of a message have been acknowledged. */
void dnet_emu_out_release(dnet_emu_port_t *port, dnet_emu_kept_t *k);

/* The plug's sent event, and its lost event. */
void dnet_emu_out_sent(void *arg, dnet_emu_plug_op_t *op, const char *why);
void dnet_emu_out_lost(void *arg, uint64_t peer);

/* ---- flow.c: the connection machine's wishes ---- */

extern const dnet_fc_tx_ops_t dnet_emu_connection_tx_ops;
extern const dnet_fc_rx_ops_t dnet_emu_connection_rx_ops;

/* May the process issue a packet that takes room at the receiver? */
bool dnet_emu_connection_is_open(const dnet_emu_port_t *port, const dnet_emu_connection_t *c);

/* May a process go on that was told to wait for that? */
bool dnet_emu_connection_reopens(const dnet_emu_connection_t *c);

/* [X.6] The process may go on: a RESEND entry, as if the receiver had sent one. */
void dnet_emu_connection_resume(dnet_emu_port_t *port, dnet_emu_connection_t *c);

/* [X.6] It asks after its stop: the process may not have learnt of that, or its RESEND is lost. */
void dnet_emu_connection_remind(dnet_emu_port_t *port, const dnet_emu_connection_t *c);

/* Probe where an answer is overdue. */
void dnet_emu_connection_run_timers(dnet_emu_port_t *port);

/* ---- in.c: messages in ---- */

/* The plug's arrived event. */
bool dnet_emu_in_arrived(void *arg, uint8_t *data, uint32_t bytes);

#endif
