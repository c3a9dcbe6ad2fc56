/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet: topologies, routes, addresses, rails and link health of a subnet.  Each command
 * answers one question; dnet-subnet.1 describes them.
 */
#include "tools/subnet/subnet.h"

#include "common/log.h"

int main(int argc, char **argv)
{
    dnet_log_init();
    dnet_log_identity("dnet-subnet");
    return command_run(&subnet_tool, argc, argv);
}
