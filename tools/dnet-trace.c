/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-trace: trace points of running processes and of trace files: which there are, switching them,
 * events of all ranks in the order of time.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/trace.h"
#include "dimmnet/format.h"

typedef struct {
    const char *name, *room, *shape, *who, *first, *second, *title;
} point_t;

static const point_t points[] = {
#define DNET_TRACE_POINT(name, room, shape, who, first, second, title) \
    {#name, #room, #shape, who, first, second, title},
#include "common/trace.def"
#undef DNET_TRACE_POINT
};

/* A ring of a process or a file, mapped. */
typedef struct {
    char path[PATH_MAX];
    int fd;
    dnet_trace_header_t *header;
    uint32_t capacity;
    char who[33];
} ring_t;

typedef struct {
    const ring_t *ring;
    uint64_t time_ns, first, second;
    uint32_t point, who;
} event_t;

static ring_t *rings;
static unsigned ring_count;

/* ------------------------------------------------------------------ rings */

/* Maps a ring.  A name the user gave gets a line when it is none. */
static bool ring_add(const char *path, bool write, bool named)
{
    const char *wrong = NULL;
    struct stat st = {0};
    ring_t r = {.fd = open(path, write ? O_RDWR | O_CLOEXEC : O_RDONLY | O_CLOEXEC)};
    if (r.fd < 0 || fstat(r.fd, &st) != 0) {
        wrong = strerror(errno);
    } else if (st.st_size < DNET_TRACE_HEADER_BYTES || !S_ISREG(st.st_mode)) {
        wrong = "not a trace";
    } else {
        void *at = mmap(NULL, (size_t) st.st_size, write ? PROT_READ | PROT_WRITE : PROT_READ,
                        MAP_SHARED, r.fd, 0);
        r.header = at == MAP_FAILED ? NULL : at;
        if (!r.header)
            wrong = strerror(errno);
        else if (r.header->magic != DNET_TRACE_MAGIC)
            wrong = "not a trace";
        else if (r.header->version != DNET_TRACE_VERSION ||
                 r.header->list != dnet_trace_list_id())
            wrong = "made by another version of dimmnet; use its dnet-trace";
        else if ((uint64_t) st.st_size <
                     DNET_TRACE_HEADER_BYTES + r.header->capacity * sizeof(dnet_trace_event_t) ||
                 r.header->capacity == 0)
            wrong = "cut off";
    }
    if (wrong) {
        if (named)
            fprintf(stderr, "dnet-trace: %s: %s\n", path, wrong);
        if (r.fd >= 0)
            close(r.fd);
        return false;
    }
    r.capacity = r.header->capacity;
    memcpy(r.who, r.header->who, sizeof(r.header->who));
    snprintf(r.path, sizeof(r.path), "%s", path);
    rings = realloc(rings, (ring_count + 1) * sizeof(*rings));
    if (!rings)
        abort();
    rings[ring_count++] = r;
    return true;
}

/* The ring of a process; false: it has none, or is not ours to see. */
static bool ring_of_process(const char *pid, bool write)
{
    char folder[64], path[400], target[64];
    bool found = false;
    snprintf(folder, sizeof(folder), "/proc/%.20s/fd", pid);
    DIR *d = opendir(folder);
    for (struct dirent *e; d && !found && (e = readdir(d));) {
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        ssize_t n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        if (strncmp(target, "/memfd:" DNET_TRACE_MEMFD " ", sizeof(DNET_TRACE_MEMFD) + 7) == 0)
            found = ring_add(path, write, true);
    }
    if (d)
        closedir(d);
    return found;
}

static void rings_of_all_processes(bool write)
{
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));)
        if (isdigit((unsigned char) e->d_name[0]))
            ring_of_process(e->d_name, write);
    if (d)
        closedir(d);
}

/* ------------------------------------------------------------------ events */

/* Copies an event that is whole; its process may write it meanwhile. */
static bool event_read(const ring_t *r, uint64_t n, event_t *e)
{
    dnet_trace_event_t *at = (dnet_trace_event_t *) (void *) ((uint8_t *) r->header +
                                                              DNET_TRACE_HEADER_BYTES);
    at += n % r->capacity;
    /* Acquire: pairs with the release store of dnet_trace_write(). */
    uint64_t time_ns = atomic_load_explicit(&at->time_ns, memory_order_acquire);
    *e = (event_t){r, time_ns, at->first, at->second, at->point, at->who};
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
    for (unsigned i = 0; i < ring_count; i++)
        room += rings[i].capacity;
    event_t *events = malloc(room * sizeof(*events) + 1);
    if (!events) {
        fprintf(stderr, "dnet-trace: no memory for %zu events\n", room);
        exit(1);
    }
    for (unsigned i = 0; i < ring_count; i++) {
        uint64_t next = atomic_load_explicit(&rings[i].header->next, memory_order_acquire);
        uint64_t n = next > rings[i].capacity ? next - rings[i].capacity : 0;
        if (n)
            fprintf(stderr, "dnet-trace: %s: the oldest %" PRIu64 " events have been overwritten\n",
                    rings[i].who, n);
        for (; n < next; n++)
            if (event_read(&rings[i], n, &events[count]) && mask >> events[count].point & 1)
                count++;
    }
    qsort(events, count, sizeof(*events), by_time);
    *count_p = count;
    return events;
}

