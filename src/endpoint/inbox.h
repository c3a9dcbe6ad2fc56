/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages that came before their receive, whole or in pieces, and results of receives.
 */
#ifndef DNET_ENDPOINT_INBOX_H
#define DNET_ENDPOINT_INBOX_H

#include "endpoint/ep.h"

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
    uint32_t rank;           /* sender's rank in the job */
    uint32_t op;             /* sender's operation */
    uint32_t fetch_addr;     /* RTS: as in the head */
    dnet_ep_origin_t origin; /* RTS: where the data lie */
    size_t len;
    dnet_ep_request_t *req; /* PARTIAL: the receive that has claimed it */
    size_t room;            /* bytes of data[] */
    uint8_t data[];
};

/* A message in several packets whose pieces are arriving. */
struct dnet_assembly {
    dnet_assembly_t *next;
    uint32_t rank;
    size_t len, got;
    uint8_t *buf;
    size_t cap;
    dnet_ep_request_t *req;     /* the receive, or */
    dnet_ep_message_t *message; /* the unexpected message */
};

/* Where a receive waits. */
enum {
    DNET_WAITS_IN_NONE,
    DNET_WAITS_IN_POSTED, /* in the posted queue */
    DNET_WAITS_IN_PULLS,  /* there, and among those that held senders are asked for */
    DNET_WAITS_IN_PROBE,  /* only among the latter: a probe */
};

/* A block has at least this size; blocks of it are kept for reuse. */
#define DNET_MESSAGE_SMALL 192u

/** Bytes that a message takes in the store for unexpected messages.  @param room  its data */
static inline size_t dnet_message_bytes(size_t room)
{
    size_t bytes = sizeof(dnet_ep_message_t) + room;
    return bytes < DNET_MESSAGE_SMALL ? DNET_MESSAGE_SMALL : bytes;
}

/**
 * A message of `len` bytes, of which `room` are kept here.  Without memory the process ends, for it
 * has taken the message from its sender and must not lose it.
 */
dnet_ep_message_t *dnet_message_new(dnet_ep_t *ep, uint64_t envelope, size_t len, size_t room);

void dnet_message_free(dnet_ep_t *ep, dnet_ep_message_t *m);

/** A message has been announced by RTS, or claimed at a sender that is held back. */
dnet_ep_message_t *dnet_message_new_rts(dnet_ep_t *ep, const dnet_ep_head_t *head,
                                        uint64_t envelope);

/** Is the store over its budget?  Then the sender of the last message is to be held back. */
static inline bool dnet_inbox_over_budget(const dnet_ep_t *ep)
{
    return DNET_UNLIKELY(ep->page.unexpected_bytes > ep->inbox.budget);
}

/** An assembly, with nothing set.  Without memory the process ends, as above. */
dnet_assembly_t *dnet_assembly_new(dnet_ep_t *ep);

void dnet_assembly_free(dnet_ep_t *ep, dnet_assembly_t *a);

/** Has a receive got the first packets of a message of that peer, and not the last one? */
bool dnet_inbox_is_receiving(const dnet_ep_t *ep, uint32_t peer);

/** Free all that is here, and what is kept for reuse; the last call. */
void dnet_inbox_free(dnet_ep_t *ep);

/** A message of that length is complete in its receive. */
static inline void dnet_count_received(dnet_ep_t *ep, size_t len)
{
    DNET_TRACE(received, 0, 0, len);
    ep->page.counters.received_messages++;
    ep->page.counters.received_bytes += len;
}

/** What a receive ends with that has been matched. */
static inline dnet_status_t dnet_request_status(const dnet_ep_request_t *req)
{
    return req->sent_bytes > req->cap_bytes ? DNET_ERR_TRUNCATED : DNET_OK;
}

#endif
