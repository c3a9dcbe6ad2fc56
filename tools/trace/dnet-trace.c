/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-trace: trace points of running processes and of trace files: which there are, switching
 * them, events of all ranks in the order of time.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
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
    int fd;
    dev_t device; /* with `inode`: which file it is */
    ino_t inode;
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

/* ---- rings ---- */

/* Maps an open file as a ring.  @return what is wrong with it, or NULL */
static const char *ring_map(ring_t *r, bool write)
{
    struct stat st;
    if (r->fd < 0 || fstat(r->fd, &st) != 0)
        return strerror(errno);
    if (st.st_size < DNET_TRACE_HEADER_BYTES || !S_ISREG(st.st_mode))
        return "not a trace";
    void *at = mmap(NULL, (size_t) st.st_size, write ? PROT_READ | PROT_WRITE : PROT_READ,
                    MAP_SHARED, r->fd, 0);
    if (at == MAP_FAILED)
        return strerror(errno);
    r->header = at;
    r->device = st.st_dev;
    r->inode = st.st_ino;
    r->capacity = r->header->capacity;
    if (r->header->magic != DNET_TRACE_MAGIC)
        return "not a trace";
    if (r->header->version != DNET_TRACE_VERSION || r->header->list != dnet_trace_list_id())
        return "made by another version of dimmnet; use its dnet-trace";
    uint64_t bytes = DNET_TRACE_HEADER_BYTES + r->capacity * sizeof(dnet_trace_event_t);
    return (uint64_t) st.st_size < bytes || r->capacity == 0 ? "cut off" : NULL;
}

/* Is the ring among those we have?  Who looks at a process's ring, as this one does, has it open,
 * too. */
static bool ring_known(const ring_t *r)
{
    for (unsigned i = 0; i < ring_count; i++)
        if (rings[i].device == r->device && rings[i].inode == r->inode)
            return true;
    return false;
}

