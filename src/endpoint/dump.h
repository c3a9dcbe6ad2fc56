/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What waits for what: the state of an endpoint as text, on request (SIGUSR2) or by
 * dnet_ep_dump().
 */
#ifndef DNET_ENDPOINT_DUMP_H
#define DNET_ENDPOINT_DUMP_H

#include "endpoint/ep.h"

/** Let SIGUSR2 ask for a dump, unless the application handles it. */
void dnet_dump_arm(void);

/** Has SIGUSR2 come since the last dump? */
bool dnet_dump_wanted(void);

/** Write the dump that was asked for, to DIMMNET_DUMP or stderr. */
void dnet_dump_now(dnet_ep_t *ep);

#endif
