/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tagged messages between the processes of a job, over DIMMnet NICs.
 *
 * An endpoint is one process's end.  It knows peers (by rank in the job), envelopes (data
 * sheet 10.1: context, rank, tag), byte ranges and completion callbacks, and nothing of MPI's
 * objects.
 *
 * Life: dnet_ep_open(), dnet_ep_address(), exchange of all addresses by the caller's means,
 * dnet_ep_connect(), traffic, dnet_ep_close().
 *
 * Threads: one caller at a time.  Callbacks run inside the endpoint's functions, in the caller's
 * thread; they may start new operations.  A process may have several endpoints, whose callers need
 * not know of each other once all are connected: they are opened, connected and closed one at a
 * time.
 *
 * Wire formats: docs/protocol.md.
 */
#ifndef DNET_ENDPOINT_H
#define DNET_ENDPOINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/kernel_copies.h"
#include "common/options.h"
#include "dimmnet/emulator.h"
#include "dimmnet/format.h"
#include "dimmnet/status.h"
#include "lhs_match/lhs_match.h"

typedef struct dnet_ep dnet_ep_t;

/** Largest header of an active message, bytes: what one Write Window holds beside envelope and
 * head. */
#define DNET_EP_AM_HEADER_MAX 464u
/** Tag bits an application may use; bit 31 of the envelope's Tag belongs to the endpoint. */
#define DNET_EP_TAG_BITS 31u
#define DNET_EP_RANK_MAX ((1u << DNET_LH_RANK_WIDTH) - 1)

/** The envelope word of a message or a receive. */
static inline uint64_t dnet_ep_envelope(uint16_t context, uint32_t rank, uint32_t tag)
{
    return DNET_PUT(context, LH_CONTEXT) | DNET_PUT(rank, LH_RANK) |
           DNET_PUT(tag & 0x7fffffffu, LH_TAG);
}

/** The rank in an envelope word. */
static inline uint32_t dnet_ep_envelope_rank(uint64_t envelope)
{
    return (uint32_t) DNET_GET(envelope, LH_RANK);
}

/** The tag in an envelope word, without the endpoint's bit. */
static inline uint32_t dnet_ep_envelope_tag(uint64_t envelope)
{
    return (uint32_t) DNET_GET(envelope, LH_TAG) & 0x7fffffffu;
}

#define DNET_EP_HOST_BYTES DNET_EMU_HOST_BYTES

/** Where a process can be reached; a plain value that may be sent to others. */
typedef struct {
    uint32_t version;
    int32_t pid;
    /* descriptor of the NIC segment in process pid; -1: made by rank nic_owner */
    int32_t nic_fd;
    uint32_t rank;
    uint32_t nic_owner;
    uint16_t lid;
    uint16_t wid;
    uint64_t nic_id;
    uint64_t host_id;              /* equal on processes that share memory */
    int32_t keeper;                /* of the cluster it lives on; 0: none */
    uint16_t profile;              /* of its NIC: dnet_profile_t */
    uint16_t flow;                 /* what a full ring does, as DIMMNET_FLOW counts */
    char host[DNET_EP_HOST_BYTES]; /* name of its host, as far as there is room */
    dnet_emu_port_address_t port[DNET_RAILS_MAX]; /* for ranks of other hosts */
} dnet_ep_address_t;
_Static_assert(sizeof(dnet_ep_address_t) == 272, "address layout");

typedef struct {
    uint32_t rank; /* in the job */
    uint32_t size; /* processes of the job */
    uint32_t vci;  /* number of this endpoint in its process; peers are those with the same one */
    uint64_t job;  /* same value in every process of the job; gives the PGID */
    /* By rank: number of its host, from 0, the same in every process; NULL: all are on one.  Used
     * by dnet_ep_open() only. */
    const int *node;
    /* a socket whose other end whoever started the job holds: when that is closed, nobody will end
     * this process; 0: none */
    int lifeline;
    /* processes of other hosts are to be met: there shall be a port to them, also where all ranks
     * are on one host; as with DIMMNET_CONNECT=hosts */
    bool meets_hosts;
    /* bits of an envelope that say: the receiver posts its receive without waiting for anything
     * else, if it has not done so; 0: none does */
    uint64_t awaited;
} dnet_ep_config_t;

typedef struct dnet_ep_request dnet_ep_request_t;

