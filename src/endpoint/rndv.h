/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Large messages (docs/protocol.md 4): what the ways have in common.
 *
 *   fetched  the receiver reads the message from an aperture of the sender (RVL)
 *   stored   the sender writes it into an aperture of the receiver (RVS)
 *   split    each does so with the pieces it gets to, so that both processors copy where both can
 *   pushed   the sender sends pieces through the ring; the receiver fetches while it does not
 *   read     the receiver reads the message from memory that the sender has lent, on another host
 *   staged   RVS in chunks into an area of the receiver's SO-DIMM, which it empties meanwhile
 *
 * The receiver chooses (rndv_recv.c).  A side whose bytes lie in blocks moves them piece by piece
 * (4.5).
 */
#ifndef DNET_ENDPOINT_RNDV_H
#define DNET_ENDPOINT_RNDV_H

#include "endpoint/ep.h"
#include "endpoint/op.h"

/* The receiving side of a rendezvous. */
struct dnet_rndv_recv {
    dnet_rndv_recv_t *next; /* waiting for room */
    uint32_t rank, op;      /* sender's */
    /* sender's aperture with the message; 0: nothing is to be fetched; DNET_RTS_STAGED */
    uint32_t fetch_addr;
    bool is_lent; /* the message can be read in `memory` of another host */
    dnet_remote_memory_t memory;
    uint8_t *buf;
    size_t len; /* bytes that will come */
    size_t got;
    size_t sent_bytes;       /* as the sender has them */
    dnet_ep_layout_t layout; /* as the message's */
    dnet_ep_request_t *req;  /* NULL: an active message */
    dnet_status_t status;    /* of fetching */
    void *am;                /* active message: of dnet_ep_am_long_t */
    /* Split. */
    uint32_t slot;    /* the aperture that the sender stores into */
    uint32_t fetched; /* pieces, from the front on */
    uint64_t last;    /* the cursor's number for the piece that was fetched last */
    bool is_put_off;
    /* Pushed: `got` counts pieces. */
    bool pushes;                /* the sender would push */
    bool is_awaited;            /* the receive was there before RTS came */
    bool all_taken;             /* no piece is left for the receiver */
    uint64_t copied_ns, copied; /* that whole pieces took to be copied out, and how many */
    /* Staged. */
    uint32_t area;        /* index of the staging area */
    uint64_t taken;       /* chunks copied out */
    bool owes_credit;     /* the sender could not be told yet */
    uint32_t credit_word; /* sender's LLCM word for taken chunks; known from the first count */
};

/** What has become of a receive that was begun. */
typedef enum {
    DNET_RNDV_NO_ROOM,   /* nothing has happened: try again later */
    DNET_RNDV_UNDER_WAY, /* a receive status will end it */
    DNET_RNDV_DONE,
} dnet_rndv_begun_t;

/** A way to move a message. */
typedef struct {
    /** Receiver: take what the way needs, and tell the sender. */
    dnet_rndv_begun_t (*begin)(dnet_ep_t *ep, dnet_rndv_recv_t *r);
    /**
     * Sender: send what can be sent now.  NULL: the sender sends nothing.
     *
     * @param did_p  set to true when anything was sent
     * @return DNET_OK: all is out; DNET_IN_PROGRESS: a further turn is needed; else an error
     */
    dnet_status_t (*turn)(dnet_ep_t *ep, dnet_op_t *op, bool *did_p);
    /** Sender: would a turn get anywhere? */
    bool (*ready)(const dnet_ep_t *ep, const dnet_op_t *op);
} dnet_rndv_way_t;

extern const dnet_rndv_way_t dnet_rndv_fetched, dnet_rndv_split, dnet_rndv_pushed, dnet_rndv_stored,
    dnet_rndv_staged, dnet_rndv_read;

/** Can data to and from this peer of another host be read? */
bool dnet_rndv_reads(const dnet_ep_t *ep, uint32_t peer);

/** Can this process copy data between its buffers and the peer's?  Asked once for each large
 * message to or from it, and tried out at the first. */
bool dnet_rndv_direct(dnet_ep_t *ep, uint32_t peer, size_t len);

/** What RTS and OFFER say of where the message is: the address at which it is shown, 0, or
 * DNET_RTS_STAGED. */
uint32_t dnet_rndv_shown_at(dnet_ep_t *ep, const dnet_op_t *op);

/** Tell the sender to send.  @param cts  its arg, length, flags and id are the way's  @param
 * staging  stands behind the head; NULL: nothing does */
void dnet_rndv_cts(dnet_ep_t *ep, const dnet_rndv_recv_t *r, dnet_ep_head_t cts,
                   const dnet_ep_staging_t *staging);

/** Fetch bytes [at, at + len) of what the sender shows; r->status says how it went, and a failure
 * is logged.  @param at  a multiple of DNET_APERTURE_UNIT */
void dnet_rndv_fetch(dnet_ep_t *ep, dnet_rndv_recv_t *r, size_t at, void *to, size_t len);

/** Split, pushed: count the sender's cursor up.  @param end  numbers from here on are no piece's
 * @return whether there is a further piece for the receiver; r->status says whether it could be
 * asked for */
bool dnet_rndv_take(dnet_ep_t *ep, dnet_rndv_recv_t *r, uint32_t end);

/** The same for the sender, unless it has claimed a piece that is not out.  @param
 * most  pieces that can be the sender's */
bool dnet_rndv_claim(dnet_ep_t *ep, dnet_op_t *op, uint32_t most, uint32_t end);

