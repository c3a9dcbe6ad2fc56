/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The way out to one peer.  There is an object only while something waits: the peer has stopped
 * this process (docs/protocol.md 6) or holds its messages back (6.1).
 *
 * Nothing here calls up.  What a call returns says what has happened to the messages, and
 * defer_send.h goes on from there.
 */
#ifndef DNET_ENDPOINT_CHANNEL_H
#define DNET_ENDPOINT_CHANNEL_H

#include "deferral/defer_tx.h"
#include "endpoint/ep.h"
#include "endpoint/op.h"

struct dnet_channel {
    dnet_op_list_t control;  /* waits for room in the peer's rings only, and goes first */
    dnet_op_list_t messages; /* oldest first */
    dnet_channel_t *next;    /* free list */
    uint32_t peer;
    dnet_fc_sender_t sender;
    bool limited;     /* others wait for the peer's room as well: */
    uint32_t credits; /* so many packets may go out before the peer is asked for more */
    uint32_t retries; /* since the last packet that went out */
    uint32_t pushing; /* sends of which a piece has found no room, and that have more */
    uint64_t stopped_ns;
    uint64_t retry_ns; /* stopped: when to try again */
    /* Held back (docs/protocol.md 6.1). */
    dnet_defer_tx_t defer;
    uint16_t pull_id; /* the last PULL */
    uint64_t pull_envelope, pull_mask;
    dnet_op_t *fresh; /* first message that was never offered; those before it were declined */
    dnet_op_t *out[DNET_OFFERS_MAX]; /* offered, the verdict is not here */
    uint32_t out_count;
    uint16_t out_id; /* PULL that the OFFER answers; 0: none */
};

/** What has become of the packets of a channel. */
typedef enum {
    DNET_FLUSH_EMPTY,   /* all that may go now has gone */
    DNET_FLUSH_STOPPED, /* one waits for room, at the peer or in the own NIC */
    DNET_FLUSH_HELD,    /* the peer holds messages back, and has refused the first one */
} dnet_flush_t;

/**
 * Send what the op has to send, or append it to what waits for the peer.
 *
 * @return DNET_IN_PROGRESS: the op lives on; DNET_HELD: so it does, and its message is one that the
 *         peer holds back: the caller tells dnet_defer_kept(); else it is finished with that status
 */
dnet_status_t dnet_channel_submit(dnet_ep_t *ep, dnet_op_t *op);

/** A message of so many bytes has gone to the peer and was alone, so the next one may be as long
 * and alone, too: let the NIC ask for its place meanwhile.  `len`: more than DNET_LH_DATA_BYTES. */
void dnet_channel_expect(const dnet_ep_t *ep, uint32_t peer, size_t len);

/**
 * The peer has not taken the packet of a message that nothing waits before.
 *
 * @param why  DNET_STOPPED, DNET_HELD or DNET_STALLED
 * @return as dnet_channel_submit()
 */
dnet_status_t dnet_channel_refused(dnet_ep_t *ep, dnet_op_t *op, dnet_status_t why);

/** Does the packet wait for the peer, or in the NIC, with this outcome? */
static inline bool dnet_is_refusal(dnet_status_t status)
{
    return status == DNET_STOPPED || status == DNET_HELD || status == DNET_STALLED;
}

/* Packets to other hosts that are issued from now on, of some bytes altogether, leave together.
 * @return what dnet_channel_gather_end() is to be told */
bool dnet_channel_gather(dnet_ep_t *ep, size_t bytes);
void dnet_channel_gather_end(dnet_ep_t *ep, bool gathers);

/** Send what may go: control first, then messages.  Does not close the channel. */
dnet_flush_t dnet_channel_flush(dnet_ep_t *ep, dnet_channel_t *ch);

/** Close the channel when nothing is left in it and nothing is expected. */
void dnet_channel_close_if_idle(dnet_ep_t *ep, dnet_channel_t *ch);

/**
 * That peer reads nothing any more: what waits for it ends with DNET_ERR_PEER_DEAD.
 *
 * @param words_only  only what dnet_send_control() was to send, which nobody misses; the rest
 *                    stays, and with it the channel
 */
DNET_COLD void dnet_channel_peer_gone(dnet_ep_t *ep, uint32_t peer, bool words_only);

/** Take an op out of its list. */
void dnet_channel_remove(dnet_channel_t *ch, dnet_op_t *op);

/**
 * The peer has room again.
 *
 * @param credits  most packets before it is asked for more; 0: any number
 * @return the channel, to be flushed; NULL: it was not stopped
 */
dnet_channel_t *dnet_channel_resume(dnet_ep_t *ep, uint32_t peer, uint32_t credits);

/** The NIC has delivered the packet that it has kept: what its op was waiting for is done before
 * any other packet goes, for an answer may come before the channel's turn. */
void dnet_channel_settle(dnet_ep_t *ep);

/** The own NIC has room again: as dnet_channel_resume(), but no receiver has granted anything. */
dnet_channel_t *dnet_channel_go_on(dnet_ep_t *ep, uint32_t peer);

/**
 * Its time has come (retry_ns): the stop, or its resend, may have been lost (docs/flow-control.md
 * 3).  To be flushed.
 */
DNET_COLD void dnet_channel_retry(dnet_ep_t *ep, dnet_channel_t *ch);

/** The own NIC keeps a packet and takes no other request: every peer has a channel, and is stopped.
 */
DNET_COLD void dnet_channel_stall(dnet_ep_t *ep);

/** Send a head with `len` bytes behind it that waits for nothing but room.  Failure is logged, and
 * ends the process unless the peer is out of reach. */
void dnet_send_control(dnet_ep_t *ep, uint32_t peer, const dnet_ep_head_t *head, const void *behind,
                       uint32_t len);

/** May a packet that is no message go to the peer now? */
bool dnet_channel_is_free(const dnet_ep_t *ep, uint32_t peer);

/**
 * Send a piece of a message that the receiver expects.
 *
 * @return DNET_OK; DNET_IN_PROGRESS: the peer has no room, and nothing was sent; else an error
 */
dnet_status_t dnet_channel_piece(dnet_ep_t *ep, dnet_op_t *op, dnet_ep_head_t *head,
                                 const uint8_t *data, uint32_t len);

/** The op sends no more pieces. */
void dnet_channel_pieces_end(dnet_ep_t *ep, dnet_op_t *op);

/** Tell a sender that its operation `op` has been matched or fetched. */
void dnet_send_ack(dnet_ep_t *ep, uint32_t rank, uint32_t op);

/** Ask the receiver to forget the message of a send (cancel.h). */
void dnet_send_withdraw(dnet_ep_t *ep, const dnet_op_t *op);

/** Free all channels; the last call. */
void dnet_channels_free(dnet_ep_t *ep);

#endif