/**
 * A request is finished.
 *
 * @param status  DNET_OK; DNET_ERR_TRUNCATED (receive: the buffer was filled, the rest is lost);
 *                DNET_CANCELLED (dnet_ep_cancel_send()); DNET_ERR_PEER_DEAD; DNET_ERR_NO_ROUTE
 */
typedef void (*dnet_ep_complete_fn)(dnet_ep_request_t *req, dnet_status_t status);

/** Kinds of dnet_ep_layout_t. */
typedef enum {
    DNET_LAYOUT_NONE,   /* the bytes lie one behind the other */
    DNET_LAYOUT_BLOCKS, /* blocks in equal steps */
    DNET_LAYOUT_LIST,   /* blocks where a list says */
    DNET_LAYOUT_MOVED,  /* of a receive: `move` takes them from the endpoint, piece by piece */
} dnet_ep_layout_kind_t;

/**
 * Where the bytes of a message lie: blocks of one length in memory of dnet_ep_alloc().  Offsets are
 * SO-DIMM offsets (dnet_ep_sodimm_offset()), modulo 2^32.
 */
typedef struct {
    uint32_t kind;   /* dnet_ep_layout_kind_t */
    uint32_t offset; /* of the first block; LIST: what the list's offsets are added to */
    uint32_t block_bytes;
    /* bytes between the starts of two blocks; LIST: offset of the list, 32 bits a block */
    uint32_t step;
    uint32_t count; /* blocks */
} dnet_ep_layout_t;

/**
 * Moves the next `len` bytes of a message between `bytes` and the place that only the caller knows:
 * of a send to `bytes`, of a receive from there.  Called for one piece after the other, from inside
 * calls of the endpoint; must not call it.
 */
typedef void (*dnet_ep_move_fn)(dnet_ep_request_t *req, void *bytes, size_t len);

/** One operation under way; embedded in the caller's object, which must live until `complete` runs.
 */
struct dnet_ep_request {
    dnet_match_item_t match;      /* private; first member */
    dnet_ep_complete_fn complete; /* set by the caller before the operation starts */
    /* Of a receive, set by the caller before it starts: where in SO-DIMM the data may go instead of
     * the buffer; kind 0: they go into the buffer in any case. */
    dnet_ep_layout_t layout;
    dnet_ep_move_fn move; /* of dnet_ep_send_moved(), and of a receive of kind MOVED */
    /* Results of a receive, valid when it is finished. */
    uint64_t envelope;
    size_t len_bytes;  /* bytes put into the buffer */
    size_t sent_bytes; /* bytes the sender sent */
    bool in_layout;    /* the data are where `layout` says, and not in the buffer */
    /* Private. */
    void *buf;
    size_t cap_bytes;
    uint8_t waits_in; /* where a receive waits: DNET_WAITS_IN_* */
};

/** A message taken out of the unexpected queue by dnet_ep_mprobe(). */
typedef struct dnet_ep_message dnet_ep_message_t;

typedef struct {
    uint64_t envelope;
    size_t len_bytes;
} dnet_ep_probe_t;

/**
 * An active message has arrived.
 *
 * @param header, data  valid during the call only; `data` is whole and contiguous
 */
typedef void (*dnet_ep_am_fn)(void *arg, uint32_t peer, uint16_t id, const void *header,
                              size_t header_len, const void *data, size_t len);

/**
 * Make this process's end: of two ranks that share one the first makes a NIC, or with
 * DIMMNET_CLUSTER takes a cluster's node; the second nothing yet.  Where there are several hosts, a
 * port to the others.
 *
 * Reads DIMMNET_* options (src/common/options.def); a malformed value is logged with what is
 * allowed.
 *
 * @return DNET_OK; DNET_ERR_LIMIT (more ranks than the NIC can address, or than the cluster has
 * room for); DNET_ERR_NO_MEMORY; DNET_ERR_FORMAT (option); DNET_ERR_SYSTEM; DNET_NOT_FOUND (no such
 *         cluster); DNET_ERR_STATE (it is in use, or has no flow ring); each logged
 */
dnet_status_t dnet_ep_open(const dnet_ep_config_t *config, dnet_ep_t **ep_p);

/**
 * Would dnet_ep_open() in a job of `size` processes take the options as they are now?  Nothing is
 * made or changed.
 *
 * @param options_p  set on success
 * @return as dnet_ep_open(), logged
 */
dnet_status_t dnet_ep_check(uint32_t size, dnet_options_t *options_p);

