/* SPDX-License-Identifier: BSD-3-Clause
 *
 * dnet-info --topology: packages, NUMA nodes, caches and processors; how large messages go between
 * them; where the ranks of running jobs are.
 */
#include "config.h"

#include "tools/info/topology.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "locality/locality.h"
#include "tools/common/command.h"
#include "tools/common/json_out.h"
#include "tools/common/pages.h"

typedef struct {
    const dnet_options_t *o;
    dnet_locality_t *locality;
    dnet_json_t json; /* writes nothing where it is for people */
    bool people;
    dnet_locality_thing_t *thing; /* all, in the order they are drawn */
    unsigned things, room;
    bool good; /* there was memory */
} view_t;

/* ---- the host ---- */

static const struct {
    const char *key, *title;
} kinds[DNET_LOCALITY_KINDS] = {
    [DNET_LOCALITY_PACKAGE] = {"package", "package"},
    [DNET_LOCALITY_NUMA] = {"numa", "NUMA node"},
    [DNET_LOCALITY_L3] = {"l3", "L3"},
    [DNET_LOCALITY_L2] = {"l2", "L2"},
    [DNET_LOCALITY_CORE] = {"core", "core"},
    [DNET_LOCALITY_PROCESSOR] = {"processor", ""},
};

static void keep(void *arg, const dnet_locality_thing_t *thing)
{
    view_t *v = arg;
    if (v->things == v->room) {
        unsigned room = v->room ? 2 * v->room : 64;
        dnet_locality_thing_t *grown = realloc(v->thing, room * sizeof(*grown));
        if (!grown) {
            v->good = false;
            return;
        }
        v->thing = grown;
        v->room = room;
    }
    v->thing[v->things++] = *thing;
}

static uint32_t first_of(const dnet_processors_t *set)
{
    for (uint32_t i = 0; i < DNET_PROCESSORS_WORDS; i++)
        if (set->word[i])
            return i * 64 + (uint32_t) __builtin_ctzll(set->word[i]);
    return DNET_PROCESSORS_MAX;
}

/* What holds something comes before it. */
static int by_place(const void *a, const void *b)
{
    const dnet_locality_thing_t *x = a, *y = b;
    uint32_t first_x = first_of(&x->processors), first_y = first_of(&y->processors);
    uint32_t count_x = dnet_processors_count(&x->processors);
    uint32_t count_y = dnet_processors_count(&y->processors);
    if (first_x != first_y)
        return first_x < first_y ? -1 : 1;
    if (count_x != count_y)
        return count_x > count_y ? -1 : 1;
    return (int) x->kind - (int) y->kind;
}

static bool equal(const dnet_locality_thing_t *a, const dnet_locality_thing_t *b)
{
    return memcmp(&a->processors, &b->processors, sizeof(a->processors)) == 0;
}

static void draw_thing(const dnet_locality_thing_t *t, bool first)
{
    static const char units[] = "KMGT";
    double size = (double) t->bytes / 1024;
    unsigned unit = 0;
    while (size >= 1024 && unit < 3) {
        size /= 1024;
        unit++;
    }
    printf("%s%s", first ? "" : ", ", kinds[t->kind].title);
    if (t->kind != DNET_LOCALITY_L3 && t->kind != DNET_LOCALITY_L2)
        printf(" %" PRIu32, t->number);
    if (t->bytes)
        printf(" (%.4g %cB)", size, units[unit]);
}

/* One line for all things that are the same processors, below what holds them. */
static void draw(const view_t *v)
{
    char text[DNET_PROCESSORS_TEXT];
    const dnet_locality_thing_t *above[2 * DNET_LOCALITY_KINDS];
    unsigned depth = 0;
    for (unsigned i = 0, next; i < v->things; i = next) {
        const dnet_locality_thing_t *t = &v->thing[i];
        while (depth && !dnet_processors_within(&t->processors, &above[depth - 1]->processors))
            depth--;
        printf("  %*s", (int) (2 * depth), "");
        for (next = i; next < v->things && equal(t, &v->thing[next]); next++)
            draw_thing(&v->thing[next], next == i);
        printf(": %s %s\n", dnet_processors_count(&t->processors) == 1 ? "processor" : "processors",
               dnet_processors_text(&t->processors, text, sizeof(text)));
        above[depth++] = t;
    }
}

