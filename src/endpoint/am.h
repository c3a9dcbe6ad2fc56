/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Active messages whose data do not fit beside their header in one packet.  The header is handed on
 * when it arrives, in the order in which the sender has started its active messages; the data
 * follow by rendezvous, straight to where the receiver of the header wants them.
 */
#ifndef DNET_ENDPOINT_AM_H
#define DNET_ENDPOINT_AM_H

#include "endpoint/endpoint.h"

typedef struct {
    /**
     * The header of an active message has arrived, and `len` bytes of data are to come.
     *
     * @param header  valid during the call only
     * @param to_p    where the data shall go; must stay until end() is called
     * @return what end() is to be called with
     */
    void *(*begin)(void *arg, uint32_t peer, uint16_t id, const void *header, size_t header_len,
                   size_t len, void **to_p);
    /** All data are there. */
    void (*end)(void *arg, void *begun);
} dnet_ep_am_long_t;

/** Set the functions for such messages; `arg` is that of dnet_ep_am_register().  Without them one
 * is reported and ignored. */
void dnet_ep_am_register_long(dnet_ep_t *ep, const dnet_ep_am_long_t *functions);

#endif