/** May this process open another endpoint, with another number?  Not in a job of several hosts,
 * whose ranks have a port each, nor on a cluster, whose nodes hold a rank once.  The same in all
 * processes of the job. */
bool dnet_ep_may_be_several(const dnet_ep_t *ep);

/** Longest messages, in bytes, that go to a rank of the same host before their receives are known.
 */
typedef struct {
    dnet_kernel_copies_t copies; /* timed */
    uint32_t alone;              /* by option, or as the kernel's copies are */
    uint32_t in_a_row; /* the same of several, none having come in between; 0: no longer ones */
} dnet_eager_near_t;

dnet_eager_near_t dnet_ep_eager_near(const dnet_options_t *options, dnet_device_t *dev);

/** Do the staging areas that the options ask for fit the SO-DIMM of this device, behind rings of so
 * many bytes?  @return DNET_OK; DNET_ERR_LIMIT (logged) */
dnet_status_t dnet_ep_check_staging(const dnet_options_t *options, uint64_t ring_bytes,
                                    const dnet_device_t *dev);

/** Processors that a job may use of which this process is a rank; at least 1.  @param lifeline  as
 * in dnet_ep_config_t */
uint32_t dnet_ep_processors(int lifeline);

/** Bytes of all IPUSH rings of a process with so many ranks on its host: by option, or by how many
 * they are, and for how many processors.  @param spans_hosts  there are ranks on other hosts */
uint64_t dnet_ep_ring_bytes(const dnet_options_t *options, uint32_t ranks_here, uint32_t processors,
                            bool spans_hosts);

/** This process's address, for the others. */
void dnet_ep_address(const dnet_ep_t *ep, dnet_ep_address_t *address_p);

/**
 * Learn where the others are.  Nothing is mapped for a peer before its first message.
 *
 * @param addresses  config.size addresses in rank order; copied as far as needed
 * @return DNET_OK; DNET_ERR_LIMIT (a rank on a host that config.node does not know of, or more
 *         chunks than there is room for);
 *         DNET_ERR_PEER_DEAD; DNET_ERR_SYSTEM
 */
dnet_status_t dnet_ep_connect(dnet_ep_t *ep, const dnet_ep_address_t *addresses);

/* ---- processes of other jobs ---- */

/** How a process of another job reaches this one. */
typedef struct {
    uint64_t host_id; /* as in dnet_ep_address_t */
    dnet_emu_far_process_t who;
} dnet_ep_contact_t;

/** A contact as bytes, which may be sent to that process: at most so many, for they must fit a port
 * name of MPI, of 256 characters, two a byte (docs/protocol.md 9). */
#define DNET_EP_CONTACT_BYTES 116u

/** @return bytes of it; the host's name is shortened to what there is room for */
size_t dnet_ep_contact_pack(const dnet_ep_contact_t *contact, uint8_t *bytes);

/** @return DNET_OK; DNET_ERR_FORMAT: that is no contact of this library's version (logged) */
dnet_status_t dnet_ep_contact_unpack(const uint8_t *bytes, size_t len,
                                     dnet_ep_contact_t *contact_p);

/**
 * The contact of a peer: this process, another of its job, or one added by dnet_ep_add_peer().
 *
 * @return DNET_OK; DNET_ERR_STATE, DNET_ERR_LIMIT: this job can have none (logged: it is on a
 *         cluster, of the prototype profile, without stop and resend, too large)
 */
dnet_status_t dnet_ep_contact(const dnet_ep_t *ep, uint32_t peer, dnet_ep_contact_t *contact_p);

/**
 * Know a process, to send to it and to receive from it.  Nothing is mapped before the first packet.
 *
 * @param peer_p  its number: of a process of this job its rank, else one that is not less than the
 *                number of ranks; the same for the same process as long as it is known
 * @return DNET_OK; DNET_ERR_STATE (on another host, and one of the two jobs has no port, or they
 *         have different ones; or as dnet_ep_contact()), DNET_ERR_LIMIT, DNET_ERR_NO_MEMORY; each
 *         logged
 */
dnet_status_t dnet_ep_add_peer(dnet_ep_t *ep, const dnet_ep_contact_t *contact, uint32_t *peer_p);

/** While `asked` that process of another job has been asked for a connection and has not answered:
 * its end is no error of this job, and the caller looks at it with dnet_ep_peer_gone().  What is
 * under way to it ends with DNET_ERR_PEER_DEAD then. */
