/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that processes of a job on one host share or read, and waiting for what stands there.
 */
#ifndef DNET_ENDPOINT_SHARE_H
#define DNET_ENDPOINT_SHARE_H

#include "dimmnet/device.h"
#include "endpoint/endpoint.h"

/**
 * May processes of this job map memory of each other's dnet_ep_alloc(), for collectives, for
 * windows?  Not where something must see all that passes between them: a cluster's network, a
 * capture, faults for tests; and not where an option says packets.
 */
bool dnet_ep_shares_boards(const dnet_ep_t *ep);
bool dnet_ep_shares_windows(const dnet_ep_t *ep);

/** Is it worth while to ask a peer to copy in its own memory, if it is in a call, instead of having
 * the kernel do it? */
bool dnet_ep_asks_owners(const dnet_ep_t *ep);

/** Could they, as far as all of them know?  The same on all ranks, whatever the options of each. */
bool dnet_ep_job_may_share(const dnet_ep_t *ep);

/**
 * Map memory of a peer's dnet_ep_alloc().
 *
 * @param offset, bytes  as its dnet_ep_sodimm_offset() says; whole pages
 * @return NULL: not to be had (logged)
 */
void *dnet_ep_map(dnet_ep_t *ep, uint32_t peer, uint32_t offset, size_t bytes);
void dnet_ep_unmap(dnet_ep_t *ep, void *memory, size_t bytes);

/** Wake a peer that sleeps in dnet_ep_progress(). */
void dnet_ep_wake(dnet_ep_t *ep, uint32_t peer);

/** May this process read that peer's memory?  Tried by a real copy. */
bool dnet_ep_can_read(dnet_ep_t *ep, uint32_t peer);

/** How fast is that?  Timed when the endpoint was connected. */
dnet_kernel_copies_t dnet_ep_kernel_copies(const dnet_ep_t *ep);

/** Copy out of a peer's own memory, or into it (stores), where dnet_ep_can_read(); any thread may.
 * Ranges: of as many bytes in all, at most DNET_COPY_RANGES each; used up.
 * @return DNET_OK; DNET_ERR_ARGUMENT: there is no such memory; DNET_ERR_PEER_DEAD (both logged) */
dnet_status_t dnet_ep_copy(dnet_ep_t *ep, uint32_t peer, bool stores, dnet_ranges_t own,
                           dnet_ranges_t theirs);

/** The same with one range each. */
dnet_status_t dnet_ep_read(dnet_ep_t *ep, uint32_t peer, const void *from, void *to, size_t bytes);
dnet_status_t dnet_ep_write(dnet_ep_t *ep, uint32_t peer, const void *from, void *to, size_t bytes);

/** Has anything come that dnet_ep_progress() has not seen?  Costs two loads. */
bool dnet_ep_has_come(const dnet_ep_t *ep);

/* ---- waiting ---- */

/** A wait begins for something that is no message: dnet_ep_progress() polls and yields before it
 * sleeps, however long ago the last message came. */
void dnet_ep_waits_anew(dnet_ep_t *ep);

/** While true a caller of dnet_ep_poll() works with memory that it shares between its calls, and so
 * shortly that they seem to follow each other at once: its slice is given away only where ranks
 * outnumber processors. */
void dnet_ep_set_at_work(dnet_ep_t *ep, bool at_work);

/** Something beside messages that dnet_ep_progress() must not sleep through: awaited(arg) says
 * whether it has still not come.  NULL: there is nothing. */
void dnet_ep_set_awaited(dnet_ep_t *ep, bool (*awaited)(void *arg), void *arg);

/** Are there more ranks than processors? */
bool dnet_ep_oversubscribed(const dnet_ep_t *ep);

/** Processors that this process can have to itself where the host's ranks share them evenly; at
 * least 1. */
uint32_t dnet_ep_own_processors(const dnet_ep_t *ep);

/** Count what the caller does itself: a communicator has got a board; a board far memory; a
 * collective on one; a window whose memory all ranks reach; an operation in its memory, one that
 * its owner has done when asked. */
void dnet_ep_count_board(dnet_ep_t *ep);
void dnet_ep_count_far_board(dnet_ep_t *ep);
void dnet_ep_count_board_collective(dnet_ep_t *ep);
void dnet_ep_count_window(dnet_ep_t *ep);
void dnet_ep_count_window_op(dnet_ep_t *ep);
void dnet_ep_count_window_ask(dnet_ep_t *ep);

#endif
