/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies longer than what a second-level cache holds.
 */
#ifndef DNET_COMMON_BULK_H
#define DNET_COMMON_BULK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define DNET_BULK_LEAST (1u << 20)

/** memcpy() of DNET_BULK_LEAST bytes and more, by what has been the fastest for that many. */
void dnet_bulk_copy_long(void *to, const void *from, size_t bytes);

/** memcpy(), as fast as it can be of any length. */
static inline void dnet_bulk_copy(void *to, const void *from, size_t bytes)
{
    if (bytes < DNET_BULK_LEAST)
        memcpy(to, from, bytes);
    else
        dnet_bulk_copy_long(to, from, bytes);
}

/* ---- which way? ---- */

typedef enum { DNET_BULK_MEMCPY, DNET_BULK_STRING, DNET_BULK_WAYS } dnet_bulk_way_t;

#define DNET_BULK_CLASSES 5u /* 1, 2, 4 and 8 MB up to the next, and 16 MB and more */

/* What timed copies of a class of lengths have shown.  Several threads that use one may lose a
 * count. */
typedef struct {
    _Atomic uint32_t copies;                   /* since the last trial began */
    _Atomic uint32_t least_ns[DNET_BULK_WAYS]; /* a MB, in this trial; 0: not yet known */
    _Atomic uint32_t way;                      /* of the rest */
} dnet_bulk_class_t;

typedef struct {
    dnet_bulk_class_t classes[DNET_BULK_CLASSES];
} dnet_bulk_t;

/** How the next copy of so many bytes shall go.
 *
 * @param timed_p  set: dnet_bulk_took() is told how long it took */
dnet_bulk_way_t dnet_bulk_way(dnet_bulk_t *bulk, size_t bytes, bool *timed_p);

void dnet_bulk_took(dnet_bulk_t *bulk, size_t bytes, dnet_bulk_way_t way, uint64_t ns);

#endif
