/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A port by libibverbs, for the verbs files of this folder only: verbs_device.c finds the library,
 * a device and an address; verbs_connect.c joins queue pairs; verbs.c carries messages.
 */
#ifndef DNET_EMU_VERBS_END_H
#define DNET_EMU_VERBS_END_H

#include <infiniband/verbs.h>

#include "emulator/swif/hosts/plug.h"
#include "emulator/swif/hosts/unmapped.h"

#define VERBS_LIBRARY "libibverbs.so.1"
#define VERBS_TX 128u              /* messages under way of a process, each a registered slot */
#define VERBS_DEPTH 64u            /* of which so many to one peer */
#define VERBS_UD 64u               /* buffers for CONNECT, each way */
#define VERBS_BYTES 16384u         /* of a receive buffer, and of a message */
#define VERBS_UD_BYTES 160u        /* with the 40 of the global route header */
#define VERBS_INLINE 128u          /* shorter messages are asked to go inline */
#define VERBS_REGIONS 64u          /* registrations that are kept for the next message */
#define VERBS_READS 16u            /* under way at once to one peer, at most */
#define VERBS_EVENTS 16            /* completions taken at once */
#define VERBS_CONNECT_NS 10000000u /* CONNECT is repeated after so long, then after twice */
#define VERBS_CONNECT_MAX_NS 1000000000u /* and so on up to this */

/* The functions of the library that are called by name. */
typedef struct {
    void *library;
#define DNET_VERBS_FUNCTION(name) __typeof__(ibv_##name) *name;
#include "emulator/swif/hosts/verbs_functions.def"
#undef DNET_VERBS_FUNCTION
    __typeof__(_ibv_query_gid_ex) *query_gid_ex;
} dnet_emu_verbs_lib_t;

/* Address of a port. */
typedef struct {
    uint8_t gid[16]; /* +0x00 */
    uint32_t qpn;    /* +0x10 of the UD queue pair */
    uint16_t lid;    /* +0x14 0: RoCE */
    uint16_t pkey;   /* +0x16 */
    uint8_t mtu;     /* +0x18 enum ibv_mtu */
    uint8_t roce;    /* +0x19 */
    uint8_t reads;   /* +0x1a that it answers at once, of one peer */
    uint8_t reserved[9];
} dnet_emu_verbs_at_t;
_Static_assert(sizeof(dnet_emu_verbs_at_t) == sizeof(((dnet_emu_port_address_t *) 0)->at),
               "a verbs address is a port's");

/* A device's port, and how it is used. */
typedef struct {
    struct ibv_context *context;
    char name[64];
    uint8_t port;
    bool roce;
    struct ibv_port_attr attr;
    uint16_t gid_index, pkey_index, pkey;
    uint8_t gid[16];
    uint8_t mtu;          /* enum ibv_mtu */
    uint8_t distance;     /* dnet_adapter_distance_t of the device */
    uint32_t mbits_per_s; /* of the link */
    char text[192];       /* what it is, or why it cannot be used */
} dnet_emu_verbs_port_t;

typedef enum {
#define DNET_VERBS_STATE(name, meaning) VERBS_##name,
#include "emulator/swif/hosts/verbs_states.def"
#undef DNET_VERBS_STATE
} dnet_emu_verbs_state_t;

/* What a UD message says.  Each queue pair of a pair of ports has a higher number of its side than
 * the one before, so that late messages are known. */
typedef struct {
    uint32_t magic;           /* +0x00 */
    uint32_t to_key;          /* +0x04 of the port it goes to */
    uint32_t from_key;        /* +0x08 */
    uint32_t qpn;             /* +0x0c */
    uint32_t psn;             /* +0x10 */
    uint32_t number;          /* +0x14 of the sender's queue pair, 1.. */
    uint32_t seen;            /* +0x18 the receiver's that it is joined to; 0: none */
    uint32_t wants;           /* +0x1c an answer: the sender is not READY */
    dnet_emu_verbs_at_t from; /* +0x20 */
} dnet_emu_verbs_connect_t;
_Static_assert(sizeof(dnet_emu_verbs_connect_t) == 68, "CONNECT");

typedef struct dnet_emu_verbs_region dnet_emu_verbs_region_t; /* verbs_memory.c */

