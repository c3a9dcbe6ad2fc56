/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-subnet: topologies, routes, addresses, rails and link health of a subnet.  Each subcommand
 * answers one question; docs/man/dnet-subnet.1 describes them.
 */
#include "subnet_tool.h"

#include "common/log.h"

#include <stdio.h>
#include <string.h>

static const subnet_command_t commands[] = {
    {"gen", "make a topology and write it as ibsim net, Graphviz or SVG", subnet_gen},
    {"route", "route a topology; verify, evaluate, write forwarding tables", subnet_route},
    {"verify", "judge forwarding tables dumped by a subnet manager", subnet_verify},
    {"diff", "count entries and blocks that differ between two dumps", subnet_diff},
    {"lid", "assign addresses; cost of a spine's failure", subnet_lid},
    {"rails", "simulate two rails with alike and with different engines", subnet_rails},
    {"health", "find sick links; isolate those that may go", subnet_health},
    {"reproduce", "the papers' figures: ours beside theirs", subnet_reproduce},
    {"path", "explain the route between two servers turn by turn", subnet_path},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *out)
{
    fprintf(out, "usage: dnet-subnet COMMAND [options]\n\n");
    for (int i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\nTopologies (--topology):\n");
    for (int i = 0; dnet_topo_kinds(i); i++)
        fprintf(out, "  %s\n", dnet_topo_kinds(i));
    fprintf(out, "  file:PATH  ibsim net file or ibnetdiscover output\n\nEngines (--engine):\n");
    for (int i = 0; dnet_engine_at(i); i++)
        fprintf(out, "  %-10s %s\n", dnet_engine_at(i)->name, dnet_engine_at(i)->summary);
    fprintf(out,
            "\nExit status: 0 good, 1 bad verdict, 2 wrong command line or input, 3 system.\n");
}

int main(int argc, char **argv)
{
    dnet_log_init();
    dnet_log_identity("dnet-subnet");
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        usage(stdout);
        return SUBNET_EXIT_GOOD;
    }
    for (int i = 0; argc > 1 && i < COMMANDS; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    if (argc > 1)
        dnet_error("no command '%s'", argv[1]);
    usage(stderr);
    return SUBNET_EXIT_USAGE;
}
