/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dsh, the DIMMnet Shell: an interactive debugger of NICs (data sheet section 12).
 */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/shell/dsh.h"

/* ---- commands ---- */

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
    fflush(stdout); /* whoever drives the shell through pipes waits for it */
    return good;
}

/* ---- command line ---- */

static const char usage_text[] =
    "usage: dsh [--cluster NAME] [OPTIONS] PROCESSES PID WID\n"
    "       dsh [--cluster NAME] [--node N] [--wid W] [OPTIONS]\n"
    "       dsh --job PID [--node N] [--wid W] [OPTIONS]\n"
    "       dsh --list\n"
    "The DIMMnet Shell: pokes at NICs of a persistent cluster (dnet-cluster), looks at a job's.\n"
    "  PROCESSES PID WID   processes of the group, own number from 0, own WID\n"
    "  --cluster NAME      (" DNET_CLUSTER_NAME_DEFAULT ")\n"
    "  --node N, --wid W   the node, from 1, and the WID to work as (1, 0)\n"
    "  --job PID           NICs of the job this process belongs to or has started\n"
    "  --list              print the NICs of this user and who uses them\n"
    "  -c COMMAND          run this and end; may be given several times\n"
    "  --file SCRIPT       run the lines of a file; - is standard input, also without a terminal\n"
    "  --echo              print each line of a script behind the prompt before its output\n"
    "  --stop              end at the first command that fails\n"
    "Exit status: 0; 1 a command failed; 2 usage; 3 no NIC to work on.\n";

#define TEXTS_MAX 64u

typedef struct {
    const char *cluster, *script;
    const char *text[TEXTS_MAX];
    unsigned texts;
    unsigned long node, wid, job; /* node, job: 0 when not given */
    bool node_given, wid_given, list;
    dsh_manner_t manner;
} options_t;

static int usage(int code)
{
    fputs(usage_text, code == DSH_EXIT_GOOD ? stdout : stderr);
    return code;
}

static bool parse_number(const char *what, const char *text, unsigned long least,
                         unsigned long most, unsigned long *value_p)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 0);
    if (*text >= '0' && *text <= '9' && !*end && errno == 0 && value >= least && value <= most) {
        *value_p = value;
        return true;
    }
    fprintf(stderr, "dsh: %s %s: want a number from %lu to %lu\n", what, text, least, most);
    return false;
}

static bool parse_option(int c, options_t *o)
{
    switch (c) {
        case 'C':
            o->cluster = optarg;
            return true;
        case 'f':
            o->script = optarg;
            return true;
        case 'e':
            o->manner.echo = true;
            return true;
        case 's':
            o->manner.stop = true;
            return true;
        case 'l':
            o->list = true;
            return true;
        case 'n':
            o->node_given = true;
            return parse_number("--node", optarg, 1, DNET_NODES_MAX, &o->node);
        case 'w':
            o->wid_given = true;
            return parse_number("--wid", optarg, 0, 1, &o->wid);
        case 'j':
            return parse_number("--job", optarg, 1, INT32_MAX, &o->job);
        case 'c':
            if (o->texts == TEXTS_MAX) {
                fprintf(stderr, "dsh: more than %u times -c; use --file\n", TEXTS_MAX);
                return false;
            }
            o->text[o->texts++] = optarg;
            return true;
    }
    return false; /* getopt has said why */
}

static bool parse(int argc, char **argv, options_t *o)
{
    static const struct option known[] = {
        {"cluster", required_argument, NULL, 'C'},
        {"node", required_argument, NULL, 'n'},
        {"wid", required_argument, NULL, 'w'},
        {"job", required_argument, NULL, 'j'},
        {"file", required_argument, NULL, 'f'},
        {"echo", no_argument, NULL, 'e'},
        {"stop", no_argument, NULL, 's'},
        {"list", no_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    *o = (options_t){.cluster = DNET_CLUSTER_NAME_DEFAULT, .node = 1};
    for (int c; (c = getopt_long(argc, argv, "c:", known, NULL)) != -1;)
        if (!parse_option(c, o))
            return false;
    int rest = argc - optind;
    if (rest == 0 || (rest == 3 && !o->job && !o->node_given && !o->wid_given))
        return true;
    fprintf(stderr, "dsh: want PROCESSES PID WID, or --node and --wid, or --job\n");
    return false;
}

/*
 * The data sheet's arguments.  A group of no more processes than nodes has one on each node, a
 * larger one two: then process p has WID p mod 2 of node p / 2 + 1.
 */
static bool place_process(const dsh_t *d, char **words, options_t *o)
{
    unsigned long processes, pid;
    if (!parse_number("PROCESSES", words[0], 1, DNET_PROCESSES_PER_NIC * d->nodes, &processes) ||
        !parse_number("PID", words[1], 0, processes - 1, &pid) ||
        !parse_number("WID", words[2], 0, DNET_PROCESSES_PER_NIC - 1, &o->wid))
        return false;
    bool pairs = processes > d->nodes;
    if (pairs && o->wid != pid % DNET_PROCESSES_PER_NIC) {
        fprintf(stderr, "dsh: %lu processes on %u nodes: process %lu has WID %lu\n", processes,
                d->nodes, pid, pid % DNET_PROCESSES_PER_NIC);
        return false;
    }
    o->node = (pairs ? pid / DNET_PROCESSES_PER_NIC : pid) + 1;
    return true;
}

static int attach(dsh_t *d, options_t *o, int count, char **words)
{
    if (o->job) {
        if (!dsh_attach_job(d, (int32_t) o->job))
            return DSH_EXIT_NIC;
        if (!o->node_given && !o->wid_given)
            return DSH_EXIT_GOOD;
        if (!o->node_given)
            o->node = d->at + 1;
    } else {
        if (!dsh_attach_cluster(d, o->cluster))
            return DSH_EXIT_NIC;
        if (count && !place_process(d, words, o))
            return DSH_EXIT_USAGE;
    }
    if (o->node > d->nodes) {
        dsh_fail(d, "no node %lu; there are %u", o->node, d->nodes);
        return DSH_EXIT_USAGE;
    }
    return dsh_take_node(d, (uint32_t) o->node - 1, (unsigned) o->wid) ? DSH_EXIT_GOOD
                                                                       : DSH_EXIT_NIC;
}

static bool run_all(dsh_t *d, const options_t *o)
{
    bool good = true;
    for (unsigned i = 0; i < o->texts && !d->quit && (good || !o->manner.stop); i++)
        good &= dsh_run_text(d, o->text[i], i + 1, &o->manner);
    if (o->script && !d->quit && (good || !o->manner.stop))
        good &= dsh_run_file(d, o->script, &o->manner);
    if (o->texts || o->script)
        return good;
    return isatty(STDIN_FILENO) ? dsh_run_terminal(d) : dsh_run_file(d, "-", &o->manner);
}

int main(int argc, char **argv)
{
    options_t o;
    dsh_t d = {0};
    dnet_log_init();
    dnet_log_identity("dsh");
    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        return usage(DSH_EXIT_GOOD);
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        return printf("dsh (dimmnet) %s\n", PACKAGE_VERSION) < 0;
    if (!parse(argc, argv, &o))
        return usage(DSH_EXIT_USAGE);
    if (o.list) {
        dsh_list();
        return DSH_EXIT_GOOD;
    }
    int code = attach(&d, &o, argc - optind, argv + optind);
    if (code == DSH_EXIT_GOOD && !run_all(&d, &o))
        code = DSH_EXIT_COMMAND;
    if (d.gone)
        code = DSH_EXIT_NIC;
    dsh_detach(&d);
    return code;
}