static void show_host(view_t *v)
{
    char text[DNET_PROCESSORS_TEXT];
    bool here = dnet_locality_is_here(v->locality);
    for (int kind = 0; kind < DNET_LOCALITY_PROCESSOR; kind++)
        dnet_locality_each(v->locality, kind, keep, v);
    if (v->things)
        qsort(v->thing, v->things, sizeof(*v->thing), by_place);
    if (v->people) {
        printf("Topology%s\n",
               here ? "" : ", as HWLOC_SYNTHETIC, HWLOC_XMLFILE or HWLOC_FSROOT has it");
        draw(v);
        return;
    }
    dnet_json_bool(&v->json, "this_host", here);
    dnet_json_array(&v->json, "things");
    for (unsigned i = 0; i < v->things; i++) {
        const dnet_locality_thing_t *t = &v->thing[i];
        dnet_json_object(&v->json, NULL);
        dnet_json_string(&v->json, "kind", kinds[t->kind].key);
        dnet_json_int(&v->json, "number", t->number);
        dnet_json_int(&v->json, "bytes", (long long) t->bytes);
        dnet_json_string(&v->json, "processors",
                         dnet_processors_text(&t->processors, text, sizeof(text)));
        dnet_json_end_object(&v->json);
    }
    dnet_json_end_array(&v->json);
}

/* ---- distances ---- */

/* From how many bytes on both sides copy; 0: the receiver alone does. */
static uint64_t both_from(const dnet_options_t *o, dnet_distance_t distance)
{
    if (distance == DNET_DISTANCE_PROCESSOR)
        return 0;
    return o->split_limit_far && distance > DNET_DISTANCE_L3 ? o->split_limit_far : o->split_limit;
}

typedef struct {
    view_t *v;
    bool seen;
    dnet_processors_t from, at[DNET_DISTANCES];
} sight_t;

static void look(void *arg, const dnet_locality_thing_t *thing)
{
    sight_t *s = arg;
    if (!s->seen)
        s->from = thing->processors;
    s->seen = true;
    dnet_processors_t *at =
        &s->at[dnet_locality_distance(s->v->locality, &s->from, &thing->processors)];
    for (unsigned i = 0; i < DNET_PROCESSORS_WORDS; i++)
        at->word[i] |= thing->processors.word[i];
}

/* As a process on the first processor sees the others. */
static void show_distances(view_t *v)
{
    sight_t s = {.v = v};
    char text[DNET_PROCESSORS_TEXT];
    dnet_locality_each(v->locality, DNET_LOCALITY_PROCESSOR, look, &s);
    if (v->people)
        printf("Distances from a rank bound to processor %" PRIu32 "\n"
               "  %-10s %-20s %s\n",
               first_of(&s.from), "class", "processors", "large messages to this host's ranks");
    dnet_json_array(&v->json, "distances");
    for (unsigned d = 0; d < DNET_DISTANCES; d++) {
        uint64_t from = both_from(v->o, d);
        const char *set = dnet_processors_text(&s.at[d], text, sizeof(text));
        if (v->people && *set) {
            printf("  %-10s %-20s ", dnet_distance_name(d), set);
            if (from)
                printf("both sides copy from %" PRIu64 " bytes on\n", from);
            else
                printf("the receiver copies\n");
        }
        dnet_json_object(&v->json, NULL);
        dnet_json_string(&v->json, "class", dnet_distance_name(d));
        dnet_json_string(&v->json, "title", dnet_distance_title(d));
        dnet_json_string(&v->json, "processors", set);
        dnet_json_int(&v->json, "both_copy_from", (long long) from);
        dnet_json_end_object(&v->json);
    }
    dnet_json_end_array(&v->json);
    if (v->people)
        printf("  Rings and SO-DIMM of a rank lie on the NUMA node it starts on.\n");
}

/* ---- jobs ---- */

typedef struct {
    const dnet_page_t *page;
    dnet_processors_t may;
    bool alive;
} rank_t;

/* Do more ranks of the job have to do with these processors than there are? */
static bool is_crowded(const rank_t *rank, unsigned count, const rank_t *of)
{
    uint32_t ranks = 0;
    for (unsigned i = 0; i < count; i++)
        ranks += rank[i].alive && dnet_processors_within(&rank[i].may, &of->may);
    return ranks > dnet_processors_count(&of->may);
}

