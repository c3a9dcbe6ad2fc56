/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "tools/common/command.h"

#include <getopt.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define OPTIONS_MAX 64
#define HELP_CODE 0x7f00

static const tool_command_t *find_command(const tool_t *tool, const char *name)
{
    for (const tool_command_t *c = tool->command; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

/* Is the word in a list of words between blanks? */
static bool listed(const char *list, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += len)
        if ((at == list || at[-1] == ' ') && (at[len] == ' ' || !at[len]))
            return true;
    return false;
}

static void tool_help(const tool_t *tool, FILE *out)
{
    fprintf(out, "usage: %s COMMAND [OPTIONS] ...\n\n", tool->name);
    for (const tool_command_t *c = tool->command; c->name; c++)
        fprintf(out, "  %-10s %s\n", c->name, c->summary);
    fprintf(out, "\n%s COMMAND --help shows a command's options.\n", tool->name);
    if (tool->more)
        tool->more(out);
}

static void command_help(const tool_t *tool, const tool_command_t *c)
{
    printf("usage: %s %s%s%s%s\n%s\n\n", tool->name, c->name, *c->options ? " [OPTIONS]" : "",
           *c->args ? " " : "", c->args, c->summary);
    for (const tool_option_t *o = tool->option; o->name; o++) {
        char option[48];
        if (!listed(c->options, o->name))
            continue;
        snprintf(option, sizeof(option), "--%s%s%s", o->name, o->arg ? " " : "",
                 o->arg ? o->arg : "");
        printf("  %-22s %s\n", option, o->help);
    }
    printf("  %-22s %s\n", "--help", "this");
}

int command_run(const tool_t *tool, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    const tool_command_t *c = find_command(tool, word);
    if (c)
        return c->run(argc - 1, argv + 1);
    if (strcmp(word, "--version") == 0)
        return printf("%s (dimmnet) %s\n", tool->name, PACKAGE_VERSION) < 0;
    bool help = strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
    if (argc > 1 && !help)
        fprintf(stderr, "%s: no command '%s'\n", tool->name, word);
    tool_help(tool, help ? stdout : stderr);
    return help ? EXIT_SUCCESS : tool->usage_status;
}

int command_option(const tool_t *tool, int argc, char **argv)
{
    struct option known[OPTIONS_MAX] = {{"help", no_argument, NULL, HELP_CODE}};
    char letters[2 * OPTIONS_MAX] = "h";
    const tool_command_t *command = find_command(tool, argv[0]);
    int n = 1;
    for (const tool_option_t *o = tool->option; o->name && n < OPTIONS_MAX - 1; o++) {
        if (!listed(command->options, o->name))
            continue;
        known[n++] =
            (struct option){o->name, o->arg ? required_argument : no_argument, NULL, o->code};
        if (o->code < 128 && strchr(tool->letters, o->code))
            snprintf(letters + strlen(letters), 3, "%c%s", o->code, o->arg ? ":" : "");
    }
    int code = getopt_long(argc, argv, letters, known, NULL);
    if (code != HELP_CODE && code != 'h')
        return code;
    command_help(tool, command);
    exit(EXIT_SUCCESS);
}
