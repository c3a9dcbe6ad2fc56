/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-trace capture: switches the captures (DIMMNET_PCAP) of running processes on and off, with a
 * filter and a limit of size; shows them.
 */
#include "config.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/number.h"
#include "dimmnet/emulator.h"
#include "tools/common/processes.h"
#include "tools/trace/trace.h"

typedef struct {
    const char *only;
    int rank; /* -1: any */
    uint64_t limit;
    tool_texts_t job;
} options_t;

static const tool_option_t options[] = {
    TOOL_OPTION(options_t, only, "only", TOOL_TEXT, "WORDS",
                "on: these primitives and results only, for example IPUSH,stopped"),
    TOOL_OPTION(options_t, rank, "rank", TOOL_INT, "N", "on: what this rank sends or receives",
                .most = 65534),
    TOOL_OPTION(options_t, limit, "limit", TOOL_U64, "BYTES",
                "on: off again when the file has so many", .least = 1, .most = UINT64_MAX),
    TRACE_JOB_OPTION(options_t),
    {NULL},
};

static const struct {
    const char *name;
    unsigned code;
} primitives[] = {
#define DNET_PRIMITIVE(primitive, number, family, access) {#primitive, number},
#include "dimmnet/primitives.def"
#undef DNET_PRIMITIVE
};

