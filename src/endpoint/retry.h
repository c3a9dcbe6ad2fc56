/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Stops that have lasted long (docs/flow-control.md 3).
 */
#ifndef DNET_ENDPOINT_RETRY_H
#define DNET_ENDPOINT_RETRY_H

#include "endpoint/ep.h"

/** Try again every peer whose time has come, and note the next time. */
DNET_COLD void dnet_retry_due(dnet_ep_t *ep, uint64_t now_ns);

/** How long a process may sleep, us, so that what tries again does so in time.  @param most_us  if
 * nothing does */
uint32_t dnet_retry_sleep_us(const dnet_ep_t *ep, uint32_t most_us);

#endif
