/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Flow control for comparison (DIMMNET_FLOW=stall, rnr, limit; docs/protocol.md 6.2).  This is all
 * that the rest of the endpoint knows of it, beside three facts that are set here: tx.timer_ns,
 * rndv.no_fetch, and flow_turns, without which an ordinary run never comes here.
 */
#ifndef DNET_ENDPOINT_COMPARE_H
#define DNET_ENDPOINT_COMPARE_H

#include "endpoint/ep.h"

/** Can the job start with this DIMMNET_FLOW?  @return DNET_OK; DNET_ERR_STATE (logged) */
dnet_status_t dnet_compare_check(const dnet_ep_t *ep);

/** Change what the endpoint's limits and options say where this DIMMNET_FLOW needs it. */
void dnet_compare_apply(dnet_ep_t *ep);

/** Is reception of both WIDs of a NIC in line, as the data sheet has it? */
bool dnet_compare_in_line(const dnet_ep_t *ep);

/** Flow Mode of the own NIC. */
dnet_flow_mode_t dnet_compare_flow_mode(const dnet_ep_t *ep);

/** A turn in a round: let a stalled NIC go on, or try again the peers whose time has come.
 * @return whether anything happened */
DNET_COLD bool dnet_compare_turn(dnet_ep_t *ep);

/** limit (compare/srq_limit.c): LH entries that the thread offers at a time; 0: no thread. */
uint32_t dnet_srq_limit_refill(const dnet_ep_t *ep);

/** limit: start the thread.  @return DNET_OK; DNET_ERR_SYSTEM (logged) */
dnet_status_t dnet_srq_limit_start(dnet_ep_t *ep);

/** limit: end the thread, if there is one. */
void dnet_srq_limit_end(dnet_ep_t *ep);

#endif
