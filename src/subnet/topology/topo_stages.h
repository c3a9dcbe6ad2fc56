/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a generator knows and a file or a Subnet Manager does not say: stages, joined trees, groups.
 */
#ifndef DNET_SUBNET_TOPO_STAGES_H
#define DNET_SUBNET_TOPO_STAGES_H

#include "subnet/topology/topo.h"

/**
 * Fill in levels that are not known (DNET_TOPO_NONE): the distance from the nearest switch with
 * servers. If that gives stages, also tree, group and index of all switches, as if a generator had
 * set them:
 *
 *   trees   what hangs together by links between different levels and has two edge switches or
 * more; links inside a level join them groups  of edge switches: pods, what hangs together in the
 * two lowest levels; of the others: directors, what hangs together without the edge switches index
 * place among the switches of the level and group, in their order
 *
 * @return DNET_OK; ERR_NO_MEMORY
 */
dnet_status_t dnet_topo_guess_stages(dnet_topo_t *t);

#endif
