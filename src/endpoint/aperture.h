/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Own memory that peers may reach (docs/protocol.md 5), a slot for each piece.  Slot 0 is the
 * driver's.
 */
#ifndef DNET_ENDPOINT_APERTURE_H
#define DNET_ENDPOINT_APERTURE_H

#include "endpoint/ep.h"

/** Open a slot in which a peer can fetch a message.  @return the slot; 0: none to spare */
uint32_t dnet_aperture_show(dnet_ep_t *ep, dnet_op_t *op, const void *at, size_t len);

/** Close what dnet_aperture_show() has opened. */
void dnet_aperture_hide(dnet_ep_t *ep, uint32_t slot);

/** Open a slot into which a peer will store.  @return the slot; 0: none is free */
uint32_t dnet_aperture_open(dnet_ep_t *ep, dnet_rndv_recv_t *recv, void *at, size_t len);

/** It has stored: close the slot.  @return the receive it was opened for; NULL: none */
dnet_rndv_recv_t *dnet_aperture_close(dnet_ep_t *ep, uint32_t slot);

#endif
