/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Sends under way: one object each, found by the id that stands in heads.
 */
#ifndef DNET_ENDPOINT_OP_H
#define DNET_ENDPOINT_OP_H

#include "endpoint/ep.h"

typedef enum {
    DNET_OP_FREE,
    DNET_OP_PACKETS,    /* packets left to send (perhaps waiting in the peer's channel) */
    DNET_OP_ACK_WAIT,   /* sent; waits for ACK */
    DNET_OP_CTS_WAIT,   /* RTS sent; waits for CTS, or for the ACK of a fetched message */
    DNET_OP_STORED,     /* CTS has come: one RVS to an aperture */
    DNET_OP_SPLIT,      /* CTS has come: RVS of pieces to an aperture */
    DNET_OP_PUSHED,     /* CTS has come: pieces through the ring */
    DNET_OP_STAGED,     /* CTS has come: chunks by RVS into SO-DIMM */
    DNET_OP_FETCH_WAIT, /* own pieces are out; waits until the receiver has fetched the others */
} dnet_op_state_t;

struct dnet_op {
    dnet_op_t *next; /* list of the channel, list of answered sends, or free list */
    dnet_op_t *prev; /* list of the channel */
    dnet_op_state_t state;
    uint32_t id; /* index [19:0], generation [31:20] */
    uint32_t peer;
    bool headed;
    bool control;    /* not a message */
    bool issued;     /* the NIC has its packet, and waits for room at the receiver */
    bool in_a_row;   /* one of several messages */
    bool at_once;    /* eager although it is long */
    bool cancelling; /* its receiver is asked to forget it */
    dnet_ep_head_t head;
    dnet_ep_staging_t staging; /* STAGED: the receiver's */
    dnet_ep_request_t *req;    /* completed at the end; may be NULL */
    uint64_t envelope;
    const uint8_t *buf; /* NULL: in a layout, or moved */
    size_t len, off;
    bool moved;          /* req->move brings the bytes */
    uint32_t at_hand;    /* of those, in `owned` */
    uint8_t *owned;      /* freed at the end: what stands between head and data; moved bytes */
    uint32_t header_len; /* bytes of `owned` */
    /* Rendezvous. */
    uint32_t fetch_slot;  /* own aperture in which the message can be fetched; 0: none */
    void *loan;           /* of the message to a peer on another host; NULL: not lent */
    bool fetch_due;       /* the receiver still fetches its pieces */
    uint32_t claimed;     /* pieces to be stored (split: from the end on), or sent (pushed) */
    uint32_t stored;      /* those that are */
    bool last;            /* split: nobody has claimed a piece after that */
    bool has_waited;      /* pushed: a piece has found no room, and the channel counts on more */
    uint32_t remote_addr; /* where the data go at the receiver */
    uint32_t word;        /* LLCM word in which the receiver counts chunks it has taken */
    uint64_t put;         /* chunks sent */
};

typedef struct {
    dnet_op_t *head, *tail;
} dnet_op_list_t;

/**
 * A send that begins.
 *
 * @return DNET_OK; DNET_ERR_LIMIT (logged) or DNET_ERR_NO_MEMORY: there is no op
 */
dnet_status_t dnet_op_new(dnet_ep_t *ep, uint32_t peer, dnet_op_t **op_p);

/** The send with that id.  @return NULL: it has ended, or never was */
dnet_op_t *dnet_op_find(dnet_ep_t *ep, uint32_t id);

/** What stands between head and data; copied, because the packet may have to wait.
 * @return DNET_OK; DNET_ERR_NO_MEMORY: nothing is attached */
dnet_status_t dnet_op_attach(dnet_op_t *op, const void *behind, size_t len);

/** End a send and complete its request, which may start others.  The op is gone. */
void dnet_op_finish(dnet_ep_t *ep, dnet_op_t *op, dnet_status_t status);

/** The receiver has matched a synchronous message, or fetched one, or its pieces of a split one. */
void dnet_op_acknowledged(dnet_ep_t *ep, dnet_op_t *op);

/** That peer will answer nothing: the sends that wait for its answer end with
 * DNET_ERR_PEER_DEAD. */
void dnet_ops_peer_gone(dnet_ep_t *ep, uint32_t peer);

/** Free all ops; the last call. */
void dnet_ops_free(dnet_ep_t *ep);

#endif
