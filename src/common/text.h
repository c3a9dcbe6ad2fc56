/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A line of text made piece by piece, also in a signal handler: nothing is allocated or locked.
 * What does not fit is left out.
 */
#ifndef DNET_COMMON_TEXT_H
#define DNET_COMMON_TEXT_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *start, *at, *end; /* the text ends with a 0 before `end` */
} dnet_text_t;

/** Begin an empty text in memory of `bytes` bytes, at least 1. */
void dnet_text_begin(dnet_text_t *t, char *memory, size_t bytes);

/** Append a string. */
void dnet_text_put(dnet_text_t *t, const char *string);

/** Append a number in decimal. */
void dnet_text_number(dnet_text_t *t, uint64_t value);

#endif
