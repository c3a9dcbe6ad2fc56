/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A port of the plug over TCP sockets, for its files only, from the lowest floor up: tcp_address.c,
 * tcp_stream.c, tcp_connect.c, tcp.c.
 *
 * Two processes have one connection for both directions, made by whoever sends first.  Each begins
 * with a greeting and its answer (tcp_connect.c); then frames follow each other: messages, requests
 * to read memory of the other side, and what was read (tcp_stream.c).
 */
#ifndef DNET_EMU_TCP_END_H
#define DNET_EMU_TCP_END_H

#include <netinet/in.h>

#include "emulator/swif/hosts/plug.h"

/* The longest message: the packets of the longest message of MPI that is sent at once, with their
 * heads. */
#define TCP_MESSAGE_BYTES 69632u
/* Read at once: two of them. */
#define TCP_BUFFER_BYTES 139264u
/* Longest read at once. */
#define TCP_READ_MOST 0x40000000u
/* Why nothing can be sent where a process has no descriptor for another connection. */
#define TCP_FULL "cannot be reached: too many open files (ulimit -n)"

typedef union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} dnet_emu_tcp_address_t;

typedef enum { TCP_MESSAGE, TCP_ASKS, TCP_DATA, TCP_REFUSED, TCP_AHEAD } dnet_emu_tcp_kind_t;

/* Head of a frame; integers as the machine has them, for ranks of a job run on one kind. */
typedef struct {
    uint32_t kind;  /* dnet_emu_tcp_kind_t */
    uint32_t bytes; /* that follow: of the message, of what was asked for */
} dnet_emu_tcp_frame_t;

/* What follows the head of TCP_ASKS, and, before the data, that of TCP_AHEAD. */
typedef struct {
    uint64_t address, key, bytes;
} dnet_emu_tcp_request_t;

/* The first that is sent on a connection, in both directions. */
typedef struct {
    uint32_t magic;
    uint32_t to_key, from_key; /* of the ports */
    uint32_t is_used;          /* of the answer: the connection is the one to be used */
    dnet_emu_tcp_address_t from;
} dnet_emu_tcp_greeting_t;

/* A frame that waits to leave, or a read whose data have not come: in the scratch of its operation,
 * or, of what this process is asked for, allocated. */
typedef struct dnet_emu_tcp_out {
    struct dnet_emu_tcp_out *next;
    union {
        const uint8_t *data; /* TCP_MESSAGE, TCP_DATA, TCP_AHEAD */
        uint8_t *to;         /* TCP_ASKS */
    };
    dnet_emu_tcp_frame_t frame;
    dnet_emu_tcp_request_t request; /* TCP_ASKS, TCP_AHEAD */
    int error;                      /* when it has ended: errno, or 0 */
} dnet_emu_tcp_out_t;
_Static_assert(sizeof(dnet_emu_tcp_out_t) <= sizeof((dnet_emu_plug_op_t *) 0)->scratch,
               "room for a frame");
_Static_assert(offsetof(dnet_emu_tcp_out_t, request) ==
                   offsetof(dnet_emu_tcp_out_t, frame) + sizeof(dnet_emu_tcp_frame_t),
               "a request stands behind its head");

/* In the order of their beginnings. */
typedef struct {
    dnet_emu_tcp_out_t *first, *last;
} dnet_emu_tcp_queue_t;

/* Bytes that were read, of which some are to be taken yet. */
typedef struct dnet_emu_tcp_buffer {
    struct dnet_emu_tcp_buffer *next;
    uint32_t from, to;
    _Alignas(64) uint8_t data[TCP_BUFFER_BYTES];
} dnet_emu_tcp_buffer_t;

typedef enum {
    TCP_NONE,
    TCP_CONNECTING,
    TCP_GREETED, /* the answer is to come */
    TCP_YIELDED, /* both began, and the other one's connection is the one that will be used */
    TCP_OPEN,
    TCP_ACCEPTED /* whose it is, is not known yet */
} dnet_emu_tcp_state_t;