/** Does the receive take its bytes piece by piece? */
static inline bool dnet_rndv_is_moved(const dnet_rndv_recv_t *r)
{
    return r->req && r->req->layout.kind == DNET_LAYOUT_MOVED;
}

/** The sender's next `len` bytes; the same until it has counted them in op->off and set op->at_hand
 * to 0.  @param len  at most what dnet_rndv_cleared() has made room for */
static inline const uint8_t *dnet_rndv_bytes(dnet_op_t *op, uint32_t len)
{
    if (DNET_LIKELY(!op->moved))
        return op->buf + op->off;
    if (!op->at_hand)
        op->req->move(op->req, op->owned, len);
    op->at_hand = len;
    return op->owned;
}

/** Bytes of a piece of a message that is cut into pieces of `bytes`; the last is what is left. */
static inline size_t dnet_rndv_piece_len(size_t len, size_t bytes, uint32_t piece)
{
    size_t left = len - piece * bytes;
    return left < bytes ? left : bytes;
}

/** Bytes of a piece that is moved, where no chunk says how many. */
#define DNET_MOVED_PIECE 131072u

/** Does a request wait in the own NIC?  It will be delivered, before any other. */
bool dnet_rndv_is_stalled(dnet_ep_t *ep, dnet_status_t status);

/** rndv_stored.c: have the sender store into an aperture.  @param flags  of the CTS  @return its
 * slot; 0: none is free, and nothing has happened */
uint32_t dnet_rndv_stored_begin(dnet_ep_t *ep, dnet_rndv_recv_t *r, uint8_t flags);

/** rndv_stored.c: the sender has stored into this slot, or will not.  @return the receive; NULL:
 * nothing was expected there */
dnet_rndv_recv_t *dnet_rndv_stored_end(dnet_ep_t *ep, uint32_t slot);

/** rndv_read.c: the next read that has ended, with its status.  One that has failed can be begun
 * again, and goes by chunks then.  @return NULL: none has */
dnet_rndv_recv_t *dnet_rndv_read_end(dnet_ep_t *ep);

/** rndv_split.c: the sender has stored its pieces of a split message; do what is due then. */
void dnet_rndv_split_landed(dnet_ep_t *ep, dnet_rndv_recv_t *r);

/** rndv_split.c: take the rest of the message that was put off first, or of none while others have
 * just come.  @param done_p  the receive, when that has completed it; else NULL  @return whether
 * there was one */
bool dnet_rndv_split_round(dnet_ep_t *ep, dnet_rndv_recv_t **done_p);

/** rndv_pushed.c: shall a message come in pieces?  Where its sender would, there are a ring for
 * pieces, and processors, or pushing is chosen by name, and own messages are not known to be slow
 * that way. */
bool dnet_rndv_is_pushed_to(dnet_ep_t *ep, const dnet_rndv_recv_t *r);

/* Around a copy between processes of `len` bytes: how long it takes is compared with pushing. */
uint64_t dnet_rndv_kernel_begins(const dnet_ep_t *ep, size_t len);
void dnet_rndv_kernel_ends(dnet_ep_t *ep, size_t len, uint64_t begin_ns);

/* Acknowledge what has been copied so, and tell the sender how long that takes. */
void dnet_rndv_kernel_ack(dnet_ep_t *ep, const dnet_rndv_recv_t *r);

/** rndv_pushed.c: would the message be pushed, if its receiver wants it? */
bool dnet_rndv_pushes(dnet_ep_t *ep, const dnet_op_t *op);

/** rndv_pushed.c: was the receive of a message there before this process announced it? */
void dnet_rndv_was_awaited(dnet_ep_t *ep, bool awaited);

/** rndv_pushed.c: shall a message that is too long for an eager one go through the ring at once all
 * the same?  Asked once for each that is awaited, or may be.  @param awaited  it is */
bool dnet_rndv_at_once(dnet_ep_t *ep, uint32_t peer, size_t len, bool awaited);

/** rndv_pushed.c: where the piece that has come goes.  @return NULL: it is none of a message that
 * is expected */
uint8_t *dnet_rndv_piece_at(const dnet_ep_t *ep, const dnet_ep_head_t *head, size_t len);

/** rndv_pushed.c: it is there.  @param since_ns  when it was begun to be copied; 0: it is not timed
 * @return the receive that it has completed; NULL: none */
dnet_rndv_recv_t *dnet_rndv_piece_came(dnet_ep_t *ep, const dnet_ep_head_t *head,
                                       uint64_t since_ns);

/** rndv_pushed.c: fetch a piece when senders do not send.  @param done_p, @return  as
 * dnet_rndv_split_round() */
bool dnet_rndv_pushed_round(dnet_ep_t *ep, dnet_rndv_recv_t **done_p);

/** rndv_pushed.c: is there something for that? */
bool dnet_rndv_pushed_waiting(const dnet_ep_t *ep);

/** rndv_pushed.c: a round in which sends have their turns begins. */
void dnet_rndv_pushed_begin_round(dnet_ep_t *ep);

/** rndv_staged.c: the last chunk has come to this SO-DIMM address.  @return as above */
dnet_rndv_recv_t *dnet_rndv_staged_end(dnet_ep_t *ep, uint32_t address);

/** Copy out chunks that senders have counted.  @return whether there were any */
bool dnet_rndv_staged_round(dnet_ep_t *ep);

/** Have senders counted chunks that were not copied out? */
bool dnet_rndv_staged_waiting(const dnet_ep_t *ep);

#endif
