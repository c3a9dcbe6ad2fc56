/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Data on their way into memory that another process reads next, and out of memory that another
 * process has written.
 */
#ifndef DNET_COMMON_MOVE_H
#define DNET_COMMON_MOVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Fewer bytes go as by memmove() in any case. */
#define DNET_MOVE_LEAST 640u

/* memmove() for such data.  Whoever is told of them by a store with release order sees them. */
void dnet_move(uint8_t *to, const uint8_t *from, uint32_t bytes);

#define DNET_MOVE_LINE 64u /* bytes of a cache line */

/* The same to the beginning of a cache line, and all of the last one may be stored to: lines that
 * are stored to as a whole come without their content from the reader's cache. */
void dnet_move_lines(uint8_t *to, const uint8_t *from, uint32_t bytes);

/* dnet_move_lines() to there is likely to come: ask for the lines, unless the stores will go past
 * the caches, or are to be timed. */
void dnet_move_expect(uint8_t *to, uint32_t bytes);

/* memcpy() by the processor's instruction for strings, where it has one and the two lie well. */
void dnet_string_move(uint8_t *to, const uint8_t *from, uint64_t bytes);

#define DNET_TAKE_LEAST 3072u /* for fewer bytes memcpy() is as fast or faster */

void dnet_take_long(void *to, const void *from, size_t bytes);

/* memcpy() of what another process has written, and not by a string move, which takes several times
 * as long where source and destination lie badly to each other. */
static inline void dnet_take(void *to, const void *from, size_t bytes)
{
    if (bytes < DNET_TAKE_LEAST)
        memcpy(to, from, bytes);
    else
        dnet_take_long(to, from, bytes);
}

/* ---- which way? ---- */

/* What timed copies have shown so far.  Several threads that use one may lose a count. */
typedef struct {
    _Atomic uint32_t left; /* copies until the next one is timed */
    _Atomic uint32_t slow; /* timed ones that were, in a row */
} dnet_pace_t;

typedef enum { DNET_PACE_CACHED, DNET_PACE_TIMED, DNET_PACE_STREAMED } dnet_pace_way_t;

/* How the next copy of so many bytes shall go.  DNET_PACE_TIMED: cached, and dnet_pace_took() is
 * told. */
dnet_pace_way_t dnet_pace_way(dnet_pace_t *pace, uint32_t bytes);

void dnet_pace_took(dnet_pace_t *pace, uint32_t bytes, uint64_t ns);

/* Do lines come back slowly, as far as is known? */
bool dnet_pace_is_slow(const dnet_pace_t *pace);

/* Forget that: the next copies are timed. */
void dnet_pace_anew(dnet_pace_t *pace);

/* That of dnet_move() in this process, whoever its peers are. */
dnet_pace_t *dnet_move_pace(void);

#endif