void dnet_ep_set_asked(dnet_ep_t *ep, uint32_t peer, bool asked);

/** Has that process of another job left it, or ended without that? */
bool dnet_ep_peer_gone(const dnet_ep_t *ep, uint32_t peer);

/** Nothing will be sent to or received from that process of another job, whose end is its own
 * business from now on; it is forgotten when nothing is under way, and what is when it ends, ends
 * with DNET_ERR_PEER_DEAD. */
void dnet_ep_drop_peer(dnet_ep_t *ep, uint32_t peer);

/** Peer numbers are below it: ranks of the job, and processes of other jobs. */
uint32_t dnet_ep_peers(const dnet_ep_t *ep);

/** No rank: the source of an envelope is not known. */
#define DNET_EP_NO_RANK UINT32_MAX

/** Which rank of the job has sent, or is to send, a message with this envelope?  DNET_EP_NO_RANK:
 * not known. */
typedef uint32_t (*dnet_ep_source_fn)(void *arg, uint64_t envelope);

/**
 * Set the function that knows which process an envelope's context and rank mean.  Without it a full
 * store for unexpected messages holds back all senders, not only the one that filled it.
 */
void dnet_ep_set_source(dnet_ep_t *ep, dnet_ep_source_fn fn, void *arg);

/**
 * The application will receive nothing more: unexpected messages come in whatever their number, so
 * that their senders can end.
 */
void dnet_ep_finish(dnet_ep_t *ep);

/**
 * What a status means here and now: dnet_status_text(), but for DNET_ERR_NO_ROUTE the ranks that
 * are out of reach, and where the network is cut (logged the first time).  Valid until the next
 * call.
 */
const char *dnet_ep_why(dnet_ep_t *ep, dnet_status_t status);

/** True while something this process has sent is not yet in the hands of its receiver, or a sender
 * that it has held back has not answered that it is free again (dnet_ep_finish()). */
bool dnet_ep_busy(const dnet_ep_t *ep);

/** Print statistics if asked to, leave the NIC, free everything. */
void dnet_ep_close(dnet_ep_t *ep);

/**
 * Send a message.
 *
 * @param envelope  dnet_ep_envelope()
 * @param sync      finish only when a receive has matched
 * @param req       used only when DNET_IN_PROGRESS is returned; complete must be set
 * @return DNET_OK          finished: buf may be reused, req was not touched
 *         DNET_IN_PROGRESS req->complete will be called; buf must stay until then
 *         DNET_ERR_NO_MEMORY
 */
dnet_status_t dnet_ep_send(dnet_ep_t *ep, uint32_t peer, uint64_t envelope, const void *buf,
                           size_t len, bool sync, dnet_ep_request_t *req);

/**
 * Receive a message.
 *
 * @param envelope, mask  wanted envelope and bits to compare (DNET_MATCH_*)
 * @return DNET_OK or DNET_ERR_TRUNCATED  finished at once; results in req, complete is not called
 *         DNET_IN_PROGRESS               req->complete will be called
 */
dnet_status_t dnet_ep_recv(dnet_ep_t *ep, uint64_t envelope, uint64_t mask, void *buf, size_t len,
                           dnet_ep_request_t *req);

/**
 * Memory in the own SO-DIMM area, where the NIC can gather and scatter: for buffers, and for lists
 * of layouts. Any thread may call this and dnet_ep_free().
 *
 * @return DNET_OK; DNET_ERR_LIMIT (the area is full, or this NIC's is not mapped into the host: use
 * other memory); DNET_ERR_NO_MEMORY (logged)
 */
dnet_status_t dnet_ep_alloc(dnet_ep_t *ep, size_t bytes, void **memory_p);

/** @return DNET_OK; DNET_ERR_ARGUMENT: dnet_ep_alloc() has not returned this */
dnet_status_t dnet_ep_free(dnet_ep_t *ep, void *memory);

/** SO-DIMM offset of `bytes` bytes of such memory.  @return false: not all of them lie there */
bool dnet_ep_sodimm_offset(const dnet_ep_t *ep, const void *memory, size_t bytes,
                           uint32_t *offset_p);

/** May a layout of such blocks pay off for a message of so many bytes?  Else pack it. */
bool dnet_ep_wants_layout(const dnet_ep_t *ep, size_t bytes, size_t block_bytes);

