/* SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "locality/locality.h"

#include <errno.h>
#include <hwloc.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

struct dnet_locality {
    hwloc_topology_t topology;
};

static const struct {
    const char *name, *title;
} texts[] = {
#define DNET_DISTANCE(name, shown, title) [DNET_DISTANCE_##name] = {shown, title},
#include "locality/distances.def"
#undef DNET_DISTANCE
};

const char *dnet_distance_name(dnet_distance_t distance)
{
    return texts[distance].name;
}

const char *dnet_distance_title(dnet_distance_t distance)
{
    return texts[distance].title;
}

static const hwloc_obj_type_t kinds[DNET_LOCALITY_KINDS] = {
    [DNET_LOCALITY_PACKAGE] = HWLOC_OBJ_PACKAGE, [DNET_LOCALITY_NUMA] = HWLOC_OBJ_NUMANODE,
    [DNET_LOCALITY_L3] = HWLOC_OBJ_L3CACHE,      [DNET_LOCALITY_L2] = HWLOC_OBJ_L2CACHE,
    [DNET_LOCALITY_CORE] = HWLOC_OBJ_CORE,       [DNET_LOCALITY_PROCESSOR] = HWLOC_OBJ_PU,
};

/* Only what distances are made of.  hwloc's look by CPUID goes from processor to processor, and
 * knows nothing more of these. */
static bool load(hwloc_topology_t t)
{
    if (hwloc_topology_set_components(t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86") != 0 ||
        hwloc_topology_set_all_types_filter(t, HWLOC_TYPE_FILTER_KEEP_NONE) != 0)
        return false;
    for (unsigned i = 0; i < DNET_LOCALITY_KINDS; i++)
        if (hwloc_topology_set_type_filter(t, kinds[i], HWLOC_TYPE_FILTER_KEEP_ALL) != 0)
            return false;
    /* A node that is less than its package hangs on a group. */
    return hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE) ==
               0 &&
           hwloc_topology_load(t) == 0;
}

/* Which variable puts another machine in the place of this one?  NULL: none does. */
static const char *made_up_by(void)
{
    static const char *const variables[] = {"HWLOC_SYNTHETIC", "HWLOC_XMLFILE"};
    for (unsigned i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return variables[i];
    }
    return NULL;
}

/* hwloc takes this machine where it does not understand what another one looks like. */
static dnet_status_t load_or_say_why(hwloc_topology_t t)
{
    const char *made_up = made_up_by();
    errno = 0;
    if (!load(t)) {
        dnet_error("hwloc cannot load this host's topology: %s",
                   errno ? strerror(errno) : "it gives no reason");
        return DNET_ERR_SYSTEM;
    }
    if (made_up && hwloc_topology_is_thissystem(t) && !getenv("HWLOC_THISSYSTEM")) {
        dnet_error("%s=%s: hwloc does not understand it, or cannot read it", made_up,
                   getenv(made_up));
        return DNET_ERR_FORMAT;
    }
    return DNET_OK;
}

dnet_status_t dnet_locality_open(dnet_locality_t **locality_p)
{
    dnet_locality_t *l = calloc(1, sizeof(*l));
    if (!l || hwloc_topology_init(&l->topology) != 0) {
        free(l);
        dnet_error("no memory for the host's topology");
        return DNET_ERR_NO_MEMORY;
    }
    dnet_status_t status = load_or_say_why(l->topology);
    if (status == DNET_OK)
        *locality_p = l;
    else
        dnet_locality_close(l);
    return status;
}

void dnet_locality_close(dnet_locality_t *locality)
{
    hwloc_topology_destroy(locality->topology);
    free(locality);
}

bool dnet_locality_is_here(const dnet_locality_t *locality)
{
    return hwloc_topology_is_thissystem(locality->topology);
}

/* ---- sets ---- */

static bool in_set(hwloc_const_bitmap_t set, const dnet_processors_t *p)
{
    for (unsigned i = 0; i < DNET_PROCESSORS_WORDS; i++)
        for (uint64_t left = p->word[i]; left; left &= left - 1)
            if (!hwloc_bitmap_isset(set, i * 64 + (unsigned) __builtin_ctzll(left)))
                return false;
    return true;
}

static void to_processors(hwloc_const_bitmap_t set, dnet_processors_t *p)
{
    memset(p, 0, sizeof(*p));
    for (int n = hwloc_bitmap_first(set); n >= 0 && (unsigned) n < DNET_PROCESSORS_MAX;
         n = hwloc_bitmap_next(set, n))
        p->word[n / 64] |= 1ull << (n % 64);
}

/* ---- distances ---- */

/* Processors of the thing of that type that holds both sets; 0: none does. */
static int held_by(const dnet_locality_t *l, hwloc_obj_type_t type, const dnet_processors_t *a,
                   const dnet_processors_t *b)
{
    for (hwloc_obj_t o = NULL; (o = hwloc_get_next_obj_by_type(l->topology, type, o)) != NULL;)
        if (in_set(o->cpuset, a) && in_set(o->cpuset, b))
            return hwloc_bitmap_weight(o->cpuset);
    return 0;
}

dnet_distance_t dnet_locality_distance(const dnet_locality_t *locality, const dnet_processors_t *a,
                                       const dnet_processors_t *b)
{
    static const struct {
        hwloc_obj_type_t type;
        dnet_distance_t distance;
    } things[] = {
        {HWLOC_OBJ_CORE, DNET_DISTANCE_CORE},     {HWLOC_OBJ_L2CACHE, DNET_DISTANCE_L2},
        {HWLOC_OBJ_L3CACHE, DNET_DISTANCE_L3},    {HWLOC_OBJ_PACKAGE, DNET_DISTANCE_PACKAGE},
        {HWLOC_OBJ_NUMANODE, DNET_DISTANCE_NUMA},
    };
    dnet_distance_t best = DNET_DISTANCE_OTHER;
    int least = 0;
    if (dnet_processors_same_one(a, b))
        return DNET_DISTANCE_PROCESSOR;
    /* A package may hold several NUMA nodes, or a node several packages: the smaller one counts. */
    for (unsigned i = 0; i < sizeof(things) / sizeof(things[0]); i++) {
        int processors = held_by(locality, things[i].type, a, b);
        if (processors > 0 && (least == 0 || processors < least)) {
            least = processors;
            best = things[i].distance;
        }
    }
    return best;
}

/* ---- things ---- */

void dnet_locality_each(const dnet_locality_t *locality, int kind,
                        void (*visit)(void *arg, const dnet_locality_thing_t *thing), void *arg)
{
    for (hwloc_obj_t o = NULL;
         (o = hwloc_get_next_obj_by_type(locality->topology, kinds[kind], o)) != NULL;) {
        dnet_locality_thing_t thing = {
            .kind = kind,
            .number = o->type == HWLOC_OBJ_NUMANODE || o->type == HWLOC_OBJ_PU ? o->os_index
                                                                               : o->logical_index,
            .bytes = o->type == HWLOC_OBJ_NUMANODE      ? o->attr->numanode.local_memory
                     : hwloc_obj_type_is_cache(o->type) ? o->attr->cache.size
                                                        : 0,
        };
        to_processors(o->cpuset, &thing.processors);
        visit(arg, &thing);
    }
}

int dnet_locality_node(const dnet_locality_t *locality, const dnet_processors_t *set)
{
    for (hwloc_obj_t o = NULL;
         (o = hwloc_get_next_obj_by_type(locality->topology, HWLOC_OBJ_NUMANODE, o)) != NULL;)
        if (in_set(o->cpuset, set))
            return (int) o->os_index;
    return -1;
}