/* ------------------------------------------------------------------ showing */

typedef enum { TABLE, JSON, CSV, CHROME } form_t;

/* The register a kick names. */
static const char *register_name(uint64_t offset)
{
    enum { UREG, SREG };
#define DNET_REGISTER(page, name, at, access, reset, effect, clause, title) \
    if (#access[0] == 'W' && offset == ((at) | (uint64_t) page << 16))      \
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
    const point_t *p = &points[e->point];
    bool first = true;
    print_argument(form, p->who, e->who, &first);
    print_argument(form, p->first, e->first, &first);
    print_argument(form, p->second, e->second, &first);
}

static void print_chrome(const event_t *e, uint64_t start_ns)
{
    const point_t *p = &points[e->point];
    const char *phase = strcmp(p->shape, "BEGIN") == 0 ? "B" : strcmp(p->shape, "END") == 0 ? "E" : "i";
    printf("{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"%s\", %s\"ts\": %.3f, \"pid\": %d, \"tid\": %d, "
           "\"args\": {",
           p->name, p->room, phase, *phase == 'i' ? "\"s\": \"t\", " : "",
           (double) (e->time_ns - start_ns) / 1e3, e->ring->header->pid, e->ring->header->pid);
    print_arguments(CHROME, e);
    printf("}}");
}

static void print_event(form_t form, const event_t *e, uint64_t start_ns)
{
    const char *name = points[e->point].name;
    switch (form) {
        case TABLE:
            printf("%14.3f  %-10s %-10s ", (double) (e->time_ns - start_ns) / 1e3, e->ring->who, name);
            break;
        case CSV:
            printf("%" PRIu64 ",%s,%d,%s,", e->time_ns + (uint64_t) e->ring->header->epoch_ns,
                   e->ring->who, e->ring->header->pid, name);
            break;
        case JSON:
            printf("{\"time_ns\": %" PRIu64 ", \"who\": \"%s\", \"pid\": %d, \"point\": \"%s\"",
                   e->time_ns + (uint64_t) e->ring->header->epoch_ns, e->ring->who,
                   e->ring->header->pid, name);
            if (points[e->point].who || points[e->point].first || points[e->point].second)
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
    bool list = form == JSON || form == CHROME;
    if (form == TABLE)
        printf("       time/us  who        point\n");
    if (form == CSV)
        printf("time_ns,who,pid,point,arguments\n");
    if (list)
        printf(form == JSON ? "[" : "{\"traceEvents\": [");
    for (unsigned r = 0; form == CHROME && r < ring_count; r++)
        printf("%s\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %d, \"args\": {\"name\": \"%s\"}}",
               r ? "," : "", rings[r].header->pid, rings[r].who);
    for (bool first = form == JSON; i < count; i++, first = false) {
        if (list)
            printf(first ? "\n" : ",\n");
        print_event(form, &events[i], start_ns);
    }
    if (list)
        printf(form == JSON ? "\n]\n" : "\n]}\n");
    free(events);
}

static void list_points(bool json)
{
    if (!json)
        printf("%-11s %-9s %-6s %s\n", "point", "room", "shape", "arguments; what has happened");
    for (unsigned i = 0; i < DNET_TRACE_COUNT; i++) {
        const point_t *p = &points[i];
        const char *names[] = {p->who, p->first, p->second};
        printf(json ? "%s{\"point\": \"%s\", \"room\": \"%s\", \"shape\": \"%s\", \"arguments\": ["
                    : "%s%-11s %-9s %-6s ",
               !json ? "" : i ? ",\n" : "[\n", p->name, p->room, p->shape);
        for (unsigned a = 0, shown = 0; a < 3; a++)
            if (names[a])
                printf(json ? "%s\"%s\"" : "%s%s", shown++ ? ", " : "", names[a]);
        printf(json ? "], \"title\": \"%s\"}" : "%s%s\n", !json && (p->who || p->first || p->second) ? "; " : "",
               p->title);
    }
    if (json)
        printf("\n]\n");
}

static void status(void)
{
    printf("%-10s %8s %10s %10s  points that are on\n", "who", "pid", "events", "room for");
    for (unsigned i = 0; i < ring_count; i++) {
        const dnet_trace_header_t *h = rings[i].header;
        uint64_t mask = atomic_load_explicit(&h->mask, memory_order_relaxed);
        printf("%-10s %8d %10" PRIu64 " %10" PRIu32 "  ", rings[i].who, h->pid,
               atomic_load_explicit(&h->next, memory_order_relaxed), rings[i].capacity);
        bool all = mask + 1 == 1ull << DNET_TRACE_COUNT;
        for (unsigned p = 0; p < DNET_TRACE_COUNT && !all; p++)
            if (mask >> p & 1)
                printf("%s%s", mask & ((1ull << p) - 1) ? "," : "", points[p].name);
        printf("%s\n", all ? "all" : mask ? "" : "none");
    }
}

/* ------------------------------------------------------------------ switching */

/* The ring's memory is reserved first, so that its process never meets a page that cannot be had. */
static bool switch_points(uint64_t mask)
{
    bool good = true;
    for (unsigned i = 0; i < ring_count; i++) {
        uint64_t bytes = DNET_TRACE_HEADER_BYTES +
                         (uint64_t) rings[i].capacity * sizeof(dnet_trace_event_t);
        int cause = mask ? posix_fallocate(rings[i].fd, 0, (off_t) bytes) : 0;
        if (cause) {
            fprintf(stderr, "dnet-trace: %s: a ring of %" PRIu64 " bytes: %s\n", rings[i].who, bytes,
                    strerror(cause));
            good = false;
            continue;
        }
        atomic_store_explicit(&rings[i].header->mask, mask, memory_order_relaxed);
    }
    return good;
}

/* ------------------------------------------------------------------ commands */

static int usage(FILE *out)
{
    fprintf(out, "usage: dnet-trace list [--json]\n"
                 "       dnet-trace status          [-p PID]... [FILE]...\n"
                 "       dnet-trace on POINTS       [-p PID]... [FILE]...\n"
                 "       dnet-trace off             [-p PID]... [FILE]...\n"
                 "       dnet-trace show [--json | --csv | --chrome] [-n LAST] [-t POINTS] [-p PID]... [FILE]...\n"
                 "Without PID and FILE: all processes of this user that dimmnet can trace.\n");
    return out == stdout ? 0 : 2;
}

static uint64_t parse_points(const char *text)
{
    uint64_t mask;
    const char *wrong;
    int len;
    if (dnet_trace_parse(text, &mask, &wrong, &len))
        return mask;
    fprintf(stderr, "dnet-trace: %.*s is no trace point; dnet-trace list shows them\n", len, wrong);
    exit(2);
}

/* Map what is asked for: files, processes, or all processes. */
static bool find_rings(char **files, char **pids, unsigned pid_count, bool write)
{
    bool good = true;
    for (unsigned i = 0; i < pid_count; i++)
        if (!ring_of_process(pids[i], write)) {
            fprintf(stderr, "dnet-trace: process %s cannot be traced: it has no dimmnet endpoint, writes "
                            "its trace to a file, or is another user's\n", pids[i]);
            good = false;
        }
    for (char **f = files; *f; f++)
        good &= ring_add(*f, write, true);
    if (!*files && !pid_count) {
        rings_of_all_processes(write);
        good = ring_count > 0;
        if (!good)
            fprintf(stderr, "dnet-trace: no process of this user has a dimmnet endpoint now\n");
    }
    return good;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'}, {"csv", no_argument, NULL, 'c'},
        {"chrome", no_argument, NULL, 'g'}, {"last", required_argument, NULL, 'n'},
        {"points", required_argument, NULL, 't'}, {"pid", required_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'v'}, {NULL, 0, NULL, 0},
    };
    form_t form = TABLE;
    uint64_t mask = UINT64_MAX;
    size_t last = 0;
    char *pids[argc], *end;
    unsigned pid_count = 0;
    for (int c; (c = getopt_long(argc, argv, "n:t:p:h", options, NULL)) != -1;) {
        switch (c) {
            case 'j': form = JSON; break;
            case 'c': form = CSV; break;
            case 'g': form = CHROME; break;
            case 't': mask = parse_points(optarg); break;
            case 'p': pids[pid_count++] = optarg; break;
            case 'n':
                last = strtoul(optarg, &end, 10);
                if (!isdigit((unsigned char) *optarg) || *end || last == 0) {
                    fprintf(stderr, "dnet-trace: --last %s is not a number of events\n", optarg);
                    return 2;
                }
                break;
            case 'h': return usage(stdout);
            case 'v': printf("dnet-trace %s\n", PACKAGE_VERSION); return 0;
            default: return usage(stderr);
        }
    }
    const char *command = optind < argc ? argv[optind++] : "";
    bool on = strcmp(command, "on") == 0, turn = on || strcmp(command, "off") == 0;
    if (strcmp(command, "list") == 0) {
        list_points(form == JSON);
        return 0;
    }
    if (on && optind == argc)
        return usage(stderr);
    uint64_t wanted = on ? parse_points(argv[optind++]) : 0;
    if (!turn && strcmp(command, "show") != 0 && strcmp(command, "status") != 0)
        return usage(stderr);
    if (!find_rings(argv + optind, pids, pid_count, turn))
        return 1;
    if (turn)
        return !switch_points(wanted);
    if (*command == 's' && command[1] == 't')
        status();
    else
        show(form, mask, last);
    return 0;
}
