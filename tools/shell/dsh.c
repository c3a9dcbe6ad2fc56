/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dsh, the DIMMnet Shell: an interactive debugger of NICs (data sheet section 12).
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "tools/common/command.h"
#include "tools/shell/dsh.h"

typedef struct {
    const char *cluster, *script;
    tool_texts_t text;
    int node, wid, job; /* node, wid: -1, job: 0 when not given */
    bool list;
    dsh_manner_t manner;
} options_t;

static const tool_option_t options[] = {
    TOOL_OPTION(options_t, cluster, "cluster", TOOL_TEXT, "NAME",
                "(" DNET_CLUSTER_NAME_DEFAULT ")"),
    TOOL_OPTION(options_t, node, "node", TOOL_INT, "N", "the node to work as, from 1 (1)",
                .least = 1, .most = DNET_NODES_MAX),
    TOOL_OPTION(options_t, wid, "wid", TOOL_INT, "W", "and its WID (0)",
                .most = DNET_PROCESSES_PER_NIC - 1),
    TOOL_OPTION(options_t, job, "job", TOOL_INT, "PID",
                "NICs of the job this process belongs to or has started, to look at", .least = 1,
                .most = INT32_MAX, .letter = 'p'),
    TOOL_OPTION(options_t, list, "list", TOOL_FLAG, NULL,
                "print the NICs of this user and who uses them"),
    TOOL_OPTION(options_t, text, "command", TOOL_TEXTS, "COMMAND",
                "run this and end; may be given several times", .letter = 'c'),
    TOOL_OPTION(options_t, script, "file", TOOL_TEXT, "SCRIPT",
                "run the lines of a file; - is standard input, also without a terminal"),
    TOOL_OPTION(options_t, manner.echo, "echo", TOOL_FLAG, NULL,
                "print each line of a script behind the prompt before its output"),
    TOOL_OPTION(options_t, manner.stop, "stop", TOOL_FLAG, NULL,
                "end at the first command that fails"),
    {NULL},
};

static void more(FILE *out)
{
    fprintf(out,
            "\nPROCESSES PID WID, as in the data sheet: processes of the group, own number from "
            "0, own WID;\nthey take the place of --node and --wid.\n");
}

/*
 * The data sheet's arguments.  A group of no more processes than nodes has one on each node, a
 * larger one two: then process p has WID p mod 2 of node p / 2 + 1.
 */
static bool place_process(const dsh_t *d, char **words, options_t *o)
{
    uint64_t processes, pid, wid;
    if (!tool_number("PROCESSES", words[0], 1, DNET_PROCESSES_PER_NIC * d->nodes, &processes) ||
        !tool_number("PID", words[1], 0, processes - 1, &pid) ||
        !tool_number("WID", words[2], 0, DNET_PROCESSES_PER_NIC - 1, &wid))
        return false;
    bool pairs = processes > d->nodes;
    if (pairs && wid != pid % DNET_PROCESSES_PER_NIC) {
        tool_error("%" PRIu64 " processes on %u nodes: process %" PRIu64 " has WID %" PRIu64,
                   processes, d->nodes, pid, pid % DNET_PROCESSES_PER_NIC);
        return false;
    }
    o->node = (int) (pairs ? pid / DNET_PROCESSES_PER_NIC : pid) + 1;
    o->wid = (int) wid;
    return true;
}

static int attach(dsh_t *d, options_t *o, int count, char **words)
{
    int code;
    if (o->job) {
        code = dsh_attach_job(d, o->job);
        if (code != TOOL_GOOD || (o->node < 0 && o->wid < 0))
            return code;
        if (o->node < 0)
            o->node = (int) d->at + 1;
    } else {
        code = dsh_attach_cluster(d, o->cluster);
        if (code != TOOL_GOOD)
            return code;
        if (count && !place_process(d, words, o))
            return TOOL_USAGE;
    }
    uint32_t node = o->node < 0 ? 0 : (uint32_t) o->node - 1;
    if (node >= d->nodes) {
        dsh_fail(d, "no node %u; there are %u", node + 1, d->nodes);
        return TOOL_USAGE;
    }
    return dsh_take_node(d, node, o->wid < 0 ? 0 : (unsigned) o->wid) ? TOOL_GOOD : TOOL_SYSTEM;
}

static bool run_all(dsh_t *d, const options_t *o)
{
    bool good = true;
    for (int i = 0; i < o->text.count && !d->quit && (good || !o->manner.stop); i++)
        good &= dsh_run_text(d, o->text.text[i], (unsigned long) i + 1, &o->manner);
    if (o->script && !d->quit && (good || !o->manner.stop))
        good &= dsh_run_file(d, o->script, &o->manner);
    if (o->text.count || o->script)
        return good;
    return isatty(STDIN_FILENO) ? dsh_run_terminal(d) : dsh_run_file(d, "-", &o->manner);
}

static int run(int argc, char **argv);

static const tool_command_t dsh = {
    .args = "[PROCESSES PID WID]",
    .args_most = 3,
    .summary =
        "The DIMMnet Shell: pokes at NICs of a persistent cluster (dnet-cluster), looks at a "
        "job's.",
    .options = options,
    .run = run,
};

static int run(int argc, char **argv)
{
    options_t o = {.node = -1, .wid = -1};
    dsh_t d = {0};
    if (!tool_parse(&dsh, &argc, &argv, &o))
        return TOOL_USAGE;
    if (argc != 0 && (argc != 3 || o.job || o.node >= 0 || o.wid >= 0)) {
        tool_error("want PROCESSES PID WID, or --node and --wid, or --job");
        return TOOL_USAGE;
    }
    if (o.job && o.cluster) {
        tool_error("--job and --cluster: want one of them");
        return TOOL_USAGE;
    }
    if (o.list) {
        if (argc || o.job || o.cluster || o.node >= 0 || o.wid >= 0 || o.text.count || o.script ||
            o.manner.echo || o.manner.stop) {
            tool_error("--list: wants nothing else");
            return TOOL_USAGE;
        }
        dsh_list();
        return TOOL_GOOD;
    }
    int code = attach(&d, &o, argc, argv);
    if (code == TOOL_GOOD && !run_all(&d, &o))
        code = TOOL_BAD;
    if (d.gone)
        code = TOOL_SYSTEM;
    dsh_detach(&d);
    return code;
}

int main(int argc, char **argv)
{
    static const tool_command_t *const commands_of_tool[] = {&dsh, NULL};
    static const tool_t tool = {"dsh", commands_of_tool, more, NULL};
    dnet_log_init();
    dnet_log_identity("dsh");
    return tool_main(&tool, argc, argv);
}
