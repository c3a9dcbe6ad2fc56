/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages whose bytes lie in the own SO-DIMM area in blocks (docs/protocol.md 4.3).
 *
 * RTS says where the blocks are.  A receiver whose own blocks lie in SO-DIMM too has its NIC fetch
 * them by RVLS or RVLI and put them where they belong by Command Ex, and acknowledges.  Any other
 * receiver answers as usual, and the sender packs the blocks then.
 */
#ifndef DNET_ENDPOINT_STRIDED_H
#define DNET_ENDPOINT_STRIDED_H

#include "endpoint/op.h"
#include "endpoint/rndv.h"

/** DIMMNET_STRIDED. */
enum { DNET_STRIDED_AUTO, DNET_STRIDED_NEVER };

/** Sender: put a layout behind the head of an RTS.  @return DNET_OK; DNET_ERR_NO_MEMORY: it is not
 * there */
dnet_status_t dnet_strided_attach(dnet_op_t *op, const dnet_ep_layout_t *layout);

/** Sender: an RTS for data that lie in SO-DIMM one behind the other says where. */
void dnet_strided_announce(dnet_ep_t *ep, dnet_op_t *op);

/** Sender: the receiver wants the bytes of a layout one behind the other: copy them.
 * @return DNET_OK; DNET_ERR_NO_MEMORY (logged) */
dnet_status_t dnet_strided_pack(dnet_ep_t *ep, dnet_op_t *op);

/** Receiver: the layout behind an RTS's head; kind 0 where there is none or it makes no sense. */
dnet_ep_layout_t dnet_strided_read(const dnet_ep_head_t *head, const dnet_lh_entry_t *entry);

/** Receiver: fetch a message from blocks into blocks; r->status says how that went.
 * @return false: it cannot be done so, nothing has happened */
bool dnet_strided_fetch(dnet_ep_t *ep, dnet_rndv_recv_t *r);

#endif
