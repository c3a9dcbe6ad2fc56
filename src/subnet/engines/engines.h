/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The routing engines there are.
 */
#ifndef DNET_SUBNET_ENGINES_H
#define DNET_SUBNET_ENGINES_H

#include "subnet/routing/routing.h"

extern const dnet_engine_t dnet_engine_minhop, dnet_engine_updn, dnet_engine_ftree,
    dnet_engine_turnprohib, dnet_engine_turnadd, dnet_engine_dfsssp;

/** The i-th engine; NULL after the last. */
const dnet_engine_t *dnet_engine_at(int i);

/** An engine by name; NULL after logging the names there are. */
const dnet_engine_t *dnet_engine_find(const char *name);

#endif
