/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a rank waits for and keeps: collected from the endpoint's lists, as text, and on the rank's
 * page.
 */
#ifndef DNET_ENDPOINT_WAITS_H
#define DNET_ENDPOINT_WAITS_H

#include "endpoint/ep.h"

/**
 * How to read the endpoint's lists while they may change: in a signal handler, or in another
 * thread.  An address that is none is not an error then.
 */
typedef struct {
    int fd[2]; /* a pipe */
} dnet_peek_t;

/** @return false: no descriptors */
bool dnet_peek_open(dnet_peek_t *peek);
void dnet_peek_close(dnet_peek_t *peek);

/**
 * Visit what the endpoint waits for and keeps: posted receives, sends under way, peers that have
 * stopped it, unexpected messages, and what its caller knows of.
 *
 * @param peek  NULL: the lists do not change meanwhile
 * @param call  the application's call; "": none
 */
void dnet_waits_visit(dnet_ep_t *ep, const dnet_peek_t *peek, const char *call, dnet_wait_fn fn,
                      void *arg);

/** Lay the page over shared memory, and say on it who the rank is.  Without memory or descriptors
 * it stays private. */
void dnet_page_open(dnet_ep_t *ep);

/** The rank has nothing to do: note it on the page, and when that lasts what for.  Called at times.
 */
DNET_COLD void dnet_page_waiting(dnet_ep_t *ep, uint64_t now_ns);

void dnet_page_close(dnet_ep_t *ep);

#endif
