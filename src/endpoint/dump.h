/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank waits for, as text, on request: SIGUSR2.  The signal handler itself answers, so that
 * a rank that computes, or is never idle, answers too.
 */
#ifndef DNET_ENDPOINT_DUMP_H
#define DNET_ENDPOINT_DUMP_H

#include "endpoint/ep.h"

/** Let SIGUSR2 ask this endpoint for a dump, to DIMMNET_DUMP or stderr, unless the application
 * handles it. */
void dnet_dump_arm(dnet_ep_t *ep);

/** The endpoint is closed: the signal is ignored from now on. */
void dnet_dump_disarm(dnet_ep_t *ep);

#endif
