/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Objects of an endpoint, shared by its files only.
 *
 *   send.c        messages on their way out: eager packets, fragments, queue of a stopped peer
 *   offer.c       messages a receiver holds back: offered, asked for, let go
 *   receive.c     packets on their way in: matching, unexpected messages, fragments
 *   hold.c        the budget of unexpected messages: holding senders back, asking them for messages
 *   rendezvous.c  large messages: request, answer, RVS, completion by receive status
 *   strided.c     memory in SO-DIMM, messages in blocks there: fetched by RVLS, RVLI or packed
 *   layout.c      which blocks of two layouts are fetched together
 *   flow.c        being stopped, stopping, granting; being stalled
 *   limit.c       the thread that offers receive buffers, for comparison
 *   job.c       on which NICs the processes of the job are
 *   rings.c       rings of their own for frequent partners
 *   progress.c    the round over all of them, waiting
 */
#ifndef DNET_ENDPOINT_INTERNAL_H
#define DNET_ENDPOINT_INTERNAL_H

#include "cluster/cluster.h"
#include "common/log.h"
#include "common/options.h"
#include "common/trace.h"
#include "endpoint/endpoint.h"
#include "driver/heap.h"
#include "driver/driver.h"
#include "srq_flowctl/partners.h"
#include "srq_flowctl/srq_flowctl.h"

#include <pthread.h>
#include <stdatomic.h>

#define DNET_LIKELY(x) __builtin_expect(!!(x), 1)
#define DNET_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define DNET_COLD __attribute__((cold, noinline))

/* Bit 31 of the Tag: a dnet_ep_head_t stands before the data (docs/protocol.md 3). */
#define DNET_EP_HEADED (1ull << 31)
/* Envelope of what is not a message: it needs no receive, and no room that a receive must free. */
#define DNET_EP_CONTROL (DNET_EP_HEADED | DNET_ENVELOPE_PASS)

/* Packets with a head: the list is heads.def. */
typedef enum {
#define DNET_HEAD_TYPE(name, value, title) DNET_HEAD_##name = (value),
#include "endpoint/heads.def"
} dnet_head_type_t;

typedef struct {
#define DNET_HEAD_FIELD(type, name, offset, title) type name;
#include "endpoint/heads.def"
} dnet_ep_head_t;
#define DNET_HEAD_FIELD(type, name, at, title) \
    _Static_assert(offsetof(dnet_ep_head_t, name) == (at), "head layout");
#include "endpoint/heads.def"
_Static_assert(sizeof(dnet_ep_head_t) == 24, "head layout");
_Static_assert(sizeof(dnet_ep_head_t) + DNET_EP_AM_HEADER_MAX <= DNET_DRV_BOTF_DATA_MAX,
               "a head and an active message's header fit one window");

/* data go through SO-DIMM in chunks; else straight to an aperture */
#define DNET_CTS_STAGED 1u
/* the receiver fetches the front half itself, and acknowledges it */
#define DNET_CTS_SPLIT 2u

/* where the data lie in the sender's SO-DIMM follows, a dnet_ep_layout_t */
#define DNET_RTS_LAYOUT 1u
_Static_assert(sizeof(dnet_ep_head_t) + sizeof(dnet_ep_layout_t) <= DNET_LH_DATA_BYTES,
               "head and layout lie in the LH entry");

/* Follows the head of a staged CTS. */
typedef struct {
    uint32_t chunk_bytes;
    uint32_t chunks;
} dnet_ep_staging_t;

/* A held message, in an OFFER. */
typedef struct {
    uint64_t envelope;
    uint64_t length;
    uint32_t op;  /* sender's operation */
    uint32_t arg; /* as in an RTS */
} dnet_ep_offer_t;
_Static_assert(sizeof(dnet_ep_offer_t) == 24, "offer layout");

#define DNET_OFFERS_MAX 19u
_Static_assert(DNET_OFFERS_MAX * sizeof(dnet_ep_offer_t) <= DNET_EP_AM_HEADER_MAX,
               "head and offers fit one window");

/* ---- sending ---- */

