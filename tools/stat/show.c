/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/common/json_out.h"
#include "tools/common/processes.h"
#include "tools/stat/stat.h"

#define WAITS_SHOWN 4u /* in the table */

static const char *const states[] = {
    [STAT_COMPUTES] = "computes", [STAT_ACTIVE] = "active",   [STAT_WAITS] = "waits",
    [STAT_POLLS] = "polls",       [STAT_STOPPED] = "stopped", [STAT_ENDED] = "ended",
};

static bool is_in_call(const stat_rank_t *r)
{
    return r->state == STAT_WAITS || r->state == STAT_POLLS;
}

static void program_of(int32_t pid, char *text, size_t bytes)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/exe", pid);
    ssize_t n = readlink(path, text, bytes - 1);
    text[n > 0 ? n : 0] = '\0';
}

/* Events a second between the two looks. */
static double rate(const stat_rank_t *r, size_t counter)
{
    uint64_t now, before;
    memcpy(&now, (const uint8_t *) &r->now.counters + counter, sizeof(now));
    memcpy(&before, (const uint8_t *) &r->before.counters + counter, sizeof(before));
    double s = (double) (r->now_ns - r->before_ns) / 1e9;
    return r->before_ns && s > 0 ? (double) (now - before) / s : 0;
}
#define RATE(r, counter) rate(r, offsetof(dnet_ep_counters_t, counter))

/* Ranks of the job that starts at `at`. */
static unsigned job_count(const stat_ranks_t *ranks, unsigned at)
{
    unsigned n = 1;
    while (at + n < ranks->count && ranks->rank[at + n].page->job == ranks->rank[at].page->job)
        n++;
    return n;
}

/* Ranks of the job, whatever VCIs they have. */
static unsigned ranks_of(const stat_rank_t *rank, unsigned count)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++)
        n += rank[i].now.vci == 0;
    return n;
}

/* ---- tables ---- */

static void show_rank(const stat_rank_t *r, bool rates)
{
    const dnet_page_t *p = &r->now;
    char since[16] = "-", who[24];
    int n = snprintf(who, sizeof(who), "%" PRIu32, p->rank);
    if (p->vci)
        snprintf(who + n, sizeof(who) - (size_t) n, ".%" PRIu32, p->vci);
    if (is_in_call(r))
        snprintf(since, sizeof(since), "%.0f s", stat_waited_s(r));
    printf("%5s %8d  %-8s %7s  %-18s %8" PRIu64 " %8" PRIu64 " %8" PRIu64 " %12" PRIu64, who,
           p->pid, states[r->state], since, is_in_call(r) && p->call[0] ? p->call : "-",
           p->counters.stop, p->counters.stopped_others, p->counters.held_others,
           p->unexpected_bytes);
    if (rates)
        printf(" %10.0f %10.3f %10.0f %10.3f", RATE(r, sent_messages), RATE(r, sent_bytes) / 1e6,
               RATE(r, received_messages), RATE(r, received_bytes) / 1e6);
    printf("\n");
    for (unsigned i = 0; is_in_call(r) && i < stat_waits(p) && i < WAITS_SHOWN; i++) {
        char text[256];
        dnet_wait_text(&p->wait[i], text, sizeof(text));
        printf("               %s\n", text);
    }
    if (is_in_call(r) && p->waits > WAITS_SHOWN)
        printf("               and %u more\n", p->waits - WAITS_SHOWN);
}

static void show_deadlock(const stat_rank_t *rank, unsigned count)
{
    stat_deadlock_t d = stat_deadlock(rank, count);
    if (!d.path_count)
        return;
    printf("%s", d.certain ? "deadlock: " : "perhaps a deadlock: ");
    if (!d.circle)
        printf("ranks ");
    for (unsigned i = 0; i < d.path_count; i++)
        printf("%s%" PRIu32, i == 0 ? "" : d.circle ? " -> " : ", ", d.path[i]);
    printf("%s\n", d.circle    ? d.certain ? " (each waits for the next)"
                                           : " (each waits for the next, and may wait for others)"
                   : d.certain ? " wait for each other"
                               : "");
}

static void show_job(const stat_rank_t *rank, unsigned count, bool rates)
{
    char program[256];
    program_of(rank[0].now.pid, program, sizeof(program));
    printf("job of %" PRIu32 " ranks on %s: %s\n", rank[0].now.size, rank[0].now.host, program);
    unsigned there = ranks_of(rank, count);
    if (there < rank[0].now.size)
        printf("  %u of them are not there, or not of this user\n", rank[0].now.size - there);
    printf(" rank      pid  state      since  call                  stops  stopped     held   "
           "unexpected%s\n",
           rates ? "     sent/s       MB/s received/s       MB/s" : "");
    for (unsigned i = 0; i < count; i++)
        show_rank(&rank[i], rates);
    show_deadlock(rank, count);
}

