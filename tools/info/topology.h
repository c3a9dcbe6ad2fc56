/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DNET_TOOLS_TOPOLOGY_H
#define DNET_TOOLS_TOPOLOGY_H

#include <stdbool.h>

#include "common/options.h"

/** dnet-info --topology: the host, its distance classes, and the ranks that run on it now.
 * @return exit status */
int info_topology(const dnet_options_t *o, bool json);

#endif