/**
 * Send a message whose bytes lie in blocks.  The receiver's NIC fetches them when it can put them
 * where they belong; else they are packed here.
 *
 * @param layout  must stay true until the request is finished, as the blocks
 * @return as dnet_ep_send(), but never DNET_OK
 */
dnet_status_t dnet_ep_send_layout(dnet_ep_t *ep, uint32_t peer, uint64_t envelope,
                                  const dnet_ep_layout_t *layout, dnet_ep_request_t *req);

/** May a message of so many bytes be moved piece by piece, by dnet_ep_send_moved() or into a
 * receive of DNET_LAYOUT_MOVED?  Else it goes through a buffer of its length. */
bool dnet_ep_wants_moved(const dnet_ep_t *ep, size_t bytes);

/**
 * Send a message whose bytes req->move brings when they are wanted, so that nobody has a copy of
 * the whole.  Receivers know no difference.
 *
 * @param len  dnet_ep_wants_moved()
 * @return as dnet_ep_send(), but never DNET_OK
 */
dnet_status_t dnet_ep_send_moved(dnet_ep_t *ep, uint32_t peer, uint64_t envelope, size_t len,
                                 dnet_ep_request_t *req);

/** Withdraw a receive.  @return true: it is out of the queue and complete will not be called */
bool dnet_ep_cancel_recv(dnet_ep_t *ep, dnet_ep_request_t *req);

/**
 * Withdraw a send, if no receive has matched it.  Its receiver must look at its NIC for that, once,
 * unless nothing of the message has left; until then the send is as it was.
 *
 * @param req  given to dnet_ep_send() or one of its kind, which has returned DNET_IN_PROGRESS;
 *             completed with DNET_CANCELLED, perhaps by this call; otherwise as if nobody had asked
 */
void dnet_ep_cancel_send(dnet_ep_t *ep, const dnet_ep_request_t *req);

/** Look for a message without taking it.  @return DNET_OK, or DNET_NOT_FOUND */
dnet_status_t dnet_ep_probe(dnet_ep_t *ep, uint64_t envelope, uint64_t mask,
                            dnet_ep_probe_t *probe_p);

/** Take a message out of the queue, to be received by dnet_ep_mrecv().  @return as dnet_ep_probe()
 */
dnet_status_t dnet_ep_mprobe(dnet_ep_t *ep, uint64_t envelope, uint64_t mask,
                             dnet_ep_probe_t *probe_p, dnet_ep_message_t **message_p);

/** Receive a message taken by dnet_ep_mprobe(); the handle is used up.  @return as dnet_ep_recv()
 */
dnet_status_t dnet_ep_mrecv(dnet_ep_t *ep, dnet_ep_message_t *message, void *buf, size_t len,
                            dnet_ep_request_t *req);

/** Set the function that gets active messages. */
void dnet_ep_am_register(dnet_ep_t *ep, dnet_ep_am_fn fn, void *arg);

/**
 * Send an active message.  The header is copied; data must stay until the request is finished.
 *
 * @param header_len  0..DNET_EP_AM_HEADER_MAX
 * @return as dnet_ep_send()
 */
dnet_status_t dnet_ep_am_send(dnet_ep_t *ep, uint32_t peer, uint16_t id, const void *header,
                              size_t header_len, const void *data, size_t len,
                              dnet_ep_request_t *req);

/**
 * Receive what has arrived, resend what was stopped, finish what can be finished.
 *
 * After many calls in quick succession that found nothing the caller's time slice is given away,
 * and later the process sleeps until something arrives, or for 1 ms, later in a wait for up to 8.
 *
 * @param did_p  set to true when anything happened, else unchanged
 * @return DNET_OK; DNET_ERR_PEER_DEAD (logged, once, with the rank, or that it was the process
 *         manager); DNET_ERR_NO_ROUTE (logged; a packet, not only one of this call, has been lost:
 *         dnet_ep_why())
 */
dnet_status_t dnet_ep_progress(dnet_ep_t *ep, bool *did_p);

/**
 * The same for a caller that only looks, and may work between its calls: it never sleeps, and the
 * time slice is given away when calls follow each other at once, else where ranks outnumber
 * processors and after as long as others have had it.
 */
dnet_status_t dnet_ep_poll(dnet_ep_t *ep, bool *did_p);

/**
 * May dnet_ep_progress() sleep?  True at first.  A caller whose threads share a lock that is held
 * during progress says false, and waits by its own means; on a machine with more processes than
 * processors the slice is given away now and then all the same.
 */