typedef enum {
    DNET_OP_FREE,
    DNET_OP_PACKETS,    /* packets left to send (perhaps waiting in the peer's queue) */
    DNET_OP_ACK_WAIT,   /* sent; waits for ACK */
    DNET_OP_CTS_WAIT,   /* RTS sent; waits for CTS */
    DNET_OP_DIRECT,     /* answered: one RVS to an aperture */
    DNET_OP_STAGED,     /* answered: chunks by RVS into SO-DIMM */
    DNET_OP_FETCH_WAIT, /* own half is out; waits until the receiver has fetched the other */
} dnet_op_state_t;

typedef struct dnet_op dnet_op_t;
struct dnet_op {
    dnet_op_t *next; /* queue of the peer, list of staged sends, or free list */
    dnet_op_t *prev; /* queue of the peer */
    dnet_op_state_t state;
    uint32_t id; /* index [19:0], generation [31:20] */
    uint32_t peer;
    bool headed;
    bool control; /* not a message */
    bool issued;  /* the NIC has its packet, and waits for room at the receiver */
    dnet_ep_head_t head;
    dnet_ep_staging_t staging; /* STAGED: the receiver's */
    dnet_ep_request_t *req;    /* completed at the end; may be NULL */
    uint64_t envelope;
    const uint8_t *buf;
    size_t len, off;
    uint8_t *owned;      /* freed at the end: what stands between head and data */
    uint32_t header_len; /* bytes of `owned` */
    /* Rendezvous. */
    uint32_t offer_slot;  /* own aperture that offers the message for fetching; 0: none */
    bool fetch_due;       /* the receiver still fetches the front half */
    uint32_t remote_addr; /* address at the receiver */
    uint32_t word;        /* LLCM word in which the receiver counts chunks it has taken */
    uint64_t put;         /* chunks sent */
};

typedef struct {
    dnet_op_t *head, *tail;
} dnet_op_list_t;

/* A peer that has stopped this process or holds its messages back, and what waits for it. */
typedef struct dnet_channel dnet_channel_t;
struct dnet_channel {
    dnet_op_list_t control;  /* wait for room in the peer's rings only, and go first */
    dnet_op_list_t messages; /* oldest first */
    dnet_channel_t *next;    /* free list */
    uint32_t peer;
    dnet_fc_sender_t sender;
    bool limited;     /* others wait for the peer's room as well: */
    uint32_t credits; /* so many packets may go out before the peer is asked for more */
    uint32_t retries; /* since the last packet that went out */
    uint64_t stopped_ns;
    uint64_t retry_ns; /* stopped: when to try again */
    /* Held back (docs/protocol.md 6.1). */
    bool held;
    bool opened;   /* no longer, but an OFFER is still out */
    bool granting; /* a GRANT is being used */
    bool asked;    /* a PULL is to be answered */
    uint16_t want_id;
    uint64_t want_envelope, want_mask;
    uint64_t grant;   /* bytes of the GRANT */
    uint64_t granted; /* of those, what may still be sent; 0 while an OFFER is out */
    dnet_op_t *fresh; /* first message that was never offered; those before it were declined */
    dnet_op_t *out[DNET_OFFERS_MAX]; /* offered, the verdict is not here */
    uint32_t out_count;
    uint16_t out_id; /* PULL that the OFFER answers; 0: none */
};

typedef struct {
    dnet_drv_target_t target;
    dnet_channel_t *channel; /* NULL: nothing waits, send at once */
} dnet_peer_t;

/* ---- receiving ---- */

typedef enum {
    DNET_MESSAGE_WHOLE,   /* data are here */
    DNET_MESSAGE_PARTIAL, /* pieces still arrive */
    DNET_MESSAGE_RTS,     /* rendezvous, not answered yet */
} dnet_message_kind_t;