static const char *const results[] = {
#define DNET_RESULT(result, shown) shown,
#include "emulator/results.def"
#undef DNET_RESULT
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* ---- the filter ---- */

typedef struct {
    uint32_t types, results;
} filter_t;

static bool is_word(const char *name, const char *word, size_t len)
{
    return strlen(name) == len && strncasecmp(name, word, len) == 0;
}

/* What a word names; a kind of which no word is given is not filtered.  @return false: nothing */
static bool add_word(filter_t *f, const char *word, size_t len)
{
    for (unsigned i = 0; i < COUNT(primitives); i++)
        if (is_word(primitives[i].name, word, len)) {
            f->types |= 1u << primitives[i].code;
            return true;
        }
    for (unsigned i = 0; i < COUNT(results); i++)
        if (is_word(results[i], word, len)) {
            f->results |= 1u << i;
            return true;
        }
    tool_error("--only: '%.*s' is neither a primitive such as IPUSH nor a result such as stopped",
               (int) len, word);
    return false;
}

static bool parse_filter(const char *text, filter_t *f)
{
    *f = (filter_t){0, 0};
    for (const char *c = text; c; c = *c ? c + 1 : NULL) {
        size_t len = strcspn(c, ",");
        if (!add_word(f, c, len))
            return false;
        c += len;
        if (!*c)
            break;
    }
    f->types = f->types ? f->types : UINT32_MAX;
    f->results = f->results ? f->results : UINT32_MAX;
    return true;
}

static void print_filter(const dnet_emu_capture_control_t *is)
{
    uint32_t types = atomic_load_explicit(&is->types, memory_order_relaxed);
    uint32_t kinds = atomic_load_explicit(&is->results, memory_order_relaxed);
    uint32_t rank = atomic_load_explicit(&is->rank, memory_order_relaxed);
    const char *between = "";
    for (unsigned i = 0; types != UINT32_MAX && i < COUNT(primitives); i++)
        if (types >> primitives[i].code & 1) {
            printf("%s%s", between, primitives[i].name);
            between = ",";
        }
    for (unsigned i = 0; kinds != UINT32_MAX && i < COUNT(results); i++)
        if (kinds >> i & 1) {
            printf("%s%s", between, results[i]);
            between = ",";
        }
    if (rank)
        printf("%srank %" PRIu32, *between ? " " : "", rank - 1);
    else if (!*between)
        printf("all");
}

/* ---- the captures ---- */

typedef struct {
    const options_t *o;
    filter_t filter;
    enum { SHOW, ON, OFF } what;
    unsigned found;
} work_t;

static void set(const work_t *w, dnet_emu_capture_control_t *is)
{
    if (w->what == ON) {
        atomic_store_explicit(&is->types, w->filter.types, memory_order_relaxed);
        atomic_store_explicit(&is->results, w->filter.results, memory_order_relaxed);
        atomic_store_explicit(&is->rank, (uint32_t) (w->o->rank + 1), memory_order_relaxed);
        atomic_store_explicit(&is->limit, w->o->limit, memory_order_relaxed);
    }
    atomic_store_explicit(&is->on, w->what == ON, memory_order_relaxed);
}

static void show(dnet_emu_capture_control_t *is)
{
    uint64_t limit = atomic_load_explicit(&is->limit, memory_order_relaxed);
    printf("%-10.31s %8d  %-3s %10" PRIu64 " %12" PRIu64 "  ", is->who, is->pid,
           atomic_load_explicit(&is->on, memory_order_relaxed) ? "on" : "off",
           atomic_load_explicit(&is->packets, memory_order_relaxed),
           atomic_load_explicit(&is->bytes, memory_order_relaxed));
    if (limit)
        printf("%12" PRIu64 "  ", limit);
    else
        printf("%12s  ", "-");
    printf("%.*s  ", (int) sizeof(is->path) - 1, is->path);
    print_filter(is);
    printf("\n");
}

/* A page of this process and this version; a child has its parent's open, too.  A process has one
 * for each of its endpoints: the visit goes on. */
static bool visit(void *arg, int32_t pid, const char *path)
{
    work_t *w = arg;
    struct stat st;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *at = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size == DNET_EMU_CAPTURE_PAGE)
        at = mmap(NULL, DNET_EMU_CAPTURE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (at == MAP_FAILED)
        return false;
    dnet_emu_capture_control_t *is = at;
    bool good = is->magic == DNET_EMU_CAPTURE_MAGIC && is->version == DNET_EMU_CAPTURE_VERSION &&
                is->pid == pid;
    if (good && w->what == SHOW)
        show(is);
    else if (good)
        set(w, is);
    w->found += good;
    munmap(at, DNET_EMU_CAPTURE_PAGE);
    return false;
}

static bool visit_job(work_t *w, const char *text)
{
    uint64_t pid;
    unsigned before = w->found;
    if (dnet_number(text, 1, INT32_MAX, &pid)) {
        (void) tool_memfd_of((int32_t) pid, DNET_EMU_CAPTURE_MEMFD, visit, w);
        if (w->found == before)
            tool_memfds_below((int32_t) pid, DNET_EMU_CAPTURE_MEMFD, visit, w);
    }
    if (w->found > before)
        return true;
    tool_error("process %s: neither it nor a process it has started was started with DIMMNET_PCAP",
               text);
    return false;
}

static int run(int argc, char **argv)
{
    options_t o = {.rank = -1};
    work_t w = {.o = &o};
    if (!tool_parse(&trace_capture, &argc, &argv, &o) || !parse_filter(o.only, &w.filter))
        return TOOL_USAGE;
    w.what = strcmp(argv[0], "on") == 0 ? ON : strcmp(argv[0], "off") == 0 ? OFF : SHOW;
    if (w.what == SHOW && strcmp(argv[0], "status") != 0) {
        tool_error("'%s': want on, off or status", argv[0]);
        return TOOL_USAGE;
    }
    if (w.what != ON && (o.only || o.rank >= 0 || o.limit)) {
        tool_error("--only, --rank and --limit go with on");
        return TOOL_USAGE;
    }
    if (w.what == SHOW)
        printf(
            "who             pid         packets        bytes         limit  file, what of it\n");
    bool good = true;
    for (int i = 0; i < o.job.count; i++)
        good &= visit_job(&w, o.job.text[i]);
    if (!o.job.count) {
        tool_memfds_below(0, DNET_EMU_CAPTURE_MEMFD, visit, &w);
        good = w.found > 0;
        if (!good)
            tool_error("no process of this user was started with DIMMNET_PCAP");
    }
    return good ? TOOL_GOOD : TOOL_BAD;
}

const tool_command_t trace_capture = {
    .name = "capture",
    .args = "on|off|status",
    .args_least = 1,
    .args_most = 1,
    .summary = "switch captures of packets on and off",
    .options = options,
    .run = run,
};