typedef struct dnet_emu_tcp_peer {
    struct dnet_emu_tcp_peer *next;
    dnet_emu_tcp_address_t at;
    uint32_t key;   /* of its port */
    uint32_t users; /* so many times it has been reached, and not been parted with */
    int fd;         /* -1: none */
    dnet_emu_tcp_state_t state;
    bool waits_to_write; /* the epoll descriptor tells when it can be written, */
    bool is_quiet;       /* and does not when it can be read */
    bool is_behind;      /* `in` may hold frames for which there was no time */
    bool expects;        /* data come soon that somebody reads to where they are wanted */
    bool is_busy;
    bool keeps_asking; /* its kernel, each second, whether the connection is there */
    struct dnet_emu_tcp_peer *busy_next;
    dnet_emu_tcp_buffer_t *in;    /* NULL: nothing that is not taken */
    uint64_t coming;              /* bytes of data */
    dnet_emu_tcp_out_t *into;     /* for that read; NULL: nobody wants them */
    dnet_emu_tcp_out_t *follows;  /* goes with the next message; NULL: nothing does */
    dnet_emu_tcp_request_t ahead; /* of data that nobody has asked for yet */
    uint32_t ahead_in;            /* the poll in which their head came; 0: there are none */
    uint32_t sent_ahead;          /* loans whose data were sent ahead, and that last */
    uint32_t rests;               /* so many more loans are not sent ahead */
    uint32_t rtt_looks;           /* of which each may have made the send buffer short */
    dnet_emu_tcp_queue_t out;
    uint64_t left;              /* bytes of the first of `out` that have left */
    dnet_emu_tcp_queue_t reads; /* asked for */
    uint64_t connecting_ns;     /* CONNECTING: since then */
    uint64_t retry_ns;          /* nobody was there: not before then */
    uint64_t failing_ns;        /* one connect after the other fails, since then; 0: none has */
    const char *why;            /* nothing can be sent any more; NULL: it can */
} dnet_emu_tcp_peer_t;

/* Memory that peers may read. */
typedef struct {
    const uint8_t *at;
    uint64_t bytes;
    uint32_t key;              /* another one each time */
    uint32_t next;             /* free: the next free one */
    dnet_emu_tcp_peer_t *to;   /* who was sent it ahead; NULL: nobody */
    dnet_emu_tcp_out_t *ahead; /* and what of that has not left; NULL: nothing */
} dnet_emu_tcp_loan_t;

struct dnet_emu_plug_end {
    int epoll_fd, listen_fd;
    dnet_emu_tcp_address_t at;
    uint32_t key;
    char network[64];
    uint32_t mbits_per_s; /* of its link; 0: not known */
    uint64_t wait_ns;     /* connects fail for so long: the peer is lost */
    dnet_emu_tcp_peer_t *peers, *strangers;
    bool is_full;              /* of descriptors; it has been said */
    uint32_t connected;        /* of which so many have a socket */
    dnet_emu_tcp_peer_t *last; /* the one that was heard of last; NULL: none */
    uint32_t looks;            /* at that one, since the last look at all */
    uint32_t in_a_row;         /* polls that brought something from that one and no other */
    dnet_emu_tcp_peer_t *busy; /* those with frames that wait, or that are behind */
    dnet_emu_tcp_buffer_t *spare;
    uint32_t spares;
    dnet_emu_tcp_queue_t ended; /* to be reported */
    dnet_emu_tcp_loan_t *loan;
    uint32_t loans, loan_free;  /* loan_free: number of a free one; `loans`: none */
    uint32_t polls;             /* their number, never 0 */
    dnet_emu_plug_end_t *first; /* of several rails: that one has the loans; else itself */
    bool is_rail;
    /* of the poll that runs */
    const dnet_emu_plug_events_t *events;
    void *arg;
    unsigned arrived;
    bool ends; /* no more shall be taken */
};

/* ---- tcp_address.c ---- */

/* Interfaces that others can reach, each once.  @return how many, at most `most` */
uint32_t dnet_emu_tcp_interfaces(uint32_t most, char (*name)[DNET_RAIL_NAME]);

/* Why nothing goes by an interface; NULL: it does. */
const char *dnet_emu_tcp_interface_ill(int fd, const char *name);

/* What the kernel says of an interface's link. */
void dnet_emu_tcp_interface_facts(const char *name, dnet_emu_rail_facts_t *facts_p);