static void show_rank(view_t *v, const rank_t *rank, unsigned count, const rank_t *r)
{
    char text[DNET_PROCESSORS_TEXT];
    unsigned at[DNET_DISTANCES] = {0};
    bool crowded = is_crowded(rank, count, r);
    int node = dnet_locality_node(v->locality, &r->may);
    dnet_processors_text(&r->may, text, sizeof(text));
    for (unsigned i = 0; i < count; i++)
        if (&rank[i] != r && rank[i].alive)
            at[dnet_locality_distance(v->locality, &r->may, &rank[i].may)]++;
    if (v->people) {
        char number[16];
        snprintf(number, sizeof(number), "%d", node);
        printf("  %5" PRIu32 " %8" PRId32 "  %-16s %5s ", r->page->rank, r->page->pid, text,
               node < 0 ? "any" : number);
        for (unsigned d = 0; d < DNET_DISTANCES; d++)
            if (at[d])
                printf(" %u %s", at[d], dnet_distance_name(d));
        printf("%s\n", crowded ? "; fewer processors than ranks: yields, receivers copy" : "");
    }
    dnet_json_object(&v->json, NULL);
    dnet_json_int(&v->json, "rank", r->page->rank);
    dnet_json_int(&v->json, "pid", r->page->pid);
    dnet_json_string(&v->json, "processors", text);
    dnet_json_int(&v->json, "numa", node);
    dnet_json_bool(&v->json, "crowded", crowded);
    dnet_json_object(&v->json, "distances");
    for (unsigned d = 0; d < DNET_DISTANCES; d++)
        if (at[d])
            dnet_json_int(&v->json, dnet_distance_name(d), at[d]);
    dnet_json_end_object(&v->json);
    dnet_json_end_object(&v->json);
}

static void show_job(view_t *v, const rank_t *rank, unsigned count)
{
    if (v->people)
        printf("Job of %" PRIu32 " ranks\n  %5s %8s  %-16s %5s  %s\n", rank[0].page->size, "rank",
               "process", "processors", "NUMA", "others of this host, by class");
    dnet_json_object(&v->json, NULL);
    dnet_json_int(&v->json, "size", rank[0].page->size);
    dnet_json_array(&v->json, "ranks");
    for (unsigned i = 0; i < count; i++)
        if (rank[i].alive)
            show_rank(v, rank, count, &rank[i]);
    dnet_json_end_array(&v->json);
    dnet_json_end_object(&v->json);
}

static void show_jobs(view_t *v)
{
    tool_pages_t pages = tool_pages_find(0);
    rank_t *rank = calloc(pages.count + 1, sizeof(*rank));
    v->good &= rank != NULL;
    for (unsigned i = 0; rank && i < pages.count; i++) {
        rank[i].page = pages.page[i];
        /* a rank has a page for each VCI */
        rank[i].alive = pages.page[i]->vci == 0 &&
                        dnet_processors_of(pages.page[i]->pid, &rank[i].may) == DNET_OK;
    }
    dnet_json_array(&v->json, "jobs");
    for (unsigned i = 0, next; rank && i < pages.count; i = next) {
        for (next = i; next < pages.count && rank[next].page->job == rank[i].page->job;)
            next++;
        show_job(v, &rank[i], next - i);
    }
    dnet_json_end_array(&v->json);
    if (v->people && !pages.count)
        printf("No job of this user runs now.\n");
    free(rank);
    free(pages.page);
}

int info_topology(const dnet_options_t *o, bool json)
{
    view_t v = {.o = o, .people = !json, .good = true};
    dnet_status_t status = dnet_locality_open(&v.locality);
    if (status != DNET_OK)
        return tool_exit(status);
    status = dnet_json_open(&v.json, json ? "-" : NULL);
    if (status == DNET_OK) {
        show_host(&v);
        show_distances(&v);
        show_jobs(&v);
        status = dnet_json_close(&v.json);
    }
    free(v.thing);
    dnet_locality_close(v.locality);
    if (!v.good)
        tool_error("no memory");
    return status == DNET_OK && v.good ? TOOL_GOOD : TOOL_SYSTEM;
}