typedef struct dnet_emu_verbs_peer {
    struct dnet_emu_verbs_peer *next;
    dnet_emu_verbs_at_t at;
    uint32_t key;
    dnet_emu_verbs_state_t state;
    struct ibv_ah *ah; /* NULL: there has been no way yet */
    struct ibv_qp *qp;
    uint32_t psn;
    uint32_t number;           /* of the queue pair, or of the last one */
    uint32_t peer_number;      /* that it is joined to; 0: none */
    uint32_t last_number;      /* highest of the peer's that was heard of */
    uint32_t under_way;        /* requests that have not completed */
    uint32_t completed;        /* those that have, */
    uint32_t completed_then;   /* and had at the last look */
    uint64_t then_ns;          /* the first look at which they were so many; 0: none is under way */
    uint64_t patience_ns;      /* when none has completed for so long it is connected anew */
    uint64_t next_ns, wait_ns; /* CONNECT is said again; without `ah`: one is tried for */
    uint64_t closing_ns;       /* CLOSING: since then */
    bool has_ended;            /* the queue pair, in error: it takes no receive buffer any more */
    bool was_ready;            /* at some time */
    bool asking;               /* whether it is there: by a write of no bytes */
    bool answered;
    uint64_t failing_ns; /* the first failure since a message got through; 0: none */
    char why[96];        /* DEAD */
} dnet_emu_verbs_peer_t;

/* A message or read under way, or a question. */
typedef struct {
    dnet_emu_plug_op_t *op;      /* NULL: a question */
    dnet_emu_verbs_peer_t *peer; /* NULL: free */
    uint8_t *tail;               /* last bytes of where a read puts its data; NULL: no read */
    uint64_t mark;               /* that stand there until it has */
    uint32_t next;               /* free one */
} dnet_emu_verbs_tx_t;

/* What a work request is: the upper half of its number. */
enum { VERBS_WR_RX, VERBS_WR_TX, VERBS_WR_UD_RX, VERBS_WR_UD_TX };

struct dnet_emu_plug_end {
    dnet_emu_verbs_lib_t lib;
    dnet_emu_verbs_port_t port;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel;
    struct ibv_cq *cq;
    struct ibv_srq *srq;
    struct ibv_qp *ud;
    struct ibv_mr *mr;
    int wait_fd; /* an epoll descriptor: completions, and what happens to the device */
    uint32_t key;
    uint64_t wait_ns; /* no message gets through for so long: the peer is DEAD */
    uint32_t inline_bytes;
    uint32_t buffers; /* in the shared receive queue */
    uint8_t *slab;    /* all registered memory: */
    size_t slab_bytes;
    uint8_t *rx, *tx_slots, *ud_rx, *ud_tx;
    dnet_emu_verbs_tx_t tx[VERBS_TX];
    uint32_t tx_free;                  /* first free; VERBS_TX: none */
    uint64_t ud_tx_free, ud_rx_posted; /* a bit for each */
    /* why a datagram could not leave, after which its queue pair takes none; NULL: it does */
    const char *ud_why;
    uint64_t ud_failing_ns, ud_again_ns; /* since when, and when it is opened anew */
    dnet_emu_verbs_at_t at;
    dnet_emu_verbs_peer_t *peers;
    dnet_emu_unmapped_t *unmapped; /* NULL: nothing has been registered but the slab */
    dnet_emu_verbs_region_t *regions;
    uint32_t regions_count;
    uint64_t last_mark;
    uint64_t registered, reused; /* messages whose memory was, or had been */
    int64_t rnr_before;          /* the port's count when it was opened; -1: it shows none */
    bool refusal_told;
    uint8_t reads;      /* that this adapter begins at once, to one peer */
    uint32_t unsettled; /* peers that are RESOLVING or CLOSING */
    uint32_t polls;
    struct ibv_wc kept[VERBS_EVENTS]; /* read from the queue, */
    int kept_count, kept_at;          /* so many (below 0: it failed), and the next one to do */
    uint32_t again[VERBS_EVENTS];     /* receive buffers that have been read, not yet offered */
    uint32_t again_count, again_most; /* so many, and may be while messages come */
    bool armed;
    bool fatal;   /* the device is gone */
    bool is_down; /* the port */
    /* One of several rails: its number, and the first of them, which keeps memory registered for
     * all; else itself. */
    bool is_rail;
    uint8_t rail;
    dnet_emu_plug_end_t *first;
    dnet_emu_plug_end_t *rails[DNET_RAILS_MAX]; /* of the first: all */
    unsigned rails_count;
};

