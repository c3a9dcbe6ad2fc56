/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank waits for, as text, on request: SIGUSR2.  The signal handler itself answers, so that
 * a rank that computes, or is never idle, answers too.  DIMMNET_HANG_S asks when a wait is long.
 */
#ifndef DNET_ENDPOINT_DUMP_H
#define DNET_ENDPOINT_DUMP_H

#include "endpoint/ep.h"

/** Let SIGUSR2 ask this endpoint for a dump, to DIMMNET_DUMP or stderr, unless the application
 * handles it. */
void dnet_dump_arm(dnet_ep_t *ep);

/** The endpoint is closed: the signal is ignored from now on. */
void dnet_dump_disarm(dnet_ep_t *ep);

/** The rank waits, which dnet_page_waiting() has noted: say for whom, once, when that has lasted
 * for DIMMNET_HANG_S. */
void dnet_dump_long_wait(dnet_ep_t *ep, uint64_t now_ns);

#endif
