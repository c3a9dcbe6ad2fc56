/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Networks that a test draws: switches of 8 ports with servers, and links between them.
 */
#ifndef MADE_H
#define MADE_H

#include "subnet/topology/topo.h"

/* Switches 0 up to `switches`, each with a server at its port `port`, and those links. */
static inline dnet_topo_t *made(const char *title, int switches, int port, const int (*links)[2],
                                size_t count)
{
    dnet_topo_t *t = dnet_topo_new(title);
    for (int s = 0; s < switches; s++) {
        dnet_topo_add_switch(t, NULL, 8);
        dnet_topo_add_host(t, NULL, s, port);
    }
    for (size_t i = 0; i < count; i++)
        dnet_topo_add_link(t, links[i][0], 0, links[i][1], 0);
    assert_int_equal(dnet_topo_finish(t), DNET_OK);
    return t;
}

#endif