static inline uint64_t dnet_emu_verbs_wr(unsigned kind, uint32_t i)
{
    return (uint64_t) kind << 32 | i;
}

/* Is a GID an IPv4 address, the last 4 bytes? */
static inline bool dnet_emu_verbs_is_v4(const uint8_t *gid)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    return memcmp(gid, mapped, sizeof mapped) == 0;
}

/* ---- verbs_device.c ---- */

/* Load the library.  @return false: not there or too old; dlerror() says so */
bool dnet_emu_verbs_load(dnet_emu_verbs_lib_t *lib);

/* What there is on this machine; see the plug's found operation. */
bool dnet_emu_verbs_found(char *text, size_t bytes);

/* Messages of all processes that found no receive buffer at a peer, as the device counts them.
 * @return -1: it does not */
int64_t dnet_emu_verbs_rnr(const dnet_emu_verbs_port_t *p);

/* Ports for several rails: the plug's operation of this name. */
uint32_t dnet_emu_verbs_choose_rails(const dnet_emu_port_config_t *config, uint32_t most,
                                     dnet_emu_port_config_t *rail, char (*name)[DNET_RAIL_NAME]);

/* Open a device's port.  @return DNET_OK; DNET_NOT_FOUND, DNET_ERR_SYSTEM (logged) */
dnet_status_t dnet_emu_verbs_choose(const dnet_emu_verbs_lib_t *lib,
                                    const dnet_emu_port_config_t *config, dnet_emu_verbs_port_t *p);

/* ---- verbs_memory.c: the plug's operations of these names ---- */

void *dnet_emu_verbs_hold(dnet_emu_plug_end_t *e, const void *at, uint64_t bytes, bool steady,
                          dnet_remote_memory_t *memory_p);
void dnet_emu_verbs_let_go(dnet_emu_plug_end_t *e, void *held);
void dnet_emu_verbs_forget(dnet_emu_plug_end_t *e, const void *at, uint64_t bytes);

/* The local key of what is held, on a rail. */
uint32_t dnet_emu_verbs_key(const void *held, unsigned rail);

/* Nothing is held any more. */
void dnet_emu_verbs_memory_close(dnet_emu_plug_end_t *e);

/* ---- verbs_connect.c ---- */

/* Make the UD queue pair.  @return 0, or an error number with the call in *what_p */
int dnet_emu_verbs_ud_open(dnet_emu_plug_end_t *e, const char **what_p);

/* A datagram has come, or its buffer back, unless the queue pair has failed: it is offered again.
 * @return 0, or an error number */
int dnet_emu_verbs_ud_received(dnet_emu_plug_end_t *e, uint32_t i, const struct ibv_wc *wc);

/* A datagram has left, or cannot. */
void dnet_emu_verbs_ud_sent(dnet_emu_plug_end_t *e, uint32_t i, const struct ibv_wc *wc);

/* The peer with that address, made if need be; NULL: no memory (logged). */
dnet_emu_verbs_peer_t *dnet_emu_verbs_peer(dnet_emu_plug_end_t *e, const dnet_emu_verbs_at_t *at,
                                           uint32_t key);

/* From IDLE to RESOLVING, if there is a way to the peer. */
void dnet_emu_verbs_connect(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *peer);

/* The queue pair has failed, or the peer has a new one. */
void dnet_emu_verbs_disconnect(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *peer);

/* A message could not be sent.  @param why  NULL: for what became of one before it */
void dnet_emu_verbs_failed(dnet_emu_plug_end_t *e, dnet_emu_verbs_peer_t *peer, const char *why);

/* A queue pair in error has completed its last receive request. */
void dnet_emu_verbs_has_ended(dnet_emu_plug_end_t *e, const struct ibv_qp *qp);

/* Say CONNECT again where it is time, and end what is CLOSING.
 *
 * @param emptied  completions have been taken until there were none, since the last look at events
 * @return whether some still is CLOSING, for which one of these may come */
bool dnet_emu_verbs_settle(dnet_emu_plug_end_t *e, bool emptied);

/* Make the connections anew on which nothing completes. */
void dnet_emu_verbs_look_at_stuck(dnet_emu_plug_end_t *e);

#endif
