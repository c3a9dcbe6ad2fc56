/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The commands of dsh, and running a line.
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "tools/shell/dsh.h"

typedef enum { LOOK, CHANGE } access_t;
typedef enum { SHEET, OURS } origin_t;
typedef struct {
    const char *name, *alias, *title, *syntax;
    dsh_command_fn *run;
    access_t access;
    origin_t origin;
} command_t;

static const command_t commands[] = {
#define DSH_COMMAND(name, alias, function, access, origin, title, syntax) \
    {name, alias, title, syntax, dsh_##function, access, origin},
#include "tools/shell/commands.def"
#undef DSH_COMMAND
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

const char *dsh_command_name(unsigned i)
{
    return i < COMMANDS ? commands[i].name : NULL;
}

bool dsh_help(dsh_t *d, unsigned count, char **words)
{
    (void) words;
    if (!dsh_want(d, count - 1, 0, "h"))
        return false;
    for (unsigned i = 0; i < COMMANDS; i++) {
        const command_t *c = &commands[i];
        if (i > 0 && c->origin != commands[i - 1].origin)
            printf("\nBeyond the data sheet:\n");
        char name[32];
        snprintf(name, sizeof(name), "%s%s%s", c->name, c->alias ? ", " : "",
                 c->alias ? c->alias : "");
        printf("%-12s: %s\n             - %s\n", name, c->title, c->syntax);
    }
    return true;
}

static const command_t *find_command(const char *word)
{
    for (unsigned i = 0; i < COMMANDS; i++)
        if (strcmp(word, commands[i].name) == 0 ||
            (commands[i].alias && strcmp(word, commands[i].alias) == 0))
            return &commands[i];
    return NULL;
}

/* A keeper that ends takes its cluster away, also from under a shell that works on it. */
static bool still_there(dsh_t *d)
{
    if (!d->cluster || dnet_cluster_alive(d->cluster))
        return true;
    d->quit = d->gone = true;
    return dsh_fail(d, "cluster %s is gone: its keeper, process %d, has ended", d->cluster->name,
                    d->cluster->keeper);
}

bool dsh_run(dsh_t *d, char *line)
{
    char *words[DSH_WORDS];
    unsigned count = 0;
    d->command = NULL;
    for (char *rest = line, *word; (word = strtok_r(rest, " \t\r\n", &rest));) {
        if (count == 0 && word[0] == '#')
            break;
        if (count == DSH_WORDS)
            return dsh_fail(d, "more than %u words", DSH_WORDS);
        words[count++] = word;
    }
    if (count == 0)
        return true;
    const command_t *c = find_command(words[0]);
    if (!c)
        return dsh_fail(d, "no command '%.40s'; h lists them", words[0]);
    d->command = c->name;
    if (!still_there(d))
        return false;
    if (c->access == CHANGE && d->look_only)
        return dsh_fail(d, "this NIC is a job's and can only be looked at");
    if (!d->look_only)
        d->dev->ops->run(d->dev); /* requests that waited for room */
    bool good = c->run(d, count, words);
    fflush(stdout); /* a program that drives the shell through pipes waits for it */
    return good;
}