/* Opens and keeps a ring; one that is none gets a line. */
static bool ring_add(const char *path, bool write)
{
    ring_t r = {.fd = open(path, write ? O_RDWR | O_CLOEXEC : O_RDONLY | O_CLOEXEC)};
    const char *wrong = ring_map(&r, write);
    if (wrong) {
        fprintf(stderr, "dnet-trace: %s: %s\n", path, wrong);
        if (r.fd >= 0)
            close(r.fd);
        return false;
    }
    if (ring_known(&r)) {
        munmap(r.header, DNET_TRACE_HEADER_BYTES + r.capacity * sizeof(dnet_trace_event_t));
        close(r.fd);
        return true;
    }
    memcpy(r.who, r.header->who, sizeof(r.header->who));
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
            found = ring_add(path, write);
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

/* ---- events ---- */

/* Copies an event that is whole; its process may write it meanwhile. */
static bool event_read(const ring_t *r, uint64_t n, event_t *e)
{
    dnet_trace_event_t *at =
        (dnet_trace_event_t *) (void *) ((uint8_t *) r->header + DNET_TRACE_HEADER_BYTES);
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
    const point_t *p = &points[e->point];
    bool first = true;
    print_argument(form, p->who, e->who, &first);
    print_argument(form, p->first, e->first, &first);
    print_argument(form, p->second, e->second, &first);
}

static void print_chrome(const event_t *e, uint64_t start_ns)
{
    const point_t *p = &points[e->point];
    const char *phase = strcmp(p->shape, "BEGIN") == 0 ? "B"
                        : strcmp(p->shape, "END") == 0 ? "E"
                                                       : "i";
    printf("{\"name\": \"%s\", \"cat\": \"%s\", \"ph\": \"%s\", %s\"ts\": %.3f, \"pid\": %d, "
           "\"tid\": %d, \"args\": {",
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
            printf("%14.3f  %-10s %-10s ", (double) (e->time_ns - start_ns) / 1e3, e->ring->who,
                   name);
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
        printf("%s\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %d, "
               "\"args\": {\"name\": \"%s\"}}",
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

static void list_as_json(void)
{
    for (unsigned i = 0; i < DNET_TRACE_COUNT; i++) {
        const point_t *p = &points[i];
        const char *names[] = {p->who, p->first, p->second};
        printf("%s{\"point\": \"%s\", \"room\": \"%s\", \"shape\": \"%s\", \"arguments\": [",
               i ? ",\n" : "[\n", p->name, p->room, p->shape);
        for (unsigned n = 0, shown = 0; n < 3; n++)
            if (names[n])
                printf("%s\"%s\"", shown++ ? ", " : "", names[n]);
        printf("], \"title\": \"%s\"}", p->title);
    }
    printf("\n]\n");
}

static void list_as_table(void)
{
    printf("%-11s %-9s %-6s %-22s %s\n", "point", "room", "shape", "arguments",
           "what has happened");
    for (unsigned i = 0; i < DNET_TRACE_COUNT; i++) {
        const point_t *p = &points[i];
        const char *names[] = {p->who, p->first, p->second};
        char list[64] = "";
        for (unsigned n = 0; n < 3; n++)
            if (names[n])
                strcat(strcat(list, *list ? ", " : ""), names[n]);
        printf("%-11s %-9s %-6s %-22s %s\n", p->name, p->room, p->shape, list, p->title);
    }
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

/* ---- switching ---- */

/* The ring's memory is reserved first, so that its process never meets a page that cannot be had.
 */
static bool switch_points(uint64_t mask)
{
    bool good = true;
    for (unsigned i = 0; i < ring_count; i++) {
        uint64_t bytes =
            DNET_TRACE_HEADER_BYTES + (uint64_t) rings[i].capacity * sizeof(dnet_trace_event_t);
        int cause = mask ? posix_fallocate(rings[i].fd, 0, (off_t) bytes) : 0;
        if (cause) {
            fprintf(stderr, "dnet-trace: %s: a ring of %" PRIu64 " bytes: %s\n", rings[i].who,
                    bytes, strerror(cause));
            good = false;
            continue;
        }
        atomic_store_explicit(&rings[i].header->mask, mask, memory_order_relaxed);
    }
    return good;
}

/* ---- commands ---- */

static int usage(FILE *out)
{
    fprintf(out, "usage: dnet-trace list [--json]\n"
                 "       dnet-trace status          [-p PID]... [FILE]...\n"
                 "       dnet-trace on POINTS       [-p PID]... [FILE]...\n"
                 "       dnet-trace off             [-p PID]... [FILE]...\n"
                 "       dnet-trace show [--json | --csv | --chrome] [-n LAST] [-t POINTS]\n"
                 "                                  [-p PID]... [FILE]...\n"
                 "Without PID and FILE: all processes of this user that dimmnet can trace.\n");
    return out == stdout ? 0 : 2;
}

typedef struct {
    form_t form;
    uint64_t mask; /* points to show */
    size_t last;
    char **pids;
    unsigned pid_count;
} request_t;

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

static size_t parse_count(const char *text)
{
    char *end;
    size_t count = strtoul(text, &end, 10);
    if (isdigit((unsigned char) *text) && !*end && count)
        return count;
    fprintf(stderr, "dnet-trace: --last %s is not a number of events\n", text);
    exit(2);
}

static void parse_options(int argc, char **argv, request_t *r)
{
    static const struct option options[] = {
        {"json", no_argument, NULL, 'j'},
        {"csv", no_argument, NULL, 'c'},
        {"chrome", no_argument, NULL, 'g'},
        {"last", required_argument, NULL, 'n'},
        {"points", required_argument, NULL, 't'},
        {"pid", required_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {"version", no_argument, NULL, 'v'},
        {NULL, 0, NULL, 0},
    };
    for (int c; (c = getopt_long(argc, argv, "n:t:p:h", options, NULL)) != -1;) {
        switch (c) {
            case 'j':
                r->form = JSON;
                break;
            case 'c':
                r->form = CSV;
                break;
            case 'g':
                r->form = CHROME;
                break;
            case 't':
                r->mask = parse_points(optarg);
                break;
            case 'n':
                r->last = parse_count(optarg);
                break;
            case 'p':
                r->pids[r->pid_count++] = optarg;
                break;
            case 'h':
                exit(usage(stdout));
            case 'v':
                printf("dnet-trace %s\n", PACKAGE_VERSION);
                exit(0);
            default:
                exit(usage(stderr));
        }
    }
}

/* Map what is asked for: files, processes, or all processes. */
static bool find_rings(char **files, const request_t *r, bool write)
{
    bool good = true;
    for (unsigned i = 0; i < r->pid_count; i++)
        if (!ring_of_process(r->pids[i], write)) {
            fprintf(stderr,
                    "dnet-trace: process %s cannot be traced: it has no dimmnet endpoint, "
                    "writes its trace to a file, or is another user's\n",
                    r->pids[i]);
            good = false;
        }
    for (char **f = files; *f; f++)
        good &= ring_add(*f, write);
    if (!*files && !r->pid_count) {
        rings_of_all_processes(write);
        good = ring_count > 0;
        if (!good)
            fprintf(stderr, "dnet-trace: no process of this user has a dimmnet endpoint now\n");
    }
    return good;
}

int main(int argc, char **argv)
{
    char *pids[argc];
    request_t r = {.mask = UINT64_MAX, .pids = pids};
    parse_options(argc, argv, &r);
    const char *command = optind < argc ? argv[optind++] : "";
    bool on = strcmp(command, "on") == 0, turn = on || strcmp(command, "off") == 0;
    bool look = strcmp(command, "status") == 0;
    if (strcmp(command, "list") == 0) {
        r.form == JSON ? list_as_json() : list_as_table();
        return 0;
    }
    if ((on && optind == argc) || (!turn && !look && strcmp(command, "show") != 0))
        return usage(stderr);
    uint64_t wanted = on ? parse_points(argv[optind++]) : 0;
    if (!find_rings(argv + optind, &r, turn))
        return 1;
    if (turn)
        return !switch_points(wanted);
    if (look)
        status();
    else
        show(r.form, r.mask, r.last);
    return 0;
}
