/* SPDX-License-Identifier: BSD-3-Clause
 *
 * glibc's memcpy() is a string move up to the size of the second-level cache, and loads and stores
 * of vectors from there on.  On Zen 5 a string move of 1 to 2 MB takes 0.83 of the time of those
 * (docs/performance/one-sided.md); which one is faster on another processor, or with another
 * library, is not known.  So now and then some copies go either way, and the faster one is taken
 * until the next trial.
 */
#include "common/bulk.h"

#include "common/clock.h"
#include "common/move.h"

/* Copies by one way, then by the other: in turns each would find in the caches what the other one
 * leaves there (a put of 4 MB by string moves took 1.2 of memcpy()'s time, and seemed faster). */
#define OF_ONE_WAY 5u
#define NOT_COUNTED 2u /* of those: the least of the three others is what counts */
#define TRIAL (DNET_BULK_WAYS * OF_ONE_WAY)
#define TRIAL_EACH 512u /* copies */

static uint32_t get(const _Atomic uint32_t *n)
{
    return atomic_load_explicit(n, memory_order_relaxed);
}

static void set(_Atomic uint32_t *n, uint32_t value)
{
    atomic_store_explicit(n, value, memory_order_relaxed);
}

static dnet_bulk_class_t *class_of(dnet_bulk_t *bulk, size_t bytes)
{
    uint32_t c = 0;
    for (size_t most = 2 * DNET_BULK_LEAST; bytes >= most && c + 1 < DNET_BULK_CLASSES; most *= 2)
        c++;
    return &bulk->classes[c];
}

dnet_bulk_way_t dnet_bulk_way(dnet_bulk_t *bulk, size_t bytes, bool *timed_p)
{
    dnet_bulk_class_t *class = class_of(bulk, bytes);
    uint32_t n = get(&class->copies);
    if (n == 0) {
        set(&class->least_ns[DNET_BULK_MEMCPY], 0);
        set(&class->least_ns[DNET_BULK_STRING], 0);
    }
    set(&class->copies, (n + 1) % TRIAL_EACH);
    *timed_p = n < TRIAL && n % OF_ONE_WAY >= NOT_COUNTED;
    return n < TRIAL ? n / OF_ONE_WAY : get(&class->way);
}

void dnet_bulk_took(dnet_bulk_t *bulk, size_t bytes, dnet_bulk_way_t way, uint64_t ns)
{
    dnet_bulk_class_t *class = class_of(bulk, bytes);
    uint64_t here = ns * DNET_BULK_LEAST / bytes;
    uint32_t before = get(&class->least_ns[way]);
    if (!before || here < before)
        set(&class->least_ns[way], here < UINT32_MAX ? (uint32_t) here : UINT32_MAX);
    bool string = get(&class->least_ns[DNET_BULK_STRING]) < get(&class->least_ns[DNET_BULK_MEMCPY]);
    set(&class->way, string ? DNET_BULK_STRING : DNET_BULK_MEMCPY);
}

static void copy(dnet_bulk_way_t way, void *to, const void *from, size_t bytes)
{
    if (way == DNET_BULK_STRING)
        dnet_string_move(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

void dnet_bulk_copy_long(void *to, const void *from, size_t bytes)
{
    static dnet_bulk_t known;
    bool timed;
    dnet_bulk_way_t way = dnet_bulk_way(&known, bytes, &timed);
    uint64_t begin = timed ? dnet_clock_ns() : 0;
    copy(way, to, from, bytes);
    if (timed)
        dnet_bulk_took(&known, bytes, way, dnet_clock_ns() - begin);
}