/* A message that came before its receive. */
struct dnet_ep_message {
    dnet_match_item_t match; /* first member */
    dnet_ep_message_t *next_free;
    dnet_message_kind_t kind;
    bool sync;
    uint32_t rank;  /* sender's rank in the job */
    uint32_t op;    /* sender's operation */
    uint32_t offer; /* RTS: as in the head */
    /* RTS: where the data lie in the sender's SO-DIMM; kind 0: not there */
    dnet_ep_layout_t layout;
    size_t len;
    size_t got;
    dnet_ep_request_t *req; /* PARTIAL: the receive that has claimed it */
    size_t room;            /* bytes of data[] */
    uint8_t data[];
};

/* A message in several packets whose pieces are arriving. */
typedef struct dnet_assembly dnet_assembly_t;
struct dnet_assembly {
    dnet_assembly_t *next;
    uint32_t rank;
    size_t len, got;
    uint8_t *buf;
    size_t cap;
    dnet_ep_request_t *req;     /* the receive, or */
    dnet_ep_message_t *message; /* the unexpected message */
    uint64_t envelope;
};

/* Bytes that a message takes in the store for unexpected messages, at least DNET_MESSAGE_SMALL. */
#define DNET_MESSAGE_SMALL 192u
static inline size_t dnet_message_bytes(size_t room)
{
    size_t bytes = sizeof(dnet_ep_message_t) + room;
    return bytes < DNET_MESSAGE_SMALL ? DNET_MESSAGE_SMALL : bytes;
}

/* Where a receive waits. */
enum {
    DNET_WAITS_IN_NONE,
    DNET_WAITS_IN_POSTED, /* in the posted queue */
    DNET_WAITS_IN_PULLS,  /* and among those that held senders are asked for */
    DNET_WAITS_IN_PROBE,  /* only there: a probe */
};

/* A sender whose messages are held back here. */
typedef struct dnet_hold dnet_hold_t;
struct dnet_hold {
    dnet_hold_t *next; /* first held first */
    uint32_t rank;
    /* it has been told so often that it is held no longer, and has not answered */
    uint32_t openings;
    bool declined;    /* it keeps messages that were offered and not taken */
    bool waiting;     /* for the answer to PULL number want_id */
    uint64_t granted; /* bytes it was granted and has not said DONE to */
    uint16_t want_id;
    dnet_ep_request_t *asked; /* what the PULL is for; NULL: no longer wanted */
    dnet_ep_request_t *at;    /* what to ask for next; NULL: nothing */
};

/* Where a probe that found nothing landed keeps what held senders answer. */
typedef struct dnet_probe dnet_probe_t;
struct dnet_probe {
    dnet_ep_request_t req; /* first member */
    dnet_probe_t *next;    /* newest first */
    bool found;
    uint32_t rank; /* the sender that has it, and the message */
    dnet_ep_offer_t message;
};

/* Where the half of a split message begins that the sender stores. */
static inline size_t dnet_split_at(size_t len)
{
    return len / 2 & ~(size_t) 4095;
}

/* The receiving side of a rendezvous. */
typedef struct dnet_rndv_recv dnet_rndv_recv_t;
struct dnet_rndv_recv {
    dnet_rndv_recv_t *next; /* waiting for room to land */
    uint32_t rank, op;      /* sender's */
    uint32_t offer;         /* sender's aperture with the message; 0: all comes by RVS */
    uint8_t *buf;
    size_t len; /* bytes that will come */
    size_t got;
    size_t sent_bytes; /* as the sender has them */
    uint64_t envelope;
    dnet_ep_layout_t layout; /* as the message's */
    dnet_ep_request_t *req;  /* NULL: an active message */
    /* Active message: header, then data, in one block. */
    uint8_t *am_block;
    uint32_t am_header_len;
    uint16_t am_id;
    /* Where it lands. */
    bool staged;
    uint32_t place;       /* aperture slot, or index of the staging area */
    uint64_t taken;       /* chunks copied out */
    dnet_status_t status; /* of fetching */
    uint32_t credit_word; /* sender's LLCM word for taken chunks; known from the first count */
};

/* DIMMNET_FLOW: what becomes of a packet that finds no room (docs/protocol.md 6.2). */
typedef enum {
    DNET_EP_FLOW_STOP,
    DNET_EP_FLOW_STALL,
    DNET_EP_FLOW_RNR,
    DNET_EP_FLOW_LIMIT,
} dnet_ep_flow_t;

