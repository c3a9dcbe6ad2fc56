/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-trace show: the events of all ranks in the order of time.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dimmnet/format.h"
#include "tools/trace/trace.h"

typedef struct {
    bool json, csv, chrome;
    const char *points;
    int last;
    tool_texts_t job;
} options_t;

static const tool_option_t options[] = {
    TOOL_OPTION(options_t, json, "json", TOOL_FLAG, NULL, "as JSON"),
    TOOL_OPTION(options_t, csv, "csv", TOOL_FLAG, NULL, "as comma-separated values"),
    TOOL_OPTION(options_t, chrome, "chrome", TOOL_FLAG, NULL,
                "for chrome://tracing and ui.perfetto.dev"),
    TOOL_OPTION(options_t, last, "last", TOOL_INT, "N", "the last N events only", .letter = 'n',
                .least = 1, .most = INT32_MAX),
    TOOL_OPTION(options_t, points, "points", TOOL_TEXT, "POINTS", "events of these points only",
                .letter = 't'),
    TRACE_JOB_OPTION(options_t),
    {NULL},
};

/* ---- events ---- */

typedef struct {
    const trace_ring_t *ring;
    uint64_t time_ns; /* of the day */
    uint64_t first, second;
    uint32_t point, who;
    uint64_t arrow; /* of a message whose send and arrival are both there, from 1; else 0 */
} event_t;

/* Copies an event that is whole; its process may write it meanwhile. */
static bool event_read(const trace_ring_t *r, uint64_t n, event_t *e)
{
    dnet_trace_event_t *at =
        (dnet_trace_event_t *) (void *) ((uint8_t *) r->header + DNET_TRACE_HEADER_BYTES);
    at += n % r->capacity;
    /* Acquire: pairs with the release store of dnet_trace_write(). */
    uint64_t time_ns = atomic_load_explicit(&at->time_ns, memory_order_acquire);
    *e = (event_t){r, time_ns + (uint64_t) r->epoch_ns, at->first, at->second, at->point, at->who,
                   0};
    atomic_thread_fence(memory_order_acquire);
    return time_ns != 0 && e->point < DNET_TRACE_COUNT &&
           atomic_load_explicit(&at->time_ns, memory_order_relaxed) == time_ns;
}

static int by_time(const void *a, const void *b)
{
    const event_t *x = a, *y = b;
    return x->time_ns != y->time_ns ? (x->time_ns < y->time_ns ? -1 : 1) : 0;
}

/* The events of all rings in the order of time; those of points in `mask` only. */
static event_t *collect(uint64_t mask, size_t *count_p)
{
    size_t room = 0, count = 0;
    for (unsigned i = 0; i < trace_ring_count; i++)
        room += trace_rings[i].capacity;
    event_t *events = malloc(room * sizeof(*events) + 1);
    if (!events) {
        tool_error("no memory for %zu events", room);
        exit(TOOL_SYSTEM);
    }
    for (unsigned i = 0; i < trace_ring_count; i++) {
        uint64_t next = atomic_load_explicit(&trace_rings[i].header->next, memory_order_acquire);
        uint64_t n = next > trace_rings[i].capacity ? next - trace_rings[i].capacity : 0;
        if (n)
            tool_error("%s: the oldest %" PRIu64 " events have been overwritten",
                       trace_rings[i].who, n);
        for (; n < next; n++)
            if (event_read(&trace_rings[i], n, &events[count]) && mask >> events[count].point & 1)
                count++;
    }
    qsort(events, count, sizeof(*events), by_time);
    *count_p = count;
    return events;
}

/* ---- from a send to its arrival ---- */

typedef struct {
    uint64_t envelope; /* context, sender's rank and tag */
    int to;            /* rank */
    event_t *event;
} end_t;

/* In one envelope from one sender to one receiver messages arrive in their order. */
static int by_message(const void *a, const void *b)
{
    const end_t *x = a, *y = b;
    if (x->to != y->to)
        return x->to - y->to;
    if (x->envelope != y->envelope)
        return x->envelope < y->envelope ? -1 : 1;
    return (x->event > y->event) - (x->event < y->event);
}