/* The address of an interface, or of the first that others can reach.
 *
 * @param interface  name or address; NULL: any
 * @param name  out: its name  @param all  out: names of all there are
 * @return false: no such interface */
bool dnet_emu_tcp_own_address(const char *interface, dnet_emu_tcp_address_t *at, char *name,
                              size_t name_bytes, char *all, size_t all_bytes);

/* Bytes of an address; 0: none of IP. */
socklen_t dnet_emu_tcp_address_bytes(const dnet_emu_tcp_address_t *at);

/* Order of two addresses, the same for all; 0: they are equal. */
int dnet_emu_tcp_address_compare(const dnet_emu_tcp_address_t *a, const dnet_emu_tcp_address_t *b);

/* ---- tcp_stream.c ---- */

/* What an operation's scratch is for this plug. */
static inline dnet_emu_tcp_out_t *dnet_emu_tcp_out_of(dnet_emu_plug_op_t *op)
{
    return (dnet_emu_tcp_out_t *) (void *) op->scratch;
}

void dnet_emu_tcp_append(dnet_emu_tcp_queue_t *q, dnet_emu_tcp_out_t *o);

/* Send a message at once.  @return bytes of frame and message that have left; an error ends the
 * connection */
uint64_t dnet_emu_tcp_send_now(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p,
                               const dnet_emu_tcp_frame_t *frame, const void *data);

/* Each poll goes on with it, as long as there is something. */
void dnet_emu_tcp_busy(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p);

/* A frame waits to leave, of which so many bytes have left. */
void dnet_emu_tcp_queue(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, dnet_emu_tcp_out_t *o,
                        uint64_t left);

/* Let leave what waits, as much as the socket takes. */
void dnet_emu_tcp_push(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p);

/* Send the data of a loan with the next message, ahead of the request for them, if that is likely
 * to be good. */
void dnet_emu_tcp_send_ahead(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, uint32_t loan);

/* That message has been sent, or will not be: nothing goes with the next one. */
void dnet_emu_tcp_sent_ahead(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p);

/* A loan that was sent ahead ends. */
void dnet_emu_tcp_ahead_ends(dnet_emu_plug_end_t *e, dnet_emu_tcp_loan_t *l);

/* The data that a request is for have been sent ahead: they go to `o`.  @return false: they have
 * not */
bool dnet_emu_tcp_take_ahead(dnet_emu_tcp_peer_t *p, dnet_emu_tcp_out_t *o);

/* Read what has come and take it, until nothing is left or the poll shall end. */
void dnet_emu_tcp_take(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p);

/* Tell what has ended. */
void dnet_emu_tcp_report(dnet_emu_plug_end_t *e);

/* Close a connection; what was under way ends with an error. */
void dnet_emu_tcp_break(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p, int error);

/* ---- tcp_connect.c ---- */

/* The port's socket.  @return false: errno says why */
bool dnet_emu_tcp_listen(dnet_emu_plug_end_t *e);

/* The peer with that address, made if need be; NULL: no memory (logged). */
dnet_emu_tcp_peer_t *dnet_emu_tcp_peer_of(dnet_emu_plug_end_t *e, const dnet_emu_tcp_address_t *at);

/* Begin a connection, where there is none and none has just failed, or give up one that is not
 * answered. */
void dnet_emu_tcp_connect(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p);

/* Somebody connects. */
void dnet_emu_tcp_accept(dnet_emu_plug_end_t *e);

/* Why nothing gets through to a peer: what was sent is not acknowledged, nor the connection, or one
 * after the other is refused.  NULL: it does, or there is none. */
const char *dnet_emu_tcp_peer_ill(const dnet_emu_tcp_peer_t *p);

/* Has the peer's kernel acknowledged something on an open connection in the last seconds?  From the
 * first call on it is asked each second. */
bool dnet_emu_tcp_hears(dnet_emu_tcp_peer_t *p);

/* A connection that is not open goes on: its descriptor can be read or written. */
void dnet_emu_tcp_go_on(dnet_emu_plug_end_t *e, dnet_emu_tcp_peer_t *p);

#endif