/* The thread of DNET_EP_FLOW_LIMIT. */
typedef struct {
    pthread_t thread;
    bool running;
    atomic_bool stop;
    _Atomic uint64_t events, ns; /* as the counters */
} dnet_limit_t;

#define DNET_STAGING_AREAS 4u
#define DNET_APERTURES_MAX 128u

/* Sends under way. */
typedef struct {
    dnet_op_t **by_id; /* by the index of their id */
    uint32_t cap;
    uint32_t active;
    dnet_op_t *free;
} dnet_ops_t;

/* Ways out that wait for something. */
typedef struct {
    dnet_channel_t *free;
    uint32_t open_channels; /* peers that have one */
    uint64_t retry_ns;      /* the next time of a channel, or earlier */
    uint64_t waited_ns;     /* how long the last stop has taken that ended with a RESEND */
} dnet_tx_t;

/* What has been posted, and what has arrived. */
typedef struct {
    dnet_match_t match;
    dnet_assembly_t *assemblies;
    dnet_assembly_t *assemblies_free;
    dnet_ep_message_t *messages_free; /* blocks of DNET_MESSAGE_SMALL bytes */
    uint64_t unexpected_bytes;
    uint64_t budget; /* most unexpected_bytes */
} dnet_inbox_t;

/* By aperture slot: the receive that lands there, or the send that offers its message. */
typedef struct {
    dnet_rndv_recv_t *recv[DNET_APERTURES_MAX];
    dnet_op_t *send[DNET_APERTURES_MAX];
} dnet_aperture_t;

/* Large messages. */
typedef struct {
    dnet_op_t *sending;                  /* sends whose data are under way, oldest first */
    uint32_t recvs_staged, recvs_direct; /* answered, and data are on their way */
    uint32_t chunk_bytes, chunks;
    enum { DNET_DIRECT_UNTRIED, DNET_DIRECT_WORKS, DNET_DIRECT_FAILS } direct;
    bool staging_reserved;
    uint64_t staging_base;
    uint64_t words_used[DNET_DRV_WORDS / 64];
    dnet_rndv_recv_t *area[DNET_STAGING_AREAS];
    dnet_rndv_recv_t *wait, **wait_tail;
} dnet_rndv_t;

/* Senders whose messages are held back here. */
typedef struct {
    bool hold_all;
    dnet_hold_t *holds, **holds_tail;
    uint32_t holds_count;
    uint64_t granted_bytes;  /* to all of them */
    dnet_hold_t **hold_of;   /* by rank; NULL before the first */
    dnet_match_link_t pulls; /* receives and probes since senders are held, oldest first */
    dnet_probe_t *probes;
    uint32_t probes_count;
    uint16_t pull_id; /* last used */
} dnet_defer_t;

/* Stop and resend. */
typedef struct {
    dnet_fc_receiver_t receiver; /* senders this process has stopped */
} dnet_flow_t;

/* Flow control for comparison. */
typedef struct {
    uint32_t resume_from; /* which peer is resumed next when the NIC no longer stalls */
    dnet_limit_t limit;
    dnet_fc_partners_t partners;
} dnet_compare_t;

/* Memory of dnet_ep_alloc(); the lock is a leaf. */
typedef struct {
    dnet_heap_t heap;
    pthread_mutex_t lock;
} dnet_memory_t;

typedef struct {
    uint32_t yields;
    uint32_t check_next;
    uint64_t idle_since_ns;
    uint64_t checked_ns; /* last look at the peers */
    bool dead_reported;
} dnet_progress_t;

/* Where the job's processes are. */
typedef struct {
    uint64_t id;
    dnet_cluster_t *cluster; /* DIMMNET_CLUSTER; else NULL */
    /* DIMMNET_CLUSTER_NODES: index of each of the job's nodes; NULL: in order */
    uint32_t *cluster_node;
    /* [clids] 1 + number of the NIC in the job; 0: none of the job's */
    uint16_t *node_of;
    uint32_t clids;
    dnet_emu_nic_t *emu;
    int32_t *pids;
} dnet_job_t;