/* False: it is neither a send nor an arrival. */
static bool is_end(event_t *e, end_t *end)
{
    const uint64_t message =
        DNET_MASK(LH_CONTEXT) | DNET_MASK(LH_RANK) | (DNET_MASK(LH_TAG) & 0x7fffffff);
    int rank;
    if ((e->point != DNET_TRACE_send && e->point != DNET_TRACE_arrive) ||
        sscanf(e->ring->who, "rank %d", &rank) != 1)
        return false;
    *end = (end_t){e->first & message, e->point == DNET_TRACE_send ? (int) e->who : rank, e};
    return true;
}

/* Number the messages whose two ends are there; `events` are in the order of time. */
static void draw_arrows(event_t *events, size_t count)
{
    end_t *ends = malloc(count * sizeof(*ends) + 1);
    size_t n = 0, arrows = 0;
    if (!ends) {
        tool_error("no memory for the ends of %zu messages", count);
        exit(TOOL_SYSTEM);
    }
    for (size_t i = 0; i < count; i++)
        n += is_end(&events[i], &ends[n]);
    if (n)
        qsort(ends, n, sizeof(*ends), by_message);
    for (size_t i = 0, sent = 0; i < n; i++) {
        if (i && (ends[i].to != ends[i - 1].to || ends[i].envelope != ends[i - 1].envelope))
            sent = i;
        if (ends[i].event->point == DNET_TRACE_send)
            continue;
        while (sent < i && ends[sent].event->point != DNET_TRACE_send)
            sent++;
        if (sent < i)
            ends[i].event->arrow = ends[sent++].event->arrow = ++arrows;
    }
    free(ends);
}

/* ---- showing ---- */

typedef enum { TABLE, JSON, CSV, CHROME } form_t;

