/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet: topologies, routes, addresses, rails and link health of a subnet.  Each command
 * answers one question and has a file of its own; dnet-subnet.1 describes them.
 */
#include "subnet/engines/engines.h"
#include "tools/subnet/subnet.h"

#include "common/log.h"

static const tool_command_t *const commands[] = {
    &subnet_gen,    &subnet_route, &subnet_verify, &subnet_diff,      &subnet_lid,  &subnet_rails,
    &subnet_health, &subnet_show,  &subnet_draw,   &subnet_reproduce, &subnet_path, NULL,
};

static void more(FILE *out)
{
    fprintf(out, "\nTopologies (--topology):\n");
    for (int i = 0; dnet_topo_kinds(i); i++)
        fprintf(out, "  %s\n", dnet_topo_kinds(i));
    fprintf(out, "  file:PATH  ibsim net file or ibnetdiscover output\n\nEngines (--engine):\n");
    for (int i = 0; dnet_engine_at(i); i++)
        fprintf(out, "  %-10s %s\n", dnet_engine_at(i)->name, dnet_engine_at(i)->summary);
}

int main(int argc, char **argv)
{
    static const tool_t tool = {"dnet-subnet", commands, more,
                                "4 good for data, but not for management"};
    dnet_log_init();
    dnet_log_identity("dnet-subnet");
    return tool_main(&tool, argc, argv);
}