struct dnet_ep {
    dnet_drv_t drv;
    /* What every round or message looks at, on as few cache lines as it fits. */
    bool in_progress;
    /* the hold table is in force, or was and some sender has not answered yet */
    bool holding;
    /* the NIC stalls, or senders try again by a timer: a turn in every round */
    bool flow_turns;
    bool stalled; /* the NIC keeps a packet, and takes no other request */
    bool oversubscribed;
    bool impatient; /* the caller does its own waiting */
    bool tracing;   /* dnet_trace_close() is due */
    uint32_t idle;
    uint64_t looked_ns; /* last look at the clock while idle; 0: not idle */
    dnet_peer_t *peers;
    uint32_t rank, size;
    dnet_rndv_t rndv;
    dnet_flow_t flow;
    dnet_ep_counters_t counters;
    dnet_inbox_t inbox;
    /* Limits that follow from profile and options. */
    uint32_t packet_data; /* data bytes of one packet */
    uint32_t eager_limit;
    uint32_t one_packet; /* longest message that is one packet without a head */
    dnet_ops_t ops;
    dnet_tx_t tx;
    dnet_aperture_t aperture;
    dnet_defer_t defer;
    dnet_progress_t progress;
    dnet_memory_t memory;
    dnet_compare_t compare;
    dnet_job_t job;
    dnet_device_t *dev;
    dnet_emu_capture_t *capture; /* DIMMNET_PCAP; else NULL */
    uint8_t *scratch;            /* one packet, made contiguous */
    dnet_ep_am_fn am_fn;
    void *am_arg;
    dnet_ep_source_fn source_fn;
    void *source_arg;
    dnet_options_t options;
};

/* send.c */
dnet_status_t dnet_op_new(dnet_ep_t *ep, uint32_t peer, dnet_op_t **op_p);
dnet_op_t *dnet_op_find(dnet_ep_t *ep, uint32_t id);
void dnet_op_acknowledged(dnet_ep_t *ep, dnet_op_t *op);
void dnet_op_finish(dnet_ep_t *ep, dnet_op_t *op, dnet_status_t status);
/**
 * Send what the op has to send, or queue it behind what waits for the peer.
 *
 * @return DNET_IN_PROGRESS: the op lives on; else it is finished with that status
 */
dnet_status_t dnet_op_submit(dnet_ep_t *ep, dnet_op_t *op);
/** Send a head with `len` bytes behind it that waits for nothing but room.  Failure is logged. */
void dnet_send_control(dnet_ep_t *ep, uint32_t peer, const dnet_ep_head_t *head, const void *behind,
                       uint32_t len);
/** The peer has room again: send what waits for it, control first, then the stopped packet.
 * @param credits  most packets before it is asked for more; 0: any number */
void dnet_channel_resume(dnet_ep_t *ep, uint32_t peer, uint32_t credits);
/** The own NIC has room again: as dnet_channel_resume(), but nobody has granted anything. */
void dnet_channel_go_on(dnet_ep_t *ep, uint32_t peer);
/** It is ep->tx.retry_ns: try again what has been stopped for long. */
DNET_COLD void dnet_channel_retry(dnet_ep_t *ep, uint64_t now_ns);
/** Send what may go, and close the queue when nothing is left. */
void dnet_channel_flush(dnet_ep_t *ep, dnet_channel_t *ch);
void dnet_channel_remove(dnet_channel_t *ch, dnet_op_t *op);
/** Send nothing to anybody: every peer has a queue, and is stopped. */
DNET_COLD void dnet_channels_stop(dnet_ep_t *ep);

/* offer.c */
/** The receiver has refused the first message of the queue: offer all from there. */
void dnet_offer_start(dnet_ep_t *ep, dnet_channel_t *ch);
/** A message has joined a queue. */
void dnet_offer_added(dnet_ep_t *ep, dnet_channel_t *ch, dnet_op_t *op);
/** The receiver holds messages no longer. */
void dnet_offer_opened(dnet_ep_t *ep, uint32_t peer);
/** A granted message has been sent. */
void dnet_offer_sent(dnet_channel_t *ch, const dnet_op_t *op);
/** The queue has been flushed as far as it may. */
void dnet_offer_flushed(dnet_ep_t *ep, dnet_channel_t *ch);
/** VERDICT, PULL, TAKE or GRANT has come. */
DNET_COLD void dnet_offer_answered(dnet_ep_t *ep, const dnet_ep_head_t *head);