/* The register a kick names. */
static const char *register_name(uint64_t offset)
{
    enum { UREG, SREG };
#define DNET_REGISTER(page, name, at, access, reset, store, clause, title) \
    if (#access[0] == 'W' && offset == ((at) | (uint64_t) page << 16)) \
        return #name;
#include "dimmnet/registers.def"
#undef DNET_REGISTER
    return "none";
}

/* One argument, if the point has it; calls are in the order of the arguments. */
static void print_argument(form_t form, const char *name, uint64_t value, bool *first_p)
{
    const char *between = form == TABLE || form == CSV ? " " : ", ";
    bool wide = name && (value >> 32) != 0 && strcmp(name, "bytes") != 0;
    if (!name)
        return;
    if (!*first_p)
        fputs(between, stdout);
    *first_p = false;
    if (strcmp(name, "envelope") == 0) {
        printf(form == TABLE || form == CSV
                   ? "context=%u rank=%u tag=%u"
                   : "\"context\": %u, \"rank_of_envelope\": %u, \"tag\": %u",
               (unsigned) DNET_GET(value, LH_CONTEXT), (unsigned) DNET_GET(value, LH_RANK),
               (unsigned) DNET_GET(value, LH_TAG) & 0x7fffffff);
    } else if (strcmp(name, "register") == 0) {
        printf(form == TABLE || form == CSV ? "%s=%s" : "\"%s\": \"%s\"", name,
               register_name(value));
    } else if (form == TABLE || form == CSV) {
        printf(wide ? "%s=0x%" PRIx64 : "%s=%" PRIu64, name, value);
    } else {
        printf(wide ? "\"%s\": \"0x%" PRIx64 "\"" : "\"%s\": %" PRIu64, name, value);
    }
}

static void print_arguments(form_t form, const event_t *e)
{
    const trace_point_t *p = &trace_points[e->point];
    bool first = true;
    print_argument(form, p->who, e->who, &first);
    print_argument(form, p->first, e->first, &first);
    print_argument(form, p->second, e->second, &first);
}

static void print_chrome(const event_t *e, uint64_t start_ns)
{
    const trace_point_t *p = &trace_points[e->point];
    const char *phase = strcmp(p->shape, "BEGIN") == 0 ? "B"
                        : strcmp(p->shape, "END") == 0 ? "E"
                                                       : "i";
    printf("{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"%s\", %s\"ts\": %.3f, \"pid\": %d, "
           "\"tid\": %d, \"args\": {",
           p->name, p->room, phase, *phase == 'i' ? "\"s\": \"t\", " : "",
           (double) (e->time_ns - start_ns) / 1e3, e->ring->header->pid, e->ring->header->pid);
    print_arguments(CHROME, e);
    printf("}}");
    /* An arrow ends at slices, not at instants. */
    bool send = e->point == DNET_TRACE_send;
    const double ts = (double) (e->time_ns - start_ns) / 1e3;
    const int pid = e->ring->header->pid;
    if (e->arrow)
        printf(",\n{\"name\": \"%s\", \"cat\": \"message\", \"ph\": \"X\", \"ts\": %.3f, "
               "\"dur\": 0.1, \"pid\": %d, \"tid\": %d},\n"
               "{\"name\": \"message\", \"cat\": \"message\", \"ph\": \"%s\", \"id\": %" PRIu64
               ", \"ts\": %.3f, \"pid\": %d, \"tid\": %d}",
               send ? "out" : "in", ts, pid, pid, send ? "s" : "f\", \"bp\": \"e", e->arrow, ts,
               pid, pid);
}

static void print_event(form_t form, const event_t *e, uint64_t start_ns)
{
    const char *name = trace_points[e->point].name;
    switch (form) {
        case TABLE:
            printf("%14.3f  %-10s %-10s ", (double) (e->time_ns - start_ns) / 1e3, e->ring->who,
                   name);
            break;
        case CSV:
            printf("%" PRIu64 ",%s,%d,%s,", e->time_ns, e->ring->who, e->ring->header->pid, name);
            break;
        case JSON:
            printf("{\"time_ns\": %" PRIu64 ", \"who\": \"%s\", \"pid\": %d, \"point\": \"%s\"",
                   e->time_ns, e->ring->who, e->ring->header->pid, name);
            if (trace_points[e->point].who || trace_points[e->point].first ||
                trace_points[e->point].second)
                printf(", ");
            break;
        case CHROME:
            print_chrome(e, start_ns);
            return;
    }
    print_arguments(form, e);
    printf(form == JSON ? "}" : "\n");
}

static void show(form_t form, uint64_t mask, size_t last)
{
    size_t count;
    event_t *events = collect(mask, &count);
    size_t i = last && last < count ? count - last : 0;
    uint64_t start_ns = count ? events[0].time_ns : 0;
    if (form == CHROME)
        draw_arrows(events + i, count - i);
    bool list = form == JSON || form == CHROME;
    if (form == TABLE)
        printf("       time/us  who        point\n");
    if (form == CSV)
        printf("time_ns,who,pid,point,arguments\n");
    if (list)
        printf(form == JSON ? "[" : "{\"traceEvents\": [");
    for (unsigned r = 0; form == CHROME && r < trace_ring_count; r++)
        printf("%s\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %d, "
               "\"args\": {\"name\": \"%s\"}}",
               r ? "," : "", trace_rings[r].header->pid, trace_rings[r].who);
    for (bool first = form == JSON; i < count; i++, first = false) {
        if (list)
            printf(first ? "\n" : ",\n");
        print_event(form, &events[i], start_ns);
    }
    if (list)
        printf(form == JSON ? "\n]\n" : "\n]}\n");
    free(events);
}

static int run(int argc, char **argv)
{
    options_t o = {0};
    uint64_t mask = UINT64_MAX;
    if (!tool_parse(&trace_show, &argc, &argv, &o) ||
        (o.points && !trace_parse_points(o.points, &mask)))
        return TOOL_USAGE;
    if (o.json + o.csv + o.chrome > 1) {
        tool_error("--json, --csv and --chrome: want one of them");
        return TOOL_USAGE;
    }
    if (!trace_find_rings(argv, &o.job, false))
        return TOOL_BAD;
    show(o.chrome ? CHROME : o.csv ? CSV : o.json ? JSON : TABLE, mask, (size_t) o.last);
    return TOOL_GOOD;
}

const tool_command_t trace_show = {
    .name = "show",
    .args = "[FILE]...",
    .args_most = INT32_MAX,
    .summary = "events of all ranks in the order of time",
    .options = options,
    .run = run,
};
