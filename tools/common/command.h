/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tools that are made of commands ("dnet-subnet route"): one list of commands, one of options, and
 * from these the command line of each command and its --help.
 */
#ifndef DNET_TOOLS_COMMAND_H
#define DNET_TOOLS_COMMAND_H

#include <stdio.h>

typedef struct {
    const char *name, *arg; /* arg: what --help calls its value; NULL: it has none */
    /* as command_option() returns it; a letter of `letters` is its short form */
    int code;
    const char *help;
} tool_option_t;

typedef struct {
    const char *name, *args; /* args: behind the options; "" for none */
    const char *options;     /* names between blanks */
    const char *summary;
    int (*run)(int argc, char **argv); /* argv[0] is the command; returns the exit status */
} tool_command_t;

typedef struct {
    const char *name, *letters;
    const tool_command_t *command; /* the last one has no name */
    const tool_option_t *option;   /* likewise */
    void (*more)(FILE *out);       /* what --help of the tool says besides the commands */
    int usage_status;              /* exit status after a wrong command line */
} tool_t;

/** The tool's main(): --help, --version, or the command that argv[1] names. */
int command_run(const tool_t *tool, int argc, char **argv);

/**
 * getopt_long() with the options of the command in argv[0]; --help is answered here and ends the
 * tool.
 *
 * @return the option's code, its value in optarg; -1 after the last; '?' wrong (a line has said
 * why)
 */
int command_option(const tool_t *tool, int argc, char **argv);

#endif