/* hold.c */
void dnet_hold_init(dnet_ep_t *ep);
void dnet_hold_fini(dnet_ep_t *ep);
/** A message with this envelope has come and the store is over its budget. */
DNET_COLD void dnet_hold_over_budget(dnet_ep_t *ep, uint64_t envelope);
/** The NIC has held a message of this rank back. */
void dnet_hold_noted(dnet_ep_t *ep, uint32_t rank);
/** Ask the senders held back for a message for this receive, which has been posted. */
DNET_COLD void dnet_hold_want(dnet_ep_t *ep, dnet_ep_request_t *req);
/** That receive is no longer open. */
DNET_COLD void dnet_hold_unwant(dnet_ep_t *ep, dnet_ep_request_t *req);
/** As dnet_ep_probe(), among the messages of held senders.  @return NULL: none is known yet */
const dnet_probe_t *dnet_hold_probe(dnet_ep_t *ep, uint64_t envelope, uint64_t mask);
/** Claim what dnet_hold_probe() has found; it will not be offered again.  @return false: not now,
 * probe again */
bool dnet_hold_take(dnet_ep_t *ep, const dnet_probe_t *probe);
DNET_COLD void dnet_hold_offered(dnet_ep_t *ep, const dnet_ep_head_t *head,
                                 const dnet_ep_offer_t *offers);
/** PULL_NONE, RELEASE_ACK or DONE has come. */
DNET_COLD void dnet_hold_answered(dnet_ep_t *ep, const dnet_ep_head_t *head);
/** Let held senders send if there is room. */
DNET_COLD bool dnet_hold_round(dnet_ep_t *ep);

/* receive.c */
/** Handle what has arrived.  @param most  entries  @return whether there were any */
bool dnet_receive_round(dnet_ep_t *ep, unsigned most);
void dnet_send_ack(dnet_ep_t *ep, uint32_t rank, uint32_t op);
void dnet_count_received(dnet_ep_t *ep, size_t len);
/* Fill in the results of a receive that has been matched by a message of `sent` bytes. */
static inline void dnet_request_result(dnet_ep_t *ep, dnet_ep_request_t *req, uint64_t envelope,
                                       size_t sent)
{
    if (DNET_UNLIKELY(req->waits_in == DNET_WAITS_IN_PULLS))
        dnet_hold_unwant(ep, req);
    req->waits_in = DNET_WAITS_IN_NONE;
    req->in_layout = false;
    req->envelope = envelope & ~DNET_EP_HEADED;
    req->sent_bytes = sent;
    req->len_bytes = sent < req->cap_bytes ? sent : req->cap_bytes;
}

static inline dnet_status_t dnet_request_status(const dnet_ep_request_t *req)
{
    return req->sent_bytes > req->cap_bytes ? DNET_ERR_TRUNCATED : DNET_OK;
}

/* rendezvous.c */
/** Offer a message for fetching.  @return its address; 0: not offered */
uint32_t dnet_rendezvous_offer(dnet_ep_t *ep, dnet_op_t *op);
/** Close what dnet_rendezvous_offer() has opened. */
void dnet_rendezvous_withdraw(dnet_ep_t *ep, dnet_op_t *op);
void dnet_rendezvous_request(dnet_ep_t *ep, const dnet_ep_head_t *head,
                             const dnet_ep_layout_t *layout, uint64_t envelope,
                             dnet_ep_request_t *req);
void dnet_rendezvous_am(dnet_ep_t *ep, const dnet_ep_head_t *head, const uint8_t *header);
void dnet_rendezvous_answered(dnet_ep_t *ep, const dnet_ep_head_t *head,
                              const dnet_ep_staging_t *staging);
