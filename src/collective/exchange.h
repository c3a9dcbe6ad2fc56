/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An exchange by pairs, where ranks have no processor each: of two, the one that comes to it first
 * moves what they have for each other.  So who gets a processor is done with all of its exchanges,
 * and leaves, while the others wait for theirs.
 */
#ifndef DNET_COLLECTIVE_EXCHANGE_H
#define DNET_COLLECTIVE_EXCHANGE_H

#include "collective/collective.h"

/** dnet_board_alltoallv() of blocks that all ranks may read and write; `to` is apart from `from`.
 */
void dnet_exchange_by_pairs(dnet_board_t *b, const dnet_exchange_t *x);

#endif
