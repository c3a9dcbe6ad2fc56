/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-stat: what each rank of running jobs does, and whom it waits for, from the page that each
 * shows; with --nics, or for a LID, what its NIC shows of the receiving side.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/number.h"
#include "tools/common/command.h"
#include "tools/common/processes.h"
#include "tools/stat/stat.h"

/* Two looks so far apart tell who gets on. */
#define APART_S 0.2

typedef struct {
    bool json, nics;
    double interval_s;
    int count;
    const char *job;
} options_t;

static const tool_option_t options[] = {
    TOOL_OPTION(options_t, json, "json", TOOL_FLAG, NULL, "as JSON"),
    TOOL_OPTION(options_t, interval_s, "interval", TOOL_FRACTION, "SECONDS",
                "look again and again until the job ends, and show rates; with --json once",
                .letter = 'i', .low = 0.01, .high = 86400),
    TOOL_OPTION(options_t, count, "count", TOOL_INT, "N", "with --interval: so often", .least = 1,
                .most = INT32_MAX),
    TOOL_OPTION(options_t, nics, "nics", TOOL_FLAG, NULL,
                "rings, stops and resends, as the NICs show them"),
    TOOL_OPTION(options_t, job, "job", TOOL_TEXT, "PID", "the same as PID alone", .letter = 'p'),
    {NULL},
};

static void more(FILE *out)
{
    fprintf(out,
            "\n"
            "  PID      of the job this process belongs to or has started; else all of this user\n"
            "  0xLID    of the NICs with this LID, in hexadecimal\n");
}

static int run(int argc, char **argv);

static const tool_command_t stat = {
    .args = "[PID | 0xLID]",
    .args_most = 1,
    .summary = "What the ranks of running jobs do, and whom they wait for.",
    .options = options,
    .run = run,
};

/* ---- NICs ---- */

static int show_nics(const char *which, bool is_lid, uint64_t value, bool json)
{
    nics_t nics = nics_all();
    if (which && !is_lid) {
        uint32_t at;
        unsigned wid;
        nics_job(&nics, (int32_t) value, &at, &wid);
    } else if (which) {
        uint32_t kept = 0;
        for (uint32_t i = 0; i < nics.count; i++)
            if (nics.nic[i].is.lid == value)
                nics.nic[kept++] = nics.nic[i];
        nics.count = kept;
    }
    unsigned shown = stat_nics(&nics, json);
    free(nics.nic);
    if (shown)
        return TOOL_GOOD;
    tool_error("no process of this user%s%s has a NIC that can stop senders; dsh --list shows the "
               "NICs",
               which ? " behind " : "", which ? which : "");
    return TOOL_BAD;
}

/* ---- ranks ---- */

static void pause_for(double s)
{
    struct timespec t = {(time_t) s, (long) ((s - (double) (time_t) s) * 1e9)};
    nanosleep(&t, NULL);
}

static bool all_ended(const stat_ranks_t *ranks)
{
    for (unsigned i = 0; i < ranks->count; i++)
        if (ranks->rank[i].state != STAT_ENDED)
            return false;
    return true;
}

static int show_ranks(const char *which, int32_t pid, const options_t *o)
{
    stat_ranks_t ranks = stat_find(pid);
    bool good = ranks.count > 0, live = o->interval_s > 0;
    int looks = !live || o->json ? 1 : o->count ? o->count : INT32_MAX;
    if (!good)
        tool_error("no rank of a job of this user%s%s", which ? " behind process " : "",
                   which ? which : "");
    stat_look(&ranks);
    for (int i = 0; good && i < looks; i++) {
        pause_for(live ? o->interval_s : APART_S);
        stat_look(&ranks);
        if (live && !o->json && all_ended(&ranks))
            break;
        if (o->json)
            good = stat_show_json(&ranks);
        else
            stat_show(&ranks, live);
    }
    int status = ranks.count == 0 ? TOOL_BAD : good ? TOOL_GOOD : TOOL_SYSTEM;
    free(ranks.rank);
    return status;
}

static int run(int argc, char **argv)
{
    options_t o = {0};
    if (!tool_parse(&stat, &argc, &argv, &o))
        return TOOL_USAGE;
    const char *which = argc ? argv[0] : o.job;
    bool is_lid = which && strncmp(which, "0x", 2) == 0;
    uint64_t value = 0;
    if (argc && o.job) {
        tool_error("--job %s and %s: want one of them", o.job, argv[0]);
        return TOOL_USAGE;
    }
    if (which && !dnet_number(which, 1, is_lid ? DNET_LID_UNICAST_LAST : INT32_MAX, &value)) {
        tool_error("'%s' is neither a process number nor a LID such as 0x0001", which);
        return TOOL_USAGE;
    }
    if (o.count && o.interval_s <= 0) {
        tool_error("--count %d: want --interval with it", o.count);
        return TOOL_USAGE;
    }
    if ((o.nics || is_lid) && o.interval_s > 0) {
        tool_error("--interval: shows ranks, not NICs");
        return TOOL_USAGE;
    }
    return o.nics || is_lid ? show_nics(which, is_lid, value, o.json)
                            : show_ranks(which, (int32_t) value, &o);
}

int main(int argc, char **argv)
{
    static const tool_command_t *const commands[] = {&stat, NULL};
    static const tool_t tool = {"dnet-stat", commands, more, NULL};
    dnet_log_identity("dnet-stat");
    return tool_main(&tool, argc, argv);
}