void dnet_ep_set_patient(dnet_ep_t *ep, bool patient);

/** Counters of an endpoint; the list is counters.def. */
typedef struct {
#define DNET_EP_COUNTER(name, title) uint64_t name;
#include "endpoint/counters.def"
#undef DNET_EP_COUNTER
} dnet_ep_counters_t;

/** The counters as they are now; valid until the endpoint is closed. */
const dnet_ep_counters_t *dnet_ep_counters(const dnet_ep_t *ep);

/** How long the lists of an endpoint are now. */
typedef struct {
    uint64_t posted;           /* receives */
    uint64_t unexpected;       /* messages */
    uint64_t unexpected_bytes; /* that these take */
} dnet_ep_lengths_t;

/** Any thread may call it. */
dnet_ep_lengths_t dnet_ep_lengths(const dnet_ep_t *ep);

/** A message that no receive has matched has been kept; or it is kept no longer.  Called from
 * inside calls of the endpoint; must not call it. */
typedef void (*dnet_ep_unexpected_fn)(uint64_t envelope, size_t len, bool kept);

/** Set that function; NULL: none. */
void dnet_ep_set_unexpected(dnet_ep_t *ep, dnet_ep_unexpected_fn fn);

/* ---- what a rank waits for ---- */

/** Kinds of waits; the list is wait_kinds.def. */
typedef enum {
#define DNET_WAIT(name, word, whom, before, bytes, after) DNET_WAIT_##name,
#include "endpoint/wait_kinds.def"
#undef DNET_WAIT
    DNET_WAIT_KINDS,
} dnet_wait_kind_t;

/** Source of an active message, which belongs to no communicator. */
#define DNET_WAIT_NO_COMM UINT32_MAX

/** Whom a wait concerns, where it is no rank of the job: a process of another one, or any of some
 * among whom there is such. */
#define DNET_WAIT_OTHER_JOB (UINT32_MAX - 1)

/** One thing that a rank waits for, or keeps: a posted receive, a send under way. */
typedef struct {
    uint32_t kind; /* dnet_wait_kind_t */
    /* whom it concerns, in the job; DNET_EP_NO_RANK: any, or not known; DNET_WAIT_OTHER_JOB */
    uint32_t rank;
    uint32_t context; /* of the envelope; DNET_WAIT_NO_COMM: an active message */
    uint32_t source;  /* rank in the envelope; DNET_EP_NO_RANK: any */
    int64_t tag;      /* -1: any */
    uint64_t bytes;   /* room, or length; packets that are not acknowledged */
    uint64_t done;    /* of a send: bytes sent; of packets: for so many milliseconds */
    char comm[24];    /* name of the communicator, "": none */
} dnet_wait_t;
_Static_assert(sizeof(dnet_wait_t) == 64, "wait layout");

typedef void (*dnet_wait_fn)(void *arg, const dnet_wait_t *wait);

/**
 * What the caller of an endpoint knows of its waits.  All may be called in a signal handler, and in
 * any thread: they lock, allocate and change nothing.
 */
typedef struct {
    /** The call of the application that this thread is in, for example "MPI_Recv"; "": in none. */
    void (*call)(char *name, size_t bytes);
    /** Fill in `comm`, and `rank` if it is DNET_EP_NO_RANK, from context and source. */
    void (*name)(dnet_wait_t *wait);
    /** Call fn on what the endpoint, of this number, knows nothing of.  @param call  as by call()
     */
    void (*others)(uint32_t vci, const char *call, dnet_wait_fn fn, void *arg);
} dnet_ep_names_t;

/** Set these functions.  Without them communicators and calls have no names. */
void dnet_ep_set_names(dnet_ep_t *ep, const dnet_ep_names_t *names);

/** A wait as text, without an end of line; also in a signal handler. */
void dnet_wait_text(const dnet_wait_t *wait, char *text, size_t bytes);

/** Does a wait of this kind end only when the rank it concerns does something? */
bool dnet_wait_is_for(uint32_t kind);

/** The word for a kind of wait. */
const char *dnet_wait_word(uint32_t kind);

/**
 * What waits for what, as lines of text that carry the rank, to a descriptor: posted receives,
 * unexpected messages, stopped peers, sends under way.  Any thread may call it at any time, a
 * signal handler too.
 */
void dnet_ep_dump(dnet_ep_t *ep, int fd);

#endif