void stat_show(const stat_ranks_t *ranks, bool rates)
{
    for (unsigned at = 0; at < ranks->count; at += job_count(ranks, at))
        show_job(&ranks->rank[at], job_count(ranks, at), rates);
    fflush(stdout);
}

/* ---- JSON ---- */

static void json_wait(dnet_json_t *j, const dnet_wait_t *w)
{
    dnet_json_object(j, NULL);
    dnet_json_string(j, "kind", dnet_wait_word(w->kind));
    if (w->rank < DNET_WAIT_OTHER_JOB)
        dnet_json_int(j, "rank", w->rank);
    if (w->context != DNET_WAIT_NO_COMM && w->kind != DNET_WAIT_STOPPED &&
        w->kind != DNET_WAIT_UNACKED) {
        dnet_json_string(j, "communicator", w->comm);
        dnet_json_int(j, "context", w->context);
        if (w->source != DNET_EP_NO_RANK)
            dnet_json_int(j, "rank_in_communicator", w->source);
        if (w->tag >= 0)
            dnet_json_int(j, "tag", w->tag);
    }
    if (w->kind == DNET_WAIT_UNACKED) {
        dnet_json_int(j, "packets", (long long) w->bytes);
        dnet_json_int(j, "milliseconds", (long long) w->done);
    } else {
        dnet_json_int(j, "bytes", (long long) w->bytes);
    }
    dnet_json_end_object(j);
}

static void json_rank(dnet_json_t *j, const stat_rank_t *r)
{
    const dnet_page_t *p = &r->now;
    dnet_json_object(j, NULL);
    dnet_json_int(j, "rank", p->rank);
    dnet_json_int(j, "vci", p->vci);
    dnet_json_int(j, "pid", p->pid);
    dnet_json_int(j, "lid", p->lid);
    dnet_json_int(j, "wid", p->wid);
    dnet_json_string(j, "state", states[r->state]);
    dnet_json_int(j, "unexpected_bytes", (long long) p->unexpected_bytes);
    if (is_in_call(r)) {
        dnet_json_string(j, "call", p->call);
        dnet_json_number(j, "seconds", stat_waited_s(r));
        dnet_json_int(j, "waits", p->waits);
        dnet_json_array(j, "waits_for");
        for (unsigned i = 0; i < stat_waits(p); i++)
            json_wait(j, &p->wait[i]);
        dnet_json_end_array(j);
    }
    dnet_json_object(j, "counters");
#define DNET_EP_COUNTER(name, title) dnet_json_int(j, #name, (long long) p->counters.name);
#include "endpoint/counters.def"
#undef DNET_EP_COUNTER
    dnet_json_end_object(j);
    dnet_json_object(j, "per_second");
    dnet_json_number(j, "sent_messages", RATE(r, sent_messages));
    dnet_json_number(j, "sent_bytes", RATE(r, sent_bytes));
    dnet_json_number(j, "received_messages", RATE(r, received_messages));
    dnet_json_number(j, "received_bytes", RATE(r, received_bytes));
    dnet_json_end_object(j);
    dnet_json_end_object(j);
}

static void json_job(dnet_json_t *j, const stat_rank_t *rank, unsigned count)
{
    char program[256];
    stat_deadlock_t d = stat_deadlock(rank, count);
    program_of(rank[0].now.pid, program, sizeof(program));
    dnet_json_object(j, NULL);
    dnet_json_int(j, "size", rank[0].now.size);
    dnet_json_string(j, "host", rank[0].now.host);
    dnet_json_string(j, "program", program);
    dnet_json_array(j, "ranks");
    for (unsigned i = 0; i < count; i++)
        json_rank(j, &rank[i]);
    dnet_json_end_array(j);
    if (d.path_count) {
        dnet_json_object(j, "deadlock");
        dnet_json_bool(j, "certain", d.certain);
        dnet_json_array(j, d.circle ? "circle" : "ranks");
        for (unsigned i = 0; i < d.path_count; i++)
            dnet_json_int(j, NULL, d.path[i]);
        dnet_json_end_array(j);
        dnet_json_end_object(j);
    }
    dnet_json_end_object(j);
}

bool stat_show_json(const stat_ranks_t *ranks)
{
    dnet_json_t j;
    if (dnet_json_open(&j, "-") != DNET_OK)
        return false;
    dnet_json_array(&j, "jobs");
    for (unsigned at = 0; at < ranks->count; at += job_count(ranks, at))
        json_job(&j, &ranks->rank[at], job_count(ranks, at));
    dnet_json_end_array(&j);
    return dnet_json_close(&j) == DNET_OK;
}