bool dnet_rendezvous_round(dnet_ep_t *ep);
bool dnet_rendezvous_waiting(const dnet_ep_t *ep);

/* strided.c */
void dnet_memory_start(dnet_ep_t *ep);
/** Memory of dnet_ep_alloc() that was not given back: the NIC's segment must stay. */
bool dnet_memory_in_use(const dnet_ep_t *ep);
void dnet_memory_end(dnet_ep_t *ep);
/** An RTS for data that lie in SO-DIMM one behind the other tells where. */
void dnet_strided_offer(dnet_ep_t *ep, dnet_op_t *op);
/** The layout behind an RTS's head; kind 0 where it makes no sense. */
dnet_ep_layout_t dnet_strided_read(const dnet_ep_head_t *head, const dnet_lh_entry_t *entry);
/** Fetch a message from blocks into blocks.  @return false: it cannot be done so, nothing has
 * happened */
bool dnet_strided_fetch(dnet_ep_t *ep, dnet_rndv_recv_t *l);
/** The receiver wants the bytes of a layout one behind the other: copy them. */
dnet_status_t dnet_strided_pack(dnet_ep_t *ep, dnet_op_t *op);

/* progress.c */
uint64_t dnet_clock_ns(void);

/* dump.c */
/** Let SIGUSR2 ask for a dump, unless the application handles it. */
void dnet_dump_arm(void);
bool dnet_dump_wanted(void);
void dnet_dump_now(dnet_ep_t *ep);

/* rings.c */
void dnet_rings_start(dnet_ep_t *ep);
/** A fixed number of ring bytes has been used up, the last of them by this entry. */
DNET_COLD void dnet_rings_sample(dnet_ep_t *ep, const dnet_lh_entry_t *entry);
/** Bytes free in the ring that only this rank uses; DNET_FC_SHARED: it has none. */
uint64_t dnet_rings_own_free(const dnet_ep_t *ep, uint32_t rank);

/* flow.c */
/** Flow Mode of the own NIC. */
dnet_flow_mode_t dnet_flow_mode(const dnet_ep_t *ep);
dnet_status_t dnet_flow_start(dnet_ep_t *ep);
bool dnet_flow_round(dnet_ep_t *ep);
/** The flow ring has an entry, and what has arrived was not handled yet: do what can be done
 * before. */
DNET_COLD bool dnet_flow_first(dnet_ep_t *ep);
/** Do senders try again by a timer, and nobody resumes them? */
static inline bool dnet_flow_retries(const dnet_ep_t *ep)
{
    return ep->options.flow == DNET_EP_FLOW_RNR || ep->options.flow == DNET_EP_FLOW_LIMIT;
}
/** A request was DNET_STALLED: nothing may be issued before the NIC is done with it. */
DNET_COLD void dnet_flow_stalled(dnet_ep_t *ep);
/** How long a process may sleep, us, so that what tries again does so in time. */
uint32_t dnet_flow_sleep_us(const dnet_ep_t *ep, uint32_t most_us);

/* limit.c */
/** LH entries that the thread offers at a time; 0: no thread. */
uint32_t dnet_limit_refill(const dnet_ep_t *ep);
dnet_status_t dnet_limit_start(dnet_ep_t *ep);
void dnet_limit_end(dnet_ep_t *ep);

/* job.c */
/** Find the cluster the job is to live on, if any; its profile then replaces DIMMNET_PROFILE. */
dnet_status_t dnet_job_open(dnet_ep_t *ep);
void dnet_job_close(dnet_ep_t *ep);
dnet_profile_t dnet_job_profile(const dnet_ep_t *ep);
/** Have a NIC up before the others learn of it. */
dnet_status_t dnet_job_take(dnet_ep_t *ep);
/** Join it, learn where the others are, enter the network. */
dnet_status_t dnet_job_connect(dnet_ep_t *ep, const dnet_ep_address_t *addresses);
/** Rank of the process with that address; DNET_EP_NO_RANK: none of the job's. */
uint32_t dnet_job_rank(const dnet_ep_t *ep, uint16_t lid, unsigned wid);

#endif
